// Package roomtest has what the tests of several packages share: files, mazes, comparisons,
// and a look at pages in Chromium.
package roomtest

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qta"
)

// Long skips a test that takes seconds if -short asks for quick tests.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short: it takes seconds")
	}
}

// Must ends a test whose preparation has failed.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file, in a directory that it makes.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	Must(t, os.WriteFile(path, []byte(text), 0o666))
}

// Read reads a file.
func Read(t testing.TB, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	Must(t, err)
	return string(data)
}

// Has fails for each part that a text lacks.
func Has(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in %s", part, text)
		}
	}
}

// Equal fails if two values differ, and shows where.
func Equal(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Picture fails if an SVG is not XML, or has a coordinate that is not a finite number.
func Picture(t testing.TB, svg string) {
	t.Helper()
	err := xml.Unmarshal([]byte(svg), new(any))
	if err != nil || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%s: error %v, or a coordinate that is no number", svg, err)
	}
}

// Maze returns the maze with a name.
func Maze(t testing.TB, name string) *qta.Maze {
	t.Helper()
	m, err := qta.NewMaze(name)
	Must(t, err)
	return m
}

//go:embed measure.js
var measure string

// Look shows a page at the widths of a telephone and of screens, light and dark. It fails
// for each fault that measure.js finds, and for each that function returns in a list.
// function is the body of a JavaScript function, in which page is the document and frame is
// the iframe around it. Look skips the test with -short, or if Chromium does not run.
func Look(t *testing.T, page, function string) {
	t.Helper()
	Long(t)
	out, err := browse(t, frames(page, function))
	if err != nil {
		t.Skipf("Chromium does not run here: %v", err)
	}
	_, text, found := strings.Cut(html.UnescapeString(out), "FOUND\n")
	text, _, ended := strings.Cut(text, "END")
	if !found || !ended {
		t.Fatalf("the browser says %.200q", out)
	}
	for fault := range strings.Lines(text) {
		t.Error(strings.TrimSuffix(fault, "\n"))
	}
}

// frames returns a page that shows another one in several frames and measures it there.
// Each frame has a width and a color scheme.
func frames(page, function string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><meta charset="utf-8"><body>`) // without charset a browser guesses
	// dark names the media for which a page has its dark colors.
	schemes := []struct{ name, dark string }{
		{"light", " not all"},
		{"dark", " all"},
	}
	for _, scheme := range schemes {
		inScheme := strings.ReplaceAll(page, "(prefers-color-scheme:dark)", scheme.dark)
		for _, width := range []int{400, 1000, 1400} {
			fmt.Fprintf(&b, `<iframe title="%s, at %d pixels" width="%[2]d" height="900" `, scheme.name, width)
			fmt.Fprintf(&b, `srcdoc="%s"></iframe>`, html.EscapeString(inScheme))
		}
	}
	fmt.Fprintf(&b, "<script>%s\nfunction measure(frame, page) {%s}</script>", measure, function)
	return b.String()
}

// browse opens a page in Chromium and returns the page as its scripts have changed it.
func browse(t *testing.T, page string) (string, error) {
	t.Helper()
	chromium := "chromium"
	for _, name := range []string{"google-chrome", "chromium-browser"} {
		if _, err := exec.LookPath(name); err == nil {
			chromium = name
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "frames.html")
	Write(t, file, page)
	cmd := exec.CommandContext(t.Context(), chromium,
		"--headless", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+dir, "--window-size=1500,1000",
		"--virtual-time-budget=5000", "--dump-dom", "file://"+file)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}
