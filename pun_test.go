package qta

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEquation1 has values worked out by hand. It tests QTA, Equation 1.
func TestEquation1(t *testing.T) {
	y := make([]float32, 4)
	TDTarget(y, []float32{-1, 0, -1, -1}, []float32{-2, -8, 4, 0}, []float32{-4, -6, 2, 0}, 0.5)
	if diff := cmp.Diff([]float32{-3, -4, 0, -1}, y); diff != "" {
		t.Errorf("Equation 1: targets (-want +got):\n%s", diff)
	}
}

// TestEquation2 holds the critics' loss and gradient to the twin's, for
// the whole ensemble: after Adam's first step m is (1-β₁) times the gradient.
// It tests QTA, Equation 2.
//
// With PredictiveGradient joint the loss is the sum of Equations 2 and 4, the
// latter on the same minibatch or on one of its own.
func TestEquation2(t *testing.T) {
	for seed := range uint64(2) {
		for _, weighted := range []bool{false, true} {
			for _, form := range []string{"joint", "joint, own draw", "together", "apart"} {
				c := newGradientCase(seed)
				c.still.HeadOwnDraw = form == "apart" || form == "joint, own draw"
				joint := strings.HasPrefix(form, "joint")
				if c.still.PredictiveGradient = "head"; joint {
					c.still.PredictiveGradient = "joint"
				}
				u := ensemble(c.still, c.critics, c.heads, c.b.x.rows)
				if weighted {
					c.b.w = []float32{0.5, 0.1, 1, 0.7, 0.2, 0.9}
				}
				heads, l := c.b, &departing{lessons: punLessons{}}
				if form == "apart" {
					heads = nil
				} else if c.still.HeadOwnDraw {
					heads = randomBatch(rand.New(rand.NewPCG(seed, 8)), 6)
				}
				got, gotHead := l.step(u, c.b, heads)
				mean, meanHead := 0.0, 0.0
				for i, critic := range c.critics {
					critics := func() float64 { return twinLossOfBatch(punLessons{}, critic, nil, c.b, i, "") }
					head := func() float64 { return twinLossOfBatch(punLessons{}, critic, &c.heads[i], heads, i, "") }
					loss := critics
					if joint {
						loss = func() float64 { return critics() + head() }
					}
					mean += critics() / 3
					nearGradient(t, "Equation 2, "+form+": critic", tenfold(u.critics[i].adam.m), twinGradient(twinParams(critic...), loss))
					if form != "apart" {
						meanHead += head() / 3
						nearGradient(t, "Equation 2, with 4, "+form+": head", tenfold(u.critics[i].headAdam.m), twinGradient(twinParams(c.heads[i]), head))
					}
				}
				near(t, "Equation 2, "+form+": losses", []float32{float32(got), float32(gotHead)}, []float64{mean, meanHead})
			}
		}
	}
}

// TestEquation3 has several steps on whole networks, by any number of threads. It
// tests QTA, Equation 3.
func TestEquation3(t *testing.T) {
	for _, ρ := range []float64{0, 0.5, 0.95, 0.995, 1} {
		for _, threads := range []int{1, 2} {
			c := newGradientCase(2)
			rng := rand.New(rand.NewPCG(7, 0))
			c.still.Polyak = ρ
			u := ensemble(c.still, c.critics, c.heads, 1)
			w := u.pass.workers
			w.resize(threads)
			targets := randomNets(rng, 3, 9, 7, 7, 1)
			for i, n := range targets {
				u.critics[i].target.load(n)
			}
			for range 10 {
				u.follow()
				for i, n := range targets {
					online := twinParams(c.critics[i]...)
					var want []float64
					for k, p := range twinParams(n...) {
						*p = ρ**p + (1-ρ)**online[k]
						want = append(want, *p)
					}
					near(t, fmt.Sprint("Equation 3: ρ = ", ρ), u.critics[i].target.params, want)
				}
			}
			w.resize(1)
		}
	}
	mustPanic(t, "Equation 3: Polyak of networks of two sizes", func() { Polyak(make([]float32, 2), make([]float32, 3), 0.5) })
}

// TestEquation4 holds the predictive loss and its gradient to the twin's, in
// the head alone and on through the backbone. It tests QTA, Equation 4.
func TestEquation4(t *testing.T) {
	for seed := range uint64(2) {
		for _, form := range []string{"squared", "norm"} {
			for _, backbone := range []bool{false, true} {
				c := newGradientCase(seed)
				c.still.HeadLoss, c.still.PredictiveGradient = form, "head"
				if backbone {
					c.still.PredictiveGradient = "separate"
				}
				u := ensemble(c.still, c.critics, c.heads, c.b.x.rows)
				_, l, _ := newHeads(&c.still, Sizes{Observation: 3}, 1, nil)
				_, got := (&departing{lessons: l}).step(u, nil, c.b)
				mean := 0.0
				for i, critic := range c.critics {
					loss := func() float64 { return twinLossOfBatch(punLessons{}, critic, &c.heads[i], c.b, i, form) }
					mean += loss() / 3
					params := twinParams(c.heads[i])
					if backbone {
						params = append(twinParams(critic...), params...)
					}
					nearGradient(t, fmt.Sprintf("Equation 4: %s, backbone %t", form, backbone), tenfold(u.critics[i].headAdam.m), twinGradient(params, loss))
				}
				near(t, "Equation 4: loss", []float32{float32(got)}, []float64{mean})
			}
		}
	}
}

// At a prediction without error the norm has no gradient; zero is right.
func TestNormAtZero(t *testing.T) {
	dp := []float32{1, 1, 1, 1}
	loss := predictiveNorm(dp, []float32{1, 2, 3, 4}, []float32{1, 2, 0, 0}, 2)
	if want := []float32{0, 0, 0.3, 0.4}; loss != 2.5 || !slices.Equal(dp, want) {
		t.Errorf("loss %v and gradient %v, want 2.5 and %v", loss, dp, want)
	}
}
