package words

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBare(t *testing.T) {
	for text, want := range map[string]string{
		"qta: line 3":         "line 3",
		"line 3":              "line 3",
		"qta: \"a\nb\r\nc\"":  "\"a b  c\"",
		"map file qta: x.txt": "map file qta: x.txt",
	} {
		if got := Bare(errors.New(text)); got != want {
			t.Errorf("bare(%q) = %q, want %q", text, got, want)
		}
	}
}

// What others may have written does nothing to a terminal.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"4x5, ε ≥ 0":                    "4x5, ε ≥ 0",
		"a\x1b[2Jb\x1b]0;title\x07":     "a\uFFFD[2Jb\uFFFD]0;title\uFFFD",
		"a\u009b31mb":                   "a\uFFFD31mb",
		"a\x9b31mb":                     "a\uFFFD31mb",
		"one\r\ntwo\tthree\u2028four\v": "one  two three four ",
		"moc.elpmaxe\u202e":             "moc.elpmaxe\uFFFD",
		"\x00\x7f":                      "\uFFFD\uFFFD",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if _, err := Split("-out a\u009b31m"); err == nil || !strings.Contains(err.Error(), `character '\u009b' is not allowed`) {
		t.Errorf("a control character in a sweep: error %v", err)
	}
}

// A file that is not there is the user's mistake, a full disk is not.
func TestBadFile(t *testing.T) {
	for _, test := range []struct {
		err   error
		input bool
	}{
		{fs.ErrNotExist, true},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, true},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, true},
		{fmt.Errorf("x: %w", syscall.ENOTDIR), true},
		{errors.New("larger than 3 bytes"), true},
		{fmt.Errorf("x: %w", syscall.ENOSPC), false},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, false},
		{syscall.EMFILE, false},
	} {
		err := BadFile(test.err, "file: %w", test.err)
		if _, input := errors.AsType[InputError](err); input != test.input || err.Error() != "file: "+test.err.Error() {
			t.Errorf("%v: %q, bad input %t, want %t", test.err, err, input, test.input)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t # all of it", nil},
		{"-maze 4x5\t-seed  1 # a comment", []string{"-maze", "4x5", "-seed", "1"}},
		{`-out 'a b' "c'd" e\ f 'it'\''s' ""`, []string{"-out", "a b", "c'd", "e f", "it's", ""}},
		{"a#b '#' c\r\n", []string{"a#b", "#", "c"}},
		{" -maze\t\t4x5 \r\n", []string{"-maze", "4x5"}},
		{"a\u00a0b \u2003", []string{"a\u00a0b", "\u2003"}},
	} {
		got, err := Split(test.line)
		if err != nil {
			t.Errorf("%q: %v", test.line, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.line, diff)
		}
	}
	for line, want := range map[string]string{
		"-out 'a":      "column 7: the quotation mark ' is not closed",
		`-out a\`:      "column 7: the backslash at the line's end quotes nothing",
		"-maze\x004":   `column 6: character '\x00' is not allowed`,
		"a \xc2''\x94": "column 3: character '\ufffd' is not allowed",
	} {
		if _, err := Split(line); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
}

// TestShell quotes what a shell would change.
func TestShell(t *testing.T) {
	for word, want := range map[string]string{"4x5": "4x5", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "Batch=3": "Batch=3"} {
		if got := Shell(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  []string
	}{
		{"  two  words", 12, []string{"  two  words"}},
		{"  two  words", 11, []string{"two words"}},
		{"a bc def ghij", 4, []string{"a bc", "def", "ghij"}},
		{"a longerthanthat b", 4, []string{"a", "longerthanthat", "b"}},
		{"γγγ γγγ", 7, []string{"γγγ γγγ"}},
		{"", 4, []string{""}},
	} {
		if diff := cmp.Diff(test.want, Wrap(test.text, test.width)); diff != "" {
			t.Errorf("%q in %d (-want +got):\n%s", test.text, test.width, diff)
		}
	}
}
