package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"qta"
	"qta/internal/words"
)

// This file shows what is going on, in lines that stay on the screen. On a terminal there
// is one more line below them, whose text changes as the work goes on.

// An output is where a command writes. It keeps the first error of writing.
type output struct {
	w      io.Writer
	live   bool // w is a terminal, which has a line that changes
	shown  bool // the line that changes is on the screen
	err    error
	failed func(error) // gets the first error; may be nil
}

func newOutput(w io.Writer) *output {
	o := &output{w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		o.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return o
}

// Write writes text, made safe by [words.Text], because names in it may come from anyone.
func (o *output) Write(p []byte) (int, error) { return len(p), o.write(words.Text(string(p))) }

// write writes text unchanged.
func (o *output) write(text string) error {
	_, err := io.WriteString(o.w, text)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("standard output cannot be written: %w", words.Cause(err))
		if o.failed != nil {
			o.failed(o.err)
		}
	}
	return err
}

// say writes a line that stays.
func (o *output) say(format string, args ...any) {
	o.clear()
	fmt.Fprintln(o, words.Plain(fmt.Sprintf(format, args...)))
}

// show replaces the line that changes, which the terminal cuts off at its edge.
// Without a terminal it does nothing.
func (o *output) show(line string) {
	if o.live {
		o.write("\r\x1b[K\x1b[?7l" + words.Plain(line) + "\x1b[?7h")
		o.shown = true
	}
}

// clear takes the line that changes off the screen.
func (o *output) clear() {
	if o.shown {
		o.write("\r\x1b[K")
		o.shown = false
	}
}

// A progress shows how far a run is.
type progress struct {
	*output
	steps int // the budget

	head    bool      // the header is written
	from    int       // the first step that this process made
	at      time.Time // when that was
	shownAt time.Time // when a step was shown last
}

// stepped is called after each step. It shows the progress at most four times a second.
func (r *progress) stepped(step int, now time.Time) {
	if r.at.IsZero() {
		r.from = step
		r.at = now
	}
	tooSoon := now.Sub(r.shownAt) < 250*time.Millisecond
	if !r.live || step == r.from || tooSoon {
		return
	}
	r.shownAt = now
	speed := float64(step-r.from) / now.Sub(r.at).Seconds()
	seconds := float64(r.steps-step) / speed
	left := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	r.show(fmt.Sprintf("%8d steps, %.3g steps/s; at most %v to step %d", step, speed, left, r.steps))
}

// evaluated writes the line of an evaluation.
func (r *progress) evaluated(e qta.Evaluation, speed float64) {
	if !r.head {
		r.say("    step  success  critic loss  predictive loss  actor loss  steps/s")
		r.head = true
	}
	r.say("%8d %8.2f %12.4g %16.4g %11.4g %8.4g",
		e.Step, e.Success, e.CriticLoss, e.PredictiveLoss, e.ActorLoss, speed)
}
