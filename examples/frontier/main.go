// Frontier shows how far from the start the goals are that an agent set itself
// in a maze, a line for every 2,000 environment steps:
//
//	go run ./examples/frontier 4x5 runs/4x5-fast-1/agent.qta
//
// Of each episode's first goal and of those after it, it prints how many there
// are and the quartiles of their distance in steps of one cell, of which the
// maze's goal is PathLength away. What an agent has never reached is no goal, so
// the largest distance is as far as it has got.
package main

import (
	"fmt"
	"os"
	"slices"

	"qta"
)

const every = 2000 // environment steps

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: frontier MAZE FILE")
		os.Exit(2)
	}
	if err := frontier(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "frontier:", err)
		os.Exit(1)
	}
}

// frontier prints the distances of the goals of the agent in a file.
func frontier(name, file string) error {
	m, err := qta.NewMaze(name)
	if err != nil {
		return err
	}
	agent, _, err := qta.LoadFile(file)
	if err != nil {
		return err
	}
	lattice := m.Hops(10)
	hops := func(goal []float64) int {
		n := float64(lattice.PerCell)
		return lattice.Hops[int(goal[0]*n)*lattice.Cols+int(goal[1]*n)]
	}
	fmt.Printf("The goal of %s is %d steps from the start.\n", name, m.PathLength())
	horizon := agent.Params().Horizon
	for from := 0; from < agent.Steps(); from += every {
		var first, later []int
		for t := from; t < min(from+every, agent.Steps()); t += horizon {
			for i, goal := range agent.Goals(t, min(t+horizon, agent.Steps())) {
				if i == 0 {
					first = append(first, hops(goal))
				} else {
					later = append(later, hops(goal))
				}
			}
		}
		fmt.Printf("from step %6d: %s, %s\n", from, quartiles("first", first), quartiles("later", later))
	}
	return nil
}

// quartiles describes a set of distances.
func quartiles(what string, hops []int) string {
	if len(hops) == 0 {
		return "none " + what
	}
	slices.Sort(hops)
	last := len(hops) - 1
	return fmt.Sprintf("%4d %s %2d %2d %2d %2d %2d", len(hops), what, hops[0], hops[last/4], hops[last/2], hops[last*3/4], hops[last])
}
