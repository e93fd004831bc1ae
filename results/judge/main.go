// Command judge compares runs with the claims of the paper's section 4, by the rules
// of results/verdicts.md:
//
//	go run ./results/judge results/runs
//
// writes results/report.html, runs.csv, claims.md, the figures, and the tables of
// results/README.md from all runs within the directories that it is given.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"
	plain "text/template"

	"qta/internal/report"
	"qta/internal/words"
	"qta/lab"
)

// The templates of the page, of the two blocks of README.md, and of claims.md.
var (
	//go:embed opening.tmpl
	opening string
	//go:embed claims.tmpl
	claimsOfPage string
	//go:embed table.md.tmpl
	table string
	//go:embed worth.md.tmpl
	worthTable string
	//go:embed claims.md.tmpl
	details string
)

func main() {
	files, err := judge(os.Args[1:])
	for path, text := range files {
		err = errors.Join(err, os.WriteFile(path, text, 0o666))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "judge: %s\n", words.Bare(err))
		os.Exit(1)
	}
}

// judge judges the runs within dirs and returns the files that it makes.
func judge(dirs []string) (map[string][]byte, error) {
	c, err := lab.Collect(dirs)
	if err != nil {
		return nil, err
	}
	r := report.New(c)
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("there is no run in %s", strings.Join(dirs, ", "))
	}
	readme, err := os.ReadFile("results/README.md")
	if err != nil {
		return nil, err
	}

	found := finding(r)
	readme, err = replace(readme, beginClaims, found.markdown(table))
	if err != nil {
		return nil, err
	}
	readme, err = replace(readme, beginWorth, found.markdown(worthTable))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"results/report.html": found.page(r),
		"results/runs.csv":    r.CSV(),
		"results/README.md":   readme,
		"results/claims.md":   found.markdown(details),
	}
	for _, f := range r.Figures() {
		files["results/figure"+f.Number+".svg"] = f.Drawing.File()
	}
	return files, nil
}

// The lines around the generated blocks of README.md.
const (
	beginClaims = "<!-- by go run ./results/judge results/runs -->\n"
	beginWorth  = "<!-- departures by go run ./results/judge results/runs -->\n"
	end         = "<!-- end -->"
)

// replace puts a block into a page, between the markers begin and end.
func replace(page []byte, begin string, block []byte) ([]byte, error) {
	before, rest, begun := bytes.Cut(page, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		return nil, fmt.Errorf("results/README.md lacks the line %q, or %q after it", begin, end)
	}
	return slices.Concat(before, []byte(begin), block, []byte(end), after), nil
}

// findings hold what the runs show about the paper. The templates read them.
type findings struct {
	Answers []string
	Claims  []claim
	Worth   []comparison
	Mazes   []onMaze
	Ratios  []onMaze
	Arms    []arm
}

// finding judges the runs of a report.
func finding(r *report.Report) findings {
	e := evidence{r}
	claims := e.claims()
	return findings{
		Answers: e.answers(claims),
		Claims:  claims,
		Worth:   e.worth(),
		Mazes:   e.besideThePaper(), // for each maze
		Ratios:  e.besideQTA(),      // for each other method and maze
		Arms:    e.arms(),
	}
}

// markdown fills a template of Markdown.
func (f findings) markdown(text string) []byte {
	return report.Fill(plain.Must(plain.New("markdown").Parse(text)), f)
}

// page returns the report, with the answers before the figures and the claims after them.
func (f findings) page(r *report.Report) []byte {
	fill := func(text string) template.HTML {
		return template.HTML(report.Fill(template.Must(template.New("page").Parse(text)), f))
	}
	r.Opening = fill(opening)
	r.Claims = fill(claimsOfPage)
	return r.HTML()
}
