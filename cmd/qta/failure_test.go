package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qta"
	"qta/cmd/qta/internal/rundir"
)

// TestNumericFailure lets a learning rate at the end of its range ruin a run:
// its end names the step and the network, and the last good checkpoint is kept,
// from which the same happens again.
func TestNumericFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-set", "CriticRate=1", "-set", "HiddenSize=64", "-set", "HiddenLayers=16", "-set", "LearningStarts=35", "-steps", "2000", "-checkpoint", "10", "-out", "run")
	first := command(t, args...)
	kept, err := qta.LoadFile(filepath.Join("run", rundir.AgentFile))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^qta: step (\d+): (?:policy|critics|predictive heads): NaN is not finite`).FindStringSubmatch(first.errors)
	if named == nil {
		t.Fatalf("stderr %q, want the step and the network", first.errors)
	}
	if step, _ := strconv.Atoi(named[1]); step <= kept.Steps() || step > kept.Steps()+10 {
		t.Errorf("stderr %q, where the checkpoint kept is of step %d", first.errors, kept.Steps())
	}
	if want := fmt.Sprintf("; the checkpoint of step %d is kept in run\n", kept.Steps()); first.code != exitNumeric || !strings.HasSuffix(first.errors, want) || strings.Count(first.errors, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q, want %d and %q", first.code, first.errors, exitNumeric, want)
	}
	r, err := rundir.ReadRecord("run")
	if err != nil || r.State != rundir.Failed || !strings.Contains(first.errors, r.Outcome.Message) {
		t.Errorf("record %+v, error %v", r, err)
	}
	if again := command(t, args...); again.code != exitNumeric || again.errors != first.errors {
		t.Errorf("continued: exit code %d, stderr %q, want %q as before", again.code, again.errors, first.errors)
	}
}
