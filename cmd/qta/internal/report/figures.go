package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/draw"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/statistics"
	"qta/cmd/qta/internal/words"
)

// A picture is a drawing of a report.
type picture struct {
	name    string
	Caption string
	Drawing *draw.Drawing
}

const (
	figureWidth  = 300 // of the area within the axes
	figureHeight = 200
	barShift     = 5 // between the error bars of series at the same place
)

// Figures draws the paper's figures for which a setting has runs.
func (s *setting) Figures() (pictures []picture) {
	points := paper.Points()
	for _, f := range paper.Figures() {
		for _, p := range f.Panels {
			switch f.Number {
			case "4":
				pictures = append(pictures, s.noiseCurves(p)...)
			case "5": // each run draws its own
			default:
				pictures = append(pictures, s.panel(p, points)...)
			}
		}
	}
	return pictures
}

// What legends say.
const (
	deviationName = "one standard deviation up and down"
	boundName     = "some runs unsolved: a lower bound"
)

// panel draws steps against path length, ours and the paper's, where the mazes
// of ours are, and for Figure 2 their ratio; or nothing where there are no runs
// of it: those of QTA alone are in Figure 2.
func (s *setting) panel(p paper.Panel, points []paper.Point) []picture {
	chart := pathChart(fmt.Sprintf("%s; environment steps to the first perfect evaluation", p.Title), draw.Axis{Name: "environment steps"})
	first := strings.HasPrefix(p.Name, "2")
	found := false
	for i, m := range p.Lines {
		mine := s.steps(m.Method, p)
		mine.Shift = barShift * (float64(i) - float64(len(p.Lines)-1)/2)
		found = found || len(mine.Points) > 0 && (first || i > 0)
		chart.Series = append(chart.Series, mine)
	}
	if !found {
		return nil
	}
	shortest, longest := reach(chart.Series)
	chart.X.Low, chart.X.High = shortest-2, longest+2
	ratio := ratioChart(p, chart, points)

	// The next shorter and longer mazes show where the paper's lines lead.
	next := float64(paper.PathLength(p.Mazes[1]) - paper.PathLength(p.Mazes[0]))
	for i, m := range p.Lines {
		for _, scaled := range []bool{false, true} {
			theirs := draw.Series{Name: m.Method.Name + ", paper", Line: true, Spread: draw.Bars, Like: i + 1, Echo: draw.DashedEcho, Shift: chart.Series[i].Shift}
			if m.Method.Name == paper.VDS.Name {
				theirs.Name = "VDS, paper, as printed"
			}
			if scaled {
				theirs.Name, theirs.Echo = "VDS, paper, 2.5 (k + 1)", draw.DottedEcho
			}
			for _, q := range points {
				x := float64(paper.PathLength(q.Maze))
				if q.Panel == p.Name && q.Series == m.Series && q.Scaled == scaled && shortest-next <= x && x <= longest+next {
					theirs.Points = append(theirs.Points, draw.Point{X: x, Y: q.Mean, Low: max(0, q.Mean-q.Deviation), High: q.Mean + q.Deviation})
				}
			}
			if len(theirs.Points) > 0 {
				chart.Series = append(chart.Series, theirs)
			}
		}
	}
	caption := fmt.Sprintf("%s. The paper’s goes from path length %d to %d.", p.Title, paper.PathLength(p.Mazes[0]), paper.PathLength(p.Mazes[len(p.Mazes)-1]))
	pictures := []picture{{"figure-" + p.Name, caption, chart.Draw()}}
	if first {
		pictures = append(pictures, picture{"ratio-" + p.Name, fmt.Sprintf("%s: our mean steps divided by the paper’s, those of VDS as printed.", p.Title), ratio.Draw()})
	}
	return pictures
}

// pathChart begins a chart over path lengths.
func pathChart(title string, y draw.Axis) draw.Plot {
	return draw.Plot{Title: title, X: draw.Axis{Name: "path length", Unit: "cells", Low: math.Inf(1), High: math.Inf(-1)}, Y: y,
		SpreadName: deviationName, HollowName: boundName, Width: figureWidth, Height: figureHeight}
}

// steps returns what a method's runs needed in the mazes of a panel.
func (s *setting) steps(m paper.Method, p paper.Panel) draw.Series {
	family := "M"
	if strings.HasSuffix(p.Mazes[0], "U5") {
		family = "U"
	}
	mine := draw.Series{Line: true, Spread: draw.Bars}
	for _, g := range s.Groups {
		if g.Method == m.Name && g.family == family && len(g.runs) > 0 {
			y := g.summary
			mine.Name = m.Name + ", these runs" // without one it is not in the legend
			mine.Points = append(mine.Points, draw.Point{X: float64(g.Length), Y: y.Mean, Low: max(0, y.Mean-y.Deviation), High: y.Mean + y.Deviation, Hollow: y.Solved < y.N})
		}
	}
	return mine
}

// reach returns the least and the largest x of all points.
func reach(series []draw.Series) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, q := range s.Points {
			low, high = min(low, q.X), max(high, q.X)
		}
	}
	return low, high
}

// ratioChart divides our steps by the paper's mean, maze by maze.
func ratioChart(p paper.Panel, ours draw.Plot, points []paper.Point) draw.Plot {
	chart := pathChart(p.Title+"; our environment steps divided by the paper's", draw.Axis{Name: "our steps / the paper’s", High: 1})
	chart.X, chart.Level = ours.X, draw.Mark{At: 1, Name: "as many as the paper’s"}
	for i, m := range p.Lines {
		s := ours.Series[i]
		s.Points = nil
		for _, mine := range ours.Series[i].Points {
			for _, q := range points {
				if q.Panel == p.Name && q.Series == m.Series && !q.Scaled && float64(paper.PathLength(q.Maze)) == mine.X {
					s.Points = append(s.Points, draw.Point{X: mine.X, Y: mine.Y / q.Mean, Low: mine.Low / q.Mean, High: mine.High / q.Mean, Hollow: mine.Hollow})
				}
			}
		}
		if len(s.Points) == 0 {
			s.Name = ""
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

// noiseCurves draws Figure 4 for every maze that has runs with noise.
func (s *setting) noiseCurves(p paper.Panel) (pictures []picture) {
	curves := paper.Curves()
	for _, maze := range s.mazes {
		noisy := false
		chart := draw.Plot{
			Title:      fmt.Sprintf("%s, maze %s", p.Title, maze),
			X:          draw.Axis{Name: "environment steps"},
			Y:          draw.Axis{Name: "success", Unit: "mean fraction", High: 1},
			SpreadName: deviationName, Width: figureWidth, Height: figureHeight,
		}
		for i, m := range p.Lines {
			var mine draw.Series
			if g := s.group(maze, m.Method); g != nil {
				mine = g.curve()
				noisy = noisy || i > 0 && len(mine.Points) > 0
			}
			chart.Series = append(chart.Series, mine)
		}
		for i, m := range p.Lines {
			theirs := draw.Series{Name: m.Method.Name + ", paper", Line: true, Like: i + 1, Echo: draw.DashedEcho}
			if i == 0 {
				theirs.Name = "noise 0, paper"
			}
			for _, q := range curves[m.Series] {
				theirs.Points = append(theirs.Points, draw.Point{X: q.Step, Y: q.Success})
			}
			chart.Series = append(chart.Series, theirs)
		}
		if noisy {
			caption := fmt.Sprintf("%s, ours on %s. The paper does not name its maze.", p.Title, maze)
			pictures = append(pictures, picture{"figure-4-" + maze, caption, chart.Draw()})
		}
	}
	return pictures
}

// curve returns mean and deviation of the success of a group's runs, as far as
// all know it.
func (g *group) curve() draw.Series {
	s := draw.Series{Name: fmt.Sprintf("%s, %s", g.Method, words.Count(len(g.runs), "run")), Line: true, Spread: draw.Bands}
	y := make([]float64, len(g.runs))
	for _, step := range commonSteps(g.runs) {
		for i, r := range g.runs {
			y[i], _ = r.At(step)
		}
		mean, deviation := stats.Mean(y), statistics.PopulationDeviation(y)
		s.Points = append(s.Points, draw.Point{X: float64(step), Y: mean, Low: max(0, mean-deviation), High: min(1, mean+deviation)})
	}
	return s
}

// solvedCurve returns the fraction of a group's runs that are solved, as a
// staircase that ends with the longest run.
func (g *group) solvedCurve() draw.Series {
	s := draw.Series{Name: fmt.Sprintf("%s, %s", g.Method, words.Count(len(g.runs), "run")), Line: true, Points: []draw.Point{{}}}
	var at []float64
	end := 0.0
	for _, r := range g.runs {
		end = max(end, r.Steps())
		if r.SolvedAt > 0 {
			at = append(at, r.Steps())
		}
	}
	slices.Sort(at)
	y := 0.0
	for i, x := range at {
		before := y
		y = float64(i+1) / float64(len(g.runs))
		s.Points = append(s.Points, draw.Point{X: x, Y: before}, draw.Point{X: x, Y: y})
	}
	if end > s.Points[len(s.Points)-1].X {
		s.Points = append(s.Points, draw.Point{X: end, Y: y})
	}
	return s
}

// comparisons are what the paper varies, one at a time.
func comparisons() []comparison {
	return []comparison{
		{"goals", "choice of goals", []paper.Method{paper.QTA, paper.MEGA, paper.VDS, paper.HER, paper.Random, paper.Visits, paper.RND}},
		{"replay", "replay", []paper.Method{paper.QTA, paper.PER, paper.TD}},
		{"uncertainty", "estimate of uncertainty", []paper.Method{paper.QTA, paper.Q, paper.Bootstrap, paper.Ensemble}},
		{"noise", "noise on the uncertainty", []paper.Method{paper.QTA, paper.Noise1, paper.Noise3, paper.Noise5}},
	}
}

// A comparison has methods that differ in one thing.
type comparison struct {
	name, about string
	methods     []paper.Method
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
		if groups := s.compared(maze, []paper.Method{paper.QTA}); len(groups) > 0 && len(pictures) == before {
			pictures = append(pictures, curvesOf(groups, maze, maze)...)
		}
	}
	return pictures
}

// compared returns the groups of the methods in a maze that have ended runs.
func (s *setting) compared(maze string, methods []paper.Method) (groups []*group) {
	for _, m := range methods {
		if g := s.group(maze, m); g != nil {
			groups = append(groups, g)
		}
	}
	return groups
}

// curvesOf draws the two pictures of groups in one maze.
func curvesOf(groups []*group, name, about string) []picture {
	learning := draw.Plot{
		Title: "Success of evaluations on maze " + about,
		X:     draw.Axis{Name: "environment steps"}, Y: draw.Axis{Name: "success", Unit: "mean fraction", High: 1},
		SpreadName: deviationName, Width: figureWidth, Height: figureHeight - 50,
	}
	solved := learning
	solved.Title = "Fraction of runs solved on maze " + about
	solved.Y.Name, solved.Y.Unit = "runs solved", "fraction"
	for _, g := range groups {
		learning.Series = append(learning.Series, g.curve())
		solved.Series = append(solved.Series, g.solvedCurve())
	}
	return []picture{
		{"learning-" + name, fmt.Sprintf("Maze %s: success of the evaluations", about), learning.Draw()},
		{"solved-" + name, fmt.Sprintf("Maze %s: fraction of runs solved", about), solved.Draw()},
	}
}
