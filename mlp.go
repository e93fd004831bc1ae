package qta

import (
	"math"
	"math/rand/v2"
)

// This file is the networks: layers forward and backward side by side, and
// Adam. Matrices are row-major, a row per sample; B is the number of rows.
// Nothing here knows of reinforcement learning. How a batch goes through the
// layers of a network, in chunks and on several threads, is in mlp_pass.go.

// A layer is one affine map, y = x W + b.
type layer struct {
	w matrix    // in by out
	b []float32 // out
}

// layerSize returns the number of parameters of a layer.
func layerSize(in, out int) int { return in*out + out }

// newLayer returns a layer whose weights, and then biases, are the first
// layerSize(in, out) elements of params.
func newLayer(params []float32, in, out int) layer {
	return layer{matrix{in, out, out, 1, params[:in*out]}, params[in*out:][:out]}
}

// forward sets y, B by out, to x W + b, and to max(0, x W + b) with relu.
func (l layer) forward(w *workers, y, x matrix, relu bool) {
	w.mul(y, x, l.w, epilogue{bias: l.b, relu: relu})
}

// backward sets the gradients of a loss with respect to W and b, given x and
// dy = dL/dy, B by out:
//
//	dW = xᵀ dy    db = 1ᵀ dy
//
// ones is a row of at least B ones. wT is scratch, out by in.
func (l layer) backward(w *workers, gradient layer, x, dy, ones, wT matrix) {
	g := gradientOf(w.chosen(), gradient, x, dy, ones, wT, false)
	w.mul(g.weights.c, g.weights.a, g.weights.b, g.weights.e)
	w.mul(g.biases.c, g.biases.a, g.biases.b, g.biases.e)
	g.finish(gradient)
}

// A layerGradient is the products that make the gradients of a layer.
type layerGradient struct {
	weights, biases product
	transposed      bool // weights makes the transpose of dW
}

// gradientOf returns the products of [layer.backward]; with add they add to
// what wT or the gradients hold.
func gradientOf(k kernel, gradient layer, x, dy, ones, wT matrix, add bool) layerGradient {
	ones.cols = dy.rows
	e := epilogue{add: add}
	g := layerGradient{biases: newProduct(k, matrix{1, dy.cols, dy.cols, 1, gradient.b}, ones, dy, e)}
	// The kernels are fast where C has few rows, and slow where it has few
	// columns whose terms are rows apart.
	if g.transposed = dy.cols <= narrow && dy.cols < x.cols; g.transposed {
		g.weights = newProduct(k, wT, dy.t(), x, e)
	} else {
		g.weights = newProduct(k, gradient.w, x.t(), dy, e)
	}
	return g
}

// finish sets the gradient where the products have not.
func (g *layerGradient) finish(gradient layer) {
	if g.transposed {
		transpose(gradient.w, g.weights.c)
	}
}

// backwardInput sets dx, B by in, to dy Wᵀ, or adds it to dx, as e says; with
// the mask x = max(0, z) it is the gradient with respect to z. wT is scratch,
// out by in.
func (l layer) backwardInput(w *workers, dx, dy, wT matrix, e epilogue) {
	transpose(wT, l.w)
	w.mul(dx, dy, wT, e)
}

// An mlp is a multilayer perceptron: affine layers with ReLU between them. Its
// output is linear.
//
// Reading R72: the paper names no activation; ReLU is that of the authors' code.
type mlp struct {
	params []float32 // W and b of every layer in turn
	layers []layer
}

// mlpSize returns the number of parameters of a network with the given widths
// from input to output.
func mlpSize(widths []int) int {
	n := 0
	for l := range len(widths) - 1 {
		n += layerSize(widths[l], widths[l+1])
	}
	return n
}

// newMLP returns a network that lives in the first mlpSize(widths) elements of
// params.
func newMLP(params []float32, widths []int) *mlp {
	m := &mlp{params: params[:mlpSize(widths)]}
	for l := range len(widths) - 1 {
		size := layerSize(widths[l], widths[l+1])
		m.layers = append(m.layers, newLayer(params, widths[l], widths[l+1]))
		params = params[size:]
	}
	return m
}

// initialize draws the weights and biases of a layer uniformly from ±1/√in.
//
// Reading R73: the paper names no initialisation; this is what PyTorch's linear
// layers start from, which the authors' code uses.
func (l layer) initialize(rng *rand.Rand) {
	bound := 1 / math.Sqrt(float64(l.w.rows))
	for _, p := range [][]float32{l.w.data, l.b} {
		for i := range p {
			p[i] = float32(bound * symmetric(rng))
		}
	}
}

func (m *mlp) initialize(rng *rand.Rand) {
	for _, l := range m.layers {
		l.initialize(rng)
	}
}

// Adam's constants, from section 2 of its paper.
const (
	adamBeta1   = 0.9
	adamBeta2   = 0.999
	adamEpsilon = 1e-8
)

// An adam is the optimiser's state for one vector of parameters: Adam, by
// Kingma and Ba (2015), Algorithm 1.
//
// Reading R74: section 3.1 has "gradient descent" and the table learning rates; the
// steps are Adam's, as in the authors' code.
type adam struct {
	rate         float64
	m, v         []float32 // first and second moment
	beta1, beta2 float64   // β₁ᵗ and β₂ᵗ
	workers      *workers

	// Of optimisers that the paper does not have: see authors.go and
	// baseline_mega.go.
	clip  float64 // largest magnitude of an element of the gradient, or 0
	decay float64 // times the parameters, added to the gradient

	// The step under way, for part.
	params, gradient []float32
	c                adamCoefficients
}

func newAdam(n int, rate float64, w *workers) *adam {
	return &adam{rate: rate, m: make([]float32, n), v: make([]float32, n), beta1: 1, beta2: 1, workers: w}
}

// step moves params against the gradient:
//
//	m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²
//	params -= rate · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + ε)
//
// with g the gradient, clipped, plus decay times params. All have the same
// length.
func (a *adam) step(params, gradient []float32) {
	if len(params) != len(a.m) || len(gradient) != len(a.m) {
		panic("qta: adam: parameters, gradient and moments differ in length")
	}
	clipGradient(gradient, a.clip)
	a.beta1 *= adamBeta1
	a.beta2 *= adamBeta2
	a.params, a.gradient = params, gradient
	a.c = adamCoefficients{
		beta1: adamBeta1, oneMinusBeta1: 1 - adamBeta1,
		beta2: adamBeta2, oneMinusBeta2: 1 - adamBeta2,
		step:  float32(a.rate / (1 - a.beta1)),
		scale: float32(1 / math.Sqrt(1-a.beta2)),
		eps:   adamEpsilon,
		decay: float32(a.decay),
	}
	a.workers.run(a)
}

// part is step for the i-th of n stretches of the parameters.
func (a *adam) part(i, n int) {
	lo, hi := band(len(a.m), i, n)
	adamStep(a.params[lo:hi], a.m[lo:hi], a.v[lo:hi], a.gradient[lo:hi], a.c)
}

// clipGradient clips every element of a gradient to between -limit and limit,
// which is done before Adam sees it. A limit of 0 is none; a NaN stays.
func clipGradient(gradient []float32, limit float64) {
	if limit == 0 {
		return
	}
	bound := float32(limit)
	for i, g := range gradient {
		if g > bound {
			gradient[i] = bound
		} else if g < -bound {
			gradient[i] = -bound
		}
	}
}
