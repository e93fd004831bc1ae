// Package files reads and writes the command's files. Every file that anyone
// may have written is read by Read; every file that is replaced is written by
// Write or WriteShared, and one that the command line names by Output.
//
// Others may write where these files are. So nothing is read or written but
// regular files, nothing is opened that could wait, and no link is followed in
// writing.
package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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

// Same reports whether two paths are of one file that exists.
func Same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// Read reads a file that anyone may have written. One of more than most bytes
// is an error.
func Read(path string, most int) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	larger := fmt.Errorf("larger than %d bytes", most)
	if info, err := f.Stat(); err != nil {
		return nil, words.Cause(err)
	} else if info.Size() > int64(most) {
		return nil, larger
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1)) // it may grow
	if err != nil {
		return nil, words.Cause(err)
	}
	if len(data) > most {
		return nil, larger
	}
	return data, nil
}

// ReadText is Read of a text that a person has written. The mark with which some
// editors begin UTF-8 is left out.
func ReadText(path string, most int) (string, error) {
	data, err := Read(path, most)
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		err = errors.New("it is UTF-16; save it as UTF-8")
	}
	return strings.TrimPrefix(string(data), "\ufeff"), err
}

// ReadEnd reads the last n bytes of a file.
func ReadEnd(path string, n int) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end := make([]byte, n)
	if _, err := f.Seek(-int64(n), io.SeekEnd); err != nil {
		return nil, fmt.Errorf("shorter than %d bytes", n)
	}
	if _, err := io.ReadFull(f, end); err != nil {
		return nil, words.Cause(err)
	}
	return end, nil
}

// openRegular opens a regular file to read it.
func openRegular(path string) (*os.File, error) {
	return checked(os.OpenFile(path, os.O_RDONLY|nonblocking, 0))
}

// checked closes a file that was opened and is not a regular one.
func checked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, words.Cause(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, words.Cause(err)
	}
	return f, nil
}

// regular returns an error that says what a file is unless it is a regular one.
func regular(info fs.FileInfo) error {
	for _, kind := range []struct {
		mode fs.FileMode
		name string
	}{{fs.ModeDir, "directory"}, {fs.ModeSymlink, "link"}, {fs.ModeNamedPipe, "FIFO"}, {fs.ModeSocket, "socket"}, {fs.ModeDevice, "device"}, {fs.ModeType, "special file"}} {
		if info.Mode()&kind.mode != 0 {
			return fmt.Errorf("it is a %s, not a regular file", kind.name)
		}
	}
	return nil
}

// Free returns an error unless a regular file, or nothing, is in the place of a
// file to write.
func Free(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return regular(info)
}

// Open opens a file to write in its place, which needs a lock or more rows: a
// regular one, or with os.O_CREATE a new one.
func Open(path string, flag int) (*os.File, error) {
	if err := Free(path); err != nil {
		return nil, words.Cause(err)
	}
	return checked(os.OpenFile(path, flag|nonblocking|noFollow, 0o666))
}

// Write writes a file beside its place and renames it, so that a reader sees the
// old or the new content whatever happens. A durable one is also safe from a
// loss of power. Of two processes that write the same file at the same time one
// may fail.
func Write(path string, data []byte, durable bool) error {
	return replace(path, data, durable, func() (*os.File, error) {
		if info, err := os.Lstat(path + Temporary); err == nil && !info.IsDir() {
			os.Remove(path + Temporary) // of a process that was killed; else the next line fails
		}
		return os.OpenFile(path+Temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	})
}

// Output writes a file that the command line names. What is no file but takes
// what is written to it, as /dev/stdout does, a terminal or a FIFO, is written
// to and not replaced; through says so.
func Output(path string, data []byte) (through bool, err error) {
	f, err := outlet(path)
	if f == nil && err == nil {
		return false, WriteShared(path, data)
	}
	if err == nil {
		_, err = f.Write(data)
		if f != os.Stdout && f != os.Stderr {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be written: %w", path, words.Cause(err))
	}
	return true, err
}

// outlet opens what a path names if it is to be written to, or returns nil.
func outlet(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil // Write says what is wrong with it
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := f.Stat(); err == nil && os.SameFile(info, open) {
			return f, nil
		}
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return nil, nil
	}
	return os.OpenFile(path, os.O_WRONLY|nonblocking, 0)
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
// time, and beside which anyone may keep files.
func WriteShared(path string, data []byte) error {
	return replace(path, data, false, func() (*os.File, error) {
		return os.OpenFile(fmt.Sprintf("%s.%d%s", path, rand.Uint64(), Temporary), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	})
}

// replace writes a file that create makes, and renames it.
func replace(path string, data []byte, durable bool, create func() (*os.File, error)) error {
	var f *os.File
	err := Free(path)
	if err == nil {
		f, err = create()
	}
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

// CSV returns rows as CSV. A text that a spreadsheet would take for a formula is
// marked as a text, by the apostrophe that spreadsheets have for it.
func CSV(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	var plain []string
	for _, row := range rows {
		plain = plain[:0]
		for _, text := range row {
			text = words.Plain(text)
			if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
				if _, err := strconv.ParseFloat(text, 64); err != nil {
					text = "'" + text
				}
			}
			plain = append(plain, text)
		}
		w.Write(plain) // a bytes.Buffer does not fail
	}
	w.Flush()
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
