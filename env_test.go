package qta

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// lineEnv is an agent on a line, with three numbers in its observation. Its
// hooks break one sentence of the contract each; nil hooks leave it right.
type lineEnv struct {
	start, at, speed float64
	goal             []float64
	rng              *rand.Rand
	action           []float64
	steps, episodes  int

	onSizes  func(e *lineEnv) Sizes
	onReset  func(e *lineEnv)
	onStep   func(e *lineEnv, action []float64)
	onState  func(e *lineEnv, s *State)
	onReward func(e *lineEnv, achieved, desired []float64, r float64) float64
	onReturn func(e *lineEnv, r float64) float64
}

func (e *lineEnv) Sizes() Sizes {
	if e.onSizes != nil {
		return e.onSizes(e)
	}
	return Sizes{Observation: 3, Goal: 1, Action: 2}
}

func (e *lineEnv) Reset(rng *rand.Rand) State {
	e.rng, e.at, e.speed, e.goal = rng, rng.Float64(), 0, []float64{3 * rng.Float64()}
	e.start, e.steps = e.at, 0
	e.episodes++
	if e.onReset != nil {
		e.onReset(e)
	}
	return e.state()
}

func (e *lineEnv) state() State {
	s := State{[]float64{e.at, e.speed, e.start}, []float64{e.at}, e.goal}
	if e.onState != nil {
		e.onState(e, &s)
	}
	return s
}

func (e *lineEnv) Step(action []float64) (State, float64) {
	e.steps++
	// Chance in the steps is allowed: it comes from Reset's generator.
	e.speed = 0.9*e.speed + 0.1*action[0] - 0.1*action[1] + 0.01*e.rng.Float64()
	if e.onStep != nil {
		e.onStep(e, action)
	}
	e.at += e.speed
	r := e.Reward([]float64{e.at}, e.goal)
	if e.onReturn != nil {
		r = e.onReturn(e, r)
	}
	return e.state(), r
}

func (e *lineEnv) Reward(achieved, desired []float64) float64 {
	r := -1.0
	if math.Abs(achieved[0]-desired[0]) < 0.1 {
		r = 0
	}
	if e.onReward != nil {
		r = e.onReward(e, achieved, desired, r)
	}
	return r
}

func TestCheckEnv(t *testing.T) {
	var leaked float64
	for _, test := range []struct {
		name string
		env  lineEnv
		want string // part of the message, after the prefix; "" for none
	}{
		{"right", lineEnv{}, ""},
		{"no goal", lineEnv{onSizes: func(e *lineEnv) Sizes { return Sizes{3, 0, 2} }}, "Sizes returned {Observation:3 Goal:0 Action:2}; all must be at least 1"},
		{"growing", lineEnv{onSizes: func(e *lineEnv) Sizes { return Sizes{3, 1, 2 + e.steps/3} }}, "Sizes returned {Observation:3 Goal:1 Action:3} after Step 3 and {Observation:3 Goal:1 Action:2} before; sizes must not change (episode 1)"},
		{"short observation", lineEnv{onState: func(e *lineEnv, s *State) { s.Observation = s.Observation[:2] }}, "Reset returned 2 numbers in Observation; Sizes says 3"},
		{"long goal", lineEnv{onState: func(e *lineEnv, s *State) {
			if e.steps == 2 {
				s.Achieved = s.Observation
			}
		}}, "Step 2 returned 3 numbers in Achieved; Sizes says 1 (episode 1)"},
		{"NaN", lineEnv{onState: func(e *lineEnv, s *State) { s.Observation[1] = math.NaN() }}, "Reset returned NaN in Observation[1]"},
		{"infinite", lineEnv{onState: func(e *lineEnv, s *State) {
			if e.steps == 5 {
				s.Achieved[0] = math.Inf(1)
			}
		}}, "Step 5 returned +Inf in Achieved[0]"},
		{"moving goal", lineEnv{onStep: func(e *lineEnv, a []float64) { e.goal = []float64{e.goal[0] + 1e-9} }}, "must stay the same throughout the episode"},
		{"moving goal in place", lineEnv{onStep: func(e *lineEnv, a []float64) { e.goal[0] += 1e-9 }}, "must stay the same throughout the episode"},
		{"bonus", lineEnv{onReturn: func(e *lineEnv, r float64) float64 { return r + 5 }}, "returned the reward 4; it must be 0 or -1"},
		{"late reward", lineEnv{onReturn: func(e *lineEnv, r float64) float64 { return float64(-(e.steps % 2)) }}, "they must be equal"},
		{"half reward", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 { return r / 2 }}, "must be 0 or -1"},
		{"reward of the episode's goal", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if d[0] != e.goal[0] {
				return -1
			}
			return r
		}}, "a goal must reach itself, with 0 (of episode 1, after it)"},
		{"reward of the clock", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if e.steps < 3 {
				return 0
			}
			return r
		}}, "must depend on nothing but its arguments"},
		{"reward of hindsight goals", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if d[0] != e.goal[0] && a[0] != d[0] {
				return -2
			}
			return r
		}}, "must be 0 or -1"},
		{"reward by turns", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if e.steps == 50 {
				e.episodes++
				return float64(-(e.episodes % 2))
			}
			return r
		}}, "must"},
		{"reward pushes", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 { e.speed += 1e-12; return r }}, "asking for a reward may change nothing"},
		{"reward changes the state", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 { a[0] = d[0]; return r }}, "Reward after Reset changed Achieved"},
		{"a reward that is never 0", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 { return -1 }}, "held to itself; a goal must reach itself"},
		{"a reward that is never 0 where a state is its own goal", lineEnv{onReward: func(e *lineEnv, a, d []float64, r float64) float64 {
			if a[0] == d[0] {
				return -1
			}
			return r
		}}, "held to itself; a goal must reach itself"},
		{"actions without any effect", lineEnv{onStep: func(e *lineEnv, a []float64) { e.speed = 0.01 * e.rng.Float64() }}, "actions have no effect: 20 pairs of episodes"},
		{"actions that seldom have one", lineEnv{onStep: func(e *lineEnv, a []float64) {
			if e.speed = 0.01; e.start > 0.7 && a[0] > 0.5 {
				e.speed = 0.02
			}
		}}, ""},
		{"changes the action", lineEnv{onStep: func(e *lineEnv, a []float64) { a[0] /= 2 }}, "Step 1 changed its action"},
		{"keeps the action", lineEnv{
			onReset: func(e *lineEnv) { e.action = nil },
			onStep: func(e *lineEnv, a []float64) {
				if e.action != nil {
					e.speed += 0.1 * e.action[0]
				}
				e.action = a
			},
		}, "Observation of Step 2 differs between two episodes with equal generators and actions; Step must not keep the slice of its action (episodes 1 and 4)"},
		{"other chance", lineEnv{onReset: func(e *lineEnv) { e.at += 0.01 * rand.Float64() }}, "Observation of Reset differs between two episodes with equal generators and actions; neither other chance"},
		{"goes on from before", lineEnv{onReset: func(e *lineEnv) { e.at += 0.01 * float64(e.episodes) }}, "neither other chance nor earlier episodes may reach an episode (episodes 1 and 2)"},
		{"remembers what was broken off", lineEnv{
			onReset: func(e *lineEnv) { e.at += leaked; leaked = 0.5 },
			onStep: func(e *lineEnv, a []float64) {
				if leaked = 0.5; e.steps == 50 {
					leaked = 0
				}
			},
		}, "Reset must leave nothing of an episode that was broken off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckEnv(&test.env, 50, rand.New(rand.NewPCG(1, 2)))
			switch {
			case err == nil && test.want != "":
				t.Errorf("found nothing wrong; want %q", test.want)
			case err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), "qta: environment: ") || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got  %v\nwant %q", err, test.want)
			}
		})
	}
}

func TestCheckEnvMazes(t *testing.T) {
	for _, name := range []string{"4x5", "3x9", "1U5", "5U5"} {
		if err := CheckEnv(mustMaze(t, name).Env(), 50, rand.New(rand.NewPCG(3, 4))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckEnvHorizon(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a horizon of 0")
		}
	}()
	CheckEnv(&lineEnv{}, 0, rand.New(rand.NewPCG(1, 2)))
}
