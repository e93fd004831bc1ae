//go:build unix

package qta

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPlantedFiles has, in the places of a checkpoint and of what is written
// before it, what others may put into a shared directory: FIFOs, on which
// opening waits for ever, devices without an end, and links to a file that is
// not to be written.
func TestPlantedFiles(t *testing.T) {
	a := agentAfter(t, leastParams(), 5)
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o666) }
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	for i, test := range []struct {
		what string
		make func(path string) error
	}{
		{"a FIFO", fifo},
		{"a link to an endless device", link("/dev/zero")},
		{"a link to a file", link(victim)},
		{"a hard link to a file", func(path string) error { return os.Link(victim, path) }},
		{"a link to what is not there", link(filepath.Join(dir, "nothing"))},
	} {
		if err := os.WriteFile(victim, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, temporary := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, temporary %v", test.what, temporary), func(t *testing.T) {
				path := filepath.Join(dir, string(rune('a'+i)))
				if temporary {
					path += "t"
				}
				place := path
				if temporary {
					place += ".tmp"
				}
				if err := test.make(place); err != nil {
					t.Skipf("this file system has no such thing: %v", err)
				}
				_, _, loading := LoadFile(path)
				saving := a.SaveFile(path)
				switch {
				case temporary:
					if !errors.Is(loading, fs.ErrNotExist) || saving != nil {
						t.Errorf("%s in place of the temporary file: loading %v, saving %v", test.what, loading, saving)
					}
					if _, damage, err := LoadFile(path); damage != nil || err != nil {
						t.Errorf("%s: what was saved: damage %v, error %v", test.what, damage, err)
					}
				case strings.Contains(test.what, "hard"):
					// A file like any other, and none of ours: it is kept aside.
					if loading == nil || saving != nil {
						t.Errorf("%s: loading %v, saving %v", test.what, loading, saving)
					}
				default:
					if loading == nil || saving == nil || !strings.Contains(saving.Error(), "not a regular file") {
						t.Errorf("%s: loading %v, saving %v", test.what, loading, saving)
					}
				}
				if text, err := os.ReadFile(victim); string(text) != "mine" {
					t.Errorf("%s: the file that is not to be written holds %d bytes, error %v", test.what, len(text), err)
				}
				if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
					t.Errorf("%s: a file was made where a link points to", test.what)
				}
			})
		}
	}
}
