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

// A function is one of the package's, or a test's: with its receiver's type before its
// name, its doc comment on one line, and the lines that it stands in.
type function struct {
	file, name, doc string
	from, to        int
}

// functionsOf returns the functions of some files, and each file's own comment.
func functionsOf(t *testing.T, pattern string) (all []function, comments map[string]string) {
	t.Helper()
	fset, comments := token.NewFileSet(), map[string]string{}
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		comments[path] = file.Doc.Text()
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				name := d.Name.Name
				if d.Recv != nil {
					name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
				}
				all = append(all, function{path, name, strings.Join(strings.Fields(d.Doc.Text()), " "),
					fset.Position(d.Pos()).Line, fset.Position(d.End()).Line})
			}
		}
	}
	return all, comments
}

// goldenOf returns the golden vectors of a formula: those of its equation, or
// else those of its function.
func goldenOf(formula, function string) string {
	var names []string
	for _, e := range equations {
		here := slices.ContainsFunc(e.numbers, func(n int) bool { return formula == fmt.Sprint("Equation ", n) })
		if !strings.HasPrefix(formula, "Equation") {
			here = slices.Contains(strings.Split(e.function, ", "), function)
		}
		if here {
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
	index = regexp.MustCompile(`,\s+`).ReplaceAllString(index, ", ") // golden vectors on two lines
	for line := range strings.Lines(index) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
		if len(cells) == 5 && cells[0] != "formula" {
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestIndex holds the index of formulas in the package comment to the source:
// where a doc comment says that a function implements the formula and that a
// test tests it, and the table of golden vectors. The displayed formulas come
// first.
func TestIndex(t *testing.T) {
	implements := regexp.MustCompile(`It implements QTA, ([^(.]+) \(Section [\d.]+\)[.,]`)
	tests := regexp.MustCompile(`It tests QTA, ([^.]+)\.`)
	row := map[string][]string{} // file, function, test, golden
	functions, comments := functionsOf(t, "*.go")
	said := func(mark *regexp.Regexp, found func(formula, file, function string)) {
		for _, f := range functions {
			for _, m := range mark.FindAllStringSubmatch(f.doc, -1) {
				found(m[1], f.file, f.name)
			}
		}
	}
	said(implements, func(formula, file, function string) {
		if row[formula] != nil {
			t.Errorf("%s has two homes, %s and %s: let one comment say that it is part of the formula", formula, row[formula][1], function)
		}
		row[formula] = []string{file, function, "", goldenOf(formula, function)}
	})
	said(tests, func(formula, _, function string) {
		// The shortest of several names is the beginning of the others.
		if r := row[formula]; r == nil {
			t.Errorf("%s tests %s, which has no home", function, formula)
		} else if r[2] == "" || len(function) < len(r[2]) {
			r[2] = function
		}
	})
	got, last := map[string][]string{}, ""
	for _, cells := range formulas(comments["qta.go"]) {
		got[cells[0]] = cells[1:]
		if displayed := strings.HasPrefix(cells[0], "Equation"); displayed && cells[0] < last {
			t.Errorf("%s is out of order", cells[0])
		}
		last = cells[0]
	}
	if diff := cmp.Diff(row, got); diff != "" {
		t.Errorf("edit the index of formulas in the comment of qta.go (-source +index):\n%s", diff)
	}
	if len(got) != 13 {
		t.Errorf("%d formulas in the index, want the eight displayed ones and five in the text", len(got))
	}
}

// paperFiles are those that hold the paper, and departingFiles what departs from it.
var (
	paperFiles     = regexp.MustCompile(`^(qta|pun|goals|ddpg|replay|mlp|maze)\.go$`)
	departingFiles = regexp.MustCompile(`^(authors|beyond|baseline\w*|variants)\.go$`)
)

// checkTypes returns the package, what its identifiers stand for, and where something is.
func checkTypes(t *testing.T) (p *types.Package, info *types.Info, file func(token.Pos) string) {
	t.Helper()
	fset, info := token.NewFileSet(), &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, name := range globNames("*.go") {
		if here, err := build.Default.MatchFile(".", name); !here || err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	p, err := config.Check("qta", fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	return p, info, func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
}

// The paper's files stand alone: they use nothing that another file departs with, and
// no field of Params that only departures set. The parts of a
// paper's agent, plain or with PER, is of these files.
func TestPaperStandsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it checks the types of the standard library, too, which takes seconds")
	}
	p, info, file := checkTypes(t)
	departs := map[types.Object]bool{}
	for _, name := range []string{"Departures", "Baselines"} {
		for f := range p.Scope().Lookup(name).Type().Underlying().(*types.Struct).Fields() {
			departs[f] = true
		}
	}
	used := map[bool]int{}
	for id, o := range info.Uses {
		if from := file(id.Pos()); o.Pkg() == p && (departingFiles.MatchString(file(o.Pos())) || departs[o]) {
			if used[paperFiles.MatchString(from)]++; paperFiles.MatchString(from) {
				t.Errorf("%s holds the paper and uses %s, which departs: move that use to authors.go, beyond.go or a baseline's file, "+
					"as a part that variants.go installs", from, o.Name())
			}
		}
	}
	if used[false] < 300 {
		t.Errorf("only %d uses of departures in all files: this shows nothing", used[false])
	}
	// What the paper's files declare is not for departures alone; variants.go puts the
	// paper's parts together.
	departures := map[types.Object]bool{} // used by departures, and by nothing else
	for id, o := range info.Uses {
		if o.Pkg() == p && paperFiles.MatchString(file(o.Pos())) && !o.Exported() {
			if only, seen := departures[o]; !seen || only {
				from := file(id.Pos())
				departures[o] = from != "variants.go" && departingFiles.MatchString(from)
			}
		}
	}
	for o, only := range departures {
		if only {
			t.Errorf("of the paper's files only departures use %s: declare it where it is used", o.Name())
		}
	}
	parts := func(changes string, p0 Params) (departing []string) {
		a := newAgent(t, with(p0, changes), new(scriptedEnv).Sizes(), 1)
		for _, part := range []any{a.curriculum, a.estimator, a.explorer, a.sampler, a.learner, a.pun.heads} {
			name := fmt.Sprintf("%T", part)
			name = name[strings.Index(name, ".")+1:]
			if !paperFiles.MatchString(file(p.Scope().Lookup(name).Pos())) {
				departing = append(departing, name)
			}
		}
		return departing
	}
	for _, changes := range []string{"", "Replay=per", "UncertaintyGoal=desired", "Batch=256"} {
		if got := parts(changes, Paper()); got != nil {
			t.Errorf("paper %s: its parts are %v", changes, got)
		}
	}
	if got := parts("Replay=td Uncertainty=bootstrap UncertaintyNoise=1", Beyond()); len(got) != 6 {
		t.Errorf("other methods: their parts are %v, want six types of departures", got)
	}
}

// Each function of plain down to section 4 is the package's of the same meaning.
func TestNamesakes(t *testing.T) {
	pairs := map[string]string{
		"paper": "Paper", "newAgent": "NewAgent", "agent.trainStep": "Agent.trainStep",
		"agent.act": "Agent.Act", "agent.input": "Agent.input", "agent.explore": "paperExplorer.explore",
		"agent.update": "paperLearner.update", "agent.targets": "paperHeads.targets", "agent.learnCritic": "ensemble.gradients",
		"trainedNetwork.follow": "follower.follow", "agent.learnPolicy": "Agent.policyGradient", "deviation": "HeadDeviation",
		"agent.setGoal": "paperCurriculum.goal", "agent.drawCandidates": "Agent.drawCandidates", "agent.uncertainty": "ensemble.uncertainty",
		"goalProbabilities": "GoalProbabilities", "pick": "pick", "agent.draw": "Agent.draw", "agent.relabel": "replay.relabel",
		"agent.drawPrioritized": "prioritizedSampler.draw", "agent.prioritize": "prioritizedSampler.prioritize",
		"agent.achievable": "Agent.achievableNow", "agent.value": "Agent.Value",
	}
	declared, plain := map[string]bool{}, map[string]bool{"sized": true, "main": true}
	functions, _ := functionsOf(t, "*.go")
	for _, f := range functions {
		declared[f.name] = declared[f.name] || !strings.HasSuffix(f.file, "_test.go")
	}
	text, _, _ := strings.Cut(readText(t, "plain/main.go"), "\n// Section 4: ")
	functions, _ = functionsOf(t, "plain/main.go")
	for _, f := range functions {
		if f.to > strings.Count(text, "\n") {
			break
		}
		if !plain[f.name] && !declared[pairs[f.name]] {
			t.Errorf("plain's %s has no function of the package beside it, or %q is none", f.name, pairs[f.name])
		}
		plain[f.name] = true
	}
	for name := range pairs {
		if !plain[name] {
			t.Errorf("plain has no function %s down to section 4", name)
		}
	}
}

const lineExample = "examples/line/main.go"

// The library page's program is the example.
func TestVendoredExample(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, "docs/library.md"), "```go\n")
	shown, _, _ := strings.Cut(rest, "```")
	if diff := cmp.Diff(readText(t, lineExample), shown); diff != "" {
		t.Errorf("the library page's program is not %s (-file +page):\n%s", lineExample, diff)
	}
}

func readText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestVendorModule vendors the package and the laboratory by the library page's two
// commands, trains with both, runs the golden vectors and the examples of what an
// agent is for a program of another module, and builds the root's files by themselves.
func TestVendorModule(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it builds the package for other systems, which takes seconds")
	}
	t.Parallel()
	program(t, "go")
	program(t, "sh")
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, []byte(text))
	}
	// run runs a command there, without network and without any module fetched before,
	// and returns its output.
	run := func(environment string, command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOMODCACHE="+filepath.Join(dir, "none"), "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
		cmd.Env = append(cmd.Env, strings.Fields(environment)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", environment, cmd, err, out)
		}
		return string(out)
	}
	write("go.mod", "module scratch\n\ngo 1.25.0\n")
	write("main.go", readText(t, lineExample))
	write("main_test.go", `package main

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
`)
	write("example_test.go", strings.Replace(readText(t, "example_test.go"), "package qta_test", "package main_test", 1))
	commands := regexp.MustCompile("(?m)^mkdir -p third_party.+\n.+").FindString(readText(t, "docs/library.md"))
	write("robot/main.go", readText(t, "examples/robot/main.go"))
	run("", "sh", "-ec", strings.ReplaceAll(commands, "../qta", root))
	run("", "go", "mod", "tidy")
	run("", "go", "mod", "vendor")

	// From here on there is no other copy than the vendored one.
	vendored := globNames(filepath.Join(dir, "vendor", "*"))
	if diff := cmp.Diff([]string{"modules.txt", "qta"}, vendored); diff != "" {
		t.Errorf("the directory vendor (-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, "third_party")); err != nil {
		t.Fatal(err)
	}
	run("CGO_ENABLED=0", "go", "build", "-o", "line.exe", ".")
	got := run("", filepath.Join(dir, "line.exe"))
	if !strings.HasPrefix(got, "solved after ") || !strings.HasSuffix(got, "00 steps, error <nil>\n") {
		t.Errorf("the program printed %q", got)
	}
	run("", "go", "test", ".")
	if got := run("", "go", "run", "./robot", "-steps", "1000"); !strings.Contains(got, "Open runs/robot/report.html") {
		t.Errorf("the laboratory printed %q", got)
	}
	// The library alone is the root's files.
	for _, name := range slices.Concat(globNames("*.go"), globNames("*.s")) {
		if !strings.HasSuffix(name, "_test.go") && name != "check.go" && name != "vectors.go" { // which may be left out
			write("internal/alone/"+name, readText(t, name))
		}
	}
	run("GOARCH=arm64", "go", "build", "./internal/alone")
	run("GOOS=js GOARCH=wasm", "go", "build", "./internal/alone")
}

// globNames returns the names, without directories, that match a pattern.
func globNames(pattern string) []string {
	names, _ := filepath.Glob(pattern)
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}
