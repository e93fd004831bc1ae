package qta

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// The novelty of a goal is the twins' squared error, and its greatest is
// pursued.
func TestRNDNovelty(t *testing.T) {
	const n = 45 // several minibatches
	a := visitedAgent(t, "rnd", n)
	r := a.curriculum.(*rnd)
	target, predictor := r.target.vector(), r.predictor.vector()
	want := make([]float64, n)
	for i := range n {
		g := twinNormalized(a.goals, at(a.replay.achieved, i, 2))
		_, f := twinForward(target, g)
		_, p := twinForward(predictor, g)
		for c := range f {
			want[i] += (p[c] - f[c]) * (p[c] - f[c])
		}
	}
	got := make([]float64, n)
	for i := range n {
		r.novelty(a, got[i:i+1], []int{i})
	}
	near(t, "novelty", float32s(got), want)
	best := slices.Index(got, slices.Max(got))
	if goal := nextGoal(t, a, false); !slices.Equal(goal, at(a.replay.achieved, best, 2)) {
		t.Errorf("the goal is %v, the most novel %v", goal, at(a.replay.achieved, best, 2))
	}
}

// An update is one step of Adam against the gradient of the mean squared error,
// by differences of it; and only the one that learns moves.
func TestRNDLearns(t *testing.T) {
	a := visitedAgent(t, "rnd", 60)
	r := a.curriculum.(*rnd)
	frozen := slices.Clone(r.target.params)
	transitions := make([]int, a.params.Batch)
	for row := range transitions {
		transitions[row] = 3 * row
	}
	loss := func() float64 {
		ν := make([]float64, len(transitions))
		r.novelty(a, ν, transitions)
		sum := 0.0
		for _, v := range ν {
			sum += v / float64(len(ν))
		}
		return sum
	}
	want := loss()
	before := slices.Clone(r.predictor.params)
	if got := r.learn(a, transitions); math.Abs(got-want) > 1e-6*want {
		t.Errorf("the loss is %v, want %v", got, want)
	}
	gradient, after := slices.Clone(r.gradient.params), slices.Clone(r.predictor.params)
	for k := 0; k < len(before); k += 997 {
		// Adam's first step is the rate against the gradient's sign.
		if g, moved := gradient[k], after[k]-before[k]; math.Abs(float64(g)) > 1e-5 && math.Abs(float64(moved)+math.Copysign(rndRate, float64(g))) > 2e-6 {
			t.Errorf("parameter %d with gradient %v moved by %v", k, g, moved)
		}
		const h = 1e-2
		copy(r.predictor.params, before)
		r.predictor.params[k] = before[k] + h
		up := loss()
		r.predictor.params[k] = before[k] - h
		if numeric := (up - loss()) / (2 * h); math.Abs(numeric-float64(gradient[k])) > 2e-3+0.05*math.Abs(numeric) {
			t.Errorf("parameter %d: gradient %v, by differences %v", k, gradient[k], numeric)
		}
		copy(r.predictor.params, before)
	}
	if !slices.Equal(frozen, r.target.params) {
		t.Error("the random network has moved")
	}
}

// A network of a curriculum gone wrong ends training by name.
func TestCurriculumNumericError(t *testing.T) {
	for curriculum, network := range map[string]string{"rnd": "RND predictor", "vds": "VDS value functions"} {
		p := tinyPreset(Default())
		p.Curriculum = curriculum
		a, _ := walked(t, p, 20)
		for _, v := range a.curriculum.networks() {
			v.values[0] = float32(math.NaN())
		}
		var numeric *NumericError
		if err := a.curriculum.endEpisode(a); !errors.As(err, &numeric) || numeric.Network != network {
			t.Errorf("%s: error %v", curriculum, err)
		}
	}
}

// The network that learns has an update for each step of an episode.
func TestRNDUpdates(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum = "rnd"
	a := agentAfter(t, p, 3*p.Horizon+4)
	if got := stepsOf(a.curriculum.(*rnd).adam); got != 3*p.Horizon {
		t.Errorf("%d updates after three episodes of %d steps", got, p.Horizon)
	}
}
