package qta

import (
	"bytes"
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

// A CheckResult says whether the code holds to one case of a file of vectors.
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

// A Comparison is a number of a vector, at a place such as out.y[0], and the code's.
type Comparison struct {
	Name         string
	Vector, Code float64
}

// Check holds the code to every case of every file *.json at the top of fsys,
// in the order of the files' names. The error is of a file that is not vectors.
// The package qta/testdata has the golden vectors, and its README the format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, _ := fs.Glob(fsys, "*.json")
	if len(names) == 0 {
		return nil, errors.New("qta: vectors: no file matches *.json")
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
	if info, err := fs.Stat(fsys, name); err == nil && (!info.Mode().IsRegular() || info.Size() > 4<<20) {
		return nil, errors.New("it is not a regular file of at most 4 MB")
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
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
		r := CheckResult{File: name, Case: c.Name, Numbers: e.numbers, Function: e.function}
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
	in, leaves := readInputs(c.In, e.keys), map[string]any{}
	flatten("out", json.NewDecoder(bytes.NewReader(c.Out)), leaves)
	e.check(in, func(name string, value any, index ...int) {
		name = "out." + name
		for _, i := range index {
			name = element(name, i)
		}
		walk(name, reflect.ValueOf(value), func(place string, x reflect.Value) {
			v, ok := leaves[place].(float64)
			if !ok {
				panic("there is no number " + place)
			}
			delete(leaves, place)
			code := x.Convert(reflect.TypeFor[float64]()).Float()
			distance := math.Abs(code-v) / (1 + math.Abs(v))
			r.Worst = max(r.Worst, distance) // NaN if the code's is
			r.Compared = append(r.Compared, Comparison{place, v, code})
			if err == nil && !(distance <= r.Tolerance) {
				err = fmt.Errorf("%s is %v in the file, the code gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v",
					place, v, code, distance, r.Tolerance)
			}
		})
	})
	if len(leaves) > 0 {
		panic(slices.Sorted(maps.Keys(leaves))[0] + " is unknown, or one too many")
	}
	return err
}

// flatten reads a value and lists the numbers, words and nulls in it by their
// places, such as out.y[0]. It returns how many elements the value has.
func flatten(place string, d *json.Decoder, leaves map[string]any) (n int) {
	token, err := d.Token()
	if err != nil {
		panic(fmt.Sprintf("%s: %v", place, err))
	}
	open, ok := token.(json.Delim)
	if !ok {
		if _, twice := leaves[place]; twice {
			panic(place + " comes twice")
		}
		leaves[place] = token
		small(place, float64(len(leaves)))
		return 0
	}
	first := 0 // elements of element 0
	for ; d.More(); n++ {
		inner := element(place, n)
		if open == '{' {
			key, _ := d.Token()
			inner = place + "." + oneLine(fmt.Sprint(key))
		}
		length := flatten(inner, d, leaves)
		if n == 0 {
			first = length
		} else if open == '[' && length != first {
			panic(fmt.Sprintf("%s has %d elements, the first list there %d", inner, length, first))
		}
	}
	d.Token() // the closing delimiter
	return n
}

// walk calls leaf for every number in a value: a number, or any nesting of
// slices, matrices and layers.
func walk(place string, value reflect.Value, leaf func(place string, x reflect.Value)) {
	switch v := value.Interface().(type) {
	case matrix:
		for i := range v.rows {
			walk(element(place, i), reflect.ValueOf(v.row(i)), leaf)
		}
	case layer:
		walk(place+".w", reflect.ValueOf(v.w), leaf)
		walk(place+".b", reflect.ValueOf(v.b), leaf)
	case givenLayer:
		walk(place+".w", reflect.ValueOf(v.W), leaf)
		walk(place+".b", reflect.ValueOf(v.B), leaf)
	default:
		if value.Kind() != reflect.Slice {
			leaf(place, value)
			return
		}
		for i := range value.Len() {
			walk(element(place, i), value.Index(i), leaf)
		}
	}
}

// element returns the place of element i of a list.
func element(place string, i int) string { return place + "[" + strconv.Itoa(i) + "]" }

// inputs is a case's "in", or one of its steps: each equation has some of the keys,
// which lack their underscores here.
type inputs struct {
	Net, Target, Online, Actor, ActorTarget, Heads []givenLayer
	Critics, CriticTargets                         [][]givenLayer

	S, G, A, SNext, X, Dy, Q, QTarget, Grads, Achieved [][]float32
	Pred, Actions                                      [][][]float32
	SharedActions                                      [][]float32
	R, Y, W, Mu, Raw                                   []float32

	Points, Query, AchievedNext             [][]float64
	Goal, Epsilon, Priority, QMean, Desired []float64
	Now, Draws                              []float64

	Gamma, Rho, ActionL2, Lr, LrActor, LrCritic, LrPredictive, PredictiveWeight  float64
	Beta1, Beta2, Eps, Alpha, Beta, BetaInitial, C, U, Radius, Bandwidth, Lowest float64

	Slope     float64 `json:"m"`
	Intercept float64 `json:"b"`

	BetaSteps, I, N, T, Limit whole
	Times                     []whole `json:"t"`
	M, Hops                   []whole
	Transitions               []whole
	Future                    *whole
	Output, Form, Ask         string
	Steps                     []inputs
}

// A givenLayer is y = x W + b.
type givenLayer struct {
	W [][]float32
	B []float32
}

// whole is a whole number, which may be written 64.0 or 2e5.
type whole int

func (w *whole) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return fmt.Errorf("%s is not a whole number up to %d", text, math.MaxInt32)
	}
	*w = whole(x)
	return nil
}

// readInputs reads an "in" with these keys, of which all are needed but those with
// a question mark.
func readInputs(text []byte, keys string) *inputs {
	flatten("in", json.NewDecoder(bytes.NewReader(text)), map[string]any{})
	var given map[string]json.RawMessage
	in := new(inputs)
	err := cmp.Or(json.Unmarshal(text, &given), fromJSON(bytes.ReplaceAll(text, []byte("_"), nil), in))
	if err != nil {
		panic(fmt.Sprintf("in: %v", err))
	}
	for key := range strings.FieldsSeq(keys) {
		key, optional := strings.CutSuffix(key, "?")
		if !optional && slices.Contains([]string{"", "null", "[]"}, string(given[key])) {
			panic("in: there is no " + key)
		}
		delete(given, key)
	}
	if len(given) > 0 {
		panic("in: " + slices.Sorted(maps.Keys(given))[0] + " is unknown")
	}
	return in
}

// set copies the numbers of from, if there are any, to the places of as many.
func set(name string, to, from any) {
	var numbers []float64
	walk("", reflect.ValueOf(from), func(_ string, x reflect.Value) { numbers = append(numbers, x.Float()) })
	n := 0
	walk("", reflect.ValueOf(to), func(_ string, x reflect.Value) {
		if n < len(numbers) {
			x.SetFloat(numbers[n])
		}
		n++
	})
	if len(numbers) > 0 && len(numbers) != n {
		panic(fmt.Sprintf("in: %s has %d numbers, want %d", name, len(numbers), n))
	}
}

// network returns the network of some layers, and their widths.
func network(name string, layers []givenLayer) (*mlp, []int) {
	widths := []int{len(layers[0].W)}
	for _, l := range layers {
		widths = append(widths, len(l.B))
	}
	small("the network", float64(mlpSize(widths)))
	net := newMLP(make([]float32, mlpSize(widths)), widths)
	set(name, net.layers, layers)
	return net, widths
}

// small panics if a short text asks for more than vectors are for.
func small(what string, numbers float64) {
	if numbers > 1<<17 {
		panic(fmt.Sprintf("%s: %.3g numbers, allowed are %d: vectors are small", what, numbers, 1<<17))
	}
}

// agent returns an agent with the case's networks, rates and coefficients, for
// minibatches such as one. It does not clip returns: Equation 1 does not.
func (in *inputs) agent(p Params, one *inputs) *Agent {
	p.ClipReturns, p.Curriculum = false, "her" // for which one critic will do
	first := in.Critics[0]
	p.Critics, p.HiddenLayers, p.HiddenSize = len(in.Critics), len(first)-1, len(first[0].B)
	p.Discount, p.Polyak, p.ActionL2 = in.Gamma, in.Rho, in.ActionL2
	p.ActorRate, p.CriticRate, p.PredictiveRate = in.LrActor, in.LrCritic, in.LrPredictive
	s, g := len(slices.Concat(one.S, one.SNext)[0]), len(one.G[0])
	sizes := Sizes{Observation: s, Goal: g, Action: len(first[0].W) - s - g}
	small("the critics", criticWeights(&p, sizes))
	a, err := NewAgent(p, sizes, 0)
	if err != nil {
		panic(err)
	}
	var critics, targets [][]layer
	var heads []layer
	for _, c := range a.pun.critics {
		critics, targets = append(critics, c.q.layers), append(targets, c.target.layers)
		heads = append(heads, c.head)
	}
	set("critics", critics, in.Critics)
	set("critic_targets", targets, in.CriticTargets)
	set("heads", heads, in.Heads)
	set("actor", a.policy.net.layers, in.Actor)
	set("actor_target", a.policy.target.layers, in.ActorTarget)
	return a
}

// batch returns the minibatch, with zeros for what it lacks, and makes room for it.
func (in *inputs) batch(a *Agent) *batch {
	n, s, sg := len(in.G), a.sizes.Observation, a.sizes.Observation+a.sizes.Goal
	small("the minibatch", float64(n)*float64(a.params.HiddenSize*a.params.HiddenLayers))
	b := a.pun.newBatch(n, a.sizes)
	set("s", b.x.columns(0, s), in.S)
	set("g", b.x.columns(s, sg), in.G)
	set("a", b.x.columns(sg, b.x.cols), in.A)
	set("s_next", b.next.columns(0, s), in.SNext)
	set("g", b.next.columns(s, sg), in.G)
	set("s_next", b.sNext, in.SNext)
	set("r", b.r, in.R)
	set("y", b.y, in.Y)
	set("w", b.w, in.W)
	return &b
}

// learner returns an agent with the case's networks, and its minibatch.
func (in *inputs) learner(p Params) (*Agent, *batch) {
	a := in.agent(p, in)
	return a, in.batch(a)
}

// An equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations
	function string // the home, or the homes
	keys     string // of "in", all needed but those with ?
	check    func(in *inputs, out output)
}

// An output compares a result with what "out" has under a name, or in element i of
// the list there.
type output func(name string, value any, i ...int)

const updateKeys = "actor actor_target critics critic_targets heads gamma rho " +
	"lr_actor lr_critic lr_predictive action_l2 steps"

var equations = []equation{
	{"mlp-forward", nil, "mlp.forward", "net x output?", checkNetwork},
	{"mlp-backward", nil, "mlp.backward", "net x dy output?", checkNetwork},
	{"adam", nil, "adam.step", "w grads lr beta1 beta2 eps", func(in *inputs, out output) {
		if in.Beta1 != adamBeta1 || in.Beta2 != adamBeta2 || in.Eps != adamEpsilon {
			panic(fmt.Sprintf("in: beta1, beta2 and eps are not %v, %v and %v", adamBeta1, adamBeta2, adamEpsilon))
		}
		a := newAdam(in.W, make([]float32, len(in.W)), in.Lr, newWorkers(1))
		for i, gradient := range in.Grads {
			set("grads", a.gradient, gradient)
			a.step()
			out("w", in.W, i)
		}
	}},
	{"td-target", []int{1}, "TDTarget", "r gamma q_target M", func(in *inputs, out output) {
		y, n := make([]float32, len(in.R)), len(in.QTarget)
		i, j := drawPair(pairScript(in.M, n), n)
		TDTarget(y, in.R, in.QTarget[i], in.QTarget[j], in.Gamma)
		out("y", y)
	}},
	{"td-target-networks", []int{1}, "paperHeads.targets", "actor critics s_next g r gamma M", func(in *inputs, out output) {
		a, b := in.targets(false)
		out("a_next", b.next.columns(b.next.cols-a.sizes.Action, b.next.cols))
		out("y", b.y)
	}},
	{"td-target-clipped", []int{1}, "paperHeads.targets", "actor critics s_next g r gamma M lowest?", func(in *inputs, out output) {
		_, b := in.targets(true)
		out("y", b.y)
	}},
	{"critic-loss", []int{2}, "CriticLoss", "critics s g a y w?", func(in *inputs, out output) {
		a, b := in.learner(Paper())
		for i, c := range a.pun.critics {
			ξ := c.q.latent(a.pun.pass, b.x)
			out("loss", a.pun.criticTerm(i, b, ξ, epilogue{mask: ξ}), i)
			c.q.backward(a.pun.pass, c.gradient.q, len(c.q.layers)-1)
			out("grad", c.gradient.q.layers, i)
		}
	}},
	{"polyak", []int{3}, "Polyak", "target online rho", func(in *inputs, out output) {
		target, _ := network("target", in.Target)
		online, _ := network("online", in.Online)
		Polyak(target.params, online.params, in.Rho)
		out("target", target.layers)
	}},
	{"policy-gradient", nil, "Agent.learnPolicy", "actor critics s g action_l2", func(in *inputs, out output) {
		a, b := in.learner(Paper())
		out("loss", a.learnPolicy(b.x))
		out("grad", a.policy.gradient.layers)
	}},
	{"predictive-loss", []int{4}, "PredictiveLoss", "form critics heads s g a s_next", checkPredictiveLoss},
	{"uncertainty-std", []int{5}, "HeadDeviation", "pred", func(in *inputs, out output) {
		var heads [][]float32
		for _, p := range in.Pred {
			heads = append(heads, slices.Concat(p...))
		}
		u := make([]float64, len(in.Pred[0]))
		HeadDeviation(u, heads, len(in.Pred[0][0]))
		out("u", u)
	}},
	{"uncertainty", []int{5}, "ensemble.uncertainty", "critics heads s g actions", func(in *inputs, out output) {
		a, b := in.learner(Paper())
		var actions []matrix
		for j, rows := range in.Actions {
			actions = append(actions, newMatrix(b.x.rows, a.sizes.Action))
			set("actions", actions[j], rows)
			out("per_action", a.pun.uncertainty(b.x, actions[j:j+1]), j)
		}
		out("epsilon", a.pun.uncertainty(b.x, actions))
	}},
	{"uncertainty-goal", []int{5}, "candidates.asked", "critics heads s achieved desired ask actions", checkCandidates},
	{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", "epsilon m b", func(in *inputs, out output) {
		x := make([]float64, len(in.Epsilon))
		scaleUncertainty(x, in.Epsilon)
		out("normalized", x)
		GoalProbabilities(x, in.Epsilon, in.Slope, in.Intercept)
		out("p", x)
	}},
	{"achievable", nil, "Achievable", "q_mean c T", func(in *inputs, out output) {
		var candidates []int
		for k := range in.QMean {
			candidates = append(candidates, k)
		}
		out("kept", Achievable(candidates, in.QMean, in.C, int(in.T)))
	}},
	{"per", []int{7, 8}, "prioritizedSampler.probability, ImportanceWeights", "priority alpha beta", checkPriorities},
	{"per-beta", nil, "PriorityBeta", "beta_initial beta_steps t", func(in *inputs, out output) {
		for k, t := range in.Times {
			out("beta", PriorityBeta(int(t), in.BetaInitial, int(in.BetaSteps)), k)
		}
	}},
	{"her", nil, "replay.relabel", "achieved_next goal i future? radius", checkHindsight},
	{"her-future", nil, "futureStep", "i n u", func(in *inputs, out output) {
		out("future", futureStep(int(in.I), int(in.N), in.U))
	}},
	{"optimal-return", nil, "OptimalValue", "hops gamma", func(in *inputs, out output) {
		for k, hops := range in.Hops {
			out("undiscounted", OptimalValue(1, int(hops)), k)
			out("discounted", OptimalValue(in.Gamma, int(hops)), k)
		}
	}},
	{"update", nil, "otherLearner.update", updateKeys, checkUpdate},
	{"update-joint", nil, "paperLearner.update", updateKeys + " predictive_weight", checkUpdate},
	{"update-per", []int{7, 8}, "paperLearner.update, prioritizedSampler.weigh", updateKeys + " priority alpha beta", checkUpdate},
	{"goal-choice", nil, "paperCurriculum.goal", "actor critics heads s achieved shared_actions m b draws now c? T?", checkGoalChoice},
	{"candidates", nil, "Agent.drawCandidates", "n limit draws?", func(in *inputs, out output) {
		small("the replay", float64(in.N))
		draws := scripted(in.Draws)
		a := &Agent{replay: &replay{n: int(in.N)}, goalDraws: stream{Rand: rand.New(&draws)}}
		a.params.Candidates = int(in.Limit)
		if in.N > in.Limit && len(draws) != int(in.N) || in.N <= in.Limit && len(draws) > 0 || in.Limit < 1 {
			panic("in: a draw is needed for each of n, if limit, 1 or more, is less")
		}
		out("candidates", a.drawCandidates())
	}},
	{"gaussian-nll", nil, "gaussianLoss", "mu raw y", func(in *inputs, out output) {
		n := len(in.Mu)
		p, dp := newMatrix(n, 2), newMatrix(n, 2)
		set("mu", p.columns(0, 1), in.Mu)
		set("raw", p.columns(1, 2), in.Raw)
		out("loss", gaussianLoss(dp.data, p.data, in.Y, 1))
		for r := range n {
			out("grad_mu", dp.row(r)[0], r)
			out("grad_raw", dp.row(r)[1], r)
		}
	}},
	{"vds", nil, "valueDisagreement, toProbabilities", "q", func(in *inputs, out output) {
		x := make([]float64, len(in.Q[0]))
		valueDisagreement(x, in.Q)
		out("std", x)
		toProbabilities(x)
		out("p", x)
	}},
	{"kde", nil, "logDensity", "points query bandwidth", func(in *inputs, out output) {
		small("the densities", float64(len(in.Points))*float64(len(in.Query)))
		for k, x := range in.Query {
			out("log_density", logDensity(slices.Concat(in.Points...), x, in.Bandwidth), k)
		}
	}},
}

// checkNetwork is a forward pass and, given dL/dy, a backward pass.
func checkNetwork(in *inputs, out output) {
	net, widths := network("net", in.Net)
	small("the layers", float64(len(in.X))*float64(slices.Max(widths)))
	p, x, last := newPass(widths, newWorkers(1)), newMatrix(len(in.X), widths[0]), len(net.layers)
	set("x", x, in.X)
	ξ := net.latent(p, x)
	y := net.forward(p, x)
	if in.Output == "tanh" {
		for i, v := range y.data {
			y.data[i] = tanh32(v)
		}
	} else if in.Output != "" {
		panic(fmt.Sprintf("in: output is %q, want tanh or none", in.Output))
	}
	if in.Dy == nil {
		out("xi", ξ)
		out("y", y)
		return
	}
	dy := p.dx[last]
	set("dy", dy, in.Dy)
	if in.Output == "tanh" {
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

// targets returns an agent with the case's networks, and its minibatch with the
// targets of Equation 1, with a clip of returns or without.
func (in *inputs) targets(clip bool) (*Agent, *batch) {
	in.ActorTarget, in.CriticTargets = in.Actor, in.Critics
	a, b := in.learner(Paper())
	a.params.ClipReturns = clip
	if in.Lowest != 0 { // else it is the least sum of rewards
		a.pun.lowest = in.Lowest
	}
	a.learning = pairScript(in.M, len(a.pun.critics))
	a.policy.act(a.policy.target, b.next)
	a.pun.heads.targets(a.pun, b, a.learning)
	return a, b
}

// checkCandidates asks about states with the goals achieved there as the choice of a
// goal does, with the case's actions.
func checkCandidates(in *inputs, out output) {
	if len(in.Achieved) != len(in.S) {
		panic("in: there are not as many goals achieved as states")
	}
	in.G = in.Achieved
	p := Paper()
	p.UncertaintyGoal, p.UncertaintyActions = in.Ask, len(in.Actions)
	a := in.agent(p, in)
	c := candidates{desired: make([]float64, a.sizes.Goal)}
	set("desired", c.desired, in.Desired)
	for k, s := range in.S {
		state, goal := make([]float64, len(s)), make([]float64, a.sizes.Goal)
		set("s", state, s)
		set("achieved", goal, in.Achieved[k])
		c.states, c.goals = append(c.states, state), append(c.goals, goal)
	}
	x := c.asked(a)
	var actions []matrix
	for j, rows := range in.Actions {
		actions = append(actions, newMatrix(x.rows, a.sizes.Action))
		set("actions", actions[j], rows)
	}
	out("epsilon", a.pun.uncertainty(x, actions))
}

func checkPredictiveLoss(in *inputs, out output) {
	a, b := in.learner(Paper())
	u := a.pun
	if u.heads = map[string]heads{"mse": paperHeads{}, "norm": authorsHeads{}}[in.Form]; u.heads == nil {
		panic(fmt.Sprintf("in: form is %q, want mse or norm", in.Form))
	}
	for i, c := range u.critics {
		out("loss", u.headTerm(i, b, c.q.latent(u.pass, b.x), epilogue{}), i)
		out("pred", matrix{b.x.rows, u.width, u.width, 1, b.predictions[i]}, i)
		out("grad_head", c.gradient.head, i)
		out("grad_xi", u.pass.dx[len(c.q.layers)-1], i) // before the mask of ReLU
	}
}

func checkPriorities(in *inputs, out output) {
	n := len(in.Priority)
	P, w := make([]float64, n), make([]float64, n)
	SampleProbabilities(P, in.Priority, in.Alpha)
	out("P", P)
	ImportanceWeights(w, P, n, in.Beta, 0)
	out("w", w)

	ImportanceWeights(w, P, n, in.Beta, slices.Min(P)) // as replay divides: by the largest
	out("w_normalized", w)
}

func checkHindsight(in *inputs, out output) {
	n, i := len(in.AchievedNext), int(in.I)
	b := newReplay(Sizes{Observation: 1, Goal: len(in.Goal), Action: 1}, n)
	zero := []float64{0}
	for _, achieved := range in.AchievedNext {
		b.add(zero, achieved, zero, in.Goal, State{Observation: zero, Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.Future != nil {
		script = scripted{0, (float64(int(*in.Future)-i) + 0.5) / float64(n-i)}
	}
	g := b.relabel(i, k, rand.New(&script))
	out("g", g)
	out("r", goalReward(b.nextAchieved.at(i), g, in.Radius))
}

// checkGoalChoice chooses a goal for each draw, an episode's first where the case has
// a threshold: whole, and in its parts.
func checkGoalChoice(in *inputs, out output) {
	if len(in.Achieved) != len(in.S) {
		panic("in: there are not as many goals achieved as states")
	}
	in.G = in.Achieved
	p := Paper()
	p.UncertaintyActions, p.InitialSteps, p.Slope, p.Intercept = len(in.SharedActions), 0, in.Slope, in.Intercept
	first := in.C != 0
	if first {
		p.Threshold, p.Horizon = in.C, int(in.T)
	}
	a := in.agent(p, in)
	a.curriculum = paperCurriculum{}
	set("now", a.observation, in.Now)
	zero, kept := make([]float64, a.sizes.Action), []int(nil)
	for k, s := range in.S {
		state, goal := make([]float64, a.sizes.Observation), make([]float64, a.sizes.Goal)
		set("s", state, s)
		set("achieved", goal, in.Achieved[k])
		a.replay.add(state, goal, zero, goal, State{state, goal, goal})
		kept = append(kept, k)
	}
	q := a.Value(slices.Repeat([][]float64{a.observation}, len(kept)), a.replay.achieved.of(kept))
	if first {
		out("q_mean", q)
		kept = a.achievableNow(kept)
		out("kept", kept)
	} else { // a threshold that only the best would pass, and no goal is held to
		a.params.Threshold = (slices.Max(q) - 1e-6) / float64(a.params.Horizon)
	}
	var shared []matrix
	var script scripted // of the goal's draws: the actions, by numbers of [0, 1)
	for j, action := range in.SharedActions {
		shared = append(shared, newMatrix(len(kept), a.sizes.Action))
		set("shared_actions", shared[j], slices.Repeat([][]float32{action}, len(kept)))
		for _, v := range action {
			script = append(script, (float64(v)+1)/2)
		}
	}
	ε := a.pun.uncertainty(a.rows(a.replay.observation.of(kept), a.replay.achieved.of(kept)), shared)
	out("epsilon", ε)
	chances := make([]float64, len(kept))
	GoalProbabilities(chances, ε, in.Slope, in.Intercept)
	out("p", chances)
	for k, u := range in.Draws {
		draws := append(slices.Clone(script), u)
		a.goalDraws = stream{Rand: rand.New(&draws)}
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
func checkUpdate(in *inputs, out output) {
	p := Paper()
	if in.Priority != nil {
		in.PredictiveWeight = 1
		p.Replay, p.PriorityAlpha, p.PriorityBeta, p.Batch = "per", in.Alpha, in.Beta, len(in.Steps[0].G)
	}
	gradient, ok := map[float64]string{0: "head", 1: "joint"}[in.PredictiveWeight]
	if !ok {
		panic(fmt.Sprintf("in: predictive_weight is %v, the joint loss here has 1", in.PredictiveWeight))
	}
	p.PredictiveGradient = gradient
	a := in.agent(p, &in.Steps[0])
	var drawn *givenDraw
	if in.Priority != nil {
		drawn = &givenDraw{prioritizedSampler: a.sampler.(*prioritizedSampler)}
		a.sampler, a.replay.n, drawn.seen = drawn, len(in.Priority), len(in.Priority)
		for j, priority := range in.Priority {
			drawn.set(j, priority)
		}
	}
	for _, step := range in.Steps {
		a.batch = *step.batch(a)
		a.batch.transitions = nil // nothing is drawn
		if drawn != nil {
			drawn.transitions = nil
			for _, j := range step.Transitions {
				if j < 0 || int(j) >= a.replay.n {
					panic(fmt.Sprintf("in: transitions has %d, of %d", j, a.replay.n))
				}
				drawn.transitions = append(drawn.transitions, int(j))
			}
		}
		a.learning = pairScript(step.M, len(a.pun.critics))
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
	for j := range in.Priority {
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

// pairScript makes drawPair return M from n critics.
func pairScript(M []whole, n int) stream {
	if len(M) != 2 || M[0] == M[1] {
		panic(fmt.Sprintf("in: M is %v, want two different indices", M))
	}
	i, j := float64(M[0]), float64(M[1])
	if j > i {
		j--
	}
	return stream{Rand: rand.New(&scripted{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)})}
}
