package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every transition can be drawn, the oldest and the newest too, in proportion to its
// priority where it has one, at first the largest so far and at least 1.
func TestDraws(t *testing.T) {
	for _, changes := range []string{"Replay=uniform", "Replay=per"} {
		a, _ := walked(t, tiny(Paper(), changes), 7)
		chances, drawn := map[float64]float64{}, tally{}
		for n := 7; n <= 9; n++ { // and when there are more
			for i := range n {
				if chances[float64(i)] = 1 / float64(n); a.params.Replay == "per" {
					p := 1.0 // of the newest
					if i < n-1 {
						p = float64(2 + i)
						prioritiesOf(a).set(i, p)
					}
					chances[float64(i)] = p / float64(n*(n+1)/2)
				}
			}
			for range 2000 {
				drawn.add(t, changes, float64(a.sampler.draw(a.draws)), chances)
			}
			a.replay.add(a.observation, a.achieved, a.replay.action.at(0), a.goal, a.State())
		}
		drawn.check(t, changes)
	}
}

// FuzzSumTree sets leaves in any order, so that the tree grows, to weights of all
// magnitudes, and holds it to naive sums, and bit for bit to a tree that is built at
// once. A leaf is found where the weights before it end, and never without weight.
func FuzzSumTree(f *testing.F) {
	for seed := range uint64(1000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var tree, rebuilt sumTree
		var weights []float64
		rng := rand.New(rand.NewPCG(seed, 0))
		largest := 1 + rng.IntN(100)
		for range 1 + rng.IntN(1+rng.IntN(60)) {
			i := rng.IntN(largest)
			for len(weights) <= i {
				weights = append(weights, 0)
			}
			extremes := []float64{0, math.SmallestNonzeroFloat64, 1e-300, 1e30}
			if weights[i] = 1 + rng.Float64(); rng.IntN(4) == 0 {
				weights[i] = extremes[rng.IntN(len(extremes))]
			}
			tree.set(i, weights[i])
		}
		total, least := 0.0, math.Inf(1)
		for i, w := range weights {
			rebuilt.set(i, w)
			total += w
			if w > 0 {
				least = math.Min(least, w)
			}
		}
		slack := 1e-12 * total
		if d := math.Abs(tree.sum[1] - total); !(d <= slack) || tree.least[1] != least {
			t.Fatalf("the total is %v and the least weight %v, want %v and %v", tree.sum[1], tree.least[1], total, least)
		}
		if !slices.Equal(tree.sum, rebuilt.sum) || !slices.Equal(tree.least[1:], rebuilt.least[1:]) {
			t.Fatalf("rebuilt from %v the tree is %v, grown it is %v", weights, rebuilt, tree)
		}
		for _, u := range []float64{0, rng.Float64(), rng.Float64(), rng.Float64(), math.Nextafter(1, 0)} {
			i, before := tree.find(u), 0.0
			for _, w := range weights[:min(i, len(weights))] {
				before += w
			}
			at, weight := u*total, tree.values()[i]
			if total > 0 && (weight == 0 || at < before-slack || at > before+weight+slack) {
				t.Fatalf("at %v of %v leaf %d is found, which spans %v to %v", u, weights, i, before, before+weight)
			}
		}
	})
}
