package qta

// This file is the novelty of random network distillation, RND (Burda et al.,
// 2018), as a curriculum, which section 2 of the paper argues against and does
// not run. A network learns to predict what another one, random and frozen,
// makes of the goals achieved; where it fails, it has seen little.

const (
	rndUnits = 64   // of each layer, the output included
	rndRate  = 1e-4 // Adam's step
)

// An rnd is a curriculum of goals of the greatest novelty.
//
// Reading R90: RND's novelty is a reward for what was just seen; as a
// curriculum it says which goal is pursued, and the reward stays the
// environment's. The novelty is an achieved goal's, as in the paper's
// curricula.
//
// Reading R91: at the episode's end the network that learns makes one update
// for each environment step, on a minibatch of achieved goals drawn uniformly
// from the replay: as often as PUN's critics, if these make one update a step.
// Burda et al. learn only from the latest rollouts.
//
// Differs D23: networks are of plain affine layers of 64 units and start as all
// others here do, where Burda et al. have images, convolutions, 512 units and
// orthogonal weights. Inputs are scaled by the agent's normalizer, and clipped
// at 5 as theirs.
type rnd struct {
	plain
	target, predictor, gradient *mlp
	adam                        *adam
	frozen, learning            *pass  // through target and through predictor
	x                           matrix // memory for a minibatch of goals
}

func newRND(sizes Sizes, seed uint64, w *workers) *rnd {
	frozen := []int{sizes.Goal, rndUnits, rndUnits}
	learning := []int{sizes.Goal, rndUnits, rndUnits, rndUnits, rndUnits} // deeper by two layers
	n := mlpSize(learning)
	r := &rnd{
		target:    newMLP(make([]float32, mlpSize(frozen)), frozen),
		predictor: newMLP(make([]float32, n), learning),
		gradient:  newMLP(make([]float32, n), learning),
		adam:      newAdam(n, rndRate, w),
		frozen:    newPass(frozen, w),
		learning:  newPass(learning, w),
	}
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
	for lo := 0; lo < len(ν); lo += a.params.Batch {
		hi := min(lo+a.params.Batch, len(ν))
		f, p := r.outputs(a, transitions[lo:hi])
		clear(ν[lo:hi])
		for i := range f {
			δ := float64(p[i]) - float64(f[i])
			ν[lo+i/rndUnits] += float64(δ * δ)
		}
	}
}

// outputs returns what the random network and the one that learns make of the
// achieved goals of at most B transitions, a row of rndUnits each.
func (r *rnd) outputs(a *Agent, transitions []int) (f, p []float32) {
	if r.x.rows == 0 {
		r.x = newMatrix(a.params.Batch, a.sizes.Goal)
	}
	x := r.x.slice(0, len(transitions))
	for row, i := range transitions {
		a.goals.normalize(x.row(row), at(a.replay.achieved, i, a.sizes.Goal))
	}
	n := x.rows * rndUnits
	return r.target.infer(r.frozen, x).data[:n], r.predictor.forward(r.learning, x).data[:n]
}

// endEpisode learns from the goals achieved so far.
func (r *rnd) endEpisode(a *Agent) error {
	transitions := a.scratch.batch.transitions
	for range a.params.Horizon {
		for row := range transitions {
			transitions[row] = a.draws.index(a.replay.n)
		}
		if loss := r.learn(a, transitions); !finite(loss) {
			return &NumericError{a.step, "RND predictor", loss}
		}
	}
	return nil
}

// learn is one update, whose loss it returns.
func (r *rnd) learn(a *Agent, transitions []int) float64 {
	f, p := r.outputs(a, transitions)
	n := len(r.predictor.layers)
	loss := PredictiveLoss(r.learning.dx[n].data[:len(p)], p, f, rndUnits)
	r.predictor.backward(r.learning, r.gradient, r.x, n, false)
	r.adam.step(r.predictor.params, r.gradient.params)
	return loss
}

func (r *rnd) networks() []parameterVector {
	return []parameterVector{{"RND predictor", r.predictor.params}, {"RND target", r.target.params}}
}

// saved leaves out the random network, which the seed determines.
func (r *rnd) saved() saved { return append(r.adam.saved(), r.predictor.params) }
