package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file reads what is measured: golden vectors, the effects of switching a
// choice, and Figure 5.

// A vectors is a file of testdata/golden.
type vectors struct {
	Name, Digest string
	Cases        []vectorCase // that are shown: the smallest, and those with few numbers
	Unshown      int
}

type vectorCase struct {
	Name    string
	In, Out map[string]value
	Tol     json.Number
}

// A value is a member of a case in its own notation, with shorter numbers.
type value struct {
	Text    string
	Numbers int // it has
}

var numeral = regexp.MustCompile(`-?\d[\d.]*(?:[eE][-+]?\d+)?`)

// UnmarshalJSON gives every number six digits.
func (v *value) UnmarshalJSON(text []byte) error {
	v.Text = numeral.ReplaceAllStringFunc(oneLine(string(text)), func(number string) string {
		v.Numbers++
		x, _ := strconv.ParseFloat(number, 64)
		return strings.ReplaceAll(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−") // + 0: no -0
	})
	return nil
}

// size returns how many numbers a case has.
func (c vectorCase) size() (n int) {
	for _, members := range []map[string]value{c.In, c.Out} {
		for _, v := range members {
			n += v.Numbers
		}
	}
	return n
}

// readVectors returns a file of vectors.
func (p *page) readVectors(name string) *vectors {
	text := p.read(goldenDir + "/" + name + ".json")
	v := &vectors{Name: name, Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]}
	if err := json.Unmarshal([]byte(text), v); err != nil || len(v.Cases) == 0 {
		p.fault("golden vectors %s: no cases: %v", name, err)
		return v
	}
	all := len(v.Cases)
	least := slices.MinFunc(v.Cases, func(a, b vectorCase) int { return a.size() - b.size() })
	large := func(c vectorCase) bool { return c.Name != least.Name && c.size() > 16 }
	v.Cases = slices.DeleteFunc(v.Cases, large)
	v.Unshown = all - len(v.Cases)
	return v
}

var chosen = regexp.MustCompile(` -(?:params|set) (\S+)`)

const unsolved = math.MaxInt32 // steps of a run that was not solved

// readEffects gives the parameters their effects, by runs with the set small and
// some parameters switched. An effect compares the runs that switch a parameter
// with those that do not. Parameters that have gone since are left out.
func (p *page) readEffects() {
	p.where = effectsFile + ": "
	rows, err := csv.NewReader(strings.NewReader(p.read(effectsFile))).ReadAll()
	if err != nil || len(rows) == 0 {
		p.fault("no table: %v", err)
		return
	}
	steps := map[string][]int{} // by setting, such as "small Replay=td Batch=1"
	for _, row := range rows[1:] {
		cell := func(column string) string { return row[max(0, slices.Index(rows[0], column))] }
		setting := ""
		for _, word := range chosen.FindAllStringSubmatch(cell("command"), -1) {
			setting = strings.TrimSpace(setting + " " + word[1])
		}
		n, _ := strconv.Atoi(cell("solved_at[environment steps]"))
		if n == 0 {
			n = unsolved
		}
		steps[setting] = append(steps[setting], n)
	}
	for _, setting := range slices.Sorted(maps.Keys(steps)) {
		last := max(strings.LastIndex(setting, " "), 0)
		base, switched := setting[:last], strings.TrimSpace(setting[last:])
		name, _, _ := strings.Cut(switched, "=")
		if q := p.parameters[name]; q != nil && steps[base] != nil {
			if _, with, ok := strings.Cut(base, " "); ok {
				switched += " with " + with
			}
			effect := fmt.Sprintf("%s: %s [%s]", switched, summary(steps[setting]), summary(steps[base]))
			q.Effects = append(q.Effects, effect)
		}
	}
}

// summary counts the solved runs and all, and gives the median of their steps if
// the run in the middle was solved.
func summary(steps []int) string {
	steps = slices.Sorted(slices.Values(steps))
	n, solved := len(steps), slices.Index(append(steps, unsolved), unsolved)
	text := fmt.Sprintf("%d/%d", solved, n)
	if n/2 < solved {
		text += fmt.Sprintf(", %v", float64(steps[(n-1)/2]+steps[n/2])/2)
	}
	return text
}

// A figure is Figure 5 in parts, which a narrow page stacks.
type figure struct {
	Times  []string `xml:"text"`
	Panels []panel  `xml:"g"`
}

type panel struct {
	Texts []string      `xml:"text"` // the title first
	SVG   template.HTML `xml:",innerxml"`
}

// Row returns the panels of a time.
func (f figure) Row(i int) []panel {
	n := len(f.Panels) / len(f.Times)
	return f.Panels[n*i : n*(i+1)]
}

// readFigure reads Figure 5.
func (p *page) readFigure(name string) {
	if err := xml.Unmarshal([]byte(p.read(name)), &p.Figure5); err != nil {
		p.fault("%s: %v", name, err)
	}
}
