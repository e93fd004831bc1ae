package report

import (
	"fmt"
	"slices"
	"strings"

	"qta/internal/draw"
	"qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// A Figure is a figure of the paper, with our runs beside the paper's numbers.
type Figure struct {
	Number  string
	Caption string
	Drawing *draw.Drawing
}

// Figures draws the paper's Figures 2, 3, 4 and 6. It leaves out those without runs. It shows
// our runs of QTA and its variants with the setting Full or Quick, and those of MEGA and VDS
// with their own.
func (r *Report) Figures() (figures []Figure) {
	for _, f := range paper.Figures() {
		var charts []*draw.Chart
		for _, p := range f.Panels {
			// Figure 4 has no title here, because figure4 draws it, and Figure 5 is not drawn.
			if p.Title != "" {
				charts = append(charts, r.panel(p)...)
			}
		}
		var titles []string
		for _, chart := range charts {
			titles = append(titles, chart.Title+".")
		}
		caption := strings.Join(titles, " ")
		notes := stepNotes
		switch f.Number {
		case "2":
			notes = slices.Concat(notes, figure2Notes)
		case "4": // no panel was drawn above
			charts, caption = r.figure4(f.Panels[0])
			notes = successNotes
		}
		if charts != nil {
			drawing := draw.Sheet(caption, notes, charts...)
			figures = append(figures, Figure{Number: f.Number, Caption: caption, Drawing: drawing})
		}
	}
	return figures
}

// What the marks of the figures mean.
var (
	stepNotes = []string{
		"Crosses, broken lines: the paper, mean of 12 seeds ± one standard deviation.",
		"Other marks: our runs, one for each seed. Their line joins the means.",
		"A hollow mark with an arrow: a run that is not solved within so many steps.",
		"Small marks: so many runs that large ones would cover each other.",
	}
	figure2Notes = []string{
		"Dotted: the paper’s VDS if an index of its figure is 2500 steps, not 1000.",
	}
	successNotes = []string{
		"Broken lines: the paper, mean of 12 seeds. Its maze is not named.",
		"Thin lines: our runs, one for each seed. Thick lines: their mean.",
	}
)

// panel draws steps against path length, ours and the paper's. It returns nil if there
// are no runs of the panel's methods. QTA's runs count here only in Figure 2, because the
// other figures are about other methods.
func (r *Report) panel(p paper.Panel) []*draw.Chart {
	const (
		apart  = 5 // pixels
		margin = 1 // cells
	)
	chart := draw.Chart{
		Title:  p.Title,
		X:      draw.Axis{Name: "maze, and the length of its path", Unit: "cells"},
		Y:      draw.Axis{Name: "thousands of environment steps to solve the maze", Unit: "log scale"},
		Log:    true,
		Places: mazesOf(p),
		Apart:  apart,
		Width:  470,
		Height: 215,
	}
	chart.X.Low = chart.Places[0].X - margin
	chart.X.High = chart.Places[len(chart.Places)-1].X + margin
	found := false
	var sets []string
	for i, m := range p.Lines {
		theirs := theirLine(p, m, i)
		set := r.set(p, i)
		mine := r.ourLine(set, m, p, i)
		chart.Lines = append(chart.Lines, theirs)
		if m.Name == paper.VDS.Name {
			chart.Lines = append(chart.Lines, otherIndex(theirs))
		}
		if len(mine.Means) > 0 {
			chart.Lines = append(chart.Lines, mine)
			sets = append(sets, fmt.Sprintf("%s with set %s", m.Name, set))
			found = found || i > 0 || ofFigure2(p)
		}
	}
	if !found {
		return nil
	}
	chart.Note = "Ours: " + strings.Join(sets, ", ") + "."
	if len(sets) > 1 && !ofFigure2(p) {
		chart.Note = "Ours: all with set " + r.set(p, 0) + "."
	}
	return []*draw.Chart{&chart}
}

func ofFigure2(p paper.Panel) bool { return p.Name[0] == '2' }

// set returns the parameter set of our runs of a panel's i-th method. Figures other than 2 have
// one set for all methods: the first with which a method other than QTA has runs on the panel's
// mazes.
func (r *Report) set(p paper.Panel, i int) string {
	hasRuns := func(set string, m paper.Method) bool {
		return len(r.ourLine(set, m, p, 0).Means) > 0
	}
	if !ofFigure2(p) {
		for _, m := range p.Lines[1:] {
			for _, set := range []string{r.SettingOf(m), Full, Quick} {
				if hasRuns(set, m) {
					return set
				}
			}
		}
		return Quick
	}
	switch {
	case i > 0:
		return r.SettingOf(p.Lines[i])
	case hasRuns(Full, paper.QTA):
		return Full
	}
	return Quick
}

// mazesOf returns the mazes of a panel.
func mazesOf(p paper.Panel) (all []draw.Place) {
	for _, maze := range p.Mazes {
		length := paper.Of("", paper.QTA.Name, maze).Length
		all = append(all, draw.Place{X: float64(length), Name: maze, Under: fmt.Sprint(length)})
	}
	return all
}

// ourLine returns the steps that a method's runs needed in the mazes of a panel.
func (r *Report) ourLine(set string, m paper.Method, p paper.Panel, tone int) draw.Line {
	line := draw.Line{Name: "our " + m.Name, Tone: tone}
	last := 0
	for i, maze := range p.Mazes {
		g := r.Group(set, m, maze)
		if g == nil {
			continue
		}
		mean := draw.Mean{X: float64(g.Length), Y: g.Mean / 1000}
		mean.Gap = i > last+2 // more than one maze in between has no runs
		last = i
		for _, run := range g.Runs {
			if run.Outcome.SolvedAt > 0 {
				mean.Each = append(mean.Each, run.Steps()/1000)
			} else {
				mean.Bounds = append(mean.Bounds, run.Steps()/1000)
			}
		}
		line.Means = append(line.Means, mean)
	}
	return line
}

// theirLine returns the paper's points of a method.
func theirLine(p paper.Panel, m paper.Method, tone int) draw.Line {
	line := draw.Line{Name: "paper’s " + m.Name, Tone: tone, Theirs: true}
	for _, q := range paper.Points() {
		if q.Panel == p.Name && q.Method == m.Name {
			mean := q.Mean / 1000
			deviation := q.Deviation / 1000
			line.Means = append(line.Means, draw.Mean{
				X:    float64(q.Length),
				Y:    mean,
				Low:  mean - deviation,
				High: mean + deviation,
			})
		}
	}
	return line
}

// otherIndex returns the paper's points of VDS as they are if one index of the figure
// stands for 2500 steps.
func otherIndex(line draw.Line) draw.Line {
	line.Name += " × 2.5"
	line.Dotted = true
	line.Means = slices.Clone(line.Means)
	for i, m := range line.Means {
		line.Means[i] = draw.Mean{X: m.X, Y: 2.5 * m.Y}
	}
	return line
}

// figure4 draws success with noise and without it, in the paper and in our runs that used
// their whole budgets. The noise with the most runs decides on the maze, the set and the runs
// without noise. Another noise has no panel if its runs share no version with these.
func (r *Report) figure4(p paper.Panel) (charts []*draw.Chart, caption string) {
	noises := p.Lines[1:]
	g, quiet := r.noisiest(noises)
	if g == nil {
		return nil, ""
	}
	charts = append(charts, successChart("no noise", paper.QTA, quiet))
	for _, m := range noises {
		for _, noise := range r.Beside(g, m.Name) {
			noisy := noise.Which(wentOn)
			if shareVersion(noisy, quiet) {
				charts = append(charts, successChart(m.Name, m, noisy))
				break
			}
		}
	}
	charts[len(charts)-1].Note = fmt.Sprintf("Ours: %s with set %s.", g.Maze, g.Setting)
	caption = fmt.Sprintf("Figure 4. The paper does not name its maze; "+
		"these runs are on %s with %s.", g.Maze, g.Setting)
	return charts, caption
}

// noisiest returns the group of the noise with the most runs, and the runs without noise that
// are compared with it.
func (r *Report) noisiest(noises []paper.Method) (g *Group, quiet []*lab.Record) {
	most := 0
	for _, m := range noises {
		noise, noisy, without := r.Noisy(m)
		if len(noisy) > most {
			most = len(noisy)
			g = noise
			quiet = without
		}
	}
	return g, quiet
}

// successChart draws the success of a method, in the paper and in our runs.
func successChart(name string, m paper.Method, runs []*lab.Record) *draw.Chart {
	theirs := draw.Line{Name: "the paper’s", Theirs: true}
	for _, q := range paper.Success(m) {
		theirs.Means = append(theirs.Means, draw.Mean{X: q[0] / 1000, Y: q[1]})
	}
	versionOf := func(run *lab.Record) string { return run.Run.Version }
	versions := strings.Join(distinct(runs, versionOf), " and ")
	ours := draw.Line{
		Name:  fmt.Sprintf("ours, %s of %s", words.Count(len(runs), "run"), versions),
		Means: success(runs),
	}
	for _, run := range runs {
		ours.Threads = append(ours.Threads, success([]*lab.Record{run}))
	}
	return &draw.Chart{
		Title:  fmt.Sprintf("Figure 4: %s on the uncertainty", name),
		X:      draw.Axis{Name: "thousands of environment steps", High: 150},
		Y:      draw.Axis{Name: "mean success of evaluations", Unit: "fraction", High: 1},
		Width:  470,
		Height: 90,
		Lines:  []draw.Line{theirs, ours},
	}
}

// success returns the mean success at each evaluation, over the runs that have reached it.
func success(runs []*lab.Record) (points []draw.Mean) {
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
		points = append(points, draw.Mean{X: float64(step) / 1000, Y: mean(at)})
	}
}
