package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
	"qta/cmd/qta/internal/words"
)

// This file holds the claims of the paper's section 4 against runs. Every
// verdict comes with its test and with the interval of what was measured: a
// claim that few runs cannot decide is left open.

// A claim is one of the paper's, with what the runs say of it.
type claim struct {
	Place, Text string
	judgement
}

// A judgement is a verdict, with the test and what was measured.
type judgement struct {
	Verdict, Test string
	What          string // what was measured, or why nothing was
	Value, Range  string // that, and its 95 % interval if there is one
	Few           bool   // too few runs for that interval
	Note          string // on the runs behind it
}

// Width says in a line what was measured.
func (j judgement) Width() string {
	text := j.What
	if j.Value != "" {
		text += ": " + j.Value
	}
	if j.Range != "" {
		text += ", 95 % interval " + j.Range
	}
	if j.Note != "" {
		text += "; " + j.Note
	}
	return text
}

// measured adds a number, written by a format, and its interval, if the smallest
// sample has more than one run.
func (j judgement) measured(what, format string, x float64, r statistics.Interval, smallest int) judgement {
	j.What, j.Value, j.Few = what, fmt.Sprintf(format, x), smallest < statistics.EnoughRuns
	if smallest > 1 {
		j.Range = fmt.Sprintf(format+" to "+format, r.Low, r.High)
	}
	return j
}

// The verdicts.
const (
	holds     = "holds"
	fails     = "does not hold"
	undecided = "not enough runs"
)

const (
	significance = 0.05

	// material is the ratio of steps below which two methods count as equal:
	// a claim of a difference does not hold, and one of no difference holds,
	// where the interval ends below it.
	material = 1.25
)

// claims returns all claims, judged once.
func (s *setting) claims() []claim {
	if s.judged == nil {
		s.judged = s.judge()
	}
	return s.judged
}

// judge judges all claims by the runs of a setting.
func (s *setting) judge() []claim {
	const (
		results, replay, noise, critics = "main results", "prioritised replay", "verification", "critic networks"
		values, estimates               = "Q value disagreement", "estimation techniques"
	)
	claims := []claim{
		{"baselines", "HER reaches the goal in no maze.", s.never(paper.HER)},
		{results, "QTA needs significantly fewer steps than MEGA.", s.fewer(paper.QTA, paper.MEGA, true)},
		{results, "MEGA approaches QTA as the horizon grows.", s.trend(paper.QTA, paper.MEGA, -1)},
		{results, "QTA needs fewer steps than VDS.", s.fewer(paper.QTA, paper.VDS, true)},
		{results, "VDS is competitive at first and becomes less sample efficient with longer mazes.", s.trend(paper.QTA, paper.VDS, 1)},
		{results, "VDS fails to solve many environments.", s.unsolved(paper.VDS)},
		{results, "All algorithms perform much worse on square-wave mazes.", s.waves()},
		{replay, "Prioritising by uncertainty accelerates learning.", s.fewer(paper.PER, paper.QTA, true)},
		{replay, "It does so especially in longer mazes.", s.trend(paper.PER, paper.QTA, 1)},
		{replay, "Prioritising by TD error offers no significant benefit.", s.fewer(paper.TD, paper.QTA, false)},
		{noise, "Performance suffers with noise 0.01 on the uncertainty.", s.noise(paper.Noise1)},
		{noise, "Performance suffers with noise 0.03 on the uncertainty.", s.noise(paper.Noise3)},
		{noise, "Performance suffers with noise 0.05 on the uncertainty.", s.noise(paper.Noise5)},
		{noise, "It collapses with noise of 0.05.", s.collapse(paper.Noise5)},
	}
	for _, c := range []struct {
		text, what string
		number     func(*rundir.Figure5) float64
	}{
		{"The values grow over time.", "change of the mean value", func(f *rundir.Figure5) float64 { return f.ValueGrowth }},
		{"The values' error falls over time.", "fall of the mean absolute error", func(f *rundir.Figure5) float64 { return f.ErrorFall }},
		{"The error is greater further from the start.", "correlation of error and distance, at the end", func(f *rundir.Figure5) float64 { return f.ErrorByDistance }},
		{"Probabilities of goals follow the heads' deviation.", "correlation of probability and deviation, mean over time", func(f *rundir.Figure5) float64 { return f.GoalByDeviation }},
		{"Sampled goals are far from the start.", "how much lower the optimal value is at sampled goals than at all points, mean over time", func(f *rundir.Figure5) float64 { return f.GoalDistance }},
	} {
		claims = append(claims, claim{critics, c.text, s.positive(c.what, c.number)})
	}
	return append(claims,
		claim{values, "Disagreement of Q-values is a worse estimator than PUN.", s.fewer(paper.QTA, paper.Q, true)},
		claim{estimates, "PUN is better than bootstrapped Q-networks.", s.fewer(paper.QTA, paper.Bootstrap, true)},
		claim{estimates, "PUN is better than deep ensembles.", s.fewer(paper.QTA, paper.Ensemble, true)})
}

// noTest is the test of a claim that no run speaks of.
const noTest = "none"

func silent(why string) judgement { return judgement{Verdict: undecided, Test: noTest, What: why} }

func verdict(yes, no bool) string {
	switch {
	case yes:
		return holds
	case no:
		return fails
	}
	return undecided
}

// A contrast is two methods held against each other in several mazes.
type contrast struct {
	strata         []statistics.Stratum
	mazes          []string
	runs, unsolved int // of those whose steps are compared
}

// addSteps adds the logarithms of two groups' steps.
func (c *contrast) addSteps(maze string, a, b *group) {
	c.add(maze, a.logs(), b.logs())
	c.runs += a.N() + b.N()
	c.unsolved += a.N() - a.Solved() + b.N() - b.Solved()
}

// add adds a maze, by its name.
func (c *contrast) add(maze string, a, b []float64) {
	c.strata, c.mazes = append(c.strata, statistics.Stratum{A: a, B: b}), append(c.mazes, maze)
}

// smallest returns how many runs the smallest sample has.
func (c *contrast) smallest() int {
	n := math.MaxInt
	for _, s := range c.strata {
		n = min(n, len(s.A), len(s.B))
	}
	return n
}

// where names the mazes.
func (c *contrast) where() string { return where(c.mazes) }

func where(mazes []string) string {
	if n := len(mazes); n > 6 {
		return fmt.Sprintf("%d mazes from %s to %s", n, mazes[0], mazes[n-1])
	}
	return strings.Join(mazes, ", ")
}

// test returns the mean difference of the strata, its interval, whether it is
// significant, and that test in words.
func (c *contrast) test(where, what string) (d float64, r statistics.Interval, significant bool, text string) {
	test := statistics.Permutation(c.strata)
	text = fmt.Sprintf("%s, permutation test of the %s: p %s; at best %s with these numbers of runs", where, what, pValue(test.P), pValue(test.Smallest))
	return statistics.MeanDifference(c.strata), statistics.StrataRange(c.strata, statistics.MeanDifference), test.P <= significance, text
}

// atLeast says how many runs there are, and how many stand for a bound alone.
func (c *contrast) atLeast() string {
	text := fmt.Sprintf("at least %s of each in a maze", words.Count(c.smallest(), "run")) + tooFew(c.smallest())
	if c.unsolved > 0 {
		text += fmt.Sprintf("; %d of %s are unsolved and stand at their budgets", c.unsolved, words.Count(c.runs, "run"))
	}
	return text
}

// tooFew says what so many runs are too few for, if anything.
func tooFew(n int) string {
	switch {
	case n < 2:
		return ", which has no interval"
	case n < statistics.EnoughRuns:
		return ", too few for this interval: it is too narrow"
	}
	return ""
}

func pValue(p float64) string {
	if p < 0.001 {
		return "below 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// ratio judges a claim about the ratio of two methods' steps, of which the
// strata are the logarithms: that it is above one, or that it is not.
func (c *contrast) ratio(where, what string, above bool) judgement {
	if len(c.strata) == 0 {
		return silent("no maze has ended runs of both")
	}
	d, r, significant, test := c.test(where, "logarithms")
	more := significant && d > 0
	tight := c.smallest() >= statistics.EnoughRuns && math.Exp(r.High) < material
	j := judgement{Verdict: verdict(more, significant || tight), Test: test, Note: c.atLeast()}
	j = j.measured(what, "%.2f", math.Exp(d), statistics.Interval{Low: math.Exp(r.Low), High: math.Exp(r.High)}, c.smallest())
	if !above {
		j.Verdict = verdict(tight && !more, more)
	}
	return j
}

// both holds the logarithms of two methods' steps against each other, in every
// maze where both have ended runs, or solved ones alone. Lengths are those of
// the mazes.
func (s *setting) both(a, b paper.Method, families string, solved bool) (c contrast, lengths []float64) {
	for _, maze := range s.mazes {
		x, y := s.group(maze, a), s.group(maze, b)
		if x != nil && y != nil && strings.Contains(families, x.family) &&
			!(solved && x.Solved()+y.Solved() < x.N()+y.N()) {
			c.addSteps(maze, x, y)
			lengths = append(lengths, float64(x.Length))
		}
	}
	return c, lengths
}

// fewer judges the claim that a needs fewer steps than b, or that it does not.
func (s *setting) fewer(a, b paper.Method, does bool) judgement {
	c, _ := s.both(a, b, "M U other", false)
	return c.ratio(c.where(), fmt.Sprintf("steps of %s / steps of %s", b.Name, a.Name), does)
}

// trend judges a claim about how the ratio of b's steps to a's changes with
// the path length: that it grows, or with a sign of -1 that it shrinks. A maze
// with an unsolved run takes no part, as its budget would be the trend.
func (s *setting) trend(a, b paper.Method, sign float64) judgement {
	c, lengths := s.both(a, b, "M", true)
	if u, l := s.both(a, b, "U", true); len(l) > len(lengths) {
		c, lengths = u, l
	}
	if len(lengths) < 2 {
		return silent("no two mazes of a kind that all ended runs of both solved")
	}
	perTen := func(strata []statistics.Stratum) float64 {
		y := make([]float64, len(strata))
		for i := range strata {
			y[i] = strata[i].Difference()
		}
		return 10 * statistics.Slope(lengths, y)
	}
	r := statistics.StrataRange(c.strata, perTen)
	low, high := min(sign*r.Low, sign*r.High), max(sign*r.Low, sign*r.High)
	enough := c.smallest() >= statistics.EnoughRuns
	return judgement{
		Verdict: verdict(enough && low > 0, enough && math.Exp(high) < material),
		Test:    fmt.Sprintf("%s, bootstrap of the slope of log(steps of %s / steps of %s) against path length", c.where(), b.Name, a.Name),
		Note:    c.atLeast(),
	}.measured(fmt.Sprintf("factor by which steps of %s / steps of %s changes in 10 cells", b.Name, a.Name), "%.2f",
		math.Exp(perTen(c.strata)), statistics.Interval{Low: math.Exp(r.Low), High: math.Exp(r.High)}, c.smallest())
}

// waves judges the claim that square-wave mazes take more steps: pairs of
// mazes with the same path length.
func (s *setting) waves() judgement {
	var c contrast
	for _, m := range []paper.Method{paper.QTA, paper.MEGA, paper.VDS} {
		for _, a := range s.Groups {
			for _, b := range s.Groups {
				if a.Method == m.Name && b.Method == m.Name && a.family == "M" && b.family == "U" && a.Length == b.Length && len(a.runs) > 0 && len(b.runs) > 0 {
					c.addSteps(fmt.Sprintf("%s %s and %s", m.Name, a.Maze, b.Maze), a, b)
				}
			}
		}
	}
	where := strings.Join(c.mazes, ", ")
	if len(c.mazes) > 4 {
		where = fmt.Sprintf("%d pairs of mazes with equal path lengths", len(c.mazes))
	}
	return c.ratio(where, "steps in a square-wave maze / steps in the M-maze of its path length", true)
}

// noise judges the claim that noise on the uncertainty harms: the success of
// all evaluations, on average, is less.
func (s *setting) noise(m paper.Method) judgement {
	var c contrast
	for _, maze := range s.mazes {
		if a, b := s.group(maze, paper.QTA), s.group(maze, m); a != nil && b != nil {
			if steps := commonSteps(slices.Concat(a.runs, b.runs)); len(steps) > 0 {
				c.add(maze, areas(b.runs, steps), areas(a.runs, steps))
			}
		}
	}
	if len(c.strata) == 0 {
		return silent("no maze has ended runs of both")
	}
	d, r, significant, test := c.test(c.where(), "mean success of all evaluations")
	return judgement{
		Verdict: verdict(significant && d > 0, significant || c.smallest() >= statistics.EnoughRuns && r.High < 0.05), Test: test, Note: c.atLeast(),
	}.measured("mean success that the noise takes", "%.2f", d, r, c.smallest())
}

// unsolved judges the claim that a method fails in many of the longer mazes,
// one where a seed has not solved it.
func (s *setting) unsolved(m paper.Method) judgement {
	mazes, failed, hits, n := 0, 0, 0, 0
	short := false
	for _, g := range s.Groups {
		if g.Method != m.Name || len(g.runs) == 0 || g.family == "other" || g.Length < 21 {
			continue
		}
		mazes++
		n += len(g.runs)
		hits += len(g.runs) - g.summary.Solved
		short = short || len(g.runs) < statistics.EnoughRuns
		if g.summary.Solved < len(g.runs) {
			failed++
		}
	}
	if mazes == 0 {
		return silent("no ended runs in M-mazes from 10x5 or square-wave mazes from 4U5")
	}
	r := statistics.BinomialRange(hits, n)
	return judgement{
		Verdict: verdict(2*failed >= mazes && mazes > 1, failed == 0 && !short && mazes > 1),
		Test:    fmt.Sprintf("count: a run is unsolved in %d of %s from path length 21 on", failed, words.Count(mazes, "maze")),
		Note:    fmt.Sprintf("%d of %s (Clopper and Pearson)", hits, words.Count(n, "run")),
	}.measured("share of runs unsolved", "%.2f", float64(hits)/float64(n), r, n)
}

// never judges the claim that a method never reaches the goal.
func (s *setting) never(m paper.Method) judgement {
	hits, solved, runs := 0, 0, s.of(m)
	for _, r := range runs {
		if rundir.FirstAt(r.Rows, math.SmallestNonzeroFloat64) > 0 {
			hits++
		}
		if r.SolvedAt > 0 {
			solved++
		}
	}
	if len(runs) == 0 {
		return silent("no ended runs")
	}
	r := statistics.BinomialRange(hits, len(runs))
	return judgement{
		Verdict: verdict(hits == 0 && len(runs) >= statistics.EnoughRuns, hits > 0),
		Test:    fmt.Sprintf("count: %d of %s reached the goal in some rollout of an evaluation, %d solved their maze", hits, words.Count(len(runs), "run"), solved),
		Note:    "Clopper and Pearson",
	}.measured("share of runs that reach it", "%.2f", float64(hits)/float64(len(runs)), r, len(runs))
}

// collapse judges the claim that the largest noise lets learning collapse: the
// last evaluation, on average, succeeds in less than half its rollouts.
func (s *setting) collapse(m paper.Method) judgement {
	var ends []float64
	for _, r := range s.of(m) {
		if len(r.Rows) > 0 {
			ends = append(ends, r.Last().Success)
		}
	}
	if len(ends) == 0 {
		return silent("no ended runs")
	}
	enough := len(ends) >= statistics.EnoughRuns
	r := statistics.Bootstrap(ends, stats.Mean[float64])
	return judgement{
		Verdict: verdict(enough && r.High < 0.5, enough && r.Low > 0.5),
		Test:    fmt.Sprintf("bootstrap of the mean success at the end of %s", words.Count(len(ends), "run")),
		Note:    words.Count(len(ends), "run") + tooFew(len(ends)),
	}.measured("success at the end", "%.2f", stats.Mean(ends), r, len(ends))
}

// positive judges a claim about Figure 5, that a number is positive in each run of
// QTA, by a sign test.
func (s *setting) positive(what string, number func(*rundir.Figure5) float64) judgement {
	var x []float64
	hits := 0
	for _, r := range s.of(paper.QTA) {
		o := r.Record.Outcome
		if o == nil || o.Figure5 == nil { // it goes on, though solved, or has kept no numbers
			continue
		}
		v := number(o.Figure5)
		x = append(x, v)
		if v > 0 {
			hits++
		}
	}
	n := len(x)
	if n == 0 {
		return silent("no record of an ended run of QTA has numbers of Figure 5")
	}
	p := statistics.SignTest(hits, n)
	return judgement{
		Verdict: verdict(p <= significance && 2*hits > n, p <= significance),
		Test:    fmt.Sprintf("sign test: positive in %d of %s, p %s; at best %s with so many", hits, words.Count(n, "run"), pValue(p), pValue(statistics.SignTest(n, n))),
		Note:    words.Count(n, "run") + tooFew(n),
	}.measured(what, "%.3g", stats.Mean(x), statistics.Bootstrap(x, stats.Mean[float64]), n)
}
