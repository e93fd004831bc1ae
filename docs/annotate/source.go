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
	Link       string
	Paragraphs []paragraph
	text       string
	equation   int    // that it implements, or 0
	section    string // of that equation
	Choices    []*choice
	passage    *passage // that shows it
}

// Before returns the number of the line before it.
func (d *declaration) Before() int { return d.Line - 1 }

// A paragraph is a paragraph of a comment, or lines of code.
type paragraph struct {
	Comment bool
	Class   string // "reading", "differs" or empty
	Anchor  string // of a choice
	Set     bool   // a comment that keeps its lines
	Tabs    int    // that a comment is indented by
	Lines   []template.HTML
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
	Link      string
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
	tests        map[int][]*declaration // of each equation
}

// sourceLink returns a link to lines of a file, for places that know line
// numbers; elsewhere it opens the file.
func sourceLink(file string, line, last int) string {
	if last > line {
		return fmt.Sprintf("../%s#L%d-L%d", file, line, last)
	}
	return fmt.Sprintf("../%s#L%d", file, line)
}

var (
	implements = regexp.MustCompile(`It implements QTA, Equation (\d+) \(Section ([\d.]+)\)\.`)
	testOf     = regexp.MustCompile(`It tests QTA, Equation (\d+)\.`)
	marker     = regexp.MustCompile(`^// (Reading|Differs)(?: [RD]\d+)?: `)
	docLink    = regexp.MustCompile(`\[(\*?[A-Z][A-Za-z.]*)\]`)
)

// readProgram reads the package in a directory.
func readProgram(dir string) (*program, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &program{declarations: map[string]*declaration{}, parameters: map[string]*parameter{}, groups: map[string]string{}, tests: map[int][]*declaration{}}
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
			p.addTests(fset, src, f)
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

// addTests takes over the tests of equations.
func (p *program) addTests(fset *token.FileSet, src []byte, f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			for _, m := range testOf.FindAllStringSubmatch(oneLine(d.Doc.Text()), -1) {
				n, _ := strconv.Atoi(m[1])
				p.tests[n] = append(p.tests[n], newDeclaration(fset, src, d, d.Doc, d.Name.Name, d.Name.Name))
			}
		}
	}
}

// newDeclaration returns the declaration d, in which the name that the page
// calls it by is shown.
func newDeclaration(fset *token.FileSet, src []byte, d ast.Decl, doc *ast.CommentGroup, called, name string) *declaration {
	at, to := fset.Position(d.Pos()), fset.Position(d.End())
	from := at
	if doc != nil {
		from = fset.Position(doc.Pos())
	}
	decl := &declaration{Name: called, File: filepath.Base(from.Filename), Line: from.Line, Last: to.Line}
	decl.Link = sourceLink(decl.File, decl.Line, decl.Last)
	decl.addLines(string(src[from.Offset:to.Offset]), name)
	return decl
}

// addDeclaration takes over what d declares. Where the files for several
// processors declare the same, the first counts.
func (p *program) addDeclaration(fset *token.FileSet, src []byte, d ast.Decl) {
	var names []*ast.Ident
	doc, receiver := (*ast.CommentGroup)(nil), ""
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
	if len(names) == 0 || p.declarations[receiver+names[0].Name] != nil {
		return
	}
	decl := newDeclaration(fset, src, d, doc, receiver+names[0].Name, names[0].Name)
	if m := implements.FindStringSubmatch(oneLine(doc.Text())); m != nil {
		decl.equation, _ = strconv.Atoi(m[1])
		decl.section = m[2]
	}
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
	flows := false // the line before is part of a paragraph that goes on
	for i, whole := range strings.Split(text, "\n") {
		raw := strings.TrimSpace(whole)
		comment := strings.HasPrefix(raw, "//")
		// Comments that are set, as a formula is, keep their lines.
		set := raw == "//" || strings.HasPrefix(raw, "//\t") || strings.HasPrefix(raw, "//  ")
		next := paragraph{Comment: comment, Set: set, Tabs: len(whole) - len(strings.TrimLeft(whole, "\t"))}
		if m := marker.FindStringSubmatch(raw); m != nil {
			open = &choice{Kind: m[1], Where: d.Name, File: d.File, Line: d.Line + i}
			open.Anchor = fmt.Sprintf("%s-%d", d.Name, len(d.Choices)+1)
			next.Anchor = open.Anchor
			d.Choices = append(d.Choices, open)
			flows = false
		} else if raw == "//" || !comment {
			open = nil
		}
		if open != nil {
			next.Class = open.Class()
			open.Text += " " + strings.TrimPrefix(marker.ReplaceAllString(raw, ""), "// ")
		}
		if n := len(d.Paragraphs); n == 0 || comment != d.Paragraphs[n-1].Comment || comment && (set || !flows) {
			d.Paragraphs = append(d.Paragraphs, next)
		}
		flows = comment && !set
		p := &d.Paragraphs[len(d.Paragraphs)-1]
		p.Lines = append(p.Lines, code[i])
	}
	for _, c := range d.Choices {
		c.Text = docLink.ReplaceAllString(strings.TrimSpace(c.Text), "$1")
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
			part = html.EscapeString(part)
			if words, ok := strings.CutPrefix(part, "// "); ok {
				part = "<i>// </i>" + words
			}
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, class, part)
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
		file := filepath.Base(at.Filename)
		p.parameters[f.Names[0].Name] = &parameter{Group: name, Doc: strings.TrimSuffix(oneLine(f.Doc.Text()), "."),
			File: file, Line: at.Line, Link: sourceLink(file, at.Line, at.Line)}
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
	kind, _, _ = strings.Cut(kind, " ")
	if !ok || kind != "Reading" && kind != "Differs" {
		return nil
	}
	c := &choice{Kind: kind, Text: text, Where: q.Name, File: q.File, Line: q.Line, Anchor: "Params." + q.Name, Effects: q.Effects}
	ours := fmt.Sprintf("%s: <b>%s</b> (%s).", html.EscapeString(text), html.EscapeString(q.Values[0].Value), html.EscapeString(q.Doc))
	c.Text += ": " + q.Values[0].Value
	if of := q.Values[1]; of.Value != q.Values[0].Value {
		ours += fmt.Sprintf(" Default: <b>%s</b>.", html.EscapeString(of.Value))
		c.Text += "; default: " + of.Value
	}
	c.switches = []*parameter{q}
	if authors := q.Values[len(q.Values)-1]; q.Different {
		ours += fmt.Sprintf(" The authors’ code: <b>%s</b>.", html.EscapeString(authors.Value))
	}
	c.Ours = template.HTML(ours)
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
