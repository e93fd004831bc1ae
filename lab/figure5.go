package lab

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"qta"
	"qta/internal/draw"
	"qta/internal/words"
)

// This file draws the paper's Figure 5 for a run. For several times of the training it
// shows every place's value, uncertainty and probability as a goal.

// A grid lays an image over the sketch, which is the picture of the environment. A place of
// the grid is a pixel at which the environment has a state.
type grid struct {
	Cols, Rows          int       // of the image, in pixels
	X, Y, Width, Height float64   // of the image, in the sketch
	Index               []int     // the pixel of each place
	Optimal             []float32 // the optimal value of each place, only in a maze

	// What [qta.Agent.Survey] gets: the observation and the goal at each place, and an
	// observation at the start with its desired goal.
	observations, goals [][]float64
	start, desired      []float64
}

// A snapshot holds what an agent computes for each place after a step of its training.
type snapshot struct {
	Step                          int
	Value, Deviation, Probability []float32
	Draws                         []int // the places of sampled goals
}

const (
	perCell       = 10     // places along each side of a maze's cell
	mostPoints    = 10_000 // places of a grid, because a snapshot takes time for each
	mostSnapshots = 8
)

// newGrid returns the grid of an environment. If ctx is done early, places are missing.
func newGrid(ctx context.Context, e Surveyor, sketch *Sketch, p qta.Params) *grid {
	if m, ok := e.(*mazeEnv); ok {
		return mazeGrid(m, p.Discount)
	}
	g := &grid{Width: sketch.Width, Height: sketch.Height}
	const pixels = 2500 // about so many in all
	side := math.Sqrt(sketch.Width * sketch.Height / pixels)
	g.Cols = max(1, int(math.Round(g.Width/side)))
	g.Rows = max(1, int(math.Round(g.Height/side)))
	for k := 0; k < g.Cols*g.Rows && ctx.Err() == nil; k++ {
		at := g.at(k)
		if observation, goal, ok := e.StateAt(at[0], at[1]); ok {
			g.add(k, slices.Clone(observation), slices.Clone(goal))
		}
	}
	s := e.Reset(rand.New(rand.NewPCG(1, 0)))
	g.start = slices.Clone(s.Observation)
	g.desired = slices.Clone(s.Desired)
	return g
}

// mazeGrid returns the places of a maze that can be reached, with their optimal values.
func mazeGrid(e *mazeEnv, discount float64) *grid {
	m := e.maze
	free := strings.Count(m.String(), ".") + 2 // S and G
	n := perCell
	for n > 1 && free*n*n > mostPoints {
		n--
	}
	start := m.Start()
	goal := m.Goal()
	rows := m.Rows() - 2 // within the outer wall
	cols := m.Cols() - 2
	g := &grid{
		Cols:    cols * n,
		Rows:    rows * n,
		X:       ring,
		Y:       ring,
		Width:   float64(cols),
		Height:  float64(rows),
		start:   start[:],
		desired: goal[:],
	}
	lattice := m.Hops(n) // includes the outer wall
	for k, hops := range lattice.Hops {
		if hops < 0 {
			continue
		}
		at := lattice.Point(k)
		row := k/lattice.Cols - n
		col := k%lattice.Cols - n
		g.add(row*g.Cols+col, at[:], at[:])
		g.Optimal = append(g.Optimal, float32(qta.OptimalValue(discount, hops)))
	}
	return g
}

func (g *grid) add(pixel int, observation, goal []float64) {
	g.Index = append(g.Index, pixel)
	g.observations = append(g.observations, observation)
	g.goals = append(g.goals, goal)
}

// at returns the middle of a pixel.
func (g *grid) at(pixel int) [2]float64 {
	col := float64(pixel%g.Cols) + 0.5
	row := float64(pixel/g.Cols) + 0.5
	return [2]float64{
		g.X + col*g.Width/float64(g.Cols),
		g.Y + row*g.Height/float64(g.Rows),
	}
}

// take returns a snapshot of the agent.
func (g *grid) take(a *qta.Agent) snapshot {
	s := a.Survey(g.start, g.desired, g.observations, g.goals, samplesEach)
	return snapshot{
		Step:        a.Steps(),
		Value:       short(s.Value),
		Deviation:   short(s.Uncertainty),
		Probability: short(s.Probability),
		Draws:       s.Samples,
	}
}

// thinSnapshots keeps the latest snapshot and those of evaluations 1, 2, 4, 8 and so on,
// because learning is fast at first. If there are too many, it drops the earliest. The step
// of the latest snapshot alone decides which ones stay.
func thinSnapshots(snapshots []snapshot, every int) []snapshot {
	last := snapshots[len(snapshots)-1].Step
	left := slices.DeleteFunc(snapshots, func(s snapshot) bool {
		n := s.Step / every // the number of its evaluation
		powerOf2 := s.Step%every == 0 && n&(n-1) == 0
		return s.Step != last && !powerOf2
	})
	return left[max(0, len(left)-mostSnapshots):]
}

// failure returns the absolute error of each place's value.
func (g *grid) failure(s *snapshot) []float32 {
	x := make([]float32, len(g.Optimal))
	for i, v := range g.Optimal {
		x[i] = float32(math.Abs(float64(s.Value[i] - v)))
	}
	return x
}

// firstPanel is the environment step of the first row of the paper's figure. Earlier, an
// agent has hardly learned, so its values are still near 0, higher than at all later steps.
const firstPanel = 5000

// figure5Numbers returns what a record keeps of the figure. It uses the snapshots from
// firstPanel on; if these are fewer than two, it uses all. It returns nil without optimal
// values or with fewer than two snapshots.
func (s *state) figure5Numbers() *Figure5 {
	if len(s.Snapshots) < 2 || s.grid == nil || s.grid.Optimal == nil {
		return nil
	}
	shots := s.Snapshots
	for len(shots) > 2 && shots[0].Step < firstPanel && shots[len(shots)-2].Step >= firstPanel {
		shots = shots[1:]
	}

	first := &shots[0]
	last := &shots[len(shots)-1]
	before := s.grid.failure(first)
	after := s.grid.failure(last)
	optimal := s.grid.Optimal
	x := Figure5{
		ValueGrowth:     mean(last.Value) - mean(first.Value),
		ErrorFall:       mean(before) - mean(after),
		ErrorByDistance: -correlation(after, optimal),
	}
	n := float64(len(shots))
	for _, shot := range shots {
		var drawn []float32 // the optimal values of sampled goals
		for _, k := range shot.Draws {
			drawn = append(drawn, optimal[k])
		}
		x.GoalByDeviation += correlation(shot.Probability, shot.Deviation) / n
		x.GoalDistance += (mean(optimal) - mean(drawn)) / n
	}
	return &x
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(max(len(x), 1))
}

// correlation returns Pearson's correlation of x and y, 0 where one is constant.
func correlation(x, y []float32) float64 {
	var xx, yy, xy float64
	meanX := mean(x)
	meanY := mean(y)
	for i := range x {
		dx := float64(x[i]) - meanX
		dy := float64(y[i]) - meanY
		xx += float64(dx * dx)
		yy += float64(dy * dy)
		xy += float64(dx * dy)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// short converts numbers.
func short(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// uncertaintyName returns the name and the unit of an agent's uncertainty. If the
// uncertainty is the disagreement of Q-values, its unit is that of rewards. Any other
// uncertainty has the unit of observations, which is known only in mazes.
func (s *state) uncertaintyName(p qta.Params) (name, unit string) {
	name = "uncertainty"
	if p.Uncertainty == "pun" {
		name = "head deviation"
	}
	switch {
	case p.Uncertainty == "q":
		unit = "rewards"
	case len(s.Map) > 0:
		unit = "cells"
	}
	return name, unit
}

// A panel is a column of the figure. It shows one number for each place, or the sampled
// goals if numbers is nil.
type panel struct {
	name, unit string
	numbers    []float32
	scale      draw.Scale
	sparse     bool // most are zero
}

// panels returns the columns of a snapshot. A column has the same scale in all snapshots,
// but deviation and probability have their own scale in each. Value and optimal value share
// their scale.
func (s *state) panels(shot *snapshot, p qta.Params) []panel {
	zero := []float32{0}
	values := [][]float32{s.grid.Optimal}
	failures := [][]float32{zero}
	for i := range s.Snapshots {
		each := &s.Snapshots[i]
		values = append(values, each.Value)
		failures = append(failures, s.grid.failure(each))
	}
	ofValues := draw.ScaleOf(values...)
	ofValues.High = min(ofValues.High, 0) // no return is above 0, so values above get the color of 0
	ofValues.Low = min(ofValues.Low, ofValues.High)
	panels := []panel{{name: "value", unit: "rewards", numbers: shot.Value, scale: ofValues}}
	if s.grid.Optimal != nil {
		failure := panel{name: "absolute error", unit: "rewards", numbers: s.grid.failure(shot)}
		failure.scale = draw.ScaleOf(failures...)
		optimal := panel{name: "optimal value", unit: "rewards", numbers: s.grid.Optimal, scale: ofValues}
		panels = append(panels, failure, optimal)
	}
	deviation := panel{numbers: shot.Deviation, scale: draw.ScaleOf(shot.Deviation)}
	deviation.name, deviation.unit = s.uncertaintyName(p)
	probability := panel{
		name:    "goal probability",
		unit:    "per point",
		numbers: shot.Probability,
		scale:   draw.ScaleOf(zero, shot.Probability),
		sparse:  true,
	}
	return append(panels, deviation, probability, panel{name: "sampled goals"})
}

// panelWidth returns how wide the figure's panels are, and how many fit on a line.
func (s *state) panelWidth() (width float64, perLine int) {
	shape := s.sketch.Width / s.sketch.Height
	switch {
	case shape > 3:
		return 340, 2
	case shape > 1.5:
		return 240, 3
	case s.grid.Optimal == nil: // two panels fewer
		return 180, 4
	}
	return 114, 6
}

// figure5 draws every column of every snapshot.
func (s *state) figure5(environment string, p qta.Params) *draw.Drawing {
	const margin, gap, head = 12, 14, 22
	width, perLine := s.panelWidth()
	plan := newPlan(&s.sketch, panelTop, width, 190)
	height := panelTop + plan.height() + 4 + draw.BarAltitude

	times := words.Count(len(s.Snapshots), "time")
	d := new(draw.Drawing)
	d.Title = fmt.Sprintf("What an agent makes of the places of %s, at %s", environment, times)
	d.Width = 2*margin + float64(float64(perLine)*(width+gap)) - gap
	d.Height = margin
	for i := range s.Snapshots {
		shot := &s.Snapshots[i]
		d.Text(margin, d.Height+draw.TextSize, "start", "head",
			"After "+words.Count(shot.Step, "environment step"))
		d.Height += head
		panels := s.panels(shot, p)
		for k := range panels {
			x := margin + float64(float64(k%perLine)*(width+gap))
			y := d.Height + float64(float64(k/perLine)*(height+gap))
			d.Place(s.panel(&panels[k], shot, plan, width), x, y)
		}
		lines := (len(panels) + perLine - 1) / perLine
		d.Height += float64(float64(lines) * (height + gap))
	}
	return d
}

const panelTop = 18 // height of a panel's name

// panel draws one column of one snapshot.
func (s *state) panel(p *panel, shot *snapshot, plan plan, width float64) *draw.Drawing {
	d := &draw.Drawing{Width: width}
	d.Text(width/2, draw.TextSize, "middle", "ink", p.name)
	plan.draw(d, Wall, Floor)
	below := panelTop + plan.height() + 4
	if p.numbers == nil { // the column of sampled goals
		points := s.drawSamples(d, shot, plan)
		d.Text(width/2, below+draw.BarHeight+14, "middle", "soft", words.Count(points, "point"))
		draws := fmt.Sprintf("in %d draws", len(shot.Draws))
		d.Text(width/2, below+draw.BarHeight+29, "middle", "soft", draws)
		return d
	}
	x, y := plan.at([2]float64{s.grid.X, s.grid.Y})
	picture := s.grid.image(p.numbers, p.scale, p.sparse)
	d.Image(picture, x, y, plan.scale*s.grid.Width, plan.scale*s.grid.Height)
	plan.letters(d)
	bar := max(plan.scale*s.sketch.Width, 0.8*width)
	d.Bar(p.scale, draw.Viridis, p.unit, (width-bar)/2, below, bar)
	return d
}

// drawSamples draws a disc at each place that was sampled as a goal, and returns the number
// of these places.
func (s *state) drawSamples(d *draw.Drawing, shot *snapshot, plan plan) int {
	times := map[int]float64{}
	for _, k := range shot.Draws {
		times[k]++
	}
	d.Add(`<g class="f0" fill-opacity=".75">`)
	for k, pixel := range s.grid.Index {
		if times[k] > 0 {
			x, y := plan.at(s.grid.at(pixel))
			d.Add(`<circle cx="%v" cy="%v" r="%v"/>`, x, y, min(1.3*math.Sqrt(times[k]), 4.0))
		}
	}
	d.Add(`</g>`)
	return len(times)
}

// image returns an image with a pixel for each place's number. If the numbers are sparse,
// image leaves out zeros. So that a nonzero number can be seen, it also colors the pixels
// around its place. Where two numbers overlap, the larger is on top.
func (g *grid) image(numbers []float32, scale draw.Scale, sparse bool) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, g.Cols, g.Rows), draw.Viridis)
	around := 0
	if sparse {
		around = 1
	}
	largest := map[image.Point]float32{}
	for i, number := range numbers {
		if sparse && number == 0 {
			continue
		}
		for dy := -around; dy <= around; dy++ {
			for dx := -around; dx <= around; dx++ {
				at := image.Pt(g.Index[i]%g.Cols+dx, g.Index[i]/g.Cols+dy)
				if !at.In(m.Rect) {
					continue
				}
				if before, taken := largest[at]; taken && before > number {
					continue
				}
				largest[at] = number
				m.SetColorIndex(at.X, at.Y, scale.Color(float64(number)))
			}
		}
	}
	return m
}
