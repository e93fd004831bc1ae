// Package statistics has the intervals and tests of a report. Chance comes from
// a generator with a fixed seed: the same runs make the same report.
package statistics

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/exp/stats"
)

// EnoughRuns is how many runs an interval takes to be worth its name: a
// percentile bootstrap of fewer is far too narrow.
const EnoughRuns = 6

// Resamples is how many a bootstrap draws.
const Resamples = 4000

// permutations is up to how many are enumerated; of more as many are drawn.
const permutations = 20000

func stream() *rand.Rand { return rand.New(rand.NewPCG(2210, 2585)) }

// An Interval is a 95 % interval.
type Interval struct{ Low, High float64 }

// A Summary describes the steps to the solution of several runs.
type Summary struct {
	N, Solved               int
	Median, Mean, Deviation float64 // the deviation is the population's, as in the paper
	IQM                     float64
	MeanRange, IQMRange     Interval
}

// Summarise describes steps, in which runs that were not solved stand with
// their budgets.
func Summarise(steps []float64, solved int) Summary {
	s := Summary{N: len(steps), Solved: solved}
	if s.N == 0 {
		return s
	}
	s.Median = stats.Median(steps)
	s.Mean, s.Deviation = stats.Mean(steps), PopulationDeviation(steps)
	s.IQM = interquartileMean(steps)
	s.MeanRange = Bootstrap(steps, stats.Mean[float64])
	s.IQMRange = Bootstrap(steps, interquartileMean)
	return s
}

// PopulationDeviation returns the standard deviation that divides by n.
func PopulationDeviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	n := float64(len(x))
	_, sample := stats.MeanAndStdDev(x)
	return sample * math.Sqrt((n-1)/n)
}

// interquartileMean returns the mean of what is left when a quarter of the
// numbers, rounded down, is dropped at either end.
func interquartileMean(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	cut := len(x) / 4
	return stats.Mean(sorted[cut : len(x)-cut])
}

// Bootstrap returns the percentile interval of a statistic.
func Bootstrap(x []float64, statistic func([]float64) float64) Interval {
	return StrataRange([]Stratum{{A: x}}, func(s []Stratum) float64 { return statistic(s[0].A) })
}

// A Stratum is two samples that are compared: in a maze, the logarithms of
// the steps of two methods.
type Stratum struct{ A, B []float64 }

// Difference returns mean B minus mean A.
func (s Stratum) Difference() float64 { return stats.Mean(s.B) - stats.Mean(s.A) }

// MeanDifference returns the mean over strata of their difference.
func MeanDifference(strata []Stratum) float64 {
	sum := 0.0
	for _, s := range strata {
		sum += s.Difference()
	}
	return sum / float64(len(strata))
}

// StrataRange returns the percentile interval of a statistic, from resamples
// within each sample.
func StrataRange(strata []Stratum, statistic func([]Stratum) float64) Interval {
	rng := stream()
	resample := func(sample, x []float64) {
		for k := range sample {
			sample[k] = x[int(rng.Float64()*float64(len(x)))]
		}
	}
	sample := make([]Stratum, len(strata))
	for i, s := range strata {
		sample[i] = Stratum{make([]float64, len(s.A)), make([]float64, len(s.B))}
	}
	values := make([]float64, Resamples)
	for k := range values {
		for i, s := range strata {
			resample(sample[i].A, s.A)
			resample(sample[i].B, s.B)
		}
		values[k] = statistic(sample)
	}
	q := stats.Quantiles(values, 0.025, 0.975)
	return Interval{q[0], q[1]}
}

// A PermutationTest is the result of an unpaired two-sided permutation test of
// MeanDifference: labels are exchanged within each stratum.
type PermutationTest struct {
	P        float64
	Smallest float64 // what p can be at best with samples of these sizes
	exact    bool    // all permutations were counted
}

// Permutation makes that test.
func Permutation(strata []Stratum) PermutationTest {
	observed := math.Abs(MeanDifference(strata)) * float64(len(strata))
	reaches := func(d float64) bool { return math.Abs(d) >= observed-1e-9*max(1, observed) }

	all, equal := 1.0, true
	for _, s := range strata {
		all *= choose(len(s.A)+len(s.B), len(s.A))
		equal = equal && len(s.A) == len(s.B)
	}
	smallest := 1 / all
	if equal {
		smallest = min(1, 2/all) // exchanging the two samples everywhere is as extreme
	}
	if all <= permutations {
		sums := []float64{0}
		for _, s := range strata {
			var next []float64
			for _, d := range splits(s) {
				for _, sum := range sums {
					next = append(next, sum+d)
				}
			}
			sums = next
		}
		hits := 0
		for _, d := range sums {
			if reaches(d) {
				hits++
			}
		}
		return PermutationTest{float64(hits) / float64(len(sums)), smallest, true}
	}

	rng := stream()
	pools := make([][]float64, len(strata))
	for i, s := range strata {
		pools[i] = slices.Concat(s.A, s.B)
	}
	hits := 1 // the observed one
	for range permutations - 1 {
		d := 0.0
		for i, s := range strata {
			pool, n := pools[i], len(s.A)
			for k := range n {
				j := k + int(rng.Float64()*float64(len(pool)-k))
				pool[k], pool[j] = pool[j], pool[k]
			}
			d += Stratum{pool[:n], pool[n:]}.Difference()
		}
		if reaches(d) {
			hits++
		}
	}
	return PermutationTest{float64(hits) / permutations, max(smallest, 1.0/permutations), false}
}

// splits returns the difference for every way to divide a stratum's numbers
// into samples of its sizes.
func splits(s Stratum) []float64 {
	pool := slices.Concat(s.A, s.B)
	total := 0.0
	for _, x := range pool {
		total += x
	}
	n, m := len(s.A), len(s.B)
	var differences []float64
	var take func(from, left int, sum float64)
	take = func(from, left int, sum float64) {
		if left == 0 {
			differences = append(differences, (total-sum)/float64(m)-sum/float64(n))
			return
		}
		for i := from; i <= len(pool)-left; i++ {
			take(i+1, left-1, sum+pool[i])
		}
	}
	take(0, n, 0)
	return differences
}

// choose returns n over k.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// BinomialRange returns the interval of Clopper and Pearson for a share of
// which hits of n are known.
func BinomialRange(hits, n int) Interval {
	atMost := func(k int, p float64) float64 {
		sum := 0.0
		for i := 0; i <= k; i++ {
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

// Slope returns the slope of the least squares line through (x, y).
func Slope(x, y []float64) float64 {
	xx, _, xy := products(x, y)
	return xy / xx
}

// Correlation returns Pearson's coefficient, 0 where one of x and y does not
// vary.
func Correlation(x, y []float64) float64 {
	xx, yy, xy := products(x, y)
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// products returns the sums of the products of the distances from the means.
func products(x, y []float64) (xx, yy, xy float64) {
	mx, my := stats.Mean(x), stats.Mean(y)
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+float64(dx*dx), yy+float64(dy*dy), xy+float64(dx*dy)
	}
	return xx, yy, xy
}

// SignTest returns the two-sided p of as many positive numbers of n.
func SignTest(positive, n int) float64 {
	tail := 0.0
	for i := 0; i <= min(positive, n-positive); i++ {
		tail += choose(n, i)
	}
	return min(1, 2*tail/math.Pow(2, float64(n)))
}
