package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// moments returns mean and standard deviation.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

func TestSmooth(t *testing.T) {
	const n = 40000
	rng := rand.New(rand.NewPCG(1, 0))
	actions := make([]float32, n)
	smooth(actions, 0.5/1.5, rng)
	atLimit := 0
	for i, a := range actions {
		if a == 0.5 || a == -0.5 {
			atLimit++
		} else if math.Abs(float64(a)) > 0.5 {
			t.Fatalf("noise %v", a)
		}
		actions[i] = 0.9
	}
	// Beyond 1.5 deviations lie 13.36 % of a normal distribution.
	if p := float64(atLimit) / n; math.Abs(p-0.1336) > 0.01 {
		t.Errorf("%v of the noise at its limit, want 0.1336", p)
	}
	if smooth(actions, 0.2, rng); slices.Max(actions) != 1 {
		t.Errorf("the largest smoothed action is %v, want 1", slices.Max(actions))
	}
}
