package qta

import "math"

// adamCoefficients are the scalars of one step of Adam: with step t, step is
// the learning rate over 1-beta1^t and scale is 1/sqrt(1-beta2^t).
type adamCoefficients struct {
	beta1, oneMinusBeta1 float32
	beta2, oneMinusBeta2 float32
	step, scale, eps     float32
	decay                float32
}

// smallestNormal is the smallest float32 that is not denormal. A moment below
// it becomes 0: the moments of a dead unit would stay among the denormals,
// where arithmetic is several times slower.
const smallestNormal = 0x1p-126

// adamStep updates the weights w and their moments m and v by the gradient,
// all of one length. adamStepGeneric is its definition.
func adamStep(w, m, v, grad []float32, c adamCoefficients) {
	if len(m) != len(w) || len(v) != len(w) || len(grad) != len(w) {
		panic("qta: adamStep with different lengths")
	}
	n := adamStepVector(w, m, v, grad, &c)
	adamStepGeneric(w[n:], m[n:], v[n:], grad[n:], &c)
}

func adamStepGeneric(w, m, v, grad []float32, c *adamCoefficients) {
	for i := range w {
		g := grad[i] + float32(c.decay*w[i])
		mi := float32(c.beta1*m[i]) + float32(c.oneMinusBeta1*g)
		vi := float32(c.beta2*v[i]) + float32(float32(c.oneMinusBeta2*g)*g)
		if mi < smallestNormal && mi > -smallestNormal {
			mi = 0
		}
		if vi < smallestNormal {
			vi = 0
		}
		m[i], v[i] = mi, vi
		root := float32(math.Sqrt(float64(vi)))
		w[i] -= float32(float32(c.step*mi) / (float32(root*c.scale) + c.eps))
	}
}

// polyakStep moves each element of target towards that of online, of the same
// length. polyakStepGeneric is its definition.
func polyakStep(target, online []float32, rho, oneMinusRho float32) {
	if len(target) != len(online) {
		panic("qta: polyakStep with different lengths")
	}
	n := polyakStepVector(target, online, rho, oneMinusRho)
	polyakStepGeneric(target[n:], online[n:], rho, oneMinusRho)
}

func polyakStepGeneric(target, online []float32, rho, oneMinusRho float32) {
	for i, x := range online {
		target[i] = float32(rho*target[i]) + float32(oneMinusRho*x)
	}
}
