package qta

import (
	"fmt"
	"math"
	"slices"
)

// This file is goals of the greatest novelty, by visit counts and by random network
// distillation: two kinds of exploration that section 2 of the paper argues against.

// visits pursues goals of the least visited cell of a grid.
//
// Reading R88: section 2 names no method of its kind. Visits count achieved
// goals in a grid of cells of side 1, as a maze's are, without any compression or
// learned similarity.
type visits struct {
	onlyGoals
	counts map[string]int // by cell
	seen   int            // transitions counted
}

func (v *visits) goal(a *Agent, first bool) ([]float64, error) {
	for ; v.seen < a.replay.n; v.seen++ {
		v.counts[cellOf(a.replay.achieved.at(v.seen))]++
	}
	return a.mostNovel(first, v.novelty), nil
}

func (v *visits) novelty(a *Agent, ν []float64, transitions []int) {
	for k, i := range transitions {
		ν[k] = -float64(v.counts[cellOf(a.replay.achieved.at(i))])
	}
}

// cellOf returns the name of the cell that a goal is in.
func cellOf(goal []float64) string {
	cell := make([]float64, len(goal))
	for i, x := range goal {
		cell[i] = math.Floor(x) + 0 // no negative zero
	}
	return fmt.Sprint(cell)
}

// mostNovel returns the most novel goal that QTA would consider, the first of
// several alike. novelty sets ν to the novelty of transitions' achieved goals.
//
// Reading R89: everything but the novelty is QTA's in [Paper], so that a
// comparison isolates it. The most novel goal is taken, without Equation 6, which
// is fitted to QTA's uncertainties.
func (a *Agent) mostNovel(first bool, novelty func(a *Agent, ν []float64, transitions []int)) []float64 {
	if a.step < a.params.InitialSteps || a.replay.n == 0 {
		return a.randomGoal()
	}
	candidates := a.drawCandidates()
	if first {
		candidates = a.achievable(candidates)
	}
	ν := make([]float64, len(candidates))
	novelty(a, ν, candidates)
	best := max(0, slices.Index(ν, slices.Max(ν))) // 0 if one is NaN
	return a.replay.achieved.at(candidates[best])
}

const (
	rndUnits = 64   // of each layer, the output included
	rndRate  = 1e-4 // Adam's step
)

// An rnd is random network distillation (RND; Burda et al., 2018) as a
// curriculum. A network learns to predict what another one, random and frozen,
// makes of the goals achieved; where it fails, it has seen little.
//
// Reading R90: RND's novelty is a reward for what was just seen. Here it chooses the
// goal, and the reward stays the environment's.
//
// Reading R91: at the episode's end the network that learns makes one update
// for each environment step, as PUN's critics do, on a minibatch of achieved goals
// drawn uniformly from the replay. Burda et al. learn only from the latest rollouts.
//
// Differs D23: networks are affine layers of 64 units, initialized as all others here
// are, where Burda et al. have convolutions, 512 units and orthogonal weights. Inputs
// are scaled by the agent's normalizer.
type rnd struct {
	onlyGoals
	target, predictor, gradient *mlp
	adam                        *adam
	frozen, learning            *pass // through target and through predictor
}

func newRND(sizes Sizes, seed uint64, w *workers) *rnd {
	frozen := []int{sizes.Goal, rndUnits, rndUnits}
	learning := []int{sizes.Goal, rndUnits, rndUnits, rndUnits, rndUnits} // deeper by two layers
	n := mlpSize(learning)
	r := &rnd{
		target:    newMLP(make([]float32, mlpSize(frozen)), frozen),
		predictor: newMLP(make([]float32, n), learning),
		gradient:  newMLP(make([]float32, n), learning),
		frozen:    newPass(frozen, w),
		learning:  newPass(learning, w),
	}
	r.adam = newAdam(r.predictor.params, r.gradient.params, rndRate, w)
	rng := newStream(seed, forNovelty)
	r.target.initialize(rng.Rand)
	r.predictor.initialize(rng.Rand)
	return r
}

func (r *rnd) goal(a *Agent, first bool) ([]float64, error) {
	return a.mostNovel(first, r.novelty), nil
}

// novelty sets ν to the squared error of what r predicts for each transition's
// achieved goal.
func (r *rnd) novelty(a *Agent, ν []float64, transitions []int) {
	f, p := r.outputs(a, transitions)
	clear(ν)
	for i := range f {
		δ := float64(p[i]) - float64(f[i])
		ν[i/rndUnits] += float64(δ * δ)
	}
}

// outputs returns what the random network and the one that learns make of the
// achieved goals x of transitions, a row of rndUnits each.
func (r *rnd) outputs(a *Agent, transitions []int) (f, p []float32) {
	x := newMatrix(len(transitions), a.sizes.Goal)
	for row, i := range transitions {
		a.goalScale.normalize(x.row(row), a.replay.achieved.at(i))
	}
	n := x.rows * rndUnits
	return r.target.infer(r.frozen, x).data[:n], r.predictor.forward(r.learning, x).data[:n]
}

// endEpisode learns from the goals achieved so far.
func (r *rnd) endEpisode(a *Agent) error {
	transitions := make([]int, a.params.Batch)
	for range a.params.Horizon {
		for row := range transitions {
			transitions[row] = a.draws.index(a.replay.n)
		}
		if err := checkFinite(a.step, "RND predictor", r.learn(a, transitions)); err != nil {
			return err
		}
	}
	return nil
}

// learn is one update, whose loss it returns.
func (r *rnd) learn(a *Agent, transitions []int) float64 {
	f, p := r.outputs(a, transitions)
	n := len(r.predictor.layers)
	loss := PredictiveLoss(r.learning.dx[n].data[:len(p)], p, f, rndUnits)
	r.predictor.backward(r.learning, r.gradient, n, false)
	r.adam.step()
	return loss
}

func (r *rnd) networks() []parameterVector {
	return []parameterVector{{"RND predictor", r.predictor.params}, {"RND target", r.target.params}}
}

// saved leaves out the random network, which the seed determines.
func (r *rnd) saved() saved { return append(r.adam.saved(), r.predictor.params) }
