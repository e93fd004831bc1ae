package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Sizes are the lengths of the vectors an environment deals in.
type Sizes struct{ Observation, Goal, Action int }

// State is what an environment shows: the three entries of Gymnasium's GoalEnv
// dictionary. The slices belong to the environment and are valid until its
// next Reset or Step; Observation and Achieved may be the same.
type State struct{ Observation, Achieved, Desired []float64 }

// Env is a goal-conditioned environment. It has no terminal states: whoever
// uses it ends an episode after a fixed number of steps. [CheckEnv] holds an
// implementation to this contract.
type Env interface {
	// Sizes returns the lengths of all vectors. They never change.
	Sizes() Sizes

	// Reset starts an episode, also in the middle of another. All chance of
	// the episode, that of its later steps included, comes from rng, and
	// nothing of earlier episodes reaches it.
	Reset(rng *rand.Rand) State

	// Step acts for one time step. The components of action are in [-1, 1], and
	// some action has an effect; Step neither changes the slice nor keeps it.
	// Desired stays the same throughout the episode. The reward is
	// Reward(Achieved, Desired) of the returned state.
	Step(action []float64) (State, float64)

	// Reward is 0 where achieved reaches desired and -1 elsewhere; a goal
	// reaches itself. It depends on nothing but its arguments, changes
	// nothing, and also knows goals that no episode had (hindsight).
	Reward(achieved, desired []float64) float64
}

// CheckEnv tells the author of an environment what is wrong with it, and
// returns nil if it finds nothing. It plays a few episodes of horizon steps
// with random actions, some of them twice with equal generators, and checks
// every sentence of [Env]: lengths, finite numbers, rewards, constancy of the
// goal, that nothing but the generator and the actions decides what happens, and
// that the actions do have a part in it. Errors tell the episode, counted from
// 1. An environment that panics, panics here too. CheckEnv panics if horizon is
// less than 1.
func CheckEnv(env Env, horizon int, rng *rand.Rand) error {
	if horizon < 1 {
		panic("qta: CheckEnv needs a horizon of at least 1")
	}
	sizes := env.Sizes()
	if sizes.Observation < 1 || sizes.Goal < 1 || sizes.Action < 1 {
		return fmt.Errorf("qta: environment: Sizes returned %+v; all must be at least 1", sizes)
	}
	const rounds = 2
	episode := 0 // of all that are played, as errors tell it
	var play player = func(seed uint64, actions [][]float64, ask, reuse bool) ([]checkedStep, error) {
		episode++
		steps, err := checkEpisode(env, sizes, seed, actions, ask, reuse)
		if err != nil {
			err = fmt.Errorf("%w (episode %d)", err, episode)
		}
		return steps, err
	}
	for range rounds {
		seed, actions := rng.Uint64(), randomActions(horizon, sizes.Action, rng)
		var first []checkedStep
		began := episode + 1
		for i, again := range []struct {
			ask, reuse bool
			shouldBe   string // why it equals the first
		}{
			{ask: true},
			{ask: true, shouldBe: "neither other chance nor earlier episodes may reach an episode"},
			{ask: false, shouldBe: "asking for a reward may change nothing"},
			{ask: true, reuse: true, shouldBe: "Step must not keep the slice of its action"},
			{ask: true, shouldBe: "Reset must leave nothing of an episode that was broken off"},
		} {
			if i == 4 {
				other := randomActions((horizon+1)/2, sizes.Action, rng)
				if _, err := play(rng.Uint64(), other, true, false); err != nil {
					return err
				}
			}
			steps, err := play(seed, actions, again.ask, again.reuse)
			if err != nil {
				return err
			}
			if i == 0 {
				first = steps
			} else if what := firstDifference(first, steps); what != "" {
				return fmt.Errorf("qta: environment: %s differs between two episodes with equal generators and actions; %s (episodes %d and %d)", what, again.shouldBe, began, episode)
			}
		}
		if err := checkRewards(env, first); err != nil {
			return fmt.Errorf("%w (of episode %d, after it)", err, began)
		}
	}
	return checkActions(play, sizes.Action, horizon, rng)
}

// A player is [checkEpisode] in one environment, counting its episodes.
type player func(seed uint64, actions [][]float64, ask, reuse bool) ([]checkedStep, error)

// checkActions plays pairs of episodes with equal generators and different
// actions, until two differ.
func checkActions(play player, size, horizon int, rng *rand.Rand) error {
	const pairs = 20
	for range pairs {
		seed := rng.Uint64()
		var both [2][]checkedStep
		for i := range both {
			steps, err := play(seed, randomActions(horizon, size, rng), true, false)
			if err != nil {
				return err
			}
			both[i] = steps
		}
		if firstDifference(both[0], both[1]) != "" {
			return nil
		}
	}
	return fmt.Errorf("qta: environment: actions have no effect: %d pairs of episodes with equal generators and different actions are alike", pairs)
}

// checkedStep is a copy of what one step returned.
type checkedStep struct {
	State
	reward float64 // 0 for Reset, which has none
}

// randomActions draws n actions. A quarter of the components are at one of the
// bounds, because they are drawn from an interval a third wider.
func randomActions(n, size int, rng *rand.Rand) [][]float64 {
	actions := make([][]float64, n)
	for i := range actions {
		actions[i] = make([]float64, size)
		for j := range actions[i] {
			actions[i][j] = min(max((8.0/3)*(float64(rng.Float64())-0.5), -1), 1)
		}
	}
	return actions
}

// checkEpisode plays one episode, checks what can be seen within it, and
// returns copies of all that was shown, Reset's state first. Rewards are asked
// for only if ask is set. If reuse is set, all actions come in one slice, which
// changes as soon as Step has returned.
func checkEpisode(env Env, sizes Sizes, seed uint64, actions [][]float64, ask, reuse bool) ([]checkedStep, error) {
	var steps []checkedStep
	action := make([]float64, sizes.Action)
	for t := range len(actions) + 1 {
		var s checkedStep
		call := "Reset"
		if t == 0 {
			s.State = env.Reset(rand.New(rand.NewPCG(seed, seed)))
		} else {
			call = fmt.Sprintf("Step %d", t)
			if !reuse {
				action = make([]float64, sizes.Action)
			}
			copy(action, actions[t-1])
			s.State, s.reward = env.Step(action)
			if !equalBits(action, actions[t-1]) {
				return nil, fmt.Errorf("qta: environment: %s changed its action from %v to %v; the slice is the caller's", call, actions[t-1], action)
			}
			if reuse {
				for i := range action {
					action[i] = -action[i]
				}
			}
		}
		shown := s.State
		for _, f := range shown.fields() {
			want := sizes.Goal
			if f.name == "Observation" {
				want = sizes.Observation
			}
			if len(f.x) != want {
				return nil, fmt.Errorf("qta: environment: %s returned %d numbers in %s; Sizes says %d", call, len(f.x), f.name, want)
			}
			for i, x := range f.x {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return nil, fmt.Errorf("qta: environment: %s returned %v in %s[%d]; all must be finite", call, x, f.name, i)
				}
			}
		}
		s.State = State{slices.Clone(shown.Observation), slices.Clone(shown.Achieved), slices.Clone(shown.Desired)}
		if t > 0 {
			if !equalBits(s.Desired, steps[0].Desired) {
				return nil, fmt.Errorf("qta: environment: %s returned the desired goal %v after Reset returned %v; it must stay the same throughout the episode", call, s.Desired, steps[0].Desired)
			}
			if s.reward != 0 && s.reward != -1 {
				return nil, fmt.Errorf("qta: environment: %s returned the reward %v; it must be 0 or -1", call, s.reward)
			}
		}
		if ask {
			r := env.Reward(shown.Achieved, shown.Desired)
			if t > 0 && r != s.reward {
				return nil, fmt.Errorf("qta: environment: %s returned the reward %v, but Reward is %v of the achieved goal %v and the desired goal %v; they must be equal", call, s.reward, r, s.Achieved, s.Desired)
			}
			for i, f := range shown.fields() {
				if before := s.fields()[i].x; !equalBits(f.x, before) {
					return nil, fmt.Errorf("qta: environment: Reward after %s changed %s from %v to %v; a state must stay as it is until the next Reset or Step", call, f.name, before, f.x)
				}
			}
		}
		if now := env.Sizes(); now != sizes {
			return nil, fmt.Errorf("qta: environment: Sizes returned %+v after %s and %+v before; sizes must not change", now, call, sizes)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// checkRewards asks, with the episode long over, for the rewards that it had,
// for those of hindsight goals, and for those of goals held to themselves.
func checkRewards(env Env, steps []checkedStep) error {
	achieved, desired := slices.Clone(steps[0].Achieved), slices.Clone(steps[0].Desired)
	ask := func(a, d []float64) (float64, error) {
		copy(achieved, a)
		copy(desired, d)
		r := env.Reward(achieved, desired)
		if !equalBits(achieved, a) || !equalBits(desired, d) {
			return r, fmt.Errorf("qta: environment: Reward changed its arguments %v and %v; it may change nothing", a, d)
		}
		if r != 0 && r != -1 {
			return r, fmt.Errorf("qta: environment: Reward is %v of the achieved goal %v and the desired goal %v; it must be 0 or -1", r, a, d)
		}
		if again := env.Reward(achieved, desired); again != r {
			return r, fmt.Errorf("qta: environment: Reward is %v and then %v of the achieved goal %v and the desired goal %v; it must depend on nothing but its arguments", r, again, a, d)
		}
		return r, nil
	}
	for t, s := range steps {
		r, err := ask(s.Achieved, s.Desired)
		if err != nil {
			return err
		}
		if t > 0 && r != s.reward {
			return fmt.Errorf("qta: environment: Reward is %v of the achieved goal %v and the desired goal %v, but was %v in Step %d of their episode; it must depend on nothing but its arguments", r, s.Achieved, s.Desired, s.reward, t)
		}
		if _, err := ask(s.Achieved, steps[len(steps)-1].Achieved); err != nil {
			return err
		}
		for _, goal := range [][]float64{s.Achieved, s.Desired} {
			r, err := ask(goal, goal)
			if err != nil {
				return err
			}
			if r != 0 {
				return fmt.Errorf("qta: environment: Reward is %v of the goal %v held to itself; a goal must reach itself, with 0", r, goal)
			}
		}
	}
	return nil
}

// fields returns the vectors of a state with their names.
func (s State) fields() [3]struct {
	name string
	x    []float64
} {
	return [...]struct {
		name string
		x    []float64
	}{{"Observation", s.Observation}, {"Achieved", s.Achieved}, {"Desired", s.Desired}}
}

// equalBits reports whether x and y have the same bits.
func equalBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// firstDifference names the first thing that two equally long episodes do not
// share; it returns "" if there is none.
func firstDifference(a, b []checkedStep) string {
	for t := range a {
		call := "Reset"
		if t > 0 {
			call = fmt.Sprintf("Step %d", t)
		}
		for i, f := range a[t].fields() {
			if !equalBits(f.x, b[t].fields()[i].x) {
				return fmt.Sprintf("%s of %s", f.name, call)
			}
		}
		if a[t].reward != b[t].reward {
			return fmt.Sprintf("the reward of %s", call)
		}
	}
	return ""
}

// A GoalSampler is an environment that can draw a goal from all those there
// are, seen or not: privileged knowledge, which the curriculum VDS needs.
type GoalSampler interface {
	// SampleGoal returns a uniformly drawn goal, which is the caller's.
	SampleGoal(rng *rand.Rand) []float64
}

// An EnvError says that an environment broke its contract during training.
type EnvError struct {
	Step    int // environment steps taken
	Problem string
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("qta: step %d: environment: %s", e.Step, e.Problem)
}

// checkStep returns an error if the environment's answer breaks its contract.
func (a *Agent) checkStep(s State, reward float64) error {
	problem := a.stateProblem(s)
	if problem == "" && !slices.Equal(s.Desired, a.desired) {
		problem = fmt.Sprintf("the desired goal went from %v to %v within an episode", a.desired, s.Desired)
	}
	if problem == "" {
		if want := a.env.Reward(s.Achieved, s.Desired); reward != want || (want != 0 && want != -1) {
			problem = fmt.Sprintf("Step's reward is %v and Reward's %v; both must be the same, 0 or -1", reward, want)
		}
	}
	if problem != "" {
		return &EnvError{a.step + 1, problem}
	}
	return nil
}

// numbersProblem says what is wrong with a vector of so many numbers, or returns "".
func numbersProblem(name string, x []float64, want int) string {
	if len(x) != want {
		return fmt.Sprintf("the %s has %d numbers, Sizes says %d", name, len(x), want)
	}
	for _, v := range x {
		if !finite(v) {
			return fmt.Sprintf("the %s is %v", name, x)
		}
	}
	return ""
}

// stateProblem says what is wrong with a state, or returns "".
func (a *Agent) stateProblem(s State) string {
	for _, v := range []struct {
		name string
		x    []float64
		want int
	}{{"observation", s.Observation, a.sizes.Observation}, {"achieved goal", s.Achieved, a.sizes.Goal}, {"desired goal", s.Desired, a.sizes.Goal}} {
		if problem := numbersProblem(v.name, v.x, v.want); problem != "" {
			return problem
		}
	}
	return ""
}
