package qta

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Scaled returns env in other units for its learner: what is between the first
// and the second number of a component's pair becomes -1 to 1, and where both are
// equal the first is subtracted; what has no pair stays as it is. Rewards are env's,
// asked in its own units. The result has Env's methods alone, no [GoalSampler]'s. It
// panics if a number of a pair is not finite, as the bounds of some simulators are.
func Scaled(env Env, observations, goals [][2]float64) Env {
	for i, pair := range slices.Concat(observations, goals) {
		if !finite(pair[0]) || !finite(pair[1]) {
			name := "observations"
			if i >= len(observations) {
				name, i = "goals", i-len(observations)
			}
			panic(fmt.Sprintf("qta: Scaled: pair %d of %s is %v; want finite numbers", i, name, pair))
		}
	}
	return &scaled{env, observations, goals}
}

type scaled struct {
	Env
	observations, goals [][2]float64
}

func (e *scaled) Reset(rng *rand.Rand) State { return e.state(e.Env.Reset(rng)) }

func (e *scaled) Step(action []float64) (State, float64) {
	s, reward := e.Env.Step(action)
	here := e.state(s)
	if reward == e.Env.Reward(s.Achieved, s.Desired) { // or its learner is to see that it is not
		reward = e.Reward(here.Achieved, here.Desired) // after rounding, as hindsight asks
	}
	return here, reward
}

func (e *scaled) Reward(achieved, desired []float64) float64 {
	return e.Env.Reward(rescale(achieved, e.goals, true), rescale(desired, e.goals, true))
}

func (e *scaled) state(s State) State {
	return State{rescale(s.Observation, e.observations, false), rescale(s.Achieved, e.goals, false),
		rescale(s.Desired, e.goals, false)}
}

// unscaled returns what env is without [Scaled].
func unscaled(env Env) Env {
	if s, ok := env.(*scaled); ok {
		return unscaled(s.Env)
	}
	return env
}

// rescale returns x with its pairs at -1 and 1, or such an x back as it was.
func rescale(x []float64, pairs [][2]float64, back bool) []float64 {
	y := slices.Clone(x)
	for i := range min(len(x), len(pairs)) {
		a, b := float64(pairs[i][0]/2), float64(pairs[i][1]/2)
		middle, half := a+b, cmp.Or(b-a, 1)
		if y[i] = (x[i] - middle) / half; back {
			y[i] = float64(x[i]*half) + middle
		}
	}
	return y
}
