package main

import (
	"fmt"
	"strings"

	"qta"
)

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
	d.add(`<path class="thin s%d" d="%s"/>`, i, polyline(len(way), func(k int) (x, y float64) { return p.at(way[k][0], way[k][1]) }))
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
