//go:build purego || !(amd64 || arm64)

package qta

// Without assembly there is only the generic kernel, which has no tiles.
func kernels() []kernel { return []kernel{generic} }

func (k kernel) run(t *tile, n, cols int) { panic("qta: no tiles") }

func (p *product) blockNarrow(r0, r1, c0, c1 int) int { panic("qta: no tiles") }
