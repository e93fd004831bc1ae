package qta

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// This file has the matrix product that every network uses, and the threads that share
// this and other work. Each element of a product is a sum that grows by one multiply-add
// for each k, in ascending order:
//
//	c = fma(a[i][k], b[k][j], c)
//
// Every kernel except the generic one fuses these multiply-adds. So the fusing kernels all
// give an element the same bits, for any number of threads and at any place in a tile.
// Threads and vectors divide the outputs among them, never the terms of a sum.

// A matrix is a strided view of rows by cols elements: element (i, j) is
// data[i*rowStride + j*colStride]. A stride of zero repeats an element.
type matrix struct {
	rows, cols           int
	rowStride, colStride int
	data                 []float32
}

// rowMajor returns the matrix whose rows are data, one after the other.
func rowMajor(rows, cols int, data []float32) matrix {
	return matrix{rows: rows, cols: cols, rowStride: cols, colStride: 1, data: data}
}

// newMatrix returns a row-major matrix of zeros.
func newMatrix(rows, cols int) matrix { return rowMajor(rows, cols, make([]float32, rows*cols)) }

// newScratch is newMatrix with a cache line's room after each row. Without this room, the
// rows of a matrix whose width is a power of two would share a few sets of the cache and
// evict each other.
func newScratch(rows, cols int) matrix {
	const line = 16 // float32 values of a cache line
	m := newMatrix(rows, cols+line)
	m.cols = cols
	return m
}

// t returns the transposed view of m, cols by rows, of the same elements.
func (m matrix) t() matrix {
	return matrix{rows: m.cols, cols: m.rows, rowStride: m.colStride, colStride: m.rowStride, data: m.data}
}

// slice returns the view of rows lo to hi, hi excluded.
func (m matrix) slice(lo, hi int) matrix {
	view := m
	view.rows = hi - lo
	view.data = m.data[min(lo*m.rowStride, len(m.data)):] // an empty view may begin beyond the data
	return view
}

// columns returns the view of columns lo to hi, hi excluded.
func (m matrix) columns(lo, hi int) matrix {
	view := m
	view.cols = hi - lo
	view.data = m.data[min(lo*m.colStride, len(m.data)):] // without rows there is no data
	return view
}

// at returns a pointer to element (i, j). The receiver is a pointer so that m is not
// copied at each call.
func (m *matrix) at(i, j int) *float32 { return &m.data[i*m.rowStride+j*m.colStride] }

// row returns row i, whose elements must be adjacent.
func (m matrix) row(i int) []float32 { return m.data[i*m.rowStride:][:m.cols:m.cols] }

// elements returns the elements of a matrix whose rows are adjacent.
func (m matrix) elements() []float32 { return m.data[:m.rows*m.cols] }

// setLastColumns overwrites the last columns of m with the matrix called from, which has
// as many rows as m.
func (m matrix) setLastColumns(from matrix) {
	for r := range m.rows {
		copy(m.row(r)[m.cols-from.cols:], from.row(r))
	}
}

// inside reports whether every element of m lies in its data.
func (m matrix) inside() bool {
	if min(m.rows, m.cols, m.rowStride, m.colStride) < 0 {
		return false
	}
	last := (m.rows-1)*m.rowStride + (m.cols-1)*m.colStride
	return m.rows*m.cols == 0 || last < len(m.data)
}

// An epilogue says where the sums of a product start, and what is done to the finished
// sums.
type epilogue struct {
	bias []float32 // every row of the product C starts from this row; if nil, from zero unless add is set
	add  bool      // C starts from its own contents; bias must be nil
	relu bool      // a negative element becomes 0; NaN and -0 survive
	mask matrix    // if data is not nil: C's element is 0 where mask's is 0
}

// fits reports whether the bias and the mask fit a product of the size of C.
func (e *epilogue) fits(c matrix) bool {
	if e.bias != nil && (e.add || len(e.bias) != c.cols) {
		return false
	}
	m := &e.mask
	if m.data == nil {
		return true
	}
	sized := m.rows == c.rows && m.cols == c.cols
	return sized && m.colStride == 1 && m.inside()
}

// finish applies the epilogue's ReLU and mask to sums, the finished elements of row i from
// column c0 on.
func (e *epilogue) finish(sums []float32, i, c0 int) {
	if e.relu {
		for j, x := range sums {
			if x < 0 {
				sums[j] = 0
			}
		}
	}
	if e.mask.data != nil {
		mask := e.mask.row(i)[c0:][:len(sums)]
		for j := range sums {
			if mask[j] == 0 {
				sums[j] = 0
			}
		}
	}
}

// mul sets C = epilogue(A B), where C is rows by cols, A is rows by k and B is
// k by cols. A may have any strides; the rows of B, C and the mask have
// adjacent elements. C shares no memory with the others.
//
// mul panics unless the sizes agree and every matrix lies within its data.
func (w *workers) mul(c, a, b matrix, e epilogue) {
	sized := c.rows == a.rows && c.cols == b.cols && a.cols == b.rows
	adjacent := b.colStride == 1 && c.colStride == 1
	inside := c.inside() && a.inside() && b.inside()
	if !sized || !adjacent || !inside || !e.fits(c) {
		panic("qta: the matrices of a product do not fit")
	}
	start := matrix{rows: c.rows, cols: c.cols, data: zeros[:]} // of strides 0
	switch {
	case e.add:
		start = c
	case e.bias != nil:
		start.colStride = 1
		start.data = e.bias
	}
	w.product = product{kernel: w.kernel, c: c, a: a, b: b, start: start, e: e}
	columns := max(c.cols, narrowCols) // fewer columns take hardly less time
	elements := c.rows * columns
	perElement := a.cols + 8 // 8 for what is done once for each element
	w.run(&w.product, max(c.rows, c.cols), elements*perElement)
}

// zeros stands in for the biases of a sum without any. Its length is the number of
// columns of the widest tile. Nothing writes to it.
var zeros [128]float32

// narrowCols is the largest number of columns of C that blockNarrow takes. Its vectors run
// along a column of C, not along a row as in the tiles.
const narrowCols = 4

// A product is one call of mul, as a task.
type product struct {
	kernel  kernel
	c, a, b matrix
	start   matrix // where the sums of C start
	e       epilogue
}

// do computes rows lo to hi of C, or columns if C has more columns than rows.
func (p *product) do(lo, hi int) {
	if p.c.rows >= p.c.cols {
		p.block(lo, hi, 0, p.c.cols)
	} else {
		p.block(0, p.c.rows, lo, hi)
	}
}

// A kernel is a way to compute tiles. All but the generic one are assembly.
type kernel string

const (
	generic kernel = "generic"
	neon    kernel = "neon"
	avx2    kernel = "avx2"
	avx512  kernel = "avx512"
)

// best is the fastest kernel of this machine.
var best = kernels()[0]

// block computes the rows r0 to r1 and columns c0 to c1 of C.
func (p *product) block(r0, r1, c0, c1 int) {
	if r0 == r1 || c0 == c1 {
		return
	}
	if p.kernel == generic || p.a.cols == 0 {
		p.blockGeneric(r0, r1, c0, c1)
		return
	}
	if c1-c0 <= narrowCols {
		r0 = p.blockNarrow(r0, r1, c0, c1) // the first row that is left
	}

	// Every row of tiles reads all rows of B. So all tiles first take 256 rows of B, which
	// stay in the cache from one row of tiles to the next, and then 256 more. At most
	// eight rows of C are one or two rows of tiles, for which such steps gain nothing.
	step := 256
	if r1-r0 <= 8 {
		step = p.a.cols
	}
	for k := 0; k < p.a.cols; k += step {
		p.tiles(r0, r1, c0, c1, k, min(k+step, p.a.cols))
	}
}

// blockGeneric is block without assembly. It rounds each product before the sum, c = c +
// float32(a*b) in ascending k. So its bits differ from the other kernels', but are the
// same on every machine. Portable Go could fuse only through float64, at less than a
// third of the speed.
func (p *product) blockGeneric(r0, r1, c0, c1 int) {
	for i := r0; i < r1; i++ {
		row := p.c.row(i)[c0:c1]
		for j := range row {
			row[j] = *p.start.at(i, c0+j)
		}
		p.addProducts(row, i, c0)
		p.e.finish(row, i, c0)
	}
}

// addProducts adds the products a[i][k] b[k][j] for all k to sums, which are the elements of
// row i of C from column c0 on.
func (p *product) addProducts(sums []float32, i, c0 int) {
	a := func(k int) float32 { return *p.a.at(i, k) }
	b := func(k int) []float32 { return p.b.data[k*p.b.rowStride+c0:][:len(sums)] } // row k of B

	// Four rows of B at a time save three of four passes over the sums.
	k := 0
	for ; k+4 <= p.a.cols; k += 4 {
		a0, a1, a2, a3 := a(k), a(k+1), a(k+2), a(k+3)
		b0, b1, b2, b3 := b(k), b(k+1), b(k+2), b(k+3)
		for j, s := range sums {
			s += float32(a0 * b0[j])
			s += float32(a1 * b1[j])
			s += float32(a2 * b2[j])
			s += float32(a3 * b3[j])
			sums[j] = s
		}
	}
	for ; k < p.a.cols; k++ {
		a0 := a(k)
		b0 := b(k)
		for j, s := range sums {
			sums[j] = s + float32(a0*b0[j])
		}
	}
}

// A tile is the argument of a micro-kernel. A micro-kernel's name has the rows and
// columns of its tiles. One call computes, for up to twelve rows i of C and every column
// j,
//
//	s := start[i][j]
//	for k := range t.k {
//		s = fma(a[i][k], b[k][j], s)
//	}
//	s = max(t.low, s)
//	if t.mask != nil && mask[i][j] == 0 {
//		s = 0
//	}
//	c[i][j] = s
//
// where NaN and -0 survive the maximum. Strides and offsets are in bytes.
type tile struct {
	a, b, c, start, mask *float32 // first elements; mask may be nil

	aRows, cRows, startRows, maskRows rowOffsets // offsets of their rows

	aStep, bStep uintptr // from k to k+1 in a and in b
	k            int     // at least 1
	cols         int     // columns of C, set by kernel.run
	prefetch     uintptr // 1 in the first row of tiles, which may prefetch B; else 0
	low          float32 // every element becomes at least this: 0 or -Inf
}

// rowOffsets are the offsets of a tile's rows from its first row. A tile has two or three
// parts of at most four rows. row1 to row3 are offsets within a part, and part is the
// offset from one part to the next. Where C has fewer rows than the tile, some of the
// tile's rows coincide and compute the same numbers.
type rowOffsets struct{ row1, row2, row3, part uintptr }

// height returns the height n of the next row of tiles, given how many rows of C are left
// and the width cols of C's block. It also returns how many rows a full tile has after
// its first part (see rowOffsets).
func (k kernel) height(rows, cols int) (n, afterFirst int) {
	tall := rows >= 12 && rows != 16 && cols%32 == 0 // 16 rows are two tiles of 8
	switch {
	case k == avx2:
		return min(rows, 6), 3
	case k == avx512 && tall:
		return 12, 8
	default:
		return min(rows, 8), 4
	}
}

// rowsOf returns the offsets of the rows in a tile of n rows. The second part begins
// afterFirst rows before the tile's end. If the tile is not full, the second part overlaps the
// first.
func rowsOf(stride, n, afterFirst int) rowOffsets {
	offset := func(i int) uintptr {
		i = max(0, min(i, n-1)) // row i, or the nearest one that the tile has
		return uintptr(4 * stride * i)
	}
	return rowOffsets{row1: offset(1), row2: offset(2), row3: offset(3), part: offset(n - afterFirst)}
}

// tiles adds the products of steps k0 to k1 to the elements of C in rows r0 to r1 and
// columns c0 to c1. If k0 is 0, the sums begin at p.start, and otherwise at what C has. With
// the last step tiles also applies the epilogue's ReLU and mask.
func (p *product) tiles(r0, r1, c0, c1, k0, k1 int) {
	t := tile{
		aStep:    uintptr(4 * p.a.colStride),
		bStep:    uintptr(4 * p.b.rowStride),
		k:        k1 - k0,
		prefetch: 1,
	}
	last := k1 == p.a.cols
	t.low = float32(math.Inf(-1)) // no ReLU
	if last && p.e.relu {
		t.low = 0
	}
	masked := last && p.e.mask.data != nil
	start := p.start
	if k0 > 0 {
		start = p.c // the sums so far
	}
	height := 0 // the tiles' height for which the offsets were computed
	for i := r0; i < r1; {
		n, afterFirst := p.kernel.height(r1-i, c1-c0)
		if n != height {
			height = n
			t.aRows = rowsOf(p.a.rowStride, n, afterFirst)
			t.cRows = rowsOf(p.c.rowStride, n, afterFirst)
			t.startRows = rowsOf(start.rowStride, n, afterFirst)
			t.maskRows = rowsOf(p.e.mask.rowStride, n, afterFirst)
		}
		t.a = p.a.at(i, k0)
		for j := c0; j < c1; {
			t.b = p.b.at(k0, j)
			t.c = p.c.at(i, j)
			t.start = start.at(i, j)
			if masked {
				t.mask = p.e.mask.at(i, j)
			}
			p.kernel.run(&t, n, c1-j) // sets t.cols
			j += t.cols
		}
		t.prefetch = 0
		i += n
	}
}

// transpose copies the transpose of src into dst, both with adjacent elements
// in a row and without memory in common.
func (w *workers) transpose(dst, src matrix) {
	sized := dst.rows == src.cols && dst.cols == src.rows
	adjacent := dst.colStride == 1 && src.colStride == 1
	inside := dst.inside() && src.inside()
	if !sized || !adjacent || !inside {
		panic("qta: the matrices of a transpose do not fit")
	}
	w.transposed = transposition{kernel: w.kernel, dst: dst, src: src}
	const perElement = 16 // multiply-adds that take as long as one element
	w.run(&w.transposed, src.rows, perElement*src.rows*src.cols)
}

// A transposition is one call of transpose, as a task.
type transposition struct {
	kernel   kernel
	dst, src matrix
}

func (t *transposition) do(lo, hi int) {
	dst := t.dst.columns(lo, hi)
	src := t.src.slice(lo, hi)
	r := transposeVector(t.kernel, dst, src)
	// The loop takes four rows of src at a time. Each pass writes 16 adjacent bytes of a
	// row of dst. The plain double loop would write 4, and miss the cache.
	for ; r+4 <= src.rows; r += 4 {
		r0, r1, r2, r3 := src.row(r), src.row(r+1), src.row(r+2), src.row(r+3)
		for j := range r0 {
			d := dst.row(j)[r:][:4]
			d[0], d[1], d[2], d[3] = r0[j], r1[j], r2[j], r3[j]
		}
	}
	for ; r < src.rows; r++ {
		for j, x := range src.row(r) {
			dst.row(j)[r] = x
		}
	}
}

// A task is work on elements that are independent of each other.
type task interface {
	do(lo, hi int) // for the elements lo to hi, hi excluded
}

// Workers run tasks on a fixed number of threads, one of which is the caller's. They
// serve one caller at a time.
//
// A task is divided into parts, which are bands of its elements. Each thread has several
// parts of its own. A thread begins with its own parts, whose data its caches have from
// the run before. Then it takes any part that no thread has begun. So the caller does the
// work itself if the system is slow to start the other threads. Which thread does a part
// is left to chance, but the result is always the same.
type workers struct {
	n      int // threads, the caller included
	kernel kernel
	spins  int // how often a waiting thread looks before it sleeps

	task   task
	size   int             // elements of the task
	number atomic.Uint64   // the number of this run, counted from 1, or closing
	begun  []atomic.Uint64 // for each part, the number of the latest run that began it
	left   atomic.Int64    // parts of this run not yet done

	mutex   sync.Mutex
	changed *sync.Cond // number has changed, or left is 0
	ended   sync.WaitGroup

	product    product       // the task of mul
	transposed transposition // the task of transpose
}

// closing is the number that ends the threads.
const closing = math.MaxUint64

// share is how many parts of a task each thread has of its own. It is more than one
// because processors are seldom equally fast: the first thread to finish its parts takes
// parts of the others.
const share = 2

// newWorkers returns workers of the given number of threads, at least one,
// with the fastest kernel of this machine.
func newWorkers(threads int) *workers {
	w := &workers{kernel: best}
	w.changed = sync.NewCond(&w.mutex)
	w.resize(threads)
	return w
}

// resize changes the number of threads. It does nothing if w is nil.
func (w *workers) resize(threads int) {
	if w == nil {
		return
	}
	w.number.Store(closing)
	w.wake()
	w.ended.Wait()

	w.n = max(1, threads)
	w.begun = make([]atomic.Uint64, w.n*share)
	w.number.Store(0)
	w.spins = 0
	if runtime.GOMAXPROCS(0) >= w.n {
		// Threads spin for some hundreds of microseconds. That is longer than the
		// caller's own work between two tasks, and longer than waking a thread. It is too
		// short to notice in an idle program. With fewer processors than threads,
		// spinning only delays the others.
		w.spins = 300000
	}

	for i := 1; i < w.n; i++ {
		w.ended.Go(func() { w.help(i) })
	}
}

// inline is the number of multiply-adds below which a second thread costs more time than
// it saves.
const inline = 1 << 19

// run does the task t and returns when t is done. It allocates nothing. The task has size
// elements, which together take as long as multiplyAdds multiply-adds.
func (w *workers) run(t task, size, multiplyAdds int) {
	if w.n == 1 || multiplyAdds < inline {
		t.do(0, size)
		return
	}
	w.task = t
	w.size = size
	w.left.Store(int64(len(w.begun)))
	run := w.number.Add(1)
	w.wake()
	w.work(run, 0) // the caller is thread 0
	w.until(func() bool { return w.left.Load() == 0 })
}

// help is the loop of a thread other than the caller's.
func (w *workers) help(thread int) {
	run := uint64(0)
	for {
		w.until(func() bool { return w.number.Load() != run })
		run = w.number.Load()
		if run == closing {
			return
		}
		w.work(run, thread)
	}
}

// work does parts of the run with this number until all are begun. It begins with the
// thread's own parts.
func (w *workers) work(run uint64, thread int) {
	parts := len(w.begun)
	for k := range parts {
		i := (thread*share + k) % parts
		// The run before began every part, so w.begun[i] is run-1 until a thread sets it to run.
		mine := w.begun[i].CompareAndSwap(run-1, run)
		if !mine {
			continue
		}
		// The run cannot end before this part, so w.task is still its task.
		w.task.do(band(w.size, i, parts))
		if w.left.Add(-1) == 0 {
			w.wake()
		}
	}
}

// band returns the bounds of the i-th of n bands of size elements. So that few tiles are
// cut, the bounds are multiples of step, except that none exceeds size.
func band(size, i, n int) (lo, hi int) {
	const step = 32
	steps := (size + step - 1) / step
	first := steps * i / n
	next := steps * (i + 1) / n
	return min(first*step, size), min(next*step, size)
}

// until returns once done reports true. done may depend only on number and left, because
// only their changes wake a sleeping thread.
func (w *workers) until(done func() bool) {
	for range w.spins {
		if done() {
			return
		}
	}
	w.mutex.Lock()
	for !done() {
		w.changed.Wait()
	}
	w.mutex.Unlock()
}

// wake makes sleeping threads look again. The lock ensures that a thread either sees the
// change before it sleeps, or sleeps already and is woken.
func (w *workers) wake() {
	w.mutex.Lock()
	w.changed.Broadcast()
	w.mutex.Unlock()
}
