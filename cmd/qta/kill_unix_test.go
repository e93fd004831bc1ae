//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/rundir"
)

// TestKills kills one process each of many runs, at a random moment, and lets
// another continue it: all must end with the log and the digest of a run that
// was never interrupted. Checkpoints come at every third step, so that many
// kills hit one that is being written. All curricula and kinds of
// replay take turns.
//
// QTA_KILLS is the number of kills, 10 where it is not set:
//
//	QTA_KILLS=200 go test -run TestKills -timeout 0 -v ./cmd/qta
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it trains in processes that it kills, which takes seconds")
	}
	kills := 10
	if text := os.Getenv("QTA_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("QTA_KILLS is %q, want a whole number from 1", text)
		}
		kills = n
	}
	t.Chdir(t.TempDir())
	// Episodes are short, and their goals chosen by uncertainty from the third
	// on. Without QTA_KILLS the networks are tiny as well.
	small := "-maze 1U5 -params small -set Horizon=20 -set InitialSteps=40 -set LearningStarts=30 -steps 100 -eval 25 -stop never "
	if os.Getenv("QTA_KILLS") == "" {
		small += "-set HiddenSize=8 -set Batch=16 -set Candidates=20 -set UncertaintyActions=2 "
	}
	var variants []string
	for _, f := range qta.Fields() {
		switch f.Name {
		case "Curriculum", "Replay":
			for value := range strings.SplitSeq(f.Range, "|") {
				variants = append(variants, small+"-set "+f.Name+"="+value)
			}
		}
	}
	variants = append(variants, strings.Replace(small, "-params small", "-params authors -set HiddenSize=64 -set Batch=256 -set Candidates=500", 1))

	rng := rand.New(rand.NewPCG(1, 1))
	took := map[string]time.Duration{}
	within, between, before, again := 0, 0, 0, 0
	for k := range kills {
		variant := variants[k%len(variants)]
		whole := "whole" + strconv.Itoa(k%len(variants))
		if took[variant] == 0 {
			start := time.Now()
			c, out := process(t, append(strings.Fields(variant), "-checkpoint", "3", "-out", whole)...)
			if err := c.Wait(); err != nil {
				t.Fatalf("%s: %v\n%s", variant, err, out)
			}
			took[variant] = time.Since(start)
		}
		dir := "run" + strconv.Itoa(k)
		args := append(strings.Fields(variant), "-checkpoint", "3", "-threads", strconv.Itoa(1+k%2), "-out", dir)
		for {
			c, out := process(t, args...)
			time.Sleep(time.Duration(rng.Float64() * float64(took[variant])))
			c.Process.Kill()
			c.Wait() // ProcessState tells what came first
			if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
				break
			}
			if !c.ProcessState.Success() {
				t.Fatalf("%s: %v\n%s", strings.Join(args, " "), c.ProcessState, out)
			}
			again++ // it had ended
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, rundir.AgentFile)
		switch {
		case !files.Exists(path) && files.Exists(path+qta.Previous):
			between++
		case files.Exists(path + files.Temporary):
			within++
		case !files.Exists(path):
			before++
		}
		got := command(t, args...)
		if got.code != exitDone {
			t.Fatalf("kill %d, qta %s: exit code %d, stderr %q", k, strings.Join(args, " "), got.code, got.errors)
		}
		sameOutcome(t, whole, dir)
		if t.Failed() {
			t.Fatalf("kill %d: qta %s", k, strings.Join(args, " "))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills of %d kinds of runs: %d while a checkpoint was written, %d between its renames, %d before the first; %d runs had ended before their kill and were begun again",
		kills, len(variants), within, between, before, again)
}
