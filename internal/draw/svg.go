// Package draw makes pictures in SVG: plots with axes and legends, heat maps and
// mazes. It knows nothing of runs.
package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Drawing is a picture in the making. Its unit is the CSS pixel, from the
// upper left corner.
type Drawing struct {
	Title         string // what it shows, for those who do not see it
	Width, Height float64
	Style         string // CSS of its own, beside [Style]
	body          bytes.Buffer
}

// raw is text that is SVG already.
type raw string

// Add appends SVG in the form of a format. Numbers of type float64 are written
// short, strings are escaped.
func (d *Drawing) Add(format string, args ...any) {
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
	Left   = "start"
	Middle = "middle"
	Right  = "end"
)

// Text writes s with its baseline at y. Its class is "ink", "soft" or "head".
func (d *Drawing) Text(x, y float64, anchor, class, s string) {
	d.Add(`<text class="%s" x="%v" y="%v" text-anchor="%s">%s</text>`, class, x, y, anchor, s)
}

// TextSize is the size of all text but headings, in pixels.
const TextSize = 12

// textWidth is about the width of s, rather too large: the fonts differ.
func textWidth(s string) float64 { return 0.58 * TextSize * float64(utf8.RuneCountInString(s)) }

// Place puts a copy of other into d.
func (d *Drawing) Place(other *Drawing, x, y float64) {
	d.Add(`<g transform="translate(%v %v)">%s</g>`, x, y, raw(other.body.String()))
}

// Inline returns the drawing for a page whose CSS has Style.
func (d *Drawing) Inline() template.HTML {
	style := ""
	if d.Style != "" {
		style = "<style>" + d.Style + "</style>"
	}
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img" aria-label="%[3]s">%[4]s%[5]s</svg>`,
		pixels(d.Width), pixels(d.Height), escape(d.Title), style, d.body.String()))
}

// File returns the drawing as a file of its own, with a margin; a small one is
// shown twice as large.
func (d *Drawing) File() []byte {
	const margin = 6
	width, height, scale := d.Width+2*margin, d.Height+2*margin, 1.0
	if width < 500 {
		scale = 2
	}
	const form = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-%[1]d -%[1]d %[2]s %[3]s" width="%[4]s" height="%[5]s" role="img">
<title>%[6]s</title>
<style>%[7]s</style>
<rect class="paper" x="-%[1]d" y="-%[1]d" width="100%%" height="100%%"/>
%[8]s
</svg>
`
	return fmt.Appendf(nil, form, margin, pixels(width), pixels(height), pixels(scale*width), pixels(scale*height),
		escape(d.Title), Style()+d.Style, d.body.String())
}

// A tone is a color by its name in CSS.
type tone struct{ name, light, dark string }

// tones returns the colors of all pictures and pages. The series' colors are
// those of Okabe and Ito, which color-blind readers tell apart, lighter where
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

// seriesTones is how many colors series have; the last is ink.
const seriesTones = 7

// Style returns the CSS of drawings. A color stands in it twice, first as the
// light one for programs that do not know custom properties. Paper printed on
// is light.
func Style() string {
	declare := func(value func(tone) string) string {
		var b strings.Builder
		b.WriteString(":root{")
		for _, t := range tones() {
			b.WriteString("--" + t.name + ":" + value(t) + ";")
		}
		return b.String() + "}"
	}
	light := declare(func(t tone) string { return t.light })
	dark := declare(func(t tone) string { return t.dark })

	rules := `text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}` +
		`.ink,.head{fill:$ink}.soft{fill:$soft}.head{font-weight:600}.paper{fill:$paper}.wall{fill:$wall}` +
		`.grid{stroke:$grid;fill:none}.axis{stroke:$soft;fill:none}.mark{stroke:$ink;fill:none;stroke-dasharray:2 3}` +
		`.frame{stroke:$soft;fill:none;stroke-width:.75}.pixels{image-rendering:pixelated}` +
		`.line{fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round}.dash{stroke-dasharray:6 4}.dots{stroke-dasharray:1.5 3}` +
		`.near{fill:none;stroke-dasharray:3 2}` +
		`.thin{fill:none;stroke-width:1.25;stroke-linejoin:round;opacity:.8}` +
		`.region{fill-opacity:.3}.rim{stroke:$soft;stroke-width:.5}` +
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

// An Entry of a legend is a sample, drawn around the middle of its line, and
// its explanation.
type Entry struct {
	Sample func(d *Drawing, x, y float64)
	Name   string
}

// SampleWidth is the width of a legend's sample.
const SampleWidth = 24

// polyline returns the path of n points.
func polyline(n int, at func(k int) (x, y float64)) raw {
	var path strings.Builder
	for k := range n {
		x, y := at(k)
		fmt.Fprintf(&path, "L%s %s", pixels(x), pixels(y))
	}
	return raw("M" + path.String()[1:])
}

// Path draws a line through n points, or with closed around them. A line's length
// counts as 1 for its dashes.
func (d *Drawing) Path(class string, n int, closed bool, at func(k int) (x, y float64)) {
	if closed {
		d.Add(`<path class="%s" d="%sz" shape-rendering="crispEdges"/>`, class, polyline(n, at))
		return
	}
	d.Add(`<path class="%s" pathLength="1" d="%s"/>`, class, polyline(n, at))
}

// Legend writes entries from y down, in as many lines as the width asks for,
// and returns where they end.
func (d *Drawing) Legend(entries []Entry, y float64) float64 {
	const line, gap = 17, 16
	x := 0.0
	for i, e := range entries {
		w := SampleWidth + 6 + textWidth(e.Name)
		if i == 0 || x+w > d.Width {
			x, y = 0, y+line
		}
		e.Sample(d, x, y-4)
		d.Text(x+SampleWidth+6, y, Left, "ink", e.Name)
		x += w + gap
	}
	return y + 5
}

// Dot draws the shape of series i.
func (d *Drawing) Dot(i int, x, y float64, hollow bool) {
	class := fmt.Sprintf("f%d", i%seriesTones)
	if hollow {
		class = fmt.Sprintf("hollow s%d", i%seriesTones)
	}
	if i%5 == 0 {
		d.Add(`<circle class="%s" cx="%v" cy="%v" r="3"/>`, class, x, y)
		return
	}
	shape := [...]struct {
		x, y float64 // where its path begins
		path raw
	}{{-2.75, -2.75, "h5.5v5.5h-5.5z"}, {0, -4, "l3.6 6.2h-7.2z"}, {0, -4, "l4 4-4 4-4-4z"}, {0, 4, "l3.6-6.2h-7.2z"}}[i%5-1]
	d.Add(`<path class="%s" d="M%v %v%s"/>`, class, x+shape.x, y+shape.y, shape.path)
}
