package terminal

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"qta"
)

// Plan is what is known of a run before it begins.
type Plan struct {
	Steps    int     // the budget
	Learning int     // environment steps before updates begin
	Choosing int     // and before goals are chosen by uncertainty
	Average  float64 // how many times an update's time a step takes that way on average
	Worst    float64 // and at most, with a choice in every step
	Usual    []int   // steps that runs like this one took to the solution, ascending, if it is to stop there
}

// A Run shows the progress of one run.
type Run struct {
	*Output
	plan Plan

	begun  bool      // the header is written
	said   time.Time // when the last line was
	shown  time.Time // when the live line was last brought up to date
	phase  phase
	from   int       // the first step of the phase in this process
	since  time.Time // when it was
	recent float64   // environment steps per second, of late
	step   int       // at shown
	least  time.Duration
}

// A phase is a part of training in which steps cost about the same.
type phase int

const (
	gathering phase = iota // nothing is learned yet
	learning               // goals are drawn at random
	choosing               // goals are chosen
)

// NewRun shows the progress of a run that stands at a step.
func NewRun(o *Output, p Plan, step int, now time.Time) *Run {
	return &Run{Output: o, plan: p, said: now, shown: now, since: now, from: step, step: step, least: math.MaxInt64}
}

const (
	refresh = 250 * time.Millisecond // of the live line
	silence = 8 * time.Second        // between two lines, where there is no live one

	// measured is how many steps of a phase tell how fast the rest will be.
	measured = 20
)

// Stepped brings the live line up to date.
func (r *Run) Stepped(step int, now time.Time) {
	if p := r.phaseAt(step); p != r.phase {
		r.phase, r.from, r.since = p, step, now
	}
	if now.Sub(r.shown) < refresh {
		return
	}
	rate := float64(step-r.step) / now.Sub(r.shown).Seconds()
	if r.recent != 0 {
		rate = r.recent + 0.1*(rate-r.recent) // steps differ in cost, as goals are chosen in some of them
	}
	r.recent, r.step, r.shown = rate, step, now
	long, short := r.parts(step, now)
	switch line := strings.Join(long, ", "); {
	case r.Live() && Columns(line) < r.Width():
		r.Show(line)
	case r.Live():
		r.Show(fit(r.Width()-1, short))
	case now.Sub(r.said) >= silence:
		r.said = now
		r.Say("%s", line)
	}
}

// phaseAt returns the phase that a step belongs to.
func (r *Run) phaseAt(step int) phase {
	switch {
	case step <= r.plan.Learning:
		return gathering
	case step <= r.plan.Choosing:
		return learning
	}
	return choosing
}

// parts says where the run is, at length and for a narrow terminal, the most
// important first.
func (r *Run) parts(step int, now time.Time) (long, short []string) {
	long = []string{fmt.Sprintf("%8d of %d steps", step, r.plan.Steps), fmt.Sprintf("%.3g steps/s", r.recent)}
	short = []string{fmt.Sprintf("%d/%d steps", step, r.plan.Steps), fmt.Sprintf("%.3g/s", r.recent)}
	if r.phase == gathering || step-r.from < measured {
		return long, short
	}
	each := now.Sub(r.since).Seconds() / float64(step-r.from)
	average, worst := each, each
	if r.phase == learning {
		average, worst = each*r.plan.Average, each*r.plan.Worst
	}
	until := func(end int, each float64) time.Duration {
		return time.Duration(float64(end-step) * each * float64(time.Second))
	}
	if end := r.usualEnd(step); end > 0 {
		in := duration(until(end, average))
		long = append(long, fmt.Sprintf("usually solved by step %d, in %s", end, in))
		short = append(short, "usually "+in)
	}
	// A machine that becomes slower does not make it rise.
	r.least = min(r.least, until(r.plan.Steps, worst))
	return append(long, "at most "+duration(r.least)+" left"), append(short, "≤ "+duration(r.least)+" left")
}

// usualEnd returns by when half of the runs like this one were solved, or, if
// that is over, all that were; or 0.
func (r *Run) usualEnd(step int) int {
	n := len(r.plan.Usual)
	if n == 0 {
		return 0
	}
	for _, end := range []int{r.plan.Usual[(n-1)/2], r.plan.Usual[n-1]} {
		if step < end {
			return end
		}
	}
	return 0
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

// A column of the lines of evaluations. On a narrow terminal those of most rank
// are left out.
type column struct {
	rank   int
	name   string
	format string
	value  func(e qta.Evaluation, rate float64) any
}

func columnsOf(width int) []column {
	all := []column{
		{0, "    step", "%8d", func(e qta.Evaluation, _ float64) any { return e.Step }},
		{0, " success", "%8.2f", func(e qta.Evaluation, _ float64) any { return e.Success }},
		{2, " critic loss", "%12.4g", func(e qta.Evaluation, _ float64) any { return e.CriticLoss }},
		{3, " predictive loss", "%16.4g", func(e qta.Evaluation, _ float64) any { return e.PredictiveLoss }},
		{4, " actor loss", "%11.4g", func(e qta.Evaluation, _ float64) any { return e.ActorLoss }},
		{1, " steps/s", "%8.4g", func(_ qta.Evaluation, rate float64) any { return rate }},
	}
	for rank := 4; rank > 0; rank-- {
		wide := -1
		for _, c := range all {
			wide += len(c.name) + 1
		}
		if wide < width {
			break
		}
		all = slices.DeleteFunc(all, func(c column) bool { return c.rank == rank })
	}
	return all
}

// Evaluated writes the line of an evaluation.
func (r *Run) Evaluated(e qta.Evaluation, rate float64) {
	width := math.MaxInt
	if r.Live() {
		width = r.Width()
	}
	var names, values []string
	for _, c := range columnsOf(width) {
		names, values = append(names, c.name), append(values, fmt.Sprintf(c.format, c.value(e, rate)))
	}
	if !r.begun {
		r.Say("%s", strings.Join(names, " "))
		r.begun = true
	}
	r.Say("%s", strings.Join(values, " "))
	r.said = r.shown
}
