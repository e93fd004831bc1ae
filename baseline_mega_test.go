package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naiveLogDensity is the logarithm of a kernel density estimate of points,
// standardised as they and x are by mean and deviation.
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

// naiveMEGA replays the rules by which the cutoff adapts, from the beginning of
// a run.
type naiveMEGA struct {
	cutoff, minCutoff, floor float64
	window                   []float64
}

// selection is one choice of goal: least is the least value among candidates,
// success the outcome of the episode before.
func (n *naiveMEGA) selection(least, success float64) {
	if len(n.window) == 10 {
		n.minCutoff = math.Max(n.floor, math.Min(least, n.minCutoff))
		mean, _ := moments(n.window)
		if mean > 0.69 {
			n.cutoff, n.window = math.Max(n.minCutoff, n.cutoff-1), nil
		} else if mean < 0.31 {
			n.cutoff, n.window = math.Max(math.Min(-3, n.cutoff+1), n.floor), nil
		}
	}
	n.window = append(n.window, success)
	n.window = n.window[max(0, len(n.window)-10):]
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

// twinValuesFromStart returns the mean value over the critics of MEGA's candidates
// as goals from where the agent is, by the policy's action there.
func twinValuesFromStart(a *Agent, candidates []int) []float64 {
	actor := a.policy.net.vector()
	var critics []vectorNet
	for _, c := range a.pun.critics {
		critics = append(critics, c.q.vector())
	}
	values := make([]float64, len(candidates))
	for k, i := range candidates {
		g := at(a.replay.nextAchieved, i, a.sizes.Goal)
		action := twinAct(actor, a.observation, g)
		for _, c := range critics {
			values[k] += twinValue(c, a.observation, g, action) / float64(len(critics))
		}
	}
	return values
}

// The cutoff adapts as a naive replay of the rules has it, with values that are
// drawn anew and outcomes that come in spells.
func TestCutoffAdapts(t *testing.T) {
	t.Parallel()
	p := tinyPreset(Default())
	p.Curriculum, p.Discount, p.Horizon = "mega", 0.9, 10
	a, _ := walked(t, p, 40)
	moveTargets(a)
	m := a.curriculum.(*mega)
	floor := -(1 - math.Pow(0.9, 8)) / 0.1
	naive := naiveMEGA{-3, -3, floor, nil}
	rng := rand.New(rand.NewPCG(3, 0))
	rate := 0.5
	lows, highs := 0, 0
	selections := 110
	if testing.Short() {
		selections = 30
	}
	for k := range selections {
		if k%13 == 0 {
			rate = []float64{0.95, 0.95, 0.5, 0.05}[k/13%4]
		}
		for _, c := range a.pun.critics {
			last := c.q.layers[len(c.q.layers)-1]
			last.b[0] = -10 * rng.Float32()
		}
		success := 0.0
		if m.succeeded = rng.Float64() < rate; m.succeeded {
			success = 1
		}
		before := m.cutoff.value
		goal := nextGoal(t, a, true)
		q := twinValuesFromStart(a, m.candidates)
		near(t, fmt.Sprintf("selection %d: Q of the candidates from the episode's start (MEGA's code)", k), float32s(m.q), q)
		naive.selection(slices.Min(q), success)
		if math.Abs(m.cutoff.value-naive.cutoff) > 1e-4 || math.Abs(m.cutoff.lowest-naive.minCutoff) > 1e-4 || len(m.outcomes) != len(naive.window) {
			t.Fatalf("selection %d: cutoff %v, lowest %v, window of %d, want %v, %v and %d", k,
				m.cutoff.value, m.cutoff.lowest, len(m.outcomes), naive.cutoff, naive.minCutoff, len(naive.window))
		}
		for i, o := range m.outcomes {
			if o != (naive.window[i] == 1) {
				t.Fatalf("selection %d: window %v, want %v", k, m.outcomes, naive.window)
			}
		}
		if m.cutoff.value < before {
			lows++
		} else if m.cutoff.value > before {
			highs++
		}
		if m.succeeded || m.stepsAtGoal != 0 {
			t.Fatalf("selection %d: the new episode begins as a success", k)
		}
		if k%10 > 0 {
			continue
		}
		// The goal is the one of least density among those within reach.
		best, bestDensity := -1, math.Inf(1)
		for j, i := range m.candidates {
			if d := m.density.log(at(a.replay.nextAchieved, i, 2)); q[j] >= naive.cutoff && d < bestDensity {
				best, bestDensity = i, d
			}
		}
		if best >= 0 && !slices.Equal(goal, at(a.replay.nextAchieved, best, 2)) {
			t.Fatalf("selection %d: goal %v, want transition %d", k, goal, best)
		}
	}
	if !testing.Short() && (lows < 3 || highs < 3) {
		t.Errorf("the cutoff fell %d times and rose %d times: this shows little", lows, highs)
	}
}

// An agent that is restored chooses on as it would have without: by the cutoff,
// the lowest value that bounds it, the window of outcomes, and the steps at the
// goal.
func TestMEGARestored(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum = "mega"
	a, _ := walked(t, p, 40)
	for _, c := range a.pun.critics {
		c.q.layers[len(c.q.layers)-1].b[0] = 0 // Q is near 0, which lowers nothing
	}
	m := a.curriculum.(*mega)
	m.cutoff.value, m.cutoff.lowest = -4, -4.75
	m.outcomes = []bool{true, true, true, true, true, true, true, true, true}
	m.succeeded, m.stepsAtGoal = true, 7
	b := new(Agent)
	if err := b.UnmarshalBinary(marshal(t, a)); err != nil {
		t.Fatal(err)
	}
	restored := b.curriculum.(*mega)
	if got, want := b.curriculum.randomAction(b), a.curriculum.randomAction(a); got != want {
		t.Errorf("restored, an action is random with probability %v, want %v", got, want)
	}
	// The first choice fills the window, the second lowers the cutoff by 1, but
	// not below the lowest value, and begins the window anew.
	for choice, want := range []struct {
		cutoff float64
		window int
	}{{-4, 10}, {-4.75, 1}} {
		goal, wantGoal := slices.Clone(nextGoal(t, b, true)), nextGoal(t, a, true)
		if restored.cutoff.value != want.cutoff || len(restored.outcomes) != want.window || !slices.Equal(goal, wantGoal) {
			t.Errorf("choice %d of a restored agent: cutoff %v, %d outcomes, goal %v, want %v, %d and %v; the lowest value so far bounds the cutoff", choice+1, restored.cutoff.value, len(restored.outcomes), goal, want.cutoff, want.window, wantGoal)
		}
	}
}

// While the warm-up lasts all goals come from the transition's own future;
// then from the mix.
func TestMEGAReplayGoal(t *testing.T) {
	const n, horizon, draws = 23, 5, 20000
	a := numberedAgent(t, "mega", n, horizon)
	for _, test := range []struct {
		step                                        int
		real, future, actual, achieved, behavioural float64
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
				achieved, pursued := test.achieved/n, test.behavioural/n
				if i <= j && j < end {
					achieved += test.future / float64(end-i)
				}
				if j == i {
					pursued += test.real
				}
				for goal, p := range map[int]float64{j: achieved, -1 - j: pursued, 1000 + j: test.actual / n} {
					if d := math.Abs(float64(counts[goal]) - draws*p); d > 5*math.Sqrt(draws*p*(1-p)) {
						t.Errorf("step %d, transition %d: goal %d drawn %d times of %d, want about %.0f", test.step, i, goal, counts[goal], draws, draws*p)
					}
					delete(counts, goal)
				}
			}
			if len(counts) > 0 {
				t.Errorf("step %d, transition %d: other goals %v", test.step, i, counts)
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
			p := 1 / float64(test.seen)
			if d := math.Abs(float64(count) - megaFit*p); x < 0 || x >= float64(test.seen) || d > 5*math.Sqrt(megaFit*p*(1-p)) {
				t.Errorf("%d transitions: the density has %v %d times", test.n, x, count)
			}
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
	trainTo(t, a, 200, func() error {
		i := a.step - 1
		goal := at(a.replay.goal, i, 2)
		switch {
		case i%p.Horizon > 0:
			if before := at(a.replay.goal, i-1, 2); !slices.Equal(goal, before) {
				t.Errorf("at step %d the goal goes from %v to %v", i, before, goal)
			}
		case i == 0:
			if !slices.Equal(goal, at(a.replay.desired, 0, 2)) {
				t.Errorf("the first goal is %v, the environment's %v", goal, at(a.replay.desired, 0, 2))
			}
		default:
			e = 0
			found := false
			for j := range i {
				found = found || slices.Equal(goal, at(a.replay.nextAchieved, j, 2))
			}
			if !found {
				t.Errorf("at step %d the goal %v has not been achieved before", i, goal)
			}
		}
		if a.step%p.Horizon > 0 {
			now := at(a.replay.nextAchieved, i, 2)
			if math.Hypot(now[0]-goal[0], now[1]-goal[1]) < 0.35 {
				e++
			}
		}
		most = max(most, e)
		if got, want := a.curriculum.randomAction(a), 0.1+0.1*float64(e); math.Abs(got-want) > 1e-12 || m.succeeded != (e > 0) {
			t.Errorf("after step %d and %d steps at the goal: random with probability %v, success %t", a.step, e, got, m.succeeded)
		}
		return nil
	})
	if most < 2 || a.goalsSet != 200/p.Horizon {
		t.Errorf("at most %d steps at a goal, %d goals: this run shows little", most, a.goalsSet)
	}
}

// A NaN among the coordinates is a NaN of the density, not a point left out.
func TestLogDensityNaN(t *testing.T) {
	nan, scratch := math.NaN(), make([]float64, 2)
	for _, test := range []struct{ points, x []float64 }{
		{[]float64{0, 0, nan, 1}, []float64{0, 0}},
		{[]float64{nan, 1, 0, 0}, []float64{0, 0}},
		{[]float64{0, 0, 1, 1}, []float64{nan, 0}},
	} {
		if got := logDensity(test.points, test.x, 0.1, scratch); got == got {
			t.Errorf("points %v, x %v: %v, want NaN", test.points, test.x, got)
		}
	}
}

// A fit to 10,000 points and the density of 100 candidates, as at the beginning
// of every episode.
func BenchmarkMEGADensity(b *testing.B) {
	p := Default()
	p.Curriculum = "mega"
	a, _ := walked(b, p, 20_000)
	m := a.curriculum.(*mega)
	for b.Loop() {
		points := m.density.points[:0]
		for range megaFit {
			points = append(points, at(a.replay.nextAchieved, a.goalDraws.index(a.replay.n), 2)...)
		}
		m.density.fit(points, 2, megaBandwidth)
		for range megaCandidates {
			m.density.log(at(a.replay.nextAchieved, a.goalDraws.index(a.replay.n), 2))
		}
	}
}

// TestMEGARandomActions has the probability that the run's first reached goal
// changes.
func TestMEGARandomActions(t *testing.T) {
	p := tinyPreset(Default())
	p.Curriculum, p.RandomAction, p.RandomActionLater, p.RandomActionReached = "mega", 0.7, 0.2, 0
	a := newMazeAgent(t, p, 1)
	for explored, want := range map[bool]float64{false: 0.7, true: 0.2} {
		if a.explored = explored; a.curriculum.randomAction(a) != want {
			t.Errorf("explored %v: %v, want %v", explored, a.curriculum.randomAction(a), want)
		}
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
