package draw

import (
	"math"
	"strconv"
	"strings"
)

// ticks are round numbers along an axis, and their texts in units of 10^exp.
type ticks struct {
	at    []float64
	texts []string
	exp   int
}

// newTicks returns at most most ticks from low to high, in steps of 1, 2 or 5
// times a power of ten. A range without two of them, as a single number, has low
// as its only one. Numbers of many digits share a power of ten: a multiple of
// three for large ones.
func newTicks(low, high float64, most int) ticks {
	t := ticks{}
	switch e := exponent(max(math.Abs(low), math.Abs(high))); {
	case e >= 4:
		t.exp = e / 3 * 3
	case e <= -3:
		t.exp = e
	}
	for exp := exponent(high-low) - 3; high > low && math.Pow10(exp) <= high-low; exp++ {
		for _, m := range []float64{1, 2, 5} {
			step := m * math.Pow10(exp)
			first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
			if last-first+1 > float64(most) || last-first < 1 {
				continue
			}
			for i := first; i <= last; i++ {
				t.at = append(t.at, i*step)
				t.texts = append(t.texts, t.text(i*step, max(0, t.exp-exp)))
			}
			return t
		}
	}
	t.at, t.texts = []float64{low}, []string{t.text(low, -1)}
	return t
}

// text writes a number with so many digits after the point, or to six digits in
// all where that is negative.
func (t *ticks) text(x float64, digits int) string {
	x /= math.Pow10(t.exp)
	s := strconv.FormatFloat(x, 'f', max(digits, 0), 64)
	if digits < 0 {
		s = strconv.FormatFloat(x, 'g', 6, 64)
	}
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// exponent returns the power of ten of x's first digit, 0 for what has none.
func exponent(x float64) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

// inUnits adds a power of ten to the name of a unit.
func inUnits(name string, exp int) string {
	switch exp {
	case 0:
		return name
	case 3:
		return strings.TrimSpace("thousand " + name)
	case 6:
		return strings.TrimSpace("million " + name)
	}
	digits := strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	return strings.TrimSpace("10" + digits.Replace(strconv.Itoa(exp)) + " " + name)
}

// Unit returns a unit of a CSV file's header, such as cell^2, as pictures have
// it.
func Unit(name string) string {
	if name == "" {
		return ""
	}
	base, power, _ := strings.Cut(name, "^")
	return base + "s" + strings.ReplaceAll(power, "2", "²")
}

// A Plot is a picture of series over two axes.
type Plot struct {
	Title         string
	X, Y          Axis
	Series        []Series
	Marks         []Mark
	Width, Height float64 // of the area within the axes
}

// An Axis shows at least the numbers from low to high, and those of all
// points.
type Axis struct {
	Name, Unit string
	Low, High  float64
}

// A Mark is an upright line through the plot, explained in the legend.
type Mark struct {
	At   float64
	Name string
}

// A Spread is how a series shows low and high.
type Spread int

// The ways to show them.
const (
	NoSpread Spread = iota
	Bands
	Bars
)

// A Series is points that belong together. Color and shape follow from its
// place in the plot.
type Series struct {
	Name   string
	Points []Point
	Line   bool // the points are joined
	Spread Spread
	Like   int     // of an echo: 1 + the place of the series whose color it has
	Echo   Echo    // other people's numbers
	Shift  float64 // of all points to the right, in pixels, so that bars do not overlap
}

// An Echo is drawn with crosses and a thin line, broken to tell it from the
// series that it is compared with.
type Echo string

// The kinds of line of an echo.
const (
	NoEcho     Echo = ""
	DashedEcho Echo = "thin dash"
	DottedEcho Echo = "thin dots"
)

// A Point is finite.
type Point struct {
	X, Y, Low, High float64
	Hollow          bool // a lower bound, such as a run that was not solved
}

// A style is how one series looks.
type style struct {
	*Series
	tone int // of its color and shape
	line string
}

// styles returns how the series look: seven colors, and broken lines from the
// eighth on.
func (p *Plot) styles() []style {
	list := make([]style, len(p.Series))
	for i := range p.Series {
		s := &p.Series[i]
		list[i] = style{s, i, "line"}
		if s.Like > 0 {
			list[i].tone = s.Like - 1
		}
		if s.Echo != NoEcho {
			list[i].line = string(s.Echo)
		} else if list[i].tone/seriesTones%2 == 1 {
			list[i].line = "line dash"
		}
		list[i].tone %= seriesTones
	}
	return list
}

// Draw draws the plot: the name of the y axis above it, that of the x axis
// below, and the legend below that, where it covers nothing.
func (p *Plot) Draw() *Drawing {
	x0, x1, y0, y1 := p.extents()
	yTicks, xTicks := newTicks(y0, y1, 6), newTicks(x0, x1, 9)
	for most := 8; most > 1 && widest(xTicks.texts)+14 > p.Width/float64(max(len(xTicks.at)-1, 1)); most-- {
		xTicks = newTicks(x0, x1, most)
	}
	const top = 26
	start := widest(yTicks.texts) + 12
	d := &Drawing{Title: p.Title, Width: start + p.Width + 6 + widest(xTicks.texts)/2}
	X := func(x float64) float64 { return start + (x-x0)/(x1-x0)*p.Width }
	Y := func(y float64) float64 { return top + (y1-y)/(y1-y0)*p.Height }
	bottom := top + p.Height

	d.Text(0, TextSize, Left, "ink", p.Y.title(yTicks.exp))
	for i, y := range yTicks.at {
		d.Add(`<path class="grid" d="M%v %vh%v"/>`, start, Y(y), p.Width)
		d.Text(start-6, Y(y)+4, Right, "soft", yTicks.texts[i])
	}
	for i, x := range xTicks.at {
		d.Add(`<path class="axis" d="M%v %vv4"/>`, X(x), bottom)
		d.Text(X(x), bottom+16, Middle, "soft", xTicks.texts[i])
	}
	d.Add(`<path class="axis" d="M%v %vV%vh%v"/>`, start, top, bottom, p.Width)
	d.Text(start+p.Width, bottom+33, Right, "ink", p.X.title(xTicks.exp))
	for _, m := range p.Marks {
		d.Add(`<path class="mark" d="M%v %vV%v"/>`, X(m.At), top, bottom)
	}
	for _, s := range p.styles() {
		s.drawSpread(d, X, Y)
	}
	for _, s := range p.styles() {
		s.drawPoints(d, X, Y)
	}
	d.Height = d.Legend(p.legend(), bottom+42)
	return d
}

func (a Axis) title(exp int) string {
	if unit := inUnits(a.Unit, exp); unit != "" {
		return a.Name + " (" + unit + ")"
	}
	return a.Name
}

func widest(texts []string) float64 {
	w := 0.0
	for _, s := range texts {
		w = max(w, textWidth(s))
	}
	return w
}

// extents returns the ranges of both axes, which hold all points and spreads.
func (p *Plot) extents() (x0, x1, y0, y1 float64) {
	x0, x1, y0, y1 = p.X.Low, p.X.High, p.Y.Low, p.Y.High
	for _, s := range p.Series {
		for _, q := range s.Points {
			x0, x1, y0, y1 = min(x0, q.X), max(x1, q.X), min(y0, q.Y), max(y1, q.Y)
			if s.Spread != NoSpread {
				y0, y1 = min(y0, q.Low), max(y1, q.High)
			}
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

// drawSpread draws what is behind the points of all series.
func (s *style) drawSpread(d *Drawing, X, Y func(float64) float64) {
	n := len(s.Points)
	switch {
	case s.Spread == Bands && n > 0:
		d.Add(`<path class="band f%d" d="%sz"/>`, s.tone, polyline(2*n, func(k int) (x, y float64) {
			if k < n {
				return X(s.Points[k].X), Y(s.Points[k].High)
			}
			return X(s.Points[2*n-1-k].X), Y(s.Points[2*n-1-k].Low)
		}))
	case s.Spread == Bars:
		for _, q := range s.Points {
			if q.High > q.Low {
				x := X(q.X) + s.Shift
				d.Add(`<path class="bar s%d" d="M%v %vV%vm-3 0h6M%v %vh6"/>`, s.tone, x, Y(q.Low), Y(q.High), x-3, Y(q.Low))
			}
		}
	}
}

const (
	mostDots   = 40   // points of a joined series that also have a dot
	mostPoints = 1000 // of a line; of more every second is drawn, or every third and so on
)

// drawPoints draws the line and the points.
func (s *style) drawPoints(d *Drawing, X, Y func(float64) float64) {
	x := func(q Point) float64 { return X(q.X) + s.Shift }
	if last := len(s.Points) - 1; s.Line && last > 0 {
		every := 1 + last/mostPoints
		d.Add(`<path class="%s s%d" d="%s"/>`, s.line, s.tone, polyline(1+(last+every-1)/every, func(k int) (float64, float64) {
			q := s.Points[min(k*every, last)]
			return x(q), Y(q.Y)
		}))
	}
	if s.Line && len(s.Points) > mostDots {
		return
	}
	for _, q := range s.Points {
		s.point(d, x(q), Y(q.Y), q.Hollow)
	}
}

func (s *style) point(d *Drawing, x, y float64, hollow bool) {
	if s.Echo != NoEcho {
		d.Add(`<path class="bar s%d" d="M%v %vl5 5m0-5l-5 5"/>`, s.tone, x-2.5, y-2.5)
		return
	}
	d.Dot(s.tone, x, y, hollow)
}

// legend returns the explanations. A series without a name needs none.
func (p *Plot) legend() (entries []Entry) {
	for _, s := range p.styles() {
		if s.Name == "" {
			continue
		}
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			if s.Line {
				d.Add(`<path class="%s s%d" d="M%v %vh%v"/>`, s.line, s.tone, x, y, SampleWidth)
			}
			if !s.Line || len(s.Points) <= mostDots {
				s.point(d, x+SampleWidth/2, y, false)
			}
		}, s.Name})
	}
	for _, m := range p.Marks {
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			d.Add(`<path class="mark" d="M%v %vv12"/>`, x+SampleWidth/2, y-6)
		}, m.Name})
	}
	return entries
}
