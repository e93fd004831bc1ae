package qta

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exactFMA returns a*b + c, rounded once. The product is exact in float64; the
// sum is rounded to odd there, which a second rounding cannot hurt.
func exactFMA(a, b, c float32) float32 {
	x, y := float64(a)*float64(b), float64(c)
	s := x + y
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	// Knuth's error of the sum.
	z := s - x
	err := (x - (s - z)) + (y - z)
	if bits := math.Float64bits(s); err != 0 && bits&1 == 0 {
		if (err > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

func TestExactFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(x)) }
	for range 20000 {
		a, b := randomFloat(rng, 40), randomFloat(rng, 40)
		c := float32(math.Ldexp(float64(-a*b), rng.IntN(60)-30))
		if rng.IntN(3) == 0 {
			c = math.Float32frombits(math.Float32bits(-a*b) + uint32(rng.IntN(3)))
		}
		sum := new(big.Float).SetPrec(2000).Mul(exact(a), exact(b))
		sum.Add(sum, exact(c))
		want, _ := sum.Float32()
		if got := exactFMA(a, b, c); got != want {
			t.Fatalf("exactFMA(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
	}
	// Rounded to float64, this sum is in the middle of two float32, from where
	// it would go to the even one.
	a, b, c := float32(0x1p-24+0x1p-47), float32(1-0x1p-23), float32(1+0x1p-23)
	if got := exactFMA(a, b, c); got != c {
		t.Errorf("exactFMA(%b, %b, %b) = %b, want %b", a, b, c, got, c)
	}
}

// randomFloat returns a number of any sign with an exponent up to e either way.
func randomFloat(rng *rand.Rand, e int) float32 {
	return float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(2*e+1)-e))
}

// roundedFMA is the step of the generic kernel.
func roundedFMA(a, b, c float32) float32 { return float32(a*b) + c }

// naiveMul is the definition of mul, but for its step.
func naiveMul(c, a, b matrix, e epilogue, fma func(a, b, c float32) float32) {
	at := func(m matrix, i, j int) *float32 { return &m.data[i*m.rowStride+j*m.colStride] }
	for i := range c.rows {
		for j := range c.cols {
			s := float32(0)
			if e.bias != nil {
				s = e.bias[j]
			}
			if e.add {
				s = *at(c, i, j)
			}
			for k := range a.cols {
				s = fma(*at(a, i, k), *at(b, k, j), s)
			}
			if e.relu && s < 0 {
				s = 0
			}
			if e.mask.data != nil && *at(e.mask, i, j) == 0 {
				s = 0
			}
			*at(c, i, j) = s
		}
	}
}

// bits makes float32 comparable: NaNs are one number, zeros are two.
func bits(x float32) uint32 {
	if x != x {
		return 0x7fc00000
	}
	return math.Float32bits(x)
}

// mulCase is a product whose operands are views with random gaps.
type mulCase struct {
	c, a, b matrix
	e       epilogue
}

// randomMul returns a product of the given size. The bits of flags choose the
// layout of A, the epilogue and whether there are NaNs and infinities.
func randomMul(g *guards, rng *rand.Rand, rows, cols, k int, flags uint) mulCase {
	special := flags>>6&3 == 3
	number := func() float32 {
		if special && rng.IntN(100) == 0 {
			return []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0x1p-149, math.MaxFloat32}[rng.IntN(7)]
		}
		return float32(rng.Float64()*2 - 1)
	}
	// The data ends with the last element, so that nothing may be read behind.
	view := func(rows, cols int) matrix {
		m := matrix{rows: rows, cols: cols, rowStride: cols + rng.IntN(2)*rng.IntN(20), colStride: 1}
		m.data = g.floats(max(0, (rows-1)*m.rowStride+cols))
		for i := range m.data {
			m.data[i] = number()
		}
		return m
	}
	p := mulCase{c: view(rows, cols), b: view(k, cols)}
	switch flags & 3 {
	case 0, 1:
		p.a = view(rows, k)
	case 2:
		p.a = view(k, rows).t()
	case 3: // one element, or one row, for all
		p.a = view(1, max(k, 1))
		p.a.rows, p.a.cols, p.a.rowStride = rows, k, 0
		if rng.IntN(2) == 0 {
			p.a.colStride = 0
		}
	}
	switch flags >> 2 & 3 {
	case 0, 1:
		p.e.bias = view(1, cols).data
	case 2:
		p.e.add = true
	}
	p.e.relu = flags>>4&1 == 1
	if flags>>5&1 == 1 {
		p.e.mask = view(rows, cols)
		for i := range p.e.mask.data {
			if rng.IntN(2) == 0 {
				p.e.mask.data[i] = 0
			}
		}
	}
	return p
}

// result returns C's data, gaps included, after mul.
func (p mulCase) result(g *guards, mul func(c, a, b matrix, e epilogue)) []uint32 {
	c := p.c
	c.data = g.floats(len(p.c.data))
	copy(c.data, p.c.data)
	mul(c, p.a, p.b, p.e)
	out := make([]uint32, len(c.data))
	for i, x := range c.data {
		out[i] = bits(x)
	}
	return out
}

func checkMul(t *testing.T, ws []*workers, rng *rand.Rand, rows, cols, k int, flags uint) {
	t.Helper()
	var g guards
	defer g.free()
	p := randomMul(&g, rng, rows, cols, k, flags)
	naive := func(fma func(a, b, c float32) float32) []uint32 {
		return p.result(&g, func(c, a, b matrix, e epilogue) { naiveMul(c, a, b, e, fma) })
	}
	fused, rounded := naive(exactFMA), naive(roundedFMA)
	for _, w := range ws {
		want := fused
		if w.kernel == generic {
			want = rounded
		}
		// Comparing is quick, explaining is not.
		if got := p.result(&g, w.mul); !slices.Equal(want, got) {
			t.Fatalf("%v, %d threads: %d by %d by %d, flags %#x (-want +got):\n%s", w.kernel, w.threads(), rows, cols, k, flags, cmp.Diff(want, got))
		}
	}
}

// allWorkers returns workers of one thread and of several for every kernel.
func allWorkers(t testing.TB) []*workers {
	var ws []*workers
	for _, k := range kernels() {
		for _, n := range []int{1, 2, 3} {
			w := workersOf(k, n)
			t.Cleanup(w.close)
			ws = append(ws, w)
		}
	}
	return ws
}

func TestMul(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	ws := allWorkers(t)
	for rows := 1; rows <= 18; rows++ {
		for _, cols := range []int{1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200} {
			checkMul(t, ws, rng, rows, cols, rng.IntN(20), uint(rng.Uint32()))
		}
	}
	for flags := range uint(64) { // the tallest tiles
		checkMul(t, ws, rng, 12+rng.IntN(15), 32*(1+rng.IntN(2)), rng.IntN(20), flags)
	}
	n := 100
	if testing.Short() {
		n = 10
	}
	for range n {
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(140), rng.IntN(700), uint(rng.Uint32()))
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(5), 4*rng.IntN(100), uint(rng.Uint32())&^2)
	}
	checkMul(t, ws, rng, 0, 3, 4, 0)
	checkMul(t, ws, rng, 3, 0, 4, 0)
}

func FuzzMul(f *testing.F) {
	f.Add(uint64(1), uint8(8), uint8(32), uint16(256), uint8(0))
	f.Add(uint64(2), uint8(5), uint8(33), uint16(300), uint8(0xf6))
	ws := allWorkers(f)
	f.Fuzz(func(t *testing.T, seed uint64, rows, cols uint8, k uint16, flags uint8) {
		checkMul(t, ws, rand.New(rand.NewPCG(seed, 0)), int(rows), int(cols), int(k%600), uint(flags))
	})
}

// TestMulSplits holds the products that are large enough for several threads
// against the same on one, and the kernels against each other.
func TestMulSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	ws := allWorkers(t)
	var g guards
	defer g.free()
	for _, size := range [][3]int{{1024, 3, 256}, {3, 256, 1024}, {1, 1024, 256}, {130, 131, 133}, {6, 256, 1024}, {257, 40, 300}} {
		p := randomMul(&g, rng, size[0], size[1], size[2], 2)
		one, fused := p.result(&g, ws[0].mul), ws[0].kernel != generic
		for _, w := range ws {
			want := one
			if fused && w.kernel == generic {
				want = p.result(&g, workersOf(generic, 1).mul)
			}
			if !slices.Equal(want, p.result(&g, w.mul)) {
				t.Errorf("%v, %d threads: %v differs", w.kernel, w.threads(), size)
			}
		}
	}
}

func TestMulPanics(t *testing.T) {
	m := newMatrix
	short := m(4, 4)
	short.data = short.data[:15]
	tests := []struct {
		name    string
		c, a, b matrix
		e       epilogue
	}{
		{"inner size", m(4, 4), m(4, 3), m(4, 4), epilogue{}},
		{"rows", m(3, 4), m(4, 4), m(4, 4), epilogue{}},
		{"columns", m(4, 5), m(4, 4), m(4, 4), epilogue{}},
		{"B transposed", m(4, 4), m(4, 4), m(4, 4).t(), epilogue{}},
		{"C transposed", m(4, 4).t(), m(4, 4), m(4, 4), epilogue{}},
		{"short A", m(4, 4), short, m(4, 4), epilogue{}},
		{"short B", m(4, 4), m(4, 4), short, epilogue{}},
		{"short C", short, m(4, 4), m(4, 4), epilogue{}},
		{"bias and add", m(4, 4), m(4, 4), m(4, 4), epilogue{bias: make([]float32, 4), add: true}},
		{"bias size", m(4, 4), m(4, 4), m(4, 4), epilogue{bias: make([]float32, 5)}},
		{"mask size", m(4, 4), m(4, 4), m(4, 4), epilogue{mask: m(4, 3)}},
		{"short mask", m(4, 4), m(4, 4), m(4, 4), epilogue{mask: short}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			(*workers)(nil).mul(test.c, test.a, test.b, test.e)
		})
	}
}

func TestMulAllocates(t *testing.T) {
	for _, size := range [][2]int{{256, 128}, {1024, 3}} {
		rows, cols := size[0], size[1]
		c, a, b, bias := newMatrix(rows, cols), newMatrix(rows, 64), newMatrix(64, cols), newMatrix(1, cols)
		for _, w := range append(allWorkers(t), nil) {
			// Many runs outweigh what goroutines allocate as they start.
			n := testing.AllocsPerRun(30, func() { w.mul(c, a, b, epilogue{bias: bias.data, relu: true}) })
			if n != 0 {
				t.Errorf("%d threads, %d columns: %v allocations", w.threads(), cols, n)
			}
		}
	}
}

func TestMatrix(t *testing.T) {
	m := newMatrix(3, 4)
	for i := range m.data {
		m.data[i] = float32(i)
	}
	v := m.slice(1, 3).t()
	got := newMatrix(4, 2)
	(*workers)(nil).mul(got, v, matrix{2, 2, 2, 1, []float32{1, 0, 0, 1}}, epilogue{})
	if diff := cmp.Diff([]float32{4, 8, 5, 9, 6, 10, 7, 11}, got.data); diff != "" {
		t.Errorf("transposed rows 1:3 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float32{8, 9, 10, 11}, m.row(2)); diff != "" {
		t.Errorf("row 2 (-want +got):\n%s", diff)
	}
	if s := m.slice(3, 3); s.rows != 0 || len(s.data) != 0 {
		t.Errorf("slice(3, 3) = %v", s)
	}
}

func TestTranspose(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for i := range 300 {
		k := kernels()[i%len(kernels())]
		rows, cols := 1+rng.IntN(40), 1+rng.IntN(40)
		src, dst := newMatrix(rows, cols+3), newMatrix(cols, rows+2)
		src.cols, dst.cols = cols, rows
		for i := range src.data {
			src.data[i] = rng.Float32() + 1
		}
		k.transpose(dst, src)
		for j := range cols {
			for i := range rows {
				if got, want := dst.row(j)[i], src.row(i)[j]; got != want {
					t.Fatalf("%v, %d by %d: (%d, %d) = %v, want %v", k, rows, cols, j, i, got, want)
				}
			}
			for _, x := range dst.data[j*dst.rowStride+rows:][:2] {
				if x != 0 {
					t.Fatalf("%v, %d by %d: wrote behind row %d", k, rows, cols, j)
				}
			}
		}
	}
}

// A counter is a task that counts how often each of its elements is done.
type counter []int

func (c counter) part(i, n int) {
	for j := len(c) * i / n; j < len(c)*(i+1)/n; j++ {
		c[j]++
	}
}

func TestWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, procs := range []int{runtime.GOMAXPROCS(0), 1} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{1, 2, 3, 8} {
			w := newWorkers(n)
			if w.threads() != n {
				t.Errorf("threads() = %d, want %d", w.threads(), n)
			}
			c := make(counter, 100)
			for round := range 2000 {
				if round%500 == 499 {
					time.Sleep(2 * time.Millisecond) // lets the helpers fall asleep
				}
				w.run(c)
			}
			for i, got := range c {
				if got != 2000 {
					t.Errorf("%d threads on %d processors: element %d counted %d, want 2000", n, procs, i, got)
				}
			}
			w.close()
		}
		runtime.GOMAXPROCS(old)
	}
	var none *workers
	none.close()
	c := make(counter, 1)
	none.run(c)
	if none.threads() != 1 || c[0] != 1 {
		t.Errorf("nil workers: %d threads, counted %d", none.threads(), c[0])
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after close, %d before", runtime.NumGoroutine(), before)
}

// peakFlops returns what one thread can do at most with a kernel: the best of
// some probes.
func peakFlops(k kernel) float64 {
	probe, best := newProbe(k), 0.0
	for range 10 {
		best = max(best, probe())
	}
	return best
}

// mulShapes are the products of an update with a batch of 1024 and layers of
// 256 units.
var mulShapes = []struct {
	name          string
	rows, k, cols int
	transposed    bool // A is the view of a transpose
	epilogue      string
}{
	{"forward", 1024, 256, 256, false, "relu"},
	{"forward-input", 1024, 6, 256, false, "relu"},
	{"forward-head1", 1024, 256, 1, false, "bias"},
	{"forward-head3", 1024, 256, 3, false, "bias"},
	{"dW", 256, 1024, 256, true, ""},
	{"dW-input", 6, 1024, 256, true, ""},
	{"dW-head1", 1, 1024, 256, true, ""},
	{"dW-head2", 2, 1024, 256, true, ""},
	{"dW-head3", 3, 1024, 256, true, ""},
	{"db", 1, 1024, 256, false, ""},
	{"dX", 1024, 256, 256, false, "mask"},
	{"dX-head1", 1024, 1, 256, false, "mask"},
	{"dX-head3", 1024, 3, 256, false, "mask"},
	{"act", 1, 256, 256, false, "relu"},
	{"act-head2", 1, 256, 2, false, "bias"},
	{"forward64", 256, 64, 64, false, "relu"},
}

func BenchmarkMul(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 0))
	fill := func(m matrix) matrix {
		for i := range m.data {
			m.data[i] = rng.Float32() - 0.5
		}
		return m
	}
	for _, k := range kernels() {
		peak := peakFlops(k)
		for _, threads := range []int{1, 2} {
			for _, s := range mulShapes {
				b.Run(fmt.Sprintf("%v/%s/threads=%d", k, s.name, threads), func(b *testing.B) {
					w := workersOf(k, threads)
					defer w.close()
					c, x, y := newMatrix(s.rows, s.cols), newMatrix(s.rows, s.k), fill(newMatrix(s.k, s.cols))
					if s.transposed {
						x = newMatrix(s.k, s.rows).t()
					}
					fill(x)
					var e epilogue
					switch s.epilogue {
					case "relu":
						e = epilogue{bias: fill(newMatrix(1, s.cols)).data, relu: true}
					case "bias":
						e.bias = fill(newMatrix(1, s.cols)).data
					case "mask":
						e.mask = fill(newMatrix(s.rows, s.cols))
						for i, x := range e.mask.data {
							e.mask.data[i] = max(0, x)
						}
					}
					for b.Loop() {
						w.mul(c, x, y, e)
					}
					rate := 2 * float64(s.rows) * float64(s.k) * float64(s.cols) * float64(b.N) / b.Elapsed().Seconds()
					b.ReportMetric(rate/1e9, "GFLOP/s")
					b.ReportMetric(rate/(peak*float64(threads)), "of-peak")
				})
			}
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	src, dst := newMatrix(256, 256), newMatrix(256, 256)
	for b.Loop() {
		(*workers)(nil).transpose(dst, src)
	}
}

// BenchmarkRun measures what a run costs beyond its work.
func BenchmarkRun(b *testing.B) {
	w := newWorkers(2)
	defer w.close()
	c := make(counter, 2)
	for b.Loop() {
		w.run(c)
	}
}

// workersOf returns workers with a kernel of the caller's choice.
func workersOf(k kernel, threads int) *workers {
	w := newWorkers(threads)
	w.kernel = k
	return w
}
