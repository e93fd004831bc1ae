package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file draws: pictures as SVG, and plots with axes and legends. Nothing
// in it knows of mazes or of runs.

// A drawing is a picture in the making. Its unit is the CSS pixel, from the
// upper left corner.
type drawing struct {
	title         string // what it shows, for those who do not see it
	width, height float64
	body          bytes.Buffer
}

// raw is text that is SVG already.
type raw string

// add appends SVG in the form of a format. Numbers of type float64 are written
// short, strings are escaped.
func (d *drawing) add(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case float64:
			args[i] = pixels(a)
		case string:
			args[i] = escape(a)
		}
	}
	fmt.Fprintf(&d.body, format, args...)
}

// pixels writes a length to a hundredth.
func pixels(x float64) string {
	return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', -1, 64)
}

// escape makes a text part of XML. What XML cannot hold becomes U+FFFD.
func escape(text string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	return b.String()
}

// The anchors of a text, as SVG calls them.
const (
	left   = "start"
	middle = "middle"
	right  = "end"
)

// text writes s with its baseline at y. Its class is "ink", "soft" or "head".
func (d *drawing) text(x, y float64, anchor, class, s string) {
	d.add(`<text class="%s" x="%v" y="%v" text-anchor="%s">%s</text>`, class, x, y, anchor, s)
}

// textSize is the size of all text but headings, in pixels.
const textSize = 11

// textWidth is about the width of s, rather too large: the fonts differ.
func textWidth(s string) float64 { return 0.58 * textSize * float64(utf8.RuneCountInString(s)) }

// place puts a copy of other into d.
func (d *drawing) place(other *drawing, x, y float64) {
	d.add(`<g transform="translate(%v %v)">%s</g>`, x, y, raw(other.body.String()))
}

// inline returns the drawing for a page whose style has figureStyle.
func (d *drawing) inline() string {
	return fmt.Sprintf(`<svg viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img" aria-label="%[3]s">%[4]s</svg>`,
		pixels(d.width), pixels(d.height), escape(d.title), d.body.String())
}

// file returns the drawing as a file of its own.
func (d *drawing) file() []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img">
<title>%[3]s</title>
<style>%[4]s</style>
<rect class="paper" width="100%%" height="100%%"/>
%[5]s
</svg>
`, pixels(d.width), pixels(d.height), escape(d.title), figureStyle(), d.body.String())
}

// A tone is a colour by its name in CSS.
type tone struct{ name, light, dark string }

// tones returns the colours of all pictures and pages. The series' colours are
// those of Okabe and Ito, which colour-blind readers tell apart, lighter where
// the paper is dark.
func tones() []tone {
	return []tone{
		{"paper", "#ffffff", "#14171a"},
		{"ink", "#1b1f24", "#e8eaed"},
		{"soft", "#57606a", "#a3abb4"},
		{"grid", "#d8dee4", "#343b42"},
		{"wall", "#c4cbd3", "#48515b"},
		{"c0", "#0072b2", "#4aa8e8"}, // blue
		{"c1", "#e69f00", "#e69f00"}, // orange
		{"c2", "#009e73", "#2fc495"}, // green
		{"c3", "#d55e00", "#ff8548"}, // vermillion
		{"c4", "#cc79a7", "#e39cc5"}, // purple
		{"c5", "#56b4e9", "#a5dcff"}, // sky
		{"c6", "#1b1f24", "#e8eaed"}, // ink
	}
}

const seriesTones = 7

// figureStyle returns the CSS of drawings. A colour stands in it twice, first
// as the light one for programs that do not know custom properties. Paper
// printed on is light.
func figureStyle() string {
	declare := func(value func(tone) string) string {
		b := ":root{"
		for _, t := range tones() {
			b += "--" + t.name + ":" + value(t) + ";"
		}
		return b + "}"
	}
	light := declare(func(t tone) string { return t.light })
	dark := declare(func(t tone) string { return t.dark })

	rules := `text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}` +
		`.ink,.head{fill:$ink}.soft{fill:$soft}.head{font-weight:600}.paper{fill:$paper}.wall{fill:$wall}` +
		`.grid{stroke:$grid;fill:none}.axis{stroke:$soft;fill:none}.mark{stroke:$ink;fill:none;stroke-dasharray:2 3}` +
		`.frame{stroke:$soft;fill:none;stroke-width:.75}.pixels{image-rendering:pixelated}` +
		`.line{fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}.dash{stroke-dasharray:6 4}.dots{stroke-dasharray:1.5 3}` +
		`.thin{fill:none;stroke-width:1.25;stroke-linejoin:round;opacity:.8}` +
		`.band{stroke:none;opacity:.22}.bar{stroke-width:1.25;fill:none}.hollow{stroke-width:1.5;fill:$paper}` +
		`.halo{stroke:$paper;stroke-width:3;paint-order:stroke;stroke-linejoin:round}`
	for i := range seriesTones {
		rules += fmt.Sprintf(".f%d{fill:$c%d}.s%d{stroke:$c%d}", i, i, i, i)
	}
	rules = regexp.MustCompile(`(fill|stroke):\$(\w+)`).ReplaceAllStringFunc(rules, func(m string) string {
		property, name, _ := strings.Cut(m, ":$")
		i := slices.IndexFunc(tones(), func(t tone) bool { return t.name == name })
		return property + ":" + tones()[i].light + ";" + property + ":var(--" + name + ")"
	})
	return light + "@media(prefers-color-scheme:dark){" + dark + "}@media print{" + light + "}" + rules
}

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
	t.at = []float64{low}
	t.texts = []string{strings.Replace(strconv.FormatFloat(low/unit, 'g', 3, 64), "-", "−", 1)}
	return t
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

// A plot is a picture of series over two axes.
type plot struct {
	title         string
	x, y          axis
	series        []series
	marks         []mark
	width, height float64 // of the area within the axes
}

// An axis shows at least the numbers from low to high, and those of all
// points.
type axis struct {
	name, unit string
	low, high  float64
}

// A mark is a line across the plot at x, explained in the legend.
type mark struct {
	x    float64
	name string
}

// The ways of a series to show low and high.
type spread int

const (
	noSpread spread = iota
	bands
	bars
)

// A series is points that belong together. Colour and shape follow from its
// place in the plot.
type series struct {
	name   string
	points []point
	line   bool // the points are joined
	spread spread
	like   int     // of an echo: 1 + the place of the series whose colour it has
	echo   echo    // other people's numbers
	shift  float64 // of all points to the right, in pixels, so that bars do not overlap
}

// An echo is drawn with crosses and a thin line, broken to tell it from the
// series that it is held against.
type echo string

const (
	noEcho     echo = ""
	dashedEcho echo = "thin dash"
	dottedEcho echo = "thin dots"
)

// tone returns the place that decides the colour of series i.
func (s *series) tone(i int) int {
	if s.like > 0 {
		return s.like - 1
	}
	return i
}

// class returns the class of the line of series i.
func (s *series) class(i int) string {
	if s.echo != noEcho {
		return string(s.echo)
	}
	return lineClass(i)
}

// A point with y that is not finite is left out, and interrupts the line.
type point struct {
	x, y, low, high float64
	hollow          bool // a lower bound, such as a run that was not solved
}

func (p point) finite() bool { return !math.IsNaN(p.y-p.y) && !math.IsNaN(p.x-p.x) }

// mostDots is how many points of a joined series also have a dot.
const mostDots = 40

// draw draws the plot: the name of the y axis above it, that of the x axis
// below, and the legend below that, where it covers nothing.
func (p *plot) draw() *drawing {
	x0, x1 := p.extent(p.x, func(q point, _ spread) (low, high float64) { return q.x, q.x })
	y0, y1 := p.extent(p.y, func(q point, s spread) (low, high float64) {
		if s == noSpread {
			return q.y, q.y
		}
		return min(q.y, q.low), max(q.y, q.high)
	})
	yTicks := newTicks(y0, y1, 6)
	xTicks := newTicks(x0, x1, 9)
	for most := 8; most > 1 && widest(xTicks.texts)+14 > p.width/float64(max(len(xTicks.at)-1, 1)); most-- {
		xTicks = newTicks(x0, x1, most)
	}

	const top = 26
	start := widest(yTicks.texts) + 12
	end := 6 + widest(xTicks.texts)/2
	d := &drawing{title: p.title, width: start + p.width + end}
	X := func(x float64) float64 { return start + (x-x0)/(x1-x0)*p.width }
	Y := func(y float64) float64 { return top + (y1-y)/(y1-y0)*p.height }
	bottom := top + p.height

	d.text(0, textSize, left, "ink", axisName(p.y, yTicks.exp))
	for i, y := range yTicks.at {
		d.add(`<path class="grid" d="M%v %vh%v"/>`, start, Y(y), p.width)
		d.text(start-6, Y(y)+4, right, "soft", yTicks.texts[i])
	}
	for i, x := range xTicks.at {
		d.add(`<path class="axis" d="M%v %vv4"/>`, X(x), bottom)
		d.text(X(x), bottom+16, middle, "soft", xTicks.texts[i])
	}
	d.add(`<path class="axis" d="M%v %vV%vh%v"/>`, start, float64(top), bottom, p.width)
	d.text(start+p.width, bottom+33, right, "ink", axisName(p.x, xTicks.exp))

	for _, m := range p.marks {
		d.add(`<path class="mark" d="M%v %vV%v"/>`, X(m.x), float64(top), bottom)
	}
	for i, s := range p.series {
		s.drawSpread(d, s.tone(i), func(x float64) float64 { return X(x) + s.shift }, Y)
	}
	for i, s := range p.series {
		s.drawPoints(d, s.tone(i), func(x float64) float64 { return X(x) + s.shift }, Y)
	}
	d.height = p.legend(d, bottom+42)
	return d
}

func axisName(a axis, exp int) string {
	if unit := inUnits(a.unit, exp); unit != "" {
		return a.name + " (" + unit + ")"
	}
	return a.name
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
func (p *plot) extent(a axis, reach func(point, spread) (low, high float64)) (low, high float64) {
	low, high = a.low, a.high
	for _, s := range p.series {
		for _, q := range s.points {
			if l, h := reach(q, s.spread); q.finite() && !math.IsNaN(l-l) && !math.IsNaN(h-h) {
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
func (s *series) drawSpread(d *drawing, i int, X, Y func(float64) float64) {
	i %= seriesTones
	switch s.spread {
	case bands:
		for _, run := range s.runs() {
			var up, down strings.Builder
			for k := range run {
				q, r := run[k], run[len(run)-1-k]
				fmt.Fprintf(&up, "L%s %s", pixels(X(q.x)), pixels(Y(q.high)))
				fmt.Fprintf(&down, "L%s %s", pixels(X(r.x)), pixels(Y(r.low)))
			}
			d.add(`<path class="band f%d" d="M%sz"/>`, i, raw(up.String()[1:]+down.String()))
		}
	case bars:
		for _, q := range s.points {
			if q.finite() && q.high > q.low {
				d.add(`<path class="bar s%d" d="M%v %vV%vm-3 0h6M%v %vh6"/>`, i, X(q.x), Y(q.low), Y(q.high), X(q.x)-3, Y(q.low))
			}
		}
	}
}

// drawPoints draws the line and the points.
func (s *series) drawPoints(d *drawing, i int, X, Y func(float64) float64) {
	if s.line {
		for _, run := range s.runs() {
			var path strings.Builder
			for _, q := range thin(run, X) {
				fmt.Fprintf(&path, "L%s %s", pixels(X(q.x)), pixels(Y(q.y)))
			}
			if len(run) > 1 {
				d.add(`<path class="%s s%d" d="M%s"/>`, raw(s.class(i)), i%seriesTones, raw(path.String()[1:]))
			}
		}
		if len(s.points) > mostDots {
			return
		}
	}
	for _, q := range s.points {
		switch {
		case !q.finite():
		case s.echo != noEcho:
			d.cross(i, X(q.x), Y(q.y))
		default:
			d.dot(i, X(q.x), Y(q.y), q.hollow)
		}
	}
}

// lineClass tells series of the same colour apart.
func lineClass(i int) string {
	if i/seriesTones%2 == 1 {
		return "line dash"
	}
	return "line"
}

// runs splits the points where one of them is not finite.
func (s *series) runs() [][]point {
	var runs [][]point
	var run []point
	for _, q := range s.points {
		if q.finite() {
			run = append(run, q)
			continue
		}
		if len(run) > 0 {
			runs = append(runs, run)
		}
		run = nil
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}

// thin leaves of the points in each column of half a pixel the first, the
// lowest, the highest and the last, which look the same.
func thin(points []point, X func(float64) float64) []point {
	column := func(q point) float64 { return math.Floor(2 * X(q.x)) }
	var kept []point
	for len(points) > 0 {
		n, lowest, highest := 1, 0, 0
		for ; n < len(points) && column(points[n]) == column(points[0]); n++ {
			if points[n].y < points[lowest].y {
				lowest = n
			}
			if points[n].y > points[highest].y {
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

// cross draws a point of an echo of series i.
func (d *drawing) cross(i int, x, y float64) {
	d.add(`<path class="bar s%d" d="M%v %vl5 5m0-5l-5 5"/>`, i%seriesTones, x-2.5, y-2.5)
}

// dot draws the shape of series i.
func (d *drawing) dot(i int, x, y float64, hollow bool) {
	class := fmt.Sprintf("f%d", i%seriesTones)
	if hollow {
		class = fmt.Sprintf("hollow s%d", i%seriesTones)
	}
	switch i % 5 {
	case 0:
		d.add(`<circle class="%s" cx="%v" cy="%v" r="3"/>`, class, x, y)
	case 1:
		d.add(`<path class="%s" d="M%v %vh5.5v5.5h-5.5z"/>`, class, x-2.75, y-2.75)
	case 2:
		d.add(`<path class="%s" d="M%v %vl3.6 6.2h-7.2z"/>`, class, x, y-4)
	case 3:
		d.add(`<path class="%s" d="M%v %vl4 4-4 4-4-4z"/>`, class, x, y-4)
	case 4:
		d.add(`<path class="%s" d="M%v %vl3.6-6.2h-7.2z"/>`, class, x, y+4)
	}
}

// An entry of a legend is a sample, drawn around the middle of its line, and
// its explanation.
type entry struct {
	sample func(d *drawing, x, y float64)
	name   string
}

const sampleWidth = 24

// legend draws the explanations from y down and returns where they end. A
// single series needs none if it has no name.
func (p *plot) legend(d *drawing, y float64) float64 {
	var entries []entry
	for i, s := range p.series {
		if s.name == "" {
			continue
		}
		i := s.tone(i)
		entries = append(entries, entry{func(d *drawing, x, y float64) {
			if s.spread == bands {
				d.add(`<path class="band f%d" d="M%v %vh%vv9h-%vz"/>`, i%seriesTones, x, y-4.5, float64(sampleWidth), float64(sampleWidth))
			}
			if s.spread == bars {
				d.add(`<path class="bar s%d" d="M%v %vv10m-3 0h6m-6-10h6"/>`, i%seriesTones, x+sampleWidth/2, y-5)
			}
			if s.line {
				d.add(`<path class="%s s%d" d="M%v %vh%v"/>`, raw(s.class(i)), i%seriesTones, x, y, float64(sampleWidth))
			}
			switch {
			case s.line && len(s.points) > mostDots:
			case s.echo != noEcho:
				d.cross(i, x+sampleWidth/2, y)
			default:
				d.dot(i, x+sampleWidth/2, y, false)
			}
		}, s.name})
	}
	for _, m := range p.marks {
		entries = append(entries, entry{func(d *drawing, x, y float64) {
			d.add(`<path class="mark" d="M%v %vv12"/>`, x+sampleWidth/2, y-6)
		}, m.name})
	}
	return d.legend(entries, y)
}

// legend writes entries from y down, in as many lines as the width asks for,
// and returns where they end.
func (d *drawing) legend(entries []entry, y float64) float64 {
	const line, gap = 17, 16
	x := 0.0
	for i, e := range entries {
		w := sampleWidth + 6 + textWidth(e.name)
		if i == 0 || x+w > d.width {
			x, y = 0, y+line
		}
		e.sample(d, x, y-4)
		d.text(x+sampleWidth+6, y, left, "ink", e.name)
		x += w + gap
	}
	return y + 5
}
