package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
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
func curves(p qta.Params, m paper.Method, maze string, success ...[]float64) (runs []*lab.Record) {
	environment, err := qta.NewMaze(maze)
	if err != nil {
		panic(err)
	}
	for _, ys := range success {
		id := lab.Options{Name: maze, Params: m.Apply(p)}.Identity(lab.Maze(environment))
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

// steps makes up runs that solved a maze after so many thousand steps, or that did
// not within so many if the number is negative.
func steps(p qta.Params, m paper.Method, maze string, thousands ...int) []*lab.Record {
	var all [][]float64
	for _, n := range thousands {
		y := make([]float64, max(n, -n))
		if n > 0 {
			y[n-1] = 1
		}
		all = append(all, y)
	}
	return curves(p, m, maze, all...)
}

// on makes up runs that went on to a budget of as many thousand steps as they have
// evaluations.
func on(m paper.Method, success ...[]float64) []*lab.Record {
	runs := curves(qta.Quick(), m, "8x5", success...)
	for i, r := range runs {
		r.State, r.Limits = lab.Finished, lab.Limits{Steps: 1000 * len(success[i]), Stop: lab.StopNever}
	}
	return runs
}

// growing makes up runs that tell of Figure 5, with a change of the mean value each.
func growing(maze string, numbers ...float64) []*lab.Record {
	runs := steps(qta.Paper(), paper.QTA, maze, slices.Repeat([]int{30}, len(numbers))...)
	for i, r := range runs {
		r.Outcome.Figure5 = &lab.Figure5{ValueGrowth: numbers[i]}
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

// csvOf returns columns of a report's CSV file, a line for each row.
func csvOf(t *testing.T, r *Report, columns ...string) (lines []string) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(r.CSV())).ReadAll()
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
	half := curves(qta.Quick(), paper.QTA, "4x5", []float64{0.45, 0.5, 1})
	half[0].Outcome.FoundAt = 0
	share := 0.985
	half[0].Outcome.HeldOut = &share
	going := steps(qta.Quick(), paper.QTA, "4x5", 90)
	going[0].State, going[0].Outcome, going[0].Curve = lab.Running, lab.Outcome{}, nil
	r := of(half, steps(qta.Quick(), paper.QTA, "4x5", 5), steps(qta.Quick(), paper.MEGA, "4x5", 20, 30),
		steps(qta.Quick(), paper.MEGA, "4x5", -150), going)
	want := []string{"QTA 2000 3000 0 3000 0.985 0 solved 3000",
		"QTA 5000 5000 700 5000  1 solved 5000", // 0.45 is no half
		"QTA 0 0 0   5 running 0", "MEGA 20000 20000 700 20000  2 solved 20000",
		"MEGA 30000 30000 700 30000  3 solved 30000", "MEGA 0 0 700 150000  4 finished 150000"}
	got := csvOf(t, r, "method", "half_at", "solved_at", "found_at", "counted_as", "held_out", "seed", "state", "steps")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 20, 30 and 150 thousand have the mean 66.67, the population's deviation 59.07.
	panel := paper.Figures()[0].Panels[0] // the points of the picture
	if diff := cmp.Diff([]draw.Point{{X: 9, Y: 66666.667, Low: 7599.85, High: 125733.484, Hollow: true}},
		r.steps(quick, paper.MEGA, panel).Points, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("our point (-want +got):\n%s", diff)
	}
	if q := theirPoints(panel, paper.MEGA, 1).Points[0]; q.X != 9 || q.Y != 29890 {
		t.Errorf("the paper's point is %+v", q)
	}
	points := success(on(paper.QTA, []float64{0, 1, 1}, []float64{0.5, 0})) // of Figure 4
	if diff := cmp.Diff([]draw.Point{{X: 1000, Y: 0.25}, {X: 2000, Y: 0.5}, {X: 3000, Y: 1}}, points); diff != "" {
		t.Errorf("the mean success (-want +got):\n%s", diff)
	}
	if got := of(steps(qta.Quick(), paper.QTA, "4x5", 5)).Figures(); len(got) != 1 {
		t.Errorf("runs of quick alone are in %d figures, want Figure 2", len(got))
	}
	// 16 / 7.9 and 100 / 12.52 make 4.02 times, not 5; a budget counts, and makes it a bound.
	rate := qta.Paper()
	rate.PredictiveRate = 5e-4
	for want, r := range map[string]*Report{
		"on 2 of the paper’s 17 mazes, QTA solved 2 of 3 runs (4x5, 1 of 2 in 17 thousand steps), in at least 4.02 times": of(
			steps(qta.Paper(), paper.QTA, "4x5", 15, -17), steps(qta.Paper(), paper.QTA, "6x5", 100), steps(rate, paper.QTA, "4x5", 5)),
		"(14x5, 0 of 1 in 120 thousand steps, but 1 of 1 with PredictiveRate=0.0005, after 54), in": of(
			steps(qta.Paper(), paper.QTA, "14x5", -120), steps(rate, paper.QTA, "14x5", 54)),
		"No run here has": of(steps(qta.Paper(), paper.QTA, "3x5", 4), steps(qta.Paper(), paper.QTA, "6U5", 9)),
	} {
		if got := string(r.HTML()); !strings.Contains(got, want) {
			t.Errorf("the report of %d runs lacks %q", len(r.Runs), want)
		}
	}
}

// TestSorting keeps apart what is not the same: versions, maps, evaluations, what
// environments of one name answered, and networks at one step; of two runs that are
// the same the longer one counts.
func TestSorting(t *testing.T) {
	own := func(text string) []*lab.Record {
		runs := steps(qta.Quick(), paper.QTA, "4x5", 5)
		runs[0].Run.Environment, runs[0].Run.Map = "my", []string{text}
		return runs
	}
	older, often := steps(qta.Quick(), paper.QTA, "4x5", 50), steps(qta.Quick(), paper.QTA, "4x5", 5)
	older[0].Run.Version = "0.1.0"
	often[0].Run.EvalEvery = 500
	few := steps(qta.Quick(), paper.QTA, "4x5", 5)
	few[0].Run.Rollouts = 5
	elsewhere := steps(qta.Quick(), paper.QTA, "4x5", 5)
	elsewhere[0].Run.Environment, elsewhere[0].Run.Map = "robot", nil
	changed, other := *elsewhere[0], *elsewhere[0]
	changed.Run.Fingerprint = lab.Fingerprint{{1, 1, 2, -1}}
	elsewhere[0].Run.Fingerprint = lab.Fingerprint{{1, 1, 3, -1}}
	other.Outcome.Digest = "other" // and no fingerprint
	elsewhere = append(elsewhere, &changed, &other)
	c := &lab.Collection{Runs: slices.Concat(curves(qta.Quick(), paper.QTA, "4x5", []float64{0}),
		steps(qta.Quick(), paper.QTA, "4x5", 5),
		older, own("SG"), own("S.G"), often, elsewhere, few)}
	r := New(c)
	var got []string
	for _, g := range r.Groups {
		got = append(got, fmt.Sprintf("%s: %s %v %q, %v of %d", g.Setting, g.Maze, g.Length > 0, g.Family, g.steps,
			len(g.All)))
	}
	want := []string{`quick: 4x5 true "x5", [50000 5000] of 2`, `quick: robot false "", [5000 5000 5000] of 3`,
		`quick: my (its own map, 38f7c85b) true "", [5000] of 1`, `quick: my (its own map, 720494e4) true "", [5000] of 1`,
		`quick, 20 rollouts every 500 steps: 4x5 true "x5", [5000] of 1`,
		`quick, 5 rollouts every 1000 steps: 4x5 true "x5", [5000] of 1`}
	if diff := cmp.Diff(want, got); diff != "" || len(r.Skipped) != 1 {
		t.Errorf("%d skipped (-want +got):\n%s", len(r.Skipped), diff)
	}
}

// TestPage reads the page and the text of runs among which much is odd.
func TestPage(t *testing.T) {
	failed := steps(qta.MEGA(), paper.Method{}, "1U5", -90)
	failed[0].State, failed[0].Outcome = lab.Failed, lab.Outcome{Steps: 500,
		Message: "step 500: critic: NaN is not finite"}
	going := steps(qta.Quick(), paper.QTA, "4x5", 4)
	going[0].State, going[0].Outcome, going[0].Curve = lab.Stopped, lab.Outcome{}, nil
	solvedAndOn := on(paper.QTA, []float64{0, 1, 0.5, 1, 0.9})
	r := of(steps(qta.Quick(), paper.QTA, "4x5", 6, 7, 8), going, steps(qta.MEGA(), paper.Method{}, "4x5", 20, 30),
		steps(qta.MEGA(), paper.Method{}, "4x5", -150), failed, solvedAndOn, growing("12x5", 1, 2),
		on(paper.Noise5, []float64{0, 1}), steps(qta.Small(), paper.QTA, "4x5", 5),
		steps(qta.VDS(), paper.Method{}, "1U5", 9))
	r.Skipped = []lab.Skip{{Path: "runs/<b>.json", Why: "odd"}}
	page, text := string(r.HTML()), string(r.Markdown())
	for _, test := range []struct{ text, want string }{
		{page, "Not ended, and counted nowhere: 1."}, {page, "Failed: 1; where"}, {page, "listed at the end: 1."},
		{page, "runs/&lt;b&gt;.json"}, {page, ">7.9 ± 1.1<"}, {page, ">7.0 ± 0.8<"}, {page, ">3 of 3, 1 running<"},
		{page, ">≥ 66.7 ± 59.1<"}, {page, ">2.0<"}, {page, ">0 of 1<"}, {page, "Figure 2, left"}, {page, "Figure 4, whose maze"},
		{page, "MEGA, the paper"}, {page, `class="hollow s1"`}, {page, "<th>seed 9</th><td class=\"number\">1.00</td>"},
		{page, "-maze 4x5 -params mega -seed 5 -eval 1000 -steps 130000 -stop solved"},
		{page, "Other parameter sets, with"}, {page, "<details><summary>Other"},
		{text, "| quick | 8x5 | QTA | 16.3 | 2.0 | 1 of 1 | 2 (0.7) |"},
		{text, "| mega | 4x5 | MEGA | 29.9 | ≥ 66.7 | 2 of 3 | 20 (0.7), 30 (0.7), - in 150 (0.7) |"},
		{text, "| above 0 in 2 of 2, mean 1.5 | undecided (takes six runs) | growth of the mean value: 2 QTA (paper); 12x5 |"},
		{text, "| VDS fails to solve many environments. |  |  | not run | is not judged: it takes five mazes and a rule of what is many |"},
		{string(of(steps(qta.Small(), paper.QTA, "4x5", 5)).HTML()), "<details open><summary>Other"},
	} {
		if !strings.Contains(test.text, test.want) {
			t.Errorf("the report lacks %q", test.want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "NaN<"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	before, after, _ := strings.Cut(page, "<summary>Other parameter sets")
	for _, set := range []string{"<th>mega<", "<th>vds<", "<th>quick<", "<th>paper<"} {
		if strings.Contains(after, set) || !strings.Contains(before, set) {
			t.Errorf("the runs of %s are not among the judged", set)
		}
	}
	if again := string(r.HTML()); again != page {
		t.Error("the same runs make another page the second time")
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
				runs = append(runs, steps(p, m, maze, 5+9*i, 7+9*i, -60))
			}
		}
		runs = append(runs, on(m, []float64{0, 1}))
	}
	runs = append(runs, steps(qta.MEGA(), paper.Method{}, "4x5", 60), steps(qta.Paper(), paper.QTA, "1U5", 60),
		growing("12x5", 1, 1, 1, 1, 1, 1))
	page := strings.ReplaceAll(string(of(runs...).HTML()), "<details>", "<details open>")
	// Figures 2, 3 and 6, left and right, and Figure 4.
	roomtest.Look(t, page, `
	const svgs = page.querySelectorAll("svg").length, count = svgs === 7 ? [] : [svgs + " pictures"];
	const high = page.documentElement.scrollHeight;
	return [...count, ...(frame.width > 1200 && high > 5333 ? [high + " pixels high"] : [])];`)
}
