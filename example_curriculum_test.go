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

// An approach is a curriculum that pursues part of the way to the desired goal,
// more with each goal that is reached. That decides its goals, and nobody else
// can tell it: it is saved with the agent.
type approach struct{ reached byte }

func (c *approach) NextGoal(a *qta.Agent, first bool, rng *rand.Rand) ([]float64, error) {
	if !first {
		c.reached = min(c.reached+1, 19)
	}
	s, part := a.State(), float64(c.reached+1)/20
	return []float64{s.Achieved[0] + float64(part*(s.Desired[0]-s.Achieved[0]))}, nil
}

func (c *approach) MarshalBinary() ([]byte, error) { return []byte{c.reached}, nil }

func (c *approach) UnmarshalBinary(data []byte) error {
	if len(data) != 1 {
		return fmt.Errorf("an approach has 1 byte, not %d", len(data))
	}
	c.reached = data[0]
	return nil
}

func ExampleAgent_SetCurriculum() {
	p := qta.Small()
	p.HiddenSize, p.Batch, p.Horizon = 8, 16, 20
	agent, err := qta.NewAgent(p, new(cart).Sizes(), 1)
	if err != nil {
		log.Fatal(err)
	}
	c := new(approach)
	if err := agent.SetCurriculum(c); err != nil {
		log.Fatal(err)
	}
	if err := agent.Train(context.Background(), new(cart), new(cart), qta.TrainOptions{Steps: 200, EvalEvery: 200, Rollouts: 1}); err != nil {
		log.Fatal(err)
	}
	saved, err := agent.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}

	// Elsewhere, it goes on from there.
	if err := agent.UnmarshalBinary(saved); err != nil {
		log.Fatal(err)
	}
	again := new(approach)
	if err := agent.SetCurriculum(again); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.reached > 0, again.reached == c.reached)

	// Output:
	// true true
}
