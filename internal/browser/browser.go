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
// are shown at less than 12 pixels, and faint(page), which lists the texts with
// a contrast below 4.5 to 1. It sees the pages light, and again dark: what it
// then says otherwise is added. The results are in the order of the pages, and
// of the widths for each.
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
function channels(colour) {
	const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
	return {a, light: [r, g, b].reduce((sum, c, i) => {
		c /= 255;
		return sum + [.2126, .7152, .0722][i] * (c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
	}, 0)};
}
function faint(page) {
	const out = [], style = e => page.defaultView.getComputedStyle(e);
	for (const e of page.querySelectorAll("body *")) {
		const words = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim();
		if (!words || ["STYLE", "TITLE"].includes(e.tagName.toUpperCase()) || !e.checkVisibility({opacityProperty: true})) continue;
		let under = e;
		while (under.parentElement && channels(style(under).backgroundColor).a < 1) under = under.parentElement;
		const a = channels(e.namespaceURI.endsWith("svg") ? style(e).fill : style(e).color).light, b = channels(style(under).backgroundColor).light;
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (contrast < 4.5) out.push("faint, " + contrast.toFixed(1) + ": " + words.slice(0, 30));
	}
	return out;
}
function measure(frame, page) {%s}
onload = () => {
	const found = [...document.querySelectorAll("iframe")].map(frame => measure(frame, frame.contentDocument));
	document.body.textContent = "FOUND " + found.join("\n") + " END";
}</script>`, function)
	file := filepath.Join(t.TempDir(), "frames.html")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	light := look(t, browser, file, len(pages)*len(widths), "")
	for i, dark := range look(t, browser, file, len(pages)*len(widths), "--blink-settings=preferredColorScheme=0") {
		if dark != light[i] {
			light[i] += "; dark: " + dark
		}
	}
	return light
}

// look opens a file of frames, with a flag or none, and returns what is said of
// each.
func look(t *testing.T, browser, file string, frames int, flag string) []string {
	t.Helper()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + filepath.Join(t.TempDir(), "user"),
		"--window-size=1500,1000", "--virtual-time-budget=5000", "--dump-dom", "file://" + file}
	if flag != "" {
		args = append([]string{flag}, args...)
	}
	cmd := exec.CommandContext(t.Context(), browser, args...)
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
	if !ok || !ended || len(results) != frames {
		t.Fatalf("of %d frames the browser says %.200q", frames, text)
	}
	return results
}
