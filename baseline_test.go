package qta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naivePriority is the priority of a transition of the replay that is replayed
// with a goal, from the networks of a as they stand. M is the pair of targets.
func naivePriority(a *Agent, i int, g []float64, M []int) float64 {
	p := &a.params
	s, action := a.replay.observation.at(i), a.replay.action.at(i)
	next := a.replay.nextObservation.at(i)
	nextAction := twinAct(a.policy.target.vector(), next, g)
	var q, targets []float64
	var predictions [][]float64
	for _, c := range a.pun.critics {
		q = append(q, twinValue(c.q.vector(), s, g, action))
		predictions = append(predictions, twinPrediction(c.q.vector(), c.head.vector(), slices.Concat(s, g, action))[:2])
		targets = append(targets, twinValue(c.target.vector(), next, g, nextAction))
	}
	if p.Replay == "per" {
		return twinDeviation(predictions)
	}
	least := math.Min(targets[M[0]], targets[M[1]])
	errors := 0.0
	for k := range q {
		y := targets[k]
		if p.Uncertainty != "bootstrap" && p.Uncertainty != "ensemble" {
			y = least
		}
		y = a.env.Reward(a.replay.nextAchieved.at(i), g) + 0.99*y
		errors += math.Abs(q[k]-math.Max(-100, math.Min(y, 0))) / float64(len(q))
	}
	return errors
}

// An update writes the priorities of its minibatch, as they were before it.
func TestPriorities(t *testing.T) {
	for _, test := range []struct {
		preset  Params
		changes string
	}{
		{Beyond(), "Replay=per"},
		{Beyond(), "Replay=per PredictiveGradient=head"},
		{Authors(), "Replay=per"},
		{Beyond(), "Replay=per Uncertainty=bootstrap"},
		{Beyond(), "Replay=per Uncertainty=ensemble"},
		{Beyond(), "Replay=td"},
		{Beyond(), "Replay=td Uncertainty=ensemble"},
		{Beyond(), "Replay=td Uncertainty=bootstrap"},
		{Beyond(), "Replay=td Curriculum=her Critics=1"},
	} {
		p := tiny(test.preset, test.changes+" PriorityAlpha=0.6")
		a, _ := walked(t, p, 40)
		moveTargets(a)
		s, b := prioritiesOf(a), &a.batch
		rng := rand.New(rand.NewPCG(1, 0))
		for i := range 40 {
			s.tree.set(i, rng.Float64())
		}
		largest := 1.0
		for range 3 {
			before := newMazeAgent(t, p, 1)
			for i, params := range a.parameters() {
				copy(before.parameters()[i].values, params.values)
			}
			before.replay, before.env = a.replay, a.env
			M := []int{0, 0}
			if p.Critics > 1 && p.Learner != "authors" { // whose priorities do not depend on M
				M = []int{2, 0}
				a.learning = pairScript(M, 3)
			}
			if err := a.update(); err != nil {
				t.Fatal(err)
			}
			wrote := map[int]float64{}
			for row, i := range b.transitions {
				wrote[i] = naivePriority(before, i, float64s(b.x.row(row)[2:4]), M)
				largest = math.Max(largest, wrote[i])
			}
			for i, priority := range wrote {
				near(t, fmt.Sprintf("%+v: weight of transition %d", test.changes, i),
					[]float32{float32(s.tree.values()[i])}, []float64{math.Pow(priority, 0.6)})
			}
			near(t, "the largest", []float32{float32(s.largest)}, []float64{largest})
		}
	}
}

// With MEGA's learner and with VDS's the target networks move in every 40th update.
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
				if moved := !slices.Equal(before[i], targets[i]); moved != (update%40 == 0) {
					t.Errorf("%s: update %d moves target network %d: %t", learner, update, i, moved)
				}
			}
		}
	}
}

// Priorities are for the critics: minibatches of the heads' and the policy's own,
// and of VDS, have transitions that the critics never draw, with weights of one.
func TestOwnDraws(t *testing.T) {
	a, _ := walked(t, tiny(Beyond(), "Curriculum=vds Replay=per Learner=authors"), 40)
	for i := range 40 {
		if i != 7 {
			prioritiesOf(a).tree.set(i, 0)
		}
	}
	v, own := a.curriculum.(*vdsCurriculum), learnerOf(a).(*authorsLearner)
	if err := errors.Join(a.update(), v.endEpisode(a)); err != nil || a.pun.lowest != -150 {
		t.Fatalf("error %v, the least return is %v", err, a.pun.lowest)
	}
	for want, b := range map[int]*batch{1: &a.batch, 2: &own.headBatch, 3: &own.policyBatch, 4: &v.batch} {
		drawn := len(slices.Compact(slices.Sorted(slices.Values(b.transitions))))
		for row, i := range b.transitions {
			if want == 2 && !slices.Equal(b.x.row(row)[2:4], float32s(a.replay.goal.at(i))) {
				t.Errorf("the heads learn from transition %d with another goal than was pursued", i)
			}
		}
		if want == 1 && drawn != 1 || want > 1 && (drawn < 5 || slices.ContainsFunc(b.w, func(w float32) bool { return w != 1 })) {
			t.Errorf("minibatch %d has %d different transitions, weights %v", want, drawn, b.w)
		}
	}
	// The heads' is drawn by episode: the one that runs has one transition of five.
	a, _ = walked(t, a.params, 41)
	count := 0
	own = learnerOf(a).(*authorsLearner)
	for range 200 {
		a.update()
		for _, i := range own.headBatch.transitions {
			if i == 40 {
				count++
			}
		}
	}
	frequency(t, "the running episode's transition", count, 200*len(own.headBatch.transitions), 0.2)
}

// moments returns mean and standard deviation.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// The noise of Figure 4 is of the same size whatever the estimate is.
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

// MEGA's learner limits the elements of every gradient to 5, before Adam sees them, and
// others to nothing.
func TestGradientClip(t *testing.T) {
	for learner, want := range map[string]float32{"paper": 0, "mega": 5, "vds": 0} {
		a, _ := walked(t, tiny(Beyond(), "PredictiveGradient=head Learner="+learner), 10)
		l := learnerOf(a).(*generalLearner)
		if l.limit != want {
			t.Errorf("%s: the limit is %v", learner, l.limit)
		}
		l.limit = 1e-6
		if err := l.update(a); err != nil {
			t.Fatal(err)
		}
		gradients := each(a.pun.critics, func(c *critic) []float32 { return c.gradient.params })
		for i, g := range append(gradients, a.policy.gradient.params) {
			if slices.Max(g) != l.limit || slices.Min(g) != -l.limit {
				t.Errorf("%s: gradient %d is from %v to %v, limited to %v", learner, i, slices.Min(g), slices.Max(g), l.limit)
			}
		}
	}
	nan := []float32{float32(math.NaN())}
	if (&generalLearner{limit: 1}).clip(nan); nan[0] == nan[0] {
		t.Errorf("of a NaN, which has to stay, the limit makes %v", nan)
	}
}

// Noise on the target action has its deviation, its limit, and leaves the action in
// its bounds.
func TestSmooth(t *testing.T) {
	const n = 40000
	rng := rand.New(rand.NewPCG(1, 0))
	actions := make([]float32, n)
	smooth(actions, targetNoise, rng)
	high, atLimit := slices.Max(actions), 0
	for i, a := range actions {
		if a == 0.5 || a == -0.5 {
			atLimit++
		}
		actions[i] = 0.9
	}
	// Beyond 0.5, of deviations of 0.2, lies 1.242 % of a normal distribution.
	if frequency(t, "noise at its limit", atLimit, n, 0.01242); high != 0.5 {
		t.Errorf("the largest noise is %v, want 0.5", high)
	}
	if smooth(actions, targetNoise, rng); slices.Max(actions) != 1 {
		t.Errorf("the largest smoothed action is %v, want 1", slices.Max(actions))
	}
}

// stepsOf returns how many steps an optimizer has taken, by β₁ᵗ.
func stepsOf(m *adam) int { return int(math.Round(math.Log(m.beta1) / math.Log(adamBeta1))) }

// Masks are fair coins: for each critic, for two critics at once, for two
// transitions, and for two seeds.
func TestMasks(t *testing.T) {
	const n, seed, c = 20000, 1 << 63, 1
	one, both := 0, make([]int, 5)
	for i := range n {
		if !inMask(seed, i, c) {
			continue
		}
		one++
		for k, in := range []bool{
			inMask(seed, i, c+1), inMask(seed, i+1, c), inMask(seed, i+1, c-1), inMask(seed, i+64, c), inMask(seed+1, i, c),
		} {
			if in {
				both[k]++
			}
		}
	}
	frequency(t, "one mask", one, n, 0.5)
	for k := range both {
		frequency(t, fmt.Sprint("a mask and another, pair ", k), both[k], n, 0.25)
	}
	// A critic learns what is in its mask, also of the running episode.
	a, _ := walked(t, tiny(Beyond(), "Uncertainty=bootstrap Replay=per"), 45)
	prioritiesOf(a).tree.set(40, 40) // the running episode's first, in half of the draws
	if err := a.update(); err != nil {
		t.Fatal(err)
	}
	for k := range a.pun.critics {
		_, w := a.pun.heads.(*bootstrapHeads).criticTargets(k, &a.batch)
		for row, i := range a.batch.transitions {
			if in := inMask(a.seed, i, k); (w[row] > 0) != in {
				t.Errorf("transition %d in the mask of critic %d: %t, weight %v", i, k, in, w[row])
			}
		}
	}
}

// twinVariance is the variance of a raw z.
func twinVariance(z float64) float64 { return math.Log1p(math.Exp(z)) + 1e-6 }

// twinGaussian is the loss of one row of means and, last, a raw variance.
func twinGaussian(p, s []float64) (loss float64) {
	variance := twinVariance(p[len(s)])
	for c := range s {
		loss += (math.Pow(s[c]-p[c], 2)/variance + math.Log(variance)) / float64(len(s))
	}
	return loss
}

// An update's gradients are those of the twins' losses for its minibatches, wherever
// Equation 4's goes, with weights that are the critics' alone (R2): for bootstrap of
// the sum over the critics of their masked losses, as a function of one backbone; for
// ensemble and PUN of each critic's, the former's with the Gaussian loss.
func TestGradients(t *testing.T) {
	for _, changes := range []string{
		"Uncertainty=bootstrap",
		"Uncertainty=bootstrap PredictiveGradient=head",
		"Uncertainty=ensemble",
		"Uncertainty=ensemble PredictiveGradient=head",
		"Replay=per",
		"PredictiveGradient=head Replay=per",
		"Learner=mega",
		"Learner=authors",
	} {
		p := tiny(Beyond(), "CriticRate=0 PredictiveRate=0 ActorRate=0 "+changes) // nothing moves
		a, _ := walked(t, p, 50)
		if p.Replay == "per" { // at first all weights are 1
			for i, s := 0, prioritiesOf(a); i < 50; i++ {
				s.set(i, float64(1+i%7))
			}
		}
		if err := a.update(); err != nil {
			t.Fatal(err)
		}
		own, rows, form := &a.batch, a.batch.x, "squared" // rows: the policy's
		if differ := slices.Min(a.batch.w) < slices.Max(a.batch.w); differ != (p.Replay == "per") {
			t.Errorf("%s: weights %v", changes, a.batch.w)
		}
		for row, i := range own.transitions { // the policy has put its own actions there
			copy(own.x.row(row)[own.x.cols-a.sizes.Action:], float32s(a.replay.action.at(i)))
		}
		if l, ok := learnerOf(a).(*authorsLearner); ok {
			own, rows, form = &l.headBatch, l.policyBatch.x, "norm"
		}
		if p.Uncertainty != "pun" {
			form = ""
		}
		critics := each(a.pun.critics, func(c *critic) vectorNet { return c.q.vector() })
		heads := each(a.pun.critics, func(c *critic) vectorLayer { return c.head.vector() })
		actor := a.policy.net.vector()
		want := twinGradient(twinParams(actor...), func() (loss float64) {
			for k := range rows.rows {
				s, g := float64s(rows.row(k)[:2]), float64s(rows.row(k)[2:4])
				action := twinAct(actor, s, g)
				for _, c := range critics {
					loss -= twinValue(c, s, g, action) / float64(rows.rows*len(critics))
				}
				loss += p.ActionL2 * (action[0]*action[0] + action[1]*action[1]) / 2 / float64(rows.rows)
			}
			return loss
		})
		nearGradient(t, changes+": policy", tenfold(a.policy.adam.m), want)
		// Losses of critic i and its head; with one backbone, of all.
		critic := func(i int) float64 { return twinLossOfBatch(a.pun.heads, critics[i], nil, &a.batch, i, "") }
		head := func(i int) float64 {
			return twinLossOfBatch(a.pun.heads, critics[i], &heads[i], own, i, form)
		}
		sum := func(loss func(int) float64, i int) float64 {
			if p.Uncertainty == "bootstrap" {
				return loss(0) + loss(1) + loss(2)
			}
			return loss(i)
		}
		near(t, changes+": losses", []float32{float32(3 * a.losses.critic), float32(3 * a.losses.head)},
			[]float64{critic(0) + critic(1) + critic(2), head(0) + head(1) + head(2)})
		if p.Uncertainty == "bootstrap" {
			for i, c := range critics {
				critics[i] = append(slices.Clone(critics[0][:2]), c[2])
			}
		}
		for i, c := range a.pun.critics {
			what, φ := fmt.Sprintf("%s: critic %d", changes, i+1), twinParams(critics[i]...)
			moment := tenfold(c.adam.m)
			nearGradient(t, what, moment[:len(φ)], twinGradient(φ, func() float64 {
				if p.PredictiveGradient == "joint" && p.Learner != "authors" {
					return sum(critic, i) + sum(head, i)
				}
				return sum(critic, i)
			}))
			if slices.ContainsFunc(moment[len(φ):], func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: the critic's optimizer moves the head", what)
			}
			params := twinParams(heads[i])
			if p.Learner == "authors" {
				params = append(φ, params...)
			}
			nearGradient(t, what+"'s head", tenfold(c.headAdam.m), twinGradient(params, func() float64 { return sum(head, i) }))
		}
	}
}

// The loss is finite for the least and for the largest variance; the least is the twin's.
func TestGaussianLoss(t *testing.T) {
	for _, z := range []float32{-1e30, -800, 800, 1e30} {
		dp := make([]float32, 2)
		loss, least := gaussianLoss(dp, []float32{1, z}, []float32{2}, 1), twinGaussian([]float64{1, -800}, []float64{2})
		if !finite(loss+float64(dp[0])+float64(dp[1])) || z < 0 && math.Abs(loss/least-1) > 1e-9 {
			t.Errorf("raw variance %v: loss %v, gradient %v", z, loss, dp)
		}
	}
}

// At a prediction without error the norm has no gradient; zero is right.
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

// The density is that of the vectors kde, in coordinates standardized over its
// points. Far away the order of two densities is still known.
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
		mean, σ := moments(column)
		near(t, "mean and deviation", float32s([]float64{d.mean[c], d.std[c]}), []float64{mean, σ + 1e-4})
		if want := (points[c] - d.mean[c]) / d.std[c]; d.points[c] != want {
			t.Errorf("coordinate %d is standardized to %v, want %v", c, d.points[c], want)
		}
	}
	if got, want := d.log(points[:3]), logDensity(d.points, d.points[:3], 0.1); got != want {
		t.Errorf("log density %v, want %v", got, want)
	}
	d.fit([]float64{0, 0, 1, 1}, 2)
	if near, far := d.log([]float64{100, 100}), d.log([]float64{101, 101}); !(near > far) || math.IsInf(far, 0) {
		t.Errorf("log density %v far away, %v farther", near, far)
	}
}

func TestLeastDense(t *testing.T) {
	for _, test := range []struct {
		density, q []float64
		want       int // with a cutoff of -3
	}{
		{[]float64{3, 1, 2}, []float64{0, 0, 0}, 1},
		{[]float64{3, 1, 2}, []float64{0, -4, 0}, 2},
		{[]float64{3, 2, 1}, []float64{0, 0, -4}, 1},
		{[]float64{3, 1, 2}, []float64{0, -3, 0}, 1}, // exactly at the cutoff
		{[]float64{3, 1, 2}, []float64{-5, -6, -7}, 0},
		{[]float64{3, 1, 2}, []float64{-7, -6, -5}, 2},
		{[]float64{3, 3, 3}, []float64{-1, -1, -1}, 0},
		{[]float64{math.Inf(-1), -5}, []float64{-9, 0}, 1},
	} {
		if got := leastDense(test.density, test.q, -3); got != test.want {
			t.Errorf("log density %v, values %v: candidate %d, want %d", test.density, test.q, got, test.want)
		}
	}
}

// A full window moves the cutoff from 7 successes on and up to 3, within its
// bounds, and else it stands and the window slides.
func TestCutoff(t *testing.T) {
	for _, test := range []struct {
		discount      float64
		horizon       int
		floor, cutoff float64
	}{
		{0.98, 50, -27.71, -3},
		{0.999, 50, -33.10, -3}, // as with 0.99
		{0.98, 2, -1.59, -1.59},
	} {
		c := newCutoff(test.discount, test.horizon)
		if math.Abs(c.floor-test.floor) > 0.005 || math.Abs(c.value-test.cutoff) > 0.005 || c.lowest != c.value {
			t.Errorf("discount %v, horizon %d: %+v, want floor %v and cutoff %v",
				test.discount, test.horizon, c, test.floor, test.cutoff)
		}
	}
	for _, test := range []struct {
		value, lowest, least float64
		successes            int
		want, wantLowest     float64
		anew                 bool
	}{
		{-5, -9, -7, 3, -4, -9, true},
		{-5, -9, -7, 4, -5, -9, false},
		{-5, -9, -7, 6, -5, -9, false},
		{-5, -9, -7, 7, -6, -9, true},
		{-5, -5, -7, 10, -6, -7, true},
		{-5, -5, -5.5, 10, -5.5, -5.5, true},
		{-5, -5, -99, 5, -5, -20, false}, // no lower than the floor
		{-19.5, -20, -99, 8, -20, -20, true},
		{-3.5, -20, 0, 1, -3, -20, true}, // no higher than at first
	} {
		c := cutoff{test.value, test.lowest, -20}
		outcomes := slices.Concat(make([]bool, 10-test.successes), slices.Repeat([]bool{true}, test.successes))
		anew := c.adapt(test.least, outcomes)
		if anew != test.anew || c != (cutoff{test.want, test.wantLowest, -20}) {
			t.Errorf("%+v: %+v, the window begins anew: %t", test, c, anew)
		}
	}
}

// An episode's goal is the one of least density among the candidates whose value
// from where the agent is, the mean over the critics, is within reach. A choice takes
// the episode's outcome into the window, which slides, and begins anew where the cutoff
// has moved.
func TestMEGAGoal(t *testing.T) {
	a, _ := walked(t, tiny(Beyond(), "Curriculum=mega"), 40)
	moveTargets(a)
	m := a.curriculum.(*megaCurriculum)
	actor := a.policy.net.vector()
	for trial := range 6 {
		won, atGoal, cutoff := trial == 5, trial%2, m.cutoff.value
		window := slices.Repeat([]bool{true, won}, 5)
		m.outcomes, m.stepsAtGoal, m.cutoff.lowest = slices.Clone(window), atGoal, 9
		goal := nextGoal(t, a, true)
		var q, densities []float64
		for _, g := range m.candidates {
			action := twinAct(actor, a.observation, g)
			value := func(c *critic) float64 { return twinValue(c.q.vector(), a.observation, g, action) }
			mean, _ := moments(each(a.pun.critics, value))
			q, densities = append(q, mean), append(densities, m.density.log(g))
		}
		if best := m.candidates[leastDense(densities, q, m.cutoff.value)]; !slices.Equal(goal, best) {
			t.Errorf("trial %d: goal %v, want %v", trial, goal, best)
		}
		if window = append(window[1:], atGoal > 0); won {
			window = window[9:]
		}
		if !slices.Equal(m.outcomes, window) || m.stepsAtGoal != 0 || (m.cutoff.value != cutoff) != won {
			t.Errorf("trial %d: window %v, want %v; cutoff %v before, now %+v", trial, m.outcomes, window, cutoff, m.cutoff)
		}
		near(t, "lowest value", []float32{float32(m.cutoff.lowest)}, []float64{math.Max(m.cutoff.floor, slices.Min(q))})
		m.cutoff.value = slices.Sorted(slices.Values(q))[len(q)/2] // of half the candidates, from the second trial on
	}
}

// While the warm-up lasts all goals come from the transition's own future;
// then from the mix.
func TestMEGAReplayGoal(t *testing.T) {
	const n, horizon, draws = 23, 5, 20000
	a := numberedAgent(t, n, horizon)
	a.curriculum.(*megaCurriculum).desired = []float64{1000, 1001, 1002, 1003, 1004} // of five episodes, the last shorter
	for _, test := range []struct {
		step                                    int
		own, future, desired, achieved, pursued float64
	}{
		{25_000, 0, 1, 0, 0, 0},
		{25_001, 0.1, 0.4, 0.3, 0.1, 0.1},
	} {
		a.step = test.step
		for _, i := range []int{0, 7, 21} {
			a.params.HindsightRatio = 0
			if got := a.curriculum.replayGoal(a, i)[0]; got != float64(-1-i) {
				t.Fatalf("step %d, no hindsight: the goal of transition %d is %v", test.step, i, got)
			}
			a.params.HindsightRatio = 4
			end := min((i/horizon+1)*horizon, n)
			counts := map[int]int{}
			for range draws {
				counts[int(a.curriculum.replayGoal(a, i)[0])]++
			}
			for j := range n {
				achieved, pursued := test.achieved/n, test.pursued/n
				if i <= j && j < end {
					achieved += test.future / float64(end-i)
				}
				if j == i {
					pursued += test.own
				}
				for goal, p := range map[int]float64{j: achieved, -1 - j: pursued} {
					what := fmt.Sprintf("step %d, transition %d: goal %d", test.step, i, goal)
					frequency(t, what, counts[goal], draws, p)
				}
			}
			for e, steps := range []float64{5, 5, 5, 5, 3} {
				what := fmt.Sprintf("step %d, transition %d: the environment's goal of episode %d", test.step, i, e)
				frequency(t, what, counts[1000+e], draws, test.desired*steps/n)
			}
		}
	}
}

// The first episode's goal is the environment's, and no goal changes within an
// episode. An episode at its goal in any step but the last is a success.
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

// A sampledEnv is a maze whose goals are drawn by others.
type sampledEnv struct {
	Env
	goal func() []float64
}

func (s *sampledEnv) SampleGoal(*rand.Rand) []float64 { return s.goal() }

// The environment draws the candidates, whose chances are in proportion to the
// members' disagreement, and alike where they agree. A goal that is none ends training,
// and after a success there is no other.
func TestVDSGoal(t *testing.T) {
	a, env := walked(t, tiny(Beyond(), "Curriculum=vds"), 50)
	if goal := nextGoal(t, a, true); goal == nil || nextGoal(t, a, false) != nil {
		t.Errorf("a first goal of %v, or a later one", goal)
	}
	// Of four goals by hand the members disagree in proportion to 0, 1, 2 and 3.
	h, next := linearAgent(t, linearNetworks{}, 1, "Curriculum=vds"), 0.0
	h.env = &sampledEnv{&scriptedEnv{}, func() []float64 { next++; return []float64{math.Mod(next, 4)} }}
	v := h.curriculum.(*vdsCurriculum)
	for i, c := range v.members.critics {
		c.q.load(linear{g: -float64(i)}.network(3))
	}
	var drawn []float64
	for range 200 {
		drawn = append(drawn, nextGoal(t, h, true)...)
	}
	checkDraws(t, "VDS, by disagreement", drawn, map[float64]float64{1: 1. / 6, 2: 2. / 6, 3: 3. / 6})
	for i, c := range v.members.critics {
		c.q.params[len(c.q.params)-1] += float32(1000 * (i + 1))
	}
	if d := v.disagreement(h, randomRows(rand.New(rand.NewPCG(1, 0)), 9, 1)); slices.Max(d) != 0 {
		t.Errorf("values above the possible returns disagree by %v", d)
	}
	p := make([]float64, 3)
	if toProbabilities(p); !slices.Equal(p, []float64{1. / 3, 1. / 3, 1. / 3}) {
		t.Errorf("probabilities %v without disagreement", p)
	}
	one := func() []float64 { return []float64{1} }
	a.env = &sampledEnv{env, one}
	var broken *EnvError
	const want = "the goal that SampleGoal returned has 1 numbers, Sizes says 2"
	if _, err := a.curriculum.goal(a, true); !errors.As(err, &broken) || broken.Problem != want {
		t.Errorf("error %v, want %q", err, want)
	}
	type plain struct{ Env } // draws no goals
	a = newMazeAgent(t, a.params, 1)
	o := TrainOptions{Steps: 1, EvalEvery: 2, Rollouts: 1}
	err := a.Train(t.Context(), &plain{env}, env, o)
	if err == nil || err.Error() != "qta: the curriculum vds needs an environment with the method SampleGoal (a GoalSampler)" {
		t.Errorf("trained in what draws no goals: %v", err)
	}
	train(t, a, env, &plain{env}, o)

	// Members are VDS's own whatever the agent's ensemble is; goals and observations
	// may differ in length.
	l := newAgent(t, with(a.params, "Uncertainty=bootstrap Learner=mega"), new(lineEnv).Sizes(), 1)
	train(t, l, &sampledEnv{new(lineEnv), one}, new(lineEnv), TrainOptions{Steps: 11, EvalEvery: 99, Rollouts: 1})
	if m := l.curriculum.(*vdsCurriculum).members; m.heads != heads(paperHeads{}) {
		t.Error("the members are not VDS's own")
	}
}

// The density knows nothing of the latest episode, but for a run's first;
// candidates are of all episodes. The latest, far off, is what is pursued.
func TestMEGADensityLags(t *testing.T) {
	for _, test := range []struct{ n, seen int }{{5, 5}, {10, 5}, {20, 15}} {
		a := numberedAgent(t, test.n, 5)
		m := a.curriculum.(*megaCurriculum)
		a.observation[0] = 1
		goal := nextGoal(t, a, true)
		if n := len(m.density.points); n != 10_000 || len(m.candidates) != 100 {
			t.Fatalf("%d points, %d candidates", n, len(m.candidates))
		}
		counts := make([]int, test.n)
		for _, z := range m.density.points {
			counts[int(math.Round(float64(z*m.density.std[0])+m.density.mean[0]))]++
		}
		for i, count := range counts {
			p := 0.0
			if i < test.seen {
				p = 1 / float64(test.seen)
			}
			frequency(t, fmt.Sprintf("%d transitions: the density's %d", test.n, i), count, 10_000, p)
		}
		if test.n > 5 && goal[0] < float64(test.n-5) {
			t.Errorf("%d transitions: the goal %v, which the density has seen", test.n, goal)
		}
	}
}

// A countedEnv counts the rewards that it is asked for.
type countedEnv struct {
	Env
	rewards int
}

func (e *countedEnv) Reward(achieved, desired []float64) float64 {
	e.rewards++
	return e.Env.Reward(achieved, desired)
}

// After an episode every member learns from minibatches of its own, whose goals
// are those pursued, towards its own target of before, with the agent's policy;
// then, once, the targets move.
func TestVDSLearns(t *testing.T) {
	// The twins do not clip; the members' targets do not follow by this Polyak.
	a, _ := walked(t, tiny(Beyond(), "Curriculum=vds NormalizerClip=100 Polyak=0.5"), 50)
	rng := rand.New(rand.NewPCG(2, 0))
	for _, params := range a.parameters() { // so that targets differ
		for i := range params.values {
			params.values[i] = float32(rng.NormFloat64())
		}
	}
	v := a.curriculum.(*vdsCurriculum)
	targets := each(v.members.critics, func(c *critic) vectorNet { return c.target.vector() })
	actor := a.policy.net.vector()
	// y returns member 2's target for transition i, not clipped.
	y := func(i int) float64 {
		s, g := a.replay.nextObservation.at(i), a.replay.goal.at(i)
		r := a.env.Reward(a.replay.nextAchieved.at(i), g)
		return r + 0.99*twinValue(targets[2], s, g, twinAct(actor, s, g))
	}
	var all []float64
	for i := range a.replay.n {
		all = append(all, y(i))
	}
	slices.Sort(all)
	low := math.Min(-1, all[len(all)/2])
	a.pun.lowest = low // which half of them are below
	counted := &countedEnv{Env: a.env}
	a.env = counted
	if err := v.endEpisode(a); err != nil {
		t.Fatal(err)
	}
	if n := counted.rewards; n != 3*100*1000 || len(v.batch.transitions) != 1000 {
		t.Errorf("minibatches of %d, want 1000; %d rewards for three members with 100 each", len(v.batch.transitions), n)
	}
	clipped := 0
	for k, i := range v.batch.transitions[:50] { // of the last minibatch
		want := y(i)
		if want < low || want > 0 {
			clipped++
		}
		near(t, "target", v.batch.y[k:k+1], []float64{math.Max(low, math.Min(want, 0))})
		near(t, "pursued goal", v.batch.x.row(k)[2:4], a.replay.goal.at(i))
	}
	if clipped == 0 || clipped == 50 {
		t.Errorf("%d of 50 targets clipped", clipped)
	}
	for i, c := range v.members.critics {
		if c.adam.rate != 1e-3 || stepsOf(c.adam) != 100 {
			t.Errorf("member %d had %d updates at the rate %v", i, stepsOf(c.adam), c.adam.rate)
		}
		var want []float64
		for k, p := range twinParams(targets[i]...) {
			want = append(want, 0.95**p+0.05*float64(c.params[k]))
		}
		near(t, fmt.Sprint("target of member ", i), c.target.params, want)
	}
}
