//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"qta/internal/roomtest"
)

// The time in which the command is suspended is no time in which its child hangs.
func TestSuspended(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it suspends a program, which takes five seconds")
	}
	t.Setenv(childMode, "only listens")
	t.Setenv(programMode, "yes")
	dir := filepath.Join(t.TempDir(), "run")
	command := exec.Command(os.Args[0], "-out", dir, "-limit", "2s", os.Args[0])
	output, err := command.StderrPipe()
	roomtest.Must(t, err)
	roomtest.Must(t, command.Start())
	t.Cleanup(func() { command.Process.Kill() })
	output.Read(make([]byte, 1)) // returns when the child has begun

	roomtest.Must(t, command.Process.Signal(syscall.SIGSTOP))
	time.Sleep(3 * time.Second)
	roomtest.Must(t, command.Process.Signal(syscall.SIGCONT))
	continued := time.Now()
	command.Wait()
	waited := time.Since(continued)
	if waited < time.Second {
		t.Errorf("after its suspension the command waited %v for its child, of a limit of 2s", waited)
	}
}
