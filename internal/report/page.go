package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strconv"
	"strings"
	plain "text/template"

	"qta/internal/draw"
	"qta/lab"
)

//go:embed report.tmpl
var page string

//go:embed report.csv.tmpl
var table string

//go:embed report.css
var css string

var functions = plain.FuncMap{"thousands": thousands, "cell": cell, "state": state}

// HTML returns the report as a page.
func (r *Report) HTML() []byte {
	return Fill(template.Must(template.New("page").Funcs(functions).Parse(page)), r)
}

// Fill returns what a template makes of data.
func Fill(t interface{ Execute(io.Writer, any) error }, data any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(draw.Style + "\n" + css) }

// thousands writes steps in thousands, with one decimal.
func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// Pending returns how many runs have neither ended nor failed. They may be running, stopped
// or killed.
func (g *Group) Pending() int {
	return count(g.All, func(run *lab.Record) bool { return !run.Ended() && run.State != lab.Failed })
}

// Each writes the thousands of steps of each run. In brackets it adds after how many
// thousands training first found the goal.
func (g *Group) Each() string {
	var list []string
	for _, run := range g.Runs {
		text := strconv.FormatFloat(run.Steps()/1000, 'f', -1, 64)
		if run.Outcome.SolvedAt == 0 {
			text = "- in " + text
		}
		if at := run.Outcome.FoundAt; at > 0 {
			text += " (" + thousands(float64(at)) + ")"
		} else {
			text += " (never)"
		}
		if untrained(run) {
			text += " untrained"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// state writes the state of a run for a table.
func state(run *lab.Record) string {
	if untrained(run) {
		return run.State + " untrained"
	}
	return run.State
}

// CSV returns a table of the runs. A number that is not known is left out.
func (r *Report) CSV() []byte {
	return Fill(plain.Must(plain.New("table").Funcs(functions).Parse(table)), r)
}

// cell quotes a text for a table, if that is necessary.
func cell(text string) string {
	if strings.ContainsAny(text, ",\"\n") {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}
