package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"qta/cmd/qta/internal/words"
)

// Lock takes the lock of a run directory and returns the function that
// gives it back. The system gives it back when the process ends in whatever
// way; the file stays.
func Lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, words.BadInput("%s cannot be written: %v; name another directory with -out", path, words.Cause(err))
	}
	// A look by InUse holds the lock for an instant, so it is tried again.
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

// InUse reports whether a process holds the lock of a run directory, as far
// as CanSeeUse.
func InUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, LockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	taken, _ := tryLock(f, false)
	return taken
}
