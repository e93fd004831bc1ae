package qta

import (
	"cmp"
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
// and a result r holds against the e of "out" where |r-e| <= T (1 + |e|). Sizes are
// free within small, names are not: what is missing, or left over, is an error.

// A CheckResult says whether the code meets one case of a file of vectors.
type CheckResult struct {
	File     string
	Case     string
	Numbers  []int  // the equations of the paper that it concerns, if any
	Function string // the function, or functions, held to the vectors

	Err       error        // what does not hold, or nil
	Worst     float64      // largest |r-e| / (1 + |e|) of the case
	Tolerance float64      // T
	Compared  []Comparison // the numbers of "out"
}

// A Comparison is a number of a vector, at a place such as out.y[0], beside the
// number that the code gives.
type Comparison struct {
	Name         string
	Vector, Code float64
}

// Check compares the code with every case of every file *.json at the top of
// fsys, in the order of the files' names. The error reports a file that does
// not hold vectors. Package qta/testdata has the golden vectors; its README
// describes the format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, _ := fs.Glob(fsys, "*.json")
	if len(names) == 0 {
		_, err := fs.ReadDir(fsys, ".")
		return nil, fmt.Errorf("qta: vectors: %w", cmp.Or(errors.Unwrap(err), errors.New("no file matches *.json")))
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
	Name    string
	In, Out json.RawMessage
	Tol     *float64
}

func checkFile(fsys fs.FS, name string) ([]CheckResult, error) {
	if info, err := fs.Stat(fsys, name); err == nil && (!info.Mode().IsRegular() || info.Size() > 4<<20) {
		return nil, errors.New("it is not a regular file of at most 4 MB")
	}
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
	k := slices.IndexFunc(equations, func(e equation) bool { return e.name == file.Equation })
	if k < 0 {
		return nil, fmt.Errorf("unknown equation %q; testdata/golden has a file of each", file.Equation)
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	var results []CheckResult
	e := &equations[k]
	for _, c := range file.Cases {
		r := CheckResult{File: name, Case: c.Name, Numbers: slices.Clone(e.numbers), Function: e.function}
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
	in, want := readVector("in", c.In), readVector("out", c.Out)
	in.hold(e.keys)
	e.check(in, func(name string, value any, index ...int) {
		want.walk(want.at(name, index...), reflect.ValueOf(value), func(place string, x reflect.Value) {
			v, code := want.take(place), x.Convert(reflect.TypeFor[float64]()).Float()
			distance := math.Abs(code-v) / (1 + math.Abs(v))
			r.Worst = max(r.Worst, distance) // NaN if the code's is
			r.Compared = append(r.Compared, Comparison{place, v, code})
			if err == nil && !(distance <= r.Tolerance) {
				err = fmt.Errorf("%s: the file has %v, package qta gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v",
					place, v, code, distance, r.Tolerance)
			}
		})
	})
	for _, v := range []vector{in, want} {
		for _, place := range slices.Sorted(maps.Keys(v.unused)) {
			return errors.New(place + " is unknown, or one too many")
		}
	}
	return err
}

// A vector is the "in" or "out" of a case, or one of its steps.
type vector struct {
	place  string          // such as in.steps[0]
	values map[string]any  // numbers, words and nulls, and the lengths of lists and objects, by their places
	unused map[string]bool // places of all but lengths that nothing has taken yet
}

func readVector(place string, text []byte) vector {
	v := vector{place, map[string]any{}, map[string]bool{}}
	var value any
	if err := fromJSON(text, &value); err != nil {
		panic(fmt.Sprintf("%s: %v", place, err))
	}
	v.read(place, value)
	return v
}

func (v vector) read(place string, value any) {
	if small(place, float64(len(v.values))); len(place) > 200 {
		panic(fmt.Sprintf("%.99s...: names are too long, or lists too deep", place))
	}
	switch x := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			v.read(place+"."+oneLine(name), x[name])
		}
		value = len(x)
	case []any:
		for i, inner := range x {
			v.read(at(place, i), inner)
			n, _ := v.values[at(place, i)].(int)
			if first, _ := v.values[at(place, 0)].(int); n != first {
				panic(fmt.Sprintf("%s has %d elements, the first list there %d", at(place, i), n, first))
			}
		}
		value = len(x)
	default:
		v.unused[place] = true
	}
	v.values[place] = value
}

// hold panics unless there are these keys. Those with a question mark may be absent.
func (v vector) hold(keys string) {
	for key := range strings.FieldsSeq(keys) {
		if key, optional := strings.CutSuffix(key, "?"); !v.has(key) && !optional {
			panic(v.place + ": there is no " + key)
		}
	}
}

// at returns the place of what has this name, or of an element of it.
func (v vector) at(name string, index ...int) string { return at(v.place+"."+name, index...) }

func at(place string, index ...int) string {
	for _, i := range index {
		place += "[" + strconv.Itoa(i) + "]"
	}
	return place
}

// len returns how many elements there are, 0 where there is no list.
func (v vector) len(name string, index ...int) int {
	n, _ := v.values[v.at(name, index...)].(int)
	return n
}

// has reports whether there is a value that is not null.
func (v vector) has(name string, index ...int) bool {
	value := v.values[v.at(name, index...)]
	if value == nil {
		delete(v.unused, v.at(name, index...))
	}
	return value != nil && value != 0
}

// take returns the number at a place.
func (v vector) take(place string) float64 {
	x, ok := v.values[place].(float64)
	if !ok {
		panic("there is no number " + place)
	}
	delete(v.unused, place)
	return x
}

// number returns a number, or 0 where there is none.
func (v vector) number(name string) float64 { return get[float64](v, name) }

// get returns a number, whole where T is int, a word, or lists of such; what is absent is zero.
func get[T any](v vector, name string, index ...int) (value T) {
	v.set(name, &value, index...)
	return value
}

// set sets all that is in a value of this name, if there is any.
func (v vector) set(name string, value any, index ...int) {
	if !v.has(name, index...) {
		return
	}
	v.walk(v.at(name, index...), reflect.Indirect(reflect.ValueOf(value)), func(place string, x reflect.Value) {
		if x.Kind() == reflect.String {
			delete(v.unused, place)
			x.SetString(fmt.Sprint(v.values[place]))
			return
		}
		number := v.take(place)
		if x.CanFloat() {
			x.SetFloat(number)
		} else if number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
			panic(fmt.Sprintf("%s is %v, want a whole number up to %d", place, number, math.MaxInt32))
		} else {
			x.SetInt(int64(number))
		}
	})
}

// walk calls leaf for all that is in a value: a number or a word, or any nesting of slices,
// matrices and layers. A variable without a slice gets one as long as the vector's.
func (v vector) walk(place string, value reflect.Value, leaf func(place string, x reflect.Value)) {
	switch x := value.Interface().(type) {
	case matrix:
		for i := range x.rows {
			v.walk(at(place, i), reflect.ValueOf(x.row(i)), leaf)
		}
		return
	case layer:
		v.walk(place+".w", reflect.ValueOf(x.w), leaf)
		v.walk(place+".b", reflect.ValueOf(x.b), leaf)
		return
	}
	if value.Kind() != reflect.Slice {
		leaf(place, value)
		return
	}
	if n, _ := v.values[place].(int); value.CanSet() && value.IsNil() {
		value.Set(reflect.MakeSlice(value.Type(), n, n))
	}
	for i := range value.Len() {
		v.walk(at(place, i), value.Index(i), leaf)
	}
}

// network returns a network, and its layers' widths.
func (v vector) network(name string) (*mlp, []int) {
	widths := []int{v.len(at(name, 0) + ".w")}
	for i := range v.len(name) {
		widths = append(widths, v.len(at(name, i)+".b"))
	}
	small("the network", float64(mlpSize(widths)))
	net := newMLP(make([]float32, mlpSize(widths)), widths)
	v.set(name, net.layers)
	return net, widths
}

// small panics if a short text asks for more than vectors are for.
func small(what string, numbers float64) {
	if numbers > 1<<17 {
		panic(fmt.Sprintf("%s: %.3g numbers, allowed are %d: vectors are small", what, numbers, 1<<17))
	}
}

// agent returns an agent with the case's networks, rates and coefficients, for states
// and goals of these sizes. It does not clip returns: Equation 1 does not.
func (v vector) agent(p Params, observation, goal int) *Agent {
	p.ClipReturns, p.Curriculum = false, "her" // for which one critic will do
	p.Critics, p.HiddenLayers, p.HiddenSize = v.len("critics"), v.len("critics", 0)-1, v.len("critics[0][0].b")
	p.Discount, p.Polyak, p.ActionL2 = v.number("gamma"), v.number("rho"), v.number("action_l2")
	p.ActorRate, p.CriticRate, p.PredictiveRate = v.number("lr_actor"), v.number("lr_critic"), v.number("lr_predictive")
	sizes := Sizes{Observation: observation, Goal: goal, Action: v.len("critics[0][0].w") - observation - goal}
	small("the critics", criticWeights(&p, sizes))
	a, err := NewAgent(p, sizes, 0)
	if err != nil {
		panic(err)
	}
	for i, c := range a.pun.critics {
		v.set("critics", c.q.layers, i)
		copy(c.target.params, c.params)
		v.set("critic_targets", c.target.layers, i)
		v.set("heads", c.head, i)
	}
	v.set("actor", a.policy.net.layers)
	copy(a.policy.target.params, a.policy.net.params)
	v.set("actor_target", a.policy.target.layers)
	return a
}

// batch returns the minibatch, with zeros for what it lacks, and makes room for it.
func (v vector) batch(a *Agent) *batch {
	n, s, sg := v.len("g"), a.sizes.Observation, a.sizes.Observation+a.sizes.Goal
	small("the minibatch", float64(n)*float64(a.params.HiddenSize*a.params.HiddenLayers))
	b := a.pun.newBatch(n, a.sizes)
	v.set("s", b.x.columns(0, s))
	v.set("g", b.x.columns(s, sg))
	v.set("a", b.x.columns(sg, b.x.cols))
	v.set("s_next", b.next.columns(0, s))
	v.set("g", b.next.columns(s, sg))
	v.set("s_next", b.sNext)
	v.set("r", b.r)
	v.set("y", b.y)
	v.set("w", b.w)
	return &b
}

// learner returns an agent with the case's networks, and its minibatch.
func (v vector) learner() (*Agent, *batch) {
	a := v.agent(Paper(), max(v.len("s", 0), v.len("s_next", 0)), v.len("g", 0))
	return a, v.batch(a)
}

// actions returns matrices of actions of an agent.
func (v vector) actions(a *Agent, rows int) []matrix {
	var actions []matrix
	for j := range v.len("actions") {
		actions = append(actions, newMatrix(rows, a.sizes.Action))
		v.set("actions", actions[j], j)
	}
	return actions
}

// remember stores the states and the goals achieved there in an agent's replay, and
// returns their transitions.
func (v vector) remember(a *Agent) []int {
	states, goals := get[[][]float64](v, "s"), get[[][]float64](v, "achieved")
	if len(states) != len(goals) {
		panic("in: there are not as many goals achieved as states")
	}
	var all []int
	for k, s := range states {
		a.replay.add(s, goals[k], make([]float64, a.sizes.Action), goals[k], State{s, goals[k], goals[k]})
		all = append(all, k)
	}
	return all
}

// An equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations
	function string // the home, or the homes
	keys     string // of "in", all needed but those with ?
	check    func(in vector, out output)
}

// An output compares a result with what "out" has under a name, or in element i of
// the list there.
type output func(name string, value any, i ...int)

const (
	targetKeys = "actor critics s_next g r gamma M"
	updateKeys = "actor actor_target critics critic_targets heads gamma rho " +
		"lr_actor lr_critic lr_predictive action_l2 steps"
	perKeys       = "priority alpha beta"
	candidateKeys = "critics heads s achieved desired ask actions"
	choiceKeys    = "actor critics heads s achieved shared_actions m b draws now c? T?"
)

var equations = []equation{
	{"mlp-forward", nil, "mlp.forward", "net x output?", checkNetwork},
	{"mlp-backward", nil, "mlp.backward", "net x dy output?", checkNetwork},
	{"adam", nil, "adam.step", "w grads lr beta1 beta2 eps", func(in vector, out output) {
		if in.number("beta1") != adamBeta1 || in.number("beta2") != adamBeta2 || in.number("eps") != adamEpsilon {
			panic(fmt.Sprintf("in: beta1, beta2 and eps are not %v, %v and %v", adamBeta1, adamBeta2, adamEpsilon))
		}
		w := get[[]float32](in, "w")
		a := newAdam(w, make([]float32, len(w)), in.number("lr"), newWorkers(1))
		for i := range in.len("grads") {
			in.set("grads", a.gradient, i)
			a.step()
			out("w", w, i)
		}
	}},
	{"td-target", []int{1}, "TDTarget", "r gamma q_target M", func(in vector, out output) {
		r, q := get[[]float32](in, "r"), get[[][]float32](in, "q_target")
		y := make([]float32, len(r))
		i, j := drawPair(pairScript(get[[]int](in, "M"), len(q)), len(q))
		TDTarget(y, r, q[i], q[j], in.number("gamma"))
		out("y", y)
	}},
	{"td-target-networks", []int{1}, "paperHeads.targets", targetKeys, checkTargets(false)},
	{"td-target-clipped", []int{1}, "paperHeads.targets", targetKeys + " lowest?", checkTargets(true)},
	{"critic-loss", []int{2}, "CriticLoss", "critics s g a y w?", func(in vector, out output) {
		a, b := in.learner()
		for i, c := range a.pun.critics {
			ξ := c.q.latent(a.pun.pass, b.x)
			out("loss", a.pun.criticTerm(i, b, ξ, epilogue{mask: ξ}), i)
			c.q.backward(a.pun.pass, c.gradient.q, len(c.q.layers)-1)
			out("grad", c.gradient.q.layers, i)
		}
	}},
	{"polyak", []int{3}, "Polyak", "target online rho", func(in vector, out output) {
		target, _ := in.network("target")
		online, _ := in.network("online")
		Polyak(target.params, online.params, in.number("rho"))
		out("target", target.layers)
	}},
	{"policy-gradient", nil, "Agent.policyGradient", "actor critics s g action_l2", func(in vector, out output) {
		a, b := in.learner()
		out("loss", a.policyGradient(b.x))
		out("grad", a.policy.gradient.layers)
	}},
	{"predictive-loss", []int{4}, "PredictiveLoss", "form critics heads s g a s_next", checkPredictiveLoss},
	{"uncertainty-std", []int{5}, "HeadDeviation", "pred", func(in vector, out output) {
		var heads [][]float32
		for _, p := range get[[][][]float32](in, "pred") {
			heads = append(heads, slices.Concat(p...))
		}
		u := make([]float64, in.len("pred", 0))
		HeadDeviation(u, heads, in.len("pred", 0, 0))
		out("u", u)
	}},
	{"uncertainty", []int{5}, "ensemble.uncertainty", "critics heads s g actions", func(in vector, out output) {
		a, b := in.learner()
		actions := in.actions(a, b.x.rows)
		for j := range actions {
			out("per_action", a.pun.uncertainty(b.x, actions[j:j+1]), j)
		}
		out("epsilon", a.pun.uncertainty(b.x, actions))
	}},
	{"uncertainty-goal", []int{5}, "candidates.inputs", candidateKeys, func(in vector, out output) {
		p := Paper()
		p.UncertaintyGoal, p.UncertaintyActions = get[string](in, "ask"), in.len("actions")
		a := in.agent(p, in.len("s", 0), in.len("achieved", 0))
		in.set("desired", a.desired)
		x := a.candidates(in.remember(a), false).inputs(a)
		out("epsilon", a.pun.uncertainty(x, in.actions(a, x.rows)))
	}},
	{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", "epsilon m b", func(in vector, out output) {
		ε := get[[]float64](in, "epsilon")
		x := make([]float64, len(ε))
		scaleUncertainty(x, ε)
		out("normalized", x)
		GoalProbabilities(x, ε, in.number("m"), in.number("b"))
		out("p", x)
	}},
	{"achievable", nil, "Achievable", "q_mean c T", func(in vector, out output) {
		var candidates []int
		for k := range in.len("q_mean") {
			candidates = append(candidates, k)
		}
		out("kept", Achievable(candidates, get[[]float64](in, "q_mean"), in.number("c"), get[int](in, "T")))
	}},
	{"per", []int{7, 8}, "prioritizedSampler.probability, ImportanceWeights", perKeys, func(in vector, out output) {
		priority, β := get[[]float64](in, "priority"), in.number("beta")
		n := len(priority)
		P, w := make([]float64, n), make([]float64, n)
		SampleProbabilities(P, priority, in.number("alpha"))
		out("P", P)
		ImportanceWeights(w, P, n, β, 0)
		out("w", w)
		ImportanceWeights(w, P, n, β, slices.Min(P)) // as replay divides: by the largest
		out("w_normalized", w)
	}},
	{"per-beta", nil, "PriorityBeta", "beta_initial beta_steps t", func(in vector, out output) {
		initial, steps := in.number("beta_initial"), get[int](in, "beta_steps")
		for k, t := range get[[]int](in, "t") {
			out("beta", PriorityBeta(t, initial, steps), k)
		}
	}},
	{"her", nil, "replay.relabel", "achieved_next goal i future? radius", checkHindsight},
	{"her-future", nil, "futureStep", "i n u", func(in vector, out output) {
		out("future", futureStep(get[int](in, "i"), get[int](in, "n"), in.number("u")))
	}},
	{"optimal-return", nil, "OptimalValue", "hops gamma", func(in vector, out output) {
		for k, hops := range get[[]int](in, "hops") {
			out("undiscounted", OptimalValue(1, hops), k)
			out("discounted", OptimalValue(in.number("gamma"), hops), k)
		}
	}},
	{"update", nil, "generalLearner.update", updateKeys, checkUpdate},
	{"update-joint", nil, "paperLearner.update", updateKeys + " predictive_weight", checkUpdate},
	{"update-per", []int{7, 8}, "paperLearner.update, prioritizedSampler.weigh", updateKeys + " " + perKeys, checkUpdate},
	{"goal-choice", nil, "paperCurriculum.goal", choiceKeys, checkGoalChoice},
	{"candidates", nil, "Agent.drawCandidates", "n limit draws?", func(in vector, out output) {
		n, limit, draws := get[int](in, "n"), get[int](in, "limit"), scripted(get[[]float64](in, "draws"))
		small("the replay", float64(n))
		if n > limit && len(draws) != n || n <= limit && len(draws) > 0 || limit < 1 {
			panic("in: a draw is needed for each of n, if limit, 1 or more, is less")
		}
		a := &Agent{replay: &replay{n: n}, goalDraws: draws.stream()}
		a.params.Candidates = limit
		out("candidates", a.drawCandidates())
	}},
	{"gaussian-nll", nil, "gaussianLoss", "mu raw y", func(in vector, out output) {
		y := get[[]float32](in, "y")
		n := len(y)
		mu, raw, p, dp := make([]float32, n), make([]float32, n), newMatrix(n, 2), newMatrix(n, 2)
		in.set("mu", mu)
		in.set("raw", raw)
		for r := range n {
			p.row(r)[0], p.row(r)[1] = mu[r], raw[r]
		}
		out("loss", gaussianLoss(dp.data, p.data, y, 1))
		for r := range n {
			out("grad_mu", dp.row(r)[0], r)
			out("grad_raw", dp.row(r)[1], r)
		}
	}},
	{"vds", nil, "valueDisagreement, toProbabilities", "q", func(in vector, out output) {
		x := make([]float64, in.len("q", 0))
		valueDisagreement(x, get[[][]float32](in, "q"))
		out("std", x)
		toProbabilities(x)
		out("p", x)
	}},
	{"kde", nil, "logDensity", "points query bandwidth", func(in vector, out output) {
		points, query := slices.Concat(get[[][]float64](in, "points")...), get[[][]float64](in, "query")
		small("the densities", float64(len(points))*float64(len(query)))
		for k, x := range query {
			out("log_density", logDensity(points, x, in.number("bandwidth")), k)
		}
	}},
}

// checkNetwork is a forward pass and, given dL/dy, a backward pass.
func checkNetwork(in vector, out output) {
	net, widths := in.network("net")
	rows := in.len("x")
	small("the layers", float64(rows)*float64(slices.Max(widths)))
	p, x, last := newPass(widths, newWorkers(1)), newMatrix(rows, widths[0]), len(net.layers)
	in.set("x", x)
	ξ := net.latent(p, x)
	y := net.forward(p, x)
	bounded := get[string](in, "output") == "tanh"
	if bounded {
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
	in.set("dy", dy)
	if bounded {
		for i, v := range y.data {
			dy.data[i] *= 1 - float32(v*v)
		}
	}
	gradient := newMLP(make([]float32, mlpSize(widths)), widths)
	net.backward(p, gradient, last)
	_, dx := net.outputGradient(p, x, 0)
	out("grad", gradient.layers)
	out("dx", dx)
}

// checkTargets is Equation 1 with the case's networks, with a clip of returns or without.
func checkTargets(clip bool) func(in vector, out output) {
	return func(in vector, out output) {
		a, b := in.learner()
		a.params.ClipReturns = clip
		in.set("lowest", &a.pun.lowest) // else it is the least sum of rewards
		a.learning = pairScript(get[[]int](in, "M"), len(a.pun.critics))
		a.policy.act(a.policy.target, b.next)
		a.pun.heads.targets(a.pun, b, a.learning)
		if !clip {
			out("a_next", b.next.columns(b.next.cols-a.sizes.Action, b.next.cols))
		}
		out("y", b.y)
	}
}

func checkPredictiveLoss(in vector, out output) {
	a, b := in.learner()
	u := a.pun
	form := get[string](in, "form")
	if u.heads = map[string]heads{"mse": paperHeads{}, "norm": authorsHeads{}}[form]; u.heads == nil {
		panic(fmt.Sprintf("in: form is %q, want mse or norm", form))
	}
	for i, c := range u.critics {
		out("loss", u.headTerm(i, b, c.q.latent(u.pass, b.x), epilogue{}), i)
		out("pred", matrix{b.x.rows, u.headWidth, u.headWidth, 1, b.predictions[i]}, i)
		out("grad_head", c.gradient.head, i)
		out("grad_xi", u.pass.dx[len(c.q.layers)-1], i) // before the mask of ReLU
	}
}

func checkHindsight(in vector, out output) {
	next, goal, i := get[[][]float64](in, "achieved_next"), get[[]float64](in, "goal"), get[int](in, "i")
	n := len(next)
	b := newReplay(Sizes{Goal: len(goal)}, n)
	for _, achieved := range next {
		b.add(nil, achieved, nil, goal, State{Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.has("future") {
		script = scripted{0, (float64(get[int](in, "future")-i) + 0.5) / float64(n-i)}
	}
	g := b.relabel(i, k, rand.New(&script))
	out("g", g)
	out("r", goalReward(b.nextAchieved.at(i), g, in.number("radius")))
}

// checkGoalChoice chooses a goal for each draw, an episode's first where the case has
// a threshold: whole, and in its parts.
func checkGoalChoice(in vector, out output) {
	p, m, b := Paper(), in.number("m"), in.number("b")
	p.UncertaintyActions, p.InitialSteps, p.Slope, p.Intercept = in.len("shared_actions"), 0, m, b
	first := in.has("c")
	if first {
		p.Threshold, p.Horizon = in.number("c"), get[int](in, "T")
	}
	a := in.agent(p, in.len("s", 0), in.len("achieved", 0))
	a.curriculum = paperCurriculum{}
	in.set("now", a.observation)
	kept := in.remember(a)
	q := a.Value(slices.Repeat([][]float64{a.observation}, len(kept)), a.replay.achieved.of(kept))
	if first {
		out("q_mean", q)
		kept = a.achievableNow(kept)
		out("kept", kept)
	} else { // a threshold that only the best would pass, and no goal is held to
		a.params.Threshold = (slices.Max(q) - 1e-6) / float64(a.params.Horizon)
	}
	var script scripted // of the goal's draws: the actions, by numbers of [0, 1)
	for _, v := range slices.Concat(get[[][]float64](in, "shared_actions")...) {
		script = append(script, (v+1)/2)
	}
	shared := slices.Clone(script)
	ε := a.estimator.uncertainty(a, a.candidates(kept, first), shared.stream())
	out("epsilon", ε)
	chances := make([]float64, len(kept))
	GoalProbabilities(chances, ε, m, b)
	out("p", chances)
	for k, u := range get[[]float64](in, "draws") {
		draws := append(slices.Clone(script), u)
		a.goalDraws = draws.stream()
		goal, err := a.curriculum.goal(a, first)
		if err != nil || len(draws) > 0 {
			panic(fmt.Sprintf("%d numbers left after the draw of a goal: %v", len(draws), err))
		}
		out("goal", goal, k)
	}
}

// A givenDraw draws nothing: the case has the minibatch and says which transitions are
// in it.
type givenDraw struct {
	*prioritizedSampler
	transitions []int
}

func (d *givenDraw) weigh(b *batch, step int) {
	b.transitions = d.transitions
	d.prioritizedSampler.weigh(b, step)
}

// checkUpdate does whole updates, with prioritized replay where the case has
// priorities: by the joint loss of Equations 2 and 4, or, where the case has 0 or
// nothing as its weight, with Equation 4 moving only the heads.
func checkUpdate(in vector, out output) {
	p, steps, priority := Paper(), []vector(nil), get[[]float64](in, "priority")
	for i := range in.len("steps") {
		step := in
		step.place = in.at("steps", i)
		step.hold("s g a s_next r M transitions?")
		steps = append(steps, step)
	}
	p.PredictiveGradient = map[float64]string{0: "head", 1: "joint"}[in.number("predictive_weight")]
	if p.PredictiveGradient == "" {
		panic("in: predictive_weight is neither 0 nor 1, which the joint loss here has")
	}
	if priority != nil {
		p.PredictiveGradient, p.Replay, p.Batch = "joint", "per", steps[0].len("g")
		p.PriorityAlpha, p.PriorityBeta = in.number("alpha"), in.number("beta")
	}
	a := in.agent(p, steps[0].len("s", 0), steps[0].len("g", 0))
	drawn := &givenDraw{}
	if len(priority) > 0 {
		drawn.prioritizedSampler = a.sampler.(*prioritizedSampler)
		a.sampler, a.replay.n, drawn.prioritized = drawn, len(priority), len(priority)
		for j, v := range priority {
			drawn.set(j, v)
		}
	}
	for _, step := range steps {
		a.batch = *step.batch(a)
		a.batch.transitions = nil // nothing is drawn
		drawn.transitions = get[[]int](step, "transitions")
		a.learning = pairScript(get[[]int](step, "M"), len(a.pun.critics))
		if err := a.learner.update(a); err != nil {
			panic(err)
		}
	}
	out("actor", a.policy.net.layers)
	out("actor_target", a.policy.target.layers)
	for i, c := range a.pun.critics {
		out("critics", c.q.layers, i)
		out("critic_targets", c.target.layers, i)
		out("heads", c.head, i)
	}
	for j := range priority {
		out("P", drawn.probability(j), j)
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

func (s *scripted) stream() stream { return stream{Rand: rand.New(s)} }

// pairScript makes drawPair return M from n critics.
func pairScript(M []int, n int) stream {
	if len(M) != 2 || M[0] == M[1] {
		panic(fmt.Sprintf("in: M is %v, want two different indices", M))
	}
	i, j := float64(M[0]), float64(M[1])
	if j > i {
		j--
	}
	return (&scripted{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)}).stream()
}
