package qta

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
)

// This file is PUN by itself, for learners of other kinds: the ensemble of
// pun.go, which an [Agent] learns with, behind a door of its own.

// A PUN is the ensemble of Predictive Uncertainty Networks by itself (section
// 3.1): G critics that learn the values of somebody's transitions, each with a
// head that predicts the next observation, and the epistemic uncertainty that
// the heads' disagreement tells. It is for whoever has a learner of another kind
// and wants to know where that has too little data. It runs on its caller's
// goroutine, and is not safe for concurrent use.
//
// A transition is a row of each of several tables: observation, goal, action and
// next observation, of the PUN's [Sizes]. Where Sizes.Goal is 0, a table of
// goals may be nil. The networks see all numbers as they are, so that those of
// observations and goals should be of order 1, and take actions to be in
// [-1, 1]. Methods panic where tables differ in length, or rows are not of these
// sizes.
type PUN struct {
	params  Params
	sizes   Sizes
	pun     *pun
	draws   stream // of the pair M
	updates int
	batch   batch // memory of one at a time
}

// NewPUN returns an ensemble that has learnt nothing, whose chance comes from
// seed. Of the parameters the networks' sizes count, G, their learning rates, γ,
// ρ, d (UncertaintyActions), SharedActions, GradientClip and what changes the
// predictive loss. Parameters that [Params.Validate] refuses are an error, and so
// are those that make the ensemble another than PUN and need an [Agent] for it: a
// single critic, and any Uncertainty, HeadTarget and PredictiveGradient but those
// of [Paper].
func NewPUN(p Params, sizes Sizes, seed uint64) (*PUN, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if sizes.Observation < 1 || sizes.Goal < 0 || sizes.Action < 1 {
		return nil, fmt.Errorf("qta: sizes %+v of an ensemble, allowed are 1 and above, and 0 for the goal", sizes)
	}
	if p.Critics < 2 {
		return nil, errors.New("qta: parameter Critics is 1, which cannot disagree: an ensemble needs 2 and above")
	}
	paper := Paper()
	for _, f := range []struct{ name, value, want string }{
		{"Uncertainty", p.Uncertainty, paper.Uncertainty},
		{"HeadTarget", p.HeadTarget, paper.HeadTarget},
		{"PredictiveGradient", p.PredictiveGradient, paper.PredictiveGradient},
	} {
		if f.value != f.want {
			return nil, fmt.Errorf("qta: parameter %s is %s, of an ensemble by itself it is %s", f.name, f.value, f.want)
		}
	}
	u := &PUN{params: p, sizes: sizes, draws: newStream(seed, forLearning)}
	u.pun = newPUN(&p, sizes, newArchitecture(&p, sizes), newStream(seed, forInitialisation).Rand, nil)
	u.pun.depart(&p)
	return u, nil
}

// Params returns the parameters that the ensemble was made with.
func (u *PUN) Params() Params { return u.params }

// Sizes returns the sizes of what it learns from.
func (u *PUN) Sizes() Sizes { return u.sizes }

// Learn is one update on a minibatch: each critic and its head descend Equations
// 2 and 4 as one loss, and the target critics follow by Equation 3. targets are
// the values y that Q(s, a, g) is to have: those of [PUN.Targets], or any other.
// It returns the two losses, means over the ensemble, in squared units of y and
// of the observation. A number that is not finite as a float32 is an error, and
// nothing is learnt. A [*NumericError], whose Step counts updates, says that a loss
// is not finite: the ensemble is of no more use, and what goes on is one that was
// saved.
func (u *PUN) Learn(observations, goals, actions, next [][]float64, targets []float64) (criticLoss, predictiveLoss float64, err error) {
	n := len(observations)
	if n == 0 {
		panic("qta: PUN: a minibatch without transitions")
	}
	for _, t := range []struct {
		name string
		rows [][]float64
	}{{"observations", observations}, {"goals", goals}, {"actions", actions}, {"next observations", next}} {
		for k, row := range t.rows {
			if err := checkNumbers(t.name, k, row); err != nil {
				return 0, 0, err
			}
		}
	}
	if err := checkNumbers("targets", 0, targets); err != nil {
		return 0, 0, err
	}
	b := u.minibatch(n)
	u.fill(b.x, observations, goals)
	u.setRows(b.x, "actions", actions, u.sizes.Observation+u.sizes.Goal, u.sizes.Action)
	u.setRows(b.head, "next observations", next, 0, u.sizes.Observation)
	setNumbers(b.y[0], "targets", targets)
	criticLoss, predictiveLoss = u.pun.learn(b, b)
	u.pun.follow()
	u.updates++
	if !finite(criticLoss) {
		err = &NumericError{u.updates, "critics", criticLoss}
	} else if !finite(predictiveLoss) {
		err = &NumericError{u.updates, "predictive heads", predictiveLoss}
	}
	return criticLoss, predictiveLoss, err
}

// Targets returns y of Equation 1 for a minibatch, in the rewards' unit, given
// the next observations and the next actions a', which the caller's policy
// chooses there. The two target critics of M are drawn anew in each call. Nothing
// is clipped, and nothing ends: where a transition is the last one, the target is
// the reward, and the caller's to set.
func (u *PUN) Targets(rewards []float64, next, goals, nextActions [][]float64) []float64 {
	n := len(next)
	b := u.minibatch(n)
	u.fill(b.next, next, goals)
	u.setRows(b.next, "next actions", nextActions, u.sizes.Observation+u.sizes.Goal, u.sizes.Action)
	setNumbers(b.r, "rewards", rewards)
	u.pun.target(b, u.draws)
	y := make([]float64, n)
	for k := range y {
		y[k] = float64(b.y[0][k])
	}
	return y
}

// Value returns the mean over the critics of Q(s, a, g) for each transition, in
// the unit of the targets that they have learnt.
func (u *PUN) Value(observations, goals, actions [][]float64) []float64 {
	x := u.asked(observations, goals).x
	u.setRows(x, "actions", actions, u.sizes.Observation+u.sizes.Goal, u.sizes.Action)
	q := make([]float64, x.rows)
	for lo := 0; lo < x.rows; lo += u.params.Batch {
		hi := min(lo+u.params.Batch, x.rows)
		u.pun.meanValues(q[lo:hi], x.slice(lo, hi))
	}
	return q
}

// Uncertainty returns the epistemic uncertainty in each observation, with its
// goal: Equation 5, the mean over d random actions of the heads' deviation, in
// the observations' unit. The actions are drawn from the seed; with the same seed
// the answer is the same.
func (u *PUN) Uncertainty(observations, goals [][]float64, seed uint64) []float64 {
	q := u.asked(observations, goals)
	u.pun.reserve(min(q.x.rows, u.params.Batch))
	newPredictive(&u.params).answer(u.pun, q, u.sizes.Action, newStream(seed, forSurvey))
	return q.ε
}

// asked returns a query with rows of s and g.
func (u *PUN) asked(observations, goals [][]float64) *query {
	q := new(query)
	q.resize(len(observations), u.sizes)
	u.fill(q.x, observations, goals)
	return q
}

// minibatch returns one of n rows, the same as before where it had as many.
func (u *PUN) minibatch(n int) *batch {
	if u.batch.r == nil || n != len(u.batch.r) {
		u.batch = newBatch(n, u.sizes, u.pun)
		u.pun.reserve(n)
	}
	return &u.batch
}

// fill sets the columns of s and g.
func (u *PUN) fill(x matrix, observations, goals [][]float64) {
	u.setRows(x, "observations", observations, 0, u.sizes.Observation)
	if u.sizes.Goal > 0 || goals != nil {
		u.setRows(x, "goals", goals, u.sizes.Observation, u.sizes.Goal)
	}
}

// setRows sets the columns of x from the given one on to a table.
func (u *PUN) setRows(x matrix, name string, table [][]float64, from, width int) {
	if len(table) != x.rows {
		panic(fmt.Sprintf("qta: PUN: %d %s, want %d", len(table), name, x.rows))
	}
	for k, row := range table {
		if len(row) != width {
			panic(fmt.Sprintf("qta: PUN: a row of %d in the %s, want %d", len(row), name, width))
		}
		setNumbers(x.row(k)[from:from+width], name, row)
	}
}

// checkNumbers returns an error if a number in a row is not finite as a float32.
func checkNumbers(name string, row int, numbers []float64) error {
	for i, v := range numbers {
		if !finite(float64(float32(v))) {
			return fmt.Errorf("qta: PUN: number %d in row %d of the %s is %v, not finite as a float32", i, row, name, v)
		}
	}
	return nil
}

// setNumbers sets dst to as many numbers.
func setNumbers(dst []float32, name string, numbers []float64) {
	if len(numbers) != len(dst) {
		panic(fmt.Sprintf("qta: PUN: %d %s, want %d", len(numbers), name, len(dst)))
	}
	for i, v := range numbers {
		dst[i] = float32(v)
	}
}

// The magic is as long as that of an agent's checkpoint.
var punKind = kind{"an ensemble", "qta ensemble\n\x00\x00\x00", 1}

// MarshalBinary returns the ensemble's whole state, from which learning goes on
// to the bit. It fails with a [*NumericError] if a number in it is NaN or
// infinite.
func (u *PUN) MarshalBinary() ([]byte, error) {
	if err := u.checkNumbers(); err != nil {
		return nil, err
	}
	e := encoder{[]byte(punKind.magic)}
	e.uint(punKind.version)
	e.bytes(u.params.JSON())
	e.ints(u.sizes.Observation, u.sizes.Goal, u.sizes.Action)
	u.visit(&e)
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...), nil
}

// UnmarshalBinary replaces the ensemble by one that MarshalBinary returned. Data
// that is damaged or of another kind is an error that says so, and leaves the
// ensemble as it was.
func (u *PUN) UnmarshalBinary(data []byte) error {
	if err := punKind.check(data); err != nil {
		return err
	}
	d := decoder{b: data[punKind.header() : len(data)-sha256.Size]}
	p, sizes, err := d.shape(0)
	if err != nil {
		return err
	}
	loaded, err := NewPUN(p, sizes, 0)
	if err != nil {
		return err
	}
	loaded.visit(&d)
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("qta: checkpoint: %d bytes too many", len(d.b))
	}
	if d.err != nil {
		return d.err
	}
	if err := loaded.checkNumbers(); err != nil {
		return err
	}
	*u = *loaded
	return nil
}

// visit goes through everything that learning changes.
func (u *PUN) visit(c coder) {
	u.pun.visit(c)
	c.generator(u.draws)
	c.int(&u.updates, math.MaxInt)
}

func (u *PUN) checkParameters() error { return checkFinite(u.pun.parameters("critic"), u.updates) }

// checkNumbers returns a [*NumericError] if a number of the state is not finite.
func (u *PUN) checkNumbers() error {
	if err := u.checkParameters(); err != nil {
		return err
	}
	c := finiteness{}
	u.visit(&c)
	if !finite(c.first) {
		return &NumericError{u.updates, "training state", c.first}
	}
	return nil
}
