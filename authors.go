package qta

import (
	"math"
	"math/rand/v2"
)

// This file is every step in which the authors' public code, and other learners
// that its switches make up, depart from the paper. Where only a number departs
// it is in [Authors], where the learner of a baseline does, in that baseline's
// file.

// Departures are what others do in place of, or beside, a step of the method;
// see authors.go and baseline.go. In the paper's method all are nil.
type departures struct {
	behave       func(a *Agent, action []float64) bool // before the policy acts; reports whether it has acted instead
	randomAction func(a *Agent) float64                // in place of RandomAction
	random       func(a *Agent, action []float64) bool // in place of a random action; reports whether there is one
	stepped      func(a *Agent)                        // after an environment step
	smooth       func(a *Agent, actions matrix)        // on the target policy's actions
	predicted    func(a *Agent, dst []float32, i int)  // in place of s' of transition i
	mask         func(a *Agent, b *batch)              // on what a critic learns from
	decay        func(a *Agent)                        // after a perfect evaluation
	updated      func(a *Agent)                        // after an update
	average      *average                              // what the estimator asks in the ensemble's place
	held         *heldAction                           // what random does

	ownBatches            func(a *Agent) (heads, actor *batch, err error) // in place of the critics'
	learnHeads            func(a *Agent, b *batch) (loss float64)         // after the critics' step, where heads have their own
	headBatch, actorBatch batch
}

// depart installs what the parameters ask for beyond the paper.
func (a *Agent) depart() {
	p := &a.params
	a.pun.depart(p)
	a.policy.adam.clip = p.GradientClip
	if p.HeadOwnDraw || p.ActorOwnDraw {
		a.ownBatches = (*Agent).drawOwnBatches
	}
	if headsApart(p) {
		a.learnHeads = func(a *Agent, b *batch) float64 { return a.pun.learnHeads(b, p.PredictiveGradient) }
	}
	if p.HeadTarget == headTargetAchieved {
		a.predicted = (*Agent).predictAchieved
	}
	if p.TargetNoise > 0 {
		a.smooth = (*Agent).smoothTarget
	}
	if p.WeightDecay {
		a.decay = (*Agent).decayWeights
	}
	if p.Uncertainty == uncertaintyBootstrap {
		a.bootstrap()
	}
	if p.InitialActions == initialActionsUniform {
		a.departures.behave = (*Agent).behaveUniformly
	}
	if p.RandomActionLater != p.RandomAction {
		a.departures.randomAction = (*Agent).randomActionLater
	}
	a.goBeyond()
}

// drawOwnBatches returns the minibatches of heads and policy, which they need not
// share with the critics.
func (a *Agent) drawOwnBatches() (heads, actor *batch, err error) {
	heads, actor = &a.scratch.batch, &a.scratch.batch
	if a.params.HeadOwnDraw {
		heads = a.ownBatch(&a.headBatch)
		if err := a.drawByEpisode(heads); err != nil {
			return nil, nil, err
		}
	}
	if a.params.ActorOwnDraw {
		actor = a.ownBatch(&a.actorBatch)
		if err := a.drawUniformly(actor); err != nil {
			return nil, nil, err
		}
	}
	return heads, actor, nil
}

// ownBatch returns a minibatch, which it makes when first used.
func (a *Agent) ownBatch(b *batch) *batch {
	if b.r == nil {
		*b = newBatch(a.params.Batch, a.sizes, a.pun)
	}
	return b
}

// drawByEpisode fills the heads' own minibatch: an episode is drawn, all alike,
// and then one of its transitions, with the goal that was pursued. Those of a
// running episode are the likelier for being fewer.
func (a *Agent) drawByEpisode(b *batch) error {
	r := a.replay
	for row := range b.transitions {
		first := a.draws.index((r.n+r.horizon-1)/r.horizon) * r.horizon
		i := first + a.draws.index(r.episodeEnd(first)-first)
		if err := a.fill(b, row, i, r.relabel(i, 0, a.draws.Rand)); err != nil {
			return err
		}
	}
	uniform{}.weigh(b.weights, nil, 0)
	if a.mask != nil {
		a.mask(a, b)
	}
	return nil
}

// drawUniformly fills the policy's own minibatch, which no priority decides.
func (a *Agent) drawUniformly(b *batch) error {
	for row := range b.transitions {
		i := a.draws.index(a.replay.n)
		if err := a.fill(b, row, i, a.curriculum.replayGoal(a, i)); err != nil {
			return err
		}
	}
	return nil
}

// headsApart reports whether the heads have a step of their own, after the
// critics'.
func headsApart(p *Params) bool {
	return p.PredictiveGradient == predictiveGradientSeparate || p.PredictiveGradient == predictiveGradientHead && p.HeadOwnDraw
}

// departGradient makes the predictive loss end in the head, or have a minibatch of
// its own, where the parameters ask for that.
func (a *architecture) departGradient(p *Params) {
	switch {
	case p.PredictiveGradient == predictiveGradientSeparate:
		a.gradient, a.step = (*pun).gradientWithoutHead, (*critic).stepAll
	case headsApart(p):
		a.gradient, a.step = (*pun).gradientWithoutHead, (*critic).stepWithoutHead
	case p.PredictiveGradient == predictiveGradientHead:
		a.gradient = (*pun).gradientOfHead
	case p.HeadOwnDraw:
		a.gradient = (*pun).gradientOfTwo
	}
}

// gradientOfHead is [pun.gradient] where the predictive loss ends in the head.
func (u *pun) gradientOfHead(i int, b, _ *batch) (criticLoss, headLoss float64) {
	c := u.critics[i]
	criticLoss, ξ := u.criticGradient(i, b)
	headLoss = u.headGradient(i, ξ, c.prediction, b)
	c.q.backward(u.pass, c.gradient.q, b.x, len(c.q.layers), false)
	return criticLoss, headLoss
}

// gradientOfTwo is [pun.gradient] where the heads have a minibatch of their own.
func (u *pun) gradientOfTwo(i int, b, heads *batch) (criticLoss, headLoss float64) {
	criticLoss, _ = u.gradientWithoutHead(i, b, nil)
	return criticLoss, u.backboneGradient(i, heads, true)
}

// gradientWithoutHead is [pun.gradient] where the heads have a step of their own.
func (u *pun) gradientWithoutHead(i int, b, _ *batch) (criticLoss, headLoss float64) {
	c := u.critics[i]
	criticLoss, ξ := u.criticGradient(i, b)
	c.head.forward(u.pass.workers, c.prediction.slice(0, ξ.rows), ξ, false) // priorities may ask for it
	c.q.backward(u.pass, c.gradient.q, b.x, len(c.q.layers), false)
	return criticLoss, 0
}

// stepAll moves the critic by an optimizer that has the head's parameters too.
func (c *critic) stepAll() {
	clear(c.gradient.params[len(c.q.params):])
	c.adam.step(c.params, c.gradient.params)
}

// stepWithoutHead moves the critic, and leaves its head.
func (c *critic) stepWithoutHead() { c.adam.step(c.q.params, c.gradient.q.params) }

// criticGradient returns Equation 2 for critic i and ξ, and leaves its gradient
// with respect to Q in the last of u.pass.dx.
func (u *pun) criticGradient(i int, b *batch) (loss float64, ξ matrix) {
	ξ = u.critics[i].q.latent(u.pass, b.x)
	return u.criticLoss(i, ξ, b), ξ
}

// headGradient returns Equation 4 for head i and fills the head's gradient.
func (u *pun) headGradient(i int, ξ, prediction matrix, b *batch) float64 {
	c := u.critics[i]
	loss := u.predictiveLoss(i, ξ, prediction, b)
	c.head.backward(u.pass.workers, c.gradient.head, ξ, u.dp.slice(0, ξ.rows), u.pass.ones, u.headT, false)
	return loss
}

// backboneGradient is headGradient on a minibatch of the heads' own. It fills
// the gradient of the backbone too, or adds to it.
func (u *pun) backboneGradient(i int, b *batch, add bool) float64 {
	c, n := u.critics[i], len(u.critics[i].q.layers)-1
	ξ := c.q.latent(u.pass, b.x)
	loss := u.headGradient(i, ξ, u.ownPrediction(ξ.rows), b)
	c.head.backwardInput(u.pass.workers, u.pass.dx[n].slice(0, ξ.rows), u.dp.slice(0, ξ.rows), u.headT, epilogue{mask: ξ})
	c.q.backward(u.pass, c.gradient.q, b.x, n, add)
	return loss
}

// ownPrediction is memory for predictions on a minibatch of the heads' own.
// Those on the critics' stay for priorities.
func (u *pun) ownPrediction(rows int) matrix {
	if u.own.rows < rows {
		u.own = newMatrix(rows, u.dp.cols)
	}
	return u.own
}

// learnHeads is one step of every head on a minibatch, alone or, with a gradient
// that is separate, with the backbone. It returns the loss's mean over the
// ensemble.
func (u *pun) learnHeads(b *batch, gradient string) (loss float64) {
	separate := gradient == predictiveGradientSeparate
	step := func(c *critic) {
		if n := len(c.q.params); separate {
			c.headAdam.step(c.params, c.gradient.params)
		} else {
			c.headAdam.step(c.params[n:], c.gradient.params[n:])
		}
	}
	for i, c := range u.critics {
		if separate {
			loss += u.backboneGradient(i, b, false)
			final := c.gradient.q.layers[len(c.q.layers)-1]
			clear(final.w.data)
			clear(final.b)
		} else {
			ξ := c.q.latent(u.pass, b.x)
			loss += u.headGradient(i, ξ, u.ownPrediction(ξ.rows), b)
		}
		if u.share == nil {
			step(c)
		}
	}
	if u.share != nil {
		if separate {
			u.share(u)
		}
		for _, c := range u.critics {
			step(c)
		}
	}
	return loss / float64(len(u.critics))
}

// depart gives critics and heads the optimizers that the parameters ask for.
func (u *pun) depart(p *Params) {
	for _, c := range u.critics {
		if p.PredictiveGradient == predictiveGradientSeparate {
			c.adam = newAdam(len(c.params), p.CriticRate, u.pass.workers)
			c.headAdam = newAdam(len(c.params), p.PredictiveRate, u.pass.workers)
		}
		c.adam.clip, c.headAdam.clip = p.GradientClip, p.GradientClip
	}
}

// resume brings what was installed to where a loaded agent is.
func (a *Agent) resume() {
	if a.perfect && a.decay != nil {
		a.decay(a)
	}
}

// L2 that is added to the gradients of the critics' and of the heads' optimizer.
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// decayWeights begins the weight decay.
func (a *Agent) decayWeights() {
	for _, c := range a.pun.critics {
		c.adam.decay, c.headAdam.decay = criticDecay, headDecay
	}
}

// predictAchieved sets dst to the next achieved goal of transition i.
func (a *Agent) predictAchieved(dst []float32, i int) {
	for c, v := range at(a.replay.nextAchieved, i, a.sizes.Goal) {
		dst[c] = float32(v)
	}
}

// predictiveNorm is what the authors' code minimizes in place of Equation 4:
// 1/B Σ |p - s'|, the mean Euclidean norm. At p = s' the gradient is zero.
func predictiveNorm(dp, p, s []float32, width int) float64 {
	rows := len(p) / width
	sum := 0.0
	for r := range rows {
		square := 0.0
		for i := r * width; i < (r+1)*width; i++ {
			δ := float64(p[i] - s[i])
			square += float64(δ * δ)
		}
		norm := math.Sqrt(square)
		sum += norm
		for i := r * width; i < (r+1)*width; i++ {
			dp[i] = 0
			if norm > 0 {
				dp[i] = float32(float64(p[i]-s[i]) / (norm * float64(rows)))
			}
		}
	}
	return sum / float64(rows)
}

// targetNoiseClip is the largest noise on a', in actions.
const targetNoiseClip = 0.5

// smoothTarget adds noise to a'.
func (a *Agent) smoothTarget(actions matrix) {
	smooth(actions.data[:actions.rows*actions.cols], a.params.TargetNoise, targetNoiseClip, a.learning.Rand)
}

// smooth adds noise to a', as TD3 (Fujimoto et al., 2018) does: of standard
// deviation σ, at most limit, the sum clipped to [-1, 1]. It is part of what
// the authors' code does in Equation 1; the paper has none.
func smooth(actions []float32, σ, limit float64, rng *rand.Rand) {
	for i, a := range actions {
		noise := min(max(float64(σ*normal(rng)), -limit), limit)
		actions[i] = float32(min(max(float64(a)+noise, -1), 1))
	}
}

// randomActionLater is the probability of a random action where it is another
// once an episode's first goal has been reached.
func (a *Agent) randomActionLater() float64 {
	if a.explored {
		return a.params.RandomActionLater
	}
	return a.params.RandomAction
}

// behaveUniformly draws a uniformly random action until InitialSteps.
func (a *Agent) behaveUniformly(action []float64) bool {
	if a.step >= a.params.InitialSteps {
		return false
	}
	uniformAction(action, a.exploration.Rand)
	return true
}

// fromStart asks an estimator, for an episode's first goal, about the current
// state in place of the candidates': the authors' filter returns the one for the
// others.
type fromStart struct{ estimator }

func (e fromStart) estimate(a *Agent, q *query, rng stream) {
	if q.first {
		for k := range q.states {
			q.states[k] = q.now
		}
	}
	e.estimator.estimate(a, q, rng)
}

// drawSharedActions is drawActions with the same d actions for all of n
// candidates.
func drawSharedActions(actions matrix, n int, rng stream) {
	for j := range actions.rows {
		row := actions.row(j)
		if j%n != 0 {
			copy(row, actions.row(j-1))
			continue
		}
		for c := range row {
			row[c] = float32(symmetric(rng.Rand))
		}
	}
}
