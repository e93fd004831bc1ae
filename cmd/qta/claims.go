package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/stats"
)

// This file holds the claims of the paper's section 4 against runs. Every
// verdict comes with its test and with the interval of what was measured: a
// claim that few runs cannot decide is left open.

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

// An assertion is a claim of the paper with what the runs say of it.
type assertion struct {
	Text, Place, Verdict, Test, Width string
}

// smallest returns how many runs the smallest sample of a comparison has.
func smallest(strata []stratum) int {
	n := math.MaxInt
	for _, s := range strata {
		n = min(n, len(s.a), len(s.b))
	}
	return n
}

// both returns, for every maze where two methods have ended runs, the
// logarithms of their steps.
func (s *setting) both(a, b method, family string) (strata []stratum, mazes []*group) {
	for _, maze := range s.mazes {
		x, y := s.group(maze, a.name), s.group(maze, b.name)
		if x != nil && y != nil && len(x.runs) > 0 && len(y.runs) > 0 && (family == "" || x.family == family) {
			strata = append(strata, stratum{x.logs(), y.logs()})
			mazes = append(mazes, x)
		}
	}
	return strata, mazes
}

func names(mazes []*group) string {
	var list []string
	for _, g := range mazes {
		list = append(list, g.maze)
	}
	if len(list) > 6 {
		return fmt.Sprintf("%d mazes from %s to %s", len(list), list[0], list[len(list)-1])
	}
	return strings.Join(list, ", ")
}

// compare judges a claim about the ratio of b's steps to a's: that it is above
// one, or with equal that it is not.
func (s *setting) compare(c assertion, a, b method, equal bool) assertion {
	strata, mazes := s.both(a, b, "")
	return judge(c, strata, names(mazes), fmt.Sprintf("steps of %s / steps of %s", b.name, a.name), equal)
}

func judge(c assertion, strata []stratum, mazes, what string, equal bool) assertion {
	c.Verdict = undecided
	if len(strata) == 0 {
		c.Test, c.Width = "none", "no maze has ended runs of both"
		return c
	}
	n := smallest(strata)
	test := permutation(strata)
	d, r := meanDifference(strata), differenceRange(strata)
	ratio, low, high := math.Exp(d), math.Exp(r.low), math.Exp(r.high)
	c.Test = fmt.Sprintf("%s, permutation test of the logarithms: p %s; at best %s with these numbers of runs", mazes, pValue(test.p), pValue(test.smallest))
	c.Width = fmt.Sprintf("%s: %.2f, 95 %% interval %.2f to %.2f; %s", what, ratio, low, high, atLeast(n))
	significant := test.p <= significance
	tight := n >= enoughRuns && high < material
	if equal {
		switch {
		case significant && d > 0:
			c.Verdict = fails
		case tight:
			c.Verdict = holds
		}
		return c
	}
	switch {
	case significant && d > 0:
		c.Verdict = holds
	case significant || tight:
		c.Verdict = fails
	}
	return c
}

func atLeast(n int) string {
	text := fmt.Sprintf("at least %s of each in a maze", count(n, "run"))
	if n < enoughRuns {
		text += ", too few for this interval: it is too narrow"
	}
	return text
}

func pValue(p float64) string {
	if p < 0.001 {
		return "below 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// trend judges a claim about how the ratio of b's steps to a's changes with
// the path length: that it grows, or with falling that it shrinks.
func (s *setting) trend(c assertion, a, b method, falling bool) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no two mazes of a kind with ended runs of both"
	var strata []stratum
	var mazes []*group
	for _, family := range []string{"M", "U"} {
		if x, m := s.both(a, b, family); len(x) > len(strata) {
			strata, mazes = x, m
		}
	}
	if len(strata) < 2 {
		return c
	}
	lengths := make([]float64, len(mazes))
	for i, g := range mazes {
		lengths[i] = float64(g.length)
	}
	perTen := func(strata []stratum) float64 {
		y := make([]float64, len(strata))
		for i := range strata {
			y[i] = strata[i].difference()
		}
		return 10 * slope(lengths, y)
	}
	n := smallest(strata)
	r := strataRange(strata, perTen)
	c.Test = fmt.Sprintf("%s, bootstrap of the slope of log(steps of %s / steps of %s) against path length", names(mazes), b.name, a.name)
	c.Width = fmt.Sprintf("the ratio changes by a factor of %.2f per 10 cells, 95 %% interval %.2f to %.2f; %s",
		math.Exp(perTen(strata)), math.Exp(r.low), math.Exp(r.high), atLeast(n))
	if falling {
		r = interval{-r.high, -r.low}
	}
	switch {
	case n < enoughRuns:
	case r.low > 0:
		c.Verdict = holds
	case r.high < 0 || math.Exp(r.high) < material:
		c.Verdict = fails
	}
	return c
}

// unsolved judges the claim that a method fails in many of the longer mazes,
// one where a seed has not solved it.
func (s *setting) unsolved(c assertion, m method) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no ended runs in M-mazes from 10x5 or square-wave mazes from 4U5"
	mazes, failed, hits, n := 0, 0, 0, 0
	short := false
	for _, g := range s.groups {
		if g.method != m.name || len(g.runs) == 0 || !(g.family == "M" && g.length >= 21 || g.family == "U" && g.length >= 21) {
			continue
		}
		mazes++
		n += len(g.runs)
		hits += len(g.runs) - g.summary.solved
		short = short || len(g.runs) < enoughRuns
		if g.summary.solved < len(g.runs) {
			failed++
		}
	}
	if mazes == 0 {
		return c
	}
	r := binomialRange(hits, n)
	c.Test = fmt.Sprintf("count: a run is unsolved in %d of %s from path length 21 on", failed, count(mazes, "maze"))
	c.Width = fmt.Sprintf("%d of %s unsolved, a share of %.2f to %.2f (Clopper and Pearson)", hits, count(n, "run"), r.low, r.high)
	switch {
	case 2*failed >= mazes && mazes > 1:
		c.Verdict = holds
	case failed == 0 && !short && mazes > 1:
		c.Verdict = fails
	}
	return c
}

// waves judges the claim that square-wave mazes take more steps: pairs of
// mazes with the same path length.
func (s *setting) waves(c assertion) assertion {
	var strata []stratum
	var pairs []string
	for _, m := range []method{methodQTA, methodMEGA, methodVDS} {
		for _, a := range s.groups {
			for _, b := range s.groups {
				if a.method == m.name && b.method == m.name && a.family == "M" && b.family == "U" && a.length == b.length && len(a.runs) > 0 && len(b.runs) > 0 {
					strata = append(strata, stratum{a.logs(), b.logs()})
					pairs = append(pairs, fmt.Sprintf("%s %s and %s", m.name, a.maze, b.maze))
				}
			}
		}
	}
	what := strings.Join(pairs, ", ")
	if len(pairs) > 4 {
		what = fmt.Sprintf("%d pairs of mazes with equal path lengths", len(pairs))
	}
	return judge(c, strata, what, "steps in a square-wave maze / steps in the M-maze of its path length", false)
}

// never judges the claim that a method never reaches the goal.
func (s *setting) never(c assertion, m method) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no ended runs"
	hits, solved, n := 0, 0, 0
	for _, g := range s.groups {
		if g.method != m.name {
			continue
		}
		for _, r := range g.runs {
			n++
			if slices.ContainsFunc(r.rows, func(row logRow) bool { return row.success > 0 }) {
				hits++
			}
			if r.solvedAt > 0 {
				solved++
			}
		}
	}
	if n == 0 {
		return c
	}
	r := binomialRange(hits, n)
	c.Test = fmt.Sprintf("count: %d of %s reached the goal in some rollout of an evaluation, %d solved their maze", hits, count(n, "run"), solved)
	c.Width = fmt.Sprintf("a share of %.2f to %.2f reaches it (Clopper and Pearson)", r.low, r.high)
	switch {
	case hits > 0:
		c.Verdict = fails
	case n >= enoughRuns:
		c.Verdict = holds
	}
	return c
}

// noise judges the claim that noise on the uncertainty harms: the success of
// all evaluations, on average, is less.
func (s *setting) noise(c assertion, m method) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no maze has ended runs of both"
	var strata []stratum
	var mazes []*group
	for _, maze := range s.mazes {
		a, b := s.group(maze, methodQTA.name), s.group(maze, m.name)
		if a == nil || b == nil {
			continue
		}
		steps := commonSteps(slices.Concat(a.runs, b.runs))
		if len(a.runs) == 0 || len(b.runs) == 0 || len(steps) == 0 {
			continue
		}
		strata = append(strata, stratum{areas(b.runs, steps), areas(a.runs, steps)})
		mazes = append(mazes, a)
	}
	if len(strata) == 0 {
		return c
	}
	n := smallest(strata)
	test, r := permutation(strata), differenceRange(strata)
	c.Test = fmt.Sprintf("%s, permutation test of the mean success of all evaluations: p %s; at best %s with these numbers of runs", names(mazes), pValue(test.p), pValue(test.smallest))
	c.Width = fmt.Sprintf("the noise takes %.2f of mean success, 95 %% interval %.2f to %.2f; %s", meanDifference(strata), r.low, r.high, atLeast(n))
	switch d := meanDifference(strata); {
	case test.p <= significance && d > 0:
		c.Verdict = holds
	case test.p <= significance || n >= enoughRuns && r.high < 0.05:
		c.Verdict = fails
	}
	return c
}

// commonSteps returns the evaluations that all runs know the success of.
func commonSteps(runs []*finding) []int {
	var steps []int
	for _, r := range runs {
		for _, row := range r.rows {
			steps = append(steps, row.step)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return slices.DeleteFunc(steps, func(step int) bool {
		return slices.ContainsFunc(runs, func(r *finding) bool {
			_, ok := r.at(step)
			return !ok
		})
	})
}

// areas returns each run's mean success over evaluations.
func areas(runs []*finding, steps []int) []float64 {
	x := make([]float64, len(runs))
	for i, r := range runs {
		for _, step := range steps {
			y, _ := r.at(step)
			x[i] += y / float64(len(steps))
		}
	}
	return x
}

// collapse judges the claim that the largest noise lets learning collapse: the
// last evaluation, on average, succeeds in less than half its rollouts.
func (s *setting) collapse(c assertion, m method) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no ended runs"
	var ends []float64
	for _, g := range s.groups {
		if g.method != m.name {
			continue
		}
		for _, r := range g.runs {
			if n := len(r.rows); n > 0 {
				ends = append(ends, r.rows[n-1].success)
			}
		}
	}
	if len(ends) == 0 {
		return c
	}
	r := bootstrap(ends, stats.Mean[float64])
	c.Test = fmt.Sprintf("bootstrap of the mean success at the end of %s", count(len(ends), "run"))
	c.Width = fmt.Sprintf("success at the end %.2f, 95 %% interval %.2f to %.2f", stats.Mean(ends), r.low, r.high)
	switch {
	case len(ends) < enoughRuns:
		c.Width += "; too few runs for this interval: it is too narrow"
	case r.high < 0.5:
		c.Verdict = holds
	case r.low > 0.5:
		c.Verdict = fails
	}
	return c
}

// claims judges all claims by the runs of a setting.
func (s *setting) claims() []assertion {
	const main, replay, noise, critics, values, estimates = "main results", "prioritised replay", "verification", "critic networks", "Q value disagreement", "estimation techniques"
	maps := s.maps()
	list := []assertion{
		s.never(assertion{Text: "HER reaches the goal in no maze.", Place: "baselines"}, methodHER),
		s.compare(assertion{Text: "QTA needs significantly fewer steps than MEGA.", Place: main}, methodQTA, methodMEGA, false),
		s.trend(assertion{Text: "MEGA approaches QTA as the horizon grows.", Place: main}, methodQTA, methodMEGA, true),
		s.compare(assertion{Text: "QTA needs fewer steps than VDS.", Place: main}, methodQTA, methodVDS, false),
		s.trend(assertion{Text: "VDS is competitive at first and becomes less sample efficient with longer mazes.", Place: main}, methodQTA, methodVDS, false),
		s.unsolved(assertion{Text: "VDS fails to solve many environments.", Place: main}, methodVDS),
		s.waves(assertion{Text: "All algorithms perform much worse on square-wave mazes.", Place: main}),
		s.compare(assertion{Text: "Prioritising by uncertainty accelerates learning.", Place: replay}, methodPER, methodQTA, false),
		s.trend(assertion{Text: "It does so especially in longer mazes.", Place: replay}, methodPER, methodQTA, false),
		s.compare(assertion{Text: "Prioritising by TD error offers no significant benefit.", Place: replay}, methodTD, methodQTA, true),
	}
	for _, m := range []method{methodNoise1, methodNoise3, methodNoise5} {
		list = append(list, s.noise(assertion{Text: fmt.Sprintf("Performance suffers with %s on the uncertainty.", m.name), Place: noise}, m))
	}
	list = append(list,
		s.collapse(assertion{Text: "It collapses with noise of 0.05.", Place: noise}, methodNoise5),
		maps.judge(assertion{Text: "The values grow over time.", Place: critics}, func(m mapRun) float64 { return m.value }, "change of the mean value"),
		maps.judge(assertion{Text: "The values' error falls over time.", Place: critics}, func(m mapRun) float64 { return -m.failure }, "fall of the mean absolute error"),
		maps.judge(assertion{Text: "The error is greater further from the start.", Place: critics}, func(m mapRun) float64 { return m.failureByDistance }, "correlation of error and distance, at the end"),
		maps.judge(assertion{Text: "Probabilities of goals follow the heads' deviation.", Place: critics}, func(m mapRun) float64 { return m.probabilityByDeviation }, "correlation of probability and deviation, mean over time"),
		maps.judge(assertion{Text: "Sampled goals are far from the start.", Place: critics}, func(m mapRun) float64 { return m.reach }, "how much lower the optimal value is at sampled goals than at all points, mean over time"),
		s.compare(assertion{Text: "Disagreement of Q-values is a worse estimator than PUN.", Place: values}, methodQTA, methodQ, false),
		s.compare(assertion{Text: "PUN is better than bootstrapped Q-networks.", Place: estimates}, methodQTA, methodBootstrap, false),
		s.compare(assertion{Text: "PUN is better than deep ensembles.", Place: estimates}, methodQTA, methodEnsemble, false),
	)
	return list
}

// A mapRun is what the claims about Figure 5 ask of the maps of one run.
type mapRun struct {
	value, failure         float64 // changes from the first snapshot to the last
	failureByDistance      float64
	probabilityByDeviation float64
	reach                  float64
}

type mapRuns []mapRun

// mostMaps bounds how many runs' maps are read: they are large.
const mostMaps = 12

// maps reads the snapshots of runs of QTA, those in the maze of Figure 5
// first.
func (s *setting) maps() mapRuns {
	var runs []*finding
	for _, g := range s.groups {
		if g.method != methodQTA.name {
			continue
		}
		if g.maze == "12x5" {
			runs = slices.Concat(g.runs, runs)
		} else {
			runs = append(runs, g.runs...)
		}
	}
	var maps mapRuns
	for _, r := range runs {
		if len(maps) == mostMaps {
			break
		}
		if m, ok := readMaps(filepath.Join(r.dir, figure5Store)); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// readMaps reads figure5.csv. A run with fewer than two snapshots, or a file
// that is damaged, says nothing.
func readMaps(path string) (mapRun, bool) {
	data, err := os.ReadFile(path)
	header, rest, _ := strings.Cut(string(data), "\n")
	if err != nil || !strings.HasPrefix(header, "step[environment steps],row[cell],col[cell],value[reward],") {
		return mapRun{}, false
	}
	type columns struct{ value, optimal, failure, deviation, probability, samples []float64 }
	var snapshots []columns
	step := ""
	for line := range strings.Lines(rest) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if len(fields) != 9 {
			return mapRun{}, false
		}
		if fields[0] != step {
			snapshots = append(snapshots, columns{})
			step = fields[0]
		}
		c := &snapshots[len(snapshots)-1]
		for i, column := range []*[]float64{&c.value, &c.optimal, &c.failure, &c.deviation, &c.probability, &c.samples} {
			x, err := strconv.ParseFloat(fields[3+i], 64)
			if err != nil || math.IsNaN(x-x) {
				return mapRun{}, false
			}
			*column = append(*column, x)
		}
	}
	if len(snapshots) < 2 {
		return mapRun{}, false
	}
	first, last := snapshots[0], snapshots[len(snapshots)-1]
	m := mapRun{
		value:   stats.Mean(last.value) - stats.Mean(first.value),
		failure: stats.Mean(last.failure) - stats.Mean(first.failure),
	}
	distance := make([]float64, len(last.optimal))
	for i, v := range last.optimal {
		distance[i] = -v
	}
	m.failureByDistance = correlation(last.failure, distance)
	for _, c := range snapshots {
		m.probabilityByDeviation += correlation(c.probability, c.deviation) / float64(len(snapshots))
		drawn, sum := 0.0, 0.0
		for i, n := range c.samples {
			drawn += n
			sum += n * c.optimal[i]
		}
		if drawn > 0 {
			m.reach += (stats.Mean(c.optimal) - sum/drawn) / float64(len(snapshots))
		}
	}
	return m, true
}

// correlation returns Pearson's coefficient, 0 where one of x and y does not
// vary.
func correlation(x, y []float64) float64 {
	mx, my := stats.Mean(x), stats.Mean(y)
	xx, yy, xy := 0.0, 0.0, 0.0
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// judge judges a claim that a number of each run is positive, by a sign test.
func (maps mapRuns) judge(c assertion, number func(mapRun) float64, what string) assertion {
	c.Verdict, c.Test, c.Width = undecided, "none", "no run of QTA has two snapshots in "+figure5Store
	if len(maps) == 0 {
		return c
	}
	var x []float64
	positive := 0
	for _, m := range maps {
		x = append(x, number(m))
		if number(m) > 0 {
			positive++
		}
	}
	n := len(x)
	p := signTest(positive, n)
	r := bootstrap(x, stats.Mean[float64])
	c.Test = fmt.Sprintf("sign test: positive in %d of %s, p %s; at best %s with so many", positive, count(n, "run"), pValue(p), pValue(signTest(n, n)))
	c.Width = fmt.Sprintf("%s: %.3g, 95 %% interval %.3g to %.3g", what, stats.Mean(x), r.low, r.high)
	if n < enoughRuns {
		c.Width += "; too few runs for this interval: it is too narrow"
	}
	switch {
	case p > significance:
	case 2*positive > n:
		c.Verdict = holds
	default:
		c.Verdict = fails
	}
	return c
}

// signTest returns the two-sided p of as many positive numbers of n.
func signTest(positive, n int) float64 {
	tail := 0.0
	for i := 0; i <= min(positive, n-positive); i++ {
		tail += choose(n, i)
	}
	return min(1, 2*tail/math.Pow(2, float64(n)))
}
