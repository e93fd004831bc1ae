package qta

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
)

// This file is the agent as its user sees it. It makes an agent, answers questions about
// it, and takes a curriculum of the user's own. It also plays an interrupted episode again
// before training continues.

// An Agent is QTA in training: networks, replay, and the curriculum's state. It
// is not safe for concurrent use. Its memory and its checkpoints grow with its
// steps: it keeps every transition as six vectors of float64.
type Agent struct {
	params Params
	sizes  Sizes
	seed   uint64

	pun        *ensemble
	policy     *policy
	stateScale *normalizer
	goalScale  *normalizer
	replay     *replay

	// Parts: the paper's, or others that variants.go puts in their place.

	curriculum curriculum // chooses goals
	estimator  estimator  // says how uncertain a candidate is
	explorer   explorer   // turns the policy's action into the one taken
	sampler    sampler    // draws transitions to learn from
	learner    learner    // makes updates

	// Training.

	step         int // environment steps taken
	updates      int // updates made: for departures (baseline.go)
	foundAt      int // the first step that ended at the environment's goal, or 0
	goalsSet     int
	goalsReached int
	losses       losses // of the latest update
	log          []Evaluation

	env     Env  // the environment that Train trains in; nil outside Train
	loaded  bool // the agent comes from a checkpoint and has not trained since
	halfway bool // the agent is inside an environment step

	// The running episode.

	observation  []float64 // s
	achieved     []float64 // the goal achieved at s
	desired      []float64 // the environment's goal
	goal         []float64 // the goal pursued
	firstGoal    bool      // goal is the episode's first: for departures
	reached      bool      // goal has been reached since it was set
	episodeStart rand.PCG  // the environment's generator before the episode's reset

	// Chance, a generator for each purpose.

	exploration stream
	environment stream
	draws       stream // for the replay
	learning    stream // for the pair M of Equation 1, and noise on its a' (authors.go)
	goalDraws   stream

	attachment []byte // the user's bytes, saved with the agent
	workers    *workers
	batch      batch // the minibatch of an update, in memory that each update uses again
}

type losses struct{ critic, head, policy float64 }

// NewAgent returns an untrained agent for environments of the given sizes. All its
// randomness comes from seed. The error names a parameter or size that is not allowed.
// NewAgent panics if the networks do not fit into memory.
func NewAgent(p Params, sizes Sizes, seed uint64) (*Agent, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if sizes.Observation < 1 || sizes.Goal < 1 || sizes.Action < 1 {
		return nil, fmt.Errorf("qta: environment sizes %+v, allowed are 1 and above", sizes)
	}
	a := &Agent{
		params:     p,
		sizes:      sizes,
		seed:       seed,
		stateScale: newNormalizer(sizes.Observation, &p),
		goalScale:  newNormalizer(sizes.Goal, &p),
		replay:     newReplay(sizes, p.Horizon),
		workers:    newWorkers(1),

		observation: make([]float64, sizes.Observation),
		achieved:    make([]float64, sizes.Goal),
		desired:     make([]float64, sizes.Goal),
		goal:        make([]float64, sizes.Goal),

		exploration: newStream(seed, forExploration),
		environment: newStream(seed, forEnvironment),
		draws:       newStream(seed, forReplay),
		learning:    newStream(seed, forLearning),
		goalDraws:   newStream(seed, forGoals),
	}
	a.assemble(newStream(seed, forInitialization).Rand) // networks, learner, curriculum, sampler
	a.episodeStart = *a.environment.pcg
	return a, nil
}

// SetThreads spreads the arithmetic over n threads; a new agent has one. The
// results are the same bytes for every n. Call [Agent.Close] at the end.
func (a *Agent) SetThreads(n int) { a.workers.resize(n) }

// Close ends the agent's threads. The agent remains usable, with one thread.
func (a *Agent) Close() { a.workers.resize(1) }

// KernelName returns the kernel of the matrix product on this machine:
// "avx512", "avx2" or "neon", which give the same bytes, or "generic", which
// is many times slower and may round differently.
func KernelName() string { return string(best) }

// Attach gives the agent bytes to save with it. Training ignores them.
func (a *Agent) Attach(data []byte) { a.attachment = slices.Clone(data) }

// Attachment returns what was attached last.
func (a *Agent) Attachment() []byte { return slices.Clone(a.attachment) }

// Params returns the parameters the agent was made with.
func (a *Agent) Params() Params { return a.params }

// Sizes returns the sizes of the environments the agent acts in.
func (a *Agent) Sizes() Sizes { return a.sizes }

// Seed returns the seed the agent was made with.
func (a *Agent) Seed() uint64 { return a.seed }

// Steps returns the number of environment steps taken in training.
func (a *Agent) Steps() int { return a.step }

// FoundAt returns the environment step of training that first ended at the
// environment's goal, or 0.
func (a *Agent) FoundAt() int { return a.foundAt }

// Evaluations returns the log: one entry per evaluation so far.
func (a *Agent) Evaluations() []Evaluation { return slices.Clone(a.log) }

// SolvedAt returns the environment step of the first evaluation in which every
// rollout succeeded, or 0.
func (a *Agent) SolvedAt() int {
	for _, e := range a.log {
		if e.Success == 1 {
			return e.Step
		}
	}
	return 0
}

// Digest returns the SHA-256 of all networks' parameters, targets included, in hex. It
// leaves out the moving average that UncertaintyPolyak adds.
func (a *Agent) Digest() string {
	h := sha256.New()
	for _, params := range a.parameters() {
		binary.Write(h, binary.LittleEndian, params.values)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The following methods query an agent, also about an environment in which it did not
// train. They change nothing in training.

// Value returns, for each observation and goal, the mean over the critics of Q(s, π(s,
// g), g), in discounted rewards and not clipped. It panics unless there are as many goals
// as observations. All must have the agent's [Sizes], and numbers within ±1e12.
func (a *Agent) Value(observations, goals [][]float64) []float64 {
	values := a.policyValues(a.pun, observations, goals)
	mean := make([]float64, len(goals))
	for _, q := range values {
		for k, v := range q {
			mean[k] += float64(v) / float64(len(values))
		}
	}
	return mean
}

// policyValues returns Q(s, π(s, g), g) by each critic of u, for each state and its goal.
// The result is critics by states.
func (a *Agent) policyValues(u *ensemble, states, goals [][]float64) [][]float32 {
	x := a.rows(states, goals)
	values := make([][]float32, len(u.critics))
	for lo := 0; lo < x.rows; lo += chunkRows {
		hi := min(lo+chunkRows, x.rows)
		chunk := x.slice(lo, hi)
		a.policy.act(a.policy.net, chunk) // writes π(s, g) into the rows
		for i, c := range u.critics {
			q := c.q.infer(u.pass, chunk)
			values[i] = append(values[i], q.elements()...)
		}
	}
	return values
}

// rows returns a row for each state and its goal: s and g, normalized, and room for an
// action. It panics unless there are as many states as goals, all of the agent's [Sizes] and
// with numbers within ±1e12.
func (a *Agent) rows(states, goals [][]float64) matrix {
	if len(states) != len(goals) {
		panic(fmt.Sprintf("qta: an agent asked about %d observations and %d goals",
			len(states), len(goals)))
	}
	x := newMatrix(len(states), a.sizes.criticWidth())
	for k, s := range states {
		problem := cmp.Or(numbersProblem("observation", s, a.sizes.Observation),
			numbersProblem("goal", goals[k], a.sizes.Goal))
		if problem != "" {
			panic("qta: a question to an agent: " + problem)
		}
		a.input(x.row(k), s, goals[k])
	}
	return x
}

// Uncertainty returns Equation 5 for each observation and goal, in the unit of what the
// heads predict. An agent may choose its goals by another estimate, which [Agent.Survey]
// returns. The seed decides the d actions. Uncertainty panics as [Agent.Value] does.
func (a *Agent) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	actions := drawActions(newStream(seed, forSurvey), a.pun.d, len(goals), a.sizes.Action)
	return a.pun.uncertainty(a.rows(observations, goals), actions)
}

// A Survey holds an agent's answers about a set of points: the data of the
// paper's Figure 5. All slices but Samples have one element per point.
type Survey struct {
	Value       []float64 // mean over the critics of Q(start, π(start, g), g), in discounted rewards
	Uncertainty []float64 // the estimate that the agent chooses goals by, such as Equation 5
	Probability []float64 // Equation 6 with the points as candidates, without the threshold
	Samples     []int     // indices of points drawn with these probabilities; none without points
}

// Survey asks the agent about points, and draws goals among them, as many as samples says.
// A point is an observation and the goal achieved there. start is the observation from
// which each goal's value is taken. desired is the environment's goal, which the critics
// get if UncertaintyGoal is "desired". All chance depends only on the agent's seed and
// step. Survey panics as [Agent.Value] does.
func (a *Agent) Survey(start, desired []float64, observations, goals [][]float64, samples int) Survey {
	if len(goals) == 0 {
		return Survey{}
	}
	purpose := forSurvey + uint64(a.step)<<8 // other random numbers at each step
	rng := newStream(a.seed, purpose)
	c := candidates{states: observations, goals: goals, desired: desired, now: start}
	var s Survey

	// Reading R94: the "average error among the three predictive heads" of Figure
	// 5's caption is Equation 5.
	s.Uncertainty = a.estimator.uncertainty(a, c, rng)

	// Reading R92: the caption's "value function for all states" is the value of
	// every point as a goal from the start.
	//
	// Reading R93: this value is for the policy's action, and it is not clipped. The
	// authors' script takes the value for the action zero, and clips it at -50.
	starts := slices.Repeat([][]float64{start}, len(goals))
	s.Value = a.Value(starts, goals)

	s.Probability = make([]float64, len(goals))
	GoalProbabilities(s.Probability, s.Uncertainty, a.params.Slope, a.params.Intercept)
	for range samples {
		s.Samples = append(s.Samples, pick(s.Probability, rng.Float64()))
	}
	return s
}

// State returns a copy of the agent's current state in training, or zeros
// before the first episode.
func (a *Agent) State() State {
	return State{
		Observation: slices.Clone(a.observation),
		Achieved:    slices.Clone(a.achieved),
		Desired:     slices.Clone(a.desired),
	}
}

// Observation returns a copy of the observation where environment step i began, or of the
// current one if i is Steps(). It panics unless 0 <= i <= Steps().
func (a *Agent) Observation(i int) []float64 {
	return a.before(i, a.replay.observation, a.observation)
}

// Achieved returns a copy of the goal achieved where environment step i began, or of the
// current one if i is Steps(). With [Agent.Observation] of an earlier i it is a candidate
// of QTA. Achieved panics unless 0 <= i <= Steps().
func (a *Agent) Achieved(i int) []float64 {
	return a.before(i, a.replay.achieved, a.achieved)
}

// before returns a copy of vector i of a column, or a copy of now if i is Steps().
func (a *Agent) before(i int, c column, now []float64) []float64 {
	if i < 0 || i > a.step {
		panic(fmt.Sprintf("qta: step %d of %d", i, a.step))
	}
	if i < a.step {
		now = c.at(i)
	}
	return slices.Clone(now)
}

// Goals returns, in order, the goals that the agent began to pursue in the environment
// steps i with from <= i < to. These are each episode's first goal, and each goal that
// differs from the goal of the step before. Goals panics unless 0 <= from <= to <= Steps().
func (a *Agent) Goals(from, to int) [][]float64 {
	if from < 0 || from > to || to > a.step {
		panic(fmt.Sprintf("qta: Goals of steps %d to %d of %d", from, to, a.step))
	}
	var goals [][]float64
	for i := from; i < to; i++ {
		g := a.replay.goal.at(i)
		first := i%a.params.Horizon == 0
		if first || !slices.Equal(g, a.replay.goal.at(i-1)) {
			goals = append(goals, slices.Clone(g))
		}
	}
	return goals
}

// checkSizes returns an error unless env has the sizes of the agent.
func (a *Agent) checkSizes(env Env) error {
	if got := env.Sizes(); got != a.sizes {
		return fmt.Errorf("qta: the environment has sizes %+v, the agent %+v", got, a.sizes)
	}
	return nil
}

var (
	errTwoInstances = errors.New("qta: training and evaluation need two instances " +
		"of the environment; in a single one an evaluation would break off the running episode")
	errHalfway = errors.New("qta: the agent is inside an environment step " +
		"and can be neither trained nor saved; save it in AfterStep or AfterEvaluation, " +
		"or after Train has returned nil or its context's cause, " +
		"and continue from that checkpoint")
	errTraining = errors.New("qta: the agent is in training: " +
		"functions that Train calls cannot train it, load it or change its curriculum")
)

// same reports whether two environments are the same instance. It ignores whether they are
// [Scaled].
func same(a, b Env) bool {
	a, b = unscaled(a), unscaled(b)
	comparable := reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable()
	return comparable && a == b
}

// enter checks the arguments of Train and brings the environment to where the agent is.
func (a *Agent) enter(ctx context.Context, env, evaluation Env, o TrainOptions) error {
	if err := cmp.Or(a.checkSizes(env), a.checkSizes(evaluation)); err != nil {
		return err
	}
	if o.EvalEvery < 1 || o.Rollouts < 1 {
		return fmt.Errorf("qta: EvalEvery is %d and Rollouts is %d, allowed are 1 and above",
			o.EvalEvery, o.Rollouts)
	}
	if same(env, evaluation) {
		return errTwoInstances
	}
	if a.halfway {
		return errHalfway
	}
	if err := a.curriculum.ready(env); err != nil {
		return err
	}
	a.env = env
	return a.reenter(ctx)
}

// reenter brings a new environment to where the running episode stands. An environment
// depends only on its generator and the actions, so that playing the episode again leads
// to the same state. On another machine the environment may round differently. The agent
// therefore continues from the state that the environment returns, not from the saved one.
//
// A loaded agent may be given another environment by mistake. To find that out, it first
// repeats its first ten episodes, but at most 1000 steps.
func (a *Agent) reenter(ctx context.Context) error {
	if a.loaded {
		rng := newStream(a.seed, forEnvironment)
		steps := min(10*a.params.Horizon, 1000, a.step)
		if _, err := a.playAgain(ctx, rng.Rand, 0, steps); err != nil {
			return err
		}
		a.loaded = false
	}
	played := a.step % a.params.Horizon // steps of the running episode
	if played == 0 {
		return nil
	}
	*a.environment.pcg = a.episodeStart
	s, err := a.playAgain(ctx, a.environment.Rand, a.step-played, a.step)
	if err != nil {
		return err
	}
	_, i := FirstJump([][]float64{a.desired}, [][]float64{s.Desired})
	if i >= 0 { // the goal is another one
		name := fmt.Sprintf("number %d of the desired goal", i)
		return changedError(a.step, name, a.desired[i], s.Desired[i])
	}
	a.enterState(s)
	copy(a.desired, s.Desired)
	return nil
}

// playAgain repeats the environment steps i with from <= i < to and returns the last state.
// An episode must begin at i = from. Chance comes from rng. If ctx is done, playAgain stops
// between two episodes.
func (a *Agent) playAgain(ctx context.Context, rng *rand.Rand, from, to int) (last State, err error) {
	for from < to && err == nil {
		if ctx.Err() != nil {
			return last, context.Cause(ctx)
		}
		end := min(from+a.params.Horizon, to)
		last, err = a.playEpisodeAgain(rng, from, end)
		from = end
	}
	return last, err
}

// playEpisodeAgain repeats the steps of the episode that begins with step from, up to step
// to. It fails if the environment no longer goes the way that the replay has.
func (a *Agent) playEpisodeAgain(rng *rand.Rand, from, to int) (last State, err error) {
	var was, now [][]float64
	a.env.Reset(rng)
	for i := from; i < to; i++ {
		last, _ = a.env.Step(slices.Clone(a.replay.action.at(i)))
		if problem := stateProblem(last, a.sizes); problem != "" {
			return last, &EnvError{i + 1, problem}
		}
		r := a.replay
		was = append(was, slices.Concat(r.nextObservation.at(i), r.nextAchieved.at(i)))
		now = append(now, slices.Concat(last.Observation, last.Achieved))
	}
	step, number := FirstJump(was, now) // the first difference that rounding does not explain
	if step < 0 {
		return last, nil
	}
	name := fmt.Sprintf("number %d of the observation", number)
	if number >= a.sizes.Observation {
		name = fmt.Sprintf("number %d of the achieved goal", number-a.sizes.Observation)
	}
	return last, changedError(from+step+1, name, was[step][number], now[step][number])
}

// changedError returns an error about a number that differs from before by more than
// rounding.
func changedError(step int, name string, was, now float64) error {
	return &EnvError{step, fmt.Sprintf("%s is %v where it was %v before the interruption: "+
		"the environment has changed, takes chance from elsewhere than Reset's generator, "+
		"or rounds differently on this machine, and a last digit decides what happens",
		name, now, was)}
}

// parameters returns the parameters of all networks, in a fixed order.
func (a *Agent) parameters() []parameterVector {
	policy := []parameterVector{
		{"policy", a.policy.net.params},
		{"target policy", a.policy.target.params},
	}
	return slices.Concat(policy, a.pun.parameters("critic"), a.curriculum.networks())
}

// A NumericError reports that the arithmetic of training has failed: a number is NaN or
// infinite. Losses and actions are checked in every step. Parameters and the rest of the
// training state, such as Adam's moments, are checked at each evaluation and when saved.
type NumericError struct {
	Step    int    // environment steps taken; if a [PUN] reports it, updates made
	Network string // where Value is, such as "policy", or "training state"
	Value   float64
}

func (e *NumericError) Error() string {
	return fmt.Sprintf("qta: step %d: %s: %v is not finite; "+
		"a smaller learning rate may help, or smaller numbers in the environment",
		e.Step, e.Network, e.Value)
}

// checkFinite returns a [*NumericError] if one of a network's numbers is NaN or
// infinite.
func checkFinite[T float32 | float64](step int, network string, numbers ...T) error {
	for _, x := range numbers {
		if !finite(float64(x)) {
			return &NumericError{Step: step, Network: network, Value: float64(x)}
		}
	}
	return nil
}

// checkParameters is checkFinite for several networks.
func checkParameters(step int, all []parameterVector) error {
	for _, params := range all {
		if err := checkFinite(step, params.name, params.values...); err != nil {
			return err
		}
	}
	return nil
}

// A Curriculum chooses the goals that an agent pursues in training: see
// [Agent.SetCurriculum]. Learning, hindsight and exploration follow the
// agent's [Params]. A Curriculum with state of its own saves that state by
// [Agent.Attach].
type Curriculum interface {
	// NextGoal returns the goal to pursue next, in the environment's units. If first is
	// true, this is an episode's first goal. Otherwise a goal was just reached, and nil
	// keeps that goal. The slice is copied. An error ends training.
	//
	// All chance comes from rng, which is saved with the agent. NextGoal may call
	// [Agent.Attach], and every method that changes nothing in the agent, such as
	// [Agent.State] and [Agent.Achieved]. If a method needs a seed, give it rng.Uint64().
	NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error)
}

// SetCurriculum replaces the curriculum that Params.Curriculum names. Within Train it
// returns an error. A checkpoint does not hold c: after loading, SetCurriculum must be
// called again before Train. c must not be nil.
func (a *Agent) SetCurriculum(c Curriculum) error {
	if a.env != nil {
		return errTraining
	}
	a.curriculum = &ownCurriculum{chosen: c}
	return nil
}

// An ownCurriculum is a curriculum of the user's own.
type ownCurriculum struct {
	curriculumDefaults
	chosen Curriculum // nil in a loaded agent until it is set again
}

func (o *ownCurriculum) ready(Env) error {
	if o.chosen == nil {
		return errors.New("qta: the agent was saved with a curriculum of your own: " +
			"give it to SetCurriculum before Train")
	}
	return nil
}

// goal asks the user's curriculum for a goal and validates its answer.
func (o *ownCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	g, err := o.chosen.NextGoal(a, first, a.goalDraws.Rand)
	keepsGoal := g == nil && !first
	if err != nil || keepsGoal {
		return nil, err
	}
	if problem := numbersProblem("curriculum's goal", g, a.sizes.Goal); problem != "" {
		return nil, fmt.Errorf("qta: step %d: %s", a.step, problem)
	}
	return g, nil
}
