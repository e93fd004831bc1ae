package draw

import (
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"math"
)

// This file draws numbers as colors: heat maps as images of one pixel per
// number, and the color bars that explain them.

// The colors of an image by index: one that shows what is behind, one for
// what is not a number, and the scale.
const (
	transparent = 0
	notANumber  = 1
	firstColor  = 2
	colors      = 126
)

// Viridis returns the palette of heat maps: between nine colors of
// Matplotlib's map of this name, which grows lighter evenly and which
// color-blind readers can read.
func Viridis() color.Palette {
	stops := [][3]float64{
		{0x44, 0x01, 0x54}, {0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b}, {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c},
		{0x28, 0xae, 0x80}, {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25},
	}
	p := color.Palette{transparent: color.NRGBA{}, notANumber: color.NRGBA{0x80, 0x80, 0x80, 0xff}}
	for i := range colors {
		p = append(p, between(stops, float64(i)/(colors-1)))
	}
	return p
}

// between returns the color at a place from 0 to 1 along stops.
func between(stops [][3]float64, at float64) color.NRGBA {
	at *= float64(len(stops) - 1)
	k := min(int(at), len(stops)-2)
	mix := func(c int) uint8 {
		return uint8(math.Round(stops[k][c] + float64((at-float64(k))*(stops[k+1][c]-stops[k][c]))))
	}
	return color.NRGBA{mix(0), mix(1), mix(2), 0xff}
}

// timeColor returns the color of a time from 0, the beginning, to 1: between
// colors of Matplotlib's map Plasma that show on light and on dark paper.
func timeColor(at float64) color.NRGBA {
	return between([][3]float64{{0x6a, 0x1f, 0xc0}, {0x9c, 0x17, 0x9e}, {0xcc, 0x47, 0x78}, {0xed, 0x79, 0x53}, {0xf5, 0xa6, 0x2f}}, at)
}

// Time returns that color as SVG has it.
func Time(at float64) string {
	c := timeColor(min(max(at, 0), 1))
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// A Scale turns numbers into colors.
type Scale struct{ Low, High float64 }

// Over widens the scale to hold the finite ones of xs.
func (s Scale) Over(xs []float32) Scale {
	for _, x := range xs {
		if v := float64(x); v-v == 0 {
			s.Low, s.High = min(s.Low, v), max(s.High, v)
		}
	}
	return s
}

// Nothing is the scale of no numbers.
func Nothing() Scale { return Scale{math.Inf(1), math.Inf(-1)} }

// Color returns the index of x's color.
func (s Scale) Color(x float64) uint8 {
	switch {
	case x != x:
		return notANumber
	case !(s.High > s.Low):
		return firstColor
	}
	f := (x - s.Low) / (s.High - s.Low)
	return firstColor + uint8(math.Round(min(max(f, 0), 1)*(colors-1)))
}

// Image draws m into a rectangle, each of its pixels as a rectangle.
func (d *Drawing) Image(m *image.Paletted, x, y, width, height float64) {
	d.Add(`<image class="pixels" x="%v" y="%v" width="%v" height="%v" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`,
		x, y, width, height, base64.StdEncoding.EncodeToString(pngOf(m)))
}

// Heights of a color bar's parts.
const (
	BarHeight   = 8
	BarAltitude = BarHeight + 32 // with numbers and unit
)

// Rounded widens a scale to round ends, which are then the numbers below its bar.
func (s Scale) Rounded() Scale {
	if !(s.High > s.Low) {
		return s
	}
	step := math.Pow10(exponent((s.High - s.Low) / 4))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step >= (s.High-s.Low)/4 {
			step *= m
			break
		}
	}
	return Scale{step * math.Floor(s.Low/step+1e-9), step * math.Ceil(s.High/step-1e-9)}
}

// Bar draws the colors of s from x to x+width, with its numbers and their
// unit below.
func (d *Drawing) Bar(s Scale, unit string, x, y, width float64) {
	if !(s.High >= s.Low) {
		d.Text(x+width/2, y+BarHeight+12, Middle, "soft", "no number")
		return
	}
	all := Viridis()
	d.bar(s, unit, x, y, width, func(at float64) color.Color { return all[s.Color(s.Low+(s.High-s.Low)*at)] })
}

// TimeBar draws the colors of the times from 0 to last likewise.
func (d *Drawing) TimeBar(last float64, unit string, x, y, width float64) {
	d.bar(Scale{0, last}, unit, x, y, width, func(at float64) color.Color { return timeColor(at) })
}

// bar draws the colors along a scale, and its ends in numbers, within the picture.
func (d *Drawing) bar(s Scale, unit string, x, y, width float64, of func(at float64) color.Color) {
	const pieces = 42
	m := image.NewPaletted(image.Rect(0, 0, pieces, 1), nil)
	for i := range pieces {
		m.Palette = append(m.Palette, of(float64(i)/(pieces-1)))
		m.Pix[i] = uint8(i)
	}
	d.Image(m, x, y, width, BarHeight)
	d.Add(`<path class="frame" d="M%v %vh%vv%vh-%vz"/>`, x, y, width, BarHeight, width)
	t := newTicks(s.Low, s.High, 2) // of which the bar has the power of ten
	for i, at := range []float64{s.Low, s.High} {
		end := x + width*float64(i)
		text := t.text(at, -1)
		half := textWidth(text) / 2
		d.Add(`<path class="axis" d="M%v %vv3"/>`, end, y+BarHeight)
		d.Text(min(max(end, half), d.Width-half), y+BarHeight+14, Middle, "soft", text)
	}
	d.Text(x+width/2, y+BarHeight+29, Middle, "soft", inUnits(unit, t.exp))
}
