package qta

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ulps returns how many floating-point numbers lie from got to want. All NaNs are equal.
func ulps(got, want float64) float64 {
	switch {
	case got != got && want != want:
		return 0
	case math.Signbit(got) != math.Signbit(want) || (got != got) != (want != want):
		return math.Inf(1) // also for 0 and -0
	}
	return math.Abs(float64(int64(math.Float64bits(got) - math.Float64bits(want))))
}

// draws are ways to draw a number.
type draws []func(*rand.Rand) float64

// between draws uniformly, by the same operations on every architecture.
func between(lo, hi float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return lo + float64(rng.Float64()*(hi-lo)) }
}

// magnitudes draws a number between 2^lo and 2^hi, whose binary exponent is uniform.
func magnitudes(lo, hi int) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		e := lo + int(rng.Float64()*float64(hi-lo))
		return math.Ldexp(1+rng.Float64(), e)
	}
}

func signed(f func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		x := f(rng)
		if rng.Float64() < 0.5 {
			return -x
		}
		return x
	}
}

// numberTests has our functions beside package math's. The bounds are an ulp or two above our
// functions' error. Package math is within an ulp, but on amd64 its Exp is infinite from 709.6
// on, and its Log does not know denormals.
var numberTests = []struct {
	name    string
	f, want func(float64) float64
	x       draws
	bound   float64 // in ulp
}{
	{"exp", exp, math.Exp, draws{between(-2, 2), between(-746, 709), signed(magnitudes(-60, 0))}, 2},
	{"log", log, math.Log, draws{between(0, 4), magnitudes(-1022, 1024), near1}, 2},
	{"tanh", tanh, math.Tanh, draws{between(-3, 3), between(-25, 25), signed(magnitudes(-60, 0))}, 4},
	{"sigmoid", sigmoid, mathSigmoid, draws{between(-5, 5), between(-745, 100)}, 5},
	{"softplus", softplus, mathSoftplus, draws{between(-5, 5), between(-745, 1000)}, 5},
}

func near1(rng *rand.Rand) float64 { return 1 + signed(magnitudes(-52, -2))(rng) }

func mathSigmoid(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

func mathSoftplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Our functions differ from package math's by at most their bounds.
func TestNumberError(t *testing.T) {
	for _, test := range numberTests {
		x := []float64{0, math.Copysign(0, -1), 1, -1, 2, 20, -20, 709.79, -745.13, -745.14,
			1e300, -1e300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 10_000 {
			for _, draw := range test.x {
				x = append(x, draw(rng))
			}
		}
		worst := 0.0
		at := 0.0
		for _, x := range x {
			if e := ulps(test.f(x), test.want(x)); e > worst {
				worst = e
				at = x
			}
		}
		t.Logf("%-8s %.3f ulp at %v", test.name, worst, at)
		if !(worst <= test.bound) {
			t.Errorf("%s(%v): %.3f ulp, want at most %v", test.name, at, worst, test.bound)
		}
	}
}

// pow differs from package math's by at most checkPow's bound. A power of 0 or 1 is exact.
func TestPowError(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		checkPow(t, magnitudes(-40, 10)(rng), between(0, 1)(rng)) // a priority to the power α
		checkPow(t, between(0.9, 1.1)(rng), between(-1000, 1000)(rng))
		checkPow(t, magnitudes(-200, 200)(rng), between(-3, 3)(rng))
	}
	for _, x := range []float64{0, 5e-324, 0.25, 1.1, 2, math.MaxFloat64, math.Inf(1)} {
		for _, y := range []float64{0.5, -0.5, 2, -2, 1e300, math.Inf(1)} {
			checkPow(t, x, y)
		}
		if pow(x, 0) != 1 || pow(x, 1) != x {
			t.Errorf("pow(%v, 0) = %v and pow(%v, 1) = %v", x, pow(x, 0), x, pow(x, 1))
		}
	}
}

// checkPow compares pow with package math's. Our error is at most (2 + 3 |y log x|) 2^-53.
// Package math multiplies, so the bound allows it 2 + |y| more.
func checkPow(t *testing.T, x, y float64) {
	t.Helper()
	want := math.Pow(x, y)
	bound := (4 + 3*math.Abs(y*math.Log(x)) + math.Abs(y)) * 0x1p-53 * want
	if got := pow(x, y); got != want && !(math.Abs(got-want) <= bound) {
		t.Errorf("pow(%v, %v) = %v, want %v within %v", x, y, got, want, bound)
	}
}

// Every architecture computes the same bits.
func TestNumberBits(t *testing.T) {
	near := signed(magnitudes(-30, 3))
	far := signed(magnitudes(-10, 10))
	positive := magnitudes(-60, 60)
	checkBits(t, "exp", "b127e47d3b8a00f1", 1, func(rng *rand.Rand) float64 { return exp(far(rng)) })
	checkBits(t, "log", "6e3de0b061ee01e5", 2, func(rng *rand.Rand) float64 { return log(positive(rng)) })
	checkBits(t, "tanh", "6bcba0699eb361f0", 3, func(rng *rand.Rand) float64 { return tanh(near(rng)) })
	checkBits(t, "sigmoid", "ce72a28b6171369c", 4, func(rng *rand.Rand) float64 { return sigmoid(far(rng)) })
	checkBits(t, "softplus", "034f668bb1d6da24", 5, func(rng *rand.Rand) float64 { return softplus(far(rng)) })
	checkBits(t, "pow", "3a402e67cc6c1456", 6, func(rng *rand.Rand) float64 { return pow(positive(rng), between(-3, 3)(rng)) })
	checkBits(t, "pow, integer", "fd85e38555937e7f", 7, func(rng *rand.Rand) float64 {
		return pow(1-float64(rng.Float64()/1024), math.Floor(far(rng)))
	})
	checkBits(t, "tanh32", "85eb423798fd8396", 3, func(rng *rand.Rand) float64 { return float64(tanh32(float32(near(rng)))) })
	checkBits(t, "normal", "75e757885c706c61", 8, normal)
	s := newStream(9, forReplay)
	checkBits(t, "stream", "c934f723bf84a7e3", 0, func(*rand.Rand) float64 { return float64(s.index(1_000_003)) })
}

// checkBits compares the digest of 100,000 results of f.
func checkBits(t *testing.T, name, want string, seed uint64, f func(rng *rand.Rand) float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	h := fnv.New64a()
	for range 100_000 {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f(rng))))
	}
	if got := fmt.Sprintf("%016x", h.Sum64()); got != want {
		t.Errorf("%s: digest %s, want %s", name, got, want)
	}
}

// fusedInstruction matches a line of the compiler's listing: a floating-point instruction
// that multiplies and adds with one rounding, and the source line it is for.
var fusedInstruction = regexp.MustCompile(`\(([^()]+\.go:\d+)\)\t(?:FN?M(?:ADD|SUB)[SD]?|VFN?M(?:ADD|SUB)\d+S[SD])\t`)

// The compiler fuses nothing. Where a product meets a sum, it may fuse the two, on arm64 and
// on newer amd64, and change the last bits. A conversion, float64(x*y) + z, forbids it. The
// kernels are assembly, which the listing does not show. A control file, which the compiler
// does fuse, shows that the test sees fused instructions.
func TestFused(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it compiles the package for other processors, which takes seconds")
	}
	t.Parallel()
	compiler := needProgram(t, "go")
	control := filepath.Join(t.TempDir(), "control.go")
	source := "package control\n\nfunc F(x, y, z float64) float64 { return x*y + z }\n"
	writeFile(t, control, []byte(source))
	for _, target := range []string{"GOARCH=arm64", "GOARCH=amd64 GOAMD64=v3"} {
		t.Run(target, func(t *testing.T) {
			fusedIn := func(what string) [][]string {
				c := exec.Command(compiler, "build", "-gcflags=-S", what)
				c.Env = append(append(os.Environ(), strings.Fields(target)...), "GOOS=linux", "CGO_ENABLED=0")
				text, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", c, err, text)
				}
				return fusedInstruction.FindAllStringSubmatch(string(text), -1)
			}
			if len(fusedIn(control)) == 0 {
				t.Error("the test does not see that the control file is fused")
			}
			// The laboratory and what draws its files may be left out of a copy of the package.
			var all [][]string
			for _, dir := range []string{".", "./lab", "./internal/draw"} {
				if _, err := os.Stat(dir); err == nil {
					all = append(all, fusedIn(dir)...)
				}
			}
			for _, m := range all {
				t.Errorf("%s: a product and a sum are fused; convert the product, float64(x*y) or float32(x*y)", m[1])
			}
		})
	}
}
