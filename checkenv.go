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

// CheckEnv checks env against every sentence of [Env]'s comments. It plays at least 16
// episodes of random actions, each with horizon steps or half as many. It returns the first
// mistake as an [*EnvError], or nil. Any other error names sizes below 1, numbers that the
// networks cannot learn from ([State]), actions without effect, or goals that every state
// reaches or that only an almost exact match reaches. CheckEnv panics if env does, or if
// horizon is below 1.
func CheckEnv(env Env, horizon int, rng *rand.Rand) error {
	if horizon < 1 {
		panic("qta: CheckEnv needs a horizon of at least 1")
	}
	sizes := env.Sizes()
	if min(sizes.Observation, sizes.Goal, sizes.Action) < 1 {
		return fmt.Errorf("qta: environment: Sizes returned %+v; all must be at least 1", sizes)
	}
	c := &envCheck{env: env, sizes: sizes, horizon: horizon, rng: rng}
	for component := range sizes.Action {
		if err := c.findEffect(component); err != nil {
			return err
		}
	}
	const leastRounds = 4 // with those of findEffect
	for c.rounds < leastRounds {
		if _, err := c.playRound(0); err != nil {
			return err
		}
	}
	if problem := c.numbersProblem(); problem != "" {
		return errors.New("qta: environment: " + problem)
	}
	return nil
}

// An envCheck plays rounds of episodes and keeps their states.
type envCheck struct {
	env     Env
	sizes   Sizes
	horizon int
	rng     *rand.Rand
	rounds  int          // how many were played
	played  []playedStep // of each round two episodes, each with horizon+1 states
}

// A playedStep is a copy of what Reset or Step returned, and its reward.
type playedStep struct {
	State
	reward float64
}

// findEffect plays rounds, of four episodes each, until a change of this component of the
// actions has an effect.
func (c *envCheck) findEffect(component int) error {
	const most = 20
	for range most {
		effect, err := c.playRound(component)
		if effect || err != nil {
			return err
		}
	}
	return fmt.Errorf("qta: environment: component %d of actions has no effect: "+
		"%d episodes went the same way with other values of it", component, most)
}

// playRound plays four episodes. The second has the first one's seed and actions, except
// for one component of the actions. playRound reports whether this changed any state or
// reward. The third episode is broken off. The fourth repeats the first and must return the
// same, although its actions share one slice and there are more calls of Reward.
func (c *envCheck) playRound(component int) (effect bool, err error) {
	seed := c.rng.Uint64()
	actionSeed := c.rng.Uint64()
	actions := randomActions(actionSeed, c.horizon, c.sizes.Action)
	varied := randomActions(actionSeed, c.horizon, c.sizes.Action)
	for t, value := range randomActions(c.rng.Uint64(), c.horizon, 1) {
		varied[t][component] = value[0]
	}

	first, err := c.play(seed, actions, nil)
	if err != nil {
		return false, err
	}
	second, err := c.play(seed, varied, nil)
	if err != nil {
		return false, err
	}
	if err := c.breakOff(); err != nil {
		return false, err
	}
	if _, err := c.play(seed, actions, first); err != nil {
		return false, err
	}

	c.rounds++
	c.played = slices.Concat(c.played, first, second)
	return !reflect.DeepEqual(first, second), nil
}

// breakOff plays another episode, but stops halfway.
func (c *envCheck) breakOff() error {
	seed := c.rng.Uint64()
	actions := randomActions(c.rng.Uint64(), c.horizon/2, c.sizes.Action)
	_, err := c.play(seed, actions, nil)
	return err
}

// randomActions draws n actions, a quarter of whose components are at a bound.
func randomActions(seed uint64, n, components int) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, seed))
	actions := make([][]float64, n)
	for t := range actions {
		for range components {
			x := float64(4.0 / 3 * symmetric(rng)) // a quarter lies beyond ±1
			actions[t] = append(actions[t], min(max(x, -1), 1))
		}
	}
	return actions
}

// An episode is an episode that CheckEnv is playing.
type episode struct {
	*envCheck
	earlier []playedStep // the same episode, played before, or nil
	steps   []playedStep // what Reset returned, and then what each Step has returned so far
}

// play plays an episode and checks what every call returns. earlier is the same episode,
// played before, or nil. If it is not nil, all calls of Step get their actions in one
// slice, which an environment must not keep.
func (c *envCheck) play(seed uint64, actions [][]float64, earlier []playedStep) ([]playedStep, error) {
	e := &episode{envCheck: c, earlier: earlier}
	s := e.env.Reset(rand.New(rand.NewPCG(seed, seed)))
	if problem := e.answerProblem(s, 0); problem != "" {
		return nil, &EnvError{0, problem}
	}
	given := make([]float64, e.sizes.Action)
	for t, action := range actions {
		if earlier == nil {
			given = make([]float64, e.sizes.Action)
		}
		copy(given, action)
		s, reward := e.env.Step(given)
		problem := e.answerProblem(s, reward)
		if problem == "" && !slices.Equal(given, action) {
			problem = "Step changed its action; the slice is the caller's"
		}
		if problem != "" {
			return nil, &EnvError{t + 1, problem}
		}
	}
	return e.steps, nil
}

// answerProblem says what is wrong with what Reset or Step has returned, or returns "". It
// adds a copy of a sound state to e.steps. If the episode was played before, as e.earlier,
// both plays must agree, and Reward is asked about states of the earlier play, too.
func (e *episode) answerProblem(s State, reward float64) string {
	t := len(e.steps)
	kept := State{
		Observation: slices.Clone(s.Observation),
		Achieved:    slices.Clone(s.Achieved),
		Desired:     slices.Clone(s.Desired),
	}
	var problem string
	if t == 0 {
		problem = stateProblem(s, e.sizes)
	} else {
		problem = stepProblem(e.env, e.sizes, e.steps[0].Desired, s, reward) // also checks the state
	}
	if problem != "" {
		return problem
	}
	e.steps = append(e.steps, playedStep{kept, e.env.Reward(s.Achieved, s.Desired)})
	if e.earlier != nil {
		// Counted from the end, it is another state than s, except in the middle.
		other := e.earlier[len(e.earlier)-1-t]
		if problem := rewardProblem(e.env, s, other); problem != "" {
			return problem
		}
	}
	if !reflect.DeepEqual(kept, s) {
		return "a call of Reward changed the state, which must stay until the next Reset or Step"
	}
	if e.earlier != nil && !reflect.DeepEqual(e.steps[t], e.earlier[t]) {
		return "an episode with the same generator and actions answered otherwise; " +
			"nothing else may change an episode, such as other random numbers, " +
			"an earlier episode (even one broken off), " +
			"a call of Reward or the slice of an earlier action"
	}
	if now := e.env.Sizes(); now != e.sizes {
		return fmt.Sprintf("Sizes returned %+v, and %+v before; sizes must not change",
			now, e.sizes)
	}
	return ""
}

// rewardProblem says what is wrong with Reward, or returns "". Reward must be 0 if the
// same goal of s is achieved and desired. It must also repeat its answer for two pairs of
// goals. In both pairs the achieved goal is other.Achieved. The desired goal is
// other.Desired in one pair, and s.Achieved in the second, as in hindsight.
func rewardProblem(env Env, s State, other playedStep) string {
	for _, g := range [][]float64{s.Achieved, s.Desired} {
		if r := env.Reward(g, g); r != 0 {
			return fmt.Sprintf("Reward is %v where achieved is desired; "+
				"it must be 0 there and -1 elsewhere", r)
		}
	}
	hindsight := env.Reward(other.Achieved, s.Achieved)
	own := env.Reward(other.Achieved, other.Desired)
	hindsightAgain := env.Reward(other.Achieved, s.Achieved)
	return cmp.Or(
		repeatProblem(own, other.reward),
		repeatProblem(hindsightAgain, hindsight))
}

// repeatProblem says what is wrong with the reward of a repeated call, or returns "".
func repeatProblem(now, before float64) string {
	if now == before && (now == 0 || now == -1) {
		return ""
	}
	return fmt.Sprintf("Reward is %v for two goals for which it was %v before; "+
		"it must be 0 or -1, and depend only on its arguments", now, before)
}

// numbersProblem looks at the numbers of all states that were played. It says if the
// networks cannot learn from them, or if Reward makes goals too easy or too hard, or
// returns "".
func (c *envCheck) numbersProblem() string {
	var observations, goals [][]float64
	reached := 0
	for _, s := range c.played {
		observations = append(observations, s.Observation)
		goals = append(goals, s.Achieved, s.Desired)
		if s.reward == 0 {
			reached++
		}
	}
	if reached == len(c.played) {
		return fmt.Sprintf("all of %d states reach their goals, whatever the actions: "+
			"Reward must be -1 away from a goal", reached)
	}

	return cmp.Or(
		c.unitsProblem("observation", observations, false), // no reward depends on an observation
		c.unitsProblem("goal", goals, true),
		c.toleranceProblem())
}

// misses reports whether one of the goals is missed when its component i is moved.
func (c *envCheck) misses(goals [][]float64, i int, by float64) bool {
	missed := func(g []float64) bool { return c.env.Reward(moved(g, i, by), g) != 0 }
	return slices.ContainsFunc(goals, missed)
}

// moved returns a copy of x with component i moved.
func moved(x []float64, i int, by float64) []float64 {
	y := slices.Clone(x)
	y[i] += by
	return y
}

// A span is the range of a number. Its ends are halved before they are added or
// subtracted, because their sum or difference may overflow.
type span struct{ low, high float64 }

func (s span) middle() float64 { return float64(s.low/2) + float64(s.high/2) }

func (s span) half() float64 { return float64(s.high/2) - float64(s.low/2) }

// isFar reports whether the middle lies far from zero, and far compared with the span, too.
func (s span) isFar() bool {
	const (
		far       = 50
		farHalves = 20 // in halves of the span
	)
	return math.Abs(s.middle()) > max(far, float64(farHalves*s.half()))
}

// spans returns the range of each component of some vectors.
func spans(vectors [][]float64) []span {
	all := make([]span, len(vectors[0]))
	for i, v := range vectors[0] {
		all[i] = span{v, v}
	}
	for _, x := range vectors {
		for i, v := range x {
			all[i] = span{min(all[i].low, v), max(all[i].high, v)}
		}
	}
	return all
}

// unitsProblem names a component of some vectors that the networks cannot learn from, or
// returns "". A component must not vary too widely: heads predict observations as they
// are (R12), and in the shared layers their large errors would dominate the critics'
// errors. The widest component must not be narrow, unless it is constant. Another component
// may be narrow, but if half of its span is below narrow/2, no reward may depend on it.
// rewarded says whether rewards depend on the vectors at all.
//
// The bounds, with those of isFar, come from an environment in which a dot moves from 0 to
// 1. If its numbers are rescaled beyond a bound, training takes three times the steps, or
// never succeeds.
func (c *envCheck) unitsProblem(name string, vectors [][]float64, rewarded bool) string {
	const (
		wide   = 100  // the largest half of a span
		narrow = 1e-3 // the smallest half of a span
	)
	all := spans(vectors)
	widest := 0.0
	for _, s := range all {
		widest = max(widest, s.half())
	}
	for i, s := range all {
		half := s.half()
		isNarrow := 0 < half && half < narrow
		if isNarrow && half < widest { // another component is wider
			wholeSpan := 2 * half
			isNarrow = half < narrow/2 && rewarded && c.misses(vectors, i, wholeSpan)
		}
		isWide := half > wide
		if s.isFar() || isNarrow || isWide {
			return fmt.Sprintf("%s %d lies between %v and %v, "+
				"from which the networks learn slowly or nothing: "+
				"subtract its middle and divide by its spread, as Scaled does", name, i, s.low, s.high)
		}
	}
	return ""
}

// toleranceProblem names a component of goals whose tolerance is too small, or returns
// "". Reward is -1 wherever such a component is missed by a thousandth of its mean step.
func (c *envCheck) toleranceProblem() string {
	for i := range c.sizes.Goal {
		near := c.meanStep(i) / 1000
		reached := func(s playedStep) bool {
			beside := moved(s.Achieved, i, near)
			return c.env.Reward(beside, s.Achieved) == 0 || c.env.Reward(s.Achieved, beside) == 0
		}
		if c.continuous(i, near) && !slices.ContainsFunc(c.played, reached) {
			return fmt.Sprintf("Reward is -1 wherever component %d of the goal is missed by %.2g, "+
				"a thousandth of its mean step: no policy comes so close", i, near)
		}
	}
	return ""
}

// meanStep returns about how far component i of the achieved goal moves in a step. It
// divides by all states, although a first state has no step.
func (c *envCheck) meanStep(i int) float64 {
	sum := 0.0
	for t := 1; t < len(c.played); t++ {
		begins := t%(c.horizon+1) == 0 // state t begins an episode
		if !begins {
			sum += math.Abs(c.played[t].Achieved[i] - c.played[t-1].Achieved[i])
		}
	}
	return sum / float64(len(c.played))
}

// continuous reports whether two neighboring values of component i of the achieved goal lie
// closer than near, but farther apart than rounding explains. On a grid none do.
func (c *envCheck) continuous(i int, near float64) bool {
	var values []float64
	for _, s := range c.played {
		values = append(values, s.Achieved[i])
	}
	slices.Sort(values)
	for k := 1; k < len(values); k++ {
		distance := values[k] - values[k-1]
		if near/1000 < distance && distance < near {
			return true
		}
	}
	return false
}

// Scaled returns env with numbers of about 1, for an agent to learn and act in.
// observations and goals have a pair for each component, its least and its largest number.
// A nil leaves the numbers as they are. The component is divided by a power of two, about
// half the distance between these two numbers. If the pair lies far from zero, its middle
// is subtracted first. The component then lies within ±1, and otherwise within ±3. Numbers
// within the pair are not rounded, so rewards stay the same. The result has only Env's
// methods, not [GoalSampler]'s. Scaled panics if a distance is not finite, as with the
// bounds of some simulators, or if pairs are missing or too many.
func Scaled(env Env, observations, goals [][2]float64) Env {
	sizes := env.Sizes()
	mustPair("observations", len(observations), sizes.Observation)
	mustPair("goals", len(goals), sizes.Goal)
	for _, pair := range slices.Concat(observations, goals) {
		if !finite(pair[1] - pair[0]) {
			panic(fmt.Sprintf("qta: Scaled: a pair is %v; want a finite distance", pair))
		}
	}
	return &scaled{env, slices.Clone(observations), slices.Clone(goals)}
}

// mustPair panics if there are pairs, but not one for each of the want components.
func mustPair(name string, pairs, want int) {
	if pairs != 0 && pairs != want {
		panic(fmt.Sprintf("qta: Scaled: %s has %d pairs, want %d, one for each number",
			name, pairs, want))
	}
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
	const back = true
	return e.Env.Reward(rescale(achieved, e.goals, back), rescale(desired, e.goals, back))
}

func (e *scaled) state(s State) State {
	const back = false
	return State{
		Observation: rescale(s.Observation, e.observations, back),
		Achieved:    rescale(s.Achieved, e.goals, back),
		Desired:     rescale(s.Desired, e.goals, back),
	}
}

// unscaled returns the environment that [Scaled] was given, or env itself.
func unscaled(env Env) Env {
	if s, ok := env.(*scaled); ok {
		return unscaled(s.Env)
	}
	return env
}

// rescale converts x to the units of its pairs, or back from them. Subtracting a middle is
// exact for any number within the pair's range, because the middle lies at least twice as
// far from zero as from this number.
func rescale(x []float64, pairs [][2]float64, back bool) []float64 {
	y := slices.Clone(x)
	for i := range min(len(x), len(pairs)) { // x may be empty if the environment has failed
		pair := span{pairs[i][0], pairs[i][1]}
		fraction, exponent := math.Frexp(pair.half())
		if fraction == 0.5 { // the half is a power of two itself
			exponent--
		}
		unit := math.Ldexp(1, exponent) // the least power of two that is at least the half
		middle := pair.middle()
		if math.Abs(middle) < 2*unit {
			middle = 0
		}
		if back {
			y[i] = float64(x[i]*unit) + middle
		} else {
			y[i] = (x[i] - middle) / unit
		}
	}
	return y
}
