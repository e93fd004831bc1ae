package qta

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tableFiles returns the files of the table in the package documentation, from
// top to bottom.
func tableFiles(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("qta.go")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^//\t(?:section [\d.]+|[a-z]+|its user) +([a-z_]+\.go(?:, [a-z_*]+\.go)*)`)
	var files []string
	for _, m := range table.FindAllStringSubmatch(string(text), -1) {
		files = append(files, strings.Split(m[1], ", ")...)
	}
	if len(files) < 10 {
		t.Fatalf("the table of files in qta.go has %v", files)
	}
	return files
}

// room returns the file that stands for one in the table: the kernel's are one
// room.
func room(file string) string {
	if strings.HasPrefix(file, "kernel_") {
		return "kernel.go"
	}
	return file
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

// name returns a function's name, with that of its receiver's type.
func (g callGraph) name(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	typ := types.TypeString(recv.Type(), func(*types.Package) string { return "" })
	return strings.TrimPrefix(typ, "*") + "." + f.Name()
}

// from returns the functions that are reached from those named.
func (g callGraph) from(t *testing.T, names ...string) []*types.Func {
	t.Helper()
	byName := map[string]*types.Func{}
	for f := range g.file {
		byName[g.name(f)] = f
	}
	var reached []*types.Func
	for _, name := range names {
		if byName[name] == nil {
			t.Fatalf("no function is called %s", name)
		}
		reached = append(reached, byName[name])
	}
	for i := 0; i < len(reached); i++ {
		for _, callee := range g.calls[reached[i]] {
			if g.file[callee] != "" && !slices.Contains(reached, callee) {
				reached = append(reached, callee)
			}
		}
	}
	return reached
}

// paperRoots are where the paper's method begins: training, and the methods
// that it reaches through an interface.
var paperRoots = []string{"Agent.Train", "queryTheAgent.goal", "plain.replayGoal", "plain.randomAction",
	"predictive.estimate", "uniform.draw", "prioritised.draw", "prioritised.stored", "prioritised.weigh", "prioritised.learnt", "pun.priorities", "softUpdate.part", "adam.part"}

// From Train downwards each file calls only files below it in the package's
// table, so that the table is the order to read in.
func TestDownwards(t *testing.T) {
	files := tableFiles(t)
	g := readCalls(t)
	for _, caller := range g.from(t, paperRoots...) {
		from := room(g.file[caller])
		for _, callee := range g.calls[caller] {
			to := room(g.file[callee])
			if to == "" || from == to {
				continue
			}
			i, j := slices.Index(files, from), slices.Index(files, to)
			if i < 0 || j < 0 {
				t.Errorf("%s in %s calls %s in %s, and the package's table has not both files", g.name(caller), from, g.name(callee), to)
			} else if i > j {
				t.Errorf("%s in %s calls %s in %s, which is above it in the package's table", g.name(caller), from, g.name(callee), to)
			}
		}
	}
}

// Nothing departs from the paper's method in the paper's parameters.
func TestPaperHasNoDepartures(t *testing.T) {
	a := newMazeAgent(t, Paper(), 1)
	if d := reflect.ValueOf(a.departures); !d.IsZero() {
		t.Error("an agent with Paper() has departures")
	}
	u := a.pun.architecture
	if u.ownTargets != nil || u.gradient != nil || u.step != nil || u.share != nil || u.seen != nil || u.headLoss != nil || u.spread != nil || u.width != u.predicted {
		t.Error("an ensemble with Paper() is not PUN")
	}
	for i, c := range a.pun.critics {
		if c.adam.clip != 0 || c.adam.decay != 0 || len(c.adam.m) != len(c.q.params) {
			t.Errorf("critic %d has another optimiser than the paper's", i+1)
		}
	}
	if e, ok := a.estimator.(*predictive); !ok || e.drawActions != nil {
		t.Errorf("Paper() estimates by a %T", a.estimator)
	}
	// Each departure has parameters that install it, or there is no need of it.
	installed := map[string]bool{}
	for _, v := range variants() {
		a := newMazeAgent(t, v.Params, 1)
		d := reflect.ValueOf(a.departures)
		for i := range d.NumField() {
			if !d.Field(i).IsZero() {
				installed[d.Type().Field(i).Name] = true
			}
		}
	}
	for _, name := range []string{"behave", "ownBatches", "learnHeads", "randomAction", "updated", "random", "stepped", "smooth", "predicted", "mask", "decay"} {
		if !installed[name] {
			t.Errorf("no variant installs %s; those that are: %v", name, slices.Sorted(maps.Keys(installed)))
		}
	}
}

// The home of every equation is what training runs.
func TestHomesAreTraining(t *testing.T) {
	g := readCalls(t)
	reached := map[string]bool{}
	for _, f := range g.from(t, paperRoots...) {
		reached[g.name(f)] = true
	}
	for _, row := range equationIndex(t) {
		if strings.HasPrefix(row.name, "Equation") && !reached[row.function] {
			t.Errorf("%s is the home of %s, and training does not reach it", row.function, row.name)
		}
	}
}
