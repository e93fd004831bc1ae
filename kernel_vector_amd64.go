//go:build !purego

package qta

// adamStepVector does the leading elements, as many as fill vectors, and
// returns their number. Division and square root take the time, so that wider
// vectors than these of eight elements would not be faster.
func adamStepVector(w, m, v, grad []float32, c *adamCoefficients) int {
	n := len(w) / 8
	if n == 0 || best == generic {
		return 0
	}
	adamStep2(&w[0], &m[0], &v[0], &grad[0], n, c)
	return 8 * n
}

// polyakStepVector is the same for polyakStep.
func polyakStepVector(target, online []float32, rho, oneMinusRho float32) int {
	n := len(target) / 8
	if n == 0 || best == generic {
		return 0
	}
	polyakStep2(&target[0], &online[0], n, rho, oneMinusRho)
	return 8 * n
}

// transposeVector transposes the leading rows of src, as many as fill vectors,
// and returns their number.
func transposeVector(k kernel, dst, src matrix) int {
	blocks := src.cols / 4
	if k == generic || blocks == 0 {
		return 0
	}
	i, height := 0, k.columnHeight()
	for ; i+height <= src.rows; i += height {
		t := columns{
			a: &src.data[i*src.rowStride], aRow: uintptr(4 * src.rowStride),
			b: &dst.data[i], bStep: uintptr(4 * dst.rowStride),
			blocks: blocks,
		}
		if k == avx512 {
			transpose512(&t)
		} else {
			transpose2(&t)
		}
		for j := 4 * blocks; j < src.cols; j++ {
			row := dst.row(j)
			for l := i; l < i+height; l++ {
				row[l] = src.data[l*src.rowStride+j]
			}
		}
	}
	return i
}

//go:noescape
func adamStep2(w, m, v, grad *float32, blocks int, c *adamCoefficients)

//go:noescape
func polyakStep2(target, online *float32, blocks int, rho, oneMinusRho float32)

// transpose512 and transpose2 write the transpose of the rows a to b.
//
//go:noescape
func transpose512(t *columns)

//go:noescape
func transpose2(t *columns)
