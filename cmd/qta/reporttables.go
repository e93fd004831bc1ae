package main

import (
	"strconv"
	"strings"
)

// A tableRow is the results of a group.
type tableRow struct {
	*group
	Maze, Method      string
	Length            int
	Solved, N, Others int // Others have not ended
	Few               bool
	p                 float64 // against QTA, or -1 where there is nothing to compare
	paper             *paperPoint
}

// Table returns a row for each group.
func (s *setting) Table() []tableRow {
	points := paperPoints()
	var rows []tableRow
	for _, g := range s.groups {
		n := len(g.runs)
		r := tableRow{g, g.maze, g.method, g.length, g.summary.solved, n, len(g.all) - n, n < enoughRuns, -1, nil}
		if q := s.group(g.maze, methodQTA); q != nil && q != g && n > 0 {
			r.p = permutation([]stratum{{q.logs(), g.logs()}}).p
		}
		for i := range points {
			if p := &points[i]; p.maze == g.maze && !p.scaled && p.method() == g.method && r.paper == nil {
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

func (r tableRow) interval(i interval) string {
	return r.of(thousands(i.low) + " to " + thousands(i.high))
}

func (r tableRow) Median() string    { return r.bound((r.N-1)/2, r.summary.median) }
func (r tableRow) Mean() string      { return r.bound(0, r.summary.mean) }
func (r tableRow) SD() string        { return r.of(thousands(r.summary.deviation)) }
func (r tableRow) IQM() string       { return r.bound(r.N/4, r.summary.iqm) }
func (r tableRow) MeanRange() string { return r.interval(r.summary.meanRange) }
func (r tableRow) IQMRange() string  { return r.interval(r.summary.iqmRange) }

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
	return thousands(r.paper.mean) + " ± " + thousands(r.paper.deviation)
}

// tables returns the report's numbers as CSV files, in environment steps.
func (r *report) tables() []outFile {
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
			for _, q := range g.curve().points {
				curves = append(curves, []string{s.Name, g.maze, g.method, float(q.x), float(q.y), float(q.low), float(q.high), strconv.Itoa(len(g.runs))})
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
	return []outFile{{"runs.csv", csvText(runs)}, {"cells.csv", csvText(cells)}, {"curves.csv", csvText(curves)},
		{"claims.csv", csvText(claims)}, {"skipped.csv", csvText(skipped)}}
}

func header(columns string) [][]string { return [][]string{strings.Split(columns, ",")} }

func float(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

// row returns the row of a run in runs.csv.
func (r *report) row(s *setting, g *group, run *finding) []string {
	counted, heldOut := "", ""
	if o := run.record.Outcome; o != nil && o.HeldOut != nil {
		heldOut = float(*o.HeldOut)
	}
	if run.ended() {
		counted = float(run.steps())
	}
	id := run.record.Run
	return []string{run.dir, s.Name, g.maze, strconv.Itoa(g.length), g.method, strconv.FormatUint(id.Seed, 10), run.record.State,
		strconv.Itoa(run.last().step), strconv.Itoa(run.halfAt), strconv.Itoa(run.solvedAt), heldOut, counted,
		id.Version, run.record.Program.Revision, run.record.Machine.Kernel, r.command(run)}
}

// row returns the row of cells.csv but for the setting.
func (r tableRow) row() []string {
	row := []string{r.Maze, strconv.Itoa(r.Length), r.Method, strconv.Itoa(r.N), strconv.Itoa(r.Solved), strconv.Itoa(r.Others)}
	y := r.summary
	for _, x := range []float64{y.median, y.mean, y.deviation, y.iqm, y.meanRange.low, y.meanRange.high, y.iqmRange.low, y.iqmRange.high} {
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
		mean, deviation = float(r.paper.mean), float(r.paper.deviation)
	}
	return append(row, p, mean, deviation)
}
