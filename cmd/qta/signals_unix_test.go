//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta/cmd/qta/internal/rundir"
)

// TestPipe closes the pipe that a run writes to.
func TestPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	c := exec.Command(os.Args[0], tinyRun("-steps", "100000000", "-eval", "10", "-out", "run")...)
	c.Env = append(os.Environ(), "QTA_TEST_COMMAND=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	message, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	lines := bufio.NewScanner(out)
	for range 5 {
		lines.Scan()
	}
	out.Close()
	text, _ := io.ReadAll(message)
	if c.Wait(); c.ProcessState.ExitCode() != exitUnfinished || !strings.Contains(string(text), "broken pipe; all that was running is saved") {
		t.Errorf("%v, stderr %q", c.ProcessState, text)
	}
	if state := stateOf(t, "run"); state != rundir.Stopped {
		t.Errorf("state %q", state)
	}
}

// TestHangup ends the terminal of a run, which may tell it twice, and of one that
// is not to care.
func TestHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests were started by nohup, and so would be the runs")
	}
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "100000000", "-eval", "100", "-checkpoint", "100", "-out")
	c, out := process(t, append(args, "run")...)
	wait(t, "run/"+rundir.AgentFile)
	for range 3 {
		if err := c.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitUnfinished || stateOf(t, "run") != rundir.Stopped {
		t.Errorf("%v, state %s\n%s", err, stateOf(t, "run"), out)
	}

	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skipf("what follows needs nohup: %v", err)
	}
	c = exec.Command(nohup, append([]string{os.Args[0]}, append(args, "nohup")...)...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "QTA_TEST_COMMAND=1"), io.Discard, io.Discard
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	wait(t, "nohup/"+rundir.AgentFile)
	c.Process.Signal(syscall.SIGHUP)
	time.Sleep(300 * time.Millisecond)
	if stateOf(t, "nohup") != rundir.Running {
		t.Errorf("after nohup a hangup makes the run %s", stateOf(t, "nohup"))
	}
	c.Process.Signal(syscall.SIGTERM)
	c.Wait()
	if c.ProcessState.ExitCode() != exitUnfinished {
		t.Error(c.ProcessState)
	}
}

// TestPanicElsewhere lets another goroutine panic, which nothing can catch.
func TestPanicElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("QTA_TEST_PANIC", "1")
	c, out := process(t, tinyRun("-steps", "100000000", "-out", "run")...)
	c.Wait()
	if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGABRT || !strings.Contains(out.String(), "panic: elsewhere") {
		t.Errorf("%v\n%s", c.ProcessState, out)
	}
}
