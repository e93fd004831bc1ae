package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"html/template"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the sources: declarations with what their comments say, and
// the fields of Params.

// A declaration is a declaration at the top level of a source file.
type declaration struct {
	Name       string         // such as Agent.draw, or outside the root paper.Points
	At         token.Position // where its doc comment begins
	Paragraphs []*paragraph
	Choices    []*choice
	Vectors    []*vectors // the golden vectors that check it
	Equation   int        // the equation that it implements or tests, or 0
	section    string     // the section of that equation
	node       ast.Decl
	text       string
	shown      bool // a passage shows it
}

// A paragraph is a paragraph of a comment, or several lines of code.
type paragraph struct {
	Comment bool
	Set     bool    // a comment that keeps its line breaks, as a formula does
	Choice  *choice // the choice that the paragraph states, or nil
	Tabs    int     // how far it is indented
	Lines   []template.HTML
}

// A choice is a Reading or a Differs.
type choice struct {
	Kind, ID    string // "Reading", "R12"
	Where       string // the declaration or the parameter
	At          token.Position
	Words       string     // what the source says, with a parameter's values
	Said, Short string     // what the paper says, and in a few words what we do
	Parameter   *parameter // the parameter whose value is the choice, or nil
	Switch      *parameter // the parameter that switches the choice, or nil
}

// A parameter is a field of Params.
type parameter struct {
	Name, Meaning string
	Group         string // the heading of a group of parameters, if this is the group's first
	Source, Range string
	Row           string // the row of the appendix's table, or ""
	At            token.Position
	Choice        *choice // the choice that its source states, or nil
	Passage       *passage
}

// columns returns the parameter sets whose values the page shows.
func columns() []qta.Preset {
	shown := []string{"paper", "beyond", "authors"}
	hidden := func(p qta.Preset) bool { return !slices.Contains(shown, p.Name) }
	return slices.DeleteFunc(qta.Presets(), hidden)
}

var (
	equation = regexp.MustCompile(`It (implements|tests) QTA, Equation (\d+)(?: \(Section ([\d.]+)\))?\.`)
	marker   = regexp.MustCompile(`^(?:// )?(Reading|Differs) ([RD]\d+): `)
	anywhere = regexp.MustCompile(`\b(?:Reading|Differs) ([RD]\d+):`)
	docLink  = regexp.MustCompile(`\[(\*?[A-Z][A-Za-z.]*)\]`)
)

// readSources reads the Go files of the root and of internal/paper. Of tests it notes only
// those of equations.
func (p *page) readSources() {
	files, _ := fs.Glob(p.root, "*.go")
	numbers, _ := fs.Glob(p.root, "internal/paper/*.go")
	for _, file := range append(files, numbers...) {
		src := p.read(file)
		f, err := parser.ParseFile(p.files, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.fault("%v", err)
			continue
		}
		for _, node := range f.Decls {
			p.declare(f.Name.Name, node, src)
		}
		if !strings.HasSuffix(file, "_test.go") {
			for _, m := range anywhere.FindAllStringSubmatch(src, -1) {
				p.said[m[1]]++
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

// declare notes a declaration of package pkg, whose file has the text src.
func (p *page) declare(pkg string, node ast.Decl, src string) {
	name, doc := declares(node)
	from := p.files.Position(node.Pos())
	to := p.files.Position(node.End())
	if doc != nil {
		from = p.files.Position(doc.Pos())
	}
	of := equation.FindStringSubmatch(oneLine(doc.Text()))
	if of == nil && strings.HasSuffix(from.Filename, "_test.go") {
		return
	}
	if strings.Contains(from.Filename, "/") {
		name = pkg + "." + name
	}
	d := &declaration{Name: name, At: from, node: node, text: src[from.Offset:to.Offset]}
	p.declarations[name] = d
	d.read()
	for _, c := range d.Choices {
		p.choose(c)
	}
	if of != nil {
		d.Equation, _ = strconv.Atoi(of[2])
		d.section = of[3]
	}
	if of != nil && of[1] == "tests" {
		p.Tests[d.Equation] = append(p.Tests[d.Equation], d)
	} else if of != nil || len(d.Choices) > 0 {
		p.missing["declaration "+name] = d.At
	}
}

// choose notes a choice, which a passage must have.
func (p *page) choose(c *choice) {
	p.Choices[c.ID] = c
	p.missing["Reading or Differs "+c.ID] = c.At
}

// paragraphs matches what the page keeps together: comment lines of flowing text, any
// other comment line by itself, or lines of code.
var paragraphs = regexp.MustCompile(`(?:\t*// [^ ].*\n)+|\t*//.*\n|(?:\t*(?:[^\t/\n].*)?\n)+|.*\n`)

// read divides the text of a declaration into paragraphs and finds its choices.
func (d *declaration) read() {
	lines := highlight(d.text, d.Name[strings.LastIndex(d.Name, ".")+1:])
	at := d.At
	for _, text := range paragraphs.FindAllString(d.text+"\n", -1) {
		n := strings.Count(text, "\n")
		flush := strings.TrimLeft(text, "\t")
		next := &paragraph{Tabs: len(text) - len(flush), Lines: lines[:n]}
		next.Comment = strings.HasPrefix(flush, "//")
		flowing := strings.HasPrefix(flush, "// ") && flush[3] != ' ' // a formula is indented
		next.Set = next.Comment && !flowing
		if m := marker.FindStringSubmatch(flush); m != nil {
			rest := strings.ReplaceAll(flush[len(m[0]):], "// ", "")
			words := docLink.ReplaceAllString(oneLine(rest), "$1")
			next.Choice = &choice{Kind: m[1], ID: m[2], Where: d.Name, At: at, Words: words}
			d.Choices = append(d.Choices, next.Choice)
		}
		d.Paragraphs = append(d.Paragraphs, next)
		lines = lines[n:]
		at.Line += n
	}
}

// colored matches what may get a color in Go: comments, strings, words and numbers.
var colored = regexp.MustCompile("//.*|\"(?:[^\"\\\\\\n]|\\\\.)*\"|`[^`]*`|'(?:[^'\\\\\\n]|\\\\.)+'|" +
	`[\pL_][\pL\p{Nd}_]*|\d[\d.]*[eE][-+]?\d+|\d[\w.]*`)

// highlight returns the lines of Go source as HTML, with classes for keywords,
// strings, numbers, comments and the name that is declared.
func highlight(text, name string) (lines []template.HTML) {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text)
	text = colored.ReplaceAllStringFunc(text, func(word string) string {
		class := ""
		switch {
		case strings.HasPrefix(word, "// "):
			return `<span class="c slashes">// </span><span class="c">` + word[3:] + `</span>`
		case word[0] == '/':
			class = "c"
		case strings.Contains("\"`'", word[:1]):
			class = "s"
			// Each line is HTML by itself.
			word = strings.ReplaceAll(word, "\n", "</span>\n<span class=\"s\">")
		case '0' <= word[0] && word[0] <= '9':
			class = "n"
		case token.IsKeyword(word):
			class = "k"
		case word == name:
			class = "f"
			name = "" // only the first mention is the declaration
		default:
			return word
		}
		return `<span class="` + class + `">` + word + `</span>`
	})
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, template.HTML(line))
	}
	return lines
}

// readParameters reads the fields of a struct, which is Params or embedded in it.
func (p *page) readParameters(name string) {
	node := p.declarations[name].node.(*ast.GenDecl)
	group, _, _ := strings.Cut(oneLine(node.Doc.Text()), ". ") // for the first parameter
	fields := node.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			p.readParameters(types.ExprString(f.Type))
			continue
		}
		q := &parameter{Name: f.Names[0].Name, At: p.files.Position(f.Pos())}
		q.Group = strings.TrimSuffix(group, ".")
		group = ""
		q.Meaning = strings.TrimSuffix(oneLine(f.Doc.Text()), ".")
		field, _ := reflect.TypeFor[qta.Params]().FieldByName(q.Name)
		q.Source = field.Tag.Get("source")
		q.Range = field.Tag.Get("range")
		_, q.Row, _ = strings.Cut(q.Source, "Table: ")
		q.Choice = q.stated()
		if q.Choice != nil {
			p.choose(q.Choice)
		}
		p.Parameters = append(p.Parameters, q)
		p.parameters[q.Name] = q
		p.missing["parameter "+q.Name] = q.At
	}
}

// stated returns the choice that the source of a parameter states, with the values of the
// sets, or nil.
func (q *parameter) stated() *choice {
	m := marker.FindStringSubmatch(q.Source)
	if m == nil {
		return nil
	}
	value := qta.Paper().Value(q.Name)
	var words strings.Builder
	words.WriteString(value + " (" + q.Source[len(m[0]):] + ")")
	for _, set := range columns() {
		other := set.Params.Value(q.Name)
		if other != value {
			words.WriteString("; " + set.Name + " " + other)
		}
	}
	return &choice{
		Kind:      m[1],
		ID:        m[2],
		Where:     q.Name,
		At:        q.At,
		Words:     words.String(),
		Parameter: q,
		Switch:    q,
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
