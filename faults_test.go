package qta

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A selfPlay is an environment that asks the agent it trains, as self-play does.
type selfPlay struct {
	*MazeEnv
	agent *Agent
}

func (e *selfPlay) Step(action []float64) (State, float64) {
	e.agent.Act([]float64{1.5, 1.5}, []float64{2.5, 1.5})
	return e.MazeEnv.Step(action)
}

func (e *selfPlay) Reward(achieved, desired []float64) float64 {
	e.agent.Value([][]float64{achieved}, [][]float64{desired})
	e.agent.Act(achieved, desired)
	return e.MazeEnv.Reward(achieved, desired)
}

// What an environment asks the agent changes neither what is stored nor what an
// evaluation does.
func TestEnvAsksAgent(t *testing.T) {
	p := tinyPreset(Default())
	m := mustMaze(t, "1U5")
	plain, asking := newMazeAgent(t, p, 1), newMazeAgent(t, p, 1)
	o := TrainOptions{Steps: 45, EvalEvery: 15, Rollouts: 2}
	if err := plain.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
		t.Fatal(err)
	}
	if err := asking.Train(t.Context(), &selfPlay{m.Env(), asking}, &selfPlay{m.Env(), asking}, o); err != nil {
		t.Fatal(err)
	}
	sameState(t, "an environment that asks the agent", marshal(t, plain), asking)
}

// Training within a hook of training is refused.
func TestTrainWithinTrain(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	m := mustMaze(t, "1U5")
	o := TrainOptions{Steps: 3, EvalEvery: 10, Rollouts: 1}
	within := o
	within.AfterStep = func() error { return a.Train(context.Background(), m.Env(), m.Env(), o) }
	err := a.Train(t.Context(), m.Env(), m.Env(), within)
	if err == nil || !strings.HasPrefix(err.Error(), "qta: Train within Train") || a.Steps() != 1 {
		t.Errorf("error %v after step %d", err, a.Steps())
	}
}

// A drifting environment moves its goal within an episode.
type drifting struct{ *MazeEnv }

func (e drifting) Step(action []float64) (State, float64) {
	s, r := e.MazeEnv.Step(action)
	s.Desired = []float64{s.Desired[0] + 1e-9, s.Desired[1]}
	return s, r
}

// An evaluation notices a goal that moves within a rollout.
func TestEvaluateGoalMoves(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	_, err := a.Evaluate(drifting{mustMaze(t, "1U5").Env()}, 1, 1)
	if err == nil || !strings.Contains(err.Error(), "the desired goal has gone from") {
		t.Errorf("error %v", err)
	}
}

// What an agent cannot be asked panics with a sentence.
func TestPanics(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	at := []float64{1.5, 1.5}
	for _, test := range []struct {
		call func()
		want string
	}{
		{func() { a.Act(at, []float64{1.5, math.NaN()}) }, "qta: Act with the observation [1.5 1.5] and the goal [1.5 NaN], which are not all finite"},
		{func() { a.Act([]float64{math.Inf(1), 0}, at) }, "qta: Act with the observation [+Inf 0] and the goal [1.5 1.5], which are not all finite"},
		{func() { a.Act(at, at[:1]) }, "qta: Act with an observation of 2 and a goal of 1, want 2 and 2"},
		{func() { new(Agent).Act(at, at) }, "qta: Act of an Agent that neither NewAgent nor LoadFile made"},
		{func() { new(Agent).Digest() }, "qta: Digest of an Agent that neither NewAgent nor LoadFile made"},
	} {
		func() {
			defer func() {
				if diff := cmp.Diff(any(test.want), recover()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}()
			test.call()
		}()
	}
}
