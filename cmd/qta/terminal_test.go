package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"qta"
)

// TestProgress shows on a terminal how far the budget is, four times a second, and
// everywhere the rows of evaluations below one header.
func TestProgress(t *testing.T) {
	const (
		head   = "    step  success  critic loss  predictive loss  actor loss  steps/s\n"
		row    = "       5     0.25          1.5                0           0        5\n"
		begin  = "\r\x1b[K\x1b[?7l       3 steps, 5 steps/s; at most 3m19s to step 1000\x1b[?7h"
		second = "\r\x1b[K\x1b[?7l       5 steps, 5 steps/s; at most 3m19s to step 1000\x1b[?7h"
		clear  = "\r\x1b[K"
	)
	for live, want := range map[bool]string{
		false: head + row + row,
		true:  begin + second + clear + head + row + row,
	} {
		var b bytes.Buffer
		r := &progress{output: &output{w: &b, live: live}, steps: 1000, shownAt: time.Unix(0, 0)}
		for step := 1; step <= 5; step++ {
			r.stepped(step, time.Unix(0, 0).Add(time.Duration(step-1)*200*time.Millisecond))
		}
		for range 2 {
			r.evaluated(qta.Evaluation{Step: 5, Success: 0.25, CriticLoss: 1.5}, 5)
		}
		equal(t, fmt.Sprintf("terminal %v", live), want, b.String())
	}
}
