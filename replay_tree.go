package qta

import "math"

// A sumTree holds a weight for each of a growing number of leaves, and draws a
// leaf with probability proportional to its weight: both in a number of steps
// that grows with the logarithm of the number of leaves. It is what makes
// Equation 7 affordable at every update (Schaul et al., 2016, appendix B.2.1).
//
// Node 1 is the root, nodes 2i and 2i+1 are the children of node i, and the
// leaves are the last half. Each inner node is always the sum of its two
// children as rounded, so that a tree rebuilt from its leaves is the same to
// the bit; leaves not yet in use weigh zero, which changes no sum.
type sumTree struct {
	sum   []float64
	least []float64 // the smallest positive weight below a node, else +Inf
}

// leaves returns the number of leaves there is room for.
func (t *sumTree) leaves() int { return len(t.sum) / 2 }

// values returns the weights of all leaves.
func (t *sumTree) values() []float64 { return t.sum[t.leaves():] }

// grow makes room for n leaves.
func (t *sumTree) grow(n int) {
	if n <= t.leaves() {
		return
	}
	size := 1
	for size < n {
		size *= 2
	}
	weights := t.values()
	*t = sumTree{make([]float64, 2*size), make([]float64, 2*size)}
	t.fill(weights)
}

// fill sets the weights of the first leaves.
func (t *sumTree) fill(weights []float64) {
	t.grow(len(weights))
	copy(t.values(), weights)
	n := t.leaves()
	for i, weight := range t.values() {
		t.least[n+i] = leastPositive(weight)
	}
	for i := n - 1; i > 0; i-- {
		t.join(i)
	}
}

// weight returns the weight of leaf i.
func (t *sumTree) weight(i int) float64 { return t.values()[i] }

// total returns the sum of all weights.
func (t *sumTree) total() float64 { return t.sum[1] }

// leastWeight returns the smallest positive weight, or +Inf.
func (t *sumTree) leastWeight() float64 { return t.least[1] }

// set changes the weight of leaf i. It is finite and not negative.
func (t *sumTree) set(i int, weight float64) { t.climb(i, weight, 1) }

// setAll changes the weights of many leaves. The nodes nearest to the root, of
// which most leaves share most, wait for all of them.
func (t *sumTree) setAll(leaves []int, weights []float64) {
	top := min(len(leaves), t.leaves())
	for k, i := range leaves {
		t.climb(i, weights[k], top)
	}
	for i := top - 1; i > 0; i-- {
		t.join(i)
	}
}

// climb sets a leaf, and the nodes above it whose number is at least top.
func (t *sumTree) climb(i int, weight float64, top int) {
	i += t.leaves()
	t.sum[i], t.least[i] = weight, leastPositive(weight)
	for i /= 2; i >= top; i /= 2 {
		t.join(i)
	}
}

func (t *sumTree) join(i int) {
	t.sum[i] = t.sum[2*i] + t.sum[2*i+1]
	t.least[i] = min(t.least[2*i], t.least[2*i+1])
}

func leastPositive(weight float64) float64 {
	if weight > 0 {
		return weight
	}
	return math.Inf(1)
}

// find returns the leaf at u of the way through the total, u in [0, 1): each
// leaf spans a stretch as long as its weight. A leaf of weight zero is never
// found, whatever the rounding, unless all weigh zero.
func (t *sumTree) find(u float64) int {
	mass := float64(u * t.total())
	i := 1
	for i < t.leaves() {
		left := t.sum[2*i]
		if i *= 2; mass >= left && t.sum[i+1] > 0 {
			mass -= left
			i++
		}
	}
	return i - t.leaves()
}
