package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"qta"
)

// A state is what the laboratory attaches to an agent. It holds what the laboratory has to
// know about the run beside the agent, and what evaluations have added to the pictures. A
// state holds no time and names no machine, so agent.qta has the same bytes wherever
// kernels round alike.
type state struct {
	Version, Environment string
	Map                  []string `json:",omitempty"`
	EvalEvery, Rollouts  int
	Fingerprint          Fingerprint `json:",omitempty"`
	Rewards              []int       `json:",omitempty"` // what function rewards counted
	Code                 string      `json:",omitempty"`
	Own                  bool        `json:",omitempty"` // Identity.Own
	Attached             []byte      `json:",omitempty"` // by the user's curriculum

	Frames    []frame    `json:",omitempty"` // of the animation
	Snapshots []snapshot `json:",omitempty"` // of Figure 5

	// The environment's answers. They are not saved, because each process asks again.
	sketcher Sketcher // nil if the environment is no Sketcher
	sketch   Sketch
	grid     *grid // the places of Figure 5; nil if the environment is no Surveyor
}

// A frame is what the animation shows of an evaluation.
type frame struct {
	Step     int
	Rollouts []rollout
}

// A rollout is an episode of the policy, as places of the sketch.
type rollout struct {
	Way     [][2]float64
	Goal    [2]float64
	Reached bool // at its last step
}

const (
	mostGoals      = 1500 // that the animation shows
	latestRollouts = 20   // of the latest frame
	olderRollouts  = 4    // of each frame before it
	mostPlaces     = 50   // of a rollout's way, not counting its end
	mostFrames     = 24   // beside the latest
	samplesEach    = 200  // goals drawn for each snapshot, as in the paper
)

// newState returns the state of a run before its first step.
func newState(id Identity) *state {
	return &state{
		Version:     id.Version,
		Environment: id.Environment,
		Map:         id.Map,
		EvalEvery:   id.EvalEvery,
		Rollouts:    id.Rollouts,
		Fingerprint: id.Fingerprint,
		Code:        id.Code,
		Own:         id.Own,
	}
}

// draws asks an environment for what the pictures need, and checks the answers.
func (s *state) draws(ctx context.Context, env qta.Env, a *qta.Agent) error {
	e, ok := env.(Sketcher)
	if !ok {
		return nil
	}
	s.sketcher = e
	s.sketch = e.Sketch()
	if err := s.sketch.check(); err != nil {
		return err
	}
	surveyor, ok := env.(Surveyor)
	if !ok {
		return nil
	}
	s.grid = newGrid(ctx, surveyor, &s.sketch, a.Params())
	for i, goal := range s.grid.goals {
		if err := checkState(a, s.grid.observations[i], goal); err != nil {
			return err
		}
	}
	start := qta.State{Observation: s.grid.start, Achieved: s.grid.desired, Desired: s.grid.desired}
	if err := checkAnswer(a, start); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// StateAt may have other places than when the run began. Figure 5 then begins anew.
	ofOthers := func(n snapshot) bool { return len(n.Value) != len(s.grid.goals) }
	s.Snapshots = slices.DeleteFunc(s.Snapshots, ofOthers)
	return nil
}

// outside returns a warning about the first goal of the fingerprint that lies outside of the
// sketch, or "".
func (s *state) outside(sizes qta.Sizes) string {
	if s.sketcher == nil {
		return ""
	}
	for _, goal := range s.Fingerprint.goals(sizes) {
		x, y := s.sketcher.Place(slices.Clone(goal))
		within := x >= 0 && x <= s.sketch.Width && y >= 0 && y <= s.sketch.Height
		if !within {
			return fmt.Sprintf("Place puts the goal %v at %.4g, %.4g, which is outside of the Sketch: "+
				"that is from 0 to %.4g to the right and from 0 to %.4g downwards",
				goal, x, y, s.sketch.Width, s.sketch.Height)
		}
	}
	return ""
}

// identity returns the [Identity] of the run that has this agent and this state.
func (s *state) identity(a *qta.Agent) Identity {
	return Identity{
		Version:     s.Version,
		Environment: s.Environment,
		Map:         s.Map,
		Set:         SetName(a.Params()),
		Params:      a.Params(),
		Seed:        a.Seed(),
		EvalEvery:   s.EvalEvery,
		Rollouts:    s.Rollouts,
		Fingerprint: s.Fingerprint,
		Code:        s.Code,
		Own:         s.Own,
	}
}

// readState returns the state that is attached to an agent. In place of the state it
// attaches again what the user's curriculum had attached.
func readState(a *qta.Agent) (*state, error) {
	s := new(state)
	if len(a.Attachment()) == 0 {
		return nil, errors.New("it holds an agent that was saved without a run")
	}
	err := json.Unmarshal(a.Attachment(), s)
	if err == nil {
		err = s.identity(a).check()
	}
	if err != nil {
		return nil, fmt.Errorf("the data attached to the agent is not a run: %w", err)
	}
	a.Attach(s.Attached)
	return s, nil
}

// attach attaches the state to the agent. The state includes what the user's curriculum has
// attached.
func (s *state) attach(a *qta.Agent) {
	s.Attached = a.Attachment()
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a number that is not finite, which no method adds
	}
	a.Attach(data)
}

// behind reports whether the latest step had an evaluation that the pictures lack. That
// happens if a signal comes between the evaluation and its pictures.
func (s *state) behind(a *qta.Agent) bool {
	log := a.Evaluations()
	if s.sketcher == nil || len(log) == 0 || log[len(log)-1].Step < a.Steps() {
		return false
	}
	return len(s.Frames) == 0 || s.Frames[len(s.Frames)-1].Step < a.Steps()
}

// evaluated plays rollouts after an evaluation, and adds them and a snapshot to the
// pictures. If ctx ends the rollouts, it adds nothing and returns an error.
func (s *state) evaluated(ctx context.Context, a *qta.Agent) error {
	if s.sketcher == nil {
		return nil
	}
	rollouts, err := play(ctx, a, s.sketcher, latestRollouts)
	if err != nil {
		return err
	}
	if n := len(s.Frames); n > 0 {
		before := &s.Frames[n-1]
		before.Rollouts = before.Rollouts[:min(olderRollouts, len(before.Rollouts))]
	}
	s.Frames = thinFrames(append(s.Frames, frame{a.Steps(), rollouts}), s.EvalEvery)
	if s.grid != nil {
		s.Snapshots = thinSnapshots(append(s.Snapshots, s.grid.take(a)), s.EvalEvery)
	}
	return nil
}

// goals returns, for each frame, the places of the goals that the agent pursued since the
// frame before. If there are too many, it returns only every second goal, or every
// fourth, and so on.
func (s *state) goals(a *qta.Agent) (at [][][2]float64, err error) {
	all := a.Goals(0, s.Frames[len(s.Frames)-1].Step)
	stride := 1
	for len(all) > mostGoals*stride {
		stride *= 2
	}
	seen := 0
	from := 0
	for _, f := range s.Frames {
		var places [][2]float64
		for _, goal := range a.Goals(from, f.Step) {
			if seen%stride == 0 {
				p, err := place(s.sketcher, a, goal)
				if err != nil {
					return nil, err
				}
				places = append(places, p)
			}
			seen++
		}
		at = append(at, places)
		from = f.Step
	}
	return at, nil
}

// place returns where a goal lies in the sketch, rounded to five digits.
func place(e Sketcher, a *qta.Agent, goal []float64) (at [2]float64, err error) {
	x, y := e.Place(slices.Clone(goal))
	for i, v := range []float64{x, y} {
		if v-v != 0 { // infinite or NaN
			return at, envError(a, "Place gives a goal the place %v, %v", x, y)
		}
		at[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	}
	return at, nil
}

// play plays n episodes without exploration. Each call draws the same starts and goals. If
// ctx is done, play ends between two episodes.
func play(ctx context.Context, a *qta.Agent, env Sketcher, n int) ([]rollout, error) {
	rng := rand.New(rand.NewPCG(1, 0))
	var rollouts []rollout
	for range n {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := playRollout(a, env, rng)
		if err != nil {
			return nil, err
		}
		rollouts = append(rollouts, r)
	}
	return rollouts, nil
}

// playRollout plays one episode without exploration. The rollout's way has at most
// mostPlaces places, evenly spread, and its end.
func playRollout(a *qta.Agent, env Sketcher, rng *rand.Rand) (r rollout, err error) {
	horizon := a.Params().Horizon
	stride := (horizon + mostPlaces - 1) / mostPlaces
	s := env.Reset(rng)
	if err := checkAnswer(a, s); err != nil {
		return r, err
	}
	desired := slices.Clone(s.Desired)
	r.Goal, err = place(env, a, desired)
	for t := 0; err == nil; t++ {
		if t%stride == 0 || t == horizon {
			var at [2]float64
			at, err = place(env, a, s.Achieved)
			r.Way = append(r.Way, at)
		}
		if t == horizon {
			break
		}
		s, _ = env.Step(a.Act(s.Observation, desired))
		err = cmp.Or(err, checkAnswer(a, s))
	}
	if err != nil {
		return r, err
	}
	r.Reached = env.Reward(s.Achieved, desired) == 0
	return r, nil
}

// checkAnswer refuses a state whose vectors are not as long as Sizes says, or have numbers that
// [qta.Agent.Act] does not take.
func checkAnswer(a *qta.Agent, s qta.State) error {
	allowed := fits(s, a.Sizes())
	for _, v := range slices.Concat(s.Observation, s.Achieved, s.Desired) {
		allowed = allowed && math.Abs(v) <= 1e12
	}
	if allowed {
		return nil
	}
	return envError(a, "an episode for the pictures has a state that is not as Sizes says, "+
		"or a number beyond ±1e12")
}

// fits reports whether the vectors of a state are as long as sizes says.
func fits(s qta.State, sizes qta.Sizes) bool {
	goals := len(s.Achieved) == sizes.Goal && len(s.Desired) == sizes.Goal
	return goals && len(s.Observation) == sizes.Observation
}

// envError returns the error of an environment that breaks its contract.
func envError(a *qta.Agent, problem string, args ...any) error {
	return &qta.EnvError{Step: a.Steps(), Problem: fmt.Sprintf(problem, args...)}
}

// checkState refuses a state from StateAt that has wrong sizes or numbers.
func checkState(a *qta.Agent, observation, goal []float64) error {
	const what = "StateAt returned an observation and a goal "
	sizes := a.Sizes()
	if len(observation) != sizes.Observation || len(goal) != sizes.Goal {
		return envError(a, what+"of %d and %d numbers, Sizes says %d and %d",
			len(observation), len(goal), sizes.Observation, sizes.Goal)
	}
	for i, v := range slices.Concat(observation, goal) {
		allowed := math.Abs(v) <= 1e12 // false of a NaN
		if !allowed {
			return envError(a, what+"whose number %d is %v, allowed are numbers up to ±1e12", i, v)
		}
	}
	return nil
}

// thinFrames keeps the frame of every evaluation. If there are too many, it keeps the
// latest and of the others only every second, or every fourth, and so on. The step of the
// latest frame alone decides which ones stay.
func thinFrames(frames []frame, every int) []frame {
	last := frames[len(frames)-1].Step
	stride := every
	for last/stride > mostFrames {
		stride *= 2
	}
	drop := func(f frame) bool { return f.Step%stride != 0 && f.Step != last }
	return slices.DeleteFunc(frames, drop)
}
