package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The twin computes in float64 what the package computes in float32, one number
// at a time, and shares no arithmetic with it. Gradients are central differences
// of its losses.

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
	_, z := twinForward(n, slices.Concat(s, g))
	return each(z, math.Tanh)
}

func twinValue(n vectorNet, s, g, a []float64) float64 {
	_, q := twinForward(n, slices.Concat(s, g, a))
	return q[0]
}

// twinBatch is a minibatch, a row per transition.
type twinBatch struct {
	s, g, a, next [][]float64
	y, w          []float64
}

// mean is that of a term of each transition.
func (b twinBatch) mean(term func(k int) float64) float64 {
	sum := 0.0
	for k := range b.s {
		sum += term(k)
	}
	return sum / float64(len(b.s))
}

func twinCriticLoss(critic vectorNet, b twinBatch, weighted bool) float64 {
	return b.mean(func(k int) float64 {
		square := math.Pow(twinValue(critic, b.s[k], b.g[k], b.a[k])-b.y[k], 2)
		if weighted {
			square *= b.w[k]
		}
		return square
	})
}

func twinPrediction(critic vectorNet, head vectorLayer, b twinBatch, k int) []float64 {
	latent, _ := twinForward(critic, slices.Concat(b.s[k], b.g[k], b.a[k]))
	_, p := twinForward(vectorNet{head}, latent)
	return p
}

func twinPredictiveLoss(critic vectorNet, head vectorLayer, b twinBatch, form string) float64 {
	return b.mean(func(k int) float64 {
		square := 0.0
		for c, p := range twinPrediction(critic, head, b, k) {
			square += math.Pow(p-b.next[k][c], 2)
		}
		if form == "norm" {
			return math.Sqrt(square)
		}
		return square
	})
}

func twinPolicyLoss(actor vectorNet, critics []vectorNet, b twinBatch, l2 float64) float64 {
	return b.mean(func(k int) (loss float64) {
		a := twinAct(actor, b.s[k], b.g[k])
		for _, c := range critics {
			loss -= twinValue(c, b.s[k], b.g[k], a) / float64(len(critics))
		}
		for _, v := range a {
			loss += l2 * v * v / float64(len(a))
		}
		return loss
	})
}

// twinParams returns a layer's parameters in the order in which the package
// keeps them: weights by rows, then biases.
func twinParams(layers ...vectorLayer) (params []*float64) {
	for _, l := range layers {
		for _, row := range append(slices.Clone(l.W), l.B) {
			for i := range row {
				params = append(params, &row[i])
			}
		}
	}
	return params
}

// twinGradient returns the central differences of loss.
func twinGradient(params []*float64, loss func() float64) (gradient []float64) {
	const h = 1e-5
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

// twinDeviation is the mean over components of the sample deviation over heads.
func twinDeviation(predictions [][]float64) float64 {
	mean := 0.0
	for c := range predictions[0] {
		component := each(predictions, func(p []float64) float64 { return p[c] })
		mean += twinSampleDeviation(component) / float64(len(predictions[0]))
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

func twinPolyak(target, online []*float64, ρ float64) {
	for i, p := range target {
		*p = ρ**p + (1-ρ)**online[i]
	}
}

// randomRows returns numbers that are exact in float32, so that both sides see
// the same.
func randomRows(rng *rand.Rand, rows, cols int) [][]float64 {
	x := make([][]float64, rows)
	for i := range x {
		for range cols {
			x[i] = append(x[i], float64(float32(rng.NormFloat64())))
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

func randomNet(rng *rand.Rand, widths ...int) (n vectorNet) {
	for l := range len(widths) - 1 {
		n = append(n, randomLayer(rng, widths[l], widths[l+1]))
	}
	return n
}

func randomNets(rng *rand.Rand, n int, widths ...int) (nets []vectorNet) {
	for range n {
		nets = append(nets, randomNet(rng, widths...))
	}
	return nets
}

func randomBatch(rng *rand.Rand, rows int, sizes Sizes, prediction int) twinBatch {
	return twinBatch{
		s:    randomRows(rng, rows, sizes.Observation),
		g:    randomRows(rng, rows, sizes.Goal),
		a:    randomRows(rng, rows, sizes.Action),
		next: randomRows(rng, rows, prediction),
		y:    randomRows(rng, 1, rows)[0],
		w:    each(make([]float64, rows), func(float64) float64 { return float64(rng.Float32()) }),
	}
}

// x returns the critics' input.
func (b twinBatch) x() matrix {
	var rows [][]float64
	for k := range b.s {
		rows = append(rows, slices.Concat(b.s[k], b.g[k], b.a[k]))
	}
	return table("x", rows, 0)
}

// batch returns the minibatch as the ensemble sees it.
func (b twinBatch) batch() *batch {
	const most = 4 // critics of a test
	return &batch{
		x:       b.x(),
		y:       slices.Repeat([][]float32{float32s(b.y)}, most),
		weights: make([][]float32, most),
		head:    table("next", b.next, 0),
	}
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
	u.departGradient(p)
	return u.learn(b, heads)
}

// near reports an error for the first element of got that is not e within
// 2e-5 (1 + |e|).
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	within(t, what, got, want, func(e float64) float64 { return 2e-5 * (1 + math.Abs(e)) })
}

// nearGradient reports an error for the first element of a gradient that is off
// by more than 2e-6 of the gradient's size, its largest element.
func nearGradient(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	size := 0.0
	for _, e := range want {
		size = math.Max(size, math.Abs(e))
	}
	within(t, what, got, want, func(float64) float64 { return 2e-6 * size })
}

func within(t *testing.T, what string, got []float32, want []float64, allowed func(e float64) float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, e := range want {
		if d := math.Abs(float64(got[i]) - e); !(d <= allowed(e)) {
			t.Fatalf("%s: element %d is %v, want %v within %v", what, i, got[i], e, allowed(e))
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
	c := gradientCase{
		critics: randomNets(rng, 3, 9, 5, 7, 1),
		actor:   randomNet(rng, 5, 6, 5, 4),
		b:       randomBatch(rng, 6, Sizes{Observation: 3, Goal: 2, Action: 4}, 3),
		still:   Paper(),
	}
	for range c.critics {
		c.heads = append(c.heads, randomLayer(rng, 7, 3))
	}
	c.still.CriticRate, c.still.PredictiveRate, c.still.ActorRate = 0, 0, 0
	return c
}

// tenfold undoes Adam's 1-β₁ after a first step.
func tenfold(m []float32) []float32 { return each(m, func(v float32) float32 { return 10 * v }) }
