package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTDTarget has values worked out by hand. It tests QTA, Equation 1.
func TestTDTarget(t *testing.T) {
	y := make([]float32, 4)
	TDTarget(y, []float32{-1, 0, -1, -1}, []float32{-2, -8, 4, 0}, []float32{-4, -6, 2, 0}, 0.5)
	if diff := cmp.Diff([]float32{-3, -4, 0, -1}, y); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// targetAgent returns an agent whose target networks differ from the others,
// with a minibatch in its scratch.
func targetAgent(p Params) *Agent {
	p.HiddenSize, p.HiddenLayers, p.Batch, p.Critics = 6, 2, 16, 4
	a, err := NewAgent(p, Sizes{Observation: 3, Goal: 2, Action: 2}, 5)
	if err != nil {
		panic(err)
	}
	a.reserve(1)
	rng := rand.New(rand.NewPCG(2, 0))
	for _, params := range a.parameters() {
		for i := range params.values {
			params.values[i] = 3 * float32(rng.NormFloat64())
		}
	}
	b := &a.scratch.batch
	for i := range b.next.data {
		b.next.data[i] = float32(rng.NormFloat64())
	}
	for i := range b.r {
		b.r[i] = -float32(rng.IntN(2))
	}
	return a
}

// The target is Equation 1 with networks, and the clip that Params names, by
// the twins; with noise, a' stays within the noise's bound and the action
// space. It tests QTA, Equation 1.
func TestAgentTarget(t *testing.T) {
	for _, test := range []struct {
		change    func(*Params)
		low, high float64
	}{
		{func(p *Params) { p.ClipReturns = false }, math.Inf(-1), math.Inf(1)},
		{func(p *Params) {}, -100, 0},
		{func(p *Params) { p.Discount = 0.75 }, -4, 0},
		{func(p *Params) { p.LowestReturn = -2 }, -2, 0},
		{func(p *Params) { p.TargetNoise, p.TargetClip = 0.5, 0.25 }, -100, 0},
	} {
		p := Paper()
		test.change(&p)
		a := targetAgent(p)
		b := &a.scratch.batch
		a.learning = pairScript([]int{3, 1}, 4)
		if p.TargetNoise > 0 {
			a.learning = newStream(1, forLearning)
		}
		a.target(b)
		actor := a.policy.target.vector()
		clipped, moved := 0, 0
		for k := range b.y[0] {
			s, g := float64s(b.next.row(k)[:3]), float64s(b.next.row(k)[3:5])
			actions := twinAct(actor, s, g)
			if p.TargetNoise > 0 {
				for c, v := range b.next.row(k)[5:] {
					if d := math.Abs(float64(v) - actions[c]); d > 0.25+1e-5 || math.Abs(float64(v)) > 1 {
						t.Errorf("a' is %v, without noise %v", v, actions[c])
					} else if d > 1e-5 {
						moved++
					}
				}
				continue
			}
			y := math.Min(twinValue(a.pun.targets[3].vector(), s, g, actions), twinValue(a.pun.targets[1].vector(), s, g, actions))
			y = float64(b.r[k]) + p.Discount*y
			if y < test.low || y > test.high {
				clipped++
			}
			near(t, fmt.Sprintf("target clipped to [%v, %v]", test.low, test.high), b.y[0][k:k+1], []float64{min(max(y, test.low), test.high)})
		}
		if p.TargetNoise > 0 && moved < 16 {
			t.Errorf("%d of 32 components of a' moved by noise", moved)
		} else if p.TargetNoise == 0 && p.ClipReturns && clipped == 0 {
			t.Error("no target of this test is clipped")
		}
	}
}

// Each ordered pair of different critics is as likely as another.
func TestDrawPair(t *testing.T) {
	rng := newStream(3, forLearning)
	const n, draws = 4, 60000
	counts := map[[2]int]int{}
	for range draws {
		i, j := drawPair(rng, n)
		counts[[2]int{i, j}]++
	}
	if len(counts) != n*(n-1) {
		t.Errorf("%d different pairs, want %d", len(counts), n*(n-1))
	}
	for pair, c := range counts {
		p := 1.0 / (n * (n - 1))
		if d := math.Abs(float64(c) - draws*p); pair[0] == pair[1] || d > 5*math.Sqrt(draws*p*(1-p)) {
			t.Errorf("pair %v drawn %d times of %d", pair, c, draws)
		}
	}
}

// TestUncertainty holds the uncertainty of candidates, in pieces of all sizes,
// to the twins. It tests QTA, Equation 5.
func TestUncertainty(t *testing.T) {
	for _, rows := range []int{1, 3, 7, 100} {
		c := newGradientCase(4)
		rng := rand.New(rand.NewPCG(8, 0))
		u := ensemble(c.still, c.critics, c.heads, rows)
		const n, d = 7, 3
		b := randomBatch(rng, n, Sizes{Observation: 3, Goal: 2, Action: 4}, 3)
		actions := randomRows(rng, d*n, 4)
		want := make([]float64, n)
		for k := range want {
			for j := range d {
				var predictions [][]float64
				b.a[k] = actions[j*n+k]
				for i, q := range c.critics {
					predictions = append(predictions, twinPrediction(q, c.heads[i], b, k))
				}
				want[k] += twinDeviation(predictions) / d
			}
		}
		got := make([]float64, n)
		u.uncertainty(nil, got, b.x(), table("actions", actions, 0))
		near(t, fmt.Sprintf("in pieces of %d", rows), float32s(got), want)
	}
}

// TestHeadDeviation has deviations worked out by hand: of 1, 2, 3 it is 1, of 0,
// 0, 6 it is the root of 12.
func TestHeadDeviation(t *testing.T) {
	u := make([]float64, 2)
	HeadDeviation(u, [][]float32{{1, 0, 5, 7}, {2, 0, 5, 7}, {3, 6, 5, 7}}, 2)
	if want := []float64{(1 + math.Sqrt(12)) / 2, 0}; math.Abs(u[0]-want[0]) > 1e-15 || u[1] != 0 {
		t.Errorf("HeadDeviation = %v, want %v", u, want)
	}
}

func TestMeanValues(t *testing.T) {
	c := newGradientCase(6)
	u := ensemble(c.still, c.critics, c.heads, 6)
	got := make([]float64, 6)
	u.meanValues(nil, got, c.b.x())
	var want []float64
	for k := range got {
		sum := 0.0
		for _, q := range c.critics {
			sum += twinValue(q, c.b.s[k], c.b.g[k], c.b.a[k])
		}
		want = append(want, sum/3)
	}
	near(t, "mean values", float32s(got), want)
}

// At a prediction without error the norm has no gradient; zero is right.
func TestNormAtZero(t *testing.T) {
	dp := []float32{1, 1, 1, 1}
	loss := predictiveNorm(dp, []float32{1, 2, 3, 4}, []float32{1, 2, 0, 0}, 2)
	if want := []float32{0, 0, 0.3, 0.4}; loss != 2.5 || !slices.Equal(dp, want) {
		t.Errorf("loss %v and gradient %v, want 2.5 and %v", loss, dp, want)
	}
}

// Targets start equal to their critics, and critics differ.
func TestNewPUN(t *testing.T) {
	u := newPUN(Small(), Sizes{2, 2, 2}, rand.New(rand.NewPCG(1, 0)))
	for i, c := range u.critics {
		if !slices.Equal(c.q.params, u.targets[i].params) {
			t.Errorf("critic %d and its target differ", i)
		}
		if other := u.critics[(i+1)%len(u.critics)]; slices.Equal(c.params, other.params) {
			t.Errorf("critics %d and %d start equal", i, (i+1)%len(u.critics))
		}
		if &c.q.params[0] == &u.targets[i].params[0] {
			t.Errorf("critic %d and its target share memory", i)
		}
	}
}
