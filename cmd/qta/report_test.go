package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/internal/browser"
)

// synthetic writes a run directory without training. The run is solved at a
// step of 0 never.
func synthetic(t testing.TB, dir string, m method, maze string, seed uint64, solvedAt int, change func(*record)) {
	t.Helper()
	words := []string{"-maze", maze, "-seed", strconv.FormatUint(seed, 10), "-params", "small"}
	for _, s := range m.set {
		words = append(words, "-set", s)
	}
	c, err := newCell(words, "")
	if err != nil {
		t.Fatal(err)
	}
	r := &record{Format: recordFormat, State: stateSolved, Run: c.run, Limits: c.limits, Program: thisProgram(),
		Machine: machine{"linux", "amd64", "avx2", 1}, Outcome: &outcome{Steps: solvedAt, SolvedAt: solvedAt, Digest: "0"}}
	end := solvedAt
	if solvedAt == 0 {
		r.State, end = stateFinished, r.Limits.Steps
	}
	if change != nil {
		change(r)
	}
	var rows []qta.Evaluation
	for step := 1000; step <= end; step += 1000 {
		e := qta.Evaluation{Step: step, Success: min(0.95, float64(step)/float64(end)), CriticLoss: 0.1}
		if step == solvedAt {
			e.Success = 1
		}
		rows = append(rows, e)
	}
	writeFile(t2(t), filepath.Join(dir, recordFile), string(r.encode()))
	writeFile(t2(t), filepath.Join(dir, logFile), string(logText(qta.Default(), rows)))
}

func t2(t testing.TB) *testing.T { return t.(*testing.T) }

// claimsOf returns the verdicts of the only setting within a directory.
func claimsOf(t *testing.T, dir string) map[string]claim {
	t.Helper()
	c, err := collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	s := newReport(c).Settings
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
			length := float64(pathLength(maze))
			for _, m := range methods() {
				f := steps[m.name]
				if f == nil {
					continue
				}
				for seed := range n {
					at := 0
					if x := f(length); x > 0 {
						at = 1000 * max(1, int(x*(0.9+0.2*rng.Float64())))
					}
					synthetic(t, filepath.Join(dir, fmt.Sprintf("%s-%s-%d", maze, m.name, seed)), m, maze, uint64(seed), at, nil)
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
		synthetic(t, fmt.Sprintf("few/a%d", seed), methodQTA, "4x5", seed, 5000, nil)
		synthetic(t, fmt.Sprintf("few/b%d", seed), methodMEGA, "4x5", seed, 50000, nil)
	}
	for text, a := range claimsOf(t, "few") {
		if a.Verdict != undecided {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// TestReport looks at the report of a directory in which much is wrong.
func TestReport(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed := range uint64(3) {
		synthetic(t, fmt.Sprintf("runs/q%d", seed), methodQTA, "4x5", seed, 6000+1000*int(seed), nil)
		synthetic(t, fmt.Sprintf("runs/m%d", seed), methodMEGA, "4x5", seed, []int{20000, 30000, 0}[seed], nil)
	}
	synthetic(t, "runs/copy", methodQTA, "4x5", 0, 6000, nil)
	synthetic(t, "runs/going", methodQTA, "4x5", 9, 4000, func(r *record) { r.State, r.Outcome = stateStopped, nil })
	writeFile(t, "runs/going/"+logFile, logColumns+"x\n1000,0.5,3\n")
	synthetic(t, "runs/failed", methodMEGA, "1U5", 9, 0, func(r *record) {
		r.State, r.Outcome = stateFailed, &outcome{Steps: 500, Message: "step 500: critic: NaN is not finite"}
	})
	synthetic(t, "runs/cut", methodQTA, "4x5", 10, 6000, nil)
	writeFile(t, "runs/cut/"+recordFile, readFile(t, "runs/cut", recordFile)[:200])
	synthetic(t, "runs/log", methodQTA, "4x5", 11, 6000, nil)
	writeFile(t, "runs/log/"+logFile, "<html>")
	writeFile(t, "runs/q0/note <b>.txt", "mine")
	writeFile(t, "runs/slurm-1.out", "mine")
	writeFile(t, "runs/q1/"+figure5Store, "step[environment steps],row[cell],col[cell],value[reward],optimal[reward],abs_error[reward],deviation[cell],probability[fraction],samples[count]\n,1.05,1.05,0,0,0,0,0,0\n")

	out := mustRun(t, "report", "runs", "-o", "page.html")
	if want := "8 runs in runs; 5 files left out. The report is page.html.\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	page := readFile(t, "page.html")
	for _, want := range []string{
		"8 runs beside the paper",
		"1 run has not ended and count", "1 run has failed",
		"runs/q0/note &lt;b&gt;.txt", "runs/slurm-1.out", "the same run as in runs/", "runs/cut/run.json", "runs/log/log.csv",
		">3/3 <span class=\"source\">+1 not ended", ">2/3<", "≥ 66.7", "hollow",
		"Figure 2, left", "VDS, paper, 2.5 (k + 1)", "-maze 4x5 -params small -set Curriculum=mega -seed 2",
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
	mustRun(t, "report", "runs", "-o", "again.html")
	if page != readFile(t, "again.html") {
		t.Error("the same runs make another page the second time")
	}

	mustRun(t, "report", "runs", "-format", "csv", "-o", "numbers")
	rows, err := csv.NewReader(strings.NewReader(readFile(t, "numbers/cells.csv"))).ReadAll()
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
	mustRun(t, "report", "runs", "-format", "svg", "-o", "pictures")
	if text := readFile(t, "pictures/small-figure-2L.svg"); !strings.HasPrefix(text, "<svg ") {
		t.Errorf("the picture begins %.40q", text)
	}
}

// TestLooksOfReport measures a report in a browser: at the widths of a
// telephone and of a screen the page does not scroll sideways, and no text of
// a picture is clipped or overlaps another.
func TestLooksOfReport(t *testing.T) {
	browser.Need(t)
	t.Chdir(t.TempDir())
	for i, m := range methods() {
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
	mustRun(t, "report", "runs", "-o", "page.html")
	seen := browser.Measure(t, []string{readFile(t, "page.html")}, []int{400, 1400}, `
	const wide = page.documentElement.scrollWidth > frame.width ? ["scrolls"] : [];
	return [page.querySelectorAll("svg").length, ...wide, ...overlaps(page)].join(" | ");`)
	// The figures 2 left and right, 3 left and right, 6 left and right, and for
	// each maze its noise, and learning and solution by four comparisons.
	want := fmt.Sprint(6 + 4*(1+2*4))
	if diff := cmp.Diff([]string{want, want}, seen); diff != "" {
		t.Errorf("pictures and faults at 400 and 1400 pixels (-want +got):\n%s", diff)
	}
}
