//go:build !unix

package qta

const nonblocking = 0
