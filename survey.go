package qta

import (
	"fmt"
	"slices"
)

// A Survey is what an agent makes of a set of points: the data of the paper's
// Figure 5. Its slices have an element per point.
type Survey struct {
	Value       []float64 // mean over the critics of Q(start, π(start, point), point), in discounted rewards
	Deviation   []float64 // Equation 5 at the point, in the prediction's units
	Probability []float64 // Equation 6 with the points as candidates
	Samples     []int     // indices of points drawn with these probabilities
}

// Survey asks the agent about points, each taken as a state and as a goal, and
// draws samples of them as goals; of no points there is neither. start is an observation, and desired the
// environment's goal, which UncertaintyGoal may ask for. The environment must
// be one whose observation is its achieved goal, as in a maze; otherwise Survey
// panics. Chance comes from the seed and the step alone, and training is not
// changed.
//
// Reading: the caption of Figure 5 has the "value function for all states"; it
// is shown as the value of every point as a goal from the start, which is what
// its "optimal value function" can be compared with. The state of Equation 5 is
// the point for each candidate.
//
// Reading: that value is of the policy's action, and is not clipped; the
// authors' script has the action zero, and clips at -50.
//
// Reading: the caption has the "average error among the three predictive heads"
// in the fourth column, and the text "the estimated epistemic uncertainty" there;
// it is shown as Equation 5.
func (a *Agent) Survey(start, desired []float64, points [][]float64, samples int) Survey {
	if a.sizes.Observation != a.sizes.Goal {
		panic(fmt.Sprintf("qta: Survey with observations of %d and goals of %d", a.sizes.Observation, a.sizes.Goal))
	}
	if len(points) == 0 {
		return Survey{}
	}
	p := a.params
	a.reserve()
	rng := newStream(a.seed, forSurvey+purpose(a.step)<<8)
	n := len(points)
	s := Survey{make([]float64, n), make([]float64, n), make([]float64, n), make([]int, samples)}

	var q query
	q.resize(n, a.sizes)
	q.now, q.desired = start, desired
	for k, point := range points {
		a.inputs(q.x.row(k), start, point)
		q.states[k], q.goals[k] = point, point
	}
	a.valuesTowards(s.Value, q.x)
	a.estimator.estimate(a, &q, rng)
	copy(s.Deviation, q.ε)

	GoalProbabilities(s.Probability, s.Deviation, p.Slope, p.Intercept)
	for i := range s.Samples {
		s.Samples[i] = drawFrom(s.Probability, rng)
	}
	return s
}

// Goals returns the goals that the agent set itself at environment steps from
// to to, the latter excluded, in order. A goal is set where an episode begins,
// and where the goal pursued changes. Goals panics unless 0 <= from <= to <=
// Steps().
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
