package qta

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEquation7 has exact values. It tests QTA, Equation 7.
func TestEquation7(t *testing.T) {
	for _, test := range []struct {
		p    []float64
		α    float64
		want []float64
	}{
		{[]float64{1, 3}, 1, []float64{0.25, 0.75}},
		{[]float64{1, 3}, 0, []float64{0.5, 0.5}},
		{[]float64{1, 2, 0}, 2, []float64{0.2, 0.8, 0}},
		{[]float64{4, 16, 25}, 0.5, []float64{2. / 11, 4. / 11, 5. / 11}},
		{[]float64{7}, 0.6, []float64{1}},
	} {
		P := make([]float64, len(test.p))
		SampleProbabilities(P, test.p, test.α)
		if diff := cmp.Diff(test.want, P, approximately); diff != "" {
			t.Errorf("Equation 7: priorities %v, α %v (-want +got):\n%s", test.p, test.α, diff)
		}
	}
}

var approximately = cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*(1+math.Abs(x)) })

// TestEquation8 has exact values. It tests QTA, Equation 8.
func TestEquation8(t *testing.T) {
	for _, test := range []struct {
		P        []float64
		n        int
		β, least float64
		want     []float64
	}{
		{[]float64{0.5, 0.125}, 4, 1, 0, []float64{0.5, 2}},
		{[]float64{0.5, 0.125}, 4, 1, 0.125, []float64{0.25, 1}},
		{[]float64{0.5, 0.125}, 4, 0.5, 0.0625, []float64{math.Sqrt(0.125), math.Sqrt(0.5)}},
		{[]float64{0.5, 0.125}, 4, 0, 0.125, []float64{1, 1}},
	} {
		w := make([]float64, len(test.P))
		ImportanceWeights(w, test.P, test.n, test.β, test.least)
		if diff := cmp.Diff(test.want, w, approximately); diff != "" {
			t.Errorf("Equation 8: P %v, n %d, β %v, least %v (-want +got):\n%s", test.P, test.n, test.β, test.least, diff)
		}
	}
}

// β is linear between its two ends; the authors' code adds t/2e5. It tests QTA, the schedule of β.
func TestBeta(t *testing.T) {
	for _, test := range []struct {
		p    Params
		t    int
		want float64
	}{
		{Paper(), 0, 0.3}, {Paper(), 100_000, 0.65}, {Paper(), 200_000, 1}, {Paper(), 10_000_000, 1},
		{Authors(), 0, 0.3}, {Authors(), 70_000, 0.65}, {Authors(), 139_999, 0.3 + 139_999/2e5}, {Authors(), 150_000, 1},
	} {
		if got := PriorityBeta(test.t, test.p.PriorityBeta, test.p.PriorityBetaSteps); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("the schedule of β: β at step %d is %v, want %v", test.t, got, test.want)
		}
	}
}

var numberedSizes = Sizes{Observation: 2, Goal: 1, Action: 3}

// numberedReplay returns a replay of n transitions. Transition i led from a place
// where i-1 was achieved to one where i was, in pursuit of goal -1-i, where the
// environment desired 1000 + i.
func numberedReplay(n, horizon int) *replay {
	b := newReplay(numberedSizes, horizon)
	for i := range n {
		x := float64(i)
		next := State{Observation: []float64{x + 1, x + 1}, Achieved: []float64{x}, Desired: []float64{1000 + x}}
		b.add([]float64{x, x}, []float64{x - 1}, []float64{x, x, x}, []float64{-1 - x}, next)
	}
	return b
}

// Every transition can be drawn, the oldest and the newest too, in proportion to its
// priority where it has one, at first the largest so far and at least 1.
func TestDraws(t *testing.T) {
	for _, changes := range []string{"Replay=uniform", "Replay=per"} {
		a, _ := walked(t, changed("", tinyPreset(Paper()), changes).Params, 7)
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

// The memory of the replay is about that of the transitions stored, and it
// seldom moves.
func TestReplayGrows(t *testing.T) {
	const n, row = 50_000, 8 * (2 + 1 + 3 + 1 + 2 + 1 + 1)
	b, moved := newReplay(Sizes{2, 1, 3}, 10), 0
	s := State{Observation: []float64{0, 0}, Achieved: []float64{0}, Desired: []float64{0}}
	got := allocated(func() {
		for range n {
			room := cap(b.action.data)
			if b.add(s.Observation, s.Achieved, []float64{0, 0, 0}, s.Desired, s); cap(b.action.data) != room {
				moved++
			}
		}
	})
	if most := uint64(8 * n * row); got > most || moved > 60 {
		t.Errorf("%d transitions: %d bytes allocated, want at most %d; moved %d times", n, got, most, moved)
	}
	if b = numberedReplay(7, 5); !slices.Equal(b.action.at(6), []float64{6, 6, 6}) || cap(b.action.at(6)) != 3 {
		t.Errorf("action 6 is %v", b.action.at(6))
	}
}

// With u just below 1 the last step of the trajectory is drawn, and no later. It
// tests QTA, hindsight.
func TestHindsight(t *testing.T) {
	for n := 1; n < 60; n++ {
		for i := range n {
			if first, last := futureStep(i, n, 0), futureStep(i, n, math.Nextafter(1, 0)); first != i || last != n-1 {
				t.Errorf("hindsight: futureStep(%d, %d, u) goes from %d to %d", i, n, first, last)
			}
		}
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
