package qta

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// digests is the content of testdata/digests.json: what short runs end with on
// every machine.
type digests struct {
	Version string
	Fused   map[string]digest // by variant, with every kernel but the generic one
	Generic map[string]digest
}

type digest struct {
	Digest     string
	Checkpoint string // SHA-256: another layout needs another checkpointFormat
	Log        []Evaluation
}

// digestOf trains for 200 steps, of which the second half sets its goals by
// uncertainty: of all transitions first, and of some from step 150 on.
func digestOf(t *testing.T, p Params, k kernel) digest {
	p.HiddenSize = 32
	p.Batch = 64
	p.InitialSteps = 100
	p.Candidates = min(p.Candidates, 150)
	p.LearningStarts = min(p.LearningStarts, 50)
	if p.Curriculum == "vds" {
		p.HiddenSize = 8 // it learns much
	}
	m := mustMaze(t, "2U5")
	a, err := NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	a.workers.kernel = k
	defer a.Close()
	if err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 200, EvalEvery: 100, Rollouts: 5}); err != nil {
		t.Fatal(err)
	}
	return digest{a.Digest(), fmt.Sprintf("%x", sha256.Sum256(marshal(t, a))), a.Evaluations()}
}

// TestDigests holds runs to bytes that are the same on every architecture, in
// one set with fused multiply-adds and one without.
func TestDigests(t *testing.T) {
	t.Parallel()
	const path, remedy = "testdata/digests.json", "if results are meant to change, raise Version (if only checkpoints are, checkpointFormat) and run: go test -run TestDigests -update"
	var want digests
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil && !*update {
		t.Fatalf("%v; %s", err, remedy)
	}
	got := digests{Version, map[string]digest{}, map[string]digest{}}
	for _, k := range kernels() {
		set, wanted := got.Fused, want.Fused
		if k == generic {
			set, wanted = got.Generic, want.Generic
		}
		all := variants()
		if testing.Short() && !*update {
			if all = []Preset{{"default", Default()}, {"authors", Authors()}}; k != best {
				all = all[:1]
			}
		}
		for _, v := range all {
			d := digestOf(t, v.Params, k)
			set[v.Name] = d
			if *update {
				continue
			}
			if diff := cmp.Diff(wanted[v.Name], d); diff != "" {
				t.Errorf("%s, %v kernel (-want +got):\n%s%s", v.Name, k, diff, remedy)
			}
		}
	}
	if want.Version != Version && !*update {
		t.Errorf("%s is of version %s, this is %s; run: go test -run TestDigests -update", path, want.Version, Version)
	}
	if !*update {
		return
	}
	if len(got.Fused) == 0 {
		got.Fused = want.Fused // this machine has no kernel to compute them
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
