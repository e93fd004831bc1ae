package qta

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the tests derive from the source; never the golden vectors")

// trainWith trains in a maze on workers of the test's choice.
func trainWith(t testing.TB, p Params, w *workers, steps, evalEvery int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 3)
	a.workers = w
	m := mustMaze(t, "1U5")
	if err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: evalEvery, Rollouts: 2}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	return a
}

// The same seed gives the same state, to the byte, with every kernel and any
// number of threads. The batch is large enough for products to be divided.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	bursts := VDS()
	bursts.Curriculum = "random" // its own networks would take long
	for _, preset := range []Preset{{"default", Default()}, {"authors", Authors()}, {"mega", MEGA()}, {"vds without its curriculum", bursts}} {
		t.Run(preset.Name, func(t *testing.T) {
			p := tinyPreset(preset.Params)
			p.HiddenSize, p.Batch = 40, 200
			steps := 120
			if testing.Short() {
				steps = 40
			}
			want := trainWith(t, p, nil, steps, 20)
			if want.goalsReached == 0 || want.losses.critic == 0 {
				t.Fatalf("losses %+v and %d goals reached: this run shows nothing", want.losses, want.goalsReached)
			}
			state := marshal(t, want)
			for _, k := range kernels() {
				if k == generic && best != generic {
					continue // it may round differently
				}
				for _, threads := range []int{1, 2, 3} {
					sameState(t, fmt.Sprintf("%v, %d threads", k, threads), state, trainWith(t, p, workersOf(k, threads), steps, 20))
				}
			}
		})
	}
}

// How often one evaluates changes nothing: neither the networks nor the rows
// of the log that both runs have.
func TestEvaluationsDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, preset := range []Preset{{"default", Default()}, {"paper", Paper()}, {"small", Small()}} {
		t.Run(preset.Name, func(t *testing.T) {
			if testing.Short() && preset.Name != "default" {
				t.Skip("with -short, the preset default alone; the full suite takes all of them")
			}
			p := tinyPreset(preset.Params)
			often, seldom := trainWith(t, p, nil, 2000, 100), trainWith(t, p, nil, 2000, 1000)
			if often.Digest() != seldom.Digest() {
				t.Error("the networks differ")
			}
			var common []Evaluation
			for _, e := range often.log {
				if e.Step%1000 == 0 {
					common = append(common, e)
				}
			}
			if diff := cmp.Diff(seldom.log, common); diff != "" || len(common) != 2 {
				t.Errorf("the logs differ (-seldom +often):\n%s", diff)
			}
		})
	}
}

// Interrupted at any step and trained on in a new environment, an agent ends in
// the same state as without.
func TestTrainInterrupted(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	presets := Presets()
	if testing.Short() {
		presets = presets[:1]
	}
	for _, preset := range presets {
		p := tinyPreset(preset.Params)
		steps, runs := 150, 5
		if p.Curriculum == "vds" {
			steps, runs = 30, 2 // it learns much after each episode
		}
		m := mustMaze(t, "4x5")
		options := TrainOptions{Steps: steps, EvalEvery: 10, Rollouts: 2}
		whole := newMazeAgent(t, p, 8)
		if err := whole.Train(context.Background(), m.Env(), m.Env(), options); err != nil {
			t.Fatal(err)
		}
		want := marshal(t, whole)
		rng := rand.New(rand.NewPCG(5, 0))
		for range runs {
			a := newMazeAgent(t, p, 8)
			for a.step < steps {
				ctx, cancel := context.WithCancelCause(context.Background())
				at := a.step + 1 + rng.IntN(60)
				o := options
				o.AfterStep = func() error {
					if a.step == at {
						cancel(stop)
					}
					return nil
				}
				err := a.Train(ctx, m.Env(), m.Env(), o)
				if a.step < steps && (err != stop || a.step != at) {
					t.Fatalf("cancelled at step %d, Train returned %v at step %d", at, err, a.step)
				}
			}
			sameState(t, preset.Name, want, a)
		}
	}
}

// Small learns the square wave 1U5 in a few seconds. A change that breaks
// learning shows here.
func TestSmallLearns(t *testing.T) {
	if testing.Short() || raceEnabled || best == generic {
		t.Skip("with -short, the race detector or no kernel: it trains for some seconds at full speed")
	}
	t.Parallel()
	a := newMazeAgent(t, Small(), 1)
	m := mustMaze(t, "1U5")
	if err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 15_000, EvalEvery: 1000, Rollouts: 20, StopWhenSolved: true}); err != nil {
		t.Fatal(err)
	}
	if a.SolvedAt() == 0 {
		t.Errorf("not solved within 15,000 steps; the log is %+v", a.log)
	}
}

// walked returns an agent that has never learned, with a replay of random walks
// through a maze, of which the last is under way. Its normalizers have seen
// nothing, so that inputs are positions.
func walked(t testing.TB, p Params, steps int) (*Agent, *MazeEnv) {
	t.Helper()
	a := newMazeAgent(t, p, 2)
	env := mustMaze(t, "1U5").Env()
	rng := rand.New(rand.NewPCG(9, 0))
	action := make([]float64, 2)
	for i := range steps {
		if i%p.Horizon == 0 {
			s := env.Reset(rng)
			a.enterState(s)
			copy(a.desired, s.Desired)
		}
		uniformAction(action, rng)
		s, _ := env.Step(action)
		// Goals are as good as unique, so that a test can tell them apart.
		goal := []float64{a.desired[0] + 0.01*rng.Float64(), a.desired[1]}
		a.replay.add(a.observation, a.achieved, action, goal, s)
		a.sampler.stored(i)
		a.enterState(s)
	}
	a.step, a.env = steps, env
	a.reserve()
	return a, env
}

// A minibatch has stored transitions, with goals and rewards as a naive
// recomputation has them.
func TestSample(t *testing.T) {
	for _, target := range []string{"observation", "achieved"} {
		p := tinyPreset(Default())
		p.Batch, p.HeadTarget = 300, target
		a, _ := walked(t, p, 87)
		b, r := &a.scratch.batch, a.replay
		same := func(row []float32, x []float64) bool { return slices.Equal(row, float32s(x)) }
		for _, k := range []float64{4, 0} {
			own, relabelled, drawn := 0, 0, map[int]bool{}
			a.params.HindsightRatio = k
			if err := a.minibatch(b); err != nil {
				t.Fatal(err)
			}
			for row := range b.x.rows {
				x, next := b.x.row(row), b.next.row(row)
				i := 0
				for i < r.n && !(same(x[:2], at(r.observation, i, 2)) && same(x[4:], at(r.action, i, 2))) {
					i++
				}
				if i == r.n {
					t.Fatalf("row %d, %v, is no stored transition", row, x)
				}
				drawn[i] = true
				if !same(next[:2], at(r.nextObservation, i, 2)) || !same(b.head.row(row), at(r.nextObservation, i, 2)) {
					t.Errorf("row %d: s' is %v and the prediction's target %v, want %v", row, next[:2], b.head.row(row), at(r.nextObservation, i, 2))
				}
				if !slices.Equal(x[2:4], next[2:4]) {
					t.Errorf("row %d: the goal is %v at s and %v at s'", row, x[2:4], next[2:4])
				}
				var goal []float64
				if same(x[2:4], at(r.goal, i, 2)) {
					own++
					goal = at(r.goal, i, 2)
				}
				for f := i; f < r.n && f/p.Horizon == i/p.Horizon && goal == nil; f++ {
					if same(x[2:4], at(r.nextAchieved, f, 2)) {
						relabelled++
						goal = at(r.nextAchieved, f, 2)
					}
				}
				if goal == nil {
					t.Fatalf("row %d: the goal %v is neither the transition's nor achieved later in its episode", row, x[2:4])
				}
				reached := at(r.nextAchieved, i, 2)
				want := float32(-1)
				if math.Hypot(reached[0]-goal[0], reached[1]-goal[1]) < 0.35 {
					want = 0
				}
				if b.r[row] != want {
					t.Errorf("row %d: reward %v at distance %v", row, b.r[row], math.Hypot(reached[0]-goal[0], reached[1]-goal[1]))
				}
			}
			n := float64(own + relabelled)
			share := k / (k + 1)
			if math.Abs(float64(relabelled)-n*share) > 5*math.Sqrt(n*share*(1-share)) || len(drawn) < 75 {
				t.Errorf("k = %v: %d own goals, %d relabelled, %d different transitions of 87", k, own, relabelled, len(drawn))
			}
		}
	}
}

// countingEnv counts resets.
type countingEnv struct {
	Env
	resets int
}

func (e *countingEnv) Reset(rng *rand.Rand) State {
	e.resets++
	return e.Env.Reset(rng)
}

// Episodes have Horizon steps, whatever is reached in them; a goal stays until
// it is reached and is a stored achieved goal; the counts are right.
func TestEpisodes(t *testing.T) {
	for _, preset := range []Preset{{"default", Default()}, {"authors", Authors()}} {
		p := tinyPreset(preset.Params)
		a := newMazeAgent(t, p, 4)
		m := mustMaze(t, "1U5")
		env := &countingEnv{Env: m.Env()}
		const steps = 305
		if err := a.Train(context.Background(), env, m.Env(), TrainOptions{Steps: steps, EvalEvery: 1000, Rollouts: 1}); err != nil {
			t.Fatal(err)
		}
		if want := (steps + p.Horizon - 1) / p.Horizon; env.resets != want {
			t.Errorf("%s: %d episodes, want %d", preset.Name, env.resets, want)
		}
		r := a.replay
		reached, set := 0, 0
		for i := range steps {
			goal := at(r.goal, i, 2)
			first := i%p.Horizon == 0
			before := !first && env.Reward(at(r.nextAchieved, i-1, 2), at(r.goal, i-1, 2)) == 0
			switch {
			case first || before:
				set++
				stored := i == 0 && slices.Equal(goal, at(r.achieved, 0, 2))
				for f := 0; f < i && !stored; f++ {
					stored = slices.Equal(goal, at(r.achieved, f, 2))
				}
				if !stored {
					t.Errorf("%s: the goal of step %d, %v, was not achieved before: section 3.2 has \"previously seen goals\"", preset.Name, i, goal)
				}
			case !slices.Equal(goal, at(r.goal, i-1, 2)):
				t.Errorf("%s: the goal changes at step %d, unreached", preset.Name, i)
			}
			if !first && !slices.Equal(at(r.observation, i, 2), at(r.nextObservation, i-1, 2)) {
				t.Errorf("%s: step %d does not begin where the last one ended", preset.Name, i)
			}
			if env.Reward(at(r.nextAchieved, i, 2), goal) == 0 {
				reached++
			}
		}
		if reached == 0 || a.goalsReached != reached || a.goalsSet != set {
			// A goal reached by the last step has its successor set already.
			t.Errorf("%s: %d goals set and %d reached, counted %d and %d", preset.Name, a.goalsSet, a.goalsReached, set, reached)
		}
	}
}

// Training stops with an error that names the network whose numbers went wrong,
// and the step.
func TestNumericError(t *testing.T) {
	nan := float32(math.NaN())
	const at = 12
	for _, test := range []struct {
		network string
		change  func(*Params)
		poison  func(*Agent)
	}{
		{"policy", nil, func(a *Agent) { a.policy.net.layers[2].b[0] = nan }},
		{"critics", nil, func(a *Agent) { a.policy.target.layers[2].b[1] = nan }},
		{"critics", nil, func(a *Agent) { a.pun.critics[1].q.layers[0].w.data[3] = nan }},
		{"critics", nil, func(a *Agent) {
			for _, c := range a.pun.critics {
				c.target.layers[2].b[0] = nan
			}
		}},
		{"predictive heads", nil, func(a *Agent) { a.pun.critics[0].head.b[0] = nan }},
		{"predictive heads", func(p *Params) { p.PredictiveGradient, p.HeadOwnDraw = "head", true }, func(a *Agent) { a.pun.critics[2].head.w.data[0] = nan }},
		// Without updates the evaluation at the next step finds it.
		{"critic 3", func(p *Params) { p.LearningStarts = 1000 }, func(a *Agent) { a.pun.critics[2].head.b[0] = float32(math.Inf(1)) }},
		{"target policy", func(p *Params) { p.LearningStarts = 1000 }, func(a *Agent) { a.policy.target.params[1] = nan }},
		{"target critic 1", func(p *Params) { p.LearningStarts = 1000 }, func(a *Agent) { a.pun.critics[0].target.params[1] = nan }},
	} {
		p := tinyPreset(Default())
		if test.change != nil {
			test.change(&p)
		}
		a := newMazeAgent(t, p, 1)
		m := mustMaze(t, "1U5")
		err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 100, EvalEvery: at + 1, Rollouts: 1, AfterStep: func() error {
			if a.step == at {
				test.poison(a)
			}
			return nil
		}})
		var e *NumericError
		if !errors.As(err, &e) || e.Network != test.network || finite(e.Value) || e.Step < at || e.Step > at+1 {
			t.Errorf("%s poisoned after step %d: error %v", test.network, at, err)
		} else if !strings.HasPrefix(err.Error(), fmt.Sprintf("qta: step %d: %s: ", e.Step, test.network)) {
			t.Errorf("error text %q", err)
		}
	}

	// Rates at the end of their range lead there by themselves.
	p := tinyPreset(Default())
	p.HiddenSize, p.HiddenLayers, p.CriticRate = 64, 16, 1
	a := newMazeAgent(t, p, 1)
	m := mustMaze(t, "1U5")
	err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 2000, EvalEvery: 100, Rollouts: 1})
	var e *NumericError
	if !errors.As(err, &e) || e.Step != a.step {
		t.Errorf("with a critic rate of 1 and 16 layers of 64 Train returned %v at step %d", err, a.step)
	}
}

func TestEnvErrors(t *testing.T) {
	for _, test := range []struct {
		what  string
		env   func(*lineEnv)
		step  int
		wants string
	}{
		{"observation after Reset", func(e *lineEnv) {
			e.onState = func(e *lineEnv, s *State) { s.Observation = s.Observation[:2] }
		}, 0, "the observation has 2 numbers, Sizes says 3 after Reset"},
		{"goal after Reset", func(e *lineEnv) {
			e.onState = func(e *lineEnv, s *State) { s.Desired = []float64{math.NaN()} }
		}, 0, "the desired goal is [NaN] after Reset"},
		{"achieved goal", func(e *lineEnv) {
			e.onState = func(e *lineEnv, s *State) {
				if e.steps == 3 {
					s.Achieved = []float64{math.Inf(1)}
				}
			}
		}, 3, "the achieved goal is [+Inf]"},
		{"moving goal", func(e *lineEnv) {
			e.onState = func(e *lineEnv, s *State) { s.Desired = []float64{float64(e.steps / 4)} }
		}, 4, "the desired goal went from [0] to [1] within an episode"},
		{"another reward", func(e *lineEnv) {
			e.onReturn = func(e *lineEnv, r float64) float64 { return r - float64(e.steps/5) }
		}, 5, "both must be the same, 0 or -1"},
		{"a reward of 1", func(e *lineEnv) {
			e.onReward = func(e *lineEnv, achieved, desired []float64, r float64) float64 { return 1 }
		}, 1, "Step's reward is 1 and Reward's 1; both must be the same, 0 or -1"},
	} {
		env := &lineEnv{}
		test.env(env)
		a, err := NewAgent(tinyPreset(Default()), env.Sizes(), 1)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Train(context.Background(), env, &lineEnv{}, TrainOptions{Steps: 100, EvalEvery: 100, Rollouts: 1})
		var e *EnvError
		if !errors.As(err, &e) || e.Step != test.step || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: error %v, want one at step %d with %q", test.what, err, test.step, test.wants)
		}
	}

	// The same goes for what only evaluations or minibatches see.
	odd := func(e *lineEnv, achieved, desired []float64, r float64) float64 {
		if desired[0] != e.goal[0] {
			return math.NaN() // hindsight
		}
		return r
	}
	for _, test := range []struct {
		env, evaluation *lineEnv
		step            int
		wants           string
	}{
		{&lineEnv{}, &lineEnv{onState: func(e *lineEnv, s *State) { s.Observation = nil }}, 7, "the observation has 0 numbers, Sizes says 3 after step 0 of an evaluation's rollout"},
		{&lineEnv{}, &lineEnv{onState: func(e *lineEnv, s *State) {
			if e.steps == 3 {
				s.Achieved = []float64{math.NaN()}
			}
		}}, 7, "the achieved goal is [NaN] after step 3 of an evaluation's rollout"},
		{&lineEnv{onReward: odd}, &lineEnv{}, 6, "Reward is NaN of the achieved goal"},
	} {
		a, err := NewAgent(tinyPreset(Default()), test.env.Sizes(), 1)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Train(context.Background(), test.env, test.evaluation, TrainOptions{Steps: 100, EvalEvery: 7, Rollouts: 1})
		var e *EnvError
		if !errors.As(err, &e) || e.Step != test.step || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("error %v, want one at step %d with %q", err, test.step, test.wants)
		}
	}

	// An environment with chance of its own cannot be entered again.
	a, err := NewAgent(tinyPreset(Default()), new(lineEnv).Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Train(context.Background(), &lineEnv{}, &lineEnv{}, TrainOptions{Steps: 13, EvalEvery: 100, Rollouts: 1}); err != nil {
		t.Fatal(err)
	}
	other := &lineEnv{onStep: func(e *lineEnv, action []float64) { e.speed += 0.001 }}
	err = a.Train(context.Background(), other, &lineEnv{}, TrainOptions{Steps: 20, EvalEvery: 100, Rollouts: 1})
	var e *EnvError
	if !errors.As(err, &e) || e.Step != 11 || !strings.Contains(err.Error(), "before the interruption") {
		t.Errorf("entered another environment: error %v", err)
	}
}

// A budget takes no memory before there are transitions to fill it.
func TestBudgetTakesNoMemory(t *testing.T) {
	m := mustMaze(t, "1U5")
	enough := errors.New("enough")
	for _, steps := range []int{100_000_000, 1 << 60 >> (64 - strconv.IntSize), math.MaxInt} {
		a := newMazeAgent(t, leastParams(), 1)
		var err error
		got := allocated(func() {
			err = a.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 1, AfterStep: func() error {
				if a.step == 15 {
					return enough
				}
				return nil
			}})
		})
		if err != enough || got > 1<<20 {
			t.Errorf("of a budget of %d, 15 steps allocate %d bytes, error %v", steps, got, err)
		}
	}
}

// A bystander is an environment that cannot be compared with ==.
type bystander struct {
	Env
	_ []int
}

// Training and evaluation have an environment each: in one, an evaluation would
// end the running episode without a word.
func TestOwnEnvironments(t *testing.T) {
	maze := mustMaze(t, "1U5")
	one := maze.Env()
	for _, test := range []struct {
		what            string
		env, evaluation Env
		want            bool
	}{
		{"one instance", one, one, false},
		{"one instance of a type of others", &bystander{Env: one}, &bystander{Env: maze.Env()}, true},
		{"two instances", maze.Env(), maze.Env(), true},
		{"what cannot be compared", bystander{Env: maze.Env()}, bystander{Env: maze.Env()}, true},
		{"different types", maze.Env(), bystander{Env: maze.Env()}, true},
	} {
		a := newMazeAgent(t, leastParams(), 1)
		err := a.Train(t.Context(), test.env, test.evaluation, TrainOptions{Steps: 3, EvalEvery: 7, Rollouts: 1})
		if test.want && err != nil || !test.want && (err == nil || !strings.Contains(err.Error(), "two instances") || a.step != 0) {
			t.Errorf("%s: error %v after step %d", test.what, err, a.step)
		}
	}
}

func TestTrainErrors(t *testing.T) {
	maze, line := mustMaze(t, "1U5").Env(), &lineEnv{}
	for _, test := range []struct {
		env, evaluation Env
		o               TrainOptions
		want            string
	}{
		{line, maze, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: 1}, "qta: environment of sizes {Observation:3 Goal:1 Action:2} for an agent of sizes {Observation:2"},
		{maze, line, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: 1}, "qta: environment of sizes"},
		{nil, maze, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: 1}, "qta: there is no environment"},
		{maze, nil, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: 1}, "qta: there is no environment"},
		{maze, maze, TrainOptions{Steps: 1, Rollouts: 1}, "qta: EvalEvery is 0 and Rollouts is 1, allowed are 1 and above"},
		{maze, maze, TrainOptions{Steps: 1, EvalEvery: 1}, "qta: EvalEvery is 1 and Rollouts is 0"},
	} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		err := a.Train(context.Background(), test.env, test.evaluation, test.o)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || a.step != 0 {
			t.Errorf("error %v after %d steps, want %q", err, a.step, test.want)
		}
	}
	for _, sizes := range []Sizes{{0, 1, 1}, {1, 0, 1}, {1, 1, -1}} {
		if _, err := NewAgent(Small(), sizes, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: environment sizes") {
			t.Errorf("sizes %+v: error %v", sizes, err)
		}
	}
	bad := Small()
	bad.Batch = 0
	if _, err := NewAgent(bad, Sizes{1, 1, 1}, 1); err == nil {
		t.Error("a batch of 0: no error")
	}
}

// What the hooks of TrainOptions return ends training, after the step's work.
func TestTrainHooks(t *testing.T) {
	stop := errors.New("stop")
	m := mustMaze(t, "1U5")
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	var seen []int
	err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 100, EvalEvery: 10, Rollouts: 1, AfterEvaluation: func(e Evaluation) error {
		seen = append(seen, e.Step)
		if e.Step == 30 {
			return stop
		}
		return nil
	}})
	if err != stop || a.Steps() != 30 || !slices.Equal(seen, []int{10, 20, 30}) || len(a.Evaluations()) != 3 {
		t.Errorf("error %v at step %d, evaluations at %v", err, a.Steps(), seen)
	}
}

// A trained agent's action is the policy's, and the caller's to keep.
func TestAct(t *testing.T) {
	a := agentAfter(t, tinyPreset(Default()), 45)
	rng := rand.New(rand.NewPCG(1, 0))
	var kept [][]float64
	for i := range 10 {
		x := randomRows(rng, 2, 2)
		s, g := make([]float32, 2), make([]float32, 2)
		a.observations.normalize(s, x[0])
		a.goals.normalize(g, x[1])
		kept = append(kept, a.Act(x[0], x[1]))
		near(t, "action", float32s(kept[i]), twinAct(a.policy.net.vector(), float64s(s), float64s(g)))
		if i > 0 && slices.Equal(kept[i], kept[i-1]) {
			t.Errorf("actions %v and %v", kept[i-1], kept[i])
		}
	}
	mustPanic(t, "Act with an observation of 3", func() { a.Act(make([]float64, 3), make([]float64, 2)) })
	mustPanic(t, "Act with a goal of 1", func() { a.Act(make([]float64, 2), make([]float64, 1)) })
}

// In steady state an update allocates nothing.
func TestUpdateAllocates(t *testing.T) {
	for _, v := range tinyVariants() {
		for _, threads := range []int{1, 2} {
			a, _ := walked(t, v.Params, 60)
			a.SetThreads(threads)
			a.learn()
			if n := testing.AllocsPerRun(20, func() { a.learn() }); n != 0 {
				t.Errorf("%s, %d threads: an update allocates %v times", v.Name, threads, n)
			}
			a.Close()
		}
	}
}

// multiplyAdds counts the multiply-adds of the matrix products of one update
// and of one choice of a later goal, unpadded and without biases. For a layer
// of in by out and B rows each of y = x W, dW = xᵀ dy and dx = dy Wᵀ has
// B in out. One update has
//
//	targets   the policy and two critics forward
//	critics   G times y and dW of all layers, dx of all but the first
//	heads     G times y and dW of the head, and dx unless PredictiveGradient is
//	          head; with HeadOwnDraw or separate steps a forward pass through the
//	          backbone before, and unless it is head the backbone's dW and dx
//	          after
//	policy    y and dW of all layers, dx of all but the first, and G critics
//	          forward and, dx alone, backward
//
// and one choice among N candidates has d G forward passes through backbone
// and head.
func multiplyAdds(p Params, s Sizes) (update, selection float64) {
	hidden := float64(p.HiddenLayers-1) * float64(p.HiddenSize*p.HiddenSize)
	inputs := s.Observation + s.Goal
	firstQ, firstπ := float64((inputs+s.Action)*p.HiddenSize), float64(inputs*p.HiddenSize)
	backbone := firstQ + hidden
	critic, policy := backbone+float64(p.HiddenSize), firstπ+hidden+float64(p.HiddenSize*s.Action)
	head := float64(p.HiddenSize * s.Observation)
	if p.HeadTarget == "achieved" {
		head = float64(p.HiddenSize * s.Goal)
	}
	g := float64(p.Critics)

	targets := policy + 2*critic
	critics := g * (3*critic - firstQ)
	heads := g * 2 * head
	if p.PredictiveGradient != "head" {
		heads += g * head
	}
	if p.HeadOwnDraw || p.PredictiveGradient == "separate" {
		heads += g * backbone
		if p.PredictiveGradient != "head" {
			heads += g * (2*backbone - firstQ)
		}
	}
	actor := 3*policy - firstπ + g*2*critic
	return float64(p.Batch) * (targets + critics + heads + actor),
		float64(p.Candidates) * float64(p.UncertaintyActions) * g * (backbone + head)
}

// The counts at paper size are those of the cost model: 21 networks of 0.133 M
// on 1024 rows, a third of that by 1.2 more with the authors' own predictive
// batch, and 24 networks on 1000 candidates.
func TestMultiplyAdds(t *testing.T) {
	sizes := Sizes{2, 2, 2}
	update, selection := multiplyAdds(Default(), sizes)
	authors, _ := multiplyAdds(Authors(), sizes)
	for _, test := range []struct {
		what      string
		got, want float64
	}{{"update", update, 2.85e9}, {"authors' own batch", authors - update, 1.2e9}, {"selection", selection, 3.2e9}} {
		if math.Abs(test.got/test.want-1) > 0.02 {
			t.Errorf("%s: %.4g multiply-adds, want about %.4g", test.what, test.got, test.want)
		}
	}
}

// benchmarkVariants are the default parameters with the parts that a baseline
// exchanges.
func benchmarkVariants(changes ...string) []Preset {
	var all []Preset
	for _, change := range changes {
		p := Default()
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
		all = append(all, Preset{"params=default," + change, p})
	}
	return all
}

func BenchmarkUpdate(b *testing.B) {
	all := []Preset{{"params=default", Default()}, {"params=fast", Fast()}, {"params=authors", Authors()}}
	all = append(all, benchmarkVariants("Uncertainty=bootstrap", "Uncertainty=ensemble", "Replay=per", "Replay=td")...)
	for _, v := range all {
		b.Run(v.Name, func(b *testing.B) {
			transitions := 2000
			if v.Params.Replay != "uniform" {
				transitions = 150_000
			}
			a, _ := walked(b, v.Params, transitions)
			n, _ := multiplyAdds(v.Params, a.sizes)
			b.ReportAllocs()
			measure(b, best, n, func() { a.learn() })
		})
	}
}

// BenchmarkPriorities has what prioritised replay adds to an update: a draw, a
// weight and a new priority for each transition of a minibatch.
func BenchmarkPriorities(b *testing.B) {
	v := benchmarkVariants("Replay=per")[0]
	a, _ := walked(b, v.Params, 150_000)
	s := &a.scratch.batch
	a.learn() // leaves predictions
	for b.Loop() {
		for row := range s.transitions {
			s.transitions[row] = a.sampler.draw(a.draws)
		}
		a.sampler.weigh(s.weights, s.transitions, a.step)
		a.sampler.learnt(s)
	}
}

func BenchmarkSelect(b *testing.B) {
	all := []Preset{{"params=default", Default()}}
	all = append(all, benchmarkVariants("Uncertainty=q", "Uncertainty=bootstrap", "Uncertainty=ensemble")...)
	for _, v := range all {
		p := v.Params
		b.Run(fmt.Sprintf("candidates=%d%s", p.Candidates, strings.TrimPrefix(v.Name, "params=default")), func(b *testing.B) {
			a, _ := walked(b, p, 2000)
			_, n := multiplyAdds(p, a.sizes)
			if p.Uncertainty == "q" {
				n /= float64(p.UncertaintyActions) // it asks with one action, the policy's
			}
			measure(b, best, n, func() { a.selectGoal(false) })
		})
	}
}

// TestEvaluateWithin evaluates while training, in the environment that training
// goes on in and in another.
func TestEvaluateWithin(t *testing.T) {
	maze := mustMaze(t, "1U5")
	env := maze.Env()
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	err := a.Train(t.Context(), env, maze.Env(), TrainOptions{Steps: 15, EvalEvery: 7, Rollouts: 2, AfterStep: func() error {
		if _, err := a.Evaluate(env, 1, 1); err != errTwoInstances {
			return fmt.Errorf("in the environment of training: %v", err)
		}
		_, err := a.Evaluate(maze.Env(), 1, 1)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, "evaluated within", marshal(t, agentAfter(t, tinyPreset(Default()), 15)), a)
	if _, err := a.Evaluate(env, 1, 1); err != nil {
		t.Errorf("after training: %v", err)
	}
	if _, err := a.Evaluate(nil, 1, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: there is no environment") {
		t.Errorf("in none: %v", err)
	}
}

// TestActionIsKept has an environment that changes the action it is given: the
// replay has the one that was chosen.
func TestActionIsKept(t *testing.T) {
	train := func(env Env) []byte {
		a, err := NewAgent(tinyPreset(Default()), env.Sizes(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Train(t.Context(), env, &lineEnv{}, TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 1}); err != nil {
			t.Fatal(err)
		}
		return marshal(t, a)
	}
	if !bytes.Equal(train(&lineEnv{}), train(&lineEnv{onStep: func(_ *lineEnv, action []float64) { action[0] = 77 }})) {
		t.Error("what Step has written is in the replay")
	}
}

// TestResumedElsewhere continues an episode in an environment in which something
// is another than before.
func TestResumedElsewhere(t *testing.T) {
	p := tinyPreset(Default())
	a, err := NewAgent(p, new(lineEnv).Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	o := TrainOptions{Steps: p.Horizon + 3, EvalEvery: 1000, Rollouts: 1}
	if err := a.Train(t.Context(), new(lineEnv), new(lineEnv), o); err != nil {
		t.Fatal(err)
	}
	data := marshal(t, a)
	for what, change := range map[string]func(s *State){
		"observation":   func(s *State) { s.Observation[1]++ },
		"achieved goal": func(s *State) { s.Achieved[0]++ },
		"desired goal":  func(s *State) { s.Desired = []float64{s.Desired[0] + 1} },
	} {
		if err := a.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		err := a.Train(t.Context(), &lineEnv{onState: func(_ *lineEnv, s *State) { change(s) }}, new(lineEnv), o)
		if want := fmt.Sprintf("qta: step %d: environment: the %s is ", p.Horizon+1, what); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("another %s: %v, want %q", what, err, want)
		}
	}
}

// TestSamplerTrains asks of the environment to train in, not of the other, that
// it draws goals.
func TestSamplerTrains(t *testing.T) {
	type plain struct{ Env }
	p := tinyPreset(Default())
	p.Curriculum = CurriculumVDS
	maze := mustMaze(t, "1U5")
	o := TrainOptions{Steps: 1, EvalEvery: 2, Rollouts: 1}
	if err := newMazeAgent(t, p, 1).Train(t.Context(), maze.Env(), &plain{maze.Env()}, o); err != nil {
		t.Error(err)
	}
	if err := newMazeAgent(t, p, 1).Train(t.Context(), &plain{maze.Env()}, maze.Env(), o); err == nil || !strings.Contains(err.Error(), "GoalSampler") {
		t.Errorf("trained in what draws no goals: %v", err)
	}
}
