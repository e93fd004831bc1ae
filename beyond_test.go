package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// The average is the mean of the first 1/(1-ρ) updates' critics and heads, and a
// moving average from then on. Asking it leaves the ensemble as it was.
func TestUncertaintyPolyak(t *testing.T) {
	const ρ = 0.9
	p := tinyPreset(Beyond())
	p.UncertaintyPolyak, p.UpdatesPerStep = ρ, 1
	a := newMazeAgent(t, p, 1)
	want := each(a.pun.critics, func(c *critic) []float64 { return make([]float64, len(c.params)) })
	trainTo(t, a, p.LearningStarts+25, func() error {
		n := stepsOf(a.policy.adam)
		for i, c := range a.pun.critics {
			for k, v := range c.params {
				if n > 0 {
					want[i][k] += max(1-ρ, 1/float64(n)) * (float64(v) - want[i][k])
				}
			}
		}
		return nil
	})
	for i, c := range a.pun.critics {
		near(t, fmt.Sprintf("average of critic %d and its head", i+1), averageOf(a)[i].params, want[i])
		if slices.Equal(averageOf(a)[i].params, c.params) {
			t.Errorf("the average of critic %d is the critic", i+1)
		}
	}
	before := a.Digest()
	mustPanic(t, "a survey of a short observation", func() { a.Survey(a.observation, a.desired, [][]float64{{1}}, [][]float64{{1, 2}}, 1) })
	if a.estimator.uncertainty(a, a.candidates(a.drawCandidates(), true), a.goalDraws); a.Digest() != before {
		t.Error("a question, or one that panics, leaves the average in the ensemble's place")
	}
}

// An episode's first goal is the environment's once a step has ended there, with
// the probability FirstGoalDesired, and not before. Later goals are QTA's. FoundAt is that
// step, whichever goal was pursued, and no later one.
func TestFirstGoalDesired(t *testing.T) {
	for probability, bounds := range map[float64][2]int{0.5: {38, 68}, 1: {106, 106}} {
		a := scriptedAgent(t, func(p *Params) { p.Curriculum, p.FirstGoalDesired = "qta", probability })
		// The environment's goal 0 is reached in the last step of episodes 3 and 5, that of
		// the last ten episodes never; the agent's own are in every other step.
		env := &scriptedEnv{
			place: func(e, k int) float64 {
				if k == 10 && (e == 3 || e == 5) {
					return 0
				}
				return 1 + float64(k%2)
			},
			desired: func(e int) float64 { return float64(e / 110 * 1000) },
		}
		trainScripted(t, a, env, 1200, func() error {
			if want := 40 * min(a.step/40, 1); a.FoundAt() != want {
				t.Errorf("found at %d after step %d, want %d", a.FoundAt(), a.step, want)
			}
			return nil
		})
		first, later := 0, 0
		for i := range 1200 {
			desired := a.replay.goal.data[i] == env.desired(i/10)
			switch {
			case desired && (i < 40 || i >= 1100):
				t.Errorf("probability %v: step %d pursues a goal that no step has ended at", probability, i)
			case desired && i%10 == 0:
				first++
			case desired && a.replay.goal.data[i-1] != 0:
				later++
			}
		}
		if first < bounds[0] || first > bounds[1] || later > 10 {
			t.Errorf("probability %v: the environment's are %d first goals of 106, want %v, and %d later ones",
				probability, first, bounds, later)
		}
	}
}

// Where an episode's first goal is reached, a random action is taken again until a
// step with it is shorter than RandomActionHeld of the running mean of all steps, or
// the episode ends.
func TestRandomActionHeld(t *testing.T) {
	for _, fraction := range []float64{0, 0.25, 0.5, 0.75} {
		a := scriptedAgent(t, func(p *Params) {
			p.Curriculum, p.ActionNoise = "her", 0
			p.RandomAction, p.RandomActionLater, p.RandomActionReached, p.RandomActionHeld = 1, 1, 1, fraction
		})
		// The goal 0 is reached in the third step of an episode; steps are 1 long
		// but for the seventh, 0.4.
		env := &scriptedEnv{place: func(_, k int) float64 {
			return []float64{3, 2, 1, 0, 1, 2, 3, 3.4, 4.4, 5.4, 6.4}[k]
		}}
		trainScripted(t, a, env, 60, nil)
		stride := 0.0
		for i := range 60 {
			k, length := i%10, 1.0 // the step's place in its episode
			if k == 6 {
				length = 0.4
			}
			if i > 0 {
				same := a.replay.action.data[i] == a.replay.action.data[i-1]
				short := k == 7 && 0.4 < fraction*stride
				if want := fraction > 0 && k > 3 && !short; same != want {
					t.Errorf("RandomActionHeld %v: step %d of an episode takes the action before it: %t, want %t (mean step %v)",
						fraction, k, same, want, stride)
				}
			}
			if k == 3 && i > 10 && a.replay.action.data[i] == a.replay.action.data[i-4] {
				t.Errorf("RandomActionHeld %v: an action is held beyond the end of its episode", fraction)
			}
			stride = 0.98*stride + 0.02*length
		}
		if h, ok := a.explorer.(*heldExplorer); ok { // within an episode, after a step that is short beside the others
			for _, taken := range []bool{false, true} {
				a.step, h.held, h.taken, h.stride = 55, true, taken, 1e9
				if h.stepped(a); h.held == taken {
					t.Errorf("after a short step that takes the action, or not (%t), it is held: %t", taken, h.held)
				}
			}
		}
	}
}

// MEGA's probability of a random action, 0.1 more for each step of the episode at its
// goal, is MEGA's as long as it chooses the goals.
func TestRandomActionOfMEGA(t *testing.T) {
	a := scriptedAgent(t, func(p *Params) {
		p.Curriculum = "mega"
		p.RandomAction, p.RandomActionLater, p.RandomActionReached, p.RandomActionHeld = 0, 0, 0, 0
	})
	w := a.explorer.(otherExplorer)
	trainScripted(t, a, &scriptedEnv{place: func(int, int) float64 { return 0 }}, 25, func() error {
		if got, want := w.probability(a), 0.1*float64(a.step%10); want > 0 && math.Abs(got-want) > 1e-15 {
			t.Errorf("with MEGA: probability %v after step %d, want %v", got, a.step, want)
		}
		return nil
	})
	a.params.RandomActionReached = 0.75
	if err := a.SetCurriculum(curriculumFunc(ownHER)); err != nil || w.probability(a) != 0.75 {
		t.Errorf("with a curriculum of its user's: probability %v, error %v", w.probability(a), err)
	}
}
