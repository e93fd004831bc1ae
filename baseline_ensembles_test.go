package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

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
		"Uncertainty=ensemble PredictiveGradient=head",
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
	for _, z := range []float32{-1e30, -800, 800, 1e30} { // the least and the largest variance
		dp := make([]float32, 2)
		if loss := GaussianLoss(dp, []float32{1, z}, []float32{2}, 1); !finite(loss + float64(dp[0]) + float64(dp[1])) {
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
