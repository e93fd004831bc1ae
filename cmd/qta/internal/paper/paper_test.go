package paper

import (
	"math"
	"testing"

	"qta"
)

func TestPaperData(t *testing.T) {
	// Spot checks against the tables that the files were written from.
	find := func(panel, method, maze string, scaled bool) Point {
		for _, p := range Points() {
			if p.Panel == panel && p.Method == method && p.Maze == maze && p.Scaled == scaled {
				return p
			}
		}
		t.Fatalf("no %s of %s in %s", method, maze, panel)
		return Point{}
	}
	for _, test := range []struct {
		p                        Point
		mean, deviation, printed float64
	}{
		{find("2L", "QTA", "4x5", false), 7900, 1050, 6900},
		{find("6R", "QTA", "4x5", false), 7820, 1050, 7820}, // printed in steps
		{find("2R", "VDS", "1U5", false), 8010, 1140, 7010},
		{find("2R", "VDS", "1U5", true), 20025, 2850, 7010}, // 2.5 times both
	} {
		off := math.Abs(test.p.Mean-test.mean) + math.Abs(test.p.Deviation-test.deviation) + math.Abs(test.p.Printed-test.printed)
		if off > 1e-6 {
			t.Errorf("%+v, want %v ± %v, printed %v", test.p, test.mean, test.deviation, test.printed)
		}
	}
	// Figure 4's curve without noise, at the first evaluation and after 100,000 steps.
	if c := Curves()["sigma=0"]; c[0] != (Success{1000, 0}) || c[20].Step != 101_000 {
		t.Errorf("Figure 4 begins with %v and goes on to %v", c[0], c[20])
	}
	series := map[string]bool{}
	for _, p := range Points() {
		series[p.Panel+" "+p.Method] = true
		if PathLength(p.Maze) == 0 {
			t.Errorf("no path length of %s", p.Maze)
		}
	}
	curves := Curves()
	for _, f := range Figures() {
		for _, p := range f.Panels {
			for _, m := range p.Lines {
				if f.Number != "5" && !series[p.Name+" "+m.Method.Name] && len(curves[m.Series]) == 0 {
					t.Errorf("no numbers of %s in %s", m.Series, p.Name)
				}
			}
		}
	}
}

// TestRecognize sees each method in each preset, and the methods that presets
// imply.
func TestRecognize(t *testing.T) {
	for _, preset := range qta.Presets() {
		for _, m := range Methods() {
			p := preset.Params
			p.Curriculum = "qta"
			p = m.Apply(p)
			if got, setting := Recognize(p); got.Name != m.Name || setting != preset.Name {
				t.Errorf("%s of %s is taken for %s of %s", m.Name, preset.Name, got.Name, setting)
			}
			p.ActionNoise = 0.77 // in which no presets differ
			if got, setting := Recognize(p); got.Name != m.Name || setting != preset.Name+" ActionNoise=0.77" {
				t.Errorf("%s of %s with more noise is taken for %s of %s", m.Name, preset.Name, got.Name,
					setting)
			}
		}
	}
	her := qta.Default()
	her.Curriculum = "her"
	her.FirstGoalDesired = 0 // which is QTA's alone
	for _, test := range []struct {
		p             qta.Params
		name, setting string
	}{{her, "HER", "default"}, {qta.Default(), "QTA", "default"}, {qta.MEGA(), "MEGA", "mega"}, {qta.VDS(),
		"VDS", "vds"}} {
		if got, setting := Recognize(test.p); got.Name != test.name || setting != test.setting {
			t.Errorf("%s is taken for %s of %s", test.setting, got.Name, setting)
		}
	}
}
