package lab

import (
	"errors"
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
	return Options{Dir: dir, Name: "1U5", Params: tiny(), Seed: 3, Steps: 200, EvalEvery: 20, Rollouts: 2, Continue: true, Threads: 1, Say: quiet, Warn: quiet}
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
		if e.Name() == LockFile || e.Name() == PreviousFile || e.Name() == DamagedFile {
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
}

// An iced maze has no map, its actions go a part of their way, and a step's reward is
// not Reward's.
type iced struct {
	qta.Env
	part, bonus float64
}

func (e iced) Step(action []float64) (qta.State, float64) {
	s, r := e.Env.Step([]float64{e.part * action[0], e.part * action[1]})
	return s, r + e.bonus
}

func trainIced(t *testing.T, o Options, part, bonus float64) error {
	t.Helper()
	m := roomtest.Maze(t, "1U5")
	return Train(t.Context(), iced{m.Env(), part, bonus}, iced{m.Env(), part, bonus}, o)
}

// A run is not continued, nor said to be done, in an environment that has changed;
// one that is too old to know its environment is.
func TestFingerprint(t *testing.T) {
	const changed = "the environment has changed: an episode that is always the same gave after step 1 ["
	o := tinyRun(filepath.Join(t.TempDir(), "run"))
	o.Steps = 60
	for _, test := range []struct {
		part  float64
		steps int
		want  string
	}{{0.5, 60, ""}, {0.6, 60, changed}, {0.6, 100, changed}, {0.5 + 1e-9, 60, ""}} {
		o.Steps = test.steps
		err := trainIced(t, o, test.part, 0)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v", test, err)
		}
	}
	attach(t, o.Dir, func(s *state) { s.Fingerprint = nil })
	if err := trainIced(t, o, 0.6, 0); err != nil {
		t.Errorf("a run without a fingerprint: %v", err)
	}
}

// An environment that breaks its contract is refused before anything is written,
// unless the options say otherwise: then its first step ends the run.
func TestUnfitEnvironment(t *testing.T) {
	o := tinyRun(filepath.Join(t.TempDir(), "run"))
	for _, o.Unchecked = range []bool{false, true} {
		err := trainIced(t, o, 1, 5)
		_, input := errors.AsType[InputError](err)
		begun := exists(filepath.Join(o.Dir, AgentFile))
		if err == nil || !strings.Contains(err.Error(), "Step's reward is ") || input == o.Unchecked || begun != o.Unchecked {
			t.Errorf("unchecked is %v: error %v", o.Unchecked, err)
		}
	}
}
