package qta

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lineAgent returns an agent that has learnt a little where observations, goals
// and actions have three, one and two numbers.
func lineAgent(t testing.TB, p Params) *Agent {
	t.Helper()
	a, err := NewAgent(p, new(lineEnv).Sizes(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Train(context.Background(), new(lineEnv), new(lineEnv), TrainOptions{Steps: 35, EvalEvery: 35, Rollouts: 1}); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAsk holds answers to the twins, pair by pair and action by action, where
// observations and goals differ in size.
func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name, changes string
		d             int
		shared        bool
	}{
		{name: "PUN", d: 2},
		{name: "the desired goal has no part", changes: "UncertaintyGoal=desired", d: 2},
		{name: "nor has what goals are chosen by", changes: "Uncertainty=q", d: 2},
		{name: "nor its noise", changes: "UncertaintyNoise=1", d: 2},
		{name: "nor where an episode begins", changes: "FirstGoalState=start UncertaintyActions=3", d: 3},
		{name: "shared actions", changes: "SharedActions=true", d: 2, shared: true},
		{name: "HER", changes: "Curriculum=her", d: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := changed("", tinyPreset(Default()), test.changes).Params
			a := lineAgent(t, p)
			const n = 37 // more than a batch
			rng := rand.New(rand.NewPCG(2, 2))
			observations, goals := randomRows(rng, n, 3), randomRows(rng, n, 1)
			const seed = 9
			value, uncertainty := a.Value(observations, goals), a.Uncertainty(observations, goals, seed)

			actions := newStream(seed, forSurvey)
			drawn := make([][]float64, n*test.d) // action j of pair k is j n + k
			for j := range drawn {
				if test.shared && j%n > 0 {
					drawn[j] = drawn[j-1]
				} else {
					drawn[j] = []float64{symmetric(actions.Rand), symmetric(actions.Rand)}
				}
			}
			policy := a.policy.net.vector()
			for k := range n {
				s, g := twinNormalized(a.observations, observations[k]), twinNormalized(a.goals, goals[k])
				q, ε := 0.0, 0.0
				for _, c := range a.pun.critics {
					q += twinValue(c.q.vector(), s, g, twinAct(policy, s, g)) / 3
				}
				for j := range test.d {
					var predictions [][]float64
					for _, c := range a.pun.critics {
						ξ, _ := twinForward(c.q.vector(), slices.Concat(s, g, drawn[j*n+k]))
						_, prediction := twinForward(vectorNet{c.head.vector()}, ξ)
						predictions = append(predictions, prediction)
					}
					ε += twinDeviation(predictions) / float64(test.d)
				}
				near(t, fmt.Sprintf("value of pair %d", k), float32s(value[k:k+1]), []float64{q})
				near(t, fmt.Sprintf("uncertainty of pair %d", k), float32s(uncertainty[k:k+1]), []float64{ε})
			}

			want := make([]float64, n)
			GoalProbabilities(want, uncertainty, p.Slope, p.Intercept)
			if diff := cmp.Diff(want, a.GoalProbabilities(observations, goals, seed)); diff != "" {
				t.Errorf("probabilities (-want +got):\n%s", diff)
			}
			if slices.Equal(uncertainty, a.Uncertainty(observations, goals, seed+1)) {
				t.Error("another seed draws the same actions")
			}
			if !slices.Equal(uncertainty, a.Uncertainty(observations, goals, seed)) {
				t.Error("asked again, the agent says something else")
			}
		})
	}
}

// twinNormalized is an input as the networks see it.
func twinNormalized(n *normalizer, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = math.Min(math.Max((x[i]-n.mean[i])*n.scale[i], -n.clip), n.clip)
	}
	return y
}

// An agent that has never trained, or that is asked about nothing, answers.
func TestAskLittle(t *testing.T) {
	a, err := NewAgent(tinyPreset(Paper()), Sizes{Observation: 3, Goal: 1, Action: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	none := a.Survey(make([]float64, 3), make([]float64, 1), nil, nil, 5)
	for _, x := range [][]float64{a.Value(nil, nil), a.Uncertainty(nil, nil, 1), a.GoalProbabilities(nil, nil, 1), none.Value, none.Deviation, none.Probability} {
		if len(x) != 0 {
			t.Errorf("about nothing the agent says %v", x)
		}
	}
	if len(none.Samples) != 0 {
		t.Errorf("of no points %v were drawn", none.Samples)
	}
	one := a.GoalProbabilities([][]float64{{1, 2, 3}}, [][]float64{{4}}, 1)
	if diff := cmp.Diff([]float64{1}, one); diff != "" {
		t.Errorf("the probability of a single candidate (-want +got):\n%s", diff)
	}
	ε := a.Uncertainty([][]float64{{1, 2, 3}}, [][]float64{{4}}, 1)
	if !(ε[0] > 0) {
		t.Errorf("the uncertainty of an untrained agent is %v", ε[0])
	}
}

// Survey takes points whose observations and goals differ in size, and says of
// them what the agent says when asked.
func TestSurveySizes(t *testing.T) {
	for _, v := range []Preset{changed("", Default(), "Uncertainty=q"), {"paper", Paper()}, {"default", Default()}, {"authors", Authors()}} {
		a := lineAgent(t, tinyPreset(v.Params))
		rng := rand.New(rand.NewPCG(3, 3))
		observations, goals := randomRows(rng, 5, 3), randomRows(rng, 5, 1)
		start := []float64{0.1, 0.2, 0.3}
		s := a.Survey(start, []float64{1}, observations, goals, 4)
		if diff := cmp.Diff(a.Value(slices.Repeat([][]float64{start}, 5), goals), s.Value); diff != "" {
			t.Errorf("%s: values (-asked +survey):\n%s", v.Name, diff)
		}
		for k := range goals {
			if !(s.Deviation[k] > 0) {
				t.Errorf("%s: the deviation at point %d is %v", v.Name, k, s.Deviation[k])
			}
		}
		if len(s.Samples) != 4 {
			t.Errorf("%s: samples %v, want 4 of them", v.Name, s.Samples)
		}
	}
}

func TestAskPanics(t *testing.T) {
	a := lineAgent(t, tinyPreset(Default()))
	s, g := make([]float64, 3), make([]float64, 1)
	mustPanic(t, "one goal too many", func() { a.Value([][]float64{s}, [][]float64{g, g}) })
	mustPanic(t, "a short observation", func() { a.Uncertainty([][]float64{s, g}, [][]float64{g, g}, 1) })
	mustPanic(t, "a long goal", func() { a.GoalProbabilities([][]float64{s}, [][]float64{s}, 1) })
	mustPanic(t, "a survey from a short start", func() { a.Survey(g, g, nil, nil, 1) })
}
