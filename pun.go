package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// This file is section 3.1: Predictive Uncertainty Networks, an ensemble of G
// critics that learn jointly, each with a predictive head on its last hidden
// state; Equations 1 to 4; and the uncertainty of section 3.2, Equation 5.
//
// Matrices are row-major float32, a row per transition; B is the number of
// rows. A critic's input is the concatenation of s, g and a.

// A critic is one Q_φ and its predictive head P.
type critic struct {
	params []float32 // φ, then the head's
	q      *mlp      // Q_backbone and Q_final: all layers but the last, and the last
	head   layer     // P: ξ to the predicted s'
}

// newCritic returns a critic of zeros. The last of widths is the prediction's.
func newCritic(widths []int) *critic {
	prediction := widths[len(widths)-1]
	qWidths := append(append([]int(nil), widths[:len(widths)-1]...), 1)
	hidden := widths[len(widths)-2]
	n := mlpSize(qWidths)
	params := make([]float32, n+layerSize(hidden, prediction))
	return &critic{params, newMLP(params, qWidths), newLayer(params[n:], hidden, prediction)}
}

// A pun is the critic ensemble, its targets and what their training needs.
type pun struct {
	critics []*critic
	targets []*mlp
	polyak  softUpdate

	predicted  int // components of what the heads predict
	headLoss   func(dp, p, s []float32, width int) float64
	separate   bool      // both optimisers move backbone and head; see parts
	gradients  []*critic // one for each critic, or one for the critic at work
	criticAdam []*adam
	headAdam   []*adam

	// What the architectures of Figure 6 do in another way than PUN; see
	// bootstrap.go and ensemble.go.

	ownTargets bool // each critic learns from its own target critic: no minimum
	shared     bool // all critics have one backbone
	spread     func(d []float64, heads [][]float32, width int)

	pass       *pass
	prediction []matrix // each head's, B by the head's width
	ownDraw    matrix   // a head's on the heads' own minibatch, likewise
	dp         matrix   // B by the head's width
	headT      matrix   // scratch for the head's transposed weights
	q          []matrix // each critic's values, B by 1
	masked     matrix   // scratch for maskPredicted

	values [][]float32 // scratch: something of each critic
}

// newPUN returns an ensemble with networks of the given sizes. Critics differ
// by their initial weights alone; targets start equal to their critics.
func newPUN(p Params, sizes Sizes, rng *rand.Rand) *pun {
	predicted := sizes.Observation
	if p.HeadTarget == "achieved" {
		predicted = sizes.Goal
	}
	widths := []int{sizes.Observation + sizes.Goal + sizes.Action}
	for range p.HiddenLayers {
		widths = append(widths, p.HiddenSize)
	}
	u := newEnsemble(p, widths, predicted)
	for i, c := range u.critics {
		c.q.initialize(rng)
		c.head.initialize(rng)
		if u.shared {
			u.shareBackbone(i)
		}
		copy(u.targets[i].params, c.q.params)
	}
	return u
}

// newEnsemble returns an ensemble of zeros. widths are those of the critics'
// input and hidden layers, predicted is the number of components that the heads
// predict.
func newEnsemble(p Params, widths []int, predicted int) *pun {
	u := &pun{
		predicted: predicted,
		headLoss:  PredictiveLoss,
		separate:  p.PredictiveGradient == "separate",
		spread:    HeadDeviation,
		pass:      newPass(append(widths, 1)),
	}
	if p.HeadLoss == "norm" {
		u.headLoss = predictiveNorm
	}
	head := predicted
	switch p.Uncertainty {
	case "bootstrap":
		head = u.bootstrap(p)
	case "ensemble":
		head = u.deepEnsemble(p)
	}
	u.dp, u.ownDraw = newMatrix(0, head), newMatrix(0, head)
	u.headT = newMatrix(head, widths[len(widths)-1])
	for range p.Critics {
		c := newCritic(append(widths, head))
		u.critics = append(u.critics, c)
		u.targets = append(u.targets, newMLP(make([]float32, len(c.q.params)), append(widths, 1)))
		if u.shared || len(u.gradients) == 0 {
			u.gradients = append(u.gradients, newCritic(append(widths, head)))
		}
		u.prediction = append(u.prediction, newMatrix(0, head))
		u.q = append(u.q, newMatrix(0, 1))
		u.values = append(u.values, nil)
		criticPart, headPart := u.parts(c)
		u.criticAdam = append(u.criticAdam, newAdam(len(criticPart)))
		u.headAdam = append(u.headAdam, newAdam(len(headPart)))
	}
	return u
}

// reserve makes room for batches of the given number of rows.
func (u *pun) reserve(rows int) {
	if rows <= u.dp.rows {
		return
	}
	u.pass.reserve(rows)
	u.dp, u.ownDraw = newMatrix(rows, u.dp.cols), newMatrix(rows, u.dp.cols)
	for i, p := range u.prediction {
		u.prediction[i] = newMatrix(rows, p.cols)
	}
	for i := range u.q {
		u.q[i] = newMatrix(rows, 1)
	}
}

// parts returns what the critics' and the heads' optimisers move: φ and the
// head, or, where the predictive loss has a step of its own that enters the
// backbone, everything twice.
func (u *pun) parts(c *critic) (critic, head []float32) {
	if u.separate {
		return c.params, c.params
	}
	n := len(c.q.params)
	return c.params[:n], c.params[n:]
}

// gradient returns where the gradient of critic i goes.
func (u *pun) gradient(i int) *critic { return u.gradients[min(i, len(u.gradients)-1)] }

// targetValue returns the value of target critic i at x, of B elements. It
// stands until the next call for i.
func (u *pun) targetValue(w *workers, x matrix, i int) []float32 {
	q := u.q[i].data[:x.rows]
	copy(q, u.targets[i].infer(w, u.pass, x).data)
	return q
}

// target sets y to Equation 1 for a minibatch, given its rewards r and, in
// next, its s', g' and a': one target for all critics, or one for each where
// they have targets of their own.
func (u *pun) target(w *workers, y [][]float32, r []float32, next matrix, discount float64, rng stream) {
	if u.ownTargets {
		for i := range u.targets {
			q := u.targetValue(w, next, i)
			TDTarget(y[i], r, q, q, discount)
		}
		return
	}
	i, j := drawPair(rng, len(u.targets))
	q1 := u.targetValue(w, next, i)
	q2 := q1
	if j != i {
		q2 = u.targetValue(w, next, j)
	}
	TDTarget(y[0], r, q1, q2, discount)
}

// forCritic returns critic i's element of values that there are one of for
// each critic, or one for all, or, if nil, none.
func forCritic[T any](values []T, i int) T {
	if len(values) == 0 {
		return *new(T)
	}
	return values[min(i, len(values)-1)]
}

// TDTarget sets y, of B values, to the target that all critics learn from:
// y = r + γ min(q1, q2), where q1 and q2 are the values Q_targ(s', a', g') of
// the two target critics in M.
//
// It implements QTA, Equation 1 (Section 3.1).
//
// Reading: a' comes from the target policy given (s', g), as in DDPG; the
// paper writes π(·|s') and names neither network nor goal.
//
// Reading: g' is g, the goal of the transition after relabelling.
//
// Reading: no terminal state cuts the sum off: neither reaching the goal nor
// the end of an episode.
func TDTarget(y, r, q1, q2 []float32, discount float64) {
	γ := float32(discount)
	for i := range y {
		y[i] = r[i] + float32(γ*min(q1[i], q2[i]))
	}
}

// drawPair returns M, two different indices below n, each pair as likely as
// another. One critic alone is both, without a draw.
//
// Reading: M is drawn anew for each minibatch, and is the same for all of its
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
//
// Reading: the joint loss is the sum over the critics, of which each critic's
// gradient sees its own term alone.
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
// towards the policy: φ_targ = ρ φ_targ + (1-ρ) φ. Both have the same length.
//
// It implements QTA, Equation 3 (Section 3.1).
//
// Reading: the policy has a target network too, as in DDPG, with the same ρ.
func Polyak(target, online []float32, ρ float64) {
	if len(target) != len(online) {
		panic("qta: Polyak: networks differ in size")
	}
	polyakStep(target, online, float32(ρ), float32(1-ρ))
}

// A softUpdate is Equation 3 for one network, as a task.
type softUpdate struct {
	target, online []float32
	ρ              float64
}

func (s *softUpdate) part(i, n int) {
	lo, hi := stretch(len(s.target), i, n)
	Polyak(s.target[lo:hi], s.online[lo:hi], s.ρ)
}

// updateTargets applies Equation 3 to every critic.
func (u *pun) updateTargets(w *workers, ρ float64) {
	for i, c := range u.critics {
		u.polyak = softUpdate{u.targets[i].params, c.q.params, ρ}
		w.run(&u.polyak)
	}
}

// PredictiveLoss returns one predictive head's loss 1/B Σ |p - s'|² and sets
// dp to its gradient with respect to p. p, s and dp are B by width.
//
// It implements QTA, Equation 4 (Section 3.1).
//
// Reading: s' is the raw next observation, in the environment's units; the
// text says "hidden state" for what the agent will observe.
//
// Reading: the gradient goes on through ξ into the critic's backbone, which
// descends Equations 2 and 4 as one loss, by the critic's optimiser; the head's
// own layer moves at the predictive network's rate. The text has "a joint loss
// function", and a ξ that both predictions share "so that the quality of the
// two predictions will be tightly coupled"; it stops no gradient.
//
// Reading: the sum is over the critics' minibatch B, by the notation. As the
// heads see relabelled goals there, ξ is that of the relabelled goal.
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

// predictiveNorm is what the authors' code minimises in place of Equation 4:
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

// learn is one step of every critic on the minibatch b, and of every head on
// the minibatch heads, which may be the same: unless PredictiveGradient gives
// the heads another step, in which case learnHeads does it. It returns the
// losses' means over the ensemble.
func (u *pun) learn(w *workers, b, heads *batch, p *Params, decay bool) (criticLoss, headLoss float64) {
	for i := range u.critics {
		critic, head := u.learnOne(w, i, b, heads, p, decay)
		criticLoss += critic
		headLoss += head
	}
	if u.shared {
		u.sumBackbones()
		for i := range u.critics {
			u.stepCritic(w, i, p, decay)
		}
	}
	g := float64(len(u.critics))
	return criticLoss / g, headLoss / g
}

// learnOne is learn for critic i. With a shared backbone it stops at the
// gradients.
func (u *pun) learnOne(w *workers, i int, b, heads *batch, p *Params, decay bool) (criticLoss, headLoss float64) {
	network, head, gradient := u.critics[i].q, u.critics[i].head, u.gradient(i)
	n := len(network.layers) - 1
	ξ := network.latent(w, u.pass, b.x)
	prediction := u.prediction[i].slice(0, b.x.rows)
	q := u.q[i].data[:b.x.rows]
	copy(q, network.final(w, u.pass, ξ).data)
	dq := u.pass.dx[n+1].slice(0, b.x.rows)
	criticLoss = CriticLoss(dq.data, q, forCritic(b.y, i), forCritic(b.weights, i))
	joint := p.PredictiveGradient == "joint"
	if joint && heads == b {
		headLoss = u.headGradient(w, i, ξ, prediction, b, p.PredictiveWeight)
		dξ := u.pass.dx[n].slice(0, b.x.rows)
		network.layers[n].backward(w, gradient.q.layers[n], ξ, dq, u.pass.ones, u.pass.wT[n])
		network.layers[n].backwardInput(w, dξ, dq, u.pass.wT[n], epilogue{})
		head.backwardInput(w, dξ, u.dp.slice(0, b.x.rows), u.headT, epilogue{add: true, mask: ξ})
		network.backward(w, u.pass, gradient.q, b.x, n, false)
	} else {
		if headsJoin(p) {
			headLoss = u.headGradient(w, i, ξ, prediction, b, 1)
		} else if b.priority != nil {
			head.forward(w, prediction, ξ, false)
		}
		network.backward(w, u.pass, gradient.q, b.x, n+1, false)
		if joint {
			headLoss = u.backboneGradient(w, i, heads, p.PredictiveWeight, true)
		}
	}
	if !u.shared {
		u.stepCritic(w, i, p, decay)
	}
	return criticLoss, headLoss
}

// headsJoin reports whether the predictive heads learn in the critics' step.
func headsJoin(p *Params) bool {
	return p.PredictiveGradient == "joint" || p.PredictiveGradient == "head" && !p.HeadOwnDraw
}

// stepCritic moves critic i, and its predictive head if that joins, against
// the gradient.
func (u *pun) stepCritic(w *workers, i int, p *Params, decay bool) {
	c, g := u.critics[i], u.gradient(i)
	n := len(c.q.params)
	if headsJoin(p) {
		u.stepHead(w, i, p, decay)
	}
	clear(g.params[n:])
	params, _ := u.parts(c)
	gradient, _ := u.parts(g)
	clipGradient(gradient, p.GradientClip)
	u.criticAdam[i].step(w, params, gradient, p.CriticRate, decayIf(decay, p.CriticDecay))
}

// learnHeads is one step of every head on a minibatch, and of the backbone with
// PredictiveGradient separate. It returns the loss's mean over the ensemble.
func (u *pun) learnHeads(w *workers, b *batch, p *Params, decay bool) (loss float64) {
	for i, c := range u.critics {
		if u.separate {
			loss += u.backboneGradient(w, i, b, 1, false)
			final := u.gradient(i).q.layers[len(c.q.layers)-1]
			clear(final.w.data)
			clear(final.b)
		} else {
			ξ := c.q.latent(w, u.pass, b.x)
			loss += u.headGradient(w, i, ξ, u.ownDraw.slice(0, b.x.rows), b, 1)
		}
		if !u.shared {
			u.stepHead(w, i, p, decay)
		}
	}
	if u.shared {
		if u.separate {
			u.sumBackbones()
		}
		for i := range u.critics {
			u.stepHead(w, i, p, decay)
		}
	}
	return loss / float64(len(u.critics))
}

// backboneGradient runs head i on a minibatch, fills its gradient and sets that
// of the backbone, or adds to it, and returns the loss.
func (u *pun) backboneGradient(w *workers, i int, b *batch, weight float64, add bool) float64 {
	c := u.critics[i]
	n := len(c.q.layers) - 1
	ξ := c.q.latent(w, u.pass, b.x)
	loss := u.headGradient(w, i, ξ, u.ownDraw.slice(0, b.x.rows), b, weight)
	c.head.backwardInput(w, u.pass.dx[n].slice(0, b.x.rows), u.dp.slice(0, b.x.rows), u.headT, epilogue{mask: ξ})
	c.q.backward(w, u.pass, u.gradient(i).q, b.x, n, add)
	return loss
}

// stepHead moves predictive head i, and with PredictiveGradient separate its
// critic's backbone, against the gradient.
func (u *pun) stepHead(w *workers, i int, p *Params, decay bool) {
	_, params := u.parts(u.critics[i])
	_, gradient := u.parts(u.gradient(i))
	clipGradient(gradient, p.GradientClip)
	u.headAdam[i].step(w, params, gradient, p.PredictiveRate, decayIf(decay, p.HeadDecay))
}

// headGradient runs head i on ξ, fills its gradient, times the given weight, and
// returns its loss.
func (u *pun) headGradient(w *workers, i int, ξ, prediction matrix, b *batch, weight float64) float64 {
	dp, next := u.dp.slice(0, ξ.rows), b.head
	n := ξ.rows * dp.cols
	u.critics[i].head.forward(w, prediction, ξ, false)
	if mask := forCritic(b.headMasks, i); mask != nil {
		next = u.maskPredicted(prediction, next, mask)
	}
	loss := u.headLoss(dp.data[:n], prediction.data[:n], next.data[:ξ.rows*next.cols], next.cols)
	if weight != 1 {
		for k := range dp.data[:n] {
			dp.data[k] *= float32(weight)
		}
	}
	u.critics[i].head.backward(w, u.gradient(i).head, ξ, dp, u.pass.ones, u.headT)
	return loss
}

// priorities sets d to the priority of each transition that the critics have
// just learnt from, before they moved: the heads' deviation at the stored
// action, or, for Replay td, the critics' mean absolute error, or the sample
// standard deviation of their values.
//
// Reading: the paper names no estimate of one transition; the heads' deviation
// at (s, a, g) is what the authors' code takes, after relabelling.
//
// Differs: Schaul et al. (2016, section 3.3) add a small constant to |TD error|.
// Here, as in the authors' code, a transition whose priority is zero is never
// drawn again. Where they have one critic, this is the mean over all.
func (u *pun) priorities(d []float64, b *batch, p *Params) {
	values := u.values
	switch {
	case p.Replay == "per":
		for i := range values {
			values[i] = u.prediction[i].data
		}
		u.spread(d, values, u.predicted)
	case p.TDPriority == "deviation":
		for i := range values {
			values[i] = u.q[i].data
		}
		HeadDeviation(d, values, 1)
	default:
		clear(d)
		for i := range values {
			for k, y := range forCritic(b.y, i)[:len(d)] {
				d[k] += math.Abs(float64(u.q[i].data[k])-float64(y)) / float64(len(values))
			}
		}
	}
}

func decayIf(on bool, decay float64) float64 {
	if on {
		return decay
	}
	return 0
}

// HeadDeviation sets u, of B values, to the disagreement of the G predictive
// heads: the sample standard deviation over the heads, of which each is B by
// width, then the mean over the width components of the prediction. That of one
// head alone is 0.
//
// It is part of QTA, Equation 5.
//
// Reading: the display averages the predictions, which would measure nothing;
// the text of section 3.1 takes their standard deviation. It divides by G-1,
// and components are averaged: the paper names neither.
func HeadDeviation(u []float64, heads [][]float32, width int) {
	g := float64(len(heads))
	for r := range u {
		sum := 0.0
		for c := r * width; c < (r+1)*width; c++ {
			_, square := headMoments(heads, c)
			sum += math.Sqrt(square / max(g-1, 1))
		}
		u[r] = sum / float64(width)
	}
}

// headMoments returns the mean over the heads of their element c, and the sum
// of squared differences from it.
func headMoments(heads [][]float32, c int) (mean, square float64) {
	for _, h := range heads {
		mean += float64(h[c])
	}
	mean /= float64(len(heads))
	for _, h := range heads {
		δ := float64(h[c]) - mean
		square += float64(δ * δ)
	}
	return mean, square
}

// deviation sets d, of B values, to [HeadDeviation] at x.
func (u *pun) deviation(w *workers, d []float64, x matrix, heads [][]float32) {
	for i, c := range u.critics {
		p := u.prediction[i].slice(0, x.rows)
		c.head.forward(w, p, c.q.latent(w, u.pass, x), false)
		heads[i] = p.data
	}
	u.spread(d, heads, u.predicted)
}

// uncertainty sets ε, of N values, to the epistemic uncertainty of N
// candidates: the mean over d actions of the heads' deviation,
//
//	ε_k = 1/d Σ_j deviation_i P_i(Q_backbone,i(s_k, a_j, g_k))
//
// Row k of x holds s_k and g_k; its action columns are overwritten. actions is
// d N by the action's width: row j N + k is a_j of candidate k.
//
// It implements QTA, Equation 5 (Section 3.2).
//
// Reading: the sum has d terms and the ensemble G; the display's sums start at
// 0 and so count one more.
func (u *pun) uncertainty(w *workers, ε []float64, x, actions matrix) {
	var (
		n, d  = x.rows, actions.rows / x.rows
		heads = make([][]float32, len(u.critics))
		one   = make([]float64, min(n, u.dp.rows))
	)
	clear(ε)
	for lo := 0; lo < n; lo += u.dp.rows {
		hi := min(lo+u.dp.rows, n)
		chunk := x.slice(lo, hi)
		for j := range d {
			for k := range chunk.rows {
				row := chunk.row(k)
				copy(row[len(row)-actions.cols:], actions.row(j*n+lo+k))
			}
			u.deviation(w, one[:chunk.rows], chunk, heads)
			for k, v := range one[:chunk.rows] {
				ε[lo+k] += v / float64(d)
			}
		}
	}
}

// valueDeviation sets d, of B values, to the sample standard deviation over the
// critics of Q_i(x): the disagreement that Figure 6 compares PUN with.
func (u *pun) valueDeviation(w *workers, d []float64, x matrix) {
	values := u.values
	for i, c := range u.critics {
		values[i] = u.q[i].data[:x.rows]
		copy(values[i], c.q.forward(w, u.pass, x).data)
	}
	HeadDeviation(d, values, 1)
}

// parameters returns the parameters of all networks, named after the kind of
// critic.
func (u *pun) parameters(kind string) []parameterVector {
	var vectors []parameterVector
	for i, c := range u.critics {
		vectors = append(vectors,
			parameterVector{fmt.Sprintf("%s %d", kind, i+1), c.params},
			parameterVector{fmt.Sprintf("target %s %d", kind, i+1), u.targets[i].params})
	}
	return vectors
}

// meanValues sets q, of B values, to the mean over the critics at x.
func (u *pun) meanValues(w *workers, q []float64, x matrix) {
	clear(q)
	for _, c := range u.critics {
		for i, v := range c.q.forward(w, u.pass, x).data[:x.rows] {
			q[i] += float64(v) / float64(len(u.critics))
		}
	}
}
