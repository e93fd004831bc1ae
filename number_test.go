package qta

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ulps returns the distance of got from want, in steps from one floating-point number to the
// next. It is infinite between two signs, also those of zeros, and between a NaN and a number.
func ulps(got, want float64) float64 {
	switch {
	case math.IsNaN(got) && math.IsNaN(want):
		return 0
	case math.IsNaN(got) || math.IsNaN(want) || math.Signbit(got) != math.Signbit(want):
		return math.Inf(1)
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

// signed gives the numbers of f a random sign.
func signed(f func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		x := f(rng)
		if rng.Float64() < 0.5 {
			return -x
		}
		return x
	}
}

// numberTests has our functions beside package math's. A bound is our function's error, and an
// ulp or two for package math's. The draws leave out what package math does not do on amd64:
// its Exp is infinite from 709.44 on, and its Log does not know denormals.
var numberTests = []struct {
	name    string
	f, want func(float64) float64 // our function, and package math's
	x       draws                 // where the two are compared
	bound   float64               // on their distance, in ulps
}{
	{"exp", exp, math.Exp, draws{between(-2, 2), between(-746, 709), signed(magnitudes(-60, 0))}, 2},
	{"log", log, math.Log, draws{between(0, 4), magnitudes(-1022, 1024), near1}, 2},
	{"tanh", tanh, math.Tanh, draws{between(-3, 3), between(-25, 25), signed(magnitudes(-60, 0))}, 4},
	{"sigmoid", sigmoid, mathSigmoid, draws{between(-5, 5), between(-745, 100)}, 5},
	{"softplus", softplus, mathSoftplus, draws{between(-5, 5), between(-745, 1000)}, 5},
}

// near1 draws a number close to 1, where log is small.
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
		numbers := []float64{
			0, math.Copysign(0, -1), 1, -1, 2,
			20, -20, // from where on tanh is 1
			709.79,           // exp overflows
			-745.13, -745.14, // exp is the smallest number, and 0
			1e300, -1e300, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		}
		rng := seeded(1, 2)
		for range 10_000 {
			for _, draw := range test.x {
				numbers = append(numbers, draw(rng))
			}
		}
		worst := 0.0
		worstAt := 0.0
		for _, x := range numbers {
			if distance := ulps(test.f(x), test.want(x)); distance > worst {
				worst = distance
				worstAt = x
			}
		}
		t.Logf("%-8s %.3f ulp at %v", test.name, worst, worstAt)
		if worst > test.bound {
			t.Errorf("%s(%v) is %.3f ulp from package math's, want at most %v", test.name, worstAt, worst, test.bound)
		}
	}
}

// pow differs from package math's by at most checkPow's bound. A power of 0 or 1 is exact.
func TestPowError(t *testing.T) {
	rng := seeded(5, 6)
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
			t.Errorf("pow(%v, 0) = %v, want 1; pow(%v, 1) = %v, want %v", x, pow(x, 0), x, pow(x, 1), x)
		}
	}
}

// checkPow compares pow with package math's. Our relative error is at most
// (2 + 3 |y log x|) 2^-53. Package math multiplies about |y| times, and is allowed
// (2 + |y|) 2^-53.
func checkPow(t *testing.T, x, y float64) {
	t.Helper()
	want := math.Pow(x, y)
	ours := 2 + 3*math.Abs(y*math.Log(x))
	theirs := 2 + math.Abs(y)
	bound := (ours + theirs) * 0x1p-53 * want
	got := pow(x, y)
	equal := got == want // also where both are infinite, and their difference is NaN
	if !equal && !(math.Abs(got-want) <= bound) {
		t.Errorf("pow(%v, %v) = %v, want %v within %v", x, y, got, want, bound)
	}
}

// Every architecture computes the same bits, whose digests stand here.
func TestNumberBits(t *testing.T) {
	near := signed(magnitudes(-30, 3))
	far := signed(magnitudes(-10, 10))
	positive := magnitudes(-60, 60)
	checkBits(t, "exp", 0xb127e47d3b8a00f1, 1, of(exp, far))
	checkBits(t, "log", 0x6e3de0b061ee01e5, 2, of(log, positive))
	checkBits(t, "tanh", 0x6bcba0699eb361f0, 3, of(tanh, near))
	checkBits(t, "sigmoid", 0xce72a28b6171369c, 4, of(sigmoid, far))
	checkBits(t, "softplus", 0x034f668bb1d6da24, 5, of(softplus, far))
	checkBits(t, "pow", 0x3a402e67cc6c1456, 6, func(rng *rand.Rand) float64 {
		return pow(positive(rng), between(-3, 3)(rng))
	})
	checkBits(t, "pow of a discount", 0xfd85e38555937e7f, 7, func(rng *rand.Rand) float64 {
		discount := 1 - float64(rng.Float64()/1024)
		steps := math.Floor(far(rng))
		return pow(discount, steps)
	})
	checkBits(t, "tanh32", 0x85eb423798fd8396, 3, func(rng *rand.Rand) float64 {
		return float64(tanh32(float32(near(rng))))
	})
	checkBits(t, "normal", 0x75e757885c706c61, 8, normal)
	s := newStream(9, forReplay) // has a seed of its own
	checkBits(t, "stream", 0xc934f723bf84a7e3, 0, func(*rand.Rand) float64 { return float64(s.index(1_000_003)) })
}

// of returns f of a number that is drawn.
func of(f func(float64) float64, draw func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return f(draw(rng)) }
}

// checkBits compares the digest of 100,000 results of f, which draws from a generator with
// this seed.
func checkBits(t *testing.T, name string, want, seed uint64, f func(*rand.Rand) float64) {
	t.Helper()
	rng := seeded(seed, 0)
	digest := fnv.New64a()
	for range 100_000 {
		digest.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f(rng))))
	}
	if got := digest.Sum64(); got != want {
		t.Errorf("%s: digest %#016x, want %#016x", name, got, want)
	}
}

// fusedInstruction matches an instruction in the compiler's listing that multiplies and adds
// floating-point numbers with one rounding. Its group is the source line.
var fusedInstruction = regexp.MustCompile(`\(([^()]+\.go:\d+)\)\t(?:FN?M(?:ADD|SUB)[SD]?|VFN?M(?:ADD|SUB)\d+S[SD])\t`)

// The compiler fuses no product with a sum. It may do so on arm64 and on newer amd64, and
// change the last bits, unless the product is converted: float64(x*y) + z. The test reads the
// listings of the compiler, which do not show the kernels' assembly. The compiler does fuse a
// control file, which shows that the test sees fused instructions.
func TestFused(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it compiles the package for other processors, which takes seconds")
	}
	t.Parallel()
	control := filepath.Join(t.TempDir(), "control.go")
	source := "package control\n\nfunc F(x, y, z float64) float64 { return x*y + z }\n"
	writeFile(t, control, []byte(source))
	for _, target := range []string{"GOARCH=arm64", "GOARCH=amd64 GOAMD64=v3"} {
		t.Run(target, func(t *testing.T) {
			if len(fusedLines(t, target, control)) == 0 {
				t.Error("the test does not see that the control file is fused")
			}
			for _, dir := range []string{".", "./lab", "./internal/draw"} {
				if _, err := os.Stat(dir); err != nil {
					continue // a copy of the package may leave out all but the first
				}
				for _, line := range fusedLines(t, target, dir) {
					t.Errorf("%s: a product and a sum are fused; convert the product, float64(x*y) or float32(x*y)", line)
				}
			}
		})
	}
}

// fusedLines compiles a package, or a file, for the processors of target. It returns the
// source lines of fused instructions.
func fusedLines(t *testing.T, target, what string) (lines []string) {
	t.Helper()
	c := exec.Command(needProgram(t, "go"), "build", "-gcflags=-S", what)
	c.Env = slices.Concat(os.Environ(), strings.Fields(target), []string{"GOOS=linux", "CGO_ENABLED=0"})
	for _, m := range fusedInstruction.FindAllStringSubmatch(outputOf(t, c), -1) {
		lines = append(lines, m[1])
	}
	return lines
}
