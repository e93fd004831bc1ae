package qta

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSaveFileFullDisk lets writing fail after every number of bytes, by the
// system's limit on the size of a file: the checkpoints before stay whole. It runs
// in a process of its own, which the limit is for.
func TestSaveFileFullDisk(t *testing.T) {
	const variable = "QTA_TEST_FULL_DISK"
	if os.Getenv(variable) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", fmt.Sprint("-test.short=", testing.Short()))
		c.Env = append(os.Environ(), variable+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent")
	older, newer, next := agentAfter(t, leastParams(), 5), agentAfter(t, leastParams(), 8), agentAfter(t, leastParams(), 11)
	if err := errors.Join(older.SaveFile(path), newer.SaveFile(path)); err != nil {
		t.Fatal(err)
	}
	stride := 37
	if testing.Short() {
		stride = 997
	}
	for k := 0; k < len(marshal(t, next)); k += stride {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(k), Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		err := next.SaveFile(path)
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		if !errors.Is(err, syscall.EFBIG) || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") || !strings.Contains(err.Error(), path) {
			t.Fatalf("after %d bytes: error %v, want %v and the file", k, err, syscall.EFBIG)
		}
		for name, want := range map[string]*Agent{path: newer, path + Previous: older} {
			if got, err := os.ReadFile(name); !bytes.Equal(got, marshal(t, want)) {
				t.Fatalf("after %d bytes, %s has changed: %v", k, name, err)
			}
		}
		if _, err := os.Stat(path + ".tmp"); !os.IsNotExist(err) {
			t.Fatalf("after %d bytes the unfinished file is left: %v", k, err)
		}
	}
	if err := next.SaveFile(path); err != nil {
		t.Error(err)
	}
}
