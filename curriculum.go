package qta

import "fmt"

// A curriculum chooses the goals that the agent pursues: QTA, which is the
// paper's, or one of those it is compared with. All of them run on the same
// learner, so that a comparison isolates the choice of goals.
type curriculum interface {
	// goal returns the goal to pursue from the current state: an episode's
	// first, or the next after a success; nil keeps the present one. It stands
	// until the next call.
	goal(a *Agent, first bool) []float64

	// atGoal tells that a step which is not the episode's last ended at the
	// goal, before goal is asked for the next.
	atGoal(a *Agent)

	// replayGoal returns the goal that transition i is replayed with.
	replayGoal(a *Agent, i int) []float64

	// randomAction returns the probability of a random action.
	randomAction(a *Agent) float64

	// endEpisode is told that an episode is in the replay, after the update
	// that follows its last step, or, with UpdatesPerEpisode, before those of
	// the episode.
	endEpisode(a *Agent, env Env) error

	// networks returns the parameters of networks of its own.
	networks() []parameterVector

	// state goes through whatever of it training changes.
	state(c coder)
}

// newCurriculum returns the one that the parameters name.
func newCurriculum(p Params, sizes Sizes, seed uint64) curriculum {
	switch p.Curriculum {
	case "qta":
		return new(queryTheAgent)
	case "mega":
		return newMEGA(p)
	case "vds":
		return newVDS(p, sizes, seed)
	case "her":
		return new(desiredGoals)
	case "random":
		return new(randomGoals)
	}
	panic(fmt.Sprintf("qta: no curriculum %q", p.Curriculum)) // Validate refuses it
}

// plain is the part of a curriculum that most have in common: it only chooses
// goals.
type plain struct{}

func (plain) atGoal(*Agent)                {}
func (plain) endEpisode(*Agent, Env) error { return nil }
func (plain) networks() []parameterVector  { return nil }
func (plain) state(coder)                  {}
func (plain) replayGoal(a *Agent, i int) []float64 {
	return a.replay.draw(i, a.params.HindsightRatio, a.draws.Rand)
}

func (plain) randomAction(a *Agent) float64 {
	if a.explored {
		return a.params.RandomActionLater
	}
	return a.params.RandomAction
}

// desiredGoals is HER (Andrychowicz et al., 2017) without a curriculum: the
// environment's goal, for the whole episode.
type desiredGoals struct{ plain }

func (*desiredGoals) goal(a *Agent, first bool) []float64 {
	if !first {
		return nil
	}
	return a.desired
}

// randomGoals is a control that the paper has not: goals achieved before,
// drawn uniformly, and new ones after a success, as in QTA's initial steps.
type randomGoals struct{ plain }

func (*randomGoals) goal(a *Agent, first bool) []float64 {
	if a.replay.n == 0 {
		return a.achieved
	}
	return at(a.replay.achieved, a.goalDraws.index(a.replay.n), a.sizes.Goal)
}
