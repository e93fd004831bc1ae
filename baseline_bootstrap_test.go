package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Masks are fair coins: for each critic, for two critics at once, for two
// transitions in a row, and for two seeds.
func TestMasks(t *testing.T) {
	const n = 20000
	check := func(what string, p float64, in func(i int) bool) {
		t.Helper()
		count := 0
		for i := range n {
			if in(i) {
				count++
			}
		}
		frequency(t, what, count, n, p)
	}
	for _, seed := range []uint64{0, 1 << 63} {
		for c := range 2 {
			what := fmt.Sprintf("seed %d, critic %d", seed, c)
			check(what, 0.5, func(i int) bool { return inMask(seed, i, c) })
			check(what+" and the next", 0.25, func(i int) bool { return inMask(seed, i, c) && inMask(seed, i, c+1) })
			check(what+", and the next transition for the critic before", 0.25, func(i int) bool { return inMask(seed, i, c+1) && inMask(seed, i+1, c) })
			check(what+", and transition i+64", 0.25, func(i int) bool { return inMask(seed, i, c) && inMask(seed, i+64, c) })
			check(what+", and another seed", 0.25, func(i int) bool { return inMask(seed, i, c) && inMask(seed+1, i, c) })
		}
	}
}

// A transition has its masks in every minibatch, whichever it shares it with,
// and in both forms; the weights of prioritized replay go on top.
func TestMasksOfBatches(t *testing.T) {
	const steps = 75 // seven episodes of ten steps and one of five
	for _, form := range []string{"clean", "authors"} {
		p := tinyPreset(Default())
		p.Uncertainty, p.AuthorsForm, p.Batch, p.HeadOwnDraw, p.PredictiveGradient = "bootstrap", form == "authors", 200, true, "head"
		a, _ := walked(t, p, steps)
		for range 3 {
			if err := a.learn(); err != nil {
				t.Fatal(err)
			}
			for _, b := range []*batch{&a.scratch.batch, &a.headBatch} {
				for c := range a.pun.critics {
					for row, i := range b.transitions {
						weight, head := float32(0), float32(0)
						if inMask(a.seed, i, c) {
							weight, head = 1, 1
						}
						if form == "authors" {
							if i >= 70 {
								weight = 0
							}
							head = 1 - weight
						}
						if b.weights[c][row] != weight || b.masks[c][row] != head {
							t.Fatalf("%s form, transition %d, critic %d: weight %v and head's mask %v, want %v and %v",
								form, i, c, b.weights[c][row], b.masks[c][row], weight, head)
						}
					}
				}
			}
		}
	}
	p := tinyPreset(Default())
	p.Uncertainty, p.Replay = "bootstrap", "per"
	a, _ := walked(t, p, steps)
	s := a.sampler.(*prioritized)
	for i := range steps {
		s.tree.set(i, 1+float64(i))
	}
	b := &a.scratch.batch
	if err := a.minibatch(b, a.sampler); err != nil {
		t.Fatal(err)
	}
	for c := range a.pun.critics {
		for row, i := range b.transitions {
			want := float32(0)
			if inMask(a.seed, i, c) {
				want = float32(s.w[row])
			}
			if b.weights[c][row] != want {
				t.Errorf("transition %d, critic %d: weight %v, want %v", i, c, b.weights[c][row], want)
			}
		}
	}
}

// The heads of the authors' form predict the mean of the components.
func TestPredictedMean(t *testing.T) {
	p := tinyPreset(Authors())
	p.Uncertainty = "bootstrap"
	a, _ := walked(t, p, 30)
	if err := a.learn(); err != nil {
		t.Fatal(err)
	}
	b := &a.headBatch
	if b.head.cols != 1 {
		t.Fatalf("heads of %d outputs", b.head.cols)
	}
	for row, i := range b.transitions {
		s := at(a.replay.nextAchieved, i, 2)
		near(t, "predicted", b.head.row(row), []float64{(s[0] + s[1]) / 2})
	}
}

// Critics keep one backbone, to the bit, and so do their targets; what is on
// top of it differs.
func TestSharedBackbones(t *testing.T) {
	for _, preset := range []Preset{{"default", Default()}, {"authors", Authors()}} {
		p := tinyPreset(preset.Params)
		p.Uncertainty = "bootstrap"
		a := newMazeAgent(t, p, 4)
		first := a.pun.critics[0]
		for _, c := range a.pun.critics {
			c.adam.decay, c.headAdam.decay = 1e-3, 1e-3
		}
		before := slices.Clone(backbone(first.q))
		trainTo(t, a, 40, nil)
		n := len(before)
		for i, c := range a.pun.critics[1:] {
			if !slices.Equal(backbone(c.q), backbone(first.q)) || !slices.Equal(backbone(c.target), backbone(first.target)) {
				t.Errorf("%s: the backbone of critic %d is another", preset.Name, i+2)
			}
			if slices.Equal(c.q.params[n:], first.q.params[n:]) || slices.Equal(c.head.w.data, first.head.w.data) {
				t.Errorf("%s: critic %d is the first", preset.Name, i+2)
			}
		}
		if slices.Equal(before, backbone(first.q)) {
			t.Errorf("%s: the backbone has not moved", preset.Name)
		}
	}
}

// gradientOfForm returns the PredictiveGradient of a form of learning.
func gradientOfForm(form string) string {
	switch form {
	case "joint":
		return "joint"
	case "backbone", "authors":
		return "separate"
	}
	return "head"
}

// The gradients are those of the joint loss: the sum over the critics of their
// masked and weighted losses, each for its own target, as a function of one
// backbone; and for the heads, with their masks, where their gradient enters
// it.
func TestJointGradient(t *testing.T) {
	for seed := range uint64(2) {
		for _, form := range []string{"joint", "together", "apart", "backbone", "authors"} {
			c := newGradientCase(seed)
			rng := rand.New(rand.NewPCG(seed, 7))
			rows, width := len(c.b.s), 3
			p := c.still
			p.Uncertainty = "bootstrap"
			p.HeadOwnDraw, p.PredictiveGradient = form != "joint" && form != "together", gradientOfForm(form)
			if form == "authors" {
				p.AuthorsForm, p.HeadLoss = true, "norm"
				width = 1
				for i := range c.heads {
					c.heads[i] = randomLayer(rng, 7, 1)
				}
			}
			// The twins share the arrays of one backbone.
			for i := range c.critics {
				c.critics[i] = append(slices.Clone(c.critics[0][:2]), c.critics[i][2])
			}
			u := ensemble(p, c.critics, c.heads, rows)
			b := c.b.batch()
			if form == "authors" {
				b.head = newMatrix(rows, 1)
				for k, s := range c.b.next {
					b.head.data[k] = float32(s[0])
				}
			}
			own := make([]twinBatch, 3)
			masks := make([][]float64, 3)
			b.y, b.weights = nil, nil
			for i := range own {
				own[i] = c.b
				own[i].y = randomRows(rng, 1, rows)[0]
				own[i].w = make([]float64, rows)
				masks[i] = make([]float64, rows)
				for k := range rows {
					own[i].w[k] = c.b.w[k] * float64(rng.IntN(2))
					masks[i][k] = float64(rng.IntN(2))
				}
				b.y = append(b.y, float32s(own[i].y))
				b.weights = append(b.weights, float32s(own[i].w))
				b.masks = append(b.masks, float32s(masks[i]))
			}
			critics := func() float64 {
				sum := 0.0
				for i, q := range c.critics {
					sum += twinCriticLoss(q, own[i], true)
				}
				return sum
			}
			heads := func() float64 {
				sum := 0.0
				for i, q := range c.critics {
					for k := range rows {
						for j, v := range twinPrediction(q, c.heads[i], c.b, k)[:width] {
							sum += masks[i][k] * math.Pow(v-c.b.next[k][j], 2) / float64(rows)
						}
					}
				}
				return sum
			}
			headsBatch := headsOf(b, &p)
			got, gotHeads := u.learnBy(b, headsBatch, &p)
			if u.headsApart {
				gotHeads = u.learnHeads(headsBatch)
			}
			near(t, form+" losses", []float32{float32(got), float32(gotHeads)}, []float64{critics() / 3, heads() / 3})
			for i, critic := range c.critics {
				params := twinParams(critic...)
				loss := critics
				if form == "joint" {
					loss = func() float64 { return critics() + heads() }
				}
				nearGradient(t, form+" critic", tenfold(u.critics[i].adam.m)[:len(params)], twinGradient(params, loss))
				params = twinParams(c.heads[i])
				if form == "backbone" || form == "authors" {
					params = append(twinParams(critic...), params...)
				}
				nearGradient(t, form+" head", tenfold(u.critics[i].headAdam.m), twinGradient(params, heads))
			}
		}
	}
}
