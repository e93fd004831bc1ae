package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fusedFMA returns a*b + c with one rounding, as the processor's fused multiply-add does. The
// product is exact in float64. The sum is rounded twice, to float64 and to float32. This
// differs from one rounding about once in 10^9 sums, and never in these tests.
func fusedFMA(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

// roundedFMA returns a*b + c with the product rounded first, as the generic kernel does.
func roundedFMA(a, b, c float32) float32 { return float32(a*b) + c }

// A mulFunc is [workers.mul], or another function that computes the same.
type mulFunc func(c, a, b matrix, e epilogue)

// naiveMul returns mul by its definition, one element of C after the other. fma adds a
// product to the element's sum.
func naiveMul(fma func(a, b, c float32) float32) mulFunc {
	return func(c, a, b matrix, e epilogue) {
		for i := range c.rows {
			for j := range c.cols {
				sum := float32(0)
				if e.bias != nil {
					sum = e.bias[j]
				}
				if e.add {
					sum = *c.at(i, j)
				}
				for k := range a.cols {
					sum = fma(*a.at(i, k), *b.at(k, j), sum)
				}
				if e.relu && sum < 0 {
					sum = 0
				}
				if e.mask.data != nil && *e.mask.at(i, j) == 0 {
					sum = 0
				}
				*c.at(i, j) = sum
			}
		}
	}
}

// bits returns the bits of numbers, but the same bits for all NaNs. So equal bits mean equal
// results, and 0 is not -0.
func bits(x []float32) []uint32 {
	return each(x, func(v float32) uint32 {
		if v != v {
			v = float32(math.NaN())
		}
		return math.Float32bits(v)
	})
}

// specials are the numbers for which kernels may differ although they agree for ordinary ones.
var specials = []float32{
	0, float32(math.Copysign(0, -1)),
	0x1p-126, -0x1p-126, // the smallest that are not denormal
	0x1p-149, // the smallest denormal
	math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

// guarded returns n zeros that end where no memory may be touched, and a function that frees
// them. Only kernel_guard_linux_test.go sets it.
var guarded func(n int) (x []float32, free func())

// floats returns n zeros, which live as long as the test. They are guarded, if possible.
func floats(t *testing.T, n int) []float32 {
	if guarded == nil || n == 0 {
		return make([]float32, n)
	}
	x, free := guarded(n)
	t.Cleanup(free)
	return x
}

// A mulCase is the operands of a product C = A B.
type mulCase struct {
	c, a, b matrix
	e       epilogue
}

// randomMul returns random operands, C rows by cols and A rows by k, which may have gaps
// between their rows. The bits of flags choose the kind of product:
//
//	bits 0, 1  A: 0 and 1 stored by rows, 2 transposed, 3 all rows in the same memory
//	bits 2, 3  start of the sums: 0 and 1 a bias, 2 the contents of C, 3 zero
//	bit 4      ReLU
//	bit 5      a mask
//	bits 6, 7  3: one element in a hundred is special
func randomMul(t *testing.T, rng *rand.Rand, rows, cols, k int, flags uint) mulCase {
	special := flags>>6&3 == 3
	view := func(rows, cols int) matrix {
		gap := rng.IntN(2) * rng.IntN(20)
		m := matrix{rows: rows, cols: cols, rowStride: cols + gap, colStride: 1}
		// The data ends with the last element: a kernel that reads beyond it touches the guard.
		m.data = floats(t, max(0, (rows-1)*m.rowStride+cols))
		for i := range m.data {
			m.data[i] = float32(rng.Float64()*2 - 1)
			if special && rng.IntN(100) == 0 {
				m.data[i] = specials[rng.IntN(len(specials))]
			}
		}
		return m
	}
	p := mulCase{c: view(rows, cols), b: view(k, cols)}
	switch flags & 3 {
	case 0, 1:
		p.a = view(rows, k)
	case 2:
		p.a = view(k, rows).t()
	case 3:
		p.a = view(1, max(k, 1))
		p.a.rows = rows
		p.a.cols = k
		p.a.rowStride = 0
		p.a.colStride = rng.IntN(2) // 0: all elements of a row are the same, too
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
			p.e.mask.data[i] *= float32(rng.IntN(2))
		}
	}
	return p
}

// result computes the product with mul. It returns C's data with the gaps, which no mul may
// change.
func (p mulCase) result(t *testing.T, mul mulFunc) []uint32 {
	c := p.c
	c.data = floats(t, len(p.c.data))
	copy(c.data, p.c.data)
	mul(c, p.a, p.b, p.e)
	return bits(c.data)
}

// checkMul compares a random product by each of the workers with the definition.
func checkMul(t *testing.T, ws []*workers, rng *rand.Rand, rows, cols, k int, flags uint) {
	t.Helper()
	p := randomMul(t, rng, rows, cols, k, flags)
	fused := p.result(t, naiveMul(fusedFMA))
	rounded := p.result(t, naiveMul(roundedFMA))
	for _, w := range ws {
		want := fused
		if w.kernel == generic {
			want = rounded // the only kernel that does not fuse
		}
		if got := p.result(t, w.mul); !slices.Equal(want, got) {
			t.Fatalf("%v, %d threads: %d by %d by %d, flags %#x (-want +got):\n%s",
				w.kernel, w.n, rows, cols, k, flags, cmp.Diff(want, got))
		}
	}
}

// workersOf returns workers with a kernel of the caller's choice.
func workersOf(k kernel, threads int) *workers {
	w := newWorkers(threads)
	w.kernel = k
	return w
}

// allWorkers returns workers of one, two and three threads for every kernel of the machine.
func allWorkers(t testing.TB) []*workers {
	var ws []*workers
	for _, k := range kernels() {
		for _, n := range []int{1, 2, 3} {
			w := workersOf(k, n)
			t.Cleanup(func() { w.resize(1) })
			ws = append(ws, w)
		}
	}
	return ws
}

// Every kernel computes products by the definition, for any sizes, layouts and epilogues, on
// one thread and on several.
func TestMul(t *testing.T) {
	rng := seeded(2, 0)
	ws := allWorkers(t)
	// Every number of rows up to more than a tile's, and columns around multiples of a vector.
	for rows := 1; rows <= 18; rows++ {
		for _, cols := range []int{1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200} {
			if !testing.Short() || rng.IntN(2) == 0 {
				checkMul(t, ws, rng, rows, cols, rng.IntN(20), uint(rng.Uint32()))
			}
		}
	}
	// Sizes that take the tallest tiles: at least 12 rows, and a multiple of 32 columns.
	for flags := range uint(64) { // every kind of product without special numbers
		checkMul(t, ws, rng, 12+rng.IntN(15), 32*(1+rng.IntN(2)), rng.IntN(20), flags)
	}
	n := 100
	if testing.Short() {
		n = 10
	}
	for range n {
		flags := uint(rng.Uint32())
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(140), rng.IntN(700), flags)
		// blockNarrow takes few columns, if A is stored by rows and k is a multiple of 4.
		const transposedA = 2 // a bit of flags
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(5), 4*rng.IntN(100), flags&^transposedA)
	}
	// Sizes large enough for several threads, and empty ones.
	for i, size := range []struct{ rows, cols, k int }{
		{1024, 3, 256}, {3, 256, 1024}, {1, 1024, 512}, {130, 131, 133}, {257, 40, 100}, {0, 3, 4}, {3, 0, 4},
	} {
		flags := uint(i % 3) // the layouts of A, one after the other
		checkMul(t, ws, rng, size.rows, size.cols, size.k, flags)
	}
}

// mul panics if its operands do not fit.
func TestMulPanics(t *testing.T) {
	w := newWorkers(1)
	m := newMatrix(4, 4)
	short := newMatrix(4, 4)
	short.data = short.data[:15] // one element too few
	for name, p := range map[string]mulCase{
		"inner size":   {m, newMatrix(4, 3), m, epilogue{}},
		"rows":         {newMatrix(3, 4), m, m, epilogue{}},
		"columns":      {newMatrix(4, 5), m, m, epilogue{}},
		"B transposed": {m, m, m.t(), epilogue{}},
		"C transposed": {m.t(), m, m, epilogue{}},
		"short A":      {m, short, m, epilogue{}},
		"short B":      {m, m, short, epilogue{}},
		"short C":      {short, m, m, epilogue{}},
		"bias and add": {m, m, m, epilogue{bias: m.data[:4], add: true}},
		"bias size":    {m, m, m, epilogue{bias: m.data[:5]}},
		"mask size":    {m, m, m, epilogue{mask: newMatrix(4, 3)}},
		"short mask":   {m, m, m, epilogue{mask: short}},
	} {
		mustPanic(t, name, func() { w.mul(p.c, p.a, p.b, p.e) })
	}
}

// randomMatrix returns a matrix with gaps between its rows.
func randomMatrix(t *testing.T, rng *rand.Rand, rows, cols int) matrix {
	return randomMul(t, rng, rows, cols, 1, 0).c
}

// Every kernel writes the transpose of src into dst, and leaves dst's gaps alone.
func TestTranspose(t *testing.T) {
	rng := seeded(4, 0)
	ws := allWorkers(t)
	for trial := range 320 {
		rows := 1 + rng.IntN(40)
		cols := 1 + rng.IntN(40)
		if trial >= 300 { // the last 20 are large enough for several threads
			rows += 200
			cols += 200
		}
		w := ws[trial%len(ws)]
		src := randomMatrix(t, rng, rows, cols)
		dst := randomMatrix(t, rng, cols, rows)
		want := slices.Clone(dst.data)
		for r := range rows {
			for c, x := range src.row(r) {
				want[c*dst.rowStride+r] = x
			}
		}
		w.transpose(dst, src)
		if !slices.Equal(want, dst.data) {
			t.Fatalf("%v, %d threads: %d by %d (-want +got):\n%s", w.kernel, w.n, rows, cols, cmp.Diff(want, dst.data))
		}
	}
}

// randomFloat returns a number of either sign and at most 2^e, with a random binary exponent.
func randomFloat(rng *rand.Rand, e int) float32 {
	return float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(2*e+1)-e))
}

// randomVector returns n numbers of any magnitude. About one in twenty is special.
func randomVector(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch rng.IntN(20) {
		case 0:
			x[i] = specials[rng.IntN(len(specials))]
		case 1, 2, 3:
			x[i] = randomFloat(rng, 126)
		default:
			x[i] = randomFloat(rng, 10)
		}
	}
	return x
}

// Adam's step for all elements at once gives the bits of steps for one element at a time. One
// element is fewer than a vector has, so those steps are the loop in Go.
func TestAdamStep(t *testing.T) {
	rng := seeded(6, 0)
	for n := range 100 {
		whole := adam{
			params:   randomVector(rng, n),
			m:        randomVector(rng, n),
			v:        randomVector(rng, n),
			gradient: randomVector(rng, n),
		}
		for i, v := range whole.v {
			if v < 0 && rng.IntN(10) > 0 { // second moments are positive in training
				whole.v[i] = -v
			}
		}
		whole.c = adamCoefficients{
			beta1: 0.9, oneMinusBeta1: 0.1,
			beta2: 0.999, oneMinusBeta2: 0.001,
			step:  1e-3 * rng.Float32(),
			scale: 1 + rng.Float32(),
			eps:   1e-8,
			decay: float32(rng.IntN(2)) * 0.01,
		}
		single := whole
		single.params = slices.Clone(whole.params)
		single.m = slices.Clone(whole.m)
		single.v = slices.Clone(whole.v)
		for i := range n {
			single.do(i, i+1)
		}
		whole.do(0, n)
		want := bits(slices.Concat(single.params, single.m, single.v))
		got := bits(slices.Concat(whole.params, whole.m, whole.v))
		checkEqual(t, want, got, "%d elements at once", n)
	}
}

// One step of Adam by hand, for two parameters. The first is w = 4, with the gradient 3:
//
//	g = 3 + 0.25·4 = 4    m = 0.5·2 + 0.5·4 = 3    v = 0.75·16 + 0.25·4² = 16
//	w = 4 - 0.5·3 / (2·√16 + 1) = 4 - 1.5/9
//
// The moments of the second would become denormal, so they become 0.
func TestAdamStepByHand(t *testing.T) {
	a := adam{
		params:   []float32{4, 0},
		m:        []float32{2, 0x1.8p-126},
		v:        []float32{16, 0x1p-126},
		gradient: []float32{3, 0},
		c: adamCoefficients{
			beta1: 0.5, oneMinusBeta1: 0.5,
			beta2: 0.75, oneMinusBeta2: 0.25,
			step: 0.5, scale: 2,
			eps: 1, decay: 0.25,
		},
	}
	a.do(0, 2)
	want := [][]float32{{4 - float32(1.5)/9, 0}, {3, 0}, {16, 0}}
	checkEqual(t, want, [][]float32{a.params, a.m, a.v}, "w, m, v")
}

// A target follows, on three threads and with all elements at once, as Polyak moves one element
// after the other. One element is fewer than a vector has.
func TestPolyakStep(t *testing.T) {
	const divided = inline / 16 // so many elements are divided: each counts as 16 multiply-adds
	rng := seeded(7, 0)
	w := newWorkers(3)
	defer w.resize(1)
	for n := 1; n < 2*divided; n += 1 + n/8 {
		target := randomVector(rng, n)
		online := randomVector(rng, n)
		want := slices.Clone(target)
		ρ := rng.Float64()
		for i := range n {
			Polyak(want[i:i+1], online[i:i+1], ρ)
		}
		f := follower{target: target, online: online, ρ: ρ}
		f.follow(w)
		if !slices.Equal(bits(want), bits(target)) {
			t.Errorf("%d elements on three threads follow otherwise than one after the other", n)
		}
	}
	mustPanic(t, "networks of two sizes", func() { Polyak(make([]float32, 2), make([]float32, 3), 0.5) })
}

// A counter is a task that counts how often each of its elements is done.
type counter []int

func (c counter) do(lo, hi int) {
	for j := lo; j < hi; j++ {
		c[j]++
	}
}

// Each run of a task does each element once, with any number of threads and processors.
func TestWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, processors := range []int{runtime.GOMAXPROCS(0), 1} {
		for _, threads := range []int{0, 1, 2, 3, 8} { // 0 is one thread, too
			checkRuns(t, threads, processors)
		}
	}
	goroutinesEnd(t, before)
}

// checkRuns runs a task 2000 times and checks how often each element is done. Two threads
// sleep whenever they wait. More threads spin first, if there are as many processors.
func checkRuns(t *testing.T, threads, processors int) {
	t.Helper()
	const runs = 2000
	old := runtime.GOMAXPROCS(processors)
	defer runtime.GOMAXPROCS(old)
	if threads == 2 {
		runtime.GOMAXPROCS(1) // threads made now do not spin
	}
	w := newWorkers(threads)
	defer w.resize(1)
	runtime.GOMAXPROCS(processors)
	checkEqual(t, max(1, threads), w.n, "the threads of newWorkers(%d)", threads)

	c := make(counter, 100)
	for run := range runs {
		if run%500 == 499 {
			time.Sleep(2 * time.Millisecond) // until threads that spin have fallen asleep
		}
		w.run(c, len(c), inline)
	}
	checkEqual(t, slices.Repeat(counter{runs}, len(c)), c,
		"%d threads on %d processors: runs that did each element", threads, processors)
}

// A parts is a task that counts its parts.
type parts struct{ atomic.Int64 }

func (p *parts) do(lo, hi int) { p.Add(1) }

// Only a task that takes long enough is divided: into share parts for each of two threads.
func TestInline(t *testing.T) {
	const threads = 2
	w := newWorkers(threads)
	defer w.resize(1) // ends the second thread
	const elements = 1000
	for multiplyAdds, want := range map[int]int64{inline - 1: 1, inline: threads * share} {
		var p parts
		w.run(&p, elements, multiplyAdds)
		checkEqual(t, want, p.Load(), "the parts of a task of %d multiply-adds", multiplyAdds)
	}
}

// goroutinesEnd waits until there are no more goroutines than before.
func goroutinesEnd(t *testing.T, before int) {
	t.Helper()
	for tries := 0; runtime.NumGoroutine() > before; tries++ {
		if tries == 10_000 {
			t.Fatalf("%d goroutines after close, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// The benchmarks measure a function and the machine's peak by turns, and report medians. On a
// shared machine both change by the minute, but together, so that their ratio changes less.

// newProbe returns a function that measures one thread's peak for some milliseconds, in
// floating-point operations a second. It runs the kernel's tile on operands that stay in the
// cache.
func newProbe(k kernel) func() float64 {
	const steps = 4096 // so many that what a tile costs around its loop does not show
	run, multiplyAdds := tileProbe(k, steps)
	if k == generic {
		run, multiplyAdds = genericProbe(steps)
	}
	run()
	return func() float64 {
		start := time.Now()
		runs := 0
		for time.Since(start) < 4*time.Millisecond {
			for range 10 {
				run()
			}
			runs += 10
		}
		return float64(2*multiplyAdds*runs) / time.Since(start).Seconds()
	}
}

// tileProbe returns a run of a kernel's tallest tile, and its multiply-adds. The strides of A
// and B are 0, so that all of their rows are the same memory.
func tileProbe(k kernel, steps int) (run func(), multiplyAdds int) {
	const cols = 32
	rows, afterFirst := k.height(12, cols) // no kernel has a tile of more than 12 rows
	c := newMatrix(rows, cols)
	t := &tile{
		a:         &one[0],
		b:         &zeros[0],
		c:         &c.data[0],
		start:     &c.data[0],
		cRows:     rowsOf(cols, rows, afterFirst),
		startRows: rowsOf(cols, rows, afterFirst),
		k:         steps,
	}
	run = func() { k.run(t, rows, cols) }
	run() // sets t.cols
	return run, rows * t.cols * steps
}

// genericProbe is tileProbe for the generic kernel, which has no tiles.
func genericProbe(steps int) (run func(), multiplyAdds int) {
	const rows, cols = 8, 32
	w := workersOf(generic, 1)
	a := matrix{rows: rows, cols: steps, data: one[:]}
	b := matrix{rows: steps, cols: cols, colStride: 1, data: zeros[:]}
	c := newMatrix(rows, cols)
	return func() { w.mul(c, a, b, epilogue{}) }, rows * cols * steps
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

// timed returns how long f takes, in seconds.
func timed(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

// measure benchmarks f, which makes a number of multiply-adds. It reports f's time, its speed,
// and this speed's share of one thread's peak with the kernel. It returns the time in seconds.
func measure(b *testing.B, k kernel, multiplyAdds float64, f func()) float64 {
	peak := newProbe(k)
	for range 3 { // warms caches up
		f()
	}
	var seconds, shares []float64
	for b.Loop() {
		before := peak()
		s := timed(f)
		after := peak()
		seconds = append(seconds, s)
		average := (before + after) / 2
		shares = append(shares, 2*multiplyAdds/s/average)
	}
	b.ReportMetric(1e9*median(seconds), "ns/op") // in place of Go's, which has the probe's time too
	b.ReportMetric(2e-9*multiplyAdds/median(seconds), "GFLOP/s")
	b.ReportMetric(median(shares), "of-peak")
	return median(seconds)
}

// BenchmarkProduct is the product of a hidden layer with each kernel of the machine. Its
// operands are written first. Memory that was never written is one page of zeros at many
// addresses, which some caches are slow to read.
func BenchmarkProduct(b *testing.B) {
	const rows, width, times = 192, 256, 10 // a measurement of some milliseconds, like the peak's
	random := func(rows int) matrix { return table(randomRows(seeded(8, 0), rows, width)) }
	for _, k := range kernels() {
		b.Run(fmt.Sprint("kernel=", k), func(b *testing.B) {
			w := workersOf(k, 1)
			y := random(rows)
			x := random(rows)
			weights := random(width)
			measure(b, k, times*rows*width*width, func() {
				for range times {
					w.mul(y, x, weights, epilogue{relu: true})
				}
			})
		})
	}
}

// BenchmarkThreads measures how many times faster an update is on two threads than on one.
// Two equal agents update by turns.
func BenchmarkThreads(b *testing.B) {
	single := walked(b, Beyond(), 2000)
	double := walked(b, Beyond(), 2000)
	double.SetThreads(2)
	defer double.Close()
	var ratios []float64
	for b.Loop() {
		alone := timed(func() { single.update() })
		double.update() // wakes the second thread
		together := timed(func() { double.update() })
		ratios = append(ratios, alone/together)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "times-faster")
}
