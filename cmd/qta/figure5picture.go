package main

import (
	"fmt"
	"image"
	"math"
)

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
	failure := func(s *snapshot) []float32 { return s.failure }
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

// pictures are those of a figure, which are alike in size.
type pictures struct {
	Rows    []pictureRow
	PerLine int     // side by side
	Width   float64 // of one
	height  float64
	plan    plan
}

// A pictureRow is a snapshot: a picture of each column.
type pictureRow struct {
	Caption  string
	Pictures []*drawing
}

const panelTop = 18 // height of a picture's name

// pictures draws every column of every snapshot.
func (f *figure5) pictures() *pictures {
	rows, cols := f.maze.Rows()-2, f.maze.Cols()-2
	g := &pictures{Width: 118, PerLine: 6}
	switch {
	case cols > 3*rows:
		g.Width, g.PerLine = 340, 2
	case 2*cols > 3*rows:
		g.Width, g.PerLine = 240, 3
	}
	g.plan = newPlan(f.maze, 0, panelTop, g.Width, 190)
	w, h := g.plan.size()
	g.plan.x = (g.Width - w) / 2
	g.height = panelTop + h + 6 + barAltitude
	panels := f.panels()
	for i := range f.snapshots {
		s := &f.snapshots[i]
		row := pictureRow{Caption: "After " + count(s.step, "environment step")}
		for k := range panels {
			row.Pictures = append(row.Pictures, f.picture(g, &panels[k], s))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// picture draws one column of one snapshot.
func (f *figure5) picture(g *pictures, p *panel, s *snapshot) *drawing {
	d := &drawing{title: fmt.Sprintf("%s after %s", p.name, count(s.step, "environment step")), width: g.Width, height: g.height}
	d.text(g.Width/2, textSize, middle, "ink", p.name)
	w, h := g.plan.size()
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
		d.text(g.Width/2, below+barHeight+13, middle, "soft", fmt.Sprintf("points: %d", drawn))
		d.text(g.Width/2, below+barHeight+26, middle, "soft", "area: times drawn")
		return d
	}
	g.plan.walls(d)
	colours := p.scale(s)
	perCell, cols := f.lattice.PerCell, f.lattice.Cols
	m := image.NewPaletted(image.Rect(0, 0, cols-2*perCell, f.lattice.Rows-2*perCell), viridis())
	for i, x := range p.numbers(s) {
		m.SetColorIndex(f.index[i]%cols-perCell, f.index[i]/cols-perCell, colours.colour(float64(x)))
	}
	x, y := g.plan.at(1, 1)
	d.image(m, x, y, float64(m.Rect.Dx())/float64(perCell)*g.plan.cell, float64(m.Rect.Dy())/float64(perCell)*g.plan.cell)
	g.plan.ends(d)
	w = max(w, 0.8*g.Width)
	d.bar(colours, p.unit, (g.Width-w)/2, below, w)
	return d
}

// whole puts the pictures into one, which names the maze.
func (g *pictures) whole(maze string) *drawing {
	const margin, gap, head = 12, 14, 22
	d := &drawing{title: fmt.Sprintf("What an agent makes of the points of maze %s, at %s", maze, count(len(g.Rows), "time"))}
	d.width = 2*margin + float64(g.PerLine)*(g.Width+gap) - gap
	y := float64(margin)
	if len(g.Rows) == 0 {
		d.text(margin, y+textSize, left, "soft", "No evaluation yet.")
		y += head
	}
	for _, row := range g.Rows {
		d.text(margin, y+textSize, left, "head", row.Caption)
		y += head
		for k, p := range row.Pictures {
			d.place(p, margin+float64(k%g.PerLine)*(g.Width+gap), y+float64(k/g.PerLine)*(g.height+gap))
		}
		y += float64((len(row.Pictures)+g.PerLine-1)/g.PerLine) * (g.height + gap)
	}
	d.height = y
	return d
}
