// Plain is Query The Agent (Alverio, Katz and Barbu, 2022) in one file: the
// whole method of the paper, from the table of its appendix to the last bit of
// its arithmetic, in loops over single numbers.
//
//	go run ./plain
//
// trains an agent on the maze 1U5 and says every 1,000 steps how it fares. The
// flags -maze, -steps, -seed and -full, for the paper's sizes, are all there is to set.
//
// This file is the algorithm; everything else beside it is efficiency,
// comparison and tools. Read it downwards: the table and the training loop come
// first, then uncertainty (section 3.1), the choice of goals (3.2), replay and
// threshold (3.3), mazes and evaluation (4), the networks, and the last bit.
//
// The paper displays eight formulas without numbers; here they have numbers in
// the order of appearance. A mark such as (R20) is a choice that the paper
// leaves open, and (D1) a departure from its text: package qta has the reasons
// beside the same numbers.
package main

// To the reviewer: main_test.go trains this file and package qta side by side
// and finds the same goals, the same log and the same bits in every network.
// Networks are float32, where a sum of products is a chain of fused
// multiply-adds; everything else is float64. A product that is added is
// converted first, float64(x*y) + z, which forbids the compiler to fuse it.

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

// A table is every number of the method.
type table struct {
	batch, hidden, layers, critics, actions, candidates, horizon int
	initialSteps, learningStarts, normalizerDraws, βSteps        int
	evalEvery, rollouts                                          int

	hindsight, γ, actorRate, criticRate, predictiveRate, actionL2 float64
	noise, randomAction, threshold, slope, intercept, ρ, β, α     float64
	normalizerFloor, normalizerClip                               float64

	askCandidate, prioritized bool
}

// paper returns the paper's numbers.
func paper() table {
	return table{
		// The appendix, in its order.
		batch:          1024, // |B|, transitions of a minibatch
		hidden:         256,  // units of a hidden layer
		hindsight:      4,    // HER's k: relabeled transitions to one that is not
		γ:              0.99, // discount factor
		actorRate:      1e-3, // Adam's step for the policy,
		criticRate:     2e-3, // for the critics,
		predictiveRate: 5e-3, // and for the predictive networks
		actions:        8,    // d, random actions for one estimate of uncertainty
		initialSteps:   1000, // environment steps before goals are chosen by uncertainty
		noise:          0.2,  // ε, standard deviation of the noise on actions
		randomAction:   0.3,  // probability of a random action instead
		threshold:      -1.6, // c: an episode's first goal has a mean Q of at least c T
		slope:          626,  // m of Equation 6
		intercept:      -591, // b of Equation 6
		ρ:              0.95, // what a target network keeps of itself
		β:              0.3,  // of Equation 8, at the first step
		βSteps:         2e5,  // environment steps until β is 1
		α:              1,    // of Equation 7

		// The text.
		critics:     3,     // G, section 3.1
		prioritized: false, // section 3.3 is an extension

		// Section 3.2 feeds the environment's goal to Equation 5, "though the prediction
		// is learned to be agnostic to the choice of goal". It is not: so none of three
		// agents with N = 1000 solved 8x5 in 40,000 steps. The authors' code feeds the
		// candidate. (D3)
		askCandidate: true,

		// Not in the table: from the authors' code, but for N.
		layers:          3,    // hidden layers of a network (R37)
		actionL2:        1,    // weight of the squared action in the policy's loss, not DDPG's (R38)
		learningStarts:  50,   // environment steps before the first update (R39)
		normalizerDraws: 50,   // transitions of an episode that normalizers see (R41)
		normalizerFloor: 0.01, // least deviation they divide by (R42)
		normalizerClip:  5,    // largest magnitude they let through (R43)
		horizon:         50,   // T, steps of an episode (R44)
		candidates:      4000, // N, the most goals drawn for one choice; the introduction has all (D30)
		evalEvery:       1000, // environment steps between evaluations
		rollouts:        20,   // of an evaluation
	}
}

// sized returns a table at sizes that train in minutes instead of hours.
func sized(t table) table {
	t.hidden, t.batch, t.candidates = 64, 64, 200
	return t
}

func main() {
	name := flag.String("maze", "1U5", "the maze: a wave such as 1U5, or an M-maze such as 4x5")
	steps := flag.Int("steps", 20_000, "environment steps to train for, at most")
	seed := flag.Uint64("seed", 0, "where all chance comes from")
	full := flag.Bool("full", false, "the paper's sizes, which take hours instead of minutes")
	flag.Parse()
	maze, err := mazeNamed(*name)
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("plain: %q is no flag; there are -maze, -steps, -seed and -full", flag.Arg(0))
	case *steps < 1:
		err = fmt.Errorf("plain: -steps is %d, allowed are 1 and above", *steps)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}

	t := paper()
	if !*full {
		t = sized(t)
	}
	fmt.Printf("The paper's algorithm, but for D3, D26, D29 and D30, with %d units, batches of %d and N = %d.\n",
		t.hidden, t.batch, t.candidates)
	fmt.Println(strings.Join(maze, "\n"))
	fmt.Println("steps  success  return  goals  reached  Equation 2  Equation 4")
	a := newAgent(t, maze, *seed)
	for a.step < *steps {
		for range min(t.evalEvery, *steps-a.step) {
			a.trainStep()
		}
		r := a.evaluate()
		fmt.Printf("%5d  %4.0f/%d  %6.1f  %5d  %7d  %10.4f  %10.4f\n",
			r.step, r.success*float64(t.rollouts), t.rollouts, r.rewards,
			r.goals, r.reached, r.criticLoss, r.headLoss)
		if r.success == 1 {
			fmt.Printf("solved %s after %d steps\n", *name, r.step)
			return
		}
	}
	fmt.Printf("%s is not solved after %d steps\n", *name, a.step)
}

// Section 3: the training loop.

// A point is a row and a column of the maze. A state is where the dot is, a goal
// where it is to be, and an action a move with components in [-1, 1].
type point [2]float64

// An agent is Query The Agent in training.
type agent struct {
	table
	report
	seed                  uint64
	policy                *trainedNetwork
	pun                   []*trainedNetwork // G critics: output 0 is Q, the others are its head P
	replay                []transition
	largest               float64 // priority so far
	minibatch             []*sample
	stateScale, goalScale normalizer
	world                 world
	goal                  point // the goal pursued
	chance                chance
}

// A transition is one step of the dot, in pursuit of goal g. Transition i is part
// of episode i / horizon; none is ever forgotten (R30).
type transition struct {
	s, a, g, next point
	priority      float64
}

// newAgent returns an agent that knows nothing. Its critics differ by their
// initial weights alone.
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
	rng := stream(seed, forInitialization)
	a.policy = newTrainedNetwork(t, &rng, 4, 2) // from s, g to a
	for range t.critics {
		a.pun = append(a.pun, newTrainedNetwork(t, &rng, 6, 1, 2)) // from s, g, a to Q and to s'
	}
	return a
}

// trainStep is one step of the dot, and then one of every network (R1). An
// episode has T steps, whatever goals are reached in it.
func (a *agent) trainStep() {
	if a.step%a.horizon == 0 {
		a.world.reset(&a.chance.environment)
		a.setGoal(true)
	}

	t := transition{s: a.world.position, g: a.goal, priority: a.largest}
	t.a = a.explore(a.act(t.s, t.g))
	a.world.move(t.a)
	t.next = a.world.position
	a.replay = append(a.replay, t)
	a.step++

	episodeEnds := a.step%a.horizon == 0
	if reward(t.next, t.g) == 0 {
		a.reached++
		if !episodeEnds {
			a.setGoal(false)
		}
	}
	if a.step > a.learningStarts {
		a.update()
	}
	if episodeEnds {
		a.showNormalizers()
	}
}

// act is the policy's action for a state and a goal.
func (a *agent) act(s, g point) point {
	action := tanhs(a.policy.net.output(a.input(s, g)))
	return point{float64(action[0]), float64(action[1])}
}

// input is what a network sees of a state and a goal.
func (a *agent) input(s, g point) []float32 {
	return append(a.stateScale.scaled(s, a.normalizerClip), a.goalScale.scaled(g, a.normalizerClip)...)
}

// explore adds noise to an action and, now and then, takes a random one (R20).
func (a *agent) explore(action point) point {
	rng := &a.chance.exploration
	for i := range action {
		action[i] = min(max(action[i]+float64(a.noise*normal(rng)), -1), 1)
	}
	if uniform(rng) < a.randomAction {
		return randomAction(rng)
	}
	return action
}

// update is one step of every network on one minibatch.
func (a *agent) update() {
	a.draw()    // section 3.3
	a.targets() // Equation 1
	a.criticLoss = 0
	a.headLoss = 0
	for _, critic := range a.pun {
		a.learnCritic(critic) // Equations 2 and 4
	}
	a.criticLoss /= float64(len(a.pun))
	a.headLoss /= float64(len(a.pun))
	a.prioritize() // Equation 7
	for _, critic := range a.pun {
		critic.follow(a.ρ) // Equation 3
	}
	a.learnPolicy()
	a.policy.follow(a.ρ) // Equation 3
}

// A sample is a transition of a minibatch as the networks see it.
type sample struct {
	i           int         // which it is, in the replay
	goal        point       // the one it is replayed with
	input       []float32   // s and g
	action      []float32   // a
	nextInput   []float32   // s' and g
	next        []float32   // s' as it is (R12)
	reward      float32     // r
	y           float32     // the target of Equation 1
	w           float32     // the weight of Equation 8
	predictions [][]float32 // of s', by each head
}

// Section 3.1: uncertainty estimation.

// targets is Equation 1, with one random pair M for all of the minibatch (R6, R7,
// R9):
//
//	y = r + γ min over i in M of Q_targ,i(s', a', g)    a' = π_targ(s', g)
//
// Neither a goal nor an episode's end cuts the sum off (R8). It is clipped to what
// rewards of -1 and 0 can add up to (D26).
func (a *agent) targets() {
	rng := &a.chance.learning
	i := index(rng, len(a.pun))
	j := index(rng, len(a.pun)-1)
	if j >= i {
		j++
	}
	for _, b := range a.minibatch {
		x := slices.Concat(b.nextInput, tanhs(a.policy.target.output(b.nextInput)))
		q := min(a.pun[i].target.output(x)[0], a.pun[j].target.output(x)[0])
		b.y = b.reward + float32(float32(a.γ)*q)
		b.y = min(max(b.y, float32(-1/(1-a.γ))), 0)
	}
}

// learnCritic descends Equation 2 plus Equation 4 for one critic and its head,
//
//	1/|B| Σ w (Q(s, a, g) - y)²  +  1/|B| Σ |P(s, a, g) - s'|²
//
// which have all layers but the last in common (R2, R5, R11, R14, R119): both move
// these as one loss (D29). The head's own layer moves at a rate of its own (R13).
func (a *agent) learnCritic(critic *trainedNetwork) {
	scale := 2 / float32(a.batch)
	criticLoss := 0.0
	headLoss := 0.0
	for _, b := range a.minibatch {
		passed := critic.net.forward(slices.Concat(b.input, b.action))
		output := passed[len(passed)-1]
		q := output[0]
		prediction := output[1:]
		b.predictions = append(b.predictions, prediction)

		δ := q - b.y
		gradient := []float32{float32(scale*b.w) * δ}
		criticLoss += float64(float64(b.w) * square(δ))
		for i, p := range prediction {
			δ := p - b.next[i]
			gradient = append(gradient, scale*δ)
			headLoss += square(δ)
		}
		critic.net.backward(passed, gradient, critic.gradient)
	}
	a.criticLoss += criticLoss / float64(a.batch)
	a.headLoss += headLoss / float64(a.batch)
	critic.adam(func(layer, output int) float64 {
		if layer == a.layers && output > 0 {
			return a.predictiveRate
		}
		return a.criticRate
	})
}

// follow is Equation 3, φ_targ = ρ φ_targ + (1-ρ) φ. The policy has a target
// network too (R15).
func (l *trainedNetwork) follow(ρ float64) {
	for i, layer := range l.net {
		for k, row := range layer {
			for j, φ := range row {
				target := &l.target[i][k][j]
				*target = float32(float32(ρ)**target) + float32(float32(1-ρ)*φ)
			}
		}
	}
}

// learnPolicy moves the policy "as in DDPG". It descends
//
//	-1/|B| Σ 1/G Σ_i Q_i(s, π(s, g), g)  +  l2 · mean of π(s, g)²
//
// which climbs the mean of the critics (R19) and keeps actions small (R38).
func (a *agent) learnPolicy() {
	for _, b := range a.minibatch {
		passed := a.policy.net.forward(b.input)
		action := tanhs(passed[len(passed)-1])
		dq := []float32{1 / float32(a.batch*len(a.pun)), 0, 0}
		da := make([]float32, len(action)) // of the mean Q
		for _, critic := range a.pun {
			x := slices.Concat(b.input, action)
			dx := critic.net.backward(critic.net.forward(x), dq, nil)
			for i := range da {
				da[i] += dx[len(b.input)+i]
			}
		}
		for i, v := range action { // the loss's, through the square and the tanh
			l2 := float32(float32(2*float32(a.actionL2))*v) / float32(a.batch*len(action))
			da[i] = (l2 - da[i]) * (1 - float32(v*v))
		}
		a.policy.net.backward(passed, da, a.policy.gradient)
	}
	a.policy.adam(func(int, int) float64 { return a.actorRate })
}

// deviation is how far the heads' predictions of one state are apart: for each component
// their standard deviation, and then the mean over the components (D27, R16).
func deviation(predictions [][]float32) float64 {
	G := float64(len(predictions))
	sum := 0.0
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

// setGoal chooses the goal to pursue from here: an episode's first, or the next
// after a success. A run's very first goal is where the agent stands; until
// initialSteps it is a random place where the agent has been (R22).
func (a *agent) setGoal(first bool) {
	n := len(a.replay)
	switch {
	case n == 0:
		a.goal = a.world.position
	case a.step < a.initialSteps:
		a.goal = a.replay[index(&a.chance.goals, n)].s
	default:
		candidates := a.drawCandidates()
		if first {
			candidates = a.achievable(candidates) // section 3.3
		}
		p := goalProbabilities(a.uncertainty(candidates), a.slope, a.intercept)
		a.goal = candidates[pick(p, uniform(&a.chance.goals))]
	}
	a.goals++
}

// drawCandidates returns the places where the agent has been (R24), or N of them if
// there are more, each at most once (R118). It takes each in turn with a probability:
// how many are still wanted, of how many are still to come.
func (a *agent) drawCandidates() (candidates []point) {
	n := len(a.replay)
	N := a.candidates
	for i, t := range a.replay {
		wanted := N - len(candidates)
		toCome := n - i
		if n <= N || index(&a.chance.goals, toCome) < wanted {
			candidates = append(candidates, t.s)
		}
	}
	return candidates
}

// uncertainty is Equation 5 for each candidate s, with d random actions that are the
// same for all candidates (R55):
//
//	ε = 1/d Σ_j deviation over i of P_i(s, a_j, g)
//
// The display averages the predictions; the text takes their standard deviation
// (R16, R17, R27).
func (a *agent) uncertainty(candidates []point) []float64 {
	ε := make([]float64, len(candidates))
	for range a.actions {
		action := randomAction(&a.chance.goals)
		for k, s := range candidates {
			g := a.world.goal
			if a.askCandidate {
				g = s
			}
			x := append(a.input(s, g), float32(action[0]), float32(action[1]))
			var predictions [][]float32
			for _, critic := range a.pun {
				predictions = append(predictions, critic.net.output(x)[1:])
			}
			ε[k] += deviation(predictions) / float64(a.actions)
		}
	}
	return ε
}

// goalProbabilities is Equation 6, with ε scaled to between 0 and 1 (R23, R97):
//
//	p_k = max(m ε_k + b, 0) / Σ_k max(m ε_k + b, 0)
//
// The display has m ε b in the denominator (D1). Equal uncertainties are scaled to
// 0, and where no weight is positive all candidates are alike (R28, R29).
func goalProbabilities(ε []float64, m, b float64) []float64 {
	low := slices.Min(ε)
	high := slices.Max(ε)
	p := make([]float64, len(ε))
	sum := 0.0
	for k := range p {
		if high > low {
			p[k] = (ε[k] - low) / (high - low)
		}
		p[k] = max(float64(m*p[k])+b, 0)
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

// pick returns the first index at which the sum of p passes u.
func pick(p []float64, u float64) (chosen int) {
	for k := range p {
		if p[k] > 0 {
			chosen = k
			if u -= p[k]; u < 0 {
				break
			}
		}
	}
	return chosen
}

// Section 3.3: prioritized replay, hindsight, and the threshold.

// draw fills the minibatch: transitions drawn one by one, all alike or by their
// priorities (R34), each with a goal in hindsight and the reward for that goal.
func (a *agent) draw() {
	a.minibatch = nil
	for range a.batch {
		u := uniform(&a.chance.replay)
		b := &sample{i: int(u * float64(len(a.replay))), w: 1}
		if a.prioritized {
			b.i, b.w = a.drawPrioritized(u)
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

// relabel returns the goal that transition i is replayed with: k times of k+1 one
// that its episode achieved then or later, else its own. It is HER's strategy
// "future" (R31, R32).
func (a *agent) relabel(i int) point {
	rng := &a.chance.replay
	if uniform(rng) < a.hindsight/(a.hindsight+1) {
		end := min((i/a.horizon+1)*a.horizon, len(a.replay)) // of the episode, so far
		return a.replay[i+index(rng, end-i)].next
	}
	return a.replay[i].g
}

// drawPrioritized draws a transition by Equation 7 and returns its weight in the
// critics' loss, Equation 8 over the largest weight in the buffer (D28):
//
//	P_j = p_j^α / Σ p^α    w_j = (1/n · 1/P_j)^β
//
// The display of w has the priority p_j where P_j is here (D2). β grows in a
// straight line, over environment steps (R99), until it is 1 (R36).
func (a *agent) drawPrioritized(u float64) (j int, w float32) {
	var powers []float64
	for _, t := range a.replay {
		powers = append(powers, pow(t.priority, a.α))
	}
	total := sum(powers)
	j = find(powers, float64(u*total))

	n := float64(len(powers))
	β := min(1, a.β+float64((1-a.β)*float64(a.step)/float64(a.βSteps)))
	weight := func(P float64) float64 { return pow(1/float64(n*P), β) }
	least := powers[j] // of those that can be drawn
	for _, p := range powers {
		if p > 0 {
			least = min(least, p)
		}
	}
	return j, float32(weight(powers[j]/total) / weight(least/total))
}

// prioritize gives each transition of the minibatch its priority: how far the
// heads were apart, before they moved (R10). A transition that was in no minibatch
// yet has the largest priority so far, and at least 1 (R33); one that is twice in it,
// the last of two (R105).
func (a *agent) prioritize() {
	for _, b := range a.minibatch {
		p := deviation(b.predictions)
		a.replay[b.i].priority = p
		a.largest = max(a.largest, p)
	}
}

// achievable returns the candidates whose mean Q, from where the agent stands, is at
// least c T, or all candidates if there is none (R25, R26).
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

// value is the mean over the critics of the value of a goal, seen from where the
// agent stands, for the policy's action.
func (a *agent) value(g point) (q float64) {
	sg := a.input(a.world.position, g)
	x := append(sg, tanhs(a.policy.net.output(sg))...)
	for _, critic := range a.pun {
		q += float64(critic.net.output(x)[0]) / float64(len(a.pun))
	}
	return q
}

// Section 4: mazes, and how an agent fares in them.

// What the paper does not say of its mazes is the authors' code (R66, R67, R68, R100).
const (
	regionRadius = 0.3  // half the side of the start and goal regions, in cells
	goalRadius   = 0.35 // a goal is reached closer than this (R4)
	pieces       = 10   // of a step, each straight
	pieceLength  = 0.1  // of an action
)

// A world is a maze with a dot in it. A maze is rows of cells of side 1: '#' is a
// wall, as is all around; S is the start and G the goal.
type world struct {
	maze           []string
	position, goal point
}

// reset puts the dot somewhere in the start region, and the goal in the goal region.
func (w *world) reset(rng *rand.PCG) {
	w.position = w.around("S", rng)
	w.goal = w.around("G", rng)
}

// around draws from the region around the center of a marked cell.
func (w *world) around(mark string, rng *rand.PCG) (p point) {
	for r, row := range w.maze {
		if c := strings.Index(row, mark); c >= 0 {
			p = point{float64(r) + 0.5, float64(c) + 0.5}
		}
	}
	for i := range p {
		p[i] += float64(2 * regionRadius * (uniform(rng) - 0.5))
	}
	return p
}

// move moves the dot by an action, piece by piece until one would end in a wall.
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
	r, c := s[0]-g[0], s[1]-g[1]
	if math.Sqrt(float64(r*r)+float64(c*c)) < goalRadius {
		return 0
	}
	return -1
}

// A report is how training goes.
type report struct {
	step                 int     // environment steps taken
	goals, reached       int     // goals set and, of these, reached
	criticLoss, headLoss float64 // Equations 2 and 4 in the latest update, means over the critics
	success              float64 // share of the rollouts that ended at the goal
	rewards              float64 // of a rollout, summed; the mean of all
}

// evaluate has the policy go, without noise, for goals of the environment. A
// rollout succeeds if it ends at the goal (R3). An evaluation draws from a generator
// of its own, so training does not depend on evaluations.
func (a *agent) evaluate() report {
	r := a.report // in which success and rewards are 0
	w := world{maze: a.world.maze}
	rng := stream(a.seed, forEvaluation+uint64(a.step)<<8) // another one after each step
	for range a.rollouts {
		w.reset(&rng)
		for range a.horizon {
			w.move(a.act(w.position, w.goal))
			r.rewards += reward(w.position, w.goal)
		}
		r.success += 1 + reward(w.position, w.goal) // 1 at the goal, 0 elsewhere
	}
	r.success /= float64(a.rollouts)
	r.rewards /= float64(a.rollouts)
	return r
}

// mazeNamed returns one of the paper's mazes: NU5 is the square wave of N
// bends, N+1 corridors of five cells; HxW is the M-maze of H rows and W columns.
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
	var h, w, n int
	fmt.Sscanf(name, "%dx%d", &h, &w)
	fmt.Sscanf(name, "%dU5", &n)
	switch {
	case name == fmt.Sprintf("%dU5", n) && 1 <= n && n <= 50:
		return wave(n), nil
	case name == fmt.Sprintf("%dx%d", h, w) && 3 <= h && h <= 50 && 5 <= w && w <= 50 && w%2 == 1:
		return mMaze(h, w), nil
	}
	return nil, fmt.Errorf(`plain: -maze %s: mazes are "NU5", such as 1U5, with N from 1, `+
		`and "HxW", such as 4x5, with H from 3 and W odd and from 5; each at most 50`, name)
}

// wave returns the square wave of n bends, as mazeNamed's pictures show it. Bends at the
// bottom and at the top take turns.
func wave(n int) []string {
	wall := strings.Repeat("#", 2*n+3)
	corridors := "#" + strings.Repeat(".#", n+1)
	bends := (n + 1) / 2 // at the bottom, of n
	bottom := strings.Repeat("#...", bends) + "#"
	top := "#S" + strings.Repeat("#...", n-bends) + "#"
	if n%2 == 1 { // the last bend is at the bottom, so the path ends at the top
		top += "G#"
	} else {
		bottom += "G#"
	}
	return []string{wall, top, corridors, corridors, corridors, bottom, wall}
}

// mMaze returns the M-maze of h rows and w columns.
func mMaze(h, w int) []string {
	wall := func(n int) string { return strings.Repeat("#", n) }
	top := "#" + strings.Repeat(".", w) + "#"
	deadEnd := "#." + wall(w/2-1) + "." + wall(w/2-1) + ".#"
	columns := "#." + wall(w-2) + ".#"
	bottom := "#.S" + wall(w-4) + "G.#"
	return slices.Concat([]string{wall(w + 2), top}, slices.Repeat([]string{deadEnd}, h-3),
		[]string{columns, bottom, wall(w + 2)})
}

// Networks: backpropagation, Adam, and the scaling of inputs.

// A network is affine layers with ReLU between them (R72), or a number for each
// of their weights: [l][k][j] joins input k of layer l to its output j, and the
// row after those of the inputs has the biases.
type network [][][]float32

// A trainedNetwork is a network, its target, and what Adam needs.
type trainedNetwork struct {
	net, target, gradient network
	m, v                  network // Adam's moments
	power1, power2        float64 // β₁ᵗ and β₂ᵗ of Adam's paper
}

// newTrainedNetwork draws a network's weights. The last layer can have outputs of several
// kinds, each with weights of its own.
func newTrainedNetwork(t table, rng *rand.PCG, in int, outputs ...int) *trainedNetwork {
	var net network
	for range t.layers {
		net = append(net, newLayer(rng, in, t.hidden))
		in = t.hidden
	}
	last := make([][]float32, in+1)
	for _, out := range outputs {
		for k, row := range newLayer(rng, in, out) {
			last[k] = append(last[k], row...)
		}
	}
	net = append(net, last)
	return &trainedNetwork{
		net:      net,
		target:   net.like(true),
		gradient: net.like(false),
		m:        net.like(false),
		v:        net.like(false),
		power1:   1,
		power2:   1,
	}
}

// newLayer draws from ±1/√inputs (R73).
func newLayer(rng *rand.PCG, in, out int) [][]float32 {
	layer := make([][]float32, in+1)
	for k := range layer {
		for range out {
			layer[k] = append(layer[k], float32(1/math.Sqrt(float64(in))*symmetric(rng)))
		}
	}
	return layer
}

// like returns a network of the same shape, with the same numbers or zeros.
func (n network) like(same bool) network {
	other := make(network, len(n))
	for l, layer := range n {
		for _, row := range layer {
			row = slices.Clone(row)
			if !same {
				clear(row)
			}
			other[l] = append(other[l], row)
		}
	}
	return other
}

// forward returns what passes through the network: x, what each hidden layer
// makes of it, and last the output.
func (n network) forward(x []float32) [][]float32 {
	passed := [][]float32{x}
	for l, layer := range n {
		y := slices.Clone(layer[len(x)])
		for k, v := range x {
			if v == 0 {
				continue // as ReLU leaves half of them
			}
			for j, weight := range layer[k] {
				y[j] = fma(v, weight, y[j])
			}
		}
		for j := range y {
			if l < len(n)-1 && y[j] < 0 {
				y[j] = 0
			}
		}
		passed = append(passed, y)
		x = y
	}
	return passed
}

// output is the last of forward.
func (n network) output(x []float32) []float32 { return n.forward(x)[len(n)] }

// backward is backpropagation. Given what passed forward, and dy, the gradient of
// a loss with respect to the output, it adds to gradient, unless that is nil, and
// returns the gradient with respect to x.
func (n network) backward(passed [][]float32, dy []float32, gradient network) []float32 {
	for l := len(n) - 1; l >= 0; l-- {
		x := passed[l]
		dx := make([]float32, len(x))
		for j, d := range dy {
			if d == 0 {
				continue
			}
			for k, v := range x {
				if l > 0 && v == 0 {
					continue // ReLU lets nothing pass, neither way
				}
				dx[k] = fma(d, n[l][k][j], dx[k])
				if gradient != nil {
					gradient[l][k][j] = fma(v, d, gradient[l][k][j])
				}
			}
			if gradient != nil {
				gradient[l][len(x)][j] += d
			}
		}
		dy = dx
	}
	return dy
}

// adam is one step of Adam (Kingma and Ba, 2015; R74) against the gradient, at a
// rate for each output of each layer. The gradient begins anew.
func (l *trainedNetwork) adam(rate func(layer, output int) float64) {
	l.power1 = float64(0.9 * l.power1)
	l.power2 = float64(0.999 * l.power2)
	scale := float32(1 / math.Sqrt(1-l.power2))
	for i, layer := range l.net {
		for k, row := range layer {
			for j := range row {
				g := l.gradient[i][k][j]
				m := float32(0.9*l.m[i][k][j]) + float32(0.1*g)
				v := float32(0.999*l.v[i][k][j]) + float32(float32(0.001*g)*g)
				step := float32(rate(i, j) / (1 - l.power1))
				root := float32(math.Sqrt(float64(v)))
				row[j] -= float32(step*m) / (float32(root*scale) + 1e-8)

				l.m[i][k][j] = m
				l.v[i][k][j] = v
				l.gradient[i][k][j] = 0
			}
		}
	}
}

// tanhs returns the tanh of each element: the policy's action, of its output
// (R18).
func tanhs(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(tanh(float64(v)))
	}
	return y
}

// A normalizer scales points to mean 0 and deviation 1, over those it was shown
// and one zero (R21).
type normalizer struct {
	count         float64
	sum, squares  point
	mean, inverse point // inverse is 1 over the deviation
}

func newNormalizer() normalizer { return normalizer{count: 1, inverse: point{1, 1}} }

func (n *normalizer) show(x point) {
	n.count++
	for i, v := range x {
		n.sum[i] += v
		n.squares[i] += float64(v * v)
	}
}

func (n *normalizer) update(floor float64) {
	for i := range n.mean {
		n.mean[i] = n.sum[i] / n.count
		variance := n.squares[i]/n.count - float64(n.mean[i]*n.mean[i])
		n.inverse[i] = 1 / math.Sqrt(max(variance, float64(floor*floor)))
	}
}

func (n *normalizer) scaled(x point, clip float64) (y []float32) {
	for i, v := range x {
		y = append(y, float32(min(max(float64((v-n.mean[i])*n.inverse[i]), -clip), clip)))
	}
	return y
}

// showNormalizers shows the normalizers draws from the finished episode, with
// goals as in a minibatch (R120).
func (a *agent) showNormalizers() {
	for range a.normalizerDraws {
		i := a.step - a.horizon + index(&a.chance.replay, a.horizon)
		a.stateScale.show(a.replay[i].s)
		a.goalScale.show(a.relabel(i))
	}
	a.stateScale.update(a.normalizerFloor)
	a.goalScale.update(a.normalizerFloor)
}

// The last bit: what the same bits on every machine need.

// Package math has assembly on some processors and fused operations on others, so
// that the last bits of its Exp, Log, Tanh and Pow depend on the machine. The
// functions below use only what IEEE 754 rounds in one way.

// fma returns x*y + z, rounded once.
func fma(x, y, z float32) float32 {
	product := float64(float64(x) * float64(y)) // exact: 24 bits by 24 are 48, of 53
	s := product + float64(z)
	if math.Float64bits(s)<<36 == 0 { // it may be halfway between two float32
		s = aside(s, product, float64(z))
	}
	return float32(s)
}

// aside moves s = x + y, where that was rounded, by one bit towards the exact sum:
// then rounding it again goes the right way.
func aside(s, x, y float64) float64 {
	t := s - x
	err := (x - (s - t)) + (y - t) // exact (Knuth)
	if err > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	if err < 0 {
		return math.Nextafter(s, math.Inf(-1))
	}
	return s
}

// square returns x², exactly.
func square(x float32) float64 { return float64(float64(x) * float64(x)) }

// ln 2 in two parts. The first has 28 bits, so that its product with an exponent
// is exact.
const (
	ln2Hi = 0x1.62e42fep-1
	ln2Lo = math.Ln2 - ln2Hi
)

// expParts returns k and p with e^x = 2^k (1 + p) and |p| < 0.42.
func expParts(x float64) (k int, p float64) {
	n := math.Floor(float64(x*math.Log2E) + 0.5)
	hi := x - float64(n*ln2Hi)
	lo := float64(n * ln2Lo)
	r := hi - lo          // x - n ln 2, rounded
	rest := (hi - r) - lo // what the rounding took

	// Taylor: e^r = 1 + r + r² (1/2! + r²/4! + ... + r (1/3! + r²/5! + ...)).
	factorial := [14]float64{1}
	for i := 1; i < len(factorial); i++ {
		factorial[i] = float64(i) * factorial[i-1]
	}
	z := float64(r * r)
	even := 0.0
	odd := 0.0
	for i := 12; i >= 2; i -= 2 {
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
	k, p := expParts(2 * math.Abs(x))
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

	// log(1 + f) = 2 atanh(s) with s = f / (2 + f), whose series is in z = s². The
	// terms f and f²/2 stand apart, as s is rounded.
	f := m - 1
	s := f / (2 + f)
	z := float64(s * s)
	series := 0.0
	for d := 23.0; d > 2; d -= 2 {
		series = float64(series*z) + 2/d
	}
	h := float64(float64(0.5*f) * f)
	lo := float64(s*(h+float64(series*z))) + float64(float64(k)*ln2Lo)
	return float64(float64(k)*ln2Hi) + (f - (h - lo))
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

// sum adds the sums of two parts, which are added likewise: the root of a tree.
func sum(x []float64) float64 {
	if len(x) == 1 {
		return x[0]
	}
	n := firstHalf(x)
	return sum(x[:n]) + sum(x[n:])
}

// find returns the index at which a sum as in sum passes mass.
func find(x []float64, mass float64) int {
	if len(x) == 1 {
		return 0
	}
	n := firstHalf(x)
	first := sum(x[:n])
	if mass >= first {
		return n + find(x[n:], mass-first)
	}
	return find(x[:n], mass)
}

// firstHalf returns the largest power of two that is less than the length.
func firstHalf(x []float64) int { return 1 << (bits.Len(uint(len(x)-1)) - 1) }

// The purposes of chance. Each has a generator of its own: what is drawn for one
// changes nothing for another.
const (
	forInitialization = iota
	forExploration
	forEnvironment
	forReplay
	forLearning
	forGoals
	forEvaluation
)

// Chance is the generators of training.
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
	return *rand.NewPCG(mix(seed), mix(mix(seed)+purpose))
}

// mix makes close numbers unlike: SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform draws from [0, 1).
func uniform(rng *rand.PCG) float64 { return float64(rng.Uint64()<<11>>11) / (1 << 53) }

// index draws from 0 to n-1.
func index(rng *rand.PCG, n int) int { return int(uniform(rng) * float64(n)) }

// symmetric draws from [-1, 1).
func symmetric(rng *rand.PCG) float64 { return float64(2*uniform(rng)) - 1 }

// randomAction draws from all actions.
func randomAction(rng *rand.PCG) point {
	r := symmetric(rng)
	return point{r, symmetric(rng)}
}

// normal draws from the standard normal distribution: Marsaglia's polar method.
func normal(rng *rand.PCG) float64 {
	for {
		u := symmetric(rng)
		v := symmetric(rng)
		if s := float64(u*u) + float64(v*v); 0 < s && s < 1 {
			return float64(u * math.Sqrt(-2*log(s)/s))
		}
	}
}
