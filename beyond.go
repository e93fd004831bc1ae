package qta

import "math"

// This file holds options that neither the paper nor its authors' code has,
// measured for what they save (results/). [Beyond] has them, and with them the
// updates of learnTimes and the probabilities of randomAction.

// A heldAction repeats a random action (RandomActionHeld): once the agent has
// arrived, each random action is the one before it, until a step with it is
// much shorter than usual, as at an obstacle. It sees only the goals achieved,
// and holding an action makes no step shorter.
//
// Differs D24: the paper draws a random action anew in each step. Single ones
// lead back and forth, and half of them end at a wall; a held one crosses free
// space.
type heldAction struct {
	action []float64
	held   bool    // action is to be taken again
	taken  bool    // the running step takes it
	stride float64 // a running mean of the length of all steps, in the goal's unit
}

// strideDecay is the share of itself that the mean of lengths keeps in a step:
// an episode of 50 steps counts for two thirds of it.
const strideDecay = 0.98

// holdAction sets action to the held one, and reports whether it did: it does
// not on the way to an episode's first goal.
func (a *Agent) holdAction(action []float64) bool {
	h := &a.held
	if a.params.RandomActionHeld == 0 || a.firstGoal && !a.reached {
		return false
	}
	if !h.held {
		uniformAction(h.action, a.exploration.Rand)
	}
	h.held, h.taken = true, true
	copy(action, h.action)
	return true
}

// dropAction drops a held action if the latest step was short, or an episode's last.
func (a *Agent) dropAction() {
	h := &a.held
	square := 0.0
	for i, from := range a.replay.achieved.at(a.step - 1) {
		δ := from - a.achieved[i]
		square += float64(δ * δ)
	}
	length := math.Sqrt(square)
	if h.taken && length < float64(a.params.RandomActionHeld*h.stride) || a.step%a.params.Horizon == 0 {
		h.held = false
	}
	h.taken = false
	h.stride = float64(strideDecay*h.stride) + float64((1-strideDecay)*length)
}

func (a *Agent) savedHeld() saved {
	if a.params.RandomActionHeld == 0 {
		return nil
	}
	return saved{a.held.action, &a.held.held, &a.held.stride}
}

// practices reports whether an episode begins with the environment's goal
// (FirstGoalDesired), as some do once a step of the run has ended there: as OMEGA
// (Pitis et al., 2020) moves from the frontier to the task.
//
// Differs D5: in section 3.2 the agent sets itself every goal. In [Beyond]
// half of the episodes begin so. Without this, goals move on, and for thousands
// of steps the policy is stuck at the last corner before a goal that it has
// reached before.
func (a *Agent) practices() bool {
	p := a.params.FirstGoalDesired
	if p == 0 || a.goalDraws.Float64() >= p {
		return false
	}
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
type average []criticNet

// newAverage returns the average before the first update.
func newAverage(u *pun) (m average) {
	for _, c := range u.critics {
		net := newCriticNet(u.widths, u.width)
		copy(net.params, c.params)
		m = append(m, net)
	}
	return m
}

// follow moves the average towards an ensemble that has had so many updates.
func (m average) follow(u *pun, updates int) {
	ρ := min(u.params.UncertaintyPolyak, 1-1/float64(updates))
	for i, net := range m {
		u.pass.workers.polyak(net.params, u.critics[i].params, ρ)
	}
}

// exchange swaps the average with an ensemble's critics and heads.
func (m average) exchange(u *pun) {
	for i, net := range m {
		u.critics[i].criticNet, m[i] = net, u.critics[i].criticNet
	}
}

func (m average) saved(updates *int) (s saved) {
	if m != nil {
		s = saved{updates}
	}
	for _, net := range m {
		s = append(s, net.params)
	}
	return s
}
