package qta

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// This file keeps checkpoints in files, so that whatever fails there is a whole
// one, in directories to which others may write too: nothing is read or written
// but regular files, and no link is followed in writing.

// What [Agent.SaveFile] appends to a checkpoint's name.
const (
	Previous = ".previous" // for the one before the newest
	Damaged  = ".damaged"  // for the latest that was found damaged
)

// SaveFile writes the agent's whole state to path, in such a way that at every
// moment, whatever fails, path or path+[Previous] is a whole checkpoint once
// there has been one: it is written beside the old one, synced, the old one is
// renamed to path+[Previous], and the new one to path. An old one that is
// damaged does not take the place of the one before it; it is renamed to
// path+[Damaged]. One that cannot be read or has another format is an error,
// and stays: it may be all that there is of an agent.
func (a *Agent) SaveFile(path string) error {
	data, err := a.MarshalBinary()
	if err != nil {
		return err
	}
	aside, err := placeOfOld(path)
	if err != nil {
		return fmt.Errorf("qta: checkpoint not replaced: %w", err)
	}
	temporary := path + ".tmp"
	if err := writeSynced(temporary, data); err != nil {
		os.Remove(temporary)
		return fmt.Errorf("qta: checkpoint not written: %w", err)
	}
	if aside != "" {
		err = os.Rename(path, aside)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("qta: checkpoint not replaced: %w", err)
	}
	if directory, err := os.Open(filepath.Dir(path)); err == nil {
		// Not every system can sync a directory; there the renames may be lost
		// in a power failure, and an older whole checkpoint is found.
		directory.Sync()
		directory.Close()
	}
	return nil
}

// placeOfOld returns where the file at path goes before another takes its place,
// or "" if there is none.
func placeOfOld(path string) (string, error) {
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, _, err := openWhole(path)
	switch {
	case err == nil:
		f.Close()
		return path + Previous, nil
	case isDamage(err):
		return path + Damaged, nil
	}
	return "", err
}

// writeSynced writes a file and waits until it is on the disk. What is in its
// place, as an earlier process may have left it, is removed: were it written to,
// a link would be followed.
func writeSynced(path string, data []byte) error {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		os.Remove(path) // else the next line fails
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// LoadFile reads an agent that [Agent.SaveFile] wrote, to be used or to be
// trained further. If the file at path is missing or damaged and the one before
// it is whole, that one is loaded, and damage says what is wrong with the
// newest. Otherwise err says why, and wraps [fs.ErrNotExist] where neither file
// exists. A file that cannot be read, or has another format, is not damaged:
// for that no older one is loaded.
func LoadFile(path string) (a *Agent, damage, err error) {
	a, newest := loadOne(path)
	if newest == nil {
		return a, nil, nil
	}
	if !errors.Is(newest, fs.ErrNotExist) && !isDamage(newest) {
		return nil, nil, newest
	}
	a, err = loadOne(path + Previous)
	switch {
	case err == nil:
		return a, newest, nil
	case errors.Is(newest, fs.ErrNotExist) && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	default:
		return nil, nil, newest
	}
}

func loadOne(path string) (*Agent, error) {
	f, size, err := openWhole(path)
	if err != nil {
		return nil, fmt.Errorf("qta: checkpoint: %w", err)
	}
	defer f.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("qta: checkpoint: %w", err)
	}
	a := new(Agent)
	if err := a.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("qta: checkpoint: %w", &damage{path, err})
	}
	return a, nil
}

// openWhole opens a checkpoint after it has read it, in little memory, and found
// it whole and of this format. It returns its size.
func openWhole(path string) (f *os.File, size int, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && info.Size() > math.MaxInt {
		err = fmt.Errorf("%s is larger than memory can be", path)
	}
	if err == nil {
		size = int(info.Size())
		err = checkWhole(f, size)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

// checkWhole returns an error unless a file of some size holds a whole checkpoint
// of this format, and goes back to its beginning.
func checkWhole(f *os.File, size int) error {
	begin := make([]byte, min(size, agentKind.header()+sha256.Size))
	if _, err := io.ReadFull(f, begin); err != nil {
		return err
	}
	wrong := agentKind.checkBeginning(begin)
	if _, other := wrong.(*formatError); wrong != nil && !other {
		return &damage{f.Name(), wrong}
	}
	h, sum := sha256.New(), make([]byte, sha256.Size)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyN(h, f, int64(size-sha256.Size)); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, sum); err != nil {
		return err
	}
	if !bytes.Equal(sum, h.Sum(nil)) {
		return &damage{f.Name(), errChecksum}
	}
	if wrong != nil {
		return fmt.Errorf("%s: %w", f.Name(), wrong)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// A damage is what is wrong with the content of a file that was read.
type damage struct {
	path string
	err  error
}

func (e *damage) Error() string {
	return e.path + ": " + strings.TrimPrefix(strings.TrimPrefix(e.err.Error(), "qta: "), "checkpoint: ")
}

func (e *damage) Unwrap() error { return e.err }

func isDamage(err error) bool {
	_, ok := errors.AsType[*damage](err)
	return ok
}
