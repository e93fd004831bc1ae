package main

import (
	"math"
	"slices"
	"testing"
)

func near(want, got, within float64) bool { return math.Abs(want-got) <= within*max(1, math.Abs(want)) }

// TestStatistics holds what golang.org/x/exp/stats has not to printed tables and to
// numbers worked out by hand.
func TestStatistics(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706, 1.5: 6.017, 2: 4.303, 5: 2.571, 12: 2.179, 120: 1.980} {
		if got := student(0.975, freedom); !near(want, got, 0.001) {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
	if got := student(0.8, 10); !near(0.879, got, 0.001) {
		t.Errorf("the 80 %% quantile of 10 degrees of freedom is %v", got)
	}
	for _, test := range []struct {
		hits, n   int
		low, high float64
	}{{0, 6, 0, 0.459}, {6, 6, 0.541, 1}, {3, 3, 0.292, 1}, {7, 8, 0.473, 0.997}} {
		if r := binomialRange(test.hits, test.n); !near(test.low, r.Low, 0.001) || !near(test.high, r.High, 0.001) {
			t.Errorf("%d of %d: %v", test.hits, test.n, r)
		}
	}
	// Of the 70 ways in which 4 of 8 can collapse one has all with noise, 16 have three.
	for hits, want := range map[int]float64{4: 1. / 70, 3: 17. / 70} {
		if got := fisher(hits, 4, 4-hits, 4); !near(want, got, 1e-9) {
			t.Errorf("%d of 4 beside %d of 4: %v, want %v", hits, 4-hits, got, want)
		}
	}
	var e estimate // of equal values, to which rounding leaves some scatter
	squares, freedom := scatter(slices.Repeat([]float64{math.Log(2000)}, 3))
	if e.vary(squares, freedom); squares == 0 || !math.IsInf(e.interval().High, 1) {
		t.Errorf("the interval of equal values is %v", e.interval())
	}
}
