package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
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
	return Maze(roomtest.Maze(t, "1U5"))
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
		files[e.Name()] = roomtest.Read(t, dir, e.Name())
	}
	return files
}

// TestResume stops a run after every few steps, with two threads and another pace
// of saving each time, and has the bytes of one that was never stopped.
func TestResume(t *testing.T) {
	whole, parts := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "parts")
	train(t, tinyRun(whole))
	roomtest.Write(t, filepath.Join(parts, LockFile), "") // a process was killed at its start
	roomtest.Write(t, filepath.Join(parts, AgentFile+temporary), "qta")
	for stop := 7; stop < 200; stop += 33 {
		o := tinyRun(parts)
		o.Threads, o.Checkpoint = 2, stop%10
		stopAt(t, o, stop)
	}
	train(t, tinyRun(parts))
	sameRun(t, "a run in parts", parts, whole)
	if n := len(contents(t, whole)); n != 7 {
		t.Errorf("%d files, want 7", n)
	}
	if timing := roomtest.Read(t, parts, TimingFile); strings.Count(timing, "\n") != 11 {
		t.Errorf("the clock of 10 evaluations: %s", timing)
	}
}
