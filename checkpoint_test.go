package qta

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tinyPreset makes a preset so small that a run of some episodes, whose later
// goals are chosen by uncertainty, takes milliseconds.
func tinyPreset(p Params) Params {
	p.HiddenSize, p.HiddenLayers = 8, 2
	p.Batch = 16
	p.Candidates, p.UncertaintyActions = 20, 2
	p.Horizon, p.InitialSteps, p.LearningStarts = 10, 15, 5
	p.NormalizerDraws = 5
	p.TargetEvery, p.UpdatesPerEpisode = min(p.TargetEvery, 7), min(p.UpdatesPerEpisode, 8)
	return p
}

// variants are the presets and whatever else decides what an agent does and
// what its state consists of: every curriculum, estimator and replay, and some
// of them together.
func variants() []Preset {
	all := Presets()
	for _, v := range []struct {
		preset  Params
		name    string
		changes string
	}{
		{Default(), "", "Curriculum=mega"},
		{Default(), "", "Curriculum=vds"},
		{Default(), "", "Curriculum=her"},
		{Default(), "", "Curriculum=random"},
		{Default(), "", "Curriculum=visits"},
		{Default(), "", "Curriculum=rnd"},
		{Default(), "", "Replay=per"},
		{Default(), "", "Replay=td"},
		{Default(), "", "Uncertainty=q"},
		{Default(), "", "Uncertainty=bootstrap"},
		{Default(), "", "Uncertainty=ensemble"},
		{Default(), "", "UncertaintyNoise=0.1"},
		{Default(), "", "Curriculum=mega Uncertainty=bootstrap Replay=per"},
		{Default(), "", "Curriculum=random Uncertainty=ensemble Replay=td"},
		{Default(), "", "Uncertainty=ensemble Replay=per"},
		{Default(), "", "PredictiveGradient=head"},
		{Default(), "", "HeadOwnDraw=true"},
		{Default(), "", "UpdatesPerStep=2 RandomActionReached=0.5 RandomActionHeld=0.5 UncertaintyPolyak=0.9 FirstGoalDesired=0.7"},
		{Authors(), "authors ", "Uncertainty=q"},
		{Authors(), "authors ", "Uncertainty=bootstrap"},
		{Authors(), "authors ", "Uncertainty=ensemble"},
		{Authors(), "authors ", "Replay=per"},
		{Authors(), "authors ", "Replay=td"},
	} {
		all = append(all, changed(v.name, v.preset, v.changes))
	}
	return all
}

// changed returns a set of parameters with changes such as "Batch=16", called
// after them.
func changed(name string, p Params, changes string) Preset {
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
	}
	return Preset{name + changes, p}
}

// tinyVariants are the variants, all tiny, and some that set a state or a count
// which no preset uses. With -short the preset mega stands for all that learn
// much in an episode of any size, MEGA's fits and VDS's own ensemble, but not
// where races are looked for.
func tinyVariants() []Preset {
	all := variants()
	if testing.Short() && !raceEnabled {
		all = slices.DeleteFunc(all, func(v Preset) bool {
			return v.Params.Curriculum == "vds" || v.Params.Curriculum == "mega" && v.Name != "mega"
		})
	}
	all = append(all,
		changed("", Default(), "RandomActionHeld=0.5"),
		changed("", Default(), "TargetEvery=2"),
		changed("", Default(), "UpdatesPerEpisode=7 TargetEvery=2"),
		changed("", Default(), "Uncertainty=ensemble EnsembleActions=3"),
	)
	for i, v := range all {
		all[i].Params = tinyPreset(v.Params)
		if v.Params.Curriculum == "mega" {
			all[i].Params.Horizon = 4 // its cutoff adapts after ten episodes
		}
	}
	return all
}

// leastParams are those of the smallest checkpoint.
func leastParams() Params {
	p := tinyPreset(Default())
	p.HiddenSize, p.HiddenLayers, p.Critics = 1, 1, 2
	return p
}

func newMazeAgent(t testing.TB, p Params, seed uint64) *Agent {
	t.Helper()
	a, err := NewAgent(p, mustMaze(t, "1U5").Env().Sizes(), seed)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trainTo trains in new environments, with evaluations every 7 steps.
func trainTo(t testing.TB, a *Agent, steps int, afterStep func() error) {
	t.Helper()
	m := mustMaze(t, "1U5")
	err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2, AfterStep: afterStep})
	if err != nil {
		t.Fatal(err)
	}
}

// agentAfter returns an agent after some steps.
func agentAfter(t testing.TB, p Params, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 1)
	trainTo(t, a, steps, nil)
	return a
}

func marshal(t testing.TB, a *Agent) []byte {
	t.Helper()
	data, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sameState holds an agent to what another one has marshalled.
func sameState(t testing.TB, what string, want []byte, a *Agent) {
	t.Helper()
	if got := marshal(t, a); !bytes.Equal(want, got) {
		w := new(Agent)
		if err := w.UnmarshalBinary(want); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: the state differs; digest %s, want %s; log (-want +got):\n%s", what, a.Digest(), w.Digest(), cmp.Diff(w.log, a.log))
	}
}

// TestCheckpointContinues goes on from every step to the next as without an
// interruption, whatever the agent is.
func TestCheckpointContinues(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%3 != 0 {
				t.Skip("with -short, every third variant")
			}
			steps := 75
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
			used := agentAfter(t, tinyPreset(Authors()), 33)
			used.SetThreads(2)
			defer used.Close()
			for i := range steps {
				if err := used.UnmarshalBinary(states[i]); err != nil {
					t.Fatal(err)
				}
				trainTo(t, used, i+1, nil)
				if sameState(t, "trained one step on", states[i+1], used); t.Failed() {
					t.Fatalf("from step %d to the next", i)
				}
			}
			if got := used.workers.threads(); got != 2 {
				t.Errorf("%d threads after UnmarshalBinary, want 2 as before", got)
			}
		})
	}
}

// memory is what a checkpoint does not have: what the environment, a call or a step
// of training makes again.
var memory = []string{
	"Agent.env", "Agent.options", "Agent.attachment", "Agent.workers", "Agent.scratch", "departures.headBatch", "departures.actorBatch",
	"policy.gradient", "policy.polyak", "policy.pass", "policy.actions",
	"pun.pass", "pun.dp", "pun.headT", "pun.predictions", "pun.own", "pun.masked",
	"critic.gradient", "critic.polyak", "critic.values", "critic.prediction",
	"adam.workers", "adam.params", "adam.gradient", "adam.c", "average.polyak",
	"predictive.actions", "noisy.draws", "prioritized.P", "prioritized.w", "prioritized.priority",
	"visits.counts", "visits.seen", "visits.cell", "mega.density", "mega.candidates", "mega.q", "mega.score", "mega.x",
	"vds.batch", "vds.x", "vds.goals", "vds.q", "vds.p", "vds.std", "rnd.gradient", "rnd.frozen", "rnd.learning", "rnd.x",
}

// TestCheckpointHasAll compares a loaded agent with the one that was saved, field
// by field, and names what is lost.
func TestCheckpointHasAll(t *testing.T) {
	remembered := func(p cmp.Path) bool {
		field, ok := p.Last().(cmp.StructField)
		return ok && slices.Contains(memory, p.Index(-2).Type().Name()+"."+field.Name()) || p.Last().Type().Kind() == reflect.Func
	}
	for _, variant := range tinyVariants() {
		a, b := agentAfter(t, variant.Params, 33), new(Agent)
		a.foundAt = 7 // as later in a run
		a.perfect = a.params.WeightDecay
		a.decayWeights()
		if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true }), cmp.FilterPath(remembered, cmp.Ignore()))
		if diff != "" {
			t.Errorf("%s (-saved +loaded):\n%s", variant.Name, diff)
		}
	}
}

// With FirstGoalDesired, what was found is practiced after loading as before, and
// the average of UncertaintyPolyak counts on.
func TestCheckpointKeepsPractice(t *testing.T) {
	p := tinyPreset(Default())
	p.FirstGoalDesired, p.UncertaintyPolyak, p.InitialSteps = 1, 0.9, 0
	a, b := agentAfter(t, p, 45), new(Agent)
	a.replay.nextAchieved = slices.Repeat(a.desired, 45) // so that it has been there
	if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
		t.Fatal(err)
	}
	b.env = mustMaze(t, "1U5").Env()
	if goal, err := b.curriculum.goal(b, true); err != nil || !slices.Equal(goal, a.desired) {
		t.Errorf("the first goal is %v, want the environment's, %v; error %v", goal, a.desired, err)
	}
	if got, want := b.average.updates, 45-p.LearningStarts; got != want*p.UpdatesPerStep {
		t.Errorf("the average has counted %d updates, want %d", got, want)
	}
}

// TestTrainStops ends training in every way that leaves an agent to continue.
func TestTrainStops(t *testing.T) {
	const steps = 40
	stop := errors.New("stop")
	want := marshal(t, agentAfter(t, tinyPreset(Default()), steps))
	m := mustMaze(t, "1U5")
	for _, how := range []string{"AfterStep", "AfterEvaluation", "context"} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		for at := 3; a.Steps() < steps; at += 5 {
			ctx, cancel := context.WithCancelCause(t.Context())
			o := TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2}
			if how == "AfterEvaluation" {
				o.AfterEvaluation = func(Evaluation) error { return stop }
			} else {
				o.AfterStep = func() error {
					if a.Steps() == at && how == "AfterStep" {
						return stop
					} else if a.Steps() == at {
						cancel(stop)
					}
					return nil
				}
			}
			before := a.Steps()
			err := a.Train(ctx, m.Env(), m.Env(), o)
			cancel(nil)
			if err != stop && (err != nil || a.Steps() < steps) {
				t.Fatalf("%s: error %v after %d steps, want that of the stop", how, err, a.Steps())
			}
			if a.Steps() == before {
				t.Fatalf("%s: no progress from step %d", how, before)
			}
		}
		sameState(t, how, want, a)
	}
}

// TestCheckpointInHooks has the functions of TrainOptions save the agent, which
// they can between steps alone, and replace it, which they cannot. From what was
// saved training goes on to the same end.
func TestCheckpointInHooks(t *testing.T) {
	const steps = 40
	m := mustMaze(t, "1U5")
	p := tinyPreset(Default())
	want := marshal(t, agentAfter(t, p, steps))
	for name, hook := range map[string]func(o *TrainOptions, f func()){
		"AfterStep":       func(o *TrainOptions, f func()) { o.AfterStep = func() error { f(); return nil } },
		"AfterEvaluation": func(o *TrainOptions, f func()) { o.AfterEvaluation = func(Evaluation) error { f(); return nil } },
		"AfterGoal":       func(o *TrainOptions, f func()) { o.AfterGoal = func([]float64, bool) { f() } },
		"AfterReach":      func(o *TrainOptions, f func()) { o.AfterReach = func([]float64) { f() } },
		"AfterEpisode":    func(o *TrainOptions, f func()) { o.AfterEpisode = f },
		"AfterUpdate":     func(o *TrainOptions, f func()) { o.AfterUpdate = func(_, _, _ float64) { f() } },
	} {
		a := newMazeAgent(t, p, 1)
		between := name == "AfterStep" || name == "AfterEvaluation"
		var saved []byte
		calls := 0
		o := TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2}
		hook(&o, func() {
			calls++
			data, err := a.MarshalBinary()
			if between && err != nil || !between && err != errHalfway {
				t.Errorf("%s, step %d: saving it: %v", name, a.step, err)
			}
			if a.step < steps-5 {
				saved = data
			}
			if err := a.UnmarshalBinary(want); err == nil || !strings.Contains(err.Error(), "cannot be replaced while it trains") {
				t.Errorf("%s, step %d: replacing it: %v", name, a.step, err)
			}
		})
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != nil || calls == 0 {
			t.Fatalf("%s: %d calls, error %v", name, calls, err)
		}
		sameState(t, name+": the end", want, a)
		if between {
			if err := a.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			trainTo(t, a, steps, nil)
			sameState(t, name+": continued from there", want, a)
		}
	}

	// Nor is there a way on from an error within a step.
	line := &lineEnv{onState: func(e *lineEnv, s *State) {
		if e.steps == 5 {
			s.Observation[0] = math.NaN()
		}
	}}
	a, err := NewAgent(p, line.Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	o := TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2}
	var broken *EnvError
	if err := a.Train(t.Context(), line, &lineEnv{}, o); !errors.As(err, &broken) {
		t.Fatal(err)
	}
	if _, err := a.MarshalBinary(); err != errHalfway {
		t.Errorf("saved within a step: %v", err)
	}
	if err := a.Train(t.Context(), &lineEnv{}, &lineEnv{}, o); err != errHalfway {
		t.Errorf("trained on within a step: %v", err)
	}
}

// resealed returns a checkpoint of any header and state whose checksum is right.
func resealed(magic string, format uint64, text, state []byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte(magic), format)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	b = slices.Concat(b, text, state)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// partsOf returns header and state of a checkpoint.
func partsOf(data []byte) (text, state []byte) {
	rest := data[len(agentMagic)+8 : len(data)-sha256.Size]
	n := binary.LittleEndian.Uint64(rest)
	return rest[8:][:n], rest[8+n:]
}

// TestCheckpointDamage loads what is no checkpoint of an agent, or of a PUN: an
// error says so on one line, and leaves the agent as it was.
func TestCheckpointDamage(t *testing.T) {
	t.Parallel()
	a, u := agentAfter(t, tinyPreset(Paper()), 12), learnedPUN(t, 2)
	beforeA, beforeU := marshal(t, a), marshalPUN(t, u)
	least := agentAfter(t, leastParams(), 15)
	least.Attach([]byte{1})
	agent, ensemble := marshal(t, least), marshalPUN(t, learnedPUN(t, 5))
	for _, kind := range []struct {
		magic string
		data  []byte
		load  func([]byte) error
	}{{agentMagic, agent, a.UnmarshalBinary}, {ensembleMagic, ensemble, u.UnmarshalBinary}} {
		refuse := func(name string, data []byte, want string) {
			t.Helper()
			err := kind.load(data)
			if err == nil || !strings.HasPrefix(err.Error(), "qta: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, %s: error %v, want %q", kind.magic, name, err, want)
			}
			if errors.Is(err, errors.ErrUnsupported) != strings.HasPrefix(want, "format") {
				t.Errorf("%q, %s: error %v is taken for damage, or for another format", kind.magic, name, err)
			}
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range kind.data {
			refuse(fmt.Sprint("a cut after byte ", i), kind.data[:i:i], "")
			changed := slices.Clone(kind.data)
			changed[i] ^= 1 << rng.IntN(8)
			refuse(fmt.Sprint("a change in byte ", i), changed, "")
		}
		refuse("a byte more", append(slices.Clone(kind.data), 0), "damaged or cut off: its checksum is wrong")
		refuse("the other kind", map[string][]byte{agentMagic: ensemble, ensembleMagic: agent}[kind.magic], "this does not begin with \"qta ")

		text, state := partsOf(kind.data)
		refuse("a format before", resealed(kind.magic, 5, text, state), "format 5, this version reads format 6")
		refuse("the next format", resealed(kind.magic, 7, nil, nil), "format 7, this version reads format 6")
		refuse("no header", resealed(kind.magic, checkpointFormat, nil, state), "its header: EOF")
		long := slices.Clone(kind.data)
		long[len(kind.magic)+8+7] = 1
		sum := sha256.Sum256(long[:len(long)-sha256.Size])
		copy(long[len(long)-sha256.Size:], sum[:])
		refuse("a long header", long, "a header of ")
		for _, test := range []struct{ old, new, want string }{
			{`{"Params"`, `"Params"`, "its header: "},
			{`{"Params"`, `{"More":1,"Params"`, `its header: json: unknown field "More"`},
			{`"Batch":16`, `"Batch":1.5`, "its header: json: cannot unmarshal number"},
			{`"Batch":16,`, ``, "parameter Batch is 0"},
			{fmt.Sprintf(`"HiddenSize":%d`, a.params.HiddenSize), `"HiddenSize":1`, ""},
			{`"HiddenLayers":1`, `"HiddenLayers":9`, ""},
			{`"HiddenLayers":1`, `"HiddenLayers":2,"HiddenSize":4096`, "shorter than its networks"},
			{`"Observation":2`, `"Observation":9223372036854775807`, "shorter than its networks"},
			{`"Observation":2`, `"Observation":-9223372036854775808`, "sizes"},
			{`"Observation":2`, `"Observation":3`, "its state: "},
			{`"Action":2`, `"Action":0`, "sizes"},
			{`"Step":15`, `"Step":-1`, "-1 times 112 bytes in "},
			{`"Step":15`, `"Step":9223372036854775807`, "9223372036854775807 times 112 bytes in "},
			{`"Step":15`, `"Step":16`, "its state: "},
			{`"Step":15`, `"Step":14`, "bytes too many"},
			{`"Evaluations":2`, `"Evaluations":-1`, "-1 times 80 bytes in "},
			{`"Evaluations":2`, `"Evaluations":9223372036854775807`, "9223372036854775807 times 80 bytes in "},
			{`"Attachment":1`, `"Attachment":-1`, "-1 times 1 bytes in "},
			{`"Attachment":1`, `"Attachment":9999999`, "9999999 times 1 bytes in "},
			{`"Own":false`, `"Own":7`, "its header: json: cannot unmarshal number"},
		} {
			if changed := strings.Replace(string(text), test.old, test.new, 1); changed != string(text) {
				refuse(test.new, resealed(kind.magic, checkpointFormat, []byte(changed), state), test.want)
			} else if kind.magic == agentMagic && test.want != "" {
				t.Errorf("no %s in %s", test.old, text)
			}
		}
		for name, changed := range map[string][]byte{
			"no state":            nil,
			"half a state":        state[:len(state)/2],
			"a short state":       state[:len(state)-1],
			"a long state":        append(slices.Clone(state), 0),
			"another generator":   bytes.Replace(state, []byte("pcg:"), []byte("PCG:"), 1),
			"a state beyond PCGs": slices.Concat(state[:bytes.LastIndex(state, []byte("pcg:"))], state[:9]),
		} {
			refuse(name, resealed(kind.magic, checkpointFormat, text, changed), "")
		}
	}
	sameState(t, "after all refusals", beforeA, a)
	if !bytes.Equal(beforeU, marshalPUN(t, u)) {
		t.Error("the ensemble has changed")
	}
	if err := errors.Join(a.UnmarshalBinary(agent), u.UnmarshalBinary(ensemble)); err != nil {
		t.Errorf("the undamaged checkpoints: %v", err)
	}
}

// TestCheckpointNumbers has every field go wrong. A NaN or an infinite number is
// neither saved nor loaded, and its network is named; a count that no training
// makes is no reason to panic.
func TestCheckpointNumbers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	m := mustMaze(t, "1U5")
	for i, variant := range tinyVariants() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		a := agentAfter(t, variant.Params, 21)
		text, _ := partsOf(marshal(t, a))
		s := a.saved()
		load := func() (*Agent, error) {
			b := new(Agent)
			return b, b.UnmarshalBinary(resealed(agentMagic, checkpointFormat, text, s.append(nil)))
		}
		for i, field := range s {
			bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
			var put func()
			switch v := field.(type) {
			case *int:
				good := *v
				for _, *v = range []int{math.MinInt, -1, math.MaxInt} {
					if b, err := load(); err == nil {
						b.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: 23, EvalEvery: 100, Rollouts: 1})
					}
				}
				*v = good
				continue
			case *float64:
				good := *v
				*v, put = bad, func() { *v = good }
			case []float64:
				k := rng.IntN(len(v))
				good := v[k]
				v[k], put = bad, func() { v[k] = good }
			case []float32:
				k := rng.IntN(len(v))
				good := v[k]
				v[k], put = float32(bad), func() { v[k] = good }
			default:
				continue
			}
			numeric, ok := errors.AsType[*NumericError](s.check(21))
			if !ok || numeric.Step != 21 || finite(numeric.Value) {
				t.Errorf("%s, field %d is %v: error %v", variant.Name, i, bad, numeric)
			}
			if _, err := load(); err == nil || !strings.Contains(err.Error(), "training state: ") {
				t.Errorf("%s, field %d is %v: loading it is error %v", variant.Name, i, bad, err)
			}
			put()
		}
		for _, params := range a.parameters() {
			good := params.values[3]
			params.values[3] = float32(math.Inf(-1))
			numeric, ok := errors.AsType[*NumericError](a.SaveFile(filepath.Join(t.TempDir(), "agent")))
			if !ok || numeric.Network != params.name || numeric.Step != 21 {
				t.Errorf("%s, a parameter of %s: error %v", variant.Name, params.name, numeric)
			}
			params.values[3] = good
		}
		if _, err := a.MarshalBinary(); err != nil {
			t.Errorf("%s: put right again: %v", variant.Name, err)
		}
		a.policy.adam.v[2] = float32(math.NaN())
		if numeric, ok := errors.AsType[*NumericError](a.SaveFile(filepath.Join(t.TempDir(), "agent"))); !ok || numeric.Network != "training state" {
			t.Errorf("%s, a moment of the policy: error %v", variant.Name, numeric)
		}
	}
}

// What a user attaches is saved with the agent, and copied.
func TestAttach(t *testing.T) {
	a := agentAfter(t, leastParams(), 15)
	given := []byte("of the run")
	a.Attach(given)
	given[0] = 'x'
	a.Attachment()[0] = 'x'
	b := new(Agent)
	if err := b.UnmarshalBinary(marshal(t, a)); err != nil || string(b.Attachment()) != "of the run" {
		t.Errorf("%q, error %v", b.Attachment(), err)
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

// decodingAllocates bounds what decoding n bytes may allocate: the networks with
// their targets and moments, and for each its gradient and scratch; and what an
// error or an agent of one hidden unit costs.
func decodingAllocates(n int) uint64 { return uint64(4*n + 1<<20) }

// quick reports whether some steps of training with these parameters take
// milliseconds.
func quick(p Params) bool {
	largest := max(p.Batch, p.Candidates, p.Horizon, p.NormalizerDraws, 10*p.UncertaintyActions, 10*p.EnsembleActions, 10*p.UpdatesPerEpisode)
	return largest <= 200 && p.HiddenSize*p.HiddenLayers*p.Critics <= 100
}

// FuzzCheckpoint decodes any header and state, and trains what they are.
func FuzzCheckpoint(f *testing.F) {
	for _, variant := range tinyVariants() {
		for _, steps := range []int{0, 9} {
			p := variant.Params
			p.HiddenSize, p.HiddenLayers, p.Critics = 1, 1, 2
			text, state := partsOf(marshal(f, agentAfter(f, p, steps)))
			f.Add(text, state)
		}
	}
	text, state := partsOf(marshal(f, agentWith(f, leastParams(), new(counting), 9)))
	f.Add(text, state)
	f.Fuzz(func(t *testing.T, text, state []byte) {
		data := resealed(agentMagic, checkpointFormat, text, state)
		a, err := new(Agent), error(nil)
		if got, most := allocated(func() { err = a.UnmarshalBinary(data) }), decodingAllocates(len(data)); got > most {
			t.Errorf("decoding %d bytes allocates %d, want at most %d", len(data), got, most)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "qta: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		b, again := new(Agent), marshal(t, a)
		if err := b.UnmarshalBinary(again); err != nil {
			t.Fatalf("what was decoded and encoded is not decoded: %v", err)
		}
		sameState(t, "decoded again", again, b)
		a.Act(a.observation, a.goal)
		if m := mustMaze(t, "1U5"); a.sizes == m.Env().Sizes() && quick(a.params) {
			start, goal := m.Start(), m.Goal()
			points := [][]float64{start[:], goal[:]}
			a.Survey(start[:], goal[:], points, points, 3)
			err := a.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: a.step + 3, EvalEvery: 2, Rollouts: 1})
			if err != nil && !strings.HasPrefix(err.Error(), "qta: ") {
				t.Errorf("error %q", err)
			}
		}
	})
}

// TestCheckpointAllocation decodes the agents that cost most for their length.
func TestCheckpointAllocation(t *testing.T) {
	extremes := []Sizes{{300, 1, 1}, {1, 1, 300}, {1, 300, 1}, {1, 1, 1}, {2, 2, 2}}
	if testing.Short() {
		extremes = extremes[:2]
	}
	for _, sizes := range extremes {
		for _, size := range []struct{ units, layers, critics int }{{1, 16, 64}, {1, 1, 2}, {64, 1, 2}, {64, 3, 3}} {
			for i, variant := range tinyVariants() {
				if testing.Short() && i%4 != 0 {
					continue
				}
				p := variant.Params
				p.HiddenSize, p.HiddenLayers, p.Critics = size.units, size.layers, size.critics
				p.AuthorsForm = false // not for these sizes
				a, err := NewAgent(p, sizes, 1)
				if err != nil {
					t.Fatal(err)
				}
				data := marshal(t, a)
				got := allocated(func() { err = new(Agent).UnmarshalBinary(data) })
				if most := decodingAllocates(len(data)); err != nil || got > most {
					t.Errorf("%s, %+v, %+v: %d bytes allocate %d, want at most %d; error %v", variant.Name, sizes, size, len(data), got, most, err)
				}
			}
		}
	}
}

// TestSaveFile leaves files as crashes and faults of a disk do. What is whole is
// loaded, and the next checkpoint is saved.
func TestSaveFile(t *testing.T) {
	next := agentAfter(t, leastParams(), 11)
	older, newer := marshal(t, agentAfter(t, leastParams(), 5)), marshal(t, agentAfter(t, leastParams(), 8))
	text, state := partsOf(newer)
	contents := map[string][]byte{"older": older, "newer": newer, "cut off": newer[:99], "empty": {},
		"other": []byte("something else altogether"), "foreign": resealed(agentMagic, 5, text, state)}
	for _, test := range []struct{ newest, previous, temporary string }{
		{"missing", "missing", "missing"}, // before the first
		{"missing", "missing", "cut off"}, // while it is written
		{"older", "missing", "cut off"},   // while the second is
		{"missing", "older", "newer"},     // between the renames
		{"newer", "older", "missing"},
		{"newer", "older", "cut off"},
		{"cut off", "older", "missing"},
		{"empty", "older", "missing"},
		{"other", "older", "missing"},
		{"foreign", "older", "missing"},
	} {
		path := filepath.Join(t.TempDir(), "agent")
		for name, content := range map[string]string{path: test.newest, path + Previous: test.previous, path + ".tmp": test.temporary} {
			if content != "missing" {
				if err := os.WriteFile(name, contents[content], 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		for name, content := range map[string]string{path: test.newest, path + Previous: test.previous} {
			a, err := LoadFile(name)
			switch want := map[string]int{"older": 5, "newer": 8}[content]; {
			case want > 0 && (err != nil || a.Steps() != want):
				t.Errorf("%v: %s: error %v", test, name, err)
			case want == 0 && (a != nil || err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") || !strings.Contains(err.Error(), name)):
				t.Errorf("%v: %s: error %v, want one with the file", test, name, err)
			case errors.Is(err, fs.ErrNotExist) != (content == "missing") || errors.Is(err, errors.ErrUnsupported) != (content == "foreign"):
				t.Errorf("%v: %s: another error than it is: %v", test, name, err)
			}
		}
		if err := next.SaveFile(path); err != nil {
			t.Fatalf("%v: %v", test, err)
		}
		if a, err := LoadFile(path); err != nil || a.Steps() != 11 {
			t.Errorf("%v: after the next: %v", test, err)
		}
		before := test.newest
		if before == "missing" {
			before = test.previous
		}
		if kept, err := os.ReadFile(path + Previous); before == "missing" && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(kept, contents[before]) {
			t.Errorf("%v: the one before the next is not %s: %v", test, before, err)
		}
		if _, err := os.Stat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: the temporary file is left: %v", test, err)
		}
	}
}

// TestSaveFileRefuses has, in a checkpoint's place or that of the temporary file,
// what is no regular file. Nothing is written through a link.
func TestSaveFileRefuses(t *testing.T) {
	a := agentAfter(t, leastParams(), 5)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	path := func() string { return filepath.Join(t.TempDir(), "agent") }
	link, directory, device, loop, temporary := path(), path(), path(), path(), path()
	if err := errors.Join(os.Symlink(victim, link), os.Mkdir(directory, 0o777), os.Symlink(os.DevNull, device),
		os.Symlink(loop, loop), os.Symlink(victim, temporary+".tmp")); err != nil {
		t.Skipf("this file system has no links: %v", err)
	}
	for _, test := range []struct{ path, load, save string }{
		{link, "this does not begin with", "is not a regular file"},
		{directory, "is not a regular file", "is not a regular file"},
		{device, "is not a regular file", "is not a regular file"},
		{loop, "agent", "is not a regular file"},
		{temporary, "agent", ""},
		{filepath.Join(victim, "agent"), "agent", "agent"},            // in what is no directory
		{filepath.Join(directory, "none", "agent"), "agent", "agent"}, // in one that is not there
	} {
		if _, err := LoadFile(test.path); err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") || !strings.Contains(err.Error(), test.load) {
			t.Errorf("loading %s: error %v, want %q", test.path, err, test.load)
		}
		err := a.SaveFile(test.path)
		if test.save == "" && err != nil || test.save != "" && (err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") || !strings.Contains(err.Error(), test.save)) {
			t.Errorf("saving %s: error %v, want %q", test.path, err, test.save)
		}
	}
	if text, err := os.ReadFile(victim); string(text) != "mine" {
		t.Errorf("a file was written through a link: %d bytes, error %v", len(text), err)
	}
}

// TestCheckpointThreads lets no thread outlive the agents that are read.
func TestCheckpointThreads(t *testing.T) {
	a := newMazeAgent(t, leastParams(), 1)
	data := marshal(t, a)
	before := runtime.NumGoroutine()
	a.SetThreads(3)
	for range 5 {
		if err := a.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	for k := 0; runtime.NumGoroutine() > before && k < 100; k++ {
		time.Sleep(time.Millisecond) // those that end
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines, before %d", got, before)
	}
}

// TestAnswersAreCopies overwrites what an agent has told: the agent is as before.
func TestAnswersAreCopies(t *testing.T) {
	a := agentAfter(t, tinyPreset(Default()), 35)
	before := marshal(t, a)
	s := a.State()
	for _, x := range append(a.Goals(0, 35), s.Observation, s.Achieved, s.Desired) {
		for i := range x {
			x[i] = 77
		}
	}
	a.Evaluations()[0].Step = 1
	sameState(t, "after its answers were overwritten", before, a)
}

// TestTrainingKeepsNothing holds the memory that training keeps to that of its
// transitions.
func TestTrainingKeepsNothing(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	kept := func() (bytes int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		bytes = int(m.HeapAlloc)
		for _, c := range a.replay.columns() {
			bytes -= 8 * cap(*c.data)
		}
		return bytes
	}
	trainTo(t, a, 1000, nil) // every part has had its memory
	before := kept()
	trainTo(t, a, 2500, nil)
	if grown := kept() - before; grown > 100_000 {
		t.Errorf("1500 steps keep %d bytes beside their transitions", grown)
	}
}
