package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// work is the floating point operations of a run.
type work struct {
	update float64 // of one update
	step   float64 // of the updates and whatever else is done in every environment step
	choice float64 // of a choice of a goal
}

// arithmetic counts the work of a run of some steps.
func arithmetic(p qta.Params, sizes qta.Sizes, steps int) (a work) {
	h, layers, critics := float64(p.HiddenSize), float64(p.HiddenLayers), float64(p.Critics)
	w := float64(sizes.Observation+sizes.Goal+sizes.Action)*h + (layers-1)*h*h + h
	a.update = 2 * (5*critics + 6) * w * float64(p.Batch) // a multiplication and an addition each
	if p.HeadOwnDraw {
		a.update += 2 * 3 * critics * w * float64(p.Batch)
	}
	a.step = a.update * float64(p.UpdatesPerStep)
	if p.UpdatesPerEpisode > 0 {
		a.step *= float64(p.UpdatesPerEpisode) / float64(p.Horizon)
	}
	switch p.Curriculum {
	case qta.CurriculumQTA:
		candidates, actions := min(float64(p.Candidates), float64(steps)/2), float64(p.UncertaintyActions)
		if p.Uncertainty == qta.UncertaintyBootstrap || p.Uncertainty == qta.UncertaintyEnsemble {
			actions = float64(p.EnsembleActions)
		}
		a.choice = 2 * candidates * actions * critics * w
	case qta.CurriculumVDS: // policy, target, and a value function forward and backward
		a.step += 2 * vdsRows * 5 * w / float64(p.Horizon)
	}
	return a
}

// usual returns the work of an environment step on average.
func (a work) usual() float64 { return a.step + a.choice/stepsPerGoal }

// A shape is what of the parameters decides how fast an update is computed.
type shape struct{ hidden, layers, critics, batch int }

func shapeOf(p *qta.Params) shape { return shape{p.HiddenSize, p.HiddenLayers, p.Critics, p.Batch} }

// memory returns about how many bytes updates of the shape take.
func (s shape) memory() float64 {
	weights := float64(s.hidden) * float64(s.hidden) * float64(s.layers)
	values := float64(s.hidden) * float64(s.batch) * float64(s.layers)
	return 4 * (5*weights*float64(s.critics+1) + 3*values)
}

// A gauge tells how many operations per second this machine does. It measures
// updates of few shapes, whatever many a sweep has, and none that would take
// much time or memory: the others are taken to be as fast as the one that is
// nearest to them in operations.
type gauge struct {
	left     time.Duration     // to measure in
	rates    map[shape]float64 // operations per second
	measured []speed           // of these
}

type speed struct{ update, rate float64 } // operations of an update, and per second

const (
	gaugeTime   = 1500 * time.Millisecond
	gaugeMemory = 256 << 20
)

// newGauge measures the shape of small networks, which tells what else there is
// time to measure.
func newGauge(ctx context.Context) (*gauge, error) {
	g := &gauge{left: gaugeTime, rates: map[shape]float64{}}
	p := qta.Small()
	return g, g.measure(ctx, shapeOf(&p))
}

// rate returns the operations per second of a shape's updates.
func (g *gauge) rate(ctx context.Context, s shape) (float64, error) {
	if rate, ok := g.rates[s]; ok {
		return rate, nil
	}
	update := s.update()
	near := g.nearest(update).rate
	if took := leastUpdates * update / near; took > g.left.Seconds() || s.memory() > gaugeMemory {
		g.rates[s] = near
	} else if err := g.measure(ctx, s); err != nil {
		return 0, err
	}
	return g.rates[s], nil
}

// nearest returns the speed of the shape, of those measured, whose update is
// nearest.
func (g *gauge) nearest(update float64) speed {
	return slices.MinFunc(g.measured, func(a, b speed) int {
		return cmp.Compare(math.Abs(math.Log(a.update/update)), math.Abs(math.Log(b.update/update)))
	})
}

// params returns parameters whose updates have the shape, and nothing else that
// takes time.
func (s shape) params() qta.Params {
	p := qta.Default()
	p.HiddenSize, p.HiddenLayers, p.Critics, p.Batch = s.hidden, s.layers, s.critics, s.batch
	p.Curriculum, p.LearningStarts = qta.CurriculumHER, 1
	return p
}

// mazeSizes are those of every maze.
var mazeSizes = new(qta.MazeEnv).Sizes()

func (s shape) update() float64 { return arithmetic(s.params(), mazeSizes, 1).update }

// leastUpdates is how many updates a measurement takes, with the first, which
// does not count.
const leastUpdates = 4

// measure times updates.
func (g *gauge) measure(ctx context.Context, s shape) error {
	const (
		longest = 200 * time.Millisecond // unless so few updates take longer
		most    = 2000                   // which bounds the memory of the replay
	)
	m, err := qta.NewMaze("4x5")
	if err != nil {
		return err
	}
	p := s.params()
	begin := time.Now()
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		return err
	}
	defer a.Close()
	enough := errors.New("enough")
	var first time.Time
	updates := 0
	err = a.Train(ctx, m.Env(), m.Env(), qta.TrainOptions{Steps: most, EvalEvery: most + 1, Rollouts: 1, AfterStep: func() error {
		switch updates = a.Steps() - p.LearningStarts - 1; {
		case updates == 0:
			first = time.Now()
		case updates >= leastUpdates-1 && time.Since(first) > longest:
			return enough
		}
		return nil
	}})
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	g.rates[s] = s.update() * float64(updates) / max(time.Since(first).Seconds(), 1e-9)
	g.measured = append(g.measured, speed{s.update(), g.rates[s]})
	g.left -= time.Since(begin)
	return nil
}

// An estimate is what the cells of a sweep would cost.
type estimate struct {
	ctx   context.Context
	gauge *gauge
	costs []cost
}

// A cost is what an environment step of a cell takes, and how many it may have.
type cost struct {
	operations, rate float64 // of a step, and of those per second
	steps            int
}

func newEstimate(ctx context.Context) (*estimate, error) {
	g, err := newGauge(ctx)
	return &estimate{ctx: ctx, gauge: g}, err
}

// add adds a cell.
func (e *estimate) add(plan *plan) error {
	p := plan.run.Params()
	rate, err := e.gauge.rate(e.ctx, shapeOf(&p))
	e.costs = append(e.costs, cost{arithmetic(p, mazeSizes, plan.limits.Steps).usual(), rate, plan.limits.Steps})
	return err
}

// print writes the estimate, of which the rows are not kept: there may be a
// million.
func (e *estimate) print(cells []cell, jobs int, stdout io.Writer) error {
	begun := directories(cells[0].out)
	index, name := max(len(strconv.Itoa(len(cells)-1)), len("cell")), len("directory")
	for i := range cells {
		name = max(name, utf8.RuneCountInString(cells[i].name))
	}
	w := bufio.NewWriter(stdout)
	row := func(cell, directory, state, steps, flops, time string) {
		fmt.Fprintf(w, "%-*s  %-*s  %-8s  %9s  %8s  %9s\n", index, cell, name, directory, state, steps, flops, time)
	}
	row("cell", "directory", "state", "steps", "Tflop", "time")
	total, flops, left := 0.0, 0.0, 0
	for i, cost := range e.costs {
		c := &cells[i]
		steps, state := cost.steps, "to do"
		if top, _, _ := strings.Cut(filepath.ToSlash(c.name), "/"); begun[top] {
			steps, state = c.toDo(steps)
		}
		if steps > 0 {
			left++
		}
		operations := float64(steps) * cost.operations
		total, flops = total+operations/cost.rate, flops+operations
		row(strconv.Itoa(i), c.name, state, strconv.Itoa(steps), fmt.Sprintf("%.3g", operations/1e12), duration(operations/cost.rate))
	}
	together := min(jobs, max(left, 1))
	fmt.Fprintf(w, "\nIn all %.4g Tflop and at most %s with one thread (%s kernel), %s with -jobs %d if there are as many idle cores.\n"+
		"These are the budgets: runs that stop when they are solved end sooner. QTA's choice of a goal is counted in every %dth step.\n",
		flops/1e12, duration(total), qta.KernelName(), duration(total/float64(together)), jobs, stepsPerGoal)
	if n := len(e.gauge.rates) - len(e.gauge.measured); n > 0 {
		fmt.Fprintf(w, "Not measured, but taken to be as fast as what is nearest to them: %s of networks and minibatches.\n", words.Count(n, "size"))
	}
	return w.Flush()
}

// directories returns the names of what is in a directory.
func directories(path string) map[string]bool {
	entries, _ := os.ReadDir(path) // one that cannot be read has no runs
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}

// toDo returns how many of the cell's steps are left, and its state.
func (c *cell) toDo(steps int) (left int, state string) {
	r, err := rundir.ReadRecord(c.dir())
	switch {
	case err != nil:
		return steps, "damaged"
	case r == nil:
		return steps, "to do"
	}
	if _, done := c.done(); done {
		return 0, "done"
	}
	if p, err := c.plan(); err == nil && p.limits.Stop == "solved" && r.State == rundir.Solved && len(r.Run.Differences(p.run)) == 0 {
		return 0, "solved"
	}
	if at := lastEvaluation(c.dir()).Step; at < steps {
		steps -= at
	}
	return steps, r.State
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
