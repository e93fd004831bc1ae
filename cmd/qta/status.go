package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

// statusCommand prints a line for every run within directories, and for every
// cell of a sweep that has none yet.
func statusCommand(args []string, stdout io.Writer) error {
	dirs, err := parseFlags(newFlagSet("status"), args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return words.BadInput("qta status needs directories with runs")
	}
	c, err := rundir.Collect(dirs)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	total := map[string]int{}
	line := func(dir, state, detail string) {
		total[state]++
		fmt.Fprintf(t, "%s\t%s\t%s\n", words.Plain(dir), state, words.Plain(detail))
	}
	begun := map[string]bool{}
	for _, r := range c.Runs {
		begun[r.Dir] = true
		state, detail := status(r, time.Now())
		line(r.Dir, state, detail)
	}
	for _, s := range c.Skipped {
		begun[s.Path], begun[filepath.Dir(s.Path)] = true, true
		line(s.Path, "skipped", s.Why)
	}
	for _, dir := range slices.Sorted(maps.Keys(c.Planned)) {
		if !begun[dir] {
			line(dir, "missing", c.Planned[dir])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var totals []string
	for _, state := range []string{"done", "running", "stopped", "killed", "failed", "missing", "skipped"} {
		if n := total[state]; n > 0 {
			totals = append(totals, fmt.Sprintf("%d %s", n, state))
		}
	}
	_, err = fmt.Fprintln(stdout, cmp.Or(strings.Join(totals, ", "), "no runs"))
	return err
}

// status returns the state of a run and what there is to say about it.
func status(r *rundir.Run, now time.Time) (state, detail string) {
	step := r.Last().Step
	if o := r.Record.Outcome; o != nil {
		step = max(step, o.Steps) // a run can stop between evaluations
	}
	at := fmt.Sprintf("at step %d of %d, success %.2f", step, r.Record.Limits.Steps, r.Last().Success)
	if len(r.Rows) == 0 {
		at = fmt.Sprintf("at step %d of %d, not evaluated yet", step, r.Record.Limits.Steps)
	}
	switch r.Record.State {
	case rundir.Solved, rundir.Finished:
		detail := fmt.Sprintf("not solved within %s", words.Count(r.Record.Limits.Steps, "step"))
		if r.SolvedAt > 0 {
			detail = fmt.Sprintf("solved at step %d", r.SolvedAt)
		}
		if r.HalfAt > 0 {
			detail += fmt.Sprintf(", half at step %d", r.HalfAt)
		}
		if o := r.Record.Outcome; o != nil && o.HeldOut != nil {
			detail += fmt.Sprintf("; %.3g %% of %s", o.HeldOutPercent(), words.Count(o.HeldOutRollouts, "more rollout"))
		}
		return "done", detail
	case rundir.Failed:
		if o := r.Record.Outcome; o != nil {
			at = o.Message
		}
		return "failed", at
	case rundir.Stopped:
		return "stopped", at
	}
	if !rundir.InUse(r.Dir) && rundir.CanSeeUse {
		return "killed", at
	}
	if info, err := os.Stat(filepath.Join(r.Dir, rundir.RecordFile)); err == nil {
		at = fmt.Sprintf("since %s (%v), %s", info.ModTime().Format(time.DateTime), now.Sub(info.ModTime()).Round(time.Second), at)
	}
	return "running", at
}
