// Package qta is Query The Agent (QTA), a curriculum for goal-conditioned
// reinforcement learning by Alverio, Katz and Barbu. An agent estimates its own
// epistemic uncertainty where it has been, by Predictive Uncertainty
// Networks (PUN), and sets itself goals where it is least certain.
//
// To read the algorithm in one sitting, start with plain/main.go: the whole
// method in plain loops over single numbers. This package is the same method,
// function for function, made to be used and to be fast. Its files, beside the
// paper:
//
//	section 3    qta.go             training, an update, an evaluation
//	section 3.1  pun.go, ddpg.go    the critics and their heads; the policy
//	section 3.2  goals.go           the choice of goals; the threshold of section 3.3
//	section 3.3  replay.go          hindsight; prioritized replay
//	section 4    maze.go            mazes; path lengths and optimal values
//	appendix     params.go          the table
//	networks     mlp.go, kernel*.go layers and Adam; the matrix product, threads
//	chance       number.go          functions; generators
//	departures   authors.go         of the authors' code
//	             beyond.go          ours
//	             baseline*.go       the methods that the paper compares QTA with
//
// The files down to chance, except params.go, hold the paper and what runs it. A line in
// them that only departures need says "for departures", or names the departure. Each
// departure implements one of six interfaces: [Params] names it, and variants.go puts it
// in the place of the paper's part. The other files are for those who use an agent.
//
// [Agent.Train] is the algorithm, [Params] has its settings, and it runs in
// a [Maze] or any other [Env].
//
// # Equations
//
// The paper's eight displayed formulas are numbered in the order of appearance.
//
//	formula             file       function                        test               golden
//	Equation 1          pun.go     TDTarget                        TestEquation1      td-target, td-target-networks,
//	                                                                                  td-target-clipped
//	Equation 2          pun.go     CriticLoss                      TestEquation2      critic-loss
//	Equation 3          pun.go     Polyak                          TestEquation3      polyak
//	Equation 4          pun.go     PredictiveLoss                  TestEquation4      predictive-loss
//	Equation 5          goals.go   ensemble.uncertainty            TestEquation5      uncertainty-std, uncertainty,
//	                                                                                  uncertainty-goal
//	Equation 6          goals.go   GoalProbabilities               TestEquation6      goal-probability
//	Equation 7          replay.go  prioritizedSampler.probability  TestEquation7      per, update-per
//	Equation 8          replay.go  ImportanceWeights               TestEquation8      per, update-per
//	the scaling         goals.go   scaleUncertainty                TestScaling        goal-probability
//	hindsight           replay.go  futureStep                      TestHindsight      her-future
//	the schedule of β   replay.go  PriorityBeta                    TestBeta           per-beta
//	the threshold       goals.go   Achievable                      TestThreshold      achievable
//	the optimal return  maze.go    OptimalValue                    TestOptimalReturn  optimal-return
//
// # Readings
//
// A numbered comment that begins "Reading" marks a choice that the paper leaves open. One
// that begins "Differs" marks a deliberate departure from the paper. docs/readings.md
// lists them.
//
// # Determinism
//
// The same version, parameters and seed give the same bytes on every machine
// with a kernel in assembly (see [KernelName]), whatever the number of threads
// and interruptions. With Learner authors the bytes also depend on when
// evaluations happen.
package qta

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Version is the version of the algorithm. The bytes of a run depend on it.
const Version = "0.7.0"

// Train runs the algorithm. It trains in env and evaluates in another instance of the
// same environment, until the budget is spent or the task solved. If ctx is done, Train
// stops between environment steps and returns ctx's cause. Training that continues from
// there ends as if never interrupted.
//
// The error is a [*NumericError], an [*EnvError], or what a function in o or a
// [Curriculum] returned. Any other error says what is not allowed: an argument, a call
// within Train, or a curriculum of your own that was not set again. After an error within
// a step the agent can be neither trained nor saved: continue from the last checkpoint.
func (a *Agent) Train(ctx context.Context, env, evaluation Env, o TrainOptions) error {
	if a.env != nil {
		return errTraining
	}
	defer func() { a.env = nil }()
	if err := a.enter(ctx, env, evaluation, o); err != nil {
		return err
	}
	for a.step < o.Steps && !(o.StopWhenSolved && a.SolvedAt() > 0) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.halfway = true
		if err := a.trainStep(); err != nil {
			return err
		}
		due := a.step%o.EvalEvery == 0
		if due {
			if err := a.logEvaluation(evaluation, o.Rollouts); err != nil {
				return err
			}
		}
		a.halfway = false
		if due && o.AfterEvaluation != nil {
			if err := o.AfterEvaluation(a.log[len(a.log)-1]); err != nil {
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

// trainStep takes one environment step and learns from the replay.
//
// Reading R1: one update follows every environment step, after the first
// LearningStarts. An episode runs to its horizon whatever goals it reaches.
//
// Reading R115: "Whenever the agent successfully reaches its goal, a new goal is sampled"
// is read as at once, before the step's update. The authors' code samples after the
// update. At an episode's last step none is sampled, because the next episode begins with
// its own first goal.
func (a *Agent) trainStep() error {
	if a.step%a.params.Horizon == 0 {
		if err := a.reset(); err != nil {
			return err
		}
		if err := a.setGoal(true); err != nil {
			return err
		}
	}
	action := a.Act(a.observation, a.goal)
	if err := checkFinite(a.step, "policy", action...); err != nil {
		return err
	}
	a.explorer.explore(a, action)
	if err := a.move(action); err != nil {
		return err
	}

	episodeEnds := a.step%a.params.Horizon == 0
	if a.env.Reward(a.achieved, a.goal) == 0 {
		if !a.reached {
			a.reached = true
			a.goalsReached++
		}
		if !episodeEnds {
			if err := a.setGoal(false); err != nil {
				return err
			}
		}
	}
	if a.step > a.params.LearningStarts {
		if err := a.learner.update(a); err != nil {
			return err
		}
	}
	if !episodeEnds {
		return nil
	}
	a.showNormalizers() // the episode is in the replay
	if err := a.curriculum.endEpisode(a); err != nil {
		return err
	}
	return a.learner.afterEpisode(a)
}

// reset begins an episode of the environment.
func (a *Agent) reset() error {
	a.episodeStart = *a.environment.pcg
	s := a.env.Reset(a.environment.Rand)
	if problem := stateProblem(s, a.sizes); problem != "" {
		return &EnvError{a.step, problem + " after Reset"}
	}
	a.enterState(s)
	copy(a.desired, s.Desired)
	return nil
}

// move takes a step of the environment and stores it in the replay.
func (a *Agent) move(action []float64) error {
	next, reward := a.env.Step(slices.Clone(action))
	if problem := stepProblem(a.env, a.sizes, a.desired, next, reward); problem != "" {
		return &EnvError{a.step + 1, problem}
	}
	a.replay.add(a.observation, a.achieved, action, a.goal, next)
	a.enterState(next)
	a.step++
	a.explorer.afterStep(a)
	if a.foundAt == 0 && reward == 0 { // the reward is for the environment's goal
		a.foundAt = a.step
	}
	return nil
}

// enterState makes s the agent's current state, except for the desired goal.
func (a *Agent) enterState(s State) {
	copy(a.observation, s.Observation)
	copy(a.achieved, s.Achieved)
}

// A learner says when the networks learn, and what an update is.
type learner interface {
	update(a *Agent) error       // is called once a step is in the replay
	afterEpisode(a *Agent) error // is called after the curriculum's endEpisode: for VDS
	savedState() savedState      // what training changes, except the networks: for departures
}

// paperLearner is the paper's learner.
type paperLearner struct{}

func (paperLearner) afterEpisode(*Agent) error { return nil }
func (paperLearner) savedState() savedState    { return nil }

// update is one step of every network on one minibatch.
func (paperLearner) update(a *Agent) error {
	b := &a.batch
	if err := a.draw(b, a.sampler, a.curriculum.replayGoal); err != nil { // section 3.3
		return err
	}
	a.updates++
	a.policy.act(a.policy.target, b.next)           // a' of Equation 1
	a.pun.heads.targets(a.pun, b, a.learning)       // Equation 1
	a.losses.critic, a.losses.head = a.pun.learn(b) // Equations 2 and 4
	a.sampler.prioritize(b)                         // Equation 7
	a.pun.follow()                                  // Equation 3
	a.losses.policy = a.policyGradient(b.x)         // DDPG
	a.policy.adam.step()                            // DDPG
	a.policy.follow(a.workers)                      // Equation 3
	return a.checkLosses()
}

// checkLosses returns a [*NumericError] if a loss is not finite.
func (a *Agent) checkLosses() error {
	return cmp.Or(
		checkFinite(a.step, "critics", a.losses.critic),
		checkFinite(a.step, "predictive heads", a.losses.head),
		checkFinite(a.step, "policy", a.losses.policy))
}

// draw fills b with transitions of a sampler, each replayed with a goal.
func (a *Agent) draw(b *batch, s sampler, goal func(a *Agent, i int) []float64) error {
	if b.r == nil { // an agent that never trains needs no batch
		*b = a.pun.newBatch(a.params.Batch, a.sizes)
	}
	for row := range b.transitions {
		i := s.draw(a.draws)
		a.fill(b, row, i, goal(a, i))
	}
	s.weigh(b, a.step)
	return a.checkRewards(b)
}

// checkRewards reports a reward in b, recomputed in hindsight, that is neither 0
// nor -1.
func (a *Agent) checkRewards(b *batch) error {
	for row, r := range b.r {
		if r != 0 && r != -1 {
			problem := fmt.Sprintf("Reward is %v for the goal achieved by step %d and a replayed goal; "+
				"it must be 0 or -1", r, b.transitions[row]+1)
			return &EnvError{a.step, problem}
		}
	}
	return nil
}

// fill sets a row of b to transition i, replayed with a goal. It recomputes the reward.
func (a *Agent) fill(b *batch, row, i int, goal []float64) {
	r := a.replay
	b.transitions[row] = i

	x := b.x.row(row)
	a.input(x, r.observation.at(i), goal)
	action := x[a.sizes.Observation+a.sizes.Goal:]
	for c, v := range r.action.at(i) {
		action[c] = float32(v)
	}

	a.input(b.next.row(row), r.nextObservation.at(i), goal)
	for c, v := range a.pun.heads.headTarget(r, i) {
		b.sNext.row(row)[c] = float32(v)
	}
	b.r[row] = float32(a.env.Reward(r.nextAchieved.at(i), goal))
}

// Evaluate runs rollouts of Horizon steps each and returns how they fared. The policy
// pursues the environment's own goals, without exploration. The seed decides starts and
// goals. The error is an [*EnvError] if env breaks its contract, and a [*NumericError] if
// an action is not a number. Any other error says which argument is not allowed.
func (a *Agent) Evaluate(env Env, rollouts int, seed uint64) (Evaluation, error) {
	if err := a.checkSizes(env); err != nil {
		return Evaluation{}, err
	}
	if same(env, a.env) {
		return Evaluation{}, errTwoInstances
	}
	if rollouts < 1 {
		return Evaluation{}, fmt.Errorf("qta: an evaluation has %d rollouts, allowed are 1 and above", rollouts)
	}
	return a.evaluateWith(env, rollouts, newStream(seed, forEvaluation))
}

func (a *Agent) evaluateWith(env Env, rollouts int, rng stream) (Evaluation, error) {
	e := Evaluation{
		Step:           a.step,
		GoalsSet:       a.goalsSet,
		GoalsReached:   a.goalsReached,
		CriticLoss:     a.losses.critic,
		PredictiveLoss: a.losses.head,
		ActorLoss:      a.losses.policy,
	}
	for range rollouts {
		if err := a.rollout(env, rng, &e); err != nil {
			return Evaluation{}, err
		}
	}
	n := float64(rollouts)
	e.StepsToGoal /= max(e.Reached, 1)
	e.Success /= n
	e.Reached /= n
	e.Return /= n
	return e, nil
}

// rollout runs one episode of an evaluation and adds its counts to e.
//
// Reading R3: success is read only at the last step, as in the authors' code;
// the paper says "evaluation performance".
//
// Reading R4: a rollout is at the goal where the reward is 0: in a maze, closer
// than 0.35. The authors' evaluation also counts a distance of exactly 0.35.
//
// Reading R103: the policy acts without noise; the paper does not say. The authors'
// code, and the command, evaluate every 1000 environment steps with 20 rollouts.
//
// Reading R116: the normalizers have been shown the latest episode. In the authors' code
// they have not yet; this is not followed, because it would change the runs of MEGA and
// VDS.
func (a *Agent) rollout(env Env, rng stream, e *Evaluation) error {
	s := env.Reset(rng.Rand)
	desired := slices.Clone(s.Desired)
	problem := stateProblem(s, a.sizes)
	reached := false
	for t := 0; ; t++ { // after t steps
		if problem != "" {
			problem = fmt.Sprintf("after step %d of an evaluation's rollout %s", t, problem)
			return &EnvError{a.step, problem}
		}
		atGoal := env.Reward(s.Achieved, s.Desired) == 0
		if atGoal && !reached {
			reached = true
			e.Reached++
			e.StepsToGoal += float64(t)
		}
		if t == a.params.Horizon {
			if atGoal {
				e.Success++
			}
			return nil
		}
		action := a.Act(s.Observation, s.Desired)
		if err := checkFinite(a.step, "policy", action...); err != nil {
			return err
		}
		var reward float64
		s, reward = env.Step(action)
		e.Return += reward
		problem = stepProblem(env, a.sizes, desired, s, reward)
	}
}

// logEvaluation evaluates the policy and adds a row to the log. Its random numbers
// depend only on the seed and the step, so that training is the same however
// often it is evaluated, except with Learner authors.
func (a *Agent) logEvaluation(env Env, rollouts int) error {
	if err := checkParameters(a.step, a.parameters()); err != nil {
		return err
	}
	e, err := a.evaluateWith(env, rollouts, newStream(a.seed, forEvaluation+uint64(a.step)<<8))
	if err != nil {
		return err
	}
	a.log = append(a.log, e)
	return nil
}

// TrainOptions say how long to train and how often to evaluate.
type TrainOptions struct {
	Steps          int  // budget: environment steps in all, including those before this call
	EvalEvery      int  // environment steps between evaluations, 1 or more
	Rollouts       int  // rollouts of one evaluation, 1 or more
	StopWhenSolved bool // stop at the first evaluation in which every rollout succeeds

	// Each function is called unless it is nil. It may save and query the agent, but
	// neither train it nor replace its state. An error ends training.
	AfterEvaluation func(Evaluation) error
	AfterStep       func() error
}

// An Evaluation reports how some rollouts fared and how far training had come:
// a row of a run's log. The losses come from the latest update; they are zero
// before the first.
type Evaluation struct {
	Step           int     // environment steps taken
	Success        float64 // fraction of rollouts at the goal after their last step
	CriticLoss     float64 // Equation 2, mean over the critics, in squared rewards
	PredictiveLoss float64 // Equation 4, or the loss of other heads, mean over the heads, in squared units of s
	ActorLoss      float64 // in rewards
	GoalsSet       int     // goals chosen so far
	GoalsReached   int     // how many of these were reached

	Reached     float64 // fraction of rollouts at the goal at any time, including their start
	Return      float64 // mean over the rollouts of the sum of rewards, not discounted
	StepsToGoal float64 // mean over the rollouts that reached the goal; 0 if none did
}
