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
// and a result r of the code matches the number e in "out" if |r-e| <= T (1 + |e|). Each
// kind of file has a function below that computes the results. These functions stand in
// the order of the paper. vectors.go reads the files.

// A CheckResult says whether the code agrees with a case of a vectors file.
type CheckResult struct {
	File     string
	Case     string
	Numbers  []int  // numbers of the paper's equations that the case checks, if any
	Function string // the function that the case checks, or several separated by commas

	Err       error        // why the case fails, or nil
	Worst     float64      // largest |r-e| / (1 + |e|) of the case
	Tolerance float64      // T
	Compared  []Comparison // the numbers of "out"
}

// A Comparison is a number of a case's "out", beside what the code computes.
type Comparison struct {
	Name   string  // where the number stands, such as out.y[0]
	Vector float64 // what the file has there
	Code   float64 // what the code computes
}

// Check compares the code with every case of every file *.json at the top of fsys, in the
// order of the files' names. It returns an error if a file does not hold vectors, or if
// there is no file. Package qta/testdata has the golden vectors; its README describes the
// format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, _ := fs.Glob(fsys, "*.json")
	if len(names) == 0 {
		_, err := fs.ReadDir(fsys, ".")
		unread := errors.Unwrap(err) // without the path
		cause := cmp.Or(unread, errors.New("no file matches *.json"))
		return nil, fmt.Errorf("qta: vectors: %w", cause)
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

// A vectorsFile is a file of vectors.
type vectorsFile struct {
	Equation, Paper string
	Cases           []vectorCase
}

// A vectorCase is a case as the file has it.
type vectorCase struct {
	Name    string
	In, Out json.RawMessage
	Tol     *float64 // nil if it is absent
}

// readFile reads a file of vectors. It does not look into the cases.
func readFile(fsys fs.FS, name string) (*vectorsFile, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 4<<20 {
		// Reading a FIFO would wait for ever.
		return nil, errors.New("it is not a regular file of at most 4 MB")
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var file vectorsFile
	if err := fromJSON(text, &file); err != nil {
		return nil, notJSON(text, err)
	}
	return &file, nil
}

// checkFile compares the code with every case of a file.
func checkFile(fsys fs.FS, name string) ([]CheckResult, error) {
	file, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	kind := slices.IndexFunc(equations, func(e equation) bool { return e.name == file.Equation })
	if kind < 0 {
		return nil, fmt.Errorf("unknown equation %q; testdata/golden has a file of each", file.Equation)
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}

	e := &equations[kind]
	var results []CheckResult
	for _, c := range file.Cases {
		r := CheckResult{
			File:     name,
			Case:     c.Name,
			Numbers:  slices.Clone(e.numbers),
			Function: e.function,
		}
		if err := r.check(e, &c); err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// check computes the case's results and fills r. Its error says why the case fails or what
// is wrong with the file.
func (r *CheckResult) check(e *equation, c *vectorCase) (err error) {
	if c.Tol == nil || !(*c.Tol >= 0 && *c.Tol <= 0.01) {
		return errors.New("tol is not a number from 0 to 0.01")
	}
	r.Tolerance = *c.Tol

	defer func() {
		switch problem := recover().(type) {
		case nil:
		case fault: // of the file, found by require
			err = problem
		default:
			panic(problem) // a bug in this package
		}
	}()
	in := readVector("in", c.In)
	out := &comparison{want: readVector("out", c.Out), result: r}
	in.requireKeys(e.keys)
	e.check(in, out)
	in.requireRead() // a value that nothing has read is a fault
	out.want.requireRead()
	return out.mismatch // the first number that does not match, if any
}

// An equation is one kind of file: what its vectors check, and how. They check an equation
// of the paper, or a part of the code such as a network or a whole update.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations, if any
	function string // the functions of this package that it checks, with commas
	keys     string // the keys that "in" must have
	check    func(in vector, out *comparison)
}

// updateKeys are the keys that "in" must have for a whole update.
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
	{"update-per", []int{7, 8}, "paperLearner.update, prioritizedSampler.weigh", updateKeys + " priority alpha beta", checkPrioritizedUpdate},
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
	i, j := drawPair(in.pairScript(len(q)), len(q)) // the case's M

	y := make([]float32, len(r))
	TDTarget(y, r, q[i], q[j], in.number("gamma"))
	out.holds("y", y)
}

// checkTargets checks Equation 1 with networks. The target policy gives a', and the target
// critics give its value.
func checkTargets(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	in.computeTargets(a, b)
	_, _, aNext := a.sizes.parts(b.next)
	out.holds("a_next", aNext)
	out.holds("y", b.y)
}

// checkClippedTargets is checkTargets with clipped targets (D26). If the case has no
// lowest return, the agent's applies, -1/(1-γ).
func checkClippedTargets(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	a.params.ClipReturns = true
	if in.has("lowest") {
		a.pun.lowest = in.number("lowest")
	}
	in.computeTargets(a, b)
	out.holds("y", b.y)
}

// computeTargets sets a' in b.next, and the targets b.y with the case's M.
func (v vector) computeTargets(a *Agent, b *batch) {
	a.policy.act(a.policy.target, b.next)
	a.pun.heads.targets(a.pun, b, v.pairScript(len(a.pun.critics)))
}

// checkCriticLoss checks Equation 2 for each critic, and its gradient through the network.
func checkCriticLoss(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	u := a.pun
	for i, c := range u.critics {
		loss, _ := u.oneGradient(i, b, u.criticTerm)
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

// checkPolicyGradient checks the policy's loss, which is DDPG's, and its gradient.
func checkPolicyGradient(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	out.holds("loss", a.policyGradient(b.x))
	out.holds("grad", a.policy.gradient.layers)
}

// checkPredictiveLoss checks Equation 4 for each head. In the form "norm" it checks the
// loss that the authors' code has instead.
func checkPredictiveLoss(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	u := a.pun
	form := in.word("form")
	require(form == "mse" || form == "norm", "in: form is %q, want mse or norm", form)
	if form == "norm" {
		u.heads = authorsHeads{}
	}
	for i, c := range u.critics {
		ξ := c.q.latent(u.pass, b.x)
		// The case's grad_xi is dξ before the mask of ReLU, so no mask is applied.
		loss := u.headTerm(i, b, ξ, epilogue{})
		out.holds(at("loss", i), loss)
		out.holds(at("pred", i), rowMajor(b.x.rows, u.headWidth, b.predictions[i]))
		out.holds(at("grad_head", i), c.gradient.head)
		out.holds(at("grad_xi", i), u.pass.dx[len(c.q.layers)-1])
	}
}

// checkUpdate checks whole updates. If predictive_weight is 1, the critics descend the joint
// loss of Equations 2 and 4. Otherwise Equation 4 moves only the heads.
func checkUpdate(in vector, out *comparison) {
	p := Paper()
	weight := in.numberIf("predictive_weight")
	require(weight == 0 || weight == 1, "in: predictive_weight is %v, want 0 or 1", weight)
	if weight == 0 {
		p.PredictiveGradient = "head"
	}
	a := in.updater(p)
	for i := range in.length("steps") {
		in.minibatch(i).update(a)
	}
	out.holdsNetworks(a)
}

// checkPrioritizedUpdate checks whole updates by the joint loss, with prioritized replay. The
// replay has a transition for each of the case's priorities.
func checkPrioritizedUpdate(in vector, out *comparison) {
	p := Paper()
	p.Replay = "per"
	p.Batch = in.minibatch(0).length("g")
	p.PriorityAlpha = in.number("alpha")
	p.PriorityBeta = in.number("beta")
	a := in.updater(p)
	s := a.sampler.(*prioritizedSampler)
	for j, priority := range list[float64](in, "priority") {
		s.set(j, priority)
		s.prioritized++ // it is not new
		a.replay.n++
	}

	given := &givenDraw{sampler: s}
	a.sampler = given
	for i := range in.length("steps") {
		minibatch := in.minibatch(i)
		given.transitions = minibatch.transitions(a)
		minibatch.update(a)
	}
	out.holdsNetworks(a)
	for j := range a.replay.n {
		out.holds(at("P", j), s.probability(j))
	}
}

// minibatch returns the part of the vector with the minibatch of the i-th update.
func (v vector) minibatch(i int) vector {
	v.place += "." + at("steps", i) // where this copy of v looks up names
	v.requireKeys("s g a s_next r M")
	return v
}

// updater returns an agent of the sizes in the first minibatch.
func (v vector) updater(p Params) *Agent {
	first := v.minibatch(0)
	return v.agent(p, first.width("s"), first.width("g"))
}

// update makes an agent's update on the minibatch v. Rewards must be 0 or -1, as an agent's are.
func (v vector) update(a *Agent) {
	a.batch = *v.batch(a)
	for _, r := range a.batch.r {
		require(r == 0 || r == -1, "%s.r has %v, want 0 or -1", v.place, r)
	}
	a.batch.transitions = nil // so that Agent.draw keeps these rows and draws none
	a.learning = v.pairScript(len(a.pun.critics))
	err := a.learner.update(a)
	require(err == nil, "%v", err)
}

// holdsNetworks compares all networks of an agent.
func (c *comparison) holdsNetworks(a *Agent) {
	c.holds("actor", a.policy.net.layers)
	c.holds("actor_target", a.policy.target.layers)
	for i, critic := range a.pun.critics {
		c.holds(at("critics", i), critic.q.layers)
		c.holds(at("critic_targets", i), critic.target.layers)
		c.holds(at("heads", i), critic.head)
	}
}

// transitions returns where in the replay a minibatch's transitions are.
func (v vector) transitions(a *Agent) []int {
	transitions := v.wholes("transitions")
	require(len(transitions) == a.params.Batch && v.length("g") == a.params.Batch,
		"%s: s, g and transitions must be as long as in the first step", v.place)
	for _, j := range transitions {
		require(0 <= j && j < a.replay.n, "%s: there is no transition %d", v.place, j)
	}
	return transitions
}

// A givenDraw is the agent's sampler, but the case says which transitions are drawn.
type givenDraw struct {
	sampler
	transitions []int
}

// weigh also sets b.transitions, because Agent.draw has drawn none.
func (d *givenDraw) weigh(b *batch, step int) {
	b.transitions = d.transitions
	d.sampler.weigh(b, step)
}

// checkCandidates checks which transitions become candidates if the replay has n of them
// and at most limit may be candidates.
func checkCandidates(in vector, out *comparison) {
	n := in.whole("n")
	limit := in.whole("limit")
	require(n >= 0 && limit >= 1, "in: n is at least 0, limit at least 1")
	requireSmall("the replay", n)
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
		require(len(predictions) == len(heads[0]), "in.pred[%d] has %d numbers, the first %d",
			i, len(predictions), len(heads[0]))
	}
	rows := in.elements(at("pred", 0))
	require(len(heads[0]) > 0, "in: a head predicts nothing")

	u := make([]float64, rows)
	width := len(heads[0]) / rows
	HeadDeviation(u, heads, width)
	out.holds("u", u)
}

// checkUncertainty checks Equation 5 for rows of s and g, with all actions and with each
// action alone.
func checkUncertainty(in vector, out *comparison) {
	a, b := in.agentAndBatch()
	actions := in.actions(a, b.x.rows)
	for j := range actions {
		out.holds(at("per_action", j), a.pun.uncertainty(b.x, actions[j:j+1]))
	}
	out.holds("epsilon", a.pun.uncertainty(b.x, actions))
}

// checkUncertaintyGoal checks Equation 5 for candidates. "ask" says which goal the critics
// get: "desired" or "candidate".
func checkUncertaintyGoal(in vector, out *comparison) {
	p := Paper()
	p.UncertaintyGoal = in.word("ask")
	p.UncertaintyActions = in.length("actions")
	a := in.agent(p, in.width("s"), in.width("achieved"))
	copy(a.desired, in.numbers("desired", len(a.desired)))

	const first = false // they are not for an episode's first goal
	x := a.candidates(in.remember(a), first).inputs(a)
	out.holds("epsilon", a.pun.uncertainty(x, in.actions(a, x.rows)))
}

// checkGoalProbabilities checks Equation 6, and the scaling of its uncertainties.
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
	first := in.has("c")
	a := in.goalChooser()
	transitions := in.remember(a)
	now := slices.Repeat([][]float64{a.observation}, len(transitions))
	q := a.Value(now, a.replay.achieved.of(transitions))
	if first {
		out.holds("q_mean", q)
		transitions = a.achievableNow(transitions)
		out.holds("kept", transitions)
	} else {
		// Later goals have no threshold. If the code applies one by mistake, only the best
		// candidate passes, and the goals show it.
		a.params.Threshold = (slices.Max(q) - 1e-6) / float64(a.params.Horizon)
	}

	actions := in.actionDraws(a)
	ε := a.estimator.uncertainty(a, a.candidates(transitions, first), script(actions))
	out.holds("epsilon", ε)
	chances := make([]float64, len(transitions))
	GoalProbabilities(chances, ε, a.params.Slope, a.params.Intercept)
	out.holds("p", chances)

	for k, u := range list[float64](in, "draws") {
		a.goalDraws = script(slices.Concat(actions, []float64{u})) // u chooses the goal
		goal, err := a.curriculum.goal(a, first)
		require(err == nil, "%v", err)
		out.holds(at("goal", k), goal)
	}
}

// goalChooser returns an agent of the case that chooses goals by QTA's curriculum.
func (v vector) goalChooser() *Agent {
	p := Paper()
	p.InitialSteps = 0 // no goal is random
	p.UncertaintyActions = v.length("shared_actions")
	p.Slope = v.number("m")
	p.Intercept = v.number("b")
	if v.has("c") {
		p.Threshold = v.number("c")
		p.Horizon = v.whole("T")
	}
	a := v.agent(p, v.width("s"), v.width("achieved"))
	a.curriculum = paperCurriculum{}
	copy(a.observation, v.numbers("now", a.sizes.Observation))
	return a
}

// actionDraws returns the draws that give the case's shared actions, one for each
// component. A draw u of [0, 1) gives the component 2u - 1.
func (v vector) actionDraws(a *Agent) []float64 {
	var draws []float64
	for j := range a.params.UncertaintyActions {
		for _, component := range v.numbers(at("shared_actions", j), a.sizes.Action) {
			draws = append(draws, (component+1)/2)
		}
	}
	return draws
}

// checkRelabel checks hindsight: the goal with which a transition is replayed, and the
// reward.
func checkRelabel(in vector, out *comparison) {
	goal := in.numbers("goal", 2)
	i := in.whole("i")
	n := in.elements("achieved_next")
	require(0 <= i && i < n, "in.i is %d, want a transition of %d", i, n)
	r := newReplay(Sizes{Goal: 2}, n) // without observations and actions
	for k := range n {
		achieved := in.numbers(at("achieved_next", k), 2)
		r.add(nil, achieved, nil, goal, State{Achieved: achieved})
	}

	const k = 4
	draws := []float64{0.9} // above k/(k+1): the transition keeps its own goal
	if in.has("future") {
		later := float64(in.whole("future") - i)
		u := (later + 0.5) / float64(n-i) // draws the future step
		draws = []float64{0, u}           // 0: the transition is relabeled
	}
	g := r.relabel(i, k, script(draws).Rand)
	out.holds("g", g)
	reward := goalReward(r.nextAchieved.at(i), g, in.number("radius"))
	out.holds("r", reward)
}

// checkFutureStep checks which later step hindsight draws.
func checkFutureStep(in vector, out *comparison) {
	step := futureStep(in.whole("i"), in.whole("n"), in.number("u"))
	out.holds("future", float64(step))
}

// checkPrioritized checks Equations 7 and 8 over a whole replay.
func checkPrioritized(in vector, out *comparison) {
	priority := list[float64](in, "priority")
	for _, p := range priority {
		require(p > 0, "in.priority has %v, want numbers above 0", p)
	}
	n := len(priority)
	P := make([]float64, n)
	SampleProbabilities(P, priority, in.number("alpha"))
	out.holds("P", P)

	w := make([]float64, n)
	β := in.number("beta")
	ImportanceWeights(w, P, n, β, 0) // 0: not divided by the largest
	out.holds("w", w)
	ImportanceWeights(w, P, n, β, slices.Min(P)) // divided by the largest, as in training
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

// checkOptimalValue checks the value of a goal for each number of hops to it, undiscounted
// and discounted. The undiscounted value is the best sum of rewards.
func checkOptimalValue(in vector, out *comparison) {
	γ := in.number("gamma")
	for k, hops := range in.wholes("hops") {
		require(hops >= 0, "in.hops[%d] is %d, want 0 or more", k, hops)
		requireSmall("the hops", hops, in.length("hops"))
		out.holds(at("undiscounted", k), OptimalValue(1, hops))
		out.holds(at("discounted", k), OptimalValue(γ, hops))
	}
}

// checkForward checks a network's forward pass.
func checkForward(in vector, out *comparison) {
	net, p, x := in.pass()
	out.holds("xi", net.latent(p, x))
	out.holds("y", in.output(net, p, x))
}

// checkBackward checks a network's backward pass, given dL/dy.
func checkBackward(in vector, out *comparison) {
	net, p, x := in.pass()
	y := in.output(net, p, x)
	dy := p.dx[len(net.layers)] // where backward reads dL/dy
	in.fill("dy", dy)
	if in.bounded() { // through the tanh, whose derivative is 1 - y²
		for i, v := range y.data {
			dy.data[i] *= 1 - float32(v*v)
		}
	}

	gradient, _ := in.network("net") // of the same shape; backward overwrites its numbers
	net.backward(p, gradient, len(net.layers))
	const firstColumn = 0 // the gradient is for all columns of x
	_, dx := net.inputGradient(p, x, dy, firstColumn)
	out.holds("grad", gradient.layers)
	out.holds("dx", dx)
}

// pass returns the case's network, the memory of a pass through it, and its input x.
func (v vector) pass() (*mlp, *pass, matrix) {
	net, widths := v.network("net")
	rows := v.length("x")
	requireSmall("the layers", rows, slices.Max(widths))
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
	sameβ := in.number("beta1") == adamBeta1 && in.number("beta2") == adamBeta2
	sameε := in.number("eps") == adamEpsilon
	require(sameβ && sameε, "in: want beta1 %v, beta2 %v and eps %v",
		adamBeta1, adamBeta2, adamEpsilon)

	w := list[float32](in, "w")
	a := newAdam(w, make([]float32, len(w)), in.number("lr"), newWorkers(1))
	for i := range in.length("grads") {
		in.fill(at("grads", i), a.gradient)
		a.step()
		out.holds(at("w", i), w)
	}
}

// checkGaussianLoss checks the loss of Deep Ensembles. Their heads predict a mean and a
// raw variance, which becomes the variance by softplus.
func checkGaussianLoss(in vector, out *comparison) {
	y := list[float32](in, "y")
	var p []float32 // predictions: a mean and a raw variance for each y
	for r := range y {
		mean := in.number(at("mu", r))
		raw := in.number(at("raw", r))
		p = append(p, float32(mean), float32(raw))
	}
	dp := make([]float32, len(p))
	const width = 1 // means in a row of p
	out.holds("loss", gaussianLoss(dp, p, y, width))
	for r := range y {
		out.holds(at("grad_mu", r), float64(dp[2*r]))
		out.holds(at("grad_raw", r), float64(dp[2*r+1]))
	}
}

// checkLogDensity checks MEGA's kernel density estimate.
func checkLogDensity(in vector, out *comparison) {
	points := lists[float64](in, "points")
	query := lists[float64](in, "query")
	width := len(query[0])
	require(width > 0 && len(points[0]) == width, "in: a point has %d numbers, and a query %d",
		len(points[0]), width)
	requireSmall("the densities", width, len(points), len(query))

	h := in.number("bandwidth")
	for k, x := range query {
		out.holds(at("log_density", k), logDensity(slices.Concat(points...), x, h))
	}
}

// checkValueDisagreement checks the uncertainties of VDS, and the probabilities that it
// chooses goals with.
func checkValueDisagreement(in vector, out *comparison) {
	q := lists[float32](in, "q")
	std := make([]float64, len(q[0]))
	valueDisagreement(std, q)
	out.holds("std", std)
	p := std
	toProbabilities(p) // in place
	out.holds("p", p)
}

// agentAndBatch returns an agent with the case's networks, and the case's minibatch.
func (v vector) agentAndBatch() (*Agent, *batch) {
	state := max(v.width("s"), v.width("s_next")) // a case may lack one of them
	a := v.agent(Paper(), state, v.width("g"))
	return a, v.batch(a)
}

// agent returns an agent with the case's networks, rates and coefficients, for states and
// goals of these sizes. The agent does not clip returns, because Equation 1 does not.
func (v vector) agent(p Params, observation, goal int) *Agent {
	p.ClipReturns = false
	p.Curriculum = "her" // which, unlike QTA's, allows a single critic
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
		copy(c.target.params, c.q.params)
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
	require(rows > 0, "%s.g is no list", v.place)
	widest := max(a.params.HiddenSize*a.params.HiddenLayers, a.sizes.criticWidth())
	requireSmall("the minibatch", rows, widest)
	b := a.pun.newBatch(rows, a.sizes)
	s, g, taken := a.sizes.parts(b.x)
	v.fillIf("s", s)
	v.fillIf("g", g)
	v.fillIf("a", taken)
	sNext, gNext, _ := a.sizes.parts(b.next)
	v.fillIf("s_next", sNext)
	v.fillIf("g", gNext)
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

// remember stores the case's states in an agent's empty replay, with the goals achieved there.
// Each becomes a transition that ends where it began. remember returns their indices.
func (v vector) remember(a *Agent) []int {
	var all []int
	requireSmall("the states", v.elements("s"), a.sizes.criticWidth())
	for k := range v.elements("s") {
		s := v.numbers(at("s", k), a.sizes.Observation)
		g := v.numbers(at("achieved", k), a.sizes.Goal)
		next := State{Observation: s, Achieved: g, Desired: g}
		a.replay.add(s, g, make([]float64, a.sizes.Action), g, next)
		all = append(all, k)
	}
	return all
}

// scripted is a source of randomness for a generator whose Float64 returns chosen numbers
// of [0, 1), one after the other.
type scripted []float64

// script returns a generator whose Float64 returns these numbers.
func script(numbers []float64) stream {
	s := scripted(numbers)
	return stream{Rand: rand.New(&s)}
}

func (s *scripted) Uint64() uint64 {
	require(len(*s) > 0, "in: there are fewer draws than the code takes")
	u := (*s)[0]
	*s = (*s)[1:]
	require(0 <= u && u < 1, "in: an index is out of range, or a draw is not in [0, 1)")
	return uint64(u * (1 << 53)) // Float64 divides by 2^53
}

// pairScript returns a generator with which drawPair returns the case's M of n critics.
func (v vector) pairScript(n int) stream {
	M := v.wholes("M")
	require(len(M) == 2 && M[0] != M[1], "in: M is %v, want two different indices", M)
	i := float64(M[0])
	j := float64(M[1])
	if j > i {
		j-- // drawPair counts the second index without the first
	}
	return script([]float64{(i + 0.5) / float64(n), (j + 0.5) / float64(n-1)})
}
