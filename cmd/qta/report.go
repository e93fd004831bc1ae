package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/stats"

	"qta"
)

// This file makes the report over many runs: figures beside the paper's, a
// table and the paper's claims, as a page, as pictures or as numbers.

type reportFlags struct{ out, format string }

func (f *reportFlags) flagSet() *flag.FlagSet {
	*f = reportFlags{format: "html"}
	flags := newFlagSet("qta report DIR...")
	flags.StringVar(&f.out, "o", "", "`PATH` the page (report.html); of csv and svg the directory to make (report)")
	flags.Func("format", "`KIND` html: a page; svg: its pictures; csv: its numbers (html)", func(s string) error {
		if s != "html" && s != "svg" && s != "csv" {
			return errors.New("want html, svg or csv")
		}
		f.format = s
		return nil
	})
	return flags
}

func reportCommand(args []string, stdout io.Writer) error {
	var f reportFlags
	dirs, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return badInput("qta report needs directories with runs")
	}
	if f.out == "" {
		f.out = "report"
		if f.format == "html" {
			f.out = pageFile
		}
	}
	if f.format == "html" && exists(filepath.Join(filepath.Dir(f.out), recordFile)) {
		return badInput("%s would stand in a run directory, which has a page of its own; name another file with -o", f.out)
	}
	c, err := collect(dirs)
	if err != nil {
		return err
	}
	c.skipped = slices.DeleteFunc(c.skipped, func(s skip) bool { return samePath(s.Path, f.out) })
	c.dropDuplicates()
	settings := c.settings()
	switch f.format {
	case "html":
		var b bytes.Buffer
		if err := reportTemplate().Execute(&b, c.report(settings)); err != nil {
			return fmt.Errorf("%s: %w", f.out, err)
		}
		if err := replaceFile(f.out, b.Bytes(), false); err != nil {
			return inputError{err}
		}
	default:
		files := c.tables(settings)
		if f.format == "svg" {
			files = c.pictures(settings)
		}
		if err := os.MkdirAll(f.out, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return badInput("directory %s cannot be made: %v", f.out, cause(err))
		}
		for _, file := range files {
			if err := replaceFile(filepath.Join(f.out, file.name), file.data, false); err != nil {
				return inputError{err}
			}
		}
	}
	_, err = fmt.Fprintf(stdout, "%s in %s; %s left out. The report is %s.\n",
		count(len(c.runs), "run"), strings.Join(dirs, ", "), count(len(c.skipped), "file"), f.out)
	return err
}

func samePath(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// A picture is a drawing of a report.
type picture struct {
	name, caption string
	drawing       *drawing
}

const (
	figureWidth  = 380 // of the area within the axes
	figureHeight = 230
	barShift     = 5 // between the error bars of series at the same place
)

// figures draws the paper's figures for which a setting has runs.
func (s *setting) figures() []picture {
	var pictures []picture
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

// panel draws steps against path length, ours and the paper's.
func (s *setting) panel(p paperPanel, points []paperPoint) *drawing {
	plot := plot{
		title: fmt.Sprintf("%s; environment steps to the first perfect evaluation", p.title),
		x:     axis{name: "path length", unit: "cells"},
		y:     axis{name: "environment steps"},
		width: figureWidth, height: figureHeight,
	}
	family := "M"
	if strings.HasSuffix(p.mazes[0], "U5") {
		family = "U"
	}
	plot.x.low, plot.x.high = float64(pathLength(p.mazes[0]))-1, float64(pathLength(p.mazes[len(p.mazes)-1]))+1
	found := false
	var ours []string // methods with points
	for i, m := range p.methods {
		mine := series{name: m.method.name, line: true, spread: bars, shift: barShift * (float64(i) - float64(len(p.methods)-1)/2)}
		for _, g := range s.groups {
			if g.method == m.method.name && g.family == family && len(g.runs) > 0 {
				y := g.summary
				mine.points = append(mine.points, point{x: float64(g.length), y: y.mean, low: max(0, y.mean-y.deviation), high: y.mean + y.deviation, hollow: y.solved < y.n})
			}
		}
		if len(mine.points) > 0 {
			ours = append(ours, m.method.name)
			found = found || m.method.name != methodQTA.name || p.name == "2L" || p.name == "2R"
		}
		plot.series = append(plot.series, mine)
	}
	if !found {
		return nil // the runs of QTA alone are in Figure 2
	}
	for i, m := range p.methods {
		for _, scaled := range []bool{false, true} {
			theirs := series{name: m.method.name + ", paper", line: true, spread: bars, like: i + 1, echo: dashedEcho, shift: plot.series[i].shift}
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
				plot.series = append(plot.series, theirs)
			}
		}
		if !slices.Contains(ours, m.method.name) {
			plot.series[i].name = "" // which leaves it out of the legend
		}
	}
	return plot.draw()
}

// noiseCurves draws Figure 4 for every maze that has runs with noise.
func (s *setting) noiseCurves(p paperPanel) []picture {
	curves := paperCurves()
	var pictures []picture
	for _, maze := range s.mazes {
		noisy := false
		plot := plot{
			title: fmt.Sprintf("%s, maze %s", p.title, maze),
			x:     axis{name: "environment steps"},
			y:     axis{name: "success", unit: "mean fraction", high: 1},
			width: figureWidth, height: figureHeight,
		}
		for i, m := range p.methods {
			mine := series{}
			if g := s.group(maze, m.method.name); g != nil {
				mine = g.curve()
				noisy = noisy || i > 0 && len(mine.points) > 0
			}
			plot.series = append(plot.series, mine)
		}
		for i, m := range p.methods {
			name := "noise 0, paper"
			if i > 0 {
				name = m.method.name + ", paper"
			}
			plot.series = append(plot.series, series{name: name, line: true, like: i + 1, echo: dashedEcho, points: curves[m.series]})
		}
		if noisy {
			pictures = append(pictures, picture{"figure-4-" + maze, fmt.Sprintf("%s, ours on %s. The paper does not name its maze.", p.title, maze), plot.draw()})
		}
	}
	return pictures
}

// curve returns mean and deviation of the success of a group's runs, as far as
// all know it.
func (g *group) curve() series {
	s := series{name: fmt.Sprintf("%s (%d)", g.method, len(g.runs)), line: true, spread: bands}
	if len(g.runs) == 0 {
		return s
	}
	y := make([]float64, len(g.runs))
	for _, step := range commonSteps(g.runs) {
		for i, r := range g.runs {
			y[i], _ = r.at(step)
		}
		mean, deviation := stats.Mean(y), populationDeviation(y)
		s.points = append(s.points, point{x: float64(step), y: mean, low: max(0, mean-deviation), high: min(1, mean+deviation)})
	}
	return s
}

// solvedCurve returns the fraction of a group's runs that are solved, as a
// staircase that ends with the longest run.
func (g *group) solvedCurve() series {
	s := series{name: fmt.Sprintf("%s (%d)", g.method, len(g.runs)), line: true}
	var at []float64
	end := 0.0
	for _, r := range g.runs {
		end = max(end, r.steps())
		if r.solvedAt > 0 {
			at = append(at, r.steps())
		}
	}
	slices.Sort(at)
	s.points = append(s.points, point{})
	for i, x := range at {
		n := float64(len(g.runs))
		s.points = append(s.points, point{x: x, y: float64(i) / n}, point{x: x, y: float64(i+1) / n})
	}
	if end > s.points[len(s.points)-1].x {
		s.points = append(s.points, point{x: end, y: s.points[len(s.points)-1].y})
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

// curves draws for each maze the success against steps and the fraction solved
// against steps, for each comparison with more than QTA, or for QTA alone.
func (s *setting) curves() (pictures []picture) {
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
		if g := s.group(maze, m.name); g != nil && len(g.runs) > 0 {
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

// A row of the table is a group.
type tableRow struct {
	Maze, Method      string
	Length            int
	Solved, N, Others int // Others have not ended
	Few               bool
	Summary           summary
	P, PBest          float64 // against QTA, NaN where there is nothing to compare
	Paper             *paperPoint
}

func (s *setting) table() []tableRow {
	points := paperPoints()
	var rows []tableRow
	for _, g := range s.groups {
		y := g.summary
		r := tableRow{Maze: g.maze, Method: g.method, Length: g.length, Solved: y.solved, N: y.n, Others: len(g.all) - y.n,
			Few: y.n < enoughRuns, Summary: y, P: -1}
		if q := s.group(g.maze, methodQTA.name); q != nil && q != g && len(q.runs) > 0 && y.n > 0 {
			test := permutation([]stratum{{q.logs(), g.logs()}})
			r.P, r.PBest = test.p, test.smallest
		}
		for i := range points {
			if p := &points[i]; p.maze == g.maze && !p.scaled && seriesOf(p.series) == g.method && r.Paper == nil {
				r.Paper = p
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// seriesOf returns the method of a series of the paper's numbers.
func seriesOf(series string) string {
	for _, f := range figures() {
		for _, p := range f.panels {
			for _, m := range p.methods {
				if m.series == series {
					return m.method.name
				}
			}
		}
	}
	return ""
}

// Thousands, and what the table writes of numbers.

func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// bound marks a lower bound: a statistic that takes in more unsolved runs than
// it drops of the longest.
func (r tableRow) bound(dropped int, x float64) string {
	mark := ""
	if r.N-r.Solved > dropped {
		mark = "≥ "
	}
	return r.of(mark + thousands(x))
}

func (r tableRow) Median() string { return r.bound((r.N-1)/2, r.Summary.median) }
func (r tableRow) Mean() string   { return r.bound(0, r.Summary.mean) }
func (r tableRow) SD() string     { return r.of(thousands(r.Summary.deviation)) }
func (r tableRow) IQM() string    { return r.bound(r.N/4, r.Summary.iqm) }
func (r tableRow) MeanRange() string {
	return r.of(thousands(r.Summary.meanRange.low) + " to " + thousands(r.Summary.meanRange.high))
}
func (r tableRow) IQMRange() string {
	return r.of(thousands(r.Summary.iqmRange.low) + " to " + thousands(r.Summary.iqmRange.high))
}
func (r tableRow) PValue() string {
	if r.P < 0 {
		return ""
	}
	return pValue(r.P)
}
func (r tableRow) PaperText() string {
	if r.Paper == nil {
		return ""
	}
	return thousands(r.Paper.mean) + " ± " + thousands(r.Paper.deviation)
}
func (r tableRow) of(text string) string {
	if r.N == 0 {
		return "–"
	}
	return text
}

// A reportPage is what the page shows.
type reportPage struct {
	Style            template.CSS
	Runs, Unfinished int
	Settings         []reportSetting
	Skipped          []skip
	SkippedMore      int
	Warnings         []string
	Programs         []counted
	Machines         []counted
	Lines            []runLine
	Resamples        int
}

type reportSetting struct {
	Name, ID string
	Runs     int
	Few      bool
	Claims   []assertion
	Silent   []assertion // of which no run says anything
	Figures  []reportPicture
	Curves   []reportPicture
	Table    []tableRow
}

type reportPicture struct {
	SVG     template.HTML
	Caption string
}

type counted struct {
	Text string
	Runs int
}

type runLine struct{ Dir, State, Command string }

const mostSkipped = 200

func (c *collection) report(settings []*setting) *reportPage {
	p := &reportPage{Style: template.CSS(figureStyle() + pageStyle + reportStyle), Runs: len(c.runs), Resamples: resamples}
	p.Skipped = c.skipped[:min(len(c.skipped), mostSkipped)]
	p.SkippedMore = len(c.skipped) - len(p.Skipped)
	p.Warnings = c.warnings()
	for i, s := range settings {
		r := reportSetting{Name: s.name, ID: fmt.Sprintf("setting-%d", i+1), Table: s.table()}
		for _, a := range s.claims() {
			if a.Test == "none" {
				r.Silent = append(r.Silent, a)
			} else {
				r.Claims = append(r.Claims, a)
			}
		}
		for _, g := range s.groups {
			r.Runs += len(g.all)
			r.Few = r.Few || len(g.runs) < enoughRuns
		}
		for _, q := range s.figures() {
			r.Figures = append(r.Figures, reportPicture{template.HTML(q.drawing.inline()), q.caption})
		}
		for _, q := range s.curves() {
			r.Curves = append(r.Curves, reportPicture{template.HTML(q.drawing.inline()), q.caption})
		}
		p.Settings = append(p.Settings, r)
	}
	programs, machines := map[string]int{}, map[string]int{}
	commands := map[qta.Params][]string{}
	for _, r := range c.runs {
		if !r.ended() {
			p.Unfinished++
		}
		g, m := r.record.Program, r.record.Machine
		build := ""
		for _, k := range slices.Sorted(mapKeys(g.Build)) {
			build += fmt.Sprintf(", %s=%s", k, g.Build[k])
		}
		programs[fmt.Sprintf("version %s, revision %s, %s%s", r.record.Run.Version, g.Revision, g.Go, build)]++
		machines[fmt.Sprintf("%s/%s, %s kernel, %s", m.OS, m.Arch, m.Kernel, count(m.Threads, "thread"))]++
		p.Lines = append(p.Lines, runLine{r.dir, r.record.State, strings.Join(r.record.Run.commandOnce(r.record.Limits, commands), " ")})
	}
	p.Programs, p.Machines = countedList(programs), countedList(machines)
	return p
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func countedList(m map[string]int) []counted {
	var list []counted
	for text, n := range m {
		list = append(list, counted{text, n})
	}
	slices.SortFunc(list, func(a, b counted) int { return strings.Compare(a.Text, b.Text) })
	return list
}

// commandOnce is command, with the words that describe parameters remembered.
func (id identity) commandOnce(l limits, known map[qta.Params][]string) []string {
	p := qta.Params(id.Parameters)
	if known[p] == nil {
		words := id.command(l)
		from, to := slices.Index(words, "-params"), slices.Index(words, "-seed")
		known[p] = words[from:to]
	}
	maze := id.Maze
	if m, err := qta.NewMaze(maze); err != nil || !slices.Equal(mapLines(m), id.Map) {
		maze = id.Maze + ".txt"
	}
	words := append([]string{"qta", "-maze", shellWord(maze)}, known[p]...)
	return append(words, strings.Fields(fmt.Sprintf("-seed %d -eval %d -steps %d -stop %s", id.Seed, id.EvalEvery, l.Steps, l.Stop))...)
}

// warnings says what makes runs hard to compare.
func (c *collection) warnings() []string {
	var list []string
	versions, kernels, budgets := map[string]int{}, map[string]int{}, map[string]map[int]bool{}
	failed, unfinished := 0, 0
	for _, r := range c.runs {
		versions[r.record.Run.Version]++
		if r.record.Machine.Kernel == "generic" {
			kernels["generic"]++
		} else {
			kernels["fused"]++
		}
		k := r.setting + ", maze " + r.record.Run.Maze
		if budgets[k] == nil {
			budgets[k] = map[int]bool{}
		}
		budgets[k][r.record.Limits.Steps] = true
		if r.record.State == stateFailed {
			failed++
		}
		if !r.ended() {
			unfinished++
		}
	}
	if unfinished > 0 {
		list = append(list, fmt.Sprintf("%s not ended and count in no statistic.", hasHave(unfinished)))
	}
	if failed > 0 {
		list = append(list, fmt.Sprintf("%s failed. Where numbers went wrong the run counts as unsolved; other failures do not count.", hasHave(failed)))
	}
	if len(versions) > 1 {
		list = append(list, "Runs of several versions of the algorithm are pooled.")
	}
	if len(kernels) > 1 {
		list = append(list, "Runs of the generic kernel, which rounds differently, are pooled with others.")
	}
	var mixed []string
	for k, b := range budgets {
		if len(b) > 1 {
			mixed = append(mixed, k)
		}
	}
	slices.Sort(mixed)
	for _, k := range mixed[:min(len(mixed), 10)] {
		list = append(list, fmt.Sprintf("Budgets differ: %s. Unsolved runs stand at their own.", k))
	}
	return list
}

func hasHave(n int) string {
	if n == 1 {
		return "1 run has"
	}
	return fmt.Sprintf("%d runs have", n)
}

// An outFile is a file of a report in pictures or numbers.
type outFile struct {
	name string
	data []byte
}

// pictures returns the report's pictures.
func (c *collection) pictures(settings []*setting) []outFile {
	var files []outFile
	for _, s := range settings {
		for _, p := range slices.Concat(s.figures(), s.curves()) {
			files = append(files, outFile{fileName(s.name+"-"+p.name) + ".svg", p.drawing.file()})
		}
	}
	return files
}

// fileName makes a text the name of a file.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '=':
			return r
		}
		return '_'
	}, text)
}

// tables returns the report's numbers, in environment steps.
func (c *collection) tables(settings []*setting) []outFile {
	var files []outFile
	add := func(name string, rows [][]string) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.WriteAll(rows) // a bytes.Buffer does not fail
		files = append(files, outFile{name, b.Bytes()})
	}
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

	runs := [][]string{{"directory", "setting", "maze", "path_length[cell]", "method", "seed", "state", "steps[environment steps]", "half_at[environment steps]", "solved_at[environment steps]", "held_out[fraction]", "counted_as[environment steps]", "version", "revision", "kernel", "command"}}
	cells := [][]string{{"setting", "maze", "path_length[cell]", "method", "runs[count]", "solved[count]", "not_ended[count]", "median[environment steps]", "mean[environment steps]",
		"population_deviation[environment steps]", "iqm[environment steps]", "mean_low[environment steps]", "mean_high[environment steps]", "iqm_low[environment steps]", "iqm_high[environment steps]", "p_against_qta[fraction]", "paper_mean[environment steps]", "paper_deviation[environment steps]"}}
	curves := [][]string{{"setting", "maze", "method", "step[environment steps]", "mean_success[fraction]", "low[fraction]", "high[fraction]", "runs[count]"}}
	claims := [][]string{{"setting", "place", "claim", "verdict", "test", "width"}}
	commands := map[qta.Params][]string{}
	for _, s := range settings {
		for _, g := range s.groups {
			for _, r := range g.all {
				last, counted, heldOut := 0, "", ""
				if o := r.record.Outcome; o != nil && o.HeldOut != nil {
					heldOut = float(*o.HeldOut)
				}
				if n := len(r.rows); n > 0 {
					last = r.rows[n-1].step
				}
				if r.ended() {
					counted = float(r.steps())
				}
				id := r.record.Run
				runs = append(runs, []string{r.dir, s.name, g.maze, strconv.Itoa(g.length), g.method, strconv.FormatUint(id.Seed, 10), r.record.State,
					strconv.Itoa(last), strconv.Itoa(r.halfAt), strconv.Itoa(r.solvedAt), heldOut, counted, id.Version, r.record.Program.Revision, r.record.Machine.Kernel, strings.Join(id.commandOnce(r.record.Limits, commands), " ")})
			}
			for _, q := range g.curve().points {
				curves = append(curves, []string{s.name, g.maze, g.method, float(q.x), float(q.y), float(q.low), float(q.high), strconv.Itoa(len(g.runs))})
			}
		}
		for _, r := range s.table() {
			y := r.Summary
			row := []string{s.name, r.Maze, strconv.Itoa(r.Length), r.Method, strconv.Itoa(r.N), strconv.Itoa(r.Solved), strconv.Itoa(r.Others)}
			for _, x := range []float64{y.median, y.mean, y.deviation, y.iqm, y.meanRange.low, y.meanRange.high, y.iqmRange.low, y.iqmRange.high} {
				if r.N == 0 {
					row = append(row, "")
				} else {
					row = append(row, float(x))
				}
			}
			p, mean, deviation := "", "", ""
			if r.P >= 0 {
				p = float(r.P)
			}
			if r.Paper != nil {
				mean, deviation = float(r.Paper.mean), float(r.Paper.deviation)
			}
			cells = append(cells, append(row, p, mean, deviation))
		}
		for _, k := range s.claims() {
			claims = append(claims, []string{s.name, k.Place, k.Text, k.Verdict, k.Test, k.Width})
		}
	}
	skipped := [][]string{{"path", "why"}}
	for _, k := range c.skipped {
		skipped = append(skipped, []string{k.Path, k.Why})
	}
	add("runs.csv", runs)
	add("cells.csv", cells)
	add("curves.csv", curves)
	add("claims.csv", claims)
	add("skipped.csv", skipped)
	return files
}

const reportStyle = `
.scroll{overflow-x:auto;max-width:100%}
.results{overflow-wrap:normal}
.results td,.results th{white-space:nowrap}
.results .number{text-align:right}
.results .few{color:var(--soft)}
.pictures{display:grid;gap:1.5rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr))}
.pictures svg{width:100%;max-width:520px}
.pictures figure{break-inside:avoid}
.claims td,.claims th{padding:.4rem .75rem .4rem 0}
.verdict{white-space:nowrap;font-weight:600}
.open{color:var(--soft);font-weight:400}
.warning{border-left:3px solid var(--c1);padding-left:.75rem}
@media print{.pictures{grid-template-columns:1fr 1fr}}
details summary{cursor:pointer}
.commands{font-size:.75rem}
.commands code{font-size:.75rem}
@media(max-width:700px){
 .claims thead{display:none}
 .claims tr{display:block;border-bottom:1px solid var(--grid);padding:.4rem 0}
 .claims td,.claims th{display:block;border:0;padding:.1rem 0}
}
`

func reportTemplate() *template.Template {
	return template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>Query The Agent: report on {{.Runs}} runs</title>
<style>{{.Style}}</style>
</head>
<body>
<h1>Query The Agent: {{.Runs}} runs beside the paper</h1>
{{- range .Warnings}}
<p class="warning">{{.}}</p>
{{- end}}
{{- with .Skipped}}
<p class="warning">Some files were not used; they are <a href="#skipped">listed below</a>.</p>
{{- end}}
{{- if not .Settings}}
<p>There is no run here.</p>
{{- end}}
{{- if gt (len .Settings) 1}}
<p>Parameter sets are kept apart, and each is compared within itself:{{range .Settings}} <a href="#{{.ID}}">{{.Name}}</a> ({{.Runs}});{{end}} then <a href="#how">how it is counted</a> and <a href="#runs">all runs</a>.</p>
{{- end}}
{{- range .Settings}}

<h2 id="{{.ID}}">Parameters {{.Name}}: {{.Runs}} runs</h2>
{{- if .Few}}
<p class="warning">Some methods have fewer than 6 ended runs in a maze. Their bootstrap intervals are too narrow to be 95 % intervals; they stand in grey.</p>
{{- end}}

<h3>Figures of the paper</h3>
{{- if .Figures}}
<p class="note">Environment steps to the first perfect evaluation: mean and one population standard deviation, as in the paper. Full symbols and full lines are these runs; crosses and broken lines are the paper's figures, read from its pictures within ±0.15 thousand steps. A hollow symbol is a lower bound: it contains runs that were not solved, which stand at their budget. The paper omits these points.</p>
<div class="pictures">
{{- range .Figures}}
<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
{{- end}}
</div>
{{- else}}
<p>None of these runs belongs to one of the paper's figures.</p>
{{- end}}

<h3>Claims of the paper's section 4</h3>
{{- with .Claims}}
<table class="claims">
<thead><tr><th>claim</th><th>verdict</th><th>what was measured, and the test</th></tr></thead>
<tbody>
{{- range .}}
<tr><th>{{.Text}} <span class="source">({{.Place}})</span></th><td class="verdict{{if eq .Verdict "not enough runs"}} open{{end}}">{{.Verdict}}</td><td>{{.Width}}. <span class="source">{{.Test}}.</span></td></tr>
{{- end}}
</tbody>
</table>
{{- end}}
{{- with .Silent}}
<p>There are not enough runs, as none speaks of it, for {{len .}} claims:</p>
<ul class="note">
{{- range .}}
<li>{{.Text}} ({{.Place}}: {{.Width}})</li>
{{- end}}
</ul>
{{- end}}

<h3>Results by maze</h3>
<p class="note">In thousands of environment steps. Runs that were not solved count with their budget, and ≥ marks what is then a lower bound. SD is the population's. p is that of an unpaired permutation test against QTA in the same maze; in grey where fewer than 6 runs have ended.</p>
<div class="scroll"><table class="results">
<thead><tr><th>maze</th><th>path</th><th>method</th><th>solved</th><th>median</th><th>mean</th><th>SD</th><th>95 % of mean</th><th>IQM</th><th>95 % of IQM</th><th>p</th><th>paper</th></tr></thead>
<tbody>
{{- range .Table}}
<tr><th>{{.Maze}}</th><td class="number">{{.Length}}</td><td>{{.Method}}</td><td>{{.Solved}}/{{.N}}{{if .Others}} <span class="source">+{{.Others}} not ended</span>{{end}}</td><td class="number">{{.Median}}</td><td class="number">{{.Mean}}</td><td class="number">{{.SD}}</td><td{{if .Few}} class="few"{{end}}>{{.MeanRange}}</td><td class="number">{{.IQM}}</td><td{{if .Few}} class="few"{{end}}>{{.IQMRange}}</td><td{{if .Few}} class="few"{{end}}>{{.PValue}}</td><td>{{.PaperText}}</td></tr>
{{- end}}
</tbody>
</table></div>

<h3>Learning</h3>
<p class="note">Left: mean success of the evaluations with a band of one population standard deviation. A run that stopped because it was solved counts as solved from there on. Right: the fraction of runs that have been solved. In brackets the number of ended runs.</p>
<div class="pictures">
{{- range .Curves}}
<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
{{- end}}
</div>
{{- end}}

<h2 id="how">How it is counted</h2>
<p>A run is solved at its first evaluation in which every rollout ends at the goal. The paper prints the index k of that evaluation, from 0, in all figures but 6 right; here it is 1000 (k + 1) steps. VDS was evaluated every 2500 steps, and the paper does not say whether its figure counts for that: both readings are drawn.</p>
<p>Intervals are percentiles of {{.Resamples}} bootstrap resamples of the runs, drawn with a fixed seed. IQM is the mean without the lowest and the highest quarter of the runs, each rounded down. Tests compare the mean logarithm of the steps, two-sided, with labels exchanged within each maze: exactly where there are at most 20,000 ways, with as many draws elsewhere. A comparison of two methods <em>holds</em> where p is at most 0.05 in the direction of the claim, and <em>does not hold</em> where it is so in the other direction, or where the interval of the ratio ends below 1.25 with at least 6 runs of each. All else is <em>not enough runs</em>. No correction is made for the number of claims.</p>

<h2 id="runs">Programs, machines and runs</h2>
<table>
{{- range .Programs}}
<tr><td>{{.Text}}</td><td>{{.Runs}} runs</td></tr>
{{- end}}
{{- range .Machines}}
<tr><td>{{.Text}}</td><td>{{.Runs}} runs</td></tr>
{{- end}}
</table>
<details><summary>The commands of all {{.Runs}} runs</summary>
<table class="commands">
{{- range .Lines}}
<tr><td>{{.Dir}}<br>{{.State}}</td><td><code>{{.Command}}</code></td></tr>
{{- end}}
</table></details>
{{- with .Skipped}}

<h2 id="skipped">Files that were not used</h2>
<table>
{{- range .}}
<tr><td>{{.Path}}</td><td>{{.Why}}</td></tr>
{{- end}}
</table>
{{- with $.SkippedMore}}
<p>And {{.}} more.</p>
{{- end}}
{{- end}}
</body>
</html>
`))
}
