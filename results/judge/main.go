// Command judge holds runs against the claims of the paper's section 4, by the rules
// of results/verdicts.md:
//
//	go run ./results/judge results/runs
//
// makes results/report.html, results/runs.csv and the table of results/README.md of
// all runs within the directories that it is given; -o DIR names another directory
// than results.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
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

//go:embed table.md.tmpl
var table string

func main() {
	out := flag.String("o", "results", "write report.html, runs.csv and the table of README.md into `DIR`")
	flag.Parse()
	if err := judge(flag.Args(), *out); err != nil {
		fmt.Fprintf(os.Stderr, "judge: %s\n", words.Bare(err))
		os.Exit(1)
	}
}

// judge judges the runs within dirs and writes what it finds into out.
func judge(dirs []string, out string) error {
	files, err := files(dirs, out)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(out, name), text, 0o666))
	}
	return err
}

// files returns what judge writes, by the names of the files.
func files(dirs []string, out string) (map[string][]byte, error) {
	c, err := lab.Collect(dirs)
	if err != nil {
		return nil, err
	}
	r := report.New(c)
	if len(r.Runs) == 0 {
		return nil, fmt.Errorf("there is no run in %s", strings.Join(dirs, ", "))
	}
	path := filepath.Join(out, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	before, rest, begun := bytes.Cut(readme, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !begun || !ended {
		return nil, fmt.Errorf("%s lacks the line %q, or %q after it", path, begin, end)
	}
	page, table := judged(r)
	return map[string][]byte{"report.html": page, "runs.csv": r.CSV(),
		"README.md": slices.Concat(before, []byte(begin), table, []byte(end), after)}, nil
}

// judged returns the page of a report, opened by the verdicts, and the verdicts by
// themselves in words.
func judged(r *report.Report) (page, words []byte) {
	claims := evidence{r}.claims()
	found := struct {
		Answers []string
		Claims  []claim
	}{evidence{r}.answers(claims), claims}
	r.Opening = template.HTML(fill(template.Must(template.New("opening").Parse(opening)), found))
	return r.HTML(), fill(plain.Must(plain.New("table").Parse(table)), found)
}

// What stands around the table of README.md.
const begin, end = "<!-- by go run ./results/judge results/runs -->\n", "<!-- end -->"

func fill(t interface{ Execute(io.Writer, any) error }, data any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Verdict writes the direction and the size.
func (j judgement) Verdict() string {
	if j.Size == "" {
		return j.Direction
	}
	return j.Direction + "; size " + j.Size
}

// answers says in three sentences whether the paper reproduces.
func (r evidence) answers(claims []claim) []string {
	directions, sizes, n := map[string][]string{}, map[string]int{}, 0
	for _, c := range claims {
		if !c.Counted {
			continue
		}
		n++
		text := strings.TrimSuffix(c.Text, ".")
		if c.Direction == contradicted {
			text += ", " + c.Note
		}
		directions[c.Direction] = append(directions[c.Direction], text)
		sizes[c.Size]++
	}
	no := directions[contradicted]
	return []string{r.reproduces(),
		fmt.Sprintf("Of %d claims of its section 4 these runs find: %d hold, %d contradicted%s, %d undecided, %d not run; "+
			"rows that begin with + are not counted.",
			n, len(directions[holds]), len(no), in(no), len(directions[undecided]), len(directions[""])),
		fmt.Sprintf("Of the effects that the paper gives in numbers %d are compatible with the paper’s, %d smaller, %d larger, "+
			"%d unknown; each verdict is at 95 %%, so that of some twenty one may be chance.",
			sizes[asPaper], sizes[smaller], sizes[larger], sizes[unknown])}
}

// in lists words in brackets.
func in(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// reproduces says what QTA with the paper's learner solved, and how soon.
func (r evidence) reproduces() string {
	for _, set := range []string{full, quick} {
		var ratios []float64
		var missed []string
		var groups []*report.Group
		runs, solved, bound := 0, 0, ""
		for _, g := range r.Groups {
			if g.Setting != set || g.Method != paper.QTA.Name || g.Family == "" || g.N() == 0 {
				continue
			}
			groups = append(groups, g)
			runs, solved = runs+g.N(), solved+g.Solved
			if ratios = append(ratios, math.Log(g.Mean/g.Paper.Mean)); g.Bound() {
				bound = "at least "
				missed = append(missed, fmt.Sprintf("%s, %d of %d in %.0f thousand steps", g.Maze, g.Solved, g.N(),
					slices.Max(g.Steps)/1000)+r.decides(g))
			}
		}
		if runs > 0 {
			return fmt.Sprintf("With the paper’s learner (%s, version %s), on %d of the paper’s 17 mazes, QTA solved %d of %s%s, "+
				"in %s%.2f times the paper’s steps, the geometric mean over these mazes.", set,
				strings.Join(versions(groups...), " and "), len(ratios), solved,
				words.Count(runs, "run"), in(missed), bound, math.Exp(stats.Mean(ratios)))
		}
	}
	return "No run here has the paper’s learner (paper, or quick) on a maze of the paper’s, so that nothing is judged."
}

// versions returns the versions of groups, each once.
func versions(groups ...*report.Group) (list []string) {
	for _, g := range groups {
		list = append(list, g.Program)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// decides says what changes of its learner did on a maze that it has not always solved.
func (r evidence) decides(g *report.Group) (text string) {
	for _, other := range r.Groups {
		change, changed := strings.CutPrefix(other.Setting, g.Setting+" ")
		if len(versions(g, other)) > 1 {
			change += " of " + other.Program
		}
		if changed && other.N() > 0 && other.Maze == g.Maze && other.Method == g.Method {
			text += fmt.Sprintf(", with %s %d of %d in %.0f", change, other.Solved, other.N(), slices.Max(other.Steps)/1000)
		}
	}
	return text
}
