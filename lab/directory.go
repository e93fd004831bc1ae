package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qta"
	"qta/internal/words"
)

// A directory is a run's, locked. Nothing in it is read or written but regular
// files, and nothing through a link: what is written is renamed to its place.
type directory struct {
	path string
	root *os.Root
	lock *os.File // nil where it is only read
}

// claim makes a run's directory where there is none, and locks it.
func claim(path string) (*directory, error) {
	if outer := within(path); outer != "" {
		return nil, words.BadInput("directory %s is inside that of the run %s; name another one", path, outer)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, words.BadFile(err, "directory %s cannot be made: %w; name another one", path, words.Cause(err))
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, words.BadFile(err, "%s is no directory to write in: %w; name another one", path, words.Cause(err))
	}
	if err := ours(path, entries); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, words.BadFile(err, "directory %s cannot be opened: %w", path, words.Cause(err))
	}
	d := &directory{path: path, root: root}
	if err = d.regular(LockFile); err == nil || errors.Is(err, fs.ErrNotExist) {
		d.lock, err = root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o666)
	}
	if err != nil {
		root.Close()
		return nil, words.BadFile(err, "%s cannot be written: %w; name another directory",
			filepath.Join(path, LockFile), words.Cause(err))
	}
	if err := lock(d.lock, path); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) close() {
	if d.lock != nil {
		d.lock.Close()
	}
	d.root.Close()
}

// within returns the run directory that a directory is inside of, or "": what
// looks for runs does not look there.
func within(dir string) string {
	dir, err := filepath.Abs(dir)
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, AgentFile)); err == nil {
			return dir
		}
	}
	return ""
}

// ours refuses a directory that holds files and no agent: someone else's, or
// one of a run whose agent is lost. A process that was killed at its start has
// left no more than the lock and a temporary file.
func ours(dir string, entries []os.DirEntry) error {
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case AgentFile, PreviousFile:
			return nil
		case RecordFile:
			if r, err := ReadRecord(filepath.Join(dir, RecordFile)); err == nil && r.Outcome.Steps > 0 {
				return words.BadInput("%s holds a run of %s and its %s is gone: restore that file, or remove %s to begin the run anew",
					dir, words.Count(r.Outcome.Steps, "step"), AgentFile, RecordFile)
			}
		case LockFile, AgentFile + temporary:
		default:
			stranger = e.Name()
		}
	}
	// Another process may have begun a run since entries was read.
	if _, err := os.Lstat(filepath.Join(dir, AgentFile)); stranger != "" && err != nil {
		return words.BadInput("directory %s holds %s and no %s; name an empty or a new one", dir, stranger, AgentFile)
	}
	return nil
}

// regular returns an error unless a name is that of a regular file.
func (d *directory) regular(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	return err
}

// held returns an error if the directory was replaced since it was locked: what
// has its name now is another run's.
func (d *directory) held() error {
	here, err := os.Stat(filepath.Join(d.path, LockFile))
	if err == nil {
		var ours os.FileInfo
		if ours, err = d.lock.Stat(); err == nil && !os.SameFile(here, ours) {
			err = errors.New("another one has its name")
		}
	}
	if err != nil {
		return fmt.Errorf("the directory %s was moved or replaced while the run worked in it (%w); nothing more is written",
			d.path, words.Cause(err))
	}
	return nil
}

// temporary ends the name of a file that is being written.
const temporary = ".tmp"

// write writes a file beside its place and renames it, so that a reader sees the
// old or the new content whatever happens. A durable one is also safe from a loss
// of power.
func (d *directory) write(name string, data []byte, durable bool) error {
	err := d.held()
	if err == nil {
		if err = d.writeTemporary(name, data, durable); err == nil {
			err = d.root.Rename(name+temporary, name)
		}
	}
	return d.written(name, err)
}

func (d *directory) writeTemporary(name string, data []byte, durable bool) error {
	d.root.Remove(name + temporary) // of a process that was killed; else the next line fails
	f, err := d.root.OpenFile(name+temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		d.root.Remove(name + temporary)
	}
	return err
}

// written makes of an error one that names the file.
func (d *directory) written(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s cannot be written: %w", filepath.Join(d.path, name), words.Cause(err))
}

// append opens a file to add rows to.
func (d *directory) append(name, header string) (*os.File, error) {
	err := d.regular(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = d.write(name, []byte(header), false)
	}
	if err != nil {
		return nil, d.written(name, err)
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	return f, d.written(name, err)
}

// saveAgent writes agent.qta. The one before it becomes agent.qta.previous, so
// that at every moment one of the two is whole.
func (d *directory) saveAgent(a *qta.Agent) error {
	data, err := a.MarshalBinary()
	if err != nil {
		return err
	}
	if err = d.held(); err == nil {
		err = d.writeTemporary(AgentFile, data, true)
	}
	if err == nil {
		if err = d.root.Rename(AgentFile, PreviousFile); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = d.root.Rename(AgentFile+temporary, AgentFile)
	}
	if err == nil {
		// Some systems cannot sync a directory; the renames are then as durable as
		// they make them.
		if f, err := d.root.Open("."); err == nil {
			f.Sync()
			f.Close()
		}
	}
	return d.written(AgentFile, err)
}

// A damage is what is wrong with the content of an agent's file.
type damage struct{ error }

// readAgent reads one of the two.
func (d *directory) readAgent(name string) (a *qta.Agent, s *state, err error) {
	if err := d.regular(name); err != nil {
		return nil, nil, err
	}
	data, err := d.root.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	a = new(qta.Agent)
	if err = a.UnmarshalBinary(data); err == nil {
		s, err = readState(a)
	}
	if err != nil {
		a.Close()
		if !errors.Is(err, errors.ErrUnsupported) {
			err = damage{err}
		}
		return nil, nil, err
	}
	return a, s, nil
}

// load reads the newest whole agent, or returns nil where there is none. damaged
// says what is wrong with agent.qta where the one before it is used.
func (d *directory) load() (a *qta.Agent, s *state, damaged, err error) {
	name := AgentFile
	a, s, err = d.readAgent(name)
	_, isDamage := errors.AsType[damage](err)
	if missing := errors.Is(err, fs.ErrNotExist); missing || isDamage {
		b, t, previous := d.readAgent(PreviousFile)
		switch {
		case previous == nil && missing:
			return b, t, nil, nil
		case previous == nil:
			damaged = fmt.Errorf("%s is damaged: %s; the one before it, of step %d, is used",
				filepath.Join(d.path, AgentFile), words.Bare(err), b.Steps())
			return b, t, damaged, nil
		case missing && errors.Is(previous, fs.ErrNotExist):
			return nil, nil, nil, nil
		case missing:
			name, err = PreviousFile, previous
		}
	}
	if err == nil {
		return a, s, nil, nil
	}
	return nil, nil, nil, d.unusable(name, err)
}

// unusable says what can be done where no agent can be loaded.
func (d *directory) unusable(name string, err error) error {
	path := filepath.Join(d.path, name)
	if errors.Is(err, errors.ErrUnsupported) {
		return words.BadInput("%s is of another version of qta: %s; use that version, or name another directory",
			path, words.Bare(err))
	}
	if _, ok := errors.AsType[damage](err); ok {
		return words.BadInput("%s is damaged, and no other is whole: %s; restore it, or remove all files of the run to begin it anew",
			path, words.Bare(err))
	}
	return words.BadFile(err, "%s cannot be read: %w", path, words.Cause(err))
}
