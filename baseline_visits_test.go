package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// visitedAgent returns an agent past its initial steps that has been in cells
// by the dozen, of which one has been visited once, and whose candidates are all
// transitions.
func visitedAgent(t *testing.T, curriculum string, n int) *Agent {
	t.Helper()
	p := tinyPreset(Default())
	p.Curriculum, p.Candidates = curriculum, n
	a, err := NewAgent(p, Sizes{2, 2, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range n {
		x := []float64{float64(6*rng.Float64()) - 3, float64(2*rng.Float64()) - 1}
		if i == n/3 {
			x = []float64{-7.5, 0.5}
		}
		a.replay.add(x, x, []float64{0}, x, State{Observation: x, Achieved: x, Desired: x})
		a.goals.add(x)
	}
	a.goals.update()
	a.step = n
	a.reserve()
	return a
}

// The least visited cell is found, with cells of negative coordinates too, and
// after it has been visited more often than others, one of those.
func TestVisits(t *testing.T) {
	const n = 300
	a := visitedAgent(t, "visits", n)
	naive := func(goal []float64) (visits int) {
		for i := range a.replay.n {
			g := at(a.replay.achieved, i, 2)
			if math.Floor(g[0]) == math.Floor(goal[0]) && math.Floor(g[1]) == math.Floor(goal[1]) {
				visits++
			}
		}
		return visits
	}
	rare := []float64{-7.5, 0.5}
	seen := map[bool]int{}
	for range 60 {
		goal := slices.Clone(nextGoal(t, a, false))
		least := n
		for i := range a.replay.n {
			least = min(least, naive(at(a.replay.achieved, i, 2)))
		}
		if got := naive(goal); got != least {
			t.Fatalf("the goal %v lies in a cell of %d visits, the least visited has %d", goal, got, least)
		}
		seen[slices.Equal(goal, rare)]++
		a.replay.add(rare, rare, []float64{0}, rare, State{Observation: rare, Achieved: rare, Desired: rare})
		a.params.Candidates = a.replay.n
	}
	if seen[true] < 10 || seen[false] < 1 {
		t.Errorf("the rare cell is pursued %d times, others %d: this shows little", seen[true], seen[false])
	}
}

// Cells are told apart, and zero has no sign.
func TestVisitCells(t *testing.T) {
	v := newVisits()
	name := func(g ...float64) string { return string(v.cellOf(g)) }
	if name(0, 0.5) != name(math.Copysign(0, -1), 0) || name(0.999, 0) != name(0, 0.999) {
		t.Error("goals of one cell have different names")
	}
	names := map[string]bool{}
	for _, g := range [][]float64{{0, 0}, {1, 0}, {0, 1}, {-0.5, 0}, {0, -0.5}, {1e300, 0}, {-1e300, 0}, {12, 3}, {1, 23}} {
		names[name(g...)] = true
	}
	if len(names) != 9 {
		t.Errorf("9 cells have %d names", len(names))
	}
}

// The initial steps, the candidates and the threshold are QTA's.
func TestMostNovel(t *testing.T) {
	for _, curriculum := range []string{"visits", "rnd"} {
		a := visitedAgent(t, curriculum, 40)
		a.params.InitialSteps = 50
		counts := map[float64]bool{}
		for range 1000 {
			counts[nextGoal(t, a, false)[0]] = true
		}
		if len(counts) != 40 {
			t.Errorf("%s: in the initial steps %d of 40 achieved goals are pursued", curriculum, len(counts))
		}
		a.params.InitialSteps = 0
		best := slices.Clone(nextGoal(t, a, true))

		// A threshold that all but one candidate miss leaves that one.
		x := newMatrix(40, 5)
		q := make([]float64, 40)
		for i := range 40 {
			a.inputs(x.row(i), a.observation, at(a.replay.achieved, i, 2))
		}
		a.valuesTowards(q, x)
		highest := slices.Index(q, slices.Max(q))
		a.params.Threshold = (q[highest] - 1e-9) / float64(a.params.Horizon)
		only := at(a.replay.achieved, highest, 2)
		if slices.Equal(only, best) {
			t.Fatalf("%s: the most novel candidate is also the most valued: this shows nothing", curriculum)
		}
		if got := nextGoal(t, a, true); !slices.Equal(got, only) {
			t.Errorf("%s: a first goal is %v, achievable is %v alone", curriculum, got, only)
		}
		if got := nextGoal(t, a, false); !slices.Equal(got, best) {
			t.Errorf("%s: a later goal is %v, want %v, which no threshold keeps out", curriculum, got, best)
		}

		a.replay.n = 0
		a.achieved[0] = 77
		if got := nextGoal(t, a, true); got[0] != 77 {
			t.Errorf("%s: a run's first goal is %v", curriculum, got)
		}
	}
}

// A visit is to where a step began, which is where a goal is taken from: not to
// where an episode's last step ended.
func TestVisitsOfStates(t *testing.T) {
	a := visitedAgent(t, "visits", 30)
	v := a.curriculum.(*visits)
	from, to := []float64{40.5, 0.5}, []float64{50.5, 0.5}
	a.replay.add(from, from, []float64{0}, from, State{Observation: to, Achieved: to, Desired: to})
	a.step++
	a.params.Candidates = a.replay.n
	nextGoal(t, a, false)
	if n, m := v.counts[string(v.cellOf(from))], v.counts[string(v.cellOf(to))]; n != 1 || m != 0 {
		t.Errorf("%d visits of where the step began and %d of where it ended, want 1 and 0", n, m)
	}
}
