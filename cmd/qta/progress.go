package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"qta"
)

// A cadence decides when something that costs time is due again.
type cadence struct {
	steps  int           // due after so many environment steps
	period time.Duration // or after so long, unless 0
	share  float64       // but so rarely that it takes at most this part of the time

	lastStep int
	lastTime time.Time
	cost     time.Duration // of the last time
}

func (c *cadence) due(step int, now time.Time) bool {
	since := now.Sub(c.lastTime)
	if step-c.lastStep < c.steps && (c.period == 0 || since < c.period) {
		return false
	}
	return float64(c.cost) <= c.share*float64(since)
}

// done notes that what was due at step took from begin to end.
func (c *cadence) done(step int, begin, end time.Time) {
	c.lastStep, c.lastTime, c.cost = step, end, end.Sub(begin)
}

// A printer writes a run's lines. On a terminal it also keeps a live line
// below them.
type printer struct {
	w     io.Writer
	live  bool
	steps int // the budget

	begun    bool // the header is written
	width    int  // of the live line, 0 where it is not on the screen
	lastStep int
	lastTime time.Time
	rate     float64 // of the live line, in environment steps per second, 0 at first
}

func newPrinter(w io.Writer, steps, step int) *printer {
	return &printer{w: w, live: isTerminal(w), steps: steps, lastStep: step, lastTime: time.Now()}
}

func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say writes a line.
func (p *printer) say(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// evaluated writes the line of an evaluation.
func (p *printer) evaluated(e qta.Evaluation, rate float64) {
	if !p.begun {
		p.say("%8s %8s %12s %16s %11s %8s", "step", "success", "critic loss", "predictive loss", "actor loss", "steps/s")
		p.begun = true
	}
	p.say("%8d %8.2f %12.4g %16.4g %11.4g %8.4g", e.Step, e.Success, e.CriticLoss, e.PredictiveLoss, e.ActorLoss, rate)
}

// refresh is how often the live line changes.
const refresh = 250 * time.Millisecond

// stepped brings the live line up to date.
func (p *printer) stepped(step int, now time.Time) {
	if !p.live || now.Sub(p.lastTime) < refresh {
		return
	}
	rate := float64(step-p.lastStep) / now.Sub(p.lastTime).Seconds()
	if p.rate != 0 {
		rate = p.rate + 0.1*(rate-p.rate) // steps differ in cost, as goals are chosen in some of them
	}
	p.rate, p.lastStep, p.lastTime = rate, step, now
	p.clear()
	left := time.Duration(float64(p.steps-step) / rate * float64(time.Second)).Round(time.Second)
	line := fmt.Sprintf("%8d of %d steps, %.4g steps/s, at most %v left", step, p.steps, rate, left)
	fmt.Fprint(p.w, line)
	p.width = len(line)
}

// clear takes the live line off the screen.
func (p *printer) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width, "")
		p.width = 0
	}
}
