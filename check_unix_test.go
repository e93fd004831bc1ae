//go:build unix

package qta

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A folder of vectors may hold what is no file: it is an error at once.
func TestCheckNoFile(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"a FIFO":       func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o777) },
		"a large file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 20<<30)) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, "x.json")); err != nil {
				t.Skipf("this file system has no such thing: %v", err)
			}
			if _, err := Check(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "x.json: not a regular file") {
				t.Errorf("error %v", err)
			}
		})
	}
}
