package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// This file reads what switching a choice was seen to do: results/readings.csv
// has runs of small with parameters switched. What parameters did that are no
// more is left out.

// An effect is what runs with a choice switched came to, and those without.
type effect struct {
	Changes      string // PARAMETER=VALUE, or several
	With         string // what both have switched beside that, or empty
	Result, Base string
}

// String is an effect in words.
func (e effect) String() string {
	with := ""
	if e.With != "" {
		with = " with " + e.With
	}
	return fmt.Sprintf("%s%s: %s [%s]", e.Changes, with, e.Result, e.Base)
}

const unsolved = 1 << 60 // steps of a run that was not solved

// readEffects gives the parameters their effects, in the file's order. Runs are
// held against those with the most of their switches, taken from the first on.
func (p *page) readEffects(root fs.FS) error {
	f, err := root.Open(effectsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", effectsFile, err)
	}
	var settings []string
	steps := map[string][]int{} // by setting
	for i, row := range rows[1:] {
		set, n, err := readRun(rows[0], row)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", effectsFile, i+2, err)
		}
		if steps[set] == nil {
			settings = append(settings, set)
		}
		steps[set] = append(steps[set], n)
	}
	p.AsItIs = summary(steps["small"])
	for _, set := range settings {
		words := strings.Fields(set)
		for n := len(words) - 1; n > 0; n-- {
			base, ok := steps[strings.Join(words[:n], " ")]
			if !ok {
				continue
			}
			e := effect{strings.Join(words[n:], " "), strings.Join(words[1:n], " "), summary(steps[set]), summary(base)}
			for _, change := range words[n:] {
				name, _, _ := strings.Cut(change, "=")
				if q := p.parameters[name]; q != nil {
					q.Effects = append(q.Effects, e)
					q.Parameter.Effects = append(q.Parameter.Effects, e.String())
				}
			}
			break
		}
	}
	return nil
}

// readRun returns what a row's run was of, the set's name and its switches, and
// its steps.
func readRun(header, row []string) (set string, steps int, err error) {
	of := map[string]string{}
	for i, name := range header {
		of[name] = row[i]
	}
	words := strings.Fields(of["command"])
	for i, word := range words {
		if word == "-params" || word == "-set" {
			set = strings.TrimSpace(set + " " + words[i+1])
		}
	}
	if of["state"] == "finished" {
		return set, unsolved, nil
	}
	steps, err = strconv.Atoi(of["solved_at[environment steps]"])
	return set, steps, err
}

// summary counts the runs, and has the median of their steps if that is a run
// that was solved.
func summary(steps []int) string {
	steps = slices.Sorted(slices.Values(steps))
	solved := slices.IndexFunc(append(steps, unsolved), func(s int) bool { return s == unsolved })
	text := fmt.Sprintf("%d/%d", solved, len(steps))
	if n := len(steps); n/2 < solved {
		text += ", " + strconv.FormatFloat(float64(steps[(n-1)/2]+steps[n/2])/2, 'f', -1, 64)
	}
	return text
}
