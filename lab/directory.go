package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"qta"
	"qta/internal/words"
)

// A directory is the locked directory of a run. Its root still refers to this directory
// after the directory was moved or the working directory has changed. Nothing is written
// outside of the directory.
type directory struct {
	path string // as it was given
	root *os.Root
	lock *os.File

	create func(name string) (file, error) // makes a new file for method write
}

type file interface {
	io.WriteCloser
	Sync() error
}

// claim makes a run's directory if there is none, and locks it if its file system has
// locks.
func claim(path string, warn func(string)) (*directory, error) {
	if run := runAround(path); run != "" {
		return nil, words.BadInput("%s lies within the run in %s, where no report looks; "+
			"name another directory", path, run)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, words.BadFile(err, "directory %s cannot be made: %w; name another one",
			path, words.Cause(err))
	}
	if err := checkOurs(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, words.BadFile(err, "directory %s cannot be opened: %w", path, words.Cause(err))
	}
	d := &directory{path: path, root: root}
	d.create = func(name string) (file, error) {
		return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	d.lock, err = root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		root.Close()
		return nil, words.BadFile(err, "%s cannot be written: %w; name another directory",
			filepath.Join(path, LockFile), words.Cause(err))
	}
	err = d.takeLock(func() error { return tryLock(d.lock, true) }, warn)
	if err != nil {
		d.close()
	}
	return d, err
}

func (d *directory) close() {
	d.lock.Close()
	d.root.Close()
}

// checkOurs refuses a directory that holds files but no agent: it is someone else's, or
// its run has lost the agent. The lock and a temporary file are allowed, because a process
// that was killed at its start leaves them.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return words.BadFile(err, "%s is not a directory to write in: %w; name another one",
			dir, words.Cause(err))
	}
	// Another process may begin a run here at this moment. After the lock it makes the agent, and
	// then all other files. So if ReadDir has seen one of those, the agent is there by now.
	if exists(filepath.Join(dir, AgentFile)) || exists(filepath.Join(dir, PreviousFile)) {
		return nil
	}
	r, err := ReadRecord(filepath.Join(dir, RecordFile))
	if err == nil && r.Outcome.Steps > 0 {
		steps := words.Count(r.Outcome.Steps, "step")
		return words.BadInput("%s holds the record of a run of %s, but its %s is gone: "+
			"restore that file, or remove all files of the run to begin it anew",
			dir, steps, AgentFile)
	}
	for _, e := range entries {
		if e.Name() != LockFile && e.Name() != AgentFile+temporary {
			return words.BadInput("directory %s holds %s but no %s; name an empty or a new one",
				dir, e.Name(), AgentFile)
		}
	}
	return nil
}

// runAround returns the run's directory that path lies within, or "".
func runAround(path string) string {
	dir, _ := filepath.Abs(path)
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if isRun(dir) {
			return dir
		}
	}
	return ""
}

// isRun reports whether a directory is a run's. One that has an agent but no lock is not: the
// agent was written by [qta.Agent.SaveFile].
func isRun(dir string) bool {
	return exists(filepath.Join(dir, AgentFile)) && exists(filepath.Join(dir, LockFile))
}

// exists reports whether there is something with this path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isFile reports whether there is a regular file with this path.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// temporary is the suffix of a file that is being written.
const temporary = ".tmp"

// write writes a file under a temporary name and renames it, so that a reader sees the
// old or the new content whatever happens. A new agent.qta is on the disk before it is
// renamed, and the old one becomes agent.qta.previous. So one of the two is whole at
// every moment, even after a loss of power.
func (d *directory) write(name string, data []byte) error {
	if err := d.replace(name, data); err != nil {
		d.root.Remove(name + temporary)
		return fmt.Errorf("%s cannot be written: %w", filepath.Join(d.path, name), words.Cause(err))
	}
	return nil
}

func (d *directory) replace(name string, data []byte) error {
	d.root.Remove(name + temporary) // a killed process may have left one, and create would fail
	f, err := d.create(name + temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if name == AgentFile {
		synced := f.Sync()
		if !errors.Is(synced, syscall.EINVAL) { // EINVAL: the file system has no fsync
			err = errors.Join(err, synced)
		}
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return err
	}
	if name == AgentFile {
		err = d.root.Rename(AgentFile, PreviousFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.root.Rename(name+temporary, name)
}

// load reads the newest whole agent in a run's directory, or returns nil if there is
// none.
func load(dir string) (*Run, error) {
	var damage error // what is wrong with the first damaged file
	for _, name := range []string{AgentFile, PreviousFile} {
		path := filepath.Join(dir, name)
		data, err := words.ReadFile(path, words.MostAgent)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, words.BadFile(err, "%s cannot be read: %w", path, words.Cause(err))
		}
		r, err := decode(data)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil, words.BadInput("another version of qta wrote %s: %s; "+
				"use that version, or name another directory", path, words.Bare(err))
		case err != nil:
			damage = cmp.Or(damage, fmt.Errorf("%s is damaged: %s", path, words.Bare(err)))
			continue
		case damage != nil:
			r.Warning = fmt.Errorf("%w; using the one before it, from step %d",
				damage, r.Agent.Steps())
		}
		r.Dir = dir
		return r, nil
	}
	if damage != nil {
		damage = words.BadInput("%w; no intact copy is left: "+
			"restore that file, or remove all files of the run to begin it anew", damage)
	}
	return nil, damage
}

// decode returns the run that the content of an agent.qta holds.
func decode(data []byte) (r *Run, err error) {
	r = &Run{Agent: new(qta.Agent)}
	if err := r.Agent.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	r.state, err = readState(r.Agent)
	if err != nil {
		return nil, err
	}
	r.Run = r.state.identity(r.Agent)
	return r, nil
}

// The files of a run's directory.
const (
	AgentFile    = "agent.qta" // the run; the laboratory makes the other files from it
	PreviousFile = "agent.qta.previous"
	DamagedFile  = "agent.qta.damaged"
	RecordFile   = "run.json"
	LogFile      = "log.csv"
	PageFile     = "report.html"
	CurveFile    = "curve.svg"
	Figure5File  = "figure5.svg"
	FilmFile     = "training.svg"
	LockFile     = "lock"
)

// An InputError is a caller's mistake, such as a directory that holds another run.
type InputError = words.InputError

// A UseError says that another process holds the lock of a run's directory.
type UseError struct{ Dir string }

func (e UseError) Error() string { return "another process is using " + e.Dir }

// takeLock takes a lock by calling ask, or warns that the file system has no locks. It asks
// again for up to 40 ms, because a signal may interrupt ask, and because [InUse] holds the lock
// for an instant.
func (d *directory) takeLock(ask func() error, warn func(string)) error {
	err := ask()
	for try := 0; try < 20 && (err == syscall.EAGAIN || err == syscall.EINTR); try++ {
		time.Sleep(2 * time.Millisecond)
		err = ask()
	}
	switch {
	case err == syscall.EAGAIN:
		return UseError{d.path}
	case unlockable(err):
		warn(d.path + ": its file system or this operating system supports no locks; " +
			"make sure that no other process works on the run")
	case err != nil:
		return fmt.Errorf("%s cannot be locked: %w", d.path, err)
	}
	return nil
}

// unlockable reports whether an error means that the file system has no locks.
func unlockable(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || err == syscall.ENOLCK
}

// InUse reports whether a process holds the lock of a run's directory. If the file system
// has no locks, InUse returns true.
func InUse(dir string) bool {
	path := filepath.Join(dir, LockFile)
	if !isFile(path) { // opening a pipe may never end
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	err = tryLock(f, false)
	return err == syscall.EAGAIN || unlockable(err)
}
