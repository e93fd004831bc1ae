// Package report holds many runs against each other and against the paper: its
// figures, a table and the claims of its section 4, as a page, as pictures or
// as numbers.
package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"qta"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
	"qta/cmd/qta/internal/words"
)

// A Report is runs, sorted for comparison.
type Report struct {
	Runs     []*rundir.Run
	Skipped  []rundir.Skip // files that were not used
	Settings []*setting
}

// New sorts what was collected.
func New(c *rundir.Collection) *Report {
	r := &Report{Skipped: c.Skipped}
	r.keep(c.Runs)
	r.sort()
	return r
}

// keep keeps of runs with the same identity the longest, so that none counts
// twice.
func (r *Report) keep(runs []*rundir.Run) {
	type key struct {
		version         string
		parameters      qta.Params
		maze            string
		seed            uint64
		every, rollouts int
	}
	at := map[key]int{}
	for _, run := range runs {
		id := run.Record.Run
		k := key{id.Version, paper.Effective(id.Params()), id.MapText(), id.Seed, id.EvalEvery, id.Rollouts}
		i, twice := at[k]
		if !twice {
			at[k] = len(r.Runs)
			r.Runs = append(r.Runs, run)
			continue
		}
		if run.Last().Step > r.Runs[i].Last().Step {
			run, r.Runs[i] = r.Runs[i], run
		}
		r.Skipped = append(r.Skipped, rundir.Skip{Path: run.Dir, Why: "the same run as in " + r.Runs[i].Dir})
	}
}

// A setting is all runs with one parameter set apart from their methods.
type setting struct {
	Name   string
	ID     string   // in the page
	Groups []*group // by maze and method
	mazes  []string
	judged []claim // all, once they have been judged
}

// A group is the runs of one method in one maze, with one parameter set.
type group struct {
	Method, Maze string
	Length       int           // path length of the maze
	family       string        // "M" or "U" for a maze of the paper
	all, runs    []*rundir.Run // runs are those that have ended
	summary      statistics.Summary
	qta          *group // that of QTA in the same maze, with ended runs, or nil
}

// sort sorts the runs into settings and groups.
func (r *Report) sort() {
	type key struct{ setting, method, maze string }
	own := map[string][]string{} // maps that are not those of the mazes so called, by name
	groups := map[key]*group{}
	settings := map[string]*setting{}
	names := map[qta.Params][2]string{}
	for _, run := range r.Runs {
		id := run.Record.Run
		p := id.Params()
		if _, ok := names[p]; !ok {
			m, name := paper.Recognise(p)
			names[p] = [2]string{m.Name, name}
		}
		maze := id.Maze
		if !id.Named() {
			maze = ownName(own, id)
		}
		k := key{names[p][1], names[p][0], maze}
		if id.EvalEvery != 1000 || id.Rollouts != rundir.Rollouts {
			k.setting += fmt.Sprintf(", %s every %s", words.Count(id.Rollouts, "rollout"), words.Count(id.EvalEvery, "step"))
		}
		s := settings[k.setting]
		if s == nil {
			s = &setting{Name: k.setting}
			settings[k.setting] = s
			r.Settings = append(r.Settings, s)
		}
		g := groups[k]
		if g == nil {
			g = newGroup(k.method, maze, id)
			groups[k] = g
			s.Groups = append(s.Groups, g)
		}
		g.all = append(g.all, run)
		if run.Ended() {
			g.runs = append(g.runs, run)
		}
	}
	rank := func(s *setting) int {
		first, _, _ := strings.Cut(s.Name, " ")
		i := slices.IndexFunc(qta.Presets(), func(p qta.Preset) bool { return p.Name == strings.TrimSuffix(first, ",") })
		return cmp.Or(i+1, math.MaxInt) // others come last
	}
	slices.SortStableFunc(r.Settings, func(a, b *setting) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	for i, s := range r.Settings {
		s.ID = fmt.Sprintf("setting-%d", i+1)
		s.sort()
	}
}

// ownName returns a name for a run's own map. Of maps with one name each has its
// own, with its number among them.
func ownName(own map[string][]string, id rundir.Identity) string {
	name := strings.TrimSuffix(id.Maze, rundir.OwnMap)
	i := slices.Index(own[name], id.MapText())
	if i < 0 {
		i = len(own[name])
		own[name] = append(own[name], id.MapText())
	}
	name += rundir.OwnMap
	if i > 0 {
		name = fmt.Sprintf("%s, %d)", strings.TrimSuffix(name, ")"), i+1)
	}
	return name
}

func newGroup(method, maze string, id rundir.Identity) *group {
	g := &group{Method: method, Maze: maze, family: "other", Length: id.NewMaze().PathLength()}
	switch {
	case !id.Named(): // of neither family, whatever its name
	case strings.HasSuffix(id.Maze, "x5"):
		g.family = "M"
	case strings.HasSuffix(id.Maze, "U5"):
		g.family = "U"
	}
	return g
}

// sort sorts and summarises the groups.
func (s *setting) sort() {
	rank := func(g *group) int {
		return slices.IndexFunc(paper.Methods(), func(m paper.Method) bool { return m.Name == g.Method })
	}
	slices.SortStableFunc(s.Groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.Length, b.Length), cmp.Compare(a.Maze, b.Maze), cmp.Compare(rank(a), rank(b)))
	})
	for _, g := range s.Groups {
		slices.SortFunc(g.runs, func(a, b *rundir.Run) int { return cmp.Compare(a.Record.Run.Seed, b.Record.Run.Seed) })
		solved := 0
		steps := make([]float64, len(g.runs))
		for i, r := range g.runs {
			steps[i] = r.Steps()
			if r.SolvedAt > 0 {
				solved++
			}
		}
		g.summary = statistics.Summarise(steps, solved)
		if !slices.Contains(s.mazes, g.Maze) {
			s.mazes = append(s.mazes, g.Maze)
		}
		g.qta = s.group(g.Maze, paper.QTA)
	}
}

// group returns the group of a method in a maze if it has ended runs, or nil.
func (s *setting) group(maze string, m paper.Method) *group {
	for _, g := range s.Groups {
		if g.Maze == maze && g.Method == m.Name && len(g.runs) > 0 {
			return g
		}
	}
	return nil
}

// of returns the ended runs of a method.
func (s *setting) of(m paper.Method) (runs []*rundir.Run) {
	for _, g := range s.Groups {
		if g.Method == m.Name {
			runs = append(runs, g.runs...)
		}
	}
	return runs
}

// logs returns the logarithms of the runs' steps.
func (g *group) logs() []float64 {
	x := make([]float64, len(g.runs))
	for i, r := range g.runs {
		x[i] = math.Log(r.Steps())
	}
	return x
}

// commonSteps returns the evaluations that all runs know the success of.
func commonSteps(runs []*rundir.Run) []int {
	var steps []int
	for _, r := range runs {
		for _, row := range r.Rows {
			steps = append(steps, row.Step)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return slices.DeleteFunc(steps, func(step int) bool {
		return slices.ContainsFunc(runs, func(r *rundir.Run) bool {
			_, ok := r.At(step)
			return !ok
		})
	})
}

// areas returns each run's mean success over evaluations.
func areas(runs []*rundir.Run, steps []int) []float64 {
	x := make([]float64, len(runs))
	for i, r := range runs {
		for _, step := range steps {
			y, _ := r.At(step)
			x[i] += y / float64(len(steps))
		}
	}
	return x
}
