package rundir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

// A Run is a run as its directory tells it.
type Run struct {
	Dir      string
	Record   *Record
	Rows     []Row
	HalfAt   int // the first evaluation at 0.5 or more, or 0
	SolvedAt int // the first perfect evaluation, or 0
}

// Last returns the newest evaluation, or zeros where there is none.
func (r *Run) Last() Row {
	if len(r.Rows) == 0 {
		return Row{}
	}
	return r.Rows[len(r.Rows)-1]
}

// Ended reports whether the run counts: it was solved, or will not be. One
// whose numbers went wrong will not, as it would end so again; one that failed
// for other reasons, such as a full disk, may still be.
func (r *Run) Ended() bool {
	s, o := r.Record.State, r.Record.Outcome
	wrong := s == Failed && o != nil && numeric.MatchString(o.Message)
	return r.SolvedAt > 0 || s == Solved || s == Finished || wrong
}

// numeric is how what is said of numbers gone wrong begins.
var numeric = regexp.MustCompile(`^step \d+: `)

// Steps returns the steps to the solution, or the budget.
func (r *Run) Steps() float64 {
	if r.SolvedAt > 0 {
		return float64(r.SolvedAt)
	}
	return float64(r.Record.Limits.Steps)
}

// Command returns a command line that makes the run again.
func (r *Run) Command() string {
	return strings.Join(r.Record.Run.Command(r.Record.Limits), " ")
}

// At returns the success at an evaluation of a step, as far as it is known. A
// run that stopped because it was solved is counted as solved from there on.
func (r *Run) At(step int) (float64, bool) {
	i, found := slices.BinarySearchFunc(r.Rows, step, func(row Row, step int) int { return cmp.Compare(row.Step, step) })
	switch {
	case found:
		return r.Rows[i].Success, true
	case i == len(r.Rows) && i > 0 && r.Record.State == Solved:
		return r.Rows[i-1].Success, true
	}
	return 0, false
}

// A Skip is a file that was not used, and why.
type Skip struct{ Path, Why string }

// A Collection is all that is found in several directories: of runs, which may
// be damaged or half written, and of files that are none.
type Collection struct {
	Runs    []*Run
	Skipped []Skip
	Planned map[string]string // the cells that sweeps have noted and nobody has begun: flags by directory
}

// Collect reads all runs within directories. Which directories there are is
// all that can fail.
func Collect(dirs []string) (*Collection, error) {
	c := &Collection{Planned: map[string]string{}}
	seen := map[string]bool{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return nil, words.BadFile(err, "%s cannot be read: %w", dir, words.Cause(err))
		} else if !info.IsDir() {
			return nil, words.BadInput("%s is no directory", dir)
		}
		if target, err := filepath.EvalSymlinks(dir); err == nil && target != filepath.Clean(dir) {
			dir = target
		}
		filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			at, _ := filepath.Abs(path) // it fails nowhere where path can be read
			switch {
			case err != nil:
				c.skip(path, "cannot be read: %v", words.Cause(err))
				return nil
			case seen[at] && entry.IsDir():
				return filepath.SkipDir
			case seen[at]:
				return nil
			case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
				return filepath.SkipDir
			case entry.IsDir() && files.Exists(filepath.Join(path, RecordFile)):
				seen[at] = true
				c.read(path)
				return filepath.SkipDir
			case entry.IsDir():
				return nil
			case strings.HasSuffix(entry.Name(), cellsSuffix):
				c.readCells(path)
			case entry.Name() != LockFile && entry.Name() != RecordFile+files.Temporary:
				c.skip(path, "no part of a run directory")
			}
			seen[at] = true
			return nil
		})
	}
	maps.DeleteFunc(c.Planned, func(dir, _ string) bool {
		at, _ := filepath.Abs(dir)
		return seen[at]
	})
	return c, nil
}

// skip notes a file that is not used.
func (c *Collection) skip(path, format string, args ...any) {
	c.Skipped = append(c.Skipped, Skip{path, words.Plain(fmt.Sprintf(format, args...))})
}

// read reads a run directory.
func (c *Collection) read(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.skip(dir, "cannot be read: %v", words.Cause(err))
		return
	}
	for _, e := range entries {
		switch strings.TrimSuffix(e.Name(), files.Temporary) {
		case RecordFile, LogFile, TimingFile, AgentFile, AgentFile + qta.Previous, AgentFile + Damaged, LockFile, PageFile, CurveFile, Figure5File, Figure5Store, Figure5Store + Damaged, FilmFile, FilmStore, FilmStore + Damaged:
		default:
			c.skip(filepath.Join(dir, e.Name()), "no part of a run directory")
		}
	}
	r := &Run{Dir: dir}
	path := filepath.Join(dir, RecordFile)
	data, err := files.Read(path, maxRecord)
	if err == nil {
		r.Record, err = decode(data, false)
	}
	if err != nil {
		c.skip(path, "%v; the run is left out", err)
		return
	}
	if r.Rows, err = ReadLog(dir); err != nil && !(errors.Is(err, fs.ErrNotExist) && r.Record.State == Running) {
		c.skip(filepath.Join(dir, LogFile), "%v; the run is left out", err)
		return
	}
	odd := r.Record.Strange(dir, LogFile)
	if odd == nil {
		odd = r.Record.contradicts(r.Rows)
	}
	if odd != nil {
		c.skip(filepath.Join(dir, LogFile), "%v; the run is left out, and its command makes the file again", odd)
		return
	}
	for _, name := range digested() {
		if odd := r.Record.Strange(dir, name); odd != nil {
			c.skip(filepath.Join(dir, name), "%v", odd)
		}
	}
	r.HalfAt, r.SolvedAt = FirstAt(r.Rows, Half), FirstAt(r.Rows, 1)
	c.Runs = append(c.Runs, r)
}

// A Cell is a run that a sweep will make, in a directory within the
// sweep's.
type Cell struct{ Name, Flags string }

const (
	// cellsSuffix ends the name of the file in which a sweep notes its cells.
	cellsSuffix = ".cells"

	maxPlan = 64 << 20 // bytes that are read of it
)

// WriteCells notes the cells of a sweep: a line for each, its directory and
// its flags. Many processes may do that at once.
func WriteCells(dir, sweep string, cells []Cell) error {
	var b bytes.Buffer
	for _, c := range cells {
		fmt.Fprintf(&b, "%s\t%s\n", filepath.ToSlash(c.Name), c.Flags)
	}
	path := filepath.Join(dir, sweep+cellsSuffix)
	if old, err := files.Read(path, maxPlan); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, words.Cause(err))
	}
	return files.WriteShared(path, b.Bytes())
}

// readCells reads the cells that a sweep has noted.
func (c *Collection) readCells(path string) {
	data, err := files.Read(path, maxPlan)
	if err != nil {
		c.skip(path, "%v", err)
		return
	}
	cells, err := parseCells(string(data))
	if err != nil {
		c.skip(path, "%v", err)
	}
	for _, cell := range cells {
		c.Planned[filepath.Join(filepath.Dir(path), cell.Name)] = cell.Flags
	}
}

// parseCells reads the text that WriteCells writes, as far as it is one.
func parseCells(text string) (cells []Cell, err error) {
	for line := range strings.Lines(text) {
		name, flags, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name = filepath.FromSlash(name)
		if !ok || !filepath.IsLocal(name) || !strings.HasSuffix(line, "\n") {
			return cells, fmt.Errorf("line %d: want a directory, a tab and flags", len(cells)+1)
		}
		cells = append(cells, Cell{name, flags})
	}
	return cells, nil
}
