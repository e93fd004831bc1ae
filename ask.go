package qta

import "fmt"

// This file is what an agent answers when it is asked: how much it values goals,
// and how uncertain it is, in any environment. Asking changes nothing in
// training, whatever is asked, and how often.

// Value returns what the agent expects of pursuing goals from observations: for
// each pair the mean over the critics of Q(s, π(s, g), g), a sum of discounted
// rewards, which is 0 where it is at the goal already and at least about
// -1/(1-Discount). Element k of the result is about observations[k] and
// goals[k], in the environment's units. Value panics unless there are as many
// goals as observations, each of the agent's [Sizes].
//
// It is the mean Q value of the threshold at the end of section 3.3, and is not
// clipped to the returns that there are.
func (a *Agent) Value(observations, goals [][]float64) []float64 {
	q := a.asked(observations, goals)
	a.valuesTowards(q.ε, q.x)
	return q.ε
}

// Uncertainty returns the agent's epistemic uncertainty in observations with
// goals: Equation 5 at exactly these s and g, in the unit of what the heads
// predict, that of an observation unless HeadTarget says otherwise. Element k
// of the result is about observations[k] and goals[k]. The d actions
// (UncertaintyActions, or EnsembleActions) are drawn from the seed: with the same
// seed the answer is the same. Uncertainty panics unless there are as many goals as
// observations, each of the agent's [Sizes].
//
// It is the estimate by the agent's heads as they are, also where the agent
// chooses its goals by another, as by the average of UncertaintyPolyak that
// [Default] has, or by none: [Agent.Survey] shows what it chooses by.
func (a *Agent) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	q := a.asked(observations, goals)
	newPredictive(&a.params).answer(a.pun, q, a.sizes.Action, newStream(seed, forSurvey))
	return q.ε
}

// GoalProbabilities returns Equation 6 of candidates: the probability that their
// [Agent.Uncertainty] gives each of them as the next goal, with the agent's Slope
// and Intercept. They add up to 1; a candidate is an observation with a goal,
// as QTA has it the one that is achieved there. GoalProbabilities panics as
// Uncertainty does.
func (a *Agent) GoalProbabilities(observations, goals [][]float64, seed uint64) []float64 {
	return a.goalProbabilities(a.Uncertainty(observations, goals, seed))
}

// goalProbabilities is Equation 6 for any number of candidates, also none.
func (a *Agent) goalProbabilities(ε []float64) []float64 {
	p := make([]float64, len(ε))
	if len(p) > 0 {
		GoalProbabilities(p, ε, a.params.Slope, a.params.Intercept)
	}
	return p
}

// asked returns a query with rows of s and g, normalized.
func (a *Agent) asked(observations, goals [][]float64) *query {
	a.checkAsked(observations, goals)
	a.reserve()
	q := new(query)
	q.resize(len(observations), a.sizes)
	for k := range observations {
		a.inputs(q.x.row(k), observations[k], goals[k])
	}
	return q
}

// checkAsked panics unless observations and goals go together.
func (a *Agent) checkAsked(observations, goals [][]float64) {
	if len(observations) != len(goals) {
		panic(fmt.Sprintf("qta: an agent asked about %d observations and %d goals", len(observations), len(goals)))
	}
	for k := range observations {
		if len(observations[k]) != a.sizes.Observation || len(goals[k]) != a.sizes.Goal {
			panic(fmt.Sprintf("qta: an agent asked about an observation of %d and a goal of %d, want %d and %d",
				len(observations[k]), len(goals[k]), a.sizes.Observation, a.sizes.Goal))
		}
	}
}
