//go:build unix

package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"qta"
)

// variants are parameters that keep different things in a checkpoint.
func variants() map[string]func(*qta.Params) {
	return map[string]func(*qta.Params){
		"fast":      func(*qta.Params) {},
		"mega":      func(p *qta.Params) { p.Curriculum = "mega" },
		"vds":       func(p *qta.Params) { p.Curriculum = "vds" },
		"her":       func(p *qta.Params) { p.Curriculum = "her" },
		"visits":    func(p *qta.Params) { p.Curriculum = "visits" },
		"rnd":       func(p *qta.Params) { p.Curriculum = "rnd" },
		"q":         func(p *qta.Params) { p.Uncertainty = "q" },
		"bootstrap": func(p *qta.Params) { p.Uncertainty = "bootstrap" },
		"ensemble":  func(p *qta.Params) { p.Uncertainty = "ensemble" },
		"per":       func(p *qta.Params) { p.Replay = "per" },
		"td":        func(p *qta.Params) { p.Replay = "td" },
		"random":    func(p *qta.Params) { p.Curriculum = "random" },
	}
}

// killed is the run that [TestKill] kills.
func killed(dir, variant string) Options {
	o := tinyRun(dir)
	variants()[variant](&o.Params)
	o.Checkpoint = 10
	return o
}

// TestChild is the process that TestKill kills.
func TestChild(t *testing.T) {
	if dir := os.Getenv("QTA_LAB_DIR"); dir != "" {
		train(t, killed(dir, os.Getenv("QTA_LAB_VARIANT")))
	}
}

// TestKill kills processes that train, at any moment: the run goes on to the bytes
// of one that was never killed.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it kills processes and starts them again, which takes seconds")
	}
	rng := rand.New(rand.NewPCG(2, 0))
	for variant := range variants() {
		dir, whole := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
		begin := time.Now()
		train(t, killed(whole, variant))
		took := time.Since(begin)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond+time.Duration(rng.Float64()*float64(took)))
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
			child.Env = append(os.Environ(), "QTA_LAB_DIR="+dir, "QTA_LAB_VARIANT="+variant)
			out, err := child.CombinedOutput() // killed at the deadline
			cancel()
			if e := new(exec.ExitError); err != nil && !(errors.As(err, &e) && !e.Exited()) {
				t.Fatalf("%s: %v\n%s", variant, err, out)
			}
		}
		train(t, killed(dir, variant))
		sameRun(t, variant, dir, whole)
	}
}
