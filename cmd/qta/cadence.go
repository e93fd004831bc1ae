package main

import "time"

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
