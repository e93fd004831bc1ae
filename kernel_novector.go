//go:build purego || !amd64

package qta

// The loops of Adam, Polyak and the transpose are portable Go here, so these functions
// process no elements.
func adamStepVector(w, m, v, grad []float32, c *adamCoefficients) int { return 0 }

func polyakVector(target, online []float32, rho, oneMinusRho float32) int { return 0 }

func transposeVector(k kernel, dst, src matrix) int { return 0 }
