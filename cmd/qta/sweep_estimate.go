package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"qta"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

// stepsPerGoal is how many environment steps come to one choice of a goal in
// an estimate: runs at full size have one choice in four to five steps, more
// while they learn.
const stepsPerGoal = 4

// vdsRows is how many transitions VDS's own value functions learn from after
// an episode: three of them, in 100 updates of 1000 each.
const vdsRows = 3 * 100 * 1000

// arithmetic returns the floating point operations of an update, and of an
// environment step on average over a run of some steps.
func arithmetic(p qta.Params, sizes qta.Sizes, steps int) (update, all float64) {
	h, layers, critics := float64(p.HiddenSize), float64(p.HiddenLayers), float64(p.Critics)
	w := float64(sizes.Observation+sizes.Goal+sizes.Action)*h + (layers-1)*h*h + h
	update = (5*critics + 6) * w * float64(p.Batch)
	if p.HeadOwnDraw {
		update += 3 * critics * w * float64(p.Batch)
	}
	if p.PolicyEvery > 1 {
		update -= (1 - 1/float64(p.PolicyEvery)) * (2*critics + 3) * w * float64(p.Batch)
	}
	all = update
	if p.UpdatesPerEpisode > 0 {
		all *= float64(p.UpdatesPerEpisode) / float64(p.Horizon)
	}
	switch p.Curriculum {
	case qta.CurriculumQTA:
		candidates, actions := min(float64(p.Candidates+p.CandidatesKept), float64(steps)/2), float64(p.UncertaintyActions)
		if p.Uncertainty == qta.UncertaintyBootstrap || p.Uncertainty == qta.UncertaintyEnsemble {
			actions = float64(p.EnsembleActions)
		}
		all += candidates * actions * critics * w / stepsPerGoal
	case qta.CurriculumVDS: // policy, target, and a value function forward and backward
		all += vdsRows * 5 * w / float64(p.Horizon)
	}
	return 2 * update, 2 * all // a multiplication and an addition each
}

// dryRun prints what cells would cost. The rate of this machine is measured by
// updates of agents with the cells' parameters.
func dryRun(ctx context.Context, cells []cell, jobs int, stdout io.Writer) error {
	seconds := map[qta.Params]float64{}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell\tdirectory\tstate\tsteps\tTflop\ttime")
	total, flops, left := 0.0, 0.0, 0
	for i := range cells {
		c := &cells[i]
		p, m := c.run.Params(), c.run.NewMaze()
		update, all := arithmetic(p, m.Env().Sizes(), c.limits.Steps)
		if seconds[p] == 0 {
			var err error
			if seconds[p], err = updateTime(ctx, m, p); err != nil {
				return err
			}
		}
		steps, state := c.limits.Steps, "to do"
		r, err := rundir.ReadRecord(c.dir)
		switch {
		case err != nil:
			state = "damaged"
		case r != nil:
			state = r.State
			if _, done := c.done(); done {
				state, steps = "done", 0
			} else if at := lastEvaluation(c.dir).Step; at < steps {
				steps -= at
			}
		}
		if steps > 0 {
			left++
		}
		took := float64(steps) * seconds[p] * all / update
		total, flops = total+took, flops+float64(steps)*all
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.3g\t%s\n", i, c.name, state, steps, float64(steps)*all/1e12, duration(took))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	together := min(jobs, max(left, 1))
	_, err := fmt.Fprintf(stdout, "\nIn all %.4g Tflop and at most %s with one thread (%s kernel), %s with -jobs %d if there are as many idle cores.\n"+
		"These are the budgets: runs that stop when they are solved end sooner. QTA's choice of a goal is counted in every %dth step.\n",
		flops/1e12, duration(total), qta.KernelName(), duration(total/float64(together)), jobs, stepsPerGoal)
	return err
}

// duration writes seconds to about three digits.
func duration(seconds float64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.3g s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.3g min", seconds/60)
	}
	return fmt.Sprintf("%.3g h", seconds/3600)
}

// updateTime measures the seconds that an environment step with an update
// takes, before goals are chosen.
func updateTime(ctx context.Context, m *qta.Maze, p qta.Params) (float64, error) {
	const (
		first   = 3                      // updates that are not counted
		least   = 3                      // that are
		longest = 300 * time.Millisecond // unless they take longer
	)
	p.InitialSteps = rundir.MaxSteps
	p.LearningStarts = min(p.LearningStarts, 50)
	p.UpdatesPerEpisode = 0
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		return 0, words.BadInput("%w", err)
	}
	defer a.Close()
	enough := errors.New("enough")
	var begin time.Time
	seconds := 0.0
	err = a.Train(ctx, m.Env(), m.Env(), qta.TrainOptions{
		Steps: rundir.MaxSteps, EvalEvery: rundir.MaxSteps, Rollouts: 1,
		AfterStep: func() error {
			n := a.Steps() - p.LearningStarts - first
			if n == 0 {
				begin = time.Now()
			}
			if n >= least && time.Since(begin) > longest {
				seconds = time.Since(begin).Seconds() / float64(n)
				return enough
			}
			return nil
		},
	})
	if errors.Is(err, enough) {
		return seconds, nil
	}
	return 0, err
}
