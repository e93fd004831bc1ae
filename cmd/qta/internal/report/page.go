package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	plain "text/template"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/paper"
	"qta/internal/draw"
	"qta/internal/words"
)

//go:embed report.tmpl
var page string

//go:embed report.md.tmpl
var text string

//go:embed report.csv.tmpl
var table string

//go:embed report.css
var css string

var functions = plain.FuncMap{"thousands": thousands, "cell": cell}

// HTML returns the report as a page.
func (r *Report) HTML() []byte {
	return r.fill(template.Must(template.New("page").Funcs(functions).Parse(page)))
}

// Markdown returns it in words.
func (r *Report) Markdown() []byte {
	return r.fill(plain.Must(plain.New("text").Funcs(functions).Parse(text)))
}

func (r *Report) fill(t interface{ Execute(io.Writer, any) error }) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		panic(err) // the template is wrong
	}
	return b.Bytes()
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(draw.Style + "\n" + css) }

// thousands writes steps for people.
func thousands(steps float64) string { return strconv.FormatFloat(steps/1000, 'f', 1, 64) }

// judged reports whether claims are judged on a group.
func (g *group) judged() bool {
	return g.Family != "" && slices.Contains([]string{full, quick, paper.Method{Name: g.Method}.Own()}, g.Setting)
}

// Judged returns the groups on which claims are judged.
func (r *Report) Judged() []*group {
	return slices.DeleteFunc(slices.Clone(r.Groups), func(g *group) bool { return !g.judged() })
}

// Others returns all others.
func (r *Report) Others() []*group { return slices.DeleteFunc(slices.Clone(r.Groups), (*group).judged) }

// Going returns how many runs have not ended.
func (g *group) Going() int { return len(g.All) - g.N() }

// Each writes the steps of each run, and where training first found the goal.
func (g *group) Each() string {
	var list []string
	for _, run := range g.runs {
		text := strconv.FormatFloat(run.Steps()/1000, 'f', -1, 64)
		if run.Outcome.SolvedAt == 0 {
			text = "- in " + text
		}
		if at := run.Outcome.FoundAt; at > 0 {
			text += " (" + thousands(float64(at)) + ")"
		} else {
			text += " (never)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Verdict writes the direction and the size.
func (j judgement) Verdict() string {
	if j.Size == "" {
		return j.Direction
	}
	return j.Direction + "; size " + j.Size
}

// Answers says in three sentences whether the paper reproduces.
func (r *Report) Answers() []string {
	directions, sizes := map[string][]string{}, map[string]int{}
	for _, c := range r.Claims {
		directions[c.Direction] = append(directions[c.Direction], strings.TrimSuffix(c.Text, "."))
		sizes[c.Size]++
	}
	no := directions[contradicted]
	return []string{r.reproduces(),
		fmt.Sprintf("Of %d claims of its section 4 these runs find: %d hold, %d contradicted%s, %d undecided, %d not run.",
			len(r.Claims), len(directions[holds]), len(no), in(no), len(directions[undecided]), len(directions[""])),
		fmt.Sprintf("Of the effects that the paper gives in numbers %d are of the paper’s size, %d smaller, %d larger, "+
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
func (r *Report) reproduces() string {
	for _, set := range []string{full, quick} {
		var ratios []float64
		var missed []string
		runs, solved, bound := 0, 0, ""
		for _, g := range r.Groups {
			if g.Setting != set || g.Method != paper.QTA.Name || g.Family == "" || g.N() == 0 {
				continue
			}
			runs, solved = runs+g.N(), solved+g.Solved
			if ratios = append(ratios, math.Log(g.Mean/g.Paper.Mean)); g.Bound() {
				bound = "at least "
				missed = append(missed, fmt.Sprintf("%s, %d of %d in %.0f thousand steps", g.Maze, g.Solved, g.N(),
					slices.Max(g.steps)/1000)+r.decides(g))
			}
		}
		if runs > 0 {
			return fmt.Sprintf("With the paper’s learner (%s), on %d of the paper’s 17 mazes, QTA solved %d of %s%s, "+
				"in %s%.2f times the paper’s steps, the geometric mean over these mazes.", set, len(ratios), solved,
				words.Count(runs, "run"), in(missed), bound, math.Exp(stats.Mean(ratios)))
		}
	}
	return "No run here has the paper’s learner (paper, or quick) on a maze of the paper’s, so that nothing is judged."
}

// decides says which changes of its learner solve a maze that it never solved.
func (r *Report) decides(g *group) (text string) {
	for _, other := range r.Groups {
		change, changed := strings.CutPrefix(other.Setting, g.Setting+" ")
		if changed && g.Solved == 0 && other.Solved > 0 && other.Maze == g.Maze && other.Method == g.Method {
			text += fmt.Sprintf(", but %d of %d with %s, after %.0f", other.Solved, other.N(), change, other.Mean/1000)
		}
	}
	return text
}

// CSV returns a table of the runs. A number that is not known is left out.
func (r *Report) CSV() []byte {
	return r.fill(plain.Must(plain.New("table").Funcs(functions).Parse(table)))
}

// cell quotes a text for a table.
func cell(text string) string {
	if strings.ContainsAny(text, ",\"\n") {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}
