package qta

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomVector returns numbers of every size, with some zeros, denormals,
// infinities and NaNs.
func randomVector(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch rng.IntN(20) {
		case 0:
			x[i] = []float32{0, float32(math.Copysign(0, -1)), 0x1p-126, -0x1p-126, 0x1p-149, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}[rng.IntN(9)]
		case 1, 2, 3:
			x[i] = randomFloat(rng, 126)
		default:
			x[i] = randomFloat(rng, 10)
		}
	}
	return x
}

// vectorBits returns the vectors as comparable numbers.
func vectorBits(vectors ...[]float32) [][]uint32 {
	var all [][]uint32
	for _, v := range vectors {
		b := make([]uint32, len(v))
		for i, x := range v {
			b[i] = bits(x)
		}
		all = append(all, b)
	}
	return all
}

func TestAdamStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	clone := func(x []float32) []float32 { return append([]float32(nil), x...) }
	for n := range 100 {
		w, m, v, grad := randomVector(rng, n), randomVector(rng, n), randomVector(rng, n), randomVector(rng, n)
		for i := range v {
			if v[i] < 0 && rng.IntN(10) > 0 {
				v[i] = -v[i]
			}
		}
		c := adamCoefficients{0.9, 0.1, 0.999, 0.001, 1e-3 * rng.Float32(), 1 + rng.Float32(), 1e-8, float32(rng.IntN(2)) * 0.01}
		w2, m2, v2 := clone(w), clone(m), clone(v)
		adamStep(w, m, v, grad, c)
		adamStepGeneric(w2, m2, v2, grad, &c)
		if diff := cmp.Diff(vectorBits(w2, m2, v2), vectorBits(w, m, v)); diff != "" {
			t.Fatalf("%d elements (-want +got):\n%s", n, diff)
		}
	}
}

// TestAdamStepByHand takes one step of numbers that are exact in float32.
func TestAdamStepByHand(t *testing.T) {
	c := adamCoefficients{beta1: 0.5, oneMinusBeta1: 0.5, beta2: 0.75, oneMinusBeta2: 0.25, step: 0.5, scale: 2, eps: 1, decay: 0.25}
	// g = 3 + 1 = 4, m = 1 + 2 = 3, v = 12 + 4 = 16, w = 4 - 1.5/(8+1).
	w, m, v := []float32{4, 0}, []float32{2, 0x1.8p-126}, []float32{16, 0x1p-126}
	adamStep(w, m, v, []float32{3, 0}, c)
	third := float32(1.5) / 9
	want := [][]uint32{vectorBits([]float32{4 - third, 0})[0], vectorBits([]float32{3, 0})[0], vectorBits([]float32{16, 0})[0]}
	if diff := cmp.Diff(want, vectorBits(w, m, v)); diff != "" {
		t.Errorf("w, m, v (-want +got):\n%s", diff)
	}
}

func TestPolyakStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for n := range 100 {
		target, online := randomVector(rng, n), randomVector(rng, n)
		want := append([]float32(nil), target...)
		rho := rng.Float32()
		polyakStepGeneric(want, online, rho, 1-rho)
		polyakStep(target, online, rho, 1-rho)
		if diff := cmp.Diff(vectorBits(want), vectorBits(target)); diff != "" {
			t.Fatalf("%d elements (-want +got):\n%s", n, diff)
		}
	}
	target := []float32{8, -4}
	polyakStep(target, []float32{4, 4}, 0.75, 0.25)
	if diff := cmp.Diff([]float32{7, -2}, target); diff != "" {
		t.Errorf("by hand (-want +got):\n%s", diff)
	}
}

// parameters is what an update of the paper's networks steps over.
const parameters = 540000

func BenchmarkAdamStep(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 0))
	var x [4][]float32
	for i := range x {
		x[i] = make([]float32, parameters)
		for j := range x[i] {
			x[i][j] = rng.Float32()
		}
	}
	c := adamCoefficients{0.9, 0.1, 0.999, 0.001, 1e-3, 1, 1e-8, 0}
	b.Run("vector", func(b *testing.B) {
		for b.Loop() {
			adamStep(x[0], x[1], x[2], x[3], c)
		}
	})
	b.Run("generic", func(b *testing.B) {
		for b.Loop() {
			adamStepGeneric(x[0], x[1], x[2], x[3], &c)
		}
	})
}

func BenchmarkPolyakStep(b *testing.B) {
	x, y := make([]float32, parameters), make([]float32, parameters)
	b.Run("vector", func(b *testing.B) {
		for b.Loop() {
			polyakStep(x, y, 0.95, 0.05)
		}
	})
	b.Run("generic", func(b *testing.B) {
		for b.Loop() {
			polyakStepGeneric(x, y, 0.95, 0.05)
		}
	})
}
