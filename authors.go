package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file holds what the authors' public code does otherwise than the paper, where
// that is more than a number, which [Authors] has.

// A departing learner does what an update of the authors' code, of MEGA's and of
// VDS's does otherwise, and learns for ensembles other than PUN.
type departing struct {
	everyStep
	lessons
	oneBackbone bool // all critics share it

	headBatch, policyBatch batch  // of their own
	prediction             matrix // a head's output for its own minibatch
}

// learn is one update on the critics' minibatch b; the heads and the policy may have
// minibatches of their own (HeadOwnDraw, ActorOwnDraw), and the heads a step of
// their own, after the critics'.
func (l *departing) learn(a *Agent, b *batch) {
	p, headBatch, policyBatch := &a.params, b, b
	if p.HeadOwnDraw {
		headBatch = &l.headBatch
		a.draw(headBatch, byEpisode{uniform{a.replay}}, pursuedGoal)
	}
	if p.ActorOwnDraw {
		policyBatch = &l.policyBatch
		a.draw(policyBatch, uniform{a.replay}, a.curriculum.replayGoal)
	}
	if p.WeightDecay && a.SolvedAt() > 0 {
		for _, c := range a.pun.critics {
			c.adam.decay, c.headAdam.decay = criticDecay, headDecay
		}
	}
	targetsMove := a.updates%p.TargetEvery == 0
	apart := p.PredictiveGradient == "separate" || p.PredictiveGradient == "head" && p.HeadOwnDraw

	a.policy.act(a.policy.target, b.next)
	if p.TargetNoise > 0 {
		for r := range b.next.rows {
			smooth(b.next.row(r)[b.next.cols-a.sizes.Action:], p.TargetNoise, a.learning.Rand)
		}
	}
	a.pun.heads.targets(a.pun, b, a.learning)
	if apart {
		a.losses.critic, _ = l.step(a.pun, b, nil)
	} else {
		a.losses.critic, a.losses.head = l.step(a.pun, b, headBatch)
	}
	a.sampler.prioritize(a.pun, b)
	if targetsMove {
		a.pun.follow()
	}
	if apart {
		_, a.losses.head = l.step(a.pun, nil, headBatch)
	}
	a.losses.policy = a.learnPolicy(policyBatch.x)
	if targetsMove {
		a.policy.follow(a.workers)
	}
}

// step is [pun.learn] with the critics on the minibatch b and the heads on one of
// their own. Without one of the two only the other learns.
func (l *departing) step(u *pun, b, headBatch *batch) (criticLoss, headLoss float64) {
	for i := range u.critics {
		critic, head := l.gradient(u, i, b, headBatch)
		criticLoss += critic
		headLoss += head
	}
	if l.oneBackbone {
		u.sumBackbones()
	}
	for _, c := range u.critics {
		if b != nil {
			c.adam.step()
		}
		if headBatch != nil {
			c.headAdam.step()
		}
	}
	g := float64(len(u.critics))
	return criticLoss / g, headLoss / g
}

// gradient fills the gradient of critic i and its head, which is zero where neither
// loss reaches.
func (l *departing) gradient(u *pun, i int, b, headBatch *batch) (criticLoss, headLoss float64) {
	if b == nil || headBatch == nil {
		clear(u.critics[i].gradient.params) // either optimizer may move all of them
	}
	if b != nil {
		criticLoss, headLoss = l.pass(u, i, b, true, headBatch == b, false)
	}
	if headBatch != nil && headBatch != b {
		_, headLoss = l.pass(u, i, headBatch, false, true, b != nil)
	}
	return criticLoss, headLoss
}

// pass is one pass of a minibatch through critic i: for its own loss, its head's, or
// both. With add the backbone's gradient is added to what is there; with
// PredictiveGradient head the head's loss does not reach it.
func (l *departing) pass(u *pun, i int, b *batch, critic, head, add bool) (criticLoss, headLoss float64) {
	c, p, w, B := u.critics[i], u.pass, u.pass.workers, b.x.rows
	n := len(c.q.layers) - 1
	final, q, prediction := c.q.layers[n], u.values[i][:B], c.prediction.slice(0, B)
	dq, dp, dξ := p.dx[n+1].slice(0, B), u.dp.slice(0, B), p.dx[n].slice(0, B)
	ξ := c.q.latent(p, b.x)
	if critic {
		final.forward(w, matrix{B, 1, 1, 1, q}, ξ, false)
		y, weights := l.lesson(i, b)
		criticLoss = CriticLoss(dq.data[:B], q, y, weights)
		final.backward(w, c.gradient.q.layers[n], ξ, dq, p.dwT[n], false)
		final.backwardInput(w, dξ, dq, p.wT[n], epilogue{mask: ξ})
	} else { // the critic's prediction stays, for priorities
		if l.prediction.rows < B {
			l.prediction = newMatrix(B, u.width)
		}
		prediction = l.prediction.slice(0, B)
	}
	c.head.forward(w, prediction, ξ, false)
	intoBackbone := head && u.params.PredictiveGradient != "head"
	if head {
		headLoss = l.loss(i, dp, prediction, b)
		c.head.backward(w, c.gradient.head, ξ, dp, u.headT, false)
	}
	if intoBackbone {
		c.head.backwardInput(w, dξ, dp, u.headT, epilogue{add: critic, mask: ξ})
	}
	if critic || intoBackbone {
		c.q.backward(p, c.gradient.q, n, add)
	}
	return criticLoss, headLoss
}

// lessons are what the critics of an ensemble and its heads learn.
type lessons interface {
	lesson(i int, b *batch) (y, w []float32)    // the targets of critic i, and their weights
	loss(i int, dp, p matrix, b *batch) float64 // of head i at its outputs p, with the gradient dp
}

// punLessons are PUN's, or with norm predictiveNorm in Equation 4's place (HeadLoss).
type punLessons struct{ norm bool }

func (punLessons) lesson(_ int, b *batch) (y, w []float32) { return b.y, b.w }

func (l punLessons) loss(_ int, dp, p matrix, b *batch) float64 {
	n := p.rows * p.cols
	if l.norm {
		return predictiveNorm(dp.data[:n], p.data[:n], b.sNext.data[:n], p.cols)
	}
	return PredictiveLoss(dp.data[:n], p.data[:n], b.sNext.data[:n], p.cols)
}

// stepsApart gives critics and heads optimizers that move both: for steps of their
// own (PredictiveGradient separate).
func stepsApart(u *pun) {
	for _, c := range u.critics {
		c.adam = newAdam(c.params, c.gradient.params, u.params.CriticRate, u.pass.workers)
		c.headAdam = newAdam(c.params, c.gradient.params, u.params.PredictiveRate, u.pass.workers)
	}
}

// byEpisode draws an episode uniformly, and then one of its transitions. A running
// episode has fewer, so each is likelier.
type byEpisode struct{ uniform }

func (s byEpisode) draw(rng stream) int {
	first := rng.index((s.n+s.horizon-1)/s.horizon) * s.horizon
	return first + rng.index(s.episodeEnd(first)-first)
}

// pursuedGoal returns the goal that was pursued in transition i.
func pursuedGoal(a *Agent, i int) []float64 { return a.replay.relabel(i, 0, a.draws.Rand) }

// L2 that is added to the gradients of the critics' and of the heads' optimizer once
// an evaluation was perfect (WeightDecay).
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// achievedHeads predict the next achieved goal (HeadTarget).
type achievedHeads struct{ heads }

func (achievedHeads) predicted(r *replay, i int) []float64 { return r.nextAchieved.at(i) }

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

const targetNoiseClip = 0.5 // in actions

// smooth adds noise to a', as TD3 (Fujimoto et al., 2018) does: of standard
// deviation σ, at most targetNoiseClip, the sum clipped to [-1, 1]. The authors'
// code does so in Equation 1; the paper adds no noise.
func smooth(actions []float32, σ float64, rng *rand.Rand) {
	for i, a := range actions {
		noise := min(max(float64(σ*normal(rng)), -targetNoiseClip), targetNoiseClip)
		actions[i] = float32(min(max(float64(a)+noise, -1), 1))
	}
}

// authorsQuestion asks with the same d actions for all candidates (SharedActions), and
// about an episode's first goal in the state where the agent is (FirstGoalState),
// which the authors' filter by the threshold puts in the candidates' place.
type authorsQuestion struct{ estimator }

func (e authorsQuestion) uncertainty(a *Agent, q question, rng stream) []float64 {
	if a.params.SharedActions {
		same := &repeater{rng: rng, drawn: make([]uint64, a.sizes.Action), times: len(q.states)}
		rng = stream{Rand: rand.New(same)}
	}
	if a.params.FirstGoalState == "start" && q.first {
		q.states = slices.Repeat([][]float64{q.now}, len(q.states))
	}
	return e.estimator.uncertainty(a, q, rng)
}

// A repeater is a source that draws a few numbers, repeats them until they have been
// returned so many times, and draws again.
type repeater struct {
	rng             stream
	drawn           []uint64
	times, returned int
}

func (r *repeater) Uint64() uint64 {
	i := r.returned % (len(r.drawn) * r.times)
	if r.returned++; i < len(r.drawn) {
		r.drawn[i] = r.rng.Uint64()
	}
	return r.drawn[i%len(r.drawn)]
}
