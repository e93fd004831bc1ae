package qta

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

const (
	digestsFile   = "testdata/digests.json"
	updateDigests = "go test -run TestDigests -update"
)

// of returns the digests with a kernel.
func (d *digests) of(k kernel) map[string]digest {
	if k == generic {
		return d.Generic
	}
	return d.Fused
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

// writeDigests records all variants with every kernel of this machine.
func writeDigests(t *testing.T) {
	t.Helper()
	d := digests{Version: Version, Fused: map[string]digest{}, Generic: map[string]digest{}}
	for _, k := range kernels() {
		for _, v := range variants() {
			d.of(k)[v.Name] = digestOf(t, v.Params, k)
		}
	}
	if len(d.Fused) == 0 {
		t.Fatal("this machine has no kernel that computes the fused digests")
	}
	data, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, digestsFile, append(data, '\n'))
}

// digestVariants returns the variants whose runs are compared with a kernel's digests. With
// -short they are few.
func digestVariants(k kernel) []Preset {
	switch {
	case !testing.Short():
		return variants()
	case k == best:
		return []Preset{{"beyond", Beyond()}, {"authors", Authors()}}
	case k == generic:
		return []Preset{{"beyond", Beyond()}}
	}
	return nil
}

// TestDigests holds runs to bytes that are the same on every architecture, in
// one set with fused multiply-adds and one without.
func TestDigests(t *testing.T) {
	t.Parallel()
	if *update {
		writeDigests(t)
		return
	}
	var want digests
	if err := json.Unmarshal([]byte(readText(t, digestsFile)), &want); err != nil {
		t.Fatal(err)
	}
	if want.Version != Version {
		t.Errorf("%s is of version %s, this is %s; run: %s", digestsFile, want.Version, Version, updateDigests)
	}
	checkpoints := 0
	for _, k := range kernels() {
		for _, v := range digestVariants(k) {
			recorded := want.of(k)[v.Name]
			got := digestOf(t, v.Params, k)
			if got.Checkpoint != recorded.Checkpoint {
				got.Checkpoint = recorded.Checkpoint
				checkpoints++
			}
			if diff := cmp.Diff(recorded, got); diff != "" {
				t.Errorf("%s, %v kernel (-want +got):\n%.1000s\nif results are meant to change, raise Version and run: %s",
					v.Name, k, diff, updateDigests)
			}
		}
	}
	if checkpoints > 0 {
		t.Errorf("%d checkpoints have other bytes; if that is all, as with a new parameter, run: %s; "+
			"if their layout is another, raise checkpointFormat before", checkpoints, updateDigests)
	}
}

// Each variant has digests, and nothing else has.
func TestDigestsOfVariants(t *testing.T) {
	var recorded digests
	if err := json.Unmarshal([]byte(readText(t, digestsFile)), &recorded); err != nil {
		t.Fatal(err)
	}
	names := each(variants(), func(v Preset) string { return v.Name })
	slices.Sort(names)
	for kind, got := range map[string]map[string]digest{"fused": recorded.Fused, "generic": recorded.Generic} {
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s digests in %s (-variants +digests); run: %s\n%s", kind, digestsFile, updateDigests, diff)
		}
	}
}

// The networks of the tests of an update.
var updateNetworks = linearNetworks{
	policy:        linear{s: 0.02, g: -0.03, c: 0.1},
	targetPolicy:  linear{s: -0.01, g: 0.04, c: -0.3},
	critics:       [3]linear{{0.01, -0.02, 0.3, -1}, {0.02, -0.02, 0.3, -2}, {0.03, -0.02, 0.3, -3}},
	targetCritics: [3]linear{{0.12, 0, 0.5, -2.4}, {-0.12, 0.02, 0.5, 0.8}, {0, 0.12, 0.5, -1.6}},
	heads:         [3]linear{{0, 0, 0.1, 0}, {0.02, 0.01, 0.1, 0.5}, {0.03, 0.04, 0.1, 0.9}},
}

// updatingAgent returns an agent with these networks and 12 transitions, from 10e+k to
// 10e+k+1 in step k of episode e. The last episode is under way.
func updatingAgent(t *testing.T, changes string) *Agent {
	t.Helper()
	a := linearAgent(t, updateNetworks, 1, "Discount=0.5 "+changes)
	remember(a, []float64{0, 1, 2, 3, 4, 5}, []float64{10, 11, 12, 13, 14, 15}, []float64{20, 21, 22})
	return a
}

// updateTimes makes updates and returns their minibatches.
func updateTimes(t *testing.T, a *Agent, n int) [][]recordedRow {
	t.Helper()
	r := record(a)
	for range n {
		if err := a.update(); err != nil {
			t.Fatal(err)
		}
	}
	return r.minibatches
}

// A row of a minibatch is its transition as the networks see it, with s, s' and g
// normalized. Its reward is that of the goal achieved at s' for the goal it is replayed
// with, whatever the reward was. Its head is to predict s' as it is, or with the authors'
// learner the goal achieved there.
func TestMinibatch(t *testing.T) {
	for _, test := range []struct {
		learner    string
		headTarget float64 // less the place
	}{{"paper", 0.5}, {"authors", 0}} {
		a := updatingAgent(t, "Learner="+test.learner)
		a.stateScale.mean[0], a.stateScale.scale[0] = 1, 0.5
		a.goalScale.mean[0], a.goalScale.scale[0] = 2, 0.25
		successes := 0
		for _, row := range slices.Concat(updateTimes(t, a, 50)...) {
			place := float64(row.transition/5*10 + row.transition%5)
			goal := 4*row.g + 2
			want := row
			want.s = (place + 0.5 - 1) / 2
			want.next = (place + 1.5 - 1) / 2
			want.nextG = row.g
			want.a = float64(row.transition) / 16
			want.headTarget = place + 1 + test.headTarget
			want.r = -1
			if goal == place+1 {
				want.r = 0
				successes++
			}
			if row != want {
				t.Errorf("Learner %s: transition %d, replayed with the goal %v, is the row\n%+v, want\n%+v",
					test.learner, row.transition, goal, row, want)
			}
		}
		if successes == 0 {
			t.Errorf("Learner %s: no goal is the one achieved at s'", test.learner)
		}
	}
}

// The pairs M of three target critics.
var pairs = [][2]int{{0, 1}, {0, 2}, {1, 2}}

// pairOf returns the number of the pair M for which the targets of a minibatch are Equation
// 1 with a discount of 0.5, clipped to the bounds, or -1.
func pairOf(rows []recordedRow, low, high float64) int {
	return slices.IndexFunc(pairs, func(M [2]int) bool {
		for _, row := range rows {
			action := math.Tanh(updateNetworks.targetPolicy.at(row.next, row.g, 0))
			q1 := updateNetworks.targetCritics[M[0]].at(row.next, row.g, action)
			q2 := updateNetworks.targetCritics[M[1]].at(row.next, row.g, action)
			y := row.r + 0.5*min(q1, q2)
			if math.Abs(min(max(y, low), high)-row.y) > 1e-5 {
				return false
			}
		}
		return true
	})
}

// The targets of a minibatch are Equation 1 with one pair M for all rows: the smaller value
// of two target critics in s', at the target policy's action. They are clipped to the
// possible returns. All pairs are equally likely.
func TestTargets(t *testing.T) {
	for _, test := range []struct {
		changes   string
		low, high float64
	}{
		{"ClipReturns=true", -2, 0},
		{"ClipReturns=false", math.Inf(-1), math.Inf(1)},
	} {
		var drawn []float64
		for _, rows := range updateTimes(t, updatingAgent(t, test.changes), 600) {
			M := pairOf(rows, test.low, test.high)
			if M < 0 {
				t.Fatalf("%s: there is no pair M for which the targets are Equation 1 in\n%+v", test.changes, rows)
			}
			drawn = append(drawn, float64(M))
		}
		checkDraws(t, test.changes+": number of the pair M", drawn, map[float64]float64{0: 1. / 3, 1: 1. / 3, 2: 1. / 3})
	}
}

// The log has the losses of the latest update: of the critics Equation 2 with the weights of
// Equation 8, of the heads Equation 4 without them, and of the policy the mean of the
// critics at its own action in s, and the cost of that action, also without.
func TestLosses(t *testing.T) {
	for _, changes := range []string{"Replay=uniform", "Replay=per"} {
		a := updatingAgent(t, changes)
		if changes == "Replay=per" {
			prioritiesOf(a).set(3, 5)
		}
		rows := updateTimes(t, a, 1)[0]
		var want losses
		n := float64(len(rows))
		for _, row := range rows {
			action := math.Tanh(updateNetworks.policy.at(row.s, row.g, 0))
			want.policy += action * action / n
			for i := range 3 {
				q := updateNetworks.critics[i].at(row.s, row.g, row.a)
				prediction := updateNetworks.heads[i].at(row.s, row.g, row.a)
				want.critic += row.w * math.Pow(q-row.y, 2) / n / 3
				want.head += math.Pow(prediction-row.headTarget, 2) / n / 3
				want.policy -= updateNetworks.critics[i].at(row.s, row.g, action) / n / 3
			}
		}
		e, err := a.Evaluate(&scriptedEnv{place: func(int, int) float64 { return 0 }}, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := losses{critic: e.CriticLoss, head: e.PredictiveLoss, policy: e.ActorLoss}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(losses{}), cmpopts.EquateApprox(1e-5, 0)); diff != "" {
			t.Errorf("%s: losses in the log (-want +got):\n%s", changes, diff)
		}
	}
}

// networks returns the numbers of an agent's networks by name. Those of a critic end with
// its head's.
func networks(a *Agent) map[string][]float32 {
	all := map[string][]float32{}
	for _, params := range a.parameters() {
		all[params.name] = slices.Clone(params.values)
	}
	return all
}

// At first each target network is the network that it follows. No two other networks are
// alike, of one seed or of two.
func TestStart(t *testing.T) {
	whose := map[float32]string{} // by its first number
	for _, seed := range []uint64{1, 2} {
		all := networks(newMazeAgent(t, tiny(Paper(), ""), seed))
		for name, values := range all {
			followed, isTarget := strings.CutPrefix(name, "target ")
			if isTarget {
				if !slices.Equal(values, all[followed][:len(values)]) {
					t.Errorf("the %s does not start equal to the %s", name, followed)
				}
				continue
			}
			if other := whose[values[0]]; other != "" {
				t.Errorf("the %s of seed %d starts as the %s", name, seed, other)
			}
			whose[values[0]] = fmt.Sprintf("%s of seed %d", name, seed)
		}
	}
}

// updatedNetworks returns an agent's networks before and after its first update. Before it
// the target networks are moved away.
func updatedNetworks(t *testing.T, changes string) (before, after map[string][]float32) {
	t.Helper()
	a, _ := walked(t, tiny(Paper(), changes), 40)
	moveTargets(a)
	before = networks(a)
	if err := a.update(); err != nil {
		t.Fatal(err)
	}
	return before, networks(a)
}

// In the first update the largest step of a network is its rate, as Adam's first step is.
func TestRates(t *testing.T) {
	before, after := updatedNetworks(t, "ActorRate=0.001 CriticRate=0.002 PredictiveRate=0.005")
	const head = 2*8 + 2 // numbers, at the end of a critic's: two outputs of eight units, with biases
	for _, test := range []struct {
		network  string
		from, to int
		rate     float64
	}{
		{"policy", 0, len(before["policy"]), 0.001},
		{"critic 1", 0, len(before["critic 1"]) - head, 0.002},
		{"critic 3", 0, len(before["critic 3"]) - head, 0.002},
		{"critic 1", len(before["critic 1"]) - head, len(before["critic 1"]), 0.005},
		{"critic 3", len(before["critic 3"]) - head, len(before["critic 3"]), 0.005},
	} {
		largest := 0.0
		for i := test.from; i < test.to; i++ {
			step := float64(after[test.network][i]) - float64(before[test.network][i])
			largest = math.Max(largest, math.Abs(step))
		}
		what := fmt.Sprintf("%s, numbers %d to %d: the rate", test.network, test.from, test.to)
		near(t, what, []float32{float32(largest)}, []float64{test.rate})
	}
}

// A target network follows its network after that has moved, by Equation 3.
func TestTargetsFollow(t *testing.T) {
	before, after := updatedNetworks(t, "ActorRate=0.1 CriticRate=0.1 Polyak=0.75")
	for _, name := range []string{"policy", "critic 1", "critic 2", "critic 3"} {
		target := "target " + name
		want := make([]float64, len(before[target]))
		for i := range want {
			want[i] = 0.75*float64(before[target][i]) + 0.25*float64(after[name][i])
		}
		near(t, fmt.Sprintf("the %s after its update: number of the %s", name, target), after[target], want)
	}
}

// An eventEnv notes calls of its methods.
type eventEnv struct {
	*scriptedEnv
	note func(event string)
}

func (e eventEnv) Reset(rng *rand.Rand) State {
	e.note("reset")
	return e.scriptedEnv.Reset(rng)
}

func (e eventEnv) Step(action []float64) (State, float64) {
	e.note("step")
	return e.scriptedEnv.Step(action)
}

// The order of what a step does. The agent reaches each goal in one step: its first
// episode of two steps is before LearningStarts, its second after it. An evaluation
// follows.
func TestStepOrder(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Horizon=2 LearningStarts=2")
	a.SetCurriculum(curriculumFunc(func(a *Agent, _ bool, _ *rand.Rand) ([]float64, error) {
		return []float64{a.State().Achieved[0] + 1}, nil // where the next step leads
	}))
	r := record(a)
	place := func(e, k int) float64 { return float64(10*e + k) }
	env := eventEnv{&scriptedEnv{place: place}, r.note}
	evaluation := eventEnv{&scriptedEnv{place: place}, r.note}
	train(t, a, env, evaluation, TrainOptions{
		Steps: 4, EvalEvery: 4, Rollouts: 1,
		AfterEvaluation: func(Evaluation) error {
			r.note("AfterEvaluation")
			return nil
		},
		AfterStep: func() error {
			r.note("AfterStep")
			return nil
		},
	})
	want := []string{
		"reset", "first goal",
		"step", "stored", "next goal", "AfterStep",
		"step", "stored", // and no goal at an episode's end
		"normalizers", "curriculum's end of an episode", "learner's end of an episode", "AfterStep",

		"reset", "first goal",
		"step", "stored", "next goal", "update", "AfterStep",
		"step", "stored", "update",
		"normalizers", "curriculum's end of an episode", "learner's end of an episode",
		"reset", "step", "step", "AfterEvaluation", "AfterStep",
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("the order of four steps (-want +got):\n%s", diff)
	}
}

// The log counts the goals that the agent set itself, and of these the reached ones, each
// once. An episode's last step can reach a goal but sets none.
func TestGoalsCounted(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "")
	goals := map[int][]float64{ // by the step before which they are set
		0: {2}, 2: {5}, // both are reached
		5:  {17}, // is not
		10: {21}, // is reached, and kept while the agent stays there
	}
	a.SetCurriculum(curriculumFunc(func(a *Agent, _ bool, _ *rand.Rand) ([]float64, error) {
		return goals[a.Steps()], nil
	}))
	place := func(e, k int) float64 {
		if e == 2 {
			return 21
		}
		return float64(10*e + k)
	}
	train(t, a, &scriptedEnv{place: place}, &scriptedEnv{place: place}, TrainOptions{Steps: 15, EvalEvery: 5, Rollouts: 1})
	var got [][2]int
	for _, e := range a.Evaluations() {
		got = append(got, [2]int{e.GoalsSet, e.GoalsReached})
	}
	if diff := cmp.Diff([][2]int{{2, 2}, {3, 2}, {4, 3}}, got); diff != "" {
		t.Errorf("goals set and reached after 5, 10 and 15 steps (-want +got):\n%s", diff)
	}
}

// randomDecisions returns what a run decides by chance, by the purpose of the chance.
func randomDecisions(t *testing.T, seed uint64, changes string, environmentDraws, rollouts int) map[string]string {
	t.Helper()
	a := linearAgent(t, linearNetworks{
		policy:        linear{c: 0.3},
		targetCritics: [3]linear{{c: -0.1}, {c: -0.2}, {c: -0.3}},
		heads:         deviating(linear{s: 1, c: 100}),
	}, seed, "InitialSteps=20 LearningStarts=15 Slope=4 Intercept=-1 UncertaintyActions=2 "+changes)
	r := record(a)
	place := func(e, k int) float64 { return float64(10*e + k) }
	env := &scriptedEnv{place: place, more: environmentDraws}
	train(t, a, env, &scriptedEnv{place: place}, TrainOptions{Steps: 60, EvalEvery: 1, Rollouts: rollouts})
	var replayed, targets []string
	for _, rows := range r.minibatches {
		for _, row := range rows {
			replayed = append(replayed, fmt.Sprint(row.transition, row.r))
		}
		// The minimum over M is -0.2 or -0.3.
		targets = append(targets, fmt.Sprintf("%.4f", rows[0].y-rows[0].r))
	}
	return map[string]string{
		"environment": fmt.Sprint(env.chance),
		"exploration": fmt.Sprint(env.actions),
		"replay":      fmt.Sprint(replayed),
		"learning":    fmt.Sprint(targets),
		"goals":       fmt.Sprint(a.Goals(0, a.Steps())),
	}
}

// Each purpose of chance has its own stream: what draws more for one purpose, or
// otherwise, changes nothing for another.
func TestStreams(t *testing.T) {
	usual := randomDecisions(t, 1, "", 0, 1)
	for _, test := range []struct {
		what             string
		seed             uint64
		changes          string
		environmentDraws int
		moved            string // purposes, in alphabetical order
	}{
		{"more rollouts", 1, "", 0, ""},
		{"another seed", 2, "", 0, "environment exploration goals learning replay"},
		{"an environment that draws more", 1, "", 3, "environment"},
		{"more noise on actions", 1, "ActionNoise=0.3", 0, "exploration"},
		{"more random actions", 1, "RandomAction=0.9 RandomActionLater=0.9", 0, "exploration"},
		{"larger minibatches", 1, "Batch=9", 0, "replay"},
		{"no hindsight", 1, "HindsightRatio=0", 0, "replay"},
		{"more shown to the normalizers", 1, "NormalizerDraws=9", 0, "replay"},
		{"the authors' learner", 1, "Learner=authors", 0, "goals learning replay"},
		{"more actions in Equation 5", 1, "UncertaintyActions=3", 0, "goals"},
		{"fewer candidates", 1, "Candidates=9", 0, "goals"},
	} {
		var moved []string
		for purpose, decisions := range randomDecisions(t, test.seed, test.changes, test.environmentDraws, 3) {
			if decisions != usual[purpose] {
				moved = append(moved, purpose)
			}
		}
		slices.Sort(moved)
		if got := strings.Join(moved, " "); got != test.moved {
			t.Errorf("%s: the chance of %q changes, want that of %q: each purpose has its own stream", test.what, got, test.moved)
		}
	}
}
