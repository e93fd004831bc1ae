package qta

import "math"

// This file is value disagreement sampling, VDS (Zhang et al., 2020), on QTA's
// learner: an episode's goal is drawn from all goals there are, in proportion
// to the disagreement of three value functions of its own, which learn beside
// the agent. Numbers without another source are those of its authors' public
// code, with which the paper ran it. What its own learner does otherwise is in
// vds_params.go.

const (
	vdsMembers    = 3
	vdsCandidates = 1000 // goals considered for an episode
	vdsUpdates    = 100  // updates of every member after each episode
	vdsBatch      = 1000 // transitions of one member's minibatch
	vdsRate       = 1e-3 // Adam's step
	vdsPolyak     = 0.95 // what the targets keep of themselves after each episode
)

// A vds is the curriculum VDS.
//
// Reading: its value functions see inputs as the agent's normaliser scales
// them, and learn with the agent's discount and clip; their goals are not
// relabelled. VDS's code normalises for them apart.
//
// Reading: its value functions have the hidden layers of the agent's networks;
// VDS's code has three of 256 units for both, as the default does.
//
// Differs: the value functions learn from all transitions of an episode, 50 in
// a maze; VDS's code, whose time limit ends an episode before its last step is
// stored, keeps 49.
type vds struct {
	plain
	members *pun // their predictive heads are not used
	params  Params
	batch   batch

	x      matrix      // s, g and room for an action: candidates by the critics' input
	goals  []float64   // candidates by goal
	q      [][]float32 // values: members by candidates
	p, std []float64
}

func newVDS(p Params, sizes Sizes, seed uint64) *vds {
	p.Critics = vdsMembers
	p.CriticRate = vdsRate
	p.CriticDecay = 0
	p.GradientClip = 0
	p.Uncertainty = "pun"
	p.HeadOwnDraw, p.PredictiveGradient = true, "head"
	v := &vds{params: p, members: newPUN(p, sizes, newStream(seed, forMembers).Rand)}
	v.members.ownTargets = true
	return v
}

// reserve allocates what choosing goals and learning need.
func (v *vds) reserve(a *Agent) {
	if v.goals != nil {
		return
	}
	v.members.reserve(max(vdsBatch, a.params.Batch))
	v.batch = newBatch(vdsBatch, a.sizes, v.members)
	v.x = newMatrix(vdsCandidates, v.batch.x.cols)
	v.goals = make([]float64, vdsCandidates*a.sizes.Goal)
	v.p, v.std = make([]float64, vdsCandidates), make([]float64, vdsCandidates)
	for range vdsMembers {
		v.q = append(v.q, make([]float32, vdsCandidates))
	}
}

// goal chooses an episode's goal and keeps it to the end.
func (v *vds) goal(a *Agent, first bool) []float64 {
	if !first {
		return nil
	}
	v.reserve(a)
	for k := range vdsCandidates {
		g := at(v.goals, k, a.sizes.Goal)
		copy(g, a.sampler.SampleGoal(a.goalDraws.Rand))
		a.inputs(v.x.row(k), a.observation, g)
	}
	a.policyActions(v.x)
	for lo := 0; lo < vdsCandidates; lo += a.params.Batch {
		hi := min(lo+a.params.Batch, vdsCandidates)
		for i, c := range v.members.critics {
			q := v.q[i][lo:hi]
			copy(q, c.q.forward(a.workers, v.members.pass, v.x.slice(lo, hi)).data)
			a.clipReturns(q)
		}
	}
	valueDisagreement(v.std, v.q)
	vdsProbabilities(v.p, v.std, a.params.VDSForm)
	return at(v.goals, drawFrom(v.p, a.goalDraws), a.sizes.Goal)
}

// valueDisagreement sets std to the population standard deviation of the
// members' values of each candidate; q is members by candidates.
func valueDisagreement(std []float64, q [][]float32) {
	for k := range std {
		_, square := headMoments(q, k)
		std[k] = math.Sqrt(square / float64(len(q)))
	}
}

// vdsProbabilities sets p to the probability of each candidate, proportional to
// its deviation, to the exponential of that, or to the hyperbolic tangent of
// its square; all alike where there is nothing to choose by.
//
// Reading: the tangent is that of the variance, as in VDS's code, although the
// other two are of the deviation.
func vdsProbabilities(p, std []float64, form string) {
	sum := 0.0
	for k, σ := range std {
		switch form {
		case "identity":
			p[k] = σ
		case "exp":
			p[k] = exp(σ)
		case "tanh":
			p[k] = tanh(float64(σ * σ))
		}
		sum += p[k]
	}
	for k := range p {
		if sum > 0 {
			p[k] /= sum
		} else {
			p[k] = 1 / float64(len(p))
		}
	}
}

// endEpisode trains the members: each update gives each of them transitions of
// its own, whose goals are those pursued. Member i's target is clipped
// r + γ Q'_i(s', g, π(s', g)), with the agent's online policy and no minimum.
func (v *vds) endEpisode(a *Agent, env Env) error {
	v.reserve(a)
	b, w := &v.batch, a.workers
	loss := 0.0
	for range vdsUpdates {
		for i := range v.members.critics {
			a.sample(env, b, 0, nil)
			a.policyActions(b.next)
			q := v.members.targetValue(w, b.next, i)
			TDTarget(b.y[i], b.r, q, q, a.params.Discount)
			a.clipReturns(b.y[i])
			l, _ := v.members.learnOne(w, i, b, nil, &v.params, false)
			loss += l
		}
	}
	v.members.updateTargets(w, vdsPolyak)
	if !finite(loss) {
		return &NumericError{a.step, "VDS value functions", loss}
	}
	return nil
}

func (v *vds) networks() []parameterVector { return v.members.parameters("VDS member") }

func (v *vds) state(c coder) { v.members.state(c) }
