package qta

import (
	"math"
	"slices"
)

// This file is the door to the methods that the paper compares QTA with: here
// the parameters choose the part of QTA that another method replaces. Methods
// of a few lines follow: HER's goals, random goals, the disagreement of
// Q-values, priorities by TD error, and the noise of Figure 4.

// newArchitecture returns the ensemble that the parameters name.
func newArchitecture(p *Params, sizes Sizes) architecture {
	a := architecture{
		actions: p.UncertaintyActions, predicted: sizes.Observation,
		headLoss: PredictiveLoss, spread: scatter,
	}
	if p.HeadTarget == "achieved" {
		a.predicted = sizes.Goal
	}
	if p.HeadLoss == "norm" {
		a.headLoss = predictiveNorm
	}
	a.width = a.predicted
	switch p.Uncertainty {
	case "bootstrap":
		a.actions, a.ownTargets, a.oneBackbone = p.EnsembleActions, true, true
		if p.AuthorsForm {
			a.predicted, a.width, a.headLoss = 1, 1, PredictiveLoss
		}
	case "ensemble":
		a.actions, a.ownTargets = p.EnsembleActions, true
		a.width, a.headLoss = a.predicted+1, gaussianLoss // last a raw variance
		if p.AuthorsForm {
			a.spread = meanVariance
		}
	}
	return a
}

// newPrioritized returns the priorities that the parameters name, or nil.
func (a *Agent) newPrioritized() *prioritized {
	p := &a.params
	if p.Replay == "uniform" {
		return nil
	}
	s := &prioritized{
		params: p, largest: 1, estimate: a.pun.priorities,
		P: make([]float64, p.Batch), w: make([]float64, p.Batch), priority: make([]float64, p.Batch),
	}
	if p.Replay == "td" {
		s.estimate = a.pun.errorPriorities
		if p.AuthorsForm {
			s.estimate = a.pun.valuePriorities
		}
	}
	return s
}

// desiredGoals is HER (Andrychowicz et al., 2017) without a curriculum: the
// environment's goal, for the whole episode.
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

// errorPriorities sets d to the mean over the critics of |y - Q| for each
// transition just learned from.
//
// Differs D8: Schaul et al. (2016, section 3.3) add a small constant to |TD error|.
// Here, as in the authors' code, a transition whose priority is zero is never
// drawn again. Where they have one critic, this is the mean over all.
func (u *pun) errorPriorities(d []float64, b *batch) {
	clear(d)
	for i := range u.critics {
		for k, y := range b.y[i][:len(d)] {
			d[k] += math.Abs(float64(u.values[i][k])-float64(y)) / float64(len(u.critics))
		}
	}
}

// valuePriorities sets d instead to the sample standard deviation of the
// critics' values, which the authors' code calls the error.
func (u *pun) valuePriorities(d []float64, _ *batch) { HeadDeviation(d, u.values, 1) }
