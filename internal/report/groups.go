// Package report sorts runs and shows them beside the paper's figures, as a
// page or a table. It reads only the runs' records.
package report

import (
	"cmp"
	"fmt"
	"go/version"
	"hash/crc32"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"qta"
	"qta/internal/paper"
	"qta/internal/words"
	"qta/lab"
)

// A Report holds runs, sorted for comparison.
type Report struct {
	Runs    []*lab.Record
	Skipped []lab.Skip    // files that were not used
	Groups  []*Group      // by setting, maze and method; only those of the newest code
	Older   []*Group      // the groups of other code
	Pending int           // how many runs have neither ended nor failed
	Failed  int           // how many runs have failed
	Opening template.HTML // opens the page, instead of a headline
	Claims  template.HTML // stands after the figures
}

// Full is the setting with the paper's batches, and Quick the one with smaller batches.
const Full, Quick = "paper", "quick"

// A Place says where in a report a run belongs. The setting is the run's parameter set
// without the changes that its method makes.
type Place struct {
	Setting, Method, Maze string
	Family                string // "x5" or "U5" in the paper's mazes, from the maze's name
	Length                int    // path length of the maze; 0 if it is unknown
	Code                  string // of what the program computes; only runs of one code share a mean
}

// A Group holds the runs of a place.
type Group struct {
	Place
	All    []*lab.Record
	Runs   []*lab.Record // those that have ended
	Steps  []float64     // of each ended run: to the solution, or its budget
	Median float64       // of Steps
	Mean   float64       // of Steps
	SD     float64       // of Steps: the population's standard deviation, as in the paper

	Solved    int // how many runs were solved
	Untrained int // how many runs ended before their first update

	Older bool         // a newer code has runs of this place
	Paper *paper.Point // the paper's result, or nil
}

// New returns the report on the runs of a collection.
func New(c *lab.Collection) *Report {
	r := &Report{Skipped: slices.Clone(c.Skipped)}
	groups := map[Place]*Group{}
	places := newPlaces()
	for _, run := range slices.SortedStableFunc(slices.Values(c.Runs), compareRuns) {
		at := places.of(run.Run)
		g := groups[at]
		if g == nil {
			g = &Group{Place: at, Paper: paper.Of("", at.Method, at.Maze)}
			groups[at] = g
		}
		if i := slices.IndexFunc(g.All, run.Same); i >= 0 {
			why := "this run is also in " + g.All[i].Path
			r.Skipped = append(r.Skipped, lab.Skip{Path: run.Path, Why: why})
		} else {
			g.All = append(g.All, run)
		}
	}
	for _, g := range groups {
		g.sum()
	}
	r.sort(groups)
	for _, g := range r.All() {
		r.Runs = append(r.Runs, g.All...)
		r.Pending += g.Pending()
		r.Failed += count(g.All, func(run *lab.Record) bool { return run.State == lab.Failed })
	}
	return r
}

// compareRuns orders runs by seed. Of copies of one run those that have ended come first, and
// of these the longest. Equally long ones are ordered by version, as text.
func compareRuns(a, b *lab.Record) int {
	bySeed := cmp.Compare(a.Run.Seed, b.Run.Seed)
	ended := 0
	switch {
	case a.Ended() && !b.Ended():
		ended = -1
	case b.Ended() && !a.Ended():
		ended = 1
	}
	longest := cmp.Compare(b.Outcome.Steps, a.Outcome.Steps)
	byVersion := strings.Compare(a.Run.Version, b.Run.Version)
	return cmp.Or(bySeed, ended, longest, byVersion)
}

// sort sets r.Groups to the first group of each setting, maze and method, and r.Older to
// the others.
func (r *Report) sort(groups map[Place]*Group) {
	for _, g := range slices.SortedFunc(maps.Values(groups), (*Group).compare) {
		if n := len(r.Groups); n > 0 && g.Place.compare(r.Groups[n-1].Place) == 0 {
			g.Older = true
			r.Older = append(r.Older, g)
		} else {
			r.Groups = append(r.Groups, g)
		}
	}
}

// All returns all groups. Those of older code come last.
func (r *Report) All() []*Group { return slices.Concat(r.Groups, r.Older) }

// The type places finds the place of each run.
type places struct {
	found   map[string]Place             // by the run's identity, as finding a place takes time
	answers map[string][]lab.Fingerprint // by name: one for each different environment of this name
}

func newPlaces() places {
	return places{found: map[string]Place{}, answers: map[string][]lab.Fingerprint{}}
}

// of returns the place of a run. If environments of one name answer differently, their
// places get different names.
func (p places) of(id lab.Identity) Place {
	answers := id.Fingerprint
	id.Seed = 0 // runs that differ only in seed and fingerprint are found once
	id.Fingerprint = nil
	key := fmt.Sprint(id)
	at, known := p.found[key]
	if !known {
		at = placeOf(id)
		p.found[key] = at
	}
	if i := p.environment(at.Maze, answers); i > 0 {
		at.Maze += fmt.Sprintf(" (environment %d of this name)", i+1)
	}
	return at
}

// environment returns which of the environments with this name gave these answers, as an
// index. If the answers are unknown, it is the first environment.
func (p places) environment(name string, answers lab.Fingerprint) int {
	known := p.answers[name]
	for i, before := range known {
		if before.Difference(answers) == "" {
			if len(before) == 0 { // they were unknown
				known[i] = answers
			}
			return i
		}
	}
	p.answers[name] = append(known, answers)
	return len(known)
}

// unmoved has the codes of two sets. The first records of these sets name no code, but
// the sets still compute what they computed then.
var unmoved = map[string]string{"mega": "fused 9e77997f7afacd0e", "vds": "fused f72c2d59c687eacb"}

// placeOf returns the place of a run whose environment is the only one of its name.
func placeOf(id lab.Identity) Place {
	method, setting := paper.Recognize(id.Params)
	at := Place{
		Setting: setting,
		Method:  method.Name,
		Maze:    id.Environment,
		Code:    cmp.Or(id.Code, unmoved[setting], id.Version),
	}
	if id.Own {
		at.Setting += ", a curriculum of its user"
	}
	if id.EvalEvery != 1000 || id.Rollouts != lab.Rollouts {
		rollouts := words.Count(id.Rollouts, "rollout")
		steps := words.Count(id.EvalEvery, "step")
		at.Setting += fmt.Sprintf(", %s every %s", rollouts, steps)
	}
	if len(id.Map) == 0 {
		_, err := qta.NewMaze(id.Environment)
		if err == nil { // a user's environment with a maze's name
			at.Maze += " (no maze)"
		}
		return at
	}
	at.Length = id.NewMaze().PathLength()
	if !id.Named() { // so that different maps have different names
		text := strings.Join(id.Map, "\n")
		at.Maze += fmt.Sprintf(" (its own map, %08x)", crc32.ChecksumIEEE([]byte(text)))
		return at
	}
	for _, family := range []string{"x5", "U5"} {
		if strings.HasSuffix(at.Maze, family) && paper.Of("", paper.QTA.Name, at.Maze) != nil {
			at.Family = family
		}
	}
	return at
}

// compare orders groups by place. Within one place a group with ended runs comes first. Then
// the newer version comes first, then the code with more runs.
func (g *Group) compare(h *Group) int {
	place := g.Place.compare(h.Place)
	// Of the next three the larger comes first, so they compare h with g.
	ended := cmp.Compare(min(h.N(), 1), min(g.N(), 1))
	newest := version.Compare("go"+h.Version(), "go"+g.Version())
	most := cmp.Compare(h.N(), g.N())
	code := strings.Compare(g.Code, h.Code)
	return cmp.Or(place, ended, newest, most, code)
}

// Program names the program that made a run of g.
func (g *Group) Program(run *lab.Record) string {
	if g.Older {
		return run.Run.Version + ", other code"
	}
	return run.Run.Version
}

// Programs returns the names of the programs that made some runs of g, sorted.
func (g *Group) Programs(runs []*lab.Record) []string { return distinct(runs, g.Program) }

// distinct returns the names of runs, sorted, each once.
func distinct(runs []*lab.Record, name func(*lab.Record) string) (names []string) {
	for _, run := range runs {
		names = append(names, name(run))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Version returns the newest version of the runs.
func (g *Group) Version() (newest string) {
	for _, run := range g.All {
		if version.Compare("go"+run.Run.Version, "go"+newest) > 0 {
			newest = run.Run.Version
		}
	}
	return newest
}

// compare orders places by setting, then by maze, then by method, and not by code. Settings
// have the order of the presets. The paper's mazes come before others: its M-mazes by length,
// then its square waves by length.
func (p Place) compare(q Place) int {
	preset := cmp.Compare(presetOf(p.Setting), presetOf(q.Setting))
	setting := strings.Compare(p.Setting, q.Setting)
	family := strings.Compare(q.Family, p.Family) // "x5", "U5", and "" of other mazes
	length := cmp.Compare(p.Length, q.Length)
	maze := strings.Compare(p.Maze, q.Maze)
	method := cmp.Compare(methodNumber(p.Method), methodNumber(q.Method))
	return cmp.Or(preset, setting, family, length, maze, method)
}

// presetOf returns the index of the preset that a setting is, or that it changes.
func presetOf(setting string) int {
	name, _, _ := strings.Cut(setting, " ")
	name = strings.TrimSuffix(name, ",")
	i := slices.IndexFunc(qta.Presets(), func(p qta.Preset) bool { return p.Name == name })
	if i < 0 {
		return math.MaxInt
	}
	return i
}

// methodNumber returns the index of a method among the paper's methods.
func methodNumber(name string) int {
	return slices.IndexFunc(paper.Methods(), func(m paper.Method) bool { return m.Name == name })
}

// sum fills g with statistics of the runs that have ended.
func (g *Group) sum() {
	for _, run := range g.All {
		if run.Ended() {
			g.Runs = append(g.Runs, run)
			g.Steps = append(g.Steps, run.Steps())
		}
	}
	g.Solved = count(g.Runs, func(run *lab.Record) bool { return run.Outcome.SolvedAt > 0 })
	g.Untrained = count(g.Runs, untrained)
	n := g.N()
	if n == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(g.Steps))
	g.Median = (sorted[(n-1)/2] + sorted[n/2]) / 2
	g.Mean = mean(g.Steps)
	var squares float64
	for _, x := range g.Steps {
		squares += (x - g.Mean) * (x - g.Mean)
	}
	g.SD = math.Sqrt(squares / float64(n))
}

// untrained reports whether a run ended before the first update of its networks. A failed run
// is not called untrained.
func untrained(run *lab.Record) bool {
	p := run.Run.Params
	steps := run.Outcome.Steps
	starts := p.LearningStarts
	if p.Learner == "vds" { // it first updates where the first episode after LearningStarts ends
		steps /= p.Horizon
		starts /= p.Horizon
	}
	return run.Ended() && run.State != lab.Failed && steps <= starts
}

// count returns for how many runs counts is true.
func count(runs []*lab.Record, counts func(*lab.Record) bool) (n int) {
	for _, run := range runs {
		if counts(run) {
			n++
		}
	}
	return n
}

// N returns how many runs have ended.
func (g *Group) N() int { return len(g.Runs) }

// Bound reports whether the mean is a lower bound, because some run is unsolved.
func (g *Group) Bound() bool { return g.N() > g.Solved }

// mean returns the mean of numbers.
func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v
	}
	return m / float64(len(x))
}

// Group returns the group of a method in a maze if it has ended runs, or nil.
func (r *Report) Group(setting string, m paper.Method, maze string) *Group {
	for _, g := range r.Groups {
		isPlace := g.Setting == setting && g.Maze == maze && g.Method == m.Name
		if isPlace && g.N() > 0 {
			return g
		}
	}
	return nil
}

// Which returns the ended runs for which counts is true.
func (g *Group) Which(counts func(*lab.Record) bool) []*lab.Record {
	return slices.DeleteFunc(slices.Clone(g.Runs), func(r *lab.Record) bool { return !counts(r) })
}

// SettingOf returns the setting in which a method is compared with QTA. This is the setting
// of the method's own authors, if there is one. Otherwise it is Full if more of the
// method's runs have Full than Quick, and else Quick.
func (r *Report) SettingOf(m paper.Method) string {
	if own := m.Own(); own != "" {
		return own
	}
	runs := map[string]int{}
	for _, g := range r.Groups {
		if g.Method == m.Name && g.Family != "" {
			runs[g.Setting] += g.N()
		}
	}
	if runs[Full] > runs[Quick] {
		return Full
	}
	return Quick
}

// Most returns a method's group with the most ended runs for which counts is true, and
// these runs. It looks at the paper's mazes with the settings Full and Quick.
func (r *Report) Most(m paper.Method, counts func(*lab.Record) bool) (g *Group, runs []*lab.Record) {
	for _, other := range r.Groups {
		ofLearner := other.Setting == Full || other.Setting == Quick
		if !ofLearner || other.Family == "" || other.Method != m.Name {
			continue
		}
		these := other.Which(counts)
		if len(these) > len(runs) {
			g = other
			runs = these
		}
	}
	return g, runs
}

// wentOn reports whether a run has finished that would have trained on after a solution,
// whether or not it solved the maze.
func wentOn(run *lab.Record) bool {
	return run.State == lab.Finished && run.Limits.Stop == lab.StopNever
}

// Noisy returns the runs with noise m and their group, and the runs without noise of the
// newest group with the same setting and maze in which some run has the version of one with
// noise. It takes only runs that went on to their budgets. Noisy returns nil if there are no
// runs with noise or none without.
func (r *Report) Noisy(m paper.Method) (g *Group, noisy, quiet []*lab.Record) {
	g, noisy = r.Most(m, wentOn)
	if g == nil {
		return nil, nil, nil
	}
	for _, q := range r.Beside(g, paper.QTA.Name) {
		quiet = q.Which(wentOn)
		if shareVersion(noisy, quiet) {
			return g, noisy, quiet
		}
	}
	return nil, nil, nil
}

// Beside returns the groups of a method that have the setting and maze of g. The newest
// comes first. Their codes may differ from g's, because a code depends on all parameters.
func (r *Report) Beside(g *Group, method string) (groups []*Group) {
	for _, other := range r.All() {
		if other.Setting == g.Setting && other.Maze == g.Maze && other.Method == method {
			groups = append(groups, other)
		}
	}
	return groups
}

// shareVersion reports whether some of the runs a and some of the runs b are of one version.
func shareVersion(a, b []*lab.Record) bool {
	for _, run := range a {
		sameVersion := func(other *lab.Record) bool { return other.Run.Version == run.Run.Version }
		if slices.ContainsFunc(b, sameVersion) {
			return true
		}
	}
	return false
}

// Figure5 returns the runs on Figure 5's maze with setting Full that are solved or at the end
// of their budgets, and that have the numbers of Figure 5.
func (r *Report) Figure5() []*lab.Record {
	g := r.Group(Full, paper.QTA, paper.Figure5Maze)
	if g == nil {
		return nil
	}
	return g.Which(func(run *lab.Record) bool {
		atItsEnd := run.State == lab.Solved || run.State == lab.Finished
		return atItsEnd && run.Outcome.Figure5 != nil
	})
}
