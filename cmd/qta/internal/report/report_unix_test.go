//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package report

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"qta/cmd/qta/internal/paper"
)

// TestReportOfMany holds a report over a thousand runs to 5 s of a processor
// and 200 MB.
func TestReportOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it writes a thousand directories, which takes seconds")
	}
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 3))
	n := 0
	for seed := uint64(1); n < 1000; seed++ {
		for _, maze := range paper.Mazes() {
			for _, m := range paper.Methods()[:12] {
				if n++; n <= 1000 {
					synthetic(t, fmt.Sprintf("runs/%s-%s-%d", maze, m.Name, seed), m, maze, seed, 1000*int(150*rng.Float64()), nil)
				}
			}
		}
	}
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	sys, begin, clock := memory.Sys, used(), time.Now()
	page := pageOf(t, of(t, "runs"))
	took := used() - begin
	wall := time.Since(clock)
	runtime.ReadMemStats(&memory)
	grown := (memory.Sys - sys) >> 20
	t.Logf("%v of processor time, %v by the clock, %d MB more from the system, page of %d kB", took, wall, grown, len(page)>>10)
	if took > 5*time.Second || grown > 200 {
		t.Errorf("%v and %d MB, want at most 5 s and 200 MB", took, grown)
	}
}
