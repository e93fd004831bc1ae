package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// twinVariance is the variance of a raw z.
func twinVariance(z float64) float64 { return math.Log1p(math.Exp(z)) + 1e-6 }

// twinGaussian is the loss of one row of means and, last, a raw variance, times
// the number of components.
func twinGaussian(p, s []float64) float64 {
	loss, variance := 0.0, twinVariance(p[len(s)])
	for c := range s {
		loss += math.Pow(s[c]-p[c], 2)/variance + math.Log(variance)
	}
	return loss
}

// The loss and its gradient, that of the raw variance included, are those of
// central differences.
func TestGaussianLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, width := range []int{1, 2, 3} {
		for range 20 {
			rows := 1 + rng.IntN(5)
			p, s := randomRows(rng, rows, width+1), randomRows(rng, rows, width)
			var inputs []*float64
			for _, row := range p {
				row[width] = float64(float32(-2 + 4*rng.NormFloat64()))
				for i := range row {
					inputs = append(inputs, &row[i])
				}
			}
			loss := func() float64 {
				sum := 0.0
				for r := range rows {
					sum += twinGaussian(p[r], s[r])
				}
				return sum / float64(rows*width)
			}
			dp := make([]float32, rows*(width+1))
			got := GaussianLoss(dp, table("p", p, 0).data, table("s", s, 0).data, width)
			near(t, "loss", []float32{float32(got)}, []float64{loss()})
			nearGradient(t, fmt.Sprint("width ", width), dp, twinGradient(inputs, loss))
		}
	}
	// By hand: with z = ln(e-1) the variance is 1 + 1e-6, so that the loss of an
	// error of 2 is 4, its gradient 2·2, and that of z (1 - 4) sigmoid(z).
	z := math.Log(math.E - 1)
	dp := make([]float32, 2)
	got := GaussianLoss(dp, []float32{3, float32(z)}, []float32{1}, 1)
	near(t, "by hand", append(dp, float32(got)), []float64{4, -3 * (math.E - 1) / math.E, 4})
	// Where the variance is as small or as large as it can get, all is finite.
	for _, z := range []float32{-1e30, -800, 800, 1e30} {
		if loss := GaussianLoss(dp, []float32{1, z}, []float32{2}, 1); !finite(loss) || !finite(float64(dp[0])) || !finite(float64(dp[1])) {
			t.Errorf("raw variance %v: loss %v, gradient %v", z, loss, dp)
		}
	}
}

// gaussianCase is a gradientCase of Deep Ensembles.
func gaussianCase(seed uint64, authors bool) (c gradientCase, u *pun) {
	c = newGradientCase(seed)
	c.still.Uncertainty, c.still.AuthorsForm = "ensemble", authors
	u = newEnsemble(&c.still, []int{9, 5, 7}, newArchitecture(&c.still, Sizes{Observation: 3}), nil)
	u.reserve(len(c.b.s))
	rng := rand.New(rand.NewPCG(seed, 5))
	for i, critic := range u.critics {
		c.heads[i] = randomLayer(rng, 7, 4)
		critic.q.load("critic", c.critics[i])
		critic.head.load("head", c.heads[i])
	}
	return c, u
}

// Members learn each from its own target, and their heads by the Gaussian loss,
// in the critics' step, on their own, and through the backbone.
func TestEnsembleGradients(t *testing.T) {
	for seed := range uint64(2) {
		for _, form := range []string{"joint", "together", "apart", "backbone"} {
			c, u := gaussianCase(seed, false)
			p := c.still
			p.HeadOwnDraw, p.PredictiveGradient = form != "joint" && form != "together", gradientOfForm(form)
			if form == "backbone" {
				u = newEnsemble(&p, []int{9, 5, 7}, newArchitecture(&p, Sizes{Observation: 3}), nil)
				u.depart(&p)
				for i, critic := range u.critics {
					critic.q.load("critic", c.critics[i])
					critic.head.load("head", c.heads[i])
				}
				u.reserve(len(c.b.s))
			}
			rng := rand.New(rand.NewPCG(seed, 6))
			b := c.b.batch()
			targets := randomRows(rng, 3, len(c.b.s))
			b.y = nil
			for _, y := range targets {
				b.y = append(b.y, float32s(y))
			}
			headsBatch := headsOf(b, &p)
			u.learnBy(b, headsBatch, &p)
			if u.headsApart {
				u.learnHeads(headsBatch)
			}
			for i, critic := range c.critics {
				own := c.b
				own.y = targets[i]
				params := twinParams(critic...)
				got := tenfold(u.critics[i].adam.m)
				head := func() float64 {
					sum := 0.0
					for k := range c.b.s {
						sum += twinGaussian(twinPrediction(critic, c.heads[i], c.b, k), c.b.next[k])
					}
					return sum / float64(3*len(c.b.s))
				}
				nearGradient(t, form+" critic", got[:len(params)], twinGradient(params, func() float64 {
					loss := twinCriticLoss(critic, own, false)
					if form == "joint" {
						loss += head()
					}
					return loss
				}))
				if rest := got[len(params):]; slices.ContainsFunc(rest, func(v float32) bool { return v != 0 }) {
					t.Errorf("%s: the critic's optimizer moves the head by %v", form, rest)
				}
				params = twinParams(c.heads[i])
				if form == "backbone" {
					params = append(twinParams(critic...), params...)
				}
				nearGradient(t, form+" head", tenfold(u.critics[i].headAdam.m), twinGradient(params, head))
			}
		}
	}
}

// twinScore is a score of one row of predictions, a row per head.
func twinScore(authors bool, p [][]float64) float64 {
	g, width := float64(len(p)), len(p[0])-1
	variance := 0.0
	for _, head := range p {
		variance += twinVariance(head[width]) / g
	}
	if authors {
		return variance
	}
	var means [][]float64
	for _, head := range p {
		means = append(means, head[:width])
	}
	return twinDeviation(means)
}

// The two scores are those of naive code, from predictions and from networks.
func TestEnsembleScores(t *testing.T) {
	for seed := range uint64(2) {
		for _, authors := range []bool{false, true} {
			c, u := gaussianCase(seed, authors)
			rows := len(c.b.s)
			got := make([]float64, rows)
			u.deviation(got, c.b.x())
			var want []float64
			for k := range rows {
				var p [][]float64
				for i, q := range c.critics {
					p = append(p, twinPrediction(q, c.heads[i], c.b, k))
				}
				want = append(want, twinScore(authors, p))
			}
			near(t, fmt.Sprint("authors' form ", authors, ", seed ", seed), float32s(got), want)
		}
	}
}

// An agent's targets are the members' own, without a minimum; so are those of
// Bootstrapped Q-networks. The clip is that of all targets.
func TestOwnTargets(t *testing.T) {
	for _, uncertainty := range []string{"ensemble", "bootstrap"} {
		for _, clip := range []bool{false, true} {
			p := Paper()
			p.Uncertainty, p.ClipReturns = uncertainty, clip
			a := targetAgent(p)
			b := &a.scratch.batch
			before := *a.learning.pcg
			a.target(b)
			if before != *a.learning.pcg {
				t.Errorf("%s: a pair of critics is drawn, which nobody needs", uncertainty)
			}
			actor := a.policy.target.vector()
			for i, c := range a.pun.critics {
				for k := range b.r {
					s, g := float64s(b.next.row(k)[:3]), float64s(b.next.row(k)[3:5])
					y := float64(b.r[k]) + 0.99*twinValue(c.target.vector(), s, g, twinAct(actor, s, g))
					if clip {
						y = math.Max(-100, math.Min(y, 0))
					}
					near(t, fmt.Sprint(uncertainty, ", critic ", i), b.y[i][k:k+1], []float64{y})
				}
			}
		}
	}
}
