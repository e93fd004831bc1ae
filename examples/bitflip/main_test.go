package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"qta"
)

func TestBits(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		if err := qta.CheckEnv(newBits(n), n, rand.New(rand.NewPCG(1, 2))); err != nil {
			t.Errorf("%d bits: %v", n, err)
		}
	}
	b := newBits(3)
	for _, test := range []struct{ action, now []float64 }{
		{[]float64{-1, 0.5, 0, 0}, []float64{0, 1, 0}},
		{[]float64{-1, -1, -0.9, -1}, []float64{0, 1, 1}},
		{[]float64{0.2, 0.2, 0.1, 0.3}, []float64{0, 1, 1}},
		{[]float64{1, 1, 1, 1}, []float64{1, 1, 1}},
		{[]float64{-1, 0, -1, -1}, []float64{1, 0, 1}},
	} {
		if b.Step(test.action); !slices.Equal(b.now, test.now) {
			t.Fatalf("after %v the bits are %v, want %v", test.action, b.now, test.now)
		}
	}
}

// Few bits take small networks a second.
func TestSolve(t *testing.T) {
	for _, curriculum := range []string{"qta", "her", "random"} {
		if testing.Short() && curriculum != "her" {
			continue
		}
		p := qta.Small()
		p.HiddenSize, p.Batch, p.Curriculum = 32, 64, curriculum
		at, err := solve(p, 3, 1, 10_000)
		if t.Logf("%s: %d steps", curriculum, at); at == 0 || err != nil {
			t.Errorf("%s has not solved 3 bits within 10,000 steps, error %v", curriculum, err)
		}
	}
}
