package qta

import (
	"slices"
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

// TestEquation2 has values worked out by hand. It tests QTA, Equation 2.
func TestEquation2(t *testing.T) {
	for _, test := range []struct {
		w, dq []float32
		loss  float64
	}{{nil, []float32{1, -2}, 2.5}, {[]float32{1, 0.5}, []float32{1, -1}, 1.5}} {
		dq := make([]float32, 2)
		if loss := CriticLoss(dq, []float32{1, 2}, []float32{0, 4}, test.w); loss != test.loss || !slices.Equal(dq, test.dq) {
			t.Errorf("Equation 2: weights %v: loss %v and gradient %v, want %v and %v", test.w, loss, dq, test.loss, test.dq)
		}
	}
}

// TestEquation3 has values worked out by hand. It tests QTA, Equation 3.
func TestEquation3(t *testing.T) {
	for ρ, want := range map[float64][]float32{0: {4, 4}, 0.75: {7, -2}, 1: {8, -4}} {
		target := []float32{8, -4}
		if Polyak(target, []float32{4, 4}, ρ); !slices.Equal(target, want) {
			t.Errorf("Equation 3: ρ = %v: %v, want %v", ρ, target, want)
		}
	}
	mustPanic(t, "Equation 3: Polyak of networks of two sizes", func() { Polyak(make([]float32, 2), make([]float32, 3), 0.5) })
}

// TestEquation4 has values worked out by hand. It tests QTA, Equation 4.
func TestEquation4(t *testing.T) {
	dp := make([]float32, 4)
	loss := PredictiveLoss(dp, []float32{1, 2, 3, 4}, []float32{0, 2, 1, 1}, 2)
	if want := []float32{1, 0, 2, 3}; loss != 7 || !slices.Equal(dp, want) {
		t.Errorf("Equation 4: loss %v and gradient %v, want 7 and %v", loss, dp, want)
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
