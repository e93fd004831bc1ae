package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// This file makes the table of all Readings and Differs, between two comments of
// a page.

const (
	readingsFile = "docs/readings.md"
	tableBegins  = "<!-- choices -->\n"
	tableEnds    = "<!-- /choices -->\n"
)

// makeReadings returns that page of the repository in a directory, with its
// table made anew.
func makeReadings(root string) ([]byte, error) {
	p, err := assemble(root)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, readingsFile))
	if err != nil {
		return nil, err
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return nil, fmt.Errorf("%s: there are no lines %sand %s", readingsFile, tableBegins, tableEnds)
	}
	return []byte(before + tableBegins + p.markdown() + tableEnds + after), nil
}

// markdown returns the table.
func (p *page) markdown() string {
	var b strings.Builder
	b.WriteString("| where | | the text | we | the authors' code | measured |\n|---|---|---|---|---|---|\n")
	for _, c := range p.Choices {
		var effects []string
		for _, e := range c.Effects {
			effects = append(effects, cell(e.String()))
		}
		fmt.Fprintf(&b, "| [`%s`](../%s) | %s | %s | %s | %s | %s |\n",
			c.Where, c.File, c.Kind, cell(c.said), cell(c.Text), cell(c.authors()), strings.Join(effects, "<br>"))
	}
	return b.String()
}

// authors returns what the parameters that decide a choice are in the authors'
// code, where that differs.
func (c *choice) authors() string {
	var values []string
	for _, q := range c.switches {
		if q.Different {
			values = append(values, q.Name+"="+q.Values[len(q.Values)-1].Value)
		}
	}
	return strings.Join(values, " ")
}

// cell escapes the text of a cell.
func cell(text string) string {
	return strings.NewReplacer("$", "", "|", `\|`, "*", `\*`, "\n", " ").Replace(text)
}
