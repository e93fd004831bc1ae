package qta

// blockGeneric computes the rows r0 to r1 and columns c0 to c1 of p without
// assembly. It rounds each product before it adds it, c = c + float32(a*b) in
// ascending k, and so gives other bits than the other kernels, though the same
// ones on every machine. The fused chain in portable Go, through float64, would
// run at less than a third of the speed.
func (p *product) blockGeneric(r0, r1, c0, c1 int) {
	for i := r0; i < r1; i++ {
		row := p.c.row(i)[c0:c1]
		switch {
		case p.e.bias != nil:
			copy(row, p.e.bias[c0:c1])
		case !p.e.add:
			clear(row)
		}
		a := func(k int) float32 { return p.a.data[i*p.a.rowStride+k*p.a.colStride] }
		b := func(k int) []float32 { return p.b.data[k*p.b.rowStride+c0:][:len(row)] }
		k := 0
		// Four rows of B at a time save three of four passes over the sums.
		for ; k+4 <= p.a.cols; k += 4 {
			a0, a1, a2, a3 := a(k), a(k+1), a(k+2), a(k+3)
			b0, b1, b2, b3 := b(k), b(k+1), b(k+2), b(k+3)
			for j, s := range row {
				s += float32(a0 * b0[j])
				s += float32(a1 * b1[j])
				s += float32(a2 * b2[j])
				s += float32(a3 * b3[j])
				row[j] = s
			}
		}
		for ; k < p.a.cols; k++ {
			a0, b0 := a(k), b(k)
			for j, s := range row {
				row[j] = s + float32(a0*b0[j])
			}
		}
		p.e.finish(row, i, c0)
	}
}
