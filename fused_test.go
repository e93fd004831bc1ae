package qta

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("needs the go command: %v", err)
	}
	control := filepath.Join(t.TempDir(), "control.go")
	source := "package control\n\nfunc F(x, y, z float64) float64 { return x*y + z }\n"
	if err := os.WriteFile(control, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
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
			for _, m := range list(".") {
				t.Errorf("%s: a product and a sum are fused; convert the product, float64(x*y) or float32(x*y)", m[1])
			}
		})
	}
}
