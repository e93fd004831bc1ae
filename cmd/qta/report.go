package main

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"qta/internal/report"
	"qta/internal/words"
	"qta/lab"
)

// This file has the commands that read many runs: status and report.

// statusCommand prints a line for every run within directories.
func statusCommand(*flag.FlagSet) func(call) error {
	return func(in call) error {
		c, err := lab.Collect(in.args)
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(in.out, 0, 0, 2, ' ', 0)
		total := map[string]int{"skipped": len(c.Skipped)}
		for _, r := range c.Runs {
			state, detail := status(r)
			total[state]++
			fmt.Fprintf(t, "%s\t%s\t%s\n", words.Plain(r.Path), state, words.Plain(detail))
		}
		for _, s := range c.Skipped {
			fmt.Fprintf(t, "%s\tskipped\t%s\n", words.Plain(s.Path), words.Plain(s.Why))
		}
		t.Flush() // in.out keeps an error
		var totals []string
		states := []string{"done", "running", "stopped", "killed", "failed", "skipped"}
		for _, state := range states {
			if n := total[state]; n > 0 {
				totals = append(totals, fmt.Sprintf("%d %s", n, state))
			}
		}
		in.out.say("%s", cmp.Or(strings.Join(totals, ", "), "no runs"))
		return nil
	}
}

// status returns the state of a run, and its result or how far it has come.
func status(r *lab.Record) (state, detail string) {
	o := r.Outcome
	at := fmt.Sprintf("at step %d of %d", o.Steps, r.Limits.Steps)
	if len(r.Curve) > 0 {
		at += fmt.Sprintf(", success %.2f", r.Last().Success)
	}
	switch {
	case r.State == lab.Solved || r.State == lab.Finished:
		detail = reached(r)
		if o.HeldOut != nil {
			rollouts := words.Count(o.HeldOutRollouts, "more rollout")
			detail += "; " + o.HeldOutPercent() + " of " + rollouts
		}
		return "done", detail
	case r.State == lab.Failed:
		return "failed", o.Message
	case r.State == lab.Running && !lab.InUse(r.Path):
		return "killed", at
	}
	return r.State, at
}

// reached says whether a run that has ended was solved.
func reached(r *lab.Record) string {
	if at := r.Outcome.SolvedAt; at > 0 {
		return fmt.Sprintf("solved at step %d", at)
	}
	return "not solved within " + words.Count(r.Limits.Steps, "step")
}

func reportCommand(flags *flag.FlagSet) func(call) error {
	out := flags.String("o", "report.html",
		"write the `FILE`: a page, or a table of the runs if its name ends in .csv")
	return func(in call) error {
		kind := ".html"
		write := (*report.Report).HTML
		if filepath.Ext(*out) == ".csv" {
			kind = ".csv"
			write = (*report.Report).CSV
		}
		c, err := lab.Collect(in.args)
		if err != nil {
			return err
		}
		r := report.New(c)
		dirs := words.Plain(strings.Join(in.args, ", "))
		leftOut := words.Count(len(r.Skipped), "file") + " left out"
		if len(r.Skipped) > 0 {
			one := r.Skipped[0]
			leftOut += words.Plain(", such as " + one.Path + ": " + one.Why)
		}
		if len(r.Runs) == 0 {
			return words.BadInput("there is no run in %s; %s", dirs, leftOut)
		}
		text := words.Text(string(write(r)))
		if err := writeOutput(*out, kind, []byte(text)); err != nil {
			return err
		}
		fmt.Fprintf(in.out, "%s in %s; %s. The report is %s.\n",
			words.Count(len(r.Runs), "run"), dirs, leftOut, *out)
		return nil
	}
}
