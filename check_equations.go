package qta

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// This file holds the code against one case of each equation: every checker
// takes the struct of the case's "in" and returns that of its "out", which are
// the format of the equation's vectors, and ends by fail where "in" makes no
// sense.

type forwardIn struct {
	Net    vectorNet   `json:"net"`
	X      [][]float64 `json:"x"`
	Output string      `json:"output,omitempty"`
}

// forward returns what a net's forward pass leaves behind, its output after the
// tanh where there is one.
func (in forwardIn) forward() (net *mlp, p *pass, x, ξ, y matrix) {
	if in.Output != "" && in.Output != "tanh" {
		fail("in.output is %q, allowed is tanh", in.Output)
	}
	net, x = in.Net.network("net"), table("x", in.X, 0)
	widths := in.Net.widths("net")
	wantInput("net", widths, x.cols)
	if in.Output == "tanh" {
		π := newActor(&Params{}, widths, nil)
		y = π.act(net, x)
		p, ξ = π.pass, net.latent(π.pass, x)
		return net, p, x, ξ, y
	}
	p = newPass(widths, nil)
	ξ = net.latent(p, x)
	return net, p, x, ξ, net.forward(p, x)
}

func checkForward(in forwardIn) (out struct {
	Xi [][]float64 `json:"xi"`
	Y  [][]float64 `json:"y"`
}) {
	_, _, _, ξ, y := in.forward()
	out.Xi, out.Y = rowsOf64(ξ), rowsOf64(y)
	return out
}

func checkBackward(in struct {
	Net    vectorNet   `json:"net"`
	X      [][]float64 `json:"x"`
	Dy     [][]float64 `json:"dy"`
	Output string      `json:"output,omitempty"`
}) (out struct {
	Grad vectorNet   `json:"grad"`
	Dx   [][]float64 `json:"dx"`
}) {
	net, p, x, _, y := forwardIn{in.Net, in.X, in.Output}.forward()
	wantLength("dy", len(in.Dy), x.rows)
	dy := table("dy", in.Dy, y.cols)
	last := len(net.layers)
	for i, v := range dy.data {
		if in.Output == "tanh" {
			v *= 1 - float32(y.data[i]*y.data[i])
		}
		p.dx[last].data[i] = v
	}
	widths := in.Net.widths("net")
	gradient := newMLP(make([]float32, mlpSize(widths)), widths)
	net.backward(p, gradient, x, last, false)
	_, dx := net.outputGradient(p, x, 0)
	out.Grad, out.Dx = gradient.vector(), rowsOf64(dx)
	return out
}

func checkAdam(in struct {
	W     []float64   `json:"w"`
	Grads [][]float64 `json:"grads"`
	Rate  float64     `json:"lr"`
	Beta1 float64     `json:"beta1"`
	Beta2 float64     `json:"beta2"`
	Eps   float64     `json:"eps"`
}) (out struct {
	W [][]float64 `json:"w"`
}) {
	if in.Beta1 != adamBeta1 || in.Beta2 != adamBeta2 || in.Eps != adamEpsilon {
		fail("in has beta1 %v, beta2 %v and eps %v, allowed are %v, %v and %v", in.Beta1, in.Beta2, in.Eps, adamBeta1, adamBeta2, adamEpsilon)
	}
	if len(in.W) == 0 {
		fail("in.w is empty")
	}
	gradients := table("grads", in.Grads, len(in.W))
	params, a := float32s(in.W), newAdam(len(in.W), in.Rate, nil)
	for t := range gradients.rows {
		a.step(params, gradients.row(t))
		out.W = append(out.W, float64s(params))
	}
	return out
}

func checkTarget(in struct {
	R       []float64   `json:"r"`
	Gamma   float64     `json:"gamma"`
	QTarget [][]float64 `json:"q_target"`
	M       []int       `json:"M"`
}) (out struct {
	Y []float64 `json:"y"`
}) {
	if len(in.R) == 0 {
		fail("in.r is empty")
	}
	q := table("q_target", in.QTarget, len(in.R))
	i, j := drawPair(pairScript(in.M, q.rows), q.rows)
	y := make([]float32, len(in.R))
	TDTarget(y, float32s(in.R), q.row(i), q.row(j), in.Gamma)
	out.Y = float64s(y)
	return out
}

func checkTargetNetworks(in struct {
	Actor   vectorNet   `json:"actor"`
	Critics []vectorNet `json:"critics"`
	SNext   [][]float64 `json:"s_next"`
	G       [][]float64 `json:"g"`
	R       []float64   `json:"r"`
	Gamma   float64     `json:"gamma"`
	M       []int       `json:"M"`
}) (out struct {
	ANext [][]float64 `json:"a_next"`
	Y     []float64   `json:"y"`
}) {
	s := table("s_next", in.SNext, 0)
	g := batchTable("g", in.G, s.rows)
	wantLength("r", len(in.R), s.rows)
	widths := in.Actor.widths("actor")
	p := unclipped()
	p.Discount = in.Gamma
	a := &Agent{params: p, policy: newActor(&p, widths, nil), pun: ensemble(p, in.Critics, nil, s.rows)}
	wantActor("actor", widths, s.cols+g.cols, in.Critics)
	a.sizes = Sizes{s.cols, g.cols, a.policy.actions.cols}
	a.policy.target.load("actor", in.Actor)
	for i, c := range a.pun.critics {
		c.target.load(fmt.Sprintf("critics[%d]", i), in.Critics[i])
	}
	a.learning = pairScript(in.M, len(in.Critics))
	b := newBatch(s.rows, a.sizes, a.pun)
	b.next, b.r = join(s, g, newMatrix(s.rows, a.sizes.Action)), float32s(in.R)
	a.target(&b)
	out.ANext, out.Y = rowsOf64(b.next.columns(s.cols+g.cols, b.next.cols)), float64s(b.y[0])
	return out
}

// unclipped returns [Paper] without what Equation 1 does not have.
func unclipped() Params {
	p := Paper()
	p.ClipReturns = false
	return p
}

func checkCriticLoss(in struct {
	Critics []vectorNet `json:"critics"`
	S       [][]float64 `json:"s"`
	G       [][]float64 `json:"g"`
	A       [][]float64 `json:"a"`
	Y       []float64   `json:"y"`
	W       []float64   `json:"w,omitempty"`
}) (out struct {
	Loss []float64   `json:"loss"`
	Grad []vectorNet `json:"grad"`
}) {
	x := transitions(in.S, in.G, in.A)
	wantLength("y", len(in.Y), x.rows)
	b := batch{x: x, y: [][]float32{float32s(in.Y)}, weights: [][]float32{nil}, head: newMatrix(x.rows, 1)}
	if in.W != nil {
		wantLength("w", len(in.W), x.rows)
		b.weights[0] = float32s(in.W)
	}
	p := Paper()
	p.PredictiveGradient = PredictiveGradientHead
	for i := range in.Critics {
		u := ensemble(p, in.Critics[i:i+1], nil, x.rows)
		wantInput(fmt.Sprintf("critics[%d]", i), in.Critics[i].widths("critics"), x.cols)
		loss, _ := u.gradientOfHead(0, &b, nil)
		out.Loss = append(out.Loss, loss)
		out.Grad = append(out.Grad, u.critics[0].gradient.q.vector())
	}
	return out
}

// transitions returns the critics' input, s, g and a side by side.
func transitions(s, g, a [][]float64) matrix {
	x := table("s", s, 0)
	return join(x, batchTable("g", g, x.rows), batchTable("a", a, x.rows))
}

func checkPolyak(in struct {
	Target vectorNet `json:"target"`
	Online vectorNet `json:"online"`
	Rho    float64   `json:"rho"`
}) (out struct {
	Target vectorNet `json:"target"`
}) {
	target, online := in.Target.network("target"), in.Target.network("target")
	online.load("online", in.Online)
	Polyak(target.params, online.params, in.Rho)
	out.Target = target.vector()
	return out
}

func checkPolicyGradient(in struct {
	Actor    vectorNet   `json:"actor"`
	Critics  []vectorNet `json:"critics"`
	S        [][]float64 `json:"s"`
	G        [][]float64 `json:"g"`
	ActionL2 float64     `json:"action_l2"`
}) (out struct {
	Loss float64   `json:"loss"`
	Grad vectorNet `json:"grad"`
}) {
	s := table("s", in.S, 0)
	g := batchTable("g", in.G, s.rows)
	u := ensemble(Paper(), in.Critics, nil, s.rows)
	widths := in.Actor.widths("actor")
	wantActor("actor", widths, s.cols+g.cols, in.Critics)
	π := newActor(&Params{Method: Method{ActionL2: in.ActionL2}}, widths, nil)
	π.net.load("actor", in.Actor)
	out.Loss = π.learn(join(s, g, newMatrix(s.rows, π.actions.cols)), u)
	out.Grad = π.gradient.vector()
	return out
}

func checkPredictiveLoss(in struct {
	Form    string        `json:"form"`
	Critics []vectorNet   `json:"critics"`
	Heads   []vectorLayer `json:"heads"`
	S       [][]float64   `json:"s"`
	G       [][]float64   `json:"g"`
	A       [][]float64   `json:"a"`
	SNext   [][]float64   `json:"s_next"`
}) (out struct {
	Pred     [][][]float64 `json:"pred"`
	Loss     []float64     `json:"loss"`
	GradHead []vectorLayer `json:"grad_head"`
	GradXi   [][][]float64 `json:"grad_xi"`
}) {
	p := Paper()
	switch in.Form {
	case "mse":
		p.HeadLoss = HeadLossSquared
	case "norm":
		p.HeadLoss = HeadLossNorm
	default:
		fail("in.form is %q, allowed are mse and norm", in.Form)
	}
	x := transitions(in.S, in.G, in.A)
	next := batchTable("s_next", in.SNext, x.rows)
	wantLength("heads", len(in.Heads), len(in.Critics))
	for i := range in.Critics {
		u := ensemble(p, in.Critics[i:i+1], in.Heads[i:i+1], x.rows)
		c := u.critics[0]
		widths := in.Critics[i].widths("critics")
		wantInput(fmt.Sprintf("critics[%d]", i), widths, x.cols)
		if u.dp.cols != next.cols {
			fail("in.heads[%d] predicts %d numbers, in.s_next has %d", i, u.dp.cols, next.cols)
		}
		out.Loss = append(out.Loss, u.headGradient(0, c.q.latent(u.pass, x), c.prediction, &batch{head: next}))
		out.Pred = append(out.Pred, rowsOf64(c.prediction))
		out.GradHead = append(out.GradHead, c.gradient.head.vector())
		// The vectors have the gradient after the latent's ReLU, so no mask.
		dξ := newMatrix(x.rows, widths[len(widths)-2])
		c.head.backwardInput(nil, dξ, u.dp, u.headT, epilogue{})
		out.GradXi = append(out.GradXi, rowsOf64(dξ))
	}
	return out
}

func checkDeviation(in struct {
	Pred [][][]float64 `json:"pred"`
}) (out struct {
	U []float64 `json:"u"`
}) {
	var heads [][]float32
	var first matrix
	for i, p := range in.Pred {
		name := fmt.Sprintf("pred[%d]", i)
		if i == 0 {
			first = table(name, p, 0)
		}
		wantLength(name, len(p), first.rows)
		heads = append(heads, table(name, p, first.cols).data)
	}
	wantEnsemble(len(heads))
	out.U = make([]float64, first.rows)
	HeadDeviation(out.U, heads, first.cols)
	return out
}

// wantEnsemble fails unless there are enough heads for a sample deviation.
func wantEnsemble(n int) {
	if n < 2 {
		fail("in has an ensemble of %d, want at least 2", n)
	}
}

func checkUncertainty(in struct {
	Critics []vectorNet   `json:"critics"`
	Heads   []vectorLayer `json:"heads"`
	S       [][]float64   `json:"s"`
	G       [][]float64   `json:"g"`
	Actions [][][]float64 `json:"actions"`
}) (out struct {
	PerAction [][]float64 `json:"per_action"`
	Epsilon   []float64   `json:"epsilon"`
}) {
	wantEnsemble(len(in.Critics))
	s := table("s", in.S, 0)
	g := batchTable("g", in.G, s.rows)
	u := ensemble(Paper(), in.Critics, in.Heads, s.rows)
	wantLength("heads", len(in.Heads), len(in.Critics))
	if len(in.Actions) == 0 {
		fail("in.actions is empty")
	}
	width := table("actions[0]", in.Actions[0], 0).cols
	wantInput("critics[0]", in.Critics[0].widths("critics[0]"), s.cols+g.cols+width)
	actions := newMatrix(len(in.Actions)*s.rows, width)
	for j, rows := range in.Actions {
		name := fmt.Sprintf("actions[%d]", j)
		wantLength(name, len(rows), s.rows)
		one := table(name, rows, width)
		copy(actions.slice(j*s.rows, (j+1)*s.rows).data, one.data)
		d := make([]float64, s.rows)
		u.deviation(d, join(s, g, one))
		out.PerAction = append(out.PerAction, d)
	}
	out.Epsilon = make([]float64, s.rows)
	u.uncertainty(out.Epsilon, join(s, g, newMatrix(s.rows, width)), actions)
	return out
}

func checkGoalProbability(in struct {
	Epsilon []float64 `json:"epsilon"`
	M       float64   `json:"m"`
	B       float64   `json:"b"`
}) (out struct {
	Normalized []float64 `json:"normalized"`
	P          []float64 `json:"p"`
}) {
	if len(in.Epsilon) == 0 {
		fail("in.epsilon is empty")
	}
	out.Normalized, out.P = make([]float64, len(in.Epsilon)), make([]float64, len(in.Epsilon))
	scaleUncertainty(out.Normalized, in.Epsilon)
	GoalProbabilities(out.P, in.Epsilon, in.M, in.B)
	return out
}

func checkAchievable(in struct {
	Q []float64 `json:"q_mean"`
	C float64   `json:"c"`
	T int       `json:"T"`
}) (out struct {
	Kept []int `json:"kept"`
}) {
	candidates := make([]int, len(in.Q))
	for k := range candidates {
		candidates[k] = k
	}
	out.Kept = Achievable(candidates, in.Q, in.C, in.T)
	return out
}

func checkPriorities(in struct {
	Priority []float64 `json:"priority"`
	Alpha    float64   `json:"alpha"`
	Beta     float64   `json:"beta"`
}) (out struct {
	P           []float64 `json:"P"`
	W           []float64 `json:"w"`
	WNormalized []float64 `json:"w_normalized"`
}) {
	n := len(in.Priority)
	if n == 0 {
		fail("in.priority is empty")
	}
	s := newPrioritised(&Params{Method: Method{Batch: n, PriorityAlpha: in.Alpha}}, nil)
	transitions := make([]int, n)
	for i, p := range in.Priority {
		transitions[i] = i
		s.stored(i)
		s.tree.set(i, pow(p, in.Alpha))
	}
	s.beta, s.betaSteps = in.Beta, 1
	s.weigh(nil, transitions, 0)
	out.P, out.W, out.WNormalized = s.P, make([]float64, n), s.w
	ImportanceWeights(out.W, out.P, n, in.Beta, 0)
	return out
}

func checkBeta(in struct {
	Initial float64 `json:"beta_initial"`
	Steps   int     `json:"beta_steps"`
	T       []int   `json:"t"`
}) (out struct {
	Beta []float64 `json:"beta"`
}) {
	for _, t := range in.T {
		out.Beta = append(out.Beta, PriorityBeta(t, in.Initial, in.Steps))
	}
	return out
}

func checkHindsight(in struct {
	AchievedNext [][]float64 `json:"achieved_next"`
	Goal         []float64   `json:"goal"`
	I            int         `json:"i"`
	Future       *int        `json:"future"`
	Radius       float64     `json:"radius"`
}) (out struct {
	G []float64 `json:"g"`
	R float64   `json:"r"`
}) {
	n := len(in.AchievedNext)
	wantLength("goal", len(in.Goal), 2)
	table("achieved_next", in.AchievedNext, 2)
	if in.I < 0 || in.I >= n {
		fail("in.i is %d, allowed are 0 to %d", in.I, n-1)
	}
	b := newReplay(Sizes{Observation: 1, Goal: 2, Action: 1}, n)
	for _, achieved := range in.AchievedNext {
		b.add([]float64{0}, achieved, []float64{0}, in.Goal, State{Observation: []float64{0}, Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.Future != nil {
		if *in.Future < in.I || *in.Future >= n {
			fail("in.future is %d, allowed are %d to %d", *in.Future, in.I, n-1)
		}
		script = scripted{0, (float64(*in.Future-in.I) + 0.5) / float64(n-in.I)}
	}
	out.G = b.relabel(in.I, k, rand.New(&script))
	// Distances in units of the mazes' radius.
	achieved, goal := make([]float64, 2), make([]float64, 2)
	for c := range achieved {
		achieved[c], goal[c] = at(b.nextAchieved, in.I, 2)[c]*(GoalRadius/in.Radius), out.G[c]*(GoalRadius/in.Radius)
	}
	out.R = new(MazeEnv).Reward(achieved, goal)
	return out
}

func checkFuture(in struct {
	I int     `json:"i"`
	N int     `json:"n"`
	U float64 `json:"u"`
}) (out struct {
	Future int `json:"future"`
}) {
	if !(0 <= in.I && in.I < in.N && 0 <= in.U && in.U < 1) {
		fail("in has i %d, n %d and u %v, allowed are 0 <= i < n and 0 <= u < 1", in.I, in.N, in.U)
	}
	out.Future = futureStep(in.I, in.N, in.U)
	return out
}

func checkOptimalReturn(in struct {
	Hops  []int   `json:"hops"`
	Gamma float64 `json:"gamma"`
}) (out struct {
	Undiscounted []float64 `json:"undiscounted"`
	Discounted   []float64 `json:"discounted"`
}) {
	for i, h := range in.Hops {
		if h < 0 || h > 10000 {
			fail("in.hops[%d] is %d, allowed are 0 to 10000", i, h)
		}
		out.Undiscounted = append(out.Undiscounted, OptimalReturn(h))
		out.Discounted = append(out.Discounted, OptimalValue(in.Gamma, h))
	}
	return out
}

// trained is every network of an agent.
type trained struct {
	Actor         vectorNet     `json:"actor"`
	ActorTarget   vectorNet     `json:"actor_target"`
	Critics       []vectorNet   `json:"critics"`
	CriticTargets []vectorNet   `json:"critic_targets"`
	Heads         []vectorLayer `json:"heads"`
}

// checkUpdate does whole updates: by the joint loss of Equations 2 and 4 where
// the case has its weight, else with Equation 4 moving the heads alone.
func checkUpdate(in struct {
	Actor          vectorNet     `json:"actor"`
	ActorTarget    vectorNet     `json:"actor_target"`
	Critics        []vectorNet   `json:"critics"`
	CriticTargets  []vectorNet   `json:"critic_targets"`
	Heads          []vectorLayer `json:"heads"`
	Gamma          float64       `json:"gamma"`
	Rho            float64       `json:"rho"`
	ActorRate      float64       `json:"lr_actor"`
	CriticRate     float64       `json:"lr_critic"`
	PredictiveRate float64       `json:"lr_predictive"`
	ActionL2       float64       `json:"action_l2"`
	Weight         *float64      `json:"predictive_weight,omitempty"`
	Steps          []struct {
		S     [][]float64 `json:"s"`
		G     [][]float64 `json:"g"`
		A     [][]float64 `json:"a"`
		SNext [][]float64 `json:"s_next"`
		R     []float64   `json:"r"`
		M     []int       `json:"M"`
	} `json:"steps"`
}) (out trained) {
	p := unclipped()
	if p.PredictiveGradient = PredictiveGradientHead; in.Weight != nil {
		p.PredictiveGradient = PredictiveGradientJoint
	}
	p.Discount, p.Polyak, p.ActionL2 = in.Gamma, in.Rho, in.ActionL2
	p.ActorRate, p.CriticRate, p.PredictiveRate = in.ActorRate, in.CriticRate, in.PredictiveRate
	rows := 1
	for _, step := range in.Steps {
		rows = max(rows, len(step.S))
	}
	a := &Agent{params: p, pun: ensemble(p, in.Critics, in.Heads, rows), sampler: uniform{}}
	wantLength("heads", len(in.Heads), len(in.Critics))
	wantLength("critic_targets", len(in.CriticTargets), len(in.Critics))
	for i, c := range a.pun.critics {
		c.target.load(fmt.Sprintf("critic_targets[%d]", i), in.CriticTargets[i])
	}
	widths := in.Actor.widths("actor")
	a.policy = newActor(&p, widths, nil)
	a.policy.net.load("actor", in.Actor)
	a.policy.target.load("actor_target", in.ActorTarget)

	for i, step := range in.Steps {
		x := transitions(step.S, step.G, step.A)
		next := batchTable("steps.s_next", step.SNext, x.rows)
		a.sizes = Sizes{len(step.S[0]), len(step.G[0]), len(step.A[0])}
		wantActor("actor", widths, a.sizes.Observation+a.sizes.Goal, in.Critics)
		wantInput("critics[0]", in.Critics[0].widths("critics[0]"), x.cols)
		if next.cols != a.sizes.Observation || next.cols != a.pun.dp.cols {
			fail("in.steps[%d].s_next has rows of %d, in.steps[%d].s of %d and the heads' predictions %d", i, next.cols, i, a.sizes.Observation, a.pun.dp.cols)
		}
		wantLength("steps.r", len(step.R), x.rows)
		a.learning = pairScript(step.M, len(in.Critics))
		b := newBatch(x.rows, a.sizes, a.pun)
		b.x, b.next = x, join(next, table("steps.g", step.G, 0), newMatrix(x.rows, a.sizes.Action))
		b.r, b.head = float32s(step.R), next
		a.learnFrom(&b, &b, &b)
	}

	out.Actor, out.ActorTarget = a.policy.net.vector(), a.policy.target.vector()
	for _, c := range a.pun.critics {
		out.Critics = append(out.Critics, c.q.vector())
		out.CriticTargets = append(out.CriticTargets, c.target.vector())
		out.Heads = append(out.Heads, c.head.vector())
	}
	return out
}

func checkGaussianLoss(in struct {
	Mu  []float64 `json:"mu"`
	Raw []float64 `json:"raw"`
	Y   []float64 `json:"y"`
}) (out struct {
	Loss    float64   `json:"loss"`
	GradMu  []float64 `json:"grad_mu"`
	GradRaw []float64 `json:"grad_raw"`
}) {
	n := len(in.Mu)
	if n == 0 {
		fail("in.mu is empty")
	}
	wantLength("raw", len(in.Raw), n)
	wantLength("y", len(in.Y), n)
	p, dp := newMatrix(n, 2), newMatrix(n, 2)
	for r := range n {
		p.row(r)[0], p.row(r)[1] = float32(in.Mu[r]), float32(in.Raw[r])
	}
	out.Loss = GaussianLoss(dp.data, p.data, float32s(in.Y), 1)
	for r := range n {
		out.GradMu = append(out.GradMu, float64(dp.row(r)[0]))
		out.GradRaw = append(out.GradRaw, float64(dp.row(r)[1]))
	}
	return out
}

func checkVDS(in struct {
	Q [][]float64 `json:"q"`
}) (out struct {
	Std []float64 `json:"std"`
	P   []float64 `json:"p"`
}) {
	q := table("q", in.Q, 0)
	var members [][]float32
	for i := range q.rows {
		members = append(members, q.row(i))
	}
	out.Std, out.P = make([]float64, q.cols), make([]float64, q.cols)
	valueDisagreement(out.Std, members)
	vdsProbabilities(out.P, out.Std)
	return out
}

func checkDensity(in struct {
	Points    [][]float64 `json:"points"`
	Query     [][]float64 `json:"query"`
	Bandwidth float64     `json:"bandwidth"`
}) (out struct {
	LogDensity []float64 `json:"log_density"`
}) {
	width := table("points", in.Points, 0).cols
	table("query", in.Query, width)
	points := slices.Concat(in.Points...)
	scratch := make([]float64, len(in.Points))
	for _, x := range in.Query {
		out.LogDensity = append(out.LogDensity, logDensity(points, x, in.Bandwidth, scratch))
	}
	return out
}
