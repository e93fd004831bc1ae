package qta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Outputs and gradients are the twin's, for networks of every shape, also where
// a pass has room for more rows than there are.
func TestNetwork(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 30 {
		widths := []int{1 + rng.IntN(9)}
		for range 1 + rng.IntN(3) {
			widths = append(widths, 1+rng.IntN(9))
		}
		n, rows := len(widths)-1, 1+rng.IntN(6)
		net, x, dy := randomNet(rng, widths...), randomRows(rng, rows, widths[0]), randomRows(rng, rows, widths[n])
		m, p, in := net.network("net"), newPass(widths, nil), table("x", x, 0)
		p.reserve(1 + rng.IntN(9))
		ξ, y := m.latent(p, in), m.forward(p, in)
		for r := range x {
			wantξ, want := twinForward(net, x[r])
			near(t, fmt.Sprint("latent of ", widths), ξ.row(r), wantξ)
			near(t, fmt.Sprint("output of ", widths), y.row(r), want)
		}

		copy(p.dx[n].data, table("dy", dy, 0).data)
		gradient := newMLP(make([]float32, mlpSize(widths)), widths)
		m.backward(p, gradient, in, n, false)
		column := rng.IntN(widths[0])
		_, dx := m.outputGradient(p, in, column)
		loss := func() (sum float64) {
			for r := range x {
				_, y := twinForward(net, x[r])
				for i := range y {
					sum += y[i] * dy[r][i]
				}
			}
			return sum
		}
		nearGradient(t, fmt.Sprint("parameters of ", widths), gradient.params, twinGradient(twinParams(net...), loss))
		var got []float32
		var inputs []*float64
		for r := range x {
			got = append(got, dx.row(r)...)
			inputs = append(inputs, twinParams(vectorLayer{B: x[r][column:]})...)
		}
		nearGradient(t, fmt.Sprint("input of ", widths), got, twinGradient(inputs, loss))
	}
}

// Parameters lie in one vector, a layer's weights before its biases, so that a
// network can be saved, averaged and stepped as a whole.
func TestLayout(t *testing.T) {
	params := make([]float32, 20) // longer than needed
	for i := range params {
		params[i] = float32(i)
	}
	m := newMLP(params, []int{2, 3, 1})
	if len(m.params) != 2*3+3+3*1+1 || m.layers[0].w.row(1)[2] != 5 || m.layers[0].b[0] != 6 || m.layers[1].w.row(2)[0] != 11 || m.layers[1].b[0] != 12 {
		t.Errorf("parameters %v in layers %v", m.params, m.layers)
	}
}

// Weights and biases start uniform in ±1/√in.
func TestInitialize(t *testing.T) {
	const in, out = 100, 50
	l := newLayer(make([]float32, layerSize(in, out)), in, out)
	l.initialize(rand.New(rand.NewPCG(1, 0)))
	for name, params := range map[string][]float32{"weights": l.w.data, "biases": l.b} {
		sum, square, largest := 0.0, 0.0, 0.0
		for _, v := range params {
			sum += float64(v)
			square += float64(v) * float64(v)
			largest = max(largest, math.Abs(float64(v)))
		}
		n, deviation := float64(len(params)), 0.1/math.Sqrt(3)
		skewed := math.Abs(sum/n) > 5*deviation/math.Sqrt(n)
		scaled := math.Abs(math.Sqrt(square/n)/deviation-1) > 5/math.Sqrt(n)
		if largest > 0.1 || largest < 0.09 || skewed || scaled {
			t.Errorf("%s: largest %v, mean %v, deviation %v; want 0.1, 0, %v", name, largest, sum/n, math.Sqrt(square/n), deviation)
		}
	}
}

// Chunks, parts and threads leave no trace in the bits: a batch that is one chunk
// of eight threads gives the same in many.
func TestChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	random := func(rows, cols int) matrix {
		m := newMatrix(rows, cols)
		for i := range m.data {
			m.data[i] = float32(rng.Float64() - 0.5)
		}
		return m
	}
	for _, rows := range []int{1, 31, 192, 193, 613, 768} {
		widths := []int{6, 96, 65, 32, 1 + rows%3}
		n := len(widths) - 1
		m := newMLP(random(1, mlpSize(widths)).data, widths)
		x, dy := random(rows, widths[0]), random(rows, widths[n])
		results := func(threads int) [][]float32 {
			w := newWorkers(threads)
			defer w.close()
			p, gradient := newPass(widths, w), newMLP(make([]float32, len(m.params)), widths)
			y := m.forward(p, x)
			copy(p.dx[n].data, dy.data)
			m.backward(p, gradient, x, n, false)
			m.backward(p, gradient, x, n, true)
			p = newPass(widths, w)
			inferred := slices.Clone(m.infer(p, x).data)
			copy(p.dx[n].data, dy.data)
			again, dx := m.outputGradient(p, x, 4)
			return [][]float32{y.data, inferred, again.data, gradient.params, dx.data}
		}
		want := results(8)
		if !slices.Equal(want[0], want[1]) || !slices.Equal(want[0], want[2]) {
			t.Errorf("%d rows: forward, infer and outputGradient have different outputs", rows)
		}
		for _, threads := range []int{1, 2, 3} {
			for i, got := range results(threads) {
				if !slices.Equal(want[i], got) {
					t.Errorf("%d rows, %d threads: result %d differs", rows, threads, i)
				}
			}
		}
	}
}

// A moment that would be denormal becomes zero, and the parameter stays.
func TestAdamFlushes(t *testing.T) {
	a := newAdam(1, 0.01, nil)
	params := []float32{1}
	a.step(params, []float32{1e-30})
	after := params[0]
	a.rate = 0
	for range 1000 {
		a.step(params, []float32{0})
	}
	if a.m[0] != 0 || a.v[0] != 0 || params[0] != after {
		t.Errorf("after 1000 zero gradients m is %v, v %v and the parameter went from %v to %v", a.m[0], a.v[0], after, params[0])
	}
}
