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

// Noise has the standard deviation ε about the action, and each component its own;
// it is clipped. At the edge of the action space without noise, every other action
// is a uniform one, in all its components at once.
func TestExplore(t *testing.T) {
	const n = 40000
	for _, test := range []struct {
		at, ε, random   float64
		mean, deviation float64
	}{
		{0, 0.2, 0, 0, 0.2},
		{0.1, 0.1, 0, 0.1, 0.1},
		{0, 0.2, 0.3, 0, math.Sqrt(0.7*0.04 + 0.3/3)},
		{0, 1e9, 0, 0, 1}, // -1 or 1
		{1, 0, 0.3, 0.7, math.Sqrt(0.7 + 0.3/3 - 0.49)},
	} {
		a := &Agent{curriculum: new(desiredGoals), exploration: newStream(1, 0)}
		a.params.ActionNoise, a.params.RandomAction = test.ε, test.random
		var all []float64
		for range n {
			action := []float64{test.at, test.at}
			a.explore(action)
			all = append(all, action...)
			if test.ε < 1 && (action[0] == action[1]) != (test.ε == 0 && action[0] == test.at) {
				t.Fatalf("%+v: both components are one, or half of them is replaced: %v", test, action)
			}
		}
		mean, deviation := moments(all)
		tolerance := 5 / math.Sqrt(2*n)
		if math.Abs(mean-test.mean) > tolerance || math.Abs(deviation-test.deviation) > tolerance {
			t.Errorf("%+v: mean %v and deviation %v", test, mean, deviation)
		}
		if low, high := slices.Min(all), slices.Max(all); low < -1 || high > 1 {
			t.Errorf("%+v: actions from %v to %v", test, low, high)
		}
	}
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

// The normalizer is held to mean and deviation in two passes over everything
// that it was shown and, for its count that starts at 1, one zero vector.
func TestNormalizer(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	p := Paper()
	n := newNormalizer(3, &p)
	got := make([]float32, 3)
	for _, x := range [][2][]float64{{{-20, 1, 1e6}, {-5, 1, 5}}, {{0.1, 0.2, 0.3}, {0.1, 0.2, 0.3}}} {
		n.update()
		n.normalize(got, x[0])
		near(t, "before anything was shown", got, x[1])
	}
	columns := [3][]float64{{0}, {0}, {0}}
	for range 20 {
		for range 1 + rng.IntN(50) {
			x := []float64{5 + 2*rng.NormFloat64(), 0.001 * rng.NormFloat64(), -3 + rng.Float64()}
			n.add(x)
			for c, v := range x {
				columns[c] = append(columns[c], v)
			}
		}
		n.update()
		for range 10 {
			var x, want []float64
			for c := range columns {
				mean, deviation := moments(columns[c])
				v := 5 + 4*rng.NormFloat64()
				x = append(x, v)
				want = append(want, min(max((v-mean)/max(deviation, p.NormalizerFloor), -p.NormalizerClip), p.NormalizerClip))
			}
			n.normalize(got, x)
			near(t, "normalized", got, want)
		}
	}
}
