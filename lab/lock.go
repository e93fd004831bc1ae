package lab

import (
	"os"
	"path/filepath"
	"time"

	"qta/internal/words"
)

// The files of a run's directory.
const (
	AgentFile    = "agent.qta" // decides; the others are drawn from it
	PreviousFile = "agent.qta.previous"
	DamagedFile  = "agent.qta.damaged"
	RecordFile   = "run.json"
	LogFile      = "log.csv"
	TimingFile   = "timing.csv"
	PageFile     = "report.html"
	CurveFile    = "curve.svg"
	Figure5File  = "figure5.svg"
	FilmFile     = "training.svg"
	LockFile     = "lock"
)

// An InputError is a mistake in what the caller gave, such as a directory that
// holds another run.
type InputError = words.InputError

// A UseError says that another process holds the lock of a run's directory.
type UseError struct{ Dir string }

func (e UseError) Error() string { return "another process is using " + e.Dir }

// lock takes the lock that f is until it is closed. Someone who asks with InUse
// holds it for an instant, so it is tried again.
func lock(f *os.File, dir string) error {
	for range 20 {
		taken, err := tryLock(f, true)
		if err != nil {
			return err
		} else if !taken {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return UseError{dir}
}

// InUse reports whether a process holds the lock of a run's directory. Where
// CanSeeUse is false it cannot tell, and says no.
func InUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, LockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	taken, _ := tryLock(f, false)
	return taken
}
