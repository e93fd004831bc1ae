package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

// dryRun prints how many steps of each cell are left, and how long all take by the
// time of a step of the first on this machine.
func dryRun(ctx context.Context, cells []cell, jobs int, stdout io.Writer) error {
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell\tdirectory\tstate\tsteps")
	var first *cell
	total, left := 0, 0
	for i := range cells {
		c := &cells[i]
		steps, state := c.left()
		if total += steps; steps > 0 {
			left++
			if first == nil {
				first = c
			}
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\n", i, c.name, state, steps)
	}
	if err := t.Flush(); err != nil || first == nil {
		return err
	}
	step, err := stepTime(ctx, first.id.Params())
	if err != nil {
		return err
	}
	all := time.Duration(total) * step
	_, err = fmt.Fprintf(stdout, "\n%s left with at most %s. An update of %s takes %v here: if all are alike, %v with one thread\n"+
		"and %v with -jobs %d, and up to half as long again to choose goals.\n", words.Count(left, "cell"), words.Count(total, "step"),
		first.name, step.Round(time.Microsecond), all.Round(time.Second), (all / time.Duration(min(jobs, left))).Round(time.Second), jobs)
	return err
}

// left returns how many steps of a cell are left, and its state.
func (c *cell) left() (steps int, state string) {
	if _, done := c.done(); done {
		return 0, "done"
	}
	r, err := c.record()
	if err != nil || len(r.Run.Differences(c.id)) > 0 {
		return c.limits.Steps, "to do"
	}
	state, _ = status(&lab.Recorded{Path: c.dir, Record: r})
	return max(0, c.limits.Steps-r.Outcome.Steps), state
}

// stepTime measures a step of training with HER, which chooses no goals, after two
// that do not count.
func stepTime(ctx context.Context, p qta.Params) (time.Duration, error) {
	m, err := qta.NewMaze("4x5")
	if err != nil {
		return 0, err
	}
	p.Curriculum, p.LearningStarts = "her", 1
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	enough := errors.New("enough")
	var begin time.Time
	const before, most, longest = 2, 100, 200 * time.Millisecond
	o := qta.TrainOptions{Steps: before + most, EvalEvery: 2 * most, Rollouts: 1, AfterStep: func() error {
		if a.Steps() == before {
			begin = time.Now()
		} else if a.Steps() > before && time.Since(begin) > longest {
			return enough
		}
		return nil
	}}
	if err := a.Train(ctx, m.Env(), m.Env(), o); err != nil && !errors.Is(err, enough) {
		return 0, err
	}
	return time.Since(begin) / time.Duration(a.Steps()-before), nil
}
