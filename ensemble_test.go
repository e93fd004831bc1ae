package qta

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// From an agent's minibatches a PUN learns the same as the agent in its updates, to the bit, and
// then answers the same.
func TestPUNIsTheAgents(t *testing.T) {
	for _, changes := range []string{
		"",
		"Critics=2",
		"Critics=5",
		"Curriculum=her UncertaintyGoal=desired", // Uncertainty is about the goals that it is given
		"UncertaintyNoise=1",                     // which Uncertainty leaves out
	} {
		t.Run(changes, func(t *testing.T) {
			p := tiny(Beyond(), "ClipReturns=false "+changes)
			a := walked(t, p, 60)
			u := punOf(t, a, with(p, "ClipReturns=true Learner=vds Uncertainty=ensemble")) // a PUN ignores these three
			for range 5 {
				learnAlike(t, a, u)
			}
			for i, c := range u.pun.critics {
				agents := a.pun.critics[i]
				checkEqual(t, agents.params, c.params, "critic %d, which is to be the agent's", i+1)
				checkEqual(t, agents.target.params, c.target.params, "target critic %d, which is to be the agent's", i+1)
			}

			// The walked agent's normalizers only clip, and these numbers are small.
			rng := seeded(4, 4)
			observations := randomRows(rng, 37, 2)
			goals := randomRows(rng, 37, 2)
			checkEqual(t, a.Uncertainty(observations, goals, 8), u.Uncertainty(observations, goals, 8),
				"the PUN's uncertainty, which is to be the agent's")
		})
	}
}

// punOf returns a PUN with the networks of an agent, which will draw the same pairs M.
func punOf(t *testing.T, a *Agent, p Params) *PUN {
	t.Helper()
	u, err := NewPUN(p, a.sizes, 3)
	must(t, err)
	for i, c := range u.pun.critics {
		copy(c.params, a.pun.critics[i].params)
		copy(c.target.params, a.pun.critics[i].target.params)
	}
	*u.draws.pcg = *a.learning.pcg
	return u
}

// learnAlike makes an update of an agent. Then a PUN learns from its minibatch, and learnAlike
// checks that targets and losses are the same. s, g and a have two numbers each.
func learnAlike(t *testing.T, a *Agent, u *PUN) {
	t.Helper()
	mustUpdate(t, a)
	b := &a.batch
	goals := tableOf(b.x, 2, 4)
	y := u.Targets(float64s(b.r), tableOf(b.next, 0, 2), goals, tableOf(b.next, 4, 6))
	checkEqual(t, float64s(b.y), y, "the PUN's targets, which are to be the agent's")

	taken := a.replay.action.of(b.transitions) // in b.x the policy's step has put its own
	critic, head, err := u.Learn(tableOf(b.x, 0, 2), goals, taken, tableOf(b.sNext, 0, 2), y)
	must(t, err)
	if critic != a.losses.critic || head != a.losses.head {
		t.Errorf("losses %v and %v, the agent's are %+v", critic, head, a.losses)
	}
}

// learnedPUN returns a PUN without goals that has learned from some minibatches of different
// sizes.
func learnedPUN(t testing.TB, updates int, seed uint64) *PUN {
	t.Helper()
	p := with(leastParams(), "HiddenSize=3 Critics=3") // with three critics M is a choice
	u, err := NewPUN(p, Sizes{Observation: 2, Action: 1}, seed)
	must(t, err)
	learnMore(t, u, updates)
	return u
}

// learnMore makes updates from random transitions, whose rewards are 0. The number of a PUN's
// updates so far decides the transitions of the next one.
func learnMore(t testing.TB, u *PUN, updates int) {
	t.Helper()
	for range updates {
		rng := seeded(uint64(u.updates), 0)
		n := 1 + rng.IntN(9)
		observations := randomRows(rng, n, 2)
		actions := randomRows(rng, n, 1)
		next := randomRows(rng, n, 2)
		y := u.Targets(make([]float64, n), next, nil, randomRows(rng, n, 1))
		_, _, err := u.Learn(observations, nil, actions, next, y)
		must(t, err)
	}
}

// A PUN that is saved and loaded between two updates learns on to the same bytes. Another
// seed gives other bytes.
func TestPUNContinues(t *testing.T) {
	const updates = 12
	want := marshal(t, learnedPUN(t, updates, 7))
	for saved := range updates + 1 {
		var u PUN
		unmarshal(t, marshal(t, learnedPUN(t, saved, 7)), &u)
		learnMore(t, &u, updates-saved)
		if !bytes.Equal(want, marshal(t, &u)) {
			t.Errorf("saved after %d updates, it ends otherwise", saved)
		}
	}
	eight := learnedPUN(t, updates, 8)
	if bytes.Equal(want, marshal(t, eight)) {
		t.Error("another seed makes no other PUN")
	}
	if *eight.draws.pcg == *learnedPUN(t, updates, 7).draws.pcg {
		t.Error("another seed draws the same pairs M")
	}
}

// NewPUN refuses an ensemble without observations or actions, and bad parameters.
func TestNewPUNRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		sizes  Sizes
		want   string // how the error begins
	}{
		{Beyond(), Sizes{Goal: 1, Action: 1}, "qta: sizes {Observation:0 Goal:1 Action:1} of an ensemble"},
		{Beyond(), Sizes{Observation: 1, Goal: -1, Action: 1}, "qta: sizes"},
		{Beyond(), Sizes{Observation: 1, Goal: 1}, "qta: sizes"},
		{Params{}, Sizes{Observation: 1, Goal: 1, Action: 1}, "qta: parameter HiddenSize is 0"},
	} {
		_, err := NewPUN(test.params, test.sizes, 1)
		checkBegins(t, fmt.Sprintf("%+v", test.sizes), err, test.want)
	}
}

// A call whose rows do not fit, or with a number that is not finite, panics and changes
// nothing. The panic names the table. A question about no rows has an empty answer.
func TestPUNPanics(t *testing.T) {
	u := learnedPUN(t, 1, 7)
	before := marshal(t, u)
	s := [][]float64{{1, 2}, {3, 4}}
	a := [][]float64{{1}, {2}}
	y := []float64{1, 2}
	infinite := [][]float64{{1, 2}, {3, 1e39}} // as float32
	for want, call := range map[string]func(){
		"no transition":                           func() { u.Learn(nil, nil, nil, nil, nil) },
		"1 numbers in the goals, want 0":          func() { u.Learn(s, a, a, s, y) },
		"0 actions, want 2":                       func() { u.Learn(s, nil, nil, s, y) },
		"2 numbers in the actions, want 1":        func() { u.Learn(s, nil, s, s, y) },
		"1 next observations, want 2":             func() { u.Learn(s, nil, a, s[:1], y) },
		"1 numbers in the targets, want 2":        func() { u.Learn(s, nil, a, s, y[:1]) },
		"1e+39 in the observations is not finite": func() { u.Learn(infinite, nil, a, s, y) },
		"2 next actions, want 1":                  func() { u.Targets(y[:1], s[:1], nil, a) },
		"2 numbers in the rewards, want 1":        func() { u.Targets(y, s[:1], nil, a[:1]) },
		"3 numbers in the observations, want 2":   func() { u.Uncertainty([][]float64{{1, 2, 3}}, nil, 1) },
	} {
		checkHas(t, "the panic", mustPanic(t, want, call), want)
	}
	if !bytes.Equal(before, marshal(t, u)) {
		t.Error("the ensemble has changed")
	}
	for _, u := range []*PUN{u, learnedPUN(t, 0, 7)} {
		if len(u.Uncertainty(nil, nil, 1)) != 0 || len(u.Targets(nil, nil, nil, nil)) != 0 {
			t.Error("a question about no rows has an answer")
		}
	}
}

// If a number goes wrong, the error names its network, and the PUN is not saved.
func TestPUNNumericError(t *testing.T) {
	infiniteGradient := func(_ *PUN, y []float64) { y[0] = 3e38 }
	poisonedHead := func(u *PUN, _ []float64) {
		c := u.pun.critics[0]
		c.params[len(c.params)-1] = float32(math.NaN()) // the parameters end with the head's
	}
	for network, spoil := range map[string]func(u *PUN, y []float64){
		"critics":          infiniteGradient,
		"predictive heads": poisonedHead,
	} {
		u := learnedPUN(t, 4, 7)
		y := []float64{0}
		spoil(u, y)
		var err error
		for range 3 { // the first update after an infinite gradient has a loss that is not finite
			if err == nil {
				_, _, err = u.Learn([][]float64{{1, 1}}, nil, [][]float64{{1}}, [][]float64{{0, 0}}, y)
			}
		}
		namesNumber(t, "Learn", network, u.updates, err)
		u.pun.critics[0].params[0] = float32(math.NaN())
		_, err = u.MarshalBinary()
		namesNumber(t, "a PUN that is not finite is saved", "critic 1", u.updates, err)
	}
}
