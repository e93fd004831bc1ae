package lab

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

var (
	equal = roomtest.Equal
	has   = roomtest.Has
	must  = roomtest.Must
)

// tiny returns parameters that train within a second.
func tiny() qta.Params {
	return with(qta.Small(), "HiddenSize=8 HiddenLayers=2 Batch=16 UncertaintyActions=2 Horizon=10 "+
		"InitialSteps=20 LearningStarts=5")
}

// with returns parameters with changes such as "Batch=64 HiddenSize=8".
func with(p qta.Params, changes string) qta.Params {
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
	}
	return p
}

// tinyRun returns the options of a run of ten evaluations.
func tinyRun(dir string) Options {
	quiet := func(string) {}
	return Options{
		Dir:       dir,
		Name:      "1U5",
		Params:    tiny(),
		Seed:      3,
		Steps:     200,
		EvalEvery: 20,
		Rollouts:  2,
		Continue:  true,
		Threads:   1,
		Say:       quiet,
		Warn:      quiet,
	}
}

// newRun returns the options of such a run in a directory that is not there yet.
func newRun(t testing.TB) Options { return tinyRun(newDir(t)) }

func newAgent(t testing.TB, p qta.Params) *qta.Agent {
	t.Helper()
	a, err := qta.NewAgent(p, maze(t).Sizes(), 1)
	must(t, err)
	return a
}

func maze(t testing.TB) qta.Env {
	t.Helper()
	return Maze(roomtest.Maze(t, "1U5"))
}

// newDir names a directory that is not there yet.
func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "run") }

func try(t testing.TB, o Options) error { return Train(t.Context(), maze(t), maze(t), o) }

func train(t testing.TB, o Options) {
	t.Helper()
	trainIn(t, o, func() qta.Env { return maze(t) })
}

// trainIn trains in two instances of an environment.
func trainIn(t testing.TB, o Options, env func() qta.Env) {
	t.Helper()
	must(t, Train(t.Context(), env(), env(), o))
}

// says looks for texts in an error, which is "<nil>" if there is none.
func says(t testing.TB, err error, texts ...string) {
	t.Helper()
	has(t, fmt.Sprint(err), texts...)
}

// isInput reports whether an error is an [InputError].
func isInput(err error) bool {
	_, input := errors.AsType[InputError](err)
	return input
}

// fromJSON reads a value.
func fromJSON(t testing.TB, text string, value any) {
	t.Helper()
	must(t, json.Unmarshal([]byte(text), value))
}

// record reads the record of a run.
func record(t testing.TB, dir string) *Record {
	t.Helper()
	r, err := ReadRecord(filepath.Join(dir, RecordFile))
	must(t, err)
	return r
}

// edit changes the record of a run as JSON says, and returns it.
func edit(t testing.TB, dir, changes string) *Record {
	t.Helper()
	r := record(t, dir)
	fromJSON(t, changes, r)
	roomtest.Write(t, filepath.Join(dir, RecordFile), string(r.Encode()))
	return r
}

// open reads a whole run.
func open(t testing.TB, dir string) *Run {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	return r
}

// heard is what a run warns of, and what it says.
type heard struct{ warned, said string }

func hear(o *Options) *heard {
	h := new(heard)
	o.Warn = func(line string) { h.warned += line }
	o.Say = func(line string) { h.said += line }
	return h
}

// contents returns the files of a run, each by its digest, but not those that a clock has made. Of a
// run that has not begun there are none.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		byClock := e.Name() == LockFile || e.Name() == PreviousFile || e.Name() == DamagedFile
		if !byClock && !e.IsDir() {
			text := roomtest.Read(t, dir, e.Name())
			files[e.Name()] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		}
	}
	return files
}

// sameRun fails if the files of two runs differ.
func sameRun(t testing.TB, what, dir, other string) {
	t.Helper()
	equal(t, what, contents(t, other), contents(t, dir))
}

// ended returns the directory of a run that has ended.
func ended(t testing.TB) string {
	t.Helper()
	dir := newDir(t)
	train(t, tinyRun(dir))
	return dir
}

// TestResume stops a run after every few steps, with two threads and another pace
// of saving each time. It ends with the bytes of a run that was never stopped.
func TestResume(t *testing.T) {
	whole := ended(t)
	parts := newDir(t)
	roomtest.Write(t, filepath.Join(parts, LockFile), "") // a process was killed at its start
	roomtest.Write(t, filepath.Join(parts, AgentFile+temporary), "qta")
	for stop := 7; stop < 200; stop += 33 {
		o := tinyRun(parts)
		o.Threads = 2
		o.Checkpoint = stop % 10 // 7, then 0 (by the clock), 3, 6, 9 and 2
		stopAt(t, o, stop)
	}
	train(t, tinyRun(parts))
	sameRun(t, "a run in parts", parts, whole)
	equal(t, "the number of files", 7, len(contents(t, whole)))
}

// A counting curriculum has the agent go where it was a number of steps ago that grows
// with each goal, and keeps that number by Agent.Attach.
type counting struct{}

func (counting) NextGoal(a *qta.Agent, first bool, _ *rand.Rand) ([]float64, error) {
	n := len(a.Attachment()) + 1
	a.Attach(make([]byte, n))
	return a.Achieved(max(0, a.Steps()-n)), nil
}

// A curriculum of the user's own has all that a run has: a page that names it, and its
// state over a stop. It is no run of another curriculum.
func TestCurriculum(t *testing.T) {
	whole := newDir(t)
	parts := newDir(t)
	own := func(dir string) Options {
		o := tinyRun(dir)
		o.Curriculum = counting{}
		return o
	}
	train(t, own(whole))
	stopAt(t, own(parts), 83)
	refused(t, tinyRun(parts), "a curriculum of the user's is true there, false here")
	train(t, own(parts))
	sameRun(t, "a run in parts", parts, whole)
	page := roomtest.Read(t, whole, PageFile)
	has(t, page, "The agent's goals come from the curriculum of its user.")
	has(t, page, "goals by a curriculum of its user")
	if n := len(open(t, whole).Agent.Attachment()); n < 20 || strings.Contains(page, "cmd/qta") {
		t.Errorf("%d bytes attached, or the page has a command for the run", n)
	}
}

// An altered maze has no map. Its goals have a radius of their own, its actions go a part
// of their way, another part where the goal is far, and a step's reward has a bonus.
type altered struct {
	qta.Env
	radius, part, far, bonus float64
	desired                  []float64
}

func (e *altered) Reset(rng *rand.Rand) qta.State {
	s := e.Env.Reset(rng)
	e.desired = slices.Clone(s.Desired)
	return s
}

func (e *altered) Step(action []float64) (qta.State, float64) {
	part := e.part
	if e.desired[0] > 1.3 { // the fingerprint's is 1.23
		part = e.far
	}
	s, _ := e.Env.Step([]float64{part * action[0], part * action[1]})
	return s, e.Reward(s.Achieved, s.Desired) + e.bonus
}

func (e *altered) Reward(achieved, desired []float64) float64 {
	if math.Hypot(achieved[0]-desired[0], achieved[1]-desired[1]) < e.radius {
		return 0
	}
	return -1
}

func alter(t testing.TB, radius, part, far, bonus float64) *altered {
	return &altered{roomtest.Maze(t, "1U5").Env(), radius, part, far, bonus, nil}
}

// A run is neither continued nor called done in an environment that has changed, as far as
// an episode with fixed actions, the rewards of goals of the run or its first episodes show.
func TestChangedEnvironment(t *testing.T) {
	const changed = "the environment has changed"
	o := newRun(t)
	for _, test := range []struct {
		radius, part, far float64
		steps             int
		want              string
	}{
		{0.35, 0.5, 1, 100, "<nil>"},
		{0.35, 0.6, 1, 100, changed + ": in an episode with fixed actions number 0 after step 1 is 1."},
		{0.45, 0.5, 1, 100, changed + ": Reward now gives"},
		{0.45, 0.5, 1, 160, changed + ": Reward now gives"},
		{0.35, 0.5, 0.9, 160, changed + ", takes"},
		{0.35, 0.5 + 1e-9, 1, 160, "<nil>"},
	} {
		o.Steps = test.steps
		env := func() *altered { return alter(t, test.radius, test.part, test.far, 0) }
		says(t, Train(t.Context(), env(), env(), o), test.want)
	}
}

// Both instances of an environment are checked, and are to be the same, but for starts
// and goals.
func TestInstances(t *testing.T) {
	env := func() *altered { return alter(t, 0.35, 1, 1, 0) }
	percent := [][2]float64{{0, 100}, {0, 100}}
	for want, training := range map[string]qta.Env{
		"": elsewhere{env()},
		"an episode with the same generator and actions answered otherwise": chancy{env()},
		"differ: Reward of the same two goals is -1 there, 0 here":          alter(t, 0.25, 1, 1, 0),
		"differ: in an episode with fixed actions number 0":                 alter(t, 0.35, 0.9, 0.9, 0),
		"differ: Reward of": qta.Scaled(env(), percent, percent),
	} {
		o := newRun(t)
		o.Steps = 20
		err := Train(t.Context(), training, env(), o)
		says(t, err, want)
		equal(t, fmt.Sprintf("it is refused: %v", err), want != "", isInput(err))
	}
}

// elsewhere is an environment with other goals.
type elsewhere struct{ qta.Env }

func (e elsewhere) Reset(rng *rand.Rand) qta.State {
	rng.Uint64()
	return e.Env.Reset(rng)
}

// chancy is one with chance from elsewhere than its generator.
type chancy struct{ qta.Env }

func (e chancy) Step(action []float64) (qta.State, float64) {
	return e.Env.Step([]float64{action[0] * rand.Float64(), action[1]})
}

// An environment that breaks its contract is refused before anything is written,
// unless the options say otherwise: then its first step ends the run.
func TestUnfitEnvironment(t *testing.T) {
	o := newRun(t)
	for _, o.Unchecked = range []bool{false, true} {
		err := Train(t.Context(), alter(t, 0.35, 1, 1, 5), alter(t, 0.35, 1, 1, 5), o)
		says(t, err, "Step returned reward ")
		equal(t, "it is refused", !o.Unchecked, isInput(err))
		equal(t, "a run is begun", o.Unchecked, exists(filepath.Join(o.Dir, AgentFile)))
	}
}
