package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// numberedAgent returns an agent whose transition i led from a place where i-1
// was achieved to one where i was, in pursuit of goal -1-i, where the
// environment desired 1000 + i.
func numberedAgent(t *testing.T, curriculum string, n, horizon int) *Agent {
	t.Helper()
	p := tinyPreset(Default())
	p.Curriculum, p.Horizon = curriculum, horizon
	a, err := NewAgent(p, Sizes{1, 1, 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		x := []float64{float64(i)}
		a.replay.add(x, []float64{x[0] - 1}, x, []float64{-1 - x[0]}, State{Observation: x, Achieved: x, Desired: []float64{1000 + x[0]}})
	}
	a.step = n
	return a
}

// HER pursues the environment's goal from an episode's first step to its last,
// also after reaching it, which counts once.
func TestHERTrains(t *testing.T) {
	a := scriptedAgent(t, func(p *Params) { p.Curriculum = "her" })
	env := &scriptedEnv{
		place: func(e, k int) float64 { // at the goal in most steps of odd episodes
			if e%2 == 1 && k%4 > 0 {
				return 7
			}
			return 4
		},
		desired: func(int) float64 { return 7 },
	}
	trainScripted(t, a, env, 100, nil)
	if !slices.Equal(a.replay.goal, a.replay.desired) || a.goalsSet != 10 || a.goalsReached != 5 {
		t.Errorf("%d goals in 10 episodes, %d reached, want 5; or other ones than the environment's", a.goalsSet, a.goalsReached)
	}
}

// Random goals were achieved before, all alike, and change with each success;
// a run's first is where the agent stands.
func TestRandomGoals(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum = "random"
	a := newMazeAgent(t, p, 1)
	successes := 0
	trainTo(t, a, 100, func() error {
		i := a.step - 1
		goal, now := at(a.replay.goal, i, 2), at(a.replay.nextAchieved, i, 2)
		found := false
		for j := range i + 1 {
			found = found || slices.Equal(goal, at(a.replay.achieved, j, 2))
		}
		if !found {
			t.Errorf("at step %d the goal %v has not been achieved before", i, goal)
		}
		if a.step%p.Horizon > 0 && math.Hypot(now[0]-goal[0], now[1]-goal[1]) < 0.35 {
			successes++
		}
		return nil
	})
	if want := 10 + successes; a.goalsSet != want || successes == 0 {
		t.Errorf("%d goals set, want %d with %d successes", a.goalsSet, want, successes)
	}
	b := numberedAgent(t, "random", 23, 5)
	counts := map[int]int{}
	const draws = 20000
	for range draws {
		counts[int(nextGoal(t, b, false)[0])]++
	}
	for i := range 23 {
		p := 1.0 / 23
		if c := counts[i-1]; math.Abs(float64(c)-draws*p) > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("the goal of transition %d is drawn %d times of %d", i, c, draws)
		}
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
		a.drawCandidates(&a.scratch.selection)
		for _, first := range []bool{false, true} {
			s := &a.scratch.selection
			a.ask(s, first)
			actor := a.policy.net.vector()
			var want []float64
			for _, i := range s.candidates {
				state, goal := a.observation, at(a.replay.achieved, i, 2)
				if swapped {
					state, goal = goal, state
				}
				var q []float64
				for _, c := range a.pun.critics {
					q = append(q, twinValue(c.q.vector(), state, goal, twinAct(actor, state, goal)))
				}
				want = append(want, twinSampleDeviation(q))
			}
			near(t, fmt.Sprintf("disagreement of the critics' Q-values (section 4), swapped %t, first %t", swapped, first), float32s(s.query.ε), want)
		}
	}
}

// Noise is normal, of the chosen deviation and anew for each candidate, and comes
// before the scaling of Equation 6.
func TestUncertaintyNoise(t *testing.T) {
	p := tinyPreset(Default())
	p.Candidates = 3000
	for _, uncertainty := range []string{"q", "pun"} {
		p.Uncertainty = uncertainty
		a, _ := walked(t, p, 3000)
		s := &a.scratch.selection
		a.drawCandidates(s)
		before := *a.goalDraws.pcg
		a.ask(s, false)
		clean := slices.Clone(s.query.ε)
		*a.goalDraws.pcg = before
		a.estimator = noisy{a.estimator, 0.03}
		a.ask(s, false)
		noise := slices.Clone(s.query.ε)
		for k := range noise {
			noise[k] -= clean[k]
		}
		mean, deviation := moments(noise)
		if n := float64(len(noise)); math.Abs(mean) > 5*0.03/math.Sqrt(n) || math.Abs(deviation/0.03-1) > 5/math.Sqrt(2*n) {
			t.Errorf("%s: noise of mean %v and deviation %v, want 0 and 0.03", uncertainty, mean, deviation)
		}
	}
}

// naivePriority is the priority of a transition of the replay that is replayed
// with a goal, from the networks of a as they stand. M is the pair of targets.
func naivePriority(a *Agent, i int, g []float64, M []int) float64 {
	s, action := at(a.replay.observation, i, 2), at(a.replay.action, i, 2)
	next, reached := at(a.replay.nextObservation, i, 2), at(a.replay.nextAchieved, i, 2)
	reward := -1.0
	if math.Hypot(reached[0]-g[0], reached[1]-g[1]) < 0.35 {
		reward = 0
	}
	nextAction := twinAct(a.policy.target.vector(), next, g)
	var q, targets []float64
	var predictions [][]float64
	for k, c := range a.pun.critics {
		net := c.q.vector()
		q = append(q, twinValue(net, s, g, action))
		targets = append(targets, twinValue(a.pun.critics[k].target.vector(), next, g, nextAction))
		latent, _ := twinForward(net, slices.Concat(s, g, action))
		_, p := twinForward(vectorNet{c.head.vector()}, latent)
		predictions = append(predictions, p)
	}
	least := math.Min(targets[M[0]], targets[M[1]])
	errors := 0.0
	for k := range q {
		if a.params.Uncertainty != "bootstrap" && a.params.Uncertainty != "ensemble" {
			targets[k] = least // of each critic its own
		}
		y := math.Max(-100, math.Min(reward+0.99*targets[k], 0))
		errors += math.Abs(q[k]-y) / float64(len(q))
	}
	switch {
	case a.params.Replay == "td" && !a.params.AuthorsForm:
		return errors
	case a.params.Replay == "td":
		return twinSampleDeviation(q)
	case a.params.Uncertainty == "ensemble":
		return twinScore(a.params.AuthorsForm, predictions)
	}
	return twinDeviation(predictions)
}

// An update writes the priorities of its minibatch, as they were before it, and
// a new transition gets the largest so far.
func TestPriorities(t *testing.T) {
	for _, test := range []struct {
		replay, uncertainty, form string
		authorsForm               bool
	}{
		{"per", "pun", "default", false},
		{"per", "pun", "authors", true},
		{"per", "q", "default", false},
		{"per", "bootstrap", "default", false},
		{"per", "ensemble", "default", false},
		{"per", "ensemble", "authors", true},
		{"td", "pun", "default", false},
		{"td", "pun", "default", true},
		{"td", "pun", "authors", true},
		{"td", "ensemble", "default", false},
		{"td", "bootstrap", "default", false},
	} {
		p := tinyPreset(Default())
		if test.form == "authors" {
			p = tinyPreset(Authors())
		}
		p.Replay, p.AuthorsForm, p.Uncertainty, p.PriorityAlpha = test.replay, test.authorsForm, test.uncertainty, 0.6
		p.TargetNoise = 0
		a, _ := walked(t, p, 40)
		moveTargets(a)
		s := a.sampler.(*prioritized)
		rng := rand.New(rand.NewPCG(1, 0))
		for i := range 40 {
			s.tree.set(i, rng.Float64())
		}
		largest := 1.0
		for range 3 {
			b := &a.scratch.batch
			if err := a.minibatch(b, a.sampler); err != nil {
				t.Fatal(err)
			}
			M := []int{2, 0}
			a.learning = pairScript(M, 3)
			before := agentCopy(t, a)
			learnOn(t, a, b)
			wrote := map[int]float64{}
			for row, i := range b.transitions {
				wrote[i] = naivePriority(before, i, float64s(b.x.row(row)[2:4]), M)
				largest = math.Max(largest, wrote[i])
			}
			for i, priority := range wrote {
				near(t, fmt.Sprintf("%+v: weight of transition %d by the Reading of pun.priorities", test, i), []float32{float32(s.tree.weight(i))}, []float64{math.Pow(priority, 0.6)})
			}
			near(t, "the largest", []float32{float32(s.largest)}, []float64{largest})
		}
	}
	p := tinyPreset(Default())
	p.Replay, p.PriorityAlpha = "td", 0.5
	a := newMazeAgent(t, p, 1)
	s := a.sampler.(*prioritized)
	s.largest = 9
	trainTo(t, a, 1, nil)
	if got := s.tree.weight(0); got != 3 {
		t.Errorf("a new transition weighs %v, want the root of 9, the largest priority so far: the Reading of prioritized", got)
	}
}

// learnOn is an update on a minibatch that is drawn.
func learnOn(t *testing.T, a *Agent, b *batch) {
	t.Helper()
	heads, actor, err := a.ownBatches(b)
	if err != nil {
		t.Fatal(err)
	}
	a.learnFrom(b, heads, actor)
}

// agentCopy returns an agent with the same networks and the same replay.
func agentCopy(t *testing.T, a *Agent) *Agent {
	t.Helper()
	b, err := NewAgent(a.params, a.sizes, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, params := range a.parameters() {
		copy(b.parameters()[i].values, params.values)
	}
	b.replay = a.replay
	return b
}

// What makes no sense together is refused, and everything else is an agent.
func TestCombinations(t *testing.T) {
	for _, curriculum := range []string{"qta", "mega", "vds", "her", "random"} {
		for _, uncertainty := range []string{"pun", "q", "bootstrap", "ensemble"} {
			for _, σ := range []float64{0, 0.1} {
				p := tinyPreset(Default())
				p.Curriculum, p.Uncertainty, p.UncertaintyNoise = curriculum, uncertainty, σ
				_, err := NewAgent(p, Sizes{2, 2, 2}, 1)
				if refused := curriculum != "qta" && (uncertainty == "q" || σ > 0); refused != (err != nil) {
					t.Errorf("%s, %s, σ = %v: error %v", curriculum, uncertainty, σ, err)
				}
				if err != nil && !strings.HasPrefix(err.Error(), "qta: parameter Curriculum is "+curriculum) {
					t.Errorf("error %q", err)
				}
			}
		}
	}
	p := tinyPreset(Default())
	p.Uncertainty, p.AuthorsForm = "q", true
	if _, err := NewAgent(p, Sizes{3, 2, 2}, 1); err == nil || !strings.HasPrefix(err.Error(), "qta: parameter AuthorsForm is true") {
		t.Errorf("observations that are no goals: error %v", err)
	}
}
