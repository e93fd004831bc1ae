package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"qta"
)

type line struct{ at, goal [1]float64 } // where a dot is, and where it is to be

func (l *line) Sizes() qta.Sizes { return qta.Sizes{Observation: 1, Goal: 1, Action: 1} }

func (l *line) Reset(rng *rand.Rand) qta.State {
	l.at[0], l.goal[0] = 0, rng.Float64()
	return qta.State{Observation: l.at[:], Achieved: l.at[:], Desired: l.goal[:]}
}

func (l *line) Step(action []float64) (qta.State, float64) {
	l.at[0] = min(max(l.at[0]+action[0]/10, 0), 1)
	return qta.State{Observation: l.at[:], Achieved: l.at[:], Desired: l.goal[:]}, l.Reward(l.at[:], l.goal[:])
}

func (l *line) Reward(achieved, desired []float64) float64 {
	if d := achieved[0] - desired[0]; max(d, -d) < 0.05 {
		return 0
	}
	return -1
}

func main() {
	p := qta.Small()
	p.HiddenSize, p.Batch, p.Horizon, p.InitialSteps = 32, 64, 20, 200
	if err := qta.CheckEnv(new(line), p.Horizon, rand.New(rand.NewPCG(1, 0))); err != nil {
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
