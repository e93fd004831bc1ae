package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"qta"
	"qta/internal/madeup"
	"qta/internal/paper"
	"qta/internal/report"
	"qta/internal/roomtest"
	"qta/lab"
)

// TestResults compares the files in results with those that the judge makes of the runs now.
func TestResults(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	files, err := judge([]string{"results/runs"})
	roomtest.Must(t, err)
	for path, want := range files {
		if roomtest.Read(t, path) != string(want) {
			t.Errorf("%s is not what go run ./results/judge results/runs makes of it", path)
		}
	}
}

// TestFigures looks in our figures for each panel, maze and method of the paper's figures,
// and for units. The tests of [report.Report.Figures] check the points, and Figure 4.
func TestFigures(t *testing.T) {
	for _, f := range paper.Figures() {
		if f.Number == "4" || f.Number == "5" {
			continue
		}
		svg := roomtest.Read(t, "../figure"+f.Number+".svg")
		roomtest.Has(t, svg, "thousands of environment steps", "(cells)")
		for _, panel := range f.Panels {
			roomtest.Has(t, svg, panel.Title)
			for _, maze := range panel.Mazes {
				roomtest.Has(t, svg, ">"+maze+"<")
			}
			for _, m := range panel.Lines {
				roomtest.Has(t, svg, ">paper’s "+m.Name+"<")
			}
		}
	}
}

// TestFront holds the numbers in README.md that the judge makes to the runs.
func TestFront(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	c, err := lab.Collect([]string{"results/runs"})
	roomtest.Must(t, err)
	e := evidence{report.New(c)}
	counted := slices.DeleteFunc(e.claims(), func(c claim) bool { return !c.Counted })
	verdicts := map[string]int{}
	for _, c := range counted {
		verdicts[c.Direction]++
	}
	survivors, _ := surviving(counted)
	roomtest.Has(t, roomtest.Read(t, "README.md"),
		fmt.Sprintf("%d claims of the paper's section 4. The runs uphold %d, contradict %d, leave %d undecided and do not judge %d.",
			len(counted), verdicts[holds], verdicts[contradicted], verdicts[undecided], verdicts[""]),
		fmt.Sprintf("%d of the %d still hold", len(survivors), verdicts[holds]),
		headline(e.ofQTA(full)).show(math.Exp)+" times the paper's steps",
		"at least "+strings.TrimPrefix(e.ratioAbout("The goal in Equation 5 (D3)"), "≥ ")+" times as many steps",
		e.ratioAbout("The same with batches of 1024, short mazes")+" times as many steps with 4000",
		e.worse().Here+" times the steps of an M-maze")
}

// ratioAbout returns the ratio in a row of the table of departures.
func (r evidence) ratioAbout(about string) string { return rowAbout(r.worth(), about).Ratio }

// rowAbout returns a row of the table of departures.
func rowAbout(rows []comparison, about string) comparison {
	return rows[slices.IndexFunc(rows, func(c comparison) bool { return c.About == about })]
}

// older gives runs an older version, and returns them.
func older(runs []*lab.Record) []*lab.Record {
	for _, r := range runs {
		r.Run.Version = "0.0.1"
	}
	return runs
}

// TestAnswers holds the sentences that the page and README.md have to made-up runs.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		what string
		runs [][]*lab.Record
		want string
	}{
		{"unsolved", madeup.Groups("paper QTA 4x5 15 -17, paper QTA 6x5 100"),
			"solved 2 of 3 runs on 2 of the paper’s 17 mazes. Not always solved: 4x5 (1 of 2 runs in 17 thousand steps). " +
				"It needed at least 4.05 (2.85 to 5.75) times the paper’s steps, in the geometric mean over these mazes, " +
				"if an unsolved run counts with its budget. On 1 of them it has a single run."},
		{"a changed parameter", madeup.Groups("paper QTA 4x5 -17, paper PredictiveRate=0.0005 QTA 4x5 5"),
			"Not counted, as a parameter was changed: 4x5 with PredictiveRate=0.0005 (1 of 1 run in 5 thousand steps)."},
		{"a changed parameter of an older version", [][]*lab.Record{madeup.Groups("paper QTA 14x5 -120")[0],
			older(madeup.Groups("paper PredictiveRate=0.0005 QTA 14x5 -54")[0])},
			"14x5 with PredictiveRate=0.0005 of 0.0.1 (0 of 1 run in 54 thousand steps)."},
		{"two versions", [][]*lab.Record{older(madeup.Groups("paper QTA 4x5 15")[0]), madeup.Groups("paper QTA 6x5 100")[0]},
			"(versions 0.0.1 and " + qta.Version + ") QTA solved 2 of 2 runs on 2 of the paper’s 17 mazes. It needed 3.93"},
		{"HER, whose rule was made after its result", madeup.Groups("paper HER 4x5 6 6 12"),
			"The runs uphold 0, contradict 0, leave 0 undecided and do not judge 20."},
		{"an effect that is not there", madeup.Groups("quick QTA 6x5 20 21 22, quick ensembles 6x5 20 21 22"),
			"Contradicted: “PUN is better than deep ensembles (ours lack it too)”."},
		{"one look, which survives", madeup.Groups("quick QTA 6x5 20 21 22, quick ensembles 6x5 60 61 62"),
			"With Bonferroni’s correction for 1 judged claim, 1 of them still hold or are contradicted (ensembles)."},
		{"a chance of 0.04, which does not survive two", madeup.Groups("quick QTA 6x5 20 22 24, quick ensembles 6x5 25 27 29, quick PER 6x5 20 22 24"),
			"The runs uphold 1, contradict 0, leave 1 undecided and do not judge 18. Each verdict is at 95 %. " +
				"With Bonferroni’s correction for 2 judged claims, 0 of them still hold or are contradicted."},
		{"signs of Figure 5 against the paper, whose chances survive", [][]*lab.Record{madeup.Growing("12x5", slices.Repeat([]float64{-1}, 12)...)},
			"correction for 4 judged claims, 4 of them still hold or are contradicted (values, error by distance, probabilities, far goals)."},
		{"no collapse in twelve runs, whose chance survives", [][]*lab.Record{madeup.On(paper.QTA, "8x5", flat("1 1 1")...),
			madeup.On(paper.Noise5, "8x5", flat("1 1 1 1 1 1 1 1 1 1 1 1")...)},
			"correction for 2 judged claims, 1 of them still hold or are contradicted (collapse)."},
		{"a size", madeup.Groups("quick QTA 6x5 20 21 22, quick ensembles 6x5 20 21 22"),
			"For 1 of these claims the size of an effect is compared with the paper’s. It is compatible with it in 0, smaller in 1"},
		{"other mazes", madeup.Groups("paper QTA 3x5 4, paper QTA 6U5 9"), "No run here has"},
	} {
		found := finding(report.New(madeup.Collect(test.runs...)))
		roomtest.Has(t, test.what+": "+string(found.markdown(table)), test.want)
	}
}

// TestPages makes up runs for one claim at a time. It checks their rows in README.md and
// claims.md, and the page.
func TestPages(t *testing.T) {
	r := report.New(madeup.Collect(madeup.Growing("12x5", 1, 2)))
	found := finding(r)
	roomtest.Has(t, string(found.markdown(table)),
		"| The values grow over time. | above 0 | above 0 in 2 of 2, mean 1.5 | undecided |",
		"| VDS fails to solve many environments. |  |  | not judged |")
	roomtest.Has(t, string(found.page(r)), `<p class="answer">`+found.Answers[0]+"</p>")

	found = finding(report.New(madeup.Collect(madeup.Groups("paper QTA 1U5 20 21 22 20 21 22, mega own 1U5 60 -61")...)))
	roomtest.Has(t, string(found.markdown(table)),
		"| QTA needs significantly fewer steps than MEGA, on 1U5. | 3.28 times | ≥ 2.88 times (2.75 to 3.02) |")
	roomtest.Has(t, string(found.markdown(details)),
		"| steps of MEGA / steps of QTA | 3.28 (2.99 to 3.61) | ≥ 2.88 (2.75 to 3.02) | unknown |  | 2 MEGA (mega), 6 QTA (paper); 1U5 |",
		"| MEGA | 1U5 | 3.28 (2.99 to 3.61) | ≥ 2.88 (2.75 to 3.02) | 2 MEGA (mega), 6 QTA (paper); 1U5 |",
		"| 1U5 | 5.1 | 4.15 (3.83 to 4.50) | 6 of "+qta.Version+" |",
		"`qta -maze 1U5 -params paper -seed 0,3 -eval 1000 -steps")
}

// TestWorth holds the table of departures to made-up runs.
func TestWorth(t *testing.T) {
	for _, test := range []struct{ about, runs, want string }{
		{"The goal in Equation 5 (D3)", "paper Batch=256 QTA 4x5 20 21 22, literal Batch=256 QTA 4x5 60 61 -62, " +
			"paper Batch=256 QTA 6x5 20 21 22, literal Batch=256 QTA 6x5 40 41 42",
			"≥ 2.38 (2.26 to 2.51) | matters: more steps | 4x5 2 of 3 solved / 3, 6x5 3 / 3"},
		{"4000 candidates, not 1000 (D30)", "paper Batch=256 QTA 4x5 20 21 22, quick QTA 4x5 40 41 42", "0.51 (0.46 to 0.57) | matters: fewer steps | 4x5 3 / 3"},
		{"4000 candidates, not 1000 (D30)", "paper Batch=256 QTA 4x5 20 22 25, quick QTA 4x5 20 22 24",
			"1.01 (0.80 to 1.28) | undecided; it would take a factor of 1.37 | 4x5 3 / 3"},
		{"The same with batches of 1024, short mazes", "paper QTA 4x5 40 41 42, paper Candidates=1000 QTA 4x5 20 21 22",
			"1.95 (1.77 to 2.16) | matters: more steps | 4x5 3 / 3"},
		{"The same with batches of 1024, the longest mazes", "paper QTA 15x5 60 61 62, paper Candidates=1000 QTA 15x5 120 122 -124",
			"≤ 0.50 (0.48 to 0.52) | matters: fewer steps | 15x5 3 / 2 of 3 solved"},
		{"Deep ensembles with 4000 candidates", "paper Batch=256 QTA 6x5 20 21 22, paper Batch=256 ensembles 6x5 40 41 42",
			"1.95 (1.77 to 2.16) | matters: more steps | 6x5 3 / 3"},
		{"The joint loss (D29)", "paper Batch=256 QTA 6x5 20 21 22", " | no runs | "},
	} {
		c := rowAbout(finding(report.New(madeup.Collect(madeup.Groups(test.runs)...))).Worth, test.about)
		got := c.Ratio + " | " + c.Verdict + " | " + c.Seeds
		roomtest.Equal(t, test.about+" of "+test.runs, test.want, got)
	}
}

// coded gives runs a code, and returns them.
func coded(code string, runs []*lab.Record) []*lab.Record {
	for _, r := range runs {
		r.Run.Code = code
	}
	return runs
}

// TestSameVersion compares a method with runs of QTA of the same version, if there are any,
// and else with the newest. Their codes differ, because a code depends on all parameters.
func TestSameVersion(t *testing.T) {
	newest := coded("fused 1", madeup.Groups("quick QTA 6x5 10 10 11")[0])
	method := coded("fused 2", older(madeup.Groups("quick ensembles 6x5 40 41 42")[0]))
	same := coded("fused 3", older(madeup.Groups("quick QTA 6x5 20 21 22")[0]))
	roomtest.Equal(t, "beside the same version", "1.95 (1.77 to 2.16)", onlyRatio(t, newest, method, same).Ours)
	roomtest.Equal(t, "beside the newest", "3.97 (3.53 to 4.46)", onlyRatio(t, newest, method).Ours)
}

// TestPrograms counts the runs of each version, of which one group can have several.
func TestPrograms(t *testing.T) {
	qta1 := coded("fused 1", madeup.Groups("quick QTA 6x5 20 21 22")[0])
	older(qta1[:1])
	method := coded("fused 2", madeup.Groups("quick ensembles 6x5 40 41 42")[0])
	want := fmt.Sprintf("3 deep ensembles (quick) of %[1]s, 1 QTA (quick) of 0.0.1, 2 QTA (quick) of %[1]s; 6x5", qta.Version)
	roomtest.Equal(t, "the runs", want, onlyRatio(t, qta1, method).Runs)
}

// onlyRatio returns the one ratio that runs give.
func onlyRatio(t *testing.T, runs ...[]*lab.Record) onMaze {
	t.Helper()
	rows := finding(report.New(madeup.Collect(runs...))).Ratios
	if len(rows) != 1 {
		t.Fatalf("%d rows %+v, want one", len(rows), rows)
	}
	return rows[0]
}

// TestLooksOfReport measures the page in a browser: at the widths of a telephone and
// of a screen it does not scroll sideways and no text of a picture is clipped or
// overlaps another. With all details open it is at most 5,333 pixels high on a screen.
func TestLooksOfReport(t *testing.T) {
	unfolded := strings.ReplaceAll(roomtest.Read(t, "../report.html"), "<details>", "<details open>")
	roomtest.Look(t, unfolded, `
	const high = page.documentElement.scrollHeight;
	return frame.width > 1200 && high > 5333 ? [high + " pixels high"] : [];`)
}

const (
	ensembles = "PUN is better than deep ensembles (ours lack it too)."
	mega      = "QTA needs significantly fewer steps than MEGA."
	nearer    = "MEGA approaches QTA as the horizon grows."
	vds       = "The same, if an index stands for 2500 steps."
	waves     = "QTA scales more poorly on square waves."
	per       = "Prioritizing by uncertainty accelerates learning."
	td        = "Prioritizing by TD error offers no significant benefit."
	noise     = "Performance suffers with noise 0.05 on the uncertainty."
	dead      = "It collapses with noise of 0.05."
	her       = "HER reaches the goal in no maze."
	grow      = "The values grow over time."
	first     = "VDS is competitive at first."
	worse     = "All algorithms perform much worse on square waves."
	perGrowth = "It does so especially in longer mazes."
	agnostic  = "The prediction is agnostic to the goal that the critics get in Equation 5."
	alike     = "The same, with M-mazes as long as square waves, of 9 to 25 cells."
)

// A rule is a rule of results/verdicts.md with made-up runs, and the judgement that it must
// give for a claim. The function [madeup.Groups] says how the runs are written. The wanted text has the
// verdict, our number (with ≥ or ≤ if it is a bound), its interval, the note, the paper's number
// and the runs, or only the first of these. It is "" if the claim is not judged.
type rule struct{ name, claim, runs, want string }

// hold compares the judgement that a rule wants with the one that runs get.
func (r rule) hold(t *testing.T, runs ...[]*lab.Record) {
	t.Helper()
	claims := evidence{report.New(madeup.Collect(runs...))}.claims()
	c := claims[slices.IndexFunc(claims, func(c claim) bool { return c.Text == r.claim })]
	verdict := c.Direction
	if c.Size != "" {
		verdict += "; size " + c.Size
	}
	parts := []string{verdict, c.Here, c.Note, c.Paper, c.Runs}
	got := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " | ")
	if got != r.want && (r.want == "" || !strings.HasPrefix(got, r.want+" | ")) {
		t.Errorf("%s: %s (%s), want %q", r.name, got, c.What, r.want)
	}
}

// TestSizes holds the rules on the direction and the size of an effect to made-up runs. The
// logarithms of two numbers a and b have the variance ln(b/a)²/2.
func TestSizes(t *testing.T) {
	holdAll(t, []rule{
		{"mean of mazes", ensembles,
			"quick QTA 6x5 8 18, quick ensembles 6x5 16 36, quick QTA 8x5 8 18, quick ensembles 8x5 64 144",
			"holds; size unknown | 4.00 (1.30 to 12.33)"},
		{"the paper's, and not half of it", ensembles,
			"quick QTA 6x5 20 21 20 21, quick ensembles 6x5 35 36 35 36",
			"holds; size compatible with the paper’s | 1.73 (1.66 to 1.81)"},
		{"less than the paper's, but not less than half of it", ensembles,
			"quick QTA 6x5 20 23 26, quick ensembles 6x5 23 26 30",
			"undecided; size smaller | 1.14 (0.85 to 1.54)"},
		{"on the other side of none", ensembles, "quick QTA 6x5 30 31 32, quick ensembles 6x5 20 21 22",
			"contradicted; size smaller | 0.68 (0.61 to 0.75) | the runs exclude 1.00"},
		{"smaller", ensembles, "quick QTA 6x5 30 31 32, quick ensembles 6x5 36 37 38",
			"holds; size smaller | 1.19 (1.11 to 1.28)"},
		{"larger", ensembles,
			"quick QTA 6x5 20 21 22, quick ensembles 6x5 60 61 62",
			"holds; size larger | 2.91 (2.62 to 3.23)"},
		{"none", ensembles, "quick QTA 6x5 20 21 22, quick ensembles 6x5 20 21 22",
			"contradicted; size smaller | 1.00 (0.90 to 1.11)"},
		{"scattered", ensembles, "quick QTA 6x5 10 20, quick ensembles 6x5 10 20",
			"undecided; size unknown | 1.00 (0.12 to 8.24) | it would take a factor of 13.86"},
		{"one scatters", ensembles, "quick QTA 6x5 20 21 20 21, quick ensembles 6x5 20 40",
			"undecided; size unknown | 1.38 (0.02 to 109.43) | it would take a factor of 127.70"},
		{"one of a method", ensembles, "quick QTA 6x5 10 11, quick ensembles 6x5 90",
			"undecided; size unknown | 8.58 | there is no interval"},
		{"equal runs", ensembles, "quick QTA 6x5 10 10, quick ensembles 6x5 20 21",
			"undecided; size unknown | 2.05 | there is no interval"},
	})
}

// TestBounds has runs that are not solved.
func TestBounds(t *testing.T) {
	holdAll(t, []rule{
		{"a bound like the paper's", ensembles, "quick QTA 6x5 20 21 20 21, quick ensembles 6x5 35 36 35 -36",
			"holds; size unknown | ≥ 1.73 (1.66 to 1.81)"},
		{"unsolved", ensembles, "quick QTA 6x5 20 21, quick ensembles 6x5 -50 52",
			"holds; size larger | ≥ 2.49 (2.16 to 2.86)"},
		{"unsolved, no verdict", ensembles, "quick QTA 6x5 20 21, quick ensembles 6x5 -20 -21",
			"undecided; size unknown | ≥ 1.00 (0.86 to 1.16) | it would take a factor of 1.20"},
		{"one maze is a bound", ensembles,
			"quick QTA 6x5 20 21 22, quick ensembles 6x5 20 21 22, quick QTA 8x5 20 21 22, " +
				"quick ensembles 8x5 20 21 -22",
			"undecided; size unknown | ≥ 1.00 (0.94 to 1.07)"},
		{"QTA unsolved", ensembles, "quick QTA 6x5 20 -21, quick ensembles 6x5 60 61",
			"undecided; size unknown | ≤ 2.95 (2.38 to 3.66) | this bound cannot decide it"},
		{"QTA unsolved and late", ensembles, "quick QTA 6x5 20 21 -22, quick ensembles 6x5 20 21 22",
			"contradicted; size smaller | ≤ 1.00 (0.90 to 1.11)"},
		{"QTA unsolved, between none and the paper's", ensembles,
			"quick QTA 6x5 30 31 -32, quick ensembles 6x5 36 37 38",
			"undecided; size smaller | ≤ 1.19 (1.11 to 1.28) | this bound cannot decide it"},
		{"QTA unsolved, between none and half of the paper's", ensembles,
			"quick QTA 6x5 60 61 -62, quick ensembles 6x5 64 65 66",
			"undecided; size smaller | ≤ 1.07 (1.03 to 1.10) | this bound cannot decide it"},
		{"both unsolved", ensembles, "quick QTA 6x5 20 -21, quick ensembles 6x5 -60 61",
			"undecided; size unknown | 2.95 (2.38 to 3.66) | runs are unsolved on both sides"},
	})
}

// TestRivals tests the rules on which runs of QTA a rival's runs are compared with.
func TestRivals(t *testing.T) {
	holdAll(t, []rule{
		{"with the paper's batch, of which more ran", ensembles,
			"quick QTA 6x5 20 21, quick ensembles 6x5 20 21, " +
				"paper QTA 6x5 20 21, paper ensembles 6x5 32 33 32",
			"holds; size unknown | 1.58 (1.31 to 1.90) | 1.77 (1.43 to 2.18) | 3 deep ensembles (paper), 2 QTA (paper); 6x5"},
		{"competitive", first,
			"paper QTA 1U5 20 21 22 20 21 22, vds own 1U5 30 31", "holds | 1.45 (1.36 to 1.56)"},
		{"not competitive", first, "paper QTA 1U5 20 21 22 20 21 22, vds own 1U5 60 61",
			"contradicted | 2.88 (2.75 to 3.02) | the runs exclude less than 2"},
		{"competitive on longer mazes", first, "paper QTA 2U5 20 21 22 20 21 22, vds own 2U5 30 31", ""},
		{"other learners", ensembles, "quick QTA 6x5 20 21, paper ensembles 6x5 60 61", ""},
		{"C beside a comparison on Q", ensembles,
			"quick QTA 6x5 20 21, quick ensembles 6x5 32 33, paper QTA 6x5 20 21 22 20 21 22, " +
				"paper ensembles 6x5 60 61",
			"holds; size unknown | 1.59 (1.37 to 1.84)"},
		{"five of C, and Q", mega, "paper QTA 4x5 20 21 22 20 21, quick QTA 4x5 10 11, mega own 4x5 60 61",
			"holds; size larger | 5.77 (3.37 to 9.88) | 3.81 (3.46 to 4.19) | 2 MEGA (mega), 2 QTA (quick); 4x5"},
		{"six of C", mega, "paper QTA 4x5 20 21 22 20 21 22, quick QTA 4x5 10 11, mega own 4x5 60 61",
			"holds; size smaller | 2.88 (2.75 to 3.02) | 3.81 (3.46 to 4.19) | 2 MEGA (mega), 6 QTA (paper); 4x5"},
		{"three of C, and none of Q", mega, "paper QTA 4x5 20 21 22, mega own 4x5 60 61",
			"holds; size smaller | 2.88 (2.59 to 3.21) | 3.81 (3.46 to 4.19) | 2 MEGA (mega), 3 QTA (paper); 4x5"},
		{"MEGA of another set", mega, "quick QTA 4x5 10 11, quick MEGA 4x5 60 61", ""},
		{"VDS", vds, "paper QTA 1U5 20 21 22 20 21 22, vds own 1U5 60 61",
			"holds; size smaller | 2.88 (2.75 to 3.02) | 3.92 (3.50 to 4.39) | 2 VDS (vds), 6 QTA (paper); 1U5"},
	})
}

// TestGrowth tests the rules on growth with the path length, and on square waves.
func TestGrowth(t *testing.T) {
	holdAll(t, []rule{
		{"waves beside M-mazes of their length", worse,
			"paper QTA 1U5 20 21, paper QTA 4x5 10 11, paper QTA 2U5 20 21, paper QTA 6x5 10 11, " +
				"paper QTA 8x5 10 11",
			"holds; size larger | 1.95 (1.76 to 2.17) | 0.69 (0.64 to 0.74) | 8 QTA (paper); 1U5, 4x5, 2U5, 6x5"},
		{"a growth that the paper's numbers do not show", perGrowth,
			"quick QTA 4x5 20 21, quick PER 4x5 20 21, quick QTA 6x5 20 21, quick PER 6x5 20 21, " +
				"quick QTA 8x5 80 84, quick PER 8x5 20 21",
			"5.66 (4.87 to 6.57) | 0.99 (0.82 to 1.19)"},
		{"the longest M-maze unsolved, which no wave is as long as", alike,
			"paper QTA 4x5 10 11, paper QTA 6x5 20 22, " +
				"paper QTA 8x5 40 44, paper QTA 14x5 40 -44, paper QTA 1U5 10 11, paper QTA 2U5 40 44, paper QTA 3U5 160 176",
			"holds; size larger | 5.66 (4.23 to 7.57)"},
		{"approaches", nearer,
			"paper QTA 4x5 20 21 22 20 21 22, paper QTA 8x5 20 21 22 20 21 22, mega own 4x5 80 84, " +
				"mega own 8x5 40 42",
			"holds; size larger | 2.38 (2.06 to 2.74)"},
		{"one maze", nearer, "paper QTA 4x5 20 21 22 20 21 22, mega own 4x5 80 84", ""},
		{"waves do not win ties", nearer,
			"paper QTA 4x5 20 21 22 20 21 22, paper QTA 8x5 20 21 22 20 21 22, mega own 4x5 80 84, " +
				"mega own 8x5 40 42, paper QTA 1U5 20 21 22 20 21 22, paper QTA 2U5 20 21 22 20 21 22, mega own 1U5 40 42, " +
				"mega own 2U5 80 84",
			"holds; size larger | 2.38 (2.06 to 2.74) | 1.75 (1.47 to 2.09) | 4 MEGA (mega), 12 QTA (paper); 4x5, 8x5"},
		{"waves, the middle M-maze of no weight but for rounding", waves,
			"paper QTA 4x5 10 11, paper QTA 5x5 20 22, " +
				"paper QTA 6x5 20 22, paper QTA 1U5 10 11, paper QTA 2U5 40 44, paper QTA 3U5 160 176",
			"holds; size larger | 5.66 (3.57 to 8.97)"},
		{"waves, the middle M-maze unsolved, which has no weight", waves,
			"paper QTA 4x5 10 11, paper QTA 5x5 20 -22, " +
				"paper QTA 6x5 20 22, paper QTA 1U5 10 11, paper QTA 2U5 40 44, paper QTA 3U5 160 176",
			"holds; size larger | 5.66 (3.57 to 8.97)"},
		{"waves, the longest M-maze unsolved", waves,
			"paper QTA 4x5 10 11, paper QTA 6x5 20 22, paper QTA 8x5 40 -44, " +
				"paper QTA 1U5 10 11, paper QTA 2U5 40 44, paper QTA 3U5 160 176",
			"undecided; size unknown | ≤ 5.66 (4.23 to 7.57)"},
		{"waves, two", waves,
			"paper QTA 4x5 10 11, paper QTA 6x5 20 22, paper QTA 8x5 40 44, paper QTA 1U5 10 11, " +
				"paper QTA 2U5 40 44", ""},
	})
}

// TestBenefit tests the rules on prioritized replay.
func TestBenefit(t *testing.T) {
	holdAll(t, []rule{
		{"PER", per, "quick QTA 4x5 30 31, quick PER 4x5 20 21", "holds; size larger | 1.49 (1.29 to 1.72)"},
		{"TD does nothing", td,
			"quick QTA 4x5 80 81 82, quick TD 4x5 82 83 84",
			"holds; size unknown | 0.98 (0.95 to 1.00)"},
		{"TD helps", td,
			"quick QTA 4x5 80 81 82, quick TD 4x5 40 41 42",
			"contradicted; size larger | 1.98 (1.88 to 2.08)"},
		{"TD helps, but not more than in the paper", td, "quick QTA 4x5 82 83 84, quick TD 4x5 75 76 77",
			"undecided; size unknown | 1.09 (1.06 to 1.12) | it would take a ratio of 1.02"},
		{"a bound of no benefit", td, "quick QTA 6x5 20 26, quick TD 6x5 20 -26",
			"undecided; size unknown | ≤ 1.00 (0.45 to 2.22) | it would take a ratio of 0.40"},
		{"a bound of a benefit", td, "quick QTA 6x5 20 -26, quick TD 6x5 20 26",
			"undecided; size unknown | ≥ 1.00 (0.45 to 2.22) | this bound cannot decide it"},
	})
}

// TestHER tests the rule on runs that reach the goal.
func TestHER(t *testing.T) {
	holdAll(t, []rule{
		{"HER solves", her, "paper HER 4x5 6 6 12", "contradicted | 3 of 3 (0.29 to 1.00)"},
		{"HER finds nothing", her, "paper HER 4x5 -6 -6 -6 -6 -6 -6, paper HER 6x5 5",
			"holds | 0 of 6 (0.00 to 0.46) | 0 of 12 | 6 HER (paper); 4x5"},
		{"HER, one of twelve", her, "paper HER 4x5 5 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6", "undecided | 1 of 12 (0.00 to 0.38)"},
		{"HER, five", her, "paper HER 4x5 -6 -6 -6 -6 -6", "undecided | 0 of 5 (0.00 to 0.52)"},
	})
}

// TestAgnostic tests the rule on the goal in Equation 5.
func TestAgnostic(t *testing.T) {
	holdAll(t, []rule{
		{"literal", agnostic,
			"paper Candidates=1000 QTA 1U5 20 21 22 20 21 22, literal Candidates=1000 QTA 1U5 60 -61",
			"contradicted | ≥ 2.88 (2.75 to 3.02) | the runs exclude 1 | 2 QTA (literal Candidates=1000), 6 QTA (paper Candidates=1000); 1U5"},
		{"literal sooner than paper", agnostic,
			"paper Candidates=1000 QTA 1U5 20 21 22 20 21 22, literal Candidates=1000 QTA 1U5 10 11",
			"undecided | 0.50 (0.34 to 0.74) | it would take a factor of 1.57"},
		{"literal beside paper with other candidates", agnostic,
			"paper QTA 1U5 20 21 22 20 21 22, literal Candidates=1000 QTA 1U5 60 -61", ""},
		{"literal with today's candidates", agnostic,
			"paper Candidates=1000 QTA 4x5 20 21 22, literal Candidates=1000 QTA 4x5 60 61, " +
				"paper Batch=256 QTA 4x5 20 21 22, literal Batch=256 QTA 4x5 30 31 32",
			"contradicted | 1.48 (1.34 to 1.63) | the runs exclude 1 | 3 QTA (literal Batch=256), 3 QTA (paper Batch=256); 4x5"},
	})
}

// TestOwnMap has runs on a map of the user's own, which no claim counts.
func TestOwnMap(t *testing.T) {
	elsewhere := onOwnMap("quick QTA 8x5 8 18, quick ensembles 8x5 90 91")
	counted := madeup.Groups("quick QTA 6x5 8 18, quick ensembles 6x5 16 36")
	rule{"runs on an own map do not count", ensembles, "", "undecided; size unknown | 2.00 (0.17 to 23.58)"}.hold(t,
		append(elsewhere, counted...)...)
	unsolved := onOwnMap("paper HER 4x5 -6 -6 -6 -6 -6 -6")
	rule{"runs of HER on an own map do not count", her, "", ""}.hold(t, unsolved...)
}

// onOwnMap makes up runs, as [madeup.Groups] does, and puts them on a map of the user's own.
func onOwnMap(text string) [][]*lab.Record {
	runs := madeup.Groups(text)
	for _, r := range slices.Concat(runs...) {
		r.Run.Environment = "my"
		r.Run.Map = []string{"SG"}
	}
	return runs
}

// holdAll calls hold for each rule, with the runs that the rule's text describes.
func holdAll(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		r.hold(t, madeup.Groups(r.runs)...)
	}
}

// numbers reads a text such as "0.5 1".
func numbers(text string) (all []float64) {
	for word := range strings.FieldsSeq(text) {
		x, _ := strconv.ParseFloat(word, 64)
		all = append(all, x)
	}
	return all
}

// flat makes up nine evaluations for each run, with the same success.
func flat(successes string) (rows [][]float64) {
	for _, y := range numbers(successes) {
		rows = append(rows, slices.Repeat([]float64{y}, 9))
	}
	return rows
}

// TestNoise tests the rules on noise, with the successes of made-up runs without noise and with it.
func TestNoise(t *testing.T) {
	const none = "0 0 0 0 0 0 0"
	for _, test := range []struct{ name, claim, without, with, want string }{
		{"taken", noise, "0.8 0.9 1", "0.2 0.3 0.4", "holds | 0.60 (0.37 to 0.83)"},
		{"nothing taken", noise, "0.8 0.9 1", "0.8 0.9 1",
			"contradicted | 0.00 (-0.23 to 0.23) | the runs exclude half of the paper’s effect, 0.29"},
		{"undecided", noise, "0.1 0.5 0.9", "0.1 0.5 0.9", "undecided | 0.00 (-0.91 to 0.91) | it would take 1.21 of success"},
		{"all collapse", dead, "1 1 1 1 0 1 1", none, "holds | 7 of 7 (0.59 to 1.00), 1 of 7 without"},
		{"some collapse", dead, "1 1 1 1 1 0", "0 0 0 0 1 1",
			"undecided | 4 of 6 (0.22 to 0.96), 1 of 6 without | it would take 6 of 6"},
		{"half is no collapse", dead, "1 1 1", "0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5",
			"contradicted | 0 of 8 (0.00 to 0.37), 0 of 3 without"},
		{"six may hide half of the paper's share", dead, "1 1 1", "1 1 1 1 1 1",
			"undecided | 0 of 6 (0.00 to 0.46), 0 of 3 without"},
		{"all collapse, with and without", dead, none, none,
			"undecided | 7 of 7 (0.59 to 1.00), 7 of 7 without | it would take more runs"},
	} {
		r := rule{test.name, test.claim, "", test.want}
		r.hold(t, madeup.On(paper.QTA, "8x5", flat(test.without)...), madeup.On(paper.Noise5, "8x5", flat(test.with)...))
	}
}

// stopped says that runs have been stopped, and returns them.
func stopped(runs []*lab.Record) []*lab.Record {
	for _, r := range runs {
		r.State = lab.Stopped
	}
	return runs
}

// TestToTheEnd tests which runs the rules on noise take: those with -stop never that have ended.
func TestToTheEnd(t *testing.T) {
	const all, none = "1 1 1 1 1 1 1", "0 0 0 0 0 0 0"
	quiet := madeup.On(paper.QTA, "8x5", flat(all)...)
	late := slices.Repeat([][]float64{{1, 1, 1, 1, 1, 0, 0, 0, 1, 1}}, 7)
	ended := madeup.On(paper.Noise5, "8x5", late...)
	halted := stopped(madeup.On(paper.Noise5, "8x5", late...))
	solved := madeup.Curves(qta.Quick(), paper.Noise5, "8x5", flat(all)...)
	unsolved := madeup.Curves(qta.Quick(), paper.Noise5, "8x5", flat(none)...)
	newer := madeup.On(paper.QTA, "8x5", flat("1")...)
	newer[0].Run.Version = "9.0.0"

	rule{"at its end", dead, "", "holds | 7 of 7 (0.59 to 1.00), 0 of 7 without"}.hold(t, quiet, ended)
	rule{"and a run of a newer version", dead, "", "holds | 7 of 7 (0.59 to 1.00), 0 of 8 without | 9 of 12 | " +
		"7 with noise, 8 without (quick) of " + qta.Version + " and 9.0.0; 8x5"}.hold(t, quiet, newer, ended)
	rule{"stopped by a signal", dead, "", ""}.hold(t, quiet, halted)
	rule{"stopped when solved", noise, "", ""}.hold(t, quiet, solved)
	rule{"unsolved, but not with -stop never", dead, "", ""}.hold(t, quiet, unsolved)
}

// TestFigure5 tests the rule on signs, with made-up runs of Figure 5.
func TestFigure5(t *testing.T) {
	for _, test := range []struct {
		name, growth, want string
	}{
		{"eight of nine grow", "1 2 3 4 5 6 7 8 -1", "holds | above 0 in 8 of 9, mean 3.89"},
		{"one of nine grows", "-1 -2 -3 -4 -5 -6 -7 -8 1", "contradicted | above 0 in 1 of 9, mean -3.89 | the runs exclude above 0"},
		{"six runs are enough", "1 2 3 4 5 3", "holds | above 0 in 6 of 6, mean 3"},
		{"0 is not above 0", "1 2 3 4 5 0", "undecided | above 0 in 5 of 6, mean 2.5 | it would take 6 of 6"},
		{"five runs are too few", "1 2 3 4 5", "undecided | above 0 in 5 of 5, mean 3 | it would take more runs"},
	} {
		rule{test.name, grow, "", test.want}.hold(t, madeup.Growing("12x5", numbers(test.growth)...))
	}
	halted := stopped(madeup.Growing("12x5", 1, 1, 1, 1, 1, 1))
	rule{"not at its end", grow, "", ""}.hold(t, halted, madeup.Growing("8x5", 1, 1, 1, 1, 1, 1))
}

// TestStatistics compares the functions that golang.org/x/exp/stats lacks with printed
// tables and with numbers worked out by hand.
func TestStatistics(t *testing.T) {
	printed := cmpopts.EquateApprox(0.001, 0.001)
	for freedom, want := range map[float64]float64{1: 12.706, 1.5: 6.017, 2: 4.303, 5: 2.571, 12: 2.179, 120: 1.980} {
		what := fmt.Sprintf("%v degrees of freedom", freedom)
		roomtest.Equal(t, what, want, student(0.975, freedom), printed)
	}
	roomtest.Equal(t, "the 80 % quantile of 10 degrees of freedom", 0.879, student(0.8, 10), printed)
	for _, test := range []struct {
		hits, n int
		want    interval
	}{
		{0, 6, interval{0, 0.459}},
		{6, 6, interval{0.541, 1}},
		{3, 3, interval{0.292, 1}},
		{7, 8, interval{0.473, 0.997}},
	} {
		what := fmt.Sprintf("%d of %d", test.hits, test.n)
		roomtest.Equal(t, what, test.want, binomialRange(test.hits, test.n), printed)
	}
	// In 1 of the 70 ways in which 4 of 8 runs can collapse, all 4 have noise. In 16 ways 3 have noise.
	for hits, want := range map[int]float64{4: 1. / 70, 3: 17. / 70} {
		what := fmt.Sprintf("%d of 4 beside %d of 4", hits, 4-hits)
		roomtest.Equal(t, what, want, fisher(hits, 4, 4-hits, 4), cmpopts.EquateApprox(0, 1e-9))
	}
	var e estimate // of equal values, to which rounding leaves some scatter
	squares, freedom := scatter(slices.Repeat([]float64{math.Log(2000)}, 3))
	if e.vary(squares, freedom); squares == 0 || !math.IsInf(e.interval().High, 1) {
		t.Errorf("the interval of equal values is %v", e.interval())
	}
}

// A multiple of an estimate has the estimate's degrees of freedom.
func TestTimes(t *testing.T) {
	var e estimate
	e.vary(4, 5)
	half := e.times(0.5)
	roomtest.Equal(t, "the variance of half an estimate", 1.0, half.variance)
	roomtest.Equal(t, "the degrees of freedom of half an estimate", 5.0, half.freedom())
}
