package qta

import "math"

// This file holds options that are in neither the paper nor the code of other authors.
// [Beyond] turns them on. [Beyond] also sets the probabilities of generalExplorer and the
// number of updates of repeatingLearner. results/README.md says what all of them save together.

// A heldExplorer repeats its random action once the agent has reached an episode's first
// goal (RandomActionHeld). It draws a new random action after a step that was much
// shorter than usual, which happens at an obstacle.
//
// Differs D24: [Paper] draws a random action anew in each step (R95). Such actions lead
// back and forth, and half of them run into a wall. A repeated one crosses free space.
type heldExplorer struct {
	generalExplorer
	action  []float64 // the random action to hold
	holding bool      // the next random action is the held one
	taken   bool      // the running step takes the held action
	stride  float64   // a running mean of the length of all steps, in the goal's unit
}

// strideDecay is the share of stride that remains after a step. The latest 50 steps, as
// many as an episode has, make up about two thirds of stride.
const strideDecay = 0.98

func (w *heldExplorer) explore(a *Agent, action []float64) {
	if !w.random(a, action) {
		return
	}
	onTheWay := a.firstGoal && !a.reached // to an episode's first goal
	if onTheWay || a.step < w.uniform {
		uniformAction(action, a.exploration.Rand)
		return
	}
	if !w.holding {
		uniformAction(w.action, a.exploration.Rand)
	}
	w.holding = true
	w.taken = true
	copy(action, w.action)
}

// afterStep drops the held action if the latest step took it and was short. It also drops
// the action at an episode's end.
func (w *heldExplorer) afterStep(a *Agent) {
	square := 0.0
	for i, before := range a.replay.achieved.at(a.step - 1) {
		δ := before - a.achieved[i]
		square += float64(δ * δ)
	}
	length := math.Sqrt(square)
	short := length < float64(a.params.RandomActionHeld*w.stride)
	blocked := w.taken && short
	ended := a.step%a.params.Horizon == 0
	if blocked || ended {
		w.holding = false
	}
	w.taken = false
	w.stride = float64(strideDecay*w.stride) + float64((1-strideDecay)*length)
}

func (w *heldExplorer) savedState() savedFields { return savedFields{w.action, &w.holding, &w.stride} }

// A desiredFirstCurriculum begins some episodes with the environment's goal
// (FirstGoalDesired), if an earlier step of the run has ended at this goal. OMEGA (Pitis
// et al., 2020) also shifts over time from the frontier to the environment's goals.
//
// Differs D5: in section 3.2 the agent sets itself every goal. In [Beyond] half of the
// episodes begin with the environment's goal, once that goal has been reached. Without
// this rule the agent's goals would move on to other places from then on. So the policy
// would stay stuck at the last corner before the environment's goal.
type desiredFirstCurriculum struct{ curriculum }

func (c desiredFirstCurriculum) goal(a *Agent, first bool) ([]float64, error) {
	desired := first && a.goalDraws.Float64() < a.params.FirstGoalDesired
	if desired && a.desiredReached() {
		return a.desired, nil
	}
	return c.curriculum.goal(a, first)
}

// desiredReached reports whether a step in the replay has ended at the environment's goal.
func (a *Agent) desiredReached() bool {
	for i := a.replay.n - 1; i >= 0; i-- {
		if a.env.Reward(a.replay.nextAchieved.at(i), a.desired) == 0 {
			return true
		}
	}
	return false
}

// A movingAverage makes a learner's updates and keeps a second ensemble for the
// estimator. The critics and heads of the second ensemble are a moving average of the
// learner's (Polyak and Juditsky, 1992). The average is the mean of the parameters over
// the first 1/(1-ρ) updates, and follows Equation 3 from then on.
//
// Differs D4: section 3.2 uses the learner's own ensemble. In version 0.2.0 goals on the
// maze 15x5 stood at the walls of the start and at the end of a dead end, where minibatches
// kept pulling the heads apart (results/screen.md of commit 55f9532).
type movingAverage struct {
	learner
	*ensemble
	updates int
}

// newMovingAverage returns a movingAverage of u. It is called before l first updates u.
func newMovingAverage(u *ensemble, l learner) *movingAverage {
	averaged := *u // shares everything except the networks
	averaged.critics = nil
	for _, c := range u.critics {
		net := newCriticNet(u.params.widths(c.q.layers[0].w.rows, 1), u.headWidth)
		copy(net.params, c.params)
		f := follower{target: net.params, online: c.params}
		averaged.critics = append(averaged.critics, &critic{criticNet: net, follower: f})
	}
	return &movingAverage{learner: l, ensemble: &averaged}
}

func (m *movingAverage) update(a *Agent) error {
	if err := m.learner.update(a); err != nil {
		return err
	}
	m.updates++
	for _, c := range m.critics {
		c.ρ = min(a.params.UncertaintyPolyak, 1-1/float64(m.updates))
	}
	m.follow()
	return nil
}

func (m *movingAverage) savedState() savedFields {
	s := append(m.learner.savedState(), &m.updates)
	for _, c := range m.critics {
		s = append(s, c.params)
	}
	return s
}
