package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
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

var (
	equal = roomtest.Equal
	has   = roomtest.Has
	must  = roomtest.Must
)

// TestResults compares the files in results with those that the judge makes of the runs now.
func TestResults(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	files, err := judge([]string{"results/runs"})
	must(t, err)
	for path, want := range files {
		if roomtest.Read(t, path) != string(want) {
			t.Errorf("%s is not what go run ./results/judge results/runs makes of it", path)
		}
	}
}

// TestFront holds the numbers in README.md that the judge makes to the runs.
func TestFront(t *testing.T) {
	roomtest.Long(t)
	t.Chdir("../..")
	c, err := lab.Collect([]string{"results/runs"})
	must(t, err)
	e := evidence{report.New(c)}
	counted := slices.DeleteFunc(e.claims(), func(c claim) bool { return !c.Counted })
	verdicts := regexp.MustCompile(`(The runs uphold (\d+),.*? do not judge \d+\.).* (\d+) of them still hold`)
	found := verdicts.FindStringSubmatch(directionsOf(counted))
	literal := e.rowAbout("The goal in Equation 5 (D3)").Ratio
	candidates := e.rowAbout("The same with batches of 1024, short mazes").Ratio
	has(t, roomtest.Read(t, "README.md"),
		fmt.Sprintf("%d claims of the paper's section 4. %s", len(counted), found[1]),
		fmt.Sprintf("%s of the %s still hold", found[3], found[2]),
		headline(e.of(paper.QTA, full)).show(math.Exp)+" times the paper's steps",
		"at least "+strings.TrimPrefix(literal, "≥ ")+" times as many steps",
		candidates+" times as many steps with 4000",
		e.worse().Here+" times the steps of an M-maze")
}

// rowAbout returns a row of the table of departures.
func (r evidence) rowAbout(about string) comparison {
	rows := r.worth()
	return rows[slices.IndexFunc(rows, func(c comparison) bool { return c.About == about })]
}

// An example has made-up runs, and what must be said of them.
type example struct{ name, claim, runs, want string }

// examples reads a file of testdata. Paragraphs that begin with # say what it has. Each other paragraph
// is an example, of three lines or, with a claim, of four.
func examples(t *testing.T, file string) (all []example) {
	t.Helper()
	text := strings.ReplaceAll(roomtest.Read(t, "testdata", file), "VERSION", qta.Version)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue
		}
		lines := strings.Split(paragraph, "\n")
		n := len(lines)
		all = append(all, example{name: lines[0], claim: lines[1], runs: lines[n-2], want: lines[n-1]})
	}
	return all
}

// madeUp makes up runs from a line of testdata. Its parts are texts for [madeup.Groups], such as
// "quick QTA 6x5 20 -21, quick PER 6x5 30". What stands before a part makes other runs of it:
//
//	older: TEXT            of an older version
//	own map: TEXT          on a map of the user's own
//	Figure 5: 1 -2         one run for each number, by which its mean value has grown
//	without noise: 0 0.5   one run of QTA for each number, which is its success
//	with noise: 0 0.5      the same with noise of 0.05
func madeUp(line string) (runs [][]*lab.Record) {
	for part := range strings.SplitSeq(line, "; ") {
		kind, text, _ := strings.Cut(part, ": ")
		switch kind {
		case "older":
			runs = append(runs, older(madeup.Groups(text)...)...)
		case "own map":
			runs = append(runs, onOwnMap(madeup.Groups(text)...)...)
		case "Figure 5":
			runs = append(runs, madeup.Growing("12x5", numbers(text)...))
		case "without noise":
			runs = append(runs, madeup.On(paper.QTA, "8x5", flat(text)...))
		case "with noise":
			runs = append(runs, madeup.On(paper.Noise5, "8x5", flat(text)...))
		default:
			runs = append(runs, madeup.Groups(part)...)
		}
	}
	return runs
}

// older gives runs an older version, and returns them.
func older(groups ...[]*lab.Record) [][]*lab.Record {
	for _, r := range slices.Concat(groups...) {
		r.Run.Version = "0.0.1"
	}
	return groups
}

// onOwnMap puts runs on a map of the user's own, and returns them.
func onOwnMap(groups ...[]*lab.Record) [][]*lab.Record {
	for _, r := range slices.Concat(groups...) {
		r.Run.Environment = "my"
		r.Run.Map = []string{"SG"}
	}
	return groups
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

// of returns the evidence of runs.
func of(runs ...[]*lab.Record) evidence { return evidence{report.New(madeup.Collect(runs...))} }

// TestAnswers holds sentences and rows of README.md and claims.md to made-up runs.
func TestAnswers(t *testing.T) {
	for _, e := range examples(t, "answers.txt") {
		found := finding(of(madeUp(e.runs)...).Report)
		tables := string(found.markdown(table)) + string(found.markdown(details))
		has(t, e.name+": "+tables, e.want)
	}
}

// TestWorth holds the table of departures to made-up runs.
func TestWorth(t *testing.T) {
	for _, e := range examples(t, "worth.txt") {
		row := of(madeUp(e.runs)...).rowAbout(e.name)
		equal(t, e.name+" of "+e.runs, e.want, joined(row.Ratio, row.Verdict, row.Seeds))
	}
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " | ")
}

// The page begins with the answers.
func TestPage(t *testing.T) {
	r := of(madeup.Growing("12x5", 1, 2)).Report
	found := finding(r)
	has(t, string(found.page(r)), `<p class="answer">`+found.Answers[0]+"</p>")
}

// coded makes up runs of one group, with a code.
func coded(code, group string) []*lab.Record {
	runs := madeup.Groups(group)[0]
	for _, r := range runs {
		r.Run.Code = code
	}
	return runs
}

// TestSameVersion compares a method with runs of QTA of the same version, if there are any,
// and else with the newest. Their codes differ, because a code depends on all parameters.
func TestSameVersion(t *testing.T) {
	newest := coded("fused 1", "quick QTA 6x5 10 10 11")
	method := coded("fused 2", "quick ensembles 6x5 40 41 42")
	same := coded("fused 3", "quick QTA 6x5 20 21 22")
	older(method, same)
	beside := onlyRatio(t, newest, method, same)
	equal(t, "beside the same version", "1.95 (1.77 to 2.16)", beside.Ours)
	beside = onlyRatio(t, newest, method)
	equal(t, "beside the newest", "3.97 (3.53 to 4.46)", beside.Ours)
}

// TestPrograms counts the runs of each version, of which one group can have several.
func TestPrograms(t *testing.T) {
	runs := coded("fused 1", "quick QTA 6x5 20 21 22")
	older(runs[:1])
	method := coded("fused 2", "quick ensembles 6x5 40 41 42")
	const want = "3 deep ensembles (quick) of NOW, 1 QTA (quick) of 0.0.1, 2 QTA (quick) of NOW; 6x5"
	got := strings.ReplaceAll(onlyRatio(t, runs, method).Runs, qta.Version, "NOW")
	equal(t, "the runs", want, got)
}

// onlyRatio returns the one ratio that runs give.
func onlyRatio(t *testing.T, runs ...[]*lab.Record) onMaze {
	t.Helper()
	rows := of(runs...).besideQTA()
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

// hold compares the judgement that a claim must get, or its first parts, with the one that it gets
// from runs. The parts are the verdict, our number, the note, the paper's number and the runs.
func hold(t *testing.T, name, text, want string, runs ...[]*lab.Record) {
	t.Helper()
	claims := of(runs...).claims()
	c := claims[slices.IndexFunc(claims, func(c claim) bool { return c.Text == text })]
	verdict := cmp.Or(c.Direction, "not judged")
	if c.Size != "" {
		verdict += "; size " + c.Size
	}
	got := joined(verdict, c.Here, c.Note, c.Paper, c.Runs)
	if got != want && (want == "not judged" || !strings.HasPrefix(got, want+" | ")) {
		t.Errorf("%s: %s (%s), want %q", name, got, c.What, want)
	}
}

// TestRules holds the rules of results/verdicts.md to the made-up runs of testdata/rules.txt.
func TestRules(t *testing.T) {
	for _, e := range examples(t, "rules.txt") {
		hold(t, e.name, e.claim, e.want, madeUp(e.runs)...)
	}
}

// stopped says that runs have been stopped, and returns them.
func stopped(runs []*lab.Record) []*lab.Record {
	for _, r := range runs {
		r.State = lab.Stopped
	}
	return runs
}

// TestToTheEnd tests which runs the rules on noise and on Figure 5 take. Runs with noise must have
// ended with -stop never.
func TestToTheEnd(t *testing.T) {
	const (
		suffers   = "Performance suffers with noise 0.05 on the uncertainty."
		collapses = "It collapses with noise of 0.05."
		grow      = "The values grow over time."
		seven     = "1 1 1 1 1 1 1"
	)
	quiet := madeup.On(paper.QTA, "8x5", flat(seven)...)
	late := slices.Repeat([][]float64{{1, 1, 1, 1, 1, 0, 0, 0, 1, 1}}, 7)
	ended := madeup.On(paper.Noise5, "8x5", late...)
	halted := stopped(madeup.On(paper.Noise5, "8x5", late...))
	solved := madeup.Curves(qta.Quick(), paper.Noise5, "8x5", flat(seven)...)
	unsolved := madeup.Curves(qta.Quick(), paper.Noise5, "8x5", flat("0 0 0 0 0 0 0")...)
	newer := madeup.On(paper.QTA, "8x5", flat("1")...)
	newer[0].Run.Version = "9.0.0"

	hold(t, "at its end", collapses, "holds | 7 of 7 (0.59 to 1.00), 0 of 7 without", quiet, ended)
	const both = "holds | 7 of 7 (0.59 to 1.00), 0 of 8 without | 9 of 12 | 7 with noise, 8 without (quick) of "
	versions := qta.Version + " and 9.0.0; 8x5"
	hold(t, "and a run of a newer version", collapses, both+versions, quiet, newer, ended)
	hold(t, "stopped by a signal", collapses, "not judged", quiet, halted)
	hold(t, "stopped when solved", suffers, "not judged", quiet, solved)
	hold(t, "unsolved, but not with -stop never", collapses, "not judged", quiet, unsolved)

	growing := stopped(madeup.Growing("12x5", 1, 1, 1, 1, 1, 1))
	elsewhere := madeup.Growing("8x5", 1, 1, 1, 1, 1, 1)
	hold(t, "Figure 5, not at its end or elsewhere", grow, "not judged", growing, elsewhere)
}

// TestStatistics compares the functions that golang.org/x/exp/stats lacks with printed
// tables and with numbers worked out by hand.
func TestStatistics(t *testing.T) {
	printed := cmpopts.EquateApprox(0.001, 0.001)
	for freedom, want := range map[float64]float64{
		1: 12.706, 1.5: 6.017, 2: 4.303, 5: 2.571, 12: 2.179, 120: 1.980,
	} {
		what := fmt.Sprintf("%v degrees of freedom", freedom)
		equal(t, what, want, student(0.975, freedom), printed)
	}
	equal(t, "the 80 % quantile of 10 degrees", 0.879, student(0.8, 10), printed)
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
		equal(t, what, test.want, binomialRange(test.hits, test.n), printed)
	}
	// In 1 of the 70 ways in which 4 of 8 runs can collapse, all 4 have noise. In 16 ways 3 have noise.
	for hits, want := range map[int]float64{4: 1. / 70, 3: 17. / 70} {
		what := fmt.Sprintf("%d of 4 beside %d of 4", hits, 4-hits)
		equal(t, what, want, fisher(hits, 4, 4-hits, 4), cmpopts.EquateApprox(0, 1e-9))
	}
	var e estimate // of equal values, to which rounding leaves some scatter
	squares, freedom := scatter(slices.Repeat([]float64{math.Log(2000)}, 3))
	if e.vary(squares, freedom); squares == 0 || !math.IsInf(e.interval().High, 1) {
		t.Errorf("the interval of equal values is %v", e.interval())
	}
}

// Half of an estimate has the estimate's degrees of freedom.
func TestHalf(t *testing.T) {
	var e estimate
	e.vary(4, 5)
	half := e.half()
	equal(t, "the variance of half an estimate", 1.0, half.variance)
	equal(t, "the degrees of freedom of half an estimate", 5.0, half.freedom())
}
