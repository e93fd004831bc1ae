package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveLogDensity is the logarithm of a kernel density estimate of points,
// standardized as they and x are by mean and deviation.
func naiveLogDensity(points [][]float64, x []float64, h float64) float64 {
	n, sum := float64(len(points)), 0.0
	for _, p := range points {
		k := 1.0
		for c := range x {
			var column []float64
			for _, q := range points {
				column = append(column, q[c])
			}
			_, σ := moments(column)
			z := (x[c] - p[c]) / (σ + 1e-4) / h
			k *= math.Exp(-z*z/2) / (h * math.Sqrt(2*math.Pi))
		}
		sum += k / n
	}
	return math.Log(sum)
}

func TestKernelDensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var d kernelDensity
	for range 30 {
		width := 2
		points := randomRows(rng, 1+rng.IntN(20), width)
		h := 0.1 + rng.Float64()
		for _, p := range points {
			p[1] = 5*p[1] - 3
		}
		d.fit(slices.Concat(points...), width, h)
		for range 5 {
			x := []float64{rng.NormFloat64(), 5*rng.NormFloat64() - 3}
			// With one point, whose deviation is the floor alone, the naive sum
			// underflows.
			want := naiveLogDensity(points, x, h)
			if got := d.log(x); !math.IsInf(want, -1) && math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("log density %v at %v of %v, want %v", got, x, points, want)
			}
		}
	}
	// Far away the order of two densities is still known.
	d.fit([]float64{0, 0, 1, 1}, 2, 0.1)
	if near, far := d.log([]float64{100, 100}), d.log([]float64{101, 101}); !(near > far) || math.IsInf(far, 0) {
		t.Errorf("log density %v far away, %v farther", near, far)
	}
}

func TestLeastDense(t *testing.T) {
	for _, test := range []struct {
		density, q []float64
		cutoff     float64
		want       int
	}{
		{[]float64{3, 1, 2}, []float64{0, 0, 0}, -3, 1},
		{[]float64{3, 1, 2}, []float64{0, -4, 0}, -3, 2},
		{[]float64{3, 1, 2}, []float64{0, -3, 0}, -3, 1}, // exactly at the cutoff
		{[]float64{3, 1, 2}, []float64{-5, -6, -7}, -3, 0},
		{[]float64{3, 1, 2}, []float64{-7, -6, -5}, -3, 2},
		{[]float64{3, 3, 3}, []float64{-1, -1, -1}, -3, 0},
		{[]float64{math.Inf(-1), -5}, []float64{-9, 0}, -3, 1},
		{[]float64{7}, []float64{-9}, -3, 0},
	} {
		if got := leastDense(test.density, test.q, test.cutoff); got != test.want {
			t.Errorf("log density %v, values %v, cutoff %v: candidate %d, want %d", test.density, test.q, test.cutoff, got, test.want)
		}
	}
}

func TestNewCutoff(t *testing.T) {
	for _, test := range []struct {
		discount      float64
		horizon       int
		floor, cutoff float64
	}{
		{0.98, 50, -27.71, -3},
		{0.99, 50, -33.10, -3},
		{0.999, 50, -33.10, -3}, // as 0.99
		{0.98, 2, -1.59, -1.59},
		{0, 50, -1, -1},
	} {
		c := newCutoff(test.discount, test.horizon)
		if math.Abs(c.floor-test.floor) > 0.005 || math.Abs(c.value-test.cutoff) > 0.005 || c.lowest != c.value {
			t.Errorf("discount %v, horizon %d: %+v, want floor %v and cutoff %v", test.discount, test.horizon, c, test.floor, test.cutoff)
		}
	}
}

// A full window moves the cutoff from 7 successes on and up to 3, within its
// bounds, and else it stands and the window slides.
func TestCutoffMoves(t *testing.T) {
	for _, test := range []struct {
		value, lowest, least float64
		successes            int
		want, wantLowest     float64
		anew                 bool
	}{
		{-5, -9, -7, 0, -4, -9, true},
		{-5, -9, -7, 3, -4, -9, true},
		{-5, -9, -7, 4, -5, -9, false},
		{-5, -9, -7, 6, -5, -9, false},
		{-5, -9, -7, 7, -6, -9, true},
		{-5, -9, -7, 10, -6, -9, true},
		{-5, -5, -7, 10, -6, -7, true},
		{-5, -5, -5.5, 10, -5.5, -5.5, true},
		{-5, -5, -99, 5, -5, -20, false}, // no lower than the floor
		{-19.5, -20, -99, 8, -20, -20, true},
		{-3.5, -20, 0, 1, -3, -20, true}, // no higher than at first
		{-3, -20, 0, 1, -3, -20, true},
	} {
		c := cutoff{test.value, test.lowest, -20}
		outcomes := make([]bool, 10)
		for i := range test.successes {
			outcomes[9-i] = true
		}
		if anew := c.adapt(test.least, outcomes); anew != test.anew || c != (cutoff{test.want, test.wantLowest, -20}) {
			t.Errorf("%+v: %+v, the window begins anew: %t", test, c, anew)
		}
	}
}

// An episode's goal is the one of least density among the candidates whose value
// from where the agent is, the mean over the critics, is within reach.
func TestMEGAGoal(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum = "mega"
	a, _ := walked(t, p, 40)
	moveTargets(a)
	m := a.curriculum.(*mega)
	actor := a.policy.net.vector()
	for trial := range 6 {
		goal := nextGoal(t, a, true)
		var q []float64
		best := -1
		for k, i := range m.candidates {
			g := at(a.replay.nextAchieved, i, 2)
			action := twinAct(actor, a.observation, g)
			mean := 0.0
			for _, c := range a.pun.critics {
				mean += twinValue(c.q.vector(), a.observation, g, action) / float64(len(a.pun.critics))
			}
			q = append(q, mean)
			if mean >= m.cutoff.value && (best < 0 || m.density.log(g) < m.density.log(at(a.replay.nextAchieved, best, 2))) {
				best = m.candidates[k]
			}
		}
		near(t, "Q of the candidates from the episode's start (MEGA's code)", float32s(m.q), q)
		if best >= 0 && !slices.Equal(goal, at(a.replay.nextAchieved, best, 2)) {
			t.Errorf("trial %d: goal %v, want transition %d", trial, goal, best)
		}
		m.cutoff.value = slices.Sorted(slices.Values(q))[len(q)/2] // of half the candidates, from the second trial on
	}
}

// A choice takes the episode's outcome into the window, which slides, and begins
// anew where the cutoff has moved. An agent that is restored chooses alike.
func TestMEGAWindow(t *testing.T) {
	all, half := slices.Repeat([]bool{true}, 10), slices.Repeat([]bool{true, false}, 5)
	for _, test := range []struct {
		before []bool
		cutoff float64
		after  []bool
	}{
		{nil, -4, []bool{true}},
		{all[:9], -4, all},
		{half, -4, append(half[1:], true)},
		{all, -4.75, []bool{true}}, // lower by 1, but not below the lowest value
	} {
		p := tinyPreset(Default())
		p.Curriculum = "mega"
		a, _ := walked(t, p, 40)
		for _, c := range a.pun.critics {
			c.q.layers[len(c.q.layers)-1].b[0] = 0 // Q is near 0, which lowers nothing
		}
		m := a.curriculum.(*mega)
		m.cutoff.value, m.cutoff.lowest, m.outcomes = -4, -4.75, slices.Clone(test.before)
		m.succeeded, m.stepsAtGoal = true, 7
		b := new(Agent)
		if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
			t.Fatal(err)
		}
		for _, a := range []*Agent{a, b} {
			m := a.curriculum.(*mega)
			if got := a.randomAction(); math.Abs(got-p.RandomAction-0.7) > 1e-12 {
				t.Errorf("%v: after 7 steps at the goal an action is random with probability %v", test.before, got)
			}
			nextGoal(t, a, true)
			if m.cutoff.value != test.cutoff || !slices.Equal(m.outcomes, test.after) || m.succeeded || m.stepsAtGoal != 0 {
				t.Errorf("%v: cutoff %v and window %v, want %v and %v; success %t and %d steps in the new episode",
					test.before, m.cutoff.value, m.outcomes, test.cutoff, test.after, m.succeeded, m.stepsAtGoal)
			}
		}
	}
}

// While the warm-up lasts all goals come from the transition's own future;
// then from the mix.
func TestMEGAReplayGoal(t *testing.T) {
	const n, horizon, draws = 23, 5, 20000
	a := numberedAgent(t, "mega", n, horizon)
	for _, test := range []struct {
		step                                       int
		real, future, actual, achieved, behavioral float64
	}{
		{25_000, 0, 1, 0, 0, 0},
		{25_001, 0.1, 0.4, 0.3, 0.1, 0.1},
	} {
		a.step = test.step
		for _, i := range []int{0, 7, 9, 21} {
			a.params.HindsightRatio = 0
			if got, want := a.curriculum.replayGoal(a, i), at(a.replay.goal, i, 1); !slices.Equal(got, want) {
				t.Fatalf("step %d, no hindsight: the goal of transition %d is %v, want its own, %v", test.step, i, got, want)
			}
			a.params.HindsightRatio = 4
			end := min((i/horizon+1)*horizon, n)
			counts := map[int]int{}
			for range draws {
				counts[int(a.curriculum.replayGoal(a, i)[0])]++
			}
			for j := range n {
				achieved, pursued := test.achieved/n, test.behavioral/n
				if i <= j && j < end {
					achieved += test.future / float64(end-i)
				}
				if j == i {
					pursued += test.real
				}
				for goal, p := range map[int]float64{j: achieved, -1 - j: pursued, 1000 + j: test.actual / n} {
					frequency(t, fmt.Sprintf("step %d, transition %d: goal %d", test.step, i, goal), counts[goal], draws, p)
				}
			}
		}
	}
}

// The density knows nothing of the latest episode, but for a run's first;
// candidates are of all episodes. The latest, far off, is what is pursued.
func TestDensityLags(t *testing.T) {
	for _, test := range []struct{ n, seen int }{{5, 5}, {10, 5}, {20, 15}} {
		a := numberedAgent(t, "mega", test.n, 5)
		m := a.curriculum.(*mega)
		a.observation[0] = 1
		goal := nextGoal(t, a, true)
		if len(m.density.points) != megaFit {
			t.Fatalf("the density is fitted to %d points", len(m.density.points))
		}
		seen := map[float64]int{}
		for _, z := range m.density.points {
			seen[math.Round(float64(z*m.density.std[0])+m.density.mean[0])]++
		}
		for x, count := range seen {
			if x < 0 || x >= float64(test.seen) {
				t.Errorf("%d transitions: the density has %v", test.n, x)
			}
			frequency(t, fmt.Sprintf("%d transitions: the density's %v", test.n, x), count, megaFit, 1/float64(test.seen))
		}
		if len(m.candidates) != megaCandidates || slices.Min(m.candidates) < 0 || slices.Max(m.candidates) >= test.n || slices.Max(m.candidates) < test.n-5 {
			t.Errorf("%d transitions: candidates %v", test.n, m.candidates)
		}
		if test.n > 5 && goal[0] < float64(test.n-5) {
			t.Errorf("%d transitions: the goal is %v, which the density has seen", test.n, goal)
		}
	}
}

// In training the first episode has the environment's goal and every other one
// a goal achieved before; no goal changes within an episode. The longer the
// agent is at its goal, the more random its actions.
func TestMEGATrains(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum, p.RandomAction, p.RandomActionLater = "mega", 0.1, 0.1
	a := newMazeAgent(t, p, 6)
	m := a.curriculum.(*mega)
	e, most := 0, 0
	trainTo(t, a, 100, func() error {
		i := a.step - 1
		goal, now := at(a.replay.goal, i, 2), at(a.replay.nextAchieved, i, 2)
		stored := slices.Equal(goal, at(a.replay.desired, 0, 2))
		if i >= p.Horizon {
			stored = false
			for j := range i / p.Horizon * p.Horizon {
				stored = stored || slices.Equal(goal, at(a.replay.nextAchieved, j, 2))
			}
		}
		if !stored || i%p.Horizon > 0 && !slices.Equal(goal, at(a.replay.goal, i-1, 2)) {
			t.Errorf("the goal of step %d, %v, was not achieved before, or is new within an episode", i, goal)
		}
		if i%p.Horizon == 0 {
			e = 0
		}
		if a.step%p.Horizon > 0 && a.env.Reward(now, goal) == 0 {
			e++
		}
		most = max(most, e)
		if got, want := a.randomAction(), 0.1+0.1*float64(e); math.Abs(got-want) > 1e-12 || m.succeeded != (e > 0) {
			t.Errorf("after step %d and %d steps at the goal: random with probability %v, success %t", a.step, e, got, m.succeeded)
		}
		return nil
	})
	if most < 2 || a.goalsSet != 100/p.Horizon {
		t.Errorf("at most %d steps at a goal, %d goals: this run shows little", most, a.goalsSet)
	}
}

// An episode that is at its goal in its last step alone is no success to MEGA,
// whose code looks at the steps before.
func TestMEGALastStep(t *testing.T) {
	for _, test := range []struct {
		at   int // the step at the goal, of ten
		want bool
	}{{4, true}, {9, true}, {10, false}} {
		a := scriptedAgent(t, func(p *Params) { p.Curriculum = "mega" })
		// A first episode, towards the environment's goal 0, that is nowhere but at
		// the goal of the second.
		env := &scriptedEnv{place: func(e, k int) float64 {
			switch {
			case e == 0:
				return 5
			case k == test.at:
				return 5
			}
			return 7
		}}
		trainScripted(t, a, env, 21, nil)
		m := a.curriculum.(*mega)
		if got := m.outcomes[len(m.outcomes)-1]; got != test.want {
			t.Errorf("at the goal in step %d of 10: success %t, want %t", test.at, got, test.want)
		}
	}
}
