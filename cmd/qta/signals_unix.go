//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals returns the signals after which a run is saved. A closed pipe is
// none: writing to it becomes an error.
func stopSignals() []os.Signal {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGPIPE)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		list = append(list, syscall.SIGHUP)
		signal.Notify(never, syscall.SIGHUP) // a terminal's end may send two
	}
	return list
}
