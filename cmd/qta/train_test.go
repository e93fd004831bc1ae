package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/figure5"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/film"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
)

// tiny are the flags of a run that takes milliseconds and is interrupted
// within episodes, of which the later choose their goals by uncertainty.
var tiny = strings.Fields("-maze 1U5 -params small -set HiddenSize=8 -set HiddenLayers=2 -set Batch=16 -set Candidates=20 " +
	"-set UncertaintyActions=2 -set Horizon=10 -set InitialSteps=20 -set LearningStarts=5 -eval 7 -stop never")

func tinyRun(more ...string) []string { return append(append([]string{}, tiny...), more...) }

// outcomeOf reads what has to be equal for equal runs.
func outcomeOf(t *testing.T, dir string) (log string, o rundir.Outcome) {
	t.Helper()
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil || r.Outcome == nil {
		t.Fatalf("%s: record %+v, error %v", dir, r, err)
	}
	return roomtest.Read(t, dir, rundir.LogFile), *r.Outcome
}

func stateOf(t *testing.T, dir string) string {
	t.Helper()
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil {
		t.Fatalf("%s: record %+v, error %v", dir, r, err)
	}
	return r.State
}

// sameOutcome holds a run against one that was never interrupted.
func sameOutcome(t *testing.T, want, got string) {
	t.Helper()
	wantLog, wantOutcome := outcomeOf(t, want)
	gotLog, gotOutcome := outcomeOf(t, got)
	if diff := cmp.Diff(wantLog, gotLog); diff != "" {
		t.Errorf("%s differs in %s and %s (-want +got):\n%s", rundir.LogFile, want, got, diff)
	}
	if diff := cmp.Diff(wantOutcome, gotOutcome); diff != "" {
		t.Errorf("outcome differs in %s and %s (-want +got):\n%s", want, got, diff)
	}
}

// A stopper cancels a context when a number of lines has been written to it.
type stopper struct {
	bytes.Buffer
	lines  int
	cancel context.CancelCauseFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Count(s.String(), "\n") >= s.lines {
		s.cancel(errors.New("interrupt"))
	}
	return n, err
}

// interrupted runs a command until it has written that many lines.
func interrupted(t *testing.T, lines int, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out := &stopper{lines: lines, cancel: cancel}
	var stderr bytes.Buffer
	code := run(ctx, args, out, &stderr)
	return result{code, out.String(), stderr.String()}
}

func TestResume(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "100", "-out", "whole")...)
	// Once per evaluation, with a changing number of threads and of
	// checkpoints, and once before the first.
	first := interrupted(t, 1, tinyRun("-steps", "100", "-out", "parts")...)
	if first.code != exitUnfinished || first.errors != "" || stateOf(t, "parts") != rundir.Stopped {
		t.Fatalf("exit code %d, stderr %q, state %q", first.code, first.errors, stateOf(t, "parts"))
	}
	for _, sentence := range []string{"Stopped (interrupt) and saved: after ", "The same command continues the run; its files are in parts."} {
		if !strings.Contains(first.out, sentence) {
			t.Errorf("output lacks %q:\n%s", sentence, first.out)
		}
	}
	code := exitUnfinished
	rounds := 0
	for ; code == exitUnfinished && rounds < 100; rounds++ {
		args := tinyRun("-steps", "100", "-out", "parts", "-threads", "2")
		if rounds%2 == 1 {
			args = tinyRun("-steps", "150", "-out", "parts", "-threads", "1", "-checkpoint", "3")
		}
		r := interrupted(t, 4, args...)
		code = r.code
		if strings.Contains(r.errors, "stands at step 1") && strings.Contains(r.errors, "past where -steps 100 ") {
			break // it is left for the larger budget
		}
		if code != exitDone && code != exitUnfinished {
			t.Fatalf("round %d: exit code %d, stderr %q", rounds, code, r.errors)
		}
		if rounds > 0 && !strings.Contains(r.out, "Continues after ") && code != exitDone {
			t.Errorf("round %d does not say where it continues:\n%s", rounds, r.out)
		}
	}
	if rounds < 5 {
		t.Errorf("%d rounds, want more interruptions", rounds)
	}
	if _, o := outcomeOf(t, "parts"); o.Steps > 100 {
		mustRun(t, tinyRun("-steps", "150", "-out", "parts")...)
		mustRun(t, tinyRun("-steps", "150", "-out", "whole")...)
	}
	sameOutcome(t, "whole", "parts")
}

func TestFinished(t *testing.T) {
	t.Chdir(t.TempDir())
	out := mustRun(t, tinyRun("-steps", "40", "-out", "run")...)
	if want := "The budget is used up: "; !strings.Contains(out, want) || !strings.Contains(out, "are in run.\n") {
		t.Errorf("output lacks %q or the place:\n%s", want, out)
	}
	if strings.ContainsAny(out, "\r\x1b") {
		t.Errorf("control characters in the output of no terminal:\n%q", out)
	}
	content := func() map[string]string {
		texts := map[string]string{}
		for _, name := range []string{rundir.RecordFile, rundir.LogFile, rundir.TimingFile, rundir.AgentFile} {
			texts[name] = roomtest.Read(t, "run", name)
		}
		return texts
	}
	before := content()
	for _, args := range [][]string{tinyRun("-steps", "40", "-out", "run"), tinyRun("-steps", "20", "-out", "run")} {
		if got := mustRun(t, args...); !strings.HasPrefix(got, "The run in run is done: ") {
			t.Errorf("output %q", got)
		}
		if diff := cmp.Diff(before, content()); diff != "" {
			t.Errorf("a finished run was changed (-before +after):\n%s", diff)
		}
	}
	// A process that was killed after its last checkpoint left this to do.
	killed, err := rundir.ReadRecord("run")
	if err != nil {
		t.Fatal(err)
	}
	killed.State, killed.Outcome = rundir.Running, nil
	if err := killed.Write("run", false); err != nil {
		t.Fatal(err)
	}
	roomtest.Write(t, "run/log.csv", "")
	mustRun(t, tinyRun("-steps", "40", "-out", "run")...)
	if diff := cmp.Diff(before, content()); diff != "" {
		t.Errorf("a run killed at its end was not completed (-want +got):\n%s", diff)
	}
	// More steps.
	mustRun(t, tinyRun("-steps", "60", "-out", "run")...)
	mustRun(t, tinyRun("-steps", "60", "-out", "whole")...)
	sameOutcome(t, "whole", "run")
}

func TestDefaultDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	args := strings.Fields("-maze maps/tiny.txt -params p.json -set Horizon=5 -seed 7 -steps 3")
	roomtest.Write(t, "maps/tiny.txt", "SG")
	roomtest.Write(t, "p.json", `{"HiddenSize": 8, "Batch": 16}`)
	out := mustRun(t, args...)
	if dir := filepath.Join("runs", "tiny-p-Horizon=5-7"); !strings.Contains(out, dir) {
		t.Errorf("output lacks %s:\n%s", dir, out)
	} else if _, o := outcomeOf(t, dir); o.Steps != 3 {
		t.Errorf("outcome %+v, want 3 steps", o)
	}
	var long []string
	for range 20 {
		long = append(long, "-set", "Horizon=5")
	}
	if got := command(t, long...); got.code != exitInput || !strings.Contains(got.errors, "name a directory with -out") {
		t.Errorf("a very long name: %+v", got)
	}
}

func TestRefusal(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "1U5.txt", strings.Replace(strings.Split(mustRun(t, "maze", "1U5"), "\n\n")[0], ".", "#", 1))
	roomtest.Write(t, "same.txt", strings.Split(mustRun(t, "maze", "1U5"), "\n\n")[0])
	mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
	tests := []struct {
		more string
		want string // part of the line
	}{
		{"-seed 2", "run holds another run: -seed is 1 there, 2 here; name another directory with -out"},
		{"-maze 4x5", "the maze is 1U5 there, 4x5 here"},
		{"-eval 8", "-eval is 7 there, 8 here"},
		{"-set Batch=17", "Batch is 16 there, 17 here"},
		{"-set HeadLoss=norm -set Discount=0.5", "Discount is 0.99 there, 0.5 here, HeadLoss is squared there, norm here"},
		{"-seed 9 -eval 9 -set Batch=3 -set Slope=1", "Batch is 16 there, 3 here, and 1 more"},
	}
	before := roomtest.Read(t, "run", rundir.RecordFile)
	for _, test := range tests {
		args := tinyRun("-steps", "20", "-out", "run")
		got := command(t, append(args, strings.Fields(test.more)...)...)
		if got.code != exitInput || got.out != "" || !strings.Contains(got.errors, test.want) || strings.Count(got.errors, "\n") != 1 {
			t.Errorf("%s: %+v, want exit code %d and %q", test.more, got, exitInput, test.want)
		}
	}
	if after := roomtest.Read(t, "run", rundir.RecordFile); after != before {
		t.Errorf("a refusal changed %s", rundir.RecordFile)
	}
	// The text of the map counts, whatever its name.
	if got := mustRun(t, tinyRun("-steps", "11", "-out", "run", "-maze", "same.txt")...); !strings.Contains(got, "Continues after 10 ") {
		t.Errorf("the same map under another name:\n%s", got)
	}
}

// TestCheckpointFailure makes the agent's file unwritable in a way that stops
// even the superuser.
func TestCheckpointFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "60", "-out", "whole")...)
	mustRun(t, tinyRun("-steps", "30", "-out", "run")...)
	obstacle := filepath.Join("run", rundir.AgentFile+files.Temporary)
	if err := os.Mkdir(obstacle, 0o777); err != nil {
		t.Fatal(err)
	}
	roomtest.Write(t, filepath.Join(obstacle, "x"), "")
	got := command(t, tinyRun("-steps", "60", "-checkpoint", "10", "-out", "run")...)
	if got.code != exitFailure || !strings.Contains(got.errors, rundir.AgentFile) || !strings.Contains(got.errors, "the checkpoint of step 30 is kept in run") || strings.Count(got.errors, "\n") != 1 {
		t.Errorf("%+v, want exit code %d and a line that names %s", got, exitFailure, rundir.AgentFile)
	}
	if state := stateOf(t, "run"); state != rundir.Failed {
		t.Errorf("state %q, want %q", state, rundir.Failed)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	mustRun(t, tinyRun("-steps", "60", "-out", "run")...)
	sameOutcome(t, "whole", "run")
}

func TestLogFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, filepath.Join("run", rundir.RecordFile+files.Temporary), "") // as a killed process leaves it
	mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
	for _, name := range []string{rundir.LogFile + files.Temporary, rundir.RecordFile + files.Temporary} {
		obstacle := filepath.Join("run", name)
		if err := os.Mkdir(obstacle, 0o777); err != nil {
			t.Fatal(err)
		}
		got := command(t, tinyRun("-steps", "20", "-out", "run")...)
		if got.code == exitDone || !strings.Contains(got.errors, strings.TrimSuffix(name, files.Temporary)+" cannot be written") {
			t.Errorf("with %s in the way: %+v", name, got)
		}
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedAgent(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "60", "-out", "whole")...)
	mustRun(t, tinyRun("-steps", "20", "-out", "run")...)
	mustRun(t, tinyRun("-steps", "30", "-out", "run")...)
	path := filepath.Join("run", rundir.AgentFile)
	roomtest.Write(t, path, roomtest.Read(t, path)[:100])
	got := command(t, tinyRun("-steps", "60", "-out", "run")...)
	if got.code != exitDone || !strings.HasPrefix(got.errors, "qta: warning: ") || !strings.Contains(got.out, "Continues after 20 ") {
		t.Errorf("a damaged agent: %+v, want a warning and the agent before", got)
	}
	sameOutcome(t, "whole", "run")
	roomtest.Write(t, path, "no agent")
	roomtest.Write(t, path+qta.Previous, "neither")
	for _, args := range [][]string{tinyRun("-steps", "70", "-out", "run"), {"eval", "run"}} {
		if got := command(t, args...); got.code != exitInput || !strings.Contains(got.errors, rundir.AgentFile) || strings.Count(got.errors, "\n") != 1 {
			t.Errorf("%v with both agents damaged: %+v", args, got)
		}
	}
	// Another run's agent.
	for name, other := range map[string][]string{"seed": {"-seed", "2"}, "maze": {"-maze", "4x5"}, "evaluations": {"-eval", "3"}} {
		mustRun(t, tinyRun(append(other, "-steps", "60", "-out", name)...)...)
		roomtest.Write(t, path, roomtest.Read(t, name, rundir.AgentFile))
		if got := command(t, tinyRun("-steps", "70", "-out", "run")...); got.code != exitInput || !strings.Contains(got.errors, "belongs to another run") {
			t.Errorf("the agent of another run, which differs in %s: %+v", name, got)
		}
	}
	// Without any agent the run begins again.
	os.Remove(path)
	os.Remove(path + qta.Previous)
	if got := command(t, "eval", "run"); got.code != exitInput || !strings.Contains(got.errors, "run holds no agent.qta yet") {
		t.Errorf("eval without an agent: %+v", got)
	}
	mustRun(t, tinyRun("-steps", "60", "-out", "run")...)
	sameOutcome(t, "whole", "run")
}

func TestEval(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
	first := mustRun(t, "eval", "run", "-rollouts", "7")
	if want := "The agent of run, after 10 environment steps in maze 1U5, reached the goal in "; !strings.HasPrefix(first, want) || !strings.Contains(first, "of 7 rollouts (seed 1).\nThat is at the last of 10 steps; ") {
		t.Errorf("output %q", first)
	}
	if again := mustRun(t, "eval", "-seed", "1", "-rollouts=7", "run"); again != first {
		t.Errorf("output %q, then %q", first, again)
	}
	mustRun(t, "eval", "--", "run")

	rows, err := files.Rows([]byte(mustRun(t, "eval", "run", "-rollouts", "7", "-seed", "3", "-format", "csv")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"step[environment steps]", "success[fraction]", "rollouts[count]", "seed", "reached[fraction]", "return[reward]", "steps_to_goal[environment steps]"}
	if diff := cmp.Diff(want, rows[0]); diff != "" || len(rows) != 2 {
		t.Fatalf("%d rows; the header (-want +got):\n%s", len(rows), diff)
	}
	a, err := qta.LoadFile(filepath.Join("run", rundir.AgentFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := qta.NewMaze("1U5")
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Evaluate(m.Env(), 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	if diff := cmp.Diff([]string{"10", text(e.Success), "7", "3", text(e.Reached), text(e.Return), text(e.StepsToGoal)}, rows[1]); diff != "" {
		t.Errorf("the row (-want +got):\n%s", diff)
	}
	if got := command(t, "eval", "run", "-format", "xml"); got.code != exitInput || !strings.Contains(got.errors, "-format: want text or csv") {
		t.Errorf("another format: %+v", got)
	}
}

// brokenEnv goes wrong after some steps.
type brokenEnv struct {
	qta.Env
	steps int
}

func (e *brokenEnv) Step(action []float64) (qta.State, float64) {
	s, r := e.Env.Step(action)
	if e.steps--; e.steps < 0 {
		s.Observation = []float64{math.NaN(), 1}
	}
	return s, r
}

func TestNumbersGoneWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	m, name, err := findMaze("1U5")
	if err != nil {
		t.Fatal(err)
	}
	p := qta.Small()
	p.HiddenSize, p.Batch = 8, 16
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	view := terminal.NewRun(terminal.New(io.Discard), terminal.Plan{Steps: 100}, 0, time.Now())
	s := &session{dir: ".", agent: a, figure5: figure5.New(m, p, 1000), film: film.New(m, p, 1000), view: view, savedStep: -1, record: rundir.NewRecord(
		rundir.NewIdentity(name, m, "small", p, 1, 1000), rundir.Limits{Steps: 100, Stop: "never"}, 1)}
	if err := s.open(20); err != nil {
		t.Fatal(err)
	}
	defer s.timing.Close()
	err = s.train(t.Context(), &brokenEnv{m.Env(), 50}, m.Env())
	if exitCode(err) != exitNumeric || !strings.Contains(err.Error(), "step 51") || !strings.Contains(err.Error(), "the checkpoint of step 40 is kept in .") {
		t.Errorf("error %v with exit code %d", err, exitCode(err))
	}
	r, err := rundir.ReadRecord(".")
	if err != nil || r.State != rundir.Failed || !strings.Contains(r.Outcome.Message, "step 51") {
		t.Errorf("record %+v, error %v", r, err)
	}
	kept, err := qta.LoadFile(rundir.AgentFile)
	if err != nil || kept.Steps() != 40 {
		t.Errorf("the kept agent: %v, error %v", kept, err)
	}
}

func TestCadence(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	c := cadence{steps: 100, period: time.Minute, share: 0.01, lastStep: 1000, lastTime: start}
	tests := []struct {
		step int
		now  time.Duration
		cost time.Duration
		want bool
	}{
		{1001, time.Second, 0, false},
		{1099, 59 * time.Second, 0, false},
		{1100, time.Second, 0, true},
		{1001, time.Minute, 0, true},
		{1100, time.Second, 11 * time.Millisecond, false},
		{1100, time.Second, 10 * time.Millisecond, true},
		{1001, time.Minute, time.Second, false},
		{9999, 100 * time.Second, time.Second, true},
	}
	for _, test := range tests {
		c.cost = test.cost
		if got := c.due(test.step, at(test.now)); got != test.want {
			t.Errorf("step %d after %v, the last cost %v: due is %v", test.step, test.now, test.cost, got)
		}
	}
	// Over a long time the share holds whatever the costs are.
	rng := rand.New(rand.NewPCG(1, 2))
	c = cadence{steps: 1, share: 0.01, lastTime: start}
	now, spent := start, time.Duration(0)
	for step := 1; step < 100_000; step++ {
		now = now.Add(time.Millisecond)
		if c.due(step, now) {
			cost := time.Duration(rng.Float64() * float64(50*time.Millisecond))
			c.done(step, now, now.Add(cost))
			now, spent = now.Add(cost), spent+cost
		}
	}
	if share := float64(spent) / float64(now.Sub(start)); share > 0.0101 || share < 0.005 {
		t.Errorf("%.4f of the time was spent, want at most 0.01", share)
	}
}

func TestKernelChange(t *testing.T) {
	for _, test := range []struct {
		before, now string
		want        bool
	}{{"avx512", "avx512", false}, {"avx512", "neon", false}, {"generic", "generic", false}, {"generic", "avx2", true}, {"avx2", "generic", true}} {
		if warning := kernelChange(test.before, test.now); (warning != nil) != test.want {
			t.Errorf("from %s to %s: warning %v", test.before, test.now, warning)
		}
	}
}
