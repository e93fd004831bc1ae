package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// naivePriority returns the priority of a row from the networks before the update. With
// Replay=per it is the heads' deviation, and with Replay=td the critics' mean distance from
// their targets.
func naivePriority(p *Params, row recordedRow) float64 {
	if p.Replay == "per" {
		predictions := each(updateNetworks.heads[:], func(head linear) float64 {
			return head.at(row.s, row.g, row.a)
		})
		return twinSampleDeviation(predictions)
	}
	distance := 0.0
	for i := range p.Critics {
		y := row.y
		if p.Uncertainty != "pun" { // each critic has its own target
			y = row.r + updateDiscount*updateNetworks.targetCritics[i].at(row.next, row.nextG, row.nextA)
			y = min(max(y, updateLowest), 0)
		}
		q := updateNetworks.critics[i].at(row.s, row.g, row.a)
		distance += math.Abs(q - y)
	}
	return distance / float64(p.Critics)
}

// nearNumber is near for one number.
func nearNumber(t *testing.T, what string, got, want float64) {
	t.Helper()
	near(t, what, []float32{float32(got)}, []float64{want})
}

// An update sets the priorities of its minibatch from the networks before the update. If a
// transition comes twice, the later priority counts.
func TestPriorities(t *testing.T) {
	const α = 0.6
	for _, changes := range []string{
		"Replay=per",
		"Replay=per PredictiveGradient=head",
		"Replay=per Learner=authors",
		"Replay=per Uncertainty=bootstrap",
		"Replay=per Uncertainty=ensemble",
		"Replay=td",
		"Replay=td Uncertainty=ensemble",
		"Replay=td Uncertainty=bootstrap",
		"Replay=td Curriculum=her Critics=1",
	} {
		// At these rates the networks after the update give other priorities.
		a := threeEpisodes(t, fmt.Sprint("CriticRate=0.1 PredictiveRate=0.1 PriorityAlpha=", α, " ", changes))
		priorities := map[int]float64{} // by transition
		largest := 1.0                  // as in a new replay
		for _, row := range minibatchesOf(t, a, 1)[0] {
			priority := naivePriority(&a.params, row)
			priorities[row.transition] = priority
			largest = max(largest, priority)
		}
		s := prioritiesOf(a)
		weights := s.tree.values()
		for i, priority := range priorities {
			what := fmt.Sprintf("%s: weight of transition %d, its priority to the power of %v", changes, i, α)
			nearNumber(t, what, weights[i], math.Pow(priority, α))
		}
		nearNumber(t, changes+": the largest priority", s.largest, largest)
	}
}

// With MEGA's or VDS's learner the target networks move in every 40th update and in no other.
func TestTargetEvery(t *testing.T) {
	const every, steps = 40, 45
	for _, learner := range []string{"mega", "vds"} {
		a := walked(t, tiny(Beyond(), "Learner="+learner), steps)
		before := networks(a)
		for update := 1; update <= 2*every+1; update++ {
			mustUpdate(t, a)
			after := networks(a)
			for name, params := range after {
				if !strings.HasPrefix(name, "target") {
					continue
				}
				due := update%every == 0
				moved := !slices.Equal(before[name], params)
				checkEqual(t, due, moved, "%s: whether update %d moves the %s", learner, update, name)
			}
			before = after
		}
	}
}

// Only the critics draw by priority. The authors' heads and policy, and VDS, draw minibatches
// of their own, in which any transition may be. Their weights are 1.
func TestOwnDraws(t *testing.T) {
	const transitions, kept = 40, 7 // only transition 7 keeps its priority
	a := walked(t, tiny(Beyond(), "Curriculum=vds Replay=per Learner=authors"), transitions)
	for i := range transitions {
		if i != kept {
			prioritiesOf(a).tree.set(i, 0)
		}
	}
	vds := a.curriculum.(*vdsCurriculum)
	learner := learnerOf(a).(*authorsLearner)
	mustUpdate(t, a)
	must(t, vds.endEpisode(a))

	for _, i := range a.batch.transitions {
		if i != kept {
			t.Errorf("the critics learn from transition %d, whose priority is 0", i)
		}
	}
	own := map[string]*batch{"heads": &learner.headBatch, "policy": &learner.policyBatch, "VDS": &vds.batch}
	for name, b := range own {
		different := distinct(b.transitions)
		if len(different) < 5 { // of the minibatch's 16 rows or more
			t.Errorf("the minibatch of %s has only the transitions %v: it is drawn by priority", name, different)
		}
		if slices.Min(b.w) != 1 || slices.Max(b.w) != 1 {
			t.Errorf("the minibatch of %s has weights %v, want 1", name, b.w)
		}
	}
}

// The authors' heads learn from transitions with the goals that were pursued. Their draws
// choose an episode first, and all episodes are equally likely. So the running episode comes
// in one of five draws, although it has only one transition.
func TestAuthorsHeadBatch(t *testing.T) {
	const updates = 200
	const latest = 40 // after four episodes of ten steps
	a := walked(t, tiny(Authors(), ""), latest+1)
	b := &learnerOf(a).(*authorsLearner).headBatch
	draws := 0
	for range updates {
		mustUpdate(t, a)
		for row, i := range b.transitions {
			if i == latest {
				draws++
			}
			goal := b.x.row(row)[2:4] // after an observation of two numbers
			if !slices.Equal(goal, float32s(a.replay.goal.at(i))) {
				t.Fatalf("the authors' heads learn from transition %d with another goal than was pursued", i)
			}
		}
	}
	checkFrequency(t, "authors' heads: the running episode's transition", draws, updates*len(b.transitions), 1./5)
}

// An update of the authors' learner moves the critics first. Then it moves their targets, the
// heads, the policy, and the policy's target.
func TestAuthorsOrder(t *testing.T) {
	a := walked(t, tiny(Authors(), "Polyak=0"), 50) // targets become equal to what they follow
	before := float64Copies(a)
	mustUpdate(t, a)
	checkAuthorsCritics(t, a, before)

	after := float64Copies(a)
	x := learnerOf(a).(*authorsLearner).policyBatch.x
	want := numericGradient(twinParams(before.actor...), func() float64 {
		return twinPolicyLoss(before.actor, after.critics, x, a.params.ActionL2)
	})
	nearGradient(t, "the authors' order: the policy moves after the heads", firstGradient(a.policy.adam), want)
	target := a.policy.target.params
	checkEqual(t, a.policy.net.params, target, "the authors' order: the target policy follows last")
}

// checkAuthorsCritics compares the losses and the gradients of critics and heads in an
// agent's first update with the twin's. In that update targets become equal to what they
// follow.
func checkAuthorsCritics(t *testing.T, a *Agent, before float64Networks) {
	t.Helper()
	headBatch := &learnerOf(a).(*authorsLearner).headBatch
	var losses struct{ critic, head float64 }
	for i, c := range a.pun.critics {
		what := fmt.Sprintf("the authors' order: critic %d ", i+1)
		criticLoss := func() float64 { return twinCriticLoss(a.pun.heads, before.critics[i], &a.batch, i) }
		want := numericGradient(twinParams(before.critics[i]...), criticLoss)
		got := firstGradient(c.adam)[:len(want)] // without the head's part
		nearGradient(t, what+"moves first, from the networks before the update", got, want)

		between := c.target.float64Copy() // the critic when its target followed it
		headLoss := func() float64 {
			return twinHeadLoss(a.pun.heads, between, before.heads[i], headBatch, i, twinNorm)
		}
		// The heads' optimizer moves the backbone, too.
		moved := append(twinParams(between...), twinParams(before.heads[i])...)
		want = numericGradient(moved, headLoss)
		got = firstGradient(c.headAdam)
		nearGradient(t, what+"moves with its head after its target has followed it", got, want)
		if slices.Equal(c.target.params, c.q.params) {
			t.Errorf("%sis not moved with its head after its target has followed it", what)
		}
		losses.critic += criticLoss() / 3
		losses.head += headLoss() / 3
	}
	nearNumber(t, "the authors' loss of critics", a.losses.critic, losses.critic)
	nearNumber(t, "the authors' loss of heads", a.losses.head, losses.head)
}

// nothingMoves are changes with which an update computes gradients and moves no network.
const nothingMoves = "CriticRate=0 PredictiveRate=0 ActorRate=0 Polyak=1 "

// The authors' targets use the target policy's action with noise. The stream of learning gives
// the noise of all rows and then the pair M. The least return is the -150 of their code.
func TestAuthorsTargets(t *testing.T) {
	const deviation, largest = 0.2, 0.5 // of the noise
	// In 500 rows some noise passes its limit, and some actions their bounds.
	a := walked(t, tiny(Authors(), nothingMoves+"Batch=500"), 50)
	checkEqual(t, -150.0, a.pun.lowest, "the authors' targets: the least return")
	moveTargets(a)
	pcg := *a.learning.pcg // a copy, which draws again what the update draws
	learning := stream{rand.New(&pcg), &pcg}
	mustUpdate(t, a)

	actor := a.policy.target.float64Copy()
	for row := range a.batch.next.rows {
		next := a.batch.next.row(row) // s', g and a', two numbers each
		x := float64s(next)
		want := twinAct(actor, x[:2], x[2:4]) // in float64, without noise
		for c := range want {
			noise := min(max(deviation*normal(learning.Rand), -largest), largest)
			want[c] = min(max(want[c]+noise, -1), 1)
		}
		near(t, "the authors' targets: the target policy's action with noise of the stream of learning", next[4:], want)
	}
	drawPair(learning, 3) // M, of three critics
	if pcg != *a.learning.pcg {
		t.Error("the authors' targets: the stream of learning has given other numbers than the noise and then M")
	}
}

// The stride of a held action is a moving average of the lengths of steps. A step counts for
// 2 % of it. Only a short step with the held action ends the holding.
func TestHeldStride(t *testing.T) {
	a := walked(t, tiny(Beyond(), "RandomActionHeld=0.5"), 15)
	from := a.replay.achieved.at(14)                          // where the latest step began
	copy(a.achieved, []float64{from[0] + 0.3, from[1] - 0.4}) // a step of length 0.5
	h := a.explorer.(*heldExplorer)
	for _, taken := range []bool{false, true} { // whether this step took the held action
		h.stride = 1.01 // the step is shorter than half of it, but not than half of what it becomes
		h.holding = true
		h.taken = taken
		h.afterStep(a)
		want := 0.98*1.01 + 0.02*0.5
		checkNear(t, nearly, want, h.stride, "the stride 1.01, after a step of length 0.5")
		checkEqual(t, !taken, h.holding, "held after a short step, which took that action: %t", taken)
	}

	a = walked(t, a.params, 20) // the last step ends an episode
	h = a.explorer.(*heldExplorer)
	h.holding = true // by an earlier step
	h.afterStep(a)
	if h.holding {
		t.Error("an action is held beyond an episode's end, whose last step was the policy's")
	}
}

// moments returns the mean and the standard deviation of x.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	variance := 0.0
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(variance)
}

// The noise of Figure 4 has the mean 0 and the standard deviation UncertaintyNoise, in the
// uncertainties' own unit.
func TestUncertaintyNoise(t *testing.T) {
	const n, σ = 10_000, 0.05
	a := walked(t, tiny(Beyond(), ""), 40)
	points := randomRows(seeded(1, 0), n, 2)
	c := candidates{states: points, goals: points, now: a.observation, desired: a.desired}
	estimate := func(noise float64) []float64 {
		a.params.UncertaintyNoise = noise
		return newEstimator(&a.params, a.pun).uncertainty(a, c, newStream(1, forGoals))
	}
	noise := estimate(σ)
	for k, ε := range estimate(0) {
		noise[k] -= ε
	}
	mean, deviation := moments(noise)
	// The sample's mean deviates by σ/√n and its deviation by σ/√(2n), which is 0.7 % of σ.
	if math.Abs(mean) > 5*σ/math.Sqrt(n) || math.Abs(deviation/σ-1) > 0.04 {
		t.Errorf("the noise is %v ± %v, want 0 ± %v", mean, deviation, σ)
	}
}

// MEGA's learner limits the elements of every gradient to 5 before Adam sees them. Others
// have no limit. A NaN stays, so that the update reports it.
func TestGradientClip(t *testing.T) {
	const small = 1e-6 // a limit that some elements of every gradient exceed, up and down
	for learner, want := range map[string]float32{"paper": 0, "mega": 5, "vds": 0} {
		a := walked(t, tiny(Beyond(), "PredictiveGradient=head Learner="+learner), 10)
		l := learnerOf(a).(*generalLearner)
		checkEqual(t, want, l.limit, "%s: the limit", learner)
		l.limit = small
		must(t, l.update(a))
		gradients := [][]float32{a.policy.gradient.params}
		for _, c := range a.pun.critics {
			gradients = append(gradients, c.gradient.params)
		}
		for i, gradient := range gradients {
			span := []float32{slices.Min(gradient), slices.Max(gradient)}
			checkEqual(t, []float32{-small, small}, span, "%s: the span of gradient %d", learner, i)
		}
	}
	nan := []float32{float32(math.NaN())}
	(&generalLearner{limit: 1}).clip(nan)
	if !math.IsNaN(float64(nan[0])) {
		t.Errorf("the limit turns NaN into %v; it has to stay", nan[0])
	}
}

// A mask is a fair coin. The masks of two critics, of two transitions and of two seeds are
// independent.
func TestMasks(t *testing.T) {
	const n, seed, critic = 20_000, 1 << 63, 1
	in := 0
	inBoth := map[string]int{} // how often also in the mask of another critic, transition or seed
	for i := range n {
		if !inMask(seed, i, critic) {
			continue
		}
		in++
		for other, inOther := range map[string]bool{
			"critic":                    inMask(seed, i, critic+1),
			"transition":                inMask(seed, i+1, critic),
			"transition and critic":     inMask(seed, i+1, critic-1),
			"transition, 64 further on": inMask(seed, i+64, critic),
			"seed":                      inMask(seed+1, i, critic),
		} {
			inBoth[other] += count(inOther)
		}
	}
	checkFrequency(t, "in a mask", in, n, 1./2)
	for other, together := range inBoth {
		checkFrequency(t, "in a mask and in the mask of another "+other, together, n, 1./4)
	}
}

// twinGaussian returns gaussianLoss for one row, where s is s'. p has the predicted means,
// and after them the raw variance.
func twinGaussian(p, s []float64) (loss float64) {
	variance := math.Log1p(math.Exp(p[len(s)])) + 1e-6
	for c := range s {
		term := math.Pow(s[c]-p[c], 2)/variance + math.Log(variance)
		loss += term / float64(len(s))
	}
	return loss
}

// The float64Networks are an agent's networks in float64, which the twin computes with.
type float64Networks struct {
	critics []float64Net
	heads   []float64Layer
	actor   float64Net
}

// float64Copies returns an agent's networks. With Uncertainty=bootstrap the critics share the
// memory of the first one's backbone, so that a change of the backbone changes all critics.
func float64Copies(a *Agent) float64Networks {
	w := float64Networks{actor: a.policy.net.float64Copy()}
	for _, c := range a.pun.critics {
		w.critics = append(w.critics, c.q.float64Copy())
		w.heads = append(w.heads, c.head.float64Copy())
	}
	if a.params.Uncertainty == "bootstrap" {
		shared := w.critics[0][:a.params.HiddenLayers]
		for i, c := range w.critics {
			w.critics[i] = slices.Concat(shared, c[len(shared):])
		}
	}
	return w
}

// criticLoss returns the sum of all critics' losses on a minibatch.
func (w *float64Networks) criticLoss(h heads, b *batch) (sum float64) {
	for i, c := range w.critics {
		sum += twinCriticLoss(h, c, b, i)
	}
	return sum
}

// headLoss returns the sum of all heads' losses on a minibatch. rowLoss is the loss of a row.
func (w *float64Networks) headLoss(h heads, b *batch, rowLoss func(p, s []float64) float64) (sum float64) {
	for i, c := range w.critics {
		sum += twinHeadLoss(h, c, w.heads[i], b, i, rowLoss)
	}
	return sum
}

// An update's gradients are the numeric gradients of the twin's losses for its minibatch,
// whether the gradient of Equation 4 enters the backbone or not. Only the critics' loss has
// weights (R2). Bootstrapped critics and heads learn only from transitions in their masks, also
// in the running episode (D10).
func TestGradients(t *testing.T) {
	const transitions = 45 // five of them in the running episode
	for _, changes := range []string{
		"Uncertainty=bootstrap",
		"Uncertainty=bootstrap PredictiveGradient=head Replay=per",
		"Uncertainty=ensemble",
		"Uncertainty=ensemble PredictiveGradient=head",
		"Replay=per",
		"PredictiveGradient=head Replay=per",
		"Learner=mega",
	} {
		a := walked(t, tiny(Beyond(), nothingMoves+changes), transitions)
		prioritized := a.params.Replay == "per"
		if prioritized {
			// With equal priorities all weights would be 1.
			for i := range transitions {
				prioritiesOf(a).set(i, float64(1+i%7))
			}
		}
		mustUpdate(t, a)
		differ := slices.Min(a.batch.w) < slices.Max(a.batch.w)
		checkEqual(t, prioritized, differ, "%s: whether the weights differ", changes)
		// The policy's step has put its own actions in the place of those that were taken.
		for row, i := range a.batch.transitions {
			copy(a.batch.x.row(row)[4:], float32s(a.replay.action.at(i)))
		}

		twin := float64Copies(a)
		checkGradients(t, changes, a, &twin)
		want := numericGradient(twinParams(twin.actor...), func() float64 {
			return twinPolicyLoss(twin.actor, twin.critics, a.batch.x, a.params.ActionL2)
		})
		nearGradient(t, changes+": policy", firstGradient(a.policy.adam), want)
	}
}

// checkGradients compares the losses of an update with the twin's, and the gradients of
// critics and heads with the numeric gradients of the twin's losses. It differentiates the
// sums over all critics: each term depends on a shared backbone, and only one term on a
// critic's own backbone.
func checkGradients(t *testing.T, what string, a *Agent, w *float64Networks) {
	t.Helper()
	rowLoss := twinSquare
	if a.params.Uncertainty == "ensemble" {
		rowLoss = twinGaussian
	}
	criticLoss := func() float64 { return w.criticLoss(a.pun.heads, &a.batch) }
	headLoss := func() float64 { return w.headLoss(a.pun.heads, &a.batch, rowLoss) }
	descended := criticLoss // by the critics
	if a.params.PredictiveGradient == "joint" {
		descended = func() float64 { return criticLoss() + headLoss() }
	}

	// The update's losses are means over three critics.
	nearNumber(t, what+": sum of the critics' losses", 3*a.losses.critic, criticLoss())
	nearNumber(t, what+": sum of the heads' losses", 3*a.losses.head, headLoss())
	for i, c := range a.pun.critics {
		name := fmt.Sprintf("%s: critic %d", what, i+1)
		wantCritic := numericGradient(twinParams(w.critics[i]...), descended)
		wantHead := numericGradient(twinParams(w.heads[i]), headLoss)
		nearGradient(t, name, firstGradient(c.adam), wantCritic)
		nearGradient(t, name+"'s head", firstGradient(c.headAdam), wantHead)
	}
}

// twinPolicyLoss returns the policy's loss for a minibatch: the cost of its actions, less the
// mean of the critics' values of them. The rows of x begin with s and g.
func twinPolicyLoss(actor float64Net, critics []float64Net, x matrix, l2 float64) (loss float64) {
	n := float64(x.rows)
	for k := range x.rows {
		s := float64s(x.row(k)[:2])
		g := float64s(x.row(k)[2:4])
		action := twinAct(actor, s, g)
		for _, c := range critics {
			loss -= twinValue(c, s, g, action) / float64(len(critics)) / n
		}
		meanSquare := (action[0]*action[0] + action[1]*action[1]) / 2
		loss += l2 * meanSquare / n
	}
	return loss
}

// The loss is finite for the smallest and for the largest variance. For the smallest it is the
// twin's.
func TestGaussianLoss(t *testing.T) {
	const mean, next = 1, 2                                       // what is predicted, and s'
	least := twinGaussian([]float64{mean, -800}, []float64{next}) // its variance is the floor
	for _, z := range []float32{-1e30, -800, 800, 1e30} {
		dp := make([]float32, 2) // with respect to the mean and z
		loss := gaussianLoss(dp, []float32{mean, z}, []float32{next}, 1)
		if !finite(loss + float64(dp[0]) + float64(dp[1])) {
			t.Errorf("raw variance %v: loss %v and gradient %v are not finite", z, loss, dp)
		}
		if z < 0 && math.Abs(loss/least-1) > 1e-9 {
			t.Errorf("raw variance %v: loss %v, want %v", z, loss, least)
		}
	}
}

// The norm has no gradient where a prediction has no error. There predictiveNorm returns 0.
// Here the errors of two rows are (0, 0) and (3, 4), so the mean norm is 5/2. The gradient of
// the second row is (3, 4)/5, divided by the two rows.
func TestNormAtZero(t *testing.T) {
	dp := []float32{1, 1, 1, 1}
	loss := predictiveNorm(dp, []float32{1, 2, 3, 4}, []float32{1, 2, 0, 0}, 2)
	checkEqual(t, 2.5, loss, "loss")
	checkEqual(t, []float32{0, 0, 0.3, 0.4}, dp, "gradient")
}

// numberedAgent returns an agent with the curriculum MEGA after n transitions, in episodes of
// five. Transition i led from a place where i-1 was achieved to one where i was, in pursuit of
// goal -1-i.
func numberedAgent(t *testing.T, n int) *Agent {
	t.Helper()
	a := newAgent(t, tiny(Beyond(), "Curriculum=mega Horizon=5"), Sizes{Observation: 2, Goal: 1, Action: 3}, 1)
	for i := range n {
		x := float64(i)
		next := State{Observation: []float64{x + 1, x + 1}, Achieved: []float64{x}}
		a.replay.add([]float64{x, x}, []float64{x - 1}, []float64{x, x, x}, []float64{-1 - x}, next)
	}
	a.step = n
	return a
}

// MEGA's density standardizes coordinates by the mean and the deviation of its points. There
// it is logDensity, which the golden vectors kde check. Far away two densities still have an
// order.
func TestMEGADensity(t *testing.T) {
	var d kernelDensity
	d.fit([]float64{1, 7, 5, 7}, 2)
	const deviation = 2 + 1e-4 // of the first coordinate, with the floor added; the second has none
	const x = 2 / deviation
	checkNear(t, nearly, []float64{-x, 0, x, 0}, d.points, "two points, standardized")
	const bandwidth = 0.1
	want := logDensity(d.points, d.points[:2], bandwidth)
	checkEqual(t, want, d.log([]float64{1, 7}), "log density at the first point")

	far := d.log([]float64{100, 100})
	farther := d.log([]float64{101, 101})
	if !(far > farther) || math.IsInf(farther, 0) {
		t.Errorf("log density %v far away, %v farther", far, farther)
	}
}

// The candidate of least density is chosen among those whose value is at least the cutoff. If
// there are none, it is the candidate of the largest value.
func TestLeastDense(t *testing.T) {
	const cutoff = -3
	type list = []float64
	for _, test := range []struct {
		what         string
		densities, q list // of each candidate: the logarithm of its density, and its value
		want         int  // the chosen candidate
	}{
		{"all are within reach", list{3, 1, 2}, list{0, 0, 0}, 1},
		{"the least dense one is out of reach", list{3, 1, 2}, list{0, -4, 0}, 2},
		{"the least dense one is exactly at the cutoff", list{3, 1, 2}, list{0, -3, 0}, 1},
		{"none is within reach", list{3, 2, 1}, list{-6, -5, -7}, 1},
		{"one without density is out of reach", list{math.Inf(-1), -5}, list{-9, 0}, 1},
	} {
		checkEqual(t, test.want, leastDense(test.densities, test.q, cutoff),
			"%s: log densities %v, values %v: the candidate", test.what, test.densities, test.q)
	}
}

// The cutoff starts at -3, or at its floor if that is higher. The floor is the value of a goal
// that is 0.8 T steps away. Its discount is at most 0.99.
func TestNewCutoff(t *testing.T) {
	for _, test := range []struct {
		discount     float64
		horizon      int     // T
		floor, value float64 // to two digits
	}{
		{0.98, 50, -27.71, -3},  // the sum of 40 discounted rewards of -1
		{0.999, 50, -33.10, -3}, // the same sum, with a discount of 0.99
		{0.98, 2, -1.59, -1.59}, // of 1.6 rewards
	} {
		c := newCutoff(test.discount, test.horizon)
		want := fmt.Sprintf("%.2f %.2f %.2f", test.floor, test.value, test.value)
		got := fmt.Sprintf("%.2f %.2f %.2f", c.floor, c.value, c.lowest)
		checkEqual(t, want, got, "%+v: floor, cutoff and its least value", test)
	}
}

// A full window of ten outcomes lowers the cutoff by 1 if 7 or more are successes, and raises
// it by 1 if 3 or fewer are. After either the window begins anew. With 4 to 6 successes the
// cutoff stays and the window slides. The cutoff never leaves its bounds.
func TestCutoff(t *testing.T) {
	at := func(value, lowest float64) cutoff { return cutoff{value: value, lowest: lowest, floor: -20} }
	for _, test := range []struct {
		before    cutoff
		least     float64 // the least value of a candidate
		successes int     // in the window
		after     cutoff
		anew      bool // whether the window begins anew
	}{
		{at(-5, -9), -7, 3, at(-4, -9), true},
		{at(-5, -9), -7, 4, at(-5, -9), false},
		{at(-5, -9), -7, 6, at(-5, -9), false},
		{at(-5, -9), -7, 7, at(-6, -9), true},

		// The cutoff goes no lower than the least value so far, and this no lower than the floor.
		{at(-5, -5), -5.5, 10, at(-5.5, -5.5), true},
		{at(-5, -5), -99, 5, at(-5, -20), false},
		{at(-19.5, -20), -99, 8, at(-20, -20), true},

		// The cutoff goes no higher than -3, where it starts.
		{at(-3.5, -20), 0, 1, at(-3, -20), true},

		// Where the floor is above -3, the cutoff stays at the floor.
		{cutoff{-1.5, -1.5, -1.5}, -1, 0, cutoff{-1.5, -1.5, -1.5}, true},
	} {
		outcomes := slices.Concat(slices.Repeat([]bool{true}, test.successes), make([]bool, 10-test.successes))
		c := test.before
		anew := c.adapt(test.least, outcomes)
		if c != test.after || anew != test.anew {
			t.Errorf("%+v with %d successes of 10 and least value %v: %+v, want %+v; the window begins anew: %t, want %t",
				test.before, test.successes, test.least, c, test.after, anew, test.anew)
		}
	}
}

// Among the candidates within reach, the episode's goal is the one of least density. A
// candidate is within reach if its value, the critics' mean, is at least the cutoff.
func TestMEGAGoal(t *testing.T) {
	a := walked(t, tiny(Beyond(), "Curriculum=mega"), 40)
	moveTargets(a)
	m := a.curriculum.(*megaCurriculum)
	for range 6 {
		goal := nextGoal(t, a, true)
		var q, densities []float64
		for _, g := range m.candidates {
			q = append(q, naiveMeanValue(a, g))
			densities = append(densities, m.density.log(g))
		}
		best := m.candidates[leastDense(densities, q, m.cutoff.value)]
		checkEqual(t, best, goal, "with cutoff %v the goal", m.cutoff.value)
		// At the next choice about half of the candidates are within reach.
		median := slices.Sorted(slices.Values(q))[len(q)/2]
		m.cutoff.value = median
	}
}

// naiveMeanValue returns the critics' mean value of a goal, from where the agent is.
func naiveMeanValue(a *Agent, goal []float64) (mean float64) {
	action := twinAct(a.policy.net.float64Copy(), a.observation, goal)
	for _, c := range a.pun.critics {
		mean += twinValue(c.q.float64Copy(), a.observation, goal, action) / float64(len(a.pun.critics))
	}
	return mean
}

// A choice appends the outcome of the episode before to the window of ten outcomes, which
// slides. If the window moves the cutoff, it begins anew.
func TestMEGAWindow(t *testing.T) {
	half := slices.Repeat([]bool{true, false}, 5)
	for _, test := range []struct {
		window []bool // before the choice
		want   []bool // after it: the episode before is a success
		moves  bool   // whether the choice moves the cutoff
	}{
		{half, slices.Concat(half[1:], []bool{true}), false},
		{slices.Repeat([]bool{true}, 10), []bool{true}, true},
	} {
		a := walked(t, tiny(Beyond(), "Curriculum=mega"), 40)
		m := a.curriculum.(*megaCurriculum)
		m.outcomes = slices.Clone(test.window)
		m.stepsAtGoal = 1
		m.cutoff = cutoff{value: -3, lowest: 9, floor: -20} // lowest is above all values
		nextGoal(t, a, true)
		checkEqual(t, test.want, m.outcomes, "the window %v, after a success", test.window)
		checkEqual(t, 0, m.stepsAtGoal, "the steps at the goal, counted anew")
		checkEqual(t, test.moves, m.cutoff.value != -3, "whether window %v moves the cutoff", test.window)
		values := each(m.candidates[:], func(g []float64) float64 { return naiveMeanValue(a, g) })
		nearNumber(t, "lowest value", m.cutoff.lowest, max(-20, slices.Min(values)))
	}
}

// MEGA's candidates are 100 achieved goals of all episodes, drawn uniformly and with
// replacement by the stream of goals.
func TestMEGACandidates(t *testing.T) {
	const choices = 40
	a := numberedAgent(t, 20)
	m := a.curriculum.(*megaCurriculum)
	otherStreams := func() []rand.PCG {
		return []rand.PCG{*a.exploration.pcg, *a.environment.pcg, *a.draws.pcg, *a.learning.pcg}
	}
	before := otherStreams()
	var drawn []float64
	for range choices {
		nextGoal(t, a, true)
		for _, g := range m.candidates {
			drawn = append(drawn, g[0])
		}
	}
	checkDraws(t, "MEGA's candidates", drawn, alike(0, 20))
	checkEqual(t, choices*100, len(drawn), "the number of MEGA's candidates, 100 in each choice")
	if !slices.Equal(before, otherStreams()) {
		t.Error("MEGA's candidates are drawn by another stream than that of goals")
	}
}

// The density leaves out the latest episode, unless it is a run's first. Candidates come from
// all episodes. The latest episode lies beyond the others, so the goal is one of its places.
func TestMEGADensityLags(t *testing.T) {
	const episode = 5
	for _, test := range []struct {
		n      int // transitions
		fitted int // how many of them the density may draw its points from
	}{{5, 5}, {10, 5}, {20, 15}} {
		a := numberedAgent(t, test.n) // its transition i achieved i
		d := &a.curriculum.(*megaCurriculum).density
		const first = true
		goal := nextGoal(t, a, first)
		checkEqual(t, 10_000, len(d.points), "the number of the density's points")
		points := each(d.points, func(z float64) float64 { return math.Round(z*d.std[0] + d.mean[0]) })
		checkDraws(t, fmt.Sprintf("%d transitions: the density's points", test.n), points, alike(0, test.fitted))
		if test.n > episode && goal[0] < float64(test.n-episode) {
			t.Errorf("%d transitions: the goal is %v, to which the density is fitted", test.n, goal)
		}
	}
}

// Transition i achieved i in pursuit of -1-i. During the warm-up, until step 25,000, it is
// replayed with a goal that was achieved later in its episode. Then goals come from the mix.
func TestMEGAReplayGoal(t *testing.T) {
	const n = 23 // transitions: four episodes of five, and three steps of a fifth
	a := numberedAgent(t, n)
	mega := a.curriculum.(*megaCurriculum)
	mega.desired = []float64{1000, 1001, 1002, 1003, 1004} // the environment's goal of each episode
	for _, i := range []int{0, 7, 21} {
		a.params.HindsightRatio = 0
		pursued := float64(-1 - i)
		checkEqual(t, pursued, a.curriculum.replayGoal(a, i)[0], "no hindsight: the goal of transition %d", i)
		a.params.HindsightRatio = 4
		nextEpisode := (i/5 + 1) * 5
		end := min(nextEpisode, n) // the last episode is under way
		future := alike(i, end)    // the goals i to end-1, equally probable
		checkReplayGoals(t, a, i, 25_000, future)
		mix := naiveMix(i, n, future)
		checkReplayGoals(t, a, i, 25_001, mix)
	}
}

// naiveMix returns the probabilities of MEGA's mix for transition i of n, given its future.
func naiveMix(i, n int, future map[float64]float64) map[float64]float64 {
	mix := map[float64]float64{float64(-1 - i): 0.1} // the transition's own goal
	for goal, probability := range future {
		mix[goal] += 0.4 * probability
	}
	one := 1 / float64(n) // of all transitions
	for k := range n {
		desired := float64(1000 + k/5)
		achieved := float64(k)
		pursued := float64(-1 - k)
		mix[desired] += 0.3 * one
		mix[achieved] += 0.1 * one
		mix[pursued] += 0.1 * one
	}
	return mix
}

// checkReplayGoals compares the goals that transition i is replayed with, at a given step,
// with their probabilities.
func checkReplayGoals(t *testing.T, a *Agent, i, step int, probabilities map[float64]float64) {
	t.Helper()
	a.step = step
	var drawn []float64
	for range 20_000 {
		drawn = append(drawn, a.curriculum.replayGoal(a, i)[0])
	}
	checkDraws(t, fmt.Sprintf("step %d, transition %d: goal", step, i), drawn, probabilities)
}

// The first episode's goal is the environment's. No goal changes within an episode. An episode
// is a success if any step but the last is at the goal.
func TestMEGASuccess(t *testing.T) {
	for _, test := range []struct {
		at      []int // the steps that end at the goal, of ten
		success bool
	}{
		{[]int{1}, true},
		{[]int{9}, true},
		{[]int{10}, false},
		{[]int{3, 5, 6}, true},
	} {
		a := scriptedAgent(t, "Curriculum=mega")
		// The first episode pursues the environment's goal, 0, but stays at 5. So 5 is the
		// goal of the second episode.
		env := &scriptedEnv{place: func(e, k int) float64 {
			if e == 0 || slices.Contains(test.at, k) {
				return 5
			}
			return 7
		}}
		const begun = 21 // the step in which the third episode appends the second one's outcome
		trainScripted(t, a, env, begun, nil)
		want := slices.Concat(make([]float64, 10), slices.Repeat([]float64{5}, 10))
		checkEqual(t, want, a.replay.goal.data[:20], "the goals")
		outcomes := a.curriculum.(*megaCurriculum).outcomes
		successes := []bool{false, test.success}
		checkEqual(t, successes, outcomes, "successes, at the goal in steps %v of 10", test.at)
	}
}

// A sampledEnv is an environment that draws its goals by the function goal.
type sampledEnv struct {
	Env
	goal func() []float64
}

func (s *sampledEnv) SampleGoal(*rand.Rand) []float64 { return s.goal() }

// The environment draws VDS's candidates, here the goals 0, 1, 2 and 3. Their probabilities are
// in proportion to the members' disagreement. Here the members' values of a goal g are 0, -g
// and -2g, so the disagreement is in proportion to g.
func TestVDSGoal(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Curriculum=vds")
	sampled := 0
	a.env = &sampledEnv{&scriptedEnv{}, func() []float64 {
		sampled++
		return []float64{float64(sampled % 4)}
	}}
	for i, c := range a.curriculum.(*vdsCurriculum).members.critics {
		c.q.load(linear{g: -float64(i)}.network(3))
	}
	var drawn []float64
	for range 200 {
		drawn = append(drawn, nextGoal(t, a, true)...)
	}
	checkDraws(t, "VDS, by disagreement", drawn, map[float64]float64{1: 1. / 6, 2: 2. / 6, 3: 3. / 6})
	if later := nextGoal(t, a, false); later != nil {
		t.Errorf("VDS: a later goal of %v, want none", later)
	}
}

// Values above the possible returns do not disagree: VDS clips them to 0.
func TestVDSClips(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Curriculum=vds")
	v := a.curriculum.(*vdsCurriculum)
	for i, c := range v.members.critics {
		c.q.load(linear{g: -float64(i), c: float64(1000 * (i + 1))}.network(3))
	}
	d := v.disagreement(a, [][]float64{{0}, {1}, {2}})
	checkEqual(t, []float64{0, 0, 0}, d, "VDS: the disagreement of values above the possible returns")
}

// VDS needs an environment that draws goals. It refuses a goal that does not fit.
func TestVDSRefuses(t *testing.T) {
	a := walked(t, tiny(Beyond(), "Curriculum=vds"), 50)
	env := a.env
	a.env = &sampledEnv{env, func() []float64 { return []float64{1} }}
	_, err := a.curriculum.goal(a, true)
	const want = "qta: step 50: environment: the goal that SampleGoal returned has 1 numbers, Sizes says 2"
	checkBegins(t, "a goal that does not fit", err, want)

	type plain struct{ Env } // has no SampleGoal
	a = newMazeAgent(t, a.params, 1)
	o := TrainOptions{Steps: 1, EvalEvery: 2, Rollouts: 1}
	trainError(t, a, &plain{env}, env, o,
		"qta: the curriculum vds needs an environment with the method SampleGoal (a GoalSampler)")
	train(t, a, env, &plain{env}, o) // the environment of evaluations need not draw goals
}

// VDS's members are its own, whatever the agent's ensemble is. Goals and observations may
// differ in length, as in a lineEnv.
func TestVDSMembers(t *testing.T) {
	a := lineAgent(t, "Curriculum=vds Uncertainty=bootstrap Learner=mega")
	env := &sampledEnv{new(lineEnv), func() []float64 { return []float64{1} }}
	train(t, a, env, new(lineEnv), TrainOptions{Steps: 11, EvalEvery: 99, Rollouts: 1})
	if m := a.curriculum.(*vdsCurriculum).members; m.heads != heads(paperHeads{}) {
		t.Errorf("the members have heads of type %T, not the paper's", m.heads)
	}
}

const vdsLowest = -1.83 // the least return in vdsEpisode, so high that some targets are clipped

// vdsEpisode ends an episode of VDS, whose members have the critics of updateNetworks.
func vdsEpisode(t *testing.T) (a *Agent, v *vdsCurriculum) {
	t.Helper()
	a = threeEpisodes(t, "Curriculum=vds")
	a.pun.lowest = vdsLowest
	v = a.curriculum.(*vdsCurriculum)
	for i, c := range v.members.critics {
		c.q.load(updateNetworks.critics[i].network(3))
		c.target.load(updateNetworks.targetCritics[i].network(3))
	}
	must(t, v.endEpisode(a))
	return a, v
}

// stepsOf returns how many steps t an optimizer has taken. It keeps β₁ᵗ.
func stepsOf(m *adam) int { return int(math.Round(math.Log(m.power1) / math.Log(adamBeta1))) }

// After an episode every member learns from minibatches of its own. Their goals are the
// pursued ones. The targets are by the member's target network before the episode's updates
// and by the agent's policy.
func TestVDSLearns(t *testing.T) {
	const members, updates, rows = 3, 100, 1000
	a, v := vdsEpisode(t)
	b := &v.batch // the latest minibatch, of the last member
	checkEqual(t, rows, len(b.transitions), "the rows of a minibatch")
	if n := a.env.(*scriptedEnv).rewards; n != members*updates*rows {
		t.Errorf("%d rewards for three members with %d minibatches each", n, updates)
	}
	for row, i := range b.transitions[:50] {
		next := a.replay.nextObservation.at(i)[0]
		g := a.replay.goal.at(i)[0] // which no transition achieved, so the reward is -1
		action := math.Tanh(updateNetworks.policy.at(next, g, 0))
		y := -1 + updateDiscount*updateNetworks.targetCritics[members-1].at(next, g, action)
		nearNumber(t, "target", float64(b.y[row]), max(y, vdsLowest))
		nearNumber(t, "pursued goal", float64(b.x.row(row)[1]), g)
	}
	for i, c := range v.members.critics {
		if c.adam.rate != 1e-3 || stepsOf(c.adam) != updates {
			t.Errorf("member %d had %d updates at the rate %v, want %d at 0.001", i, stepsOf(c.adam), c.adam.rate, updates)
		}
	}
}

// After the updates of an episode the members' targets follow once, with ρ = 0.95.
func TestVDSFollows(t *testing.T) {
	_, v := vdsEpisode(t)
	for i, c := range v.members.critics {
		var want []float64
		for k, before := range twinParams(updateNetworks.targetCritics[i].network(3)...) {
			want = append(want, 0.95*(*before)+0.05*float64(c.params[k]))
		}
		near(t, fmt.Sprint("target of member ", i), c.target.params, want)
	}
}
