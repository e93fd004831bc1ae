package qta

import (
	"math"
	"testing"
)

// This file has the paper's formulas in numbers worked out by hand, in its order. The
// golden vectors (TestGolden) have many more of each, by another implementation.

// nearly is the share by which rounding may move a result.
const nearly = 1e-14

// It tests QTA, Equation 1.
func TestEquation1(t *testing.T) {
	y := make([]float32, 4)
	TDTarget(y, []float32{-1, 0, -1, -1}, []float32{-2, -8, 4, 0}, []float32{-4, -6, 2, 0}, 0.5)
	checkEqual(t, []float32{-3, -4, 0, -1}, y, "Equation 1: targets")
}

// It tests QTA, Equation 2.
func TestEquation2(t *testing.T) {
	q := []float32{1, 2}
	y := []float32{0, 4}
	for _, test := range []struct {
		w, dq []float32
		loss  float64
	}{
		{[]float32{1, 1}, []float32{1, -2}, 2.5},
		{[]float32{1, 0.5}, []float32{1, -1}, 1.5},
	} {
		dq := make([]float32, 2)
		loss := CriticLoss(dq, q, y, test.w)
		checkEqual(t, test.loss, loss, "Equation 2: loss with weights %v", test.w)
		checkEqual(t, test.dq, dq, "Equation 2: gradient with weights %v", test.w)
	}
}

// It tests QTA, Equation 3.
func TestEquation3(t *testing.T) {
	for ρ, want := range map[float64][]float32{0: {4, 4}, 0.75: {7, -2}, 1: {8, -4}} {
		target := []float32{8, -4}
		Polyak(target, []float32{4, 4}, ρ)
		checkEqual(t, want, target, "Equation 3: ρ = %v", ρ)
	}
}

// It tests QTA, Equation 4.
func TestEquation4(t *testing.T) {
	dp := make([]float32, 4)
	loss := PredictiveLoss(dp, []float32{1, 2, 3, 4}, []float32{0, 2, 1, 1}, 2)
	checkEqual(t, 7.0, loss, "Equation 4: loss")
	checkEqual(t, []float32{1, 0, 2, 3}, dp, "Equation 4: gradient")
}

// The deviation of 1, 2, 3 is 1, that of 0, 0, 6 the root of 12. TestUncertainties has the mean
// over random actions. It tests QTA, Equation 5.
func TestEquation5(t *testing.T) {
	u := make([]float64, 2)
	HeadDeviation(u, [][]float32{{1, 0, 5, 7}, {2, 0, 5, 7}, {3, 6, 5, 7}}, 2)
	checkNear(t, nearly, []float64{(1 + math.Sqrt(12)) / 2, 0}, u, "Equation 5: deviations")
	HeadDeviation(u, [][]float32{{1, 2, 3, 4}}, 2)
	checkEqual(t, []float64{0, 0}, u, "Equation 5: deviations of one head from itself")
}

// It tests QTA, the scaling.
func TestScaling(t *testing.T) {
	for _, test := range []struct{ ε, want []float64 }{
		{[]float64{2, 6, 3, 4}, []float64{0, 1, 0.25, 0.5}},
		{[]float64{-1, -3}, []float64{1, 0}},
		{[]float64{7, 7, 7}, []float64{0, 0, 0}},
	} {
		got := make([]float64, len(test.ε))
		scaleUncertainty(got, test.ε)
		checkNear(t, nearly, test.want, got, "the scaling: uncertainties %v", test.ε)
	}
}

// It tests QTA, Equation 6.
func TestEquation6(t *testing.T) {
	for _, test := range []struct {
		ε    []float64
		m, b float64
		want []float64
	}{
		{[]float64{2, 3, 4}, 1, 1, []float64{2. / 9, 3. / 9, 4. / 9}},
		{[]float64{0, 4, 8}, 4, -1, []float64{0, 0.25, 0.75}},
		{[]float64{0, 4, 8}, 4, -4, []float64{1. / 3, 1. / 3, 1. / 3}}, // no positive weight
		{[]float64{5, 5}, 626, -591, []float64{0.5, 0.5}},
		{[]float64{1, 2}, -1, 1, []float64{1, 0}},
	} {
		p := make([]float64, len(test.ε))
		GoalProbabilities(p, test.ε, test.m, test.b)
		checkNear(t, nearly, test.want, p, "Equation 6: ε = %v, m = %v, b = %v", test.ε, test.m, test.b)
	}
}

// A value exactly at c T, here -10, stays. It tests QTA, the threshold.
func TestThreshold(t *testing.T) {
	for _, test := range []struct {
		q    []float64
		want []int
	}{
		{[]float64{-9, -11, -10, -10.001, 0}, []int{0, 2, 4}},
		{[]float64{-11, -12, -11, -13, -11}, []int{0, 1, 2, 3, 4}}, // none passes
	} {
		checkEqual(t, test.want, Achievable([]int{0, 1, 2, 3, 4}, test.q, -0.5, 20), "the threshold: values %v", test.q)
	}
}

// It tests QTA, hindsight.
func TestHindsight(t *testing.T) {
	for u, want := range map[float64]int{0: 2, 0.24: 2, 0.25: 3, 0.5: 4, 0.75: 5, 0.99: 5} {
		checkEqual(t, want, futureStep(2, 6, u), "hindsight: futureStep(2, 6, %v)", u)
	}
}

// It tests QTA, Equation 7.
func TestEquation7(t *testing.T) {
	for _, test := range []struct {
		p    []float64
		α    float64
		want []float64
	}{
		{[]float64{1, 3}, 1, []float64{0.25, 0.75}},
		{[]float64{1, 3}, 0, []float64{0.5, 0.5}},
		{[]float64{1, 2, 0}, 2, []float64{0.2, 0.8, 0}},
		{[]float64{4, 16, 25}, 0.5, []float64{2. / 11, 4. / 11, 5. / 11}},
	} {
		P := make([]float64, len(test.p))
		SampleProbabilities(P, test.p, test.α)
		checkNear(t, nearly, test.want, P, "Equation 7: priorities %v, α %v", test.p, test.α)
	}
}

// It tests QTA, Equation 8.
func TestEquation8(t *testing.T) {
	for _, test := range []struct {
		β, least float64
		want     []float64
	}{
		{1, 0, []float64{0.5, 2}}, // not divided
		{1, 0.125, []float64{0.25, 1}},
		{0.5, 0.0625, []float64{math.Sqrt(0.125), math.Sqrt(0.5)}},
		{0, 0.125, []float64{1, 1}},
	} {
		w := make([]float64, 2)
		ImportanceWeights(w, []float64{0.5, 0.125}, 4, test.β, test.least)
		checkNear(t, nearly, test.want, w, "Equation 8: β %v, least probability %v", test.β, test.least)
	}
}

// It tests QTA, the schedule of β.
func TestBeta(t *testing.T) {
	for step, want := range map[int]float64{0: 0.3, 100_000: 0.65, 200_000: 1, 10_000_000: 1} {
		checkNear(t, nearly, want, PriorityBeta(step, 0.3, 200_000), "the schedule of β: step %d", step)
	}
}
