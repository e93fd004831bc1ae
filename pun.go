package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// This file is section 3.1: Predictive Uncertainty Networks, an ensemble of G
// critics. Each has a predictive network, its head, on its last hidden state ξ.
//
// Matrices are row-major float32 and have a row per transition; B is the number
// of rows. A critic's input is s, g and a side by side.

// TDTarget sets y to the target that all critics learn from: y = r + γ min(q1, q2). q1
// and q2 are the values Q_targ(s', a', g') of the two target critics in M, and γ is
// discount. All slices have B values, and y may be q1 or q2.
//
// It implements QTA, Equation 1 (Section 3.1).
//
// Reading R8: no state is terminal: neither reaching the goal nor the end of an
// episode cuts the sum off.
func TDTarget(y, r, q1, q2 []float32, discount float64) {
	γ := float32(discount)
	for i := range y {
		y[i] = r[i] + float32(γ*min(q1[i], q2[i]))
	}
}

// drawPair returns M, two different indices below n. All pairs are equally likely.
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

// clipReturns clips values to the possible returns, from the lowest to 0.
//
// Differs D26: Equation 1 has no bounds. No discounted sum of rewards of -1 and 0 lies
// outside this interval. Without ClipReturns nothing is clipped.
func (u *ensemble) clipReturns(values []float32) {
	if !u.params.ClipReturns {
		return
	}
	for k, y := range values {
		values[k] = min(max(y, float32(u.lowest)), 0)
	}
}

// CriticLoss returns one critic's loss 1/B Σ w (q - y)² and sets dq to its
// gradient with respect to q. All slices have length B. w are the importance
// weights of Equation 8.
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
	n := polyakVector(target, online, kept, moved) // it does the first n as the loop would
	for i := n; i < len(target); i++ {
		target[i] = float32(kept*target[i]) + float32(moved*online[i])
	}
}

// PredictiveLoss returns one predictive head's loss 1/B Σ |p - s'|² and sets dp
// to its gradient with respect to p. s holds s'; p, s and dp are B by width.
//
// It implements QTA, Equation 4 (Section 3.1).
//
// Reading R119: the square of a vector is its squared norm, the sum over its
// components; the display has (s' - s̃')².
func PredictiveLoss(dp, p, s []float32, width int) float64 {
	B := len(p) / width
	scale := 2 / float32(B)
	sum := 0.0
	for i := range p {
		δ := p[i] - s[i]
		dp[i] = scale * δ
		sum += float64(float64(δ) * float64(δ))
	}
	return sum / float64(B)
}

// HeadDeviation sets u, of B values, to the disagreement of the G predictive heads. For
// each component it takes the sample standard deviation over the heads, and then the mean
// over the components. u is in the components' unit. With one head it is 0.
//
// heads[i] are head i's predictions, B rows of equal width. The first width components
// of a row count.
//
// It is part of QTA, Equation 5.
//
// Differs D27: Equation 5 as displayed averages the predictions, which would measure
// nothing; the text of section 3.1 takes their standard deviation, and so does
// HeadDeviation.
//
// Reading R16: the sum of squares is divided by G-1, and components are averaged; the
// paper says neither.
func HeadDeviation(u []float64, heads [][]float32, width int) {
	G := float64(len(heads))
	for r := range u {
		row := r * (len(heads[0]) / len(u)) // where row r begins
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
	headT matrix // scratch for a head's transposed weights
}

// A shape holds the sizes of an ensemble's heads, and how many random actions an estimate
// takes.
type shape struct {
	predicted int // how many numbers a head predicts
	headWidth int // how many numbers it puts out: predicted, or more for departures
	d         int // random actions of one estimate of uncertainty
}

// heads define what the critics of an ensemble and their heads learn. PUN has paperHeads;
// the ensembles that the paper compares PUN with have others.
type heads interface {
	// headTarget returns what a head learns to predict for transition i.
	headTarget(r *replay, i int) []float64

	// targets computes the targets of Equation 1. b.next holds s', g' and a'.
	targets(u *ensemble, b *batch, rng stream)

	// criticTargets returns the targets y of critic i, and the weights w of its loss:
	// for departures.
	criticTargets(i int, b *batch) (y, w []float32)

	// loss returns the loss of head i, Equation 4, for its outputs p, and sets dp to the
	// gradient with respect to them.
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
// Reading R12: s' is the raw next observation, in the environment's units; the
// text says "hidden state" for what the agent will observe.
func (paperHeads) headTarget(r *replay, i int) []float64 { return r.nextObservation.at(i) }

// targets sets b.y, which is the same for all critics.
//
// Reading R6: a' comes from the target policy given (s', g), as in DDPG and in the
// authors' code. Equation 1 has π_θ(·|s'), the policy's own symbol, and no goal.
//
// Reading R7: g' is g, the goal of the transition after relabeling.
func (paperHeads) targets(u *ensemble, b *batch, rng stream) {
	i, j := drawPair(rng, len(u.critics))
	q1 := b.y // until TDTarget overwrites it
	copy(q1, u.targetValue(b.next, i))
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
	target         *mlp // Q_φtarg
	follower            // of φ
	gradient       criticNet
	adam, headAdam *adam
}

// A criticNet is the parameters of a critic and its head, or their gradient.
//
// Reading R5: a predictive network is one linear layer on ξ, beside the
// critic's own last layer. Section 3.1 has "a single feed-forward layer", and "an
// identical architecture", which can hold only for the two last layers.
type criticNet struct {
	params []float32 // φ, then the head's
	q      *mlp      // Q_backbone, which is all layers but the last, and Q_final, the last
	head   layer     // P: ξ to the predicted s'
}

// targetValue returns the value of target critic i at x, of B elements. The slice is
// valid until the next network runs.
func (u *ensemble) targetValue(x matrix, i int) []float32 {
	return u.critics[i].target.infer(u.pass, x).elements()
}

// learn takes one step of every critic and its head, and returns the mean losses
// over the ensemble.
//
// Reading R11: the joint loss is the sum over the critics; each critic's
// gradient sees only its own term.
//
// Reading R113: Equation 4 has weight 1 beside Equation 2. The authors' code averages the
// heads' losses over the critics in a step of their own. D29 has no such step.
func (u *ensemble) learn(b *batch) (criticLoss, headLoss float64) {
	for i, c := range u.critics {
		critic, head := u.gradients(i, b)
		criticLoss += critic
		headLoss += head
		c.adam.step()
		c.headAdam.step()
	}
	G := float64(len(u.critics))
	return criticLoss / G, headLoss / G
}

// gradients sets the gradients of Equation 2 plus Equation 4 for critic i and its
// head, and returns both losses.
//
// Differs D29: the gradient of both losses continues through ξ into the critic's
// backbone, and the critic's optimizer descends their sum there. The text announces "a
// joint loss function" for the critics only, and the authors' heads take a step of their
// own. results/README.md says what the joint step gains, and how well a separate step
// does.
//
// Reading R13: the head's own layer moves at the predictive network's rate, the backbone
// at the critic's. In the authors' code the backbone moves at both rates.
//
// Reading R14: Equation 4 sums over the critics' minibatch B, by the notation, so ξ
// is computed with the relabeled goal.
func (u *ensemble) gradients(i int, b *batch) (criticLoss, headLoss float64) {
	c := u.critics[i]
	ξ := c.q.latent(u.pass, b.x)
	criticLoss = u.criticTerm(i, b, ξ, epilogue{})
	headLoss = u.headTerm(i, b, ξ, epilogue{add: true, mask: ξ})
	c.q.backward(u.pass, c.gradient.q, len(c.q.layers)-1)
	return criticLoss, headLoss
}

// criticTerm is Equation 2 for critic i, given ξ of a minibatch. It returns the loss and
// sets the gradient of the last layer. It also sets the gradient with respect to ξ, which
// is kept in the pass. The epilogue e applies to that gradient: a later term adds to an
// earlier one, and the last term applies the mask of ReLU.
func (u *ensemble) criticTerm(i int, b *batch, ξ matrix, e epilogue) float64 {
	c := u.critics[i]
	pass := u.pass
	last := len(c.q.layers) - 1
	final := c.q.layers[last]

	q := rowMajor(ξ.rows, 1, b.values[i])
	final.forward(pass.workers, q, ξ)

	y, weights := u.heads.criticTargets(i, b)
	dq := pass.dx[last+1].slice(0, ξ.rows)
	loss := CriticLoss(dq.elements(), q.data, y, weights)

	final.backward(pass.workers, c.gradient.q.layers[last], ξ, dq, pass.dwT[last], epilogue{})
	dξ := pass.dx[last].slice(0, ξ.rows)
	final.inputGradient(pass.workers, dξ, dq, pass.wT[last], e)
	return loss
}

// headTerm does for Equation 4 and head i what criticTerm does for Equation 2.
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

// predict sets p to the output of head i for ξ, B by the heads' width, and returns it
// as a matrix.
func (u *ensemble) predict(i int, p []float32, ξ matrix) matrix {
	output := rowMajor(ξ.rows, u.headWidth, p)
	u.critics[i].head.forward(u.pass.workers, output, ξ)
	return output
}

// follow applies Equation 3 to every critic.
//
// Reading R15: the policy has a target network too, as in DDPG, with the same
// ρ.
func (u *ensemble) follow() {
	for _, c := range u.critics {
		c.follow(u.pass.workers)
	}
}

// A follower is Equation 3 for one network, spread over the threads. One parameter costs
// as much time as about 16 multiply-adds.
type follower struct {
	target, online []float32
	ρ              float64
}

func (f *follower) follow(w *workers) { w.run(f, len(f.target), 16*len(f.target)) }

func (f *follower) do(lo, hi int) { Polyak(f.target[lo:hi], f.online[lo:hi], f.ρ) }

// newEnsemble returns an ensemble with networks of the given sizes. Its critics differ
// only in their initial weights. Targets start equal to their critics.
func newEnsemble(p *Params, sizes Sizes, h heads, s shape, rng *rand.Rand, w *workers) *ensemble {
	widths := p.widths(sizes.Observation+sizes.Goal+sizes.Action, 1)
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

// newCritic returns a critic of the given widths and its head. All parameters are zero.
func newCritic(p *Params, widths []int, head int, w *workers) *critic {
	net := newCriticNet(widths, head)
	gradient := newCriticNet(widths, head)
	n := len(net.q.params)
	target := newMLP(make([]float32, n), widths)
	return &critic{
		criticNet: net,
		target:    target,
		follower:  follower{target: target.params, online: net.q.params, ρ: p.Polyak},
		gradient:  gradient,
		adam:      newAdam(net.params[:n], gradient.params[:n], p.CriticRate, w),
		headAdam:  newAdam(net.params[n:], gradient.params[n:], p.PredictiveRate, w),
	}
}

// widths returns the widths of a network's layers from input to output.
func (p *Params) widths(in, out int) []int {
	hidden := slices.Repeat([]int{p.HiddenSize}, p.HiddenLayers)
	return slices.Concat([]int{in}, hidden, []int{out})
}

// newCriticNet returns a critic of the given widths, and a head with that many outputs.
// All parameters are zero.
func newCriticNet(widths []int, head int) criticNet {
	n := mlpSize(widths)
	hidden := widths[len(widths)-2]
	params := make([]float32, n+layerSize(hidden, head))
	return criticNet{
		params: params,
		q:      newMLP(params, widths),
		head:   newLayer(params[n:], hidden, head),
	}
}

// parameters returns every critic with its head, and every target, in a fixed order.
func (u *ensemble) parameters(kind string) []parameterVector {
	var vectors []parameterVector
	for i, c := range u.critics {
		name := fmt.Sprintf("%s %d", kind, i+1)
		vectors = append(vectors, parameterVector{name, c.params})
		vectors = append(vectors, parameterVector{"target " + name, c.target.params})
	}
	return vectors
}

// perCritic returns n numbers for each critic.
func (u *ensemble) perCritic(n int) [][]float32 {
	numbers := make([][]float32, len(u.critics))
	for i := range numbers {
		numbers[i] = make([]float32, n)
	}
	return numbers
}

// A batch is a minibatch as the networks see it: s and g normalized.
type batch struct {
	transitions []int     // their indices in the replay
	x           matrix    // s, g, a: B by observation + goal + action
	next        matrix    // s', g and room for a'
	r           []float32 // reward
	y           []float32 // targets of Equation 1
	w           []float32 // weights of Equation 8
	sNext       matrix    // what the heads learn to predict: s', not normalized

	values      [][]float32 // of each critic, before it learned from the batch
	predictions [][]float32 // of each head, before it learned from the batch
	dp          matrix      // gradient with respect to one head's predictions
}

// newBatch returns a batch whose weights are 1, and makes room for it in the pass.
func (u *ensemble) newBatch(rows int, sizes Sizes) batch {
	u.pass.reserve(rows)
	width := sizes.Observation + sizes.Goal + sizes.Action
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
