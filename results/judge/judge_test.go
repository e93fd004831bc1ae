package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"qta"
	"qta/internal/madeup"
	"qta/internal/paper"
	"qta/internal/report"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestResults holds what results has of its runs to what the judge makes of them now.
func TestResults(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	files, err := files([]string{"results/runs"}, "results")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if roomtest.Read(t, "results", name) != string(want) {
			t.Errorf("results/%s is not what go run ./results/judge results/runs makes of it", name)
		}
	}
}

// TestFront holds the table of README.md to the runs.
func TestFront(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	c, err := lab.Collect([]string{"results/runs"})
	if err != nil {
		t.Fatal(err)
	}
	front := map[string]string{} // the cells
	for _, g := range report.New(c).Groups {
		mean, n := fmt.Sprintf("%.1f", g.Mean/1000), strconv.Itoa(g.N())
		if g.Bound() {
			mean, n = "≥ "+mean, fmt.Sprintf("%d of %d", g.Solved, g.N())
		}
		if g.Method == paper.QTA.Name {
			front[g.Maze+" `"+g.Setting+"`"] = fmt.Sprintf("%s (%s)", mean, n)
		}
	}
	_, table, _ := strings.Cut(roomtest.Read(t, "README.md"), "| maze |")
	table, _, _ = strings.Cut("| maze |"+table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) < 3 {
		t.Fatal("README.md shows no runs")
	}
	head := strings.Split(lines[0], " | ")
	for _, line := range lines[2:] {
		cells := strings.Split(line, " | ")
		for i := 2; i < len(cells); i++ {
			maze, set := strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(head[i], " |")
			if got := strings.TrimSpace(strings.TrimSuffix(cells[i], "|")); got != front[maze+" "+set] {
				t.Errorf("README.md shows %q of %s with %s, the runs have %q", got, maze, set, front[maze+" "+set])
			}
		}
	}
}

// TestJudge reads the page and the table of runs among which there are some of no claim.
func TestJudge(t *testing.T) {
	// 16 / 7.9 and 100 / 12.52 make 4.02 times, not 5, and 15 / 7.9 makes 3.89; a budget counts, and makes it a bound.
	rate := qta.Paper()
	rate.PredictiveRate = 5e-4
	older := func(runs []*lab.Record) []*lab.Record {
		for _, r := range runs {
			r.Run.Version = "0.0.1"
		}
		return runs
	}
	for want, runs := range map[string][][]*lab.Record{
		"solved 2 of 3 runs on 2 of the paper’s 17 mazes. Not always solved: 4x5 (1 of 2 runs in 17 thousand steps). It " +
			"needed at least 4.02 times the paper’s steps (geometric mean over these mazes; an unsolved run counts with " +
			"its budget). Not counted, as a parameter was changed: 4x5 with PredictiveRate=0.0005 (1 of 1 run in 5 thousand": {
			solved("C QTA 4x5 15 -17")[0], solved("C QTA 6x5 100")[0], madeup.Steps(rate, paper.QTA, "4x5", 5)},
		"version 0.0.1 and " + qta.Version + "), QTA solved 2 of 2 runs on 2 of the paper’s 17 mazes. It needed 3.89 times": {
			older(solved("C QTA 4x5 15")[0]), solved("C QTA 6x5 100")[0]},
		"14x5 with PredictiveRate=0.0005 of 0.0.1 (0 of 1 run in 54 thousand steps).": {
			solved("C QTA 14x5 -120")[0], older(madeup.Steps(rate, paper.QTA, "14x5", -54))},
		"Of 22 claims of its section 4, 0 hold, 1 are contradicted, 0 undecided and 21 not judged. Contradicted: “HER reaches " +
			"the goal in no maze” (runs that solve it: 3 of 3, not the paper’s 0 of 12). Rows": solved("C HER 4x5 6 6 12"),
		"For 1 of these claims the paper gives the size of an effect. Here it is compatible with the paper’s in 0, smaller in 1": solved(
			"Q QTA 6x5 20 21 22, Q ensembles 6x5 20 21 22"),
		": 1 with noise, 1 without, of 0.0.1 beside " + qta.Version + " (quick); 8x5": {
			older(madeup.On(paper.QTA, []float64{0, 1})), madeup.On(paper.Noise1, []float64{0, 1})},
		"No run here has": solved("C QTA 3x5 4, C QTA 6U5 9"),
		"mean 1.5 | undecided (it would take more runs) | growth of the mean value: 2 QTA (paper); 12x5 |": {
			madeup.Growing("12x5", 1, 2)},
		"| VDS fails to solve many environments. |  |  | not judged | it would take five mazes, and a rule for what is many |": {
			madeup.Growing("12x5", 1)},
	} {
		page, table := judged(report.New(madeup.Collect(runs...)))
		if !strings.Contains(string(table), want) {
			t.Errorf("the table of %d runs lacks %q", len(runs), want)
		}
		first, _, _ := strings.Cut(string(table), "\n")
		if !strings.Contains(string(page), "<p class=\"answer\">"+first+"</p>") {
			t.Errorf("the page does not say %q", first)
		}
	}
}

// TestLooksOfReport measures a report in a browser: at the widths of a telephone and
// of a screen the page does not scroll sideways and no text of a picture is clipped or
// overlaps another. With more runs than results has, unfolded, a page is at most a
// third of 16,000 pixels high on a screen.
func TestLooksOfReport(t *testing.T) {
	roomtest.Long(t)
	var runs [][]*lab.Record
	for i, m := range paper.Methods() {
		for _, maze := range []string{"4x5", "8x5", "12x5", "15x5", "1U5", "2U5"} {
			for _, p := range []qta.Params{qta.Quick(), qta.Small(), qta.Literal(), qta.Beyond()} {
				runs = append(runs, madeup.Steps(p, m, maze, 5+9*i, 7+9*i, -60))
			}
		}
		runs = append(runs, madeup.On(m, []float64{0, 1}))
	}
	runs = append(runs, madeup.Steps(qta.MEGA(), paper.Method{}, "4x5", 60), madeup.Steps(qta.Paper(), paper.QTA, "1U5", 60),
		madeup.Growing("12x5", 1, 1, 1, 1, 1, 1))
	page, _ := judged(report.New(madeup.Collect(runs...)))
	unfolded := strings.ReplaceAll(string(page), "<details>", "<details open>")
	// Figures 2, 3 and 6, left and right, and Figure 4.
	roomtest.Look(t, unfolded, `
	const svgs = page.querySelectorAll("svg").length, count = svgs === 7 ? [] : [svgs + " pictures"];
	const high = page.documentElement.scrollHeight;
	return [...count, ...(frame.width > 1200 && high > 5333 ? [high + " pixels high"] : [])];`)
}
