package qta

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lineExample = "examples/line/main.go"

// The library page's program is the example.
func TestVendoredExample(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, "docs/library.md"), "```go\n")
	shown, _, _ := strings.Cut(rest, "```")
	if diff := cmp.Diff(readText(t, lineExample), shown); diff != "" {
		t.Errorf("the library page's program is not %s (-file +page):\n%s", lineExample, diff)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// scratchModule is a module of its own in a new directory.
type scratchModule struct {
	t   *testing.T
	dir string
}

// newScratchModule skips the test where there is no go command, and when it
// should be short. What it is for takes long, so that other tests run beside it.
func newScratchModule(t *testing.T) scratchModule {
	t.Parallel()
	if testing.Short() {
		t.Skip("with -short: it builds the package for other systems, which takes seconds")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("there is no go command to build another module with: %v", err)
	}
	m := scratchModule{t, t.TempDir()}
	m.write("go.mod", "module scratch\n\ngo 1.25.0\n")
	return m
}

func (m scratchModule) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		m.t.Fatal(err)
	}
}

// run runs a command in the module's directory, without network and without
// any module fetched before, and returns its output.
func (m scratchModule) run(environment []string, command ...string) string {
	m.t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOMODCACHE="+filepath.Join(m.dir, "none"), "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%v %s: %v\n%s", environment, strings.Join(command, " "), err, out)
	}
	return string(out)
}

// train builds the module's program, and trains with it.
func (m scratchModule) train(environment []string, flags ...string) {
	m.t.Helper()
	m.run(environment, slices.Concat([]string{"go", "build", "-o", "line.exe"}, flags, []string{"."})...)
	got := m.run(nil, filepath.Join(m.dir, "line.exe"))
	if !strings.HasPrefix(got, "solved after ") || !strings.HasSuffix(got, "00 steps, error <nil>\n") {
		m.t.Errorf("%v %v: the program printed %q", environment, flags, got)
	}
}

// TestVendorModule vendors the package as the library page's first way does, and
// runs the golden vectors and the examples of what an agent is for a program of
// another module.
func TestVendorModule(t *testing.T) {
	m := newScratchModule(t)
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	m.write("main.go", readText(t, lineExample))
	m.write("main_test.go", `package main

import (
	"testing"

	"qta"
	"qta/testdata"
)

func TestVectors(t *testing.T) {
	results, err := qta.Check(testdata.Golden())
	if err != nil || len(results) == 0 {
		t.Fatal(len(results), err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
}
`)
	for _, name := range globNames(t, "example*_test.go") {
		m.write(name, strings.Replace(readText(t, name), "package qta_test", "package main_test", 1))
	}
	edit := regexp.MustCompile("(?m)^go mod edit .+").FindString(readText(t, "docs/library.md"))
	m.run(nil, strings.Fields(strings.Replace(edit, "./third_party/qta", root, 1))...)
	m.run(nil, "go", "mod", "vendor")

	// From here on there is no other copy than the vendored one.
	vendored := globNames(t, filepath.Join(m.dir, "vendor", "*"))
	if diff := cmp.Diff([]string{"modules.txt", "qta"}, vendored); diff != "" {
		t.Errorf("the directory vendor (-want +got):\n%s", diff)
	}
	m.train([]string{"CGO_ENABLED=0"})
	m.run(nil, "go", "test", ".")
}

// TestVendorFiles copies the files that the library page's second way names, and builds
// them in all ways that it names.
func TestVendorFiles(t *testing.T) {
	m := newScratchModule(t)
	for _, name := range slices.Concat(globNames(t, "*.go"), globNames(t, "*.s")) {
		if !strings.HasSuffix(name, "_test.go") {
			m.write("internal/qta/"+name, readText(t, name))
		}
	}
	m.write("main.go", strings.Replace(readText(t, lineExample), `"qta"`, `"scratch/internal/qta"`, 1))
	m.train([]string{"CGO_ENABLED=0"})
	m.train(nil, "-tags", "purego")
	m.run([]string{"GOARCH=arm64"}, "go", "build", "-o", "arm64", ".")
	m.run([]string{"GOOS=js", "GOARCH=wasm"}, "go", "build", "-o", "wasm", ".")
}

// globNames returns the names, without directories, that match a pattern.
func globNames(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}
