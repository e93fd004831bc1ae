package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qta"
)

// TestProgress shows on a terminal how far the budget is, and everywhere the rows of
// evaluations below one header.
func TestProgress(t *testing.T) {
	for _, live := range []bool{false, true} {
		var b bytes.Buffer
		r := &progress{output: newOutput(&b), steps: 1000}
		r.live = live
		now := time.Unix(0, 0)
		for step := 1; step <= 200; step++ {
			now = now.Add(200 * time.Millisecond)
			r.stepped(step, now)
			if step%100 == 0 {
				r.evaluated(qta.Evaluation{Step: step, Success: 0.25, CriticLoss: 1.5}, 5)
			}
		}
		var want strings.Builder
		show := func(format string, args ...any) {
			if live {
				text := fmt.Sprintf("\x1b[?7l"+format+"\x1b[?7h", args...)
				want.WriteString("\r\x1b[K" + strings.TrimPrefix(text, "\x1b[?7l\x1b[?7h")) // no text clears the line
			}
		}
		for step := 2; step <= 200; step += 2 { // every 0.4 s
			left := (time.Duration(1000-step) * time.Second / 5).Round(time.Second)
			show("%8d steps, 5 steps/s; at most %v to step 1000", step, left)
			if step == 100 {
				show("")
				want.WriteString("    step  success  critic loss  predictive loss  actor loss  steps/s\n" +
					"     100     0.25          1.5                0           0        5\n")
			}
		}
		show("")
		want.WriteString("     200     0.25          1.5                0           0        5\n")
		if diff := cmp.Diff(strings.Split(want.String(), "\r"), strings.Split(b.String(), "\r")); diff != "" {
			t.Errorf("terminal %v (-want +got):\n%s", live, diff)
		}
	}
}
