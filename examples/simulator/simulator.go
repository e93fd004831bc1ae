package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"qta"
	"qta/lab"
)

// A simulator is an environment in a child process.
type simulator struct {
	description
	child *child
	err   error // the first failure; all states after it are empty
}

// A description is a child's first line.
type description struct {
	Name        string
	Observation ranges
	Goal        ranges
	Action      int         // components, each from -1 to 1
	Tolerance   float64     // a goal nearer than this is reached
	Horizon     int         // steps of an episode
	Sketch      *lab.Sketch // nil if the child has no picture
}

// An answer is a child's line after a question.
type answer struct{ Observation, Achieved, Desired []float64 }

// startSimulator starts a command and reads its first line.
func startSimulator(command []string, limit time.Duration) (*simulator, error) {
	c, err := startChild(command, limit)
	if err != nil {
		return nil, err
	}
	s := &simulator{child: c}
	if err := s.describe(); err != nil {
		c.close()
		return nil, err
	}
	return s, nil
}

func (s *simulator) describe() error {
	line, err := s.child.hear()
	if err != nil {
		return err
	}
	err = json.Unmarshal([]byte(line), &s.description)
	wrong, ofOtherType := errors.AsType[*json.UnmarshalTypeError](err)
	problem := ""
	switch {
	case ofOtherType:
		field := cmp.Or(strings.ToLower(wrong.Field), "it")
		problem = field + " has a " + wrong.Value +
			" where something else belongs; docs/library.md has an example"
	case err != nil:
		problem = err.Error()
	case !s.Observation.valid() || !s.Goal.valid():
		problem = "observation and goal are lists of ranges, [least, greatest]"
	case s.Action < 1 || s.Horizon < 1:
		problem = "action and horizon are to be at least 1"
	case s.Tolerance <= 0:
		problem = "tolerance is to be above 0"
	case s.Sketch != nil && len(s.Goal) != 2:
		problem = "a sketch needs goals of two numbers"
	}
	if problem != "" {
		return fmt.Errorf("the first line of %s describes no environment: %s: %.300s", s.child.command, problem, line)
	}
	return nil
}

func (s *simulator) Sizes() qta.Sizes {
	return qta.Sizes{Observation: len(s.Observation), Goal: len(s.Goal), Action: s.Action}
}

func (s *simulator) Reset(rng *rand.Rand) qta.State {
	return s.ask(map[string]any{"reset": rng.Uint32()})
}

func (s *simulator) Step(action []float64) (qta.State, float64) {
	state := s.ask(map[string]any{"step": action})
	return state, s.Reward(state.Achieved, state.Desired)
}

// Reward is computed here, because each update needs hundreds of rewards.
func (s *simulator) Reward(achieved, desired []float64) float64 {
	square := 0.0
	for i := range achieved {
		d := s.Goal.half(i) * (achieved[i] - desired[i])
		square += float64(d * d)
	}
	if math.Sqrt(square) < s.Tolerance {
		return 0
	}
	return -1
}

// ask returns the state that answers a question. After a failure it returns an empty
// state, which ends training.
func (s *simulator) ask(question any) qta.State {
	if s.err != nil {
		return qta.State{}
	}
	var a answer
	s.err = s.child.ask(question, &a)
	if s.err == nil {
		s.err = s.check(a)
	}
	if s.err != nil {
		return qta.State{}
	}
	return qta.State{
		Observation: s.Observation.scaled(a.Observation),
		Achieved:    s.Goal.scaled(a.Achieved),
		Desired:     s.Goal.scaled(a.Desired),
	}
}

// check compares the lengths of an answer with the description.
func (s *simulator) check(a answer) error {
	lengths := [3]int{len(a.Observation), len(a.Achieved), len(a.Desired)}
	want := [3]int{len(s.Observation), len(s.Goal), len(s.Goal)}
	if lengths != want {
		return fmt.Errorf("%s answered with an observation, an achieved and a desired goal of %v numbers; "+
			"its first line describes %v", s.child.command, lengths, want)
	}
	return nil
}

// ranges are the least and the greatest value of each component of a vector.
type ranges [][]float64

func (r ranges) valid() bool {
	for i := range r {
		if len(r[i]) != 2 || !(r.half(i) > 0) {
			return false
		}
	}
	return len(r) > 0
}

func (r ranges) middle(i int) float64 { return (r[i][0] + r[i][1]) / 2 }
func (r ranges) half(i int) float64   { return (r[i][1] - r[i][0]) / 2 }

// scaled maps each component of x from its range to [-1, 1], as the networks need it.
// [qta.Scaled] would do so, too, but the picture also needs the inverse, unscaled.
func (r ranges) scaled(x []float64) []float64 {
	y := make([]float64, len(r))
	for i := range r {
		y[i] = (x[i] - r.middle(i)) / r.half(i)
	}
	return y
}

func (r ranges) unscaled(y []float64) []float64 {
	x := make([]float64, len(r))
	for i := range r {
		x[i] = float64(y[i]*r.half(i)) + r.middle(i)
	}
	return x
}

// A pictured simulator draws itself on the run's page.
type pictured struct{ *simulator }

func (p pictured) Sketch() lab.Sketch { return *p.description.Sketch }

// Place returns where a goal lies in the sketch, which has the same units as the child's goals.
func (p pictured) Place(goal []float64) (x, y float64) {
	if len(goal) != 2 { // after a failure
		return math.NaN(), math.NaN()
	}
	at := p.Goal.unscaled(goal)
	return at[0], at[1]
}

// StateAt asks the child for the state at a place. The child answers {} if no state is
// there.
func (p pictured) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	var a answer
	if p.err == nil {
		p.err = p.child.ask(map[string]any{"place": []float64{x, y}}, &a)
	}
	if p.err != nil || len(a.Observation) == 0 {
		return nil, nil, false
	}
	a.Desired = a.Achieved
	if p.err = p.check(a); p.err != nil {
		return nil, nil, false
	}
	return p.Observation.scaled(a.Observation), p.Goal.scaled(a.Achieved), true
}

// env returns the simulator as an environment, with its picture if it has one.
func (s *simulator) env() qta.Env {
	if s.description.Sketch == nil {
		return s
	}
	return pictured{s}
}
