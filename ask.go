package qta

import (
	"fmt"
	"slices"
)

// This file is what an agent answers when asked, in any environment: how much it
// values goals, how uncertain it is, what it has seen and pursued. No question
// changes anything in training.

// Value returns, for each observation with its goal, the mean over the critics
// of Q(s, π(s, g), g), as in section 3.3's threshold: a sum of discounted
// rewards, not clipped to the possible returns. It panics unless there are as
// many goals as observations, each of the agent's [Sizes].
func (a *Agent) Value(observations, goals [][]float64) []float64 {
	q := a.asked(observations, goals)
	a.valuesTowards(q.ε, q.x)
	return q.ε
}

// Uncertainty returns the epistemic uncertainty in each observation with its
// goal: Equation 5, by the agent's heads, in the unit of what they predict. The
// seed decides the d actions, and so the answer. [Agent.Survey] has the
// estimate by which the agent chooses its goals, such as that of an average of
// the heads ([Default]). Uncertainty panics as [Agent.Value] does.
func (a *Agent) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	q := a.asked(observations, goals)
	newPredictive(&a.params).answer(a.pun, q, a.sizes.Action, newStream(seed, forSurvey))
	return q.ε
}

// A Survey is what an agent makes of a set of points: the data of the paper's
// Figure 5. Samples apart, its slices have one element per point.
type Survey struct {
	Value       []float64 // mean over the critics of Q(start, π(start, g), g), in discounted rewards
	Deviation   []float64 // Equation 5 at the point, or the estimate that the agent has in its place
	Probability []float64 // Equation 6 with the points as candidates
	Samples     []int     // indices of points drawn with these probabilities; none without points
}

// Survey asks the agent about points and draws samples of them as goals. A
// point is an observation and the goal achieved there. start is an observation,
// and desired the environment's goal, which UncertaintyGoal may ask for. The
// uncertainty is the one by which the agent chooses its goals. Chance depends
// only on the seed and the step. Survey panics as [Agent.Value] does.
//
// Reading R92: the caption of Figure 5 has the "value function for all states";
// it is shown as the value of every point as a goal from the start, to compare
// with its "optimal value function". The state of Equation 5 is the point for
// each candidate.
//
// Reading R93: that value is of the policy's action, and is not clipped; the
// authors' script has the action zero, and clips at -50.
//
// Reading R94: the caption has the "average error among the three predictive
// heads" in the fourth column, and the text "the estimated epistemic
// uncertainty" there; it is shown as Equation 5.
func (a *Agent) Survey(start, desired []float64, observations, goals [][]float64, samples int) Survey {
	a.checkAsked([][]float64{start}, [][]float64{desired})
	q := a.asked(observations, goals)
	if len(goals) == 0 {
		return Survey{}
	}
	copy(q.states, observations)
	copy(q.goals, goals)
	q.now, q.desired = start, desired
	rng := newStream(a.seed, forSurvey+purpose(a.step)<<8)
	a.estimator.estimate(a, q, rng)

	s := Survey{
		Value:       a.Value(slices.Repeat([][]float64{start}, len(goals)), goals),
		Deviation:   q.ε,
		Probability: make([]float64, len(goals)),
	}
	GoalProbabilities(s.Probability, q.ε, a.params.Slope, a.params.Intercept)
	for range samples {
		s.Samples = append(s.Samples, drawFrom(s.Probability, rng))
	}
	return s
}

// State returns where the agent is in training, in the environment's units, and
// the environment's goal; zeros before the first episode. The caller owns the
// slices.
func (a *Agent) State() State {
	return State{slices.Clone(a.observation), slices.Clone(a.achieved), slices.Clone(a.desired)}
}

// Achieved returns the goal achieved in the state in which environment step i
// began, of which QTA takes its candidates; that of step [Agent.Steps] is the
// current state's. The caller owns the slice. Achieved panics for any other i.
func (a *Agent) Achieved(i int) []float64 {
	if i < 0 || i > a.step {
		panic(fmt.Sprintf("qta: Achieved of step %d of %d", i, a.step))
	}
	if i == a.step {
		return slices.Clone(a.achieved)
	}
	return slices.Clone(at(a.replay.achieved, i, a.sizes.Goal))
}

// Goals returns, in order, the goals that the agent set itself from environment
// step from on and before step to: where an episode begins and where the goal
// changes. It panics unless 0 <= from <= to <= Steps().
func (a *Agent) Goals(from, to int) [][]float64 {
	if from < 0 || from > to || to > a.step {
		panic(fmt.Sprintf("qta: Goals of steps %d to %d of %d", from, to, a.step))
	}
	var goals [][]float64
	for i := from; i < to; i++ {
		g := at(a.replay.goal, i, a.sizes.Goal)
		if i%a.params.Horizon == 0 || !slices.Equal(g, at(a.replay.goal, i-1, a.sizes.Goal)) {
			goals = append(goals, slices.Clone(g))
		}
	}
	return goals
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
