package qta

import "math/rand/v2"

// This file is the replay buffer: transitions in the order they happened,
// relabelling with goals achieved later in the same episode (HER, section
// 3.3), and the formulas of prioritised experience replay, Equations 7 and 8.

// A replay holds every transition of a run. Transition i belongs to episode i /
// horizon: episodes have a fixed length, and the running one takes part as it
// grows.
//
// Reading: nothing is evicted, as in the authors' code, whose buffer has room
// for a whole run; the paper names no size.
type replay struct {
	sizes   Sizes
	horizon int
	n       int // transitions stored

	// One row per transition, in the environment's units.
	observation     []float64 // s
	achieved        []float64 // goal achieved at s
	action          []float64 // a
	goal            []float64 // g pursued
	desired         []float64 // the environment's goal
	nextObservation []float64 // s'
	nextAchieved    []float64 // goal achieved at s'

	// The weight p^α of each transition, with prioritised replay.
	prioritised bool
	weights     sumTree
}

func newReplay(sizes Sizes, horizon int) *replay {
	return &replay{sizes: sizes, horizon: horizon}
}

// grow makes room for capacity transitions in all.
func (b *replay) grow(capacity int) {
	for _, c := range b.columns() {
		if need := capacity * c.width; need > cap(*c.data) {
			grown := make([]float64, len(*c.data), need)
			copy(grown, *c.data)
			*c.data = grown
		}
	}
}

// A column is one kind of vector of all transitions.
type column struct {
	data  *[]float64
	width int
}

func (b *replay) columns() []column {
	return []column{
		{&b.observation, b.sizes.Observation},
		{&b.achieved, b.sizes.Goal},
		{&b.action, b.sizes.Action},
		{&b.goal, b.sizes.Goal},
		{&b.desired, b.sizes.Goal},
		{&b.nextObservation, b.sizes.Observation},
		{&b.nextAchieved, b.sizes.Goal},
	}
}

// add stores a transition: from the state s by action a, in pursuit of goal,
// to the state next.
func (b *replay) add(observation, achieved, action, goal []float64, next State) {
	b.observation = append(b.observation, observation...)
	b.achieved = append(b.achieved, achieved...)
	b.action = append(b.action, action...)
	b.goal = append(b.goal, goal...)
	b.desired = append(b.desired, next.Desired...)
	b.nextObservation = append(b.nextObservation, next.Observation...)
	b.nextAchieved = append(b.nextAchieved, next.Achieved...)
	b.n++
}

// setWeight changes the weight that prioritised replay draws transition i with.
func (b *replay) setWeight(i int, weight float64) {
	if i >= b.weights.leaves() {
		b.weights.grow(i + 1)
	}
	b.weights.set(i, weight)
}

// at returns vector i of a column.
func at(data []float64, i, width int) []float64 { return data[i*width:][:width:width] }

// episodeEnd returns the index after the last transition of i's episode so far.
func (b *replay) episodeEnd(i int) int {
	return min((i/b.horizon+1)*b.horizon, b.n)
}

// drawByEpisode draws an episode, all alike, and then one of its transitions:
// those of a running episode are the likelier for being fewer.
func (b *replay) drawByEpisode(rng stream) int {
	first := rng.index((b.n+b.horizon-1)/b.horizon) * b.horizon
	return first + rng.index(b.episodeEnd(first)-first)
}

// futureStep returns the step whose achieved goal a transition i is relabelled
// with, given u uniform on [0, 1): one of i to n-1, where n is the length of
// i's trajectory so far, all alike.
//
// It implements QTA, hindsight (Section 3.3), by the strategy "future" of HER
// (Andrychowicz et al., 2017, section 4.5).
//
// Reading: a transition's own outcome, i itself, is among them; section 3.3
// says "later in its trajectory", and the public codes include it.
func futureStep(i, n int, u float64) int {
	return i + int(u*float64(n-i))
}

// draw returns the goal that transition i is replayed with: with probability
// k/(k+1) one achieved later in its episode, else its own.
//
// Reading: it is the goal achieved at a later transition, as in HER; section 3.3
// has "the goal of a transition later in its trajectory", which could be the one
// pursued there.
func (b *replay) draw(i int, k float64, rng *rand.Rand) []float64 {
	if rng.Float64() < k/(k+1) {
		future := futureStep(i, b.episodeEnd(i), rng.Float64())
		return at(b.nextAchieved, future, b.sizes.Goal)
	}
	return at(b.goal, i, b.sizes.Goal)
}

// SampleProbabilities sets P, of N values, to the probability that prioritised
// replay draws each transition with: p_j^α / Σ_j p_j^α. Priorities p are not
// negative and not all zero; α is in [0, 10].
//
// It implements QTA, Equation 7 (Section 3.3).
//
// Reading: a new transition, whose priority is not known yet, takes the
// largest one seen so far, as in PER's Algorithm 1 (Schaul et al., 2016), and at
// least 1, which is the rule of the authors' code: where deviations stay below
// 1, it puts what no update has seen before all else.
//
// Reading: the transitions of a minibatch are drawn one by one, with
// replacement, as in the authors' code; Schaul et al. (2016, appendix B.2.1)
// draw one from each of as many equal parts of the sum.
func SampleProbabilities(P, p []float64, α float64) {
	sum := 0.0
	for j := range p {
		P[j] = pow(p[j], α)
		sum += P[j]
	}
	for j := range P {
		P[j] /= sum
	}
}

// ImportanceWeights sets w to the weights that undo the bias of drawing
// transitions with probabilities P from n: w_j = (1/n · 1/P_j)^β, divided by
// the largest weight in the buffer, which is that of the smallest probability
// in it, least. With least zero nothing is divided.
//
// It implements QTA, Equation 8 (Section 3.3).
//
// Differs: the display has 1/p_j, two lines after calling p a priority; Schaul
// et al. (2016, section 3.4) have the probability P(j), without which the
// weights would not undo the bias. It has no effect in training: divided by the
// largest weight, both are (p_min/p_j)^β with the table's α of 1.
//
// Reading: weights are divided by their maximum, as Schaul et al. do "for
// stability"; the maximum is over the whole buffer, as in the authors' code,
// so that a weight does not depend on what else was drawn.
func ImportanceWeights(w, P []float64, n int, β, least float64) {
	largest := 1.0
	if least > 0 {
		largest = importance(least, n, β)
	}
	for j := range P {
		w[j] = importance(P[j], n, β) / largest
	}
}

// importance sets w to the weights of transitions that prioritised replay has
// drawn, and P to the probabilities that it draws them with.
//
// It is part of QTA, Equation 8.
func (b *replay) importance(w, P []float64, transitions []int, β float64) {
	tree := &b.weights
	for row, i := range transitions {
		P[row] = tree.weight(i) / tree.total()
	}
	ImportanceWeights(w, P, b.n, β, tree.leastWeight()/tree.total())
}

func importance(P float64, n int, β float64) float64 {
	return pow(1/(float64(n)*P), β)
}

// PriorityBeta returns β at environment step t: from initial at step 0 to 1 at
// step steps, linearly, and 1 from there on.
//
// It implements QTA, the schedule of β (Section 3.3).
//
// Reading: it is linear, as in Schaul et al. (2016, section 3.4); section 3.3
// has "gradually".
func PriorityBeta(t int, initial float64, steps int) float64 {
	return min(1, initial+float64((1-initial)*float64(t)/float64(steps)))
}
