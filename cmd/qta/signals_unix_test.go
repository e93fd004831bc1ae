//go:build unix && !aix && !solaris

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta/internal/roomtest"
	"qta/lab"
)

// TestSignals stops processes by signals: the run is saved, and the same command
// goes on.
func TestSignals(t *testing.T) {
	t.Chdir(t.TempDir())
	evaluation := regexp.MustCompile(`^ +\d+ `)
	args := tiny + " -steps 1000000 -eval 10 -out run"
	roomtest.Write(t, "s.txt", args)
	for round, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if ossignal.Ignored(signal) {
			t.Logf("%v: ignored here, as under nohup", signal)
			continue
		}
		if round == 2 && testing.Short() {
			break // each takes half a second
		}
		var out bytes.Buffer
		command := args
		if round == 1 { // as under Slurm
			command = "sweep s.txt -index 0 -out ."
		}
		c := exec.Command(os.Args[0], strings.Fields(command)...)
		c.Env, c.Stderr = append(os.Environ(), "QTA_TEST_COMMAND=1"), os.Stderr
		stdout, err := c.StdoutPipe()
		if err = errors.Join(err, c.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() })
		lines := bufio.NewScanner(stdout)
		for evaluated := false; !evaluated && lines.Scan(); { // until it has evaluated, or ended
			evaluated = evaluation.MatchString(lines.Text())
			fmt.Fprintln(&out, lines.Text())
		}
		err = c.Process.Signal(signal)
		time.Sleep(5 * time.Millisecond) // timeout(1) sends two
		c.Process.Signal(signal)
		if err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			fmt.Fprintln(&out, lines.Text())
		}
		c.Wait()
		r, err := lab.ReadRecord("run/run.json")
		if c.ProcessState.ExitCode() != exitUnfinished || err != nil || r.State != lab.Stopped {
			t.Fatalf("%v: %v, record %+v, error %v\n%s", signal, c.ProcessState, r, err, out.String())
		}
		if again := bytes.Contains(out.Bytes(), []byte("Continues after ")); again != (round > 0) {
			t.Errorf("%v: round %d continues: %v\n%s", signal, round, again, out.String())
		}
	}
}
