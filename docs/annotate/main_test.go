package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"qta/internal/browser"
	"qta/internal/glossary"
)

var root = os.DirFS("../..")

// TestFiles holds the committed files to what their sources make.
func TestFiles(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatalf("mend this, then run go generate ./docs/annotate:\n%v", err)
	}
	for name, want := range files {
		diff := cmp.Diff(strings.Split(read(t, name), "\n"), strings.Split(string(want), "\n"))
		if diff != "" {
			t.Errorf("%s is stale; run go generate ./docs/annotate (-is +should be):\n%.2000s", name, diff)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestChoices looks for each Reading and Differs that a line of a source begins,
// wherever it stands: both pages have it once.
func TestChoices(t *testing.T) {
	begins := regexp.MustCompile("(?m)(?:^\\s*// |source:\")(?:Reading|Differs) ([RD]\\d+): ")
	page, readings := read(t, pageFile), read(t, readingsFile)
	n := 0
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, m := range begins.FindAllStringSubmatch(read(t, name), -1) {
			n++
			anchor := ` id="` + m[1] + `"`
			if in, also := strings.Count(page, anchor), strings.Count(readings, anchor); in != 1 || also != 1 {
				t.Errorf("%s has %s, %s %d times and %s %d times", name, m[1], pageFile, in, readingsFile, also)
			}
		}
		return err
	})
	if rows := strings.Count(readings, "| <a id="); err != nil || rows != n || n < 50 {
		t.Errorf("%d choices in the sources, %d in %s; error %v", n, rows, readingsFile, err)
	}
}

// TestPage looks for one of each kind of thing that the page shows.
func TestPage(t *testing.T) {
	page := read(t, pageFile)
	for _, want := range []string{
		"<h3>The target</h3>",
		"<p>PUN keeps <math><mi>G</mi></math> critics, each with a target network",
		"<tr><th><math><mi>γ</mi></math></th><td>discount</td><td><code>γ</code>, <a href=\"#Params.Discount\"><code>Discount</code></a></td></tr>",
		"p<sub>5</sub> = (626 · 1 − 591) / 51.79 = 0.6758",
		"\n        5      1       1       35               35    0.67580614\n",
		"<span class=\"p Reading\" id=\"R15\"><span class=\"l\"><span class=\"c\"><i>// </i>Reading R15: ",
		"<span class=\"k\">func</span> <span class=\"f\">TDTarget</span>(",
		"<dt class=\"out\">→ p</dt><dd>[0, 1, 0]</dd>",
		"<th>batch size</th><td><a href=\"#Params.Batch\"><code>Batch</code></a></td><td class=\"value\" data-is=\"paper\">1024</td>",
		"role=\"img\" aria-label=\"goal probability\"><text",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// overlay is the repository with one file changed.
type overlay struct {
	fs.FS
	name string
	file fstest.MapFile
}

func (o overlay) Open(name string) (fs.File, error) {
	if name == o.name {
		return fstest.MapFS{name: &o.file}.Open(name)
	}
	return o.FS.Open(name)
}

// TestFaults makes the page from sources with a mistake.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ name, file, old, new, want string }{
		{"a function renamed", "pun.go", "func TDTarget(", "func TDGoal(", `passage "The target": the sources have no declaration TDTarget`},
		{"an equation renumbered", "pun.go", "It implements QTA, Equation 1 (", "It implements QTA, Equation 9 (", "Equation 1 is missing"},
		{"an equation moved", "pun.go", "Equation 1 (Section 3.1)", "Equation 1 (Section 3.2)", `passage "The target": it cannot have Equation 1 of section 3.2 (TDTarget)`},
		{"a Reading that nobody shows", "pun.go", "// newCriticNet returns", "// Reading R999: a choice.\n//\n// newCriticNet returns", "no passage shows newCriticNet (pun.go:"},
		{"a Reading that nobody speaks of", "pun.go", "// It implements QTA, Equation 3", "// Reading R999: a choice.\n//\n// It implements QTA, Equation 3", "no passage says what the paper says at Reading R999 (pun.go:"},
		{"a Reading that has gone", "pun.go", "// Reading R15: the policy has", "// The policy has", `passage "Target networks": the sources have no Reading or Differs R15`},
		{"a number that is given twice", "pun.go", "// Reading R15: ", "// Reading R6: ", "both have R6"},
		{"a symbol renamed", textFile, "the target, one for each transition | `y`", "the target | `target_y`", `passage "The target": its code and parameters have no target_y`},
		{"a parameter renamed", textFile, "params: Polyak", "params: Poliak", `passage "Target networks": the sources have no parameter Poliak`},
		{"a parameter left out", textFile, "params: Polyak", "", "no passage has the parameter Polyak (params.go:"},
		{"a formula that nobody wrote", textFile, "formula: L_π = ", "formula: L_2 = ", `docs/annotate/formulas.html has no formula L_2 = `},
		{"vectors that nobody wrote", textFile, "golden Polyak: polyak", "golden Polyak: poliak", `passage "Target networks": open testdata/golden/poliak.json`},
		{"vectors left out", textFile, "golden Polyak: polyak", "", "no passage has the golden vectors testdata/golden/polyak.json"},
		{"a line that has gone", "qta.go", "a.pun.follow()", "a.pun.lead()", "docs/annotated.html: the function has no a.pun.follow() after the line before"},
		{"a passage renamed", textFile, "-- Mazes", "-- Labyrinths", `docs/annotated.html: a link leads to "p-mazes", which is there 0 times`},
	} {
		text := strings.Replace(read(t, test.file), test.old, test.new, 1)
		if text == read(t, test.file) {
			t.Errorf("%s: %s has no %q to change", test.name, test.file, test.old)
			continue
		}
		_, err := generate(overlay{root, test.file, fstest.MapFile{Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}

// TestEffects reads runs whose summaries one can see.
func TestEffects(t *testing.T) {
	var text strings.Builder
	text.WriteString("state,solved_at[environment steps],command\n")
	for _, run := range []string{"small|solved|3000", "small|solved|5000", "authors -set Batch=3|solved|1",
		"small -set Replay=td|finished|0", "small -set Replay=td -set Batch=1|solved|1000", "small -set Gone=1|solved|1",
		"small -set Polyak=1|solved|4000", "small -set Polyak=1|finished|0", "small -set Polyak=1|solved|2000"} {
		f := strings.Split(run, "|")
		fmt.Fprintf(&text, "%s,%s,qta -params %s -seed 1\n", f[1], f[2], f[0])
	}
	p := &page{root: fstest.MapFS{effectsFile: {Data: []byte(text.String())}}, parameters: map[string]*parameter{}}
	for _, name := range []string{"Replay", "Batch", "Polyak"} {
		p.parameters[name] = &parameter{Parameter: glossary.Parameter{Name: name}}
	}
	p.readEffects()
	for name, want := range map[string]string{
		"Replay": "Replay=td: 0/1 [2/2, 4000]",
		"Batch":  "Batch=1 with Replay=td: 1/1, 1000 [0/1]",
		"Polyak": "Polyak=1: 2/3, 4000 [2/2, 4000]",
	} {
		if got := p.parameters[name].Parameter.Effects; !slices.Equal(got, []string{want}) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// TestWorked looks in the golden vectors for what the equations worked through
// by hand say is there, and in them for what the equations in numbers come to.
func TestWorked(t *testing.T) {
	worked := regexp.MustCompile(`(?m)^numbers: .* = (.*)\n((?:\|.*\n)+)`).FindAllStringSubmatch(read(t, textFile), -1)
	if len(worked) != 8 {
		t.Errorf("%d equations are worked through, want 8", len(worked))
	}
	for _, m := range worked {
		file := regexp.MustCompile(`With (\S+\.json)`).FindStringSubmatch(m[2])[1]
		golden := rounded(read(t, path.Join(goldenDir, file)), 9)
		_, results, _ := strings.Cut(m[2], "The golden vector has\n")
		for _, result := range regexp.MustCompile(`(?m)(\S+)$`).FindAllString(results, -1) {
			if !slices.Contains(golden, rounded(result, 9)[0]) {
				t.Errorf("%s has no %s", file, result)
			}
		}
		if !slices.Contains(rounded(m[2], 4), rounded(strings.ReplaceAll(m[1], "−", "-"), 4)[0]) {
			t.Errorf("an equation comes to %s in numbers, and not with %s", m[1], file)
		}
	}
}

// rounded returns the numbers in a text, to so many digits.
func rounded(text string, digits int) (all []string) {
	for _, s := range numeral.FindAllString(text, -1) {
		x, _ := strconv.ParseFloat(s, 64)
		all = append(all, strconv.FormatFloat(x, 'g', digits, 64))
	}
	return all
}

// TestLooks measures the pages in a browser, at the widths of a telephone and of
// screens, and looks for the files that they lead to.
func TestLooks(t *testing.T) {
	names := []string{pageFile, formulasFile}
	var pages []string
	for _, name := range names {
		page := read(t, name)
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]+)`).FindAllStringSubmatch(page, -1) {
			if _, err := fs.Stat(root, path.Join("docs", m[1])); err != nil && !strings.HasPrefix(m[1], "data:image/") {
				t.Errorf("%s needs or leads to what is not there: %v", name, err)
			}
		}
		pages = append(pages, page)
	}
	widths := []int{400, 1000, 1400}
	for i, faults := range browser.Measure(t, pages, widths, looks) {
		if faults != "" {
			t.Errorf("%s at %d pixels: %s", names[i/len(widths)], widths[i%len(widths)], faults)
		}
	}
}

// looks is what has to hold beside what package browser knows of.
//
//go:embed looks.js
var looks string
