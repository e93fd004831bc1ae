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

// fusedFMA returns a*b + c as the processor's fused multiply-add does: the product is
// exact in float64. The second rounding moves about one sum in 10^9, and none of these.
func fusedFMA(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

// randomFloat returns a number of either sign, with a binary exponent from -e to e.
func randomFloat(rng *rand.Rand, e int) float32 {
	return float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(2*e+1)-e))
}

// roundedFMA is the step of the generic kernel.
func roundedFMA(a, b, c float32) float32 { return float32(a*b) + c }

// naiveMul returns the definition of mul with a given step.
func naiveMul(fma func(a, b, c float32) float32) func(c, a, b matrix, e epilogue) {
	return func(c, a, b matrix, e epilogue) {
		for i := range c.rows {
			for j := range c.cols {
				s := float32(0)
				if e.bias != nil {
					s = e.bias[j]
				}
				if e.add {
					s = *c.at(i, j)
				}
				for k := range a.cols {
					s = fma(*a.at(i, k), *b.at(k, j), s)
				}
				if e.relu && s < 0 {
					s = 0
				}
				if e.mask.data != nil && *e.mask.at(i, j) == 0 {
					s = 0
				}
				*c.at(i, j) = s
			}
		}
	}
}

// bits makes numbers comparable: all NaNs are equal, and 0 is not -0.
func bits(x []float32) []uint32 {
	b := make([]uint32, len(x))
	for i, v := range x {
		b[i] = math.Float32bits(v)
		if v != v {
			b[i] = 0x7fc00000
		}
	}
	return b
}

// specials are the values that arithmetic treats differently.
var specials = []float32{0, float32(math.Copysign(0, -1)), 0x1p-126, -0x1p-126, 0x1p-149, math.MaxFloat32,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// guarded returns memory with a guard behind its end, if the system has it.
var guarded func(n int) (x []float32, free func())

// floats returns n zeros, which live as long as the test.
func floats(t *testing.T, n int) []float32 {
	if guarded == nil || n == 0 {
		return make([]float32, n)
	}
	x, free := guarded(n)
	t.Cleanup(free)
	return x
}

// A mulCase is a product whose operands are views with random gaps.
type mulCase struct {
	c, a, b matrix
	e       epilogue
}

// randomMul returns a product of the given size. The bits of flags choose: bits 0 and 1 the
// layout of A, bits 2 to 5 the epilogue, and bits 6 and 7 whether there are special values.
func randomMul(t *testing.T, rng *rand.Rand, rows, cols, k int, flags uint) mulCase {
	special := flags>>6&3 == 3
	// The data ends with the last element, so that nothing may be read behind.
	view := func(rows, cols int) matrix {
		m := matrix{rows: rows, cols: cols, rowStride: cols + rng.IntN(2)*rng.IntN(20), colStride: 1}
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
	case 3: // one element, or one row, for all
		p.a = view(1, max(k, 1))
		p.a.rows = rows
		p.a.cols = k
		p.a.rowStride = 0
		p.a.colStride = rng.IntN(2)
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

// result returns C's data, gaps included, after mul.
func (p mulCase) result(t *testing.T, mul func(c, a, b matrix, e epilogue)) []uint32 {
	c := p.c
	c.data = floats(t, len(p.c.data))
	copy(c.data, p.c.data)
	mul(c, p.a, p.b, p.e)
	return bits(c.data)
}

// checkMul compares all workers with the definition.
func checkMul(t *testing.T, ws []*workers, rng *rand.Rand, rows, cols, k int, flags uint) {
	t.Helper()
	p := randomMul(t, rng, rows, cols, k, flags)
	fused := p.result(t, naiveMul(fusedFMA))
	rounded := p.result(t, naiveMul(roundedFMA))
	for _, w := range ws {
		want := fused
		if w.kernel == generic {
			want = rounded
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

// allWorkers returns workers of one thread and of several for every kernel.
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

// Every kernel computes the products of the definition, whatever the sizes and the epilogue.
func TestMul(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	ws := allWorkers(t)
	for rows := 1; rows <= 18; rows++ {
		for _, cols := range []int{1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200} {
			if !testing.Short() || rng.IntN(2) == 0 {
				checkMul(t, ws, rng, rows, cols, rng.IntN(20), uint(rng.Uint32()))
			}
		}
	}
	// Sizes for the tallest tiles.
	for flags := range uint(64) {
		checkMul(t, ws, rng, 12+rng.IntN(15), 32*(1+rng.IntN(2)), rng.IntN(20), flags)
	}
	n := 100
	if testing.Short() {
		n = 10
	}
	for range n {
		flags := uint(rng.Uint32())
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(140), rng.IntN(700), flags)
		// Few columns, and A in rows.
		checkMul(t, ws, rng, 1+rng.IntN(70), 1+rng.IntN(5), 4*rng.IntN(100), flags&^2)
	}
	// Sizes large enough for several threads, and empty ones.
	sizes := [][3]int{{1024, 3, 256}, {3, 256, 1024}, {1, 1024, 512}, {130, 131, 133}, {257, 40, 100}, {0, 3, 4}, {3, 0, 4}}
	for i, s := range sizes {
		checkMul(t, ws, rng, s[0], s[1], s[2], uint(i%3))
	}
}

// Operands that do not fit panic.
func TestMulPanics(t *testing.T) {
	w := newWorkers(1)
	m := newMatrix(4, 4)
	short := newMatrix(4, 4)
	short.data = short.data[:15]
	for name, f := range map[string]func(){
		"inner size":    func() { w.mul(m, newMatrix(4, 3), m, epilogue{}) },
		"rows":          func() { w.mul(newMatrix(3, 4), m, m, epilogue{}) },
		"columns":       func() { w.mul(newMatrix(4, 5), m, m, epilogue{}) },
		"B transposed":  func() { w.mul(m, m, m.t(), epilogue{}) },
		"C transposed":  func() { w.mul(m.t(), m, m, epilogue{}) },
		"short A":       func() { w.mul(m, short, m, epilogue{}) },
		"short B":       func() { w.mul(m, m, short, epilogue{}) },
		"short C":       func() { w.mul(short, m, m, epilogue{}) },
		"bias and add":  func() { w.mul(m, m, m, epilogue{bias: m.data[:4], add: true}) },
		"bias size":     func() { w.mul(m, m, m, epilogue{bias: m.data[:5]}) },
		"mask size":     func() { w.mul(m, m, m, epilogue{mask: newMatrix(4, 3)}) },
		"short mask":    func() { w.mul(m, m, m, epilogue{mask: short}) },
		"rows 2:5 of 4": func() { w.mul(newMatrix(3, 4), m.slice(2, 5), m, epilogue{}) },
	} {
		mustPanic(t, name, f)
	}
}

// randomMatrix returns a matrix with gaps between its rows.
func randomMatrix(t *testing.T, rng *rand.Rand, rows, cols int) matrix {
	return randomMul(t, rng, rows, cols, 1, 0).c
}

// Every kernel writes the transpose of src into dst, and leaves dst's gaps alone.
func TestTranspose(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	ws := allWorkers(t)
	for i := range 320 {
		rows := 1 + rng.IntN(40)
		cols := 1 + rng.IntN(40)
		if i >= 300 { // large enough for several threads
			rows += 200
			cols += 200
		}
		w := ws[i%len(ws)]
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

// randomVector returns numbers of every size, with some special ones.
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

// A step of all elements at once equals steps of single elements.
func TestAdamStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	for n := range 100 {
		all := adam{
			params:   randomVector(rng, n),
			m:        randomVector(rng, n),
			v:        randomVector(rng, n),
			gradient: randomVector(rng, n),
		}
		for i, v := range all.v {
			if v < 0 && rng.IntN(10) > 0 {
				all.v[i] = -v
			}
		}
		all.c = adamCoefficients{0.9, 0.1, 0.999, 0.001, 1e-3 * rng.Float32(), 1 + rng.Float32(), 1e-8, float32(rng.IntN(2)) * 0.01}
		single := all
		single.params = slices.Clone(all.params)
		single.m = slices.Clone(all.m)
		single.v = slices.Clone(all.v)
		for i := range n { // a single element fills no vector
			single.do(i, i+1)
		}
		all.do(0, n)
		want := bits(slices.Concat(single.params, single.m, single.v))
		if diff := cmp.Diff(want, bits(slices.Concat(all.params, all.m, all.v))); diff != "" {
			t.Fatalf("%d elements (-want +got):\n%s", n, diff)
		}
	}
}

// One step of Adam by hand, of two parameters. For the first one g = 3 + 1 = 4,
// m = 1 + 2 = 3, v = 12 + 4 = 16 and w = 4 - 1.5/(8+1). The moments of the second one would
// become denormal, and become 0.
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
	want := []float32{4 - float32(1.5)/9, 0, 3, 0, 16, 0}
	if diff := cmp.Diff(want, slices.Concat(a.params, a.m, a.v)); diff != "" {
		t.Errorf("w, m, v (-want +got):\n%s", diff)
	}
}

// Polyak of all elements at once equals Polyak of single elements.
func TestPolyakStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for n := range 100 {
		target := randomVector(rng, n)
		online := randomVector(rng, n)
		want := slices.Clone(target)
		ρ := rng.Float64()
		for i := range n { // a single element fills no vector
			Polyak(want[i:i+1], online[i:i+1], ρ)
		}
		Polyak(target, online, ρ)
		if diff := cmp.Diff(bits(want), bits(target)); diff != "" {
			t.Fatalf("%d elements (-want +got):\n%s", n, diff)
		}
	}
	mustPanic(t, "networks of two sizes", func() { Polyak(make([]float32, 2), make([]float32, 3), 0.5) })
}

// A target follows by three threads as by one.
func TestFollowThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	target := randomVector(rng, inline/16) // each thread has a part
	online := randomVector(rng, inline/16)
	want := slices.Clone(target)
	Polyak(want, online, 0.75)
	w := newWorkers(3)
	defer w.resize(1)
	f := follower{target, online, 0.75}
	f.follow(w)
	if !slices.Equal(bits(want), bits(target)) {
		t.Error("three threads give another result than one")
	}
}

// A counter is a task that counts how often each of its elements is done.
type counter []int

func (c counter) do(lo, hi int) {
	for j := lo; j < hi; j++ {
		c[j]++
	}
}

// Each part of a task is done once, with any number of threads and processors.
func TestWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, procs := range []int{runtime.GOMAXPROCS(0), 1} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 2, 3, 8} { // 0 is one thread, too
			if n == 2 {
				runtime.GOMAXPROCS(1) // so that its threads fall asleep at once
			}
			w := newWorkers(n)
			c := make(counter, 100)
			runtime.GOMAXPROCS(procs)
			for round := range 2000 {
				if round%500 == 499 {
					time.Sleep(2 * time.Millisecond) // lets the others fall asleep
				}
				w.run(c, len(c), inline)
			}
			if want := slices.Repeat(counter{2000}, 100); w.n != max(1, n) || !slices.Equal(want, c) {
				t.Errorf("%d threads of %d on %d processors, parts done (-want +got):\n%s", w.n, n, procs, cmp.Diff(want, c))
			}
			w.resize(1)
		}
		runtime.GOMAXPROCS(old)
	}
	goroutinesEnd(t, before)
}

// A parts is a task that counts its parts.
type parts struct{ atomic.Int64 }

func (p *parts) do(lo, hi int) { p.Add(1) }

// Only a task that takes long enough is divided.
func TestInline(t *testing.T) {
	w := newWorkers(2)
	defer w.resize(1)
	for multiplyAdds, want := range map[int]int64{inline - 1: 1, inline: 2 * share} {
		var p parts
		w.run(&p, 1000, multiplyAdds)
		if p.Load() != want {
			t.Errorf("%d multiply-adds are done in %d parts, want %d", multiplyAdds, p.Load(), want)
		}
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

// The benchmarks measure f and the machine's peak by turns, and report medians.
// On a shared machine both change by the minute, and together; their ratio changes
// less.

// newProbe returns a function that measures one thread's peak for some milliseconds, in
// floating-point operations a second. It runs the kernel's tile on operands that stay in the
// cache. Many steps of k hide what a tile costs around its loop.
func newProbe(k kernel) func() float64 {
	const steps = 4096 // of k
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

// tileProbe returns a run of a kernel's tallest tile, and its multiply-adds. All rows of A
// and of B are the same memory.
func tileProbe(k kernel, steps int) (run func(), multiplyAdds int) {
	const cols = 32
	rows, rest := k.height(12, cols)
	c := newMatrix(rows, cols)
	t := &tile{
		a:         &one[0],
		b:         &zeros[0],
		c:         &c.data[0],
		start:     &c.data[0],
		cRows:     rowsOf(cols, rows, rest),
		startRows: rowsOf(cols, rows, rest),
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

// measure benchmarks f, which makes a number of multiply-adds. It reports f's time, its speed
// and the share of one thread's peak with the kernel. It returns the time in seconds.
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
// operands are written first: memory that never was is one page of zeros at many
// addresses, which some caches are slow to read.
func BenchmarkProduct(b *testing.B) {
	const rows, width, times = 192, 256, 10 // a measurement of some milliseconds, like the peak's
	random := func(rows int) matrix { return table(randomRows(rand.New(rand.NewPCG(8, 0)), rows, width)) }
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

// BenchmarkThreads measures how many times faster two threads are than one. They run by turns
// in the same minute.
func BenchmarkThreads(b *testing.B) {
	one, _ := walked(b, Beyond(), 2000)
	two, _ := walked(b, Beyond(), 2000)
	two.SetThreads(2)
	defer two.Close()
	var ratios []float64
	for b.Loop() {
		alone := timed(func() { one.update() })
		two.update() // wakes the helper
		together := timed(func() { two.update() })
		ratios = append(ratios, alone/together)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "times-faster")
}
