package draw

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Ticks are round numbers along an axis, and their texts in units of 10^exp.
type ticks struct {
	at    []float64
	texts []string
	exp   int
}

// newTicks returns at most most ticks from low to high, in steps of 1, 2 or 5
// times a power of ten. Where the range holds no two of them, as when it is a
// single number, low is the only one. Numbers of many digits share a power of
// ten: a multiple of three for large ones.
func newTicks(low, high float64, most int) ticks {
	t := ticks{exp: sharedExponent(max(math.Abs(low), math.Abs(high)))}
	unit := decimal(1, t.exp)
	for exp := exponent(high-low) - 3; high > low && decimal(1, exp) <= high-low; exp++ {
		for _, m := range []int{1, 2, 5} {
			step := decimal(m, exp)
			first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
			if last-first+1 > float64(most) {
				continue
			}
			if last-first < 1 {
				break
			}
			for i := first; i <= last; i++ {
				t.at = append(t.at, i*step)
				t.texts = append(t.texts, signed(i*step/unit, max(0, t.exp-exp)))
			}
			return t
		}
	}
	t.at, t.texts = []float64{low}, []string{t.roughly(low)}
	return t
}

// roughly writes a number to three digits, in units of 10^exp.
func (t ticks) roughly(x float64) string {
	return strings.Replace(strconv.FormatFloat(x/decimal(1, t.exp), 'g', 3, 64), "-", "−", 1)
}

// signed writes a number with so many digits after the point.
func signed(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// decimal returns m times 10^exp.
func decimal(m, exp int) float64 {
	x, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", m, exp), 64)
	return x
}

// exponent returns the power of ten of x's first digit, 0 for 0.
func exponent(x float64) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

// sharedExponent returns the power of ten to divide numbers up to largest by.
func sharedExponent(largest float64) int {
	switch e := exponent(largest); {
	case largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest):
		return 0
	case e >= 4:
		return e / 3 * 3
	case e <= -3:
		return e
	}
	return 0
}

// inUnits adds a power of ten to the name of a unit.
func inUnits(name string, exp int) string {
	words := map[int]string{3: "thousand", 6: "million"}
	switch {
	case exp == 0:
		return name
	case words[exp] != "" && name == "":
		return words[exp] + "s"
	case words[exp] != "":
		return words[exp] + " " + name
	}
	digits := strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	return strings.TrimSpace("10" + digits.Replace(strconv.Itoa(exp)) + " " + name)
}

// Unit returns a unit of a CSV file's header, such as cell^2, as pictures have
// it.
func Unit(name string) string {
	base, power, _ := strings.Cut(name, "^")
	return base + "s" + strings.ReplaceAll(power, "2", "²")
}

// A Plot is a picture of series over two axes.
type Plot struct {
	Title         string
	X, Y          Axis
	Series        []Series
	Marks         []Mark
	Level         Mark    // a line across, if it has a name
	SpreadName    string  // what bands and bars are, for the legend
	HollowName    string  // what hollow points are, for the legend
	Width, Height float64 // of the area within the axes
}

// An Axis shows at least the numbers from low to high, and those of all
// points.
type Axis struct {
	Name, Unit string
	Low, High  float64
}

// A Mark is a line through the plot at a number of an axis, explained in the
// legend.
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

// A Series is points that belong together. Colour and shape follow from its
// place in the plot.
type Series struct {
	Name   string
	Points []Point
	Line   bool // the points are joined
	Spread Spread
	Like   int     // of an echo: 1 + the place of the series whose colour it has
	Echo   Echo    // other people's numbers
	Shift  float64 // of all points to the right, in pixels, so that bars do not overlap
}

// An Echo is drawn with crosses and a thin line, broken to tell it from the
// series that it is held against.
type Echo string

// The kinds of line of an echo.
const (
	NoEcho     Echo = ""
	DashedEcho Echo = "thin dash"
	DottedEcho Echo = "thin dots"
)

// tone returns the place that decides the colour of series i.
func (s *Series) tone(i int) int {
	if s.Like > 0 {
		return s.Like - 1
	}
	return i
}

// class returns the class of the line of series i, which tells it from series
// of the same colour.
func (s *Series) class(i int) string {
	switch {
	case s.Echo != NoEcho:
		return string(s.Echo)
	case i/seriesTones%2 == 1:
		return "line dash"
	}
	return "line"
}

// A Point with y that is not finite is left out, and interrupts the line.
type Point struct {
	X, Y, Low, High float64
	Hollow          bool // a lower bound, such as a run that was not solved
}

func (p Point) finite() bool { return !math.IsNaN(p.Y-p.Y) && !math.IsNaN(p.X-p.X) }

// mostDots is how many points of a joined series also have a dot.
const mostDots = 40

// Draw draws the plot: the name of the y axis above it, that of the x axis
// below, and the legend below that, where it covers nothing.
func (p *Plot) Draw() *Drawing {
	x0, x1 := p.extent(p.X, func(q Point, _ Spread) (low, high float64) { return q.X, q.X })
	y0, y1 := p.extent(p.Y, func(q Point, s Spread) (low, high float64) {
		if s == NoSpread {
			return q.Y, q.Y
		}
		return min(q.Y, q.Low), max(q.Y, q.High)
	})
	yTicks := newTicks(y0, y1, 6)
	xTicks := newTicks(x0, x1, 9)
	for most := 8; most > 1 && widest(xTicks.texts)+14 > p.Width/float64(max(len(xTicks.at)-1, 1)); most-- {
		xTicks = newTicks(x0, x1, most)
	}

	const top = 26
	start := widest(yTicks.texts) + 12
	end := 6 + widest(xTicks.texts)/2
	d := &Drawing{Title: p.Title, Width: start + p.Width + end}
	X := func(x float64) float64 { return start + (x-x0)/(x1-x0)*p.Width }
	Y := func(y float64) float64 { return top + (y1-y)/(y1-y0)*p.Height }
	bottom := top + p.Height

	d.Text(0, TextSize, Left, "ink", axisName(p.Y, yTicks.exp))
	for i, y := range yTicks.at {
		d.Add(`<path class="grid" d="M%v %vh%v"/>`, start, Y(y), p.Width)
		d.Text(start-6, Y(y)+4, Right, "soft", yTicks.texts[i])
	}
	for i, x := range xTicks.at {
		d.Add(`<path class="axis" d="M%v %vv4"/>`, X(x), bottom)
		d.Text(X(x), bottom+16, Middle, "soft", xTicks.texts[i])
	}
	d.Add(`<path class="axis" d="M%v %vV%vh%v"/>`, start, top, bottom, p.Width)
	d.Text(start+p.Width, bottom+33, Right, "ink", axisName(p.X, xTicks.exp))

	for _, m := range p.Marks {
		d.Add(`<path class="mark" d="M%v %vV%v"/>`, X(m.At), top, bottom)
	}
	if p.Level.Name != "" {
		d.Add(`<path class="mark" d="M%v %vh%v"/>`, start, Y(p.Level.At), p.Width)
	}
	for i, s := range p.Series {
		s.drawSpread(d, s.tone(i), func(x float64) float64 { return X(x) + s.Shift }, Y)
	}
	for i, s := range p.Series {
		s.drawPoints(d, s.tone(i), func(x float64) float64 { return X(x) + s.Shift }, Y)
	}
	d.Height = p.legend(d, bottom+42)
	return d
}

func axisName(a Axis, exp int) string {
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

// extent returns the range of an axis, of which reach says how far a point
// goes.
func (p *Plot) extent(a Axis, reach func(Point, Spread) (low, high float64)) (low, high float64) {
	low, high = a.Low, a.High
	for _, s := range p.Series {
		for _, q := range s.Points {
			if l, h := reach(q, s.Spread); q.finite() && !math.IsNaN(l-l) && !math.IsNaN(h-h) {
				low, high = min(low, l), max(high, h)
			}
		}
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// drawSpread draws what is behind the points of all series.
func (s *Series) drawSpread(d *Drawing, i int, X, Y func(float64) float64) {
	i %= seriesTones
	switch s.Spread {
	case Bands:
		for _, run := range s.runs() {
			n := len(run)
			d.Add(`<path class="band f%d" d="%sz"/>`, i, polyline(2*n, func(k int) (x, y float64) {
				if k < n {
					return X(run[k].X), Y(run[k].High)
				}
				back := run[2*n-1-k]
				return X(back.X), Y(back.Low)
			}))
		}
	case Bars:
		for _, q := range s.Points {
			if q.finite() && q.High > q.Low {
				d.Add(`<path class="bar s%d" d="M%v %vV%vm-3 0h6M%v %vh6"/>`, i, X(q.X), Y(q.Low), Y(q.High), X(q.X)-3, Y(q.Low))
			}
		}
	}
}

// drawPoints draws the line and the points.
func (s *Series) drawPoints(d *Drawing, i int, X, Y func(float64) float64) {
	if s.Line {
		for _, run := range s.runs() {
			if len(run) > 1 {
				kept := thin(run, X)
				d.Add(`<path class="%s s%d" d="%s"/>`, raw(s.class(i)), i%seriesTones,
					polyline(len(kept), func(k int) (x, y float64) { return X(kept[k].X), Y(kept[k].Y) }))
			}
		}
		if len(s.Points) > mostDots {
			return
		}
	}
	for _, q := range s.Points {
		switch {
		case !q.finite():
		case s.Echo != NoEcho:
			d.cross(i, X(q.X), Y(q.Y))
		default:
			d.Dot(i, X(q.X), Y(q.Y), q.Hollow)
		}
	}
}

// runs splits the points where one of them is not finite.
func (s *Series) runs() (runs [][]Point) {
	begin := 0
	for i := range len(s.Points) + 1 {
		if i < len(s.Points) && s.Points[i].finite() {
			continue
		}
		if i > begin {
			runs = append(runs, s.Points[begin:i])
		}
		begin = i + 1
	}
	return runs
}

// thin leaves of the points in each column of half a pixel the first, the
// lowest, the highest and the last, which look the same.
func thin(points []Point, X func(float64) float64) []Point {
	column := func(q Point) float64 { return math.Floor(2 * X(q.X)) }
	var kept []Point
	for len(points) > 0 {
		n, lowest, highest := 1, 0, 0
		for ; n < len(points) && column(points[n]) == column(points[0]); n++ {
			if points[n].Y < points[lowest].Y {
				lowest = n
			}
			if points[n].Y > points[highest].Y {
				highest = n
			}
		}
		of := []int{0, lowest, highest, n - 1}
		slices.Sort(of)
		for _, k := range slices.Compact(of) {
			kept = append(kept, points[k])
		}
		points = points[n:]
	}
	return kept
}

// legend draws the explanations from y down and returns where they end. A
// single series needs none if it has no name.
func (p *Plot) legend(d *Drawing, y float64) float64 {
	var entries []Entry
	for i, s := range p.Series {
		if s.Name == "" {
			continue
		}
		i := s.tone(i)
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			s.spreadSample(d, i%seriesTones, x, y)
			if s.Line {
				d.Add(`<path class="%s s%d" d="M%v %vh%v"/>`, raw(s.class(i)), i%seriesTones, x, y, SampleWidth)
			}
			switch {
			case s.Line && len(s.Points) > mostDots:
			case s.Echo != NoEcho:
				d.cross(i, x+SampleWidth/2, y)
			default:
				d.Dot(i, x+SampleWidth/2, y, false)
			}
		}, s.Name})
	}
	for _, m := range p.Marks {
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			d.Add(`<path class="mark" d="M%v %vv12"/>`, x+SampleWidth/2, y-6)
		}, m.Name})
	}
	if p.Level.Name != "" {
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			d.Add(`<path class="mark" d="M%v %vh%v"/>`, x, y, SampleWidth)
		}, p.Level.Name})
	}
	if i := slices.IndexFunc(p.Series, Series.spreads); i >= 0 && p.SpreadName != "" {
		entries = append(entries, Entry{func(d *Drawing, x, y float64) { p.Series[i].spreadSample(d, inkTone, x, y) }, p.SpreadName})
	}
	if slices.ContainsFunc(p.Series, Series.hollow) && p.HollowName != "" {
		entries = append(entries, Entry{func(d *Drawing, x, y float64) {
			d.Add(`<circle class="hollow s%d" cx="%v" cy="%v" r="3"/>`, inkTone, x+SampleWidth/2, y)
		}, p.HollowName})
	}
	return d.Legend(entries, y)
}

// spreads reports whether a point of the series shows low and high.
func (s Series) spreads() bool {
	return s.Spread != NoSpread && slices.ContainsFunc(s.Points, func(q Point) bool { return q.High > q.Low })
}

// hollow reports whether the series has a bound.
func (s Series) hollow() bool {
	return slices.ContainsFunc(s.Points, func(q Point) bool { return q.Hollow })
}

// spreadSample draws, in a legend, the band or the bar of a series that has
// one.
func (s Series) spreadSample(d *Drawing, tone int, x, y float64) {
	switch {
	case !s.spreads():
	case s.Spread == Bands:
		d.Add(`<path class="band f%d" d="M%v %vh%vv9h-%vz"/>`, tone, x, y-4.5, SampleWidth, SampleWidth)
	default:
		d.Add(`<path class="bar s%d" d="M%v %vv10m-3 0h6m-6-10h6"/>`, tone, x+SampleWidth/2, y-5)
	}
}
