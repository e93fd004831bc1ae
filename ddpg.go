package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file is the policy of section 3.1, which is updated "as in DDPG" (Lillicrap et
// al., 2016). It also has the exploration of the appendix's table, and the normalizer of
// the networks' inputs.

// Act returns the policy's action for an observation and a goal, without exploration. The
// action's numbers are in [-1, 1], or NaN after a [*NumericError]. The caller owns the
// slice. Act panics unless observation and goal have the agent's [Sizes] and numbers within
// ±1e12.
func (a *Agent) Act(observation, goal []float64) []float64 {
	x := a.rows([][]float64{observation}, [][]float64{goal})
	action := make([]float64, a.sizes.Action)
	for i, v := range a.policy.act(a.policy.net, x).row(0) {
		action[i] = float64(v)
	}
	return action
}

// act computes actions, B by action, as the tanh of the output of network, which is π.net
// or π.target. x has B rows of s, g and a. act writes the actions into x, and also returns
// them. The returned matrix is valid until the next call.
//
// Reading R18: the paper does not say how an action is kept within its bounds;
// the tanh is from the authors' code.
func (π *policy) act(network *mlp, x matrix) matrix {
	inputs := x.columns(0, network.layers[0].w.rows) // s and g
	actions := network.forward(π.pass, inputs)
	for i, z := range actions.elements() {
		actions.data[i] = tanh32(z)
	}
	x.setLastColumns(actions)
	return actions
}

// policyGradient sets the gradient of the policy's loss on a minibatch:
//
//	-1/B Σ 1/G Σ_i Q_i(s, π(s, g), g) + l2 · mean(a²)
//
// policyGradient returns the loss. The mean of a² is over the batch and the action's
// components. x has B rows of s, g and a, and policyGradient sets a to π(s, g).
//
// It implements the policy's update of DDPG, Algorithm 1. The cost of large actions,
// l2 · mean(a²), is from the authors' code (R38).
//
// Reading R19: the policy climbs the mean of the G critics, as the authors' code does. The
// paper says "as in DDPG", but DDPG has one critic.
func (a *Agent) policyGradient(x matrix) float64 {
	π := a.policy
	actions := π.act(π.net, x) // act also writes them into x

	// dz will be the loss's gradient with respect to the network's output before the tanh.
	// At first it holds the gradient of the mean Q with respect to a.
	layers := len(π.net.layers)
	dz := π.pass.dx[layers].slice(0, x.rows)
	q := a.pun.actionGradient(dz, x)

	l2 := float32(a.params.ActionL2)
	n := float32(x.rows * actions.cols)
	square := 0.0
	for i, v := range actions.elements() {
		dCost := float32(float32(2*l2)*v) / n // the gradient of l2 · mean(a²)
		da := dCost - dz.data[i]
		dz.data[i] = da * (1 - float32(v*v))
		square += float64(float64(v) * float64(v))
	}
	π.net.backward(π.pass, π.gradient, layers)
	cost := float64(a.params.ActionL2*square) / float64(n)
	return cost - q
}

// actionGradient returns the mean 1/B Σ 1/G Σ_i Q_i(x). It sets da, B by action, to the
// mean's gradient with respect to the action columns of x, which are the last columns.
func (u *ensemble) actionGradient(da, x matrix) (mean float64) {
	layers := len(u.critics[0].q.layers)
	dq := u.pass.dx[layers].slice(0, x.rows)
	n := x.rows * len(u.critics)
	for r := range dq.elements() {
		dq.data[r] = 1 / float32(n)
	}

	clear(da.elements())
	for _, c := range u.critics {
		q, dx := c.q.inputGradient(u.pass, x, dq, x.cols-da.cols)
		for _, v := range q.elements() {
			mean += float64(v)
		}
		for r := range x.rows {
			sum := da.row(r)
			for i, v := range dx.row(r) {
				sum[i] += v
			}
		}
	}
	return mean / float64(n)
}

// An explorer turns the policy's action into the one that the agent takes.
type explorer interface {
	explore(a *Agent, action []float64)
	afterStep(a *Agent)      // is called after the step is in the replay: for departures
	savedState() savedFields // what training changes: for departures
}

// paperExplorer explores by two rows of the appendix's table: epsilon and p_random
// action.
//
// Reading R54: during the table's "initial random steps" only the goals are random (R22).
// The actions come from the policy, with the usual exploration. MEGA's code draws uniform
// actions instead.
type paperExplorer struct{}

func (paperExplorer) explore(a *Agent, action []float64) {
	if a.perturb(action, a.params.RandomAction) {
		uniformAction(action, a.exploration.Rand)
	}
}

func (paperExplorer) afterStep(*Agent)        {}
func (paperExplorer) savedState() savedFields { return nil }

// perturb adds Gaussian noise of standard deviation ε to each component of an action, and
// clips the sum to [-1, 1]. It returns true with probability p: the caller then replaces
// the action by a random one.
//
// Reading R20: the table's ε is the standard deviation of the noise, and p_random action
// is the probability of replacing the action. HER's code and the authors' do the same.
func (a *Agent) perturb(action []float64, p float64) (random bool) {
	ε := a.params.ActionNoise
	rng := a.exploration.Rand
	for i := range action {
		noisy := action[i] + float64(ε*normal(rng))
		action[i] = min(max(noisy, -1), 1)
	}
	return rng.Float64() < p
}

// uniformAction draws an action uniformly from the action space, [-1, 1] in each
// component.
func uniformAction(action []float64, rng *rand.Rand) {
	for i := range action {
		action[i] = symmetric(rng)
	}
}

// A policy is π_θ, a network from s and g to an action in [-1, 1], with its target network
// and what an update needs.
type policy struct {
	net      *mlp // π_θ, without the tanh
	target   *mlp
	follower // moves target towards net
	gradient *mlp
	adam     *adam
	pass     *pass
}

func newPolicy(p *Params, sizes Sizes, rng *rand.Rand, w *workers) *policy {
	widths := p.widths(sizes.Observation+sizes.Goal, sizes.Action)
	n := mlpSize(widths)
	π := &policy{
		net:      newMLP(make([]float32, n), widths),
		target:   newMLP(make([]float32, n), widths),
		gradient: newMLP(make([]float32, n), widths),
		pass:     newPass(widths, w),
	}
	π.adam = newAdam(π.net.params, π.gradient.params, p.ActorRate, w)
	π.follower = follower{target: π.target.params, online: π.net.params, ρ: p.Polyak}
	π.net.initialize(rng)
	copy(π.target.params, π.net.params)
	return π
}

// A normalizer scales vectors to about zero mean and unit deviation. It takes mean and
// deviation from the vectors that it has been shown.
//
// Reading R21: the paper does not mention a normalizer. This one is as in HER's public code
// and in the authors' code. The count starts at 1 with zero sums, as if a vector of zeros
// had been shown. Until the first update the normalizer only clips.
type normalizer struct {
	sum    []float64 // of the vectors
	square []float64 // sum of their squares
	count  float64   // how many vectors, plus 1
	mean   []float64
	scale  []float64 // 1/deviation
	clip   float64   // largest magnitude of a scaled number
	floor  float64   // least deviation
}

func newNormalizer(size int, p *Params) *normalizer {
	return &normalizer{
		sum:    make([]float64, size),
		square: make([]float64, size),
		count:  1,
		mean:   make([]float64, size),
		scale:  slices.Repeat([]float64{1}, size),
		clip:   p.NormalizerClip,
		floor:  p.NormalizerFloor,
	}
}

// add shows the normalizer one vector, which has no effect until the next update.
func (n *normalizer) add(x []float64) {
	n.count++
	for i, v := range x {
		n.sum[i] += v
		n.square[i] += float64(v * v)
	}
}

// update sets mean and scale from the sums.
func (n *normalizer) update() {
	if n.count == 1 {
		return // nothing was shown
	}
	for i := range n.mean {
		m := n.sum[i] / n.count
		variance := n.square[i]/n.count - float64(m*m)
		least := float64(n.floor * n.floor)
		n.mean[i] = m
		n.scale[i] = 1 / math.Sqrt(max(variance, least))
	}
}

// normalize sets dst to (x - mean) / deviation, clipped.
func (n *normalizer) normalize(dst []float32, x []float64) {
	for i, v := range x {
		scaled := float64((v - n.mean[i]) * n.scale[i])
		dst[i] = float32(min(max(scaled, -n.clip), n.clip))
	}
}

// input sets the first columns of a row to s and g, normalized.
func (a *Agent) input(row []float32, observation, goal []float64) {
	s := row[:len(observation)]
	a.stateScale.normalize(s, observation)
	g := row[len(observation):][:len(goal)]
	a.goalScale.normalize(g, goal)
}

// showNormalizers draws some transitions of the finished episode, with replacement, and
// adds their states and goals to the normalizers.
//
// Reading R120: the goals shown are relabeled like the goals of a minibatch, as in the
// authors' code.
func (a *Agent) showNormalizers() {
	p := &a.params
	first := a.step - p.Horizon // the episode's first transition
	for range p.NormalizerDraws {
		i := first + a.draws.index(p.Horizon)
		a.stateScale.add(a.replay.observation.at(i))
		a.goalScale.add(a.curriculum.replayGoal(a, i))
	}
	a.stateScale.update()
	a.goalScale.update()
}
