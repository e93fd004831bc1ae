package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"qta"
)

// A line is an environment in which a dot moves between 0 and 1 to reach a goal there.
type line struct {
	at   [1]float64
	goal [1]float64
}

func (l *line) Sizes() qta.Sizes { return qta.Sizes{Observation: 1, Goal: 1, Action: 1} }

func (l *line) state() qta.State {
	return qta.State{Observation: l.at[:], Achieved: l.at[:], Desired: l.goal[:]}
}

func (l *line) Reset(rng *rand.Rand) qta.State {
	l.at[0] = 0
	l.goal[0] = rng.Float64()
	return l.state()
}

func (l *line) Step(action []float64) (qta.State, float64) {
	moved := l.at[0] + action[0]/10
	l.at[0] = min(max(moved, 0), 1)
	return l.state(), l.Reward(l.at[:], l.goal[:])
}

func (l *line) Reward(achieved, desired []float64) float64 {
	distance := math.Abs(achieved[0] - desired[0])
	if distance < 0.05 {
		return 0
	}
	return -1
}

func main() {
	p := qta.Small()
	p.HiddenSize = 32
	p.Batch = 64
	p.Horizon = 20
	p.InitialSteps = 200
	err := qta.CheckEnv(new(line), p.Horizon, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		panic(err)
	}
	agent, err := qta.NewAgent(p, new(line).Sizes(), 1)
	if err != nil {
		panic(err)
	}
	o := qta.TrainOptions{Steps: 3000, EvalEvery: 200, Rollouts: 20, StopWhenSolved: true}
	err = agent.Train(context.Background(), new(line), new(line), o)
	fmt.Println("solved after", agent.SolvedAt(), "steps, error", err)
}
