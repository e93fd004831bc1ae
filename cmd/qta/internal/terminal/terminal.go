// Package terminal is what a person sees while something runs: lines that stay,
// and below them, on a terminal, lines that change. It has the progress of one
// run and the table of a sweep.
package terminal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"qta/cmd/qta/internal/words"
)

// An Output is where a command writes. Lines that change are not written where
// it is no terminal. It keeps the first error of writing.
type Output struct {
	w     io.Writer
	width func() int // of the terminal, in columns; nil where there is none
	shown []string   // the lines that change, on the screen
	err   error

	Failed func(error) // is told of the first error of writing; may be nil
}

// New returns an Output that writes to w.
func New(w io.Writer) *Output {
	o := &Output{w: w}
	if f, ok := w.(*os.File); ok {
		if _, is := columns(f); is {
			o.width = func() int { n, _ := columns(f); return n }
		}
	}
	return o
}

// Err returns the first error of writing.
func (o *Output) Err() error { return o.err }

// Live reports whether lines that change are shown.
func (o *Output) Live() bool { return o.width != nil }

// usualWidth is that of a terminal that does not say how wide it is.
const usualWidth = 80

// Width returns how many columns the terminal has, also when it was resized, or
// 80.
func (o *Output) Width() int {
	if o.width != nil {
		if n := o.width(); n > 0 {
			return n
		}
	}
	return usualWidth
}

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
		line = strings.Join(words.Wrap(line, o.Width()-1), "\n")
	}
	o.Clear()
	io.WriteString(o, line+"\n")
}

// Show replaces the lines that change. They are cut to the terminal, so that
// none is broken and nothing scrolls.
func (o *Output) Show(lines ...string) {
	if !o.Live() {
		return
	}
	var b bytes.Buffer
	o.erase(&b)
	for _, line := range lines {
		line = Cut(line, o.Width()-1)
		o.shown = append(o.shown, line)
		b.WriteString(line + "\n")
	}
	o.Write(b.Bytes())
}

// Clear takes the lines that change off the screen.
func (o *Output) Clear() {
	var b bytes.Buffer
	if o.erase(&b); b.Len() > 0 {
		o.Write(b.Bytes())
	}
}

// erase writes what takes the changing lines off. A terminal that has become
// narrower since they were written has broken them, as most do.
func (o *Output) erase(b *bytes.Buffer) {
	rows := 0
	for _, line := range o.shown {
		rows += max(1, (Columns(line)+o.Width()-1)/o.Width())
	}
	if rows > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r\x1b[J", rows)
	}
	o.shown = nil
}

// Columns returns how wide a text is on a terminal.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is rather too large: signs from Hangul on take two columns, or
// one.
func runeColumns(r rune) int {
	if r >= 0x1100 && r != '…' && r != '≤' {
		return 2
	}
	return 1
}

// Cut returns as much of a text as so many columns hold.
func Cut(text string, columns int) string {
	n := 0
	for i, r := range text {
		if n += runeColumns(r); n > columns {
			return text[:i]
		}
	}
	return text
}

// End returns the end of a text, where names differ, in so many columns.
func End(text string, columns int) string {
	if Columns(text) <= columns {
		return text
	}
	for Columns(text) > columns-1 && text != "" {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return Cut("…"+text, columns)
}

// fit joins the first parts that so many columns hold.
func fit(columns int, parts []string) string {
	for n := len(parts); n > 1; n-- {
		if line := strings.Join(parts[:n], ", "); Columns(line) <= columns {
			return line
		}
	}
	return strings.Join(slices.Clone(parts[:min(1, len(parts))]), "")
}
