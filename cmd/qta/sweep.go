package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// This file is qta sweep. It trains the runs that a text file lists, several at a time,
// with one thread each. A sweep keeps all it knows in the runs' directories. So the same
// command continues a sweep that was killed, and several sweeps can work on the same file.
// On a cluster each job is "qta sweep FILE -index N" instead, which trains one run.

// A cell is one run of a sweep.
type cell struct {
	*trainFlags              // the flags on its line, except that out is the run's directory
	line        int          // the line in the sweep file, from 1
	name        string       // the directory's name inside the sweep's directory
	id          lab.Identity // of its run, without code
}

// A sweep has at most mostCells cells, because one line may stand for a thousand. A line
// has at most mostLine bytes.
const mostCells, mostLine = 10_000, 500

// sweepFlags are what the flags of qta sweep say.
type sweepFlags struct {
	given map[string]bool // names of the flags on the command line

	// With a sweep file.
	jobs, index *int // index is -1 if the flag is absent
	out         *string

	// With -figure.
	figure, mazes, params *string // "" if the flag is absent
	seeds, steps          *int

	dry *bool
}

func sweepCommand(flags *flag.FlagSet) func(call) error {
	f := sweepFlags{given: map[string]bool{}}
	f.jobs = wholeNumber(flags, "jobs", 1, 1, 10_000,
		"run `N` cells at a time, with one thread each")
	f.index = wholeNumber(flags, "index", -1, 0, 1_000_000, "run only cell `N`, counted from 0")
	f.dry = flags.Bool("dry-run", false,
		"print the cells, the steps that each has left, and about how long their updates take; run nothing")
	f.out = flags.String("out", "runs", "make the runs' directories in `DIR`")
	f.figure = flags.String("figure", "",
		"print the sweep file for figure `N` of the paper: 2, 3, 4, 5 or 6")
	f.seeds = wholeNumber(flags, "seeds", 0, 1, 100,
		"with -figure: seeds 1 to `N` (default 12, but 1 for Figure 5)")
	f.mazes = flags.String("mazes", "",
		"with -figure: a `LIST` of mazes instead of the figure's, such as 4x5,1U5")
	f.params = flags.String("params", "",
		"with -figure: the parameter set from which all its methods start, `NAME|FILE` "+
			"(default paper, but for MEGA and VDS the sets of their authors)")
	f.steps = wholeNumber(flags, "steps", 150_000, 1, lab.MaxSteps,
		"with -figure: train each run for at most `N` steps")
	return func(c call) error {
		flags.Visit(func(one *flag.Flag) { f.given[one.Name] = true })
		return f.sweep(c)
	}
}

// sweep executes the command with these flags.
func (f *sweepFlags) sweep(c call) error {
	if err := f.check(c.args); err != nil {
		return err
	}
	if *f.figure != "" {
		return f.sweepFigure(c)
	}
	file := c.args[0]
	text, err := readText(file)
	if err != nil {
		return words.BadFile(err, "sweep file %s: %w", file, err)
	}
	cells, err := parseSweep(text, *f.out)
	if err != nil {
		return words.BadInput("sweep file %s, %s", file, words.Bare(err))
	}
	switch {
	case *f.index >= len(cells):
		return words.BadInput("-index %d: %s has %s, 0 to %d",
			*f.index, file, words.Count(len(cells), "cell"), len(cells)-1)
	case *f.dry:
		return listCells(cells, c.out)
	case *f.index >= 0:
		return cells[*f.index].train(c)
	}
	s := &sweep{cells: cells, out: *f.out, stdout: c.out}
	return s.run(c.ctx, *f.jobs)
}

// check refuses flags that do not go together.
func (f *sweepFlags) check(args []string) error {
	ofFigure := *f.figure != ""
	if ofFigure == (len(args) > 0) { // both or neither
		return words.BadInput("sweep needs either a sweep file or -figure; \"qta help sweep\" has an example")
	}
	for _, name := range []string{"jobs", "index", "out"} {
		if ofFigure && f.given[name] {
			return words.BadInput("-%s goes with a sweep file, not with -figure", name)
		}
	}
	for _, name := range []string{"seeds", "mazes", "params", "steps"} {
		if !ofFigure && f.given[name] {
			return words.BadInput("-%s goes with -figure; a sweep file has flags on its lines", name)
		}
	}
	return nil
}

// parseSweep reads the text of a sweep file. Each line has the flags of one run, separated
// by blanks, and '#' begins a comment. The runs' directories will lie in out.
func parseSweep(text, out string) (cells []cell, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		more, err := lineCells(number, line, out, mostCells-len(cells))
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, words.Bare(err))
		}
		cells = append(cells, more...)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("line %d: there is no cell; want the flags of a run on each line, "+
			"such as -maze 1U5 -seed 1", max(number, 1))
	}
	lines := map[string]int{} // which line has taken a directory
	for _, c := range cells {
		if line, taken := lines[c.name]; taken {
			return nil, fmt.Errorf("line %d: its directory %s is also line %d's; "+
				"change the seed or name one with -out", c.line, c.name, line)
		}
		lines[c.name] = c.line
	}
	return cells, nil
}

// lineCells returns the cells of the line with this number. There may be so many at most.
func lineCells(number int, line, out string, most int) (cells []cell, err error) {
	flags := strings.Fields(line)
	if len(flags) == 0 {
		return nil, nil
	}
	each, err := eachSeed(flags)
	if err != nil {
		return nil, err
	}
	if len(line) > mostLine || len(each) > most {
		return nil, fmt.Errorf("a sweep has at most %d cells, on lines of at most %d bytes",
			mostCells, mostLine)
	}
	for _, flags := range each {
		c, err := newCell(number, flags, out)
		if err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// eachSeed returns the flags of each run on a line. If the line's seed is a range such as
// 0-11, there is a run for each seed, and its other flags are the same.
func eachSeed(flags []string) (lines [][]string, err error) {
	one := [][]string{flags}
	i := 1 + slices.IndexFunc(flags, func(f string) bool { return f == "-seed" || f == "--seed" })
	if i == 0 || i == len(flags) { // there is no -seed, or nothing after it
		return one, nil
	}
	var first, last uint64
	fmt.Sscanf(flags[i], "%d-%d", &first, &last)
	isRange := flags[i] == fmt.Sprintf("%d-%d", first, last)
	if !isRange {
		return one, nil
	}
	const most = 1000
	if last < first || last-first >= most {
		return nil, words.BadInput("-seed %s: want the first and the last of at most %d seeds",
			flags[i], most)
	}
	for k := range last - first + 1 {
		seed := fmt.Sprint(first + k)
		lines = append(lines, slices.Concat(flags[:i], []string{seed}, flags[i+1:]))
	}
	return lines, nil
}

// newCell returns the cell that flags describe, unless its training would be refused.
func newCell(line int, flags []string, out string) (c cell, err error) {
	set := newFlagSet("train")
	f := newTrainFlags(set)
	*f.threads = 1 // the default on a line of a sweep
	rest, err := parseFlags(set, flags)
	if err != nil {
		return c, err
	}
	if len(rest) > 0 {
		return c, words.BadInput("%q is not a flag of qta train", rest[0])
	}
	maze, o, err := f.describe()
	if err != nil {
		return c, err
	}
	if err := o.Check(lab.Maze(maze)); err != nil {
		return c, err
	}
	usual := filepath.Base(o.Dir) // the name if there is no -out
	name := filepath.Clean(cmp.Or(f.out, usual))
	isPath := name != filepath.Base(name) || !filepath.IsLocal(name) // such as a/b or ..
	if isPath || name == "." || len(name) > 255 {
		return c, words.BadInput("-out %q: want the name of a directory in the sweep's directory, "+
			"at most 255 bytes long", name)
	}
	f.out = filepath.Join(out, name)
	return cell{trainFlags: f, line: line, name: name, id: o.Identity(lab.Maze(maze))}, nil
}

// listCells prints each cell's state and steps left. It ends with the sum of the steps left
// and about how long the updates of these steps take.
func listCells(cells []cell, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell\tdirectory\tstate\tsteps left")
	total := 0
	var work float64
	for i, c := range cells {
		state, left := c.standing()
		total += left
		work += float64(left) * multiplyAdds(c.id)
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\n", i, c.name, state, left)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	const rate = 40e9 // multiply-adds a second; docs/machines.md has slower and faster machines
	hours := work / rate / (60 * 60)
	_, err := fmt.Fprintf(w, "At most %s left, whose updates take "+
		"about %.1f hours on one thread at 40 billion multiply-adds a second.\n",
		words.Count(total, "step"), hours)
	return err
}

// multiplyAdds returns about how many multiply-adds the updates of one environment step
// take, by the formula in docs/machines.md. Choosing goals is not included.
func multiplyAdds(id lab.Identity) float64 {
	p := id.Params
	sizes := id.NewMaze().Env().Sizes()
	inputs := sizes.Observation + sizes.Goal + sizes.Action
	network := inputs*p.HiddenSize + (p.HiddenLayers-1)*p.HiddenSize*p.HiddenSize + p.HiddenSize
	passes := 5*p.Critics + 6
	rows := float64(p.UpdatesPerStep * passes * p.Batch)
	if p.Curriculum == "vds" {
		// After each episode VDS's three value functions make 100 updates of five passes each.
		// Their batches have 1000 transitions.
		rows += float64(3*100*5*1000) / float64(p.Horizon)
	}
	return rows * float64(network)
}

// standing returns the state of a cell's run, and how many steps it has left.
func (c *cell) standing() (state string, left int) {
	r, done := c.done()
	switch {
	case done:
		return "done", 0
	case r == nil:
		return "to do", *c.steps
	case !c.holds(r):
		return "another run", *c.steps
	}
	r.Path = c.out // where status asks for the lock
	state, _ = status(r)
	if state == "done" { // with other limits than the line's, or with a damaged agent
		state = "ended otherwise"
	}
	if r.State == lab.Failed { // the save may be from an earlier step than the record
		return state, *c.steps
	}
	return state, max(0, *c.steps-r.Outcome.Steps)
}

// holds reports whether r is the record of the run that the cell's line asks for, as this
// program computes it.
func (c *cell) holds(r *lab.Record) bool {
	id := c.id
	id.Code = lab.Code(id.Params)
	return len(r.Run.Differences(id)) == 0
}

// done returns the record in a cell's directory, or nil. It also reports whether the
// directory holds the run that the cell's line asks for, finished and undamaged.
func (c *cell) done() (*lab.Record, bool) {
	r, err := lab.ReadRecord(filepath.Join(c.out, lab.RecordFile))
	if err != nil {
		return nil, false
	}
	inTime := r.Outcome.SolvedAt <= *c.steps // whatever the solved run's budget was
	solved := r.State == lab.Solved && c.stop == lab.StopSolved && inTime
	finished := r.State == lab.Finished && r.Limits == lab.Limits{Steps: *c.steps, Stop: c.stop}
	ended := solved || finished
	if !ended || !c.holds(r) {
		return r, false
	}
	if _, err := os.Stat(filepath.Join(c.out, lab.AgentFile)); err != nil {
		return r, false // Open would read agent.qta.previous, which may be as far
	}
	run, err := lab.Open(c.out)
	if err != nil {
		return r, false
	}
	defer run.Agent.Close()
	return r, run.Warning == nil && run.Agent.Digest() == r.Outcome.Digest
}

// A sweep works on many cells.
type sweep struct {
	cells  []cell
	out    string
	stdout *output

	solved, ended, failed int    // how many cells; ended includes solved
	problem               string // the first failure
}

// run works on several cells at a time until all have ended. If ctx is done before that,
// run saves the cells that are training. If another process works on a cell, run tries this
// cell again later.
func (s *sweep) run(ctx context.Context, jobs int) error {
	queue := make(chan int, len(s.cells))
	for i := range s.cells {
		queue <- i
	}
	notes := make(chan note)
	for range min(jobs, len(s.cells)) {
		go s.work(ctx, queue, notes)
	}
	shown := time.NewTicker(250 * time.Millisecond)
	defer shown.Stop()
	for taken := 0; taken < len(s.cells); {
		select {
		case n := <-notes:
			s.take(n)
			taken++
		case <-shown.C:
		}
		s.show()
	}
	close(queue)
	s.stdout.clear()
	return s.summary()
}

// A note says what has become of a cell.
type note struct {
	cell   int
	record *lab.Record // nil unless the run has ended
	err    error

	// What to print, or with err only the run's warnings. It is "" if the cell has not begun.
	story string
}

// work works on one cell of the queue after another. It puts back a cell that another process
// is using.
func (s *sweep) work(ctx context.Context, queue chan int, notes chan<- note) {
	for i := range queue {
		n := s.cells[i].work(ctx)
		if _, inUse := errors.AsType[lab.UseError](n.err); inUse {
			time.AfterFunc(200*time.Millisecond, func() { queue <- i })
			continue
		}
		n.cell = i
		notes <- n
	}
}

// work trains a cell unless that was done before, and returns a note without the cell's
// number. If ctx is done already, the note is empty.
func (c *cell) work(ctx context.Context) note {
	if ctx.Err() != nil {
		return note{}
	}
	if r, done := c.done(); done {
		return note{record: r, story: "was done already: " + reached(r)}
	}
	var warnings strings.Builder
	defer c.at.Store(0)
	err := c.train(call{ctx: ctx, out: newOutput(io.Discard), stderr: &warnings})
	warned := strings.NewReplacer("qta: warning", "; warning", "\n", "").Replace(warnings.String())
	if err != nil {
		return note{story: warned, err: err}
	}
	r, err := lab.ReadRecord(filepath.Join(c.out, lab.RecordFile))
	if err == nil && (r.State == lab.Solved || r.State == lab.Finished) {
		return note{record: r, story: reached(r) + warned}
	}
	err = fmt.Errorf("it has ended, but %s does not say so", lab.RecordFile)
	return note{story: warned, err: err}
}

// take counts and prints what has become of a cell.
func (s *sweep) take(n note) {
	c := &s.cells[n.cell]
	switch {
	case errors.Is(n.err, lab.ErrStopped):
		n.story = "stopped" + n.story
	case n.err != nil:
		s.failed++
		why := words.Bare(n.err) + n.story
		n.story = "failed: " + why
		s.problem = cmp.Or(s.problem, fmt.Sprintf("line %d, %s: %s", c.line, c.name, why))
	case n.record != nil:
		s.ended++
		if n.record.Outcome.SolvedAt > 0 {
			s.solved++
		}
	}
	if n.story != "" {
		width := len(fmt.Sprint(len(s.cells) - 1))
		s.stdout.say("%*d %s: %s", width, n.cell, c.name, n.story)
	}
}

// show shows how far the sweep is, and how far each cell that trains is.
func (s *sweep) show() {
	var line strings.Builder
	fmt.Fprintf(&line, "%d of %d done, %d solved, %d failed",
		s.ended, len(s.cells), s.solved, s.failed)
	for i, c := range s.cells {
		step := int(c.at.Load())
		if step > 0 {
			fmt.Fprintf(&line, "; %d: step %d, at most %d left", i, step, *c.steps-step)
		}
	}
	s.stdout.show(line.String())
}

// summary says how a sweep has ended, and returns an error unless all cells are done.
func (s *sweep) summary() error {
	all := words.Count(len(s.cells), "cell")
	switch {
	case s.ended+s.failed < len(s.cells):
		s.stdout.say("Stopped with %d of %s done; all that was running is saved in %s; "+
			"the same command continues it.", s.ended, all, s.out)
		return lab.ErrStopped
	case s.failed > 0:
		return fmt.Errorf("%d of %s failed and %d ended; the first failure: %s",
			s.failed, all, s.ended, s.problem)
	}
	s.stdout.say("All %s done, %d solved, in %s. \"qta report %s\" makes a page of them.",
		all, s.solved, s.out, words.Shell(s.out))
	return nil
}

// sweepFigure prints the sweep file of a figure of the paper, or with -dry-run its cells.
func (f *sweepFlags) sweepFigure(c call) error {
	text, err := f.figureText()
	if err != nil {
		return err
	}
	cells, err := parseSweep(text, *f.out)
	if err != nil { // a name has blanks, or there are too few steps
		return words.BadInput("qta sweep would refuse this file: %w", err)
	}
	if *f.dry {
		return listCells(cells, c.out)
	}
	_, err = io.WriteString(c.out, text)
	return err
}

// figureText returns the sweep file of a figure. It has the paper's mazes, parameters and
// seeds, except for those that the flags give.
func (f *sweepFlags) figureText() (string, error) {
	figures := paper.Figures()
	i := slices.IndexFunc(figures, func(g paper.Figure) bool { return g.Number == *f.figure })
	if i < 0 {
		return "", words.BadInput("-figure %q: want 2, 3, 4, 5 or 6", *f.figure)
	}
	mazes, err := f.checkFigure()
	if err != nil {
		return "", err
	}
	g := figures[i]
	var file strings.Builder
	fmt.Fprintf(&file, "# Figure %s: %s\n", g.Number, g.About)
	printed := map[string]bool{}
	for _, p := range g.Panels {
		if mazes != nil {
			p.Mazes = mazes
		}
		for _, run := range f.panelRuns(p) {
			if printed[run] {
				continue // panels share the runs of QTA
			}
			printed[run] = true
			for seed := range cmp.Or(*f.seeds, g.Seeds) {
				fmt.Fprintf(&file, "%s -seed %d -steps %d -stop %s\n", run, seed+1, *f.steps, g.Stop)
			}
		}
	}
	fmt.Fprintf(&file, "# To run them, with this text in figure%s.txt: qta sweep figure%[1]s.txt -jobs 2\n",
		g.Number)
	return file.String(), nil
}

// checkFigure refuses parameters or mazes that no figure can have. It returns the mazes
// that the flags name, or nil if they name none.
func (f *sweepFlags) checkFigure() (mazes []string, err error) {
	p, _, err := findParams(cmp.Or(*f.params, "paper"), nil)
	if err != nil {
		return nil, err
	}
	if p.Curriculum != "qta" {
		return nil, words.BadInput("-params %s: its Curriculum is %s; "+
			"name a set of QTA, from which the figures' methods start", *f.params, p.Curriculum)
	}
	if *f.mazes == "" {
		return nil, nil
	}
	mazes = strings.Split(*f.mazes, ",")
	for _, maze := range mazes {
		if _, _, err := findMaze(maze); err != nil {
			return nil, words.BadInput("-mazes: %s", words.Bare(err))
		}
	}
	return mazes, nil
}

// panelRuns returns the flags of each run of a panel, without seed and limits.
func (f *sweepFlags) panelRuns(p paper.Panel) (runs []string) {
	for _, m := range p.Lines {
		set := cmp.Or(*f.params, m.Own(), "paper")
		var flags strings.Builder
		flags.WriteString(" -params " + set)
		if set != m.Own() {
			for _, change := range m.Set {
				flags.WriteString(" -set " + change)
			}
		}
		for _, maze := range p.Mazes {
			runs = append(runs, "-maze "+maze+flags.String())
		}
	}
	return runs
}
