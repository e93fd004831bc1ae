package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/cmd/qta/internal/roomtest"
)

// TestCheck runs the command where there is no repository, for every equation.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	all := mustRun(t, "check")
	worked, table, _ := strings.Cut(all, "The code held to")
	if n := strings.Count(worked, "\nEquation ") + 1; n != 8 {
		t.Errorf("qta check works %d equations through, want 8", n)
	}
	for _, mechanism := range []string{"adam.step", "replay.relabel", "futureStep", "Agent.learn"} {
		if !strings.Contains(table, mechanism) {
			t.Errorf("qta check has no line on %s", mechanism)
		}
	}
	for i, test := range []struct{ cases, lacks string }{
		{"td-target.json", "critic-loss"}, {"critic-loss.json", "td-target"}, {"polyak.json", "per.json"}, {"predictive-loss.json", "polyak"},
		{"uncertainty-std.json", "per.json"}, {"goal-probability.json", "adam"}, {"per.json", "adam"}, {"per.json", "her"},
	} {
		number := string(rune('1' + i))
		one, table, _ := strings.Cut(mustRun(t, "check", number), "The code held to")
		if !strings.HasPrefix(one, "Equation "+number+": ") || !strings.Contains(worked, one) {
			t.Errorf("qta check %s does not begin with the part of qta check on it:\n%s", number, one)
		}
		if !strings.Contains(table, test.cases) || strings.Contains(table, test.lacks) {
			t.Errorf("qta check %s: the cases lack %s or have %s:\n%s", number, test.cases, test.lacks, table)
		}
	}
}

func TestCheckVectors(t *testing.T) {
	const (
		good = `{"name": "one", "in": {"r": [-1], "gamma": 0.5, "q_target": [[1], [3]], "M": [1, 0]}, "out": {"y": [-0.5]}, "tol": 1e-6}`
		bad  = `{"name": "max for min", "in": {"r": [-1], "gamma": 0.5, "q_target": [[1], [3]], "M": [1, 0]}, "out": {"y": [0.5]}, "tol": 1e-6}`
		odd  = `{"name": "one critic", "in": {"r": [-1], "gamma": 0.5, "q_target": [[1]], "M": [0, 0]}, "out": {"y": [0.5]}, "tol": 1e-6}`
	)
	for _, test := range []struct {
		what, cases, args string
		code              int
		out, errors       []string
	}{
		{"good", good, "", exitDone, []string{"x.json", `"one"`, "TDTarget", "holds\n\n1 of 1 cases hold.\n"}, nil},
		{"its equation", good, "1", exitDone, []string{"1 of 1 cases hold.\n"}, nil},
		{"another equation", good, "2", exitInput, nil, []string{"folder has no vectors of Equation 2"}},
		{"wrong number", good + "," + bad, "", exitFailure,
			[]string{`"max for min"`, "DOES NOT HOLD: out.y[0] is 0.5 in the file, the code gives -0.5;", "\n1 of 2 cases hold.\n"},
			[]string{"qta: 1 of 2 cases of folder do not hold\n"}},
		{"impossible", odd, "", exitFailure, []string{"DOES NOT HOLD: in.M is [0 0]"}, []string{"1 of 1 cases"}},
		{"no cases", "", "", exitInput, nil, []string{"qta: -vectors folder: x.json: no cases\n"}},
		{"no JSON", "[", "", exitInput, nil, []string{"qta: -vectors folder: x.json: the file is not JSON\n"}},
	} {
		t.Chdir(t.TempDir())
		roomtest.Write(t, "folder/x.json", `{"equation": "td-target", "paper": "", "cases": [`+test.cases+`]}`)
		got := command(t, append([]string{"check", "-vectors", "folder"}, strings.Fields(test.args)...)...)
		if got.code != test.code || (test.out == nil) != (got.out == "") || strings.Count(got.errors, "\n") > 1 || (test.errors == nil) != (got.errors == "") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %+v", test.what, got.code, got.out, got.errors, test)
		}
		for _, want := range test.out {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: stdout %q lacks %q", test.what, got.out, want)
			}
		}
		for _, want := range test.errors {
			if !strings.Contains(got.errors, want) {
				t.Errorf("%s: stderr %q lacks %q", test.what, got.errors, want)
			}
		}
	}
}

// The vectors within the command are those of the repository.
func TestCheckEmbedded(t *testing.T) {
	golden := filepath.Join("..", "..", "testdata", "golden")
	onDisk := mustRun(t, "check", "-vectors", golden)
	_, embedded, _ := strings.Cut(mustRun(t, "check"), "The code held to the golden vectors")
	if diff := cmp.Diff(strings.TrimPrefix(onDisk, "The code held to "+golden), embedded); diff != "" {
		t.Errorf("of testdata/golden and of the command (-want +got):\n%s", diff)
	}
}
