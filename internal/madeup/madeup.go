// Package madeup makes up runs to test the code that sorts and judges them.
package madeup

import (
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/internal/paper"
	"qta/lab"
)

// Curves makes up ended runs of a method in a maze. It is given the success of each run's
// evaluations, which are 1000 steps apart. A run is solved by the first success of 1.
func Curves(p qta.Params, m paper.Method, maze string, success ...[]float64) (runs []*lab.Record) {
	environment, err := qta.NewMaze(maze)
	if err != nil {
		panic(err)
	}
	for _, ys := range success {
		id := lab.Options{Name: maze, Params: m.Apply(p)}.Identity(lab.Maze(environment))
		r := lab.NewRecord(id, lab.Limits{Steps: 1000 * len(ys), Stop: lab.StopSolved}, 1)
		for i, y := range ys {
			r.Curve = append(r.Curve, qta.Evaluation{Step: 1000 * (i + 1), Success: y})
		}
		r.Program = lab.Program{Revision: "c0ffee", Go: "go1.26"}
		r.Machine = lab.Machine{OS: "linux", Arch: "amd64", Kernel: "AVX2", Threads: 1}
		r.State = lab.Finished
		r.Outcome.Steps = 1000 * len(ys)
		r.Outcome.SolvedAt = r.Curve.FirstAt(1)
		r.Outcome.FoundAt = 700
		if r.Outcome.SolvedAt > 0 {
			r.State = lab.Solved
			r.Limits.Steps += 100_000 // a solved run ends before its budget
		}
		runs = append(runs, r)
	}
	return runs
}

// Steps makes up runs that solved a maze after so many thousand steps. A negative number
// makes a run that did not solve the maze within so many thousand.
func Steps(p qta.Params, m paper.Method, maze string, thousands ...int) []*lab.Record {
	var all [][]float64
	for _, n := range thousands {
		y := make([]float64, max(n, -n)) // the number without its sign
		if n > 0 {
			y[n-1] = 1
		}
		all = append(all, y)
	}
	return Curves(p, m, maze, all...)
}

// Groups makes up runs from a text such as "quick PER 4x5 20 -21, paper Batch=256 QTA 6x5 60,
// mega own 4x5 80". Here the first two runs have the set quick, the method PER and the maze 4x5.
// One was solved after 20 thousand steps, and the other was not within 21. The next run has the
// set paper with batches of 256, and the last one has the set mega, which is of one method only.
func Groups(text string) (runs [][]*lab.Record) {
	methods := map[string]paper.Method{
		"QTA":       paper.QTA,
		"PER":       paper.PER,
		"TD":        paper.TD,
		"HER":       paper.HER,
		"MEGA":      paper.MEGA,
		"ensembles": paper.Ensemble,
		"own":       {},
	}
	for group := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(group)
		k := 1 // the index of the method, after the set and its changes
		for strings.Contains(words[k], "=") {
			k++
		}
		method, known := methods[words[k]]
		if !known {
			panic("no such method: " + group)
		}
		var thousands []int
		for _, word := range words[k+2:] {
			n, _ := strconv.Atoi(word)
			thousands = append(thousands, n)
		}
		changed := paper.Method{Set: words[1:k]}.Apply(set(words[0]))
		runs = append(runs, Steps(changed, method, words[k+1], thousands...))
	}
	return runs
}

// set returns the parameter set with a name.
func set(name string) qta.Params {
	presets := qta.Presets()
	i := slices.IndexFunc(presets, func(p qta.Preset) bool { return p.Name == name })
	return presets[i].Params
}

// On makes up runs that went on to the end of their budgets, solved or not. A budget is
// 1000 steps for each evaluation. Each method has a code of its own, as in real runs, because
// a code depends on all parameters.
func On(m paper.Method, maze string, success ...[]float64) []*lab.Record {
	runs := Curves(qta.Quick(), m, maze, success...)
	for i, r := range runs {
		r.State = lab.Finished
		r.Limits = lab.Limits{Steps: 1000 * len(success[i]), Stop: lab.StopNever}
		r.Run.Code = "fused " + m.Name
	}
	return runs
}

// Growing makes up runs for Figure 5. In each the mean value has grown by one of the
// numbers.
func Growing(maze string, numbers ...float64) []*lab.Record {
	runs := Steps(qta.Paper(), paper.QTA, maze, slices.Repeat([]int{30}, len(numbers))...)
	for i, r := range runs {
		r.Outcome.Figure5 = &lab.Figure5{ValueGrowth: numbers[i]}
	}
	return runs
}

// Collect gives each run a seed and a directory of its own.
func Collect(groups ...[]*lab.Record) *lab.Collection {
	c := &lab.Collection{Runs: slices.Concat(groups...)}
	for i, r := range c.Runs {
		r.Run.Seed = uint64(i)
		if r.Path == "" {
			r.Path = "runs/" + strconv.Itoa(i)
		}
	}
	return c
}
