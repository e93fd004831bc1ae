package qta

import (
	"context"
	"fmt"
	"slices"
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

// BenchmarkCost is how the cost of an update and of a goal's selection grows.
// The time is the multiply-adds of [multiplyAdds], twice, over the machine's
// peak and the share of it that is reached.
func BenchmarkCost(b *testing.B) {
	update := func(name string, change func(*Params), transitions int) {
		b.Run("update/"+name, func(b *testing.B) {
			p := Default()
			change(&p)
			a, _ := walked(b, p, transitions)
			n, _ := multiplyAdds(p, a.sizes)
			measure(b, best, n, func() { a.learn() })
		})
	}
	for _, n := range []int{256, 512, 1024, 2048} {
		update(fmt.Sprint("batch=", n), func(p *Params) { p.Batch = n }, 2000)
	}
	for _, n := range []int{64, 128, 256, 512} {
		update(fmt.Sprint("width=", n), func(p *Params) { p.HiddenSize = n }, 2000)
	}
	for _, n := range []int{2, 3, 5} {
		update(fmt.Sprint("critics=", n), func(p *Params) { p.Critics = n }, 2000)
	}
	for _, n := range []int{2000, 150_000} {
		update(fmt.Sprint("transitions=", n), func(p *Params) {}, n)
	}

	selection := func(name string, change func(*Params), transitions int) {
		b.Run("selection/"+name, func(b *testing.B) {
			p := Default()
			change(&p)
			a, _ := walked(b, p, transitions)
			_, n := multiplyAdds(p, a.sizes)
			measure(b, best, n, func() { a.selectGoal(false) })
		})
	}
	for _, n := range []int{250, 1000, 4000} {
		selection(fmt.Sprint("candidates=", n), func(p *Params) { p.Candidates = n }, 5000)
	}
	for _, n := range []int{2, 8, 16} {
		selection(fmt.Sprint("actions=", n), func(p *Params) { p.UncertaintyActions = n }, 2000)
	}
	for _, n := range []int{2000, 150_000} {
		selection(fmt.Sprint("transitions=", n), func(p *Params) {}, n)
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

// BenchmarkSteady trains and compares the fastest updates at the end of the run
// with those after 2000 steps: what denormal numbers, memory touched for the
// first time or garbage would slow down. The limit, measured with each, says
// whether the machine was the same. It wants -benchtime 1x.
func BenchmarkSteady(b *testing.B) {
	for _, run := range []struct {
		Preset
		steps int
	}{{Preset{"small", Small()}, 10_000}, {Preset{"default", Default()}, 20_000}} {
		b.Run(fmt.Sprintf("params=%s/steps=%d", run.Name, run.steps), func(b *testing.B) {
			maze := mustMaze(b, "1U5")
			limit := newProbe(best)
			for b.Loop() {
				a, env := newMazeAgent(b, run.Params, 1), maze.Env()
				after := func(steps int) (seconds, flops float64) {
					o := TrainOptions{Steps: steps, EvalEvery: 1000, Rollouts: 1}
					if err := a.Train(context.Background(), env, maze.Env(), o); err != nil {
						b.Fatal(err)
					}
					var times, limits []float64
					for range 200 {
						limits = append(limits, limit())
						times = append(times, timed(func() { a.learn() }))
					}
					return slices.Min(times), slices.Max(limits)
				}
				early, limit1 := after(2000)
				late, limit2 := after(run.steps)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(1e3*early, "ms-early")
				b.ReportMetric(1e3*late, "ms-late")
				b.ReportMetric(late/early, "late/early")
				b.ReportMetric(limit1/limit2, "limit-early/late")
			}
		})
	}
}
