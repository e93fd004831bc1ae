package qta

import "math"

// adamCoefficients are the scalars of one step of Adam: step is the learning
// rate over 1-beta1^t, scale is 1/sqrt(1-beta2^t).
type adamCoefficients struct {
	beta1, oneMinusBeta1 float32
	beta2, oneMinusBeta2 float32
	step, scale, eps     float32
	decay                float32
}

const smallestNormal = 0x1p-126

// adamStepGeneric updates the weights w and the moments m and v by the gradient.
// A moment below the smallest normal float32 becomes 0, as denormals are slow.
func adamStepGeneric(w, m, v, grad []float32, c adamCoefficients) {
	m, v, grad = m[:len(w)], v[:len(w)], grad[:len(w)]
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
		w[i] -= float32(float32(c.step*mi) / (float32(float32(math.Sqrt(float64(vi)))*c.scale) + c.eps))
	}
}

// polyakStepGeneric moves each target towards its online twin:
// target = rho target + (1-rho) online.
func polyakStepGeneric(target, online []float32, rho, oneMinusRho float32) {
	online = online[:len(target)]
	for i, x := range online {
		target[i] = float32(rho*target[i]) + float32(oneMinusRho*x)
	}
}
