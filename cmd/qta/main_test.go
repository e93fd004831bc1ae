package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"qta"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestRefusals gives bad input. Each command of testdata/refusals.txt writes one line
// that says what is wrong, ends with exit code 2, and leaves nothing behind.
func TestRefusals(t *testing.T) { transcript(t, "refusals.txt", exitInput) }

// TestFailures has commands that fail, though nothing is wrong with their input.
func TestFailures(t *testing.T) { transcript(t, "failures.txt", exitFailure) }

// TestShown holds what commands show to testdata/shown.txt. Pictures and reports have the form of
// their names.
func TestShown(t *testing.T) {
	transcript(t, "shown.txt", exitDone)
	has(t, roomtest.Read(t, "maze.svg"), "Maze 4x5, with start S and goal G")
	has(t, roomtest.Read(t, "runs/page.html"), "<!DOCTYPE html>")
	has(t, roomtest.Read(t, "report.csv"), "directory,setting,maze,")
}

func TestHelp(t *testing.T) {
	want := mustRun(t, "help")
	for _, args := range []string{"-h", "--help", "-help"} {
		equal(t, "qta "+args+", which is qta help", want, mustRun(t, args))
	}
	for _, code := range []int{exitDone, exitFailure, exitInput, exitNumeric, exitUnfinished} {
		has(t, want, fmt.Sprintf("\n  %-3d ", code))
	}
	has(t, want, "or an environment broke its contract")
	for _, c := range commands() {
		has(t, want, fmt.Sprintf("\n  %-8s %s\n", c.name, c.about))
		page := mustRun(t, "help "+c.name)
		equal(t, "qta "+c.name+" -h, which is qta help "+c.name, page, mustRun(t, c.name+" -h"))
	}
	for _, args := range []string{"version", "-version", "--version"} {
		says(t, args, "qta "+qta.Version+", revision ", qta.KernelName()+" kernel\n")
	}
}

// TestExamples runs every example of the help, with little training.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 10 -out runs/4x5-quick-1")
	for _, c := range commands() {
		for line := range strings.SplitSeq(c.example, " && ") {
			line, file, _ := strings.Cut(line, " > ")
			args := strings.TrimPrefix(line, "qta")
			switch {
			case c.name == "train":
				args += " -steps 10 -eval 10 -set LearningStarts=5 -set InitialSteps=9"
			case c.name == "sweep" && !strings.Contains(line, "-figure"):
				continue // its tests are sweep_test.go's
			}
			if out := mustRun(t, args); file != "" {
				roomtest.Write(t, file, out)
			}
		}
	}
}

// TestTrain trains, says at the end which page to open, and is done where it is
// called again.
func TestTrain(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tiny + " -steps 40 -out run"
	out := mustRun(t, args)
	has(t, out,
		"QTA on maze 1U5, as in the set paper except for 8 parameters.\n",
		"\nParameters paper HiddenSize=8 ",
		"    step  success",
		"The budget is used up: after 40 environment steps")
	if !strings.HasSuffix(out, "\nOpen run/report.html\n") {
		t.Errorf("the last line points at nothing:\n%s", out)
	}
	says(t, tiny+" -steps 40 -threads 3 -out three", "kernel, 3 threads; files in three\n")
	says(t, args, "The run in run is done: ", "\nOpen run/report.html\n")
	mustRun(t, tiny+" -steps 60 -out run")
	r := recordOf(t, "run")
	equal(t, "the steps of a continued run", 60, r.Outcome.Steps)
	equal(t, "its state", lab.Finished, r.State)
	equal(t, "its evaluations", 8, len(r.Curve))
}

// near are flags of runs that are soon solved, in a maze that goNear writes.
const near = "-maze near.txt -params small -set HiddenSize=16 -set Batch=32 -set Horizon=5 " +
	"-set InitialSteps=49 -set LearningStarts=49 -eval 50 "

func goNear(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	roomtest.Write(t, "near.txt", "SG\n")
}

// TestHeldOut has an agent that sometimes ends at the goal. The success that the record
// of its run holds is what qta eval finds in the same rollouts. It tells all numbers of
// the evaluation.
func TestHeldOut(t *testing.T) {
	goNear(t)
	mustRun(t, near+"-steps 50 -seed 2 -out run")
	run, err := lab.Open("run")
	must(t, err)
	e, err := run.Agent.Evaluate(run.Run.NewMaze().Env(), 200, 2)
	if err != nil || e.Success == 0 || e.Success == e.Reached {
		t.Fatalf("%+v, error %v", e, err)
	}
	says(t, "eval run -rollouts 200 -seed 2",
		fmt.Sprintf("ended at the goal of maze near in %.4g %% of 200 rollouts (seed 2).", 100*e.Success),
		fmt.Sprintf("Only the last of 5 steps counts; %.4g %% were at the goal at some ", 100*e.Reached),
		fmt.Sprintf("first after %.4g steps on average", e.StepsToGoal),
		fmt.Sprintf("The mean return is %.4g.\n", e.Return))
	o := recordOf(t, "run").Outcome
	equal(t, "the success in the record", e.Success, *o.HeldOut)
	equal(t, "the rollouts in the record", 200, o.HeldOutRollouts)
}

// A run that ends unsolved names its best evaluation, which is not its first or its last.
func TestBest(t *testing.T) {
	goNear(t)
	out := mustRun(t, near+"-seed 5 -steps 250 -out run")
	curve := recordOf(t, "run").Curve
	bySuccess := func(a, b qta.Evaluation) int { return cmp.Compare(a.Success, b.Success) }
	best := slices.MaxFunc(curve, bySuccess)
	if best.Success == 1 || best.Step == 50 || best.Step == 250 {
		t.Fatalf("the curve %v shows nothing", curve)
	}
	const want = "the best evaluation on maze near is that of step %d, with %.4g %% of its rollouts at"
	has(t, out, fmt.Sprintf(want, best.Step, 100*best.Success))
}

// TestSolved holds the steps in the record of a run that was solved to its curve, where 0.4
// and 0.45 come before a half. Past its solution a run ends at its budget.
func TestSolved(t *testing.T) {
	goNear(t)
	says(t, near+"-seed 6 -steps 3000 -out run", " ended at the goal; so did ")
	r := recordOf(t, "run")
	o := r.Outcome
	half := slices.IndexFunc(r.Curve, func(e qta.Evaluation) bool { return e.Success >= 0.5 })
	solved := r.Last().Step
	equal(t, "the state", lab.Solved, r.State)
	equal(t, "the step of the first half", r.Curve[half].Step, o.HalfAt)
	equal(t, "the step of the first 1", solved, o.SolvedAt)
	equal(t, "the steps", solved, o.Steps)
	more := fmt.Sprintf("solved at step %d; %s of 200 more rollouts", solved, o.HeldOutPercent())
	says(t, "status run", more)

	for limits, want := range map[string]string{
		"-steps 4000": "done   0", // whatever the budget

		fmt.Sprint("-steps ", solved-50): "ended otherwise  0", // not solved within this budget
		"-steps 4000 -stop never":        fmt.Sprint("ended otherwise  ", 4000-solved),
	} {
		roomtest.Write(t, "s.txt", near+"-seed 6 -out run "+limits+"\n")
		says(t, "sweep s.txt -out . -dry-run", "0     run        "+want+"\n")
	}

	longer := fmt.Sprintf("%s-seed 6 -out run -steps %d", near, solved+50)
	says(t, longer+" -stop never", " ended at the goal; at the run's end so did ")
	os.Remove(filepath.Join("run", lab.RecordFile)) // made again without -stop never
	mustRun(t, longer)
	r = recordOf(t, "run")
	equal(t, "the state past its solution", lab.Finished, r.State)
	equal(t, "where it stops", lab.StopNever, r.Limits.Stop)
}

// A number that went wrong and a broken environment have an exit code of their own, also below other
// errors. TestFailsAtSameStep of lab has the step at which a run fails, and what it keeps.
func TestNumericFailure(t *testing.T) {
	for _, err := range []error{&qta.NumericError{}, &qta.EnvError{}} {
		code := exitCode(fmt.Errorf("%w; the save from step 1000 is kept", err))
		equal(t, fmt.Sprintf("the exit code of %T", err), exitNumeric, code)
	}
}

// TestMaze draws a maze, and reads a map that begins as some editors begin UTF-8.
func TestMaze(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "run.json/x", "") // such a directory makes no run of the one around it
	mustRun(t, "maze 1U5 -o maze.svg")
	has(t, roomtest.Read(t, "maze.svg"), "Maze 1U5, with start S and goal G")
	roomtest.Write(t, "mark.txt", "\ufeffSG\n")
	mustRun(t, "maze mark.txt")
}

// TestLook evaluates and exports a run, which stays as it is. Where the networks cannot be written,
// the former file stays.
func TestLook(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 30 -out run")
	before := roomtest.Read(t, "run", lab.AgentFile)
	a, err := qta.LoadFile("run/agent.qta")
	must(t, err)
	var networks strings.Builder
	must(t, a.WriteSafetensors(&networks))

	mustRun(t, "eval run -rollouts 7") // TestHeldOut has what it says
	says(t, "export run -o n.safetensors",
		"Wrote the networks of run, after 30 environment steps, to n.safetensors.\n")
	equal(t, "the exported networks", networks.String(), roomtest.Read(t, "n.safetensors"))
	roomtest.Write(t, "n.safetensors.tmp/x", "") // so that it cannot be written
	ends(t, exitInput, "export run -o n.safetensors")
	equal(t, "the former export", networks.String(), roomtest.Read(t, "n.safetensors"))
	equal(t, "the run", before, roomtest.Read(t, "run", lab.AgentFile))
}

// A run in an environment that no map describes is shown and exported, but not evaluated. An
// export of a damaged run warns.
func TestOwnEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	quiet := func(string) {}
	own := lab.Options{
		Dir:       "own",
		Params:    qta.Small(),
		Steps:     20,
		EvalEvery: 20,
		Rollouts:  1,
		Say:       quiet,
		Warn:      quiet,
	}
	m := roomtest.Maze(t, "1U5")
	must(t, lab.Train(t.Context(), m.Env(), m.Env(), own))
	says(t, "status own", "\n1 done\n")
	says(t, "export own", "Wrote the networks of own, after 20 ")
	ends(t, exitInput, "eval own", "acts in environment")
	roomtest.Write(t, "own/agent.qta", "damaged")
	ends(t, exitDone, "export own", "using the one before it, from step ")
}

// TestParams looks for every parameter and its value in paper, in lines that a terminal holds.
// TestShown has the page of one.
func TestParams(t *testing.T) {
	out := mustRun(t, "params")
	has(t, out, "values in the set paper;")
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[qta.Params]()) {
		if field.Anonymous {
			continue
		}
		value := qta.Paper().Value(field.Name)
		row := `(?m)^` + field.Name + ` +` + regexp.QuoteMeta(value) + `( \*)? +.`
		found := regexp.MustCompile(row).FindStringSubmatch(out)
		if found == nil {
			t.Errorf("%s has no row in parameters.txt: run go generate ./...", field.Name)
			continue
		}
		differs := func(p qta.Preset) bool { return p.Params.Value(field.Name) != value }
		want := slices.ContainsFunc(qta.Presets(), differs)
		equal(t, field.Name+" is marked as different in some set", want, found[1] != "")
	}
}

// A full is an output that takes some bytes and then no more.
type full struct {
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return max(0, len(p)+f.room), f.err
	}
	return len(p), nil
}

// fill runs a command whose output takes some bytes and then fails.
func fill(t *testing.T, line string, room int, cause error) result {
	t.Helper()
	var stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(line), &full{room, cause}, &stderr)
	return result{code: code, errors: stderr.String()}
}

// Every command notices that its output is full; one whose reader has left says
// nothing, and a run stops and saves itself.
func TestFullOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 20 -out run")
	for _, command := range []string{
		"help", "version", "params", "maze 4x5", "eval run", "export run", "check 1", "status run",
	} {
		for cause, want := range map[error]string{
			syscall.ENOSPC: "qta: standard output cannot be written: no space left on device\n",
			syscall.EPIPE:  "",
		} {
			r := fill(t, command, 10, cause)
			equal(t, "the exit code of qta "+command, exitFailure, r.code)
			equal(t, "the error of qta "+command, want, r.errors)
		}
	}
	r := fill(t, tiny+" -steps 100000 -out long", 600, syscall.ENOSPC)
	equal(t, "the exit code of a run", exitFailure, r.code)
	equal(t, "the state of a run", lab.Stopped, recordOf(t, "long").State)
	has(t, r.errors, "all that was running is saved")
}

// TestModules builds the command, and whatever else a newcomer runs, of this module alone.
func TestModules(t *testing.T) {
	const module = "{{with .Module}}{{.Path}}{{end}}"
	list := exec.Command("go", "list", "-deps", "-f", module, ".", "qta/plain", "qta/examples/...")
	out, err := list.Output()
	must(t, err)
	equal(t, "the modules", []string{"qta"}, slices.Compact(strings.Fields(string(out))))
}
