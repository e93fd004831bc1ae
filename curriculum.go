package qta

import (
	"encoding"
	"errors"
	"fmt"
	"math/rand/v2"
)

// A Curriculum chooses the goals that an agent pursues in training: see
// [Agent.SetCurriculum]. Learning, hindsight and exploration follow the
// parameters. To be saved with the agent, a curriculum with a state implements
// [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler], unless it can
// rebuild the state from what the agent has seen.
type Curriculum interface {
	// NextGoal returns the goal to pursue from the agent's current state, in the
	// environment's units: an episode's first, or the next one after a goal was
	// reached, where nil keeps the old one. It is copied. An error ends training.
	//
	// All chance comes from rng, which is saved with the agent; rng.Uint64() is a
	// seed to ask with. NextGoal may ask the agent for all that changes nothing,
	// such as [Agent.State], [Agent.Achieved], [Agent.Value], [Agent.Uncertainty].
	NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error)
}

// SetCurriculum replaces the curriculum that Params.Curriculum names, while the
// agent is not training. An agent that was saved with one trains only after
// SetCurriculum gives it one again, which receives the saved state. It is an
// error if c is nil, or does not take that state.
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

type ownCurriculum struct {
	plain
	chosen Curriculum // nil in a loaded agent until it is set again
	state  []byte     // that it was saved with; nil if it has none
}

// goal asks the user's curriculum for a goal and validates its answer.
func (o *ownCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	g, err := o.chosen.NextGoal(a, first, a.goalDraws.Rand)
	if err != nil || g == nil && !first {
		return nil, err
	}
	if problem := numbersProblem("curriculum's goal", g, a.sizes.Goal); problem != "" {
		return nil, fmt.Errorf("qta: step %d: %s", a.step, problem)
	}
	return g, nil
}

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
