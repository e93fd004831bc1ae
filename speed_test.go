package qta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The benchmarks of this file measure f and the machine's peak by turns, and
// report medians. On a shared machine both change by the minute, and together;
// their ratio changes less.

// A probe measures for some milliseconds what one thread can do at most.
type probe func() (flops float64)

func newProbe(k kernel) probe {
	const rows, cols, steps = 8, 32, 256
	c, a, b := newMatrix(rows, cols), newMatrix(rows, steps), newMatrix(steps, cols)
	w := workersOf(k, 1)
	run := func() { w.mul(c, a, b, epilogue{}) }
	ops := 2.0 * rows * cols * steps
	if k != generic {
		n, rest := k.height(rows, cols)
		t := tile{
			a: &a.data[0], b: &b.data[0], c: &c.data[0], start: &c.data[0],
			aRows: rowsOf(steps, n, rest), cRows: rowsOf(cols, n, rest), startRows: rowsOf(cols, n, rest),
			aStep: 4, bStep: 4 * cols, k: steps, cols: k.width(n, cols),
		}
		run, ops = func() { k.run(&t, n) }, float64(2*n*t.cols*steps)
	}
	return func() float64 {
		start, n := time.Now(), 0
		for time.Since(start) < 4*time.Millisecond {
			for range 100 {
				run()
			}
			n += 100
		}
		return ops * float64(n) / time.Since(start).Seconds()
	}
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

// measure reports f, a number of multiply-adds, against the peak of one thread
// with the kernel.
func measure(b *testing.B, k kernel, multiplyAdds float64, f func()) {
	peak := newProbe(k)
	for range 3 {
		f()
	}
	var seconds, shares []float64
	for b.Loop() {
		before, s, after := peak(), timed(f), peak()
		seconds = append(seconds, s)
		shares = append(shares, 2*multiplyAdds/s/((before+after)/2))
	}
	b.ReportMetric(1e9*median(seconds), "ns/op") // without the probe
	b.ReportMetric(2e-9*multiplyAdds/median(seconds), "GFLOP/s")
	b.ReportMetric(median(shares), "of-peak")
}

// BenchmarkMul is the products of an update with a batch of 1024 and layers of
// 256 units, with each kernel. A "*" has A the view of a transpose.
func BenchmarkMul(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 0))
	random := func(rows, cols int) matrix {
		m := newMatrix(rows, cols)
		for i := range m.data {
			m.data[i] = max(0, rng.Float32()-0.5)
		}
		return m
	}
	for _, s := range []struct {
		name          string
		rows, k, cols int
		e             epilogue
	}{
		{"forward", 1024, 256, 256, epilogue{bias: random(1, 256).data, relu: true}},
		{"forward-input", 1024, 6, 256, epilogue{bias: random(1, 256).data, relu: true}},
		{"forward-head", 1024, 256, 3, epilogue{bias: random(1, 3).data}},
		{"dW*", 256, 1024, 256, epilogue{}},
		{"dW-input*", 6, 1024, 256, epilogue{}},
		{"dW-head*", 3, 1024, 256, epilogue{}},
		{"db", 1, 1024, 256, epilogue{}},
		{"dX", 1024, 256, 256, epilogue{mask: random(1024, 256)}},
		{"dX-head", 1024, 3, 256, epilogue{mask: random(1024, 256)}},
		{"act", 1, 256, 256, epilogue{bias: random(1, 256).data, relu: true}},
	} {
		c, x, y := newMatrix(s.rows, s.cols), random(s.rows, s.k), random(s.k, s.cols)
		if strings.HasSuffix(s.name, "*") {
			x = random(s.k, s.rows).t()
		}
		for _, k := range kernels() {
			w := workersOf(k, 1)
			b.Run(fmt.Sprintf("%v/%s", k, s.name), func(b *testing.B) {
				measure(b, k, float64(s.rows*s.k*s.cols), func() { w.mul(c, x, y, s.e) })
			})
		}
	}
}

// BenchmarkKernels is an update with each kernel, against that kernel's peak.
func BenchmarkKernels(b *testing.B) {
	for _, preset := range []Preset{{"default", Default()}, {"authors", Authors()}} {
		for _, k := range kernels() {
			if k == generic {
				continue
			}
			b.Run(fmt.Sprintf("%v/params=%s", k, preset.Name), func(b *testing.B) {
				a, _ := walked(b, preset.Params, 2000)
				a.workers.kernel = k
				defer a.Close()
				n, _ := multiplyAdds(preset.Params, a.sizes)
				measure(b, k, n, func() { a.learn() })
			})
		}
	}
}

// BenchmarkThreads is how many times faster two threads are than one, by turns
// in the same minute.
func BenchmarkThreads(b *testing.B) {
	for _, preset := range []Preset{{"default", Default()}, {"authors", Authors()}} {
		b.Run("params="+preset.Name, func(b *testing.B) {
			one, _ := walked(b, preset.Params, 2000)
			two, _ := walked(b, preset.Params, 2000)
			two.SetThreads(2)
			defer two.Close()
			var t1, t2, ratios []float64
			for b.Loop() {
				s1 := timed(func() { one.learn() })
				two.learn() // wakes the helper
				s2 := timed(func() { two.learn() })
				t1, t2, ratios = append(t1, s1), append(t2, s2), append(ratios, s1/s2)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1e3*median(t1), "ms-one")
			b.ReportMetric(1e3*median(t2), "ms-two")
			b.ReportMetric(median(ratios), "times-faster")
		})
	}
}
