package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The twins compute in float64 what the package computes in float32, one
// number at a time, and share no arithmetic with it. Their gradients are
// central differences.

// twinForward runs one row through a net. It returns the last hidden layer's
// output too.
func twinForward(n vectorNet, x []float64) (latent, y []float64) {
	for l, layer := range n {
		latent = x
		y = slices.Clone(layer.B)
		for j := range y {
			for i := range x {
				y[j] += x[i] * layer.W[i][j]
			}
			if l < len(n)-1 {
				y[j] = math.Max(0, y[j])
			}
		}
		x = y
	}
	return latent, y
}

// twinAct is a policy's action.
func twinAct(n vectorNet, s, g []float64) []float64 {
	_, a := twinForward(n, slices.Concat(s, g))
	for i := range a {
		a[i] = math.Tanh(a[i])
	}
	return a
}

func twinValue(n vectorNet, s, g, a []float64) float64 {
	_, q := twinForward(n, slices.Concat(s, g, a))
	return q[0]
}

// twinBatch is a minibatch, a row per transition.
type twinBatch struct {
	s, g, a, next [][]float64
	r, y, w       []float64
}

func twinCriticLoss(critic vectorNet, b twinBatch, weighted bool) float64 {
	loss := 0.0
	for k := range b.s {
		term := math.Pow(twinValue(critic, b.s[k], b.g[k], b.a[k])-b.y[k], 2)
		if weighted {
			term *= b.w[k]
		}
		loss += term
	}
	return loss / float64(len(b.s))
}

func twinPrediction(critic vectorNet, head vectorLayer, b twinBatch, k int) []float64 {
	latent, _ := twinForward(critic, slices.Concat(b.s[k], b.g[k], b.a[k]))
	_, p := twinForward(vectorNet{head}, latent)
	return p
}

func twinPredictiveLoss(critic vectorNet, head vectorLayer, b twinBatch, form string) float64 {
	loss := 0.0
	for k := range b.s {
		square := 0.0
		for c, p := range twinPrediction(critic, head, b, k) {
			square += math.Pow(p-b.next[k][c], 2)
		}
		if form == "norm" {
			square = math.Sqrt(square)
		}
		loss += square
	}
	return loss / float64(len(b.s))
}

func twinPolicyLoss(actor vectorNet, critics []vectorNet, b twinBatch, l2 float64) float64 {
	loss, components := 0.0, 0
	square := 0.0
	for k := range b.s {
		a := twinAct(actor, b.s[k], b.g[k])
		for _, c := range critics {
			loss -= twinValue(c, b.s[k], b.g[k], a) / float64(len(critics)*len(b.s))
		}
		for _, v := range a {
			square += v * v
			components++
		}
	}
	return loss + l2*square/float64(components)
}

// twinTarget is Equation 1 for one transition.
func twinTarget(actorTarget vectorNet, targets []vectorNet, b twinBatch, k int, γ float64, M []int) float64 {
	a := twinAct(actorTarget, b.next[k], b.g[k])
	return b.r[k] + γ*math.Min(twinValue(targets[M[0]], b.next[k], b.g[k], a), twinValue(targets[M[1]], b.next[k], b.g[k], a))
}

// twinDeviation is the mean over components of the sample deviation over heads.
func twinDeviation(predictions [][]float64) float64 {
	mean := 0.0
	for c := range predictions[0] {
		var one []float64
		for _, p := range predictions {
			one = append(one, p[c])
		}
		mean += twinSampleDeviation(one) / float64(len(predictions[0]))
	}
	return mean
}

// twinSampleDeviation is written by pairs: the variance is half the mean
// squared difference of two different elements.
func twinSampleDeviation(x []float64) float64 {
	square, pairs := 0.0, 0
	for i := range x {
		for j := range i {
			square += math.Pow(x[i]-x[j], 2)
			pairs++
		}
	}
	return math.Sqrt(square / float64(pairs) / 2)
}

// twinAdam is Algorithm 1 of Adam's paper, with bias-corrected moments.
type twinAdam struct {
	m, v map[*float64]float64
	t    int
}

func newTwinAdam() *twinAdam { return &twinAdam{m: map[*float64]float64{}, v: map[*float64]float64{}} }

func (a *twinAdam) step(params []*float64, gradient []float64, rate, decay float64) {
	a.t++
	for i, p := range params {
		g := gradient[i] + decay**p
		a.m[p] = 0.9*a.m[p] + 0.1*g
		a.v[p] = 0.999*a.v[p] + 0.001*g*g
		m, v := a.m[p]/(1-math.Pow(0.9, float64(a.t))), a.v[p]/(1-math.Pow(0.999, float64(a.t)))
		*p -= rate * m / (math.Sqrt(v) + 1e-8)
	}
}

func twinPolyak(target, online []*float64, ρ float64) {
	for i, p := range target {
		*p = ρ**p + (1-ρ)**online[i]
	}
}

// twinParams returns a layer's parameters in the order in which the package
// keeps them: weights by rows, then biases.
func twinParams(layers ...vectorLayer) []*float64 {
	var params []*float64
	for _, l := range layers {
		for _, row := range l.W {
			for i := range row {
				params = append(params, &row[i])
			}
		}
		for i := range l.B {
			params = append(params, &l.B[i])
		}
	}
	return params
}

// twinGradient returns the central differences of loss.
func twinGradient(params []*float64, loss func() float64) []float64 {
	const h = 1e-5
	var gradient []float64
	for _, p := range params {
		at := *p
		*p = at + h
		above := loss()
		*p = at - h
		below := loss()
		*p = at
		gradient = append(gradient, (above-below)/(2*h))
	}
	return gradient
}

func randomRows(rng *rand.Rand, rows, cols int) [][]float64 {
	x := make([][]float64, rows)
	for i := range x {
		x[i] = make([]float64, cols)
		for j := range x[i] {
			// Exact in float32, so that both sides see the same number.
			x[i][j] = float64(float32(rng.NormFloat64()))
		}
	}
	return x
}

func randomLayer(rng *rand.Rand, in, out int) vectorLayer {
	l := vectorLayer{randomRows(rng, in, out), randomRows(rng, 1, out)[0]}
	for _, p := range twinParams(l) {
		*p = float64(float32(*p / math.Sqrt(float64(in))))
	}
	return l
}

func randomNet(rng *rand.Rand, widths ...int) vectorNet {
	var n vectorNet
	for l := range len(widths) - 1 {
		n = append(n, randomLayer(rng, widths[l], widths[l+1]))
	}
	return n
}

func randomNets(rng *rand.Rand, n int, widths ...int) []vectorNet {
	nets := make([]vectorNet, n)
	for i := range nets {
		nets[i] = randomNet(rng, widths...)
	}
	return nets
}

func randomBatch(rng *rand.Rand, rows int, sizes Sizes, prediction int) twinBatch {
	b := twinBatch{
		s:    randomRows(rng, rows, sizes.Observation),
		g:    randomRows(rng, rows, sizes.Goal),
		a:    randomRows(rng, rows, sizes.Action),
		next: randomRows(rng, rows, prediction),
		y:    randomRows(rng, 1, rows)[0],
	}
	for range rows {
		b.r = append(b.r, -float64(rng.IntN(2)))
		b.w = append(b.w, float64(rng.Float32()))
	}
	return b
}

func (b twinBatch) x() matrix { return transitions(b.s, b.g, b.a) }

// batch returns the minibatch as the ensemble sees it.
func (b twinBatch) batch() *batch {
	const most = 4 // critics of a test
	return &batch{x: b.x(), y: slices.Repeat([][]float32{float32s(b.y)}, most), weights: make([][]float32, most), head: table("next", b.next, 0)}
}

// headsOf returns the heads' minibatch: b or, with a draw of their own, one
// that has the same transitions.
func headsOf(b *batch, p *Params) *batch {
	if !p.HeadOwnDraw {
		return b
	}
	own := *b
	return &own
}

// learnBy is the step of critics, and of heads that learn in it, that the
// parameters ask for.
func (u *pun) learnBy(b, heads *batch, p *Params) (criticLoss, headLoss float64) {
	u.architecture.gradient, u.architecture.step = nil, nil
	u.departGradient(p)
	return u.learn(b, heads)
}

// near reports an error for the first element of got that is not e within
// 2e-5 (1 + |e|).
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, e := range want {
		if d := math.Abs(float64(got[i]) - e); !(d <= 2e-5*(1+math.Abs(e))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], e)
		}
	}
}

// nearGradient reports an error for the first element of a gradient that is off
// by more than 2e-6 of the gradient's size, its largest element.
func nearGradient(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	size := 0.0
	for _, e := range want {
		size = math.Max(size, math.Abs(e))
	}
	for i, e := range want {
		if d := math.Abs(float64(got[i]) - e); !(d <= 2e-6*size) {
			t.Fatalf("%s: element %d is %v, want %v, in a gradient of up to %v", what, i, got[i], e, size)
		}
	}
}

// gradientCase is a tiny problem of sizes all different.
type gradientCase struct {
	critics []vectorNet
	heads   []vectorLayer
	actor   vectorNet
	b       twinBatch
	still   Params // rates are zero: gradients are computed, networks stay
}

func newGradientCase(seed uint64) gradientCase {
	rng := rand.New(rand.NewPCG(seed, 1))
	sizes := Sizes{Observation: 3, Goal: 2, Action: 4}
	c := gradientCase{
		critics: randomNets(rng, 3, 9, 5, 7, 1),
		actor:   randomNet(rng, 5, 6, 5, 4),
		b:       randomBatch(rng, 6, sizes, 3),
		still:   Paper(),
	}
	for range c.critics {
		c.heads = append(c.heads, randomLayer(rng, 7, 3))
	}
	c.still.CriticRate, c.still.PredictiveRate, c.still.ActorRate = 0, 0, 0
	return c
}

// tenfold undoes Adam's 1-β₁ after a first step.
func tenfold(m []float32) []float32 {
	g := make([]float32, len(m))
	for i, v := range m {
		g[i] = 10 * v
	}
	return g
}
