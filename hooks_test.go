package qta

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is what the functions of TrainOptions were told.
type told struct {
	goals                                          [][]float64
	evaluated                                      []int
	firsts, reached, episodes, updates, afterSteps int
	last                                           losses
}

var errStop = errors.New("stop")

// options returns functions that note what they are told of a, and hold it to the
// state that a is in. Goals are theirs to change. AfterEvaluation stops at step 28.
func (o *told) options(t *testing.T, what string, a *Agent) TrainOptions {
	p := a.Params()
	return TrainOptions{
		AfterEvaluation: func(e Evaluation) error {
			if o.evaluated = append(o.evaluated, e.Step); e.Step == 28 {
				return errStop
			}
			return nil
		},
		AfterGoal: func(goal []float64, first bool) {
			if first {
				if o.firsts++; a.Steps() != (o.firsts-1)*p.Horizon || o.episodes != o.firsts-1 {
					t.Errorf("%s: first goal %d is set after %d steps and %d episodes", what, o.firsts, a.Steps(), o.episodes)
				}
			}
			if !slices.Equal(goal, a.goal) {
				t.Errorf("%s: the goal is %v, pursued is %v", what, goal, a.goal)
			}
			o.goals = append(o.goals, slices.Clone(goal))
			goal[0] = -1
		},
		AfterReach: func(goal []float64) {
			if o.reached++; a.env.Reward(a.State().Achieved, goal) != 0 || !slices.Equal(goal, o.goals[len(o.goals)-1]) {
				t.Errorf("%s: after step %d the goal %v is said to be reached from %v", what, a.Steps(), goal, a.State().Achieved)
			}
			goal[0] = -1
		},
		AfterEpisode: func() {
			o.episodes++
			if shown := int(a.goals.count) - 1; shown != o.episodes*p.NormalizerDraws || a.Steps() != o.episodes*p.Horizon {
				t.Errorf("%s: episode %d ends after %d steps, when the normalizers have seen %d goals", what, o.episodes, a.Steps(), shown)
			}
		},
		AfterUpdate: func(critic, predictive, actor float64) {
			o.updates++
			o.last = losses{critic, predictive, actor}
		},
		AfterStep: func() error {
			o.afterSteps++
			want := max(0, a.Steps()-p.LearningStarts) * p.UpdatesPerStep
			if p.UpdatesPerEpisode > 0 {
				want = max(0, a.Steps()/p.Horizon-p.LearningStarts/p.Horizon) * p.UpdatesPerEpisode
			}
			if o.updates != want {
				return fmt.Errorf("%d updates after step %d, want %d", o.updates, a.Steps(), want)
			}
			return nil
		},
	}
}

// The functions of TrainOptions are called when something happens, as often as it
// happens, and change nothing; an error of AfterEvaluation ends training.
func TestHooks(t *testing.T) {
	const steps = 45
	m := mustMaze(t, "1U5")
	for _, v := range []Preset{{"default", Default()}, {"authors", Authors()}, changed("", Default(), "UpdatesPerEpisode=7 TargetEvery=2")} {
		p := tinyPreset(v.Params)
		want := marshal(t, agentAfter(t, p, steps))
		a, got := newMazeAgent(t, p, 1), new(told)
		o := got.options(t, v.Name, a)
		o.Steps, o.EvalEvery, o.Rollouts = steps, 7, 2
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != errStop || a.Steps() != 28 {
			t.Fatalf("%s: error %v at step %d, want AfterEvaluation's at 28", v.Name, err, a.Steps())
		}
		got.afterSteps++ // the error came first
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		sameState(t, v.Name+" looked on", want, a)
		wanted := told{
			firsts: (steps + p.Horizon - 1) / p.Horizon, episodes: steps / p.Horizon, afterSteps: steps,
			reached: a.goalsReached, last: a.losses, evaluated: []int{7, 14, 21, 28, 35, 42},
			goals: got.goals, updates: got.updates,
		}
		if diff := cmp.Diff(wanted, *got, cmp.AllowUnexported(told{}, losses{})); diff != "" || len(got.goals) != a.goalsSet {
			t.Errorf("%s: %d goals of %d (-want +told):\n%s", v.Name, len(got.goals), a.goalsSet, diff)
		}
	}
}
