package qta

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
)

// This file compares the code with vectors: inputs, and the outputs that another
// implementation computed from them. A file of vectors is JSON,
//
//	{"equation": NAME, "paper": WHAT, "cases": [
//		{"name": ..., "in": {...}, "out": {...}, "tol": T}, ...]}
//
// and a result r of the code matches the number e in "out" if |r-e| <= T (1 + |e|). For
// each kind of file a function below computes the results, in the order of the paper.
// vectors.go reads the files.

// A CheckResult says whether the code agrees with a case of a vectors file.
type CheckResult struct {
	File     string
	Case     string
	Numbers  []int  // numbers of the paper's equations that it checks, if any
	Function string // the function or functions that it checks

	Err       error        // why the case fails, or nil
	Worst     float64      // largest |r-e| / (1 + |e|) of the case
	Tolerance float64      // T
	Compared  []Comparison // the numbers of "out"
}

// A Comparison is an expected number of a case, at a place such as out.y[0], and the
// number that the code computes.
type Comparison struct {
	Name         string
	Vector, Code float64
}

// Check compares the code with every case of every file *.json at the top of fsys, in the
// order of the files' names. The error reports a file that is not a file of vectors.
// Package qta/testdata has the golden vectors; its README describes the format.
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

// A vectorCase is a case as the file has it.
type vectorCase struct {
	Name    string
	In, Out json.RawMessage
	Tol     *float64
}

func checkFile(fsys fs.FS, name string) ([]CheckResult, error) {
	info, err := fs.Stat(fsys, name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 4<<20) {
		return nil, errors.New("it is not a regular file of at most 4 MB") // a FIFO would wait for ever
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
		return nil, notJSON(text, err)
	}
	k := slices.IndexFunc(equations, func(e equation) bool { return e.name == file.Equation })
	if k < 0 {
		return nil, fmt.Errorf("unknown equation %q; testdata/golden has a file of each", file.Equation)
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}

	e := &equations[k]
	var results []CheckResult
	for _, c := range file.Cases {
		r := CheckResult{File: name, Case: c.Name, Numbers: slices.Clone(e.numbers), Function: e.function}
		if err := r.check(e, &c); err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// check fills r from a case. It returns why the case fails, or what is wrong with the
// file.
func (r *CheckResult) check(e *equation, c *vectorCase) (err error) {
	if c.Tol == nil || !(*c.Tol >= 0 && *c.Tol <= 0.01) {
		return errors.New("tol is not a number from 0 to 0.01")
	}
	r.Tolerance = *c.Tol

	defer func() {
		switch problem := recover().(type) {
		case nil:
		case fault:
			err = problem
		default:
			panic(problem) // a bug in this package
		}
	}()
	in := readVector("in", c.In)
	out := &comparison{want: readVector("out", c.Out), result: r}
	in.requireKeys(e.keys)
	e.check(in, out)
	in.requireRead()
	out.want.requireRead()
	return out.apart
}

// An equation is one kind of vectors: what a file of this kind checks, and how.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations, if any
	function string // the functions of this package that it checks
	keys     string // the keys that "in" must have
	check    func(in vector, out *comparison)
}

// updateKeys are the keys that whole updates need.
const updateKeys = "actor actor_target critics critic_targets heads gamma rho " +
	"lr_actor lr_critic lr_predictive action_l2 steps"

var equations = []equation{
	// Section 3.1.
	{"td-target", []int{1}, "TDTarget", "r gamma q_target M", checkTDTarget},
	{"td-target-networks", []int{1}, "paperHeads.targets", "actor critics s_next g r gamma M", checkTargets},
	{"td-target-clipped", []int{1}, "paperHeads.targets", "actor critics s_next g r gamma M", checkClippedTargets},
	{"critic-loss", []int{2}, "CriticLoss", "critics s g a y", checkCriticLoss},
	{"polyak", []int{3}, "Polyak", "target online rho", checkPolyak},
	{"policy-gradient", nil, "Agent.policyGradient", "actor critics s g action_l2", checkPolicyGradient},
	{"predictive-loss", []int{4}, "PredictiveLoss", "form critics heads s g a s_next", checkPredictiveLoss},
	{"update", nil, "generalLearner.update", updateKeys, checkUpdate},
	{"update-joint", nil, "paperLearner.update", updateKeys + " predictive_weight", checkUpdate},

	// Section 3.2.
	{"candidates", nil, "Agent.drawCandidates", "n limit", checkCandidates},
	{"uncertainty-std", []int{5}, "HeadDeviation", "pred", checkHeadDeviation},
	{"uncertainty", []int{5}, "ensemble.uncertainty", "critics heads s g actions", checkUncertainty},
	{"uncertainty-goal", []int{5}, "candidates.inputs", "critics heads s achieved desired ask actions", checkUncertaintyGoal},
	{"goal-probability", []int{6}, "GoalProbabilities, scaleUncertainty", "epsilon m b", checkGoalProbabilities},
	{"goal-choice", nil, "paperCurriculum.goal", "actor critics heads now s achieved shared_actions m b draws", checkGoalChoice},

	// Section 3.3.
	{"her", nil, "replay.relabel", "achieved_next goal i radius", checkRelabel},
	{"her-future", nil, "futureStep", "i n u", checkFutureStep},
	{"per", []int{7, 8}, "prioritizedSampler.probability, ImportanceWeights", "priority alpha beta", checkPrioritized},
	{"per-beta", nil, "PriorityBeta", "beta_initial beta_steps t", checkPriorityBeta},
	{"update-per", []int{7, 8}, "paperLearner.update, prioritizedSampler.weigh", updateKeys + " priority alpha beta", checkUpdate},
	{"achievable", nil, "Achievable", "q_mean c T", checkAchievable},

	// Section 4.
	{"optimal-return", nil, "OptimalValue", "hops gamma", checkOptimalValue},

	// Networks, and what the paper compares with.
	{"mlp-forward", nil, "mlp.forward", "net x", checkForward},
	{"mlp-backward", nil, "mlp.backward", "net x dy", checkBackward},
	{"adam", nil, "adam.step", "w grads lr beta1 beta2 eps", checkAdam},
	{"gaussian-nll", nil, "gaussianLoss", "mu raw y", checkGaussianLoss},
	{"kde", nil, "logDensity", "points query bandwidth", checkLogDensity},
	{"vds", nil, "valueDisagreement, toProbabilities", "q", checkValueDisagreement},
}

// checkTDTarget checks Equation 1, given the values of the target critics.
func checkTDTarget(in vector, out *comparison) {
	r := list[float32](in, "r")
	q := lists[float32](in, "q_target")
	require(len(q[0]) == len(r), "in: q_target has %d values of a critic, and r %d", len(q[0]), len(r))
	i, j := drawPair(pairScript(in.wholes("M"), len(q)), len(q))

	y := make([]float32, len(r))
	TDTarget(y, r, q[i], q[j], in.number("gamma"))
	out.holds("y", y)
}

// checkTargets checks Equation 1 with networks: a' by the target policy, and its value by
// the target critics.
func checkTargets(in vector, out *comparison) {
	a, b := in.learner()
	in.targets(a, b)
	out.holds("a_next", b.next.columns(b.next.cols-a.sizes.Action, b.next.cols))
	out.holds("y", b.y)
}

// checkClippedTargets is checkTargets with clipped returns. The lowest is the case's
// least return or, if there is none, the least sum of rewards.
func checkClippedTargets(in vector, out *comparison) {
	a, b := in.learner()
	a.params.ClipReturns = true
	if in.has("lowest") {
		a.pun.lowest = in.number("lowest")
	}
	in.targets(a, b)
	out.holds("y", b.y)
}

// targets sets the targets of a minibatch.
func (v vector) targets(a *Agent, b *batch) {
	a.policy.act(a.policy.target, b.next)
	a.pun.heads.targets(a.pun, b, pairScript(v.wholes("M"), len(a.pun.critics)))
}

// checkCriticLoss checks Equation 2 for each critic, and its gradient through the network.
func checkCriticLoss(in vector, out *comparison) {
	a, b := in.learner()
	for i, c := range a.pun.critics {
		ξ := c.q.latent(a.pun.pass, b.x)
		loss := a.pun.criticTerm(i, b, ξ, epilogue{mask: ξ})
		c.q.backward(a.pun.pass, c.gradient.q, len(c.q.layers)-1)
		out.holds(at("loss", i), loss)
		out.holds(at("grad", i), c.gradient.q.layers)
	}
}

// checkPolyak checks Equation 3.
func checkPolyak(in vector, out *comparison) {
	target, _ := in.network("target")
	online, _ := in.network("online")
	require(len(target.params) == len(online.params), "in: target and online differ in size")

	Polyak(target.params, online.params, in.number("rho"))
	out.holds("target", target.layers)
}

// checkPolicyGradient checks the policy's loss of DDPG.
func checkPolicyGradient(in vector, out *comparison) {
	a, b := in.learner()
	out.holds("loss", a.policyGradient(b.x))
	out.holds("grad", a.policy.gradient.layers)
}

// checkPredictiveLoss checks, for each head, Equation 4 or the norm in its place in the
// authors' code.
func checkPredictiveLoss(in vector, out *comparison) {
	a, b := in.learner()
	u := a.pun
	form := in.word("form")
	require(form == "mse" || form == "norm", "in: form is %q, want mse or norm", form)
	if form == "norm" {
		u.heads = authorsHeads{}
	}
	for i, c := range u.critics {
		ξ := c.q.latent(u.pass, b.x)
		out.holds(at("loss", i), u.headTerm(i, b, ξ, epilogue{}))
		out.holds(at("pred", i), rowMajor(b.x.rows, u.headWidth, b.predictions[i]))
		out.holds(at("grad_head", i), c.gradient.head)
		out.holds(at("grad_xi", i), u.pass.dx[len(c.q.layers)-1]) // before the mask of ReLU
	}
}

// checkUpdate checks whole updates by the joint loss of Equations 2 and 4. If
// predictive_weight is 0 or absent, Equation 4 moves only the heads. If there are
// priorities, replay is prioritized and the loss is joint.
func checkUpdate(in vector, out *comparison) {
	p := Paper()
	prioritized := in.has("priority")
	weight := in.numberIf("predictive_weight")
	require(weight == 0 || weight == 1, "in: predictive_weight is neither 0 nor 1, which the joint loss here has")
	if weight == 0 && !prioritized {
		p.PredictiveGradient = "head"
	}
	first := in.step(0)
	if prioritized {
		p.Replay = "per"
		p.Batch = first.length("g")
		p.PriorityAlpha = in.number("alpha")
		p.PriorityBeta = in.number("beta")
	}
	a := in.agent(p, first.length(at("s", 0)), first.length(at("g", 0)))
	drawn := &givenDraw{sampler: a.sampler}
	if prioritized {
		in.prioritize(a)
		a.sampler = drawn
	}

	for i := range in.length("steps") {
		step := in.step(i)
		a.batch = *step.batch(a)
		a.batch.transitions = nil // nothing is drawn
		if prioritized {
			drawn.transitions = step.transitions(a)
		}
		a.learning = pairScript(step.wholes("M"), len(a.pun.critics))
		err := a.learner.update(a)
		require(err == nil, "%v", err)
	}

	out.holds("actor", a.policy.net.layers)
	out.holds("actor_target", a.policy.target.layers)
	for i, c := range a.pun.critics {
		out.holds(at("critics", i), c.q.layers)
		out.holds(at("critic_targets", i), c.target.layers)
		out.holds(at("heads", i), c.head)
	}
	if prioritized {
		sampler := drawn.sampler.(*prioritizedSampler)
		for j := range a.replay.n {
			out.holds(at("P", j), sampler.probability(j))
		}
	}
}

// step returns one update's minibatch.
func (v vector) step(i int) vector {
	v.place += "." + at("steps", i)
	v.requireKeys("s g a s_next r M")
	return v
}

// prioritize gives the agent's replay as many transitions as there are priorities.
func (v vector) prioritize(a *Agent) {
	sampler := a.sampler.(*prioritizedSampler)
	a.replay.n = v.length("priority")
	sampler.prioritized = a.replay.n
	for j, priority := range list[float64](v, "priority") {
		sampler.set(j, priority)
	}
}

// transitions returns which transitions of the replay are in a step's minibatch.
func (v vector) transitions(a *Agent) []int {
	transitions := v.wholes("transitions")
	require(len(transitions) == a.params.Batch && v.length("g") == a.params.Batch,
		"%s: there are not as many transitions as in the first step", v.place)
	for _, j := range transitions {
		require(0 <= j && j < a.replay.n, "%s: there is no transition %d", v.place, j)
	}
	return transitions
}

// A givenDraw draws nothing, because the case gives the minibatch and its transitions.
type givenDraw struct {
	sampler
	transitions []int
}

func (d *givenDraw) weigh(b *batch, step int) {
	b.transitions = d.transitions
	d.sampler.weigh(b, step)
}

// checkCandidates checks the draw of at most limit of n transitions.
func checkCandidates(in vector, out *comparison) {
	n := in.whole("n")
	limit := in.whole("limit")
	require(n >= 0 && limit >= 1, "in: n is at least 0, limit at least 1")
	requireSmall("the replay", float64(n))
	var draws []float64
	if n > limit {
		draws = list[float64](in, "draws")
		require(len(draws) == n, "in: a draw is needed for each of n")
	}

	a := &Agent{replay: &replay{n: n}, goalDraws: script(draws)}
	a.params.Candidates = limit
	out.holds("candidates", a.drawCandidates())
}

// checkHeadDeviation checks the deviation of Equation 5 for given predictions.
func checkHeadDeviation(in vector, out *comparison) {
	var heads [][]float32
	for i := range in.elements("pred") {
		predictions := slices.Concat(lists[float32](in, at("pred", i))...)
		heads = append(heads, predictions)
		require(len(predictions) == len(heads[0]), "in.pred[%d] has %d numbers, the first %d", i, len(predictions), len(heads[0]))
	}
	rows := in.elements(at("pred", 0))
	require(len(heads[0]) > 0, "in: a head predicts nothing")

	u := make([]float64, rows)
	HeadDeviation(u, heads, len(heads[0])/rows)
	out.holds("u", u)
}

// checkUncertainty checks Equation 5 for rows of s and g, with all actions and with each
// action alone.
func checkUncertainty(in vector, out *comparison) {
	a, b := in.learner()
	actions := in.actions(a, b.x.rows)
	for j := range actions {
		out.holds(at("per_action", j), a.pun.uncertainty(b.x, actions[j:j+1], HeadDeviation))
	}
	out.holds("epsilon", a.pun.uncertainty(b.x, actions, HeadDeviation))
}

// checkUncertaintyGoal checks Equation 5 for candidates, with the goal that "ask" names.
func checkUncertaintyGoal(in vector, out *comparison) {
	p := Paper()
	p.UncertaintyGoal = in.word("ask")
	p.UncertaintyActions = in.length("actions")
	a := in.agent(p, in.length(at("s", 0)), in.length(at("achieved", 0)))
	in.fill("desired", a.desired)

	x := a.candidates(in.remember(a), false).inputs(a)
	out.holds("epsilon", a.pun.uncertainty(x, in.actions(a, x.rows), HeadDeviation))
}

// checkGoalProbabilities checks Equation 6, and its scaling.
func checkGoalProbabilities(in vector, out *comparison) {
	ε := list[float64](in, "epsilon")
	scaled := make([]float64, len(ε))
	scaleUncertainty(scaled, ε)
	out.holds("normalized", scaled)

	p := make([]float64, len(ε))
	GoalProbabilities(p, ε, in.number("m"), in.number("b"))
	out.holds("p", p)
}

// checkGoalChoice checks the choice of a goal: first its parts, and then the whole choice
// for each draw. If the case has a threshold, the goals are an episode's first.
func checkGoalChoice(in vector, out *comparison) {
	p := Paper()
	p.InitialSteps = 0
	p.UncertaintyActions = in.length("shared_actions")
	p.Slope = in.number("m")
	p.Intercept = in.number("b")
	first := in.has("c")
	if first {
		p.Threshold = in.number("c")
		p.Horizon = in.whole("T")
	}
	a := in.agent(p, in.length(at("s", 0)), in.length(at("achieved", 0)))
	a.curriculum = paperCurriculum{}
	copy(a.observation, in.numbers("now", a.sizes.Observation))
	kept := in.remember(a)
	q := a.Value(slices.Repeat([][]float64{a.observation}, len(kept)), a.replay.achieved.of(kept))
	if first {
		out.holds("q_mean", q)
		kept = a.achievableNow(kept)
		out.holds("kept", kept)
	} else { // a threshold that only the best would pass, if it were applied
		a.params.Threshold = (slices.Max(q) - 1e-6) / float64(a.params.Horizon)
	}

	var actions []float64 // components of all actions, as the numbers of [0, 1) that give them
	for j := range p.UncertaintyActions {
		for _, v := range in.numbers(at("shared_actions", j), a.sizes.Action) {
			actions = append(actions, (v+1)/2)
		}
	}
	ε := a.estimator.uncertainty(a, a.candidates(kept, first), script(actions))
	out.holds("epsilon", ε)
	chances := make([]float64, len(kept))
	GoalProbabilities(chances, ε, p.Slope, p.Intercept)
	out.holds("p", chances)

	for k, u := range list[float64](in, "draws") {
		a.goalDraws = script(append(slices.Clone(actions), u))
		goal, err := a.curriculum.goal(a, first)
		require(err == nil, "%v", err)
		out.holds(at("goal", k), goal)
	}
}

// checkRelabel checks hindsight: the goal with which a transition is replayed, and the
// reward.
func checkRelabel(in vector, out *comparison) {
	goal := in.numbers("goal", 2)
	i := in.whole("i")
	n := in.elements("achieved_next")
	require(0 <= i && i < n, "in.i is %d, want a transition of %d", i, n)
	r := newReplay(Sizes{Goal: 2}, n)
	for k := range n {
		next := in.numbers(at("achieved_next", k), 2)
		r.add(nil, next, nil, goal, State{Achieved: next})
	}

	const k = 4
	draws := []float64{0.9} // above k/(k+1): the transition keeps the goal pursued
	if in.has("future") {
		draws = []float64{0, (float64(in.whole("future")-i) + 0.5) / float64(n-i)}
	}
	g := r.relabel(i, k, script(draws).Rand)
	out.holds("g", g)
	out.holds("r", goalReward(r.nextAchieved.at(i), g, in.number("radius")))
}

// checkFutureStep checks the draw of hindsight's later step.
func checkFutureStep(in vector, out *comparison) {
	step := futureStep(in.whole("i"), in.whole("n"), in.number("u"))
	out.holds("future", float64(step))
}

// checkPrioritized checks Equations 7 and 8 over a whole replay.
func checkPrioritized(in vector, out *comparison) {
	priority := list[float64](in, "priority")
	n := len(priority)
	P := make([]float64, n)
	SampleProbabilities(P, priority, in.number("alpha"))
	out.holds("P", P)

	w := make([]float64, n)
	β := in.number("beta")
	ImportanceWeights(w, P, n, β, 0)
	out.holds("w", w)
	ImportanceWeights(w, P, n, β, slices.Min(P)) // as replay divides: by the largest
	out.holds("w_normalized", w)
}

// checkPriorityBeta checks the schedule of β.
func checkPriorityBeta(in vector, out *comparison) {
	initial := in.number("beta_initial")
	steps := in.whole("beta_steps")
	for k, t := range in.wholes("t") {
		out.holds(at("beta", k), PriorityBeta(t, initial, steps))
	}
}

// checkAchievable checks the threshold of an episode's first goal.
func checkAchievable(in vector, out *comparison) {
	q := list[float64](in, "q_mean")
	var candidates []int
	for k := range q {
		candidates = append(candidates, k)
	}
	out.holds("kept", Achievable(candidates, q, in.number("c"), in.whole("T")))
}

// checkOptimalValue checks the best sum of rewards, and the optimal value.
func checkOptimalValue(in vector, out *comparison) {
	γ := in.number("gamma")
	for k, hops := range in.wholes("hops") {
		require(hops >= 0, "in.hops[%d] is %d, want 0 or more", k, hops)
		requireSmall("the hops", float64(hops)*float64(in.length("hops")))
		out.holds(at("undiscounted", k), OptimalValue(1, hops))
		out.holds(at("discounted", k), OptimalValue(γ, hops))
	}
}

// checkForward checks a network's pass forward.
func checkForward(in vector, out *comparison) {
	net, p, x := in.pass()
	out.holds("xi", net.latent(p, x))
	out.holds("y", in.output(net, p, x))
}

// checkBackward checks a network's pass backward, given dL/dy.
func checkBackward(in vector, out *comparison) {
	net, p, x := in.pass()
	y := in.output(net, p, x)
	dy := p.dx[len(net.layers)]
	in.fill("dy", dy)
	if in.bounded() {
		for i, v := range y.data {
			dy.data[i] *= 1 - float32(v*v)
		}
	}

	gradient, _ := in.network("net")
	net.backward(p, gradient, len(net.layers))
	_, dx := net.inputGradient(p, x, dy, 0)
	out.holds("grad", gradient.layers)
	out.holds("dx", dx)
}

// pass returns a network, a pass through it, and its input.
func (v vector) pass() (*mlp, *pass, matrix) {
	net, widths := v.network("net")
	rows := v.length("x")
	requireSmall("the layers", float64(rows)*float64(slices.Max(widths)))
	x := newMatrix(rows, widths[0])
	v.fill("x", x)
	return net, newPass(widths, newWorkers(1)), x
}

// output returns the network's output for x.
func (v vector) output(net *mlp, p *pass, x matrix) matrix {
	y := net.forward(p, x)
	if v.bounded() {
		for i, z := range y.data {
			y.data[i] = tanh32(z)
		}
	}
	return y
}

// bounded reports whether the network's output is a tanh.
func (v vector) bounded() bool { return v.word("output") == "tanh" }

// checkAdam checks a step of Adam for each gradient.
func checkAdam(in vector, out *comparison) {
	table := in.number("beta1") == adamBeta1 && in.number("beta2") == adamBeta2 && in.number("eps") == adamEpsilon
	require(table, "in: beta1, beta2 and eps are not %v, %v and %v", adamBeta1, adamBeta2, adamEpsilon)

	w := list[float32](in, "w")
	a := newAdam(w, make([]float32, len(w)), in.number("lr"), newWorkers(1))
	for i := range in.length("grads") {
		in.fill(at("grads", i), a.gradient)
		a.step()
		out.holds(at("w", i), w)
	}
}

// checkGaussianLoss checks the loss of Deep Ensembles, whose heads predict means and a
// raw variance.
func checkGaussianLoss(in vector, out *comparison) {
	y := list[float32](in, "y")
	var p []float32 // a mean and a raw variance for each
	for r := range y {
		p = append(p, float32(in.number(at("mu", r))), float32(in.number(at("raw", r))))
	}
	dp := make([]float32, len(p))
	out.holds("loss", gaussianLoss(dp, p, y, 1))
	for r := range y {
		out.holds(at("grad_mu", r), float64(dp[2*r]))
		out.holds(at("grad_raw", r), float64(dp[2*r+1]))
	}
}

// checkLogDensity checks the density of MEGA.
func checkLogDensity(in vector, out *comparison) {
	points := lists[float64](in, "points")
	query := lists[float64](in, "query")
	width := len(query[0])
	require(width > 0 && len(points[0]) == width, "in: a point has not as many numbers as a query")
	requireSmall("the densities", float64(width)*float64(len(points))*float64(len(query)))

	h := in.number("bandwidth")
	for k, x := range query {
		out.holds(at("log_density", k), logDensity(slices.Concat(points...), x, h))
	}
}

// checkValueDisagreement checks the choice of VDS.
func checkValueDisagreement(in vector, out *comparison) {
	q := lists[float32](in, "q")
	p := make([]float64, len(q[0]))
	valueDisagreement(p, q)
	out.holds("std", p)
	toProbabilities(p)
	out.holds("p", p)
}

// learner returns an agent with the case's networks, and its minibatch.
func (v vector) learner() (*Agent, *batch) {
	state := max(v.length(at("s", 0)), v.length(at("s_next", 0)))
	a := v.agent(Paper(), state, v.length(at("g", 0)))
	return a, v.batch(a)
}

// agent returns an agent with the case's networks, rates and coefficients, for states and
// goals of these sizes. The agent does not clip returns, because Equation 1 does not.
func (v vector) agent(p Params, observation, goal int) *Agent {
	p.ClipReturns = false
	p.Curriculum = "her" // which allows a single critic
	p.Critics = v.length("critics")
	p.HiddenLayers = v.length(at("critics", 0)) - 1
	p.HiddenSize = v.length("critics[0][0].b")
	p.Discount = v.numberIf("gamma")
	p.Polyak = v.numberIf("rho")
	p.ActionL2 = v.numberIf("action_l2")
	p.ActorRate = v.numberIf("lr_actor")
	p.CriticRate = v.numberIf("lr_critic")
	p.PredictiveRate = v.numberIf("lr_predictive")
	action := v.length("critics[0][0].w") - observation - goal
	sizes := Sizes{Observation: observation, Goal: goal, Action: action}
	requireSmall("the critics", criticWeights(&p, sizes))
	a, err := NewAgent(p, sizes, 0)
	require(err == nil, "%v", err)

	for i, c := range a.pun.critics {
		v.fill(at("critics", i), c.q.layers)
		copy(c.target.params, c.params)
		v.fillIf(at("critic_targets", i), c.target.layers)
		if v.has("heads") {
			v.fill(at("heads", i), c.head)
		}
	}
	v.fillIf("actor", a.policy.net.layers)
	copy(a.policy.target.params, a.policy.net.params)
	v.fillIf("actor_target", a.policy.target.layers)
	return a
}

// batch returns the case's minibatch, with zeros for what the case lacks.
func (v vector) batch(a *Agent) *batch {
	rows := v.length("g")
	requireSmall("the minibatch", float64(rows)*float64(a.params.HiddenSize*a.params.HiddenLayers))
	b := a.pun.newBatch(rows, a.sizes)
	s := a.sizes.Observation
	sg := s + a.sizes.Goal
	v.fillIf("s", b.x.columns(0, s))
	v.fillIf("g", b.x.columns(s, sg))
	v.fillIf("a", b.x.columns(sg, b.x.cols))
	v.fillIf("s_next", b.next.columns(0, s))
	v.fillIf("g", b.next.columns(s, sg))
	v.fillIf("s_next", b.sNext)
	v.fillIf("r", b.r)
	v.fillIf("y", b.y)
	v.fillIf("w", b.w)
	return &b
}

// actions returns the random actions of Equation 5: d matrices with a row for each
// candidate.
func (v vector) actions(a *Agent, rows int) []matrix {
	var actions []matrix
	for j := range v.length("actions") {
		action := newMatrix(rows, a.sizes.Action)
		v.fill(at("actions", j), action)
		actions = append(actions, action)
	}
	return actions
}

// remember stores the case's states, and the goals achieved there, in an agent's replay.
// It returns the indices of their transitions.
func (v vector) remember(a *Agent) []int {
	var all []int
	for k := range v.elements("s") {
		s := v.numbers(at("s", k), a.sizes.Observation)
		g := v.numbers(at("achieved", k), a.sizes.Goal)
		a.replay.add(s, g, make([]float64, a.sizes.Action), g, State{s, g, g})
		all = append(all, k)
	}
	return all
}

// scripted is a source of randomness. A generator that uses it returns the given numbers,
// of [0, 1), from Float64.
type scripted []float64

func script(numbers []float64) stream {
	s := scripted(numbers)
	return stream{Rand: rand.New(&s)}
}

func (s *scripted) Uint64() uint64 {
	require(len(*s) > 0, "in: there are fewer draws than the code takes")
	u := (*s)[0]
	*s = (*s)[1:]
	require(0 <= u && u < 1, "in: an index is out of range")
	return uint64(u * (1 << 53))
}

// pairScript returns a generator with which drawPair returns M from n critics.
func pairScript(M []int, n int) stream {
	require(len(M) == 2 && M[0] != M[1], "in: M is %v, want two different indices", M)
	i := float64(M[0])
	j := float64(M[1])
	if j > i {
		j--
	}
	return script([]float64{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)})
}
