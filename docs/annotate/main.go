// Command annotate writes three files. docs/annotated.html shows the paper beside its code.
// docs/readings.md has tables of the Readings, which are choices that the paper leaves open,
// and of the Differs, which depart from the paper. cmd/qta/parameters.txt is what "qta params"
// says of each parameter.
//
// The command reads docs/annotated.txt, which sums up each passage of the paper and names the
// functions that belong to it. It also reads the Go files, the golden vectors, and pictures
// that qta has drawn. If these disagree, it lists what to mend and writes nothing.
package main

//go:generate go run .

import (
	"bytes"
	"errors"
	"fmt"
	"go/doc/comment"
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

	"qta"
)

// Files are named from the repository's root.
const (
	textFile     = "docs/annotated.txt"
	formulasFile = "docs/annotate/formulas.html"
	goldenDir    = "testdata/golden"

	pageFile     = "docs/annotated.html"
	readingsFile = "docs/readings.md"
	paramsFile   = "cmd/qta/parameters.txt"
)

// A page joins the passages and the sources. The templates show the exported
// fields.
type page struct {
	Sections   []*section
	Passages   []*passage
	Parameters []*parameter
	Choices    map[string]*choice
	Tests      map[int][]*declaration // of equations

	root         fs.FS
	files        *token.FileSet
	declarations map[string]*declaration
	parameters   map[string]*parameter
	formulas     map[string]template.HTML
	missing      map[string]token.Position // what no passage has yet, by kind and name
	said         map[string]int            // how often the sources have each Reading and Differs
	rest         string                    // the rest of the function that the page walks through
	where        string                    // the place being read or checked, for the faults
	faults       error
}

func main() {
	const root = "../.." // seen from docs/annotate, where "go generate" runs this command
	if _, err := os.Stat(filepath.Join(root, textFile)); err != nil {
		log.Fatal("run it by go generate ./docs/annotate")
	}
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
		missing:      map[string]token.Position{},
		said:         map[string]int{},
	}
	p.readSources()
	p.readVectors()
	p.readFormulas()
	p.readText()
	p.check()
	if p.faults == nil {
		files = p.execute()
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
			for _, word := range inline.FindAllString(s.Code, -1) {
				name := strings.Trim(word, "`")
				// Not as a part of a longer name.
				whole := `(^|[^\pL\p{Nd}_])` + regexp.QuoteMeta(name) + `($|[^\pL\p{Nd}_])`
				if p.place(name) == "" && !regexp.MustCompile(whole).MatchString(q.text) {
					p.fault("its code and parameters have no %s", name)
				}
			}
		}
	}
	p.where = textFile + ": "
	for what, at := range p.missing {
		p.fault("no passage has %s (%s)", what, at)
	}
	p.where = "the sources: "
	for id, n := range p.said {
		if n > 1 || p.Choices[id] == nil {
			p.fault("%s is there %d times, want one, "+
				"which begins a paragraph of a declaration or a source", id, n)
		}
	}
}

// execute returns what the templates make of the page.
func (p *page) execute() map[string][]byte {
	p.where = "docs/annotate: "
	functions := map[string]any{
		"prose":       p.prose,
		"math":        p.math,
		"walk":        p.walk,
		"line":        p.line,
		"picture":     func(name string) template.HTML { return template.HTML(p.read(name)) },
		"count":       count,
		"short":       short,
		"wrap":        wrap,
		"columns":     columns,
		"sets":        qta.Presets,
		"paper":       qta.Paper,
		"misprints":   misprints,
		"contradicts": contradicts,
		"cell":        strings.NewReplacer("$", "", "|", `\|`, "*", `\*`).Replace,
	}
	html := template.Must(template.New("").Funcs(functions).
		ParseFS(p.root, "docs/annotate/page.tmpl"))
	texts := text.Must(text.New("").Funcs(functions).ParseFS(p.root, "docs/annotate/*.tmpl"))
	templates := map[string]interface{ Execute(io.Writer, any) error }{
		pageFile:     html.Lookup("page.tmpl"),
		readingsFile: texts.Lookup("readings.tmpl"),
		paramsFile:   texts.Lookup("parameters.tmpl"),
	}
	files := map[string][]byte{}
	for name, t := range templates {
		var b bytes.Buffer
		if err := t.Execute(&b, p); err != nil {
			p.fault("%v", err)
		}
		files[name] = b.Bytes()
	}
	return files
}

// misprints returns the choices where the paper cannot mean what it prints. It adds D28,
// because Equation 8 omits a division that its source, Schaul et al., makes.
func misprints() []string { return []string{"D1", "D2", "R17", "D27", "D28", "R101"} }

// contradicts returns a parameter's value in the authors' code if the appendix's table has
// another, and else "". UncertaintyActions is no contradiction, because the table also has the
// code's d (R117). RandomActionLater has no row of its own but can be a contradiction, because
// the table's one probability of a random action is for the whole episode (R53).
func contradicts(q *parameter) string {
	theirs := qta.Authors().Value(q.Name)
	named := q.Row != "" && q.Name != "UncertaintyActions" || q.Name == "RandomActionLater"
	if theirs == qta.Paper().Value(q.Name) || !named {
		return ""
	}
	return theirs
}

// walk begins a walk through a function. Each of the following calls of [page.line] quotes a
// line of the function that comes after the one quoted before.
func (p *page) walk(name string) template.HTML {
	p.rest = find(p, p.declarations, "declaration", name).text
	return p.prose("`" + name + "`")
}

// line returns code as HTML. The code must be part of the function that [page.walk] began,
// and not come before the code of the previous call. An open parenthesis at its end is
// closed.
func (p *page) line(code string) template.HTML {
	_, rest, found := strings.Cut(p.rest, code)
	if !found {
		p.fault("the function has no %s after the line before", code)
	}
	p.rest = code + rest // the next call may quote the same line
	if strings.HasSuffix(code, "(") {
		code += "…)"
	}
	return p.prose("`" + code + "`")
}

// wrap breaks a text between words into lines of at most 100 characters. All lines but the
// first begin with an indent.
func wrap(indent int, text string) string {
	text = strings.ReplaceAll(text, "$", "") // marks of formulas
	lines := comment.Printer{TextPrefix: strings.Repeat(" ", indent), TextWidth: 100 - indent}
	return strings.TrimSpace(string(lines.Text(new(comment.Parser).Parse(text))))
}
