package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"qta"
)

// This file puts passages and sources together.

// Files, from the repository's root.
const (
	textFile    = "docs/annotated.txt"
	pageFile    = "docs/annotated.html"
	goldenDir   = "testdata/golden"
	effectsFile = "results/readings.csv"
)

//go:embed page.tmpl
var pageTemplate string

// A page is what the template shows.
type page struct {
	Maze         template.HTML
	Figure5      []*snapshot
	PictureStyle template.CSS
	Walks        []*walk
	Sections     []*section
	Equations    []*passage // by number
	InText       []*passage // those with other formulas
	Rows         []*parameter
	Choices      []*choice
	Readings     int
	Differs      int
	Parameters   []*parameter
	Groups       map[string]string // what the parts of Params are
	Measured     bool
	Tests        map[int][]*declaration
}

// A shown declaration stands in a passage, with the vectors that check it.
type shown struct {
	*declaration
	Vectors []*vectors
}

// An assembler is a page in the making.
type assembler struct {
	*page
	program *program
	golden  fs.FS
	vectors []*vectors
	effects map[string][]effect
}

// makePage returns the page for the repository in a directory.
func makePage(root string) ([]byte, error) {
	p, err := assemble(root)
	if err != nil {
		return nil, err
	}
	if err := p.pictures(root); err != nil {
		return nil, err
	}
	loop := func() template.HTML { return template.HTML(loopPicture) }
	var b bytes.Buffer
	t := template.Must(template.New("page").Funcs(template.FuncMap{"loop": loop}).Parse(pageTemplate))
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// assemble gathers what the pages show.
func assemble(root string) (*page, error) {
	a := &assembler{page: &page{}}
	var err error
	if a.program, err = readProgram(root); err != nil {
		return nil, err
	}
	a.golden = os.DirFS(filepath.Join(root, goldenDir))
	if a.vectors, err = readVectors(a.golden); err != nil {
		return nil, err
	}
	known := func(name string) bool { return a.program.parameters[name] != nil }
	if a.effects, err = readEffects(filepath.Join(root, effectsFile), known); err != nil {
		return nil, err
	}
	if a.Sections, a.Walks, err = readText(root); err != nil {
		return nil, err
	}
	a.Parameters, a.Groups, a.Tests, a.Measured = a.program.fields, a.program.groups, a.program.tests, a.effects != nil
	for _, q := range a.Parameters {
		q.Effects = a.effects[q.Name]
	}
	for _, step := range []func() error{a.assign, a.complete, a.index, a.choices, a.text, a.walks, a.work} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return a.page, nil
}

// fault returns what is wrong with a passage as an error.
func (a *assembler) fault(p *passage, format string, args ...any) error {
	return fault(textFile, p.line, "passage %q: %s", p.Title, fmt.Sprintf(format, args...))
}

// passages returns those of all sections.
func (a *assembler) passages() []*passage {
	var all []*passage
	for _, s := range a.Sections {
		all = append(all, s.Passages...)
	}
	return all
}

// assign gives the passages their declarations, vectors and parameters.
func (a *assembler) assign() error {
	ids := map[string]bool{}
	for _, p := range a.passages() {
		if ids[p.ID] {
			return a.fault(p, "another has the same title")
		}
		ids[p.ID] = true
		var err error
		if p.Code, err = a.show(p, p.code); err != nil {
			return err
		}
		if p.Also, err = a.show(p, p.also); err != nil {
			return err
		}
		for _, name := range p.params {
			q := a.program.parameters[name]
			if q == nil {
				return a.fault(p, "Params has no field %s", name)
			}
			q.Shown = append(q.Shown, p)
			p.Params = append(p.Params, q)
		}
	}
	return nil
}

// show gives a passage the declarations called names.
func (a *assembler) show(p *passage, names []string) (all []*shown, err error) {
	for _, name := range names {
		d := a.program.declarations[name]
		if d == nil {
			return nil, a.fault(p, "the package declares no %s", name)
		}
		if d.passage != nil {
			return nil, a.fault(p, "%s stands in passage %q already", name, d.passage.Title)
		}
		d.passage = p
		s := &shown{declaration: d}
		for _, v := range a.vectors {
			if slices.Contains(v.homes, name) && !slices.Contains(v.passages, p) {
				s.Vectors = append(s.Vectors, v)
				v.passages = append(v.passages, p)
			}
		}
		all = append(all, s)
		if d.equation == 0 {
			continue
		}
		if d.section != p.Section.Number {
			return nil, a.fault(p, "it stands in section %s, and %s implements an equation of section %s", p.Section.Number, name, d.section)
		}
		if p.Equation != 0 {
			return nil, a.fault(p, "it has Equations %d and %d", p.Equation, d.equation)
		}
		p.Equation, p.Home = d.equation, d
	}
	return all, nil
}

// all returns the passage's declarations.
func (p *passage) all() []*shown { return slices.Concat(p.Code, p.Also) }

// complete says what of the package the passages leave out.
func (a *assembler) complete() error {
	for _, d := range a.program.order {
		if len(d.Choices) > 0 && d.passage == nil {
			return fmt.Errorf("%s: no passage shows %s (%s:%d), which has a %s", textFile, d.Name, d.File, d.Line, d.Choices[0].Kind)
		}
		if d.equation > 0 && d.passage == nil {
			return fmt.Errorf("%s: no passage shows %s (%s:%d), which implements Equation %d", textFile, d.Name, d.File, d.Line, d.equation)
		}
	}
	for _, v := range a.vectors {
		if len(v.passages) == 0 {
			return fmt.Errorf("%s: no passage shows %s, which %s/%s checks", textFile, strings.Join(v.homes, " or "), goldenDir, v.Name)
		}
	}
	for _, q := range a.Parameters {
		if len(q.Shown) == 0 {
			return fmt.Errorf("%s: no passage has the parameter %s (%s:%d)", textFile, q.Name, q.File, q.Line)
		}
	}
	return nil
}

// work shows of each equation some numbers of the vectors beside the code's.
func (a *assembler) work() error {
	results, err := qta.Check(a.golden)
	if err != nil {
		return err
	}
	for _, p := range a.Equations {
		i := slices.IndexFunc(results, func(r qta.CheckResult) bool { return slices.Contains(r.Numbers, p.Equation) })
		if i < 0 || results[i].Err != nil {
			return a.fault(p, "qta check %d does not hold", p.Equation)
		}
		var text strings.Builder
		// Five digits are the same with every kernel.
		fmt.Fprintf(&text, "%s, case %q; the vector and the code:\n", results[i].File, results[i].Case)
		for _, c := range results[i].Compared[:min(8, len(results[i].Compared))] {
			fmt.Fprintf(&text, "%-24s %12.5g %12.5g\n", c.Name, c.Vector, c.Code)
		}
		p.Worked = text.String()
	}
	return nil
}

// index makes the index: equations by number, other formulas, and the table's
// rows.
func (a *assembler) index() error {
	byRow := map[string]*parameter{}
	for _, q := range a.Parameters {
		if q.Row != "" {
			byRow[q.Row] = q
		}
	}
	for _, p := range a.passages() {
		switch {
		case p.Equation > 0:
			a.Equations = append(a.Equations, p)
		case len(p.Formulas) > 0:
			a.InText = append(a.InText, p)
		}
		for _, row := range p.rows {
			if byRow[row] == nil {
				return a.fault(p, "no parameter has the row %q of the table, or it stands here twice", row)
			}
			a.Rows = append(a.Rows, byRow[row])
			delete(byRow, row)
		}
	}
	for _, q := range a.Parameters {
		if byRow[q.Row] == q {
			return fmt.Errorf("%s: no \"rows:\" has the row %q, that of %s (%s:%d)", textFile, q.Row, q.Name, q.File, q.Line)
		}
	}
	slices.SortStableFunc(a.Equations, func(p, q *passage) int { return p.Equation - q.Equation })
	for i, p := range a.Equations {
		for _, v := range a.vectors {
			if slices.Contains(v.Numbers, p.Equation) {
				p.Golden = append(p.Golden, strings.TrimSuffix(v.Name, ".json"))
			}
		}
		if p.Equation != i+1 {
			return a.fault(p, "it has Equation %d, where Equation %d comes next", p.Equation, i+1)
		}
	}
	return nil
}

// choices lists every Reading and Differs with what the text says there.
func (a *assembler) choices() error {
	of := map[string][]*choice{}
	for _, p := range a.passages() {
		for _, d := range p.all() {
			of[d.Name] = d.Choices
			a.Choices = append(a.Choices, d.Choices...)
		}
	}
	for _, q := range a.Parameters {
		if c := q.choice(); c != nil {
			of[q.Name] = append(of[q.Name], c)
			a.Choices = append(a.Choices, c)
		}
	}
	for _, p := range a.passages() {
		for _, s := range p.says {
			text, err := prose(s.text, a.place)
			if err != nil {
				return fault(textFile, s.at, "%v", err)
			}
			for _, name := range s.names {
				if len(of[name]) == 0 {
					return fault(textFile, s.at, "%s has no Reading or Differs, or not so many", name)
				}
				c := of[name][0]
				of[name] = of[name][1:]
				c.Said, c.said = text, s.text
				for _, q := range s.params {
					if a.program.parameters[q] == nil {
						return fault(textFile, s.at, "Params has no field %s", q)
					}
					c.switches = append(c.switches, a.program.parameters[q])
					c.Effects = append(c.Effects, a.effects[q]...)
				}
			}
		}
	}
	for _, c := range a.Choices {
		if c.Said == "" {
			return fmt.Errorf("%s: nothing says what the text says at the %s of %s (%s:%d)", textFile, c.Kind, c.Where, c.File, c.Line)
		}
		if c.Kind == "Reading" {
			a.Readings++
		} else {
			a.Differs++
		}
	}
	return nil
}

// place returns the anchor of a declaration or a parameter, if the page has it.
func (a *assembler) place(name string) string {
	if a.program.parameters[name] != nil {
		return "Params." + name
	}
	if d := a.program.declarations[name]; d != nil && d.passage != nil {
		return d.Name
	}
	return ""
}

// text sets the passages' prose, and holds the symbols' names to the code.
func (a *assembler) text() error {
	for _, p := range a.passages() {
		if err := a.symbols(p); err != nil {
			return err
		}
		var texts []*template.HTML
		for i := range p.Blocks {
			if !p.Blocks[i].Formula {
				texts = append(texts, &p.Blocks[i].Text)
			}
		}
		for i := range p.Symbols {
			texts = append(texts, &p.Symbols[i].Meaning, &p.Symbols[i].Code)
		}
		for _, t := range texts {
			set, err := prose(string(*t), a.place)
			if err != nil {
				return a.fault(p, "%v", err)
			}
			*t = set
		}
	}
	return nil
}

var (
	quoted     = regexp.MustCompile("`([^`]+)`")
	identifier = regexp.MustCompile(`[\p{L}_][\p{L}\p{Nd}_]*`)
)

// symbols returns an error if the code of a passage has not the names that its
// symbols are said to have there.
func (a *assembler) symbols(p *passage) error {
	var code strings.Builder
	for _, q := range p.Params {
		code.WriteString(q.Name + "\n")
	}
	for _, d := range p.all() {
		code.WriteString(d.text + "\n")
	}
	names := identifier.FindAllString(code.String(), -1)
	for _, s := range p.Symbols {
		for _, m := range quoted.FindAllStringSubmatch(string(s.Code), -1) {
			known := a.place(m[1]) != ""
			if identifier.FindString(m[1]) == m[1] {
				known = known || slices.Contains(names, m[1])
			} else {
				known = known || strings.Contains(code.String(), m[1])
			}
			if !known {
				return a.fault(p, "its code and parameters have no %s", m[1])
			}
		}
	}
	return nil
}
