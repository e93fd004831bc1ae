package main

import (
	"fmt"
	"slices"
	"strings"
)

// A picture is a drawing of a report.
type picture struct {
	name    string
	Caption string
	Drawing *drawing
}

const (
	figureWidth  = 380 // of the area within the axes
	figureHeight = 230
	barShift     = 5 // between the error bars of series at the same place
)

// Figures draws the paper's figures for which a setting has runs.
func (s *setting) Figures() (pictures []picture) {
	points := paperPoints()
	for _, f := range figures() {
		for _, p := range f.panels {
			switch f.number {
			case "4":
				pictures = append(pictures, s.noiseCurves(p)...)
			case "5": // each run draws its own
			default:
				if d := s.panel(p, points); d != nil {
					pictures = append(pictures, picture{"figure-" + p.name, p.title, d})
				}
			}
		}
	}
	return pictures
}

// panel draws steps against path length, ours and the paper's, or returns nil
// where there are no runs of it: those of QTA alone are in Figure 2.
func (s *setting) panel(p paperPanel, points []paperPoint) *drawing {
	family := "M"
	if strings.HasSuffix(p.mazes[0], "U5") {
		family = "U"
	}
	chart := plot{
		title: fmt.Sprintf("%s; environment steps to the first perfect evaluation", p.title),
		x: axis{name: "path length", unit: "cells",
			low: float64(pathLength(p.mazes[0])) - 1, high: float64(pathLength(p.mazes[len(p.mazes)-1])) + 1},
		y:     axis{name: "environment steps"},
		width: figureWidth, height: figureHeight,
	}
	found := false
	for i, m := range p.methods {
		mine := series{line: true, spread: bars, shift: barShift * (float64(i) - float64(len(p.methods)-1)/2)}
		for _, g := range s.groups {
			if g.method == m.method.name && g.family == family && len(g.runs) > 0 {
				y := g.summary
				mine.points = append(mine.points, point{x: float64(g.length), y: y.mean, low: max(0, y.mean-y.deviation), high: y.mean + y.deviation, hollow: y.solved < y.n})
			}
		}
		if len(mine.points) > 0 {
			mine.name = m.method.name // without one it is not in the legend
			found = found || i > 0 || strings.HasPrefix(p.name, "2")
		}
		chart.series = append(chart.series, mine)
	}
	if !found {
		return nil
	}
	for i, m := range p.methods {
		for _, scaled := range []bool{false, true} {
			theirs := series{name: m.method.name + ", paper", line: true, spread: bars, like: i + 1, echo: dashedEcho, shift: chart.series[i].shift}
			if m.method.name == methodVDS.name {
				theirs.name = "VDS, paper, as printed"
			}
			if scaled {
				theirs.name, theirs.echo = "VDS, paper, 2.5 (k + 1)", dottedEcho
			}
			for _, q := range points {
				if q.panel == p.name && q.series == m.series && q.scaled == scaled {
					theirs.points = append(theirs.points, point{x: float64(pathLength(q.maze)), y: q.mean, low: max(0, q.mean-q.deviation), high: q.mean + q.deviation})
				}
			}
			if len(theirs.points) > 0 {
				chart.series = append(chart.series, theirs)
			}
		}
	}
	return chart.draw()
}

// noiseCurves draws Figure 4 for every maze that has runs with noise.
func (s *setting) noiseCurves(p paperPanel) (pictures []picture) {
	curves := paperCurves()
	for _, maze := range s.mazes {
		noisy := false
		chart := plot{
			title: fmt.Sprintf("%s, maze %s", p.title, maze),
			x:     axis{name: "environment steps"},
			y:     axis{name: "success", unit: "mean fraction", high: 1},
			width: figureWidth, height: figureHeight,
		}
		for i, m := range p.methods {
			var mine series
			if g := s.group(maze, m.method); g != nil {
				mine = g.curve()
				noisy = noisy || i > 0 && len(mine.points) > 0
			}
			chart.series = append(chart.series, mine)
		}
		for i, m := range p.methods {
			theirs := series{name: m.method.name + ", paper", line: true, like: i + 1, echo: dashedEcho}
			if i == 0 {
				theirs.name = "noise 0, paper"
			}
			for _, q := range curves[m.series] {
				theirs.points = append(theirs.points, point{x: q.step, y: q.success})
			}
			chart.series = append(chart.series, theirs)
		}
		if noisy {
			caption := fmt.Sprintf("%s, ours on %s. The paper does not name its maze.", p.title, maze)
			pictures = append(pictures, picture{"figure-4-" + maze, caption, chart.draw()})
		}
	}
	return pictures
}

// curve returns mean and deviation of the success of a group's runs.
func (g *group) curve() series {
	s := series{name: fmt.Sprintf("%s (%d)", g.method, len(g.runs)), line: true, spread: bands}
	for _, m := range g.moments() {
		s.points = append(s.points, point{x: m.step, y: m.mean, low: max(0, m.mean-m.deviation), high: min(1, m.mean+m.deviation)})
	}
	return s
}

// solvedCurve returns the fraction of a group's runs that are solved, as a
// staircase that ends with the longest run.
func (g *group) solvedCurve() series {
	s := series{name: fmt.Sprintf("%s (%d)", g.method, len(g.runs)), line: true, points: []point{{}}}
	var at []float64
	end := 0.0
	for _, r := range g.runs {
		end = max(end, r.steps())
		if r.solvedAt > 0 {
			at = append(at, r.steps())
		}
	}
	slices.Sort(at)
	y := 0.0
	for i, x := range at {
		before := y
		y = float64(i+1) / float64(len(g.runs))
		s.points = append(s.points, point{x: x, y: before}, point{x: x, y: y})
	}
	if end > s.points[len(s.points)-1].x {
		s.points = append(s.points, point{x: end, y: y})
	}
	return s
}

// comparisons are what the paper varies, one at a time.
func comparisons() []comparison {
	return []comparison{
		{"goals", "choice of goals", []method{methodQTA, methodMEGA, methodVDS, methodHER, methodRandom}},
		{"replay", "replay", []method{methodQTA, methodPER, methodTD}},
		{"uncertainty", "estimate of uncertainty", []method{methodQTA, methodQ, methodBootstrap, methodEnsemble}},
		{"noise", "noise on the uncertainty", []method{methodQTA, methodNoise1, methodNoise3, methodNoise5}},
	}
}

// A comparison has methods that differ in one thing.
type comparison struct {
	name, about string
	methods     []method
}

// Curves draws for each maze the success against steps and the fraction solved
// against steps, for each comparison with more than QTA, or for QTA alone.
func (s *setting) Curves() (pictures []picture) {
	for _, maze := range s.mazes {
		before := len(pictures)
		for _, c := range comparisons() {
			if groups := s.compared(maze, c.methods[1:]); len(groups) > 0 {
				groups = append(s.compared(maze, c.methods[:1]), groups...)
				pictures = append(pictures, curvesOf(groups, maze+"-"+c.name, maze+" by "+c.about)...)
			}
		}
		if groups := s.compared(maze, []method{methodQTA}); len(groups) > 0 && len(pictures) == before {
			pictures = append(pictures, curvesOf(groups, maze, maze)...)
		}
	}
	return pictures
}

// compared returns the groups of the methods in a maze that have ended runs.
func (s *setting) compared(maze string, methods []method) (groups []*group) {
	for _, m := range methods {
		if g := s.group(maze, m); g != nil {
			groups = append(groups, g)
		}
	}
	return groups
}

// curvesOf draws the two pictures of groups in one maze.
func curvesOf(groups []*group, name, about string) []picture {
	learning := plot{
		title: "Success of evaluations on maze " + about,
		x:     axis{name: "environment steps"}, y: axis{name: "success", unit: "mean fraction", high: 1},
		width: figureWidth, height: figureHeight - 50,
	}
	solved := learning
	solved.title = "Fraction of runs solved on maze " + about
	solved.y.name, solved.y.unit = "runs solved", "fraction"
	for _, g := range groups {
		learning.series = append(learning.series, g.curve())
		solved.series = append(solved.series, g.solvedCurve())
	}
	return []picture{
		{"learning-" + name, fmt.Sprintf("Maze %s: success of the evaluations", about), learning.draw()},
		{"solved-" + name, fmt.Sprintf("Maze %s: fraction of runs solved", about), solved.draw()},
	}
}
