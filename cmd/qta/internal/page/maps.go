package page

import (
	"fmt"

	"qta"
	"qta/cmd/qta/internal/draw"
	"qta/cmd/qta/internal/film"
	"qta/cmd/qta/internal/words"
)

// The size of the maps of a page.
const mapWidth, mapHeight = 340, 300

// mapDrawing begins a map of a page, and legendAt is where its legend goes.
func mapDrawing(m *qta.Maze, title string) (d *draw.Drawing, p draw.Plan, legendAt float64) {
	p = draw.NewPlan(m, 0, mapWidth, mapHeight)
	_, h := p.Size()
	d = &draw.Drawing{Title: title, Width: mapWidth}
	p.Floor(d)
	p.Regions(d)
	return d, p, h + 4
}

// shownRollouts is the number of rollouts on a page.
const shownRollouts = 20

// rolloutPicture draws rollouts, those that end elsewhere than at the goal
// above the others.
func rolloutPicture(m *qta.Maze, rollouts []film.Rollout) *draw.Drawing {
	d, p, y := mapDrawing(m, fmt.Sprintf("Maze with %d rollouts of the policy", len(rollouts)))
	reached := 0
	for _, success := range []bool{true, false} {
		for _, r := range rollouts {
			if r.Reached == success {
				film.Picture(d, p, r)
			}
			if r.Reached && success {
				reached++
			}
		}
	}
	p.Letters(d)
	sample := func(i int) func(*draw.Drawing, float64, float64) {
		return func(d *draw.Drawing, x, y float64) {
			d.Add(`<path class="thin s%d" d="M%v %vh%v"/>`, i, x, y, float64(draw.SampleWidth-5))
			d.Dot(i, x+draw.SampleWidth-5, y, false)
		}
	}
	d.Height = d.Legend([]draw.Entry{
		{Sample: sample(0), Name: fmt.Sprintf("end at the goal (%d)", reached)},
		{Sample: sample(3), Name: fmt.Sprintf("end elsewhere (%d)", len(rollouts)-reached)},
	}, y)
	return d
}

const (
	mostGoals = 1500 // that are drawn: of more every second, third and so on
	goalTimes = 50   // colours of goals
)

// goalPicture draws the goals that an agent has set itself, by the time.
func goalPicture(m *qta.Maze, a *qta.Agent) *draw.Drawing {
	d, p, y := mapDrawing(m, "")
	steps := a.Steps()
	every := 1 + len(a.Goals(0, steps))/mostGoals
	count, drawn := 0, 0
	for k := range goalTimes {
		d.Add(`<g class="rim" fill="%s">`, draw.Time((float64(k)+0.5)/goalTimes))
		for _, g := range a.Goals(k*steps/goalTimes, (k+1)*steps/goalTimes) {
			if count%every == 0 {
				x, y := p.At(g[0], g[1])
				d.Add(`<circle cx="%v" cy="%v" r="2.5"/>`, x, y)
				drawn++
			}
			count++
		}
		d.Add(`</g>`)
	}
	p.Letters(d)
	d.Title = fmt.Sprintf("Maze with %s that the agent set itself", words.Count(drawn, "goal"))
	d.TimeBar(float64(steps), fmt.Sprintf("environment steps; goals drawn: %d of %d", drawn, count), 16, y+8, mapWidth-32)
	d.Height = y + 8 + draw.BarAltitude + 2
	return d
}
