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
	text "text/template"
)

// This file puts the page together. Files are named from the repository's root.
const (
	textFile     = "docs/annotated.txt"
	formulasFile = "docs/annotate/formulas.html"
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

//go:embed readings.tmpl
var readingsTemplate string

// A page joins the passages and the sources. The templates show the exported
// fields.
type page struct {
	Loop, Maze   template.HTML
	Figure5      []*snapshot
	PictureStyle template.CSS
	Sections     []*section
	Equations    []*passage // by number
	Parameters   []*parameter
	Choices      map[string]*choice
	Groups       map[string]string // what the parts of Params are
	Tests        map[int][]*declaration
	AsItIs       string // the summary of runs with nothing switched

	root         fs.FS
	files        *token.FileSet
	declarations map[string]*declaration
	parameters   map[string]*parameter
	formulas     map[string]template.HTML
	vectors      map[string]*vectors
	rest         string // of a function whose lines the page goes through
	where        string // the place being read or checked, for faults
	faults       []string
}

// generate returns the files that are made from the repository in root. Its
// error has a line for each fault.
func generate(root fs.FS) (map[string][]byte, error) {
	p := &page{
		Choices:      map[string]*choice{},
		Groups:       map[string]string{},
		Tests:        map[int][]*declaration{},
		root:         root,
		files:        token.NewFileSet(),
		declarations: map[string]*declaration{},
		parameters:   map[string]*parameter{},
		formulas:     map[string]template.HTML{},
		vectors:      map[string]*vectors{},
	}
	p.readSources()
	p.readParameters("Params")
	p.readEffects()
	p.readFormulas()
	p.readText()
	p.readPictures()
	p.check()
	files := map[string][]byte{pageFile: p.html(), readingsFile: p.markdown(), glossaryFile: p.glossary()}
	if len(p.faults) > 0 {
		slices.Sort(p.faults)
		return nil, errors.New(strings.Join(p.faults, "\n"))
	}
	return files, nil
}

// fault notes something to mend at p.where.
func (p *page) fault(format string, args ...any) {
	p.faults = append(p.faults, p.where+fmt.Sprintf(format, args...))
}

// read returns the text of a file.
func (p *page) read(name string) string {
	text, err := fs.ReadFile(p.root, name)
	if err != nil {
		p.fault("%v", err)
	}
	return string(text)
}

// Passages returns those of all sections.
func (p *page) Passages() (all []*passage) {
	for _, s := range p.Sections {
		all = append(all, s.Passages...)
	}
	return all
}

var (
	anchor = regexp.MustCompile(` id="([^"]*)"`)
	link   = regexp.MustCompile(`<a href="#([^"]*)"`)
)

// html returns the page.
func (p *page) html() []byte {
	p.where = pageFile + ": "
	functions := template.FuncMap{"prose": p.prose, "math": p.math, "walk": p.walk, "line": p.line}
	var b bytes.Buffer
	if err := template.Must(template.New("").Funcs(functions).Parse(pageTemplate)).Execute(&b, p); err != nil {
		p.fault("%v", err)
	}
	places := map[string]int{}
	for _, m := range anchor.FindAllStringSubmatch(b.String(), -1) {
		places[m[1]]++
	}
	for _, m := range link.FindAllStringSubmatch(b.String(), -1) {
		if places[m[1]] != 1 {
			p.fault("a link leads to %q, which is there %d times", m[1], places[m[1]])
		}
	}
	return b.Bytes()
}

// walk begins to go through a function, whose lines follow in order.
func (p *page) walk(name string) template.HTML {
	if d := find(p, p.declarations, "declaration", name); d != nil {
		p.rest = d.text
	}
	return p.prose("`" + name + "`")
}

// line returns a part of the function's next line, with its parentheses closed.
func (p *page) line(code string) template.HTML {
	i := strings.Index(p.rest, code)
	if i < 0 {
		p.fault("the function has no %s after the line before", code)
	}
	p.rest = p.rest[max(i, 0):]
	if strings.HasSuffix(code, "(") {
		code += "…)"
	}
	return p.prose("`" + code + "`")
}

// markdown returns docs/readings.md.
func (p *page) markdown() []byte {
	cell := strings.NewReplacer("$", "", "|", `\|`, "*", `\*`).Replace
	var b bytes.Buffer
	if err := text.Must(text.New("").Funcs(text.FuncMap{"cell": cell}).Parse(readingsTemplate)).Execute(&b, p); err != nil {
		p.fault("%v", err)
	}
	return b.Bytes()
}

// check notes what the passages omit or get wrong.
func (p *page) check() {
	for _, q := range p.Passages() {
		p.where = fmt.Sprintf("%s:%d: passage %q: ", textFile, q.line, q.Title)
		p.checkSymbols(q)
	}
	p.where = textFile + ": "
	for i, q := range p.Equations {
		if q.Equation != i+1 {
			p.fault("Equation %d is missing, or there twice", i+1)
		}
	}
	for _, q := range p.Parameters {
		if q.Passage == nil {
			p.fault("no passage has the parameter %s (%s:%d)", q.Name, q.File, q.Line)
		}
	}
	for _, d := range p.declarations {
		if d.passage == nil && (d.equation > 0 || len(d.Choices) > 0) {
			p.fault("no passage shows %s (%s:%d), with its equation, Reading or Differs", d.Name, d.File, d.Line)
		}
	}
	for id, c := range p.Choices {
		if c.Said == "" {
			p.fault("no passage says what the paper says at %s %s (%s:%d)", c.Kind, id, c.File, c.Line)
		}
	}
	files, _ := fs.Glob(p.root, goldenDir+"/*.json")
	for _, name := range files {
		if p.vectors[strings.TrimSuffix(path.Base(name), ".json")] == nil {
			p.fault("no passage has the golden vectors %s", name)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// checkSymbols looks for the symbols' names in the code and the parameters of
// their passage.
func (p *page) checkSymbols(q *passage) {
	var code strings.Builder
	for _, r := range q.Params {
		code.WriteString(r.Name + "\n")
	}
	for _, d := range q.All() {
		code.WriteString(d.text + "\n")
	}
	for _, s := range q.Symbols {
		for _, m := range quoted.FindAllStringSubmatch(s.Code, -1) {
			whole := `(^|[^\pL\p{Nd}_])` + regexp.QuoteMeta(m[1]) + `($|[^\pL\p{Nd}_])`
			if p.place(m[1]) == "" && !regexp.MustCompile(whole).MatchString(code.String()) {
				p.fault("its code and parameters have no %s", m[1])
			}
		}
	}
}

// A snapshot is what an agent made of its maze at a time.
type snapshot struct {
	Title  string
	Panels []template.HTML
}

// A panel of Figure 5 stands in a group and begins with its title.
var panel = regexp.MustCompile(`(?s)^[\d. ]+\)">(<text[^>]*>([^<]*)</text>.*)</g>`)

// readPictures takes over the pictures. The panels of Figure 5 are set apart, so
// that a narrow page can have them below each other.
func (p *page) readPictures() {
	p.Loop = template.HTML(p.read(loopFile))
	maze := strings.Replace(p.read(mazeFile), ` xmlns="http://www.w3.org/2000/svg"`, "", 1)
	before, rest, _ := strings.Cut(maze, "<style>")
	_, after, _ := strings.Cut(rest, "</style>")
	p.Maze = template.HTML(before + after)
	_, rest, _ = strings.Cut(p.read(figure5File), "<style>")
	style, body, _ := strings.Cut(rest, "</style>")
	p.PictureStyle = template.CSS(style)
	for _, row := range strings.Split(body, `<text class="head"`)[1:] {
		_, row, _ = strings.Cut(row, ">")
		title, row, _ := strings.Cut(row, "</text>")
		s := &snapshot{Title: title}
		for text := range strings.SplitSeq(row, `<g transform="translate(`) {
			if m := panel.FindStringSubmatch(text); m != nil {
				// The box has room for the numbers below the ends of a color bar.
				svg := fmt.Sprintf(`<svg viewBox="-10 0 134 160" role="img" aria-label="%s">%s</svg>`, m[2], m[1])
				s.Panels = append(s.Panels, template.HTML(svg))
			}
		}
		p.Figure5 = append(p.Figure5, s)
	}
}
