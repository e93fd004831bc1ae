package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestBadInput gives one line that begins with "qta: " and names what is wrong,
// exit code 2, and leaves nothing behind.
func TestBadInput(t *testing.T) {
	tests := []struct {
		args string // split at spaces
		want string // part of the line
	}{
		{"fly", `unknown command "fly"; the commands are train, params, maze, eval, sweep, status, report, export, check, version, help`},
		{"-fly", "-fly; \"qta help train\" lists the flags"},
		{"help me", `unknown command "me"`},
		{"params batch", `unknown parameter "batch"; it is called Batch`},
		{"params d", "the paper's d is the parameter UncertaintyActions: see qta params UncertaintyActions"},
		{"train 4x5", `unexpected argument "4x5"; want qta [-maze NAME|FILE] [flags]`},
		{"eval many/one/agent.qta", "many/one/agent.qta is a file: name a run's directory, such as many/one"},
		{"maze utf16.txt", "map file utf16.txt: it is UTF-16, as PowerShell's > writes: save it as UTF-8"},
		{"params Btach", `unknown parameter "Btach"; "qta params" lists them`},
		{"-seed 0x10", "-seed: want a whole number from 0"},
		{"-steps 1e6", "-steps: want a whole number from 1 to 100000000"},
		{"-steps 500", "with evaluations every 1000 steps and a budget of 500 the run would have no evaluation"},
		{"-stop later", `-stop "later": want solved or never`},
		{"-maze 4X5", `maze "4X5": mazes are "HxW", such as "4x5"`},
		{"-maze nowhere.txt", "map file nowhere.txt: no such file"},
		{"-maze ./maps", "map file ./maps"},
		{"-maze maps/letter.map", "map file maps/letter.map"},
		{"-params huge", `-params "huge": want paper, quick, small, literal, beyond, authors, mega, vds or a file that ends in .json`},
		{"-set Batch", `-set "Batch": want name=value`},
		{"-set Batch=many", "-set Batch=many: parameter Batch: `many` is not a whole number"},
		{"-out nogoal.txt", "nogoal.txt"},
		{"-out maps", "directory maps holds letter.map but no agent.qta"},
		{"maze", "an argument is missing; want qta maze NAME|FILE"},
		{"maze 4x5 -o 4x5.png", "-o 4x5.png: want a file whose name ends in .svg"},
		{"eval nowhere", "nowhere is not a run's directory: it holds no agent.qta"},
		{"eval damaged", "agent.qta is damaged"},
		{"check five", `qta check "five"`},
		{"sweep", "qta: sweep needs either a sweep file or -figure"},
		{"sweep none.txt", "qta: sweep file none.txt: "},
		{"sweep bad.txt", "qta: sweep file bad.txt, line 2: "},
		{"sweep s.txt -index 2", "-index 2: s.txt has 2 cells, 0 to 1"},
		{"sweep s.txt -jobs 0", `invalid value "0" for flag -jobs`},
		{"sweep s.txt -seeds 2", "-seeds goes with -figure; a sweep file has flags on its lines"},
		{"sweep -figure 2 -jobs 2", "-jobs goes with a sweep file, not with -figure"},
		{"sweep -figure 7", `-figure "7": want 2, 3, 4, 5 or 6`},
		{"sweep -figure 2 -mazes 4x5,9", "-mazes: "},
		{"sweep -figure 2 -params tiny", `-params "tiny": want `},
		{"sweep -figure 2 -params mega", "-params mega: its Curriculum is mega"},
		{"sweep -figure 2 -steps 500", "qta sweep would refuse this file: line 2: "},
		{"sweep -figure 2 s.txt", "sweep needs either a sweep file or -figure"},
		{"status none", "none cannot be read: "},
		{"report s.txt", "there is no run in s.txt"},
		{"report empty", "there is no run in empty"},
		{"check -vectors nowhere", "-vectors nowhere: no such file"},
	}
	t.Chdir(t.TempDir())
	roomtest.Write(t, "utf16.txt", "\xff\xfeS\x00G\x00")
	roomtest.Write(t, "nogoal.txt", "#####\n#S..#\n#####\n")
	roomtest.Write(t, "maps/letter.map", "#####\n#SxG#\n#####\n")
	roomtest.Write(t, "damaged/agent.qta", "what is this?")
	roomtest.Write(t, "many/one/agent.qta", "what is this?")
	roomtest.Write(t, "s.txt", "-maze 1U5 -seed 1\n-maze 1U5 -seed 2\n")
	roomtest.Write(t, "bad.txt", "-maze 1U5\n-maze 2\n")
	roomtest.Write(t, "empty/x", "")
	tree := func() string { return fmt.Sprint(filepath.Glob("*")) + fmt.Sprint(filepath.Glob("*/*")) }
	before := tree()
	for _, test := range tests {
		got := invoke(t, test.args)
		if got.code != exitInput || got.out != "" {
			t.Errorf("qta %s: exit code %d, stdout %q, want %d and nothing", test.args, got.code, got.out, exitInput)
		}
		line := strings.TrimPrefix(strings.TrimSuffix(got.errors, "\n"), "qta: ")
		if "qta: "+line+"\n" != got.errors || strings.Contains(line, "\n") || strings.Contains(line, "qta: ") {
			t.Errorf("qta %s: stderr %q is not one line that begins with qta:", test.args, got.errors)
		}
		if !strings.Contains(got.errors, test.want) {
			t.Errorf("qta %s: stderr %q lacks %q", test.args, got.errors, test.want)
		}
		if after := tree(); after != before {
			t.Fatalf("qta %s changed the directory from %s to %s", test.args, before, after)
		}
	}
}

func TestHelp(t *testing.T) {
	want := mustRun(t, "help")
	for _, args := range []string{"-h", "--help", "-help"} {
		if got := mustRun(t, args); got != want {
			t.Errorf("qta %s differs from qta help", args)
		}
	}
	for _, code := range []int{exitDone, exitFailure, exitInput, exitNumeric, exitUnfinished} {
		if !strings.Contains(want, fmt.Sprintf("\n  %-3d ", code)) {
			t.Errorf("no line on exit code %d", code)
		}
	}
	for _, c := range commands() {
		if !strings.Contains(want, fmt.Sprintf("\n  %-8s %s\n", c.name, c.about)) {
			t.Errorf("no line on %s", c.name)
		}
		page := mustRun(t, "help "+c.name)
		if mustRun(t, c.name+" -h") != page {
			t.Errorf("qta %s -h differs from qta help %[1]s", c.name)
		}
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
	has(t, out, "QTA on maze 1U5, as in the paper except for HiddenSize 8 (not 256), ",
		"\nParameters paper HiddenSize=8 ", "    step  success", "The budget is used up: after 40 environment steps")
	if !strings.HasSuffix(out, "\nOpen run/report.html\n") {
		t.Errorf("the last line points at nothing:\n%s", out)
	}
	has(t, mustRun(t, args), "The run in run is done: ", "\nOpen run/report.html\n")
	mustRun(t, tiny+" -steps 60 -out run")
	if r := recordOf(t, "run"); r.Outcome.Steps != 60 || r.State != lab.Finished || len(r.Curve) != 8 {
		t.Errorf("continued: %+v", r)
	}
}

// TestSolved records the half-way step of a run that was solved, and what its
// agent reaches in 200 rollouts that were no part of the run.
func TestSolved(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "near.txt", "SG\n")
	const near = "-maze near.txt -params small -set HiddenSize=16 -set Batch=32 -set Horizon=5 -set InitialSteps=49 " +
		"-set LearningStarts=49 -eval 50 "
	ended := func(dir, flags string) (*lab.Record, *qta.Agent) {
		mustRun(t, near+flags+" -out "+dir)
		r := recordOf(t, dir)
		a, err := qta.LoadFile(filepath.Join(dir, lab.AgentFile))
		if err != nil {
			t.Fatal(err)
		}
		e, err := a.Evaluate(r.Run.NewMaze().Env(), 200, r.Run.Seed)
		if o := r.Outcome; err != nil || o.HeldOutRollouts != 200 || *o.HeldOut != e.Success {
			t.Errorf("%s %s: held-out %+v, want %v of 200; error %v", dir, flags, o, e.Success, err)
		}
		has(t, mustRun(t, fmt.Sprintf("eval %s -rollouts 200 -seed %d", dir, r.Run.Seed)),
			fmt.Sprintf("in %.4g %% of 200 rollouts (seed %d)", 100*e.Success, r.Run.Seed),
			fmt.Sprintf("; %.4g %% were at the goal at some time, first after %.4g steps on average. ", 100*e.Reached, e.StepsToGoal),
			fmt.Sprintf("The mean return is %.4g.\n", e.Return))
		return r, a
	}
	ended("early", "-steps 50 -seed 2")
	r, a := ended("run", "-steps 3000")
	log, o := a.Evaluations(), r.Outcome
	half := log[slices.IndexFunc(log, func(e qta.Evaluation) bool { return e.Success >= 0.5 })].Step
	if r.State != lab.Solved || o.HalfAt != half || o.SolvedAt != a.SolvedAt() || o.FoundAt != a.FoundAt() {
		t.Errorf("%s, %+v, want half at %d, solved at %d, found at %d", r.State, o, half, a.SolvedAt(), a.FoundAt())
	}
	roomtest.Write(t, "s.txt", near+"-steps 4000 -out run\n")
	if list := mustRun(t, "sweep s.txt -out . -dry-run"); !strings.HasSuffix(list, " 0\n") {
		t.Errorf("a larger budget for what is solved:\n%s", list)
	}
	// Past its solution it has ended at its budget, whatever the next call says.
	more := fmt.Sprintf("-steps %d", o.SolvedAt+50)
	ended("run", more+" -stop never")
	if r, _ = ended("run", more); r.State != lab.Finished || r.Limits.Stop != lab.StopNever {
		t.Errorf("past its solution: %+v", r)
	}
}

// TestNumericFailure lets a learning rate at the end of its range ruin a run: its
// end names the step and the network, and the last good checkpoint is kept.
func TestNumericFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	got := invoke(t, tiny+" -set HiddenSize=64 -set HiddenLayers=16 -set LearningStarts=35 -set CriticRate=1 "+
		"-steps 2000 -checkpoint 10 -out run")
	r, err := lab.Open("run")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^qta: step \d+: (?:policy|critics|predictive heads): NaN is not finite`).MatchString(got.errors)
	kept := fmt.Sprintf("; the save from step %d is kept in run\n", r.Agent.Steps())
	record := recordOf(t, "run")
	if got.code != exitNumeric || !named || !strings.HasSuffix(got.errors, kept) || r.Agent.Steps() < 30 ||
		record.State != lab.Failed || !strings.Contains(got.errors, record.Outcome.Message) || !record.Ended() {
		t.Errorf("%+v, record %+v, want %q", got, record, kept)
	}
	if code := exitCode(&qta.EnvError{}); code != exitNumeric { // which no maze is
		t.Errorf("a broken environment: exit code %d", code)
	}
}

// TestLook draws a maze, and evaluates and exports a run, which stays as it is.
func TestLook(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tiny+" -steps 30 -out run")
	before := roomtest.Read(t, "run", lab.AgentFile)
	a, err := qta.LoadFile("run/agent.qta")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "eval run -rollouts 7") // TestSolved has what it says
	mustRun(t, "maze 1U5 -o maze.svg")
	if got := roomtest.Read(t, "maze.svg"); !strings.Contains(got, "Maze 1U5, with start S and goal G") {
		t.Errorf("the drawing of a maze: %s", got)
	}
	roomtest.Write(t, "mark.txt", "\ufeffSG\n") // as some editors begin UTF-8
	mustRun(t, "maze mark.txt")
	has(t, mustRun(t, "export run -o n.safetensors"),
		"Wrote the networks of run, after 30 environment steps, to n.safetensors.\n")
	var networks strings.Builder
	if err := a.WriteSafetensors(&networks); err != nil || networks.String() != roomtest.Read(t, "n.safetensors") {
		t.Errorf("the exported networks are others than the agent's, or error %v", err)
	}
	for _, command := range []string{"export run -o run/agent.qta", "export run -o mark.txt", "maze 1U5 -o run/agent.qta",
		"maze 1U5 -o run/figure5.svg", "maze 1U5 -o mark", "report run -o mark.txt", "report run -o .", "report run -o no/n.csv"} {
		if got := invoke(t, command); got.code != exitInput {
			t.Errorf("%s, over a file of another kind or a run's: exit code %d", command, got.code)
		}
	}
	roomtest.Write(t, "n.safetensors.tmp/x", "") // so that it cannot be written, and the former one stays
	if got := invoke(t, "export run -o n.safetensors"); got.code == exitDone || networks.String() != roomtest.Read(t, "n.safetensors") {
		t.Errorf("where it cannot be written: %+v", got)
	}
	quiet := func(string) {}
	own := lab.Options{Dir: "own", Params: qta.Small(), Steps: 20, EvalEvery: 20, Rollouts: 1, Say: quiet, Warn: quiet}
	m := roomtest.Maze(t, "1U5")
	if err := lab.Train(t.Context(), m.Env(), m.Env(), own); err != nil { // an environment that no map describes
		t.Fatal(err)
	}
	has(t, mustRun(t, "status own")+mustRun(t, "export own"), "\n1 done\n", "Wrote the networks of own, after 20 ")
	if got := invoke(t, "eval own"); got.code != exitInput || !strings.Contains(got.errors, "acts in environment") {
		t.Errorf("an environment that is no maze: %+v", got)
	}
	roomtest.Write(t, "own/agent.qta", "damaged")
	has(t, invoke(t, "export own").errors, "using the one before it, from step ")
	if roomtest.Read(t, "run", lab.AgentFile) != before {
		t.Error("the run has changed")
	}
}

// TestParams looks for every parameter and its values, in lines that a terminal
// holds.
func TestParams(t *testing.T) {
	out := mustRun(t, "params")
	if !strings.Contains(out, "values in the set paper;") {
		t.Error("the set is not named")
	}
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
		if differ != (row[1] != "") {
			t.Errorf("%s: marked as different in some set: %v", field.Name, !differ)
		}
		one := strings.Join(strings.Fields(mustRun(t, "params "+field.Name)), " ")
		has(t, one, field.Name+": "+row[2], "allowed "+field.Tag.Get("range"), "source "+field.Tag.Get("source"),
			"authors "+qta.Authors().Value(field.Name), "small "+qta.Small().Value(field.Name))
	}
}

func TestMaze(t *testing.T) {
	t.Chdir(t.TempDir())
	const want = `#######
#.....#
#.#.#.#
#.###.#
#.S#G.#
#######

4x5: 4 by 5 cells within the outer wall, 14 of them free, path length 9
`
	got := mustRun(t, "maze 4x5")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("qta maze 4x5 (-want +got):\n%s", diff)
	}
	drawn, _, _ := strings.Cut(got, "\n\n")
	roomtest.Write(t, "copy.txt", drawn)
	if diff := cmp.Diff(strings.Replace(want, "4x5:", "copy:", 1), mustRun(t, "maze copy.txt")); diff != "" {
		t.Errorf("qta maze copy.txt (-want +got):\n%s", diff)
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
			if code != exitFailure || stderr.String() != want {
				t.Errorf("qta %s: exit code %d, stderr %q, want %d and %q", args, code, stderr.String(), exitFailure, want)
			}
		}
	}
	var stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(tiny+" -steps 100000 -out long"), &full{600, syscall.ENOSPC}, &stderr)
	if r := recordOf(t, "long"); code != exitFailure || r.State != lab.Stopped {
		t.Errorf("a run: exit code %d, state %s", code, r.State)
	}
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
