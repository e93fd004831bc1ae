//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/rundir"
)

func TestLock(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "10", "-out", "run")
	mustRun(t, args...)
	unlock, err := rundir.Lock("run")
	if err != nil {
		t.Fatal(err)
	}
	if got := command(t, args...); got.code != exitFailure || got.errors != "qta: another process is using run\n" {
		t.Errorf("a locked directory: %+v", got)
	}
	mustRun(t, "eval", "run") // reads only
	unlock()
	mustRun(t, args...)
}

// process starts the command as a process of its own.
func process(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "QTA_TEST_COMMAND=1")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, &out
}

// wait waits until a file exists.
func wait(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if files.Exists(path) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", path)
}

// TestKill kills processes at random moments, within checkpoints too, which
// come at every third step, and compares the end with that of an
// undisturbed run.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it trains in processes that it kills, which takes seconds")
	}
	t.Chdir(t.TempDir())
	const steps = "4000"
	mustRun(t, tinyRun("-steps", steps, "-eval", "100", "-out", "whole")...)
	args := tinyRun("-steps", steps, "-eval", "100", "-checkpoint", "3", "-out", "run")
	rng := rand.New(rand.NewPCG(1, 1))
	kills := 0
	for {
		// The longer it takes, the more time each process gets: on a busy
		// machine a fifth of a second may be too short to start in.
		patience := float64(time.Second) * (1 + float64(kills)/20)
		c, out := process(t, args...)
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", kills, err, out)
			}
		case <-time.After(time.Duration((0.03 + 0.2*rng.Float64()) * patience)):
			c.Process.Kill()
			<-done
			kills++
			if kills < 200 {
				continue
			}
			t.Fatalf("no end after %d kills", kills)
		}
		break
	}
	if kills < 3 {
		t.Errorf("%d kills, want at least 3", kills)
	}
	t.Logf("%d kills", kills)
	sameOutcome(t, "whole", "run")
}

func TestSignals(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := sig.String()
		c, out := process(t, tinyRun("-steps", "100000000", "-eval", "100", "-checkpoint", "100", "-out", dir)...)
		wait(t, dir+"/"+rundir.AgentFile)
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitUnfinished {
			t.Errorf("%v: %v, want exit code %d\n%s", sig, err, exitUnfinished, out)
		}
		if state := stateOf(t, dir); state != rundir.Stopped || !strings.Contains(out.String(), "Stopped (") {
			t.Errorf("%v: state %q, output\n%s", sig, state, out)
		}
	}
}

// TestSignalWithoutRun ends a command that has nothing to save.
func TestSignalWithoutRun(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "20", "-out", "run")...)
	c, out := process(t, "eval", "run", "-rollouts", "1000000")
	time.Sleep(200 * time.Millisecond)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	c.Wait()
	if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Errorf("%v after %v, want the end by the signal\n%s", c.ProcessState, time.Since(begin), out)
	}
}

// TestSecondSignal stops a process within an update that takes seconds. The
// first signal waits for its end; another ends the process at once.
func TestSecondSignal(t *testing.T) {
	t.Chdir(t.TempDir())
	c, out := process(t, "-maze", "1U5", "-params", "small", "-set", "Batch=65536", "-set", "HiddenLayers=16", "-set", "HiddenSize=128", "-set", "LearningStarts=1", "-threads", "1", "-out", "run")
	wait(t, "run/"+rundir.RecordFile)
	time.Sleep(200 * time.Millisecond)
	ended := make(chan error)
	go func() { ended <- c.Wait() }()
	for signals := 1; ; signals++ {
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			s, ok := c.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || !s.Signaled() || s.Signal() != syscall.SIGINT || signals < 2 {
				t.Errorf("after %d signals: %v, want the end by the second\n%s", signals, err, out)
			}
			return
		case <-time.After(200 * time.Millisecond):
			if signals == 20 {
				t.Fatalf("alive after %d signals\n%s", signals, out)
			}
		}
	}
}
