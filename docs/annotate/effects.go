package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file reads what switching a choice does: results/readings.csv has runs of
// the set small with parameters switched. It skips parameters that Params no
// longer has.

// An effect compares the runs that switch a parameter with those that do not.
type effect struct {
	Name, Value  string // of the parameter
	With         string // what both have switched beside it, or empty
	Result, Base string
}

// String is an effect in words.
func (e effect) String() string {
	return fmt.Sprintf("%s=%s%s: %s [%s]", e.Name, e.Value, e.With, e.Result, e.Base)
}

const unsolved = math.MaxInt32 // steps of a run that was not solved

// readEffects gives the parameters their effects, in the file's order.
func (p *page) readEffects() {
	p.where = effectsFile + ": "
	rows, err := csv.NewReader(strings.NewReader(p.read(effectsFile))).ReadAll()
	if err != nil || len(rows) == 0 {
		p.fault("no table: %v", err)
		return
	}
	var settings []string       // the set's name, and what is switched
	steps := map[string][]int{} // by setting
	for i, row := range rows[1:] {
		run := map[string]string{}
		for k, name := range rows[0] {
			run[name] = row[k]
		}
		setting := ""
		words := strings.Fields(run["command"])
		for k, word := range words {
			if word == "-params" || word == "-set" {
				setting = strings.TrimSpace(setting + " " + words[k+1])
			}
		}
		n := unsolved
		if run["state"] != "finished" {
			if n, err = strconv.Atoi(run["solved_at[environment steps]"]); err != nil {
				p.fault("line %d: %v", i+2, err)
			}
		}
		if steps[setting] == nil {
			settings = append(settings, setting)
		}
		steps[setting] = append(steps[setting], n)
	}
	p.AsItIs = summary(steps["small"])
	for _, setting := range settings {
		last := max(strings.LastIndex(setting, " "), 0)
		base := setting[:last]
		name, value, _ := strings.Cut(setting[last:], "=")
		q := p.parameters[strings.TrimSpace(name)]
		if q == nil || steps[base] == nil {
			continue
		}
		e := effect{q.Name, value, "", summary(steps[setting]), summary(steps[base])}
		if _, with, ok := strings.Cut(base, " "); ok {
			e.With = " with " + with
		}
		q.Effects = append(q.Effects, e)
		q.Parameter.Effects = append(q.Parameter.Effects, e.String())
	}
}

// summary counts the solved runs and all, and gives the median of their steps if
// the run in the middle was solved.
func summary(steps []int) string {
	steps = slices.Sorted(slices.Values(steps))
	n, solved := len(steps), slices.Index(append(steps, unsolved), unsolved)
	text := fmt.Sprintf("%d/%d", solved, n)
	if n/2 < solved {
		text += ", " + strconv.FormatFloat(float64(steps[(n-1)/2]+steps[n/2])/2, 'f', -1, 64)
	}
	return text
}
