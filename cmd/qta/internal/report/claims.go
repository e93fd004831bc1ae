package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"qta/cmd/qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// This file judges the claims of the paper's section 4. Every verdict comes with
// what was measured, its interval and the runs behind it.

// A claim is one of the paper's, with what the runs say of it.
type claim struct {
	Place, Text string
	judgement
}

// A judgement is a verdict and what it rests on.
type judgement struct {
	Verdict      string // "" where no run speaks of the claim
	What         string // what was measured, or why nothing was
	Value, Range string // that, and its 95 % interval if there is one
	Note         string // the test and the runs behind it
}

// The verdicts, beside "no effect beyond ...".
const (
	holds = "holds"
	fails = "does not hold"
	few   = "not enough runs"
)

// Decided reports whether the runs decide the claim.
func (j judgement) Decided() bool { return j.Verdict == holds || j.Verdict == fails }

const (
	material     = 1.25 // the ratio of steps below which two methods count as equal
	materialArea = 0.05 // the mean success that counts as nothing
	longMaze     = 21   // the path length from which a maze is a long one: 10x5, 4U5
)

// judge judges all claims by the runs of a setting.
func (s *setting) judge() []claim {
	const (
		baselines, results, replay, noise = "baselines", "main results", "prioritized replay", "verification"
		critics, values, estimates        = "critic networks", "Q value disagreement", "estimation techniques"
	)
	return []claim{
		{baselines, "HER reaches the goal in no maze.", s.never(paper.HER)},
		{results, "QTA needs significantly fewer steps than MEGA.", s.fewer(paper.QTA, paper.MEGA)},
		{results, "MEGA approaches QTA as the horizon grows.", s.trend(paper.MEGA, paper.QTA)},
		{results, "QTA needs fewer steps than VDS.", s.fewer(paper.QTA, paper.VDS)},
		{results, "VDS is competitive at first and becomes less sample efficient with longer mazes.",
			s.trend(paper.QTA, paper.VDS)},
		{results, "VDS fails to solve many environments.", s.unsolved(paper.VDS)},
		{results, "All algorithms perform much worse on square-wave mazes.", s.waves()},
		{replay, "Prioritizing by uncertainty accelerates learning.", s.fewer(paper.PER, paper.QTA)},
		{replay, "It does so especially in longer mazes.", s.trend(paper.PER, paper.QTA)},
		{replay, "Prioritizing by TD error offers no significant benefit.", s.noFewer(paper.TD, paper.QTA)},
		{noise, "Performance suffers with noise 0.01 on the uncertainty.", s.noise(paper.Noise1)},
		{noise, "Performance suffers with noise 0.03 on the uncertainty.", s.noise(paper.Noise3)},
		{noise, "Performance suffers with noise 0.05 on the uncertainty.", s.noise(paper.Noise5)},
		{noise, "It collapses with noise of 0.05.", s.collapse(paper.Noise5)},
		{critics, "The values grow over time.",
			s.positive("change of the mean value", func(f *lab.Figure5) float64 { return f.ValueGrowth })},
		{critics, "The values' error falls over time.",
			s.positive("fall of the mean absolute error", func(f *lab.Figure5) float64 { return f.ErrorFall })},
		{critics, "The error is greater further from the start.",
			s.positive("correlation of error and distance, at the end",
				func(f *lab.Figure5) float64 { return f.ErrorByDistance })},
		{critics, "Probabilities of goals follow the heads' deviation.",
			s.positive("correlation of probability and deviation",
				func(f *lab.Figure5) float64 { return f.GoalByDeviation })},
		{critics, "Sampled goals are far from the start.",
			s.positive("how much lower the optimal value is at sampled goals",
				func(f *lab.Figure5) float64 { return f.GoalDistance })},
		{values, "Disagreement of Q-values is a worse estimator than PUN.", s.fewer(paper.QTA, paper.Q)},
		{estimates, "PUN is better than bootstrapped Q-networks.", s.fewer(paper.QTA, paper.Bootstrap)},
		{estimates, "PUN is better than deep ensembles.", s.fewer(paper.QTA, paper.Ensemble)},
	}
}

// A contrast is two methods compared in several mazes.
type contrast struct {
	a, b           []sample // of each maze
	mazes          []string
	lengths        []float64
	runs, unsolved int
}

// add adds a maze.
func (c *contrast) add(maze string, a, b *group, x, y sample) {
	c.a, c.b = append(c.a, x), append(c.b, y)
	c.mazes, c.lengths = append(c.mazes, maze), append(c.lengths, float64(a.Length))
	c.runs += a.N() + b.N()
	c.unsolved += a.N() - a.Solved + b.N() - b.Solved
}

// judge judges the claim that the weighted sum of the differences is positive. It
// holds where the whole interval is, and does not where the interval ends below
// what counts as none. A bound in b may make the sum too low, and one in a too high:
// what it could overturn is not decided. Numbers are shown as show makes them;
// beyond is the format of the verdict in between.
func (c *contrast) judge(what string, weights []float64, none float64, beyond string,
	show func(float64) float64) judgement {
	if len(c.mazes) == 0 {
		return judgement{What: "no maze has ended runs of both"}
	}
	sum, r, ok := weigh(c.a, c.b, weights)
	j := judgement{Verdict: few, What: what, Value: fmt.Sprintf("%.2f", show(sum))}
	j.Note = fmt.Sprintf("Student’s t; %s, %s", where(c.mazes), words.Count(c.runs, "run"))
	if c.unsolved > 0 {
		j.Note += fmt.Sprintf(", %d of them unsolved and standing at their budgets", c.unsolved)
	}
	if !ok {
		return j
	}
	j.Range = fmt.Sprintf("%.2f to %.2f", show(r.Low), show(r.High))
	bounded := func(s sample) bool { return s.Bounded }
	tooLow, tooHigh := slices.ContainsFunc(c.b, bounded), slices.ContainsFunc(c.a, bounded)
	switch {
	case r.Low > 0 && !tooHigh:
		j.Verdict = holds
	case r.High < none && !tooLow:
		j.Verdict = fails
	case !tooLow && !tooHigh:
		j.Verdict = fmt.Sprintf(beyond, show(max(r.High, -r.Low)))
	}
	return j
}

// ratio judges the claim that exp of the weighted sum, a ratio of steps, is above one.
func (c *contrast) ratio(what string, weights []float64) judgement {
	return c.judge(what, weights, math.Log(material), "no effect beyond a factor of %.2f", math.Exp)
}

func where(mazes []string) string {
	if n := len(mazes); n > 6 {
		return fmt.Sprintf("%d mazes from %s to %s", n, mazes[0], mazes[n-1])
	}
	return strings.Join(mazes, ", ")
}

// both compares the logarithms of two methods' steps in every maze where both have
// ended runs; with a family, in those of its mazes where all of these are solved.
func (s *setting) both(a, b paper.Method, family string) (c contrast) {
	for _, maze := range s.mazes {
		x, y := s.group(maze, a), s.group(maze, b)
		if x != nil && y != nil && (family == "" || x.Family == family && !x.MeanBound() && !y.MeanBound()) {
			c.add(maze, x, y, x.logs(), y.logs())
		}
	}
	return c
}

// fewer judges the claim that a needs fewer steps than b.
func (s *setting) fewer(a, b paper.Method) judgement {
	c := s.both(a, b, "")
	return c.ratio(fmt.Sprintf("steps of %s / steps of %s", b.Name, a.Name), equal(len(c.mazes)))
}

// noFewer judges the claim that a does not need materially fewer steps than b.
func (s *setting) noFewer(a, b paper.Method) judgement {
	j := s.fewer(a, b)
	switch j.Verdict {
	case holds:
		j.Verdict = fails
	case fails:
		j.Verdict = holds
	}
	return j
}

// trend judges the claim that the ratio of b's steps to a's grows with the path
// length. A maze with an unsolved run takes no part, as its budget would be the
// trend.
func (s *setting) trend(a, b paper.Method) judgement {
	c := s.both(a, b, "x5")
	if u := s.both(a, b, "U5"); len(u.mazes) > len(c.mazes) {
		c = u
	}
	if len(c.mazes) < 2 {
		return judgement{What: "no two mazes of a kind that all ended runs of both solved"}
	}
	perTen := slope(c.lengths)
	for i := range perTen {
		perTen[i] *= 10
	}
	return c.ratio(fmt.Sprintf("growth of steps of %s / steps of %s in 10 cells", b.Name, a.Name), perTen)
}

// waves judges the claim that square waves take more steps than M-mazes of their length.
func (s *setting) waves() judgement {
	var c contrast
	for _, m := range []paper.Method{paper.QTA, paper.MEGA, paper.VDS} {
		for _, a := range s.mazes {
			for _, b := range s.mazes {
				x, y := s.group(a, m), s.group(b, m)
				if x != nil && y != nil && x.Family == "x5" && y.Family == "U5" && x.Length == y.Length {
					c.add(fmt.Sprintf("%s %s and %s", m.Name, a, b), x, y, x.logs(), y.logs())
				}
			}
		}
	}
	return c.ratio("steps in a square-wave maze / steps in the M-maze of its path length", equal(len(c.mazes)))
}

// noise judges the claim that noise on the uncertainty takes of the mean success
// over the evaluations that all runs know.
func (s *setting) noise(m paper.Method) judgement {
	var c contrast
	for _, maze := range s.mazes {
		quiet, noisy := s.group(maze, paper.QTA), s.group(maze, m)
		if quiet == nil || noisy == nil {
			continue
		}
		if steps, success := curve(slices.Concat(noisy.runs, quiet.runs)); len(steps) > 0 {
			c.add(maze, noisy, quiet, areas(success[:noisy.N()]), areas(success[noisy.N():]))
		}
	}
	same := func(x float64) float64 { return x }
	return c.judge("mean success that the noise takes", equal(len(c.mazes)), materialArea,
		"no effect beyond %.2f of success", same)
}

// unsolved judges the claim that a method fails in many of the longer mazes: in
// at least half of them a seed has not solved it.
func (s *setting) unsolved(m paper.Method) judgement {
	var runs []*lab.Record
	mazes, failed, least := 0, 0, math.MaxInt
	for _, maze := range s.mazes {
		if g := s.group(maze, m); g != nil && g.Family != "" && g.Length >= longMaze {
			mazes++
			runs = append(runs, g.runs...)
			least = min(least, g.N())
			if g.MeanBound() {
				failed++
			}
		}
	}
	if mazes < 2 {
		return judgement{What: "no ended runs in two M-mazes from 10x5 or square-wave mazes from 4U5"}
	}
	j, _, _ := share("share of runs unsolved", runs, func(r *lab.Record) bool { return r.Outcome.SolvedAt == 0 })
	j.Note += fmt.Sprintf("; a run is unsolved in %d of %d mazes from path length %d on", failed, mazes, longMaze)
	switch {
	case 2*failed >= mazes:
		j.Verdict = holds
	case least >= enoughRuns:
		j.Verdict = fails
	}
	return j
}

// never judges the claim that no rollout of an evaluation ends at the goal.
func (s *setting) never(m paper.Method) judgement {
	runs, solved := s.of(m), 0
	j, hits, _ := share("share of runs that reach it", runs, func(r *lab.Record) bool {
		if r.Outcome.SolvedAt > 0 {
			solved++
		}
		return r.Curve.FirstAt(math.SmallestNonzeroFloat64) > 0
	})
	switch {
	case hits > 0:
		j.Verdict = fails
		j.Note += fmt.Sprintf("; %s solved the maze, and %s reached the goal without solving it",
			words.Count(solved, "run"), words.Count(hits-solved, "run"))
	case len(runs) >= enoughRuns:
		j.Verdict = holds
	}
	return j
}

// collapse judges the claim that noise lets learning collapse: that most runs end
// with an evaluation in which less than half the rollouts succeed.
func (s *setting) collapse(m paper.Method) judgement {
	return most("share of runs that end with a success below a half", s.atEnd(m),
		func(r *lab.Record) bool { return r.Last().Success < lab.Half })
}

// positive judges the claim that a number of Figure 5 is positive in most runs of QTA.
func (s *setting) positive(what string, number func(*lab.Figure5) float64) judgement {
	runs := slices.DeleteFunc(s.atEnd(paper.QTA), func(r *lab.Record) bool { return r.Outcome.Figure5 == nil })
	sum := 0.0
	j := most("share of runs in which it is positive: "+what, runs, func(r *lab.Record) bool {
		x := number(r.Outcome.Figure5)
		sum += x
		return x > 0
	})
	if len(runs) > 0 {
		j.Note += fmt.Sprintf("; its mean is %.3g", sum/float64(len(runs)))
	}
	return j
}

// most judges the claim that most runs are hits, by a sign test, from 6 runs on.
func most(what string, runs []*lab.Record, hit func(*lab.Record) bool) judgement {
	j, hits, r := share(what, runs, hit)
	switch {
	case len(runs) == 0:
		return judgement{What: "no ended runs that tell it"}
	case r.Low > 0.5:
		j.Verdict = holds
	case r.High < 0.5:
		j.Verdict = fails
	case len(runs) >= enoughRuns:
		j.Verdict = fmt.Sprintf("in %d of %s", hits, words.Count(len(runs), "run"))
	}
	return j
}

// share measures the part of runs that are hits, and decides nothing yet.
func share(what string, runs []*lab.Record, hit func(*lab.Record) bool) (j judgement, hits int, r interval) {
	n := len(runs)
	if n == 0 {
		return judgement{What: "no ended runs"}, 0, r
	}
	for _, run := range runs {
		if hit(run) {
			hits++
		}
	}
	r = binomialRange(hits, n)
	j = judgement{Verdict: few, What: what, Value: fmt.Sprintf("%.2f", float64(hits)/float64(n))}
	j.Range = fmt.Sprintf("%.2f to %.2f", r.Low, r.High)
	j.Note = fmt.Sprintf("%d of %s, Clopper and Pearson", hits, words.Count(n, "run"))
	return j, hits, r
}
