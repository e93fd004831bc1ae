// Plain is Query The Agent (Alverio, Katz and Barbu, 2022) in one file: the
// whole method of the paper, from the table of its appendix to the last bit of
// its arithmetic, in loops over single numbers.
//
//	go run ./plain
//
// trains an agent on the maze 1U5, a square wave with one bend, and prints every
// 1,000 steps how the agent fares. The flags are -maze, -steps, -seed and -full.
// Without -full the networks, the batches and N are smaller than in function paper.
//
// This file is the algorithm; the rest of the repository is efficiency,
// comparison and tools. Read the file downwards: the table and the training loop
// come first, then uncertainty (section 3.1), the choice of goals (3.2), replay (3.3),
// mazes and evaluation (4), and the networks. Functions for arithmetic and chance, which
// give the same bits on every machine, come last.
//
// The paper displays eight formulas without numbers; here they are Equations 1 to
// 8, in order of appearance. A mark such as (R20) stands where the paper leaves a
// choice open. A mark such as (D1) stands where the code departs from the paper's text.
// docs/readings.md lists the marks, with what the paper has and where package qta gives
// the reasons.
package main

// To the reviewer: main_test.go trains this file and package qta side by side
// and finds the same goals, the same log and the same bits in every network.
// Networks and minibatches are float32, everything else is float64. Inside a
// network a sum of products is a chain of fused multiply-adds, made by fma.
// Elsewhere nothing is fused: a product that is added is converted first, as in
// float64(x*y) + z, because the compiler may not fuse across a conversion.

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// The appendix: the table.

// A table has every number of the method. The comments of the function paper, below,
// explain them.
type table struct {
	batch, hidden, layers, G, d, N, horizon               int
	initialSteps, learningStarts, normalizerDraws, βSteps int
	evalEvery, rollouts                                   int

	hindsight, γ, actorRate, criticRate, predictiveRate, actionL2 float64
	noise, randomAction, threshold, slope, intercept, ρ, β, α     float64
	normalizerFloor, normalizerClip                               float64

	askCandidate, prioritized bool
}

// paper returns the paper's numbers, and numbers that the method needs but the paper lacks.
func paper() table {
	return table{
		// The appendix, in its order.
		batch:          1024, // |B|, transitions of a minibatch
		hidden:         256,  // units of a hidden layer
		hindsight:      4,    // HER's k: transitions relabeled for each one that keeps its goal
		γ:              0.99, // discount factor
		actorRate:      1e-3, // Adam's step size for the policy
		criticRate:     2e-3, // Adam's step size for the critics
		predictiveRate: 5e-3, // Adam's step size for the predictive networks, here also called heads
		d:              8,    // random actions for one estimate of uncertainty
		initialSteps:   1000, // "initial random steps": only their goals are random
		noise:          0.2,  // the table's ε, standard deviation of the noise on actions
		randomAction:   0.3,  // probability that a random action replaces the noisy one
		threshold:      -1.6, // c: an episode's first goal needs a mean Q of at least c T, if any has it
		slope:          626,  // m of Equation 6
		intercept:      -591, // b of Equation 6
		ρ:              0.95, // of Equation 3: the share of itself that a target network keeps
		β:              0.3,  // initial exponent of Equation 8
		βSteps:         2e5,  // environment steps until that exponent is 1
		α:              1,    // exponent of Equation 7

		// The text.
		G:           3,     // critics, section 3.1
		prioritized: false, // replay by priority: section 3.3, an extension; true here to try it

		// In Equation 5 the critics' input g is the candidate itself, as in the authors' code
		// (D3). Section 3.2 has the environment's goal there, "though the prediction is
		// learned to be agnostic to the choice of goal". But the prediction does depend on
		// the goal. With the environment's goal and batches of 256 an agent needs at least 1.8
		// times as many steps over the M-mazes 4x5, 6x5 and 8x5 together (results/README.md).
		askCandidate: true,

		// The paper has no numbers for these. All but N are from the authors' code.
		layers:          3,    // hidden layers of a network (R37)
		actionL2:        1,    // weight of the squared action in the policy's loss; DDPG has none (R38)
		learningStarts:  50,   // environment steps before updates begin (R39)
		normalizerDraws: 50,   // transitions drawn from each episode for the normalizers (R41)
		normalizerFloor: 0.01, // smallest deviation that a normalizer divides by (R42)
		normalizerClip:  5,    // largest magnitude of a normalized number (R43)
		horizon:         50,   // T of section 3.3, environment steps of an episode (R44)
		N:               4000, // candidates for one goal, at most; the paper has no limit (D30)
		evalEvery:       1000, // environment steps between evaluations
		rollouts:        20,   // rollouts of an evaluation
	}
}

// smaller returns t with smaller sizes, which train in minutes instead of hours.
func smaller(t table) table {
	t.hidden = 64
	t.batch = 64
	t.N = 200
	return t
}

func main() {
	name := flag.String("maze", "1U5", "the maze: a wave such as 1U5, or an M-maze such as 4x5")
	steps := flag.Int("steps", 20_000, "environment steps to train for, at most")
	seed := flag.Uint64("seed", 0, "where all chance comes from")
	full := flag.Bool("full", false, "the sizes of function paper, which take hours instead of minutes")
	flag.Parse()
	maze, err := mazeNamed(*name)
	if *steps < 1 {
		err = fmt.Errorf("plain: -steps is %d, allowed are 1 and above", *steps)
	}
	if flag.NArg() > 0 {
		err = fmt.Errorf("plain: %q is no flag; there are -maze, -steps, -seed and -full", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}

	t := paper()
	if !*full {
		t = smaller(t)
	}
	fmt.Printf("The paper's algorithm with corrected formulas (D1, D2, D27, D28) and four departures (D3, D26, D29, D30),\n"+
		"with %d units, batches of %d and N = %d. docs/readings.md explains these.\n", t.hidden, t.batch, t.N)
	fmt.Println(strings.Join(maze, "\n"))
	fmt.Println("steps  success  return  goals  reached  Equation 2  Equation 4")
	a := newAgent(t, maze, *seed)
	for a.step < *steps {
		left := *steps - a.step
		for range min(t.evalEvery, left) {
			a.trainStep()
		}
		r := a.evaluate()
		successes := r.success * float64(t.rollouts)
		fmt.Printf("%5d  %4.0f/%d  %6.1f  %5d  %7d  %10.4f  %10.4f\n",
			r.step, successes, t.rollouts, r.meanReturn,
			r.goalsSet, r.goalsReached, r.criticLoss, r.headLoss)
		if r.success == 1 {
			fmt.Printf("solved %s after %d steps\n", *name, r.step)
			return
		}
	}
	fmt.Printf("%s is not solved after %d steps\n", *name, a.step)
}

// Section 3: the training loop.

// A point is a row and a column, in cells of the maze. A state is the point where
// the dot is, and a goal is the point where the dot should go. An action is a
// move of the dot along both axes, with components in [-1, 1].
type point [2]float64

// An agent is Query The Agent in training. Each of its networks comes with a target
// network and the state of Adam, its optimizer.
type agent struct {
	table
	report                                  // steps, goals and losses so far
	seed                  uint64            // where all chance comes from
	policy                *trainedNetwork   // from s, g to a, before the tanh
	pun                   []*trainedNetwork // G critics, from s, g, a to Q and, by the head P, to s'
	replay                []transition      // all so far, the oldest first
	largest               float64           // the largest priority so far, at least 1
	minibatch             []*sample         // of the latest update
	stateScale, goalScale normalizer        // make inputs of networks from states and goals
	world                 world             // the maze, the dot, and the environment's goal
	goal                  point             // the goal that the agent pursues, its own choice
	chance                chance            // random generators, each for one purpose
}

// A transition is one step of the dot, in pursuit of goal g. Transition i is part
// of episode i / horizon; none is ever forgotten (R30).
type transition struct {
	s, a, g, next point   // next is s'
	priority      float64 // p of Equation 7
}

// newAgent returns an untrained agent. Its critics differ only by their initial
// weights.
func newAgent(t table, maze []string, seed uint64) *agent {
	a := &agent{
		table:      t,
		seed:       seed,
		largest:    1,
		stateScale: newNormalizer(),
		goalScale:  newNormalizer(),
		world:      world{maze: maze},
		chance:     newChance(seed),
	}
	rng := stream(seed, forInitialization)      // a generator for initial weights only
	a.policy = newTrainedNetwork(t, &rng, 4, 2) // 4 inputs, s and g; 2 outputs, a
	for range t.G {
		critic := newTrainedNetwork(t, &rng, 6, 1, 2) // 6 inputs, s, g, a; 1 output for Q, 2 for s'
		a.pun = append(a.pun, critic)
	}
	return a
}

// trainStep moves the dot by one step. Then it updates every network once (R1),
// but not in the first learningStarts steps. An episode has T steps, even if goals
// are reached before its end.
func (a *agent) trainStep() {
	episodeBegins := a.step%a.horizon == 0
	if episodeBegins {
		a.world.reset(&a.chance.environment)
		a.setGoal(true) // the first of the episode
	}

	t := transition{s: a.world.position, g: a.goal, priority: a.largest}
	t.a = a.explore(a.act(t.s, t.g)) // the policy's action, with noise
	a.world.move(t.a)
	t.next = a.world.position
	a.replay = append(a.replay, t)
	a.step++

	episodeEnds := a.step%a.horizon == 0
	isReached := reward(t.next, t.g) == 0
	if isReached {
		a.goalsReached++
		if !episodeEnds {
			a.setGoal(false) // the next of the same episode, before the update (R115)
		}
	}
	if a.step > a.learningStarts {
		a.update()
	}
	if episodeEnds {
		a.updateNormalizers() // by states and goals of the episode
	}
}

// act returns the policy's action for a state and a goal: the tanh of each output.
func (a *agent) act(s, g point) point {
	output := a.policy.net.output(a.input(s, g))
	action := tanhs(output)
	return point{float64(action[0]), float64(action[1])}
}

// input returns what a network sees of a state and a goal: four normalized numbers.
func (a *agent) input(s, g point) []float32 {
	state := a.stateScale.scaled(s, a.normalizerClip)
	goal := a.goalScale.scaled(g, a.normalizerClip)
	return slices.Concat(state, goal)
}

// explore returns the action with noise or, sometimes, a random action (R20). It does so in
// the first initialSteps steps, too (R54).
func (a *agent) explore(action point) point {
	rng := &a.chance.exploration
	for i := range action {
		noisy := action[i] + float64(a.noise*normal(rng))
		action[i] = min(max(noisy, -1), 1)
	}
	if uniform(rng) < a.randomAction {
		return randomAction(rng)
	}
	return action
}

// update trains every network by one step, on one minibatch.
func (a *agent) update() {
	a.draw()    // fills the minibatch: section 3.3
	a.targets() // sets y of each sample: Equation 1

	a.criticLoss = 0
	a.headLoss = 0
	for _, critic := range a.pun {
		a.learnCritic(critic) // Equations 2 and 4; adds to criticLoss and headLoss
	}
	a.criticLoss /= float64(len(a.pun)) // from the sum over critics to their mean
	a.headLoss /= float64(len(a.pun))

	a.prioritize() // sets priorities, which Equation 7 uses if replay is prioritized
	for _, critic := range a.pun {
		critic.follow(a.ρ) // moves the target critic: Equation 3
	}

	a.learnPolicy()      // as in DDPG
	a.policy.follow(a.ρ) // Equation 3
}

// A sample is a transition of a minibatch as the networks see it.
type sample struct {
	i           int         // the transition's index in the replay
	goal        point       // g, the goal that the transition is replayed with
	input       []float32   // s and g, normalized
	action      []float32   // a
	nextInput   []float32   // s' and g, normalized
	next        []float32   // s' in cells, which the heads learn to predict (R12)
	reward      float32     // r
	y           float32     // the target of Equation 1
	w           float32     // the weight of Equation 8, or 1 if replay is not prioritized
	predictions [][]float32 // of s', one by each critic's head, for prioritize
}

// Section 3.1: uncertainty estimation.

// targets sets y of each sample by Equation 1, with one random pair M for the whole
// minibatch (R9):
//
//	y = r + γ min over i in M of Q_targ,i(s', a', g)    a' = π_targ(s', g)
//
// The paper has a' from π_θ(·|s'). Here it is the target policy's, as in DDPG (R6). The
// paper's g' is the goal g that the transition is replayed with (R7). No state is
// terminal: y keeps its second term at the goal and at an episode's end (R8). The paper
// does not bound y. Here it is clipped to [-1/(1-γ), 0], the range of discounted sums of
// rewards that are -1 or 0 (D26).
func (a *agent) targets() {
	// M is {i, j}, where j is one of the critics other than i.
	rng := &a.chance.learning
	i := randomIndex(rng, len(a.pun))
	j := randomIndex(rng, len(a.pun)-1)
	if j >= i {
		j++ // skips i
	}

	γ := float32(a.γ)
	least := float32(-1 / (1 - a.γ)) // a reward of -1 at every step, forever
	for _, b := range a.minibatch {
		action := tanhs(a.policy.target.output(b.nextInput)) // a'
		x := slices.Concat(b.nextInput, action)
		qi := a.pun[i].target.output(x)[0]
		qj := a.pun[j].target.output(x)[0]
		y := b.reward + float32(γ*min(qi, qj))
		b.y = min(max(y, least), 0)
	}
}

// learnCritic takes one step down Equation 2 plus Equation 4, for one critic and its
// head:
//
//	1/|B| Σ w (Q(s, a, g) - y)²  +  1/|B| Σ |P(s, a, g) - s'|²
//
// The weight w of Equation 8 is only in the first term (R2). The paper's joint loss is the
// sum over the critics, so each descends its own (R11). The head learns from the critics'
// minibatch (R14), by the squared distance (R119). Q and P have all layers but the last
// in common, the backbone; its result is the paper's ξ (R5). The paper does not say
// whether Equation 4 moves the backbone. Here the backbone descends both terms as one loss
// (D29), with equal weights (R113). The head's own layer has a rate of its own (R13).
func (a *agent) learnCritic(critic *trainedNetwork) {
	scale := 2 / float32(a.batch) // the 2 is from the derivative of the square
	criticLoss := 0.0             // losses are summed in float64, which square returns
	headLoss := 0.0
	for _, b := range a.minibatch {
		x := slices.Concat(b.input, b.action)
		activations := critic.net.forward(x) // x, each hidden layer's result, and the output
		output := activations[len(activations)-1]
		q := output[0]
		prediction := output[1:] // of s', by the head
		b.predictions = append(b.predictions, prediction)

		δ := q - b.y
		criticLoss += float64(float64(b.w) * square(δ))
		dOutput := []float32{float32(scale*b.w) * δ} // gradient of the loss with respect to output
		for i, p := range prediction {
			δp := p - b.next[i]
			headLoss += square(δp)
			dOutput = append(dOutput, scale*δp)
		}
		critic.net.backward(activations, dOutput, critic.gradient) // adds to critic.gradient
	}
	a.criticLoss += criticLoss / float64(a.batch)
	a.headLoss += headLoss / float64(a.batch)

	critic.adam(a.criticRate, a.predictiveRate) // uses critic.gradient
}

// follow is Equation 3, φ_targ = ρ φ_targ + (1-ρ) φ, for each weight φ. The policy has
// a target network too (R15). A critic's target has a head too, which is never used.
func (t *trainedNetwork) follow(ρ float64) {
	keep := float32(ρ)
	move := float32(1 - ρ)
	for l, layer := range t.net {
		for k, row := range layer { // row has the weights of input k, and the last row the biases
			targetRow := t.target[l][k]
			for j, φ := range row {
				targetRow[j] = float32(keep*targetRow[j]) + float32(move*φ)
			}
		}
	}
}

// learnPolicy moves the policy "as in DDPG". It takes one step down
//
//	-1/|B| Σ 1/G Σ_i Q_i(s, π(s, g), g)  +  l2 · mean of π(s, g)²
//
// on the critics' minibatch, so that the mean of the critics rises (R19) and actions
// stay small (R38). The mean of π² is over transitions and components, and l2 is actionL2.
func (a *agent) learnPolicy() {
	// The gradient of the mean Q with respect to the outputs of one critic. It is 0 for
	// the last two, because they are the head's.
	dOutput := []float32{1 / float32(a.batch*len(a.pun)), 0, 0}
	for _, b := range a.minibatch {
		activations := a.policy.net.forward(b.input)
		z := activations[len(activations)-1] // the output
		action := tanhs(z)

		da := make([]float32, len(action)) // gradient of the mean Q with respect to the action
		for _, critic := range a.pun {
			x := slices.Concat(b.input, action)
			dx := critic.net.inputGradient(x, dOutput)
			for i, d := range dx[len(b.input):] { // the part of the action
				da[i] += d
			}
		}

		dz := make([]float32, len(action)) // gradient of the loss with respect to z
		for i, v := range action {
			dl2 := 2 * float32(a.actionL2) * v / float32(a.batch*len(action))
			dz[i] = (dl2 - da[i]) * (1 - float32(v*v)) // 1 - v² is the slope of tanh
		}
		a.policy.net.backward(activations, dz, a.policy.gradient) // adds to a.policy.gradient
	}
	a.policy.adam(a.actorRate, a.actorRate)
}

// deviation returns how far apart the heads' predictions of one s' are: the mean, over
// the components of s', of the predictions' standard deviation (R16). This is the text of
// section 3.1; the display of Equation 5 has the mean of the predictions (D27). predictions
// has one element for each head.
func deviation(predictions [][]float32) float64 {
	G := float64(len(predictions))
	sum := 0.0 // of the standard deviations
	for c := range predictions[0] {
		mean := 0.0
		for _, p := range predictions {
			mean += float64(p[c])
		}
		mean /= G

		squares := 0.0
		for _, p := range predictions {
			δ := float64(p[c]) - mean
			squares += float64(δ * δ)
		}
		sum += math.Sqrt(squares / (G - 1))
	}
	return sum / float64(len(predictions[0]))
}

// Section 3.2: goal selection.

// setGoal chooses the goal to pursue from here: the first of an episode, or the next
// after a success. A run's very first goal is where the agent stands. Until
// initialSteps a goal is a random place where the agent has been (R22).
func (a *agent) setGoal(first bool) {
	n := len(a.replay)
	switch {
	case n == 0:
		a.goal = a.world.position
	case a.step < a.initialSteps:
		visited := a.replay[randomIndex(&a.chance.goals, n)]
		a.goal = visited.s
	default:
		candidates := a.drawCandidates()
		if first {
			candidates = a.achievable(candidates) // before ε is scaled (R23)
		}
		ε := a.uncertainty(candidates)
		p := goalProbabilities(ε, a.slope, a.intercept)
		chosen := pick(p, uniform(&a.chance.goals))
		a.goal = candidates[chosen]
	}
	a.goalsSet++
}

// drawCandidates returns the states of all transitions (R24), so never an episode's last
// state (R104). If there are more than N, it returns the states of N random ones (D30),
// none taken twice (R118). It goes through the transitions in order and takes each with the
// probability wanted/toCome: how many it still wants, divided by how many are still to
// come. This makes all choices equally likely.
func (a *agent) drawCandidates() (candidates []point) {
	n := len(a.replay)
	N := a.N
	takesAll := n <= N // without a draw
	for i, t := range a.replay {
		wanted := N - len(candidates)
		toCome := n - i // transition i included
		if takesAll || randomIndex(&a.chance.goals, toCome) < wanted {
			candidates = append(candidates, t.s)
		}
	}
	return candidates
}

// achievable is the threshold of section 3.3. It returns the candidates whose mean Q, from
// where the agent stands, is at least c T (R25). If there are none, it returns all
// candidates (R26).
func (a *agent) achievable(candidates []point) (kept []point) {
	least := a.threshold * float64(a.horizon)
	for _, g := range candidates {
		if a.value(g) >= least {
			kept = append(kept, g)
		}
	}
	if len(kept) == 0 {
		return candidates
	}
	return kept
}

// value returns the mean of the critics' Q for goal g, at the place where the agent
// stands and for the policy's action there.
func (a *agent) value(g point) (mean float64) {
	input := a.input(a.world.position, g)
	action := tanhs(a.policy.net.output(input))
	x := slices.Concat(input, action)
	for _, critic := range a.pun {
		q := critic.net.output(x)[0]
		mean += float64(q) / float64(len(a.pun))
	}
	return mean
}

// uncertainty returns Equation 5 for each candidate s, with d random actions that are
// the same for all candidates (R55):
//
//	ε = 1/d Σ_j deviation over i of P_i(s, a_j, g)
//
// The paper's sums begin at 0, and here they have d and G terms (R17). s is the state in
// which the agent achieved the candidate (R27). In a maze states and goals are both
// points, so s is also the candidate. g is the candidate, not the environment's goal (D3).
func (a *agent) uncertainty(candidates []point) []float64 {
	ε := make([]float64, len(candidates))
	for range a.d {
		action := randomAction(&a.chance.goals)
		for k, s := range candidates {
			g := s
			if !a.askCandidate {
				g = a.world.goal // as in section 3.2
			}
			x := append(a.input(s, g), float32(action[0]), float32(action[1]))
			var predictions [][]float32
			for _, critic := range a.pun {
				output := critic.net.output(x)
				predictions = append(predictions, output[1:]) // output[0] is Q
			}
			ε[k] += deviation(predictions) / float64(a.d)
		}
	}
	return ε
}

// goalProbabilities returns Equation 6, with ε scaled to between 0 and 1 (R97):
//
//	p_k = max(m ε_k + b, 0) / Σ_k max(m ε_k + b, 0)
//
// The paper's display has m ε b in the denominator (D1). Equal uncertainties are
// scaled to 0. If no numerator is positive, all candidates are equally likely (R28).
// However small a positive numerator is, it counts (R29).
func goalProbabilities(ε []float64, m, b float64) []float64 {
	low := slices.Min(ε)
	high := slices.Max(ε)
	p := make([]float64, len(ε))
	sum := 0.0
	for k := range p {
		scaled := 0.0
		if high > low {
			scaled = (ε[k] - low) / (high - low)
		}
		p[k] = max(float64(m*scaled)+b, 0) // the numerator, until the sum is known
		sum += p[k]
	}
	for k := range p {
		if sum > 0 {
			p[k] /= sum
		} else {
			p[k] = 1 / float64(len(p))
		}
	}
	return p
}

// pick draws an index with the probabilities p, given a uniform u: the first index at
// which the running sum of p exceeds u. If rounding leaves the whole sum at u or below,
// pick returns the index of the last positive p.
func pick(p []float64, u float64) (chosen int) {
	for k := range p {
		if p[k] > 0 {
			chosen = k
			u -= p[k]
			if u < 0 {
				break
			}
		}
	}
	return chosen
}

// Section 3.3: prioritized replay and hindsight. The threshold stands with section 3.2.

// draw fills the minibatch. Transitions are drawn one by one, with replacement (R34), with
// equal probabilities or by priority. Each is replayed with the goal that relabel
// returns, and with the reward for this goal.
func (a *agent) draw() {
	a.minibatch = nil
	for range a.batch {
		b := new(sample)
		u := uniform(&a.chance.replay)
		if a.prioritized {
			b.i, b.w = a.drawPrioritized(u)
		} else {
			b.i = int(u * float64(len(a.replay)))
			b.w = 1
		}

		t := a.replay[b.i]
		b.goal = a.relabel(b.i)
		b.input = a.input(t.s, b.goal)
		b.nextInput = a.input(t.next, b.goal)
		b.action = []float32{float32(t.a[0]), float32(t.a[1])}
		b.next = []float32{float32(t.next[0]), float32(t.next[1])}
		b.reward = float32(reward(t.next, b.goal))
		a.minibatch = append(a.minibatch, b)
	}
}

// relabel returns the goal that transition i is replayed with. With probability
// k/(k+1) this is where the dot arrived in step i or in a later step of the same
// episode. Otherwise it is the transition's own goal. This is HER's strategy "future"
// (R31, R32).
func (a *agent) relabel(i int) point {
	rng := &a.chance.replay
	if uniform(rng) < a.hindsight/(a.hindsight+1) {
		episode := i / a.horizon
		end := min((episode+1)*a.horizon, len(a.replay)) // the episode may still be running
		later := i + randomIndex(rng, end-i)
		return a.replay[later].next
	}
	return a.replay[i].g
}

// drawPrioritized draws transition j with the probability P_j of Equation 7, given a
// uniform u. It also returns the transition's weight in the critics' loss: w_j of
// Equation 8, divided by the largest w, as Schaul et al. do, here that in the replay (D28):
//
//	P_j = p_j^α / Σ p^α    w_j = (1/n · 1/P_j)^β
//
// n is the paper's N, the number of transitions. The paper's display of w has the priority
// p_j where P_j is here (D2), and does not divide w. β grows in a straight line, over
// environment steps (R99), until it is 1 (R36).
func (a *agent) drawPrioritized(u float64) (j int, w float32) {
	var powers []float64 // p^α of every transition
	for _, t := range a.replay {
		powers = append(powers, pow(t.priority, a.α))
	}
	total := sum(powers)
	j = find(powers, float64(u*total)) // where the running sum of powers exceeds u*total

	n := float64(len(powers))
	grown := float64((1 - a.β) * float64(a.step) / float64(a.βSteps)) // from the initial a.β
	β := min(1, a.β+grown)
	weight := func(P float64) float64 { return pow(1/float64(n*P), β) }

	least := powers[j] // the least power above 0
	for _, power := range powers {
		if power > 0 {
			least = min(least, power)
		}
	}
	largestWeight := weight(least / total)
	wj := weight(powers[j] / total)
	return j, float32(wj / largestWeight)
}

// prioritize gives each transition of the minibatch its priority: how far apart the
// heads' predictions for its own (s, a, g) were, before the heads learned from the
// minibatch. Equation 5 has random actions instead of a (R10). If a
// transition is there twice, the later priority stays (R105). Before its first
// minibatch a transition has the priority that was the largest when it was stored (R33).
func (a *agent) prioritize() {
	for _, b := range a.minibatch {
		p := deviation(b.predictions)
		a.replay[b.i].priority = p
		a.largest = max(a.largest, p)
	}
}

// Section 4: mazes, and how an agent fares in them.

// What the paper does not say about its mazes is taken from the authors' code (R66,
// R67, R68, R100). Only M-mazes wider than five columns are our own.
const (
	regionRadius = 0.3  // half the side of the start region and of the goal region, in cells
	goalRadius   = 0.35 // a goal is reached at a distance below this, in cells (R4)
	pieces       = 10   // straight pieces that a step consists of
	pieceLength  = 0.1  // a piece is the action times this, in cells
)

// A world is a maze with a dot in it. Each string is a row of the maze, and each
// character a cell of side 1. '#' is a wall, S the start and G the goal. All cells
// at the border are walls.
type world struct {
	maze     []string
	position point // of the dot
	goal     point // the environment's
}

// reset puts the dot at random into the start region, and the goal into the goal region.
func (w *world) reset(rng *rand.PCG) {
	w.position = w.around("S", rng)
	w.goal = w.around("G", rng)
}

// around draws a point from the region around the center of the cell that has the mark.
func (w *world) around(mark string, rng *rand.PCG) (p point) {
	for r, row := range w.maze {
		if c := strings.Index(row, mark); c >= 0 {
			p = point{float64(r) + 0.5, float64(c) + 0.5}
		}
	}
	for i := range p {
		offset := float64(2 * regionRadius * (uniform(rng) - 0.5))
		p[i] += offset
	}
	return p
}

// move moves the dot by an action, piece by piece. It stops before the first piece
// that would end in a wall.
func (w *world) move(action point) {
	for range pieces {
		r := w.position[0] + float64(pieceLength*action[0])
		c := w.position[1] + float64(pieceLength*action[1])
		if w.maze[int(r)][int(c)] == '#' {
			break
		}
		w.position = point{r, c}
	}
}

// reward is 0 at the goal and -1 elsewhere.
func reward(s, g point) float64 {
	rows := s[0] - g[0]
	columns := s[1] - g[1]
	distance := math.Sqrt(float64(rows*rows) + float64(columns*columns))
	if distance < goalRadius {
		return 0
	}
	return -1
}

// A report says how training goes. Only evaluate sets success and meanReturn.
type report struct {
	step                 int     // environment steps taken
	goalsSet             int     // so far
	goalsReached         int     // of these
	criticLoss, headLoss float64 // Equations 2 and 4 in the latest update, means over the critics
	success              float64 // the share of an evaluation's rollouts that ended at the goal
	meanReturn           float64 // the mean, over the rollouts, of the sum of a rollout's rewards
}

// evaluate has the policy go, without noise (R103), from the start region to the goal
// region. A rollout succeeds if it ends at the goal (R3). An evaluation draws from a
// generator of its own, so training does not depend on evaluations. Its inputs are
// normalized as in training (R116).
func (a *agent) evaluate() report {
	r := a.report // of the training; its success and meanReturn are 0
	w := world{maze: a.world.maze}
	purpose := forEvaluation + (uint64(a.step) << 8) // a different number after each step
	rng := stream(a.seed, purpose)
	for range a.rollouts {
		w.reset(&rng)
		for range a.horizon {
			w.move(a.act(w.position, w.goal))
			r.meanReturn += reward(w.position, w.goal)
		}
		r.success += 1 + reward(w.position, w.goal) // 1 at the goal, 0 elsewhere
	}
	r.success /= float64(a.rollouts)
	r.meanReturn /= float64(a.rollouts)
	return r
}

// mazeNamed returns a maze of one of the paper's two kinds. NU5 is the square wave
// with N bends and N+1 corridors of five cells. HxW is the M-maze of H rows and W columns.
//
//	1U5      2U5        4x5
//	#####    #######    #######
//	#S#G#    #S#...#    #.....#
//	#.#.#    #.#.#.#    #.#.#.#
//	#.#.#    #.#.#.#    #.###.#
//	#.#.#    #.#.#.#    #.S#G.#
//	#...#    #...#G#    #######
//	#####    #######
func mazeNamed(name string) ([]string, error) {
	// Sscanf also accepts 01U5 and 1U5x, so the name is made anew from n and compared.
	var n int
	fmt.Sscanf(name, "%dU5", &n)
	isWave := name == fmt.Sprintf("%dU5", n)
	if isWave && 1 <= n && n <= 50 {
		return wave(n), nil
	}

	var h, w int
	fmt.Sscanf(name, "%dx%d", &h, &w)
	isM := name == fmt.Sprintf("%dx%d", h, w)
	isSmall := h < 3 || w < 5
	isLarge := h > 50 || w > 50
	isOdd := w%2 == 1
	if isM && isOdd && !isSmall && !isLarge {
		return mMaze(h, w), nil
	}
	return nil, fmt.Errorf(`plain: -maze %s: mazes are "NU5", such as 1U5, with N from 1, `+
		`and "HxW", such as 4x5, with H from 3 and W odd and from 5; each at most 50`, name)
}

// wave returns the square wave of n bends, as mazeNamed's pictures show it. The first
// bend is at the bottom, the second at the top, and so on in turn.
func wave(n int) []string {
	wall := strings.Repeat("#", 2*n+3)
	corridors := "#" + strings.Repeat(".#", n+1)
	bottomBends := (n + 1) / 2
	topBends := n - bottomBends
	bottom := strings.Repeat("#...", bottomBends) + "#"
	top := "#S" + strings.Repeat("#...", topBends) + "#"
	if n%2 == 1 { // the last bend is at the bottom, so the path ends at the top
		top += "G#"
	} else {
		bottom += "G#"
	}
	return []string{wall, top, corridors, corridors, corridors, bottom, wall}
}

// mMaze returns the M-maze of h rows and w columns, and the walls around it.
func mMaze(h, w int) []string {
	wall := func(n int) string { return strings.Repeat("#", n) }
	top := "#" + strings.Repeat(".", w) + "#"
	half := wall(w/2 - 1)
	deadEnd := "#." + half + "." + half + ".#" // a row with the dead end in the middle
	closed := "#." + wall(w-2) + ".#"          // the row below the dead end
	bottom := "#.S" + wall(w-4) + "G.#"

	maze := []string{wall(w + 2), top}
	for range h - 3 {
		maze = append(maze, deadEnd)
	}
	return append(maze, closed, bottom, wall(w+2))
}

// Networks: backpropagation, Adam, and the scaling of inputs.

// A network is affine layers with ReLU between them (R72). n[l][k][j] is the weight
// from input k of layer l to output j of this layer. One more row, after those of the
// inputs, has the biases. Gradients and moments have the same shape, with a number for
// each weight.
type network [][][]float32

// A trainedNetwork is a network, its target, and what Adam needs.
type trainedNetwork struct {
	net            network
	target         network // which follows net
	gradient       network // of a loss, summed by backward until adam uses it
	m, v           network // Adam's moments
	power1, power2 float64 // β₁ᵗ and β₂ᵗ of Adam's paper
}

// newTrainedNetwork draws a network's weights. in is its number of inputs. outputs says
// how many outputs of each kind the last layer has, such as 1 for Q and 2 for s'. Each
// kind is drawn as a layer of its own.
func newTrainedNetwork(t table, rng *rand.PCG, in int, outputs ...int) *trainedNetwork {
	var net network
	width := in // number of inputs of the next layer
	for range t.layers {
		net = append(net, newLayer(rng, width, t.hidden))
		width = t.hidden
	}
	last := make([][]float32, width+1) // a row for each input, and one of biases
	for _, out := range outputs {
		kind := newLayer(rng, width, out)
		for k, row := range kind {
			last[k] = append(last[k], row...)
		}
	}
	net = append(net, last)
	return &trainedNetwork{
		net:      net,
		target:   net.clone(),
		gradient: net.zeros(),
		m:        net.zeros(),
		v:        net.zeros(),
		power1:   1,
		power2:   1,
	}
}

// newLayer draws weights and biases uniformly between -1/√in and 1/√in (R73).
func newLayer(rng *rand.PCG, in, out int) [][]float32 {
	bound := 1 / math.Sqrt(float64(in))
	layer := make([][]float32, in+1) // a row for each input, and the biases
	for k := range layer {
		for range out {
			weight := float32(bound * symmetric(rng))
			layer[k] = append(layer[k], weight)
		}
	}
	return layer
}

// clone returns a copy of the network.
func (n network) clone() network {
	other := make(network, len(n))
	for l, layer := range n {
		for _, row := range layer {
			other[l] = append(other[l], slices.Clone(row))
		}
	}
	return other
}

// zeros returns a network of the same shape, all zeros.
func (n network) zeros() network {
	other := n.clone()
	for _, layer := range other {
		for _, row := range layer {
			clear(row)
		}
	}
	return other
}

// forward returns the activations: first x, then the result of each hidden layer, and
// last the output. So element l is the input of layer l.
func (n network) forward(x []float32) (activations [][]float32) {
	activations = append(activations, x)
	for l, layer := range n {
		biases := layer[len(x)]
		y := slices.Clone(biases)
		for k, v := range x {
			if v == 0 {
				continue // saves time: ReLU makes half of them 0
			}
			for j, weight := range layer[k] {
				y[j] = fma(v, weight, y[j])
			}
		}
		isHidden := l < len(n)-1
		for j := range y {
			if isHidden && y[j] < 0 {
				y[j] = 0 // ReLU
			}
		}
		activations = append(activations, y)
		x = y // of the next layer
	}
	return activations
}

// output returns only the last activations of forward.
func (n network) output(x []float32) []float32 {
	activations := n.forward(x)
	return activations[len(n)]
}

// backward is backpropagation. It takes the activations of forward and dy, the
// gradient of a loss with respect to the output. If gradient is not nil, backward adds
// to it the loss's gradient with respect to each weight. It returns the gradient with
// respect to the network's input.
func (n network) backward(activations [][]float32, dy []float32, gradient network) []float32 {
	for l := len(n) - 1; l >= 0; l-- {
		x := activations[l] // the input of layer l; dy belongs to the output of this layer
		dx := make([]float32, len(x))
		for j, d := range dy {
			if d == 0 {
				continue
			}
			for k, v := range x {
				if l > 0 && v == 0 {
					continue // where ReLU gave 0 its slope is 0, and so is the weight's gradient
				}
				dx[k] = fma(d, n[l][k][j], dx[k])
				if gradient != nil {
					gradient[l][k][j] = fma(v, d, gradient[l][k][j])
				}
			}
			if gradient != nil {
				gradient[l][len(x)][j] += d // the bias
			}
		}
		dy = dx // x is the output of the layer before
	}
	return dy
}

// inputGradient returns the gradient of a loss with respect to the input x. It takes
// dy, the gradient of the same loss with respect to the output.
func (n network) inputGradient(x, dy []float32) []float32 {
	activations := n.forward(x)
	return n.backward(activations, dy, nil)
}

// adam takes one step of Adam (Kingma and Ba, 2015; R74) against the gradient, and sets
// the gradient to 0. The step size is headRate for the weights of a critic's head, which
// is all outputs of the last layer but the first. For all other weights it is rate. The
// policy has no head, so it gets the same number for both. Package qta also sets moments
// to 0 that are too small for a normal float32, which is faster and changes no weight.
func (t *trainedNetwork) adam(rate, headRate float64) {
	t.power1 = float64(0.9 * t.power1)
	t.power2 = float64(0.999 * t.power2)
	scale := float32(1 / math.Sqrt(1-t.power2)) // corrects the bias of √v
	for l, layer := range t.net {
		for k, row := range layer {
			for j := range row {
				α := rate
				isLast := l == len(t.net)-1
				if isLast && j > 0 {
					α = headRate
				}

				g := t.gradient[l][k][j]
				m := float32(0.9*t.m[l][k][j]) + float32(0.1*g)
				v := float32(0.999*t.v[l][k][j]) + float32(float32(0.001*g)*g)
				step := float32(α / (1 - t.power1)) // corrects the bias of m
				root := float32(math.Sqrt(float64(v)))
				row[j] -= float32(step*m) / (float32(root*scale) + 1e-8)

				t.m[l][k][j] = m
				t.v[l][k][j] = v
				t.gradient[l][k][j] = 0
			}
		}
	}
}

// tanhs returns the tanh of each element. It turns the policy's output into an action
// (R18).
func tanhs(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(tanh(float64(v)))
	}
	return y
}

// A normalizer scales points to mean 0 and deviation 1. It takes the mean and the
// deviation over all points that were added, and one point of zeros (R21).
type normalizer struct {
	count   float64 // of the points
	sum     point
	squares point // sum of the squares
	mean    point
	inverse point // 1 over the deviation
}

// newNormalizer returns a normalizer that only clips until its first update.
func newNormalizer() normalizer { return normalizer{count: 1, inverse: point{1, 1}} }

// add takes one more point into the sums.
func (n *normalizer) add(x point) {
	n.count++
	for i, v := range x {
		n.sum[i] += v
		n.squares[i] += float64(v * v)
	}
}

// update computes mean and inverse from the sums, with floor as the least deviation.
func (n *normalizer) update(floor float64) {
	least := float64(floor * floor) // the least variance
	for i := range n.mean {
		mean := n.sum[i] / n.count
		variance := n.squares[i]/n.count - float64(mean*mean)
		n.mean[i] = mean
		n.inverse[i] = 1 / math.Sqrt(max(variance, least))
	}
}

// scaled returns x normalized, with each component clipped to [-clip, clip].
func (n *normalizer) scaled(x point, clip float64) (y []float32) {
	for i, v := range x {
		normalized := float64((v - n.mean[i]) * n.inverse[i])
		clipped := min(max(normalized, -clip), clip)
		y = append(y, float32(clipped))
	}
	return y
}

// updateNormalizers adds states and goals to the normalizers. It draws transitions from
// the episode that has just ended, and replaces their goals as hindsight does in replay (R120).
func (a *agent) updateNormalizers() {
	begin := a.step - a.horizon
	for range a.normalizerDraws {
		i := begin + randomIndex(&a.chance.replay, a.horizon)
		a.stateScale.add(a.replay[i].s)
		a.goalScale.add(a.relabel(i))
	}
	a.stateScale.update(a.normalizerFloor)
	a.goalScale.update(a.normalizerFloor)
}

// The last bit: arithmetic and chance that give the same bits on every machine. A reader
// of the method can stop here.

// Package math has assembly on some processors and fused operations on others, so
// the last bits of its Exp, Log, Tanh and Pow depend on the machine. The functions
// below use only operations that IEEE 754 rounds in one way.

// fma returns x*y + z, rounded once.
func fma(x, y, z float32) float32 {
	product := float64(float64(x) * float64(y)) // exact: 24 bits by 24 give 48 of 53
	s := product + float64(z)

	// s is rounded to float64, and would be rounded again to float32. This goes wrong only
	// if s is halfway between two float32: then its last 28 bits are 0.
	maybeHalfway := math.Float64bits(s)<<36 == 0
	if maybeHalfway {
		s = nudge(s, product, float64(z))
	}
	return float32(s)
}

// nudge takes s, the rounded sum x + y, whose last 28 bits are 0. If s is not exact, nudge
// moves it by one bit towards the exact sum. If s was halfway between two float32, it then
// is on the right side.
func nudge(s, x, y float64) float64 {
	t := s - x
	err := (x - (s - t)) + (y - t) // x + y - s, exactly (Knuth)
	if err > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	if err < 0 {
		return math.Nextafter(s, math.Inf(-1))
	}
	return s
}

// square returns x², which is exact in float64.
func square(x float32) float64 { return float64(float64(x) * float64(x)) }

// ln 2 in two parts. The first has 28 bits, so its product with an exponent is exact.
const (
	ln2Hi = 0x1.62e42fep-1
	ln2Lo = math.Ln2 - ln2Hi
)

// expParts returns k and p with e^x = 2^k (1 + p) and |p| < 0.42.
func expParts(x float64) (k int, p float64) {
	n := math.Floor(float64(x*math.Log2E) + 0.5) // x / ln 2, to the nearest integer
	hi := x - float64(n*ln2Hi)
	lo := float64(n * ln2Lo)
	r := hi - lo          // x - n ln 2, rounded
	rest := (hi - r) - lo // what the rounding took

	// Taylor's series is e^r = 1 + r + z (even + r odd), with z = r². Both sums are in powers
	// of z: even = 1/2! + z/4! + ... and odd = 1/3! + z/5! + ...
	factorial := [14]float64{1}
	for i := 1; i < len(factorial); i++ {
		factorial[i] = float64(i) * factorial[i-1]
	}
	z := float64(r * r)
	even := 0.0
	odd := 0.0
	for i := 12; i >= 2; i -= 2 { // the highest power of z comes first
		even = float64(even*z) + 1/factorial[i]
		odd = float64(odd*z) + 1/factorial[i+1]
	}
	q := even + float64(odd*r)
	return int(n), r + (rest + float64(z*q))
}

// exp returns e^x.
func exp(x float64) float64 {
	if x > 710 {
		return math.Inf(1)
	}
	if x < -746 {
		return 0
	}
	k, p := expParts(x) // e^x = 2^k (1 + p)
	return math.Ldexp(1+p, k)
}

// tanh returns t / (t + 2) with t = e^(2|x|) - 1, and with the sign of x.
func tanh(x float64) float64 {
	if math.Abs(x) > 20 {
		return math.Copysign(1, x)
	}
	k, p := expParts(2 * math.Abs(x)) // t = s (1 + p) - 1, with s = 2^k
	s := math.Ldexp(1, k)
	t := float64(s*p) + (s - 1)
	return math.Copysign(t/(t+2), x)
}

// log returns the natural logarithm of x.
func log(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	m, k := math.Frexp(x) // x = m 2^k
	if m < math.Sqrt2/2 {
		m *= 2
		k--
	}

	// log x = k ln 2 + log(1 + f). With s = f/(2+f), z = s² and h = f²/2,
	//
	//	log(1 + f) = 2 atanh(s) = f - (h - s (h + z series))
	//	series = 2/3 + 2/5 z + 2/7 z² + ...
	//
	// because 2s = f - s f and s f = h - s h. The right side begins with f - h, which is free
	// of the rounding of s.
	f := m - 1
	s := f / (2 + f)
	z := float64(s * s)
	series := 0.0
	for d := 23.0; d > 2; d -= 2 {
		series = float64(series*z) + 2/d
	}
	h := float64(float64(0.5*f) * f)
	tail := float64(s * (h + float64(series*z)))

	// k ln 2 is kHi + kLo. The small kLo is added to the smallest term.
	kHi := float64(float64(k) * ln2Hi)
	kLo := float64(float64(k) * ln2Lo)
	return kHi + (f - (h - (tail + kLo)))
}

// pow returns x to the power y, for x >= 0.
func pow(x, y float64) float64 {
	switch y {
	case 0:
		return 1
	case 1:
		return x
	}
	return exp(float64(y * log(x)))
}

// sum adds x in the order of a tree: it adds the sum of the first part to the sum of the rest.
func sum(x []float64) float64 {
	if len(x) == 1 {
		return x[0]
	}
	n := firstPart(x)
	return sum(x[:n]) + sum(x[n:])
}

// find returns the first index at which the running sum of x exceeds mass, and never one
// behind the last number above 0. It adds in the same order as sum.
func find(x []float64, mass float64) int {
	if len(x) == 1 {
		return 0
	}
	n := firstPart(x)
	first := sum(x[:n])
	if mass >= first && sum(x[n:]) > 0 {
		return n + find(x[n:], mass-first)
	}
	return find(x[:n], mass)
}

// firstPart returns how many elements the first part has: the largest power of two
// below the length.
func firstPart(x []float64) int {
	log2 := bits.Len(uint(len(x)-1)) - 1
	return 1 << log2
}

// The purposes of chance. Each has a generator of its own, so draws for one purpose
// change nothing for another.
const (
	forInitialization = iota
	forExploration
	forEnvironment
	forReplay
	forLearning
	forGoals
	forEvaluation
)

// A chance has the generators that training draws from.
type chance struct{ exploration, environment, replay, learning, goals rand.PCG }

func newChance(seed uint64) chance {
	return chance{
		exploration: stream(seed, forExploration),
		environment: stream(seed, forEnvironment),
		replay:      stream(seed, forReplay),
		learning:    stream(seed, forLearning),
		goals:       stream(seed, forGoals),
	}
}

// stream returns the generator for a purpose.
func stream(seed, purpose uint64) rand.PCG {
	mixed := mix(seed)
	return *rand.NewPCG(mixed, mix(mixed+purpose))
}

// mix turns numbers that are close into numbers that look unrelated, by SplitMix64
// (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform draws from [0, 1).
func uniform(rng *rand.PCG) float64 {
	last53Bits := rng.Uint64() << 11 >> 11
	return float64(last53Bits) / (1 << 53)
}

// randomIndex draws from 0 to n-1.
func randomIndex(rng *rand.PCG, n int) int { return int(uniform(rng) * float64(n)) }

// symmetric draws from [-1, 1).
func symmetric(rng *rand.PCG) float64 { return float64(2*uniform(rng)) - 1 }

// randomAction draws uniformly from all actions.
func randomAction(rng *rand.PCG) point {
	row := symmetric(rng)
	column := symmetric(rng)
	return point{row, column}
}

// normal draws from the standard normal distribution: Marsaglia's polar method.
func normal(rng *rand.PCG) float64 {
	for {
		u := symmetric(rng)
		v := symmetric(rng)
		s := float64(u*u) + float64(v*v)
		if 0 < s && s < 1 {
			return float64(u * math.Sqrt(-2*log(s)/s))
		}
	}
}
