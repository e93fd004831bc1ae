//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockDir takes the lock of a run directory and returns the function that
// gives it back. The kernel gives it back when the process ends in whatever
// way; the file stays.
func lockDir(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, badInput("%s cannot be written: %v; name another directory with -out", path, cause(err))
	}
	// A look by inUse holds the lock for an instant, so it is tried again.
	for range 20 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("another process is using %s", dir)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// canSeeUse says that inUse can tell.
const canSeeUse = true

// inUse reports whether a process holds the lock of a run directory.
func inUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
