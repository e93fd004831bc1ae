// Command judge holds runs against the claims of the paper's section 4, by the rules
// of results/verdicts.md:
//
//	go run ./results/judge results/runs
//
// makes results/report.html, results/runs.csv and the table of results/README.md of
// all runs within the directories that it is given.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"slices"
	"strings"
	plain "text/template"

	"golang.org/x/exp/stats"

	"qta/internal/paper"
	"qta/internal/report"
	"qta/internal/words"
	"qta/lab"
)

//go:embed opening.tmpl
var opening string

//go:embed claims.tmpl
var claimsOfPage string

//go:embed table.md.tmpl
var table string

func main() {
	files, err := judge(os.Args[1:])
	for path, text := range files {
		err = errors.Join(err, os.WriteFile(path, text, 0o666))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "judge: %s\n", words.Bare(err))
		os.Exit(1)
	}
}

// judge judges the runs within dirs and returns the files that it makes.
func judge(dirs []string) (map[string][]byte, error) {
	c, err := lab.Collect(dirs)
	if err != nil {
		return nil, err
	}
	r := report.New(c)
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("there is no run in %s", strings.Join(dirs, ", "))
	}
	readme, err := os.ReadFile("results/README.md")
	if err != nil {
		return nil, err
	}
	before, rest, begun := bytes.Cut(readme, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		return nil, fmt.Errorf("results/README.md lacks the line %q, or %q after it", begin, end)
	}
	page, table := judged(r)
	files := map[string][]byte{
		"results/report.html": page,
		"results/runs.csv":    r.CSV(),
		"results/README.md":   slices.Concat(before, []byte(begin), table, []byte(end), after),
	}
	for _, f := range r.Figures() {
		files["results/figure"+f.Number+".svg"] = f.Drawing.File()
	}
	return files, nil
}

// judged returns the page of a report, opened by the verdicts, and the verdicts by
// themselves in words.
func judged(r *report.Report) (page, words []byte) {
	claims := evidence{r}.claims()
	found := struct {
		Answers []string
		Claims  []claim
	}{evidence{r}.answers(claims), claims}
	fill := func(text string) template.HTML {
		return template.HTML(report.Fill(template.Must(template.New("page").Parse(text)), found))
	}
	r.Opening = fill(opening)
	r.Claims = fill(claimsOfPage)
	return r.HTML(), report.Fill(plain.Must(plain.New("table").Parse(table)), found)
}

// What stands around the table of README.md.
const begin, end = "<!-- by go run ./results/judge results/runs -->\n", "<!-- end -->"

// Verdict writes the direction and the size.
func (j judgement) Verdict() string {
	if j.Size == "" {
		return j.Direction
	}
	return j.Direction + "; size " + j.Size
}

// answers says in three paragraphs whether the paper reproduces.
func (r evidence) answers(claims []claim) []string {
	directions, sizes, n := map[string]int{}, map[string]int{}, 0
	var not []string
	for _, c := range claims {
		if !c.Counted {
			continue
		}
		n++
		directions[c.Direction]++
		sizes[c.Size]++
		if c.Direction == contradicted {
			not = append(not, fmt.Sprintf("“%s” (%s: %s, not the paper’s %s)",
				strings.TrimSuffix(brief(c.Text), "."), c.What, brief(c.Here), brief(c.Paper)))
		}
	}
	verdicts := fmt.Sprintf("Of section 4’s %d claims the runs uphold %d, contradict %d, leave %d undecided and do not judge %d.",
		n, directions[holds], directions[contradicted], directions[undecided], directions[""])
	if not != nil {
		verdicts += " Contradicted: " + strings.Join(not, "; ") + "."
	}
	return []string{r.reproduces(), verdicts + " Rows that begin with + are not counted.",
		fmt.Sprintf("For %d of these claims the paper gives the size of an effect. Here it is compatible with the "+
			"paper’s in %d, smaller in %d, larger in %d and too uncertain to say in %d. Each verdict is at 95 %%, "+
			"not corrected for looks: of twenty, one or more may be chance.",
			n-sizes[""], sizes[asPaper], sizes[smaller], sizes[larger], sizes[unknown])}
}

// brief returns a text without what it has in brackets at its end.
func brief(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return text
}

// reproduces says what QTA with the paper's learner solved, and how soon.
func (r evidence) reproduces() string {
	for _, set := range []string{full, quick} {
		var ratios []float64
		var programs []string
		runs, solved, alone, missed, changed := 0, 0, 0, "", ""
		for _, g := range r.Groups {
			if g.Setting != set || g.Method != paper.QTA.Name || g.Family == "" || g.N() == 0 {
				continue
			}
			programs = append(programs, g.Program)
			if runs, solved = runs+g.N(), solved+g.Solved; g.N() == 1 {
				alone++
			}
			if ratios = append(ratios, math.Log(g.Mean/g.Paper.Mean)); g.Bound() {
				missed += ", " + g.Maze + tally(g)
				changed += r.changed(g)
			}
		}
		if runs == 0 {
			continue
		}
		slices.Sort(programs)
		mazes := fmt.Sprintf("%d of the paper’s 17 mazes", len(ratios))
		if len(ratios) == 17 {
			mazes = "the paper’s 17 mazes"
		}
		text := fmt.Sprintf("With %s, the paper’s learner but for D3, D26 and D29 (version %s), QTA solved %d of %s on %s. ", set,
			strings.Join(slices.Compact(programs), "; "), solved, words.Count(runs, "run"), mazes)
		needed := fmt.Sprintf("%.2f times the paper’s steps (geometric mean over these mazes", math.Exp(stats.Mean(ratios)))
		if alone > 0 {
			needed += fmt.Sprintf(", %d of them with a single run", alone)
		}
		if missed == "" {
			return text + "It needed " + needed + ")."
		}
		text += "Not always solved: " + missed[2:] + ". It needed at least " + needed +
			"; an unsolved run counts with its budget)."
		if changed != "" {
			text += " Not counted, as a parameter was changed: " + changed[2:] + "."
		}
		return text
	}
	return "No run here has the paper’s learner (paper, or quick) on a maze of the paper’s, so that nothing is judged."
}

// tally says how many runs of a group were solved.
func tally(g *report.Group) string {
	return fmt.Sprintf(" (%d of %s in %.0f thousand steps)", g.Solved, words.Count(g.N(), "run"), slices.Max(g.Steps)/1000)
}

// changed says what changes of its learner did on a maze that it has not always solved.
func (r evidence) changed(g *report.Group) (text string) {
	for _, other := range r.Groups {
		change, changed := strings.CutPrefix(other.Setting, g.Setting+" ")
		if other.Program != g.Program {
			change += " of " + other.Program
		}
		if changed && other.N() > 0 && other.Maze == g.Maze && other.Method == g.Method {
			text += ", " + g.Maze + " with " + change + tally(other)
		}
	}
	return text
}
