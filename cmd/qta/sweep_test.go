package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

func planOf(t testing.TB, c *cell) *plan {
	t.Helper()
	p, err := c.plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseSweep(t *testing.T) {
	cells, err := parseSweep("# two\n\n-maze 1U5 -seed 7 -stop never -steps 20\n  -maze 4x5 -out sub/x # other\n", "here", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		got = append(got, fmt.Sprintf("%d %s %s %d %v", c.line, c.dir(), planOf(t, &c).run.Maze, planOf(t, &c).run.Seed, planOf(t, &c).limits))
	}
	want := []string{"3 here/1U5-fast-7 1U5 7 {20 never}", "4 here/sub/x 4x5 1 {150000 solved}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct{ text, want string }{
		{"", "line 1: there is no cell; "},
		{"# nothing\n#\n", "line 2: there is no cell; "},
		{"-maze 4x5\n-maze 4x5 -seed 1\n", "line 2: its directory 4x5-fast-1 is that of line 1 already; "},
		{"-maze 4x4\n", "line 1: "},
		{"-sede 4\n", "line 1: flag provided but not defined: -sede; "},
		{"-seed 1 4x5\n", `line 1: "4x5" is no flag of training`},
		{"-seed 1 --\n", "line 1: -- ends the flags, and nothing else stands on a line; remove it"},
		{"-out ../x\n", `line 1: -out "../x": want a directory within the sweep's`},
		{"-out /x\n", `line 1: -out "/x": want a directory within`},
		{"-out .\n", `line 1: -out ".": want a directory within`},
		{"-out .hidden\n", `line 1: the directory .hidden is hidden: neither status nor report look into it`},
		{"-out a/.b/c\n", `line 1: the directory a/.b/c is hidden`},
		{"-out a -seed 1\n-out ab\n-out a/b\n", "line 3: its directory a/b lies within a, that of line 1; "},
		{"-out a/b/c -seed 1\n-out a/x\n-out a\n", "line 1: its directory a/b/c lies within a, that of line 3; "},
		{"-set Batch=-1\n", "line 1: -set Batch=-1: "},
		{"-seed 1\n-seed 'x\n", "line 2: column 8: the quotation mark"},
	} {
		if _, err := parseSweep(test.text, "here", nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
}

// A line with very many changes is no reason to wait: what is allocated does not
// grow with their square.
func TestManyChanges(t *testing.T) {
	n := 20_000
	line := "-maze 1U5 -out a" + strings.Repeat(" -set Batch=17", n) + "\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cells, err := parseSweep(line, "here", nil)
	runtime.ReadMemStats(&after)
	if err != nil || planOf(t, &cells[0]).run.Params().Batch != 17 {
		t.Fatal(err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / uint64(n); got > 5000 {
		t.Errorf("%d bytes are allocated for each of %d changes", got, n)
	}
}

func FuzzParseSweep(f *testing.F) {
	f.Add("# a\n-maze 1U5 -seed 3 -out 'a b'\n")
	f.Add("-params small -set Batch=12 -set \"Curriculum=mega\" -stop never\\\n")
	f.Add("-seed 1\n-seed 2\n-seed 2")
	f.Add("-out \xc2''\x94\n") // halves of a control character
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "json") || strings.Contains(text, ".txt") || strings.Contains(text, ".map") || strings.Contains(text, "/") || len(text) > 2000 {
			return // these name files
		}
		cells, err := parseSweep(text, "out", nil)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range cells {
			if seen[c.dir()] || !filepath.IsLocal(c.name) || c.name[0] == '.' {
				t.Errorf("directory %q twice or elsewhere", c.dir())
			}
			seen[c.dir()] = true
			back, err := words.Split(c.flags())
			if diff := cmp.Diff(c.words(), back); diff != "" || err != nil {
				t.Errorf("words written and read: error %v (-want +got):\n%s", err, diff)
			}
			again, plan, err := newCellReader("out").read(c.flags())
			if err != nil || again.dir() != c.dir() || len(plan.run.Differences(planOf(t, &c).run)) > 0 {
				t.Errorf("the same words make another cell: %+v, error %v", again, err)
			}
		}
	})
}

func TestSweepInput(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "s.txt", "-maze 1U5 -seed 1\n-maze 1U5 -seed 2\n")
	roomtest.Write(t, "bad.txt", "-maze 1U5\n-maze 2\n")
	roomtest.Write(t, "empty/x", "")
	for _, test := range []struct{ args, want string }{
		{"sweep", "qta sweep needs a sweep file"},
		{"sweep none.txt", "sweep file none.txt: "},
		{"sweep bad.txt", "sweep file bad.txt, line 2: "},
		{"sweep s.txt more", `unexpected argument "more"`},
		{"sweep s.txt -index 2", "-index 2: s.txt has 2 cells, 0 to 1"},
		{"sweep s.txt -jobs 0", `invalid value "0" for flag -jobs`},
		{"sweep s.txt -seeds 2", "-seeds goes with -figure"},
		{"sweep -figure 7", `-figure "7": want 2, 3, 4, 5 or 6`},
		{"sweep -figure 2 -mazes 4x5,9", "-mazes: "},
		{"sweep -figure 2 -params tiny", `-params "tiny": want `},
		{"sweep -figure 2 -params mega", "-params mega: its curriculum is mega; "},
		{"sweep -figure 2 -jobs 3", "-jobs does not go with -figure"},
		{"sweep -figure 2 s.txt", `unexpected argument "s.txt"`},
		{"status", "qta status needs directories"},
		{"status none", "none cannot be read: "},
		{"report", "qta report needs directories"},
		{"report s.txt", "s.txt is no directory"},
		{"report empty -format pdf", `invalid value "pdf" for flag -format: want html, svg or csv`},
	} {
		before := tree(t)
		r := command(t, strings.Fields(test.args)...)
		if r.code != exitInput || !strings.HasPrefix(r.errors, "qta: "+test.want) || strings.Count(r.errors, "\n") != 1 {
			t.Errorf("qta %s: exit code %d, stderr %q, want %q", test.args, r.code, r.errors, test.want)
		}
		if diff := cmp.Diff(before, tree(t)); diff != "" {
			t.Errorf("qta %s has changed files:\n%s", test.args, diff)
		}
	}
}

// TestFigureSweeps holds the sweep files of the figures to what the paper says
// of them, and each line to the method that a report will see in it.
func TestFigureSweeps(t *testing.T) {
	for _, test := range []struct {
		figure string
		cells  int // mazes · methods · seeds, where the panels of a figure share QTA
	}{
		{"2", (12 + 5) * 3 * 12}, {"3", 12*2*12 + 6*12}, {"4", 4 * 12}, {"5", 1}, {"6", 12 * 4 * 12},
	} {
		cells, err := parseSweep(mustRun(t, "sweep", "-figure", test.figure), "runs", nil)
		if err != nil || len(cells) != test.cells {
			t.Errorf("figure %s: %d cells, error %v, want %d", test.figure, len(cells), err, test.cells)
		}
	}
	cells, err := parseSweep(mustRun(t, "sweep", "-figure", "6", "-seeds", "1", "-mazes", "1U5", "-params", "small", "-steps", "9000"), "runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		m, setting := paper.Recognise(planOf(t, &c).run.Params())
		got = append(got, fmt.Sprintf("%s, %s, %s, %d", planOf(t, &c).run.Maze, m.Name, setting, planOf(t, &c).limits.Steps))
	}
	want := []string{"1U5, QTA, small, 9000", "1U5, Q-value disagreement, small, 9000", "1U5, bootstrapped Q, small, 9000", "1U5, deep ensembles, small, 9000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// tinySweep writes a sweep file of tiny cells with seeds from 1.
func tinySweep(t *testing.T, file string, cells int, more string) {
	t.Helper()
	var b strings.Builder
	for seed := 1; seed <= cells; seed++ {
		fmt.Fprintf(&b, "%s %s -seed %d -out seed%d\n", strings.Join(tiny, " "), more, seed, seed)
	}
	roomtest.Write(t, file, b.String())
}

func TestSweep(t *testing.T) {
	t.Setenv("QTA_TEST_COMMAND", "1") // for the processes of cells
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 3, "-steps 50")
	out := mustRun(t, "sweep", "s.txt", "-jobs", "2", "-out", "runs")
	for _, want := range []string{"0 seed1: started\n", "2 seed3: not solved within 50 steps\n", "All 3 cells done, 0 solved, in runs. "} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if strings.ContainsAny(out, "\r\x1b") {
		t.Errorf("control characters in the output of no terminal:\n%q", out)
	}
	// In this process, a cell is the same run.
	mustRun(t, "sweep", "s.txt", "-index", "1", "-out", "alone")
	sameOutcome(t, "runs/seed2", "alone/seed2")
	if out := mustRun(t, "status", "alone"); !strings.Contains(out, "alone/seed2  done     not solved within 50 steps") ||
		!strings.Contains(out, "alone/seed1  missing  -maze 1U5") || !strings.HasSuffix(out, "\n1 done, 2 missing\n") {
		t.Errorf("status:\n%s", out)
	}
	// What is done is not started again.
	log, err := os.Stat("runs/seed1/" + rundir.RecordFile)
	if err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "sweep", "s.txt", "-jobs", "2", "-out", "runs"); !strings.Contains(out, "0 seed1: was done already: not solved") || strings.Contains(out, "started") {
		t.Errorf("the second time:\n%s", out)
	}
	if again, err := os.Stat("runs/seed1/" + rundir.RecordFile); err != nil || !again.ModTime().Equal(log.ModTime()) {
		t.Errorf("the second sweep has written %s again (error %v)", rundir.RecordFile, err)
	}

	// A cell that cannot run does not stop the others.
	tinySweep(t, "s.txt", 4, "-steps 50 -eval 9")
	if err := os.RemoveAll("runs/seed2"); err != nil {
		t.Fatal(err)
	}
	r := command(t, "sweep", "s.txt", "-out", "runs")
	if want := "qta: 2 of 4 cells failed and 2 ended; the first failure: line 1, seed1: runs/seed1 holds another run: "; r.code != exitFailure || !strings.HasPrefix(r.errors, want) {
		t.Errorf("exit code %d, stderr %q, want %q", r.code, r.errors, want)
	}
}

// A gate lets a sweep begin before it is stopped.
type gate struct {
	bytes.Buffer
	text string
	open func()
}

func (g *gate) Write(p []byte) (int, error) {
	n, err := g.Buffer.Write(p)
	if strings.Contains(g.String(), g.text) {
		g.open()
	}
	return n, err
}

func TestSweepStop(t *testing.T) {
	t.Setenv("QTA_TEST_COMMAND", "1")
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 3, "-steps 100000")
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &gate{text: "1 seed2: started", open: func() {
		time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("interrupt")) })
	}}
	var stderr bytes.Buffer
	if code := run(ctx, strings.Fields("sweep s.txt -jobs 2 -out runs"), out, &stderr); code != exitUnfinished || stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, stderr.String())
	}
	for _, want := range []string{"Stopping: 2 runs to save.", "0 seed1: stopped and saved", "Stopped with 0 of 3 cells done; all that was running is saved in runs, and the same command goes on."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	for _, dir := range []string{"runs/seed1", "runs/seed2"} {
		if s := stateOf(t, dir); s != rundir.Stopped {
			t.Errorf("%s is %s", dir, s)
		}
	}
	if files.Exists("runs/seed3") {
		t.Error("seed3 was begun")
	}
}

// TestSweepKills kills a sweep at random moments and starts it again, until it
// ends: all runs must be those of a sweep that was left alone.
//
// QTA_SWEEP_KILLS is the number of kills; where it is set, there are fifty
// cells with the parameters small:
//
//	QTA_SWEEP_KILLS=10 go test -run TestSweepKills -timeout 0 -v ./cmd/qta
func TestSweepKills(t *testing.T) {
	cells, kills, between := 4, 2, 300*time.Millisecond
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", cells, "-steps 100 -eval 25 -checkpoint 10")
	if text := os.Getenv("QTA_SWEEP_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("QTA_SWEEP_KILLS is %q, want a whole number from 1", text)
		}
		cells, kills, between = 50, n, 20*time.Second
		var b strings.Builder
		for seed := 1; seed <= cells; seed++ {
			fmt.Fprintf(&b, "-maze 1U5 -params small -set Horizon=20 -set InitialSteps=40 -steps 150 -eval 25 -stop never -checkpoint 20 -seed %d -out seed%d\n", seed, seed)
		}
		roomtest.Write(t, "s.txt", b.String())
	}
	t.Setenv("QTA_TEST_COMMAND", "1")
	begin := time.Now()
	mustRun(t, "sweep", "s.txt", "-jobs", "2", "-out", "whole")
	between = min(between, time.Since(begin)/time.Duration(kills+1)*3/2)
	rng := rand.New(rand.NewPCG(1, 1))
	early := 0
	for range kills {
		c := exec.Command(os.Args[0], "sweep", "s.txt", "-jobs", "2", "-out", "parts")
		c.Stdout, c.Stderr = io.Discard, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50*time.Millisecond + time.Duration(rng.Float64()*float64(between)))
		c.Process.Kill()
		c.Wait() // ProcessState tells what came first
		if c.ProcessState.Success() {
			early++
		}
	}
	// The processes of the last cells save and end by themselves; until then
	// the sweep waits for them.
	mustRun(t, "sweep", "s.txt", "-jobs", "2", "-out", "parts")
	for seed := 1; seed <= cells; seed++ {
		dir := "seed" + strconv.Itoa(seed)
		sameOutcome(t, filepath.Join("whole", dir), filepath.Join("parts", dir))
		for _, name := range []string{rundir.Figure5Store, rundir.Figure5File, rundir.FilmStore, rundir.FilmFile, rundir.CurveFile} {
			if roomtest.Read(t, "whole", dir, name) != roomtest.Read(t, "parts", dir, name) {
				t.Errorf("%s of %s differs", name, dir)
			}
		}
	}
	t.Logf("%d cells, %d kills, of which %d came after the end", cells, kills, early)
	if early == kills {
		t.Error("no kill came before the end")
	}
}

// TestSweepsShare starts many sweeps of one file at the same time, of runs so
// short that they end under each other's eyes: none fails, each run is done once,
// and is that of a sweep that was alone.
//
// QTA_SHARE is the number of sweeps; where it is set, there are two hundred
// cells:
//
//	QTA_SHARE=16 go test -run TestSweepsShare -timeout 0 -v ./cmd/qta
func TestSweepsShare(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: four sweeps train in processes, which takes seconds")
	}
	cells, sweeps := 12, 4
	if text := os.Getenv("QTA_SHARE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("QTA_SHARE is %q, want a whole number from 1", text)
		}
		cells, sweeps = 200, n
	}
	t.Setenv("QTA_TEST_COMMAND", "1")
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", cells, "-steps 8")
	mustRun(t, "sweep", "s.txt", "-out", "whole")
	var all []*exec.Cmd
	var texts []*bytes.Buffer
	for range sweeps {
		c := exec.Command(os.Args[0], "sweep", "s.txt", "-jobs", "2", "-out", "shared")
		out := new(bytes.Buffer)
		c.Stdout, c.Stderr = out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() })
		all, texts = append(all, c), append(texts, out)
	}
	for i, c := range all {
		err := c.Wait()
		if text := texts[i].String(); err != nil || !strings.Contains(text, fmt.Sprintf("All %d cells done, ", cells)) || strings.Contains(text, "failed") {
			t.Errorf("sweep %d: %v\n%s", i, err, text)
		}
	}
	for seed := 1; seed <= cells; seed++ {
		dir := "seed" + strconv.Itoa(seed)
		sameOutcome(t, filepath.Join("whole", dir), filepath.Join("shared", dir))
	}
	if entries, err := os.ReadDir("shared"); err != nil || len(entries) != cells+1 {
		t.Errorf("%d entries in the directory, want %d runs and the list of cells; error %v", len(entries), cells, err)
	}
	mustRun(t, "status", "shared")
}

// A cell that another process holds is no failure: alone it asks for another go.
func TestSweepIndexInUse(t *testing.T) {
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 2, "-steps 8")
	if err := os.MkdirAll("runs/seed1", 0o777); err != nil {
		t.Fatal(err)
	}
	unlock, err := rundir.Lock("runs/seed1")
	if err != nil {
		t.Fatal(err)
	} else if !rundir.CanSeeUse {
		t.Skip("this system does not tell that another process uses a directory")
	}
	if r := command(t, "sweep", "s.txt", "-index", "0"); r.code != exitUnfinished || r.errors != "" || r.out != "0 seed1: another process is working on it; the same command looks again\n" {
		t.Errorf("%+v", r)
	}
	unlock()
	mustRun(t, "sweep", "s.txt", "-index", "0")
}

func TestDryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it measures the machine, which takes seconds")
	}
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 2, "-steps 1000")
	mustRun(t, "sweep", "s.txt", "-index", "0", "-out", "runs")
	out := mustRun(t, "sweep", "s.txt", "-dry-run", "-jobs", "2", "-out", "runs")
	lines := strings.Split(out, "\n")
	if len(lines) < 5 || !strings.HasPrefix(lines[1], "0     seed1      done              0         0        0 s") || !strings.HasPrefix(lines[2], "1     seed2      to do          1000  ") {
		t.Errorf("output:\n%s", out)
	}
	if files.Exists("runs/seed2") {
		t.Error("a dry run has begun a run")
	}
}

// TestArithmetic counts the multiply-adds of a step at the paper's size:
// 2.9 thousand million for the update, and a goal costs about one more.
func TestArithmetic(t *testing.T) {
	sizes := qta.Sizes{Observation: 2, Goal: 2, Action: 2}
	a := arithmetic(qta.Paper(), sizes, 10_000)
	const w = 6*256 + 2*256*256 + 256
	if want := 2.0 * 21 * w * 1024; a.update != want || a.step != want || want < 5.6e9 || want > 5.8e9 {
		t.Errorf("%+v, want an update of %v in each step", a, want)
	}
	if want := a.update + 2.0*1000*8*3*w/4; a.usual() != want {
		t.Errorf("a step is %v, want %v", a.usual(), want)
	}
	p := qta.Paper()
	p.Curriculum = "her"
	if her := arithmetic(p, sizes, 10_000); her.update != a.update || her.usual() != a.update {
		t.Errorf("HER chooses no goals: %+v", her)
	}
	p.Curriculum = "vds"
	if vds := arithmetic(p, sizes, 10_000); vds.usual() != a.update+2.0*5*3*100*1000*w/50 {
		t.Errorf("VDS: %+v", vds)
	}
	p.Curriculum = "her"
	p.UpdatesPerEpisode = 40
	if some := arithmetic(p, sizes, 10_000); some.update != a.update || some.usual() != a.update*0.8 {
		t.Errorf("40 updates of %v in an episode of 50 steps: %+v", a.update, some)
	}
}

// TestGauge measures few shapes of many, and none that is large.
func TestGauge(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it measures the machine, which takes seconds")
	}
	g, err := newGauge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for _, s := range []shape{{4096, 16, 64, 65536}, {16, 2, 3, 16}, {16, 2, 3, 16}, {64, 16, 64, 65536}} {
		rate, err := g.rate(t.Context(), s)
		if err != nil || !(rate > 0) {
			t.Errorf("%+v: %v operations per second, error %v", s, rate, err)
		}
	}
	for hidden := 1; hidden < 4096; hidden++ {
		if _, err := g.rate(t.Context(), shape{hidden, 3, 3, 1024}); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took > 3*gaugeTime || len(g.measured) > 20 {
		t.Errorf("it took %v, and %d shapes were measured", took, len(g.measured))
	}
}

// TestManyCells reads, and estimates, a sweep of many lines: time and memory
// hold for as many as there can be.
func TestManyCells(t *testing.T) {
	const lines = 20_000
	t.Chdir(t.TempDir())
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "-maze 4x5 -params small -set Slope=%d -seed %d\n", 600+i%50, i)
	}
	roomtest.Write(t, "s.txt", b.String())
	cells, err := readSweepFile("s.txt", "runs", nil)
	if err != nil || len(cells) != lines {
		t.Fatalf("%d cells, error %v", len(cells), err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	again, err := readSweepFile("s.txt", "runs", nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int(after.HeapAlloc) - int(before.HeapAlloc)) / lines; err != nil || each > 300 {
		t.Errorf("a cell takes %d bytes, error %v", each, err)
	}
	runtime.KeepAlive(cells)
	runtime.KeepAlive(again)

	// Whatever many have ended, the next is found without a look at all.
	s := newSweep(cells, 1, "runs", terminal.New(io.Discard))
	begin := time.Now()
	for i := range lines {
		if got := s.next(t.Context()); got != i {
			t.Fatalf("cell %d comes after %d", got, i-1)
		}
		s.set(i, running)
		s.set(i, ended)
	}
	if s.next(t.Context()) != -1 || s.tally != [failed + 1]int{ended: lines} {
		t.Errorf("at the end %v", s.tally)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v to go through %d cells", took, lines)
	}
}

// TestSweepOfChangedFiles changes what its lines name between reading and
// running: each cell fails by itself.
func TestSweepOfChangedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "p.json", `{"Batch": 8}`)
	roomtest.Write(t, "m.txt", "SG")
	cells, err := parseSweep("-params p.json\n-maze m.txt\n", "out", nil)
	if err != nil {
		t.Fatal(err)
	}
	roomtest.Write(t, "p.json", `{"Bat`)
	os.Remove("m.txt")
	var out bytes.Buffer
	err = newSweep(cells, 1, "out", terminal.New(&out)).run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "2 of 2 cells failed and 0 ended; the first failure: line 1, 4x5-p-1: -params p.json: ") {
		t.Errorf("%v\n%s", err, &out)
	}
	if want := "1 m-fast-1: failed: map file m.txt: no such file or directory\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %q", &out, want)
	}
}

// TestTail keeps the line that tells of a crash through the dump that follows.
func TestTail(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"qta: step 3: critics: NaN is not finite\n", ""},
		{"runtime: out of memory: cannot allocate 8 bytes\nfatal error: out of memory\n\ngoroutine 1\n", "fatal error: out of memory"},
		{"qta: warning: x\nqta: a mistake in this program: index\n\ngoroutine 1\n", "qta: a mistake in this program: index"},
		{"panic: x\n", "panic: x"},
	} {
		var tail tail
		for p := range slices.Chunk([]byte(test.text+strings.Repeat("\t/usr/x.go:1\n", 1000)), 7) { // within lines
			tail.Write(p)
		}
		if tail.crash != test.want || len(tail.text) > 4096 {
			t.Errorf("%.40q: %q of %d bytes, want %q", test.text, tail.crash, len(tail.text), test.want)
		}
	}
}
