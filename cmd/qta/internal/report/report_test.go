package report

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/internal/browser"
)

// synthetic writes a run directory without training. The run is solved at a
// step of 0 never.
func synthetic(t testing.TB, dir string, m paper.Method, maze string, seed uint64, solvedAt int, change func(*rundir.Record)) {
	t.Helper()
	id := rundir.NewIdentity(maze, roomtest.Maze(t, maze), "small", m.Apply(qta.Small()), seed, 1000)
	r := rundir.NewRecord(id, rundir.Limits{Steps: 150_000, Stop: "solved"}, 1)
	r.State = rundir.Solved
	end := solvedAt
	if solvedAt == 0 {
		r.State, end = rundir.Finished, r.Limits.Steps
	}
	r.Outcome = &rundir.Outcome{Steps: end, SolvedAt: solvedAt, Digest: "0"}
	if change != nil {
		change(r)
	}
	if r.Outcome != nil {
		end = min(end, r.Outcome.Steps)
	}
	var rows []qta.Evaluation
	for step := 1000; step <= end; step += 1000 {
		e := qta.Evaluation{Step: step, Success: min(0.95, float64(step)/float64(end)), CriticLoss: 0.1}
		if step == solvedAt {
			e.Success = 1
		}
		rows = append(rows, e)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o777), r.Write(dir, false), rundir.WriteLog(dir, qta.Default(), rows, false)); err != nil {
		t.Fatal(err)
	}
}

// of returns the report on a directory.
func of(t *testing.T, dir string) *Report {
	t.Helper()
	c, err := rundir.Collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return New(c)
}

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// claimsOf returns the verdicts of the only setting within a directory.
func claimsOf(t *testing.T, dir string) map[string]claim {
	t.Helper()
	s := of(t, dir).Settings
	if len(s) != 1 {
		t.Fatalf("%d settings, want 1", len(s))
	}
	verdicts := map[string]claim{}
	for _, a := range s[0].claims() {
		verdicts[a.Text] = a
	}
	return verdicts
}

// TestClaims invents runs for which each verdict is plain.
func TestClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	write := func(dir string, n int, steps map[string]func(length float64) float64) {
		for _, maze := range []string{"4x5", "10x5", "15x5", "1U5", "4U5"} {
			length := float64(paper.PathLength(maze))
			for _, m := range paper.Methods() {
				f := steps[m.Name]
				if f == nil {
					continue
				}
				for seed := range n {
					at := 0
					if x := f(length); x > 0 {
						at = 1000 * max(1, int(x*(0.9+0.2*rng.Float64())))
					}
					synthetic(t, filepath.Join(dir, fmt.Sprintf("%s-%s-%d", maze, m.Name, seed)), m, maze, uint64(seed), at, nil)
				}
			}
		}
	}
	t.Chdir(t.TempDir())
	like := func(factor, growth float64) func(float64) float64 {
		return func(length float64) float64 { return factor * length * (1 + growth*length) }
	}
	// As the paper has it, but for two claims.
	write("paper", 6, map[string]func(float64) float64{
		"QTA": like(1, 0), "MEGA": like(4, -0.02), "HER": like(0, 0), "QTA + PER": like(0.8, -0.01), "QTA + TD-PER": like(1, 0),
		"VDS": func(length float64) float64 {
			if length >= 21 {
				return 0
			}
			return 1.5 * length
		},
		"Q-value disagreement": like(2, 0), "bootstrapped Q": like(0.5, 0), "deep ensembles": like(1.02, 0),
	})
	got := claimsOf(t, "paper")
	for text, want := range map[string]string{
		"HER reaches the goal in no maze.":                        fails, // the invented logs rise
		"QTA needs significantly fewer steps than MEGA.":          holds,
		"MEGA approaches QTA as the horizon grows.":               holds,
		"VDS fails to solve many environments.":                   holds,
		"All algorithms perform much worse on square-wave mazes.": fails,
		"Prioritising by uncertainty accelerates learning.":       holds,
		"It does so especially in longer mazes.":                  holds,
		"Prioritising by TD error offers no significant benefit.": holds,
		"Disagreement of Q-values is a worse estimator than PUN.": holds,
		"PUN is better than bootstrapped Q-networks.":             fails,
		"PUN is better than deep ensembles.":                      fails,
		"Performance suffers with noise 0.01 on the uncertainty.": undecided,
		"It collapses with noise of 0.05.":                        undecided,
		"Probabilities of goals follow the heads' deviation.":     undecided,
		"QTA needs fewer steps than VDS.":                         holds,
	} {
		if a, ok := got[text]; !ok || a.Verdict != want {
			t.Errorf("%q: %+v, want %s", text, a, want)
		}
	}
	// With two seeds on one maze, nothing is known, whatever the means say.
	for seed := range uint64(2) {
		synthetic(t, fmt.Sprintf("few/a%d", seed), paper.QTA, "4x5", seed, 5000, nil)
		synthetic(t, fmt.Sprintf("few/b%d", seed), paper.MEGA, "4x5", seed, 50000, nil)
	}
	for text, a := range claimsOf(t, "few") {
		if a.Verdict != undecided {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// TestClaimsUnsolved has MEGA unsolved in budgets that make its ratio to QTA
// shrink with the length: that is no trend, and the ratio is said to have them.
func TestClaimsUnsolved(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, maze := range []string{"4x5", "6x5", "8x5"} {
		for seed := range uint64(6) {
			synthetic(t, fmt.Sprintf("runs/q%s-%d", maze, seed), paper.QTA, maze, seed, 5000*(i+1)+1000*int(seed%2), nil)
			synthetic(t, fmt.Sprintf("runs/m%s-%d", maze, seed), paper.MEGA, maze, seed, 0, func(r *rundir.Record) {
				r.Limits.Steps = 30_000 + 1000*int(seed%2)
				r.Outcome.Steps = r.Limits.Steps
			})
		}
	}
	got := claimsOf(t, "runs")
	if c := got["MEGA approaches QTA as the horizon grows."]; c.Verdict != undecided {
		t.Errorf("a trend from budgets alone: %+v", c)
	}
	c := got["QTA needs significantly fewer steps than MEGA."]
	if c.Verdict != holds || !strings.Contains(c.Note, "18 of 36 runs are unsolved and stand at their budgets") {
		t.Errorf("the ratio: %+v", c)
	}
}

// TestClaimsOfFigure5 judges what records keep of Figure 5.
func TestClaimsOfFigure5(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed := range uint64(9) {
		synthetic(t, fmt.Sprintf("runs/q%d", seed), paper.QTA, "4x5", seed, 5000, func(r *rundir.Record) {
			switch seed {
			case 7:
				r.State, r.Outcome = rundir.Running, nil // it goes on, though solved
				return
			case 8:
				return // a run without two snapshots
			}
			sign := float64(1 - 2*int(seed%2)) // four are positive
			r.Outcome.Figure5 = &rundir.Figure5{ValueGrowth: -2, ErrorFall: sign, ErrorByDistance: 0.5, GoalByDeviation: 0.25, GoalDistance: 3}
		})
	}
	synthetic(t, "runs/mega", paper.MEGA, "4x5", 0, 5000, func(r *rundir.Record) {
		r.Outcome.Figure5 = &rundir.Figure5{ValueGrowth: 100, ErrorByDistance: -100, GoalByDeviation: -100, GoalDistance: -100}
	})
	claims := claimsOf(t, "runs")
	for _, want := range []struct{ text, verdict, test, value string }{
		{"The values grow over time.", fails, "positive in 0 of 7 runs, p 0.016", "-2"},
		{"The values' error falls over time.", undecided, "positive in 4 of 7 runs, p 1.000", "0.143"},
		{"The error is greater further from the start.", holds, "positive in 7 of 7 runs, p 0.016", "0.5"},
		{"Probabilities of goals follow the heads' deviation.", holds, "positive in 7 of 7 runs, p 0.016", "0.25"},
		{"Sampled goals are far from the start.", holds, "positive in 7 of 7 runs, p 0.016", "3"},
	} {
		got := claims[want.text]
		if got.Verdict != want.verdict || !strings.Contains(got.Test, want.test) || got.Value != want.value {
			t.Errorf("%s: %+v, want %q, %q, %s", want.text, got, want.verdict, want.test, want.value)
		}
	}
}

// TestOwnMaps has two maps with one file's name, in each of which one method
// ran: they are two mazes.
func TestOwnMaps(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed := range uint64(6) {
		for text, m := range map[string]paper.Method{"SG": paper.QTA, "S.G": paper.MEGA} {
			steps := 5000
			if m.Name == paper.MEGA.Name {
				steps = 20000
			}
			synthetic(t, fmt.Sprintf("runs/%s-%d", m.Name, seed), m, "4x5", seed, steps, func(r *rundir.Record) {
				r.Run.Maze, r.Run.Map = "my", []string{text}
			})
		}
	}
	r := of(t, "runs")
	if diff := cmp.Diff([]string{"my (its own map, 2)", "my (its own map)"}, r.Settings[0].mazes); diff != "" {
		t.Errorf("mazes (-want +got):\n%s", diff)
	}
	if c := claimsOf(t, "runs")["QTA needs significantly fewer steps than MEGA."]; c.Verdict != undecided {
		t.Errorf("a verdict on two mazes: %+v", c)
	}
}

// TestVersions keeps a run of each version.
func TestVersions(t *testing.T) {
	t.Chdir(t.TempDir())
	synthetic(t, "runs/new", paper.QTA, "4x5", 1, 5000, nil)
	synthetic(t, "runs/old", paper.QTA, "4x5", 1, 50000, func(r *rundir.Record) { r.Run.Version = "0.3.0" })
	if r := of(t, "runs"); len(r.Runs) != 2 || len(r.Skipped) != 0 {
		t.Errorf("%d runs, and %v skipped", len(r.Runs), r.Skipped)
	}
}

// TestPictureNames has names that are too long for a file, and such as differ in
// letters that files do without.
func TestPictureNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range []string{"ü", "ö", strings.Repeat("x", 230)} {
		synthetic(t, fmt.Sprintf("runs/%d", i), paper.QTA, "4x5", 1, 5000, func(r *rundir.Record) {
			r.Run.Maze, r.Run.Map = name, []string{"S" + strings.Repeat(".", i) + "G"}
			r.Run.Parameters.Batch = 77
			r.Run.Parameters.Discount = 0.123456789012345
			r.Run.Parameters.Slope, r.Run.Parameters.Intercept = 0.1234567890123, 0.1234567890123
			r.Run.Parameters.ActorRate, r.Run.Parameters.CriticRate = 0.000123456789012, 0.00123456789012
		})
	}
	files := of(t, "runs").SVG()
	names := map[string]bool{}
	for _, f := range files {
		names[f.Name] = true
		if len(f.Name) > 255 {
			t.Errorf("%s is %d bytes long", f.Name, len(f.Name))
		}
	}
	if len(names) != len(files) || len(files) < 3 {
		t.Errorf("%d names of %d files", len(names), len(files))
	}
}

// TestReport looks at the report of a directory in which much is wrong.
func TestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed := range uint64(3) {
		synthetic(t, fmt.Sprintf("runs/q%d", seed), paper.QTA, "4x5", seed, 6000+1000*int(seed), nil)
		synthetic(t, fmt.Sprintf("runs/m%d", seed), paper.MEGA, "4x5", seed, []int{20000, 30000, 0}[seed], nil)
	}
	synthetic(t, "runs/copy", paper.QTA, "4x5", 0, 6000, nil)
	synthetic(t, "runs/going", paper.QTA, "4x5", 9, 4000, func(r *rundir.Record) { r.State, r.Outcome = rundir.Stopped, nil })
	roomtest.Write(t, "runs/going/"+rundir.LogFile, "step[environment steps],success[fraction],x\n1000,0.5,3\n")
	synthetic(t, "runs/failed", paper.MEGA, "1U5", 9, 0, func(r *rundir.Record) {
		r.State, r.Outcome = rundir.Failed, &rundir.Outcome{Steps: 500, Message: "step 500: critic: NaN is not finite"}
	})
	synthetic(t, "runs/cut", paper.QTA, "4x5", 10, 6000, nil)
	roomtest.Write(t, "runs/cut/"+rundir.RecordFile, roomtest.Read(t, "runs/cut", rundir.RecordFile)[:200])
	synthetic(t, "runs/log", paper.QTA, "4x5", 11, 6000, nil)
	roomtest.Write(t, "runs/log/"+rundir.LogFile, "<html>")
	roomtest.Write(t, "runs/q0/note <b>.txt", "mine")
	roomtest.Write(t, "runs/slurm-1.out", "mine")

	r := of(t, "runs")
	if len(r.Runs) != 8 || len(r.Skipped) != 5 {
		t.Errorf("%d runs and %d files left out, want 8 and 5", len(r.Runs), len(r.Skipped))
	}
	page := pageOf(t, r)
	for _, want := range []string{
		"8 runs beside the paper",
		"1 run has not ended and count", "1 run has failed",
		"runs/q0/note &lt;b&gt;.txt", "runs/slurm-1.out", "the same run as in runs/", "runs/cut/run.json", "runs/log/log.csv",
		">3/3 <span class=\"source\">+1 not ended", ">2/3<", "≥ 66.7", "hollow",
		"Figure 2, left", "some runs unsolved: a lower bound", "one standard deviation up and down", "as many as the paper’s", "Mind 4 things about", `Parameters small: 8 runs</h2>`,
		"steps of MEGA / steps of QTA</td><td data-is=\"value\" class=\"range\">6.45</td>", "VDS, paper, 2.5 (k + 1)", "-maze 4x5 -params small -set Curriculum=mega -seed 2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "NaN</td>"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if page != pageOf(t, of(t, "runs")) {
		t.Error("the same runs make another page the second time")
	}

	rows, err := files.Rows(named(t, r.CSV(), "cells.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, r := range rows[1:] {
		cells = append(cells, strings.Join(r[:10], " "))
	}
	// MEGA by hand: 20, 30 and 150 thousand; mean 66.67, deviation 59.07.
	want := []string{
		"small 4x5 9 QTA 3 3 1 7000 7000 816.49658",
		"small 4x5 9 MEGA 3 2 0 30000 66666.667 59066.817",
		"small 1U5 9 MEGA 1 0 0 150000 150000 0",
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("cells.csv (-want +got):\n%s", diff)
	}
	if text := named(t, r.SVG(), "small-figure-2L.svg"); !bytes.HasPrefix(text, []byte("<svg ")) {
		t.Errorf("the picture begins %.40q", text)
	}
}

// TestSingleRun folds a parameter set of one run, which has no interval and says
// nothing in the summary.
func TestSingleRun(t *testing.T) {
	t.Chdir(t.TempDir())
	synthetic(t, "runs/a", paper.QTA, "4x5", 0, 6000, nil)
	synthetic(t, "runs/b", paper.HER, "4x5", 0, 0, nil)
	synthetic(t, "runs/c", paper.QTA, "4x5", 0, 6000, func(r *rundir.Record) {
		r.Run = rundir.NewIdentity("4x5", roomtest.Maze(t, "4x5"), "paper", qta.Paper(), 0, 1000)
	})
	page := pageOf(t, of(t, "runs"))
	summary, rest, _ := strings.Cut(page, "Mind ")
	for _, want := range []string{`class="single" id="setting-1"><summary>Parameters paper: 1 run</summary>`, `id="setting-2">Parameters small: 2 runs</h2>`, ">–</td>"} {
		if !strings.Contains(rest, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(summary, "with the parameters paper") || !strings.Contains(summary, "with the parameters small") {
		t.Error("the summary judges claims by a single run, or not by two")
	}
	if strings.Contains(page, "6.0 to 6.0") {
		t.Error("a single run has an interval")
	}
}

func named(t *testing.T, list []files.File, name string) []byte {
	t.Helper()
	i := slices.IndexFunc(list, func(f files.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return list[i].Data
}

// TestLooksOfReport measures a report in a browser: at the widths of a
// telephone and of a screen the page does not scroll sideways, and no text of
// a picture is clipped or overlaps another.
func TestLooksOfReport(t *testing.T) {
	browser.Need(t)
	t.Chdir(t.TempDir())
	for i, m := range paper.Methods() {
		for _, maze := range []string{"4x5", "12x5", "15x5", "1U5"} {
			for seed := range uint64(3) {
				at := 1000 * (5 + 9*i + int(seed))
				if at > 60000 && seed == 1 {
					at = 0
				}
				synthetic(t, fmt.Sprintf("runs/%s-%d-%d", maze, i, seed), m, maze, seed, at, nil)
			}
		}
	}
	seen := browser.Measure(t, []string{pageOf(t, of(t, "runs"))}, []int{400, 1000, 1400}, `
	const wide = page.documentElement.scrollWidth > frame.width ? ["scrolls"] : [];
	return [page.querySelectorAll("svg").length, ...wide, ...overlaps(page), ...faint(page)].join(" | ");`)
	// The figures 2 left and right, each with its ratio, 3 left and right, 6 left
	// and right, and for each maze its noise, and learning and solution by four
	// comparisons.
	want := fmt.Sprint(8 + 4*(1+2*4))
	if diff := cmp.Diff([]string{want, want, want}, seen); diff != "" {
		t.Errorf("pictures and faults at 400, 1000 and 1400 pixels (-want +got):\n%s", diff)
	}
}
