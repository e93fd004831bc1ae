package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"qta"
)

// This file makes the paper's Figure 5: what an agent makes of every point of
// its maze, at several times of its training. figure5.csv is the figure's
// memory; what is drawn is drawn from the numbers as they stand in it, so that
// a run that was interrupted draws the same.

// A figure5 is the figure of one run.
type figure5 struct {
	maze    *qta.Maze
	params  qta.Params
	every   int // environment steps between evaluations
	lattice *qta.Lattice
	index   []int       // of the reachable points in lattice
	points  [][]float64 // these points
	places  []string    // row and column of each, as in figure5.csv
	optimal []float32

	snapshots []snapshot // by step
	unsaved   bool       // figure5.csv may lack some of them after a loss of power
}

// A snapshot is a row of the figure. Its slices have an element per point.
type snapshot struct {
	step                          int
	value, deviation, probability []float32
	samples                       []int  // how often each point was drawn
	text                          []byte // its lines of figure5.csv
}

const (
	sampledGoals = 200 // of each snapshot, as in the paper
	latticeSize  = 10  // points per cell and axis, as in the optimal values

	// mostPoints bounds the points, and with them the time of a snapshot:
	// mazes of more than a hundred cells have fewer points per cell.
	mostPoints = 10_000

	// mostSnapshots bounds the rows.
	mostSnapshots = 8
)

func newFigure5(m *qta.Maze, p qta.Params, every int) *figure5 {
	free := 0
	for i := range m.Rows() {
		for j := range m.Cols() {
			if m.Free(i, j) {
				free++
			}
		}
	}
	perCell := latticeSize
	for perCell > 1 && free*perCell*perCell > mostPoints {
		perCell--
	}
	f := &figure5{maze: m, params: p, every: every, lattice: m.Hops(perCell), unsaved: true}
	for k, hops := range f.lattice.Hops {
		if hops >= 0 {
			point := f.lattice.Point(k)
			f.index = append(f.index, k)
			f.points = append(f.points, point[:])
			f.places = append(f.places, place(point[:]))
			f.optimal = append(f.optimal, float32(qta.OptimalValue(p.Discount, hops)))
		}
	}
	return f
}

// take adds a snapshot of an agent.
func (f *figure5) take(a *qta.Agent) {
	f.forgetAfter(a.Steps() - 1)
	start, goal := f.maze.Start(), f.maze.Goal()
	survey := a.Survey(start[:], goal[:], f.points, sampledGoals)
	s := snapshot{a.Steps(), narrow(survey.Value), narrow(survey.Deviation), narrow(survey.Probability), make([]int, len(f.points)), nil}
	for _, k := range survey.Samples {
		s.samples[k]++
	}
	f.write(&s)
	f.snapshots = append(f.snapshots, s)
	f.thin()
	f.unsaved = true
}

// narrow rounds to the digits that figure5.csv has.
func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// forgetAfter drops the snapshots after a step.
func (f *figure5) forgetAfter(step int) {
	for n := len(f.snapshots); n > 0 && f.snapshots[n-1].step > step; n-- {
		f.snapshots = f.snapshots[:n-1]
		f.unsaved = true
	}
}

// thin keeps the latest snapshot and before it those of evaluations 1, 2, 4, 8
// and so on, as learning is fast at first; of too many the first are dropped.
// Which are kept depends on the latest alone.
func (f *figure5) thin() {
	var kept []snapshot
	for i, s := range f.snapshots {
		n := s.step / f.every
		if i == len(f.snapshots)-1 || s.step%f.every == 0 && n&(n-1) == 0 {
			kept = append(kept, s)
		}
	}
	f.snapshots = kept[max(0, len(kept)-mostSnapshots):]
}

// deviation returns the name of the uncertainty and its unit.
func (f *figure5) deviation() (name, unit string) {
	switch p := f.params; {
	case p.Uncertainty == "pun":
		return "head deviation", "cell"
	case p.Uncertainty == "q":
		return "uncertainty", "reward"
	case p.Uncertainty == "ensemble" && p.EnsembleScore == "variance":
		return "uncertainty", "cell^2"
	}
	return "uncertainty", "cell"
}

// header returns the first line of figure5.csv.
func (f *figure5) header() string {
	_, unit := f.deviation()
	return "step[environment steps],row[cell],col[cell],value[reward],optimal[reward],abs_error[reward]," +
		"deviation[" + unit + "],probability[fraction],samples[count]\n"
}

// write sets the text of s.
func (f *figure5) write(s *snapshot) {
	number := func(x float32) {
		s.text = append(strconv.AppendFloat(s.text, float64(x), 'g', -1, 32), ',')
	}
	for i := range f.points {
		s.text = append(strconv.AppendInt(s.text, int64(s.step), 10), ',')
		s.text = append(append(s.text, f.places[i]...), ',')
		for _, x := range []float32{s.value[i], f.optimal[i], f.failure(s, i), s.deviation[i], s.probability[i]} {
			number(x)
		}
		s.text = append(strconv.AppendInt(s.text, int64(s.samples[i]), 10), '\n')
	}
}

// place writes row and column of a point.
func place(p []float64) string { return fmt.Sprintf("%.6g,%.6g", p[0], p[1]) }

// failure returns the absolute error at point i.
func (f *figure5) failure(s *snapshot, i int) float32 {
	return float32(math.Abs(float64(s.value[i] - f.optimal[i])))
}

// encode returns figure5.csv.
func (f *figure5) encode() []byte {
	b := []byte(f.header())
	for _, s := range f.snapshots {
		b = append(b, s.text...)
	}
	return b
}

// decode reads figure5.csv. On an error f has no snapshots.
func (f *figure5) decode(data []byte) error {
	f.snapshots, f.unsaved = nil, true
	var snapshots []snapshot
	rest, ok := strings.CutPrefix(string(data), f.header())
	if !ok {
		return errors.New("line 1: want " + strings.TrimSuffix(f.header(), "\n"))
	}
	for line := 2; rest != ""; line++ {
		text, more, whole := strings.Cut(rest, "\n")
		rest = more
		i := (line - 2) % len(f.points)
		if i == 0 {
			n := len(f.points)
			snapshots = append(snapshots, snapshot{0, make([]float32, n), make([]float32, n), make([]float32, n), make([]int, n), nil})
		}
		s := &snapshots[len(snapshots)-1]
		if !whole || !f.read(s, i, text) {
			return fmt.Errorf("line %d: want point %s of a snapshot, as nine numbers, and a line's end", line, f.places[i])
		}
		if i == 0 && len(snapshots) > 1 && snapshots[len(snapshots)-2].step >= s.step {
			return fmt.Errorf("line %d: step %d, want one after %d", line, s.step, snapshots[len(snapshots)-2].step)
		}
		if rest == "" && i != len(f.points)-1 {
			return fmt.Errorf("line %d: the last snapshot ends here, want %d points", line, len(f.points))
		}
		s.text = append(append(s.text, text...), '\n')
	}
	f.snapshots, f.unsaved = snapshots, false
	return nil
}

// read reads the line of point i.
func (f *figure5) read(s *snapshot, i int, line string) bool {
	fields := strings.Split(line, ",")
	if len(fields) != 9 || fields[1]+","+fields[2] != f.places[i] {
		return false
	}
	ok := true
	number := func(field string) float32 {
		x, err := strconv.ParseFloat(field, 32)
		ok = ok && err == nil
		return float32(x)
	}
	whole := func(field string) int {
		n, err := strconv.Atoi(field)
		ok = ok && err == nil && n >= 0
		return n
	}
	if i == 0 {
		s.step = whole(fields[0])
	} else if whole(fields[0]) != s.step {
		return false
	}
	s.value[i], s.deviation[i], s.probability[i] = number(fields[3]), number(fields[6]), number(fields[7])
	s.samples[i] = whole(fields[8])
	return ok
}

// A column of the figure shows numbers of every point, or the samples if
// numbers is nil.
type panel struct {
	name, unit string
	numbers    func(*snapshot) []float32
	scale      func(*snapshot) scale
}

// panels returns the columns. All snapshots have the same scale in them but
// for the deviation's, and value and optimal value share one.
func (f *figure5) panels() []panel {
	value := func(s *snapshot) []float32 { return s.value }
	optimal := func(*snapshot) []float32 { return f.optimal }
	failure := func(s *snapshot) []float32 {
		e := make([]float32, len(f.points))
		for i := range e {
			e[i] = f.failure(s, i)
		}
		return e
	}
	deviation := func(s *snapshot) []float32 { return s.deviation }
	probability := func(s *snapshot) []float32 { return s.probability }
	whole := func(s scale, columns ...func(*snapshot) []float32) func(*snapshot) scale {
		for i := range f.snapshots {
			for _, column := range columns {
				s = s.over(column(&f.snapshots[i]))
			}
		}
		return func(*snapshot) scale { return s }
	}
	zero := scale{0, 0}
	name, unit := f.deviation()
	unit = map[string]string{"cell": "cells", "cell^2": "cells²", "reward": "rewards"}[unit]
	values := whole(nothing(), value, optimal)
	return []panel{
		{"value", "rewards", value, values},
		{"absolute error", "rewards", failure, whole(zero, failure)},
		{"optimal value", "rewards", optimal, values},
		{name, unit, deviation, func(s *snapshot) scale { return nothing().over(s.deviation) }},
		{"goal probability", "per point", probability, whole(zero, probability)},
		{name: fmt.Sprintf("%d sampled goals", sampledGoals)},
	}
}

// A frame is the shape of the figure's pictures, which are alike.
type frame struct {
	plan          plan
	width, height float64 // of a picture
	perLine       int     // pictures side by side
}

const panelTop = 18 // height of a picture's name

func (f *figure5) frame() frame {
	rows, cols := f.maze.Rows()-2, f.maze.Cols()-2
	g := frame{width: 118, perLine: 6}
	switch {
	case cols > 3*rows:
		g.width, g.perLine = 340, 2
	case 2*cols > 3*rows:
		g.width, g.perLine = 240, 3
	}
	g.plan = newPlan(f.maze, 0, panelTop, g.width, 190)
	w, h := g.plan.size()
	g.plan.x = (g.width - w) / 2
	g.height = panelTop + h + 6 + barAltitude
	return g
}

// picture draws one column of one snapshot.
func (f *figure5) picture(g frame, p *panel, s *snapshot) *drawing {
	d := &drawing{title: fmt.Sprintf("%s after %s", p.name, count(s.step, "environment step")), width: g.width, height: g.height}
	d.text(g.width/2, textSize, middle, "ink", p.name)
	_, h := g.plan.size()
	below := panelTop + h + 6
	if p.numbers == nil {
		g.plan.floor(d)
		drawn := 0
		for _, n := range s.samples {
			if n > 0 {
				drawn++
			}
		}
		g.plan.dots(d, 0, len(f.points), func(i int) (row, col, radius float64) {
			return f.points[i][0], f.points[i][1], min(1.3*math.Sqrt(float64(s.samples[i])), 0.4*g.plan.cell)
		})
		d.text(g.width/2, below+barHeight+13, middle, "soft", fmt.Sprintf("points: %d", drawn))
		d.text(g.width/2, below+barHeight+26, middle, "soft", "area: times drawn")
		return d
	}
	g.plan.walls(d)
	scale := p.scale(s)
	perCell, cols := f.lattice.PerCell, f.lattice.Cols
	m := image.NewPaletted(image.Rect(0, 0, cols-2*perCell, f.lattice.Rows-2*perCell), viridis())
	for i, x := range p.numbers(s) {
		row, col := f.index[i]/cols-perCell, f.index[i]%cols-perCell
		m.SetColorIndex(col, row, scale.colour(float64(x)))
	}
	x, y := g.plan.at(1, 1)
	d.image(m, x, y, float64(m.Rect.Dx())/float64(perCell)*g.plan.cell, float64(m.Rect.Dy())/float64(perCell)*g.plan.cell)
	g.plan.ends(d)
	w, _ := g.plan.size()
	w = max(w, 0.8*g.width)
	d.bar(scale, p.unit, (g.width-w)/2, below, w)
	return d
}

// caption says what a snapshot is.
func (s *snapshot) caption() string { return "After " + count(s.step, "environment step") }

// pictures draws every column of every snapshot.
func (f *figure5) pictures(g frame) [][]*drawing {
	panels := f.panels()
	rows := make([][]*drawing, len(f.snapshots))
	for i := range rows {
		for k := range panels {
			rows[i] = append(rows[i], f.picture(g, &panels[k], &f.snapshots[i]))
		}
	}
	return rows
}

// draw makes the whole figure of its pictures.
func (f *figure5) draw(name string, g frame, pictures [][]*drawing) *drawing {
	const margin, gap, head = 12, 14, 22
	d := &drawing{title: fmt.Sprintf("What an agent makes of the points of maze %s, at %s", name, count(len(f.snapshots), "time"))}
	d.width = 2*margin + float64(g.perLine)*(g.width+gap) - gap
	y := float64(margin)
	if len(f.snapshots) == 0 {
		d.text(margin, y+textSize, left, "soft", "No evaluation yet.")
		y += head
	}
	for i := range f.snapshots {
		s := &f.snapshots[i]
		d.text(margin, y+textSize, left, "head", s.caption())
		y += head
		for k, p := range pictures[i] {
			d.place(p, margin+float64(k%g.perLine)*(g.width+gap), y+float64(k/g.perLine)*(g.height+gap))
		}
		y += float64((len(pictures[i])+g.perLine-1)/g.perLine) * (g.height + gap)
	}
	d.height = y
	return d
}

// figure5Command makes the figure: of a new run, for which it takes the flags
// of training, or of a run directory.
func figure5Command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return redrawFigure5(args[0], args[1:], stdout, stderr)
	}
	return trainCommand(ctx, append([]string{"-maze", "12x5"}, args...), stdout, stderr)
}

type figure5Flags struct{ file string }

func (f *figure5Flags) flagSet() *flag.FlagSet {
	*f = figure5Flags{file: figure5File}
	flags := newFlagSet("qta figure5 DIR")
	flags.StringVar(&f.file, "o", f.file, "`FILE` the picture (figure5.svg)")
	return flags
}

// redrawFigure5 draws the figure of a run directory, which it leaves as it is:
// its snapshots, or its agent if there are none.
func redrawFigure5(dir string, args []string, stdout, stderr io.Writer) error {
	var flags figure5Flags
	args, err := parseFlags(flags.flagSet(), args)
	if err != nil {
		return err
	} else if err := noMore("figure5 "+dir, args); err != nil {
		return err
	}
	r, err := readRecord(dir)
	if err != nil {
		return inputError{err}
	}
	if r == nil {
		return badInput("%s is not a run directory: it holds no %s", dir, recordFile)
	}
	m, err := qta.ParseMaze(r.Run.mapText())
	if err != nil {
		return fmt.Errorf("%s: %s", filepath.Join(dir, recordFile), bare(err))
	}
	f := newFigure5(m, qta.Params(r.Run.Parameters), r.Run.EvalEvery)
	switch data, err := os.ReadFile(filepath.Join(dir, figure5Store)); {
	case err == nil:
		if err := f.decode(data); err != nil {
			return badInput("%s is damaged: %v", filepath.Join(dir, figure5Store), err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, figure5Store), cause(err))
	}
	if len(f.snapshots) == 0 {
		a, err := loadAgent(dir, r, false, stderr)
		if err != nil {
			return err
		}
		if a == nil {
			return badInput("%s holds neither snapshots nor an agent yet; continue the run to make them", dir)
		}
		defer a.Close()
		f.take(a)
	}
	g := f.frame()
	if err := replaceFile(flags.file, f.draw(r.Run.Maze, g, f.pictures(g)).file(), false); err != nil {
		return inputError{err}
	}
	fmt.Fprintf(stdout, "Drew %s of maze %s to %s.\n", count(len(f.snapshots), "snapshot"), r.Run.Maze, flags.file)
	return nil
}
