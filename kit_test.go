package qta

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// program returns the first of the programs that this machine has.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("needs %s", strings.Join(names, " or "))
	return ""
}

// TestKitReader runs the reader of testdata/README.md on the golden vectors, and
// on one that is changed.
func TestKitReader(t *testing.T) {
	python := program(t, "python3")
	_, block, _ := strings.Cut(readText(t, "testdata/README.md"), "```python\n")
	block, _, _ = strings.Cut(block, "```")
	vectors := readText(t, "testdata/golden/per-beta.json")
	for _, test := range []struct{ old, new, want string }{
		{"", "", "per-beta schedule holds\n"},
		{"0.475", "0.476", "per-beta schedule DIFFERS\n"},
	} {
		dir := t.TempDir()
		changed := strings.Replace(vectors, test.old, test.new, 1)
		if err := os.WriteFile(filepath.Join(dir, "per-beta.json"), []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(python, "-c", block, dir).CombinedOutput()
		if err != nil || string(got) != test.want {
			t.Errorf("%q for %q: %s, error %v, want %s", test.new, test.old, got, err, test.want)
		}
	}
}

// TestKitForward holds the forward passes of testdata, in Python and in C, to
// [Agent.Act].
func TestKitForward(t *testing.T) {
	for _, test := range []struct {
		name    string
		command func(t *testing.T) []string
	}{
		{"Python", func(t *testing.T) []string {
			return []string{program(t, "python3"), "testdata/forward.py"}
		}},
		{"C", func(t *testing.T) []string {
			binary := filepath.Join(t.TempDir(), "forward")
			compile := exec.Command(program(t, "cc", "gcc"), "-o", binary, "testdata/forward.c", "-lm")
			if text, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return []string{binary}
		}},
	} {
		t.Run(test.name, func(t *testing.T) { holdForward(t, test.command(t)) })
	}
}

// holdForward asks a command for the actions of agents of several shapes.
func holdForward(t *testing.T, command []string) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, layers := range []int{1, 3} {
		p := tinyPreset(Default())
		p.HiddenLayers = layers
		a := agentAfter(t, p, 35)
		file := filepath.Join(t.TempDir(), "agent.safetensors")
		if err := os.WriteFile(file, networksOf(t, a), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, scale := range []float64{1, 100} { // the latter is clipped
			x := make([]float64, 4)
			for i := range x {
				x[i] = scale * rng.NormFloat64()
			}
			arguments := append(command[1:len(command):len(command)], file)
			for _, v := range x {
				arguments = append(arguments, strconv.FormatFloat(v, 'g', -1, 64))
			}
			text, err := exec.Command(command[0], arguments...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			got := bytes.Fields(text)
			want := a.Act(x[:2], x[2:])
			if len(got) != len(want) {
				t.Fatalf("printed %q for %v", text, want)
			}
			for i := range want {
				v, err := strconv.ParseFloat(string(got[i]), 64)
				if err != nil || !(math.Abs(v-want[i]) <= 1e-5) {
					t.Errorf("component %d is %s, want %v", i, got[i], want[i])
				}
			}
		}
	}
}
