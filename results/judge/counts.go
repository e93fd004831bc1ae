package main

import (
	"fmt"
	"slices"
	"strings"

	"qta/internal/paper"
	"qta/lab"
)

// This file judges claims by counting runs: HER, noise and Figure 5.

// share returns the 95 % interval of the share hits / n, and a text with hits, n and this
// interval.
func share(hits, n int) (text string, r interval) {
	r = binomialRange(hits, n)
	return fmt.Sprintf("%d of %d (%.2f to %.2f)", hits, n, r.Low, r.High), r
}

// least says how many hits of n would decide a claim: the first number from hits up for which
// shows is true.
func least(hits, n int, shows func(hits int) bool) string {
	for ; hits <= n; hits++ {
		if shows(hits) {
			return fmt.Sprintf("it would take %d of %d", hits, n)
		}
	}
	return "it would take more runs"
}

// never judges the claim that a method never reaches the goal. In the paper none of its 12 runs
// does.
func (r evidence) never(m paper.Method) judgement {
	g, runs := r.Most(m, (*lab.Record).Ended)
	if g == nil {
		return judgement{What: "no run has ended"}
	}
	here, ours := share(g.Solved, len(runs))
	nobody, theirs := share(0, paper.Seeds)
	j := judgement{
		What:  "runs that solve the maze",
		Paper: brief(nobody),
		Here:  here,
		Runs:  runsOf([]term{{Group: g}}),
	}
	return j.decide(test{
		holds:       g.Solved == 0 && ours.High < 0.5, // the runs exclude that half solve it
		contradicts: ours.Low > theirs.High,
		excluded:    brief(nobody),
	})
}

// noisy returns the runs that [report.Report.Noisy] finds, those with noise m and those
// without noise, and a judgement that names them.
func (r evidence) noisy(m paper.Method) (noisy, quiet []*lab.Record, j judgement) {
	g, noisy, quiet := r.Noisy(m)
	if g == nil {
		return nil, nil, judgement{What: "it would take runs to their budget (-stop never), " +
			"with noise and without"}
	}
	versions := strings.Join(g.Programs(slices.Concat(noisy, quiet)), " and ")
	runs := fmt.Sprintf("%d with noise, %d without (%s) of %s; %s",
		len(noisy), len(quiet), g.Setting, versions, g.Maze)
	return noisy, quiet, judgement{Runs: runs}
}

// mean returns the mean success of evaluations.
func mean(c lab.Curve) (success float64) {
	for _, e := range c {
		success += e.Success
	}
	return success / float64(len(c))
}

// means returns the mean success of each run.
func means(runs []*lab.Record) (all []float64) {
	for _, run := range runs {
		all = append(all, mean(run.Curve))
	}
	return all
}

// suffers judges the claim that noise lowers the mean success of a run's evaluations. It
// compares the loss with the one in the paper's curves.
func (r evidence) suffers(m paper.Method) judgement {
	noisy, quiet, j := r.noisy(m)
	if len(quiet) == 0 {
		return j
	}
	var e effect // the success without noise minus the success with it; the paper's has no variance
	e.ours.add([]float64{-1}, [][]float64{means(noisy)})
	e.ours.add([]float64{1}, [][]float64{means(quiet)})
	with := paper.Success(m)
	without := paper.Success(paper.QTA)
	for i, point := range with { // both curves have points at the same steps
		e.theirs.Value += (without[i][1] - point[1]) / float64(len(with))
	}
	same := func(x float64) float64 { return x }
	j.What = "mean success lost to the noise"
	j.Unit = "of success"
	j.Paper = fmt.Sprintf("%.2f", e.theirs.Value)
	j.Here = e.ours.show(same)
	return j.decide(e.test(same, "%.2f of success"))
}

// collapsed counts the runs whose last five evaluations have a mean success below a half.
func collapsed(runs []*lab.Record) (n int) {
	const last = 5
	for _, run := range runs {
		if mean(run.Curve[max(0, len(run.Curve)-last):]) < lab.Half {
			n++
		}
	}
	return n
}

// collapses judges the claim that noise makes learning collapse. In the paper 9 of 12 runs do.
func (r evidence) collapses(m paper.Method) judgement {
	const theirs = 9
	noisy, quiet, j := r.noisy(m)
	if len(quiet) == 0 {
		return j
	}
	with := collapsed(noisy)
	without := collapsed(quiet)
	here, ours := share(with, len(noisy))
	j.What = "runs whose last five evaluations have a mean success below a half"
	j.Paper = fmt.Sprintf("%d of %d", theirs, paper.Seeds)
	j.Here = fmt.Sprintf("%s, %d of %d without", here, without, len(quiet))

	chance := func(hits int) float64 { return fisher(hits, len(noisy), without, len(quiet)) }
	shows := func(hits int) bool { return chance(hits) < 0.025 }
	const half = float64(theirs) / paper.Seeds / 2
	t := test{
		holds:       shows(with),
		contradicts: ours.High < half,
		chance:      2 * chance(with),
		excluded:    fmt.Sprintf("half of the paper’s share, %.2f", half),
		takes:       least(with, len(noisy), shows),
	}
	if t.contradicts && !t.holds { // the verdict is "contradicted", whose chance is another
		t.chance = 2 * atMost(with, len(noisy), half)
	}
	return j.decide(t)
}

// above judges the claim that a number of Figure 5 lies above a bound, by the binomial test
// over the runs.
func (r evidence) above(bound float64, what string, number func(*lab.Figure5) float64) judgement {
	runs := r.Figure5()
	n := len(runs)
	if n == 0 {
		return judgement{What: "no run of " + full + " on " + paper.Figure5Maze + " is at its end"}
	}
	hits := 0
	sum := 0.0
	for _, run := range runs {
		x := number(run.Outcome.Figure5)
		sum += x
		if x > bound {
			hits++
		}
	}
	j := judgement{
		What:  what,
		Paper: fmt.Sprintf("above %v", bound),
		Here:  fmt.Sprintf("above %v in %d of %d, mean %.3g", bound, hits, n, sum/float64(n)),
		Runs:  fmt.Sprintf("%d QTA (%s); %s", n, full, paper.Figure5Maze),
	}
	// The chance of so many hits or more, if half of all runs hit.
	chance := func(hits int) float64 { return atMost(n-hits, n, 0.5) }
	shows := func(hits int) bool { return chance(hits) < 0.025 }
	return j.decide(test{
		holds:       shows(hits),
		contradicts: shows(n - hits),
		chance:      2 * min(chance(hits), chance(n-hits)),
		excluded:    j.Paper,
		takes:       least(hits, n, shows),
	})
}
