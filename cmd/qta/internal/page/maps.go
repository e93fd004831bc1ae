package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"qta"
	"qta/cmd/qta/internal/draw"
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
	return d, p, h + 4
}

// A rollout is the way of one episode.
type rollout struct {
	way     [][2]float64
	reached bool // at its last step
}

// shownRollouts is the number of rollouts on a page.
const shownRollouts = 10

// playRollouts lets the policy play episodes without exploration. Starts and
// goals are the same ones for every agent. An agent whose numbers have gone
// wrong does not act; its rollouts end where it is.
func playRollouts(a *qta.Agent, m *qta.Maze) []rollout {
	env := m.Env()
	rng := rand.New(rand.NewPCG(1, 0))
	rollouts := make([]rollout, shownRollouts)
	for i := range rollouts {
		r := &rollouts[i]
		s := env.Reset(rng)
		r.way = append(r.way, [2]float64(s.Achieved))
		for range a.Params().Horizon {
			action := a.Act(s.Observation, s.Desired)
			if slices.ContainsFunc(action, math.IsNaN) {
				break
			}
			s, _ = env.Step(action)
			r.way = append(r.way, [2]float64(s.Achieved))
		}
		r.reached = env.Reward(s.Achieved, s.Desired) == 0
	}
	return rollouts
}

// rolloutPicture draws rollouts, those that end elsewhere than at the goal
// above the others.
func rolloutPicture(m *qta.Maze, rollouts []rollout) *draw.Drawing {
	d, p, y := mapDrawing(m, fmt.Sprintf("Maze with %d rollouts of the policy", len(rollouts)))
	reached := 0
	for _, success := range []bool{true, false} {
		for _, r := range rollouts {
			if r.reached != success {
				continue
			}
			i := 3
			if success {
				i = 0
				reached++
			}
			p.Path(d, i, r.way)
			end := r.way[len(r.way)-1]
			x, y := p.At(end[0], end[1])
			d.Dot(i, x, y, false)
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

// goalPicture draws goals.
func goalPicture(m *qta.Maze, goals [][]float64) *draw.Drawing {
	d, p, y := mapDrawing(m, fmt.Sprintf("Maze with %s that the agent set itself", words.Count(len(goals), "goal")))
	p.Dots(d, 1, len(goals), func(k int) (row, col, radius float64) { return goals[k][0], goals[k][1], 2.5 })
	p.Letters(d)
	d.Height = d.Legend([]draw.Entry{{Sample: func(d *draw.Drawing, x, y float64) {
		d.Add(`<circle class="f1" fill-opacity=".75" cx="%v" cy="%v" r="2.5"/>`, x+draw.SampleWidth/2, y)
	}, Name: words.Count(len(goals), "goal")}}, y)
	return d
}
