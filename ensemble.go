package qta

import (
	"cmp"
	"fmt"
)

// This file gives PUN, the ensemble of pun.go, an API of its own, for use with learners
// of other kinds.

// A PUN is the ensemble of Predictive Uncertainty Networks by itself (section 3.1): G
// critics that learn the values of the caller's transitions, each with a head that
// predicts the next observation. Where the heads disagree, any learner has too little
// data. A PUN is not safe for concurrent use.
//
// Each transition has a row in several tables: observations, goals, actions and next
// observations, of the PUN's [Sizes]. If Sizes.Goal is 0, a table of goals may be nil.
// Numbers are not normalized: observations and goals should be of order 1, actions in
// [-1, 1]. Methods panic if tables or rows have other sizes or a number is not finite as
// a float32; Learn also panics without a transition.
type PUN struct {
	params  Params
	sizes   Sizes
	pun     *ensemble
	draws   stream // of the pair M
	updates int
	batch   batch // memory of one minibatch at a time
}

// NewPUN returns an untrained ensemble, whose randomness comes from seed. It uses only
// these fields of p: the networks' sizes, G, the learning rates, γ, ρ and
// UncertaintyActions.
func NewPUN(p Params, sizes Sizes, seed uint64) (*PUN, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if sizes.Observation < 1 || sizes.Goal < 0 || sizes.Action < 1 {
		return nil, fmt.Errorf("qta: sizes %+v of an ensemble, want 1 and above, or 0 for the goal", sizes)
	}
	u := &PUN{params: p, sizes: sizes, draws: newStream(seed, forLearning)}
	p.ClipReturns = false
	rng := newStream(seed, forInitialization).Rand
	u.pun = newEnsemble(&p, sizes, paperHeads{}, paperShape(&p, sizes), rng, newWorkers(1))
	return u, nil
}

// Learn makes one update on a minibatch. Each critic and its head descend Equations 2 and
// 4 as one loss, and the target critics follow by Equation 3. y are the values that Q(s,
// a, g) should have, from [PUN.Targets] or elsewhere. It returns both losses, as means
// over the ensemble. After a [*NumericError], which reports a loss that is not finite,
// continue from a saved ensemble.
func (u *PUN) Learn(observations, goals, actions, next [][]float64, y []float64) (critic, head float64, err error) {
	if len(observations) == 0 {
		panic("qta: PUN: no transition to learn from")
	}
	b := u.minibatch(len(observations))
	u.fill(b.x, observations, goals, actions)
	u.fill(b.sNext, next)
	setNumbers(b.y, "targets", y)
	critic, head = u.pun.learn(b)
	u.pun.follow()
	u.updates++
	return critic, head, cmp.Or(
		checkFinite(u.updates, "critics", critic), checkFinite(u.updates, "predictive heads", head))
}

// Targets returns y of Equation 1 for a minibatch. The caller's policy chooses
// nextActions, a', for the next observations. Each call draws the pair M anew.
// Nothing is clipped, and no transition is taken as terminal: if one ends an
// episode, set its target to the reward.
func (u *PUN) Targets(rewards []float64, next, goals, nextActions [][]float64) []float64 {
	b := u.minibatch(len(next))
	u.fill(b.next, next, goals, nextActions)
	setNumbers(b.r, "rewards", rewards)
	u.pun.heads.targets(u.pun, b, u.draws)
	y := make([]float64, len(next))
	for k := range y {
		y[k] = float64(b.y[k])
	}
	return y
}

// Uncertainty returns the epistemic uncertainty, Equation 5, for each
// observation and goal, in the observations' unit. The seed decides the d
// random actions.
func (u *PUN) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	x := newMatrix(len(observations), u.sizes.Observation+u.sizes.Goal+u.sizes.Action)
	u.fill(x, observations, goals)
	actions := drawActions(newStream(seed, forSurvey), u.pun.d, x.rows, u.sizes.Action)
	return u.pun.uncertainty(x, actions, HeadDeviation)
}

func (u *PUN) minibatch(n int) *batch {
	if u.batch.r == nil || n != len(u.batch.r) {
		u.batch = u.pun.newBatch(n, u.sizes)
	}
	return &u.batch
}

// fill sets the columns of x to tables, observations first.
func (u *PUN) fill(x matrix, tables ...[][]float64) {
	names := []string{"observations", "goals", "actions"}
	widths := []int{u.sizes.Observation, u.sizes.Goal, u.sizes.Action}
	from := 0
	for i, table := range tables {
		name := names[i]
		width := widths[i]
		none := width == 0 && table == nil
		if len(table) != x.rows && !none {
			panic(fmt.Sprintf("qta: PUN: %d %s, want %d", len(table), name, x.rows))
		}
		for k, row := range table {
			setNumbers(x.row(k)[from:from+width], name, row)
		}
		from += width
	}
}

// setNumbers copies numbers, a row or a list of the given name, to dst, which has the
// same length.
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

// UnmarshalBinary replaces the ensemble by one that MarshalBinary returned. It returns
// the same errors as [Agent.UnmarshalBinary].
func (u *PUN) UnmarshalBinary(data []byte) error {
	h, state, err := openCheckpoint(ensembleMagic, data)
	if err != nil {
		return fmt.Errorf("qta: ensemble: %w", err)
	}
	loaded, err := NewPUN(h.Params, h.Sizes, 0)
	if err == nil {
		err = loaded.savedState().read(state)
	}
	if err != nil {
		return fmt.Errorf("qta: ensemble: %w", bare(err))
	}
	*u = *loaded
	return nil
}

func (u *PUN) savedState() savedState { return append(u.pun.savedState(), u.draws.pcg, &u.updates) }
