package qta

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the tests derive from the source; never the golden vectors")

func newAgent(t testing.TB, p Params, s Sizes, seed uint64) *Agent {
	t.Helper()
	a, err := NewAgent(p, s, seed)
	must(t, err)
	return a
}

// train trains an agent and fails the test on an error.
func train(t testing.TB, a *Agent, env, evaluation Env, o TrainOptions) {
	t.Helper()
	must(t, a.Train(t.Context(), env, evaluation, o))
}

// The same seed gives the same state, to the byte, with any number of threads. The batch is so
// large that threads share a product. On one thread networks take it in two or three chunks,
// and on three threads in one chunk. TestDigests compares the kernels.
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

// walked returns an agent that has walked through a maze at random and has never learned.
// Its last episode is under way. Its normalizers have seen nothing, so its networks see
// positions as they are.
func walked(t testing.TB, p Params, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 2)
	env := mustMaze(t, "1U5").Env()
	rng := seeded(9, 0)
	action := make([]float64, 2)
	for i := range steps {
		if i%p.Horizon == 0 {
			s := env.Reset(rng)
			a.enterState(s)
			copy(a.desired, s.Desired)
		}
		uniformAction(action, rng)
		s, _ := env.Step(action)
		// The goal of each step differs from all others, so that a test can tell them apart.
		goal := []float64{a.desired[0] + 0.01*rng.Float64(), a.desired[1]}
		a.replay.add(a.observation, a.achieved, action, goal, s)
		a.enterState(s)
	}
	a.step = steps
	a.env = env
	return a
}

// mustUpdate makes one update.
func mustUpdate(t testing.TB, a *Agent) {
	t.Helper()
	must(t, a.update())
}

// poison writes a NaN into each of an agent's networks whose name begins with prefix, or +Inf
// into a moment of a critic. An index below 0 counts from the end.
func poison(t *testing.T, a *Agent, prefix string, index int) {
	t.Helper()
	if prefix == "moment" {
		a.pun.critics[0].adam.v[index] = float32(math.Inf(1))
		return
	}
	found := false
	for _, params := range a.parameters() {
		if strings.HasPrefix(params.name, prefix) {
			n := len(params.values)
			params.values[(index+n)%n] = float32(math.NaN())
			found = true
		}
	}
	if !found {
		t.Fatalf("the agent has no network %s", prefix)
	}
}

// If a number goes wrong, training stops with an error that names the step and the network.
// A number that no update uses is found by the next evaluation.
func TestNumericError(t *testing.T) {
	const noUpdates = "LearningStarts=1000"
	for _, test := range []struct {
		poisoned string // the networks that get a NaN after step 12
		index    int    // where they get it; from the end if it is below 0
		changes  string
		network  string // that the error names
		step     int    // that the error names
	}{
		{"policy", -1, "", "policy", 12}, // before the next step is taken
		{"target policy", -1, "", "critics", 13},
		{"critic 2", 3, "", "critics", 13},
		{"target critic", -1, "", "critics", 13},
		{"critic 1", -1, "", "predictive heads", 13}, // a critic's end with its head's
		{"critic 3", -1, "Learner=authors", "predictive heads", 13},
		{"critic 2", 3, "Learner=vds Horizon=13", "critics", 13},
		{"VDS member", 0, "Curriculum=vds Horizon=13", "VDS value functions", 13}, // which learn at an episode's end
		{"critic 3", -1, noUpdates, "critic 3", 14},
		{"target policy", 1, noUpdates, "target policy", 14},
		{"target critic 1", 1, noUpdates, "target critic 1", 14},
		{"moment", 1, "", "training state", 14}, // an infinite one stops a parameter, and no loss shows it
	} {
		a := newMazeAgent(t, tiny(Beyond(), test.changes), 1)
		m := mustMaze(t, "1U5")
		err := a.Train(t.Context(), m.Env(), m.Env(), TrainOptions{
			Steps: 100, EvalEvery: 14, Rollouts: 1,
			AfterStep: func() error {
				if a.step == 12 {
					poison(t, a, test.poisoned, test.index)
				}
				return nil
			},
		})
		what := test.poisoned + " poisoned, " + test.changes
		namesNumber(t, what, test.network, test.step, err)
		checkBegins(t, what, err, fmt.Sprintf("qta: step %d: %s: ", test.step, test.network))
	}
}

// lineAgent returns an agent for a lineEnv.
func lineAgent(t *testing.T, changes string) *Agent {
	t.Helper()
	return newAgent(t, tiny(Beyond(), changes), new(lineEnv).Sizes(), 1)
}

// trainError trains an agent and checks that the error begins with want.
func trainError(t *testing.T, a *Agent, env, evaluation Env, o TrainOptions, want string) {
	t.Helper()
	err := a.Train(t.Context(), env, evaluation, o)
	checkBegins(t, "Train's error", err, want)
}

// Train refuses other sizes, one instance for training and evaluation, and an evaluation
// without steps or rollouts. Environments that Go cannot compare count as two.
func TestTrainArguments(t *testing.T) {
	type incomparable struct {
		*lineEnv
		_ []int
	}
	a := lineAgent(t, "")
	maze := mustMaze(t, "1U5").Env()
	one := new(lineEnv)
	two := new(lineEnv)
	o := TrainOptions{Steps: 3, EvalEvery: 7, Rollouts: 1}
	trainError(t, a, maze, one, o, "qta: the environment has sizes {Observation:2 Goal:2 Action:2}, the agent {Observation:3")
	trainError(t, a, one, maze, o, "qta: the environment has sizes")
	trainError(t, a, one, one, o, "qta: training and evaluation need two instances")
	trainError(t, a, one, two, TrainOptions{Steps: 1, Rollouts: 1},
		"qta: EvalEvery is 0 and Rollouts is 1, allowed are 1 and above")
	trainError(t, a, one, two, TrainOptions{Steps: 1, EvalEvery: 1}, "qta: EvalEvery is 1 and Rollouts is 0")
	trainError(t, a, incomparable{lineEnv: one}, incomparable{lineEnv: two}, o, noError)
	for _, sizes := range []Sizes{{Goal: 1, Action: 1}, {Observation: 1, Action: 1}, {Observation: 1, Goal: 1}} {
		_, err := NewAgent(Small(), sizes, 1)
		checkBegins(t, "NewAgent's error", err, fmt.Sprintf("qta: environment sizes %+v", sizes))
	}
}

// A brokenTraining is a training in which an environment breaks its contract.
type brokenTraining struct {
	env, evaluation *lineEnv
	want            string // how the error begins
}

// brokenTrainings returns trainings with a broken environment of training.
func brokenTrainings() []brokenTraining {
	short := badState(func(_ *lineEnv, s *State) { s.Observation = s.Observation[:2] })
	// The goal changes in the slice that Reset has returned.
	movesGoal := badState(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 4) })
	lessFromStep5 := &lineEnv{onReturn: func(e *lineEnv, r float64) float64 { return r - float64(e.steps/5) }}
	noNumberInHindsight := &lineEnv{onReward: func(e *lineEnv, achieved, desired []float64, r float64) float64 {
		if desired[0] != e.goal[0] {
			return math.NaN()
		}
		return r
	}}
	return []brokenTraining{
		{short, new(lineEnv), "qta: step 0: environment: the observation has 2 numbers, Sizes says 3 after Reset"},
		{movesGoal, new(lineEnv),
			"qta: step 4: environment: number 0 of the desired goal went from 0 to 1 within an episode"},
		{lessFromStep5, new(lineEnv), "qta: step 5: environment: Step returned reward "},
		{noNumberInHindsight, new(lineEnv),
			"qta: step 6: environment: Reward is NaN for the goal achieved by step 3 and a replayed goal"},
	}
}

// brokenEvaluations returns trainings with a broken environment of evaluation.
func brokenEvaluations() []brokenTraining {
	empty := badState(func(_ *lineEnv, s *State) { s.Observation = nil })
	// The goal changes in the slice that Reset has returned.
	movesGoal := badState(func(e *lineEnv, s *State) { s.Desired[0] = float64(e.steps / 3) })
	halves := &lineEnv{onReward: func(_ *lineEnv, _, _ []float64, r float64) float64 { return r / 2 }}
	const rollout = "of an evaluation's rollout"
	return []brokenTraining{
		{new(lineEnv), empty,
			"qta: step 7: environment: after step 0 " + rollout + " the observation has 0 numbers, Sizes says 3"},
		{new(lineEnv), movesGoal,
			"qta: step 7: environment: after step 3 " + rollout + " number 0 of the desired goal went from 0 to 1"},
		{new(lineEnv), halves, "qta: step 7: environment: after step 1 " + rollout + " Step returned reward -0.5 and"},
	}
}

// badState returns a lineEnv whose states are changed.
func badState(change func(e *lineEnv, s *State)) *lineEnv { return &lineEnv{onState: change} }

// An environment that breaks its contract ends training. The error names the step and what
// is wrong, in the environment of training or of the evaluation. After an error within a step
// the agent can neither be saved nor train on.
func TestTrainErrors(t *testing.T) {
	o := TrainOptions{Steps: 20, EvalEvery: 7, Rollouts: 1}
	for _, learner := range []string{"paper", "authors"} {
		for _, test := range append(brokenTrainings(), brokenEvaluations()...) {
			a := lineAgent(t, "Learner="+learner)
			trainError(t, a, test.env, test.evaluation, o, test.want)
			if _, err := a.MarshalBinary(); err != errHalfway {
				t.Errorf("%s: saved within a step: error %v", test.want, err)
			}
			// Now Train refuses, whatever the environment is.
			trainError(t, a, new(lineEnv), new(lineEnv), o, errHalfway.Error())
		}
	}
}

// After an interruption within an episode, here after its third step, training goes on only
// in an environment that gives the same answers as before.
func TestTrainElsewhere(t *testing.T) {
	for _, test := range []struct {
		env  *lineEnv // that training is to go on in
		want string   // how the error begins
	}{
		{badState(func(_ *lineEnv, s *State) { s.Observation[1]++ }),
			"qta: step 11: environment: number 1 of the observation "},
		{badState(func(_ *lineEnv, s *State) { s.Achieved[0]++ }),
			"qta: step 11: environment: number 0 of the achieved goal "},
		{badState(func(_ *lineEnv, s *State) { s.Desired = []float64{s.Desired[0] + 1} }),
			"qta: step 13: environment: number 0 of the desired goal "},
	} {
		a := lineAgent(t, "")
		train(t, a, new(lineEnv), new(lineEnv), TrainOptions{Steps: 13, EvalEvery: 100, Rollouts: 1})
		trainError(t, a, test.env, new(lineEnv), TrainOptions{Steps: 20, EvalEvery: 7, Rollouts: 1}, test.want)
	}
}

// An update of an agent allocates nothing after the first one. Neither does an update of a
// PUN.
func TestUpdateAllocates(t *testing.T) {
	large := Preset{"large enough for threads", tiny(Paper(), "HiddenSize=100 Batch=200")}
	for _, v := range append(tinyVariants(), large) {
		for _, threads := range []int{1, 2} {
			a := walked(t, v.Params, 60)
			a.SetThreads(threads)
			a.update()
			n := testing.AllocsPerRun(20, func() { a.update() })
			checkEqual(t, 0.0, n, "%s, %d threads: allocations of an update", v.Name, threads)
			a.Close()
		}
	}
	const rows = 9
	u := learnedPUN(t, 20, 7)
	s := randomRows(seeded(1, 1), rows, 2)
	actions := slices.Repeat([][]float64{{0.5}}, rows)
	y := make([]float64, rows)
	n := testing.AllocsPerRun(20, func() { u.Learn(s, nil, actions, s, y) })
	checkEqual(t, 0.0, n, "allocations of a PUN's update")
}

// onePass returns how many multiply-adds a critic needs for one row. It is W of
// docs/machines.md.
func onePass(p Params, s Sizes) float64 {
	h := float64(p.HiddenSize)
	return float64(s.Observation+s.Goal+s.Action)*h + float64(p.HiddenLayers-1)*h*h + h
}

// multiplyAdds returns about how many multiply-adds an update needs, as docs/machines.md
// counts them.
func multiplyAdds(p Params, s Sizes) float64 {
	g := float64(p.Critics)
	passes := 5*g + 6
	if p.Learner == "authors" {
		passes += 3 * g
	}
	return passes * onePass(p, s) * float64(p.Batch)
}

func BenchmarkUpdate(b *testing.B) {
	presets := []Preset{{"params=beyond", Beyond()}, {"params=quick", Quick()}, {"params=authors", Authors()}}
	for _, change := range []string{"Uncertainty=bootstrap", "Uncertainty=ensemble", "Replay=per", "Replay=td"} {
		presets = append(presets, Preset{"params=beyond," + change, with(Beyond(), change)})
	}
	for _, v := range presets {
		b.Run(v.Name, func(b *testing.B) {
			transitions := 2000
			if v.Params.Replay != "uniform" {
				transitions = 150_000
			}
			a := walked(b, v.Params, transitions)
			b.ReportAllocs()
			measure(b, best, multiplyAdds(v.Params, a.sizes), func() { a.update() })
		})
	}
}

// callWithin calls methods of an agent in training: those that answer questions, and those that
// would change the training, which are refused. saved is a state of the agent.
func callWithin(t *testing.T, a *Agent, saved []byte) {
	t.Helper()
	state := a.State()
	s := [][]float64{state.Observation}
	g := [][]float64{state.Desired}
	a.Act(s[0], g[0])
	a.Value(s, g)
	a.Uncertainty(s, g, uint64(a.Steps()))
	a.Survey(s[0], g[0], s, g, 3)
	o := TrainOptions{Steps: a.Steps(), EvalEvery: 1, Rollouts: 1}
	for call, err := range map[string]error{
		"UnmarshalBinary": a.UnmarshalBinary(saved),
		"SetCurriculum":   a.SetCurriculum(curriculumFunc(ownHER)),
		"Train":           a.Train(t.Context(), new(lineEnv), new(lineEnv), o),
	} {
		if err != errTraining {
			t.Errorf("%s within training: error %v", call, err)
		}
	}
}

// Within training, an environment, a hook and a curriculum may ask the agent, overwrite an
// action and evaluate. None of this changes the run. A call that would change it is refused.
func TestWithinTraining(t *testing.T) {
	o := TrainOptions{Steps: 30, EvalEvery: 10, Rollouts: 1}
	undisturbed := lineAgent(t, "")
	undisturbed.SetCurriculum(curriculumFunc(ownHER))
	train(t, undisturbed, new(lineEnv), new(lineEnv), o)

	a := lineAgent(t, "")
	saved := marshal(t, a)
	a.SetCurriculum(curriculumFunc(func(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
		callWithin(t, a, saved)
		return ownHER(a, first, rng)
	}))
	env := &lineEnv{
		onStep: func(_ *lineEnv, action []float64) { action[0] = 77 },
		onReward: func(_ *lineEnv, _, _ []float64, r float64) float64 {
			callWithin(t, a, saved)
			if _, err := a.MarshalBinary(); err != errHalfway {
				t.Errorf("a checkpoint within a step: error %v", err)
			}
			return r
		},
	}
	o.AfterStep = func() error {
		callWithin(t, a, saved)
		if _, err := a.Evaluate(env, 1, 1); err != errTwoInstances {
			t.Errorf("an evaluation in the environment of training: error %v", err)
		}
		_, err := a.Evaluate(new(lineEnv), 1, 1)
		return err
	}
	evaluation := &lineEnv{onReset: func(*lineEnv) { callWithin(t, a, saved) }}
	train(t, a, env, evaluation, o)
	sameState(t, "asked, overwritten and evaluated", marshal(t, undisturbed), a)
	must(t, a.SetCurriculum(curriculumFunc(ownHER))) // after training it is not refused
}

// Evaluate refuses no rollouts and other sizes. An action that is not a number ends it.
func TestEvaluateErrors(t *testing.T) {
	a := lineAgent(t, "")
	poison(t, a, "policy", 0)
	for _, test := range []struct {
		env      Env
		rollouts int
		want     string // how the error begins
	}{
		{new(lineEnv), 1, "qta: step 0: policy: NaN is not"},
		{new(lineEnv), 0, "qta: an evaluation has 0 rollouts"},
		{new(scriptedEnv), 1, "qta: the environment has sizes {Observa"},
	} {
		_, err := a.Evaluate(test.env, test.rollouts, 1)
		checkBegins(t, "Evaluate's error", err, test.want)
	}
}

// digests is the content of testdata/digests.json: what short runs end with. It is the same
// on every machine.
type digests struct {
	Version string
	Fused   map[string]digest // by variant, with every kernel but the generic one
	Generic map[string]digest
}

type digest struct {
	Digest     string
	Checkpoint string // SHA-256 of a checkpoint, whose layout checkpointFormat counts
	Log        []Evaluation
}

const (
	digestsFile   = "testdata/digests.json"
	updateDigests = "go test . -run TestDigests -update"
)

// of returns the digests with a kernel.
func (d *digests) of(k kernel) map[string]digest {
	if k == generic {
		return d.Generic
	}
	return d.Fused
}

// digestOf trains for 200 steps. From step 100 on the curriculum qta sets goals by uncertainty.
// After step 150 there are more transitions than candidates.
func digestOf(t *testing.T, p Params, k kernel) digest {
	p.HiddenSize = 32
	p.Batch = 64
	p.InitialSteps = 100
	p.Candidates = min(p.Candidates, 150)
	p.LearningStarts = min(p.LearningStarts, 50)
	if p.Curriculum == "vds" {
		p.HiddenSize = 8 // for speed, because VDS makes many updates
	}
	m := mustMaze(t, "2U5")
	a := newAgent(t, p, m.Env().Sizes(), 1)
	a.workers.kernel = k
	defer a.Close()
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: 200, EvalEvery: 100, Rollouts: 5})
	return digest{
		Digest:     a.Digest(),
		Checkpoint: fmt.Sprintf("%x", sha256.Sum256(marshal(t, a))),
		Log:        a.Evaluations(),
	}
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
	must(t, err)
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

// checkVariants reports an error unless each variant has digests, and nothing else has.
func checkVariants(t *testing.T, kind string, recorded map[string]digest) {
	t.Helper()
	names := each(variants(), func(v Preset) string { return v.Name })
	slices.Sort(names)
	checkEqual(t, names, slices.Sorted(maps.Keys(recorded)),
		"run: %s; the %s digests in %s, which are to be the variants'", updateDigests, kind, digestsFile)
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
	must(t, json.Unmarshal([]byte(readText(t, digestsFile)), &want))
	if want.Version != Version {
		t.Errorf("%s is of version %s, this is %s; run: %s", digestsFile, want.Version, Version, updateDigests)
	}
	checkVariants(t, "fused", want.Fused)
	checkVariants(t, "generic", want.Generic)
	otherCheckpoints := 0
	for _, k := range kernels() {
		for _, v := range digestVariants(k) {
			recorded, found := want.of(k)[v.Name]
			if !found {
				continue // checkVariants has reported it
			}
			got := digestOf(t, v.Params, k)
			if got.Checkpoint != recorded.Checkpoint {
				got.Checkpoint = recorded.Checkpoint // counted, and not compared below
				otherCheckpoints++
			}
			if diff := cmp.Diff(recorded, got); diff != "" {
				t.Errorf("%s, %v kernel (-want +got):\n%.1000s\nif results are meant to change, raise Version and run: %s",
					v.Name, k, diff, updateDigests)
			}
		}
	}
	if otherCheckpoints > 0 {
		all := ""
		if testing.Short() {
			all = "run this test without -short, which compares all runs; "
		}
		t.Errorf("%d checkpoints have other bytes; %sif that is all, as with a new parameter, run: %s; "+
			"if their layout is another, raise checkpointFormat before", otherCheckpoints, all, updateDigests)
	}
}

// The discount of threeEpisodes, and the least return with it.
const (
	updateDiscount = 0.5
	updateLowest   = -1 / (1 - updateDiscount)
)

// The networks of the tests of an update.
var updateNetworks = linearNetworks{
	policy:       linear{s: 0.02, g: -0.03, c: 0.1},
	targetPolicy: linear{s: -0.01, g: 0.04, c: -0.3},
	critics: [3]linear{
		{s: 0.01, g: -0.02, a: 0.3, c: -1},
		{s: 0.02, g: -0.02, a: 0.3, c: -2},
		{s: 0.03, g: -0.02, a: 0.3, c: -3},
	},
	targetCritics: [3]linear{
		{s: 0.12, a: 0.5, c: -2.4},
		{s: -0.12, g: 0.02, a: 0.5, c: 0.8},
		{g: 0.12, a: 0.5, c: -1.6},
	},
	heads: [3]linear{
		{a: 0.1},
		{s: 0.02, g: 0.01, a: 0.1, c: 0.5},
		{s: 0.03, g: 0.04, a: 0.1, c: 0.9},
	},
}

// threeEpisodes returns an agent with the updateNetworks after 12 steps. Step k of episode e
// went from the place 10e+k to 10e+k+1. The last episode is under way.
func threeEpisodes(t *testing.T, changes string) *Agent {
	t.Helper()
	a := linearAgent(t, updateNetworks, 1, fmt.Sprint("Discount=", updateDiscount, " ", changes))
	remember(a, []float64{0, 1, 2, 3, 4, 5}, []float64{10, 11, 12, 13, 14, 15}, []float64{20, 21, 22})
	return a
}

// minibatchesOf makes n updates and returns their minibatches.
func minibatchesOf(t *testing.T, a *Agent, n int) [][]recordedRow {
	t.Helper()
	r := record(a)
	for range n {
		mustUpdate(t, a)
	}
	return r.minibatches
}

// A row of a minibatch is its transition as the networks see it, with s, s' and g
// normalized. Its reward is recomputed from the goal achieved at s' and the goal that it is
// replayed with. The head's target is s', not normalized. With the authors' learner it is the
// goal achieved at s'.
func TestMinibatch(t *testing.T) {
	for _, test := range []struct {
		learner string
		further float64 // by how much the head's target exceeds the goal achieved at s'
	}{
		{"paper", 0.5}, // the target is s', which is half a unit further than that goal
		{"authors", 0},
	} {
		// Step k of episode e led from place 10e + k to the next. An episode has five steps.
		a := threeEpisodes(t, "Learner="+test.learner)
		a.stateScale.mean[0] = 1
		a.stateScale.scale[0] = 0.5 // a factor
		a.goalScale.mean[0] = 2
		a.goalScale.scale[0] = 0.25
		successes := 0
		for _, row := range slices.Concat(minibatchesOf(t, a, 50)...) {
			episode := row.transition / 5
			place := float64(10*episode + row.transition%5)
			goal := row.g/0.25 + 2
			want := row
			want.s = (place + 0.5 - 1) * 0.5
			want.next = (place + 1.5 - 1) * 0.5
			want.nextG = row.g
			want.a = float64(row.transition) / 16 // the action that remember stores
			want.headTarget = place + 1 + test.further
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

// pairOf returns the number of the pair M with which a minibatch has the targets of Equation 1,
// clipped to the bounds. If there is none, it returns -1.
func pairOf(rows []recordedRow, low, high float64) int {
	return slices.IndexFunc(pairs, func(M [2]int) bool {
		for _, row := range rows {
			action := math.Tanh(updateNetworks.targetPolicy.at(row.next, row.g, 0))
			q1 := updateNetworks.targetCritics[M[0]].at(row.next, row.g, action)
			q2 := updateNetworks.targetCritics[M[1]].at(row.next, row.g, action)
			y := row.r + updateDiscount*min(q1, q2)
			clipped := min(max(y, low), high)
			if math.Abs(clipped-row.y) > 1e-5 {
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
		low, high float64 // the bounds of targets
	}{
		{"ClipReturns=true", updateLowest, 0},
		{"ClipReturns=false", math.Inf(-1), math.Inf(1)},
	} {
		var drawn []float64
		for _, rows := range minibatchesOf(t, threeEpisodes(t, test.changes), 600) {
			M := pairOf(rows, test.low, test.high)
			if M < 0 {
				t.Fatalf("%s: there is no pair M for which the targets are Equation 1 in\n%+v", test.changes, rows)
			}
			drawn = append(drawn, float64(M))
		}
		checkDraws(t, test.changes+": number of the pair M", drawn, alike(0, len(pairs)))
	}
}

// naiveLosses returns an evaluation with the losses of a minibatch by updateNetworks.
func naiveLosses(rows []recordedRow) (e Evaluation) {
	n := float64(len(rows))
	for _, row := range rows {
		action := math.Tanh(updateNetworks.policy.at(row.s, row.g, 0))
		e.ActorLoss += action * action / n
		for i, critic := range updateNetworks.critics {
			e.ActorLoss -= critic.at(row.s, row.g, action) / n / 3
			value := critic.at(row.s, row.g, row.a)
			e.CriticLoss += row.w * math.Pow(value-row.y, 2) / n / 3
			prediction := updateNetworks.heads[i].at(row.s, row.g, row.a)
			e.PredictiveLoss += math.Pow(prediction-row.headTarget, 2) / n / 3
		}
	}
	return e
}

// A row of the log has the step, the goals set and reached so far, and the losses of the
// latest update. The critics' loss is Equation 2 with the weights of Equation 8. The heads'
// loss is Equation 4, without weights. The policy's loss has no weights either: it is the
// cost of the policy's own action in s, less the mean of the critics' values of that action.
func TestLog(t *testing.T) {
	for _, changes := range []string{"Replay=uniform", "Replay=per"} {
		a := threeEpisodes(t, changes)
		if changes == "Replay=per" {
			prioritiesOf(a).set(3, 5) // transition 3 has five times the priority of the others
		}
		a.goalsSet = 7
		a.goalsReached = 6
		want := naiveLosses(minibatchesOf(t, a, 1)[0])
		want.Step = 12
		want.GoalsSet = 7
		want.GoalsReached = 6
		want.Return = -5 // of five steps, none of which ends at the goal, 0
		got, err := a.Evaluate(successes(0), 1, 1)
		must(t, err)
		checkNear(t, 1e-5, want, got, "%s: a row of the log, with the policy's loss for its own action in s", changes)
	}
}

// networks returns the parameters of an agent's networks by name. A critic's end with its
// head's.
func networks(a *Agent) map[string][]float32 {
	byName := map[string][]float32{}
	for _, params := range a.parameters() {
		byName[params.name] = slices.Clone(params.values)
	}
	return byName
}

// At first each target network equals the network that it follows. All other networks
// differ, with one seed and with two.
func TestStart(t *testing.T) {
	owners := map[float32]string{} // of a first number: which network begins with it
	for _, seed := range []uint64{1, 2} {
		start := networks(newMazeAgent(t, tiny(Paper(), ""), seed))
		for name, values := range start {
			if followed, isTarget := strings.CutPrefix(name, "target "); isTarget {
				want := start[followed][:len(values)]
				checkEqual(t, want, values, "the %s, which starts equal to the %s", name, followed)
				continue
			}
			if other := owners[values[0]]; other != "" {
				t.Errorf("the %s of seed %d starts as the %s", name, seed, other)
			}
			owners[values[0]] = fmt.Sprintf("%s of seed %d", name, seed)
		}
	}
	for _, c := range newMazeAgent(t, tiny(Paper(), "Uncertainty=bootstrap"), 1).pun.critics {
		checkEqual(t, c.q.params, c.target.params, "one backbone: a target starts equal to its critic")
	}
}

// updatedNetworks returns an agent's networks before and after its first update. Before it
// the target networks are moved away.
func updatedNetworks(t *testing.T, changes string) (before, after map[string][]float32) {
	t.Helper()
	a := walked(t, tiny(Paper(), changes), 40)
	moveTargets(a)
	before = networks(a)
	mustUpdate(t, a)
	return before, networks(a)
}

// largestStep returns how far the number moved that moved furthest.
func largestStep(before, after []float32) float64 {
	largest := 0.0
	for i, v := range before {
		step := math.Abs(float64(after[i]) - float64(v))
		largest = max(largest, step)
	}
	return largest
}

// In the first update the largest step of a network is its rate, as Adam's first step is.
func TestRates(t *testing.T) {
	const headSize = 2 * (8 + 1) // two outputs of eight hidden units, with a bias each
	before, after := updatedNetworks(t, "ActorRate=0.001 CriticRate=0.002 PredictiveRate=0.005")
	nearNumber(t, "rate of the policy", largestStep(before["policy"], after["policy"]), 0.001)
	for _, name := range []string{"critic 1", "critic 2", "critic 3"} {
		head := len(before[name]) - headSize // where the head begins
		nearNumber(t, "rate of "+name, largestStep(before[name][:head], after[name][:head]), 0.002)
		nearNumber(t, "rate of the head of "+name, largestStep(before[name][head:], after[name][head:]), 0.005)
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
		near(t, fmt.Sprintf("the %s, which follows the %s after that has moved", target, name), after[target], want)
	}
}

// The critics move first. The policy's gradient goes through the critics that have moved.
func TestCriticsMoveFirst(t *testing.T) {
	for _, changes := range []string{"", "PredictiveGradient=head"} {
		a := walked(t, tiny(Paper(), "CriticRate=0.1 "+changes), 40)
		before := float64Copies(a)
		mustUpdate(t, a)
		after := float64Copies(a)
		want := numericGradient(twinParams(before.actor...), func() float64 {
			return twinPolicyLoss(before.actor, after.critics, a.batch.x, a.params.ActionL2)
		})
		nearGradient(t, changes+": the policy's gradient, through the critics that have moved", firstGradient(a.policy.adam), want)
	}
}

// tens returns an environment whose place after k steps of episode e is 10e+k.
func tens(note func(event string)) *scriptedEnv {
	return &scriptedEnv{note: note, place: func(e, k int) float64 { return float64(10*e + k) }}
}

// The events of a step have an order. Here the agent reaches each goal in one step. Its first
// episode, of two steps, is before LearningStarts, and its second one after that. An
// evaluation follows.
func TestStepOrder(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Horizon=2 LearningStarts=2")
	whereTheNextStepLeads := func(a *Agent, _ bool, _ *rand.Rand) ([]float64, error) {
		return []float64{a.State().Achieved[0] + 1}, nil
	}
	a.SetCurriculum(curriculumFunc(whereTheNextStepLeads))
	r := record(a)
	train(t, a, tens(r.note), tens(r.note), TrainOptions{
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
	checkEqual(t, want, r.events, "the order of four steps")
	checkGoals(t, a, 4, 4)
}

// A chanceRun is a short run, which draws for every purpose of chance.
type chanceRun struct {
	seed     uint64
	changes  string // of parameters
	unused   int    // how many numbers the environment draws at each reset and does not use
	rollouts int    // of each evaluation, besides one
}

// decisions returns what the run decides by chance. The keys are the purposes of chance.
func (run chanceRun) decisions(t *testing.T) map[string]string {
	t.Helper()
	a := linearAgent(t, linearNetworks{
		policy:        linear{c: 0.3},
		targetCritics: [3]linear{{c: -0.1}, {c: -0.2}, {c: -0.3}},
		heads:         deviating(linear{s: 1, c: 100}),
	}, run.seed, "InitialSteps=20 LearningStarts=15 Slope=4 Intercept=-1 UncertaintyActions=2 "+run.changes)
	r := record(a)
	env := tens(nil)
	env.unused = run.unused
	train(t, a, env, tens(nil), TrainOptions{Steps: 60, EvalEvery: 1, Rollouts: 1 + run.rollouts})
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

// Each purpose of chance has its own stream. A run that draws more for one purpose, or draws
// differently, decides the same for the others.
func TestStreams(t *testing.T) {
	usual := chanceRun{seed: 1}.decisions(t)
	for _, test := range []struct {
		what  string
		run   chanceRun
		moved string // the purposes for which the run decides otherwise, in alphabetical order
	}{
		{"more rollouts", chanceRun{seed: 1, rollouts: 2}, ""},
		{"another seed", chanceRun{seed: 2}, "environment exploration goals learning replay"},
		{"an environment that draws more", chanceRun{seed: 1, unused: 3}, "environment"},
		{"more noise on actions", chanceRun{seed: 1, changes: "ActionNoise=0.3"}, "exploration"},
		{"more random actions", chanceRun{seed: 1, changes: "RandomAction=0.9 RandomActionLater=0.9"}, "exploration"},
		{"larger minibatches", chanceRun{seed: 1, changes: "Batch=9"}, "replay"},
		{"no hindsight", chanceRun{seed: 1, changes: "HindsightRatio=0"}, "replay"},
		{"more shown to the normalizers", chanceRun{seed: 1, changes: "NormalizerDraws=9"}, "replay"},
		{"the authors' learner", chanceRun{seed: 1, changes: "Learner=authors"}, "goals learning replay"},
		{"more actions in Equation 5", chanceRun{seed: 1, changes: "UncertaintyActions=3"}, "goals"},
		{"fewer candidates", chanceRun{seed: 1, changes: "Candidates=9"}, "goals"},
	} {
		var moved []string
		for purpose, decisions := range test.run.decisions(t) {
			if decisions != usual[purpose] {
				moved = append(moved, purpose)
			}
		}
		slices.Sort(moved)
		checkEqual(t, test.moved, strings.Join(moved, " "),
			"%s: each purpose has its own stream; the purposes with other decisions", test.what)
	}
}
