package report

import (
	"math"
	"slices"
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

// Equal values tell no scatter, though rounding leaves them some.
func TestNoScatter(t *testing.T) {
	same := []sample{{Values: slices.Repeat([]float64{math.Log(2000)}, 3)}}
	if spread(same) == 0 {
		t.Error("these values show no rounding")
	}
	if _, r, ok := weigh(same, same, equal(1)); ok {
		t.Errorf("the interval of equal values is %v", r)
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
