package qta

import "math"

// This file is the door to the methods that the paper compares QTA with: here
// the parameters choose the part of QTA that another method replaces. Methods
// of a few lines follow: HER's goals, random goals, the disagreement of
// Q-values, priorities by TD error, and the noise of Figure 4.

// newCurriculum returns the curriculum that p names.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case "mega":
		return &mega{cutoff: newCutoff(p.Discount, p.Horizon)}
	case "vds":
		return newVDS(*p, sizes, seed, w)
	case "her":
		return new(desiredGoals)
	case "random":
		return new(randomGoals)
	case "visits":
		return &visits{counts: map[string]int{}}
	case "rnd":
		return newRND(sizes, seed, w)
	}
	return new(queryTheAgent)
}

func newEstimator(p *Params) estimator {
	var e estimator = newPredictive(p)
	if p.Uncertainty == "q" {
		e = valueEstimator{p.AuthorsForm}
	}
	if p.FirstGoalState == "start" {
		e = fromStart{e}
	}
	if p.UncertaintyNoise > 0 {
		e = noisy{e, p.UncertaintyNoise}
	}
	return e
}

func newPredictive(p *Params) *predictive {
	d := p.UncertaintyActions
	if p.Uncertainty == "bootstrap" || p.Uncertainty == "ensemble" {
		d = p.EnsembleActions
	}
	return &predictive{d: d, shared: p.SharedActions}
}

// An architecture holds what an ensemble does differently from PUN, its zero
// value.
type architecture struct {
	width      int                                                   // of a head's output; 0 is the same as predicted
	predicted  int                                                   // components that a head predicts
	headLoss   func(dp, p, s []float32, width int) float64           // nil is PredictiveLoss
	spread     func(d []float64, predictions [][]float32, width int) // nil is HeadDeviation of what is predicted
	ownTargets func(u *pun, b *batch)                                // nil is Equation 1 for all critics alike
	share      func(u *pun)                                          // makes gradients of parameters that critics share equal; nil: they share none
	headEnds   bool                                                  // the predictive loss moves the head only
	headsApart bool                                                  // heads have a step of their own, after the critics'
}

func newArchitecture(p *Params, sizes Sizes) architecture {
	a := architecture{predicted: sizes.Observation}
	if p.HeadTarget == "achieved" {
		a.predicted = sizes.Goal
	}
	if p.HeadLoss == "norm" {
		a.headLoss = predictiveNorm
	}
	switch p.Uncertainty {
	case "bootstrap":
		bootstrapArchitecture(&a, p)
	case "ensemble":
		deepEnsemble(&a, p)
	}
	a.departGradient(p)
	return a
}

func (a *Agent) newSampler() sampler {
	switch p := &a.params; {
	case p.Replay == "per":
		return newPrioritized(p, a.pun.priorities)
	case p.Replay == "td" && p.AuthorsForm:
		return newPrioritized(p, a.pun.valuePriorities)
	case p.Replay == "td":
		return newPrioritized(p, a.pun.errorPriorities)
	}
	return uniform{a.replay}
}

// desiredGoals is HER (Andrychowicz et al., 2017) without a curriculum: the
// environment's goal, for the whole episode.
type desiredGoals struct{ plain }

func (*desiredGoals) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil
	}
	return a.desired, nil
}

// randomGoals is a control that the paper does not have: goals achieved before,
// drawn uniformly, and new ones after a success, as in QTA's initial steps.
type randomGoals struct{ plain }

func (*randomGoals) goal(a *Agent, first bool) ([]float64, error) {
	return a.randomGoal(), nil
}

// valueEstimator is QTA with Q-disagreement.
//
// Reading R75: the critics disagree about the value of the candidate as a goal
// from the current state; the authors' code exchanges the two (AuthorsForm).
type valueEstimator struct{ swapped bool }

func (e valueEstimator) estimate(a *Agent, q *query, _ stream) {
	for k, goal := range q.goals {
		if e.swapped {
			a.inputs(q.x.row(k), goal, q.now)
		} else {
			a.inputs(q.x.row(k), q.now, goal)
		}
	}
	a.policyActions(q.x)
	for lo := 0; lo < q.x.rows; lo += a.params.Batch {
		hi := min(lo+a.params.Batch, q.x.rows)
		a.pun.valueDeviation(q.ε[lo:hi], q.x.slice(lo, hi))
	}
}

// valueDeviation sets d, of B values, to the sample standard deviation over the
// critics of Q_i(x).
func (u *pun) valueDeviation(d []float64, x matrix) {
	for _, c := range u.critics {
		copy(c.values.data[:x.rows], c.q.forward(u.pass, x).data)
	}
	u.valuePriorities(d, nil)
}

// errorPriorities sets d to the mean over the critics of |y - Q| for each
// transition just learned from.
//
// Differs D8: Schaul et al. (2016, section 3.3) add a small constant to |TD error|.
// Here, as in the authors' code, a transition whose priority is zero is never
// drawn again. Where they have one critic, this is the mean over all.
func (u *pun) errorPriorities(d []float64, b *batch) {
	clear(d)
	for i, c := range u.critics {
		for k, y := range b.y[i][:len(d)] {
			d[k] += math.Abs(float64(c.values.data[k])-float64(y)) / float64(len(u.critics))
		}
	}
}

// valuePriorities sets d instead to the sample standard deviation of the
// critics' values, which the authors' code calls the error.
func (u *pun) valuePriorities(d []float64, _ *batch) {
	for i, c := range u.critics {
		u.predictions[i] = c.values.data
	}
	HeadDeviation(d, u.predictions, 1)
}

// noisy adds Gaussian noise to an estimator's answers.
//
// Reading R98: the noise comes before the scaling, in the estimates' unit, as in the
// authors' code; the caption of Figure 4 has "to PUN's uncertainty estimates".
type noisy struct {
	estimator
	σ float64
}

func (e noisy) estimate(a *Agent, q *query, rng stream) {
	e.estimator.estimate(a, q, rng)
	for k := range q.ε {
		q.ε[k] += float64(e.σ * normal(rng.Rand))
	}
}
