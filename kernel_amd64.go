//go:build !purego

package qta

// run computes a tile of n rows. It takes as many of the cols remaining columns as the
// micro-kernel computes at once, and sets t.cols to their number. A micro-kernel touches
// no column from t.cols on. The micro-kernels for 1 and 12 rows cannot compute partial
// tiles. So height allows 12 rows only where all tiles have 32 columns.
func (k kernel) run(t *tile, n, cols int) {
	switch {
	case k == avx2 && n == 1 && cols >= 64:
		t.cols = 64
		tile2x1x64(t)
	case k == avx2:
		t.cols = min(cols, 16)
		tile2x6x16(t)
	case n == 1 && cols >= 128:
		t.cols = 128
		tile512x1x128(t)
	case n == 12:
		t.cols = 32
		tile512x12x32(t)
	default:
		t.cols = min(cols, 32)
		tile512x8x32(t)
	}
}

//go:noescape
func tile512x12x32(t *tile)

//go:noescape
func tile512x8x32(t *tile)

//go:noescape
func tile512x1x128(t *tile)

//go:noescape
func tile2x6x16(t *tile)

//go:noescape
func tile2x1x64(t *tile)

// A narrowTile is the argument of the kernels for at most four columns of C. Their vectors
// run along a column of C, over as many rows as a vector has elements. For each such row i
// and column j a kernel computes
//
//	for k := range 4 * blocks {
//		sums[j][i] = fma(a[i][k], b[k][j], sums[j][i])
//	}
//
// Strides are in bytes. A transpose uses only a, b, their strides and blocks.
type narrowTile struct {
	sums   *[narrowCols][maxLanes]float32
	a, b   *float32 // first elements
	aRow   uintptr  // from row to row
	bStep  uintptr  // from k to k+1
	blocks int      // at least 1
	cols   int      // columns of C
}

// blockNarrow computes the leading rows of a block with few columns, as many rows as fill
// whole vectors. It returns the first row that is left.
func (p *product) blockNarrow(r0, r1, c0, c1 int) int {
	if p.a.colStride != 1 || p.a.cols%4 != 0 { // the kernels load four neighbors of a row of A
		return r0
	}
	lanes := p.kernel.lanes()
	var sums [narrowCols][maxLanes]float32
	t := narrowTile{
		sums:   &sums,
		aRow:   uintptr(4 * p.a.rowStride),
		b:      p.b.at(0, c0),
		bStep:  uintptr(4 * p.b.rowStride),
		blocks: p.a.cols / 4,
		cols:   c1 - c0,
	}
	for ; r1-r0 >= lanes; r0 += lanes {
		for i := range lanes {
			for j := range t.cols {
				sums[j][i] = *p.start.at(r0+i, c0+j)
			}
		}
		t.a = p.a.at(r0, 0)
		if p.kernel == avx2 {
			narrow2(&t)
		} else {
			narrow512(&t)
		}
		for i := range lanes {
			row := p.c.row(r0 + i)[c0:c1]
			for j := range row {
				row[j] = sums[j][i]
			}
			p.e.finish(row, r0+i, c0)
		}
	}
	return r0
}

// maxLanes is the number of elements of the widest vector.
const maxLanes = 16

// lanes returns the number of elements of a vector. The kernels with a narrowTile take as
// many rows at once.
func (k kernel) lanes() int {
	if k == avx2 {
		return 8
	}
	return maxLanes
}

//go:noescape
func narrow512(t *narrowTile)

//go:noescape
func narrow2(t *narrowTile)

// adamStepVector updates the leading elements that fill whole vectors, and returns their
// number. Division and square root take most of the time, so vectors wider than eight
// elements would not be faster.
func adamStepVector(w, m, v, grad []float32, c *adamCoefficients) int {
	n := len(w) / 8
	if n == 0 || best == generic {
		return 0
	}
	adamStep2(&w[0], &m[0], &v[0], &grad[0], n, c)
	return 8 * n
}

// polyakVector does for [Polyak] what adamStepVector does for Adam.
func polyakVector(target, online []float32, rho, oneMinusRho float32) int {
	n := len(target) / 8
	if n == 0 || best == generic {
		return 0
	}
	polyakStep2(&target[0], &online[0], n, rho, oneMinusRho)
	return 8 * n
}

// transposeVector transposes the leading rows of src that fill whole vectors,
// and returns their number.
func transposeVector(k kernel, dst, src matrix) int {
	if k == generic || src.cols == 0 || src.cols%4 != 0 { // the kernels load four neighbors of a row
		return 0
	}
	t := narrowTile{ // without sums and cols, which a transpose does not use
		aRow:   uintptr(4 * src.rowStride),
		bStep:  uintptr(4 * dst.rowStride),
		blocks: src.cols / 4,
	}
	lanes := k.lanes()
	i := 0
	for ; i+lanes <= src.rows; i += lanes {
		t.a = src.at(i, 0) // the rows to read
		t.b = dst.at(0, i) // the columns to write
		if k == avx512 {
			transpose512(&t)
		} else {
			transpose2(&t)
		}
	}
	return i
}

//go:noescape
func adamStep2(w, m, v, grad *float32, blocks int, c *adamCoefficients)

//go:noescape
func polyakStep2(target, online *float32, blocks int, rho, oneMinusRho float32)

// transpose512 and transpose2 read the rows at t.a and write them as the columns at t.b.
//
//go:noescape
func transpose512(t *narrowTile)

//go:noescape
func transpose2(t *narrowTile)

// cpuid and xgetbv execute the instructions of these names.
//
//go:noescape
func cpuid(eax, ecx uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32

// kernels returns the kernels that run on this machine, the fastest first. It
// asks the processor which instructions it has and the operating system which
// registers it saves.
func kernels() []kernel {
	const (
		leaf1     = 1<<12 | 1<<27 | 1<<28         // FMA, OSXSAVE and AVX, in ecx
		leaf7     = 1<<5 | 1<<8                   // AVX2 and BMI2, in ebx
		leaf7Wide = 1<<16 | 1<<17 | 1<<30 | 1<<31 // AVX-512 F, DQ, BW and VL
		saved     = 0x06                          // XMM and YMM
		savedWide = 0xe0                          // opmask and ZMM
	)
	has := func(bits, want uint32) bool { return bits&want == want }
	if leaves, _, _, _ := cpuid(0, 0); leaves < 7 {
		return []kernel{generic}
	}
	_, _, ecx, _ := cpuid(1, 0)
	_, ebx, _, _ := cpuid(7, 0)
	switch {
	case !has(ecx, leaf1) || !has(ebx, leaf7) || !has(xgetbv(), saved):
		return []kernel{generic}
	case !has(ebx, leaf7Wide) || !has(xgetbv(), savedWide):
		return []kernel{avx2, generic}
	default:
		return []kernel{avx512, avx2, generic}
	}
}
