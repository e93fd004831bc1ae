package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/exp/stats"

	"qta"
)

// A report is runs, sorted for comparison.
type report struct {
	Runs     []*finding
	Skipped  []skip // files that were not used
	Settings []*setting
}

// newReport sorts what was collected. Of runs with the same identity it keeps
// the longest, so that none counts twice.
func newReport(c *collection) *report {
	r := &report{Skipped: c.skipped}
	r.Runs = r.distinct(c.runs)
	r.sort()
	return r
}

func (r *report) distinct(runs []*finding) (kept []*finding) {
	type key struct {
		parameters      qta.Params
		maze            string
		seed            uint64
		every, rollouts int
	}
	at := map[key]int{}
	for _, run := range runs {
		id := run.record.Run
		k := key{effective(id.params()), id.mapText(), id.Seed, id.EvalEvery, id.Rollouts}
		i, twice := at[k]
		if !twice {
			at[k] = len(kept)
			kept = append(kept, run)
			continue
		}
		if run.last().step > kept[i].last().step {
			run, kept[i] = kept[i], run
		}
		r.Skipped = append(r.Skipped, skip{run.dir, "the same run as in " + kept[i].dir})
	}
	return kept
}

// A setting is all runs with one parameter set apart from their methods.
type setting struct {
	Name   string
	ID     string   // in the page
	groups []*group // by maze and method
	mazes  []string
}

// A group is the runs of one method in one maze, with one parameter set.
type group struct {
	method, maze string
	family       string     // "M" or "U" for a maze of the paper
	length       int        // path length of the maze
	all, runs    []*finding // runs are those that have ended
	summary      summary
}

// sort sorts the runs into settings and groups.
func (r *report) sort() {
	type key struct{ setting, method, maze, text string }
	groups := map[key]*group{}
	settings := map[string]*setting{}
	names := map[qta.Params][2]string{}
	for _, run := range r.Runs {
		id := run.record.Run
		p := id.params()
		if _, ok := names[p]; !ok {
			m, name := recognise(p)
			names[p] = [2]string{m.name, name}
		}
		k := key{names[p][1], names[p][0], id.Maze, id.mapText()}
		if id.EvalEvery != 1000 || id.Rollouts != rollouts {
			k.setting += fmt.Sprintf(", %s every %s", count(id.Rollouts, "rollout"), count(id.EvalEvery, "step"))
		}
		s := settings[k.setting]
		if s == nil {
			s = &setting{Name: k.setting}
			settings[k.setting] = s
			r.Settings = append(r.Settings, s)
		}
		g := groups[k]
		if g == nil {
			g = newGroup(k.method, id)
			groups[k] = g
			s.groups = append(s.groups, g)
		}
		g.all = append(g.all, run)
		if run.ended() {
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

func newGroup(method string, id identity) *group {
	g := &group{method: method, maze: id.Maze, family: "other", length: id.maze().PathLength()}
	switch {
	case !id.named():
		g.maze += " (its own map)"
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
		return slices.IndexFunc(methods(), func(m method) bool { return m.name == g.method })
	}
	slices.SortStableFunc(s.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.length, b.length), cmp.Compare(a.maze, b.maze), cmp.Compare(rank(a), rank(b)))
	})
	for _, g := range s.groups {
		slices.SortFunc(g.runs, func(a, b *finding) int { return cmp.Compare(a.record.Run.Seed, b.record.Run.Seed) })
		solved := 0
		steps := make([]float64, len(g.runs))
		for i, r := range g.runs {
			steps[i] = r.steps()
			if r.solvedAt > 0 {
				solved++
			}
		}
		g.summary = summarise(steps, solved)
		if !slices.Contains(s.mazes, g.maze) {
			s.mazes = append(s.mazes, g.maze)
		}
	}
}

// group returns the group of a method in a maze if it has ended runs, or nil.
func (s *setting) group(maze string, m method) *group {
	for _, g := range s.groups {
		if g.maze == maze && g.method == m.name && len(g.runs) > 0 {
			return g
		}
	}
	return nil
}

// of returns the ended runs of a method.
func (s *setting) of(m method) (runs []*finding) {
	for _, g := range s.groups {
		if g.method == m.name {
			runs = append(runs, g.runs...)
		}
	}
	return runs
}

// logs returns the logarithms of the runs' steps.
func (g *group) logs() []float64 {
	x := make([]float64, len(g.runs))
	for i, r := range g.runs {
		x[i] = math.Log(r.steps())
	}
	return x
}

// commonSteps returns the evaluations that all runs know the success of.
func commonSteps(runs []*finding) []int {
	var steps []int
	for _, r := range runs {
		for _, row := range r.rows {
			steps = append(steps, row.step)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	return slices.DeleteFunc(steps, func(step int) bool {
		return slices.ContainsFunc(runs, func(r *finding) bool {
			_, ok := r.at(step)
			return !ok
		})
	})
}

// areas returns each run's mean success over evaluations.
func areas(runs []*finding, steps []int) []float64 {
	x := make([]float64, len(runs))
	for i, r := range runs {
		for _, step := range steps {
			y, _ := r.at(step)
			x[i] += y / float64(len(steps))
		}
	}
	return x
}

// A moment is mean and deviation of the success of several runs at a step.
type moment struct{ step, mean, deviation float64 }

// moments returns the success of a group's runs, as far as all know it.
func (g *group) moments() (moments []moment) {
	if len(g.runs) == 0 {
		return nil
	}
	y := make([]float64, len(g.runs))
	for _, step := range commonSteps(g.runs) {
		for i, r := range g.runs {
			y[i], _ = r.at(step)
		}
		moments = append(moments, moment{float64(step), stats.Mean(y), populationDeviation(y)})
	}
	return moments
}
