// Package words has what the texts of the command share: counts, the words of
// command lines, and errors, of which mistakes in the input are a kind of their
// own.
package words

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// An InputError is a mistake in what the user gave.
type InputError struct{ error }

// BadInput returns an InputError.
func BadInput(format string, args ...any) error {
	return InputError{fmt.Errorf(format, args...)}
}

// BadFile returns an InputError about a file that the user has named, unless err
// is the fault of the machine, such as a full disk: who tries again then may
// succeed.
func BadFile(err error, format string, args ...any) error {
	what := fmt.Errorf(format, args...)
	if _, system := errors.AsType[syscall.Errno](err); system {
		users := []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL, syscall.ENXIO}
		if !slices.ContainsFunc(users, func(fault error) bool { return errors.Is(err, fault) }) {
			return what
		}
	}
	return InputError{what}
}

// Bare returns the text of err as one line, without the prefix that the
// library's errors have.
func Bare(err error) string { return Plain(strings.TrimPrefix(err.Error(), "qta: ")) }

// Plain returns a text that others may have written as one line with which a
// terminal does nothing but show it.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// Cause returns what is behind an error of a file operation, whose path the
// caller names.
func Cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Shell quotes a word of a command line where it needs that.
func Shell(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-+=./:,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Wrap breaks a text between words into lines of at most so many characters,
// unless a word is longer. A text that fits stays as it is.
func Wrap(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Meant returns a question after the nearest of some names, if one is near.
func Meant(name string, names []string) string {
	best, least := "", 3
	for _, other := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(other)); d < least && d < len(name)-1 {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance returns how many letters to insert, leave out or change make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
