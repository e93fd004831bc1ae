package qta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Deviations are the population's: half the difference of two, and of 0, 0 and 3
// the root of 2. Probabilities are proportional to them.
func TestVDSProbabilities(t *testing.T) {
	σ, p := make([]float64, 3), make([]float64, 3)
	valueDisagreement(σ, [][]float32{{0, 5, -1}, {0, 5, -7}, {3, 5, -4}})
	vdsProbabilities(p, σ)
	a, b := math.Sqrt(2), math.Sqrt(6)
	if diff := cmp.Diff([][]float64{{a, 0, b}, {a / (a + b), 0, b / (a + b)}}, [][]float64{σ, p}, approximately); diff != "" {
		t.Errorf("deviations and probabilities (-want +got):\n%s", diff)
	}
	vdsProbabilities(p, make([]float64, 3))
	if want := []float64{1. / 3, 1. / 3, 1. / 3}; !slices.Equal(p, want) {
		t.Errorf("probabilities %v without disagreement", p)
	}
}

// vdsAgent returns an agent whose members differ from their targets.
func vdsAgent(t testing.TB) (*Agent, *vds, *MazeEnv) {
	t.Helper()
	p := tinyPreset(Default())
	p.Curriculum = "vds"
	p.NormalizerClip = 100 // of no effect: the twins do not scale
	a, env := walked(t, p, 50)
	v := a.curriculum.(*vds)
	rng := rand.New(rand.NewPCG(2, 0))
	for _, params := range a.parameters() {
		for i := range params.values {
			params.values[i] = float32(rng.NormFloat64())
		}
	}
	return a, v, env
}

// A goal is drawn from all free points, by the disagreement of the members'
// clipped values of the policy's action there.
func TestVDSGoal(t *testing.T) {
	a, v, env := vdsAgent(t)
	draws := newStream(0, forGoals)
	*draws.pcg = *a.goalDraws.pcg
	goal := slices.Clone(nextGoal(t, a, true))
	actor := a.policy.net.vector()
	var σ []float64
	sum, clipped := 0.0, 0
	for k := range vdsCandidates {
		g := env.SampleGoal(draws.Rand)
		if !slices.Equal(g, at(v.goals, k, 2)) {
			t.Fatalf("candidate %d is %v, want %v", k, at(v.goals, k, 2), g)
		}
		if k%10 != 0 {
			continue // the rest are as good
		}
		var q []float64
		for _, c := range v.members.critics {
			value := twinValue(c.q.vector(), a.observation, g, twinAct(actor, a.observation, g))
			if value < -100 || value > 0 {
				clipped++
			}
			q = append(q, math.Max(-100, math.Min(value, 0)))
		}
		_, s := moments(q)
		near(t, fmt.Sprint("deviation of candidate ", k), []float32{float32(v.std[k])}, []float64{s})
		σ = append(σ, s)
	}
	for _, s := range v.std {
		sum += s
	}
	near(t, "probability", []float32{float32(v.p[10])}, []float64{σ[1] / sum})
	if want := at(v.goals, drawFrom(v.p, draws), 2); !slices.Equal(goal, want) {
		t.Errorf("the goal is %v, want %v", goal, want)
	}
	if clipped == 0 || clipped == 300 {
		t.Errorf("%d of 300 values clipped", clipped)
	}
	if nextGoal(t, a, false) != nil {
		t.Error("a new goal after a success")
	}
}

// countedEnv notes what rewards are asked for.
type countedEnv struct {
	*MazeEnv
	asked [][2]*float64
}

func (e *countedEnv) Reward(achieved, goal []float64) float64 {
	e.asked = append(e.asked, [2]*float64{&achieved[0], &goal[0]})
	return e.MazeEnv.Reward(achieved, goal)
}

// After an episode every member learns from minibatches of its own, whose goals
// are those pursued, towards its own target of before, with the agent's policy;
// then, once, the targets move.
func TestVDSLearns(t *testing.T) {
	a, v, env := vdsAgent(t)
	counted := &countedEnv{MazeEnv: env}
	a.env = counted
	var targets []vectorNet
	var before [][]float32
	for i, c := range v.members.critics {
		targets = append(targets, v.members.critics[i].target.vector())
		before = append(before, slices.Clone(c.params))
	}
	// Half of the last member's targets are below the clip.
	actor := a.policy.net.vector()
	var returns []float64
	for i := range a.replay.n {
		s, g := at(a.replay.nextObservation, i, 2), at(a.replay.goal, i, 2)
		returns = append(returns, -1+0.99*twinValue(targets[2], s, g, twinAct(actor, s, g)))
	}
	slices.Sort(returns)
	low := math.Min(-1, returns[len(returns)/2])
	a.params.LowestReturn = low
	agent := slices.Clone(a.policy.net.params)
	for _, c := range a.pun.critics {
		agent = append(agent, c.params...)
	}
	if err := v.endEpisode(a); err != nil {
		t.Fatal(err)
	}
	if len(counted.asked) != 100*3*1000 {
		t.Fatalf("%d transitions learned from, want 100 minibatches of 1000 for each of 3 members", len(counted.asked))
	}
	index := map[*float64]int{}
	for i := range a.replay.n {
		index[&at(a.replay.nextAchieved, i, 2)[0]] = i
	}
	for _, pair := range counted.asked {
		if i, ok := index[pair[0]]; !ok || pair[1] != &at(a.replay.goal, i, 2)[0] {
			t.Fatal("a goal is not the one that was pursued")
		}
	}
	for b := 1000; b < len(counted.asked); b += 1000 {
		if slices.Equal(counted.asked[b-1000:b], counted.asked[b:b+1000]) {
			t.Fatalf("minibatches %d and %d are the same", b/1000-1, b/1000)
		}
	}
	// The last minibatch is still there.
	clipped := 0
	for k := range 50 {
		s, g := float64s(v.batch.next.row(k)[:2]), float64s(v.batch.next.row(k)[2:4])
		y := float64(v.batch.r[k]) + 0.99*twinValue(targets[2], s, g, twinAct(actor, s, g))
		if y < low || y > 0 {
			clipped++
		}
		near(t, "target", v.batch.y[2][k:k+1], []float64{math.Max(low, math.Min(y, 0))})
	}
	if clipped == 0 || clipped == 50 {
		t.Errorf("%d of 50 targets clipped", clipped)
	}
	for i, c := range v.members.critics {
		n := len(c.q.params)
		if slices.Equal(before[i][:n], c.params[:n]) || !slices.Equal(before[i][n:], c.params[n:]) {
			t.Errorf("member %d has not learned, or its head has", i)
		}
		var want []float64
		for k, p := range twinParams(targets[i]...) {
			want = append(want, 0.95**p+0.05*float64(c.params[k]))
		}
		near(t, fmt.Sprint("target of member ", i), v.members.critics[i].target.params, want)
	}
	after := slices.Clone(a.policy.net.params)
	for _, c := range a.pun.critics {
		after = append(after, c.params...)
	}
	if !slices.Equal(agent, after) {
		t.Error("the agent's own networks have changed")
	}
}

// A sampledEnv is a maze whose goals are drawn by others.
type sampledEnv struct {
	*MazeEnv
	goal []float64
}

func (s *sampledEnv) SampleGoal(*rand.Rand) []float64 { return s.goal }

// A goal that is none ends training.
func TestVDSGoalProblem(t *testing.T) {
	for want, goal := range map[string][]float64{
		"the goal that SampleGoal returned has 1 numbers, Sizes says 2": {1},
		"the goal that SampleGoal returned has 3 numbers, Sizes says 2": {1, 2, 3},
		"the goal that SampleGoal returned is [NaN 1]":                  {math.NaN(), 1},
	} {
		a, v, env := vdsAgent(t)
		a.env = &sampledEnv{env, goal}
		var broken *EnvError
		if _, err := v.goal(a, true); !errors.As(err, &broken) || broken.Problem != want {
			t.Errorf("%v: error %v, want %q", goal, err, want)
		}
	}
}
