package qta

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The functions of TrainOptions are called when something happens, as often as it
// happens, and change nothing; an error of AfterEvaluation ends training.
func TestHooks(t *testing.T) {
	for _, v := range []Preset{{"default", Default()}, {"authors", Authors()}, changed("", Default(), "UpdatesPerEpisode=7 TargetEvery=2")} {
		p := tinyPreset(v.Params)
		const steps = 45
		want := marshal(t, agentAfter(t, p, steps))

		a := newMazeAgent(t, p, 1)
		m := mustMaze(t, "1U5")
		var goals [][]float64
		var evaluated []int
		firsts, reached, episodes, updates, afterSteps := 0, 0, 0, 0, 0
		stop := errors.New("stop")
		var last losses
		o := TrainOptions{
			Steps: steps, EvalEvery: 7, Rollouts: 2,
			AfterEvaluation: func(e Evaluation) error {
				if evaluated = append(evaluated, e.Step); e.Step == 28 {
					return stop
				}
				return nil
			},
			AfterGoal: func(goal []float64, first bool) {
				if first {
					if firsts++; a.Steps() != (firsts-1)*p.Horizon || episodes != firsts-1 {
						t.Errorf("%s: first goal %d is set after %d steps and %d episodes", v.Name, firsts, a.Steps(), episodes)
					}
				}
				if !slices.Equal(goal, a.goal) {
					t.Errorf("%s: the goal is %v, pursued is %v", v.Name, goal, a.goal)
				}
				goals = append(goals, slices.Clone(goal))
				goal[0] = -1 // it is the function's
			},
			AfterReach: func(goal []float64) {
				if reached++; a.env.Reward(a.State().Achieved, goal) != 0 || !slices.Equal(goal, goals[len(goals)-1]) {
					t.Errorf("%s: after step %d the goal %v is said to be reached from %v", v.Name, a.Steps(), goal, a.State().Achieved)
				}
				goal[0] = -1
			},
			AfterEpisode: func() {
				if shown := int(a.goals.count) - 1; shown != (episodes+1)*p.NormalizerDraws {
					t.Errorf("%s: episode %d is told of when the normalizers have seen %d goals, want %d", v.Name, episodes+1, shown, (episodes+1)*p.NormalizerDraws)
				}
				if episodes++; a.Steps() != episodes*p.Horizon {
					t.Errorf("%s: episode %d ends after %d steps", v.Name, episodes, a.Steps())
				}
			},
			AfterUpdate: func(critic, predictive, actor float64) {
				updates++
				last = losses{critic, predictive, actor}
			},
			AfterStep: func() error {
				afterSteps++
				want := max(0, a.Steps()-p.LearningStarts) * p.UpdatesPerStep
				if p.UpdatesPerEpisode > 0 {
					want = max(0, a.Steps()/p.Horizon-p.LearningStarts/p.Horizon) * p.UpdatesPerEpisode
				}
				if updates != want {
					return fmt.Errorf("%d updates after step %d, want %d", updates, a.Steps(), want)
				}
				return nil
			},
		}
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != stop || a.Steps() != 28 {
			t.Fatalf("%s: error %v at step %d, want AfterEvaluation's at 28", v.Name, err, a.Steps())
		}
		afterSteps++ // which the error kept
		if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if diff := cmp.Diff([]int{7, 14, 21, 28, 35, 42}, evaluated); diff != "" {
			t.Errorf("%s: evaluations (-want +told):\n%s", v.Name, diff)
		}
		sameState(t, v.Name+" looked on", want, a)
		got := []int{firsts, len(goals), reached, episodes, afterSteps}
		if diff := cmp.Diff([]int{(steps + p.Horizon - 1) / p.Horizon, a.goalsSet, a.goalsReached, steps / p.Horizon, steps}, got); diff != "" {
			t.Errorf("%s: first goals, goals, reached, episodes and steps (-want +told):\n%s", v.Name, diff)
		}
		if updates > 0 && last != a.losses {
			t.Errorf("%s: the latest losses are %+v, told were %+v", v.Name, a.losses, last)
		}
	}
}
