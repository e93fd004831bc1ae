package qta

import "fmt"

// This file is the door to what the paper compares QTA with: the parameters
// choose here which part of the method another one takes the place of. Zero is
// the paper's.

// newCurriculum returns who chooses the goals.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case CurriculumQTA:
		return new(queryTheAgent)
	case CurriculumMEGA:
		return newMEGA(p)
	case CurriculumVDS:
		return newVDS(*p, sizes, seed, w)
	case CurriculumHER:
		return new(desiredGoals)
	case CurriculumRandom:
		return new(randomGoals)
	case CurriculumVisits:
		return newVisits()
	case CurriculumRND:
		return newRND(sizes, seed, w)
	}
	panic(fmt.Sprintf("qta: no curriculum %q", p.Curriculum)) // Validate refuses it
}

// newEstimator returns what goals are chosen by.
func newEstimator(p *Params) estimator {
	var e estimator
	if p.Uncertainty == UncertaintyQ {
		e = valueEstimator{p.AuthorsForm}
	} else {
		e = newPredictive(p)
	}
	if p.FirstGoalState == FirstGoalStateStart {
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
	if p.HeadLoss == HeadLossNorm {
		a.headLoss = predictiveNorm
	}
	switch p.Uncertainty {
	case UncertaintyBootstrap:
		bootstrapArchitecture(&a, p)
	case UncertaintyEnsemble:
		deepEnsemble(&a, p)
	}
	a.departGradient(p)
	return a
}

// predictedSize returns how many numbers a head predicts.
func predictedSize(p *Params, sizes Sizes) int {
	if p.HeadTarget == HeadTargetAchieved {
		return sizes.Goal
	}
	return sizes.Observation
}

// newSampler returns how minibatches are drawn.
func (a *Agent) newSampler() sampler {
	switch p := &a.params; {
	case p.Replay == ReplayPER:
		return newPrioritised(p, a.pun.priorities)
	case p.Replay == ReplayTD && p.AuthorsForm:
		return newPrioritised(p, a.pun.valuePriorities)
	case p.Replay == ReplayTD:
		return newPrioritised(p, a.pun.errorPriorities)
	}
	return uniform{a.replay}
}
