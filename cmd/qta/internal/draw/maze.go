package draw

import (
	"fmt"
	"strings"

	"qta"
)

// ring is how much of the outer wall a picture shows, in cells.
const ring = 0.3

// A Plan places a maze in a drawing, so many pixels to a cell.
type Plan struct {
	maze *qta.Maze
	x, y float64 // of the upper left corner
	Cell float64
}

// NewPlan fits a maze into the middle of a box, whose upper side is at y.
func NewPlan(m *qta.Maze, y, width, height float64) Plan {
	p := Plan{m, 0, y, 1}
	w, h := p.Size()
	p.Cell = min(width/w, height/h)
	p.x = (width - w*p.Cell) / 2
	return p
}

// Size returns how large the maze is drawn.
func (p Plan) Size() (width, height float64) {
	return (float64(p.maze.Cols()-2) + 2*ring) * p.Cell, (float64(p.maze.Rows()-2) + 2*ring) * p.Cell
}

// At returns where a position is drawn.
func (p Plan) At(row, col float64) (x, y float64) {
	return p.x + (col-1+ring)*p.Cell, p.y + (row-1+ring)*p.Cell
}

// Walls draws the walls.
func (p Plan) Walls(d *Drawing) {
	w, h := p.Size()
	d.Add(`<path class="wall" d="M%v %vh%vv%vh-%vz"/>`, p.x, p.y, w, h, w)
}

// Floor draws the free cells on the walls: each row's runs of them.
func (p Plan) Floor(d *Drawing) {
	p.Walls(d)
	var path strings.Builder
	for i := range p.maze.Rows() {
		for j := 0; j < p.maze.Cols(); j++ {
			n := 0
			for p.maze.Free(i, j+n) {
				n++
			}
			if n > 0 {
				x, y := p.At(float64(i), float64(j))
				w, h := pixels(float64(n)*p.Cell), pixels(p.Cell)
				fmt.Fprintf(&path, "M%s %sh%sv%sh-%sz", pixels(x), pixels(y), w, h, w)
				j += n
			}
		}
	}
	d.Add(`<path class="paper" d="%s" shape-rendering="crispEdges"/>`, raw(path.String()))
}

// Regions marks where episodes start (blue) and where their goals are (green),
// and around the middle of the latter how near a goal is reached from.
func (p Plan) Regions(d *Drawing) {
	square := func(i int, at [2]float64) {
		x, y := p.At(at[0]-qta.RegionRadius, at[1]-qta.RegionRadius)
		side := 2 * qta.RegionRadius * p.Cell
		d.Add(`<path class="region f%d" d="M%v %vh%vv%vh-%vz"/>`, i, x, y, side, side, side)
	}
	goal := p.maze.Goal()
	square(0, p.maze.Start())
	square(2, goal)
	x, y := p.At(goal[0], goal[1])
	d.Add(`<circle class="s2" fill="none" stroke-dasharray="3 2" cx="%v" cy="%v" r="%v"/>`, x, y, qta.GoalRadius*p.Cell)
}

// Letters marks the start and the goal.
func (p Plan) Letters(d *Drawing) {
	for _, l := range []struct {
		letter string
		at     [2]float64
	}{{"S", p.maze.Start()}, {"G", p.maze.Goal()}} {
		x, y := p.At(l.at[0], l.at[1])
		d.Text(x, y+4, Middle, "head halo", l.letter)
	}
}

// Ends marks the start by a disc and the goal by a ring.
func (p Plan) Ends(d *Drawing) {
	start, goal := p.maze.Start(), p.maze.Goal()
	r := min(3, 0.3*p.Cell)
	x, y := p.At(start[0], start[1])
	d.Add(`<circle fill="#fff" stroke="#000" stroke-width=".75" cx="%v" cy="%v" r="%v"/>`, x, y, r)
	x, y = p.At(goal[0], goal[1])
	d.Add(`<circle fill="none" stroke="#000" stroke-width="3" cx="%v" cy="%v" r="%v"/>`, x, y, r)
	d.Add(`<circle fill="none" stroke="#fff" stroke-width="1.5" cx="%v" cy="%v" r="%v"/>`, x, y, r)
}

// Path draws a way as a line of series i, which also has a class of its own.
func (p Plan) Path(d *Drawing, i int, class string, way [][2]float64) {
	d.Add(`<path class="thin s%d %s" pathLength="1" d="%s"/>`, i, class, polyline(len(way), func(k int) (x, y float64) { return p.At(way[k][0], way[k][1]) }))
}

// Dots draws discs of series i, of which at tells place and radius.
func (p Plan) Dots(d *Drawing, i, n int, at func(k int) (row, col, radius float64)) {
	d.Add(`<g class="f%d" fill-opacity=".75">`, i)
	for k := range n {
		if row, col, radius := at(k); radius > 0 {
			x, y := p.At(row, col)
			d.Add(`<circle cx="%v" cy="%v" r="%v"/>`, x, y, radius)
		}
	}
	d.Add(`</g>`)
}

// Maze draws a maze by itself.
func Maze(m *qta.Maze, name string) *Drawing {
	p := NewPlan(m, 0, 480, 480)
	p.Cell, p.x = min(p.Cell, 40), 0
	d := &Drawing{Title: fmt.Sprintf("Maze %s, with start S and goal G", name)}
	d.Width, d.Height = p.Size()
	p.Floor(d)
	p.Regions(d)
	p.Letters(d)
	return d
}
