package main

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the passages, the formulas that they name, and the golden vectors. The
// passages are in docs/annotated.txt, whose first lines say how they are written.

// A section is a section of the paper.
type section struct {
	Number, Title string
	Passages      []*passage
}

// A passage is a passage of the paper in our words, with the code that belongs
// to it.
type passage struct {
	Title, ID string
	Blocks    []block
	Formulas  []string // the formulas among the blocks
	Symbols   []symbol
	Code      []*declaration // the declarations that implement it
	Also      []*declaration // the declarations that help, which the page folds
	Params    []*parameter
	Choices   []*choice     // those of its declarations and parameters
	Home      *declaration  // the one that implements its equation, or nil
	InNumbers template.HTML // the equation with numbers in place of symbols
	Of        string        // says what these numbers are, and from which golden vector
	Worked    string        // the same equation worked through by hand
	text      string        // the source of its declarations
}

// A block is a paragraph or a displayed formula.
type block struct {
	Text    string
	Formula bool
}

// A symbol is a symbol of a formula, with its name in the code.
type symbol struct{ Symbol, Meaning, Code string }

var notID = regexp.MustCompile(`[^a-z0-9]+`)

// readText reads the passages.
func (p *page) readText() {
	var s *section
	q := &passage{}
	for i, l := range strings.Split(p.read(textFile), "\n") {
		p.where = fmt.Sprintf("%s:%d: passage %q: ", textFile, i+1, q.Title)
		word, rest, _ := strings.Cut(l, " ")
		switch {
		case l == "" || strings.HasPrefix(l, "//"):
		case word == "==":
			s = &section{}
			s.Number, s.Title, _ = strings.Cut(rest, " ")
			p.Sections = append(p.Sections, s)
		case word == "--":
			id := notID.ReplaceAllString(strings.ToLower(rest), "-")
			q = &passage{Title: rest, ID: "p-" + strings.Trim(id, "-")}
			s.Passages = append(s.Passages, q)
			p.Passages = append(p.Passages, q)
		default:
			p.set(s, q, l, word, rest)
		}
	}
}

// set adds a line to a passage.
func (p *page) set(s *section, q *passage, l, word, rest string) {
	switch word {
	case "formula:":
		q.Blocks = append(q.Blocks, block{rest, true})
		q.Formulas = append(q.Formulas, rest)
	case "numbers:":
		q.InNumbers = template.HTML(rest)
	case "of:":
		q.Of = rest
	case "|":
		q.Worked += rest + "\n"
	case "symbol:":
		parts := append(strings.Split(rest, " | "), "", "") // the last two may be left out
		q.Symbols = append(q.Symbols, symbol{parts[0], parts[1], parts[2]})
	case "code:":
		q.Code = append(q.Code, p.show(s, q, rest)...)
	case "also:":
		q.Also = append(q.Also, p.show(s, q, rest)...)
	case "params:":
		for name := range strings.SplitSeq(rest, ", ") {
			r := find(p, p.parameters, "parameter", name)
			r.Passage = q
			q.Params = append(q.Params, r)
			if r.Choice != nil {
				q.Choices = append(q.Choices, r.Choice)
			}
		}
	case "says":
		choice, value, _ := strings.Cut(rest, ": ") // R1: T | W, or R1 (P): T | W
		id, name, switched := strings.Cut(strings.TrimSuffix(choice, ")"), " (")
		c := find(p, p.Choices, "Reading or Differs", id)
		c.Said, c.Short, _ = strings.Cut(value, " | ")
		if switched {
			c.Switch = find(p, p.parameters, "parameter", name)
		}
	default:
		q.Blocks = append(q.Blocks, block{l, false})
	}
}

// find returns the element of all that has this name, and notes that a passage has it. If
// there is no such element, find notes a fault and returns an empty one.
func find[T any](p *page, all map[string]*T, kind, name string) *T {
	delete(p.missing, kind+" "+name)
	if all[name] == nil {
		p.fault("the sources have no %s %s", kind, name)
		return new(T)
	}
	return all[name]
}

// show returns the declarations with these names, and gives passage q of section s their
// text and their choices.
func (p *page) show(s *section, q *passage, names string) (all []*declaration) {
	for name := range strings.SplitSeq(names, ", ") {
		d := find(p, p.declarations, "declaration", name)
		d.shown = true
		q.text += d.text + "\n"
		q.Choices = append(q.Choices, d.Choices...)
		if d.Equation > 0 {
			if d.section != s.Number {
				p.fault("it cannot have Equation %d of section %s (%s)", d.Equation, d.section, name)
			}
			q.Home = d
		}
		all = append(all, d)
	}
	return all
}

// formulaLine matches a line of formulas.html: a formula's name and its MathML.
var formulaLine = regexp.MustCompile(`(?m)^<tr><td>(.*)</td><td>(<math>.*</math>)</td></tr>$`)

func (p *page) readFormulas() {
	for _, m := range formulaLine.FindAllStringSubmatch(p.read(formulasFile), -1) {
		p.formulas[html.UnescapeString(m[1])] = template.HTML(m[2])
	}
}

// math returns the MathML of a formula.
func (p *page) math(name string) template.HTML {
	if p.formulas[name] == "" {
		p.fault("%s has no formula %s", formulasFile, name)
	}
	return p.formulas[name]
}

var inline = regexp.MustCompile("`[^`]+`|\\$[^$]+\\$")

// prose returns a text as HTML, with its $formulas$ as MathML. Each `name` of code becomes
// a link to the place where the page has it.
func (p *page) prose(text string) template.HTML {
	return template.HTML(inline.ReplaceAllStringFunc(html.EscapeString(text), func(word string) string {
		name := html.UnescapeString(word[1 : len(word)-1])
		if word[0] == '$' {
			return string(p.math(name))
		}
		code := "<code>" + word[1:len(word)-1] + "</code>"
		if place := p.place(name); place != "" {
			code = fmt.Sprintf(`<a href="#%s">%s</a>`, place, code)
		}
		return code
	}))
}

// place returns the anchor of a declaration or a parameter, if the page has it.
func (p *page) place(name string) string {
	if p.parameters[name] != nil {
		return "Params." + name
	}
	if d := p.declarations[name]; d != nil && d.shown {
		return name
	}
	return ""
}

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

// readVectors gives each file of golden vectors to the functions that it checks.
func (p *page) readVectors() {
	golden, _ := fs.Sub(p.root, goldenDir)
	results, err := qta.Check(golden)
	if err != nil {
		p.fault("%v", err)
	}
	sameFile := func(a, b qta.CheckResult) bool { return a.File == b.File }
	for _, r := range slices.CompactFunc(results, sameFile) { // one result of each file
		v := &vectors{File: r.File}
		json.Unmarshal([]byte(p.read(goldenDir+"/"+r.File)), v) // Check has done so without an error
		for name := range strings.SplitSeq(r.Function, ", ") {
			d := find(p, p.declarations, "declaration", name)
			d.Vectors = append(d.Vectors, v)
			p.missing["declaration "+name] = d.At
		}
	}
}
