package report

import (
	"math"
	"testing"

	"golang.org/x/exp/stats"
)

func near(want, got, within float64) bool { return math.Abs(want-got) <= within*max(1, math.Abs(want)) }

func TestBootstrapMean(t *testing.T) {
	// By hand: mean 5, squares of the distances 16, 9, 1, 0, 1, 1, 9, 9 over 8.
	x := []float64{1, 2, 4, 5, 6, 6, 8, 8}
	if got := populationDeviation(x); !near(math.Sqrt(46./8), got, 1e-9) {
		t.Errorf("deviation %v, want %v", got, math.Sqrt(46./8))
	}
	if got := populationDeviation([]float64{3}); got != 0 {
		t.Errorf("deviation of one %v", got)
	}
	// The deviation of a mean of 8 is sqrt(46/8/8) = 0.85.
	r := bootstrapMean(x)
	if math.Abs((r.High-r.Low)/(2*1.96)-0.85) > 0.08 || r.Low > stats.Mean(x) || r.High < stats.Mean(x) {
		t.Errorf("%v, want about 5 ± 1.96 · 0.85", r)
	}
	if again := bootstrapMean(x); again != r {
		t.Errorf("%v, the second time %v", r, again)
	}
	if r := bootstrapMean([]float64{3, 3, 3}); r != (interval{3, 3}) {
		t.Errorf("interval of equal numbers %v", r)
	}
}

// TestStudent holds t to printed tables.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 8: 2.306, 12: 2.179, 30: 2.042, 120: 1.980} {
		if got := student(freedom); !near(want, got, 0.001) {
			t.Errorf("%d degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
}

// TestContrast holds intervals to ones worked out by hand.
func TestContrast(t *testing.T) {
	of := func(x ...float64) sample { return sample{Values: x} }
	for _, test := range []struct {
		name      string
		pairs     []pair
		weights   []float64
		sum, half float64 // half the interval, or -1 where there is none
	}{
		// Each sample has a variance of 2, and 2 values.
		{"two and two", []pair{{of(1, 3), of(11, 13)}}, equal(1), 10, 4.303 * math.Sqrt2},
		// The second pair tells nothing of the scatter, and half of the mean.
		{"single runs", []pair{{of(1, 3), of(11, 13)}, {of(0), of(20)}}, equal(2), 15,
			4.303 * math.Sqrt(2*(1+2)/4.)},
		// 12 stands for "12 or more": B's mean counts, its scatter does not.
		{"a bound", []pair{{of(1, 3), sample{[]float64{12, 12}, true}}}, equal(1), 10, 12.706 * math.Sqrt2},
		{"no scatter", []pair{{of(1), of(2)}}, equal(1), 1, -1},
		// Differences 0 and 4 at 9 and 19: 0.4 a cell, weights ± 0.1.
		{"a slope", []pair{{of(1, 3), of(1, 3)}, {of(0, 2), of(4, 6)}}, slope([]float64{9, 19}), 0.4,
			2.776 * math.Sqrt(2*2*0.01)},
	} {
		sum, r, ok := weigh(test.pairs, test.weights)
		if !near(test.sum, sum, 1e-9) || ok != (test.half >= 0) || ok && !near(test.half, (r.High-r.Low)/2, 0.01) || ok && !near(sum, (r.High+r.Low)/2, 1e-9) {
			t.Errorf("%s: %v in %v (%v), want %v ± %v", test.name, sum, r, ok, test.sum, test.half)
		}
	}
}

// TestBinomialRange holds the intervals to tabulated ones.
func TestBinomialRange(t *testing.T) {
	for _, test := range []struct {
		hits, n   int
		low, high float64
	}{
		{0, 10, 0, 0.3085}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {1, 20, 0.0013, 0.2487}, {0, 1, 0,
			0.975},
	} {
		r := binomialRange(test.hits, test.n)
		if !near(test.low, r.Low, 1e-4) || !near(test.high, r.High, 1e-4) {
			t.Errorf("%d of %d: %v, want %v to %v", test.hits, test.n, r, test.low, test.high)
		}
	}
}
