package qta

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
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

// TestSafetensors computes actions, values and predictions from the file alone,
// by its layout and in float64.
func TestSafetensors(t *testing.T) {
	for i, variant := range tinyVariants() {
		for _, steps := range []int{0, 35} {
			if testing.Short() && i%3 != 0 {
				continue
			}
			a := agentAfter(t, variant.Params, steps)
			data := networksOf(t, a)
			n := 8 + int(binary.LittleEndian.Uint64(data))
			if n%8 != 0 {
				t.Errorf("the numbers begin at byte %d", n)
			}
			var header map[string]json.RawMessage
			if err := json.Unmarshal(data[8:n], &header); err != nil {
				t.Fatal(err)
			}
			layerOf := func(name string) vectorLayer {
				var w, b struct {
					DType   string
					Shape   []int
					Offsets [2]int `json:"data_offsets"`
				}
				if json.Unmarshal(header[name+".weight"], &w) != nil || json.Unmarshal(header[name+".bias"], &b) != nil || w.DType != "F32" || b.DType != "F32" {
					t.Fatalf("%s: %s and %s", name, header[name+".weight"], header[name+".bias"])
				}
				numbers := func(offset, k int) float64 {
					return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[n+offset+4*k:])))
				}
				l := vectorLayer{}
				for i := range w.Shape[1] {
					row := []float64{}
					for o := range w.Shape[0] {
						row = append(row, numbers(w.Offsets[0], o*w.Shape[1]+i))
					}
					l.W = append(l.W, row)
				}
				for o := range b.Shape[0] {
					l.B = append(l.B, numbers(b.Offsets[0], o))
				}
				return l
			}
			netOf := func(name string) (net vectorNet) {
				for l := 0; header[fmt.Sprintf("%s.%d.bias", name, l)] != nil; l++ {
					net = append(net, layerOf(fmt.Sprintf("%s.%d", name, l)))
				}
				return net
			}
			var metadata map[string]string
			var inputs struct {
				Mean, Scale []float64
				Clip        float64
			}
			if json.Unmarshal(header["__metadata__"], &metadata) != nil || json.Unmarshal([]byte(metadata["inputs"]), &inputs) != nil {
				t.Fatalf("metadata %s", header["__metadata__"])
			}

			rng := rand.New(rand.NewPCG(1, 1))
			x := newMatrix(1, 6)
			a.pun.reserve(1)
			var deviation [1]float64
			for range 5 {
				observation, goal := []float64{4 * rng.Float64(), 4 * rng.Float64()}, []float64{4 * rng.Float64(), 4 * rng.Float64()}
				sg := slices.Concat(observation, goal)
				for i, v := range sg {
					sg[i] = min(max((v-inputs.Mean[i])*inputs.Scale[i], -inputs.Clip), inputs.Clip)
				}
				action := a.Act(observation, goal)
				near(t, variant.Name+": action", float32s(action), twinAct(netOf("policy"), sg[:2], sg[2:]))

				a.inputs(x.row(0), observation, goal)
				x.data[4], x.data[5] = float32(action[0]), float32(action[1])
				a.pun.deviation(deviation[:], x)
				mean := 0.0
				for i := range a.pun.critics {
					critic, head := netOf(fmt.Sprintf("critic.%d", i)), vectorNet{layerOf(fmt.Sprintf("head.%d", i))}
					mean += twinValue(critic, sg[:2], sg[2:], action) / float64(len(a.pun.critics))
					ξ, _ := twinForward(critic, slices.Concat(sg, action))
					_, prediction := twinForward(head, ξ)
					near(t, variant.Name+": prediction", a.pun.predictions[i][:len(prediction)], prediction)
				}
				near(t, variant.Name+": value", float32s(a.Value([][]float64{observation}, [][]float64{goal})), []float64{mean})
			}
		}
	}
}

// What is read back acts, is evaluated and answers to the bit, and is written
// again to the same bytes; it neither trains nor becomes a checkpoint.
func TestSafetensorsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := mustMaze(t, "1U5")
	for _, variant := range tinyVariants() {
		a := agentAfter(t, variant.Params, 35)
		data := networksOf(t, a)
		b, err := ReadSafetensors(iotest.HalfReader(bytes.NewReader(data)))
		if err != nil {
			t.Fatalf("%s: %v", variant.Name, err)
		}
		if !bytes.Equal(data, networksOf(t, b)) {
			t.Errorf("%s: written again the file differs", variant.Name)
		}
		if b.Params() != a.Params() || b.Sizes() != a.Sizes() || b.Seed() != a.Seed() || b.Steps() != 0 {
			t.Errorf("%s: read back are %+v, %+v, seed %d and step %d", variant.Name, b.Params(), b.Sizes(), b.Seed(), b.Steps())
		}
		observations, goals := randomRows(rng, 20, 2), randomRows(rng, 20, 2)
		same := func(what string, want, got []float64) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-before +read back):\n%s", variant.Name, what, diff)
			}
		}
		for k := range goals {
			same("action", a.Act(observations[k], goals[k]), b.Act(observations[k], goals[k]))
		}
		same("values", a.Value(observations, goals), b.Value(observations, goals))
		same("uncertainties", a.Uncertainty(observations, goals, 3), b.Uncertainty(observations, goals, 3))
		b.step = a.step // by which a survey draws
		if a.average != nil {
			a.average = newAverage(a.pun, a.average.ρ) // it is not in the file
		}
		same("survey", a.Survey(goals[0], goals[0], observations, goals, 0).Deviation, b.Survey(goals[0], goals[0], observations, goals, 0).Deviation)
		b.step = 0
		want, err := a.Evaluate(m.Env(), 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		want = Evaluation{Success: want.Success, Reached: want.Reached, Return: want.Return, StepsToGoal: want.StepsToGoal} // without its training
		if got, err := b.Evaluate(m.Env(), 3, 4); err != nil || got != want {
			t.Errorf("%s: evaluated at %v, error %v, want %v", variant.Name, got, err, want)
		}
		err = b.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 10, EvalEvery: 1, Rollouts: 1})
		if err == nil || !strings.Contains(err.Error(), "it has its networks alone") {
			t.Errorf("%s: networks alone train, error %v", variant.Name, err)
		}
		if _, err := b.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "has only its networks") {
			t.Errorf("%s: networks alone become a checkpoint, error %v", variant.Name, err)
		}
	}
}

// Neither a parameter that is not finite nor a writer that fails is passed over.
func TestWriteSafetensorsErrors(t *testing.T) {
	a := agentAfter(t, leastParams(), 3)
	full := errors.New("full")
	if err := a.WriteSafetensors(failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	a.pun.critics[1].params[2] = float32(math.Inf(1))
	var numeric *NumericError
	if err := a.WriteSafetensors(io.Discard); !errors.As(err, &numeric) || numeric.Network != "critic 2" {
		t.Errorf("error %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// withHeader is a file with another header, of the same numbers.
func withHeader(data []byte, change func(header string) string) []byte {
	n := 8 + int(binary.LittleEndian.Uint64(data))
	header := change(string(data[8:n]))
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data[n:])
}

func TestReadSafetensorsRefusals(t *testing.T) {
	data := networksOf(t, agentAfter(t, leastParams(), 15))
	n := 8 + int(binary.LittleEndian.Uint64(data))
	number := func(k int, v float32) []byte {
		changed := slices.Clone(data)
		binary.LittleEndian.PutUint32(changed[n+4*k:], math.Float32bits(v))
		return changed
	}
	length := func(v uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, v), data[8:]...) }
	refuse := func(name string, data []byte, want string) {
		t.Helper()
		a, err := ReadSafetensors(bytes.NewReader(data))
		if err == nil || a != nil || !strings.HasPrefix(err.Error(), "qta: safetensors: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	for k := range data {
		refuse(fmt.Sprint("a cut after byte ", k), data[:k], "")
	}
	refuse("a vast header", length(1<<62), "ends within its header")
	refuse("a header beyond the end", length(uint64(len(data)-7)), "ends within its header")
	refuse("an empty header", length(0), "its header: unexpected end of JSON input")
	refuse("a short header", length(uint64(n-20)), "its header: ")
	refuse("a long header", length(uint64(n)), "its header: ")
	refuse("too long", append(slices.Clone(data), 0), "16 tensors of 141 bytes, its networks have 16 of 140")
	refuse("NaN", number(0, float32(math.NaN())), "number 0 of the tensor policy.0.weight is NaN")
	refuse("infinite", number(len(data[n:])/4-1, float32(math.Inf(-1))), "number 1 of the tensor head.1.bias is -Inf")
	const first = `"policy.0.weight":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}`
	for _, test := range []struct{ old, new, want string }{
		{"{", "[{", "its header: "},
		{first, `"policy.0.weight":7`, "its header: json: cannot unmarshal number"},
		{`"shape":[1,4]`, `"shape":[1,4.5]`, "its header: json: cannot unmarshal number"},
		{`"F32"`, `"F64"`, `the tensor policy.0.weight is "F64" of shape [1 4], want F32 of shape [1 4]`},
		{`"shape":[1,4]`, `"shape":[-1,-4]`, "of shape [-1 -4], want F32 of shape [1 4]"},
		{`"shape":[1,4]`, `"shape":[4,1]`, "of shape [4 1], want F32 of shape [1 4]"},
		{`"shape":[1,4]`, `"shape":[1,4,1]`, "of shape [1 4 1], want F32 of shape [1 4]"},
		{`"shape":[1,4]`, `"shape":[]`, "of shape [], want F32 of shape [1 4]"},
		{`[0,16]`, `[-16,0]`, "the tensor policy.0.weight is at bytes -16 to 0 of 140, want 16 bytes"},
		{`[0,16]`, `[125,141]`, "at bytes 125 to 141 of 140, want 16 bytes"},
		{`[0,16]`, `[0,15]`, "at bytes 0 to 15 of 140, want 16 bytes"},
		{`[0,16]`, `[9223372036854775800,-9223372036854775800]`, "want 16 bytes"},
		{`"policy.0.bias"`, `"policy.0.bios"`, "the tensor policy.0.bias is \"\" of shape []"},
		{`"policy.0.bias"`, `"policy.0.weight"`, "15 tensors of 140 bytes, its networks have 16"},
		{`{"__metadata__"`, `{"more":{},"__metadata__"`, "17 tensors of 140 bytes, its networks have 16"},
		{`"__metadata__"`, `"metadata"`, `its metadata has no "sizes" as WriteSafetensors has`},
		{`"seed":"1"`, `"seed":1`, "its header: json: cannot unmarshal number"},
		{`"seed":"1"`, `"seed":"-1"`, `its metadata has no "seed" as WriteSafetensors has`},
		{`\"Batch\":16`, `\"Botch\\nBatch\":16`, `its metadata has no "parameters" as WriteSafetensors has: json: unknown field "Botch\nBatch"`},
		{`\"Batch\":16`, `\"Batch\":0`, "parameter Batch is 0"},
		{`\"HiddenSize\":1`, `\"HiddenSize\":4096`, "shorter than its networks"},
		{`\"HiddenSize\":1`, `\"HiddenSize\":2`, "shorter than its networks"},
		{`\"Critics\":2`, `\"Critics\":3`, "16 tensors of 140 bytes, its networks have 22 of 192"},
		{`\"Observation\":2`, `\"Observation\":9223372036854775807`, "shorter than its networks"},
		{`\"Observation\":2`, `\"Observation\":0`, "sizes"},
		{`\"Observation\":2`, `\"Observation\":1`, "4 means and 4 scales of the inputs, want 3"},
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

// Another tool may order tensors otherwise, and add spaces and metadata.
func TestReadSafetensorsOrder(t *testing.T) {
	data := networksOf(t, agentAfter(t, leastParams(), 15))
	moved := withHeader(data, func(h string) string {
		h = strings.TrimRight(h, " ")
		begin := strings.Index(h, `"policy.0.bias"`)
		end := begin + strings.Index(h[begin:], "},") + 2
		return "{ \"__metadata__\":{\"format\":\"pt\"," + strings.TrimPrefix(h[:begin]+h[end:len(h)-1], `{"__metadata__":{`) + ",\n" + strings.TrimSuffix(h[begin:end], ",") + "}\n\t "
	})
	a, err := ReadSafetensors(bytes.NewReader(moved))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, networksOf(t, a)) {
		t.Error("the networks differ")
	}
}

// FuzzSafetensors reads arbitrary files.
func FuzzSafetensors(f *testing.F) {
	for _, changes := range []string{"", "Uncertainty=ensemble", "Curriculum=vds", "Curriculum=rnd Replay=per", "Curriculum=her Critics=1"} {
		f.Add(networksOf(f, agentAfter(f, changed("", leastParams(), changes).Params, 12)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a *Agent
		var err error
		// The networks with targets, moments and scratch, VDS's beside them, and
		// what the names of a header cost.
		if got, most := allocated(func() { a, err = ReadSafetensors(bytes.NewReader(data)) }), uint64(100*len(data)+4<<20); got > most {
			t.Errorf("%d bytes allocate %d, want at most %d", len(data), got, most)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "qta: safetensors: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		b, err := ReadSafetensors(bytes.NewReader(networksOf(t, a)))
		if err != nil {
			t.Fatalf("what was read and written is not read: %v", err)
		}
		if !bytes.Equal(networksOf(t, a), networksOf(t, b)) {
			t.Error("what was read and written is read as something else")
		}
		a.Act(make([]float64, a.sizes.Observation), make([]float64, a.sizes.Goal))
	})
}

// TestPython has another language read the networks, and do what the package
// does: testdata/networks.py, and the lines in the documentation of
// WriteSafetensors. It runs where QTA_PYTHON names a Python with NumPy.
func TestPython(t *testing.T) {
	python := os.Getenv("QTA_PYTHON")
	if python == "" {
		t.Skip("set QTA_PYTHON to a Python that has NumPy")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.safetensors")
	worst := 0.0
	for _, p := range []Params{Default(), Paper(), changed("", Small(), "Critics=5 HiddenLayers=1").Params} {
		p.Horizon, p.InitialSteps = 10, 50
		a := agentAfter(t, p, 120)
		if err := os.WriteFile(file, networksOf(t, a), 0o666); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		const n = 50
		const seed = 11
		d := p.UncertaintyActions
		drawn := newStream(seed, forSurvey)
		actions := make([][][]float64, n) // d of each pair; they are drawn the other way round
		for range d {
			for k := range n {
				actions[k] = append(actions[k], []float64{float64(float32(symmetric(drawn.Rand))), float64(float32(symmetric(drawn.Rand)))})
			}
		}
		observations, goals := randomRows(rng, n, 2), randomRows(rng, n, 2)
		for k := range n {
			observations[k][0], goals[k][0] = 3+observations[k][0], 3+goals[k][0]
		}
		questions, err := json.Marshal(map[string]any{"observations": observations, "goals": goals, "actions": actions})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "testdata/networks.py", file)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(questions), os.Stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var answers struct {
			Actions             [][]float64
			Values, Uncertainty []float64
		}
		if err := json.Unmarshal(text, &answers); err != nil {
			t.Fatal(err)
		}
		compare := func(what string, got, want []float64) {
			if len(got) != len(want) {
				t.Fatalf("%s: %d numbers, want %d", what, len(want), len(got))
			}
			for i := range got {
				distance := math.Abs(got[i]-want[i]) / (1 + math.Abs(want[i]))
				worst = max(worst, distance)
				if !(distance <= 1e-5) {
					t.Errorf("%s: %v, in Python %v", what, got[i], want[i])
				}
			}
		}
		for k := range n {
			compare("action", a.Act(observations[k], goals[k]), answers.Actions[k])
		}
		compare("values", a.Value(observations, goals), answers.Values)
		compare("uncertainty", a.Uncertainty(observations, goals, seed), answers.Uncertainty)

		_, lines, _ := strings.Cut(readText(t, "safetensors.go"), "in Python:\n//\n")
		lines, _, _ = strings.Cut(lines, "\n//\n")
		program := fmt.Sprintf("import json, os\nimport numpy as np\nos.chdir(%q)\ns, g = %v, %v\n", dir, string(toJSON(observations[0])), string(toJSON(goals[0])))
		program += strings.ReplaceAll("\n"+lines, "\n//\t", "\n") + "\nprint(json.dumps(list(action)))\n"
		text, err = exec.Command(python, "-c", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, program, text)
		}
		var action []float64
		if err := json.Unmarshal(text, &action); err != nil {
			t.Fatal(err)
		}
		compare("the documentation's action", a.Act(observations[0], goals[0]), action)
	}
	t.Logf("the largest difference is %.2g", worst)
}
