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
	for _, variant := range tinyVariants() {
		for _, steps := range []int{0, 35} {
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
		if _, err := b.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "has its networks alone") {
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
	a := agentAfter(t, leastParams(), 15)
	data := networksOf(t, a)
	n := 8 + int(binary.LittleEndian.Uint64(data))
	replace := func(old, new string) []byte {
		return withHeader(data, func(h string) string {
			if !strings.Contains(h, old) {
				t.Fatalf("no %q in %s", old, h)
			}
			return strings.Replace(h, old, new, 1)
		})
	}
	number := func(k int, v float32) []byte {
		changed := slices.Clone(data)
		binary.LittleEndian.PutUint32(changed[n+4*k:], math.Float32bits(v))
		return changed
	}
	length := func(v uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, v), data[8:]...) }
	const first = `"policy.0.weight":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}`
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "ends within its header's length"},
		{"seven bytes", data[:7], "ends within its header's length"},
		{"a vast header", length(1 << 62), "a header of 4611686018427387904 bytes, at most 16777216 are read"},
		{"a header beyond the end", length(16 << 20), "ends within its header"},
		{"an empty header", length(0), "the header, or its metadata, is no JSON object"},
		{"a short header", length(uint64(n - 20)), "the header is no JSON"},
		{"a long header", length(uint64(n)), "something follows the header's JSON"},
		{"an array", withHeader(data, func(string) string { return "[]" }), "the header, or its metadata, is no JSON object"},
		{"two objects", withHeader(data, func(h string) string { return h + "{}" }), "something follows the header's JSON"},
		{"cut off", data[:len(data)-1], "ends within its numbers"},
		{"too long", append(slices.Clone(data), 0), "something follows the numbers"},
		{"not a tensor", replace(first, `"policy.0.weight":7`), `the tensor "policy.0.weight" has not a dtype, a shape`},
		{"an unknown field", replace(`"dtype":"F32",`, `"dtype":"F32","stride":1,`), `the tensor "policy.0.weight" has not a dtype, a shape`},
		{"a broken shape", replace(`"shape":[1,4]`, `"shape":[1,4.5]`), `the tensor "policy.0.weight" has not a dtype, a shape of whole numbers`},
		{"another type", replace(`"F32"`, `"F64"`), `the tensor "policy.0.weight" is of "F64", want F32`},
		{"a negative shape", replace(`"shape":[1,4]`, `"shape":[-1,-4]`), `the tensor "policy.0.weight" has no shape of one or two lengths`},
		{"three dimensions", replace(`"shape":[1,4]`, `"shape":[1,4,1]`), `the tensor "policy.0.weight" has no shape of one or two lengths`},
		{"no dimension", replace(`"shape":[1,4]`, `"shape":[]`), `the tensor "policy.0.weight" has no shape of one or two lengths`},
		{"a vast shape", replace(`"shape":[1,4]`, `"shape":[4611686018427387904,4]`), `the tensor "policy.0.weight" takes the bytes from 0 to 16, and its shape is [4611686018427387904 4]`},
		{"a shape of another length", replace(`"shape":[1,4]`, `"shape":[1,5]`), `the tensor "policy.0.weight" takes the bytes from 0 to 16, and its shape is [1 5]`},
		{"a transposed shape", replace(`"shape":[1,4]`, `"shape":[4,1]`), "the tensor policy.0.weight has the shape [4 1], its networks want [1 4]"},
		{"a negative offset", replace(`[0,16]`, `[-16,0]`), `the tensor "policy.0.weight" begins at byte -16, and what is before it ends at 0`},
		{"a vast offset", replace(`[0,16]`, `[0,9223372036854775807]`), `the tensor "policy.0.weight" takes the bytes from 0 to 9223372036854775807`},
		{"an end before its begin", replace(`[16,20]`, `[16,12]`), `the tensor "policy.0.bias" takes the bytes from 16 to 12`},
		{"an overlap", replace(`[16,20]`, `[12,16]`), `the tensor "policy.0.bias" begins at byte 12, and what is before it ends at 16`},
		{"a hole", replace(`[16,20]`, `[20,24]`), `begins at byte 20, and what is before it ends at 16`},
		{"a name twice", replace(`"policy.0.bias"`, `"policy.0.weight"`), `the header has "policy.0.weight" twice`},
		{"a tensor too many", withHeader(append(slices.Clone(data), 0, 0, 0, 0), func(h string) string {
			end := len(data) - n
			return strings.Replace(h, `{"__metadata__"`, fmt.Sprintf(`{"more":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]},"__metadata__"`, end, end+4), 1)
		}), "17 tensors, its networks have 16"},
		{"another name", replace(`"policy.0.bias"`, `"policy.0.bios"`), "no tensor policy.0.bias"},
		{"no metadata", replace(`"__metadata__"`, `"metadata"`), `the tensor "metadata" has not a dtype`},
		{"no such metadata", replace(`"qta"`, `"pt"`), `its metadata has no "qta": this package has not written it`},
		{"metadata twice", replace(`"qta"`, `"seed"`), `the header has "seed" twice`},
		{"metadata that is no text", replace(`"seed":"1"`, `"seed":1`), `the metadata "seed" is no text`},
		{"metadata that is null", replace(`"seed":"1"`, `"seed":null`), `the metadata "seed" is no text`},
		{"no seed", replace(`"seed":"1"`, `"seed":"-1"`), `its metadata has no "seed" that can be read`},
		{"an unknown parameter", replace(`\"Batch\":16`, `\"Botch\\nBatch\":16`), `unknown parameter "Botch\nBatch"`},
		{"a parameter out of range", replace(`\"Batch\":16`, `\"Batch\":0`), "parameter Batch is 0"},
		{"a parameter of lines", replace(`\"Batch\":16`, `\"Batch\":[1,\n\n2]`), `parameter Batch: [1, 2] is not a whole number`},
		{"large networks", replace(`\"HiddenSize\":1`, `\"HiddenSize\":4096`), "fewer numbers than its networks have"},
		{"vast sizes", replace(`\"Observation\":2`, `\"Observation\":9223372036854775807`), "fewer numbers than its networks have"},
		{"no sizes", replace(`\"Observation\":2`, `\"Observation\":0`), "fewer numbers than its networks have"},
		{"other sizes", replace(`\"Observation\":2`, `\"Observation\":1`), "the tensor policy.0.weight has the shape [1 4], its networks want [1 3]"},
		{"another clip", replace(`\"clip\":5`, `\"clip\":6`), "the inputs' scaling has 4 means, 4 scales and the clip 6, want 4, 4 and 5"},
		{"a mean too many", replace(`\"mean\":[`, `\"mean\":[1,`), "the inputs' scaling has 5 means"},
		{"a scale of zero", replace(`\"scale\":[`, `\"scale\":[0],\"scale\":[0,`), "the inputs' scaling has 4 means, 5 scales"},
		{"a negative scale", replace(fmt.Sprintf(`\"scale\":[%v`, a.observations.scale[0]), `\"scale\":[-1`), "scale 0 of the inputs is -1"},
		{"NaN", number(0, float32(math.NaN())), "number 0 of the tensor policy.0.weight is NaN"},
		{"infinite", number(len(data[n:])/4-1, float32(math.Inf(-1))), "number 1 of the tensor head.1.bias is -Inf"},
	} {
		a, err := ReadSafetensors(bytes.NewReader(test.data))
		if err == nil || a != nil || !strings.HasPrefix(err.Error(), "qta: safetensors: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	trouble := errors.New("trouble")
	for _, at := range []int{3, 100, n + 5, len(data)} {
		if _, err := ReadSafetensors(io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(trouble))); !errors.Is(err, trouble) {
			t.Errorf("a reader that fails at byte %d: error %v", at, err)
		}
	}
}

// Other orders of the tensors, spaces and metadata of others are as good.
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

// TestSafetensorsSurvey asks an agent that was read: as no average of the heads is
// in the file, the heads are asked.
func TestSafetensorsSurvey(t *testing.T) {
	p := tinyPreset(Default())
	a := agentAfter(t, p, 35)
	b, err := ReadSafetensors(bytes.NewReader(networksOf(t, a)))
	if err != nil {
		t.Fatal(err)
	}
	a.average = newAverage(a.pun, p.UncertaintyPolyak) // the heads as they are
	b.step = a.step
	points := surveyPoints(mustMaze(t, "1U5"))
	ask := func(a *Agent) []float64 { return a.Survey(points[0], points[0], points, points, 0).Deviation }
	if diff := cmp.Diff(ask(a), ask(b)); diff != "" {
		t.Errorf("deviations (-written +read):\n%s", diff)
	}
}

// TestSafetensorsScale refuses a normalizer that divides by zero.
func TestSafetensorsScale(t *testing.T) {
	a := agentAfter(t, leastParams(), 15)
	a.goals.scale[0] = 0
	if _, err := ReadSafetensors(bytes.NewReader(networksOf(t, a))); err == nil {
		t.Error("a scale of 0 is read")
	}
}
