package main

import (
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk has no room for the first file of a run: it is not called bad
// input, which would let a sweep's engine give up.
func TestFullDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("QTA_TEST_FILE_SIZE", "100")
	c, out := process(t, tinyRun("-steps", "100", "-out", "run")...)
	c.Wait()
	if c.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(out.String(), "qta: run/run.json cannot be written: file too large") {
		t.Errorf("%v\n%s", c.ProcessState, out)
	}
}

// limitFiles limits the size of files that this process can write, as if the
// disk were full then.
func limitFiles(size string) {
	if n, err := strconv.ParseUint(size, 10, 32); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		var limit syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
		limit.Cur = n
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	}
}
