package main

import (
	"strings"
	"testing"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// TestRecorded holds what is said of earlier runs to results/runs.csv, which
// grep can read as well.
func TestRecorded(t *testing.T) {
	found := 0
	for _, maze := range []string{"4x5", "1U5", "12x5"} {
		m := roomtest.Maze(t, maze)
		for _, preset := range qta.Presets() {
			id := rundir.NewIdentity(maze, m, "any name", preset.Params, 77, 1000)
			h, err := recorded(id)
			if err != nil {
				t.Fatal(err)
			}
			found += h.runs
			if (h.String() == "") != (h.runs == 0) || len(h.solved) > h.runs {
				t.Errorf("%s on %s: %+v, %q", preset.Name, maze, h, h)
			}
			id.EvalEvery = 999
			if other, err := recorded(id); other.runs > 0 || err != nil {
				t.Errorf("other evaluations are taken for the same: %+v, error %v", other, err)
			}
		}
		// The same name, another map.
		id := rundir.NewIdentity(maze, mustParse(t, "S.G"), "", qta.Default(), 1, 1000)
		if h, err := recorded(id); h.runs > 0 || err != nil {
			t.Errorf("another map is taken for %s: %+v, error %v", maze, h, err)
		}
	}
	if found == 0 {
		t.Error("nothing is recorded of any preset on 4x5, 1U5 and 12x5")
	}
	for want, h := range map[string]history{
		"": {},
		"Of 3 recorded runs like this one (version 1) none solved the maze.":                                         {3, nil, "1"},
		"Of 1 recorded run like this one (version 1) 1 solved the maze, after 9 steps.":                              {1, []int{9}, "1"},
		"Of 5 recorded runs like this one (version 1) 4 solved the maze, after 3 to 9 steps, half of them within 5.": {5, []int{3, 5, 7, 9}, "1"},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReadmeUsual holds what README.md says of the first run to the same record.
func TestReadmeUsual(t *testing.T) {
	h, err := recorded(rundir.NewIdentity("4x5", roomtest.Maze(t, "4x5"), "", qta.Default(), 1, 1000))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(roomtest.Read(t, "../../README.md"), "<!-- first run -->")
	got, _, _ = strings.Cut(got, "<!-- /first run -->")
	if got != h.String() {
		t.Errorf("README.md says %q, want %q", got, h)
	}
}

func mustParse(t *testing.T, text string) *qta.Maze {
	t.Helper()
	m, err := qta.ParseMaze(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
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
