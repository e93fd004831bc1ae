package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
	"qta/internal/glossary"
)

// TestMain lets the test binary stand in for the command, for the tests that
// send signals.
func TestMain(m *testing.M) {
	if os.Getenv("QTA_TEST_COMMAND") != "" {
		if os.Getenv("QTA_TEST_PANIC") != "" {
			time.AfterFunc(100*time.Millisecond, func() { panic("elsewhere") })
		}
		limitFiles(os.Getenv("QTA_TEST_FILE_SIZE"))
		main()
	}
	os.Exit(m.Run())
}

// result is what a command has shown.
type result struct {
	code        int
	out, errors string
}

func command(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// mustRun runs a command that has to succeed and returns its output.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	r := command(t, args...)
	if r.code != exitDone || r.errors != "" {
		t.Fatalf("qta %s: exit code %d, stderr %q", strings.Join(args, " "), r.code, r.errors)
	}
	return r.out
}

// tree lists everything below the current directory.
func tree(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.Walk(".", func(path string, _ os.FileInfo, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBadInput(t *testing.T) {
	tests := []struct {
		args string // split at spaces
		want string // part of the line
	}{
		{"fly", `unknown command "fly"; the commands are train, params, maze, eval, figure5, film, sweep, status, report, export, check, version, help`},
		{"-fly", "-fly; \"qta help train\" lists the flags"},
		{"maze 4x5 -fly", "-fly; \"qta help maze\" lists the flags"},
		{"maze 4x5 extra", "after qta maze 4x5; \"qta help maze\" shows what it takes"},
		{"train -fly 3", "-fly"},
		{"4x5", `unknown command "4x5"`},
		{"-seed 1 extra", `unexpected argument "extra"`},
		{"train extra", `unexpected argument "extra"`},
		{"help me", `unknown command "me"; the commands are train, params, `},
		{"help maze me", `unexpected argument "me"`},
		{"version now", `unexpected argument "now"`},
		{"params Btach", `unknown parameter "Btach"; did you mean Batch?`},
		{"-set Btach=3", `unknown parameter "Btach"; did you mean Batch?`},
		{"params Batch Slope", `unexpected argument "Slope"`},
		{"params Batch -wide", "-wide is of all parameters; Batch alone has its values in every set"},
		{"sweep x -index 0 -jobs 2", "-jobs does not go with -index, which runs one cell"},
		{"-seed -1", "-seed: want a whole number from 0"},
		{"-seed 1.5", "-seed: want a whole number from 0"},
		{"-seed", "-seed"},
		{"-steps 0", "-steps: want a whole number from 1 to 100000000"},
		{"-steps 1e6", "-steps: want a whole number"},
		{"-steps 100000001", "-steps: want a whole number"},
		{"-eval 0", "-eval: want a whole number from 1"},
		{"-threads 0", "-threads: want a whole number from 1 to 256"},
		{"-threads 257", "-threads"},
		{"-checkpoint 0", "-checkpoint"},
		{"-stop later", "-stop: want solved or never"},
		{"-maze 4x6", "4x6"},
		{"-maze nowhere", "nowhere"},
		{"-maze nowhere.txt", "map file nowhere.txt: no such file"},
		{"-maze maps/nowhere", "map file maps/nowhere: no such file"},
		{"-maze maps", "a map file's name has a path separator"},
		{"-maze ./maps", "map file ./maps"},
		{"-maze nogoal.txt", "map file nogoal.txt"},
		{"-maze maps/letter.map", "map file maps/letter.map"},
		{"-maze large.txt", "map file large.txt: larger than 1048576 bytes"},
		{"-maze maps/4x5.txt", "map file maps/4x5.txt has the name of a maze, 4x5, and another map; rename it"},
		{"-params huge", `-params "huge": want default, fast, paper, authors, small, mega, vds or a file that ends in .json`},
		{"-params nowhere.json", "-params nowhere.json: no such file"},
		{"-params broken.json", "-params broken.json: parameters"},
		{"-params unknown.json", `-params unknown.json: unknown parameter "Batsh"`},
		{"-params range.json", "-params range.json: parameter Batch is -3, allowed are [1,65536]"},
		{"-set Batch", `-set "Batch": want name=value`},
		{"-set Batsh=3", `unknown parameter "Batsh"`},
		{"-set batch=3", "did you mean Batch?"},
		{"-set Batch=many", `-set Batch=many: parameter Batch: "many" is not a whole number`},
		{"-set Batch=0", "parameter Batch is 0, allowed are [1,65536]"},
		{"-set HeadLoss=cubed", "allowed are squared|norm"},
		{"-set Slope=NaN", "Slope"},
		{"-out nogoal.txt", "nogoal.txt is no directory to write in"},
		{"-out nogoal.txt/run", "name another one with -out"},
		{"-out maps", "directory maps holds letter.map and no run.json"},
		{"-out damaged", "run.json is damaged"},
		{"params -x", "-x"},
		{"maze", "qta maze needs the name of a maze"},
		{"maze 4x5 1U5", `unexpected argument "1U5"`},
		{"maze 2x5", "2x5"},
		{"maze nogoal.txt", "map file nogoal.txt"},
		{"eval", "qta eval needs a run directory"},
		{"eval nowhere", "nowhere is not a run directory: it holds no run.json"},
		{"eval maps", "maps is not a run directory"},
		{"eval damaged", "run.json is damaged"},
		{"film", "qta film needs a run directory"},
		{"film maps", "maps is not a run directory"},
		{"eval maps more", `unexpected argument "more"`},
		{"eval maps -rollouts 0", "-rollouts: want a whole number from 1"},
		{"eval -seed x maps", "-seed: want a whole number"},
		{"export", "qta export needs a run directory"},
		{"export nowhere", "nowhere is not a run directory: it holds no run.json"},
		{"export damaged", "run.json is damaged"},
		{"export maps more", `unexpected argument "more"`},
		{"check 0", `qta check "0": want the number of an equation, from 1 to 8`},
		{"check 9", `qta check "9"`},
		{"check five", `qta check "five"`},
		{"check 5 6", `unexpected argument "6" after qta check 5`},
		{"check -vectors", "-vectors"},
		{"check -vectors nowhere", "-vectors nowhere: no such file"},
		{"check -vectors nogoal.txt", "-vectors nogoal.txt: not a directory"},
		{"check -vectors maps", "-vectors maps: there is no file *.json"},
		{"check -vectors .", "-vectors .: broken.json: not vectors: json: cannot unmarshal array"},
	}
	t.Chdir(t.TempDir())
	roomtest.Write(t, "nogoal.txt", "#####\n#S..#\n#####\n")
	roomtest.Write(t, "maps/letter.map", "#####\n#SxG#\n#####\n")
	roomtest.Write(t, "maps/4x5.txt", "SG\n")
	roomtest.Write(t, "large.txt", "SG\n"+strings.Repeat("\n", 1<<20)) // a map if it were cut
	roomtest.Write(t, "broken.json", "[1, 2]\n")
	roomtest.Write(t, "unknown.json", `{"Batsh": 3}`)
	roomtest.Write(t, "range.json", `{"Batch": -3}`)
	roomtest.Write(t, "damaged/run.json", `{"format": 1, "state": "run`)
	roomtest.Write(t, "damaged/lock", "")
	before := tree(t)
	for _, test := range tests {
		got := command(t, strings.Fields(test.args)...)
		if got.code != exitInput || got.out != "" {
			t.Errorf("qta %s: exit code %d, stdout %q, want %d and nothing", test.args, got.code, got.out, exitInput)
		}
		if !strings.HasPrefix(got.errors, "qta: ") || strings.Count(got.errors, "\n") != 1 || !strings.HasSuffix(got.errors, "\n") || strings.Contains(got.errors[5:], "qta: ") {
			t.Errorf("qta %s: stderr %q is not one line that begins with qta:", test.args, got.errors)
		}
		if !strings.Contains(got.errors, test.want) {
			t.Errorf("qta %s: stderr %q lacks %q", test.args, got.errors, test.want)
		}
		if diff := cmp.Diff(before, tree(t)); diff != "" {
			t.Fatalf("qta %s changed the directory (-before +after):\n%s", test.args, diff)
		}
	}
}

func TestHelp(t *testing.T) {
	want := mustRun(t, "help")
	for _, args := range []string{"-h", "--help", "-help"} {
		if got := mustRun(t, strings.Fields(args)...); got != want {
			t.Errorf("qta %s differs from qta help", args)
		}
	}
	for _, code := range []int{exitDone, exitFailure, exitInput, exitNumeric, exitUnfinished} {
		if !strings.Contains(want, fmt.Sprintf("\n  %-3d ", code)) {
			t.Errorf("no line on exit code %d", code)
		}
	}
	for _, topic := range topics() {
		if !strings.Contains(want, fmt.Sprintf("\n  %-8s %s\n", topic.name, topic.about)) {
			t.Errorf("no line on %s", topic.name)
		}
		page := mustRun(t, "help", topic.name)
		if got := mustRun(t, topic.name, "-h"); topic.name != "help" && topic.name != "version" && got != page {
			t.Errorf("qta %s -h differs from qta help %[1]s", topic.name)
		}
		if !strings.HasPrefix(page, "qta "+topic.name+": "+topic.about+"\n") || !strings.Contains(page, "\nExample:\n\n  qta") {
			t.Errorf("the help on %s begins %.60q, or has no example", topic.name, page)
		}
		for line := range strings.Lines(want + page) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth && !strings.Contains(line, topic.example) {
				t.Errorf("the help on %s has a line of %d columns: %s", topic.name, n, line)
			}
		}
	}
	for name, flags := range map[string]string{
		"train": "maze params set curriculum uncertainty uncertainty-noise replay seed steps stop eval out threads checkpoint",
		"sweep": "jobs index dry-run out figure seeds mazes params steps", "eval": "format rollouts seed", "maze": "o", "figure5": "o", "film": "o",
		"report": "o format", "export": "o", "check": "vectors", "params": "wide",
	} {
		page := mustRun(t, "help", name)
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^  -([a-z0-9-]+)`).FindAllStringSubmatch(page, -1) {
			got = append(got, m[1])
		}
		want := strings.Fields(flags)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("flags in the help on %s (-want +got):\n%s", name, diff)
		}
	}
	train := mustRun(t, "help", "train")
	for _, name := range []string{rundir.RecordFile, rundir.LogFile, rundir.TimingFile, rundir.AgentFile, rundir.AgentFile + qta.Previous, rundir.PageFile, rundir.CurveFile, rundir.Figure5File, rundir.Figure5Store, rundir.FilmFile, rundir.FilmStore, rundir.LockFile} {
		if !strings.Contains(train, name) {
			t.Errorf("no word on file %s", name)
		}
	}
	for _, args := range []string{"eval somewhere -h", "eval -h", "figure5 DIR -h"} {
		name, _, _ := strings.Cut(args, " ")
		if got := mustRun(t, strings.Fields(args)...); got != mustRun(t, "help", name) {
			t.Errorf("qta %s differs from qta help %s", args, name)
		}
	}
}

// TestExamples runs what the help says as far as that takes no training: every
// example is one that the command takes.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "10", "-out", "runs/4x5-fast-1")...)
	for _, topic := range topics() {
		for line := range strings.SplitSeq(topic.example, " && ") {
			line, file, _ := strings.Cut(line, " > ")
			args := strings.Fields(line)[1:]
			switch {
			case topic.name == "train":
				args = append(args, "-steps", "10")
			case topic.name == "sweep" && !strings.Contains(line, "-figure"):
				args = append(args, "-dry-run")
			}
			out := mustRun(t, args...)
			if file != "" {
				roomtest.Write(t, file, out)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if got := mustRun(t, "version"); !strings.HasPrefix(got, "qta "+qta.Version+", revision ") || !strings.HasSuffix(got, qta.KernelName()+" kernel\n") {
		t.Errorf("%q", got)
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("disk on fire"), exitFailure},
		{words.BadInput("no"), exitInput},
		{fmt.Errorf("around: %w", words.BadInput("no")), exitInput},
		{&qta.NumericError{Step: 3, Network: "critics"}, exitNumeric},
		{&runError{&qta.NumericError{}, "all is lost"}, exitNumeric},
		{&runError{&qta.EnvError{}, "all is lost"}, exitNumeric},
		{&runError{errors.New("full"), "all is kept"}, exitFailure},
		{errUnfinished, exitUnfinished},
		{context.Canceled, exitFailure},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

// TestParams looks for every parameter, its value and its meaning, in lines that
// a terminal holds.
func TestParams(t *testing.T) {
	out := mustRun(t, "params")
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > paramsWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	meaning := map[string]string{}
	for _, g := range glossary.Groups() {
		if !strings.Contains(out, "\n\n"+strings.Fields(g.About)[0]+" ") {
			t.Errorf("no heading on %s", g.Name)
		}
		for _, p := range g.Parameters {
			meaning[p.Name] = p.Meaning
		}
	}
	for _, field := range qta.Fields() {
		row := regexp.MustCompile(`(?m)^` + field.Name + ` +` + regexp.QuoteMeta(qta.Fast().Value(field.Name)) + `( \*)? +(.*)$`).FindStringSubmatch(out)
		if row == nil || meaning[field.Name] == "" || !strings.HasPrefix(meaning[field.Name], row[2]) {
			t.Errorf("%s: row %q, meaning %q", field.Name, row, meaning[field.Name])
			continue
		}
		differ := slices.ContainsFunc(qta.Presets(), func(p qta.Preset) bool { return p.Params.Value(field.Name) != qta.Fast().Value(field.Name) })
		if differ != (row[1] != "") {
			t.Errorf("%s: marked as different in some set: %v", field.Name, !differ)
		}
		one := strings.Join(strings.Fields(mustRun(t, "params", field.Name)), " ")
		for _, want := range []string{field.Name + ": " + meaning[field.Name] + ".", "allowed " + allowed(field), "source " + field.Source,
			"authors " + qta.Authors().Value(field.Name), "Switched by itself"} {
			if !strings.Contains(one, want) {
				t.Errorf("qta params %s lacks %q", field.Name, want)
			}
		}
	}
	if len(meaning) != len(qta.Fields()) {
		t.Errorf("%d parameters are explained, there are %d", len(meaning), len(qta.Fields()))
	}
	goal := strings.Join(strings.Fields(mustRun(t, "params", "UncertaintyGoal")), " ")
	for _, want := range []string{"paper desired", "default candidate", "Differs at Default (params.go) the text: the environment's desired goal"} {
		if !strings.Contains(goal, want) {
			t.Errorf("qta params UncertaintyGoal lacks %q", want)
		}
	}
}

func TestParamsTable(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(mustRun(t, "params", "-wide"), "\n"), "\n")
	fields := qta.Fields()
	if len(lines) != 1+len(fields) {
		t.Fatalf("%d lines, want a header and %d fields", len(lines), len(fields))
	}
	column := strings.Index(lines[0], "source of")
	for i, field := range fields {
		line := lines[i+1]
		columns := strings.Fields(line)
		want := []string{field.Name}
		for _, preset := range qta.Presets() {
			want = append(want, preset.Params.Value(field.Name))
		}
		if diff := cmp.Diff(want, columns[:len(want)]); diff != "" {
			t.Errorf("line %q (-want +got):\n%s", line, diff)
		}
		if line[column:] != field.Source {
			t.Errorf("line %q: %q stands under the source, want %q", line, line[column:], field.Source)
		}
	}
}

func TestMaze(t *testing.T) {
	t.Chdir(t.TempDir())
	got := mustRun(t, "maze", "4x5")
	want := `#######
#.....#
#.#.#.#
#.###.#
#.S#G.#
#######

4x5: 4 by 5 cells within the outer wall, 14 of them free, path length 9
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("qta maze 4x5 (-want +got):\n%s", diff)
	}
	drawn, _, _ := strings.Cut(got, "\n\n")
	roomtest.Write(t, "copy.txt", drawn)
	if diff := cmp.Diff(strings.Replace(want, "4x5:", "copy:", 1), mustRun(t, "maze", "copy.txt")); diff != "" {
		t.Errorf("qta maze copy.txt (-want +got):\n%s", diff)
	}
}
