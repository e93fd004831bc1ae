package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file holds the steps in which the authors' public code, and other
// learners that its switches allow, depart from the paper; where the method comes
// to one, a condition on its parameter says so. Departures in a number are in
// [Authors], departures of a baseline's learner in that baseline's file.

// ownBatches returns the minibatches of heads and policy: the critics', b, or
// with HeadOwnDraw and ActorOwnDraw one of their own, the policy's without
// priorities.
func (a *Agent) ownBatches(b *batch) (heads, actor *batch) {
	heads, actor = b, b
	if a.params.HeadOwnDraw {
		heads = &a.headBatch
		a.minibatch(heads, a.drawByEpisode, pursuedGoal)
	}
	if a.params.ActorOwnDraw {
		actor = &a.actorBatch
		a.minibatch(actor, a.drawUniformly, a.curriculum.replayGoal)
	}
	return heads, actor
}

// drawByEpisode draws an episode uniformly, and then one of its transitions. A
// running episode has fewer, so each is likelier.
func (a *Agent) drawByEpisode() int {
	r := a.replay
	first := a.draws.index((r.n+r.horizon-1)/r.horizon) * r.horizon
	return first + a.draws.index(r.episodeEnd(first)-first)
}

// pursuedGoal returns the goal that was pursued in transition i.
func pursuedGoal(a *Agent, i int) []float64 { return a.replay.relabel(i, 0, a.draws.Rand) }

// headsApart reports whether the heads have a step of their own, after the
// critics'.
func (p *Params) headsApart() bool {
	return p.PredictiveGradient == "separate" || p.PredictiveGradient == "head" && p.HeadOwnDraw
}

// L2 that is added to the gradients of the critics' and of the heads' optimizer.
const (
	criticDecay = 1e-9
	headDecay   = 2.5e-10
)

// decayWeights turns the weight decay on once an evaluation was perfect.
func (a *Agent) decayWeights() {
	if a.SolvedAt() == 0 || !a.params.WeightDecay {
		return
	}
	for _, c := range a.pun.critics {
		c.adam.decay, c.headAdam.decay = criticDecay, headDecay
	}
}

// predicted returns what the heads are to predict of transition i.
func (a *Agent) predicted(i int) []float64 {
	if a.params.HeadTarget == "achieved" {
		return a.replay.nextAchieved.at(i)
	}
	return a.replay.nextObservation.at(i)
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
