package qta

import (
	"fmt"
	"slices"
	"testing"
)

// The average is the mean of the first 1/(1-ρ) updates' critics and heads, and a
// moving average from then on. Asking it leaves the ensemble as it was.
func TestUncertaintyPolyak(t *testing.T) {
	const ρ = 0.9
	p := tinyPreset(Default())
	p.UncertaintyPolyak, p.UpdatesPerStep = ρ, 1
	a := newMazeAgent(t, p, 1)
	var want [][]float64
	n := 0
	trainTo(t, a, p.LearningStarts+25, func() error {
		if a.step <= p.LearningStarts {
			return nil
		}
		for i, c := range a.pun.critics {
			if n == 0 {
				want = append(want, make([]float64, len(c.params)))
			}
			weight := max(1-ρ, 1/float64(n+1))
			for k, v := range c.params {
				want[i][k] += weight * (float64(v) - want[i][k])
			}
		}
		n++
		return nil
	})
	if n != 25 {
		t.Fatalf("%d updates, want 25", n)
	}
	for i := range want {
		near(t, fmt.Sprintf("average of critic %d and its head", i+1), a.average.nets[i].params, want[i])
		if slices.Equal(a.average.nets[i].params, a.pun.critics[i].params) {
			t.Errorf("the average of critic %d is the critic", i+1)
		}
	}
	before := a.Digest()
	a.selectGoal(true)
	if a.Digest() != before {
		t.Error("a choice of goal leaves the average in the ensemble's place")
	}
	if n := testing.AllocsPerRun(20, func() { a.average.follow(a.pun) }); n != 0 {
		t.Errorf("the average's step allocates %v times", n)
	}
}

// An episode's first goal is the environment's once a step has ended there, with
// the probability FirstGoalDesired, and not before. Later goals are QTA's.
func TestFirstGoalDesired(t *testing.T) {
	for _, test := range []struct {
		probability float64
		low, high   int // of the 96 episodes whose goal had been reached, those that begin with it
	}{
		{0, 0, 10},
		{0.5, 38, 58},
		{1, 96, 96},
	} {
		a := scriptedAgent(t, func(p *Params) { p.Curriculum, p.FirstGoalDesired = "qta", test.probability })
		// The environment's goal 0 is reached in the last step of episode 3, that of
		// the last ten episodes never; the agent's own are in every other step.
		env := &scriptedEnv{
			place: func(e, k int) float64 {
				if e == 3 && k == 10 {
					return 0
				}
				return 1 + float64(k%2)
			},
			desired: func(e int) float64 {
				if e >= 100 {
					return 1000
				}
				return 0
			},
		}
		trainScripted(t, a, env, 1100, nil)
		first, later := 0, 0
		for i := range 1100 {
			desired := at(a.replay.goal, i, 1)[0] == at(a.replay.desired, i, 1)[0]
			switch {
			case desired && (i < 40 || i >= 1000):
				t.Errorf("probability %v: step %d pursues a goal that no step has ended at", test.probability, i)
			case desired && i%10 == 0:
				first++
			case desired && at(a.replay.goal, i-1, 1)[0] != 0:
				later++
			}
		}
		if first < test.low || first > test.high {
			t.Errorf("probability %v: %d first goals are the environment's, want %d to %d", test.probability, first, test.low, test.high)
		}
		if later > 10 {
			t.Errorf("probability %v: %d later goals are the environment's", test.probability, later)
		}
	}
}

// FirstGoalDesired is for QTA, and RandomActionReached for any curriculum.
func TestBeyondCurricula(t *testing.T) {
	p := tinyPreset(Default())
	p.FirstGoalDesired, p.RandomActionReached = 1, 0.5
	own := newMazeAgent(t, p, 1)
	if err := own.SetCurriculum(&counting{}); err != nil {
		t.Fatal(err)
	}
	agents := map[string]*Agent{"the user's own": own}
	for _, curriculum := range []string{"her", "vds", "random"} {
		p.Curriculum = curriculum
		agents[curriculum] = newMazeAgent(t, p, 1)
	}
	for name, a := range agents {
		if _, ok := a.curriculum.(practice); ok {
			t.Errorf("practice stands around %s", name)
		}
		a.firstGoal, a.reached = true, true
		if got := a.randomAction(); got != 0.5 {
			t.Errorf("with %s an action is random with probability %v, want 0.5", name, got)
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
		// but for the seventh, 0.4, and the third and fourth, of episode lengths.
		env := &scriptedEnv{place: func(_, k int) float64 {
			return []float64{3, 2, 1, 0, 1, 2, 3, 3.4, 4.4, 5.4, 6.4}[k]
		}}
		trainScripted(t, a, env, 60, nil)
		stride := 0.0
		for i := range 60 {
			k := i % 10 // the step's place in its episode
			length := 1.0
			if k == 6 {
				length = 0.4
			}
			if k == 3 && i > 10 && at(a.replay.action, i, 1)[0] == at(a.replay.action, i-4, 1)[0] {
				t.Errorf("RandomActionHeld %v: an action is held beyond the end of its episode", fraction)
			}
			if k == 0 {
				stride = 0.98*stride + 0.02*length
				continue
			}
			same := at(a.replay.action, i, 1)[0] == at(a.replay.action, i-1, 1)[0]
			before := k - 1 // the step that decided whether the action stays
			want := fraction > 0 && k > 3 && !(before == 6 && 0.4 < fraction*stride) && before >= 3
			if same != want {
				t.Errorf("RandomActionHeld %v: step %d of an episode takes the action before it: %t, want %t (mean step %v)", fraction, k, same, want, stride)
			}
			stride = 0.98*stride + 0.02*length
		}
	}
}

// FoundAt is the first step that ended at the environment's goal, whichever goal
// was pursued, and it outlives an interruption.
func TestFoundAt(t *testing.T) {
	a := scriptedAgent(t, func(p *Params) { p.Curriculum = "qta" })
	env := &scriptedEnv{place: func(e, k int) float64 {
		if e >= 2 && k >= 7 {
			return 0
		}
		return 1 + float64(k)
	}}
	trainScripted(t, a, env, 60, func() error {
		want := 0
		if a.step >= 27 {
			want = 27
		}
		if a.FoundAt() != want {
			t.Errorf("found at %d after step %d, want %d", a.FoundAt(), a.step, want)
		}
		return nil
	})
	b := new(Agent)
	if err := b.UnmarshalBinary(marshal(t, a)); err != nil || b.FoundAt() != 27 {
		t.Errorf("restored: found at %d, error %v", b.FoundAt(), err)
	}
}
