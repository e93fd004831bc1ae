package qta_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"qta"
)

// The ensemble by itself, in a learner that has no goals: it learns from a dot
// that jumps about in the left half of a square, and knows that it knows nothing
// of the right half.
func ExamplePUN() {
	p := qta.Small()
	p.HiddenSize = 32
	u, err := qta.NewPUN(p, qta.Sizes{Observation: 2, Action: 2}, 1)
	if err != nil {
		log.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	uniform := func(low, high float64) float64 { return low + float64((high-low)*float64(rng.Float64())) }
	for range 400 {
		var s, a, next, nextActions [][]float64
		var r []float64
		for range 64 {
			x, y, dx, dy := uniform(-1, 0), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)
			s, a = append(s, []float64{x, y}), append(a, []float64{dx, dy})
			next = append(next, []float64{min(x+0.1*dx, 0), y + 0.1*dy})
			r, nextActions = append(r, -math.Abs(y)), append(nextActions, []float64{0, 0})
		}
		if _, _, err := u.Learn(s, nil, a, next, u.Targets(r, next, nil, nextActions)); err != nil {
			log.Fatal(err)
		}
	}

	// A map of the square: # where the next position is uncertain by more than
	// 0.027.
	for _, y := range []float64{0.6, 0, -0.6} {
		row := [][]float64{{-0.8, y}, {-0.5, y}, {-0.2, y}, {0.6, y}, {0.8, y}, {1, y}}
		for _, ε := range u.Uncertainty(row, nil, 1) {
			if ε > 0.027 {
				fmt.Print("#")
			} else {
				fmt.Print(".")
			}
		}
		fmt.Println()
	}

	// Output:
	// ...###
	// ...###
	// ...###
}

func ExamplePUN_MarshalBinary() {
	u, err := qta.NewPUN(qta.Small(), qta.Sizes{Observation: 2, Goal: 1, Action: 1}, 1)
	if err != nil {
		log.Fatal(err)
	}
	saved, err := u.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var again qta.PUN
	if err := again.UnmarshalBinary(saved); err != nil {
		log.Fatal(err)
	}
	s, g, a := [][]float64{{0.1, 0.2}}, [][]float64{{0.3}}, [][]float64{{0.4}}
	fmt.Println(again.Value(s, g, a)[0] == u.Value(s, g, a)[0])

	// Output:
	// true
}
