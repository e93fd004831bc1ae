// Command goals says where the goals lay that an agent set itself in a maze:
//
//	go run ./results/goals runs/15x5-paper-2
//
// prints a line for each 10,000 environment steps: the ninetieth percentile of the
// goals' path lengths from the start, how many steps the nearest of them was from the
// maze's goal, and which part lay two steps or more off the way there: in a dead end.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

func main() {
	text, err := where(os.Args[1:])
	fmt.Print(text)
	if err != nil {
		fmt.Fprintf(os.Stderr, "goals: %s\n", words.Bare(err))
		os.Exit(1)
	}
}

// where returns the lines about the run in a directory.
func where(dirs []string) (text string, err error) {
	if len(dirs) != 1 {
		return "", fmt.Errorf("give one directory of a run in a maze, not %d", len(dirs))
	}
	r, err := lab.Open(dirs[0])
	if err != nil {
		return "", err
	}
	defer r.Agent.Close()
	if len(r.Run.Map) == 0 {
		return "", fmt.Errorf("%s is no run in a maze", r.Dir)
	}
	const window = 10_000
	m := r.Run.NewMaze()
	text = "   steps  goals  from start  to goal  dead ends\n"
	for from := 0; from < r.Agent.Steps(); from += window {
		to := min(from+window, r.Agent.Steps())
		goals := r.Agent.Goals(from, to)
		if len(goals) == 0 {
			continue // a run's last few steps may set none
		}
		start, goal, off := survey(m, goals)
		text += fmt.Sprintf("%8d %6d %11d %8d %10.2f\n", to, len(goals), start, goal, off)
	}
	return text, nil
}

// survey returns the percentile, the steps of the nearest, and the part in dead ends.
func survey(m *qta.Maze, goals [][]float64) (percentile, nearest int, off float64) {
	const perCell = 11 // odd, so that a cell's center is a point
	back, err := qta.ParseMaze(strings.NewReplacer("S", "G", "G", "S").Replace(m.String()))
	if err != nil {
		panic(err) // a maze with its ends exchanged is one, too
	}
	at := func(l *qta.Lattice, p []float64) int {
		return l.Hops[int(p[0]*perCell)*l.Cols+int(p[1]*perCell)]
	}
	start, end := m.Hops(perCell), back.Hops(perCell)
	here, there := m.Start(), m.Goal()
	whole := min(at(start, there[:]), at(end, here[:]))
	var from, to []int
	for _, g := range goals {
		from, to = append(from, at(start, g)), append(to, at(end, g))
		if at(start, g)+at(end, g) >= whole+4 { // two there and two back
			off += 1 / float64(len(goals))
		}
	}
	slices.Sort(from)
	return from[9*len(from)/10], slices.Min(to), off
}
