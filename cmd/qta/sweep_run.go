package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qta/cmd/qta/internal/terminal"
	"qta/internal/words"
	"qta/lab"
)

// This file runs sweeps. Every run is a process of its own with one thread, so
// that none can harm another, and a cluster's engine can take the place of this
// one by starting "qta sweep FILE -index N" instead. All that a sweep knows stands
// in the runs' directories: a sweep that was killed is continued by the same
// command.

// stopAtEOF is the environment variable with which a sweep starts a process
// that is to stop, as after SIGTERM, at the end of its standard input. So
// cells also stop when the sweep is killed, on every system.
const stopAtEOF = "QTA_STOP_AT_EOF"

// What has become of a cell.
type fate int

const (
	solved fate = iota
	ended       // unsolved
	failed
	stopped // and saved
	used    // by another process
)

// news are of a cell.
type news struct {
	cell  int
	fate  fate
	story string
}

// A sweep is the work on many cells.
type sweep struct {
	cells   []cell
	jobs    int
	out     string
	stdout  *terminal.Output
	waiting []int     // cells
	again   []int     // cells that another process works on, to be looked at again
	working []int     // cells
	count   [used]int // cells by their fate
	problem string    // the first failure
}

// run works on the cells until all have ended, or ctx has and the running ones
// are saved.
func (s *sweep) run(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program's own file is unknown, so that it cannot start cells: %w", err)
	}
	for i := range s.cells {
		s.waiting = append(s.waiting, i)
	}
	results := make(chan news)
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	stop := ctx.Done()
	for len(s.working) > 0 || len(s.waiting)+len(s.again) > 0 && ctx.Err() == nil {
		if len(s.waiting) > 0 && len(s.working) < s.jobs && ctx.Err() == nil {
			i := s.waiting[0]
			s.waiting, s.working = s.waiting[1:], append(s.working, i)
			go func() {
				fate, story := s.cells[i].work(ctx, program)
				results <- news{i, fate, story}
			}()
			continue
		}
		s.draw()
		select {
		case n := <-results:
			s.note(n)
		case <-clock.C:
			s.waiting, s.again = append(s.waiting, s.again...), nil
		case <-stop:
			stop = nil
			s.stdout.Say("Stopping: %s to save.", words.Count(len(s.working), "run"))
		}
	}
	s.stdout.Clear()
	return s.summary()
}

// note takes in what has become of a cell.
func (s *sweep) note(n news) {
	c := &s.cells[n.cell]
	s.working = slices.DeleteFunc(s.working, func(i int) bool { return i == n.cell })
	if n.fate == used {
		s.again = append(s.again, n.cell)
		if c.waited {
			return
		}
		c.waited = true
	} else {
		s.count[n.fate]++
	}
	if n.fate == failed {
		s.problem = cmp.Or(s.problem, fmt.Sprintf("line %d, %s: %s", c.line, c.name, n.story))
		n.story = "failed: " + n.story
	}
	s.stdout.Say("%*d %s: %s", len(fmt.Sprint(len(s.cells)-1)), n.cell, c.name, n.story)
}

// summary ends a sweep.
func (s *sweep) summary() error {
	all, done := words.Count(len(s.cells), "cell"), s.count[solved]+s.count[ended]
	switch {
	case s.count[failed] > 0:
		return fmt.Errorf("%d of %s failed and %d ended; the first failure: %s", s.count[failed], all, done,
			s.problem)
	case done < len(s.cells):
		s.stdout.Say("Stopped with %d of %s done; all that was running is saved in %s, and the same command "+
			"goes on.", done, all, s.out)
		return errUnfinished
	}
	s.stdout.Say("All %s done, %d solved, in %s. \"qta report %s\" makes a page of them.", all,
		s.count[solved], s.out, words.Shell(s.out))
	return nil
}

// draw brings the line about the sweep up to date.
func (s *sweep) draw() {
	var line strings.Builder
	line.WriteString(fmt.Sprintf("%d of %d done, %d solved, %d failed, %d waiting", s.count[solved]+s.count[ended], len(s.cells),
		s.count[solved], s.count[failed], len(s.waiting)+len(s.again)))
	for _, i := range s.working {
		if r, err := s.cells[i].record(); err == nil && s.stdout.Live() {
			fmt.Fprintf(&line, "; %s at %d, success %.2f", s.cells[i].name, r.Last().Step, r.Last().Success)
		}
	}
	s.stdout.Show(line.String())
}

// work makes the run of a cell unless it is done. The story is what there is to
// say of it.
func (c *cell) work(ctx context.Context, program string) (fate, string) {
	if r, done := c.done(); done {
		fate, story := outcome(r)
		return fate, "was done already: " + story
	}
	if lab.InUse(c.dir) {
		return used, "another process is working on it; it is looked at again"
	}
	said, err := c.train(ctx, program)
	var exit *exec.ExitError
	code := exitFailure
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	switch {
	case err == nil:
		r, err := c.record()
		if err != nil {
			return failed, fmt.Sprintf("its process has ended well, but of its record: %v", err)
		}
		return outcome(r)
	case code == exitUnfinished:
		return stopped, "stopped and saved"
	case code < 0 && ctx.Err() != nil:
		return stopped, fmt.Sprintf("ended without saving (%v)", err)
	case said == lab.UseError{Dir: c.dir}.Error(): // another has been faster
		return used, "another process is working on it; it is looked at again"
	case said == "":
		return failed, err.Error()
	}
	return failed, said
}

// outcome tells how a run has ended.
func outcome(r *lab.Record) (fate, string) {
	if at := r.Outcome.SolvedAt; at > 0 {
		return solved, fmt.Sprintf("solved at step %d", at)
	}
	return ended, fmt.Sprintf("not solved within %s", words.Count(r.Limits.Steps, "step"))
}

// train runs the process of a cell. It returns the last thing that it has said on
// stderr: a dump that follows a crash is left out.
func (c *cell) train(ctx context.Context, program string) (said string, err error) {
	var stderr bytes.Buffer
	command := exec.Command(program, c.arguments()...)
	command.Env = append(os.Environ(), stopAtEOF+"=1")
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { stdin.Close() })()
	err = command.Run()
	for line := range strings.Lines(stderr.String()) {
		for _, begin := range []string{"qta: ", "panic: ", "fatal error: "} {
			if strings.HasPrefix(line, begin) {
				said = words.Plain(strings.TrimSpace(strings.TrimPrefix(line, "qta: ")))
			}
		}
	}
	return said, err
}

func (c *cell) record() (*lab.Record, error) {
	return lab.ReadRecord(filepath.Join(c.dir, lab.RecordFile))
}

// done reports whether a cell's directory holds the finished run that its line
// asks for, undamaged.
func (c *cell) done() (*lab.Record, bool) {
	r, err := c.record()
	ended := err == nil && (r.State == lab.Solved || r.State == lab.Finished)
	if !ended || r.Limits != c.limits || len(r.Run.Differences(c.id)) > 0 {
		return r, false
	}
	run, err := lab.Open(c.dir)
	if err != nil {
		return r, false
	}
	defer run.Agent.Close()
	return r, run.Warning == nil && run.Agent.Digest() == r.Outcome.Digest
}
