package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// What is exported of a run is read back as its agent's networks, and the run
// stays as it is.
func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "30", "-out", "run")...)
	before := roomtest.Read(t, "run", rundir.AgentFile)
	out := mustRun(t, "export", "run", "-o", "networks")
	for _, want := range []string{"run, after 30 environment steps, to networks", " bytes"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q does not say %q", out, want)
		}
	}
	exported := roomtest.Read(t, ".", "networks")
	a, err := qta.ReadSafetensors(strings.NewReader(exported))
	if err != nil {
		t.Fatal(err)
	}
	trained, err := qta.LoadFile("run/" + rundir.AgentFile)
	if err != nil {
		t.Fatal(err)
	}
	s, g := []float64{1.2, 1.4}, []float64{2.1, 3.1}
	if diff := cmp.Diff(trained.Act(s, g), a.Act(s, g)); diff != "" {
		t.Errorf("actions (-run +export):\n%s", diff)
	}
	var b bytes.Buffer
	if err := trained.WriteSafetensors(&b); err != nil || b.String() != exported {
		t.Errorf("the command writes another file than the library, error %v", err)
	}
	if roomtest.Read(t, "run", rundir.AgentFile) != before {
		t.Error("the run has changed")
	}
	if got := command(t, "export", "run", "-o", "nowhere/networks"); got.code != exitFailure || strings.Count(got.errors, "\n") != 1 {
		t.Errorf("into no directory: exit code %d, %q", got.code, got.errors)
	}
}
