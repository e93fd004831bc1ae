package qta

import (
	"fmt"
	"slices"
)

// A Survey is what an agent makes of a set of points: the data of the paper's
// Figure 5. Its slices have an element per point, but Samples.
type Survey struct {
	Value       []float64 // mean over the critics of Q(start, π(start, g), g), in discounted rewards
	Deviation   []float64 // Equation 5 at the point, in the prediction's units, or what the agent has in its place
	Probability []float64 // Equation 6 with the points as candidates
	Samples     []int     // indices of points drawn with these probabilities; none of no points
}

// Survey asks the agent about points, and draws samples of them as goals. A
// point is an observation and the goal that is achieved there; in a maze they
// are the same. start is an observation, and desired the environment's goal,
// which UncertaintyGoal may ask for. The uncertainty is the one that the agent
// chooses its goals by, of the average and with noise if it has them;
// [Agent.Uncertainty] is Equation 5 alone. Chance comes from the seed and the
// step alone, and training is not changed. Survey panics unless there are as many
// goals as observations, each of the agent's [Sizes].
//
// Reading R92: the caption of Figure 5 has the "value function for all states"; it
// is shown as the value of every point as a goal from the start, which is what
// its "optimal value function" can be compared with. The state of Equation 5 is
// the point for each candidate.
//
// Reading R93: that value is of the policy's action, and is not clipped; the
// authors' script has the action zero, and clips at -50.
//
// Reading R94: the caption has the "average error among the three predictive heads"
// in the fourth column, and the text "the estimated epistemic uncertainty" there;
// it is shown as Equation 5.
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
		Probability: a.goalProbabilities(q.ε),
		Samples:     make([]int, samples),
	}
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
