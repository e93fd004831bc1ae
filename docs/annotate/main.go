// Command annotate writes docs/annotated.html, the paper beside its code, the
// tables of docs/readings.md, and what "qta params" says of each parameter.
//
// It reads docs/annotated.txt, which sums up each passage of the paper and names
// its functions, the sources, the golden vectors, measured effects, and pictures
// that qta has drawn. Where these disagree it lists what to mend, and writes
// nothing.
package main

//go:generate go run .

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"html/template"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	text "text/template"

	"qta/internal/words"
)

// Files are named from the repository's root.
const (
	textFile     = "docs/annotated.txt"
	formulasFile = "docs/annotate/formulas.html"
	effectsFile  = "results/readings.csv"
	goldenDir    = "testdata/golden"

	pageFile     = "docs/annotated.html"
	readingsFile = "docs/readings.md"
	paramsFile   = "cmd/qta/parameters.txt"
)

// A page joins the passages and the sources. The templates show the exported
// fields.
type page struct {
	Loop, Maze template.HTML
	Figure5    figure
	Sections   []*section
	Passages   []*passage
	Parameters []*parameter
	Groups     []*group
	Choices    map[string]*choice
	Tests      map[int][]*declaration // of equations

	root         fs.FS
	files        *token.FileSet
	declarations map[string]*declaration
	parameters   map[string]*parameter
	formulas     map[string]template.HTML
	rest         string // of a function whose lines the page goes through
	where        string // the place being read or checked, for faults
	faults       error
}

func main() {
	const root = "../.." // from where "go generate" runs it
	files, err := generate(os.DirFS(root))
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), text, 0o666)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// generate returns the files that are made from the repository in root. Its
// error has a line for each fault.
func generate(root fs.FS) (files map[string][]byte, err error) {
	p := &page{
		Choices:      map[string]*choice{},
		Tests:        map[int][]*declaration{},
		root:         root,
		files:        token.NewFileSet(),
		declarations: map[string]*declaration{},
		parameters:   map[string]*parameter{},
		formulas:     map[string]template.HTML{},
	}
	p.Loop = template.HTML(p.read("docs/annotate/loop.svg"))
	p.Maze = template.HTML(p.read("docs/4x5.svg"))
	p.readFigure("docs/figure5.svg")
	p.readSources()
	p.readEffects()
	p.readFormulas()
	p.readText()
	p.check()
	if p.faults == nil {
		p.where = pageFile + ": "
		files = map[string][]byte{pageFile: p.html(), readingsFile: p.markdown(), paramsFile: p.params()}
	}
	return files, p.faults
}

// fault notes something to mend at p.where.
func (p *page) fault(format string, args ...any) {
	p.faults = errors.Join(p.faults, fmt.Errorf(p.where+format, args...))
}

// read returns the text of a file.
func (p *page) read(name string) string {
	text, err := fs.ReadFile(p.root, name)
	if err != nil {
		p.fault("%v", err)
	}
	return string(text)
}

// check notes what the passages omit or get wrong.
func (p *page) check() {
	for _, q := range p.Passages {
		p.where = fmt.Sprintf("%s: passage %q: ", textFile, q.Title)
		for _, s := range q.Symbols {
			for _, m := range quoted.FindAllStringSubmatch(s.Code, -1) {
				whole := `(^|[^\pL\p{Nd}_])` + regexp.QuoteMeta(m[1]) + `($|[^\pL\p{Nd}_])`
				if p.place(m[1]) == "" && !regexp.MustCompile(whole).MatchString(q.text) {
					p.fault("its code and parameters have no %s", m[1])
				}
			}
		}
	}
	p.where = textFile + ": "
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
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	anchor = regexp.MustCompile(` id="([^"]*)"`)
	link   = regexp.MustCompile(`<a href="#([^"]*)"`)
)

// html returns the page.
func (p *page) html() []byte {
	functions := template.FuncMap{"prose": p.prose, "math": p.math, "walk": p.walk, "line": p.line}
	t := template.New("page.tmpl").Funcs(functions)
	b := p.execute(template.Must(t.ParseFS(p.root, "docs/annotate/page.tmpl")))
	places := map[string]int{}
	for _, m := range anchor.FindAllSubmatch(b, -1) {
		places[string(m[1])]++
	}
	for _, m := range link.FindAllSubmatch(b, -1) {
		if n := places[string(m[1])]; n != 1 {
			p.fault("a link leads to %q, which is there %d times", m[1], n)
		}
	}
	files, _ := fs.Glob(p.root, goldenDir+"/*.json")
	for _, name := range files {
		if !bytes.Contains(b, []byte(name)) {
			p.fault("no passage has the golden vectors %s", name)
		}
	}
	return b
}

// markdown returns docs/readings.md.
func (p *page) markdown() []byte {
	cell := strings.NewReplacer("$", "", "|", `\|`, "*", `\*`).Replace
	t := text.New("readings.tmpl").Funcs(text.FuncMap{"cell": cell})
	return p.execute(text.Must(t.ParseFS(p.root, "docs/annotate/readings.tmpl")))
}

// execute returns what a template makes of the page.
func (p *page) execute(t interface{ Execute(io.Writer, any) error }) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		p.fault("%v", err)
	}
	return b.Bytes()
}

// walk begins to go through a function, whose lines follow in order.
func (p *page) walk(name string) template.HTML {
	p.rest = find(p, p.declarations, "declaration", name).text
	return p.prose("`" + name + "`")
}

// line returns a part of the function's next line, with its parentheses closed.
func (p *page) line(code string) template.HTML {
	_, rest, found := strings.Cut(p.rest, code)
	if !found {
		p.fault("the function has no %s after the line before", code)
	}
	p.rest = code + rest // two items may be of one line
	if strings.HasSuffix(code, "(") {
		code += "…)"
	}
	return p.prose("`" + code + "`")
}

// params returns what "qta params" writes: the list, and then, each after a form
// feed, all about a parameter.
func (p *page) params() []byte {
	for _, q := range p.Passages {
		for _, c := range q.Choices {
			if c.Switch != nil {
				c.Switch.Decides = append(c.Switch.Decides, c)
			}
		}
	}
	wrap := func(indent, text string) string {
		text = strings.ReplaceAll(text, "$", "") // marks of formulas
		return indent + strings.Join(words.Wrap(text, 100-len(indent)), "\n"+indent)
	}
	t := text.New("parameters.tmpl").Funcs(text.FuncMap{"wrap": wrap})
	return p.execute(text.Must(t.ParseFS(p.root, "docs/annotate/parameters.tmpl")))
}
