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

// The settings with 1000 and with 4000 candidates, first for batches of 256 and then for 1024.
const (
	few     = quick
	many    = full + " Batch=256"
	fullFew = full + " Candidates=1000"
)

// The mazes of results/0.7.0-decides.txt.
const decides = "4x5 6x5 8x5"

// worth returns what departures and settings are worth, by the rules of
// results/0.7.0-decides.txt.
func (r evidence) worth() []comparison {
	const (
		quick4000 = "`quick`, 4000 candidates"
		paper1000 = "`paper`, 1000 candidates"
	)
	return []comparison{
		r.worthOf("The goal in Equation 5 (D3)", "`literal`, batches of 256", quick4000,
			r.pairs("literal Batch=256", many, decides)),
		r.worthOf("The same with 1000 candidates, before 0.7.0",
			"`literal`, 1000 candidates", paper1000,
			r.pairs("literal Candidates=1000", fullFew, decides+" 1U5")),
		r.worthOf("The joint loss (D29)", quick4000+", Equation 4 trains only the heads", quick4000,
			r.pairs(many+" PredictiveGradient=head", many, "6x5")),
		r.worthOf("Clipped targets (D26)", quick4000+", no clipping", quick4000,
			r.pairs(many+" ClipReturns=false", many, "6x5")),
		r.worthOf("4000 candidates, not 1000 (D30)", quick4000, "`quick`, 1000 candidates",
			r.pairs(many, few, decides)),
		r.worthOf("The same with batches of 1024, short mazes", "`paper`", paper1000,
			r.pairs(full, fullFew, "4x5 6x5 1U5 2U5")),
		r.worthOf("The same with batches of 1024, the longest mazes", "`paper`", paper1000,
			r.pairs(full, fullFew, "14x5 15x5")),
		r.worthOf("All stored states as candidates, not 4000 (D30)", "`paper`, 400000 candidates", "`paper`",
			r.pairs(full+" Candidates=400000", full, "12x5 14x5 15x5")),
		r.worthOf("The heads' learning rate, 0.005 or 0.0005",
			quick4000+", rate 0.005", quick4000+", rate 0.0005",
			r.pairs(many, many+" PredictiveRate=0.0005", "4x5 6x5")),
		r.worthOf("Deep ensembles with 4000 candidates", "deep ensembles, "+quick4000, quick4000,
			r.pairsOf(paper.Ensemble, many, many, "6x5")),
		r.worthOf("Our additions (D4, D5, D6, D24, D25), and batches of 256, not 1024",
			"`beyond`, batches of 256", paper1000,
			r.pairs("beyond Batch=256", fullFew, "4x5 6x5 1U5")),
	}
}

// pairs returns the terms of QTA with the setting over and with the setting under, for each of
// the listed mazes on which both have runs.
func (r evidence) pairs(over, under, mazes string) []term {
	return r.pairsOf(paper.QTA, over, under, mazes)
}

// pairsOf is pairs with the method m over QTA.
func (r evidence) pairsOf(m paper.Method, over, under, mazes string) (terms []term) {
	for maze := range strings.FieldsSeq(mazes) {
		a := r.Group(over, m, maze)
		b := r.Group(under, paper.QTA, maze)
		if a != nil && b != nil {
			terms = append(terms, term{Group: a, weight: 1}, term{Group: b, weight: -1})
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
		if !ours.tooLow {
			ours.tooHigh = false // a bound from above can show fewer steps
		}
		c.Verdict = "undecided; " + ours.takes("a factor of %.2f", math.Exp)
	}
	var seeds []string
	for pair := range slices.Chunk(terms, 2) {
		over := solvedOf(pair[0].Group)
		under := solvedOf(pair[1].Group)
		seeds = append(seeds, pair[0].Maze+" "+over+" / "+under)
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
	terms := r.pairs("literal Batch=256", many, decides)
	what := "steps of literal / steps of paper, batches of 256 and 4000 candidates"
	if len(terms) == 0 {
		terms = r.pairs("literal Candidates=1000", fullFew, decides+" 1U5")
		what = "steps of literal / steps of paper, 1000 candidates"
	}
	if len(terms) == 0 {
		return judgement{What: "no maze has ended runs of both literal and paper"}
	}
	e := effectOf(even(terms))
	ours := e.ours
	return e.judge(what, terms).decide(test{
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
	for _, g := range r.of(paper.QTA, full) {
		all = append(all, onMaze{
			Maze:   g.Maze,
			Ours:   headline([]*report.Group{g}).bounded(math.Exp),
			Theirs: fmt.Sprintf("%.1f", g.Paper.Mean/1000),
			Runs:   solvedOf(g) + " of " + enumerate(g.Programs(g.Runs)),
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
		terms := r.contrast(m, more, 1000, math.MaxInt)
		for pair := range slices.Chunk(terms, 2) { // m and QTA, if possible of one version
			pair[1].Group = r.ofVersion(pair[0].Version(), pair[1].Group)
			e := effectOf(pair)
			row := onMaze{
				Maze:   pair[0].Maze,
				Method: m.Name,
				Ours:   e.ours.bounded(math.Exp),
				Runs:   runsOf(pair),
			}
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
			command := seedFlag.ReplaceAllLiteralString(run.Command(), "-seed SEEDS") // replaced below
			a := arm{run.Run.Version, command}
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
