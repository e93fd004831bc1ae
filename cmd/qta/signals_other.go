//go:build !unix

package main

import (
	"os"
	"syscall"
)

// stopSignals returns the signals after which a run is saved.
func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }
