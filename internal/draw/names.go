package draw

import (
	"math"
	"slices"
)

// This file finds places for the names of a chart's lines.

type point struct{ x, y float64 }

// around returns the square around the point whose sides are twice half long.
func (a point) around(half float64) box {
	return box{left: a.x, top: a.y, right: a.x, bottom: a.y}.wider(half)
}

// toward returns the point at a share of the way to another.
func (a point) toward(b point, share float64) point {
	return point{a.x + float64(share*(b.x-a.x)), a.y + float64(share*(b.y-a.y))}
}

// A box is a rectangle of the picture that something takes, such as a mark or a name.
type box struct {
	left, top, right, bottom float64
	owner                    int // the index of the line that takes it
}

// wider returns the box with a margin.
func (a box) wider(margin float64) box {
	a.left -= margin
	a.top -= margin
	a.right += margin
	a.bottom += margin
	return a
}

func (a box) meets(b box) bool {
	beside := a.right <= b.left || b.right <= a.left
	above := a.bottom <= b.top || b.bottom <= a.top
	return !beside && !above
}

// nearest returns the point of the box that is nearest to another point.
func (a box) nearest(to point) point {
	return point{min(max(to.x, a.left), a.right), min(max(to.y, a.top), a.bottom)}
}

// fewestMeansFirst returns the indices of the lines that have means, in the order in which
// they get names. Lines with few means come first, because their names have few places.
func (c *Chart) fewestMeansFirst() (order []int) {
	for i, l := range c.Lines {
		if len(l.Means) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return len(c.Lines[a].Means) - len(c.Lines[b].Means)
	})
	return order
}

// along returns points along the line that joins the means, except across gaps.
func (p *plane) along(means []Mean, shift float64) (points []point) {
	const pieces = 12
	for k, m := range means {
		at := p.at(m.X, m.Y)
		at.x += shift
		if k > 0 && !m.Gap {
			before := points[len(points)-1]
			for i := range pieces - 1 {
				points = append(points, before.toward(at, float64(i+1)/pieces))
			}
		}
		points = append(points, at)
	}
	return points
}

const (
	nameHeight = 14
	sample     = 12 // the width of the mark before a name
)

// writeName writes the name of line l where its [plane.cost] is least. Of equal places it takes
// the one nearest to the line's right end. If l does not pass beside the name, a thin leader
// joins the two.
func (p *plane) writeName(l Line, shift float64) {
	width := textWidth(l.Name) + sample + 4
	var best box
	var start point
	least := math.Inf(1)
	for _, distance := range []float64{6, 10, 15, 20, 30, 40, 50, 60} {
		if distance >= least { // no cost is below its distance
			break
		}
		for _, anchor := range slices.Backward(p.along(l.Means, shift)) {
			for _, at := range nameBoxes(anchor, width, distance) {
				if cost := p.cost(at, anchor, distance); cost < least {
					least = cost
					best = at
					start = anchor
				}
			}
		}
	}
	p.names = append(p.names, best)

	const beside = 9
	end := best.nearest(start)
	if math.Hypot(end.x-start.x, end.y-start.y) > beside {
		p.Add(`<path class="leader" d="M%v %vL%v %v"/>`, start.x, start.y, end.x, end.y)
	}
	p.sample(l, point{best.left, best.top + nameHeight/2})
	textLeft := best.left + sample + 2
	p.Add(`<text class="ink halo" x="%v" y="%v">%s</text>`, textLeft, best.bottom-3, l.Name)
}

// sample draws a sample of line l, left of its name.
func (p *plane) sample(l Line, at point) {
	middle := point{at.x + sample/2, at.y}
	switch {
	case l.Dotted || !p.marks:
		p.Add(`<path class="%s s%d" d="M%v %vh11"/>`, l.class(), l.Tone, at.x, at.y)
	case l.Theirs:
		p.cross(l.Tone, middle)
	default:
		p.Dot(l.Tone, middle.x, middle.y, false)
	}
}

// nameBoxes returns boxes for a name at a distance from a point: right of it, below and
// above it, and left of it.
func nameBoxes(a point, width, distance float64) (all []box) {
	const half = nameHeight / 2
	right := a.x + distance
	middle := a.x - float64(width/2)
	left := a.x - width - distance
	above := a.y - distance - half
	below := a.y + distance + half
	for _, at := range []point{ // the middle of a box's left side
		{right, a.y}, {right, below}, {right, above}, {middle, below}, {middle, above},
		{left, above}, {left, below}, {left, a.y},
	} {
		all = append(all, box{left: at.x, top: at.y - half, right: at.x + width, bottom: at.y + half})
	}
	return all
}

// cost returns how badly a name stands in the box, at a distance from its anchor on the
// line being drawn. It counts what the name covers, whether another line is near it, and
// whether another line crosses the way to the anchor.
func (p *plane) cost(at box, anchor point, distance float64) float64 {
	withinWidth := at.left >= p.left && at.right <= p.Width
	withinHeight := at.top >= p.top && at.bottom <= p.bottom
	if !withinWidth || !withinHeight {
		return math.Inf(1)
	}
	cost := distance
	if slices.ContainsFunc(p.names, at.wider(2).meets) {
		cost += 1000
	}
	if slices.ContainsFunc(p.taken, at.meets) {
		return cost + 100
	}
	const near = 9
	if p.meetsOther(at.wider(min(distance, near))) {
		cost += 45
	}
	const steps = 8
	end := at.nearest(anchor)
	for i := range steps {
		if p.meetsOther(anchor.toward(end, float64(i+1)/steps).around(1)) {
			return cost + 60
		}
	}
	return cost
}

// meetsOther reports whether a box meets a name, or a line other than the one being drawn.
func (p *plane) meetsOther(b box) bool {
	for _, other := range p.taken {
		if other.owner != p.owner && b.meets(other) {
			return true
		}
	}
	return slices.ContainsFunc(p.names, b.meets)
}
