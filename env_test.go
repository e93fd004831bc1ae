package qta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A lineEnv is an agent on a line, with three numbers in its observation. A hook that is not
// nil changes what a method does, mostly to break one sentence of the contract.
type lineEnv struct {
	start, at, speed float64
	goal             []float64
	rng              *rand.Rand
	episodes         int
	steps            int // of this episode

	// What hooks remember although they must not.
	action        []float64 // of the previous step
	previousGoal  []float64 // of the previous episode
	previousSteps int

	onSizes  func(e *lineEnv) Sizes
	onReset  func(e *lineEnv)
	onStep   func(e *lineEnv, action []float64)
	onState  func(e *lineEnv, s *State)
	onReward func(e *lineEnv, achieved, desired []float64, r float64) float64
	onReturn func(e *lineEnv, r float64) float64
}

func (e *lineEnv) Sizes() Sizes {
	if e.onSizes != nil {
		return e.onSizes(e)
	}
	return Sizes{Observation: 3, Goal: 1, Action: 2}
}

func (e *lineEnv) Reset(rng *rand.Rand) State {
	e.rng = rng
	e.at = rng.Float64()
	e.goal = []float64{3 * rng.Float64()}
	e.start = e.at
	e.speed = 0
	e.steps = 0
	e.episodes++
	if e.onReset != nil {
		e.onReset(e)
	}
	return e.state()
}

func (e *lineEnv) state() State {
	s := State{
		Observation: []float64{e.at, e.speed, e.start},
		Achieved:    []float64{e.at},
		Desired:     e.goal,
	}
	if e.onState != nil {
		e.onState(e, &s)
	}
	return s
}

func (e *lineEnv) Step(action []float64) (State, float64) {
	e.steps++
	// Chance in the steps is allowed: it comes from Reset's generator.
	e.speed = 0.9*e.speed + 0.1*action[0] - 0.1*action[1] + 0.01*e.rng.Float64()
	if e.onStep != nil {
		e.onStep(e, action)
	}
	e.at += e.speed
	r := e.Reward([]float64{e.at}, e.goal)
	if e.onReturn != nil {
		r = e.onReturn(e, r)
	}
	return e.state(), r
}

func (e *lineEnv) Reward(achieved, desired []float64) float64 {
	r := -1.0
	if math.Abs(achieved[0]-desired[0]) < 0.1 {
		r = 0
	}
	if e.onReward != nil {
		r = e.onReward(e, achieved, desired, r)
	}
	return r
}

// A brokenEnv breaks one sentence of the contract. The step that its error names often depends
// on the seed: it is where the random actions first show the mistake.
type brokenEnv struct {
	name string
	want string // how CheckEnv's error begins; noError if nothing is broken
	env  lineEnv
}

const answeredOtherwise = "an episode with the same generator and actions answered otherwise"

// either returns a if the condition holds, else b.
func either(condition bool, a, b float64) float64 {
	if condition {
		return a
	}
	return b
}

var brokenNumbers = []brokenEnv{
	{"no goal", "qta: environment: Sizes returned {Observation:3 Goal:0 Action:2}; all must be at least 1",
		lineEnv{onSizes: func(*lineEnv) Sizes { return Sizes{3, 0, 2} }}},
	{"growing", "qta: step 3: environment: Sizes returned {Observation:3 Goal:1 Action:3}, and {Observation:3 Goal:1 Action:2} before",
		lineEnv{onSizes: func(e *lineEnv) Sizes { return Sizes{3, 1, 2 + e.steps/3} }}},
	{"large", "qta: step 0: environment: number 0 of the desired goal is -1.1e+12, allowed are",
		lineEnv{onState: func(_ *lineEnv, s *State) { s.Desired = []float64{-1.1e12} }}},
	{"far goals", "qta: environment: goal 0 lies between ",
		lineEnv{onReset: func(e *lineEnv) { e.goal[0] += 500 }}},
	{"moving goal in place", "qta: step 1: environment: number 0 of the desired goal went from ",
		lineEnv{onStep: func(e *lineEnv, _ []float64) { e.goal[0] += 1e-9 }}},
}

var brokenRewards = []brokenEnv{
	{"of the episode's goal", "qta: step 0: environment: Reward is -1 where achieved is desired",
		lineEnv{onReward: func(e *lineEnv, _, d []float64, r float64) float64 {
			return either(d[0] != e.goal[0], -1, r)
		}}},
	{"of the step", "qta: step 48: environment: Reward is -1 for two goals for which it was 0 before",
		lineEnv{onReward: func(e *lineEnv, _, _ []float64, r float64) float64 {
			return either(e.steps < 3, 0, r)
		}}},
	{"of hindsight goals", "qta: step 0: environment: Reward is -2 for two goals for which it was -2 before",
		lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			return either(d[0] != e.goal[0] && a[0] != d[0], -2, r)
		}}},
	{"of hindsight goals, every second time", "qta: step 0: environment: Reward is 0 for two goals for which it was -1 before",
		lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if d[0] == e.goal[0] || a[0] == d[0] {
				return r
			}
			e.previousSteps++ // counts these calls
			return either(e.previousSteps%2 == 0, 0, -1)
		}}},
	{"never 0 for the desired goal", "qta: step 0: environment: Reward is -1 where achieved is desired",
		lineEnv{onReward: func(e *lineEnv, a, _ []float64, r float64) float64 {
			return either(a[0] == e.goal[0], -1, r)
		}}},
	{"pushes", "qta: step 1: environment: " + answeredOtherwise,
		lineEnv{onReward: func(e *lineEnv, _, _ []float64, r float64) float64 {
			e.speed += 1e-12
			return r
		}}},
	{"changes the state", "qta: step 0: environment: a call of Reward changed the state",
		lineEnv{onReward: func(_ *lineEnv, a, d []float64, r float64) float64 {
			a[0] = d[0]
			return r
		}}},
	{"tenths, met to a millionth", noError, lineEnv{
		onReset: func(e *lineEnv) {
			e.at = math.Round(10*e.at) / 10
			e.goal[0] = math.Round(10*e.goal[0]) / 10
		},
		onStep: func(e *lineEnv, a []float64) { e.speed = math.Round(2*a[0]-a[1]) / 10 },
		onReward: func(_ *lineEnv, a, d []float64, _ float64) float64 {
			return either(math.Abs(a[0]-d[0]) < 1e-6, 0, -1)
		},
	}},
	{"goals reached from below", noError,
		lineEnv{onReward: func(_ *lineEnv, a, d []float64, _ float64) float64 { return either(a[0] <= d[0], 0, -1) }}},
}

var brokenActions = []brokenEnv{
	{"without any effect", "qta: environment: component 0 of actions has no effect: 20 episodes",
		lineEnv{onStep: func(e *lineEnv, _ []float64) { e.speed = 0.01 * e.rng.Float64() }}},
	{"one component without any", "qta: environment: component 1 of actions has no effect: 20 episodes",
		lineEnv{onStep: func(e *lineEnv, a []float64) { e.speed = 0.1 * a[0] }}},
	{"that have a late one", noError,
		lineEnv{onStep: func(e *lineEnv, _ []float64) { e.speed = either(e.steps < 40, 0, e.speed) }}},
	{"changed", "qta: step 1: environment: Step changed its action; the slice is the caller",
		lineEnv{onStep: func(_ *lineEnv, a []float64) { a[0] /= 2 }}},
	{"kept", "qta: step 2: environment: " + answeredOtherwise, lineEnv{
		onReset: func(e *lineEnv) { e.action = make([]float64, 2) },
		onStep: func(e *lineEnv, a []float64) {
			e.speed += 0.1 * e.action[0]
			e.action = a
		},
	}},
	{"that fail at the upper bound", "qta: step 15: environment: number 0 of the observation is NaN",
		lineEnv{onStep: func(e *lineEnv, a []float64) { e.at = either(a[0] == 1, math.NaN(), e.at) }}},
	{"that fail at the lower bound", "qta: step 4: environment: number 0 of the observation is NaN",
		lineEnv{onStep: func(e *lineEnv, a []float64) { e.at = either(a[0] == -1, math.NaN(), e.at) }}},
}

var brokenEpisodes = []brokenEnv{
	{"right", noError, lineEnv{}},
	{"other chance", "qta: step 0: environment: " + answeredOtherwise,
		lineEnv{onReset: func(e *lineEnv) { e.at += 0.01 * rand.Float64() }}},
	{"keeps the goal of an episode broken off", "qta: step 0: environment: " + answeredOtherwise, lineEnv{
		onReset: func(e *lineEnv) {
			if e.previousGoal != nil && e.previousSteps < 50 {
				e.goal[0] = e.previousGoal[0]
			}
			e.previousGoal = e.goal
		},
		onStep: func(e *lineEnv, _ []float64) { e.previousSteps = e.steps },
	}},
}

// envProblem returns CheckEnv's error for episodes of 50 steps.
func envProblem(env Env) error { return CheckEnv(env, 50, seeded(1, 2)) }

// noError is how an error prints that is nil.
const noError = "<nil>"

// checkBegins checks that got, which is a text or an error, begins with want.
func checkBegins(t *testing.T, what string, got any, want string) {
	t.Helper()
	if text := fmt.Sprint(got); !strings.HasPrefix(text, want) {
		t.Errorf("%s: got  %q\nwant %q", what, text, want)
	}
}

// checkHas checks that got, which is a text or an error, has want in it.
func checkHas(t *testing.T, what string, got any, want string) {
	t.Helper()
	if text := fmt.Sprint(got); !strings.Contains(text, want) {
		t.Errorf("%s: got %q, which lacks %q", what, text, want)
	}
}

// CheckEnv says which sentence of the contract an environment breaks, if any. It plays at least
// 16 episodes before it finds nothing.
func TestCheckEnv(t *testing.T) {
	for what, envs := range map[string][]brokenEnv{
		"numbers":  brokenNumbers,
		"rewards":  brokenRewards,
		"actions":  brokenActions,
		"episodes": brokenEpisodes,
	} {
		for _, test := range envs {
			t.Run(what+" "+test.name, func(t *testing.T) {
				env := test.env
				got := envProblem(&env)
				checkBegins(t, "CheckEnv", got, test.want)
				if got == nil && env.episodes < 16 {
					t.Errorf("%d episodes, want at least 16", env.episodes)
				}
			})
		}
	}
}

// Mazes keep to the contract. A horizon is at least 1.
func TestCheckEnvMazes(t *testing.T) {
	for _, name := range []string{"4x5", "3x9", "1U5", "5U5"} {
		checkBegins(t, name, envProblem(mustMaze(t, name).Env()), noError)
	}
	must(t, CheckEnv(&lineEnv{}, 1, seeded(1, 2))) // a horizon of 1
	mustPanic(t, "a horizon of 0", func() { CheckEnv(&lineEnv{}, 0, seeded(1, 2)) })
}

// Every component of an action has twenty rounds of its own to show an effect, each of four
// episodes. Here actions have an effect in 8 % of the episodes. With this seed the two components
// need more than twenty rounds together.
func TestCheckEnvTries(t *testing.T) {
	env := &lineEnv{onStep: func(e *lineEnv, a []float64) {
		e.speed = 0.01 + either(e.start > 0.92, 0.01*a[0]+0.02*a[1], 0)
	}}
	err := CheckEnv(env, 50, seeded(31, 2))
	if rounds := env.episodes / 4; err != nil || rounds <= 20 {
		t.Errorf("after %d rounds: error %v, want none after more than 20", rounds, err)
	}
}

// A dot moves on a line from offset to offset + scale. A goal is reached if it is closer than
// near times scale.
type dot struct {
	offset, scale, near float64
	at, goal            [1]float64
}

func (d *dot) Sizes() Sizes { return Sizes{1, 1, 1} }

func (d *dot) Reset(rng *rand.Rand) State {
	d.at[0] = d.offset
	d.goal[0] = d.offset + float64(d.scale*rng.Float64())
	return State{d.at[:], d.at[:], d.goal[:]}
}

func (d *dot) Step(action []float64) (State, float64) {
	d.at[0] = min(max(d.at[0]+float64(d.scale*action[0])/10, d.offset), d.offset+d.scale)
	return State{d.at[:], d.at[:], d.goal[:]}, d.Reward(d.at[:], d.goal[:])
}

func (d *dot) Reward(achieved, desired []float64) float64 {
	if math.Abs(achieved[0]-desired[0]) < d.near*d.scale {
		return 0
	}
	return -1
}

// CheckEnv names a number whose units are not good to learn from. It also says if goals are
// too easy or too hard to reach.
func TestCheckEnvUnits(t *testing.T) {
	for _, test := range []struct {
		offset, scale, near float64
		want                string // how CheckEnv's error begins
	}{
		// Just within the bounds of unitsProblem, and just beyond them.
		{49, 1, 0.05, noError},
		{0, 0.0021, 0.05, noError},
		{1000, 199, 0.05, noError},
		{51, 1, 0.05, "qta: environment: observation 0 lies between 51 and 51.9"},
		{-1100, 105, 0.05, "qta: environment: observation 0 lies between -1100 and -999.3"},
		{0, 0.0018, 0.05, "qta: environment: observation 0 lies between 0 and 0.0017"},
		{0, 215, 0.05, "qta: environment: observation 0 lies between 0 and 206.07"},
		// The whole line is near, and then less and less of it.
		{0, 1, 2, "qta: environment: all of 408 states reach their goals"},
		{0, 1, 1e-3, noError},
		{0, 1, 1e-5, "qta: environment: Reward is -1 wherever component 0 of the goal is missed by 5.4e-05"},
		{30, 100, 1e-6, "qta: environment: Reward is -1 wherever component 0 of the goal is missed by 0.0054"},
	} {
		env := &dot{offset: test.offset, scale: test.scale, near: test.near}
		checkBegins(t, fmt.Sprintf("%+v", test), envProblem(env), test.want)
	}
}

// A small component of a goal beside a larger one is named if Reward depends on it and half of its
// span is below 5e-4. Here it is a share of the larger one, whose span is about 21.
func TestCheckEnvSmallGoal(t *testing.T) {
	for share, want := range map[float64]string{1e-5: "qta: environment: goal 1 lies between ", 7e-5: noError} {
		env := &lineEnv{
			onSizes: func(*lineEnv) Sizes { return Sizes{Observation: 3, Goal: 2, Action: 2} },
			onState: func(e *lineEnv, s *State) {
				s.Achieved = []float64{e.at, share * e.at}
				s.Desired = []float64{e.goal[0], share * e.goal[0]}
			},
		}
		checkBegins(t, fmt.Sprint(share, " without a reward"), envProblem(env), noError)

		env.onReward = func(_ *lineEnv, a, d []float64, r float64) float64 {
			if len(a) == 1 { // a call of Step
				a = []float64{a[0], share * a[0]}
				d = []float64{d[0], share * d[0]}
			}
			return either(math.Abs(a[1]-d[1]) > share/10, -1, r)
		}
		checkBegins(t, fmt.Sprint(share, " with a reward"), envProblem(env), want)
	}
}

// The largest numbers that are allowed do not overflow Adam's moments. Training itself would not
// notice, so the agent is saved, which checks the moments.
func TestLargestNumbers(t *testing.T) {
	p := with(Small(), "HiddenSize=32 Batch=64 InitialSteps=50 LearningStarts=5")
	large := func() Env { return &dot{scale: largestNumber, near: 0.05} }
	a := newAgent(t, p, Sizes{1, 1, 1}, 1)
	train(t, a, large(), large(), TrainOptions{Steps: 200, EvalEvery: 200, Rollouts: 1})
	marshal(t, a)
}

// Through Scaled a dot keeps to the contract whatever its own units are.
func TestScaled(t *testing.T) {
	for _, test := range []struct{ offset, scale float64 }{{0, 1}, {1e6, 1e-6}, {-1000, 1}, {0, 1e-6}, {1e6, 1e6}} {
		span := [][2]float64{{test.offset, test.offset + test.scale}}
		env := Scaled(&dot{offset: test.offset, scale: test.scale, near: 0.05}, span, span)
		checkBegins(t, fmt.Sprintf("%+v", test), envProblem(env), noError)
	}
}

// Scaled refuses a pair whose distance is not finite, and too few or too many pairs. It does not
// hide that two environments are one instance.
func TestScaledMistakes(t *testing.T) {
	one := &dot{scale: 1, near: 0.05}
	twice := Scaled(Scaled(one, nil, nil), nil, nil)
	for _, env := range []Env{one, Scaled(one, nil, nil)} {
		a := newAgent(t, Small(), one.Sizes(), 1)
		trainError(t, a, twice, env, TrainOptions{EvalEvery: 1, Rollouts: 1}, errTwoInstances.Error())
	}
	pair := [2]float64{0, 1}
	mustPanic(t, "too many pairs", func() { Scaled(one, [][2]float64{pair, pair}, nil) })
	mustPanic(t, "too few pairs", func() { Scaled(mustMaze(t, "1U5").Env(), nil, [][2]float64{pair}) })
	mustPanic(t, "an infinite distance", func() { Scaled(one, nil, [][2]float64{{-math.MaxFloat64, math.MaxFloat64}}) })
}

// scaledOnce converts a number to the units of a pair, or back from them.
func scaledOnce(x float64, pair [2]float64, back bool) float64 {
	return rescale([]float64{x}, [][2]float64{pair}, back)[0]
}

// Scaled divides by the least power of two that is no less than half of a pair's distance,
// and subtracts a middle that lies far from zero.
func TestScaledUnits(t *testing.T) {
	for _, test := range []struct{ low, high, x, want float64 }{
		{-1, 1, 1, 1},
		{-4, 4, 4, 1},
		{-4.1, 4.1, 4.1, 4.1 / 8},
		{-180, 180, 90, 90. / 256},
		{0, 1, 1, 2},
		{2, 4, 4, 1},
		{1000, 1002, 1002, 1},
		{-1002, -1000, -1002, -1},
	} {
		pair := [2]float64{test.low, test.high}
		checkEqual(t, test.want, scaledOnce(test.x, pair, false), "%v of %v", test.x, pair)
	}
}

// A number that is scaled and scaled back is the same number. So a reward through Scaled is
// the environment's own. A scaled number is at most 3.
func TestScaledExactly(t *testing.T) {
	rng := seeded(1, 1)
	for range 100_000 {
		middle := math.Exp(30*rng.Float64()-15) * symmetric(rng)
		half := math.Exp(30*rng.Float64() - 15)
		pair := [2]float64{middle - half, middle + half}
		x := min(pair[0]+rng.Float64()*(pair[1]-pair[0]), pair[1])
		if end := rng.IntN(3); end < 2 {
			x = pair[end]
		}
		if rng.IntN(10) == 0 && pair[0] < 0 && pair[1] > 0 {
			x = 1e-300 // a sum with the middle would lose this number
		}
		scaled := scaledOnce(x, pair, false)
		if back := scaledOnce(scaled, pair, true); back != x || math.Abs(scaled) > 3 {
			t.Fatalf("%v of %v is %v, and scaled back %v", x, pair, scaled, back)
		}
	}
}

// FirstJump finds the first difference that rounding does not explain. Rounding explains a
// difference of at most a millionth of a number's largest magnitude. It also explains a
// larger one that began below 1e-8 of that magnitude and grew at most a hundredfold in each
// step, as rounding errors do in a chaotic motion.
func TestFirstJump(t *testing.T) {
	was := make([][]float64, 100)
	for i := range was {
		// Number 1 is measured by its own magnitude, 1, and not by that of number 0.
		was[i] = []float64{1000, math.Sin(float64(i))}
	}
	none := [2]int{-1, -1}
	for _, test := range []struct {
		what   string
		start  float64 // the difference of number 1 in step 0
		factor float64 // by which the difference grows in each step, until it is 1
		jump   int     // the step from which on 1 is added, or 0 for none
		want   [2]int  // the jump's step and number
	}{
		{"less than a millionth", 0.9e-6, 1, 0, none},
		{"more than a millionth", 1.1e-6, 1, 0, [2]int{0, 1}},
		{"NaN", math.NaN(), 1, 0, [2]int{0, 1}},
		{"growth from a last digit", 1e-16, 1.6, 0, none},
		{"a jump after that", 1e-16, 1.3, 80, [2]int{80, 1}},
		{"fast growth", 1e-16, 90, 0, none},
		{"faster growth", 1e-15, 900, 0, [2]int{4, 1}},
		{"growth from more than a last digit", 1e-7, 1.2, 0, [2]int{13, 1}},
	} {
		now := make([][]float64, len(was))
		for k := range now {
			difference := min(1, test.start*math.Pow(test.factor, float64(k)))
			if test.jump > 0 && k >= test.jump {
				difference++
			}
			now[k] = []float64{1000, was[k][1] + difference}
		}
		step, number := FirstJump(was, now)
		checkEqual(t, test.want, [2]int{step, number}, "%s: step and number of the first jump", test.what)
	}
	if step, _ := FirstJump(nil, nil); step != -1 {
		t.Errorf("without a step there is a jump at step %d", step)
	}
}

// chaotic returns an environment whose motion is chaotic: on average a small difference
// doubles in each step. Its speeds and goals are multiplied by a factor, as another machine's rounding might do.
func chaotic(factor float64) *lineEnv {
	return &lineEnv{
		onReset: func(e *lineEnv) { e.goal[0] *= factor },
		onStep: func(e *lineEnv, _ []float64) {
			next := 4 * e.at * (1 - e.at) // the logistic map, from 0 to 1
			e.speed = factor * (next - e.at)
		},
	}
}

// A saved run goes on within an episode although its environment rounds differently. The motion
// is chaotic, so the episodes that are played again end elsewhere. If the motion has changed, the
// first step of the run shows it.
func TestRounding(t *testing.T) {
	const interrupted = 190
	a := newAgent(t, tiny(Paper(), "Horizon=100 InitialSteps=1000"), new(lineEnv).Sizes(), 1)
	o := TrainOptions{Steps: interrupted, EvalEvery: 500, Rollouts: 1}
	train(t, a, chaotic(1), chaotic(1), o)
	data := marshal(t, a)
	goOn := func(factor float64) error {
		unmarshal(t, data, a)
		o.Steps = interrupted + 5
		return a.Train(t.Context(), chaotic(factor), chaotic(1), o)
	}

	must(t, goOn(1-1e-15)) // rounded differently
	// If the two were equal, this test would show nothing.
	stored := a.replay.nextAchieved.at(interrupted - 1)
	continued := a.replay.achieved.at(interrupted)
	if math.Abs(stored[0]-continued[0]) < 1e-6 {
		t.Errorf("the running episode goes on from %v, where it was at %v: the motion is not chaotic", continued, stored)
	}

	changed := goOn(1 - 1e-5)
	checkBegins(t, "other speeds", changed, "qta: step 1: environment: number 0 of the observation is 0.")
}

// A curriculumFunc is a curriculum without a state.
type curriculumFunc func(a *Agent, first bool, rng *rand.Rand) ([]float64, error)

func (f curriculumFunc) NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	return f(a, first, rng)
}

// ownHER sets the goals of the package's curriculum her.
func ownHER(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
	if first {
		return a.State().Desired, nil
	}
	return nil, nil
}

// ownRandom sets the goals that QTA sets before InitialSteps.
func ownRandom(a *Agent, _ bool, rng *rand.Rand) ([]float64, error) {
	if a.Steps() == 0 {
		return a.State().Achieved, nil
	}
	return a.Achieved(int(rng.Float64() * float64(a.Steps()))), nil
}

// agentWith returns an agent that has trained in a maze with a curriculum of its own.
func agentWith(t testing.TB, p Params, c Curriculum, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 1)
	must(t, a.SetCurriculum(c))
	trainTo(t, a, steps, nil)
	return a
}

// Own curricula that set the package's goals train the same agent as the package.
func TestOwnCurriculum(t *testing.T) {
	for _, test := range []struct {
		changes string         // with which the package sets its goals
		own     curriculumFunc // which sets the same goals
	}{
		{"Curriculum=her", ownHER},
		{"InitialSteps=1000 FirstGoalDesired=0", ownRandom},
	} {
		want := agentAfter(t, tiny(Beyond(), test.changes), 60)
		got := agentWith(t, tiny(Beyond(), ""), test.own, 60)
		checkEqual(t, want.Digest(), got.Digest(), "%s: the networks", test.changes)
		checkEqual(t, want.Goals(0, 60), got.Goals(0, 60), "%s: the own curriculum's goals", test.changes)
		checkEqual(t, want.goalsSet, got.goalsSet, "%s: the number of goals set", test.changes)
		if want.goalsSet < 6 {
			t.Errorf("%s: only %d goals: this run shows nothing", test.changes, want.goalsSet)
		}
	}
}

// A counting curriculum counts the goals that it has set, and the count decides the next one.
// It keeps the count as its agent's attachment.
type counting struct{}

func (counting) NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	n := len(a.Attachment()) + 1
	a.Attach(make([]byte, n))
	return []float64{1 + float64(n%5), 1 + 3*rng.Float64()}, nil // in the maze 1U5
}

// After a save at any step, an agent with its own curriculum goes on to the same bytes.
func TestOwnCurriculumContinues(t *testing.T) {
	p := tiny(Beyond(), "")
	const steps = 35
	want := marshal(t, agentWith(t, p, counting{}, steps))
	for n := 0; n < steps; n += 3 {
		what := fmt.Sprintf("an own curriculum, step %d", n)
		data := marshal(t, agentWith(t, p, counting{}, n))
		b := new(Agent)
		unmarshal(t, data, b)
		sameState(t, what+", saved again", data, b)
		m := mustMaze(t, "1U5")
		trainError(t, b, m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2},
			"qta: the agent was saved with a curriculum of your own: give it to SetCurriculum")
		must(t, b.SetCurriculum(counting{}))
		trainTo(t, b, steps, nil)
		sameState(t, what, want, b)
	}
}

// A bad goal ends training with an error that says what is wrong.
func TestOwnCurriculumGoals(t *testing.T) {
	trouble := errors.New("trouble")
	m := mustMaze(t, "1U5")
	for _, test := range []struct {
		goal []float64
		err  error
		late bool // whether first goals are good
		want string
	}{
		{want: "qta: step 0: the curriculum's goal has 0 numbers, Sizes says 2"},
		{goal: []float64{1, math.NaN()}, want: "qta: step 0: number 1 of the curriculum's goal is NaN"},
		{goal: []float64{1, 2, 3}, late: true, want: "the curriculum's goal has 3 numbers, Sizes says 2"},
		{err: trouble, late: true, want: "trouble"},
	} {
		a := newMazeAgent(t, tiny(Beyond(), ""), 1)
		a.SetCurriculum(curriculumFunc(func(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
			if test.late && first {
				return a.State().Achieved, nil // so near that a step reaches it
			}
			return test.goal, test.err
		}))
		o := TrainOptions{Steps: 200, EvalEvery: 50, Rollouts: 1}
		err := a.Train(t.Context(), m.Env(), m.Env(), o)
		checkHas(t, fmt.Sprint("goal ", test.goal), err, test.want)
		checkEqual(t, test.err != nil, errors.Is(err, trouble), "whether error %v is the curriculum's", err)
	}
}
