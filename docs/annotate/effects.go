package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// This file reads what switching one parameter does, if it was measured: a CSV
// file with the header parameter,value,seed,solved and a row for each run,
// where solved is the environment step at which it solved its maze, or empty.

// An effect is what the runs with one value of a parameter came to.
type effect struct {
	Parameter, Value string
	Solved, Runs     int
	Median           string // steps, an unsolved run counting as longer than any; or empty
}

// unchanged is the name of no parameter: rows of runs with nothing switched.
const unchanged = "default"

// readEffects returns the effects by parameter, in the file's order, and nil
// if there is no file.
func readEffects(name string, known func(parameter string) bool) (map[string][]effect, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	header := []string{"parameter", "value", "seed", "solved"}
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		return nil, fmt.Errorf("%s: the header is not %v", name, header)
	}
	type setting struct{ parameter, value string }
	var order []setting
	steps := map[setting][]int{}
	for i, row := range rows[1:] {
		s := setting{row[0], row[1]}
		if !known(s.parameter) {
			return nil, fmt.Errorf("%s:%d: no parameter is called %q", name, i+2, s.parameter)
		}
		solved := -1
		if row[3] != "" {
			if solved, err = strconv.Atoi(row[3]); err != nil || solved < 1 {
				return nil, fmt.Errorf("%s:%d: solved is %q, not a number of steps", name, i+2, row[3])
			}
		}
		if steps[s] == nil {
			order = append(order, s)
		}
		steps[s] = append(steps[s], solved)
	}
	effects := map[string][]effect{}
	for _, s := range order {
		effects[s.parameter] = append(effects[s.parameter], summarise(s.parameter, s.value, steps[s]))
	}
	return effects, nil
}

// summarise counts the runs; steps are negative for one that is not solved.
func summarise(parameter, value string, steps []int) effect {
	e := effect{Parameter: parameter, Value: value, Runs: len(steps)}
	var solved []int
	for _, s := range steps {
		if s > 0 {
			solved = append(solved, s)
		}
	}
	slices.Sort(solved)
	e.Solved = len(solved)
	low, high := (len(steps)-1)/2, len(steps)/2
	if high < len(solved) {
		e.Median = strconv.FormatFloat(float64(solved[low]+solved[high])/2, 'f', -1, 64)
	}
	return e
}
