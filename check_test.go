package qta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestGolden holds the code to the vectors of testdata/golden, which come from
// another implementation.
func TestGolden(t *testing.T) {
	results, err := Check(os.DirFS("testdata/golden"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Equation+"/"+r.Case, func(t *testing.T) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	// Every kind of vectors that equations() knows is there.
	for _, e := range equations() {
		if !slices.ContainsFunc(results, func(r CheckResult) bool { return r.Equation == e.name }) {
			t.Errorf("testdata/golden has no vectors for %s", e.name)
		}
	}
}

type object = map[string]any

// goldenFile returns the golden vectors of an equation.
func goldenFile(t testing.TB, equation string) (text []byte, file object) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden/" + equation + ".json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, file
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

// checkObject is checkOne for a file that has been changed.
func checkObject(t testing.TB, file object) error {
	t.Helper()
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return checkOne(text)
}

// Vectors of other sizes than in testdata/golden run as they stand: with half a
// list, or with all of it twice, which leaves a mean as it is.
func TestCheckOtherSizes(t *testing.T) {
	half := func(v []any) []any { return v[:len(v)/2] }
	twice := func(v []any) []any { return slices.Concat(v, v) }
	for _, test := range []struct {
		equation string
		change   func([]any) []any
		in, out  string // the lists that change
	}{
		{"mlp-forward", half, "x", "xi y"},
		{"adam", half, "grads", "w"},
		{"td-target-networks", twice, "s_next g r", "a_next y"},
		{"critic-loss", half, "critics", "loss grad"},
		{"critic-loss", twice, "critics", "loss grad"},
		{"critic-loss", twice, "s g a y w", ""},
		{"policy-gradient", twice, "critics", ""},
		{"policy-gradient", twice, "s g", ""},
		{"predictive-loss", half, "critics heads", "loss pred grad_head grad_xi"},
		{"uncertainty", twice, "actions", "per_action"},
		{"kde", twice, "points", ""},
	} {
		_, file := goldenFile(t, test.equation)
		for _, one := range file["cases"].([]any) {
			for side, keys := range map[string]string{"in": test.in, "out": test.out} {
				values := one.(object)[side].(object)
				for key := range strings.FieldsSeq(keys) {
					if list, ok := values[key].([]any); ok {
						values[key] = test.change(list)
					}
				}
			}
		}
		if err := checkObject(t, file); err != nil {
			t.Errorf("%s, %s of another length: %v", test.equation, test.in, err)
		}
	}
}

// A node is a value in decoded JSON, with a way to put something else there.
type node struct {
	path  string
	value any
	set   func(any)
}

// nodesOf returns a value and all within it, in order.
func nodesOf(path string, value any, set func(any)) []node {
	nodes := []node{{path, value, set}}
	switch v := value.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			nodes = append(nodes, nodesOf(path+"."+key, v[key], func(x any) { v[key] = x })...)
		}
	case []any:
		for i, x := range v {
			nodes = append(nodes, nodesOf(fmt.Sprintf("%s[%d]", path, i), x, func(x any) { v[i] = x })...)
		}
	}
	return nodes
}

// corruptions returns what must not pass in a node's place.
func corruptions(equation string, n node, tolerance float64) map[string]any {
	all := map[string]any{"a word": "x", "brackets": []any{n.value}}
	switch v := n.value.(type) {
	case float64:
		if strings.HasPrefix(n.path, "out") {
			all["a change"] = v + 3*max(1e-6, tolerance)*(1+math.Abs(v))
		}
	case []any:
		all["nothing"] = []any{}
		// These may be longer than what is used of them.
		free := []string{"td-target in.q_target", "td-target-networks in.critics",
			"her in.achieved_next", "achievable in.q_mean"}
		if !slices.Contains(free, equation+" "+n.path) && len(v) > 0 {
			all["a longer list"], all["a shorter list"] = append(slices.Clone(v), v[0]), v[1:]
		}
	case object:
		all["another key"] = maps.Clone(v)
		all["another key"].(object)["more"] = 1.0
		for key := range v {
			if v[key] == nil || key == "output" {
				continue // as good as absent, and a tanh of what is near 0
			}
			less := maps.Clone(v)
			delete(less, key)
			all["no "+key] = less
		}
	}
	return all
}

// Whatever is corrupted in a file is noticed. A number within "in" may decide
// nothing, as a weight of a unit that is off; of each key at least one does.
func TestCheckCatches(t *testing.T) {
	t.Parallel()
	deep := 20 // nodes to try in each "in" and "out", besides the keys
	if testing.Short() {
		deep = 3
	}
	for _, e := range equations() {
		t.Run(e.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 0))
			_, file := goldenFile(t, e.name)
			decides := map[string]bool{}
			for _, c := range file["cases"].([]any) {
				c := c.(object)
				file["cases"] = []any{c}
				noticed := func(n node, x any) bool {
					n.set(x)
					defer n.set(n.value)
					return checkObject(t, file) != nil
				}
				for _, side := range []string{"in", "out"} {
					nodes := nodesOf(side, c[side], func(x any) { c[side] = x })
					for _, n := range nodes {
						key, _, _ := strings.Cut(n.path, "[")
						if x, ok := n.value.(float64); ok && side == "in" && !decides[key] {
							decides[key] = noticed(n, 2*x+1) // whole where x is
						}
						if key != n.path && rng.IntN(len(nodes)) >= deep {
							continue
						}
						for what, x := range corruptions(e.name, n, c["tol"].(float64)) {
							if !noticed(n, x) {
								t.Errorf("case %s: %s in place of %s: not noticed", c["name"], what, n.path)
							}
						}
					}
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
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{good, "", "not vectors: unexpected end of JSON input"},
		{good, good + good, "not vectors: invalid character '{' after top-level value"},
		{good, good[:len(good)/2], "not vectors: unexpected end of JSON input"},
		{good, "[1, 2]", "not vectors: json: cannot unmarshal array"},
		{"td-target", "td_target", `unknown equation "td_target"; known are mlp-forward`},
		{one, "", "no cases"},
		{one, "1", "not vectors: json: cannot unmarshal number"},
		{`"paper"`, `"papers": 1, "paper"`, `not vectors: json: unknown field "papers"`},
		{`"gamma"`, `"Gamma"`, `case "a": in: the key "gamma" is missing`},
		{`"gamma"`, `"gamma": 0.5, "gamma"`, `case "a": in: the key "gamma" comes twice`},
		{`"gamma"`, `"c": 1, "gamma"`, `case "a": in: the key "c" is unknown`},
		{`"gamma": 0.5`, `"gamma": null`, `case "a": in: the key "gamma" is missing`},
		{`"gamma": 0.5`, `"gamma": "0.5"`, `case "a": in: json: cannot unmarshal string into`},
		{in, "[1, 2, 3]", `case "a": in: the key "r" is missing`},
		{`, "tol": 1e-6`, "", `case "a": tol is not a number from 0 to 0.01`},
		{"1e-6", "1", "tol is not a number from 0 to 0.01"},
		{"-0.5, 1]", "NaN, 1]", "not vectors: invalid character 'N'"},
		{"-0.5, 1]", "1e999, 1]", "not vectors: json: cannot unmarshal number 1e999"},
		{"-0.5, 1]", "null, 1]", "out.y[0] is NaN in the file"},
		{"-0.5, 1]", "-0.5, 1, 1]", "the file has out.y[2] where the code gives nothing more"},
		{"-0.5, 1]", "-0.5]", "the file has nothing more where the code gives out.y[1]"},
		{"-0.5, 1]", "-0.5, 1.001]", "out.y[1] is 1.001 in the file, the code gives 1;"},
		{out, `{"z": 1}`, "the file has out.z where the code gives out.y[0]"},
		{`"out": ` + out + ",", "", "the file has out where the code gives out.y[0]"},
		{"0.5,", "1e200,", "the result is not finite"},
		{"[3, 4]", "[3]", "in: q_target[1] has 1 elements, want 2"},
		{"[1, 0]", "[1, 0.5]", "cannot unmarshal number 0.5 into"},
		{"[1, 0]", "[1, 2]", "in: an index is out of range"},
		{"[1, 0]", "[1, -1]", "in: an index is out of range"},
		{"[1, 0]", "[1, 1]", "in: M is [1 1], want two different indices"},
		{"[1, 0]", "[1, 0, 1]", "in: M is [1 0 1], want two different indices"},
	} {
		err := checkOne([]byte(strings.Replace(good, test.old, test.new, 1)))
		if test.want == "" && err == nil {
			continue // the base of the errors
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "qta: vectors: x.json: ") {
			t.Errorf("%s for %s: error %v, want one of x.json with %q", test.new, test.old, err, test.want)
		}
	}
	nothing := `{"equation": "achievable", "cases": [
		{"in": {"q_mean": [], "c": 1, "T": 1}, "out": {"kept": []}, "tol": 0}]}`
	if err := checkOne([]byte(nothing)); err == nil || !strings.Contains(err.Error(), "out has no numbers") {
		t.Errorf("nothing to compare: error %v", err)
	}
	for _, dir := range []string{".ci", "testdata/nowhere"} {
		if _, err := Check(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "there is no file *.json") {
			t.Errorf("a folder without vectors: error %v", err)
		}
	}
}

// Arbitrary bytes are an error and no panic.
func FuzzCheck(f *testing.F) {
	for _, e := range equations() {
		text, _ := goldenFile(f, e.name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkOne(text) })
}
