package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Each element is clipped on its own, unless the limit is 0; NaN stays, so that it
// is noticed.
func TestClipGradient(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for limit, want := range map[float64][]float32{
		0:   {nan, 0, inf, -inf, 0.5, -0.5, 0.75, -7, 0.25},
		0.5: {nan, 0, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.25},
	} {
		g := []float32{nan, 0, inf, -inf, 0.5, -0.5, 0.75, -7, 0.25}
		clipGradient(g, limit)
		if diff := cmp.Diff(want, g, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("limit %v (-want +got):\n%s", limit, diff)
		}
	}
}

// moments1 returns the first moment of each optimizer of an agent: after its
// first step a tenth of the gradient that it was given.
func moments1(a *Agent) [][]float32 {
	m := [][]float32{a.policy.adam.m}
	for i := range a.pun.critics {
		m = append(m, a.pun.critics[i].adam.m, a.pun.critics[i].headAdam.m)
	}
	return m
}

// With GradientClip every optimizer is given the gradient that it would be
// given without, each element clipped. The critics stand still, so that the
// policy's gradient is the same.
func TestGradientClip(t *testing.T) {
	for _, changes := range []string{
		"",
		"HeadOwnDraw=true",
		"HeadOwnDraw=true PredictiveGradient=head",
		"HeadOwnDraw=true PredictiveGradient=separate",
		"HeadOwnDraw=true Uncertainty=bootstrap",
		"ActorOwnDraw=true Uncertainty=ensemble",
	} {
		p := changed("", tinyPreset(Default()), changes).Params
		p.CriticRate = 0
		update := func(clip float64) [][]float32 {
			p.GradientClip = clip
			if p.PredictiveGradient == "separate" {
				p.PredictiveRate = 0 // it moves the critics too
			}
			a, _ := walked(t, p, 50)
			if err := a.learn(); err != nil {
				t.Fatal(err)
			}
			return moments1(a)
		}
		free := update(0)
		for k := range free {
			var sizes []float64
			for _, m := range free[k] {
				if m != 0 {
					sizes = append(sizes, math.Abs(float64(m)))
				}
			}
			slices.Sort(sizes)
			clip := 10 * sizes[len(sizes)/2] // of half the elements
			bound := float32(float32(1-adamBeta1) * float32(clip))
			clipped := update(clip)[k]
			smaller := 0
			for i, m := range free[k] {
				want := min(max(m, -bound), bound)
				if want != m {
					smaller++
				}
				if d := math.Abs(float64(clipped[i] - want)); d > 1e-6*float64(bound) {
					t.Errorf("%v, optimizer %d, element %d: moment %v of %v, want %v", changes, k, i, clipped[i], m, want)
				}
			}
			if smaller == 0 || smaller == len(free[k]) {
				t.Errorf("%v, optimizer %d: %d of %d elements clipped: this shows nothing", changes, k, smaller, len(free[k]))
			}
		}
	}
}

// The targets move with every TargetEvery-th update, to the Polyak average of
// what they were and what the networks then are, and stand in between.
func TestTargetEvery(t *testing.T) {
	for _, test := range []struct{ every, burst int }{{1, 0}, {3, 0}, {4, 4}, {8, 4}} {
		p := tinyPreset(Default())
		p.Curriculum, p.Critics = "random", 2
		p.TargetEvery, p.UpdatesPerEpisode, p.UpdatesPerStep = test.every, test.burst, 1
		a := newMazeAgent(t, p, 3)
		targets, online := [][]float32{a.policy.target.params}, [][]float32{a.policy.net.params}
		for _, c := range a.pun.critics {
			targets, online = append(targets, c.target.params), append(online, c.q.params)
		}
		moves := 0
		before := each(targets, slices.Clone)
		trainTo(t, a, 50, func() error {
			due := updatesOf(a)/test.every > moves
			moves = updatesOf(a) / test.every
			for k, target := range targets {
				if slices.Equal(before[k], target) == due {
					t.Fatalf("%+v: target %d stands in step %d, or moves when it is not due", test, k, a.step)
				}
				if !due {
					continue
				}
				var want []float64
				for i, v := range before[k] {
					want = append(want, p.Polyak*float64(v)+(1-p.Polyak)*float64(online[k][i]))
				}
				near(t, fmt.Sprintf("%+v: target %d after step %d", test, k, a.step), target, want)
				before[k] = slices.Clone(target)
			}
			return nil
		})
		if moves < 2 {
			t.Errorf("%+v: the targets moved %d times: this shows little", test, moves)
		}
	}
}

// One critic learns, as in DDPG, from its own target, and never disagrees.
func TestOneCritic(t *testing.T) {
	p := tinyPreset(MEGA())
	p.Critics, p.Curriculum = 1, "her"
	a, _ := walked(t, p, 50)
	rng := rand.New(rand.NewPCG(2, 0))
	for _, params := range a.parameters() {
		for i := range params.values {
			params.values[i] = float32(rng.NormFloat64())
		}
	}
	if i, j := drawPair(a.learning, 1); i != 0 || j != 0 {
		t.Errorf("the pair of one critic is %d and %d", i, j)
	}
	b := &a.scratch.batch
	if err := a.minibatch(b, a.sampler); err != nil {
		t.Fatal(err)
	}
	a.target(b)
	actor, target := a.policy.target.vector(), a.pun.critics[0].target.vector()
	for k := range b.x.rows {
		s, g := float64s(b.next.row(k)[:2]), float64s(b.next.row(k)[2:4])
		y := float64(b.r[k]) + 0.98*twinValue(target, s, g, twinAct(actor, s, g))
		near(t, "target", b.y[0][k:k+1], []float64{math.Max(-50, math.Min(y, 0))})
	}

	for _, uncertainty := range []string{"pun", "ensemble"} {
		p.Uncertainty = uncertainty
		a := agentAfter(t, p, 15)
		points := randomRows(rng, 7, 2)
		s := a.Survey([]float64{1.5, 1.5}, []float64{2.5, 2.5}, points, points, 3)
		for k := range s.Deviation {
			if s.Deviation[k] != 0 || !finite(s.Value[k]) || math.Abs(s.Probability[k]-1./7) > 1e-15 {
				t.Errorf("%s, point %d: deviation %v, value %v, probability %v", uncertainty, k, s.Deviation[k], s.Value[k], s.Probability[k])
			}
		}
	}
}

// The numbers of the published methods, from the sources that their files name.
func TestPublishedConstants(t *testing.T) {
	for _, test := range []struct {
		what      string
		got, want float64
	}{
		{"MEGA: candidates of a choice", megaCandidates, 100},
		{"MEGA: goals that the density is fitted to", megaFit, 10_000},
		{"MEGA: bandwidth", megaBandwidth, 0.1},
		{"MEGA: added to deviations", megaStdFloor, 1e-4},
		{"MEGA: highest cutoff", megaCutoff, -3},
		{"MEGA: episodes of the success rate", megaWindow, 10},
		{"MEGA: success rate from which the cutoff falls", megaHigh, 0.7},
		{"MEGA: success rate up to which it rises", megaLow, 0.3},
		{"MEGA: random actions for each step at the goal", megaGoalRandom, 0.1},
		{"MEGA: steps of future goals alone", megaFutureOnly, 25_000},
		{"VDS: members", vdsMembers, 3},
		{"VDS: candidates of a choice", vdsCandidates, 1000},
		{"VDS: updates after an episode", vdsUpdates, 100},
		{"VDS: transitions of an update", vdsBatch, 1000},
		{"VDS: Adam's step", vdsRate, 1e-3},
		{"VDS: what targets keep", vdsPolyak, 0.95},
		{"RND: units", rndUnits, 64},
		{"RND: Adam's step", rndRate, 1e-4},
		{"bootstrap: chance of a transition", maskProbability, 0.5},
		{"ensembles: least variance", varianceFloor, 1e-6},
		{"authors: largest noise on a'", targetNoiseClip, 0.5},
		{"authors: decay of critics", criticDecay, 1e-9},
		{"authors: decay of heads", headDecay, 2.5e-10},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
}
