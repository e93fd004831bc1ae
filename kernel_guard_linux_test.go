package qta

import (
	"os"
	"syscall"
	"unsafe"
)

func init() { guarded = pageEnd }

// pageEnd returns n zeros, n above 0, that end with a page, before one that cannot
// be touched, so that a kernel that goes past its operand dies.
func pageEnd(n int) (x []float32, free func()) {
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	const access = syscall.PROT_READ | syscall.PROT_WRITE
	memory, err := syscall.Mmap(-1, 0, size+page, access, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		panic(err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[size-4*n])), n), func() {
		if err := syscall.Munmap(memory); err != nil {
			panic(err)
		}
	}
}
