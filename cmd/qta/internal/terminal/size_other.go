//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package terminal

import "os"

// columns returns 0, as package syscall does not know how wide a terminal is
// here, and whether the file is one, or something like it.
func columns(f *os.File) (n int, is bool) {
	info, err := f.Stat()
	return 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
