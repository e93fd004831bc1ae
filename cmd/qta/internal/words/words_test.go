package words

import (
	"errors"
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
		"-out 'a":    "column 7: the quotation mark ' is not closed",
		`-out a\`:    "column 7: the backslash at the line's end quotes nothing",
		"-maze\x004": `column 6: character '\x00' is not allowed`,
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
