package qta

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
)

// indexed are the formulas of the index: the displayed ones by their numbers,
// and those in the text by name, each in the order of the paper with its
// section.
var indexed = []struct{ name, section string }{
	{"Equation 1", "3.1"},
	{"Equation 2", "3.1"},
	{"Equation 3", "3.1"},
	{"Equation 4", "3.1"},
	{"Equation 5", "3.2"},
	{"Equation 6", "3.2"},
	{"Equation 7", "3.3"},
	{"Equation 8", "3.3"},
	{"the scaling", "3.2"},
	{"hindsight", "3.3"},
	{"the schedule of β", "3.3"},
	{"the threshold", "3.3"},
	{"the optimal return", "4"},
}

// indexRow is one formula, as the source tells.
type indexRow struct {
	name, section, file, function string
	test                          string // with which the names of all its tests begin
	golden                        []string
}

// testFile returns the name of the file that the tests belong to.
func (r indexRow) testFile() string { return strings.TrimSuffix(r.file, ".go") + "_test.go" }

var (
	implements = regexp.MustCompile(`It implements QTA, ([^(.]+) \(Section ([\d.]+)\)[.,]`)
	tests      = regexp.MustCompile(`It tests QTA, ([^.]+)\.`)
)

// parsePackage returns the package's files, tests included, in order.
func parsePackage(t *testing.T) (*token.FileSet, map[string]*ast.File, []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset, files := token.NewFileSet(), map[string]*ast.File{}
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	return fset, files, names
}

// functionName returns a function's name, with that of its receiver's type.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	return typ.(*ast.Ident).Name + "." + d.Name.Name
}

// sentence returns a doc comment's text on one line.
func sentence(g *ast.CommentGroup) string { return strings.Join(strings.Fields(g.Text()), " ") }

// equationIndex derives the index from doc comments and from the table of
// check.go.
func equationIndex(t *testing.T) []indexRow {
	t.Helper()
	_, files, names := parsePackage(t)
	var rows []indexRow
	functions, testsOf := map[string]bool{}, map[string][]string{}
	for _, name := range names {
		for _, d := range files[name].Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if strings.HasSuffix(name, "_test.go") {
				for _, m := range tests.FindAllStringSubmatch(sentence(f.Doc), -1) {
					testsOf[m[1]] = append(testsOf[m[1]], f.Name.Name)
					saysWhatItTests(t, f, m[1])
				}
				continue
			}
			functions[functionName(f)] = true
			for _, m := range implements.FindAllStringSubmatch(sentence(f.Doc), -1) {
				rows = append(rows, indexRow{name: m[1], section: m[2], file: name, function: functionName(f)})
			}
		}
	}
	place := func(r indexRow) int {
		return slices.IndexFunc(indexed, func(e struct{ name, section string }) bool { return e.name == r.name })
	}
	slices.SortFunc(rows, func(a, b indexRow) int { return place(a) - place(b) })
	for i := range rows {
		r := &rows[i]
		all := testsOf[r.name]
		delete(testsOf, r.name)
		number, home := 0, false
		fmt.Sscanf(r.name, "Equation %d", &number)
		for _, e := range equations() {
			here := slices.Contains(strings.Split(e.function, ", "), r.function)
			home = home || here
			if here && number == 0 || slices.Contains(e.numbers, number) {
				r.golden = append(r.golden, e.name)
			}
		}
		if len(all) == 0 {
			t.Errorf("no test says that it tests QTA, %s", r.name)
			continue
		}
		r.test = slices.Min(all)
		if number > 0 {
			r.test = fmt.Sprint("TestEquation", number)
		}
		for _, test := range append(all, r.test) {
			if !declares(files[r.testFile()], test) {
				t.Errorf("%s tests %s, whose function is in %s, and is not in %s", test, r.name, r.file, r.testFile())
			}
			if !strings.HasPrefix(test, r.test) {
				t.Errorf("%s tests %s, and its name does not begin with %s", test, r.name, r.test)
			}
		}
		if !home {
			t.Errorf("the table of equations() has no vectors for %s, the home of %s", r.function, r.name)
		}
	}
	for name, of := range testsOf {
		t.Errorf("%v test %s, which has no home", of, name)
	}
	for _, e := range equations() {
		for f := range strings.SplitSeq(e.function, ", ") {
			if f != "" && !functions[f] {
				t.Errorf("the table of equations() has %s for %s, which is no function", f, e.name)
			}
		}
	}
	return rows
}

// declares reports whether a file, which may be nil, declares a function.
func declares(f *ast.File, name string) bool {
	return f != nil && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fd, ok := d.(*ast.FuncDecl)
		return ok && fd.Name.Name == name
	})
}

// saysWhatItTests holds the messages of a test to naming its formula: the texts
// of what reports an error.
func saysWhatItTests(t *testing.T, f *ast.FuncDecl, formula string) {
	t.Helper()
	reports := []string{"Error", "Errorf", "Fatal", "Fatalf", "near", "nearGradient", "frequency", "mustPanic"}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var name string
		switch function := call.Fun.(type) {
		case *ast.Ident:
			name = function.Name
		case *ast.SelectorExpr:
			name = function.Sel.Name
		}
		if !slices.Contains(reports, name) {
			return true
		}
		said, texts := false, 0
		ast.Inspect(call, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				texts++
				said = said || strings.Contains(text.Value, formula)
			}
			return true
		})
		if texts > 0 && !said {
			t.Errorf("%s has a message that does not name %s", f.Name.Name, formula)
		}
		return true
	})
}

// Every formula has exactly one home.
func TestIndexHomes(t *testing.T) {
	got := slices.Clone(indexed[:0])
	for _, r := range equationIndex(t) {
		got = append(got, struct{ name, section string }{r.name, r.section})
	}
	if !slices.Equal(indexed, got) {
		t.Errorf("homes and their sections are of %v, want %v", got, indexed)
	}
}

// TestIndex holds the index of the package documentation, and that of the
// README, to the source.
func TestIndex(t *testing.T) {
	rows := equationIndex(t)

	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "formula\tfile\tfunction\ttest file\ttests\tgolden")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.name, r.file, r.function, r.testFile(), r.test, strings.Join(r.golden, ", "))
	}
	w.Flush()
	var block strings.Builder
	for line := range strings.Lines(table.String()) {
		block.WriteString("//\t" + strings.TrimRight(line, " \n") + "\n")
	}
	// From the heading on: its paragraph, the block if there is one, and the
	// blank line before the next heading.
	section := regexp.MustCompile(`(?s)(// # Equations\n//\n(?:// [^\n]*\n)+//\n)((?://\t[^\n]*\n)*)(//\n)?(// # )`)
	replaceSection(t, "qta.go", section, "${1}"+escape(block.String())+"//\n${4}")

	block.Reset()
	block.WriteString("| formula | section | function | tests | golden vectors |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&block, "| %s | %s | `%s` in [%s](%[4]s) | `%s` in [%s](%[6]s) | `%[7]s` |\n", r.name, r.section, r.function, r.file,
			r.test, r.testFile(), strings.Join(r.golden, "`, `"))
	}
	markers := regexp.MustCompile(`(?s)(<!-- equations -->\n).*?(<!-- /equations -->)`)
	replaceSection(t, "README.md", markers, "${1}"+escape(block.String())+"${2}")
}

func escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// replaceSection fails unless replacing what the expression matches leaves the
// file as it is; with -update it writes the file instead.
func replaceSection(t *testing.T, name string, section *regexp.Regexp, replacement string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !section.Match(text) {
		t.Errorf("%s has no section for the index of equations, matching %s", name, section)
		return
	}
	want := section.ReplaceAll(text, []byte(replacement))
	if bytes.Equal(text, want) {
		return
	}
	if *update {
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the index of equations in %s is stale; go test -run TestIndex -update rewrites it (-is +should be):\n%s",
		name, cmp.Diff(strings.Split(string(text), "\n"), strings.Split(string(want), "\n")))
}

// Every choice is said where someone looks for it: in the doc comment of a
// declaration, or in the source of a parameter.
func TestReadings(t *testing.T) {
	marked := regexp.MustCompile(`(^|[^"])(Reading|Differs)(?: [RD]\d+)?: `)
	fset, files, names := parsePackage(t)
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := files[name]
		docs := map[*ast.CommentGroup]bool{}
		tags := map[*ast.BasicLit]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				docs[n.Doc] = true
			case *ast.GenDecl:
				docs[n.Doc] = true
			case *ast.TypeSpec:
				docs[n.Doc] = true
			case *ast.ValueSpec:
				docs[n.Doc] = true
			case *ast.Field:
				docs[n.Doc] = true
				if n.Tag != nil {
					tags[n.Tag] = true
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && marked.MatchString(n.Value) && !(name == "params.go" && tags[n]) {
					t.Errorf("%s: a Reading in a string that is not the source of a parameter", fset.Position(n.Pos()))
				}
			}
			return true
		})
		for _, g := range f.Comments {
			for paragraph := range strings.SplitSeq(g.Text(), "\n\n") {
				m := marked.FindStringIndex(paragraph)
				if m == nil {
					continue
				}
				found++
				if !docs[g] {
					t.Errorf("%s: a Reading outside the doc comment of a declaration", fset.Position(g.Pos()))
				}
				if m[0] != 0 {
					t.Errorf("%s: a Reading that does not begin its paragraph: %q", fset.Position(g.Pos()), paragraph)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d Readings found in comments, want at least 20", found)
	}
}

// A Reading has a number, by which it can be cited, and keeps it.
func TestReadingNumbers(t *testing.T) {
	mark := regexp.MustCompile(`(?:// |")(?:Reading|Differs) ([RD]\d+):`)
	_, _, names := parsePackage(t)
	at := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mark.FindAllStringSubmatch(string(text), -1) {
			if was, twice := at[m[1]]; twice {
				t.Errorf("%s is in %s and in %s", m[1], was, name)
			}
			at[m[1]] = name
		}
	}
}
