package paper

import (
	"fmt"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

// TestPaperData makes spot checks against the tables that the files were written from.
func TestPaperData(t *testing.T) {
	for place, want := range map[string]string{
		"2L QTA 4x5": "7900 ± 1050",
		"6R QTA 4x5": "7820 ± 1050", // printed in steps
		"2R VDS 1U5": "8010 ± 1140",
	} {
		words := strings.Fields(place)
		p := Of(words[0], words[1], words[2])
		roomtest.Equal(t, place, want, fmt.Sprintf("%.6g ± %.6g", p.Mean, p.Deviation))
	}
	series := map[string]bool{}
	for _, p := range Points() {
		series[p.Panel+" "+p.Method] = true
		if p.Length == 0 {
			t.Errorf("no path length of %s", p.Maze)
		}
	}
	for _, f := range Figures() {
		for _, p := range f.Panels {
			for _, m := range p.Lines {
				if p.Title != "" && !series[p.Name+" "+m.Name] {
					t.Errorf("no numbers of %s in %s", m.Name, p.Name)
				}
			}
		}
	}
}

// TestRecognize sees each method in each preset, also with a parameter changed. The set
// literal differs from paper only in the goal of Equation 5, so with a method that does not
// use Equation 5 it is paper.
func TestRecognize(t *testing.T) {
	roomtest.Long(t)
	for _, preset := range qta.Presets() {
		for _, m := range Methods() {
			p := preset.Params
			p.Curriculum = "qta"
			p = m.Apply(p)
			want := preset.Name
			if want == "literal" && (p.Curriculum != "qta" || p.Uncertainty == "q") {
				want = "paper"
			}
			recognized(t, p, m.Name, want)
			p.ActionNoise = 0.77 // in which no presets differ
			recognized(t, p, m.Name, want+" ActionNoise=0.77")
		}
	}
	her := qta.Beyond()
	her.Curriculum = "her"
	her.FirstGoalDesired = 0 // which only QTA has
	recognized(t, her, "HER", "beyond")
	recognized(t, qta.MEGA(), "MEGA", "mega")
	recognized(t, qta.VDS(), "VDS", "vds")
}

// recognized checks the method and the setting that parameters are taken for.
func recognized(t *testing.T, p qta.Params, method, setting string) {
	t.Helper()
	got, of := Recognize(p)
	if got.Name != method || of != setting {
		t.Errorf("%s of %s is taken for %s of %s", method, setting, got.Name, of)
	}
}
