package words

import (
	"errors"
	"fmt"
	"io/fs"
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

// TestMeant suggests what is one or two letters away, in whatever case.
func TestMeant(t *testing.T) {
	names := []string{"train", "status", "sweep", "-maze"}
	for name, want := range map[string]string{"tran": " (did you mean train?)", "-maz": " (did you mean -maze?)", "STATUS": " (did you mean status?)", "x": "", "report": ""} {
		if got := Meant(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
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
