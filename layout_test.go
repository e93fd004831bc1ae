package qta

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
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

// functionName returns a function's name, with its receiver's type before it.
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

// indexed are the formulas in the order of the index: the displayed ones, then
// those in the text.
var indexed = []string{"Equation 1", "Equation 2", "Equation 3", "Equation 4", "Equation 5", "Equation 6",
	"Equation 7", "Equation 8", "the scaling", "hindsight", "the schedule of β", "the threshold", "the optimal return"}

// An indexRow is one formula, as the source tells.
type indexRow struct {
	name, file, function, test string
	golden                     []string
}

// equationIndex derives the index from the doc comments of functions and tests
// and from the table of golden vectors.
func equationIndex(t *testing.T) []indexRow {
	t.Helper()
	implements := regexp.MustCompile(`It implements QTA, ([^(.]+) \(Section [\d.]+\)[.,]`)
	tests := regexp.MustCompile(`It tests QTA, ([^.]+)\.`)
	_, files, names := parsePackage(t)
	rows, testOf := make([]indexRow, len(indexed)), map[string]string{}
	for _, name := range names {
		for _, d := range files[name].Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, m := range tests.FindAllStringSubmatch(sentence(f.Doc), -1) {
				// The shortest of several names is the beginning of the others.
				if was := testOf[m[1]]; was == "" || len(f.Name.Name) < len(was) {
					testOf[m[1]] = f.Name.Name
				}
			}
			for _, m := range implements.FindAllStringSubmatch(sentence(f.Doc), -1) {
				i := slices.Index(indexed, m[1])
				if i < 0 || rows[i].name != "" {
					t.Fatalf("%s implements %s, which is unknown or has another home", functionName(f), m[1])
				}
				rows[i] = indexRow{name: m[1], file: name, function: functionName(f)}
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		r.test = testOf[r.name]
		number := 0
		fmt.Sscanf(r.name, "Equation %d", &number)
		for _, e := range equations {
			here := slices.Contains(strings.Split(e.function, ", "), r.function)
			if here && number == 0 || slices.Contains(e.numbers, number) {
				r.golden = append(r.golden, e.name)
			}
		}
		if r.name == "" || r.test == "" || r.golden == nil {
			t.Errorf("%s has no home, no test or no vectors: %+v", indexed[i], *r)
		}
	}
	return rows
}

// TestIndex holds the index of equations in the package comment to the source.
func TestIndex(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tformula\tfile\tfunction\ttest file\ttests\tgolden")
	for _, r := range equationIndex(t) {
		testFile := strings.TrimSuffix(r.file, ".go") + "_test.go"
		fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, r.file, r.function, testFile, r.test, strings.Join(r.golden, ", "))
	}
	w.Flush()
	_, files, _ := parsePackage(t)
	_, section, _ := strings.Cut(files["qta.go"].Doc.Text(), "# Equations\n")
	section, _, _ = strings.Cut(section, "# ")
	trimmed := func(text string) (rows []string) {
		for line := range strings.Lines(text) {
			rows = append(rows, strings.TrimSpace(line))
		}
		return rows
	}
	got := slices.DeleteFunc(trimmed(section), func(row string) bool { return !strings.Contains(row, "  ") })
	if diff := cmp.Diff(trimmed(table.String()), got); diff != "" {
		t.Errorf("the index of equations in qta.go (-want +got):\n%s", diff)
	}
}

// TestReadings finds every choice in the doc comment of a declaration, where it
// begins a paragraph, or in the source of a parameter; and each number once.
func TestReadings(t *testing.T) {
	mark := regexp.MustCompile(`\b(?:Reading|Differs) ([RD]\d+):`)
	_, files, names := parsePackage(t)
	at := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		found := 0
		for _, m := range mark.FindAllStringSubmatch(string(text), -1) {
			found++
			if was, twice := at[m[1]]; twice {
				t.Errorf("%s is in %s and in %s", m[1], was, name)
			}
			at[m[1]] = name
		}
		said := 0
		ast.Inspect(files[name], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CommentGroup: // of a declaration: ast.Inspect visits no other
				for paragraph := range strings.SplitSeq(n.Text(), "\n\n") {
					if i := mark.FindStringIndex(paragraph); i != nil && i[0] == 0 {
						said++
					}
				}
			case *ast.BasicLit:
				said += len(mark.FindAllString(n.Value, -1))
			}
			return true
		})
		if said != found {
			t.Errorf("%s: %d Readings begin a paragraph of a doc comment or are the source of a parameter, of %d", name, said, found)
		}
	}
	if len(at) < 100 {
		t.Errorf("%d Readings found, want at least 100", len(at))
	}
}

// A callGraph is which functions of the package name which others, to call them
// or to have them called. An interface's methods lead nowhere.
type callGraph struct {
	file  map[*types.Func]string
	calls map[*types.Func][]*types.Func
}

// noImports is an importer of empty packages: calls into others do not count.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

func readCalls(t *testing.T) callGraph {
	t.Helper()
	fset, files, names := parsePackage(t)
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || regexp.MustCompile(`_(amd64|arm64)\.go$`).MatchString(name) {
			continue // of the files for several processors those for any
		}
		parsed = append(parsed, files[name])
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	c := types.Config{Importer: noImports{}, Error: func(error) {}}
	c.Check("qta", fset, parsed, info)
	g := callGraph{map[*types.Func]string{}, map[*types.Func][]*types.Func{}}
	for _, f := range parsed {
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			caller := info.Defs[d.Name].(*types.Func)
			g.file[caller] = fset.Position(f.Pos()).Filename
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if callee, ok := info.Uses[id].(*types.Func); ok {
						g.calls[caller] = append(g.calls[caller], callee)
					}
				}
				return true
			})
		}
	}
	return g
}

// name returns a function's name, with its receiver's type before it.
func (g callGraph) name(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	typ := types.TypeString(recv.Type(), func(*types.Package) string { return "" })
	return strings.TrimPrefix(typ, "*") + "." + f.Name()
}

// paperRoots are where the paper's method begins: training, and the methods
// that it reaches through an interface.
var paperRoots = []string{"Agent.Train", "queryTheAgent.goal", "plain.replayGoal", "plain.randomAction",
	"predictive.estimate", "uniform.draw", "prioritized.draw", "prioritized.stored", "prioritized.weigh",
	"prioritized.learned", "pun.priorities", "softUpdate.part", "adam.part"}

// reached returns the functions that the roots reach.
func (g callGraph) reached(t *testing.T) map[string]*types.Func {
	t.Helper()
	var queue []*types.Func
	for f := range g.file {
		if slices.Contains(paperRoots, g.name(f)) {
			queue = append(queue, f)
		}
	}
	if len(queue) != len(paperRoots) {
		t.Fatalf("%d functions are called one of %v", len(queue), paperRoots)
	}
	reached := map[string]*types.Func{}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if g.file[f] != "" && reached[g.name(f)] == nil {
			reached[g.name(f)] = f
			queue = append(queue, g.calls[f]...)
		}
	}
	return reached
}

// From Train downwards each file calls only files below it in the table of the
// package comment, so that the table is the order to read in; and the home of
// every equation is what training runs.
func TestDownwards(t *testing.T) {
	_, files, _ := parsePackage(t)
	table := regexp.MustCompile(`(?m)^\t(?:section [\d.]+|[a-z]+|its user) +([a-z_]+\.go(?:, [a-z_*]+\.go)*)`)
	var order []string
	for _, m := range table.FindAllStringSubmatch(files["qta.go"].Doc.Text(), -1) {
		order = append(order, strings.Split(m[1], ", ")...)
	}
	place := func(file string) int {
		if strings.HasPrefix(file, "kernel_") {
			file = "kernel.go" // the kernel's files are one
		}
		return slices.Index(order, file)
	}
	g := readCalls(t)
	reached := g.reached(t)
	for name, caller := range reached {
		for _, callee := range g.calls[caller] {
			from, to := g.file[caller], g.file[callee]
			if to != "" && (place(from) < 0 || place(from) > place(to)) {
				t.Errorf("%s in %s calls %s in %s, which is not below it in the package's table", name, from, g.name(callee), to)
			}
		}
	}
	for _, row := range equationIndex(t) {
		if strings.HasPrefix(row.name, "Equation") && reached[row.function] == nil {
			t.Errorf("%s is the home of %s, and training does not reach it", row.function, row.name)
		}
	}
}

// Nothing departs from the paper's method in the paper's parameters, and each
// departure has parameters that install it.
func TestPaperHasNoDepartures(t *testing.T) {
	a := newMazeAgent(t, Paper(), 1)
	if !reflect.ValueOf(a.departures).IsZero() {
		t.Error("an agent with Paper() has departures")
	}
	architecture := reflect.ValueOf(a.pun.architecture)
	for i := range architecture.NumField() {
		if f := architecture.Field(i); f.Kind() == reflect.Func && !f.IsNil() {
			t.Errorf("with Paper() the ensemble's %s is not PUN's", architecture.Type().Field(i).Name)
		}
	}
	for i, c := range a.pun.critics {
		if c.adam.clip != 0 || c.adam.decay != 0 || len(c.adam.m) != len(c.q.params) {
			t.Errorf("critic %d has another optimizer than the paper's", i+1)
		}
	}
	if e, ok := a.estimator.(*predictive); !ok || e.drawActions != nil {
		t.Errorf("Paper() estimates by a %T", a.estimator)
	}
	missing := map[string]bool{}
	d := reflect.TypeFor[departures]()
	for field := range d.Fields() {
		missing[field.Name] = field.Type.Kind() == reflect.Func
	}
	for _, v := range variants() {
		installed := reflect.ValueOf(newMazeAgent(t, tinyPreset(v.Params), 1).departures)
		for i := range d.NumField() {
			if !installed.Field(i).IsZero() {
				delete(missing, d.Field(i).Name)
			}
		}
	}
	for name, hook := range missing {
		if hook {
			t.Errorf("no variant installs %s", name)
		}
	}
}
