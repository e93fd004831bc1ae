package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qta"
)

// tiny returns parameters that train within a second.
func tiny() qta.Params {
	p := qta.Small()
	p.HiddenSize, p.HiddenLayers, p.Batch, p.UncertaintyActions, p.Horizon = 8, 2, 16, 2, 10
	p.InitialSteps, p.LearningStarts = 20, 5
	return p
}

// tinyRun returns the options of a run of ten evaluations.
func tinyRun(dir string) Options {
	quiet := func(string) {}
	return Options{Dir: dir, Name: "1U5", Params: tiny(), Preset: "tiny", Seed: 3, Steps: 200, EvalEvery: 20, Rollouts: 2, Continue: true, Threads: 1, Say: quiet, Warn: quiet}
}

func maze(t testing.TB) qta.Env {
	t.Helper()
	m, err := qta.NewMaze("1U5")
	if err != nil {
		t.Fatal(err)
	}
	return Maze(m)
}

func train(t testing.TB, o Options) {
	t.Helper()
	if err := Train(t.Context(), maze(t), maze(t), o); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files of a run, but those that a clock has made.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Name() == TimingFile || e.Name() == LockFile || e.Name() == PreviousFile || e.Name() == DamagedFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// TestResume stops a run after every few steps, and has the bytes of one that was
// never stopped.
func TestResume(t *testing.T) {
	whole, parts := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	train(t, tinyRun(whole))
	want := contents(t, whole)
	for stop := 7; ; stop += 33 {
		ctx, cancel := context.WithCancel(t.Context())
		o := tinyRun(parts)
		o.AfterStep = func(step int) {
			if step == stop {
				cancel()
			}
		}
		err := Train(ctx, maze(t), maze(t), o)
		cancel()
		if err == nil {
			break
		} else if !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
	}
	got := contents(t, parts)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs: %d bytes, want %d", name, len(got[name]), len(want[name]))
		}
	}
	if timing, err := os.ReadFile(filepath.Join(parts, TimingFile)); err != nil || strings.Count(string(timing), "\n") != 11 {
		t.Errorf("the clock of 10 evaluations: %s, error %v", timing, err)
	}
	if len(got) != len(want) || len(want) != 7 {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}
