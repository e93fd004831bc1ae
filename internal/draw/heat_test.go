package draw

import (
	"image/color"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestViridis(t *testing.T) {
	p := Viridis()
	if len(p) != firstColor+colors || len(p) > 256 {
		t.Fatalf("%d colors", len(p))
	}
	for i := firstColor + 1; i < len(p); i++ {
		if luminance(p[i]) <= luminance(p[i-1]) {
			t.Errorf("color %d is not lighter than the one before", i)
		}
	}
	// A few colors of Matplotlib's table of 256.
	for _, test := range []struct {
		x    float64
		want color.NRGBA
	}{{0, color.NRGBA{68, 1, 84, 255}}, {0.5, color.NRGBA{33, 145, 140, 255}}, {0.25, color.NRGBA{59, 82, 139, 255}}, {1, color.NRGBA{253, 231, 37, 255}}} {
		got := p[Scale{0, 1}.Color(test.x)].(color.NRGBA)
		for _, d := range []int{int(got.R) - int(test.want.R), int(got.G) - int(test.want.G), int(got.B) - int(test.want.B)} {
			if d > 3 || d < -3 {
				t.Errorf("%v is %v, want about %v", test.x, got, test.want)
			}
		}
	}
}

func TestScale(t *testing.T) {
	nan := float32(0)
	nan /= nan
	s := Nothing().Over([]float32{3, nan, -1, 2})
	if diff := cmp.Diff(Scale{-1, 3}, s, cmp.AllowUnexported(Scale{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		s    Scale
		x    float64
		want uint8
	}{
		{s, -1, firstColor}, {s, 3, firstColor + colors - 1}, {s, 99, firstColor + colors - 1}, {s, float64(nan), notANumber},
		{Scale{2, 2}, 2, firstColor}, {Nothing(), 2, firstColor},
	} {
		if got := test.s.Color(test.x); got != test.want {
			t.Errorf("%v in %v has color %d, want %d", test.x, test.s, got, test.want)
		}
	}
}

// TestBarTicks keeps the numbers below a color bar apart, in the picture and, for
// a rounded scale, at its ends.
func TestBarTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	scales := []Scale{{Low: -20.5, High: 0}, {Low: -20, High: 0}, {Low: 0.0222, High: 0.157}, {Low: 0.035, High: 0.716}, {Low: 3, High: 3}}
	for range 1000 {
		low := 1000 * (rng.Float64() - 0.5)
		scales = append(scales, Scale{Low: low, High: low + math.Exp(10*rng.Float64()-5)})
	}
	texts := regexp.MustCompile(`<text class="soft" x="([\d.]+)" y="22" text-anchor="middle">([^<]*)<`)
	for _, s := range scales {
		r := s.Rounded()
		if r.Low > s.Low+1e-6 || r.High < s.High-1e-6 || r.High-r.Low > 2*(s.High-s.Low) {
			t.Errorf("from %v to %v is rounded to %v", s.Low, s.High, r)
		}
		const width = 112
		d := &Drawing{Width: width}
		d.Bar(r, "cells", 0, 0, width)
		end := math.Inf(-1)
		found := texts.FindAllStringSubmatch(string(d.Inline()), -1)
		for _, m := range found {
			x, _ := strconv.ParseFloat(m[1], 64)
			half := textWidth(m[2]) / 2
			if x-half < -0.01 || x-half < end || x+half > width+0.01 {
				t.Errorf("from %v to %v: %q at %v", s.Low, s.High, m[2], x)
			}
			end = x + half
		}
		if len(found) < 2 && s.High > s.Low {
			t.Errorf("from %v to %v: %q", s.Low, s.High, found)
		}
	}
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)
}
