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

// tiny returns p so small that a run of some episodes takes milliseconds, with changes as in
// with. The later goals of such a run are chosen by uncertainty.
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

// variants returns the presets, except those that tiny makes equal to others. It adds every
// curriculum, estimator and replay, and some of them together: all that decides what an agent
// does and what its state consists of.
func variants() []Preset {
	all := slices.DeleteFunc(Presets(), func(p Preset) bool { return p.Name == "quick" || p.Name == "small" })
	for _, v := range []struct {
		preset  Params
		name    string
		changes string
	}{
		{Beyond(), "", "Curriculum=mega"},
		{Beyond(), "", "Curriculum=vds"},
		{Beyond(), "", "Curriculum=her"},
		{Beyond(), "", "Replay=per"},
		{Beyond(), "", "Replay=td"},
		{Beyond(), "", "Uncertainty=q"},
		{Beyond(), "", "Uncertainty=bootstrap"},
		{Beyond(), "", "Uncertainty=ensemble"},
		{Beyond(), "", "UncertaintyNoise=0.1"},
		{Beyond(), "", "Curriculum=mega Uncertainty=bootstrap Replay=per"},
		{Beyond(), "", "Uncertainty=ensemble Replay=per"},
		{Beyond(), "", "PredictiveGradient=head"},
		{Beyond(), "", "UpdatesPerStep=2 RandomActionReached=0.5 RandomActionHeld=0.5 UncertaintyPolyak=0.9 FirstGoalDesired=0.7"},
		{Authors(), "authors ", "Replay=per"},
	} {
		all = append(all, Preset{v.name + v.changes, with(v.preset, v.changes)})
	}
	return all
}

// with returns a set of parameters with changes such as "Batch=16 Replay=per".
func with(p Params, changes string) Params {
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
	}
	return p
}

// tinyVariants returns the variants, all tiny, and some with a state or a count that no preset
// uses. With -short the preset mega stands for MEGA and VDS, which learn much in any episode.
func tinyVariants() []Preset {
	all := variants()
	if testing.Short() {
		all = slices.DeleteFunc(all, func(v Preset) bool {
			return v.Params.Curriculum == "vds" || v.Params.Curriculum == "mega" && v.Name != "mega"
		})
	}
	for _, changes := range []string{"RandomActionHeld=0.5", "Learner=mega", "Learner=vds", "Uncertainty=ensemble EnsembleActions=3"} {
		all = append(all, Preset{changes, with(Beyond(), changes)})
	}
	for i, v := range all {
		all[i].Params = tiny(v.Params, "")
		if v.Params.Curriculum == "mega" {
			all[i].Params.Horizon = 4 // its cutoff adapts after ten episodes
		}
	}
	return all
}

// leastParams returns the parameters of the smallest checkpoint.
func leastParams() Params { return tiny(Beyond(), "HiddenSize=1 HiddenLayers=1 Critics=2") }

// newMazeAgent returns an agent with a seed for the maze 1U5, a corridor in the shape of a U.
func newMazeAgent(t testing.TB, p Params, seed uint64) *Agent {
	t.Helper()
	return newAgent(t, p, mustMaze(t, "1U5").Env().Sizes(), seed)
}

// trainTo trains in new environments, with evaluations every 7 steps.
func trainTo(t testing.TB, a *Agent, steps int, afterStep func() error) {
	t.Helper()
	m := mustMaze(t, "1U5")
	train(t, a, m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2, AfterStep: afterStep})
}

// agentAfter returns an agent after some steps.
func agentAfter(t testing.TB, p Params, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 1)
	trainTo(t, a, steps, nil)
	return a
}

func marshal(t testing.TB, from encoding.BinaryMarshaler) []byte {
	t.Helper()
	data, err := from.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unmarshal(t testing.TB, data []byte, to encoding.BinaryUnmarshaler) {
	t.Helper()
	if err := to.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
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
// loaded into an agent with another past and other threads. The agent is asked questions
// first, which change nothing.
func TestCheckpointContinues(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short every fourth variant: all take 3 seconds, in a suite of ten")
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
			if got := used.workers.n; got != 2 {
				t.Errorf("%d threads after UnmarshalBinary, want 2 as before", got)
			}
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
		steps = 25 // it learns much after each episode
	case "mega":
		steps = 45 // it fits much at the start of each
	}
	a := newMazeAgent(t, p, 1)
	states = append(states, marshal(t, a))
	trainTo(t, a, steps, func() error {
		states = append(states, marshal(t, a))
		return nil
	})
	if len(a.log) == 0 || a.goalsSet < 2 {
		t.Fatalf("%d evaluations, %d goals set: this run shows nothing", len(a.log), a.goalsSet)
	}
	return states
}

// askEverything asks an agent every question twice and compares the answers. It also asks about
// no points.
func askEverything(t *testing.T, a *Agent) {
	t.Helper()
	points := randomRows(rand.New(rand.NewPCG(8, 0)), 12, 2)
	start, desired := points[0], points[1]
	ask := func(x [][]float64) []any {
		evaluation, err := a.Evaluate(mustMaze(t, "1U5").Env(), 1, 4)
		return []any{
			a.Survey(start, desired, x, x, 5), a.Value(x, x), a.Uncertainty(x, x, uint64(a.Steps())),
			a.Goals(0, a.Steps()), a.State(), a.Achieved(0), evaluation, err,
		}
	}
	if diff := cmp.Diff(ask(points), ask(points)); diff != "" {
		t.Errorf("step %d: a second answer differs (-first +second):\n%s", a.Steps(), diff)
	}
	if got := fmt.Sprint(ask(nil)[:3]...); got != "{[] [] [] []} [] []" {
		t.Errorf("step %d: about nothing the answers are %s", a.Steps(), got)
	}
}

// A checkpoint keeps what a later part of a run sets. The step at which a maze was solved
// follows from the log again.
func TestCheckpointKeeps(t *testing.T) {
	a := agentAfter(t, tiny(Authors(), "UncertaintyPolyak=0.9"), 33)
	b := new(Agent)
	a.foundAt = 7
	a.goalsReached = 5
	a.reached = true
	a.firstGoal = true
	a.log[0] = Evaluation{1, 1, 3, 4, 5, 6, 7, 8, 9, 10} // perfect
	attached := []byte("of the run")
	a.Attach(attached)
	// The agent has a copy, and returns one.
	attached[0] = 'x'
	a.Attachment()[0] = 'x'
	unmarshal(t, marshal(t, a), b)
	if b.SolvedAt() != 1 {
		t.Error("an evaluation that was perfect is not any more")
	}
	kept := func(a *Agent) []any {
		return []any{a.FoundAt(), a.Steps(), a.State(), a.Evaluations(), string(a.Attachment()), a.losses, a.updates,
			a.goalsSet, a.goalsReached, a.reached, a.firstGoal}
	}
	if want, got := kept(a), kept(b); !reflect.DeepEqual(want, got) || string(b.Attachment()) != "of the run" {
		t.Errorf("loaded are %v, want %v", got, want)
	}
}

// A savedKind is one of the two kinds of checkpoint, of an agent or of a PUN.
type savedKind struct {
	data  []byte // a checkpoint
	shape string // the part of its header that says the networks' sizes
	into  interface {
		encoding.BinaryMarshaler
		encoding.BinaryUnmarshaler
	}
	before []byte // into's own checkpoint, which no damaged data may change
}

func savedKinds(t *testing.T) (agent, ensemble *savedKind) {
	t.Helper()
	a, u := agentAfter(t, tiny(Paper(), ""), 12), learnedPUN(t, 2, 7)
	agent = &savedKind{
		data:   marshal(t, agentAfter(t, leastParams(), 15)),
		shape:  `"HiddenSize":1,"HiddenLayers":1,"Critics":2`,
		into:   a,
		before: marshal(t, a),
	}
	ensemble = &savedKind{
		data:   marshal(t, learnedPUN(t, 5, 7)),
		shape:  `"HiddenSize":3,"HiddenLayers":1,"Critics":3`,
		into:   u,
		before: marshal(t, u),
	}
	return agent, ensemble
}

// refuses checks that data is refused with an error of one line that contains want.
func (k *savedKind) refuses(t *testing.T, what string, data []byte, want string) {
	t.Helper()
	err := k.into.UnmarshalBinary(data)
	if err == nil {
		t.Errorf("%s: no error, want %q", what, want)
		return
	}
	text := err.Error()
	if !strings.HasPrefix(text, "qta: ") || !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("%s: error %q, want one line with %q", what, text, want)
	}
	otherFormat := strings.HasPrefix(want, "format")
	if errors.Is(err, errors.ErrUnsupported) != otherFormat {
		t.Errorf("%s: error %q is taken for damage, or for another format", what, text)
	}
}

// resealed returns the data with new in place of old. The header's length and the checksum are
// right.
func (k *savedKind) resealed(t *testing.T, old, new string) []byte {
	t.Helper()
	content := k.data[:len(k.data)-sha256.Size]
	if !bytes.Contains(content, []byte(old)) {
		t.Fatalf("no %q in %q", old, content)
	}
	content = bytes.Replace(content, []byte(old), []byte(new), 1)
	length := content[24:32]
	longer := uint64(len(new) - len(old))
	binary.LittleEndian.PutUint64(length, binary.LittleEndian.Uint64(length)+longer)
	sum := sha256.Sum256(content)
	return append(content, sum[:]...)
}

// stays checks that refused data has changed nothing, and that the undamaged data is read.
func (k *savedKind) stays(t *testing.T) {
	t.Helper()
	if !bytes.Equal(k.before, marshal(t, k.into)) {
		t.Errorf("%T: a damaged checkpoint has changed it", k.into)
	}
	unmarshal(t, k.data, k.into)
}

// TestCheckpointDamage cuts checkpoints off and changes bytes.
func TestCheckpointDamage(t *testing.T) {
	t.Parallel()
	agent, ensemble := savedKinds(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, k := range []*savedKind{agent, ensemble} {
		for i := 0; i < len(k.data); i += 1 + rng.IntN(20) {
			k.refuses(t, fmt.Sprint("a cut after byte ", i), k.data[:i:i], "")
			changed := slices.Clone(k.data)
			changed[i] ^= 1 << rng.IntN(8)
			k.refuses(t, fmt.Sprint("a change in byte ", i), changed, "")
		}
		k.refuses(t, "a byte more", append(slices.Clone(k.data), 0), "damaged or cut off: its checksum is wrong")
	}
	agent.refuses(t, "a PUN's", ensemble.data, `it does not begin with "qta checkpoint"`)
	ensemble.refuses(t, "an agent's", agent.data, `it does not begin with "qta ensemble"`)
	agent.stays(t)
	ensemble.stays(t)
}

const shorter = "its state is shorter than its header says"

// TestCheckpointHeader changes headers, with the right checksum.
func TestCheckpointHeader(t *testing.T) {
	t.Parallel()
	agent, ensemble := savedKinds(t)
	for _, k := range []*savedKind{agent, ensemble} {
		for _, other := range []int{checkpointFormat - 1, checkpointFormat + 1} {
			want := fmt.Sprintf("format %d, this version reads format %d", other, checkpointFormat)
			k.refuses(t, "another format", k.resealed(t, string(rune(checkpointFormat)), string(rune(other))), want)
		}
		k.refuses(t, "an unknown field", k.resealed(t, `"Seed"`, `"Sead"`), `its header: json: unknown field "Sead"`)
		k.refuses(t, "a bad parameter", k.resealed(t, `"Batch":16`, `"Batch":0`), "parameter Batch is 0")
		k.refuses(t, "one network more", k.resealed(t, k.shape, `"HiddenSize":1,"HiddenLayers":1,"Critics":4`), "its state: ")
		k.refuses(t, "large networks", k.resealed(t, k.shape, `"HiddenSize":4096,"HiddenLayers":1,"Critics":2`), shorter)
		length := string(k.data[24:32])
		long := string(binary.LittleEndian.AppendUint64(nil, 1<<40))
		k.refuses(t, "a long header", k.resealed(t, length, long), "it is shorter than its header")
	}
	agent.stays(t)
	ensemble.stays(t)
}

// TestCheckpointCounts changes how much an agent's header says there is.
func TestCheckpointCounts(t *testing.T) {
	t.Parallel()
	agent, _ := savedKinds(t)
	for _, test := range []struct{ what, old, new, want string }{
		{"a large attachment", `"Attachment":0`, `"Attachment":99999999`, shorter},
		{"many evaluations", `"Evaluations":2`, `"Evaluations":9999`, shorter},
		{"more steps", `"Step":15`, `"Step":99`, shorter},
		{"a negative length", `"Attachment":0`, `"Attachment":-1`, shorter},
		{"an evaluation less", `"Evaluations":2`, `"Evaluations":1`, "its state has 80 bytes too many"},
	} {
		agent.refuses(t, test.what, agent.resealed(t, test.old, test.new), test.want)
	}
	agent.stays(t)
}

// Arbitrary contents under the right checksum give an error of one line, or an agent or a PUN
// that can be saved and loaded again. They take no more memory than their length calls for.
func FuzzCheckpoint(f *testing.F) {
	for _, changes := range []string{"", "Uncertainty=ensemble", "Curriculum=mega Replay=per", "Curriculum=her Critics=1"} {
		data := marshal(f, agentAfter(f, with(leastParams(), changes), 9))
		f.Add(data[:len(data)-sha256.Size])
	}
	data := marshal(f, learnedPUN(f, 2, 7))
	f.Add(data[:len(data)-sha256.Size])
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := sha256.Sum256(content)
		for _, x := range []interface {
			encoding.BinaryMarshaler
			encoding.BinaryUnmarshaler
		}{new(Agent), new(PUN)} {
			var err error
			got := allocated(func() { err = x.UnmarshalBinary(append(slices.Clone(content), sum[:]...)) })
			if most := uint64(1<<20 + 100*len(content)); got > most {
				t.Errorf("decoding %d bytes allocates %d, want at most %d", len(content), got, most)
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "qta: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q", err)
				}
				continue
			}
			again, err := x.MarshalBinary()
			if err = errors.Join(err, x.UnmarshalBinary(again)); err != nil {
				t.Errorf("what was decoded and encoded is not decoded: %v", err)
			}
		}
	})
}

// badNumbers are neither saved nor read.
var badNumbers = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}

// A bad number in any field is neither saved nor read.
func TestCheckpointNumbers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for i, variant := range tinyVariants() {
		if testing.Short() && i%5 != 0 {
			continue
		}
		a := agentAfter(t, variant.Params, 16)
		reader := new(Agent)
		unmarshal(t, marshal(t, a), reader)
		fields := a.savedState()
		whole := appended(t, fields)
		for k, field := range fields {
			number, index := oneNumber(rng, field)
			if !number.CanFloat() {
				continue
			}
			bad := badNumbers[rng.IntN(3)]
			good := number.Float()

			number.SetFloat(bad)
			_, err := fields.append(nil, 16)
			namesNumber(t, variant.Name, "training state", err)

			at := len(appended(t, fields[:k])) + index*int(number.Type().Size())
			damaged, _ := binary.Append(slices.Clone(whole[:at]), binary.LittleEndian, number.Interface())
			damaged = append(damaged, whole[len(damaged):]...)
			err = reader.savedState().read(damaged)
			if err == nil || !strings.Contains(err.Error(), "is not finite") {
				t.Errorf("%s, field %d, read with %v: error %v", variant.Name, k, bad, err)
			}
			number.SetFloat(good)
		}
		marshal(t, a)
	}
}

// appended returns the fields as a checkpoint has them.
func appended(t *testing.T, fields savedState) []byte {
	t.Helper()
	b, err := fields.append(nil, 16)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oneNumber returns a field, or one number of a slice and its index.
func oneNumber(rng *rand.Rand, field any) (number reflect.Value, index int) {
	number = reflect.Indirect(reflect.ValueOf(field))
	if number.Kind() == reflect.Slice && number.Len() > 0 {
		index = rng.IntN(number.Len())
		number = number.Index(index)
	}
	return number, index
}

// namesNumber checks that an error names a number of step 16 that is not finite.
func namesNumber(t *testing.T, what, network string, err error) {
	t.Helper()
	numeric, ok := errors.AsType[*NumericError](err)
	if !ok || numeric.Step != 16 || finite(numeric.Value) || numeric.Network != network {
		t.Errorf("%s, a number of %s: error %v", what, network, err)
	}
}

// A network with a bad number is named, and not saved.
func TestCheckpointNetworks(t *testing.T) {
	a := agentAfter(t, tiny(Beyond(), "Curriculum=vds"), 16)
	for k, params := range a.parameters() {
		good := params.values[3]
		params.values[3] = float32(badNumbers[k%3])
		_, err := a.MarshalBinary()
		namesNumber(t, "VDS", params.name, err)
		params.values[3] = good
	}
	marshal(t, a)
	a.policy.adam.v[2] = float32(math.NaN())
	namesNumber(t, "VDS", "training state", a.SaveFile(filepath.Join(t.TempDir(), "agent")))
}

// loads checks that a file holds an agent after so many steps.
func loads(t *testing.T, what, path string, steps int) {
	t.Helper()
	a, err := LoadFile(path)
	if err != nil {
		t.Errorf("%s: error %v", what, err)
	} else if a.Steps() != steps {
		t.Errorf("%s: the agent has %d steps, want %d", what, a.Steps(), steps)
	}
}

// failsToLoad checks that a file is refused by name.
func failsToLoad(t *testing.T, what, path string) {
	t.Helper()
	_, err := LoadFile(path)
	if err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: error %v", what, err)
	}
	_, missing := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) != (missing != nil) {
		t.Errorf("%s: error %v takes the file for missing, or does not", what, err)
	}
}

// A crash in a save leaves such files. A whole checkpoint among them is loaded. The next save
// succeeds and leaves one file.
func TestSaveFile(t *testing.T) {
	older, newer := marshal(t, agentAfter(t, leastParams(), 5)), marshal(t, agentAfter(t, leastParams(), 8))
	next := agentAfter(t, leastParams(), 11)
	for _, test := range []struct {
		what             string
		saved, temporary []byte // nil is no file
		steps            int    // of what is loaded, or 0
	}{
		{"in the first save", nil, newer[:99], 0},
		{"in a later save", older, newer[:99], 5},
		{"before the renaming", older, newer, 5},
		{"after it", newer, nil, 8},
		{"a file that is cut off", newer[:99], nil, 0},
		{"an empty file", []byte{}, nil, 0},
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
			t.Errorf("%s: the files are %v", test.what, entries)
		}
	}
	failsToLoad(t, "a device", os.DevNull)
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
		err := next.SaveFile(path)
		if err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") {
			t.Errorf("%s: error %v", what, err)
		}
		loads(t, what, path, 5) // through a link, too
		if _, err := os.Lstat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the temporary file is left: %v", what, err)
		}
	}
}

// A failingFile returns these errors.
type failingFile struct{ onWrite, onSync, onClose error }

func (f failingFile) Write(p []byte) (int, error) { return len(p), f.onWrite }
func (f failingFile) Sync() error                 { return f.onSync }
func (f failingFile) Close() error                { return f.onClose }

// No error of a file system at the end of a save is lost.
func TestSaveFileErrors(t *testing.T) {
	const failure = syscall.EIO
	for _, test := range []struct {
		what string
		file failingFile
		want error
	}{
		{"none", failingFile{}, nil},
		{"write", failingFile{onWrite: failure}, failure},
		{"sync", failingFile{onSync: failure}, failure},
		{"close", failingFile{onClose: failure}, failure},
		{"no fsync", failingFile{onSync: syscall.EINVAL}, nil},
		{"no fsync, close", failingFile{onSync: syscall.EINVAL, onClose: failure}, failure},
		{"write, then sync", failingFile{onWrite: failure, onSync: syscall.EINVAL}, failure},
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

// No thread outlives an agent that is closed, also after others were read into it.
func TestCheckpointThreads(t *testing.T) {
	a := newMazeAgent(t, leastParams(), 1)
	before := runtime.NumGoroutine()
	a.SetThreads(3)
	for range 5 {
		unmarshal(t, marshal(t, newMazeAgent(t, leastParams(), 2)), a)
	}
	a.Close()
	goroutinesEnd(t, before)
	new(Agent).Close() // which has none
}
