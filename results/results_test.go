package results

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A cell is a maze with a parameter set, and a method beside it if it is not QTA:
// "paper: MEGA".
type cell struct{ setting, maze string }

// each calls a function for each row of a CSV file, with the row's cell and its numbers
// and words by their columns.
func each(t *testing.T, file string, do func(c cell, at map[string]string)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		at := map[string]string{}
		for i, name := range rows[0] {
			name, _, _ = strings.Cut(name, "[")
			at[name] = row[i]
		}
		c := cell{at["setting"], at["maze"]}
		if at["method"] != "QTA" {
			c.setting += ": " + at["method"]
		}
		do(c, at)
	}
}

func thousands(t *testing.T, s string, digits int) string {
	t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatFloat(n/1000, 'f', digits, 64)
}

// summed returns the rows of cells.csv as the README shows them: the mean in thousands,
// and of how many runs; it is a bound where not all were solved.
func summed(t *testing.T) map[cell]string {
	t.Helper()
	means := map[cell]string{}
	each(t, "cells.csv", func(c cell, at map[string]string) {
		means[c] = thousands(t, at["mean"], 1) + " (" + at["runs"] + ")"
		if at["solved"] != at["runs"] {
			means[c] = "≥ " + thousands(t, at["mean"], 1) + " (" + at["solved"] + " of " + at["runs"] + ")"
		}
	})
	return means
}

// shown returns what a document's tables by maze show, whose columns are parameter sets.
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
			case i == 0 || cells[i] == "---":
			case header[0] == "maze" && name == "`"+setting+"`":
				got[cell{setting, cells[0]}] = cells[i]
			}
		}
	}
	return got
}

// TestTables holds the front README's table to cells.csv: a cell is empty where nothing
// has run.
func TestTables(t *testing.T) {
	front, means := shown(t, "../README.md"), summed(t)
	for c, text := range front {
		if text != means[c] {
			t.Errorf("../README.md shows %q of %v, cells.csv has %q", text, c, means[c])
		}
	}
	if len(front) == 0 {
		t.Error("../README.md shows no runs")
	}
}
