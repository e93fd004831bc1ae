package draw

import (
	"math"
	"strconv"
	"strings"
)

// roundUp returns the smallest of 1, 2 and 5 times a power of ten that is at
// least x, which is positive.
func roundUp(x float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(x))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x {
			return m * power
		}
	}
	return 10 * power
}

// ticks returns at most six round numbers from low to high, which is larger.
func ticks(low, high float64) (at []float64) {
	step := roundUp((high - low) / 5 * (1 - 1e-9))
	if math.IsInf(high-low, 0) {
		return nil
	}
	for i := math.Ceil(low/step - 1e-9); i <= math.Floor(high/step+1e-9); i++ {
		at = append(at, i*step)
	}
	return at
}

// number writes x with at most six digits, in thousands (k) or millions (M) where
// it is large.
func number(x float64) string {
	unit := ""
	if size := math.Abs(x); size >= 1e6 {
		x, unit = x/1e6, "M"
	} else if size >= 1e3 {
		x, unit = x/1e3, "k"
	}
	return strings.Replace(strconv.FormatFloat(x+0, 'g', 6, 64), "-", "−", 1) + unit // + 0: no -0
}

// A Plot is a picture of series over two axes.
type Plot struct {
	Title         string
	X, Y          Axis
	Series        []Series
	Width, Height float64 // of the area within the axes
}

// An Axis covers low to high, and all points.
type Axis struct {
	Name, Unit string
	Low, High  float64
}

// A Series is a list of points joined by a line. Its place in the plot gives
// color and shape.
type Series struct {
	Name   string // without one it is not in the legend
	Points []Point
	Like   int // 1 + the place of the series that these are other people's numbers of, or 0
}

// A Point is finite. Its spread is from low to high, if high is larger.
type Point struct {
	X, Y, Low, High float64
	Hollow          bool // a lower bound, such as a run that was not solved
}

// Draw draws the plot: the y axis's name above it, the x axis's below, and the
// legend at the bottom, where it covers nothing.
func (p *Plot) Draw() *Drawing {
	x0, x1, y0, y1 := p.extents()
	xTicks, yTicks := ticks(x0, x1), ticks(y0, y1)
	const top = 26
	start, bottom := widest(yTicks)+12, top+p.Height
	d := &Drawing{Title: p.Title, Width: start + p.Width + 6 + float64(widest(xTicks)/2)}
	X := func(x float64) float64 { return start + float64((x-x0)/(x1-x0)*p.Width) }
	Y := func(y float64) float64 { return top + float64((y1-y)/(y1-y0)*p.Height) }

	d.Text(0, TextSize, "start", "ink", p.Y.title())
	for _, y := range yTicks {
		d.Add(`<path class="grid" d="M%v %vh%v"/>`, start, Y(y), p.Width)
		d.Text(start-6, Y(y)+4, "end", "soft", number(y))
	}
	for _, x := range xTicks {
		d.Add(`<path class="axis" d="M%v %vv4"/>`, X(x), bottom)
		d.Text(X(x), bottom+16, "middle", "soft", number(x))
	}
	d.Add(`<path class="axis" d="M%v %vV%vh%v"/>`, start, top, bottom, p.Width)
	d.Text(start+p.Width, bottom+33, "end", "ink", p.X.title())
	front := &Drawing{}
	for i := range p.Series {
		p.drawSeries(i, d, front, X, Y)
	}
	d.body.WriteString(front.body.String())
	d.Height = p.legend(d, bottom+42)
	return d
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

// extents returns the ranges of both axes, which hold all points and spreads.
func (p *Plot) extents() (x0, x1, y0, y1 float64) {
	x0, x1, y0, y1 = p.X.Low, p.X.High, p.Y.Low, p.Y.High
	for _, s := range p.Series {
		for _, q := range s.Points {
			x0, x1 = min(x0, q.X), max(x1, q.X)
			y0, y1 = min(y0, q.Y, q.Low), max(y1, q.Y, q.High)
		}
	}
	if x0 == x1 {
		x1++
	}
	if y0 == y1 {
		y1++
	}
	return x0, x1, y0, y1
}

// look returns the number of a series' color and shape, and the class of its line,
// which is thin and broken where it is like another.
func (p *Plot) look(i int) (tone int, line string) {
	if like := p.Series[i].Like; like > 0 {
		return (like - 1) % seriesTones, "thin dash"
	}
	return i % seriesTones, "line"
}

const mostDots = 40 // points of a series that also have dots

// drawSeries draws the spread of a series behind all, and its line and points in
// front.
func (p *Plot) drawSeries(i int, behind, front *Drawing, X, Y func(float64) float64) {
	s, n := p.Series[i], len(p.Series[i].Points)
	tone, line := p.look(i)
	at := func(k int) (x, y float64) { return X(s.Points[k].X), Y(s.Points[k].Y) }
	if n > 1 {
		front.Add(`<path class="%s s%d" d="%s"/>`, line, tone, Polyline(n, at))
	}
	for k, q := range s.Points {
		x, y := at(k)
		if q.High > q.Low {
			low, high := Y(q.Low), Y(q.High)
			behind.Add(`<path class="bar s%d" d="M%v %vV%vm-3 0h6M%v %vh6"/>`, tone, x, low, high, x-3, low)
		}
		if n <= mostDots {
			s.point(front, tone, x, y, q.Hollow)
		}
	}
}

// point draws a cross where a series is like another.
func (s Series) point(d *Drawing, tone int, x, y float64, hollow bool) {
	if s.Like > 0 {
		d.Add(`<path class="bar s%d" d="M%v %vl5 5m0-5l-5 5"/>`, tone, x-2.5, y-2.5)
		return
	}
	d.Dot(tone, x, y, hollow)
}

// legend explains the series from y down, in as many lines as the width asks for,
// and returns where it ends.
func (p *Plot) legend(d *Drawing, y float64) float64 {
	const line, gap, sample = 17, 16, 24.0
	x := 0.0
	for i, s := range p.Series {
		if s.Name == "" {
			continue
		}
		width := sample + 6 + textWidth(s.Name)
		if x == 0 || x+width > d.Width {
			x, y = 0, y+line
		}
		tone, class := p.look(i)
		d.Text(x+sample+6, y, "start", "ink", s.Name)
		d.Add(`<path class="%s s%d" d="M%v %vh%v"/>`, class, tone, x, y-4, sample)
		if len(s.Points) <= mostDots {
			s.point(d, tone, x+sample/2, y-4, false)
		}
		x += width + gap
	}
	return y + 5
}
