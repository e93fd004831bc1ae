package qta

import (
	"fmt"
	"math"
)

// This file defines the matrix product on which every network rests. Each
// element of a product is one chain of fused multiply-adds in ascending k,
//
//	c = fma(a[i][k], b[k][j], c)
//
// so its bits depend neither on the kernel that computes it, nor on the number
// of threads, nor on where the element lies in a tile. The vector axis and the
// threads always divide outputs, never a sum.

// A matrix is a strided view of rows by cols elements: element (i, j) is
// data[i*rowStride + j*colStride]. A stride of zero repeats an element.
type matrix struct {
	rows, cols           int
	rowStride, colStride int
	data                 []float32
}

// newMatrix returns a row-major matrix of zeros.
func newMatrix(rows, cols int) matrix {
	return matrix{rows, cols, cols, 1, make([]float32, rows*cols)}
}

// t returns the transposed view of m, cols by rows, of the same elements.
func (m matrix) t() matrix {
	return matrix{m.cols, m.rows, m.colStride, m.rowStride, m.data}
}

// slice returns the view of rows lo to hi, hi excluded.
func (m matrix) slice(lo, hi int) matrix {
	if lo < 0 || hi < lo || hi > m.rows {
		panic(fmt.Sprintf("qta: rows %d:%d of a matrix of %d rows", lo, hi, m.rows))
	}
	return matrix{hi - lo, m.cols, m.rowStride, m.colStride, m.data[min(lo*m.rowStride, len(m.data)):]}
}

// row returns row i, whose elements must be adjacent.
func (m matrix) row(i int) []float32 {
	if m.colStride != 1 || i < 0 || i >= m.rows {
		panic(fmt.Sprintf("qta: row %d of a matrix of %d rows and column stride %d", i, m.rows, m.colStride))
	}
	return m.data[i*m.rowStride:][:m.cols:m.cols]
}

// check panics unless every element of m lies in its data.
func (m matrix) check(name string) {
	if m.rows < 0 || m.cols < 0 || m.rowStride < 0 || m.colStride < 0 {
		panic(fmt.Sprintf("qta: matrix %s has a negative size or stride: %d by %d, strides %d, %d", name, m.rows, m.cols, m.rowStride, m.colStride))
	}
	if m.rows > 0 && m.cols > 0 && (m.rows-1)*m.rowStride+(m.cols-1)*m.colStride >= len(m.data) {
		panic(fmt.Sprintf("qta: matrix %s of %d by %d, strides %d, %d, exceeds its %d elements", name, m.rows, m.cols, m.rowStride, m.colStride, len(m.data)))
	}
}

// An epilogue says where the sums of a product start, and what becomes of them.
type epilogue struct {
	bias []float32 // C starts from this row; nil: from zero
	add  bool      // C starts from its own contents; bias is nil
	relu bool      // a negative element becomes 0; NaN and -0 survive
	mask matrix    // if data is not nil: C's element is 0 where mask's is 0
}

// finish applies e to the finished sums of row i from column c0.
func (e *epilogue) finish(sums []float32, i, c0 int) {
	if e.relu {
		for j, x := range sums {
			if x < 0 {
				sums[j] = 0
			}
		}
	}
	if e.mask.data != nil {
		for j, h := range e.mask.row(i)[c0:][:len(sums)] {
			if h == 0 {
				sums[j] = 0
			}
		}
	}
}

// mul sets C = epilogue(A B), where C is rows by cols, A is rows by k and B is
// k by cols. A may have any strides; the rows of B, C and the mask are of
// adjacent elements. C shares no memory with the others.
//
// w may be nil, for one thread.
func (w *workers) mul(c, a, b matrix, e epilogue) {
	p := newProduct(w.chosen(), c, a, b, e)
	if w == nil || w.n == 1 || c.rows*max(c.cols, narrow)*(a.cols+8) < inline {
		p.part(0, 1)
		return
	}
	w.product = p
	w.run(&w.product)
	w.product = product{}
}

// inline is the number of multiply-adds, with some more for every element of C,
// below which another thread costs more than it saves.
const inline = 1 << 19

// newProduct returns a call of mul, which panics unless the sizes agree and
// every element is there.
func newProduct(k kernel, c, a, b matrix, e epilogue) product {
	if c.rows != a.rows || c.cols != b.cols || a.cols != b.rows {
		panic(fmt.Sprintf("qta: product of %d by %d and %d by %d into %d by %d", a.rows, a.cols, b.rows, b.cols, c.rows, c.cols))
	}
	if c.colStride != 1 || b.colStride != 1 {
		panic("qta: product with a column stride other than 1 in B or C")
	}
	c.check("C")
	a.check("A")
	b.check("B")
	if e.bias != nil && (e.add || len(e.bias) != c.cols) {
		panic(fmt.Sprintf("qta: bias of %d for %d columns, add %t", len(e.bias), c.cols, e.add))
	}
	if e.mask.data != nil {
		if e.mask.rows != c.rows || e.mask.cols != c.cols || e.mask.colStride != 1 {
			panic(fmt.Sprintf("qta: mask of %d by %d, column stride %d, for %d by %d", e.mask.rows, e.mask.cols, e.mask.colStride, c.rows, c.cols))
		}
		e.mask.check("mask")
	}
	return product{kernel: k, c: c, a: a, b: b, e: e}
}

// A product is one call of mul, as a task.
type product struct {
	kernel  kernel
	c, a, b matrix
	e       epilogue
}

// part computes the i-th of n bands of C, of rows or of columns, whichever
// side is longer.
func (p *product) part(i, n int) {
	if p.c.rows >= p.c.cols {
		lo, hi := band(p.c.rows, i, n)
		p.block(lo, hi, 0, p.c.cols)
	} else {
		lo, hi := band(p.c.cols, i, n)
		p.block(0, p.c.rows, lo, hi)
	}
}

// band returns the bounds of the i-th of n bands of size rows or columns, at
// multiples of every tile's sides but six.
func band(size, i, n int) (lo, hi int) {
	const step = 32
	steps := (size + step - 1) / step
	return min(steps*i/n*step, size), min(steps*(i+1)/n*step, size)
}

// A kernel is a way to compute tiles. All but the generic one are assembly.
type kernel uint8

const (
	generic kernel = iota
	neon
	avx2
	avx512
)

// best is the fastest kernel of this machine.
var best = detect()

func (k kernel) String() string {
	return [...]string{"generic", "neon", "avx2", "avx512"}[k]
}

// kernelName names the kernel that newWorkers chooses on this machine.
func kernelName() string { return best.String() }

// A tile is what a micro-kernel is told: one call computes the sums of up to
// twelve rows of C over k steps. Strides and offsets are in bytes.
type tile struct {
	a, b, c, start, mask *float32 // first elements; mask may be nil

	aRows, cRows, startRows, maskRows rows // where their rows lie

	aStep, bStep uintptr // from k to k+1 in a and in b
	k            int     // at least 1
	cols         int     // columns of C, at most the tile's
	first        uintptr // 1 in the first row of tiles, which meets B
	low          float32 // every element becomes at least this: 0 or -Inf
}

// Rows are the offsets of a tile's rows from the first. A tile has parts of at
// most four rows, two of them or three, and part is the offset of one from the
// one before. Where C has fewer rows than the tile, some of the tile's rows
// coincide and compute the same numbers.
type rows struct{ row1, row2, row3, part uintptr }

// rowsOf returns the offsets of n rows in a tile where all parts but the first
// have rest rows.
func rowsOf(stride, n, rest int) rows {
	offset := func(i int) uintptr { return uintptr(4 * stride * max(0, min(i, n-1))) }
	return rows{offset(1), offset(2), offset(3), offset(n - rest)}
}

// Columns are what a micro-kernel of the other kind is told: at most four
// columns of C, and as many rows as a vector has elements. It computes
//
//	for k := range 4 * blocks {
//		sums[j][i] = fma(a[i][k], b[k][j], sums[j][i])
//	}
//
// Strides are in bytes.
type columns struct {
	sums   *[narrow][16]float32
	a, b   *float32
	aRow   uintptr // from row to row
	bStep  uintptr // from k to k+1
	blocks int     // at least 1
	cols   int
}

// zeros is where sums without a bias start. Nothing writes to it.
var zeros [128]float32

// block computes the rows r0 to r1 and columns c0 to c1 of C.
func (p *product) block(r0, r1, c0, c1 int) {
	if r0 == r1 || c0 == c1 {
		return
	}
	if p.kernel == generic || p.a.cols == 0 {
		p.blockGeneric(r0, r1, c0, c1)
		return
	}
	if c1-c0 <= narrow {
		r0 = p.blockNarrow(r0, r1, c0, c1)
	}
	// Blocks of k keep the rows of B that a row of tiles needs in the cache.
	// If there is only one row of tiles, B is read once anyway.
	step := 256
	if r1-r0 <= 8 {
		step = p.a.cols
	}
	for k := 0; k < p.a.cols; k += step {
		p.tiles(r0, r1, c0, c1, k, min(k+step, p.a.cols))
	}
}

// narrow is the largest number of columns of the kernels that put rows on the
// vector axis.
const narrow = 4

// blockNarrow computes as many of the rows as such a kernel can, and returns the
// first that is left.
func (p *product) blockNarrow(r0, r1, c0, c1 int) int {
	height := p.kernel.columnHeight()
	if height == 0 || p.a.colStride != 1 || p.a.cols%4 != 0 {
		return r0
	}
	var sums [narrow][16]float32
	t := columns{
		sums:   &sums,
		aRow:   uintptr(4 * p.a.rowStride),
		b:      &p.b.data[c0],
		bStep:  uintptr(4 * p.b.rowStride),
		blocks: p.a.cols / 4,
		cols:   c1 - c0,
	}
	for ; r1-r0 >= height; r0 += height {
		for j := c0; j < c1; j++ {
			s := sums[j-c0][:height]
			for i := range s {
				switch {
				case p.e.add:
					s[i] = p.c.data[(r0+i)*p.c.rowStride+j]
				case p.e.bias != nil:
					s[i] = p.e.bias[j]
				default:
					s[i] = 0
				}
			}
		}
		t.a = &p.a.data[r0*p.a.rowStride]
		p.kernel.runColumns(&t)
		for i := range height {
			row := p.c.row(r0 + i)[c0:c1]
			for j := range row {
				row[j] = sums[j][i]
			}
			p.e.finish(row, r0+i, c0)
		}
	}
	return r0
}

// tiles adds the steps k0 to k1 of the rows r0 to r1 and columns c0 to c1 of C.
func (p *product) tiles(r0, r1, c0, c1, k0, k1 int) {
	first, last := k0 == 0, k1 == p.a.cols
	t := tile{
		aStep: uintptr(4 * p.a.colStride),
		bStep: uintptr(4 * p.b.rowStride),
		k:     k1 - k0,
		low:   float32(math.Inf(-1)),
	}
	if last && p.e.relu {
		t.low = 0
	}
	masked := last && p.e.mask.data != nil
	height := 0 // of the tiles that the offsets are for
	for i := r0; i < r1; {
		n, rest := p.kernel.height(r1-i, c1-c0)
		if n != height {
			height = n
			t.aRows = rowsOf(p.a.rowStride, n, rest)
			t.cRows = rowsOf(p.c.rowStride, n, rest)
			if !first || p.e.add {
				t.startRows = t.cRows
			}
			if masked {
				t.maskRows = rowsOf(p.e.mask.rowStride, n, rest)
			}
		}
		t.a = &p.a.data[i*p.a.rowStride+k0*p.a.colStride]
		t.first = 0
		if i == r0 {
			t.first = 1
		}
		for j := c0; j < c1; {
			shape, width := p.kernel.shape(n, c1-j)
			t.cols = min(width, c1-j)
			t.b = &p.b.data[k0*p.b.rowStride+j]
			t.c = &p.c.data[i*p.c.rowStride+j]
			switch {
			case !first || p.e.add:
				t.start = t.c
			case p.e.bias != nil:
				t.start = &p.e.bias[j]
			default:
				t.start = &zeros[0]
			}
			if masked {
				t.mask = &p.e.mask.data[i*p.e.mask.rowStride+j]
			}
			shape.run(&t)
			j += t.cols
		}
		i += n
	}
}

// transpose copies the transpose of src into dst, both with adjacent elements
// in a row and without memory in common.
func transpose(dst, src matrix) { best.transpose(dst, src) }

func (k kernel) transpose(dst, src matrix) {
	if dst.rows != src.cols || dst.cols != src.rows || dst.colStride != 1 || src.colStride != 1 {
		panic(fmt.Sprintf("qta: transpose of %d by %d into %d by %d, column strides %d, %d", src.rows, src.cols, dst.rows, dst.cols, src.colStride, dst.colStride))
	}
	dst.check("dst")
	src.check("src")
	i := transposeVector(k, dst, src)
	// Four rows of src at a time: each pass writes 16 adjacent bytes of a row
	// of dst, where the plain double loop writes 4 and misses the cache.
	for ; i+4 <= src.rows; i += 4 {
		r0, r1, r2, r3 := src.row(i), src.row(i+1), src.row(i+2), src.row(i+3)
		r1, r2, r3 = r1[:len(r0)], r2[:len(r0)], r3[:len(r0)]
		at := i
		for j := range r0 {
			d := dst.data[at : at+4 : at+4]
			d[0], d[1], d[2], d[3] = r0[j], r1[j], r2[j], r3[j]
			at += dst.rowStride
		}
	}
	for ; i < src.rows; i++ {
		for j, x := range src.row(i) {
			dst.data[j*dst.rowStride+i] = x
		}
	}
}
