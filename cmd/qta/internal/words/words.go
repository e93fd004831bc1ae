// Package words has what the texts of the command share: counts, the words of
// command lines, and errors, of which mistakes in the input are a kind of their
// own.
package words

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An InputError is a mistake in what the user gave.
type InputError struct{ error }

// BadInput returns an InputError.
func BadInput(format string, args ...any) error {
	return InputError{fmt.Errorf(format, args...)}
}

// Bare returns the text of err as one line, without the prefix that the
// library's errors have.
func Bare(err error) string {
	text := strings.TrimPrefix(err.Error(), "qta: ")
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
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

// Split splits a line at blanks. A word may be quoted as in a shell: by
// '...', "..." or a backslash before a character.
func Split(line string) ([]string, error) {
	var words []string
	var word []byte
	inWord := false
	quote := byte(0)
	line = strings.TrimRight(line, "\r\n")
	if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		return nil, fmt.Errorf("column %d: character %q is not allowed", i+1, line[i])
	}
	if line != "" && !strings.ContainsAny(line, "'\"\\#") { // a shorter way to the same, for sweeps of many lines
		return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }), nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				words, word, inWord = append(words, string(word)), nil, false
			}
			continue
		case quote == 0 && c == '#' && !inWord:
			return words, nil
		case c == '\\' && quote != '\'':
			if i++; i == len(line) {
				return nil, fmt.Errorf("column %d: the backslash at the line's end quotes nothing", i)
			}
			word = append(word, line[i])
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			word = append(word, c)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("column %d: the quotation mark %c is not closed", len(line), quote)
	}
	if inWord {
		words = append(words, string(word))
	}
	return words, nil
}

// Wrap breaks a text between words into lines of at most so many characters,
// unless a word is longer. A text that fits stays as it is.
func Wrap(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
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
