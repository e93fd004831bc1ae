package qta

import (
	"math"
	"math/rand/v2"
)

// This file is chance: a generator for each purpose, all of one seed, and the
// draws from them.

// purpose names what a random number is for.
type purpose uint64

// The values are part of what a seed means: new ones go to the end.
const (
	forInitialisation purpose = iota
	forExploration
	forEnvironment
	forReplay
	forLearning
	forGoals
	forEvaluation
	forSurvey
	forMasks
	forMembers
	forNovelty
)

// stream is the generator of one purpose. pcg is its whole state.
type stream struct {
	*rand.Rand
	pcg *rand.PCG
}

func newStream(seed uint64, p purpose) stream {
	// Mixed, because PCG states that start with an equal half keep it equal.
	pcg := rand.NewPCG(mix(seed), mix(mix(seed)+uint64(p)))
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

// index draws from 0 to n-1, n at most 2^53. IntN would take another number of
// bits where int has 32.
func (s stream) index(n int) int {
	if n <= 0 {
		panic("qta: index of an empty range")
	}
	return int(s.Float64() * float64(n))
}

// symmetric draws uniformly from -1 to 1, 1 excluded.
func symmetric(rng *rand.Rand) float64 {
	return float64(2*float64(rng.Float64())) - 1
}

// normal draws from the standard normal distribution by Marsaglia's polar
// method. The second value that it yields is dropped: rng has all the state.
func normal(rng *rand.Rand) float64 {
	for {
		// Float64 ends in a product by 2^-53, hence the inner conversions.
		u, v := symmetric(rng), symmetric(rng)
		if s := float64(u*u) + float64(v*v); 0 < s && s < 1 {
			return float64(u * math.Sqrt(-2*log(s)/s))
		}
	}
}
