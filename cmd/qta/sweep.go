package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"qta/cmd/qta/internal/paper"
	"qta/internal/files"
	"qta/internal/words"
	"qta/lab"
)

// This file reads sweeps: many runs, listed in a text file.

// A cell is one run of a sweep.
type cell struct {
	line   int      // of the sweep file, from 1
	flags  []string // of that line
	name   string   // of the run's directory within the sweep's
	dir    string   // both
	id     lab.Identity
	limits lab.Limits
	waited bool // it was said that another process works on it
}

type sweepFlags struct {
	jobs   int
	index  int // -1 where the flag is absent
	dryRun bool
	out    string

	figure, mazes, params string
	seeds, steps          int
}

func (f *sweepFlags) flagSet() *flag.FlagSet {
	*f = sweepFlags{jobs: 1, index: -1, out: "runs", seeds: 12, params: "default", steps: 150_000}
	flags := newFlagSet("sweep")
	wholeNumber(flags, &f.jobs, "jobs", 1, 10_000, "`N` cells to run at a time, with one thread each (1)")
	wholeNumber(flags, &f.index, "index", 0, 1_000_000,
		"`N` run this cell alone, in this process; the first is 0")
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"print the cells, what is left of each and its time on this machine, and run nothing")
	text(flags, &f.out, "out", "`DIR` directory of the run directories (runs)")
	text(flags, &f.figure, "figure", "`N` print the sweep file for a figure of the paper: 2, 3, 4, 5 or 6")
	wholeNumber(flags, &f.seeds, "seeds", 1, 10_000, "`N` with -figure: seeds 1 to N (12, for Figure 5: 1)")
	text(flags, &f.mazes, "mazes", "`LIST` with -figure: these mazes, separated by commas, in place of the figure's")
	text(flags, &f.params, "params", "`NAME|FILE` with -figure: what the figure's changes are applied to (default)")
	wholeNumber(flags, &f.steps, "steps", 1, lab.MaxSteps, "`N` with -figure: budget of each run (150000)")
	return flags
}

func sweepCommand(c call) error {
	var f sweepFlags
	flags := f.flagSet()
	args, err := parseFlags(flags, c.args)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range []string{"seeds", "mazes", "params", "steps"} {
		if given[name] && !given["figure"] {
			return words.BadInput("-%s goes with -figure; in a sweep file each line has its own flags", name)
		}
	}
	if given["figure"] {
		if err := noMore("sweep -figure "+f.figure, args); err != nil {
			return err
		}
		if f.figure == "5" && !given["seeds"] {
			f.seeds = 1
		}
		return f.printFigure(c.out)
	}
	file, err := oneArgument("sweep", "a sweep file, such as \"qta sweep -figure 2\" prints", args)
	if err != nil {
		return err
	}
	cells, err := readSweep(file, f.out)
	if err != nil {
		return err
	}
	if f.index >= len(cells) {
		return words.BadInput("-index %d: %s has %s, 0 to %d", f.index, file, words.Count(len(cells),
			"cell"), len(cells)-1)
	}
	switch {
	case f.dryRun:
		return dryRun(c.ctx, cells, f.jobs, c.out)
	case f.index >= 0:
		return cells[f.index].trainHere(c, f.index)
	}
	s := &sweep{cells: cells, jobs: f.jobs, out: f.out, stdout: c.out}
	return s.run(c.ctx)
}

// trainHere trains cell i in this process. That another has it is no failure.
func (c *cell) trainHere(in call, i int) error {
	in.args = c.arguments()
	err := trainCommand(in)
	if _, used := errors.AsType[lab.UseError](err); used {
		in.out.Say("%d %s: another process is working on it; the same command looks again", i, c.name)
		return errUnfinished
	}
	return err
}

// arguments returns what trains the cell. Of a flag given twice the later
// counts.
func (c *cell) arguments() []string {
	return slices.Concat([]string{"-threads", "1"}, c.flags, []string{"-out", c.dir})
}

// readSweep reads a sweep file whose runs are to be in directory out.
func readSweep(path, out string) ([]cell, error) {
	data, err := files.ReadText(path)
	if err != nil {
		return nil, words.BadFile(err, "sweep file %s: %w", path, err)
	}
	cells, err := parseSweep(data, out)
	if err != nil {
		return nil, words.BadInput("sweep file %s, %s", path, words.Bare(err))
	}
	return cells, nil
}

// parseSweep reads the text of a sweep file: on each line the flags of one run,
// separated by blanks. '#' begins a comment.
func parseSweep(text, out string) (cells []cell, err error) {
	lineOf := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		flags := strings.Fields(line)
		if len(flags) == 0 {
			continue
		}
		c, err := newCell(flags, out)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, words.Bare(err))
		}
		if before := lineOf[c.name]; before > 0 {
			return nil, fmt.Errorf("line %d: its directory %s is that of line %d already; change the seed "+
				"or name one with -out", number, c.name, before)
		}
		c.line = number
		lineOf[c.name] = number
		cells = append(cells, *c)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("line %d: there is no cell; want the flags of a run on each line, "+
			"such as -maze 1U5 -seed 1", max(number, 1))
	}
	return cells, nil
}

// newCell returns the cell that flags describe.
func newCell(flags []string, out string) (*cell, error) {
	var f trainFlags
	rest, err := parseFlags(f.flagSet(), flags)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, words.BadInput("-h stands for no run; \"qta help train\" lists the flags")
	case err != nil:
		return nil, err
	case len(rest) > 0 || slices.Contains(flags, "--"):
		return nil, words.BadInput("%q is no flag of training", append(rest, "--")[0])
	}
	_, id, label, err := f.describe()
	if err != nil {
		return nil, err
	}
	c := &cell{flags: flags, name: filepath.Clean(f.out), id: id, limits: lab.Limits{Steps: f.steps,
		Stop: f.stop}}
	if f.out == "" {
		dir, err := f.directory(id.Environment, label)
		if err != nil {
			return nil, err
		}
		c.name = filepath.Base(dir)
	} else if !filepath.IsLocal(c.name) || c.name == "." {
		return nil, words.BadInput("-out %q: want a directory within the sweep's, which the -out of qta sweep names", f.out)
	}
	c.dir = filepath.Join(out, c.name)
	return c, nil
}

// printFigure prints the sweep file of a figure of the paper.
func (f *sweepFlags) printFigure(stdout io.Writer) error {
	i := slices.IndexFunc(paper.Figures(), func(g paper.Figure) bool { return g.Number == f.figure })
	if i < 0 {
		return words.BadInput("-figure %q: want 2, 3, 4, 5 or 6", f.figure)
	}
	if p, _, err := findParams(f.params, nil); err != nil {
		return err
	} else if p.Curriculum != "qta" {
		return words.BadInput("-params %s: its curriculum is %s; a figure's methods are changes of a "+
			"parameter set with QTA's", f.params, p.Curriculum)
	}
	g := paper.Figures()[i]
	lines := []string{fmt.Sprintf("# Figure %s: %s", g.Number, g.About)}
	for _, p := range g.Panels {
		mazes := p.Mazes
		if f.mazes != "" {
			mazes = strings.Split(f.mazes, ",")
		}
		for _, l := range p.Lines {
			for _, maze := range mazes {
				if _, _, err := findMaze(maze); err != nil {
					return words.BadInput("-mazes: %s", words.Bare(err))
				}
				var set strings.Builder
				for _, change := range l.Method.Set {
					set.WriteString(" -set " + change)
				}
				for seed := 1; seed <= f.seeds; seed++ {
					lines = append(lines, fmt.Sprintf("-maze %s -params %s%s -seed %d -steps %d -stop %s",
						maze, f.params, set.String(), seed, f.steps, g.Stop))
				}
			}
		}
	}
	seen := map[string]bool{}
	lines = slices.DeleteFunc(lines, func(line string) bool { // panels share QTA
		twice := seen[line]
		seen[line] = true
		return twice
	})
	_, err := fmt.Fprintln(stdout, strings.Join(lines, "\n"))
	return err
}
