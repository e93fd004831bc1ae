package qta

// This file is Bootstrapped Q-networks (Osband et al., 2016) as Figure 6 of the
// paper compares PUN with: critics that share one backbone, each of which
// learns from its own random part of the replay and from its own target.
//
// The ensemble keeps a copy of the backbone for every critic. The copies start
// equal and all take the sum of the critics' gradients, so that they stay equal
// to the bit; whatever else an ensemble does is PUN's.

// maskProbability is the chance of a transition to be in a critic's part of the
// replay, as in the authors' code.
const maskProbability = 0.5

// bootstrap makes an ensemble of this kind and returns the width of its heads.
//
// Reading: no critic is followed for an episode, which is what Osband et al.
// explore with: the goals drive exploration here, as in the authors' code.
//
// Reading: a loss is divided by the size of the whole minibatch, whatever part
// of it a critic sees; Adam makes the scale of a gradient immaterial.
//
// Differs: the authors' code (BootstrapForm "authors") has heads of a single
// output, which regress by squared error to both coordinates of s' at once and
// so to their mean, and trains a head where its critic's mask is 0. "clean" has
// an output for each coordinate and one mask for both, and HeadLoss.
func (u *pun) bootstrap(p Params) (head int) {
	u.ownTargets, u.shared = true, true
	if p.BootstrapForm == "authors" {
		u.predicted = 1
		u.headLoss = PredictiveLoss
	}
	return u.predicted
}

// shareBackbone makes the backbone of critic i a copy of the first one's.
func (u *pun) shareBackbone(i int) {
	for l, layer := range u.critics[i].q.layers[:len(u.critics[i].q.layers)-1] {
		copy(layer.w.data, u.critics[0].q.layers[l].w.data)
		copy(layer.b, u.critics[0].q.layers[l].b)
	}
}

// sumBackbones replaces the backbone's gradient of every critic by their sum.
func (u *pun) sumBackbones() {
	backbone := func(i int) []float32 {
		g := u.gradients[i].q
		final := g.layers[len(g.layers)-1]
		return g.params[:len(g.params)-layerSize(final.w.rows, final.w.cols)]
	}
	sum := backbone(0)
	for i := range u.gradients[1:] {
		for k, v := range backbone(i + 1) {
			sum[k] += v
		}
	}
	for i := range u.gradients[1:] {
		copy(backbone(i+1), sum)
	}
}

// reserveMasks gives a batch weights and masks for every critic.
func (a *Agent) reserveMasks(b *batch) {
	b.weights, b.headMasks = nil, nil
	for range a.pun.critics {
		b.weights = append(b.weights, make([]float32, b.x.rows))
		b.headMasks = append(b.headMasks, make([]float32, b.x.rows))
	}
}

// applyMasks sets the masks of a batch's transitions, and takes those out of a
// critic's loss that are not in its part of the replay.
//
// Differs: with BootstrapForm "authors" no critic learns from the running
// episode, whose masks their code draws at its end.
func (a *Agent) applyMasks(b *batch) {
	authors := a.params.BootstrapForm == "authors"
	running := a.step - a.step%a.params.Horizon
	for c := range b.weights {
		for row, i := range b.transitions {
			in := inMask(a.seed, i, c) && !(authors && i >= running)
			b.headMasks[c][row] = 0
			if in {
				b.headMasks[c][row] = 1
			} else {
				b.weights[c][row] = 0
			}
			if authors {
				b.headMasks[c][row] = 1 - b.headMasks[c][row]
			}
		}
	}
}

// inMask reports whether transition i of a run belongs to a critic's part of
// the replay: a coin that depends on nothing but the seed and the two indices.
func inMask(seed uint64, i, critic int) bool {
	const unit = 1.0 / (1 << 53)
	u := float64(mix(mix(mix(seed)+uint64(forMasks))+uint64(i)<<6+uint64(critic))>>11) * unit
	return u < maskProbability
}

// maskPredicted returns next with the rows of mask 0 replaced by the
// prediction, where it makes neither a loss nor a gradient.
func (u *pun) maskPredicted(prediction, next matrix, mask []float32) matrix {
	if u.masked.rows < next.rows {
		u.masked = newMatrix(next.rows, next.cols)
	}
	masked := u.masked.slice(0, prediction.rows)
	for r, m := range mask[:prediction.rows] {
		if m == 0 {
			copy(masked.row(r), prediction.row(r))
		} else {
			copy(masked.row(r), next.row(r))
		}
	}
	return masked
}
