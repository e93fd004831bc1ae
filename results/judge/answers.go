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
	directions := map[string]int{}
	var not []string
	for _, c := range claims {
		directions[c.Direction]++
		if c.Direction == contradicted {
			not = append(not, "“"+strings.TrimSuffix(c.Name(), ".")+"”")
		}
	}
	text := fmt.Sprintf("Of the claims in the paper’s section 4, %d are counted. The runs uphold %d, contradict %d, "+
		"leave %d undecided and do not judge %d.", len(claims), directions[holds], directions[contradicted],
		directions[undecided], directions[""])
	if not != nil {
		text += " Contradicted: " + strings.Join(not, "; ") + "."
	}
	survivors, judged := surviving(claims)
	return text + fmt.Sprintf(" Each verdict is at 95 %%. With Bonferroni’s correction for %s, %d of them still hold "+
		"or are contradicted%s.", words.Count(judged, "judged claim"), len(survivors), listed(survivors)) +
		" Rows that begin with + are not counted."
}

// sizesOf says how many effects have the paper's size.
func sizesOf(claims []claim) string {
	sizes := map[string]int{}
	for _, c := range claims {
		sizes[c.Size]++
	}
	return fmt.Sprintf("For %d of these claims the size of an effect is compared with the paper’s. It is compatible "+
		"with it in %d, smaller in %d, larger in %d and too uncertain to say in %d.",
		len(claims)-sizes[""], sizes[asPaper], sizes[smaller], sizes[larger], sizes[unknown])
}

// surviving returns the short names of the claims that still hold or are contradicted after
// Bonferroni's correction. The correction divides by judged, the number of judged claims.
func surviving(claims []claim) (names []string, judged int) {
	for _, c := range claims {
		if c.Direction != "" {
			judged++
		}
	}
	for _, c := range claims {
		decided := c.Direction == holds || c.Direction == contradicted
		if decided && c.Chance <= 0.05/float64(judged) {
			names = append(names, c.Short)
		}
	}
	return names, judged
}

// listed returns names in brackets, or "" if there are none.
func listed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// reproduces says what QTA solved with the set paper, or else with quick, and how soon.
func (r evidence) reproduces() string {
	for _, set := range []string{full, quick} {
		if groups := r.ofQTA(set); len(groups) > 0 {
			return r.solved(set, groups)
		}
	}
	return "No run here has the set paper or quick on one of the paper’s mazes, so nothing is judged."
}

// ofQTA returns the groups of QTA's runs with a set on the paper's mazes.
func (r evidence) ofQTA(set string) (groups []*report.Group) {
	for _, g := range r.Groups {
		if g.Setting == set && g.Method == paper.QTA.Name && g.Family != "" && g.N() > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// solved says how many runs of the groups were solved, and how their steps compare with the
// paper's.
func (r evidence) solved(set string, groups []*report.Group) string {
	var programs []string
	var missed, changed string
	runs, solved, alone := 0, 0, 0
	for _, g := range groups {
		programs = append(programs, g.Programs(g.Runs)...)
		runs += g.N()
		solved += g.Solved
		if g.N() == 1 {
			alone++
		}
		if g.Bound() {
			missed += ", " + g.Maze + tally(g)
			changed += r.changed(g)
		}
	}
	slices.Sort(programs)
	mazes := fmt.Sprintf("%d of the paper’s 17 mazes", len(groups))
	if len(groups) == 17 {
		mazes = "the paper’s 17 mazes"
	}
	text := fmt.Sprintf("The set %s follows the paper’s text and table except for D3, D26, D29 and D30", set)
	if set == quick {
		text += ", with smaller batches"
	}
	programs = slices.Compact(programs)
	versions := "version "
	if len(programs) > 1 {
		versions = "versions "
	}
	text += fmt.Sprintf(". With it (%s) QTA solved %d of %s on %s.",
		versions+enumerate(programs), solved, words.Count(runs, "run"), mazes)

	ratio := headline(groups).show(math.Exp)
	if missed == "" {
		text += " It needed " + ratio + " times the paper’s steps, in the geometric mean over these mazes."
	} else {
		text += " Not always solved: " + missed[2:] + ". It needed at least " + ratio + " times the paper’s steps, in the " +
			"geometric mean over these mazes, if an unsolved run counts with its budget."
	}
	if alone > 0 {
		text += fmt.Sprintf(" On %d of them it has a single run.", alone)
	}
	if changed != "" {
		text += " Not counted, as a parameter was changed: " + changed[2:] + "."
	}
	return text
}

// headline returns the mean over mazes of ln(our steps / the paper's).
func headline(groups []*report.Group) estimate {
	var terms []term
	for _, g := range groups {
		terms = append(terms, term{g, 1 / float64(len(groups)), g.Paper})
	}
	e := effectOf(terms)
	return e.ours.minus(e.theirs)
}

// tally says how many runs of a group were solved, and within how many steps.
func tally(g *report.Group) string {
	return fmt.Sprintf(" (%d of %s in %.0f thousand steps)", g.Solved, words.Count(g.N(), "run"), slices.Max(g.Steps)/1000)
}

// changed lists the runs on g's maze that have g's setting, but with some parameters changed.
func (r evidence) changed(g *report.Group) (text string) {
	for _, other := range r.Groups {
		change, changed := strings.CutPrefix(other.Setting, g.Setting+" ")
		if other.Version() != g.Version() {
			change += " of " + other.Version()
		}
		if changed && other.N() > 0 && other.Maze == g.Maze && other.Method == g.Method {
			text += ", " + g.Maze + " with " + change + tally(other)
		}
	}
	return text
}
