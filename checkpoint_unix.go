//go:build unix

package qta

import "syscall"

// nonblocking is the flag with which opening a FIFO does not wait for a writer.
const nonblocking = syscall.O_NONBLOCK
