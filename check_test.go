package qta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The code gives the numbers of the vectors in testdata/golden, which has a file for each kind
// of vectors. They come from another implementation and have several sizes of networks,
// minibatches and environments.
func TestGolden(t *testing.T) {
	got := globNames("testdata/golden/*.json")
	want := each(equations, func(e equation) string { return e.name + ".json" })
	slices.Sort(want)
	checkEqual(t, want, got, "the files of testdata/golden, one of each equation")
	for _, name := range got {
		t.Run(name, func(t *testing.T) {
			results, err := Check(fstest.MapFS{name: {Data: []byte(readText(t, "testdata/golden/"+name))}})
			must(t, err)
			for _, r := range results {
				if r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
}

// The golden files run the code that training runs. Each of them enters the functions that the
// table equations names for it. At least one file of a formula enters the function that the
// index of qta.go names for the formula.
func TestGoldenEnters(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it builds the tests once more, to see what they cover")
	}
	program := filepath.Join(t.TempDir(), "covered")
	outputOf(t, exec.Command(needProgram(t, "go"), "test", "-c", "-cover", "-o", program, "."))
	functions, comments := functionsOf(t, "*.go")
	entered := map[string]map[string]bool{} // by kind of vectors
	for _, e := range equations {
		entered[e.name] = enteredBy(t, program, e.name, functions)
		for name := range strings.SplitSeq(e.function, ", ") {
			if !entered[e.name][name] {
				t.Errorf("%s does not enter %s", e.name, name)
			}
		}
	}
	for _, row := range formulas(comments["qta.go"]) { // TestIndex checks that there are 13
		home := row[2]
		kinds := strings.Split(row[4], ", ")
		entersHome := func(kind string) bool { return entered[kind][home] }
		if !slices.ContainsFunc(kinds, entersHome) {
			t.Errorf("none of %v enters %s", kinds, home)
		}
	}
}

// enteredBy returns the functions that a kind of vectors enters. program is the package's tests
// with a look at what they cover.
func enteredBy(t *testing.T, program, kind string, functions []function) map[string]bool {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	outputOf(t, exec.Command(program, "-test.run", "^TestGolden$/^"+kind+".json$", "-test.coverprofile", profile))
	names := map[string]bool{}
	for line := range strings.Lines(readText(t, profile)) {
		// qta/pun.go:20.1,25.2 3 1 means that 3 statements, from line 20, column 1, to line 25,
		// column 2, ran.
		var from, to, statements, count int
		var columns [2]int
		path, rest, _ := strings.Cut(line, ":")
		fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &from, &columns[0], &to, &columns[1], &statements, &count)
		for _, f := range functions {
			inside := f.file == filepath.Base(path) && f.from <= from && to <= f.to
			if count > 0 && inside {
				names[f.name] = true
			}
		}
	}
	return names
}

type object = map[string]any

// goldenVectors returns the golden vectors of an equation.
func goldenVectors(t testing.TB, equation string) (file object) {
	t.Helper()
	must(t, json.Unmarshal([]byte(readText(t, "testdata/golden/"+equation+".json")), &file))
	return file
}

// checkOne returns the first error in a file of vectors.
func checkOne(text []byte) error {
	results, err := Check(fstest.MapFS{"x.json": {Data: text}})
	for _, r := range results {
		if err == nil {
			err = r.Err
		}
	}
	return err
}

// A place is where a case has a value.
type place struct {
	path  string // such as in.M[0]
	value any
	put   func(any) // puts another value there
}

// placesIn returns the place of a value, and the places of all values inside it.
func placesIn(path string, value any, put func(any)) []place {
	found := []place{{path, value, put}}
	switch v := value.(type) {
	case []any:
		for i, x := range v {
			putElement := func(x any) { v[i] = x }
			found = append(found, placesIn(at(path, i), x, putElement)...)
		}
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			putValue := func(x any) { v[key] = x }
			found = append(found, placesIn(path+"."+key, v[key], putValue)...)
		}
	}
	return found
}

// anyLength names lists whose length may be wrong, because the code reads only some elements.
var anyLength = []string{"td-target in.q_target", "td-target-networks in.critics", "td-target-clipped in.critics",
	"her in.achieved_next", "achievable in.q_mean"}

// wrongValues returns values that Check has to notice at a place. A null counts as absent, so
// there none is wrong. "output" is a tanh, without which small numbers hardly differ.
func (p place) wrongValues(e *equation) []any {
	if p.value == nil || p.path == "in.output" {
		return nil
	}
	wrong := []any{"a word", []any{p.value}, nil}
	switch v := p.value.(type) {
	case float64:
		if strings.HasPrefix(p.path, "out") {
			wrong = append(wrong, v+1e-4*(1+math.Abs(v)))
		}
	case []any:
		wrong = append(wrong, []any{})
		if !slices.Contains(anyLength, e.name+" "+p.path) {
			wrong = append(wrong, append(slices.Clone(v), v[0]), v[1:])
		}
	}
	return wrong
}

// caseFails reports whether Check would refuse a case, or find another result.
func caseFails(e *equation, c object) bool {
	tolerance := c["tol"].(float64)
	one := vectorCase{In: toJSON(c["in"]), Out: toJSON(c["out"]), Tol: &tolerance}
	return new(CheckResult).check(e, &one) != nil
}

// Check notices a value of another kind, a list of another length, a value that is missing and
// a result that is another number, wherever they are in a file.
//
// Another number at a single place of "in" may change no result, for example as the weight of a
// unit that is off. But for each key of "in" another number is noticed at one place at least.
func TestCheckCatches(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it corrupts every key of every file of vectors, which takes a second")
	}
	t.Parallel()
	for _, e := range equations {
		t.Run(e.name, func(t *testing.T) {
			decides := map[string]bool{} // for keys of "in": whether another number is noticed
			for _, c := range goldenVectors(t, e.name)["cases"].([]any) {
				corruptCase(t, &e, c.(object), "in", decides)
				corruptCase(t, &e, c.(object), "out", decides)
			}
			for key, noticed := range decides {
				if !noticed {
					t.Errorf("no other number in %s is noticed", key)
				}
			}
		})
	}
}

// corruptCase reports the wrong values in a part of a case, "in" or "out", that are not noticed,
// and adds to decides.
func corruptCase(t *testing.T, e *equation, c object, part string, decides map[string]bool) {
	const tried = 0.03 // of the wrong values inside lists, which are many
	rng := seeded(1, 0)
	put := func(x any) { c[part] = x }
	for _, p := range placesIn(part, c[part], put) {
		key, _, inList := strings.Cut(p.path, "[")
		number, isNumber := p.value.(float64)
		if isNumber && part == "in" && !decides[key] {
			p.put(2*number + 1) // a whole number stays whole
			decides[key] = caseFails(e, c)
			p.put(number)
		}
		for _, wrong := range p.wrongValues(e) {
			if inList && rng.Float64() >= tried {
				continue
			}
			p.put(wrong)
			if !caseFails(e, c) {
				t.Errorf("case %s: %.99s in place of %s: not noticed", c["name"], toJSON(wrong), p.path)
			}
			p.put(p.value)
		}
	}
}

// goodFile is a file of one case of Equation 1: y = [-1 + 0.5·min(1, 3), 0 + 0.5·min(2, 4)].
const (
	goodFile = `{"equation": "td-target", "paper": "", "cases": [` + goodCase + `]}`
	goodCase = `{"name": "a", "in": ` + goodIn + `, "out": ` + goodOut + `, "tol": 1e-6}`
	goodIn   = `{"r": [-1, 0], "gamma": 0.5, "q_target": [[1, 2], [3, 4]], "M": [1, 0]}`
	goodOut  = `{"y": [-0.5, 1]}`
)

// inGoodFile returns goodFile with new in place of old.
func inGoodFile(old, new string) []byte { return []byte(strings.Replace(goodFile, old, new, 1)) }

// Check returns the numbers that it compares, and their largest difference.
func TestCheckCompares(t *testing.T) {
	results, err := Check(fstest.MapFS{"x.json": {Data: inGoodFile("-0.5, 1]", "-0.500001, 1]")}})
	must(t, err)
	first := Comparison{Name: "out.y[0]", Vector: -0.500001, Code: -0.5}
	checkEqual(t, first, results[0].Compared[0], "what is compared first")
	checkNear(t, 1e-6, 1e-6/(1+0.500001), results[0].Worst, "the worst difference")
}

// A fault in a file of vectors is an error that names the file, and the case and the place.
func TestCheckErrors(t *testing.T) {
	must(t, checkOne([]byte(goodFile)))
	// Python writes some whole numbers like this.
	must(t, checkOne(inGoodFile("[1, 0]", "[1.0, 0e0]")))
	for _, test := range []struct {
		old, new string // new in place of old is the fault
		want     string // a part of the error
	}{
		// The file.
		{goodFile, "", "not vectors: EOF"},
		{goodFile, goodFile + goodFile, "not vectors: there is more after the JSON value"},
		{goodFile, goodFile[:len(goodFile)/2], "not vectors: unexpected EOF"},
		{goodFile, "[1, 2]", "not vectors: json: cannot unmarshal array"},
		{"td-target", "td_target", `unknown equation "td_target"; testdata/golden has a file of each`},
		{goodCase, "", "no cases"},
		{`"paper"`, `"papers": 1, "paper"`, `not vectors: json: unknown field "papers"`},

		// The case.
		{`"gamma"`, `"Gamma"`, `case "a": in: there is no gamma`},
		{`"gamma"`, `"M[1]": 1, "gamma"`, `case "a": in: the name "M[1]" would be read as a place`},
		{`"gamma"`, `"c": 1, "gamma"`, `case "a": in.c is unknown, or one too many`},
		{`"gamma": 0.5`, `"gamma": []`, `case "a": in.gamma is an empty list`},
		{`"gamma": 0.5`, `"` + strings.Repeat("gamma", 99) + `": 0.5`, "names are too long"},
		{`"gamma": 0.5`, `"gamma": "0.5"`, `case "a": there is no number in.gamma`},
		{`, "tol": 1e-6`, "", `case "a": tol is not a number from 0 to 0.01`},
		{"1e-6", "1", "tol is not a number from 0 to 0.01"},

		// Its results.
		{"-0.5, 1]", "NaN, 1]", "not vectors: NaN in line 1; vectors have finite numbers"},
		{"-0.5, 1]", "\n-Infinity, 1]", "not vectors: Infinity in line 2"},
		{"-0.5, 1]", "1e999, 1]", "out: json: cannot unmarshal number 1e999"},
		{"-0.5, 1]", "-0.5, 1, 1]", "out.y[2] is unknown, or one too many"},
		{"-0.5, 1]", "-0.5]", "there is no number out.y[1]"},
		{"-0.5, 1]", "-0.5, 1.001]", "out.y[1]: the file has 1.001, package qta gives 1;"},
		{`"out": ` + goodOut + ",", "", "out: EOF"},
		{goodIn, `{"r": [-1, 0], "gamma": 1e200, "q_target": [[0, 2], [0, 4]], "M": [1, 0]}`, "package qta gives NaN;"},

		// Its lists and indices.
		{"[3, 4]", "[3]", "in.q_target[1] has 1 elements, the first list there 2"},
		{"[1, 0]", "[1, 0.5]", "in.M[1] is 0.5, want a whole number"},
		{"[1, 0]", "[1, 2]", "in: an index is out of range"},
		{"[1, 0]", "[1, -1]", "in: an index is out of range"},
		{"[1, 0]", "[1, 1]", "in: M is [1 1], want two different indices"},
		{"[1, 0]", "[1, 1e12]", "in.M[1] is 1e+12, want a whole number up to 2147483647"},
	} {
		what := fmt.Sprintf("%s in place of %s", test.new, test.old)
		err := checkOne(inGoodFile(test.old, test.new))
		checkBegins(t, what, err, "qta: vectors: x.json: ")
		checkHas(t, what, err, test.want)
	}
	_, err := Check(os.DirFS("internal"))
	checkBegins(t, "a folder without vectors", err, "qta: vectors: no file matches *.json")
}

// A number that the package never meets is an error of the file. Without the check it would end
// in a panic.
func TestCheckForeignNumbers(t *testing.T) {
	for _, test := range []struct {
		equation, path string
		foreign        float64 // in that place of the first case
		want           string  // a part of the error
	}{
		{"update", "in.steps[0].r[0]", -0.5, "in.steps[0].r has -0.5, want 0 or -1"},
		{"update", "in.steps[1].g", 5, "in.steps[1].g is no list"},
		{"uncertainty-goal", "in.desired[0]", 1e13, "number 0 of the desired is 1e+13"},
		{"per", "in.priority[0]", 0, "in.priority has 0, want numbers above 0"},
	} {
		file := goldenVectors(t, test.equation)
		in := file["cases"].([]any)[0].(object)["in"]
		for _, p := range placesIn("in", in, nil) {
			if p.path == test.path {
				p.put(test.foreign)
			}
		}
		checkHas(t, fmt.Sprint(test.foreign, " in place of ", test.path), checkOne(toJSON(file)), test.want)
	}
}

// jsonList returns a list of n times the same element.
func jsonList(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// jsonLayer returns a layer with so many inputs and outputs, whose rows of weights may be
// shorter than the outputs.
func jsonLayer(in, out int, row string) string {
	return `{"w": ` + jsonList(in, row) + `, "b": ` + jsonList(out, "0") + `}`
}

// A short case cannot ask for networks, minibatches or work beyond largestVector. Check
// refuses it before it allocates much memory.
func TestCheckLimits(t *testing.T) {
	critic := `[` + jsonLayer(3, 9, jsonList(9, "0")) + `,` + jsonLayer(9, 1, "[0]") + `]`
	for _, test := range []struct {
		equation, in string
		want         string // what the error says is too large
	}{
		// 600 by 600 weights, and 20,000 rows by 9 units.
		{"mlp-forward", `"net": [` + jsonLayer(600, 600, "[0]") + `], "x": [[1]]`, "the network"},
		{"mlp-forward", `"net": [` + jsonLayer(1, 9, jsonList(9, "1")) + `], "x": ` + jsonList(20_000, "[1]"), "the layers"},
		// 64 critics of 16 layers, and 20,000 transitions for 9 hidden units.
		{"critic-loss", `"critics": ` + jsonList(64, jsonList(16, jsonLayer(4, 90, "[0]"))) +
			`, "s": [[1]], "g": [[1]], "a": [[1]], "y": [1]`, "the critics"},
		{"critic-loss", `"critics": [` + critic + `], "s": [[1]], "g": ` + jsonList(20_000, "[1]") +
			`, "a": [[1]], "y": [1]`, "the minibatch"},
		// 600 by 600 kernels, and more numbers than a case may have.
		{"kde", `"points": ` + jsonList(600, "[0]") + `, "query": ` + jsonList(600, "[0]") + `, "bandwidth": 1`, "the densities"},
		{"mlp-forward", `"net": [[1]], "x": ` + jsonList(200_000, "[1]"), "in.x["},
	} {
		text := `{"equation": "` + test.equation + `", "paper": "", "cases": [{"name": "a", "in": {` + test.in + `}, "out": {"y": [[1]]}, "tol": 0}]}`
		var err error
		got := allocated(func() { err = checkOne([]byte(text)) })
		what := fmt.Sprintf("%s, %d bytes", test.equation, len(text))
		checkHas(t, what, err, "vectors are small")
		checkHas(t, what, err, test.want)
		if most := uint64(80<<20 + 4*len(text)); got > most { // 80 MB, and a few times the file
			t.Errorf("%s: %d are allocated, want at most %d", what, got, most)
		}
	}
}

// Check accepts arbitrary bytes, or refuses them with an error of one line. It never panics.
func FuzzCheck(f *testing.F) {
	for _, e := range equations {
		f.Add(toJSON(goldenVectors(f, e.name)))
	}
	file := goldenVectors(f, "polyak")
	in := file["cases"].([]any)[0].(object)["in"].(object)
	in["a\nb"] = 1.0 // the error names this unknown key, on one line
	f.Add(toJSON(file))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := checkOne(text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want one line", err)
		}
	})
}

// needProgram returns the path of the first of the programs that this machine has. With none
// of them it skips the test.
func needProgram(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("needs %s", strings.Join(names, " or "))
	return ""
}

// outputOf runs a command and returns its output. An error of it stops the test.
func outputOf(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c, err, text)
	}
	return string(text)
}

// The reader in testdata/README.md accepts a golden vector, and refuses a changed one.
func TestKitReader(t *testing.T) {
	python := needProgram(t, "python3")
	_, block, _ := strings.Cut(readText(t, "testdata/README.md"), "```python\n")
	block, _, _ = strings.Cut(block, "```")
	file := goldenVectors(t, "per-beta") // its only case is named schedule
	changed := goldenVectors(t, "per-beta")["cases"].([]any)[0].(object)
	changed["out"].(object)["beta"].([]any)[1] = 0.300004 // 0.3000035 is right
	file["cases"] = append(file["cases"].([]any), changed)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "per-beta.json"), toJSON(file))
	got := outputOf(t, exec.Command(python, "-c", block, dir))
	checkEqual(t, "per-beta schedule holds\nper-beta schedule DIFFERS\n", got, "the reader's output")
}

// The forward passes of testdata, in Python and in C, give the action of [Agent.Act]. They
// refuse a broken file in one line.
func TestKitForward(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it starts Python and compiles C, which takes a second")
	}
	t.Run("Python", func(t *testing.T) { compareForward(t, needProgram(t, "python3"), "testdata/forward.py") })
	t.Run("C", func(t *testing.T) {
		binary := filepath.Join(t.TempDir(), "forward")
		outputOf(t, exec.Command(needProgram(t, "cc", "gcc"), "-o", binary, "testdata/forward.c", "-lm"))
		compareForward(t, binary)
	})
}

// compareForward compares a command's actions with [Agent.Act], for agents of two shapes.
func compareForward(t *testing.T, command ...string) {
	for _, test := range []struct {
		layers int
		scale  float64 // of observations and goals
	}{
		{layers: 1, scale: 1},
		{layers: 3, scale: 100}, // these inputs are clipped
	} {
		a := agentAfter(t, tiny(Beyond(), fmt.Sprint("HiddenLayers=", test.layers)), 35)
		a.stateScale.clip = 1.5 // what counts is the normalizer's limit; the parameters have 5
		a.goalScale.clip = 1.5
		rng := seeded(1, 1)
		x := make([]float64, 4) // an observation and a goal
		for i := range x {
			x[i] = test.scale * rng.NormFloat64()
		}
		// The header's text fields may look like tensors.
		data := withHeader(networksOf(t, a), `"qta":`, `"policy.0.weight":"any","shape":"}]{[","qta":`)

		text, err := runForward(t, command, data, x)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got := make([]float64, 2)
		if n, err := fmt.Sscan(text, &got[0], &got[1]); err != nil {
			t.Fatalf("%d numbers in %q: %v", n, text, err)
		}
		within(t, "action", float32s(got), a.Act(x[:2], x[2:]), func(float64) float64 { return 1e-5 })
		refusesBroken(t, command, data, x)
	}
}

// refusesBroken checks that a command refuses broken files of networks, and numbers that do not
// fit, in one line.
func refusesBroken(t *testing.T, command []string, data []byte, x []float64) {
	t.Helper()
	offset := `"data_offsets":[128,` // of the second tensor
	for _, test := range []struct {
		what string
		data []byte
		x    []float64
		want string // a part of the output
	}{
		{"another type", withHeader(data, `"policy.0.bias":{"dtype":"F32"`, `"policy.0.bias":{"dtype":"BF16"`), x,
			"policy.0.bias is of BF16"},
		{"an overlap", withHeader(data, offset, `"data_offsets":[124,`), x, "policy.0.bias has bytes"},
		{"a name again", withHeader(data, `"policy.0.bias"`, `"policy.0.weight"`), x, "policy.0.weight comes twice"},
		{"cut off", data[:100], x, "cannot be read"},
		{"empty", nil, x, "cannot be read"},
		{"no bias", withHeader(data, `"policy.0.bias"`, `"another.0.bias"`), x, "bias"},
		{"a number missing", data, x[:3], "numbers"},
		{"a number too many", data, slices.Concat(x, x), "numbers"},
	} {
		text, err := runForward(t, command, test.data, test.x)
		oneLine := strings.Count(text, "\n") == 1
		if err == nil || !oneLine || !strings.Contains(text, test.want) {
			t.Errorf("%s: error %v, output %s, want an error and one line with %q", test.what, err, text, test.want)
		}
	}
}

// runForward runs a command on a file of networks and the numbers x. It returns the output.
func runForward(t *testing.T, command []string, networks []byte, x []float64) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.safetensors")
	writeFile(t, file, networks)
	arguments := append(slices.Clone(command[1:]), file)
	for _, v := range x {
		arguments = append(arguments, fmt.Sprint(v))
	}
	text, err := exec.Command(command[0], arguments...).CombinedOutput()
	return string(text), err
}
