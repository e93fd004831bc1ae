package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"qta/internal/roomtest"
)

// TestMain lets the test binary stand in for the command, for the processes of
// sweeps.
func TestMain(m *testing.M) {
	if os.Getenv("QTA_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

var has = roomtest.Has

// result is what a command has shown.
type result struct {
	code        int
	out, errors string
}

// invoke runs the command of a line, whose words are separated by blanks.
func invoke(t *testing.T, line string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(line), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// mustRun runs a command that has to succeed and returns its output.
func mustRun(t *testing.T, line string) string {
	t.Helper()
	r := invoke(t, line)
	if r.code != exitDone || r.errors != "" {
		t.Fatalf("qta %s: exit code %d, stderr %q", line, r.code, r.errors)
	}
	return r.out
}

// tiny are the flags of a run that takes milliseconds.
const tiny = "-maze 1U5 -params small -set HiddenSize=8 -set HiddenLayers=2 -set Batch=16 -set Candidates=20 " +
	"-set UncertaintyActions=2 -set Horizon=10 -set InitialSteps=9 -set LearningStarts=5 -eval 7 -stop never"
