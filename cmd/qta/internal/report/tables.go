package report

import (
	"strconv"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
)

// A tableRow is the results of a group.
type tableRow struct {
	*group
	Maze, Method      string
	Length            int
	Solved, N, Others int // Others have not ended
	Few               bool
	p                 float64 // against QTA, or -1 where there is nothing to compare
	paper             *paper.Point
}

// Table returns a row for each group.
func (s *setting) Table() []tableRow {
	points := paper.Points()
	var rows []tableRow
	for _, g := range s.groups {
		n := len(g.runs)
		r := tableRow{g, g.maze, g.method, g.length, g.summary.Solved, n, len(g.all) - n, n < statistics.EnoughRuns, -1, nil}
		if q := s.group(g.maze, paper.QTA); q != nil && q != g && n > 0 {
			r.p = statistics.Permutation([]statistics.Stratum{{A: q.logs(), B: g.logs()}}).P
		}
		for i := range points {
			if p := &points[i]; p.Maze == g.maze && !p.Scaled && p.Method() == g.method && r.paper == nil {
				r.paper = p
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// What the page's table writes of numbers, in thousands.

func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// of returns a text on the runs, if there are any.
func (r tableRow) of(text string) string {
	if r.N == 0 {
		return "–"
	}
	return text
}

// bound marks a lower bound: a statistic that takes in more unsolved runs than
// it drops of the longest.
func (r tableRow) bound(dropped int, x float64) string {
	mark := ""
	if r.N-r.Solved > dropped {
		mark = "≥ "
	}
	return r.of(mark + thousands(x))
}

func (r tableRow) interval(i statistics.Interval) string {
	return r.of(thousands(i.Low) + " to " + thousands(i.High))
}

func (r tableRow) Median() string    { return r.bound((r.N-1)/2, r.summary.Median) }
func (r tableRow) Mean() string      { return r.bound(0, r.summary.Mean) }
func (r tableRow) SD() string        { return r.of(thousands(r.summary.Deviation)) }
func (r tableRow) IQM() string       { return r.bound(r.N/4, r.summary.Iqm) }
func (r tableRow) MeanRange() string { return r.interval(r.summary.MeanRange) }
func (r tableRow) IQMRange() string  { return r.interval(r.summary.IqmRange) }

func (r tableRow) PValue() string {
	if r.p < 0 {
		return ""
	}
	return pValue(r.p)
}

func (r tableRow) Paper() string {
	if r.paper == nil {
		return ""
	}
	return thousands(r.paper.Mean) + " ± " + thousands(r.paper.Deviation)
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
		for _, g := range s.groups {
			for _, run := range g.all {
				runs = append(runs, r.row(s, g, run))
			}
			for _, q := range g.curve().Points {
				curves = append(curves, []string{s.Name, g.maze, g.method, float(q.X), float(q.Y), float(q.Low), float(q.High), strconv.Itoa(len(g.runs))})
			}
		}
		for _, t := range s.Table() {
			cells = append(cells, append([]string{s.Name}, t.row()...))
		}
		for _, k := range s.claims() {
			claims = append(claims, []string{s.Name, k.Place, k.Text, k.Verdict, k.Test, k.Width})
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

// row returns the row of a run in runs.csv.
func (r *Report) row(s *setting, g *group, run *rundir.Run) []string {
	counted, heldOut := "", ""
	if o := run.Record.Outcome; o != nil && o.HeldOut != nil {
		heldOut = float(*o.HeldOut)
	}
	if run.Ended() {
		counted = float(run.Steps())
	}
	id := run.Record.Run
	return []string{run.Dir, s.Name, g.maze, strconv.Itoa(g.length), g.method, strconv.FormatUint(id.Seed, 10), run.Record.State,
		strconv.Itoa(run.Last().Step), strconv.Itoa(run.HalfAt), strconv.Itoa(run.SolvedAt), heldOut, counted,
		id.Version, run.Record.Program.Revision, run.Record.Machine.Kernel, r.command(run)}
}

// row returns the row of cells.csv but for the setting.
func (r tableRow) row() []string {
	row := []string{r.Maze, strconv.Itoa(r.Length), r.Method, strconv.Itoa(r.N), strconv.Itoa(r.Solved), strconv.Itoa(r.Others)}
	y := r.summary
	for _, x := range []float64{y.Median, y.Mean, y.Deviation, y.Iqm, y.MeanRange.Low, y.MeanRange.High, y.IqmRange.Low, y.IqmRange.High} {
		if r.N == 0 {
			row = append(row, "")
		} else {
			row = append(row, float(x))
		}
	}
	p, mean, deviation := "", "", ""
	if r.p >= 0 {
		p = float(r.p)
	}
	if r.paper != nil {
		mean, deviation = float(r.paper.Mean), float(r.paper.Deviation)
	}
	return append(row, p, mean, deviation)
}
