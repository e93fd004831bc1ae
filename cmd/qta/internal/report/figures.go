package report

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/words"
)

// A picture is a drawing of a report.
type picture struct {
	Caption string
	Drawing *draw.Drawing
}

// Figures draws the paper's figures of steps for which a setting has runs. Each
// run draws its own Figure 5, and the noise of Figure 4 is in the learning curves.
func (s *setting) Figures() (pictures []picture) {
	for _, f := range paper.Figures() {
		for _, p := range f.Panels {
			if p.Title != "" {
				pictures = append(pictures, s.panel(p)...)
			}
		}
	}
	return pictures
}

// panel draws steps against path length, ours and the paper's, where there are
// runs of a method that the panel is about: QTA's alone are in Figure 2.
func (s *setting) panel(p paper.Panel) []picture {
	chart := draw.Plot{
		Title: p.Title + "; environment steps to the first perfect evaluation",
		X:     draw.Axis{Name: "path length", Unit: "cells", Low: math.Inf(1), High: math.Inf(-1)},
		Y:     draw.Axis{Name: "steps ± SD; hollow: a bound"},
		Width: 300, Height: 200,
	}
	found := false
	var theirs []draw.Series
	for i, l := range p.Lines {
		mine := s.steps(l.Method, p)
		found = found || len(mine.Points) > 0 && (i > 0 || p.Name[0] == '2')
		chart.Series, theirs = append(chart.Series, mine), append(theirs, s.theirs(p, l.Method, i))
	}
	if !found {
		return nil
	}
	chart.Series = append(chart.Series, theirs...)
	const apart = 5 // pixels between the error bars of two methods
	for i := range chart.Series {
		one := &chart.Series[i]
		one.Shift = apart * (float64(i%len(p.Lines)) - float64(len(p.Lines)-1)/2)
		for _, q := range one.Points { // with room for what is shifted, and for bars
			chart.X.Low, chart.X.High = min(chart.X.Low, q.X-1), max(chart.X.High, q.X+1)
			chart.Y.High = max(chart.Y.High, 1.03*q.High)
		}
	}
	return []picture{{p.Title + ".", chart.Draw()}}
}

// bar returns a point with its standard deviation.
func bar(length int, mean, deviation float64) draw.Point {
	return draw.Point{X: float64(length), Y: mean, Low: max(0, mean-deviation), High: mean + deviation}
}

// steps returns what a method's runs needed in the mazes of a panel's family.
func (s *setting) steps(m paper.Method, p paper.Panel) (mine draw.Series) {
	for _, g := range s.Groups {
		if g.Method == m.Name && g.Family != "" && strings.HasSuffix(p.Mazes[0], g.Family) && g.N() > 0 {
			q := bar(g.Length, g.Mean, g.SD)
			q.Hollow = g.Solved < g.N()
			mine.Name = m.Name + ", these runs" // without one it is not in the legend
			mine.Points = append(mine.Points, q)
		}
	}
	return mine
}

// theirs returns the paper's points of a method, the i-th of a panel.
func (s *setting) theirs(p paper.Panel, m paper.Method, i int) draw.Series {
	theirs := draw.Series{Name: m.Name + ", paper", Like: i + 1}
	for _, q := range s.points {
		if q.Panel == p.Name && q.Method == m.Name {
			theirs.Points = append(theirs.Points, bar(q.Length, q.Mean, q.Deviation))
		}
	}
	return theirs
}

// curve returns mean and deviation of the success of a group's runs, as far as
// all know it.
func (g *group) curve() draw.Series {
	s := draw.Series{Name: fmt.Sprintf("%s, %s", g.Method, words.Count(g.N(), "run")), Band: true}
	steps, success := curve(g.runs)
	y := make([]float64, len(g.runs))
	for k, step := range steps {
		for i := range y {
			y[i] = success[i][k]
		}
		q := bar(step, stats.Mean(y), populationDeviation(y))
		q.High = min(1, q.High)
		s.Points = append(s.Points, q)
	}
	return s
}

// Curves draws the success of all methods against steps, for each maze.
func (s *setting) Curves() (pictures []picture) {
	for _, maze := range s.mazes {
		chart := draw.Plot{
			Title: "Success of evaluations on maze " + maze,
			X:     draw.Axis{Name: "environment steps"},
			Y:     draw.Axis{Name: "mean success ± SD", Unit: "fraction", High: 1},
			Width: 300, Height: 150,
		}
		for _, m := range paper.Methods() {
			if g := s.group(maze, m); g != nil {
				chart.Series = append(chart.Series, g.curve())
			}
		}
		if len(chart.Series) > 0 {
			pictures = append(pictures, picture{"Maze " + maze, chart.Draw()})
		}
	}
	return pictures
}
