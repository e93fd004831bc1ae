package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"qta"
	"qta/lab"
)

// TestRobot holds the robot to the contract of environments, its sketch to its
// motion, and looks for the page of a short run.
func TestRobot(t *testing.T) {
	if err := qta.CheckEnv(new(robot), 50, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Error(err)
	}
	r, rng := new(robot), rand.New(rand.NewPCG(2, 0))
	r.Reset(rng)
	for range 10_000 {
		s, _ := r.Step([]float64{4*rng.Float64() - 2, 4*rng.Float64() - 2})
		x, y := r.Place(s.Achieved)
		if _, goal, ok := r.StateAt(x, y); !ok || goal[0] != x || goal[1] != y {
			t.Fatalf("it is at %v, %v, where no state is", x, y)
		}
	}
	p := qta.Small()
	p.HiddenSize, p.Batch = 8, 16
	dir := filepath.Join(t.TempDir(), "run")
	err := lab.Train(t.Context(), new(robot), new(robot), lab.Options{Dir: dir, Params: p, Steps: 200, EvalEvery: 100, Rollouts: 2, Say: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lab.AgentFile, lab.PageFile, lab.FilmFile, lab.Figure5File, lab.LogFile, lab.RecordFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
