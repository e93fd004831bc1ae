package main

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the golden vectors.

// A vectors is a file of testdata/golden.
type vectors struct {
	File  string
	Cases []struct {
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
		v := &vectors{File: r.File}
		json.Unmarshal([]byte(p.read(goldenDir+"/"+r.File)), v) // as Check has
		for name := range strings.SplitSeq(r.Function, ", ") {
			d := find(p, p.declarations, "declaration", name)
			d.Vectors = append(d.Vectors, v)
			p.missing["declaration "+name] = d.At
		}
	}
}
