package draw

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qta/internal/roomtest"
)

// TestViridis holds the palette to a few colors of Matplotlib's table.
func TestViridis(t *testing.T) {
	for x, want := range map[float64]color.NRGBA{
		0: {68, 1, 84, 255}, 0.25: {59, 82, 139, 255}, 0.5: {33, 145, 140, 255}, 9: {253, 231, 37, 255},
	} {
		got := Viridis[Scale{0, 1}.Color(x)].(color.NRGBA)
		for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
			if d > 3 || d < -3 {
				t.Errorf("%v is %v, want about %v", x, got, want)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{0, 2000, "0 500 1k 1.5k 2k"},
		{-23.4, 0, "−20 −15 −10 −5 0"},
		{0, 150_000, "0 50k 100k 150k"},
		{0, 2_500_000, "0 500k 1M 1.5M 2M 2.5M"},
		{0, 0.00042, "0 0.0001 0.0002 0.0003 0.0004"},
		{3.3, 3.9, "3.4 3.6 3.8"},
		{-1.7e308, 1.7e308, ""}, // farther apart than any number
	} {
		var texts []string
		for _, x := range ticks(test.low, test.high) {
			texts = append(texts, number(x))
		}
		what := fmt.Sprintf("%v to %v", test.low, test.high)
		roomtest.Equal(t, what, test.want, strings.Join(texts, " "))
	}
}

// TestBar checks that the rounded ends of a scale stand below its bar, beside each
// other, and that an image is not compressed.
func TestBar(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	lists := [][]float32{{3, 3}, {3, -1, 2}, {}}
	for range 1000 {
		low := 100 * (rng.Float64() - 0.5)
		lists = append(lists, []float32{float32(low), float32(low + math.Exp(10*rng.Float64()-5))})
	}
	texts := regexp.MustCompile(`<text class="soft" x="(0|112)" y="22" text-anchor="(?:start|end)">([^<]*)<`)
	for _, xs := range lists {
		s := ScaleOf(xs, xs)
		for _, x := range xs {
			outside := s.Low > float64(x)+1e-6 || s.High < float64(x)-1e-6
			tooLong := s.High-s.Low > 2*float64(slices.Max(xs)-slices.Min(xs))
			if outside || tooLong {
				t.Errorf("%v has the scale %v", xs, s)
			}
		}
		d := &Drawing{}
		d.Bar(s, Viridis, "cells", 0, 0, 112)
		found := texts.FindAllStringSubmatch(string(d.Inline()), -1)
		ends := len(found) == 2 && found[0][1] == "0" && found[0][2] == number(s.Low) && found[1][2] == number(s.High)
		if !ends || s.High > s.Low && textWidth(found[0][2]+found[1][2]) > 112 {
			t.Errorf("%v: %q", xs, found)
		}
	}
	d := &Drawing{}
	d.Image(image.NewPaletted(image.Rect(0, 0, 100, 100), Viridis), 0, 0, 1, 1)
	if d.body.Len() < 100*100 {
		t.Errorf("an image of 100 by 100 has %d bytes: it is compressed", d.body.Len())
	}
}

// TestPlot draws many series. The axes hold all points, the picture is XML, and no text
// is outside of it.
func TestPlot(t *testing.T) {
	p := Plot{Title: "a & b", Width: 300, Height: 180, X: Axis{Name: "path length", Unit: "steps"}, Y: Axis{Name: "steps"}}
	for i := range 12 {
		s := Series{Name: fmt.Sprintf("method <%d>", i)}
		for k := range 6 {
			s.Points = append(s.Points, Point{X: float64(9 + 2*k), Y: float64(1000*(i+k)) - 500})
		}
		p.Series = append(p.Series, s)
	}
	if at := p.plane(); at.x0 != 0 || at.x1 != 19 || at.y0 != -500 || at.y1 != 15500 {
		t.Errorf("the axes reach from %v to %v and from %v to %v", at.x0, at.x1, at.y0, at.y1)
	}
	texts := regexp.MustCompile(`<text class="ink" x="([\d.]+)" y="([\d.]+)" text-anchor="start">([^<]*)<`)
	for _, p := range []*Plot{&p, {Width: 100, Height: 50}} {
		d := p.Draw()
		svg := string(d.File())
		roomtest.Picture(t, svg)
		entries := texts.FindAllStringSubmatch(svg, -1)
		for _, m := range entries {
			x, _ := strconv.ParseFloat(m[1], 64)
			y, _ := strconv.ParseFloat(m[2], 64)
			if x+textWidth(html.UnescapeString(m[3])) > d.Width || y > d.Height {
				t.Errorf("%q at %v, %v is outside the picture of %v by %v", m[3], x, y, d.Width, d.Height)
			}
		}
		roomtest.Equal(t, "the texts of the axis and the legend", 1+len(p.Series), len(entries))
	}
}

// TestLegend checks that a legend has only the series with a name, each in its own color.
func TestLegend(t *testing.T) {
	p := Plot{Width: 100, Height: 50, Series: []Series{{}, {Name: "second"}}}
	svg := string(p.Draw().File())
	lines := regexp.MustCompile(`class="line (s\d)"`).FindAllStringSubmatch(svg, -1)
	if len(lines) != 1 || lines[0][1] != "s1" || !strings.Contains(svg, ">second<") {
		t.Errorf("the legend has the lines %v: %s", lines, svg)
	}
}

// TestEqualDots has more equal runs than there is room for. Their dots stay near their place.
func TestEqualDots(t *testing.T) {
	c := &Chart{Width: 400, Height: 220}
	c.Lines = []Line{{Means: []Mean{{X: 1, Y: 5, Each: slices.Repeat([]float64{5}, 1000)}}}}
	p := c.plane()
	p.dots(0, 200, c.Lines[0].Means[0])
	dots := regexp.MustCompile(`class="f0" d="M([0-9.]+) `).FindAllStringSubmatch(string(p.File()), -1)
	least, most := math.Inf(1), 0.0
	for _, dot := range dots {
		x, _ := strconv.ParseFloat(dot[1], 64)
		least = min(least, x)
		most = max(most, x)
	}
	if len(dots) != 1000 || least < 180 || most > 220 || most-least < 20 {
		t.Errorf("%d dots lie between %v and %v", len(dots), least, most)
	}
}

// TestChart draws lines near each other: no name covers a mark or another name, and a
// run that is a bound has an arrow.
func TestChart(t *testing.T) {
	c := &Chart{Width: 400, Height: 220, Log: true, Apart: 5}
	for i := range 4 {
		l := Line{Name: fmt.Sprintf("method <%d>", i), Tone: i, Theirs: i%2 > 0}
		for k := range 8 {
			y := math.Exp(float64(i+k) / 3)
			l.Means = append(l.Means, Mean{X: float64(k), Y: y, Low: 0.8 * y, High: 1.2 * y, Each: []float64{y, y, 1.1 * y}})
		}
		l.Means[7].Bounds = []float64{40}
		c.Lines = append(c.Lines, l)
	}
	for k := range 8 {
		c.Places = append(c.Places, Place{X: float64(k), Name: fmt.Sprint(k), Under: "under"})
	}
	p := c.plane()
	for i, l := range c.Lines {
		p.owner = i
		c.drawLine(p, i)
		p.writeName(l, c.shift(i))
	}
	for i, name := range p.names {
		if slices.ContainsFunc(p.names[:i], name.meets) {
			t.Errorf("the name of line %d covers another", i)
		}
	}
	svg := string(Sheet("a & b", []string{"a note"}, c).File())
	roomtest.Picture(t, svg)
	if dots, arrows := strings.Count(svg, `class="seed"`), strings.Count(svg, "v-9m-3 3"); dots != 2*(8*3+1) || arrows != 2 {
		t.Errorf("%d dots and %d arrows, want 50 and 2", dots, arrows)
	}
}
