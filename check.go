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
	"slices"
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
	Compared  []Comparison // every number of "out", as far as its shape is right
}

// A Comparison is a number of a vector beside the one that the code gives.
type Comparison struct {
	Name         string // its place, such as out.y[0]
	Vector, Code float64
}

// Check holds the code to every case of every file *.json at the top of fsys.
// The results are in the order of the files' names and of the cases. The error
// reports files that cannot be read or are not vectors; a result has what is
// wrong with its case. The package qta/testdata has the golden vectors, and its
// README the format.
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

// A vectorFile is a file, and a vectorCase one case of it.
type (
	vectorFile struct {
		Equation, Paper string
		Cases           []vectorCase
	}
	vectorCase struct {
		Name string
		In   json.RawMessage // a vectorIn
		Out  any
		Tol  *float64
	}
)

func checkFile(fsys fs.FS, name string) ([]CheckResult, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var file vectorFile
	if err := decode(text, &file); err != nil {
		return nil, fmt.Errorf("not vectors: %w", err)
	}
	all := equations()
	known := each(all, func(e equation) string { return e.name })
	k := slices.Index(known, file.Equation)
	if k < 0 {
		return nil, fmt.Errorf("unknown equation %q; known are %s", file.Equation, strings.Join(known, ", "))
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	var results []CheckResult
	e := &all[k]
	for _, c := range file.Cases {
		r := CheckResult{File: name, Equation: e.name, Case: c.Name, Numbers: e.numbers, Function: e.function}
		if err := r.check(e, &c); err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// decode is json.Unmarshal, but refuses keys that the structs do not have.
func decode(text []byte, to any) error {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return err // also of what would follow the value
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// input returns the case's "in", which has each of the equation's keys once, and no
// others.
func (c *vectorCase) input(e *equation) (in vectorIn, err error) {
	members := map[any]string{}
	d := json.NewDecoder(bytes.NewReader(c.In))
	for d.Token(); d.More(); {
		key, _ := d.Token()
		if _, twice := members[key]; twice {
			return in, fmt.Errorf("the key %q comes twice", key)
		}
		var value json.RawMessage
		d.Decode(&value) // fails where c.In is no object, and then keys are missing
		members[key] = string(value)
	}
	for key := range strings.FieldsSeq(e.keys) {
		key, optional := strings.CutSuffix(key, "?")
		if value := members[key]; !optional && (value == "" || value == "null") {
			return in, fmt.Errorf("the key %q is missing", key)
		}
		delete(members, key)
	}
	for key := range members {
		return in, fmt.Errorf("the key %q is unknown", key)
	}
	return in, decode(c.In, &in)
}

// check fills r from a case. Where sizes do not fit, the code panics.
func (r *CheckResult) check(e *equation, c *vectorCase) (err error) {
	if c.Tol == nil || !(*c.Tol >= 0 && *c.Tol <= 0.01) {
		return errors.New("tol is not a number from 0 to 0.01")
	}
	r.Tolerance = *c.Tol
	in, err := c.input(e)
	if err != nil {
		return fmt.Errorf("in: %w", err)
	}
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("in: %v", problem)
		}
	}()
	text, err := json.Marshal(e.check(&in)) // loses no bit of a float64
	if err != nil {
		return fmt.Errorf("the result is not finite: %w", err)
	}
	var result any
	json.Unmarshal(text, &result)
	return r.compare(leavesOf("out", result), leavesOf("out", c.Out))
}

// A leaf is a number within decoded JSON, or NaN in place of anything else.
type leaf struct {
	name   string
	number float64
}

// leavesOf returns the leaves of a value, in order.
func leavesOf(name string, value any) (all []leaf) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leavesOf(name+"."+key, v[key])...)
		}
	case []any:
		for i, x := range v {
			all = append(all, leavesOf(fmt.Sprintf("%s[%d]", name, i), x)...)
		}
	case float64:
		all = []leaf{{name, v}}
	default:
		all = []leaf{{name, math.NaN()}}
	}
	return all
}

// compare holds the code's result to the vector. It returns the first difference
// that is too large, or the first leaf that only one of them has.
func (r *CheckResult) compare(code, vector []leaf) (first error) {
	end := leaf{name: "nothing more"}
	code, vector = append(code, end), append(vector, end)
	for i, v := range vector {
		c := code[i]
		if c.name != v.name {
			return cmp.Or(first, fmt.Errorf("the file has %s where the code gives %s", v.name, c.name))
		}
		if v == end {
			break
		}
		distance := math.Abs(c.number-v.number) / (1 + math.Abs(v.number))
		r.Worst = max(r.Worst, distance) // NaN if either is
		r.Compared = append(r.Compared, Comparison{v.name, v.number, c.number})
		if first == nil && !(distance <= r.Tolerance) {
			first = fmt.Errorf("%s is %v in the file, the code gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v",
				v.name, v.number, c.number, distance, r.Tolerance)
		}
	}
	if len(r.Compared) == 0 {
		return errors.New("out has no numbers")
	}
	return first
}

// An equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int                  // of the paper's equations
	function string                 // the home, or the homes
	keys     string                 // of "in", all needed but one with ?, which may be null
	check    func(in *vectorIn) any // returns what marshals as "out"
}

// A result has the keys of "out": a value for each, or a list.
type (
	outputs map[string]any
	lists   map[string][]any
)

// equations lists all kinds.
func equations() []equation {
	const update = "actor actor_target critics critic_targets heads gamma rho " +
		"lr_actor lr_critic lr_predictive action_l2 steps"
	return []equation{
		{"mlp-forward", nil, "mlp.forward", "net x output?", checkNetwork},
		{"mlp-backward", nil, "mlp.backward", "net x dy output?", checkNetwork},
		{"adam", nil, "adam.step", "w grads lr beta1 beta2 eps", checkAdam},
		{"td-target", []int{1}, "TDTarget", "r gamma q_target M", checkTarget},
		{"td-target-networks", []int{1}, "Agent.target", "actor critics s_next g r gamma M", checkTargetNetworks},
		{"critic-loss", []int{2}, "CriticLoss", "critics s g a y w?", checkCriticLoss},
		{"polyak", []int{3}, "Polyak", "target online rho", checkPolyak},
		{"policy-gradient", nil, "policy.learn", "actor critics s g action_l2", checkPolicyGradient},
		{"predictive-loss", []int{4}, "PredictiveLoss", "form critics heads s g a s_next", checkPredictiveLoss},
		{"uncertainty-std", []int{5}, "HeadDeviation", "pred", checkDeviation},
		{"uncertainty", []int{5}, "pun.uncertainty", "critics heads s g actions", checkUncertainty},
		{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", "epsilon m b", checkGoalProbability},
		{"achievable", nil, "Achievable", "q_mean c T", checkAchievable},
		{"per", []int{7, 8}, "prioritized.probability, ImportanceWeights", "priority alpha beta", checkPriorities},
		{"per-beta", nil, "PriorityBeta", "beta_initial beta_steps t", checkBeta},
		{"her", nil, "replay.relabel", "achieved_next goal i future? radius", checkHindsight},
		{"her-future", nil, "futureStep", "i n u", checkFuture},
		{"optimal-return", nil, "OptimalReturn", "hops gamma", checkOptimalReturn},
		{"update", nil, "Agent.learnFrom", update, checkUpdate},
		{"update-joint", nil, "Agent.learnFrom", update + " predictive_weight", checkUpdate},
		{"gaussian-nll", nil, "GaussianLoss", "mu raw y", checkGaussianLoss},
		{"vds", nil, "valueDisagreement, vdsProbabilities", "q", checkVDS},
		{"kde", nil, "logDensity", "points query bandwidth", checkDensity},
	}
}

// vectorIn is a case's "in", of any equation. A matrix has a row per transition.
type vectorIn struct {
	Net, Target, Online, Actor vectorNet
	ActorTarget                vectorNet `json:"actor_target"`
	Critics                    []vectorNet
	CriticTargets              []vectorNet `json:"critic_targets"`
	Heads                      []vectorLayer
	Output, Form               string

	X, Dy, Grads, S, G, A, Q, Points, Query [][]float64
	SNext                                   [][]float64 `json:"s_next"`
	QTarget                                 [][]float64 `json:"q_target"` // a row per critic
	AchievedNext                            [][]float64 `json:"achieved_next"`
	Pred, Actions                           [][][]float64
	R, Y, W, Epsilon, Priority, Goal        []float64
	Mu, Raw                                 []float64
	QMean                                   []float64 `json:"q_mean"`
	M                                       []int     `json:"M"`
	Steps                                   []vectorIn

	Gamma, Rho, Alpha, Beta, B, C, U float64
	Beta1, Beta2, Eps                float64
	Radius, Bandwidth                float64
	Rate                             float64  `json:"lr"`
	ActorRate                        float64  `json:"lr_actor"`
	CriticRate                       float64  `json:"lr_critic"`
	PredictiveRate                   float64  `json:"lr_predictive"`
	ActionL2                         float64  `json:"action_l2"`
	PredictiveWeight                 *float64 `json:"predictive_weight"`
	Slope                            float64  `json:"m"`
	BetaInitial                      float64  `json:"beta_initial"`
	BetaSteps                        int      `json:"beta_steps"`
	Times                            []int    `json:"t"`
	Horizon                          int      `json:"T"`
	I, N                             int
	Future                           *int
	Hops                             []int
}

// checkNetwork is a forward pass and, given dL/dy, a backward pass.
func checkNetwork(in *vectorIn) any {
	net, x, widths := in.Net.network("net"), table("x", in.X, 0), in.Net.widths("net")
	p, last := newPass(widths, nil), len(in.Net)
	ξ := net.latent(p, x)
	y := net.forward(p, x)
	switch in.Output {
	case "":
	case "tanh":
		for i, v := range y.data {
			y.data[i] = tanh32(v)
		}
	default:
		panic(fmt.Sprintf("output is %q, allowed is tanh", in.Output))
	}
	if in.Dy == nil {
		return outputs{"xi": rowsOf64(ξ), "y": rowsOf64(y)}
	}
	for i, v := range table("dy", in.Dy, y.cols).data {
		if in.Output == "tanh" {
			v *= 1 - float32(y.data[i]*y.data[i])
		}
		p.dx[last].data[i] = v
	}
	gradient := newMLP(make([]float32, mlpSize(widths)), widths)
	net.backward(p, gradient, x, last, false)
	_, dx := net.outputGradient(p, x, 0)
	return outputs{"grad": gradient.vector(), "dx": rowsOf64(dx)}
}

func checkAdam(in *vectorIn) any {
	if in.Beta1 != adamBeta1 || in.Beta2 != adamBeta2 || in.Eps != adamEpsilon {
		panic(fmt.Sprintf("beta1, beta2 and eps are %v, %v and %v, allowed are %v, %v and %v",
			in.Beta1, in.Beta2, in.Eps, adamBeta1, adamBeta2, adamEpsilon))
	}
	params, a := float32s(in.W), newAdam(len(in.W), in.Rate, nil)
	var steps [][]float64
	for _, gradient := range in.Grads {
		a.step(params, float32s(gradient))
		steps = append(steps, float64s(params))
	}
	return outputs{"w": steps}
}

func checkTarget(in *vectorIn) any {
	q := table("q_target", in.QTarget, len(in.R))
	i, j := drawPair(pairScript(in.M, q.rows), q.rows)
	y := make([]float32, q.cols)
	TDTarget(y, float32s(in.R), q.row(i), q.row(j), in.Gamma)
	return outputs{"y": float64s(y)}
}

func checkTargetNetworks(in *vectorIn) any {
	in.ActorTarget, in.CriticTargets = in.Actor, in.Critics
	a := in.agent(Paper())
	b := in.batch(a)
	a.learning = pairScript(in.M, len(in.Critics))
	a.target(b)
	action := b.next.columns(b.next.cols-a.sizes.Action, b.next.cols)
	return outputs{"a_next": rowsOf64(action), "y": float64s(b.y[0])}
}

func checkCriticLoss(in *vectorIn) any {
	a := in.agent(Paper())
	b := in.batch(a)
	out := lists{}
	for i, c := range a.pun.critics {
		loss, _ := a.pun.criticGradient(i, b)
		out["loss"] = append(out["loss"], loss)
		out["grad"] = append(out["grad"], c.gradient.q.vector())
	}
	return out
}

func checkPolyak(in *vectorIn) any {
	target, online := in.Target.network("target"), in.Online.network("online")
	Polyak(target.params, online.params, in.Rho)
	return outputs{"target": target.vector()}
}

func checkPolicyGradient(in *vectorIn) any {
	a := in.agent(Paper())
	loss := a.policy.learn(in.batch(a).x, a.pun)
	return outputs{"loss": loss, "grad": a.policy.gradient.vector()}
}

func checkPredictiveLoss(in *vectorIn) any {
	p := Paper()
	switch in.Form {
	case "mse":
	case "norm":
		p.HeadLoss = headLossNorm
	default:
		panic(fmt.Sprintf("form is %q, allowed are mse and norm", in.Form))
	}
	a := in.agent(p)
	b, u := in.batch(a), a.pun
	out := lists{}
	for i, c := range u.critics {
		ξ := c.q.latent(u.pass, b.x)
		out["loss"] = append(out["loss"], u.headGradient(i, ξ, c.prediction, b))
		out["pred"] = append(out["pred"], rowsOf64(c.prediction))
		out["grad_head"] = append(out["grad_head"], c.gradient.head.vector())
		// The vectors have the gradient after the latent's ReLU, so no mask.
		dξ := newMatrix(ξ.rows, ξ.cols)
		c.head.backwardInput(nil, dξ, u.dp, u.headT, epilogue{})
		out["grad_xi"] = append(out["grad_xi"], rowsOf64(dξ))
	}
	return out
}

func checkDeviation(in *vectorIn) any {
	head := table("pred", firstOf("pred", in.Pred), 0)
	heads := each(in.Pred, func(p [][]float64) []float32 {
		wantLength("pred", len(p), head.rows)
		return table("pred", p, head.cols).data
	})
	u := make([]float64, head.rows)
	HeadDeviation(u, heads, head.cols)
	return outputs{"u": u}
}

func checkUncertainty(in *vectorIn) any {
	var perAction [][]float64
	var x matrix
	a := in.agent(Paper())
	for _, in.A = range in.Actions {
		x = in.batch(a).x
		d := make([]float64, x.rows)
		a.pun.deviation(d, x)
		perAction = append(perAction, d)
	}
	ε := make([]float64, x.rows)
	a.pun.uncertainty(ε, x, table("actions", slices.Concat(in.Actions...), 0))
	return outputs{"per_action": perAction, "epsilon": ε}
}

func checkGoalProbability(in *vectorIn) any {
	scaled, p := make([]float64, len(in.Epsilon)), make([]float64, len(in.Epsilon))
	scaleUncertainty(scaled, in.Epsilon)
	GoalProbabilities(p, in.Epsilon, in.Slope, in.B)
	return outputs{"normalized": scaled, "p": p}
}

func checkAchievable(in *vectorIn) any {
	candidates := make([]int, len(in.QMean))
	for k := range candidates {
		candidates[k] = k
	}
	return outputs{"kept": Achievable(candidates, in.QMean, in.C, in.Horizon)}
}

func checkPriorities(in *vectorIn) any {
	n := len(in.Priority)
	P, w := make([]float64, n), make([]float64, n)
	SampleProbabilities(P, in.Priority, in.Alpha)
	ImportanceWeights(w, P, n, in.Beta, 0)

	// The sampler divides by the largest weight in the buffer.
	s := newPrioritized(&Params{Method: Method{Batch: n, PriorityAlpha: in.Alpha}}, nil)
	var transitions []int
	for i, p := range in.Priority {
		transitions = append(transitions, i)
		s.stored(i)
		s.tree.set(i, pow(p, in.Alpha))
	}
	s.beta, s.betaSteps = in.Beta, 1
	s.weigh(nil, transitions, 0)
	return outputs{"P": P, "w": w, "w_normalized": s.w}
}

func checkBeta(in *vectorIn) any {
	β := func(t int) float64 { return PriorityBeta(t, in.BetaInitial, in.BetaSteps) }
	return outputs{"beta": each(in.Times, β)}
}

func checkHindsight(in *vectorIn) any {
	n := len(in.AchievedNext)
	b := newReplay(Sizes{Observation: 1, Goal: len(in.Goal), Action: 1}, n)
	zero := []float64{0}
	for _, achieved := range in.AchievedNext {
		wantLength("achieved_next", len(achieved), len(in.Goal))
		b.add(zero, achieved, zero, in.Goal, State{Observation: zero, Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.Future != nil {
		script = scripted{0, (float64(*in.Future-in.I) + 0.5) / float64(n-in.I)}
	}
	g := b.relabel(in.I, k, rand.New(&script))
	// Distances in units of the mazes' radius.
	achieved, goal := slices.Clone(in.AchievedNext[in.I]), slices.Clone(g)
	for c := range goal {
		achieved[c] *= GoalRadius / in.Radius
		goal[c] *= GoalRadius / in.Radius
	}
	return outputs{"g": g, "r": new(MazeEnv).Reward(achieved, goal)}
}

func checkFuture(in *vectorIn) any { return outputs{"future": futureStep(in.I, in.N, in.U)} }

func checkOptimalReturn(in *vectorIn) any {
	if len(in.Hops) > 0 && slices.Max(in.Hops) > 10000 {
		panic("hops has more than 10000")
	}
	discounted := func(hops int) float64 { return OptimalValue(in.Gamma, hops) }
	return outputs{"undiscounted": each(in.Hops, OptimalReturn), "discounted": each(in.Hops, discounted)}
}

// checkUpdate does whole updates: by the joint loss of Equations 2 and 4 where
// the case has its weight, else with Equation 4 moving only the heads.
func checkUpdate(in *vectorIn) any {
	p := Paper()
	switch weight := in.PredictiveWeight; {
	case weight == nil:
		p.PredictiveGradient = predictiveGradientHead
	case *weight != 1:
		panic(fmt.Sprintf("predictive_weight is %v, the joint loss here has 1", *weight))
	}
	a := in.agent(p)
	for _, step := range in.Steps {
		b := step.batch(a)
		a.learning = pairScript(step.M, len(in.Critics))
		a.learnFrom(b, b, b)
	}
	return outputs{
		"actor":          a.policy.net.vector(),
		"actor_target":   a.policy.target.vector(),
		"critics":        each(a.pun.critics, func(c *critic) vectorNet { return c.q.vector() }),
		"critic_targets": each(a.pun.critics, func(c *critic) vectorNet { return c.target.vector() }),
		"heads":          each(a.pun.critics, func(c *critic) vectorLayer { return c.head.vector() }),
	}
}

func checkGaussianLoss(in *vectorIn) any {
	n := len(in.Mu)
	raw, y := table("raw", [][]float64{in.Raw}, n).data, table("y", [][]float64{in.Y}, n).data
	p, dp := newMatrix(n, 2), newMatrix(n, 2)
	for r, μ := range in.Mu {
		p.row(r)[0], p.row(r)[1] = float32(μ), raw[r]
	}
	loss := GaussianLoss(dp.data, p.data, y, 1)
	out := lists{}
	for _, row := range rowsOf64(dp) {
		out["grad_mu"], out["grad_raw"] = append(out["grad_mu"], row[0]), append(out["grad_raw"], row[1])
	}
	return outputs{"loss": loss, "grad_mu": out["grad_mu"], "grad_raw": out["grad_raw"]}
}

func checkVDS(in *vectorIn) any {
	q := table("q", in.Q, 0)
	members := each(in.Q, float32s)
	std, p := make([]float64, q.cols), make([]float64, q.cols)
	valueDisagreement(std, members)
	vdsProbabilities(p, std)
	return outputs{"std": std, "p": p}
}

func checkDensity(in *vectorIn) any {
	width := table("points", in.Points, 0).cols
	table("query", in.Query, width)
	points, scratch := slices.Concat(in.Points...), make([]float64, len(in.Points))
	return outputs{"log_density": each(in.Query, func(x []float64) float64 {
		return logDensity(points, x, in.Bandwidth, scratch)
	})}
}

// agent returns an agent with the case's networks, rates and coefficients. It
// does not clip returns: Equation 1 does not.
func (in *vectorIn) agent(p Params) *Agent {
	p.ClipReturns = false
	p.Discount, p.Polyak, p.ActionL2 = in.Gamma, in.Rho, in.ActionL2
	p.ActorRate, p.CriticRate, p.PredictiveRate = in.ActorRate, in.CriticRate, in.PredictiveRate
	a := &Agent{params: p, pun: ensemble(p, in.Critics, in.Heads, 0), sampler: uniform{}}
	for i, n := range in.CriticTargets {
		a.pun.critics[i].target.load("critic_targets", n)
	}
	if in.Actor != nil {
		a.policy = newActor(&p, in.Actor.widths("actor"), nil)
		a.policy.net.load("actor", in.Actor)
	}
	if in.ActorTarget != nil {
		a.policy.target.load("actor_target", in.ActorTarget)
	}
	return a
}

// batch returns the case's minibatch for a, with zeros for what the case lacks,
// and makes room for it.
func (in *vectorIn) batch(a *Agent) *batch {
	n := len(in.G)
	s, g := len(firstOf("s", slices.Concat(in.S, in.SNext))), len(firstOf("g", in.G))
	a.sizes = Sizes{Observation: s, Goal: g}
	if in.A != nil {
		a.sizes.Action = len(firstOf("a", in.A))
	} else {
		a.sizes.Action = a.policy.actions.cols
	}
	a.pun.reserve(n)
	b := newBatch(n, a.sizes, a.pun)
	columns := func(x matrix, name string, from int, rows [][]float64, width int) {
		if rows != nil {
			wantLength(name, len(rows), n)
			setColumns(x, from, table(name, rows, width))
		}
	}
	columns(b.x, "s", 0, in.S, s)
	columns(b.x, "g", s, in.G, g)
	columns(b.x, "a", s+g, in.A, a.sizes.Action)
	columns(b.next, "s_next", 0, in.SNext, s)
	columns(b.next, "g", s, in.G, g)
	if in.SNext != nil {
		b.head = table("s_next", in.SNext, s)
	}
	numbers := func(to []float32, name string, x []float64) {
		if x != nil {
			wantLength(name, len(x), n)
			copy(to, float32s(x))
		}
	}
	numbers(b.r, "r", in.R)
	numbers(b.y[0], "y", in.Y)       // of all critics
	numbers(b.weights[0], "w", in.W) // of all critics, like y
	return &b
}

// ensemble returns critics with heads, or with heads of zeros and one column, for
// batches of up to rows.
func ensemble(p Params, critics []vectorNet, heads []vectorLayer, rows int) *pun {
	widths := firstOf("critics", critics).widths("critics")
	prediction := 1
	if heads != nil {
		wantLength("heads", len(heads), len(critics))
		prediction = len(heads[0].B)
	}
	p.Critics = len(critics)
	a := newArchitecture(&p, Sizes{Observation: prediction, Goal: prediction})
	u := newEnsemble(&p, widths[:len(widths)-1], a, nil)
	u.depart(&p)
	u.reserve(rows)
	for i, c := range u.critics {
		c.q.load("critics", critics[i])
		if heads != nil {
			c.head.load("heads", heads[i])
		}
	}
	return u
}

// The forms of networks in vectors: a net is its layers from the input on.
type (
	vectorLayer struct {
		W [][]float64 `json:"w"` // in by out
		B []float64   `json:"b"`
	}
	vectorNet []vectorLayer
)

// widths returns a net's layer widths from input to output.
func (n vectorNet) widths(name string) []int {
	widths := []int{len(firstOf(name, n).W)}
	for _, l := range n {
		widths = append(widths, len(l.B))
	}
	return widths
}

// network returns the net as an mlp.
func (n vectorNet) network(name string) *mlp {
	widths := n.widths(name)
	m := newMLP(make([]float32, mlpSize(widths)), widths)
	m.load(name, n)
	return m
}

// load sets a net, or a layer, to the file's, after comparing the shapes.
func (m *mlp) load(name string, n vectorNet) {
	wantLength(name, len(n), len(m.layers))
	for i, l := range n {
		m.layers[i].load(name, l)
	}
}

func (l layer) load(name string, v vectorLayer) {
	wantLength(name+": w", len(v.W), l.w.rows)
	wantLength(name+": b", len(v.B), len(l.b))
	copy(l.w.data, table(name+": w", v.W, l.w.cols).data)
	copy(l.b, float32s(v.B))
}

// vector returns a net, or a layer, in the form of a file.
func (m *mlp) vector() vectorNet { return each(m.layers, layer.vector) }

func (l layer) vector() vectorLayer { return vectorLayer{rowsOf64(l.w), float64s(l.b)} }

func rowsOf64(m matrix) (rows [][]float64) {
	for i := range m.rows {
		rows = append(rows, float64s(m.row(i)))
	}
	return rows
}

func float64s(x []float32) []float64 { return each(x, func(v float32) float64 { return float64(v) }) }
func float32s(x []float64) []float32 { return each(x, func(v float64) float32 { return float32(v) }) }

// each returns f of every element of x.
func each[T, U any](x []T, f func(T) U) []U {
	y := make([]U, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// table returns rows of cols elements as a matrix; cols 0 means as many as the
// first row has.
func table(name string, rows [][]float64, cols int) matrix {
	if cols == 0 {
		cols = len(firstOf(name, rows))
	}
	m := newMatrix(len(rows), cols)
	for i, row := range rows {
		wantLength(fmt.Sprintf("%s[%d]", name, i), len(row), cols)
		copy(m.row(i), float32s(row))
	}
	return m
}

// firstOf returns the first element of the list called name.
func firstOf[T any](name string, list []T) T {
	if len(list) == 0 {
		panic(name + " is empty")
	}
	return list[0]
}

// wantLength panics unless the list called name has n elements.
func wantLength(name string, got, n int) {
	if got != n {
		panic(fmt.Sprintf("%s has %d elements, want %d", name, got, n))
	}
}

// scripted is a source with which a generator's Float64 returns the given
// numbers, from 0 to 1, 1 excluded.
type scripted []float64

func (s *scripted) Uint64() uint64 {
	u := (*s)[0]
	*s = (*s)[1:]
	if !(0 <= u && u < 1) {
		panic("an index is out of range")
	}
	return uint64(u * (1 << 53))
}

// pairScript makes drawPair return M from n critics.
func pairScript(M []int, n int) stream {
	if len(M) != 2 || M[0] == M[1] {
		panic(fmt.Sprintf("M is %v, want two different indices", M))
	}
	i, j := float64(M[0]), float64(M[1])
	if j > i {
		j--
	}
	return stream{Rand: rand.New(&scripted{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)})}
}
