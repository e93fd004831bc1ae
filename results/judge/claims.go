package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/stats"

	"qta/internal/paper"
	"qta/internal/report"
	"qta/lab"
)

// This file judges the claims of the paper's section 4 by the rules of
// results/verdicts.md, on runs of the paper's learner.

// The settings with the paper's learner, and evidence, runs to judge by.
const full, quick = report.Full, report.Quick

type evidence struct{ *report.Report }

// A claim is one of the paper's, with what the runs say of it. One that is not counted
// is another reading of the claim above it, or its rule is later than its result.
type claim struct {
	Text    string
	Counted bool
	judgement
}

// A judgement says what is known of a claim.
type judgement struct {
	Direction   string // "" where no run speaks of the claim
	Size        string // of the effect beside the paper's, "" where the paper has no number
	What        string // what was measured, or why nothing was
	Paper, Here string // it, with its interval, in the paper and in these runs
	Note        string // what contradicted excludes; what it would take to decide the undecided
	Runs        string
}

// logs returns the logarithms of steps.
func logs(steps []float64) []float64 {
	x := make([]float64, len(steps))
	for i, s := range steps {
		x[i] = math.Log(s)
	}
	return x
}

// The directions and the sizes.
const (
	holds, contradicted, undecided    = "holds", "contradicted", "undecided"
	asPaper, smaller, larger, unknown = "compatible with the paper’s", "smaller", "larger", "unknown"
	enoughRuns, enoughMazes           = 6, 3 // beside MEGA and VDS, and of each kind
)

// claims judges all claims.
func (r evidence) claims() []claim {
	type five = *lab.Figure5
	return []claim{
		{"HER reaches the goal in no maze.", true, r.never(paper.HER)},
		{"QTA needs significantly fewer steps than MEGA.", true, r.fewer(paper.MEGA, 1, 1000)},
		{"MEGA approaches QTA as the horizon grows.", true, r.trend(paper.MEGA, -1)},
		{"QTA needs fewer steps than VDS (indices of 1000 steps).", true, r.fewer(paper.VDS, 1, 1000)},
		{"The same, with indices of 2500 steps.", false, r.fewer(paper.VDS, 1, 2500)},
		{"VDS is competitive at first.", false, r.competitive(paper.VDS)},
		{"VDS becomes less sample efficient with longer mazes.", true, r.trend(paper.VDS, 1)},
		{"VDS fails to solve many environments.", true,
			judgement{What: "it would take five mazes, and a rule for what is many"}},
		{"QTA scales more poorly on square waves.", true, r.waves(math.MaxInt)},
		{"The same, with M-mazes as long as square waves, of 9 to 25 cells.", false, r.waves(25)},
		{"Prioritizing by uncertainty accelerates learning.", true, r.fewer(paper.PER, -1, 1000)},
		{"It does so especially in longer mazes.", true, r.trend(paper.PER, -1)},
		{"Prioritizing by TD error offers no significant benefit.", true, r.none(paper.TD, paper.PER, "3L")},
		{"Performance suffers with noise 0.01 on the uncertainty.", true, r.suffers(paper.Noise1)},
		{"Performance suffers with noise 0.03 on the uncertainty.", true, r.suffers(paper.Noise3)},
		{"Performance suffers with noise 0.05 on the uncertainty.", true, r.suffers(paper.Noise5)},
		{"It collapses with noise of 0.05.", true, r.collapses(paper.Noise5)},
		{"The values grow over time.", true,
			r.above(0, "growth of the mean value", func(f five) float64 { return f.ValueGrowth })},
		{"The values' error falls over time.", true,
			r.above(0, "fall of the mean error", func(f five) float64 { return f.ErrorFall })},
		{"The error is greater further from the start.", true,
			r.above(0, "correlation of error and distance", func(f five) float64 { return f.ErrorByDistance })},
		{"Probabilities of goals follow the heads' deviation.", true,
			r.above(0, "correlation of probability and deviation", func(f five) float64 { return f.GoalByDeviation })},
		{"They do so very closely: the correlation is above a half.", false,
			r.above(0.5, "correlation of probability and deviation", func(f five) float64 { return f.GoalByDeviation })},
		{"Sampled goals are far from the start.", true,
			r.above(0, "how much lower the optimal value is at goals", func(f five) float64 { return f.GoalDistance })},
		{"Disagreement of Q-values is a worse estimator than PUN.", true, r.fewer(paper.Q, 1, 1000)},
		{"PUN is better than bootstrapped Q-networks (ours lack Equation 1's minimum, R110).", true,
			r.fewer(paper.Bootstrap, 1, 1000)},
		{"PUN is better than deep ensembles (ours lack it too).", true, r.fewer(paper.Ensemble, 1, 1000)},
		{"The prediction is agnostic to the goal that Equation 5 is asked with.", false, r.agnostic()},
	}
}

// decide says whether the claim holds; if it does not, whether the runs contradict it,
// as they exclude something; and else what it would take.
func (j judgement) decide(claimHolds, contradicts bool, excluded, takes string) judgement {
	switch {
	case claimHolds:
		j.Direction, j.Note = holds, ""
	case contradicts:
		j.Direction, j.Note = contradicted, "the runs exclude "+excluded
	default:
		j.Direction, j.Note = undecided, takes
	}
	return j
}

// A term is what the runs of a method in a maze weigh in an effect.
type term struct {
	*report.Group
	weight float64
	theirs *paper.Point // nil where the paper has none
}

// arm names what shares a variance.
func (t term) arm() string { return fmt.Sprintf("%s (%s)", t.Method, t.Setting) }

// An effect is one that a claim says is positive.
type effect struct{ ours, theirs estimate }

// effectOf returns the weighted sum of the mean logarithms of steps.
func effectOf(terms []term) (e effect) {
	weights, samples := map[string][]float64{}, map[string][][]float64{}
	for _, t := range terms {
		arm := t.arm()
		weights[arm], samples[arm] = append(weights[arm], t.weight), append(samples[arm], logs(t.Steps))
		e.ours.tooLow = e.ours.tooLow || t.Bound() && t.weight > 0
		e.ours.tooHigh = e.ours.tooHigh || t.Bound() && t.weight < 0
		if t.theirs == nil {
			e.theirs.unknown = true
		} else if math.Abs(t.weight) > 1e-9 {
			mean, variance := t.theirs.Log()
			e.theirs.Value += t.weight * mean
			e.theirs.vary(t.weight*t.weight*variance, paper.Seeds-1)
		}
	}
	for _, arm := range slices.Sorted(maps.Keys(weights)) {
		e.ours.add(weights[arm], samples[arm])
	}
	return e
}

// contradicts reports whether the runs exclude the paper's effect. An upper bound that
// lies on the claim's side, though it cannot show that the claim holds, does not.
func (e effect) contradicts() bool {
	return e.ours.interval().Low <= 0 && e.ours.minus(e.theirs).negative()
}

// size compares the effect with the paper's: compatible with that is only what could be
// told from none and excludes half of the paper's.
func (e effect) size() string {
	difference := e.ours.minus(e.theirs)
	r, half := difference.interval(), -e.theirs.Value/2
	switch {
	case e.theirs.unknown:
		return ""
	case difference.negative():
		return smaller
	case difference.positive():
		return larger
	case r.Low <= 0 && r.High >= 0 && (r.High-r.Low)/2 < math.Abs(e.theirs.Value) &&
		(half < r.Low || half > r.High) && !difference.tooLow && !difference.tooHigh:
		return asPaper
	}
	return unknown
}

// judge judges the claim that a ratio of steps is above one.
func (e effect) judge(what string, terms []term) judgement {
	j := judgement{Size: e.size(), What: what, Here: e.ours.show(math.Exp), Runs: runsOf(terms)}
	if !e.theirs.unknown {
		j.Paper = e.theirs.show(math.Exp)
		if e.theirs.Value <= 0 {
			j.What += "; the paper’s own numbers on these mazes do not show it"
		}
	}
	switch {
	case e.ours.tooLow && !e.ours.tooHigh:
		j.Here = "≥ " + j.Here
	case e.ours.tooHigh && !e.ours.tooLow:
		j.Here = "≤ " + j.Here
	}
	return j.decide(e.ours.positive(), e.contradicts(), fmt.Sprintf("%.2f", math.Exp(e.theirs.Value)),
		e.ours.takes("a factor of %.2f", math.Exp))
}

// show writes an estimate with its interval.
func (e estimate) show(f func(float64) float64) string {
	if r := e.interval(); !e.unknown {
		return fmt.Sprintf("%.2f (%.2f to %.2f)", f(e.Value), f(r.Low), f(r.High))
	}
	return fmt.Sprintf("%.2f", f(e.Value))
}

// takes says which effect the runs would have shown with a chance of 0.8, where that is
// what keeps them from showing that it is positive.
func (e estimate) takes(format string, f func(float64) float64) string {
	switch {
	case e.tooLow && e.tooHigh:
		return "runs are unsolved on both sides"
	case e.tooHigh:
		return "this bound cannot decide it"
	case e.unknown:
		return "there is no interval"
	}
	return fmt.Sprintf("it would take "+format, f(e.times(0.975)+e.times(0.8)))
}

// runsOf says which runs an effect is of, with their versions where these differ, and
// of a comparison on two to six mazes its factor on each.
func runsOf(terms []term) string {
	var arms, mazes []string
	runs, effects, even := map[string]int{}, map[string]float64{}, true
	for i, t := range terms {
		arm := t.arm()
		if slices.ContainsFunc(terms, func(other term) bool { return other.Program != t.Program }) {
			arm += " of " + t.Program
		}
		if runs[arm] += t.N(); !slices.Contains(arms, arm) {
			arms = append(arms, arm)
		}
		if !slices.Contains(mazes, t.Maze) {
			mazes = append(mazes, t.Maze)
		}
		effects[t.Maze] += math.Copysign(1, t.weight) * stats.Mean(logs(t.Steps))
		even = even && t.weight == terms[i%2].weight
	}
	for i, arm := range arms {
		arms[i] = fmt.Sprintf("%d %s", runs[arm], arm)
	}
	if n := len(mazes); n > 6 {
		mazes = []string{fmt.Sprintf("%d mazes", n)}
	} else if even && 1 < n && n < len(terms) {
		for i, maze := range mazes {
			mazes[i] += fmt.Sprintf(" %.2f", math.Exp(effects[maze]))
		}
	}
	return strings.Join(arms, ", ") + "; " + strings.Join(mazes, ", ")
}

// contrast returns, for each maze no longer than longest on which a method and QTA have
// runs, the terms of both, whose weights are sign and its opposite. Beside MEGA and VDS
// QTA has the paper's batch where that has six runs, else the smaller one. An index of
// the paper's figure stands for so many steps.
func (r evidence) contrast(m paper.Method, sign, index float64, longest int) (terms []term) {
	set := r.Learner(m)
	for _, g := range r.Groups {
		if g.Setting != set || g.Method != m.Name || g.Family == "" || g.N() == 0 || g.Length > longest {
			continue
		}
		q, c := r.Group(quick, paper.QTA, g.Maze), r.Group(full, paper.QTA, g.Maze)
		if set == full || set != quick && c != nil && c.N() >= enoughRuns {
			q = c
		}
		if q == nil {
			continue
		}
		a, b := term{g, sign, paper.Of("", m.Name, g.Maze)}, term{q, -sign, nil}
		if a.theirs != nil {
			a.theirs.Mean, a.theirs.Deviation = a.theirs.Mean*index/1000, a.theirs.Deviation*index/1000
			b.theirs = paper.Of(a.theirs.Panel, paper.QTA.Name, g.Maze)
		}
		terms = append(terms, a, b)
	}
	return terms
}

// ratio names what a contrast compares.
func ratio(m paper.Method, sign float64) string {
	if sign < 0 {
		return "steps of QTA / steps of " + m.Name
	}
	return "steps of " + m.Name + " / steps of QTA"
}

// compare judges the claim that a method needs more steps than QTA (sign 1), or fewer
// (-1), on mazes no longer than longest. Without runs of both there are no terms.
func (r evidence) compare(m paper.Method, sign, index float64, longest int) (terms []term, e effect, j judgement) {
	terms = even(r.contrast(m, sign, index, longest))
	if len(terms) == 0 {
		return nil, e, judgement{What: "no maze has ended runs of both, " + m.Name + " with " + r.Learner(m)}
	}
	e = effectOf(terms)
	return terms, e, e.judge(ratio(m, sign), terms)
}

// even gives the terms the weights of the mean over their mazes.
func even(terms []term) []term {
	for i := range terms {
		terms[i].weight /= float64(len(terms) / 2)
	}
	return terms
}

// fewer judges the claim of compare on all mazes.
func (r evidence) fewer(m paper.Method, sign, index float64) judgement {
	_, _, j := r.compare(m, sign, index, math.MaxInt)
	return j
}

// none judges the claim that a method needs no fewer steps than QTA: it excludes a
// benefit as large as a panel shows of another method on the same mazes.
func (r evidence) none(m, other paper.Method, panel string) judgement {
	terms, e, j := r.compare(m, -1, 1000, math.MaxInt)
	if terms == nil {
		return j
	}
	for i, t := range terms {
		method := map[string]string{m.Name: other.Name, paper.QTA.Name: paper.QTA.Name}[t.Method]
		terms[i].theirs = paper.Of(panel, method, t.Maze)
	}
	benefit := effectOf(terms).theirs
	j.What += fmt.Sprintf("; %.2f with %s in the paper", math.Exp(benefit.Value), other.Name)
	lost := estimate{Value: benefit.Value, unknown: benefit.unknown}.minus(e.ours)
	return j.decide(lost.positive(), e.ours.positive() && e.ours.minus(e.theirs).positive(), "none",
		lost.takes("a factor of %.2f", math.Exp))
}

// competitive judges the claim that a method takes less than twice QTA's steps on the
// shortest mazes, of 9 cells.
func (r evidence) competitive(m paper.Method) judgement {
	const shortest, factor = 9, 2
	terms, e, j := r.compare(m, 1, 1000, shortest)
	if terms == nil {
		return j
	}
	more := e.ours.minus(estimate{Value: math.Log(factor)})
	j.Size = ""
	return j.decide(more.negative(), more.positive(), "less than 2", more.takes("a factor of %.2f beside 2", math.Exp))
}

// agnostic judges the claim that it does not matter with which goal Equation 5 is
// asked: then literal, which asks with the environment's, takes the steps of paper. Both
// have the same changes, such as fewer candidates. Too few runs never show that there is no
// difference.
func (r evidence) agnostic() judgement {
	var terms []term
	for _, g := range r.Groups {
		changes, literal := strings.CutPrefix(g.Setting, "literal")
		if q := r.Group(full+changes, paper.QTA, g.Maze); literal && q != nil && g.Method == q.Method && g.N() > 0 {
			terms = append(terms, term{g, 1, nil}, term{q, -1, nil})
		}
	}
	if len(terms) == 0 {
		return judgement{What: "no maze has ended runs of both, literal and paper"}
	}
	e := effectOf(even(terms))
	j := e.judge("steps of literal / steps of paper", terms)
	return j.decide(false, e.ours.positive(), "1", e.ours.takes("a factor of %.2f", math.Exp))
}

// kind returns the terms in one kind of maze, with their weights times those of the
// slope in ten cells of path.
func kind(terms []term, family string) (these []term) {
	var lengths []float64
	for _, t := range terms {
		if t.Family == family {
			these, lengths = append(these, t), append(lengths, float64(t.Length)/10)
		}
	}
	for i := range these {
		squares, _ := scatter(lengths)
		these[i].weight *= (lengths[i] - stats.Mean(lengths)) / squares
	}
	return these
}

// trend judges the claim that the ratio of a method's steps to QTA's grows with the
// path length (sign 1), or falls (-1), in the kind of maze that has more pairs.
func (r evidence) trend(m paper.Method, sign float64) judgement {
	all := r.contrast(m, sign, 1000, math.MaxInt)
	terms := kind(all, "x5")
	if u := kind(all, "U5"); len(u) > len(terms) {
		terms = u
	}
	if len(terms) < 4 {
		return judgement{What: "no two mazes of a kind have ended runs of both, " + m.Name + " with " + r.Learner(m)}
	}
	for i := range terms { // each maze is there twice
		terms[i].weight *= 2
	}
	return effectOf(terms).judge("growth per ten cells of "+ratio(m, sign), terms)
}

// waves judges the claim that QTA's steps grow faster with the path length in square
// waves than in M-mazes, both no longer than longest.
func (r evidence) waves(longest int) judgement {
	var all []term
	for _, g := range r.Groups {
		if g.Length <= longest && g.Setting == full && g.Method == paper.QTA.Name && g.Family != "" && g.N() > 0 {
			all = append(all, term{g, map[string]float64{"U5": 1, "x5": -1}[g.Family], g.Paper})
		}
	}
	m, u := kind(all, "x5"), kind(all, "U5")
	if min(len(m), len(u)) < enoughMazes {
		return judgement{What: "it would take three mazes of each kind"}
	}
	terms := slices.Concat(m, u)
	return effectOf(terms).judge("growth of QTA’s steps per ten cells, in square waves / in M-mazes", terms)
}

// share writes hits of n with the interval of their share.
func share(hits, n int) (text string, r interval) {
	r = binomialRange(hits, n)
	return fmt.Sprintf("%d of %d (%.2f to %.2f)", hits, n, r.Low, r.High), r
}

// least says how many hits of n or more would show something.
func least(hits, n int, shows func(hits int) bool) string {
	for ; hits <= n; hits++ {
		if shows(hits) {
			return fmt.Sprintf("it would take %d of %d", hits, n)
		}
	}
	return "it would take more runs"
}

// never judges the claim that a method solves nothing, as with the paper's seeds.
func (r evidence) never(m paper.Method) judgement {
	g, runs := r.Most(m, (*lab.Record).Ended)
	if g == nil {
		return judgement{What: "no ended runs"}
	}
	here, ours := share(g.Solved, len(runs))
	_, theirs := share(0, paper.Seeds)
	j := judgement{What: "runs that solve it", Paper: fmt.Sprintf("0 of %d", paper.Seeds), Here: here,
		Runs: runsOf([]term{{Group: g}})}
	return j.decide(g.Solved == 0 && ours.High < 0.5, ours.Low > theirs.High, j.Paper, "")
}

// noisy returns what [report.Report.Noisy] does, and says which runs these are.
func (r evidence) noisy(m paper.Method) (noisy, quiet []*lab.Record, j judgement) {
	g, noisy, quiet := r.Noisy(m)
	if g == nil {
		return nil, nil, judgement{What: "it would take runs to their budget (-stop never), with noise and without"}
	}
	return noisy, quiet, judgement{
		Runs: fmt.Sprintf("%d with noise, %d without (%s); %s", len(noisy), len(quiet), g.Setting, g.Maze)}
}

// mean returns the mean success of evaluations.
func mean(c lab.Curve) (success float64) {
	for _, e := range c {
		success += e.Success
	}
	return success / float64(len(c))
}

// suffers judges the claim that noise takes of the mean success of a run's
// evaluations: what contradicts it excludes as much as in the paper's curve.
func (r evidence) suffers(m paper.Method) judgement {
	noisy, quiet, j := r.noisy(m)
	if len(quiet) == 0 {
		return j
	}
	var e effect
	for i, runs := range [][]*lab.Record{noisy, quiet} {
		var means []float64
		for _, run := range runs {
			means = append(means, mean(run.Curve))
		}
		e.ours.add([]float64{float64(2*i - 1)}, [][]float64{means})
	}
	same := func(x float64) float64 { return x }
	with, without := paper.Success(m), paper.Success(paper.QTA)
	for i, point := range with { // at the same steps
		e.theirs.Value += (without[i][1] - point[1]) / float64(len(with))
	}
	j.What, j.Paper, j.Here = "mean success lost to the noise", fmt.Sprintf("%.2f", e.theirs.Value), e.ours.show(same)
	return j.decide(e.ours.positive(), e.contradicts(), j.Paper, e.ours.takes("%.2f of success", same))
}

// collapses judges the claim that noise lets learning collapse, as 9 of the paper's runs did.
func (r evidence) collapses(m paper.Method) judgement {
	const theirs, last = 9, 5
	noisy, quiet, j := r.noisy(m)
	if len(quiet) == 0 {
		return j
	}
	collapsed := func(runs []*lab.Record) (n int) {
		for _, run := range runs {
			if mean(run.Curve[max(0, len(run.Curve)-last):]) < lab.Half {
				n++
			}
		}
		return n
	}
	a, b := collapsed(noisy), collapsed(quiet)
	here, ours := share(a, len(noisy))
	j.What = "runs whose last five evaluations succeed in less than half"
	j.Paper = fmt.Sprintf("%d of %d", theirs, paper.Seeds)
	j.Here = fmt.Sprintf("%s, %d of %d without", here, b, len(quiet))
	shows := func(a int) bool { return fisher(a, len(noisy), b, len(quiet)) < 0.025 }
	return j.decide(shows(a), ours.High < float64(theirs)/paper.Seeds, j.Paper, least(a, len(noisy), shows))
}

// above judges the claim that a number of Figure 5 is above another, by the binomial
// test over the runs.
func (r evidence) above(above float64, what string, number func(*lab.Figure5) float64) judgement {
	runs, hits, sum := r.Figure5(), 0, 0.0
	if len(runs) == 0 {
		return judgement{What: "no run of " + full + " on " + paper.Figure5Maze + " is at its end"}
	}
	for _, run := range runs {
		x := number(run.Outcome.Figure5)
		if sum += x; x > above {
			hits++
		}
	}
	n := len(runs)
	j := judgement{What: what, Paper: fmt.Sprintf("above %v", above),
		Here: fmt.Sprintf("above %v in %d of %d, mean %.3g", above, hits, n, sum/float64(n)),
		Runs: fmt.Sprintf("%d QTA (%s); %s", n, full, paper.Figure5Maze)}
	shows := func(hits int) bool { return atMost(n-hits, n, 0.5) < 0.025 } // as many misses, or fewer
	return j.decide(shows(hits), shows(n-hits), j.Paper, least(hits, n, shows))
}
