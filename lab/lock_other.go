//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lab

import "os"

// tryLock locks nothing: these systems have no lock in package syscall that
// ends with its process. Two processes in one run directory would overwrite
// each other's checkpoints.
func tryLock(_ *os.File, alone bool) (taken bool, err error) { return !alone, nil }
