package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

// params returns a table as package qta has it.
func params(t table) qta.Params {
	p := qta.Paper()
	p.Batch = t.batch
	p.HiddenSize = t.hidden
	p.HiddenLayers = t.layers
	p.Critics = t.G
	p.HindsightRatio = t.hindsight
	p.Discount = t.γ
	p.Polyak = t.ρ
	p.ActorRate = t.actorRate
	p.CriticRate = t.criticRate
	p.PredictiveRate = t.predictiveRate
	p.ActionL2 = t.actionL2
	p.LearningStarts = t.learningStarts
	p.InitialSteps = t.initialSteps
	p.UncertaintyActions = t.d
	p.Candidates = t.N
	p.Threshold = t.threshold
	p.Slope = t.slope
	p.Intercept = t.intercept
	p.Horizon = t.horizon
	p.ActionNoise = t.noise
	p.RandomAction = t.randomAction
	p.RandomActionLater = t.randomAction
	p.PriorityBeta = t.β
	p.PriorityBetaSteps = t.βSteps
	p.PriorityAlpha = t.α
	p.NormalizerDraws = t.normalizerDraws
	p.NormalizerFloor = t.normalizerFloor
	p.NormalizerClip = t.normalizerClip
	if !t.askCandidate {
		p.UncertaintyGoal = "desired"
	}
	if t.prioritized {
		p.Replay = "per"
	}
	return p
}

// The table is the package's.
func TestTable(t *testing.T) {
	roomtest.Equal(t, "paper(), beside the engine's", qta.Paper(), params(paper()))
}

// Each mark, such as (R20), stands beside its reasons in package qta.
func TestMarks(t *testing.T) {
	reasons := map[string]bool{}
	sources, _ := filepath.Glob("../*.go")
	for _, name := range sources {
		begins := regexp.MustCompile(`(?:Reading|Differs) ([RD]\d+):`)
		for _, m := range begins.FindAllStringSubmatch(roomtest.Read(t, name), -1) {
			reasons[m[1]] = true
		}
	}
	marks := regexp.MustCompile(`\b[RD]\d+\b`).FindAllString(roomtest.Read(t, "main.go"), -1)
	if len(marks) < 40 {
		t.Errorf("main.go has the marks %v, fewer than 40", marks)
	}
	for _, mark := range marks {
		if !reasons[mark] {
			t.Errorf("main.go has the mark %s, and no file of package qta", mark)
		}
	}
}

// The mazes are the package's, and so are the names that are none, but for mazes
// that are larger than the paper's.
func TestMazes(t *testing.T) {
	for name := range strings.FieldsSeq("1U5 2U5 3U5 8U5 3x5 4x5 5x7 12x5 6x11 50U5 50x49") {
		got, err := mazeNamed(name)
		roomtest.Must(t, err)
		want := roomtest.Maze(t, name).String()
		roomtest.Equal(t, name+", beside the engine's", want, strings.Join(got, "\n")+"\n")
	}
	const none = ",U5,0U5,-1U5,1U6,1U5 ,01U5,2x5,4x4,4x6,4x3,4x,4x5x,+4x5,713U5,98x99," +
		"9223372036854775807U5,9223372036854775807x5,4x9223372036854775807"
	for name := range strings.SplitSeq(none, ",") {
		if _, err := mazeNamed(name); err == nil {
			t.Errorf("%q is a maze", name)
		}
		if _, engine := qta.NewMaze(name); engine == nil {
			t.Errorf("%q is a maze to the engine", name)
		}
	}
}

// TestFMA holds fma to exact arithmetic, above all where a sum rounded to float64
// is halfway between two float32, and the exact one is not.
func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		x := float32(rng.NormFloat64())
		y := float32(math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40))
		checkFMA(t, x, y, float32(rng.NormFloat64()))
		checkFMA(t, x, y, -x*y)
		for _, f := range halves(rng) {
			checkFMA(t, f.x, f.y, f.z)
			checkFMA(t, f.x, f.y, -f.z)
			checkFMA(t, -f.x, f.y, f.z)
		}
	}
}

// checkFMA compares fma with the exact result.
func checkFMA(t *testing.T, x, y, z float32) {
	t.Helper()
	exact := func(x float32) *big.Float {
		return new(big.Float).SetPrec(2000).SetFloat64(float64(x))
	}
	sum := exact(0).Mul(exact(x), exact(y))
	want, _ := sum.Add(sum, exact(z)).Float32()
	if got := fma(x, y, z); got != want {
		t.Fatalf("fma(%b, %b, %b) = %b, want %b", x, y, z, got, want)
	}
}

// operands of fma.
type operands struct{ x, y, z float32 }

// halves returns operands of fma. Each z is a whole number of units, and each product x y is
// half of a unit, or a bit less or more: too little for a float64 to show beside z.
func halves(rng *rand.Rand) (all []operands) {
	unit := math.Ldexp(1, rng.IntN(200)-149) // from the smallest denormal on
	z := float32(unit * float64(rng.IntN(1<<24)))
	scaleX := float32(1)
	scaleY := float32(unit / 2)
	if unit == 0x1p-149 { // half of it is no float32
		scaleX = 0x1p-75
		scaleY = 0x1p-75
	}
	for _, f := range []operands{
		{1, 1, z},
		{1 + 0x1p-23, 1 - 0x1p-23, z},
		{1 + 0x1p-12, 1 - 0x1p-12 + 0x1p-24, z},
	} {
		all = append(all, operands{f.x * scaleX, f.y * scaleY, f.z})
	}
	return all
}

// A training is the engine and the plain text side by side.
type training struct {
	*testing.T
	engine *qta.Agent
	plain  *agent
	action point          // of the engine's latest step
	asked  [][2]point     // what it asked the reward of since then: achieved, desired
	goal   point          // that it pursues in this step
	taken  map[string]int // how often each branch was that only some settings take
}

// An environment notes the engine's actions, and the rewards that it asks for.
type environment struct {
	qta.Env
	*training
}

func (e environment) Step(action []float64) (qta.State, float64) {
	e.action = point(action)
	e.asked = nil
	return e.Env.Step(action)
}

func (e environment) Reward(achieved, desired []float64) float64 {
	e.asked = append(e.asked, [2]point{point(achieved), point(desired)})
	return e.Env.Reward(achieved, desired)
}

// train takes steps, each by the engine and then plainly. It ends at the first
// difference.
func (tr *training) train(steps int) {
	maze, err := qta.ParseMaze(strings.Join(tr.plain.world.maze, "\n"))
	roomtest.Must(tr, err)
	env := environment{maze.Env(), tr}
	tr.engine, err = qta.NewAgent(params(tr.plain.table), env.Sizes(), tr.plain.seed)
	roomtest.Must(tr, err)
	roomtest.Must(tr, tr.engine.Train(tr.Context(), env, maze.Env(), qta.TrainOptions{
		Steps:     steps,
		EvalEvery: tr.plain.evalEvery,
		Rollouts:  tr.plain.rollouts,
		AfterStep: tr.step,
	}))
}

// step is one plain step, after the engine's.
func (tr *training) step() error {
	a := tr.plain
	before := a.step
	tr.countGoal(*a)
	a.trainStep()
	tr.countStep()

	t := a.replay[a.step-1]
	for _, goal := range tr.engine.Goals(before, a.step) { // if it has changed
		tr.goal = point(goal)
	}
	var minibatch [][2]point
	for _, b := range a.minibatch {
		minibatch = append(minibatch, [2]point{a.replay[b.i].next, b.goal})
	}
	learns := a.step > a.learningStarts
	apart := tr.apart()
	switch {
	case t.g != tr.goal:
		return fmt.Errorf("step %d pursues the goal %v, plainly %v", a.step, tr.goal, t.g)
	case t.a != tr.action:
		return fmt.Errorf("step %d takes the action %v, plainly %v", a.step, tr.action, t.a)
	case learns && !slices.Equal(tr.asked[2:], minibatch): // after two of the step
		return fmt.Errorf("step %d learns from %v, plainly from %v", a.step, tr.asked[2:], minibatch)
	case apart != "":
		const advice = "if that is meant, change plain/main.go first"
		return fmt.Errorf("after step %d %s; %s", a.step, apart, advice)
	case point(tr.engine.Act(t.next[:], t.g[:])) != a.act(t.next, t.g):
		return fmt.Errorf("after step %d a normalizer is not the same", a.step)
	}
	if a.step%a.evalEvery != 0 {
		return nil
	}
	log := tr.engine.Evaluations()
	e := log[len(log)-1]
	got := report{
		step:         e.Step,
		goalsSet:     e.GoalsSet,
		goalsReached: e.GoalsReached,
		criticLoss:   e.CriticLoss,
		headLoss:     e.PredictiveLoss,
		success:      e.Success,
		meanReturn:   e.Return,
	}
	want := a.evaluate()
	if got != want {
		return fmt.Errorf("the evaluation after step %d is %+v, plainly %+v", a.step, got, want)
	}
	tr.count("an evaluation between 0 and 1", 0 < want.success && want.success < 1)
	return nil
}

// apart names the first number of the networks that is not the same, and both values. It
// returns "" if all are the same. A target network that is not the same shows in the
// networks of the next update. The engine's numbers are in the order of
// [qta.Agent.WriteSafetensors].
func (tr *training) apart() string {
	var file bytes.Buffer
	roomtest.Must(tr, tr.engine.WriteSafetensors(&file))
	header := binary.LittleEndian.Uint64(file.Next(8))
	file.Next(int(header))
	for i, want := range tr.plain.numbers() {
		got := math.Float32frombits(binary.LittleEndian.Uint32(file.Next(4)))
		if math.Float32bits(got) != math.Float32bits(want) {
			return fmt.Sprintf("number %d of the networks is %v, plainly %v", i, got, want)
		}
	}
	return ""
}

// numbers returns the weights and biases of the policy, and of each critic with its head.
func (a *agent) numbers() (all []float32) {
	for _, layer := range a.policy.net {
		all = append(all, outputs(layer, 0, len(layer[0]))...)
	}
	for _, c := range a.pun {
		for _, layer := range c.net[:a.layers] {
			all = append(all, outputs(layer, 0, len(layer[0]))...)
		}
		last := c.net[a.layers]
		all = append(all, outputs(last, 0, 1)...) // Q
		all = append(all, outputs(last, 1, 3)...) // the head
	}
	return all
}

// outputs returns the weights of some outputs of a layer, output by output, and then their biases.
func outputs(layer [][]float32, from, to int) (numbers []float32) {
	biases := len(layer) - 1
	for j := from; j < to; j++ {
		for _, row := range layer[:biases] {
			numbers = append(numbers, row[j])
		}
	}
	return append(numbers, layer[biases][from:to]...)
}

func (tr *training) count(branch string, taken bool) {
	n := 0
	if taken {
		n = 1
	}
	tr.taken[branch] += n
}

// countGoal counts what the choice of an episode's first goal will meet, in a copy of the
// agent that has its chance.
func (tr *training) countGoal(a agent) {
	if a.step%a.horizon != 0 || a.step < max(1, a.initialSteps) {
		return
	}
	a.world.reset(&a.chance.environment)
	candidates := a.drawCandidates()
	passing := 0
	for _, g := range candidates {
		if a.value(g) >= a.threshold*float64(a.horizon) {
			passing++
		}
	}
	tr.count("no candidate is achievable", passing == 0)
	tr.count("some candidates are achievable, others not", 0 < passing && passing < len(candidates))
	tr.count("every candidate is achievable", passing == len(candidates))

	ε := a.uncertainty(a.achievable(candidates))
	if len(ε) == 1 {
		return
	}
	positive := 0
	for _, p := range goalProbabilities(ε, a.slope, a.intercept) {
		if p > 0 {
			positive++
		}
	}
	equal := slices.Min(ε) == slices.Max(ε)
	tr.count("several candidates, of equal uncertainties", equal)
	tr.count("several candidates, without a positive weight", positive == len(ε) && !equal)
	tr.count("one positive weight of several", positive == 1)
	tr.count("several positive weights, and others", 1 < positive && positive < len(ε))
}

// countStep counts what has happened in a step and only some settings bring about.
func (tr *training) countStep() {
	a := tr.plain
	t := a.replay[a.step-1]
	reached := reward(t.next, t.g) == 0
	ends := a.step%a.horizon == 0
	tr.count("a goal after a success", reached && !ends && a.step >= a.initialSteps)
	tr.count("a success at an episode's end", reached && ends)
	for _, inverse := range a.stateScale.inverse {
		atFloor := inverse == 1/math.Sqrt(a.normalizerFloor*a.normalizerFloor)
		tr.count("a deviation at its floor", ends && atFloor)
	}
	for _, b := range a.minibatch {
		tr.count("a target clipped below", b.y == float32(-1/(1-a.γ)))
		tr.count("a target clipped above", b.y == 0)
		tr.count("an input that is clipped", max(b.input[0], -b.input[0]) == float32(a.normalizerClip))
		tr.count("a priority above 1", a.prioritized && a.largest > 1)
	}
}

// small returns the paper's table for a training of moments, with Equation 5 as it
// is printed, which some of the trainings change back.
func small() table {
	t := paper()
	t.hidden = 12
	t.layers = 2
	t.batch = 12
	t.N = 30
	t.d = 3
	t.horizon = 10
	t.initialSteps = 25
	t.learningStarts = 15
	t.normalizerDraws = 7
	t.evalEvery = 9
	t.rollouts = 3
	t.askCandidate = false
	return t
}

// Mazes of trainings. In the second one the goal is beside the start, so evaluations vary.
var (
	longWay, _ = mazeNamed("1U5")
	beside     = []string{"#####", "#SG.#", "###.#", "#####"}
)

// trainings are settings such that each branch of the method is taken in one of them. The
// comments say what a setting is for.
var trainings = []struct {
	name string
	maze []string
	set  func(t *table)
}{
	{"the paper's, small", longWay, func(t *table) {
		t.layers = 3
		t.askCandidate = true
	}},
	{"a threshold that drops half", beside, func(t *table) { // some candidates are achievable
		t.askCandidate = true
		t.threshold = -0.15
	}},
	{"a short sight", beside, func(t *table) { // targets are clipped
		t.γ = 0.5
		t.criticRate = 0.1
		t.threshold = -0.1
	}},
	{"prioritized", beside, func(t *table) { // β reaches 1
		t.prioritized = true
		t.α = 0.6
		t.βSteps = 120
		t.hindsight = 1
		t.askCandidate = true
	}},
	{"prioritized, heads far apart", longWay, func(t *table) { // priorities rise above 1
		t.prioritized = true
		t.horizon = 7
		t.predictiveRate = 1
	}},
	{"one candidate", beside, func(t *table) { // nothing is drawn
		t.N = 1
		t.initialSteps = 0
	}},
	{"gentle probabilities", longWay, func(t *table) { // several weights are positive
		t.slope = 2
		t.intercept = -0.5
		t.N = 1000
	}},
	{"no positive weight", beside, func(t *table) {
		t.slope = 1
		t.intercept = -2
	}},
	{"nothing achievable", beside, func(t *table) {
		t.threshold = 1
		t.G = 4
		t.d = 1
	}},
	{"narrow inputs", longWay, func(t *table) { // inputs are clipped, deviations at their floor
		t.normalizerFloor = 0.4
		t.normalizerClip = 0.7
		t.noise = 0.5
	}},
	{"dead units", beside, func(t *table) { // uncertainties are equal
		t.hidden = 1
		t.layers = 4
	}},
}

// TestPlain trains package qta and this file side by side: the same goals, actions and
// evaluations, and the same bits in every network. It counts how often each branch is taken
// that only some of the settings take.
func TestPlain(t *testing.T) {
	if qta.KernelName() == "generic" {
		t.Skip("the generic kernel rounds each product before it adds it, and here they are fused")
	}
	steps := 250
	if testing.Short() {
		steps = 100
	}
	taken := map[string]int{}
	for _, test := range trainings {
		t.Run(test.name, func(t *testing.T) {
			table := small()
			test.set(&table)
			tr := training{T: t, plain: newAgent(table, test.maze, 5), taken: taken}
			tr.train(steps)
		})
	}
	for _, branch := range slices.Sorted(maps.Keys(taken)) {
		if testing.Verbose() {
			t.Logf("%7d  %s", taken[branch], branch)
		}
		if taken[branch] < 10 && !testing.Short() {
			t.Errorf("%s: %d times, want 10 or more", branch, taken[branch])
		}
	}
}

// A transition of priority 0 is never drawn, and weights are divided by that of the
// least likely one that can be.
func TestPriorityOfZero(t *testing.T) {
	a := newAgent(small(), []string{"####", "#SG#", "####"}, 1)
	for _, p := range []float64{0, 2, 0, 0.5} {
		a.replay = append(a.replay, transition{priority: p})
	}
	weights := map[int]float64{1: math.Pow(0.5/2, a.β), 3: 1}
	for _, u := range []float64{0, 0.5, 0.9, 0.999} {
		j, w := a.drawPrioritized(u)
		if want := weights[j]; math.Abs(float64(w)-want) > 1e-6 {
			t.Errorf("at %v it draws transition %d with the weight %v, want %v", u, j, w, want)
		}
	}
}

// TestMain is the program itself where the test below starts it.
func TestMain(m *testing.M) {
	if os.Getenv("PLAIN_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The program says how training goes, and what is wrong with its flags.
func TestProgram(t *testing.T) {
	for _, test := range []struct {
		flags string
		code  int
		want  string
	}{
		{"-maze 4x5 -steps 60 -seed 3", 0, "The paper's algorithm with .* 64 units, .*\n" +
			"#######\n#.....#\n.*\n" +
			"steps  success .*\n +60 +0/20 +-50.0 .*\n4x5 is not solved after 60 steps"},
		{"-maze 4x4", 2, "plain: -maze 4x4: mazes are [^\n]*"},
		{"-steps 0", 2, "plain: -steps is 0, allowed are 1 and above"},
		{"4x5", 2, "plain: \"4x5\" is no flag; [^\n]*"},
	} {
		c := exec.Command(os.Args[0], strings.Fields(test.flags)...)
		c.Env = append(os.Environ(), "PLAIN_MAIN=1")
		out, _ := c.CombinedOutput()
		roomtest.Equal(t, "the exit code with "+test.flags, test.code, c.ProcessState.ExitCode())
		if !regexp.MustCompile("(?s)^" + test.want + "\n$").Match(out) {
			t.Errorf("%s: wrote\n%s", test.flags, out)
		}
	}
}
