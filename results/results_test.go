package results

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cell is a maze with a parameter set, and a method beside it if it is not QTA:
// "fast: MEGA".
type cell struct{ setting, maze string }

// recorded returns the runs of runs.csv as the tables show them, in the order of
// their seeds, which are 0, 1, 2, ...: thousands of environment steps to the first
// perfect evaluation, or "- in" the budget, and in brackets to where training first
// stood at the environment's goal.
func recorded(t *testing.T) map[cell]string {
	t.Helper()
	text, err := os.ReadFile("runs.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		name, _, _ = strings.Cut(name, "[")
		column[name] = i
	}
	thousands := func(s string, digits int) string {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(n/1000, 'f', digits, 64)
	}
	runs := map[cell][]string{}
	for _, row := range rows[1:] {
		at := func(name string) string { return row[column[name]] }
		c := cell{at("setting"), at("maze")}
		if at("method") != "QTA" {
			c.setting += ": " + at("method")
		}
		if seed := strconv.Itoa(len(runs[c])); at("seed") != seed {
			t.Errorf("%v: seed %s where %s is next", c, at("seed"), seed)
		}
		run := "- in " + thousands(at("steps"), 0)
		if at("state") == "solved" {
			run = thousands(at("solved_at"), 0)
		}
		found := "never"
		if at("found_at") != "0" {
			found = thousands(at("found_at"), 1)
		}
		runs[c] = append(runs[c], run+" ("+found+")")
	}
	joined := map[cell]string{}
	for c, all := range runs {
		joined[c] = strings.Join(all, ", ")
	}
	return joined
}

// shown returns what a document's tables show: those by maze, whose columns are
// parameter sets, and those by what ran, whose columns are mazes.
func shown(t *testing.T, name string) map[cell]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got := map[cell]string{}
	var header []string
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !ok {
			header = nil
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if header == nil {
			header = cells
			continue
		}
		for i, name := range header {
			setting := strings.Trim(name, "`")
			switch {
			case i == 0 || cells[i] == "" || cells[i] == "---":
			case header[0] == "maze" && name == "`"+setting+"`":
				got[cell{setting, cells[0]}] = cells[i]
			case header[0] == "what ran":
				got[cell{cells[0], name}] = cells[i]
			}
		}
	}
	return got
}

// TestTables holds the tables of both documents to runs.csv: of the results all of
// it, of the README what it shows.
func TestTables(t *testing.T) {
	want := recorded(t)
	if diff := cmp.Diff(want, shown(t, "README.md")); diff != "" {
		t.Errorf("README.md (-runs.csv +shown):\n%s", diff)
	}
	front := shown(t, "../README.md")
	for c, text := range front {
		if text != want[c] {
			t.Errorf("../README.md shows %q of %v, runs.csv has %q", text, c, want[c])
		}
	}
	if len(front) == 0 {
		t.Error("../README.md shows no runs")
	}
}
