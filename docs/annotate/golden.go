package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file reads golden vectors and keeps their notation, with shorter numbers.

// A vectors is a file of testdata/golden.
type vectors struct {
	Name, Digest string
	Shown        []*vectorCase // the smallest, and those with at most smallCase numbers
	Unshown      int
}

type vectorCase struct {
	Name    string
	In, Out members
	Tol     json.Number
}

// members are the values of an object, in its order.
type members []member

type member struct {
	Name, Value     string
	Numbers, Layers int // it has
}

const smallCase = 16

// readVectors returns a file of vectors.
func (p *page) readVectors(name string) *vectors {
	v := &vectors{Name: name}
	p.vectors[name] = v
	text := []byte(p.read(goldenDir + "/" + name + ".json"))
	var file struct{ Cases []*vectorCase }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		p.fault("golden vectors %s: no cases: %v", name, err)
		return v
	}
	v.Digest = fmt.Sprintf("%x", sha256.Sum256(text))[:16]
	least := slices.MinFunc(file.Cases, func(a, b *vectorCase) int { return a.size() - b.size() })
	for _, c := range file.Cases {
		if c == least || c.size() <= smallCase {
			v.Shown = append(v.Shown, c)
		}
	}
	v.Unshown = len(file.Cases) - len(v.Shown)
	return v
}

// size returns how many numbers a case has.
func (c *vectorCase) size() (n int) {
	for _, m := range slices.Concat(c.In, c.Out) {
		n += m.Numbers
	}
	return n
}

var (
	numeral = regexp.MustCompile(`-?\d[\d.]*(?:[eE][-+]?\d+)?`)
	spaces  = strings.NewReplacer("},", "},\n", "]],", "]],\n", ",", ", ", ":", ": ")
)

// UnmarshalJSON keeps the order of an object, and its text with numbers of six
// digits.
func (all *members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token() // the opening brace
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		var b bytes.Buffer
		json.Compact(&b, value) // which is valid
		m := member{Name: name.(string), Numbers: len(numeral.FindAll(value, -1))}
		m.Layers = bytes.Count(value, []byte(`"w"`))
		m.Value = numeral.ReplaceAllStringFunc(spaces.Replace(b.String()), func(number string) string {
			x, _ := strconv.ParseFloat(number, 64)
			return strings.ReplaceAll(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−") // + 0: no -0
		})
		*all = append(*all, m)
	}
	return nil
}
