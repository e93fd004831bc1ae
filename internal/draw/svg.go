// Package draw makes pictures in SVG: plots with axes and legends, charts, and heat maps.
// It knows nothing of runs.
package draw

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Style is the CSS of drawings, for light and for dark paper.
//
//go:embed style.css
var Style string

// seriesTones is the number of colors that Style has for series.
const seriesTones = 7

// A Drawing is a picture to which SVG is added. Coordinates are CSS pixels from the upper
// left corner.
type Drawing struct {
	Title         string // says what it shows to readers who do not see it
	Width, Height float64
	Style         string  // CSS in addition to [Style]
	Zoom          float64 // enlarges [Drawing.File]; 0: by 2 if the drawing is small, else by 1
	body          strings.Builder
}

// Add appends SVG, whose format has the verbs of package fmt. A float64 is written with two
// decimals at most, a color as #rrggbb, and a string is escaped. Text that is SVG already is
// passed as template.HTML.
func (d *Drawing) Add(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case float64:
			args[i] = pixels(a)
		case string:
			args[i] = html.EscapeString(a)
		case color.NRGBA:
			args[i] = fmt.Sprintf("#%02x%02x%02x", a.R, a.G, a.B)
		}
	}
	fmt.Fprintf(&d.body, format, args...)
}

// pixels writes a length to a hundredth.
func pixels(x float64) string {
	return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', -1, 64)
}

// Text writes s with its baseline at y. Its anchor is "start", "middle" or "end", its
// class "ink", "soft" or "head".
func (d *Drawing) Text(x, y float64, anchor, class, s string) {
	d.Add(`<text class="%s" x="%v" y="%v" text-anchor="%s">%s</text>`, class, x, y, anchor, s)
}

// TextSize is the size of all text but headings, in pixels.
const TextSize = 12

// textWidth is about the width of s in pixels. It is rather too large, because fonts
// differ.
func textWidth(s string) float64 {
	return float64(0.58 * TextSize * float64(utf8.RuneCountInString(s)))
}

// Place puts a copy of other into d, with its upper left corner at x and y.
func (d *Drawing) Place(other *Drawing, x, y float64) {
	d.Add(`<g transform="translate(%v %v)">%s</g>`, x, y, other.svg())
}

// Inline returns the drawing for a page whose CSS has [Style].
func (d *Drawing) Inline() template.HTML {
	var svg Drawing
	svg.Add(`<svg viewBox="0 0 %[1]v %[2]v" width="%[1]v" height="%[2]v" role="img" `, d.Width, d.Height)
	svg.Add(`aria-label="%s">`, d.Title)
	svg.Add(`<style>%s</style>%s</svg>`, template.HTML(d.Style), d.svg())
	return svg.svg()
}

// File returns the drawing as a file of its own, with a margin and enlarged by Zoom.
func (d *Drawing) File() []byte {
	const margin = 6
	width := d.Width + 2*margin
	height := d.Height + 2*margin
	scale := d.Zoom
	if scale == 0 {
		scale = 1
		if width < 500 {
			scale = 2
		}
	}
	var svg Drawing
	svg.Add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-%[1]v -%[1]v %v %v"
 width="%v" height="%v" role="img">
`, margin, width, height, scale*width, scale*height)
	svg.Add("<title>%s</title>\n<style>%s</style>\n", d.Title, template.HTML(Style+d.Style))
	svg.Add(`<rect class="paper" x="-%[1]v" y="-%[1]v" width="100%%" height="100%%"/>`, margin)
	svg.Add("\n%s\n</svg>\n", d.svg())
	return []byte(svg.svg())
}

func (d *Drawing) svg() template.HTML { return template.HTML(d.body.String()) }

// Polyline returns the path along n points.
func Polyline(n int, at func(k int) (x, y float64)) template.HTML {
	var path strings.Builder
	for k := range n {
		x, y := at(k)
		fmt.Fprintf(&path, "L%s %s", pixels(x), pixels(y))
	}
	return template.HTML("M" + path.String()[1:])
}

// Dot draws the dot of series i at x and y: a disc, a square, a triangle and so on.
func (d *Drawing) Dot(i int, x, y float64, hollow bool) {
	class := "f"
	if hollow {
		class = "hollow s"
	}
	shapes := [...]template.HTML{
		"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", // a disc
		"m-2.75-2.75h5.5v5.5h-5.5z",          // a square
		"m0-4l3.6 6.2h-7.2z",                 // a triangle
		"m0-4l4 4-4 4-4-4z",                  // a diamond
		"m0 4l3.6-6.2h-7.2z",                 // a triangle on its tip
	}
	d.Add(`<path class="%s%d" d="M%v %v%s"/>`, class, i%seriesTones, x, y, shapes[i%len(shapes)])
}
