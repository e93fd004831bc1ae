package report

import (
	"fmt"

	"qta/internal/draw"
	"qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// A picture is a drawing of a report.
type picture struct {
	Caption string
	Drawing *draw.Drawing
}

// Figures draws the paper's Figures 2, 3, 4 and 6 with the runs of the paper's
// learner and of the rivals' own learners, if there are any.
func (r *Report) Figures() (pictures []picture) {
	for _, f := range paper.Figures() {
		for _, p := range f.Panels {
			switch {
			case p.Title != "":
				pictures = append(pictures, r.panel(p)...)
			case f.Number == "4":
				pictures = append(pictures, r.figure4(p)...)
			}
		}
	}
	return pictures
}

// panel draws steps against path length, ours and the paper's, where there are
// runs of a method that the panel is about: QTA's alone are in Figure 2.
func (r *Report) panel(p paper.Panel) []picture {
	chart := draw.Plot{
		Title: p.Title + "; environment steps to the first perfect evaluation",
		X:     draw.Axis{Name: "path length", Unit: "cells", Low: 8, High: 10},
		Y:     draw.Axis{Name: "steps ± SD; hollow: a bound"},
		Width: 270, Height: 170,
	}
	found := false
	var theirs []draw.Series
	for i, m := range p.Lines {
		set := Full
		if p.Name[0] != '2' {
			set = r.Learner(p.Lines[1])
		} else if i > 0 {
			set = r.Learner(m)
		} else if len(r.steps(Full, m, p).Points) == 0 {
			set = Quick
		}
		mine := r.steps(set, m, p)
		found = found || len(mine.Points) > 0 && (i > 0 || p.Name[0] == '2')
		chart.Series, theirs = append(chart.Series, mine), append(theirs, theirPoints(p, m, i))
	}
	if !found {
		return nil
	}
	chart.Series = append(chart.Series, theirs...)
	const apart = 0.5 // cells between the error bars of two methods
	for i, one := range chart.Series {
		for k := range one.Points {
			one.Points[k].X += apart * (float64(i%len(p.Lines)) - float64(len(p.Lines)-1)/2)
		}
	}
	return []picture{{p.Title + ".", chart.Draw()}}
}

// bar returns a point with its standard deviation.
func bar(length int, mean, deviation float64) draw.Point {
	return draw.Point{X: float64(length), Y: mean, Low: max(0, mean-deviation), High: mean + deviation}
}

// steps returns what a method's runs needed in the mazes of a panel.
func (r *Report) steps(set string, m paper.Method, p paper.Panel) (mine draw.Series) {
	for _, maze := range p.Mazes {
		if g := r.Group(set, m, maze); g != nil {
			q := bar(g.Length, g.Mean, g.SD)
			q.Hollow = g.Bound()
			mine.Name = m.Name + ", " + set // without one it is not in the legend
			mine.Points = append(mine.Points, q)
		}
	}
	return mine
}

// theirPoints returns the paper's points of a method, the i-th of a panel.
func theirPoints(p paper.Panel, m paper.Method, i int) draw.Series {
	theirs := draw.Series{Name: m.Name + ", the paper", Like: i + 1}
	for _, q := range paper.Points() {
		if q.Panel == p.Name && q.Method == m.Name {
			theirs.Points = append(theirs.Points, bar(q.Length, q.Mean, q.Deviation))
		}
	}
	return theirs
}

// figure4 draws the success with noise and without, of runs that went on to their
// budgets, and the paper's.
func (r *Report) figure4(p paper.Panel) []picture {
	g, _, quiet := r.Noisy(p.Lines[len(p.Lines)-1])
	if g == nil {
		return nil
	}
	chart := draw.Plot{Title: "Figure 4: success with noise on the uncertainty", X: draw.Axis{Name: "environment steps"},
		Y: draw.Axis{Name: "mean success", Unit: "fraction", High: 1}, Width: 270, Height: 170}
	var theirs []draw.Series
	for i, m := range p.Lines {
		runs := quiet
		if i > 0 {
			_, runs, _ = r.Noisy(m)
		}
		mine := draw.Series{Name: fmt.Sprintf("%s, %s", m.Name, words.Count(len(runs), "run")), Points: success(runs)}
		their := draw.Series{Name: m.Name + ", the paper", Like: i + 1}
		for _, q := range paper.Success(m) {
			their.Points = append(their.Points, draw.Point{X: q[0], Y: q[1]})
		}
		chart.Series, theirs = append(chart.Series, mine), append(theirs, their)
	}
	chart.Series = append(chart.Series, theirs...)
	caption := fmt.Sprintf("Figure 4. The paper does not name its maze; these runs are on %s with %s.", g.Maze, g.Setting)
	return []picture{{caption, chart.Draw()}}
}

// success returns the mean success of runs at each evaluation that one of them has.
func success(runs []*lab.Record) (points []draw.Point) {
	for k := 0; ; k++ {
		var step int
		var at []float64
		for _, run := range runs {
			if k < len(run.Curve) {
				step = run.Curve[k].Step
				at = append(at, run.Curve[k].Success)
			}
		}
		if len(at) == 0 {
			return points
		}
		points = append(points, draw.Point{X: float64(step), Y: mean(at)})
	}
}
