package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// This file reads the run directories of many runs, which may be damaged, half
// written or not run directories at all.

// A logRow is what a report needs of a row of log.csv.
type logRow struct {
	step    int
	success float64
}

// maxLog bounds the log.csv that is read, in bytes: one of a hundred thousand
// evaluations is smaller.
const maxLog = 16 << 20

// readLog reads log.csv.
func readLog(path string) ([]logRow, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cause(err)
	}
	return parseLog(data)
}

// logColumns begin the header of log.csv.
const logColumns = "step[environment steps],success[fraction],"

// parseLog reads the text of log.csv: rows of as many numbers as the header
// has columns, the steps ascending.
func parseLog(data []byte) ([]logRow, error) {
	if len(data) > maxLog {
		return nil, fmt.Errorf("larger than %d bytes", maxLog)
	}
	header, rest, whole := strings.Cut(string(data), "\n")
	if !whole || !strings.HasPrefix(header, logColumns) {
		return nil, fmt.Errorf("line 1: want a header that begins with %s", logColumns)
	}
	columns := strings.Count(header, ",") + 1
	rows := make([]logRow, 0, strings.Count(rest, "\n"))
	for line := 2; rest != ""; line++ {
		var text string
		if text, rest, whole = strings.Cut(rest, "\n"); !whole {
			return nil, fmt.Errorf("line %d is cut off", line)
		}
		var row logRow
		n := 0
		for field := range strings.SplitSeq(text, ",") {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d, column %d: %.20q is no number", line, n+1, field)
			}
			switch n {
			case 0:
				if row.step = int(x); float64(row.step) != x || x < 1 || x > maxSteps {
					return nil, fmt.Errorf("line %d: step %v, want a whole number from 1 to %d", line, x, maxSteps)
				}
			case 1:
				if row.success = x; !(x >= 0 && x <= 1) {
					return nil, fmt.Errorf("line %d: success %v, want a number from 0 to 1", line, x)
				}
			}
			n++
		}
		if n != columns {
			return nil, fmt.Errorf("line %d: %d columns, want %d", line, n, columns)
		}
		if len(rows) > 0 && rows[len(rows)-1].step >= row.step {
			return nil, fmt.Errorf("line %d: step %d, want one after %d", line, row.step, rows[len(rows)-1].step)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// firstAt returns the step of the first evaluation of at least this success, or
// 0.
func firstAt(rows []logRow, success float64) int {
	if i := slices.IndexFunc(rows, func(row logRow) bool { return row.success >= success }); i >= 0 {
		return rows[i].step
	}
	return 0
}

// A finding is a run as its directory tells it.
type finding struct {
	dir      string
	record   *record
	rows     []logRow
	method   string
	setting  string
	halfAt   int // the first evaluation at 0.5 or more, or 0
	solvedAt int // the first perfect evaluation, or 0
}

// ended reports whether the run counts: it was solved, or will not be. One
// whose numbers went wrong will not, as it would end so again; one that failed
// for other reasons, such as a full disk, may still be.
func (r *finding) ended() bool {
	s, o := r.record.State, r.record.Outcome
	wrong := s == stateFailed && o != nil && strings.HasPrefix(o.Message, "step ")
	return r.solvedAt > 0 || s == stateSolved || s == stateFinished || wrong
}

// steps returns the steps to the solution, or the budget.
func (r *finding) steps() float64 {
	if r.solvedAt > 0 {
		return float64(r.solvedAt)
	}
	return float64(r.record.Limits.Steps)
}

// at returns the success at an evaluation of a step, as far as it is known. A
// run that stopped because it was solved is counted as solved from there on.
func (r *finding) at(step int) (float64, bool) {
	i, found := slices.BinarySearchFunc(r.rows, step, func(row logRow, step int) int { return cmp.Compare(row.step, step) })
	switch {
	case found:
		return r.rows[i].success, true
	case i == len(r.rows) && i > 0 && r.record.State == stateSolved:
		return r.rows[i-1].success, true
	}
	return 0, false
}

// A skip is a file that was not used, and why.
type skip struct{ Path, Why string }

// A collection is all that is found in several directories.
type collection struct {
	runs    []*finding
	skipped []skip
	planned map[string]string // the cells that sweeps have noted: flags by directory
}

// collect reads all runs within directories. Which directories there are is
// all that can fail.
func collect(dirs []string) (*collection, error) {
	c := &collection{planned: map[string]string{}}
	seen := map[string]bool{}
	names := map[qta.Params][2]string{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, badInput("%s cannot be read: %v", dir, cause(err))
		} else if !info.IsDir() {
			return nil, badInput("%s is no directory", dir)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != filepath.Clean(dir) {
			dir = real
		}
		filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				c.skip(path, "cannot be read: %v", cause(err))
				return nil
			case seen[path]:
				return skipEntry(entry)
			case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
				return filepath.SkipDir
			case entry.IsDir() && exists(filepath.Join(path, recordFile)):
				seen[path] = true
				c.read(path, names)
				return filepath.SkipDir
			case entry.IsDir():
				return nil
			case strings.HasSuffix(entry.Name(), cellsSuffix):
				c.readCells(path)
			case entry.Name() != lockFile && entry.Name() != recordFile+temporary:
				c.skip(path, "no part of a run directory")
			}
			seen[path] = true
			return nil
		})
	}
	return c, nil
}

func skipEntry(entry fs.DirEntry) error {
	if entry.IsDir() {
		return filepath.SkipDir
	}
	return nil
}

func (c *collection) skip(path, format string, args ...any) {
	c.skipped = append(c.skipped, skip{path, fmt.Sprintf(format, args...)})
}

// read reads a run directory.
func (c *collection) read(dir string, names map[qta.Params][2]string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.skip(dir, "cannot be read: %v", cause(err))
		return
	}
	for _, e := range entries {
		switch strings.TrimSuffix(e.Name(), temporary) {
		case recordFile, logFile, timingFile, agentFile, agentFile + qta.Previous, lockFile, pageFile, curveFile, figure5File, figure5Store:
		default:
			c.skip(filepath.Join(dir, e.Name()), "no part of a run directory")
		}
	}
	r := &finding{dir: dir}
	path := filepath.Join(dir, recordFile)
	if r.record, err = readForeignRecord(path); err != nil {
		c.skip(path, "%s; the run is left out", bare(cause(err)))
		return
	}
	path = filepath.Join(dir, logFile)
	if r.rows, err = readLog(path); err != nil && !(errors.Is(err, fs.ErrNotExist) && r.record.State == stateRunning) {
		c.skip(path, "%s; the run is left out", bare(err))
		return
	}
	r.halfAt, r.solvedAt = firstAt(r.rows, half), firstAt(r.rows, 1)
	id := r.record.Run
	p := qta.Params(id.Parameters)
	if _, ok := names[p]; !ok {
		m, setting := recognise(p)
		names[p] = [2]string{m.name, setting}
	}
	r.method, r.setting = names[p][0], names[p][1]
	if id.EvalEvery != 1000 || id.Rollouts != rollouts {
		r.setting += fmt.Sprintf(", %s every %s", count(id.Rollouts, "rollout"), count(id.EvalEvery, "step"))
	}
	c.runs = append(c.runs, r)
}

// readForeignRecord reads a run.json. That of another version may have more
// fields, or the version elsewhere.
func readForeignRecord(path string) (*record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Run.Version == "" {
		var older struct {
			Program struct {
				Version string `json:"version"`
			} `json:"program"`
		}
		if err := json.Unmarshal(data, &older); err == nil {
			r.Run.Version = older.Program.Version
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Limits.Steps < 1 || r.Limits.Steps > maxSteps {
		return nil, fmt.Errorf("limits.steps is %d, want 1 to %d", r.Limits.Steps, maxSteps)
	}
	return &r, nil
}

// readCells reads the cells that a sweep has noted.
func (c *collection) readCells(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		c.skip(path, "%v", cause(err))
		return
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		name, words, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name = filepath.FromSlash(name)
		if !ok || !filepath.IsLocal(name) || !strings.HasSuffix(line, "\n") {
			c.skip(path, "line %d: want a directory, a tab and flags", number)
			return
		}
		c.planned[filepath.Join(filepath.Dir(path), name)] = words
	}
}

// dropDuplicates keeps of runs with the same identity the longest, so that
// none counts twice.
func (c *collection) dropDuplicates() {
	type key struct {
		parameters      parameters
		maze            string
		seed            uint64
		every, rollouts int
	}
	last := func(r *finding) int {
		if len(r.rows) == 0 {
			return 0
		}
		return r.rows[len(r.rows)-1].step
	}
	kept := map[key]*finding{}
	var runs []*finding
	for _, r := range c.runs {
		id := r.record.Run
		k := key{parameters(effective(qta.Params(id.Parameters))), id.mapText(), id.Seed, id.EvalEvery, id.Rollouts}
		other := kept[k]
		if other == nil {
			kept[k] = r
			runs = append(runs, r)
			continue
		}
		if last(r) > last(other) {
			runs[slices.Index(runs, other)] = r
			kept[k], r, other = r, other, r
		}
		c.skip(r.dir, "the same run as in %s", other.dir)
	}
	c.runs = runs
}

// A group is the runs of one method in one maze, with one parameter set.
type group struct {
	method, maze string
	family       string // "M" or "U" for a maze of the paper
	length       int    // path length of the maze
	all, runs    []*finding
	summary      summary
}

// logs returns the logarithms of the runs' steps.
func (g *group) logs() []float64 {
	x := make([]float64, len(g.runs))
	for i, r := range g.runs {
		x[i] = math.Log(r.steps())
	}
	return x
}

// A setting is all runs with one parameter set apart from their methods.
type setting struct {
	name    string
	groups  []*group // by maze and method
	mazes   []string
	methods []string
}

func (s *setting) group(maze, method string) *group {
	for _, g := range s.groups {
		if g.maze == maze && g.method == method {
			return g
		}
	}
	return nil
}

// settings sorts the runs.
func (c *collection) settings() []*setting {
	var settings []*setting
	byName := map[string]*setting{}
	type key struct{ setting, method, maze, text string }
	groups := map[key]*group{}
	for _, r := range c.runs {
		s := byName[r.setting]
		if s == nil {
			s = &setting{name: r.setting}
			byName[r.setting] = s
			settings = append(settings, s)
		}
		k := key{r.setting, r.method, r.record.Run.Maze, r.record.Run.mapText()}
		g := groups[k]
		if g == nil {
			g = newGroup(r)
			groups[k] = g
			s.groups = append(s.groups, g)
		}
		g.all = append(g.all, r)
		if r.ended() {
			g.runs = append(g.runs, r)
		}
	}
	rank := map[string]int{}
	for i, m := range methods() {
		rank[m.name] = i
	}
	for _, s := range settings {
		slices.SortStableFunc(s.groups, func(a, b *group) int {
			return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.length, b.length), cmp.Compare(a.maze, b.maze), cmp.Compare(rank[a.method], rank[b.method]))
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
		for _, m := range methods() {
			if slices.ContainsFunc(s.groups, func(g *group) bool { return g.method == m.name }) {
				s.methods = append(s.methods, m.name)
			}
		}
	}
	order := func(s *setting) int {
		for i, p := range qta.Presets() {
			if first, _, _ := strings.Cut(s.name, " "); strings.TrimSuffix(first, ",") == p.Name {
				return i
			}
		}
		return len(qta.Presets())
	}
	slices.SortStableFunc(settings, func(a, b *setting) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.name, b.name)) })
	return settings
}

func newGroup(r *finding) *group {
	id := r.record.Run
	g := &group{method: r.method, maze: id.Maze, family: "other"}
	if m, err := qta.ParseMaze(id.mapText()); err == nil {
		g.length = m.PathLength()
	}
	if named, err := qta.NewMaze(id.Maze); err == nil && slices.Equal(mapLines(named), id.Map) {
		switch {
		case strings.HasSuffix(id.Maze, "x5"):
			g.family = "M"
		case strings.HasSuffix(id.Maze, "U5"):
			g.family = "U"
		}
	} else {
		g.maze += " (its own map)"
	}
	return g
}
