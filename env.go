package qta

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// An Env is a goal-conditioned environment without terminal states: the caller
// ends an episode after a fixed number of steps. An environment that cannot go on returns
// an empty State, which ends training with an [*EnvError]. [CheckEnv] tests an
// implementation against this contract.
type Env interface {
	// Sizes returns the lengths of all vectors, at least 1. They never change.
	Sizes() Sizes

	// Reset starts an episode, also in the middle of another, and returns its first
	// state. All chance of the episode, in its later steps too, comes from rng. Earlier
	// episodes do not influence the new one.
	Reset(rng *rand.Rand) State

	// Step acts for one time step and returns the next state and its reward,
	// Reward(Achieved, Desired). The components of action are in [-1, 1], and
	// each must have an effect. Step neither changes the slice nor keeps it.
	// Desired stays the same throughout the episode.
	Step(action []float64) (State, float64)

	// Reward is 0 where achieved reaches desired and -1 elsewhere. Every goal reaches
	// itself. Reward depends only on its arguments, changes nothing, and also accepts
	// goals that no episode had (hindsight).
	Reward(achieved, desired []float64) float64
}

// A State is what an environment reveals: the three entries of Gymnasium's GoalEnv
// dictionary. The slices are valid until the environment's next Reset or Step;
// Observation and Achieved may be the same slice.
//
// The networks need numbers of about 1. A number's range must not be small compared with
// its distance from zero. [CheckEnv] names a number that does not fit, and [Scaled] rescales
// numbers. No number may exceed ±1e12.
type State struct{ Observation, Achieved, Desired []float64 }

// Sizes are the lengths of an environment's vectors. Achieved and desired goals
// have the same length.
type Sizes struct{ Observation, Goal, Action int }

// A GoalSampler is an environment that can draw a goal from all that exist,
// seen or not. The curriculum VDS needs this privileged knowledge.
type GoalSampler interface {
	Env

	// SampleGoal returns a uniformly drawn goal. The caller owns the slice.
	SampleGoal(rng *rand.Rand) []float64
}

// An EnvError reports that an environment broke its contract.
type EnvError struct {
	Step    int // environment steps taken; if [CheckEnv] reports it, steps of the episode
	Problem string
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("qta: step %d: environment: %s", e.Step, e.Problem)
}

// FirstJump compares two plays of an episode, which have a row of numbers for every step.
// It returns the indices of the first step and number that differ by more than another
// machine's rounding explains, or -1, -1.
//
// A difference of at most a millionth of the number's largest magnitude in the episode
// counts as rounding. So does a larger one that began below 1e-8 of it and grew at most a
// hundredfold in each step, as in a chaotic motion.
func FirstJump(was, now [][]float64) (step, number int) {
	const (
		tolerance = 1e-6
		growth    = 100
	)
	largest := largestOf(was)
	grown := 1e-10 // the largest difference so far that rounding explains
	for t, row := range was {
		difference := 0.0
		for i, x := range row {
			d := math.Abs(now[t][i]-x) / largest[i]
			if !(d <= max(tolerance, growth*grown)) {
				return t, i
			}
			difference = max(difference, d)
		}
		// A difference above growth*grown passes only because of the tolerance. It does not
		// raise the limit for later steps.
		if difference <= growth*grown {
			grown = max(grown, difference)
		}
	}
	return -1, -1
}

// largestOf returns the largest magnitude in each column of rows, but at least 1e-3.
func largestOf(rows [][]float64) (largest []float64) {
	for _, row := range rows {
		if largest == nil {
			largest = slices.Repeat([]float64{1e-3}, len(row))
		}
		for i, x := range row {
			largest[i] = max(largest[i], math.Abs(x))
		}
	}
	return largest
}

// stepProblem says what is wrong with what Step returned, or returns "". desired is the
// episode's desired goal.
func stepProblem(env Env, sizes Sizes, desired []float64, s State, reward float64) string {
	if problem := stateProblem(s, sizes); problem != "" {
		return problem
	}
	for i, was := range desired {
		if now := s.Desired[i]; now != was {
			return fmt.Sprintf("number %d of the desired goal went from %v to %v within an episode",
				i, was, now)
		}
	}
	if want := env.Reward(s.Achieved, s.Desired); reward != want || (want != 0 && want != -1) {
		return fmt.Sprintf("Step returned reward %v and Reward %v; both must be the same, 0 or -1",
			reward, want)
	}
	return ""
}

// stateProblem says what is wrong with the numbers of a state, or returns "".
func stateProblem(s State, sizes Sizes) string {
	return cmp.Or(
		numbersProblem("observation", s.Observation, sizes.Observation),
		numbersProblem("achieved goal", s.Achieved, sizes.Goal),
		numbersProblem("desired goal", s.Desired, sizes.Goal))
}

// largestNumber is the largest magnitude of a number that an environment or a curriculum
// may give. Adam squares the gradients of Equation 4, and with numbers a thousand times
// larger a square may overflow a float32.
const largestNumber = 1e12

// numbersProblem says what is wrong with a vector that should have want numbers,
// or returns "".
func numbersProblem(name string, x []float64, want int) string {
	if len(x) != want {
		return fmt.Sprintf("the %s has %d numbers, Sizes says %d", name, len(x), want)
	}
	for i, v := range x {
		if !(math.Abs(v) <= largestNumber) {
			return fmt.Sprintf("number %d of the %s is %v, allowed are numbers up to ±%v",
				i, name, v, largestNumber)
		}
	}
	return ""
}
