package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// This file is qta sweep: many runs, listed in a text file, some at a time with
// a thread each. All that a sweep knows stands in the runs' directories: a sweep
// that was killed is continued by the same command, several share a file, and a
// cluster's engine can take the place of this one by starting
// "qta sweep FILE -index N" instead.

// A cell is one run of a sweep.
type cell struct {
	*trainFlags              // of its line; their out is the run's directory
	line        int          // of the sweep file, from 1
	name        string       // of the directory within the sweep's
	id          lab.Identity // of its run
}

// A sweep is bounded, since a line may stand for a thousand cells.
const mostCells, mostLine = 10_000, 500

func sweepCommand(flags *flag.FlagSet) func(call) error {
	jobs := wholeNumber(flags, "jobs", 1, 1, 10_000, "run `N` cells at a time, with one thread each")
	index := wholeNumber(flags, "index", -1, 0, 1_000_000, "run only cell `N`, counted from 0")
	dry := flags.Bool("dry-run", false, "print the cells and the steps that each has left; run nothing")
	out := flags.String("out", "runs", "make the runs' directories in `DIR`")
	figure := flags.String("figure", "", "print the sweep file for figure `N` of the paper: 2, 3, 4, 5 or 6")
	seeds := wholeNumber(flags, "seeds", 0, 1, 100, "with -figure: seeds 1 to `N` (12, for Figure 5: 1)")
	mazes := flags.String("mazes", "", "with -figure: a `LIST` of mazes instead of the figure's, such as 4x5,1U5")
	params := flags.String("params", "", "with -figure: the parameter set that its methods change, `NAME|FILE` "+
		"(default paper, and their authors' sets for MEGA and VDS)")
	steps := wholeNumber(flags, "steps", 150_000, 1, lab.MaxSteps, "with -figure: train each run for at most `N` steps")
	return func(c call) error {
		if (*figure == "") == (len(c.args) == 0) {
			return words.BadInput("sweep needs either a sweep file or -figure; \"qta help sweep\" has an example")
		}
		with := map[bool]string{true: "a sweep file, not with -figure", false: "-figure; a sweep file has flags on its lines"}
		var odd error
		flags.Visit(func(f *flag.Flag) {
			if slices.Contains([]string{"jobs", "index", "dry-run", "out"}, f.Name) == (*figure != "") {
				odd = words.BadInput("-%s goes with %s", f.Name, with[*figure != ""])
			}
		})
		if odd != nil {
			return odd
		} else if *figure != "" {
			return printFigure(c.out, *figure, *mazes, *params, *seeds, *steps)
		}
		text, err := readText(c.args[0])
		if err != nil {
			return words.BadFile(err, "sweep file %s: %w", c.args[0], err)
		}
		cells, err := parseSweep(text, *out)
		if err != nil {
			return words.BadInput("sweep file %s, %s", c.args[0], words.Bare(err))
		}
		switch {
		case *index >= len(cells):
			return words.BadInput("-index %d: %s has %s, 0 to %d", *index, c.args[0],
				words.Count(len(cells), "cell"), len(cells)-1)
		case *dry:
			return listCells(cells, c.out)
		case *index >= 0:
			return cells[*index].train(c)
		}
		s := &sweep{cells: cells, out: *out, stdout: c.out}
		return s.run(c.ctx, *jobs)
	}
}

// parseSweep reads the text of a sweep file whose runs are to be in directory out: on
// each line the flags of one run, separated by blanks. '#' begins a comment.
func parseSweep(text, out string) (cells []cell, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		flags := strings.Fields(line)
		if len(flags) == 0 {
			continue
		}
		each, err := eachSeed(flags)
		if len(line) > mostLine || len(cells)+len(each) > mostCells {
			each, err = nil, fmt.Errorf("a sweep has at most %d cells, on lines of at most %d bytes", mostCells, mostLine)
		}
		for _, flags := range each {
			c, problem := newCell(number, flags, out)
			cells, err = append(cells, c), cmp.Or(err, problem)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, words.Bare(err))
		}
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("line %d: there is no cell; want the flags of a run on each line, "+
			"such as -maze 1U5 -seed 1", max(number, 1))
	}
	lines := map[string]int{} // of a directory
	for _, c := range cells {
		if line, taken := lines[c.name]; taken {
			return nil, fmt.Errorf("line %d: its directory %s is also line %d's; change the seed or name one with -out",
				c.line, c.name, line)
		}
		lines[c.name] = c.line
	}
	return cells, nil
}

// eachSeed returns the flags of a line, once for each seed of a range such as 0-11.
func eachSeed(flags []string) (lines [][]string, err error) {
	i := 1 + slices.IndexFunc(flags, func(f string) bool { return f == "-seed" || f == "--seed" })
	var first, last uint64
	if i > 0 && i < len(flags) {
		fmt.Sscanf(flags[i], "%d-%d", &first, &last)
	}
	if i == 0 || i == len(flags) || flags[i] != fmt.Sprintf("%d-%d", first, last) {
		return [][]string{flags}, nil
	}
	if most := uint64(1000); last < first || last-first >= most {
		return nil, words.BadInput("-seed %s: want the first and the last of at most %d seeds", flags[i], most)
	}
	for k := range last - first + 1 {
		lines = append(lines, slices.Concat(flags[:i], []string{fmt.Sprint(first + k)}, flags[i+1:]))
	}
	return lines, nil
}

// newCell returns the cell that flags describe, unless its training would be refused.
func newCell(line int, flags []string, out string) (c cell, err error) {
	set := newFlagSet("train")
	f := newTrainFlags(set)
	*f.threads = 1 // unless the line says otherwise
	rest, err := parseFlags(set, flags)
	if err != nil {
		return c, err
	} else if len(rest) > 0 {
		return c, words.BadInput("%q is not a flag of qta train", rest[0])
	}
	maze, o, err := f.describe()
	if err == nil {
		err = o.Check(lab.Maze(maze))
	}
	if err != nil {
		return c, err
	}
	name := filepath.Clean(cmp.Or(f.out, filepath.Base(o.Dir)))
	if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." || len(name) > 255 {
		return c, words.BadInput("-out %q: want the name of a directory in the sweep's, of at most 255 bytes", name)
	}
	f.out = filepath.Join(out, name)
	return cell{f, line, name, o.Identity(lab.Maze(maze))}, nil
}

// listCells prints the state of each cell, and how many of its steps are left.
func listCells(cells []cell, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell\tdirectory\tstate\tsteps left")
	for i, c := range cells {
		state, left := "to do", *c.steps
		if r, done := c.done(); done {
			state, left = "done", 0
		} else if r != nil && c.holds(r) {
			r.Path = c.out
			if state, _ = status(r); state == "done" { // by other limits, or with a damaged agent
				state = "ended otherwise"
			}
			if r.State != lab.Failed { // whose save may be older
				left = max(0, left-r.Outcome.Steps)
			}
		} else if r != nil {
			state = "another run"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\n", i, c.name, state, left)
	}
	return t.Flush()
}

// holds reports whether the record in a cell's directory is of the run that its line
// asks for, as this program computes it.
func (c *cell) holds(r *lab.Record) bool {
	id := c.id
	id.Code = lab.Code(id.Params)
	return len(r.Run.Differences(id)) == 0
}

// done returns the record of a cell's directory, if it has one, and whether it
// holds the finished run that the cell's line asks for, undamaged.
func (c *cell) done() (*lab.Record, bool) {
	r, err := lab.ReadRecord(filepath.Join(c.out, lab.RecordFile))
	if err != nil {
		return nil, false
	}
	solved := r.State == lab.Solved && c.stop == lab.StopSolved && r.Outcome.SolvedAt <= *c.steps // whatever the budget
	finished := r.State == lab.Finished && r.Limits == lab.Limits{Steps: *c.steps, Stop: c.stop}
	if !solved && !finished || !c.holds(r) {
		return r, false
	}
	run, err := lab.Open(c.out)
	if err != nil {
		return r, false
	}
	defer run.Agent.Close()
	return r, run.Warning == nil && run.Agent.Digest() == r.Outcome.Digest
}

// A sweep is the work on many cells.
type sweep struct {
	cells  []cell
	out    string
	stdout *output

	solved, ended, failed int // how many
	problem               string
}

// run works on the cells, so many at a time, until all have ended, or ctx has and the
// running ones are saved. A cell that another process works on is looked at again.
func (s *sweep) run(ctx context.Context, jobs int) error {
	queue, notes := make(chan int, len(s.cells)), make(chan func())
	for i := range s.cells {
		queue <- i
	}
	for range min(jobs, len(s.cells)) {
		go func() {
			for i := range queue {
				r, story, err := s.cells[i].work(ctx)
				if _, used := errors.AsType[lab.UseError](err); used {
					time.AfterFunc(200*time.Millisecond, func() { queue <- i })
					continue
				}
				notes <- func() { s.note(i, r, story, err) }
			}
		}()
	}
	shown := time.NewTicker(250 * time.Millisecond)
	defer shown.Stop()
	for ended := 0; ended < len(s.cells); {
		select {
		case note := <-notes:
			note()
			ended++
		case <-shown.C:
		}
		s.show()
	}
	close(queue)
	s.stdout.clear()
	return s.summary()
}

// work trains a cell unless that was done before, and returns its record and what has
// become of it: nothing if ctx had ended already.
func (c *cell) work(ctx context.Context) (r *lab.Record, story string, err error) {
	if ctx.Err() != nil {
		return nil, "", nil
	}
	if r, done := c.done(); done {
		return r, "was done already: " + reached(r), nil
	}
	var warnings strings.Builder
	defer c.at.Store(0)
	err = c.train(call{ctx: ctx, out: newOutput(io.Discard), stderr: &warnings})
	warned := strings.NewReplacer("qta: warning", "; warning", "\n", "").Replace(warnings.String())
	if err != nil {
		return nil, "stopped and saved" + warned, err
	}
	if r, err = lab.ReadRecord(filepath.Join(c.out, lab.RecordFile)); err != nil {
		return nil, "", err
	}
	return r, reached(r) + warned, nil
}

// note takes in what has become of a cell.
func (s *sweep) note(i int, r *lab.Record, story string, err error) {
	c := &s.cells[i]
	switch {
	case err != nil && !errors.Is(err, lab.ErrStopped):
		s.failed++
		story = "failed: " + words.Bare(err)
		s.problem = cmp.Or(s.problem, fmt.Sprintf("line %d, %s: %s", c.line, c.name, words.Bare(err)))
	case r != nil:
		s.ended++
		if r.Outcome.SolvedAt > 0 {
			s.solved++
		}
	}
	if story != "" {
		s.stdout.say("%*d %s: %s", len(fmt.Sprint(len(s.cells)-1)), i, c.name, story)
	}
}

// show shows how far the sweep and the cells that train are.
func (s *sweep) show() {
	line := []string{fmt.Sprintf("%d of %d done, %d solved, %d failed", s.ended, len(s.cells), s.solved, s.failed)}
	for i := range s.cells {
		if c := &s.cells[i]; c.at.Load() > 0 {
			line = append(line, fmt.Sprintf("%d: step %d, at most %d left", i, c.at.Load(), int64(*c.steps)-c.at.Load()))
		}
	}
	s.stdout.show(strings.Join(line, "; "))
}

// summary ends a sweep.
func (s *sweep) summary() error {
	all := words.Count(len(s.cells), "cell")
	switch {
	case s.ended+s.failed < len(s.cells):
		s.stdout.say("Stopped with %d of %s done; all that was running is saved in %s; the same command "+
			"continues it.", s.ended, all, s.out)
		return lab.ErrStopped
	case s.failed > 0:
		return fmt.Errorf("%d of %s failed and %d ended; the first failure: %s", s.failed, all, s.ended, s.problem)
	}
	s.stdout.say("All %s done, %d solved, in %s. \"qta report %s\" makes a page of them.", all, s.solved, s.out,
		words.Shell(s.out))
	return nil
}

// printFigure prints the sweep file of a figure of the paper, with its own mazes,
// parameters and seeds where none are given.
func printFigure(stdout io.Writer, figure, mazes, params string, seeds, steps int) error {
	i := slices.IndexFunc(paper.Figures(), func(g paper.Figure) bool { return g.Number == figure })
	if i < 0 {
		return words.BadInput("-figure %q: want 2, 3, 4, 5 or 6", figure)
	}
	if p, _, err := findParams(cmp.Or(params, "paper"), nil); err != nil {
		return err
	} else if p.Curriculum != "qta" {
		return words.BadInput("-params %s: its Curriculum is %s; name a set of QTA, which the figures' methods change",
			params, p.Curriculum)
	}
	g := paper.Figures()[i]
	var file strings.Builder
	fmt.Fprintf(&file, "# Figure %s: %s\n", g.Number, g.About)
	printed := map[string]bool{} // panels share QTA
	for _, p := range g.Panels {
		names := p.Mazes
		if mazes != "" {
			names = strings.Split(mazes, ",")
		}
		for _, m := range p.Lines {
			for _, maze := range names {
				if _, _, err := findMaze(maze); err != nil {
					return words.BadInput("-mazes: %s", words.Bare(err))
				}
				set, changes := cmp.Or(params, m.Own(), "paper"), m.Set
				if set == m.Own() {
					changes = nil
				}
				run := strings.Join(append([]string{"-maze " + maze + " -params " + set}, changes...), " -set ")
				for seed := 1; seed <= cmp.Or(seeds, g.Seeds) && !printed[run]; seed++ {
					fmt.Fprintf(&file, "%s -seed %d -steps %d -stop %s\n", run, seed, steps, g.Stop)
				}
				printed[run] = true
			}
		}
	}
	fmt.Fprintf(&file, "# To run them, with this text in figure%s.txt: qta sweep figure%[1]s.txt -jobs 2\n", g.Number)
	if _, err := parseSweep(file.String(), "runs"); err != nil { // of names with blanks, or too few steps
		return words.BadInput("qta sweep would refuse this file: %w", err)
	}
	io.WriteString(stdout, file.String())
	return nil
}
