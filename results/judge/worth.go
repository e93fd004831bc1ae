package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qta/internal/paper"
	"qta/internal/report"
)

// This file compares settings to say what each departure is worth, and makes the lists of
// claims.md.

// A comparison is a ratio of steps. It compares QTA with one setting and QTA with another, or
// a different method and QTA.
type comparison struct {
	About   string
	Over    string // whose steps are the ratio's numerator
	Under   string // whose steps are its denominator
	Ratio   string
	Verdict string
	Seeds   string // how many runs on each maze, over / under
}

// The settings few and many have batches of 256. few has 1000 candidates, and many has 4000.
const few, many = quick, full + " Batch=256"

// worth returns what departures and settings are worth, by the rules of
// results/0.7.0-decides.txt.
func (r evidence) worth() []comparison {
	const decides = "4x5 6x5 8x5"
	return []comparison{
		r.worthOf("The goal in Equation 5 (D3)", "`literal`, batches of 256", "`quick`, 4000 candidates",
			r.pairs(paper.QTA, "literal Batch=256", many, decides)),
		r.worthOf("The same with 1000 candidates, before 0.7.0", "`literal`, 1000 candidates", "`paper`, 1000 candidates",
			r.pairs(paper.QTA, "literal Candidates=1000", full+" Candidates=1000", decides+" 1U5")),
		r.worthOf("The joint loss (D29)", "`quick`, 4000 candidates, Equation 4 trains only the heads", "`quick`, 4000 candidates",
			r.pairs(paper.QTA, many+" PredictiveGradient=head", many, "6x5")),
		r.worthOf("Clipped targets (D26)", "`quick`, 4000 candidates, no clipping", "`quick`, 4000 candidates",
			r.pairs(paper.QTA, many+" ClipReturns=false", many, "6x5")),
		r.worthOf("4000 candidates, not 1000 (D30)", "`quick`, 4000 candidates", "`quick`, 1000 candidates",
			r.pairs(paper.QTA, many, few, decides)),
		r.worthOf("The same with batches of 1024, short mazes", "`paper`", "`paper`, 1000 candidates",
			r.pairs(paper.QTA, full, full+" Candidates=1000", "4x5 6x5 1U5 2U5")),
		r.worthOf("The same with batches of 1024, the longest mazes", "`paper`", "`paper`, 1000 candidates",
			r.pairs(paper.QTA, full, full+" Candidates=1000", "14x5 15x5")),
		r.worthOf("All stored states as candidates, not 4000 (D30)", "`paper`, 400000 candidates", "`paper`",
			r.pairs(paper.QTA, full+" Candidates=400000", full, "12x5 14x5 15x5")),
		r.worthOf("The heads' learning rate, 0.005 or 0.0005", "`quick`, 4000 candidates, rate 0.005",
			"`quick`, 4000 candidates, rate 0.0005", r.pairs(paper.QTA, many, many+" PredictiveRate=0.0005", "4x5 6x5")),
		r.worthOf("Deep ensembles with 4000 candidates", "deep ensembles, `quick`, 4000 candidates",
			"`quick`, 4000 candidates", r.pairs(paper.Ensemble, many, many, "6x5")),
		r.worthOf("Our additions (D4, D5, D6, D24, D25), and batches of 256, not 1024", "`beyond`, batches of 256",
			"`paper`, 1000 candidates", r.pairs(paper.QTA, "beyond Batch=256", full+" Candidates=1000", "4x5 6x5 1U5")),
	}
}

// pairs returns the terms of a method with the setting over and of QTA with the setting under,
// for each of the listed mazes on which both have runs.
func (r evidence) pairs(m paper.Method, over, under, mazes string) (terms []term) {
	for maze := range strings.FieldsSeq(mazes) {
		a := r.Group(over, m, maze)
		b := r.Group(under, paper.QTA, maze)
		if a != nil && b != nil {
			terms = append(terms, term{a, 1, nil}, term{b, -1, nil})
		}
	}
	return terms
}

// worthOf compares the terms of pairs. A difference matters if the interval of the ratio
// does not contain 1.
func (r evidence) worthOf(about, over, under string, terms []term) comparison {
	c := comparison{About: about, Over: over, Under: under, Verdict: "no runs"}
	if len(terms) == 0 {
		return c
	}
	ours := effectOf(even(terms)).ours
	c.Ratio = ours.bounded(math.Exp)
	switch {
	case ours.positive():
		c.Verdict = "matters: more steps"
	case ours.negative():
		c.Verdict = "matters: fewer steps"
	default:
		c.Verdict = "undecided; " + ours.takes("a factor of %.2f", math.Exp)
	}
	var seeds []string
	for i := 0; i < len(terms); i += 2 {
		seeds = append(seeds, fmt.Sprintf("%s %s / %s", terms[i].Maze, solvedOf(terms[i].Group), solvedOf(terms[i+1].Group)))
	}
	c.Seeds = strings.Join(seeds, ", ")
	return c
}

// solvedOf returns how many runs a group has, and if not all were solved, how many were.
func solvedOf(g *report.Group) string {
	if g.Bound() {
		return fmt.Sprintf("%d of %d solved", g.Solved, g.N())
	}
	return strconv.Itoa(g.N())
}

// agnostic judges the claim that the goal in Equation 5 does not matter. If the claim is true,
// literal, whose goal is the environment's, takes as many steps as paper. The claim is judged on
// runs with 4000 candidates if there are any, and else with 1000. It can be contradicted but
// never holds, because few runs cannot prove that both sets need equally many steps.
func (r evidence) agnostic() judgement {
	const what = "steps of literal / steps of paper, "
	terms := r.pairs(paper.QTA, "literal Batch=256", many, "4x5 6x5 8x5")
	with := "batches of 256 and 4000 candidates"
	if len(terms) == 0 {
		terms = r.pairs(paper.QTA, "literal Candidates=1000", full+" Candidates=1000", "4x5 6x5 8x5 1U5")
		with = "1000 candidates"
	}
	if len(terms) == 0 {
		return judgement{What: "no maze has ended runs of both literal and paper"}
	}
	ours := effectOf(even(terms)).ours
	j := judgement{What: what + with, Unit: "times", Here: ours.bounded(math.Exp), Runs: runsOf(terms)}
	return j.decide(test{
		contradicts: ours.positive(),
		chance:      ours.chance(),
		excluded:    "1",
		takes:       ours.takes("a factor of %.2f", math.Exp),
	})
}

// onMaze has, as text, the ratio of a method's steps on one maze to the paper's, or to QTA's.
type onMaze struct {
	Maze, Method string
	Ours, Theirs string
	Runs         string
}

// besideThePaper returns, for each maze, the ratio of our QTA's steps to those of the paper's
// QTA. Ours has the set paper. Theirs is the paper's mean in thousands of steps.
func (r evidence) besideThePaper() (all []onMaze) {
	for _, g := range r.ofQTA(full) {
		ratio := headline([]*report.Group{g})
		all = append(all, onMaze{
			Maze:   g.Maze,
			Ours:   ratio.bounded(math.Exp),
			Theirs: fmt.Sprintf("%.1f", g.Paper.Mean/1000),
			Runs:   fmt.Sprintf("%s of %s", solvedOf(g), enumerate(g.Programs(g.Runs))),
		})
	}
	return all
}

// besideQTA returns, for each other method and each maze, the ratio of its steps to QTA's.
func (r evidence) besideQTA() (all []onMaze) {
	for _, m := range paper.Methods() {
		if m.Name == paper.QTA.Name {
			continue
		}
		terms := r.contrast(m, 1, 1000, math.MaxInt)
		for i := 0; i < len(terms); i += 2 {
			pair := terms[i : i+2]
			pair[1].Group = r.ofVersion(pair[0].Version(), pair[1].Group)
			e := effectOf(pair)
			row := onMaze{Maze: pair[0].Maze, Method: m.Name, Ours: e.ours.bounded(math.Exp), Runs: runsOf(pair)}
			if !e.theirs.unknown {
				row.Theirs = e.theirs.show(math.Exp)
			}
			all = append(all, row)
		}
	}
	return all
}

// An arm is runs that differ only in their seeds, with the command that makes them.
type arm struct{ Version, Command string }

var seedFlag = regexp.MustCompile(`-seed \d+`)

// arms returns every arm once, in the order of the report.
func (r evidence) arms() (all []arm) {
	seeds := map[arm][]uint64{}
	for _, g := range r.All() {
		for _, run := range g.All {
			a := arm{Version: run.Run.Version, Command: run.Command()}
			a.Command = seedFlag.ReplaceAllLiteralString(a.Command, "-seed SEEDS")
			if seeds[a] == nil {
				all = append(all, a)
			}
			seeds[a] = append(seeds[a], run.Run.Seed)
		}
	}
	for i, a := range all {
		all[i].Command = strings.Replace(a.Command, "SEEDS", ranges(seeds[a]), 1)
	}
	return all
}

// ranges writes numbers as the flag -seed of a sweep takes them, such as 0-5 or 0,2-3.
func ranges(numbers []uint64) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		part := fmt.Sprint(numbers[i])
		if last > i {
			part += fmt.Sprint("-", numbers[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
