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

// TestGolden holds the code to the vectors of testdata/golden, which come from
// another implementation and have several sizes of networks, minibatches and
// environments. TestCheckCatches needs a file of each kind.
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

// Golden files run what training runs. By its coverage each enters the functions that
// it is said to hold to vectors, and those of a formula together the one that the index
// names, and none that departs from the paper but for those here. Both terms of the
// critics' pass are those of a whole update.
func TestGoldenEnters(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it builds the tests once more, to see what they cover")
	}
	binary := filepath.Join(t.TempDir(), "covered")
	if out, err := exec.Command(program(t, "go"), "test", "-c", "-cover", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	functions, comments := functionsOf(t, "*.go")
	entered := func(equation string) map[string]string { // to the file
		profile := filepath.Join(t.TempDir(), "profile")
		out, err := exec.Command(binary, "-test.run", "^TestGolden$/^"+equation+".json$", "-test.coverprofile", profile).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		names := map[string]string{}
		for line := range strings.Lines(readText(t, profile)) {
			var from, to, column, statements, count int
			path, rest, _ := strings.Cut(line, ":")
			if fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &from, &column, &to, &column, &statements, &count); count > 0 {
				for _, f := range functions {
					if f.file == filepath.Base(path) && f.from <= from && to <= f.to {
						names[f.name] = f.file
					}
				}
			}
		}
		return names
	}
	blocks := map[string][]string{"critic-loss": {"ensemble.criticTerm"}, "predictive-loss": {"ensemble.headTerm"},
		"update-joint": {"paperLearner.update", "ensemble.gradients", "ensemble.criticTerm", "ensemble.headTerm"}}
	departs := map[string][]string{"predictive-loss": {"authorsHeads.loss", "predictiveNorm"}} // in its form norm
	for _, row := range formulas(comments["qta.go"]) {                                         // 13, by TestIndex
		files, home := strings.Split(row[4], ", "), false
		for _, name := range files {
			blocks[name] = append(blocks[name], strings.Split(equations[slices.IndexFunc(equations,
				func(e equation) bool { return e.name == name })].function, ", ")...)
			home = home || entered(name)[row[2]] != ""
		}
		if !home {
			t.Errorf("none of %v enters %s", files, row[2])
		}
	}
	for name, wanted := range blocks {
		got := entered(name)
		for _, f := range wanted {
			if got[f] == "" {
				t.Errorf("%s does not enter %s", name, f)
			}
		}
		for f, file := range got {
			if file != "variants.go" && departingFiles.MatchString(file) && !slices.Contains(departs[name], f) {
				t.Errorf("%s enters %s, which departs from the paper", name, f)
			}
		}
	}
}

type object = map[string]any

// goldenFile returns the golden vectors of an equation.
func goldenFile(t testing.TB, equation string) (file object) {
	t.Helper()
	if err := json.Unmarshal([]byte(readText(t, "testdata/golden/"+equation+".json")), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkOne returns what is wrong with a file of vectors and its cases.
func checkOne(text []byte) error {
	results, err := Check(fstest.MapFS{"x.json": {Data: text}})
	for _, r := range results {
		if err == nil {
			err = r.Err
		}
	}
	return err
}

// corruptions calls f for what must not pass in the place of a value or of one
// within it, and put puts it there.
func corruptions(path string, value any, put func(any), f func(path string, value, corrupted any, put func(any))) {
	bad := []any{"a word", []any{value}}
	switch v := value.(type) {
	case float64:
		if strings.HasPrefix(path, "out") {
			bad = append(bad, v+1e-4*(1+math.Abs(v)), nil)
		}
	case []any:
		bad = append(bad, []any{}, append(slices.Clone(v), v[0]), v[1:])
		for i, x := range v {
			corruptions(fmt.Sprintf("%s[%d]", path, i), x, func(x any) { v[i] = x }, f)
		}
	case object:
		more := maps.Clone(v)
		more["more"] = 1.0
		bad = append(bad, more)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] == nil || key == "output" {
				continue // as good as absent, and a tanh of what is near 0
			}
			less := maps.Clone(v)
			delete(less, key)
			bad = append(bad, less)
			corruptions(path+"."+key, v[key], func(x any) { v[key] = x }, f)
		}
	}
	for _, b := range bad {
		f(path, value, b, put)
	}
}

// Whatever is corrupted in a file is noticed. A number within "in" may decide
// nothing, as a weight of a unit that is off; of each key at least one does.
func TestCheckCatches(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it corrupts every key of every file of vectors, which takes a second")
	}
	t.Parallel()
	const few = 0.03 // of the corruptions within lists
	// Lists that may be shorter, or longer, than what is used of them.
	free := []string{"td-target in.q_target", "td-target-networks in.critics", "td-target-clipped in.critics",
		"her in.achieved_next", "achievable in.q_mean"}
	for _, e := range equations {
		t.Run(e.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 0))
			decides := map[string]bool{}
			for _, c := range goldenFile(t, e.name)["cases"].([]any) {
				c := c.(object)
				tolerance := c["tol"].(float64)
				noticed := func() bool {
					one := vectorCase{In: toJSON(c["in"]), Out: toJSON(c["out"]), Tol: &tolerance}
					return new(CheckResult).check(&e, &one) != nil
				}
				try := func(path string, value, corrupted any, put func(any)) {
					defer put(value)
					key, _, inList := strings.Cut(path, "[")
					list, isList := corrupted.([]any)
					number, isNumber := value.(float64)
					if isNumber && strings.HasPrefix(path, "in") && !decides[key] {
						put(2*number + 1) // whole where it is
						decides[key] = noticed()
					}
					if isList && len(list) > 0 && slices.Contains(free, e.name+" "+path) {
						return
					}
					if inList && rng.Float64() >= few {
						return
					}
					if put(corrupted); !noticed() {
						t.Errorf("case %s: %.99s in place of %s: not noticed", c["name"], toJSON(corrupted), path)
					}
				}
				for _, side := range []string{"in", "out"} {
					corruptions(side, c[side], func(x any) { c[side] = x }, try)
				}
			}
			for key, noticed := range decides {
				if !noticed {
					t.Errorf("no other number in %s is noticed", key)
				}
			}
		})
	}
}

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
	if err := checkOne([]byte(strings.Replace(good, "[1, 0]", "[1.0, 0e0]", 1))); err != nil { // as Python writes it
		t.Error(err)
	}
	nearly := strings.Replace(good, "-0.5, 1]", "-0.500001, 1]", 1)
	results, err := Check(fstest.MapFS{"x.json": {Data: []byte(nearly)}})
	if err != nil || math.Abs(results[0].Worst-1e-6/1.500001) > 1e-12 ||
		results[0].Compared[0] != (Comparison{"out.y[0]", -0.500001, -0.5}) {
		t.Errorf("results %+v, error %v", results, err)
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
		err := checkOne([]byte(strings.Replace(good, test.old, test.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), "qta: vectors: x.json: ") ||
			!strings.Contains(err.Error(), test.want) {
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
		if most := uint64(80<<20 + 4*len(text)); err == nil || !strings.Contains(err.Error(), "vectors are small") || !strings.Contains(err.Error(), test.want) || got > most {
			t.Errorf("%s, %d bytes: %d allocated, at most %d; error %v, want one of %s", test.equation, len(text), got, most, err, test.want)
		}
	}
}

// Arbitrary bytes are an error and no panic.
func FuzzCheck(f *testing.F) {
	for _, e := range equations {
		f.Add(toJSON(goldenFile(f, e.name)))
	}
	f.Add([]byte(`{"equation": "polyak", "cases": [{"in": {"a\nb": 1, "a\nb": 1}, "out": {}, "tol": 0}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := checkOne(text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
	})
}

// program returns the first of the programs that this machine has.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("needs %s", strings.Join(names, " or "))
	return ""
}

// TestKitReader runs the reader of testdata/README.md on a golden vector, and on
// one that is changed.
func TestKitReader(t *testing.T) {
	python := program(t, "python3")
	_, block, _ := strings.Cut(readText(t, "testdata/README.md"), "```python\n")
	block, _, _ = strings.Cut(block, "```")
	file, other := goldenFile(t, "per-beta"), goldenFile(t, "per-beta")
	wrong := other["cases"].([]any)[0].(object)
	wrong["out"].(object)["beta"].([]any)[1] = 0.476
	file["cases"] = append(file["cases"].([]any), wrong)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "per-beta.json"), toJSON(file))
	got, err := exec.Command(python, "-c", block, dir).CombinedOutput()
	if err != nil || string(got) != "per-beta schedule holds\nper-beta schedule DIFFERS\n" {
		t.Errorf("error %v:\n%s", err, got)
	}
}

// TestKitForward holds the forward passes of testdata, in Python and in C, to
// [Agent.Act].
func TestKitForward(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it starts Python and compiles C, which takes a second")
	}
	t.Run("Python", func(t *testing.T) { holdForward(t, program(t, "python3"), "testdata/forward.py") })
	t.Run("C", func(t *testing.T) {
		binary := filepath.Join(t.TempDir(), "forward")
		compile := exec.Command(program(t, "cc", "gcc"), "-o", binary, "testdata/forward.c", "-lm")
		if text, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		holdForward(t, binary)
	})
}

// holdForward asks a command for the actions of agents of two shapes.
func holdForward(t *testing.T, command string, arguments ...string) {
	for layers, scale := range map[int]float64{1: 1, 3: 100} { // the latter is clipped
		rng := rand.New(rand.NewPCG(1, 1))
		a := agentAfter(t, tiny(Beyond(), fmt.Sprint("HiddenLayers=", layers)), 35)
		a.stateScale.clip, a.goalScale.clip = 1.5, 1.5 // obeyed though the parameters have 5
		file := filepath.Join(t.TempDir(), "agent.safetensors")
		data := withHeader(networksOf(t, a), func(h string) string {
			return strings.Replace(h, `"qta":`, `"policy.0.weight":"any","shape":"}]{[","qta":`, 1)
		})
		writeFile(t, file, data)
		x, asked := make([]float64, 4), append(slices.Clone(arguments), file)
		for i := range x {
			x[i] = scale * rng.NormFloat64()
			asked = append(asked, fmt.Sprint(x[i]))
		}
		text, err := exec.Command(command, asked...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got := make([]float64, 2)
		if n, err := fmt.Sscan(string(text), &got[0], &got[1]); err != nil {
			t.Fatalf("%d numbers in %q: %v", n, text, err)
		}
		within(t, "action", float32s(got), a.Act(x[:2], x[2:]), func(float64) float64 { return 1e-5 })
		for _, odd := range []struct{ old, new, want string }{
			{`"policy.0.bias":{"dtype":"F32"`, `"policy.0.bias":{"dtype":"BF16"`, "policy.0.bias is of BF16"},
			{`"data_offsets":[128,`, `"data_offsets":[124,`, "policy.0.bias has bytes"},
			{`"policy.0.bias"`, `"policy.0.weight"`, "policy.0.weight comes twice"},
		} {
			writeFile(t, file, withHeader(data, func(h string) string { return strings.Replace(h, odd.old, odd.new, 1) }))
			text, err := exec.Command(command, asked...).CombinedOutput()
			if err == nil || !strings.Contains(string(text), odd.want) || strings.Count(string(text), "\n") != 1 {
				t.Errorf("%s: error %v, output %s", odd.new, err, text)
			}
		}
	}
}
