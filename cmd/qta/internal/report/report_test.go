package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qta"
	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/roomtest"
	"qta/lab"
)

// curves makes up ended runs of a method in a maze: of each the success of its
// evaluations, 1000 steps apart. A run is solved where the last is 1.
func curves(m paper.Method, maze string, success ...[]float64) (runs []*lab.Record) {
	environment, err := qta.NewMaze(maze)
	if err != nil {
		panic(err)
	}
	for _, ys := range success {
		id := lab.MazeIdentity(maze, environment, m.Apply(qta.Small()), 0, 1000)
		r := lab.NewRecord(id, lab.Limits{Steps: 1000 * len(ys), Stop: lab.StopSolved}, 1)
		for i, y := range ys {
			r.Curve = append(r.Curve, qta.Evaluation{Step: 1000 * (i + 1), Success: y})
		}
		r.State = lab.Finished
		r.Outcome = lab.Outcome{Steps: 1000 * len(ys), SolvedAt: r.Curve.FirstAt(1), FoundAt: 700}
		if r.Outcome.SolvedAt > 0 {
			r.State = lab.Solved
			r.Limits.Steps += 100_000
		}
		runs = append(runs, r)
	}
	return runs
}

// solved makes up runs that solved a maze after so many thousand steps.
func solved(m paper.Method, maze string, thousands ...int) []*lab.Record {
	return ending(1, m, maze, thousands)
}

// unsolved makes up runs that never ended a rollout at the goal.
func unsolved(m paper.Method, maze string, thousands ...int) []*lab.Record {
	return ending(0, m, maze, thousands)
}

func ending(success float64, m paper.Method, maze string, thousands []int) []*lab.Record {
	var all [][]float64
	for _, n := range thousands {
		all = append(all, append(make([]float64, n-1), success))
	}
	return curves(m, maze, all...)
}

// figure5 gives runs the same numbers of Figure 5 but for their signs.
func figure5(runs []*lab.Record, number float64, negative int) []*lab.Record {
	for i, r := range runs {
		r.Outcome.Figure5 = &lab.Figure5{ValueGrowth: number}
		if i < negative {
			r.Outcome.Figure5.ValueGrowth = -number
		}
	}
	return runs
}

// of reports on runs, each with a seed and a directory of its own.
func of(groups ...[]*lab.Record) *Report {
	c := &lab.Collection{Runs: slices.Concat(groups...)}
	for i, r := range c.Runs {
		r.Run.Seed = uint64(i)
		if r.Path == "" {
			r.Path = "runs/" + strconv.Itoa(i)
		}
	}
	return New(c)
}

// TestClaims judges made-up runs, few enough to judge by hand. The logarithms of
// two numbers a and b have the variance ln(b/a)²/2, two samples of two share it
// with 2 degrees of freedom, where t is 4.303, and so on. The intervals of shares
// are those of the tables of Clopper and Pearson.
func TestClaims(t *testing.T) {
	const (
		mega  = "QTA needs significantly fewer steps than MEGA."
		near  = "MEGA approaches QTA as the horizon grows."
		vds   = "VDS fails to solve many environments."
		waves = "All algorithms perform much worse on square-wave mazes."
		td    = "Prioritizing by TD error offers no significant benefit."
		noise = "Performance suffers with noise 0.05 on the uncertainty."
		dead  = "It collapses with noise of 0.05."
		her   = "HER reaches the goal in no maze."
		grow  = "The values grow over time."
	)
	six := []int{30, 30, 30, 30, 30, 30}
	going := solved(paper.Noise5, "4x5", six...) // on beyond the solution, at present without success
	growing := figure5(solved(paper.QTA, "4x5", six...), 1, 0)
	for _, r := range slices.Concat(going, growing) {
		r.State, r.Curve = lab.Running, append(r.Curve, qta.Evaluation{Step: 31_000})
	}
	type runs = []*lab.Record
	for _, test := range []struct {
		name  string
		runs  []runs
		claim string
		want  string // verdict, value, interval
		note  string
	}{
		// Twice the steps on one maze and 8 times on the other: the geometric mean
		// is 4, the arithmetic one would be 5. exp(ln 4 ± 2.776 · ln 2.25 / 2).
		{"mean of mazes", []runs{solved(paper.QTA, "4x5", 8, 18), solved(paper.MEGA, "4x5", 16, 36),
			solved(paper.QTA, "6x5", 8, 18), solved(paper.MEGA, "6x5", 64, 144)},
			mega, "holds, 4.00, 1.30 to 12.33", "4x5, 6x5, 8 runs"},
		// exp(± 4.303 · ln 1.2 / √2) = 1.74 is above what is material, 1.25.
		{"too wide", []runs{solved(paper.QTA, "4x5", 10, 12), solved(paper.MEGA, "4x5", 10, 12)}, mega,
			"no effect beyond a factor of 1.74, 1.00, 0.57 to 1.74", ""},
		{"equal", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.MEGA, "4x5", 20, 21)}, mega,
			"does not hold, 1.00, 0.86 to 1.16", ""},
		// With 2.920, t of a 90 % interval, 1.5 would be significant: 1.03 to 2.19.
		{"10 % is not 5 %", []runs{solved(paper.QTA, "4x5", 10, 12), solved(paper.MEGA, "4x5", 15, 18)},
			mega, "no effect beyond a factor of 2.61, 1.50, 0.86 to 2.61", ""},
		{"below what is material", []runs{solved(paper.QTA, "4x5", 27, 29), solved(paper.MEGA, "4x5", 27, 29)}, mega,
			"does not hold, 1.00, 0.80 to 1.24", ""},
		{"just material", []runs{solved(paper.QTA, "4x5", 13, 14), solved(paper.MEGA, "4x5", 13, 14)}, mega,
			"no effect beyond a factor of 1.25, 1.00, 0.80 to 1.25", ""},
		{"the lower end is farther", []runs{solved(paper.QTA, "4x5", 25, 30), solved(paper.MEGA, "4x5", 20, 24)}, mega,
			"no effect beyond a factor of 2.18, 0.80, 0.46 to 1.39", ""},
		{"MEGA is better", []runs{solved(paper.QTA, "4x5", 40, 42), solved(paper.MEGA, "4x5", 20, 21)},
			mega, "does not hold, 0.50, 0.43 to 0.58", ""},
		{"a run each", []runs{solved(paper.QTA, "4x5", 10), solved(paper.MEGA, "4x5", 90)}, mega,
			"not enough runs, 9.00, ", ""},
		// The budgets of MEGA count, and tell nothing of the scatter: t is 12.706.
		{"unsolved", []runs{solved(paper.QTA, "4x5", 20, 21), unsolved(paper.MEGA, "4x5", 40, 42)}, mega,
			"holds, 2.00, 1.29 to 3.10", "2 of them unsolved and standing at their budgets"},
		// But where bounds scatter more than what is known, they count: with them it is
		// exp(0.684 ± 3.182 · √(1.537 / 3 · 5/6)), without only ± 12.706 · √(0.0166 · 5/6).
		{"unsolved and scattered", []runs{solved(paper.QTA, "4x5", 10, 12), solved(paper.MEGA, "4x5", 8, 32),
			unsolved(paper.MEGA, "4x5", 40)}, mega, "not enough runs, 1.98, 0.25 to 15.86", ""},
		// QTA may need as many steps as MEGA, and MEGA many more than it was given.
		{"QTA unsolved", []runs{unsolved(paper.QTA, "4x5", 10, 10), solved(paper.MEGA, "4x5", 20, 21)}, mega,
			"not enough runs, 2.05, 1.32 to 3.18", ""},
		{"MEGA, a small budget", []runs{solved(paper.QTA, "4x5", 20, 21), unsolved(paper.MEGA, "4x5", 10, 10)},
			mega, "not enough runs, 0.49, 0.31 to 0.76", ""},
		// The second maze tells half of the mean, and nothing of the scatter:
		// exp(ln 2 ± 4.303 · ln 1.05 / √2 · √(1 + 2) / 2).
		{"single runs", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.MEGA, "4x5", 20, 21),
			solved(paper.QTA, "6x5", 10), solved(paper.MEGA, "6x5", 40)}, mega, "holds, 2.00, 1.76 to 2.27", ""},
		{"TD error", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.TD, "4x5", 20, 21)}, td,
			"holds, 1.00, 0.86 to 1.16", ""},
		{"TD error helps", []runs{solved(paper.QTA, "4x5", 40, 42), solved(paper.TD, "4x5", 20, 21)}, td,
			"does not hold, 2.00, 1.72 to 2.32", ""},
		// From 4 times the steps at 9 to 1 times at 19 would be ln 4 in 10 cells; at
		// 13 it is 2 times, so ln 2 in 4, in 10 a factor of 2^2.5 = 5.66.
		{"a trend", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.MEGA, "4x5", 80, 84),
			solved(paper.QTA, "6x5", 20, 21), solved(paper.MEGA, "6x5", 40, 42)},
			near, "holds, 5.66, 4.03 to 7.94", ""},
		{"a trend of budgets alone", []runs{solved(paper.QTA, "4x5", 20, 21), unsolved(paper.MEGA, "4x5",
			80, 84), solved(paper.QTA, "6x5", 20, 21), unsolved(paper.MEGA, "6x5", 40, 42)},
			near, ", , ", ""},
		{"a trend of VDS's budgets", []runs{solved(paper.QTA, "4x5", 20, 21), unsolved(paper.VDS, "4x5", 40, 42),
			solved(paper.QTA, "6x5", 20, 21), unsolved(paper.VDS, "6x5", 80, 84)},
			"VDS is competitive at first and becomes less sample efficient with longer mazes.", ", , ", ""},
		{"a trend in square waves", []runs{solved(paper.QTA, "1U5", 20, 21), solved(paper.MEGA, "1U5", 80, 84),
			solved(paper.QTA, "2U5", 20, 21), solved(paper.MEGA, "2U5", 40, 42)}, near, "holds, 5.66, 4.03 to 7.94", ""},
		{"waves of all three", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.QTA, "1U5", 40, 42),
			solved(paper.MEGA, "4x5", 20, 21), solved(paper.MEGA, "1U5", 40, 42), solved(paper.VDS, "4x5", 20, 21),
			solved(paper.VDS, "1U5", 40, 42)}, waves, "holds, 2.00, 1.90 to 2.10",
			"QTA 4x5 and 1U5, MEGA 4x5 and 1U5, VDS 4x5 and 1U5, 12 runs"},
		// 1U5 has the path length of 4x5, 9; 12x5 has 25, and 2U5 13.
		{"waves", []runs{solved(paper.QTA, "4x5", 20, 21), solved(paper.QTA, "12x5", 120, 126),
			solved(paper.QTA, "1U5", 40, 42), solved(paper.QTA, "2U5", 90, 95)},
			waves, "holds, 2.00, 1.72 to 2.32", "QTA 4x5 and 1U5, 4 runs"},
		// 4x5 and 6x5 are short: what counts are 10x5 and 12x5, where all is solved.
		{"VDS fails in short mazes", []runs{unsolved(paper.VDS, "4x5", six...), unsolved(paper.VDS, "6x5",
			six...), solved(paper.VDS, "10x5", six...), solved(paper.VDS, "12x5", six...)},
			vds, "does not hold, 0.00, 0.00 to 0.26", "in 0 of 2 mazes from path length 21 on"},
		{"VDS fails in one of two", []runs{unsolved(paper.VDS, "10x5", 30), solved(paper.VDS, "10x5", 30),
			solved(paper.VDS, "12x5", 30)}, vds, "holds, 0.33, 0.01 to 0.91", "in 1 of 2 mazes"},
		{"VDS fails in one of three", []runs{unsolved(paper.VDS, "10x5", 30), solved(paper.VDS, "12x5", six...),
			solved(paper.VDS, "14x5", six...)}, vds, "not enough runs, 0.08, 0.00 to 0.36", "in 1 of 3 mazes"},
		// One of 20 rollouts ends at the goal, once.
		{"HER finds", []runs{unsolved(paper.HER, "4x5", six...), curves(paper.HER, "4x5", []float64{0, 0.05,
			0}), solved(paper.HER, "4x5", 30, 30)}, her, "does not hold, 0.33, 0.07 to 0.70",
			"2 runs solved the maze, and 1 run reached the goal without solving it"},
		{"still running", []runs{going}, dead, ", , ", ""},
		{"still growing", []runs{growing}, grow, ", , ", ""},
		{"HER finds nothing", []runs{unsolved(paper.HER, "4x5", six...)}, her, "holds, 0.00, 0.00 to 0.46", ""},
		{"HER, few", []runs{unsolved(paper.HER, "4x5", 30, 30, 30, 30, 30)}, her, "not enough runs, 0.00, 0.00 to 0.52",
			""},
		// Means over both evaluations 0.9, 0.95, 1 and 0.6, 0.65, 0.7; 0.3 ± 2.776 · 0.05 · √(2/3).
		{"noise harms", []runs{curves(paper.QTA, "4x5", []float64{0.8, 1}, []float64{0.9, 1}, []float64{1}),
			curves(paper.Noise5, "4x5", []float64{0.2, 1}, []float64{0.3, 1}, []float64{0.4, 1})},
			noise, "holds, 0.30, 0.19 to 0.41", ""},
		{"noise helps", []runs{curves(paper.Noise5, "4x5", []float64{0.8, 1}, []float64{0.9, 1}, []float64{1}), curves(paper.QTA, "4x5", []float64{0.2, 1}, []float64{0.3, 1}, []float64{0.4, 1})},
			noise, "does not hold, -0.30, -0.41 to -0.19", ""},
		// 0 ± 2.776 · 0.02 · √(2/3) = 0.045, and 0 ± 3.182 · 0.0152 · √(4/3) · √(5/6) = 0.051: 0.05 counts as none.
		{"noise 0.03 does nothing", []runs{curves(paper.QTA, "4x5", []float64{0.48}, []float64{0.5}, []float64{0.52}),
			curves(paper.Noise3, "4x5", []float64{0.48}, []float64{0.5}, []float64{0.52})},
			"Performance suffers with noise 0.03 on the uncertainty.", "does not hold, 0.00, -0.05 to 0.05", ""},
		{"noise 0.01, two runs", []runs{curves(paper.QTA, "4x5", []float64{0.4848}, []float64{0.5}, []float64{0.5152}),
			curves(paper.Noise1, "4x5", []float64{0.4848}, []float64{0.5152})},
			"Performance suffers with noise 0.01 on the uncertainty.", "no effect beyond 0.05 of success, 0.00, -0.05 to 0.05", ""},
		// Unsolved runs of 2000 steps say nothing of step 3000.
		{"noise, unsolved", []runs{curves(paper.QTA, "4x5", []float64{0.5, 0.5, 1}, []float64{0.4, 0.5, 1}, []float64{0.5, 0.4, 1}),
			curves(paper.Noise5, "4x5", []float64{0.5, 0.5}, []float64{0.4, 0.5}, []float64{0.5,
				0.4})}, noise, "no effect beyond 0.07 of success, 0.00, -0.07 to 0.07", ""},
		{"collapse", []runs{unsolved(paper.Noise5, "4x5", six...)}, dead, "holds, 1.00, 0.54 to 1.00", "6 of 6 runs"},
		{"no collapse", []runs{solved(paper.Noise5, "4x5", six...)}, dead,
			"does not hold, 0.00, 0.00 to 0.46", ""},
		{"half is no collapse", []runs{ending(0.5, paper.Noise5, "4x5", six)}, dead,
			"does not hold, 0.00, 0.00 to 0.46", ""},
		{"collapse, few", []runs{unsolved(paper.Noise5, "4x5", 30, 30)}, dead, "not enough runs, 1.00, 0.16 to 1.00", ""},
		// More than half? The sign test's p is 2 · (1 + 8) / 2⁸ = 0.07 for 7 of 8, and
		// 2 / 2⁶ = 0.03 for 6 of 6.
		{"values, 7 of 8", []runs{figure5(solved(paper.QTA, "4x5", 5, 5, 5, 5, 5, 5, 5, 5), 4, 1)}, grow,
			"in 7 of 8 runs, 0.88, 0.47 to 1.00", "its mean is 3"},
		{"values, 6 of 6", []runs{figure5(solved(paper.QTA, "4x5", six...), 4, 0), solved(paper.QTA, "6x5",
			5), figure5(solved(paper.MEGA, "4x5", 5), -100, 0)}, grow, "holds, 1.00, 0.54 to 1.00", "its mean is 4"},
		{"values, 0 of 6", []runs{figure5(solved(paper.QTA, "4x5", six...), -4, 0)}, grow,
			"does not hold, 0.00, 0.00 to 0.46", "its mean is -4"},
		{"values, few", []runs{figure5(solved(paper.QTA, "4x5", 5, 5), 4, 0)}, grow,
			"not enough runs, 1.00, 0.16 to 1.00", ""},
	} {
		r := of(test.runs...)
		i := slices.IndexFunc(r.Settings[0].Claims, func(c claim) bool { return c.Text == test.claim })
		c := r.Settings[0].Claims[i]
		if got := fmt.Sprintf("%s, %s, %s", c.Verdict, c.Value, c.Range); len(r.Settings) != 1 || got != test.want || !strings.Contains(c.Note, test.note) {
			t.Errorf("%s: %s (%s), want %s (%s)", test.name, got, c.Note, test.want, test.note)
		}
	}
}

// TestClaimMethods holds each claim that compares methods to the two that it names:
// where it holds, the number is above one.
func TestClaimMethods(t *testing.T) {
	var runs [][]*lab.Record
	for _, m := range paper.Methods() {
		runs = append(runs, solved(m, "4x5", 5, 7), solved(m, "6x5", 5, 7))
	}
	for _, r := range slices.Concat(runs[0], runs[1]) { // QTA's
		r.Outcome.Figure5 = &lab.Figure5{ValueGrowth: 1, ErrorFall: 2, ErrorByDistance: 3, GoalByDeviation: 4, GoalDistance: 5}
	}
	var got []string
	for _, c := range of(runs...).Settings[0].Claims {
		if _, mean, ok := strings.Cut(c.Note, "; its mean is "); ok {
			got = append(got, c.Text+" "+mean)
		}
		if strings.Contains(c.What, "steps of ") {
			got = append(got, c.Text+" "+c.What)
		}
	}
	want := []string{
		"QTA needs significantly fewer steps than MEGA. steps of MEGA / steps of QTA",
		"MEGA approaches QTA as the horizon grows. growth of steps of QTA / steps of MEGA in 10 cells",
		"QTA needs fewer steps than VDS. steps of VDS / steps of QTA",
		"VDS is competitive at first and becomes less sample efficient with longer mazes. growth of steps of VDS / steps of QTA in 10 cells",
		"Prioritizing by uncertainty accelerates learning. steps of QTA / steps of QTA + PER",
		"It does so especially in longer mazes. growth of steps of QTA / steps of QTA + PER in 10 cells",
		"Prioritizing by TD error offers no significant benefit. steps of QTA / steps of QTA + TD-PER",
		"The values grow over time. 1", "The values' error falls over time. 2", "The error is greater further from the start. 3",
		"Probabilities of goals follow the heads' deviation. 4", "Sampled goals are far from the start. 5",
		"Disagreement of Q-values is a worse estimator than PUN. steps of Q-value disagreement / steps of QTA",
		"PUN is better than bootstrapped Q-networks. steps of bootstrapped Q / steps of QTA",
		"PUN is better than deep ensembles. steps of deep ensembles / steps of QTA",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// csvOf returns the columns of a CSV file of a report, a line for each row.
func csvOf(t *testing.T, r *Report, name string, columns ...string) (lines []string) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(r.CSV()[name])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		var cells []string
		for _, column := range columns {
			k := slices.IndexFunc(rows[0], func(head string) bool { return strings.Split(head, "[")[0] == column })
			cells = append(cells, row[k])
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

// TestNumbers holds the tables to numbers worked out by hand.
func TestNumbers(t *testing.T) {
	half := curves(paper.QTA, "4x5", []float64{0.45, 0.5, 1})
	half[0].Outcome.FoundAt = 0
	share := 0.985
	half[0].Outcome.HeldOut = &share
	r := of(half, solved(paper.QTA, "4x5", 5), solved(paper.MEGA, "4x5", 20, 30), unsolved(paper.MEGA,
		"4x5", 150))
	for _, test := range []struct {
		file    string
		columns []string
		want    []string
	}{
		// 0.5 is half, and 0.45 is not.
		{"runs.csv", []string{"method", "half_at", "solved_at", "found_at", "counted_as", "held_out", "seed", "state", "steps"},
			[]string{"QTA 2000 3000 0 3000 0.985 0 solved 3000", "QTA 5000 5000 700 5000  1 solved 5000",
				"MEGA 20000 20000 700 20000  2 solved 20000", "MEGA 30000 30000 700 30000  3 solved 30000",
				"MEGA 0 0 700 150000  4 finished 150000"}},
		// 20, 30 and 150 thousand have the mean 66.67, the population's deviation 59.07.
		{"cells.csv", []string{"method", "runs", "solved", "median", "mean", "population_deviation",
			"found", "paper_mean", "paper_printed"},
			[]string{"QTA 2 2 4000 4000 1000 1 7900 6900", "MEGA 3 2 30000 66666.667 59066.817 3 29890 28890"}},
		// 11.57 = (20 · 30 · 150)^⅓ / √(3 · 5), its interval ± 12.706 · ln(5/3) / √2 · √(5/6) in logarithms.
		{"cells.csv", []string{"mean_low", "mean_high", "by_qta", "by_qta_low", "by_qta_high"},
			[]string{"3000 5000   ", "20000 150000 11.570937 0.17532117 763.66469"}},
		{"claims.csv", []string{"claim"}, []string{"QTA needs significantly fewer steps than MEGA."}}, // the others have no run
	} {
		if diff := cmp.Diff(test.want, csvOf(t, r, test.file, test.columns...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.file, diff)
		}
	}
	panel := paper.Figures()[0].Panels[0] // the points of the picture
	if diff := cmp.Diff([]draw.Point{{X: 9, Y: 66666.667, Low: 7599.85, High: 125733.484, Hollow: true}},
		r.Settings[0].steps(paper.MEGA, panel).Points, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("our point (-want +got):\n%s", diff)
	}
	if q := theirPoints(panel, paper.MEGA, 1).Points[0]; q.X != 9 || q.Y != 29890 {
		t.Errorf("the paper's point is %+v", q)
	}
	// QTA's budget makes the factor an upper bound; one below the others' steps leaves the median open.
	bounds := of(unsolved(paper.QTA, "4x5", 5), solved(paper.QTA, "4x5", 9, 11), solved(paper.MEGA, "4x5", 20, 21))
	if page := string(bounds.HTML()); !strings.Contains(page, "≤ 2.59 (") || !strings.Contains(page, "≥ 9.0<") {
		t.Error("bounds that are not marked")
	}
	if got := of(solved(paper.HER, "4x5", 5)).Settings[0].Beyond(); strings.Contains(got, "Curriculum") {
		t.Errorf("without runs of QTA its parameters are %s", got)
	}
	// 4 / 7.9 and 4 / 6.9; 66.67 / 29.89 and / 28.89.
	want := []beside{{"QTA", 1, false, 0.50632911, 0.57971014}, {"MEGA", 1, true, 2.2304004, 2.3076036}}
	if diff := cmp.Diff(want, r.Settings[0].Beside(), cmpopts.EquateApprox(0, 1e-7)); diff != "" {
		t.Errorf("beside the paper (-want +got):\n%s", diff)
	}
	// 2 and 8 times the paper's steps make 4 times, not 5.
	long := of(solved(paper.QTA, "4x5", 5), solved(paper.QTA, "6x5", 5))
	for i, factor := range []float64{2, 8} {
		g := long.Settings[0].Groups[i]
		g.Mean = factor * g.Paper.Mean
	}
	if got := long.Settings[0].Beside()[0].Steps; math.Abs(got-4) > 1e-9 {
		t.Errorf("2 and 8 times the paper's steps are %v times", got)
	}
}

// TestSorting keeps apart what is not the same: versions, maps, evaluations, what
// environments of one name answered, and networks at one step; of two runs that are
// the same the longer one counts.
func TestSorting(t *testing.T) {
	own := func(text string) []*lab.Record {
		runs := solved(paper.QTA, "4x5", 5)
		runs[0].Run.Environment, runs[0].Run.Map = "my", []string{text}
		return runs
	}
	older, often := solved(paper.QTA, "4x5", 50), solved(paper.QTA, "4x5", 5)
	older[0].Run.Version = "0.1.0"
	often[0].Run.EvalEvery = 500
	few := solved(paper.QTA, "4x5", 5)
	few[0].Run.Rollouts = 5
	elsewhere := solved(paper.QTA, "4x5", 5)
	elsewhere[0].Run.Environment, elsewhere[0].Run.Map = "robot", nil
	changed, other := *elsewhere[0], *elsewhere[0]
	changed.Run.Fingerprint = lab.Fingerprint{{{1}, {1}, {2}, {-1}}}
	elsewhere[0].Run.Fingerprint = lab.Fingerprint{{{1}, {1}, {3}, {-1}}}
	other.Outcome.Digest = "other" // and no fingerprint
	elsewhere = append(elsewhere, &changed, &other)
	c := &lab.Collection{Runs: slices.Concat(curves(paper.QTA, "4x5", []float64{0}), solved(paper.QTA, "4x5", 5),
		older, own("SG"), own("S.G"), often, elsewhere, few)}
	r := New(c)
	var got []string
	for _, s := range r.Settings {
		for _, g := range s.Groups {
			got = append(got, fmt.Sprintf("%s: %s %v, %v", s.Name, g.Maze, g.Length > 0, g.steps))
		}
	}
	want := []string{"small: 4x5 true, [50000 5000]", "small: robot false, [5000 5000 5000]", "small: my (its own map, 38f7c85b) true, [5000]",
		"small: my (its own map, 720494e4) true, [5000]",
		"small, 20 rollouts every 500 steps: 4x5 true, [5000]", "small, 5 rollouts every 1000 steps: 4x5 true, [5000]"}
	if diff := cmp.Diff(want, got); diff != "" || len(r.Skipped) != 1 {
		t.Errorf("%d skipped (-want +got):\n%s", len(r.Skipped), diff)
	}
}

// TestPage reads the page of runs among which much is odd.
func TestPage(t *testing.T) {
	failed := unsolved(paper.MEGA, "1U5", 90)
	failed[0].State, failed[0].Outcome = lab.Failed, lab.Outcome{Steps: 500,
		Message: "step 500: critic: NaN is not finite"}
	going := solved(paper.QTA, "4x5", 4)
	going[0].State, going[0].Outcome, going[0].Curve = lab.Stopped, lab.Outcome{}, nil
	single := solved(paper.QTA, "4x5", 6)
	single[0].Run.Params = qta.Paper()
	r := of(solved(paper.QTA, "4x5", 6, 7, 8), going, solved(paper.MEGA, "4x5", 20, 30),
		unsolved(paper.MEGA, "4x5", 150), failed, single)
	r.Skipped = []lab.Skip{{Path: "runs/<b>.json", Why: "odd"}}
	text := string(r.HTML())
	for _, want := range []string{
		"9 runs beside the paper", "Not ended, and counted in no statistic: 1.", "Failed: 1. ", "listed at the end: 1.", "runs/&lt;b&gt;.json",
		`3/3 <span class="source">+1 not ended`, ">2/3<", "≥ 66.7", ">7.9 ± ", ">6.9<", ">0.7 (3)<", "Figure 2, left", "hollow: a bound", "MEGA, paper",
		"-maze 4x5 -params small -set Curriculum=mega -seed 5 -eval 1000 -steps 130000 -stop solved",
		"5 of 7 that ended", `class="hollow s1"`, ">2/3</td>\n<td class=\"number\">30.0<", ">0/1</td>\n<td class=\"number\">≥ 90.0<",
		"Judged on runs with small: the paper’s parameters with HiddenSize=64, ",
		`class="single" id="setting-1"><summary>Parameters paper: 1 run</summary>`, "Claims that no run here speaks of", ">≥ 2.23<",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "NaN</td>"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if again := string(r.HTML()); again != text {
		t.Error("the same runs make another page the second time")
	}
}

// TestLooksOfReport measures a report in a browser: at the widths of a
// telephone and of a screen the page does not scroll sideways, no text of a
// picture is clipped or overlaps another, and no link has the browser's blue.
func TestLooksOfReport(t *testing.T) {
	var runs [][]*lab.Record
	for i, m := range paper.Methods() {
		for _, maze := range []string{"4x5", "12x5", "15x5", "1U5", "2U5"} {
			runs = append(runs, solved(m, maze, 5+9*i, 7+9*i), unsolved(m, maze, 60))
		}
	}
	// Figures 2, 3 and 6, left and right, and for each maze its learning.
	roomtest.Look(t, string(of(runs...).HTML()), `
	const svgs = page.querySelectorAll("svg").length, count = svgs === 6 + 5 ? [] : [svgs + " pictures"];
	const cut = [...page.querySelectorAll("table.ran td")].filter(e => e.getBoundingClientRect().right > frame.width).map(() => "cut off");
	const blue = [...page.querySelectorAll("a")].filter(e => page.defaultView.getComputedStyle(e).color === "rgb(0, 0, 238)").map(() => "blue");
	return [...count, ...cut, ...blue];`)
}
