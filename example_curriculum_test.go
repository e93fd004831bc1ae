package qta_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"qta"
)

// A gridCount is a curriculum that counts visits in the cells of a grid, and
// pursues the least visited of a hundred goals achieved before. It can count anew
// what the agent has seen, and so need not be saved.
type gridCount struct {
	visits map[[2]int]int
	seen   int // states counted
}

func (c *gridCount) NextGoal(a *qta.Agent, first bool, rng *rand.Rand) ([]float64, error) {
	cell := func(g []float64) [2]int { return [2]int{int(g[0]), int(g[1])} }
	for ; c.seen <= a.Steps(); c.seen++ {
		c.visits[cell(a.Achieved(c.seen))]++
	}
	goal := a.Achieved(a.Steps())
	for range 100 {
		if g := a.Achieved(rng.IntN(a.Steps() + 1)); c.visits[cell(g)] < c.visits[cell(goal)] {
			goal = g
		}
	}
	return goal, nil
}

func ExampleCurriculum() {
	maze, err := qta.NewMaze("1U5")
	if err != nil {
		log.Fatal(err)
	}
	p := qta.Small()
	p.HiddenSize, p.Batch = 8, 16 // far too small, for the sake of a quick example
	agent, err := qta.NewAgent(p, maze.Env().Sizes(), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	c := &gridCount{visits: map[[2]int]int{}}
	if err := agent.SetCurriculum(c); err != nil {
		log.Fatal(err)
	}
	err = agent.Train(context.Background(), maze.Env(), maze.Env(), qta.TrainOptions{Steps: 200, EvalEvery: 200, Rollouts: 1})
	fmt.Println(agent.Steps(), "steps, more than one cell seen:", len(c.visits) > 1, err)

	// Output:
	// 200 steps, more than one cell seen: true <nil>
}
