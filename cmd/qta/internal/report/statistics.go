package report

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/exp/stats"
)

// This file has the intervals of a report, where golang.org/x/exp/stats has none.
// Chance comes from a generator with a fixed seed: the same runs make the same
// report.

// enoughRuns is how many runs a bootstrap or a count needs to be worth its name:
// a percentile bootstrap of fewer is far too narrow.
const enoughRuns = 6

// resamples is how many a bootstrap draws.
const resamples = 4000

// An interval is a 95 % interval.
type interval struct{ Low, High float64 }

// populationDeviation returns the deviation that divides by n, as the paper's does.
func populationDeviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	n := float64(len(x))
	_, sample := stats.MeanAndStdDev(x)
	return sample * math.Sqrt((n-1)/n)
}

// bootstrapMean returns the percentile interval of a mean.
func bootstrapMean(x []float64) interval {
	rng := rand.New(rand.NewPCG(2210, 2585))
	sample, means := make([]float64, len(x)), make([]float64, resamples)
	for k := range means {
		for i := range sample {
			sample[i] = x[rng.IntN(len(x))]
		}
		means[k] = stats.Mean(sample)
	}
	q := stats.Quantiles(means, 0.025, 0.975)
	return interval{q[0], q[1]}
}

// A sample is what the runs of one method measured in one maze. Some of the values
// may be bounds.
type sample struct {
	Values  []float64
	Bounded bool
}

// weigh returns the weighted sum of the differences of means, each of b's sample
// and a's, and its interval by Student's t: all samples share one standard
// deviation, which those with two values or more tell. A bound hides scatter, so
// that samples with one tell it only where they make the interval wider; where no
// other tells it ok is false.
func weigh(a, b []sample, weights []float64) (sum float64, r interval, ok bool) {
	variance := 0.0
	for i, w := range weights {
		sum += w * (stats.Mean(b[i].Values) - stats.Mean(a[i].Values))
		variance += w * w * (1/float64(len(a[i].Values)) + 1/float64(len(b[i].Values)))
	}
	all := slices.Concat(a, b)
	known := slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.Bounded })
	half := math.Sqrt(variance) * max(spread(known), spread(all))
	return sum, interval{sum - half, sum + half}, spread(known) > 1e-9 // rounding aside
}

// spread returns the pooled standard deviation of samples times Student's t, or 0
// where none has two values.
func spread(samples []sample) float64 {
	squares, freedom := 0.0, 0
	for _, s := range samples {
		if n := len(s.Values); n > 1 {
			_, deviation := stats.MeanAndStdDev(s.Values)
			squares += deviation * deviation * float64(n-1)
			freedom += n - 1
		}
	}
	if freedom == 0 {
		return 0
	}
	return student(freedom) * math.Sqrt(squares/float64(freedom))
}

// equal returns n weights whose sum of differences is their mean.
func equal(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// slope returns weights whose sum of differences is their least squares slope over x.
func slope(x []float64) []float64 {
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

// student returns the 97.5 % quantile of Student's t with so many degrees of
// freedom, within 0.1 %: from 6 on the expansion of Abramowitz and Stegun, 26.7.5,
// in the normal quantile.
func student(freedom int) float64 {
	if freedom < 6 {
		return []float64{12.706, 4.303, 3.182, 2.776, 2.571}[freedom-1]
	}
	const z = 1.959964
	n, z3, z5, z7 := float64(freedom), z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}

// binomialRange returns the interval of Clopper and Pearson for a share of which
// hits of n are known. It lies above a half where a sign test finds more hits than
// misses, two-sided with p 0.05.
func binomialRange(hits, n int) interval {
	return interval{1 - shareAbove(n-hits, n), shareAbove(hits, n)}
}

// shareAbove returns the share with which hits of n, or fewer, have probability 0.025.
func shareAbove(hits, n int) float64 {
	low, high := 0.0, 1.0
	for range 50 {
		p := (low + high) / 2
		atMost, ways := 0.0, 1.0
		for i := range hits + 1 {
			atMost += ways * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
			ways *= float64(n-i) / float64(i+1)
		}
		if atMost < 0.025 {
			high = p
		} else {
			low = p
		}
	}
	return high
}
