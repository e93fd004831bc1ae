//go:build !linux

package qta

// guards are the memory of one test; here it is ordinary memory.
type guards struct{}

func (g *guards) floats(n int) []float32 { return make([]float32, n) }

func (g *guards) free() {}
