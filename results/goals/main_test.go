package main

import (
	"path/filepath"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestSurvey holds the numbers to 15x5, whose dead end is its center column.
func TestSurvey(t *testing.T) {
	start, top, below, tip, goal := []float64{15.5, 2.5}, []float64{1.5, 3.5}, []float64{5.5, 3.5},
		[]float64{13.5, 3.5}, []float64{15.5, 4.5}
	for _, test := range []struct {
		goals               [][]float64
		percentile, nearest int
		off                 float64
	}{
		{[][]float64{start, goal}, 31, 0, 0},
		{[][]float64{start, top}, 16, 16, 0},
		{[][]float64{start, start, start, tip}, 27, 27, 0.25},
		{[][]float64{top, below}, 19, 16, 0.5},
	} {
		percentile, nearest, off := survey(roomtest.Maze(t, "15x5"), test.goals)
		if percentile != test.percentile || nearest != test.nearest || off != test.off {
			t.Errorf("%v: %d, %d and %v, want %+v", test.goals, percentile, nearest, off, test)
		}
	}
}

// TestWhere looks at a run whose last step is a line of its own, in which no goal was set.
func TestWhere(t *testing.T) {
	roomtest.Long(t)
	p := qta.Small()
	p.HiddenSize, p.Batch, p.Candidates, p.Horizon = 4, 1, 10, 64 // no episode begins with a line
	dir := filepath.Join(t.TempDir(), "run")
	m := roomtest.Maze(t, "4x5")
	o := lab.Options{Name: "4x5", Params: p, Steps: 10_001, Dir: dir, Continue: true, Say: func(string) {}}
	if err := lab.Train(t.Context(), lab.Maze(m), lab.Maze(m), o); err != nil {
		t.Fatal(err)
	}
	text, err := where([]string{dir})
	if lines := strings.Count(text, "\n"); err != nil || lines != 2 {
		t.Errorf("error %v, %s", err, text)
	}
}
