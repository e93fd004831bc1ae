package qta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// This file holds the code to vectors: inputs, and the outputs that another
// implementation computed from them. A file of vectors is JSON,
//
//	{"equation": NAME, "paper": WHAT, "cases": [
//		{"name": ..., "in": {...}, "out": {...}, "tol": T}, ...]}
//
// and a result r holds against the e of "out" where |r-e| <= T (1 + |e|). Sizes
// are free, names are not. The functions called are those that training calls.
// All numbers are read and given by their place, such as y[0] or net[1].w[0][2]:
// what is missing, or left over, is an error.

// A CheckResult says whether the code holds to one case of a file of vectors.
type CheckResult struct {
	File     string
	Equation string // the file's "equation"
	Case     string
	Numbers  []int  // the equations of the paper that it concerns, if any
	Function string // the function, or functions, held to the vectors

	Err       error        // what does not hold, or nil
	Worst     float64      // largest |r-e| / (1 + |e|) of the case
	Tolerance float64      // T
	Compared  []Comparison // the numbers of "out"
}

// A Comparison is a number of a vector beside the one that the code gives.
type Comparison struct {
	Name         string // its place, such as out.y[0]
	Vector, Code float64
}

// Check holds the code to every case of every file *.json at the top of fsys,
// in the order of the files' names. The error reports files that cannot be read
// or are not vectors; a result has what is wrong with its case. The package
// qta/testdata has the golden vectors, and its README the format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil || len(names) == 0 {
		return nil, errors.New("qta: vectors: there is no file *.json")
	}
	var results []CheckResult
	for _, name := range names {
		file, err := checkFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("qta: vectors: %s: %w", name, err)
		}
		results = append(results, file...)
	}
	return results, nil
}

type vectorCase struct {
	Name string
	In   json.RawMessage
	Out  json.RawMessage
	Tol  *float64
}

func checkFile(fsys fs.FS, name string) ([]CheckResult, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Equation, Paper string
		Cases           []vectorCase
	}
	if err := fromJSON(text, &file); err != nil {
		return nil, fmt.Errorf("not vectors: %w", err)
	}
	var known []string
	for _, e := range equations {
		known = append(known, e.name)
	}
	k := slices.Index(known, file.Equation)
	if k < 0 {
		return nil, fmt.Errorf("unknown equation %q; known are %s", file.Equation, strings.Join(known, ", "))
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	var results []CheckResult
	e := &equations[k]
	for _, c := range file.Cases {
		r := CheckResult{File: name, Equation: e.name, Case: c.Name, Numbers: e.numbers, Function: e.function}
		if err := r.check(e, &c); err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// check fills r from a case. What goes wrong panics, in this file or in the
// functions held to the vectors.
func (r *CheckResult) check(e *equation, c *vectorCase) (err error) {
	if c.Tol == nil || !(*c.Tol >= 0 && *c.Tol <= 0.01) {
		return errors.New("tol is not a number from 0 to 0.01")
	}
	r.Tolerance = *c.Tol
	defer func() {
		if problem := recover(); problem != nil && err == nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	in, out := readVector("in", c.In), readVector("out", c.Out)
	for key := range strings.FieldsSeq(e.keys) {
		if key, optional := strings.CutSuffix(key, "?"); !optional && !in.has(key) {
			panic("in: there is no " + key)
		}
	}
	e.check(in, func(name string, value any, index ...int) {
		for _, i := range index {
			name = element(name, i)
		}
		walk(name, reflect.ValueOf(value), func(place string, x reflect.Value) {
			v, code := out.number(place), x.Convert(reflect.TypeFor[float64]()).Float()
			distance := math.Abs(code-v) / (1 + math.Abs(v))
			r.Worst = max(r.Worst, distance) // NaN if the code's is
			r.Compared = append(r.Compared, Comparison{"out." + place, v, code})
			if err == nil && !(distance <= r.Tolerance) {
				err = fmt.Errorf("out.%s is %v in the file, the code gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v",
					place, v, code, distance, r.Tolerance)
			}
		})
	})
	in.finish()
	out.finish()
	return err
}

// walk calls leaf for every number in a value: a number, a pointer to one, or any
// nesting of slices, matrices and layers.
func walk(place string, value reflect.Value, leaf func(place string, x reflect.Value)) {
	switch v := value.Interface().(type) {
	case matrix:
		for i := range v.rows {
			walk(element(place, i), reflect.ValueOf(v.row(i)), leaf)
		}
	case layer:
		walk(place+".w", reflect.ValueOf(v.w), leaf)
		walk(place+".b", reflect.ValueOf(v.b), leaf)
	default:
		if value.Kind() != reflect.Slice {
			leaf(place, reflect.Indirect(value))
			return
		}
		for i := range value.Len() {
			walk(element(place, i), value.Index(i), leaf)
		}
	}
}

// element returns the place of element i of a list.
func element(place string, i int) string { return place + "[" + strconv.Itoa(i) + "]" }

// A vector is a case's "in" or "out", taken apart by place.
type vector struct {
	side   string
	leaves map[string]any // numbers, words and null
	taken  map[string]bool
	length map[string]int // of lists and objects
}

// readVector takes one side of a case apart.
func readVector(side string, text []byte) *vector {
	v := &vector{side, map[string]any{}, map[string]bool{}, map[string]int{}}
	v.read("", json.NewDecoder(bytes.NewReader(text)))
	return v
}

// read takes apart the next value, which is at a place.
func (v *vector) read(place string, d *json.Decoder) {
	token, err := d.Token()
	if err != nil {
		panic(fmt.Sprintf("%s: at %q: %v", v.side, place, err))
	}
	open, ok := token.(json.Delim)
	if !ok {
		if _, twice := v.leaves[place]; twice {
			panic(fmt.Sprintf("%s: %s comes twice", v.side, place))
		}
		v.leaves[place] = token
		return
	}
	n := 0
	for ; d.More(); n++ {
		inner := element(place, n)
		if open == '{' {
			key, _ := d.Token()
			inner = strings.TrimPrefix(fmt.Sprintf("%s.%s", place, key), ".")
		}
		v.read(inner, d)
	}
	v.length[place] = n
	d.Token() // the closing delimiter
}

// finish panics if something was given that nothing has asked for.
func (v *vector) finish() {
	for _, place := range slices.Sorted(maps.Keys(v.leaves)) {
		if v.leaves[place] != nil && !v.taken[place] {
			panic(fmt.Sprintf("%s: %s is unknown, or one too many", v.side, place))
		}
	}
}

// has reports whether there is a value at a place, or a list that is not empty.
func (v *vector) has(place string) bool { return v.leaves[place] != nil || v.length[place] > 0 }

func (v *vector) number(place string) float64 {
	x, ok := v.leaves[place].(float64)
	if !ok {
		panic(fmt.Sprintf("%s: there is no number %s", v.side, place))
	}
	v.taken[place] = true
	return x
}

// word returns the word at a place, or "", which must be one of some.
func (v *vector) word(place string, allowed ...string) string {
	word, _ := v.leaves[place].(string)
	if !slices.Contains(allowed, word) {
		panic(fmt.Sprintf("%s: %s is %q, allowed are %q", v.side, place, word, allowed))
	}
	v.taken[place] = true
	return word
}

// fill sets what a value that [walk] takes points to, from a place.
func (v *vector) fill(place string, to any) {
	walk(place, reflect.ValueOf(to), func(place string, x reflect.Value) {
		number := v.number(place)
		if !x.CanInt() {
			x.SetFloat(number)
		} else if x.SetInt(int64(number)); float64(x.Int()) != number {
			panic(fmt.Sprintf("%s: %s is %v, want a whole number", v.side, place, number))
		}
	})
}

// fillGiven is fill where there is something at the place.
func (v *vector) fillGiven(place string, to any) {
	if v.has(place) {
		v.fill(place, to)
	}
}

// list returns the list of numbers at a place.
func list[T int | float32 | float64](v *vector, place string) []T {
	x := make([]T, v.length[place])
	v.fill(place, x)
	return x
}

// lists returns the list of lists at a place, all as long as the first.
func lists[T int | float32 | float64](v *vector, place string) (rows [][]T) {
	for i := range v.length[place] {
		row := make([]T, v.length[element(place, 0)])
		v.fill(element(place, i), row)
		rows = append(rows, row)
	}
	return rows
}

// whole returns the whole number at a place.
func (v *vector) whole(place string) (n int) {
	v.fill(place, &n)
	return n
}

// matrix returns the matrix at a place: a list of rows as long as the first.
func (v *vector) matrix(place string) matrix {
	m := newMatrix(v.length[place], v.length[element(place, 0)])
	v.fill(place, m)
	return m
}

// net returns the network at a place, and the widths of its layers.
func (v *vector) net(place string) (*mlp, []int) {
	widths := []int{v.length[place+"[0].w"]}
	for i := range v.length[place] {
		widths = append(widths, v.length[element(place, i)+".b"])
	}
	net := newMLP(make([]float32, mlpSize(widths)), widths)
	v.fill(place, net.layers)
	return net, widths
}

// agent returns an agent with the case's networks, rates and coefficients, for
// minibatches such as the one at a place. Targets equal their networks where the
// case has none. It does not clip returns: Equation 1 does not.
func (v *vector) agent(p Params, at string) *Agent {
	p.ClipReturns, p.Curriculum = false, "her" // for which one critic will do
	p.Critics, p.HiddenLayers = v.length["critics"], v.length["critics[0]"]-1
	p.HiddenSize = v.length["critics[0][0].b"]
	v.fillGiven("gamma", &p.Discount)
	v.fillGiven("rho", &p.Polyak)
	v.fillGiven("action_l2", &p.ActionL2)
	v.fillGiven("lr_actor", &p.ActorRate)
	v.fillGiven("lr_critic", &p.CriticRate)
	v.fillGiven("lr_predictive", &p.PredictiveRate)
	a, err := NewAgent(p, Sizes{
		Observation: max(v.length[at+"s[0]"], v.length[at+"s_next[0]"]),
		Goal:        v.length[at+"g[0]"],
		Action: max(v.length[at+"a[0]"], v.length["actions[0][0]"],
			v.length[element("actor", p.HiddenLayers)+".b"]),
	}, 0)
	if err != nil {
		panic(err)
	}
	var critics, targets [][]layer
	var heads []layer
	for _, c := range a.pun.critics {
		critics, targets = append(critics, c.q.layers), append(targets, c.target.layers)
		heads = append(heads, c.head)
	}
	v.fill("critics", critics)
	v.fill("critics", targets)
	v.fillGiven("critic_targets", targets)
	v.fillGiven("heads", heads)
	v.fillGiven("actor", a.policy.net.layers)
	v.fillGiven("actor", a.policy.target.layers)
	v.fillGiven("actor_target", a.policy.target.layers)
	return a
}

// batch returns the minibatch at a place, with zeros for what it lacks, and makes
// room for it.
func (v *vector) batch(a *Agent, at string) *batch {
	n, s, sg := v.length[at+"g"], a.sizes.Observation, a.sizes.Observation+a.sizes.Goal
	a.pun.reserve(n)
	b := newBatch(n, a.sizes, a.pun)
	v.fillGiven(at+"s", b.x.columns(0, s))
	v.fillGiven(at+"g", b.x.columns(s, sg))
	v.fillGiven(at+"a", b.x.columns(sg, b.x.cols))
	v.fillGiven(at+"s_next", b.next.columns(0, s))
	v.fillGiven(at+"g", b.next.columns(s, sg))
	v.fillGiven(at+"s_next", b.head)
	v.fillGiven(at+"r", b.r)
	v.fillGiven(at+"y", b.y[0]) // of all critics
	v.fillGiven(at+"w", b.weights[0])
	return &b
}

// learner returns an agent with the case's networks, and its minibatch.
func (v *vector) learner(p Params) (*Agent, *batch) {
	a := v.agent(p, "")
	return a, v.batch(a, "")
}

// An equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations
	function string // the home, or the homes
	keys     string // of "in", all needed but those with ?
	check    func(in *vector, out output)
}

// An output compares a result with what "out" has under a name, or in element i of
// the list there.
type output func(name string, value any, i ...int)

const updateKeys = "actor actor_target critics critic_targets heads gamma rho " +
	"lr_actor lr_critic lr_predictive action_l2 steps"

var equations = []equation{
	{"mlp-forward", nil, "mlp.forward", "net x output?", checkNetwork},
	{"mlp-backward", nil, "mlp.backward", "net x dy output?", checkNetwork},
	{"adam", nil, "adam.step", "w grads lr beta1 beta2 eps", func(in *vector, out output) {
		if in.number("beta1") != adamBeta1 || in.number("beta2") != adamBeta2 || in.number("eps") != adamEpsilon {
			panic(fmt.Sprintf("in: beta1, beta2 and eps are not %v, %v and %v", adamBeta1, adamBeta2, adamEpsilon))
		}
		w := list[float32](in, "w")
		a := newAdam(w, make([]float32, len(w)), in.number("lr"), 0, newWorkers(1))
		for i, gradient := range lists[float32](in, "grads") {
			copy(a.gradient, gradient)
			a.step()
			out("w", w, i)
		}
	}},
	{"td-target", []int{1}, "TDTarget", "r gamma q_target M", func(in *vector, out output) {
		q, r := lists[float32](in, "q_target"), list[float32](in, "r")
		y := make([]float32, len(r))
		i, j := drawPair(pairScript(list[int](in, "M"), len(q)), len(q))
		TDTarget(y, r, q[i], q[j], in.number("gamma"))
		out("y", y)
	}},
	{"td-target-networks", []int{1}, "Agent.target", "actor critics s_next g r gamma M", func(in *vector, out output) {
		a, b := in.learner(Paper())
		a.learning = pairScript(list[int](in, "M"), len(a.pun.critics))
		a.target(b)
		out("a_next", b.next.columns(b.next.cols-a.sizes.Action, b.next.cols))
		out("y", b.y[0])
	}},
	{"critic-loss", []int{2}, "CriticLoss", "critics s g a y w?", func(in *vector, out output) {
		a, b := in.learner(Paper())
		for i, c := range a.pun.critics {
			loss, _ := a.pun.criticGradient(i, b)
			out("loss", loss, i)
			out("grad", c.gradient.q.layers, i)
		}
	}},
	{"polyak", []int{3}, "Polyak", "target online rho", func(in *vector, out output) {
		target, _ := in.net("target")
		online, _ := in.net("online")
		Polyak(target.params, online.params, in.number("rho"))
		out("target", target.layers)
	}},
	{"policy-gradient", nil, "policy.learn", "actor critics s g action_l2", func(in *vector, out output) {
		a, b := in.learner(Paper())
		out("loss", a.policy.learn(b.x, a.pun))
		out("grad", a.policy.gradient.layers)
	}},
	{"predictive-loss", []int{4}, "PredictiveLoss", "form critics heads s g a s_next", checkPredictiveLoss},
	{"uncertainty-std", []int{5}, "HeadDeviation", "pred", func(in *vector, out output) {
		var heads [][]float32
		for i := range in.length["pred"] {
			heads = append(heads, slices.Concat(lists[float32](in, element("pred", i))...))
		}
		u := make([]float64, in.length["pred[0]"])
		HeadDeviation(u, heads, in.length["pred[0][0]"])
		out("u", u)
	}},
	{"uncertainty", []int{5}, "pun.uncertainty", "critics heads s g actions", func(in *vector, out output) {
		a, b := in.learner(Paper())
		x, ε := b.x, make([]float64, b.x.rows)
		actions := x.columns(x.cols-a.sizes.Action, x.cols)
		for j := range in.length["actions"] {
			in.fill(element("actions", j), actions)
			a.pun.deviation(ε, x)
			out("per_action", ε, j)
		}
		a.pun.uncertainty(ε, x, in.length["actions"], func(j, k int) {
			in.fill(element(element("actions", j), k), actions.row(k))
		})
		out("epsilon", ε)
	}},
	{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", "epsilon m b", func(in *vector, out output) {
		ε := list[float64](in, "epsilon")
		x := make([]float64, len(ε))
		scaleUncertainty(x, ε)
		out("normalized", x)
		GoalProbabilities(x, ε, in.number("m"), in.number("b"))
		out("p", x)
	}},
	{"achievable", nil, "Achievable", "q_mean c T", func(in *vector, out output) {
		q := list[float64](in, "q_mean")
		var candidates []int
		for k := range q {
			candidates = append(candidates, k)
		}
		out("kept", Achievable(candidates, q, in.number("c"), in.whole("T")))
	}},
	{"per", []int{7, 8}, "prioritized.probability, ImportanceWeights", "priority alpha beta", checkPriorities},
	{"per-beta", nil, "PriorityBeta", "beta_initial beta_steps t", func(in *vector, out output) {
		for k, t := range list[int](in, "t") {
			β := PriorityBeta(t, in.number("beta_initial"), in.whole("beta_steps"))
			out("beta", β, k)
		}
	}},
	{"her", nil, "replay.relabel", "achieved_next goal i future? radius", checkHindsight},
	{"her-future", nil, "futureStep", "i n u", func(in *vector, out output) {
		out("future", futureStep(in.whole("i"), in.whole("n"), in.number("u")))
	}},
	{"optimal-return", nil, "OptimalValue", "hops gamma", func(in *vector, out output) {
		for k, hops := range list[int](in, "hops") {
			out("undiscounted", OptimalValue(1, hops), k)
			out("discounted", OptimalValue(in.number("gamma"), hops), k)
		}
	}},
	{"update", nil, "Agent.learnFrom", updateKeys, checkUpdate},
	{"update-joint", nil, "Agent.learnFrom", updateKeys + " predictive_weight", checkUpdate},
	{"gaussian-nll", nil, "gaussianLoss", "mu raw y", func(in *vector, out output) {
		μ := list[float32](in, "mu")
		raw, y := make([]float32, len(μ)), make([]float32, len(μ))
		in.fill("raw", raw)
		in.fill("y", y)
		p, dp := newMatrix(len(μ), 2), newMatrix(len(μ), 2)
		for r := range μ {
			p.row(r)[0], p.row(r)[1] = μ[r], raw[r]
		}
		out("loss", gaussianLoss(dp.data, p.data, y, 1))
		for r := range μ {
			out("grad_mu", dp.row(r)[0], r)
			out("grad_raw", dp.row(r)[1], r)
		}
	}},
	{"vds", nil, "valueDisagreement, toProbabilities", "q", func(in *vector, out output) {
		x := make([]float64, in.length["q[0]"])
		valueDisagreement(x, lists[float32](in, "q"))
		out("std", x)
		toProbabilities(x)
		out("p", x)
	}},
	{"kde", nil, "logDensity", "points query bandwidth", func(in *vector, out output) {
		points := slices.Concat(lists[float64](in, "points")...)
		for k, x := range lists[float64](in, "query") {
			out("log_density", logDensity(points, x, in.number("bandwidth")), k)
		}
	}},
}

// checkNetwork is a forward pass and, given dL/dy, a backward pass.
func checkNetwork(in *vector, out output) {
	net, widths := in.net("net")
	p, x, last := newPass(widths, newWorkers(1)), in.matrix("x"), len(net.layers)
	ξ := net.latent(p, x)
	y := net.forward(p, x)
	output := in.word("output", "", "tanh")
	if output == "tanh" {
		for i, v := range y.data {
			y.data[i] = tanh32(v)
		}
	}
	if !in.has("dy") {
		out("xi", ξ)
		out("y", y)
		return
	}
	dy := p.dx[last]
	in.fill("dy", dy)
	if output == "tanh" {
		for i, v := range y.data {
			dy.data[i] *= 1 - float32(v*v)
		}
	}
	gradient := newMLP(make([]float32, mlpSize(widths)), widths)
	net.backward(p, gradient, x, last, false)
	_, dx := net.outputGradient(p, x, 0)
	out("grad", gradient.layers)
	out("dx", dx)
}

func checkPredictiveLoss(in *vector, out output) {
	p := Paper()
	if in.word("form", "mse", "norm") == "norm" {
		p.HeadLoss = "norm"
	}
	a, b := in.learner(p)
	u := a.pun
	for i, c := range u.critics {
		loss := u.headGradient(i, c.q.latent(u.pass, b.x), c.prediction, b)
		out("loss", loss, i)
		out("pred", c.prediction, i)
		out("grad_head", c.gradient.head, i)
		// The vectors have the gradient after the latent's ReLU, so no mask.
		dξ := newMatrix(u.dp.rows, c.head.w.rows)
		c.head.backwardInput(u.pass.workers, dξ, u.dp, u.headT, epilogue{})
		out("grad_xi", dξ, i)
	}
}

func checkPriorities(in *vector, out output) {
	priority, α, β := list[float64](in, "priority"), in.number("alpha"), in.number("beta")
	n := len(priority)
	P, w := make([]float64, n), make([]float64, n)
	SampleProbabilities(P, priority, α)
	out("P", P)
	ImportanceWeights(w, P, n, β, 0)
	out("w", w)

	ImportanceWeights(w, P, n, β, slices.Min(P)) // as the sampler divides: by the largest
	out("w_normalized", w)
}

func checkHindsight(in *vector, out output) {
	goal, n, i := list[float64](in, "goal"), in.length["achieved_next"], in.whole("i")
	b := newReplay(Sizes{Observation: 1, Goal: len(goal), Action: 1}, n)
	zero := []float64{0}
	for _, achieved := range lists[float64](in, "achieved_next") {
		b.add(zero, achieved, zero, goal, State{Observation: zero, Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.has("future") {
		script = scripted{0, (float64(in.whole("future")-i) + 0.5) / float64(n-i)}
	}
	g := b.relabel(i, k, rand.New(&script))
	out("g", g)
	if radius := in.number("radius"); radius != GoalRadius {
		panic(fmt.Sprintf("in: radius is %v, want %v", radius, GoalRadius))
	}
	out("r", new(mazeEnv).Reward(b.nextAchieved.at(i), g))
}

// checkUpdate does whole updates: by the joint loss of Equations 2 and 4 where
// the case has its weight, else with Equation 4 moving only the heads.
func checkUpdate(in *vector, out output) {
	p := Paper()
	if !in.has("predictive_weight") {
		p.PredictiveGradient = "head"
	} else if weight := in.number("predictive_weight"); weight != 1 {
		panic(fmt.Sprintf("in: predictive_weight is %v, the joint loss here has 1", weight))
	}
	a := in.agent(p, "steps[0].")
	for i := range in.length["steps"] {
		step := element("steps", i) + "."
		b := in.batch(a, step)
		a.learning = pairScript(list[int](in, step+"M"), len(a.pun.critics))
		a.learnFrom(b, b, b)
	}
	out("actor", a.policy.net.layers)
	out("actor_target", a.policy.target.layers)
	for i, c := range a.pun.critics {
		out("critics", c.q.layers, i)
		out("critic_targets", c.target.layers, i)
		out("heads", c.head, i)
	}
}

// scripted is a source with which a generator's Float64 returns the given
// numbers, from 0 to 1, 1 excluded.
type scripted []float64

func (s *scripted) Uint64() uint64 {
	u := (*s)[0]
	*s = (*s)[1:]
	if !(0 <= u && u < 1) {
		panic("in: an index is out of range")
	}
	return uint64(u * (1 << 53))
}

// pairScript makes drawPair return M from n critics.
func pairScript(M []int, n int) stream {
	if len(M) != 2 || M[0] == M[1] {
		panic(fmt.Sprintf("in: M is %v, want two different indices", M))
	}
	i, j := float64(M[0]), float64(M[1])
	if j > i {
		j--
	}
	return stream{Rand: rand.New(&scripted{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)})}
}
