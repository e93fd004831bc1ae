package qta

// This file is the way of a batch through a network, forward and backward.
// What it computes is what the layers of mlp.go compute, one after the other;
// TestChunks holds the two to the same bits.

// A pass holds what a batch leaves behind on its way through networks of one
// shape. x[0] is unused, the input being the caller's; x[l] is the output of
// layer l-1 after its ReLU; dx[l] is the gradient with respect to that output
// before its ReLU. It has room for as many rows as the largest batch so far,
// though of a gradient on its way to the input only a chunk is kept.
//
// A batch goes through a network in chunks of rows: what one layer leaves of a
// chunk is in the cache when the next needs it. A gradient grows from chunk to
// chunk, in the order of the rows, so that its bits do not depend on chunks.
type pass struct {
	x, dx []matrix
	wT    []matrix // scratch for each layer's transposed weights
	dwT   []matrix // and transposed gradient
	ones  matrix   // a row of ones

	workers    *workers
	forward    forwardTask
	input      inputTask
	output     outputTask
	gradient   gradientTask
	transposed transposeTask
}

// chunk is the rows of a chunk for each thread: some layers of 256 units and
// their weights fit two megabytes, and tiles of six and of twelve rows fit
// without a rest. Forward it is half of that.
const chunk = 192

// newPass returns a pass through networks of the given widths.
func newPass(widths []int, w *workers) *pass {
	p := &pass{x: make([]matrix, len(widths)), dx: make([]matrix, len(widths)), workers: w}
	for l, width := range widths {
		p.x[l].cols = width
		if l > 0 {
			p.wT = append(p.wT, newMatrix(width, widths[l-1]))
			p.dwT = append(p.dwT, newMatrix(width, widths[l-1]))
		}
	}
	return p
}

// reserve makes room for batches of the given number of rows.
func (p *pass) reserve(rows int) {
	if rows <= p.ones.cols {
		return
	}
	for l := range p.x {
		p.x[l] = newMatrix(rows, p.x[l].cols)
		p.dx[l] = newMatrix(rows, p.x[l].cols)
	}
	p.ones = newMatrix(1, rows)
	for i := range p.ones.data {
		p.ones.data[i] = 1
	}
}

// latent runs x, B by in, through all layers but the last and returns the last
// hidden layer's output, B by width. It fills p.x.
func (m *mlp) latent(p *pass, x matrix) matrix {
	return m.layersForward(p, x, len(m.layers)-1)
}

// final returns the output of the last layer, whose input is ξ.
func (m *mlp) final(p *pass, ξ matrix) matrix {
	n := len(m.layers)
	y := p.x[n].slice(0, ξ.rows)
	m.layers[n-1].forward(p.workers, y, ξ, false)
	return y
}

// forward runs x, B by in, through the network and returns its output. It
// fills p.x.
func (m *mlp) forward(p *pass, x matrix) matrix {
	return m.layersForward(p, x, len(m.layers))
}

// layersForward runs x through the first n layers and returns the output of
// the last of them.
func (m *mlp) layersForward(p *pass, x matrix, n int) matrix {
	p.reserve(x.rows)
	if n == 0 {
		return x
	}
	p.forward = forwardTask{m, p, x, n, true, p.workers.chosen()}
	p.workers.runLarge(&p.forward, x.rows*len(m.params))
	return p.x[n].slice(0, x.rows)
}

// infer is forward where only the output is wanted: the hidden layers' p.x
// become scratch.
func (m *mlp) infer(p *pass, x matrix) matrix {
	p.reserve(x.rows)
	p.forward = forwardTask{m, p, x, len(m.layers), false, p.workers.chosen()}
	p.workers.runLarge(&p.forward, x.rows*len(m.params))
	return p.x[len(m.layers)].slice(0, x.rows)
}

// A forwardTask runs x through the first n layers. Unless p.x is to be kept,
// the chunks of a part write their hidden layers to the same rows.
type forwardTask struct {
	m      *mlp
	p      *pass
	x      matrix
	n      int
	keep   bool
	kernel kernel
}

func (t *forwardTask) part(i, n int) {
	r0, r1 := band(t.x.rows, i, n)
	for lo := r0; lo < r1; lo += chunk / 2 {
		at := r0
		if t.keep {
			at = lo
		}
		t.rows(lo, min(lo+chunk/2, r1), at)
	}
}

// rows runs the rows lo to hi through the layers. The first of a hidden layer
// goes to row at of p.x.
func (t *forwardTask) rows(lo, hi, at int) {
	x := t.x.slice(lo, hi)
	for l, layer := range t.m.layers[:t.n] {
		last := l == len(t.m.layers)-1
		if last {
			at = lo
		}
		y := t.p.x[l+1].slice(at, at+hi-lo)
		p := newProduct(t.kernel, y, x, layer.w, epilogue{bias: layer.b, relu: !last})
		p.part(0, 1)
		x = y
	}
}

// backward fills the gradient of the first n layers, given the input x and
// p.dx[n], the gradient with respect to layer n-1's output. With add it adds to
// what the call before, for the same gradient, has filled.
func (m *mlp) backward(p *pass, gradient *mlp, x matrix, n int, add bool) {
	m.transpose(p, 1, n)
	rows := chunk * p.workers.threads()
	for lo := 0; lo < x.rows; lo += rows {
		hi := min(lo+rows, x.rows)
		p.input = inputTask{m, p, lo, hi, n, p.workers.chosen()}
		p.workers.runLarge(&p.input, (hi-lo)*len(m.params))
		p.gradient = gradientTask{m, p, gradient, x, lo, hi, n, add || lo > 0, p.workers.chosen()}
		p.workers.runLarge(&p.gradient, (hi-lo)*len(m.params))
	}
	for l := range n {
		g := p.gradient.layer(l)
		g.finish(gradient.layers[l])
	}
}

// An inputTask fills p.dx from layer n-1 down to the second for the rows lo to
// hi, of which the first goes to the first of p.dx.
type inputTask struct {
	m         *mlp
	p         *pass
	lo, hi, n int
	kernel    kernel
}

func (t *inputTask) part(i, n int) {
	r0, r1 := band(t.hi-t.lo, i, n)
	dy := t.p.dx[t.n].slice(t.lo+r0, t.lo+r1)
	t.p.inputs(t.kernel, t.n, dy, t.lo+r0, r0)
}

// inputs fills p.dx from layer n-1 down to the second, given dy, the gradient
// with respect to layer n-1's output: of a hidden layer the rows of p.x from x
// on, and of p.dx from dx on. It returns the last that it fills.
func (p *pass) inputs(k kernel, n int, dy matrix, x, dx int) matrix {
	for l := n - 1; l > 0; l-- {
		next := p.dx[l].slice(dx, dx+dy.rows)
		product := newProduct(k, next, dy, p.wT[l], epilogue{mask: p.x[l].slice(x, x+dy.rows)})
		product.part(0, 1)
		dy = next
	}
	return dy
}

// transpose fills p.wT for the layers first to n-1.
func (m *mlp) transpose(p *pass, first, n int) {
	p.transposed = transposeTask{m, p, first, n}
	p.workers.run(&p.transposed)
}

// A transposeTask is transpose for a band of the rows of each layer's W.
type transposeTask struct {
	m        *mlp
	p        *pass
	first, n int
}

func (t *transposeTask) part(i, n int) {
	for l := t.first; l < t.n; l++ {
		weights := t.m.layers[l].w
		if lo, hi := band(weights.rows, i, n); lo < hi {
			transpose(t.p.wT[l].columns(lo, hi), weights.slice(lo, hi))
		}
	}
}

// outputGradient returns the output y for x, B by in, and, given
// p.dx[len(m.layers)] = dL/dy, the gradient with respect to the columns of x
// from the given one on. The hidden layers of p become scratch.
func (m *mlp) outputGradient(p *pass, x matrix, column int) (y, dx matrix) {
	n := len(m.layers)
	p.reserve(x.rows)
	m.transpose(p, 0, n)
	p.output = outputTask{forwardTask{m, p, x, n, false, p.workers.chosen()}, column}
	p.workers.runLarge(&p.output, 2*x.rows*len(m.params))
	return p.x[n].slice(0, x.rows), p.dx[0].slice(0, x.rows).columns(column, x.cols)
}

// An outputTask is outputGradient for a band of rows.
type outputTask struct {
	forwardTask
	column int
}

func (t *outputTask) part(i, n int) {
	r0, r1 := band(t.x.rows, i, n)
	for lo := r0; lo < r1; lo += chunk / 2 {
		hi := min(lo+chunk/2, r1)
		t.rows(lo, hi, r0)
		dy := t.p.inputs(t.kernel, t.n, t.p.dx[t.n].slice(lo, hi), r0, r0)
		dx, wT := t.p.dx[0].slice(lo, hi), t.p.wT[0]
		p := newProduct(t.kernel, dx.columns(t.column, dx.cols), dy, wT.columns(t.column, wT.cols), epilogue{})
		p.part(0, 1)
	}
}

// inputGradient returns the gradient with respect to the input for B samples,
// B by in, given p.dx[len(m.layers)]. It is for one thread.
func (m *mlp) inputGradient(p *pass, rows int) matrix {
	n := len(m.layers)
	m.transpose(p, 0, n)
	dx := p.dx[0].slice(0, rows)
	(*workers)(nil).mul(dx, p.inputs(best, n, p.dx[n].slice(0, rows), 0, 0), p.wT[0], epilogue{})
	return dx
}

// A gradientTask adds the rows lo to hi to the gradient of the first n layers,
// for a band of each layer's parameters.
type gradientTask struct {
	m         *mlp
	p         *pass
	gradient  *mlp
	x         matrix
	lo, hi, n int
	add       bool // to what the gradient holds
	kernel    kernel
}

// layer returns the products for one layer.
func (t *gradientTask) layer(l int) layerGradient {
	x, dy := t.x, t.p.dx[l+1].slice(0, t.hi-t.lo)
	if l > 0 {
		x = t.p.x[l]
	}
	if l+1 == t.n {
		dy = t.p.dx[l+1].slice(t.lo, t.hi)
	}
	return gradientOf(t.kernel, t.gradient.layers[l], x.slice(t.lo, t.hi), dy, t.p.ones, t.p.dwT[l], t.add)
}

func (t *gradientTask) part(i, n int) {
	for l := t.n - 1; l >= 0; l-- {
		g := t.layer(l)
		g.weights.part(i, n)
		g.biases.part(i, n)
	}
}
