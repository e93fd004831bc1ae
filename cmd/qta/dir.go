package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qta"
)

// The files of a run directory.
const (
	recordFile   = "run.json"
	logFile      = "log.csv"
	timingFile   = "timing.csv"
	agentFile    = "agent.qta"
	pageFile     = "report.html"
	curveFile    = "curve.svg"
	figure5File  = "figure5.svg"
	figure5Store = "figure5.csv"
	lockFile     = "lock"
)

// maxRecord bounds the run.json that is read, in bytes: that of a maze of
// 10,000 cells is far smaller.
const maxRecord = 1 << 20

// readRecord reads run.json of a directory. Both results are nil where there
// is none.
func readRecord(dir string) (*record, error) {
	path := filepath.Join(dir, recordFile)
	data, err := readInput(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	r, err := decodeRecord(data, true)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it, or name another directory", path, err)
	}
	return r, nil
}

// needRecord is readRecord of a directory that has to be a run's.
func needRecord(dir string) (*record, error) {
	r, err := readRecord(dir)
	if err != nil {
		return nil, badInput("%w", err)
	} else if r == nil {
		return nil, badInput("%s is not a run directory: it holds no %s", dir, recordFile)
	}
	return r, nil
}

// claimDir makes a run directory where there is none, locks it and reads its
// record, which is nil in a new one.
func claimDir(dir string) (unlock func(), r *record, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, nil, badInput("directory %s cannot be made: %v; name another one with -out", dir, err)
		}
	case err != nil:
		return nil, nil, badInput("%s is no directory to write in: %v; name another one with -out", dir, cause(err))
	default:
		if err := ours(dir, entries); err != nil {
			return nil, nil, err
		}
	}
	unlock, err = lockDir(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err = readRecord(dir)
	if err != nil {
		unlock()
		return nil, nil, badInput("%w", err)
	}
	return unlock, r, nil
}

// ours refuses a directory that holds files and no run. A process that was
// killed at its start has left no more than the lock and a temporary file.
func ours(dir string, entries []os.DirEntry) error {
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case recordFile:
			return nil
		case lockFile, recordFile + temporary:
		default:
			stranger = e.Name()
		}
	}
	if stranger != "" {
		return badInput("directory %s holds %s and no %s; name an empty or a new one with -out", dir, stranger, recordFile)
	}
	return nil
}

// loadAgent reads the newest whole agent of a directory, or returns nil where
// there is none. Where the newest is damaged, the warning says so. An agent of
// another run than r is an error. With mend the older agent takes the place of
// a damaged one, so that the next checkpoint does not make the damaged one the
// older.
func loadAgent(dir string, r *record, mend bool) (a *qta.Agent, warning, err error) {
	path := filepath.Join(dir, agentFile)
	if !exists(path) && !exists(path+qta.Previous) {
		return nil, nil, nil
	}
	a, damage, err := qta.LoadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if damage != nil {
		warning = fmt.Errorf("%s; the checkpoint before it, of step %d, is used", bare(damage), a.Steps())
	}
	if damage != nil && mend {
		if err := os.Rename(path+qta.Previous, path); err != nil {
			return nil, warning, fmt.Errorf("%s cannot be replaced: %w", path, err)
		}
	}
	if a.Params() != r.Run.params() || a.Seed() != r.Run.Seed {
		a.Close()
		return nil, warning, fmt.Errorf("%s belongs to another run than %s beside it", path, recordFile)
	}
	return a, warning, nil
}
