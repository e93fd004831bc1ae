package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"qta/internal/paper"
	"qta/internal/report"
	"qta/internal/words"
)

// This file has the sentences that say whether the paper reproduces.

// answers says in three paragraphs whether the paper reproduces.
func (r evidence) answers(claims []claim) []string {
	counted := slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return !c.Counted })
	return []string{r.reproduces(), directionsOf(counted), sizesOf(counted)}
}

// directionsOf says how many of the counted claims hold, which are contradicted, and which
// verdicts Bonferroni's correction leaves.
func directionsOf(claims []claim) string {
	n := map[string]int{} // claims by direction
	var not []string
	for _, c := range claims {
		n[c.Direction]++
		if c.Direction == contradicted {
			not = append(not, "“"+strings.TrimSuffix(c.Name(), ".")+"”")
		}
	}
	text := fmt.Sprintf("Of the claims in the paper’s section 4, %d are counted. ", len(claims))
	text += fmt.Sprintf("The runs uphold %d, contradict %d, ", n[holds], n[contradicted])
	text += fmt.Sprintf("leave %d undecided and do not judge %d.", n[undecided], n[""])
	if not != nil {
		text += " Contradicted: " + strings.Join(not, "; ") + "."
	}
	judged := len(claims) - n[""]
	survivors := surviving(claims, judged)
	text += " Each verdict is at 95 %. With Bonferroni’s correction for " +
		words.Count(judged, "judged claim")
	text += fmt.Sprintf(", %d of them still hold or are contradicted", len(survivors))
	if survivors != nil {
		text += " (" + strings.Join(survivors, ", ") + ")"
	}
	return text + ". Rows that begin with + are not counted."
}

// sizesOf says how many effects have the paper's size.
func sizesOf(claims []claim) string {
	n := map[string]int{} // claims by size
	for _, c := range claims {
		n[c.Size]++
	}
	text := fmt.Sprintf("For %d of these claims the size of an effect is compared with the paper’s. ",
		len(claims)-n[""])
	text += fmt.Sprintf("It is compatible with it in %d, smaller in %d, ", n[asPaper], n[smaller])
	return text + fmt.Sprintf("larger in %d and too uncertain to say in %d.", n[larger], n[unknown])
}

// surviving returns the short names of the claims that still hold or are contradicted after
// Bonferroni's correction. The correction divides by judged, the number of judged claims.
func surviving(claims []claim, judged int) (names []string) {
	for _, c := range claims {
		decided := c.Direction == holds || c.Direction == contradicted
		if decided && c.Chance <= 0.05/float64(judged) {
			names = append(names, c.Short)
		}
	}
	return names
}

// reproduces says what QTA solved with the set paper, or else with quick, and how soon.
func (r evidence) reproduces() string {
	for _, set := range []string{full, quick} {
		if groups := r.of(paper.QTA, set); len(groups) > 0 {
			return solved(set, groups)
		}
	}
	return "No run here has the set paper or quick on one of the paper’s mazes, so nothing is judged."
}

// of returns the groups of a method's runs with a set on the paper's mazes.
func (r evidence) of(m paper.Method, set string) (groups []*report.Group) {
	for _, g := range r.Groups {
		isPlace := g.Setting == set && g.Method == m.Name && g.Family != ""
		if isPlace && g.N() > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// solved says how many runs of the groups were solved, and how their steps compare with the
// paper's.
func solved(set string, groups []*report.Group) string {
	var programs, missed []string
	runs := 0
	solved := 0
	for _, g := range groups {
		programs = append(programs, g.Programs(g.Runs)...)
		runs += g.N()
		solved += g.Solved
		if g.Bound() {
			missed = append(missed, g.Maze+tally(g))
		}
	}
	slices.Sort(programs)
	programs = slices.Compact(programs)

	text := "The set " + set + " follows the paper’s text and table except for D3, D26, D29 and D30"
	if set == quick {
		text += ", with smaller batches"
	}
	versions := "version "
	if len(programs) > 1 {
		versions = "versions "
	}
	text += ". With it (" + versions + enumerate(programs) + ")"
	mazes := "the paper’s 17 mazes"
	if len(groups) < 17 {
		mazes = fmt.Sprintf("%d of the paper’s 17 mazes", len(groups))
	}
	text += fmt.Sprintf(" QTA solved %d of %s on %s.", solved, words.Count(runs, "run"), mazes)

	ratio := headline(groups).show(math.Exp) + " times the paper’s steps, " +
		"in the geometric mean over these mazes"
	if missed == nil {
		text += " It needed " + ratio + "."
	} else {
		text += " Not always solved: " + strings.Join(missed, ", ") + "."
		text += " It needed at least " + ratio + ", if an unsolved run counts with its budget."
	}
	return text
}

// headline returns the mean over mazes of ln(our steps / the paper's).
func headline(groups []*report.Group) estimate {
	var terms []term
	for _, g := range groups {
		terms = append(terms, term{Group: g, weight: 1 / float64(len(groups)), theirs: g.Paper})
	}
	e := effectOf(terms)
	return e.ours.minus(e.theirs)
}

// tally says how many runs of a group were solved, and within how many steps.
func tally(g *report.Group) string {
	runs := words.Count(g.N(), "run")
	thousands := slices.Max(g.Steps) / 1000
	return fmt.Sprintf(" (%d of %s in %.0f thousand steps)", g.Solved, runs, thousands)
}
