package qta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naivePriority returns the priority of a row by updateNetworks: the heads' deviation, or with
// td the critics' mean distance from their targets.
func naivePriority(p *Params, row recordedRow) (priority float64) {
	if p.Replay == "per" {
		return twinSampleDeviation(each(updateNetworks.heads[:], func(head linear) float64 {
			return head.at(row.s, row.g, row.a)
		}))
	}
	for i := range p.Critics {
		y := row.y
		if p.Uncertainty != "pun" { // each critic has its own
			own := row.r + 0.5*updateNetworks.targetCritics[i].at(row.next, row.nextG, row.nextA)
			y = math.Max(-2, math.Min(own, 0))
		}
		q := updateNetworks.critics[i].at(row.s, row.g, row.a)
		priority += math.Abs(q-y) / float64(p.Critics)
	}
	return priority
}

// An update sets the priorities of its minibatch, by the networks before the update. If a
// transition comes twice, the later priority counts.
func TestPriorities(t *testing.T) {
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
		a := threeEpisodes(t, "PriorityAlpha=0.6 CriticRate=0.1 PredictiveRate=0.1 "+changes)
		largest := 1.0
		latest := map[int]float64{} // of each transition
		for _, row := range minibatchesOf(t, a, 1)[0] {
			priority := naivePriority(&a.params, row)
			latest[row.transition] = priority
			largest = math.Max(largest, priority)
		}
		s := prioritiesOf(a)
		for i, priority := range latest {
			what := fmt.Sprintf("%s: weight of transition %d", changes, i)
			near(t, what, []float32{float32(s.tree.values()[i])}, []float64{math.Pow(priority, 0.6)})
		}
		near(t, changes+": the largest", []float32{float32(s.largest)}, []float64{largest})
	}
}

// With MEGA's or VDS's learner the target networks move in every 40th update.
func TestTargetEvery(t *testing.T) {
	for _, learner := range []string{"mega", "vds"} {
		a, _ := walked(t, tiny(Beyond(), "Learner="+learner), 40)
		targets := [][]float32{a.policy.target.params, a.pun.critics[0].target.params, a.pun.critics[2].target.params}
		for update := 1; update <= 81; update++ {
			before := each(targets, slices.Clone[[]float32])
			if err := a.update(); err != nil {
				t.Fatal(err)
			}
			for i := range targets {
				moved := !slices.Equal(before[i], targets[i])
				if moved != (update%40 == 0) {
					t.Errorf("%s: update %d moves target network %d: %t", learner, update, i, moved)
				}
			}
		}
	}
}

// Only the critics draw by priority. The authors' heads and policy, and VDS, draw minibatches
// of their own, with all transitions and weights of one.
func TestOwnDraws(t *testing.T) {
	a, _ := walked(t, tiny(Beyond(), "Curriculum=vds Replay=per Learner=authors"), 40)
	for i := range 40 { // only transition 7 keeps its priority
		if i != 7 {
			prioritiesOf(a).tree.set(i, 0)
		}
	}
	v := a.curriculum.(*vdsCurriculum)
	l := learnerOf(a).(*authorsLearner)
	if err := errors.Join(a.update(), v.endEpisode(a)); err != nil {
		t.Fatal(err)
	}
	for _, i := range a.batch.transitions {
		if i != 7 {
			t.Errorf("the critics learn from transition %d, whose priority is 0", i)
		}
	}
	for name, b := range map[string]*batch{"heads": &l.headBatch, "policy": &l.policyBatch, "VDS": &v.batch} {
		drawn := slices.Compact(slices.Sorted(slices.Values(b.transitions)))
		if len(drawn) < 5 {
			t.Errorf("the minibatch of %s has transitions %v only", name, drawn)
		}
		if slices.Min(b.w) != 1 || slices.Max(b.w) != 1 {
			t.Errorf("the minibatch of %s has weights %v, want 1", name, b.w)
		}
	}
}

// The authors' heads learn from transitions with the goals that were pursued. An episode is
// drawn first. So the running episode's only transition has a chance of one in five.
func TestAuthorsHeadBatch(t *testing.T) {
	a, _ := walked(t, tiny(Authors(), ""), 41)
	b := &learnerOf(a).(*authorsLearner).headBatch
	latest := 0
	for range 200 {
		if err := a.update(); err != nil {
			t.Fatal(err)
		}
		for row, i := range b.transitions {
			if i == 40 {
				latest++
			}
			if !slices.Equal(b.x.row(row)[2:4], float32s(a.replay.goal.at(i))) {
				t.Fatalf("the authors' heads learn from transition %d with another goal than was pursued", i)
			}
		}
	}
	checkFrequency(t, "authors' heads: the running episode's transition", latest, 200*len(b.transitions), 0.2)
}

// An update of the authors' learner stops at the first minibatch that cannot be drawn.
func TestAuthorsDrawErrors(t *testing.T) {
	a, _ := walked(t, tiny(Authors(), ""), 40)
	a.env = &lineEnv{onReward: func(*lineEnv, []float64, []float64, float64) float64 { return 0.5 }}
	err := a.update()
	var broken *EnvError
	if b := learnerOf(a).(*authorsLearner).headBatch; !errors.As(err, &broken) || b.r != nil {
		t.Errorf("after error %v in the critics' minibatch, the heads' is drawn: %v", err, b.r)
	}
	if a.updates != 0 {
		t.Errorf("an update without minibatches is counted")
	}
}

// An update of the authors' learner moves the critics first. Then it moves their targets, the
// heads, the policy, and the policy's target.
func TestAuthorsOrder(t *testing.T) {
	a, _ := walked(t, tiny(Authors(), "Polyak=0"), 50) // targets become what they follow
	w := float64Copies(a)
	if err := a.update(); err != nil {
		t.Fatal(err)
	}
	l := learnerOf(a).(*authorsLearner)

	var criticLoss, headLoss float64
	for i, c := range a.pun.critics {
		what := fmt.Sprintf("the authors' order: critic %d ", i+1)
		φ := twinParams(w.critics[i]...)
		want := numericGradient(φ, func() float64 { return twinCriticLoss(a.pun.heads, w.critics[i], &a.batch, i) })
		nearGradient(t, what+"moves first, from the networks before the update", firstGradient(c.adam)[:len(φ)], want)

		between := c.target.float64Copy() // the critic when its target followed, before the heads' step
		// The heads' optimizer moves the backbone, too.
		params := append(twinParams(between...), twinParams(w.heads[i])...)
		want = numericGradient(params, func() float64 {
			return twinHeadLoss(a.pun.heads, between, w.heads[i], &l.headBatch, i, twinNorm)
		})
		nearGradient(t, what+"moves with its head after its target has followed it", firstGradient(c.headAdam), want)
		if slices.Equal(c.target.params, c.q.params) {
			t.Errorf("%sis not moved with its head after its target has followed it", what)
		}
		criticLoss += twinCriticLoss(a.pun.heads, w.critics[i], &a.batch, i) / 3
		headLoss += twinHeadLoss(a.pun.heads, between, w.heads[i], &l.headBatch, i, twinNorm) / 3
	}
	got := []float64{a.losses.critic, a.losses.head}
	near(t, "the authors' losses", float32s(got), []float64{criticLoss, headLoss})

	for i, c := range a.pun.critics {
		w.critics[i] = c.q.float64Copy()
	}
	want := numericGradient(twinParams(w.actor...), func() float64 {
		return twinPolicyLoss(w.actor, w.critics, l.policyBatch.x, a.params.ActionL2)
	})
	nearGradient(t, "the authors' order: the policy moves after the heads", firstGradient(a.policy.adam), want)
	if !slices.Equal(a.policy.target.params, a.policy.net.params) {
		t.Error("the authors' order: the policy's target does not follow last")
	}
}

// The authors' targets use the target policy's action with noise. The stream of learning gives
// the noise and then the pair M.
func TestAuthorsTargets(t *testing.T) {
	a, _ := walked(t, tiny(Authors(), "CriticRate=0 PredictiveRate=0 ActorRate=0 Polyak=1"), 50) // nothing moves
	moveTargets(a)
	drawn := *a.learning.pcg
	learning := stream{rand.New(&drawn), &drawn}
	if err := a.update(); err != nil {
		t.Fatal(err)
	}

	b := &a.batch
	actor := a.policy.target.float64Copy()
	for row := range b.next.rows {
		next := float64s(b.next.row(row))
		want := twinAct(actor, next[:2], next[2:4])
		for c := range want {
			noise := math.Max(-0.5, math.Min(0.2*normal(learning.Rand), 0.5))
			want[c] = math.Max(-1, math.Min(want[c]+noise, 1))
		}
		near(t, "the authors' targets: the target policy's action with noise of the stream of learning", b.next.row(row)[4:], want)
	}
	drawPair(learning, 3)
	if drawn != *a.learning.pcg {
		t.Error("the authors' targets: the stream of learning has given other numbers than the noise and then M")
	}
	if a.pun.lowest != -150 {
		t.Errorf("the authors' targets: the least return is %v, want -150", a.pun.lowest)
	}
}

// The stride of a held action is a moving average of the lengths of steps.
func TestHeldStride(t *testing.T) {
	a, _ := walked(t, tiny(Beyond(), "RandomActionHeld=0.5"), 15)
	from := a.replay.achieved.at(14)
	copy(a.achieved, []float64{from[0] + 0.3, from[1] - 0.4})
	h := a.explorer.(*heldExplorer)
	h.stride = 1
	h.afterStep(a)
	if want := 0.98*1 + 0.02*0.5; math.Abs(h.stride-want) > 1e-12 {
		t.Errorf("held actions: after a step of length 0.5 the stride 1 becomes %v, want %v", h.stride, want)
	}
}

// moments returns the mean and the standard deviation of x.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// The noise of Figure 4 has the same deviation for every uncertainty.
func TestUncertaintyNoise(t *testing.T) {
	const n, σ = 10_000, 0.05
	a, _ := walked(t, tiny(Beyond(), ""), 40)
	points := randomRows(rand.New(rand.NewPCG(1, 0)), n, 2)
	estimate := func(σ float64) []float64 {
		a.params.UncertaintyNoise = σ
		c := candidates{states: points, goals: points, now: a.observation, desired: a.desired}
		return newEstimator(&a.params, a.pun).uncertainty(a, c, newStream(1, forGoals))
	}
	noise := estimate(σ)
	for k, ε := range estimate(0) {
		noise[k] -= ε
	}
	mean, deviation := moments(noise)
	if math.Abs(mean) > 5*σ/math.Sqrt(n) || math.Abs(deviation/σ-1) > 0.04 {
		t.Errorf("the noise is %v ± %v, want ± %v", mean, deviation, σ)
	}
}

// MEGA's learner limits the elements of every gradient to 5 before Adam sees them. Others
// have no limit.
func TestGradientClip(t *testing.T) {
	for learner, want := range map[string]float32{"paper": 0, "mega": 5, "vds": 0} {
		a, _ := walked(t, tiny(Beyond(), "PredictiveGradient=head Learner="+learner), 10)
		l := learnerOf(a).(*generalLearner)
		if l.limit != want {
			t.Errorf("%s: the limit is %v, want %v", learner, l.limit, want)
		}
		l.limit = 1e-6
		if err := l.update(a); err != nil {
			t.Fatal(err)
		}
		gradients := [][]float32{a.policy.gradient.params}
		for _, c := range a.pun.critics {
			gradients = append(gradients, c.gradient.params)
		}
		for i, g := range gradients {
			low := slices.Min(g)
			high := slices.Max(g)
			if high != 1e-6 || low != -1e-6 {
				t.Errorf("%s: gradient %d, limited to 1e-6, is from %v to %v", learner, i, low, high)
			}
		}
	}
	nan := []float32{float32(math.NaN())}
	(&generalLearner{limit: 1}).clip(nan)
	if nan[0] == nan[0] {
		t.Errorf("the limit turns NaN into %v; it has to stay", nan[0])
	}
}

// smooth adds noise of at most 0.5 to an action, and leaves the action in its bounds.
// TestAuthorsTargets checks the noise's deviation.
func TestSmooth(t *testing.T) {
	const n = 1000
	rng := rand.New(rand.NewPCG(1, 0))
	noise := make([]float32, n)
	smooth(noise, targetNoise, rng)
	if high := slices.Max(noise); high != 0.5 {
		t.Errorf("the largest noise is %v, want 0.5", high)
	}
	actions := slices.Repeat([]float32{0.9}, n)
	smooth(actions, targetNoise, rng)
	if high := slices.Max(actions); high != 1 {
		t.Errorf("the largest smoothed action is %v, want 1", high)
	}
}

// stepsOf returns how many steps t an optimizer has taken. It keeps β₁ᵗ.
func stepsOf(m *adam) int { return int(math.Round(math.Log(m.power1) / math.Log(adamBeta1))) }

// A mask is a fair coin. The masks of two critics, of two transitions and of two seeds are
// independent.
func TestMasks(t *testing.T) {
	const n, seed, c = 20000, 1 << 63, 1
	one := 0
	both := map[string]int{}
	for i := range n {
		if !inMask(seed, i, c) {
			continue
		}
		one++
		for other, in := range map[string]bool{
			"critic":                inMask(seed, i, c+1),
			"transition":            inMask(seed, i+1, c),
			"transition and critic": inMask(seed, i+1, c-1),
			"transition of 64 more": inMask(seed, i+64, c),
			"seed":                  inMask(seed+1, i, c),
		} {
			if in {
				both[other]++
			}
		}
	}
	checkFrequency(t, "one mask", one, n, 0.5)
	for other, count := range both {
		checkFrequency(t, "a mask and that of another "+other, count, n, 0.25)
	}
}

// A bootstrapped critic learns only from transitions in its mask, also in the running episode.
func TestMaskedWeights(t *testing.T) {
	a, _ := walked(t, tiny(Beyond(), "Uncertainty=bootstrap Replay=per"), 45)
	prioritiesOf(a).tree.set(40, 40) // the running episode's first, in half of the draws
	if err := a.update(); err != nil {
		t.Fatal(err)
	}
	for k := range a.pun.critics {
		_, w := a.pun.heads.criticTargets(k, &a.batch)
		for row, i := range a.batch.transitions {
			if in := inMask(a.seed, i, k); (w[row] > 0) != in {
				t.Errorf("transition %d in the mask of critic %d: %t, weight %v", i, k, in, w[row])
			}
		}
	}
}

// twinVariance returns the variance for a head's raw output z.
func twinVariance(z float64) float64 { return math.Log1p(math.Exp(z)) + 1e-6 }

// twinGaussian returns the loss of one row. p has the means and, last, the raw variance.
func twinGaussian(p, s []float64) (loss float64) {
	variance := twinVariance(p[len(s)])
	for c := range s {
		loss += (math.Pow(s[c]-p[c], 2)/variance + math.Log(variance)) / float64(len(s))
	}
	return loss
}

// The float64Networks are an agent's networks in float64, which the twin computes with.
type float64Networks struct {
	critics []float64Net
	heads   []float64Layer
	actor   float64Net
}

func float64Copies(a *Agent) float64Networks {
	w := float64Networks{actor: a.policy.net.float64Copy()}
	for _, c := range a.pun.critics {
		w.critics = append(w.critics, c.q.float64Copy())
		w.heads = append(w.heads, c.head.float64Copy())
	}
	if a.params.Uncertainty == "bootstrap" { // one backbone
		for i, c := range w.critics {
			w.critics[i] = append(slices.Clone(w.critics[0][:2]), c[2])
		}
	}
	return w
}

// An update's gradients are the numeric gradients of the twin's losses for its minibatch,
// whether the gradient of Equation 4 enters the backbone or not. Only the critics' loss has
// weights (R2).
func TestGradients(t *testing.T) {
	for _, changes := range []string{
		"Uncertainty=bootstrap",
		"Uncertainty=bootstrap PredictiveGradient=head",
		"Uncertainty=ensemble",
		"Uncertainty=ensemble PredictiveGradient=head",
		"Replay=per",
		"PredictiveGradient=head Replay=per",
		"Learner=mega",
	} {
		a, _ := walked(t, tiny(Beyond(), "CriticRate=0 PredictiveRate=0 ActorRate=0 "+changes), 50) // nothing moves
		if a.params.Replay == "per" {
			// With equal priorities all weights would be 1.
			for i := range 50 {
				prioritiesOf(a).set(i, float64(1+i%7))
			}
		}
		if err := a.update(); err != nil {
			t.Fatal(err)
		}
		if differ := slices.Min(a.batch.w) < slices.Max(a.batch.w); differ != (a.params.Replay == "per") {
			t.Errorf("%s: weights %v", changes, a.batch.w)
		}
		// The policy's step has put its own actions in the place of those that were taken.
		for row, i := range a.batch.transitions {
			copy(a.batch.x.row(row)[4:], float32s(a.replay.action.at(i)))
		}

		w := float64Copies(a)
		checkGradients(t, changes, a, w)
		want := numericGradient(twinParams(w.actor...), func() float64 {
			return twinPolicyLoss(w.actor, w.critics, a.batch.x, a.params.ActionL2)
		})
		nearGradient(t, changes+": policy", firstGradient(a.policy.adam), want)
	}
}

// checkGradients compares the losses of an update with the twin's, and the gradients of
// critics and heads with the numeric gradients of the twin's losses. It differentiates the
// sums over all critics: a shared backbone takes part in each term, and a critic with its own
// backbone in one.
func checkGradients(t *testing.T, what string, a *Agent, w float64Networks) {
	t.Helper()
	rowLoss := twinSquare
	if a.params.Uncertainty == "ensemble" {
		rowLoss = twinGaussian
	}
	criticLoss := func() (sum float64) {
		for i, c := range w.critics {
			sum += twinCriticLoss(a.pun.heads, c, &a.batch, i)
		}
		return sum
	}
	headLoss := func() (sum float64) {
		for i, c := range w.critics {
			sum += twinHeadLoss(a.pun.heads, c, w.heads[i], &a.batch, i, rowLoss)
		}
		return sum
	}
	loss := criticLoss
	if a.params.PredictiveGradient == "joint" { // Equation 4's gradient enters the critics
		loss = func() float64 { return criticLoss() + headLoss() }
	}

	// The update's losses are means over three critics.
	got := []float64{3 * a.losses.critic, 3 * a.losses.head}
	near(t, what+": losses", float32s(got), []float64{criticLoss(), headLoss()})
	for i, c := range a.pun.critics {
		name := fmt.Sprintf("%s: critic %d", what, i+1)
		nearGradient(t, name, firstGradient(c.adam), numericGradient(twinParams(w.critics[i]...), loss))
		nearGradient(t, name+"'s head", firstGradient(c.headAdam), numericGradient(twinParams(w.heads[i]), headLoss))
	}
}

// twinPolicyLoss returns the policy's loss for a minibatch. The rows of x are s, g and a.
func twinPolicyLoss(actor float64Net, critics []float64Net, x matrix, l2 float64) (loss float64) {
	for k := range x.rows {
		s := float64s(x.row(k)[:2])
		g := float64s(x.row(k)[2:4])
		action := twinAct(actor, s, g)
		for _, c := range critics {
			loss -= twinValue(c, s, g, action) / float64(x.rows*len(critics))
		}
		loss += l2 * (action[0]*action[0] + action[1]*action[1]) / 2 / float64(x.rows)
	}
	return loss
}

// The loss is finite for the smallest and for the largest variance. For the smallest it is the
// twin's.
func TestGaussianLoss(t *testing.T) {
	for _, z := range []float32{-1e30, -800, 800, 1e30} {
		dp := make([]float32, 2)
		loss := gaussianLoss(dp, []float32{1, z}, []float32{2}, 1)
		least := twinGaussian([]float64{1, -800}, []float64{2})
		if !finite(loss + float64(dp[0]) + float64(dp[1])) {
			t.Errorf("raw variance %v: loss %v and gradient %v are not finite", z, loss, dp)
		}
		if z < 0 && math.Abs(loss/least-1) > 1e-9 {
			t.Errorf("raw variance %v: loss %v, want %v", z, loss, least)
		}
	}
}

// The norm has no gradient where a prediction has no error. There predictiveNorm returns 0.
func TestNormAtZero(t *testing.T) {
	dp := []float32{1, 1, 1, 1}
	loss := predictiveNorm(dp, []float32{1, 2, 3, 4}, []float32{1, 2, 0, 0}, 2)
	if want := []float32{0, 0, 0.3, 0.4}; loss != 2.5 || !slices.Equal(dp, want) {
		t.Errorf("loss %v and gradient %v, want 2.5 and %v", loss, dp, want)
	}
}

// numberedAgent returns an agent of MEGA's after n transitions. Transition i led from a
// place where i-1 was achieved to one where i was, in pursuit of goal -1-i.
func numberedAgent(t *testing.T, n, horizon int) *Agent {
	t.Helper()
	a := newAgent(t, tiny(Beyond(), fmt.Sprint("Curriculum=mega Horizon=", horizon)), Sizes{2, 1, 3}, 1)
	for i := range n {
		x := float64(i)
		next := State{Observation: []float64{x + 1, x + 1}, Achieved: []float64{x}}
		a.replay.add([]float64{x, x}, []float64{x - 1}, []float64{x, x, x}, []float64{-1 - x}, next)
	}
	a.step = n
	return a
}

// The density is the one that the vectors kde check, in coordinates standardized over its
// points. Far away two densities still have an order.
func TestMEGADensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var d kernelDensity
	var points []float64
	for range 50 {
		points = append(points, 5*rng.NormFloat64()-3, rng.Float64(), 7) // the last has no deviation
	}
	d.fit(slices.Clone(points), 3)
	for c := range 3 {
		var column []float64
		for i := c; i < len(points); i += 3 {
			column = append(column, points[i])
		}
		mean, deviation := moments(column)
		near(t, "mean and deviation", float32s([]float64{d.mean[c], d.std[c]}), []float64{mean, deviation + 1e-4})
		if want := (points[c] - d.mean[c]) / d.std[c]; d.points[c] != want {
			t.Errorf("coordinate %d is standardized to %v, want %v", c, d.points[c], want)
		}
	}
	if got, want := d.log(points[:3]), logDensity(d.points, d.points[:3], 0.1); got != want {
		t.Errorf("log density %v, want %v", got, want)
	}
	d.fit([]float64{0, 0, 1, 1}, 2)
	near := d.log([]float64{100, 100})
	far := d.log([]float64{101, 101})
	if !(near > far) || math.IsInf(far, 0) {
		t.Errorf("log density %v far away, %v farther", near, far)
	}
}

// The candidate of least density is chosen among those whose value is at least the cutoff. If
// there are none, it is the candidate of the largest value.
func TestLeastDense(t *testing.T) {
	type list = []float64
	for _, test := range []struct {
		density, q list
		want       int // with a cutoff of -3
	}{
		{list{3, 1, 2}, list{0, 0, 0}, 1},
		{list{3, 1, 2}, list{0, -4, 0}, 2},
		{list{3, 1, 2}, list{0, -3, 0}, 1}, // exactly at the cutoff
		{list{3, 1, 2}, list{-5, -6, -7}, 0},
		{list{3, 1, 2}, list{-7, -6, -5}, 2},
		{list{math.Inf(-1), -5}, list{-9, 0}, 1},
	} {
		if got := leastDense(test.density, test.q, -3); got != test.want {
			t.Errorf("log density %v, values %v: candidate %d, want %d", test.density, test.q, got, test.want)
		}
	}
}

// The cutoff starts at -3, or at its floor if that is higher. The floor is the value of a goal
// that is 0.8 T steps away.
func TestNewCutoff(t *testing.T) {
	for _, test := range []struct {
		discount     float64
		horizon      int
		floor, value float64
	}{
		{0.98, 50, -27.71, -3},
		{0.999, 50, -33.10, -3}, // as with 0.99
		{0.98, 2, -1.59, -1.59},
	} {
		c := newCutoff(test.discount, test.horizon)
		if math.Abs(c.floor-test.floor) > 0.005 || math.Abs(c.value-test.value) > 0.005 || c.lowest != c.value {
			t.Errorf("discount %v, horizon %d: %+v, want floor %v and cutoff %v",
				test.discount, test.horizon, c, test.floor, test.value)
		}
	}
}

// A full window of ten outcomes lowers the cutoff by 1 if 7 or more are successes, and raises
// it by 1 if 3 or fewer are. The cutoff stays within its bounds, and the window begins anew.
// With 4 to 6 successes the cutoff stays and the window slides.
func TestCutoff(t *testing.T) {
	for _, test := range []struct {
		before    cutoff
		least     float64
		successes int
		after     cutoff
		anew      bool
	}{
		{cutoff{-5, -9, -20}, -7, 3, cutoff{-4, -9, -20}, true},
		{cutoff{-5, -9, -20}, -7, 4, cutoff{-5, -9, -20}, false},
		{cutoff{-5, -9, -20}, -7, 6, cutoff{-5, -9, -20}, false},
		{cutoff{-5, -9, -20}, -7, 7, cutoff{-6, -9, -20}, true},
		{cutoff{-5, -5, -20}, -7, 10, cutoff{-6, -7, -20}, true},
		{cutoff{-5, -5, -20}, -5.5, 10, cutoff{-5.5, -5.5, -20}, true},
		{cutoff{-5, -5, -20}, -99, 5, cutoff{-5, -20, -20}, false}, // no lower than the floor
		{cutoff{-19.5, -20, -20}, -99, 8, cutoff{-20, -20, -20}, true},
		{cutoff{-3.5, -20, -20}, 0, 1, cutoff{-3, -20, -20}, true}, // no higher than at first
	} {
		outcomes := make([]bool, 10)
		for i := range test.successes {
			outcomes[i] = true
		}
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
	a, _ := walked(t, tiny(Beyond(), "Curriculum=mega"), 40)
	moveTargets(a)
	m := a.curriculum.(*megaCurriculum)
	for range 6 {
		goal := nextGoal(t, a, true)
		var q, densities []float64
		for _, g := range m.candidates {
			q = append(q, naiveMeanValue(a, g))
			densities = append(densities, m.density.log(g))
		}
		if best := m.candidates[leastDense(densities, q, m.cutoff.value)]; !slices.Equal(goal, best) {
			t.Errorf("with cutoff %v the goal is %v, want %v", m.cutoff.value, goal, best)
		}
		m.cutoff.value = slices.Sorted(slices.Values(q))[len(q)/2] // of half the candidates, from the second time on
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

// A choice appends the episode's outcome to the window, which slides. If the window moves
// the cutoff, it begins anew.
func TestMEGAWindow(t *testing.T) {
	half := slices.Repeat([]bool{true, false}, 5)
	for _, test := range []struct {
		window      []bool
		stepsAtGoal int
		want        []bool
		moves       bool
	}{
		{half, 1, append(slices.Clone(half[1:]), true), false},
		{slices.Repeat([]bool{true}, 10), 1, []bool{true}, true},
	} {
		a, _ := walked(t, tiny(Beyond(), "Curriculum=mega"), 40)
		m := a.curriculum.(*megaCurriculum)
		m.outcomes = slices.Clone(test.window)
		m.stepsAtGoal = test.stepsAtGoal
		m.cutoff = cutoff{value: -3, lowest: 9, floor: -20}
		nextGoal(t, a, true)
		if !slices.Equal(m.outcomes, test.want) || m.stepsAtGoal != 0 {
			t.Errorf("after %d steps at the goal the window %v is %v, want %v", test.stepsAtGoal, test.window, m.outcomes, test.want)
		}
		if moves := m.cutoff.value != -3; moves != test.moves {
			t.Errorf("window %v moves the cutoff: %t", test.window, moves)
		}
		least := math.Inf(1)
		for _, g := range m.candidates {
			least = math.Min(least, naiveMeanValue(a, g))
		}
		near(t, "lowest value", []float32{float32(m.cutoff.lowest)}, []float64{math.Max(-20, least)})
	}
}

// MEGA's candidates are 100 achieved goals of all episodes, drawn uniformly and with
// replacement by the stream of goals.
func TestMEGACandidates(t *testing.T) {
	a := numberedAgent(t, 20, 5)
	m := a.curriculum.(*megaCurriculum)
	others := func() []rand.PCG {
		return []rand.PCG{*a.exploration.pcg, *a.environment.pcg, *a.draws.pcg, *a.learning.pcg}
	}
	before := others()
	var all, first []float64
	for range 40 {
		nextGoal(t, a, true)
		for _, g := range m.candidates {
			all = append(all, g[0])
		}
		first = append(first, m.candidates[0][0])
	}
	checkDraws(t, "MEGA's candidates", all, alike(0, 20))
	checkDraws(t, "MEGA's first candidates", first, alike(0, 20))
	if len(all) != 40*100 {
		t.Errorf("MEGA's candidates are %d in 40 choices, want 100 each", len(all))
	}
	if !slices.Equal(before, others()) {
		t.Error("MEGA's candidates are drawn by another stream than that of goals")
	}
}

// While the warm-up lasts, until step 25,000, a transition is replayed with a goal of its own
// future. Then goals come from the mix.
func TestMEGAReplayGoal(t *testing.T) {
	a := numberedAgent(t, 23, 5)
	a.curriculum.(*megaCurriculum).desired = []float64{1000, 1001, 1002, 1003, 1004} // of five episodes, the last shorter
	for _, i := range []int{0, 7, 21} {
		a.params.HindsightRatio = 0
		if got := a.curriculum.replayGoal(a, i)[0]; got != float64(-1-i) {
			t.Errorf("no hindsight: the goal of transition %d is %v", i, got)
		}
		a.params.HindsightRatio = 4
		end := min(i/5*5+5, 23)
		future := alike(i, end)
		checkReplayGoals(t, a, i, 25_000, future)

		mix := map[float64]float64{}
		for k := range 23 {
			achieved := float64(k)
			pursued := float64(-1 - k)
			desired := float64(1000 + k/5)
			mix[achieved] = 0.4*future[achieved] + 0.1/23
			mix[pursued] = 0.1 / 23
			mix[desired] += 0.3 / 23
		}
		mix[float64(-1-i)] += 0.1 // its own
		checkReplayGoals(t, a, i, 25_001, mix)
	}
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
		at      []int // the steps at the goal, of ten
		success bool
	}{{[]int{1}, true}, {[]int{9}, true}, {[]int{10}, false}, {[]int{3, 5, 6}, true}} {
		a := scriptedAgent(t, "Curriculum=mega")
		// A first episode, towards the environment's goal 0, is nowhere but at 5,
		// the goal of the second.
		env := &scriptedEnv{place: func(e, k int) float64 {
			if e == 0 || slices.Contains(test.at, k) {
				return 5
			}
			return 7
		}}
		trainScripted(t, a, env, 21, nil)
		want := slices.Concat(make([]float64, 10), slices.Repeat([]float64{5}, 10))
		if got := a.replay.goal.data[:20]; !slices.Equal(got, want) {
			t.Errorf("the goals are %v, want %v", got, want)
		}
		if got := a.curriculum.(*megaCurriculum).outcomes; !slices.Equal(got, []bool{false, test.success}) {
			t.Errorf("at the goal in steps %v of 10: successes %v", test.at, got)
		}
	}
}

// A sampledEnv is an environment whose goals the function goal draws.
type sampledEnv struct {
	Env
	goal func() []float64
}

func (s *sampledEnv) SampleGoal(*rand.Rand) []float64 { return s.goal() }

// The environment draws VDS's candidates, here the goals 0, 1, 2 and 3. Their probabilities are
// in proportion to the members' disagreement, which is the goal here.
func TestVDSGoal(t *testing.T) {
	a := linearAgent(t, linearNetworks{}, 1, "Curriculum=vds")
	next := 0.0
	a.env = &sampledEnv{&scriptedEnv{}, func() []float64 {
		next++
		return []float64{math.Mod(next, 4)}
	}}
	v := a.curriculum.(*vdsCurriculum)
	for i, c := range v.members.critics {
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

	for i, c := range v.members.critics {
		c.q.params[len(c.q.params)-1] += float32(1000 * (i + 1))
	}
	if d := v.disagreement(a, [][]float64{{0}, {1}, {2}}); slices.Max(d) != 0 {
		t.Errorf("VDS: values above the possible returns disagree by %v", d)
	}
	p := make([]float64, 3)
	toProbabilities(p)
	if !slices.Equal(p, []float64{1. / 3, 1. / 3, 1. / 3}) {
		t.Errorf("probabilities %v without disagreement", p)
	}
}

// VDS needs an environment that draws goals. It refuses a goal that does not fit.
func TestVDSRefuses(t *testing.T) {
	a, env := walked(t, tiny(Beyond(), "Curriculum=vds"), 50)
	a.env = &sampledEnv{env, func() []float64 { return []float64{1} }}
	_, err := a.curriculum.goal(a, true)
	const want = "the goal that SampleGoal returned has 1 numbers, Sizes says 2"
	var broken *EnvError
	if !errors.As(err, &broken) || broken.Problem != want {
		t.Errorf("error %v, want %q", err, want)
	}

	type plain struct{ Env } // draws no goals
	a = newMazeAgent(t, a.params, 1)
	o := TrainOptions{Steps: 1, EvalEvery: 2, Rollouts: 1}
	err = a.Train(t.Context(), &plain{env}, env, o)
	if err == nil || err.Error() != "qta: the curriculum vds needs an environment with the method SampleGoal (a GoalSampler)" {
		t.Errorf("trained in what draws no goals: %v", err)
	}
	train(t, a, env, &plain{env}, o) // an evaluation needs no goals
}

// VDS's members are its own, whatever the agent's ensemble is. Goals and observations may
// differ in length.
func TestVDSMembers(t *testing.T) {
	p := tiny(Beyond(), "Curriculum=vds Uncertainty=bootstrap Learner=mega")
	a := newAgent(t, p, new(lineEnv).Sizes(), 1)
	env := &sampledEnv{new(lineEnv), func() []float64 { return []float64{1} }}
	train(t, a, env, new(lineEnv), TrainOptions{Steps: 11, EvalEvery: 99, Rollouts: 1})
	if m := a.curriculum.(*vdsCurriculum).members; m.heads != heads(paperHeads{}) {
		t.Error("the members are not VDS's own")
	}
}

// The density leaves out the latest episode, unless it is a run's first. Candidates are of
// all episodes. So the goal is of the latest episode, which is far from the others.
func TestMEGADensityLags(t *testing.T) {
	for _, test := range []struct {
		n    int // transitions, in episodes of five
		seen int // by the density
	}{{5, 5}, {10, 5}, {20, 15}} {
		a := numberedAgent(t, test.n, 5)
		m := a.curriculum.(*megaCurriculum)
		a.observation[0] = 1
		goal := nextGoal(t, a, true)
		if n := len(m.density.points); n != 10_000 {
			t.Errorf("the density has %d points, want 10,000", n)
		}
		points := each(m.density.points, func(z float64) float64 { return math.Round(z*m.density.std[0] + m.density.mean[0]) })
		checkDraws(t, fmt.Sprintf("%d transitions: the density's points", test.n), points, alike(0, test.seen))
		if test.n > 5 && goal[0] < float64(test.n-5) {
			t.Errorf("%d transitions: the goal %v, which the density has seen", test.n, goal)
		}
	}
}

// vdsEpisode ends an episode of VDS, whose members have the critics of updateNetworks.
func vdsEpisode(t *testing.T) (a *Agent, v *vdsCurriculum) {
	t.Helper()
	a = threeEpisodes(t, "Curriculum=vds")
	a.pun.lowest = -1.83 // so that some targets are clipped
	v = a.curriculum.(*vdsCurriculum)
	for i, c := range v.members.critics {
		c.q.load(updateNetworks.critics[i].network(3))
		c.target.load(updateNetworks.targetCritics[i].network(3))
	}
	if err := v.endEpisode(a); err != nil {
		t.Fatal(err)
	}
	return a, v
}

// After an episode every member learns from minibatches of its own. Their goals are the
// pursued ones. The targets are by the member's target network before the episode's updates
// and by the agent's policy.
func TestVDSLearns(t *testing.T) {
	a, v := vdsEpisode(t)
	b := &v.batch // the last minibatch, which was member 2's
	rewards := a.env.(*scriptedEnv).rewards
	if rewards != 3*100*1000 || len(b.transitions) != 1000 {
		t.Errorf("minibatches of %d, want 1000; %d rewards for three members with 100 each", len(b.transitions), rewards)
	}
	for row, i := range b.transitions[:50] {
		next := a.replay.nextObservation.at(i)[0]
		g := a.replay.goal.at(i)[0] // which no transition achieved
		action := math.Tanh(updateNetworks.policy.at(next, g, 0))
		y := -1 + 0.5*updateNetworks.targetCritics[2].at(next, g, action)
		near(t, "target", b.y[row:row+1], []float64{math.Max(-1.83, y)})
		near(t, "pursued goal", b.x.row(row)[1:2], []float64{g})
	}
	for i, c := range v.members.critics {
		if c.adam.rate != 1e-3 || stepsOf(c.adam) != 100 {
			t.Errorf("member %d had %d updates at the rate %v", i, stepsOf(c.adam), c.adam.rate)
		}
	}
}

// After the updates of an episode the members' targets follow once.
func TestVDSFollows(t *testing.T) {
	_, v := vdsEpisode(t)
	for i, c := range v.members.critics {
		var want []float64
		for k, p := range twinParams(updateNetworks.targetCritics[i].network(3)...) {
			want = append(want, 0.95**p+0.05*float64(c.params[k]))
		}
		near(t, fmt.Sprint("target of member ", i), c.target.params, want)
	}
}
