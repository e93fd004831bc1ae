// Package browser looks at pages in Chromium, for the tests of the commands that
// write them.
package browser

import (
	_ "embed"
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

// Check shows a page at the widths of a telephone and of screens, light and dark,
// and looks for the faults of measure.js, and for those that a function lists, which
// is given as its body in JavaScript and sees page, the document, and frame, the
// element around it. Check skips the test where tests are to be short or Chromium
// does not run.
func Check(t *testing.T, page, function string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starting a browser takes seconds")
	}
	var chromium string
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
		}
	}
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><meta charset="utf-8"><body>`) // or the browser guesses, not always well
	for _, width := range []int{400, 1000, 1400} {
		fmt.Fprintf(&b, `<iframe title="at %d pixels" width="%d" height="900" srcdoc="%s"></iframe>`,
			width, width, html.EscapeString(page))
	}
	fmt.Fprintf(&b, "<script>%s\nfunction measure(frame, page) {%s}</script>", measure, function)
	dir := t.TempDir()
	file := filepath.Join(dir, "frames.html")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for scheme, setting := range map[string]string{"light": "1", "dark": "0"} {
		cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
			"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--user-data-dir="+filepath.Join(dir, scheme), "--window-size=1500,1000", "--virtual-time-budget=5000",
			"--dump-dom", "--blink-settings=preferredColorScheme="+setting, "file://"+file)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("Chromium does not run here: %v", err)
		}
		_, text, found := strings.Cut(html.UnescapeString(string(out)), "FOUND\n")
		text, _, ended := strings.Cut(text, "END")
		if !found || !ended {
			t.Fatalf("the browser says %.200q", out)
		}
		for fault := range strings.Lines(text) {
			t.Errorf("%s, %s", scheme, fault)
		}
	}
}
