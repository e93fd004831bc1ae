package qta

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
)

// CheckEnv checks every sentence of [Env] in at least 16 episodes of random
// actions, each with horizon steps or half as many, and returns the first
// mistake as an [*EnvError], or nil. It also names, by another error, sizes below 1,
// numbers that the networks cannot take ([State]), actions without effect, and goals that
// every state reaches or none does. It panics if env does, or if horizon is below 1.
func CheckEnv(env Env, horizon int, rng *rand.Rand) error {
	if horizon < 1 {
		panic("qta: CheckEnv needs a horizon of at least 1")
	}
	sizes := env.Sizes()
	if min(sizes.Observation, sizes.Goal, sizes.Action) < 1 {
		return fmt.Errorf("qta: environment: Sizes returned %+v; all must be at least 1", sizes)
	}
	// A round plays the same episode twice, the second time after one that was
	// broken off, with its actions in one slice, and asking for more rewards: neither
	// may make a difference. A component of its actions that is another must make one,
	// each in one round at least.
	const atLeast, atMost = 4, 20 // rounds, and of one component
	component, tries := 0, 0
	var played []playedStep
	for round := 0; round < atLeast || component < sizes.Action; round++ {
		if tries == atMost {
			return fmt.Errorf("qta: environment: component %d of actions has no effect: %d episodes are as with another",
				component, atMost)
		}
		seed, actions := rng.Uint64(), rng.Uint64()
		same, change := randomActions(actions), randomActions(rng.Uint64())
		varied := func(i int) float64 {
			as, other := same(i), change(i)
			if i != component && component < sizes.Action {
				return as
			}
			return other
		}
		once, err1 := playEpisode(env, sizes, horizon, seed, randomActions(actions), nil)
		other, err2 := playEpisode(env, sizes, horizon, seed, varied, nil)
		_, err3 := playEpisode(env, sizes, horizon/2, rng.Uint64(), randomActions(rng.Uint64()), nil)
		_, err4 := playEpisode(env, sizes, horizon, seed, randomActions(actions), once)
		if err := cmp.Or(err1, err2, err3, err4); err != nil {
			return err
		}
		if tries++; !reflect.DeepEqual(once, other) {
			component, tries = component+1, 0
		}
		played = slices.Concat(played, once, other)
	}
	var observations, goals [][]float64
	reached := true
	for _, s := range played {
		observations, goals = append(observations, s.Observation), append(goals, s.Achieved, s.Desired)
		reached = reached && s.reward == 0
	}
	decides := func(i int, by float64) bool {
		return slices.ContainsFunc(goals, func(g []float64) bool {
			beside := slices.Clone(g)
			beside[i] += by
			return env.Reward(beside, g) != 0
		})
	}
	problem := cmp.Or(unitsProblem("observation", observations, nil), unitsProblem("goal", goals, decides),
		toleranceProblem(env, played, horizon+1))
	if reached {
		problem = fmt.Sprintf("all of %d states reach their goals, whatever the actions: Reward must be -1 away from a goal",
			len(played))
	}
	if problem != "" {
		return errors.New("qta: environment: " + problem)
	}
	return nil
}

// unitsProblem says which component of some vectors the networks cannot take, or
// returns "": heads predict observations as they are (R12), and what they miss drowns
// the critics in shared layers. Beyond these bounds a dot that moves from 0 to 1 takes
// three times the steps, or is never solved. Not all components may vary too little, nor
// one of a goal on which, moved from one end to the other, a reward depends.
func unitsProblem(name string, vectors [][]float64, decides func(i int, by float64) bool) string {
	const far, farHalves, wide, narrow = 50, 20, 100, 1e-3
	low, high, most := slices.Clone(vectors[0]), slices.Clone(vectors[0]), 0.0
	for _, x := range vectors {
		for i, v := range x {
			low[i], high[i] = min(low[i], v), max(high[i], v)
			most = max(most, float64(high[i]/2)-float64(low[i]/2))
		}
	}
	for i := range low {
		a, b := float64(low[i]/2), float64(high[i]/2)
		middle, half := a+b, b-a
		small := 0 < half && half < narrow && (half == most || half < narrow/2 && decides != nil && decides(i, 2*half))
		if small || half > wide || math.Abs(middle) > max(far, float64(farHalves*half)) {
			return fmt.Sprintf("%s %d lies between %v and %v, from which the networks learn slowly or nothing: "+
				"subtract its middle and divide by its spread, as Scaled does", name, i, low[i], high[i])
		}
	}
	return ""
}

// toleranceProblem names a component of goals that Reward wants met to a thousandth of
// its mean step, in episodes of so many states, or returns "". The component must be
// continuous: two of its values differ by less than that, and by more than rounding.
func toleranceProblem(env Env, played []playedStep, states int) string {
	for i := range played[0].Achieved {
		var values []float64
		near, continuous := 0.0, false
		for t, s := range played {
			values = append(values, s.Achieved[i])
			if t%states > 0 {
				near += math.Abs(s.Achieved[i]-played[t-1].Achieved[i]) / float64(len(played)) / 1000
			}
		}
		slices.Sort(values)
		for k := range len(values) - 1 {
			apart := values[k+1] - values[k]
			continuous = continuous || near/1000 < apart && apart < near
		}
		reaches := func(s playedStep) bool {
			beside := slices.Clone(s.Achieved)
			beside[i] += near
			return env.Reward(beside, s.Achieved) == 0 || env.Reward(s.Achieved, beside) == 0
		}
		if continuous && !slices.ContainsFunc(played, reaches) {
			return fmt.Sprintf("Reward is -1 wherever component %d of the goal is missed by %.2g, a thousandth of its mean "+
				"step: no policy comes so close", i, near)
		}
	}
	return ""
}

// A playedStep is a copy of what Reset or Step returned, and its reward.
type playedStep struct {
	State
	reward float64
}

// randomActions returns what draws component i of the next action, a quarter of them at
// a bound.
func randomActions(seed uint64) func(i int) float64 {
	rng := rand.New(rand.NewPCG(seed, seed))
	return func(int) float64 { return min(max(float64(4.0/3*symmetric(rng)), -1), 1) }
}

// playEpisode plays n steps of an episode, whose chance has a seed. It
// checks every answer as training does, and returns copies of the answers, Reset's
// first. Given an earlier play of the same episode, it holds the answers to that,
// asks for more rewards, and passes all actions in one slice.
func playEpisode(
	env Env, sizes Sizes, n int, seed uint64, draw func(i int) float64, earlier []playedStep,
) ([]playedStep, error) {
	var steps []playedStep
	var given []float64
	action := make([]float64, sizes.Action)
	for t := range n + 1 {
		var s State
		var reward float64
		if t == 0 {
			s = env.Reset(rand.New(rand.NewPCG(seed, seed)))
		} else {
			if earlier == nil {
				action = make([]float64, sizes.Action)
			}
			for i := range action {
				action[i] = draw(i)
			}
			given = slices.Clone(action)
			s, reward = env.Step(action)
		}
		was := State{slices.Clone(s.Observation), slices.Clone(s.Achieved), slices.Clone(s.Desired)}
		steps = append(steps, playedStep{State: was})

		problem := stateProblem(s, sizes)
		if t > 0 {
			problem = stepProblem(env, sizes, steps[0].Desired, s, reward)
		}
		if problem == "" {
			steps[t].reward = env.Reward(s.Achieved, s.Desired)
		}
		if problem == "" && earlier != nil {
			problem = rewardProblem(env, s, earlier[n-t])
		}
		switch now := env.Sizes(); {
		case problem != "":
		case !reflect.DeepEqual(was, s):
			problem = "a call of Reward changed the state, which must stay until the next Reset or Step"
		case t > 0 && !slices.Equal(action, given):
			problem = "Step changed its action; the slice is the caller's"
		case earlier != nil && !reflect.DeepEqual(steps[t], earlier[t]):
			problem = "an episode with the same generator and actions answered otherwise; nothing else may " +
				"change an episode: no other chance, earlier episode (even one broken off), call of Reward " +
				"or slice of an earlier action"
		case now != sizes:
			problem = fmt.Sprintf("Sizes returned %+v, and %+v before; sizes must not change", now, sizes)
		}
		if problem != "" {
			return nil, &EnvError{t, problem}
		}
	}
	return steps, nil
}

// rewardProblem says what is wrong with the rewards of a state's goals for
// themselves, of another step, and of hindsight's goal for it, or returns "".
func rewardProblem(env Env, s State, other playedStep) string {
	for _, g := range [][]float64{s.Achieved, s.Desired} {
		if r := env.Reward(g, g); r != 0 {
			return fmt.Sprintf("Reward is %v where achieved is desired; it must be 0 there and -1 elsewhere", r)
		}
	}
	for _, q := range []struct {
		desired []float64
		was     float64
	}{{other.Desired, other.reward}, {s.Achieved, env.Reward(other.Achieved, s.Achieved)}} {
		if r := env.Reward(other.Achieved, q.desired); r != q.was || r != 0 && r != -1 {
			return fmt.Sprintf("Reward is %v for two goals for which it was %v before; it must be 0 or -1, "+
				"and depend only on its arguments", r, q.was)
		}
	}
	return ""
}

// Scaled returns env in units of about 1 for its learner. A component that has a pair,
// the least and the largest number that it has, is divided by a power of two about half
// as large as their distance; where they lie far from zero their middle is subtracted
// before. It then lies within ±1, or near zero within ±3. Within its pair nothing is
// rounded, so that rewards are env's own. The result has Env's methods alone, no
// [GoalSampler]'s. Scaled panics if a pair's distance is not finite, as that of the
// bounds of some simulators is.
func Scaled(env Env, observations, goals [][2]float64) Env {
	for _, pair := range slices.Concat(observations, goals) {
		if !finite(pair[1] - pair[0]) {
			panic(fmt.Sprintf("qta: Scaled: a pair is %v; want a finite distance", pair))
		}
	}
	return &scaled{env, slices.Clone(observations), slices.Clone(goals)}
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
		a, b := float64(pairs[i][0]/2), float64(pairs[i][1]/2)
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
