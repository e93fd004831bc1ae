//go:build purego || !(amd64 || arm64)

package qta

// Without assembly there is only the generic kernel, which knows no tiles.

func detect() kernel { return generic }

func kernels() []kernel { return []kernel{generic} }

type shape uint8

func (k kernel) height(rows, cols int) (n, rest int) { panic("qta: no tiles") }

func (k kernel) shape(rows, cols int) (s shape, width int) { panic("qta: no tiles") }

func (s shape) run(t *tile) { panic("qta: no tiles") }

func (k kernel) columnHeight() int { panic("qta: no tiles") }

func (k kernel) runColumns(t *columns) { panic("qta: no tiles") }
