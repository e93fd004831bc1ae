package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"qta"
	"qta/internal/words"
)

// This file is what a person sees while something runs: lines that stay, and on a
// terminal one line below them that changes.

// An output is where a command writes. It keeps the first error of writing.
type output struct {
	w      io.Writer
	live   bool // on a terminal, which has a line that changes
	shown  bool // that line is on the screen
	err    error
	failed func(error) // is told of the first error; may be nil
}

func newOutput(w io.Writer) *output {
	o := &output{w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		o.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return o
}

// Write writes as it stands.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("standard output cannot be written: %w", words.Cause(err))
		if o.failed != nil {
			o.failed(o.err)
		}
	}
	return n, err
}

// say writes a line that stays.
func (o *output) say(format string, args ...any) {
	o.clear()
	fmt.Fprintf(o, format+"\n", args...)
}

// show replaces the line that changes. Without a terminal it does nothing.
func (o *output) show(line string) {
	const width = 79
	if o.live {
		fmt.Fprintf(o, "\r\x1b[K%.*s", width, line)
		o.shown = true
	}
}

// clear takes the line that changes off the screen.
func (o *output) clear() {
	if o.shown {
		io.WriteString(o, "\r\x1b[K")
		o.shown = false
	}
}

// A progress shows how far a run is.
type progress struct {
	*output
	steps    int // the budget
	learning int // steps before updates begin, which tell nothing about the speed
	usual    int // steps by which runs like this one are usually solved, or 0

	begun bool      // the header is written
	said  time.Time // when the last line was
	shown time.Time // when the progress was last measured
	step  int       // then
	speed float64   // environment steps per second, of late
}

// stepped shows that a step was made.
func (r *progress) stepped(step int, now time.Time) {
	const (
		refresh = 250 * time.Millisecond // of the line that changes
		silence = 8 * time.Second        // between two lines where there is none
	)
	if r.shown.IsZero() || step <= r.learning {
		r.step, r.shown, r.said = step, now, now
		return
	}
	passed := now.Sub(r.shown)
	if passed < refresh {
		return
	}
	speed := float64(step-r.step) / passed.Seconds()
	if r.speed != 0 {
		speed = r.speed + 0.1*(speed-r.speed) // goals are chosen in some steps, which cost more
	}
	r.speed, r.step, r.shown = speed, step, now
	if r.live {
		r.show(r.line(step))
	} else if now.Sub(r.said) >= silence {
		r.said = now
		r.say("%s", r.line(step))
	}
}

// line says where the run is. What is usual is said alone until it is passed:
// the budget is many times that.
func (r *progress) line(step int) string {
	left := func(end int) string {
		return duration(time.Duration(float64(end-step) / r.speed * float64(time.Second)))
	}
	if step < r.usual {
		return fmt.Sprintf("%8d steps, %.3g steps/s, usually solved by step %d, in about %s", step, r.speed, r.usual, left(r.usual))
	}
	return fmt.Sprintf("%8d of %d steps, %.3g steps/s, at most about %s left", step, r.steps, r.speed, left(r.steps))
}

// duration writes a time to about two digits.
func duration(d time.Duration) string {
	switch s := int(math.Ceil(d.Seconds())); {
	case s < 120:
		return fmt.Sprintf("%ds", s)
	case s < 2*3600:
		return fmt.Sprintf("%dm", (s+59)/60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
}

// evaluated writes the line of an evaluation.
func (r *progress) evaluated(e qta.Evaluation, speed float64) {
	if !r.begun {
		r.say("    step  success  critic loss  predictive loss  actor loss  steps/s")
		r.begun = true
	}
	r.say("%8d %8.2f %12.4g %16.4g %11.4g %8.4g", e.Step, e.Success, e.CriticLoss, e.PredictiveLoss, e.ActorLoss, speed)
	r.said = r.shown
}
