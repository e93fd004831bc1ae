// Package report compares runs with each other and with the paper: its figures,
// tables and the claims of its section 4, as a page, as pictures or as numbers.
// It reads nothing but the runs' records.
package report

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/stats"

	"qta"
	"qta/cmd/qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// A Report is runs, sorted for comparison.
type Report struct {
	Runs    []*lab.Record
	Skipped []lab.Skip // files that were not used
	Groups  []*group   // by setting, maze and method
	Claims  []claim
	Going   int // runs that have not ended
	Failed  int
}

// The settings with the paper's learner: with its batch, and with a smaller one.
const full, quick = "paper", "quick"

// A place says where in a report a run belongs. A setting is a parameter set,
// whatever the method.
type place struct {
	Setting, Method, Maze string
	Family                string // how a maze of the paper's is called: "x5" or "U5"
	Length                int    // path length of the maze, 0 where it is unknown
}

// A group is the runs of a place.
type group struct {
	place
	All, runs []*lab.Record // runs are those that have ended
	steps     []float64     // of each of the runs, to the solution or its budget
	Solved    int
	Median    float64      // of the steps
	Mean, SD  float64      // of the steps; the deviation is the population's, as the paper's
	Paper     *paper.Point // nil where the paper has none
}

// New sorts what was collected.
func New(c *lab.Collection) *Report {
	r := &Report{Skipped: c.Skipped}
	all := slices.Clone(c.Runs)
	places, known := map[*lab.Record]place{}, map[string]place{}
	for _, run := range all {
		id := run.Run
		id.Version, id.Seed = "", 0
		kind := fmt.Sprint(id)
		if _, ok := known[kind]; !ok { // to find a place takes time
			known[kind] = placeOf(id)
		}
		places[run] = known[kind]
	}
	slices.SortStableFunc(all, func(a, b *lab.Record) int {
		return cmp.Or(places[a].compare(places[b]), cmp.Compare(a.Run.Seed, b.Run.Seed),
			strings.Compare(a.Run.Version, b.Run.Version), cmp.Compare(b.Last().Step, a.Last().Step))
	})
	var g *group
	for _, run := range all {
		if at := places[run]; g == nil || g.place != at {
			g = &group{place: at, Paper: paper.Of("", at.Method, at.Maze)}
			r.Groups = append(r.Groups, g)
		}
		if i := slices.IndexFunc(g.All, run.Same); i >= 0 {
			r.Skipped = append(r.Skipped, lab.Skip{Path: run.Path, Why: "the same run as in " + g.All[i].Path})
			continue
		}
		g.All = append(g.All, run)
		r.Runs = append(r.Runs, run)
		if !run.Ended() {
			r.Going++
		}
		if run.State == lab.Failed {
			r.Failed++
		}
	}
	for _, g := range r.Groups {
		g.sum()
	}
	r.Claims = r.judge()
	return r
}

// placeOf returns the place of a run.
func placeOf(id lab.Identity) place {
	m, name := paper.Recognize(id.Params)
	at := place{Setting: name, Method: m.Name, Maze: id.Environment}
	if id.EvalEvery != 1000 || id.Rollouts != lab.Rollouts {
		at.Setting += fmt.Sprintf(", %s every %s", words.Count(id.Rollouts, "rollout"), words.Count(id.EvalEvery, "step"))
	}
	if len(id.Map) == 0 {
		return at
	}
	at.Length = id.NewMaze().PathLength()
	if !id.Named() { // different maps have different names
		at.Maze += fmt.Sprintf(" (its own map, %08x)", crc32.ChecksumIEEE([]byte(strings.Join(id.Map, "\n"))))
		return at
	}
	for _, family := range []string{"x5", "U5"} {
		if strings.HasSuffix(at.Maze, family) && paper.Of("", paper.QTA.Name, at.Maze) != nil {
			at.Family = family
		}
	}
	return at
}

// compare orders places: settings as presets are, others last; then mazes by their
// length, those of the paper first; then methods.
func (p place) compare(q place) int {
	preset := func(name string) int {
		i := slices.IndexFunc(qta.Presets(), func(p qta.Preset) bool { return strings.HasPrefix(name+" ", p.Name+" ") })
		return cmp.Or(i+1, math.MaxInt)
	}
	method := func(name string) int {
		return slices.IndexFunc(paper.Methods(), func(m paper.Method) bool { return m.Name == name })
	}
	return cmp.Or(cmp.Compare(preset(p.Setting), preset(q.Setting)), strings.Compare(p.Setting, q.Setting),
		strings.Compare(q.Family, p.Family), cmp.Compare(p.Length, q.Length), strings.Compare(p.Maze, q.Maze),
		cmp.Compare(method(p.Method), method(q.Method)))
}

// sum sums up the runs that have ended.
func (g *group) sum() {
	for _, run := range g.All {
		if !run.Ended() {
			continue
		}
		g.runs = append(g.runs, run)
		g.steps = append(g.steps, run.Steps())
		if run.Outcome.SolvedAt > 0 {
			g.Solved++
		}
	}
	if g.N() > 0 {
		g.Median, g.Mean, g.SD = stats.Median(g.steps), stats.Mean(g.steps), populationDeviation(g.steps)
	}
}

// N returns how many runs have ended.
func (g *group) N() int { return len(g.runs) }

// Bound reports whether the mean is a lower bound: a run is unsolved.
func (g *group) Bound() bool { return g.N() > g.Solved }

// group returns the group of a method in a maze if it has ended runs, or nil.
func (r *Report) group(setting string, m paper.Method, maze string) *group {
	for _, g := range r.Groups {
		if g.Setting == setting && g.Maze == maze && g.Method == m.Name && g.N() > 0 {
			return g
		}
	}
	return nil
}

// which returns the ended runs that count.
func (g *group) which(counts func(*lab.Record) bool) []*lab.Record {
	return slices.DeleteFunc(slices.Clone(g.runs), func(r *lab.Record) bool { return !counts(r) })
}

// logs returns the logarithms of the runs' steps.
func (g *group) logs() []float64 {
	x := make([]float64, len(g.steps))
	for i, steps := range g.steps {
		x[i] = math.Log(steps)
	}
	return x
}
