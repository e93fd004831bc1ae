package qta_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"qta"
)

// trainedCart returns an agent that has learned to push a cart, and has
// been nowhere beyond the ends of its line, -1 and 1.
var trainedCart = sync.OnceValue(func() *qta.Agent {
	p := qta.Small()
	p.HiddenSize, p.Batch, p.Horizon, p.InitialSteps = 32, 64, 20, 200
	agent, err := qta.NewAgent(p, new(cart).Sizes(), 2)
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Train(context.Background(), new(cart), new(cart), qta.TrainOptions{Steps: 1500, EvalEvery: 1500, Rollouts: 1}); err != nil {
		log.Fatal(err)
	}
	return agent
})

// A goal where the cart stands is worth more than one that it has to go to.
func ExampleAgent_Value() {
	agent := trainedCart()
	rest := []float64{0, 0} // in the middle, at rest
	v := agent.Value([][]float64{rest, rest}, [][]float64{{0}, {0.8}})
	fmt.Println(v[0] > v[1])

	// Output:
	// true
}

// The agent is less certain of a place beyond the line's end, where it has
// never been.
func ExampleAgent_Uncertainty() {
	agent := trainedCart()
	ε := agent.Uncertainty([][]float64{{0.5, 0}, {3, 0}}, [][]float64{{0.5}, {0.5}}, 1)
	fmt.Println(ε[0] < ε[1])

	// Output:
	// true
}

// Of three candidates, each a state with the goal achieved there, the one that
// the agent has never seen would be its next goal.
func ExampleAgent_GoalProbabilities() {
	agent := trainedCart()
	observations := [][]float64{{0.2, 0}, {0.5, 0}, {3, 0}}
	goals := [][]float64{{0.2}, {0.5}, {3}}
	fmt.Printf("%.2f\n", agent.GoalProbabilities(observations, goals, 1))

	// Output:
	// [0.00 0.00 1.00]
}
