package qta

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tiny returns p with other changes, and made so small that a run of some episodes takes
// milliseconds. Uncertainty chooses the later goals of such a run. with explains changes.
func tiny(p Params, changes string) Params {
	p.HiddenSize = 8
	p.HiddenLayers = 2
	p.Batch = 16
	p.Candidates = 20
	p.UncertaintyActions = 2
	p.Horizon = 10
	p.InitialSteps = 15
	p.LearningStarts = 5
	p.NormalizerDraws = 5
	return with(p, changes)
}

// variants returns agents that together have every part that an agent can have: every
// curriculum, estimator, replay and other choice that decides what an agent does and what its
// state consists of. They are the presets, except those that tiny makes equal to others, and
// changes of two presets.
func variants() []Preset {
	presets := slices.DeleteFunc(Presets(), func(p Preset) bool { return p.Name == "quick" || p.Name == "small" })
	for _, changes := range []string{
		"Curriculum=mega",
		"Curriculum=vds",
		"Curriculum=her",
		"Replay=per",
		"Replay=td",
		"Uncertainty=q",
		"Uncertainty=bootstrap",
		"Uncertainty=ensemble",
		"UncertaintyNoise=0.1",
		"Curriculum=mega Uncertainty=bootstrap Replay=per",
		"Uncertainty=ensemble Replay=per",
		"PredictiveGradient=head",
		"UpdatesPerStep=2 RandomActionReached=0.5 RandomActionHeld=0.5 UncertaintyPolyak=0.9 FirstGoalDesired=0.7",
	} {
		presets = append(presets, Preset{changes, with(Beyond(), changes)})
	}
	return append(presets, Preset{"authors Replay=per", with(Authors(), "Replay=per")})
}

// with returns p with changes such as "Batch=16 Replay=per".
func with(p Params, changes string) Params {
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
	}
	return p
}

// tinyVariants returns the variants and three more, all tiny. MEGA's and VDS's curricula learn
// much in any episode, so -short leaves out their variants, except the preset mega.
func tinyVariants() []Preset {
	presets := variants()
	if testing.Short() {
		presets = slices.DeleteFunc(presets, func(v Preset) bool {
			c := v.Params.Curriculum
			return c == "vds" || (c == "mega" && v.Name != "mega")
		})
	}
	for _, changes := range []string{"Learner=mega", "Learner=vds", "Uncertainty=ensemble EnsembleActions=3"} {
		presets = append(presets, Preset{changes, with(Beyond(), changes)})
	}
	for i := range presets {
		p := &presets[i].Params
		*p = tiny(*p, "")
		if p.Curriculum == "mega" {
			p.Horizon = 4 // short, because the cutoff adapts only after ten episodes
		}
	}
	return presets
}

// leastParams returns the parameters of the smallest checkpoint.
func leastParams() Params { return tiny(Beyond(), "HiddenSize=1 HiddenLayers=1 Critics=2") }

// newMazeAgent returns an agent with a seed for the maze 1U5, a corridor in the shape of a U.
func newMazeAgent(t testing.TB, p Params, seed uint64) *Agent {
	t.Helper()
	return newAgent(t, p, mustMaze(t, "1U5").Env().Sizes(), seed)
}

// trainTo trains an agent up to a number of steps, in new environments. It evaluates the agent
// every 7 steps. afterStep may be nil.
func trainTo(t testing.TB, a *Agent, steps int, afterStep func() error) {
	t.Helper()
	m := mustMaze(t, "1U5")
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2, AfterStep: afterStep})
}

// agentAfter returns an agent of seed 1 after a number of steps.
func agentAfter(t testing.TB, p Params, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 1)
	trainTo(t, a, steps, nil)
	return a
}

func marshal(t testing.TB, from encoding.BinaryMarshaler) []byte {
	t.Helper()
	data, err := from.MarshalBinary()
	must(t, err)
	return data
}

func unmarshal(t testing.TB, data []byte, to encoding.BinaryUnmarshaler) {
	t.Helper()
	must(t, to.UnmarshalBinary(data))
}

// sameState checks that an agent's checkpoint is want.
func sameState(t testing.TB, what string, want []byte, a *Agent) {
	t.Helper()
	if got := marshal(t, a); !bytes.Equal(want, got) {
		w := new(Agent)
		unmarshal(t, want, w)
		t.Errorf("%s: the state differs; digest %s, want %s; log (-want +got):\n%s", what, a.Digest(), w.Digest(), cmp.Diff(w.log, a.log))
	}
}

// A run that is saved and loaded after any step goes on as without an interruption. Here it is
// loaded into an agent with another past and another number of threads. Then the agent answers
// questions, which changes nothing, and trains for a step.
func TestCheckpointContinues(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short it runs every fourth variant: all of them take 3 seconds of the suite's 10")
			}
			states := everyState(t, variant.Params)
			used := agentAfter(t, tiny(Authors(), ""), 33)
			used.SetThreads(2)
			defer used.Close()
			for step := range len(states) - 1 {
				unmarshal(t, states[step], used)
				askEverything(t, used)
				trainTo(t, used, step+1, nil)
				sameState(t, "trained one step on", states[step+1], used)
				if t.Failed() {
					t.Fatalf("from step %d to the next", step)
				}
			}
			checkEqual(t, 2, used.workers.n, "threads after UnmarshalBinary, as before")
		})
	}
}

// everyState returns the checkpoints of a run after each step, and before the first.
func everyState(t *testing.T, p Params) (states [][]byte) {
	t.Helper()
	steps := 75
	if testing.Short() {
		steps = 45
	}
	switch p.Curriculum {
	case "vds":
		steps = 25 // VDS learns much after each episode
	case "mega":
		steps = 45 // MEGA computes many densities before each episode
	}
	a := newMazeAgent(t, p, 1)
	states = append(states, marshal(t, a))
	trainTo(t, a, steps, func() error {
		states = append(states, marshal(t, a))
		return nil
	})
	if len(a.log) == 0 || a.goalsSet < 2 {
		t.Fatalf("the run has %d evaluations and %d goals set, want at least 1 and 2", len(a.log), a.goalsSet)
	}
	return states
}

// askEverything asks an agent all questions twice and compares the answers. It also asks about
// no points at all.
func askEverything(t *testing.T, a *Agent) {
	t.Helper()
	points := randomRows(seeded(8, 0), 12, 2)
	aboutPoints := func(x [][]float64) []any {
		const seed = 5
		survey := a.Survey(points[0], points[1], x, x, seed)
		return []any{survey, a.Value(x, x), a.Uncertainty(x, x, uint64(a.Steps()))}
	}
	ask := func() []any {
		evaluation, err := a.Evaluate(mustMaze(t, "1U5").Env(), 1, 4)
		return append(aboutPoints(points), a.Goals(0, a.Steps()), a.State(), a.Achieved(0), evaluation, err)
	}
	checkEqual(t, ask(), ask(), "step %d: a second answer", a.Steps())
	const nothing = "{[] [] [] []} [] []" // a survey has four lists
	checkEqual(t, nothing, fmt.Sprint(aboutPoints(nil)...), "step %d: the answers about no points", a.Steps())
}

// A checkpoint keeps what only a later part of a run sets, and what the user attached.
func TestCheckpointKeeps(t *testing.T) {
	a := agentAfter(t, tiny(Authors(), "UncertaintyPolyak=0.9 Replay=per Curriculum=mega"), 33)
	prioritiesOf(a).largest = 8
	a.curriculum.(*megaCurriculum).cutoff.lowest = -4
	a.foundAt = 7
	a.goalsReached = 5
	a.reached = true
	a.firstGoal = true
	const solvedAt, perfect = 2, 1
	a.log[0] = Evaluation{
		Step: solvedAt, Success: perfect,
		CriticLoss: 3, PredictiveLoss: 4, ActorLoss: 5,
		GoalsSet: 6, GoalsReached: 7,
		Reached: 8, Return: 9, StepsToGoal: 10,
	}
	const note = "of the run"
	attached := []byte(note)
	a.Attach(attached)
	attached[0] = 'x'       // the agent has a copy,
	a.Attachment()[0] = 'x' // and returns one

	b := new(Agent)
	unmarshal(t, marshal(t, a), b)
	kept := func(a *Agent) []any {
		return []any{a.FoundAt(), a.Steps(), a.State(), a.Evaluations(), a.losses, a.updates,
			a.goalsSet, a.goalsReached, a.reached, a.firstGoal, prioritiesOf(a).largest,
			a.curriculum.(*megaCurriculum).cutoff}
	}
	if want, got := kept(a), kept(b); !reflect.DeepEqual(want, got) {
		t.Errorf("loaded are %v, want %v", got, want)
	}
	checkEqual(t, note, string(b.Attachment()), "the attachment")
	checkEqual(t, solvedAt, b.SolvedAt(), "the step of the solution, by the log")
}

// A saveable has checkpoints: it is an agent or a PUN.
type saveable interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// A savedKind is one of the two kinds of checkpoint, of an agent or of a PUN.
type savedKind struct {
	data     []byte   // a checkpoint
	sizes    string   // the part of its header that says the networks' sizes
	receiver saveable // what the checkpoint is read into
	before   []byte   // the receiver's own checkpoint, which no damaged data may change
}

// savedKinds returns checkpoints of an agent after 15 steps, and of a PUN after 5 updates.
// agentAfter evaluates the agent every seven steps, so the checkpoint has two evaluations.
func savedKinds(t *testing.T) (agent, pun *savedKind) {
	t.Helper()
	intoAgent := agentAfter(t, tiny(Paper(), ""), 12)
	intoPUN := learnedPUN(t, 2, 7)
	agent = &savedKind{
		data:     marshal(t, agentAfter(t, leastParams(), 15)),
		sizes:    `"HiddenSize":1,"HiddenLayers":1,"Critics":2`,
		receiver: intoAgent,
		before:   marshal(t, intoAgent),
	}
	pun = &savedKind{
		data:     marshal(t, learnedPUN(t, 5, 7)),
		sizes:    `"HiddenSize":3,"HiddenLayers":1,"Critics":3`,
		receiver: intoPUN,
		before:   marshal(t, intoPUN),
	}
	return agent, pun
}

// refuses checks that data is refused as damaged, with an error of one line that contains want.
func (k *savedKind) refuses(t *testing.T, what string, data []byte, want string) {
	t.Helper()
	err := k.receiver.UnmarshalBinary(data)
	checkBegins(t, what, err, "qta: ")
	checkHas(t, what, err, want)
	oneLine := !strings.Contains(fmt.Sprint(err), "\n")
	otherFormat := errors.Is(err, errors.ErrUnsupported)
	if !oneLine || otherFormat {
		t.Errorf("%s: error %q, want one line that means damage and not another format", what, err)
	}
}

// A checkpoint that does not name a parameter is older than the parameter. The parameter then has
// its value in [Paper], with which the older program computed the same.
func TestCheckpointWithoutParameter(t *testing.T) {
	agent, _ := savedKinds(t)
	var a Agent
	unmarshal(t, agent.resealed(t, `"Threshold":-1.6,`, ""), &a)
	checkEqual(t, Paper().Threshold, a.Params().Threshold, "Threshold, which the checkpoint lacks")
}

// headerLength returns the bytes of a checkpoint that say how long its header is. The magic
// and the format stand before them.
func headerLength(data []byte) []byte { return data[24:32] }

// resealed returns the data with new in place of old. The header's length and the checksum fit
// what stands there now.
func (k *savedKind) resealed(t *testing.T, old, new string) []byte {
	t.Helper()
	content := k.data[:len(k.data)-sha256.Size]
	if !bytes.Contains(content, []byte(old)) {
		t.Fatalf("no %q in %q", old, content)
	}
	content = bytes.Replace(content, []byte(old), []byte(new), 1)
	length := headerLength(content)
	longer := uint64(len(new) - len(old)) // wraps around if new is shorter, as the sum then does
	binary.LittleEndian.PutUint64(length, binary.LittleEndian.Uint64(length)+longer)
	sum := sha256.Sum256(content)
	return append(content, sum[:]...)
}

// stays checks that refused data has changed nothing, and that the undamaged data is read.
func (k *savedKind) stays(t *testing.T) {
	t.Helper()
	if !bytes.Equal(k.before, marshal(t, k.receiver)) {
		t.Errorf("%T: a damaged checkpoint has changed it", k.receiver)
	}
	unmarshal(t, k.data, k.receiver)
}

// A checkpoint that is cut off, longer, changed in one bit or of the other kind is refused.
func TestCheckpointDamage(t *testing.T) {
	t.Parallel()
	agent, pun := savedKinds(t)
	rng := seeded(1, 1)
	for _, k := range []*savedKind{agent, pun} {
		for i := 0; i < len(k.data); i += 1 + rng.IntN(20) {
			k.refuses(t, fmt.Sprint("a cut after byte ", i), k.data[:i:i], "")
			changed := slices.Clone(k.data)
			changed[i] ^= 1 << rng.IntN(8)
			k.refuses(t, fmt.Sprint("a change in byte ", i), changed, "")
		}
		k.refuses(t, "a byte more", append(slices.Clone(k.data), 0), "damaged or cut off: its checksum is wrong")
	}
	agent.refuses(t, "a PUN's", pun.data, `it does not begin with "qta checkpoint"`)
	pun.refuses(t, "an agent's", agent.data, `it does not begin with "qta ensemble"`)
	agent.stays(t)
	pun.stays(t)
}

const shorter = "its state is shorter than its header says"

// A checkpoint whose checksum is right is refused if its header is wrong. A format, a parameter
// or a value that this version does not know is another version's, and no damage.
func TestCheckpointHeader(t *testing.T) {
	t.Parallel()
	agent, pun := savedKinds(t)
	for _, k := range []*savedKind{agent, pun} {
		another := func(old, new, want string) {
			err := k.receiver.UnmarshalBinary(k.resealed(t, old, new))
			checkHas(t, "another version", err, want)
			unsupported := errors.Is(err, errors.ErrUnsupported)
			checkEqual(t, true, unsupported, "whether error %v means another version", err)
		}
		for _, other := range []int{checkpointFormat - 1, checkpointFormat + 1} {
			want := fmt.Sprintf("format %d, this version reads format %d", other, checkpointFormat)
			another(string(rune(checkpointFormat)), string(rune(other)), want) // the format's first byte
		}
		another(`"Seed"`, `"Sead"`, `its header: json: unknown field "Sead"`)
		another(`"Batch":16`, `"Batch":0`, "its header: parameter Batch is 0")
		another(`"Learner":"paper"`, `"Learner":"later"`, "its header: ")
		k.refuses(t, "one network more", k.resealed(t, k.sizes, `"HiddenSize":1,"HiddenLayers":1,"Critics":4`), "its state: ")
		k.refuses(t, "large networks", k.resealed(t, k.sizes, `"HiddenSize":4096,"HiddenLayers":1,"Critics":2`), shorter)
		length := string(headerLength(k.data))
		long := string(binary.LittleEndian.AppendUint64(nil, 1<<40))
		k.refuses(t, "a long header", k.resealed(t, length, long), "it is shorter than its header")
	}
	agent.stays(t)
	pun.stays(t)
}

// A checkpoint is refused if its header says that there is more than there is, or less.
func TestCheckpointCounts(t *testing.T) {
	t.Parallel()
	agent, _ := savedKinds(t)
	for _, test := range []struct{ what, old, new, want string }{
		{"a large attachment", `"Attachment":0`, `"Attachment":99999999`, shorter},
		{"many evaluations", `"Evaluations":2`, `"Evaluations":9999`, shorter},
		{"more steps", `"Step":15`, `"Step":99`, shorter},
		{"a negative length", `"Attachment":0`, `"Attachment":-1`, shorter},
		// An evaluation is ten numbers of 8 bytes.
		{"an evaluation less", `"Evaluations":2`, `"Evaluations":1`, "its state has 80 bytes too many"},
	} {
		agent.refuses(t, test.what, agent.resealed(t, test.old, test.new), test.want)
	}
	agent.stays(t)
}

// Arbitrary contents with the right checksum give an error of one line, or an agent or a PUN
// that can be saved and loaded again. To decode them takes memory in proportion to their
// length, besides the 24 bytes that prioritized replay takes for each row of a minibatch.
func FuzzCheckpoint(f *testing.F) {
	for _, changes := range []string{"", "Uncertainty=ensemble", "Curriculum=mega Replay=per", "Curriculum=her Critics=1"} {
		data := marshal(f, agentAfter(f, with(leastParams(), changes), 9))
		f.Add(data[:len(data)-sha256.Size])
	}
	data := marshal(f, learnedPUN(f, 2, 7))
	f.Add(data[:len(data)-sha256.Size])
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := sha256.Sum256(content)
		for _, x := range []saveable{new(Agent), new(PUN)} {
			var err error
			got := allocated(func() { err = x.UnmarshalBinary(append(slices.Clone(content), sum[:]...)) })
			if most := uint64(1<<20 + 100*len(content) + 24*65536); got > most {
				t.Errorf("decoding %d bytes allocates %d, want at most %d", len(content), got, most)
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "qta: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want one line of package qta", err)
				}
				continue
			}
			again, err := x.MarshalBinary()
			if err = errors.Join(err, x.UnmarshalBinary(again)); err != nil {
				t.Errorf("what was decoded does not pass through a checkpoint: %v", err)
			}
		}
	})
}

// badNumbers are neither saved nor read.
var badNumbers = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}

// spoiledAt is the step after which a test puts a bad number into an agent.
const spoiledAt = 16

// A bad number in any field of an agent's state is neither saved nor read.
func TestCheckpointNumbers(t *testing.T) {
	t.Parallel()
	rng := seeded(1, 1)
	for i, variant := range tinyVariants() {
		if testing.Short() && i%5 != 0 {
			continue
		}
		a := agentAfter(t, variant.Params, spoiledAt)
		reader := new(Agent)
		unmarshal(t, marshal(t, a), reader)
		fields := a.savedState()
		for k := range fields {
			checkBadNumber(t, variant.Name, fields, k, reader, rng)
		}
		marshal(t, a) // all numbers are good again
	}
}

// A number beyond ±1e12 is not read, neither in the replay nor in the goal.
func TestCheckpointLargeNumbers(t *testing.T) {
	a := agentAfter(t, leastParams(), 3)
	for k, c := range append(a.replay.columns(), &column{data: a.goal}) {
		good := c.data[0]
		c.data[0] = -1.1e12
		err := new(Agent).UnmarshalBinary(marshal(t, a))
		const want = "qta: checkpoint: its state: number 0 of the state is -1.1e+12"
		checkBegins(t, fmt.Sprint("vector ", k), err, want)
		c.data[0] = good
	}
}

// checkBadNumber puts a bad number into field k, checks that the fields are not saved and that
// reader does not read them, and puts the good number back.
func checkBadNumber(t *testing.T, what string, fields savedFields, k int, reader *Agent, rng *rand.Rand) {
	t.Helper()
	number := oneNumber(rng, fields[k])
	if !number.CanFloat() {
		return // only a float can be bad
	}
	good := number.Float()
	defer number.SetFloat(good)
	bad := badNumbers[rng.IntN(3)]
	number.SetFloat(bad)
	_, err := fields.append(nil, spoiledAt)
	namesNumber(t, what, "training state", spoiledAt, err)

	// append refuses the bad number, so its bytes are put between those of the other fields.
	spoiled, _ := binary.Append(nil, binary.LittleEndian, fields[k])
	data := slices.Concat(appended(t, fields[:k]), spoiled, appended(t, fields[k+1:]))
	err = reader.savedState().read(data)
	checkHas(t, fmt.Sprintf("%s, %v in field %d, read", what, bad, k), err, "is not finite")
}

// appended returns the fields as a checkpoint has them.
func appended(t *testing.T, fields savedFields) []byte {
	t.Helper()
	b, err := fields.append(nil, spoiledAt)
	must(t, err)
	return b
}

// oneNumber returns what a field points to, or one element of a slice.
func oneNumber(rng *rand.Rand, field any) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(field))
	if v.Kind() == reflect.Slice && v.Len() > 0 {
		return v.Index(rng.IntN(v.Len()))
	}
	return v
}

// namesNumber checks that an error says which network, or what else, has a bad number, and
// after which step.
func namesNumber(t *testing.T, what, network string, step int, err error) {
	t.Helper()
	numeric, ok := errors.AsType[*NumericError](err)
	if !ok || numeric.Step != step || finite(numeric.Value) || numeric.Network != network {
		t.Errorf("%s, a bad number of %s: error %v, want one that names it at step %d", what, network, err, step)
	}
}

// An agent that has a network with a bad number is not saved. The error names the network.
func TestCheckpointNetworks(t *testing.T) {
	a := agentAfter(t, tiny(Beyond(), "Curriculum=vds"), spoiledAt)
	for k, params := range a.parameters() {
		number := &params.values[3] // any of them
		good := *number
		*number = float32(badNumbers[k%3])
		_, err := a.MarshalBinary()
		namesNumber(t, "VDS", params.name, spoiledAt, err)
		*number = good
	}
	marshal(t, a)
	a.policy.adam.v[2] = float32(math.NaN())
	namesNumber(t, "VDS", "training state", spoiledAt, a.SaveFile(filepath.Join(t.TempDir(), "agent")))
}

// loads checks that a file holds an agent after a number of steps.
func loads(t *testing.T, what, path string, steps int) {
	t.Helper()
	a, err := LoadFile(path)
	if err != nil {
		t.Errorf("%s: error %v", what, err)
	} else if a.Steps() != steps {
		t.Errorf("%s: the agent has %d steps, want %d", what, a.Steps(), steps)
	}
}

// failsToLoad checks that a file is refused by name, and said to be missing only if it is.
func failsToLoad(t *testing.T, what, path string) {
	t.Helper()
	_, err := LoadFile(path)
	checkBegins(t, what, err, "qta: checkpoint: ")
	checkHas(t, what, err, path)
	_, found := os.Lstat(path)
	want := found != nil
	checkEqual(t, want, errors.Is(err, fs.ErrNotExist), "%s: whether the error says that the file is missing", what)
}

// Each row has files that a crash during a save can leave. A whole checkpoint at the path is
// loaded, anything else is refused. The next save succeeds and leaves one file.
func TestSaveFile(t *testing.T) {
	older := marshal(t, agentAfter(t, leastParams(), 5))
	newer := marshal(t, agentAfter(t, leastParams(), 8))
	next := agentAfter(t, leastParams(), 11)
	for _, test := range []struct {
		what      string // when the crash was, or what it left
		saved     []byte // the file at the path, nil for none
		temporary []byte // the file that was to be renamed to it, nil for none
		steps     int    // of the agent that is loaded, 0 for none
	}{
		{"in the first save", nil, newer[:99], 0},
		{"in a later save", older, newer[:99], 5},
		{"before the renaming", older, newer, 5},
		{"after it", newer, nil, 8},
		{"a file that is cut off", newer[:99], nil, 0},
	} {
		path := filepath.Join(t.TempDir(), "agent")
		if test.saved != nil {
			writeFile(t, path, test.saved)
		}
		if test.temporary != nil {
			writeFile(t, path+".tmp", test.temporary)
		}
		if test.steps > 0 {
			loads(t, test.what, path, test.steps)
		} else {
			failsToLoad(t, test.what, path)
		}
		if err := next.SaveFile(path); err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		loads(t, test.what+", after the next save", path, 11)
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Errorf("%s: after the next save the files are %v, want one", test.what, entries)
		}
	}
}

// If a checkpoint cannot be written, the one before stays and nothing else is left.
func TestSaveFileFails(t *testing.T) {
	older := marshal(t, agentAfter(t, leastParams(), 5))
	next := agentAfter(t, leastParams(), 11)
	for what, hinder := range map[string]func(path string) error{
		"a link in its place": func(path string) error {
			return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path))
		},
		"a directory in the temporary's": func(path string) error { return os.Mkdir(path+".tmp", 0o777) },
		"a full disk":                    func(path string) error { return os.Symlink("/dev/full", path+".tmp") },
	} {
		path := filepath.Join(t.TempDir(), "agent")
		writeFile(t, path, older)
		if err := hinder(path); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		checkBegins(t, what, next.SaveFile(path), "qta: checkpoint not written: ")
		loads(t, what, path, 5) // the link leads to it, too
		if _, err := os.Lstat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the temporary file is left: %v", what, err)
		}
	}
}

// A failingFile is a file whose methods return these errors.
type failingFile struct{ onWrite, onSync, onClose error }

func (f failingFile) Write(p []byte) (int, error) { return len(p), f.onWrite }
func (f failingFile) Sync() error                 { return f.onSync }
func (f failingFile) Close() error                { return f.onClose }

// A save fails with any error of the disk, but goes on where a file system has no fsync.
func TestSaveFileErrors(t *testing.T) {
	var failure error = syscall.EIO
	for _, test := range []struct {
		what string
		file failingFile
		want error
	}{
		{"write", failingFile{onWrite: failure}, failure},
		{"sync", failingFile{onSync: failure}, failure},
		{"close", failingFile{onClose: failure}, failure},
		{"no fsync", failingFile{onSync: syscall.EINVAL}, nil},
		{"no fsync, close", failingFile{onSync: syscall.EINVAL, onClose: failure}, failure},
	} {
		if err := writeAndClose(test.file, []byte("data")); err != test.want {
			t.Errorf("%s: error %v, want %v", test.what, err, test.want)
		}
	}
}

// allocated returns the bytes that f allocates, kept or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// No thread outlives an agent that is closed, even if other agents were read into it.
func TestCheckpointThreads(t *testing.T) {
	a := newMazeAgent(t, leastParams(), 1)
	before := runtime.NumGoroutine()
	a.SetThreads(3)
	for range 5 {
		unmarshal(t, marshal(t, newMazeAgent(t, leastParams(), 2)), a)
	}
	a.Close()
	goroutinesEnd(t, before)
	new(Agent).Close() // the zero agent has no threads
}
