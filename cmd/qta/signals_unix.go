//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals returns the signals after which a run is saved. It also catches SIGPIPE, so
// that writing to a closed pipe returns an error and does not end the process.
func stopSignals() []os.Signal {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGPIPE)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup makes a program ignore it
		list = append(list, syscall.SIGHUP)
		// Closing a terminal may send two of them. The second one must not end the process.
		signal.Notify(never, syscall.SIGHUP)
	}
	return list
}
