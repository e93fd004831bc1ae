package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/internal/words"
)

// This file reads the sources: declarations with what their comments say, and
// the fields of Params.

// A declaration is one at the top level of a source file.
type declaration struct {
	Name       string // with its receiver, or its package outside the root
	File       string
	Line, Last int // with its doc comment
	Paragraphs []*paragraph
	Choices    []*choice
	Vectors    []*vectors // that check it
	node       ast.Decl
	text       string
	equation   int    // that it implements, or 0
	section    string // of that equation
	passage    *passage
}

// A paragraph is one of a comment, or lines of code.
type paragraph struct {
	Comment bool
	Set     bool    // a comment that keeps its lines, as a formula does
	Choice  *choice // that begins here
	Class   string  // the kind of choice that it is part of
	Tabs    int     // that a comment is indented by
	Lines   [][]span
}

// A span is part of a line, with its class in the page's CSS.
type span struct{ Class, Text string }

// A choice is a Reading or a Differs.
type choice struct {
	Kind, ID    string // "Reading", "R12"
	Text        string // what the source says
	Where       string // the declaration or the parameter
	File        string
	Line        int
	Said, Short string     // what the paper says, and we do in a few words
	Parameter   *parameter // whose value it is about, or nil
	Switch      *parameter // that switches it, or nil
}

// Words says what we do, with the values of a parameter.
func (c *choice) Words() string {
	if c.Parameter == nil {
		return c.Text
	}
	values := c.Parameter.Values
	var text strings.Builder
	text.WriteString(values[0].Value + " (" + c.Text + ")")
	for _, v := range values[1:] {
		if v.Value != values[0].Value {
			text.WriteString("; " + v.Set + " " + v.Value)
		}
	}
	return text.String()
}

// A parameter is a field of Params.
type parameter struct {
	Name, Meaning string
	Source, Range string
	Row           string // of the appendix's table, or empty
	File          string
	Line          int
	Values        []preset
	Choice        *choice // in its source, or nil
	Passage       *passage
	Decides       []*choice // that it switches
	Effects       []string  // of switching it, as far as it was measured
}

// A group is parameters that belong together: a part of Params.
type group struct {
	About      string
	Parameters []*parameter
}

// A preset is a parameter's value in a named set.
type preset struct{ Set, Value string }

var (
	implements = regexp.MustCompile(`It implements QTA, Equation (\d+) \(Section ([\d.]+)\)\.`)
	testOf     = regexp.MustCompile(`It tests QTA, Equation (\d+)\.`)
	marker     = regexp.MustCompile(`^(?:// )?(Reading|Differs) ([RD]\d+): `)
	docLink    = regexp.MustCompile(`\[(\*?[A-Z][A-Za-z.]*)\]`)
)

// readSources reads the Go files of the root and of the paper's numbers, but no
// tests other than the equations'. Names outside the root have their package in front.
func (p *page) readSources() {
	files, _ := fs.Glob(p.root, "*.go")
	numbers, _ := fs.Glob(p.root, "cmd/qta/internal/paper/*.go")
	for _, file := range append(files, numbers...) {
		src := p.read(file)
		f, err := parser.ParseFile(p.files, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.fault("%v", err)
			continue
		}
		for _, node := range f.Decls {
			name, doc := declares(node)
			test := testOf.FindStringSubmatch(oneLine(doc.Text()))
			if name == "" || test == nil && strings.HasSuffix(file, "_test.go") {
				continue
			}
			if strings.Contains(file, "/") {
				name = f.Name.Name + "." + name
			}
			d := p.declare(node, name, doc, src)
			if test != nil {
				n, _ := strconv.Atoi(test[1])
				p.Tests[n] = append(p.Tests[n], d)
			}
		}
	}
	p.readParameters("Params")
}

// declares returns the name that a declaration declares, or the first of
// several, and its comment.
func declares(node ast.Decl) (name string, doc *ast.CommentGroup) {
	switch d := node.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name, d.Doc
		}
		receiver := types.ExprString(d.Recv.List[0].Type)
		return strings.TrimPrefix(receiver, "*") + "." + d.Name.Name, d.Doc
	case *ast.GenDecl:
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return s.Name.Name, d.Doc
		case *ast.ValueSpec:
			return s.Names[0].Name, d.Doc
		}
	}
	return "", nil
}

// declare notes a declaration. Where files for several processors declare the
// same, the first counts.
func (p *page) declare(node ast.Decl, name string, doc *ast.CommentGroup, src string) *declaration {
	if d := p.declarations[name]; d != nil {
		return d
	}
	from, to := p.files.Position(node.Pos()), p.files.Position(node.End())
	if doc != nil {
		from = p.files.Position(doc.Pos())
	}
	d := &declaration{Name: name, File: from.Filename, Line: from.Line, Last: to.Line, node: node}
	d.text = src[from.Offset:to.Offset]
	if m := implements.FindStringSubmatch(oneLine(doc.Text())); m != nil {
		d.equation, _ = strconv.Atoi(m[1])
		d.section = m[2]
	}
	d.read()
	for _, c := range d.Choices {
		p.Choices[c.ID] = c
	}
	p.declarations[name] = d
	return d
}

// read divides the text of a declaration into paragraphs and finds its choices.
func (d *declaration) read() {
	code := highlight(d.text, d.Name[strings.LastIndex(d.Name, ".")+1:])
	var open *choice
	last := &paragraph{}
	for i, whole := range strings.Split(d.text, "\n") {
		line := strings.TrimSpace(whole)
		next := &paragraph{Comment: strings.HasPrefix(line, "//")}
		next.Tabs = len(whole) - len(strings.TrimLeft(whole, "\t"))
		next.Set = line == "//" || strings.HasPrefix(line, "//\t") || strings.HasPrefix(line, "//  ")
		if m := marker.FindStringSubmatch(line); m != nil && next.Comment {
			open = &choice{Kind: m[1], ID: m[2], Where: d.Name, File: d.File, Line: d.Line + i}
			next.Choice = open
			d.Choices = append(d.Choices, open)
		} else if line == "//" || !next.Comment {
			open = nil
		}
		if open != nil {
			next.Class = open.Kind
			words := strings.TrimPrefix(marker.ReplaceAllString(line, ""), "// ")
			open.Text = strings.TrimSpace(open.Text + " " + docLink.ReplaceAllString(words, "$1"))
		}
		// Code is one paragraph, and so are the lines of a comment that flows.
		if i == 0 || next.Comment != last.Comment || next.Comment && (next.Set || last.Set || next.Choice != nil) {
			d.Paragraphs = append(d.Paragraphs, next)
			last = next
		}
		last.Lines = append(last.Lines, code[i])
	}
}

// highlight returns the lines of Go source, with classes for keywords, strings,
// numbers, comments and the name that is declared.
func highlight(text, name string) [][]span {
	lines := [][]span{nil}
	add := func(class, text string) {
		for i, part := range strings.Split(text, "\n") {
			if i > 0 {
				lines = append(lines, nil)
			}
			if part != "" {
				last := &lines[len(lines)-1]
				*last = append(*last, span{class, part})
			}
		}
	}
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	classes := map[token.Token]string{
		token.COMMENT: "c", token.STRING: "s", token.CHAR: "s", token.INT: "n", token.FLOAT: "n",
	}
	done := 0
	for pos, tok, literal := s.Scan(); tok != token.EOF; pos, tok, literal = s.Scan() {
		class := classes[tok]
		switch {
		case tok.IsKeyword():
			class = "k"
		case literal == name:
			class, name = "f", ""
		}
		if class == "" {
			continue
		}
		at := file.Offset(pos)
		add("", text[done:at])
		done = at + len(literal)
		if words, ok := strings.CutPrefix(literal, "// "); ok {
			add("c slashes", "// ")
			literal = words
		}
		add(class, literal)
	}
	add("", text[done:])
	return lines
}

// readParameters reads the fields of a struct, Params or part of it.
func (p *page) readParameters(name string) {
	node := p.declarations[name].node.(*ast.GenDecl)
	about, _, _ := strings.Cut(oneLine(node.Doc.Text()), ". ")
	g := &group{About: strings.TrimSuffix(about, ".")}
	for _, f := range node.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
		if len(f.Names) == 0 {
			p.readParameters(types.ExprString(f.Type))
			continue
		}
		at := p.files.Position(f.Pos())
		q := &parameter{Name: f.Names[0].Name, File: at.Filename, Line: at.Line}
		q.Meaning = strings.TrimSuffix(oneLine(f.Doc.Text()), ".")
		tag, _ := strconv.Unquote(f.Tag.Value)
		q.Source, q.Range = reflect.StructTag(tag).Get("source"), reflect.StructTag(tag).Get("range")
		if row, ok := strings.CutPrefix(q.Source, "Table: "); ok {
			q.Row = row
		}
		q.Values = []preset{
			{"paper", qta.Paper().Value(q.Name)},
			{"default", qta.Default().Value(q.Name)},
			{"authors", qta.Authors().Value(q.Name)},
		}
		if m := marker.FindStringSubmatch(q.Source); m != nil {
			q.Choice = &choice{Kind: m[1], ID: m[2], Text: q.Source[len(m[0]):], Where: q.Name, File: q.File,
				Line: q.Line, Parameter: q, Switch: q}
			p.Choices[m[2]] = q.Choice
		}
		p.Parameters, g.Parameters = append(p.Parameters, q), append(g.Parameters, q)
		p.parameters[q.Name] = q
	}
	if len(g.Parameters) > 0 {
		p.Groups = append(p.Groups, g)
	}
}

// InAll returns a parameter's values in all named sets.
func (q *parameter) InAll() (all []preset) {
	for _, set := range qta.Presets() {
		all = append(all, preset{set.Name, set.Params.Value(q.Name)})
	}
	return all
}

// Listed returns the lines of a parameter in the list of all, with its value in the
// set that trains unless another is named, and a mark if others differ.
func (q *parameter) Listed() string {
	value := qta.Fast().Value(q.Name)
	if slices.ContainsFunc(q.InAll(), func(v preset) bool { return v.Value != value }) {
		value += " *"
	}
	lines := words.Wrap(q.Meaning, 65)
	return fmt.Sprintf("%-20s %-13s %s\n", q.Name, value, strings.Join(lines, "\n"+strings.Repeat(" ", 35)))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
