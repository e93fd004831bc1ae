package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"qta"
)

// A state is what the laboratory attaches to an agent: what it has to know of the
// run beside the agent itself, and what evaluations have left for the pictures.
// It holds no clock and names no machine, so that agent.qta has the same bytes
// everywhere.
type state struct {
	Version, Environment string
	Map                  []string `json:",omitempty"`
	EvalEvery, Rollouts  int
	Fingerprint          Fingerprint `json:",omitempty"`

	Sketch    *Sketch    `json:",omitempty"` // of an environment that can draw itself
	Goals     []goalSet  `json:",omitempty"` // that the agent set itself: every Stride-th
	Stride    int        // 1, 2, 4 and so on
	Seen      int        // goals so far
	SeenUntil int        // the step of the last evaluation
	Frames    []frame    `json:",omitempty"` // of the animation
	Grid      *grid      `json:",omitempty"` // the places of Figure 5
	Snapshots []snapshot `json:",omitempty"`
}

// A goalSet is the place of a goal that was set before the evaluation of a step.
type goalSet struct {
	Step int
	X, Y float64
}

// A frame is what the animation keeps of an evaluation.
type frame struct {
	Step        int
	Uncertainty float64 // mean over the places of Figure 5
	Rollouts    []rollout
}

// A rollout is an episode of the policy, by places of the sketch.
type rollout struct {
	Way     [][2]float64
	Goal    [2]float64
	Reached bool // at its last step
}

const (
	mostGoals   = 1500 // that are kept
	latest      = 20   // rollouts of the latest frame
	kept        = 4    // of each frame before it
	mostPlaces  = 50   // that the way of a rollout is kept in, beside its end
	mostFrames  = 24
	samplesEach = 200 // goals drawn for each snapshot, as in the paper
)

// newState returns the state of a run before its first step.
func newState(id Identity, env qta.Env) (*state, error) {
	s := &state{Version: id.Version, Environment: id.Environment, Map: id.Map,
		EvalEvery: id.EvalEvery, Rollouts: id.Rollouts, Fingerprint: id.Fingerprint, Stride: 1}
	if e, ok := env.(Sketcher); ok {
		sketch := e.Sketch()
		s.Sketch = &sketch
		return s, sketch.check()
	}
	return s, nil
}

// identity returns what decides the run of an agent with this state.
func (s *state) identity(a *qta.Agent) Identity {
	return Identity{s.Version, s.Environment, s.Map, SetName(a.Params()), a.Params(), a.Seed(), s.EvalEvery, s.Rollouts, s.Fingerprint}
}

// readState returns what is attached to an agent.
func readState(a *qta.Agent) (*state, error) {
	s := new(state)
	if len(a.Attachment()) == 0 {
		return nil, errors.New("it holds an agent that was saved without a run")
	}
	err := json.Unmarshal(a.Attachment(), s)
	if err == nil {
		err = s.identity(a).check()
	}
	g := s.Grid
	seen := 0 <= s.SeenUntil && s.SeenUntil <= a.Steps()
	if err == nil && (!seen || s.Stride < 1 || s.Stride > 1e9 || g != nil && (g.Cols < 1 || g.Rows < 1 || g.Cols > 1e6/g.Rows)) {
		err = errors.New("a count is too small or too large")
	}
	if err != nil {
		return nil, fmt.Errorf("what is attached to the agent is no run: %w", err)
	}
	return s, nil
}

// attach gives the agent its state.
func (s *state) attach(a *qta.Agent) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a number that is not finite, which no method adds
	}
	a.Attach(data)
}

// evaluated adds what an evaluation leaves for the pictures.
func (s *state) evaluated(a *qta.Agent, env qta.Env) error {
	e, ok := env.(Sketcher)
	if !ok || s.Sketch == nil { // a run that began without pictures goes on without
		return nil
	}
	if err := s.addGoals(a, e); err != nil {
		return err
	}
	f := frame{Step: a.Steps()}
	if _, ok := env.(Surveyor); ok {
		shot, uncertainty := s.Grid.take(a)
		s.Snapshots = thinSnapshots(append(s.Snapshots, shot), s.EvalEvery)
		f.Uncertainty = uncertainty
	}
	var err error
	if f.Rollouts, err = play(a, e, latest); err != nil {
		return err
	}
	if n := len(s.Frames); n > 0 {
		s.Frames[n-1].Rollouts = s.Frames[n-1].Rollouts[:min(kept, len(s.Frames[n-1].Rollouts))]
	}
	s.Frames = thinFrames(append(s.Frames, f), s.EvalEvery)
	return nil
}

// addGoals adds the goals that were set since the last evaluation.
func (s *state) addGoals(a *qta.Agent, e Sketcher) error {
	for _, g := range a.Goals(s.SeenUntil, a.Steps()) {
		at, err := place(e, a, g)
		if err != nil {
			return err
		}
		if s.Seen%s.Stride == 0 {
			s.Goals = append(s.Goals, goalSet{a.Steps(), at[0], at[1]})
		}
		s.Seen++
		if len(s.Goals) > mostGoals { // every second of them
			odd := false
			s.Goals = slices.DeleteFunc(s.Goals, func(goalSet) bool { odd = !odd; return !odd })
			s.Stride *= 2
		}
	}
	s.SeenUntil = a.Steps()
	return nil
}

// place returns where a goal lies, to five digits.
func place(e Sketcher, a *qta.Agent, goal []float64) (at [2]float64, err error) {
	x, y := e.Place(slices.Clone(goal))
	for i, v := range []float64{x, y} {
		if v-v != 0 {
			return at, &qta.EnvError{Step: a.Steps(), Problem: fmt.Sprintf("Place(%v) is %v, %v", goal, x, y)}
		}
		at[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	}
	return at, nil
}

// play plays n episodes without exploration, with the same starts and goals each time.
func play(a *qta.Agent, env Sketcher, n int) (rollouts []rollout, err error) {
	rng := rand.New(rand.NewPCG(1, 0))
	horizon := a.Params().Horizon
	stride := (horizon + mostPlaces - 1) / mostPlaces
	at := func(goal []float64) [2]float64 {
		p, problem := place(env, a, goal)
		err = cmp.Or(err, problem)
		return p
	}
	for range n {
		s := env.Reset(rng)
		r, desired := rollout{}, slices.Clone(s.Desired)
		for t := range horizon + 1 {
			if t > 0 {
				s, _ = env.Step(a.Act(s.Observation, desired))
			}
			if err := cmp.Or(checkState(a, s.Observation, desired), checkState(a, s.Observation, s.Achieved)); err != nil {
				return nil, err
			}
			if t%stride == 0 || t == horizon {
				r.Way = append(r.Way, at(s.Achieved))
			}
		}
		r.Goal, r.Reached = at(desired), env.Reward(s.Achieved, desired) == 0
		rollouts = append(rollouts, r)
	}
	return rollouts, err
}

// checkState refuses an observation and a goal of which an agent cannot be asked.
func checkState(a *qta.Agent, observation, goal []float64) error {
	sizes, numbers := a.Sizes(), slices.Concat(observation, goal)
	bad := slices.ContainsFunc(numbers, func(v float64) bool { return !(math.Abs(v) <= 1e100) })
	if bad || len(observation) != sizes.Observation || len(goal) != sizes.Goal {
		return &qta.EnvError{Step: a.Steps(), Problem: fmt.Sprintf("a picture asks for the observation %v and the goal %v; "+
			"want numbers up to ±1e100, %d and %d of them", observation, goal, sizes.Observation, sizes.Goal)}
	}
	return nil
}

// thinFrames keeps every evaluation, or where these are too many every second,
// fourth and so on, and the latest. Which are kept depends on the latest alone.
func thinFrames(frames []frame, every int) []frame {
	last := frames[len(frames)-1].Step
	stride := every
	for last/stride > mostFrames {
		stride *= 2
	}
	return slices.DeleteFunc(frames, func(f frame) bool { return f.Step%stride != 0 && f.Step != last })
}
