package qta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// vectorFile returns a file of one case.
func vectorFile(equation string, in, out object) *fstest.MapFile {
	text, err := json.Marshal(object{"equation": equation, "paper": "", "cases": []object{
		{"name": "one", "in": in, "out": out, "tol": 2e-5},
	}})
	if err != nil {
		panic(err)
	}
	return &fstest.MapFile{Data: text}
}

// netLike returns numbers in the shape of n.
func netLike(n vectorNet, numbers []float64) vectorNet {
	var shaped vectorNet
	for _, l := range n {
		var s vectorLayer
		for range l.W {
			s.W = append(s.W, numbers[:len(l.B)])
			numbers = numbers[len(l.B):]
		}
		s.B, numbers = numbers[:len(l.B)], numbers[len(l.B):]
		shaped = append(shaped, s)
	}
	return shaped
}

// cloneNet returns a copy that shares nothing.
func cloneNet(n vectorNet) vectorNet {
	var numbers []float64
	for _, p := range twinParams(n...) {
		numbers = append(numbers, *p)
	}
	return netLike(n, numbers)
}

// twinVectors makes vectors with the twins: five critics, hidden layers of
// different widths, and one action component.
func twinVectors() fstest.MapFS {
	const (
		critics = 5
		rows    = 7
		γ, ρ    = 0.9, 0.8
	)
	rng := rand.New(rand.NewPCG(11, 0))
	sizes := Sizes{Observation: 3, Goal: 2, Action: 1}
	Q := randomNets(rng, critics, 6, 4, 9, 1)
	targets := randomNets(rng, critics, 6, 4, 9, 1)
	actor, actorTarget := randomNet(rng, 5, 8, 1), randomNet(rng, 5, 8, 1)
	var heads []vectorLayer
	for range critics {
		heads = append(heads, randomLayer(rng, 9, 3))
	}
	b := randomBatch(rng, rows, sizes, 3)
	fsys := fstest.MapFS{}

	var y, aNext []any
	for k := range rows {
		y = append(y, twinTarget(actorTarget, targets, b, k, γ, []int{4, 2}))
		aNext = append(aNext, twinAct(actorTarget, b.next[k], b.g[k]))
	}
	fsys["td-target-networks.json"] = vectorFile("td-target-networks",
		object{"actor": actorTarget, "critics": targets, "s_next": b.next, "g": b.g, "r": b.r, "gamma": γ, "M": []int{4, 2}},
		object{"a_next": aNext, "y": y})

	var losses []float64
	var gradients []vectorNet
	for _, q := range Q {
		loss := func() float64 { return twinCriticLoss(q, b, true) }
		losses = append(losses, loss())
		gradients = append(gradients, netLike(q, twinGradient(twinParams(q...), loss)))
	}
	fsys["critic-loss.json"] = vectorFile("critic-loss",
		object{"critics": Q, "s": b.s, "g": b.g, "a": b.a, "y": b.y, "w": b.w},
		object{"loss": losses, "grad": gradients})

	loss := func() float64 { return twinPolicyLoss(actor, Q, b, 0.5) }
	fsys["policy-gradient.json"] = vectorFile("policy-gradient",
		object{"actor": actor, "critics": Q, "s": b.s, "g": b.g, "action_l2": 0.5},
		object{"loss": loss(), "grad": netLike(actor, twinGradient(twinParams(actor...), loss))})

	moved := cloneNet(targets[0])
	twinPolyak(twinParams(moved...), twinParams(Q[0]...), ρ)
	fsys["polyak.json"] = vectorFile("polyak",
		object{"target": targets[0], "online": Q[0], "rho": ρ}, object{"target": moved})

	const d = 6
	var actions [][][]float64
	perAction := make([][]float64, d)
	ε := make([]float64, rows)
	for j := range d {
		actions = append(actions, randomRows(rng, rows, 1))
		for k := range rows {
			at := b
			at.a = actions[j]
			var predictions [][]float64
			for i, q := range Q {
				predictions = append(predictions, twinPrediction(q, heads[i], at, k))
			}
			perAction[j] = append(perAction[j], twinDeviation(predictions))
			ε[k] += perAction[j][k] / d
		}
	}
	fsys["uncertainty.json"] = vectorFile("uncertainty",
		object{"critics": Q, "heads": heads, "s": b.s, "g": b.g, "actions": actions},
		object{"per_action": perAction, "epsilon": ε})

	var adams [2*critics + 1]*twinAdam
	for i := range adams {
		adams[i] = newTwinAdam()
	}
	in := object{"gamma": γ, "rho": ρ, "lr_actor": 0.01, "lr_critic": 0.02, "lr_predictive": 0.03, "action_l2": 0.5,
		"actor": cloneNet(actor), "actor_target": cloneNet(actorTarget)}
	var cQ, cTargets, cHeads []vectorNet
	for i := range critics {
		cQ, cTargets, cHeads = append(cQ, cloneNet(Q[i])), append(cTargets, cloneNet(targets[i])), append(cHeads, cloneNet(vectorNet{heads[i]}))
	}
	in["critics"], in["critic_targets"] = cQ, cTargets
	in["heads"] = slices.Concat(cHeads...)
	var steps []object
	for step := range 3 {
		b, M := randomBatch(rng, rows-step, sizes, 3), []int{step, critics - 1 - step/2}
		steps = append(steps, object{"s": b.s, "g": b.g, "a": b.a, "s_next": b.next, "r": b.r, "M": M})
		for k := range b.s {
			b.y[k] = twinTarget(actorTarget, targets, b, k, γ, M)
		}
		// Both losses of a critic before it moves: its head sees the latent
		// from before.
		for i, q := range Q {
			critic := twinGradient(twinParams(q...), func() float64 { return twinCriticLoss(q, b, false) })
			head := twinGradient(twinParams(heads[i]), func() float64 { return twinPredictiveLoss(q, heads[i], b, "mse") })
			adams[i].step(twinParams(q...), critic, 0.02, 0)
			adams[critics+i].step(twinParams(heads[i]), head, 0.03, 0)
		}
		gradient := twinGradient(twinParams(actor...), func() float64 { return twinPolicyLoss(actor, Q, b, 0.5) })
		adams[2*critics].step(twinParams(actor...), gradient, 0.01, 0)
		twinPolyak(twinParams(actorTarget...), twinParams(actor...), ρ)
		for i, q := range Q {
			twinPolyak(twinParams(targets[i]...), twinParams(q...), ρ)
		}
	}
	in["steps"] = steps
	fsys["update.json"] = vectorFile("update", in,
		object{"actor": actor, "actor_target": actorTarget, "critics": Q, "critic_targets": targets, "heads": heads})
	return fsys
}

// Vectors of other sizes than those in testdata/golden run as they stand.
func TestCheckOtherSizes(t *testing.T) {
	results, err := Check(twinVectors())
	if err != nil || len(results) != 6 {
		t.Fatalf("Check returned %d results and the error %v", len(results), err)
	}
	for _, r := range results {
		if r.Err != nil || !(r.Worst <= 2e-5) {
			t.Errorf("%s: error %v, worst %v", r.Equation, r.Err, r.Worst)
		}
	}
}

// goldenFiles returns every file of testdata/golden by its equation.
func goldenFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, e := range equations() {
		text, err := os.ReadFile(filepath.Join("testdata", "golden", e.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		files[e.name] = text
	}
	return files
}

// holds reports whether everything in a file holds.
func holds(file any) bool {
	text, ok := file.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(file); err != nil {
			panic(err)
		}
	}
	results, err := Check(fstest.MapFS{"x.json": {Data: text}})
	for _, r := range results {
		if r.Err != nil {
			return false
		}
	}
	return err == nil
}

// leaf is a place in decoded JSON, with a way to put something else there.
type leaf struct {
	path  string
	value any
	set   func(any)
}

// leaves returns every value below v.
func leaves(path string, v any) []leaf {
	var all []leaf
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			p := path + "." + k
			all = append(all, leaf{p, x, func(x any) { v[k] = x }})
			all = append(all, leaves(p, x)...)
		}
	case []any:
		for i, x := range v {
			p := fmt.Sprintf("%s[%d]", path, i)
			all = append(all, leaf{p, x, func(x any) { v[i] = x }})
			all = append(all, leaves(p, x)...)
		}
	}
	slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	return all
}

// Every golden file is caught if a number of an "out" changes, if a vector has
// an element more or less, if a key comes or goes, and if anything is null.
func TestCheckCatches(t *testing.T) {
	t.Parallel()
	// Lists that can have any length, whatever else there is.
	free := map[string]bool{
		"her in.achieved_next": true, "td-target in.q_target": true, "td-target-networks in.critics": true, "achievable in.q_mean": true,
	}
	places := 60 // to try in a file, fewer in a long one
	if testing.Short() {
		places = 10
	}
	rng := rand.New(rand.NewPCG(1, 0))
	files := goldenFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) { // in order, as rng is of all
		text := files[name]
		t.Run(name, func(t *testing.T) {
			var file object
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			if !holds(file) {
				t.Fatal("the file does not hold as it is")
			}
			cases := file["cases"].([]any)
			one := cases[rng.IntN(len(cases))].(object)
			file["cases"] = []any{one}
			try := func(l leaf, what string, x any) {
				l.set(x)
				if holds(file) {
					t.Errorf("%s %s: not caught", l.path, what)
				}
				l.set(l.value)
			}
			in := one["in"].(object)
			for _, of := range []string{"q_target", "critics"} { // which may be more than M names, and no fewer
				if all, ok := in[of].([]any); ok && in["M"] != nil {
					named := 0
					for _, m := range in["M"].([]any) {
						named = max(named, int(m.(float64)))
					}
					try(leaf{"in." + of, all, func(x any) { in[of] = x }}, "without one that M names", all[:named])
				}
			}
			// Of "in" only the shapes decide; one number may not matter.
			for _, side := range []string{"in", "out"} {
				all := leaves(side, one[side])
				all = append(all, leaf{side, one[side], func(x any) { one[side] = x }})
				rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				all = all[:min(len(all), places, 3+places*1000/len(text))]
				for _, l := range all {
					if !(name == "her" && l.path == "in.future") {
						try(l, "null", nil)
					}
					try(l, "a string", "x")
					switch v := l.value.(type) {
					case float64:
						try(l, "an array", []any{v})
						if side == "out" {
							try(l, "changed", v+3*max(1e-6, one["tol"].(float64))*(1+math.Abs(v)))
						}
					case []any:
						if !free[name+" "+l.path] {
							try(l, "longer", append(slices.Clone(v), v[len(v)-1]))
							try(l, "shorter", v[:len(v)-1])
						}
						try(l, "empty", []any{})
					case object:
						for k := range v {
							less, more := object{}, object{"another": 1.0}
							for k2, x := range v {
								more[k2] = x
								if k2 != k {
									less[k2] = x
								}
							}
							try(l, "more keys", more)
							if k != "output" && !(k == "w" && name == "critic-loss" && l.path == "in") {
								try(l, "without "+k, less)
							}
						}
					}
				}
			}
		})
	}
}

func TestCheckErrors(t *testing.T) {
	const (
		in   = `{"r": [-1, 0], "gamma": 0.5, "q_target": [[1, 2], [3, 4]], "M": [1, 0]}`
		out  = `{"y": [-0.5, 1]}`
		head = `{"equation": "td-target", "paper": "", "cases": [`
	)
	case1 := func(name, in, out, tol string) string {
		return `{"name": "` + name + `", "in": ` + in + `, "out": ` + out + `, "tol": ` + tol + `}`
	}
	good := head + case1("a", in, out, "1e-6") + "]}"
	if !holds([]byte(good)) {
		t.Fatal("the base of the errors does not hold")
	}
	for _, test := range []struct{ what, file, want string }{
		{"empty", "", "the file is not JSON"},
		{"two values", good + good, "the file is not JSON"},
		{"no object", "[]", "the file is [], not an object"},
		{"unknown equation", strings.Replace(good, "td-target", "td_target", 1), `unknown equation "td_target"; known are mlp-forward`},
		{"no cases", head + "]}", "no cases"},
		{"missing key", `{"equation": "td-target", "cases": []}`, `lacks the key "paper"`},
		{"extra key", strings.Replace(good, `"paper"`, `"papers": 1, "paper"`, 1), `unknown key "papers"`},
		{"key twice", strings.Replace(good, `"paper"`, `"paper": "", "paper"`, 1), `key "paper" twice`},
		{"other spelling", strings.Replace(good, `"gamma"`, `"Gamma"`, 1), `in lacks the key "gamma"`},
		{"no name", head + case1("", in, out, "1e-6") + "]}", `the name "" is empty`},
		{"name twice", head + case1("a", in, out, "1e-6") + "," + case1("a", in, out, "1e-6") + "]}", `the name "a" is empty or another case's`},
		{"no tolerance", head + case1("a", in, out, "1") + "]}", "tol is 1, allowed are 0 to 0.01"},
		{"NaN", head + case1("a", in, `{"y": [NaN, 1]}`, "1e-6") + "]}", "the file is not JSON"},
		{"infinite", head + case1("a", in, `{"y": [1e999, 1]}`, "1e-6") + "]}", "out.y[0] is 1e999, not a number"},
		{"NaN result", head + case1("a", strings.Replace(in, "0.5", "1e200", 1), out, "1e-6") + "]}", "is -0.5 in the file, the code gives +Inf"},
		{"null", strings.Replace(good, "0.5,", "null,", 1), "in.gamma is null, not a number"},
		{"fraction", strings.Replace(good, "[1, 0]}", "[1, 0.5]}", 1), "in.M[1] is 0.5, not a whole number"},
		{"extra in out", head + case1("a", in, `{"y": [-0.5, 1], "z": 1}`, "1e-6") + "]}", `out has an unknown key "z"`},
		{"lacking out", head + case1("a", in, `{}`, "1e-6") + "]}", `out lacks the key "y"`},
		{"longer", head + case1("a", in, `{"y": [-0.5, 1, 1]}`, "1e-6") + "]}", "out.y has 3 elements in the file, the code gives 2"},
		{"wrong value", head + case1("a", in, `{"y": [-0.5, 1.001]}`, "1e-6") + "]}", "out.y[1] is 1.001 in the file, the code gives 1;"},
		{"ragged", strings.Replace(good, "[3, 4]", "[3]", 1), "in.q_target[1] has 1 elements, want 2"},
		{"M out of range", strings.Replace(good, "[1, 0]}", "[1, 2]}", 1), "in.M is [1 2], want two different indices of 2 critics"},
		{"M twice the same", strings.Replace(good, "[1, 0]}", "[1, 1]}", 1), "in.M is [1 1], want two different indices of 2 critics"},
		{"M of three", strings.Replace(good, "[1, 0]}", "[1, 0, 1]}", 1), "in.M has 3 elements, want 2"},
		{"nothing to compare", `{"equation": "achievable", "paper": "", "cases": [` + case1("a", `{"q_mean": [], "c": 1, "T": 1}`, `{"kept": []}`, "0") + "]}", "out has no numbers"},
	} {
		results, err := Check(fstest.MapFS{"x.json": {Data: []byte(test.file)}})
		for _, r := range results {
			if err == nil {
				err = r.Err
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "qta: vectors: x.json: ") {
			t.Errorf("%s: error %v, want one of x.json with %q", test.what, err, test.want)
		}
	}
	if _, err := Check(fstest.MapFS{"x.txt": {}}); err == nil || !strings.Contains(err.Error(), "there is no file *.json") {
		t.Errorf("a folder without vectors: error %v", err)
	}
	if _, err := Check(os.DirFS("testdata/nowhere")); err == nil {
		t.Error("a folder that does not exist: no error")
	}
}

// Arbitrary bytes are an error and no panic.
func FuzzCheck(f *testing.F) {
	for _, text := range goldenFiles(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		Check(fstest.MapFS{"x.json": {Data: text}})
	})
}
