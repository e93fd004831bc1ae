package qta

import (
	"cmp"
	"math"
	"slices"
)

// This file is a memory for the choice of goals that the paper does not have:
// the most uncertain candidates of one choice are considered again in the next
// (CandidatesKept), so that a rare state that one choice has found is not left
// to chance by the next.

// keepUncertain keeps the candidates of greatest uncertainty, in that order, each
// transition once.
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
