package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"qta/internal/glossary"
)

// glossaryFile is what package glossary has.
const glossaryFile = "internal/glossary/parameters.json"

// makeGlossary returns what there is to say of each parameter.
func makeGlossary(root string) ([]byte, error) {
	p, err := assemble(root)
	if err != nil {
		return nil, err
	}
	var groups []glossary.Group
	for _, q := range p.Parameters {
		if n := len(groups); n == 0 || groups[n-1].Name != q.Group {
			groups = append(groups, glossary.Group{Name: q.Group, About: p.Groups[q.Group]})
		}
		one := glossary.Parameter{Name: q.Name, Meaning: q.Doc}
		for _, c := range p.Choices {
			if slices.Contains(c.switches, q) {
				one.Choices = append(one.Choices, glossary.Choice{Kind: c.Kind, Where: c.Where, File: c.File, Said: strings.ReplaceAll(c.said, "$", ""), Done: c.Text})
			}
		}
		for _, e := range q.Effects {
			one.Effects = append(one.Effects, e.String())
		}
		g := &groups[len(groups)-1]
		g.Parameters = append(g.Parameters, one)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	err = e.Encode(groups)
	return b.Bytes(), err
}
