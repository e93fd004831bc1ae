// Package files reads and writes the files that a command line names, and CSV.
// A run's own files are package lab's.
package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"qta/internal/words"
)

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

// Read reads a regular file that anyone may have written. One of more than most
// bytes is an error.
func Read(path string, most int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, words.Cause(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
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

// ReadText is Read of a text that a person has written. The mark with which some
// editors begin UTF-8 is left out.
func ReadText(path string, most int) (string, error) {
	data, err := Read(path, most)
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		err = errors.New("it is UTF-16; save it as UTF-8")
	}
	return strings.TrimPrefix(string(data), "\ufeff"), err
}

// Output writes a file that the command line names: beside its place and then
// renamed, so that a reader sees the old or the new content. What is no file but
// takes what is written to it, as /dev/stdout does or a FIFO, is written to and not
// replaced; through says so.
func Output(path string, data []byte) (through bool, err error) {
	if info, e := os.Stat(path); e == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0 || sameAsStdout(info) {
		through = true
		err = os.WriteFile(path, data, 0)
	} else {
		err = write(path, data)
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be written: %w", path, words.Cause(err))
	}
	return through, err
}

func sameAsStdout(info os.FileInfo) bool {
	out, err := os.Stdout.Stat()
	return err == nil && info != nil && os.SameFile(info, out)
}

// write writes a file beside its place and renames it.
func write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// CSV returns rows as CSV. A text that a spreadsheet would take for a formula is
// marked as a text, by the apostrophe that spreadsheets have for it.
func CSV(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range rows {
		plain := make([]string, len(row))
		for i, text := range row {
			plain[i] = words.Plain(text)
			if _, err := strconv.ParseFloat(text, 64); err != nil && text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
				plain[i] = "'" + plain[i]
			}
		}
		w.Write(plain) // a bytes.Buffer does not fail
	}
	w.Flush()
	return b.Bytes()
}

// Rows returns the rows of CSV, which have to be of the same length.
func Rows(data []byte) ([][]string, error) {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err == nil && !bytes.HasSuffix(data, []byte("\n")) {
		err = errors.New("the last line is cut off")
	}
	return rows, err
}
