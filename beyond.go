package qta

import "math"

// This file holds options that neither the paper nor its authors' code has,
// measured for what they save (results/). [Beyond] has them.

// wandering explores as the paper does, but its random actions come with another
// probability and may be held.
//
// Once the agent has arrived, each random action is the one before it, until a step
// with it is much shorter than usual (RandomActionHeld), as at an obstacle. This
// sees only the goals achieved, and holding an action makes no step shorter.
//
// Differs D24: the paper draws a random action anew in each step. Single ones
// lead back and forth, and half of them end at a wall; a held one crosses free
// space.
type wandering struct {
	chance
	short  float64 // a step below this share of the usual length ends a held action
	action []float64
	held   bool    // action is to be taken again
	taken  bool    // the running step takes it
	stride float64 // a running mean of the length of all steps, in the goal's unit
}

// A chance is the probability of a random action.
type chance interface{ probability(a *Agent) float64 }

// strideDecay is the share of itself that the mean of lengths keeps in a step:
// an episode of 50 steps counts for two thirds of it.
const strideDecay = 0.98

func (w *wandering) explore(a *Agent, action []float64) {
	rng := a.exploration.Rand
	for i := range action {
		action[i] = min(max(action[i]+float64(a.params.ActionNoise*normal(rng)), -1), 1)
	}
	switch {
	case rng.Float64() >= w.probability(a):
	case w.short > 0 && (a.reached || !a.firstGoal): // not on the way to an episode's first goal
		if !w.held {
			uniformAction(w.action, rng)
		}
		w.held, w.taken = true, true
		copy(action, w.action)
	default:
		uniformAction(action, rng)
	}
}

// stepped drops a held action if the latest step was short, or an episode's last.
func (w *wandering) stepped(a *Agent) {
	square := 0.0
	for i, from := range a.replay.achieved.at(a.step - 1) {
		δ := from - a.achieved[i]
		square += float64(δ * δ)
	}
	length := math.Sqrt(square)
	if w.taken && length < float64(w.short*w.stride) || a.step%a.params.Horizon == 0 {
		w.held = false
	}
	w.taken = false
	w.stride = float64(strideDecay*w.stride) + float64((1-strideDecay)*length)
}

func (w *wandering) saved() saved {
	if w.short == 0 {
		return nil
	}
	return saved{w.action, &w.held, &w.stride}
}

// arrival is a chance that changes with what the agent has reached.
// RandomActionLater is from where an episode of the run has reached its first goal,
// and RandomActionReached from where the running episode has: an agent that has
// arrived has nothing left to lose, as in MEGA's code and in "first return, then
// explore" (Ecoffet et al., 2021).
//
// Differs D6: in the table it is 0.3, in the authors' code 0.2 once a first goal is
// reached. In [Beyond] it is then 0.1 on the way to an episode's first goal: the
// goal of 15x5 is 31 steps from the start, and of an episode's 50 steps 0.3 leaves
// 35 for the way, on average, and 0.1 leaves 45. After that goal it is 0.8, so that
// the heads see the random actions that Equation 5 asks about where they know least.
type arrival struct{}

func (arrival) probability(a *Agent) float64 {
	if a.params.RandomActionReached > 0 && (a.reached || !a.firstGoal) {
		return a.params.RandomActionReached
	}
	return a.laterProbability()
}

// laterProbability is RandomAction, and then RandomActionLater.
func (a *Agent) laterProbability() float64 {
	if a.goalsReached > 0 { // and so an episode's first
		return a.params.RandomActionLater
	}
	return a.params.RandomAction
}

// practice begins some episodes with the environment's goal (FirstGoalDesired), once
// a step of the run has ended there: as OMEGA (Pitis et al., 2020) moves from the
// frontier to the task.
//
// Differs D5: in section 3.2 the agent sets itself every goal. In [Beyond]
// half of the episodes begin so. Without this, goals move on, and for thousands
// of steps the policy is stuck at the last corner before a goal that it has
// reached before.
type practice struct{ curriculum }

func (c practice) goal(a *Agent, first bool) ([]float64, error) {
	if first && a.goalDraws.Float64() < a.params.FirstGoalDesired && a.hasReachedDesired() {
		return a.desired, nil
	}
	return c.curriculum.goal(a, first)
}

// hasReachedDesired reports whether a step has ended at the environment's goal.
func (a *Agent) hasReachedDesired() bool {
	for i := a.replay.n - 1; i >= 0; i-- {
		if a.env.Reward(a.replay.nextAchieved.at(i), a.desired) == 0 {
			return true
		}
	}
	return false
}

// An average is a moving average of an ensemble's critics and heads (Polyak and
// Juditsky, 1992): the mean of the parameters over the first 1/(1-ρ) updates,
// and Equation 3 from there on.
//
// Differs D4: section 3.2 asks the ensemble as it is. Its heads never agree
// about a corner that they have seen ten thousand times, as each minibatch
// pulls them another way, yet soon agree about a new place. So goals stay at
// the walls of the start (results/screen.md, on 15x5). The average of the last
// thousand updates evens out the disagreement about the corner, and does not
// know the new place yet.
type average []*averagedCritic

type averagedCritic struct {
	criticNet
	follower
}

// newAverage returns the average before the first update.
func newAverage(u *pun) (m average) {
	for _, c := range u.critics {
		net := newCriticNet(u.widths, u.width)
		copy(net.params, c.params)
		m = append(m, &averagedCritic{net, follower{target: net.params, online: c.params}})
	}
	return m
}

// exchange swaps the average with an ensemble's critics and heads.
func (m average) exchange(u *pun) {
	for i, net := range m {
		u.critics[i].criticNet, net.criticNet = net.criticNet, u.critics[i].criticNet
	}
}

// averaged asks an average in the ensemble's place.
type averaged struct {
	estimator
	nets average
}

func (e averaged) uncertainty(a *Agent, q question, rng stream) []float64 {
	e.nets.exchange(a.pun)
	defer e.nets.exchange(a.pun)
	return e.estimator.uncertainty(a, q, rng)
}

// averaging moves an average after each update.
type averaging struct {
	learner
	nets    average
	updates int
}

func (l *averaging) learn(a *Agent, b *batch) {
	l.learner.learn(a, b)
	l.updates++
	for _, net := range l.nets {
		net.ρ = min(a.params.UncertaintyPolyak, 1-1/float64(l.updates))
		net.follow(a.workers)
	}
}

func (l *averaging) saved() saved {
	s := saved{&l.updates}
	for _, net := range l.nets {
		s = append(s, net.params)
	}
	return s
}

// oftener makes several updates after each step (UpdatesPerStep).
//
// Differs D25: with [Beyond] two updates follow each environment step; the
// text names no number, and the authors' code has one. Two take 1.9 times as
// long, and fewer steps.
type oftener struct{ learner }

func (oftener) afterStep(a *Agent) error { return a.updateTimes(a.params.UpdatesPerStep) }

// updateTimes makes n updates, or none in the first LearningStarts environment
// steps.
func (a *Agent) updateTimes(n int) error {
	if a.step <= a.params.LearningStarts {
		return nil
	}
	for range n {
		if err := a.update(); err != nil {
			return err
		}
	}
	return nil
}
