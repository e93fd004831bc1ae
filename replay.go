package qta

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file is section 3.3: the replay buffer, relabeling with goals achieved later
// in the same episode (HER), and prioritized experience replay (PER).

// futureStep returns the transition whose outcome, the goal achieved at its end, becomes
// the goal of transition i. This is one of the transitions i to n-1, and n-1 is the latest
// of i's episode so far. If u is uniform on [0, 1), all of them are equally likely.
//
// It implements QTA, hindsight (Section 3.3), by the strategy "future" of HER
// (Andrychowicz et al., 2017, section 4.5).
//
// Reading R31: a transition's own outcome may become its goal, too. Section 3.3 says
// "later in its trajectory", but the public codes of QTA, MEGA and VDS also allow i itself.
func futureStep(i, n int, u float64) int {
	return i + int(u*float64(n-i))
}

// relabel returns the goal that transition i is replayed with. With probability k/(k+1)
// this is the goal achieved by transition i or by a later one of its episode, else the
// goal pursued in transition i. HER has the same share: k relabeled copies to each original.
//
// Reading R121: uniform replay relabels, too, as in the authors' code. Section 3.3 describes
// relabeling only for transitions that are drawn by priority.
//
// Reading R32: the new goal is the one achieved by a later transition, as in HER. Section
// 3.3 has "the goal of a transition later in its trajectory", which could also mean the
// goal pursued there.
func (r *replay) relabel(i int, k float64, rng *rand.Rand) []float64 {
	if rng.Float64() < k/(k+1) {
		future := futureStep(i, r.episodeEnd(i), rng.Float64())
		return r.nextAchieved.at(future)
	}
	return r.goal.at(i)
}

// set gives transition j the priority p. The tree keeps p^α, a term of Equation 7,
// and the sum of all terms.
func (s *prioritizedSampler) set(j int, p float64) { s.tree.set(j, pow(p, s.α)) }

// probability returns p_j^α / Σ_j p_j^α, the probability of drawing transition
// j. Priorities p are not negative and not all zero.
//
// It implements QTA, Equation 7 (Section 3.3).
func (s *prioritizedSampler) probability(j int) float64 {
	return s.tree.values()[j] / s.tree.total()
}

// SampleProbabilities sets P to the probability of each of N transitions, given their
// priorities p. P and p have N values, and no priority is negative. α is in [0, 10], and
// the sum of the powers p^α must be neither zero nor infinite. It computes Equation 7 as
// training does, for a replay that holds just these N transitions.
func SampleProbabilities(P, p []float64, α float64) {
	s := prioritizedSampler{α: α}
	for j, v := range p {
		s.set(j, v)
	}
	for j := range p {
		P[j] = s.probability(j)
	}
}

// ImportanceWeights sets w to weights that undo the bias of drawing transitions with the
// probabilities P, all positive, from a buffer of n. w_j is (1/n · 1/P_j)^β, divided by the
// largest weight in the buffer. That weight belongs to least, the smallest positive
// probability in the buffer. If least is zero, the weights are not divided.
//
// It implements QTA, Equation 8 (Section 3.3).
//
// Differs D2: the display has 1/p_j, just after calling p a priority. Schaul et al.
// (2016, section 3.4) have the probability P(j), which undoes the bias. With the table's
// α of 1, the two forms differ by a constant factor. Division by the largest weight cancels
// this factor and leaves (p_min/p_j)^β.
func ImportanceWeights(w, P []float64, n int, β, least float64) {
	weight := func(probability float64) float64 { return pow(1/(float64(n)*probability), β) }
	largest := 1.0
	if least > 0 {
		largest = weight(least)
	}
	for j := range P {
		w[j] = weight(P[j]) / largest
	}
}

// PriorityBeta returns β at environment step t. It grows linearly from initial at t = 0
// to 1 at t = steps, and then stays 1. steps is at least 1.
//
// It implements QTA, the schedule of β (Section 3.3).
//
// Reading R36: the growth is linear, as in Schaul et al. (2016, section 3.4). Section 3.3
// has "gradually".
func PriorityBeta(t int, initial float64, steps int) float64 {
	grown := float64((1 - initial) * float64(t) / float64(steps))
	return min(1, initial+grown)
}

// A replay holds every transition of a run, also those of the running episode. Because all
// episodes have the same length, transition i belongs to episode i / horizon.
//
// Reading R30: nothing is evicted, as in the authors' code, whose buffer has room
// for a whole run; the paper names no size.
type replay struct {
	horizon int
	n       int // transitions stored

	// In the environment's units.
	observation     column // s
	achieved        column // goal achieved at s
	action          column // a
	goal            column // g pursued
	nextObservation column // s'
	nextAchieved    column // goal achieved at s'
}

// columns returns the columns in the order of the struct.
func (r *replay) columns() []*column {
	return []*column{&r.observation, &r.achieved, &r.action, &r.goal, &r.nextObservation, &r.nextAchieved}
}

func newReplay(sizes Sizes, horizon int) *replay {
	observation := column{width: sizes.Observation}
	goal := column{width: sizes.Goal}
	return &replay{
		horizon:         horizon,
		observation:     observation,
		achieved:        goal,
		action:          column{width: sizes.Action},
		goal:            goal,
		nextObservation: observation,
		nextAchieved:    goal,
	}
}

// add stores a transition. In the state with this observation and achieved goal, the agent
// took action in pursuit of goal, and arrived in the state next.
func (r *replay) add(observation, achieved, action, goal []float64, next State) {
	row := [][]float64{observation, achieved, action, goal, next.Observation, next.Achieved}
	for k, c := range r.columns() {
		c.data = append(c.data, row[k]...)
	}
	r.n++
}

// episodeEnd returns the index after the last transition of i's episode so far.
func (r *replay) episodeEnd(i int) int {
	return min((i/r.horizon+1)*r.horizon, r.n)
}

// A column holds one vector of each transition, such as its action, one after the other.
type column struct {
	data  []float64
	width int
}

// at returns the vector of transition i.
func (c *column) at(i int) []float64 { return c.data[i*c.width:][:c.width:c.width] }

// of returns the vectors of several transitions.
func (c *column) of(transitions []int) [][]float64 {
	vectors := make([][]float64, len(transitions))
	for k, i := range transitions {
		vectors[k] = c.at(i)
	}
	return vectors
}

// A sampler draws transitions to learn from.
type sampler interface {
	// draw returns the index of a transition.
	draw(rng stream) int

	// weigh sets b.w, the weights of the rows of b, which are 1 at first. step is the
	// environment step of the update.
	weigh(b *batch, step int)

	// prioritize changes the priorities of the transitions in b. It is called after the
	// critics have learned from b.
	prioritize(b *batch)

	// savedState lists what training changes in the sampler.
	savedState() savedFields
}

// uniformSampler draws every transition with the same probability.
type uniformSampler struct{ *replay }

func (s uniformSampler) draw(rng stream) int   { return rng.index(s.n) }
func (uniformSampler) weigh(*batch, int)       {}
func (uniformSampler) prioritize(*batch)       {}
func (uniformSampler) savedState() savedFields { return nil }

// prioritizedSampler is PER of section 3.3.
//
// Reading R33: a new transition gets the largest priority seen so far, as in PER's
// Algorithm 1 (Schaul et al., 2016). If this is below 1, the new transition gets 1, as in
// the authors' code.
//
// Reading R34: the transitions of a minibatch are drawn one by one, with replacement, as
// in the authors' code. Schaul et al. (2016, appendix B.2.1) divide the sum of all terms
// into equal parts, one for each row of the minibatch, and draw a transition from each part.
//
// Reading R105: two rows of a minibatch may hold the same transition with different goals.
// The transition then keeps the priority of the later row.
type prioritizedSampler struct {
	*replay
	params      *Params
	α           float64
	tree        sumTree // p^α of each transition
	prioritized int     // how many transitions, from the first on, have a priority
	largest     float64 // the largest priority so far, at least 1

	P, weights, priority []float64 // of each row of a minibatch
}

func newPrioritized(r *replay, p *Params) *prioritizedSampler {
	return &prioritizedSampler{
		replay:   r,
		params:   p,
		α:        p.PriorityAlpha,
		largest:  1,
		P:        make([]float64, p.Batch),
		weights:  make([]float64, p.Batch),
		priority: make([]float64, p.Batch),
	}
}

// draw returns a transition drawn by Equation 7.
func (s *prioritizedSampler) draw(rng stream) int {
	s.prioritizeNew()
	return s.tree.find(rng.Float64())
}

// prioritizeNew gives new transitions their first priority.
func (s *prioritizedSampler) prioritizeNew() {
	for ; s.prioritized < s.n; s.prioritized++ {
		s.set(s.prioritized, s.largest)
	}
}

// weigh sets the weights of Equation 8.
//
// Reading R2: with prioritized replay the policy and the heads learn from the critics'
// minibatch, but the weights apply only to the critics' loss.
//
// Reading R99: t in the schedule of β counts environment steps, not updates, as in the
// authors' code.
//
// Differs D28: Equation 8 as displayed does not divide the weights. We divide them by the
// largest one, as Schaul et al. do "for stability". This is the largest weight of the whole
// buffer, as in the authors' code.
func (s *prioritizedSampler) weigh(b *batch, step int) {
	for row, j := range b.transitions {
		s.P[row] = s.probability(j)
	}
	β := PriorityBeta(step, s.params.PriorityBeta, s.params.PriorityBetaSteps)
	least := s.tree.smallest() / s.tree.total()
	ImportanceWeights(s.weights, s.P, s.n, β, least)
	for row, w := range s.weights {
		b.w[row] = float32(w)
	}
}

// prioritize gives each transition in b a new priority: the uncertainty that the heads had
// about it before they learned from b.
//
// Reading R10: a priority is the heads' deviation at (s, a, g) after relabeling, as in
// the authors' code. Section 3 has the uncertainty of a state, which Equation 5 averages
// over random actions.
func (s *prioritizedSampler) prioritize(b *batch) {
	components := b.sNext.cols // of one prediction
	HeadDeviation(s.priority, b.predictions, components)
	s.setPriorities(b)
}

// setPriorities gives the transitions of a minibatch the priorities of its rows.
func (s *prioritizedSampler) setPriorities(b *batch) {
	for row, p := range s.priority {
		s.largest = max(s.largest, p)
		s.set(b.transitions[row], p)
	}
}

// savedState lists the powers p^α of all transitions. Once these have been read from a
// checkpoint, rebuildTree puts them into the tree.
func (s *prioritizedSampler) savedState() savedFields {
	s.prioritizeNew() // new transitions have their priority, too
	terms := make([]float64, s.n)
	copy(terms, s.tree.values())
	rebuildTree := func() {
		for i, term := range terms {
			s.tree.set(i, term)
		}
	}
	return savedFields{&s.largest, terms, rebuildTree}
}

// A sumTree holds a weight for each of a growing number of leaves. It draws a leaf with
// probability proportional to the leaf's weight, in logarithmic time (Schaul et al.,
// 2016, appendix B.2.1).
//
// Node 1 is the root, nodes 2i and 2i+1 are the children of node i, and the leaves are
// the last half. Each inner node is always the rounded sum of its two children. So a tree
// that is rebuilt from its leaves is the same to the bit. Leaves not yet in use weigh
// zero, which changes no sum.
type sumTree struct {
	sum   []float64 // sum[i] adds up the weights of the leaves under node i
	least []float64 // least[i] is the smallest positive weight of these leaves, or +Inf
}

// leaves returns the number of leaves there is room for.
func (t *sumTree) leaves() int { return len(t.sum) / 2 }

// values returns the weights of all leaves, including those not yet in use.
func (t *sumTree) values() []float64 { return t.sum[t.leaves():] }

// total returns the sum of all weights, and smallest the smallest positive one.
func (t *sumTree) total() float64    { return t.sum[1] }
func (t *sumTree) smallest() float64 { return t.least[1] }

// set makes room for leaf i and gives the leaf a weight, which must not be negative.
func (t *sumTree) set(i int, weight float64) {
	for i >= t.leaves() {
		t.grow()
	}
	node := t.leaves() + i
	t.sum[node] = weight
	t.least[node] = math.Inf(1)
	if weight > 0 {
		t.least[node] = weight
	}
	for node /= 2; node > 0; node /= 2 {
		t.sum[node] = t.sum[2*node] + t.sum[2*node+1]
		t.least[node] = min(t.least[2*node], t.least[2*node+1])
	}
}

// grow doubles the number of leaves.
func (t *sumTree) grow() {
	weights := t.values()
	nodes := max(2, 2*len(t.sum))
	t.sum = make([]float64, nodes)
	t.least = slices.Repeat([]float64{math.Inf(1)}, nodes)
	for i, weight := range weights {
		t.set(i, weight)
	}
}

// find lays the leaves along a line, each as long as its weight. It returns the leaf at
// the fraction u of the line, u in [0, 1). A leaf of weight zero is never found, whatever
// the rounding, unless all weigh zero.
func (t *sumTree) find(u float64) int {
	offset := float64(u * t.total()) // the distance of this place from the first leaf under node
	node := 1
	for node < t.leaves() {
		left := 2 * node
		right := left + 1
		if offset >= t.sum[left] && t.sum[right] > 0 {
			offset -= t.sum[left]
			node = right
		} else {
			node = left
		}
	}
	return node - t.leaves()
}
