package report

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/stats"

	"qta"
	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/words"
	"qta/lab"
)

//go:embed report.tmpl
var text string

//go:embed report.css
var css string

// HTML returns the report as a page.
func (r *Report) HTML() []byte {
	var b bytes.Buffer
	functions := template.FuncMap{"thousands": thousands, "isNumber": func(x float64) bool { return x == x }}
	if err := template.Must(template.New("report").Funcs(functions).Parse(text)).Execute(&b, r); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(draw.Style + "\n" + css) }

// Where names the mazes.
func (s *setting) Where() string { return where(s.mazes) }

// Beyond lists what the setting has that the paper's parameters have not.
func (s *setting) Beyond() string { return strings.Join(lab.Changes(qta.Paper(), s.Params), ", ") }

// N returns how many runs have ended.
func (g *group) N() int { return len(g.runs) }

// Others returns how many have not ended.
func (g *group) Others() int { return len(g.all) - len(g.runs) }

// Few reports whether there are too few runs for a bootstrap.
func (g *group) Few() bool { return g.N() < enoughRuns }

// MedianBound reports whether the median is a lower bound: an unsolved run stands at it
// or below.
func (g *group) MedianBound() bool {
	sorted := slices.Sorted(slices.Values(g.steps))
	return slices.ContainsFunc(g.runs, func(r *lab.Record) bool {
		return r.Outcome.SolvedAt == 0 && r.Steps() <= sorted[len(sorted)/2]
	})
}

// MeanBound reports whether the mean is a lower bound: a run is unsolved.
func (g *group) MeanBound() bool { return g.N() > g.Solved }

// Thousands writes an interval of steps for the page.
func (r interval) Thousands() string {
	if math.IsNaN(r.Low) {
		return "–"
	}
	return thousands(r.Low) + " to " + thousands(r.High)
}

// thousands writes steps for the page.
func thousands(steps float64) string {
	if math.IsNaN(steps) {
		return "–"
	}
	return strconv.FormatFloat(steps/1000, 'f', 1, 64)
}

// ByPaper returns the mean steps divided by the paper's.
func (g *group) ByPaper() string {
	if g.Paper == nil || g.N() == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", g.Mean/g.Paper.Mean)
}

// A beside is a method's mean steps divided by the paper's: the geometric mean
// over mazes, by the paper's steps and by the numbers that it prints.
type beside struct {
	Method         string
	Mazes          int
	Bound          bool // some runs are unsolved
	Steps, Printed float64
}

// Beside compares the methods that the paper has numbers of.
func (s *setting) Beside() (list []beside) {
	for _, m := range paper.Methods() {
		b := beside{Method: m.Name}
		var steps, printed []float64
		for _, g := range s.Groups {
			if g.Method == m.Name && g.Paper != nil && g.N() > 0 {
				steps = append(steps, math.Log(g.Mean/g.Paper.Mean))
				printed = append(printed, math.Log(g.Mean/g.Paper.Printed))
				b.Bound = b.Bound || g.MeanBound()
			}
		}
		if b.Mazes = len(steps); b.Mazes > 0 {
			b.Steps, b.Printed = math.Exp(stats.Mean(steps)), math.Exp(stats.Mean(printed))
			list = append(list, b)
		}
	}
	return list
}

// CSV returns the report's numbers as CSV files by their names, in environment steps. A
// claim of which no run speaks has no row.
func (r *Report) CSV() map[string][]byte {
	runs, cells, claims := table("directory,setting,maze,path_length[cell],method,seed,state,steps[steps],"+
		"found_at[steps],half_at[steps],solved_at[steps],held_out[fraction],counted_as[steps],version,revision,kernel,command"),
		table("setting,maze,path_length[cell],method,runs[count],solved[count],not_ended[count],"+
			"median[steps],mean[steps],population_deviation[steps],mean_low[steps],mean_high[steps],"+
			"found_at_median[steps],found[count],by_qta[ratio],by_qta_low[ratio],by_qta_high[ratio],"+
			"paper_mean[steps],paper_deviation[steps],paper_printed[1000]"),
		table("setting,place,claim,verdict,measured,value,interval,test")
	for _, s := range r.Settings {
		for _, g := range s.Groups {
			for _, run := range g.all {
				runs = append(runs, runRow(s, g, run))
			}
			theirs := paper.Point{Mean: math.NaN(), Deviation: math.NaN(), Printed: math.NaN()}
			if g.Paper != nil {
				theirs = *g.Paper
			}
			cells = append(cells, row(s.Name, g.Maze, g.Length, g.Method, g.N(), g.Solved, g.Others(), g.Median, g.Mean,
				g.SD, g.Range.Low, g.Range.High, g.Found, g.FoundRuns, g.Factor, g.FactorRange.Low, g.FactorRange.High,
				theirs.Mean, theirs.Deviation, theirs.Printed))
		}
		for _, c := range s.Claims {
			if c.Verdict != "" {
				claims = append(claims, row(s.Name, c.Place, c.Text, c.Verdict, c.What, c.Value, c.Range, c.Note))
			}
		}
	}
	files := map[string][]byte{}
	for name, rows := range map[string][][]string{"runs.csv": runs, "cells.csv": cells, "claims.csv": claims} {
		var b bytes.Buffer
		csv.NewWriter(&b).WriteAll(rows) // a bytes.Buffer does not fail
		files[name] = b.Bytes()
	}
	return files
}

// table begins a table with its header.
func table(header string) [][]string {
	return [][]string{strings.Split(strings.ReplaceAll(header, "[steps]", "[environment steps]"), ",")}
}

// row returns a row of a table. A NaN is left out.
func row(cells ...any) (row []string) {
	for _, c := range cells {
		text := fmt.Sprint(c)
		if x, ok := c.(float64); ok {
			text = strings.TrimSuffix(strconv.FormatFloat(x, 'g', 8, 64), "NaN")
		}
		row = append(row, text)
	}
	return row
}

// runRow returns the row of a run in runs.csv.
func runRow(s *setting, g *group, run *lab.Record) []string {
	counted, heldOut := math.NaN(), math.NaN()
	if run.Outcome.HeldOut != nil {
		heldOut = *run.Outcome.HeldOut
	}
	if run.Ended() {
		counted = run.Steps()
	}
	return row(run.Path, s.Name, g.Maze, g.Length, g.Method, run.Run.Seed, run.State, run.Last().Step, run.Outcome.FoundAt,
		run.Curve.FirstAt(lab.Half), run.Outcome.SolvedAt, heldOut, counted,
		run.Run.Version, run.Program.Revision, run.Machine.Kernel, run.Command())
}

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
	for i, m := range p.Lines {
		mine := s.steps(m, p)
		found = found || len(mine.Points) > 0 && (i > 0 || p.Name[0] == '2')
		chart.Series, theirs = append(chart.Series, mine), append(theirs, theirPoints(p, m, i))
	}
	if !found {
		return nil
	}
	chart.Series = append(chart.Series, theirs...)
	for _, one := range chart.Series {
		for _, q := range one.Points { // with room for what is shifted, and for bars
			chart.X.Low, chart.X.High = min(chart.X.Low, q.X-1), max(chart.X.High, q.X+1)
			chart.Y.High = max(chart.Y.High, 1.03*q.High)
		}
	}
	apart := 5 * (chart.X.High - chart.X.Low) / chart.Width // 5 pixels between the error bars of two methods
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

// steps returns what a method's runs needed in the mazes of a panel's family.
func (s *setting) steps(m paper.Method, p paper.Panel) (mine draw.Series) {
	for _, g := range s.Groups {
		if g.Method == m.Name && g.Family != "" && strings.HasSuffix(p.Mazes[0], g.Family) && g.N() > 0 {
			q := bar(g.Length, g.Mean, g.SD)
			q.Hollow = g.MeanBound()
			mine.Name = m.Name + ", these runs" // without one it is not in the legend
			mine.Points = append(mine.Points, q)
		}
	}
	return mine
}

// theirPoints returns the paper's points of a method, the i-th of a panel.
func theirPoints(p paper.Panel, m paper.Method, i int) draw.Series {
	theirs := draw.Series{Name: m.Name + ", paper", Like: i + 1}
	for _, q := range paper.Points() {
		if q.Panel == p.Name && q.Method == m.Name {
			theirs.Points = append(theirs.Points, bar(q.Length, q.Mean, q.Deviation))
		}
	}
	return theirs
}

// curve returns mean and deviation of the runs' success, as far as all know it.
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
