package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The functions twin... compute in float64 what the package computes in float32. They go
// number by number and share no arithmetic with the package. Gradients are central
// differences of their losses.

// twinForward runs one row through a net. It also returns the last hidden layer's output.
func twinForward(n float64Net, x []float64) (latent, y []float64) {
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
func twinAct(n float64Net, s, g []float64) []float64 {
	_, z := twinForward(n, slices.Concat(s, g))
	return each(z, math.Tanh)
}

// twinValue is a critic's value.
func twinValue(n float64Net, s, g, a []float64) float64 {
	_, q := twinForward(n, slices.Concat(s, g, a))
	return q[0]
}

// twinPrediction is what a critic's head predicts for the critic's input x.
func twinPrediction(critic float64Net, head float64Layer, x []float64) []float64 {
	latent, _ := twinForward(critic, x)
	_, p := twinForward(float64Net{head}, latent)
	return p
}

// twinCriticLoss is the loss of critic i on a minibatch, given the critic's targets: the mean over
// rows, where a row that the critic does not learn from counts as 0.
func twinCriticLoss(h heads, critic float64Net, b *batch, i int) (mean float64) {
	y, _ := h.criticTargets(i, b)
	for k := range b.x.rows {
		if learns(h, i, b.transitions[k]) {
			_, q := twinForward(critic, float64s(b.x.row(k)))
			square := math.Pow(q[0]-float64(y[k]), 2)
			mean += float64(b.w[k]) * square / float64(b.x.rows)
		}
	}
	return mean
}

// twinHeadLoss is the loss of critic i's head on a minibatch: the mean over rows, where a row
// that the head does not learn from counts as 0. loss is the loss of one row.
func twinHeadLoss(h heads, critic float64Net, head float64Layer, b *batch, i int, loss func(p, s []float64) float64) (mean float64) {
	for k := range b.x.rows {
		if learns(h, i, b.transitions[k]) {
			p := twinPrediction(critic, head, float64s(b.x.row(k)))
			mean += loss(p, float64s(b.sNext.row(k))) / float64(b.x.rows)
		}
	}
	return mean
}

// twinSquare is Equation 4 for one row.
func twinSquare(p, s []float64) (square float64) {
	for c := range s {
		square += math.Pow(p[c]-s[c], 2)
	}
	return square
}

// twinNorm is what the authors' code has in place of Equation 4, for one row.
func twinNorm(p, s []float64) float64 { return math.Sqrt(twinSquare(p, s)) }

// learns reports whether critic i and its head learn from a transition: only bootstrapped ones
// leave out some.
func learns(h heads, i, transition int) bool {
	b, ok := h.(*bootstrapHeads)
	return !ok || inMask(b.seed, transition, i)
}

// prioritiesOf returns the sampler of an agent with prioritized replay. First it lets new
// transitions have a priority, as the next draw would.
func prioritiesOf(a *Agent) *prioritizedSampler {
	a.sampler.savedState()
	if s, ok := a.sampler.(tdSampler); ok {
		return s.prioritizedSampler
	}
	return a.sampler.(*prioritizedSampler)
}

// learnerOf returns an agent's innermost learner, which neither repeats nor averages.
func learnerOf(a *Agent) learner {
	l := unwrapped(a.learner)
	if m, ok := l.(*movingAverage); ok {
		return unwrapped(m.learner)
	}
	return l
}

// averagedCritics returns the moving average of an agent's critics, or nil.
func averagedCritics(a *Agent) []*critic {
	if m, ok := unwrapped(a.learner).(*movingAverage); ok {
		return m.critics
	}
	return nil
}

// unwrapped returns l, or the learner whose updates l repeats.
func unwrapped(l learner) learner {
	if r, ok := l.(repeatingLearner); ok {
		return r.learner
	}
	return l
}

// update makes one update, whether or not one is due.
func (a *Agent) update() error { return unwrapped(a.learner).update(a) }

// twinParams returns pointers to the parameters of layers, in the order in which the package
// keeps them: of each layer the weights by rows, then the biases.
func twinParams(layers ...float64Layer) (params []*float64) {
	for _, l := range layers {
		for _, row := range append(slices.Clone(l.W), l.B) {
			for i := range row {
				params = append(params, &row[i])
			}
		}
	}
	return params
}

// numericGradient returns the central difference of loss for each parameter.
func numericGradient(params []*float64, loss func() float64) (gradient []float64) {
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

// twinSampleDeviation is the sample deviation by pairs: the variance is half the mean squared
// difference of two different elements.
func twinSampleDeviation(x []float64) float64 {
	square := 0.0
	pairs := 0
	for i := range x {
		for j := range i {
			square += math.Pow(x[i]-x[j], 2)
			pairs++
		}
	}
	return math.Sqrt(square / float64(pairs) / 2)
}

// randomRows returns numbers that are exact in float32, so that the package and its twin see
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

// seeded returns a generator of random numbers. The two numbers decide what it gives.
func seeded(a, b uint64) *rand.Rand { return rand.New(rand.NewPCG(a, b)) }

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkEqual compares what a test wants with what it got. format and arguments say what it is.
func checkEqual(t testing.TB, want, got any, format string, arguments ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, arguments...), diff)
	}
}

// checkNear is checkEqual for float64 numbers, which may be off by a share of their size.
func checkNear(t testing.TB, share float64, want, got any, format string, arguments ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(share, 0)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, arguments...), diff)
	}
}

// near stops the test at an element of got whose distance from the element e of want is more
// than 2e-5 (1 + |e|).
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	within(t, what, got, want, func(e float64) float64 { return 2e-5 * (1 + math.Abs(e)) })
}

// nearGradient stops the test at an element of a gradient that is off by more than 2e-6 of the
// gradient's size, its largest magnitude.
func nearGradient(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	size := 0.0
	for _, e := range want {
		size = math.Max(size, math.Abs(e))
	}
	within(t, what, got, want, func(float64) float64 { return 2e-6 * size })
}

// within stops the test at an element of got whose distance from the element e of want is more
// than allowed(e), or NaN.
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

// firstGradient returns the gradient of an optimizer that has made its first step. This step
// sets m to 0.1 times the gradient.
func firstGradient(o *adam) []float32 {
	return each(o.m, func(m float32) float32 { return 10 * m })
}

// A float64Net is a network in float64, its layers from the input on.
type float64Net []float64Layer

type float64Layer struct {
	W [][]float64 // in by out
	B []float64
}

// load sets a net, or a layer, to one in float64.
func (m *mlp) load(n float64Net) {
	for i, l := range m.layers {
		l.load(n[i])
	}
}

func (l layer) load(v float64Layer) {
	for i, row := range v.W {
		copy(l.w.row(i), float32s(row))
	}
	copy(l.b, float32s(v.B))
}

// float64Copy returns a net, or a layer, in float64.
func (m *mlp) float64Copy() float64Net { return each(m.layers, layer.float64Copy) }

func (l layer) float64Copy() float64Layer {
	return float64Layer{tableOf(l.w, 0, l.w.cols), float64s(l.b)}
}

// table returns the matrix with these rows.
func table(rows [][]float64) matrix {
	m := newMatrix(len(rows), len(rows[0]))
	for i, row := range rows {
		copy(m.row(i), float32s(row))
	}
	return m
}

// tableOf returns the rows of a matrix, and of each row the elements [from:to].
func tableOf(x matrix, from, to int) (rows [][]float64) {
	for k := range x.rows {
		rows = append(rows, float64s(x.row(k)[from:to]))
	}
	return rows
}

func float64s(x []float32) []float64 { return each(x, func(v float32) float64 { return float64(v) }) }
func float32s(x []float64) []float32 { return each(x, func(v float64) float32 { return float32(v) }) }

// each returns f of every element of x.
func each[T, U any](x []T, f func(T) U) []U {
	y := make([]U, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}
