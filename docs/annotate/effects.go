package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// This file reads what switching a choice does, if it was measured: the
// runs.csv that "qta report -format csv" makes of the runs of
// results/readings.txt. Runs of other parameter sets than small are left out.

// An effect is what runs with some choice switched came to, and those without.
type effect struct {
	Changes string // PARAMETER=VALUE, or several
	With    string // what both have switched beside that, or empty
	outcome
	Base outcome
}

// An outcome is how some runs of equal settings ended.
type outcome struct {
	Solved, Runs int
	Median       string // steps, an unsolved run counting as longer than any; or empty
}

// String is an effect in words.
func (e effect) String() string {
	with := ""
	if e.With != "" {
		with = " with " + e.With
	}
	return fmt.Sprintf("%s%s: %v [%v]", e.Changes, with, e.outcome, e.Base)
}

func (o outcome) String() string {
	median := ""
	if o.Median != "" {
		median = ", " + o.Median
	}
	return fmt.Sprintf("%d/%d%s", o.Solved, o.Runs, median)
}

// A trial is the runs of one setting.
type trial struct {
	set   []string // PARAMETER=VALUE
	steps []int    // until solved, or negative
}

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
	trials, err := readTrials(rows)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	effects := map[string][]effect{}
	for _, t := range trials {
		base := baseOf(t, trials)
		if base == nil {
			continue
		}
		e := effect{With: strings.Join(base.set, " "), outcome: summarise(t.steps), Base: summarise(base.steps)}
		changes := slices.DeleteFunc(slices.Clone(t.set), func(s string) bool { return slices.Contains(base.set, s) })
		e.Changes = strings.Join(changes, " ")
		for _, change := range changes {
			parameter, _, _ := strings.Cut(change, "=")
			if !known(parameter) {
				return nil, fmt.Errorf("%s: no parameter is called %q", name, parameter)
			}
			effects[parameter] = append(effects[parameter], e)
		}
	}
	return effects, nil
}

// readTrials gathers the rows of a runs.csv. Its errors begin with the line.
func readTrials(rows [][]string) ([]*trial, error) {
	var columns [3]int
	for i, name := range []string{"state", "solved_at[environment steps]", "command"} {
		if len(rows) > 0 {
			columns[i] = slices.Index(rows[0], name)
		}
		if len(rows) == 0 || columns[i] < 0 {
			return nil, fmt.Errorf("1: there is no column %s", name)
		}
	}
	var trials []*trial
	for i, row := range rows[1:] {
		state, solved, command := row[columns[0]], row[columns[1]], strings.Fields(row[columns[2]])
		steps, err := strconv.Atoi(solved)
		switch {
		case state == "finished":
			steps = -1
		case state != "solved" || err != nil || steps < 1:
			return nil, fmt.Errorf("%d: a run that is %s, with solved_at %q", i+2, state, solved)
		}
		params, set := "", []string(nil)
		for k := range len(command) - 1 {
			switch command[k] {
			case "-params":
				params = command[k+1]
			case "-set":
				set = append(set, command[k+1])
			}
		}
		if params != "small" {
			continue
		}
		at := slices.IndexFunc(trials, func(t *trial) bool { return slices.Equal(t.set, set) })
		if at < 0 {
			at = len(trials)
			trials = append(trials, &trial{set: set})
		}
		trials[at].steps = append(trials[at].steps, steps)
	}
	return trials, nil
}

// baseOf returns the trial that t is held against: of those that switch only
// some of what t switches the one with the most, or nil.
func baseOf(t *trial, trials []*trial) *trial {
	var base *trial
	for _, b := range trials {
		part := len(b.set) < len(t.set)
		for _, s := range b.set {
			part = part && slices.Contains(t.set, s)
		}
		if part && (base == nil || len(b.set) > len(base.set)) {
			base = b
		}
	}
	return base
}

// summarise counts the runs; steps are negative for one that is not solved.
func summarise(steps []int) outcome {
	o := outcome{Runs: len(steps)}
	var solved []int
	for _, s := range steps {
		if s > 0 {
			solved = append(solved, s)
		}
	}
	slices.Sort(solved)
	o.Solved = len(solved)
	low, high := (len(steps)-1)/2, len(steps)/2
	if high < len(solved) {
		o.Median = strconv.FormatFloat(float64(solved[low]+solved[high])/2, 'f', -1, 64)
	}
	return o
}
