package qta

import (
	"math"
	"math/rand/v2"
)

// This file is the networks. It has the forward and backward pass of a layer, then of a
// whole network, and then Adam. Matrices are row-major. Those of a batch have B rows, one
// for each sample. Nothing here knows of reinforcement learning.

// A layer is one affine map, y = x W + b.
type layer struct {
	w matrix    // in by out
	b []float32 // out
}

// layerSize returns the number of parameters of a layer.
func layerSize(in, out int) int { return in*out + out }

// newLayer returns a layer whose parameters are the first layerSize(in, out) elements of
// params, the weights before the biases.
func newLayer(params []float32, in, out int) layer {
	weights := params[:in*out]
	biases := params[in*out:][:out]
	return layer{w: rowMajor(in, out, weights), b: biases}
}

// initialize draws the weights and biases of a layer uniformly from -1/√in to 1/√in.
//
// Reading R73: the paper names no initialization. PyTorch's linear layers, which the
// authors' code uses, start in this way.
func (l layer) initialize(rng *rand.Rand) {
	bound := 1 / math.Sqrt(float64(l.w.rows))
	for _, p := range [][]float32{l.w.data, l.b} {
		for i := range p {
			p[i] = float32(bound * symmetric(rng))
		}
	}
}

// forward sets y, B by out, to x W + b.
func (l layer) forward(w *workers, y, x matrix) {
	w.mul(y, x, l.w, epilogue{bias: l.b})
}

// backward sets the gradients of a loss L with respect to W and b. It needs x and dy,
// which is dL/dy, a matrix of B by out:
//
//	dW = xᵀ dy    db = 1ᵀ dy
//
// If e.add is set, backward adds dW and db to the gradients. dwT is scratch, out by in, and
// can hold a sum of gradients. So a call with e.add needs dwT as the call before left it.
func (l layer) backward(w *workers, gradient layer, x, dy, dwT matrix, e epilogue) {
	ones := matrix{rows: 1, cols: dy.rows, data: one[:]} // strides of 0 repeat the 1
	db := rowMajor(1, dy.cols, gradient.b)
	w.mul(db, ones, dy, e)

	// A product with few columns is fast only if the rows of its first factor are contiguous
	// in memory. In xᵀ the columns are contiguous instead. So a dW with few columns is
	// computed as its transpose dyᵀ x, which has few rows and is fast.
	fewColumns := dy.cols <= narrowCols && dy.cols < x.cols
	if fewColumns {
		w.mul(dwT, dy.t(), x, e)
		w.transpose(gradient.w, dwT)
		return
	}
	w.mul(gradient.w, x.t(), dy, e)
}

// inputGradient sets dx, B by in, to the gradient with respect to x, given dy:
//
//	dx = dy Wᵀ
//
// e is the epilogue of this product. wT is scratch for Wᵀ, out by in.
func (l layer) inputGradient(w *workers, dx, dy, wT matrix, e epilogue) {
	w.transpose(wT, l.w)
	w.mul(dx, dy, wT, e)
}

// one is a 1 that a matrix repeats. Nothing writes to it.
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

// newMLP returns a network whose parameters are the first mlpSize(widths) elements of
// params.
func newMLP(params []float32, widths []int) *mlp {
	m := &mlp{params: params[:mlpSize(widths)]}
	rest := params
	for l := range len(widths) - 1 {
		in := widths[l]
		out := widths[l+1]
		m.layers = append(m.layers, newLayer(rest, in, out))
		rest = rest[layerSize(in, out):]
	}
	return m
}

func (m *mlp) initialize(rng *rand.Rand) {
	for _, l := range m.layers {
		l.initialize(rng)
	}
}

// A parameterVector is the parameters of a network, with the network's name.
type parameterVector struct {
	name   string
	values []float32
}

// A pass holds the intermediate results of a batch in networks with the same layer
// widths. x[0] is the caller's input, and x[l] is the output of layer l-1 after its ReLU.
// dx[l] is the gradient with respect to what enters this ReLU. There is room for as many
// rows as the largest batch so far.
//
// A batch goes through a network in chunks of rows, so that one layer's output for a
// chunk is still in the cache when the next layer needs it. The gradient of the weights
// grows from chunk to chunk, in the order of the rows, so that its bits do not depend on
// the chunks' size. If only the next product needs a dx, the next chunk overwrites this dx.
type pass struct {
	x, dx   []matrix
	wT      []matrix // scratch for each layer's weights, transposed
	dwT     []matrix // scratch for the gradients of these weights, transposed
	workers *workers
}

// newPass returns a pass through networks of the given widths, without room for rows.
func newPass(widths []int, w *workers) *pass {
	p := &pass{
		x:       make([]matrix, len(widths)),
		dx:      make([]matrix, len(widths)),
		workers: w,
	}
	p.dx[0].cols = widths[0]
	for l, out := range widths[1:] {
		in := widths[l]
		p.dx[l+1].cols = out
		p.wT = append(p.wT, newScratch(out, in))
		p.dwT = append(p.dwT, newScratch(out, in))
	}
	return p
}

// reserve makes room for batches of the given number of rows.
func (p *pass) reserve(rows int) {
	if rows <= p.dx[0].rows {
		return
	}
	for l := range p.dx {
		newRows := newScratch
		if l == len(p.dx)-1 {
			newRows = newMatrix // without room between rows: callers use the output as one slice
		}
		width := p.dx[l].cols
		p.x[l] = newRows(rows, width)
		p.dx[l] = newRows(rows, width)
	}
}

// chunk returns the number of rows in a chunk of the backward pass, 192 for each thread. A
// chunk of the forward pass has half as many. The outputs of four layers of 256 units for
// 192 rows fit into a cache of two megabytes, together with the layers' weights. The
// kernels' tiles of six and twelve rows fill a chunk exactly.
func (p *pass) chunk() int { return 192 * p.workers.n }

// hiddenRows says in which rows of p.x a chunk's hidden layers store their outputs.
type hiddenRows bool

const (
	ownRows   hiddenRows = true  // in the chunk's own rows: backward needs all outputs
	firstRows hiddenRows = false // each chunk in the first rows, which stay in the cache
)

// latent runs x, B by in, through all layers but the last, and returns the output ξ of the
// last hidden layer. It leaves the output of every hidden layer in p.x.
func (m *mlp) latent(p *pass, x matrix) matrix {
	return m.run(p, x, len(m.layers)-1, ownRows)
}

// forward runs x, B by in, through all layers, and returns the output. It leaves the output
// of every layer in p.x.
func (m *mlp) forward(p *pass, x matrix) matrix {
	return m.run(p, x, len(m.layers), ownRows)
}

// infer is forward for a caller that needs only the output. Each chunk overwrites the
// hidden layers' outputs for the chunk before.
func (m *mlp) infer(p *pass, x matrix) matrix {
	return m.run(p, x, len(m.layers), firstRows)
}

// run runs x through the first n layers, at least one, and returns the output of
// layer n-1.
func (m *mlp) run(p *pass, x matrix, n int, where hiddenRows) matrix {
	p.reserve(x.rows)
	p.x[0] = x
	step := p.chunk() / 2
	for lo := 0; lo < x.rows; lo += step {
		hi := min(lo+step, x.rows)
		m.runChunk(p, lo, hi, n, where)
	}
	return p.x[n].slice(0, x.rows)
}

// runChunk runs the rows lo to hi of p.x[0] through the first n layers. It leaves the
// hidden layers' outputs where its argument says: in rows of their own or in the first rows.
func (m *mlp) runChunk(p *pass, lo, hi, n int, where hiddenRows) {
	x := p.x[0].slice(lo, hi)
	for l, layer := range m.layers[:n] {
		hidden := l < len(m.layers)-1
		y := p.x[l+1].slice(lo, hi)
		if hidden && where == firstRows {
			y = p.x[l+1].slice(0, hi-lo) // over the chunk before
		}
		p.workers.mul(y, x, layer.w, epilogue{bias: layer.b, relu: hidden})
		x = y
	}
}

// backward sets gradient for the first n layers, given what latent or forward left in p.x.
// The caller has set p.dx[n], the gradient with respect to the output of layer n-1
// before that layer's ReLU.
func (m *mlp) backward(p *pass, gradient *mlp, n int) {
	w := p.workers
	for l := 1; l < n; l++ {
		w.transpose(p.wT[l], m.layers[l].w)
	}
	rows := p.x[0].rows
	step := p.chunk()
	for lo := 0; lo < rows; lo += step {
		hi := min(lo+step, rows)
		sum := epilogue{add: lo > 0} // each chunk but the first adds to the gradient
		dy := p.dx[n].slice(lo, hi)
		for l := n - 1; l >= 0; l-- {
			x := p.x[l].slice(lo, hi)
			m.layers[l].backward(w, gradient.layers[l], x, dy, p.dwT[l], sum)
			if l > 0 {
				dx := p.dx[l].slice(0, hi-lo) // every chunk overwrites these rows
				w.mul(dx, dy, p.wT[l], epilogue{mask: x})
				dy = dx
			}
		}
	}
}

// inputGradient returns the output y for x, B by in. It also returns dx, which is dL/dx for
// the columns of x from the given column on. It needs dy, which is dL/dy, B by out.
// inputGradient overwrites the hidden layers' outputs in p.x.
func (m *mlp) inputGradient(p *pass, x, dy matrix, column int) (y, dx matrix) {
	n := len(m.layers)
	for l, layer := range m.layers {
		p.workers.transpose(p.wT[l], layer.w)
	}
	wT := p.wT[0].columns(column, x.cols)
	p.x[0] = x
	y = p.x[n].slice(0, x.rows)
	dx = p.dx[0].slice(0, x.rows).columns(column, x.cols)
	step := p.chunk() / 2
	for lo := 0; lo < x.rows; lo += step {
		hi := min(lo+step, x.rows)
		m.runChunk(p, lo, hi, n, firstRows)
		first := m.hiddenGradient(p, dy.slice(lo, hi))
		p.workers.mul(dx.slice(lo, hi), first, wT, epilogue{})
	}
	return y, dx
}

// hiddenGradient returns the gradient with respect to the first layer's output before its
// ReLU, for one chunk. dy is dL/dy of the chunk. runChunk has left the chunk's outputs in
// the first rows of p.x.
func (m *mlp) hiddenGradient(p *pass, dy matrix) matrix {
	for l := len(m.layers) - 1; l > 0; l-- {
		x := p.x[l].slice(0, dy.rows)
		dx := p.dx[l].slice(0, dy.rows)
		p.workers.mul(dx, dy, p.wT[l], epilogue{mask: x})
		dy = dx
	}
	return dy
}

// Adam's constants, from section 2 of its paper.
const (
	adamBeta1   = 0.9
	adamBeta2   = 0.999
	adamEpsilon = 1e-8
)

// An adam optimizes one vector of parameters, by Adam (Kingma and Ba, 2015, Algorithm 1).
//
// Reading R74: section 3.1 has "gradient descent", and the table has learning rates. The
// steps are Adam's, as in the authors' code, but here denormal moments become 0.
type adam struct {
	params, gradient []float32

	rate  float64
	decay float64   // decay · params is added to the gradient: for departures
	m, v  []float32 // first and second moment

	power1, power2 float64 // β₁ᵗ and β₂ᵗ
	c              adamCoefficients

	workers *workers
}

// newAdam returns an optimizer that moves params against gradient. Both slices have the
// same length.
func newAdam(params, gradient []float32, rate float64, w *workers) *adam {
	return &adam{
		params:   params,
		gradient: gradient,
		rate:     rate,
		m:        make([]float32, len(params)),
		v:        make([]float32, len(params)),
		power1:   1,
		power2:   1,
		workers:  w,
	}
}

// step takes one step of Adam, the t-th. g is the gradient plus decay times params:
//
//	m = β₁ m + (1-β₁) g    v = β₂ v + (1-β₂) g²
//	params -= rate · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + ε)
//
// workers.run counts the work in multiply-adds: one parameter takes as long as about 64.
func (a *adam) step() {
	a.power1 = float64(a.power1 * adamBeta1) // float64 keeps the compiler from fusing this with 1 - power1
	a.power2 = float64(a.power2 * adamBeta2)
	a.c = adamCoefficients{
		beta1: adamBeta1, oneMinusBeta1: 1 - adamBeta1,
		beta2: adamBeta2, oneMinusBeta2: 1 - adamBeta2,
		step:  float32(a.rate / (1 - a.power1)),
		scale: float32(1 / math.Sqrt(1-a.power2)),
		eps:   adamEpsilon,
		decay: float32(a.decay),
	}
	a.workers.run(a, len(a.params), 64*len(a.params))
}

// adamCoefficients are the scalars of step t of Adam. step is the learning rate over
// 1-β₁ᵗ, and scale is 1/√(1-β₂ᵗ).
type adamCoefficients struct {
	beta1, oneMinusBeta1 float32
	beta2, oneMinusBeta2 float32
	step, scale, eps     float32
	decay                float32
}

// smallestNormal is the smallest positive float32 that is not denormal. A moment that is
// smaller in magnitude becomes 0. Otherwise the moments of a dead unit would stay among
// the denormals, where arithmetic is several times slower.
const smallestNormal = 0x1p-126

// do takes the step for the parameters lo to hi. adamStepVector does the first n of them
// with the loop's arithmetic, and the loop does the rest.
func (a *adam) do(lo, hi int) {
	c := &a.c
	w := a.params[lo:hi]
	m := a.m[lo:hi]
	v := a.v[lo:hi]
	grad := a.gradient[lo:hi]
	n := adamStepVector(w, m, v, grad, c)
	for i := n; i < len(w); i++ {
		g := grad[i] + float32(c.decay*w[i])
		mi := float32(c.beta1*m[i]) + float32(c.oneMinusBeta1*g)
		vi := float32(c.beta2*v[i]) + float32(float32(c.oneMinusBeta2*g)*g)
		if mi < smallestNormal && mi > -smallestNormal {
			mi = 0
		}
		if vi < smallestNormal {
			vi = 0
		}
		m[i] = mi
		v[i] = vi
		root := float32(math.Sqrt(float64(vi)))
		w[i] -= float32(float32(c.step*mi) / (float32(root*c.scale) + c.eps))
	}
}
