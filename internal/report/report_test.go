package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"qta"
	"qta/internal/draw"
	"qta/internal/madeup"
	"qta/internal/paper"
	"qta/internal/roomtest"
	"qta/lab"
)

var update = flag.Bool("update", false, "rewrite what is shown in testdata")

// golden compares a text with a file of testdata.
func golden(t *testing.T, file, text string) {
	t.Helper()
	file = "testdata/" + file
	text = strings.ReplaceAll(text, qta.Version, "VERSION")
	if *update {
		roomtest.Write(t, file, text)
	}
	equal(t, "not what "+file+" has; -update rewrites it", roomtest.Read(t, file), text)
}

type groups = [][]*lab.Record

// of reports on runs, each with a seed and a directory of its own.
func of(runs ...[]*lab.Record) *Report { return New(madeup.Collect(runs...)) }

// quick makes up runs of QTA on 4x5, as [madeup.Steps] does.
func quick(thousands ...int) []*lab.Record {
	return madeup.Steps(qta.Quick(), paper.QTA, "4x5", thousands...)
}

// changed makes up a run of QTA on 4x5 whose identity is changed, as JSON says.
func changed(thousands int, changes string) []*lab.Record {
	runs := quick(thousands)
	if err := json.Unmarshal([]byte(changes), &runs[0].Run); err != nil {
		panic(err)
	}
	return runs
}

// running makes up a run that has not ended.
func running() []*lab.Record {
	runs := quick(90)
	runs[0].State = lab.Running
	runs[0].Outcome = lab.Outcome{}
	runs[0].Curve = nil
	return runs
}

// rows returns a line for each row of a report, with the steps of its ended runs.
func rows(r *Report) (lines []string) {
	for _, g := range r.All() {
		program := strings.Replace(g.Version(), qta.Version, "now", 1)
		if g.Older {
			program += ", other code"
		}
		line := g.Setting + " | " + g.Maze + " | " + g.Method + " | " + program
		lines = append(lines, fmt.Sprint(line, " | ", g.Steps))
	}
	return lines
}

var equal = roomtest.Equal

// TestMeans compares the statistics of a row's ended runs with numbers worked out by hand.
func TestMeans(t *testing.T) {
	for _, test := range []struct {
		what string
		runs groups
		want string
	}{
		{"an odd number", groups{quick(8, 6, 10)}, "3 of 3, mean 8000, median 8000, SD 1633"},
		{"an even number", groups{quick(4, 30, 10, 20)}, "4 of 4, mean 16000, median 15000, SD 9899"},
		{"an unsolved run counts with its budget and makes a bound", groups{quick(20, 30, -150)},
			"2 of 3, mean 66667, median 30000, SD 59067, a bound"},
		{"a running run does not count", groups{quick(7), running()},
			"1 of 1, mean 7000, median 7000, SD 0"},
		{"nothing has ended", groups{running()}, "0 of 0, mean 0, median 0, SD 0"},
	} {
		g := of(test.runs...).Groups[0]
		got := fmt.Sprintf("%d of %d, mean %.0f, median %.0f, SD %.0f", g.Solved, g.N(), g.Mean, g.Median, g.SD)
		if g.Bound() {
			got += ", a bound"
		}
		equal(t, test.what, test.want, got)
	}
}

// TestTable holds every column of the table to testdata/table.csv.
func TestTable(t *testing.T) {
	solved := madeup.Curves(qta.Quick(), paper.QTA, "4x5", []float64{0.45, 0.5, 1})
	solved[0].Outcome.FoundAt = 0
	share := 0.985
	solved[0].Outcome.HeldOut = &share
	unsolved := madeup.Groups("mega own 1U5 -2")[0]
	unsolved[0].Path = "runs, of \"May\""
	unsolved[0].Run.Code = "fused 1"
	unsolved[0].Outcome.Steps = 2500 // 500 after its last evaluation
	unsolved[0].Limits.Steps = 2500
	ofAnother := changed(5, `{"map": null, "environment": "a drone"}`)
	golden(t, "table.csv", string(of(solved, unsolved, running(), ofAnother).CSV()))
}

// TestPoints holds the points of the figures to numbers worked out by hand.
func TestPoints(t *testing.T) {
	panel := paper.Figures()[0].Panels[0]
	// -150 is a run that was not solved within 150 thousand steps.
	r := of(madeup.Groups("quick MEGA 4x5 20 30 -150, quick MEGA 6x5 40 60")...)
	near := cmpopts.EquateApprox(0, 0.01)
	ours := []draw.Mean{
		{X: 9, Y: 66.667, Each: []float64{20, 30}, Bounds: []float64{150}},
		{X: 13, Y: 50, Each: []float64{40, 60}},
	}
	equal(t, "ours", ours, r.ourLine(Quick, paper.MEGA, panel, 1).Means, near)
	fewMazes := of(madeup.Groups("quick QTA 4x5 5, quick QTA 6x5 6, quick QTA 9x5 9")...)
	few := fewMazes.ourLine(Quick, paper.QTA, panel, 0).Means
	equal(t, "a gap beyond one maze without runs", false, few[1].Gap)
	equal(t, "a gap beyond two", true, few[2].Gap)
	slower := otherIndex(draw.Line{Means: []draw.Mean{{X: 9, Y: 4, Low: 3, High: 5}}})
	equal(t, "the paper's VDS with 2500 steps for an index", []draw.Mean{{X: 9, Y: 10}}, slower.Means)
	theirs := draw.Mean{X: 9, Y: 29.89, Low: 27.78, High: 32}
	equal(t, "the paper's first", theirs, theirLine(panel, paper.MEGA, 1).Means[0], near)
	means := []draw.Mean{{X: 1, Y: 0.25}, {X: 2, Y: 0.5}, {X: 3, Y: 1}}
	got := success(madeup.On(paper.QTA, "8x5", []float64{0, 1, 1}, []float64{0.5, 0}))
	equal(t, "a mean success, of all runs that have the evaluation", means, got, near)
}

// TestFigures draws those of the paper's figures that the runs are about.
func TestFigures(t *testing.T) {
	const left = "Figure 2, left: M-mazes."
	noisy := madeup.On(paper.Noise5, "8x5", []float64{0, 1})
	quiet := madeup.On(paper.QTA, "8x5", []float64{0, 1})
	for _, test := range []struct {
		what string
		runs groups
		want string
	}{
		{"QTA", groups{quick(5)}, left},
		{"square waves", madeup.Groups("paper QTA 1U5 5"), "Figure 2, right: square-wave mazes."},
		{"a map of its own", groups{changed(5, `{"map": ["SG"]}`)}, ""},
		{"other parameters", madeup.Groups("small QTA 4x5 5"), ""},
		{"another replay", madeup.Groups("paper QTA 4x5 5, paper PER 4x5 5"),
			left + " Figure 3, left: replay by uncertainty."},
		{"ensembles with the set paper, which is not that of bootstrapped critics",
			madeup.Groups("paper QTA 4x5 5, paper ensembles 4x5 5"),
			left + " Figure 6, right: critic ensembles."},
		{"ensembles with the set paper, and more with quick on mazes that Figure 6 lacks",
			madeup.Groups("paper ensembles 4x5 5, quick ensembles 1U5 5"),
			"Figure 6, right: critic ensembles."},
		{"noise without QTA", groups{noisy}, ""},
		{"noise", groups{noisy, quiet},
			left + " Figure 4. The paper does not name its maze; these runs are on 8x5 with quick."},
	} {
		var got []string
		for _, p := range of(test.runs...).Figures() {
			got = append(got, p.Caption)
		}
		equal(t, test.what, test.want, strings.Join(got, " "))
	}
}

// TestFigure4 has runs with noise on two mazes and with two sets. The figure is of the maze and
// the set with the most runs of one noise, and leaves out the others. It also leaves out a noise
// whose runs share no version with those without noise. It names the versions.
func TestFigure4(t *testing.T) {
	curve := []float64{0, 1}
	quiet := madeup.On(paper.QTA, "8x5", curve, curve)
	quiet[1].Run.Version = "9.0.0"
	other := madeup.On(paper.Noise5, "8x5", curve)
	other[0].Run.Params.Batch = 1024
	older := madeup.On(paper.Noise5, "8x5", curve)
	older[0].Run.Version = "0.0.1"
	r := of(quiet, other, older,
		madeup.On(paper.Noise1, "8x5", curve),
		madeup.On(paper.Noise3, "8x5", curve, curve, curve),
		madeup.On(paper.QTA, "6x5", curve),
		madeup.On(paper.Noise1, "6x5", curve, curve))
	charts, caption := r.figure4(paper.Figures()[2].Panels[0])
	var got []string
	for _, c := range charts {
		title := strings.TrimSuffix(c.Title, " on the uncertainty")
		got = append(got, title+"; "+strings.Replace(c.Lines[1].Name, qta.Version, "now", 1))
	}
	equal(t, caption, []string{
		"Figure 4: no noise; ours, 2 runs of now and 9.0.0",
		"Figure 4: noise 0.01; ours, 1 run of now",
		"Figure 4: noise 0.03; ours, 3 runs of now",
	}, got)
}

// TestSorting puts a second run, with seed 1, beside a first. The second has a row of its
// own if it differs in anything but the seed.
func TestSorting(t *testing.T) {
	const first = "quick | 4x5 | QTA | now | [5000"
	equal(t, "another seed", []string{first + " 6000]"}, rows(of(quick(5, 6))))
	for changes, second := range map[string]string{
		`{"version": "0.1.0"}`:                 "quick | 4x5 | QTA | 0.1.0, other code",
		`{"map": ["SG"]}`:                      "quick | 4x5 (its own map, 38f7c85b) | QTA | now",
		`{"map": null}`:                        "quick | 4x5 (no maze) | QTA | now",
		`{"eval_every": 500}`:                  "quick, 20 rollouts every 500 steps | 4x5 | QTA | now",
		`{"eval_rollouts": 5}`:                 "quick, 5 rollouts every 1000 steps | 4x5 | QTA | now",
		`{"own_curriculum": true}`:             "quick, a curriculum of its user | 4x5 | QTA | now",
		`{"parameters": {"Batch": 64}}`:        "quick Batch=64 | 4x5 | QTA | now",
		`{"parameters": {"Curriculum":"her"}}`: "quick | 4x5 | HER | now",
	} {
		want := []string{first + "]", second + " | [6000]"}
		equal(t, "with "+changes, want, rows(of(quick(5), changed(6, changes))))
	}
}

// TestEnvironments keeps apart environments of one name that answered differently. Answers
// that differ only in a last digit count as equal. An environment without recorded answers
// counts as the first of its name.
func TestEnvironments(t *testing.T) {
	robot := func(thousands int, answers string) []*lab.Record {
		return changed(thousands, `{"environment": "robot", "map": null, "fingerprint": `+answers+`}`)
	}
	const near = "[[1, 1, 3, -1]]"
	const far = "[[1, 1, 2, -1]]"
	r := of(robot(1, "null"), robot(2, near), robot(3, far), robot(4, "[[1, 1, 3.0000000001, -1]]"),
		robot(5, far), robot(6, "null"))
	equal(t, "six robots", []string{
		"quick | robot | QTA | now | [1000 2000 4000 6000]",
		"quick | robot (environment 2 of this name) | QTA | now | [3000 5000]",
	}, rows(r))
}

// TestNewest has runs of different code in one place. The figures show the newest
// version that has ended runs. The list of all rows has the others after it.
func TestNewest(t *testing.T) {
	begun := running()
	begun[0].Run.Version = "0.11.0"
	r := of(begun,
		changed(1, `{"code": "fused 1", "version": "0.9.0"}`),
		changed(2, `{"code": "fused 2", "version": "0.10.0"}`),
		changed(3, `{"code": "fused 3", "version": "0.10.0"}`),
		changed(4, `{"code": "fused 3", "version": "0.10.0"}`))
	equal(t, "all", []string{
		"quick | 4x5 | QTA | 0.10.0 | [3000 4000]",
		"quick | 4x5 | QTA | 0.10.0, other code | [2000]",
		"quick | 4x5 | QTA | 0.9.0, other code | [1000]",
		"quick | 4x5 | QTA | 0.11.0, other code | []",
	}, rows(r))
	equal(t, "the number of rows that figures show of one place", 1, len(r.Groups))
}

// TestOrder checks that rows are sorted by set, then by maze, then by method. The paper's
// M-mazes come first, by length, then its square waves, then other mazes.
func TestOrder(t *testing.T) {
	often := quick(1)
	often[0].Run.EvalEvery = 500
	others := madeup.Groups("quick Batch=64 QTA 4x5 1, paper QTA 4x5 1, quick HER 10x5 1, " +
		"quick HER 1U5 1, quick QTA 7U5 1, quick QTA 3x5 1, quick QTA 10x5 1, quick QTA 2U5 1, " +
		"quick QTA 4x5 1, quick QTA 1U5 1, paper TD 6x5 1, quick MEGA 4x5 1, small QTA 4x5 1")
	r := of(append(others, often)...)
	const want = `paper, 4x5, QTA
paper, 6x5, QTA + TD-PER
quick, 4x5, QTA
quick, 4x5, MEGA
quick, 10x5, QTA
quick, 10x5, HER
quick, 1U5, QTA
quick, 1U5, HER
quick, 2U5, QTA
quick, 3x5, QTA
quick, 7U5, QTA
quick Batch=64, 4x5, QTA
quick, 20 rollouts every 500 steps, 4x5, QTA
small, 4x5, QTA
`
	var got strings.Builder
	for _, g := range r.Groups {
		got.WriteString(g.Setting + ", " + g.Maze + ", " + g.Method + "\n")
	}
	equal(t, "rows", want, got.String())
}

// TestCopies has copies of one run, which two versions with the same code made. The longest
// that has ended is kept, even if one that has not is longer. The others are listed among the
// files that were not used. The last run has the same seed but ends with other
// networks, so it is no copy.
func TestCopies(t *testing.T) {
	copied := func(path string, steps int, state string) *lab.Record {
		r := quick(5)[0]
		r.Path = path
		r.Run.Code = "fused 1"
		r.Outcome.Steps = steps
		r.State = state
		if state != lab.Solved {
			r.Outcome.SolvedAt = 0
		}
		return r
	}
	short := copied("short", 1000, lab.Stopped)
	short.Run.Version = "0.1.0"
	short.Curve = short.Curve[:1]
	another := copied("another", 5000, lab.Solved)
	another.Outcome.Digest = "another"
	r := New(&lab.Collection{Runs: []*lab.Record{
		short,
		copied("killed", 5000, lab.Running),
		copied("near", 4990, lab.Finished),
		copied("long", 5000, lab.Solved),
		copied("longer", 6000, lab.Running),
		another,
	}})
	equal(t, "rows", []string{"quick | 4x5 | QTA | now | [5000 5000]"}, rows(r))
	var skipped []string
	for _, s := range r.Skipped {
		skipped = append(skipped, s.Path)
		equal(t, "why "+s.Path+" is skipped", "this run is also in long", s.Why)
	}
	equal(t, "skipped", []string{"near", "longer", "killed", "short"}, skipped)
}

// TestUnmoved compares the codes in unmoved with what the two sets compute now.
func TestUnmoved(t *testing.T) {
	for _, p := range []qta.Params{qta.MEGA(), qta.VDS()} {
		name := lab.SetName(p)
		now := lab.Code(p)
		if now != unmoved[name] && !strings.HasPrefix(now, "generic") {
			t.Errorf("%s has moved: it computes %s, its runs without a code %s", name, now, unmoved[name])
		}
	}
	runs := madeup.Groups("mega own 4x5 20 30 40")[0]
	runs[1].Run.Version = "0.1.0"
	runs[2].Run.Code = unmoved["mega"]
	const row = "mega | 4x5 | MEGA | now | [20000 30000 40000]"
	equal(t, "old and new", []string{row}, rows(of(runs)))
}

// TestUntrained marks a run that ended before its first update. QTA's first update is at
// step 51, and VDS's at the end of the first episode.
func TestUntrained(t *testing.T) {
	for set, first := range map[string]int{"quick": 51, "vds": 50} {
		for _, steps := range []int{first - 1, first} {
			runs := madeup.Groups(set + " own 4x5 -1")[0]
			runs[0].Outcome.Steps = steps
			g := of(runs).Groups[0]
			marked := g.Untrained == 1 && strings.Contains(g.Each(), "untrained")
			equal(t, fmt.Sprintf("%s marked after %d steps", set, steps), steps < first, marked)
		}
	}
}

// TestPage holds the text of a page to testdata/page.txt. Its runs include odd ones, such as failed
// runs: one whose numbers went wrong counts, and one that met a full disk does not.
func TestPage(t *testing.T) {
	failed := madeup.Groups("mega own 1U5 -90 -90")[0]
	for i, message := range []string{"step 500: critic: NaN is not finite", "no space left"} {
		failed[i].State = lab.Failed
		failed[i].Outcome = lab.Outcome{Steps: 500, Message: message}
	}
	untrained := madeup.Groups("small QTA 4x5 -1")[0]
	untrained[0].Outcome = lab.Outcome{Steps: 40}
	r := of(quick(6, 7, 8), running(), madeup.Groups("mega own 4x5 20 30 -150")[0], failed,
		madeup.On(paper.QTA, "8x5", []float64{0, 1, 0.5, 1, 0.9}),
		madeup.Growing("12x5", 1, 2),
		madeup.On(paper.Noise5, "8x5", []float64{0, 1}),
		untrained,
		madeup.Groups("vds own 1U5 9")[0])
	r.Skipped = []lab.Skip{{Path: "runs/<b>.json", Why: "odd"}}
	page := string(r.HTML())
	for _, never := range []string{"<script", "http://", "https://", "NaN<", "<b>"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	equal(t, "the page a second time", page, string(r.HTML()))

	text := regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(page, "")
	text = regexp.MustCompile(`</t[hd]>`).ReplaceAllString(text, " | ")
	text = regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
	golden(t, "page.txt", regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(text, "\n"))
}
