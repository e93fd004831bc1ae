package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"qta"
)

// This file draws mazes, and an agent's ways and goals in them.

// ring is how much of the outer wall a picture shows, in cells.
const ring = 0.3

// A plan places a maze in a drawing, so many pixels to a cell.
type plan struct {
	maze *qta.Maze
	x, y float64 // of the upper left corner
	cell float64
}

// newPlan fits a maze into a box, whose upper left corner is at x and y.
func newPlan(m *qta.Maze, x, y, width, height float64) plan {
	p := plan{m, x, y, 1}
	w, h := p.size()
	p.cell = min(width/w, height/h)
	return p
}

func (p plan) size() (width, height float64) {
	return (float64(p.maze.Cols()-2) + 2*ring) * p.cell, (float64(p.maze.Rows()-2) + 2*ring) * p.cell
}

// at returns where a position is drawn.
func (p plan) at(row, col float64) (x, y float64) {
	return p.x + (col-1+ring)*p.cell, p.y + (row-1+ring)*p.cell
}

// walls draws the walls.
func (p plan) walls(d *drawing) {
	w, h := p.size()
	d.add(`<path class="wall" d="M%v %vh%vv%vh-%vz"/>`, p.x, p.y, w, h, w)
}

// floor draws the free cells on the walls: each row's runs of them.
func (p plan) floor(d *drawing) {
	p.walls(d)
	var path strings.Builder
	for i := range p.maze.Rows() {
		for j := 0; j < p.maze.Cols(); j++ {
			n := 0
			for p.maze.Free(i, j+n) {
				n++
			}
			if n > 0 {
				x, y := p.at(float64(i), float64(j))
				w, h := pixels(float64(n)*p.cell), pixels(p.cell)
				fmt.Fprintf(&path, "M%s %sh%sv%sh-%sz", pixels(x), pixels(y), w, h, w)
				j += n
			}
		}
	}
	d.add(`<path class="paper" d="%s"/>`, raw(path.String()))
}

// letters marks the start and the goal.
func (p plan) letters(d *drawing) {
	for _, l := range []struct {
		letter string
		at     [2]float64
	}{{"S", p.maze.Start()}, {"G", p.maze.Goal()}} {
		x, y := p.at(l.at[0], l.at[1])
		d.text(x, y+4, middle, "head halo", l.letter)
	}
}

// ends marks the start by a disc and the goal by a ring.
func (p plan) ends(d *drawing) {
	start, goal := p.maze.Start(), p.maze.Goal()
	r := min(3, 0.3*p.cell)
	x, y := p.at(start[0], start[1])
	d.add(`<circle fill="#fff" stroke="#000" stroke-width=".75" cx="%v" cy="%v" r="%v"/>`, x, y, r)
	x, y = p.at(goal[0], goal[1])
	d.add(`<circle fill="none" stroke="#000" stroke-width="3" cx="%v" cy="%v" r="%v"/>`, x, y, r)
	d.add(`<circle fill="none" stroke="#fff" stroke-width="1.5" cx="%v" cy="%v" r="%v"/>`, x, y, r)
}

// path draws a way as a line of series i.
func (p plan) path(d *drawing, i int, way [][2]float64) {
	var path strings.Builder
	for _, q := range way {
		x, y := p.at(q[0], q[1])
		fmt.Fprintf(&path, "L%s %s", pixels(x), pixels(y))
	}
	d.add(`<path class="thin s%d" d="M%s"/>`, i, raw(path.String()[1:]))
}

// dots draws discs of series i, of which at tells place and radius.
func (p plan) dots(d *drawing, i, n int, at func(k int) (row, col, radius float64)) {
	d.add(`<g class="f%d" fill-opacity=".75">`, i)
	for k := range n {
		if row, col, radius := at(k); radius > 0 {
			x, y := p.at(row, col)
			d.add(`<circle cx="%v" cy="%v" r="%v"/>`, x, y, radius)
		}
	}
	d.add(`</g>`)
}

// mazePicture draws a maze by itself.
func mazePicture(m *qta.Maze, name string) *drawing {
	p := newPlan(m, 0, 0, 480, 480)
	p.cell = min(p.cell, 40)
	d := &drawing{title: fmt.Sprintf("Maze %s, with start S and goal G", name)}
	d.width, d.height = p.size()
	p.floor(d)
	p.letters(d)
	return d
}

// mapBox is the size of the maps of a page.
const mapWidth, mapHeight = 340, 300

// mapDrawing begins a map of a page, and legendAt is where its legend goes.
func mapDrawing(m *qta.Maze, title string) (d *drawing, p plan, legendAt float64) {
	p = newPlan(m, 0, 0, mapWidth, mapHeight)
	w, h := p.size()
	p.x = (mapWidth - w) / 2
	d = &drawing{title: title, width: mapWidth}
	p.floor(d)
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
func rolloutPicture(m *qta.Maze, rollouts []rollout) *drawing {
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
			p.path(d, i, r.way)
			end := r.way[len(r.way)-1]
			x, y := p.at(end[0], end[1])
			d.dot(i, x, y, false)
		}
	}
	p.letters(d)
	sample := func(i int) func(*drawing, float64, float64) {
		return func(d *drawing, x, y float64) {
			d.add(`<path class="thin s%d" d="M%v %vh%v"/>`, i, x, y, float64(sampleWidth-5))
			d.dot(i, x+sampleWidth-5, y, false)
		}
	}
	d.height = d.legend([]entry{
		{sample(0), fmt.Sprintf("end at the goal (%d)", reached)},
		{sample(3), fmt.Sprintf("end elsewhere (%d)", len(rollouts)-reached)},
	}, y)
	return d
}

// goalPicture draws goals.
func goalPicture(m *qta.Maze, goals [][]float64) *drawing {
	d, p, y := mapDrawing(m, fmt.Sprintf("Maze with %s that the agent set itself", count(len(goals), "goal")))
	p.dots(d, 1, len(goals), func(k int) (row, col, radius float64) { return goals[k][0], goals[k][1], 2.5 })
	p.letters(d)
	d.height = d.legend([]entry{{func(d *drawing, x, y float64) {
		d.add(`<circle class="f1" fill-opacity=".75" cx="%v" cy="%v" r="2.5"/>`, x+sampleWidth/2, y)
	}, count(len(goals), "goal")}}, y)
	return d
}
