package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

// This file holds a run's files to each other: run.json to its own checksum, the
// files of a run that has come to an end to their digests in run.json, and its
// log to its outcome.

// Made lists the files that can be made again, with the same bytes, of an agent
// and what is kept of its past.
func Made() []string { return []string{LogFile, CurveFile, Figure5File, FilmFile} }

// digested lists the files that a record has digests of. The page is none of
// them: it names the machine, and equal runs have equal digests.
func digested() []string { return append(Made(), Figure5Store, FilmStore, AgentFile) }

// Digests returns the digests of a run directory's files, as far as they are
// there.
func Digests(dir string) (map[string]string, error) {
	digests := map[string]string{}
	for _, name := range digested() {
		d, err := digest(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, name), err)
		}
		digests[name] = d
	}
	return digests, nil
}

// digest returns a file's SHA-256. That of an agent, which may be large, is the
// one that it ends in: who loads it holds it to that.
func digest(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if name == AgentFile {
		sum, err := files.ReadEnd(path, sha256.Size)
		return hex.EncodeToString(sum), err
	}
	data, err := files.Read(path, MaxFigure5) // no other is larger
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// Strange returns an error if a file in a run's directory is another than the
// one that the run came to its end with, as far as the record knows. A file that
// is not there is none.
func (r *Record) Strange(dir, name string) error {
	if r.Outcome == nil || r.Outcome.Files[name] == "" {
		return nil
	}
	switch d, err := digest(dir, name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case d != r.Outcome.Files[name]:
		return errors.New("it is not the one that the run came to its end with, by its digest in " + RecordFile)
	}
	return nil
}

// ReadStore hands to decode what a file in a run's directory holds, if it is
// there. It returns an error if the file cannot be used: it cannot be read, is
// larger than most bytes, does not decode, or is Strange.
func (r *Record) ReadStore(dir, name string, most int, decode func([]byte) error) error {
	path := filepath.Join(dir, name)
	data, err := files.Read(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if err := decode(data); err != nil {
		return words.BadInput("%s is damaged: %w", path, err)
	}
	if err := r.Strange(dir, name); err != nil {
		return words.BadInput("%s: %w", path, err)
	}
	return nil
}

// Complete reports whether a run that has ended has all of its files, as it left
// them.
func (r *Record) Complete(dir string) bool {
	for _, name := range digested() {
		if r.Strange(dir, name) != nil {
			return false
		}
	}
	for _, name := range append(Made(), Figure5Store, FilmStore, PageFile) {
		if !files.Exists(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

// contradicts returns an error if a log is not that of a record's outcome.
func (r *Record) contradicts(rows []Row) error {
	o := r.Outcome
	if o == nil || r.State != Solved && r.State != Finished {
		return nil
	}
	every := r.Run.EvalEvery
	if n := o.Steps / every; len(rows) != n {
		return fmt.Errorf("it has %d rows, where %d steps, by %s, make %d", len(rows), o.Steps, RecordFile, n)
	}
	for i, row := range rows {
		if want := (i + 1) * every; row.Step != want {
			return fmt.Errorf("line %d: step %d, want %d, by eval_every in %s", i+2, row.Step, want, RecordFile)
		}
	}
	if at := FirstAt(rows, 1); at != o.SolvedAt {
		return fmt.Errorf("its first perfect evaluation is at step %d, that in %s at step %d", at, RecordFile, o.SolvedAt)
	}
	return nil
}

// The last line of run.json is its checksum: the SHA-256 of the text without that
// line.
const (
	checksumBefore = ",\n\t\"sha256\": \""
	checksumAfter  = "\"\n}\n"
	recordEnd      = "\n}\n" // without one
)

// withChecksum puts the checksum at the end of a record's text.
func withChecksum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return fmt.Appendf(bytes.TrimSuffix(text, []byte(recordEnd)), "%s%x%s", checksumBefore, sum, checksumAfter)
}

// checkChecksum returns an error if the text of a record that has a checksum has
// another one.
func checkChecksum(text []byte) error {
	body, sum, ok := strings.Cut(string(text), checksumBefore)
	if !ok || string(withChecksum([]byte(body+recordEnd))) != string(text) {
		return fmt.Errorf("its checksum, %.8s..., is not that of the text", sum)
	}
	return nil
}
