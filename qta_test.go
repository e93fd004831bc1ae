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

// The same seed gives the same state, to the byte, with any number of threads. The batch
// is large enough for products to be divided. TestDigests compares the kernels.
func TestThreads(t *testing.T) {
	t.Parallel()
	for name, preset := range map[string]Params{"beyond": Beyond(), "authors": Authors(), "mega": MEGA()} {
		after := func(threads int) *Agent {
			a := newMazeAgent(t, tiny(preset, "HiddenSize=100 Batch=200"), 3)
			a.SetThreads(threads)
			trainTo(t, a, 25, nil)
			a.Close()
			return a
		}
		one := after(1)
		if one.goalsReached == 0 || one.losses.critic == 0 {
			t.Fatalf("%s: losses %+v and %d goals reached: this run shows nothing", name, one.losses, one.goalsReached)
		}
		for _, n := range []int{2, 3} {
			sameState(t, fmt.Sprintf("%s, %d threads", name, n), marshal(t, one), after(n))
		}
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
	spoilCurriculum := func(a *Agent) {
		for _, net := range a.curriculum.networks() {
			net.values[0] = nan
		}
	}
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
		{"predictive heads", "Learner=authors", func(a *Agent) { a.pun.critics[2].head.w.data[0] = nan }},
		{"critics", "Learner=vds Horizon=13", func(a *Agent) { a.pun.critics[1].q.params[3] = nan }},
		{"VDS value functions", "Curriculum=vds Horizon=13", spoilCurriculum}, // which learn at an episode's end
		// Without updates the next evaluation finds it.
		{"critic 3", "LearningStarts=1000", func(a *Agent) { a.pun.critics[2].head.b[0] = float32(math.Inf(1)) }},
		{"target policy", "LearningStarts=1000", func(a *Agent) { a.policy.target.params[1] = nan }},
		{"target critic 1", "LearningStarts=1000", func(a *Agent) { a.pun.critics[0].target.params[1] = nan }},
	} {
		p := tiny(Beyond(), test.changes)
		a := newMazeAgent(t, p, 1)
		m := mustMaze(t, "1U5")
		o := TrainOptions{Steps: 100, EvalEvery: at + 2, Rollouts: 1, AfterStep: func() error {
			if a.step == at {
				test.poison(a)
			}
			return nil
		}}
		err, later := a.Train(t.Context(), m.Env(), m.Env(), o), test.changes == "LearningStarts=1000"
		var e *NumericError
		if !errors.As(err, &e) || e.Network != test.network || finite(e.Value) || e.Step < at || e.Step > at+1 != later {
			t.Errorf("%s poisoned after step %d: error %v", test.network, at, err)
		} else if text := fmt.Sprintf("qta: step %d: %s: %v is not finite; a smaller learning rate may help, "+
			"or smaller numbers in the environment", e.Step, test.network, e.Value); err.Error() != text {
			t.Errorf("error text %q", err)
		}
	}
}

// What training refuses, at which step and how; before are steps in an
// environment that is in order. There is no way on from an error within a step.
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
		{maze, one, o, 0, "qta: the environment has sizes {Observation:2 Goal:2 Action:2}, the agent {Observation:3"},
		{one, maze, o, 0, "qta: the environment has sizes"},
		{one, one, o, 0, "qta: training and evaluation need two instances"},
		{incomparable{lineEnv: one}, incomparable{lineEnv: new(lineEnv)}, TrainOptions{Steps: 3, EvalEvery: 7, Rollouts: 1}, 0, ""}, // count as two
		{one, new(lineEnv), TrainOptions{Steps: 1, Rollouts: 1}, 0, "qta: EvalEvery is 0 and Rollouts is 1, allowed are 1 and above"},
		{one, new(lineEnv), TrainOptions{Steps: 1, EvalEvery: 1}, 0, "qta: EvalEvery is 1 and Rollouts is 0"},

		// What the environment has wrong.
		{state(func(_ *lineEnv, s *State) { s.Observation = s.Observation[:2] }), one, o, 0,
			"qta: step 0: environment: the observation has 2 numbers, Sizes says 3 after Reset"},
		{state(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 4) }), one, o, 0, // in one slice
			"qta: step 4: environment: number 0 of the desired goal went from 0 to 1 within an episode"},
		{&lineEnv{onReturn: func(e *lineEnv, r float64) float64 { return r - float64(e.steps/5) }}, one, o, 0,
			"qta: step 5: environment: Step returned reward "},
		{&lineEnv{onReward: func(e *lineEnv, achieved, desired []float64, r float64) float64 {
			if desired[0] != e.goal[0] {
				return math.NaN() // in hindsight
			}
			return r
		}}, one, o, 0, "qta: step 6: environment: Reward is NaN for the goal achieved by step 3 and a replayed goal"},

		// What the evaluation's has.
		{one, state(func(_ *lineEnv, s *State) { s.Observation = nil }), o, 0,
			"qta: step 7: environment: after step 0 of an evaluation's rollout the observation has 0 numbers, Sizes says 3"},
		{one, state(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 3) }), o, 0, // in one slice
			"qta: step 7: environment: after step 3 of an evaluation's rollout number 0 of the desired goal went from 0 to 1"},
		{one, &lineEnv{onReward: func(_ *lineEnv, _, _ []float64, r float64) float64 { return r / 2 }}, o, 0,
			"qta: step 7: environment: after step 1 of an evaluation's rollout Step returned reward -0.5 and"},

		// Within an episode training goes on in the environment it began in.
		{&lineEnv{onStep: func(e *lineEnv, _ []float64) { e.speed += 0.001 }}, one, o, 13, "qta: step 11: environment: "},
		{state(func(_ *lineEnv, s *State) { s.Observation[1]++ }), one, o, 13, "qta: step 11: environment: number "},
		{state(func(_ *lineEnv, s *State) { s.Achieved[0]++ }), one, o, 13, "qta: step 11: environment: number "},
		{state(func(_ *lineEnv, s *State) { s.Desired = []float64{s.Desired[0] + 1} }), one, o, 13, "qta: step 13: environment: number "},
	} {
		a := newAgent(t, tiny(Beyond(), ""), one.Sizes(), 1)
		if test.before > 0 {
			train(t, a, new(lineEnv), new(lineEnv), TrainOptions{Steps: test.before, EvalEvery: 100, Rollouts: 1})
		}
		err := a.Train(t.Context(), test.env, test.evaluation, test.o)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, test.want) || test.want == "" && err != nil {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if strings.Contains(test.want, "Step returned") { // within a step, or its evaluation
			_, saved := a.MarshalBinary()
			if on := a.Train(t.Context(), one, new(lineEnv), o); saved != errHalfway || on != errHalfway {
				t.Errorf("after %v: saved %v, trained on %v", err, saved, on)
			}
		}
	}
	for _, sizes := range []Sizes{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := NewAgent(Small(), sizes, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: environment sizes") {
			t.Errorf("sizes %+v: error %v", sizes, err)
		}
	}
}

// In steady state an update allocates nothing, nor does one of a PUN.
func TestUpdateAllocates(t *testing.T) {
	large := Preset{"large enough for threads", tiny(Paper(), "HiddenSize=100 Batch=200")}
	for _, v := range append(tinyVariants(), large) {
		for _, threads := range []int{1, 2} {
			a, _ := walked(t, v.Params, 60)
			a.SetThreads(threads)
			a.update()
			if n := testing.AllocsPerRun(20, func() { a.update() }); n != 0 {
				t.Errorf("%s, %d threads: an update allocates %v times", v.Name, threads, n)
			}
			a.Close()
		}
	}
	u, x, y := learnedPUN(t, 20, 7), randomRows(rand.New(rand.NewPCG(1, 1)), 9, 2), make([]float64, 9)
	actions := slices.Repeat([][]float64{{0.5}}, 9)
	if n := testing.AllocsPerRun(20, func() { u.Learn(x, nil, actions, x, y) }); n != 0 {
		t.Errorf("an update of a PUN allocates %v times", n)
	}
}

// onePass is how many multiply-adds a critic has for one row, W of docs/machines.md.
func onePass(p Params, s Sizes) float64 {
	h := float64(p.HiddenSize)
	return float64(s.Observation+s.Goal+s.Action)*h + float64(p.HiddenLayers-1)*h*h + h
}

// multiplyAdds is about how many one update has, as docs/machines.md counts them.
func multiplyAdds(p Params, s Sizes) float64 {
	g := float64(p.Critics)
	passes := 5*g + 6
	if p.Learner == "authors" {
		passes += 3 * g
	}
	return passes * onePass(p, s) * float64(p.Batch)
}

func BenchmarkUpdate(b *testing.B) {
	all := []Preset{{"params=beyond", Beyond()}, {"params=quick", Quick()}, {"params=authors", Authors()}}
	for _, change := range []string{"Uncertainty=bootstrap", "Uncertainty=ensemble", "Replay=per", "Replay=td"} {
		all = append(all, Preset{"params=beyond," + change, with(Beyond(), change)})
	}
	for _, v := range all {
		b.Run(v.Name, func(b *testing.B) {
			transitions := 2000
			if v.Params.Replay != "uniform" {
				transitions = 150_000
			}
			a, _ := walked(b, v.Params, transitions)
			b.ReportAllocs()
			measure(b, best, multiplyAdds(v.Params, a.sizes), func() { a.update() })
		})
	}
}

// What an environment, a hook and a curriculum do within training changes neither
// what is stored nor what comes of it: they ask the agent, overwrite an action, and
// evaluate. What would change it is refused, wherever it is called.
func TestWithinTraining(t *testing.T) {
	o := TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 1}
	p, sizes := tiny(Beyond(), ""), new(lineEnv).Sizes()
	undisturbed, a := newAgent(t, p, sizes, 1), newAgent(t, p, sizes, 1)
	data, refused := marshal(t, a), map[string]bool{}
	forbidden := func(where string) {
		calls := []error{a.UnmarshalBinary(data), a.SetCurriculum(curriculumFunc(ownHER)),
			a.Train(t.Context(), &lineEnv{}, &lineEnv{}, TrainOptions{Steps: a.Steps(), EvalEvery: 1, Rollouts: 1})}
		for i, err := range calls {
			if err != errTraining {
				t.Errorf("within %s, call %d: error %v", where, i, err)
			}
		}
		refused[where] = true
	}
	asking := func(of string) *lineEnv {
		return &lineEnv{
			onReset: func(*lineEnv) { forbidden(of + " Reset") },
			onStep: func(_ *lineEnv, action []float64) {
				forbidden(of + " Step")
				action[0] = 77
			},
			onReward: func(e *lineEnv, achieved, desired []float64, r float64) float64 {
				forbidden(of + " Reward")
				s := [][]float64{{e.at, e.speed, e.start}}
				a.Act(s[0], desired)
				a.Value(s, [][]float64{desired})
				a.Uncertainty(s, [][]float64{desired}, uint64(a.Steps()))
				a.Survey(s[0], desired, s, [][]float64{desired}, 3)
				if _, err := a.MarshalBinary(); err != errHalfway {
					t.Errorf("a checkpoint within a step: %v", err)
				}
				return r
			},
		}
	}
	env := asking("training's")
	own := curriculumFunc(func(b *Agent, first bool, rng *rand.Rand) ([]float64, error) {
		if a == b {
			forbidden("NextGoal")
		}
		return ownHER(b, first, rng)
	})
	if err := errors.Join(undisturbed.SetCurriculum(own), a.SetCurriculum(own)); err != nil {
		t.Fatal(err)
	}
	train(t, undisturbed, &lineEnv{}, &lineEnv{}, o)
	o.AfterEvaluation = func(Evaluation) error {
		forbidden("AfterEvaluation")
		return nil
	}
	o.AfterStep = func() error {
		forbidden("AfterStep")
		if _, err := a.Evaluate(env, 1, 1); err != errTwoInstances {
			return fmt.Errorf("an evaluation in the environment of training: %v", err)
		}
		_, err := a.Evaluate(&lineEnv{}, 1, 1)
		return err
	}
	train(t, a, env, asking("evaluation's"), o)
	sameState(t, "asked, overwritten and evaluated", marshal(t, undisturbed), a)
	if len(refused) != 9 || a.SetCurriculum(own) != nil { // afterwards it is allowed
		t.Errorf("refused within %v", refused)
	}
	a.policy.net.params[0] = float32(math.NaN()) // whose actions are not taken
	for want, err := range map[string]error{
		"qta: step 30: policy: NaN is not":        second(a.Evaluate(new(lineEnv), 1, 1)),
		"qta: an evaluation has 0 rollouts":       second(a.Evaluate(env, 0, 1)),
		"qta: the environment has sizes {Observa": second(a.Evaluate(new(scriptedEnv), 1, 1)),
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
	checkpoints, got := 0, digests{Version, map[string]digest{}, map[string]digest{}}
	for _, k := range kernels() {
		set, wanted := got.Fused, want.Fused
		if k == generic {
			set, wanted = got.Generic, want.Generic
		}
		all := variants()
		if testing.Short() && !*update {
			switch all = []Preset{{"beyond", Beyond()}, {"authors", Authors()}}; k {
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
			if d.Checkpoint != wanted[v.Name].Checkpoint {
				d.Checkpoint = wanted[v.Name].Checkpoint
				checkpoints++
			}
			if diff := cmp.Diff(wanted[v.Name], d); diff != "" {
				t.Errorf("%s, %v kernel (-want +got):\n%.1000s\n%s", v.Name, k, diff, remedy)
			}
		}
	}
	if checkpoints > 0 {
		t.Errorf("%d checkpoints have other bytes; where that is all, as with a new parameter, run: go test -run TestDigests -update", checkpoints)
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

// What follows holds how the parts of a step are put together. Agents train in a
// scriptedEnv with networks that are linear, by hand, and stand still, so that what
// training shows from outside can be worked out.

// A rule is what a network by hand computes: factors of s, g and a, and a constant.
type rule struct{ s, g, a, c float64 }

func (r rule) of(s, g, a float64) float64 { return r.s*s + r.g*g + r.a*a + r.c }

// net returns the rule as a network of the inputs, which hidden units keep by halves.
func (r rule) net(inputs int) vectorNet {
	hidden, last := vectorLayer{B: make([]float64, 6)}, vectorLayer{B: []float64{r.c}}
	for i, factor := range []float64{r.s, r.g, r.a} {
		if row := make([]float64, 6); i < inputs {
			row[2*i], row[2*i+1] = 1, -1
			hidden.W = append(hidden.W, row)
		}
		last.W = append(last.W, []float64{factor}, []float64{-factor})
	}
	return vectorNet{hidden, last}
}

// A hand is all networks of an agent; a policy's rule comes before its tanh.
type hand struct {
	policy, targetPolicy rule
	q, target, head      [3]rule
}

// handAgent returns an agent of such networks for a scriptedEnv.
func handAgent(t testing.TB, h hand, seed uint64, changes string) *Agent {
	t.Helper()
	p := with(Paper(), "UncertaintyGoal=candidate HiddenSize=6 HiddenLayers=1 Critics=3 Batch=8 Candidates=100000 "+
		"UncertaintyActions=1 Horizon=5 InitialSteps=0 LearningStarts=1000000 ActorRate=0 CriticRate=0 PredictiveRate=0 "+
		"Polyak=1 NormalizerClip=1000 "+changes)
	a := newAgent(t, p, new(scriptedEnv).Sizes(), seed)
	a.policy.net.load(h.policy.net(2))
	a.policy.target.load(h.targetPolicy.net(2))
	for i, c := range a.pun.critics {
		c.q.load(h.q[i].net(3))
		c.target.load(h.target[i].net(3))
		c.head.load(h.head[i].net(3)[1])
	}
	return a
}

// apart returns heads whose deviation is what a rule, which is positive, gives.
func apart(r rule) [3]rule { return [3]rule{{-r.s, -r.g, -r.a, -r.c}, {}, r} }

// A tally holds what is drawn to the chances that it had: by name, how often it was
// drawn, how often to expect, and the variance of that.
type tally map[float64]*[3]float64

func (c tally) add(t *testing.T, what string, drawn float64, chances map[float64]float64) {
	t.Helper()
	if chances[drawn] == 0 {
		t.Errorf("%s: %v is drawn, which has no chance among %v", what, drawn, chances)
	}
	for name, p := range chances {
		if c[name] == nil {
			c[name] = new([3]float64)
		}
		if name == drawn {
			c[name][0]++
		}
		c[name][1] += p
		c[name][2] += p * (1 - p)
	}
}

func (c tally) check(t *testing.T, what string) {
	t.Helper()
	for name, n := range c {
		if math.Abs(n[0]-n[1]) > 5*math.Sqrt(n[2])+1e-9 {
			t.Errorf("%s: %v is drawn %v times, want about %.1f", what, name, n[0], n[1])
		}
	}
}

// How a goal comes about. An episode goes through five places, of which all but the
// first can be reached. Goals are drawn uniformly before InitialSteps, the very first
// apart, and by Equation 6 from then on: with m = 4 and b = -1 the scaled
// uncertainties of the candidates decide (candidates.json), and for an episode's
// first goal those whose mean value from the start is c T or more.
func TestGoalChoice(t *testing.T) {
	const horizon = 5
	places := []float64{2, 0, 4, 1, 3, 5} // the last, an episode's end, is no candidate
	byPlace, alike := func(v float64) float64 { return v }, func(float64) float64 { return 0 }
	for _, test := range []struct {
		name, changes string
		head          rule
		ε             func(place float64) float64 // but for its unit and zero
		seeds, steps  int
		far           float64 // from one episode's second place to the next one's
	}{
		{"heads by the state", "", rule{s: 1, c: 100}, byPlace, 1, 500, 0},
		{"heads by the goal, the candidate's", "", rule{g: 1, c: 100}, byPlace, 1, 500, 0},
		{"heads by the goal, the environment's", "UncertaintyGoal=desired", rule{g: 1, c: 100}, alike, 1, 500, 0},
		{"the running episode's too", "Threshold=-9", rule{s: 1, c: 100}, byPlace, 100, 20, 10},
		{"up to step 5", "InitialSteps=5", rule{s: 1, c: 100}, byPlace, 200, 12, 0},
		{"up to step 6", "InitialSteps=6", rule{s: 1, c: 100}, byPlace, 200, 12, 0},
		{"by an average, the threshold by the critics", "UncertaintyPolyak=0.5", rule{s: -1, c: 100}, byPlace, 1, 500, 0},
	} {
		place := func(e, k int) float64 {
			if k == 1 {
				return test.far * float64(e)
			}
			return places[k]
		}
		tallies, halves := [2]tally{{}, {}}, 0 // of first goals and of later ones
		for seed := range test.seeds {
			a := handAgent(t, hand{
				policy: rule{s: 0.1, g: 0.1, c: 0.4},
				q:      [3]rule{{g: -1, a: 2, c: -18}, {g: -1, c: -11}, {g: -1, a: 4, c: -3}},
				target: apart(rule{g: 9}),
				head:   apart(test.head),
			}, uint64(seed), "Slope=4 Intercept=-1 Threshold=-2 "+test.changes)
			averageByHand(a, hand{q: apart(rule{g: 9}), head: apart(rule{s: 1, c: 100})})
			// Inputs are as they are until an episode has ended.
			if want := -10 - 2./3 - 3 + 2*math.Tanh(0.1*7+0.1*3+0.4); math.Abs(a.Value([][]float64{{7}}, [][]float64{{3}})[0]-want) > 1e-5 {
				t.Errorf("the value of 3 from 7 is not the mean of the critics at the policy's action, %v", want)
			}
			q := map[float64]float64{} // of each place
			// chances returns those of each place where places are drawn from.
			chances := func(candidates []float64, first bool) map[float64]float64 {
				kept := slices.DeleteFunc(slices.Clone(candidates), func(v float64) bool { return q[v] < a.Params().Threshold*horizon })
				if !first || len(kept) == 0 {
					kept = candidates
				} else if len(kept) < len(candidates) {
					halves++
				}
				ε := each(kept, test.ε)
				low, high, sum := slices.Min(ε), slices.Max(ε), 0.0
				p := map[float64]float64{}
				for i, v := range kept {
					weight := max(4*(ε[i]-low)/max(high-low, 1e-9)-1, 0)
					p[v] += weight
					sum += weight
				}
				for i, v := range kept {
					if sum == 0 {
						p[v] += 1 / float64(len(kept))
					} else if !slices.Contains(kept[:i], v) {
						p[v] /= sum
					}
				}
				return p
			}
			env := &scriptedEnv{place: place, desired: func(int) float64 { return 7 }}
			chosen, goal := true, 0.0
			trainScripted(t, a, env, test.steps, func() error {
				n, first := a.Steps()-1, a.Steps()%horizon == 1 // as the goal was chosen
				for _, g := range a.Goals(n, n+1) {
					goal = g[0]
				}
				defer func() { chosen = a.Steps()%horizon == 0 || place(n/horizon, env.step) == goal }()
				if !chosen {
					return nil
				}
				clear(q)
				var seen []float64
				share := map[float64]float64{} // of all candidates
				for i := range n {
					v := place(i/horizon, i%horizon)
					if seen = append(seen, v); share[v] == 0 {
						q[v] = a.Value([][]float64{{place(n/horizon, 0) + 0.5}}, [][]float64{{v}})[0]
					}
					share[v] += 1 / float64(n)
				}
				p := map[float64]float64{}
				switch {
				case n == 0:
					p[place(0, 0)] = 1
				case n < a.Params().InitialSteps:
					p = share
				default:
					p = chances(seen, first)
				}
				tallies[min(n%horizon, 1)].add(t, fmt.Sprintf("%s: step %d", test.name, n), goal, p)
				return nil
			})
		}
		tallies[0].check(t, test.name+", first goals")
		tallies[1].check(t, test.name+", later goals")
		if halves < 30 && test.far == 0 {
			t.Errorf("%s: the threshold drops some candidates and keeps others %d times", test.name, halves)
		}
	}
}

// achievedHeads predict the next achieved goal, by Equation 4.
type achievedHeads struct{ paperHeads }

func (achievedHeads) headTarget(r *replay, i int) []float64 { return r.nextAchieved.at(i) }

// averageByHand sets the average that answers in the ensemble's place, if there is one.
func averageByHand(a *Agent, h hand) {
	for i, net := range averageOf(a) {
		net.q.load(h.q[i].net(3))
		net.head.load(h.head[i].net(3)[1])
	}
}

// A recorder is a scriptedEnv that keeps what Reward is asked from outside, and tells
// of every call.
type recorder struct {
	*scriptedEnv
	asked [][2]float64 // achieved and desired
	on    func(call string, desired float64)
}

func (r *recorder) Reset(rng *rand.Rand) State {
	r.tell("reset", 0)
	return r.scriptedEnv.Reset(rng)
}

func (r *recorder) Step(action []float64) (State, float64) {
	r.tell("step", 0)
	return r.scriptedEnv.Step(action)
}

func (r *recorder) Reward(achieved, desired []float64) float64 {
	r.tell("reward", desired[0])
	r.asked = append(r.asked, [2]float64{achieved[0], desired[0]})
	return r.scriptedEnv.Reward(achieved, desired)
}

func (r *recorder) tell(call string, desired float64) {
	if r.on != nil {
		r.on(call, desired)
	}
}

// What an update learns from, to the losses that it reports. Transitions are drawn
// uniformly with weights of 1, or by Equation 7 with those of Equation 8 at this
// step's β; k of k+1 are replayed with a goal achieved from then on in their episode,
// the others with their own; targets are Equation 1 for a pair M, with the target
// critics at the target policy's action, clipped to the possible returns; heads
// predict the raw s'; the policy climbs the critics at its own action. A priority is
// the deviation of the heads; of a transition drawn twice the last row's stays.
func TestUpdateByHand(t *testing.T) {
	const horizon, batch, starts, γ, α = 7, 8, 10, 0.5, 0.6
	h := hand{
		policy:       rule{s: 0.2, g: -0.3, c: 0.4},
		targetPolicy: rule{s: -0.1, g: 0.4, c: -0.8},
		q:            [3]rule{{0.1, -0.2, 0.3, -1}, {0.2, -0.2, 0.3, -2}, {0.3, -0.2, 0.3, -3}},
		target:       [3]rule{{1.2, 0, 0.5, -0.4}, {-1.2, 0.2, 0.5, -0.8}, {0, 1.2, 0.5, -0.6}},
		head:         [3]rule{{0, 0, 0.1, 0}, {0.2, 0.1, 0.1, 0.5}, {0.3, 0.4, 0.1, 0.9}},
	}
	for _, test := range []struct {
		replay, changes string
		low, high       float64 // of the possible returns
	}{
		{"uniform", "", -1 / (1 - γ), 0},
		{"per", "", -1 / (1 - γ), 0},
		{"uniform", "", -1.2, 0}, // with the authors' heads
		{"uniform", "ClipReturns=false ActionNoise=0 RandomAction=0 RandomActionLater=0", math.Inf(-1), math.Inf(1)},
	} {
		replay := test.replay + test.changes
		a := handAgent(t, h, 1, fmt.Sprintf("Horizon=%d Batch=%d LearningStarts=%d Discount=%v PriorityAlpha=%v PriorityBetaSteps=200 Replay=%s %s",
			horizon, batch, starts, γ, α, test.replay, test.changes))
		if a.pun.lowest = test.low; test.low == -1.2 {
			a.pun.heads = achievedHeads{}
		}
		env := &recorder{scriptedEnv: &scriptedEnv{place: func(e, k int) float64 { return float64(10*e + k) }}}
		// The agent pursues what it will achieve in three steps, but for a bit.
		a.SetCurriculum(curriculumFunc(func(a *Agent, _ bool, _ *rand.Rand) ([]float64, error) {
			return []float64{a.State().Achieved[0] + 3.05}, nil
		}))
		goals, drawn, pairs := tally{}, tally{}, tally{} // how many steps later, -1 for the own; which quarter; M
		var own, priority []float64                      // of each transition
		pursued, largest := 0.0, 1.0
		bounded := [2]int{} // targets below and above the possible returns
		s, g := scales(a)
		after := func() error {
			n := a.Steps()
			for _, goal := range a.Goals(n-1, n) {
				pursued = goal[0]
			}
			own, priority = append(own, pursued), append(priority, largest)
			asked, last := env.asked, n-1
			env.asked = nil
			defer func() { s, g = scales(a) }()
			if a.Params().ActionNoise == 0 {
				want := math.Tanh(h.policy.of(s(float64(last/horizon*10+last%horizon)+0.5), g(pursued), 0))
				near(t, fmt.Sprintf("%s: action toward the goal of step %d", replay, n), float32s(env.actions[last]), []float64{want})
			}
			if n <= starts {
				if len(asked) != 2 {
					t.Errorf("%s: step %d asks for %d rewards, want those of two goals", replay, n, len(asked))
				}
				return nil
			}
			power := each(priority, func(p float64) float64 { return math.Pow(p, α) })
			sum, β := 0.0, math.Min(1, 0.3+0.7*float64(n)/200)
			for i := range power {
				if test.replay == "uniform" {
					power[i] = 1
				}
				sum += power[i]
			}
			weight := func(p float64) float64 { return math.Pow(1/(float64(n)*p/sum), β) }
			var weights []float64 // Equation 8
			var critic [3]float64 // Equation 2 by the one of three critics that M leaves out
			head, actor := 0.0, 0.0
			rows := asked[2:]
			if len(rows) != batch {
				t.Fatalf("%s: step %d learns from %d transitions", replay, n, len(rows))
			}
			for _, row := range rows {
				i := int(row[0])/10*horizon + int(row[0])%10 - 1
				e, k, end := i/horizon, i%horizon, min((i/horizon+1)*horizon, n)
				// Which transition, and its goal.
				share := map[float64]float64{}
				for j, p := range power {
					share[float64(4*j/n)] += p / sum
				}
				drawn.add(t, replay, float64(4*i/n), share)
				later, chances := row[1]-row[0], map[float64]float64{-1: 1. / 5}
				if row[1] == own[i] {
					later = -1
				}
				for j := range end - i {
					chances[float64(j)] = 4. / 5 / float64(end-i)
				}
				goals.add(t, fmt.Sprintf("%s: goal of transition %d after step %d", replay, i, n), later, chances)
				// What the networks say, and what they should.
				x, next, goal := s(float64(10*e+k)+0.5), row[0]+0.5, g(row[1])
				predicted := next
				if test.low == -1.2 {
					predicted = row[0]
				}
				action, r := float64(float32(env.actions[i][0])), env.scriptedEnv.Reward(row[:1], row[1:])
				w := weight(power[i]) / weight(slices.Min(power))
				weights = append(weights, w)
				nextAction := math.Tanh(h.targetPolicy.of(s(next), goal, 0))
				acted := math.Tanh(h.policy.of(x, goal, 0))
				actor += acted * acted / batch
				var predictions [][]float64
				for j := range 3 {
					predictions = append(predictions, []float64{h.head[j].of(x, goal, action)})
					head += math.Pow(predictions[j][0]-predicted, 2) / batch / 3
					actor -= h.q[j].of(x, goal, acted) / batch / 3
					y := math.Inf(1)
					for m := range 3 {
						if m != j {
							y = math.Min(y, r+γ*h.target[m].of(s(next), goal, nextAction))
						}
					}
					if y < test.low {
						bounded[0]++
					} else if y > test.high {
						bounded[1]++
					}
					y = math.Min(math.Max(y, test.low), test.high)
					for m := range 3 {
						critic[j] += w * math.Pow(h.q[m].of(x, goal, action)-y, 2) / batch / 3
					}
				}
				priority[i] = twinDeviation(predictions)
				largest = math.Max(largest, priority[i])
			}
			near(t, fmt.Sprintf("%s: weights of Equation 8 after step %d", replay, n), a.batch.w, weights)
			e := a.Evaluations()[n-1]
			near(t, fmt.Sprintf("%s: losses of heads and policy after step %d", replay, n), float32s([]float64{e.PredictiveLoss, e.ActorLoss}), []float64{head, actor})
			without := -1.0 // M is all but this
			for j, loss := range critic {
				if math.Abs(loss-e.CriticLoss) < 1e-4*loss {
					without = float64(j)
				}
			}
			if without < 0 {
				t.Fatalf("%s: the critics' loss after step %d is %v; of weighted errors it is one of %v", replay, n, e.CriticLoss, critic)
			}
			pairs.add(t, replay, without, map[float64]float64{0: 1. / 3, 1: 1. / 3, 2: 1. / 3})
			return nil
		}
		train(t, a, env, &scriptedEnv{place: env.place}, TrainOptions{Steps: 250, EvalEvery: 1, Rollouts: 1, AfterStep: after})
		goals.check(t, replay+": goals by steps later, -1 the own")
		drawn.check(t, replay+": transitions by quarter")
		pairs.check(t, replay+": pairs by who is not in them")
		if slices.Min(bounded[:]) < 50 && test.low > -9 {
			t.Errorf("%s: %v targets are clipped below and above", replay, bounded)
		}
	}
}

// scales returns how an agent's networks see a number of an observation and of a goal.
func scales(a *Agent) (s, g func(float64) float64) {
	of := func(n *normalizer) func(float64) float64 {
		mean, scale := n.mean[0], n.scale[0]
		return func(x float64) float64 { return (x - mean) * scale }
	}
	return of(a.stateScale), of(a.goalScale)
}

// toldEpisode and toldLearner tell when they see that an episode has ended.
type (
	toldEpisode struct {
		curriculum
		note func(what string)
	}
	toldLearner struct {
		learner
		note func(what string)
	}
)

func (c toldEpisode) endEpisode(*Agent) error   { c.note("curriculum's end"); return nil }
func (l toldLearner) afterEpisode(*Agent) error { l.note("learner's end"); return nil }

// The order of a step: the action, the environment, the replay, the goal, the
// update, the normalizers, what the curriculum and then the learner do with a whole
// episode, the evaluation, the functions of TrainOptions.
func TestStepOrder(t *testing.T) {
	var a *Agent
	var did []string
	probe := 0.0
	note := func(what string) {
		if x := a.Act([]float64{0.5}, []float64{0.5})[0]; x != probe { // which nothing else moves
			did, probe = append(did, "normalizers"), x
		}
		did = append(did, what)
	}
	a = handAgent(t, hand{policy: rule{s: 0.3, g: 0.3}}, 1, "Horizon=3 LearningStarts=3 Batch=2 HindsightRatio=1000")
	env := &recorder{scriptedEnv: &scriptedEnv{
		place:   func(e, k int) float64 { return float64(10*e + k) },
		desired: func(int) float64 { return -7 },
	}}
	env.on = func(call string, desired float64) {
		switch {
		case call != "reward":
			note(call)
		case desired == -7:
			note("reward")
		case desired != math.Floor(desired):
			note("pursued?")
		default:
			note("learn")
		}
	}
	evaluation := &recorder{scriptedEnv: &scriptedEnv{place: env.place, desired: env.desired}}
	evaluation.on = func(call string, _ float64) {
		if call == "reset" {
			note("evaluation")
		}
	}
	a.SetCurriculum(curriculumFunc(func(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
		now := a.State().Achieved[0]
		if note(map[bool]string{true: "first goal", false: "next goal"}[first]); a.Achieved(a.Steps())[0] != now || now != float64(a.Steps()/3*10+a.Steps()%3) {
			t.Errorf("a goal is set at %v after %d steps", now, a.Steps())
		}
		return []float64{now + 1.05}, nil
	}))
	a.curriculum, a.learner = toldEpisode{a.curriculum, note}, toldLearner{a.learner, note}
	train(t, a, env, evaluation, TrainOptions{
		Steps: 6, EvalEvery: 6, Rollouts: 1,
		AfterEvaluation: func(Evaluation) error { note("evaluated"); return nil },
		AfterStep:       func() error { note("stepped"); return nil },
	})
	next, learn := []string{"step", "reward", "pursued?", "next goal"}, []string{"learn", "learn", "stepped"}
	ends := []string{"normalizers", "curriculum's end", "learner's end"}
	want := slices.Concat([]string{"normalizers", "reset", "first goal"}, next, learn[2:], next, learn[2:],
		next[:3], ends, learn[2:], // no goal at an episode's end
		[]string{"reset", "first goal"}, next, learn, next, learn,
		next[:3], learn[:2], ends, []string{"evaluation", "evaluated", "stepped"})
	if diff := cmp.Diff(want, did); diff != "" || a.goalsSet != 6 || a.goalsReached != 6 { // each in one step
		t.Errorf("the order of six steps, with %d goals set and %d reached (-want +got):\n%s", a.goalsSet, a.goalsReached, diff)
	}
}

// Each purpose of chance has its own stream: what is drawn more often for one, or
// otherwise, changes nothing for another.
func TestStreams(t *testing.T) {
	// trace returns what each purpose decides in a run, one line each.
	trace := func(seed uint64, changes string, more, rollouts int) map[string]string {
		a := handAgent(t, hand{policy: rule{c: 0.3}, target: [3]rule{{c: -0.1}, {c: -0.2}, {c: -0.3}}, head: apart(rule{s: 1, c: 100})},
			seed, "InitialSteps=20 LearningStarts=15 Slope=4 Intercept=-1 UncertaintyActions=2 "+changes)
		env := &recorder{scriptedEnv: &scriptedEnv{place: func(e, k int) float64 { return float64(10*e + k) }, more: more}}
		var draws, goals, pairs []float64
		train(t, a, env, &scriptedEnv{place: env.place}, TrainOptions{Steps: 60, EvalEvery: 1, Rollouts: rollouts, AfterStep: func() error {
			rows, reward := env.asked[2:], 0.0
			env.asked = nil
			for _, row := range rows {
				draws = append(draws, row[0])
				reward += env.scriptedEnv.Reward(row[:1], row[1:]) / float64(len(rows))
			}
			for _, g := range a.Goals(a.Steps()-1, a.Steps()) {
				goals = append(goals, g[0])
			}
			// With Q = 0 the loss is the mean of (r + γ y)², and r is 0 or -1.
			y := -0.99 * 0.2
			if loss := a.Evaluations()[a.Steps()-1].CriticLoss; math.Abs(loss-(-reward*(1-2*y)+y*y)) > 1e-5 {
				y = -0.99 * 0.3
			}
			pairs = append(pairs, y)
			return nil
		}})
		return map[string]string{
			"environment": fmt.Sprint(env.chance), "exploration": fmt.Sprint(env.actions),
			"replay": fmt.Sprint(draws), "learning": fmt.Sprint(pairs), "goals": fmt.Sprint(goals),
		}
	}
	plain := trace(1, "", 0, 1)
	for _, test := range []struct {
		seed    uint64
		changes string
		more    int    // numbers of the environment's at a reset
		moved   string // purposes, in their order
	}{
		{1, "", 0, ""}, // by rollouts of evaluations
		{2, "", 0, "environment exploration goals learning replay"},
		{1, "", 3, "environment"},
		{1, "ActionNoise=0.3", 0, "exploration"},
		{1, "RandomAction=0.9 RandomActionLater=0.9", 0, "exploration"},
		{1, "Batch=9", 0, "replay"},
		{1, "HindsightRatio=0", 0, "replay"},
		{1, "NormalizerDraws=9", 0, "replay"},
		{1, "Learner=authors", 0, "goals learning replay"},
		{1, "UncertaintyActions=3", 0, "goals"},
		{1, "Candidates=9", 0, "goals"},
	} {
		var moved []string
		for purpose, now := range trace(test.seed, test.changes, test.more, 3) {
			if now != plain[purpose] {
				moved = append(moved, purpose)
			}
		}
		slices.Sort(moved)
		if got := strings.Join(moved, " "); got != test.moved {
			t.Errorf("seed %d, %q, %d more: what is drawn for %q changes, want %q", test.seed, test.changes, test.more, got, test.moved)
		}
	}
}

// The noise on each component has mean 0 and deviation ε, the sum is cut off at ±1,
// and a share of actions is uniform over the action space.
func TestExploration(t *testing.T) {
	const n = 20_000
	for _, test := range []struct {
		c     float64 // of the policy, whose action is tanh(c) in each component
		share string
	}{{0, "0"}, {0, "0.3"}, {1, "0"}, {-1, "0.3"}} {
		p := handAgent(t, hand{}, 1, "Horizon=100000 ActionNoise=0.2 RandomAction="+test.share+" RandomActionLater="+test.share).Params()
		a := newAgent(t, p, new(lineEnv).Sizes(), 1)
		clear(a.policy.net.params)
		copy(a.policy.net.layers[1].b, float32s([]float64{test.c, test.c}))
		a.SetCurriculum(curriculumFunc(ownHER))
		var actions [][]float64
		env := &lineEnv{onStep: func(_ *lineEnv, action []float64) { actions = append(actions, slices.Clone(action)) }}
		train(t, a, env, new(lineEnv), TrainOptions{Steps: n, EvalEvery: 1e9, Rollouts: 1})
		for _, bound := range []float64{-1, -0.9, -0.5, -0.2, -0.1, 0, 0.1, 0.2, 0.5, 0.9, math.Nextafter(1, 0)} {
			count, before := [4]int{}, false
			for _, action := range actions {
				below := [2]bool{action[0] <= bound, action[1] <= bound}
				for i, is := range [4]bool{below[0], below[1], below[0] && below[1], below[0] && before} {
					if is {
						count[i]++
					}
				}
				if before = below[0]; math.Abs(action[0]) > 1 || math.Abs(action[1]) > 1 {
					t.Fatalf("an action of %v", action)
				}
			}
			noisy := math.Erfc(-(bound-math.Tanh(test.c))/0.2/math.Sqrt2) / 2
			uniform, share := (bound+1)/2, p.RandomAction
			q := (1-share)*noisy + share*uniform
			for i, q := range [4]float64{q, q, (1-share)*noisy*noisy + share*uniform*uniform, q * q} {
				what := []string{"first", "second", "both", "first after another"}[i]
				if n*q < 1 {
					continue
				}
				frequency(t, fmt.Sprintf("tanh(%v), random %s: at most %.2f, %s", test.c, test.share, bound, what), count[i], n-i/3, q)
			}
		}
	}
}

// The normalizers are shown NormalizerDraws of a finished episode's transitions, of
// states those before the step, and goals as in a minibatch, relabeled or their own.
// They count from 1, with a zero.
func TestNormalizersShown(t *testing.T) {
	for _, test := range []struct {
		what, changes string
		place         func(e, k int) float64
		shown         func(e int) float64
		of            func(a *Agent) *normalizer
	}{
		{"states", "HindsightRatio=0 NormalizerFloor=2", func(e, k int) float64 { return float64(4*e + k/5*50) }, func(e int) float64 { return 4*float64(e) + 0.5 },
			func(a *Agent) *normalizer { return a.stateScale }},
		{"own goals", "HindsightRatio=0", func(e, k int) float64 { return float64(4*e + k/5*50) }, func(e int) float64 { return -3 - float64(e) },
			func(a *Agent) *normalizer { return a.goalScale }},
		{"relabeled goals", "HindsightRatio=1000", func(e, k int) float64 { return float64(4*e + (k+4)/5) }, func(e int) float64 { return 4*float64(e) + 1 },
			func(a *Agent) *normalizer { return a.goalScale }},
	} {
		a := handAgent(t, hand{}, 1, "NormalizerDraws=9 "+test.changes)
		a.SetCurriculum(curriculumFunc(func(a *Agent, _ bool, _ *rand.Rand) ([]float64, error) {
			return []float64{float64(-3 - a.Steps()/5)}, nil
		}))
		trainScripted(t, a, &scriptedEnv{place: test.place}, 17, func() error {
			count, sum, square := 1.0, 0.0, 0.0
			for e := range a.Steps() / 5 {
				x := test.shown(e)
				count, sum, square = count+9, sum+9*x, square+9*x*x
			}
			mean, σ := sum/count, math.Max(math.Sqrt(square/count-sum/count*sum/count), a.Params().NormalizerFloor)
			if count == 1 {
				σ = 1
			}
			n := test.of(a)
			near(t, fmt.Sprintf("step %d: %s: mean and scale", a.Steps(), test.what), float32s([]float64{n.mean[0], n.scale[0]}), []float64{mean, 1 / σ})
			return nil
		})
	}
}
