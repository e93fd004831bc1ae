package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads what is measured: golden vectors, and the effects of switching
// a choice.

// A vectors is a file of testdata/golden.
type vectors struct {
	File, Digest string
	Cases        []struct {
		Name    string
		In, Out map[string]json.RawMessage
		Tol     json.Number
	}
}

var numeral = regexp.MustCompile(`-?\d[\d.]*(?:[eE][-+]?\d+)?`)

// count returns how many numbers a JSON text has.
func count(text json.RawMessage) int { return len(numeral.FindAll(text, -1)) }

// short returns a JSON text on one line, with six digits to a number.
func short(text json.RawMessage) string {
	return numeral.ReplaceAllStringFunc(oneLine(string(text)), func(number string) string {
		x, _ := strconv.ParseFloat(number, 64)
		return strings.ReplaceAll(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−") // + 0: no -0
	})
}

// readVectors gives the golden vectors to the functions that are held to them.
func (p *page) readVectors() {
	golden, _ := fs.Sub(p.root, goldenDir)
	results, err := qta.Check(golden)
	if err != nil {
		p.fault("%v", err)
	}
	ofFile := func(a, b qta.CheckResult) bool { return a.File == b.File }
	for _, r := range slices.CompactFunc(results, ofFile) {
		text := p.read(goldenDir + "/" + r.File)
		v := &vectors{File: r.File, Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]}
		json.Unmarshal([]byte(text), v) // as Check has
		for name := range strings.SplitSeq(r.Function, ", ") {
			d := find(p, p.declarations, "declaration", name)
			d.Vectors = append(d.Vectors, v)
			p.missing["declaration "+name] = d.At
		}
	}
}

var chosen = regexp.MustCompile(` -params (.*) -seed `)

const unsolved = math.MaxInt // steps of a run that was not solved

// readEffects gives the parameters their effects, by runs with beyond at 64 units,
// which was called small, and some parameters switched. An effect compares the runs
// that switch a parameter with those that do not.
func (p *page) readEffects() {
	rows, err := csv.NewReader(strings.NewReader(p.read(effectsFile))).ReadAll()
	if err != nil || len(rows) == 0 {
		p.fault("%s: no table: %v", effectsFile, err)
		return
	}
	command, solvedAt := slices.Index(rows[0], "command"), slices.Index(rows[0], "solved_at[environment steps]")
	steps := map[string][]int{} // by setting, such as "small -set Replay=td -set Batch=1"
	for _, row := range rows[1:] {
		setting := chosen.FindStringSubmatch(row[command])[1]
		n, _ := strconv.Atoi(row[solvedAt])
		steps[setting] = append(steps[setting], cmp.Or(n, unsolved))
	}
	for _, setting := range slices.Sorted(maps.Keys(steps)) {
		last := max(strings.LastIndex(setting, " -set "), 0)
		base, switched := setting[:last], strings.TrimPrefix(setting[last:], " -set ")
		name, _, _ := strings.Cut(switched, "=")
		if q := p.parameters[name]; q != nil && steps[base] != nil {
			if _, with, ok := strings.Cut(base, " -set "); ok {
				switched += " with " + with
			}
			effect := fmt.Sprintf("%s: %s [%s]", switched, summary(steps[setting]), summary(steps[base]))
			q.Effects = append(q.Effects, effect)
		}
	}
}

// summary counts the solved runs and all, which are an odd number, and gives the
// median of their steps if the run in the middle was solved.
func summary(steps []int) string {
	slices.Sort(steps)
	solved, _ := slices.BinarySearch(steps, unsolved)
	text, middle := fmt.Sprintf("%d/%d", solved, len(steps)), steps[len(steps)/2]
	if middle < unsolved {
		text += fmt.Sprintf(", %d", middle)
	}
	return text
}
