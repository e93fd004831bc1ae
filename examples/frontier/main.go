// Frontier shows how far from the start the goals are that the agent of a run on a
// maze set itself, a line for every 2,000 environment steps:
//
//	go run ./examples/frontier runs/4x5-quick-1
//
// It prints how many goals there are, and the least, the quartiles and the largest
// of their distances in steps of one cell, of which the maze's goal is PathLength
// away; and how near the nearest of all is to the maze's goal, which the end of a
// dead end is not. The last line has the agent's median uncertainty over the maze,
// beside which the noise of Figure 4 is large or small. Goals are places where the
// agent has been, so that this is about as far as it has got.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"qta"
	"qta/lab"
)

const every = 2000 // environment steps

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: frontier DIR")
		os.Exit(2)
	}
	r, err := lab.Open(os.Args[1])
	if err == nil && len(r.Run.Map) == 0 {
		err = fmt.Errorf("the run in %s is on no maze", r.Dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "frontier:", err)
		os.Exit(1)
	}
	frontier(os.Stdout, r.Run.NewMaze(), r.Agent)
}

// frontier writes the distances of an agent's goals in a maze.
func frontier(w io.Writer, m *qta.Maze, agent *qta.Agent) {
	back, err := qta.ParseMaze(strings.NewReplacer("S", "G", "G", "S").Replace(m.String()))
	if err != nil {
		panic(err) // a maze is one from its goal, too
	}
	lattice, left := m.Hops(10), back.Hops(10)
	fmt.Fprintf(w, "The goal is %d steps from the start.\n", m.PathLength())
	for from := 0; from < agent.Steps(); from += every {
		to := min(from+every, agent.Steps())
		var hops []int
		nearest := m.PathLength()
		for _, goal := range agent.Goals(from, to) {
			n := float64(lattice.PerCell)
			k := int(goal[0]*n)*lattice.Cols + int(goal[1]*n)
			hops = append(hops, lattice.Hops[k])
			nearest = min(nearest, left.Hops[k])
		}
		fmt.Fprintf(w, "until step %6d: %s, %2d to go\n", to, quartiles(hops), nearest)
	}
	var places [][]float64
	for k, hops := range lattice.Hops {
		if p := lattice.Point(k); hops >= 0 {
			places = append(places, p[:])
		}
	}
	ε := agent.Uncertainty(places, places, 1)
	slices.Sort(ε)
	fmt.Fprintf(w, "Half of the places are at most %.2g uncertain.\n", ε[len(ε)/2])
}

// quartiles describes distances: how many, the least, the quartiles, the largest.
func quartiles(hops []int) string {
	if len(hops) == 0 {
		return "no goals" // of a horizon longer than this
	}
	slices.Sort(hops)
	last := len(hops) - 1
	return fmt.Sprintf("%4d goals %2d %2d %2d %2d %2d", len(hops),
		hops[0], hops[last/4], hops[last/2], hops[last*3/4], hops[last])
}
