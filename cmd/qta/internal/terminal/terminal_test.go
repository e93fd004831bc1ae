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

// A screen is a terminal: it understands what an Output writes, breaks lines
// that are too long into rows, and breaks them anew when it is resized. The
// cursor is at the end of the last line.
type screen struct {
	width int
	lines []string
}

func (s *screen) rows(line string) int { return max(1, (Columns(line)+s.width-1)/s.width) }

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		var n int
		if _, err := fmt.Sscanf(text, "\x1b[%dA", &n); err == nil {
			up := fmt.Sprintf("\x1b[%dA\r\x1b[J", n)
			if !strings.HasPrefix(text, up) || s.lines[len(s.lines)-1] != "" {
				panic(fmt.Sprintf("%q after %q", text, s.lines))
			}
			s.lines = s.lines[:len(s.lines)-1]
			for n > 0 {
				last := len(s.lines) - 1
				if n -= s.rows(s.lines[last]); n < 0 {
					panic(fmt.Sprintf("the cursor is within %q", s.lines[last]))
				}
				s.lines = s.lines[:last]
			}
			s.lines = append(s.lines, "")
			text = text[len(up):]
			continue
		}
		if len(s.lines) == 0 {
			s.lines = []string{""}
		}
		line, rest, ended := strings.Cut(text, "\n")
		s.lines[len(s.lines)-1] += line
		if ended {
			s.lines = append(s.lines, "")
		}
		text = rest
	}
	return len(p), nil
}

// live returns an Output on a screen.
func live(width int) (*Output, *screen) {
	s := &screen{width: width}
	o := New(s)
	o.width = func() int { return s.width }
	return o, s
}

// shown returns what is on a screen, without the cursor's empty line.
func (s *screen) shown() []string {
	if n := len(s.lines); n > 0 && s.lines[n-1] == "" {
		return s.lines[:n-1]
	}
	return s.lines
}

// TestShow writes on terminals of several widths, which are resized: lines that
// change are never broken, and leave nothing behind, nor take anything away.
func TestShow(t *testing.T) {
	for _, width := range []int{20, 50, 80, 200} {
		o, s := live(width)
		var stays []string
		for i := range 60 {
			if i%7 == 3 {
				s.width = []int{30, 120, 50, 25, 200}[i/7%5]
			}
			lines := []string{fmt.Sprintf("%d %s", i, strings.Repeat("x", 90)), "…" + strings.Repeat("한", 40), "short"}[:1+i%3]
			o.Show(lines...)
			got := s.shown()
			if len(got) != len(stays)+len(lines) {
				t.Fatalf("width %d, round %d: %q", s.width, i, got)
			}
			for k, line := range got[len(stays):] {
				if Columns(line) >= s.width || !strings.HasPrefix(lines[k], line) {
					t.Errorf("width %d: %q has %d columns", s.width, line, Columns(line))
				}
			}
			if i%5 == 4 {
				o.Say("said %d", i)
				stays = append(stays, fmt.Sprintf("said %d", i))
			}
			if diff := cmp.Diff(stays, s.shown()[:len(stays)], cmp.Transformer("nil", func(x []string) []string { return append([]string{}, x...) })); i%5 == 4 && (diff != "" || len(s.shown()) != len(stays)) {
				t.Fatalf("width %d, round %d: %q, want %q", s.width, i, s.shown(), stays)
			}
		}
		o.Clear()
		if len(s.shown()) != len(stays) {
			t.Errorf("width %d: at the end %q", width, s.shown())
		}
	}
}

// TestSay breaks long lines between words on a terminal, and nowhere else.
func TestSay(t *testing.T) {
	o, s := live(20)
	o.Say("one two three four five %s", "a-name-that-is-longer-than-the-line")
	want := []string{"one two three four", "five", "a-name-that-is-longer-than-the-line"}
	if diff := cmp.Diff(want, s.shown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	plain := New(&b)
	plain.Show("never")
	plain.Say("%s", strings.Repeat("word ", 50))
	plain.ShowSweep([]string{"never"}, nil)
	plain.Clear()
	if want := strings.Repeat("word ", 50) + "\n"; b.String() != want || plain.Live() || plain.Width() != usualWidth {
		t.Errorf("%q", b.String())
	}
}

func TestTerminals(t *testing.T) {
	for _, name := range []string{os.DevNull, "/dev/full"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("this system has no such device: %v", err)
		}
		defer f.Close()
		if New(f).Live() {
			t.Errorf("%s is taken for a terminal", name)
		}
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

// TestRun shows a run on wide and narrow terminals: every line fits, "at most"
// comes from steps with learning in them and never rises, however the machine's
// speed changes, and ends at nothing.
func TestRun(t *testing.T) {
	for _, width := range []int{40, 50, 80, 120} {
		o, s := live(width)
		now := time.Unix(0, 0)
		p := Plan{Steps: 6000, Learning: 50, Choosing: 1000, Average: 1.5, Worst: 3, Usual: []int{2000, 3000, 5000}}
		r := NewRun(o, p, 0, now)
		least, bounds, usual := time.Duration(1<<62), 0, 0
		for step := 1; step <= p.Steps; step++ {
			took := time.Millisecond // without learning
			switch {
			case step > 3000:
				took = 120 * time.Millisecond // a machine that others use, too
			case step > 1000:
				took = 40 * time.Millisecond
			case step > 50:
				took = 20 * time.Millisecond
			}
			now = now.Add(took)
			r.Stepped(step, now)
			line := ""
			if got := s.shown(); len(got) > 0 {
				line = got[len(got)-1]
			}
			if Columns(line) >= width {
				t.Fatalf("width %d: %q", width, line)
			}
			if r.least < 1<<62 {
				bounds++
				if r.least > least {
					t.Fatalf("step %d: at most %v, before it %v", step, r.least, least)
				}
				least = r.least
				if step == 500 && r.least > 5500*61*time.Millisecond {
					t.Errorf("step %d: at most %v, where a step takes 20 ms and an update with a choice 60 ms", step, r.least)
				}
			}
			if strings.Contains(line, "usually") {
				usual++
				if step <= 50 || step >= 5100 {
					t.Errorf("step %d: %q", step, line)
				}
			}
			if step < 50 && strings.Contains(line, "left") {
				t.Errorf("step %d: %q before anything was learned", step, line)
			}
			if step%1000 == 0 {
				before := len(s.shown())
				r.Evaluated(qta.Evaluation{Step: step, Success: 0.25, CriticLoss: 1.5, PredictiveLoss: 1e-5, ActorLoss: -123.4}, 25)
				for _, line := range s.shown()[before-1:] {
					if Columns(line) >= width {
						t.Errorf("width %d: %q", width, line)
					}
				}
			}
		}
		if bounds < 5000 || least > 500*time.Millisecond || width >= 50 && usual < 3000 {
			t.Errorf("width %d: %d times a bound, the last %v; %d times what is usual", width, bounds, least, usual)
		}
	}
}

// TestRunPlain shows a run where there is no terminal: the rows, and a line
// wherever eight seconds pass without one.
func TestRunPlain(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	r := NewRun(New(&b), Plan{Steps: 1000, Learning: 10}, 0, now)
	for step := 1; step <= 100; step++ {
		now = now.Add(200 * time.Millisecond)
		r.Stepped(step, now)
	}
	r.Evaluated(qta.Evaluation{Step: 100, Success: 0.25, CriticLoss: 1.5}, 50)
	for step := 101; step <= 200; step++ {
		now = now.Add(200 * time.Millisecond)
		r.Stepped(step, now)
	}
	want := "      40 of 1000 steps, 5 steps/s, at most 4m left\n" + // of 192 seconds
		"      80 of 1000 steps, 5 steps/s, at most 4m left\n" +
		"    step  success  critic loss  predictive loss  actor loss  steps/s\n" +
		"     100     0.25          1.5                0           0       50\n" +
		"     140 of 1000 steps, 5 steps/s, at most 3m left\n" +
		"     180 of 1000 steps, 5 steps/s, at most 3m left\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestShowSweep shows tables: every row fits, tells budget, speed and time left,
// and keeps the end of the name.
func TestShowSweep(t *testing.T) {
	cells := []Cell{
		{"1U5-small-Curriculum=mega-7", 3000, 150_000, 0.45, 123.4, time.Hour, 20 * time.Minute},
		{"4x5-default-1", 0, 20_000, 0, 0, time.Second, -1},
	}
	for len(cells) < 30 {
		cells = append(cells, cells[0])
	}
	for _, width := range []int{40, 50, 80, 120} {
		o, s := live(width)
		o.ShowSweep([]string{"1 of 30 done (1 solved)", "2 running", "0 failed", "27 waiting", "1m0s"}, cells)
		got := s.shown()
		if len(got) != 1+tableRows+1 || got[len(got)-1] != "  and 10 others" || !strings.HasPrefix(got[0], "1 of 30 done (1 solved)") {
			t.Errorf("width %d: %q", width, got)
		}
		for i, line := range got[1 : 1+tableRows] {
			want := []string{"3000/150000", " 0.45", " 123/s", "≤ 20m", "=mega-7"}
			if i == 1 {
				want = []string{"0/20000", " 0.00", " - ", "default-1"}
			}
			for _, w := range want {
				if !strings.Contains(line, w) && width >= 50 {
					t.Errorf("width %d: %q lacks %q", width, line, w)
				}
			}
			if Columns(line) >= width {
				t.Errorf("width %d: %q has %d columns", width, line, Columns(line))
			}
		}
	}
}
