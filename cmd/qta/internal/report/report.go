package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"qta"
	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/words"
	"qta/lab"
)

//go:embed report.tmpl
var text string

//go:embed report.css
var css string

// HTML returns the report as a page.
func (r *Report) HTML() []byte {
	var b bytes.Buffer
	functions := template.FuncMap{"thousands": thousands, "interval": interval, "isNumber": func(x float64) bool { return x == x }}
	if err := template.Must(template.New("report").Funcs(functions).Parse(text)).Execute(&b, r); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(draw.Style() + "\n" + css) }

// Title says how many runs there are.
func (r *Report) Title() string { return words.Count(len(r.Runs), "run") }

// Count says how many runs of a setting there are, and how many of those that
// have ended are solved.
func (s *setting) Count() (n struct{ Runs, Ended, Solved int }) {
	for _, g := range s.Groups {
		n.Runs += len(g.all)
		n.Ended += g.N()
		n.Solved += g.Solved
	}
	return n
}

// Where names the mazes.
func (s *setting) Where() string { return where(s.mazes) }

// Methods names the methods.
func (s *setting) Methods() string {
	var names []string
	for _, m := range paper.Methods() {
		if slices.ContainsFunc(s.Groups, func(g *group) bool { return g.Method == m.Name }) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Judged returns the claims that runs speak of.
func (s *setting) Judged() []claim {
	return slices.DeleteFunc(slices.Clone(s.Claims), func(c claim) bool { return c.Verdict == "" })
}

// Silent says how many claims no run speaks of.
func (s *setting) Silent() string { return words.Count(len(s.Claims)-len(s.Judged()), "claim") }

// Beyond lists what the setting has that the paper's parameters have not.
func (s *setting) Beyond() string { return strings.Join(lab.Changes(qta.Paper(), s.Params), ", ") }

// Origins counts the runs by the program and the machine that made them.
func (r *Report) Origins() map[string]int {
	n := map[string]int{}
	for _, run := range r.Runs {
		p := run.Program
		build := strings.Trim(fmt.Sprint(p.Build), "map[]")
		n[fmt.Sprintf("version %s, revision %s, %s %s; %v", run.Run.Version, p.Revision, p.Go, build, run.Machine)]++
	}
	return n
}

// Warnings says what makes runs hard to compare.
func (r *Report) Warnings() (list []string) {
	going, failed := 0, 0
	for _, run := range r.Runs {
		if !run.Ended() {
			going++
		}
		if run.State == lab.Failed {
			failed++
		}
	}
	if going > 0 {
		list = append(list, fmt.Sprintf("Not ended, and counted in no statistic: %s.", words.Count(going, "run")))
	}
	if failed > 0 {
		list = append(list, fmt.Sprintf("Failed: %s. Where numbers went wrong the run counts as unsolved; "+
			"other failures do not count.", words.Count(failed, "run")))
	}
	if n := len(r.Skipped); n > 0 {
		list = append(list, fmt.Sprintf("Not used, and listed at the end: %s.", words.Count(n, "file")))
	}
	return list
}
