package draw

import (
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestViridis(t *testing.T) {
	p := Viridis()
	if len(p) != firstColour+colours || len(p) > 256 {
		t.Fatalf("%d colours", len(p))
	}
	for i := firstColour + 1; i < len(p); i++ {
		if luminance(p[i]) <= luminance(p[i-1]) {
			t.Errorf("colour %d is not lighter than the one before", i)
		}
	}
	// A few colours of Matplotlib's table of 256.
	for _, test := range []struct {
		x    float64
		want color.NRGBA
	}{{0, color.NRGBA{68, 1, 84, 255}}, {0.5, color.NRGBA{33, 145, 140, 255}}, {0.25, color.NRGBA{59, 82, 139, 255}}, {1, color.NRGBA{253, 231, 37, 255}}} {
		got := p[Scale{0, 1}.Colour(test.x)].(color.NRGBA)
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
		{s, -1, firstColour}, {s, 3, firstColour + colours - 1}, {s, 99, firstColour + colours - 1}, {s, float64(nan), notANumber},
		{Scale{2, 2}, 2, firstColour}, {Nothing(), 2, firstColour},
	} {
		if got := test.s.Colour(test.x); got != test.want {
			t.Errorf("%v in %v has colour %d, want %d", test.x, test.s, got, test.want)
		}
	}
}

// TestBarTicks keeps the numbers below a colour bar apart and in the picture,
// also those that the picture's edges push inwards.
func TestBarTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	scales := []Scale{{Low: -20.5, High: 0}, {Low: -20, High: 0}, {Low: 3, High: 3}}
	for range 1000 {
		low := 1000 * (rng.Float64() - 0.5)
		scales = append(scales, Scale{Low: low, High: low + math.Exp(10*rng.Float64()-5)})
	}
	for _, s := range scales {
		const width = 112
		ticks, centres := barTicks(s, 0, width, width)
		end := math.Inf(-1)
		for i, text := range ticks.texts {
			half := textWidth(text) / 2
			if start := centres[i] - half; start < -1e-9 || start < end+8-1e-9 || centres[i]+half > width+1e-9 {
				t.Errorf("from %v to %v: %q at %v, texts %q", s.Low, s.High, text, centres[i], ticks.texts)
			}
			end = centres[i] + half
		}
	}
	for _, s := range []Scale{{Low: 0.035, High: 0.716}, {Low: 0.0183, High: 0.99}} {
		if got, _ := barTicks(s, 0, 80, 80); len(got.at) != 2 || got.at[0] != s.Low || got.at[1] != s.High {
			t.Errorf("from %v to %v, narrow: %v, want the ends", s.Low, s.High, got.texts)
		}
	}
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)
}
