package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// HER keeps the environment's goal for the whole episode: to reach it again counts
// once.
func TestHER(t *testing.T) {
	a := scriptedAgent(t, func(p *Params) { p.Curriculum = "her" })
	env := &scriptedEnv{place: func(_, k int) float64 { return float64(k % 2) }} // at the goal every other step
	trainScripted(t, a, env, 100, nil)
	if !slices.Equal(a.replay.goal, a.replay.desired) || a.goalsSet != 10 || a.goalsReached != 10 {
		t.Errorf("%d goals in 10 episodes, %d reached; or other ones than the environment's", a.goalsSet, a.goalsReached)
	}
}

// The disagreement of Q-values is that of the critics' values of the policy's
// action, from the current state to the candidate, or the other way.
func TestValueDisagreement(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		p := tinyPreset(Default())
		p.Uncertainty, p.AuthorsForm = "q", swapped
		a, _ := walked(t, p, 15) // as many candidates, and fewer than a batch
		moveTargets(a)
		s := &a.scratch.selection
		a.drawCandidates(s)
		a.ask(s, true)
		actor := a.policy.net.vector()
		var want []float64
		for _, i := range s.candidates {
			state, goal := a.observation, at(a.replay.achieved, i, 2)
			if swapped {
				state, goal = goal, state
			}
			want = append(want, twinSampleDeviation(each(a.pun.critics, func(c *critic) float64 {
				return twinValue(c.q.vector(), state, goal, twinAct(actor, state, goal))
			})))
		}
		near(t, fmt.Sprintf("disagreement of the critics' Q-values, swapped %t", swapped), float32s(s.query.ε), want)
	}
}

// Noise is normal, of the chosen deviation and anew for each candidate, and comes
// before the scaling of Equation 6.
func TestUncertaintyNoise(t *testing.T) {
	const n, σ = 3000, 0.03
	estimates := func(σ float64) []float64 {
		p := tinyPreset(Default())
		p.Candidates, p.UncertaintyNoise = n, σ
		a, _ := walked(t, p, n)
		a.drawCandidates(&a.scratch.selection)
		a.ask(&a.scratch.selection, false)
		return a.scratch.selection.query.ε
	}
	noise := estimates(σ)
	for k, ε := range estimates(0) {
		noise[k] -= ε
	}
	mean, deviation := moments(noise)
	if math.Abs(mean) > 5*σ/math.Sqrt(n) || math.Abs(deviation/σ-1) > 5/math.Sqrt(2*n) {
		t.Errorf("noise of mean %v and deviation %v, want 0 and %v", mean, deviation, σ)
	}
}

// naivePriority is the priority of a transition of the replay that is replayed
// with a goal, from the networks of a as they stand. M is the pair of targets.
func naivePriority(a *Agent, i int, g []float64, M []int) float64 {
	p := &a.params
	s, action := at(a.replay.observation, i, 2), at(a.replay.action, i, 2)
	next := at(a.replay.nextObservation, i, 2)
	nextAction := twinAct(a.policy.target.vector(), next, g)
	var q, targets []float64
	var predictions [][]float64
	for _, c := range a.pun.critics {
		latent, value := twinForward(c.q.vector(), slices.Concat(s, g, action))
		_, prediction := twinForward(vectorNet{c.head.vector()}, latent)
		q, predictions = append(q, value[0]), append(predictions, prediction)
		targets = append(targets, twinValue(c.target.vector(), next, g, nextAction))
	}
	switch {
	case p.Replay == "per" && p.Uncertainty == "ensemble":
		return twinScore(p.AuthorsForm, predictions)
	case p.Replay == "per":
		return twinDeviation(predictions)
	case p.AuthorsForm:
		return twinSampleDeviation(q)
	}
	least := math.Min(targets[M[0]], targets[M[1]])
	errors := 0.0
	for k := range q {
		y := targets[k]
		if p.Uncertainty != "bootstrap" && p.Uncertainty != "ensemble" {
			y = least
		}
		y = a.env.Reward(at(a.replay.nextAchieved, i, 2), g) + 0.99*y
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
		{Default(), "Replay=per"},
		{Authors(), "Replay=per"},
		{Default(), "Replay=per Uncertainty=bootstrap"},
		{Default(), "Replay=per Uncertainty=ensemble"},
		{Authors(), "Replay=per Uncertainty=ensemble"},
		{Default(), "Replay=td"},
		{Authors(), "Replay=td"},
		{Default(), "Replay=td Uncertainty=ensemble"},
		{Default(), "Replay=td Uncertainty=bootstrap"},
		{Default(), "Replay=td Curriculum=her Critics=1"},
	} {
		p := changed("", tinyPreset(test.preset), test.changes+" PriorityAlpha=0.6 TargetNoise=0 ActorOwnDraw=true").Params
		a, _ := walked(t, p, 40)
		moveTargets(a)
		s, b := a.sampler.(*prioritized), &a.scratch.batch
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
			if p.Critics > 1 {
				M = []int{2, 0}
				a.learning = pairScript(M, 3)
			}
			if err := a.learn(); err != nil {
				t.Fatal(err)
			}
			wrote := map[int]float64{}
			for row, i := range b.transitions {
				wrote[i] = naivePriority(before, i, float64s(b.x.row(row)[2:4]), M)
				largest = math.Max(largest, wrote[i])
			}
			for i, priority := range wrote {
				near(t, fmt.Sprintf("%+v: weight of transition %d", test.changes, i),
					[]float32{float32(s.tree.weight(i))}, []float64{math.Pow(priority, 0.6)})
			}
			near(t, "the largest", []float32{float32(s.largest)}, []float64{largest})
		}
	}
}

// A new transition gets the largest priority so far.
func TestNewPriority(t *testing.T) {
	p := tinyPreset(Default())
	p.Replay, p.PriorityAlpha = "td", 0.5
	a := newMazeAgent(t, p, 1)
	s := a.sampler.(*prioritized)
	s.largest = 9
	trainTo(t, a, 1, nil)
	if got := s.tree.weight(0); got != 3 {
		t.Errorf("a new transition weighs %v, want the root of 9", got)
	}
}

// With GradientClip every optimizer is given the gradient that it would be given
// without, each element clipped: here to its sign, of which a first step's moment
// is a tenth. The critics stand still, so that the policy's gradient is the same.
func TestGradientClip(t *testing.T) {
	for _, changes := range []string{
		"",
		"HeadOwnDraw=true PredictiveGradient=head",
		"HeadOwnDraw=true PredictiveGradient=separate",
		"HeadOwnDraw=true Uncertainty=bootstrap",
	} {
		moments := func(clip float64) (m []float32) {
			p := changed("", tinyPreset(Default()), changes+" CriticRate=0 PredictiveRate=0").Params
			p.GradientClip = clip
			a, _ := walked(t, p, 50)
			if err := a.learn(); err != nil {
				t.Fatal(err)
			}
			m = slices.Clone(a.policy.adam.m)
			for _, c := range a.pun.critics {
				m = slices.Concat(m, c.adam.m, c.headAdam.m)
			}
			return m
		}
		clipped := moments(1e-20)
		for i, m := range moments(0) {
			want := 0.0
			if m != 0 {
				want = math.Copysign(1e-21, float64(m))
			}
			if d := math.Abs(float64(clipped[i]) - want); d > 1e-27 {
				t.Fatalf("%v: moment %d is %v, without the limit %v", changes, i, clipped[i], m)
			}
		}
	}
	nan := float32(math.NaN())
	g := []float32{0.75, -7, 0.25, nan}
	if clipGradient(g, 0.5); !slices.Equal(g[:3], []float32{0.5, -0.5, 0.25}) || g[3] == g[3] {
		t.Errorf("clipped are %v; a NaN has to stay", g)
	}
}

// The targets move with every TargetEvery-th update, and stand in between.
func TestTargetEvery(t *testing.T) {
	for _, test := range []struct{ every, burst int }{{3, 0}, {4, 4}, {8, 4}} {
		p := tinyPreset(Default())
		p.TargetEvery, p.UpdatesPerEpisode, p.UpdatesPerStep = test.every, test.burst, 1
		a := newMazeAgent(t, p, 3)
		targets := [][]float32{a.policy.target.params}
		for _, c := range a.pun.critics {
			targets = append(targets, c.target.params)
		}
		moves, before := 0, each(targets, slices.Clone)
		trainTo(t, a, 50, func() error {
			due := stepsOf(a.policy.adam)/test.every > moves
			moves = stepsOf(a.policy.adam) / test.every
			for k, target := range targets {
				if slices.Equal(before[k], target) == due {
					t.Fatalf("%+v: target %d stands in step %d, or moves when it is not due", test, k, a.step)
				}
				before[k] = slices.Clone(target)
			}
			return nil
		})
		if moves < 2 {
			t.Errorf("%+v: the targets moved %d times: this shows little", test, moves)
		}
	}
}

// One critic never disagrees.
func TestOneCritic(t *testing.T) {
	for _, uncertainty := range []string{"pun", "ensemble"} {
		p := changed("", tinyPreset(MEGA()), "Curriculum=her Uncertainty="+uncertainty).Params
		points := randomRows(rand.New(rand.NewPCG(2, 0)), 7, 2)
		s := agentAfter(t, p, 15).Survey([]float64{1.5, 1.5}, []float64{2.5, 2.5}, points, points, 3)
		for k := range s.Deviation {
			if s.Deviation[k] != 0 || !finite(s.Value[k]) || math.Abs(s.Probability[k]-1./7) > 1e-15 {
				t.Errorf("%s, point %d: deviation %v, value %v, probability %v", uncertainty, k,
					s.Deviation[k], s.Value[k], s.Probability[k])
			}
		}
	}
}

// Published numbers that no other test depends on.
func TestPublishedConstants(t *testing.T) {
	got := []float64{megaStdFloor, maskProbability, varianceFloor, targetNoiseClip, criticDecay, headDecay}
	if want := []float64{1e-4, 0.5, 1e-6, 0.5, 1e-9, 2.5e-10}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// stepsOf returns how many steps an optimizer has taken, by β₁ᵗ.
func stepsOf(m *adam) int { return int(math.Round(math.Log(m.beta1) / math.Log(adamBeta1))) }

// Updates come after each step, or all of an episode's at its end, from the step
// or the end on that is the first after LearningStarts.
func TestUpdates(t *testing.T) {
	for _, test := range []struct{ step, burst, starts int }{
		{1, 0, 28}, {3, 0, 32}, {1, 3, 1}, {1, 3, 10}, {1, 5, 29}, {1, 5, 30},
	} {
		p := tinyPreset(Default())
		p.UpdatesPerStep, p.UpdatesPerEpisode, p.LearningStarts = test.step, test.burst, test.starts
		a := newMazeAgent(t, p, 1)
		trainTo(t, a, 35, func() error {
			want := test.step * max(0, a.step-test.starts)
			if test.burst > 0 {
				want = test.burst * max(0, a.step/10-test.starts/10)
			}
			if got := stepsOf(a.policy.adam); got != want {
				t.Errorf("%+v: %d updates after step %d, want %d", test, got, a.step, want)
			}
			return nil
		})
	}
}

// A watched curriculum notes what an agent has done when its episodes end.
type watched struct {
	randomGoals
	updates, shown []int // updates and, by the normalizer's count, vectors shown
}

func (w *watched) endEpisode(a *Agent) error {
	w.updates = append(w.updates, stepsOf(a.policy.adam))
	w.shown = append(w.shown, int(a.goals.count)-1)
	return nil
}

// As in VDS, at an episode's end the normalizers come first, then the
// curriculum, then the updates; single updates come before both.
func TestEndOfEpisode(t *testing.T) {
	for burst, updates := range map[int][]int{0: {5, 15, 25}, 8: {0, 8, 16}} {
		p := tinyPreset(Default())
		p.UpdatesPerEpisode, p.UpdatesPerStep = burst, 1
		a, w := newMazeAgent(t, p, 1), new(watched)
		a.curriculum = w
		trainTo(t, a, 30, nil)
		if !slices.Equal(w.updates, updates) || !slices.Equal(w.shown, []int{5, 10, 15}) {
			t.Errorf("%d per episode: after updates %v, want %v, and %v vectors shown", burst, w.updates, updates, w.shown)
		}
	}
}

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
}

// A transition has its masks in every minibatch, in both forms; the weights of
// prioritized replay go on top. The heads of the authors' form predict the mean of
// the components.
func TestMasksOfBatches(t *testing.T) {
	const steps = 75 // seven episodes of ten steps and one of five
	for _, changes := range []string{"", "Replay=per", "AuthorsForm=true HeadTarget=achieved"} {
		p := tinyPreset(Default())
		p.Uncertainty, p.Batch, p.HeadOwnDraw, p.PredictiveGradient = "bootstrap", 200, true, "head"
		p = changed("", p, changes).Params
		a, _ := walked(t, p, steps)
		if err := a.learn(); err != nil {
			t.Fatal(err)
		}
		for _, b := range []*batch{&a.scratch.batch, &a.headBatch} {
			for c := range a.pun.critics {
				for row, i := range b.transitions {
					in := inMask(a.seed, i, c) && !(p.AuthorsForm && i >= 70)
					weight, head := float32(0), float32(0)
					if in {
						weight = 1
						if s, ok := a.sampler.(*prioritized); ok && b == &a.scratch.batch {
							weight = float32(s.w[row])
						}
					}
					if in != p.AuthorsForm {
						head = 1
					}
					if b.weights[c][row] != weight || b.masks[c][row] != head {
						t.Fatalf("%s: transition %d, critic %d: weight %v and head's mask %v, want %v and %v", changes,
							i, c, b.weights[c][row], b.masks[c][row], weight, head)
					}
				}
			}
			for row, i := range b.transitions {
				want := at(a.replay.nextObservation, i, 2)
				if p.AuthorsForm {
					s := at(a.replay.nextAchieved, i, 2)
					want = []float64{(s[0] + s[1]) / 2}
				}
				near(t, changes+": predicted", b.head.row(row), want)
			}
		}
	}
}

// Critics keep one backbone, to the bit, and so do their targets; what is on
// top of it differs.
func TestSharedBackbones(t *testing.T) {
	for _, preset := range []Params{Default(), Authors()} {
		p := tinyPreset(preset)
		p.Uncertainty = "bootstrap"
		a := newMazeAgent(t, p, 4)
		first := a.pun.critics[0]
		before := slices.Clone(backbone(first.q))
		trainTo(t, a, 40, nil)
		for i, c := range a.pun.critics[1:] {
			if !slices.Equal(backbone(c.q), backbone(first.q)) || !slices.Equal(backbone(c.target), backbone(first.target)) {
				t.Errorf("the backbone of critic %d is another", i+2)
			}
			n := len(before)
			if slices.Equal(c.q.params[n:], first.q.params[n:]) || slices.Equal(c.head.w.data, first.head.w.data) {
				t.Errorf("critic %d is the first", i+2)
			}
		}
		if slices.Equal(before, backbone(first.q)) {
			t.Error("the backbone has not moved")
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

// twinScore is a score of one row of predictions, a row per head.
func twinScore(authors bool, p [][]float64) float64 {
	width := len(p[0]) - 1
	if !authors {
		return twinDeviation(each(p, func(head []float64) []float64 { return head[:width] }))
	}
	mean, _ := moments(each(p, func(head []float64) float64 { return twinVariance(head[width]) }))
	return mean
}

// An update's gradients are those of the twins' losses for its minibatches,
// wherever Equation 4's goes: for bootstrap of the sum over the critics of their
// masked losses, as a function of one backbone; for ensemble of each critic's,
// with the Gaussian loss.
func TestEnsembleGradients(t *testing.T) {
	for _, changes := range []string{
		"Uncertainty=bootstrap",
		"Uncertainty=bootstrap PredictiveGradient=head",
		"Uncertainty=bootstrap PredictiveGradient=head HeadOwnDraw=true",
		"Uncertainty=bootstrap PredictiveGradient=separate HeadOwnDraw=true",
		"Uncertainty=bootstrap PredictiveGradient=separate HeadOwnDraw=true AuthorsForm=true HeadLoss=norm",
		"Uncertainty=ensemble",
		"Uncertainty=ensemble PredictiveGradient=head HeadOwnDraw=true",
		"Uncertainty=ensemble PredictiveGradient=separate HeadOwnDraw=true",
	} {
		p := changed("", tinyPreset(Default()), changes).Params
		p.CriticRate, p.PredictiveRate, p.ActorRate = 0, 0, 0 // nothing moves
		p.ActorOwnDraw = true                                 // nothing overwrites the critics' minibatch
		a, _ := walked(t, p, 50)
		if err := a.learn(); err != nil {
			t.Fatal(err)
		}
		own := &a.scratch.batch
		if p.HeadOwnDraw {
			own = &a.headBatch
		}
		critics := each(a.pun.critics, func(c *critic) vectorNet { return c.q.vector() })
		heads := each(a.pun.critics, func(c *critic) vectorLayer { return c.head.vector() })
		// Losses of critic i and its head; with one backbone, of all.
		critic := func(i int) float64 { return twinLossOfBatch(critics[i], nil, &a.scratch.batch, i) }
		head := func(i int) float64 { return twinLossOfBatch(critics[i], &heads[i], own, i) }
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
				if p.PredictiveGradient == "joint" {
					return sum(critic, i) + sum(head, i)
				}
				return sum(critic, i)
			}))
			if slices.ContainsFunc(moment[len(φ):], func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: the critic's optimizer moves the head", what)
			}
			params := twinParams(heads[i])
			if p.PredictiveGradient == "separate" {
				params = append(φ, params...)
			}
			nearGradient(t, what+"'s head", tenfold(c.headAdam.m), twinGradient(params, func() float64 { return sum(head, i) }))
		}
	}
}

// The loss is finite for the least and for the largest variance.
func TestGaussianLoss(t *testing.T) {
	for _, z := range []float32{-1e30, -800, 800, 1e30} {
		dp := make([]float32, 2)
		if loss := gaussianLoss(dp, []float32{1, z}, []float32{2}, 1); !finite(loss + float64(dp[0]) + float64(dp[1])) {
			t.Errorf("raw variance %v: loss %v, gradient %v", z, loss, dp)
		}
	}
}

// twinLossOfBatch is the loss of critic i on a minibatch, or of its head.
func twinLossOfBatch(critic vectorNet, head *vectorLayer, b *batch, i int) (mean float64) {
	for k := range b.r {
		latent, q := twinForward(critic, float64s(b.x.row(k)))
		loss, weight := 0.0, 1.0
		if head == nil {
			loss = math.Pow(q[0]-float64(b.y[i][k]), 2)
			if b.weights[i] != nil {
				weight = float64(b.weights[i][k])
			}
		} else {
			_, p := twinForward(vectorNet{*head}, latent)
			s := float64s(b.head.row(k))
			for c := range s {
				loss += math.Pow(p[c]-s[c], 2)
			}
			if len(p) > len(s) {
				loss = twinGaussian(p, s)
			}
			if b.masks != nil {
				weight = float64(b.masks[i][k])
			}
		}
		mean += weight * loss / float64(len(b.r))
	}
	return mean
}
