package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qta/internal/roomtest"
	"qta/lab"
)

// TestParseSweep reads a sweep file. testdata/refusals.txt has what it refuses.
func TestParseSweep(t *testing.T) {
	cells, err := parseSweep("# two\n\n-maze 1U5 -seed 7-8 -stop never -steps 2000 -set Batch=64\n"+
		"  -maze 4x5 -threads 03 -seed 010 -out x # other\n-seed 18446744073709551615\n", "here")
	must(t, err)
	var got []string
	for _, c := range cells {
		line := fmt.Sprintln(c.line, c.out, c.id.Environment, c.id.Seed, *c.steps, c.stop, *c.threads)
		got = append(got, strings.TrimSpace(line))
	}
	equal(t, "the cells", []string{
		"3 here/1U5-quick-Batch=64-7 1U5 7 2000 never 1",
		"3 here/1U5-quick-Batch=64-8 1U5 8 2000 never 1",
		"4 here/x 4x5 10 150000 solved 3",
		"5 here/4x5-quick-18446744073709551615 4x5 18446744073709551615 150000 solved 1",
	}, got)
	var screen bytes.Buffer
	cells[1].at.Store(500)
	(&sweep{cells: cells, stdout: &output{w: &screen, live: true}}).show()
	has(t, screen.String(), "0 of 4 done, 0 solved, 0 failed; 1: step 500, at most 1500 left")
}

func FuzzParseSweep(f *testing.F) {
	f.Add("# a\n-maze 1U5 -seed 3 -out a-b\n")
	f.Add("-params small -set Batch=12 -set Curriculum=mega -stop never\n")
	f.Add("-seed 1\n-seed 2-4\n-seed=2")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "./\\") || len(text) > 2000 {
			return // these name files
		}
		cells, _ := parseSweep(text, "out") // none if it is refused
		seen := map[string]bool{}
		for _, c := range cells {
			if seen[c.out] || !filepath.IsLocal(c.name) {
				t.Errorf("directory %q twice or elsewhere", c.out)
			}
			seen[c.out] = true
		}
	})
}

// tinySweep writes a sweep file of tiny cells with seeds from 1.
func tinySweep(t *testing.T, file string, cells int, more string) {
	t.Helper()
	var b strings.Builder
	for seed := 1; seed <= cells; seed++ {
		fmt.Fprintf(&b, "%s %s -seed %d -out seed%d\n", tiny, more, seed, seed)
	}
	roomtest.Write(t, file, b.String())
}

// recordOf reads a run's record.
func recordOf(t *testing.T, dir string) *lab.Record {
	t.Helper()
	r, err := lab.ReadRecord(filepath.Join(dir, lab.RecordFile))
	must(t, err)
	return r
}

// same fails unless two runs have the same agent, outcome and curve.
func same(t *testing.T, a, b string) {
	t.Helper()
	x, y := recordOf(t, a), recordOf(t, b)
	what := fmt.Sprintf("outcomes and curves of %s and %s", a, b)
	equal(t, what, []any{x.Outcome, x.Curve}, []any{y.Outcome, y.Curve})
	if roomtest.Read(t, a, lab.AgentFile) != roomtest.Read(t, b, lab.AgentFile) {
		t.Errorf("the agents of %s and %s differ", a, b)
	}
}

// A cell whose record cannot be written has failed, and says why; given again, the sweep
// writes the record. All steps of a failed cell are left, because its save may be from an
// earlier step than its record.
func TestSweepFailed(t *testing.T) {
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 1, "-steps 20")
	mustRun(t, "sweep s.txt")
	const record = "runs/seed1/" + lab.RecordFile
	os.Remove(record)
	roomtest.Write(t, filepath.Join(record, "in the way"), "")
	ends(t, exitFailure, "sweep s.txt",
		"it has ended, but run.json does not say so; warning: ", "run.json cannot be written")
	os.RemoveAll(record)
	says(t, "sweep s.txt", "All 1 cell done")

	r := recordOf(t, "runs/seed1")
	r.State = lab.Failed
	roomtest.Write(t, record, string(r.Encode()))
	says(t, "sweep s.txt -dry-run", "0     seed1      failed  20\n")
}

func TestSweep(t *testing.T) {
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 3, "-steps 50")
	const sweep = "sweep s.txt -jobs 2"
	out := mustRun(t, sweep)
	if strings.ContainsAny(out, "\r\x1b") {
		t.Errorf("control characters in the output of no terminal:\n%q", out)
	}
	tinySweep(t, "more.txt", 4, "-steps 1000") // of which nothing is begun
	says(t, "sweep more.txt -dry-run",
		"2     seed3      ended otherwise  950\n", "3     seed4      to do            1000\n")
	if _, err := os.Stat("runs/seed4"); err == nil {
		t.Error("a dry run has begun a run")
	}
	// The steps of VDS take ten times as long as those of a set of QTA with as large batches.
	roomtest.Write(t, "vds.txt", "-maze 1U5 -params vds -steps 30000")
	says(t, "sweep vds.txt -dry-run", "At most 30000 steps left, whose updates take about 0.9 hours on one thread")

	// In this process, a cell is the same run.
	mustRun(t, "sweep s.txt -index 1 -out alone")
	same(t, "runs/seed2", "alone/seed2")

	// What is done is not started again; what is damaged is not done.
	log, err := os.Stat("runs/seed1/" + lab.RecordFile)
	must(t, err)
	roomtest.Write(t, "runs/seed2/"+lab.AgentFile, "damaged")
	roomtest.Write(t, "runs/seed3/"+lab.RecordFile, "{}")
	says(t, sweep,
		"0 seed1: was done already: not solved",
		"1 seed2: not solved within 50 steps; warning: ",
		"; the damaged one is kept",
		"2 seed3: not solved")
	again, err := os.Stat("runs/seed1/" + lab.RecordFile)
	must(t, err)
	equal(t, "when the record of a run that was done was written", log.ModTime(), again.ModTime())
	same(t, "runs/seed2", "alone/seed2")

	// Nor is a run done whose agent is another than its record's.
	roomtest.Write(t, "runs/seed3/"+lab.AgentFile, roomtest.Read(t, "runs/seed3", lab.PreviousFile))
	says(t, sweep, "1 seed2: was done already: ", "2 seed3: not solved")

	// Nor is a run done without agent.qta, even if the save before it is as far.
	os.Rename("runs/seed3/"+lab.AgentFile, "runs/seed3/"+lab.PreviousFile)
	says(t, sweep, "2 seed3: not solved")
	roomtest.Read(t, "runs/seed3", lab.AgentFile)

	// A run of another budget is not done either.
	tinySweep(t, "s.txt", 1, "-steps 60")
	says(t, sweep, "0 seed1: not solved within 60 steps")
	equal(t, "the steps with a budget of 60", 60, recordOf(t, "runs/seed1").Outcome.Steps)

	// A cell that cannot run does not stop the others.
	tinySweep(t, "s.txt", 4, "-steps 50 -eval 9")
	must(t, os.RemoveAll("runs/seed2"))
	ends(t, exitFailure, sweep,
		"qta: 2 of 4 cells failed and 2 ended; the first failure: line ", "holds another run")
}

// begun waits until a run has a step.
func begun(t *testing.T, dir string) {
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		r, err := lab.ReadRecord(filepath.Join(dir, lab.RecordFile))
		if err == nil && r.Outcome.Steps > 0 {
			return
		}
	}
	t.Errorf("no run begins in %s", dir)
}

// A sweep that is stopped says so, by its exit code too, though a cell has failed.
func TestSweepStop(t *testing.T) {
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 4, "-steps 100000 -checkpoint 50")
	roomtest.Write(t, "runs/seed1/cat.jpg", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for _, dir := range []string{"runs/seed2", "runs/seed3"} {
			begun(t, dir)
		}
		cancel(errors.New("interrupt"))
	}()
	var out, stderr bytes.Buffer
	code := run(ctx, strings.Fields("sweep s.txt -jobs 2 -out runs"), &out, &stderr)
	if code != exitUnfinished || stderr.Len() > 0 {
		t.Fatalf("exit code %d, stderr %q", code, stderr.String())
	}
	has(t, out.String(),
		"0 seed1: failed: directory runs/seed1 holds cat.jpg ",
		"1 seed2: stopped",
		"Stopped with 0 of 4 cells done; all that was running is saved in runs; the same command")
	for _, dir := range []string{"runs/seed2", "runs/seed3"} {
		equal(t, "the state of "+dir, lab.Stopped, recordOf(t, dir).State)
	}
	if _, err := os.Stat("runs/seed4"); err == nil {
		t.Error("seed4 was begun")
	}
}

// TestStatus has a run that another process works on, and kills that process. In
// use, the run asks a sweep of it alone for another go.
func TestStatus(t *testing.T) {
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", 2, "-steps 100000 -checkpoint 7")
	c := start(t, tiny+" -steps 100000 -checkpoint 7 -seed 1 -out runs/seed1 -threads 1")
	begun(t, "runs/seed1")
	for _, named := range []string{"runs", "runs/seed1/run.json"} {
		says(t, "status "+named, "runs/seed1  running  at step ", "\n1 running\n")
	}
	r := invoke(t, "sweep s.txt -index 0")
	equal(t, "the exit code of a sweep of it", exitUnfinished, r.code)
	equal(t, "what the sweep says", "qta: another process is using runs/seed1\n", r.errors+r.out)
	c.Process.Kill()
	c.Wait()
	says(t, "status runs", "runs/seed1  killed  at step ", "\n1 killed\n")
	roomtest.Write(t, "runs/seed1/"+lab.RecordFile, "{}")
	says(t, "status runs",
		"runs/seed1/run.json  skipped  it is not the record of a run\n", "\n1 skipped\n")
	state, detail := status(&lab.Record{State: lab.Stopped})
	equal(t, "the state of a stopped run, on which no process works", "stopped", state)
	equal(t, "the detail before an evaluation", "at step 0 of 0", detail)
}

// start starts a process that runs a command. It ends with the test at the latest.
func start(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	t.Setenv("QTA_TEST_COMMAND", "1")
	c := exec.Command(os.Args[0], strings.Fields(line)...)
	c.Stderr = os.Stderr
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill() })
	return c
}

// killed kills processes, and reports whether all of them were at work on runs.
func killed(processes ...*exec.Cmd) bool {
	begun, _ := filepath.Glob("parts/*/" + lab.RecordFile)
	working := len(begun) > 0
	for _, c := range processes {
		c.Process.Kill()
		c.Wait()
		if c.ProcessState.ExitCode() >= 0 { // it had ended before
			working = false
		}
	}
	return working
}

// TestSweepKills kills sweeps that share a file at random moments and starts them
// again, until all has ended: all runs must be those of a sweep that was left
// alone.
func TestSweepKills(t *testing.T) {
	roomtest.Long(t)
	const cells, kills = 4, 3
	t.Chdir(t.TempDir())
	tinySweep(t, "s.txt", cells, "-steps 150 -eval 25 -checkpoint 10")
	const shared = "sweep s.txt -jobs 2 -out parts"
	begin := time.Now()
	mustRun(t, "sweep s.txt -jobs 2 -out whole")
	whole := time.Since(begin)
	rng := rand.New(rand.NewPCG(1, 1))
	hits := 0
	for range 10 * kills {
		first := start(t, shared)
		second := start(t, shared)
		time.Sleep(time.Duration(rng.Float64() * float64(whole) / kills))
		if killed(first, second) {
			hits++
		}
		if hits == kills {
			break
		}
	}
	if hits < kills {
		t.Errorf("%d of %d kills met sweeps at work", hits, kills)
	}
	// Two sweeps that share the cells wait for each other's.
	other := start(t, shared)
	mustRun(t, shared)
	must(t, other.Wait())
	for seed := 1; seed <= cells; seed++ {
		dir := fmt.Sprintf("seed%d", seed)
		same(t, filepath.Join("whole", dir), filepath.Join("parts", dir))
	}
}
