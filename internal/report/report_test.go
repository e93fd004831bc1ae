package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qta"
	"qta/internal/draw"
	"qta/internal/madeup"
	"qta/internal/paper"
	"qta/lab"
)

// of reports on runs, each with a seed and a directory of its own.
func of(groups ...[]*lab.Record) *Report { return New(madeup.Collect(groups...)) }

// TestNumbers holds the tables to numbers worked out by hand.
func TestNumbers(t *testing.T) {
	half := madeup.Curves(qta.Quick(), paper.QTA, "4x5", []float64{0.45, 0.5, 1})
	half[0].Outcome.FoundAt = 0
	share := 0.985
	half[0].Outcome.HeldOut = &share
	going := madeup.Steps(qta.Quick(), paper.QTA, "4x5", 90)
	going[0].State, going[0].Outcome, going[0].Curve = lab.Running, lab.Outcome{}, nil
	r := of(half, madeup.Steps(qta.Quick(), paper.QTA, "4x5", 5), madeup.Steps(qta.Quick(), paper.MEGA, "4x5", 20, 30),
		madeup.Steps(qta.Quick(), paper.MEGA, "4x5", -150), going)
	want := []string{"method seed state steps found_at half_at solved_at held_out counted_as",
		"QTA 0 solved 3000 0 2000 3000 0.985 3000",
		"QTA 1 solved 5000 700 5000 5000  5000", // 0.45 is no half
		"QTA 5 running 0 0 0 0  ", "MEGA 2 solved 20000 700 20000 20000  20000",
		"MEGA 3 solved 30000 700 30000 30000  30000", "MEGA 4 finished 150000 700 0 0  150000"}
	rows, err := csv.NewReader(bytes.NewReader(r.CSV())).ReadAll()
	var got []string
	for _, row := range rows {
		got = append(got, regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(strings.Join(row[4:13], " "), "")) // no units
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	// 20, 30 and 150 thousand have the mean 66.67, the population's deviation 59.07.
	panel := paper.Figures()[0].Panels[0] // the points of the picture
	if diff := cmp.Diff([]draw.Point{{X: 9, Y: 66666.667, Low: 7599.85, High: 125733.484, Hollow: true}},
		r.steps(Quick, paper.MEGA, panel).Points, cmpopts.EquateApprox(0, 0.01)); diff != "" {
		t.Errorf("our point (-want +got):\n%s", diff)
	}
	if q := theirPoints(panel, paper.MEGA, 1).Points[0]; q.X != 9 || q.Y != 29890 {
		t.Errorf("the paper's point is %+v", q)
	}
	points := success(madeup.On(paper.QTA, []float64{0, 1, 1}, []float64{0.5, 0})) // of Figure 4
	if diff := cmp.Diff([]draw.Point{{X: 1000, Y: 0.25}, {X: 2000, Y: 0.5}, {X: 3000, Y: 1}}, points); diff != "" {
		t.Errorf("the mean success (-want +got):\n%s", diff)
	}
	if got := of(madeup.Steps(qta.Quick(), paper.QTA, "4x5", 5)).Figures(); len(got) != 1 {
		t.Errorf("runs of quick alone are in %d figures, want Figure 2", len(got))
	}
}

// TestSorting keeps apart what is not the same: code, maps, evaluations, what
// environments of one name answered, and networks at one step; of two runs that are
// the same the longer one counts. Without a code it is the version that counts, but not
// of the rivals' own sets.
func TestSorting(t *testing.T) {
	made := func(p qta.Params, thousands int, change func(*lab.Identity)) *lab.Record {
		run := madeup.Steps(p, paper.QTA, "4x5", thousands)[0]
		change(&run.Run)
		return run
	}
	mapped := func(text string) *lab.Record {
		return made(qta.Quick(), 5, func(id *lab.Identity) { id.Environment, id.Map = "my", []string{text} })
	}
	unmapped := func(name string, answered lab.Fingerprint) *lab.Record {
		return made(qta.Quick(), 5, func(id *lab.Identity) { id.Environment, id.Map, id.Fingerprint = name, nil, answered })
	}
	other := unmapped("robot", nil)
	other.Outcome.Digest = "other"
	c := &lab.Collection{Runs: []*lab.Record{
		madeup.Curves(qta.Quick(), paper.QTA, "4x5", []float64{0})[0],
		made(qta.Quick(), 5, func(*lab.Identity) {}),
		made(qta.Quick(), 50, func(id *lab.Identity) { id.Version = "0.1.0" }),
		made(qta.Quick(), 70, func(id *lab.Identity) { id.Code, id.Version = "fused 1", "0.10.0" }),
		made(qta.Quick(), 90, func(id *lab.Identity) { id.Code, id.Version = "fused 2", "0.9.0" }),
		made(qta.MEGA(), 20, func(*lab.Identity) {}),
		made(qta.MEGA(), 30, func(id *lab.Identity) { id.Version, id.Seed = "0.1.0", 1 }),
		made(qta.MEGA(), 30, func(id *lab.Identity) { id.Code, id.Seed = unmoved["mega"], 1 }),
		mapped("SG"), mapped("S.G"), unmapped("robot", lab.Fingerprint{{1, 1, 3, -1}}),
		unmapped("robot", lab.Fingerprint{{1, 1, 2, -1}}), other, unmapped("4x5", lab.Fingerprint{{1, 1, 3, -1}}),
		made(qta.Quick(), 5, func(id *lab.Identity) { id.EvalEvery = 500 }),
		made(qta.Quick(), 5, func(id *lab.Identity) { id.Rollouts = 5 }),
		made(qta.Quick(), 5, func(id *lab.Identity) { id.Own = true })}}
	r := New(c)
	var got []string
	for _, g := range r.All() {
		got = append(got, fmt.Sprintf("%s (%s): %s %v %q, %v of %d", g.Setting, g.Program, g.Maze, g.Length > 0, g.Family,
			g.Steps, len(g.All)))
	}
	want := []string{`quick (0.10.0): 4x5 true "x5", [70000] of 1`, `quick (0.5.0): 4x5 (no maze) false "", [5000] of 1`,
		`quick (0.5.0): robot false "", [5000 5000 5000] of 3`,
		`quick (0.5.0): my (its own map, 38f7c85b) true "", [5000] of 1`,
		`quick (0.5.0): my (its own map, 720494e4) true "", [5000] of 1`,
		`mega (0.5.0): 4x5 true "x5", [20000 30000] of 2`,
		`quick, 20 rollouts every 500 steps (0.5.0): 4x5 true "x5", [5000] of 1`,
		`quick, 5 rollouts every 1000 steps (0.5.0): 4x5 true "x5", [5000] of 1`,
		`quick, a curriculum of its user (0.5.0): 4x5 true "x5", [5000] of 1`,
		`quick (0.9.0, other code): 4x5 true "x5", [90000] of 1`, `quick (0.5.0, other code): 4x5 true "x5", [5000] of 1`,
		`quick (0.1.0, other code): 4x5 true "x5", [50000] of 1`}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "0.5.0", qta.Version)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(r.Skipped) != 2 {
		t.Errorf("%d skipped (-want +got):\n%s", len(r.Skipped), diff)
	}
}

// TestUnmoved holds what is said of the code of older runs to the code as it is.
func TestUnmoved(t *testing.T) {
	for _, p := range []qta.Params{qta.MEGA(), qta.VDS()} {
		name := lab.SetName(p)
		if now := lab.Code(p); now != unmoved[name] && !strings.HasPrefix(now, "generic") {
			t.Errorf("%s computes %s, and its runs without a code %s: it has moved", name, now, unmoved[name])
		}
	}
}

// TestPage reads the page of runs among which much is odd.
func TestPage(t *testing.T) {
	failed := madeup.Steps(qta.MEGA(), paper.Method{}, "1U5", -90)
	failed[0].State, failed[0].Outcome = lab.Failed, lab.Outcome{Steps: 500,
		Message: "step 500: critic: NaN is not finite"}
	going := madeup.Steps(qta.Quick(), paper.QTA, "4x5", 4)
	going[0].State, going[0].Outcome, going[0].Curve = lab.Stopped, lab.Outcome{}, nil
	solvedAndOn := madeup.On(paper.QTA, []float64{0, 1, 0.5, 1, 0.9})
	r := of(madeup.Steps(qta.Quick(), paper.QTA, "4x5", 6, 7, 8), going,
		madeup.Steps(qta.MEGA(), paper.Method{}, "4x5", 20, 30, -150), failed, solvedAndOn, madeup.Growing("12x5", 1, 2),
		madeup.On(paper.Noise5, []float64{0, 1}), madeup.Steps(qta.Small(), paper.QTA, "4x5", 5),
		madeup.Steps(qta.VDS(), paper.Method{}, "1U5", 9))
	r.Skipped = []lab.Skip{{Path: "runs/<b>.json", Why: "odd"}}
	page := string(r.HTML())
	for _, want := range []string{"<h1>Query The Agent: 14 runs beside the paper</h1>",
		"Still running, and counted nowhere: 1.", "Failed: 1; a run", "listed at the end: 1.", "runs/&lt;b&gt;.json",
		">7.9 ± 1.1<", ">7.0 ± 0.8<", ">3 of 3, 1 running<", ">≥ 66.7 ± 59.1</td><td class=\"number\">30.0<", ">2.0<", ">0 of 1<",
		"<td class=\"each\">20 (0.7), 30 (0.7), - in 150 (0.7)</td>", "Figure 2, left",
		"Figure 4. The paper does not name its maze", "MEGA, the paper", `class="hollow s1"`, "<th>seed 9</th><td class=\"number\">1.00</td>",
		"-maze 4x5 -params mega -seed 5 -eval 1000 -steps 130000 -stop solved"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "NaN<"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if again := string(r.HTML()); again != page {
		t.Error("the same runs make another page the second time")
	}
}
