package qta

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// This file is value disagreement sampling, VDS (Zhang et al., 2020), on QTA's
// learner: an episode's goal is drawn from all goals there are, in proportion
// to the disagreement of three value functions of its own, which learn beside
// the agent. Its numbers are from its authors' public code, with which the paper
// ran it. [VDS] has its own learner.

const (
	vdsMembers    = 3
	vdsCandidates = 1000 // goals considered for an episode
	vdsUpdates    = 100  // updates of every member after each episode
	vdsBatch      = 1000 // transitions of one member's minibatch
	vdsRate       = 1e-3 // Adam's step
	vdsPolyak     = 0.95 // the share of themselves that the targets keep after each episode

	vdsAgentUpdates = 40 // of the agent, in a row at each episode's end (n_batches), and then one step of its targets
)

// A vdsCurriculum is the curriculum VDS. The Readings from R86 on are about the learner
// of [VDS].
//
// Reading R84: its value functions see inputs as the agent's normalizer scales
// them, and learn with the agent's discount and clip, without hindsight. VDS's code
// normalizes for them separately.
//
// Reading R85: its value functions have the hidden layers of the agent's
// networks; VDS's code has three of 256 units for both, as [Paper] does.
//
// Reading R86: QTA's authors changed none of the numbers of VDS's code. They
// evaluated every 2500 steps and read success one step before an episode's end;
// here both are as for every other method.
//
// Reading R87: VDS has no predictive heads, so they do not learn.
//
// Reading R63: Section 3 does not say how many updates an environment step gets, and
// QTA's learner makes one; VDS's (vdsAgentUpdates) makes them at an episode's end.
//
// Differs D19: weights start as those of PyTorch's linear layers do; VDS's start by
// Xavier's rule, with zero biases.
//
// Differs D20: in each update the critic moves before the policy asks it for a
// gradient; VDS's code takes both gradients first.
//
// Differs D21: all transitions of an episode are stored. VDS's code drops the last,
// and forgets what is older than 1,000,000, which no run of the paper reaches.
//
// Differs D22: one pair of normalizers serves agent and value functions, where
// VDS has a pair for each and clips raw inputs to ±200.
type vdsCurriculum struct {
	curriculumDefaults
	members *ensemble // their predictive heads are not used
	batch   batch
}

func newVDSCurriculum(p Params, sizes Sizes, seed uint64, w *workers) *vdsCurriculum {
	p.Critics = vdsMembers
	p.CriticRate = vdsRate
	p.Polyak = vdsPolyak
	p.Uncertainty = "pun"
	h, s := newHeads(&p, sizes, seed)
	rng := newStream(seed, forMembers).Rand
	return &vdsCurriculum{members: newEnsemble(&p, sizes, h, s, rng, w)}
}

func (v *vdsCurriculum) ready(env Env) error {
	if _, ok := env.(GoalSampler); !ok {
		return errors.New("qta: the curriculum vds needs an environment with the method SampleGoal (a GoalSampler)")
	}
	return nil
}

// goal chooses an episode's goal and keeps it to the end.
//
// Reading R96: a chance is in proportion to the disagreement: the default of
// VDS's code, which also offers the exponential of the deviation and the
// hyperbolic tangent of the variance.
func (v *vdsCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil
	}
	goals := make([][]float64, vdsCandidates)
	for k := range goals {
		sample := a.env.(GoalSampler).SampleGoal(a.goalDraws.Rand)
		if problem := numbersProblem("goal that SampleGoal returned", sample, a.sizes.Goal); problem != "" {
			return nil, &EnvError{a.step, problem}
		}
		goals[k] = slices.Clone(sample)
	}
	p := v.disagreement(a, goals)
	toProbabilities(p)
	return goals[pick(p, a.goalDraws.Float64())], nil
}

// disagreement returns the deviation of the members' values of each goal from
// the current state.
func (v *vdsCurriculum) disagreement(a *Agent, goals [][]float64) []float64 {
	now := slices.Repeat([][]float64{a.observation}, len(goals))
	q := a.policyValues(v.members, now, goals)
	for _, values := range q {
		a.pun.clipReturns(values)
	}
	d := make([]float64, len(goals))
	valueDisagreement(d, q)
	return d
}

// valueDisagreement sets std to the population standard deviation of the
// members' values of each candidate; q is members by candidates.
func valueDisagreement(std []float64, q [][]float32) {
	for k := range std {
		std[k] = math.Sqrt(squaredDeviations(q, k) / float64(len(q)))
	}
}

// endEpisode trains each member on minibatches of its own, with the goals that were
// pursued. Member i's target is clipped r + γ Q'_i(s', g, π(s', g)), with the
// agent's online policy and no minimum.
func (v *vdsCurriculum) endEpisode(a *Agent) error {
	b := &v.batch
	u := v.members
	if b.r == nil {
		*b = u.newBatch(vdsBatch, a.sizes)
	}
	loss := 0.0
	for range vdsUpdates {
		for i, c := range u.critics {
			if err := a.draw(b, uniformSampler{a.replay}, pursuedGoal); err != nil {
				return err
			}
			a.policy.act(a.policy.net, b.next)
			q := u.targetValue(b.next, i)
			TDTarget(b.y, b.r, q, q, u.params.Discount)
			a.pun.clipReturns(b.y)
			one, _ := u.oneGradient(i, b, u.criticTerm)
			loss += one
			c.adam.step()
		}
	}
	u.follow()
	return checkFinite(a.step, "VDS value functions", loss)
}

func (v *vdsCurriculum) networks() []parameterVector { return v.members.parameters("VDS member") }

func (v *vdsCurriculum) savedState() savedState { return v.members.savedState() }

// SampleGoal draws a free cell and a point in it, both uniformly, as VDS (Zhang
// et al., 2020) draws its candidates: nothing else in the algorithms knows
// where the walls are.
func (e *mazeEnv) SampleGoal(rng *rand.Rand) []float64 {
	free := e.maze.free
	g := around(rng, free[int(rng.Float64()*float64(len(free)))], 0.5)
	return g[:]
}

// VDS returns the hyper-parameters of VDS (Zhang et al., 2020) as QTA's
// authors ran it, but with this package's networks: layers with ReLU and nothing else.
func VDS() Params {
	// A comment names a value's source in VDS's public code: an entry of
	// DEFAULT_PARAMS in baselines/her/experiment/config.py or a file beside it. The
	// code's order is kept: an episode, the normalizers, the value functions, then 40
	// updates in a row and one step of the targets.
	p := Literal()
	p.Curriculum = "vds"
	p.Learner = "vds"

	p.Critics = 1        // her/ddpg.py: one critic
	p.Batch = 256        // batch_size
	p.Discount = 0.98    // prepare_params: 1 - 1/T
	p.CriticRate = 1e-3  // Q_lr
	p.PredictiveRate = 0 // no heads
	p.PredictiveGradient = "head"

	p.LearningStarts = 1 // her/vds.py: from the first episode on
	p.InitialSteps = 0   // her/vds.py: none
	return p
}
