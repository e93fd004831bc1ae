// Package lab keeps a training run in a directory, for any environment: it trains,
// resumes, logs, saves and stops, and leaves a page to look at.
//
// One file of a run decides, agent.qta. It holds the agent with its replay and
// log, and all else that the laboratory needs. The other files are made from it
// at each save, and again when the run's command is repeated: a page report.html
// with its pictures, log.csv, and run.json, which a report on many runs reads.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

	// If not nil it chooses the goals, instead of the curriculum that Params name. What
	// it attaches to the agent is saved with the run.
	Curriculum qta.Curriculum

	Steps     int  // budget: environment steps in all
	EvalEvery int  // environment steps between evaluations; 0 is 1000
	Rollouts  int  // of one evaluation; 0 is 20
	Continue  bool // go on after the first perfect evaluation
	Unchecked bool // also begin in an environment that CheckEnv refuses; a run goes on later only if that repeats itself

	Threads    int // the results are the same for every number; 0 is one per CPU, at most 8
	Checkpoint int // environment steps between saves; 0 is as often as 1 % of the time allows

	Say  func(line string) // reports progress; nil prints to standard output
	Warn func(line string) // reports what looks wrong; nil prints to standard error

	// If not nil, AfterStep is called after each environment step, and AfterEvaluation
	// after each evaluation, with environment steps per second, instead of Say.
	AfterStep       func(step int)
	AfterEvaluation func(e qta.Evaluation, speed float64)
}

// ErrStopped is wrapped by the error of a run that was stopped; the same call continues it.
var ErrStopped = errors.New("the run was stopped and saved")

// Train trains the run in o.Dir until its limits, the end of ctx or a failure. It
// continues a run that was begun there, which ends with the same bytes as without the
// interruption; the run's environment, parameters, seed and evaluations cannot change,
// but its limits can. env and evaluation are two instances of the same environment;
// a [Sketcher] or [Surveyor], such as [Maze] returns, gives the run more pictures.
// Before the first step [qta.CheckEnv] plays some episodes in both, unless evaluation is
// a maze.
//
// The error is an [InputError] for mistakes in o and in the directory and a [UseError]
// if another process works on the run. It wraps [ErrStopped] if ctx ended the
// training; otherwise it is what Agent.Train or the file system returned. The record
// says how the run stands, unless it could not be written.
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
	s, err := newSession(d, env, evaluation, &o)
	if err != nil {
		return err
	}
	defer s.agent.Close()
	if err := s.check(ctx, env); err != nil {
		return err
	}
	if s.reached() {
		return s.redraw()
	}
	return s.train(ctx, env)
}

// check refuses environments that are wrong, or other than when the run began.
func (s *session) check(ctx context.Context, env qta.Env) error {
	err := s.agent.Train(ctx, env, s.env, qta.TrainOptions{EvalEvery: 1, Rollouts: 1}) // takes no step
	if _, broken := errors.AsType[*qta.EnvError](err); broken {
		return err
	} else if err != nil {
		return words.BadInput("%w", err)
	}
	if !s.Unchecked {
		if text := disagreement(env, s.env, min(s.Params.Horizon, 1000)); text != "" {
			return words.BadInput("the environments for training (there) and for evaluation (here) differ: "+
				"%s; Options.Unchecked trains in them all the same", text)
		}
	}
	if was := s.state.Rewards; was != nil && !slices.Equal(was, rewards(s.env, s.agent)) {
		return words.BadInput("%s holds another run: the environment has changed: Reward now gives "+
			"other numbers for goals that the run has seen; name another directory", s.dir.path)
	}
	return nil
}

// complete sets what was left open.
func (o *Options) complete() {
	o.Name = cmp.Or(o.Name, "environment")
	o.EvalEvery, o.Rollouts = cmp.Or(o.EvalEvery, 1000), cmp.Or(o.Rollouts, Rollouts)
	o.Threads = cmp.Or(o.Threads, min(runtime.GOMAXPROCS(0), 8))
	if o.Say == nil {
		o.Say = func(line string) { fmt.Println(words.Plain(line)) }
	}
	if o.Warn == nil {
		o.Warn = func(line string) { fmt.Fprintln(os.Stderr, "warning: "+words.Plain(line)) }
	}
}

// Check returns a mistake in o for which Train makes no directory, or nil. Train also
// looks at both environments and at the directory.
func (o Options) Check(env qta.Env) error {
	o.complete()
	if err := o.Params.Validate(); err != nil {
		return words.BadInput("%w", err)
	} else if err := words.CheckName(o.Name); err != nil {
		return err
	}
	// In bytes; beside its transitions an agent.qta has room for the rest in what can be
	// read again.
	const mostMemory, mostReplay = 2 << 30, words.MostAgent / 4 * 3
	p, sizes := o.Params, env.Sizes()
	inputs := sizes.Observation + sizes.Goal + sizes.Action
	networks := p.Critics + 1
	if p.Curriculum == "vds" {
		networks += 3 // its own critics
	}
	// Each network has a target and two moments, each layer of a minibatch as many numbers.
	rows := networks*(p.HiddenSize*(p.HiddenLayers-1)+inputs) + p.HiddenLayers*p.Batch
	bytes := 4 * 4 * float64(p.HiddenSize) * float64(rows)
	replay := 8 * float64(o.Steps) * float64(2*sizes.Observation+3*sizes.Goal+sizes.Action)
	switch {
	case o.Steps < 1 || o.Steps > MaxSteps:
		return words.BadInput("the budget is %d steps, allowed are 1 to %d", o.Steps, MaxSteps)
	case o.EvalEvery < 1 || o.EvalEvery > o.Steps:
		return words.BadInput("with evaluations every %d steps and a budget of %d the run would have no evaluation; "+
			"evaluate more often, or give it more steps", o.EvalEvery, o.Steps)
	case o.Rollouts < 1 || o.Threads < 1:
		return words.BadInput("there are %d rollouts and %d threads, allowed are 1 and above", o.Rollouts, o.Threads)
	case bytes > mostMemory:
		return words.BadInput("the networks and a minibatch would take %.0f GB, allowed are %d: "+
			"lower HiddenSize, HiddenLayers, Critics or Batch", bytes/(1<<30), mostMemory>>30)
	case replay > mostReplay:
		return words.BadInput("the transitions of %d steps would take %.0f GB, allowed are %d: give it fewer steps",
			o.Steps, replay/(1<<30), mostReplay>>30)
	}
	return nil
}

// A session is the work of one process on a run.
type session struct {
	*Options
	dir    *directory
	env    qta.Env // of evaluations
	agent  *qta.Agent
	state  *state
	record *Record
	before *Record // as it was found, or nil

	evaluatedAt time.Time // last
	evaluated   int       // the step of that
	savedAt     time.Time // last
	saved       int       // the step of that
	cost        time.Duration
}

// newSession begins a run in a directory, or continues the one that it holds.
func newSession(d *directory, env, evaluation qta.Env, o *Options) (*session, error) {
	id := o.Identity(evaluation)
	id.Code = Code(id.Params)
	run, err := load(d.path)
	before, _ := ReadRecord(filepath.Join(d.path, RecordFile)) // one that cannot be read is made again
	if err != nil {
		return nil, err
	} else if run == nil && len(id.Map) == 0 && !o.Unchecked {
		for _, e := range []qta.Env{env, evaluation} {
			err := qta.CheckEnv(e, o.Params.Horizon, rand.New(rand.NewPCG(1, 0)))
			if _, broken := errors.AsType[*qta.EnvError](err); broken { // training would refuse it, too
				return nil, words.BadInput("%w", err)
			} else if err != nil {
				return nil, words.BadInput("%w; Options.Unchecked trains in it all the same", err)
			}
		}
	}
	if len(id.Map) == 0 {
		id.Fingerprint = fingerprint(evaluation, min(o.Params.Horizon, 16))
	}
	if run == nil {
		a, err := qta.NewAgent(id.Params, evaluation.Sizes(), id.Seed)
		if err != nil {
			return nil, words.BadInput("%w", err)
		}
		run = &Run{Agent: a, Run: id, state: newState(id)}
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
	s := &session{Options: o, dir: d, env: evaluation, agent: run.Agent, state: run.state, before: before}
	if err := s.state.draws(evaluation, run.Agent); err != nil {
		return nil, err
	}
	limits := Limits{o.Steps, StopSolved}
	if o.Continue {
		limits.Stop = StopNever
	}
	s.record = NewRecord(run.Run, limits, o.Threads) // with the name of its parameters from the start
	s.agent.SetThreads(o.Threads)
	if o.Curriculum != nil {
		err = s.agent.SetCurriculum(o.Curriculum)
	}
	return s, err
}

// reached reports whether the run is where the limits end it.
func (s *session) reached() bool {
	return s.agent.Steps() >= s.Steps || !s.Continue && s.agent.SolvedAt() > 0
}

// redraw ends a call whose limits are reached already: it makes all files again.
func (s *session) redraw() error {
	at := s.agent.Steps()
	if at != s.Steps && at != s.agent.SolvedAt() {
		return words.BadInput("the run in %s is at step %d, later than these limits would have ended it; "+
			"give it more than %[2]d steps, and Continue (-stop never) if it is solved", s.dir.path, at)
	}
	r, b := s.record, s.before
	same := b != nil && len(b.Run.Differences(r.Run)) == 0
	// Killed after its last agent.qta a process leaves the record that it began with.
	if same && (b.State == Running && b.Outcome.Steps <= at ||
		b.Outcome.Steps == at && b.Outcome.Digest == s.agent.Digest()) {
		r.Program, r.Machine, r.Limits = b.Program, b.Machine, b.Limits
	} else {
		const unknown = "unknown"
		r.Program, r.Machine = Program{Revision: unknown, Go: unknown}, Machine{OS: unknown, Arch: unknown, Kernel: unknown}
	}
	if _, err := s.dir.root.Lstat(AgentFile); err != nil { // all came from the one before it
		if err := s.saveAgent(); err != nil {
			return err
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	s.Say(fmt.Sprintf("The run in %s is done: %s. To continue it, give it more steps, and Continue (-stop never) "+
		"if it is solved; to begin a new one, choose another seed or directory.", s.dir.path, s.story()))
	s.Say("Open " + filepath.Join(s.dir.path, PageFile))
	return nil
}

// train trains until the limits, the end of ctx or a failure, and leaves all in order.
func (s *session) train(ctx context.Context, env qta.Env) error {
	s.announce()
	if err := s.saveAll(); err != nil { // before work that could not be saved
		return err
	}
	s.evaluated, s.evaluatedAt = s.agent.Steps(), time.Now()
	s.saved, s.savedAt = s.agent.Steps(), time.Now()
	err := s.agent.Train(ctx, env, s.env, qta.TrainOptions{
		Steps: s.Steps, EvalEvery: s.record.Run.EvalEvery, Rollouts: s.record.Run.Rollouts, StopWhenSolved: !s.Continue,
		AfterEvaluation: s.afterEvaluation, AfterStep: s.afterStep,
	})
	stopped := err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if err != nil && !stopped {
		return s.fail(err)
	}
	if err := s.saveAgent(); err != nil {
		return s.fail(err)
	}
	if err := s.end(); err != nil {
		return s.fail(err)
	}
	switch s.record.State {
	case Stopped:
		s.Say(fmt.Sprintf("Stopped (%v) and saved: %s. The same command continues the run.", err, s.story()))
		return fmt.Errorf("%w: %w", ErrStopped, err)
	case Solved:
		s.Say(fmt.Sprintf("Solved: %s.", s.story()))
	default:
		s.Say(strings.TrimSpace(fmt.Sprintf("The budget is used up: %s. %s", s.story(), s.record.Hint())))
	}
	s.Say("Open " + filepath.Join(s.dir.path, PageFile))
	return nil
}

// announce says what runs.
func (s *session) announce() {
	id, kernel := s.record.Run, s.record.Machine.Kernel
	s.Say(fmt.Sprintf("QTA on %s, %s.", id.subject(), id.Departures()))
	s.Say(fmt.Sprintf("Parameters %s, seed %d; %s kernel, %s; files in %s", id.Set, id.Seed, kernel,
		words.Count(s.Threads, "thread"), s.dir.path))
	if s.agent.Steps() > 0 {
		s.Say(fmt.Sprintf("Continues after %s.", words.Count(s.agent.Steps(), "environment step")))
	}
	if horizon := id.Params.Horizon; len(id.Map) > 0 && id.NewMaze().PathLength() > horizon {
		s.Warn(fmt.Sprintf("the path from start to goal takes %d steps, but an episode has only %d (Horizon): "+
			"hardly any rollout can end at the goal", id.NewMaze().PathLength(), horizon))
	}
	if few := tooFew(id.Params, s.Steps); few != "" {
		s.Warn(few)
	}
	if b := s.before; b != nil && rounding(b.Machine.Kernel) != rounding(kernel) {
		s.Warn(fmt.Sprintf("the run used the %s kernel and continues with the %s kernel, which rounds differently",
			b.Machine.Kernel, kernel))
	}
}

// afterStep saves where that is due.
func (s *session) afterStep() error {
	if s.AfterStep != nil {
		s.AfterStep(s.agent.Steps())
	}
	if s.due() {
		return s.saveAll()
	}
	return nil
}

// due reports whether it is time to save.
func (s *session) due() bool {
	if s.Checkpoint > 0 {
		return s.agent.Steps()-s.saved >= s.Checkpoint
	}
	return time.Since(s.savedAt) >= 100*s.cost
}

// afterEvaluation keeps what the pictures need.
func (s *session) afterEvaluation(e qta.Evaluation) error {
	now := time.Now()
	speed := float64(e.Step-s.evaluated) / max(now.Sub(s.evaluatedAt).Seconds(), 1e-9)
	s.evaluated, s.evaluatedAt = e.Step, now
	if s.AfterEvaluation != nil {
		s.AfterEvaluation(e, speed)
	} else {
		s.Say(fmt.Sprintf("step %d: success %.2f, %.4g steps/s", e.Step, e.Success, speed))
	}
	return s.state.evaluated(s.agent)
}

// saveAgent writes agent.qta.
func (s *session) saveAgent() error {
	s.state.Rewards = rewards(s.env, s.agent)
	own := s.agent.Attachment() // of the user's curriculum
	s.state.attach(s.agent)
	data, err := s.agent.MarshalBinary()
	s.agent.Attach(own)
	if err == nil {
		err = s.dir.write(AgentFile, data)
	}
	if err == nil {
		s.saved = s.agent.Steps()
	}
	return err
}

// saveAll writes agent.qta, and draws the other files from it.
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

// end says in the record how the run has ended, and draws its files.
func (s *session) end() error {
	if !s.reached() {
		s.record.State = Stopped
		return s.draw()
	}
	s.record.State = Finished
	if !s.Continue && s.agent.SolvedAt() == s.agent.Steps() {
		s.record.State = Solved
	}
	// Neither training nor the choice of its end has seen these rollouts.
	e, err := s.agent.Evaluate(s.env, HeldOut, s.Seed)
	if err != nil {
		return err
	}
	s.record.Outcome.HeldOut, s.record.Outcome.HeldOutRollouts = &e.Success, HeldOut
	if s.agent.FoundAt() == 0 {
		s.record.Apart = apart(s.agent, s.env)
	}
	return s.draw()
}

// fail notes a failure in the record, if it can, and adds to err what remains of the run.
func (s *session) fail(err error) error {
	s.record.State, s.record.Outcome.Message = Failed, words.Bare(err)
	if s.draw() != nil { // err is the one to report
		s.dir.write(RecordFile, s.record.Encode())
	}
	return fmt.Errorf("%w; the save from step %d is kept in %s", err, s.saved, s.dir.path)
}

// draw writes all files but agent.qta.
func (s *session) draw() error {
	r, o := s.record, &s.record.Outcome
	r.Curve = s.agent.Evaluations()
	o.Steps, o.FoundAt, o.HalfAt = s.agent.Steps(), s.agent.FoundAt(), r.Curve.FirstAt(Half)
	o.SolvedAt, o.Digest = s.agent.SolvedAt(), s.agent.Digest()
	v := view{Record: r, Story: s.story(), agent: s.agent, state: s.state}
	files, err := v.files()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := s.dir.write(name, data); err != nil {
			return err
		}
	}
	return s.dir.write(RecordFile, r.Encode()) // last: the files of a run that has ended are all there
}

// subject names the environment.
func (id Identity) subject() string {
	if len(id.Map) > 0 {
		return "maze " + id.Environment
	}
	return id.Environment
}

// Departures tells what is not as in [qta.Paper].
func (id Identity) Departures() string {
	var parts []string
	for _, name := range Differing(qta.Paper(), id.Params) {
		parts = append(parts, fmt.Sprintf("%s %s (not %s)", name, id.Params.Value(name), qta.Paper().Value(name)))
	}
	if id.Own {
		parts = append(parts, "goals by a curriculum of its user")
	}
	if len(parts) == 0 {
		return "as in the paper"
	}
	return "as in the paper except for " + strings.Join(parts, ", ")
}

// story tells what the run has reached.
func (s *session) story() string {
	id, o, steps := s.record.Run, s.record.Outcome, words.Count(s.agent.Steps(), "environment step")
	log := s.agent.Evaluations()
	if at := s.agent.SolvedAt(); at > 0 {
		if at < s.agent.Steps() {
			steps = fmt.Sprintf("%d of %s", at, steps)
		}
		text := fmt.Sprintf("after %s all %d rollouts of an evaluation on %s ended at the goal",
			steps, id.Rollouts, id.subject())
		if o.HeldOut != nil {
			text += fmt.Sprintf("; so did %.0f %% of %d more", o.HeldOutPercent(), o.HeldOutRollouts)
		}
		return text
	} else if len(log) == 0 {
		return "no evaluation in the first " + steps
	}
	best := slices.MaxFunc(log, func(a, b qta.Evaluation) int { return cmp.Compare(a.Success, b.Success) })
	if best.Success == 0 {
		return fmt.Sprintf("after %s no rollout of an evaluation on %s has ended at the goal", steps, id.subject())
	}
	return fmt.Sprintf("after %s the best evaluation on %s is that of step %d, with %.4g %% of its rollouts at the goal",
		steps, id.subject(), best.Step, 100*best.Success)
}

// tooFew names what a run of so many steps never begins, or returns "".
func tooFew(p qta.Params, steps int) string {
	text := words.Count(steps, "step") + " end before the first "
	switch {
	case steps <= p.LearningStarts:
		return text + fmt.Sprintf("update: LearningStarts is %d", p.LearningStarts)
	case steps <= p.InitialSteps && p.Curriculum == "qta":
		return text + fmt.Sprintf("goal chosen by its uncertainty: InitialSteps is %d", p.InitialSteps)
	}
	return ""
}

// Hint says what to look at first if the run has ended unsolved, or returns "".
func (r *Record) Hint() string {
	if r.State != Finished || r.Outcome.SolvedAt > 0 || len(r.Curve) == 0 {
		return ""
	}
	last, half := r.Last(), r.Curve[(len(r.Curve)-1)/2]
	what, where := fmt.Sprintf("Of its latest rollouts %.0f %% ended at the goal", 100*last.Success), r.Apart
	switch few := tooFew(r.Run.Params, r.Outcome.Steps); {
	case few != "":
		what, where = few, ""
	case last.GoalsReached == half.GoalsReached && last.GoalsSet > half.GoalsSet:
		what = fmt.Sprintf("It reached none of the %d goals that it set itself after step %d",
			last.GoalsSet-half.GoalsSet, half.Step)
	case last.Reached > last.Success:
		what += fmt.Sprintf(", but %.0f %% had reached it", 100*last.Reached)
	case r.Outcome.FoundAt == 0 && last.Success == 0:
		what = "In training it was never at the goal"
	}
	return what + where + `; see "When it does not learn" in docs/library.md.`
}

// apart names the components of a goal in which all desired goals of the environment
// lie where the agent has never been, or returns "".
func apart(a *qta.Agent, env qta.Env) (text string) {
	rng := rand.New(rand.NewPCG(1, 0))
	var desired [][]float64
	for range HeldOut {
		desired = append(desired, slices.Clone(env.Reset(rng).Desired))
	}
	span := func(i, goals int, goal func(k int) []float64) (low, high float64) {
		low, high = math.Inf(1), math.Inf(-1)
		for k := range goals {
			v := goal(k)[i]
			low, high = min(low, v), max(high, v)
		}
		return low, high
	}
	for i := range a.Sizes().Goal {
		low, high := span(i, HeldOut, func(k int) []float64 { return desired[k] })
		if least, most := span(i, a.Steps()+1, a.Achieved); low > most || high < least {
			text += fmt.Sprintf("; component %d of the desired goals lies between %.4g and %.4g, "+
				"but the agent was only between %.4g and %.4g", i, low, high, least, most)
		}
	}
	return text
}

// A Run is what a run's directory holds, to view and to use.
type Run struct {
	Dir     string
	Agent   *qta.Agent // which the caller closes
	Run     Identity
	Warning error // what is wrong with agent.qta, where the one before it was read
	state   *state
}

// Open reads the newest agent of a run's directory. It changes no file.
func Open(dir string) (*Run, error) {
	dir = filepath.Clean(dir)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, words.BadInput("%s is a file: name a run's directory, such as %s", dir, filepath.Dir(dir))
	}
	r, err := load(dir)
	if r == nil && err == nil {
		err = words.BadInput("%s is not a run's directory: it holds no %s", dir, AgentFile)
	}
	return r, err
}
