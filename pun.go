package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// This file is section 3.1: Predictive Uncertainty Networks, an ensemble of G
// critics. Each critic has a head, the predictive network, whose input is the critic's
// last hidden state ξ.
//
// Matrices are row-major float32. Those of a batch have B rows, one for each transition.
// A row of a critic's input is s, g and a side by side.

// TDTarget sets y to the target that all critics learn from: y = r + γ min(q1, q2). q1 and
// q2 are Q_targ(s', a', g') by the two target critics in M, and γ is discount. All slices
// have B values, and y may be q1 or q2.
//
// It implements QTA, Equation 1 (Section 3.1).
//
// Reading R8: no state is terminal, so every target includes the next state's value, even
// where the goal is reached or the episode ends.
func TDTarget(y, r, q1, q2 []float32, discount float64) {
	γ := float32(discount)
	for i := range y {
		y[i] = r[i] + float32(γ*min(q1[i], q2[i]))
	}
}

// drawPair returns M, two different indices of n critics. All pairs are equally likely.
// With one critic, as in MEGA and VDS, i = j = 0 and nothing is drawn.
//
// Reading R9: M is drawn anew for each minibatch, and is the same for all of its
// transitions and all critics, as in REDQ's Algorithm 1.
func drawPair(rng stream, n int) (i, j int) {
	if n == 1 {
		return 0, 0
	}
	i = rng.index(n)
	j = rng.index(n - 1)
	if j >= i {
		j++
	}
	return i, j
}

// clipReturns clips values to the range of possible returns, from u.lowest to 0. With
// ClipReturns off it does nothing.
//
// Differs D26: Equation 1 has no bounds, but [Paper] clips its target. Every discounted sum
// of rewards -1 and 0 lies between u.lowest and 0.
func (u *ensemble) clipReturns(values []float32) {
	if !u.params.ClipReturns {
		return
	}
	for k, y := range values {
		values[k] = min(max(y, float32(u.lowest)), 0)
	}
}

// CriticLoss returns a critic's loss 1/B Σ w (q - y)² and sets dq to its gradient with
// respect to q. All slices have length B. w holds the weights of Equation 8, or ones.
//
// It implements QTA, Equation 2 (Section 3.1).
func CriticLoss(dq, q, y, w []float32) float64 {
	scale := 2 / float32(len(q))
	sum := 0.0
	for i := range q {
		δ := q[i] - y[i]
		dq[i] = float32(scale*w[i]) * δ
		square := float64(float64(δ) * float64(δ))
		sum += float64(float64(w[i]) * square)
	}
	return sum / float64(len(q))
}

// Polyak moves a target network towards its network: φ_targ = ρ φ_targ + (1-ρ) φ.
// It panics if lengths differ.
//
// It implements QTA, Equation 3 (Section 3.1).
func Polyak(target, online []float32, ρ float64) {
	if len(target) != len(online) {
		panic("qta: Polyak: networks differ in size")
	}
	kept := float32(ρ)
	moved := float32(1 - ρ)
	n := polyakVector(target, online, kept, moved) // it has set the first n elements, as the loop would
	for i := n; i < len(target); i++ {
		target[i] = float32(kept*target[i]) + float32(moved*online[i])
	}
}

// PredictiveLoss returns one predictive head's loss 1/B Σ |p - s'|² and sets dp to its
// gradient with respect to p. s holds s'; p, s and dp are B by width.
//
// It implements QTA, Equation 4 (Section 3.1).
//
// Reading R119: the display has (s' - s̃')², the square of a vector. It is read as the
// vector's squared norm, the sum over the components.
func PredictiveLoss(dp, p, s []float32, width int) float64 {
	B := len(p) / width
	scale := 2 / float32(B)
	sum := 0.0
	for i := range p {
		δ := p[i] - s[i]
		dp[i] = scale * δ
		d := float64(δ)
		sum += float64(d * d)
	}
	return sum / float64(B)
}

// HeadDeviation sets u, of B values, to the disagreement of the G predictive heads. For
// each component it takes the sample standard deviation over the heads, and then the mean
// over the components. u is in the components' unit. With one head all of u is 0.
//
// heads[i] holds the outputs of head i, B rows of equal length. The first width outputs of
// a row are the prediction, and the rest is ignored.
//
// It is part of QTA, Equation 5.
//
// Differs D27: Equation 5 as displayed averages the predictions, which would measure
// nothing. The text of section 3.1 takes their standard deviation.
//
// Reading R16: the sum of squares is divided by G-1, and components are averaged; the
// paper says neither.
func HeadDeviation(u []float64, heads [][]float32, width int) {
	G := float64(len(heads))
	for r := range u {
		row := r * len(heads[0]) / len(u) // where row r begins
		sum := 0.0
		for c := range width {
			square := squaredDeviations(heads, row+c)
			sum += math.Sqrt(square / max(G-1, 1))
		}
		u[r] = sum / float64(width)
	}
}

// squaredDeviations returns Σ (x - mean)², where x is each member's value at index k.
func squaredDeviations(members [][]float32, k int) (sum float64) {
	mean := 0.0
	for _, values := range members {
		mean += float64(values[k])
	}
	mean /= float64(len(members))
	for _, values := range members {
		δ := float64(values[k]) - mean
		sum += float64(δ * δ)
	}
	return sum
}

// An ensemble is the critics with their heads, and what their updates need.
type ensemble struct {
	params  *Params
	critics []*critic
	shape
	heads  heads
	lowest float64 // the lowest possible return

	pass  *pass
	headT matrix // scratch for a head's weights or their gradient, transposed
}

// A shape holds the sizes of an ensemble's heads, and how many random actions an estimate
// takes.
type shape struct {
	predicted int // components of the vector that a head predicts
	headWidth int // outputs of a head: predicted, or predicted + 1 in deep ensembles
	d         int // random actions of one estimate of uncertainty
}

// heads decides what an ensemble learns: the targets of its critics, and the targets and
// the loss of its predictive heads. PUN has paperHeads. The ensembles that the paper
// compares PUN with have other implementations.
type heads interface {
	// headTarget returns what a head learns to predict for transition i.
	headTarget(r *replay, i int) []float64

	// targets computes the targets of Equation 1, which criticTargets then returns. b.next
	// holds s', g' and a'.
	targets(u *ensemble, b *batch, rng stream)

	// criticTargets returns the targets y of critic i, and the weights w of its loss. They
	// differ between critics only for departures.
	criticTargets(i int, b *batch) (y, w []float32)

	// loss returns the loss of head i, Equation 4, given the head's outputs p. It sets dp
	// to the loss's gradient with respect to p.
	loss(i int, dp, p matrix, b *batch) float64
}

// paperHeads are PUN's heads.
type paperHeads struct{}

// paperShape returns the shape of PUN's heads.
func paperShape(p *Params, sizes Sizes) shape {
	return shape{
		predicted: sizes.Observation,
		headWidth: sizes.Observation,
		d:         p.UncertaintyActions,
	}
}

// headTarget returns s'.
//
// Reading R12: s' is the raw next observation, in the environment's units. The text has
// "the next hidden state the agent will observe".
func (paperHeads) headTarget(r *replay, i int) []float64 { return r.nextObservation.at(i) }

// targets sets b.y, which is the same for all critics.
//
// Reading R6: a' comes from the target policy given (s', g), as in DDPG and in the
// authors' code. Equation 1 has π_θ(·|s'), which is the policy itself and is given no goal.
//
// Reading R7: g' is g, the goal of the transition after relabeling.
func (paperHeads) targets(u *ensemble, b *batch, rng stream) {
	i, j := drawPair(rng, len(u.critics))
	q1 := b.y
	copy(q1, u.targetValue(b.next, i)) // a copy, because the next call overwrites the result
	q2 := u.targetValue(b.next, j)
	TDTarget(b.y, b.r, q1, q2, u.params.Discount)
	u.clipReturns(b.y)
}

func (paperHeads) criticTargets(_ int, b *batch) (y, w []float32) { return b.y, b.w }

func (paperHeads) loss(_ int, dp, p matrix, b *batch) float64 {
	return PredictiveLoss(dp.data, p.data, b.sNext.data, p.cols)
}

// A critic is Q_φ and its head P, with the critic's target network and what an update
// needs.
type critic struct {
	criticNet
	target   *mlp // Q_φtarg
	follower      // moves φ_targ towards φ
	gradient criticNet
	adam     *adam // of φ
	headAdam *adam // of the head
}

// A criticNet is the parameters of a critic and its head, or their gradient.
//
// Reading R5: a predictive network is one linear layer on ξ, beside the critic's own last
// layer. Section 3.1 has "a single feed-forward layer". It also has "an identical
// architecture for the predictive network as with the critic network", which can be true
// only of the critic's last layer.
type criticNet struct {
	params []float32 // φ, then the head's
	q      *mlp      // Q_backbone, which is all layers but the last, and Q_final
	final  layer     // Q_final, the last layer of q: ξ to Q
	head   layer     // P: ξ to the predicted s'
}

// targetValue returns the values of target critic i for the B rows of x. The slice is
// valid until the next network runs.
func (u *ensemble) targetValue(x matrix, i int) []float32 {
	return u.critics[i].target.infer(u.pass, x).elements()
}

// learn takes one step of every critic and its head, and returns the mean losses
// over the ensemble.
//
// Reading R11: the joint loss is the sum of the critics' losses. Critics share no
// parameters, so each critic descends its own loss.
//
// Reading R113: Equations 2 and 4 are added with equal weights. In the authors' code the
// heads learn in a separate step from the mean of their losses.
func (u *ensemble) learn(b *batch) (criticLoss, headLoss float64) {
	for i, c := range u.critics {
		lossQ, lossP := u.gradients(i, b)
		criticLoss += lossQ
		headLoss += lossP
		c.adam.step()
		c.headAdam.step()
	}
	G := float64(len(u.critics))
	return criticLoss / G, headLoss / G
}

// gradients sets the gradients of Equation 2 plus Equation 4 for critic i and its
// head, and returns both losses.
//
// Differs D29: Equation 4's gradient continues through ξ into the critic's backbone, where
// the critic's optimizer descends the sum of Equations 2 and 4. The text announces "a joint
// loss function" only for the critics, and in the authors' code the heads take a separate
// step. results/README.md compares the joint step with a separate one.
//
// Reading R13: the head's own layer has the learning rate of the predictive network, and
// the backbone has the critic's. In the authors' code two steps move the backbone, one at
// each rate.
//
// Reading R14: Equation 4 sums over B, which is the critics' minibatch. So the ξ of a
// transition is computed with the relabeled goal.
func (u *ensemble) gradients(i int, b *batch) (criticLoss, headLoss float64) {
	c := u.critics[i]
	ξ := c.q.latent(u.pass, b.x)
	criticLoss = u.criticTerm(i, b, ξ, epilogue{})               // sets dξ
	headLoss = u.headTerm(i, b, ξ, epilogue{add: true, mask: ξ}) // adds to dξ, and applies ξ's ReLU

	hidden := len(c.q.layers) - 1 // layers of the backbone
	c.q.backward(u.pass, c.gradient.q, hidden)
	return criticLoss, headLoss
}

// criticTerm is Equation 2 for critic i, given ξ of a minibatch. It returns the loss and
// sets the gradient of Q_final. It also leaves dξ, the gradient with respect to ξ, in the
// pass. e says how dξ is stored. If the gradients of criticTerm and headTerm both go on
// into the backbone, e makes the second call add its dξ to the first's. In the last call e
// also has the mask of ξ's ReLU.
func (u *ensemble) criticTerm(i int, b *batch, ξ matrix, e epilogue) float64 {
	c := u.critics[i]
	pass := u.pass
	last := len(c.q.layers) - 1

	q := rowMajor(ξ.rows, 1, b.values[i])
	c.final.forward(pass.workers, q, ξ)

	y, weights := u.heads.criticTargets(i, b)
	dq := pass.dx[last+1].slice(0, ξ.rows)
	loss := CriticLoss(dq.elements(), q.data, y, weights)

	c.final.backward(pass.workers, c.gradient.final, ξ, dq, pass.dwT[last], epilogue{})

	dξ := pass.dx[last].slice(0, ξ.rows)
	c.final.inputGradient(pass.workers, dξ, dq, pass.wT[last], e)
	return loss
}

// headTerm does for Equation 4 and head i what criticTerm does for Equation 2 and Q_final.
func (u *ensemble) headTerm(i int, b *batch, ξ matrix, e epilogue) float64 {
	c := u.critics[i]
	pass := u.pass
	last := len(c.q.layers) - 1

	p := u.predict(i, b.predictions[i], ξ)
	loss := u.heads.loss(i, b.dp, p, b)

	c.head.backward(pass.workers, c.gradient.head, ξ, b.dp, u.headT, epilogue{})

	dξ := pass.dx[last].slice(0, ξ.rows)
	c.head.inputGradient(pass.workers, dξ, b.dp, u.headT, e)
	return loss
}

// predict sets p to the outputs of head i for ξ, and returns p as a matrix, B by headWidth.
func (u *ensemble) predict(i int, p []float32, ξ matrix) matrix {
	output := rowMajor(ξ.rows, u.headWidth, p)
	u.critics[i].head.forward(u.pass.workers, output, ξ)
	return output
}

// follow applies Equation 3 to every critic.
//
// Reading R15: the policy has a target network too, as in DDPG, with the same ρ. It follows
// in paperLearner.update.
func (u *ensemble) follow() {
	for _, c := range u.critics {
		c.follow(u.pass.workers)
	}
}

// A follower is Equation 3 for one network, spread over the threads. workers.run counts the
// work in multiply-adds: one parameter takes as long as about 16.
type follower struct {
	target, online []float32
	ρ              float64
}

func (f *follower) follow(w *workers) { w.run(f, len(f.target), 16*len(f.target)) }

func (f *follower) do(lo, hi int) { Polyak(f.target[lo:hi], f.online[lo:hi], f.ρ) }

// newEnsemble returns an ensemble with networks of the given sizes. Its critics differ
// only in their initial weights. Targets start equal to their critics.
func newEnsemble(p *Params, sizes Sizes, h heads, s shape, rng *rand.Rand, w *workers) *ensemble {
	widths := p.widths(sizes.criticWidth(), 1)
	u := &ensemble{
		params: p,
		shape:  s,
		heads:  h,
		lowest: -1 / (1 - p.Discount),
		pass:   newPass(widths, w),
		headT:  newMatrix(s.headWidth, p.HiddenSize),
	}
	for range p.Critics {
		c := newCritic(p, widths, s.headWidth, w)
		c.q.initialize(rng)
		c.head.initialize(rng)
		copy(c.target.params, c.q.params)
		u.critics = append(u.critics, c)
	}
	return u
}

// newCritic returns a critic of the given widths, with its head. All parameters are zero.
func newCritic(p *Params, widths []int, headWidth int, w *workers) *critic {
	net := newCriticNet(widths, headWidth)
	gradient := newCriticNet(widths, headWidth)
	n := len(net.q.params) // net.params has the head's parameters after these
	target := newMLP(make([]float32, n), widths)
	return &critic{
		criticNet: net,
		target:    target,
		follower:  follower{target: target.params, online: net.q.params, ρ: p.Polyak},
		gradient:  gradient,
		adam:      newAdam(net.q.params, gradient.q.params, p.CriticRate, w),
		headAdam:  newAdam(net.params[n:], gradient.params[n:], p.PredictiveRate, w),
	}
}

// criticWidth returns the length of a critic's input: s, g and a side by side.
func (s Sizes) criticWidth() int { return s.Observation + s.Goal + s.Action }

// widths returns the widths of a network's layers from input to output.
func (p *Params) widths(in, out int) []int {
	hidden := slices.Repeat([]int{p.HiddenSize}, p.HiddenLayers)
	return slices.Concat([]int{in}, hidden, []int{out})
}

// newCriticNet returns a critic of the given widths, and a head with headWidth outputs.
// All parameters are zero.
func newCriticNet(widths []int, headWidth int) criticNet {
	n := mlpSize(widths)
	hidden := widths[len(widths)-2]
	params := make([]float32, n+layerSize(hidden, headWidth))
	q := newMLP(params, widths)
	return criticNet{
		params: params,
		q:      q,
		final:  q.layers[len(q.layers)-1],
		head:   newLayer(params[n:], hidden, headWidth),
	}
}

// parameters returns the parameters of every critic with its head, and of every target, in
// a fixed order. If kind is "critic", the names are "critic 1", "target critic 1" and so on.
func (u *ensemble) parameters(kind string) []parameterVector {
	var vectors []parameterVector
	for i, c := range u.critics {
		name := fmt.Sprintf("%s %d", kind, i+1)
		network := parameterVector{name: name, values: c.params}
		target := parameterVector{name: "target " + name, values: c.target.params}
		vectors = append(vectors, network, target)
	}
	return vectors
}

// perCritic returns room for n numbers of each critic.
func (u *ensemble) perCritic(n int) [][]float32 {
	numbers := make([][]float32, len(u.critics))
	for i := range numbers {
		numbers[i] = make([]float32, n)
	}
	return numbers
}

// A batch is a minibatch as the networks see it, with s and g normalized.
type batch struct {
	transitions []int     // indices in the replay
	x           matrix    // s, g, a: B by observation + goal + action
	next        matrix    // s', g and room for a'
	r           []float32 // rewards
	y           []float32 // targets of Equation 1
	w           []float32 // weights of Equation 8
	sNext       matrix    // what the heads learn to predict, such as s', not normalized; B by predicted

	// What the networks returned before they learned from this batch.

	values      [][]float32 // of each critic
	predictions [][]float32 // outputs of each head, B by headWidth

	dp matrix // scratch: the gradient of one head's loss with respect to its outputs
}

// newBatch returns a batch whose weights are 1. The pass gets room for as many rows.
func (u *ensemble) newBatch(rows int, sizes Sizes) batch {
	u.pass.reserve(rows)
	width := sizes.criticWidth()
	return batch{
		transitions: make([]int, rows),
		x:           newMatrix(rows, width),
		next:        newMatrix(rows, width),
		r:           make([]float32, rows),
		y:           make([]float32, rows),
		w:           slices.Repeat([]float32{1}, rows),
		sNext:       newMatrix(rows, u.predicted),
		values:      u.perCritic(rows),
		predictions: u.perCritic(rows * u.headWidth),
		dp:          newMatrix(rows, u.headWidth),
	}
}
