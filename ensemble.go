package qta

import (
	"cmp"
	"fmt"
)

// This file gives the ensemble of pun.go an API of its own, for use with other learners
// than the agent's.

// A PUN is the ensemble of Predictive Uncertainty Networks by itself (section 3.1). It has
// G critics that learn the values of the caller's transitions, each with a head that
// predicts the next observation. The heads disagree where the data are too few, so a
// learner of any kind can ask them where to go. A PUN is not safe for concurrent use.
//
// Transitions are passed as tables of observations, goals, actions and next observations.
// Row k of each is transition k's, with the length that the PUN's [Sizes] say. If
// Sizes.Goal is 0, a table of goals may be nil. A PUN does not normalize: observations and
// goals should be of order 1, and actions in [-1, 1]. Methods panic if a length is wrong,
// or if a number is not finite as a float32. Learn also panics if there is no transition.
type PUN struct {
	params  Params
	sizes   Sizes
	pun     *ensemble
	draws   stream // of the pair M
	updates int
	batch   batch // the latest minibatch; one of the same size uses its memory again
}

// NewPUN returns an untrained ensemble. Its initial weights and its pairs M come from seed.
// NewPUN uses only these fields of p: the networks' sizes, G, the learning rates, γ, ρ and
// UncertaintyActions. But all of p must be valid.
func NewPUN(p Params, sizes Sizes, seed uint64) (*PUN, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if sizes.Observation < 1 || sizes.Goal < 0 || sizes.Action < 1 {
		return nil, fmt.Errorf("qta: sizes %+v of an ensemble, want 1 and above, or 0 for the goal",
			sizes)
	}
	used := p
	used.ClipReturns = false // the caller's rewards may have other bounds
	rng := newStream(seed, forInitialization).Rand
	s := paperShape(&used, sizes)
	return &PUN{
		params: p,
		sizes:  sizes,
		pun:    newEnsemble(&used, sizes, paperHeads{}, s, rng, newWorkers(1)),
		draws:  newStream(seed, forLearning),
	}, nil
}

// Learn makes one update on a minibatch. Each critic and its head descend the sum of
// Equations 2 and 4, and the target critics follow by Equation 3. y holds the values that
// Q(s, a, g) should have, from [PUN.Targets] or elsewhere. Learn returns the losses of
// critics and heads, as means over the ensemble. It returns a [*NumericError] if a loss is
// not finite: continue from a saved ensemble then.
func (u *PUN) Learn(observations, goals, actions, next [][]float64, y []float64) (
	critic, head float64, err error) {
	if len(observations) == 0 {
		panic("qta: PUN: no transition to learn from")
	}
	b := u.minibatch(len(observations))
	s, g, a := u.sizes.parts(b.x)
	setTable(s, "observations", observations)
	setTable(g, "goals", goals)
	setTable(a, "actions", actions)
	setTable(b.sNext, "next observations", next)
	setNumbers(b.y, "targets", y)
	critic, head = u.pun.learn(b)
	u.pun.follow()
	u.updates++
	err = cmp.Or(
		checkFinite(u.updates, "critics", critic),
		checkFinite(u.updates, "predictive heads", head))
	return critic, head, err
}

// Targets returns y of Equation 1 for a minibatch. The caller's policy chooses
// nextActions, a', for the next observations. Each call draws the pair M anew. Targets are
// not clipped. No transition is taken as terminal, so the caller replaces the target of a
// terminal transition by its reward.
func (u *PUN) Targets(rewards []float64, next, goals, nextActions [][]float64) []float64 {
	b := u.minibatch(len(next))
	s, g, a := u.sizes.parts(b.next)
	setTable(s, "next observations", next)
	setTable(g, "goals", goals)
	setTable(a, "next actions", nextActions)
	setNumbers(b.r, "rewards", rewards)
	u.pun.heads.targets(u.pun, b, u.draws)
	y := make([]float64, len(next))
	for k := range y {
		y[k] = float64(b.y[k])
	}
	return y
}

// Uncertainty returns Equation 5 for each observation with its goal, in the observations'
// unit. The seed decides the d random actions.
func (u *PUN) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	x := newMatrix(len(observations), u.sizes.criticWidth())
	s, g, _ := u.sizes.parts(x)
	setTable(s, "observations", observations)
	setTable(g, "goals", goals)
	actions := drawActions(newStream(seed, forSurvey), u.pun.d, x.rows, u.sizes.Action)
	return u.pun.uncertainty(x, actions)
}

// minibatch returns a batch with n rows, which may still hold the numbers of an earlier
// call.
func (u *PUN) minibatch(n int) *batch {
	if n != len(u.batch.r) {
		u.batch = u.pun.newBatch(n, u.sizes)
	}
	return &u.batch
}

// parts returns the columns of s, g and a in x, whose rows are inputs of critics.
func (s Sizes) parts(x matrix) (observations, goals, actions matrix) {
	g := s.Observation // the first column of goals
	a := g + s.Goal
	return x.columns(0, g), x.columns(g, a), x.columns(a, x.cols)
}

// setTable copies a table to the rows of dst, and panics if it does not fit.
func setTable(dst matrix, name string, table [][]float64) {
	noGoals := dst.cols == 0 && table == nil
	if len(table) != dst.rows && !noGoals {
		panic(fmt.Sprintf("qta: PUN: %d %s, want %d", len(table), name, dst.rows))
	}
	for k, row := range table {
		setNumbers(dst.row(k), name, row)
	}
}

// setNumbers copies numbers to dst, and panics if they do not fit. name is the table or list
// that they come from, for the message.
func setNumbers(dst []float32, name string, numbers []float64) {
	if len(numbers) != len(dst) {
		panic(fmt.Sprintf("qta: PUN: %d numbers in the %s, want %d", len(numbers), name, len(dst)))
	}
	for i, v := range numbers {
		dst[i] = float32(v)
		if !finite(float64(dst[i])) {
			panic(fmt.Sprintf("qta: PUN: %v in the %s is not finite as a float32", v, name))
		}
	}
}

// MarshalBinary returns the ensemble's whole state, or a [*NumericError] if a number
// in it is NaN or infinite.
func (u *PUN) MarshalBinary() ([]byte, error) {
	h := header{Params: u.params, Sizes: u.sizes}
	return h.marshal(ensembleMagic, u.savedState(), u.pun.parameters("critic"), u.updates)
}

// UnmarshalBinary replaces the ensemble by the one that MarshalBinary saved. After an error
// the ensemble is as it was. The error wraps [errors.ErrUnsupported] if another version wrote
// the checkpoint.
func (u *PUN) UnmarshalBinary(data []byte) error {
	h, state, err := openCheckpoint(ensembleMagic, data)
	if err != nil {
		return fmt.Errorf("qta: ensemble: %w", err)
	}
	loaded, err := NewPUN(h.Params, h.Sizes, 0)
	if err != nil {
		return fmt.Errorf("qta: ensemble: %w", otherVersion(err))
	}
	if err := loaded.savedState().read(state); err != nil {
		return fmt.Errorf("qta: ensemble: %w", err)
	}
	*u = *loaded
	return nil
}

func (u *PUN) savedState() savedFields {
	return append(u.pun.savedState(), u.draws.pcg, &u.updates)
}
