package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qta"
)

// live returns an Output on a terminal of some width.
func live(width int) (*Output, *bytes.Buffer) {
	b := new(bytes.Buffer)
	o := New(b)
	o.width = func() int { return width }
	return o, b
}

// TestShow rewrites one line, which is cut to the terminal, and keeps what is
// said.
func TestShow(t *testing.T) {
	o, b := live(20)
	o.Show("a line that is longer than the terminal")
	o.Show("short")
	o.Say("one two three four five %s", "a-name-that-is-longer-than-the-line")
	o.Show("again")
	o.Clear()
	o.Clear()
	const erase = "\r\x1b[K"
	want := erase + "a line that is long" + erase + "short" + erase + "one two three four\nfive\na-name-that-is-longer-than-the-line\n" + erase + "again" + erase
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var plain bytes.Buffer
	o = New(&plain)
	o.Show("never")
	o.Say("%s", strings.Repeat("word ", 50))
	o.Clear()
	if want := strings.Repeat("word ", 50) + "\n"; plain.String() != want || o.Live() {
		t.Errorf("without a terminal: %q", plain.String())
	}
}

func TestTerminals(t *testing.T) {
	if f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil || New(f).Live() {
		t.Errorf("%s is taken for a terminal, error %v", os.DevNull, err)
	}
	full := New(failing{})
	full.Say("a")
	full.Say("b")
	if full.Err() != io.ErrShortWrite {
		t.Errorf("error %v", full.Err())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestRun shows what is usual alone until it is passed, in a pipe a line every
// eight seconds, and the rows of evaluations below one header.
func TestRun(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		o := New(&b)
		if terminal {
			o.width = func() int { return 100 }
		}
		r := &Run{Output: o, Steps: 1000, Learning: 10, Usual: 100}
		now := time.Unix(0, 0)
		for step := 1; step <= 200; step++ {
			now = now.Add(200 * time.Millisecond)
			r.Stepped(step, now)
			if step%100 == 0 {
				r.Evaluated(qta.Evaluation{Step: step, Success: 0.25, CriticLoss: 1.5}, 5)
			}
		}
		text := strings.ReplaceAll(b.String(), "\r\x1b[K", "\n")
		for line := range strings.SplitSeq(text, "\n") {
			var step int
			fmt.Sscan(line, &step)
			usual, most := strings.Contains(line, "usually solved by step 100"), strings.Contains(line, "at most")
			if strings.Contains(line, "steps/s, ") && (usual != (step < 100) || most != (step >= 100)) {
				t.Errorf("terminal %v: %q", terminal, line)
			}
			if usual && strings.Contains(line, "1000") {
				t.Errorf("terminal %v: the budget alarms in %q", terminal, line)
			}
		}
		if n := strings.Count(text, "usually"); n < 2 || !terminal && n > 4 {
			t.Errorf("terminal %v: %d lines of progress:\n%s", terminal, n, text)
		}
		rows := "    step  success  critic loss  predictive loss  actor loss  steps/s\n     100     0.25          1.5                0           0        5\n"
		if !strings.Contains(text, rows) || strings.Count(text, "critic loss") != 1 || !strings.Contains(text, "\n     200     0.25") {
			t.Errorf("terminal %v:\n%s", terminal, text)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 100 * time.Millisecond: "1s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 121 * time.Second: "3m",
		119 * time.Minute: "119m", 2 * time.Hour: "2h00m", 4*time.Hour + 35*time.Minute: "4h35m"} {
		if got := duration(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
