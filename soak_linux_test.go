package qta

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// residentKB returns the memory of this process that is in RAM, in kB.
func residentKB(t *testing.T) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skipf("the system does not say how much memory a process has: %v", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "VmRSS:"); ok {
			kB, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kB
		}
	}
	t.Skip("this system's /proc/self/status does not say how much memory a process has (VmRSS)")
	return 0
}

// TestSoak trains for long, and holds the memory in use to what it was once
// every part of training had its memory. The resident size may grow by the room
// that the replay has taken for transitions, and a little for the garbage that
// is not collected yet.
//
// QTA_SOAK is the number of steps of a full-size run; where it is not set the
// run is a tiny one:
//
//	QTA_SOAK=30000 go test -run TestSoak -timeout 0 -v .
func TestSoak(t *testing.T) {
	p, steps, every := tinyPreset(Default()), 4000, 1000
	if text := os.Getenv("QTA_SOAK"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 3000 {
			t.Fatalf("QTA_SOAK is %q, want a whole number from 3000", text)
		}
		p, steps = Default(), n
	}
	runtime.GC()
	goroutines := runtime.NumGoroutine()
	m := mustMaze(t, "4x5")
	a, err := NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	a.SetThreads(2)
	defer a.Close()
	room := func() (bytes int) {
		for _, c := range a.replay.columns() {
			bytes += 8 * cap(*c.data)
		}
		return bytes
	}

	const (
		settled = 2000    // steps after which goals are chosen from all candidates
		slack   = 8 << 10 // kB
	)
	start, reference, before := time.Now(), 0, 0
	o := TrainOptions{Steps: steps, EvalEvery: every, Rollouts: 20}
	o.AfterStep = func() error {
		if a.step%every != 0 && a.step != p.LearningStarts+1 {
			return nil
		}
		debug.FreeOSMemory() // what the replay has grown out of
		resident := residentKB(t)
		t.Logf("%6d steps, %6.0f s: %d kB resident", a.step, time.Since(start).Seconds(), resident)
		if a.step == settled {
			reference, before = resident, room()
		}
		if grown := (room() - before) >> 10; a.step > settled && resident > reference+grown+slack {
			t.Errorf("step %d: %d kB resident, %d at step %d: more than the %d kB of new transitions and %d", a.step, resident, reference, settled, grown, slack)
		}
		return nil
	}
	if err := a.Train(context.Background(), m.Env(), m.Env(), o); err != nil {
		t.Fatal(err)
	}
	a.Close()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines at the end, %d at the beginning", n, goroutines)
	}
	t.Logf("%d goroutines at the end, %d at the beginning", runtime.NumGoroutine(), goroutines)
}
