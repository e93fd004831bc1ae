package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// The shorthands are -set by another name, in the order of the command line,
// and in the directory's name.
func TestShorthands(t *testing.T) {
	for _, test := range []struct {
		args string
		want []string
	}{
		{"", nil},
		{"-curriculum mega", []string{"Curriculum=mega"}},
		{"-replay td -set AuthorsForm=true", []string{"Replay=td", "AuthorsForm=true"}},
		{"-uncertainty-noise 0.03 -set Batch=7", []string{"UncertaintyNoise=0.03", "Batch=7"}},
		{"-uncertainty q", []string{"Uncertainty=q"}},
		{"-uncertainty bootstrap", []string{"Uncertainty=bootstrap"}},
		{"-uncertainty ensemble -replay per", []string{"Uncertainty=ensemble", "Replay=per"}},
		{"-uncertainty bootstrap -set UncertaintyActions=8", []string{"Uncertainty=bootstrap", "UncertaintyActions=8"}},
		{"-set UncertaintyActions=8 -uncertainty ensemble", []string{"UncertaintyActions=8", "Uncertainty=ensemble"}},
		{"-uncertainty ensemble -uncertainty pun", []string{"Uncertainty=ensemble", "Uncertainty=pun"}},
		{"-set Uncertainty=bootstrap", []string{"Uncertainty=bootstrap"}},
	} {
		var f trainFlags
		if _, err := parseFlags(f.flagSet(), strings.Fields(test.args)); err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		if diff := cmp.Diff(test.want, f.set); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args, diff)
		}
		_, label, err := findParams(f.params, f.set)
		if want := strings.Join(append([]string{"fast"}, test.want...), "-"); err != nil || label != want {
			t.Errorf("%s: label %q, error %v, want %q", test.args, label, err, want)
		}
	}
}

func TestShorthandRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct{ args, want string }{
		{"-curriculum omega", `for flag -curriculum: parameter Curriculum is omega, allowed are qta|mega|vds|her|random|visits|rnd`},
		{"-uncertainty dropout", `for flag -uncertainty: parameter Uncertainty is dropout, allowed are pun|q|bootstrap|ensemble`},
		{"-uncertainty-noise -1", `for flag -uncertainty-noise: parameter UncertaintyNoise is -1, allowed are [0,1000000]`},
		{"-uncertainty-noise much", `for flag -uncertainty-noise: parameter UncertaintyNoise: "much" is not a number`},
		{"-replay twice", `for flag -replay: parameter Replay is twice, allowed are uniform|per|td`},
		{"-curriculum mega -uncertainty q", "parameter Curriculum is mega, which asks no uncertainty"},
		{"-curriculum her -uncertainty-noise 0.1", "parameter Curriculum is her, which asks no uncertainty"},
		{"-params mega -curriculum qta", "parameter Critics is 1, which cannot disagree: Curriculum qta needs 2 and above"},
		{"-params vds -replay per", "parameter Critics is 1, which cannot disagree: Replay per needs 2 and above"},
		{"-params vds -uncertainty q", "parameter Curriculum is vds, which asks no uncertainty"},
	} {
		before := tree(t)
		got := command(t, strings.Fields(test.args)...)
		if got.code != exitInput || got.out != "" || !strings.Contains(got.errors, test.want) || strings.Count(got.errors, "\n") != 1 {
			t.Errorf("qta %s: exit code %d, stdout %q, stderr %q, want %q", test.args, got.code, got.out, got.errors, test.want)
		}
		if diff := cmp.Diff(before, tree(t)); diff != "" {
			t.Errorf("qta %s changed the directory (-before +after):\n%s", test.args, diff)
		}
	}
}

// The help names every value that a shorthand takes.
func TestShorthandHelp(t *testing.T) {
	help := mustRun(t, "help", "train")
	for flag, field := range map[string]string{"curriculum": "Curriculum", "uncertainty": "Uncertainty", "replay": "Replay"} {
		_, line, _ := strings.Cut(help, "\n  -"+flag+" ")
		line, _, _ = strings.Cut(line, "\n  -")
		for _, f := range qta.Fields() {
			if f.Name != field {
				continue
			}
			for word := range strings.SplitSeq(f.Range, "|") {
				if !strings.Contains(line, " "+word) {
					t.Errorf("the help on -%s lacks %s: %q", flag, word, line)
				}
			}
		}
	}
}

// Every baseline trains from the command line, and goes on where it was.
func TestBaselinesRun(t *testing.T) {
	for i, args := range []string{
		"-curriculum mega -replay per",
		"-curriculum her",
		"-curriculum visits",
		"-curriculum rnd -replay per",
		"-curriculum random -uncertainty bootstrap",
		"-uncertainty ensemble -uncertainty-noise 0.01",
		"-uncertainty q -replay td",
		"-params mega",
		"-params mega -replay td",
		"-params vds -curriculum her",
	} {
		t.Run(args, func(t *testing.T) {
			if testing.Short() && i%2 != 0 {
				t.Skip("with -short, every other combination; the full suite runs all of them")
			}
			t.Chdir(t.TempDir())
			whole := tinyRun(append(strings.Fields(args), "-steps", "45", "-out", "whole")...)
			parts := tinyRun(append(strings.Fields(args), "-out", "parts", "-steps")...)
			mustRun(t, whole...)
			mustRun(t, append(parts, "23")...)
			mustRun(t, append(parts, "45")...)
			sameOutcome(t, "whole", "parts")
			if got := roomtest.Read(t, "parts", rundir.AgentFile); got != roomtest.Read(t, "whole", rundir.AgentFile) {
				t.Errorf("the agents differ")
			}
		})
	}
	t.Chdir(t.TempDir())
	if testing.Short() {
		return
	}
	mustRun(t, tinyRun("-curriculum", "vds", "-steps", "12")...)
	if found, _ := filepath.Glob("runs/1U5-small-*-Curriculum=vds-1"); len(found) != 1 {
		t.Errorf("the run is not in runs, but there is %v", tree(t))
	}
}
