//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lab

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, either alone or shared with others. The error
// is EAGAIN if another process's lock is in the way.
func tryLock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}
