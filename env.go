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

// An Env is a goal-conditioned environment without terminal states: the caller
// ends an episode after a fixed number of steps. [CheckEnv] holds an
// implementation to this contract.
type Env interface {
	// Sizes returns the lengths of all vectors, at least 1. They never change.
	Sizes() Sizes

	// Reset starts an episode, also in the middle of another, and returns its
	// first state. All chance of the episode, in its later steps too, comes
	// from rng, and nothing of earlier episodes reaches it.
	Reset(rng *rand.Rand) State

	// Step acts for one time step and returns the next state and its reward,
	// Reward(Achieved, Desired). The components of action are in [-1, 1], and
	// some action has an effect; Step neither changes the slice nor keeps it.
	// Desired stays the same throughout the episode.
	Step(action []float64) (State, float64)

	// Reward is 0 where achieved reaches desired and -1 elsewhere; a goal
	// reaches itself. It depends on nothing but its arguments, changes
	// nothing, and also answers for goals that no episode had (hindsight).
	Reward(achieved, desired []float64) float64
}

// A State is what an environment shows: the three entries of Gymnasium's
// GoalEnv dictionary. The slices are valid until the environment's next Reset or
// Step; Observation and Achieved may be the same.
//
// The networks learn from numbers of about order 1, whose differences are not
// small beside their distance from zero: [CheckEnv] names numbers that are not so, and
// [Scaled] mends them. Nothing is accepted beyond ±1e12.
type State struct{ Observation, Achieved, Desired []float64 }

// Sizes are the lengths of an environment's vectors. Achieved and desired goals
// have the same length.
type Sizes struct{ Observation, Goal, Action int }

// Scaled returns env in other units for its learner: what is between the first
// and the second number of a component's pair becomes -1 to 1, and where both are
// equal the first is subtracted; what has no pair stays as it is. Rewards are env's,
// asked in its own units. The result has Env's methods alone, no [GoalSampler]'s.
func Scaled(env Env, observations, goals [][2]float64) Env { return &scaled{env, observations, goals} }

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

// A GoalSampler is an environment that can draw a goal from all that exist,
// seen or not: privileged knowledge, which the curriculum VDS needs.
type GoalSampler interface {
	Env

	// SampleGoal returns a uniformly drawn goal. The caller owns the slice.
	SampleGoal(rng *rand.Rand) []float64
}

// An EnvError reports that an environment broke its contract.
type EnvError struct {
	Step    int // environment steps taken; of the episode in [CheckEnv]
	Problem string
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("qta: step %d: environment: %s", e.Step, e.Problem)
}

// stepProblem says what is wrong with the answer to a step in an episode with
// this desired goal, or returns "".
func stepProblem(env Env, sizes Sizes, desired []float64, s State, reward float64) string {
	if problem := stateProblem(s, sizes); problem != "" {
		return problem
	}
	if !slices.Equal(s.Desired, desired) {
		return fmt.Sprintf("the desired goal went from %v to %v within an episode", desired, s.Desired)
	}
	if want := env.Reward(s.Achieved, s.Desired); reward != want || (want != 0 && want != -1) {
		return fmt.Sprintf("Step's reward is %v and Reward's %v; both must be the same, 0 or -1", reward, want)
	}
	return ""
}

// checkRewards reports a reward in b, recomputed in hindsight, that is neither 0
// nor -1.
func (a *Agent) checkRewards(b *batch) error {
	for row, r := range b.r {
		if r != 0 && r != -1 {
			return &EnvError{a.step, fmt.Sprintf("Reward is %v of the achieved goal %v and a replayed goal; "+
				"it must be 0 or -1", r, a.replay.nextAchieved.at(b.transitions[row]))}
		}
	}
	return nil
}

// stateProblem says what is wrong with the numbers of a state, or returns "".
func stateProblem(s State, sizes Sizes) string {
	return cmp.Or(
		numbersProblem("observation", s.Observation, sizes.Observation),
		numbersProblem("achieved goal", s.Achieved, sizes.Goal),
		numbersProblem("desired goal", s.Desired, sizes.Goal))
}

// largestNumber bounds what an environment or a curriculum may give: Adam squares
// the gradients of Equation 4, which a thousand times more may overflow.
const largestNumber = 1e12

// numbersProblem says what is wrong with a vector that should have want numbers,
// or returns "".
func numbersProblem(name string, x []float64, want int) string {
	if len(x) != want {
		return fmt.Sprintf("the %s has %d numbers, Sizes says %d", name, len(x), want)
	}
	for _, v := range x {
		if !(math.Abs(v) <= largestNumber) {
			return fmt.Sprintf("the %s is %v, allowed are numbers up to ±%v", name, x, largestNumber)
		}
	}
	return ""
}

// CheckEnv checks every sentence of [Env] in at least 16 episodes of random
// actions, of horizon steps or half as many, and returns what is wrong, or nil.
// It also names numbers that the networks cannot take ([State]), and goals that
// every state reaches or none does. It panics if env does, or if horizon is less than 1.
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
	// may make a difference. Other actions must make one, in one round at least.
	const atLeast, atMost = 4, 20 // rounds
	acted := false                // actions have had an effect
	var played []playedStep
	for round := 0; round < atLeast || !acted; round++ {
		if round == atMost {
			return fmt.Errorf("qta: environment: actions have no effect: %d episodes are as with other actions", atMost)
		}
		seed, actions := rng.Uint64(), rng.Uint64()
		once, err1 := playEpisode(env, sizes, horizon, seed, actions, nil)
		other, err2 := playEpisode(env, sizes, horizon, seed, rng.Uint64(), nil)
		_, err3 := playEpisode(env, sizes, horizon/2, rng.Uint64(), rng.Uint64(), nil)
		_, err4 := playEpisode(env, sizes, horizon, seed, actions, once)
		if err := cmp.Or(err1, err2, err3, err4); err != nil {
			return err
		}
		acted = acted || !reflect.DeepEqual(once, other)
		played = slices.Concat(played, once, other)
	}
	var observations, goals [][]float64
	reached := true
	for _, s := range played {
		observations, goals = append(observations, s.Observation), append(goals, s.Achieved, s.Desired)
		reached = reached && s.reward == 0
	}
	problem := cmp.Or(unitsProblem("observation", observations), unitsProblem("goal", goals),
		toleranceProblem(env, played, horizon+1))
	if reached {
		problem = fmt.Sprintf("all of %d states reach their goals, whatever the actions: Reward is 0 too far from a goal",
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
// three times the steps, or is never solved. Not all components may vary too little.
func unitsProblem(name string, vectors [][]float64) string {
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
		small := 0 < half && half == most && half < narrow
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
			return fmt.Sprintf("Reward is -1 wherever goal %d is missed by %.2g, a thousandth of its mean step: "+
				"no policy comes so close", i, near)
		}
	}
	return ""
}

// A playedStep is a copy of what Reset or Step returned, and its reward.
type playedStep struct {
	State
	reward float64
}

// playEpisode plays n steps of an episode, whose chance and actions have seeds. It
// checks every answer as training does, and returns copies of the answers, Reset's
// first. Given an earlier play of the same episode, it holds the answers to that,
// asks for more rewards, and passes all actions in one slice.
func playEpisode(env Env, sizes Sizes, n int, seed, actions uint64, earlier []playedStep) ([]playedStep, error) {
	var steps []playedStep
	var given []float64
	action, draws := make([]float64, sizes.Action), rand.New(rand.NewPCG(actions, actions))
	for t := range n + 1 {
		var s State
		var reward float64
		if t == 0 {
			s = env.Reset(rand.New(rand.NewPCG(seed, seed)))
		} else {
			if earlier == nil {
				action = make([]float64, sizes.Action)
			}
			for i := range action { // a quarter of them at a bound
				action[i] = min(max(float64(4.0/3*symmetric(draws)), -1), 1)
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
			problem = fmt.Sprintf("it changed its action from %v to %v; the slice is the caller's", given, action)
		case earlier != nil && !reflect.DeepEqual(steps[t], earlier[t]):
			problem = "another answer than in an episode with equal generator and actions; nothing else may " +
				"reach an episode: other chance, an earlier episode (also one that was broken off), a call of Reward, " +
				"the slice of an earlier action"
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
	const itself, alone = "a goal must reach itself", "it must be 0 or -1, and depend on nothing but its arguments"
	for _, q := range []struct {
		achieved, desired []float64
		want              float64
		must              string
	}{
		{s.Achieved, s.Achieved, 0, itself},
		{s.Desired, s.Desired, 0, itself},
		{other.Achieved, other.Desired, other.reward, alone},
		{other.Achieved, s.Achieved, env.Reward(other.Achieved, s.Achieved), alone},
	} {
		if r := env.Reward(q.achieved, q.desired); r != q.want || r != 0 && r != -1 {
			return fmt.Sprintf("Reward is %v of the achieved goal %v and the desired goal %v; %s", r, q.achieved, q.desired, q.must)
		}
	}
	return ""
}

// A Curriculum chooses the goals that an agent pursues in training: see
// [Agent.SetCurriculum]. Learning, hindsight and exploration follow the
// parameters. A state that decides its goals it keeps by [Agent.Attach].
type Curriculum interface {
	// NextGoal returns the goal to pursue from the agent's current state, in the
	// environment's units: an episode's first, or the next one after a goal was
	// reached, where nil keeps the old one. It is copied. An error ends training.
	//
	// All chance comes from rng, which is saved with the agent; rng.Uint64() is a
	// seed to ask with. NextGoal may ask the agent for all that changes nothing,
	// such as [Agent.State], [Agent.Achieved], [Agent.Value], [Agent.Uncertainty].
	NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error)
}

// SetCurriculum replaces the curriculum that Params.Curriculum names, while the
// agent is not training: within Train it is an error. An agent that was saved with
// one trains only after SetCurriculum gives it one again. c must not be nil.
func (a *Agent) SetCurriculum(c Curriculum) error {
	if a.env != nil {
		return errTraining
	}
	a.curriculum = &ownCurriculum{chosen: c}
	return nil
}

type ownCurriculum struct {
	onlyGoals
	chosen Curriculum // nil in a loaded agent until it is set again
}

func (o *ownCurriculum) ready(Env) error {
	if o.chosen == nil {
		return errors.New("qta: the agent was saved with a curriculum of its user's own: give it to SetCurriculum before Train")
	}
	return nil
}

// goal asks the user's curriculum for a goal and validates its answer.
func (o *ownCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	g, err := o.chosen.NextGoal(a, first, a.goalDraws.Rand)
	if err != nil || g == nil && !first {
		return nil, err
	}
	if problem := numbersProblem("curriculum's goal", g, a.sizes.Goal); problem != "" {
		return nil, fmt.Errorf("qta: step %d: %s", a.step, problem)
	}
	return g, nil
}
