package report

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
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

var update = flag.Bool("update", false, "rewrite the text of the page in testdata")

type groups = [][]*lab.Record

// of reports on runs, each with a seed and a directory of its own.
func of(runs ...[]*lab.Record) *Report { return New(madeup.Collect(runs...)) }

// quick makes up runs of QTA on 4x5, as [madeup.Steps] does.
func quick(thousands ...int) []*lab.Record {
	return madeup.Steps(qta.Quick(), paper.QTA, "4x5", thousands...)
}

// changed makes up a run of QTA on 4x5 whose identity is changed.
func changed(thousands int, change func(*lab.Identity)) []*lab.Record {
	runs := quick(thousands)
	change(&runs[0].Run)
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
		lines = append(lines, fmt.Sprintf("%s | %s | %s | %s | %v", g.Setting, g.Maze, g.Method, program, g.Steps))
	}
	return lines
}

var equal = roomtest.Equal

// TestMeans compares the statistics of a row's ended runs with numbers worked out by hand.
func TestMeans(t *testing.T) {
	for _, test := range []struct {
		what string
		runs groups
		want string // thousands of steps
	}{
		{"an odd number", groups{quick(8, 6, 10)}, "3 of 3 solved, mean 8.000, median 8.000, SD 1.633"},
		{"an even number", groups{quick(4, 30, 10, 20)}, "4 of 4 solved, mean 16.000, median 15.000, SD 9.899"},
		{"an unsolved run counts with its budget and makes a bound", groups{quick(20, 30, -150)},
			"2 of 3 solved, mean 66.667, median 30.000, SD 59.067, a bound"},
		{"a running run does not count", groups{quick(7), running()}, "1 of 1 solved, mean 7.000, median 7.000, SD 0.000"},
		{"nothing has ended", groups{running()}, "0 of 0 solved, mean 0.000, median 0.000, SD 0.000"},
	} {
		g := of(test.runs...).Groups[0]
		got := fmt.Sprintf("%d of %d solved, mean %.3f, median %.3f, SD %.3f", g.Solved, g.N(), g.Mean/1000, g.Median/1000, g.SD/1000)
		if g.Bound() {
			got += ", a bound"
		}
		equal(t, test.what, test.want, got)
	}
}

// TestTable holds every column of the table to a few runs.
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
	ofAnother := changed(5, func(id *lab.Identity) {
		id.Map = nil
		id.Environment = "a drone"
	})
	want := `directory,setting,maze,path_length[cell],method,seed,state,steps[environment steps],found_at[environment steps],half_at[environment steps],solved_at[environment steps],held_out[fraction],counted_as[environment steps],version,code,revision,kernel,command
runs/0,quick,4x5,9,QTA,0,solved,3000,0,2000,3000,0.985,3000,VERSION,,c0ffee,AVX2,qta -maze 4x5 -params quick -seed 0 -eval 1000 -steps 103000 -stop solved
runs/2,quick,4x5,9,QTA,2,running,0,0,0,0,,,VERSION,,c0ffee,AVX2,qta -maze 4x5 -params quick -seed 2 -eval 1000 -steps 190000 -stop solved
runs/3,quick,a drone,,QTA,3,solved,5000,700,5000,5000,,5000,VERSION,,c0ffee,AVX2,
"runs, of ""May""",mega,1U5,9,MEGA,1,finished untrained,2500,700,0,0,,2500,VERSION,fused 1,c0ffee,AVX2,qta -maze 1U5 -params mega -seed 1 -eval 1000 -steps 2500 -stop solved
`
	got := string(of(solved, unsolved, running(), ofAnother).CSV())
	equal(t, "the table", strings.ReplaceAll(want, "VERSION", qta.Version), got)
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
	var gaps []bool
	for _, m := range fewMazes.ourLine(Quick, paper.QTA, panel, 0).Means {
		gaps = append(gaps, m.Gap)
	}
	equal(t, "gaps in a line: none beyond one maze without runs, one beyond two", []bool{false, false, true}, gaps)
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
	for _, test := range []struct {
		what string
		runs groups
		want []string
	}{
		{"QTA", groups{quick(5)}, []string{"Figure 2, left: M-mazes."}},
		{"square waves", madeup.Groups("paper QTA 1U5 5"), []string{"Figure 2, right: square-wave mazes."}},
		{"a map of its own", groups{changed(5, func(id *lab.Identity) { id.Map = []string{"SG"} })}, nil},
		{"other parameters", madeup.Groups("small QTA 4x5 5"), nil},
		{"another replay", madeup.Groups("paper QTA 4x5 5, paper PER 4x5 5"),
			[]string{"Figure 2, left: M-mazes.", "Figure 3, left: replay by uncertainty."}},
		{"ensembles with the set paper, which is not that of bootstrapped critics",
			madeup.Groups("paper QTA 4x5 5, paper ensembles 4x5 5"),
			[]string{"Figure 2, left: M-mazes.", "Figure 6, right: critic ensembles."}},
		{"ensembles with the set paper, and more with quick on mazes that Figure 6 lacks",
			madeup.Groups("paper ensembles 4x5 5, quick ensembles 1U5 5"),
			[]string{"Figure 6, right: critic ensembles."}},
		{"noise without QTA", groups{madeup.On(paper.Noise5, "8x5", []float64{0, 1})}, nil},
		{"noise", groups{madeup.On(paper.Noise5, "8x5", []float64{0, 1}), madeup.On(paper.QTA, "8x5", []float64{0, 1})}, []string{
			"Figure 2, left: M-mazes.",
			"Figure 4. The paper does not name its maze; these runs are on 8x5 with quick."}},
	} {
		var got []string
		for _, p := range of(test.runs...).Figures() {
			got = append(got, p.Caption)
		}
		equal(t, test.what, test.want, got)
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
	r := of(quiet, madeup.On(paper.Noise3, "8x5", curve, curve, curve), madeup.On(paper.Noise1, "8x5", curve), other, older,
		madeup.On(paper.QTA, "6x5", curve), madeup.On(paper.Noise1, "6x5", curve, curve))
	figures := paper.Figures()
	four := figures[slices.IndexFunc(figures, func(f paper.Figure) bool { return f.Number == "4" })]
	charts, caption := r.figure4(four.Panels[0])
	var got []string
	for _, c := range charts {
		got = append(got, c.Title+"; "+c.Lines[1].Name)
	}
	equal(t, caption, []string{
		"Figure 4: no noise on the uncertainty; ours, 2 runs of " + qta.Version + " and 9.0.0",
		"Figure 4: noise 0.01 on the uncertainty; ours, 1 run of " + qta.Version,
		"Figure 4: noise 0.03 on the uncertainty; ours, 3 runs of " + qta.Version,
	}, got)
}

// TestSorting puts a second run, with seed 1, beside a first. The second has a row of its
// own if it differs in anything but the seed.
func TestSorting(t *testing.T) {
	equal(t, "another seed", []string{"quick | 4x5 | QTA | now | [5000 6000]"}, rows(of(quick(5, 6))))
	for _, test := range []struct {
		change func(*lab.Identity)
		want   string
	}{
		{func(id *lab.Identity) { id.Version = "0.1.0" }, "quick | 4x5 | QTA | 0.1.0, other code | [6000]"},
		{func(id *lab.Identity) { id.Map = []string{"SG"} }, "quick | 4x5 (its own map, 38f7c85b) | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.Map = nil }, "quick | 4x5 (no maze) | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.EvalEvery = 500 }, "quick, 20 rollouts every 500 steps | 4x5 | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.Rollouts = 5 }, "quick, 5 rollouts every 1000 steps | 4x5 | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.Own = true }, "quick, a curriculum of its user | 4x5 | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.Params.Batch = 64 }, "quick Batch=64 | 4x5 | QTA | now | [6000]"},
		{func(id *lab.Identity) { id.Params.Curriculum = "her" }, "quick | 4x5 | HER | now | [6000]"},
	} {
		want := []string{"quick | 4x5 | QTA | now | [5000]", test.want}
		equal(t, "beside another", want, rows(of(quick(5), changed(6, test.change))))
	}
}

// TestEnvironments keeps apart environments of one name that answered differently. Answers
// that differ only in a last digit count as equal. An environment without recorded answers
// counts as the first of its name.
func TestEnvironments(t *testing.T) {
	robot := func(thousands int, answers lab.Fingerprint) []*lab.Record {
		return changed(thousands, func(id *lab.Identity) {
			id.Environment = "robot"
			id.Map = nil
			id.Fingerprint = answers
		})
	}
	near := lab.Fingerprint{{1, 1, 3, -1}}
	far := lab.Fingerprint{{1, 1, 2, -1}}
	rounded := lab.Fingerprint{{1, 1, 3.0000000001, -1}}
	r := of(robot(1, nil), robot(2, near), robot(3, far), robot(4, rounded), robot(5, far), robot(6, nil))
	equal(t, "six robots", []string{
		"quick | robot | QTA | now | [1000 2000 4000 6000]",
		"quick | robot (environment 2 of this name) | QTA | now | [3000 5000]",
	}, rows(r))
}

// TestNewest has runs of different code in one place. The figures show the newest
// version that has ended runs. The list of all rows has the others after it.
func TestNewest(t *testing.T) {
	coded := func(thousands int, code, version string) []*lab.Record {
		return changed(thousands, func(id *lab.Identity) {
			id.Code = code
			id.Version = version
		})
	}
	begun := running()
	begun[0].Run.Version = "0.11.0"
	r := of(begun, coded(1, "fused 1", "0.9.0"), coded(2, "fused 2", "0.10.0"), coded(3, "fused 3", "0.10.0"),
		coded(4, "fused 3", "0.10.0"))
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
	r := of(append(madeup.Groups("quick Batch=64 QTA 4x5 1, paper QTA 4x5 1, quick HER 10x5 1, quick HER 1U5 1, "+
		"quick QTA 7U5 1, quick QTA 3x5 1, quick QTA 10x5 1, quick QTA 2U5 1, quick QTA 4x5 1, quick QTA 1U5 1, "+
		"paper TD 6x5 1, quick MEGA 4x5 1, small QTA 4x5 1"), often)...)
	want := strings.Split(`paper, 4x5, QTA
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
small, 4x5, QTA`, "\n")
	var got []string
	for _, g := range r.Groups {
		got = append(got, g.Setting+", "+g.Maze+", "+g.Method)
	}
	equal(t, "rows", want, got)
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
		short, copied("killed", 5000, lab.Running), copied("near", 4990, lab.Finished), copied("long", 5000, lab.Solved),
		copied("longer", 6000, lab.Running), another,
	}})
	equal(t, "rows", []string{"quick | 4x5 | QTA | now | [5000 5000]"}, rows(r))
	var skipped []string
	for _, s := range r.Skipped {
		skipped = append(skipped, s.Path+": "+s.Why)
	}
	equal(t, "skipped", []string{"near: this run is also in long", "longer: this run is also in long",
		"killed: this run is also in long", "short: this run is also in long"}, skipped)
}

// TestUnmoved compares the codes in unmoved with what the two sets compute now.
func TestUnmoved(t *testing.T) {
	for _, p := range []qta.Params{qta.MEGA(), qta.VDS()} {
		name := lab.SetName(p)
		if now := lab.Code(p); now != unmoved[name] && !strings.HasPrefix(now, "generic") {
			t.Errorf("%s computes %s, and its runs without a code %s: it has moved", name, now, unmoved[name])
		}
	}
	runs := madeup.Groups("mega own 4x5 20 30 40")[0]
	runs[1].Run.Version = "0.1.0"
	runs[2].Run.Code = unmoved["mega"]
	equal(t, "old and new", []string{"mega | 4x5 | MEGA | now | [20000 30000 40000]"}, rows(of(runs)))
}

// TestUntrained marks a run that ended before its first update. QTA's first update is at
// step 51, and VDS's at the end of the first episode.
func TestUntrained(t *testing.T) {
	for _, test := range []struct {
		set   string
		steps int
		want  bool
	}{{"quick", 50, true}, {"quick", 51, false}, {"vds", 49, true}, {"vds", 50, false}} {
		runs := madeup.Groups(test.set + " own 4x5 -1")[0]
		runs[0].Outcome.Steps = test.steps
		g := of(runs).Groups[0]
		marked := g.Untrained == 1 && strings.Contains(g.Each(), "untrained")
		equal(t, fmt.Sprintf("%s marked after %d steps", test.set, test.steps), test.want, marked)
	}
}

// TestPage holds the text of a page to testdata/page.txt. Its runs include odd ones, such as failed
// runs: one whose numbers went wrong counts, and one that met a full disk does not.
func TestPage(t *testing.T) {
	failed := madeup.Groups("mega own 1U5 -90 -90")[0]
	for i, message := range []string{"step 500: critic: NaN is not finite", "no space left on device"} {
		failed[i].State = lab.Failed
		failed[i].Outcome = lab.Outcome{Steps: 500, Message: message}
	}
	untrained := madeup.Groups("small QTA 4x5 -1")[0]
	untrained[0].Outcome = lab.Outcome{Steps: 40}
	r := of(quick(6, 7, 8), running(), madeup.Groups("mega own 4x5 20 30 -150")[0], failed,
		madeup.On(paper.QTA, "8x5", []float64{0, 1, 0.5, 1, 0.9}), madeup.Growing("12x5", 1, 2),
		madeup.On(paper.Noise5, "8x5", []float64{0, 1}), untrained, madeup.Groups("vds own 1U5 9")[0])
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
	text = strings.ReplaceAll(text, qta.Version, "VERSION")
	text = regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(text, "\n")
	const file = "testdata/page.txt"
	if *update {
		roomtest.Write(t, file, text)
	}
	equal(t, "the page is not "+file+"; -update rewrites it", roomtest.Read(t, file), text)
}
