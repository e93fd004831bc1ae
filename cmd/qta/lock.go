package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockDir takes the lock of a run directory and returns the function that
// gives it back. The system gives it back when the process ends in whatever
// way; the file stays.
func lockDir(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, badInput("%s cannot be written: %v; name another directory with -out", path, cause(err))
	}
	// A look by inUse holds the lock for an instant, so it is tried again.
	taken := false
	for range 20 {
		if taken, err = tryLock(f, true); !taken {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if taken {
		err = fmt.Errorf("another process is using %s", dir)
	} else if err != nil {
		err = fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// inUse reports whether a process holds the lock of a run directory, as far
// as canSeeUse.
func inUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	taken, _ := tryLock(f, false)
	return taken
}
