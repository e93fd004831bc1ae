package draw

import (
	"math"
	"slices"
)

// A Chart compares measurements with other people's means, at places along x.
type Chart struct {
	Title         string
	Note          string // below the chart
	X, Y          Axis
	Log           bool    // Y is logarithmic
	Places        []Place // named below X; nil: X has round numbers, and measurements have no dots
	Lines         []Line
	Apart         float64 // pixels between the dots of two lines at the same place
	Width, Height float64 // of the area within the axes
}

// A Place is a number on the x axis. Below the axis stands its name, in two lines of text, or
// the number if it has none.
type Place struct {
	X           float64
	Name, Under string
}

// A Line joins means, one for each place. Each is the mean of the measurements there.
type Line struct {
	Name    string // written beside the line
	Tone    int    // gives its color, and the shape of its dots
	Theirs  bool   // the means are other people's, and the line is dashed
	Dotted  bool   // the means are Theirs, but read in a second way, and the line is dotted
	Means   []Mean
	Threads [][]Mean // thin lines of single measurements behind it
}

// A Mean is the mean of measurements at X. With our measurements it has each of them, with
// other people's at most their spread.
type Mean struct {
	X, Y      float64
	Low, High float64   // the spread, if High is larger than Low
	Each      []float64 // the measurements
	Bounds    []float64 // lower bounds of further measurements
	Gap       bool      // no line joins it with the mean before
}

// chartStyle is the CSS that charts have in addition to [Style].
const chartStyle = `.dots{stroke-dasharray:1.5 3}` +
	`.thread{fill:none;stroke-width:.75;opacity:.45}` +
	`.leader{stroke:#57606a;stroke:var(--soft);stroke-width:.75;fill:none}` +
	`.seed>:not(.hollow){stroke:#fff;stroke:var(--paper);stroke-width:.75}`

// Sheet puts charts below each other, and notes below them.
func Sheet(title string, notes []string, charts ...*Chart) *Drawing {
	const gap, line = 14, 16
	sheet := &Drawing{Title: title, Style: chartStyle, Zoom: 1.4}
	for _, c := range charts {
		d := c.Draw()
		sheet.Place(d, 0, sheet.Height)
		sheet.Height += d.Height + gap
		sheet.Width = max(sheet.Width, d.Width)
	}
	for _, note := range notes {
		sheet.Text(0, sheet.Height, "start", "soft", note)
		sheet.Height += line
	}
	sheet.Height += 6 - line
	return sheet
}

// Draw draws the chart, with the name of each line beside it.
func (c *Chart) Draw() *Drawing {
	p := c.plane()
	p.Text(0, TextSize, "start", "head", c.Title)
	p.Text(0, TextSize+17, "start", "soft", c.Y.title())
	c.drawAxes(p)

	for i := range c.Lines {
		p.owner = i
		c.drawLine(p, i)
	}
	// A name avoids the other lines, which are all drawn by now, and the names before it.
	for _, i := range c.fewestMeansFirst() {
		p.owner = i
		p.writeName(c.Lines[i], c.shift(i)) // the line is drawn so many pixels to the right
	}
	return p.Drawing
}

// A plane is the area within the axes of a plot or a chart.
type plane struct {
	*Drawing
	box                    // in pixels
	x0, x1, y0, y1 float64 // the numbers where the axes begin and end
	log            bool    // y is logarithmic
	marks          bool    // measurements have dots, other people's means crosses
	taken          []box   // by marks and lines
	names          []box   // taken by names
	owner          int     // the index of the line that is being drawn, and takes space
}

// newPlane returns a plane whose axes have their least lengths.
func newPlane(title string, x, y Axis) *plane {
	return &plane{
		Drawing: &Drawing{Title: title},
		x0:      x.Low,
		x1:      x.High,
		y0:      y.Low,
		y1:      y.High,
	}
}

// widen makes the axes reach to x and y.
func (p *plane) widen(x, y float64) {
	p.x0 = min(p.x0, x)
	p.x1 = max(p.x1, x)
	p.y0 = min(p.y0, y)
	p.y1 = max(p.y1, y)
}

// plane returns the plane of the chart, with axes that reach to all measurements.
func (c *Chart) plane() *plane {
	const left, top, right = 34, 40, 14
	p := newPlane(c.Title, c.X, c.Y)
	p.log = c.Log
	p.marks = c.Places != nil
	p.box = box{left: left, top: top, right: left + c.Width, bottom: top + c.Height}
	p.Width = p.right + right

	if c.Log {
		p.y0 = math.Inf(1) // Y.Low may be 0, which has no logarithm
	}
	for _, l := range c.Lines {
		for _, m := range l.Means {
			for _, y := range m.reach() {
				p.widen(m.X, y)
			}
		}
	}
	if c.Log {
		const room = 1.05 // between a mark and the end of the axis
		p.y1 = roundUp(room * p.y1)
		// Rounding a reciprocal up rounds the number down.
		p.y0 = 1 / roundUp(room/p.y0)
	}
	return p
}

// reach returns the numbers that the y axis must reach.
func (m Mean) reach() []float64 {
	all := slices.Concat([]float64{m.Y}, m.Each, m.Bounds)
	if m.High > m.Low {
		all = append(all, m.Low, m.High)
	}
	return all
}

// at returns the point of the picture where x and y are.
func (p *plane) at(x, y float64) point {
	right := (x - p.x0) / (p.x1 - p.x0)
	up := (y - p.y0) / (p.y1 - p.y0)
	if p.log {
		up = math.Log(y/p.y0) / math.Log(p.y1/p.y0)
	}
	return point{p.left + float64(right*(p.right-p.left)), p.bottom - float64(up*(p.bottom-p.top))}
}

// drawAxes draws both axes with the name of x, and the note below.
func (c *Chart) drawAxes(p *plane) {
	places := c.Places
	if places == nil {
		places = unnamed(ticks(p.x0, p.x1))
	}
	p.axes(c.rows(p), places)

	y := p.bottom + 32
	if c.Places != nil {
		y += 14
	}
	p.Text(p.right, y, "end", "soft", c.X.title())
	if c.Note != "" {
		y += 16
		p.Text(0, y, "start", "soft", c.Note)
	}
	p.Height = y + 6
}

// axes draws the lines of both axes, the numbers rows on y, and the places on x.
func (p *plane) axes(rows []float64, places []Place) {
	for _, row := range rows {
		y := p.at(p.x0, row).y
		p.Add(`<path class="grid" d="M%v %vH%v"/>`, p.left, y, p.right)
		p.Text(p.left-6, y+4, "end", "soft", number(row))
	}
	y := p.bottom + 16
	for _, place := range places {
		x := p.at(place.X, p.y0).x
		p.Add(`<path class="axis" d="M%v %vv4"/>`, x, p.bottom)
		if place.Name == "" {
			p.Text(x, y, "middle", "soft", number(place.X))
		} else {
			p.Text(x, y, "middle", "ink", place.Name)
		}
		if place.Under != "" {
			p.Text(x, y+14, "middle", "soft", place.Under)
		}
	}
	p.Add(`<path class="axis" d="M%v %vV%vH%v"/>`, p.left, p.top, p.bottom, p.right)
}

// unnamed returns places for the numbers at, which stand for themselves.
func unnamed(at []float64) (places []Place) {
	for _, x := range at {
		places = append(places, Place{X: x})
	}
	return places
}

// rows returns the numbers on the y axis: 1, 2, 5, 10 and so on if it is logarithmic.
func (c *Chart) rows(p *plane) (at []float64) {
	if !c.Log {
		return ticks(p.y0, p.y1)
	}
	for y := p.y0; y <= p.y1; y = roundUp(1.5 * y) { // more than y, but no more than the next
		at = append(at, y)
	}
	return at
}

// shift returns how far to the right of its places the i-th line is drawn, in pixels.
func (c *Chart) shift(i int) float64 {
	middle := float64(float64(len(c.Lines)-1) / 2)
	return float64(c.Apart * (float64(i) - middle))
}

// drawLine draws the i-th line.
func (c *Chart) drawLine(p *plane, i int) {
	l := c.Lines[i]
	for _, thread := range l.Threads {
		p.join("thread", l.Tone, thread, 0)
	}
	p.join(l.class(), l.Tone, l.Means, c.shift(i))
	if !p.marks {
		return
	}
	for _, m := range l.Means {
		at := p.at(m.X, m.Y)
		at.x += c.shift(i)
		if l.Theirs {
			p.spread(l.Tone, at, m)
		} else {
			p.dots(l.Tone, at.x, m)
		}
	}
}

// class returns the CSS class of a line.
func (l Line) class() string {
	switch {
	case l.Dotted:
		return "thin dots"
	case l.Theirs:
		return "thin dash"
	}
	return "line"
}

// join draws a line that joins the means, except across gaps, and takes the space along it.
func (p *plane) join(class string, tone int, means []Mean, shift float64) {
	for len(means) > 0 {
		n := 1
		for n < len(means) && !means[n].Gap {
			n++
		}
		// The line joins the first n means, up to the next gap.
		if n > 1 {
			at := func(k int) (x, y float64) {
				here := p.at(means[k].X, means[k].Y)
				return here.x + shift, here.y
			}
			p.Add(`<path class="%s s%d" d="%s"/>`, class, tone, Polyline(n, at))
		}
		for _, at := range p.along(means[:n], shift) {
			p.take(at.around(2))
		}
		means = means[n:]
	}
}

// take notes that the line being drawn takes this box.
func (p *plane) take(b box) {
	b.owner = p.owner
	p.taken = append(p.taken, b)
}

// spread draws other people's mean as a cross, and its spread as a bar.
func (p *plane) spread(tone int, at point, m Mean) {
	if m.High > m.Low {
		low := p.at(m.X, m.Low).y
		high := p.at(m.X, m.High).y
		// The bar from low to high, its upper cap, and then its lower cap.
		p.Add(`<path class="bar s%d" d="M%v %vV%vm-2 0h4M%v %vh4"/>`, tone, at.x, low, high, at.x-2, low)
		p.take(box{left: at.x - 2, top: high, right: at.x + 2, bottom: low})
	}
	p.cross(tone, at)
	p.take(at.around(3))
}

// cross marks other people's mean.
func (p *plane) cross(tone int, at point) {
	p.Add(`<path class="bar s%d" d="M%v %vl5 5m0-5l-5 5"/>`, tone, at.x-2.5, at.y-2.5)
}

// dots draws a dot for each measurement, with an arrow if it is a bound. The dots of many
// measurements are small, so that they leave room for those of the next line. Up to seven dots
// of about the same height stand side by side; further ones lie on the last of these.
func (p *plane) dots(tone int, x float64, m Mean) {
	size := 1.0
	if len(m.Each)+len(m.Bounds) > 12 { // the number of the paper's seeds
		size = 0.4
	}
	room := float64(2.5 * size) // half of the distance between two dots side by side
	var placed []box
	for i, y := range slices.Concat(slices.Sorted(slices.Values(m.Each)), m.Bounds) {
		at := free(point{x, p.at(m.X, y).y}, room, placed)
		placed = append(placed, at.around(room))
		isBound := i >= len(m.Each)
		p.dot(tone, at, size, isBound)
		if isBound {
			p.Add(`<path class="bar s%d" d="M%v %vv-9m-3 3l3-3 3 3"/>`, tone, at.x, at.y-4)
			p.take(point{at.x, at.y - 8}.around(5))
		}
	}
}

// free returns at or, if dots are there, the nearest free point to its left or right. It tries
// seven points, so that the dots of one place stay apart from those of the next. If none is
// free, it returns the last.
func free(at point, room float64, placed []box) point {
	next := at
	for k := range 7 {
		aside := float64(2 * room * float64((k+1)/2))
		if k%2 == 1 {
			aside = -aside
		}
		next.x = at.x + aside
		if !slices.ContainsFunc(placed, next.around(room).meets) {
			break
		}
	}
	return next
}

// dot draws one measurement.
func (p *plane) dot(tone int, at point, size float64, hollow bool) {
	p.Add(`<g class="seed" transform="translate(%v %v) scale(%v)">`, at.x, at.y, size)
	p.Dot(tone, 0, 0, hollow)
	p.Add(`</g>`)
	p.take(at.around(float64(3 * size)))
}
