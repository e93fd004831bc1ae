package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

// This file reads sweeps: many runs, listed in a text file.

// A cell is one run of a sweep. There may be a million, so it holds little: its
// line says the rest.
type cell struct {
	line int    // of the sweep file, from 1
	text string // that line
	name string // its directory within the sweep's
	out  string // the sweep's
}

// A plan is what the flags of a cell ask for.
type plan struct {
	run    rundir.Identity
	limits rundir.Limits
	label  string // of the parameters, as directories name them
}

func (c *cell) dir() string { return filepath.Join(c.out, c.name) }

// plan reads the cell's flags again, and the files that they name, which may have
// changed since.
func (c *cell) plan() (*plan, error) {
	_, p, err := newCellReader(c.out).read(c.text)
	return p, err
}

// words returns the cell's flags, which were read before.
func (c *cell) words() []string {
	flags, err := words.Split(c.text)
	if err != nil {
		panic(err)
	}
	return flags
}

type sweepFlags struct {
	jobs   int
	index  int // -1 where the flag is absent
	dryRun bool
	out    string

	figure, mazes string
	seeds         int
	params        string
	steps         int
}

func (f *sweepFlags) flagSet() *flag.FlagSet {
	*f = sweepFlags{jobs: 1, index: -1, out: "runs", seeds: 12, params: "default", steps: 150_000}
	flags := newFlagSet("sweep")
	wholeNumber(flags, &f.jobs, "jobs", 1, 10_000, "`N` cells to run at a time, with one thread each (1)")
	wholeNumber(flags, &f.index, "index", 0, maxCells, "`N` run this cell alone, in this process; the first is 0")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the cells, their arithmetic and their time on this machine, and run nothing")
	text(flags, &f.out, "out", "`DIR` directory of the run directories (runs)")
	text(flags, &f.figure, "figure", "`N` print the sweep file for a figure of the paper: 2, 3, 4, 5 or 6")
	wholeNumber(flags, &f.seeds, "seeds", 1, 10_000, "`N` with -figure: seeds 1 to N (12, for Figure 5: 1)")
	text(flags, &f.mazes, "mazes", "`LIST` with -figure: these mazes, separated by commas, in place of the figure's")
	text(flags, &f.params, "params", "`NAME|FILE` with -figure: what the figure's changes are applied to (default)")
	wholeNumber(flags, &f.steps, "steps", 1, rundir.MaxSteps, "`N` with -figure: budget of each run (150000)")
	return flags
}

func sweepCommand(ctx context.Context, args []string, stdout *terminal.Output, stderr io.Writer) error {
	var f sweepFlags
	flags := f.flagSet()
	args, err := parseFlags(flags, args)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["figure"] {
		for _, name := range []string{"jobs", "index", "dry-run", "out"} {
			if given[name] {
				return words.BadInput("-%s does not go with -figure, which prints a sweep file", name)
			}
		}
		if err := noMore("sweep -figure "+f.figure, args); err != nil {
			return err
		}
		if f.figure == "5" && !given["seeds"] {
			f.seeds = 1
		}
		text, err := f.figureSweep()
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, text)
		return err
	}
	for _, name := range []string{"seeds", "mazes", "params", "steps"} {
		if given[name] {
			return words.BadInput("-%s goes with -figure; in a sweep file each line has its own flags", name)
		}
	}
	if given["index"] && given["jobs"] {
		return words.BadInput("-jobs does not go with -index, which runs one cell")
	}
	file, err := oneArgument("sweep", "a sweep file, such as \"qta sweep -figure 2\" prints", args)
	if err != nil {
		return err
	}
	var e *estimate
	if f.dryRun {
		if e, err = newEstimate(ctx); err != nil {
			return err
		}
	}
	cells, err := readSweepFile(file, f.out, e)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return err
	}
	if f.index >= len(cells) {
		return words.BadInput("-index %d: %s has %s, 0 to %d", f.index, file, words.Count(len(cells), "cell"), len(cells)-1)
	}
	if f.dryRun {
		if f.index >= 0 {
			cells, e.costs = cells[f.index:f.index+1], e.costs[f.index:f.index+1]
		}
		return e.print(cells, f.jobs, stdout)
	}
	planned := make([]rundir.Cell, len(cells))
	for i := range cells {
		planned[i] = rundir.Cell{Name: cells[i].name, Flags: cells[i].flags()}
	}
	if err := rundir.WriteCells(f.out, stem(file), planned); err != nil {
		return words.BadFile(err, "%w", err)
	}
	if f.index >= 0 {
		return trainCell(ctx, f.index, &cells[f.index], stdout, stderr)
	}
	return newSweep(cells, f.jobs, f.out, stdout).run(ctx)
}

// trainCell trains cell i in this process. That another has it is no failure.
func trainCell(ctx context.Context, i int, c *cell, stdout *terminal.Output, stderr io.Writer) error {
	err := trainCommand(ctx, c.arguments(), stdout, stderr)
	if _, used := errors.AsType[rundir.UseError](err); used {
		fmt.Fprintf(stdout, "%d %s: another process is working on it; the same command looks again\n", i, c.name)
		return errUnfinished
	}
	return err
}

// arguments returns what trains the cell. Of a flag given twice the later
// counts.
func (c *cell) arguments() []string {
	return slices.Concat([]string{"-threads", "1"}, c.words(), []string{"-out", c.dir()})
}

// flags returns the cell's flags as they may stand in a sweep file.
func (c *cell) flags() string {
	quoted := c.words()
	for i, w := range quoted {
		quoted[i] = words.Shell(w)
	}
	return strings.Join(quoted, " ")
}

const (
	maxSweep = 64 << 20 // bytes of a sweep file
	maxCells = 1_000_000
)

// readSweepFile reads a sweep file whose runs are to be in directory out. The
// estimate, unless it is nil, is told of each.
func readSweepFile(path, out string, e *estimate) ([]cell, error) {
	data, err := files.ReadText(path, maxSweep)
	if err != nil {
		return nil, words.BadFile(err, "sweep file %s: %w", path, err)
	}
	cells, err := parseSweep(data, out, e)
	if err != nil {
		return nil, words.BadInput("sweep file %s, %s", path, words.Bare(err))
	}
	return cells, nil
}

// parseSweep reads the text of a sweep file: on each line the flags of one
// run. '#' begins a comment.
func parseSweep(text, out string, e *estimate) ([]cell, error) {
	r := newCellReader(out)
	var cells []cell
	lineOf := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		c, plan, err := r.read(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, words.Bare(err))
		}
		if c == nil {
			continue
		}
		if before := lineOf[c.name]; before > 0 {
			return nil, fmt.Errorf("line %d: its directory %s is that of line %d already; change the seed or name one with -out", number, c.name, before)
		}
		if len(cells) == maxCells {
			return nil, fmt.Errorf("line %d: more than %d cells", number, maxCells)
		}
		c.line = number
		lineOf[c.name] = number
		cells = append(cells, *c)
		if e != nil {
			if err := e.add(plan); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range cells {
		for outer := filepath.Dir(c.name); outer != "."; outer = filepath.Dir(outer) {
			if line := lineOf[outer]; line > 0 {
				return nil, fmt.Errorf("line %d: its directory %s lies within %s, that of line %d; change one of them with -out", c.line, c.name, outer, line)
			}
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("line %d: there is no cell; want the flags of a run on each line, such as -maze 1U5 -seed 1", max(number, 1))
	}
	return cells, nil
}

// A cellReader reads the lines of a sweep file. It knows what those of late have
// asked for, as most lines differ from one before in nothing but the seed.
type cellReader struct {
	out   string
	f     trainFlags
	flags *flag.FlagSet // of f
	known map[string]*plan
}

func newCellReader(out string) *cellReader {
	r := &cellReader{out: out, known: map[string]*plan{}}
	r.flags = r.f.flagSet()
	return r
}

// mostKnown bounds the memory of a cellReader.
const mostKnown = 1000

// read returns the cell of a line and its plan, or nil where it has none. The
// plan stands until the next call.
func (r *cellReader) read(line string) (*cell, *plan, error) {
	flags, err := words.Split(line)
	if err != nil || len(flags) == 0 {
		return nil, nil, err
	}
	f := &r.f
	f.reset()
	if rest, err := parseFlags(r.flags, flags); errors.Is(err, flag.ErrHelp) {
		return nil, nil, words.BadInput("-h stands for no run; \"qta help train\" lists the flags")
	} else if err != nil {
		return nil, nil, err
	} else if len(rest) > 0 {
		return nil, nil, words.BadInput("%q is no flag of training", rest[0])
	} else if slices.Contains(flags, "--") {
		return nil, nil, words.BadInput("-- ends the flags, and nothing else stands on a line; remove it")
	}
	key := strings.Join(append(f.set, f.maze, f.params, f.stop, strconv.Itoa(f.steps), strconv.Itoa(f.eval)), "\x00") // which no flag has
	p := r.known[key]
	if p == nil {
		_, id, label, err := f.describe()
		if err != nil {
			return nil, nil, err
		}
		if len(r.known) == mostKnown {
			clear(r.known)
		}
		p = &plan{id, rundir.Limits{Steps: f.steps, Stop: f.stop}, label}
		r.known[key] = p
	}
	p.run.Seed = f.seed
	c := &cell{text: line, out: r.out}
	if f.out == "" {
		dir, err := f.directory(p.run.Maze, p.label)
		if err != nil {
			return nil, nil, err
		}
		c.name = filepath.Base(dir)
	} else if c.name = filepath.Clean(f.out); !filepath.IsLocal(c.name) || c.name == "." || strings.ContainsAny(c.name, "\t\r\n") {
		return nil, nil, words.BadInput("-out %q: want a directory within the sweep's, which the -out of qta sweep names", f.out)
	}
	for element := range strings.SplitSeq(filepath.ToSlash(c.name), "/") {
		if strings.HasPrefix(element, ".") {
			return nil, nil, words.BadInput("the directory %s is hidden: neither status nor report look into it; name another one with -out", c.name)
		}
	}
	return c, p, nil
}

// done reports whether a cell's directory holds the finished run that its
// line asks for.
func (c *cell) done() (*rundir.Record, bool) {
	r, err := rundir.ReadRecord(c.dir())
	if err != nil || r == nil {
		return nil, false
	}
	p, err := c.plan()
	ended := r.State == rundir.Solved || r.State == rundir.Finished
	return r, err == nil && ended && r.Limits == p.limits && len(r.Run.Differences(p.run)) == 0
}

// figureSweep returns the sweep file of a figure of the paper.
func (f *sweepFlags) figureSweep() (string, error) {
	i := slices.IndexFunc(paper.Figures(), func(g paper.Figure) bool { return g.Number == f.figure })
	if i < 0 {
		return "", words.BadInput("-figure %q: want 2, 3, 4, 5 or 6", f.figure)
	}
	g := paper.Figures()[i]
	if f.mazes != "" {
		for name := range strings.SplitSeq(f.mazes, ",") {
			if _, _, err := findMaze(name); err != nil {
				return "", words.BadInput("-mazes: %s", words.Bare(err))
			}
		}
	}
	if p, _, err := findParams(f.params, nil); err != nil {
		return "", err
	} else if p.Curriculum != qta.CurriculumQTA {
		return "", words.BadInput("-params %s: its curriculum is %s; a figure's methods are changes of a parameter set with QTA's", f.params, p.Curriculum)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Figure %s: %s\n", g.Number, g.About)
	seen := map[string]bool{}
	for _, p := range g.Panels {
		mazes := p.Mazes
		if f.mazes != "" {
			mazes = strings.Split(f.mazes, ",")
		}
		for _, m := range p.Lines {
			for _, maze := range mazes {
				for seed := 1; seed <= f.seeds; seed++ {
					line := fmt.Sprintf("-maze %s -params %s", words.Shell(maze), words.Shell(f.params))
					for _, change := range m.Method.Set {
						line += " -set " + words.Shell(change)
					}
					line += fmt.Sprintf(" -seed %d -steps %d -stop %s\n", seed, f.steps, g.Stop)
					if !seen[line] {
						seen[line] = true
						b.WriteString(line)
					}
				}
			}
		}
	}
	return b.String(), nil
}
