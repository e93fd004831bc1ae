package qta

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// listing matches a floating-point instruction that multiplies and adds with
// one rounding, in the compiler's listing, with the source line it is for.
var listing = regexp.MustCompile(`\(([^()]+\.go):(\d+)\)\t(?:FN?M(?:ADD|SUB)[SD]?|VFN?M(?:ADD|SUB)\d+S[SD])\t`)

// TestFused holds the package, and its plain text, to explicit fusing. Where a product meets a sum,
// the compiler may fuse the two, on arm64 and on newer amd64, and change the
// last bits; a conversion, float64(x*y) + z, forbids it. A fused instruction
// may stand only for a line that says math.FMA. The kernels are assembly,
// which the listing does not show.
func TestFused(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it compiles the package for other processors, which takes seconds")
	}
	t.Parallel()
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("needs the go command: %v", err)
	}
	for _, target := range [][]string{
		{"GOARCH=arm64"},
		{"GOARCH=amd64", "GOAMD64=v3"},
	} {
		t.Run(strings.Join(target, " "), func(t *testing.T) {
			c := exec.Command(compiler, "build", "-gcflags=-S", ".", "./plain")
			c.Env = append(os.Environ(), append(target, "GOOS=linux", "CGO_ENABLED=0")...)
			text, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", c, err, text)
			}
			explicit := 0
			sources := map[string][][]byte{}
			reported := map[string]bool{}
			for _, m := range listing.FindAllStringSubmatch(string(text), -1) {
				name, number := m[1], m[2]
				if sources[name] == nil {
					source, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					sources[name] = bytes.Split(source, []byte("\n"))
				}
				n, err := strconv.Atoi(number)
				if err != nil {
					t.Fatal(err)
				}
				line := bytes.TrimSpace(sources[name][n-1])
				switch place := name + ":" + number; {
				case bytes.Contains(line, []byte("math.FMA(")):
					explicit++
				case !reported[place]:
					reported[place] = true
					t.Errorf("%s: a product and a sum are fused; convert the product, float64(x*y) or float32(x*y):\n\t%s", place, line)
				}
			}
			if explicit == 0 {
				t.Error("no instruction was found for math.FMA in number.go: the test does not see fused instructions")
			}
		})
	}
}
