//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lab

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, alone or beside others, and reports
// whether another process's lock is in the way.
func tryLock(f *os.File, alone bool) (taken bool, err error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return true, nil
	}
	return false, err
}
