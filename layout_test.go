package qta

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A function is a function of the package or of a test.
type function struct {
	file     string
	name     string // with its receiver's type before it
	doc      string // on one line
	from, to int    // lines
}

// functionsOf returns the functions of some files, and each file's own comment.
func functionsOf(t *testing.T, pattern string) (functions []function, comments map[string]string) {
	t.Helper()
	fset := token.NewFileSet()
	comments = map[string]string{}
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		must(t, err)
		comments[path] = file.Doc.Text()
		for _, declared := range file.Decls {
			d, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			functions = append(functions, function{
				file: path,
				name: name,
				doc:  strings.Join(strings.Fields(d.Doc.Text()), " "),
				from: fset.Position(d.Pos()).Line,
				to:   fset.Position(d.End()).Line,
			})
		}
	}
	return functions, comments
}

// goldenOf returns the names of a formula's golden vectors. It finds them by the equation's
// number. A formula in the text has no number, so they are found by the function.
func goldenOf(formula, function string) string {
	displayed := strings.HasPrefix(formula, "Equation")
	var names []string
	for _, e := range equations {
		numbered := slices.ContainsFunc(e.numbers, func(n int) bool { return formula == fmt.Sprint("Equation ", n) })
		implemented := slices.Contains(strings.Split(e.function, ", "), function)
		if numbered || !displayed && implemented {
			names = append(names, e.name)
		}
	}
	return strings.Join(names, ", ")
}

// formulas returns the rows of the index in the package comment: formula, file,
// function, test and golden vectors.
func formulas(comment string) (rows [][]string) {
	_, index, _ := strings.Cut(comment, "# Equations\n")
	index, _, _ = strings.Cut(index, "# ")
	index = regexp.MustCompile(`,\s+`).ReplaceAllString(index, ", ") // golden vectors may fill two lines
	for line := range strings.Lines(index) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
		if len(cells) == 5 && cells[0] != "formula" {
			rows = append(rows, cells)
		}
	}
	return rows
}

// A formula's row of the index, but for its name.
type formula struct{ file, function, test, golden string }

// documentedFormulas returns the formulas that doc comments name: which function implements
// each, and which test tests it.
func documentedFormulas(t *testing.T, functions []function) map[string]formula {
	t.Helper()
	implements := regexp.MustCompile(`It implements QTA, ([^(.]+) \(Section [\d.]+\)[.,]`)
	tests := regexp.MustCompile(`It tests QTA, ([^.]+)\.`)
	documented := map[string]formula{}
	for _, f := range functions {
		for _, m := range implements.FindAllStringSubmatch(f.doc, -1) {
			name := m[1]
			if home, found := documented[name]; found {
				t.Errorf("%s has two homes, %s and %s: let one comment say that it is part of the formula", name, home.function, f.name)
			}
			documented[name] = formula{file: f.file, function: f.name, golden: goldenOf(name, f.name)}
		}
	}
	for _, f := range functions {
		for _, m := range tests.FindAllStringSubmatch(f.doc, -1) {
			name := m[1]
			row, found := documented[name]
			if !found {
				t.Errorf("%s tests %s, which has no home", f.name, name)
			}
			// Of several tests the one with the shortest name stands in the index.
			if row.test == "" || len(f.name) < len(row.test) {
				row.test = f.name
			}
			documented[name] = row
		}
	}
	return documented
}

// The index of formulas in the package comment agrees with the source and with the table of
// golden vectors. The displayed formulas come first.
func TestIndex(t *testing.T) {
	functions, comments := functionsOf(t, "*.go")
	want := documentedFormulas(t, functions)
	got := map[string]formula{}
	last := ""
	for _, cells := range formulas(comments["qta.go"]) {
		name := cells[0]
		got[name] = formula{file: cells[1], function: cells[2], test: cells[3], golden: cells[4]}
		if strings.HasPrefix(name, "Equation") && name < last {
			t.Errorf("%s is out of order", name)
		}
		last = name
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(formula{})); diff != "" {
		t.Errorf("edit the index of formulas in the comment of qta.go (-source +index):\n%s", diff)
	}
	checkEqual(t, 8+5, len(got), "the formulas, eight displayed ones and five in the text")
}

// The paperFiles hold the paper, and the departingFiles hold what departs from it.
var (
	paperFiles     = regexp.MustCompile(`^(qta|pun|goals|ddpg|replay|mlp|maze)\.go$`)
	departingFiles = regexp.MustCompile(`^(authors|beyond|baseline\w*|variants)\.go$`)
)

// A checkedPackage is this package without its tests, after a check of the types.
type checkedPackage struct {
	*types.Package
	files *token.FileSet
	uses  map[*ast.Ident]types.Object // what identifiers stand for
}

// file returns the name of the file that has a position.
func (p *checkedPackage) file(at token.Pos) string {
	return filepath.Base(p.files.Position(at).Filename)
}

func checkTypes(t *testing.T) *checkedPackage {
	t.Helper()
	p := &checkedPackage{files: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, name := range globNames("*.go") {
		if here, err := build.Default.MatchFile(".", name); !here || err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.files, name, nil, 0)
		must(t, err)
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(p.files, "source", nil)}
	var err error
	p.Package, err = config.Check("qta", p.files, files, &types.Info{Uses: p.uses})
	must(t, err)
	return p
}

// The paper's files do not need the files that depart from the paper.
func TestPaperStandsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it checks the types of the standard library, too, which takes seconds")
	}
	p := checkTypes(t)
	t.Run("uses", p.checkUses)
	t.Run("declarations", p.checkDeclarations)
	t.Run("parts", p.checkParts)
}

// The paper's files use nothing that another file departs with, and no field of Params that
// only departures set.
func (p *checkedPackage) checkUses(t *testing.T) {
	departs := map[types.Object]bool{}
	for _, name := range []string{"Departures", "Baselines"} {
		for f := range p.Scope().Lookup(name).Type().Underlying().(*types.Struct).Fields() {
			departs[f] = true
		}
	}
	allowed := 0
	for id, used := range p.uses {
		departing := departs[used] || departingFiles.MatchString(p.file(used.Pos()))
		if !departing || used.Pkg() != p.Package {
			continue
		}
		file := p.file(id.Pos())
		if !paperFiles.MatchString(file) {
			allowed++
			continue
		}
		t.Errorf("%s holds the paper and uses %s, which departs: move that use to authors.go, beyond.go or a baseline's file, "+
			"as a part that variants.go installs", file, used.Name())
	}
	if allowed < 300 {
		t.Errorf("only %d uses of departures in other files: this shows nothing", allowed)
	}
}

// The paper's files declare nothing that only departures use. A use in variants.go, which puts
// the paper's parts together, counts as the paper's.
func (p *checkedPackage) checkDeclarations(t *testing.T) {
	usedByDepartures := map[types.Object]bool{}
	usedByOthers := map[types.Object]bool{}
	for id, used := range p.uses {
		declaredHere := used.Pkg() == p.Package && paperFiles.MatchString(p.file(used.Pos()))
		if !declaredHere || used.Exported() {
			continue
		}
		file := p.file(id.Pos())
		if departingFiles.MatchString(file) && file != "variants.go" {
			usedByDepartures[used] = true
		} else {
			usedByOthers[used] = true
		}
	}
	for declared := range usedByDepartures {
		if !usedByOthers[declared] {
			t.Errorf("the paper's files declare %s, which only departures use: declare it where it is used", declared.Name())
		}
	}
}

// All parts of a paper's agent, with PER or without, come from the paper's files.
func (p *checkedPackage) checkParts(t *testing.T) {
	departing := func(params Params) (names []string) {
		a := newAgent(t, params, new(scriptedEnv).Sizes(), 1)
		for _, part := range []any{a.curriculum, a.estimator, a.explorer, a.sampler, a.learner, a.pun.heads} {
			name := fmt.Sprintf("%T", part)
			name = name[strings.Index(name, ".")+1:]
			if !paperFiles.MatchString(p.file(p.Scope().Lookup(name).Pos())) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, changes := range []string{"", "Replay=per", "UncertaintyGoal=desired", "Batch=256"} {
		if got := departing(with(Paper(), changes)); got != nil {
			t.Errorf("paper %s: its parts %v depart", changes, got)
		}
	}
	if got := departing(with(Beyond(), "Replay=td Uncertainty=bootstrap UncertaintyNoise=1")); len(got) != 6 {
		t.Errorf("other methods: of their six parts %v depart, want all", got)
	}
}

const lineExample = "examples/line/main.go"

// The library page shows the example's program.
func TestVendoredExample(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, "docs/library.md"), "```go\n")
	shown, _, _ := strings.Cut(rest, "```")
	checkEqual(t, readText(t, lineExample), shown, "the library page's program, which is to be %s", lineExample)
}

func readText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(name, data, 0o666))
}

// A module is a Go module of somebody else, in a directory.
type module struct {
	*testing.T
	dir string
}

func (m module) write(name, text string) {
	path := filepath.Join(m.dir, name)
	must(m, os.MkdirAll(filepath.Dir(path), 0o777))
	writeFile(m.T, path, []byte(text))
}

// run runs a command in the module's directory, with variables of the environment such as
// GOARCH=arm64, and returns its output. The command has no network, and no module that was
// fetched before.
func (m module) run(environment string, command ...string) string {
	m.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOMODCACHE="+filepath.Join(m.dir, "none"), "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	cmd.Env = append(cmd.Env, strings.Fields(environment)...)
	return outputOf(m.T, cmd)
}

// vectorsTest is a test that runs the golden vectors.
const vectorsTest = `package main

import (
	"testing"

	"qta"
	"qta/testdata"
)

func TestVectors(t *testing.T) {
	results, err := qta.Check(testdata.Golden())
	if err != nil || len(results) == 0 || results[0].Err != nil {
		t.Fatal(results, err)
	}
}
`

// Another module vendors the package and the laboratory by the library page's two commands,
// and trains with both. Its tests run the golden vectors and the package's examples. The
// library's files also build by themselves.
func TestVendorModule(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it builds the package for other systems, which takes seconds")
	}
	t.Parallel()
	needProgram(t, "go")
	needProgram(t, "sh")
	root, err := filepath.Abs(".")
	must(t, err)
	m := module{t, t.TempDir()}
	m.write("go.mod", "module scratch\n\ngo 1.25.0\n")
	m.write("main.go", readText(t, lineExample))
	m.write("main_test.go", vectorsTest)
	examples := readText(t, "example_test.go")
	m.write("example_test.go", strings.Replace(examples, "package qta_test", "package main_test", 1))
	m.write("robot/main.go", readText(t, "examples/robot/main.go"))

	// The library page copies from ../qta, which is this directory.
	commands := regexp.MustCompile("(?m)^mkdir -p third_party.+\n.+").FindString(readText(t, "docs/library.md"))
	m.run("", "sh", "-ec", strings.ReplaceAll(commands, "../qta", root))
	m.run("", "go", "mod", "tidy")
	m.run("", "go", "mod", "vendor")

	// From here on there is no other copy than the vendored one.
	vendored := globNames(filepath.Join(m.dir, "vendor", "*"))
	checkEqual(t, []string{"modules.txt", "qta"}, vendored, "the directory vendor")
	must(t, os.RemoveAll(filepath.Join(m.dir, "third_party")))
	program := filepath.Join(m.dir, "line.exe")
	m.run("CGO_ENABLED=0", "go", "build", "-o", program, ".")
	got := m.run("", program)
	if !strings.HasPrefix(got, "solved after ") || !strings.HasSuffix(got, "00 steps, error <nil>\n") {
		t.Errorf("the program printed %q", got)
	}
	m.run("", "go", "test", ".")
	got = m.run("", "go", "run", "./robot", "-steps", "1000")
	checkHas(t, "the laboratory's output", got, "Open runs/robot/report.html")

	// The library's files build by themselves, even without these two.
	mayBeLeftOut := []string{"check.go", "vectors.go"}
	for _, name := range slices.Concat(globNames("*.go"), globNames("*.s")) {
		if !strings.HasSuffix(name, "_test.go") && !slices.Contains(mayBeLeftOut, name) {
			m.write("internal/alone/"+name, readText(t, name))
		}
	}
	m.run("GOARCH=arm64", "go", "build", "./internal/alone")
	m.run("GOOS=js GOARCH=wasm", "go", "build", "./internal/alone")
}

// globNames returns the names, without directories, that match a pattern.
func globNames(pattern string) []string {
	names, _ := filepath.Glob(pattern)
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}
