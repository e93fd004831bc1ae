package qta

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

func TestCheckpointContinues(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%3 != 0 {
				t.Skip("with -short, every third variant; the full suite continues all of them")
			}
			steps, moments := 75, 5
			switch variant.Params.Curriculum {
			case "vds":
				steps, moments = 25, 1 // it learns much after each episode
			case "mega":
				steps, moments = 45, 1 // it fits much at the start of each
			}
			if testing.Short() {
				moments = 1
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

			// From every step to the next, each time by a new agent: whatever a
			// checkpoint lacks is lost everywhere.
			for i := range steps {
				a := new(Agent)
				if err := a.UnmarshalBinary(states[i]); err != nil {
					t.Fatal(err)
				}
				trainTo(t, a, i+1, nil)
				sameState(t, "restored and trained one step on, as without an interruption", states[i+1], a)
				if t.Failed() {
					t.Fatalf("from step %d to the next", i)
				}
			}

			// From some moments to the end, by an agent that has another past,
			// and with other threads.
			used := newMazeAgent(t, tinyPreset(Authors()), 2)
			used.SetThreads(2)
			defer used.Close()
			trainTo(t, used, 33, nil)
			rng := rand.New(rand.NewPCG(1, 1))
			for range moments {
				i := int(rng.Float64() * float64(steps))
				if err := used.UnmarshalBinary(states[i]); err != nil {
					t.Fatal(err)
				}
				if got := used.workers.threads(); got != 2 {
					t.Errorf("%d threads after UnmarshalBinary, want 2 as before", got)
				}
				trainTo(t, used, steps, nil)
				sameState(t, "restored and trained to the end, as without an interruption", states[steps], used)
			}
		})
	}
}

// TestTrainStops ends training in every way that leaves an agent to continue.
func TestTrainStops(t *testing.T) {
	const steps = 40
	stop := errors.New("stop")
	want := marshal(t, agentAfter(t, tinyPreset(Default()), steps))
	m := mustMaze(t, "1U5")
	for _, how := range []string{"AfterStep", "AfterEvaluation", "context", "AfterStep, marshalled"} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		for at := 3; a.Steps() < steps; at += 5 {
			ctx, cancel := context.WithCancelCause(t.Context())
			o := TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2}
			switch how {
			case "AfterEvaluation":
				o.AfterEvaluation = func(Evaluation) error { return stop }
			case "context":
				o.AfterStep = func() error {
					if a.Steps() == at {
						cancel(stop)
					}
					return nil
				}
			default:
				o.AfterStep = func() error {
					if a.Steps() == at {
						return stop
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
			if strings.Contains(how, "marshalled") {
				b := new(Agent)
				if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
					t.Fatal(err)
				}
				a = b
			}
		}
		sameState(t, how, want, a)
	}
}

// TestCheckpointCorruption changes every bit of a small checkpoint, and cuts it
// off everywhere.
func TestCheckpointCorruption(t *testing.T) {
	t.Parallel()
	data := marshal(t, agentAfter(t, leastParams(), 15))
	a := agentAfter(t, tinyPreset(Paper()), 12)
	before := marshal(t, a)
	refuse := func(what string, i int, data []byte) {
		t.Helper()
		err := a.UnmarshalBinary(data)
		if err == nil {
			t.Fatalf("%s %d of %d bytes is not noticed", what, i, len(data))
		}
		if !strings.HasPrefix(err.Error(), "qta: checkpoint: ") {
			t.Fatalf("%s %d: error %q", what, i, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	damaged := slices.Clone(data)
	for i, b := range data {
		first, last := 0, 7
		if testing.Short() {
			first = rng.IntN(8)
			last = first
		}
		for bit := first; bit <= last; bit++ {
			damaged[i] = b ^ 1<<bit
			refuse("a change in byte", i, damaged)
		}
		damaged[i] = b
	}
	for i := range data {
		refuse("a cut after byte", i, data[:i:i])
	}
	refuse("a byte more than", len(data), append(slices.Clone(data), 0))
	sameState(t, "after all refusals", before, a)
	if err := a.UnmarshalBinary(data); err != nil {
		t.Errorf("the undamaged checkpoint: %v", err)
	}
	t.Logf("%d bytes", len(data))
}

// TestCheckpointRefusals has checkpoints whose checksum is right.
func TestCheckpointRefusals(t *testing.T) {
	a := agentAfter(t, leastParams(), 15)
	data := marshal(t, a)
	body := data[agentKind.header() : len(data)-sha256.Size]
	paramsSize := len(a.params.JSON())
	sizes := 8 + paramsSize // where the sizes stand in body
	tests := []struct {
		name string
		body []byte
		want string
	}{
		{"empty", nil, "qta: parameters: want a JSON object"},
		{"no parameters", slices.Concat(make([]byte, 8), body[8:]), "qta: parameters: want a JSON object"},
		{"some parameters", slices.Concat([]byte{2, 0, 0, 0, 0, 0, 0, 0}, []byte("{}"), body[8+paramsSize:]), "qta: parameter HiddenSize is 0"},
		{"a long name", slices.Concat([]byte{0, 0, 0, 0, 0, 1, 0, 0}, body[8:]), "qta: parameters: want a JSON object"},
		{"large networks", bytes.Replace(bytes.Replace(body, []byte(`"HiddenSize": 1`), []byte(`"HiddenSize": 9`), 1), []byte(`"HiddenLayers": 1`), []byte(`"HiddenLayers": 9`), 1), "qta: checkpoint: shorter than its networks"},
		{"no observation", slices.Concat(body[:sizes], make([]byte, 8), body[sizes+8:]), "qta: checkpoint: shorter than its networks"},
		{"a vast observation", slices.Concat(body[:sizes+7], []byte{0x7f}, body[sizes+8:]), "qta: checkpoint: "},
		{"a negative observation", slices.Concat(body[:sizes+7], []byte{0xff}, body[sizes+8:]), "qta: checkpoint: "},
		{"cut off", body[:len(body)-1], "for 2 evaluations and 15 transitions, want"},
		{"more", append(slices.Clone(body), 0), "for 2 evaluations and 15 transitions, want"},
		{"no end", body[:sizes+100], "qta: checkpoint: "},
		{"another generator", bytes.Replace(body, []byte("pcg:"), []byte("PCG:"), 1), "qta: checkpoint: generator"},
		{"another episode's generator", replaceLast(body, []byte("pcg:"), []byte("PCG:")), "qta: checkpoint: generator"},
	}
	for _, test := range tests {
		b := agentAfter(t, tinyPreset(Default()), 3)
		before := marshal(t, b)
		err := b.UnmarshalBinary(seal(test.body))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "qta: ") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		sameState(t, test.name, before, b)
	}
	if err := new(Agent).UnmarshalBinary(seal(body)); err != nil {
		t.Errorf("the checkpoint itself: %v", err)
	}

	// A curriculum's count, which stands two fields after one that is easily
	// found.
	p := tinyPreset(Default())
	p.Curriculum = "mega"
	curious := agentAfter(t, p, 15)
	m := curious.curriculum.(*mega)
	m.stepsAtGoal, m.outcomes = 0x1234567, nil
	whole := curious.encode(nil)
	body = whole[agentKind.header() : len(whole)-sha256.Size]
	outcomes := body[bytes.Index(body, []byte{0x67, 0x45, 0x23, 0x01, 0, 0, 0, 0})+8+1:]
	for _, n := range []uint64{megaWindow, megaWindow + 1, 1 << 63, math.MaxUint64} {
		binary.LittleEndian.PutUint64(outcomes, n)
		err := new(Agent).UnmarshalBinary(seal(body))
		if n <= megaWindow && err != nil || n > megaWindow && (err == nil || err.Error() != fmt.Sprintf("qta: checkpoint: a count is %d, allowed are 0 to %d", n, megaWindow)) {
			t.Errorf("%d outcomes in a window of %d: error %v", n, megaWindow, err)
		}
	}

	// A log that no training writes.
	for _, change := range []func(log []Evaluation){
		func(log []Evaluation) { log[1].Step = log[0].Step },
		func(log []Evaluation) { log[1].Step = 16 },
		func(log []Evaluation) { log[0].Step = 0 },
		func(log []Evaluation) { log[0].Success = -0.1 },
		func(log []Evaluation) { log[0].Success = 1.5 },
		func(log []Evaluation) { log[0].GoalsReached = log[0].GoalsSet + 1 },
	} {
		b := agentAfter(t, leastParams(), 15)
		change(b.log)
		if err := new(Agent).UnmarshalBinary(b.encode(nil)); err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") {
			t.Errorf("a checkpoint of step 15 with the log %+v: error %v", b.log, err)
		}
	}

	// The format comes before the checksum, which another format may not have.
	next := slices.Clone(data)
	next[len(agentKind.magic)]++
	if err := a.UnmarshalBinary(next); err == nil || err.Error() != "qta: checkpoint: format 6, this version reads format 5" {
		t.Errorf("the next format: error %v", err)
	}
}

// A state of bytes that are all alike is an error, or is read; it is no reason to
// panic.
func TestCheckpointGarbage(t *testing.T) {
	for _, variant := range append(tinyVariants(), Preset{"a curriculum of its user's own", leastParams()}) {
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			a := newMazeAgent(t, variant.Params, 1)
			if variant.Name == "a curriculum of its user's own" {
				a.curriculum = new(ownCurriculum)
			}
			a.visit(&decoder{b: bytes.Repeat([]byte{b}, a.checkpointSize())})
		}
	}
}

// A checkpoint must have every parameter.
func TestCheckpointWithoutParam(t *testing.T) {
	a := agentAfter(t, tinyPreset(Authors()), 15)
	data := marshal(t, a)
	text := string(a.params.JSON())
	older := strings.Replace(text, "\t\"Batch\": "+a.params.Value("Batch")+",\n", "", 1)
	if older == text {
		t.Fatalf("no Batch in %s", text)
	}
	var e encoder
	e.bytes([]byte(older))
	e.fixed(data[agentKind.header()+8+len(text) : len(data)-sha256.Size])
	if err := new(Agent).UnmarshalBinary(seal(e.b)); err == nil || !strings.HasPrefix(err.Error(), "qta: parameter Batch is 0") {
		t.Errorf("without Batch: error %v", err)
	}
}

// A poke is a coder that counts numbers, and changes one of them.
type poke struct {
	at, n int
	value float64
}

func (c *poke) float(v *float64) {
	if c.n++; c.n-1 == c.at {
		*v = c.value
	}
}

func (c *poke) float32s(v []float32) {
	if i := c.at - c.n; i >= 0 && i < len(v) {
		v[i] = float32(c.value)
	}
	c.n += len(v)
}

func (c *poke) float64s(v []float64) {
	if i := c.at - c.n; i >= 0 && i < len(v) {
		v[i] = c.value
	}
	c.n += len(v)
}

func (c *poke) int(*int, int)    {}
func (c *poke) blob(*[]byte)     {}
func (c *poke) bool(*bool)       {}
func (c *poke) generator(stream) {}
func (c *poke) fixed([]byte)     {}
func (c *poke) loading() bool    { return true }

// TestCheckpointFinite has every kind of number of an agent's state go wrong. A
// checkpoint of it is not written, as it would not be read.
func TestCheckpointFinite(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	kinds := map[string]bool{}
	for _, variant := range tinyVariants() {
		good := marshal(t, agentAfter(t, variant.Params, 9))
		numbers := &poke{at: -1}
		whole := new(Agent)
		if err := whole.UnmarshalBinary(good); err != nil {
			t.Fatal(err)
		}
		whole.visit(numbers)
		whole.visitStored(numbers)
		tries := 40
		if testing.Short() {
			tries = 4
		}
		for range tries {
			p := &poke{at: int(rng.Float64() * float64(numbers.n)), value: []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[int(3*rng.Float64())]}
			a := new(Agent)
			if err := a.UnmarshalBinary(good); err != nil {
				t.Fatal(err)
			}
			a.visit(p)
			a.visitStored(p)
			_, err := a.MarshalBinary()
			numeric, ok := errors.AsType[*NumericError](err)
			if !ok || numeric.Step != 9 {
				t.Errorf("%s, number %d of %d is %v: saving it is error %v", variant.Name, p.at, numbers.n, p.value, err)
				continue
			}
			kinds[numeric.Network] = true
			err = new(Agent).UnmarshalBinary(a.encode(nil))
			if err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: "+numeric.Network) {
				t.Errorf("%s, number %d of %d, in %s, is %v: loading it is error %v", variant.Name, p.at, numbers.n, numeric.Network, p.value, err)
			}
		}
	}
	t.Logf("%v", slices.Sorted(maps.Keys(kinds)))
}

func replaceLast(s, old, new []byte) []byte {
	i := bytes.LastIndex(s, old)
	return slices.Concat(s[:i], new, s[i+len(old):])
}

// seal makes a checkpoint of what stands between its format version and its
// checksum.
func seal(body []byte) []byte {
	e := encoder{[]byte(agentKind.magic)}
	e.uint(agentKind.version)
	e.fixed(body)
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...)
}

// allocated returns the bytes that f allocates, kept or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// decodingAllocates bounds what decoding n bytes may allocate: the networks of
// the encoded agent with their targets and moments, and for each its gradient
// and scratch; and what a parameter's error or an agent of one hidden unit
// costs in headers.
func decodingAllocates(n int) uint64 { return uint64(4*n + 1<<20) }

// quick reports whether some steps of training with these parameters take
// milliseconds.
func quick(p Params) bool {
	largest := max(p.Batch, p.Candidates, p.Horizon, p.NormalizerDraws, 10*p.UncertaintyActions, 10*p.EnsembleActions, 10*p.UpdatesPerEpisode)
	return largest <= 200 && p.HiddenSize*p.HiddenLayers*p.Critics <= 100
}

// FuzzCheckpoint decodes arbitrary bytes under a valid checksum, and uses and
// trains what they are.
func FuzzCheckpoint(f *testing.F) {
	for _, variant := range tinyVariants() {
		for _, steps := range []int{0, 9} {
			p := variant.Params
			p.HiddenSize, p.HiddenLayers, p.Critics = 1, 1, 2
			data := marshal(f, agentAfter(f, p, steps))
			f.Add(data[agentKind.header() : len(data)-sha256.Size])
		}
	}
	own := marshal(f, agentWith(f, leastParams(), new(counting), 9))
	f.Add(own[agentKind.header() : len(own)-sha256.Size])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		data := seal(body)
		a := new(Agent)
		var err error
		if got, most := allocated(func() { err = a.UnmarshalBinary(data) }), decodingAllocates(len(data)); got > most {
			t.Errorf("decoding %d bytes allocates %d, want at most %d", len(data), got, most)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "qta: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		again, err := a.MarshalBinary()
		if _, ok := errors.AsType[*NumericError](err); ok {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		b := new(Agent)
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
		for _, change := range []func(*Params){
			func(p *Params) { p.HiddenSize, p.HiddenLayers, p.Critics = 1, 16, 64 },
			func(p *Params) { p.HiddenSize, p.HiddenLayers, p.Critics = 1, 1, 2 },
			func(p *Params) { p.HiddenSize, p.HiddenLayers, p.Critics = 64, 1, 2 },
			func(p *Params) { p.HiddenSize, p.HiddenLayers, p.Critics = 64, 3, 3 },
		} {
			for i, variant := range tinyVariants() {
				if testing.Short() && i%4 != 0 {
					continue
				}
				p := variant.Params
				change(&p)
				p.AuthorsForm = false // not for these sizes
				a, err := NewAgent(p, sizes, 1)
				if err != nil {
					t.Fatal(err)
				}
				data := marshal(t, a)
				got := allocated(func() { err = new(Agent).UnmarshalBinary(data) })
				if err != nil {
					t.Errorf("%s, %+v, %d units, %d layers: %v", variant.Name, sizes, p.HiddenSize, p.HiddenLayers, err)
				}
				if most := decodingAllocates(len(data)); got > most {
					t.Errorf("%s, %+v, %d units, %d layers, %d critics: %d bytes allocate %d, want at most %d", variant.Name, sizes, p.HiddenSize, p.HiddenLayers, p.Critics, len(data), got, most)
				}
			}
		}
	}
}

// TestNoBadCheckpoint has every network go wrong; a checkpoint must neither be
// made of it nor be replaced by it.
func TestNoBadCheckpoint(t *testing.T) {
	a := agentAfter(t, tinyPreset(Default()), 12)
	path := filepath.Join(t.TempDir(), "agent")
	if err := a.SaveFile(path); err != nil {
		t.Fatal(err)
	}
	before := marshal(t, a)
	for _, params := range a.parameters() {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			good := params.values[3]
			params.values[3] = float32(bad)
			err := a.SaveFile(path)
			numeric, ok := errors.AsType[*NumericError](err)
			if !ok || numeric.Network != params.name || numeric.Step != 12 || !strings.Contains(err.Error(), "step 12: "+params.name+": ") {
				t.Errorf("%v in %s: error %v", bad, params.name, err)
			}
			params.values[3] = good
			kept, damage, err := LoadFile(path)
			if damage != nil || err != nil {
				t.Fatalf("damage %v, error %v", damage, err)
			}
			sameState(t, params.name, before, kept)
		}
	}
}

// TestLoadFile tries every state that two files can be in, and that a crash
// between two system calls of SaveFile leaves. From each, the next SaveFile
// must succeed, and lose no whole checkpoint before it does.
func TestLoadFile(t *testing.T) {
	older, newer, next := agentAfter(t, leastParams(), 5), agentAfter(t, leastParams(), 8), agentAfter(t, leastParams(), 11)
	contents := map[string][]byte{
		"older":   marshal(t, older),
		"newer":   marshal(t, newer),
		"cut off": marshal(t, newer)[:99],
		"empty":   {},
		"other":   []byte("something else altogether"),
		"missing": nil,
	}
	const absent = "no file" // the system's words vary
	tests := []struct {
		newest, previous string
		steps            int // of the agent loaded, 0 for an error
		want             string
	}{
		{"newer", "older", 8, ""},
		{"newer", "missing", 8, ""},
		{"newer", "cut off", 8, ""},
		{"missing", "older", 5, absent}, // between the renames
		{"cut off", "older", 5, "damaged or cut off"},
		{"empty", "older", 5, "not a checkpoint"},
		{"other", "older", 5, "not a checkpoint"},
		{"cut off", "missing", 0, "damaged or cut off"},
		{"cut off", "cut off", 0, "damaged or cut off"},
		{"missing", "cut off", 0, "damaged or cut off"},
		{"missing", "missing", 0, absent},
	}
	for _, test := range tests {
		for _, temporary := range []string{"missing", "newer", "cut off"} {
			path := filepath.Join(t.TempDir(), "agent")
			for name, content := range map[string]string{path: test.newest, path + Previous: test.previous, path + ".tmp": temporary} {
				if content != "missing" {
					if err := os.WriteFile(name, contents[content], 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			what := test.newest + ", " + test.previous + ", " + temporary
			a, damage, err := LoadFile(path)
			if (err == nil) != (test.steps > 0) || (a == nil) != (err != nil) {
				t.Fatalf("%s: agent %v, error %v", what, a != nil, err)
			}
			problem := damage
			if err != nil {
				problem = err
			}
			if test.want == absent {
				if !errors.Is(problem, fs.ErrNotExist) || !strings.Contains(problem.Error(), path) {
					t.Errorf("%s: damage %v, error %v, want %v and the file", what, damage, err, fs.ErrNotExist)
				}
			} else if test.want == "" && problem != nil || test.want != "" && (problem == nil || !strings.Contains(problem.Error(), test.want) || !strings.Contains(problem.Error(), path)) {
				t.Errorf("%s: damage %v, error %v, want %q and the file", what, damage, err, test.want)
			}
			if missing := test.newest == "missing" && test.previous == "missing"; errors.Is(err, fs.ErrNotExist) != missing {
				t.Errorf("%s: error %v", what, err)
			}
			if a != nil && a.Steps() != test.steps {
				t.Errorf("%s: step %d, want %d", what, a.Steps(), test.steps)
			}

			if err := next.SaveFile(path); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if a, damage, err := LoadFile(path); damage != nil || err != nil || a.Steps() != 11 {
				t.Errorf("%s: after the next: %v, %v", what, damage, err)
			}
			if _, err := os.Stat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the temporary file is left: %v", what, err)
			}
			if test.steps > 0 {
				if a, err := loadOne(path + Previous); err != nil || a.Steps() != test.steps {
					t.Errorf("%s: the one before the next, of step %d, is lost: %v", what, test.steps, err)
				}
			}
			aside, err := os.ReadFile(path + Damaged)
			if whole := test.newest == "newer" || test.newest == "missing"; whole != errors.Is(err, fs.ErrNotExist) || !whole && !bytes.Equal(aside, contents[test.newest]) {
				t.Errorf("%s: kept aside are %d bytes, error %v", what, len(aside), err)
			}
		}
	}
}

// TestForeignFile has in the checkpoint's place what is no damaged checkpoint:
// one of another format, or what cannot be read. No other is loaded in its
// place, and nothing is moved or written over.
func TestForeignFile(t *testing.T) {
	older, newer, next := agentAfter(t, leastParams(), 5), agentAfter(t, leastParams(), 8), agentAfter(t, leastParams(), 11)
	foreign := marshal(t, newer)
	foreign[len(agentKind.magic)]++
	sum := sha256.Sum256(foreign[:len(foreign)-sha256.Size])
	copy(foreign[len(foreign)-sha256.Size:], sum[:])
	write := func(data []byte) func(path string) error {
		return func(path string) error { return os.WriteFile(path, data, 0o666) }
	}
	for _, test := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"another format", write(foreign), "format 6, this version reads format 5"},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o777) }, "not a regular file"},
		{"a link around", func(path string) error { return os.Symlink(filepath.Base(path), path) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "agent")
			if err := older.SaveFile(path + Previous); err != nil {
				t.Fatal(err)
			}
			if err := test.make(path); err != nil {
				t.Skipf("this file system has no such thing: %v", err)
			}
			look := func() (names []string) {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
					names = append(names, fmt.Sprint(e.Name(), e.Type(), sha256.Sum256(data)))
				}
				return names
			}
			before := look()
			if a, damage, err := LoadFile(path); a != nil || damage != nil || err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint: ") || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("loading: agent %v, damage %v, error %v, want %q and the file", a != nil, damage, err, test.want)
			}
			if err := next.SaveFile(path); err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not replaced: ") || !strings.Contains(err.Error(), path) {
				t.Errorf("saving: error %v", err)
			}
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			if test.want != "" && os.Rename(path, path+Previous) == nil {
				if _, _, err := LoadFile(path); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("as the one before: error %v, want %q", err, test.want)
				}
			}
		})
	}
	// One bit of the format's number is damage: the checksum says so.
	path := filepath.Join(t.TempDir(), "agent")
	flipped := marshal(t, newer)
	flipped[len(agentKind.magic)+1]++
	if err := errors.Join(older.SaveFile(path+Previous), os.WriteFile(path, flipped, 0o666)); err != nil {
		t.Fatal(err)
	}
	if a, damage, err := LoadFile(path); err != nil || damage == nil || a.Steps() != 5 {
		t.Errorf("a flipped format: damage %v, error %v", damage, err)
	}
}

// TestLargeFile has large sparse files: they are refused without taking their
// memory, and the larger one, which does not begin as a checkpoint does, without
// reading it.
func TestLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent")
	for size, begin := range map[int64][]byte{20 << 30: nil, 100 << 20: marshal(t, agentAfter(t, leastParams(), 5))} {
		if err := errors.Join(os.WriteFile(path, begin, 0o666), os.Truncate(path, size)); err != nil {
			t.Skipf("this file system has no sparse files of 20 GB: %v", err)
		}
		var err error
		if got := allocated(func() { _, _, err = LoadFile(path) }); err == nil || got > 1<<20 {
			t.Errorf("of %d bytes %d are allocated, error %v", size, got, err)
		}
	}
}

func TestSaveFileErrors(t *testing.T) {
	a := agentAfter(t, leastParams(), 5)
	missing := filepath.Join(t.TempDir(), "none", "agent")
	if err := a.SaveFile(missing); err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not written: ") || !strings.Contains(err.Error(), missing) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	directory := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(filepath.Join(directory, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := a.SaveFile(directory); err == nil || !strings.HasPrefix(err.Error(), "qta: checkpoint not replaced: ") || !strings.Contains(err.Error(), directory) {
		t.Errorf("over a directory: %v", err)
	}
}

// BenchmarkCheckpoint saves and loads a full-size agent at the end of the
// paper's budget.
func BenchmarkCheckpoint(b *testing.B) {
	const steps = 150_000
	a := newMazeAgent(b, Default(), 1)
	rng := rand.New(rand.NewPCG(1, 1))
	pair := func() []float64 { return []float64{rng.Float64(), rng.Float64()} }
	for range steps {
		a.replay.add(pair(), pair(), pair(), pair(), State{Observation: pair(), Achieved: pair()})
	}
	a.step = steps
	path := filepath.Join(b.TempDir(), "agent")
	if err := a.SaveFile(path); err != nil {
		b.Fatal(err)
	}
	report := func(b *testing.B) {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ReportMetric(float64(info.Size())/1e6, "MB")
	}
	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			if err := a.SaveFile(path); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, damage, err := LoadFile(path); damage != nil || err != nil {
				b.Fatal(damage, err)
			}
		}
		report(b)
	})
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

// TestCheckpointHalfway tries to save an agent wherever a function of its user is
// called. Where it can be saved, training goes on from there to the same end, and
// where an error has ended a step neither saving nor training goes on.
func TestCheckpointHalfway(t *testing.T) {
	const steps = 40
	m := mustMaze(t, "1U5")
	p := tinyPreset(Default())
	o := TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2}
	want := marshal(t, agentAfter(t, p, steps))
	for name, hook := range map[string]func(o *TrainOptions, save func()){
		"AfterStep":       func(o *TrainOptions, save func()) { o.AfterStep = func() error { save(); return nil } },
		"AfterEvaluation": func(o *TrainOptions, save func()) { o.AfterEvaluation = func(Evaluation) error { save(); return nil } },
		"AfterGoal":       func(o *TrainOptions, save func()) { o.AfterGoal = func([]float64, bool) { save() } },
		"AfterReach":      func(o *TrainOptions, save func()) { o.AfterReach = func([]float64) { save() } },
		"AfterEpisode":    func(o *TrainOptions, save func()) { o.AfterEpisode = save },
		"AfterUpdate":     func(o *TrainOptions, save func()) { o.AfterUpdate = func(_, _, _ float64) { save() } },
	} {
		a := newMazeAgent(t, p, 1)
		whole := strings.HasPrefix(name, "AfterStep") || strings.HasPrefix(name, "AfterEvaluation")
		var saved []byte
		calls := 0
		o := o
		hook(&o, func() {
			calls++
			data, err := a.MarshalBinary()
			if (err == nil) != whole || err != nil && err != errHalfway {
				t.Errorf("%s, step %d: %v", name, a.step, err)
			}
			if a.step < steps-5 {
				saved = data
			}
		})
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
			t.Fatal(err)
		}
		if calls == 0 {
			t.Errorf("%s was not called", name)
		}
		sameState(t, name+": the end", want, a)
		if whole {
			b := new(Agent)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			trainTo(t, b, steps, nil)
			sameState(t, name+": continued from there", want, b)
		}
	}

	line := &lineEnv{onState: func(e *lineEnv, s *State) {
		if e.steps == 5 {
			s.Observation[0] = math.NaN()
		}
	}}
	a, err := NewAgent(p, line.Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
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
