package qta

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the tests derive from the source; never the golden vectors")

func newAgent(t testing.TB, p Params, s Sizes, seed uint64) *Agent {
	t.Helper()
	a, err := NewAgent(p, s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// train trains an agent and fails the test on an error.
func train(t testing.TB, a *Agent, env, evaluation Env, o TrainOptions) {
	t.Helper()
	if err := a.Train(t.Context(), env, evaluation, o); err != nil {
		t.Fatal(err)
	}
}

// trainWith trains in a maze with a kernel and threads of the test's choice.
func trainWith(t testing.TB, p Params, k kernel, threads, steps, evalEvery int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 3)
	a.workers.kernel = k
	a.SetThreads(threads)
	if w := a.pun.pass.workers; w.kernel != k || w.n != threads {
		t.Fatalf("the networks run with the %v kernel on %d threads, want %v on %d", w.kernel, w.n, k, threads)
	}
	m := mustMaze(t, "1U5")
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: evalEvery, Rollouts: 2})
	a.Close()
	return a
}

// The same seed gives the same state, to the byte, with every kernel and any
// number of threads. The batch is large enough for products to be divided.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	bursts := VDS()
	bursts.Curriculum = "random" // its own networks would take long
	presets, steps, threads := []Preset{{"default", Default()}, {"authors", Authors()}, {"mega", MEGA()}, {"vds without its curriculum", bursts}}, 60, []int{1, 2, 3}
	if testing.Short() {
		presets, steps, threads = presets[:2], 25, threads[2:]
	}
	for _, preset := range presets {
		t.Run(preset.Name, func(t *testing.T) {
			p := tinyPreset(preset.Params)
			p.HiddenSize, p.Batch = 100, 200
			want := trainWith(t, p, best, 1, steps, 20)
			if want.goalsReached == 0 || want.losses.critic == 0 {
				t.Fatalf("losses %+v and %d goals reached: this run shows nothing", want.losses, want.goalsReached)
			}
			state := marshal(t, want)
			for _, k := range kernels() {
				if k == generic && best != generic {
					continue // it may round differently
				}
				for _, n := range threads {
					sameState(t, fmt.Sprintf("%v, %d threads", k, n), state, trainWith(t, p, k, n, steps, 20))
				}
			}
		})
	}
}

// How often one evaluates changes nothing: neither the networks nor the rows
// of the log that both runs have.
func TestEvaluationsDoNotMatter(t *testing.T) {
	t.Parallel()
	p := tinyPreset(Default())
	often, seldom := trainWith(t, p, best, 1, 200, 20), trainWith(t, p, best, 1, 200, 100)
	if often.Digest() != seldom.Digest() {
		t.Error("the networks differ")
	}
	common := slices.DeleteFunc(slices.Clone(often.log), func(e Evaluation) bool { return e.Step%100 > 0 })
	if diff := cmp.Diff(seldom.log, common); diff != "" || len(common) != 2 {
		t.Errorf("the logs differ (-seldom +often):\n%s", diff)
	}
}

// Small learns the square wave 1U5 in a few seconds. A change that breaks
// learning shows here.
func TestSmallLearns(t *testing.T) {
	if testing.Short() || best == generic {
		t.Skip("with -short or no kernel: it trains for some seconds at full speed")
	}
	t.Parallel()
	a := newMazeAgent(t, Small(), 1)
	m := mustMaze(t, "1U5")
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: 15_000, EvalEvery: 1000, Rollouts: 20, StopWhenSolved: true})
	if a.SolvedAt() == 0 {
		t.Errorf("not solved within 15,000 steps; the log is %+v", a.log)
	}
}

// walked returns an agent that has never learned, with a replay of random walks
// through a maze, of which the last is under way. Its normalizers have seen
// nothing, so that inputs are positions.
func walked(t testing.TB, p Params, steps int) (*Agent, GoalSampler) {
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
		a.prioritized.stored(i)
		a.enterState(s)
	}
	a.step, a.env = steps, env
	return a, env
}

// Training stops with an error that names the network whose numbers went wrong,
// and the step.
func TestNumericError(t *testing.T) {
	nan := float32(math.NaN())
	const at = 12
	for _, test := range []struct {
		network, changes string
		poison           func(*Agent)
	}{
		{"policy", "", func(a *Agent) { a.policy.net.layers[2].b[0] = nan }},
		{"critics", "", func(a *Agent) { a.policy.target.layers[2].b[1] = nan }},
		{"critics", "", func(a *Agent) { a.pun.critics[1].q.layers[0].w.data[3] = nan }},
		{"critics", "", func(a *Agent) {
			for _, c := range a.pun.critics {
				c.target.layers[2].b[0] = nan
			}
		}},
		{"predictive heads", "", func(a *Agent) { a.pun.critics[0].head.b[0] = nan }},
		{"predictive heads", "PredictiveGradient=head HeadOwnDraw=true", func(a *Agent) { a.pun.critics[2].head.w.data[0] = nan }},
		{"critics", "UpdatesPerEpisode=3 Horizon=13", func(a *Agent) { a.pun.critics[1].q.params[3] = nan }},
		// Without updates the evaluation at the next step finds it.
		{"critic 3", "LearningStarts=1000", func(a *Agent) { a.pun.critics[2].head.b[0] = float32(math.Inf(1)) }},
		{"target policy", "LearningStarts=1000", func(a *Agent) { a.policy.target.params[1] = nan }},
		{"target critic 1", "LearningStarts=1000", func(a *Agent) { a.pun.critics[0].target.params[1] = nan }},
	} {
		p := changed("", tinyPreset(Default()), test.changes).Params
		a := newMazeAgent(t, p, 1)
		m := mustMaze(t, "1U5")
		err := a.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: 100, EvalEvery: at + 1, Rollouts: 1, AfterStep: func() error {
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
}

// newLineAgent returns an agent for a lineEnv.
func newLineAgent(t *testing.T) *Agent {
	t.Helper()
	return newAgent(t, tinyPreset(Default()), new(lineEnv).Sizes(), 1)
}

// What training refuses, at which step and how; before are steps in an
// environment that is in order.
func TestTrainErrors(t *testing.T) {
	type incomparable struct {
		*lineEnv
		_ []int
	}
	maze, one := mustMaze(t, "1U5").Env(), new(lineEnv)
	state := func(change func(e *lineEnv, s *State)) *lineEnv { return &lineEnv{onState: change} }
	o := TrainOptions{Steps: 20, EvalEvery: 7, Rollouts: 1}
	for _, test := range []struct {
		env, evaluation Env
		o               TrainOptions
		before          int
		want            string
	}{
		{maze, one, o, 0, "qta: environment of sizes {Observation:2 Goal:2 Action:2} for an agent of sizes {Observation:3"},
		{one, maze, o, 0, "qta: environment of sizes"},
		{nil, one, o, 0, "qta: there is no environment"},
		{one, nil, o, 0, "qta: there is no environment"},
		{one, one, o, 0, "qta: training and evaluation need two instances"},
		{incomparable{lineEnv: one}, incomparable{lineEnv: new(lineEnv)}, TrainOptions{Steps: 3, EvalEvery: 7, Rollouts: 1}, 0, ""}, // count as two
		{one, new(lineEnv), TrainOptions{Steps: 1, Rollouts: 1}, 0, "qta: EvalEvery is 0 and Rollouts is 1, allowed are 1 and above"},
		{one, new(lineEnv), TrainOptions{Steps: 1, EvalEvery: 1}, 0, "qta: EvalEvery is 1 and Rollouts is 0"},

		// What the environment has wrong.
		{state(func(_ *lineEnv, s *State) { s.Observation = s.Observation[:2] }), one, o, 0,
			"qta: step 0: environment: the observation has 2 numbers, Sizes says 3 after Reset"},
		{state(func(_ *lineEnv, s *State) { s.Desired = []float64{math.NaN()} }), one, o, 0,
			"qta: step 0: environment: the desired goal is [NaN], allowed are numbers up to ±1e+100 after Reset"},
		{state(func(e *lineEnv, s *State) { s.Achieved[0] /= float64(e.steps - 3) }), one, o, 0,
			"qta: step 3: environment: the achieved goal is ["},
		{state(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 4) }), one, o, 0, // in one slice
			"qta: step 4: environment: the desired goal went from [0] to [1] within an episode"},
		{&lineEnv{onReturn: func(e *lineEnv, r float64) float64 { return r - float64(e.steps/5) }}, one, o, 0,
			"qta: step 5: environment: Step's reward is "},
		{&lineEnv{onReward: func(*lineEnv, []float64, []float64, float64) float64 { return 1 }}, one, o, 0,
			"qta: step 1: environment: Step's reward is 1 and Reward's 1; both must be the same, 0 or -1"},
		{&lineEnv{onReward: func(e *lineEnv, achieved, desired []float64, r float64) float64 {
			if desired[0] != e.goal[0] {
				return math.NaN() // in hindsight
			}
			return r
		}}, one, o, 0, "qta: step 6: environment: Reward is NaN of the achieved goal"},

		// What the evaluation's has.
		{one, state(func(_ *lineEnv, s *State) { s.Observation = nil }), o, 0,
			"qta: step 7: environment: after step 0 of an evaluation's rollout the observation has 0 numbers, Sizes says 3"},
		{one, state(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 3) }), o, 0, // in one slice
			"qta: step 7: environment: after step 3 of an evaluation's rollout the desired goal went from [0] to [1]"},
		{one, &lineEnv{onReward: func(_ *lineEnv, _, _ []float64, r float64) float64 { return r / 2 }}, o, 0,
			"qta: step 7: environment: after step 1 of an evaluation's rollout Step's reward is -0.5 and"},

		// Within an episode training goes on in the environment it began in.
		{&lineEnv{onStep: func(e *lineEnv, _ []float64) { e.speed += 0.001 }}, one, o, 13, "qta: step 11: environment: "},
		{state(func(_ *lineEnv, s *State) { s.Observation[1]++ }), one, o, 13, "qta: step 11: environment: the state is "},
		{state(func(_ *lineEnv, s *State) { s.Achieved[0]++ }), one, o, 13, "qta: step 11: environment: the state is "},
		{state(func(_ *lineEnv, s *State) { s.Desired = []float64{s.Desired[0] + 1} }), one, o, 13, "qta: step 11: environment: the state is "},
	} {
		a := newLineAgent(t)
		if test.before > 0 {
			train(t, a, new(lineEnv), new(lineEnv), TrainOptions{Steps: test.before, EvalEvery: 100, Rollouts: 1})
		}
		err := a.Train(t.Context(), test.env, test.evaluation, test.o)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, test.want) || test.want == "" && err != nil {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	for _, sizes := range []Sizes{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := NewAgent(Small(), sizes, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: environment sizes") {
			t.Errorf("sizes %+v: error %v", sizes, err)
		}
	}
}

// What an agent cannot be asked panics with a sentence.
func TestPanics(t *testing.T) {
	a := newMazeAgent(t, leastParams(), 1)
	at := []float64{1.5, 1.5}
	for want, goal := range map[string][]float64{
		"qta: a question to an agent: the goal is [1.5 NaN], allowed are numbers up to ±1e+100": {1.5, math.NaN()},
		"qta: a question to an agent: the goal has 1 numbers, Sizes says 2":                     at[:1],
	} {
		func() {
			defer func() {
				if diff := cmp.Diff(any(want), recover()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}()
			a.Act(at, goal)
		}()
	}
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

// multiplyAdds counts the multiply-adds of the matrix products of one update,
// unpadded and without biases. For a layer of in by out and B rows each of
// y = x W, dW = xᵀ dy and dx = dy Wᵀ has B in out. An update has
//
//	targets   the policy and two critics forward
//	critics   G times y and dW of all layers, dx of all but the first
//	heads     G times y and dW of the head, and dx unless PredictiveGradient is
//	          head; with HeadOwnDraw or separate steps a forward pass through the
//	          backbone before, and unless it is head the backbone's dW and dx
//	          after
//	policy    y and dW of all layers, dx of all but the first, and G critics
//	          forward and, dx alone, backward
func multiplyAdds(p Params, s Sizes) float64 {
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
	return float64(p.Batch) * (targets + critics + heads + actor)
}

func BenchmarkUpdate(b *testing.B) {
	all := []Preset{{"params=default", Default()}, {"params=fast", Fast()}, {"params=authors", Authors()}}
	for _, change := range []string{"Uncertainty=bootstrap", "Uncertainty=ensemble", "Replay=per", "Replay=td"} {
		all = append(all, changed("params=default,", Default(), change))
	}
	for _, v := range all {
		b.Run(v.Name, func(b *testing.B) {
			transitions := 2000
			if v.Params.Replay != "uniform" {
				transitions = 150_000
			}
			a, _ := walked(b, v.Params, transitions)
			b.ReportAllocs()
			measure(b, best, multiplyAdds(v.Params, a.sizes), func() { a.learn() })
		})
	}
}

// What an environment and a hook do within training changes neither what is stored
// nor what comes of it: they ask the agent, overwrite an action, and evaluate.
func TestWithinTraining(t *testing.T) {
	o := TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 1}
	undisturbed, a := newLineAgent(t), newLineAgent(t)
	train(t, undisturbed, &lineEnv{}, &lineEnv{}, o)
	asking := func() *lineEnv {
		return &lineEnv{
			onStep: func(_ *lineEnv, action []float64) { action[0] = 77 },
			onReward: func(e *lineEnv, achieved, desired []float64, r float64) float64 {
				s := [][]float64{{e.at, e.speed, e.start}}
				a.Act(s[0], desired)
				a.Value(s, [][]float64{desired})
				return r
			},
		}
	}
	env := asking()
	o.AfterStep = func() error {
		if _, err := a.Evaluate(env, 1, 1); err != errTwoInstances {
			return fmt.Errorf("an evaluation in the environment of training: %v", err)
		}
		if _, err := a.Evaluate(&lineEnv{}, 1, 1); err != nil {
			return err
		}
		// A call within it that has nothing to do changes nothing either.
		return a.Train(t.Context(), asking(), &lineEnv{}, TrainOptions{Steps: a.Steps(), EvalEvery: 1, Rollouts: 1})
	}
	train(t, a, env, asking(), o)
	sameState(t, "asked, overwritten and evaluated", marshal(t, undisturbed), a)
	for want, err := range map[string]error{
		"qta: there is no environment":       second(a.Evaluate(nil, 1, 1)),
		"qta: an evaluation of 0 rollouts":   second(a.Evaluate(env, 0, 1)),
		"qta: environment of sizes {Observa": second(a.Evaluate(new(scriptedEnv), 1, 1)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func second(_ Evaluation, err error) error { return err }

// digests is the content of testdata/digests.json: what short runs end with on
// every machine.
type digests struct {
	Version string
	Fused   map[string]digest // by variant, with every kernel but the generic one
	Generic map[string]digest
}

type digest struct {
	Digest     string
	Checkpoint string // SHA-256: another layout needs another checkpointFormat
	Log        []Evaluation
}

// digestOf trains for 200 steps, of which the second half sets its goals by
// uncertainty: of all transitions first, and of some from step 150 on.
func digestOf(t *testing.T, p Params, k kernel) digest {
	p.HiddenSize = 32
	p.Batch = 64
	p.InitialSteps = 100
	p.Candidates = min(p.Candidates, 150)
	p.LearningStarts = min(p.LearningStarts, 50)
	if p.Curriculum == "vds" {
		p.HiddenSize = 8 // it learns much
	}
	m := mustMaze(t, "2U5")
	a := newAgent(t, p, m.Env().Sizes(), 1)
	a.workers.kernel = k
	defer a.Close()
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: 200, EvalEvery: 100, Rollouts: 5})
	return digest{a.Digest(), fmt.Sprintf("%x", sha256.Sum256(marshal(t, a))), a.Evaluations()}
}

// TestDigests holds runs to bytes that are the same on every architecture, in
// one set with fused multiply-adds and one without.
func TestDigests(t *testing.T) {
	t.Parallel()
	const path, remedy = "testdata/digests.json", "if results are meant to change, raise Version (if only checkpoints are, checkpointFormat) and run: go test -run TestDigests -update"
	var want digests
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil && !*update {
		t.Fatalf("%v; %s", err, remedy)
	}
	got := digests{Version, map[string]digest{}, map[string]digest{}}
	for _, k := range kernels() {
		set, wanted := got.Fused, want.Fused
		if k == generic {
			set, wanted = got.Generic, want.Generic
		}
		all := variants()
		if testing.Short() && !*update {
			switch all = []Preset{{"default", Default()}, {"authors", Authors()}}; k {
			case best:
			case generic:
				all = all[:1]
			default:
				continue
			}
		}
		for _, v := range all {
			d := digestOf(t, v.Params, k)
			set[v.Name] = d
			if *update {
				continue
			}
			if diff := cmp.Diff(wanted[v.Name], d); diff != "" {
				t.Errorf("%s, %v kernel (-want +got):\n%s%s", v.Name, k, diff, remedy)
			}
		}
	}
	if want.Version != Version && !*update {
		t.Errorf("%s is of version %s, this is %s; run: go test -run TestDigests -update", path, want.Version, Version)
	}
	if !*update {
		return
	}
	if len(got.Fused) == 0 {
		got.Fused = want.Fused // this machine has no kernel to compute them
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.Bytes())
}

// What is learned of a transition, where the goal achieved is no observation.
func TestFill(t *testing.T) {
	a := numberedAgent(t, 7, 5)
	a.env = new(scriptedEnv) // which rewards 3 for the goal 3
	b := a.pun.newBatch(1, a.sizes)
	a.fill(&b, 0, 3, []float64{3})
	x := slices.Concat(b.x.row(0), b.next.row(0), b.head.row(0), b.r)
	if diff := cmp.Diff([]float32{3, 3, 3, 3, 3, 3, 4, 4, 3, 0, 0, 0, 4, 4, 0}, x); diff != "" {
		t.Errorf("s, g, a; s', g, room; what the heads predict; r (-want +got):\n%s", diff)
	}
	if a.params.HeadTarget = "achieved"; !slices.Equal(a.predicted(3), []float64{3}) {
		t.Errorf("the heads predict %v, want the goal achieved, 3", a.predicted(3))
	}
}
