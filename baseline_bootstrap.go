package qta

// This file is Bootstrapped Q-networks (Osband et al., 2016) as Figure 6 of the
// paper compares PUN with: critics that share one backbone, each of which
// learns from its own random part of the replay and from its own target.
//
// The ensemble keeps a copy of the backbone for every critic. The copies start
// equal and all take the sum of the critics' gradients, so that they stay equal
// to the bit; the rest of the ensemble is PUN. newArchitecture says what differs.

// predictMeans has heads of a single output predict the mean of the components.
//
// Differs D9: the authors' code (AuthorsForm) has heads of a single
// output, which regress by squared error to both coordinates of s' at once and
// so to their mean, and trains a head where its critic's mask is 0. Here
// there is an output for each coordinate and one mask for both, and HeadLoss.
func (a *Agent) predictMeans(b *batch) {
	for row, i := range b.transitions {
		s, mean := a.predicted(i), 0.0
		for _, v := range s {
			mean += v / float64(len(s))
		}
		b.head.row(row)[0] = float32(mean)
	}
}

// sumBackbones replaces the backbone's gradient of every critic by their sum.
func (u *pun) sumBackbones() {
	sum := backbone(u.critics[0].gradient.q)
	for _, c := range u.critics[1:] {
		for k, v := range backbone(c.gradient.q) {
			sum[k] += v
		}
	}
	for _, c := range u.critics[1:] {
		copy(backbone(c.gradient.q), sum)
	}
}

// applyMasks sets the masks of a batch's transitions, and takes transitions
// outside a critic's part of the replay out of its loss.
//
// Reading R76: no critic is followed for an episode, as Osband et al. do to
// explore: here the goals drive exploration, as in the authors' code.
//
// Reading R77: a loss is divided by the size of the whole minibatch, whatever part
// of it a critic sees; Adam makes the scale of a gradient immaterial.
//
// Differs D10: with AuthorsForm no critic learns from the running
// episode, whose masks their code draws at its end.
func (a *Agent) applyMasks(b *batch) {
	authors := a.params.AuthorsForm
	running := a.step - a.step%a.params.Horizon
	for c := range b.masks {
		for row, i := range b.transitions {
			in := inMask(a.seed, i, c) && !(authors && i >= running)
			if !in {
				b.weights[c][row] = 0
			}
			b.masks[c][row] = in != authors // a head of theirs learns where its critic does not
		}
	}
	if authors {
		a.predictMeans(b)
	}
}

// inMask reports whether transition i of a run belongs to a critic's part of
// the replay: a fair coin, as in the authors' code, that depends only on the seed
// and the two indices.
func inMask(seed uint64, i, critic int) bool {
	return mix(mix(mix(seed)+uint64(forMasks))+uint64(i)<<6+uint64(critic))>>63 == 0
}

// maskPredicted returns what head i is to predict, with the prediction in the rows
// that its mask leaves out, where it makes neither a loss nor a gradient.
func (u *pun) maskPredicted(i int, prediction matrix, b *batch) matrix {
	s := u.masked.slice(0, prediction.rows)
	copy(s.data, b.head.data)
	for r, m := range b.masks[i][:s.rows] {
		if !m {
			copy(s.row(r), prediction.row(r))
		}
	}
	return s
}
