//go:build purego || !(amd64 || arm64)

package qta

// Without assembly there is only the generic kernel, which has no tiles, and
// there are no vector loops: these process no elements.

func kernels() []kernel { return []kernel{generic} }

func (k kernel) run(t *tile, n, cols int) { panic("qta: no tiles") }

func (p *product) blockNarrow(r0, r1, c0, c1 int) int { panic("qta: no tiles") }

func adamStepVector(w, m, v, grad []float32, c *adamCoefficients) int { return 0 }

func polyakVector(target, online []float32, rho, oneMinusRho float32) int { return 0 }

func transposeVector(k kernel, dst, src matrix) int { return 0 }
