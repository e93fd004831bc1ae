package qta

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// This file lists the numbers that training changes, and encodes them for a checkpoint.

// savedFields are what a checkpoint stores, in order: slices of numbers of a known
// length, pointers to numbers or bools, and generators. The list may also have functions,
// which are not stored. read calls a function once it has read everything before the
// function.
type savedFields []any

// check returns a [*NumericError] if one of the numbers is NaN or infinite.
func (s savedFields) check(step int) error {
	const name = "training state"
	for _, field := range s {
		var err error
		switch v := field.(type) {
		case *float64:
			err = checkFinite(step, name, *v)
		case []float64:
			err = checkFinite(step, name, v...)
		case []float32:
			err = checkFinite(step, name, v...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkState returns a [*NumericError] if a number that training changes is NaN or infinite.
// For a parameter the error names the network, unless it is a moving average's.
func (a *Agent) checkState() error {
	return cmp.Or(
		checkParameters(a.step, a.parameters()),
		a.savedState().check(a.step))
}

// append encodes the listed numbers and appends them to b. It returns a [*NumericError]
// if a number is NaN or infinite.
func (s savedFields) append(b []byte, step int) ([]byte, error) {
	if err := s.check(step); err != nil {
		return nil, err
	}
	for _, field := range s {
		switch v := field.(type) {
		case func():
			continue
		case *int:
			field = int64(*v) // an int has no fixed size
		case *rand.PCG:
			field, _ = v.MarshalBinary() // cannot fail
		}
		var err error
		b, err = binary.Append(b, binary.LittleEndian, field)
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// read decodes the listed numbers from b. It fails if b has too few bytes or too many, or
// if a number is NaN or infinite. In the error's text "its" means the checkpoint's.
func (s savedFields) read(b []byte) error {
	const bytesOfPCG = 20 // as rand.PCG marshals itself
	for _, field := range s {
		var n int
		var err error
		switch v := field.(type) {
		case func():
			v()
		case *int:
			var i int64
			n, err = binary.Decode(b, binary.LittleEndian, &i)
			*v = int(i)
		case *rand.PCG:
			n = min(bytesOfPCG, len(b))
			err = v.UnmarshalBinary(b[:n])
		default:
			n, err = binary.Decode(b, binary.LittleEndian, v)
		}
		if err != nil {
			return fmt.Errorf("its state: %w", err)
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return fmt.Errorf("its state has %d bytes too many", len(b))
	}
	if s.check(0) != nil {
		return errors.New("its state: a number is not finite")
	}
	return nil
}

// savedState lists what training changes, except for what the checkpoint's header has.
func (a *Agent) savedState() savedFields {
	own := savedFields{
		a.exploration.pcg, a.environment.pcg, a.draws.pcg, a.learning.pcg, a.goalDraws.pcg,
		&a.updates, &a.foundAt, &a.losses.critic, &a.losses.head, &a.losses.policy,
		a.observation, a.achieved, a.desired, a.goal, &a.firstGoal, &a.reached, &a.episodeStart,
		&a.goalsSet, &a.goalsReached, a.attachment,
	}
	s := slices.Concat(
		a.policy.savedState(), a.pun.savedState(),
		a.stateScale.savedState(), a.goalScale.savedState(),
		own,
		a.learner.savedState(), a.explorer.savedState(),
		a.curriculum.savedState(), a.sampler.savedState())
	for i := range a.log {
		e := &a.log[i]
		s = append(s, &e.Step, &e.Success, &e.CriticLoss, &e.PredictiveLoss, &e.ActorLoss,
			&e.GoalsSet, &e.GoalsReached, &e.Reached, &e.Return, &e.StepsToGoal)
	}
	for _, c := range a.replay.columns() {
		s = append(s, c.data)
	}
	return s
}

func (π *policy) savedState() savedFields {
	return append(savedFields{π.net.params, π.target.params}, π.adam.savedState()...)
}

func (u *ensemble) savedState() (s savedFields) {
	for _, c := range u.critics {
		s = append(s, c.params, c.target.params)
		s = append(s, c.adam.savedState()...)
		s = append(s, c.headAdam.savedState()...)
	}
	return s
}

func (a *adam) savedState() savedFields { return savedFields{a.m, a.v, &a.power1, &a.power2} }

func (n *normalizer) savedState() savedFields {
	return savedFields{n.sum, n.square, &n.count, n.update} // update sets the mean and the scale
}
