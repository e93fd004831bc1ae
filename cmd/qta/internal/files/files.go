// Package files reads and writes the command's files. Every file that anyone
// may have written is read by Read, and every file that is replaced is written
// by Write or WriteShared.
package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"qta/cmd/qta/internal/words"
)

// Temporary ends the name of a file that is being written.
const Temporary = ".tmp"

// A File is a file to write.
type File struct {
	Name string
	Data []byte
}

// Exists reports whether there is something with this path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Read reads a file that anyone may have written. One of more than most bytes
// is an error.
func Read(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, words.Cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("larger than %d bytes", most)
	}
	return data, words.Cause(err)
}

// Write writes a file beside its place and renames it, so that a reader sees the
// old or the new content whatever happens. A durable one is also safe from a
// loss of power. Of two processes that write the same file at the same time one
// may fail.
func Write(path string, data []byte, durable bool) error {
	f, err := os.Create(path + Temporary)
	return replace(f, err, path, data, durable)
}

// WriteAll writes files into a directory.
func WriteAll(dir string, list []File) error {
	for _, f := range list {
		if err := Write(filepath.Join(dir, f.Name), f.Data, false); err != nil {
			return err
		}
	}
	return nil
}

// WriteShared is Write for a file that many processes may write at the same
// time.
func WriteShared(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+Temporary)
	if err == nil {
		err = f.Chmod(0o644)
	}
	return replace(f, err, path, data, false)
}

// replace writes f, unless opening it was an error, and renames it.
func replace(f *os.File, err error, path string, data []byte, durable bool) error {
	if f != nil {
		if err == nil {
			_, err = f.Write(data)
		}
		if durable && err == nil {
			err = f.Sync()
		}
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, words.Cause(err))
	}
	if durable {
		// Some systems cannot sync a directory; the rename is then as durable
		// as they make it.
		if d, err := os.Open(filepath.Dir(path)); err == nil {
			d.Sync()
			d.Close()
		}
	}
	return nil
}

// CSV returns rows as CSV.
func CSV(rows [][]string) []byte {
	var b bytes.Buffer
	csv.NewWriter(&b).WriteAll(rows) // a bytes.Buffer does not fail
	return b.Bytes()
}

// Rows returns the rows of CSV, of which every line is one, and all have as
// many columns.
func Rows(data []byte) ([][]string, error) {
	lines := bytes.Count(data, []byte("\n"))
	if !bytes.HasSuffix(data, []byte("\n")) {
		return nil, fmt.Errorf("line %d is cut off", lines+1)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	for i, row := range rows {
		if want := len(rows[0]); len(row) != want {
			return nil, fmt.Errorf("line %d: %d columns, want %d", i+1, len(row), want)
		}
	}
	if err == nil && len(rows) < lines {
		err = errors.New("a line is empty")
	}
	return rows, err
}
