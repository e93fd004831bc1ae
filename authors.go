package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file holds the steps in which the authors' public code, and other
// learners that its switches allow, depart from the paper. Departures in a number are
// in [Authors], departures of a baseline's learner in that baseline's file.

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
		decayWeights(a.pun)
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
	c, p, n := u.critics[i], u.pass, len(u.critics[i].q.layers)-1
	if b == nil || headBatch == nil {
		clear(c.gradient.params) // either optimizer may move all of them
	}
	if b != nil {
		ξ := c.q.latent(p, b.x)
		criticLoss = l.criticGradient(u, i, ξ, b)
		if headBatch == b {
			headLoss = l.headGradient(u, i, ξ, c.prediction, b, true)
		} else { // priorities may ask for it
			c.head.forward(p.workers, c.prediction.slice(0, ξ.rows), ξ, false)
		}
		c.q.backward(p, c.gradient.q, n, false)
	}
	if headBatch != nil && headBatch != b {
		if l.prediction.rows < headBatch.x.rows {
			l.prediction = newMatrix(headBatch.x.rows, u.width)
		}
		headLoss = l.headGradient(u, i, c.q.latent(p, headBatch.x), l.prediction, headBatch, false)
		if u.params.PredictiveGradient != "head" {
			c.q.backward(p, c.gradient.q, n, b != nil)
		}
	}
	return criticLoss, headLoss
}

// criticGradient returns Equation 2 for critic i, given ξ of the minibatch, and
// fills its last layer's gradient. It leaves the one with respect to ξ in u.pass.dx.
func (l *departing) criticGradient(u *pun, i int, ξ matrix, b *batch) float64 {
	c, p, q := u.critics[i], u.pass, u.values[i][:ξ.rows]
	n := len(c.q.layers) - 1
	final, dq := c.q.layers[n], p.dx[n+1].slice(0, ξ.rows)
	final.forward(p.workers, matrix{ξ.rows, 1, 1, 1, q}, ξ, false)
	y, w := l.lesson(i, b)
	loss := CriticLoss(dq.data[:ξ.rows], q, y, w)
	final.backward(p.workers, c.gradient.q.layers[n], ξ, dq, p.dwT[n], false)
	final.backwardInput(p.workers, p.dx[n].slice(0, ξ.rows), dq, p.wT[n], epilogue{mask: ξ})
	return loss
}

// headGradient returns Equation 4 for head i, given ξ of the minibatch, and fills
// the head's gradient. It leaves the one with respect to the predictions in u.dp,
// and the one with respect to ξ in u.pass.dx, added to what is there if add, unless
// the loss moves only the head (PredictiveGradient).
func (l *departing) headGradient(u *pun, i int, ξ, prediction matrix, b *batch, add bool) float64 {
	c, p := u.critics[i], u.pass
	dp, prediction := u.dp.slice(0, ξ.rows), prediction.slice(0, ξ.rows)
	c.head.forward(p.workers, prediction, ξ, false)
	loss := l.loss(i, dp, prediction, b)
	c.head.backward(p.workers, c.gradient.head, ξ, dp, u.headT, false)
	if u.params.PredictiveGradient != "head" {
		dξ := p.dx[len(c.q.layers)-1].slice(0, ξ.rows)
		c.head.backwardInput(p.workers, dξ, dp, u.headT, epilogue{add: add, mask: ξ})
	}
	return loss
}

// lessons are what the critics of an ensemble and its heads learn.
type lessons interface {
	// lesson returns the targets of critic i, and their weights.
	lesson(i int, b *batch) (y, w []float32)

	// loss returns the loss of head i, whose outputs are p, and sets dp to its
	// gradient.
	loss(i int, dp, p matrix, b *batch) float64
}

// punLessons are PUN's.
type punLessons struct{}

func (punLessons) lesson(_ int, b *batch) (y, w []float32) { return b.y, b.w }

func (punLessons) loss(_ int, dp, p matrix, b *batch) float64 {
	n := p.rows * p.cols
	return PredictiveLoss(dp.data[:n], p.data[:n], b.sNext.data[:n], p.cols)
}

// normLessons have predictiveNorm in Equation 4's place (HeadLoss).
type normLessons struct{ punLessons }

func (normLessons) loss(_ int, dp, p matrix, b *batch) float64 {
	n := p.rows * p.cols
	return predictiveNorm(dp.data[:n], p.data[:n], b.sNext.data[:n], p.cols)
}

// stepsApart gives critics and heads optimizers that move both: for steps of their
// own (PredictiveGradient separate).
func stepsApart(u *pun) {
	for _, c := range u.critics {
		for _, optimizer := range []**adam{&c.adam, &c.headAdam} {
			*optimizer = newAdam(c.params, c.gradient.params, (*optimizer).rate, u.pass.workers)
		}
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

// L2 that is added to the gradients of the critics' and of the heads' optimizer.
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// decayWeights turns the decay on (WeightDecay), once an evaluation was perfect.
func decayWeights(u *pun) {
	for _, c := range u.critics {
		c.adam.decay, c.headAdam.decay = criticDecay, headDecay
	}
}

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

// sharedActions asks with the same d actions for all candidates (SharedActions).
type sharedActions struct{ estimator }

func (s sharedActions) uncertainty(a *Agent, q question, rng stream) []float64 {
	same := &repeater{rng: rng, drawn: make([]uint64, a.sizes.Action), times: len(q.states)}
	return s.estimator.uncertainty(a, q, stream{Rand: rand.New(same)})
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

// fromStart asks about an episode's first goal in the state where the agent is
// (FirstGoalState), which the authors' filter by the threshold puts in the
// candidates' place.
type fromStart struct{ estimator }

func (s fromStart) uncertainty(a *Agent, q question, rng stream) []float64 {
	if q.first {
		q.states = slices.Repeat([][]float64{q.now}, len(q.states))
	}
	return s.estimator.uncertainty(a, q, rng)
}
