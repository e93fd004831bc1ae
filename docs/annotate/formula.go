package main

import (
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode"
)

// This file turns the notation that formulas are written in into MathML:
//
//	letters and numbers       as they are; letters that stand together are one
//	                          name, set upright; so a product has spaces: m ε
//	_ and ^                   an index and an exponent: one sign, or {several}
//	'                         a prime
//	- * <- ... and others     operators; - and * become − and ·
//	frac{a}{b} sqrt{a}        a fraction, a root
//	tilde{s} bar{x}           an accent
//	text{of the reward}       words
//	cases{a & if b; c & d}    a case distinction, a row for each
//	Σ, min and max            have their limits below and above

// A formulaReader reads one formula.
type formulaReader struct {
	rest []rune
}

// formula returns a formula as a MathML element, displayed or in a line.
func formula(notation string, display bool) (string, error) {
	r := &formulaReader{rest: []rune(notation)}
	body, _, err := r.row("")
	if err != nil {
		return "", fmt.Errorf("formula %q: %w", notation, err)
	}
	block := ""
	if display {
		block = ` display="block"`
	}
	return fmt.Sprintf("<math%s>%s</math>", block, body), nil
}

// peek returns the next sign after spaces, or 0.
func (r *formulaReader) peek() rune {
	for len(r.rest) > 0 && r.rest[0] == ' ' {
		r.rest = r.rest[1:]
	}
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

// row reads up to one of the signs in ends, and over it, which it returns.
func (r *formulaReader) row(ends string) (text string, end rune, err error) {
	var b strings.Builder
	for {
		c := r.peek()
		switch {
		case c == 0 && ends == "":
			return b.String(), 0, nil
		case c == 0:
			return "", 0, fmt.Errorf("a %s is missing", ends)
		case strings.ContainsRune(ends, c):
			r.rest = r.rest[1:]
			return b.String(), c, nil
		}
		item, err := r.item()
		if err != nil {
			return "", 0, err
		}
		b.WriteString(item)
	}
}

// item reads one thing with what stands below and above it.
func (r *formulaReader) item() (string, error) {
	base, limits, err := r.base()
	if err != nil {
		return "", err
	}
	var below, above string
	for {
		switch c := r.peek(); c {
		case '\'':
			r.rest = r.rest[1:]
			base = element("mrow", base+`<mo lspace="0" rspace="0">′</mo>`) // small fonts lose it in an exponent
		case '_', '^':
			r.rest = r.rest[1:]
			script, _, err := r.base()
			if err != nil {
				return "", err
			}
			if c == '_' {
				below = script
			} else {
				above = script
			}
		default:
			return scripts(base, below, above, limits), nil
		}
	}
}

// scripts puts what stands below and above a base in their places.
func scripts(base, below, above string, limits bool) string {
	sub, sup, both := "msub", "msup", "msubsup"
	if limits {
		sub, sup, both = "munder", "mover", "munderover"
	}
	switch {
	case below == "" && above == "":
		return base
	case above == "":
		return element(sub, base+below)
	case below == "":
		return element(sup, base+above)
	}
	return element(both, base+below+above)
}

func element(name, content string) string { return "<" + name + ">" + content + "</" + name + ">" }

// base reads one thing and reports whether it has limits.
func (r *formulaReader) base() (text string, limits bool, err error) {
	c := r.peek()
	switch {
	case c == 0:
		return "", false, errors.New("it ends too early")
	case unicode.IsLetter(c) && c != 'Σ':
		return r.name()
	case unicode.IsDigit(c):
		return element("mn", r.take(func(c rune) bool { return unicode.IsDigit(c) || c == '.' })), false, nil
	}
	r.rest = r.rest[1:]
	switch c {
	case '{':
		text, _, err = r.row("}")
		return element("mrow", text), false, err
	case '(', '[', '⌊':
		text, end, err := r.row(map[rune]string{'(': ")", '[': ")]", '⌊': "⌋"}[c])
		return element("mrow", element("mo", string(c))+text+element("mo", string(end))), false, err
	case 'Σ':
		return "<mo>∑</mo>", true, nil
	case '|':
		return `<mo stretchy="false" lspace="0" rspace="0">|</mo>`, false, nil
	case '-':
		c = '−'
	case '*':
		c = '·'
	}
	return element("mo", html.EscapeString(string(c))), false, nil
}

// take reads the signs that belong to a word.
func (r *formulaReader) take(belongs func(rune) bool) string {
	n := 0
	for n < len(r.rest) && belongs(r.rest[n]) {
		n++
	}
	word := string(r.rest[:n])
	r.rest = r.rest[n:]
	return word
}

// name reads a letter, a word, or a form with its arguments.
func (r *formulaReader) name() (text string, limits bool, err error) {
	if r.rest[0] > unicode.MaxASCII {
		c := r.rest[0]
		r.rest = r.rest[1:]
		return element("mi", string(c)), false, nil
	}
	word := r.take(func(c rune) bool { return c <= unicode.MaxASCII && unicode.IsLetter(c) })
	switch word {
	case "frac":
		text, err = r.arguments(2)
		return element("mfrac", text), false, err
	case "sqrt":
		text, err = r.arguments(1)
		return element("msqrt", text), false, err
	case "tilde", "bar":
		text, err = r.arguments(1)
		accent := map[string]string{"tilde": "~", "bar": "¯"}[word]
		return `<mover accent="true">` + text + element("mo", accent) + "</mover>", false, err
	case "text":
		text, err = r.words()
		return text, false, err
	case "cases":
		text, err = r.cases()
		return text, false, err
	case "min", "max", "log", "ln", "exp", "tanh":
		space := ".17em"
		if c := r.peek(); c == '(' || c == '[' || c == '_' {
			space = "0"
		}
		limits = r.peek() == '_'
		return `<mo lspace="0" rspace="` + space + `" movablelimits="true">` + word + "</mo>", limits, nil
	}
	return element("mi", word), false, nil
}

// open reads over a brace.
func (r *formulaReader) open() error {
	if r.peek() != '{' {
		return fmt.Errorf("a { is missing before %q", string(r.rest))
	}
	r.rest = r.rest[1:]
	return nil
}

// arguments reads n groups in braces.
func (r *formulaReader) arguments(n int) (string, error) {
	var b strings.Builder
	for range n {
		if err := r.open(); err != nil {
			return "", err
		}
		text, _, err := r.row("}")
		if err != nil {
			return "", err
		}
		b.WriteString(element("mrow", text))
	}
	return b.String(), nil
}

// words reads a group in braces as it stands.
func (r *formulaReader) words() (string, error) {
	if err := r.open(); err != nil {
		return "", err
	}
	words := r.take(func(c rune) bool { return c != '}' })
	if r.peek() == 0 {
		return "", errors.New("a } is missing")
	}
	r.rest = r.rest[1:]
	return element("mtext", html.EscapeString(strings.ReplaceAll(words, " ", "\u00a0"))), nil
}

// cases reads the rows of a case distinction.
func (r *formulaReader) cases() (string, error) {
	if err := r.open(); err != nil {
		return "", err
	}
	var rows, cells strings.Builder
	for {
		cell, end, err := r.row("&;}")
		if err != nil {
			return "", err
		}
		cells.WriteString(element("mtd", cell))
		if end != '&' {
			rows.WriteString(element("mtr", cells.String()))
			cells.Reset()
		}
		if end == '}' {
			return element("mrow", `<mo stretchy="true">{</mo>`+element("mtable", rows.String())), nil
		}
	}
}
