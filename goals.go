package qta

import "slices"

// This file is section 3.2, where QTA chooses a goal by Equations 5 and 6. It also has the
// threshold from the end of section 3.3.

// setGoal sets the goal that the agent pursues from here. This is an episode's first goal,
// or the next goal after a success: "Whenever the agent successfully reaches its goal, a new
// goal is sampled".
func (a *Agent) setGoal(first bool) error {
	goal, err := a.curriculum.goal(a, first)
	if err != nil || goal == nil {
		return err
	}
	copy(a.goal, goal)
	a.reached = false   // for departures
	a.firstGoal = first // for departures
	a.goalsSet++
	return nil
}

// A curriculum chooses the goals that the agent pursues: QTA, or a method that
// the paper compares it with.
type curriculum interface {
	// goal returns the goal to pursue from the current state: an episode's first goal, or
	// the next one after a success. After a success, nil keeps the goal just reached.
	goal(a *Agent, first bool) ([]float64, error)

	// replayGoal returns the goal that transition i is replayed with.
	replayGoal(a *Agent, i int) []float64

	// The other methods are for departures.

	ready(env Env) error         // returns an error if the curriculum cannot train in env
	endEpisode(a *Agent) error   // is called when a whole episode is in the replay
	networks() []parameterVector // the parameters of the curriculum's own networks
	savedState() savedFields     // what training changes
}

// curriculumDefaults has the methods of a curriculum that does nothing but choose goals: all
// except goal. Its replayGoal relabels as HER does.
type curriculumDefaults struct{}

func (curriculumDefaults) ready(Env) error             { return nil }
func (curriculumDefaults) endEpisode(*Agent) error     { return nil }
func (curriculumDefaults) networks() []parameterVector { return nil }
func (curriculumDefaults) savedState() savedFields     { return nil }
func (curriculumDefaults) replayGoal(a *Agent, i int) []float64 {
	return a.replay.relabel(i, a.params.HindsightRatio, a.draws.Rand)
}

// paperCurriculum is the paper's curriculum.
type paperCurriculum struct{ curriculumDefaults }

// goal draws one of the candidates by Equation 6 and returns its goal.
//
// Reading R23: the threshold comes first, and uncertainties are scaled over the candidates
// that pass it. Sections 3.2 and 3.3 name no order of the two.
//
// Reading R22: in the first InitialSteps environment steps of a run, goals are drawn
// uniformly from those achieved so far. The table calls these steps "initial random steps".
// The authors' code has one such step more. A run's first goal is where the agent stands,
// because nothing else has been achieved.
func (paperCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	if a.step < a.params.InitialSteps || a.replay.n == 0 {
		return a.randomGoal(), nil
	}
	transitions := a.drawCandidates()
	if first {
		transitions = a.achievableNow(transitions) // section 3.3; all of them if none passes
	}
	ε := a.estimator.uncertainty(a, a.candidates(transitions, first), a.goalDraws)
	p := make([]float64, len(transitions))
	GoalProbabilities(p, ε, a.params.Slope, a.params.Intercept)
	chosen := transitions[pick(p, a.goalDraws.Float64())]
	return a.replay.achieved.at(chosen), nil
}

// randomGoal draws a goal uniformly from those achieved before. If there are none, it
// returns the goal achieved now.
func (a *Agent) randomGoal() []float64 {
	if a.replay.n == 0 {
		return a.achieved
	}
	return a.replay.achieved.at(a.goalDraws.index(a.replay.n))
}

// drawCandidates returns the indices of all transitions. If there are more than N, it
// returns only N of them, and all choices are equally likely. The indices are in ascending
// order.
//
// Reading R24: a candidate is a state in which the agent has been, with the goal achieved
// there. States of the running episode are candidates, too.
//
// Reading R104: a candidate is a state in which the agent has taken an action, so an
// episode's final state is never a candidate.
//
// Differs D30: a choice has at most N candidates, which bounds its cost. The introduction
// has "all previously observed states", and section 3.2 "an arbitrarily large number". The
// authors' code takes all that are stored. In [Paper] N is 4000, which we chose after runs
// on the mazes 14x5 and 15x5.
//
// Reading R118: no candidate is drawn twice in one choice. The paper does not say, and the
// authors' code takes each stored state once.
func (a *Agent) drawCandidates() []int {
	n := a.replay.n
	N := a.params.Candidates
	drawn := make([]int, 0, min(n, N))
	for i := range n {
		missing := N - len(drawn)
		// Transition i is taken with probability missing / (n - i).
		if n <= N || a.goalDraws.index(n-i) < missing {
			drawn = append(drawn, i)
		}
	}
	return drawn
}

// uncertainty returns the epistemic uncertainty of N candidates: the mean over d
// random actions of the heads' deviation, which [HeadDeviation] computes,
//
//	ε_k = 1/d Σ_j deviation_i P_i(Q_backbone,i(s_k, a_j, g_k))
//
// Row k of x begins with s_k and g_k. There are d matrices of actions. Every row of
// actions[j] is a_j, which uncertainty writes to the last columns of x.
//
// It implements QTA, Equation 5 (Section 3.2).
//
// Reading R17: the sum over d actions has d terms, and the sum over G heads has G. The
// paper's sums start at 0, not at 1, so each has one term more. The same holds for its sum
// over N candidates in Equation 6.
func (u *ensemble) uncertainty(x matrix, actions []matrix) []float64 {
	d := float64(len(actions))
	ε := make([]float64, x.rows)
	σ := make([]float64, x.rows)
	for _, a := range actions {
		x.setLastColumns(a)
		u.headDeviations(σ, x)
		for k := range ε {
			ε[k] += σ[k] / d
		}
	}
	return ε
}

// headDeviations sets σ to the deviation of the heads' predictions for each row of x.
func (u *ensemble) headDeviations(σ []float64, x matrix) {
	for lo := 0; lo < x.rows; lo += chunkRows {
		hi := min(lo+chunkRows, x.rows)
		chunk := x.slice(lo, hi)
		predictions := u.perCritic(chunk.rows * u.headWidth)
		for i, c := range u.critics {
			ξ := c.q.latent(u.pass, chunk)
			u.predict(i, predictions[i], ξ)
		}
		HeadDeviation(σ[lo:hi], predictions, u.predicted)
	}
}

// chunkRows is how many rows go through the networks at a time. It limits the memory for
// the networks' outputs.
const chunkRows = 384

// drawActions draws the d actions of Equation 5, which are the same for all n candidates.
// It returns each action as a matrix with n equal rows, which share one row in memory.
//
// Reading R55: the display's a_j has no k, and the authors' code has one set of actions
// for all candidates. Actions drawn anew for each candidate would add noise to the
// estimates that Equation 6 compares.
func drawActions(rng stream, d, n, components int) []matrix {
	actions := make([]matrix, d)
	for j := range actions {
		a := make([]float32, components)
		for c := range a {
			a[c] = float32(symmetric(rng.Rand))
		}
		actions[j] = matrix{rows: n, cols: components, rowStride: 0, colStride: 1, data: a}
	}
	return actions
}

// candidates are states in which the agent was, with the goals achieved there. The agent
// chooses one of these goals.
type candidates struct {
	states, goals [][]float64
	desired       []float64 // the environment's goal
	now           []float64 // the agent's observation now: for departures
	first         bool      // whether an episode's first goal is chosen: for departures
}

// candidates returns the states in which the given transitions begin, with the goals
// achieved there.
func (a *Agent) candidates(transitions []int, first bool) candidates {
	return candidates{
		states:  a.replay.observation.of(transitions),
		goals:   a.replay.achieved.of(transitions),
		desired: a.desired,
		now:     a.observation,
		first:   first,
	}
}

// An estimator says how uncertain the agent is about each candidate. The paper's estimator
// is Equation 5. Some methods that the paper compares QTA with have other estimators.
type estimator interface {
	uncertainty(a *Agent, c candidates, rng stream) []float64
}

// paperEstimator is Equation 5 for an ensemble.
type paperEstimator struct{ u *ensemble }

func (e paperEstimator) uncertainty(a *Agent, c candidates, rng stream) []float64 {
	actions := drawActions(rng, e.u.d, len(c.goals), a.sizes.Action)
	return e.u.uncertainty(c.inputs(a), actions)
}

// inputs returns a row of s_k and g_k for each candidate: the networks' inputs in
// Equation 5.
//
// Reading R27: s_k is the state in which the agent achieved the candidate's goal. The
// critics' goal g_k is the one that UncertaintyGoal names.
//
// Differs D3: section 3.2 feeds the critics the environment's desired goal, "though
// the prediction is learned to be agnostic to the choice of goal". In [Paper] g_k is the
// goal achieved at the candidate, as in the authors' code. [Literal] follows section 3.2,
// but needs more steps, or leaves a maze unsolved (results/README.md).
func (c candidates) inputs(a *Agent) matrix {
	goals := c.goals
	if a.params.UncertaintyGoal == "desired" {
		goals = slices.Repeat([][]float64{c.desired}, len(c.goals))
	}
	return a.rows(c.states, goals)
}

// scaleUncertainty sets scaled to (ε - min ε) / (max ε - min ε), or to zeros if all ε are
// equal. It is part of QTA, Equation 6.
//
// It implements QTA, the scaling (Section 3.2).
//
// Reading R97: "normalized between 0 and 1" means that the least becomes 0 and the greatest
// 1, as in the authors' code. A division by the greatest would leave the least above 0.
func scaleUncertainty(scaled, ε []float64) {
	if len(ε) == 0 {
		return
	}
	low := slices.Min(ε)
	high := slices.Max(ε)
	for k, v := range ε {
		scaled[k] = 0
		if high != low {
			scaled[k] = (v - low) / (high - low)
		}
	}
}

// GoalProbabilities sets p, of N values, to the probability that each candidate is the next
// goal, given the candidates' uncertainties ε. A probability is proportional to the weight
// max(m ε + b, 0), with ε scaled to between 0 and 1. All of p is NaN if an uncertainty is
// NaN, or if the largest minus the least is infinite. GoalProbabilities panics if lengths
// differ.
//
// It implements QTA, Equation 6 (Section 3.2).
//
// Differs D1: the display's denominator has m ε b in place of m ε + b. With the table's m
// above 0 and b below, that would always be 0.
//
// Reading R28: equal uncertainties are scaled to 0. If no weight is positive, all candidates
// are equally likely.
//
// Reading R29: every positive weight counts. The authors' code sets weights below 1e-4 to
// zero.
func GoalProbabilities(p, ε []float64, m, b float64) {
	if len(p) != len(ε) {
		panic("qta: GoalProbabilities: as many probabilities as uncertainties are needed")
	}
	scaleUncertainty(p, ε)
	for k := range p {
		p[k] = max(float64(m*p[k])+b, 0)
	}
	toProbabilities(p)
}

// toProbabilities divides the weights p by their sum. If the sum is 0, it makes all
// probabilities equal.
func toProbabilities(p []float64) {
	sum := 0.0
	for _, weight := range p {
		sum += weight
	}
	for k := range p {
		if sum == 0 {
			p[k] = 1 / float64(len(p))
		} else {
			p[k] /= sum
		}
	}
}

// pick returns index k with probability p[k], if u is uniform on [0, 1). k is the first index
// for which p[0] + ... + p[k] exceeds u.
func pick(p []float64, u float64) int {
	picked := 0
	for k, v := range p {
		if v > 0 {
			picked = k
			u -= v
			if u < 0 {
				break
			}
		}
	}
	return picked // the last index with p > 0, if rounding leaves even the whole sum at or below u
}

// Achievable returns the candidates whose mean Q is at least c T. If there are none, it
// returns all candidates. q[k] is the mean Q of candidates[k]. The order stays. The result
// overwrites candidates.
//
// It implements QTA, the threshold (Section 3.3).
func Achievable(candidates []int, q []float64, c float64, T int) []int {
	least := c * float64(T)
	kept := candidates[:0]
	for k, candidate := range candidates {
		if q[k] >= least {
			kept = append(kept, candidate)
		}
	}
	if len(kept) == 0 {
		// Reading R26: if no candidate passes, all are kept, as in the authors' code.
		return candidates
	}
	return kept
}

// achievableNow returns those of the transitions that stay candidates for an episode's
// first goal. A candidate stays if its goal, pursued from the current state, has a mean Q
// of at least c T.
//
// Reading R25: Q is taken at the episode's start with the policy's action, and T is the
// horizon. A candidate whose Q is exactly at the threshold stays.
func (a *Agent) achievableNow(transitions []int) []int {
	now := slices.Repeat([][]float64{a.observation}, len(transitions))
	values := a.Value(now, a.replay.achieved.of(transitions))
	return Achievable(transitions, values, a.params.Threshold, a.params.Horizon)
}
