package qta

import (
	"math"
	"math/rand/v2"
)

// This file has functions of float64, and random numbers. Each purpose of random numbers
// has a generator of its own; all generators come from one seed.

// Some functions of package math are not exactly rounded. They have assembly on some
// architectures and fused operations on others, so that their last bits depend on the
// machine. The functions below use only operations that IEEE 754 rounds in one way. A
// product is converted to float64 before it is added, which forbids the compiler to fuse
// product and sum, even across statements. TestNumberError compares the functions with
// package math's, and allows an ulp or two more than the bounds in their comments.

// ln2Hi and ln2Lo are two parts of ln 2. The first has 28 bits, so that its product with
// an exponent of a float64 is exact.
const (
	ln2Hi = 0x1.62e42fep-1
	ln2Lo = math.Ln2 - ln2Hi
)

// expParts returns k and p with e^x = 2^k (1 + p) and |p| < 0.42, where
// |x| < 1000. For |x| < 0.34, k is 0 and p is e^x - 1 to full precision.
func expParts(x float64) (k int, p float64) {
	n := math.Floor(float64(x*math.Log2E) + 0.5)
	hi := x - float64(n*ln2Hi)
	lo := float64(n * ln2Lo)
	r := hi - lo
	rest := (hi - r) - lo // what rounding took from r

	// e^r = 1 + r + r² q(r), by Taylor's series: the first term left out,
	// r^14/14!, is below 5e-18. Even and odd powers are two chains, which a
	// processor computes side by side.
	z := float64(r * r)
	even := 1.0 / 479001600
	even = float64(even*z) + 1.0/3628800
	even = float64(even*z) + 1.0/40320
	even = float64(even*z) + 1.0/720
	even = float64(even*z) + 1.0/24
	even = float64(even*z) + 1.0/2
	odd := 1.0 / 6227020800
	odd = float64(odd*z) + 1.0/39916800
	odd = float64(odd*z) + 1.0/362880
	odd = float64(odd*z) + 1.0/5040
	odd = float64(odd*z) + 1.0/120
	odd = float64(odd*z) + 1.0/6
	q := even + float64(odd*r)
	return int(n), r + (rest + float64(z*q))
}

// exp returns e^x, within 1 ulp.
func exp(x float64) float64 {
	if !(x > -746 && x < 710) {
		return math.Exp(x) // 0, +Inf or NaN, exact everywhere
	}
	k, p := expParts(x)
	return math.Ldexp(1+p, k)
}

// tanh returns the hyperbolic tangent of x, within 3 ulp: t / (t + 2) with
// t = e^(2|x|) - 1. From 20 on it is 1 to within half an ulp.
func tanh(x float64) float64 {
	a := math.Abs(x)
	if a > 20 {
		return math.Copysign(1, x)
	}
	k, p := expParts(float64(2 * a))                // e^(2a) = 2^k (1 + p)
	s := math.Float64frombits(uint64(1023+k) << 52) // 2^k
	t := float64(s*p) + (s - 1)                     // 2^k (1 + p) - 1
	return math.Copysign(t/(t+2), x)
}

// tanh32 is tanh rounded to float32, for loops over float32 values.
//
// It is not inlined, because that would slow down a caller's loop on amd64. There the
// conversion to float64 overwrites only a part of a register. In a loop this register
// would still hold the result for the previous value, and the processor would wait for
// that result.
//
//go:noinline
func tanh32(x float32) float32 { return float32(tanh(float64(x))) }

// log returns the natural logarithm of x, within 1 ulp.
func log(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return math.Log(x) // -Inf, +Inf or NaN, exact everywhere
	}
	f, k := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f = float64(2 * f)
		k--
	}
	n := float64(k)
	return float64(n*ln2Hi) + log1p(f-1, float64(n*ln2Lo))
}

// log1p returns log(1 + f) + c for sqrt(1/2) <= 1 + f <= sqrt(2) and a small c.
func log1p(f, c float64) float64 {
	// log(1 + f) = 2 atanh(s) = 2s + s r, with s = f/(2 + f) and r = 2s²/3 + 2s⁴/5 + ...
	// If h is f²/2, then 2s is f - h + s h, and the sum is f - h + s (h + r). In this form
	// the rounding of s affects only a small term.
	s := f / (2 + f)
	z := float64(s * s)
	r := 2.0 / 23
	for d := 21.0; d > 2; d -= 2 {
		r = float64(r*z) + 2/d
	}
	r = float64(r * z)
	h := float64(float64(0.5*f) * f)
	return f - (h - (float64(s*(h+r)) + c))
}

// pow returns x to the power y for x >= 0. x^0 is 1 and x^1 is x; elsewhere the
// relative error is below (2 + 3 |y log x|) 2^-53.
func pow(x, y float64) float64 {
	switch y {
	case 0:
		return 1
	case 1:
		return x
	}
	return exp(float64(y * log(x)))
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return x-x == 0 }

// These constants say what a random number is for. The random numbers of a seed depend on
// the constants' values, so new constants go to the end. To get other random numbers at
// each environment step, a caller adds 256 times the step.
const (
	forInitialization = iota
	forExploration
	forEnvironment
	forReplay
	forLearning
	forGoals
	forEvaluation
	forSurvey
	forMasks   // for Uncertainty bootstrap
	forMembers // for Curriculum vds
)

// stream is the generator of one purpose. pcg is its whole state.
type stream struct {
	*rand.Rand
	pcg *rand.PCG
}

func newStream(seed, purpose uint64) stream {
	// The seed is mixed into both halves of the state. In PCG the low half does not depend
	// on the high one, so generators that begin with equal low halves keep them equal.
	pcg := rand.NewPCG(mix(seed), mix(mix(seed)+purpose))
	return stream{rand.New(pcg), pcg}
}

// mix is a bijection under which close numbers become unlike: one step of
// SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// index draws from 0 to n-1, for n from 1 to 2^53. IntN would consume different random
// bits where int has 32 bits.
func (s stream) index(n int) int { return int(s.Float64() * float64(n)) }

// symmetric draws uniformly from -1 to 1, 1 excluded. rng.Float64 ends in a division by a
// power of two, which may be compiled to a product. So its result is converted to float64,
// too, which forbids fusing.
func symmetric(rng *rand.Rand) float64 {
	return float64(2*float64(rng.Float64())) - 1
}

// normal draws from the standard normal distribution by Marsaglia's polar method. It
// drops the method's second value, so that rng is the whole state.
func normal(rng *rand.Rand) float64 {
	for {
		u := symmetric(rng)
		v := symmetric(rng)
		s := float64(u*u) + float64(v*v)
		if 0 < s && s < 1 {
			return float64(u * math.Sqrt(-2*log(s)/s))
		}
	}
}
