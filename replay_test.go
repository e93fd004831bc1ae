package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawnFrom returns 5000 transitions that the agent's sampler draws.
func drawnFrom(a *Agent) (drawn []float64) {
	for range 5000 {
		drawn = append(drawn, float64(a.sampler.draw(a.draws)))
	}
	return drawn
}

// All twelve transitions of the three episodes are equally likely, the oldest and the newest too.
func TestDraws(t *testing.T) {
	a := threeEpisodes(t, "")
	checkDraws(t, "uniform replay", drawnFrom(a), alike(0, 12))
}

// Prioritized transitions are drawn in proportion to their priority. The priority of a new
// transition is the largest one that updates have given so far, and at least 1.
func TestPrioritizedDraws(t *testing.T) {
	for _, test := range []struct {
		given float64             // the priority that updates give, which is the heads' deviation
		want  map[float64]float64 // the probability of each transition
	}{
		{0.5, map[float64]float64{0: 3. / 5, 1: 1. / 5, 2: 1. / 5}},
		{4, map[float64]float64{0: 3. / 8, 1: 1. / 8, 2: 4. / 8}},
	} {
		heads := deviating(linear{c: test.given})
		a := linearAgent(t, linearNetworks{heads: heads}, 1, "Replay=per")
		remember(a, []float64{0, 1, 2})
		mustUpdate(t, a)
		for i, head := range deviating(linear{c: test.given / 8}) {
			a.pun.critics[i].head.load(head.head())
		}
		mustUpdate(t, a) // gives less
		priorities := prioritiesOf(a)
		priorities.set(0, 3) // set here: the largest that updates have given stays
		priorities.set(1, 1)
		remember(a, []float64{2, 3})
		what := fmt.Sprintf("priorities 3, 1 and that of a new transition, after an update has given %v", test.given)
		checkDraws(t, what, drawnFrom(a), test.want)
	}
}

// The weights of a minibatch are Equation 8 with the β of the environment step, whatever the
// number of updates (R99). Transition i has the priority i+1. The smallest priority is 1, so
// the weight is (i+1)^-β.
func TestWeights(t *testing.T) {
	const β = 0.3 + 0.7*12/20 // at step 12 of 20, on the way from 0.3 to 1
	a := threeEpisodes(t, "Replay=per PriorityBetaSteps=20")
	r := record(a)
	for range 3 {
		for i := range 12 {
			prioritiesOf(a).set(i, float64(i+1))
		}
		mustUpdate(t, a)
	}
	for n, rows := range r.minibatches {
		got := each(rows, func(row recordedRow) float64 { return row.w })
		want := each(rows, func(row recordedRow) float64 { return math.Pow(float64(row.transition+1), -β) })
		near(t, fmt.Sprintf("update %d at step 12: weights of Equation 8 with β %v", n+1, β), float32s(got), want)
	}
}

// In a minibatch four of five transitions are replayed with a goal that was achieved later in
// their episode, or by their own step. The others keep the goal that was pursued, which is -1,
// -2 or -3 in episodes 0 to 2. These transitions achieve:
//
//	transition  its own step   the last step of its episode so far
//	0           1              5
//	8           14             15
//	9           15             15
//	10          21             22
func TestReplayedGoals(t *testing.T) {
	rows := slices.Concat(minibatchesOf(t, threeEpisodes(t, "HindsightRatio=4"), 1000)...)
	for transition, want := range map[int]map[float64]float64{
		0:  {-1: 1. / 5, 1: 4. / 25, 2: 4. / 25, 3: 4. / 25, 4: 4. / 25, 5: 4. / 25},
		8:  {-2: 1. / 5, 14: 2. / 5, 15: 2. / 5},
		9:  {-2: 1. / 5, 15: 4. / 5},
		10: {-3: 1. / 5, 21: 2. / 5, 22: 2. / 5},
	} {
		var goals []float64
		for _, row := range rows {
			if row.transition == transition {
				goals = append(goals, row.g)
			}
		}
		checkDraws(t, fmt.Sprintf("goals of transition %d in hindsight", transition), goals, want)
	}
}

// randomWeights sets leaves of a tree to weights of all magnitudes, and returns the weights.
// A leaf beyond the tree's end makes it grow.
func randomWeights(rng *rand.Rand, tree *sumTree) (weights []float64) {
	extremes := []float64{0, math.SmallestNonzeroFloat64, 1e-300, 1e30}
	leaves := 1 + rng.IntN(100)
	settings := 1 + rng.IntN(1+rng.IntN(60)) // mostly few
	for range settings {
		i := rng.IntN(leaves)
		for len(weights) <= i {
			weights = append(weights, 0)
		}
		weights[i] = 1 + rng.Float64()
		if rng.IntN(4) == 0 {
			weights[i] = extremes[rng.IntN(len(extremes))]
		}
		tree.set(i, weights[i])
	}
	return weights
}

// checkFind fails unless the tree finds the right leaf for u. The leaves lie on a line, one
// after the other, each as long as its weight. The right leaf has the place at the fraction u
// of this line, and a weight that is not 0.
func checkFind(t *testing.T, tree *sumTree, weights []float64, u float64) {
	t.Helper()
	total := sum(weights)
	if total == 0 {
		return
	}
	i := tree.find(u)
	if i >= len(weights) || weights[i] == 0 {
		t.Fatalf("at %v of %v leaf %d is found, which has no weight", u, weights, i)
	}
	from := sum(weights[:i])
	to := from + weights[i]
	slack := 1e-12 * total
	if at := u * total; at < from-slack || at > to+slack {
		t.Fatalf("at %v of %v leaf %d is found, which spans %v to %v", u, weights, i, from, to)
	}
}

func sum(x []float64) (total float64) {
	for _, v := range x {
		total += v
	}
	return total
}

// FuzzSumTree compares a tree that has grown with naive sums, and bit for bit with a tree
// that is given the final weights in order.
func FuzzSumTree(f *testing.F) {
	for seed := range uint64(1000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := seeded(seed, 0)
		var tree, rebuilt sumTree
		weights := randomWeights(rng, &tree)
		least := math.Inf(1) // of the positive weights
		for i, w := range weights {
			rebuilt.set(i, w)
			if w > 0 {
				least = math.Min(least, w)
			}
		}
		total := sum(weights)
		if !(math.Abs(tree.total()-total) <= 1e-12*total) || tree.smallest() != least {
			t.Fatalf("the total is %v and the least positive weight %v, want %v and %v",
				tree.total(), tree.smallest(), total, least)
		}
		if !slices.Equal(tree.sum, rebuilt.sum) || !slices.Equal(tree.least, rebuilt.least) {
			t.Fatalf("rebuilt from %v the tree is %v, grown it is %v", weights, rebuilt, tree)
		}
		for _, u := range []float64{0, rng.Float64(), rng.Float64(), rng.Float64(), math.Nextafter(1, 0)} {
			checkFind(t, &tree, weights, u)
		}
	})
}
