//go:build !purego

package qta

// kernels returns the kernels of arm64. Every such processor has the vector instructions.
func kernels() []kernel { return []kernel{neon, generic} }

// run computes a tile of n rows, and sets t.cols to how many of the cols remaining columns
// it covers. There are no partial vector loads: a tile needs all its columns, but not all its
// rows.
func (k kernel) run(t *tile, n, cols int) {
	switch {
	case n == 1 && cols >= 32:
		t.cols = 32
		tile1x32(t)
	case n <= 4 && cols >= 16:
		t.cols = 16
		tile4x16(t)
	case cols >= 8:
		t.cols = 8
		tile8x8(t)
	default:
		t.cols = 1
		tile8x1(t)
	}
}

// blockNarrow computes no rows: there is no kernel for few columns.
func (p *product) blockNarrow(r0, r1, c0, c1 int) int { return r0 }

//go:noescape
func tile8x8(t *tile)

//go:noescape
func tile8x1(t *tile)

//go:noescape
func tile4x16(t *tile)

//go:noescape
func tile1x32(t *tile)
