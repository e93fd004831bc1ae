//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

import (
	"os"
	"path/filepath"
)

// lockDir makes the lock file and locks nothing: these systems have no lock
// in package syscall that ends with its process. Two processes in one run
// directory would overwrite each other's checkpoints.
func lockDir(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, badInput("%s cannot be written: %v; name another directory with -out", path, cause(err))
	}
	return func() { f.Close() }, nil
}

// canSeeUse says that inUse cannot tell.
const canSeeUse = false

// inUse reports whether a process holds the lock of a run directory, which
// cannot be known here.
func inUse(string) bool { return false }
