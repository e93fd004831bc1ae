package qta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	if err := a.Train(t.Context(), env, &scriptedEnv{}, TrainOptions{Steps: steps, EvalEvery: 1e9, Rollouts: 1, AfterStep: afterStep}); err != nil {
		t.Fatal(err)
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

// A maze is solved by the first evaluation in which every rollout succeeds, not
// by one with a single failure; that ends training, where it is asked for.
func TestSolvedAt(t *testing.T) {
	for _, test := range []struct {
		numbers []int // rollouts of 20 that succeed, by evaluation
		stop    bool
		log     []float64
		solved  int
	}{
		{[]int{0, 19, 20, 18}, true, []float64{0, 0.95, 1}, 30},
		{[]int{0, 19, 20, 18, 20}, false, []float64{0, 0.95, 1, 0.9, 1}, 30},
		{[]int{19, 19, 19, 19, 19}, true, []float64{0.95, 0.95, 0.95, 0.95, 0.95}, 0},
	} {
		a := scriptedAgent(t, func(*Params) {})
		env := &scriptedEnv{place: func(_, k int) float64 { return float64(k) }}
		o := TrainOptions{Steps: 50, EvalEvery: 10, Rollouts: 20, StopWhenSolved: test.stop}
		if err := a.Train(t.Context(), env, successes(test.numbers...), o); err != nil {
			t.Fatal(err)
		}
		var log []float64
		for i, e := range a.Evaluations() {
			log = append(log, e.Success)
			if e.Step != 10*(i+1) {
				t.Errorf("%v of 20: evaluation %d is of step %d", test.numbers, i, e.Step)
			}
		}
		if diff := cmp.Diff(test.log, log); diff != "" || a.SolvedAt() != test.solved || a.Steps() != 10*len(log) {
			t.Errorf("%v of 20 rollouts succeed: solved at %d, want %d; training ends at %d with the log (-want +got)\n%s",
				test.numbers, a.SolvedAt(), test.solved, a.Steps(), diff)
		}
		for _, least := range []float64{0, 0.95, math.Nextafter(0.95, 1), 1} {
			i := slices.IndexFunc(test.log, func(s float64) bool { return s >= least })
			if got := a.SuccessAt(least); got != 10*(i+1) {
				t.Errorf("log %v: SuccessAt(%v) = %d, want %d", test.log, least, got, 10*(i+1))
			}
		}
	}
}

// Evaluations act by the policy, without noise and without random actions, from
// each observation towards the goal that the environment desires, and not by an
// action that is no number.
func TestEvaluateActs(t *testing.T) {
	const rollouts = 3
	a := scriptedAgent(t, func(p *Params) {
		p.ActionNoise, p.RandomAction, p.RandomActionLater = 10, 1, 1
		p.InitialActions, p.InitialSteps = "uniform", 1000
	})
	moveTargets(a)
	for _, what := range []string{"Evaluate", "an evaluation in training"} {
		env := &scriptedEnv{
			place:   func(e, k int) float64 { return float64(e) - 0.3*float64(k) },
			desired: func(e int) float64 { return 3 - 2*float64(e) },
		}
		var err error
		if before := marshal(t, a); what == "Evaluate" {
			_, err = a.Evaluate(env, rollouts, 7)
			sameState(t, "after Evaluate", before, a)
		} else {
			training := &scriptedEnv{place: func(_, k int) float64 { return 2 + float64(k) }, desired: func(int) float64 { return -3 }}
			err = a.Train(t.Context(), training, env, TrainOptions{Steps: 1, EvalEvery: 1, Rollouts: rollouts})
		}
		if err != nil || len(env.actions) != rollouts*a.params.Horizon {
			t.Fatalf("%s: %d steps, error %v", what, len(env.actions), err)
		}
		for i, action := range env.actions {
			e, k := i/a.params.Horizon, i%a.params.Horizon
			want := twinAct(a.policy.net.vector(), []float64{env.place(e, k) + 0.5}, []float64{env.desired(e)})
			near(t, fmt.Sprintf("%s, rollout %d, step %d: the policy's action towards the environment's goal", what, e, k), float32s(action), want)
		}
	}
	a.policy.net.params[0] = float32(math.NaN())
	env := &scriptedEnv{place: func(int, int) float64 { return 1 }}
	_, err := a.Evaluate(env, 1, 1)
	var numeric *NumericError
	if !errors.As(err, &numeric) || numeric.Network != "policy" || len(env.actions) > 0 {
		t.Errorf("error %v after %d actions, want one of the policy", err, len(env.actions))
	}
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
	a := scriptedAgent(t, func(*Params) {})
	script := func() *scriptedEnv { return &scriptedEnv{place: func(_, k int) float64 { return float64(k) }} }
	draws := func(seed uint64) []float64 {
		env := script()
		if _, err := a.Evaluate(env, 3, seed); err != nil {
			t.Fatal(err)
		}
		return env.chance
	}
	one, again, other := draws(5), draws(5), draws(6)
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("two evaluations of one seed (-first +second):\n%s", diff)
	}
	training, evaluation := script(), script()
	if err := a.Train(t.Context(), training, evaluation, TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 3}); err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(one, other, training.chance, evaluation.chance)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 3+3+3+9 {
		t.Errorf("%d different numbers in 2 evaluations of 3 rollouts, 3 episodes and 3 evaluations of 3, want 18", n)
	}
}

// From the first evaluation in which every rollout succeeds WeightDecay is on
// critics and heads, for good, also after an interruption: the authors' code, in
// [Authors].
func TestPerfect(t *testing.T) {
	for _, test := range []struct {
		decay   bool
		numbers []int // rollouts of 20 that succeed, by evaluation
		want    int   // the step after which the decay begins, or 0
	}{
		{true, []int{19, 20, 3, 19}, 20},
		{true, []int{19, 19, 19, 19}, 0},
		{true, []int{20}, 10},
		{false, []int{0, 20}, 0},
	} {
		a := scriptedAgent(t, func(p *Params) { p.LearningStarts, p.WeightDecay = 5, test.decay })
		evaluation := successes(test.numbers...)
		for step := 5; step <= 40; step += 5 {
			env := &scriptedEnv{place: func(_, k int) float64 { return float64(k) }}
			if err := a.Train(t.Context(), env, evaluation, TrainOptions{Steps: step, EvalEvery: 10, Rollouts: 20}); err != nil {
				t.Fatal(err)
			}
			restored := new(Agent)
			if err := restored.UnmarshalBinary(marshal(t, a)); err != nil {
				t.Fatal(err)
			}
			on := test.want > 0 && step >= test.want
			for _, c := range append(restored.pun.critics, a.pun.critics...) {
				if on != (c.adam.decay == 1e-9) || on != (c.headAdam.decay == 2.5e-10) {
					t.Errorf("%+v: after step %d the decay is %v and %v", test, step, c.adam.decay, c.headAdam.decay)
				}
			}
			a = restored
		}
	}
}

// What an evaluation tells of rollouts that reach the goal at different times,
// leave it, or never see it, by hand. A rollout of Horizon steps succeeds by its
// last step alone.
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
		{"in the last step but one alone", [][]int{{9}}, Evaluation{Reached: 1, Return: -9, StepsToGoal: 9}},
		{"a step too late", [][]int{{11}}, Evaluation{Return: -10}},
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
		if n := len(test.at); env.resets != n || len(env.actions) != n*horizon {
			t.Errorf("%s: %d resets and %d steps in %d rollouts of %d", test.what, env.resets, len(env.actions), n, horizon)
		}
	}
}
