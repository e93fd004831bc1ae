package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Scaled returns env in units of about 1 for its learner. A component that has a pair,
// the least and the largest number that it has, is divided by a power of two about half
// as large as their distance; where they lie far from zero their middle is subtracted
// before. It then lies within ±1, or near zero within ±3. Within its pair nothing is
// rounded, so that rewards are env's own. The result has Env's methods alone, no
// [GoalSampler]'s. Scaled panics if a number of a pair is not finite, as the bounds of
// some simulators are.
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
	return e.state(s), reward
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

// rescale returns x in the units of its pairs, or such an x back as it was. What is
// subtracted is at least twice as far from zero as from any number of its pair, and such
// differences are exact.
func rescale(x []float64, pairs [][2]float64, back bool) []float64 {
	y := slices.Clone(x)
	for i := range min(len(x), len(pairs)) {
		a, b := pairs[i][0]/2, pairs[i][1]/2
		fraction, exponent := math.Frexp(b - a)
		if fraction == 0.5 {
			exponent--
		}
		half, middle := math.Ldexp(1, exponent), a+b // half is at least |b - a|
		if math.Abs(middle) < 2*half {
			middle = 0
		}
		if y[i] = (x[i] - middle) / half; back {
			y[i] = float64(x[i]*half) + middle
		}
	}
	return y
}
