package qta

import (
	"math"
	"slices"
)

// This file holds what the paper compares QTA and its parts with, except MEGA and VDS,
// which have their own files. It has HER's goals, the noise of Figure 4, and priorities
// by TD error (Figure 3). For Figure 6 it has the disagreement of Q-values, Bootstrapped
// Q-networks and Deep Ensembles. It also has generalExplorer and generalLearner. These
// are the paper's explorer and learner with options for MEGA, VDS, the authors' code and
// [Beyond].

// herCurriculum is HER (Andrychowicz et al., 2017) without a curriculum. The agent
// pursues the environment's goal for the whole episode.
//
// Reading R114: with HER the heads learn too, in one loss with the critics, although HER
// does not use them. With the curricula MEGA and VDS the heads learn in this way, too, but
// not in the sets [MEGA] and [VDS] (R83, R87).
type herCurriculum struct{ curriculumDefaults }

func (herCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil // keeps the goal
	}
	return a.desired, nil
}

// pursuedGoal returns the goal that was pursued in transition i. With k = 0 relabel keeps
// this goal, but still draws a random number.
func pursuedGoal(a *Agent, i int) []float64 { return a.replay.relabel(i, 0, a.draws.Rand) }

// valueEstimator measures uncertainty by the disagreement of the critics' Q-values.
//
// Reading R75: each critic gives the value of the agent's current state for the candidate
// as the goal. In the authors' code the candidate is the state, and the current state is
// the goal.
type valueEstimator struct{ u *ensemble }

func (e valueEstimator) uncertainty(a *Agent, c candidates, _ stream) []float64 {
	ε := make([]float64, len(c.goals))
	states := slices.Repeat([][]float64{c.now}, len(c.goals))
	values := a.policyValues(e.u, states, c.goals) // critics by candidates
	HeadDeviation(ε, values, 1)
	return ε
}

// noisyEstimator adds the Gaussian noise of Figure 4 to another estimator's estimates. σ
// is the noise's standard deviation.
//
// Reading R98: the noise is added to the estimates in their own unit, before they are
// scaled to between 0 and 1, as in the authors' code. The caption of Figure 4 has "to
// PUN's uncertainty estimates".
type noisyEstimator struct {
	estimator
	σ float64
}

func (e noisyEstimator) uncertainty(a *Agent, c candidates, rng stream) []float64 {
	ε := e.estimator.uncertainty(a, c, rng)
	for k := range ε {
		ε[k] += float64(e.σ * normal(rng.Rand))
	}
	return ε
}

// tdSampler is PER by TD error: a priority is the mean over the critics of |y - Q|. The
// authors' code uses the name TD error for another number, the sample standard deviation
// of the critics' values.
//
// Differs D8: Schaul et al. (2016, section 3.3) add a small constant to |TD error|. Here
// nothing is added, so a transition whose priority is zero is never drawn again, as in
// the authors' code. Schaul et al. have one critic; here the error is the mean over all
// critics.
type tdSampler struct {
	*prioritizedSampler
	heads heads
}

func (s tdSampler) prioritize(b *batch) {
	clear(s.priority)
	for i, q := range b.values { // of critic i
		y, _ := s.heads.criticTargets(i, b)
		for k := range y {
			tdError := float64(q[k]) - float64(y[k])
			s.priority[k] += math.Abs(tdError) / float64(len(b.values))
		}
	}
	s.setPriorities(b)
}

// A generalExplorer is the paper's explorer with two options. The probability of a random
// action can change, as in MEGA's code and in the code of QTA's authors. A run's first
// actions can all be random, as in MEGA's code (R54).
type generalExplorer struct {
	paperExplorer
	uniform int             // how many of a run's first actions are all random
	mega    *megaCurriculum // the curriculum that Params names, or nil if that is not MEGA
}

func (e generalExplorer) explore(a *Agent, action []float64) {
	if e.random(a, action) {
		uniformAction(action, a.exploration.Rand)
	}
}

// random reports whether a random action is to replace the given action. In a run's first
// e.uniform steps it always is. In later steps random also adds noise to the given
// action.
func (e generalExplorer) random(a *Agent, action []float64) bool {
	return a.step < e.uniform || a.perturb(action, e.probability(a))
}

// probability returns the probability of a random action. An agent that has reached an
// episode's first goal has nothing to lose in the rest of the episode, as in "first
// return, then explore" (Ecoffet et al., 2021).
//
// Differs D6: in the table the probability is 0.3. In the authors' code it drops to 0.2
// for the rest of the run, once any episode's first goal has been reached. In [Beyond] it
// drops to 0.1 at the same moment, so that more of an episode's 50 steps lead toward its
// first goal. After an episode's first goal [Beyond] has 0.8, so that the heads see the
// random actions of Equation 5 where they know least.
func (e generalExplorer) probability(a *Agent) float64 {
	p := &a.params
	now := p.RandomAction
	if a.goalsReached > 0 { // in the run; one of these goals was an episode's first
		now = p.RandomActionLater
	}
	if a.curriculum == e.mega { // not if SetCurriculum has replaced MEGA
		return now + float64(megaGoalRandom*float64(e.mega.stepsAtGoal))
	}
	arrived := a.reached || !a.firstGoal // at the episode's first goal, now or before
	if arrived && p.RandomActionReached > 0 {
		return p.RandomActionReached
	}
	return now
}

// A generalLearner is the paper's learner with options. The gradient of Equation 4 can
// stop before the backbone (PredictiveGradient). The target networks can move less often,
// as in MEGA's code and in VDS's. The elements of a gradient can have a limit, as in
// MEGA's code. What critics and predictive heads learn depends on the ensemble's field
// "heads".
type generalLearner struct {
	paperLearner
	oneBackbone bool    // all critics share one backbone
	targetEvery int     // updates from one step of the target networks to the next
	limit       float32 // largest magnitude of an element of a gradient; 0: none
}

func (l *generalLearner) update(a *Agent) error {
	u := a.pun
	b := &a.batch
	if err := a.draw(b, a.sampler, a.curriculum.replayGoal); err != nil {
		return err
	}
	a.updates++
	a.policy.act(a.policy.target, b.next) // a' of Equation 1
	u.heads.targets(u, b, a.learning)     // Equation 1

	criticLoss := 0.0
	headLoss := 0.0
	for i := range u.critics {
		critic, head := l.gradients(u, i, b)
		criticLoss += critic
		headLoss += head
	}
	if l.oneBackbone {
		u.sumBackbones()
	}
	for _, c := range u.critics {
		l.clip(c.gradient.params)
		c.adam.step()
		c.headAdam.step()
	}
	G := float64(len(u.critics))
	a.losses.critic = criticLoss / G
	a.losses.head = headLoss / G
	a.sampler.prioritize(b)

	a.losses.policy = a.policyGradient(b.x)
	l.clip(a.policy.gradient.params)
	a.policy.adam.step()
	if a.updates%l.targetEvery == 0 {
		u.follow()
		a.policy.follow(a.workers)
	}
	return a.checkLosses()
}

// gradients sets the gradients of critic i and its head, and returns both losses. If
// PredictiveGradient is joint, the head's loss contributes to the backbone's gradient, as
// in [ensemble.gradients]. Otherwise only the critic's loss does.
func (l *generalLearner) gradients(u *ensemble, i int, b *batch) (criticLoss, headLoss float64) {
	if u.params.PredictiveGradient == "joint" {
		return u.gradients(i, b)
	}
	criticLoss, ξ := u.oneGradient(i, b, u.criticTerm)
	headLoss = u.headTerm(i, b, ξ, epilogue{}) // its gradient ends at ξ
	return criticLoss, headLoss
}

// A term is [ensemble.criticTerm] or [ensemble.headTerm].
type term func(i int, b *batch, ξ matrix, e epilogue) float64

// oneGradient computes the term t for critic i. It sets the gradient of the backbone, and
// the gradient of Q_final or of the head. It returns the term's loss and ξ.
func (u *ensemble) oneGradient(i int, b *batch, t term) (loss float64, ξ matrix) {
	c := u.critics[i]
	ξ = c.q.latent(u.pass, b.x)
	loss = t(i, b, ξ, epilogue{mask: ξ}) // t is the last term, so it applies the mask of ReLU
	c.q.backward(u.pass, c.gradient.q, len(c.q.layers)-1)
	return loss, ξ
}

// clip limits each element of a gradient, before Adam sees it.
//
// Reading R65: the paper clips no gradient.
func (l *generalLearner) clip(gradient []float32) {
	if l.limit == 0 {
		return
	}
	for i, g := range gradient {
		gradient[i] = min(max(g, -l.limit), l.limit) // a NaN stays
	}
}

// A repeatingLearner makes several updates after each environment step, or at an
// episode's end.
//
// Differs D25: with [Beyond] two updates follow each environment step. The paper names no
// number, and [Paper] has one update. With two, an environment step takes 1.9 times as
// long, but a maze takes fewer steps.
type repeatingLearner struct {
	learner
	perStep, perEpisode int // updates
}

func (l repeatingLearner) update(a *Agent) error { return l.repeat(a, l.perStep) }

func (l repeatingLearner) afterEpisode(a *Agent) error {
	if a.step <= a.params.LearningStarts {
		return nil
	}
	return l.repeat(a, l.perEpisode)
}

func (l repeatingLearner) repeat(a *Agent, n int) error {
	for range n {
		if err := l.learner.update(a); err != nil {
			return err
		}
	}
	return nil
}

// ownTargets gives each critic the targets that its own target network computes.
//
// Reading R110: Bootstrapped Q-networks and Deep Ensembles do without the minimum of
// Equation 1. Each critic learns from its own target, as in Osband et al. (2016). So both
// methods differ from PUN in more than the estimate.
type ownTargets struct {
	heads
	y [][]float32 // of each critic
}

func (h *ownTargets) targets(u *ensemble, b *batch, _ stream) {
	if h.y == nil {
		h.y = u.perCritic(len(b.y))
	}
	for i := range u.critics {
		q := u.targetValue(b.next, i)
		TDTarget(h.y[i], b.r, q, q, u.params.Discount) // q for both critics of M
		u.clipReturns(h.y[i])
	}
}

func (h *ownTargets) criticTargets(i int, b *batch) (y, w []float32) { return h.y[i], b.w }

// bootstrapHeads is Bootstrapped Q-networks (Osband et al., 2016). The critics share one
// backbone. Each critic learns from its own random part of the replay and from its own
// target.
//
// The ensemble keeps a copy of the backbone for every critic. The copies start
// equal and all take the sum of the critics' gradients, so that they stay equal
// to the bit.
//
// Reading R76: Osband et al. explore by following one critic through an episode. Here no
// critic is followed: the goals drive exploration, as in the authors' code.
//
// Reading R77: a loss is divided by the size of the whole minibatch, although a critic
// sees only a part of it. With Adam the scale of a gradient hardly matters.
//
// Differs D9: in the authors' code a head has a single output. It regresses by squared
// error to both coordinates of s' at once, and so to their mean. There a head learns only
// from transitions that its critic's mask leaves out. Here a head has an output for each
// coordinate, and learns from the same transitions as its critic.
//
// Differs D10: a critic also learns from the running episode. In the authors' code it
// cannot, because an episode's masks are drawn when the episode ends.
type bootstrapHeads struct {
	ownTargets
	seed  uint64
	w     []float32 // weights of the critic at work
	sNext []float32 // what the head at work learns to predict
}

// criticTargets gives weight 0 to the transitions from which critic i does not learn.
func (h *bootstrapHeads) criticTargets(i int, b *batch) (y, w []float32) {
	h.w = append(h.w[:0], b.w...)
	for row, k := range b.transitions {
		if !inMask(h.seed, k, i) {
			h.w[row] = 0
		}
	}
	return h.y[i], h.w
}

// loss takes the head's own prediction as the target for the transitions from which head
// i does not learn. So their loss and gradient are zero.
func (h *bootstrapHeads) loss(i int, dp, p matrix, b *batch) float64 {
	h.sNext = append(h.sNext[:0], b.sNext.data...)
	for row, k := range b.transitions {
		if !inMask(h.seed, k, i) {
			copy(h.sNext[row*p.cols:], p.row(row))
		}
	}
	return PredictiveLoss(dp.data, p.data, h.sNext, p.cols)
}

// inMask reports whether critic i learns from transition k of a run. The answer depends
// only on the seed and the two indices.
//
// Reading R111: a transition is in a mask with probability 1/2, as in the authors' code.
func inMask(seed uint64, k, i int) bool {
	masks := mix(mix(seed) + forMasks)
	bits := mix(masks + uint64(k)<<6 + uint64(i)) // i is below 64, the most critics allowed
	return bits>>63 == 0
}

// backbone returns the parameters of Q_backbone.
func (n *criticNet) backbone() []float32 {
	finalSize := layerSize(n.final.w.rows, n.final.w.cols)
	return n.q.params[:len(n.q.params)-finalSize]
}

// shareBackbone copies the first critic's backbone to all critics and target critics.
func (u *ensemble) shareBackbone() {
	for _, c := range u.critics {
		copy(c.backbone(), u.critics[0].backbone())
		copy(c.target.params, c.q.params)
	}
}

// sumBackbones replaces each critic's gradient of the backbone by the sum of all.
func (u *ensemble) sumBackbones() {
	sum := u.critics[0].gradient.backbone()
	for _, c := range u.critics[1:] {
		for k, v := range c.gradient.backbone() {
			sum[k] += v
		}
	}
	for _, c := range u.critics[1:] {
		copy(c.gradient.backbone(), sum)
	}
}

// deepEnsembleHeads is Deep Ensembles (Lakshminarayanan et al., 2017). The critics are
// separate, each learns from its own target, and each has a Gaussian predictive head.
//
// Reading R112: a head predicts a mean for each component of s', and one variance for all
// components.
//
// Differs D11: the paper scores all architectures by "next state prediction
// discrepancies". Here the score is Equation 5 on the heads' means. The authors' code
// scores by the mean predicted variance, which is the noise that the heads see in the
// data, not the disagreement between the heads. Lakshminarayanan et al. have the variance
// of the uniform mixture, which contains both the noise and the disagreement.
type deepEnsembleHeads struct{ ownTargets }

func (*deepEnsembleHeads) loss(_ int, dp, p matrix, b *batch) float64 {
	return gaussianLoss(dp.data, p.data, b.sNext.data, b.sNext.cols)
}

// varianceFloor is added to every predicted variance (Lakshminarayanan et al.,
// 2017, footnote 2).
const varianceFloor = 1e-6

// gaussianLoss returns one head's loss and sets dp to its gradient with respect to p. The
// loss is the mean of (s' - μ)²/σ² + ln σ² over the batch and the components of s'. A
// term is twice the negative log-likelihood, up to a constant (Lakshminarayanan et al.,
// 2017, Equation 1).
//
// s holds s', B by width. p and dp are B by width + 1. A row of p is the means μ and then
// a raw variance z, with σ² = softplus(z) + 1e-6.
//
// Reading R78: Lakshminarayanan et al. train five members, also on adversarial examples.
// Here there are G members without adversarial training, as in the authors' code. The
// critics' loss stays Equation 2.
func gaussianLoss(dp, p, s []float32, width int) float64 {
	rows := len(s) / width
	n := float64(rows * width)
	sum := 0.0
	for r := range rows {
		μz := p[r*(width+1):][:width+1]
		dμz := dp[r*(width+1):][:width+1]
		z := float64(μz[width])
		variance := softplus(z) + varianceFloor
		dVariance := float64(width) / variance
		sum += float64(float64(width) * log(variance))
		for c := range width {
			δ := float64(μz[c]) - float64(s[r*width+c])
			square := float64(δ * δ)
			sum += square / variance
			dμz[c] = float32(2 * δ / (variance * n))
			dVariance -= square / float64(variance*variance)
		}
		dμz[width] = float32(float64(dVariance*sigmoid(z)) / n)
	}
	return sum / n
}

// sigmoid returns 1 / (1 + e^-x), within 3 ulp even where the result is tiny.
func sigmoid(x float64) float64 {
	u := exp(-math.Abs(x))
	if x < 0 {
		return u / (1 + u)
	}
	return 1 / (1 + u)
}

// softplus returns log(1 + e^x), within 3 ulp even where the result is tiny.
func softplus(x float64) float64 {
	u := exp(-math.Abs(x))
	if u < 0.4 {
		return max(x, 0) + log1p(u, 0) // log(1 + u) + 0, without rounding 1 + u
	}
	return max(x, 0) + log(1+u)
}
