package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file is Query The Agent in one sitting: the whole algorithm, from the
// paper, in loops over single numbers. It has no matrices, threads, workspaces
// or variants, and shares nothing with the rest of the package but Params, Env,
// the random generators and the functions of number.go. Everything else in the
// package is efficiency, variants and tools: TestPlain trains the engine beside
// it and finds the same bits in every network, and the same goals. What Default
// has beyond the paper, beyond.go has.
//
// Networks are float32, and a sum of products in them is a chain of fused
// multiply-adds; formulas on few numbers are float64.

// A plainAgent is QTA in training.
type plainAgent struct {
	p             Params
	seed          uint64
	policy        plainLearner
	pun           []plainLearner // G critics: Q is the first output, then the predicted s'
	replay        []plainTransition
	largest       float64 // priority so far
	states, goals plainNormalizer
	successes     []float64 // of the evaluations

	exploration, environment, draws, learning, goalDraws stream // chance, one for each use
}

type plainTransition struct {
	s, achieved, a, goal, sNext, achievedNext []float64
	priority                                  float64
}

// train is the algorithm. Episodes have T steps, whatever goals they reach.
func (q *plainAgent) train(env, evaluation Env, steps, evalEvery, rollouts int) {
	var now State
	var goal []float64
	T := q.p.Horizon
	for step := 1; step <= steps; step++ {
		if (step-1)%T == 0 {
			now = env.Reset(q.environment.Rand)
			goal = q.chooseGoal(step-1, now, true)
		}
		t := plainTransition{s: slices.Clone(now.Observation), achieved: slices.Clone(now.Achieved), goal: goal, priority: q.largest}
		t.a = q.explore(q.policy.net.act(q.input(now.Observation, goal)))
		now, _ = env.Step(t.a)
		t.sNext, t.achievedNext = slices.Clone(now.Observation), slices.Clone(now.Achieved)
		q.replay = append(q.replay, t)
		if env.Reward(now.Achieved, goal) == 0 && step%T != 0 {
			goal = q.chooseGoal(step, now, false)
		}
		if step > q.p.LearningStarts {
			q.update(env, step)
		}
		if step%T == 0 {
			q.showNormalizers(step - T)
		}
		if step%evalEvery == 0 {
			q.successes = append(q.successes, q.evaluate(evaluation, rollouts, step))
		}
	}
}

// chooseGoal is section 3.2: among goals achieved before, one where the agent
// is uncertain.
func (q *plainAgent) chooseGoal(step int, now State, first bool) []float64 {
	n := len(q.replay)
	if n == 0 {
		return slices.Clone(now.Achieved)
	}
	if step < q.p.InitialSteps {
		return q.replay[q.goalDraws.index(n)].achieved
	}
	candidates := slices.Clone(q.replay)
	if n > q.p.Candidates {
		candidates = nil
		for range q.p.Candidates {
			candidates = append(candidates, q.replay[q.goalDraws.index(n)])
		}
	}
	if first {
		candidates = q.achievable(candidates, now)
	}
	p := q.goalProbabilities(q.uncertainty(candidates, now.Desired))
	chosen, u := 0, q.goalDraws.Float64()
	for k := range p {
		if p[k] > 0 {
			chosen = k
			if u -= p[k]; u < 0 {
				break
			}
		}
	}
	return candidates[chosen].achieved
}

// achievable keeps the goals with a mean Q of at least cT, or all (section 3.3).
func (q *plainAgent) achievable(candidates []plainTransition, now State) (kept []plainTransition) {
	for _, c := range candidates {
		x := q.input(now.Observation, c.achieved)
		x = append(x, q.policy.net.act(x)...)
		mean := 0.0
		for _, critic := range q.pun {
			mean += float64(critic.net.output(x)[0]) / float64(len(q.pun))
		}
		if mean >= float64(q.p.Threshold*float64(q.p.Horizon)) {
			kept = append(kept, c)
		}
	}
	if kept == nil {
		return candidates
	}
	return kept
}

// uncertainty is Equation 5: the heads' deviation, the mean over d actions.
func (q *plainAgent) uncertainty(candidates []plainTransition, desired []float64) []float64 {
	ε, d := make([]float64, len(candidates)), q.p.UncertaintyActions
	for range d {
		for k, c := range candidates {
			goal := desired
			if q.p.UncertaintyGoal == "candidate" {
				goal = c.achieved
			}
			x := append(q.input(c.s, goal), float32s(q.randomAction(len(c.a), q.goalDraws))...)
			var predictions [][]float32
			for _, critic := range q.pun {
				predictions = append(predictions, critic.net.output(x)[1:])
			}
			ε[k] += plainDeviation(predictions) / float64(d)
		}
	}
	return ε
}

// plainDeviation is the sample standard deviation over the heads, the mean over
// the components of their predictions.
func plainDeviation(heads [][]float32) (u float64) {
	for c := range heads[0] {
		mean, square := 0.0, 0.0
		for _, h := range heads {
			mean += float64(h[c])
		}
		mean /= float64(len(heads))
		for _, h := range heads {
			δ := float64(h[c]) - mean
			square += float64(δ * δ)
		}
		u += math.Sqrt(square / float64(len(heads)-1))
	}
	return u / float64(len(heads[0]))
}

// goalProbabilities is Equation 6, of uncertainties scaled to [0, 1].
func (q *plainAgent) goalProbabilities(ε []float64) []float64 {
	low, high := slices.Min(ε), slices.Max(ε)
	p, sum := make([]float64, len(ε)), 0.0
	for k := range p {
		if high > low {
			p[k] = (ε[k] - low) / (high - low)
		}
		p[k] = max(float64(q.p.Slope*p[k])+q.p.Intercept, 0)
		sum += p[k]
	}
	for k := range p {
		if p[k] /= sum; sum == 0 {
			p[k] = 1 / float64(len(p))
		}
	}
	return p
}

// explore adds noise to the policy's action, or takes a random one.
func (q *plainAgent) explore(action []float32) []float64 {
	a := float64s(action)
	for i := range a {
		a[i] = min(max(a[i]+float64(q.p.ActionNoise*normal(q.exploration.Rand)), -1), 1)
	}
	if q.exploration.Float64() < q.p.RandomAction {
		return q.randomAction(len(a), q.exploration)
	}
	return a
}

func (q *plainAgent) randomAction(n int, rng stream) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = symmetric(rng.Rand)
	}
	return a
}

// A plainSample is a transition of a minibatch as the networks see it.
type plainSample struct {
	i       int       // which it is
	x, next []float32 // s, g and a; s' and g
	sNext   []float32 // s' as it is
	r, w    float32   // reward and importance weight
}

// sample draws a minibatch, all transitions alike or by Equation 7, and relabels
// it.
func (q *plainAgent) sample(env Env, step int) (batch []plainSample) {
	P, w := q.priorities(step)
	for range q.p.Batch {
		b := plainSample{w: 1}
		if q.p.Replay == "uniform" {
			b.i = q.draws.index(len(q.replay))
		} else {
			for u := q.draws.Float64(); b.i < len(P)-1 && u >= P[b.i]; b.i++ {
				u -= P[b.i]
			}
			b.w = float32(w[b.i])
		}
		t, goal := q.replay[b.i], q.relabel(b.i)
		b.x, b.next = append(q.input(t.s, goal), float32s(t.a)...), q.input(t.sNext, goal)
		b.sNext, b.r = float32s(t.sNext), float32(env.Reward(t.achievedNext, goal))
		batch = append(batch, b)
	}
	return batch
}

// relabel is HER's "future": of k+1 transitions k have a goal that was achieved
// later in their episode.
func (q *plainAgent) relabel(i int) []float64 {
	if k := q.p.HindsightRatio; q.draws.Float64() < k/(k+1) {
		end := min((i/q.p.Horizon+1)*q.p.Horizon, len(q.replay))
		return q.replay[i+int(q.draws.Float64()*float64(end-i))].achievedNext
	}
	return q.replay[i].goal
}

// priorities is Equations 7 and 8: with which probability each transition is
// drawn, and the weight that undoes the bias, over the largest.
func (q *plainAgent) priorities(step int) (P, w []float64) {
	sum := 0.0
	for _, t := range q.replay {
		P = append(P, pow(t.priority, q.p.PriorityAlpha))
		sum += P[len(P)-1]
	}
	β := min(1, q.p.PriorityBeta+float64((1-q.p.PriorityBeta)*float64(step)/float64(q.p.PriorityBetaSteps)))
	for j := range P {
		P[j] /= sum
		w = append(w, pow(1/float64(float64(len(P))*P[j]), β))
	}
	largest := slices.Max(w)
	for j := range w {
		w[j] /= largest
	}
	return P, w
}

// update is one step of every network on a minibatch.
func (q *plainAgent) update(env Env, step int) {
	batch := q.sample(env, step)
	y := q.target(batch)
	heads := make([][][]float32, len(batch))
	for i := range q.pun {
		q.learnCritic(&q.pun[i], batch, y, heads)
	}
	for k, b := range batch {
		t := &q.replay[b.i]
		t.priority = plainDeviation(heads[k])
		q.largest = max(q.largest, t.priority)
	}
	for _, critic := range q.pun {
		critic.follow(q.p.Polyak)
	}
	q.learnPolicy(batch)
	q.policy.follow(q.p.Polyak)
}

// target is Equation 1, with the minimum over two critics, clipped to the
// returns that there are.
func (q *plainAgent) target(batch []plainSample) (y []float32) {
	i, j := q.learning.index(len(q.pun)), q.learning.index(len(q.pun)-1)
	if j >= i {
		j++
	}
	for _, b := range batch {
		x := append(b.next, q.policy.target.act(b.next)...)
		least := min(q.pun[i].target.output(x)[0], q.pun[j].target.output(x)[0])
		y = append(y, min(max(b.r+float32(float32(q.p.Discount)*least), float32(-1/(1-q.p.Discount))), 0))
	}
	return y
}

// learnCritic descends Equation 2 plus Equation 4, and notes what the head
// predicts of each transition.
func (q *plainAgent) learnCritic(critic *plainLearner, batch []plainSample, y []float32, heads [][][]float32) {
	scale := 2 / float32(len(batch))
	for k, b := range batch {
		out := critic.net.output(b.x)
		heads[k] = append(heads[k], slices.Clone(out[1:]))
		out[0] = float32(scale*b.w) * (out[0] - y[k])
		for c := range b.sNext {
			out[1+c] = scale * (out[1+c] - b.sNext[c])
		}
		critic.net.backward(b.x, out)
	}
	critic.adam(func(layer, output int) float64 {
		if layer == q.p.HiddenLayers && output > 0 {
			return q.p.PredictiveRate
		}
		return q.p.CriticRate
	})
}

// learnPolicy climbs the critics' mean value of the policy's own actions, as in
// DDPG, and keeps them small.
func (q *plainAgent) learnPolicy(batch []plainSample) {
	for _, b := range batch {
		s := b.x[:len(b.next)]
		a := q.policy.net.act(s)
		x, da := append(slices.Clone(s), a...), make([]float32, len(a))
		for _, critic := range q.pun {
			dq := make([]float32, 1+len(b.sNext))
			dq[0] = 1 / float32(len(batch)*len(q.pun))
			for i, v := range critic.net.backward(x, dq)[len(s):] {
				da[i] += v
			}
		}
		for i := range a { // through the mean of a², and then through tanh
			l2 := float32(float32(2*float32(q.p.ActionL2))*a[i]) / float32(len(batch)*len(a))
			da[i] = (l2 - da[i]) * (1 - float32(a[i]*a[i]))
		}
		q.policy.net.backward(s, da)
	}
	q.policy.adam(func(int, int) float64 { return q.p.ActorRate })
	for _, critic := range q.pun { // which stay
		critic.net.each(func(_, _ int, w *plainWeight) { w.gradient = 0 })
	}
}

// evaluate is the share of rollouts that end at the environment's goal.
func (q *plainAgent) evaluate(env Env, rollouts, step int) (success float64) {
	rng := newStream(q.seed, forEvaluation+purpose(step)<<8)
	for range rollouts {
		s := env.Reset(rng.Rand)
		for range q.p.Horizon {
			s, _ = env.Step(float64s(q.policy.net.act(q.input(s.Observation, s.Desired))))
		}
		success += 1 + env.Reward(s.Achieved, s.Desired)
	}
	return success / float64(rollouts)
}

// A plainWeight is one parameter, its gradient and Adam's two moments.
type plainWeight struct{ x, gradient, m, v float32 }

// A plainNet is affine layers with ReLU between them. Of each layer,
// [k][j] joins input k to output j, and after the inputs comes the bias.
type plainNet [][][]plainWeight

// forward returns the input of each layer, and last the output.
func (n plainNet) forward(x []float32) [][]float32 {
	xs := [][]float32{x}
	for l, layer := range n {
		y := make([]float32, len(layer[0]))
		for j := range y {
			y[j] = layer[len(xs[l])][j].x
			for k, v := range xs[l] {
				y[j] = multiplyAdd(v, layer[k][j].x, y[j])
			}
			if l < len(n)-1 && y[j] < 0 {
				y[j] = 0
			}
		}
		xs = append(xs, y)
	}
	return xs
}

func (n plainNet) output(x []float32) []float32 { return n.forward(x)[len(n)] }

// act is the output through tanh.
func (n plainNet) act(x []float32) []float32 {
	a := n.output(x)
	for i := range a {
		a[i] = tanh32(a[i])
	}
	return a
}

// backward is backpropagation: it adds to the gradients, and returns that of
// the input.
func (n plainNet) backward(x, dy []float32) []float32 {
	xs := n.forward(x)
	for l := len(n) - 1; l >= 0; l-- {
		dx := make([]float32, len(xs[l]))
		for j, d := range dy {
			for k, v := range xs[l] {
				n[l][k][j].gradient = multiplyAdd(v, d, n[l][k][j].gradient)
				dx[k] = multiplyAdd(d, n[l][k][j].x, dx[k])
			}
			n[l][len(dx)][j].gradient += d
		}
		for k, v := range xs[l] {
			if l > 0 && v == 0 {
				dx[k] = 0
			}
		}
		dy = dx
	}
	return dy
}

func (n plainNet) each(f func(layer, output int, w *plainWeight)) {
	for l := range n {
		for k := range n[l] {
			for j := range n[l][k] {
				f(l, j, &n[l][k][j])
			}
		}
	}
}

// A plainLearner is a network, its target, and β₁ᵗ and β₂ᵗ of Adam.
type plainLearner struct {
	net, target  plainNet
	beta1, beta2 float64
}

// adam is one step of Adam. The gradients begin anew.
func (q *plainLearner) adam(rate func(layer, output int) float64) {
	q.beta1 *= 0.9
	q.beta2 *= 0.999
	flush := func(x float32) float32 { // denormal numbers are slow
		if x < 0x1p-126 && x > -0x1p-126 {
			return 0
		}
		return x
	}
	q.net.each(func(layer, output int, w *plainWeight) {
		w.m = flush(float32(0.9*w.m) + float32(0.1*w.gradient))
		w.v = flush(float32(0.999*w.v) + float32(float32(0.001*w.gradient)*w.gradient))
		step, scale := float32(rate(layer, output)/(1-q.beta1)), float32(1/math.Sqrt(1-q.beta2))
		w.x -= float32(float32(step*w.m) / (float32(float32(math.Sqrt(float64(w.v)))*scale) + 1e-8))
		w.gradient = 0
	})
}

// follow is Equation 3.
func (q *plainLearner) follow(ρ float64) {
	var online []float32
	q.net.each(func(_, _ int, w *plainWeight) { online = append(online, w.x) })
	q.target.each(func(_, _ int, t *plainWeight) {
		t.x, online = float32(float32(ρ)*t.x)+float32(float32(1-ρ)*online[0]), online[1:]
	})
}

// input is s and g, scaled to mean 0 and deviation 1.
func (q *plainAgent) input(s, g []float64) []float32 {
	return append(q.states.scale(s, &q.p), q.goals.scale(g, &q.p)...)
}

// A plainNormalizer knows mean and 1/deviation of what it was shown, and of a
// zero.
type plainNormalizer struct {
	shown         [][]float64
	mean, inverse []float64
}

func (n *plainNormalizer) scale(x []float64, p *Params) (y []float32) {
	for i, v := range x {
		y = append(y, float32(min(max(float64((v-n.mean[i])*n.inverse[i]), -p.NormalizerClip), p.NormalizerClip)))
	}
	return y
}

func (n *plainNormalizer) update(p *Params) {
	for i := range n.mean {
		sum, square, count := 0.0, 0.0, float64(1+len(n.shown))
		for _, x := range n.shown {
			sum, square = sum+x[i], square+float64(x[i]*x[i])
		}
		n.mean[i] = sum / count
		n.inverse[i] = 1 / math.Sqrt(max(square/count-float64(n.mean[i]*n.mean[i]), float64(p.NormalizerFloor*p.NormalizerFloor)))
	}
}

// showNormalizers takes in draws from an episode, relabelled.
func (q *plainAgent) showNormalizers(begin int) {
	for range q.p.NormalizerDraws {
		i := begin + q.draws.index(q.p.Horizon)
		q.states.shown = append(q.states.shown, q.replay[i].s)
		q.goals.shown = append(q.goals.shown, q.relabel(i))
	}
	q.states.update(&q.p)
	q.goals.update(&q.p)
}

func newPlainAgent(p Params, sizes Sizes, seed uint64) *plainAgent {
	chance := func(use purpose) stream { return newStream(seed, use) }
	normalizer := func(n int) plainNormalizer {
		return plainNormalizer{mean: make([]float64, n), inverse: slices.Repeat([]float64{1}, n)}
	}
	q := &plainAgent{p: p, seed: seed, largest: 1, states: normalizer(sizes.Observation), goals: normalizer(sizes.Goal),
		exploration: chance(forExploration), environment: chance(forEnvironment), draws: chance(forReplay), learning: chance(forLearning), goalDraws: chance(forGoals)}
	rng := chance(forInitialisation).Rand
	q.policy = newPlainLearner(p, rng, sizes.Observation+sizes.Goal, sizes.Action)
	for range p.Critics {
		q.pun = append(q.pun, newPlainLearner(p, rng, sizes.Observation+sizes.Goal+sizes.Action, 1, sizes.Observation))
	}
	return q
}

// newPlainLearner draws the weights of each layer from ±1/√in. The last layer
// has outputs of several kinds.
func newPlainLearner(p Params, rng *rand.Rand, in int, outputs ...int) plainLearner {
	draw := func(in, out int) [][]plainWeight {
		layer := make([][]plainWeight, in+1)
		for k := range layer {
			for range out {
				layer[k] = append(layer[k], plainWeight{x: float32(1 / math.Sqrt(float64(in)) * symmetric(rng))})
			}
		}
		return layer
	}
	var net plainNet
	for range p.HiddenLayers {
		net = append(net, draw(in, p.HiddenSize))
		in = p.HiddenSize
	}
	last := make([][]plainWeight, in+1)
	for _, n := range outputs {
		for k, row := range draw(in, n) {
			last[k] = append(last[k], row...)
		}
	}
	net = append(net, last)
	target := make(plainNet, len(net))
	for l := range net {
		for _, row := range net[l] {
			target[l] = append(target[l], slices.Clone(row))
		}
	}
	return plainLearner{net, target, 1, 1}
}

// multiplyAdd is x*y + z rounded once, as in the kernels, or twice where there
// is none.
func multiplyAdd(x, y, z float32) float32 {
	if best == generic {
		return float32(x*y) + z
	}
	return exactFMA(x, y, z)
}
