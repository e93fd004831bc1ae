package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
	"qta/results"
)

// A history is what came of recorded runs like one that begins.
type history struct {
	runs   int
	solved []int // environment steps to the solution, ascending
}

// recorded returns the history of a run, as results/runs.csv has it.
func recorded(id rundir.Identity) (history, error) { return recordedIn(results.Runs(), id) }

// recordedIn returns the history of a run among others. Runs are alike that have
// the same version of the algorithm, by which a name means the same parameters,
// the same maze and, as far as they have an effect, the same parameters.
func recordedIn(runs string, id rundir.Identity) (h history, err error) {
	if !id.Named() || id.EvalEvery != 1000 || id.Rollouts != rundir.Rollouts {
		return h, nil
	}
	method, setting := paper.Recognise(id.Params())
	rows, err := files.Rows([]byte(runs))
	if err != nil {
		return h, err
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[strings.Split(name, "[")[0]] = i
	}
	for _, row := range rows[1:] {
		field := func(name string) string { return row[column[name]] }
		if field("setting") != setting || field("method") != method.Name || field("maze") != id.Maze || field("version") != id.Version {
			continue
		}
		at, err := strconv.Atoi(field("solved_at"))
		if err != nil {
			return h, err
		}
		h.runs++
		if at > 0 {
			h.solved = append(h.solved, at)
		}
	}
	slices.Sort(h.solved)
	return h, nil
}

// String is empty where there is no such run.
func (h history) String() string {
	n := len(h.solved)
	if h.runs == 0 {
		return ""
	}
	text := fmt.Sprintf("Of %s like this one ", words.Count(h.runs, "recorded run"))
	switch n {
	case 0:
		return text + "none solved the maze."
	case 1:
		return text + fmt.Sprintf("1 solved the maze, after %d steps.", h.solved[0])
	}
	who := fmt.Sprintf("%s%d", text, n)
	if n == h.runs {
		who = fmt.Sprintf("All %d recorded runs like this one", n)
	}
	return fmt.Sprintf("%s solved the maze, after %d to %d steps, half of them within %d.", who, h.solved[0], h.solved[n-1], h.solved[(n-1)/2])
}
