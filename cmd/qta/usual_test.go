package main

import (
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/results"
)

// TestRecorded holds what is said of earlier runs to results/runs.csv, as runs
// of the version that made it.
func TestRecorded(t *testing.T) {
	rows, err := files.Rows([]byte(results.Runs()))
	if err != nil {
		t.Fatal(err)
	}
	version := rows[1][slices.Index(rows[0], "version")]
	found := 0
	for _, maze := range []string{"4x5", "1U5", "12x5"} {
		for _, preset := range qta.Presets() {
			id := rundir.NewIdentity(maze, roomtest.Maze(t, maze), "any name", preset.Params, 77, 1000)
			id.Version = version
			h, err := recorded(id)
			if err != nil {
				t.Fatal(err)
			}
			found += h.runs
			if (h.String() == "") != (h.runs == 0) || len(h.solved) > h.runs {
				t.Errorf("%s on %s: %+v, %q", preset.Name, maze, h, h)
			}
			for what, change := range map[string]func(*rundir.Identity){
				"other evaluations": func(id *rundir.Identity) { id.EvalEvery = 999 },
				"another version":   func(id *rundir.Identity) { id.Version += ".1" },
				"another map":       func(id *rundir.Identity) { id.Map = []string{"S.G"} },
			} {
				other := id
				change(&other)
				if h, err := recorded(other); h.runs > 0 || err != nil {
					t.Errorf("%s are taken for %s on %s: %+v, error %v", what, preset.Name, maze, h, err)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nothing is recorded of any preset on 4x5, 1U5 and 12x5")
	}
	for want, h := range map[string]history{
		"": {},
		"Of 3 recorded runs like this one none solved the maze.":                                         {3, nil},
		"Of 1 recorded run like this one 1 solved the maze, after 9 steps.":                              {1, []int{9}},
		"Of 5 recorded runs like this one 4 solved the maze, after 3 to 9 steps, half of them within 5.": {5, []int{3, 5, 7, 9}},
		"All 2 recorded runs like this one solved the maze, after 3 to 5 steps, half of them within 3.":  {2, []int{3, 5}},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReadmeUsual holds what README.md says of the first run to the same record.
func TestReadmeUsual(t *testing.T) {
	h, err := recorded(rundir.NewIdentity("4x5", roomtest.Maze(t, "4x5"), "", qta.Fast(), 1, 1000))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(roomtest.Read(t, "../../README.md"), "<!-- first run -->")
	got, _, _ = strings.Cut(got, "<!-- /first run -->")
	if got != h.String() {
		t.Errorf("README.md says %q, want %q", got, h)
	}
}

// TestFirstLines reads what a run says before it begins: how long it usually
// takes, as far as runs like it are on record and it is to stop when solved.
func TestFirstLines(t *testing.T) {
	t.Chdir(t.TempDir())
	h, err := recorded(rundir.NewIdentity("1U5", roomtest.Maze(t, "1U5"), "", qta.Small(), 1, 1000))
	if err != nil || h.runs == 0 {
		t.Skipf("nothing is recorded of small on 1U5 (error %v)", err)
	}
	args := strings.Fields("-maze 1U5 -params small -steps 1")
	if out := mustRun(t, append(args, "-out", "a")...); !strings.Contains(out, "\n"+h.String()+"\n") {
		t.Errorf("it does not say %q:\n%s", h, out)
	}
	if out := mustRun(t, append(args, "-out", "b", "-stop", "never", "-threads", "1")...); strings.Contains(out, "recorded run") || !strings.Contains(out, " kernel, 1 thread; files in b\n") {
		t.Errorf("a run that does not stop when it is solved says:\n%s", out)
	}
	if out := mustRun(t, tinyRun("-steps", "1", "-stop", "solved", "-out", "c")...); strings.Contains(out, "recorded run") {
		t.Errorf("a run like none on record says:\n%s", out)
	}
}
