package qta

import (
	"fmt"
	"math"
)

// This file is the door to what the paper compares QTA with: the parameters
// choose here which part of the method another one takes the place of. Zero is
// the paper's. Those that are a few lines follow: HER's goals, random goals, the
// disagreement of Q-values, priorities by TD error, and the noise of Figure 4.

// newCurriculum returns who chooses the goals.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case curriculumQTA:
		return new(queryTheAgent)
	case curriculumMEGA:
		return newMEGA(p)
	case curriculumVDS:
		return newVDS(*p, sizes, seed, w)
	case curriculumHER:
		return new(desiredGoals)
	case curriculumRandom:
		return new(randomGoals)
	case curriculumVisits:
		return newVisits()
	case curriculumRND:
		return newRND(sizes, seed, w)
	}
	panic(fmt.Sprintf("qta: no curriculum %q", p.Curriculum)) // Validate refuses it
}

// newEstimator returns what goals are chosen by.
func newEstimator(p *Params) estimator {
	var e estimator
	if p.Uncertainty == uncertaintyQ {
		e = valueEstimator{p.AuthorsForm}
	} else {
		e = newPredictive(p)
	}
	if p.FirstGoalState == firstGoalStateStart {
		e = fromStart{e}
	}
	if p.UncertaintyNoise > 0 {
		e = noisy{e, p.UncertaintyNoise}
	}
	return e
}

// newPredictive returns the estimator of the ensemble's heads.
func newPredictive(p *Params) *predictive {
	e := &predictive{d: p.actions()}
	if p.SharedActions {
		e.drawActions = drawSharedActions
	}
	return e
}

// An architecture is what the ensembles that the paper compares PUN with do in
// another way. PUN is its zero value.
type architecture struct {
	width      int                                                         // of a head's output; 0 is that of what it predicts
	predicted  int                                                         // components of that; 0 is the observation's
	headLoss   func(dp, p, s []float32, width int) float64                 // nil is PredictiveLoss
	spread     func(d []float64, predictions [][]float32, width int)       // nil is HeadDeviation
	ownTargets func(u *pun, b *batch)                                      // nil is Equation 1 for all critics alike
	gradient   func(u *pun, i int, b, heads *batch) (critic, head float64) // nil is pun.gradient
	step       func(c *critic)                                             // nil is critic.step
	share      func(u *pun)                                                // makes gradients of parameters that critics share equal; nil: they share none
	seen       func(u *pun, i int, prediction matrix, b *batch) (s matrix) // what head i learns to predict; nil is s' of the whole minibatch
}

// newArchitecture returns what the ensemble is.
func newArchitecture(p *Params, sizes Sizes) architecture {
	a := architecture{predicted: predictedSize(p, sizes)}
	if p.HeadLoss == headLossNorm {
		a.headLoss = predictiveNorm
	}
	switch p.Uncertainty {
	case uncertaintyBootstrap:
		bootstrapArchitecture(&a, p)
	case uncertaintyEnsemble:
		deepEnsemble(&a, p)
	}
	a.departGradient(p)
	return a
}

// predictedSize returns how many numbers a head predicts.
func predictedSize(p *Params, sizes Sizes) int {
	if p.HeadTarget == headTargetAchieved {
		return sizes.Goal
	}
	return sizes.Observation
}

// newSampler returns how minibatches are drawn.
func (a *Agent) newSampler() sampler {
	switch p := &a.params; {
	case p.Replay == replayPER:
		return newPrioritized(p, a.pun.priorities)
	case p.Replay == replayTD && p.AuthorsForm:
		return newPrioritized(p, a.pun.valuePriorities)
	case p.Replay == replayTD:
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

// randomGoals is a control that the paper has not: goals achieved before,
// drawn uniformly, and new ones after a success, as in QTA's initial steps.
type randomGoals struct{ plain }

func (*randomGoals) goal(a *Agent, first bool) ([]float64, error) {
	if a.replay.n == 0 {
		return a.achieved, nil
	}
	return at(a.replay.achieved, a.goalDraws.index(a.replay.n), a.sizes.Goal), nil
}

// valueEstimator is QTA with Q-disagreement.
//
// Reading R75: the disagreement of Q-values is that of the value of the candidate as
// a goal from the current state; the authors' code exchanges the two (AuthorsForm).
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
	for i, c := range u.critics {
		u.predictions[i] = c.values.data[:x.rows]
		copy(u.predictions[i], c.q.forward(u.pass, x).data)
	}
	HeadDeviation(d, u.predictions, 1)
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

// valuePriorities sets d to the sample standard deviation of the critics' values
// instead: so does what the authors' code calls the error.
func (u *pun) valuePriorities(d []float64, _ *batch) {
	for i, c := range u.critics {
		u.predictions[i] = c.values.data
	}
	HeadDeviation(d, u.predictions, 1)
}

// noisy is an estimator to whose answers Gaussian noise is added.
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
