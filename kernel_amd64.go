//go:build !purego

package qta

// A shape is a micro-kernel, named by its rows and columns. Each computes, for
// every row i and column j of its tile,
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
// and touches no column from t.cols on. The shapes of 1 and 12 rows need all
// their columns.
type shape uint8

const (
	avx512x12x32 shape = iota
	avx512x8x32
	avx512x1x128
	avx2x6x16
	avx2x1x64
)

// height returns how many of the remaining rows the next tiles take, and how
// many of them come after a tile's first part.
func (k kernel) height(rows, cols int) (n, rest int) {
	switch {
	case rows == 1:
		return 1, 1
	case k == avx2:
		return min(rows, 6), 3
	case rows >= 12 && rows != 16 && cols%32 == 0: // 16 are twice 8
		return 12, 8
	default:
		return min(rows, 8), 4
	}
}

// shape returns the next tile for n rows and the remaining columns.
func (k kernel) shape(n, cols int) (s shape, width int) {
	switch {
	case k == avx2 && n == 1 && cols >= 64:
		return avx2x1x64, 64
	case k == avx2:
		return avx2x6x16, 16
	case n == 1 && cols >= 128:
		return avx512x1x128, 128
	case n == 12:
		return avx512x12x32, 32
	default:
		return avx512x8x32, 32
	}
}

func (s shape) run(t *tile) {
	switch s {
	case avx512x12x32:
		tile512x12x32(t)
	case avx512x8x32:
		tile512x8x32(t)
	case avx512x1x128:
		tile512x1x128(t)
	case avx2x6x16:
		tile2x6x16(t)
	case avx2x1x64:
		tile2x1x64(t)
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

// columnHeight returns the rows of the kernel for few columns.
func (k kernel) columnHeight() int {
	if k == avx2 {
		return 8
	}
	return 16
}

func (k kernel) runColumns(t *columns) {
	if k == avx2 {
		columns2(t)
	} else {
		columns512(t)
	}
}

//go:noescape
func columns512(t *columns)

//go:noescape
func columns2(t *columns)

// cpuid and xgetbv execute the instructions of these names.
//
//go:noescape
func cpuid(eax, ecx uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() uint32

// detect asks the processor for its instructions and the operating system for
// the registers that it saves.
func detect() kernel { return kernels()[0] }

// kernels returns the kernels that run on this machine, the fastest first.
func kernels() []kernel {
	list := []kernel{generic}
	leaves, _, _, _ := cpuid(0, 0)
	if leaves < 7 {
		return list
	}
	const fma, osxsave, avx = 1 << 12, 1 << 27, 1 << 28
	if _, _, c, _ := cpuid(1, 0); c&fma == 0 || c&osxsave == 0 || c&avx == 0 {
		return list
	}
	_, b, _, _ := cpuid(7, 0)
	saved := xgetbv()
	const avx2Bit, bmi2, ymm = 1 << 5, 1 << 8, 0x06
	if b&avx2Bit == 0 || b&bmi2 == 0 || saved&ymm != ymm {
		return list
	}
	list = []kernel{avx2, generic}
	const f, dq, bw, vl, zmm = 1 << 16, 1 << 17, 1 << 30, 1 << 31, 0xe0
	if b&f == 0 || b&dq == 0 || b&bw == 0 || b&vl == 0 || saved&zmm != zmm || !useAVX512 {
		return list
	}
	return []kernel{avx512, avx2, generic}
}
