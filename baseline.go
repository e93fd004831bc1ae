package qta

import (
	"math"
	"slices"
)

// This file is the methods of a few lines that the paper compares QTA with: HER's
// goals, random goals, the disagreement of Q-values, the noise of Figure 4, and
// priorities by TD error.

// desiredGoals is HER (Andrychowicz et al., 2017) without a curriculum: the
// environment's goal, for the whole episode.
//
// Reading R114: the heads learn here, too, as one loss with the critics, though
// nobody asks them; so they do with MEGA and VDS on another learner than their own.
type desiredGoals struct{ onlyGoals }

func (desiredGoals) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil
	}
	return a.desired, nil
}

// randomGoals is a control that the paper does not have: goals achieved before,
// drawn uniformly, and new ones after a success, as in QTA's initial steps.
type randomGoals struct{ onlyGoals }

func (randomGoals) goal(a *Agent, first bool) ([]float64, error) {
	return a.randomGoal(), nil
}

// valuesDiffer is QTA with Q-disagreement.
//
// Reading R75: the critics disagree about the value of the candidate as a goal
// from the current state; the authors' code exchanges the two (AuthorsForm).
type valuesDiffer struct{ authors bool }

func (e valuesDiffer) uncertainty(a *Agent, q question, _ stream) []float64 {
	goals, ε := q.goals, make([]float64, len(q.goals))
	states := slices.Repeat([][]float64{q.now}, len(goals))
	if e.authors {
		states, goals = goals, states
	}
	values := a.policyValues(a.pun, states, goals)
	HeadDeviation(ε, values, 1)
	return ε
}

// noisy adds the noise of Figure 4, of standard deviation σ, to estimates.
//
// Reading R98: the noise comes before the scaling, in the estimates' unit, as in the
// authors' code; the caption of Figure 4 has "to PUN's uncertainty estimates".
type noisy struct {
	estimator
	σ float64
}

func (e noisy) uncertainty(a *Agent, q question, rng stream) []float64 {
	ε := e.estimator.uncertainty(a, q, rng)
	for k := range ε {
		ε[k] += float64(e.σ * normal(rng.Rand))
	}
	return ε
}

// tdReplay is PER by TD error: the mean over the critics of |y - Q|. The authors'
// code calls the sample standard deviation of their values so (AuthorsForm).
//
// Differs D8: Schaul et al. (2016, section 3.3) add a small constant to |TD error|.
// Here, as in the authors' code, a transition whose priority is zero is never
// drawn again. Where they have one critic, this is the mean over all.
type tdReplay struct {
	*prioritized
	lessons
	authors bool
}

func (s tdReplay) prioritize(u *pun, b *batch) {
	clear(s.priority)
	for i, values := range u.values {
		y, _ := s.lesson(i, b)
		for k := range y {
			s.priority[k] += math.Abs(float64(values[k])-float64(y[k])) / float64(len(u.values))
		}
	}
	if s.authors {
		HeadDeviation(s.priority, u.values, 1)
	}
	s.update(b)
}
