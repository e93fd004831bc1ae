package qta

import (
	"cmp"
	"math"
	"slices"
)

// This file is what neither the paper nor its authors' code has: options that
// were measured for what they save; results/README.md has the figures.

// goBeyond installs them.
func (a *Agent) goBeyond() {
	p := &a.params
	if p.UpdatesPerStep > 1 {
		a.again, a.update = a.update, (*Agent).updateAgain
	}
	if p.CandidatesKept > 0 {
		a.remember = (*Agent).keepUncertain
	}
	if p.RandomActionReached > 0 {
		a.curriculum = bold{a.curriculum, p.RandomActionReached}
	}
}

// updateAgain is UpdatesPerStep updates, each as it would be alone.
func (a *Agent) updateAgain() error {
	update := a.update
	defer func() { a.update = update }()
	a.update = a.again
	for range a.params.UpdatesPerStep {
		if err := a.learn(); err != nil {
			return err
		}
	}
	return nil
}

// bold is a curriculum whose agent acts at random with another probability once
// an episode's first goal is reached: where it has arrived it has nothing left
// to lose, as in MEGA's code and in "first return, then explore" (Ecoffet et
// al., 2021).
type bold struct {
	curriculum
	p float64
}

func (b bold) randomAction(a *Agent) float64 {
	if a.firstGoal && !a.reached {
		return b.curriculum.randomAction(a)
	}
	return b.p
}

// keepUncertain keeps the most uncertain candidates of a choice for the next
// (CandidatesKept), in that order, each transition once: a rare state that one
// choice has found is not left to chance by the next.
func (a *Agent) keepUncertain(s *selection) {
	ε := s.query.ε
	order := make([]int, len(s.candidates))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(ε[j], ε[i]), cmp.Compare(s.candidates[i], s.candidates[j]))
	})
	a.kept = a.kept[:0]
	for _, k := range order {
		if len(a.kept) == a.params.CandidatesKept {
			break
		}
		if !slices.Contains(a.kept, s.candidates[k]) {
			a.kept = append(a.kept, s.candidates[k])
		}
	}
}

// visitKept goes through a.kept: CandidatesKept transitions, or what none is.
func (a *Agent) visitKept(c coder) {
	const none = math.MaxInt32
	kept := make([]int, a.params.CandidatesKept)
	for k := range kept {
		if kept[k] = none; k < len(a.kept) {
			kept[k] = a.kept[k]
		}
		c.int(&kept[k], none)
	}
	if c.loading() {
		if k := slices.Index(kept, none); k >= 0 {
			kept = kept[:k]
		}
		a.kept = kept
	}
}
