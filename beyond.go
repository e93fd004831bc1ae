package qta

import "math"

// This file holds options that neither the paper nor another code has. [Beyond] turns
// them on, and gives otherExplorer and scheduled other numbers; results/ has what each
// saves.

// A heldExplorer holds random actions once the agent has arrived (RandomActionHeld):
// each is the one before it, until a step with it is much shorter than usual, as at an
// obstacle.
//
// Differs D24: the paper draws a random action anew in each step. Single ones
// lead back and forth, and half of them end at a wall; a held one crosses free
// space.
type heldExplorer struct {
	otherExplorer
	action []float64 // to hold
	held   bool      // action is to be taken again
	taken  bool      // the running step takes it
	stride float64   // a running mean of the length of all steps, in the goal's unit
}

// strideDecay is the share of itself that the mean of lengths keeps in a step:
// an episode of 50 steps counts for two thirds of it.
const strideDecay = 0.98

func (w *heldExplorer) explore(a *Agent, action []float64) (random bool) {
	random = w.otherExplorer.explore(a, action)
	if !random || a.step < w.uniform || a.firstGoal && !a.reached { // on the way to an episode's first goal
		return random
	}
	if !w.held {
		uniformAction(w.action, a.exploration.Rand)
	}
	w.held, w.taken = true, true
	copy(action, w.action)
	return false
}

// stepped drops a held action if the latest step was short, or an episode's last.
func (w *heldExplorer) stepped(a *Agent) {
	square := 0.0
	for i, from := range a.replay.achieved.at(a.step - 1) {
		δ := from - a.achieved[i]
		square += float64(δ * δ)
	}
	length := math.Sqrt(square)
	short := w.taken && length < float64(a.params.RandomActionHeld*w.stride)
	if short || a.step%a.params.Horizon == 0 {
		w.held = false
	}
	w.taken = false
	w.stride = float64(strideDecay*w.stride) + float64((1-strideDecay)*length)
}

func (w *heldExplorer) saved() saved { return saved{w.action, &w.held, &w.stride} }

// practice begins some episodes with the environment's goal (FirstGoalDesired), once
// a step of the run has ended there: as OMEGA (Pitis et al., 2020) moves from the
// frontier to the task.
//
// Differs D5: in section 3.2 the agent sets itself every goal. In [Beyond] half of the
// episodes begin with the environment's: otherwise goals move on, and the policy stays
// stuck at the last corner before a goal that it has reached before.
type practice struct{ goalSetter }

func (c practice) goal(a *Agent, first bool) ([]float64, error) {
	if first && a.goalDraws.Float64() < a.params.FirstGoalDesired {
		for i := a.replay.n - 1; i >= 0; i-- {
			if a.env.Reward(a.replay.nextAchieved.at(i), a.desired) == 0 {
				return a.desired, nil
			}
		}
	}
	return c.goalSetter.goal(a, first)
}

// An average is a learner's ensemble whose critics and heads are a moving average
// (Polyak and Juditsky, 1992), for an estimator to ask: the mean of the parameters over
// the first 1/(1-ρ) updates, and Equation 3 from there on.
//
// Differs D4: section 3.2 asks the ensemble as it is, whose heads disagree longer
// about a corner that they see often than about a new place (on 15x5: results/screen.md
// of commit 55f9532).
type average struct {
	learner
	*ensemble
	updates int
}

// newAverage returns the average of an ensemble before the first update.
func newAverage(u *ensemble, l learner) *average {
	asked := *u // and shares all but the networks
	asked.critics = nil
	for _, c := range u.critics {
		net := newCriticNet(u.params.widths(c.q.layers[0].w.rows, 1), u.width)
		copy(net.params, c.params)
		f := follower{target: net.params, online: c.params}
		asked.critics = append(asked.critics, &critic{criticNet: net, follower: f})
	}
	return &average{learner: l, ensemble: &asked}
}

func (m *average) update(a *Agent) error {
	err := m.learner.update(a)
	m.updates++
	for _, c := range m.critics {
		c.ρ = min(a.params.UncertaintyPolyak, 1-1/float64(m.updates))
	}
	m.follow()
	return err
}

func (m *average) saved() saved {
	s := saved{&m.updates}
	for _, c := range m.critics {
		s = append(s, c.params)
	}
	return s
}
