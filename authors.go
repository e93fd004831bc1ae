package qta

import (
	"math"
	"math/rand/v2"
)

// This file holds every step in which the authors' public code, and other
// learners that its switches allow, depart from the paper. Departures in a
// number are in [Authors], departures of a baseline's learner in that
// baseline's file.

// departures are what others do in place of, or beside, a step of the method;
// see baseline.go too. In the paper's method all are zero.
type departures struct {
	explore   func(a *Agent, action []float64)     // in place of Agent.explore
	smooth    func(a *Agent, actions matrix)       // on the target policy's actions
	predicted func(a *Agent, dst []float32, i int) // in place of s' of transition i
	mask      func(a *Agent, b *batch)             // on what a critic learns from
	held      *heldAction                          // a random action to repeat
	average   *average                             // asked by the estimator in the ensemble's place

	headBatch, actorBatch batch // of HeadOwnDraw and ActorOwnDraw
}

// depart installs what the parameters ask for beyond the paper.
func (a *Agent) depart() {
	p := &a.params
	a.pun.depart(p)
	a.policy.adam.clip = p.GradientClip
	if p.Curriculum == "mega" || p.InitialActions == "uniform" ||
		p.RandomActionLater != p.RandomAction || p.RandomActionReached > 0 || p.RandomActionHeld > 0 {
		a.departures.explore = (*Agent).exploreOtherwise
	}
	if p.TargetNoise > 0 {
		a.smooth = func(a *Agent, actions matrix) {
			smooth(actions.data[:actions.rows*actions.cols], a.params.TargetNoise, targetNoiseClip, a.learning.Rand)
		}
	}
	if p.HeadTarget == "achieved" {
		a.predicted = (*Agent).predictAchieved
	}
	if p.Uncertainty == "bootstrap" {
		a.bootstrap()
	}
	a.goBeyond()
}

// exploreOtherwise is [Agent.explore] with uniformly random actions until
// InitialSteps, as in MEGA's code, or random actions of another probability or
// that repeat.
func (a *Agent) exploreOtherwise(action []float64) {
	p, rng := &a.params, a.exploration.Rand
	if p.InitialActions == "uniform" && a.step < p.InitialSteps {
		uniformAction(action, rng)
		return
	}
	addNoise(action, p.ActionNoise, rng)
	if rng.Float64() >= a.randomAction() {
		return
	}
	if a.held == nil || !a.holdAction(action) {
		uniformAction(action, rng)
	}
}

// randomAction returns the probability of a random action. RandomActionLater is
// from where an episode of the run has reached its first goal, and
// RandomActionReached from where the running episode has: an agent that has arrived
// has nothing left to lose, as in MEGA's code and in "first return, then explore"
// (Ecoffet et al., 2021).
//
// Differs D6: in the table it is 0.3, in the authors' code 0.2 once a first goal is
// reached. In [Default] it is then 0.1 on the way to an episode's first goal: a
// perfect policy reaches the goal of 15x5 in 29 of 100 episodes with 0.3, in 73 with
// 0.2 and in 96 with 0.1. After that goal it is 0.8, so that the heads see the random
// actions that Equation 5 asks about where they know least.
func (a *Agent) randomAction() float64 {
	p := a.params.RandomAction
	if a.explored {
		p = a.params.RandomActionLater
	}
	if m, ok := a.curriculum.(*mega); ok {
		return p + float64(megaGoalRandom*float64(m.stepsAtGoal))
	}
	if a.params.RandomActionReached > 0 && (a.reached || !a.firstGoal) {
		return a.params.RandomActionReached
	}
	return p
}

// ownBatches returns the minibatches of heads and policy: the critics', b, or
// with HeadOwnDraw and ActorOwnDraw one of their own, the policy's without
// priorities.
func (a *Agent) ownBatches(b *batch) (heads, actor *batch, err error) {
	heads, actor = b, b
	if a.params.HeadOwnDraw {
		heads = &a.headBatch
		err = a.drawByEpisode(heads)
	}
	if a.params.ActorOwnDraw && err == nil {
		actor = &a.actorBatch
		err = a.minibatch(actor, uniform{a.replay})
	}
	return heads, actor, err
}

// drawByEpisode fills the heads' own minibatch: it draws an episode uniformly,
// and then one of its transitions, with the goal that was pursued. A running
// episode has fewer transitions, so each is likelier.
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

// departGradient stops the predictive loss at the head, or gives the heads a
// step of their own, if the parameters ask for that.
func (a *architecture) departGradient(p *Params) {
	a.headEnds = p.PredictiveGradient == "head"
	a.headsApart = p.PredictiveGradient == "separate" || a.headEnds && p.HeadOwnDraw
}

// gradientOtherwise is [pun.gradient] where the predictive loss ends in the
// head, or the heads have a minibatch or a step of their own.
func (u *pun) gradientOtherwise(i int, b, heads *batch) (criticLoss, headLoss float64) {
	c := u.critics[i]
	criticLoss, ξ := u.criticGradient(i, b)
	if u.headEnds && !u.headsApart {
		return criticLoss, u.headGradient(i, ξ, c.prediction, b)
	}
	c.head.forward(u.pass.workers, c.prediction.slice(0, ξ.rows), ξ, false) // priorities may ask for it
	if u.headsApart {
		clear(c.gradient.params[len(c.q.params):]) // the critics' optimizer may have it too
		return criticLoss, 0
	}
	return criticLoss, u.headsGradient(i, heads, true)
}

// criticGradient returns Equation 2 for critic i, with ξ, and fills its
// gradient, without the head's.
func (u *pun) criticGradient(i int, b *batch) (loss float64, ξ matrix) {
	c := u.critics[i]
	ξ = c.q.latent(u.pass, b.x)
	loss = u.criticLoss(i, ξ, b)
	c.q.backward(u.pass, c.gradient.q, b.x, len(c.q.layers), false)
	return loss, ξ
}

// headGradient returns Equation 4 for head i and fills the head's gradient.
func (u *pun) headGradient(i int, ξ, prediction matrix, b *batch) float64 {
	c := u.critics[i]
	loss := u.predictiveLoss(i, ξ, prediction, b)
	c.head.backward(u.pass.workers, c.gradient.head, ξ, u.dp.slice(0, ξ.rows), u.pass.ones, u.headT, false)
	return loss
}

// headsGradient is headGradient on a minibatch of the heads' own, and fills the
// gradient of the backbone too, or adds to it, unless the loss ends in the head.
// The predictions on the critics' minibatch stay for priorities.
func (u *pun) headsGradient(i int, b *batch, add bool) float64 {
	c, n := u.critics[i], len(u.critics[i].q.layers)-1
	ξ := c.q.latent(u.pass, b.x)
	loss := u.headGradient(i, ξ, u.own, b)
	if u.headEnds {
		return loss
	}
	dξ, dp := u.pass.dx[n].slice(0, ξ.rows), u.dp.slice(0, ξ.rows)
	c.head.backwardInput(u.pass.workers, dξ, dp, u.headT, epilogue{mask: ξ})
	c.q.backward(u.pass, c.gradient.q, b.x, n, add)
	return loss
}

// learnHeads takes the step of every head's own on a minibatch, and of the
// backbone too unless the loss ends in the head. It returns the mean loss over
// the ensemble.
func (u *pun) learnHeads(b *batch) (loss float64) {
	_, loss = u.descend((*pun).gradientApart, (*critic).stepHead, nil, b)
	return loss
}

// gradientApart is the gradient of that step.
func (u *pun) gradientApart(i int, _, heads *batch) (_, headLoss float64) {
	c := u.critics[i]
	headLoss = u.headsGradient(i, heads, false)
	clear(c.gradient.q.params[len(backbone(c.q)):])
	return 0, headLoss
}

// depart gives critics and heads the optimizers that the parameters ask for.
func (u *pun) depart(p *Params) {
	for _, c := range u.critics {
		if p.PredictiveGradient == "separate" {
			c.adam = newAdam(len(c.params), p.CriticRate, u.pass.workers)
			c.headAdam = newAdam(len(c.params), p.PredictiveRate, u.pass.workers)
		}
		c.adam.clip, c.headAdam.clip = p.GradientClip, p.GradientClip
	}
}

// L2 that is added to the gradients of the critics' and of the heads' optimizer.
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// decayWeights turns the weight decay on once an evaluation was perfect.
func (a *Agent) decayWeights() {
	if !a.perfect || !a.params.WeightDecay {
		return
	}
	for _, c := range a.pun.critics {
		c.adam.decay, c.headAdam.decay = criticDecay, headDecay
	}
}

func (a *Agent) predictAchieved(dst []float32, i int) {
	for c, v := range at(a.replay.nextAchieved, i, a.sizes.Goal) {
		dst[c] = float32(v)
	}
}

// predictiveNorm takes the place of Equation 4 in the authors' code:
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

// smooth adds noise to a', as TD3 (Fujimoto et al., 2018) does: of standard
// deviation σ, at most limit, the sum clipped to [-1, 1]. The authors' code
// does so in Equation 1; the paper adds no noise.
func smooth(actions []float32, σ, limit float64, rng *rand.Rand) {
	for i, a := range actions {
		noise := min(max(float64(σ*normal(rng)), -limit), limit)
		actions[i] = float32(min(max(float64(a)+noise, -1), 1))
	}
}

// fromStart asks an estimator, for an episode's first goal, about the current
// state in place of each candidate's own, as happens in the authors' code: its
// filter by the threshold puts the one in the others' place.
type fromStart struct{ estimator }

func (e fromStart) estimate(a *Agent, q *query, rng stream) {
	if q.first {
		for k := range q.states {
			q.states[k] = q.now
		}
	}
	e.estimator.estimate(a, q, rng)
}
