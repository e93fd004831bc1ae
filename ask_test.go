package qta

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lineAgent returns an agent that has learned a little where observations, goals
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

// twinNormalized is an input as the networks see it.
func twinNormalized(n *normalizer, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = math.Min(math.Max((x[i]-n.mean[i])*n.scale[i], -n.clip), n.clip)
	}
	return y
}

// TestAsk compares answers with the twins', pair by pair and action by action.
func TestAsk(t *testing.T) {
	for _, changes := range []string{
		"", "SharedActions=true", "Curriculum=her", "UncertaintyActions=3",
		"UncertaintyGoal=desired", "Uncertainty=q", "UncertaintyNoise=1", "FirstGoalState=start", // have no part
	} {
		t.Run(changes, func(t *testing.T) {
			p := changed("", tinyPreset(Default()), changes).Params
			d := p.UncertaintyActions
			a := lineAgent(t, p)
			const n, seed = 37, 9 // more than a batch
			rng := rand.New(rand.NewPCG(2, 2))
			observations, goals := randomRows(rng, n, 3), randomRows(rng, n, 1)
			value, uncertainty := a.Value(observations, goals), a.Uncertainty(observations, goals, seed)

			actions := newStream(seed, forSurvey)
			drawn := make([][]float64, n*d) // action j of pair k is j n + k
			for j := range drawn {
				if p.SharedActions && j%n > 0 {
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
				for j := range d {
					var predictions [][]float64
					for _, c := range a.pun.critics {
						ξ, _ := twinForward(c.q.vector(), slices.Concat(s, g, drawn[j*n+k]))
						_, prediction := twinForward(vectorNet{c.head.vector()}, ξ)
						predictions = append(predictions, prediction)
					}
					ε += twinDeviation(predictions) / float64(d)
				}
				near(t, fmt.Sprintf("value of pair %d", k), float32s(value[k:k+1]), []float64{q})
				near(t, fmt.Sprintf("uncertainty of pair %d", k), float32s(uncertainty[k:k+1]), []float64{ε})
			}

			if slices.Equal(uncertainty, a.Uncertainty(observations, goals, seed+1)) {
				t.Error("another seed draws the same actions")
			}
		})
	}
}

// A survey says what the agent says when asked, about the goals that Equation 5
// has in its parameters, by chance that is the seed's at step 0.
func TestSurvey(t *testing.T) {
	const n, samples = 7, 20000
	rng := rand.New(rand.NewPCG(3, 3))
	observations, goals := randomRows(rng, n, 3), randomRows(rng, n, 1)
	start, desired := []float64{0.1, 0.2, 0.3}, []float64{1}
	for name, p := range map[string]Params{
		"paper":   Paper(),
		"authors": Authors(),
		"default": changed("", Default(), "UncertaintyPolyak=0").Params,
	} {
		p = tinyPreset(p)
		p.Slope, p.Intercept = 1, 0.1
		a := lineAgent(t, p)
		a.step = 0
		got := a.Survey(start, desired, observations, goals, samples)
		about := goals
		if p.UncertaintyGoal == "desired" {
			about = slices.Repeat([][]float64{desired}, n)
		}
		want := Survey{
			Value:       a.Value(slices.Repeat([][]float64{start}, n), goals),
			Deviation:   a.Uncertainty(observations, about, a.seed),
			Probability: make([]float64, n),
			Samples:     got.Samples,
		}
		GoalProbabilities(want.Probability, want.Deviation, 1, 0.1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		counts := make([]float64, n)
		for _, k := range got.Samples {
			counts[k]++
		}
		for k, q := range got.Probability {
			if math.Abs(counts[k]-samples*q) > 5*math.Sqrt(samples*q*(1-q)) {
				t.Errorf("%s: point %d of probability %v is drawn %v times of %d", name, k, q, counts[k], len(got.Samples))
			}
		}
		a.step = 1
		if slices.Equal(a.Survey(start, desired, observations, goals, 0).Deviation, got.Deviation) {
			t.Errorf("%s: chance is the same a step later", name)
		}
	}
}

// surveyPoints are some points of a maze.
func surveyPoints(m *Maze) [][]float64 {
	var points [][]float64
	lattice := m.Hops(3)
	for k, hops := range lattice.Hops {
		if p := lattice.Point(k); hops >= 0 {
			points = append(points, p[:])
		}
	}
	return points
}

// Every question is asked twice after every step, also about nothing.
func TestAskChangesNothing(t *testing.T) {
	t.Parallel()
	points := surveyPoints(mustMaze(t, "1U5"))[:12]
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short every fourth variant, to save time")
			}
			const steps = 35
			a := newMazeAgent(t, variant.Params, 1)
			trainTo(t, a, steps, func() error {
				seed := uint64(a.Steps())
				ask := func(x [][]float64) []any {
					return []any{a.Survey(points[0], points[1], x, x, 5), a.Value(x, x), a.Uncertainty(x, x, seed),
						a.Goals(0, a.Steps()), a.State(), a.Achieved(0)}
				}
				if diff := cmp.Diff(ask(points), ask(points)); diff != "" {
					t.Errorf("step %d: a second answer differs (-first +second):\n%s", a.Steps(), diff)
				}
				if got := fmt.Sprint(ask(nil)[:3]...); got != "{[] [] [] []} [] []" {
					t.Errorf("step %d: about nothing %s", a.Steps(), got)
				}
				return nil
			})
			if want := marshal(t, agentAfter(t, variant.Params, steps)); !bytes.Equal(want, marshal(t, a)) {
				t.Error("questions changed training")
			}
		})
	}
}

// An agent that has never trained answers.
func TestAskUntrained(t *testing.T) {
	a, err := NewAgent(tinyPreset(Paper()), Sizes{Observation: 3, Goal: 1, Action: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, g := [][]float64{{1, 2, 3}}, [][]float64{{4}}
	if ε := a.Uncertainty(s, g, 1); !(ε[0] > 0) {
		t.Errorf("uncertainty %v", ε)
	}
	if diff := cmp.Diff(State{make([]float64, 3), make([]float64, 1), make([]float64, 1)}, a.State()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	mustPanic(t, "one goal too many", func() { a.Value(s, slices.Repeat(g, 2)) })
	mustPanic(t, "a short observation", func() { a.Uncertainty(g, g, 1) })
	mustPanic(t, "a long goal", func() { a.Uncertainty(s, s, 1) })
	mustPanic(t, "a survey from a short start", func() { a.Survey(g[0], g[0], nil, nil, 1) })
}

// State, Achieved and Goals show copies of what the environment and the agent did.
func TestHistory(t *testing.T) {
	const steps = 60
	var states []State
	a := newMazeAgent(t, tinyPreset(Default()), 2)
	trainTo(t, a, steps, func() error {
		states = append(states, a.State())
		return nil
	})
	for i, s := range states {
		want := State{at(a.replay.nextObservation, i, 2), at(a.replay.nextAchieved, i, 2), states[i/10*10].Desired}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", i+1, diff)
		}
		if want := at(a.replay.achieved, i, 2); !slices.Equal(a.Achieved(i), want) {
			t.Errorf("step %d: achieved %v, want %v", i, a.Achieved(i), want)
		}
	}
	if last := states[steps-1].Achieved; !slices.Equal(a.Achieved(steps), last) {
		t.Errorf("achieved %v, the state has %v", a.Achieved(steps), last)
	}
	for _, span := range [][2]int{{0, steps}, {0, 0}, {60, 60}, {7, 31}, {20, 21}, {19, 20}} {
		var want [][]float64
		for i := span[0]; i < span[1]; i++ {
			if g := at(a.replay.goal, i, 2); i%10 == 0 || !slices.Equal(g, at(a.replay.goal, i-1, 2)) {
				want = append(want, g)
			}
		}
		if diff := cmp.Diff(want, a.Goals(span[0], span[1])); diff != "" {
			t.Errorf("goals of steps %v (-want +got):\n%s", span, diff)
		}
	}
	for _, span := range [][2]int{{-1, 3}, {4, 3}, {0, 61}} {
		mustPanic(t, fmt.Sprint("Goals of ", span), func() { a.Goals(span[0], span[1]) })
	}
	mustPanic(t, "Achieved(-1)", func() { a.Achieved(-1) })
	mustPanic(t, "Achieved of the future", func() { a.Achieved(steps + 1) })

	before, s := marshal(t, a), a.State()
	for _, x := range append(a.Goals(0, steps), s.Observation, s.Achieved, s.Desired, a.Achieved(0), a.Achieved(steps)) {
		x[0] = -1
	}
	a.Evaluations()[0].Step = -1
	sameState(t, "after its answers were overwritten", before, a)
}
