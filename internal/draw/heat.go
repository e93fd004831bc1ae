package draw

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
)

// This file draws numbers as colors: heat maps as images of one pixel per
// number, and the color bars that explain them.

const colors = 126 // in a palette, besides the transparent one

// Viridis is the palette of heat maps. It runs through nine colors of Matplotlib's map of
// this name, which grows lighter evenly and which color-blind readers can read.
var Viridis = palette(
	0x440154, 0x472d7b, 0x3b528b,
	0x2c728e, 0x21918c, 0x28ae80,
	0x5ec962, 0xaddc30, 0xfde725,
)

// Plasma is the palette of points in time. Its colors are from Matplotlib's map of this
// name, and all of them show on light and on dark paper.
var Plasma = palette(0x6a1fc0, 0x9c179e, 0xcc4778, 0xed7953, 0xf5a62f)

// palette returns a palette whose colors run evenly through the stops. The color at index
// 0 is transparent, and the stops begin at index 1.
func palette(stops ...int) color.Palette {
	p := color.Palette{color.NRGBA{}}
	for i := range colors {
		at := float64(i*(len(stops)-1)) / (colors - 1)
		k := min(int(at), len(stops)-2)
		p = append(p, mix(stops[k], stops[k+1], at-float64(k)))
	}
	return p
}

// mix returns the color at a share of the way from one color to another.
func mix(from, to int, share float64) color.NRGBA {
	channel := func(shift int) uint8 {
		a := float64(from >> shift & 0xff)
		b := float64(to >> shift & 0xff)
		return uint8(math.Round(a + float64(share*(b-a))))
	}
	return color.NRGBA{R: channel(16), G: channel(8), B: channel(0), A: 0xff}
}

// A Scale turns numbers from Low to High into colors.
type Scale struct{ Low, High float64 }

// ScaleOf returns the scale of all numbers in lists, widened to the round
// numbers that label its bar.
func ScaleOf(lists ...[]float32) (s Scale) {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return s
	}
	s.Low = float64(slices.Min(all))
	s.High = float64(slices.Max(all))
	if s.High > s.Low {
		step := roundUp((s.High - s.Low) / 4)
		// A number that is round but for rounding errors stays where it is.
		s.Low = step * math.Floor(s.Low/step+1e-9)
		s.High = step * math.Ceil(s.High/step-1e-9)
	}
	return s
}

// Color returns the index of x's color in a palette.
func (s Scale) Color(x float64) uint8 {
	if !(s.High > s.Low) {
		return 1
	}
	share := (x - s.Low) / (s.High - s.Low)
	share = min(max(share, 0), 1)
	return 1 + uint8(math.Round(share*(colors-1)))
}

// Image draws m into a rectangle, each pixel as a small rectangle. The PNG is not
// compressed, because a compressor's bytes change from one release of Go to the next, and
// a figure's bytes must not change.
func (d *Drawing) Image(m *image.Paletted, x, y, width, height float64) {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	if err := encoder.Encode(&b, m); err != nil {
		panic(err) // an image without pixels, which nobody draws
	}
	pixels := base64.StdEncoding.EncodeToString(b.Bytes())
	d.Add(`<image class="pixels" x="%v" y="%v" width="%v" height="%v" `, x, y, width, height)
	d.Add(`preserveAspectRatio="none" href="data:image/png;base64,%s"/>`, pixels)
}

// Heights of a color bar.
const (
	BarHeight   = 8
	BarAltitude = BarHeight + 32 // with the numbers and the unit below it
)

// Bar draws the colors of s from x to x+width. Below them it writes the numbers at both
// ends and their unit.
func (d *Drawing) Bar(s Scale, palette color.Palette, unit string, x, y, width float64) {
	const pieces = 42
	m := image.NewPaletted(image.Rect(0, 0, pieces, 1), nil) // its palette is the pieces' colors
	for i := range pieces {
		at := s.Low + (s.High-s.Low)*float64(i)/(pieces-1)
		m.Palette = append(m.Palette, palette[s.Color(at)])
		m.Pix[i] = uint8(i)
	}
	d.Image(m, x, y, width, BarHeight)
	d.Add(`<path class="frame" d="M%v %vh%vv%vh-%vz"/>`, x, y, width, BarHeight, width)
	below := y + BarHeight
	d.Add(`<path class="axis" d="M%v %vv3m%v 0v-3"/>`, x, below, width)
	d.Text(x, below+14, "start", "soft", number(s.Low))
	d.Text(x+width, below+14, "end", "soft", number(s.High))
	d.Text(x+float64(width/2), below+29, "middle", "soft", unit)
}
