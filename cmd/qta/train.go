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
	"runtime"
	"strconv"
	"strings"
	"time"

	"qta"
	"qta/cmd/qta/internal/figure5"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/film"
	"qta/cmd/qta/internal/page"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

// heldOutRollouts is the number of rollouts of an ended run's agent that tell
// how good it is: a perfect evaluation of 20 is partly luck.
const heldOutRollouts = 200

// Checkpoints come after this many environment steps or this much time,
// whichever is first, and take no more than this share of the time.
const (
	checkpointSteps  = 5000
	checkpointPeriod = 5 * time.Minute
	checkpointShare  = 0.01
)

type trainFlags struct {
	maze, params string
	set          []string
	seed         uint64
	steps, eval  int
	stop, out    string
	threads      int
	checkpoint   int // 0 where the flag is absent
}

func newFlagSet(name string) *flag.FlagSet {
	return flag.NewFlagSet(name, flag.ContinueOnError)
}

// reset sets every flag to what it is where it is not given.
func (f *trainFlags) reset() {
	*f = trainFlags{maze: "4x5", params: "fast", seed: 1, steps: 150_000, eval: 1000, stop: "solved", threads: min(runtime.GOMAXPROCS(0), 8)}
}

func (f *trainFlags) flagSet() *flag.FlagSet {
	f.reset()
	flags := newFlagSet("train")
	text(flags, &f.maze, "maze", "`NAME|FILE` the maze (4x5)")
	text(flags, &f.params, "params", "`NAME|FILE` default, fast, paper, authors, small, mega, vds, or a .json file of changes to default (fast)")
	flags.Func("set", "`NAME=VALUE` change one parameter after -params is applied; may be repeated", func(s string) error {
		f.set = append(f.set, s)
		return nil
	})
	f.shorthand(flags, "curriculum", "Curriculum", "`NAME` who chooses the goals: qta, mega, vds, her, random, visits or rnd")
	f.shorthand(flags, "uncertainty", "Uncertainty", "`NAME` what estimates a goal's uncertainty: pun, q, bootstrap or ensemble")
	f.shorthand(flags, "uncertainty-noise", "UncertaintyNoise", "`SIGMA` standard deviation of Gaussian noise added to every estimate")
	f.shorthand(flags, "replay", "Replay", "`NAME` how transitions are drawn: uniform, per (by uncertainty) or td (by TD error)")
	seedNumber(flags, &f.seed, "`N` seed of all random generators (1)")
	wholeNumber(flags, &f.steps, "steps", 1, rundir.MaxSteps, "`N` budget, in environment steps in all (150000)")
	flags.Func("stop", "`WHEN` solved: stop at the first perfect evaluation; never: use the budget up (solved)", func(s string) error {
		if s != "solved" && s != "never" {
			return errors.New("want solved or never")
		}
		f.stop = s
		return nil
	})
	wholeNumber(flags, &f.eval, "eval", 1, rundir.MaxSteps, "`N` environment steps between evaluations (1000)")
	text(flags, &f.out, "out", "`DIR` directory of the run (runs/MAZE-PARAMS-SEED, with every -set before SEED)")
	wholeNumber(flags, &f.threads, "threads", 1, 256, fmt.Sprintf("`N` threads; the results are the same for every number (one per CPU, at most 8: here %d)", f.threads))
	wholeNumber(flags, &f.checkpoint, "checkpoint", 1, rundir.MaxSteps, "`N` environment steps between checkpoints (5000 or 5 minutes, and at most 1 % of the time)")
	return flags
}

// shorthand defines a flag that stands for -set field=value. A value that is
// not allowed is refused under the flag's own name.
func (f *trainFlags) shorthand(flags *flag.FlagSet, name, field, usage string) {
	flags.Func(name, usage+"; short for -set "+field+"="+flagValue(usage), func(value string) error {
		p := qta.Default()
		if err := p.Set(field, value); err != nil {
			return errors.New(words.Bare(err))
		}
		f.set = append(f.set, field+"="+value)
		return nil
	})
}

// flagValue returns the name of the value in a flag's usage.
func flagValue(usage string) string { return strings.Split(usage, "`")[1] }

// A session is the work of one process on a run.
type session struct {
	dir     string
	record  *rundir.Record
	agent   *qta.Agent
	view    *terminal.Run
	timing  rundir.Timing
	figure5 *figure5.Figure
	film    *film.Film

	begin        time.Time
	lastEval     int // step of the evaluation before, or of the begin
	lastEvalTime time.Time
	savedStep    int  // of the newest checkpoint, or -1
	oddAgent     bool // the newest in the directory is not the session's, or not that of the record
	checkpoints  cadence
	logs         cadence
	pages        cadence
}

func trainCommand(ctx context.Context, args []string, stdout *terminal.Output, stderr io.Writer) error {
	var f trainFlags
	args, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	} else if err := noMore("train", args); err != nil {
		return err
	}
	maze, id, label, err := f.describe()
	if err != nil {
		return err
	}
	dir, err := f.directory(id.Maze, label)
	if err != nil {
		return err
	}
	agent, err := qta.NewAgent(id.Params(), maze.Env().Sizes(), f.seed)
	if err != nil {
		return words.BadInput("%w", err)
	}
	defer func() { agent.Close() }()

	unlock, found, err := rundir.Claim(dir)
	if err != nil {
		return err
	}
	defer unlock()
	s := &session{dir: dir, agent: agent, savedStep: -1}
	if found != nil {
		if d := found.Run.Differences(id); len(d) > 0 {
			return words.BadInput("%s holds another run: %s; name another directory with -out", dir, list(d))
		}
		id = found.Run // with the names it has had from the start
		path := filepath.Join(dir, rundir.AgentFile)
		if err := files.Free(path); err != nil {
			return words.BadInput("%s could not be replaced: %w; put a regular file there", path, err)
		}
		saved, warning, err := rundir.LoadAgent(dir, found)
		warn(stderr, warning)
		if err != nil {
			return err
		}
		s.oddAgent = warning != nil
		for _, name := range rundir.Made() {
			if strange := found.Strange(dir, name); strange != nil {
				warn(stderr, fmt.Errorf("%s: %w; it is made again", filepath.Join(dir, name), strange))
			}
		}
		if saved != nil {
			agent.Close()
			agent, s.agent, s.savedStep = saved, saved, saved.Steps()
			warn(stderr, kernelChange(found.Machine.Kernel, qta.KernelName()))
		}
	}
	s.record = rundir.NewRecord(id, rundir.Limits{Steps: f.steps, Stop: f.stop}, f.threads)
	h, err := recorded(id)
	if err != nil {
		return err
	}
	s.view = terminal.NewRun(stdout, f.plan(id.Params(), h), s.agent.Steps(), time.Now())
	s.openPictures(cmp.Or(found, s.record), stderr)
	if s.reached() {
		return s.nothingToDo(found)
	}
	agent.SetThreads(f.threads)
	if err := s.open(f.checkpoint); err != nil {
		return err
	}
	defer s.timing.Close()
	s.view.Say("QTA on maze %s (path length %d), parameters %s, seed %d; %s kernel, %s; files in %s",
		id.Maze, maze.PathLength(), id.Preset, id.Seed, s.record.Machine.Kernel, words.Count(f.threads, "thread"), dir)
	if s.agent.Steps() > 0 {
		s.view.Say("Continues after %s.", words.Count(s.agent.Steps(), "environment step"))
	}
	if f.stop == "solved" && h.runs > 0 {
		s.view.Say("%v", h)
	}
	return s.train(ctx, maze.Env(), maze.Env())
}

// plan returns what is known of a run with these parameters.
func (f *trainFlags) plan(p qta.Params, h history) terminal.Plan {
	work := arithmetic(p, mazeSizes, f.steps)
	plan := terminal.Plan{Steps: f.steps, Learning: p.LearningStarts, Average: work.usual() / work.step, Worst: (work.step + work.choice) / work.step}
	if p.Curriculum == qta.CurriculumQTA {
		plan.Choosing = p.InitialSteps
	}
	if f.stop == "solved" {
		plan.Usual = h.solved
	}
	return plan
}

// kernelChange returns a warning where a run changes between kernels that
// round differently.
func kernelChange(before, now string) error {
	const portable = "generic"
	if before != now && (before == portable || now == portable) {
		return fmt.Errorf("the run has used the %s kernel and goes on with the %s kernel, which rounds differently", before, now)
	}
	return nil
}

// describe returns what the flags describe: a maze, a run and the name that
// directories bear for its parameters.
func (f *trainFlags) describe() (*qta.Maze, rundir.Identity, string, error) {
	maze, mazeName, err := findMaze(f.maze)
	if err != nil {
		return nil, rundir.Identity{}, "", err
	}
	p, label, err := findParams(f.params, f.set)
	if err != nil {
		return nil, rundir.Identity{}, "", err
	}
	if err := p.Validate(); err != nil {
		return nil, rundir.Identity{}, "", words.BadInput("%w", err)
	}
	return maze, rundir.NewIdentity(mazeName, maze, label, p, f.seed, f.eval), label, nil
}

// directory returns the run's directory.
func (f *trainFlags) directory(maze, label string) (string, error) {
	if f.out != "" {
		return filepath.Clean(f.out), nil
	}
	name := maze + "-" + label + "-" + strconv.FormatUint(f.seed, 10)
	if name[0] == '.' {
		return "", words.BadInput("the run's own name, %s, is hidden; name a directory with -out", name)
	}
	if len(name) > 200 {
		return "", words.BadInput("the run's own name is %d bytes long, allowed are 200; name a directory with -out", len(name))
	}
	return filepath.Join("runs", name), nil
}

// list joins the first of several differences.
func list(d []string) string {
	const most = 3
	if len(d) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(d[:most], ", "), len(d)-most)
	}
	return strings.Join(d, ", ")
}

// reached reports whether the run is where the limits end it.
func (s *session) reached() bool {
	return s.agent.Steps() >= s.record.Limits.Steps || s.record.Limits.Stop == "solved" && s.agent.SolvedAt() > 0
}

// nothingToDo ends a command whose limits are reached already. Where the last
// process was killed between its last checkpoint and its end, it does what
// was left; and where files of the run were changed or lost since, it makes
// again what can be made of the agent.
func (s *session) nothingToDo(found *rundir.Record) error {
	atEnd := s.agent.Steps() == s.record.Limits.Steps || s.agent.Steps() == s.agent.SolvedAt()
	ended := found.State == rundir.Solved || found.State == rundir.Finished
	if !atEnd && !ended {
		return words.BadInput("the run in %s has not ended and stands at step %d, past where -steps %d and -stop %s would have ended it; it continues with -stop never and more -steps",
			s.dir, s.agent.Steps(), s.record.Limits.Steps, s.record.Limits.Stop)
	}
	silent := ended && found.Outcome != nil && found.Outcome.Figure5 == nil && s.figure5.Numbers() != nil
	if atEnd && (!ended || s.oddAgent || silent || !found.Complete(s.dir)) {
		s.takeLost()
		if s.oddAgent {
			if err := s.save(); err != nil {
				return err
			}
		}
		if err := s.savePictures(); err != nil {
			return err
		}
		if err := s.writeEnd(found.Outcome); err != nil {
			return err
		}
	}
	more := "More -steps continue it"
	if s.agent.SolvedAt() > 0 {
		more = "-stop never, with enough -steps, continues it"
	}
	s.view.Say("The run in %s is done: %s. %s; another -seed or -out begins a new one.", s.dir, s.story(), more)
	return nil
}

// takeLost takes the picture of now where those of the past are lost.
func (s *session) takeLost() {
	if len(s.agent.Evaluations()) == 0 {
		return
	}
	if len(s.film.Frames) == 0 {
		id := s.record.Run
		s.film.Take(s.agent, figure5.New(id.NewMaze(), id.Params(), id.EvalEvery).Take(s.agent))
	}
	if len(s.figure5.Snapshots) == 0 {
		s.figure5.Take(s.agent)
	}
}

// open writes the files that a run has from its start.
func (s *session) open(checkpoint int) error {
	if err := s.record.Write(s.dir, true); err != nil {
		return err
	}
	if err := s.writeLog(false); err != nil {
		return err
	}
	if !files.Exists(filepath.Join(s.dir, rundir.PageFile)) {
		if err := s.writePages(); err != nil {
			return err
		}
	}
	var err error
	if s.timing, err = rundir.OpenTiming(s.dir); err != nil {
		return err
	}
	now, step := time.Now(), s.agent.Steps()
	s.begin, s.lastEval, s.lastEvalTime = now, step, now
	s.checkpoints = cadence{steps: checkpointSteps, period: checkpointPeriod, share: checkpointShare, lastStep: step, lastTime: now}
	if checkpoint > 0 {
		s.checkpoints.steps, s.checkpoints.period, s.checkpoints.share = checkpoint, 0, 1e9
	}
	s.logs = cadence{steps: 1, share: 0.01, lastStep: step, lastTime: now}
	// As if the pages had just been written: a run that is killed again and
	// again gets on.
	s.pages = cadence{steps: 1, share: 0.01, lastStep: step, lastTime: now, cost: 100 * time.Millisecond}
	return nil
}

// train trains until the limits, the end of ctx or a failure, and leaves the
// directory in order.
func (s *session) train(ctx context.Context, env, evaluation qta.Env) error {
	err := s.agent.Train(ctx, env, evaluation, qta.TrainOptions{
		Steps:           s.record.Limits.Steps,
		EvalEvery:       s.record.Run.EvalEvery,
		Rollouts:        s.record.Run.Rollouts,
		StopWhenSolved:  s.record.Limits.Stop == "solved",
		AfterEvaluation: s.evaluated,
		AfterStep:       s.stepped,
	})
	s.view.Clear()
	stopped := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if err != nil && !stopped {
		return s.fail(err)
	}
	if err := s.save(); err != nil {
		return s.fail(err)
	}
	if err := s.writeEnd(nil); err != nil {
		return s.fail(err)
	}
	switch s.record.State {
	case rundir.Stopped:
		s.view.Say("Stopped (%v) and saved: %s. The same command continues the run; its files are in %s.", err, s.story(), s.dir)
		return errUnfinished
	case rundir.Solved:
		s.view.Say("Solved: %s. The agent, its log and all that is needed to repeat the run are in %s.", s.story(), s.dir)
	default:
		s.view.Say("The budget is used up: %s. The agent, its log and all that is needed to repeat the run are in %s.", s.story(), s.dir)
	}
	return nil
}

// story tells what the run has reached.
func (s *session) story() string {
	steps := "after " + words.Count(s.agent.Steps(), "environment step")
	if at := s.agent.SolvedAt(); at > 0 {
		reached := fmt.Sprintf("in maze %s all %d rollouts of an evaluation ended at the goal after %s", s.record.Run.Maze, s.record.Run.Rollouts, words.Count(at, "environment step"))
		if at < s.agent.Steps() {
			reached += fmt.Sprintf(", for the first time in %d", s.agent.Steps())
		}
		if o := s.record.Outcome; o != nil && o.HeldOut != nil {
			reached += fmt.Sprintf("; of %d more, %.0f %% do", o.HeldOutRollouts, o.HeldOutPercent())
		}
		return reached
	}
	var best qta.Evaluation
	for _, e := range s.agent.Evaluations() {
		if e.Success > best.Success {
			best = e
		}
	}
	if best.Success == 0 {
		return fmt.Sprintf("%s no evaluation in maze %s has reached the goal", steps, s.record.Run.Maze)
	}
	return fmt.Sprintf("%s the best evaluation in maze %s, at step %d, has reached the goal in %.4g %% of its rollouts", steps, s.record.Run.Maze, best.Step, 100*best.Success)
}

// stepped is called after every environment step.
func (s *session) stepped() error {
	now := time.Now()
	s.view.Stepped(s.agent.Steps(), now)
	if s.checkpoints.due(s.agent.Steps(), now) {
		return s.save()
	}
	return nil
}

// evaluated is called after every evaluation.
func (s *session) evaluated(e qta.Evaluation) error {
	now := time.Now()
	rate := float64(e.Step-s.lastEval) / max(now.Sub(s.lastEvalTime).Seconds(), 1e-9)
	s.lastEval, s.lastEvalTime = e.Step, now
	s.view.Evaluated(e, rate)
	if err := s.timing.Add(e.Step, now.Sub(s.begin).Seconds(), rate); err != nil {
		return err
	}
	s.film.Take(s.agent, s.figure5.Take(s.agent))
	for _, f := range []struct {
		*cadence
		write func() error
	}{{&s.logs, func() error { return s.writeLog(false) }}, {&s.pages, s.writePages}} {
		if begin := time.Now(); f.due(e.Step, begin) {
			if err := f.write(); err != nil {
				return err
			}
			f.done(e.Step, begin, time.Now())
		}
	}
	return nil
}

// save writes the checkpoint, and before it the snapshots that a run that
// continues from it will not take again.
func (s *session) save() error {
	begin, step := time.Now(), s.agent.Steps()
	if err := s.savePictures(); err != nil {
		return err
	}
	if err := s.saveAgent(); err != nil {
		return err
	}
	s.checkpoints.done(step, begin, time.Now())
	return nil
}

func (s *session) saveAgent() error {
	err := s.agent.SaveFile(filepath.Join(s.dir, rundir.AgentFile))
	if err == nil {
		s.savedStep = s.agent.Steps()
	}
	return err
}

// writeLog makes log.csv equal the agent's evaluations.
func (s *session) writeLog(durable bool) error {
	return rundir.WriteLog(s.dir, s.agent.Params(), s.agent.Evaluations(), durable)
}

func (s *session) outcome() *rundir.Outcome {
	return &rundir.Outcome{Steps: s.agent.Steps(), FoundAt: s.agent.FoundAt(), HalfAt: s.agent.SuccessAt(rundir.Half), SolvedAt: s.agent.SolvedAt()}
}

// writeEnd writes the log and the record of a run whose agent is saved. The
// record comes last: its state promises all else. A run that came to this end
// before had the outcome before, or nil.
func (s *session) writeEnd(before *rundir.Outcome) error {
	if err := s.writeLog(true); err != nil {
		return err
	}
	switch {
	case !s.reached():
		s.record.State = rundir.Stopped
	case s.record.Limits.Stop == "solved" && s.agent.SolvedAt() > 0:
		s.record.State = rundir.Solved
	default:
		s.record.State = rundir.Finished
	}
	o := s.outcome()
	o.Digest, s.record.Outcome = s.agent.Digest(), o
	if s.reached() {
		// Neither training nor the choice of its end has seen these rollouts.
		e, err := s.agent.Evaluate(s.record.Run.NewMaze().Env(), heldOutRollouts, s.record.Run.Seed)
		if err != nil {
			return err
		}
		o.HeldOut, o.HeldOutRollouts = &e.Success, heldOutRollouts
		o.Figure5 = s.figure5.Numbers()
		if o.Figure5 == nil && before != nil && before.Digest == o.Digest {
			o.Figure5 = before.Figure5 // of snapshots lost since
		}
	}
	if err := s.writePages(); err != nil {
		return err
	}
	var err error
	if o.Files, err = rundir.Digests(s.dir); err != nil {
		return err
	}
	return s.record.Write(s.dir, true)
}

// fail notes a failure in the record, as far as that can be written, and adds
// to err what remains of the run.
func (s *session) fail(err error) error {
	o := s.outcome()
	o.Message, s.record.Outcome, s.record.State = words.Bare(err), o, rundir.Failed
	// Of this and the next writes, err is the one to report.
	if exitCode(err) != exitNumeric {
		s.savePictures()
		s.saveAgent()
	}
	s.writeLog(true)
	s.writePages()
	s.record.Write(s.dir, true)
	if s.savedStep < 0 {
		return &runError{err, "there is no checkpoint yet in " + s.dir}
	}
	return &runError{err, fmt.Sprintf("the checkpoint of step %d is kept in %s", s.savedStep, s.dir)}
}

// A runError is what ended a run, and what remains of it.
type runError struct {
	err  error
	left string
}

func (e *runError) Error() string { return words.Bare(e.err) + "; " + e.left }
func (e *runError) Unwrap() error { return e.err }

// openPictures reads what the run has kept for its pictures, as far as its record
// knows it, up to where its agent is. A file that cannot be used is no reason not
// to train.
func (s *session) openPictures(r *rundir.Record, stderr io.Writer) {
	aside := func(name, what string, err error) {
		if err == nil {
			return
		}
		kept := name + qta.Damaged
		if os.Rename(filepath.Join(s.dir, name), filepath.Join(s.dir, kept)) == nil {
			err = fmt.Errorf("%w; it is now %s", err, kept)
		}
		warn(stderr, fmt.Errorf("%w, and %s begins anew", err, what))
	}
	var err error
	s.figure5, err = figure5.Open(s.dir, r)
	aside(rundir.Figure5Store, "Figure 5", err)
	s.film, err = film.Open(s.dir, r)
	aside(rundir.FilmStore, "the animation", err)
	s.figure5.ForgetAfter(s.agent.Steps())
	s.film.ForgetAfter(s.agent.Steps())
}

// savePictures writes what the run keeps for its pictures, as of the agent to be
// saved: what is dropped later is still wanted if the run goes on from there.
func (s *session) savePictures() error {
	if err := s.figure5.Save(s.dir); err != nil {
		return err
	}
	return s.film.Save(s.dir)
}

// writePages writes the files to look at.
func (s *session) writePages() error {
	list, err := page.Run{Record: s.record, Story: s.story(), Agent: s.agent, Figure5: s.figure5, Film: s.film}.Files()
	if err != nil {
		return err
	}
	return files.WriteAll(s.dir, list)
}
