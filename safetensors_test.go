package qta

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func networksOf(t testing.TB, a *Agent) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := a.WriteSafetensors(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is read back acts, is evaluated and answers to the bit, and is written
// again to the same bytes; it neither trains nor becomes a checkpoint. Another tool may
// order tensors otherwise, and add spaces and metadata.
func TestSafetensorsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := mustMaze(t, "1U5")
	for i, variant := range tinyVariants() {
		if testing.Short() && i%3 != 0 {
			continue
		}
		variant.Params.NormalizerClip = 1.5
		a := agentAfter(t, variant.Params, 35)
		data := networksOf(t, a)
		if !bytes.Contains(data, []byte(`\"clip\":1.5`)) {
			t.Error("the header lacks the clip of the inputs")
		}
		if n := binary.LittleEndian.Uint64(data); n%8 != 0 || !bytes.Contains(data, []byte(`"qta":"\"`+Version+`\""`)) {
			t.Errorf("%s: the header has %d bytes, or lacks the version", variant.Name, n)
		}
		if i%2 == 1 {
			body, moved := data[8+binary.LittleEndian.Uint64(data):], []byte(nil)
			data = withHeader(data, func(h string) string {
				var header map[string]any
				json.Unmarshal([]byte(h), &header)
				header["__metadata__"].(object)["format"], header["__metadata__"].(object)["shape"] = "pt", "any key will do"
				for _, name := range slices.Backward(slices.Sorted(maps.Keys(header))[1:]) { // in the file, the last first
					offsets := header[name].(object)["data_offsets"].([]any)
					from := body[int(offsets[0].(float64)):int(offsets[1].(float64))]
					offsets[0], offsets[1] = len(moved), len(moved)+len(from)
					moved = append(moved, from...)
				}
				text, _ := json.MarshalIndent(header, "", "\t") // by name, the critics first
				return string(text)
			})
			copy(data[len(data)-len(moved):], moved)
		}
		b, err := ReadSafetensors(iotest.HalfReader(bytes.NewReader(data)))
		if err != nil {
			t.Fatalf("%s: %v", variant.Name, err)
		}
		observations, goals := randomRows(rng, 20, 2), randomRows(rng, 20, 2)
		answers := func(a *Agent) (all []any) {
			e, err := a.Evaluate(m.Env(), 3, 4)
			all = append(all, err, e.Success, e.Reached, e.Return, e.StepsToGoal, a.Params(), a.Sizes(), a.Seed(), networksOf(t, a),
				a.Value(observations, goals), a.Uncertainty(observations, goals, 3))
			for k := range goals {
				all = append(all, a.Act(observations[k], goals[k]))
			}
			return append(all, a.Survey(goals[0], goals[0], observations, goals, 5))
		}
		a.step = 0                                   // by which a survey draws
		a.estimator = newEstimator(&a.params, a.pun) // an average is not in the file
		if diff := cmp.Diff(answers(a), answers(b)); diff != "" || b.Steps() != 0 {
			t.Errorf("%s, %d steps (-before +read back):\n%s", variant.Name, b.Steps(), diff)
		}
		err = b.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: 10, EvalEvery: 1, Rollouts: 1})
		if err != errNetworksOnly {
			t.Errorf("%s: networks alone train, error %v", variant.Name, err)
		}
		if _, err := b.MarshalBinary(); err != errNetworksOnly {
			t.Errorf("%s: networks alone become a checkpoint, error %v", variant.Name, err)
		}
	}
}

// Neither a parameter that is not finite nor a writer that fails is passed over.
func TestWriteSafetensorsErrors(t *testing.T) {
	a := agentAfter(t, leastParams(), 3)
	r, w := io.Pipe()
	full := errors.New("full")
	r.CloseWithError(full)
	if err := a.WriteSafetensors(w); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	a.pun.critics[1].params[2] = float32(math.Inf(1))
	var numeric *NumericError
	if err := a.WriteSafetensors(io.Discard); !errors.As(err, &numeric) || numeric.Network != "critic 2" {
		t.Errorf("error %v", err)
	}
}

// withHeader is a file with another header, of the same numbers.
func withHeader(data []byte, change func(header string) string) []byte {
	n := 8 + int(binary.LittleEndian.Uint64(data))
	header := change(string(data[8:n]))
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data[n:])
}

func TestReadSafetensorsRefusals(t *testing.T) {
	data := networksOf(t, agentAfter(t, leastParams(), 15))
	refuse := func(name string, data []byte, want string) {
		t.Helper()
		a, err := ReadSafetensors(bytes.NewReader(data))
		if err == nil || a != nil || !strings.HasPrefix(err.Error(), "qta: safetensors: ") ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	for k := range data {
		refuse(fmt.Sprint("a cut after byte ", k), data[:k], "")
	}
	for _, length := range []uint64{1 << 62, uint64(len(data) - 7)} {
		refuse("a long header", append(binary.LittleEndian.AppendUint64(nil, length), data[8:]...), "it ends inside its header")
	}
	refuse("too long", append(slices.Clone(data), 0), "16 tensors of 141 bytes, its networks have 16 of 140")
	refuse("NaN", append(slices.Clone(data[:len(data)-4]), 0, 0, 0xc0, 0x7f), "number 1 of the tensor head.1.bias is NaN")
	const first = `"policy.0.weight":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}`
	for _, test := range []struct{ old, new, want string }{
		{"{", "[{", "its header"},
		{"{", " {", "its header is not JSON in UTF-8 that begins with {"},
		{first, `"policy.0.weight":7`, "its header is not"},
		{`"F32"`, `"BF16"`, `the tensor policy.0.weight has the type "BF16"; only F32 is read`},
		{`"shape":[1,4]`, `"shape":[4,1]`, "the tensor policy.0.weight has shape [4 1] at bytes [0 16], want shape [1 4]"},
		{`"shape":[1,4]`, `"shape":[1,4],"more":1`, "its header is not"},
		{`[0,16]`, `[-16,0]`, "policy.0.weight has shape [1 4] at bytes [-16 0], want shape [1 4] at bytes [0 16] of 140"},
		{`[16,20]`, `[0,4]`, "policy.0.weight has shape [1 4] at bytes [0 16], want shape [1 4] at bytes [4 20]"},
		{`"policy.0.bias"`, `"policy.0.bios"`, `the tensor policy.0.bias has shape [] at bytes []`},
		{`"policy.0.bias"`, `"policy.0.weight"`, "policy.0.weight comes twice"},
		{first, first + `,"more":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, "17 tensors of 140 bytes, its"},
		{`"qta":`, `"seed":"1","qta":`, "seed comes twice"},
		{`"seed":"1"`, `"seed":1`, "its header"},
		{`\"clip\":5`, `\"clip\":0`, "the clip of the inputs is 0"},
		{`"__metadata__"`, `"metadata"`, "its header is not"},
		{`"sizes":`, `"sices":`, `its metadata has no valid "sizes", which WriteSafetensors writes`},
		{`"seed":"1"`, `"seed":"-1"`, `its metadata has no valid "seed", which WriteSafetensors writes`},
		{`\"Batch\":16`, `\"Botch\":16`, `its metadata has no valid "parameters", which WriteSafetensors writes: json: unknown field "Botch"`},
		{`\"Batch\":16`, `\"Batch\":0`, "parameter Batch is 0"},
		{`\"HiddenSize\":1`, `\"HiddenSize\":4096`, "it is shorter than its networks"},
		{`\"Critics\":2`, `\"Critics\":3`, `the tensor critic.2.0.weight has shape []`},
		{`\"Observation\":2`, `\"Observation\":9223372036854775807`, "it is shorter than its networks"},
		{`\"Observation\":2`, `\"Observation\":0`, "sizes"},
		{`\"mean\":[`, `\"mean\":[1,`, "5 means and 4 scales of the inputs, want 4"},
		{`\"scale\":[`, `\"scale\":[1,`, "4 means and 5 scales of the inputs, want 4"},
	} {
		refuse(test.new, withHeader(data, func(h string) string {
			if !strings.Contains(h, test.old) {
				t.Errorf("no %q in %s", test.old, h)
			}
			return strings.Replace(h, test.old, test.new, 1)
		}), test.want)
	}
	trouble := errors.New("trouble")
	if _, err := ReadSafetensors(io.MultiReader(bytes.NewReader(data[:99]), iotest.ErrReader(trouble))); !errors.Is(err, trouble) {
		t.Errorf("a reader that fails: error %v", err)
	}
}

// Arbitrary bytes are an error, or networks that are read again.
func FuzzSafetensors(f *testing.F) {
	for _, changes := range []string{"", "Uncertainty=ensemble", "Curriculum=her Critics=1"} {
		f.Add(networksOf(f, agentAfter(f, changed("", leastParams(), changes).Params, 12)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadSafetensors(bytes.NewReader(data))
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		} else if err == nil {
			if _, err := ReadSafetensors(bytes.NewReader(networksOf(t, a))); err != nil {
				t.Errorf("what was read and written is not read: %v", err)
			}
		}
	})
}

// TestPython has testdata/networks.py read the networks, and do what the package
// does, where there is a Python with NumPy.
func TestPython(t *testing.T) {
	pythons := []string{"python3", "/usr/bin/python3"}
	k := slices.IndexFunc(pythons, func(python string) bool { return exec.Command(python, "-c", "import numpy").Run() == nil })
	if k < 0 {
		t.Skip("needs a python3 that has NumPy, such as Debian's python3-numpy")
	}
	equal := func(what string, got []float32, want []float64) {
		t.Helper()
		within(t, what, got, want, func(e float64) float64 { return 1e-5 * (1 + math.Abs(e)) })
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, changes := range []string{"", "Critics=5 HiddenLayers=1", "HiddenSize=100 UncertaintyActions=8"} {
		p := changed("", tinyPreset(Paper()), changes).Params
		a := agentAfter(t, p, 40)
		file := filepath.Join(t.TempDir(), "agent.safetensors")
		writeFile(t, file, networksOf(t, a))
		const n, seed = 50, 11
		drawn := newStream(seed, forSurvey)
		var d [][]float64
		for range p.UncertaintyActions {
			d = append(d, []float64{float64(float32(symmetric(drawn.Rand))), float64(float32(symmetric(drawn.Rand)))})
		}
		actions := slices.Repeat([][][]float64{d}, n) // the same for each pair
		observations, goals := randomRows(rng, n, 2), randomRows(rng, n, 2)
		for k := range n {
			observations[k][0], goals[k][0] = 3+observations[k][0], 3+goals[k][0]
		}
		var answers struct {
			Actions             [][]float64
			Values, Uncertainty []float64
		}
		cmd := exec.Command(pythons[k], "testdata/networks.py", file)
		cmd.Stdin = bytes.NewReader(toJSON(map[string]any{"observations": observations, "goals": goals, "actions": actions}))
		text, err := cmd.CombinedOutput()
		if err == nil {
			err = json.Unmarshal(text, &answers)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for k := range n {
			equal("action", float32s(a.Act(observations[k], goals[k])), answers.Actions[k])
		}
		equal("values", float32s(a.Value(observations, goals)), answers.Values)
		equal("uncertainty", float32s(a.Uncertainty(observations, goals, seed)), answers.Uncertainty)
	}
}
