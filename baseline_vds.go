package qta

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// This file is value disagreement sampling, VDS (Zhang et al., 2020), as a curriculum for
// QTA's learner. An episode's goal is drawn from candidates in all free space, seen or
// not. A candidate's probability is proportional to the disagreement of VDS's own three
// value functions, which learn beside the agent. The numbers are from the public code of
// VDS's authors, which QTA's authors ran for the paper. The set [VDS] has VDS's own
// learner, too.

const (
	vdsMembers    = 3
	vdsCandidates = 1000 // goals considered for an episode
	vdsUpdates    = 100  // updates of every member after each episode
	vdsBatch      = 1000 // transitions of one member's minibatch
	vdsRate       = 1e-3 // Adam's step
	vdsPolyak     = 0.95 // ρ of the members' target networks, which move once after each episode

	// The agent's updates at each episode's end, before one step of its target networks. In
	// VDS's code it is n_batches.
	vdsAgentUpdates = 40
)

// A vdsCurriculum is the curriculum VDS. From Reading R86 on, this comment is about the
// set [VDS], which has VDS's learner.
//
// Reading R84: the value functions get inputs scaled by the agent's normalizers. They
// learn with the agent's discount and with targets clipped like the agent's, but without
// hindsight. VDS's code normalizes their inputs separately.
//
// Reading R85: the value functions are networks of their own, with as many hidden layers
// and units as the agent's. VDS's code has three hidden layers of 256 units for both, as
// [Paper] does.
//
// Reading R86: QTA's authors changed no number by which VDS's code learns. They evaluated
// every 2500 steps and read success one step before an episode's end. Here evaluation is
// the same for every method.
//
// Reading R87: VDS has no predictive heads, so QTA's stay untrained.
//
// Reading R63: section 3 of QTA's paper does not say how many updates follow an
// environment step. QTA's learner makes one. VDS's learner makes none after a step, but
// 40 at an episode's end (vdsAgentUpdates).
//
// Differs D19: weights are initialized as in PyTorch's linear layers. VDS's code uses
// Xavier's rule, with zero biases.
//
// Differs D20: in each update the critic moves first, and the policy's gradient is
// computed through the moved critic. VDS's code computes both gradients before either
// moves.
//
// Differs D21: all transitions of an episode are stored. VDS's code drops the last, and
// keeps the latest 1,000,000, a number that no run of the paper reaches.
//
// Differs D22: one pair of normalizers serves the agent and the value functions. VDS has
// a pair for each, and clips raw inputs to ±200.
type vdsCurriculum struct {
	curriculumDefaults
	members *ensemble // their predictive heads are not used
	batch   batch
}

func newVDSCurriculum(p Params, sizes Sizes, seed uint64, w *workers) *vdsCurriculum {
	p.Critics = vdsMembers
	p.CriticRate = vdsRate
	p.Polyak = vdsPolyak
	p.Uncertainty = "pun" // plain critics, whatever the agent's are
	h, s := newHeads(&p, sizes, seed)
	rng := newStream(seed, forMembers).Rand
	return &vdsCurriculum{members: newEnsemble(&p, sizes, h, s, rng, w)}
}

func (v *vdsCurriculum) ready(env Env) error {
	if _, ok := env.(GoalSampler); !ok {
		return errors.New("qta: the curriculum vds needs an environment " +
			"with the method SampleGoal (a GoalSampler)")
	}
	return nil
}

// goal chooses an episode's goal and keeps it to the end.
//
// Reading R96: a goal's probability is proportional to the disagreement itself, the
// standard deviation, as by default in VDS's code. That code also offers the exponential
// of the deviation and the hyperbolic tangent of the variance.
func (v *vdsCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil
	}
	goals := make([][]float64, vdsCandidates)
	for k := range goals {
		sample := a.env.(GoalSampler).SampleGoal(a.goalDraws.Rand)
		problem := numbersProblem("goal that SampleGoal returned", sample, a.sizes.Goal)
		if problem != "" {
			return nil, &EnvError{a.step, problem}
		}
		goals[k] = slices.Clone(sample)
	}
	p := v.disagreement(a, goals)
	toProbabilities(p)
	return goals[pick(p, a.goalDraws.Float64())], nil
}

// disagreement returns, for each goal, the standard deviation of the members' values of
// that goal from the current state.
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
// pursued. Member i's target is r + γ Q'_i(s', g, π(s', g)), clipped. Here π is the
// agent's online policy, and no minimum is taken over members.
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

func (v *vdsCurriculum) savedState() savedFields { return v.members.savedState() }

// SampleGoal draws a free cell and a point in it, both uniformly, as VDS (Zhang et al.,
// 2020) draws its candidates. Nothing else in the algorithms knows where the walls are.
func (e *mazeEnv) SampleGoal(rng *rand.Rand) []float64 {
	free := e.maze.free
	k := int(rng.Float64() * float64(len(free)))
	g := around(rng, free[k], 0.5) // half a cell to each side
	return g[:]
}

// VDS returns the hyper-parameters of VDS (Zhang et al., 2020) as QTA's authors ran it, but
// with this package's plain ReLU networks.
func VDS() Params {
	// A comment names a value's source in VDS's public code: an entry of DEFAULT_PARAMS
	// in baselines/her/experiment/config.py, or a file in baselines. The learner keeps
	// the order of that code. After an episode the normalizers are updated, and then the
	// value functions. Then come 40 updates of the agent and one step of its target
	// networks. (VDS's code updates the agent's own normalizers after the value functions.)
	p := Literal()
	p.Curriculum = "vds"
	p.Learner = "vds"

	p.Critics = 1                 // her/ddpg.py: one critic
	p.Batch = 256                 // batch_size
	p.Discount = 0.98             // prepare_params: 1 - 1/T
	p.CriticRate = 1e-3           // Q_lr
	p.PredictiveRate = 0          // no heads: QTA's stay untrained
	p.PredictiveGradient = "head" // and leave the backbone alone

	p.LearningStarts = 1 // her/vds.py: updates begin at the end of the first episode
	p.InitialSteps = 0   // her/vds.py: none
	return p
}
