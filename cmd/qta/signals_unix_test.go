//go:build unix && !aix && !solaris

package main

import (
	ossignal "os/signal"
	"syscall"
	"testing"
	"time"

	"qta/internal/roomtest"
	"qta/lab"
)

// TestSignals stops processes by signals: the run is saved. TestStopsBetweenEpisodes of lab
// continues such runs.
func TestSignals(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tiny + " -steps 20000 -checkpoint 50 -out "
	roomtest.Write(t, "s.txt", args+"cell")
	for _, test := range []struct {
		signal       syscall.Signal
		command, dir string
	}{
		{syscall.SIGTERM, args + "run", "run"},
		{syscall.SIGINT, "sweep s.txt -index 0 -out .", "cell"}, // as under Slurm
		{syscall.SIGHUP, args + "left", "left"},
	} {
		if ossignal.Ignored(test.signal) {
			t.Logf("%v: ignored here, as under nohup", test.signal)
			continue
		}
		c := start(t, test.command)
		begun(t, test.dir)
		c.Process.Signal(test.signal)
		time.Sleep(5 * time.Millisecond) // timeout(1) sends two
		c.Process.Signal(test.signal)
		c.Wait()
		equal(t, "the exit code of "+test.dir, exitUnfinished, c.ProcessState.ExitCode())
		equal(t, "the state of "+test.dir, lab.Stopped, recordOf(t, test.dir).State)
	}
}
