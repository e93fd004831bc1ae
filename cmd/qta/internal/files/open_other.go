//go:build !unix

package files

const (
	nonblocking = 0
	noFollow    = 0
)
