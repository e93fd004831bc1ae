//go:build unix

package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta/cmd/qta/internal/roomtest"
)

// An obstacle is what others can put in a file's place where they may write.
type obstacle struct {
	name string
	make func(path string) error
}

func obstacles(victim string) []obstacle {
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	return []obstacle{
		{"a FIFO", func(path string) error { return syscall.Mkfifo(path, 0o666) }},
		{"a socket", func(path string) error {
			s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(s)
			return syscall.Bind(s, &syscall.SockaddrUnix{Name: path})
		}},
		{"a directory", func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o777) }},
		{"a link", link(victim)},
		{"a link to a device", link("/dev/zero")},
		{"a link to nothing", link(victim + ".none")},
	}
}

// in fails the test unless f returns within seconds.
func in(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: it waits", what)
		return nil
	}
}

// TestObstacles reads and writes where others have put what is no file: reading
// ends with an error, writing follows nothing, and a file is written only in the
// place of a regular one or of none.
func TestObstacles(t *testing.T) {
	t.Chdir(t.TempDir()) // the path of a socket must be short
	victim := "victim"
	roomtest.Write(t, victim, "mine")
	untouched := func(what string) {
		t.Helper()
		if text := roomtest.Read(t, victim); text != "mine" {
			t.Errorf("%s: the file linked to holds %q", what, text)
			roomtest.Write(t, victim, "mine")
		}
		if Exists(victim + ".none") {
			t.Errorf("%s: a file was made where a link points to", what)
			os.Remove(victim + ".none")
		}
	}
	for i, o := range obstacles(victim) {
		path := fmt.Sprint("file", i)
		if err := o.make(path); err != nil {
			t.Skipf("this file system has no such thing: %v", err)
		}
		if err := in(t, o.name, func() error { _, err := Read(path, 100); return err }); err == nil && o.name != "a link" {
			t.Errorf("%s is read", o.name)
		}
		for name, f := range map[string]func() error{
			"Write":       func() error { return Write(path, []byte("x"), true) },
			"WriteShared": func() error { return WriteShared(path, []byte("x")) },
			"Open": func() error {
				f, err := Open(path, os.O_RDWR|os.O_CREATE)
				if err == nil {
					f.Close()
				}
				return err
			},
		} {
			kind, _, _ := strings.Cut(o.name, " to")
			if err := in(t, o.name, f); err == nil || !strings.Contains(err.Error(), kind) {
				t.Errorf("%s in place of %s: error %v", o.name, name, err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
				t.Errorf("%s is replaced by %s", o.name, name)
			}
			untouched(name + " over " + o.name)
		}

		// In place of the temporary file.
		path = fmt.Sprint("other", i)
		if err := o.make(path + Temporary); err != nil {
			t.Fatal(err)
		}
		err := in(t, o.name, func() error { return Write(path, []byte("x"), true) })
		if o.name == "a directory" {
			if err == nil {
				t.Errorf("%s is in the way, and nobody says so", path+Temporary)
			}
		} else if err != nil || roomtest.Read(t, path) != "x" {
			t.Errorf("%s in place of a temporary file: error %v", o.name, err)
		}
		untouched("writing beside " + o.name)
	}
	roomtest.Write(t, "hard"+Temporary, "")
	os.Remove("hard" + Temporary)
	if err := os.Link(victim, "hard"+Temporary); err != nil {
		t.Fatal(err)
	}
	if err := Write("hard", []byte("x"), true); err != nil {
		t.Error(err)
	}
	untouched("a hard link")
}

// TestReadLimits refuses what is too large, or without an end, before it reads.
func TestReadLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 20<<30)); err != nil {
		t.Skipf("this file system has no sparse files of 20 GB: %v", err)
	}
	for _, path := range []string{path, "/dev/zero", "/dev/full"} {
		if data, err := Read(path, 1<<30); err == nil || len(data) > 0 {
			t.Errorf("%s: %d bytes are read, error %v", path, len(data), err)
		}
	}
}

// TestOutput writes to what a command line may name beside files.
func TestOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("fifo", 0o666); err != nil {
		t.Skipf("this file system has no FIFO: %v", err)
	}
	if _, err := Output("fifo", []byte("x")); err == nil {
		t.Error("a FIFO that nobody reads: no error")
	}
	r, err := os.OpenFile("fifo", os.O_RDWR, 0) // with a writer of its own it has no end
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := strings.Repeat("x", 1<<20) // more than a pipe holds
	got := make(chan string)
	go func() {
		data, _ := io.ReadAll(io.LimitReader(r, int64(len(text))))
		got <- string(data)
	}()
	if through, err := Output("fifo", []byte(text)); !through || err != nil {
		t.Errorf("a FIFO: %t, error %v", through, err)
	} else if <-got != text {
		t.Error("what comes out of a FIFO is not what was written")
	}
	if through, err := Output("file", []byte("x")); through || err != nil || roomtest.Read(t, "file") != "x" {
		t.Errorf("a file: %t, error %v", through, err)
	}
	if err := os.Symlink("file", "link"); err != nil {
		t.Fatal(err)
	}
	if _, err := Output("link", []byte("y")); err == nil || roomtest.Read(t, "file") != "x" {
		t.Errorf("a link: error %v", err)
	}
}
