package qta

import (
	"os"
	"syscall"
	"unsafe"
)

// guards are the memory of one test. Each piece ends with a page, before one
// that cannot be touched, so that a kernel that goes past its operand dies.
type guards struct{ memory [][]byte }

// floats returns n zeros, which live until free.
func (g *guards) floats(n int) []float32 {
	if n == 0 {
		return nil
	}
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		panic(err)
	}
	g.memory = append(g.memory, memory)
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[size-4*n])), n)
}

func (g *guards) free() {
	for _, m := range g.memory {
		if err := syscall.Munmap(m); err != nil {
			panic(err)
		}
	}
	g.memory = nil
}
