package qta

import "math/rand/v2"

// This file reads the parameters and furnishes an agent with what they name: the
// paper's parts, or others in their place. No other file knows them all.

// furnish gives a new agent its networks and its doors. Initial weights are drawn
// from rng.
func (a *Agent) furnish(rng *rand.Rand) {
	p, w := &a.params, a.workers
	h, l, s := newHeads(p, a.sizes, a.seed, a.replay)
	a.policy = newPolicy(p, a.sizes, rng, w)
	a.pun = newPUN(p, a.sizes, h, s, rng, w)
	if p.Uncertainty == "bootstrap" {
		a.pun.shareBackbone()
	}
	switch p.Learner {
	case "authors":
		a.pun.authorsEnsemble()
	case "mega":
		a.clipGradients()
	}

	a.curriculum = newCurriculum(p, a.sizes, a.seed, w)
	a.explorer = newExplorer(p, a.sizes, a.curriculum)
	a.sampler = uniform{a.replay}
	switch p.Replay {
	case "per":
		a.sampler = newPrioritized(a.replay, p)
	case "td":
		a.sampler = tdReplay{newPrioritized(a.replay, p), l, p.Learner == "authors"}
	}
	a.estimator, a.learner = newEstimator(p), newLearner(p, l)
	if p.UncertaintyPolyak > 0 {
		m := newAverage(a.estimator, a.learner, a.pun)
		a.estimator, a.learner = m, m
	}
}

// newHeads returns the heads that p names, what they and their critics learn, and
// their shape.
func newHeads(p *Params, sizes Sizes, seed uint64, r *replay) (h heads, l lessons, s shape) {
	h, l, s = punHeads{}, punLessons{}, punShape(p, sizes)
	authors := p.Learner == "authors"
	if authors {
		h, l, s.predicted = achievedHeads{h}, normLessons{}, sizes.Goal
	}
	s.width = s.predicted
	switch p.Uncertainty {
	case "bootstrap":
		s.d = p.EnsembleActions
		if authors {
			l, s.predicted, s.width = punLessons{}, 1, 1
		}
		b := &bootstrap{ownTargets: ownTargets{heads: h, lessons: l}, seed: seed, authors: authors, replay: r}
		h, l = b, b
	case "ensemble":
		s.d = p.EnsembleActions
		s.width++ // for a raw variance
		e := &deepEnsemble{ownTargets{heads: h, lessons: l}, authors}
		h, l = e, e
	}
	return h, l, s
}

// newLearner returns the learner that p names, without an average.
func newLearner(p *Params, lessons lessons) (l learner) {
	l = everyStep{}
	other := otherLearner{lessons: lessons, oneBackbone: p.Uncertainty == "bootstrap", targetEvery: 1}
	switch {
	case p.Learner == "authors":
		l = &authorsLearner{otherLearner: other}
	case p.Learner == "mega":
		other.targetEvery = megaTargetEvery
		l = &other
	case p.Learner == "vds":
		other.targetEvery = vdsAgentUpdates
		l = scheduled{&other, 0, vdsAgentUpdates}
	case lessons != (punLessons{}) || p.PredictiveGradient == "head":
		l = &other
	}
	if p.UpdatesPerStep > 1 && p.Learner != "vds" {
		l = scheduled{l, p.UpdatesPerStep, 0}
	}
	return l
}

// newCurriculum returns the curriculum that p names.
func newCurriculum(p *Params, sizes Sizes, seed uint64, w *workers) curriculum {
	switch p.Curriculum {
	case "mega":
		return &mega{cutoff: newCutoff(p.Discount, p.Horizon)}
	case "vds":
		return newVDS(*p, sizes, seed, w)
	case "her":
		return desiredGoals{}
	case "random":
		return randomGoals{}
	}
	if p.FirstGoalDesired > 0 {
		return practice{queryTheAgent{}}
	}
	return queryTheAgent{}
}

// newEstimator returns the estimator that p names, without an average.
func newEstimator(p *Params) (e estimator) {
	e = equation5{}
	if p.Learner == "authors" {
		e = authorsQuestion{e}
	}
	if p.Uncertainty == "q" {
		e = valuesDiffer{p.Learner == "authors"}
	}
	if p.UncertaintyNoise > 0 {
		e = noisy{e, p.UncertaintyNoise}
	}
	return e
}

// newExplorer returns the explorer that p names, for an agent with this curriculum.
func newExplorer(p *Params, sizes Sizes, c curriculum) (e explorer) {
	e = tableExplorer{}
	m, isMEGA := c.(*mega)
	if isMEGA || p.Learner == "mega" || p.RandomActionLater != p.RandomAction ||
		p.RandomActionReached > 0 || p.RandomActionHeld > 0 {
		w := &wandering{mega: m}
		if p.Learner == "mega" {
			w.uniform = p.InitialSteps
		}
		if p.RandomActionHeld > 0 {
			w.action = make([]float64, sizes.Action)
		}
		e = w
	}
	return e
}
