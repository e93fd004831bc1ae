package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/token"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Files, from the repository's root.
const (
	textFile     = "docs/annotated.txt"
	formulasFile = "docs/annotate/formulas.html"
	workedFile   = "docs/annotate/worked.txt"
	loopFile     = "docs/annotate/loop.svg"
	mazeFile     = "docs/4x5.svg"
	figure5File  = "docs/figure5.svg"
	effectsFile  = "results/readings.csv"
	goldenDir    = "testdata/golden"

	pageFile     = "docs/annotated.html"
	readingsFile = "docs/readings.md"
	glossaryFile = "internal/glossary/parameters.json"
)

//go:embed page.tmpl
var pageTemplate string

// A page is what the sources and the passages come to. The templates show the
// exported fields.
type page struct {
	Loop, Maze   template.HTML
	Figure5      []*snapshot
	PictureStyle template.CSS
	Walks        []*walk
	Sections     []*section
	Equations    []*passage // by number
	Rows         []*parameter
	Parameters   []*parameter
	Groups       map[string]string // what the parts of Params are
	Tests        map[int][]*declaration
	AsItIs       string // what runs with nothing switched came to

	files        *token.FileSet
	order        []*declaration
	declarations map[string]*declaration
	parameters   map[string]*parameter
	choices      map[string]*choice
	formulas     map[string]template.HTML
	vectors      map[string]*vectors
	rows         []string
	where        string // that is being read or checked
	faults       []string
}

// fault notes something that has to be mended where the page is at.
func (p *page) fault(format string, args ...any) {
	p.faults = append(p.faults, p.where+fmt.Sprintf(format, args...))
}

// assemble reads what the repository in root has to say. Its error has a line
// for each fault.
func assemble(root fs.FS) (*page, error) {
	p := &page{
		Groups:       map[string]string{},
		Tests:        map[int][]*declaration{},
		files:        token.NewFileSet(),
		declarations: map[string]*declaration{},
		parameters:   map[string]*parameter{},
		choices:      map[string]*choice{},
		formulas:     map[string]template.HTML{},
		vectors:      map[string]*vectors{},
	}
	if err := p.readSources(root); err != nil {
		return nil, err
	}
	p.readParameters("Params")
	for _, read := range []func(fs.FS) error{p.readEffects, p.readFormulas, p.readText, p.readPictures} {
		if err := read(root); err != nil {
			return nil, err
		}
	}
	for _, q := range p.Passages() {
		p.where = q.where
		p.checkSymbols(q)
		if q.Equation > 0 {
			p.Equations = append(p.Equations, q)
		}
	}
	slices.SortStableFunc(p.Equations, func(a, b *passage) int { return a.Equation - b.Equation })
	p.checkWalks()
	p.where = textFile + ": "
	if err := p.readWorked(root); err != nil {
		return nil, err
	}
	p.sortRows()
	p.checkAll(root)
	if len(p.faults) > 0 {
		return nil, errors.New(strings.Join(p.faults, "\n"))
	}
	return p, nil
}

// html returns the page.
func (p *page) html() ([]byte, error) {
	functions := template.FuncMap{"prose": p.prose, "math": p.math, "display": p.display}
	t := template.Must(template.New("page").Funcs(functions).Parse(pageTemplate))
	var b bytes.Buffer
	err := t.Execute(&b, p)
	return b.Bytes(), err
}

// Passages returns those of all sections.
func (p *page) Passages() (all []*passage) {
	for _, s := range p.Sections {
		all = append(all, s.Passages...)
	}
	return all
}

// Count returns how many choices are of a kind.
func (p *page) Count(kind string) (n int) {
	for _, c := range p.choices {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// sortRows puts the parameters that the appendix's table has in its order.
func (p *page) sortRows() {
	for _, q := range p.Parameters {
		if q.Row != "" {
			p.Rows = append(p.Rows, q)
			if !slices.Contains(p.rows, q.Row) {
				p.fault(`no "rows:" has the row %q of %s (%s:%d)`, q.Row, q.Name, q.File, q.Line)
			}
		}
	}
	if len(p.Rows) != len(p.rows) {
		p.fault("the table has %d rows, parameters have %d", len(p.rows), len(p.Rows))
	}
	slices.SortStableFunc(p.Rows, func(a, b *parameter) int { return slices.Index(p.rows, a.Row) - slices.Index(p.rows, b.Row) })
}

// checkAll notes what the passages leave out.
func (p *page) checkAll(root fs.FS) {
	for i, q := range p.Equations {
		if q.Equation != i+1 {
			p.fault("Equation %d is missing, or there twice", i+1)
		}
	}
	for _, q := range p.Parameters {
		if len(q.Shown) == 0 {
			p.fault("no passage has the parameter %s (%s:%d)", q.Name, q.File, q.Line)
		}
	}
	for _, d := range p.order {
		if d.passage == nil && (d.equation > 0 || len(d.Choices) > 0) {
			p.fault("no passage shows %s (%s:%d), which has an Equation, a Reading or a Differs", d.Name, d.File, d.Line)
		}
	}
	for id, c := range p.choices {
		if c.Said == "" {
			p.fault("no passage says what the paper says at %s (%s:%d)", id, c.File, c.Line)
		}
	}
	files, _ := fs.Glob(root, goldenDir+"/*.json")
	for _, name := range files {
		if p.vectors[strings.TrimSuffix(path.Base(name), ".json")] == nil {
			p.fault("no passage has the golden vectors %s", name)
		}
	}
}

var (
	quoted     = regexp.MustCompile("`([^`]+)`")
	identifier = regexp.MustCompile(`[\p{L}_][\p{L}\p{Nd}_]*`)
)

// checkSymbols holds the names that symbols are said to have in the code to the
// code and the parameters of their passage.
func (p *page) checkSymbols(q *passage) {
	code := ""
	for _, r := range q.Params {
		code += r.Name + "\n"
	}
	for _, d := range q.All() {
		code += d.text + "\n"
	}
	names := identifier.FindAllString(code, -1)
	for _, s := range q.Symbols {
		for _, m := range quoted.FindAllStringSubmatch(s.Code, -1) {
			known := slices.Contains(names, m[1])
			if identifier.FindString(m[1]) != m[1] {
				known = strings.Contains(code, m[1])
			}
			if !known && p.place(m[1]) == "" {
				p.fault("its code and parameters have no %s", m[1])
			}
		}
	}
}

// checkWalks holds the steps to the functions that they are said to be lines
// of, and finds their passages.
func (p *page) checkWalks() {
	for _, w := range p.Walks {
		if w.declaration == nil {
			continue
		}
		rest := w.text // from where the step before begins
		for _, s := range w.Steps {
			p.where = s.where
			i := strings.Index(rest, s.Code)
			if i < 0 {
				p.fault("%s has no %s after the step before", w.Name, s.Code)
			}
			rest = rest[max(i, 0):]
			for _, q := range p.Passages() {
				if q.Title == s.title {
					s.Passage = q
				}
			}
			if s.Passage == nil {
				p.fault("there is no passage %q", s.title)
			}
		}
	}
}

// readWorked takes over the equations worked through by hand.
func (p *page) readWorked(root fs.FS) error {
	text, err := fs.ReadFile(root, workedFile)
	if err != nil {
		return err
	}
	sheets := strings.Split(string(text), "\nEquation ")
	for _, q := range p.Equations {
		if q.Equation < len(sheets) {
			q.Worked = "Equation " + sheets[q.Equation]
		} else {
			p.fault("%s does not work Equation %d through", workedFile, q.Equation)
		}
	}
	return nil
}

// A snapshot is what an agent made of its maze at a time.
type snapshot struct {
	Title  string
	Panels []template.HTML
}

// readPictures takes over the pictures. The panels of Figure 5 are set apart, so
// that a narrow page can have them below each other.
func (p *page) readPictures(root fs.FS) error {
	var err error
	read := func(name string) string {
		text, e := fs.ReadFile(root, name)
		err = errors.Join(err, e)
		return strings.Replace(string(text), ` xmlns="http://www.w3.org/2000/svg"`, "", 1)
	}
	p.Loop = template.HTML(read(loopFile))
	before, rest, _ := strings.Cut(read(mazeFile), "<style>")
	_, after, _ := strings.Cut(rest, "</style>")
	p.Maze = template.HTML(before + after)
	_, rest, _ = strings.Cut(read(figure5File), "<style>")
	style, body, _ := strings.Cut(rest, "</style>")
	p.PictureStyle = template.CSS(style)
	for _, row := range strings.Split(body, `<text class="head"`)[1:] {
		_, row, _ = strings.Cut(row, ">")
		title, row, _ := strings.Cut(row, "</text>")
		s := &snapshot{Title: title}
		for _, panel := range strings.Split(row, `<g transform="translate(`)[1:] {
			_, panel, _ = strings.Cut(panel, ">")
			panel = panel[:strings.LastIndex(panel, "</g>")]
			_, title, _ := strings.Cut(panel[:strings.Index(panel, "</text>")], ">")
			// The box has room for the numbers below the ends of a colour bar.
			s.Panels = append(s.Panels, template.HTML(fmt.Sprintf(
				`<svg viewBox="-10 0 134 160" role="img" aria-label="%s">%s</svg>`, title, panel)))
		}
		p.Figure5 = append(p.Figure5, s)
	}
	return err
}
