package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the package: its declarations with what their comments say,
// as HTML, and its parameters.

// A declaration is one of the package's, at its top level.
type declaration struct {
	Name       string // with the receiver's type
	File       string
	Line, Last int // with its doc comment
	Lines      []line
	text       string
	equation   int    // that it implements, or 0
	section    string // of that equation
	Choices    []*choice
	passage    *passage // that shows it
}

// Before returns the number of the line before it.
func (d *declaration) Before() int { return d.Line - 1 }

// A line of a declaration, highlighted.
type line struct {
	Code   template.HTML
	Class  string // "reading", "differs" or empty
	Anchor string // of the first line of a choice
}

// A choice is a Reading or a Differs.
type choice struct {
	Kind    string // "Reading" or "Differs"
	Text    string // without that word
	Where   string // the declaration's or the parameter's name
	File    string
	Line    int
	Anchor  string
	Said    template.HTML // what the text says
	Ours    template.HTML // what we do
	Effects []effect      // of the parameters that decide it

	said     string       // Said before its formulas are set
	switches []*parameter // those that decide it
}

// Class returns the kind as a class of the page's style.
func (c *choice) Class() string { return strings.ToLower(c.Kind) }

// A parameter is a field of Params.
type parameter struct {
	qta.Field
	Group     string // the part of Params
	Doc       string
	File      string
	Line      int
	Values    []value
	Row       string // of the appendix's table, or empty
	Shown     []*passage
	Effects   []effect
	Different bool // the sets differ
}

// A value is that of a parameter in a named set.
type value struct{ Set, Value string }

// A program is what the sources say.
type program struct {
	declarations map[string]*declaration
	order        []*declaration
	parameters   map[string]*parameter
	groups       map[string]string // what the parts of Params are
	fields       []*parameter
	tests        map[int][]string // of each equation
}

var (
	implements = regexp.MustCompile(`It implements QTA, Equation (\d+) \(Section ([\d.]+)\)\.`)
	testOf     = regexp.MustCompile(`It tests QTA, Equation (\d+)\.`)
	marker     = regexp.MustCompile(`^// (Reading|Differs): `)
)

// readProgram reads the package in a directory.
func readProgram(dir string) (*program, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &program{declarations: map[string]*declaration{}, parameters: map[string]*parameter{}, groups: map[string]string{}, tests: map[int][]string{}}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "_test.go") {
			p.addTests(f)
			continue
		}
		for _, d := range f.Decls {
			p.addDeclaration(fset, src, d)
		}
	}
	for _, f := range qta.Fields() {
		if p.parameters[f.Name] == nil {
			return nil, fmt.Errorf("no field %s in the source of Params", f.Name)
		}
		p.parameters[f.Name].describe(f)
		p.fields = append(p.fields, p.parameters[f.Name])
	}
	return p, nil
}

func (p *program) addTests(f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			for _, m := range testOf.FindAllStringSubmatch(oneLine(d.Doc.Text()), -1) {
				n, _ := strconv.Atoi(m[1])
				p.tests[n] = append(p.tests[n], d.Name.Name)
			}
		}
	}
}

// addDeclaration takes over what d declares. Where the files for several
// processors declare the same, the first counts.
func (p *program) addDeclaration(fset *token.FileSet, src []byte, d ast.Decl) {
	var names []*ast.Ident
	doc, start, receiver := (*ast.CommentGroup)(nil), d.Pos(), ""
	switch d := d.(type) {
	case *ast.FuncDecl:
		names, doc = []*ast.Ident{d.Name}, d.Doc
		if d.Recv != nil {
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			receiver = typ.(*ast.Ident).Name + "."
		}
	case *ast.GenDecl:
		doc = d.Doc
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
				if slices.Contains([]string{"Method", "Departures", "Beyond", "Baselines"}, s.Name.Name) {
					p.addParameters(fset, s.Name.Name, d.Doc.Text(), s.Type.(*ast.StructType))
				}
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	if doc != nil {
		start = doc.Pos()
	}
	if len(names) == 0 || p.declarations[receiver+names[0].Name] != nil {
		return
	}
	from, to := fset.Position(start), fset.Position(d.End())
	decl := &declaration{Name: receiver + names[0].Name, File: filepath.Base(from.Filename), Line: from.Line, Last: to.Line}
	if m := implements.FindStringSubmatch(oneLine(doc.Text())); m != nil {
		decl.equation, _ = strconv.Atoi(m[1])
		decl.section = m[2]
	}
	decl.addLines(string(src[from.Offset:to.Offset]), names[0].Name)
	p.order = append(p.order, decl)
	for _, name := range names {
		p.declarations[receiver+name.Name] = decl
	}
}

// addLines highlights the text of a declaration and finds its choices.
func (d *declaration) addLines(text, name string) {
	d.text = text
	code := highlight(text, name)
	var open *choice
	for i, raw := range strings.Split(text, "\n") {
		l := line{Code: code[i]}
		raw = strings.TrimSpace(raw)
		if m := marker.FindStringSubmatch(raw); m != nil {
			open = &choice{Kind: m[1], Where: d.Name, File: d.File, Line: d.Line + i}
			open.Anchor = fmt.Sprintf("%s-%d", d.Name, len(d.Choices)+1)
			l.Anchor = open.Anchor
			d.Choices = append(d.Choices, open)
		} else if raw == "//" || !strings.HasPrefix(raw, "//") {
			open = nil
		}
		if open != nil {
			l.Class = open.Class()
			open.Text += strings.TrimPrefix(strings.TrimPrefix(raw, "//"), " "+open.Kind+":")
		}
		d.Lines = append(d.Lines, l)
	}
	for _, c := range d.Choices {
		c.Text = strings.TrimSpace(c.Text)
		c.Ours = template.HTML(html.EscapeString(c.Text))
	}
}

// highlight returns the lines of Go source as HTML: keywords, strings, numbers,
// comments and the name that is declared have classes.
func highlight(text, name string) []template.HTML {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	var b strings.Builder
	done := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING || tok == token.CHAR:
			class = "s"
		case tok == token.INT || tok == token.FLOAT:
			class = "n"
		case tok.IsKeyword():
			class = "k"
		case tok == token.IDENT && literal == name:
			class, name = "f", ""
		default:
			continue
		}
		at := file.Offset(pos)
		b.WriteString(html.EscapeString(text[done:at]))
		done = at + len(literal)
		for i, part := range strings.Split(literal, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, class, html.EscapeString(part))
		}
	}
	b.WriteString(html.EscapeString(text[done:]))
	var lines []template.HTML
	for l := range strings.SplitSeq(b.String(), "\n") {
		lines = append(lines, template.HTML(l))
	}
	return lines
}

// addParameters notes where the fields of a part of Params stand and what is
// said there.
func (p *program) addParameters(fset *token.FileSet, name, doc string, s *ast.StructType) {
	about, _, _ := strings.Cut(oneLine(doc), ". ")
	p.groups[name] = strings.TrimSuffix(about, ".")
	for _, f := range s.Fields.List {
		at := fset.Position(f.Pos())
		p.parameters[f.Names[0].Name] = &parameter{Group: name, Doc: strings.TrimSuffix(oneLine(f.Doc.Text()), "."), File: filepath.Base(at.Filename), Line: at.Line}
	}
}

// describe adds what the package says of the field.
func (q *parameter) describe(f qta.Field) {
	q.Field = f
	q.Row, _ = strings.CutPrefix(f.Source, "Table: ")
	if q.Row == f.Source {
		q.Row = ""
	}
	for _, set := range sets() {
		v := value{set.Name, set.Params.Value(f.Name)}
		q.Values = append(q.Values, v)
		q.Different = q.Different || v.Value != q.Values[0].Value
	}
}

// sets returns the parameter sets of the paper's experiment.
func sets() []qta.Preset {
	all := qta.Presets()
	var s []qta.Preset
	for _, name := range []string{"paper", "default", "authors"} {
		s = append(s, all[slices.IndexFunc(all, func(p qta.Preset) bool { return p.Name == name })])
	}
	return s
}

// choice returns the Reading or Differs in the source of the field's value, if
// it is one.
func (q *parameter) choice() *choice {
	kind, text, ok := strings.Cut(q.Source, ": ")
	if !ok || kind != "Reading" && kind != "Differs" {
		return nil
	}
	c := &choice{Kind: kind, Text: text, Where: q.Name, File: q.File, Line: q.Line, Anchor: "Params." + q.Name, Effects: q.Effects}
	ours := fmt.Sprintf("%s: <b>%s</b> (%s).", html.EscapeString(text), html.EscapeString(q.Values[0].Value), html.EscapeString(q.Doc))
	c.Text += ": " + q.Values[0].Value
	c.switches = []*parameter{q}
	if authors := q.Values[len(q.Values)-1]; q.Different {
		ours += fmt.Sprintf(" The authors’ code: <b>%s</b>.", html.EscapeString(authors.Value))
	}
	c.Ours = template.HTML(ours)
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
