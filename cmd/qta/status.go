package main

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"qta/internal/words"
	"qta/lab"
)

type statusFlags struct{ sweep string }

func (f *statusFlags) flagSet() *flag.FlagSet {
	flags := newFlagSet("status")
	text(flags, &f.sweep, "sweep", "`FILE` list also the runs of this sweep file that the directory lacks")
	return flags
}

// statusCommand prints a line for every run within directories, and for every
// cell of a sweep that has none yet.
func statusCommand(in call) error {
	var f statusFlags
	dirs, err := parseFlags(f.flagSet(), in.args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return words.BadInput("qta status needs directories with runs")
	}
	c, err := lab.Collect(dirs)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(in.out, 0, 0, 2, ' ', 0)
	total := map[string]int{}
	line := func(dir, state, detail string) {
		total[state]++
		fmt.Fprintf(t, "%s\t%s\t%s\n", words.Plain(dir), state, words.Plain(detail))
	}
	begun := map[string]bool{}
	for _, r := range c.Runs {
		begun[r.Path] = true
		state, detail := status(r)
		line(r.Path, state, detail)
	}
	for _, s := range c.Skipped {
		begun[filepath.Dir(s.Path)] = true
		line(s.Path, "skipped", s.Why)
	}
	if f.sweep != "" {
		cells, err := readSweep(f.sweep, dirs[0])
		if err != nil {
			return err
		}
		for _, c := range cells {
			if !begun[c.dir] {
				line(c.dir, "missing", strings.Join(c.flags, " "))
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var totals strings.Builder
	for _, state := range []string{"done", "running", "stopped", "killed", "failed", "missing", "skipped"} {
		if n := total[state]; n > 0 {
			fmt.Fprintf(&totals, ", %d %s", n, state)
		}
	}
	in.out.Say("%s", cmp.Or(strings.TrimPrefix(totals.String(), ", "), "no runs"))
	return nil
}

// status returns the state of a run and what there is to say about it.
func status(r *lab.Recorded) (state, detail string) {
	o := r.Outcome
	at := fmt.Sprintf("at step %d of %d, success %.2f", max(o.Steps, r.Last().Step), r.Limits.Steps,
		r.Last().Success)
	if len(r.Curve) == 0 {
		at = fmt.Sprintf("at step %d of %d, not evaluated yet", o.Steps, r.Limits.Steps)
	}
	switch r.State {
	case lab.Solved, lab.Finished:
		detail := fmt.Sprintf("not solved within %s", words.Count(r.Limits.Steps, "step"))
		if o.SolvedAt > 0 {
			detail = fmt.Sprintf("solved at step %d", o.SolvedAt)
		}
		if o.HalfAt > 0 {
			detail += fmt.Sprintf(", half at step %d", o.HalfAt)
		}
		if o.HeldOut != nil {
			detail += fmt.Sprintf("; %.3g %% of %s", o.HeldOutPercent(), words.Count(o.HeldOutRollouts,
				"more rollout"))
		}
		return "done", detail
	case lab.Failed:
		return "failed", o.Message
	case lab.Stopped:
		return "stopped", at
	}
	if !lab.InUse(r.Path) && lab.CanSeeUse {
		return "killed", at
	}
	return "running", at
}
