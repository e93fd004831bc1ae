package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"qta/cmd/qta/internal/rundir"
)

// A full is an output that takes some bytes and then no more.
type full struct {
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return max(0, len(p)+f.room), f.err
	}
	return len(p), nil
}

// Every command notices that its output is full, wherever it is; one whose
// reader has left says nothing.
func TestFullOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "20", "-out", "run")...)
	for _, args := range []string{"help", "help train", "version", "params", "params -wide", "params Batch", "maze 4x5", "eval run -rollouts 3", "export run", "figure5 run -o x.svg", "film run", "status run", "report run -o x.html", "check 5", "sweep -figure 2", strings.Join(tinyRun("-steps", "20", "-out", "run"), " ")} {
		for _, room := range []int{0, len(mustRun(t, strings.Fields(args)...)) - 1} {
			for _, cause := range []error{syscall.ENOSPC, syscall.EPIPE, errors.New("no more")} {
				var stderr bytes.Buffer
				code := run(t.Context(), strings.Fields(args), &full{room, cause}, &stderr)
				want := "qta: standard output cannot be written: " + cause.Error() + "\n"
				if cause == syscall.EPIPE {
					want = ""
				}
				if code != exitFailure || stderr.String() != want {
					t.Errorf("qta %s, after %d bytes: exit code %d, stderr %q, want %d and %q", args, room, code, stderr.String(), exitFailure, want)
				}
			}
		}
	}
}

// A run whose output ends stops and saves itself.
func TestRunWithoutOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "100", "-out", "whole")...)
	for rounds := 0; ; rounds++ {
		var stderr bytes.Buffer
		code := run(t.Context(), tinyRun("-steps", "100", "-out", "run"), &full{300, syscall.EPIPE}, &stderr)
		if code == exitDone {
			break
		}
		if code == exitFailure { // at the sentence that ends it
			mustRun(t, tinyRun("-steps", "100", "-out", "run")...)
			break
		}
		if code != exitUnfinished || stateOf(t, "run") != rundir.Stopped || stderr.String() != "qta: standard output cannot be written: broken pipe; all that was running is saved, and the same command goes on\n" {
			t.Fatalf("round %d: exit code %d, state %s, stderr %q", rounds, code, stateOf(t, "run"), stderr.String())
		}
		if rounds > 50 {
			t.Fatal("it does not get on")
		}
	}
	sameOutcome(t, "whole", "run")
}

// A panic ends with a line, a stack and the code of a failure: that of bad input,
// which Go's own has, would let a sweep's engine give up.
func TestPanic(t *testing.T) {
	var stderr bytes.Buffer
	code := guard(&stderr, func() int {
		var list []int
		return list[len(context.Background().Err().Error())]
	})
	if line, stack, _ := strings.Cut(stderr.String(), "\n"); code != exitFailure || !strings.HasPrefix(line, "qta: a mistake in this program: runtime error: ") || !strings.Contains(stack, "TestPanic") {
		t.Errorf("exit code %d, stderr\n%s", code, stderr.String())
	}
	if code := guard(&stderr, func() int { return exitInput }); code != exitInput {
		t.Errorf("without a panic: exit code %d", code)
	}
}
