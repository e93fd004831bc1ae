package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/internal/browser"
)

const root = "../.."

// TestFiles holds the committed files to what their sources make.
func TestFiles(t *testing.T) {
	for _, file := range files() {
		want, err := file.make(root)
		if err != nil {
			t.Fatalf("%s cannot be made; mend this, then run go generate ./docs/annotate: %v", file.name, err)
		}
		got, err := os.ReadFile(filepath.Join(root, file.name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(string(want), "\n")); diff != "" {
			t.Errorf("%s is stale; run go generate ./docs/annotate (-is +should be):\n%.2000s", file.name, diff)
		}
	}
}

// TestReadingsPage looks at the page's table.
func TestReadingsPage(t *testing.T) {
	dir := copySources(t)
	write(t, filepath.Join(dir, effectsFile), effectsOf("small|solved|3000", "small -set HeadTarget=achieved|finished|0"))
	if _, err := makeReadings(dir); err == nil {
		t.Error("a table without a page")
	}
	write(t, filepath.Join(dir, readingsFile), []byte("before\n"+tableBegins+"a stale row\n"+tableEnds+"after\n"))
	got, err := makeReadings(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + tableBegins + "| where |",
		`| the next "hidden state" in one sentence, s' in the formula | s' is the raw next observation, in the environment's units; the text says "hidden state" for what the agent will observe. | HeadTarget=achieved | HeadTarget=achieved: 0/1 [1/1, 3000] |` + "\n",
		"| [`GoalProbabilities`](../goals.go) | Differs | m ε_k \\* b in the denominator | ",
		tableEnds + "after\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(string(got), "a stale row") {
		t.Error("the old table is still there")
	}
}

// effectsOf returns a runs.csv of runs with the given parameters, states and
// steps.
func effectsOf(runs ...string) []byte {
	text := "directory,state,solved_at[environment steps],command\n"
	for _, run := range runs {
		f := strings.Split(run, "|")
		text += fmt.Sprintf("d,%s,%s,qta -maze 1U5 -params %s -seed 1 -stop solved\n", f[1], f[2], f[0])
	}
	return []byte(text)
}

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestSelfContained looks for what the page would need beside itself, and for
// links that lead nowhere.
func TestSelfContained(t *testing.T) {
	page := readPage(t)
	if len(page) >= 1e6 {
		t.Errorf("%d bytes", len(page))
	}
	for _, bad := range []string{"<script", "<img", "<link", "http://", "https://", "url(", "/tmp", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two places are called %q", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`<a href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if place, ok := strings.CutPrefix(m[1], "#"); ok {
			if !ids[place] {
				t.Errorf("a link leads to %q, which is nowhere", place)
			}
			continue
		}
		file, _, _ := strings.Cut(m[1], "#")
		if _, err := os.Stat(filepath.Join(root, "docs", file)); err != nil {
			t.Errorf("a link leads to a file that is not there: %v", err)
		}
	}
	d := xml.NewDecoder(strings.NewReader(page[strings.Index(page, "<body>"):strings.Index(page, "</html>")]))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("elements do not match: %v", err)
		}
	}
}

// TestComplete counts the Readings and Differs in another way: lines of source.
func TestComplete(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	marked := regexp.MustCompile(`(?m)^\s*// (?:Reading|Differs)(?: [RD]\d+)?: |source:"(?:Reading|Differs)(?: [RD]\d+)?: `)
	want := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want += len(marked.FindAll(text, -1))
	}
	_, table, _ := strings.Cut(readPage(t), `class="choices`)
	if got := strings.Count(table, `<tr><th><a href="#`); got != want || want < 50 {
		t.Errorf("the page has %d choices, the sources have %d", got, want)
	}
}

// TestNumbers looks for the equations in numbers.
func TestNumbers(t *testing.T) {
	page := readPage(t)
	if got := strings.Count(page, `<details class="also worked">`); got != 8 {
		t.Errorf("%d equations in numbers, want 8", got)
	}
	for _, want := range []string{"td-target-networks.json, case", "<code>qta check 6</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestFaults makes the page from sources with a mistake.
func TestFaults(t *testing.T) {
	for i, test := range []struct{ name, file, old, new, want string }{
		{"a function renamed", "pun.go", "func TDTarget(", "func TDGoal(", `passage "The target": the package declares no TDTarget`},
		{"an equation renumbered", "pun.go", "It implements QTA, Equation 1 (", "It implements QTA, Equation 9 (", `passage "The critics' loss": it has Equation 2, where Equation 1 comes next`},
		{"an equation moved", "pun.go", "Equation 1 (Section 3.1)", "Equation 1 (Section 3.2)", `passage "The target": it stands in section 3.1, and TDTarget implements an equation of section 3.2`},
		{"a Reading that no passage shows", "pun.go", "// newCriticNet returns", "// Reading: a choice.\n//\n// newCriticNet returns", "docs/annotated.txt: no passage shows newCriticNet (pun.go:"},
		{"a Reading nobody speaks of", "pun.go", "// It implements QTA, Equation 3", "// Reading: a choice.\n//\n// It implements QTA, Equation 3", "docs/annotated.txt: nothing says what the text says at the Reading of Polyak (pun.go:"},
		{"a Reading that has gone", "pun.go", "// Reading R15: the policy has", "// The policy has", "Polyak has no Reading or Differs, or not so many"},
		{"a symbol renamed", textFile, "the target, one for each transition | `y`", "the target | `target_y`", `passage "The target": its code and parameters have no target_y`},
		{"a parameter renamed", textFile, "params: Polyak", "params: Poliak", `passage "Target networks": Params has no field Poliak`},
		{"a row of the table left out", textFile, "rows: batch size; ", "rows: ", `no "rows:" has the row "batch size", that of Batch (params.go:`},
		{"a formula that ends too early", textFile, "formula: L_π = - frac{1}", "formula: L_π = - frac{1", `formula "L_π`},
		{"a step that has gone", "qta.go", "a.pun.follow()", "a.pun.lead()", "Agent.learnFrom has no a.pun.follow() after the step before"},
		{"steps in another order", textFile, "step: The environment moves the dot | a.env.Step(", "step: It ends | a.endEpisode() | Mazes\nstep: The environment moves the dot | a.env.Step(", "Agent.trainStep has no a.env.Step( after the step before"},
		{"a step about no passage", textFile, "| a.env.Step( | Mazes", "| a.env.Step( | Labyrinths", `there is no passage "Labyrinths"`},
		{"a picture of another kind", figure5Picture, "<text class=\"ink\"", "<text class=\"foot\"", "docs/figure5.svg: it has not the six panels of two snapshots"},
		{"a wrong header", effectsFile, "", "a,b\n", "readings.csv:1: there is no column state"},
		{"an effect of no parameter", effectsFile, "", string(effectsOf("small|solved|1000", "small -set Nothing=1|solved|1000")), `readings.csv: no parameter is called "Nothing"`},
		{"steps that are no number", effectsFile, "", string(effectsOf("small|solved|soon")), `readings.csv:2: a run that is solved, with solved_at "soon"`},
		{"a run under way", effectsFile, "", string(effectsOf("small|running|0")), `readings.csv:2: a run that is running`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short, every fourth mistake; the full suite makes all of them")
			}
			dir := copySources(t)
			change(t, filepath.Join(dir, test.file), test.old, test.new)
			_, err := makePage(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %s", err, test.want)
			}
		})
	}
}

// TestStale changes what the page shows without changing what it links.
func TestStale(t *testing.T) {
	for _, test := range []struct{ name, file, old, new string }{
		{"a golden value shown", goldenDir + "/td-target.json", "-6.376008900576188", "-6.376118900576188"},
		{"a golden value not shown", goldenDir + "/td-target.json", "-8.95279880529709", "-8.95279880529719"},
		{"a line of a function", "pun.go", "γ := float32(discount)", "γ := float32(1 * discount)"},
		{"a line before a function", "pun.go", "// This file is section 3.1", "//\n// This file is section 3.1"},
		{"measured effects", effectsFile, "", string(effectsOf("small|solved|1000", "small -set Polyak=1|finished|0"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := copySources(t)
			change(t, filepath.Join(dir, test.file), test.old, test.new)
			page, err := makePage(dir)
			if err != nil {
				t.Fatal(err)
			}
			if string(page) == readPage(t) {
				t.Error("the page is the same")
			}
		})
	}
}

// copySources copies what the page is made from.
func copySources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, pattern := range []string{"*.go", goldenDir + "/*.json", textFile, mazePicture, figure5Picture} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, strings.TrimPrefix(filepath.ToSlash(name), root)), text)
		}
	}
	return dir
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// change replaces the first old in a file, or, if that is empty, writes it.
func change(t *testing.T, name, old, new string) {
	t.Helper()
	var text []byte
	if old != "" {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s has no %q to change", name, old)
		}
	}
	write(t, name, []byte(strings.Replace(string(text), old, new, 1)))
}

// TestMeasured looks for measured effects at the choices that they belong to.
func TestMeasured(t *testing.T) {
	if page := readPage(t); strings.Contains(page, "measured effect") != exists(t, effectsFile) {
		t.Errorf("the page has a column of measured effects: %v", !exists(t, effectsFile))
	}
	dir := copySources(t)
	write(t, filepath.Join(dir, effectsFile), effectsOf("small|solved|3000", "small -set HeadTarget=achieved|solved|4000", "small -set ActionL2=0|finished|0"))
	page, err := makePage(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ξ is that of the relabelled goal.</td><td data-is="Measured:"></td>`,
		`for what the agent will observe.</td><td data-is="Measured:"><div>HeadTarget=achieved: 1/1, 4000 [1/1, 3000]</div></td>`,
		`<td data-is="Measured:"><div>ActionL2=0: 0/1 [1/1, 3000]</div></td>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestEffects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.csv")
	write(t, file, effectsOf("small|solved|3000", "small|solved|5000", "authors -set Batch=3|solved|1",
		"small -set Replay=td|finished|0", "small -set Replay=td -set AuthorsForm=true|solved|1000",
		"small -set TargetNoise=0.2|solved|4000", "small -set TargetNoise=0.2|finished|0", "small -set TargetNoise=0.2|solved|2000"))
	got, err := readEffects(file, func(string) bool { return true })
	base, td := outcome{2, 2, "4000"}, outcome{0, 1, ""}
	noise := []effect{{"TargetNoise=0.2", "", outcome{2, 3, "4000"}, base}}
	want := map[string][]effect{
		"Replay":      {{"Replay=td", "", td, base}},
		"AuthorsForm": {{"AuthorsForm=true", "Replay=td", outcome{1, 1, "1000"}, td}},
		"TargetNoise": noise,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(effect{})); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got, err := readEffects(file+".none", nil); got != nil || err != nil {
		t.Errorf("no file gives %v, %v", got, err)
	}
}

func TestHighlight(t *testing.T) {
	got := highlight("// a <b>\nfunc f() string { return `x\ny` + \"<\" } /* 1 */", "f")
	want := []string{
		`<span class="c"><i>// </i>a &lt;b&gt;</span>`,
		`<span class="k">func</span> <span class="f">f</span>() string { <span class="k">return</span> <span class="s">` + "`x</span>",
		`<span class="s">y` + "`</span> + <span class=\"s\">&#34;&lt;&#34;</span> } <span class=\"c\">/* 1 */</span>",
	}
	for i := range want {
		if i >= len(got) || string(got[i]) != want[i] {
			t.Errorf("line %d of %q is not %s", i, got, want[i])
		}
	}
}

// TestContrast holds the page's colours to the contrast that the Web Content
// Accessibility Guidelines ask of text, 4.5 to 1, on everything it stands on.
func TestContrast(t *testing.T) {
	schemes := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllStringSubmatch(pageTemplate, -1)
	if len(schemes) != 3 {
		t.Fatalf("%d schemes, want light, dark and print", len(schemes))
	}
	for i, m := range schemes {
		light := map[string]float64{}
		for declaration := range strings.SplitSeq(m[1], ";") {
			name, colour, _ := strings.Cut(declaration, ":")
			light[strings.TrimPrefix(name, "--")] = luminance(t, colour)
		}
		on := map[string][]string{
			"paper":       {"ink", "soft", "link"},
			"box":         {"ink", "soft", "word", "text", "number"},
			"reading-box": {"ink", "soft"},
			"differs-box": {"ink", "soft"},
		}
		for under, texts := range on {
			for _, text := range texts {
				a, b := light[text], light[under]
				if ratio := (max(a, b) + .05) / (min(a, b) + .05); ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s has contrast %.2f", i, text, under, ratio)
				}
			}
		}
	}
}

// luminance returns the relative luminance of a colour written #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestLooks measures the page in a browser, at the widths of a telephone and of
// screens: nothing reaches out of it, formulas fit, and the two sides do not
// overlap.
func TestLooks(t *testing.T) {
	widths := []int{400, 1000, 1400}
	seen := browser.Measure(t, []string{readPage(t)}, widths, `
	const root = page.documentElement, out = [];
	for (const e of page.querySelectorAll("details")) e.open = true;
	if (root.scrollWidth > frame.width) out.push("it is " + root.scrollWidth + " wide");
	for (const e of page.querySelectorAll("body *")) {
		const box = e.getBoundingClientRect();
		if (box.right > root.clientWidth + 1 && !e.closest("pre, .wide")) out.push("outside: " + e.textContent.trim().slice(0, 40));
	}
	for (const e of page.querySelectorAll(".formula"))
		if (e.scrollWidth > e.clientWidth) out.push("a formula is too wide: " + e.textContent);
	for (const e of page.querySelectorAll(".p")) {
		const pre = e.closest("pre").getBoundingClientRect();
		for (const c of e.querySelectorAll(".c"))
			if (c.getBoundingClientRect().right > pre.right) { out.push("a comment is cut off: " + c.textContent); break }
	}
	for (const e of page.querySelectorAll(".said"))
		if (e.scrollWidth > e.clientWidth + 1) out.push("it scrolls sideways: " + e.textContent.trim().slice(0, 40));
	const loop = page.querySelector(".loop").getBoundingClientRect();
	if (frame.width >= 1000 && loop.bottom > 900 || loop.bottom > page.querySelector(".walks").getBoundingClientRect().top) out.push("the loop is not on the first screen");
	out.push(...overlaps(page), ...faint(page));
	let end = 0;
	for (const e of page.querySelectorAll(".passage")) {
		const box = e.getBoundingClientRect(), [a, b] = [...e.children].map(e => e.getBoundingClientRect());
		if (box.top < end - 1) out.push("overlap: " + e.id);
		if (a.right > b.left && a.bottom > b.top + 1) out.push("overlap of the sides: " + e.id);
		end = box.bottom;
	}
	if (page.querySelectorAll(".passage").length < 30 || !end) out.push("there is no text");
	return out.slice(0, 5).join("; ").replaceAll("\n", " ");`)
	for i, faults := range seen {
		if faults != "" {
			t.Errorf("%d pixels wide: %s", widths[i], faults)
		}
	}
}
