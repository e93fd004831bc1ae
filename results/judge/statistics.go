package main

import (
	"fmt"
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
	Value    float64
	variance float64 // sum of the variances
	over     float64 // sum of their squares, each over its degrees of freedom
	unknown  bool    // a variance is unknown, so there is no interval

	tooLow, tooHigh bool // the value may be too low or too high, because runs are unsolved
}

// vary adds the variance of a part. A variance of 0 makes the estimate unknown, because equal
// numbers do not show how much they scatter. Rounding may leave such a variance above 0.
func (e *estimate) vary(variance float64, freedom int) {
	e.unknown = e.unknown || variance < 1e-18
	e.variance += variance
	e.over += variance * variance / float64(freedom)
}

// add adds the weighted means of samples, which share one variance.
func (e *estimate) add(weights []float64, samples [][]float64) {
	var squares, share float64
	freedom := 0
	for i, w := range weights {
		e.Value += w * stats.Mean(samples[i])
		s, f := scatter(samples[i])
		squares += s
		freedom += f
		share += w * w / float64(len(samples[i]))
	}
	if len(weights) > 0 {
		e.vary(squares/float64(max(1, freedom))*share, freedom)
	}
}

// minus returns the difference of two estimates.
func (e estimate) minus(f estimate) estimate {
	return estimate{
		Value:    e.Value - f.Value,
		variance: e.variance + f.variance,
		over:     e.over + f.over,
		unknown:  e.unknown || f.unknown,
		tooLow:   e.tooLow || f.tooHigh,
		tooHigh:  e.tooHigh || f.tooLow,
	}
}

// half returns half of the estimate.
func (e estimate) half() estimate {
	e.Value /= 2
	e.variance /= 4
	e.over /= 16
	return e
}

// positive and negative report whether the whole interval lies above 0, or below 0. An upper
// bound is never positive, and a lower bound is never negative.
func (e estimate) positive() bool { return e.interval().Low > 0 && !e.tooHigh }
func (e estimate) negative() bool { return e.interval().High < 0 && !e.tooLow }

// freedom returns Welch's degrees of freedom.
func (e estimate) freedom() float64 { return e.variance * e.variance / e.over }

// errors returns the standard error times the quantile p of Student's t.
func (e estimate) errors(p float64) float64 {
	if e.unknown {
		return math.Inf(1)
	}
	return math.Sqrt(e.variance) * student(p, e.freedom())
}

// chance returns the two-sided p-value: the chance of a value at least as far from 0 if the
// true value is 0.
func (e estimate) chance() float64 {
	if e.unknown || e.variance == 0 {
		return 1
	}
	t := math.Abs(e.Value) / math.Sqrt(e.variance)
	angle := math.Atan(t / math.Sqrt(e.freedom()))
	return 1 - 2*studentArea(angle, e.freedom())
}

// interval returns the interval of the estimate. It is from -Inf to +Inf if a variance is
// unknown.
func (e estimate) interval() interval {
	half := e.errors(0.975)
	return interval{e.Value - half, e.Value + half}
}

// show returns f of the estimate and of its interval as text.
func (e estimate) show(f func(float64) float64) string {
	if e.unknown {
		return fmt.Sprintf("%.2f", f(e.Value))
	}
	r := e.interval()
	return fmt.Sprintf("%.2f (%.2f to %.2f)", f(e.Value), f(r.Low), f(r.High))
}

// bounded returns the text of show, with ≥ or ≤ before it if the estimate is a bound.
func (e estimate) bounded(f func(float64) float64) string {
	text := e.show(f)
	switch {
	case e.tooLow && !e.tooHigh:
		return "≥ " + text
	case e.tooHigh && !e.tooLow:
		return "≤ " + text
	}
	return text
}

// takes says what it would take to show that the estimate is positive: the smallest true effect
// that these runs would have shown to be positive, with a chance of 0.8. If no effect would be
// enough, takes says why.
func (e estimate) takes(format string, f func(float64) float64) string {
	switch {
	case e.tooLow && e.tooHigh:
		return "runs are unsolved on both sides"
	case e.tooHigh:
		return "this bound cannot decide it"
	case e.unknown:
		return "there is no interval"
	}
	return fmt.Sprintf("it would take "+format, f(e.errors(0.975)+e.errors(0.8)))
}

// scatter returns the sum of squared differences from the mean, and its degrees of freedom.
func scatter(x []float64) (squares float64, freedom int) {
	mean := stats.Mean(x)
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return squares, len(x) - 1
}

// bisect returns where f, which increases from low to high, passes p.
func bisect(low, high, p float64, f func(float64) float64) float64 {
	for range 40 {
		x := (low + high) / 2
		if f(x) < p {
			low = x
		} else {
			high = x
		}
	}
	return high
}

// student returns the quantile p of Student's t, for p above a half.
func student(p, freedom float64) float64 {
	area := func(angle float64) float64 { return studentArea(angle, freedom) }
	angle := bisect(0, math.Pi/2, p-0.5, area)
	return math.Sqrt(freedom) * math.Tan(angle)
}

// studentArea returns the chance that Student's t lies between 0 and √ν tan θ, which is
// Γ((ν+1)/2) / (√π Γ(ν/2)) ∫₀^θ cos^(ν-1), by Simpson's rule.
func studentArea(θ, ν float64) float64 {
	const n = 32
	top, _ := math.Lgamma((ν + 1) / 2)
	bottom, _ := math.Lgamma(ν / 2)
	factor := math.Exp(top-bottom) / math.Sqrt(math.Pi)

	sum := 0.0
	for i := range n + 1 {
		weight := float64(2 + 2*(i%2))
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * math.Pow(math.Cos(θ*float64(i)/n), ν-1)
	}
	return factor * sum * θ / (3 * n)
}

// atMost returns the chance of at most so many hits in n tries, each with the chance p.
func atMost(hits, n int, p float64) (chance float64) {
	for i := range hits + 1 {
		chance += ways(n, i) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
	}
	return chance
}

// binomialRange returns the interval of Clopper and Pearson for a share, given hits in n tries.
func binomialRange(hits, n int) interval {
	above := func(hits int) float64 { // the share with which hits or fewer have the chance 0.025
		increasing := func(p float64) float64 { return -atMost(hits, n, p) }
		return bisect(0, 1, -0.025, increasing)
	}
	return interval{1 - above(n-hits), above(hits)}
}

// ways returns how many subsets with k members a set of n has.
func ways(n, k int) float64 {
	w := 1.0
	for i := range k {
		w *= float64(n-i) / float64(i+1)
	}
	return w
}

// fisher returns the p-value of Fisher's one-sided exact test. It is the chance of a or more hits
// in n tries if n and m tries have a+b hits in all, and each try has the same chance of a hit.
func fisher(a, n, b, m int) (chance float64) {
	for i := a; i <= min(n, a+b); i++ {
		if a+b-i <= m {
			chance += ways(n, i) * ways(m, a+b-i) / ways(n+m, a+b)
		}
	}
	return chance
}
