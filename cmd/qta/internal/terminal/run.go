package terminal

import (
	"fmt"
	"math"
	"time"

	"qta"
)

// A Run shows the progress of one run.
type Run struct {
	*Output
	Steps    int // the budget
	Learning int // steps before updates begin, which tell nothing about the speed
	Usual    int // steps by which runs like this one are usually solved, or 0

	begun bool      // the header is written
	said  time.Time // when the last line was
	shown time.Time // when the progress was last measured
	step  int       // then
	speed float64   // environment steps per second, of late
}

const (
	refresh = 250 * time.Millisecond // of the line that changes
	silence = 8 * time.Second        // between two lines where there is none
)

// Stepped shows how far the run is.
func (r *Run) Stepped(step int, now time.Time) {
	if r.shown.IsZero() || step <= r.Learning {
		r.step, r.shown = step, now
		if r.said.IsZero() {
			r.said = now
		}
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
	if r.Live() {
		r.Show(r.progress(step))
	} else if now.Sub(r.said) >= silence {
		r.said = now
		r.Say("%s", r.progress(step))
	}
}

// progress says where the run is. What is usual is said alone until it is passed:
// the budget is many times that.
func (r *Run) progress(step int) string {
	left := func(end int) string {
		return duration(time.Duration(float64(end-step) / r.speed * float64(time.Second)))
	}
	if step < r.Usual {
		return fmt.Sprintf("%8d steps, %.3g steps/s, usually solved by step %d, in about %s", step, r.speed, r.Usual, left(r.Usual))
	}
	return fmt.Sprintf("%8d of %d steps, %.3g steps/s, at most about %s left", step, r.Steps, r.speed, left(r.Steps))
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

// Evaluated writes the line of an evaluation.
func (r *Run) Evaluated(e qta.Evaluation, speed float64) {
	if !r.begun {
		r.Say("    step  success  critic loss  predictive loss  actor loss  steps/s")
		r.begun = true
	}
	r.Say("%8d %8.2f %12.4g %16.4g %11.4g %8.4g", e.Step, e.Success, e.CriticLoss, e.PredictiveLoss, e.ActorLoss, speed)
	r.said = r.shown
}
