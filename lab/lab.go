// Package lab keeps a training run in a directory, for any environment: it trains,
// resumes, logs, saves and stops, and leaves a page to look at.
//
// A run is in one file, agent.qta. It holds the agent with its replay and log, and
// everything else that the laboratory needs. From it the laboratory makes the other files:
// a page report.html with its pictures, log.csv, and run.json, which a report on many runs
// reads. It makes them at each save, and again when the run's command is repeated.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"qta"
	"qta/internal/words"
)

// Options say what to train, where, and for how long.
type Options struct {
	Dir    string     // of the run
	Name   string     // of the environment
	Params qta.Params // of the agent
	Seed   uint64

	// If not nil, Curriculum chooses the goals, instead of the curriculum that Params name.
	// What it attaches to the agent ([qta.Agent.Attach]) is saved with the run.
	Curriculum qta.Curriculum

	Steps     int  // budget: environment steps in all
	EvalEvery int  // environment steps between evaluations; 0 is 1000
	Rollouts  int  // of one evaluation; 0 is 20
	Continue  bool // go on after the first perfect evaluation

	// Unchecked trains even if CheckEnv refuses the environment, or if the environments for
	// training and for evaluation differ. But a run with Unchecked, too, can be continued only
	// in an environment that answers as it did at the run's start.
	Unchecked bool

	Threads int // the results are the same for every number; 0 is one per CPU, at most 8

	// Checkpoint is the number of environment steps between saves. 0 is as often as 1 % of the
	// time allows. If a save takes over 6 seconds, it is every ten minutes, and if a save
	// takes over a minute, as often as 10 % of the time allows.
	Checkpoint int

	Say  func(line string) // reports progress; nil prints to standard output
	Warn func(line string) // reports what looks wrong; nil prints to standard error

	// If not nil, AfterStep is called after each environment step. If not nil,
	// AfterEvaluation is called after each evaluation in place of Say, with the speed in
	// environment steps per second.
	AfterStep       func(step int)
	AfterEvaluation func(e qta.Evaluation, speed float64)
}

// ErrStopped is wrapped by the error that [Train] returns for a stopped run. The same call
// continues the run.
var ErrStopped = errors.New("the run was stopped")

// Train trains the run in o.Dir until its limits, the end of ctx or a failure. If the
// directory holds a run already, Train continues it, and the run ends with the same bytes
// as without the interruption. Limits (Steps and Continue) may then change, but
// the environment, the parameters, the seed, EvalEvery and Rollouts may not.
//
// env and evaluation are two instances of the same environment. If evaluation is a
// [Sketcher] or a [Surveyor], such as [Maze] returns, the run gets more pictures. Before a
// run's first step [qta.CheckEnv] plays some episodes in both, unless evaluation is a maze
// or o.Unchecked is set.
//
// The error is an [InputError] for a mistake in o or in the directory, or a [UseError] if
// another process works on the run. It wraps [ErrStopped] if ctx ended the work; otherwise
// it is what Agent.Train or the file system returned. Once training has begun, run.json
// says how the run stands, unless that file could not be written.
func Train(ctx context.Context, env, evaluation qta.Env, o Options) error {
	o.complete()
	if err := o.Check(env); err != nil {
		return err
	}
	d, err := claim(filepath.Clean(o.Dir), o.Warn)
	if err != nil {
		return err
	}
	defer d.close()

	s, err := newSession(ctx, d, env, evaluation, &o)
	if err == nil {
		defer s.agent.Close()
		err = s.check(ctx, env)
	}
	if interrupted(ctx, err) {
		return o.stopped(err, "before training")
	} else if err != nil {
		return err
	}
	defer s.tellStale()
	if s.reached() {
		return s.redraw(ctx)
	}
	return s.train(ctx, env)
}

// interrupted reports whether an error says that ctx is done.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// stopped says that ctx has stopped the run, and returns the error for it.
func (o *Options) stopped(cause error, how string) error {
	o.Say(fmt.Sprintf("Stopped (%v) %s. The same command continues the run.", cause, how))
	return fmt.Errorf("%w: %w", ErrStopped, cause)
}

// check refuses environments that break their contract or have changed since the run
// began. If a signal kept the latest evaluation out of the pictures, check adds it.
func (s *session) check(ctx context.Context, env qta.Env) error {
	noStep := qta.TrainOptions{EvalEvery: 1, Rollouts: 1} // Train then only checks the environments
	err := s.agent.Train(ctx, env, s.env, noStep)
	_, broken := errors.AsType[*qta.EnvError](err)
	switch {
	case broken || interrupted(ctx, err):
		return err
	case err != nil:
		return words.BadInput("%w", err)
	}
	if !s.Unchecked {
		if err := s.compare(ctx, env); err != nil {
			return err
		}
	}
	if was := s.state.Rewards; was != nil && rewardsChanged(s.env, s.agent, was) {
		return words.BadInput("%s holds another run: the environment has changed: "+
			"Reward now gives other numbers for goals that the run has seen; name another directory",
			s.dir.path)
	}
	if !s.state.behind(s.agent) {
		return nil
	}
	if err := s.state.evaluated(ctx, s.agent); err != nil {
		return err
	}
	return s.saveAgent()
}

// compare refuses environments for training and for evaluation that answer differently.
func (s *session) compare(ctx context.Context, env qta.Env) error {
	const what = "Comparing the environments for training and for evaluation"
	there := s.watch(ctx, env, what)
	here := s.watch(ctx, s.env, what)
	text := disagreement(there, here, min(s.Params.Horizon, 1000))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case text != "":
		return words.BadInput("the environments for training (there) and for evaluation (here) "+
			"differ: %s; Options.Unchecked skips this check", text)
	}
	return nil
}

// complete sets the defaults of fields that are zero.
func (o *Options) complete() {
	o.Name = cmp.Or(o.Name, "environment")
	o.EvalEvery = cmp.Or(o.EvalEvery, 1000)
	o.Rollouts = cmp.Or(o.Rollouts, Rollouts)
	o.Threads = cmp.Or(o.Threads, min(runtime.GOMAXPROCS(0), 8))
	if o.Say == nil {
		o.Say = func(line string) { fmt.Println(words.Plain(line)) }
	}
	if o.Warn == nil {
		o.Warn = func(line string) { fmt.Fprintln(os.Stderr, "warning: "+words.Plain(line)) }
	}
}

// Check returns the first mistake in o that Train finds before it makes a directory, or nil.
// Train also checks both environments and the directory.
func (o Options) Check(env qta.Env) error {
	o.complete()
	if err := o.Params.Validate(); err != nil {
		return words.BadInput("%w", err)
	} else if err := words.CheckName(o.Name); err != nil {
		return err
	}
	switch {
	case o.Steps < 1 || o.Steps > MaxSteps:
		return words.BadInput("the budget is %d steps, allowed are 1 to %d", o.Steps, MaxSteps)
	case o.EvalEvery < 1 || o.EvalEvery > o.Steps:
		return words.BadInput("with evaluations every %d steps and a budget of %d "+
			"the run would have no evaluation; evaluate more often, or give it more steps",
			o.EvalEvery, o.Steps)
	case o.Rollouts < 1 || o.Threads < 1:
		return words.BadInput("there are %d rollouts and %d threads, allowed are 1 and above",
			o.Rollouts, o.Threads)
	case o.Checkpoint < 0:
		return words.BadInput("a save every %d steps: allowed are 0 and above", o.Checkpoint)
	}

	const mostNetworks = 2 << 30
	if bytes := networkBytes(o.Params, env.Sizes()); bytes > mostNetworks {
		return words.BadInput("the networks and a minibatch would take %.0f GB, allowed are %d: "+
			"lower HiddenSize, HiddenLayers, Critics or Batch", bytes/(1<<30), mostNetworks>>30)
	}
	// The transitions may fill three quarters of the largest agent.qta that can be read.
	const mostReplay = words.MostAgent / 4 * 3
	if bytes := replayBytes(o.Steps, env.Sizes()); bytes > mostReplay {
		return words.BadInput("the transitions of %d steps would take %.0f GB, allowed are %d: "+
			"give it fewer steps", o.Steps, bytes/(1<<30), mostReplay>>30)
	}
	return nil
}

// networkBytes returns the size of an agent's networks and of a minibatch in them.
func networkBytes(p qta.Params, sizes qta.Sizes) float64 {
	networks := p.Critics + 1
	if p.Curriculum == "vds" {
		networks += 3 // the curriculum's own critics
	}
	inputs := sizes.Observation + sizes.Goal + sizes.Action
	weights := networks * p.HiddenSize * (inputs + (p.HiddenLayers-1)*p.HiddenSize)
	const copies = 5 // the weights, their targets, their gradient and Adam's two moments

	units := p.HiddenSize * p.HiddenLayers
	const perUnit = 4 // numbers for each unit and transition of a minibatch

	const float32Bytes = 4
	numbers := float64(copies*float64(weights)) + float64(perUnit*float64(units)*float64(p.Batch))
	return float32Bytes * numbers
}

// replayBytes returns the size of the transitions of a run of so many steps.
func replayBytes(steps int, sizes qta.Sizes) float64 {
	const float64Bytes = 8
	transition := 2*sizes.Observation + 3*sizes.Goal + sizes.Action
	return float64Bytes * float64(steps) * float64(transition)
}

// A session is the work of one process on a run.
type session struct {
	*Options
	dir    *directory
	env    qta.Env // of evaluations
	agent  *qta.Agent
	state  *state
	record *Record
	found  *Record         // the record of this run that was there at the start, or nil
	stale  map[string]bool // the files that the latest save could not write
	warned map[string]bool // the files that a warning has named for it

	untrained   bool          // the policy solved the task before it had learned
	evaluatedAt time.Time     // when the latest evaluation was; at first, when training began
	evaluated   int           // the step of that evaluation
	savedAt     time.Time     // when the latest save was
	saved       int           // the step of that save
	cost        time.Duration // how long that save took
}

// newSession begins a run in a directory, or continues the one that it holds.
func newSession(ctx context.Context, d *directory, env, evaluation qta.Env, o *Options) (*session, error) {
	run, err := load(d.path)
	if err != nil {
		return nil, err
	}
	// A record that cannot be read will be made again. It is read before the environment is asked,
	// which may change the working directory.
	found, _ := ReadRecord(filepath.Join(d.path, RecordFile))
	isMaze := len(o.Identity(evaluation).Map) > 0
	if run == nil && !isMaze && !o.Unchecked {
		for _, e := range []qta.Env{env, evaluation} {
			if err := o.checkEnv(ctx, e); err != nil {
				return nil, err
			}
		}
	}
	id := o.identify(evaluation)
	if run == nil && !isMaze && !o.Unchecked && len(id.Fingerprint) <= o.fingerprintSteps() {
		// Later sessions would compare less, and the run's files would have other bytes.
		return nil, &qta.EnvError{Problem: "an episode with fixed actions broke off, " +
			"although the environment passed its checks"}
	}
	if run == nil {
		run, err = beginRun(id, evaluation.Sizes())
		if err != nil {
			return nil, err
		}
	}
	if different := run.Run.Differences(id); len(different) > 0 {
		return nil, words.BadInput("%s holds another run: %s; name another directory (-out)",
			d.path, strings.Join(different, ", "))
	}
	if run.Warning != nil {
		o.Warn(fmt.Sprintf("%v; the damaged one is kept as %s", run.Warning, DamagedFile))
		if err := d.root.Rename(AgentFile, DamagedFile); err != nil {
			return nil, err
		}
	}
	if err := run.state.draws(ctx, evaluation, run.Agent); err != nil {
		return nil, err
	}
	if found != nil && len(found.Run.Differences(run.Run)) > 0 {
		found = nil
	}
	run.Agent.SetThreads(o.Threads)
	if o.Curriculum != nil {
		err = run.Agent.SetCurriculum(o.Curriculum)
	}
	return &session{
		Options: o,
		dir:     d,
		env:     evaluation,
		agent:   run.Agent,
		state:   run.state,
		// run.Run and not id, in which parameters without effect may differ.
		record: NewRecord(run.Run, o.limits(), o.Threads),
		found:  found,
		stale:  map[string]bool{},
		warned: map[string]bool{},
	}, err
}

// beginRun returns a run before its first step.
func beginRun(id Identity, sizes qta.Sizes) (*Run, error) {
	a, err := qta.NewAgent(id.Params, sizes, id.Seed)
	if err != nil {
		return nil, words.BadInput("%w", err)
	}
	return &Run{Agent: a, Run: id, state: newState(id)}, nil
}

// identify returns the identity of a run with these options, including the code and the
// fingerprint.
func (o *Options) identify(evaluation qta.Env) Identity {
	id := o.Identity(evaluation)
	id.Code = Code(id.Params)
	if len(id.Map) == 0 {
		id.Fingerprint = fingerprint(evaluation, o.fingerprintSteps())
	}
	return id
}

// fingerprintSteps returns how many steps the episode of a fingerprint has.
func (o *Options) fingerprintSteps() int { return min(o.Params.Horizon, 16) }

func (o *Options) limits() Limits {
	stop := StopSolved
	if o.Continue {
		stop = StopNever
	}
	return Limits{Steps: o.Steps, Stop: stop}
}

// checkEnv refuses an environment in which [qta.CheckEnv] finds a mistake.
func (o *Options) checkEnv(ctx context.Context, env qta.Env) error {
	watched := o.watch(ctx, env, "Checking the environment, in episodes of random actions")
	err := qta.CheckEnv(watched, o.Params.Horizon, rand.New(rand.NewPCG(1, 0)))
	_, broken := errors.AsType[*qta.EnvError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case broken: // training may refuse it, too
		return words.BadInput("%w", err)
	}
	return words.BadInput("%w; Options.Unchecked skips this check", err)
}

// reached reports whether the run has reached its limits.
func (s *session) reached() bool {
	return s.agent.Steps() >= s.Steps || !s.Continue && s.agent.SolvedAt() > 0
}

// redraw makes all files of a run again. Train calls it, instead of training, for a run
// that has reached its limits already.
func (s *session) redraw(ctx context.Context) error {
	at := s.agent.Steps()
	solvedAt := s.agent.SolvedAt() // 0 if it is not solved
	trainedOn := solvedAt > 0 && solvedAt < at
	// Below the budget the limits are reached only without Continue, that is at solvedAt.
	pastSolution := trainedOn && at < s.Steps
	if at > s.Steps || pastSolution {
		return words.BadInput("the run in %s is at step %d, later than these limits would have ended it; "+
			"give it more than %[2]d steps, and Continue (-stop never) if it is solved",
			s.dir.path, at)
	}
	r := s.record
	if s.recorded() || s.foundOfKilled() { // the record that was found is of this agent
		r.Program = s.found.Program
		r.Machine = s.found.Machine
		if s.found.State == Solved || s.found.State == Finished {
			r.Limits = s.found.Limits
		}
	} else {
		r.Program = Program{Revision: unknown, Go: unknown}
		r.Machine = Machine{OS: unknown, Arch: unknown, Kernel: unknown}
	}
	if trainedOn {
		r.Limits.Stop = StopNever // whatever this command says
	}
	_, missing := s.dir.root.Lstat(AgentFile)
	if missing != nil { // the agent comes from agent.qta.previous
		if err := s.saveAgent(); err != nil {
			return err
		}
	}
	// A process that was killed while it saved the agent a second time at this step left a file.
	s.dir.root.Remove(AgentFile + temporary)
	err := s.end(ctx) // plays the held-out rollouts and completes the record
	if interrupted(ctx, err) {
		return s.stopped(err, "before the record of the run's end was written")
	}
	if err == nil {
		err = s.draw()
	}
	if err != nil {
		return err
	}
	const next = "To continue it, give it more steps, and Continue (-stop never) if it is solved; " +
		"to begin a new one, choose another seed or directory."
	s.Say(fmt.Sprintf("The run in %s is done: %s. %s", s.dir.path, s.story(), next))
	s.Say("Open " + filepath.Join(s.dir.path, PageFile))
	return nil
}

// unknown stands for the program and the machine in a record that was lost and made again.
const unknown = "unknown"

// recorded reports whether the record that the session found at its start describes the
// agent as it is now.
func (s *session) recorded() bool {
	if s.found == nil {
		return false
	}
	o := s.found.Outcome
	return o.Steps == s.agent.Steps() && o.Digest == s.agent.Digest()
}

// foundOfKilled reports whether the record that was found comes from a process that was killed, or
// failed, after it had saved this agent.
func (s *session) foundOfKilled() bool {
	if s.found == nil {
		return false
	}
	killed := s.found.State == Running && s.found.Outcome.Steps <= s.agent.Steps()
	return killed || s.found.State == Failed
}

// train trains until the limits, the end of ctx or a failure, and leaves all in order.
func (s *session) train(ctx context.Context, env qta.Env) error {
	s.announce()
	// If the run cannot be saved, it fails now and not after hours of training.
	if err := s.saveAll(); err != nil {
		return err
	}
	s.tryUntrained(ctx)
	s.evaluated = s.agent.Steps()
	s.evaluatedAt = time.Now()
	stop := s.agent.Train(ctx, env, s.env, qta.TrainOptions{
		Steps:           s.Steps,
		EvalEvery:       s.record.Run.EvalEvery,
		Rollouts:        s.record.Run.Rollouts,
		StopWhenSolved:  !s.Continue,
		AfterEvaluation: func(e qta.Evaluation) error { return s.afterEvaluation(ctx, e) },
		AfterStep:       s.afterStep,
	})
	if stop != nil && !interrupted(ctx, stop) {
		return s.fail(stop)
	}
	if err := s.saveAgent(); err != nil {
		return s.fail(err)
	}
	if stop == nil {
		stop = s.end(ctx)
	}
	if interrupted(ctx, stop) {
		s.record.State = Stopped
	} else if stop != nil {
		return s.fail(stop)
	}
	if err := s.draw(); err != nil {
		return s.fail(err)
	}
	switch s.record.State {
	case Stopped:
		return s.stopped(stop, "and saved: "+s.story())
	case Solved:
		s.Say("Solved: " + s.story() + ".")
	default:
		s.Say(strings.TrimSpace("The budget is used up: " + s.story() + ". " + s.record.Hint()))
	}
	if s.untrained {
		s.Say(fmt.Sprintf("The untrained policy solved %d of %[1]d rollouts: nothing was learned.",
			s.Rollouts))
	}
	s.Say("Open " + filepath.Join(s.dir.path, PageFile))
	return nil
}

// tryUntrained warns of a task that a policy solves before it has learned. It ignores an
// error of the environment, which training then reports.
func (s *session) tryUntrained(ctx context.Context) {
	if s.agent.Steps() > 0 {
		return
	}
	env := s.watch(ctx, s.env, "Playing rollouts of the untrained policy")
	e, err := s.agent.Evaluate(env, s.Rollouts, s.Seed)
	s.untrained = err == nil && e.Success == 1
	if s.untrained {
		s.Warn(fmt.Sprintf("the untrained policy solves %d of %[1]d rollouts, "+
			"so there is nothing to learn: does Reward allow too large a distance to the goal?",
			s.Rollouts))
	}
}

// announce says what will be trained, and warns of what looks wrong.
func (s *session) announce() {
	id := s.record.Run
	kernel := s.record.Machine.Kernel
	s.Say("QTA on " + id.subject() + ", " + id.Departures() + ".")
	threads := words.Count(s.Threads, "thread")
	s.Say(fmt.Sprintf("Parameters %s, seed %d; %s kernel, %s; files in %s",
		id.Set, id.Seed, kernel, threads, s.dir.path))
	if s.agent.Steps() > 0 {
		s.Say("Continues after " + words.Count(s.agent.Steps(), "environment step") + ".")
	}
	horizon := id.Params.Horizon
	if len(id.Map) > 0 && id.NewMaze().PathLength() > horizon {
		s.Warn(fmt.Sprintf("the path from start to goal takes %d steps, "+
			"but an episode has only %d (Horizon): hardly any rollout can end at the goal",
			id.NewMaze().PathLength(), horizon))
	}
	if few := id.tooFew(s.Steps); few != "" {
		s.Warn(few)
	}
	if s.found != nil {
		was := s.found.Machine.Kernel
		if was != unknown && rounding(was) != rounding(kernel) {
			s.Warn(fmt.Sprintf("the run used the %s kernel and continues with the %s kernel, "+
				"which rounds differently", was, kernel))
		}
	}
	if outside := s.state.outside(s.agent.Sizes()); outside != "" {
		s.Warn(outside)
	}
}

// afterStep saves if a save is due.
func (s *session) afterStep() error {
	if s.AfterStep != nil {
		s.AfterStep(s.agent.Steps())
	}
	if !s.due() {
		return nil
	}
	err := s.saveAll()
	if _, numeric := errors.AsType[*qta.NumericError](err); numeric {
		// The next evaluation reports it. So the step of the failure does not depend on the saves.
		return nil
	}
	return err
}

// due reports whether it is time to save.
func (s *session) due() bool {
	if s.Checkpoint > 0 {
		return s.agent.Steps()-s.saved >= s.Checkpoint
	}
	return time.Since(s.savedAt) >= pause(s.cost)
}

// pause returns how long to wait after a save that took so long. Quick saves take a hundredth
// of the time. After a slow one, which may have waited for a network, at most ten minutes or
// ten times its time can be lost.
func pause(cost time.Duration) time.Duration {
	return min(100*cost, max(10*time.Minute, 10*cost))
}

// afterEvaluation keeps what the pictures need.
func (s *session) afterEvaluation(ctx context.Context, e qta.Evaluation) error {
	now := time.Now()
	speed := float64(e.Step-s.evaluated) / max(now.Sub(s.evaluatedAt).Seconds(), 1e-9)
	s.evaluated = e.Step
	s.evaluatedAt = now
	if s.AfterEvaluation != nil {
		s.AfterEvaluation(e, speed)
	} else {
		s.Say(fmt.Sprintf("step %d: success %.2f, %.4g steps/s", e.Step, e.Success, speed))
	}
	return s.state.evaluated(ctx, s.agent)
}

// saveAgent writes agent.qta.
func (s *session) saveAgent() error {
	s.state.Rewards = rewards(s.env, s.agent)
	own := s.agent.Attachment() // what the user's curriculum has attached
	s.state.attach(s.agent)     // the state, which has own in it
	data, err := s.agent.MarshalBinary()
	s.agent.Attach(own)
	if err != nil {
		return err
	}
	if err := s.dir.write(AgentFile, data); err != nil {
		return err
	}
	s.saved = s.agent.Steps()
	return nil
}

// saveAll writes agent.qta and makes the other files from it.
func (s *session) saveAll() error {
	begin := time.Now()
	if err := s.saveAgent(); err != nil {
		return err
	}
	err := s.draw()
	s.savedAt = time.Now()
	s.cost = s.savedAt.Sub(begin)
	return err
}

// end writes into the record how the run has ended. It plays rollouts, and returns between
// two of them if ctx is done.
func (s *session) end(ctx context.Context) error {
	success, err := s.heldOut(ctx)
	if err == nil && s.agent.FoundAt() == 0 {
		env := s.watch(ctx, s.env, "Comparing the desired goals with where the agent was")
		s.record.Apart, err = unvisited(s.agent, env)
	}
	if err != nil {
		return err
	}
	s.record.Outcome.HeldOut = &success
	s.record.Outcome.HeldOutRollouts = HeldOut
	s.record.State = Finished
	if s.record.Limits.Stop == StopSolved && s.agent.SolvedAt() == s.agent.Steps() {
		s.record.State = Solved
	}
	return nil
}

// heldOut returns the success in rollouts that had no part in training or in deciding when
// training ends. If the session found a record of this agent that has this success, nothing
// is played.
func (s *session) heldOut(ctx context.Context) (float64, error) {
	if s.recorded() {
		o := s.found.Outcome
		if o.HeldOut != nil && o.HeldOutRollouts == HeldOut {
			return *o.HeldOut, nil
		}
	}
	env := s.watch(ctx, s.env, fmt.Sprintf("Playing %d held-out rollouts", HeldOut))
	e, err := s.agent.Evaluate(env, HeldOut, s.Seed)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return e.Success, err
}

// fail writes a failure into the record, if it can. It returns err, with the step of the
// save that remains.
func (s *session) fail(err error) error {
	s.record.State = Failed
	s.record.Outcome.Message = words.Bare(err)
	if s.draw() != nil { // err is the one to report
		s.dir.write(RecordFile, s.record.Encode())
	}
	return fmt.Errorf("%w; the save from step %d is kept in %s", err, s.saved, s.dir.path)
}

// draw makes all files but agent.qta.
func (s *session) draw() error {
	r := s.record
	o := &r.Outcome
	r.Curve = s.agent.Evaluations()
	o.Steps = s.agent.Steps()
	o.FoundAt = s.agent.FoundAt()
	o.HalfAt = r.Curve.FirstAt(Half)
	o.SolvedAt = s.agent.SolvedAt()
	o.Digest = s.agent.Digest()
	v := view{Record: r, Story: s.story(), agent: s.agent, state: s.state}
	files, err := v.files()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := s.derive(name, files[name]); err != nil {
			return err
		}
	}
	return s.derive(RecordFile, r.Encode()) // last, because it may say that the run has ended
}

// derive writes a file that is made from agent.qta. If that fails, the run goes on. Only a
// full disk ends the run, because then agent.qta could not be saved either.
func (s *session) derive(name string, data []byte) error {
	err := s.dir.write(name, data)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	s.stale[name] = err != nil
	if err != nil && !s.warned[name] {
		s.warned[name] = true
		s.Warn(fmt.Sprintf("%v; the run goes on, and the next save tries again", err))
	}
	return nil
}

// tellStale warns of the files that are missing or older than agent.qta.
func (s *session) tellStale() {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.stale)) {
		if !s.stale[name] {
			continue
		}
		how := "is older than " + AgentFile
		if _, err := s.dir.root.Lstat(name); err != nil {
			how = "is missing"
		}
		list = append(list, name+" "+how)
	}
	if len(list) > 0 {
		s.Warn(strings.Join(list, ", ") +
			"; the same command writes all files anew, once they can be written")
	}
}

// A Run is what [Open] reads from a run's directory.
type Run struct {
	Dir     string
	Agent   *qta.Agent // which the caller closes
	Run     Identity
	Warning error // what is wrong with agent.qta, if agent.qta.previous was read in its place
	state   *state
}

// Open reads the newest agent of a run's directory. It changes no file.
func Open(dir string) (*Run, error) {
	dir = filepath.Clean(dir)
	if isFile(dir) {
		return nil, words.BadInput("%s is a file: name a run's directory, such as %s",
			dir, filepath.Dir(dir))
	}
	r, err := load(dir)
	if r == nil && err == nil {
		err = words.BadInput("%s is not a run's directory: it holds no %s", dir, AgentFile)
	}
	return r, err
}
