package main

import (
	"math"

	"golang.org/x/exp/stats"
)

// This file has the intervals of the judge, by the rules of results/verdicts.md.
// All of them are at 95 %.

// An interval is a 95 % interval.
type interval struct{ Low, High float64 }

// An estimate is a sum of independent parts, each with a variance that was
// estimated with some degrees of freedom.
type estimate struct {
	Value          float64
	variance, over float64 // sums of the variances, and of their squares over the degrees of freedom
	unknown        bool    // a variance is: there is no interval

	tooLow, tooHigh bool // the value may be, as runs are unsolved
}

// vary adds the variance of a part. One of nothing but equal numbers tells no
// scatter, though rounding leaves it some.
func (e *estimate) vary(variance float64, freedom int) {
	e.unknown = e.unknown || variance < 1e-18
	e.variance += variance
	e.over += variance * variance / float64(freedom)
}

// add adds the weighted means of samples, which share one variance.
func (e *estimate) add(weights []float64, samples [][]float64) {
	squares, freedom, share := 0.0, 0, 0.0
	for i, w := range weights {
		e.Value += w * stats.Mean(samples[i])
		s, f := scatter(samples[i])
		squares, freedom, share = squares+s, freedom+f, share+w*w/float64(len(samples[i]))
	}
	if len(weights) > 0 {
		e.vary(squares/float64(max(1, freedom))*share, freedom)
	}
}

// minus returns the difference of two estimates.
func (e estimate) minus(f estimate) estimate {
	return estimate{e.Value - f.Value, e.variance + f.variance, e.over + f.over, e.unknown || f.unknown,
		e.tooLow || f.tooHigh, e.tooHigh || f.tooLow}
}

// positive and negative report whether all of the interval is, whatever a bound allows.
func (e estimate) positive() bool { return e.interval().Low > 0 && !e.tooHigh }
func (e estimate) negative() bool { return e.interval().High < 0 && !e.tooLow }

// times returns the standard error times a quantile of Student's t, with Welch's
// degrees of freedom.
func (e estimate) times(p float64) float64 {
	if e.unknown {
		return math.Inf(1)
	}
	return math.Sqrt(e.variance) * student(p, e.variance*e.variance/e.over)
}

// interval returns the estimate's, from -Inf to +Inf where it has none.
func (e estimate) interval() interval {
	half := e.times(0.975)
	return interval{e.Value - half, e.Value + half}
}

// scatter returns the sum of squared differences from the mean, and its degrees of freedom.
func scatter(x []float64) (squares float64, freedom int) {
	mean := stats.Mean(x)
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return squares, len(x) - 1
}

// bisect returns where an increasing function from low to high passes p.
func bisect(low, high, p float64, f func(float64) float64) float64 {
	for range 40 {
		if x := (low + high) / 2; f(x) < p {
			low = x
		} else {
			high = x
		}
	}
	return high
}

// student returns a quantile of Student's t, for p above a half: with t = √ν tan θ
// its distribution function is ½ + Γ((ν+1)/2) / (√π Γ(ν/2)) ∫₀^θ cos^(ν-1), here
// by Simpson's rule.
func student(p, freedom float64) float64 {
	top, _ := math.Lgamma((freedom + 1) / 2)
	bottom, _ := math.Lgamma(freedom / 2)
	factor := math.Exp(top-bottom) / math.Sqrt(math.Pi)
	θ := bisect(0, math.Pi/2, p-0.5, func(θ float64) float64 {
		const n = 32
		sum := 0.0
		for i := range n + 1 {
			weight := float64(2 + 2*(i%2))
			if i == 0 || i == n {
				weight = 1
			}
			sum += weight * math.Pow(math.Cos(θ*float64(i)/n), freedom-1)
		}
		return factor * sum * θ / (3 * n)
	})
	return math.Sqrt(freedom) * math.Tan(θ)
}

// atMost returns the chance of so many hits of n or fewer where each has the chance p.
func atMost(hits, n int, p float64) (chance float64) {
	for i := range hits + 1 {
		chance += ways(n, i) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
	}
	return chance
}

// binomialRange returns the interval of Clopper and Pearson for a share of which
// hits of n are known.
func binomialRange(hits, n int) interval {
	above := func(hits int) float64 { // the share with which hits or fewer have probability 0.025
		return bisect(0, 1, -0.025, func(p float64) float64 { return -atMost(hits, n, p) })
	}
	return interval{1 - above(n-hits), above(hits)}
}

// ways returns how many subsets of k a set of n has.
func ways(n, k int) float64 {
	w := 1.0
	for i := range k {
		w *= float64(n-i) / float64(i+1)
	}
	return w
}

// fisher returns the chance of a hits of n or more where there are b hits of m
// beside them and both have the same share: Fisher's exact test on one side.
func fisher(a, n, b, m int) (chance float64) {
	for i := a; i <= min(n, a+b); i++ {
		if a+b-i <= m {
			chance += ways(n, i) * ways(m, a+b-i) / ways(n+m, a+b)
		}
	}
	return chance
}
