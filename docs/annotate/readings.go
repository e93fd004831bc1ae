package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"strings"
	"text/template"
	"unicode/utf8"

	"qta/internal/glossary"
)

// This file makes what else is said of the choices: docs/readings.md, and the
// glossary of the parameters.

//go:embed readings.tmpl
var readingsTemplate string

const longest = 90 // letters of a cell in docs/readings.md

// markdown returns docs/readings.md.
func (p *page) markdown() ([]byte, error) {
	cell := strings.NewReplacer("$", "", "|", `\|`, "*", `\*`).Replace
	t := template.Must(template.New("readings").Funcs(template.FuncMap{"cell": cell}).Parse(readingsTemplate))
	var b bytes.Buffer
	err := t.Execute(&b, p)
	return b.Bytes(), err
}

// Did says in a few words what we do: in those of the passages, or else in the
// source's, of which a long text is cut.
func (c *choice) Did() string {
	text := c.Words()
	if utf8.RuneCountInString(text) > longest {
		text, _, _ = strings.Cut(text, ". ")
	}
	if short := []rune(text); len(short) > longest {
		text = string(short[:longest])
		text = text[:strings.LastIndex(text, " ")] + " …"
	}
	return cmp.Or(c.Short, text)
}

// Switched says what switching a parameter did, beside what runs came to as it
// is, which is said only where runs without the switch differ from that.
func (c *choice) Switched(asItIs string) string {
	var all []string
	before := ""
	if c.Parameter != nil {
		before = c.Where
	}
	for _, e := range c.Effects {
		text := e.Changes
		if name, value, _ := strings.Cut(text, "="); name == before {
			text = value
		} else {
			before = name
		}
		text += ": " + e.Result
		if e.Base != asItIs {
			text += " [" + e.Base + "]"
			asItIs = e.Base
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// glossary returns what "qta params" says of each parameter.
func (p *page) glossary() ([]byte, error) {
	for _, q := range p.Passages() {
		for _, c := range q.Choices() {
			for _, r := range c.switches {
				r.Parameter.Choices = append(r.Parameter.Choices, glossary.Choice{Kind: c.Kind + " " + c.ID,
					Where: c.Where, File: c.File, Said: strings.ReplaceAll(c.Said, "$", ""), Done: c.Words()})
			}
		}
	}
	var groups []glossary.Group
	for _, q := range p.Parameters {
		if n := len(groups); n == 0 || groups[n-1].Name != q.Group {
			groups = append(groups, glossary.Group{Name: q.Group, About: p.Groups[q.Group]})
		}
		g := &groups[len(groups)-1]
		g.Parameters = append(g.Parameters, q.Parameter)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	err := e.Encode(groups)
	return b.Bytes(), err
}
