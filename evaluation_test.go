package qta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A scriptedEnv is a place on a line that follows a script, whatever the agent
// does: place(e, k) after k steps of episode e, both counted from 0. Its
// observation is half a unit further, so that the two can be told apart. A goal
// is reached closer than 0.1.
type scriptedEnv struct {
	place   func(episode, step int) float64
	desired func(episode int) float64 // nil for 0

	resets, step int
	actions      [][]float64  // all that were taken
	asked        [][2]float64 // all that Reward was asked for: achieved, goal
	chance       []float64    // a number from the generator of each episode
}

func (e *scriptedEnv) Sizes() Sizes { return Sizes{1, 1, 1} }

func (e *scriptedEnv) Reset(rng *rand.Rand) State {
	e.resets++
	e.step = 0
	e.chance = append(e.chance, rng.Float64())
	return e.state()
}

func (e *scriptedEnv) Step(action []float64) (State, float64) {
	e.step++
	e.actions = append(e.actions, slices.Clone(action))
	s := e.state()
	return s, e.Reward(s.Achieved, s.Desired)
}

func (e *scriptedEnv) state() State {
	x, desired := e.place(e.resets-1, e.step), 0.0
	if e.desired != nil {
		desired = e.desired(e.resets - 1)
	}
	return State{[]float64{x + 0.5}, []float64{x}, []float64{desired}}
}

func (e *scriptedEnv) Reward(achieved, desired []float64) float64 {
	e.asked = append(e.asked, [2]float64{achieved[0], desired[0]})
	if math.Abs(achieved[0]-desired[0]) < 0.1 {
		return 0
	}
	return -1
}

// scriptedAgent returns an agent for a scriptedEnv that does not learn. All its
// goals are drawn from those achieved.
func scriptedAgent(t testing.TB, change func(*Params)) *Agent {
	t.Helper()
	p := tinyPreset(Default())
	p.Curriculum, p.LearningStarts, p.UpdatesPerStep = "random", 1e6, 1
	change(&p)
	a, err := NewAgent(p, new(scriptedEnv).Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trainScripted trains without evaluations.
func trainScripted(t testing.TB, a *Agent, env Env, steps int, afterStep func() error) {
	t.Helper()
	if err := a.Train(context.Background(), env, &scriptedEnv{}, TrainOptions{Steps: steps, EvalEvery: 1e9, Rollouts: 1, AfterStep: afterStep}); err != nil {
		t.Fatal(err)
	}
}

// A rollout of Horizon steps succeeds by its last step alone.
func TestEvaluateLastStep(t *testing.T) {
	const horizon = 10
	for _, test := range []struct {
		what string
		at   func(step int) bool // the goal
		want float64
	}{
		{"always at the goal", func(k int) bool { return true }, 1},
		{"never", func(k int) bool { return false }, 0},
		{"reached, and left in the last step", func(k int) bool { return 3 <= k && k < horizon }, 0},
		{"reached by the last step but one alone", func(k int) bool { return k == horizon-1 }, 0},
		{"reached by the last step alone", func(k int) bool { return k == horizon }, 1},
		{"reached a step too late", func(k int) bool { return k > horizon }, 0},
		{"at the goal at the start alone", func(k int) bool { return k == 0 }, 0},
		{"left, and reached again", func(k int) bool { return k < 4 || k == horizon }, 1},
	} {
		env := &scriptedEnv{place: func(_, k int) float64 {
			if test.at(k) {
				return 0.05
			}
			return 4
		}}
		a := scriptedAgent(t, func(p *Params) { p.Horizon = horizon })
		got, err := a.Evaluate(env, 3, 1)
		if got.Success != test.want || err != nil {
			t.Errorf("%s: success %v, error %v, want %v; the Reading of Evaluate is that success is read at the last step alone", test.what, got.Success, err, test.want)
		}
		if env.resets != 3 || len(env.actions) != 3*horizon {
			t.Errorf("%s: %d resets and %d steps in 3 rollouts, want 3 and %d: a rollout has Horizon steps, by Evaluate's doc comment", test.what, env.resets, len(env.actions), 3*horizon)
		}
	}
}

// A policy whose action is not a number does not act: not one that has gone
// wrong, nor one that sees numbers whose squares are beyond all numbers.
func TestEvaluateNumericError(t *testing.T) {
	wrong := newMazeAgent(t, tinyPreset(Default()), 1)
	wrong.policy.net.params[0] = float32(math.NaN())
	far := &scriptedEnv{place: func(int, int) float64 { return 1e200 }}
	lost := scriptedAgent(t, func(*Params) {})
	trainScripted(t, lost, far, lost.params.Horizon, nil)
	for _, test := range []struct {
		a    *Agent
		env  Env
		step int
	}{{wrong, mustMaze(t, "1U5").Env(), 0}, {lost, far, lost.params.Horizon}} {
		_, err := test.a.Evaluate(test.env, 1, 1)
		if e, ok := errors.AsType[*NumericError](err); !ok || e.Step != test.step || e.Network != "policy" {
			t.Errorf("after %d steps: error %v, want one of the policy", test.step, err)
		}
		if test.env == far && slices.ContainsFunc(far.actions, func(a []float64) bool { return a[0] != a[0] }) {
			t.Error("the environment was given an action that is not a number")
		}
	}
}

// A parkedEnv is a maze in which the agent stands at a place beside the goal.
type parkedEnv struct {
	*MazeEnv
	beside [2]float64
}

func (e parkedEnv) Reset(rng *rand.Rand) State {
	e.MazeEnv.Reset(rng)
	e.goal = [2]float64{}
	e.position = e.beside
	return e.state()
}

func (e parkedEnv) Step([]float64) (State, float64) {
	return e.state(), e.Reward(e.position[:], e.goal[:])
}

// In a maze a rollout that ends at the radius exactly has not succeeded.
func TestEvaluateRadius(t *testing.T) {
	for _, test := range []struct {
		beside [2]float64
		want   float64
	}{
		{[2]float64{0, 0}, 1},
		{[2]float64{math.Nextafter(0.35, 0), 0}, 1},
		{[2]float64{0.35, 0}, 0},
		{[2]float64{0, -0.35}, 0},
		{[2]float64{0, 0.351}, 0},
	} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		if got, err := a.Evaluate(parkedEnv{mustMaze(t, "1U5").Env(), test.beside}, 2, 1); got.Success != test.want || err != nil {
			t.Errorf("at %v from the goal: success %v, error %v, want %v; the Reading of MazeEnv.Reward is closer than 0.35", test.beside, got.Success, err, test.want)
		}
	}
}

// successes returns an environment for evaluations of 20 rollouts, of which the
// given numbers end at the goal.
func successes(numbers ...int) *scriptedEnv {
	return &scriptedEnv{place: func(episode, _ int) float64 {
		if evaluation := episode / 20; evaluation < len(numbers) && episode%20 < numbers[evaluation] {
			return 0
		}
		return 4
	}}
}

// Success is an exact fraction of the rollouts.
func TestEvaluateFraction(t *testing.T) {
	for _, test := range []struct{ reached, rollouts int }{{0, 1}, {1, 1}, {1, 3}, {2, 7}, {7, 20}, {19, 20}, {20, 20}} {
		a := scriptedAgent(t, func(*Params) {})
		got, err := a.Evaluate(successes(test.reached), test.rollouts, 1)
		if want := float64(test.reached) / float64(test.rollouts); got.Success != want || err != nil {
			t.Errorf("%d of %d rollouts reach the goal: success %v, error %v, want %v", test.reached, test.rollouts, got.Success, err, want)
		}
	}
}

// A maze is solved by the first evaluation in which every rollout succeeds, not
// by one with a single failure; that ends training, where it is asked for.
func TestSolvedAt(t *testing.T) {
	for _, test := range []struct {
		numbers []int
		stop    bool
		log     []float64
		solved  int
		steps   int
	}{
		{[]int{0, 19, 20, 18}, true, []float64{0, 0.95, 1}, 30, 30},
		{[]int{0, 19, 20, 18, 20}, false, []float64{0, 0.95, 1, 0.9, 1}, 30, 50},
		{[]int{19, 19, 19, 19, 19}, true, []float64{0.95, 0.95, 0.95, 0.95, 0.95}, 0, 50},
		{[]int{20}, true, []float64{1}, 10, 10},
	} {
		a := scriptedAgent(t, func(*Params) {})
		env := &scriptedEnv{place: func(_, k int) float64 { return float64(k) }}
		o := TrainOptions{Steps: 50, EvalEvery: 10, Rollouts: 20, StopWhenSolved: test.stop}
		if err := a.Train(context.Background(), env, successes(test.numbers...), o); err != nil {
			t.Fatal(err)
		}
		var log []float64
		for i, e := range a.Evaluations() {
			log = append(log, e.Success)
			if e.Step != 10*(i+1) {
				t.Errorf("%v of 20: evaluation %d is of step %d", test.numbers, i, e.Step)
			}
		}
		if a.SolvedAt() != test.solved || a.Steps() != test.steps || !slices.Equal(log, test.log) {
			t.Errorf("%v of 20 rollouts succeed: solved at %d, training ends at %d with the log %v, want %d, %d and %v; section 4 has an \"evaluation performance of 1.0\"", test.numbers, a.SolvedAt(), a.Steps(), log, test.solved, test.steps, test.log)
		}
		for _, least := range []float64{0, 0.5, 0.9, 0.95, math.Nextafter(0.95, 1), 1} {
			want := 0
			if i := slices.IndexFunc(test.log, func(s float64) bool { return s >= least }); i >= 0 {
				want = 10 * (i + 1)
			}
			if got := a.SuccessAt(least); got != want {
				t.Errorf("log %v: SuccessAt(%v) = %d, want %d", test.log, least, got, want)
			}
		}
	}
}

// Evaluations act by the policy, without noise and without random actions, from
// each observation towards the goal that the environment desires.
func TestEvaluateActs(t *testing.T) {
	const rollouts = 3
	script := func() *scriptedEnv {
		return &scriptedEnv{
			place:   func(e, k int) float64 { return float64(e) - 0.3*float64(k) },
			desired: func(e int) float64 { return 3 - 2*float64(e) },
		}
	}
	a := scriptedAgent(t, func(p *Params) {
		p.ActionNoise, p.RandomAction, p.RandomActionLater = 10, 1, 1
		p.InitialActions, p.InitialSteps = "uniform", 1000
	})
	moveTargets(a)
	holds := func(what string, env *scriptedEnv) {
		t.Helper()
		if len(env.actions) != rollouts*a.params.Horizon {
			t.Fatalf("%s: %d steps", what, len(env.actions))
		}
		for i, action := range env.actions {
			e, k := i/a.params.Horizon, i%a.params.Horizon
			want := twinAct(a.policy.net.vector(), []float64{env.place(e, k) + 0.5}, []float64{env.desired(e)})
			near(t, fmt.Sprintf("%s, rollout %d, step %d: the policy's action towards the environment's goal", what, e, k), float32s(action), want)
		}
	}
	before := marshal(t, a)
	env := script()
	if _, err := a.Evaluate(env, rollouts, 7); err != nil {
		t.Fatal(err)
	}
	holds("Evaluate", env)
	sameState(t, "after Evaluate", before, a)

	env = script()
	training := &scriptedEnv{place: func(_, k int) float64 { return 2 + float64(k) }, desired: func(int) float64 { return -3 }}
	if err := a.Train(context.Background(), training, env, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: rollouts}); err != nil {
		t.Fatal(err)
	}
	holds("an evaluation in training", env)
}

// moveTargets makes target networks other than those that they follow.
func moveTargets(a *Agent) {
	rng := rand.New(rand.NewPCG(17, 0))
	targets := []*mlp{a.policy.target}
	for _, c := range a.pun.critics {
		targets = append(targets, c.target)
	}
	for _, n := range targets {
		for i := range n.params {
			n.params[i] += 0.5 * float32(rng.NormFloat64())
		}
	}
}

// The chance of an evaluation comes from the seed, and in training from the step
// too; each rollout has its own.
func TestEvaluateChance(t *testing.T) {
	place := func(_, k int) float64 { return float64(k) }
	a := scriptedAgent(t, func(*Params) {})
	draws := func(seed uint64) []float64 {
		env := &scriptedEnv{place: place}
		if _, err := a.Evaluate(env, 3, seed); err != nil {
			t.Fatal(err)
		}
		return env.chance
	}
	one, again, other := draws(5), draws(5), draws(6)
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("two evaluations of one seed (-first +second):\n%s", diff)
	}
	training, evaluation := &scriptedEnv{place: place}, &scriptedEnv{place: place}
	if err := a.Train(context.Background(), training, evaluation, TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 3}); err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(one, other, training.chance, evaluation.chance)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 3+3+3+9 {
		t.Errorf("%d different numbers in 2 evaluations of 3 rollouts, 3 episodes and 3 evaluations of 3, want 18", n)
	}
}

// An evaluation in which every rollout succeeds, and none with a failure, puts the
// decay of WeightDecay on critics and heads from the next update on, for good, also
// after an interruption: the authors' code, in [Authors].
func TestPerfect(t *testing.T) {
	// run trains, and returns the first step that begins with the decay, or 0.
	run := func(decay bool, resumeAt int, numbers ...int) int {
		a := scriptedAgent(t, func(p *Params) { p.LearningStarts, p.WeightDecay = 5, decay })
		evaluation := successes(numbers...)
		began := 0
		for step := range 45 {
			if step == resumeAt {
				b := new(Agent)
				if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
					t.Fatal(err)
				}
				a = b
			}
			for _, c := range a.pun.critics {
				switch on := c.adam.decay == 1e-9 && c.headAdam.decay == 2.5e-10; {
				case on && began == 0:
					began = step + 1
				case on != (began > 0):
					t.Errorf("evaluations %v: decay %v and %v in step %d, where it began in %d", numbers, c.adam.decay, c.headAdam.decay, step+1, began)
				}
			}
			env := &scriptedEnv{place: func(_, k int) float64 { return float64(k) }}
			if err := a.Train(context.Background(), env, evaluation, TrainOptions{Steps: step + 1, EvalEvery: 10, Rollouts: 20}); err != nil {
				t.Fatal(err)
			}
		}
		return began
	}
	for _, test := range []struct {
		decay    bool
		resumeAt int
		numbers  []int
		want     int
	}{
		{true, -1, []int{19, 20, 20, 20}, 21},
		{true, -1, []int{19, 19, 19, 19}, 0},
		{true, -1, []int{20}, 11},
		{true, -1, []int{19, 20, 3, 19}, 21},
		{true, 20, []int{19, 20, 20, 20}, 21},
		{true, 33, []int{19, 20, 3, 3}, 21},
		{false, -1, []int{0, 20}, 0},
	} {
		if got := run(test.decay, test.resumeAt, test.numbers...); got != test.want {
			t.Errorf("%+v: the decay begins in step %d; in the authors' code after the first perfect evaluation, for good", test, got)
		}
	}
}

// What an evaluation tells of rollouts that reach the goal at different times,
// leave it, or never see it, by hand.
func TestEvaluateTells(t *testing.T) {
	const horizon = 10
	// at is the steps after which each rollout is at the goal, from 0 to horizon.
	for _, test := range []struct {
		what string
		at   [][]int
		want Evaluation
	}{
		{"never", [][]int{{}}, Evaluation{Return: -10}},
		{"at the start alone", [][]int{{0}}, Evaluation{Reached: 1, Return: -10}},
		{"in the last step alone", [][]int{{10}}, Evaluation{Success: 1, Reached: 1, Return: -9, StepsToGoal: 10}},
		{"reached and kept", [][]int{{4, 5, 6, 7, 8, 9, 10}}, Evaluation{Success: 1, Reached: 1, Return: -3, StepsToGoal: 4}},
		{"reached, left, reached again", [][]int{{3, 7, 8}}, Evaluation{Reached: 1, Return: -7, StepsToGoal: 3}},
		{"four rollouts", [][]int{{}, {2}, {8, 9, 10}, {}}, Evaluation{Success: 0.25, Reached: 0.5, Return: (-10 - 9 - 7 - 10) / 4., StepsToGoal: 5}},
	} {
		env := &scriptedEnv{place: func(e, k int) float64 {
			if slices.Contains(test.at[e], k) {
				return 0
			}
			return 4
		}}
		a := scriptedAgent(t, func(p *Params) { p.Horizon = horizon })
		got, err := a.Evaluate(env, len(test.at), 1)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", test.what, err, diff)
		}
	}
}

// A rollout is the least that can be evaluated, and rewards are those of the
// contract.
func TestEvaluateErrors(t *testing.T) {
	a := scriptedAgent(t, func(*Params) {})
	for _, n := range []int{0, -3} {
		if _, err := a.Evaluate(&scriptedEnv{}, n, 1); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("qta: an evaluation of %d rollouts", n)) {
			t.Errorf("%d rollouts: error %v", n, err)
		}
	}
	b := lineAgent(t, tinyPreset(Default()))
	if _, err := b.Evaluate(&scriptedEnv{}, 1, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: environment of sizes {Observation:1 ") {
		t.Errorf("an environment of other sizes: error %v", err)
	}
	env := &lineEnv{onReward: func(_ *lineEnv, _, _ []float64, r float64) float64 { return r / 2 }}
	var broken *EnvError
	if _, err := b.Evaluate(env, 3, 1); !errors.As(err, &broken) || !strings.Contains(err.Error(), "Reward is -0.5 after step 0 of an evaluation's rollout") {
		t.Errorf("a reward of -0.5: error %v", err)
	}
}

// The log's rows are what Evaluate would have said at their steps.
func TestLogTells(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	trainTo(t, a, 70, nil)
	m := mustMaze(t, "1U5")
	for _, e := range a.Evaluations() {
		b := newMazeAgent(t, tinyPreset(Default()), 1)
		trainTo(t, b, e.Step, nil)
		want, err := b.evaluate(m.Env(), 2, newStream(1, forEvaluation+purpose(e.Step)<<8))
		if diff := cmp.Diff(want, e); diff != "" || err != nil {
			t.Errorf("step %d: error %v (-evaluated +log):\n%s", e.Step, err, diff)
		}
	}
}
