// Package qta is Query The Agent (QTA), a curriculum for goal-conditioned
// reinforcement learning by Alverio, Katz and Barbu: an agent estimates its own
// epistemic uncertainty everywhere it has been, by Predictive Uncertainty
// Networks (PUN), and sets itself goals where it is least certain.
//
// Start at [Agent.Train], which is the algorithm; [Params] is every number in
// it, and [Maze] and [Env] are where it runs. The package is meant to be read
// beside the paper:
//
//	section 3.1  pun.go, ddpg.go      the critic ensemble, its heads, the policy
//	section 3.2  goals.go             the choice of goals
//	section 3.3  replay.go, goals.go  prioritised replay; the threshold on goals
//	section 4    maze.go, path.go     mazes; path lengths and optimal values
//	appendix     params.go            the table
//	-            mlp.go, pass.go      networks and Adam; a batch in chunks
//	-            gemm.go, workers.go  the matrix product; threads
//
// # Equations
//
// The paper numbers none of its eight displayed formulas; they are numbered
// here in the order of appearance. Those in its text have a name.
// The names of a formula's tests begin alike.
//
//	formula             file       function             test file       tests              golden
//	Equation 1          pun.go     TDTarget             pun_test.go     TestEquation1      td-target, td-target-networks
//	Equation 2          pun.go     CriticLoss           pun_test.go     TestEquation2      critic-loss
//	Equation 3          pun.go     Polyak               pun_test.go     TestEquation3      polyak
//	Equation 4          pun.go     PredictiveLoss       pun_test.go     TestEquation4      predictive-loss
//	Equation 5          pun.go     pun.uncertainty      pun_test.go     TestEquation5      uncertainty-std, uncertainty
//	Equation 6          goals.go   GoalProbabilities    goals_test.go   TestEquation6      goal-probability
//	Equation 7          replay.go  SampleProbabilities  replay_test.go  TestEquation7      per
//	Equation 8          replay.go  ImportanceWeights    replay_test.go  TestEquation8      per
//	the scaling         goals.go   scaleUncertainty     goals_test.go   TestScaling        goal-probability
//	hindsight           replay.go  futureStep           replay_test.go  TestHindsight      her-future
//	the schedule of β   replay.go  PriorityBeta         replay_test.go  TestBeta           per-beta
//	the threshold       goals.go   Achievable           goals_test.go   TestThreshold      achievable
//	the optimal return  path.go    OptimalReturn        path_test.go    TestOptimalReturn  optimal-return
//
// # Baselines
//
// What the paper compares QTA and PUN with runs on QTA's own learner, so that a
// comparison isolates one idea. A field of [Params] chooses each, and its file
// says in Readings where it departs from its source:
//
//	Curriculum   mega       mega.go        goals of least density (Pitis et al., 2020)
//	             vds        vds.go         goals of most disagreement, from all there are (Zhang et al., 2020)
//	             her        curriculum.go  the environment's goal (Andrychowicz et al., 2017)
//	             random     curriculum.go  achieved goals, uniformly; a control of ours
//	Uncertainty  q          goals.go       disagreement of Q-values (Figure 6)
//	             bootstrap  bootstrap.go   Bootstrapped Q-networks (Osband et al., 2016; Figure 6)
//	             ensemble   ensemble.go    Deep Ensembles (Lakshminarayanan et al., 2017; Figure 6)
//	Replay       per        replay.go      prioritised by uncertainty (Figure 3)
//	             td         replay.go      prioritised by TD error (Schaul et al., 2016; Figure 3)
//
// [MEGA] and [VDS] are parameter sets for these two with the learner that their
// own authors published, as far as networks of ReLU go; mega_params.go and
// vds_params.go say what is left out.
//
// UncertaintyNoise is the noise of Figure 4. Bootstrapped Q-networks and Deep
// Ensembles change critics, targets and heads too. QSwapped, BootstrapForm,
// EnsembleScore and TDPriority choose between the idea as published, which is
// the default, and what the QTA authors' public code makes of it, which is in
// [Authors]; VDSForm has VDS's own three forms.
//
// # Readings
//
// What the paper does not say is said at the function that had to choose, in
// a sentence that begins "Reading:"; where the package knowingly does
// otherwise, "Differs:".
//
// # Determinism
//
// The same version, parameters and seed give the same bytes, whatever the
// number of threads and whether or not a run was interrupted, on every machine
// with a kernel for the matrix product; see [KernelName].
package qta

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Version is the version of the algorithm: between two releases with the same
// version, the same parameters and seed give the same bytes.
const Version = "0.2.0"

// An Agent is QTA in training: networks, replay, and the curriculum's state.
// It is not safe for concurrent use.
type Agent struct {
	params Params
	sizes  Sizes
	seed   uint64

	pun          *pun
	policy       *policy
	observations *normalizer
	goals        *normalizer
	replay       *replay
	largest      float64 // the largest priority so far, at least 1
	curriculum   curriculum
	sampler      GoalSampler // the environment, where the curriculum needs one

	step     int // environment steps taken
	losses   losses
	log      []Evaluation
	explored bool // an episode's first goal has been reached: RandomActionLater
	perfect  bool // an evaluation was perfect: CriticDecay and HeadDecay

	// The running episode.

	observation  []float64 // s
	achieved     []float64 // the goal achieved at s
	desired      []float64 // the environment's goal
	goal         []float64 // the goal pursued
	firstGoal    bool      // it is the episode's first
	reached      bool      // it has been reached
	episodeStart []byte    // the environment's generator at the last reset
	goalsSet     int       // in all episodes
	goalsReached int

	exploration stream
	environment stream
	draws       stream // of the replay
	learning    stream // the pair M and the target's noise
	goalDraws   stream

	workers *workers
	scratch scratch
}

// losses are those of the latest update.
type losses struct{ critic, head, policy float64 }

// scratch is memory that only one call at a time needs.
type scratch struct {
	number     int    // of the update at work, from 1 at a run's start
	problem    string // what a minibatch showed to be wrong with the environment
	batch      batch
	headBatch  batch     // with HeadOwnDraw
	actorBatch batch     // with ActorOwnDraw
	single     matrix    // one s, g
	action     []float64 // of one state
	selection  selection
}

// TrainOptions say how long to train and how often to evaluate.
type TrainOptions struct {
	Steps          int  // budget: environment steps in all, those before this call included
	EvalEvery      int  // environment steps between evaluations
	Rollouts       int  // rollouts of one evaluation
	StopWhenSolved bool // stop at the first evaluation in which every rollout succeeds

	AfterEvaluation func(Evaluation) error // if not nil, called after each evaluation; an error ends training
	AfterStep       func() error           // if not nil, called after each environment step; an error ends training
}

// An Evaluation is one row of a run's log. The losses are those of the latest
// update, zero before the first.
type Evaluation struct {
	Step           int     // environment steps taken
	Success        float64 // fraction of rollouts at the goal after their last step
	CriticLoss     float64 // Equation 2, mean over the critics, in squared rewards
	PredictiveLoss float64 // Equation 4, mean over the heads, in squared units of the observation
	ActorLoss      float64 // in rewards
	GoalsSet       int     // goals chosen so far
	GoalsReached   int     // of these, reached
}

// Train is the algorithm. It trains in env and evaluates in another instance
// of the same environment, until the budget is spent, the task is solved, or
// ctx is done, whose cause it returns. It stops between environment steps, so
// that an agent can be saved and trained further to the same end as without
// the interruption. Errors are a [*NumericError], an [*EnvError], or what a
// function in o returned.
//
// Reading: one update follows every environment step, after the first
// LearningStarts; with UpdatesPerEpisode all of an episode's follow its end, as
// in VDS. An episode runs to its horizon whatever goals it reaches.
func (a *Agent) Train(ctx context.Context, env, evaluation Env, o TrainOptions) error {
	for _, e := range []Env{env, evaluation} {
		if got := e.Sizes(); got != a.sizes {
			return fmt.Errorf("qta: environment of sizes %+v for an agent of sizes %+v", got, a.sizes)
		}
	}
	if o.EvalEvery < 1 || o.Rollouts < 1 {
		return fmt.Errorf("qta: EvalEvery is %d and Rollouts is %d, allowed are 1 and above", o.EvalEvery, o.Rollouts)
	}
	a.sampler, _ = env.(GoalSampler)
	if a.sampler == nil && a.params.Curriculum == "vds" {
		return errors.New("qta: the curriculum vds needs an environment that is a GoalSampler")
	}
	if err := a.reenter(env); err != nil {
		return err
	}
	a.reserve(o.Steps)
	for a.step < o.Steps && !(o.StopWhenSolved && a.SolvedAt() > 0) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := a.trainStep(env); err != nil {
			return err
		}
		if a.step%o.EvalEvery == 0 {
			if err := a.evaluation(evaluation, o); err != nil {
				return err
			}
		}
		if o.AfterStep != nil {
			if err := o.AfterStep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// trainStep takes one environment step and learns from it.
func (a *Agent) trainStep(env Env) error {
	p := &a.params
	if a.step%p.Horizon == 0 {
		if err := a.beginEpisode(env); err != nil {
			return err
		}
	}
	action, err := a.behave()
	if err != nil {
		return err
	}
	next, reward := env.Step(action)
	if err := a.checkStep(env, next, reward); err != nil {
		return err
	}
	a.replay.add(a.observation, a.achieved, action, a.goal, next)
	if a.replay.prioritised {
		a.replay.setWeight(a.replay.n-1, pow(a.largest, p.PriorityAlpha))
	}
	a.enterState(next)
	a.step++

	endOfEpisode := a.step%p.Horizon == 0
	if env.Reward(a.achieved, a.goal) == 0 {
		if !a.reached {
			a.goalsReached++
		}
		a.reached = true
		a.explored = a.explored || a.firstGoal
		if !endOfEpisode {
			a.curriculum.atGoal(a)
			a.setGoal(false)
		}
	}
	if p.UpdatesPerEpisode == 0 {
		if err := a.updates(env); err != nil {
			return err
		}
	}
	if endOfEpisode {
		a.showNormalizers()
		if err := a.curriculum.endEpisode(a, env); err != nil {
			return err
		}
	}
	if p.UpdatesPerEpisode > 0 {
		return a.updates(env)
	}
	return nil
}

// updates does the updates that follow the latest environment step, if any.
func (a *Agent) updates(env Env) error {
	p := &a.params
	for n := p.updatesUntil(a.step-1) + 1; n <= p.updatesUntil(a.step); n++ {
		a.scratch.number = n
		a.update(env)
		if a.scratch.problem != "" {
			return &EnvError{a.step, a.scratch.problem}
		}
		if err := a.checkLosses(); err != nil {
			return err
		}
	}
	return nil
}

// beginEpisode resets the environment and sets the episode's first goal.
func (a *Agent) beginEpisode(env Env) error {
	a.episodeStart = a.environment.state()
	s := env.Reset(a.environment.Rand)
	if problem := a.stateProblem(s); problem != "" {
		return &EnvError{a.step, problem + " after Reset"}
	}
	a.enterState(s)
	copy(a.desired, s.Desired)
	a.setGoal(true)
	return nil
}

// reenter brings a new environment to where the running episode stands: it is
// deterministic given its generator, so the episode is played again.
func (a *Agent) reenter(env Env) error {
	done := a.step % a.params.Horizon
	if done == 0 {
		return nil
	}
	a.environment.restore(a.episodeStart)
	env.Reset(a.environment.Rand)
	for i := a.step - done; i < a.step; i++ {
		s, _ := env.Step(slices.Clone(at(a.replay.action, i, a.sizes.Action)))
		if !slices.Equal(s.Observation, at(a.replay.nextObservation, i, a.sizes.Observation)) {
			return &EnvError{i + 1, fmt.Sprintf("the observation is %v where it was %v before the interruption; an environment must take all chance from the generator given to Reset",
				s.Observation, at(a.replay.nextObservation, i, a.sizes.Observation))}
		}
	}
	return nil
}

func (a *Agent) enterState(s State) {
	copy(a.observation, s.Observation)
	copy(a.achieved, s.Achieved)
}

// behave returns the training policy's action for the current state and goal.
func (a *Agent) behave() ([]float64, error) {
	p := &a.params
	action := a.act(a.observation, a.goal)
	if p.InitialActions == "uniform" && a.step < p.InitialSteps {
		uniformAction(action, a.exploration.Rand)
		return action, nil
	}
	for _, v := range action {
		if v != v {
			return nil, &NumericError{a.step, "policy", v}
		}
	}
	explore(action, p.ActionNoise, a.curriculum.randomAction(a), a.exploration.Rand)
	return action, nil
}

// A batch is a minibatch as the networks see it: s and g normalised.
type batch struct {
	transitions []int       // which they are, in the replay
	x           matrix      // s, g, a: B by observation + goal + action
	next        matrix      // s', g and room for a'
	r           []float32   // reward
	y           [][]float32 // the targets of Equation 1: for all critics, or one for each
	weights     [][]float32 // those of [CriticLoss]: likewise, or nil for ones
	headMasks   [][]float32 // each head's: 0 where it is not to learn; or nil
	head        matrix      // what the predictive heads predict: s' raw
	priority    []float64   // new priorities, or nil without prioritised replay
	p, w        []float64   // probabilities and weights of prioritised replay
	byEpisode   bool        // drawn by episode, then by step
}

// newBatch returns a batch for an ensemble.
func newBatch(rows int, sizes Sizes, u *pun) batch {
	width := sizes.Observation + sizes.Goal + sizes.Action
	b := batch{
		transitions: make([]int, rows),
		x:           newMatrix(rows, width),
		next:        newMatrix(rows, width),
		r:           make([]float32, rows),
		y:           [][]float32{make([]float32, rows)},
		head:        newMatrix(rows, u.predicted),
	}
	if u.ownTargets {
		for range u.critics[1:] {
			b.y = append(b.y, make([]float32, rows))
		}
	}
	return b
}

// update is one step of every network on a minibatch drawn from the replay.
func (a *Agent) update(env Env) {
	a.sampleBatch(env, &a.scratch.batch)
	a.learn(env)
}

// learn is one step of every network on the minibatch in scratch: critics with
// their predictive heads, their targets, policy, its target. env serves the
// minibatches that HeadOwnDraw and ActorOwnDraw draw. Targets move in every
// TargetEvery-th update of a run.
func (a *Agent) learn(env Env) {
	p, b, w := &a.params, &a.scratch.batch, a.workers
	heads, actor := b, b
	if p.HeadOwnDraw {
		heads = &a.scratch.headBatch
		a.sample(env, heads, 0, nil)
	}
	if p.ActorOwnDraw {
		actor = &a.scratch.actorBatch
		a.sample(env, actor, p.HindsightRatio, nil)
	}

	a.target(b)
	a.losses.critic, a.losses.head = a.pun.learn(w, b, heads, p, a.perfect)
	if b.priority != nil {
		a.prioritise(b)
	}
	targetsMove := a.scratch.number%p.TargetEvery == 0
	if targetsMove {
		a.pun.updateTargets(w, p.Polyak)
	}
	if !headsJoin(p) {
		a.losses.head = a.pun.learnHeads(w, heads, p, a.perfect)
	}

	if a.scratch.number%p.PolicyEvery == 0 {
		a.losses.policy = a.policy.learn(w, a.pun, actor.x, p)
	}
	if targetsMove {
		a.policy.updateTarget(w, p.Polyak)
	}
}

// sampleBatch fills b with the critics' minibatch: relabelled, and drawn as
// Replay says.
//
// Reading: with prioritised replay the policy and the heads learn from the same
// minibatch, and the weights apply to the critics' loss alone.
func (a *Agent) sampleBatch(env Env, b *batch) {
	if !a.replay.prioritised {
		a.sample(env, b, a.params.HindsightRatio, nil)
		return
	}
	p, tree := &a.params, &a.replay.weights
	a.sample(env, b, p.HindsightRatio, tree)
	β := PriorityBeta(a.step, p.PriorityBeta, p.PriorityBetaSteps)
	a.replay.importance(b.w, b.p, b.transitions, β)
	for _, weights := range b.weights {
		for row, w := range b.w {
			weights[row] *= float32(w)
		}
	}
}

// prioritise writes the priorities of the transitions just learnt from to the
// replay.
func (a *Agent) prioritise(b *batch) {
	a.pun.priorities(b.priority, b, &a.params)
	weights := b.priority // from here on
	for row, priority := range b.priority {
		if !finite(priority) {
			return // the loss is not finite either, which ends training
		}
		a.largest = max(a.largest, priority)
		weights[row] = pow(priority, a.params.PriorityAlpha)
	}
	a.replay.weights.setAll(b.transitions, weights)
}

// sample fills b with transitions drawn from the replay, k relabelled to one
// that is not, with their rewards recomputed: drawn uniformly, or in proportion
// to the tree's weights.
func (a *Agent) sample(env Env, b *batch, k float64, tree *sumTree) {
	r, s := a.replay, a.sizes
	for row := range b.x.rows {
		var i int
		switch {
		case tree != nil:
			i = tree.find(a.draws.Float64())
		case b.byEpisode:
			i = r.drawByEpisode(a.draws)
		default:
			i = a.draws.index(r.n)
		}
		b.transitions[row] = i
		goal := a.replayGoal(i, k)
		x, next := b.x.row(row), b.next.row(row)
		a.inputs(x, at(r.observation, i, s.Observation), goal)
		for c, v := range at(r.action, i, s.Action) {
			x[s.Observation+s.Goal+c] = float32(v)
		}
		a.inputs(next, at(r.nextObservation, i, s.Observation), goal)
		a.predicted(b.head.row(row), i)
		achieved := at(r.nextAchieved, i, s.Goal)
		reward := env.Reward(achieved, goal)
		if reward != 0 && reward != -1 {
			a.scratch.problem = fmt.Sprintf("Reward is %v of the achieved goal %v and the goal %v; it must be 0 or -1", reward, achieved, goal)
		}
		b.r[row] = float32(reward)
	}
	for _, weights := range b.weights {
		for row := range weights {
			weights[row] = 1
		}
	}
	if a.params.Uncertainty == "bootstrap" {
		a.applyMasks(b)
	}
}

// replayGoal returns the goal that transition i is replayed with: the
// curriculum's, or, with k zero, the one that was pursued.
func (a *Agent) replayGoal(i int, k float64) []float64 {
	if k == 0 {
		return a.replay.draw(i, 0, a.draws.Rand)
	}
	return a.curriculum.replayGoal(a, i)
}

// predicted sets dst to what the predictive heads are to predict at transition
// i.
func (a *Agent) predicted(dst []float32, i int) {
	s := at(a.replay.nextObservation, i, a.sizes.Observation)
	if a.params.HeadTarget == "achieved" {
		s = at(a.replay.nextAchieved, i, a.sizes.Goal)
	}
	if len(dst) < len(s) { // BootstrapForm authors
		mean := 0.0
		for _, v := range s {
			mean += v / float64(len(s))
		}
		dst[0] = float32(mean)
		return
	}
	for c, v := range s {
		dst[c] = float32(v)
	}
}

// target sets b.y to Equation 1 for the minibatch, with a' from the target
// policy and, as [Params] say, noise on a' and the clip of the return.
func (a *Agent) target(b *batch) {
	p, w := &a.params, a.workers
	inputs := b.next.columns(0, a.sizes.Observation+a.sizes.Goal)
	actions := a.policy.act(w, a.policy.target, inputs)
	if p.TargetNoise > 0 {
		smooth(actions.data[:b.next.rows*actions.cols], p.TargetNoise, p.TargetClip, a.learning.Rand)
	}
	setColumns(b.next, inputs.cols, actions)
	a.pun.target(w, b.y, b.r, b.next, p.Discount, a.learning)
	for _, y := range b.y {
		a.clipReturns(y)
	}
}

// clipReturns clips values to the returns that [Params] allow.
func (a *Agent) clipReturns(values []float32) {
	p := &a.params
	if !p.ClipReturns {
		return
	}
	low := p.LowestReturn
	if low == 0 {
		low = -1 / (1 - p.Discount)
	}
	for k, y := range values {
		values[k] = min(max(y, float32(low)), 0)
	}
}

// showNormalizers takes the finished episode into the normalisers: draws with
// replacement from it, goals relabelled as in a minibatch.
func (a *Agent) showNormalizers() {
	p, r := &a.params, a.replay
	for range p.NormalizerDraws {
		i := a.step - p.Horizon + a.draws.index(p.Horizon)
		a.observations.add(at(r.observation, i, a.sizes.Observation))
		a.goals.add(a.replayGoal(i, p.HindsightRatio))
	}
	a.observations.update()
	a.goals.update()
}

// evaluation evaluates the policy and adds a row to the log. Its chance depends
// on the seed and the step alone, so that training is the same however often
// one evaluates.
func (a *Agent) evaluation(env Env, o TrainOptions) error {
	if err := a.checkParameters(); err != nil {
		return err
	}
	success, err := a.success(env, o.Rollouts, newStream(a.seed, forEvaluation+purpose(a.step)<<8))
	if err != nil {
		return err
	}
	e := Evaluation{
		Step:           a.step,
		Success:        success,
		CriticLoss:     a.losses.critic,
		PredictiveLoss: a.losses.head,
		ActorLoss:      a.losses.policy,
		GoalsSet:       a.goalsSet,
		GoalsReached:   a.goalsReached,
	}
	a.log = append(a.log, e)
	a.perfect = a.perfect || e.Success == 1
	if o.AfterEvaluation != nil {
		return o.AfterEvaluation(e)
	}
	return nil
}

// Evaluate returns the fraction of rollouts, by the policy without exploration
// towards the environment's own goals, that are at the goal after Horizon
// steps.
//
// Reading: success is read at the last step alone, as in the authors' code;
// the paper says "evaluation performance".
//
// Reading: a rollout is at the goal where the reward is 0, in a maze closer than
// 0.35; the authors' evaluation also counts a distance of 0.35 itself.
//
// The error is an [*EnvError] if the environment breaks its contract.
func (a *Agent) Evaluate(env Env, rollouts int, seed uint64) (float64, error) {
	return a.success(env, rollouts, newStream(seed, forEvaluation))
}

func (a *Agent) success(env Env, rollouts int, rng stream) (float64, error) {
	reached := 0
	for range rollouts {
		s := env.Reset(rng.Rand)
		for t := range a.params.Horizon {
			if problem := a.stateProblem(s); problem != "" {
				return 0, &EnvError{a.step, fmt.Sprintf("%s after step %d of an evaluation's rollout", problem, t)}
			}
			s, _ = env.Step(a.act(s.Observation, s.Desired))
		}
		if problem := a.stateProblem(s); problem != "" {
			return 0, &EnvError{a.step, problem + " at the end of an evaluation's rollout"}
		}
		if env.Reward(s.Achieved, s.Desired) == 0 {
			reached++
		}
	}
	return float64(reached) / float64(rollouts), nil
}
