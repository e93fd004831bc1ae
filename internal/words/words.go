// Package words holds helpers for the texts of commands and pages: counts, quoted words of
// command lines, and errors, with a type for bad input.
package words

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// An InputError is a mistake in what the user gave.
type InputError struct{ error }

// Unwrap returns the error that the mistake came from.
func (e InputError) Unwrap() error { return e.error }

// BadInput returns an InputError.
func BadInput(format string, args ...any) error {
	return InputError{fmt.Errorf(format, args...)}
}

// BadFile returns an InputError about a file that the user named, if its name
// or content is wrong. Any other error of the system is the machine's fault,
// and trying again may succeed.
func BadFile(err error, format string, args ...any) error {
	ofInput := []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrPermission,
		syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR,
		syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
	}
	for _, input := range ofInput {
		if errors.Is(err, input) {
			return BadInput(format, args...)
		}
	}
	if errors.As(err, new(syscall.Errno)) {
		return fmt.Errorf(format, args...)
	}
	return BadInput(format, args...)
}

// The largest files that are read, in bytes.
const (
	MostText  = 64 << 20
	MostAgent = 16 << 30
)

// ReadFile reads a regular file of at most so many bytes. Other kinds of file, such as a
// pipe, may never begin or never end.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("it is larger than %d MB", most>>20)
	}
	return os.ReadFile(path)
}

// Cause returns the system's error behind a failed file operation, without the paths. The
// caller names the paths.
func Cause(err error) error {
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		return cause
	}
	return err
}

// Bare returns the text of err as one line, without the prefix that the
// library's errors have.
func Bare(err error) string { return Plain(strings.TrimPrefix(err.Error(), "qta: ")) }

// Text makes a text from anywhere safe to show in terminals, browsers and parsers. The
// result is valid UTF-8, and its only control characters are tabs and ends of lines. Lines
// end in "\n", even in templates that Git for Windows has checked out with "\r\n".
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		control := unicode.IsControl(r) && r != '\n' && r != '\t'
		if control || unicode.In(r, unicode.Bidi_Control, unicode.Noncharacter_Code_Point) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// Plain is [Text] on one line.
func Plain(text string) string {
	return Text(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text))
}

// CheckName refuses a name that would not be printed as it is.
func CheckName(name string) error {
	if Plain(name) != name {
		return BadInput("the name %q is not printable UTF-8; rename it", name)
	}
	return nil
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Shell quotes a word of a command line if necessary.
func Shell(s string) string {
	if regexp.MustCompile(`^[\w+=./:,-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
