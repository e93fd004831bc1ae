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

// The header is JSON of a length that aligns the numbers, and says whose networks they
// are; the inputs' clip is that of the normalizers. TestKitForward and TestPython hold
// the numbers to what the agent does.
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

// TestPython has testdata/networks.py read the networks, and do what the package
// does.
func TestPython(t *testing.T) {
	python := program(t, "python3")
	equal := func(what string, got []float32, want []float64) {
		t.Helper()
		within(t, what, got, want, func(e float64) float64 { return 1e-5 * (1 + math.Abs(e)) })
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, changes := range []string{"", "Critics=5 HiddenLayers=1", "HiddenSize=100 UncertaintyActions=8"} {
		p := tiny(Paper(), changes)
		a := agentAfter(t, p, 40)
		file := filepath.Join(t.TempDir(), "agent.safetensors")
		writeFile(t, file, networksOf(t, a))
		const n, seed = 10, 11
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
		cmd := exec.Command(python, "testdata/networks.py", file)
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
