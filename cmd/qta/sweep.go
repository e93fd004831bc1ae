package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

// This file runs sweeps: many runs, listed in a text file. Every run is a
// process of its own with one thread, so that none can harm another, and a
// cluster's engine can take the place of this one by starting "qta sweep FILE
// -index N" instead. All that a sweep knows stands in the run directories: a
// sweep that was killed is continued by the same command.

// A cell is one run of a sweep.
type cell struct {
	line   int      // of the sweep file, from 1
	words  []string // its flags
	name   string   // its directory within the sweep's
	dir    string
	run    rundir.Identity
	limits rundir.Limits
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
	flags := newFlagSet("qta sweep")
	wholeNumber(flags, &f.jobs, "jobs", 1, 10_000, "`N` cells to run at a time, with one thread each (1)")
	wholeNumber(flags, &f.index, "index", 0, maxCells, "`N` run this cell alone, in this process; the first is 0")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the cells, their arithmetic and their time on this machine, and run nothing")
	flags.StringVar(&f.out, "out", f.out, "`DIR` directory of the run directories (runs)")
	flags.StringVar(&f.figure, "figure", "", "`N` print the sweep file for a figure of the paper: 2, 3, 4, 5 or 6")
	wholeNumber(flags, &f.seeds, "seeds", 1, 10_000, "`N` with -figure: seeds 1 to N (12, for Figure 5: 1)")
	flags.StringVar(&f.mazes, "mazes", "", "`LIST` with -figure: these mazes, separated by commas, in place of the figure's")
	flags.StringVar(&f.params, "params", f.params, "`NAME|FILE` with -figure: what the figure's changes are applied to (default)")
	wholeNumber(flags, &f.steps, "steps", 1, rundir.MaxSteps, "`N` with -figure: budget of each run (150000)")
	return flags
}

func sweepCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
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
	file, err := oneArgument("sweep", "a sweep file, such as \"qta sweep -figure 2\" prints", args)
	if err != nil {
		return err
	}
	cells, err := readSweepFile(file, f.out)
	if err != nil {
		return err
	}
	if f.index >= len(cells) {
		return words.BadInput("-index %d: %s has %s, 0 to %d", f.index, file, words.Count(len(cells), "cell"), len(cells)-1)
	}
	if f.dryRun {
		if f.index >= 0 {
			cells = cells[f.index : f.index+1]
		}
		return dryRun(ctx, cells, f.jobs, stdout)
	}
	planned := make([]rundir.Cell, len(cells))
	for i := range cells {
		planned[i] = rundir.Cell{Name: cells[i].name, Flags: cells[i].flags()}
	}
	if err := rundir.WriteCells(f.out, stem(file), planned); err != nil {
		return words.BadInput("%w", err)
	}
	if f.index >= 0 {
		return trainCommand(ctx, cells[f.index].arguments(), stdout, stderr)
	}
	return newSweep(cells, f.jobs, f.out, stdout, stderr).run(ctx)
}

// arguments returns what trains the cell. Of a flag given twice the later
// counts.
func (c *cell) arguments() []string {
	return slices.Concat([]string{"-threads", "1"}, c.words, []string{"-out", c.dir})
}

// flags returns the cell's flags as they may stand in a sweep file.
func (c *cell) flags() string {
	quoted := make([]string, len(c.words))
	for i, w := range c.words {
		quoted[i] = words.Shell(w)
	}
	return strings.Join(quoted, " ")
}

const (
	maxSweep = 64 << 20 // bytes of a sweep file
	maxCells = 1_000_000
)

// readSweepFile reads a sweep file whose runs are to be in directory out.
func readSweepFile(path, out string) ([]cell, error) {
	data, err := files.Read(path, maxSweep)
	if err != nil {
		return nil, words.BadInput("sweep file %s: %v", path, err)
	}
	cells, err := parseSweep(string(data), out)
	if err != nil {
		return nil, words.BadInput("sweep file %s, %s", path, words.Bare(err))
	}
	return cells, nil
}

// parseSweep reads the text of a sweep file: on each line the flags of one
// run. '#' begins a comment.
func parseSweep(text, out string) ([]cell, error) {
	var cells []cell
	lineOf := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		flags, err := words.Split(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(flags) == 0 {
			continue
		}
		c, err := newCell(flags, out)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, words.Bare(err))
		}
		if before := lineOf[c.name]; before > 0 {
			return nil, fmt.Errorf("line %d: its directory %s is that of line %d already; change the seed or name one with -out", number, c.name, before)
		}
		if len(cells) == maxCells {
			return nil, fmt.Errorf("line %d: more than %d cells", number, maxCells)
		}
		c.line = number
		lineOf[c.name] = number
		cells = append(cells, c)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("line %d: there is no cell; want the flags of a run on each line, such as -maze 1U5 -seed 1", max(number, 1))
	}
	return cells, nil
}

// newCell reads the flags of one run.
func newCell(flags []string, out string) (cell, error) {
	var f trainFlags
	rest, err := parseFlags(f.flagSet(), flags)
	if err != nil {
		return cell{}, err
	}
	if len(rest) > 0 {
		return cell{}, words.BadInput("%q is no flag of training", rest[0])
	}
	_, id, dir, err := f.describe()
	if err != nil {
		return cell{}, err
	}
	name := filepath.Base(dir)
	if f.out != "" {
		name = filepath.Clean(f.out)
		if !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\t\r\n") {
			return cell{}, words.BadInput("-out %q: want a directory within the sweep's, which the -out of qta sweep names", f.out)
		}
	}
	return cell{words: flags, name: name, dir: filepath.Join(out, name), run: id, limits: rundir.Limits{Steps: f.steps, Stop: f.stop}}, nil
}

// done reports whether a cell's directory holds the finished run that its
// line asks for.
func (c *cell) done() (*rundir.Record, bool) {
	r, err := rundir.ReadRecord(c.dir)
	if err != nil || r == nil {
		return nil, false
	}
	ended := r.State == rundir.Solved || r.State == rundir.Finished
	return r, ended && r.Limits == c.limits && len(r.Run.Differences(c.run)) == 0
}

// stopAtEOF is the environment variable with which a sweep starts a process
// that is to stop, as after SIGTERM, at the end of its standard input. So
// cells also stop when the sweep is killed, on every system.
const stopAtEOF = "QTA_STOP_AT_EOF"

// The states of a cell while its sweep runs.
type progress int

const (
	waiting progress = iota
	running
	ended
	unfinished // stopped and saved
	failed
)

// A sweep is the work on many cells.
type sweep struct {
	cells          []cell
	state          []progress
	later          []time.Time // before which a cell in use elsewhere is not tried again
	children       map[int]*child
	jobs           int
	out            string
	stdout, stderr io.Writer
	begin          time.Time

	solved  int // of the ended
	problem string
	live    bool
	lines   int // of the live table on the screen
}

// A child is the process of a cell.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  tail
	begin   time.Time
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

func newSweep(cells []cell, jobs int, out string, stdout, stderr io.Writer) *sweep {
	return &sweep{
		cells: cells, state: make([]progress, len(cells)), later: make([]time.Time, len(cells)),
		children: map[int]*child{}, jobs: jobs, out: out,
		stdout: stdout, stderr: stderr, begin: time.Now(), live: isTerminal(stdout),
	}
}

// run works on the cells until all have ended, or ctx has and the running ones
// are saved.
func (s *sweep) run(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program's own file is unknown, so that it cannot start cells: %w", err)
	}
	ends := make(chan int)
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	stop := ctx.Done()
	for {
		for ctx.Err() == nil && len(s.children) < s.jobs {
			i := s.next()
			if i < 0 {
				break
			}
			if err := s.start(program, i, ends); err != nil {
				s.fail(i, words.Bare(err))
			}
		}
		if len(s.children) == 0 && (ctx.Err() != nil || !slices.Contains(s.state, waiting)) {
			break
		}
		s.draw()
		select {
		case i := <-ends:
			s.end(ctx, i)
		case <-clock.C:
		case <-stop:
			stop = nil
			for _, c := range s.children {
				c.stdin.Close()
			}
			s.say("Stopping: %s to save.", words.Count(len(s.children), "run"))
		}
	}
	s.erase()
	return s.summary()
}

// next returns a cell to start, or -1.
func (s *sweep) next() int {
	now := time.Now()
	for i := range s.cells {
		if s.state[i] != waiting || now.Before(s.later[i]) {
			continue
		}
		if r, done := s.cells[i].done(); done {
			s.note(i, r, "was done already: ")
			continue
		}
		if rundir.InUse(s.cells[i].dir) {
			if s.later[i].IsZero() {
				s.sayOf(i, "another process is working on it; it is looked at again each second")
			}
			s.later[i] = now.Add(time.Second)
			continue
		}
		return i
	}
	return -1
}

// start starts the process of a cell, which sends i to ends when it has ended.
func (s *sweep) start(program string, i int, ends chan<- int) error {
	c := &child{begin: time.Now()}
	c.command = exec.Command(program, s.cells[i].arguments()...)
	c.command.Env = append(os.Environ(), stopAtEOF+"=1")
	c.command.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return err
	}
	if err := c.command.Start(); err != nil {
		return err
	}
	s.state[i], s.children[i] = running, c
	if !s.live {
		s.sayOf(i, "started")
	}
	go func() {
		c.command.Wait() // ProcessState tells what came of it
		ends <- i
	}()
	return nil
}

// end notes how the process of a cell has ended.
func (s *sweep) end(ctx context.Context, i int) {
	c := s.children[i]
	delete(s.children, i)
	c.stdin.Close()
	message := strings.TrimSpace(string(c.stderr.text))
	switch code := c.command.ProcessState.ExitCode(); {
	case code == exitDone:
		r, err := rundir.ReadRecord(s.cells[i].dir)
		if err != nil || r == nil {
			s.fail(i, fmt.Sprintf("its process has ended well and left no whole %s", rundir.RecordFile))
			return
		}
		if message != "" {
			s.sayOf(i, "%s", lastLine(message))
		}
		s.note(i, r, "")
	case code == exitUnfinished:
		s.state[i] = unfinished
		s.sayOf(i, "stopped and saved")
	case code == exitFailure && rundir.InUse(s.cells[i].dir):
		s.state[i], s.later[i] = waiting, time.Now().Add(time.Second)
	case code < 0 && ctx.Err() != nil:
		s.state[i] = unfinished
		s.sayOf(i, "ended without saving (%v)", c.command.ProcessState)
	case message == "":
		s.fail(i, c.command.ProcessState.String())
	default:
		s.fail(i, strings.TrimPrefix(lastLine(message), "qta: "))
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// note notes the end of a run.
func (s *sweep) note(i int, r *rundir.Record, prefix string) {
	s.state[i] = ended
	if r.Outcome != nil && r.Outcome.SolvedAt > 0 {
		s.solved++
		s.sayOf(i, "%ssolved at step %d", prefix, r.Outcome.SolvedAt)
		return
	}
	s.sayOf(i, "%snot solved within %s", prefix, words.Count(r.Limits.Steps, "step"))
}

func (s *sweep) fail(i int, message string) {
	s.state[i] = failed
	if s.problem == "" {
		s.problem = fmt.Sprintf("line %d, %s: %s", s.cells[i].line, s.cells[i].name, message)
	}
	s.sayOf(i, "failed: %s", message)
}

// summary ends a sweep.
func (s *sweep) summary() error {
	n := s.tally()
	switch {
	case n[failed] > 0:
		return fmt.Errorf("%d of %s failed and %d ended; the first failure: %s", n[failed], words.Count(len(s.cells), "cell"), n[ended], s.problem)
	case n[ended] < len(s.cells):
		s.say("Stopped with %d of %s done; all that was running is saved in %s, and the same command goes on.", n[ended], words.Count(len(s.cells), "cell"), s.out)
		return errUnfinished
	}
	s.say("All %s done, %d solved, in %s. \"qta report %s\" makes a page of them.", words.Count(len(s.cells), "cell"), s.solved, s.out, words.Shell(s.out))
	return nil
}

func (s *sweep) tally() (n [failed + 1]int) {
	for _, p := range s.state {
		n[p]++
	}
	return n
}

// say writes a line that stays.
func (s *sweep) say(format string, args ...any) {
	s.erase()
	fmt.Fprintf(s.stdout, format+"\n", args...)
}

// sayOf writes a line about a cell, which begins with its -index.
func (s *sweep) sayOf(i int, format string, args ...any) {
	s.say("%*d %s: %s", len(strconv.Itoa(len(s.cells)-1)), i, s.cells[i].name, fmt.Sprintf(format, args...))
}

// The live table is cut to a terminal of this size.
const (
	tableWidth = 79
	tableRows  = 20
)

// draw brings the live table up to date: below a line about the whole, one for
// each running cell.
func (s *sweep) draw() {
	if !s.live {
		return
	}
	s.erase()
	n := s.tally()
	now := time.Now()
	lines := []string{fmt.Sprintf("%d of %d done (%d solved), %d running, %d waiting, %d failed; %v",
		n[ended], len(s.cells), s.solved, n[running], n[waiting], n[failed], now.Sub(s.begin).Round(time.Second))}
	for i := range s.cells {
		c := s.children[i]
		if c == nil {
			continue
		}
		if len(lines) > tableRows {
			lines = append(lines, "  and others")
			break
		}
		e := lastEvaluation(s.cells[i].dir)
		lines = append(lines, fmt.Sprintf("  %-38s %8d steps %5.2f %12v", nameEnd(s.cells[i].name, 38), e.Step, e.Success, now.Sub(c.begin).Round(time.Second)))
	}
	for _, line := range lines {
		fmt.Fprintf(s.stdout, "%.*s\n", tableWidth, line)
	}
	s.lines = len(lines)
}

// nameEnd returns the end of a name, where cells differ, in n characters.
func nameEnd(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return "…" + string(r[len(r)-n+1:])
	}
	return name
}

// erase takes the live table off the screen.
func (s *sweep) erase() {
	if s.lines > 0 {
		fmt.Fprintf(s.stdout, "\x1b[%dA\x1b[J", s.lines)
		s.lines = 0
	}
}

// lastEvaluation returns the last row of a run's log, or zeros where there is
// none yet.
func lastEvaluation(dir string) (last rundir.Row) {
	if rows, err := rundir.ReadLog(dir); err == nil && len(rows) > 0 {
		last = rows[len(rows)-1]
	}
	return last
}

// stepsPerGoal is how many environment steps come to one choice of a goal in
// an estimate: runs at full size have one choice in four to five steps, more
// while they learn.
const stepsPerGoal = 4

// vdsRows is how many transitions VDS's own value functions learn from after
// an episode: three of them, in 100 updates of 1000 each.
const vdsRows = 3 * 100 * 1000

// arithmetic returns the floating point operations of an update, and of an
// environment step on average over a run of some steps.
func arithmetic(p qta.Params, sizes qta.Sizes, steps int) (update, all float64) {
	h, layers, critics := float64(p.HiddenSize), float64(p.HiddenLayers), float64(p.Critics)
	w := float64(sizes.Observation+sizes.Goal+sizes.Action)*h + (layers-1)*h*h + h
	update = (5*critics + 6) * w * float64(p.Batch)
	if p.HeadOwnDraw {
		update += 3 * critics * w * float64(p.Batch)
	}
	if p.PolicyEvery > 1 {
		update -= (1 - 1/float64(p.PolicyEvery)) * (2*critics + 3) * w * float64(p.Batch)
	}
	all = update
	if p.UpdatesPerEpisode > 0 {
		all *= float64(p.UpdatesPerEpisode) / float64(p.Horizon)
	}
	switch p.Curriculum {
	case "qta":
		candidates, actions := min(float64(p.Candidates+p.CandidatesKept), float64(steps)/2), float64(p.UncertaintyActions)
		if p.Uncertainty == "bootstrap" || p.Uncertainty == "ensemble" {
			actions = float64(p.EnsembleActions)
		}
		all += candidates * actions * critics * w / stepsPerGoal
	case "vds": // policy, target, and a value function forward and backward
		all += vdsRows * 5 * w / float64(p.Horizon)
	}
	return 2 * update, 2 * all // a multiplication and an addition each
}

// dryRun prints what cells would cost. The rate of this machine is measured by
// updates of agents with the cells' parameters.
func dryRun(ctx context.Context, cells []cell, jobs int, stdout io.Writer) error {
	seconds := map[qta.Params]float64{}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "cell\tdirectory\tstate\tsteps\tTflop\ttime")
	total, flops, left := 0.0, 0.0, 0
	for i := range cells {
		c := &cells[i]
		p, m := c.run.Params(), c.run.NewMaze()
		update, all := arithmetic(p, m.Env().Sizes(), c.limits.Steps)
		if seconds[p] == 0 {
			var err error
			if seconds[p], err = updateTime(ctx, m, p); err != nil {
				return err
			}
		}
		steps, state := c.limits.Steps, "to do"
		r, err := rundir.ReadRecord(c.dir)
		switch {
		case err != nil:
			state = "damaged"
		case r != nil:
			state = r.State
			if _, done := c.done(); done {
				state, steps = "done", 0
			} else if at := lastEvaluation(c.dir).Step; at < steps {
				steps -= at
			}
		}
		if steps > 0 {
			left++
		}
		took := float64(steps) * seconds[p] * all / update
		total, flops = total+took, flops+float64(steps)*all
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.3g\t%s\n", i, c.name, state, steps, float64(steps)*all/1e12, duration(took))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	together := min(jobs, max(left, 1))
	_, err := fmt.Fprintf(stdout, "\nIn all %.4g Tflop and at most %s with one thread (%s kernel), %s with -jobs %d if there are as many idle cores.\n"+
		"These are the budgets: runs that stop when they are solved end sooner. QTA's choice of a goal is counted in every %dth step.\n",
		flops/1e12, duration(total), qta.KernelName(), duration(total/float64(together)), jobs, stepsPerGoal)
	return err
}

// duration writes seconds to about three digits.
func duration(seconds float64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.3g s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.3g min", seconds/60)
	}
	return fmt.Sprintf("%.3g h", seconds/3600)
}

// updateTime measures the seconds that an environment step with an update
// takes, before goals are chosen.
func updateTime(ctx context.Context, m *qta.Maze, p qta.Params) (float64, error) {
	const (
		first   = 3                      // updates that are not counted
		least   = 3                      // that are
		longest = 300 * time.Millisecond // unless they take longer
	)
	p.InitialSteps = rundir.MaxSteps
	p.LearningStarts = min(p.LearningStarts, 50)
	p.UpdatesPerEpisode = 0
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		return 0, words.BadInput("%w", err)
	}
	defer a.Close()
	enough := errors.New("enough")
	var begin time.Time
	seconds := 0.0
	err = a.Train(ctx, m.Env(), m.Env(), qta.TrainOptions{
		Steps: rundir.MaxSteps, EvalEvery: rundir.MaxSteps, Rollouts: 1,
		AfterStep: func() error {
			n := a.Steps() - p.LearningStarts - first
			if n == 0 {
				begin = time.Now()
			}
			if n >= least && time.Since(begin) > longest {
				seconds = time.Since(begin).Seconds() / float64(n)
				return enough
			}
			return nil
		},
	})
	if errors.Is(err, enough) {
		return seconds, nil
	}
	return 0, err
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
	} else if p.Curriculum != "qta" {
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
