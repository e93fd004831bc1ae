package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

// This file runs sweeps. Every run is a process of its own with one thread, so
// that none can harm another, and a cluster's engine can take the place of this
// one by starting "qta sweep FILE -index N" instead. All that a sweep knows
// stands in the run directories: a sweep that was killed is continued by the
// same command.

// stopAtEOF is the environment variable with which a sweep starts a process
// that is to stop, as after SIGTERM, at the end of its standard input. So
// cells also stop when the sweep is killed, on every system.
const stopAtEOF = "QTA_STOP_AT_EOF"

// The states of a cell while its sweep runs.
type progress int

const (
	waiting progress = iota
	running
	ended
	unfinished // stopped and saved
	failed
)

// A sweep is the work on many cells.
type sweep struct {
	cells    []cell
	state    []progress
	tally    [failed + 1]int // cells in each state
	fresh    int             // the first cell that nobody has looked at
	again    []retry         // cells that were in use elsewhere, by the time
	children map[int]*child
	jobs     int
	out      string
	stdout   *terminal.Output
	begin    time.Time

	solved  int // of the ended
	problem string
}

// A retry is a cell that is looked at again after a time.
type retry struct {
	cell  int
	after time.Time
}

func newSweep(cells []cell, jobs int, out string, stdout *terminal.Output) *sweep {
	s := &sweep{cells: cells, state: make([]progress, len(cells)), children: map[int]*child{}, jobs: jobs, out: out, stdout: stdout,
		begin: time.Now()}
	s.tally[waiting] = len(cells)
	return s
}

// set notes the state of a cell.
func (s *sweep) set(i int, p progress) {
	s.tally[s.state[i]]--
	s.tally[p]++
	s.state[i] = p
}

// A child is the process of a cell.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  tail
	begin   time.Time
	steps   int // the budget

	seen time.Time     // when the table saw its last evaluation,
	step int           // which was of this step
	left time.Duration // that the table has shown, or 0
}

// A tail keeps the end of what is written to it, and the first line that tells of
// a crash, after which Go writes what helps nobody here.
type tail struct {
	text  []byte
	crash string
}

var crashLine = regexp.MustCompile(`(?m)^(?:fatal error: |panic: |qta: a mistake in this program: ).*\n`)

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.text = append(t.text, p...)
	if t.crash == "" {
		t.crash = words.Plain(strings.TrimSuffix(string(crashLine.Find(t.text)), "\n"))
	}
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// run works on the cells until all have ended, or ctx has and the running ones
// are saved.
func (s *sweep) run(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program's own file is unknown, so that it cannot start cells: %w", err)
	}
	ends := make(chan int)
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	stop := ctx.Done()
	for {
		for ctx.Err() == nil && len(s.children) < s.jobs {
			i := s.next(ctx)
			if i < 0 {
				break
			}
			if err := s.start(program, i, ends); err != nil {
				s.fail(i, words.Bare(err))
			}
		}
		if len(s.children) == 0 && (ctx.Err() != nil || s.tally[waiting] == 0) {
			break
		}
		s.draw()
		select {
		case i := <-ends:
			s.end(ctx, i)
		case <-clock.C:
		case <-stop:
			stop = nil
			for _, c := range s.children {
				c.stdin.Close()
			}
			s.say("Stopping: %s to save.", words.Count(len(s.children), "run"))
		}
	}
	s.stdout.Clear()
	return s.summary()
}

// next returns a cell to start, or -1.
func (s *sweep) next(ctx context.Context) int {
	for ctx.Err() == nil {
		i, before := s.fresh, false
		if now := time.Now(); len(s.again) > 0 && now.After(s.again[0].after) {
			i, before, s.again = s.again[0].cell, true, s.again[1:]
		} else if s.fresh++; i >= len(s.cells) {
			s.fresh = i
			return -1
		}
		c := &s.cells[i]
		if r, done := c.done(); done {
			s.note(i, r, "was done already: ")
			continue
		}
		if rundir.InUse(c.dir()) {
			if !before {
				s.sayOf(i, "another process is working on it; it is looked at again each second")
			}
			s.retry(i)
			continue
		}
		return i
	}
	return -1
}

// retry lets a waiting cell be looked at again.
func (s *sweep) retry(i int) {
	s.again = append(s.again, retry{i, time.Now().Add(time.Second)})
}

// start starts the process of a cell, which sends i to ends when it has ended.
func (s *sweep) start(program string, i int, ends chan<- int) error {
	p, err := s.cells[i].plan()
	if err != nil {
		return err
	}
	c := &child{begin: time.Now(), steps: p.limits.Steps}
	c.command = exec.Command(program, s.cells[i].arguments()...)
	c.command.Env = append(os.Environ(), stopAtEOF+"=1")
	c.command.Stderr = &c.stderr
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return err
	}
	if err := c.command.Start(); err != nil {
		return err
	}
	s.set(i, running)
	s.children[i] = c
	if !s.stdout.Live() {
		s.sayOf(i, "started")
	}
	go func() {
		c.command.Wait() // ProcessState tells what came of it
		ends <- i
	}()
	return nil
}

// end notes how the process of a cell has ended.
func (s *sweep) end(ctx context.Context, i int) {
	c := s.children[i]
	delete(s.children, i)
	c.stdin.Close()
	message := strings.TrimSpace(string(c.stderr.text))
	switch code := c.command.ProcessState.ExitCode(); {
	case code == exitDone:
		r, err := rundir.ReadRecord(s.cells[i].dir())
		if err != nil || r == nil {
			s.fail(i, fmt.Sprintf("its process has ended well and left no whole %s", rundir.RecordFile))
			return
		}
		if message != "" {
			s.sayOf(i, "%s", lastLine(message))
		}
		s.note(i, r, "")
	case code == exitUnfinished:
		s.set(i, unfinished)
		s.sayOf(i, "stopped and saved")
	case code == exitFailure && message == "qta: "+words.Bare(rundir.UseError{Dir: s.cells[i].dir()}):
		s.set(i, waiting) // another has been faster, and may have done the run by now
		s.retry(i)
	case code < 0 && ctx.Err() != nil:
		s.set(i, unfinished)
		s.sayOf(i, "ended without saving (%v)", c.command.ProcessState)
	case c.stderr.crash != "":
		s.fail(i, fmt.Sprintf("%s (%v)", strings.TrimPrefix(c.stderr.crash, "qta: "), c.command.ProcessState))
	case message == "":
		s.fail(i, c.command.ProcessState.String())
	default:
		s.fail(i, strings.TrimPrefix(lastLine(message), "qta: "))
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// note notes the end of a run.
func (s *sweep) note(i int, r *rundir.Record, prefix string) {
	s.set(i, ended)
	if r.Outcome != nil && r.Outcome.SolvedAt > 0 {
		s.solved++
		s.sayOf(i, "%ssolved at step %d", prefix, r.Outcome.SolvedAt)
		return
	}
	s.sayOf(i, "%snot solved within %s", prefix, words.Count(r.Limits.Steps, "step"))
}

func (s *sweep) fail(i int, message string) {
	s.set(i, failed)
	if s.problem == "" {
		s.problem = fmt.Sprintf("line %d, %s: %s", s.cells[i].line, s.cells[i].name, message)
	}
	s.sayOf(i, "failed: %s", message)
}

// summary ends a sweep.
func (s *sweep) summary() error {
	n := s.tally
	switch {
	case n[failed] > 0:
		return fmt.Errorf("%d of %s failed and %d ended; the first failure: %s", n[failed], words.Count(len(s.cells), "cell"), n[ended], s.problem)
	case n[ended] < len(s.cells):
		s.say("Stopped with %d of %s done; all that was running is saved in %s, and the same command goes on.", n[ended], words.Count(len(s.cells), "cell"), s.out)
		return errUnfinished
	}
	s.say("All %s done, %d solved, in %s. \"qta report %s\" makes a page of them.", words.Count(len(s.cells), "cell"), s.solved, s.out, words.Shell(s.out))
	return nil
}

// say writes a line that stays.
func (s *sweep) say(format string, args ...any) {
	s.stdout.Say(format, args...)
}

// sayOf writes a line about a cell, which begins with its -index.
func (s *sweep) sayOf(i int, format string, args ...any) {
	s.say("%*d %s: %s", len(strconv.Itoa(len(s.cells)-1)), i, s.cells[i].name, fmt.Sprintf(format, args...))
}

// draw brings the lines about the sweep and the running cells up to date.
func (s *sweep) draw() {
	if !s.stdout.Live() {
		return
	}
	now := time.Now()
	n := s.tally
	about := []string{fmt.Sprintf("%d of %d done (%d solved)", n[ended], len(s.cells), s.solved), fmt.Sprintf("%d running", n[running]),
		fmt.Sprintf("%d failed", n[failed]), fmt.Sprintf("%d waiting", n[waiting]), now.Sub(s.begin).Round(time.Second).String()}
	var rows []terminal.Cell
	for _, i := range slices.Sorted(maps.Keys(s.children)) {
		rows = append(rows, s.children[i].row(&s.cells[i], now))
	}
	s.stdout.ShowSweep(about, rows)
}

// row returns what the table shows of a running cell.
func (c *child) row(cell *cell, now time.Time) terminal.Cell {
	e := lastEvaluation(cell.dir())
	row := terminal.Cell{Name: cell.name, Step: e.Step, Steps: c.steps, Success: e.Success, Took: now.Sub(c.begin), Left: -1}
	if e.Step != c.step {
		c.step, c.seen = e.Step, now
	}
	if at, rate := rundir.LastTiming(cell.dir()); rate > 0 && at == e.Step {
		row.Rate = rate
		row.Left = max(0, time.Duration(float64(c.steps-at)/rate*float64(time.Second))-now.Sub(c.seen))
		if c.left > 0 {
			row.Left = min(row.Left, c.left)
		}
		c.left = row.Left
	}
	return row
}

// lastEvaluation returns the last row of a run's log, or zeros where there is
// none yet.
func lastEvaluation(dir string) rundir.Row {
	rows, _ := rundir.ReadLog(dir)
	return (&rundir.Run{Rows: rows}).Last()
}
