package files

import (
	"os"
	"syscall"
	"testing"
)

// TestOutputDevice writes to devices of the test's own: a test that goes wrong
// must not replace those of the system.
func TestOutputDevice(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		name  string
		minor int // of the memory devices
		fails bool
	}{{"null", 3, false}, {"full", 7, true}} {
		if err := syscall.Mknod(test.name, syscall.S_IFCHR|0o666, 1<<8|test.minor); err != nil {
			t.Skipf("making a device needs root: %v", err)
		}
		if f, err := os.OpenFile(test.name, os.O_WRONLY, 0); err != nil {
			t.Skipf("this file system opens no devices: %v", err)
		} else {
			f.Close()
		}
		through, err := Output(test.name, []byte("x"))
		if !through || (err != nil) != test.fails {
			t.Errorf("%s: %t, error %v", test.name, through, err)
		}
		if err := Write(test.name, []byte("x"), false); err == nil {
			t.Errorf("%s is written as a file", test.name)
		}
		if info, err := os.Lstat(test.name); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			t.Errorf("%s is no device any more: %v", test.name, err)
		}
	}
}
