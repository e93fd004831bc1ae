package qta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The code gives the numbers of the vectors in testdata/golden. They come from another
// implementation and have several sizes of networks, minibatches and environments.
// TestCheckCatches needs a file of each kind.
func TestGolden(t *testing.T) {
	files := globNames("testdata/golden/*.json")
	names := each(equations, func(e equation) string { return e.name + ".json" })
	if slices.Sort(names); !slices.Equal(files, names) {
		t.Errorf("testdata/golden has the files %v, want one of each equation, %v", files, names)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			results, err := Check(fstest.MapFS{name: {Data: []byte(readText(t, "testdata/golden/"+name))}})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
}

// Golden files run the code that training runs. Each file enters the functions that the table
// of equations names for it, and no function that departs from the paper. At least one file of
// a formula enters the function that the index names.
func TestGoldenEnters(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it builds the tests once more, to see what they cover")
	}
	if !goldenHolds(t) {
		t.Skip("vectors do not hold: TestGolden says which")
	}
	tests := buildCovered(t)
	_, comments := functionsOf(t, "*.go")
	for _, row := range formulas(comments["qta.go"]) { // 13, by TestIndex
		home := row[2]
		files := strings.Split(row[4], ", ")
		entersHome := func(name string) bool { return tests.entered(t, name)[home] != "" }
		if !slices.ContainsFunc(files, entersHome) {
			t.Errorf("none of %v enters %s", files, home)
		}
		for _, name := range files {
			held := equations[slices.IndexFunc(equations, func(e equation) bool { return e.name == name })].function
			tests.wantEntered(t, name, strings.Split(held, ", ")...)
		}
	}
	// A whole update computes both terms of the critics' pass.
	tests.wantEntered(t, "critic-loss", "ensemble.criticTerm")
	tests.wantEntered(t, "predictive-loss", "ensemble.headTerm")
	tests.wantEntered(t, "update-joint", "paperLearner.update", "ensemble.gradients", "ensemble.criticTerm", "ensemble.headTerm")
}

// goldenHolds reports whether the code meets all golden vectors.
func goldenHolds(t *testing.T) bool {
	results, err := Check(os.DirFS("testdata/golden"))
	failed := func(r CheckResult) bool { return r.Err != nil }
	return err == nil && !slices.ContainsFunc(results, failed)
}

// The coveredTests are a program of this package's tests, built to say what they enter.
type coveredTests struct {
	program   string
	functions []function
	profiles  map[string]map[string]string // for a kind of vectors: the functions it enters, with their files
}

func buildCovered(t *testing.T) coveredTests {
	functions, _ := functionsOf(t, "*.go")
	c := coveredTests{
		program:   filepath.Join(t.TempDir(), "covered"),
		functions: functions,
		profiles:  map[string]map[string]string{},
	}
	text, err := exec.Command(needProgram(t, "go"), "test", "-c", "-cover", "-o", c.program, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// entered returns the functions that a kind of vectors enters, each with its file.
func (c coveredTests) entered(t *testing.T, kind string) map[string]string {
	if c.profiles[kind] != nil {
		return c.profiles[kind]
	}
	profile := filepath.Join(t.TempDir(), "profile")
	text, err := exec.Command(c.program, "-test.run", "^TestGolden$/^"+kind+".json$", "-test.coverprofile", profile).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	names := map[string]string{}
	for line := range strings.Lines(readText(t, profile)) {
		// qta/pun.go:20.1,25.2 3 17: lines and columns, statements, how often they ran
		var from, to, column, statements, count int
		path, rest, _ := strings.Cut(line, ":")
		fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &from, &column, &to, &column, &statements, &count)
		for _, f := range c.functions {
			inside := f.file == filepath.Base(path) && f.from <= from && to <= f.to
			if inside && count > 0 {
				names[f.name] = f.file
			}
		}
	}
	c.profiles[kind] = names
	return names
}

// wantEntered reports a function that a kind of vectors should enter and does not, and
// one that departs from the paper. The vectors of Equation 4 have the authors' form, too.
func (c coveredTests) wantEntered(t *testing.T, kind string, functions ...string) {
	entered := c.entered(t, kind)
	for _, f := range functions {
		if entered[f] == "" {
			t.Errorf("%s does not enter %s", kind, f)
		}
	}
	for f, file := range entered {
		authors := kind == "predictive-loss" && (f == "authorsHeads.loss" || f == "predictiveNorm")
		departs := departingFiles.MatchString(file) && file != "variants.go"
		if departs && !authors {
			t.Errorf("%s enters %s, which departs from the paper", kind, f)
		}
	}
}

type object = map[string]any

// goldenVectors returns the golden vectors of an equation.
func goldenVectors(t testing.TB, equation string) (file object) {
	t.Helper()
	if err := json.Unmarshal([]byte(readText(t, "testdata/golden/"+equation+".json")), &file); err != nil {
		t.Fatal(err)
	}
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

// A corruption puts a wrong value in the place of a value of a case.
type corruption struct {
	path           string // such as in.M[0]
	value, instead any
	put            func(any) // puts one of them there
}

// corruptions returns corruptions of a value and of all that is in it.
func corruptions(path string, value any, put func(any)) (all []corruption) {
	corrupt := func(instead any) {
		all = append(all, corruption{path: path, value: value, instead: instead, put: put})
	}
	corrupt("a word")
	corrupt([]any{value})
	switch v := value.(type) {
	case float64:
		if strings.HasPrefix(path, "out") {
			corrupt(v + 1e-4*(1+math.Abs(v)))
			corrupt(nil)
		}
	case []any:
		corrupt([]any{})
		corrupt(append(slices.Clone(v), v[0]))
		corrupt(v[1:])
		for i, x := range v {
			putElement := func(x any) { v[i] = x }
			all = append(all, corruptions(fmt.Sprintf("%s[%d]", path, i), x, putElement)...)
		}
	case object:
		more := maps.Clone(v)
		more["more"] = 1.0
		corrupt(more)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] == nil || key == "output" {
				continue // as good as absent, and a tanh of what is near 0
			}
			less := maps.Clone(v)
			delete(less, key)
			corrupt(less)
			putField := func(x any) { v[key] = x }
			all = append(all, corruptions(path+"."+key, v[key], putField)...)
		}
	}
	return all
}

// free names lists that may be shorter or longer, because not all of their elements are used.
var free = []string{"td-target in.q_target", "td-target-networks in.critics", "td-target-clipped in.critics",
	"her in.achieved_next", "achievable in.q_mean"}

// Every corruption of a file is noticed. A single number of "in" may decide nothing, for
// example the weight of a unit that is off. But at least one number of each key decides.
func TestCheckCatches(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it corrupts every key of every file of vectors, which takes a second")
	}
	t.Parallel()
	for _, e := range equations {
		t.Run(e.name, func(t *testing.T) {
			decides := map[string]bool{}
			for _, c := range goldenVectors(t, e.name)["cases"].([]any) {
				corruptCase(t, &e, c.(object), decides)
			}
			for key, noticed := range decides {
				if !noticed {
					t.Errorf("no other number in %s is noticed", key)
				}
			}
		})
	}
}

// corruptCase reports the corruptions of a case that are not noticed. It notes in decides for
// which keys of "in" another number is noticed. Inside lists it tries only some corruptions.
func corruptCase(t *testing.T, e *equation, c object, decides map[string]bool) {
	const some = 0.03
	rng := rand.New(rand.NewPCG(1, 0))
	tolerance := c["tol"].(float64)
	noticed := func() bool {
		one := vectorCase{In: toJSON(c["in"]), Out: toJSON(c["out"]), Tol: &tolerance}
		return new(CheckResult).check(e, &one) != nil
	}
	in := corruptions("in", c["in"], func(x any) { c["in"] = x })
	out := corruptions("out", c["out"], func(x any) { c["out"] = x })
	for _, corrupted := range slices.Concat(in, out) {
		key, _, inList := strings.Cut(corrupted.path, "[")
		number, isNumber := corrupted.value.(float64)
		if isNumber && strings.HasPrefix(key, "in") && !decides[key] {
			corrupted.put(2*number + 1) // whole where it is
			decides[key] = noticed()
			corrupted.put(number)
		}
		list, _ := corrupted.instead.([]any)
		longer := len(list) > 0 && slices.Contains(free, e.name+" "+corrupted.path)
		if longer || inList && rng.Float64() >= some {
			continue
		}
		corrupted.put(corrupted.instead)
		if !noticed() {
			t.Errorf("case %s: %.99s in place of %s: not noticed", c["name"], toJSON(corrupted.instead), corrupted.path)
		}
		corrupted.put(corrupted.value)
	}
}

// A fault in a file of vectors is an error that names the file, and the case and the place.
func TestCheckErrors(t *testing.T) {
	const (
		in   = `{"r": [-1, 0], "gamma": 0.5, "q_target": [[1, 2], [3, 4]], "M": [1, 0]}`
		out  = `{"y": [-0.5, 1]}`
		one  = `{"name": "a", "in": ` + in + `, "out": ` + out + `, "tol": 1e-6}`
		good = `{"equation": "td-target", "paper": "", "cases": [` + one + `]}`
	)
	if err := checkOne([]byte(good)); err != nil {
		t.Fatal(err)
	}
	asPython := strings.Replace(good, "[1, 0]", "[1.0, 0e0]", 1)
	if err := checkOne([]byte(asPython)); err != nil {
		t.Error(err)
	}
	nearly := strings.Replace(good, "-0.5, 1]", "-0.500001, 1]", 1)
	results, err := Check(fstest.MapFS{"x.json": {Data: []byte(nearly)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Comparison{"out.y[0]", -0.500001, -0.5}); results[0].Compared[0] != want {
		t.Errorf("compared are %+v, want first %+v", results[0].Compared, want)
	}
	if want := 1e-6 / 1.500001; math.Abs(results[0].Worst-want) > 1e-12 {
		t.Errorf("the worst difference is %v, want %v", results[0].Worst, want)
	}
	for _, test := range []struct{ old, new, want string }{
		{good, "", "not vectors: EOF"},
		{good, good + good, "not vectors: there is more after the JSON value"},
		{good, good[:len(good)/2], "not vectors: unexpected EOF"},
		{good, "[1, 2]", "not vectors: json: cannot unmarshal array"},
		{"td-target", "td_target", `unknown equation "td_target"; testdata/golden has a file of each`},
		{one, "", "no cases"},
		{`"paper"`, `"papers": 1, "paper"`, `not vectors: json: unknown field "papers"`},
		{`"gamma"`, `"Gamma"`, `case "a": in: there is no gamma`},
		{`"gamma"`, `"c": 1, "gamma"`, `case "a": in.c is unknown, or one too many`},
		{`"gamma": 0.5`, `"gamma": null`, `case "a": in: there is no gamma`},
		{`"gamma": 0.5`, `"gamma": []`, `case "a": in.gamma is an empty list`},
		{`"gamma": 0.5`, `"` + strings.Repeat("gamma", 99) + `": 0.5`, "names are too long"},
		{`"gamma": 0.5`, `"gamma": "0.5"`, `case "a": there is no number in.gamma`},
		{in, "[1, 2, 3]", `case "a": in: there is no r`},
		{`, "tol": 1e-6`, "", `case "a": tol is not a number from 0 to 0.01`},
		{"1e-6", "1", "tol is not a number from 0 to 0.01"},
		{"-0.5, 1]", "NaN, 1]", "not vectors: NaN in line 1; vectors have finite numbers"},
		{"-0.5, 1]", "\n-Infinity, 1]", "not vectors: Infinity in line 2"},
		{"-0.5, 1]", "1e999, 1]", "out: json: cannot unmarshal number 1e999"},
		{"-0.5, 1]", "null, 1]", "there is no number out.y[0]"},
		{"-0.5, 1]", "-0.5, 1, 1]", "out.y[2] is unknown, or one too many"},
		{"-0.5, 1]", "-0.5]", "there is no number out.y[1]"},
		{"-0.5, 1]", "-0.5, 1.001]", "out.y[1]: the file has 1.001, package qta gives 1;"},
		{out, `{"z": 1}`, "there is no number out.y[0]"},
		{`"out": ` + out + ",", "", "out: EOF"},
		{"0.5,", "1e200,", "package qta gives +Inf;"},
		{in, `{"r": [-1, 0], "gamma": 1e200, "q_target": [[0, 2], [0, 4]], "M": [1, 0]}`, "package qta gives NaN;"},
		{"[3, 4]", "[3]", "in.q_target[1] has 1 elements, the first list there 2"},
		{"[1, 0]", "[1, 0.5]", "in.M[1] is 0.5, want a whole number"},
		{"[1, 0]", "[1, 2]", "in: an index is out of range"},
		{"[1, 0]", "[1, -1]", "in: an index is out of range"},
		{"[1, 0]", "[1, 1]", "in: M is [1 1], want two different indices"},
		{"[1, 0]", "[1, 1e12]", "in.M[1] is 1e+12, want a whole number up to 2147483647"},
		{"[1, 0]", "[1, 0, 1]", "in: M is [1 0 1], want two different indices"},
	} {
		err := fmt.Sprint(checkOne([]byte(strings.Replace(good, test.old, test.new, 1))))
		if !strings.HasPrefix(err, "qta: vectors: x.json: ") || !strings.Contains(err, test.want) {
			t.Errorf("%s for %s: error %v, want one of x.json with %q", test.new, test.old, err, test.want)
		}
	}
	if _, err := Check(os.DirFS("internal")); err == nil || !strings.Contains(err.Error(), "no file matches *.json") {
		t.Errorf("a folder without vectors: error %v", err)
	}
}

// A case of a few kilobytes cannot ask for networks, minibatches or work without end.
func TestCheckLimits(t *testing.T) {
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	layer := func(in, out int, row string) string {
		return `{"w": ` + list(in, row) + `, "b": ` + list(out, "0") + `}`
	}
	critic := `[` + layer(3, 9, list(9, "0")) + `,` + layer(9, 1, "[0]") + `]`
	for _, test := range []struct{ equation, in, want string }{
		{"mlp-forward", `"net": [` + layer(600, 600, "[0]") + `], "x": [[1]]`, "the network"},
		{"mlp-forward", `"net": [` + layer(1, 9, list(9, "1")) + `], "x": ` + list(20_000, "[1]"), "the layers"},
		{"critic-loss", `"critics": ` + list(64, list(16, layer(4, 90, "[0]"))) + `, "s": [[1]], "g": [[1]], "a": [[1]], "y": [1]`, "the critics"},
		{"critic-loss", `"critics": [` + critic + `], "s": [[1]], "g": ` + list(20_000, "[1]") + `, "a": [[1]], "y": [1]`, "the minibatch"},
		{"kde", `"points": ` + list(600, "[0]") + `, "query": ` + list(600, "[0]") + `, "bandwidth": 1`, "the densities"},
		{"mlp-forward", `"net": [[1]], "x": ` + list(200_000, "[1]"), "in.x["},
		{"adam", `"w": ` + list(300_000, "0") + `, "grads": [[1]], "lr": 1, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8`, "in.w["},
	} {
		text := `{"equation": "` + test.equation + `", "paper": "", "cases": [{"name": "a", "in": {` + test.in + `}, "out": {"y": [[1]]}, "tol": 0}]}`
		var err error
		got := allocated(func() { err = checkOne([]byte(text)) })
		refused := err != nil && strings.Contains(err.Error(), "vectors are small") && strings.Contains(err.Error(), test.want)
		most := uint64(80<<20 + 4*len(text))
		if !refused || got > most {
			t.Errorf("%s, %d bytes: %d allocated, at most %d; error %v, want one of %s", test.equation, len(text), got, most, err, test.want)
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
	in["a\nb"] = 1.0 // an unknown key, which the error names on one line
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

// The reader in testdata/README.md accepts a golden vector, and refuses a changed one.
func TestKitReader(t *testing.T) {
	python := needProgram(t, "python3")
	_, block, _ := strings.Cut(readText(t, "testdata/README.md"), "```python\n")
	block, _, _ = strings.Cut(block, "```")
	file := goldenVectors(t, "per-beta")
	wrong := goldenVectors(t, "per-beta")["cases"].([]any)[0].(object)
	wrong["out"].(object)["beta"].([]any)[1] = 0.476
	file["cases"] = append(file["cases"].([]any), wrong)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "per-beta.json"), toJSON(file))
	got, err := exec.Command(python, "-c", block, dir).CombinedOutput()
	if err != nil || string(got) != "per-beta schedule holds\nper-beta schedule DIFFERS\n" {
		t.Errorf("error %v:\n%s", err, got)
	}
}

// The forward passes of testdata, in Python and in C, give the action of [Agent.Act].
func TestKitForward(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it starts Python and compiles C, which takes a second")
	}
	t.Run("Python", func(t *testing.T) { compareForward(t, needProgram(t, "python3"), "testdata/forward.py") })
	t.Run("C", func(t *testing.T) {
		binary := filepath.Join(t.TempDir(), "forward")
		compile := exec.Command(needProgram(t, "cc", "gcc"), "-o", binary, "testdata/forward.c", "-lm")
		if text, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		compareForward(t, binary)
	})
}

// compareForward compares a command's actions with [Agent.Act], for agents of two shapes.
func compareForward(t *testing.T, command ...string) {
	for layers, scale := range map[int]float64{1: 1, 3: 100} { // inputs of the scale 100 are clipped
		a := agentAfter(t, tiny(Beyond(), fmt.Sprint("HiddenLayers=", layers)), 35)
		a.stateScale.clip = 1.5 // what counts is the normalizer's limit; the parameters have 5
		a.goalScale.clip = 1.5
		rng := rand.New(rand.NewPCG(1, 1))
		x := make([]float64, 4) // an observation and a goal
		for i := range x {
			x[i] = scale * rng.NormFloat64()
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

		for _, odd := range []struct{ old, new, want string }{
			{`"policy.0.bias":{"dtype":"F32"`, `"policy.0.bias":{"dtype":"BF16"`, "policy.0.bias is of BF16"},
			{`"data_offsets":[128,`, `"data_offsets":[124,`, "policy.0.bias has bytes"},
			{`"policy.0.bias"`, `"policy.0.weight"`, "policy.0.weight comes twice"},
		} {
			text, err := runForward(t, command, withHeader(data, odd.old, odd.new), x)
			oneLine := strings.Count(text, "\n") == 1
			if err == nil || !oneLine || !strings.Contains(text, odd.want) {
				t.Errorf("%s: error %v, output %s", odd.new, err, text)
			}
		}
	}
}

// runForward hands a command a file of networks, and the numbers x. It returns the output.
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
