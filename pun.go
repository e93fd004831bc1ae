package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// This file is section 3.1: Predictive Uncertainty Networks, an ensemble of G
// critics that learn jointly, each with a predictive network, its head, on the
// last hidden state. Equations 1 to 4 and the deviation of the heads come first,
// then the ensemble that uses them.
//
// Matrices are row-major float32, a row per transition; B is the number of
// rows. A critic's input is the concatenation of s, g and a.

// TDTarget sets y, of B values, to the target that all critics learn from: y =
// r + γ min(q1, q2), where q1 and q2 are the values Q_targ(s', a', g') of the
// two target critics in M.
//
// It implements QTA, Equation 1 (Section 3.1).
//
// Reading R8: no terminal state cuts the sum off: neither reaching the goal nor
// the end of an episode.
func TDTarget(y, r, q1, q2 []float32, discount float64) {
	γ := float32(discount)
	for i := range y {
		y[i] = r[i] + float32(γ*min(q1[i], q2[i]))
	}
}

// drawPair returns M, two different indices below n, all pairs equally likely.
// With one critic i = j = 0 and nothing is drawn.
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

// CriticLoss returns one critic's loss 1/B Σ w (q - y)² and sets dq to its
// gradient with respect to q. All have length B; w are the importance weights
// of Equation 8, or nil for ones.
//
// It implements QTA, Equation 2 (Section 3.1).
func CriticLoss(dq, q, y, w []float32) float64 {
	scale := 2 / float32(len(q))
	sum := 0.0
	for i := range q {
		δ, wi := q[i]-y[i], float32(1)
		if w != nil {
			wi = w[i]
		}
		dq[i] = float32(scale*wi) * δ
		sum += float64(float64(wi) * float64(float64(δ)*float64(δ)))
	}
	return sum / float64(len(q))
}

// Polyak moves target networks towards their critics, or the target policy
// towards the policy: φ_targ = ρ φ_targ + (1-ρ) φ. It panics if lengths differ.
//
// It implements QTA, Equation 3 (Section 3.1).
func Polyak(target, online []float32, ρ float64) {
	if len(target) != len(online) {
		panic("qta: Polyak: networks differ in size")
	}
	kept, moved := float32(ρ), float32(1-ρ)
	n := polyakVector(target, online, kept, moved) // does the same
	target, online = target[n:], online[n:]
	for i, φ := range online {
		target[i] = float32(kept*target[i]) + float32(moved*φ)
	}
}

// PredictiveLoss returns one predictive head's loss 1/B Σ |p - s'|² and sets dp
// to its gradient with respect to p. p, s and dp are B by width.
//
// It implements QTA, Equation 4 (Section 3.1).
func PredictiveLoss(dp, p, s []float32, width int) float64 {
	scale := 2 / float32(len(p)/width)
	sum := 0.0
	for i := range p {
		δ := p[i] - s[i]
		dp[i] = scale * δ
		sum += float64(float64(δ) * float64(δ))
	}
	return sum / float64(len(p)/width)
}

// HeadDeviation sets u, of B values, to the disagreement of the G predictive
// heads: the sample standard deviation over the heads, each B by width, then
// the mean over the width components. With one head it is 0.
//
// It is part of QTA, Equation 5.
func HeadDeviation(u []float64, heads [][]float32, width int) {
	scatter(u, heads, width, width)
}

// scatter is [HeadDeviation] of the first width components of rows of stride.
//
// Differs D27: Equation 5 as displayed averages the predictions, which would measure
// nothing; the text of section 3.1 takes their standard deviation, and so does this.
//
// Reading R16: it divides by G-1, and averages components: the paper names
// neither.
func scatter(u []float64, heads [][]float32, width, stride int) {
	g := float64(len(heads))
	for r := range u {
		sum := 0.0
		for c := r * stride; c < r*stride+width; c++ {
			sum += elementDeviation(heads, c, max(g-1, 1))
		}
		u[r] = sum / float64(width)
	}
}

// elementDeviation returns the root of the sum over the heads of their element c's
// squared difference from its mean, divided by n.
func elementDeviation(heads [][]float32, c int, n float64) float64 {
	mean, square := 0.0, 0.0
	for _, h := range heads {
		mean += float64(h[c])
	}
	mean /= float64(len(heads))
	for _, h := range heads {
		δ := float64(h[c]) - mean
		square += float64(δ * δ)
	}
	return math.Sqrt(square / n)
}

// A pun is the ensemble.
type pun struct {
	params  *Params
	critics []*critic
	widths  []int // of a critic, from input to output
	d       int   // random actions of one estimate of uncertainty
	architecture

	pass                *pass
	dp                  matrix      // the gradient with respect to the heads' output, B by its width
	headT               matrix      // scratch for a head's transposed weights
	values, predictions [][]float32 // of each critic, and the elements of its prediction, for the batch at work
	own, masked         matrix      // scratch: predictions on a minibatch of the heads' own, and maskPredicted's
}

// An architecture is what PUN and the ensembles that it is compared with have each
// in their own way.
type architecture struct {
	actions     int  // d of one estimate
	predicted   int  // components that a head predicts
	width       int  // of a head's output, which has those first
	ownTargets  bool // each critic has its own; else Equation 1 for all alike
	oneBackbone bool // all critics share it

	headLoss func(dp, p, s []float32, width int) float64
	spread   func(d []float64, predictions [][]float32, width, stride int) // sets d to how far they are apart
}

// A critic is Q_φ and its head P, with its target and what learning needs.
type critic struct {
	criticNet
	target         *mlp // Q_φtarg
	gradient       criticNet
	adam, headAdam *adam

	prediction matrix // P of the batch at work, B by the head's width
}

// A criticNet is the parameters of a critic and its head, or their gradient.
//
// Reading R5: a predictive network is one linear layer on ξ, beside the
// critic's own last layer. Section 3.1 has "a single feed-forward layer", and
// "an identical architecture for the predictive network as with the critic
// network", which can hold only for the two last layers.
type criticNet struct {
	params []float32 // φ, then the head's
	q      *mlp      // Q_backbone and Q_final: all layers but the last, and the last
	head   layer     // P: ξ to the predicted s'
}

// backbone returns the parameters of Q_backbone.
func backbone(q *mlp) []float32 {
	final := q.layers[len(q.layers)-1]
	return q.params[:len(q.params)-layerSize(final.w.rows, final.w.cols)]
}

// target sets b.y to Equation 1 for a minibatch whose s', g' and a' are in
// b.next.
func (u *pun) target(b *batch, rng stream) {
	if u.ownTargets {
		u.separateTargets(b)
		return
	}
	i, j := drawPair(rng, len(u.critics))
	q1 := u.targetValue(b.next, i)
	q2 := q1
	if j != i {
		q2 = u.targetValue(b.next, j)
	}
	TDTarget(b.y[0], b.r, q1, q2, u.params.Discount)
}

// targetValue returns the value of target critic i at x, of B elements. It is
// valid until the critic's next use.
func (u *pun) targetValue(x matrix, i int) []float32 {
	q := u.values[i][:x.rows]
	copy(q, u.critics[i].target.infer(u.pass, x).data)
	return q
}

// learn takes one step of every critic and its head on the joint loss of
// Equations 2 and 4: the critics on the minibatch b, the heads on heads, which
// is b in the paper. Without one of the two only the other learns. It returns
// the mean losses over the ensemble.
//
// Reading R11: the joint loss is the sum over the critics; each critic's
// gradient sees only its own term.
func (u *pun) learn(b, heads *batch) (criticLoss, headLoss float64) {
	for i := range u.critics {
		critic, head := u.gradient(i, b, heads)
		criticLoss += critic
		headLoss += head
	}
	if u.oneBackbone {
		u.sumBackbones()
	}
	for _, c := range u.critics {
		if b != nil {
			c.adam.step()
		}
		if heads != nil {
			c.headAdam.step()
		}
	}
	g := float64(len(u.critics))
	return criticLoss / g, headLoss / g
}

// gradient fills the gradient of critic i and its head: each loss's own on its
// final layer, and their sum, through ξ, on the backbone. It is zero where neither
// loss reaches.
//
// Reading R13: the gradient goes on through ξ into the critic's backbone, which
// descends Equations 2 and 4 as one loss, by the critic's optimizer; the head's
// own layer moves at the predictive network's rate. The text has "a joint loss
// function", and a ξ that both predictions share "so that the quality of the
// two predictions will be tightly coupled"; it stops no gradient.
func (u *pun) gradient(i int, b, heads *batch) (criticLoss, headLoss float64) {
	c, p := u.critics[i], u.pass
	n := len(c.q.layers) - 1
	if b == nil || heads == nil {
		clear(c.gradient.params) // either optimizer may move all of them
	}
	if b != nil {
		ξ := c.q.latent(p, b.x)
		criticLoss = u.criticGradient(i, ξ, b)
		if heads == b {
			headLoss = u.headGradient(i, ξ, c.prediction, b, true)
		} else { // priorities may ask for it
			c.head.forward(p.workers, c.prediction.slice(0, ξ.rows), ξ, false)
		}
		c.q.backward(p, c.gradient.q, n, false)
	}
	if heads != nil && heads != b {
		headLoss = u.headGradient(i, c.q.latent(p, heads.x), u.own, heads, false)
		if u.params.PredictiveGradient != "head" {
			c.q.backward(p, c.gradient.q, n, b != nil)
		}
	}
	return criticLoss, headLoss
}

// criticGradient returns Equation 2 for critic i, given ξ of the minibatch, and
// fills its last layer's gradient. It leaves the one with respect to ξ in u.pass.dx.
func (u *pun) criticGradient(i int, ξ matrix, b *batch) float64 {
	c, p, q := u.critics[i], u.pass, u.values[i][:ξ.rows]
	n := len(c.q.layers) - 1
	last, dξ, dq := c.q.layers[n], p.dx[n].slice(0, ξ.rows), p.dx[n+1].slice(0, ξ.rows)
	last.forward(p.workers, matrix{ξ.rows, 1, 1, 1, q}, ξ, false)
	loss := CriticLoss(dq.data[:ξ.rows], q, b.y[i], b.weights[i])
	last.backward(p.workers, c.gradient.q.layers[n], ξ, dq, p.dwT[n], false)
	last.backwardInput(p.workers, dξ, dq, p.wT[n], epilogue{mask: ξ})
	return loss
}

// headGradient returns Equation 4 for head i, given ξ of the minibatch, and fills
// the head's gradient. It leaves the one with respect to the predictions in u.dp,
// and the one with respect to ξ in u.pass.dx, added to what is there if add, unless
// the loss moves only the head.
func (u *pun) headGradient(i int, ξ, prediction matrix, b *batch, add bool) float64 {
	c, p := u.critics[i], u.pass
	dp, prediction := u.dp.slice(0, ξ.rows), prediction.slice(0, ξ.rows)
	c.head.forward(p.workers, prediction, ξ, false)
	s := b.head
	if b.masks != nil {
		s = u.maskPredicted(i, prediction, b)
	}
	n := ξ.rows * prediction.cols
	mean := u.headLoss(dp.data[:n], prediction.data[:n], s.data[:ξ.rows*s.cols], s.cols)
	c.head.backward(p.workers, c.gradient.head, ξ, dp, u.headT, false)
	if u.params.PredictiveGradient != "head" {
		dξ := p.dx[len(c.q.layers)-1].slice(0, ξ.rows)
		c.head.backwardInput(p.workers, dξ, dp, u.headT, epilogue{add: add, mask: ξ})
	}
	return mean
}

// follow applies Equation 3 to every critic.
func (u *pun) follow() {
	for _, c := range u.critics {
		u.pass.workers.polyak(c.target.params, c.q.params, u.params.Polyak)
	}
}

// polyak is [Polyak], spread over the threads.
func (w *workers) polyak(target, online []float32, ρ float64) {
	w.moved = softUpdate{target, online, ρ}
	w.run(&w.moved, len(target), 16*len(target))
}

// A softUpdate is Equation 3 for one network, as a task.
type softUpdate struct {
	target, online []float32
	ρ              float64
}

func (s *softUpdate) do(lo, hi int) {
	Polyak(s.target[lo:hi], s.online[lo:hi], s.ρ)
}

// askedRows is how many rows are asked about at a time, so that a long question
// needs little memory beside its rows.
const askedRows = 384

// deviation sets d, of B values, to how far the heads scatter at x.
func (u *pun) deviation(d []float64, x matrix) {
	u.reserve(min(x.rows, askedRows))
	for lo := 0; lo < x.rows; lo += askedRows {
		chunk := x.slice(lo, min(lo+askedRows, x.rows))
		for _, c := range u.critics {
			c.head.forward(u.pass.workers, c.prediction.slice(0, chunk.rows), c.q.latent(u.pass, chunk), false)
		}
		u.spread(d[lo:][:chunk.rows], u.predictions, u.predicted, u.width)
	}
}

// priorities sets d to the priority of each transition that the critics have
// just learned from, before they moved: the heads' deviation at the stored
// action.
//
// Reading R10: the paper does not say how to estimate one transition; this
// takes the heads' deviation at (s, a, g) after relabeling, as the authors'
// code does.
func (u *pun) priorities(d []float64, _ *batch) {
	u.spread(d, u.predictions, u.predicted, u.width)
}

// valuesAt returns the critics' values at x, critics by rows.
func (u *pun) valuesAt(x matrix) [][]float32 {
	values := make([][]float32, len(u.critics))
	for i, c := range u.critics {
		for lo := 0; lo < x.rows; lo += askedRows {
			chunk := x.slice(lo, min(lo+askedRows, x.rows))
			values[i] = append(values[i], c.q.infer(u.pass, chunk).data[:chunk.rows]...)
		}
	}
	return values
}

// criticsMean returns the mean over the critics of values, critics by rows.
func criticsMean(values [][]float32) []float64 {
	mean := make([]float64, len(values[0]))
	for _, q := range values {
		for k, v := range q {
			mean[k] += float64(v) / float64(len(values))
		}
	}
	return mean
}

// newPUN returns an ensemble with networks of the given sizes. Critics differ
// only in their initial weights; targets start equal to their critics.
func newPUN(p *Params, sizes Sizes, rng *rand.Rand, w *workers) *pun {
	widths, a := p.widths(sizes.Observation+sizes.Goal+sizes.Action, 1), newArchitecture(p, sizes)
	u := &pun{
		params: p, widths: widths, d: a.actions, architecture: a,
		pass:        newPass(widths, w),
		headT:       newMatrix(a.width, p.HiddenSize),
		values:      make([][]float32, p.Critics),
		predictions: make([][]float32, p.Critics),
	}
	for range p.Critics {
		net, gradient := newCriticNet(widths, a.width), newCriticNet(widths, a.width)
		n := len(net.q.params)
		end, head := n, n // of what the critic's optimizer moves, and where the head's begins
		if p.PredictiveGradient == "separate" {
			end, head = len(net.params), 0
		}
		c := &critic{
			criticNet: net,
			target:    newMLP(make([]float32, n), widths),
			gradient:  gradient,
			adam:      newAdam(net.params[:end], gradient.params[:end], p.CriticRate, p.GradientClip, w),
			headAdam:  newAdam(net.params[head:], gradient.params[head:], p.PredictiveRate, p.GradientClip, w),
		}
		u.critics = append(u.critics, c)
		c.q.initialize(rng)
		c.head.initialize(rng)
		if u.oneBackbone {
			copy(backbone(c.q), backbone(u.critics[0].q))
		}
		copy(c.target.params, c.q.params)
	}
	return u
}

// widths returns the widths of a network's layers from input to output.
func (p *Params) widths(in, out int) []int {
	return slices.Concat([]int{in}, slices.Repeat([]int{p.HiddenSize}, p.HiddenLayers), []int{out})
}

// newCriticNet returns networks of zeros: a critic of the given widths, and a
// head of its own width.
func newCriticNet(widths []int, head int) criticNet {
	n, hidden := mlpSize(widths), widths[len(widths)-2]
	params := make([]float32, n+layerSize(hidden, head))
	return criticNet{params, newMLP(params, widths), newLayer(params[n:], hidden, head)}
}

// parameters returns every network's parameters, in a fixed order.
func (u *pun) parameters(kind string) []parameterVector {
	var vectors []parameterVector
	for i, c := range u.critics {
		vectors = append(vectors,
			parameterVector{fmt.Sprintf("%s %d", kind, i+1), c.params},
			parameterVector{fmt.Sprintf("target %s %d", kind, i+1), c.target.params})
	}
	return vectors
}

// A batch is a minibatch as the networks see it: s and g normalized.
type batch struct {
	transitions []int       // which they are, in the replay
	x           matrix      // s, g, a: B by observation + goal + action
	next        matrix      // s', g and room for a'
	r           []float32   // reward
	y           [][]float32 // each critic's targets of Equation 1
	weights     [][]float32 // each critic's in [CriticLoss], of Equation 8
	head        matrix      // what the heads predict: s' raw
	masks       [][]bool    // each head's: where it is to learn; or nil
}

// newBatch returns a batch of weight 1, and makes room for it. All critics share
// targets unless the architecture gives each its own.
func (u *pun) newBatch(rows int, sizes Sizes) batch {
	u.reserve(rows)
	width := sizes.Observation + sizes.Goal + sizes.Action
	b := batch{
		transitions: make([]int, rows),
		x:           newMatrix(rows, width),
		next:        newMatrix(rows, width),
		r:           make([]float32, rows),
		head:        newMatrix(rows, u.predicted),
	}
	y := make([]float32, rows)
	for range u.critics {
		if u.ownTargets {
			y = make([]float32, rows)
		}
		if u.oneBackbone {
			b.masks = append(b.masks, make([]bool, rows))
		}
		b.y, b.weights = append(b.y, y), append(b.weights, slices.Repeat([]float32{1}, rows))
	}
	return b
}

// reserve makes room for batches of the given number of rows.
func (u *pun) reserve(rows int) {
	if rows <= u.dp.rows {
		return
	}
	u.pass.reserve(rows)
	u.dp, u.own, u.masked = newMatrix(rows, u.width), newMatrix(rows, u.width), newMatrix(rows, u.width)
	for i, c := range u.critics {
		c.prediction = newMatrix(rows, u.width)
		u.values[i], u.predictions[i] = make([]float32, rows), c.prediction.data
	}
}
