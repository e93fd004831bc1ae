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
func TestRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "utf16.txt", "\xff\xfeS\x00G\x00")
	roomtest.Write(t, "nogoal.txt", "#####\n#S..#\n#####\n")
	roomtest.Write(t, "maps/letter.map", "#####\n#SxG#\n#####\n")
	roomtest.Write(t, "damaged/agent.qta", "what is this?")
	roomtest.Write(t, "many/one/agent.qta", "what is this?")
	roomtest.Write(t, "many/one/run.json", "{}")
	roomtest.Write(t, "folder/x.json", vectors(""))
	roomtest.Write(t, "s.txt", "-maze 1U5 -seed 1\n-maze 1U5 -seed 2\n")
	roomtest.Write(t, "bad.txt", "-maze 1U5\n-maze 2\n")
	roomtest.Write(t, "empty/x", "")
	tree := func() string { return fmt.Sprint(filepath.Glob("*")) + fmt.Sprint(filepath.Glob("*/*")) }
	before := tree()
	text := transcript(t, "refusals.txt", exitInput)
	equal(t, "the directory", before, tree())
	one := regexp.MustCompile(`^qta: [^\n]*\n$`)
	for shown := range strings.SplitSeq(text, "$ ") {
		command, line, _ := strings.Cut(strings.TrimSuffix(shown, "\n"), "\n")
		if command != "" && (!one.MatchString(line) || strings.Count(line, "qta: ") > 1) {
			t.Errorf("%s: %q is not one line that begins with qta:", command, line)
		}
	}
}

// TestShown holds what commands show to testdata/shown.txt. Reports have the form of their names.
func TestShown(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "s.txt", tiny+" -steps 50 -seed 1-2\n")
	roomtest.Write(t, "copy.txt", "S..G\n")
	roomtest.Write(t, "bad/run.json", "{}")
	roomtest.Write(t, "folder/x.json", vectors(""))
	transcript(t, "shown.txt", exitDone)
	has(t, roomtest.Read(t, "runs/page.html"), "<!DOCTYPE html>")
	has(t, roomtest.Read(t, "report.csv"), "directory,setting,maze,")
}

// After -- no argument is a flag.
func TestEndOfFlags(t *testing.T) {
	args, err := parseFlags(newFlagSet("status"), strings.Fields("runs -- -a -b"))
	must(t, err)
	equal(t, "the arguments", strings.Fields("runs -a -b"), args)
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
		got := mustRun(t, args)
		if !strings.HasPrefix(got, "qta "+qta.Version+", revision ") || !strings.HasSuffix(got, qta.KernelName()+" kernel\n") {
			t.Errorf("qta %s: %q", args, got)
		}
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
	has(t, out, "QTA on maze 1U5, as in the set paper except for 8 parameters.\nParameters paper HiddenSize=8 ", "    step  success", "The budget is used up: after 40 environment steps")
	if !strings.HasSuffix(out, "\nOpen run/report.html\n") {
		t.Errorf("the last line points at nothing:\n%s", out)
	}
	has(t, mustRun(t, tiny+" -steps 40 -threads 3 -out three"), "kernel, 3 threads; files in three\n")
	has(t, mustRun(t, args), "The run in run is done: ", "\nOpen run/report.html\n")
	mustRun(t, tiny+" -steps 60 -out run")
	r := recordOf(t, "run")
	equal(t, "the steps of a continued run", 60, r.Outcome.Steps)
	equal(t, "its state", lab.Finished, r.State)
	equal(t, "its evaluations", 8, len(r.Curve))
}

// near are flags of runs that are soon solved.
const near = "-maze near.txt -params small -set HiddenSize=16 -set Batch=32 -set Horizon=5 -set InitialSteps=49 " +
	"-set LearningStarts=49 -eval 50 "

// TestHeldOut has an agent that sometimes ends at the goal. The success that the record
// of its run holds is what qta eval finds in the same rollouts. It tells all numbers of
// the evaluation.
func TestHeldOut(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "near.txt", "SG\n")
	mustRun(t, near+"-steps 50 -seed 2 -out run")
	run, err := lab.Open("run")
	must(t, err)
	e, err := run.Agent.Evaluate(run.Run.NewMaze().Env(), 200, 2)
	if err != nil || e.Success == 0 || e.Success == e.Reached {
		t.Fatalf("%+v, error %v", e, err)
	}
	has(t, mustRun(t, "eval run -rollouts 200 -seed 2"),
		fmt.Sprintf("ended at the goal of maze near in %.4g %% of 200 rollouts (seed 2).\n", 100*e.Success),
		fmt.Sprintf("Only the last of 5 steps counts; %.4g %% were at the goal at some time, ", 100*e.Reached),
		fmt.Sprintf("first after %.4g steps on average. The mean return is %.4g.\n", e.StepsToGoal, e.Return))
	if o := recordOf(t, "run").Outcome; *o.HeldOut != e.Success || o.HeldOutRollouts != 200 {
		t.Errorf("the record has a success of %v in %d rollouts, qta eval %v", *o.HeldOut, o.HeldOutRollouts, e.Success)
	}
}

// A run that ends unsolved names its best evaluation, which is not its first or its last.
func TestBest(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "near.txt", "SG\n")
	out := mustRun(t, near+"-seed 5 -steps 250 -out run")
	curve := recordOf(t, "run").Curve
	best := slices.MaxFunc(curve, func(a, b qta.Evaluation) int { return cmp.Compare(a.Success, b.Success) })
	if best.Success == 1 || best.Step == curve[0].Step || best.Step == 250 {
		t.Fatalf("the curve %v shows nothing", curve)
	}
	has(t, out, fmt.Sprintf("the best evaluation on maze near is that of step %d, with %.4g %% of its rollouts at the goal.",
		best.Step, 100*best.Success))
}

// TestSolved holds the steps in the record of a run that was solved to its curve, where 0.4
// and 0.45 come before a half. Past its solution a run ends at its budget.
func TestSolved(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "near.txt", "SG\n")
	has(t, mustRun(t, near+"-seed 6 -steps 3000 -out run"), " ended at the goal; so did ")
	r := recordOf(t, "run")
	o := r.Outcome
	half := slices.IndexFunc(r.Curve, func(e qta.Evaluation) bool { return e.Success >= 0.5 })
	solved := r.Curve[len(r.Curve)-1].Step
	equal(t, "the state", lab.Solved, r.State)
	equal(t, "the step of the first half", r.Curve[half].Step, o.HalfAt)
	equal(t, "the step of the first 1", solved, o.SolvedAt)
	equal(t, "the steps", solved, o.Steps)
	detail := fmt.Sprintf("solved at step %d; %s of 200 more rollouts", solved, o.HeldOutPercent())
	has(t, mustRun(t, "status run"), detail)
	roomtest.Write(t, "s.txt", near+"-seed 6 -steps 4000 -out run\n")
	has(t, mustRun(t, "sweep s.txt -out . -dry-run"), "0     run        done   0\n") // whatever the budget
	for limits, left := range map[string]int{
		fmt.Sprintf("-steps %d", solved-50): 0, // solved, but not within this budget
		"-steps 4000 -stop never":           4000 - solved,
	} {
		roomtest.Write(t, "s.txt", near+"-seed 6 -out run "+limits+"\n")
		has(t, mustRun(t, "sweep s.txt -out . -dry-run"), fmt.Sprintf("0     run        ended otherwise  %d\n", left))
	}
	more := fmt.Sprintf("-seed 6 -steps %d -out run", solved+50)
	has(t, mustRun(t, near+more+" -stop never"), " ended at the goal; at the run's end so did ")
	os.Remove(filepath.Join("run", lab.RecordFile)) // made again without -stop never
	mustRun(t, near+more)
	r = recordOf(t, "run")
	equal(t, "the state past its solution", lab.Finished, r.State)
	equal(t, "where it stops", lab.StopNever, r.Limits.Stop)
}

// TestNumericFailure lets a learning rate at the end of its range ruin a run: its
// end names the step and the network, and the last good checkpoint is kept.
func TestNumericFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	got := invoke(t, tiny+" -set HiddenSize=64 -set HiddenLayers=16 -set LearningStarts=35 -set CriticRate=1 "+
		"-steps 2000 -checkpoint 10 -out run")
	r, err := lab.Open("run")
	must(t, err)
	record := recordOf(t, "run")
	message := record.Outcome.Message
	equal(t, "the exit code", exitNumeric, got.code)
	equal(t, "the state", lab.Failed, record.State)
	kept := fmt.Sprintf("; the save from step %d is kept in run\n", r.Agent.Steps())
	equal(t, "what it says", "qta: "+message+kept, got.errors)
	named := regexp.MustCompile(`^step \d+: (?:policy|critics|predictive heads): NaN is not finite`)
	if !named.MatchString(message) || r.Agent.Steps() < 30 {
		t.Errorf("a run that is saved after %d steps says %q", r.Agent.Steps(), message)
	}
	if code := exitCode(&qta.EnvError{}); code != exitNumeric { // which no maze is
		t.Errorf("a broken environment: exit code %d", code)
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

// TestLook evaluates and exports a run, which stays as it is. No command writes over a file of
// another kind. Where the networks cannot be written, the former file stays.
func TestLook(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 30 -out run")
	before := roomtest.Read(t, "run", lab.AgentFile)
	a, err := qta.LoadFile("run/agent.qta")
	must(t, err)
	var networks strings.Builder
	must(t, a.WriteSafetensors(&networks))

	mustRun(t, "eval run -rollouts 7") // TestHeldOut has what it says
	has(t, mustRun(t, "export run -o n.safetensors"),
		"Wrote the networks of run, after 30 environment steps, to n.safetensors.\n")
	equal(t, "the exported networks", networks.String(), roomtest.Read(t, "n.safetensors"))
	for _, command := range []string{"export run -o map.txt", "report run -o map.txt"} {
		equal(t, "the exit code of "+command, exitInput, invoke(t, command).code)
	}
	roomtest.Write(t, "n.safetensors.tmp/x", "") // so that it cannot be written
	equal(t, "the exit code of an export", exitInput, invoke(t, "export run -o n.safetensors").code)
	equal(t, "the former export", networks.String(), roomtest.Read(t, "n.safetensors"))
	equal(t, "the run", before, roomtest.Read(t, "run", lab.AgentFile))
}

// A run in an environment that no map describes is shown and exported, but not evaluated. An
// export of a damaged run warns.
func TestOwnEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	quiet := func(string) {}
	own := lab.Options{Dir: "own", Params: qta.Small(), Steps: 20, EvalEvery: 20, Rollouts: 1, Say: quiet, Warn: quiet}
	m := roomtest.Maze(t, "1U5")
	must(t, lab.Train(t.Context(), m.Env(), m.Env(), own))
	has(t, mustRun(t, "status own"), "\n1 done\n")
	has(t, mustRun(t, "export own"), "Wrote the networks of own, after 20 ")
	got := invoke(t, "eval own")
	equal(t, "the exit code of an evaluation", exitInput, got.code)
	has(t, got.errors, "acts in environment")
	roomtest.Write(t, "own/agent.qta", "damaged")
	has(t, invoke(t, "export own").errors, "using the one before it, from step ")
}

// TestParams looks for every parameter and its values, in lines that a terminal
// holds.
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
		pattern := `(?m)^` + field.Name + ` +` + regexp.QuoteMeta(value) + `( \*)? +(.*)$`
		row := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if row == nil {
			t.Errorf("%s has no row in parameters.txt: run go generate ./...", field.Name)
			continue
		}
		differ := slices.ContainsFunc(qta.Presets(), func(p qta.Preset) bool { return p.Params.Value(field.Name) != value })
		equal(t, field.Name+" is marked as different in some set", differ, row[1] != "")
		one := strings.Join(strings.Fields(mustRun(t, "params "+field.Name)), " ")
		has(t, one, field.Name+": "+row[2], "allowed "+field.Tag.Get("range"), "source "+field.Tag.Get("source"),
			"authors "+qta.Authors().Value(field.Name), "small "+qta.Small().Value(field.Name))
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

// Every command notices that its output is full; one whose reader has left says
// nothing, and a run stops and saves itself.
func TestFullOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 20 -out run")
	for _, args := range []string{"help", "version", "params", "maze 4x5", "eval run -rollouts 3", "export run", "check 1",
		"status run"} {
		for _, cause := range []error{syscall.ENOSPC, syscall.EPIPE} {
			var stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(args), &full{10, cause}, &stderr)
			want := "qta: standard output cannot be written: " + cause.Error() + "\n"
			if cause == syscall.EPIPE {
				want = ""
			}
			equal(t, "the exit code of qta "+args, exitFailure, code)
			equal(t, "the error of qta "+args, want, stderr.String())
		}
	}
	var stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(tiny+" -steps 100000 -out long"), &full{600, syscall.ENOSPC}, &stderr)
	equal(t, "the exit code of a run", exitFailure, code)
	equal(t, "the state of a run", lab.Stopped, recordOf(t, "long").State)
	has(t, stderr.String(), "all that was running is saved")
}

// TestModules builds the command, and whatever else a newcomer runs, of this module alone.
func TestModules(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".", "qta/plain", "qta/examples/...")
	out, err := list.Output()
	if paths := slices.Compact(strings.Fields(string(out))); err != nil || !slices.Equal(paths, []string{"qta"}) {
		t.Errorf("%v: modules %q", err, paths)
	}
}
