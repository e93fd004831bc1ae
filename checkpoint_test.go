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

// tiny makes a set of parameters so small that a run of some episodes, whose later
// goals are chosen by uncertainty, takes milliseconds, with changes as in with.
func tiny(p Params, changes string) Params {
	p.HiddenSize, p.HiddenLayers = 8, 2
	p.Batch = 16
	p.Candidates, p.UncertaintyActions = 20, 2
	p.Horizon, p.InitialSteps, p.LearningStarts = 10, 15, 5
	p.NormalizerDraws = 5
	return with(p, changes)
}

// variants are the presets, but for those that tiny makes the same, and
// whatever else decides what an agent does and what its state consists of: every
// curriculum, estimator and replay, and some of them together.
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

// tinyVariants are the variants, all tiny, and some that set a state or a count
// which no preset uses. With -short the preset mega stands for all that learn
// much in an episode of any size, MEGA's fits and VDS's own ensemble.
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

// leastParams are those of the smallest checkpoint.
func leastParams() Params { return tiny(Beyond(), "HiddenSize=1 HiddenLayers=1 Critics=2") }

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

// sameState holds an agent to what another one has marshalled.
func sameState(t testing.TB, what string, want []byte, a *Agent) {
	t.Helper()
	if got := marshal(t, a); !bytes.Equal(want, got) {
		w := new(Agent)
		unmarshal(t, want, w)
		t.Errorf("%s: the state differs; digest %s, want %s; log (-want +got):\n%s", what, a.Digest(), w.Digest(), cmp.Diff(w.log, a.log))
	}
}

// TestCheckpointContinues goes on from every step to the next as without an
// interruption, whatever the agent is. Looking changes nothing: there it answers every
// question, also about nothing, and answers it again alike.
func TestCheckpointContinues(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short every fourth variant: all take 3 seconds, in a suite of ten")
			}
			steps := 75
			if testing.Short() {
				steps = 45
			}
			switch variant.Params.Curriculum {
			case "vds":
				steps = 25 // it learns much after each episode
			case "mega":
				steps = 45 // it fits much at the start of each
			}
			whole := newMazeAgent(t, variant.Params, 1)
			states := [][]byte{marshal(t, whole)}
			trainTo(t, whole, steps, func() error {
				states = append(states, marshal(t, whole))
				return nil
			})
			if len(whole.log) == 0 || whole.goalsSet < 2 {
				t.Fatalf("%d evaluations, %d goals set: this run shows nothing", len(whole.log), whole.goalsSet)
			}
			// Each time by an agent that has another past, and other threads.
			used := agentAfter(t, tiny(Authors(), ""), 33)
			used.SetThreads(2)
			defer used.Close()
			points := randomRows(rand.New(rand.NewPCG(8, 0)), 12, 2)
			ask := func(i int, x [][]float64) []any {
				e, err := used.Evaluate(mustMaze(t, "1U5").Env(), 1, 4)
				return []any{used.Survey(points[0], points[1], x, x, 5), used.Value(x, x), used.Uncertainty(x, x, uint64(i)),
					used.Goals(0, used.Steps()), used.State(), used.Achieved(0), e, err}
			}
			for i := range steps {
				unmarshal(t, states[i], used)
				if diff := cmp.Diff(ask(i, points), ask(i, points)); diff != "" {
					t.Errorf("step %d: a second answer differs (-first +second):\n%s", i, diff)
				}
				if got := fmt.Sprint(ask(i, nil)[:3]...); got != "{[] [] [] []} [] []" {
					t.Error("about nothing", got)
				}
				trainTo(t, used, i+1, nil)
				if sameState(t, "trained one step on", states[i+1], used); t.Failed() {
					t.Fatalf("from step %d to the next", i)
				}
			}
			if got := used.workers.n; got != 2 {
				t.Errorf("%d threads after UnmarshalBinary, want 2 as before", got)
			}
		})
	}
}

// What a later part of a run sets is saved, and what follows from it done again.
func TestCheckpointKeeps(t *testing.T) {
	a, b := agentAfter(t, tiny(Authors(), "UncertaintyPolyak=0.9"), 33), new(Agent)
	a.foundAt, a.goalsReached, a.reached, a.firstGoal = 7, 5, true, true
	a.log[0] = Evaluation{1, 1, 3, 4, 5, 6, 7, 8, 9, 10} // perfect
	attached := []byte("of the run")
	a.Attach(attached)
	attached[0], a.Attachment()[0] = 'x', 'x' // of copies
	unmarshal(t, marshal(t, a), b)
	if b.SolvedAt() != 1 {
		t.Error("an evaluation that was perfect is not any more")
	}
	told := func(a *Agent) []any {
		return []any{a.FoundAt(), a.Steps(), a.State(), a.Evaluations(), string(a.Attachment()), a.losses, a.updates,
			a.goalsSet, a.goalsReached, a.reached, a.firstGoal}
	}
	if want, got := told(a), told(b); !reflect.DeepEqual(want, got) || string(b.Attachment()) != "of the run" {
		t.Errorf("loaded are %v, want %v", got, want)
	}
}

// TestCheckpointDamage loads what is no checkpoint of an agent, or of a PUN: an
// error says so on one line, and leaves the agent as it was.
func TestCheckpointDamage(t *testing.T) {
	t.Parallel()
	a, u := agentAfter(t, tiny(Paper(), ""), 12), learnedPUN(t, 2, 7)
	beforeA, beforeU := marshal(t, a), marshal(t, u)
	agent, ensemble := marshal(t, agentAfter(t, leastParams(), 15)), marshal(t, learnedPUN(t, 5, 7))
	rng := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []struct {
		magic       string
		data, other []byte
		shape       string // in data
		load        func([]byte) error
	}{{agentMagic, agent, ensemble, `"HiddenSize":1,"HiddenLayers":1,"Critics":2`, a.UnmarshalBinary},
		{ensembleMagic, ensemble, agent, `"HiddenSize":3,"HiddenLayers":1,"Critics":3`, u.UnmarshalBinary}} {
		refuse := func(name string, data []byte, want string) {
			t.Helper()
			err := kind.load(data)
			if err == nil || !strings.HasPrefix(err.Error(), "qta: ") || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
			if errors.Is(err, errors.ErrUnsupported) != strings.HasPrefix(want, "format") {
				t.Errorf("%s: error %v is taken for damage, or for another format", name, err)
			}
		}
		// resealed has something else in place of old, and the right checksum.
		resealed := func(old, new string) []byte {
			content := kind.data[:len(kind.data)-sha256.Size]
			b := bytes.Replace(content, []byte(old), []byte(new), 1)
			if bytes.Equal(b, content) {
				t.Fatalf("no %q in %q", old, content)
			}
			sum := sha256.Sum256(b)
			return append(b, sum[:]...)
		}
		for i := 0; i < len(kind.data); i += 1 + rng.IntN(20) {
			refuse(fmt.Sprint("a cut after byte ", i), kind.data[:i:i], "")
			changed := slices.Clone(kind.data)
			changed[i] ^= 1 << rng.IntN(8)
			refuse(fmt.Sprint("a change in byte ", i), changed, "")
		}
		refuse("a byte more", append(slices.Clone(kind.data), 0), "damaged or cut off: its checksum is wrong")
		refuse("the other kind", kind.other, `it does not begin with "qta `)
		for _, other := range []int{checkpointFormat - 1, checkpointFormat + 1} {
			refuse("another format", resealed(string(rune(checkpointFormat)), string(rune(other))),
				fmt.Sprintf("format %d, this version reads format %d", other, checkpointFormat))
		}
		refuse("an unknown field", resealed(`"Seed"`, `"Sead"`), `its header: json: unknown field "Sead"`)
		refuse("a bad parameter", resealed(`"Batch":16`, `"Batch":00`), "its header")
		refuse("other networks", resealed(kind.shape, kind.shape[:len(kind.shape)-1]+"4"), "its state: ")
		const rest = `,"Batch":16,"Discount":0`
		refuse("large networks", resealed(kind.shape+rest+".99", strings.Replace(kind.shape, ":", ":409", 1)+rest), "its state is shorter than its header says")
		refuse("a long header", resealed(string(kind.data[24:32]), string(binary.LittleEndian.AppendUint64(nil, 1<<40))), "it is shorter than its header")
		if kind.magic == agentMagic {
			refuse("a large attachment", resealed(`"Own":false,"Attachment":0`, `"Attachment":99999999     `), "its state is shorter than its header says")
			refuse("many evaluations", resealed(`"Evaluations":2,"Own":false`, `"Evaluations":999          `), "its state is shorter than its header says")
			refuse("more steps", resealed(`"Step":15`, `"Step":99`), "its state is shorter than its header says")
			refuse("a negative length", resealed(`"Own":false,"Attachment":0`, `"Own":true,"Attachment":-1`), "its state is shorter than its header says")
			refuse("an evaluation less", resealed(`"Evaluations":2`, `"Evaluations":1`), "its state has 80 bytes too many")
		}
	}
	sameState(t, "after all refusals", beforeA, a)
	if !bytes.Equal(beforeU, marshal(t, u)) {
		t.Error("the ensemble has changed")
	}
	if err := errors.Join(a.UnmarshalBinary(agent), u.UnmarshalBinary(ensemble)); err != nil {
		t.Errorf("the undamaged checkpoints: %v", err)
	}
}

// FuzzCheckpoint decodes arbitrary contents under the right checksum: an error on
// one line, or an agent or a PUN that can be saved and loaded again, and no more memory than
// the length calls for.
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

// TestCheckpointNumbers has every field go wrong in turn. A NaN or an infinite
// number is neither saved, where its network is named, nor read.
func TestCheckpointNumbers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for i, variant := range tinyVariants() {
		if testing.Short() && i%5 != 0 {
			continue
		}
		a := agentAfter(t, variant.Params, 16)
		saved, state := a.savedState(), func(s savedState) []byte {
			b, err := s.append(nil, 16)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		whole, reader := state(saved), new(Agent)
		unmarshal(t, marshal(t, a), reader)
		refuse := func(network string, err error) {
			t.Helper()
			numeric, ok := errors.AsType[*NumericError](err)
			if !ok || numeric.Step != 16 || finite(numeric.Value) || numeric.Network != network {
				t.Errorf("%s, a number of %s: error %v", variant.Name, network, err)
			}
		}
		bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		for k, field := range saved {
			v, index := reflect.Indirect(reflect.ValueOf(field)), 0
			if v.Kind() == reflect.Slice && v.Len() > 0 {
				index = rng.IntN(v.Len())
				v = v.Index(index)
			}
			if v.CanFloat() {
				good, at := v.Float(), len(state(saved[:k]))+index*int(v.Type().Size())
				v.SetFloat(bad)
				_, err := saved.append(nil, 16)
				refuse("training state", err)
				crafted, _ := binary.Append(slices.Clone(whole[:at]), binary.LittleEndian, v.Interface())
				if err := reader.savedState().read(append(crafted, whole[len(crafted):]...)); err == nil || !strings.Contains(err.Error(), "is not finite") {
					t.Errorf("%s, field %d, read with %v: error %v", variant.Name, k, bad, err)
				}
				v.SetFloat(good)
			}
		}
		for _, params := range a.parameters() {
			good := params.values[3]
			params.values[3] = float32(bad)
			_, err := a.MarshalBinary()
			refuse(params.name, err)
			params.values[3] = good
		}
		marshal(t, a)
		a.policy.adam.v[2] = float32(bad)
		refuse("training state", a.SaveFile(filepath.Join(t.TempDir(), "agent")))
	}
}

// TestSaveFile leaves files as crashes do: what is whole is loaded, and the next
// checkpoint is saved. Where it cannot be written, the one before stays.
func TestSaveFile(t *testing.T) {
	older, newer := marshal(t, agentAfter(t, leastParams(), 5)), marshal(t, agentAfter(t, leastParams(), 8))
	next := agentAfter(t, leastParams(), 11)
	load := func(path, what string, steps int, missing bool) {
		t.Helper()
		if a, err := LoadFile(path); steps > 0 && (err != nil || a.Steps() != steps) {
			t.Errorf("%s: error %v", what, err)
		} else if steps == 0 && (err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") ||
			!strings.Contains(err.Error(), path) || errors.Is(err, fs.ErrNotExist) != missing) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	for _, test := range []struct {
		newest, temporary []byte
		steps             int
	}{{nil, newer[:99], 0}, {older, newer[:99], 5}, {older, newer, 5}, {newer, nil, 8}, {newer[:99], nil, 0}, {[]byte{}, nil, 0}} {
		path, what := filepath.Join(t.TempDir(), "agent"), fmt.Sprintf("%d bytes, and %d", len(test.newest), len(test.temporary))
		for name, content := range map[string][]byte{path: test.newest, path + ".tmp": test.temporary} {
			if content != nil {
				writeFile(t, name, content)
			}
		}
		load(path, what, test.steps, test.newest == nil)
		if err := next.SaveFile(path); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		load(path, what+", after the next", 11, false)
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Errorf("%s: the files are %v", what, entries)
		}
	}
	load(os.DevNull, "a device", 0, false)
	for what, hinder := range map[string]func(path string) error{
		"a link in its place":    func(path string) error { return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path)) },
		"one in the temporary's": func(path string) error { return os.Mkdir(path+".tmp", 0o777) },
		"a full disk":            func(path string) error { return os.Symlink("/dev/full", path+".tmp") },
	} {
		path := filepath.Join(t.TempDir(), "agent")
		if writeFile(t, path, older); hinder(path) != nil {
			t.Fatal(what)
		}
		// EINVAL is what Sync says after a write that failed.
		err := next.SaveFile(path)
		if err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") || errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: error %v", what, err)
		}
		load(path, what, 5, false) // through a link, too
		if _, err := os.Lstat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the temporary file is left: %v", what, err)
		}
	}
	path := filepath.Join(t.TempDir(), "agent") // on what has no fsync
	if err := errors.Join(os.Symlink(os.DevNull, path+".tmp"), next.SaveFile(path)); err != nil {
		t.Errorf("without fsync: %v", err)
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

// TestCheckpointThreads lets no thread outlive the agents that are read.
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
