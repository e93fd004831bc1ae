package qta

import "math/rand/v2"

// This file reads the parameters and assembles an agent from the parts that they name:
// the paper's parts, or others in their place. No other file knows all parts.

// assemble gives a new agent its networks and its parts. Initial weights are drawn
// from rng.
func (a *Agent) assemble(rng *rand.Rand) {
	p := &a.params
	w := a.workers
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
	a.explorer = newExplorer(p, a.sizes, a.curriculum)
	a.sampler = uniformSampler{a.replay}
	switch p.Replay {
	case "per":
		a.sampler = newPrioritized(a.replay, p)
	case "td":
		a.sampler = tdSampler{newPrioritized(a.replay, p), h}
	}

	l := newLearner(p, h)
	asked := a.pun // the ensemble that the estimator asks
	if p.UncertaintyPolyak > 0 {
		average := newMovingAverage(a.pun, l) // moves after each of l's updates
		l = average
		asked = average.ensemble
	}
	a.estimator = newEstimator(p, asked)
	a.learner = repeating(p, l)
}

// newHeads returns the heads that p names, and their shape.
func newHeads(p *Params, sizes Sizes, seed uint64) (h heads, s shape) {
	h = paperHeads{}
	s = paperShape(p, sizes)
	if p.Learner == "authors" {
		h = authorsHeads{}
		s.predicted = sizes.Goal // the next achieved goal
	}
	s.headWidth = s.predicted
	switch p.Uncertainty {
	case "bootstrap":
		s.d = p.EnsembleActions
		h = &bootstrapHeads{ownTargets: ownTargets{heads: h}, seed: seed}
	case "ensemble":
		s.d = p.EnsembleActions
		s.headWidth++ // one more output, the raw variance
		h = &deepEnsembleHeads{ownTargets{heads: h}}
	}
	return h, s
}

// newLearner returns the learner that p names.
func newLearner(p *Params, h heads) learner {
	general := generalLearner{oneBackbone: p.Uncertainty == "bootstrap", targetEvery: 1}
	papersHeads := h == heads(paperHeads{})
	switch {
	case p.Learner == "authors":
		return new(authorsLearner)
	case p.Learner == "mega":
		general.targetEvery = megaTargetEvery
		general.limit = megaGradient // of each element of a gradient
		return &general
	case p.Learner == "vds":
		general.targetEvery = vdsAgentUpdates // once in an episode
		return &general
	case !papersHeads || p.PredictiveGradient == "head":
		return &general
	}
	return paperLearner{}
}

// repeating returns l, or a learner that repeats l's updates as often as p says.
func repeating(p *Params, l learner) learner {
	if p.Learner == "vds" {
		return repeatingLearner{learner: l, perEpisode: vdsAgentUpdates}
	}
	if p.UpdatesPerStep > 1 {
		return repeatingLearner{learner: l, perStep: p.UpdatesPerStep}
	}
	return l
}

// newCurriculum returns the curriculum that p names.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case "mega":
		return &megaCurriculum{cutoff: newCutoff(p.Discount, p.Horizon)}
	case "vds":
		return newVDSCurriculum(*p, sizes, seed, w)
	case "her":
		return herCurriculum{}
	}
	if p.FirstGoalDesired > 0 { // with the curriculum "qta"
		return desiredFirstCurriculum{paperCurriculum{}}
	}
	return paperCurriculum{}
}

// newEstimator returns the estimator that p names, for the ensemble u.
func newEstimator(p *Params, u *ensemble) (e estimator) {
	switch {
	case p.Uncertainty == "q":
		e = valueEstimator{u}
	case p.Learner == "authors":
		e = authorsEstimator{paperEstimator{u}}
	default:
		e = paperEstimator{u}
	}
	if p.UncertaintyNoise > 0 {
		e = noisyEstimator{e, p.UncertaintyNoise}
	}
	return e
}

// newExplorer returns the explorer that p names, for an agent with the given curriculum.
func newExplorer(p *Params, sizes Sizes, c curriculum) explorer {
	mega, choosesByMEGA := c.(*megaCurriculum)
	general := generalExplorer{mega: mega} // mega is nil with another curriculum
	learnsByMEGA := p.Learner == "mega"
	if learnsByMEGA {
		general.uniform = p.InitialSteps // these first actions are all random
	}
	if p.RandomActionHeld > 0 {
		return &heldExplorer{generalExplorer: general, action: make([]float64, sizes.Action)}
	}

	probabilityChanges := p.RandomActionLater != p.RandomAction || p.RandomActionReached > 0
	if choosesByMEGA || learnsByMEGA || probabilityChanges {
		return general
	}
	return paperExplorer{}
}
