package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file holds how the public code of QTA's authors learns and estimates uncertainty
// differently from the paper. [Authors] has the numbers in which the code differs. No set
// has its differences in R4, R29, R115 and R116.

// An authorsLearner updates the networks as the authors' code does. Critics, heads and
// policy each have a minibatch of their own. Critics and heads each take a step of their
// own, and both steps move the backbone.
type authorsLearner struct {
	paperLearner
	headBatch, policyBatch batch
}

// update is one step of every network.
//
// Reading R48: the paper updates the policy "as in DDPG". DDPG's Algorithm 1 updates
// critic and policy on one minibatch, and so does the learner of [Paper]. The policy of
// the authors' code has a minibatch of its own.
//
// Reading R50: Equation 4 sums over B, the critics' minibatch. The authors' heads have a
// minibatch of their own, which is drawn by episode and keeps the goals pursued.
//
// Reading R52: the paper has no weight decay. In the authors' code it begins with the
// first perfect evaluation, and so makes training depend on evaluations.
func (l *authorsLearner) update(a *Agent) error {
	u := a.pun
	b := &a.batch
	if err := a.draw(b, a.sampler, a.curriculum.replayGoal); err != nil {
		return err
	}
	uniform := uniformSampler{a.replay}
	if err := a.draw(&l.headBatch, episodeSampler{uniform}, pursuedGoal); err != nil {
		return err
	}
	if err := a.draw(&l.policyBatch, uniform, a.curriculum.replayGoal); err != nil {
		return err
	}
	a.updates++
	if a.SolvedAt() > 0 { // after a perfect evaluation
		u.startWeightDecay()
	}

	a.policy.act(a.policy.target, b.next)
	for r := range b.next.rows {
		action := b.next.row(r)[b.next.cols-a.sizes.Action:]
		smooth(action, targetNoise, a.learning.Rand)
	}
	u.heads.targets(u, b, a.learning)                  // Equation 1
	a.losses.critic = u.termGradients(b, u.criticTerm) // Equation 2
	for _, c := range u.critics {
		c.adam.step()
	}
	a.sampler.prioritize(b)
	u.follow() // Equation 3

	a.losses.head = u.termGradients(&l.headBatch, u.headTerm) // predictiveNorm
	for _, c := range u.critics {
		c.headAdam.step()
	}

	a.losses.policy = a.policyGradient(l.policyBatch.x)
	a.policy.adam.step()
	a.policy.follow(a.workers)
	return a.checkLosses()
}

// termGradients sets the gradients of all critics to the gradients of one term, and
// returns the mean loss. A term has no gradient in the layer of the other term, Q_final
// or the head, so only weight decay moves that layer.
func (u *ensemble) termGradients(b *batch, t term) (loss float64) {
	for i, c := range u.critics {
		clear(c.gradient.params)
		one, ξ := u.oneGradient(i, b, t)
		loss += one
		u.predict(i, b.predictions[i], ξ) // for priorities
	}
	return loss / float64(len(u.critics))
}

// authorsEnsemble gives u the authors' bound on returns, and optimizers for critics and
// for heads that both move the backbone.
//
// Reading R46: the least return is -1/(1-γ), the sum of rewards of -1. The authors' -150
// has no source, so the paper's learner does not use it.
func (u *ensemble) authorsEnsemble() {
	u.lowest = -150
	for _, c := range u.critics {
		c.adam = newAdam(c.params, c.gradient.params, u.params.CriticRate, u.pass.workers)
		c.headAdam = newAdam(c.params, c.gradient.params, u.params.PredictiveRate, u.pass.workers)
	}
}

// The coefficients of the weight decay (L2) of critics and of heads.
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// startWeightDecay lets weights decay in every later step of critics and heads.
func (u *ensemble) startWeightDecay() {
	for _, c := range u.critics {
		c.adam.decay = criticDecay
		c.headAdam.decay = headDecay
	}
}

// An episodeSampler draws an episode uniformly, and then one of its transitions. The
// running episode has fewer transitions, so each of these is likelier to be drawn.
type episodeSampler struct{ uniformSampler }

func (s episodeSampler) draw(rng stream) int {
	episodes := (s.n + s.horizon - 1) / s.horizon
	first := rng.index(episodes) * s.horizon
	return first + rng.index(s.episodeEnd(first)-first)
}

// authorsHeads predict the next achieved goal, and learn by predictiveNorm instead of
// Equation 4.
type authorsHeads struct{ paperHeads }

func (authorsHeads) headTarget(r *replay, i int) []float64 { return r.nextAchieved.at(i) }

func (authorsHeads) loss(_ int, dp, p matrix, b *batch) float64 {
	return predictiveNorm(dp.data, p.data, b.sNext.data, p.cols)
}

// predictiveNorm takes the place of Equation 4 in the authors' code:
// 1/B Σ |p - s'|, the mean Euclidean norm. At p = s' the gradient is zero.
func predictiveNorm(dp, p, s []float32, width int) float64 {
	rows := len(p) / width
	sum := 0.0
	for r := range rows {
		row := r * width // where row r begins
		square := 0.0
		for i := row; i < row+width; i++ {
			δ := float64(p[i] - s[i])
			square += float64(δ * δ)
		}
		norm := math.Sqrt(square)
		sum += norm

		for i := row; i < row+width; i++ {
			dp[i] = 0
			if norm > 0 {
				dp[i] = float32(float64(p[i]-s[i]) / (norm * float64(rows)))
			}
		}
	}
	return sum / float64(rows)
}

// The standard deviation and the largest magnitude of the noise that smooth adds to a'.
const (
	targetNoise     = 0.2
	targetNoiseClip = 0.5
)

// smooth adds noise to a', as TD3 (Fujimoto et al., 2018) does. The noise has standard
// deviation σ and is clipped to ±targetNoiseClip; the sum is clipped to [-1, 1].
//
// Reading R47: Equation 1 has no noise.
func smooth(actions []float32, σ float64, rng *rand.Rand) {
	for i, a := range actions {
		noise := float64(σ * normal(rng))
		noise = min(max(noise, -targetNoiseClip), targetNoiseClip)
		actions[i] = float32(min(max(float64(a)+noise, -1), 1))
	}
}

// An authorsEstimator takes the agent's current state in place of the candidates' states,
// if the candidates are for an episode's first goal. In the authors' code the filter by
// the threshold replaces the states.
//
// Reading R56: in section 3.2 the state is the candidate's, for every goal.
type authorsEstimator struct{ estimator }

func (e authorsEstimator) uncertainty(a *Agent, c candidates, rng stream) []float64 {
	if c.first {
		c.states = slices.Repeat([][]float64{c.now}, len(c.states))
	}
	return e.estimator.uncertainty(a, c, rng)
}
