package main

import (
	"qta"
	"strings"
	"testing"
)

func TestPaperData(t *testing.T) {
	// Spot checks against the tables that the files were written from.
	find := func(panel, series, maze string, scaled bool) paperPoint {
		for _, p := range paperPoints() {
			if p.panel == panel && p.series == series && p.maze == maze && p.scaled == scaled {
				return p
			}
		}
		t.Fatalf("no %s of %s in %s", series, maze, panel)
		return paperPoint{}
	}
	for _, test := range []struct {
		p    paperPoint
		want float64
	}{
		{find("2L", "QTA", "4x5", false), 7900},
		{find("6R", "PUN", "4x5", false), 7820}, // printed in steps
		{find("2R", "VDS", "1U5", false), 8010},
		{find("2R", "VDS", "1U5", true), 20025},
	} {
		if !near(test.want, test.p.mean) {
			t.Errorf("%+v, want %v", test.p, test.want)
		}
	}
	series := map[string]bool{}
	for _, p := range paperPoints() {
		series[p.panel+" "+p.series] = true
		if pathLength(p.maze) == 0 {
			t.Errorf("no path length of %s", p.maze)
		}
	}
	curves := paperCurves()
	for _, f := range figures() {
		for _, p := range f.panels {
			for _, m := range p.methods {
				if f.number != "5" && !series[p.name+" "+m.series] && len(curves[m.series]) == 0 {
					t.Errorf("no numbers of %s in %s", m.series, p.name)
				}
			}
		}
	}
}

// TestRecognise sees each method in each preset, and the methods that presets
// imply.
func TestRecognise(t *testing.T) {
	for _, preset := range qta.Presets() {
		for _, m := range methods() {
			p := preset.Params
			p.Curriculum = "qta"
			for _, change := range m.set {
				name, value, _ := strings.Cut(change, "=")
				if err := p.Set(name, value); err != nil {
					t.Fatal(err)
				}
			}
			if got, setting := recognise(p); got.name != m.name || setting != preset.Name {
				t.Errorf("%s of %s is taken for %s of %s", m.name, preset.Name, got.name, setting)
			}
			p.Batch = 77
			if got, setting := recognise(p); got.name != m.name || setting != preset.Name+" Batch=77" {
				t.Errorf("%s of %s with another batch is taken for %s of %s", m.name, preset.Name, got.name, setting)
			}
		}
	}
	for _, test := range []struct {
		p             qta.Params
		name, setting string
	}{{qta.Default(), "QTA", "default"}, {qta.MEGA(), "MEGA", "mega"}, {qta.VDS(), "VDS", "vds"}} {
		if got, setting := recognise(test.p); got.name != test.name || setting != test.setting {
			t.Errorf("%s is taken for %s of %s", test.setting, got.name, setting)
		}
	}
}
