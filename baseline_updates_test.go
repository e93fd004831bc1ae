package qta

import (
	"math"
	"slices"
	"testing"
)

// updatesOf counts the updates an agent has had, by Adam's β₁ᵗ.
func updatesOf(a *Agent) int { return stepsOf(a.policy.adam) }

func stepsOf(m *adam) int { return int(math.Round(math.Log(m.beta1) / math.Log(adamBeta1))) }

// Updates come after each step, or all of an episode's at its end, from the step
// or the end on that is the first after LearningStarts.
func TestUpdates(t *testing.T) {
	for _, test := range []struct {
		step, burst, starts int
		want                map[int]int // updates in all by step; between them nothing happens
	}{
		{1, 0, 28, map[int]int{29: 1, 30: 2, 31: 3, 32: 4, 33: 5, 34: 6, 35: 7}},
		{3, 0, 32, map[int]int{33: 3, 34: 6, 35: 9}},
		{1, 3, 1, map[int]int{10: 3, 20: 6, 30: 9}},
		{1, 3, 10, map[int]int{20: 3, 30: 6}},
		{1, 5, 29, map[int]int{30: 5}},
		{1, 5, 30, map[int]int{}},
	} {
		p := tinyPreset(Default())
		p.UpdatesPerStep, p.UpdatesPerEpisode, p.LearningStarts = test.step, test.burst, test.starts
		a := newMazeAgent(t, p, 1)
		want := 0
		trainTo(t, a, 35, func() error {
			if n, ok := test.want[a.step]; ok {
				want = n
			}
			if got := updatesOf(a); got != want {
				t.Errorf("%+v: %d updates after step %d, want %d", test, got, a.step, want)
			}
			return nil
		})
	}
}

// A watched curriculum notes what an agent has done when its episodes end.
type watched struct {
	randomGoals
	updates, shown []int // updates and, by the normalizer's count, vectors shown
}

func (w *watched) endEpisode(a *Agent) error {
	w.updates = append(w.updates, updatesOf(a))
	w.shown = append(w.shown, int(a.goals.count)-1)
	return nil
}

// As in VDS, at an episode's end the normalizers come first, then the
// curriculum, then the updates; single updates come before both.
func TestEndOfEpisode(t *testing.T) {
	for _, test := range []struct {
		burst   int
		updates []int
	}{{0, []int{5, 15, 25}}, {8, []int{0, 8, 16}}} {
		p := tinyPreset(Default())
		p.Curriculum, p.UpdatesPerEpisode, p.UpdatesPerStep = "random", test.burst, 1
		a := newMazeAgent(t, p, 1)
		w := new(watched)
		a.curriculum = w
		trainTo(t, a, 30, nil)
		if shown := []int{5, 10, 15}; !slices.Equal(w.updates, test.updates) || !slices.Equal(w.shown, shown) {
			t.Errorf("%d per episode: after updates %v, want %v, and %v vectors shown, want %v", test.burst, w.updates, test.updates, w.shown, shown)
		}
	}
}
