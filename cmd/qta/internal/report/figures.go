package report

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/statistics"
	"qta/internal/draw"
	"qta/internal/words"
)

// A picture is a drawing of a report.
type picture struct {
	name    string
	Caption string
	Drawing *draw.Drawing
}

// Figures draws the paper's figures for which a setting has runs.
func (s *setting) Figures() (pictures []picture) {
	for _, f := range paper.Figures() {
		for _, p := range f.Panels {
			switch f.Number {
			case "4":
				pictures = append(pictures, s.noiseCurves(p)...)
			case "5": // each run draws its own
			default:
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
	for i, l := range p.Lines {
		mine := s.steps(l.Method, p)
		found = found || len(mine.Points) > 0 && (i > 0 || p.Name[0] == '2')
		chart.Series = append(chart.Series, mine)
	}
	if !found {
		return nil
	}
	for i, l := range p.Lines {
		for _, scaled := range []bool{false, true} {
			if theirs := s.theirs(p, l.Method, scaled); len(theirs.Points) > 0 {
				theirs.Like = i + 1
				chart.Series = append(chart.Series, theirs)
			}
		}
	}
	const apart = 5 // pixels between the error bars of two methods
	for i := range chart.Series {
		one := &chart.Series[i]
		one.Line, one.Spread = true, draw.Bars
		line := i
		if one.Like > 0 {
			line = one.Like - 1
		}
		one.Shift = apart * (float64(line) - float64(len(p.Lines)-1)/2)
		for _, q := range one.Points { // with room for what is shifted, and for bars
			chart.X.Low, chart.X.High = min(chart.X.Low, q.X-1), max(chart.X.High, q.X+1)
			chart.Y.High = max(chart.Y.High, 1.03*q.High)
		}
	}
	return []picture{{"figure-" + p.Name, p.Title + ".", chart.Draw()}}
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

// theirs returns the paper's points of a method, as printed or scaled.
func (s *setting) theirs(p paper.Panel, m paper.Method, scaled bool) draw.Series {
	theirs := draw.Series{Name: m.Name + ", paper", Echo: draw.DashedEcho}
	if m.Name == paper.VDS.Name {
		theirs.Name = "VDS, paper, as printed"
	}
	if scaled {
		theirs.Name, theirs.Echo = "VDS, paper, 2.5 (k + 1)", draw.DottedEcho
	}
	for _, q := range s.points {
		if q.Panel == p.Name && q.Method == m.Name && q.Scaled == scaled {
			theirs.Points = append(theirs.Points, bar(q.Length, q.Mean, q.Deviation))
		}
	}
	return theirs
}

// successChart is a chart of success over environment steps.
func successChart(title string) *draw.Plot {
	return &draw.Plot{
		Title: title,
		X:     draw.Axis{Name: "environment steps"},
		Y:     draw.Axis{Name: "mean success ± SD", Unit: "fraction", High: 1},
		Width: 300, Height: 150,
	}
}

// noiseCurves draws Figure 4 for every maze that has runs with noise.
func (s *setting) noiseCurves(p paper.Panel) (pictures []picture) {
	curves := paper.Curves()
	for _, maze := range s.mazes {
		noisy := false
		chart := successChart(fmt.Sprintf("%s, maze %s", p.Title, maze))
		for i, l := range p.Lines {
			var mine draw.Series
			if g := s.group(maze, l.Method); g != nil {
				mine = g.curve()
				noisy = noisy || i > 0
			}
			chart.Series = append(chart.Series, mine)
		}
		for i, l := range p.Lines {
			theirs := draw.Series{Name: l.Method.Name + ", paper", Line: true, Like: i + 1,
				Echo: draw.DashedEcho}
			for _, q := range curves[l.Series] {
				theirs.Points = append(theirs.Points, draw.Point{X: q.Step, Y: q.Success})
			}
			chart.Series = append(chart.Series, theirs)
		}
		if noisy {
			caption := fmt.Sprintf("%s, ours on %s; the paper does not name its maze.", p.Title, maze)
			pictures = append(pictures, picture{"figure-4-" + maze, caption, chart.Draw()})
		}
	}
	return pictures
}

// curve returns mean and deviation of the success of a group's runs, as far as
// all know it.
func (g *group) curve() draw.Series {
	s := draw.Series{Name: fmt.Sprintf("%s, %s", g.Method, words.Count(g.N(), "run")), Line: true,
		Spread: draw.Bands}
	steps, success := curve(g.runs)
	y := make([]float64, len(g.runs))
	for k, step := range steps {
		for i := range y {
			y[i] = success[i][k]
		}
		q := bar(step, stats.Mean(y), statistics.PopulationDeviation(y))
		q.High = min(1, q.High)
		s.Points = append(s.Points, q)
	}
	return s
}

// Curves draws the success of all methods against steps, for each maze.
func (s *setting) Curves() (pictures []picture) {
	for _, maze := range s.mazes {
		chart := successChart("Success of evaluations on maze " + maze)
		for _, m := range paper.Methods() {
			if g := s.group(maze, m); g != nil {
				chart.Series = append(chart.Series, g.curve())
			}
		}
		if len(chart.Series) > 0 {
			pictures = append(pictures, picture{"learning-" + maze, "Maze " + maze, chart.Draw()})
		}
	}
	return pictures
}
