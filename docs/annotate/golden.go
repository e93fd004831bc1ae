package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the golden vectors and shows them.

// A vectors is one file of testdata/golden.
type vectors struct {
	Name     string
	Digest   string // start of the file's SHA-256
	Numbers  []int  // equations that it is about
	homes    []string
	Cases    []vectorCase
	Shown    []vectorCase // the smallest, and whatever others are as small as smallCase
	Unshown  int
	passages []*passage
}

type vectorCase struct {
	Name    string
	In, Out []member
	Tol     json.Number
	numbers int
}

// A member is a named value.
type member struct {
	Name  string
	Value template.HTML
}

const (
	smallCase = 16 // numbers of a case that is shown besides the smallest
	longValue = 32 // numbers of a value that is folded
)

// readVectors returns the files of golden vectors in order. Which functions
// they are held against is what the package's own Check says.
func readVectors(dir fs.FS) ([]*vectors, error) {
	results, err := qta.Check(dir)
	if err != nil {
		return nil, err
	}
	var all []*vectors
	for _, r := range results {
		if len(all) > 0 && all[len(all)-1].Name == r.File {
			continue
		}
		text, err := fs.ReadFile(dir, r.File)
		if err != nil {
			return nil, err
		}
		v := &vectors{Name: r.File, Digest: fmt.Sprintf("%x", sha256.Sum256(text))[:16], Numbers: r.Numbers, homes: strings.Split(r.Function, ", ")}
		if err := v.readCases(text); err != nil {
			return nil, fmt.Errorf("%s: %w", r.File, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func (v *vectors) readCases(text []byte) error {
	var file struct {
		Cases []struct {
			Name    string
			In, Out json.RawMessage
			Tol     json.Number
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	least := 0
	for i, c := range file.Cases {
		one := vectorCase{Name: c.Name, Tol: c.Tol}
		for _, part := range []struct {
			text json.RawMessage
			to   *[]member
		}{{c.In, &one.In}, {c.Out, &one.Out}} {
			object, err := readJSON(part.text)
			if err != nil {
				return err
			}
			for _, m := range object.members {
				*part.to = append(*part.to, member{m.name, m.value.show()})
				one.numbers += m.value.count()
			}
		}
		v.Cases = append(v.Cases, one)
		if one.numbers < v.Cases[least].numbers {
			least = i
		}
	}
	for i, c := range v.Cases {
		if i == least || c.numbers <= smallCase {
			v.Shown = append(v.Shown, c)
		}
	}
	v.Unshown = len(v.Cases) - len(v.Shown)
	return nil
}

// A jsonValue is a number or a word, an array, or an object whose members keep
// their order.
type jsonValue struct {
	text     string
	number   bool
	elements []jsonValue
	members  []jsonMember
	array    bool
}

type jsonMember struct {
	name  string
	value jsonValue
}

func readJSON(text []byte) (jsonValue, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return nextJSON(d)
}

func nextJSON(d *json.Decoder) (v jsonValue, err error) {
	t, err := d.Token()
	if err != nil {
		return v, err
	}
	switch t {
	case json.Delim('['):
		v.array = true
		for d.More() {
			e, err := nextJSON(d)
			if err != nil {
				return v, err
			}
			v.elements = append(v.elements, e)
		}
		_, err = d.Token()
	case json.Delim('{'):
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return v, err
			}
			value, err := nextJSON(d)
			if err != nil {
				return v, err
			}
			v.members = append(v.members, jsonMember{name.(string), value})
		}
		_, err = d.Token()
	default:
		v.text = fmt.Sprint(t)
		if number, ok := t.(json.Number); ok {
			v.text, v.number = digits(number), true
		} else if t == nil {
			v.text = "none"
		}
	}
	return v, err
}

// digits returns a number with six significant digits.
func digits(n json.Number) string {
	x, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return strings.Replace(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−", -1)
}

// count returns how many numbers and words the value holds.
func (v jsonValue) count() int {
	n := 0
	if v.text != "" {
		n = 1
	}
	for _, e := range v.elements {
		n += e.count()
	}
	for _, m := range v.members {
		n += m.value.count()
	}
	return n
}

// show returns the value as HTML: a long one folded under its shape.
func (v jsonValue) show() template.HTML {
	text := v.html()
	if v.count() > longValue {
		text = "<details><summary>" + html.EscapeString(v.shape()) + "</summary>" + text + "</details>"
	}
	return template.HTML(text)
}

func (v jsonValue) html() string {
	var b strings.Builder
	switch {
	case v.array && !slices.ContainsFunc(v.elements, func(e jsonValue) bool { return e.array || e.members != nil }):
		texts := make([]string, len(v.elements))
		for i, e := range v.elements {
			texts[i] = html.EscapeString(e.text)
		}
		return "(" + strings.Join(texts, ", ") + ")"
	case v.array:
		for _, e := range v.elements {
			class := "" // a block
			if n := len(e.elements); 0 < n && n <= 3 && e.elements[0].number {
				class = ` class="row"`
			}
			b.WriteString("<div" + class + ">" + e.html() + "</div>")
		}
	case v.members != nil:
		for _, m := range v.members {
			b.WriteString("<div><i>" + html.EscapeString(m.name) + "</i> " + m.value.html() + "</div>")
		}
	default:
		return html.EscapeString(v.text)
	}
	return b.String()
}

// shape says in words what a long value is.
func (v jsonValue) shape() string {
	size, inner := "", v
	for ; inner.array && len(inner.elements) > 0; inner = inner.elements[0] {
		size += fmt.Sprintf("×%d", len(inner.elements))
	}
	size = strings.TrimPrefix(size, "×")
	switch {
	case inner.members == nil:
		return size + " numbers"
	case inner.members[0].name == "w":
		return fmt.Sprintf("%s layers, %d numbers", size, v.count())
	}
	return fmt.Sprintf("%s parts, %d numbers", size, v.count())
}
