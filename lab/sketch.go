package lab

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"qta"
	"qta/internal/draw"
	"qta/internal/words"
)

// A Sketcher is an environment that can draw itself. Its runs have pictures of
// goals and rollouts, and an animation.
type Sketcher interface {
	qta.Env

	// Sketch returns a picture of the environment.
	Sketch() Sketch

	// Place returns where in the sketch a goal lies, desired or achieved. In a sketch
	// y points down.
	Place(goal []float64) (x, y float64)
}

// A Surveyor is a Sketcher that also knows which state is at a place. Its runs have the
// paper's Figure 5, which shows the agent's value and uncertainty at every place.
type Surveyor interface {
	Sketcher

	// StateAt returns the observation and the achieved goal of a state at a place
	// of the sketch, or false where there is none, as within an obstacle.
	StateAt(x, y float64) (observation, goal []float64, ok bool)
}

// A Sketch is a picture of an environment, in a unit of the environment's choice. x runs to
// the right from 0 to Width, and y downwards from 0 to Height.
type Sketch struct {
	Width, Height float64
	Shapes        []Shape // drawn in this order
}

// A Shape is a polygon, or a disc around its only point.
type Shape struct {
	Kind   Kind
	Points [][2]float64 // x, y
	Radius float64      // of a disc
}

// A Kind says what a shape stands for.
type Kind string

// The kinds of shapes.
const (
	Wall  Kind = "wall"
	Floor Kind = "floor" // free space, drawn over a wall
	Start Kind = "start" // where episodes start
	Goal  Kind = "goal"  // where the desired goals of episodes are
	Near  Kind = "near"  // an outline, within which the goal counts as reached
)

// Box returns a rectangle.
func Box(kind Kind, x, y, width, height float64) Shape {
	right := x + width
	bottom := y + height
	return Shape{Kind: kind, Points: [][2]float64{{x, y}, {right, y}, {right, bottom}, {x, bottom}}}
}

// Disc returns a disc.
func Disc(kind Kind, x, y, radius float64) Shape {
	return Shape{Kind: kind, Points: [][2]float64{{x, y}}, Radius: radius}
}

// check refuses a sketch that cannot be drawn.
func (s *Sketch) check() error {
	drawn := s.Width > 0 && s.Height > 0
	for _, shape := range s.Shapes {
		drawn = drawn && len(shape.Points) > 0
	}
	if !drawn {
		return words.BadInput("the environment's Sketch has no size, or a shape without points")
	}
	return nil
}

// Maze returns the environment of a maze, as a [Surveyor].
func Maze(m *qta.Maze) qta.Env { return &mazeEnv{m.Env(), m} }

type mazeEnv struct {
	qta.GoalSampler
	maze *qta.Maze
}

// ring is how much of the outer wall a sketch shows, in cells. The sketch of a
// maze begins at row and column 1-ring.
const ring = 0.3

// Place swaps row and column.
func (e *mazeEnv) Place(goal []float64) (x, y float64) {
	return goal[1] - 1 + ring, goal[0] - 1 + ring
}

func (e *mazeEnv) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	at := []float64{y + 1 - ring, x + 1 - ring}
	return at, at, e.maze.Free(int(at[0]), int(at[1]))
}

func (e *mazeEnv) Sketch() Sketch {
	m := e.maze
	width := float64(m.Cols()-2) + 2*ring
	height := float64(m.Rows()-2) + 2*ring
	shapes := []Shape{Box(Wall, 0, 0, width, height)}
	for row := range m.Rows() {
		shapes = append(shapes, e.floors(row)...)
	}
	start := m.Start()
	goal := m.Goal()
	startX, startY := e.Place(start[:])
	goalX, goalY := e.Place(goal[:])
	const r = qta.RegionRadius
	shapes = append(shapes,
		Box(Start, startX-r, startY-r, 2*r, 2*r),
		Box(Goal, goalX-r, goalY-r, 2*r, 2*r),
		Disc(Near, goalX, goalY, qta.GoalRadius))
	return Sketch{Width: width, Height: height, Shapes: shapes}
}

// floors returns a box for each unbroken stretch of free cells in a row.
func (e *mazeEnv) floors(row int) (boxes []Shape) {
	for col := 0; col < e.maze.Cols(); col++ {
		n := 0
		for e.maze.Free(row, col+n) {
			n++
		}
		if n > 0 {
			x, y := e.Place([]float64{float64(row), float64(col)})
			boxes = append(boxes, Box(Floor, x, y, float64(n), 1))
			col += n
		}
	}
	return boxes
}

// DrawMaze returns a picture of a maze, in SVG.
func DrawMaze(m *qta.Maze, name string) []byte {
	s := (&mazeEnv{nil, m}).Sketch()
	scale := min(40, 480/s.Width, 480/s.Height)
	width := float64(scale*s.Width) + 2*planMargin
	p := newPlan(&s, 0, width, math.Inf(1))
	d := &draw.Drawing{
		Title:  fmt.Sprintf("Maze %s, with start S and goal G", name),
		Width:  width,
		Height: p.height(),
	}
	p.draw(d, Wall, Floor, Start, Goal, Near)
	p.letters(d)
	return d.File()
}

// A plan says where a sketch lies in a drawing. Its scale is the length of a
// unit of the sketch, in pixels.
type plan struct {
	sketch *Sketch
	x, y   float64 // of the sketch's upper left corner
	scale  float64
}

// planMargin is the space around a sketch, in pixels, for dots at its edge.
const planMargin = 4

// newPlan fits a sketch into a box of a drawing. y is the box's upper side, at which the
// sketch begins. Between left and right the sketch is centered.
func newPlan(s *Sketch, y, width, height float64) plan {
	scale := min((width-2*planMargin)/s.Width, (height-2*planMargin)/s.Height)
	left := float64((width - float64(scale*s.Width)) / 2)
	return plan{sketch: s, x: left, y: y + planMargin, scale: scale}
}

// height returns how high the sketch is drawn, with its margins.
func (p plan) height() float64 { return float64(p.scale*p.sketch.Height) + 2*planMargin }

// at returns where a place of the sketch is drawn.
func (p plan) at(place [2]float64) (x, y float64) {
	return p.x + float64(p.scale*place[0]), p.y + float64(p.scale*place[1])
}

// along returns the path along places of the sketch.
func (p plan) along(places [][2]float64) template.HTML {
	return draw.Polyline(len(places), func(k int) (x, y float64) { return p.at(places[k]) })
}

// class returns the CSS classes for a kind of shapes.
func (k Kind) class() string {
	switch k {
	case Wall:
		return "wall"
	case Floor:
		return "paper"
	case Start:
		return "region f0"
	case Goal:
		return "region f2"
	case Near:
		return "near s2"
	}
	return ""
}

// draw draws the shapes of some kinds.
func (p plan) draw(d *draw.Drawing, kinds ...Kind) {
	width := p.scale * p.sketch.Width
	height := p.scale * p.sketch.Height
	d.Add(`<path class="frame" d="M%v %vh%vv%vh-%vz"/>`, p.x, p.y, width, height, width)
	for _, s := range p.sketch.Shapes {
		if !slices.Contains(kinds, s.Kind) {
			continue
		}
		if len(s.Points) == 1 {
			x, y := p.at(s.Points[0])
			d.Add(`<circle class="%s" cx="%v" cy="%v" r="%v"/>`, s.Kind.class(), x, y, p.scale*s.Radius)
		} else {
			d.Add(`<path class="%s" d="%sz" shape-rendering="crispEdges"/>`, s.Kind.class(), p.along(s.Points))
		}
	}
}

// letters marks the start and the goal in the middle of their shapes.
func (p plan) letters(d *draw.Drawing) {
	for _, s := range p.sketch.Shapes {
		letter := ""
		switch s.Kind {
		case Start:
			letter = "S"
		case Goal:
			letter = "G"
		default:
			continue
		}
		var middle [2]float64
		for _, q := range s.Points {
			middle[0] += q[0] / float64(len(s.Points))
			middle[1] += q[1] / float64(len(s.Points))
		}
		x, y := p.at(middle)
		d.Text(x, y+4, "middle", "head halo", letter)
	}
}

// rollout draws a rollout as a line. If it ends at its goal, it is blue and ends in a disc.
// Otherwise it has the color of ink, which no goal in the animation has, and ends in a
// square. If the sketch has no shape Goal, a ring marks the rollout's goal.
func (p plan) rollout(d *draw.Drawing, r rollout) {
	isGoal := func(s Shape) bool { return s.Kind == Goal }
	if !slices.ContainsFunc(p.sketch.Shapes, isGoal) {
		x, y := p.at(r.Goal)
		d.Add(`<circle class="hollow s2" cx="%v" cy="%v" r="4"/>`, x, y)
	}
	tone := 6
	if r.Reached {
		tone = 0
	}
	// The dashes of film-w have length 1.
	d.Add(`<path class="thin s%d film-w" pathLength="1" d="%s"/>`, tone, p.along(r.Way))
	x, y := p.at(r.Way[len(r.Way)-1])
	d.Add(`<g class="film-e">`)
	d.Dot(tone, x, y, false)
	d.Add(`</g>`)
}
