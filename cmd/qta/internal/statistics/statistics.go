// Package statistics has the intervals of a report, where golang.org/x/exp/stats
// has none. Chance comes from a generator with a fixed seed: the same runs make
// the same report.
package statistics

import (
	"math"
	"math/rand/v2"

	"golang.org/x/exp/stats"
)

// EnoughRuns is how many runs a bootstrap or a count needs to be worth its name:
// a percentile bootstrap of fewer is far too narrow.
const EnoughRuns = 6

// Resamples is how many a bootstrap draws.
const Resamples = 4000

// An Interval is a 95 % interval.
type Interval struct{ Low, High float64 }

// Exp returns the interval of the numbers whose logarithms lie in r.
func (r Interval) Exp() Interval { return Interval{math.Exp(r.Low), math.Exp(r.High)} }

// PopulationDeviation returns the standard deviation that divides by n, as the
// paper's does.
func PopulationDeviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	n := float64(len(x))
	_, sample := stats.MeanAndStdDev(x)
	return sample * math.Sqrt((n-1)/n)
}

// BootstrapMean returns the percentile interval of a mean.
func BootstrapMean(x []float64) Interval {
	rng := rand.New(rand.NewPCG(2210, 2585))
	sample, means := make([]float64, len(x)), make([]float64, Resamples)
	for k := range means {
		for i := range sample {
			sample[i] = x[rng.IntN(len(x))]
		}
		means[k] = stats.Mean(sample)
	}
	q := stats.Quantiles(means, 0.025, 0.975)
	return Interval{q[0], q[1]}
}

// A Sample is what the runs of one method measured in one maze. Where some of
// the values are bounds, their scatter is unknown.
type Sample struct {
	Values  []float64
	Bounded bool
}

// A Pair is two samples whose means are compared.
type Pair struct{ A, B Sample }

// Difference returns the mean of B minus the mean of A.
func (p Pair) Difference() float64 { return stats.Mean(p.B.Values) - stats.Mean(p.A.Values) }

// Contrast returns the weighted sum of the pairs' differences, and its interval
// by Student's t: all samples share one standard deviation, which those with two
// values or more and no bound tell. Where none tells it ok is false.
func Contrast(pairs []Pair, weights []float64) (sum float64, r Interval, ok bool) {
	squares, freedom, variance := 0.0, 0, 0.0
	for i, p := range pairs {
		sum += weights[i] * p.Difference()
		for _, s := range []Sample{p.A, p.B} {
			n := len(s.Values)
			variance += weights[i] * weights[i] / float64(n)
			if n > 1 && !s.Bounded {
				_, deviation := stats.MeanAndStdDev(s.Values)
				squares += deviation * deviation * float64(n-1)
				freedom += n - 1
			}
		}
	}
	if freedom == 0 {
		return sum, Interval{}, false
	}
	half := Student(freedom) * math.Sqrt(variance*squares/float64(freedom))
	return sum, Interval{sum - half, sum + half}, true
}

// Equal returns n weights whose sum of differences is their mean.
func Equal(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// Slope returns weights whose sum of differences is the slope of the least
// squares line through them over x.
func Slope(x []float64) []float64 {
	w, mean, squares := make([]float64, len(x)), stats.Mean(x), 0.0
	for i := range x {
		w[i] = x[i] - mean
		squares += w[i] * w[i]
	}
	for i := range w {
		w[i] /= squares
	}
	return w
}

// Student returns the 97.5 % quantile of Student's t with so many degrees of
// freedom, within 0.1 %: from 6 on the expansion of Abramowitz and Stegun, 26.7.5,
// in the normal quantile.
func Student(freedom int) float64 {
	if freedom < 6 {
		return []float64{12.706, 4.303, 3.182, 2.776, 2.571}[freedom-1]
	}
	const z = 1.959964
	n, z3, z5, z7 := float64(freedom), z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}

// choose returns n over k.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// BinomialRange returns the interval of Clopper and Pearson for a share of which
// hits of n are known. It lies above a half where a sign test finds more hits than
// misses, two-sided with p 0.05.
func BinomialRange(hits, n int) Interval {
	atMost := func(k int, p float64) (sum float64) {
		for i := range k + 1 {
			sum += choose(n, i) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
		}
		return sum
	}
	bisect := func(above func(p float64) bool) float64 {
		low, high := 0.0, 1.0
		for range 50 {
			if p := (low + high) / 2; above(p) {
				high = p
			} else {
				low = p
			}
		}
		return (low + high) / 2
	}
	r := Interval{0, 1}
	if hits > 0 {
		r.Low = bisect(func(p float64) bool { return 1-atMost(hits-1, p) > 0.025 })
	}
	if hits < n {
		r.High = bisect(func(p float64) bool { return atMost(hits, p) < 0.025 })
	}
	return r
}
