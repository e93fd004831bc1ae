// Package qta is Query The Agent (QTA), a curriculum for goal-conditioned
// reinforcement learning by Alverio, Katz and Barbu. With Predictive Uncertainty Networks
// (PUN) an agent estimates its epistemic uncertainty about each state that it has visited.
// It sets itself goals in the states about which it is least certain.
//
// plain/main.go has the whole method in plain loops over single numbers, to read in one
// sitting. This package computes the same numbers, but fast. These are its files, each with
// its part of the paper:
//
//	section 3    qta.go             training, an update, an evaluation
//	section 3.1  pun.go, ddpg.go    the critics and their heads; the policy
//	section 3.2  goals.go           the choice of goals; the threshold of section 3.3
//	section 3.3  replay.go          hindsight; prioritized replay
//	section 4    maze.go            mazes; path lengths and optimal values
//	appendix     params.go          the table
//	networks     mlp.go             layers, and Adam
//	             kernel*.go         the matrix product, and threads
//	numbers      number.go          exp, log and tanh; random generators
//	departures   authors.go         what the authors' code does differently
//	             beyond.go          our own options
//	             baseline*.go       the methods that the paper compares QTA with
//
// The files above the departures, except params.go, hold the paper's method and the
// arithmetic under it. A line there that only departures need says so in a comment. Most
// departures implement one of six interfaces. [Params] selects them, and variants.go
// installs them. Files not listed serve the user of an agent.
//
// [Agent.Train] runs the algorithm in a [Maze] or any other [Env], as [Params] says.
//
// # Equations
//
// The paper displays eight formulas, which are numbered here in the order of appearance.
// Five more rules stand in its text, three of them only in words.
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
// A comment that begins "Reading" marks a choice that the paper leaves open, and "Differs"
// a departure from the paper. docs/readings.md lists them all.
//
// # Determinism
//
// A run with the same version, parameters and seed gives the same bytes on every machine
// with a kernel in assembly ([KernelName]). Threads and interruptions do not change the
// bytes. With Learner "authors" the times of evaluations do.
package qta

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Version is the algorithm's version. Another one may give a run other bytes.
const Version = "0.7.0"

// Train runs the algorithm. It trains in env and evaluates in evaluation, another instance
// of the same environment. It ends when the agent has taken o.Steps or, with
// o.StopWhenSolved, has solved the task. If ctx is done, Train stops between environment
// steps and returns ctx's cause. A later call of Train continues as if training had never
// been interrupted.
//
// The error is a [*NumericError], an [*EnvError], or what a function in o or a
// [Curriculum] returned. Any other error names a mistake of the caller: a bad argument, a
// call from within Train, a goal of a [Curriculum] that does not fit, or a loaded agent
// that needs its [Curriculum] set again. After an error within a step the agent can be
// neither trained nor saved: continue from the last checkpoint.
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
// Reading R1: the first LearningStarts environment steps have no update, and every later
// step has one update. An episode runs to its horizon whatever goals it reaches.
//
// Reading R115: "Whenever the agent successfully reaches its goal, a new goal is sampled".
// Here the agent samples it at once, before the step's update. The authors' code samples
// after the update. A goal reached at an episode's last step brings no new one, because
// the next episode begins with its own first goal.
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
	a.showNormalizers() // from the replay, which has the whole episode now
	if err := a.curriculum.endEpisode(a); err != nil {
		return err
	}
	return a.learner.afterEpisode(a)
}

// reset begins an episode of the environment.
func (a *Agent) reset() error {
	a.episodeStart = *a.environment.pcg // to play the episode again after an interruption
	s := a.env.Reset(a.environment.Rand)
	if problem := stateProblem(s, a.sizes); problem != "" {
		return &EnvError{a.step, problem + " after Reset"}
	}
	a.enterState(s)
	copy(a.desired, s.Desired)
	return nil
}

// move takes a step in the environment and stores the transition in the replay.
func (a *Agent) move(action []float64) error {
	next, reward := a.env.Step(slices.Clone(action))
	if problem := stepProblem(a.env, a.sizes, a.desired, next, reward); problem != "" {
		return &EnvError{a.step + 1, problem}
	}
	a.replay.add(a.observation, a.achieved, action, a.goal, next)
	a.enterState(next)
	a.step++
	a.explorer.afterStep(a)
	if a.foundAt == 0 && reward == 0 { // reward is about the environment's goal, not the agent's
		a.foundAt = a.step
	}
	return nil
}

// enterState makes s the agent's current state, except for the desired goal.
func (a *Agent) enterState(s State) {
	copy(a.observation, s.Observation)
	copy(a.achieved, s.Achieved)
}

// A learner makes the updates of the networks.
type learner interface {
	// update is called after each environment step except the first LearningStarts steps.
	update(a *Agent) error

	// The other methods are for departures.

	afterEpisode(a *Agent) error // is called at an episode's end, after the curriculum's endEpisode
	savedState() savedFields     // what training changes, except the networks
}

// paperLearner is the paper's learner.
type paperLearner struct{}

func (paperLearner) afterEpisode(*Agent) error { return nil }
func (paperLearner) savedState() savedFields   { return nil }

// update is one step of every network on one minibatch.
func (paperLearner) update(a *Agent) error {
	b := &a.batch
	if err := a.draw(b, a.sampler, a.curriculum.replayGoal); err != nil { // section 3.3
		return err
	}
	a.updates++                                     // for departures
	a.policy.act(a.policy.target, b.next)           // a' of Equation 1
	a.pun.heads.targets(a.pun, b, a.learning)       // y of Equation 1
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

// draw fills b with transitions that s draws. goal returns the goal that transition i is
// replayed with.
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

// checkRewards returns an error if a reward in b, recomputed for the replayed goal, is
// neither 0 nor -1.
func (a *Agent) checkRewards(b *batch) error {
	for row, r := range b.r {
		if r != 0 && r != -1 {
			step := b.transitions[row] + 1 // the environment step that stored the transition
			problem := fmt.Sprintf("Reward is %v for the goal achieved by step %d "+
				"and a replayed goal; it must be 0 or -1", r, step)
			return &EnvError{a.step, problem}
		}
	}
	return nil
}

// fill sets a row of b to transition i, replayed with a goal, and recomputes the reward for
// that goal. The learner fills in a' later.
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
// goals. The error is an [*EnvError] if env breaks its contract, a [*NumericError] if an
// action is NaN, or names a bad argument.
func (a *Agent) Evaluate(env Env, rollouts int, seed uint64) (Evaluation, error) {
	if err := a.checkSizes(env); err != nil {
		return Evaluation{}, err
	}
	if same(env, a.env) {
		return Evaluation{}, errTwoInstances
	}
	if rollouts < 1 {
		err := fmt.Errorf("qta: an evaluation has %d rollouts, allowed are 1 and above", rollouts)
		return Evaluation{}, err
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
// Reading R3: a rollout succeeds if it is at the goal after its last step, as in the
// authors' code. The paper says only "evaluation performance".
//
// Reading R4: a rollout is at the goal if the reward is 0. In a maze the reward is 0 at
// a distance below 0.35. The authors' evaluation also counts a distance of exactly 0.35.
//
// Reading R103: the policy acts without noise; the paper does not say. The authors' code
// evaluates every 1000 environment steps with 20 rollouts, and so does our command.
//
// Reading R116: normalizers scale the policy's inputs. Before an evaluation they have been
// shown every finished episode. In the authors' code they have not yet been shown the
// latest one.
func (a *Agent) rollout(env Env, rng stream, e *Evaluation) error {
	s := env.Reset(rng.Rand)
	desired := slices.Clone(s.Desired)
	problem := stateProblem(s, a.sizes)
	reached := false
	for t := 0; ; t++ { // t steps have been taken
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

// logEvaluation evaluates the policy and adds the result to the log. The evaluation has a
// generator of its own, which depends only on the seed and the step. So evaluations do not
// change training, unless Learner is "authors".
func (a *Agent) logEvaluation(env Env, rollouts int) error {
	if err := a.checkState(); err != nil {
		return err
	}
	purpose := forEvaluation + uint64(a.step)<<8
	e, err := a.evaluateWith(env, rollouts, newStream(a.seed, purpose))
	if err != nil {
		return err
	}
	a.log = append(a.log, e)
	return nil
}

// TrainOptions say how long to train and how often to evaluate.
type TrainOptions struct {
	Steps          int  // the agent's environment steps in all, including those before this call
	EvalEvery      int  // environment steps between evaluations, 1 or more
	Rollouts       int  // rollouts of one evaluation, 1 or more
	StopWhenSolved bool // stop at the first evaluation in which every rollout succeeds

	// Each function is called unless it is nil. It may save and query the agent, but
	// neither train it nor replace its state. An error ends training.
	AfterEvaluation func(Evaluation) error
	AfterStep       func() error
}

// An Evaluation reports how some rollouts fared and how far training had come. The losses
// are of the latest update, and zero before the first.
type Evaluation struct {
	Step           int     // environment steps taken
	Success        float64 // fraction of rollouts at the goal after their last step
	CriticLoss     float64 // mean over the critics of Equation 2, in squared rewards
	PredictiveLoss float64 // mean over the heads of their loss (PUN: Equation 4, in the square of s's unit)
	ActorLoss      float64 // the loss that the policy's update descends, in rewards
	GoalsSet       int     // goals chosen in training so far
	GoalsReached   int     // how many of these goals were reached

	Reached     float64 // fraction of rollouts that were at the goal at any time, even at their start
	Return      float64 // mean over the rollouts of the sum of rewards, not discounted
	StepsToGoal float64 // steps to the goal, mean over the rollouts that reached it; 0 if none did
}
