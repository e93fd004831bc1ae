package main

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file reads the passages, docs/annotated.txt, whose head says how they
// are written, and the formulas that they name.

// A section is one of the paper's.
type section struct {
	Number, Title string
	Passages      []*passage
}

// A passage is what the page says of one passage of the paper, and what of the
// sources belongs to it.
type passage struct {
	Title, ID string
	Section   *section
	Blocks    []block
	Formulas  int // how many of the blocks are
	Symbols   []symbol
	Code      []*declaration // that implement it
	Also      []*declaration // that help, folded
	Params    []*parameter
	Equation  int           // that it is about, or 0
	Home      *declaration  // of that equation
	InNumbers template.HTML // the equation with numbers put in
	Worked    string        // the whole of that, by hand
	line      int           // in the file
}

// A block is a paragraph or a displayed formula.
type block struct {
	Text    string
	Formula bool
}

// A symbol is one of a formula's, with its name in the code.
type symbol struct{ Symbol, Meaning, Code string }

// All returns the passage's declarations.
func (q *passage) All() []*declaration { return slices.Concat(q.Code, q.Also) }

// Choices returns what its declarations and parameters chose.
func (q *passage) Choices() (all []*choice) {
	for _, d := range q.All() {
		all = append(all, d.Choices...)
	}
	for _, r := range q.Params {
		if r.Choice != nil {
			all = append(all, r.Choice)
		}
	}
	return all
}

var (
	keyword = regexp.MustCompile(`^(formula|symbol|code|also|params|numbers|(?:golden|says) [^:]+): +(.*?) *$`)
	notID   = regexp.MustCompile(`[^a-z0-9]+`)
)

// readText reads the passages.
func (p *page) readText() {
	s, q := &section{}, &passage{}
	for i, l := range strings.Split(p.read(textFile), "\n") {
		p.where = fmt.Sprintf("%s:%d: passage %q: ", textFile, i+1, q.Title)
		if strings.HasPrefix(l, "//") || l == "" {
			continue
		}
		if name, ok := strings.CutPrefix(l, "== "); ok {
			number, title, _ := strings.Cut(name, " ")
			s = &section{Number: number, Title: title}
			p.Sections = append(p.Sections, s)
		} else if title, ok := strings.CutPrefix(l, "-- "); ok {
			id := "p-" + strings.Trim(notID.ReplaceAllString(strings.ToLower(title), "-"), "-")
			q = &passage{Title: title, ID: id, Section: s, line: i + 1}
			s.Passages = append(s.Passages, q)
		} else if worked, ok := strings.CutPrefix(l, "|"); ok {
			q.Worked += strings.TrimPrefix(worked, " ") + "\n"
		} else if m := keyword.FindStringSubmatch(l); m != nil {
			p.set(q, m[1], m[2])
		} else {
			q.Blocks = append(q.Blocks, block{l, false})
		}
	}
}

// set takes over a line with a keyword.
func (p *page) set(q *passage, key, value string) {
	key, name, _ := strings.Cut(key, " ")
	list := strings.Split(value, ", ")
	parts := append(strings.Split(value, " | "), "", "") // three at least
	switch key {
	case "formula":
		q.Blocks = append(q.Blocks, block{value, true})
		q.Formulas++
	case "numbers":
		q.InNumbers = template.HTML(value)
	case "symbol":
		q.Symbols = append(q.Symbols, symbol{parts[0], parts[1], parts[2]})
	case "code":
		q.Code = append(q.Code, p.show(q, list)...)
	case "also":
		q.Also = append(q.Also, p.show(q, list)...)
	case "golden":
		if d := find(p, p.declarations, "declaration", name); d != nil {
			for _, file := range list {
				d.Vectors = append(d.Vectors, p.readVectors(file))
			}
		}
	case "params":
		for _, name := range list {
			if r := find(p, p.parameters, "parameter", name); r != nil {
				r.Passage = q
				q.Params = append(q.Params, r)
			}
		}
	case "says":
		p.say(name, parts[0], parts[1])
	}
}

// find returns one of all by its name, or nil and a fault.
func find[T any](p *page, all map[string]*T, kind, name string) *T {
	if all[name] == nil {
		p.fault("the sources have no %s %s", kind, name)
	}
	return all[name]
}

// show gives a passage the declarations called names.
func (p *page) show(q *passage, names []string) (all []*declaration) {
	for _, name := range names {
		d := find(p, p.declarations, "declaration", name)
		if d == nil {
			continue
		}
		if d.passage != nil {
			p.fault("%s stands in passage %q already", name, d.passage.Title)
		}
		d.passage = q
		if d.equation > 0 {
			if q.Equation > 0 || d.section != q.Section.Number {
				p.fault("it cannot have Equation %d of section %s (%s)", d.equation, d.section, name)
			}
			q.Equation, q.Home = d.equation, d
			p.Equations = append(p.Equations, q)
		}
		all = append(all, d)
	}
	return all
}

// say notes what the paper says at a choice, and which parameter switches it, in
// parentheses behind its number.
func (p *page) say(id, said, short string) {
	id, name, switched := strings.Cut(strings.TrimSuffix(id, ")"), " (")
	c := find(p, p.Choices, "Reading or Differs", id)
	if c == nil {
		return
	}
	if max(utf8.RuneCountInString(said), utf8.RuneCountInString(short)) > longest {
		p.fault("say %s in at most %d letters", id, longest)
	}
	c.Said, c.Short = said, short
	if switched {
		c.Switch = find(p, p.parameters, "parameter", name)
	}
}

// A formula has a line of formulas.html: its name and its MathML.
var formulaLine = regexp.MustCompile(`(?m)^<tr><td>(.*)</td><td>(<math>.*</math>)</td></tr>$`)

func (p *page) readFormulas() {
	for _, m := range formulaLine.FindAllStringSubmatch(p.read(formulasFile), -1) {
		p.formulas[html.UnescapeString(m[1])] = template.HTML(m[2])
	}
}

// math returns a formula.
func (p *page) math(name string) template.HTML {
	if p.formulas[name] == "" {
		p.fault("%s has no formula %s", formulasFile, name)
	}
	return p.formulas[name]
}

var inline = regexp.MustCompile("`[^`]+`|\\$[^$]+\\$")

// prose returns a text as HTML, with its $formulas$ and with its `names` of
// code, which lead to where the page has them.
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
	if d := p.declarations[name]; d != nil && d.passage != nil {
		return d.Name
	}
	return ""
}
