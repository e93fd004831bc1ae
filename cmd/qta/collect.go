package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qta"
)

// A finding is a run as its directory tells it.
type finding struct {
	dir      string
	record   *record
	rows     []logRow
	halfAt   int // the first evaluation at 0.5 or more, or 0
	solvedAt int // the first perfect evaluation, or 0
}

// last returns the newest evaluation, or zeros where there is none.
func (r *finding) last() logRow {
	if len(r.rows) == 0 {
		return logRow{}
	}
	return r.rows[len(r.rows)-1]
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

// A collection is all that is found in several directories: of runs, which may
// be damaged or half written, and of files that are none.
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
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, badInput("%s cannot be read: %v", dir, cause(err))
		} else if !info.IsDir() {
			return nil, badInput("%s is no directory", dir)
		}
		if target, err := filepath.EvalSymlinks(dir); err == nil && target != filepath.Clean(dir) {
			dir = target
		}
		filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				c.skip(path, "cannot be read: %v", cause(err))
				return nil
			case seen[path] && entry.IsDir():
				return filepath.SkipDir
			case seen[path]:
				return nil
			case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
				return filepath.SkipDir
			case entry.IsDir() && exists(filepath.Join(path, recordFile)):
				seen[path] = true
				c.read(path)
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

// skip notes a file that is not used.
func (c *collection) skip(path, format string, args ...any) {
	c.skipped = append(c.skipped, skip{path, fmt.Sprintf(format, args...)})
}

// read reads a run directory.
func (c *collection) read(dir string) {
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
	data, err := readInput(path, maxRecord)
	if err == nil {
		r.record, err = decodeRecord(data, false)
	}
	if err != nil {
		c.skip(path, "%v; the run is left out", err)
		return
	}
	if r.rows, err = readLog(dir); err != nil && !(errors.Is(err, fs.ErrNotExist) && r.record.State == stateRunning) {
		c.skip(filepath.Join(dir, logFile), "%v; the run is left out", err)
		return
	}
	r.halfAt, r.solvedAt = firstAt(r.rows, half), firstAt(r.rows, 1)
	c.runs = append(c.runs, r)
}

// A plannedCell is a run that a sweep will make, in a directory within the
// sweep's.
type plannedCell struct{ name, flags string }

const (
	// cellsSuffix ends the name of the file in which a sweep notes its cells.
	cellsSuffix = ".cells"

	maxPlan = 64 << 20 // bytes that are read of it
)

// writeCells notes the cells of a sweep: a line for each, its directory and
// its flags. Many processes may do that at once.
func writeCells(dir, sweep string, cells []plannedCell) error {
	var b bytes.Buffer
	for _, c := range cells {
		fmt.Fprintf(&b, "%s\t%s\n", filepath.ToSlash(c.name), c.flags)
	}
	path := filepath.Join(dir, sweep+cellsSuffix)
	if old, err := readInput(path, maxPlan); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	return replaceShared(path, b.Bytes())
}

// readCells reads the cells that a sweep has noted.
func (c *collection) readCells(path string) {
	data, err := readInput(path, maxPlan)
	if err != nil {
		c.skip(path, "%v", err)
		return
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		name, flags, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name = filepath.FromSlash(name)
		if !ok || !filepath.IsLocal(name) || !strings.HasSuffix(line, "\n") {
			c.skip(path, "line %d: want a directory, a tab and flags", number)
			return
		}
		c.planned[filepath.Join(filepath.Dir(path), name)] = flags
	}
}
