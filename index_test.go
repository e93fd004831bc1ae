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
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
)

// indexRow is one equation, as the source tells.
type indexRow struct {
	number                  int
	section, file, function string
	tests, golden           []string
}

var (
	implements = regexp.MustCompile(`It implements QTA, Equation (\d+) \(Section ([\d.]+)\)\.`)
	tests      = regexp.MustCompile(`It tests QTA, Equation (\d+)\.`)
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
	functions, testsOf := map[string]bool{}, map[int][]string{}
	for _, name := range names {
		for _, d := range files[name].Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if strings.HasSuffix(name, "_test.go") {
				for _, m := range tests.FindAllStringSubmatch(sentence(f.Doc), -1) {
					n, _ := strconv.Atoi(m[1])
					testsOf[n] = append(testsOf[n], f.Name.Name)
				}
				continue
			}
			functions[functionName(f)] = true
			for _, m := range implements.FindAllStringSubmatch(sentence(f.Doc), -1) {
				n, _ := strconv.Atoi(m[1])
				rows = append(rows, indexRow{number: n, section: m[2], file: name, function: functionName(f)})
			}
		}
	}
	slices.SortFunc(rows, func(a, b indexRow) int { return a.number - b.number })
	for i := range rows {
		r := &rows[i]
		r.tests = testsOf[r.number]
		delete(testsOf, r.number)
		home := false
		for _, e := range equations() {
			if slices.Contains(e.numbers, r.number) {
				r.golden = append(r.golden, e.name)
				home = home || slices.Contains(strings.Split(e.function, ", "), r.function)
			}
		}
		if len(r.tests) == 0 {
			t.Errorf("no test says that it tests QTA, Equation %d", r.number)
		}
		if !home {
			t.Errorf("the table of equations() has no vectors for %s, the home of Equation %d", r.function, r.number)
		}
	}
	for n, names := range testsOf {
		t.Errorf("%v test Equation %d, which has no home", names, n)
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

// The sections of the eight equations, by number.
var equationSections = []string{"3.1", "3.1", "3.1", "3.1", "3.2", "3.2", "3.3", "3.3"}

func TestIndexHomes(t *testing.T) {
	var got []string
	for i, r := range equationIndex(t) {
		if r.number != i+1 {
			t.Fatalf("home %d in order is %s of Equation %d; each of 1 to %d needs exactly one", i+1, r.function, r.number, len(equationSections))
		}
		got = append(got, r.section)
	}
	if diff := cmp.Diff(equationSections, got); diff != "" {
		t.Errorf("sections of the equations (-want +got):\n%s", diff)
	}
}

// TestIndex holds the index of the package documentation, and that of the
// README, to the source.
func TestIndex(t *testing.T) {
	rows := equationIndex(t)

	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "N\tfile\tfunction\ttest\tgolden")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", r.number, r.file, r.function, strings.Join(r.tests, ", "), strings.Join(r.golden, ", "))
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

	if _, err := os.Stat("README.md"); err != nil {
		return
	}
	block.Reset()
	block.WriteString("| equation | section | function | test | golden vectors |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&block, "| %d | %s | `%s` in [%s](%[4]s) | `%[5]s` | `%[6]s` |\n", r.number, r.section, r.function, r.file,
			strings.Join(r.tests, "`, `"), strings.Join(r.golden, "`, `"))
	}
	markers := regexp.MustCompile(`(?s)(<!-- equations -->\n).*?(<!-- /equations -->)`)
	replaceSection(t, "README.md", markers, "${1}"+escape(block.String())+"${2}")
}

func escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// replaceSection fails unless replacing what the expression matches leaves the
// file as it is; with -update it writes the file instead. A README without the
// markers is right as it is.
func replaceSection(t *testing.T, name string, section *regexp.Regexp, replacement string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !section.Match(text) {
		if name != "README.md" {
			t.Errorf("%s has no section for the index, matching %s", name, section)
		}
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
	marked := regexp.MustCompile(`(^|[^"])(Reading|Differs):`)
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
