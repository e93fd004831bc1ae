package lab

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
)

const changed = "the code has changed"

// A run of other code is neither continued nor said to be done, and everything else can
// still be done with it. One without a code, or of a kernel that rounds differently, is
// taken as it is.
func TestCode(t *testing.T) {
	run := ended(t)
	code := Code(tiny())
	for _, there := range []string{code[:len(code)-1], "", "other 12"} {
		dir := copyRun(t, run)
		attach(t, dir, func(s *state) { s.Code = there })
		o := tinyRun(dir)
		for _, o.Steps = range []int{200, 220} { // done, and to go on
			if there != "" && there != "other 12" {
				refused(t, o, changed, "name another directory")
				continue
			}
			train(t, o)
			equal(t, "the record's code", there, record(t, dir).Run.Code)
		}
	}
}

// Named sets of parameters have codes of their own, but where they differ in size alone.
func TestCodesOfSets(t *testing.T) {
	sets := map[string]string{}
	for _, p := range qta.Presets() {
		sets[Code(p.Params)] += p.Name + " "
	}
	equal(t, "the sets with the code of paper", "paper quick small ", sets[Code(qta.Paper())])
	equal(t, "the number of codes", len(qta.Presets())-2, len(sets))
	equal(t, "the sets without a code", "", sets[""])
}

// TestChangedCode changes the module and gives a command again: with a comment and a new
// name all is as it was, with squares in Equation 6 the run is neither done nor continued.
func TestChangedCode(t *testing.T) {
	roomtest.Long(t)
	dir := t.TempDir()
	first := program(t, "", "")
	const loop = "for _, weight := range p {\n\t\tsum += weight"
	same := program(t, loop, "for _, w := range p { // renamed\n\t\tsum += w")
	other := program(t, "max(float64(m*p[k])+b, 0)", "ε[k] * ε[k]")
	const line = "-maze 1U5 -params small -set HiddenSize=8 -eval 50 -steps %d -out %s"
	roomtest.Write(t, filepath.Join(dir, "sweep.txt"), fmt.Sprintf(line, 100, "a"))
	done := fmt.Sprintf(line, 100, "runs/a")
	further := fmt.Sprintf(line, 150, "runs/a")
	answers(t, dir, first, done, 0, "budget is used up")
	for _, p := range []string{first, same} {
		answers(t, dir, p, done, 0, "is done")
		answers(t, dir, p, "sweep sweep.txt", 0, "was done already")
		answers(t, dir, p, "sweep sweep.txt -dry-run", 0, "done")
	}
	answers(t, dir, other, done, 2, changed)
	answers(t, dir, other, further, 2, changed)
	answers(t, dir, other, "sweep sweep.txt", 1, changed)
	answers(t, dir, other, "sweep sweep.txt -dry-run", 0, "another run")
	answers(t, dir, other, "status runs", 0, "1 done")
	answers(t, dir, other, "report runs", 0, "1 run in runs")
	answers(t, dir, other, "eval runs/a -rollouts 1", 0, "trained for 100 environment steps")
	answers(t, dir, same, further, 0, "Continues after 100")
}

// answers runs a program in a directory, and holds its exit code and a part of what it says.
func answers(t *testing.T, dir, program, command string, code int, want string) {
	t.Helper()
	c := exec.Command(program, strings.Fields(command)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
		t.Errorf("qta %s: %v, %s; want code %d and %q", command, err, out, code, want)
	}
}

// program builds the command, with another text in goals.go.
func program(t *testing.T, old, new string) string {
	t.Helper()
	const file = "../goals.go"
	text := roomtest.Read(t, file)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "goals.go")
	overlay := filepath.Join(dir, "overlay.json")
	roomtest.Write(t, changed, strings.Replace(text, old, new, 1))
	path, err := filepath.Abs(file)
	must(t, err)
	roomtest.Write(t, overlay, fmt.Sprintf(`{"Replace": {%q: %q}}`, path, changed))
	name := filepath.Join(dir, "qta.exe")
	build := exec.Command("go", "build", "-o", name, "-overlay", overlay, "../cmd/qta")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}
