// Package browser measures pages in Chromium, for the tests of the commands
// that write them.
package browser

import (
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

// Measure shows each page at each width, in pixels, and returns what the body
// of a function in JavaScript says of each: of page, the document, in frame,
// the element that it stands in. It may call overlaps(page), which lists the
// texts of pictures that overlap each other or reach out of their picture, or
// are shown at less than 12 pixels. The results are in the order of the pages,
// and of the widths for each.
func Measure(t *testing.T, pages []string, widths []int, function string) []string {
	t.Helper()
	browser := Need(t)
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><body>")
	for _, page := range pages {
		for _, width := range widths {
			fmt.Fprintf(&b, `<iframe width="%d" height="900" srcdoc="%s"></iframe>`, width, html.EscapeString(page))
		}
	}
	// What the function finds becomes the text of this page.
	fmt.Fprintf(&b, `<script>
function overlaps(page) {
	const out = [];
	for (const svg of page.querySelectorAll("svg")) {
		const shown = [...svg.querySelectorAll("text")].filter(e => e.checkVisibility({opacityProperty: true}));
		const box = svg.getBoundingClientRect(), texts = shown.map(e => [e.textContent, e.getBoundingClientRect()]);
		for (const e of shown)
			if (parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 11.99) out.push("small: " + e.textContent);
		texts.forEach(([s, r], i) => {
			if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) out.push("clipped: " + s);
			for (const [u, q] of texts.slice(0, i))
				if (r.left < q.right && q.left < r.right && r.top + 2 < q.bottom && q.top + 2 < r.bottom) out.push("overlap: " + s + " and " + u);
		});
	}
	return out;
}
function measure(frame, page) {%s}
onload = () => {
	const found = [...document.querySelectorAll("iframe")].map(frame => measure(frame, frame.contentDocument));
	document.body.textContent = "FOUND " + found.join("\n") + " END";
}</script>`, function)
	dir := t.TempDir()
	file := filepath.Join(dir, "frames.html")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "user"),
		"--window-size=1500,1000", "--virtual-time-budget=5000", "--dump-dom", "file://"+file)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if errors.As(err, new(*exec.ExitError)) {
		t.Skipf("the browser does not run here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(html.UnescapeString(string(out)), "FOUND ")
	text, _, ended := strings.Cut(text, " END")
	results := strings.Split(text, "\n")
	if !ok || !ended || len(results) != len(pages)*len(widths) {
		t.Fatalf("of %d frames the browser says %.200q", len(pages)*len(widths), text)
	}
	return results
}
