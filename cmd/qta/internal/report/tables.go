package report

import (
	"slices"
	"strconv"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
)

// What the tables write of a group.

// N returns how many runs have ended.
func (g *group) N() int { return len(g.runs) }

// Solved returns how many of these are solved.
func (g *group) Solved() int { return g.summary.Solved }

// Others returns how many have not ended.
func (g *group) Others() int { return len(g.all) - len(g.runs) }

// Few reports whether there are too few for an interval.
func (g *group) Few() bool { return len(g.runs) < statistics.EnoughRuns }

// p returns that of a test against QTA, or -1 where there is nothing to
// compare.
func (g *group) p() float64 {
	if g.qta == nil || g.qta == g || len(g.runs) == 0 {
		return -1
	}
	return statistics.Permutation([]statistics.Stratum{{A: g.qta.logs(), B: g.logs()}}).P
}

// paper returns what the paper has, or nil.
func (g *group) paper() *paper.Point {
	points := paper.Points()
	i := slices.IndexFunc(points, func(p paper.Point) bool { return p.Maze == g.Maze && !p.Scaled && p.Method() == g.Method })
	if i < 0 {
		return nil
	}
	return &points[i]
}

// The page writes them in thousands of steps.

func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// of returns a text on the runs, if there are any.
func (g *group) of(text string) string {
	if len(g.runs) == 0 {
		return "–"
	}
	return text
}

// bound marks a lower bound: a statistic that takes in more unsolved runs than
// it drops of the longest.
func (g *group) bound(dropped int, x float64) string {
	mark := ""
	if g.N()-g.Solved() > dropped {
		mark = "≥ "
	}
	return g.of(mark + thousands(x))
}

// interval writes an interval, which a single run has not.
func (g *group) interval(i statistics.Interval) string {
	if g.N() == 1 {
		return "–"
	}
	return g.of(thousands(i.Low) + " to " + thousands(i.High))
}

func (g *group) Median() string    { return g.bound((g.N()-1)/2, g.summary.Median) }
func (g *group) Mean() string      { return g.bound(0, g.summary.Mean) }
func (g *group) SD() string        { return g.of(thousands(g.summary.Deviation)) }
func (g *group) IQM() string       { return g.bound(g.N()/4, g.summary.IQM) }
func (g *group) MeanRange() string { return g.interval(g.summary.MeanRange) }
func (g *group) IQMRange() string  { return g.interval(g.summary.IQMRange) }

func (g *group) PValue() string {
	if p := g.p(); p >= 0 {
		return pValue(p)
	}
	return ""
}

func (g *group) Paper() string {
	if p := g.paper(); p != nil {
		return thousands(p.Mean) + " ± " + thousands(p.Deviation)
	}
	return ""
}

// CSV returns the report's numbers as CSV files, in environment steps.
func (r *Report) CSV() []files.File {
	runs := header("directory,setting,maze,path_length[cell],method,seed,state,steps[environment steps],half_at[environment steps],solved_at[environment steps]," +
		"held_out[fraction],counted_as[environment steps],version,revision,kernel,command")
	cells := header("setting,maze,path_length[cell],method,runs[count],solved[count],not_ended[count],median[environment steps],mean[environment steps]," +
		"population_deviation[environment steps],iqm[environment steps],mean_low[environment steps],mean_high[environment steps],iqm_low[environment steps]," +
		"iqm_high[environment steps],p_against_qta[fraction],paper_mean[environment steps],paper_deviation[environment steps]")
	curves := header("setting,maze,method,step[environment steps],mean_success[fraction],low[fraction],high[fraction],runs[count]")
	claims := header("setting,place,claim,verdict,test,width")
	skipped := header("path,why")
	for _, s := range r.Settings {
		for _, g := range s.Groups {
			for _, run := range g.all {
				runs = append(runs, runRow(s, g, run))
			}
			for _, q := range g.curve().Points {
				curves = append(curves, []string{s.Name, g.Maze, g.Method, float(q.X), float(q.Y), float(q.Low), float(q.High), strconv.Itoa(g.N())})
			}
			cells = append(cells, groupRow(s, g))
		}
		for _, k := range s.claims() {
			claims = append(claims, []string{s.Name, k.Place, k.Text, k.Verdict, k.Test, k.Width()})
		}
	}
	for _, k := range r.Skipped {
		skipped = append(skipped, []string{k.Path, k.Why})
	}
	return []files.File{{Name: "runs.csv", Data: files.CSV(runs)}, {Name: "cells.csv", Data: files.CSV(cells)}, {Name: "curves.csv", Data: files.CSV(curves)},
		{Name: "claims.csv", Data: files.CSV(claims)}, {Name: "skipped.csv", Data: files.CSV(skipped)}}
}

func header(columns string) [][]string { return [][]string{strings.Split(columns, ",")} }

func float(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

// runRow returns the row of a run in runs.csv.
func runRow(s *setting, g *group, run *rundir.Run) []string {
	counted, heldOut := "", ""
	if o := run.Record.Outcome; o != nil && o.HeldOut != nil {
		heldOut = float(*o.HeldOut)
	}
	if run.Ended() {
		counted = float(run.Steps())
	}
	id := run.Record.Run
	return []string{run.Dir, s.Name, g.Maze, strconv.Itoa(g.Length), g.Method, strconv.FormatUint(id.Seed, 10), run.Record.State,
		strconv.Itoa(run.Last().Step), strconv.Itoa(run.HalfAt), strconv.Itoa(run.SolvedAt), heldOut, counted,
		id.Version, run.Record.Program.Revision, run.Record.Machine.Kernel, run.Command()}
}

// groupRow returns the row of a group in cells.csv.
func groupRow(s *setting, g *group) []string {
	row := []string{s.Name, g.Maze, strconv.Itoa(g.Length), g.Method, strconv.Itoa(g.N()), strconv.Itoa(g.Solved()), strconv.Itoa(g.Others())}
	y := g.summary
	for i, x := range []float64{y.Median, y.Mean, y.Deviation, y.IQM, y.MeanRange.Low, y.MeanRange.High, y.IQMRange.Low, y.IQMRange.High} {
		if interval := i >= 4; g.N() == 0 || interval && g.N() == 1 {
			row = append(row, "")
		} else {
			row = append(row, float(x))
		}
	}
	p, mean, deviation := "", "", ""
	if x := g.p(); x >= 0 {
		p = float(x)
	}
	if x := g.paper(); x != nil {
		mean, deviation = float(x.Mean), float(x.Deviation)
	}
	return append(row, p, mean, deviation)
}
