// Frontier shows how far from the start the goals are that an agent set itself
// in a maze, a line for about every 2,000 environment steps:
//
//	go run ./examples/frontier 4x5 runs/4x5-fast-1
//
// Of each episode's first goal and of those after it, it prints how many there
// are, and the least, the quartiles and the largest of their distances in steps
// of one cell, of which the maze's goal is PathLength away; and how near the
// nearest of all is to the maze's goal, which the end of a dead end is not. Goals
// are places where the agent has been, so that this is about as far as it has got.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qta"
)

const every = 2000 // environment steps

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: frontier MAZE DIR|FILE")
		os.Exit(2)
	}
	if err := frontier(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "frontier:", err)
		os.Exit(1)
	}
}

// frontier prints the distances of the goals of the agent in a file, or in the
// directory of a run.
func frontier(name, file string) error {
	m, err := qta.NewMaze(name)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "agent.qta")
	}
	agent, err := qta.LoadFile(file)
	if err != nil {
		return err
	}
	if got, want := agent.Sizes(), m.Env().Sizes(); got != want {
		return fmt.Errorf("%s is an agent of another environment: its sizes are %+v, a maze's %+v", file, got, want)
	}
	back, err := qta.ParseMaze(strings.NewReplacer("S", "G", "G", "S").Replace(m.String()))
	if err != nil {
		return err
	}
	lattice, left := m.Hops(10), back.Hops(10)
	fmt.Printf("The goal of %s is %d steps from the start.\n", name, m.PathLength())
	var first, later []int
	nearest := m.PathLength()
	horizon := agent.Params().Horizon
	for from := 0; from < agent.Steps(); from += horizon {
		to := min(from+horizon, agent.Steps())
		for i, goal := range agent.Goals(from, to) {
			if !m.Free(int(goal[0]), int(goal[1])) {
				return fmt.Errorf("%s set itself the goal %.4g, which is not in maze %s", file, goal, name)
			}
			n := float64(lattice.PerCell)
			k := int(goal[0]*n)*lattice.Cols + int(goal[1]*n)
			hops := lattice.Hops[k]
			nearest = min(nearest, left.Hops[k])
			if i == 0 {
				first = append(first, hops)
			} else {
				later = append(later, hops)
			}
		}
		if to/every > from/every || to == agent.Steps() {
			fmt.Printf("until step %6d: %s, %s, %2d to go\n", to, quartiles("first", first), quartiles("later", later), nearest)
			first, later, nearest = nil, nil, m.PathLength()
		}
	}
	return nil
}

// quartiles describes distances: how many, the least, the quartiles, the largest.
func quartiles(what string, hops []int) string {
	if len(hops) == 0 {
		return "none " + what
	}
	slices.Sort(hops)
	last := len(hops) - 1
	return fmt.Sprintf("%4d %s %2d %2d %2d %2d %2d", len(hops), what, hops[0], hops[last/4], hops[last/2], hops[last*3/4], hops[last])
}
