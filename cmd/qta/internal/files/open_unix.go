//go:build unix

package files

import "syscall"

// Flags of opening: with the first a FIFO does not wait for its other end, with
// the second a link is not followed.
const (
	nonblocking = syscall.O_NONBLOCK
	noFollow    = syscall.O_NOFOLLOW
)
