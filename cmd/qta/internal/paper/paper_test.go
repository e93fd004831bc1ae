package paper

import (
	"math"
	"testing"

	"qta"
)

func TestPaperData(t *testing.T) {
	// Spot checks against the tables that the files were written from.
	find := func(panel, series, maze string, scaled bool) Point {
		for _, p := range Points() {
			if p.Panel == panel && p.Series == series && p.Maze == maze && p.Scaled == scaled {
				return p
			}
		}
		t.Fatalf("no %s of %s in %s", series, maze, panel)
		return Point{}
	}
	for _, test := range []struct {
		p    Point
		want float64
	}{
		{find("2L", "QTA", "4x5", false), 7900},
		{find("6R", "PUN", "4x5", false), 7820}, // printed in steps
		{find("2R", "VDS", "1U5", false), 8010},
		{find("2R", "VDS", "1U5", true), 20025},
	} {
		if math.Abs(test.want-test.p.Mean) > 1e-6 {
			t.Errorf("%+v, want %v", test.p, test.want)
		}
	}
	series := map[string]bool{}
	for _, p := range Points() {
		series[p.Panel+" "+p.Series] = true
		if PathLength(p.Maze) == 0 {
			t.Errorf("no path length of %s", p.Maze)
		}
	}
	curves := Curves()
	for _, f := range Figures() {
		for _, p := range f.Panels {
			for _, m := range p.Lines {
				if f.Number != "5" && !series[p.Name+" "+m.Series] && len(curves[m.Series]) == 0 {
					t.Errorf("no numbers of %s in %s", m.Series, p.Name)
				}
			}
		}
	}
}

// TestRecognise sees each method in each preset, and the methods that presets
// imply.
func TestRecognise(t *testing.T) {
	for _, preset := range qta.Presets() {
		for _, m := range Methods() {
			p := preset.Params
			p.Curriculum = "qta"
			p = m.Apply(p)
			if got, setting := Recognise(p); got.Name != m.Name || setting != preset.Name {
				t.Errorf("%s of %s is taken for %s of %s", m.Name, preset.Name, got.Name, setting)
			}
			p.ActionNoise = 0.77 // in which no presets differ
			if got, setting := Recognise(p); got.Name != m.Name || setting != preset.Name+" ActionNoise=0.77" {
				t.Errorf("%s of %s with more noise is taken for %s of %s", m.Name, preset.Name, got.Name, setting)
			}
		}
	}
	her := qta.Default()
	her.Curriculum = "her"
	her.FirstGoalDesired = 0 // which is QTA's alone
	for _, test := range []struct {
		p             qta.Params
		name, setting string
	}{{her, "HER", "default"}, {qta.Default(), "QTA", "default"}, {qta.MEGA(), "MEGA", "mega"}, {qta.VDS(), "VDS", "vds"}} {
		if got, setting := Recognise(test.p); got.Name != test.name || setting != test.setting {
			t.Errorf("%s is taken for %s of %s", test.setting, got.Name, setting)
		}
	}
}
