// Package terminal is what a person sees while something runs: lines that stay,
// and on a terminal one line below them that changes.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"qta/internal/words"
)

// An Output is where a command writes. It keeps the first error of writing.
type Output struct {
	w     io.Writer
	width func() int // of the terminal, in columns; nil where there is none
	shown bool       // a line that changes is on the screen
	err   error

	Failed func(error) // is told of the first error of writing; may be nil
}

// New returns an Output that writes to w.
func New(w io.Writer) *Output {
	o := &Output{w: w}
	if f, ok := w.(*os.File); ok {
		if _, is := columns(f); is {
			o.width = func() int { n, _ := columns(f); return cmp.Or(n, 80) }
		}
	}
	return o
}

// Err returns the first error of writing.
func (o *Output) Err() error { return o.err }

// Live reports whether a line that changes is shown.
func (o *Output) Live() bool { return o.width != nil }

// Write writes as it stands. Its error is always the first.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err != nil {
		return n, o.err
	}
	if o.err = cmp.Or(o.err, err); err != nil && o.Failed != nil {
		o.Failed(err)
	}
	return n, err
}

// Say writes a line that stays, on a terminal broken between words.
func (o *Output) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if o.Live() {
		line = strings.Join(words.Wrap(line, o.width()-1), "\n")
	}
	o.Clear()
	io.WriteString(o, line+"\n")
}

// Show replaces the line that changes, cut to the terminal. Without a terminal it
// does nothing.
func (o *Output) Show(line string) {
	if !o.Live() {
		return
	}
	if n := max(o.width()-1, 0); utf8.RuneCountInString(line) > n {
		line = string([]rune(line)[:n])
	}
	io.WriteString(o, "\r\x1b[K"+line)
	o.shown = true
}

// Clear takes the line that changes off the screen.
func (o *Output) Clear() {
	if o.shown {
		io.WriteString(o, "\r\x1b[K")
		o.shown = false
	}
}
