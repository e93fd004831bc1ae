//go:build !purego && noavx512

package qta

const useAVX512 = false
