package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"qta"
	"qta/internal/words"
)

// This file says in words what a run is and what it has reached.

// subject names the environment.
func (id Identity) subject() string {
	if len(id.Map) > 0 {
		return "maze " + id.Environment
	}
	return id.Environment
}

// Departures lists the parameters that differ from [qta.Paper], or counts them if the
// list would be long.
func (id Identity) Departures() string {
	var parts []string
	paper := qta.Paper()
	for _, name := range Differing(paper, id.Params) {
		value := id.Params.Value(name)
		parts = append(parts, fmt.Sprintf("%s %s (not %s)", name, value, paper.Value(name)))
	}
	const few = 4
	if len(parts) > few {
		parts = []string{fmt.Sprintf("%d parameters", len(parts))}
	}
	if id.Own {
		parts = append(parts, "goals by a curriculum of its user")
	}
	if len(parts) == 0 {
		return "as in the set paper"
	}
	return "as in the set paper except for " + strings.Join(parts, ", ")
}

// story tells what the run has reached.
func (s *session) story() string {
	id := s.record.Run
	steps := words.Count(s.agent.Steps(), "environment step")
	log := s.agent.Evaluations()
	switch {
	case s.agent.SolvedAt() > 0:
		return s.solvedStory(steps)
	case len(log) == 0:
		return "no evaluation in the first " + steps
	}
	bySuccess := func(a, b qta.Evaluation) int { return cmp.Compare(a.Success, b.Success) }
	best := slices.MaxFunc(log, bySuccess)
	if best.Success == 0 {
		return fmt.Sprintf("after %s no rollout of an evaluation on %s has ended at the goal",
			steps, id.subject())
	}
	return fmt.Sprintf("after %s the best evaluation on %s is that of step %d, "+
		"with %.4g %% of its rollouts at the goal",
		steps, id.subject(), best.Step, 100*best.Success)
}

// solvedStory tells when the run was solved. steps says how many the run has taken.
func (s *session) solvedStory(steps string) string {
	id := s.record.Run
	o := s.record.Outcome
	at := s.agent.SolvedAt()
	if at < s.agent.Steps() {
		steps = fmt.Sprintf("%d of %s", at, steps)
	}
	text := fmt.Sprintf("after %s all %d rollouts of an evaluation on %s ended at the goal",
		steps, id.Rollouts, id.subject())
	if o.HeldOut != nil {
		also := "so did"
		if at < s.agent.Steps() { // the held-out rollouts are of the run's end
			also = "at the run's end so did"
		}
		text += fmt.Sprintf("; %s %s of %d more", also, o.HeldOutPercent(), o.HeldOutRollouts)
	}
	return text
}

// tooFew says what a run with a budget of so many steps never does, or returns "".
func (id Identity) tooFew(steps int) string {
	p := id.Params
	episodeEnd := (p.LearningStarts/p.Horizon + 1) * p.Horizon // the first after LearningStarts
	what := ""
	switch {
	case steps <= p.LearningStarts:
		what = fmt.Sprintf("update: LearningStarts is %d", p.LearningStarts)
	case steps < episodeEnd && p.Learner == "vds":
		what = fmt.Sprintf("update: VDS makes it at an episode's end, at step %d", episodeEnd)
	case steps <= p.Horizon && id.Curriculum() == "vds":
		what = fmt.Sprintf("goal chosen by trained critics of VDS: Horizon is %d", p.Horizon)
	case steps <= p.InitialSteps && id.Curriculum() == "qta":
		what = fmt.Sprintf("goal chosen by its uncertainty: InitialSteps is %d", p.InitialSteps)
	default:
		return ""
	}
	return words.Count(steps, "step") + " end before the first " + what
}

// Hint says what to look at first if the run has ended unsolved, or returns "".
func (r *Record) Hint() string {
	if r.State != Finished || r.Outcome.SolvedAt > 0 || len(r.Curve) == 0 {
		return ""
	}
	const see = `; see "When it does not learn" in docs/library.md.`
	if few := r.Run.tooFew(r.Outcome.Steps); few != "" {
		return few + see
	}
	last := r.Last()
	half := r.Curve[(len(r.Curve)-1)/2] // the evaluation in the middle of the run
	goals := last.GoalsSet - half.GoalsSet
	what := fmt.Sprintf("Of its latest rollouts %.0f %% ended at the goal", 100*last.Success)
	switch {
	case goals > 0 && last.GoalsReached == half.GoalsReached:
		what = fmt.Sprintf("It reached none of the %d goals that it pursued after step %d",
			goals, half.Step)
	case last.Reached > last.Success:
		what += fmt.Sprintf(", but %.0f %% had reached it", 100*last.Reached)
	case r.Outcome.FoundAt == 0 && last.Success == 0:
		what = "In training it was never at the goal"
	}
	return what + r.Apart + see
}

// unvisited names the components of a goal in which the range of the desired goals and the
// range of the achieved goals do not overlap. It returns "" if there is no such component.
func unvisited(a *qta.Agent, env *watched) (string, error) {
	rng := rand.New(rand.NewPCG(1, 0))
	var desired [][]float64
	for range HeldOut {
		goal := env.Reset(rng).Desired
		switch {
		case env.ctx.Err() != nil:
			return "", context.Cause(env.ctx)
		case len(goal) != a.Sizes().Goal:
			return "", envError(a, "Reset returned a desired goal that is not as Sizes says")
		}
		desired = append(desired, slices.Clone(goal))
	}
	var text strings.Builder
	for i := range a.Sizes().Goal {
		low, high := span(HeldOut, func(k int) float64 { return desired[k][i] })
		least, most := span(a.Steps()+1, func(k int) float64 { return a.Achieved(k)[i] })
		if low > most || high < least {
			fmt.Fprintf(&text, "; component %d of the desired goals lies between %.4g and %.4g, "+
				"but in training the agent was only between %.4g and %.4g",
				i, low, high, least, most)
		}
	}
	return text.String(), nil
}

// span returns the least and the largest of n numbers.
func span(n int, number func(k int) float64) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for k := range n {
		low = min(low, number(k))
		high = max(high, number(k))
	}
	return low, high
}
