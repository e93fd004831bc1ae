package qta

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bigPrec leaves the references below more than 200 good bits after every
// cancellation that the tested arguments cause.
const bigPrec = 400

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }
func bigNew() *big.Float            { return new(big.Float).SetPrec(bigPrec) }

// bigExp is Taylor's series at x/2^k, then k squarings.
func bigExp(x *big.Float) *big.Float {
	k := max(0, x.MantExp(nil)+12)
	y := bigNew().SetMantExp(x, -k)
	sum, term := bigFloat(1), bigFloat(1)
	for i := 1; i < 45; i++ {
		term.Mul(term, y)
		term.Quo(term, bigFloat(float64(i)))
		sum.Add(sum, term)
	}
	for ; k > 0; k-- {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog solves e^y = x by Newton's iteration y += x e^-y - 1.
func bigLog(x *big.Float) *big.Float {
	m := bigNew()
	k := x.MantExp(m)
	f, _ := m.Float64()
	y := bigFloat(math.Log(f) + float64(k)*math.Ln2)
	for range 5 {
		e := bigExp(bigNew().Neg(y))
		y.Add(y, e.Sub(e.Mul(e, x), bigFloat(1)))
	}
	return y
}

func bigTanh(x float64) *big.Float {
	e := bigExp(bigFloat(2 * x))
	return bigNew().Quo(bigNew().Sub(e, bigFloat(1)), bigNew().Add(e, bigFloat(1)))
}

func bigSigmoid(x float64) *big.Float {
	e := bigExp(bigFloat(-x))
	return bigNew().Quo(bigFloat(1), e.Add(e, bigFloat(1)))
}

func bigSoftplus(x float64) *big.Float {
	e := bigExp(bigFloat(x))
	if x < -80 { // 1 + e would lose e; the next term of the series is below 2^-115 of it
		return e
	}
	return bigLog(e.Add(e, bigFloat(1)))
}

// ulps is the distance of got from want in units of want's last place.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if math.IsInf(w, 0) || math.IsInf(got, 0) {
		if got == w {
			return 0
		}
		return math.Inf(1)
	}
	e := max(want.MantExp(nil)-53, -1074)
	d, _ := bigNew().SetMantExp(bigNew().Sub(bigFloat(got), want), -e).Float64()
	return math.Abs(d)
}

// between draws uniformly, by the same operations on every architecture.
func between(lo, hi float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return lo + float64(rng.Float64()*(hi-lo)) }
}

// magnitudes draws a number whose binary exponent is uniform in [lo, hi).
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

func TestNumberError(t *testing.T) {
	t.Parallel()
	of := func(f func(x *big.Float) *big.Float) func(float64) *big.Float {
		return func(x float64) *big.Float { return f(bigFloat(x)) }
	}
	for _, test := range []struct {
		name  string
		f     func(float64) float64
		want  func(float64) *big.Float
		x     func(*rand.Rand) float64
		bound float64 // in ulp
	}{
		{"exp", exp, of(bigExp), between(-2, 2), 1},
		{"exp everywhere", exp, of(bigExp), between(-746, 710), 1},
		{"exp near 0", exp, of(bigExp), signed(magnitudes(-60, 0)), 1},
		{"log", log, of(bigLog), between(0, 4), 1},
		{"log everywhere", log, of(bigLog), magnitudes(-1074, 1024), 1},
		{"log near 1", log, of(bigLog), func(rng *rand.Rand) float64 { return 1 + signed(magnitudes(-52, -2))(rng) }, 1},
		{"tanh", tanh, bigTanh, between(-3, 3), 3},
		{"tanh everywhere", tanh, bigTanh, between(-25, 25), 3},
		{"tanh near 0", tanh, bigTanh, signed(magnitudes(-60, 0)), 3},
		{"sigmoid", sigmoid, bigSigmoid, between(-5, 5), 3},
		{"sigmoid everywhere", sigmoid, bigSigmoid, between(-745, 100), 3},
		{"softplus", softplus, bigSoftplus, between(-5, 5), 3},
		{"softplus everywhere", softplus, bigSoftplus, between(-745, 1000), 3},
	} {
		n := 1000
		if testing.Short() {
			n = 100
		}
		rng := rand.New(rand.NewPCG(1, 2))
		var worst, at float64
		for range n {
			x := test.x(rng)
			if e := ulps(test.f(x), test.want(x)); e > worst || e != e {
				worst, at = e, x
			}
		}
		t.Logf("%-22s %.3f ulp at %v", test.name, worst, at)
		if !(worst <= test.bound) {
			t.Errorf("%s(%v): error %.3f ulp, want at most %v", test.name, at, worst, test.bound)
		}
	}
}

func TestPowError(t *testing.T) {
	for _, test := range []struct{ x, y func(*rand.Rand) float64 }{
		{magnitudes(-40, 10), between(0, 1)}, // priorities
		{between(0.9, 1.1), between(-1000, 1000)},
		{magnitudes(-200, 200), between(-3, 3)},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		for range 100 {
			x, y := test.x(rng), test.y(rng)
			want := bigLog(bigFloat(x))
			want = bigExp(want.Mul(want, bigFloat(y)))
			d := bigNew().Sub(bigFloat(pow(x, y)), want)
			relative, _ := d.Quo(d, want).Float64()
			if bound := (2 + 3*math.Abs(y*math.Log(x))) * 0x1p-53; !(math.Abs(relative) <= bound) {
				t.Errorf("pow(%v, %v): relative error %v, want at most %v", x, y, relative, bound)
			}
		}
	}
}

func TestNumberExact(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	minus0 := math.Copysign(0, -1)
	check := func(name string, x, y, got, want float64) {
		// The sign of a zero counts, the bits of a NaN do not.
		if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
			t.Errorf("%s of %v, %v is %v, want %v", name, x, y, got, want)
		}
	}
	for _, test := range []struct {
		name  string
		f     func(float64) float64
		pairs [][2]float64
	}{
		{"exp", exp, [][2]float64{{0, 1}, {minus0, 1}, {inf, inf}, {-inf, 0}, {nan, nan}, {1e300, inf}, {-1e300, 0}}},
		{"exp", exp, [][2]float64{{709.79, inf}, {-745.14, 0}, {-745.13, 5e-324}}},
		{"log", log, [][2]float64{{1, 0}, {0, -inf}, {minus0, -inf}, {-1, nan}, {inf, inf}, {-inf, nan}, {nan, nan}, {2, math.Ln2}}},
		{"tanh", tanh, [][2]float64{{0, 0}, {minus0, minus0}, {20, 1}, {-1e300, -1}, {inf, 1}, {-inf, -1}, {nan, nan}}},
		{"tanh", tanh, [][2]float64{{1e-310, 1e-310}, {-5e-324, -5e-324}}},
		{"sigmoid", sigmoid, [][2]float64{{0, 0.5}, {inf, 1}, {-inf, 0}, {nan, nan}}},
		{"softplus", softplus, [][2]float64{{0, math.Ln2}, {inf, inf}, {1e300, 1e300}, {-inf, 0}, {nan, nan}}},
	} {
		for _, p := range test.pairs {
			check(test.name, p[0], 0, test.f(p[0]), p[1])
		}
	}
	for _, p := range [][3]float64{
		{0, 0, 1}, {nan, 0, 1}, {0, 2, 0}, {0, 0.5, 0}, {0, -2, inf}, {0, -0.5, inf},
		{inf, 0.5, inf}, {inf, 3, inf}, {inf, -3, 0}, {inf, -0.5, 0}, {2, nan, nan}, {nan, 2, nan},
		{-2, 2, nan}, {-2, 0.5, nan}, {2, inf, inf}, {0.5, inf, 0}, {2, 1e300, inf}, {0.25, 0.5, 0.5},
		{5e-324, 1, 5e-324}, {1.1, 1, 1.1}, {math.MaxFloat64, 1, math.MaxFloat64},
	} {
		check("pow", p[0], p[1], pow(p[0], p[1]), p[2])
	}
}

// TestNumberBits holds every architecture to the same bits.
func TestNumberBits(t *testing.T) {
	near, far := signed(magnitudes(-30, 3)), signed(magnitudes(-10, 10))
	positive, power := magnitudes(-60, 60), between(-3, 3)
	s := newStream(9, forReplay)
	for _, test := range []struct {
		name, want string
		seed       uint64
		f          func(rng *rand.Rand) float64
	}{
		{"exp", "b127e47d3b8a00f1", 1, func(rng *rand.Rand) float64 { return exp(far(rng)) }},
		{"log", "6e3de0b061ee01e5", 2, func(rng *rand.Rand) float64 { return log(positive(rng)) }},
		{"tanh", "6bcba0699eb361f0", 3, func(rng *rand.Rand) float64 { return tanh(near(rng)) }},
		{"sigmoid", "ce72a28b6171369c", 4, func(rng *rand.Rand) float64 { return sigmoid(far(rng)) }},
		{"softplus", "034f668bb1d6da24", 5, func(rng *rand.Rand) float64 { return softplus(far(rng)) }},
		{"pow", "3a402e67cc6c1456", 6, func(rng *rand.Rand) float64 { return pow(positive(rng), power(rng)) }},
		{"pow, integer", "fd85e38555937e7f", 7, func(rng *rand.Rand) float64 {
			return pow(1-float64(rng.Float64()/1024), math.Floor(far(rng)))
		}},
		{"tanh32", "85eb423798fd8396", 3, func(rng *rand.Rand) float64 { return float64(tanh32(float32(near(rng)))) }},
		{"normal", "75e757885c706c61", 8, normal},
		{"stream", "c934f723bf84a7e3", 0, func(*rand.Rand) float64 { return float64(s.index(1_000_003)) }},
	} {
		rng, h := rand.New(rand.NewPCG(test.seed, 0)), fnv.New64a()
		for range 100_000 {
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(test.f(rng))))
		}
		if got := fmt.Sprintf("%016x", h.Sum64()); got != test.want {
			t.Errorf("%s: digest %s, want %s", test.name, got, test.want)
		}
	}
}

// fused matches a floating-point instruction that multiplies and adds with one
// rounding, in the compiler's listing, with the source line it is for.
var fused = regexp.MustCompile(`\(([^()]+\.go:\d+)\)\t(?:FN?M(?:ADD|SUB)[SD]?|VFN?M(?:ADD|SUB)\d+S[SD])\t`)

// TestFused holds the package to explicit fusing. Where a product meets a sum,
// the compiler may fuse the two, on arm64 and on newer amd64, and change the
// last bits; a conversion, float64(x*y) + z, forbids it. No fused instruction may
// stand for a line of the package; the kernels are assembly, which the listing
// does not show. A file that is fused shows that the test sees it.
func TestFused(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it compiles the package for other processors, which takes seconds")
	}
	t.Parallel()
	compiler := program(t, "go")
	control := filepath.Join(t.TempDir(), "control.go")
	source := "package control\n\nfunc F(x, y, z float64) float64 { return x*y + z }\n"
	writeFile(t, control, []byte(source))
	for _, target := range []string{"GOARCH=arm64", "GOARCH=amd64 GOAMD64=v3"} {
		t.Run(target, func(t *testing.T) {
			list := func(what string) [][]string {
				c := exec.Command(compiler, "build", "-gcflags=-S", what)
				c.Env = append(append(os.Environ(), strings.Fields(target)...), "GOOS=linux", "CGO_ENABLED=0")
				text, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", c, err, text)
				}
				return fused.FindAllStringSubmatch(string(text), -1)
			}
			if len(list(control)) == 0 {
				t.Error("a product and a sum that are fused are not seen")
			}
			var all [][]string // also of what draws a run's files, where it is there
			for _, dir := range []string{".", "./lab", "./internal/draw"} {
				if _, err := os.Stat(dir); err == nil {
					all = append(all, list(dir)...)
				}
			}
			for _, m := range all {
				t.Errorf("%s: a product and a sum are fused; convert the product, float64(x*y) or float32(x*y)", m[1])
			}
		})
	}
}
