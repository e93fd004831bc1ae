// Package browser measures pages in Chromium, for the tests of the commands
// that write them.
package browser

import (
	_ "embed"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed measure.js
var measure string

// Need skips the test where tests are to be short or there is no Chromium, and
// returns the path of the browser.
func Need(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starting a browser takes seconds")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium to look at pages with")
	return ""
}

// Measure shows each page at each width, in pixels, and calls a function for each,
// given as its body in JavaScript. The function sees page, the document, and
// frame, the element around it, and returns text; it may call those of measure.js,
// which list faults. Measure shows the pages light and again dark, and adds what
// differs then. The results are in the order of the pages, and of the widths for
// each.
func Measure(t *testing.T, pages []string, widths []int, function string) []string {
	t.Helper()
	browser := Need(t)
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><meta charset="utf-8"><body>`) // or the browser guesses, not always well
	for _, page := range pages {
		for _, width := range widths {
			fmt.Fprintf(&b, `<iframe width="%d" height="900" srcdoc="%s"></iframe>`, width, html.EscapeString(page))
		}
	}
	fmt.Fprintf(&b, "<script>%s\nfunction measure(frame, page) {%s}</script>", measure, function)
	file := filepath.Join(t.TempDir(), "frames.html")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	dark := look(t, browser, file, "0")
	light := look(t, browser, file, "1")
	if len(light) != len(pages)*len(widths) || len(dark) != len(light) {
		t.Fatalf("of %d frames the browser says %.200q and %.200q", len(pages)*len(widths), light, dark)
	}
	for i := range light {
		if dark[i] != light[i] {
			light[i] += "; dark: " + dark[i]
		}
	}
	return light
}

// look opens a file of frames in a color scheme, 0 for dark and 1 for light, and
// returns what is said of each.
func look(t *testing.T, browser, file, scheme string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(t.TempDir(), "user"),
		"--window-size=1500,1000", "--virtual-time-budget=5000", "--dump-dom", "--blink-settings=preferredColorScheme="+scheme, "file://"+file)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if errors.As(err, new(*exec.ExitError)) {
		t.Skipf("the browser does not run here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(html.UnescapeString(string(out)), "FOUND ")
	text, _, _ = strings.Cut(text, " END")
	return strings.Split(text, "\n")
}
