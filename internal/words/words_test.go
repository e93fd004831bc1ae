package words

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qta/internal/roomtest"
)

// TestTexts tries the functions that turn one text into another on a few texts.
func TestTexts(t *testing.T) {
	bare := func(s string) string { return Bare(errors.New(s)) }
	for _, test := range []struct {
		of       func(string) string
		in, want string
	}{
		{bare, "qta: \"a\nb\r\nc\"", "\"a b  c\""},
		{bare, "map file qta: x.txt", "map file qta: x.txt"},
		{Plain, "4x5, ε ≥ 0", "4x5, ε ≥ 0"},
		{Plain, "a\x1b[2Jb\u009b31m\x00", "a\uFFFD[2Jb\uFFFD31m\uFFFD"},
		{Plain, "caf\xe9\u202e\ufffe \u2028", "caf\uFFFD\uFFFD\uFFFD  "},
		{Text, "a\n\tb\r\x1b\u2066", "a\n\tb\uFFFD\uFFFD\uFFFD"},
		{Text, "a\r\n\r\nb\r", "a\n\nb\uFFFD"},
		{Shell, "Batch=3", "Batch=3"},
		{Shell, "a b", "'a b'"},
		{Shell, "it's", `'it'\''s'`},
		{Shell, "", "''"},
	} {
		roomtest.Equal(t, fmt.Sprintf("%q", test.in), test.want, test.of(test.in))
	}
}

// A directory is no file to read, and neither is a file that is too large.
func TestReadFile(t *testing.T) {
	const most = 1 << 20
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	roomtest.Write(t, large, strings.Repeat("x", most+1))
	_, tooLarge := ReadFile(large, most)
	roomtest.Has(t, fmt.Sprint(tooLarge), "it is larger than 1 MB")
	_, noFile := ReadFile(dir, most)
	roomtest.Has(t, fmt.Sprint(noFile), "it is not a regular file")
}

// A file that is not there, or that has a wrong name or content, is the user's mistake.
// A full disk or another error of the machine is not.
func TestBadFile(t *testing.T) {
	for _, test := range []struct {
		err   error
		input bool
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, true},
		{fmt.Errorf("x: %w", syscall.ENOTDIR), true},
		{fmt.Errorf("x: %w", syscall.ENOSPC), false},
		{errors.New("it is larger than 64 MB"), true},
		{syscall.EACCES, true},
		{syscall.ENAMETOOLONG, true},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, false},
	} {
		err := BadFile(test.err, "file: %w", test.err)
		_, input := errors.AsType[InputError](err)
		roomtest.Equal(t, fmt.Sprintf("%v is bad input", test.err), test.input, input)
		roomtest.Equal(t, "the text", "file: "+test.err.Error(), err.Error())
	}
}
