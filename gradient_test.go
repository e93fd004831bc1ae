package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The twins compute in float64 what the package computes in float32, one
// number at a time, and share no arithmetic with it. Their gradients are
// central differences.

// twinForward runs one row through a net. It returns the last hidden layer's
// output too.
func twinForward(n vectorNet, x []float64) (latent, y []float64) {
	for l, layer := range n {
		latent = x
		y = slices.Clone(layer.B)
		for j := range y {
			for i := range x {
				y[j] += x[i] * layer.W[i][j]
			}
			if l < len(n)-1 {
				y[j] = math.Max(0, y[j])
			}
		}
		x = y
	}
	return latent, y
}

// twinAct is a policy's action.
func twinAct(n vectorNet, s, g []float64) []float64 {
	_, a := twinForward(n, slices.Concat(s, g))
	for i := range a {
		a[i] = math.Tanh(a[i])
	}
	return a
}

func twinValue(n vectorNet, s, g, a []float64) float64 {
	_, q := twinForward(n, slices.Concat(s, g, a))
	return q[0]
}

// twinBatch is a minibatch, a row per transition.
type twinBatch struct {
	s, g, a, next [][]float64
	r, y, w       []float64
}

func twinCriticLoss(critic vectorNet, b twinBatch, weighted bool) float64 {
	loss := 0.0
	for k := range b.s {
		term := math.Pow(twinValue(critic, b.s[k], b.g[k], b.a[k])-b.y[k], 2)
		if weighted {
			term *= b.w[k]
		}
		loss += term
	}
	return loss / float64(len(b.s))
}

func twinPrediction(critic vectorNet, head vectorLayer, b twinBatch, k int) []float64 {
	latent, _ := twinForward(critic, slices.Concat(b.s[k], b.g[k], b.a[k]))
	_, p := twinForward(vectorNet{head}, latent)
	return p
}

func twinPredictiveLoss(critic vectorNet, head vectorLayer, b twinBatch, form string) float64 {
	loss := 0.0
	for k := range b.s {
		square := 0.0
		for c, p := range twinPrediction(critic, head, b, k) {
			square += math.Pow(p-b.next[k][c], 2)
		}
		if form == "norm" {
			square = math.Sqrt(square)
		}
		loss += square
	}
	return loss / float64(len(b.s))
}

func twinPolicyLoss(actor vectorNet, critics []vectorNet, b twinBatch, l2 float64) float64 {
	loss, components := 0.0, 0
	square := 0.0
	for k := range b.s {
		a := twinAct(actor, b.s[k], b.g[k])
		for _, c := range critics {
			loss -= twinValue(c, b.s[k], b.g[k], a) / float64(len(critics)*len(b.s))
		}
		for _, v := range a {
			square += v * v
			components++
		}
	}
	return loss + l2*square/float64(components)
}

// twinTarget is Equation 1 for one transition.
func twinTarget(actorTarget vectorNet, targets []vectorNet, b twinBatch, k int, γ float64, M []int) float64 {
	a := twinAct(actorTarget, b.next[k], b.g[k])
	return b.r[k] + γ*math.Min(twinValue(targets[M[0]], b.next[k], b.g[k], a), twinValue(targets[M[1]], b.next[k], b.g[k], a))
}

// twinDeviation is the mean over components of the sample deviation over heads.
func twinDeviation(predictions [][]float64) float64 {
	mean := 0.0
	for c := range predictions[0] {
		var one []float64
		for _, p := range predictions {
			one = append(one, p[c])
		}
		mean += twinSampleDeviation(one) / float64(len(predictions[0]))
	}
	return mean
}

// twinSampleDeviation is written by pairs: the variance is half the mean
// squared difference of two different elements.
func twinSampleDeviation(x []float64) float64 {
	square, pairs := 0.0, 0
	for i := range x {
		for j := range i {
			square += math.Pow(x[i]-x[j], 2)
			pairs++
		}
	}
	return math.Sqrt(square / float64(pairs) / 2)
}

// twinAdam is Algorithm 1 of Adam's paper, with bias-corrected moments.
type twinAdam struct {
	m, v map[*float64]float64
	t    int
}

func newTwinAdam() *twinAdam { return &twinAdam{m: map[*float64]float64{}, v: map[*float64]float64{}} }

func (a *twinAdam) step(params []*float64, gradient []float64, rate, decay float64) {
	a.t++
	for i, p := range params {
		g := gradient[i] + decay**p
		a.m[p] = 0.9*a.m[p] + 0.1*g
		a.v[p] = 0.999*a.v[p] + 0.001*g*g
		m, v := a.m[p]/(1-math.Pow(0.9, float64(a.t))), a.v[p]/(1-math.Pow(0.999, float64(a.t)))
		*p -= rate * m / (math.Sqrt(v) + 1e-8)
	}
}

func twinPolyak(target, online []*float64, ρ float64) {
	for i, p := range target {
		*p = ρ**p + (1-ρ)**online[i]
	}
}

// twinParams returns a layer's parameters in the order in which the package
// keeps them: weights by rows, then biases.
func twinParams(layers ...vectorLayer) []*float64 {
	var params []*float64
	for _, l := range layers {
		for _, row := range l.W {
			for i := range row {
				params = append(params, &row[i])
			}
		}
		for i := range l.B {
			params = append(params, &l.B[i])
		}
	}
	return params
}

// twinGradient returns the central differences of loss.
func twinGradient(params []*float64, loss func() float64) []float64 {
	const h = 1e-5
	var gradient []float64
	for _, p := range params {
		at := *p
		*p = at + h
		above := loss()
		*p = at - h
		below := loss()
		*p = at
		gradient = append(gradient, (above-below)/(2*h))
	}
	return gradient
}

func randomRows(rng *rand.Rand, rows, cols int) [][]float64 {
	x := make([][]float64, rows)
	for i := range x {
		x[i] = make([]float64, cols)
		for j := range x[i] {
			// Exact in float32, so that both sides see the same number.
			x[i][j] = float64(float32(rng.NormFloat64()))
		}
	}
	return x
}

func randomLayer(rng *rand.Rand, in, out int) vectorLayer {
	l := vectorLayer{randomRows(rng, in, out), randomRows(rng, 1, out)[0]}
	for _, p := range twinParams(l) {
		*p = float64(float32(*p / math.Sqrt(float64(in))))
	}
	return l
}

func randomNet(rng *rand.Rand, widths ...int) vectorNet {
	var n vectorNet
	for l := range len(widths) - 1 {
		n = append(n, randomLayer(rng, widths[l], widths[l+1]))
	}
	return n
}

func randomNets(rng *rand.Rand, n int, widths ...int) []vectorNet {
	nets := make([]vectorNet, n)
	for i := range nets {
		nets[i] = randomNet(rng, widths...)
	}
	return nets
}

func randomBatch(rng *rand.Rand, rows int, sizes Sizes, prediction int) twinBatch {
	b := twinBatch{
		s:    randomRows(rng, rows, sizes.Observation),
		g:    randomRows(rng, rows, sizes.Goal),
		a:    randomRows(rng, rows, sizes.Action),
		next: randomRows(rng, rows, prediction),
		y:    randomRows(rng, 1, rows)[0],
	}
	for range rows {
		b.r = append(b.r, -float64(rng.IntN(2)))
		b.w = append(b.w, float64(rng.Float32()))
	}
	return b
}

func (b twinBatch) x() matrix { return transitions(b.s, b.g, b.a) }

// batch returns the minibatch as the ensemble sees it.
func (b twinBatch) batch() *batch {
	return &batch{x: b.x(), y: [][]float32{float32s(b.y)}, head: table("next", b.next, 0)}
}

// near reports an error for the first element of got that is not e within
// 2e-5 (1 + |e|).
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, e := range want {
		if d := math.Abs(float64(got[i]) - e); !(d <= 2e-5*(1+math.Abs(e))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], e)
		}
	}
}

// gradientCase is a tiny problem of sizes all different.
type gradientCase struct {
	critics []vectorNet
	heads   []vectorLayer
	actor   vectorNet
	b       twinBatch
	still   Params // rates are zero: gradients are computed, networks stay
}

func newGradientCase(seed uint64) gradientCase {
	rng := rand.New(rand.NewPCG(seed, 1))
	sizes := Sizes{Observation: 3, Goal: 2, Action: 4}
	c := gradientCase{
		critics: randomNets(rng, 3, 9, 5, 7, 1),
		actor:   randomNet(rng, 5, 6, 5, 4),
		b:       randomBatch(rng, 6, sizes, 3),
		still:   Paper(),
	}
	for range c.critics {
		c.heads = append(c.heads, randomLayer(rng, 7, 3))
	}
	c.still.CriticRate, c.still.PredictiveRate, c.still.ActorRate = 0, 0, 0
	return c
}

// TestCriticGradient holds the critics' loss and gradient to the twin's, for
// the whole ensemble: after Adam's first step m is (1-β₁) times the gradient.
// It tests QTA, Equation 2.
//
// With PredictiveGradient joint the loss is the sum of Equations 2 and 4, the
// latter on the same minibatch or on one of its own.
func TestCriticGradient(t *testing.T) {
	for seed := range uint64(4) {
		for _, weighted := range []bool{false, true} {
			for _, form := range []string{"joint", "joint, own draw", "together", "apart"} {
				c := newGradientCase(seed)
				c.still.HeadOwnDraw = form == "apart" || form == "joint, own draw"
				joint := strings.HasPrefix(form, "joint")
				if c.still.PredictiveGradient = "head"; joint {
					c.still.PredictiveGradient, c.still.PredictiveWeight = "joint", 1.5
				}
				u := ensemble(c.still, c.critics, c.heads, len(c.b.s))
				b := c.b.batch()
				if weighted {
					b.weights = [][]float32{float32s(c.b.w)}
				}
				headsOf, heads := c.b, b
				if c.still.HeadOwnDraw {
					headsOf = randomBatch(rand.New(rand.NewPCG(seed, 8)), 6, Sizes{Observation: 3, Goal: 2, Action: 4}, 3)
					heads = headsOf.batch()
				}
				got, gotHead := u.learn(nil, b, heads, &c.still, false)
				mean, meanHead := 0.0, 0.0
				for i, critic := range c.critics {
					critics := func() float64 { return twinCriticLoss(critic, c.b, weighted) }
					head := func() float64 { return twinPredictiveLoss(critic, c.heads[i], headsOf, "mse") }
					loss := critics
					if joint {
						loss = func() float64 { return critics() + 1.5*head() }
					}
					mean += critics() / 3
					near(t, form+" critic", tenfold(u.criticAdam[i].m), twinGradient(twinParams(critic...), loss))
					if form != "apart" {
						meanHead += head() / 3
						near(t, form+" head", tenfold(u.headAdam[i].m), twinGradient(twinParams(c.heads[i]), func() float64 {
							if joint {
								return 1.5 * head()
							}
							return head()
						}))
					}
				}
				near(t, form+" losses", []float32{float32(got), float32(gotHead)}, []float64{mean, meanHead})
			}
		}
	}
}

// tenfold undoes Adam's 1-β₁ after a first step.
func tenfold(m []float32) []float32 {
	g := make([]float32, len(m))
	for i, v := range m {
		g[i] = 10 * v
	}
	return g
}

// TestHeadGradient holds the predictive loss and its gradient to the twin's, in
// the head alone and on through the backbone. It tests QTA, Equation 4.
func TestHeadGradient(t *testing.T) {
	for seed := range uint64(4) {
		for _, form := range []string{"squared", "norm"} {
			for _, backbone := range []bool{false, true} {
				c := newGradientCase(seed)
				c.still.HeadLoss, c.still.PredictiveGradient = form, "head"
				if backbone {
					c.still.PredictiveGradient = "separate"
				}
				u := ensemble(c.still, c.critics, c.heads, len(c.b.s))
				got := u.learnHeads(nil, c.b.batch(), &c.still, false)
				mean := 0.0
				for i, critic := range c.critics {
					loss := func() float64 { return twinPredictiveLoss(critic, c.heads[i], c.b, form) }
					mean += loss() / 3
					params := twinParams(c.heads[i])
					if backbone {
						params = append(twinParams(critic...), params...)
					}
					near(t, fmt.Sprintf("%s, backbone %t", form, backbone), tenfold(u.headAdam[i].m), twinGradient(params, loss))
				}
				near(t, "loss", []float32{float32(got)}, []float64{mean})
			}
		}
	}
}

// With separate steps critics and heads have an optimiser each for everything,
// which must not see the other's gradient, whichever goes first.
func TestBackboneOptimisers(t *testing.T) {
	for _, headsFirst := range []bool{false, true} {
		c := newGradientCase(9)
		c.still.PredictiveGradient = "separate"
		u := ensemble(c.still, c.critics, c.heads, len(c.b.s))
		heads := func() { u.learnHeads(nil, c.b.batch(), &c.still, false) }
		if headsFirst {
			heads()
		}
		u.learn(nil, c.b.batch(), nil, &c.still, false)
		if !headsFirst {
			heads()
		}
		for i, critic := range c.critics {
			params := append(twinParams(critic...), twinParams(c.heads[i])...)
			near(t, "critic", tenfold(u.criticAdam[i].m), twinGradient(params, func() float64 { return twinCriticLoss(critic, c.b, false) }))
			near(t, "head", tenfold(u.headAdam[i].m), twinGradient(params, func() float64 { return twinPredictiveLoss(critic, c.heads[i], c.b, "squared") }))
		}
	}
}

func TestPolicyGradient(t *testing.T) {
	for seed := range uint64(4) {
		for _, l2 := range []float64{0, 1, 2.5} {
			c := newGradientCase(seed)
			u := ensemble(c.still, c.critics, c.heads, len(c.b.s))
			π := newActor(c.actor.widths("actor"))
			π.net.load("actor", c.actor)
			c.still.ActionL2 = l2
			got := π.learn(nil, u, c.b.x(), &c.still)
			loss := func() float64 { return twinPolicyLoss(c.actor, c.critics, c.b, l2) }
			near(t, "loss", []float32{float32(got)}, []float64{loss()})
			near(t, "gradient", π.gradient.params, twinGradient(twinParams(c.actor...), loss))
		}
	}
}

// TestInputGradient has the gradient with respect to a network's input.
func TestInputGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 20 {
		widths := []int{1 + rng.IntN(5), 1 + rng.IntN(5), 1 + rng.IntN(5), 1 + rng.IntN(3)}
		widths = widths[rng.IntN(3):]
		rows := 1 + rng.IntN(4)
		net, x, dy := randomNet(rng, widths...), randomRows(rng, rows, widths[0]), randomRows(rng, rows, widths[len(widths)-1])
		m, p := net.network("net"), newPass(widths)
		m.forward(nil, p, table("x", x, 0))
		copy(p.dx[len(net)].data, table("dy", dy, 0).data)
		got := m.inputGradient(p, rows)
		var inputs []*float64
		for _, row := range x {
			for i := range row {
				inputs = append(inputs, &row[i])
			}
		}
		near(t, fmt.Sprint(widths), got.data[:len(inputs)], twinGradient(inputs, func() float64 {
			sum := 0.0
			for r := range x {
				_, y := twinForward(net, x[r])
				for i := range y {
					sum += y[i] * dy[r][i]
				}
			}
			return sum
		}))
	}
}

// TestAdam has several steps, with decay and with gradients of all magnitudes.
func TestAdam(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for _, decay := range []float64{0, 0.1} {
		for _, threads := range []int{1, 2} {
			const n = 50
			twin := vectorLayer{B: randomRows(rng, 1, n)[0]}
			params, a, w := float32s(twin.B), newAdam(n), newWorkers(threads)
			want := newTwinAdam()
			for range 20 {
				gradient := randomRows(rng, 1, n)[0]
				for i := range gradient {
					gradient[i] = float64(float32(math.Ldexp(gradient[i], -i/2)))
				}
				a.step(w, params, float32s(gradient), 0.02, decay)
				want.step(twinParams(twin), gradient, 0.02, decay)
				near(t, fmt.Sprintf("decay %v", decay), params, twin.B)
			}
			w.close()
		}
	}
}

// A moment that would be denormal becomes zero, and the parameter stays.
func TestAdamFlushes(t *testing.T) {
	a := newAdam(1)
	params := []float32{1}
	a.step(nil, params, []float32{1e-30}, 0.01, 0)
	after := params[0]
	for range 1000 {
		a.step(nil, params, []float32{0}, 0, 0)
	}
	if a.m[0] != 0 || a.v[0] != 0 || params[0] != after {
		t.Errorf("after 1000 zero gradients m is %v, v %v and the parameter went from %v to %v", a.m[0], a.v[0], after, params[0])
	}
}

// TestPolyak has several steps on whole networks, by any number of threads. It
// tests QTA, Equation 3.
func TestPolyak(t *testing.T) {
	for _, ρ := range []float64{0, 0.5, 0.95, 0.995, 1} {
		for _, threads := range []int{0, 1, 2} {
			c := newGradientCase(2)
			rng := rand.New(rand.NewPCG(7, 0))
			u := ensemble(c.still, c.critics, c.heads, 1)
			w := newWorkers(max(1, threads))
			if threads == 0 {
				w = nil
			}
			targets := randomNets(rng, 3, 9, 5, 7, 1)
			for i, n := range targets {
				u.targets[i].load("target", n)
			}
			for range 10 {
				u.updateTargets(w, ρ)
				for i, n := range targets {
					twinPolyak(twinParams(n...), twinParams(c.critics[i]...), ρ)
					var want []float64
					for _, p := range twinParams(n...) {
						want = append(want, *p)
					}
					near(t, fmt.Sprint("ρ = ", ρ), u.targets[i].params, want)
				}
			}
			w.close()
		}
	}
	mustPanic(t, "Polyak of networks of two sizes", func() { Polyak(make([]float32, 2), make([]float32, 3), 0.5) })
}
