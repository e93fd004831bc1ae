package qta

import "math/rand/v2"

// This file reads the parameters and assembles an agent with what they name: the
// paper's parts, or others in their place. No other file knows them all.

// assemble gives a new agent its networks and its parts. Initial weights are drawn
// from rng.
func (a *Agent) assemble(rng *rand.Rand) {
	p, w := &a.params, a.workers
	h, s := newHeads(p, a.sizes, a.seed)
	a.policy = newPolicy(p, a.sizes, rng, w)
	a.pun = newEnsemble(p, a.sizes, h, s, rng, w)
	if p.Uncertainty == "bootstrap" {
		a.pun.shareBackbone()
	}
	if p.Learner == "authors" {
		a.pun.authorsEnsemble()
	}

	a.curriculum = newCurriculum(p, a.sizes, a.seed, w)
	a.explorer = newExplorer(p, a.sizes)
	a.sampler = uniformSampler{a.replay}
	switch p.Replay {
	case "per":
		a.sampler = newPrioritized(a.replay, p)
	case "td":
		a.sampler = tdReplay{newPrioritized(a.replay, p), h}
	}
	asked, l := a.pun, newLearner(p, h)
	if p.UncertaintyPolyak > 0 {
		average := newAverage(a.pun, l)
		asked, l = average.ensemble, average
	}
	a.estimator, a.learner = newEstimator(p, asked), schedule(p, l)
}

// newHeads returns the heads that p names, and their shape.
func newHeads(p *Params, sizes Sizes, seed uint64) (h heads, s shape) {
	h, s = paperHeads{}, paperShape(p, sizes)
	if p.Learner == "authors" {
		h, s.predicted = authorsHeads{}, sizes.Goal
	}
	s.width = s.predicted
	switch p.Uncertainty {
	case "bootstrap":
		s.d = p.EnsembleActions
		h = &bootstrap{ownTargets: ownTargets{heads: h}, seed: seed}
	case "ensemble":
		s.d = p.EnsembleActions
		s.width++ // for a raw variance
		h = &deepEnsemble{ownTargets{heads: h}}
	}
	return h, s
}

// newLearner returns what makes an update as p says.
func newLearner(p *Params, h heads) learner {
	other := otherLearner{oneBackbone: p.Uncertainty == "bootstrap", targetEvery: 1}
	switch {
	case p.Learner == "authors":
		return &authorsLearner{otherLearner: other}
	case p.Learner == "mega":
		other.targetEvery, other.limit = megaTargetEvery, megaGradient
		return &other
	case p.Learner == "vds":
		other.targetEvery = vdsAgentUpdates
		return &other
	case h != heads(paperHeads{}) || p.PredictiveGradient == "head":
		return &other
	}
	return paperLearner{}
}

// schedule returns l, or what makes its updates when p says.
func schedule(p *Params, l learner) learner {
	if p.Learner == "vds" {
		return scheduled{l, 0, vdsAgentUpdates}
	}
	if p.UpdatesPerStep > 1 {
		return scheduled{l, p.UpdatesPerStep, 0}
	}
	return l
}

// newCurriculum returns the curriculum that p names.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) goalSetter {
	switch p.Curriculum {
	case "mega":
		return &megaCurriculum{cutoff: newCutoff(p.Discount, p.Horizon)}
	case "vds":
		return newVDSCurriculum(*p, sizes, seed, w)
	case "her":
		return desiredGoals{}
	}
	if p.FirstGoalDesired > 0 {
		return practice{paperCurriculum{}}
	}
	return paperCurriculum{}
}

// newEstimator returns the estimator that p names, of the ensemble that is asked.
func newEstimator(p *Params, asked *ensemble) (e estimator) {
	e = paperEstimator{asked}
	if p.Learner == "authors" {
		e = authorsQuestion{e}
	}
	if p.Uncertainty == "q" {
		e = valuesDiffer{asked}
	}
	if p.UncertaintyNoise > 0 {
		e = noisy{e, p.UncertaintyNoise}
	}
	return e
}

// newExplorer returns the explorer that p names.
func newExplorer(p *Params, sizes Sizes) explorer {
	var other otherExplorer
	if p.Learner == "mega" {
		other.uniform = p.InitialSteps
	}
	switch {
	case p.RandomActionHeld > 0:
		return &heldExplorer{otherExplorer: other, action: make([]float64, sizes.Action)}
	case p.Curriculum == "mega" || p.Learner == "mega" || p.RandomActionLater != p.RandomAction ||
		p.RandomActionReached > 0:
		return other
	}
	return paperExplorer{}
}
