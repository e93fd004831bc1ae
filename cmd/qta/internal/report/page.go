package report

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	plain "text/template"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/words"
	"qta/lab"
)

//go:embed report.tmpl
var page string

//go:embed report.md.tmpl
var text string

//go:embed report.css
var css string

// HTML returns the report as a page.
func (r *Report) HTML() []byte { return r.fill(template.Must(template.New("page").Parse(page))) }

// Markdown returns it in words, with the steps of every run.
func (r *Report) Markdown() []byte {
	functions := plain.FuncMap{"thousands": thousands}
	return r.fill(plain.Must(plain.New("text").Funcs(functions).Parse(text)))
}

func (r *Report) fill(t interface{ Execute(io.Writer, any) error }) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(draw.Style + "\n" + css) }

// thousands writes steps for people.
func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// A grid shows mean steps: a row for each method of a setting, a column for each maze.
type grid struct {
	Mazes []string
	Rows  []gridRow
	Runs  int
}

type gridRow struct {
	Name   string
	Theirs bool // the paper's
	Cells  []gridCell
}

// A gridCell has a mean, and what there is to say of it.
type gridCell struct{ Mean, Note string }

// judged reports whether a group has the learner that the claims are judged on.
func (r *Report) judged(g *group) bool {
	own := g.Method == paper.MEGA.Name && g.Setting == "mega" || g.Method == paper.VDS.Name && g.Setting == "vds"
	return g.Family != "" && (g.Setting == full || g.Setting == quick || own)
}

// Judged shows the runs that the claims are judged on, beneath the paper's numbers.
func (r *Report) Judged() grid {
	var mazes []string
	for _, p := range paper.Figures()[0].Panels {
		mazes = append(mazes, p.Mazes...)
	}
	grid := grid{Mazes: mazes}
	for _, m := range paper.Methods() {
		ours := r.grid(mazes, func(g *group) bool { return g.Method == m.Name && r.judged(g) })
		theirs := gridRow{Name: m.Name + ", the paper", Theirs: true, Cells: make([]gridCell, len(mazes))}
		for i, maze := range mazes {
			if p := paper.Of("", m.Name, maze); p != nil {
				theirs.Cells[i] = gridCell{thousands(p.Mean), "±" + thousands(p.Deviation)}
			}
		}
		if ours.Runs > 0 && paper.Of("", m.Name, mazes[0]) != nil {
			grid.Rows = append(grid.Rows, theirs)
		}
		grid.Rows, grid.Runs = append(grid.Rows, ours.Rows...), grid.Runs+ours.Runs
	}
	return grid
}

// Others shows all other runs.
func (r *Report) Others() grid {
	var mazes []string
	for _, g := range r.Groups {
		if !r.judged(g) && !slices.Contains(mazes, g.Maze) {
			mazes = append(mazes, g.Maze)
		}
	}
	return r.grid(mazes, func(g *group) bool { return !r.judged(g) })
}

// grid returns the rows of groups.
func (r *Report) grid(mazes []string, of func(*group) bool) (grid grid) {
	grid.Mazes = mazes
	at := map[string]int{}
	for _, g := range r.Groups {
		if !of(g) {
			continue
		}
		name := g.Method + ", " + g.Setting
		if _, ok := at[name]; !ok {
			at[name] = len(grid.Rows)
			grid.Rows = append(grid.Rows, gridRow{Name: name, Cells: make([]gridCell, len(mazes))})
		}
		grid.Rows[at[name]].Cells[slices.Index(mazes, g.Maze)] = g.Cell()
		grid.Runs += len(g.all)
	}
	return grid
}

// Cell shows the runs of a group.
func (g *group) Cell() (c gridCell) {
	switch {
	case g.Bound():
		c = gridCell{"≥ " + thousands(g.Mean), fmt.Sprintf("%d of %d", g.Solved, g.N())}
	case g.N() == 1:
		c = gridCell{thousands(g.Mean), "one"}
	case g.N() > 0:
		c = gridCell{thousands(g.Mean), fmt.Sprintf("±%s, %d", thousands(g.SD), g.N())}
	}
	if n := len(g.all) - g.N(); n > 0 {
		c.Note += fmt.Sprintf(" +%d running", n)
	}
	return c
}

// Each writes the steps of each run, and where training first found the goal.
func (g *group) Each() string {
	var list []string
	for _, run := range g.runs {
		text := strconv.FormatFloat(run.Steps()/1000, 'f', -1, 64)
		if run.Outcome.SolvedAt == 0 {
			text = "- in " + text
		}
		if at := run.Outcome.FoundAt; at > 0 {
			text += " (" + thousands(float64(at)) + ")"
		} else {
			text += " (never)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Figure5 shows the numbers of Figure 5 of each run.
func (r *Report) Figure5() (rows []gridRow) {
	seeds, numbers := r.figure5()
	for i, seed := range seeds {
		row := gridRow{Name: fmt.Sprintf("seed %d", seed)}
		for _, x := range numbers[i] {
			row.Cells = append(row.Cells, gridCell{Mean: fmt.Sprintf("%.2f", x)})
		}
		rows = append(rows, row)
	}
	return rows
}

// Verdict writes the direction and the size.
func (j judgement) Verdict() string {
	if j.Size == "" {
		return j.Direction
	}
	return j.Direction + "; size " + j.Size
}

// Answers says in three sentences whether the paper reproduces.
func (r *Report) Answers() []string {
	directions, sizes := map[string][]string{}, map[string]int{}
	for _, c := range r.Claims {
		directions[c.Direction] = append(directions[c.Direction], strings.TrimSuffix(c.Text, "."))
		sizes[c.Size]++
	}
	return []string{r.reproduces(),
		fmt.Sprintf("Of %d claims of its section 4 these runs find: %d hold, %d contradicted%s, "+
			"%d undecided, %d not run.", len(r.Claims), len(directions[holds]), len(directions[contradicted]), in(directions[contradicted]),
			len(directions[undecided]), len(directions[""])),
		fmt.Sprintf("Of the effects that the paper gives in numbers %d are of the paper’s size, %d smaller, %d larger, "+
			"%d unknown; each verdict is at 95 %%, so that of some twenty one may be chance.",
			sizes[asPaper], sizes[smaller], sizes[larger], sizes[unknown])}
}

// in lists words in brackets.
func in(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// reproduces says what QTA with the paper's learner solved, and how soon.
func (r *Report) reproduces() string {
	for _, set := range []string{full, quick} {
		var ratios []float64
		var missed []string
		mazes, runs, solved, bound := 0, 0, 0, ""
		for _, p := range paper.Figures()[0].Panels {
			mazes += len(p.Mazes)
			for _, maze := range p.Mazes {
				g := r.group(set, paper.QTA, maze)
				if g == nil {
					continue
				}
				runs, solved = runs+g.N(), solved+g.Solved
				if ratios = append(ratios, math.Log(g.Mean/g.Paper.Mean)); g.Bound() {
					bound = "at least "
					missed = append(missed, fmt.Sprintf("%s, %d of %d in %.0f thousand steps", maze, g.Solved, g.N(),
						slices.Max(g.steps)/1000))
				}
			}
		}
		if runs > 0 {
			return fmt.Sprintf("With the paper’s learner (%s) QTA solved %d of %s on %d of the paper’s %d mazes%s, "+
				"in %s%.2f times the paper’s steps, the geometric mean over these mazes.", set, solved, words.Count(runs, "run"),
				len(ratios), mazes, in(missed), bound, math.Exp(stats.Mean(ratios)))
		}
	}
	return "No run here has the paper’s learner (paper, or quick), so that nothing is judged."
}

// CSV returns the report's numbers as CSV files by their names, in environment steps.
func (r *Report) CSV() map[string][]byte {
	runs, cells, claims := table("directory,setting,maze,path_length[cell],method,seed,state,steps[steps],"+
		"found_at[steps],half_at[steps],solved_at[steps],held_out[fraction],counted_as[steps],version,revision,kernel,command"),
		table("setting,maze,path_length[cell],method,runs[count],solved[count],not_ended[count],median[steps],mean[steps],"+
			"population_deviation[steps],found_at_median[steps],found[count],"+
			"paper_mean[steps],paper_deviation[steps],paper_printed[1000]"),
		table("claim,direction,size,measured,paper,here,could_have_shown,runs")
	for _, g := range r.Groups {
		for _, run := range g.all {
			runs = append(runs, g.row(run))
		}
		theirs := paper.Point{Mean: math.NaN(), Deviation: math.NaN(), Printed: math.NaN()}
		if g.Paper != nil {
			theirs = *g.Paper
		}
		cells = append(cells, row(g.Setting, g.Maze, g.Length, g.Method, g.N(), g.Solved, len(g.all)-g.N(), g.Median,
			g.Mean, g.SD, g.Found, g.FoundRuns, theirs.Mean, theirs.Deviation, theirs.Printed))
	}
	for _, c := range r.Claims {
		claims = append(claims, row(c.Text, c.Direction, c.Size, c.What, c.Paper, c.Here, c.Could, c.Runs))
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

// row returns the row of a run in runs.csv.
func (g *group) row(run *lab.Record) []string {
	counted, heldOut := math.NaN(), math.NaN()
	if run.Outcome.HeldOut != nil {
		heldOut = *run.Outcome.HeldOut
	}
	if run.Ended() {
		counted = run.Steps()
	}
	return row(run.Path, g.Setting, g.Maze, g.Length, g.Method, run.Run.Seed, run.State, run.Last().Step, run.Outcome.FoundAt,
		run.Curve.FirstAt(lab.Half), run.Outcome.SolvedAt, heldOut, counted,
		run.Run.Version, run.Program.Revision, run.Machine.Kernel, run.Command())
}
