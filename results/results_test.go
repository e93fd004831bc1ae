package results

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cell is a method in a maze, with one parameter set.
type cell struct{ setting, method, maze string }

// steps are thousands of environment steps: to the first perfect evaluation, or
// "- in" how many, and to the first at 0.5 or more.
type steps struct{ solved, half string }

// recorded returns the runs of runs.csv in the order of their seeds, which are
// 0, 1, 2, ...
func recorded(t *testing.T) map[cell][]steps {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(Runs())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		name, _, _ = strings.Cut(name, "[")
		column[name] = i
	}
	thousands := func(s string) string {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(n/1000, 'g', -1, 64)
	}
	runs := map[cell][]steps{}
	for _, row := range rows[1:] {
		at := func(name string) string { return row[column[name]] }
		c := cell{at("setting"), at("method"), at("maze")}
		if seed := strconv.Itoa(len(runs[c])); at("seed") != seed {
			t.Errorf("%v: seed %s where %s is next", c, at("seed"), seed)
		}
		s := steps{solved: "- in " + thousands(at("steps"))}
		if at("state") == "solved" {
			s = steps{thousands(at("solved_at")), thousands(at("half_at"))}
		}
		runs[c] = append(runs[c], s)
	}
	return runs
}

// tables returns the rows, split into cells, of each table of a document.
func tables(t *testing.T, name string) (tables [][][]string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if ok && !inside {
			tables = append(tables, nil)
		}
		if inside = ok; !ok {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		last := &tables[len(tables)-1]
		*last = append(*last, cells)
	}
	return tables
}

// shown returns the figures in a document's tables: of QTA by maze with those at
// 0.5 in brackets, and of every method on the learner of fast without.
func shown(t *testing.T, name string) (qta, all map[cell]string) {
	qta, all = map[cell]string{}, map[cell]string{}
	put := func(m map[cell]string, c cell, text string) {
		if text != "" {
			m[c] = text
		}
	}
	for _, table := range tables(t, name) {
		header, rows := table[0], table[2:]
		for _, row := range rows {
			for i := range header {
				switch column, _, _ := strings.Cut(header[i], ", "); {
				case header[0] == "maze" && (column == "`default`" || column == "`fast`"):
					put(qta, cell{strings.Trim(column, "`"), "QTA", row[0]}, row[i])
				case header[0] == "`fast` with" && i > 0:
					method, head := strings.CutSuffix(row[0], ", the head's layer alone")
					setting := "fast"
					if head {
						setting += " PredictiveGradient=head"
					}
					text, _, _ := strings.Cut(row[i], " (") // the paper's
					put(all, cell{setting, method, header[i]}, text)
				}
			}
		}
	}
	return qta, all
}

// TestTables holds the tables of figures to runs.csv.
func TestTables(t *testing.T) {
	wantQTA, wantAll := map[cell]string{}, map[cell]string{}
	for c, runs := range recorded(t) {
		var solved, both []string
		for _, r := range runs {
			solved = append(solved, r.solved)
			both = append(both, r.solved+" ("+r.half+")")
		}
		if c.method == "QTA" && !strings.Contains(c.setting, "=") {
			wantQTA[c] = strings.Join(both, ", ")
		}
		alone := c.method == "QTA" && (c.maze == "10x5" || c.maze == "12x5" || c.maze == "15x5" || c.maze == "5U5")
		if c.setting != "default" && !alone { // in the other table only
			wantAll[c] = strings.Join(solved, ", ")
		}
	}
	qta, all := shown(t, "README.md")
	if diff := cmp.Diff(wantQTA, qta); diff != "" {
		t.Errorf("README.md, QTA (-runs.csv +shown):\n%s", diff)
	}
	if diff := cmp.Diff(wantAll, all); diff != "" {
		t.Errorf("README.md, fast with (-runs.csv +shown):\n%s", diff)
	}
	if qta, _ = shown(t, "../README.md"); !cmp.Equal(wantQTA, qta) {
		t.Errorf("../README.md (-runs.csv +shown):\n%s", cmp.Diff(wantQTA, qta))
	}
}
