package qta

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// The header is JSON, of a length that aligns the numbers. It says whose networks they are.
// The inputs' clip is the normalizers'. TestKitForward and TestPython check that the numbers
// give the agent's answers.
func TestWriteSafetensors(t *testing.T) {
	for _, variant := range tinyVariants() {
		variant.Params.NormalizerClip = 1.5
		a := agentAfter(t, variant.Params, 35)
		data := networksOf(t, a)
		n := 8 + binary.LittleEndian.Uint64(data)
		var header struct {
			Metadata map[string]string `json:"__metadata__"`
		}
		if err := json.Unmarshal(data[8:n], &header); err != nil || n%8 != 0 {
			t.Fatalf("%s: a header of %d bytes, error %v", variant.Name, n-8, err)
		}
		m := header.Metadata
		want := map[string]string{"qta": string(toJSON(Version)), "sizes": string(toJSON(a.Sizes())), "seed": fmt.Sprint(a.Seed()),
			"parameters": string(toJSON(variant.Params)), "inputs": m["inputs"]}
		if diff := cmp.Diff(want, m); diff != "" || !strings.HasPrefix(m["inputs"], `{"clip":1.5,`) {
			t.Errorf("%s: inputs %s, metadata (-want +got):\n%s", variant.Name, m["inputs"], diff)
		}
	}
}

// A writer that fails gives its error. A parameter that is not finite is an error, too.
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

// withHeader returns a file with the same numbers, and with new in place of old in its header.
func withHeader(data []byte, old, new string) []byte {
	n := 8 + int(binary.LittleEndian.Uint64(data))
	header := strings.Replace(string(data[8:n]), old, new, 1)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data[n:])
}

// testdata/networks.py reads an agent's networks and gives the agent's answers.
func TestPython(t *testing.T) {
	const n, seed = 10, 11
	for _, changes := range []string{"", "Critics=5 HiddenLayers=1", "HiddenSize=100 UncertaintyActions=8"} {
		a := agentAfter(t, tiny(Paper(), changes), 40)
		rng := rand.New(rand.NewPCG(1, 1))
		observations := randomRows(rng, n, 2)
		goals := randomRows(rng, n, 2)
		for k := range n { // about where the agent has been
			observations[k][0] += 3
			goals[k][0] += 3
		}
		answers := askPython(t, a, observations, goals, surveyActions(a, seed))

		equal := func(what string, got, want []float64) {
			t.Helper()
			within(t, what, float32s(got), want, func(e float64) float64 { return 1e-5 * (1 + math.Abs(e)) })
		}
		for k := range n {
			equal("action", a.Act(observations[k], goals[k]), answers.Actions[k])
		}
		equal("values", a.Value(observations, goals), answers.Values)
		equal("uncertainty", a.Uncertainty(observations, goals, seed), answers.Uncertainty)
	}
}

// surveyActions returns the random actions that Uncertainty draws from a seed.
func surveyActions(a *Agent, seed uint64) (actions [][]float64) {
	rng := newStream(seed, forSurvey).Rand
	number := func() float64 { return float64(float32(symmetric(rng))) }
	for range a.params.UncertaintyActions {
		actions = append(actions, []float64{number(), number()})
	}
	return actions
}

type pythonAnswers struct {
	Actions             [][]float64
	Values, Uncertainty []float64
}

// askPython runs testdata/networks.py on an agent's networks, with the same random actions
// for each pair.
func askPython(t *testing.T, a *Agent, observations, goals, actions [][]float64) (answers pythonAnswers) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.safetensors")
	writeFile(t, file, networksOf(t, a))
	cmd := exec.Command(needProgram(t, "python3"), "testdata/networks.py", file)
	cmd.Stdin = bytes.NewReader(toJSON(map[string]any{
		"observations": observations,
		"goals":        goals,
		"actions":      slices.Repeat([][][]float64{actions}, len(goals)),
	}))
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := json.Unmarshal(text, &answers); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return answers
}
