package statistics

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func near(want, got float64) bool { return math.Abs(want-got) <= 1e-9*max(1, math.Abs(want)) }

func TestSummarise(t *testing.T) {
	// By hand: mean 5, squares of the distances 16, 9, 1, 0, 1, 1, 9, 9 over 8.
	s := Summarise([]float64{1, 2, 4, 5, 6, 6, 8, 8}, 8)
	for _, test := range []struct {
		name      string
		want, got float64
	}{
		{"mean", 5, s.Mean}, {"median", 5.5, s.Median}, {"deviation", math.Sqrt(46. / 8), s.Deviation},
		{"interquartile mean", (4 + 5 + 6 + 6) / 4., s.IQM},
		{"interquartile mean of three", 7, interquartileMean([]float64{2, 3, 16})},
		{"deviation of one", 0, PopulationDeviation([]float64{3})},
	} {
		if !near(test.want, test.got) {
			t.Errorf("%s is %v, want %v", test.name, test.got, test.want)
		}
	}
	if r := s.MeanRange; !(r.Low < 5 && 5 < r.High && r.Low >= 1 && r.High <= 8) {
		t.Errorf("interval of the mean %v", r)
	}
	// The deviation of a mean of 8 is sqrt(46/8/8) = 0.85.
	if r := s.MeanRange; math.Abs((r.High-r.Low)/(2*1.96)-0.85) > 0.08 {
		t.Errorf("interval of the mean %v, want one of about 1.96 · 0.85 to either side", r)
	}
	if diff := cmp.Diff(s, Summarise([]float64{1, 2, 4, 5, 6, 6, 8, 8}, 8), cmp.AllowUnexported(Summary{}, Interval{})); diff != "" {
		t.Errorf("the second time differs:\n%s", diff)
	}
	if r := Bootstrap([]float64{3, 3, 3}, interquartileMean); r != (Interval{3, 3}) {
		t.Errorf("interval of equal numbers %v", r)
	}
}

// TestPermutation holds p to values counted by hand.
func TestPermutation(t *testing.T) {
	for _, test := range []struct {
		name        string
		strata      []Stratum
		p, smallest float64
	}{
		{"apart", []Stratum{{[]float64{1, 2, 3}, []float64{4, 5, 6}}}, 2. / 20, 2. / 20},
		{"equal", []Stratum{{[]float64{1, 1}, []float64{1, 1}}}, 1, 2. / 6},
		{"one and two", []Stratum{{[]float64{1}, []float64{2, 3}}}, 2. / 3, 1. / 3}, // differences 1.5, 0 and -1.5
		{"two strata", []Stratum{{[]float64{1, 2}, []float64{3, 4}}, {[]float64{1, 2}, []float64{3, 4}}}, 2. / 36, 2. / 36},
	} {
		got := Permutation(test.strata)
		if !near(test.p, got.P) || !near(test.smallest, got.Smallest) || !got.exact {
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
	got := Permutation([]Stratum{{a, b}})
	if got.exact || math.Abs(got.P-0.054) > 0.015 { // t = 3/sqrt(2·13/12) = 2.038, 22 degrees of freedom; ties make p larger
		t.Errorf("drawn: %+v, want p near 0.054", got)
	}
	far := Permutation([]Stratum{{a, []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111}}})
	if far.P != 1.0/permutations {
		t.Errorf("samples far apart: p %v, want %v", far.P, 1.0/permutations)
	}
}

func TestDifferenceRange(t *testing.T) {
	r := StrataRange([]Stratum{{[]float64{1, 2, 3}, []float64{11, 12, 13}}, {[]float64{0, 0}, []float64{10, 10}}}, MeanDifference)
	if !(r.Low > 9 && r.Low < 10 && r.High > 10 && r.High < 11) {
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
		r := BinomialRange(test.hits, test.n)
		if math.Abs(r.Low-test.low) > 1e-4 || math.Abs(r.High-test.high) > 1e-4 {
			t.Errorf("%d of %d: %v, want %v to %v", test.hits, test.n, r, test.low, test.high)
		}
	}
}

func TestSignTest(t *testing.T) {
	for _, test := range []struct {
		positive, n int
		want        float64
	}{{6, 6, 2. / 64}, {0, 6, 2. / 64}, {3, 6, 1}, {5, 6, 14. / 64}} {
		if got := SignTest(test.positive, test.n); !near(test.want, got) {
			t.Errorf("%d of %d: %v, want %v", test.positive, test.n, got, test.want)
		}
	}
}
