package qta

// blockGeneric computes the rows r0 to r1 and columns c0 to c1 of p.
//
// A product of two float32 is exact in float64, so each step rounds the exact
// sum to float64 and then to float32: the fused multiply-add, but for a sum
// that the first rounding moves onto the middle between two float32.
func (p *product) blockGeneric(r0, r1, c0, c1 int) {
	for i := r0; i < r1; i++ {
		row := p.c.row(i)[c0:c1]
		switch {
		case p.e.bias != nil:
			copy(row, p.e.bias[c0:c1])
		case !p.e.add:
			clear(row)
		}
		for k := range p.a.cols {
			a := float64(p.a.data[i*p.a.rowStride+k*p.a.colStride])
			b := p.b.data[k*p.b.rowStride+c0:][:len(row)]
			for j, s := range row {
				row[j] = float32(a*float64(b[j]) + float64(s))
			}
		}
		p.finish(row, i, c0)
	}
}

// finish applies what follows the sums to the elements of row i from column c0.
func (p *product) finish(row []float32, i, c0 int) {
	if p.e.relu {
		for j, x := range row {
			if x < 0 {
				row[j] = 0
			}
		}
	}
	if p.e.mask.data != nil {
		for j, h := range p.e.mask.row(i)[c0:][:len(row)] {
			if h == 0 {
				row[j] = 0
			}
		}
	}
}
