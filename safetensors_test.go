package qta

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// networksOf returns an agent's networks as a safetensors file.
func networksOf(t testing.TB, a *Agent) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, a.WriteSafetensors(&b))
	return b.Bytes()
}

// The header of a safetensors file is JSON, and its length aligns the numbers. It says whose
// networks they are, and how their inputs are normalized. TestKitForward and TestPython check
// that the numbers give the agent's answers.
func TestWriteSafetensors(t *testing.T) {
	for _, variant := range tinyVariants() {
		variant.Params.NormalizerClip = 1.5
		a := agentAfter(t, variant.Params, 35)
		text, _ := splitHeader(networksOf(t, a))
		checkEqual(t, 0, len(text)%8, "%s: the header's length modulo 8", variant.Name)
		var header struct {
			Metadata map[string]string `json:"__metadata__"`
		}
		if err := json.Unmarshal(text, &header); err != nil {
			t.Fatalf("%s: %v", variant.Name, err)
		}
		got := header.Metadata
		if inputs := got["inputs"]; !strings.HasPrefix(inputs, `{"clip":1.5,`) {
			t.Errorf("%s: inputs are %s, want NormalizerClip as clip", variant.Name, inputs)
		}
		delete(got, "inputs")
		want := map[string]string{
			"qta":        string(toJSON(Version)),
			"sizes":      string(toJSON(a.Sizes())),
			"seed":       fmt.Sprint(a.Seed()),
			"parameters": string(toJSON(variant.Params)),
		}
		checkEqual(t, want, got, "%s: other metadata", variant.Name)
	}
}

// splitHeader returns the header of a safetensors file, whose length stands before it, and
// the numbers after it.
func splitHeader(data []byte) (header, numbers []byte) {
	length := binary.LittleEndian.Uint64(data)
	return data[8:][:length], data[8+length:]
}

// withHeader returns a file with the same numbers, and with new in place of old in its header.
func withHeader(data []byte, old, new string) []byte {
	header, numbers := splitHeader(data)
	header = bytes.Replace(header, []byte(old), []byte(new), 1)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, numbers)
}

// A writer that fails gives its error. A parameter that is not finite is an error, too.
func TestWriteSafetensorsErrors(t *testing.T) {
	a := agentAfter(t, leastParams(), 3)
	r, w := io.Pipe()
	full := errors.New("full")
	r.CloseWithError(full) // which w.Write returns
	if err := a.WriteSafetensors(w); !errors.Is(err, full) {
		t.Errorf("error %v, want the writer's, %v", err, full)
	}
	a.pun.critics[1].params[2] = float32(math.Inf(1))
	namesNumber(t, "written", "critic 2", 3, a.WriteSafetensors(io.Discard))
}

// testdata/networks.py reads an agent's networks and gives the agent's answers.
func TestPython(t *testing.T) {
	const n, seed = 10, 11
	for _, changes := range []string{"", "Critics=5 HiddenLayers=1", "HiddenSize=100 UncertaintyActions=8", "Curriculum=her Critics=1"} {
		a := agentAfter(t, tiny(Paper(), changes), 40)
		rng := seeded(1, 1)
		observations := randomRows(rng, n, 2)
		goals := randomRows(rng, n, 2)
		for k := range n { // moves them to about where the agent has been
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

// surveyActions returns the random actions that [Agent.Uncertainty] draws from a seed.
func surveyActions(a *Agent, seed uint64) (actions [][]float64) {
	rng := newStream(seed, forSurvey).Rand
	number := func() float64 { return float64(float32(symmetric(rng))) }
	for range a.params.UncertaintyActions {
		actions = append(actions, []float64{number(), number()})
	}
	return actions
}

// pythonAnswers is what networks.py prints, with a row or a number for each pair.
type pythonAnswers struct {
	Actions             [][]float64
	Values, Uncertainty []float64
}

// askPython runs testdata/networks.py on an agent's networks. It asks about pairs of an
// observation and a goal, with the same random actions for each pair.
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
	must(t, json.Unmarshal([]byte(outputOf(t, cmd)), &answers))
	return answers
}
