package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Which steps the policy acts in, where actions are either the policy's own or
// random. An episode's last step is not looked at: after it the normalizers have
// changed.
func TestRandomActions(t *testing.T) {
	never := func(e, k int) bool { return false }
	always := func(e, k int) bool { return true }
	for _, test := range []struct {
		what   string
		change func(*Params)
		atGoal func(e, k int) bool   // whether step k of episode e ends at the environment's goal
		policy func(e, k int) string // "yes", "no", or "" for either, of the step after k of episode e
		after  func(a *Agent)        // each step
	}{
		{
			"InitialActions uniform for 14 steps, the published code of MEGA",
			func(p *Params) { p.InitialActions, p.InitialSteps = "uniform", 14 },
			never,
			func(e, k int) string { return yes(10*e+k >= 14) },
			nil,
		},
		{
			"RandomActionLater, from the step after an episode's first goal was first reached, the authors' code",
			func(p *Params) { p.Curriculum, p.RandomActionLater = "her", 1 },
			func(e, k int) bool { return e == 2 && k == 4 },
			func(e, k int) string { return yes(10*e+k < 24) },
			nil,
		},
		{
			// What the first step reached is taken back within the episode, whose
			// later goals are not its first; the next episode's goal is.
			"RandomActionLater, by an episode's first goal alone",
			func(p *Params) { p.RandomActionLater = 1 },
			always,
			func(e, k int) string { return yes(e == 0 && (k == 0 || k >= 4) || e == 1 && k == 0) },
			func(a *Agent) { a.explored = a.explored && a.step != 4 },
		},
		{
			"RandomActionReached, from the step after an episode's first goal was reached to the episode's end",
			func(p *Params) { p.Curriculum, p.RandomActionReached = "her", 1 },
			func(e, k int) bool { return e%2 == 1 && k == 4 },
			func(e, k int) string { return yes(e%2 == 0 || k < 4) },
			nil,
		},
		{
			"RandomActionReached, on the way to later goals too",
			func(p *Params) { p.RandomActionReached = 1 },
			always,
			func(e, k int) string { return yes(k == 0) },
			nil,
		},
		{
			"MEGA's bonus of 0.1 to the probability of a random action for each step at the goal",
			func(p *Params) { p.Curriculum, p.Horizon = "mega", 15 },
			always, // which is the first episode's goal, and every other
			func(e, k int) string {
				switch {
				case k == 0:
					return "yes"
				case k >= 10:
					return "no"
				}
				return ""
			},
			nil,
		},
	} {
		a := scriptedAgent(t, func(p *Params) {
			p.ActionNoise, p.RandomAction, p.RandomActionLater, p.RandomActionReached = 0, 0, 0, 0
			test.change(p)
		})
		env := &scriptedEnv{place: func(e, k int) float64 {
			if test.atGoal(e, k) {
				return 0
			}
			return 1 + float64(k)
		}}
		trainScripted(t, a, env, 4*a.params.Horizon, func() error {
			e, k := env.resets-1, env.step-1
			s, goal := []float64{env.place(e, k) + 0.5}, at(a.replay.goal, a.step-1, 1)
			got := yes(slices.Equal(env.actions[len(env.actions)-1], a.Act(s, goal)))
			if want := test.policy(e, k); env.step < a.params.Horizon && want != "" && got != want {
				t.Errorf("%s: step %d of episode %d is the policy's: %s, want %s", test.what, k, e, got, want)
			}
			if test.after != nil {
				test.after(a)
			}
			return nil
		})
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// numberedScript is an environment in which every achieved goal and every goal
// of an episode has a number of its own.
func numberedScript() *scriptedEnv {
	return &scriptedEnv{
		place:   func(e, k int) float64 { return float64(100*e + k) },
		desired: func(e int) float64 { return float64(-1 - e) },
	}
}

// frequency holds a count to n draws of probability p.
func frequency(t *testing.T, what string, count, n int, p float64) {
	t.Helper()
	if d := math.Abs(float64(count) - float64(n)*p); d > 5*math.Sqrt(float64(n)*p*(1-p))+1e-9 {
		t.Errorf("%s: %d times of %d, want about %.1f", what, count, n, float64(n)*p)
	}
}

// holdMinibatch holds a minibatch in a numberedScript, the achieved goals and the
// goals that rewards were asked for, to the probability of each transition and to
// the share of relabeled goals, each achieved in the same episode, by the
// transition itself or later.
func holdMinibatch(t *testing.T, what string, asked [][2]float64, P []float64, relabeled float64, horizon int) {
	t.Helper()
	transition := func(achieved float64) (i, episode int) {
		episode = int(achieved) / 100
		return episode*horizon + int(achieved)%100 - 1, episode
	}
	counts, own := make([]int, len(P)), 0
	for _, pair := range asked {
		i, episode := transition(pair[0])
		counts[i]++
		if pair[1] < 0 {
			own++
			if pair[1] != float64(-1-episode) {
				t.Fatalf("%s: the goal %v for a transition of episode %d", what, pair[1], episode)
			}
		} else if f, e := transition(pair[1]); e != episode || f < i {
			t.Fatalf("%s: transition %d with the goal achieved in %d", what, i, f)
		}
	}
	for i, p := range P {
		frequency(t, fmt.Sprintf("%s: transition %d of %d", what, i, len(P)), counts[i], len(asked), p)
	}
	frequency(t, what+": a goal that is not relabeled", own, len(asked), 1-relabeled)
}

// The three minibatches of an update, each by its rule: the critics', and those
// that HeadOwnDraw and ActorOwnDraw draw.
func TestMinibatches(t *testing.T) {
	const n, horizon, rows = 23, 5, 4000 // four episodes and the beginning of a fifth
	uniform, byEpisode := make([]float64, n), make([]float64, n)
	for i := range n {
		first := i / horizon * horizon
		uniform[i] = 1. / n
		byEpisode[i] = 1. / 5 / float64(min(horizon, n-first))
	}
	for _, test := range []struct {
		replay       string
		heads, actor bool
	}{
		{"uniform", true, true},
		{"per", false, false},
		{"td", true, true},
	} {
		what := fmt.Sprintf("Replay %s, HeadOwnDraw %t, ActorOwnDraw %t", test.replay, test.heads, test.actor)
		a := scriptedAgent(t, func(p *Params) {
			p.Curriculum, p.Horizon, p.LearningStarts, p.Batch = "her", horizon, n-3, rows
			p.Replay, p.HeadOwnDraw, p.ActorOwnDraw = test.replay, test.heads, test.actor
			p.NormalizerClip = 1000
		})
		env := numberedScript()
		critics := uniform
		trainScripted(t, a, env, n, func() error {
			if a.step != n-1 {
				return nil
			}
			env.asked = nil
			if test.replay == "uniform" {
				return nil
			}
			s := a.sampler.(*prioritized)
			critics = append(slices.Clone(s.tree.values()[:n-1]), 0)
			critics[n-1] = s.largest // for the transition to come
			sum := 0.0
			for _, w := range critics {
				sum += w
			}
			for i := range critics {
				critics[i] /= sum
			}
			if critics[n-1] < 1.5/n {
				t.Fatalf("%s: the newest transition has the probability %v: this shows nothing", what, critics[n-1])
			}
			return nil
		})
		asked := 1
		for _, own := range []bool{test.heads, test.actor} {
			if own {
				asked++
			}
		}
		if extra := len(env.asked) - asked*rows; extra < 0 || extra > 3 { // those of the step
			t.Fatalf("%s: %d rewards asked for in an update, want %d minibatches of %d", what, len(env.asked), asked, rows)
		}
		env.asked = env.asked[len(env.asked)-asked*rows:]
		hold := func(whose string, P []float64, relabeled float64) {
			holdMinibatch(t, what+": "+whose, env.asked[:rows], P, relabeled, horizon)
			env.asked = env.asked[rows:]
		}
		hold("the critics' minibatch (sections 3.1 and 3.3)", critics, 0.8)
		if test.heads {
			hold("the heads' own minibatch (the authors' code: by episode, then by step, goals as pursued)", byEpisode, 0)
		}
		if test.actor {
			hold("the actor's own minibatch (the authors' code: uniform, relabeled)", uniform, 0.8)
		}
	}
}

// The normalizers are shown an episode's transitions once it is over: states s
// before the step, and goals relabeled as in a minibatch; HER's public code and
// the authors'.
func TestNormalizersAreShown(t *testing.T) {
	const episodes, horizon = 400, 5
	const reading = "the Reading of normalizer: draws from the finished episode, s and the goal that the transition is replayed with"
	a := scriptedAgent(t, func(p *Params) { p.Curriculum, p.Horizon, p.NormalizerDraws = "her", horizon, 1 })
	counts, own := make([]int, horizon), 0
	s, g := 0.0, 0.0
	trainScripted(t, a, numberedScript(), episodes*horizon, func() error {
		e := (a.step - 1) / horizon
		if shown := a.step / horizon; a.observations.count != float64(1+shown) || a.goals.count != a.observations.count {
			t.Fatalf("%s: %v states and %v goals shown after %d steps, want 1 for each of %d episodes",
				reading, a.observations.count-1, a.goals.count-1, a.step, shown)
		}
		if a.step%horizon != 0 {
			return nil
		}
		for _, n := range []*normalizer{a.observations, a.goals} {
			if n.mean[0] != n.sum[0]/n.count {
				t.Fatalf("%s: after episode %d the mean is %v, want %v", reading, e, n.mean[0], n.sum[0]/n.count)
			}
		}
		state, goal := a.observations.sum[0]-s, a.goals.sum[0]-g
		s, g = a.observations.sum[0], a.goals.sum[0]
		k := int(state - 0.5 - float64(100*e))
		if float64(100*e+k)+0.5 != state || k < 0 || k >= horizon {
			t.Fatalf("%s: after episode %d the state %v was shown", reading, e, state)
		}
		counts[k]++
		if goal == float64(-1-e) {
			own++
		} else if f := int(goal) - 100*e; float64(100*e+f) != goal || f <= k || f > horizon { // achieved by the f-th step
			t.Fatalf("%s: after episode %d the state of step %v was shown with the goal %v", reading, e, k, goal)
		}
		return nil
	})
	for k, c := range counts {
		frequency(t, fmt.Sprintf("%s: the state of step %d", reading, k), c, episodes, 1./horizon)
	}
	frequency(t, reading+": a goal that is not relabeled", own, episodes, 0.2)
}
