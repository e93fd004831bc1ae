package qta

import (
	"cmp"
	"math"
	"slices"
)

// This file is what neither the paper nor its authors' code has: options that
// were measured for what they save, of which [Default] has three (results/screen.md).

// goBeyond installs them.
func (a *Agent) goBeyond() {
	p := &a.params
	if p.UpdatesPerStep > 1 {
		a.again, a.update = a.update, (*Agent).updateAgain
	}
	if p.CandidatesKept > 0 {
		a.remember = (*Agent).keepUncertain
	}
	if p.RandomActionReached > 0 {
		a.departures.randomAction = (*Agent).randomActionReached
	}
	if p.UncertaintyPolyak > 0 {
		a.average = newAverage(a.pun, p.UncertaintyPolyak)
		a.updated = func(a *Agent) { a.average.follow(a.pun) }
		a.estimator = averaged{a.estimator}
	}
	if p.FirstGoalDesired > 0 && p.Curriculum == CurriculumQTA {
		a.curriculum = practice{a.curriculum}
	}
}

// updateAgain is UpdatesPerStep updates, each as it would be alone.
func (a *Agent) updateAgain() error {
	update := a.update
	defer func() { a.update = update }()
	a.update = a.again
	for range a.params.UpdatesPerStep {
		if err := a.learn(); err != nil {
			return err
		}
	}
	return nil
}

// randomActionReached is the probability of a random action where it is another
// once the episode's first goal is reached: where the agent has arrived it has
// nothing left to lose, as in MEGA's code and in "first return, then explore"
// (Ecoffet et al., 2021).
func (a *Agent) randomActionReached() float64 {
	if a.firstGoal && !a.reached {
		return a.randomActionLater()
	}
	return a.params.RandomActionReached
}

// practice is a curriculum that has what was found practised (FirstGoalDesired):
// once a step has ended at the environment's goal, that is the first goal of some
// episodes, as OMEGA (Pitis et al., 2020) moves from the frontier to the task.
type practice struct{ curriculum }

func (c practice) goal(a *Agent, first bool) ([]float64, error) {
	if first && a.goalDraws.Float64() < a.params.FirstGoalDesired && a.hasReached(a.desired) {
		return a.desired, nil
	}
	return c.curriculum.goal(a, first)
}

// hasReached reports whether a step of the run has ended at a goal.
func (a *Agent) hasReached(goal []float64) bool {
	for i := a.replay.n - 1; i >= 0; i-- {
		if a.env.Reward(at(a.replay.nextAchieved, i, a.sizes.Goal), goal) == 0 {
			return true
		}
	}
	return false
}

// An average is a moving average of an ensemble's critics and heads (Polyak and
// Juditsky, 1992): the mean of the first updates' parameters, and once these are
// 1/(1-ρ) what Equation 3 makes of them.
//
// Heads never agree about an edge that an action may or may not pass, however
// often they have seen it, as each minibatch pulls them another way; in the mean
// that evens out. What was first seen some hundred updates ago they agree about,
// and the average does not yet. So it is what is new that stands out.
type average struct {
	ρ       float64
	updates int
	nets    []criticNet
	polyak  softUpdate
}

// newAverage returns the average before the first update.
func newAverage(u *pun, ρ float64) *average {
	m := &average{ρ: ρ}
	for _, c := range u.critics {
		var widths []int
		for _, l := range c.q.layers {
			widths = append(widths, l.w.rows)
		}
		net := newCriticNet(widths, c.head.w.cols)
		copy(net.params, c.params)
		m.nets = append(m.nets, net)
	}
	return m
}

// follow moves the average towards an ensemble that has had an update.
func (m *average) follow(u *pun) {
	m.updates++
	for i, c := range u.critics {
		m.polyak = softUpdate{m.nets[i].params, c.params, min(m.ρ, 1-1/float64(m.updates))}
		u.pass.workers.run(&m.polyak)
	}
}

// exchange puts the average in the place of an ensemble's critics and heads, and
// these in its own.
func (m *average) exchange(u *pun) {
	for i, c := range u.critics {
		c.criticNet, m.nets[i] = m.nets[i], c.criticNet
	}
}

// averaged is an estimator that asks the average (UncertaintyPolyak).
type averaged struct{ estimator }

func (e averaged) estimate(a *Agent, q *query, rng stream) {
	a.average.exchange(a.pun)
	e.estimator.estimate(a, q, rng)
	a.average.exchange(a.pun)
}

// visit goes through an average, where there is one.
func (m *average) visit(c coder) {
	if m == nil {
		return
	}
	c.int(&m.updates, math.MaxInt)
	for _, n := range m.nets {
		c.float32s(n.params)
	}
}

// keepUncertain keeps the most uncertain candidates of a choice for the next
// (CandidatesKept), in that order, each transition once: a rare state that one
// choice has found is not left to chance by the next.
func (a *Agent) keepUncertain(s *selection) {
	ε := s.query.ε
	order := make([]int, len(s.candidates))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(ε[j], ε[i]), cmp.Compare(s.candidates[i], s.candidates[j]))
	})
	a.kept = a.kept[:0]
	for _, k := range order {
		if len(a.kept) == a.params.CandidatesKept {
			break
		}
		if !slices.Contains(a.kept, s.candidates[k]) {
			a.kept = append(a.kept, s.candidates[k])
		}
	}
}

// visitKept goes through a.kept: CandidatesKept transitions, or what none is.
func (a *Agent) visitKept(c coder) {
	const none = math.MaxInt32
	kept := make([]int, a.params.CandidatesKept)
	for k := range kept {
		if kept[k] = none; k < len(a.kept) {
			kept[k] = a.kept[k]
		}
		c.int(&kept[k], none)
	}
	if c.loading() {
		if k := slices.Index(kept, none); k >= 0 {
			kept = kept[:k]
		}
		a.kept = kept
	}
}
