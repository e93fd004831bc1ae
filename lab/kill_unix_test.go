//go:build unix

package lab

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// variants are changes of parameters that keep different things in a checkpoint.
var variants = strings.Fields("Curriculum=qta Curriculum=mega Curriculum=vds Curriculum=her Curriculum=visits Curriculum=rnd " +
	"Curriculum=random Uncertainty=q Uncertainty=bootstrap Uncertainty=ensemble Replay=per Replay=td")

// killed is the run that [TestKill] kills.
func killed(t *testing.T, dir, variant string) Options {
	t.Helper()
	o := tinyRun(dir)
	o.Checkpoint = 10
	name, value, _ := strings.Cut(variant, "=")
	if err := o.Params.Set(name, value); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestChild is the process that TestKill kills.
func TestChild(t *testing.T) {
	if dir := os.Getenv("QTA_LAB_DIR"); dir != "" {
		train(t, killed(t, dir, os.Getenv("QTA_LAB_VARIANT")))
	}
}

// TestKill kills processes that train, at any moment: the run goes on to the bytes
// of one that was never killed.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it kills processes and starts them again, which takes seconds")
	}
	rng := rand.New(rand.NewPCG(2, 0))
	for _, variant := range variants {
		dir, whole := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
		begin := time.Now()
		train(t, killed(t, whole, variant))
		took := time.Since(begin)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond+time.Duration(rng.Float64()*float64(took)))
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
			child.Env = append(os.Environ(), "QTA_LAB_DIR="+dir, "QTA_LAB_VARIANT="+variant)
			out, err := child.CombinedOutput()
			// An error from the deadline on is the kill, even where the run had just ended.
			if err != nil && ctx.Err() == nil {
				t.Fatalf("%s: %v\n%s", variant, err, out)
			}
			cancel()
		}
		train(t, killed(t, dir, variant))
		sameRun(t, variant, dir, whole)
	}
}
