package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/internal/roomtest"
)

var root = os.DirFS("../..")

// TestFiles holds the committed files to what their sources make.
func TestFiles(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatalf("mend this, then run go generate ./docs/annotate:\n%v", err)
	}
	for name, want := range files {
		is := strings.Split(read(t, name), "\n")
		should := strings.Split(string(want), "\n")
		if diff := cmp.Diff(is, should); diff != "" {
			const advice = "%s is stale; run go generate ./docs/annotate (-is +should be):\n%.2000s"
			t.Errorf(advice, name, diff)
		}
	}
}

func read(t *testing.T, name string) string { return roomtest.Read(t, "../..", name) }

// changed is the repository with another text in one file.
type changed struct {
	fs.FS
	name, text string
}

func (c changed) ReadFile(name string) ([]byte, error) {
	if name == c.name {
		return []byte(c.text), nil
	}
	return fs.ReadFile(c.FS, name)
}

// TestFaults makes the page from sources with a mistake.
func TestFaults(t *testing.T) {
	roomtest.Long(t)
	for _, test := range []struct{ file, old, new, want string }{
		{"pun.go", "func TDTarget(", "func TDGoal(",
			`"The target": the sources have no declaration TDTarget`},
		{"pun.go", "Equation 1 (Section 3.1)", "Equation 1 (Section 3.2)",
			`Equation 1 of section 3.2 (TDTarget)`},
		{"pun.go", "// newCriticNet", "// Reading R999: x.\n//\n// newCriticNet",
			"no passage has declaration newCriticNet (pun"},
		{"pun.go", "// It implements QTA, Equation 3",
			"// Reading R999: x.\n//\n// It implements QTA, Equation 3",
			"no passage has Reading or Differs R999 (pun.go:"},
		{"pun.go", "// Reading R9: M", "// Reading R8: M", "the sources: R8 is there 2 times"},
		{"pun.go", "// Reading R9: M", "// See Reading R9: M",
			"the sources: R9 is there 1 times, want one, which begins"},
		{"pun.go", "// Reading R15: the", "// The", `the sources have no Reading or Differs R15`},
		{"qta.go", "a.pun.follow()", "a.pun.lead()",
			"the function has no a.pun.follow() after the line before"},
		{textFile, "transition | `y`", "transition | `target_y`",
			`"The target": its code and parameters have no target_y`},
		{textFile, "code: adamBeta1, adam.step", "code: adamBeta1",
			"no passage has declaration adam.step (mlp.go:"},
		{textFile, "params: Polyak", "params: Poliak",
			`"Target networks": the sources have no parameter Poliak`},
		{textFile, "params: Polyak", "", "no passage has parameter Polyak (params.go:"},
		{textFile, "formula: L_π = ", "formula: L_2 = ", `docs/annotate/formulas.html has no formula L_2 = `},
	} {
		text := strings.Replace(read(t, test.file), test.old, test.new, 1)
		_, err := generate(changed{root, test.file, text})
		roomtest.Has(t, fmt.Sprint(err), test.want)
	}
}

// TestWorked reads the equations that are worked through by hand. Each has the form
//
//	numbers: … = RESULT
//	of: CASE
//	| the working by hand, which quotes results of a golden vector
//
// The working must have RESULT, and the golden vector what is quoted.
func TestWorked(t *testing.T) {
	form := regexp.MustCompile(`(?m)^numbers: .* = (.*)\nof: (.*)\n((?:\|.*\n)+)`)
	worked := form.FindAllStringSubmatch(read(t, textFile), -1)
	if len(worked) != 8 {
		t.Errorf("%d equations are worked through, want 8", len(worked))
	}
	for _, m := range worked {
		result := m[1]
		named := m[2]
		working := m[3]
		source := regexp.MustCompile(`With ((\S+\.json), case ".*")\.`).FindStringSubmatch(working)
		used := source[1]
		file := source[2]
		if !strings.HasSuffix(named, used) {
			t.Errorf("numbers are said to be of %s, and worked through with %s", named, used)
		}
		golden := rounded(read(t, path.Join(goldenDir, file)), 9) // all numbers in the file
		_, quotes, _ := strings.Cut(working, "The golden vector has\n")
		lastWords := regexp.MustCompile(`(?m)(\S+)$`)
		for _, quoted := range lastWords.FindAllString(quotes, -1) {
			if !slices.Contains(golden, rounded(quoted, 9)[0]) {
				t.Errorf("%s has no %s", file, quoted)
			}
		}
		plainMinus := strings.ReplaceAll(result, "−", "-")
		if want := rounded(plainMinus, 4)[0]; !slices.Contains(rounded(working, 4), want) {
			t.Errorf("an equation comes to %s in numbers, and not with %s", result, file)
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

// TestLinks follows the links of the pages.
func TestLinks(t *testing.T) {
	for _, name := range []string{pageFile, formulasFile, readingsFile} {
		page := read(t, name)
		anchors := map[string]int{}
		ids := regexp.MustCompile(` id="([^"]*)"`)
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			anchors[m[1]]++
			if anchors[m[1]] > 1 {
				t.Errorf("%s has twice what is called %s", name, m[1])
			}
		}
		links := regexp.MustCompile(`(?:href="|src="|\]\()([^"# )]*)(?:#([^" )]*))?`)
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			file := m[1] // "" is the page itself
			anchor := m[2]
			if strings.HasPrefix(file, "data:image/") || strings.HasPrefix(file, "https://") {
				continue
			}
			if _, err := fs.Stat(root, path.Join("docs", file)); err != nil {
				t.Errorf("%s needs or leads to what is not there: %v", name, err)
			}
			if file == "" && anchors[anchor] != 1 {
				t.Errorf("a link of %s leads to %q, which is not there", name, anchor)
			}
		}
	}
}

// TestLooks looks at the page in a browser.
func TestLooks(t *testing.T) {
	roomtest.Look(t, read(t, pageFile), read(t, "docs/annotate/looks.js"))
}
