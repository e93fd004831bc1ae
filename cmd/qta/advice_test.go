package main

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// TestAdvice holds errors that a person meets to their whole line, which says
// what to do, and to their exit code.
func TestAdvice(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "20", "-out", "damaged")...)
	mustRun(t, tinyRun("-steps", "30", "-out", "damaged")...)
	whole := roomtest.Read(t, "damaged", rundir.AgentFile)
	for _, name := range []string{rundir.AgentFile, rundir.AgentFile + qta.Previous} {
		roomtest.Write(t, filepath.Join("damaged", name), "no agent")
	}
	mustRun(t, tinyRun("-steps", "20", "-out", "single")...)
	roomtest.Write(t, "single/"+rundir.AgentFile, "no agent")
	mustRun(t, tinyRun("-steps", "20", "-out", "newer")...)
	record := roomtest.Read(t, "newer", rundir.RecordFile)
	roomtest.Write(t, "newer/"+rundir.RecordFile, strings.Replace(record, `"format": 1`, `"format": 2, "more": {}`, 1))
	mustRun(t, tinyRun("-steps", "20", "-out", "later")...)
	at := strings.Index(whole, "\x00") + 1 // of the checkpoint's format
	later := whole[:at] + "\x63" + whole[at+1:len(whole)-sha256.Size]
	sum := sha256.Sum256([]byte(later))
	roomtest.Write(t, "later/"+rundir.AgentFile, later+string(sum[:]))
	mustRun(t, tinyRun("-steps", "20", "-out", "broken")...)
	roomtest.Write(t, "broken/"+rundir.RecordFile, strings.Replace(record, `"state": "finished",`, `"state": "finished"`, 1))
	roomtest.Write(t, "p.json", "{\n  \"Batch\": 256\n  \"Slope\": 3\n}")
	roomtest.Write(t, "q.json", "{\n  \"Slope\": 3,\n  \"Btach\": 256\n}")
	roomtest.Write(t, "empty/notes.txt", "")
	roomtest.Write(t, "h.txt", "-seed 1\n-h\n")
	roomtest.Write(t, "wide.txt", "\xff\xfe-\x00")
	for _, test := range []struct {
		args string
		code int
		want string // the line, from its beginning
	}{
		{"eval damaged", exitInput, "qta: checkpoint: damaged/agent.qta: this is not a checkpoint; agent.qta.previous is no help either: restore one of the two, or remove both, and the run begins again\n"},
		{"eval single", exitInput, "qta: checkpoint: single/agent.qta: this is not a checkpoint; restore it, or remove it, and the run begins again\n"},
		{"eval later", exitInput, "qta: checkpoint: later/agent.qta: format 99, this version reads format "},
		{"eval newer", exitInput, "qta: newer/run.json cannot be used: format is 2, this program reads 1: a newer qta has written it; use that one, or name another directory\n"},
		{"-out newer", exitInput, "qta: newer/run.json cannot be used: format is 2, "},
		{"eval broken", exitInput, "qta: broken/run.json is damaged: line 4: invalid character '\"' after object key:value pair; restore it, or name another directory\n"},
		{"-params p.json", exitInput, "qta: -params p.json: parameters: invalid character '\"' after object key:value pair (before line 3, column 3)\n"},
		{"-params q.json", exitInput, "qta: -params q.json: unknown parameter \"Btach\"; did you mean Batch? (before line 3, column 15)\n"},
		{"-set Btach=256", exitInput, "qta: -set Btach=256: unknown parameter \"Btach\"; did you mean Batch?\n"},
		{"report empty", exitInput, "qta: there is no run in empty; empty/notes.txt: no part of a run directory\n"},
		{"maze 4x5 -o nowhere/maze.svg", exitFailure, "qta: nowhere/maze.svg cannot be written: no such file or directory\n"},
		{"figure5 single -o nowhere/a.svg", exitFailure, "qta: nowhere/a.svg cannot be written: no such file or directory\n"},
		{"film single", exitInput, "qta: checkpoint: single/agent.qta: this is not a checkpoint"},
		{"sweep -figure 2 -mazes=", exitInput, "qta: invalid value \"\" for flag -mazes: want a text that is not empty; "},
		{"-out=", exitInput, "qta: invalid value \"\" for flag -out: want a text that is not empty; "},
		{"sweep h.txt", exitInput, "qta: sweep file h.txt, line 2: -h stands for no run; "},
		{"sweep wide.txt", exitInput, "qta: sweep file wide.txt: it is UTF-16; save it as UTF-8\n"},
		{"params e", exitInput, "qta: unknown parameter \"e\"; \"qta params\" lists them\n"},
		{"report single -o nowhere/a.html", exitFailure, "qta: nowhere/a.html cannot be written: no such file or directory\n"},
	} {
		got := command(t, strings.Fields(test.args)...)
		if got.code != test.code || !strings.HasPrefix(got.errors, test.want) || strings.Count(got.errors, "\n") != 1 || got.out != "" {
			t.Errorf("qta %s: exit code %d, stdout %q, stderr\n%swant %d and\n%s", test.args, got.code, got.out, got.errors, test.code, test.want)
		}
	}
	if _, err := os.Stat(rundir.PageFile); err == nil {
		t.Error("a report of nothing has left a page")
	}
}

// TestOutputKeepsRuns names with -o what cannot be made again: nothing is
// written over it.
func TestOutputKeepsRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "20", "-out", "run")...)
	mustRun(t, tinyRun("-steps", "30", "-out", "run")...)
	roomtest.Write(t, "map.txt", roomtest.Maze(t, "4x5").String())
	kept := []string{rundir.RecordFile, rundir.LogFile, rundir.TimingFile, rundir.AgentFile, rundir.AgentFile + qta.Previous, rundir.PageFile, rundir.Figure5Store, rundir.FilmStore, rundir.LockFile}
	before := map[string]string{}
	for _, name := range kept {
		before[name] = roomtest.Read(t, "run", name)
	}
	for _, command := range []string{"export run", "film run", "figure5 run", "maze 1U5"} {
		for _, name := range kept {
			refuse(t, command+" -o run/"+name, "-o run/"+name+" is a file of a run; name another")
		}
	}
	refuse(t, "maze map.txt -o ./map.txt", "-o ./map.txt is the map that it would be drawn from; name another file")
	for _, format := range []string{"csv", "svg"} {
		refuse(t, "report run -format "+format+" -o run", "-o run: run is a run directory")
	}
	for name, text := range before {
		if roomtest.Read(t, "run", name) != text {
			t.Errorf("%s has changed", name)
		}
	}
	for _, args := range []string{"film run -o run/training.svg", "figure5 -o run/figure5.svg run"} {
		mustRun(t, strings.Fields(args)...)
	}
}

// refuse runs a command that has to end with one line about bad input.
func refuse(t *testing.T, args, want string) {
	t.Helper()
	if got := command(t, strings.Fields(args)...); got.code != exitInput || !strings.HasPrefix(got.errors, "qta: "+want) || strings.Count(got.errors, "\n") != 1 || got.out != "" {
		t.Errorf("qta %s: %+v, want %q", args, got, want)
	}
}

// TestMarkedText reads texts that begin with the mark of some editors.
func TestMarkedText(t *testing.T) {
	t.Chdir(t.TempDir())
	const mark = "\ufeff"
	roomtest.Write(t, "p.json", mark+`{"Batch": 8}`)
	roomtest.Write(t, "m.txt", mark+roomtest.Maze(t, "4x5").String())
	roomtest.Write(t, "s.txt", mark+strings.Join(tinyRun("-maze", "m.txt", "-params", "p.json", "-steps", "20", "-out", "run"), " ")+"\n")
	mustRun(t, "maze", "m.txt")
	mustRun(t, "sweep", "s.txt", "-index", "0")
	if got := mustRun(t, "status", "runs"); !strings.Contains(got, "1 done") {
		t.Errorf("status: %q", got)
	}
}

// TestBlankValue gives the same run the same directory.
func TestBlankValue(t *testing.T) {
	for _, set := range []string{"Batch=8", "Batch=8 ", "Batch= 8"} {
		if _, label, err := findParams("small", []string{set}); label != "small-Batch=8" || err != nil {
			t.Errorf("%q: label %q, error %v", set, label, err)
		}
	}
}

// TestStatusOfStopped asks for the status of a run that was stopped before its
// first evaluation, and of one after it.
func TestStatusOfStopped(t *testing.T) {
	t.Chdir(t.TempDir())
	// The first line comes before the first step, the header with the first
	// evaluation's: at its writing the step is the seventh.
	interrupted(t, 2, tinyRun("-steps", "100", "-out", "run")...)
	if out := mustRun(t, "status", "run"); out != "run  stopped  at step 7 of 100, success 0.00\n1 stopped\n" {
		t.Errorf("%q", out)
	}
	r, err := rundir.ReadRecord("run")
	if err != nil {
		t.Fatal(err)
	}
	r.Outcome.Steps, r.Outcome.Files = 9, nil // as after SIGINT between evaluations
	if err := errors.Join(r.Write("run", false), rundir.WriteLog("run", qta.Small(), nil, false)); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "status", "run"); out != "run  stopped  at step 9 of 100, not evaluated yet\n1 stopped\n" {
		t.Errorf("%q", out)
	}
}
