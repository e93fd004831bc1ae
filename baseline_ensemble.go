package qta

// This file is Deep Ensembles (Lakshminarayanan et al., 2017) as Figure 6 of
// the paper compares PUN with: separate critics, each learning from its own
// target, whose predictive heads are Gaussian: a mean for each component of s'
// and one variance for all. newArchitecture says what differs from PUN.

// varianceFloor is added to every predicted variance (Lakshminarayanan et al.,
// 2017, footnote 2).
const varianceFloor = 1e-6

// separateTargets sets each critic's targets from its own target critic, without
// a minimum.
func (u *pun) separateTargets(b *batch) {
	for i := range u.critics {
		q := u.targetValue(b.next, i)
		TDTarget(b.y[i], b.r, q, q, u.params.Discount)
	}
}

// gaussianLoss returns one head's loss, the mean over the batch and the
// components of (s' - μ)²/σ² + ln σ², and sets dp to its gradient with respect
// to p. A row of p and dp has width means μ and a raw variance z, with σ² =
// softplus(z) + 1e-6; s is B by width. Up to a constant it is twice the
// negative log-likelihood (Lakshminarayanan et al., 2017, Equation 1).
//
// Reading R78: there is no adversarial training, and G members in place of five,
// as in the authors' code. The critics' loss stays Equation 2.
func gaussianLoss(dp, p, s []float32, width int) float64 {
	rows := len(s) / width
	n := float64(rows * width)
	sum := 0.0
	for r := range rows {
		μ, dμ := p[r*(width+1):][:width], dp[r*(width+1):][:width]
		z := float64(p[r*(width+1)+width])
		variance := softplus(z) + varianceFloor
		dVariance := float64(width) / variance
		sum += float64(float64(width) * log(variance))
		for c, m := range μ {
			δ := float64(m) - float64(s[r*width+c])
			square := float64(δ * δ)
			sum += square / variance
			dμ[c] = float32(2 * δ / (variance * n))
			dVariance -= square / float64(variance*variance)
		}
		dp[r*(width+1)+width] = float32(float64(dVariance*sigmoid(z)) / n)
	}
	return sum / n
}

// meanVariance sets d to the mean over the heads of the predicted variance.
//
// Differs D11: the paper scores all architectures by "next state prediction
// discrepancies", and so does this: the heads' means, by Equation 5. The authors'
// code (AuthorsForm) scores by the mean predicted variance, which is the noise
// that the heads see in the data and not their disagreement. Lakshminarayanan et
// al. have the variance of the uniform mixture, which is both.
func meanVariance(d []float64, heads [][]float32, width, stride int) {
	for r := range d {
		sum := 0.0
		for _, h := range heads {
			sum += softplus(float64(h[r*stride+width])) + varianceFloor
		}
		d[r] = sum / float64(len(heads))
	}
}
