package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"qta/internal/glossary"
)

// This file writes what docs/readings.md and "qta params" say of the choices.

const longest = 90 // letters of a cell in docs/readings.md

// Effects returns what switching the choice did.
func (c *choice) Effects() []effect {
	if c.Switch == nil {
		return nil
	}
	return c.Switch.Effects
}

// Words says what we do, with the values of a parameter.
func (c *choice) Words() string {
	q := c.Parameter
	if q == nil {
		return c.Text
	}
	var text strings.Builder
	text.WriteString(q.Values[0].Value + " (" + c.Text + ")")
	for _, v := range q.Otherwise() {
		text.WriteString("; " + v.Set + " " + v.Value)
	}
	return text.String()
}

// Did says in a few words what we do: the passage's words, or else the source's,
// cut if they are long.
func (c *choice) Did() string {
	text := []rune(c.Words())
	for i := len(text) - 1; len(text) > longest; i-- {
		if i < longest && text[i] == ' ' {
			text = append(text[:i:i], '…')
		}
	}
	return cmp.Or(c.Short, string(text))
}

// Switched says what switching the parameter did. It adds the runs without the
// switch only where they differ from asItIs.
func (c *choice) Switched(asItIs string) string {
	var all []string
	name := c.Where
	for _, e := range c.Effects() {
		text := e.Value + ": " + e.Result
		if e.Name != name {
			text = e.Name + "=" + text
		}
		if e.Base != asItIs {
			text += " [" + e.Base + "]"
		}
		name, asItIs = e.Name, e.Base
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// glossary returns what "qta params" says of each parameter.
func (p *page) glossary() []byte {
	for _, q := range p.Passages() {
		for _, c := range q.Choices() {
			if c.Switch != nil {
				c.Switch.Choices = append(c.Switch.Choices, glossary.Choice{Kind: c.Kind + " " + c.ID, Where: c.Where,
					File: c.File, Said: strings.ReplaceAll(c.Said, "$", ""), Done: c.Words()})
			}
		}
	}
	var groups []glossary.Group
	for _, q := range p.Parameters {
		n := len(groups)
		if n == 0 || groups[n-1].Name != q.Group {
			groups = append(groups, glossary.Group{Name: q.Group, About: p.Groups[q.Group]})
			n++
		}
		groups[n-1].Parameters = append(groups[n-1].Parameters, q.Parameter)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	e.Encode(groups) // which are strings
	return b.Bytes()
}
