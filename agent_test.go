package qta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A scriptedEnv moves the agent along a line by a script, whatever the agent does. After k
// steps of episode e it is at place(e, k), both counted from 0. The observation is half a unit
// further, so that the two can be told apart. A goal is reached if it is closer than 0.1.
type scriptedEnv struct {
	place   func(episode, step int) float64
	desired func(episode int) float64 // nil for 0
	unused  int                       // how many numbers Reset draws and does not use
	note    func(event string)        // is told of "reset" and "step"; may be nil

	// What the environment has been asked.

	resets, step int
	actions      [][]float64 // one for each step
	chance       []float64   // of each episode: the first number that its generator gave
	rewards      int         // calls of Reward
}

func (e *scriptedEnv) Sizes() Sizes { return Sizes{1, 1, 1} }

func (e *scriptedEnv) Reset(rng *rand.Rand) State {
	if e.note != nil {
		e.note("reset")
	}
	e.resets++
	e.step = 0
	e.chance = append(e.chance, rng.Float64())
	for range e.unused {
		rng.Float64()
	}
	return e.state()
}

func (e *scriptedEnv) Step(action []float64) (State, float64) {
	if e.note != nil {
		e.note("step")
	}
	e.step++
	e.actions = append(e.actions, slices.Clone(action))
	s := e.state()
	return s, e.Reward(s.Achieved, s.Desired)
}

func (e *scriptedEnv) state() State {
	episode := e.resets - 1
	s := stateAt(e.place(episode, e.step))
	s.Desired = []float64{0}
	if e.desired != nil {
		s.Desired[0] = e.desired(episode)
	}
	return s
}

// away returns an environment whose place after k steps of an episode is k.
func away() *scriptedEnv {
	return &scriptedEnv{place: func(_, k int) float64 { return float64(k) }}
}

func (e *scriptedEnv) Reward(achieved, desired []float64) float64 {
	e.rewards++
	if math.Abs(achieved[0]-desired[0]) < 0.1 {
		return 0
	}
	return -1
}

// scriptedAgent returns an agent for a scriptedEnv. It does not learn, and draws its goals
// uniformly from the achieved ones.
func scriptedAgent(t testing.TB, changes string) *Agent {
	t.Helper()
	const idle = "InitialSteps=1000000 FirstGoalDesired=0 LearningStarts=1000000 UpdatesPerStep=1 "
	p := tiny(Beyond(), idle+changes)
	return newAgent(t, p, new(scriptedEnv).Sizes(), 1)
}

// trainScripted trains without evaluations.
func trainScripted(t testing.TB, a *Agent, env Env, steps int, afterStep func() error) {
	t.Helper()
	o := TrainOptions{Steps: steps, EvalEvery: 1e9, Rollouts: 1, AfterStep: afterStep}
	train(t, a, env, &scriptedEnv{}, o)
}

// successes returns an environment for evaluations of 20 rollouts. In evaluation i, numbers[i]
// rollouts end at the goal.
func successes(numbers ...int) *scriptedEnv {
	return &scriptedEnv{place: func(episode, _ int) float64 {
		evaluation := episode / 20
		rollout := episode % 20
		if evaluation < len(numbers) && rollout < numbers[evaluation] {
			return 0
		}
		return 4
	}}
}

// moveTargets changes the target networks, so that they differ from what they follow.
func moveTargets(a *Agent) {
	rng := seeded(17, 0)
	for _, params := range a.parameters() {
		if strings.HasPrefix(params.name, "target") {
			for i := range params.values {
				params.values[i] += 0.5 * float32(rng.NormFloat64())
			}
		}
	}
}

// A maze is solved by the first evaluation in which every rollout succeeds, and stays solved.
// With the authors' learner the weights of critics and heads decay from the next update on,
// also after an interruption.
func TestSolved(t *testing.T) {
	for _, test := range []struct {
		learner string
		numbers []int // rollouts of 20 that succeed, in the evaluations at steps 10, 20, 30 and 40
		solved  int   // the step of the first perfect evaluation, or 0 if there is none
	}{
		{"authors", []int{19, 20, 3, 19}, 20},
		{"authors", []int{19, 19, 19, 19}, 0},
		{"authors", []int{20}, 10},
		{"paper", []int{0, 20}, 20},
	} {
		a := scriptedAgent(t, "LearningStarts=5 Learner="+test.learner)
		evaluation := successes(test.numbers...)
		for step := 5; step <= 40; step += 5 {
			train(t, a, away(), evaluation, TrainOptions{Steps: step, EvalEvery: 10, Rollouts: 20})
			solved := 0
			if step >= test.solved {
				solved = test.solved
			}
			checkEqual(t, solved, a.SolvedAt(), "%+v: solved, after step %d, at", test, step)
			want := decays{}
			if test.learner == "authors" && solved > 0 && step > solved {
				want = decays{1e-9, 2.5e-10} // of the authors' code
			}
			all := []decays{want, want, want}
			checkEqual(t, all, latestDecays(a), "%+v: weight decays, after step %d", test, step)
			interrupted := a
			a = new(Agent)
			unmarshal(t, marshal(t, interrupted), a)
		}
	}
}

// decays are the coefficients of weight decay in an update of a critic and of its head.
type decays [2]float32

// latestDecays returns the coefficients of each critic's latest update.
func latestDecays(a *Agent) []decays {
	return each(a.pun.critics, func(c *critic) decays { return decays{c.adam.c.decay, c.headAdam.c.decay} })
}

// With StopWhenSolved training ends at the first perfect evaluation. If there was one before,
// training does not begin.
func TestStopWhenSolved(t *testing.T) {
	o := TrainOptions{Steps: 50, EvalEvery: 10, Rollouts: 20, StopWhenSolved: true}
	a := scriptedAgent(t, "")
	train(t, a, away(), successes(0, 19, 20, 18), o)
	checkEqual(t, 30, a.Steps(), "the end of training, which has solved the task at 30")

	a = scriptedAgent(t, "")
	train(t, a, away(), successes(20, 18), TrainOptions{Steps: 25, EvalEvery: 10, Rollouts: 20})
	train(t, a, away(), successes(), o)
	checkEqual(t, 25, a.Steps(), "the end of training, which had solved the task at 10")
}

// atGoal returns an environment for rollouts. Rollout e is at the goal after its steps
// steps[e], and elsewhere after all others.
func atGoal(steps [][]int) *scriptedEnv {
	return &scriptedEnv{place: func(e, k int) float64 {
		if slices.Contains(steps[e], k) {
			return 0
		}
		return 4
	}}
}

// An evaluation counts successes and rollouts that reach the goal, and averages returns and
// steps to the goal. A rollout of ten steps succeeds if its last step is at the goal.
func TestEvaluateTells(t *testing.T) {
	for _, test := range []struct {
		what string
		at   [][]int // for each rollout the steps after which it is at the goal, from 0 to 10
		want Evaluation
	}{
		{"never", [][]int{{}}, Evaluation{Return: -10}},
		{"at the start alone", [][]int{{0}}, Evaluation{Reached: 1, Return: -10}},
		{"in the last step alone", [][]int{{10}}, Evaluation{Success: 1, Reached: 1, Return: -9, StepsToGoal: 10}},
		{"in the last step but one alone", [][]int{{9}}, Evaluation{Reached: 1, Return: -9, StepsToGoal: 9}},
		{"reached and kept", [][]int{{4, 5, 6, 7, 8, 9, 10}}, Evaluation{Success: 1, Reached: 1, Return: -3, StepsToGoal: 4}},
		{"reached, left, reached again", [][]int{{3, 7, 8}}, Evaluation{Reached: 1, Return: -7, StepsToGoal: 3}},
		{"four rollouts", [][]int{{}, {2}, {8, 9, 10}, {}},
			Evaluation{Success: 0.25, Reached: 0.5, Return: (-10 - 9 - 7 - 10) / 4., StepsToGoal: (2 + 8) / 2.}},
	} {
		a := scriptedAgent(t, "Horizon=10")
		got, err := a.Evaluate(atGoal(test.at), len(test.at), 1)
		must(t, err)
		checkEqual(t, test.want, got, "%s", test.what)
	}
}

// An evaluation plays whole episodes, in which the policy pursues the environment's goal, here
// 0, without exploration (R103).
func TestEvaluateActs(t *testing.T) {
	const horizon, rollouts = 10, 4
	a := scriptedAgent(t, fmt.Sprint("Horizon=", horizon))
	a.goal[0] = 3 // pursued in training
	env := atGoal([][]int{{}, {2}, {8, 9, 10}, {}})
	_, err := a.Evaluate(env, rollouts, 1)
	must(t, err)
	checkEqual(t, rollouts, env.resets, "resets")
	checkEqual(t, rollouts*horizon, len(env.actions), "steps")
	for i, action := range env.actions {
		place := env.place(i/horizon, i%horizon)
		want := a.Act([]float64{place + 0.5}, []float64{0})
		checkEqual(t, want, action, "action %d, which is to be the policy's", i)
	}
}

// An evaluation's chance comes from its seed, and each rollout has its own.
func TestEvaluateChance(t *testing.T) {
	chance := func(seed uint64) []float64 {
		env := atGoal(make([][]int, 3))
		_, err := scriptedAgent(t, "").Evaluate(env, 3, seed)
		must(t, err)
		return env.chance
	}
	five := chance(5)
	checkEqual(t, five, chance(5), "chance with the seed 5, again")
	both := slices.Concat(five, chance(6))
	checkEqual(t, 6, len(distinct(both)), "different chances of three rollouts with each of two seeds")
}

// distinct returns the different elements of x, in order.
func distinct[T cmp.Ordered](x []T) []T { return slices.Compact(slices.Sorted(slices.Values(x))) }

// In training an evaluation's chance comes from the seed and the step. Earlier evaluations
// do not change it.
func TestEvaluationChance(t *testing.T) {
	chance := func(evalEvery int) []float64 {
		evaluation := atGoal(make([][]int, 8))
		o := TrainOptions{Steps: 20, EvalEvery: evalEvery, Rollouts: 2}
		train(t, scriptedAgent(t, ""), away(), evaluation, o)
		return evaluation.chance
	}
	four := chance(5) // evaluations
	one := chance(20) // the last of these
	checkEqual(t, 8, len(distinct(four)), "different chances of four evaluations of two rollouts")
	checkEqual(t, four[6:], one, "chance of the last evaluation by itself")
}

// updatesAfter returns how many updates an agent has made after a step.
func updatesAfter(step int, p Params) int {
	if p.Learner == "vds" { // 40 at the end of each episode that ends after LearningStarts
		return 40 * max(0, step/p.Horizon-p.LearningStarts/p.Horizon)
	}
	return p.UpdatesPerStep * max(0, step-p.LearningStarts)
}

var errStop = errors.New("stop")

// The functions of TrainOptions are called after each step and after each evaluation. By then
// the step's updates are made. If the step ended an episode, the normalizers have seen it. An
// error of theirs ends training at once, and so does a context. Training can go on afterwards.
func TestHooks(t *testing.T) {
	m := mustMaze(t, "1U5")
	for _, changes := range []string{
		"LearningStarts=28", "UpdatesPerStep=2",
		// VDS updates only at the end of an episode.
		"Learner=vds LearningStarts=1", "Learner=vds LearningStarts=10", "Learner=vds LearningStarts=29",
	} {
		p := tiny(Paper(), changes)
		a := newMazeAgent(t, p, 1)
		stopAt28 := func(e Evaluation) error {
			if e.Step == 28 {
				return errStop
			}
			return nil
		}
		checkStep := func() error {
			want := updatesAfter(a.step, p)
			checkEqual(t, want, a.updates, "%s: updates after step %d", changes, a.step)
			shown := int(a.goalScale.count) - 1 // the count begins at 1
			checkEqual(t, a.step/p.Horizon*p.NormalizerDraws, shown,
				"%s: goals that the normalizers have seen after step %d", changes, a.step)
			return nil
		}
		o := TrainOptions{Steps: 45, EvalEvery: 7, Rollouts: 2, AfterEvaluation: stopAt28, AfterStep: checkStep}

		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if err := a.Train(ctx, m.Env(), m.Env(), o); err != errStop || a.Steps() != 0 {
			t.Fatalf("%s: canceled, Train returned %v at step %d", changes, err, a.Steps())
		}
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != errStop || a.Steps() != 28 {
			t.Fatalf("%s: error %v at step %d, want AfterEvaluation's at 28", changes, err, a.Steps())
		}
		train(t, a, m.Env(), m.Env(), o) // goes on after step 28, whose evaluation is not made again
	}
}

// Without noise an action is the policy's own or random. The parameters decide which, step by
// step.
func TestRandomActions(t *testing.T) {
	const never = "..........."
	const exploring = "ActionNoise=0 RandomAction=0 RandomActionLater=0 RandomActionReached=0 "
	for _, test := range []struct {
		what    string
		changes string
		goals   [4]string // G if an episode is at the environment's goal, after each step from 0 to 10
		acts    [4]string // p for the policy's step, r for a random one, in the first nine steps of ten
	}{
		{
			what:    "Learner mega, uniform actions for 14 steps",
			changes: "Learner=mega InitialSteps=14 RandomActionHeld=0",
			goals:   [4]string{never, never, never, never},
			acts:    [4]string{"rrrrrrrrr", "rrrrppppp", "ppppppppp", "ppppppppp"},
		},
		{
			what:    "RandomActionLater, from the step after an episode's first goal was first reached, as in the authors' code",
			changes: "Curriculum=her RandomActionLater=1",
			goals:   [4]string{never, never, "....G......", never},
			acts:    [4]string{"ppppppppp", "ppppppppp", "pppprrrrr", "rrrrrrrrr"},
		},
		{
			what:    "RandomActionReached, from the step after an episode's first goal was reached to the episode's end",
			changes: "Curriculum=her RandomActionReached=1",
			goals:   [4]string{never, "....G......", never, "....G......"},
			acts:    [4]string{"ppppppppp", "pppprrrrr", "ppppppppp", "pppprrrrr"},
		},
		{
			what:    "RandomActionReached, on the way to later goals too",
			changes: "RandomActionReached=1",
			goals:   [4]string{"GGGGGGGGGGG", "GGGGGGGGGGG", "GGGGGGGGGGG", "GGGGGGGGGGG"},
			acts:    [4]string{"prrrrrrrr", "prrrrrrrr", "prrrrrrrr", "prrrrrrrr"},
		},
	} {
		a := scriptedAgent(t, exploring+test.changes)
		env := &scriptedEnv{place: func(episode, step int) float64 {
			if test.goals[episode][step] == 'G' {
				return 0
			}
			return 1 + float64(step)
		}}
		checkEqual(t, test.acts, whoActs(t, a, env), "%s: who acts in the steps", test.what)
	}
}

// whoActs trains for four episodes and returns a p for each step with the policy's action
// and an r for others. An episode's last step is left out: after it the normalizers have
// changed.
func whoActs(t *testing.T, a *Agent, env *scriptedEnv) (acts [4]string) {
	t.Helper()
	trainScripted(t, a, env, 4*a.params.Horizon, func() error {
		if env.step == a.params.Horizon {
			return nil
		}
		episode := env.resets - 1
		place := env.place(episode, env.step-1) // where the step began
		goal := a.replay.goal.at(a.step - 1)
		taken := env.actions[len(env.actions)-1]
		if slices.Equal(taken, a.Act([]float64{place + 0.5}, goal)) {
			acts[episode] += "p"
		} else {
			acts[episode] += "r"
		}
		return nil
	})
	return acts
}

// Once a step has ended at the environment's goal, an episode's first goal is that goal with
// the probability FirstGoalDesired. Later goals are QTA's. FoundAt is the first step that ended
// there, whichever goal was pursued.
func TestFirstGoalDesired(t *testing.T) {
	// The environment's goal is 0. Episodes 3 and 5 end there. In the last ten episodes it is
	// 1000 and never reached. The agent's own goals are reached in every other step.
	const episodes, found, unreached = 120, 4, 110
	desired := func(e int) float64 { return float64(e / unreached * 1000) }
	place := func(e, k int) float64 {
		if k == 10 && (e == 3 || e == 5) {
			return 0
		}
		return 1 + float64(k%2)
	}
	// How many of the 106 first goals in between are to be the environment's: for 0.5 the mean,
	// 53, and three standard deviations to each side.
	for probability, bounds := range map[float64][2]int{0.5: {38, 68}, 1: {106, 106}} {
		a := scriptedAgent(t, fmt.Sprint("Curriculum=qta FirstGoalDesired=", probability))
		env := &scriptedEnv{place: place, desired: desired}
		trainScripted(t, a, env, 10*episodes, func() error {
			want := 0
			if a.step >= 10*found {
				want = 10 * found
			}
			checkEqual(t, want, a.FoundAt(), "found, after step %d, at", a.step)
			return nil
		})
		first := 0 // how many first goals are the environment's
		for _, i := range desiredSteps(a, desired) {
			switch {
			case i < 10*found || i >= 10*unreached:
				t.Errorf("probability %v: step %d pursues a goal that no step has ended at", probability, i)
			case i%10 == 0:
				first++
			default: // QTA cannot choose 0, which is achieved only where an episode ends
				t.Errorf("probability %v: the later goal in step %d is the environment's", probability, i)
			}
		}
		if first < bounds[0] || first > bounds[1] {
			t.Errorf("probability %v: %d first goals of 106 are the environment's, want %v", probability, first, bounds)
		}
	}
}

// The first step of a run counts, too.
func TestDesiredReachedAtOnce(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "FirstGoalDesired=1")
	remember(a, []float64{3, 0, 5})
	a.desired[0] = 0
	if !a.desiredReached() {
		t.Error("the run's first step ended at the environment's goal, but desiredReached reports false")
	}
}

// desiredSteps returns the steps, counted from 0, in which an agent began to pursue the
// environment's goal. Episodes have ten steps.
func desiredSteps(a *Agent, desired func(episode int) float64) (steps []int) {
	goals := a.replay.goal.data
	for i, goal := range goals {
		begins := i%10 == 0 || goal != goals[i-1]
		if begins && goal == desired(i/10) {
			steps = append(steps, i)
		}
	}
	return steps
}

// After an episode's first goal is reached, a random action is held: it is taken again until
// the episode ends, or until a step with it is too short. A step is too short if its length is
// less than RandomActionHeld times the moving average of all steps' lengths. The average
// begins at 0, and a step counts for 2 % of it.
func TestRandomActionHeld(t *testing.T) {
	// The third step of an episode reaches the goal, 0. The seventh step has the length 0.4
	// and all others 1.
	places := []float64{3, 2, 1, 0, 1, 2, 3, 3.4, 4.4, 5.4, 6.4}
	// At the seventh step of the six episodes the average is about 0.12, 0.27, 0.39, 0.49, 0.57
	// and 0.64. That step is too short if the average exceeds 0.4/RandomActionHeld: 0.62 for
	// 0.65, 0.53 for 0.75, and 0.4 for 1.
	const drawn, held, dropped = "..........", "....hhhhhh", "....hhh.hh" // h: the same action again
	const random = "ActionNoise=0 RandomAction=1 RandomActionLater=1 RandomActionReached=1 "
	for fraction, want := range map[float64][6]string{
		0:    {drawn, drawn, drawn, drawn, drawn, drawn},
		0.5:  {held, held, held, held, held, held},
		0.65: {held, held, held, held, held, dropped},
		0.75: {held, held, held, held, dropped, dropped},
		1:    {held, held, held, dropped, dropped, dropped},
	} {
		a := scriptedAgent(t, fmt.Sprint("Curriculum=her ", random, "RandomActionHeld=", fraction))
		env := &scriptedEnv{place: func(_, step int) float64 { return places[step] }}
		trainScripted(t, a, env, 60, nil)
		actions := a.replay.action.data
		checkEqual(t, want, heldActions(actions), "RandomActionHeld %v: the steps", fraction)
		for episode := 1; episode < 6; episode++ {
			last := actions[10*episode+9]
			if slices.Contains(actions[:10*episode], last) {
				t.Errorf("RandomActionHeld %v: episode %d takes an action of an earlier episode", fraction, episode)
			}
		}
	}
}

// heldActions returns a string for each of six episodes. It has an h for each step that takes
// the action of the step before it, and a dot for others.
func heldActions(actions []float64) (held [6]string) {
	for i, action := range actions {
		if i > 0 && action == actions[i-1] {
			held[i/10] += "h"
		} else {
			held[i/10] += "."
		}
	}
	return held
}

// As long as MEGA chooses the goals, a random action has MEGA's probability: 0.1 more for each
// step of the episode at its goal.
func TestRandomActionOfMEGA(t *testing.T) {
	const never = "RandomAction=0 RandomActionLater=0 RandomActionReached=0 RandomActionHeld=0"
	a := scriptedAgent(t, "Curriculum=mega "+never)
	e := a.explorer.(generalExplorer)
	atGoal := &scriptedEnv{place: func(int, int) float64 { return 0 }}
	trainScripted(t, a, atGoal, 25, func() error {
		steps := a.step % 10
		if steps == 0 {
			return nil // the next episode's choice begins to count anew
		}
		want := 0.1 * float64(steps)
		checkNear(t, nearly, want, e.probability(a), "with MEGA: probability after step %d", a.step)
		return nil
	})
	a.params.RandomActionReached = 0.75
	must(t, a.SetCurriculum(curriculumFunc(ownHER)))
	checkEqual(t, 0.75, e.probability(a), "with a curriculum of its user's: the probability")
}

// Before the first update the average equals the critics and heads. In the first 1/(1-ρ)
// updates it is their mean over the updates, and from then on a moving average.
func TestUncertaintyPolyak(t *testing.T) {
	const ρ = 0.9
	a := walked(t, tiny(Beyond(), fmt.Sprint("UncertaintyPolyak=", ρ)), 40)
	want := each(a.pun.critics, func(c *critic) []float64 { return make([]float64, len(c.params)) })
	for i, c := range a.pun.critics {
		average := averagedCritics(a)[i].params
		checkEqual(t, c.params, average, "before the first update: the average of critic %d", i+1)
	}
	for n := 1; n <= 25; n++ {
		mustUpdate(t, a)
		share := max(1-ρ, 1/float64(n)) // of the n-th update
		for i, c := range a.pun.critics {
			for k, v := range c.params {
				want[i][k] += share * (float64(v) - want[i][k])
			}
		}
	}
	for i := range want {
		near(t, fmt.Sprintf("average of critic %d and its head", i+1), averagedCritics(a)[i].params, want[i])
	}
}

// The average takes in every update, also where a step has two.
func TestAverageOfUpdates(t *testing.T) {
	a := walked(t, tiny(Beyond(), "UncertaintyPolyak=0.9 UpdatesPerStep=2"), 40)
	must(t, a.learner.update(a))
	averaged := unwrapped(a.learner).(*movingAverage).updates
	checkEqual(t, 2, averaged, "how many updates the average takes in, in a step of two")
}

// checkFrequency checks how often, in n draws, something of probability p came: within five
// standard deviations of the expected count.
func checkFrequency(t *testing.T, what string, count, n int, p float64) {
	t.Helper()
	expected := float64(n) * p
	deviation := math.Sqrt(expected * (1 - p))
	const rounding = 1e-9 // of the expected count, if there is no deviation
	if math.Abs(float64(count)-expected) > 5*deviation+rounding {
		t.Errorf("%s: %d times of %d, want about %.1f", what, count, n, expected)
	}
}

// A survey answers as the agent does when asked. Uncertainty is about each goal, or about
// the desired one, by the parameter UncertaintyGoal. At step 0 its chance comes from the
// agent's seed. Goals are surveyed in pieces, and answered like each by itself. Samples are drawn
// by the probabilities.
func TestSurvey(t *testing.T) {
	const n = 2*chunkRows + 1 // three pieces
	const samples = 20000
	rng := seeded(3, 3)
	observations := randomRows(rng, n, 3)
	goals := randomRows(rng, n, 1)
	start := []float64{0.1, 0.2, 0.3}
	desired := []float64{1}
	for name, p := range map[string]Params{
		"paper":   Paper(),
		"literal": Literal(),
		"beyond":  with(Beyond(), "UncertaintyPolyak=0"),
	} {
		a := surveyedAgent(t, p)
		got := a.Survey(start, desired, observations, goals, samples)
		asked := goals // about which Uncertainty is asked
		if p.UncertaintyGoal == "desired" {
			asked = slices.Repeat([][]float64{desired}, n)
		}
		want := Survey{
			Value:       each(goals, func(g []float64) float64 { return a.Value([][]float64{start}, [][]float64{g})[0] }),
			Uncertainty: a.Uncertainty(observations, asked, a.seed),
			Probability: make([]float64, n),
			Samples:     got.Samples, // which checkSamples compares
		}
		GoalProbabilities(want.Probability, want.Uncertainty, a.params.Slope, a.params.Intercept)
		checkEqual(t, want, got, "%s", name)
		checkSamples(t, name, got)
		a.step = 1
		later := a.Survey(start, desired, observations, goals, samples)
		if slices.Equal(later.Uncertainty, got.Uncertainty) {
			t.Errorf("%s: chance is the same a step later", name)
		}
	}
}

// checkSamples checks that a survey has drawn its samples by the probabilities.
func checkSamples(t *testing.T, what string, s Survey) {
	t.Helper()
	counts := make([]int, len(s.Probability))
	for _, k := range s.Samples {
		counts[k]++
	}
	for k, p := range s.Probability {
		checkFrequency(t, fmt.Sprintf("%s: samples of point %d", what, k), counts[k], len(s.Samples), p)
	}
}

// surveyedAgent returns a trained agent that says it is at step 0. Its slope and intercept give
// every point of a survey a probability above 0.
func surveyedAgent(t *testing.T, p Params) *Agent {
	t.Helper()
	a := newAgent(t, tiny(p, "Slope=1 Intercept=0.1"), new(lineEnv).Sizes(), 5)
	train(t, a, new(lineEnv), new(lineEnv), TrainOptions{Steps: 35, EvalEvery: 35, Rollouts: 1})
	a.step = 0
	return a
}

// An agent that has never trained answers questions. A question that does not fit panics.
func TestAskUntrained(t *testing.T) {
	a := lineAgent(t, "")
	s := [][]float64{{1, 2, 3}}
	g := [][]float64{{4}}
	if ε := a.Uncertainty(s, g, 1); !(ε[0] > 0) {
		t.Errorf("uncertainty %v, want above 0", ε)
	}
	zeros := State{Observation: make([]float64, 3), Achieved: make([]float64, 1), Desired: make([]float64, 1)}
	checkEqual(t, zeros, a.State(), "state")
	mustPanic(t, "an action toward a short goal", func() { a.Act(s[0], nil) })
	mustPanic(t, "one goal too many", func() { a.Value(s, slices.Repeat(g, 2)) })
	mustPanic(t, "a short observation", func() { a.Uncertainty(g, g, 1) })
	mustPanic(t, "a survey from a short start", func() { a.Survey(g[0], g[0], s, g, 1) })
}

// checkGoals checks how many goals an agent has set and reached.
func checkGoals(t *testing.T, a *Agent, set, reached int) {
	t.Helper()
	checkEqual(t, set, a.goalsSet, "goals set after step %d", a.step)
	checkEqual(t, reached, a.goalsReached, "goals reached after step %d", a.step)
}

// HER sets one goal an episode. The goal counts as reached once, however long the agent stays
// there. Achieved and Observation tell where a step began.
func TestHistoryOfHER(t *testing.T) {
	a := scriptedAgent(t, "Curriculum=her")
	// An episode goes from 3 to the goal, 0, and stays there to its tenth step.
	env := &scriptedEnv{place: func(_, k int) float64 { return float64(max(0, 3-k)) }}
	trainScripted(t, a, env, 25, nil) // two episodes, and five steps of a third
	checkGoals(t, a, 3, 3)
	checkEqual(t, [][]float64{{0}, {0}, {0}}, a.Goals(0, 25), "goals")
	checkEqual(t, [][]float64{{0}}, a.Goals(1, 11), "goals of the second episode")
	last := State{Observation: []float64{0.5}, Achieved: []float64{0}, Desired: []float64{0}}
	checkEqual(t, last, a.State(), "state after the last step")
	achieved := [][]float64{a.Achieved(1), a.Achieved(11), a.Achieved(25)}
	checkEqual(t, [][]float64{{2}, {2}, {0}}, achieved, "achieved where a step began")
	observed := [][]float64{a.Observation(1), a.Observation(25)}
	checkEqual(t, [][]float64{{2.5}, {0.5}}, observed, "observed where a step began")
}

// If an episode's last step reaches the goal, it counts as reached, and no other goal is set.
// Here the first episode ends at its goal, 0, and the second one beside it.
func TestGoalReachedByLastStep(t *testing.T) {
	a := scriptedAgent(t, "Curriculum=her")
	env := &scriptedEnv{place: func(e, k int) float64 { return float64(10 - k + e%2) }}
	trainScripted(t, a, env, 25, func() error {
		set := (a.step + 9) / 10 // one in each episode of ten steps that has begun
		reached := 0
		if a.step >= 10 {
			reached = 1
		}
		checkGoals(t, a, set, reached)
		atGoal := a.step == 10
		checkEqual(t, atGoal, a.reached, "step %d: whether the goal has been reached", a.step)
		return nil
	})
}

// An agent returns copies of its past. A question about a step that it does not have panics.
func TestHistoryCopies(t *testing.T) {
	const steps = 60
	a := agentAfter(t, tiny(Beyond(), ""), steps)
	before := marshal(t, a)
	s := a.State()
	answers := append(a.Goals(0, steps), s.Observation, s.Achieved, s.Desired, a.Achieved(0), a.Observation(steps))
	for _, answer := range answers {
		answer[0] = -1
	}
	a.Evaluations()[0].Step = -1
	sameState(t, "after its answers were overwritten", before, a)

	for _, span := range [][2]int{{-1, 3}, {4, 3}, {0, steps + 1}} {
		mustPanic(t, fmt.Sprint("Goals of ", span), func() { a.Goals(span[0], span[1]) })
	}
	mustPanic(t, "Achieved(-1)", func() { a.Achieved(-1) })
	mustPanic(t, "Observation of the future", func() { a.Observation(steps + 1) })
}
