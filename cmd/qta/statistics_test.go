package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func near(want, got float64) bool { return math.Abs(want-got) <= 1e-9*max(1, math.Abs(want)) }

func TestSummarise(t *testing.T) {
	// By hand: mean 5, squares of the distances 16, 9, 1, 0, 1, 1, 9, 9 over 8.
	s := summarise([]float64{1, 2, 4, 5, 6, 6, 8, 8}, 8)
	for _, test := range []struct {
		name      string
		want, got float64
	}{
		{"mean", 5, s.mean}, {"median", 5.5, s.median}, {"deviation", math.Sqrt(46. / 8), s.deviation},
		{"interquartile mean", (4 + 5 + 6 + 6) / 4., s.iqm},
		{"interquartile mean of three", 7, interquartileMean([]float64{2, 3, 16})},
		{"deviation of one", 0, populationDeviation([]float64{3})},
	} {
		if !near(test.want, test.got) {
			t.Errorf("%s is %v, want %v", test.name, test.got, test.want)
		}
	}
	if r := s.meanRange; !(r.low < 5 && 5 < r.high && r.low >= 1 && r.high <= 8) {
		t.Errorf("interval of the mean %v", r)
	}
	// The deviation of a mean of 8 is sqrt(46/8/8) = 0.85.
	if r := s.meanRange; math.Abs((r.high-r.low)/(2*1.96)-0.85) > 0.08 {
		t.Errorf("interval of the mean %v, want one of about 1.96 · 0.85 to either side", r)
	}
	if diff := cmp.Diff(s, summarise([]float64{1, 2, 4, 5, 6, 6, 8, 8}, 8), cmp.AllowUnexported(summary{}, interval{})); diff != "" {
		t.Errorf("the second time differs:\n%s", diff)
	}
	if r := bootstrap([]float64{3, 3, 3}, interquartileMean); r != (interval{3, 3}) {
		t.Errorf("interval of equal numbers %v", r)
	}
}

// TestPermutation holds p to values counted by hand.
func TestPermutation(t *testing.T) {
	for _, test := range []struct {
		name        string
		strata      []stratum
		p, smallest float64
	}{
		{"apart", []stratum{{[]float64{1, 2, 3}, []float64{4, 5, 6}}}, 2. / 20, 2. / 20},
		{"equal", []stratum{{[]float64{1, 1}, []float64{1, 1}}}, 1, 2. / 6},
		{"one and two", []stratum{{[]float64{1}, []float64{2, 3}}}, 2. / 3, 1. / 3}, // differences 1.5, 0 and -1.5
		{"two strata", []stratum{{[]float64{1, 2}, []float64{3, 4}}, {[]float64{1, 2}, []float64{3, 4}}}, 2. / 36, 2. / 36},
	} {
		got := permutation(test.strata)
		if !near(test.p, got.p) || !near(test.smallest, got.smallest) || !got.exact {
			t.Errorf("%s: %+v, want p %v, smallest %v", test.name, got, test.p, test.smallest)
		}
	}

	// Drawn permutations come near enumerated ones: 12 of 24 numbers are
	// drawn, and this is what a t test says of them.
	var a, b []float64
	for i := range 12 {
		a = append(a, float64(i))
		b = append(b, float64(i)+3)
	}
	got := permutation([]stratum{{a, b}})
	if got.exact || math.Abs(got.p-0.054) > 0.015 { // t = 3/sqrt(2·13/12) = 2.038, 22 degrees of freedom; ties make p larger
		t.Errorf("drawn: %+v, want p near 0.054", got)
	}
	far := permutation([]stratum{{a, []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111}}})
	if far.p != 1.0/permutations {
		t.Errorf("samples far apart: p %v, want %v", far.p, 1.0/permutations)
	}
}

func TestDifferenceRange(t *testing.T) {
	r := strataRange([]stratum{{[]float64{1, 2, 3}, []float64{11, 12, 13}}, {[]float64{0, 0}, []float64{10, 10}}}, meanDifference)
	if !(r.low > 9 && r.low < 10 && r.high > 10 && r.high < 11) {
		t.Errorf("%v, want an interval around 10", r)
	}
}

// TestBinomialRange holds the intervals to tabulated ones.
func TestBinomialRange(t *testing.T) {
	for _, test := range []struct {
		hits, n   int
		low, high float64
	}{
		{0, 10, 0, 0.3085}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {1, 20, 0.0013, 0.2487}, {0, 1, 0, 0.975},
	} {
		r := binomialRange(test.hits, test.n)
		if math.Abs(r.low-test.low) > 1e-4 || math.Abs(r.high-test.high) > 1e-4 {
			t.Errorf("%d of %d: %v, want %v to %v", test.hits, test.n, r, test.low, test.high)
		}
	}
}

func TestSignTest(t *testing.T) {
	for _, test := range []struct {
		positive, n int
		want        float64
	}{{6, 6, 2. / 64}, {0, 6, 2. / 64}, {3, 6, 1}, {5, 6, 14. / 64}} {
		if got := signTest(test.positive, test.n); !near(test.want, got) {
			t.Errorf("%d of %d: %v, want %v", test.positive, test.n, got, test.want)
		}
	}
}
