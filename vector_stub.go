package qta
func adamStep(w, m, v, grad []float32, c adamCoefficients) { adamStepGeneric(w, m, v, grad, c) }
func polyakStep(target, online []float32, rho, oneMinusRho float32) {
	polyakStepGeneric(target, online, rho, oneMinusRho)
}
