package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"qta/internal/roomtest"
)

// TestViridis holds the palette to a few colors of Matplotlib's table: red, green and blue.
func TestViridis(t *testing.T) {
	for x, want := range map[float64][]float64{
		0:    {68, 1, 84},
		0.25: {59, 82, 139},
		0.5:  {33, 145, 140},
		9:    {253, 231, 37},
	} {
		c := Viridis[Scale{0, 1}.Color(x)].(color.NRGBA)
		got := []float64{float64(c.R), float64(c.G), float64(c.B)}
		roomtest.Equal(t, fmt.Sprint("the color of ", x), want, got, cmpopts.EquateApprox(0, 3))
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

// TestScaleOf checks that a scale holds all numbers and is at most twice as wide as they are,
// and that its rounded ends have room beside each other below a bar of 112 pixels.
func TestScaleOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	lists := [][]float32{{3, 3}, {3, -1, 2}, {}}
	for range 1000 {
		low := 100 * (rng.Float64() - 0.5)
		high := low + math.Exp(10*rng.Float64()-5)
		lists = append(lists, []float32{float32(low), float32(high)})
	}
	for _, xs := range lists {
		s := ScaleOf(xs, xs)
		for _, x := range xs {
			outside := s.Low > float64(x)+1e-6 || s.High < float64(x)-1e-6
			tooLong := s.High-s.Low > 2*float64(slices.Max(xs)-slices.Min(xs))
			if outside || tooLong {
				t.Errorf("%v has the scale %v", xs, s)
			}
		}
		ends := number(s.Low) + number(s.High)
		if s.High > s.Low && textWidth(ends) > 112 {
			t.Errorf("%v: the ends %s overlap", xs, ends)
		}
	}
}

// A bar has the numbers at its ends and their unit. Its image is not compressed.
func TestBar(t *testing.T) {
	d := &Drawing{}
	d.Bar(Scale{-3, 2000}, Viridis, "cells", 0, 0, 112)
	roomtest.Has(t, string(d.Inline()), ">−3<", ">2k<", ">cells<")
	d = &Drawing{}
	d.Image(image.NewPaletted(image.Rect(0, 0, 100, 100), Viridis), 0, 0, 1, 1)
	if d.body.Len() < 100*100 {
		t.Errorf("an image of 100 by 100 has %d bytes: it is compressed", d.body.Len())
	}
}

// The axes of a plot hold all points, the largest at the upper right. Its picture is XML,
// whatever the names are and even if there are no points.
func TestPlot(t *testing.T) {
	points := []Point{{X: 9, Y: -500}, {X: 19, Y: 15500}}
	p := &Plot{Title: "a & b", Series: []Series{{Name: "<set>", Points: points}}}
	at := p.plane()
	roomtest.Equal(t, "the axis of x", []float64{0, 19}, []float64{at.x0, at.x1})
	roomtest.Equal(t, "the axis of y", []float64{-500, 15500}, []float64{at.y0, at.y1})
	at.box = box{right: 300, bottom: 180}
	if largest := at.at(19, 15500); largest != (point{300, 0}) {
		t.Errorf("the largest point is drawn at %v", largest)
	}
	for _, p := range []*Plot{p, {}} {
		p.Width = 300
		p.Height = 180
		roomtest.Picture(t, string(p.Draw().File()))
	}
}

// TestLegend checks that a legend has only the series with a name, each in its own color.
func TestLegend(t *testing.T) {
	p := Plot{Width: 100, Height: 50, Series: []Series{{}, {Name: "second"}}}
	svg := string(p.Draw().File())
	roomtest.Has(t, svg, `class="line s1"`, ">second<")
	roomtest.Equal(t, "lines of the legend", 1, strings.Count(svg, `class="line s`))
}

// TestEqualDots has more equal runs than there is room for. Their dots stay near their place,
// and those of more than twelve runs are smaller.
func TestEqualDots(t *testing.T) {
	for runs, half := range map[int]float64{12: 18, 1000: 7.2} {
		c := &Chart{Width: 400, Height: 220}
		c.Lines = []Line{{Means: []Mean{{X: 1, Y: 5, Each: slices.Repeat([]float64{5}, runs)}}}}
		p := c.plane()
		p.dots(0, 200, c.Lines[0].Means[0])
		least := math.Inf(1)
		most := math.Inf(-1)
		for _, dot := range p.taken {
			least = min(least, dot.left)
			most = max(most, dot.right)
		}
		if len(p.taken) != runs || math.Abs(least-200+half) > 1e-9 || math.Abs(most-200-half) > 1e-9 {
			t.Errorf("%d of %d dots lie between %v and %v", len(p.taken), runs, least, most)
		}
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
			m := Mean{X: float64(k), Y: y, Low: 0.8 * y, High: 1.2 * y}
			m.Each = []float64{y, y, 1.1 * y}
			l.Means = append(l.Means, m)
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
	roomtest.Equal(t, "dots, of two lines", 2*(8*3+1), strings.Count(svg, `class="seed"`))
	roomtest.Equal(t, "arrows", 2, strings.Count(svg, "v-9m-3 3"))
}
