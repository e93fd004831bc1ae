package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// If an uncertainty is NaN, or the range of them overflows, all probabilities are NaN.
func TestGoalProbabilitiesNaN(t *testing.T) {
	for _, ε := range [][]float64{{1, math.NaN(), 2}, {-1e308, 0, 1e308}} {
		p := make([]float64, 3)
		GoalProbabilities(p, ε, 1, 1)
		if slices.ContainsFunc(p, finite) {
			t.Errorf("uncertainties %v: probabilities %v, want NaN", ε, p)
		}
	}
	mustPanic(t, "three probabilities for two uncertainties", func() {
		GoalProbabilities(make([]float64, 3), make([]float64, 2), 1, 1)
	})
}

// A candidate of probability 0 is not drawn, even if the probabilities add up to less than 1.
func TestPick(t *testing.T) {
	got := pick([]float64{0, 1e-300, 1e-300, 0}, 0.5)
	checkEqual(t, 2, got, "with almost no probability, the last candidate that has any")
}

// choosingAgent returns an agent that has acted twice in the places 2, 0, 4, 1 and 3, and then
// in 2 and 0. Now it stands at place 4, where the observation s is 4.5.
func choosingAgent(t *testing.T, changes string) *Agent {
	t.Helper()
	n := linearNetworks{
		policy: linear{c: math.Atanh(0.5)}, // the action is 0.5
		critics: [3]linear{ // their mean at place 4 is -g - 7.5
			{s: 1, g: -1, a: 2, c: -12}, // -g - 6.5
			{s: 1, g: -1, a: 4, c: -13}, // -g - 6.5
			{s: 1, g: -1, c: -14},       // -g - 9.5
		},
		targetCritics: [3]linear{{g: 1, c: -12}, {g: 1, c: -12}, {g: 1, c: -12}}, // other values
		heads:         deviating(linear{s: 1, c: 10}),                            // they deviate by s + 10
	}
	a := linearAgent(t, n, 1, "Threshold=-2 Slope=4 Intercept=-1 "+changes)
	// A moving average, if the changes ask for one, answers otherwise than critics and heads.
	averageHeads := deviating(linear{s: -1, c: 100}) // they deviate by 100 - s
	for i, c := range averagedCritics(a) {
		c.q.load(n.targetCritics[i].network(3)) // of s, g and a
		c.head.load(averageHeads[i].head())
	}
	episode := []float64{2, 0, 4, 1, 3, 5} // ends in 5, without acting there
	remember(a, episode, episode, []float64{2, 0, 4})
	a.desired[0] = 7 // where the agent has never been
	return a
}

// A goal is a place that the agent has acted in. An episode's last place, 5, is no goal. Goals
// are drawn by Equation 6 among the candidates: the weight is 4 ε - 1 of the scaled
// uncertainty ε, or 0.
//
// The candidates are thrice 2, thrice 0 and twice 4, 1 and 3. A place p has ε = p/4, so its
// weight is p - 1.
//
// An episode's first goal needs a value -g - 7.5 of at least c T = -2·5. That leaves thrice 2,
// thrice 0 and twice 1. Their ε is 1, 0 and 0.5, so they weigh 3, 0 and 1. The moving average's
// uncertainties are in the opposite order.
func TestGoalChoice(t *testing.T) {
	amongAll := map[float64]float64{2: 3. / 13, 3: 4. / 13, 4: 6. / 13}
	for _, test := range []struct {
		rule    string
		changes string
		first   bool                // whether an episode's first goal is chosen
		want    map[float64]float64 // the probability of each goal
	}{
		{"a first goal is drawn by Equation 6 where the threshold holds", "", true, map[float64]float64{2: 9. / 11, 1: 2. / 11}},
		{"the threshold asks the critics, not their targets or the average", "UncertaintyPolyak=0.5", true, map[float64]float64{0: 9. / 11, 1: 2. / 11}},
		{"if the threshold holds nowhere, all are candidates (R26)", "Threshold=-1", true, amongAll},
		{"a later goal is drawn by Equation 6 without a threshold", "", false, amongAll},
		{"before step InitialSteps all are equally likely, the running episode's too (R22)", "InitialSteps=13", true,
			map[float64]float64{2: 3. / 12, 0: 3. / 12, 4: 2. / 12, 1: 2. / 12, 3: 2. / 12}},
		{"from step InitialSteps on a goal is drawn by Equation 6", "InitialSteps=12", false, amongAll},
	} {
		a := choosingAgent(t, test.changes)
		var drawn []float64
		for range 3000 {
			drawn = append(drawn, nextGoal(t, a, test.first)...)
		}
		checkDraws(t, test.rule, drawn, test.want)
	}
}

// With more transitions than N, here four, N of them are candidates: in ascending order, none of
// them twice (R118), and each choice is equally likely.
func TestCandidates(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Candidates=2")
	remember(a, []float64{0, 1, 2, 3, 4})
	var drawn []float64
	for range 3000 {
		c := a.drawCandidates()
		if len(c) != 2 {
			t.Fatalf("the candidates are %v, want two", c)
		}
		drawn = append(drawn, float64(10*c[0]+c[1]))
	}
	const each = 1. / 6
	pairs := map[float64]float64{1: each, 2: each, 3: each, 12: each, 13: each, 23: each}
	checkDraws(t, "candidates i and j, as 10i+j", drawn, pairs)
}

// A run's very first goal is a copy of where the agent stands. It stays the same when the
// agent moves on.
func TestVeryFirstGoal(t *testing.T) {
	a := scriptedAgent(t, "InitialSteps=0")
	a.enterState(stateAt(3))
	must(t, a.setGoal(true))
	a.enterState(stateAt(4))
	checkEqual(t, 3.0, a.goal[0], "the goal, a copy of where the agent stood")
}

// naiveUncertainty returns the uncertainty of candidate k, in float64. If Uncertainty has a
// new word, add it here.
func naiveUncertainty(t *testing.T, a *Agent, c candidates, k int, actions [][]float64) float64 {
	t.Helper()
	state := c.states[k]
	goal := c.goals[k]
	if a.params.UncertaintyGoal == "desired" {
		goal = c.desired
	}
	critics := a.pun.critics
	if average := averagedCritics(a); average != nil {
		critics = average
	}
	switch a.params.Uncertainty {
	case "pun", "bootstrap", "ensemble":
		if c.first && a.params.Learner == "authors" {
			state = c.now
		}
		deviations := each(actions, func(action []float64) float64 {
			x := slices.Concat(state, goal, action)
			return twinDeviation(each(critics, func(m *critic) []float64 {
				return twinPrediction(m.q.float64Copy(), m.head.float64Copy(), x)[:2] // variances may follow
			}))
		})
		mean, _ := moments(deviations)
		return mean
	case "q": // about the candidate as a goal from where the agent is
		action := twinAct(a.policy.net.float64Copy(), c.now, goal)
		return twinSampleDeviation(each(critics, func(m *critic) float64 {
			return twinValue(m.q.float64Copy(), c.now, goal, action)
		}))
	}
	t.Fatalf("add a case to naiveUncertainty that computes Uncertainty=%s", a.params.Uncertainty)
	return 0
}

// actionsAhead returns the d random actions that the agent's next choice of a goal will draw. It
// draws them from a copy of the stream.
func actionsAhead(a *Agent, d int) (actions [][]float64) {
	ahead := newStream(1, forGoals)
	*ahead.pcg = *a.goalDraws.pcg
	for range d {
		action := make([]float64, 2)
		uniformAction(action, ahead.Rand)
		actions = append(actions, action)
	}
	return actions
}

// Each value of Uncertainty gives every candidate its own uncertainty, for an episode's first
// goal and for later ones. With Candidates=1000 all states are candidates, more than the networks
// see at once.
func TestUncertainties(t *testing.T) {
	const tested = "Batch=7 UncertaintyActions=2 EnsembleActions=3 NormalizerClip=100 "
	settings := each(words("Uncertainty"), func(word string) string { return "Uncertainty=" + word })
	for _, changes := range append(settings, "Learner=authors", "Candidates=1000", "UncertaintyGoal=desired", "UncertaintyPolyak=0.5") {
		const steps = 2*chunkRows + 27 // more than two chunks
		a := walked(t, tiny(Paper(), tested+changes), steps)
		copy(a.observation, []float64{1.2, 2.7}) // not where the last step ended, as after Reset
		moveTargets(a)
		for i, c := range averagedCritics(a) {
			c.params[len(c.params)-1] += float32(i) // a bias of its head, so that its deviations are its own
		}
		d := 2
		if a.params.Uncertainty == "bootstrap" || a.params.Uncertainty == "ensemble" {
			d = 3
		}
		for _, first := range []bool{true, false} {
			c := a.candidates(a.drawCandidates(), first)
			actions := actionsAhead(a, d)
			want := make([]float64, len(c.goals))
			for k := range want {
				want[k] = naiveUncertainty(t, a, c, k, actions)
			}
			got := a.estimator.uncertainty(a, c, a.goalDraws)
			near(t, changes+": uncertainty", float32s(got), want)
		}
	}
}

// nextGoal asks the agent's curriculum for an episode's first goal, or for a later one.
func nextGoal(t testing.TB, a *Agent, first bool) []float64 {
	t.Helper()
	goal, err := a.curriculum.goal(a, first)
	must(t, err)
	return goal
}

// BenchmarkGoal measures the choice of a goal among N candidates, by Equations 5 and 6. A row
// is a candidate with one of its random actions. All critics' heads predict from each row.
func BenchmarkGoal(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			p := Beyond()
			p.Candidates = n
			a := walked(b, p, n+1)
			rows := float64(n * p.UncertaintyActions)
			seconds := measure(b, best, rows*float64(p.Critics)*onePass(p, a.sizes), func() { a.setGoal(false) })
			b.ReportMetric(rows/seconds, "rows/s")
		})
	}
}
