// Package rundir is the directory of a run: its record, its log, its lock, its
// agent; and the collection of many for a report.
package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

// The files of a run directory.
const (
	RecordFile   = "run.json"
	LogFile      = "log.csv"
	TimingFile   = "timing.csv"
	AgentFile    = "agent.qta"
	PageFile     = "report.html"
	CurveFile    = "curve.svg"
	Figure5File  = "figure5.svg"
	Figure5Store = "figure5.csv"
	FilmFile     = "training.svg"
	FilmStore    = "training.csv"
	LockFile     = "lock"
)

// Output is [files.Output] of a file that the command line names. The files of a
// run are not written over.
func Output(path string, data []byte) (through bool, err error) {
	kept := []string{RecordFile, LogFile, TimingFile, AgentFile, AgentFile + qta.Previous, PageFile, Figure5Store, FilmStore, LockFile}
	if slices.Contains(kept, filepath.Base(path)) && files.Exists(filepath.Join(filepath.Dir(path), RecordFile)) {
		return false, words.BadInput("-o %s is a file of a run; name another", path)
	}
	return files.Output(path, data)
}

// maxRecord bounds the run.json that is read, in bytes: that of a maze of
// 10,000 cells is far smaller.
const maxRecord = 1 << 20

// ReadRecord reads run.json of a directory. Both results are nil where there
// is none.
func ReadRecord(dir string) (*Record, error) {
	path := filepath.Join(dir, RecordFile)
	data, err := files.Read(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	r, err := decode(data, true)
	if newer := newerError(""); errors.As(err, &newer) {
		return nil, fmt.Errorf("%s cannot be used: %w; use that one, or name another directory", path, err)
	} else if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it, or name another directory", path, err)
	}
	return r, nil
}

// NeedRecord is ReadRecord of a directory that has to be a run's.
func NeedRecord(dir string) (*Record, error) {
	r, err := ReadRecord(dir)
	if err != nil {
		return nil, words.BadFile(err, "%w", err)
	} else if r == nil {
		return nil, words.BadInput("%s is not a run directory: it holds no %s", dir, RecordFile)
	}
	return r, nil
}

// Claim makes a run directory where there is none, locks it and reads its
// record, which is nil in a new one.
func Claim(dir string) (unlock func(), r *Record, err error) {
	if outer := within(dir); outer != "" {
		return nil, nil, words.BadInput("directory %s is inside that of the run %s; name another one with -out", dir, outer)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, nil, words.BadFile(err, "directory %s cannot be made: %w; name another one with -out", dir, err)
		}
	case err != nil:
		return nil, nil, words.BadFile(err, "%s is no directory to write in: %w; name another one with -out", dir, words.Cause(err))
	default:
		if err := ours(dir, entries); err != nil {
			return nil, nil, err
		}
	}
	unlock, err = Lock(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err = ReadRecord(dir)
	if err != nil {
		unlock()
		return nil, nil, words.BadFile(err, "%w", err)
	}
	return unlock, r, nil
}

// within returns the run directory that a directory is inside of, or "": what
// looks for runs does not look there.
func within(dir string) string {
	dir, err := filepath.Abs(dir)
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if r, _ := ReadRecord(dir); r != nil {
			return dir
		}
	}
	return ""
}

// ours refuses a directory that holds files and no run. A process that was
// killed at its start has left no more than the lock and a temporary file.
func ours(dir string, entries []os.DirEntry) error {
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case RecordFile:
			return nil
		case LockFile, RecordFile + files.Temporary:
		default:
			stranger = e.Name()
		}
	}
	// Another process may have begun a run since entries was read: its record
	// comes before all else.
	if stranger != "" && !files.Exists(filepath.Join(dir, RecordFile)) {
		return words.BadInput("directory %s holds %s and no %s; name an empty or a new one with -out", dir, stranger, RecordFile)
	}
	return nil
}

// Lock takes the lock of a run directory and returns the function that
// gives it back. The system gives it back when the process ends in whatever
// way; the file stays.
func Lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, LockFile)
	f, err := files.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, words.BadFile(err, "%s cannot be written: %w; name another directory with -out", path, err)
	}
	// A look by InUse holds the lock for an instant, so it is tried again.
	taken := false
	for range 20 {
		if taken, err = tryLock(f, true); !taken {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if taken {
		err = UseError{dir}
	} else if err != nil {
		err = fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// A UseError says that another process holds the lock of a run directory.
type UseError struct{ Dir string }

func (e UseError) Error() string { return "another process is using " + e.Dir }

// InUse reports whether a process holds the lock of a run directory, as far
// as CanSeeUse.
func InUse(dir string) bool {
	f, err := files.Open(filepath.Join(dir, LockFile), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	taken, _ := tryLock(f, false)
	return taken
}

// Damaged ends the name of a file that was found damaged.
const Damaged = ".damaged"

// LoadAgent reads the newest whole agent of a directory, or returns nil where
// there is none. A warning says what is odd about it: that the newest is damaged,
// or not the one that the run came to its end with. An agent of another run than
// r is an error.
func LoadAgent(dir string, r *Record) (a *qta.Agent, warning, err error) {
	path := filepath.Join(dir, AgentFile)
	if !files.Exists(path) && !files.Exists(path+qta.Previous) {
		return nil, nil, nil
	}
	var damage error
	a, err = qta.LoadFile(path)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		if b, older := qta.LoadFile(path + qta.Previous); older == nil {
			a, damage, err = b, err, nil
		} else if errors.Is(err, fs.ErrNotExist) {
			err = older
		}
	}
	if err != nil {
		return nil, nil, words.BadFile(err, "%s; %s", words.Bare(err), remedy(path, err))
	}
	if !r.owns(a) {
		a.Close()
		return nil, nil, words.BadInput("%s belongs to another run than %s beside it; restore the one of this run, or remove it, and the run begins again", path, RecordFile)
	}
	if damage != nil {
		warning = fmt.Errorf("%s; the checkpoint before it, of step %d, is used", words.Bare(damage), a.Steps())
	} else if strange := r.Strange(dir, AgentFile); strange != nil {
		warning = fmt.Errorf("%s, of step %d: %w", path, a.Steps(), strange)
	}
	return a, warning, nil
}

// owns reports whether an agent can be that of the record's run, as far as it
// tells: a checkpoint does not name its environment, but knows where in it the
// agent has been.
func (r *Record) owns(a *qta.Agent) bool {
	maze := r.Run.NewMaze()
	if a.Params() != r.Run.Params() || a.Seed() != r.Run.Seed || a.Sizes() != maze.Env().Sizes() {
		return false
	}
	for i, e := range a.Evaluations() {
		if e.Step != (i+1)*r.Run.EvalEvery {
			return false
		}
	}
	return !slices.ContainsFunc(a.Goals(0, a.Steps()), func(goal []float64) bool {
		return !maze.Free(int(goal[0]), int(goal[1]))
	})
}

// remedy says what can be done where no agent at a path can be loaded.
func remedy(path string, err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "make it readable"
	} else if _, system := errors.AsType[syscall.Errno](err); system {
		return "the same command tries again"
	}
	if strings.Contains(err.Error(), "is not a regular file") {
		if files.Exists(path + qta.Previous) {
			return fmt.Sprintf("move it away, and the same command goes on from %s", filepath.Base(path)+qta.Previous)
		}
		return "move it away, and the run begins again"
	}
	if strings.Contains(err.Error(), "this version reads format") {
		return "use the qta that wrote it, or name another directory"
	}
	if files.Exists(path) && files.Exists(path+qta.Previous) {
		return fmt.Sprintf("%s is no help either: restore one of the two, or remove both, and the run begins again", filepath.Base(path)+qta.Previous)
	}
	return "restore it, or remove it, and the run begins again"
}
