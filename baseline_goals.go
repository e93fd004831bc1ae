package qta

// This file is the two simplest curricula: HER's, which is none, and uniformly
// drawn achieved goals.

// desiredGoals is HER (Andrychowicz et al., 2017) without a curriculum: the
// environment's goal, for the whole episode.
type desiredGoals struct{ plain }

func (*desiredGoals) goal(a *Agent, first bool) ([]float64, error) {
	if !first {
		return nil, nil
	}
	return a.desired, nil
}

// randomGoals is a control that the paper has not: goals achieved before,
// drawn uniformly, and new ones after a success, as in QTA's initial steps.
type randomGoals struct{ plain }

func (*randomGoals) goal(a *Agent, first bool) ([]float64, error) {
	if a.replay.n == 0 {
		return a.achieved, nil
	}
	return at(a.replay.achieved, a.goalDraws.index(a.replay.n), a.sizes.Goal), nil
}
