//go:build !purego

package qta

// Every arm64 processor has the vector instructions.

func detect() kernel { return neon }

func kernels() []kernel { return []kernel{neon, generic} }

// A shape is a micro-kernel, named by its rows and columns. Each computes, for
// every row i and column j of its tile,
//
//	s := start[i][j]
//	for k := range t.k {
//		s = fma(a[i][k], b[k][j], s)
//	}
//	if t.low == 0 && s < 0 || t.mask != nil && mask[i][j] == 0 {
//		s = 0
//	}
//	c[i][j] = s
//
// There are no loads of a part of a vector: all need all their columns.
type shape uint8

const (
	neon8x8 shape = iota
	neon8x1
	neon4x16
	neon1x32
)

// height returns how many of the remaining rows the next tiles take, and how
// many of them come after a tile's first part.
func (k kernel) height(rows, cols int) (n, rest int) { return min(rows, 8), 4 }

// shape returns the next tile for n rows and the remaining columns.
func (k kernel) shape(n, cols int) (s shape, width int) {
	switch {
	case n == 1 && cols >= 32:
		return neon1x32, 32
	case n <= 4 && cols >= 16:
		return neon4x16, 16
	case cols >= 8:
		return neon8x8, 8
	default:
		return neon8x1, 1
	}
}

func (s shape) run(t *tile) {
	switch s {
	case neon8x8:
		tile8x8(t)
	case neon8x1:
		tile8x1(t)
	case neon4x16:
		tile4x16(t)
	case neon1x32:
		tile1x32(t)
	}
}

// columnHeight is 0: there is no kernel for few columns.
func (k kernel) columnHeight() int { return 0 }

func (k kernel) runColumns(t *columns) { panic("qta: no kernel for few columns") }

//go:noescape
func tile8x8(t *tile)

//go:noescape
func tile8x1(t *tile)

//go:noescape
func tile4x16(t *tile)

//go:noescape
func tile1x32(t *tile)
