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
)

// This file judges claims about steps: ratios between methods, and the growth of steps and
// of ratios with the path length.

const (
	enoughRuns  = 6 // of QTA with the set paper on a maze, to compare MEGA and VDS with these
	enoughMazes = 3 // of each kind, to compare square waves with M-mazes
)

// The signs of claims about the steps of a method and of QTA.
const (
	more  = 1.0  // the method needs more steps
	fewer = -1.0 // it needs fewer
	grows = more // the longer the mazes, the more steps it needs in comparison
	falls = fewer
)

// A term is a summand of an effect: the mean logarithm of a group's steps, with its weight.
type term struct {
	*report.Group
	weight float64
	theirs *paper.Point // the paper's steps, or nil if it has none
}

// arm names the method and setting of a term. Terms of one arm share a variance.
func (t term) arm() string { return fmt.Sprintf("%s (%s)", t.Method, t.Setting) }

// An effect is a number that is positive if a claim is true: ours is from our runs, theirs from the paper.
type effect struct{ ours, theirs estimate }

// effectOf returns the weighted sum of the terms' mean logarithms.
func effectOf(terms []term) (e effect) {
	weights := map[string][]float64{}
	samples := map[string][][]float64{}
	for _, t := range terms {
		arm := t.arm()
		weights[arm] = append(weights[arm], t.weight)
		samples[arm] = append(samples[arm], logs(t.Steps))
		counts := math.Abs(t.weight) > 1e-9 // otherwise the weight is 0 but for rounding
		bound := counts && t.Bound()
		e.ours.tooLow = e.ours.tooLow || bound && t.weight > 0
		e.ours.tooHigh = e.ours.tooHigh || bound && t.weight < 0
		if t.theirs == nil {
			e.theirs.unknown = true
		} else if counts {
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

// logs returns the logarithms of steps.
func logs(steps []float64) (x []float64) {
	for _, s := range steps {
		x = append(x, math.Log(s))
	}
	return x
}

// minusHalf returns our effect minus half of the paper's.
func (e effect) minusHalf() estimate { return e.ours.minus(e.theirs.half()) }

// contradicts reports whether our effect is negative. It is also true if the interval of our
// effect contains 0 and the effect is less than half of the paper's.
func (e effect) contradicts() bool {
	if e.ours.negative() {
		return true
	}
	paperShowsIt := !e.theirs.unknown && e.theirs.Value > 0
	return paperShowsIt && e.ours.interval().Low <= 0 && e.minusHalf().negative()
}

// test decides whether the effect is positive. The function f turns an effect into the number
// that is shown, and format shows the effect that would decide it.
func (e effect) test(f func(float64) float64, format string) test {
	t := test{
		holds:       e.ours.positive(),
		contradicts: e.contradicts(),
		chance:      e.ours.chance(),
		takes:       e.ours.takes(format, f),
	}
	switch {
	case e.ours.negative():
		t.excluded = fmt.Sprintf("%.2f", f(0))
	case t.contradicts:
		t.chance = e.minusHalf().chance()
		t.excluded = fmt.Sprintf("half of the paper’s effect, %.2f", f(e.theirs.Value/2))
	}
	return t
}

// size compares our effect with the paper's.
func (e effect) size() string {
	difference := e.ours.minus(e.theirs)
	switch {
	case e.theirs.unknown:
		return ""
	case difference.negative():
		return smaller
	case difference.positive():
		return larger
	case e.isPapers(difference):
		return asPaper
	}
	return unknown
}

// isPapers reports whether our effect is compatible with the paper's, given their difference,
// which is neither negative nor positive. Its interval must be narrow enough to tell the paper's
// effect from none, and exclude half of the paper's effect.
func (e effect) isPapers(difference estimate) bool {
	r := difference.interval()
	half := -e.theirs.Value / 2
	narrow := (r.High-r.Low)/2 < math.Abs(e.theirs.Value)
	notHalf := half < r.Low || half > r.High
	return narrow && notHalf && !difference.tooLow && !difference.tooHigh
}

// judge judges the claim that a ratio of steps is above one.
func (e effect) judge(what string, terms []term) judgement {
	j := judgement{
		Size: e.size(),
		What: what,
		Unit: "times",
		Here: e.ours.bounded(math.Exp),
		Runs: runsOf(terms),
	}
	if !e.theirs.unknown {
		j.Paper = e.theirs.show(math.Exp)
	}
	return j.decide(e.test(math.Exp, "a factor of %.2f"))
}

// runsOf lists the arms of the terms with their numbers of runs, and then the mazes. It names
// the versions of the runs if these differ.
func runsOf(terms []term) string {
	programs := map[string]bool{}
	for _, t := range terms {
		for _, program := range t.Programs(t.Runs) {
			programs[program] = true
		}
	}
	var arms []string
	runs := map[string]int{}
	for _, t := range terms {
		for _, run := range t.Runs {
			arm := t.arm()
			if len(programs) > 1 {
				arm += " of " + t.Program(run)
			}
			if runs[arm] == 0 {
				arms = append(arms, arm)
			}
			runs[arm]++
		}
	}
	for i, arm := range arms {
		arms[i] = fmt.Sprintf("%d %s", runs[arm], arm)
	}
	mazes := mazesOf(terms)
	if n := len(mazes); n > 6 {
		mazes = []string{fmt.Sprintf("%d mazes", n)}
	}
	return strings.Join(arms, ", ") + "; " + strings.Join(mazes, ", ")
}

// mazesOf returns the mazes of terms.
func mazesOf(terms []term) (mazes []string) {
	for _, t := range terms {
		if !slices.Contains(mazes, t.Maze) {
			mazes = append(mazes, t.Maze)
		}
	}
	return mazes
}

// enumerate lists names for a sentence, with "and" before the last.
func enumerate(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// contrast pairs a method with QTA on each of the paper's mazes on which both have runs and
// whose path is no longer than longest. Each pair is a term of the method with weight sign and
// a term of QTA with weight -sign. The parameter index says how many steps the paper's figure
// means by one index of the method.
func (r evidence) contrast(m paper.Method, sign, index float64, longest int) (terms []term) {
	set := r.SettingOf(m)
	for _, g := range r.of(m, set) {
		q := r.rival(set, g.Maze)
		if q == nil || g.Length > longest {
			continue
		}
		a := term{Group: g, weight: sign, theirs: paper.Of("", m.Name, g.Maze)}
		b := term{Group: q, weight: -sign}
		if a.theirs != nil { // a copy of the paper's point
			a.theirs.Mean *= index / 1000
			a.theirs.Deviation *= index / 1000
			b.theirs = paper.Of(a.theirs.Panel, paper.QTA.Name, g.Maze)
		}
		terms = append(terms, a, b)
	}
	return terms
}

// rival returns the runs of QTA with which a method's runs on a maze are compared, or nil. The
// argument set is the parameter set of the method's runs. If it is paper or quick, QTA's runs
// have the same set. If it is mega or vds, QTA's runs have quick if there are any and fewer
// than enoughRuns with paper, and else paper.
func (r evidence) rival(set, maze string) *report.Group {
	withQuick := r.Group(quick, paper.QTA, maze)
	withPaper := r.Group(full, paper.QTA, maze)
	switch set {
	case full:
		return withPaper
	case quick:
		return withQuick
	}
	if withQuick != nil && (withPaper == nil || withPaper.N() < enoughRuns) {
		return withQuick
	}
	return withPaper
}

// ofVersion returns the group beside q whose newest version is the given one, or q if there is
// none.
func (r evidence) ofVersion(version string, q *report.Group) *report.Group {
	for _, other := range r.Beside(q, q.Method) {
		if other.Version() == version && other.N() > 0 {
			return other
		}
	}
	return q
}

// ratio names what a contrast compares.
func ratio(m paper.Method, sign float64) string {
	if sign < 0 {
		return "steps of QTA / steps of " + m.Name
	}
	return "steps of " + m.Name + " / steps of QTA"
}

// compare judges the claim that a method needs more or fewer steps than QTA, as the sign says,
// on mazes no longer than longest. It also returns the terms and the effect; the terms are
// nil if no maze has runs of both. A claim about MEGA or VDS names its mazes.
func (r evidence) compare(m paper.Method, sign, index float64, longest int) ([]term, effect, judgement) {
	terms := even(r.contrast(m, sign, index, longest))
	if len(terms) == 0 {
		return nil, effect{}, judgement{What: "no maze has ended runs of both QTA and " +
			m.Name + " with " + r.SettingOf(m)}
	}
	e := effectOf(terms)
	j := e.judge(ratio(m, sign), terms)
	if m.Own() != "" {
		j.On = enumerate(mazesOf(terms))
	}
	return terms, e, j
}

// even divides the weights by the number of mazes, which is half of the number of terms. The
// effect is then a mean over mazes.
func even(terms []term) []term {
	for i := range terms {
		terms[i].weight /= float64(len(terms) / 2)
	}
	return terms
}

// needs judges the claim of [evidence.compare] on all mazes.
func (r evidence) needs(sign float64, m paper.Method) judgement {
	_, _, j := r.compare(m, sign, 1000, math.MaxInt)
	return j
}

// none judges the claim that a method has no benefit over QTA. A panel of the paper shows a
// benefit of the method other on the same mazes. The claim holds if the runs exclude that m has
// so large a benefit.
func (r evidence) none(m, other paper.Method, panel string) judgement {
	terms, e, j := r.compare(m, fewer, 1000, math.MaxInt)
	if terms == nil {
		return j
	}
	for i, t := range terms {
		method := t.Method
		if method == m.Name {
			method = other.Name
		}
		terms[i].theirs = paper.Of(panel, method, t.Maze)
	}
	benefit := effectOf(terms).theirs
	j.What += fmt.Sprintf("; %.2f with %s in the paper", math.Exp(benefit.Value), other.Name)
	// The paper's benefit is taken as exact.
	lost := estimate{Value: benefit.Value, unknown: benefit.unknown}.minus(e.ours)
	ratioOf := func(lost float64) float64 { return math.Exp(benefit.Value - lost) }
	helps := e.ours.positive() && e.ours.minus(e.theirs).positive()
	t := test{
		holds:       lost.positive(),
		contradicts: helps,
		chance:      lost.chance(),
		excluded:    "no benefit",
		takes:       lost.takes("a ratio of %.2f", ratioOf),
	}
	if helps {
		t.chance = e.ours.chance()
	}
	return j.decide(t)
}

// competitive judges the claim that a method takes less than twice QTA's steps on the
// shortest mazes, of 9 cells.
func (r evidence) competitive(m paper.Method) judgement {
	const shortest = 9
	terms, e, j := r.compare(m, more, 1000, shortest)
	if terms == nil {
		return j
	}
	beyond := e.ours.minus(estimate{Value: math.Ln2}) // a factor of 2
	j.Size = ""
	return j.decide(test{
		holds:       beyond.negative(),
		contradicts: beyond.positive(),
		chance:      beyond.chance(),
		excluded:    "less than 2",
		takes:       beyond.takes("a factor of %.2f beside 2", math.Exp),
	})
}

// worse judges the claim that square waves take more steps than M-mazes with paths of the same
// length. It is judged on QTA, because MEGA and VDS have no runs on M-mazes.
func (r evidence) worse() judgement {
	var terms []term
	for _, wave := range r.of(paper.QTA, full) {
		for _, m := range r.of(paper.QTA, full) {
			ofBothKinds := wave.Family == "U5" && m.Family == "x5"
			if ofBothKinds && wave.Length == m.Length {
				terms = append(terms,
					term{Group: wave, weight: 1, theirs: wave.Paper},
					term{Group: m, weight: -1, theirs: m.Paper})
			}
		}
	}
	if len(terms) == 0 {
		return judgement{What: "no square wave and M-maze of the same length both have ended runs"}
	}
	const what = "QTA’s steps on square waves / on M-mazes of the same length; " +
		"MEGA and VDS have no runs on M-mazes"
	return effectOf(even(terms)).judge(what, terms)
}

// kind returns the terms on one kind of maze. It multiplies their weights so that their effect
// is the least-squares slope for ten cells of path.
func kind(terms []term, family string) (these []term) {
	var lengths []float64
	for _, t := range terms {
		if t.Family == family {
			these = append(these, t)
			lengths = append(lengths, float64(t.Length)/10)
		}
	}
	if len(these) == 0 {
		return nil
	}
	squares, _ := scatter(lengths)
	for i := range these {
		these[i].weight *= (lengths[i] - stats.Mean(lengths)) / squares
	}
	return these
}

// trend judges the claim that the ratio of a method's steps to QTA's grows or falls with the
// path length, as the sign says. It takes the kind of maze that has more pairs. The claim
// is not judged if the paper's own numbers on these mazes show no such trend.
func (r evidence) trend(m paper.Method, sign float64) judgement {
	all := r.contrast(m, sign, 1000, math.MaxInt)
	terms := kind(all, "x5")
	if u := kind(all, "U5"); len(u) > len(terms) {
		terms = u
	}
	if len(terms) < 2*2 { // a method and QTA, on two mazes
		return judgement{What: "no two mazes of a kind have ended runs of both QTA and " +
			m.Name + " with " + r.SettingOf(m)}
	}
	// kind counts each maze twice, for a method and for QTA, which halves the weights.
	for i := range terms {
		terms[i].weight *= 2
	}
	e := effectOf(terms)
	j := e.judge("growth per ten cells of path, of ("+ratio(m, sign)+")", terms)
	if m.Own() != "" {
		j.On = enumerate(mazesOf(terms))
	}
	if !e.theirs.unknown && e.theirs.Value <= 0 {
		what := j.What + "; the paper’s own numbers on these mazes do not show it"
		return judgement{What: what, Unit: j.Unit, Paper: j.Paper, Here: j.Here, Runs: j.Runs}
	}
	return j
}

// waves judges the claim that QTA's steps grow faster with the path length in square waves than
// in M-mazes. It uses mazes no longer than longest.
func (r evidence) waves(longest int) judgement {
	var all []term
	for _, g := range r.of(paper.QTA, full) {
		weight := -1.0
		if g.Family == "U5" {
			weight = 1
		}
		if g.Length <= longest {
			all = append(all, term{Group: g, weight: weight, theirs: g.Paper})
		}
	}
	m := kind(all, "x5")
	u := kind(all, "U5")
	if min(len(m), len(u)) < enoughMazes {
		return judgement{What: "it would take three mazes of each kind"}
	}
	terms := slices.Concat(m, u)
	const what = "growth of QTA’s steps per ten cells of path, in square waves / in M-mazes"
	return effectOf(terms).judge(what, terms)
}
