package qta

import (
	"math"
	"slices"
)

// This file is MEGA, maximum entropy goal achievement (Pitis et al., 2020), as a
// curriculum for QTA's learner. Its candidates are goals achieved before. For each
// episode it chooses the candidate of least density, among the candidates that the
// critics consider reachable. The numbers are from the public code of MEGA's authors,
// which QTA's authors ran for the paper. The set [MEGA] has MEGA's own learner, too.

const (
	megaCandidates = 100    // achieved goals considered
	megaFit        = 10_000 // achieved goals that the density is fitted to
	megaBandwidth  = 0.1    // of the kernel, in standardized coordinates
	megaStdFloor   = 1e-4   // added to the standard deviations

	megaCutoff   = -3.0 // initial and highest cutoff on Q
	megaFloor    = 0.8  // the lowest cutoff is the value of 0.8 T steps of reward -1
	megaDiscount = 0.99 // the highest discount in that value
	megaWindow   = 10   // how many episodes the success rate counts
	megaHigh     = 0.7  // at this success rate and above the cutoff falls
	megaLow      = 0.3  // at this success rate and below the cutoff rises

	// Updates from one step of the agent's target networks to the next. In MEGA's config it is
	// target_network_update_freq.
	megaTargetEvery = 40
	// The largest magnitude of an element of the agent's gradients, grad_value_clipping there.
	megaGradient = 5.0

	megaGoalRandom  = 0.1    // each step at the goal adds it to a random action's probability
	megaFutureUntil = 25_000 // up to this environment step all relabeling is "future"
)

// The kinds of goal that a transition is replayed with.
const (
	megaOwn      = iota // the goal pursued in the transition
	megaFuture          // achieved later in its episode
	megaDesired         // desired by the environment at any time
	megaAchieved        // achieved at any time
	megaPursued         // pursued at any time
)

// megaMix is the hindsight mix: the probabilities of the kinds.
var megaMix = [...]float64{
	megaOwn:      0.1,
	megaFuture:   0.4,
	megaDesired:  0.3,
	megaAchieved: 0.1,
	megaPursued:  0.1,
}

// A megaCurriculum is the curriculum MEGA. From Reading R81 on, this comment is about the
// set [MEGA], which has MEGA's learner.
//
// Differs D12: the density is fitted once an episode, to what was stored before the
// episode that has just ended. MEGA's code refits at every step, but uses only the last
// fit before an episode's end. That gives the same distribution at fifty times the cost.
//
// Reading R79: a candidate's value is the mean over the critics; MEGA has one critic.
//
// Differs D13: the values for the cutoff come from normalized inputs, as in MEGA's later
// code. The snapshot that QTA's authors ran used raw inputs.
//
// Differs D14: MEGA acts at random for 5,000 steps, learns from step 2,500 on, and has
// one normalizer for states and goals together. These belong to MEGA's agent and not to
// its curriculum, so Curriculum mega alone does without them.
//
// Reading R81: QTA's authors ran MEGA's code with other flags than MEGA's authors did.
// The flags of QTA's authors are used here: a return does not end where the goal is
// reached (first_visit_succ), and one environment runs at a time.
//
// Reading R82: QTA's authors evaluated MEGA by 30 rollouts, and QTA and VDS by 20. Here
// [TrainOptions] has one number for every method.
//
// Reading R83: MEGA has no predictive heads, so QTA's stay untrained.
//
// Reading R64: Equation 3 has no schedule, so QTA's target networks move in each update.
// MEGA's move in every 40th update (megaTargetEvery). VDS's move once an episode, after
// its 40 updates (vdsAgentUpdates).
//
// Differs D16: the networks are this package's, also in [MEGA]. The networks of MEGA's
// code have layer normalization and GELU in every hidden layer, orthogonal initial
// weights and zero biases.
//
// Differs D17: the normalizers are QTA's. MEGA has one for states and goals together.
// MEGA's normalizer is shown every state on which the policy acts, with the goal pursued.
// In the random steps at a run's start it is shown the state with the environment's goal.
// It adds 1e-8 to the variance, while QTA's normalizers have a smallest standard
// deviation. It also clips raw inputs to ±200.
//
// Differs D18: the running episode is in the replay. MEGA's code stores only whole
// episodes, so that learning begins up to one episode later. R64 has a step of the target
// networks in every 40th update. MEGA's code begins this count at the run's first step,
// and this package at the first update.
type megaCurriculum struct {
	curriculumDefaults
	density     kernelDensity
	cutoff      cutoff
	outcomes    []bool // whether each of the latest episodes reached its goal, at most megaWindow
	stepsAtGoal int    // how many steps of the running episode, but its last, ended at the goal

	desired []float64 // the environment's goal of each episode so far, one after the other

	candidates [megaCandidates][]float64 // of the latest choice
}

// goal chooses a goal when an episode begins (first), and keeps it to the episode's end.
// goal is also called after each step that ends at the goal, except an episode's last
// step. It counts these steps, because they make random actions likelier. The first
// episode of a run pursues the environment's goal.
func (m *megaCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		m.stepsAtGoal++
		return nil, nil
	}
	m.desired = append(m.desired, a.desired...)
	if a.replay.n == 0 {
		return a.desired, nil
	}
	g := m.choose(a)
	if len(m.outcomes) == megaWindow {
		m.outcomes = slices.Delete(m.outcomes, 0, 1)
	}
	// The outcome of the episode before is added after the choice, as in MEGA's code, so it
	// counts only from the next choice on.
	m.outcomes = append(m.outcomes, m.stepsAtGoal > 0)
	m.stepsAtGoal = 0
	return g, nil
}

// choose returns a goal for the episode that begins. At least one episode is stored.
func (m *megaCurriculum) choose(a *Agent) []float64 {
	n := a.replay.n
	before := n - a.params.Horizon // transitions before the latest episode
	if before == 0 {
		before = n // the first fit has only this episode
	}
	points := m.density.points[:0]
	for range megaFit {
		i := a.goalDraws.index(before)
		points = append(points, a.replay.nextAchieved.at(i)...)
	}
	m.density.fit(points, a.sizes.Goal)

	logDensities := make([]float64, megaCandidates)
	for k := range logDensities {
		i := a.goalDraws.index(n)
		m.candidates[k] = a.replay.nextAchieved.at(i)
		logDensities[k] = m.density.log(m.candidates[k])
	}
	now := slices.Repeat([][]float64{a.observation}, megaCandidates)
	q := a.Value(now, m.candidates[:])

	full := len(m.outcomes) == megaWindow
	if full && m.cutoff.adapt(slices.Min(q), m.outcomes) {
		m.outcomes = m.outcomes[:0]
	}
	return m.candidates[leastDense(logDensities, q, m.cutoff.value)]
}

// leastDense returns the candidate of least log density among those whose value q is
// at least cutoff. If there is none, it returns the candidate of highest value.
func leastDense(logDensities, q []float64, cutoff float64) int {
	highest := 0
	best := -1 // of the candidates at or above the cutoff; -1: none so far
	for k := range q {
		if q[k] > q[highest] {
			highest = k
		}
		reachable := q[k] >= cutoff
		if reachable && (best < 0 || logDensities[k] < logDensities[best]) {
			best = k
		}
	}
	if best < 0 {
		return highest
	}
	return best
}

// A cutoff is the value below which a goal counts as out of reach.
type cutoff struct {
	value  float64
	lowest float64 // value falls no lower than this: the least Q in any choice with a full window
	floor  float64 // lowest falls no lower than this
}

// newCutoff returns the cutoff of a run's start.
func newCutoff(discount float64, horizon int) cutoff {
	γ := min(discount, megaDiscount)
	// The discounted sum of 0.8 T rewards of -1.
	floor := -(1 - pow(γ, float64(megaFloor*float64(horizon)))) / (1 - γ)
	c := max(megaCutoff, floor)
	return cutoff{value: c, lowest: c, floor: floor}
}

// adapt moves the cutoff by the success rate of a full window: down by 1 if the agent
// mostly succeeds, and up by 1 if the agent mostly fails. least is the least value among
// the candidates. If adapt reports true, the caller empties the window.
func (c *cutoff) adapt(least float64, outcomes []bool) bool {
	c.lowest = max(c.floor, min(least, c.lowest))
	successes := 0
	for _, s := range outcomes {
		if s {
			successes++
		}
	}
	rate := float64(successes) / float64(len(outcomes))
	switch {
	case rate >= megaHigh:
		c.value = max(c.lowest, c.value-1)
	case rate <= megaLow:
		c.value = max(min(megaCutoff, c.value+1), c.floor)
	default:
		return false
	}
	return true
}

// replayGoal draws a kind of goal from the hindsight mix, and then a goal of this kind.
//
// Differs D15: all future steps are equally likely. MEGA's code rounds, which halves the
// weight of the two ends.
//
// Reading R80: the probabilities of the mix are those of MEGA's code, whatever
// HindsightRatio is. Only a HindsightRatio of 0 has an effect: nothing is relabeled.
func (m *megaCurriculum) replayGoal(a *Agent, i int) []float64 {
	if a.params.HindsightRatio == 0 {
		return pursuedGoal(a, i)
	}
	r := a.replay
	rng := a.draws
	kind := megaFuture
	if a.step > megaFutureUntil {
		kind = pick(megaMix[:], rng.Float64())
	}
	switch kind {
	case megaOwn:
		return r.goal.at(i)
	case megaFuture:
		return r.nextAchieved.at(futureStep(i, r.episodeEnd(i), rng.Float64()))
	case megaDesired:
		episode := rng.index(r.n) / r.horizon
		return m.desired[episode*a.sizes.Goal:][:a.sizes.Goal]
	case megaAchieved:
		return r.nextAchieved.at(rng.index(r.n))
	default:
		return r.goal.at(rng.index(r.n))
	}
}

// savedState stores a full window of outcomes and how many of them count, because every
// stored field needs a known size. The slice desired gets its size from loadAgent.
func (m *megaCurriculum) savedState() savedFields {
	var window [megaWindow]bool
	n := copy(window[:], m.outcomes)
	restore := func() {
		n = min(max(n, 0), megaWindow) // a checkpoint may have any n
		m.outcomes = window[:n]
	}
	c := &m.cutoff
	return savedFields{&c.value, &c.lowest, &m.stepsAtGoal, m.desired, &n, &window, restore}
}

// MEGA returns the hyper-parameters of MEGA (Pitis et al., 2020) as QTA's authors ran it,
// but with this package's plain ReLU networks.
func MEGA() Params {
	// A comment names a value's source in mrl, the public code of MEGA's authors:
	// "config" is protoge_config in mrl/configs/continuous_off_policy.py, and "script" is
	// experiments/mega/train_mega.py.
	p := Literal()
	p.Curriculum = "mega" // script: ag_curiosity, minkde
	p.Learner = "mega"

	p.HiddenSize = 512            // script: layers
	p.Critics = 1                 // script: alg, DDPG with one critic
	p.Batch = 2000                // config: batch_size
	p.Discount = 0.98             // config: gamma
	p.CriticRate = 1e-3           // config: critic_lr
	p.ActionL2 = 0.1              // config: action_l2_regularization
	p.PredictiveRate = 0          // no heads: QTA's stay untrained
	p.PredictiveGradient = "head" // and leave the backbone alone

	p.LearningStarts = 2500   // config: warm_up
	p.InitialSteps = 5000     // config: initial_explore
	p.ActionNoise = 0.1       // config: action_noise
	p.RandomAction = 0.1      // config: eexplore
	p.RandomActionLater = 0.1 // config: eexplore
	p.NormalizerFloor = 1e-4  // mrl/modules/normalizer.py: the root of 1e-8
	return p
}

// A kernelDensity is a kernel density estimate with Gaussian kernels, in
// coordinates standardized by the mean and standard deviation of its points.
type kernelDensity struct {
	points    []float64 // n by width, standardized
	mean, std []float64 // of width
}

// fit takes over points, n by width, and standardizes them.
func (d *kernelDensity) fit(points []float64, width int) {
	d.points = points
	d.mean = make([]float64, width)
	d.std = make([]float64, width)
	n := float64(len(points) / width)
	for c := range width {
		sum := 0.0
		for i := c; i < len(points); i += width {
			sum += points[i]
		}
		d.mean[c] = sum / n

		square := 0.0
		for i := c; i < len(points); i += width {
			δ := points[i] - d.mean[c]
			square += float64(δ * δ)
		}
		d.std[c] = math.Sqrt(square/n) + megaStdFloor
	}
	for i := range points {
		points[i] = (points[i] - d.mean[i%width]) / d.std[i%width]
	}
}

// log returns the logarithm of the density at x, in standardized coordinates.
func (d *kernelDensity) log(x []float64) float64 {
	standardized := make([]float64, len(x))
	for c := range x {
		standardized[c] = (x[c] - d.mean[c]) / d.std[c]
	}
	return logDensity(d.points, standardized, megaBandwidth)
}

// logDensity returns the logarithm of the Gaussian kernel density estimate of
// points, n by len(x), at x:
//
//	log 1/n Σ_i exp(-|x - x_i|²/2h²) / (h √2π)^len(x)
func logDensity(points, x []float64, h float64) float64 {
	exponents := make([]float64, len(points)/len(x))
	scale := 1 / float64(2*float64(h*h))
	nearest := math.Inf(1)
	for i := range exponents {
		point := points[i*len(x):][:len(x)]
		square := 0.0
		for c, v := range x {
			δ := v - point[c]
			square += float64(δ * δ)
		}
		exponents[i] = float64(square * scale)
		if exponents[i] < nearest { // faster than min; a NaN reaches the sum below
			nearest = exponents[i]
		}
	}
	// The nearest point's term is 1. Terms below e^-50 are left out: even 10,000 of them
	// are less than a rounding error of the sum.
	sum := 0.0
	for _, e := range exponents {
		further := e - nearest
		if further < 50 || math.IsNaN(further) {
			sum += exp(-further)
		}
	}
	constant := float64(float64(len(x)) * log(float64(h*math.Sqrt(2*math.Pi))))
	return log(sum/float64(len(exponents))) - nearest - constant
}
