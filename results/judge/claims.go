package main

import (
	"math"
	"strings"

	"qta/internal/paper"
	"qta/internal/report"
	"qta/lab"
)

// This file lists the claims of the paper's section 4. results/verdicts.md has the rules
// by which they are judged.

// The settings in which methods are compared, except MEGA and VDS, which have their own.
const full, quick = report.Full, report.Quick

// evidence is the runs that claims are judged by.
type evidence struct{ *report.Report }

// A claim is a claim of the paper, with our judgement of it. A claim that is not counted varies the
// claim above, is nearly the same number as another, or has a rule that was made after its
// result.
type claim struct {
	Short   string // its name in the list of verdicts that a correction leaves
	Text    string
	Counted bool
	judgement
}

// A judgement says what the runs show about a claim.
type judgement struct {
	Direction   string  // "" if the claim is not judged
	Size        string  // of the effect compared with the paper's; "" if the paper has no number
	Chance      float64 // the p-value of the verdict, two-sided; 1 if undecided
	What        string  // what was measured, or why nothing was
	Unit        string  // goes after the first number of Paper and Here
	Paper, Here string  // what was measured, with its interval, in the paper and in these runs
	Note        string  // what the runs exclude, if contradicted; what would decide it, if undecided
	Runs        string  // their numbers, methods and mazes
	On          string  // the mazes to add to the claim's text, or ""
}

// The directions and the sizes.
const (
	holds        = "holds"
	contradicted = "contradicted"
	undecided    = "undecided"

	asPaper = "compatible with the paper’s"
	smaller = "smaller"
	larger  = "larger"
	unknown = "unknown"
)

// The function counted returns a claim that is counted. The function other returns a claim that
// is not counted.
func counted(short, text string, j judgement) claim {
	return claim{Short: short, Text: text, Counted: true, judgement: j}
}

func other(text string, j judgement) claim { return claim{Text: text, judgement: j} }

// claims judges all claims.
func (r evidence) claims() []claim {
	_, _, withLongIndex := r.compare(paper.VDS, more, 2500, math.MaxInt)
	claims := []claim{
		other("HER reaches the goal in no maze.", r.never(paper.HER)),
		counted("MEGA", "QTA needs significantly fewer steps than MEGA.",
			r.needs(more, paper.MEGA)),
		counted("MEGA’s approach", "MEGA approaches QTA as the horizon grows.",
			r.trend(paper.MEGA, falls)),
		counted("VDS", "QTA needs fewer steps than VDS (if an index of the paper’s figure stands for 1000 steps).",
			r.needs(more, paper.VDS)),
		other("The same, if an index stands for 2500 steps.", withLongIndex),
		other("VDS is competitive at first.", r.competitive(paper.VDS)),
		counted("VDS’s growth", "VDS becomes less sample efficient with longer mazes.",
			r.trend(paper.VDS, grows)),
		counted("VDS’s failures", "VDS fails to solve many environments.",
			judgement{What: "it would take five mazes, and a rule for what is many"}),
		counted("waves", "QTA scales more poorly on square waves.", r.waves(math.MaxInt)),
		other("The same, with M-mazes as long as square waves, of 9 to 25 cells.", r.waves(25)),
		other("All algorithms perform much worse on square waves.", r.worse()),
		counted("PER", "Prioritizing by uncertainty accelerates learning.",
			r.needs(fewer, paper.PER)),
		counted("PER’s growth", "It does so especially in longer mazes.",
			r.trend(paper.PER, falls)),
		counted("TD-PER", "Prioritizing by TD error offers no significant benefit.",
			r.none(paper.TD, paper.PER, "3L")),
		counted("noise 0.01", "Performance suffers with noise 0.01 on the uncertainty.",
			r.suffers(paper.Noise1)),
		counted("noise 0.03", "Performance suffers with noise 0.03 on the uncertainty.",
			r.suffers(paper.Noise3)),
		counted("noise 0.05", "Performance suffers with noise 0.05 on the uncertainty.",
			r.suffers(paper.Noise5)),
		counted("collapse", "It collapses with noise of 0.05.", r.collapses(paper.Noise5)),
	}
	claims = append(claims, r.figure5()...)
	return append(claims,
		counted("Q-values", "Disagreement of Q-values is a worse estimator than PUN.",
			r.needs(more, paper.Q)),
		counted("bootstrapped critics",
			"PUN is better than bootstrapped Q-networks (our bootstrapped critics lack Equation 1's minimum, R110).",
			r.needs(more, paper.Bootstrap)),
		counted("ensembles", "PUN is better than deep ensembles (ours lack it too).",
			r.needs(more, paper.Ensemble)),
		other("The prediction is agnostic to the goal that the critics get in Equation 5.",
			r.agnostic()),
	)
}

// figure5 judges the claims about Figure 5. The growth of the values and the fall of their
// error are nearly one number, so only the growth counts. The fall of the deviation is not
// judged, because records do not have the deviation over time.
func (r evidence) figure5() []claim {
	type five = *lab.Figure5
	growth := func(f five) float64 { return f.ValueGrowth }
	fall := func(f five) float64 { return f.ErrorFall }
	errorByDistance := func(f five) float64 { return f.ErrorByDistance }
	goalByDeviation := func(f five) float64 { return f.GoalByDeviation }
	goalDistance := func(f five) float64 { return f.GoalDistance }
	const byDeviation = "correlation of probability and deviation over places"
	return []claim{
		counted("values", "The values grow over time.",
			r.above(0, "growth of the mean value", growth)),
		other("The values' error falls over time.",
			r.above(0, "fall of the mean error, nearly the same number as the growth of the values",
				fall)),
		counted("error by distance", "The error is greater further from the start.",
			r.above(0, "correlation of error and distance over places", errorByDistance)),
		other("The heads' deviation decreases significantly over time.",
			judgement{What: "the runs’ records do not have the deviation over time"}),
		counted("probabilities", "Probabilities of goals follow the heads' deviation.",
			r.above(0, byDeviation, goalByDeviation)),
		other("They do so very closely: the correlation is above a half.",
			r.above(0.5, byDeviation, goalByDeviation)),
		counted("far goals", "Sampled goals are far from the start.",
			r.above(0, "how much lower the mean optimal value of sampled goals is than that of all places",
				goalDistance)),
	}
}

// Name returns the claim's text, with the mazes of On if there are any.
func (c claim) Name() string {
	if c.On == "" {
		return c.Text
	}
	return strings.TrimSuffix(c.Text, ".") + ", on " + c.On + "."
}

// Row returns the claim's name, with a + before it if the claim is not counted.
func (c claim) Row() string {
	if c.Counted {
		return c.Name()
	}
	return "+ " + c.Name()
}

// Verdict returns the direction and, if the claim holds and the size is known, the size.
func (j judgement) Verdict() string {
	switch {
	case j.Direction == "":
		return "not judged"
	case j.Direction != holds || j.Size == "" || j.Size == unknown:
		return j.Direction
	}
	return j.Direction + ", " + j.Size
}

// Theirs returns Paper with its unit but without the interval. Ours returns Here with its unit.
func (j judgement) Theirs() string { return brief(j.withUnit(j.Paper)) }
func (j judgement) Ours() string   { return j.withUnit(j.Here) }

// withUnit returns a text with the unit after its first number.
func (j judgement) withUnit(text string) string {
	number, rest, found := strings.Cut(text, " (")
	if j.Unit != "" && text != "" {
		number += " " + j.Unit
	}
	if found {
		return number + " (" + rest
	}
	return number
}

// brief returns a text up to its first bracket.
func brief(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return text
}

// A test holds what decides a verdict.
type test struct {
	holds       bool
	contradicts bool
	chance      float64 // the p-value of the verdict if it is not undecided
	excluded    string  // what the runs exclude if they contradict
	takes       string  // what would decide the claim if it is undecided
}

// decide returns j with the verdict of a test. A claim that neither holds nor is contradicted
// is undecided.
func (j judgement) decide(t test) judgement {
	j.Chance = t.chance
	switch {
	case t.holds:
		j.Direction = holds
		j.Note = ""
	case t.contradicts:
		j.Direction = contradicted
		j.Note = "the runs exclude " + t.excluded
	default:
		j.Direction = undecided
		j.Note = t.takes
		j.Chance = 1
	}
	return j
}
