package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"qta/cmd/qta/internal/rundir"
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
	later    []time.Time // before which a cell in use elsewhere is not tried again
	children map[int]*child
	jobs     int
	out      string
	stdout   io.Writer
	begin    time.Time

	solved  int // of the ended
	problem string
	live    bool
	lines   int // of the live table on the screen
}

// A child is the process of a cell.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  tail
	begin   time.Time
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.text = append(t.text, p...)
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
			i := s.next()
			if i < 0 {
				break
			}
			if err := s.start(program, i, ends); err != nil {
				s.fail(i, words.Bare(err))
			}
		}
		if len(s.children) == 0 && (ctx.Err() != nil || !slices.Contains(s.state, waiting)) {
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
	s.erase()
	return s.summary()
}

// next returns a cell to start, or -1.
func (s *sweep) next() int {
	now := time.Now()
	for i := range s.cells {
		if s.state[i] != waiting || now.Before(s.later[i]) {
			continue
		}
		if r, done := s.cells[i].done(); done {
			s.note(i, r, "was done already: ")
			continue
		}
		if rundir.InUse(s.cells[i].dir) {
			if s.later[i].IsZero() {
				s.sayOf(i, "another process is working on it; it is looked at again each second")
			}
			s.later[i] = now.Add(time.Second)
			continue
		}
		return i
	}
	return -1
}

// start starts the process of a cell, which sends i to ends when it has ended.
func (s *sweep) start(program string, i int, ends chan<- int) error {
	c := &child{begin: time.Now()}
	c.command = exec.Command(program, s.cells[i].arguments()...)
	c.command.Env = append(os.Environ(), stopAtEOF+"=1")
	c.command.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return err
	}
	if err := c.command.Start(); err != nil {
		return err
	}
	s.state[i], s.children[i] = running, c
	if !s.live {
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
		r, err := rundir.ReadRecord(s.cells[i].dir)
		if err != nil || r == nil {
			s.fail(i, fmt.Sprintf("its process has ended well and left no whole %s", rundir.RecordFile))
			return
		}
		if message != "" {
			s.sayOf(i, "%s", lastLine(message))
		}
		s.note(i, r, "")
	case code == exitUnfinished:
		s.state[i] = unfinished
		s.sayOf(i, "stopped and saved")
	case code == exitFailure && message == "qta: "+words.Bare(rundir.UseError{Dir: s.cells[i].dir}):
		s.state[i] = waiting // another has been faster, and may have done the run by now
	case code < 0 && ctx.Err() != nil:
		s.state[i] = unfinished
		s.sayOf(i, "ended without saving (%v)", c.command.ProcessState)
	case message == "":
		s.fail(i, c.command.ProcessState.String())
	default:
		s.fail(i, strings.TrimPrefix(lastLine(message), "qta: "))
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// note notes the end of a run.
func (s *sweep) note(i int, r *rundir.Record, prefix string) {
	s.state[i] = ended
	if r.Outcome != nil && r.Outcome.SolvedAt > 0 {
		s.solved++
		s.sayOf(i, "%ssolved at step %d", prefix, r.Outcome.SolvedAt)
		return
	}
	s.sayOf(i, "%snot solved within %s", prefix, words.Count(r.Limits.Steps, "step"))
}

func (s *sweep) fail(i int, message string) {
	s.state[i] = failed
	if s.problem == "" {
		s.problem = fmt.Sprintf("line %d, %s: %s", s.cells[i].line, s.cells[i].name, message)
	}
	s.sayOf(i, "failed: %s", message)
}

// summary ends a sweep.
func (s *sweep) summary() error {
	n := s.tally()
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

func (s *sweep) tally() (n [failed + 1]int) {
	for _, p := range s.state {
		n[p]++
	}
	return n
}

// say writes a line that stays.
func (s *sweep) say(format string, args ...any) {
	s.erase()
	fmt.Fprintf(s.stdout, format+"\n", args...)
}

// sayOf writes a line about a cell, which begins with its -index.
func (s *sweep) sayOf(i int, format string, args ...any) {
	s.say("%*d %s: %s", len(strconv.Itoa(len(s.cells)-1)), i, s.cells[i].name, fmt.Sprintf(format, args...))
}

// The live table is cut to a terminal of this size.
const (
	tableWidth = 79
	tableRows  = 20
)

// draw brings the live table up to date: below a line about the whole, one for
// each running cell.
func (s *sweep) draw() {
	if !s.live {
		return
	}
	s.erase()
	n := s.tally()
	now := time.Now()
	lines := []string{fmt.Sprintf("%d of %d done (%d solved), %d running, %d waiting, %d failed; %v",
		n[ended], len(s.cells), s.solved, n[running], n[waiting], n[failed], now.Sub(s.begin).Round(time.Second))}
	for i := range s.cells {
		c := s.children[i]
		if c == nil {
			continue
		}
		if len(lines) > tableRows {
			lines = append(lines, "  and others")
			break
		}
		e := lastEvaluation(s.cells[i].dir)
		lines = append(lines, fmt.Sprintf("  %-38s %8d steps %5.2f %12v", nameEnd(s.cells[i].name, 38), e.Step, e.Success, now.Sub(c.begin).Round(time.Second)))
	}
	for _, line := range lines {
		fmt.Fprintf(s.stdout, "%.*s\n", tableWidth, line)
	}
	s.lines = len(lines)
}

// nameEnd returns the end of a name, where cells differ, in n characters.
func nameEnd(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return "…" + string(r[len(r)-n+1:])
	}
	return name
}

// erase takes the live table off the screen.
func (s *sweep) erase() {
	if s.lines > 0 {
		fmt.Fprintf(s.stdout, "\x1b[%dA\x1b[J", s.lines)
		s.lines = 0
	}
}

// lastEvaluation returns the last row of a run's log, or zeros where there is
// none yet.
func lastEvaluation(dir string) rundir.Row {
	rows, _ := rundir.ReadLog(dir)
	return (&rundir.Run{Rows: rows}).Last()
}
