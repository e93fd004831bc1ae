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

// TestShow rewrites one line, which is cut to a terminal's width, and keeps what
// is said. Without a terminal there is no such line.
func TestShow(t *testing.T) {
	for _, live := range []bool{true, false} {
		var b bytes.Buffer
		o := newOutput(&b)
		o.live = live
		o.show(strings.Repeat("γ", 100))
		o.show("short")
		o.say("one %s", "line")
		o.clear()
		const erase = "\r\x1b[K"
		want := erase + strings.Repeat("γ", 79) + erase + "short" + erase + "one line\n"
		if !live {
			want = "one line\n"
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("terminal %v (-want +got):\n%s", live, diff)
		}
	}
}

// TestProgress shows what is usual alone until it is passed, in a pipe a line every
// eight seconds, and the rows of evaluations below one header.
func TestProgress(t *testing.T) {
	for _, live := range []bool{false, true} {
		var b bytes.Buffer
		r := &progress{output: newOutput(&b), steps: 1000, learning: 10, usual: 100}
		r.live = live
		now := time.Unix(0, 0)
		for step := 1; step <= 200; step++ {
			now = now.Add(200 * time.Millisecond)
			r.stepped(step, now)
			if step%100 == 0 {
				r.evaluated(qta.Evaluation{Step: step, Success: 0.25, CriticLoss: 1.5}, 5)
			}
		}
		text := strings.ReplaceAll(b.String(), "\r\x1b[K", "\n")
		for line := range strings.SplitSeq(text, "\n") {
			var step int
			fmt.Sscan(line, &step)
			usual, most := strings.Contains(line, "usually solved by step 100"), strings.Contains(line, "at most")
			if strings.Contains(line, "steps/s, ") && (usual != (step < 100) || most != (step >= 100)) {
				t.Errorf("terminal %v: %q", live, line)
			}
			if usual && strings.Contains(line, "1000") {
				t.Errorf("terminal %v: the budget alarms in %q", live, line)
			}
		}
		if n := strings.Count(text, "usually"); n < 2 || !live && n > 4 {
			t.Errorf("terminal %v: %d lines of progress:\n%s", live, n, text)
		}
		rows := "    step  success  critic loss  predictive loss  actor loss  steps/s\n     100     0.25          1.5                0           0        5\n"
		if !strings.Contains(text, rows) || strings.Count(text, "critic loss") != 1 || !strings.Contains(text, "\n     200     0.25") {
			t.Errorf("terminal %v:\n%s", live, text)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 100 * time.Millisecond: "1s", 119 * time.Second: "119s", 2 * time.Minute: "2m",
		121 * time.Second: "3m", 119 * time.Minute: "119m", 2 * time.Hour: "2h00m", 4*time.Hour + 35*time.Minute: "4h35m"} {
		if got := duration(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
