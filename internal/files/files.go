// Package files reads and writes the files that a command line names, and CSV.
// A run's own files are package lab's.
package files

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
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

// ReadText reads a text that a person has written. The mark with which some
// editors begin UTF-8 is left out.
func ReadText(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimPrefix(string(data), "\ufeff"), words.Cause(err)
}

// Output writes a file that the command line names. through says that it is no
// file but passes on what is written to it, as /dev/stdout does or a FIFO.
func Output(path string, data []byte) (through bool, err error) {
	if err := os.WriteFile(path, data, 0o666); err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", path, words.Cause(err))
	}
	info, err := os.Stat(path)
	out, _ := os.Stdout.Stat()
	return err == nil && (!info.Mode().IsRegular() || os.SameFile(info, out)), nil
}

// CSV returns rows as CSV.
func CSV(rows [][]string) []byte {
	var b bytes.Buffer
	csv.NewWriter(&b).WriteAll(rows) // a bytes.Buffer does not fail
	return b.Bytes()
}
