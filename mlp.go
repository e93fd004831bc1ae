package qta

import (
	"math"
	"math/rand/v2"
)

// This file is the networks: layers forward and backward side by side, a batch's
// way through them, and Adam. Matrices are row-major, a row per sample; B is the
// number of rows. Nothing here knows of reinforcement learning.

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

// initialize draws the weights and biases of a layer uniformly from ±1/√in.
//
// Reading R73: the paper names no initialization; this is how PyTorch's linear
// layers start, which the authors' code uses.
func (l layer) initialize(rng *rand.Rand) {
	bound := 1 / math.Sqrt(float64(l.w.rows))
	for _, p := range [][]float32{l.w.data, l.b} {
		for i := range p {
			p[i] = float32(bound * symmetric(rng))
		}
	}
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
// With add it adds to the gradients, and to what it left in wT. wT is scratch,
// out by in.
func (l layer) backward(w *workers, gradient layer, x, dy, wT matrix, add bool) {
	ones := matrix{1, dy.rows, 0, 0, one[:]}
	w.mul(matrix{1, dy.cols, dy.cols, 1, gradient.b}, ones, dy, epilogue{add: add})
	if dy.cols > narrow || dy.cols >= x.cols {
		w.mul(gradient.w, x.t(), dy, epilogue{add: add})
		return
	}
	// The kernels are fast where C has few rows, and slow where it has few
	// columns whose terms are rows apart.
	w.mul(wT, dy.t(), x, epilogue{add: add})
	w.transpose(gradient.w, wT)
}

// inputGradient sets dx, B by in, to the gradient with respect to x, given dy:
//
//	dx = dy Wᵀ
//
// e says what else happens to dx. wT is scratch, out by in.
func (l layer) inputGradient(w *workers, dx, dy, wT matrix, e epilogue) {
	w.transpose(wT, l.w)
	w.mul(dx, dy, wT, e)
}

// one is any number of ones, by strides of 0. Nothing writes to it.
var one = [1]float32{1}

// An mlp is a multilayer perceptron: affine layers with ReLU between them. Its
// output is linear.
//
// Reading R72: the paper names no activation; ReLU is from the authors' code.
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
		m.layers = append(m.layers, newLayer(params, widths[l], widths[l+1]))
		params = params[layerSize(widths[l], widths[l+1]):]
	}
	return m
}

func (m *mlp) initialize(rng *rand.Rand) {
	for _, l := range m.layers {
		l.initialize(rng)
	}
}

// A parameterVector is a network's parameters with its name.
type parameterVector struct {
	name   string
	values []float32
}

// A pass holds what a batch leaves behind on its way through networks of one
// shape. x[0] is the caller's input; x[l] is the output of layer l-1 after its
// ReLU; dx[l] is the gradient with respect to that output before its ReLU. It
// has room for as many rows as the largest batch so far.
//
// A batch goes through a network in chunks of rows: one layer's output for a
// chunk is still in the cache when the next layer needs it. A gradient grows
// from chunk to chunk, in the order of the rows, so that its bits do not depend
// on chunks. Only one chunk is kept of a gradient on its way to the input.
type pass struct {
	x, dx   []matrix
	wT      []matrix // scratch for each layer's transposed weights
	dwT     []matrix // and transposed gradient
	workers *workers
}

// newPass returns a pass through networks of the given widths.
func newPass(widths []int, w *workers) *pass {
	p := &pass{x: make([]matrix, len(widths)), dx: make([]matrix, len(widths)), workers: w}
	for l, width := range widths {
		p.dx[l].cols = width
		if l > 0 {
			p.wT = append(p.wT, newScratch(width, widths[l-1]))
			p.dwT = append(p.dwT, newScratch(width, widths[l-1]))
		}
	}
	return p
}

// reserve makes room for batches of the given number of rows.
func (p *pass) reserve(rows int) {
	if rows <= p.dx[0].rows {
		return
	}
	for l, dx := range p.dx {
		matrixOf := newScratch
		if l == len(p.dx)-1 {
			matrixOf = newMatrix // the output has adjacent rows
		}
		p.x[l], p.dx[l] = matrixOf(rows, dx.cols), matrixOf(rows, dx.cols)
	}
}

// chunk returns the rows of a chunk, backward; forward it is half of that. For
// each thread some layers of 256 units and their weights fit two megabytes, and
// tiles of six and of twelve rows fit without a rest.
func (p *pass) chunk() int { return 192 * p.workers.n }

// latent runs x, B by in, through all layers but the last, and forward through all.
// Both fill p.x and return the last output. infer is forward without filling p.x.
func (m *mlp) latent(p *pass, x matrix) matrix  { return m.run(p, x, len(m.layers)-1, true) }
func (m *mlp) forward(p *pass, x matrix) matrix { return m.run(p, x, len(m.layers), true) }
func (m *mlp) infer(p *pass, x matrix) matrix   { return m.run(p, x, len(m.layers), false) }

// run runs x through the first n layers, at least one, and returns the output of
// the last of them.
func (m *mlp) run(p *pass, x matrix, n int, keep bool) matrix {
	p.reserve(x.rows)
	p.x[0] = x
	for lo := 0; lo < x.rows; lo += p.chunk() / 2 {
		m.runChunk(p, lo, min(lo+p.chunk()/2, x.rows), n, keep)
	}
	return p.x[n].slice(0, x.rows)
}

// runChunk is run for the rows lo to hi. Unless p.x is to be kept, all chunks
// write their hidden layers to the same rows.
func (m *mlp) runChunk(p *pass, lo, hi, n int, keep bool) {
	x := p.x[0].slice(lo, hi)
	for l, layer := range m.layers[:n] {
		last, at := l == len(m.layers)-1, 0
		if keep || last {
			at = lo
		}
		y := p.x[l+1].slice(at, at+hi-lo)
		layer.forward(p.workers, y, x, !last)
		x = y
	}
}

// backward fills the gradient of the first n layers, given what latent or forward
// left in p.x, and p.dx[n], the gradient with respect to layer n-1's output before ReLU.
func (m *mlp) backward(p *pass, gradient *mlp, n int) {
	w, rows := p.workers, p.x[0].rows
	for l := 1; l < n; l++ {
		w.transpose(p.wT[l], m.layers[l].w)
	}
	for lo := 0; lo < rows; lo += p.chunk() {
		hi := min(lo+p.chunk(), rows)
		dy := p.dx[n].slice(lo, hi)
		for l := n - 1; l >= 0; l-- {
			x, dx := p.x[l].slice(lo, hi), p.dx[l].slice(0, hi-lo)
			m.layers[l].backward(w, gradient.layers[l], x, dy, p.dwT[l], lo > 0)
			if l > 0 {
				w.mul(dx, dy, p.wT[l], epilogue{mask: x})
			}
			dy = dx
		}
	}
}

// outputGradient returns the output y for x, B by in, and, given
// p.dx[len(m.layers)] = dL/dy, the gradient with respect to the columns of x
// from the given one on. The hidden layers of p become scratch.
func (m *mlp) outputGradient(p *pass, x matrix, column int) (y, dx matrix) {
	n := len(m.layers)
	p.x[0] = x
	for l, layer := range m.layers {
		p.workers.transpose(p.wT[l], layer.w)
	}
	y, dx = p.x[n].slice(0, x.rows), p.dx[0].slice(0, x.rows).columns(column, x.cols)
	for lo := 0; lo < x.rows; lo += p.chunk() / 2 {
		hi := min(lo+p.chunk()/2, x.rows)
		m.runChunk(p, lo, hi, n, false)
		dy := p.dx[n].slice(lo, hi)
		for l := n - 1; l > 0; l-- {
			next := p.dx[l].slice(0, hi-lo)
			p.workers.mul(next, dy, p.wT[l], epilogue{mask: p.x[l].slice(0, hi-lo)})
			dy = next
		}
		p.workers.mul(dx.slice(lo, hi), dy, p.wT[0].columns(column, x.cols), epilogue{})
	}
	return y, dx
}

// Adam's constants, from section 2 of its paper.
const (
	adamBeta1   = 0.9
	adamBeta2   = 0.999
	adamEpsilon = 1e-8
)

// An adam is the optimizer's state for one vector of parameters: Adam, by
// Kingma and Ba (2015), Algorithm 1.
//
// Reading R74: section 3.1 has "gradient descent" and the table learning rates; the
// steps are Adam's, as in the authors' code, but that denormal moments become 0.
type adam struct {
	rate         float64
	m, v         []float32 // first and second moment
	beta1, beta2 float64   // β₁ᵗ and β₂ᵗ
	workers      *workers

	params, gradient []float32

	decay float64 // times the parameters, added to the gradient: for departures

	c adamCoefficients // of the step under way, for do
}

// newAdam returns an optimizer that moves params against gradient, which have
// the same length.
func newAdam(params, gradient []float32, rate float64, w *workers) *adam {
	m, v := make([]float32, len(params)), make([]float32, len(params))
	return &adam{rate: rate, m: m, v: v, beta1: 1, beta2: 1, workers: w, params: params, gradient: gradient}
}

// step moves the parameters against the gradient g:
//
//	m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²
//	params -= rate · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + ε)
//
// with g the gradient plus decay times params.
func (a *adam) step() {
	a.beta1 = float64(a.beta1 * adamBeta1) // converted: not fused with what follows
	a.beta2 = float64(a.beta2 * adamBeta2)
	a.c = adamCoefficients{
		beta1: adamBeta1, oneMinusBeta1: 1 - adamBeta1,
		beta2: adamBeta2, oneMinusBeta2: 1 - adamBeta2,
		step:  float32(a.rate / (1 - a.beta1)),
		scale: float32(1 / math.Sqrt(1-a.beta2)),
		eps:   adamEpsilon,
		decay: float32(a.decay),
	}
	a.workers.run(a, len(a.params), 64*len(a.params))
}

// adamCoefficients are the scalars of one step of Adam: with step t, step is
// the learning rate over 1-beta1^t and scale is 1/sqrt(1-beta2^t).
type adamCoefficients struct {
	beta1, oneMinusBeta1 float32
	beta2, oneMinusBeta2 float32
	step, scale, eps     float32
	decay                float32
}

// smallestNormal is the smallest float32 that is not denormal. A moment below
// it becomes 0: the moments of a dead unit would stay among the denormals,
// where arithmetic is several times slower.
const smallestNormal = 0x1p-126

// do is step for some of the parameters. Its loop is the definition of what
// adamStepVector does with the leading ones.
func (a *adam) do(lo, hi int) {
	w, m, v, grad, c := a.params[lo:hi], a.m[lo:hi], a.v[lo:hi], a.gradient[lo:hi], &a.c
	n := adamStepVector(w, m, v, grad, c)
	w, m, v, grad = w[n:], m[n:], v[n:], grad[n:]
	for i := range w {
		g := grad[i] + float32(c.decay*w[i])
		mi := float32(c.beta1*m[i]) + float32(c.oneMinusBeta1*g)
		vi := float32(c.beta2*v[i]) + float32(float32(c.oneMinusBeta2*g)*g)
		if mi < smallestNormal && mi > -smallestNormal {
			mi = 0
		}
		if vi < smallestNormal {
			vi = 0
		}
		m[i], v[i] = mi, vi
		root := float32(math.Sqrt(float64(vi)))
		w[i] -= float32(float32(c.step*mi) / (float32(root*c.scale) + c.eps))
	}
}
