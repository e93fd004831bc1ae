package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// statusCommand prints a line for every run within directories, and for every
// cell of a sweep that has none yet.
func statusCommand(args []string, stdout io.Writer) error {
	dirs, err := parseFlags(newFlagSet("qta status"), args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return badInput("qta status needs directories with runs")
	}
	c, err := collect(dirs)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	total := map[string]int{}
	line := func(dir, state, detail string) {
		total[state]++
		fmt.Fprintf(t, "%s\t%s\t%s\n", dir, state, detail)
	}
	begun := map[string]bool{}
	for _, r := range c.runs {
		begun[r.dir] = true
		state, detail := status(r, time.Now())
		line(r.dir, state, detail)
	}
	for _, s := range c.skipped {
		begun[s.Path], begun[filepath.Dir(s.Path)] = true, true
		line(s.Path, "skipped", s.Why)
	}
	for _, dir := range slices.Sorted(maps.Keys(c.planned)) {
		if !begun[dir] {
			line(dir, "missing", c.planned[dir])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	separator := ""
	for _, state := range []string{"done", "running", "stopped", "killed", "failed", "missing", "skipped"} {
		if n := total[state]; n > 0 {
			fmt.Fprintf(stdout, "%s%d %s", separator, n, state)
			separator = ", "
		}
	}
	if separator == "" {
		fmt.Fprint(stdout, "no runs")
	}
	_, err = fmt.Fprintln(stdout)
	return err
}

// status returns the state of a run and what there is to say about it.
func status(r *finding, now time.Time) (state, detail string) {
	at := fmt.Sprintf("at step %d of %d, success %.2f", r.last().step, r.record.Limits.Steps, r.last().success)
	switch r.record.State {
	case stateSolved, stateFinished:
		detail := fmt.Sprintf("not solved within %s", count(r.record.Limits.Steps, "step"))
		if r.solvedAt > 0 {
			detail = fmt.Sprintf("solved at step %d", r.solvedAt)
		}
		if r.halfAt > 0 {
			detail += fmt.Sprintf(", half at step %d", r.halfAt)
		}
		if o := r.record.Outcome; o != nil && o.HeldOut != nil {
			detail += fmt.Sprintf("; %.3g %% of %s", 100**o.HeldOut, count(o.HeldOutRollouts, "more rollout"))
		}
		return "done", detail
	case stateFailed:
		if o := r.record.Outcome; o != nil {
			at = o.Message
		}
		return "failed", at
	case stateStopped:
		return "stopped", at
	}
	if !inUse(r.dir) && canSeeUse {
		return "killed", at
	}
	if info, err := os.Stat(filepath.Join(r.dir, recordFile)); err == nil {
		at = fmt.Sprintf("since %s (%v), %s", info.ModTime().Format(time.DateTime), now.Sub(info.ModTime()).Round(time.Second), at)
	}
	return "running", at
}
