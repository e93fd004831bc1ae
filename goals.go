package qta

import (
	"cmp"
	"slices"
)

// This file is section 3.2, how QTA chooses a goal, and the threshold at the
// end of section 3.3; Equation 6.

// A selection is the memory of one choice of goal, with room for N candidates.
type selection struct {
	candidates []int     // transitions whose state and achieved goal are considered
	kept       []int     // those of the choice before that the next considers again
	q          []float64 // mean value of each, seen from the current state
	ε, p       []float64 // uncertainty and probability of each
	x          matrix    // s, g and room for an action: N by the critics' input
	actions    matrix    // d N by action
}

// setGoal asks the curriculum for the goal to pursue from here: an episode's
// first, or the next after a success.
func (a *Agent) setGoal(first bool) {
	goal := a.curriculum.goal(a, first)
	if goal == nil {
		return
	}
	copy(a.goal, goal)
	a.firstGoal, a.reached = first, false
	a.goalsSet++
}

// queryTheAgent is the curriculum QTA, section 3.2.
type queryTheAgent struct{ plain }

// goal returns the goal of [Agent.selectGoal].
//
// Reading: up to InitialSteps it is a uniformly drawn achieved goal, as in the
// authors' code; the table says "initial random steps". A run's very first
// goal is where the agent stands, as nothing else has been seen.
func (queryTheAgent) goal(a *Agent, first bool) []float64 {
	r := a.replay
	switch {
	case r.n == 0:
		return a.achieved
	case a.step < a.params.InitialSteps:
		return at(r.achieved, a.goalDraws.index(r.n), a.sizes.Goal)
	}
	return at(r.achieved, a.selectGoal(first), a.sizes.Goal)
}

// selectGoal is section 3.2: it returns the transition whose achieved goal is
// to be pursued.
//
// Reading: uncertainties are scaled over the candidates that the threshold has
// left; sections 3.2 and 3.3 name no order of the two.
func (a *Agent) selectGoal(first bool) int {
	s := &a.scratch.selection
	a.drawCandidates(s)
	if first {
		a.keepAchievable(s)
	}
	a.assess(s, first)
	GoalProbabilities(s.p, s.ε, a.params.Slope, a.params.Intercept)
	chosen := s.candidates[drawFrom(s.p, a.goalDraws)]
	s.keep(a.params.CandidatesKept)
	return chosen
}

// keep remembers the n candidates of greatest uncertainty, in any order, each
// transition once.
func (s *selection) keep(n int) {
	if n == 0 {
		return
	}
	order := make([]int, len(s.candidates))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(s.ε[j], s.ε[i]), cmp.Compare(s.candidates[i], s.candidates[j]))
	})
	s.kept = s.kept[:0]
	for _, k := range order {
		if len(s.kept) == n {
			break
		}
		if !slices.Contains(s.kept, s.candidates[k]) {
			s.kept = append(s.kept, s.candidates[k])
		}
	}
}

// drawCandidates fills s.candidates with all transitions, or, where there are
// more than N, with N drawn uniformly with replacement.
//
// Reading: a candidate is a state the agent has been in, from the running
// episode too, and the goal achieved there.
func (a *Agent) drawCandidates(s *selection) {
	n := a.replay.n
	s.candidates = s.candidates[:0]
	if n <= a.params.Candidates {
		for i := range n {
			s.candidates = append(s.candidates, i)
		}
	} else {
		for range a.params.Candidates {
			s.candidates = append(s.candidates, a.goalDraws.index(n))
		}
		s.candidates = append(s.candidates, s.kept...)
	}
	s.resize(len(s.candidates), &a.params, a.sizes)
}

// resize makes the vectors and matrices those of n candidates.
func (s *selection) resize(n int, p *Params, sizes Sizes) {
	width := sizes.Observation + sizes.Goal + sizes.Action
	if len(s.q) < n {
		room := min(2*n, p.Candidates+p.CandidatesKept)
		s.q = make([]float64, room)
		s.ε = make([]float64, room)
		s.p = make([]float64, room)
		s.x = newMatrix(room, width)
		s.actions = newMatrix(room*p.actions(), sizes.Action)
	}
	s.ε, s.p = s.ε[:n], s.p[:n]
	s.x.rows, s.actions.rows = n, n*p.actions()
}

// keepAchievable drops the candidates whose mean value, seen from the current
// state, is below c T.
func (a *Agent) keepAchievable(s *selection) {
	n := len(s.candidates)
	for k, i := range s.candidates {
		a.inputs(s.x.row(k), a.observation, at(a.replay.achieved, i, a.sizes.Goal))
	}
	a.valuesTowards(s.q[:n], s.x)
	s.candidates = Achievable(s.candidates, s.q[:n], a.params.Threshold, a.params.Horizon)
	s.resize(len(s.candidates), &a.params, a.sizes)
}

// valuesTowards sets q to the mean value of the policy's action in every row
// of s and g of x, whose action columns it overwrites.
func (a *Agent) valuesTowards(q []float64, x matrix) {
	a.policyActions(x)
	for lo := 0; lo < x.rows; lo += a.params.Batch {
		hi := min(lo+a.params.Batch, x.rows)
		a.pun.meanValues(a.workers, q[lo:hi], x.slice(lo, hi))
	}
}

// policyActions sets the action columns of x to the policy's for its s and g.
func (a *Agent) policyActions(x matrix) {
	for lo := 0; lo < x.rows; lo += a.params.Batch {
		chunk := x.slice(lo, min(lo+a.params.Batch, x.rows))
		inputs := chunk.columns(0, a.sizes.Observation+a.sizes.Goal)
		setColumns(chunk, inputs.cols, a.policy.act(a.workers, a.policy.net, inputs))
	}
}

// Achievable returns the candidates whose mean value q is at least c T, in the
// same order and the same memory, or all of them where none is.
//
// It implements QTA, the threshold (Section 3.3).
//
// Reading: Q is taken at the episode's start with the policy's action, and T
// is the horizon; a candidate exactly at the threshold stays.
//
// Reading: where no candidate passes, all are kept, as in the authors' code.
func Achievable(candidates []int, q []float64, c float64, T int) []int {
	limit := float64(c * float64(T))
	passes := func(v float64) bool { return v >= limit }
	if !slices.ContainsFunc(q, passes) {
		return candidates
	}
	kept := candidates[:0]
	for k, candidate := range candidates {
		if passes(q[k]) {
			kept = append(kept, candidate)
		}
	}
	return kept
}

// assess sets s.ε to the uncertainty of every candidate.
func (a *Agent) assess(s *selection, first bool) {
	for k, i := range s.candidates {
		state, goal := at(a.replay.observation, i, a.sizes.Observation), at(a.replay.achieved, i, a.sizes.Goal)
		if first && a.params.FirstGoalState == "start" {
			state = a.observation
		}
		a.query(s.x.row(k), state, goal, a.observation, a.desired)
	}
	a.estimate(s.ε, s.x, s.actions, a.goalDraws)
}

// query sets a row to the s and g that the critics are asked about a candidate
// with: its state and its goal are given, and the current state and the
// environment's goal.
//
// Reading: a candidate's state is the one the agent was in, its goal that of
// UncertaintyGoal; the authors' code has the current state in place of the
// candidates' for an episode's first goal, which FirstGoalState chooses.
//
// Reading: the disagreement of Q-values (Uncertainty q) is that of the value of
// the candidate as a goal from the current state.
func (a *Agent) query(row []float32, state, goal, current, desired []float64) {
	p := &a.params
	switch {
	case p.Uncertainty == "q" && p.QSwapped:
		a.inputs(row, goal, current)
	case p.Uncertainty == "q":
		a.inputs(row, current, goal)
	case p.UncertaintyGoal == "candidate":
		a.inputs(row, state, goal)
	default:
		a.inputs(row, state, desired)
	}
}

// estimate sets ε to the uncertainty at the s and g in the rows of x, with
// UncertaintyNoise. actions has room for d actions for each row.
func (a *Agent) estimate(ε []float64, x, actions matrix, rng stream) {
	p := &a.params
	if p.Uncertainty == "q" {
		a.policyActions(x)
		for lo := 0; lo < x.rows; lo += p.Batch {
			hi := min(lo+p.Batch, x.rows)
			a.pun.valueDeviation(a.workers, ε[lo:hi], x.slice(lo, hi))
		}
	} else {
		a.drawActions(actions, x.rows, rng)
		a.pun.uncertainty(a.workers, ε, x, actions)
	}
	if p.UncertaintyNoise > 0 {
		for k := range ε {
			ε[k] += float64(p.UncertaintyNoise * normal(rng.Rand))
		}
	}
}

// drawActions fills actions, d n by action, with uniformly random ones: those
// of candidate k in rows k, n + k, 2 n + k and so on.
func (a *Agent) drawActions(actions matrix, n int, rng stream) {
	for j := range actions.rows {
		row := actions.row(j)
		if a.params.SharedActions && j%n != 0 {
			copy(row, actions.row(j-1))
			continue
		}
		for c := range row {
			row[c] = float32(symmetric(rng.Rand))
		}
	}
}

// GoalProbabilities sets p, of N values, to the probability of each candidate
// being the next goal: proportional to max(m ε + b, 0), where ε is the
// uncertainty scaled to between 0 and 1 over the candidates.
//
// It implements QTA, Equation 6 (Section 3.2).
//
// Differs: the display's denominator has m ε b in place of m ε + b, which
// would not make the probabilities add up to 1.
//
// Reading: with N = 1 and where all uncertainties are equal every scaled value
// is 0; where no weight is positive all candidates are equally likely.
//
// Reading: every positive weight counts. The authors' code has zero for one
// below 1e-4, beside the 35 of the most uncertain candidate.
func GoalProbabilities(p, ε []float64, m, b float64) {
	scaleUncertainty(p, ε)
	sum := 0.0
	for k := range p {
		p[k] = max(float64(m*p[k])+b, 0)
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

// scaleUncertainty sets scaled to (ε - min ε) / (max ε - min ε), or to zeros
// where that is 0/0. It is part of QTA, Equation 6.
//
// It implements QTA, the scaling (Section 3.2).
func scaleUncertainty(scaled, ε []float64) {
	low, high := slices.Min(ε), slices.Max(ε)
	for k := range ε {
		scaled[k] = 0
		if high > low {
			scaled[k] = (ε[k] - low) / (high - low)
		}
	}
}

// drawFrom draws an index with the given probabilities.
func drawFrom(p []float64, rng stream) int {
	u := rng.Float64()
	last := 0
	for k, v := range p {
		if v > 0 {
			last = k
			if u -= v; u < 0 {
				break
			}
		}
	}
	return last
}
