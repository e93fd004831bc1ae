package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// holdSumTree holds a tree to its leaves' weights: by naive sums, and bit for
// bit by a tree that is built from them at once.
func holdSumTree(t *testing.T, tree *sumTree, weights []float64, rng *rand.Rand) {
	t.Helper()
	total, least := 0.0, math.Inf(1)
	for i, w := range weights {
		total += w
		if w > 0 {
			least = math.Min(least, w)
		}
		if tree.weight(i) != w {
			t.Fatalf("leaf %d weighs %v, want %v", i, tree.weight(i), w)
		}
	}
	slack := 1e-12 * total
	if d := math.Abs(tree.total() - total); !(d <= slack) {
		t.Fatalf("the total is %v, want %v", tree.total(), total)
	}
	if tree.leastWeight() != least {
		t.Fatalf("the least weight is %v, want %v", tree.leastWeight(), least)
	}
	var rebuilt sumTree
	rebuilt.fill(weights)
	if !slices.Equal(tree.sum, rebuilt.sum) || !slices.Equal(tree.least[1:], rebuilt.least[1:]) {
		t.Fatalf("rebuilt from %v the tree is %v, grown it is %v", weights, rebuilt, tree)
	}
	if total == 0 {
		return
	}
	for _, u := range []float64{0, rng.Float64(), rng.Float64(), rng.Float64(), math.Nextafter(1, 0)} {
		i := tree.find(u)
		if i >= len(weights) || weights[i] == 0 {
			t.Fatalf("at %v of %v leaf %d is found, which weighs nothing", u, weights, i)
		}
		before := 0.0
		for _, w := range weights[:i] {
			before += w
		}
		if at := u * total; at < before-slack || at > before+weights[i]+slack {
			t.Fatalf("at %v of %v leaf %d is found, which spans %v to %v", u, weights, i, before, before+weights[i])
		}
	}
}

// FuzzSumTree sets leaves in any order, so that the tree grows, to weights of
// all magnitudes. Two bytes are one leaf and its weight.
func FuzzSumTree(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		program := make([]byte, 2*int(rng.Float64()*60))
		largest := 1 + int(rng.Float64()*100)
		for i := range program {
			program[i] = byte(rng.Uint64())
			if i%2 == 0 {
				program[i] %= byte(largest)
			}
		}
		f.Add(program)
	}
	f.Add([]byte{3, 255, 1, 1, 3, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		var tree sumTree
		var weights []float64
		rng := rand.New(rand.NewPCG(2, 0))
		for ; len(program) >= 2; program = program[2:] {
			i, code := int(program[0]), int(program[1])
			w := 0.0
			if code%4 > 0 {
				// Mostly of one magnitude, and now and then the smallest or a
				// huge one.
				w = 1 + rng.Float64()
				switch code {
				case 253:
					w = math.SmallestNonzeroFloat64
				case 254:
					w = 1e-300
				case 255:
					w = 1e30
				}
			}
			for len(weights) <= i {
				weights = append(weights, 0)
			}
			weights[i] = w
			tree.grow(len(weights))
			tree.set(i, w)
			holdSumTree(t, &tree, weights, rng)
		}
	})
}

// Leaves are drawn as often as their weights say.
func TestSumTreeDraws(t *testing.T) {
	const draws = 40000
	weights := []float64{0, 1, 0, 0, 3, 2.5, 0, 0.5, 1, 0, 0}
	var tree sumTree
	tree.fill(weights)
	counts := make([]int, tree.leaves())
	rng := rand.New(rand.NewPCG(3, 0))
	for range draws {
		counts[tree.find(rng.Float64())]++
	}
	for i, c := range counts {
		p := 0.0
		if i < len(weights) {
			p = weights[i] / 8
		}
		if d := math.Abs(float64(c) - draws*p); d > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("leaf %d drawn %d times of %d, its weight is %v of 8", i, c, draws, 8*p)
		}
	}
}
