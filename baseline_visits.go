package qta

import (
	"fmt"
	"math"
)

// This file is goals by visit counts, the count-based exploration that section
// 2 of the paper argues against and does not run; and what it shares with
// baseline_rnd.go, goals of the greatest novelty.

// visitCell is the side of a cell of the grid in which visits are counted, in
// the goal's unit. In a maze it is the side of a cell of the maze.
const visitCell = 1.0

// visits is a curriculum that pursues what it has visited least: the goals of
// the least visited cell of a grid.
//
// Reading R88: section 2 names no method of its kind. Visits count achieved
// goals in a grid of fixed cells, without any compression or learned
// similarity; goals in another unit need a [Curriculum] of their own.
type visits struct {
	plain
	counts map[string]int // by cell
	seen   int            // transitions counted
}

func (v *visits) goal(a *Agent, first bool) ([]float64, error) {
	for ; v.seen < a.replay.n; v.seen++ {
		v.counts[cellOf(at(a.replay.achieved, v.seen, a.sizes.Goal))]++
	}
	return a.mostNovel(first, v.novelty), nil
}

func (v *visits) novelty(a *Agent, ν []float64, transitions []int) {
	for k, i := range transitions {
		ν[k] = -float64(v.counts[cellOf(at(a.replay.achieved, i, a.sizes.Goal))])
	}
}

// cellOf returns the name of the cell that a goal is in.
func cellOf(goal []float64) string {
	cell := make([]float64, len(goal))
	for i, x := range goal {
		cell[i] = math.Floor(x/visitCell) + 0 // no negative zero
	}
	return fmt.Sprint(cell)
}

// mostNovel returns the most novel goal that QTA would consider, the first of
// several alike. novelty sets ν to the novelty of transitions' achieved goals.
//
// Reading R89: everything but the novelty is QTA's in [Paper], so that a
// comparison isolates it: the initial random steps, the candidates, the
// threshold on first goals, and a new goal after each success. FirstGoalDesired
// is only for QTA. The most novel goal is taken, without Equation 6, which is
// fitted to QTA's uncertainties.
func (a *Agent) mostNovel(first bool, novelty func(a *Agent, ν []float64, transitions []int)) []float64 {
	if a.step < a.params.InitialSteps || a.replay.n == 0 {
		return a.randomGoal()
	}
	s := &a.scratch.selection
	a.drawCandidates(s)
	if first {
		a.keepAchievable(s)
	}
	ν := make([]float64, len(s.candidates))
	novelty(a, ν, s.candidates)
	best := 0
	for k := range ν {
		if ν[k] > ν[best] {
			best = k
		}
	}
	return at(a.replay.achieved, s.candidates[best], a.sizes.Goal)
}
