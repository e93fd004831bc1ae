package qta

import (
	"encoding"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// This file is the door for a curriculum of the user's own, and what it may see
// of the agent. It is asked where QTA, and what the paper compares it with, are.

// A Curriculum chooses the goals that an agent pursues in training: what
// Params.Curriculum names does, and what [Agent.SetCurriculum] puts in its
// place. All else stays that of the parameters: learning, hindsight, exploration.
//
// A curriculum with a state of its own that decides its goals implements
// [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler], and is saved with
// the agent; one that can make its state anew from what the agent has seen need
// not.
type Curriculum interface {
	// NextGoal returns the goal to pursue from the agent's current state: an
	// episode's first, or the next one after a goal was reached, where nil keeps
	// that. It is as long as the agent's [Sizes] say, in the environment's units,
	// finite, and copied. An error ends training.
	//
	// All chance comes from rng, which is saved with the agent; rng.Uint64() is a
	// seed to ask with. NextGoal may ask the agent: for its [Agent.State] and the
	// goals [Agent.Achieved] so far, for its [Agent.Value] and [Agent.Uncertainty]
	// anywhere, and for whatever else changes nothing.
	NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error)
}

// SetCurriculum puts a curriculum of the caller's in the place of the one that
// Params.Curriculum names, before training or between two calls of
// [Agent.Train]. A loaded agent that was saved with one does not train without:
// it is to be set again, and is given the state that it was saved with. The
// error is what it makes of that, or that it takes none.
func (a *Agent) SetCurriculum(c Curriculum) error {
	if c == nil {
		return errors.New("qta: SetCurriculum without a curriculum")
	}
	if o, ok := a.curriculum.(*ownCurriculum); ok && o.chosen == nil && o.state != nil {
		u, ok := c.(encoding.BinaryUnmarshaler)
		if !ok {
			return fmt.Errorf("qta: the agent was saved with the state of its curriculum, which a %T does not take", c)
		}
		if err := u.UnmarshalBinary(o.state); err != nil {
			return fmt.Errorf("qta: the state of the agent's curriculum: %w", err)
		}
	}
	a.curriculum = &ownCurriculum{chosen: c}
	return nil
}

// State returns where the agent is in training, in the environment's units: the
// observation and the achieved goal of its current state, and the goal that the
// environment desires in this episode; zeros before the first one. The slices
// are the caller's.
func (a *Agent) State() State {
	return State{slices.Clone(a.observation), slices.Clone(a.achieved), slices.Clone(a.desired)}
}

// Achieved returns the goal that was achieved in the state in which environment
// step i began, in the environment's units, for i from 0 to Steps(): the last is
// that of the current state. These are what QTA takes its candidates from. The
// slice is the caller's. Achieved panics for any other i.
func (a *Agent) Achieved(i int) []float64 {
	if i < 0 || i > a.step {
		panic(fmt.Sprintf("qta: Achieved of step %d of %d", i, a.step))
	}
	if i == a.step {
		return slices.Clone(a.achieved)
	}
	return slices.Clone(at(a.replay.achieved, i, a.sizes.Goal))
}

// An ownCurriculum is one of the user's.
type ownCurriculum struct {
	plain
	chosen Curriculum // nil in a loaded agent until it is set again
	state  []byte     // that it was saved with; nil if it has none
}

// goal asks for a goal, and refuses what is none.
func (o *ownCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	g, err := o.chosen.NextGoal(a, first, a.goalDraws.Rand)
	switch {
	case err != nil:
		return nil, err
	case g == nil && !first:
		return nil, nil
	case len(g) != a.sizes.Goal:
		return nil, fmt.Errorf("qta: step %d: the curriculum's goal %v has %d numbers, want %d", a.step, g, len(g), a.sizes.Goal)
	case slices.ContainsFunc(g, func(x float64) bool { return !finite(x) }):
		return nil, fmt.Errorf("qta: step %d: the curriculum's goal %v is not finite", a.step, g)
	}
	return g, nil
}

// save returns the curriculum's state, or nil if it has none.
func (o *ownCurriculum) save() ([]byte, error) {
	m, ok := o.chosen.(encoding.BinaryMarshaler)
	if !ok {
		return o.state, nil
	}
	state, err := m.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("qta: the state of the agent's curriculum: %w", err)
	}
	return append([]byte{}, state...), nil
}
