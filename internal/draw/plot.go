package draw

import (
	"math"
	"strconv"
	"strings"
)

// roundUp rounds a positive x up to 1, 2 or 5 times a power of ten.
func roundUp(x float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(x))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x {
			return m * power
		}
	}
	return 10 * power
}

// ticks returns at most six round numbers from low to high. high must be larger than low.
func ticks(low, high float64) (at []float64) {
	if math.IsInf(high-low, 0) {
		return nil
	}
	least := (high - low) / 5 // a smaller step would make more than six
	step := roundUp(least * (1 - 1e-9))
	first := math.Ceil(low/step - 1e-9)
	last := math.Floor(high/step + 1e-9)
	for i := first; i <= last; i++ {
		at = append(at, i*step)
	}
	return at
}

// number writes x with at most six digits, and a large x in thousands (k) or millions
// (M).
func number(x float64) string {
	unit := ""
	switch size := math.Abs(x); {
	case size >= 1e6:
		x /= 1e6
		unit = "M"
	case size >= 1e3:
		x /= 1e3
		unit = "k"
	}
	digits := strconv.FormatFloat(x+0, 'g', 6, 64) // + 0: no -0
	return strings.Replace(digits, "-", "−", 1) + unit
}

// A Plot is a picture of series over two axes.
type Plot struct {
	Title         string
	X, Y          Axis
	Series        []Series
	Width, Height float64 // of the area within the axes
}

// An Axis reaches from Low to High, and farther if points lie outside.
type Axis struct {
	Name, Unit string
	Low, High  float64
}

// A Series is a list of points joined by a line. Its index in Plot.Series decides its
// color and the shape of its dots.
type Series struct {
	Name   string // a series without a name is not in the legend
	Points []Point
}

// A Point has finite coordinates.
type Point struct{ X, Y float64 }

// Draw draws the plot, with the y axis's name at the top. The x axis's name and the legend
// are below the plot, where the legend covers nothing.
func (p *Plot) Draw() *Drawing {
	const top, right = 26, 6
	area := p.plane()
	columns := ticks(area.x0, area.x1)
	rows := ticks(area.y0, area.y1)
	left := widest(rows) + 12 // room for the rows' numbers
	area.box = box{left: left, top: top, right: left + p.Width, bottom: top + p.Height}
	area.Width = area.right + right + float64(widest(columns)/2)

	area.Text(0, TextSize, "start", "ink", p.Y.title())
	area.axes(rows, unnamed(columns))
	area.Text(area.right, area.bottom+33, "end", "ink", p.X.title())
	for i, s := range p.Series {
		s.draw(area, i)
	}
	area.Height = p.legend(area.Drawing, area.bottom+42)
	return area.Drawing
}

// plane returns the plane of the plot, with axes that reach to all points.
func (p *Plot) plane() *plane {
	area := newPlane(p.Title, p.X, p.Y)
	for _, s := range p.Series {
		for _, q := range s.Points {
			area.widen(q.X, q.Y)
		}
	}
	if area.x0 == area.x1 {
		area.x1++
	}
	if area.y0 == area.y1 {
		area.y1++
	}
	return area
}

func (a Axis) title() string {
	if a.Unit != "" {
		return a.Name + " (" + a.Unit + ")"
	}
	return a.Name
}

func widest(numbers []float64) (w float64) {
	for _, x := range numbers {
		w = max(w, textWidth(number(x)))
	}
	return w
}

const mostDots = 40 // a series with more points is drawn without dots

// draw draws the line and the dots of the i-th series.
func (s Series) draw(area *plane, i int) {
	points := func(k int) (x, y float64) {
		here := area.at(s.Points[k].X, s.Points[k].Y)
		return here.x, here.y
	}
	n := len(s.Points)
	if n > 1 {
		area.Add(`<path class="line s%d" d="%s"/>`, i%seriesTones, Polyline(n, points))
	}
	if n > mostDots {
		return
	}
	for k := range n {
		x, y := points(k)
		area.Dot(i, x, y, false)
	}
}

// legend draws the legend from y downwards, in as many lines as it needs, and returns the
// y where it ends.
func (p *Plot) legend(d *Drawing, y float64) float64 {
	const line, gap, sample = 17, 16, 24.0
	x := 0.0
	for i, s := range p.Series {
		if s.Name == "" {
			continue
		}
		width := sample + 6 + textWidth(s.Name)
		if x == 0 || x+width > d.Width {
			x = 0
			y += line
		}
		d.Text(x+sample+6, y, "start", "ink", s.Name)
		d.Add(`<path class="line s%d" d="M%v %vh%v"/>`, i%seriesTones, x, y-4, sample)
		if len(s.Points) <= mostDots {
			d.Dot(i, x+sample/2, y-4, false)
		}
		x += width + gap
	}
	return y + 5
}
