package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// What is no number leaves no goal a chance that is one.
func TestGoalProbabilitiesNaN(t *testing.T) {
	for _, ε := range [][]float64{{1, math.NaN(), 2}, {-1e308, 0, 1e308}} {
		p := make([]float64, 3)
		if GoalProbabilities(p, ε, 1, 1); finite(p[0]) || finite(p[1]) || finite(p[2]) {
			t.Errorf("uncertainties %v: probabilities %v, want NaN", ε, p)
		}
	}
	mustPanic(t, "three probabilities of two", func() { GoalProbabilities(make([]float64, 3), make([]float64, 2), 1, 1) })
}

// What has probability 0 is not drawn where probabilities add up to too little.
func TestPick(t *testing.T) {
	if got := pick([]float64{0, 1e-300, 1e-300, 0}, 0.5); got != 2 {
		t.Errorf("with almost no probability %d is drawn, want the last that has any", got)
	}
}

// The uncertainty of candidates, by the twins, in all that estimators do: of the
// first goal of an episode and of later ones, also of more than are asked about at once.
func TestSelection(t *testing.T) {
	for _, changes := range []string{
		"", "Learner=authors", "Candidates=1000", "Uncertainty=bootstrap", "Uncertainty=ensemble", "Uncertainty=q",
	} {
		p := tiny(Paper(), "Batch=7 EnsembleActions=3 NormalizerClip=100 "+changes)
		a, _ := walked(t, p, 2*chunkRows+27)
		copy(a.observation, []float64{1.2, 2.7}) // not where the last step ended, as after Reset
		moveTargets(a)
		d := 2
		if p.Uncertainty != "pun" {
			d = 3
		}
		for _, first := range []bool{true, false} {
			candidates, drawn := a.drawCandidates(), newStream(1, forGoals)
			*drawn.pcg = *a.goalDraws.pcg
			got := a.estimator.uncertainty(a, a.candidates(candidates, first), a.goalDraws)
			var actions [][]float64
			for range d {
				actions = append(actions, []float64{float64(float32(symmetric(drawn.Rand))), float64(float32(symmetric(drawn.Rand)))})
			}
			want := make([]float64, len(candidates))
			for k, c := range candidates {
				state, goal := a.replay.observation.at(c), a.replay.achieved.at(c)
				if first && p.Learner == "authors" {
					state = a.observation
				}
				if p.Uncertainty == "q" { // about the candidate as a goal from where the agent is
					action := twinAct(a.policy.net.vector(), a.observation, goal)
					want[k] = twinSampleDeviation(each(a.pun.critics, func(c *critic) float64 {
						return twinValue(c.q.vector(), a.observation, goal, action)
					}))
					continue
				}
				for j := range d {
					x := slices.Concat(state, goal, actions[j])
					predictions := each(a.pun.critics, func(c *critic) []float64 {
						return twinPrediction(c.q.vector(), c.head.vector(), x)[:2] // without a variance
					})
					want[k] += twinDeviation(predictions) / float64(d)
				}
			}
			near(t, changes+": uncertainty", float32s(got), want)
		}
	}
}

// nextGoal asks the agent's curriculum.
func nextGoal(t testing.TB, a *Agent, first bool) []float64 {
	t.Helper()
	goal, err := a.curriculum.goal(a, first)
	if err != nil {
		t.Fatal(err)
	}
	return goal
}

// BenchmarkGoal is the choice of a goal among N candidates, by Equations 5 and 6. A row
// is a candidate with one of its random actions, which all critics' heads predict from.
func BenchmarkGoal(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			p := Beyond()
			p.Candidates = n
			a, _ := walked(b, p, n+1)
			rows := float64(n * p.UncertaintyActions)
			seconds := measure(b, best, rows*float64(p.Critics)*onePass(p, a.sizes), func() { a.setGoal(false) })
			b.ReportMetric(rows/seconds, "rows/s")
		})
	}
}
