package draw

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/internal/roomtest"
)

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		most      int
		want      []string
		exp       int
	}{
		{0, 1, 6, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}, 0},
		{0, 1, 5, []string{"0.0", "0.5", "1.0"}, 0},
		{-23.4, 0, 5, []string{"−20", "−15", "−10", "−5", "0"}, 0},
		{-23.4, 0, 2, []string{"−20", "0"}, 0},
		{0, 150_000, 4, []string{"0", "50", "100", "150"}, 3},
		{0, 2_500_000, 6, []string{"0.0", "0.5", "1.0", "1.5", "2.0", "2.5"}, 6},
		{0, 12_500, 4, []string{"0", "5", "10"}, 3},
		{0, 0.00042, 5, []string{"0", "1", "2", "3", "4"}, -4},
		{3, 3, 5, []string{"3"}, 0},
		{0, 0, 5, []string{"0"}, 0},
		{-3, 1e300, 3, []string{"0.0", "0.5", "1.0"}, 300},
	} {
		got := newTicks(test.low, test.high, test.most)
		if diff := cmp.Diff(test.want, got.texts); diff != "" || got.exp != test.exp {
			t.Errorf("%v to %v, at most %d: exponent %d, want %d (-want +got):\n%s", test.low, test.high, test.most, got.exp, test.exp, diff)
		}
		for _, at := range got.at {
			if at < test.low-1e-9*math.Abs(test.low) || at > test.high+1e-9*math.Abs(test.high) {
				t.Errorf("%v to %v: a tick at %v", test.low, test.high, at)
			}
		}
	}
	for exp, want := range map[int]string{0: "cells", 3: "thousand cells", 6: "million cells", -4: "10⁻⁴ cells", 12: "10¹² cells"} {
		if got := inUnits("cells", exp); got != want {
			t.Errorf("inUnits of %d is %q, want %q", exp, got, want)
		}
	}
}

// TestPlot draws what figures over many runs need: bands, error bars, bounds,
// many series.
func TestPlot(t *testing.T) {
	p := Plot{Title: "a & b", X: Axis{Name: "path length", Unit: "steps"}, Y: Axis{Name: "steps", Low: 0}, Width: 300, Height: 180}
	for i := range 12 {
		s := Series{Name: fmt.Sprintf("method <%d>", i), Line: true, Spread: Spread(i % 3)}
		for k := range 6 {
			y := float64(1000 * (i + k))
			s.Points = append(s.Points, Point{X: float64(9 + 2*k), Y: y, Low: y - 500, High: y + 500, Hollow: k == 5})
		}
		p.Series = append(p.Series, s)
	}
	long := Series{Name: "long", Line: true}
	for k := range 100_000 {
		long.Points = append(long.Points, Point{X: 9 + float64(k)/1e4, Y: float64(k % 7)})
	}
	p.Series = append(p.Series, long)
	p.Marks = []Mark{{At: 11, Name: "a mark"}}
	d := p.Draw()
	svg := string(d.File())
	elements := roomtest.WellFormed(t, "plot", svg)
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the plot has coordinates that are no numbers")
	}
	if len(svg) > 100_000 {
		t.Errorf("%d bytes: many points are not thinned", len(svg))
	}
	if !strings.Contains(svg, ">a mark<") {
		t.Error("the legend lacks the mark")
	}
	if elements["text"] < 13 {
		t.Errorf("%d texts", elements["text"])
	}
	for _, m := range regexp.MustCompile(`<text class="ink" x="([\d.]+)" y="([\d.]+)" text-anchor="start">([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		var x, y float64
		fmt.Sscan(m[1], &x)
		fmt.Sscan(m[2], &y)
		if x+textWidth(html.UnescapeString(m[3])) > d.Width || y > d.Height {
			t.Errorf("%q at %v, %v is outside the picture of %v by %v", m[3], x, y, d.Width, d.Height)
		}
	}
	// A plot without points still has axes.
	roomtest.WellFormed(t, "empty plot", string((&Plot{Width: 100, Height: 50}).Draw().File()))
}
