package main

import (
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

// A formulaReader reads what is left of one formula. What is wrong with it is a
// panic with a formulaError, which formula returns.
type formulaReader struct{ rest []rune }

type formulaError string

// formula returns a formula as a MathML element, displayed or in a line.
func formula(notation string, display bool) (text string, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case formulaError:
			err = fmt.Errorf("formula %q: %s", notation, e)
		default:
			panic(e)
		}
	}()
	r := &formulaReader{[]rune(notation)}
	body, _ := r.row("")
	block := ""
	if display {
		block = ` display="block"`
	}
	return fmt.Sprintf("<math%s>%s</math>", block, body), nil
}

// peek returns the next sign after spaces, or 0.
func (r *formulaReader) peek() rune {
	r.take(func(c rune) bool { return c == ' ' })
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
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

// expect reads over one of some signs, and returns which.
func (r *formulaReader) expect(signs string) rune {
	c := r.peek()
	if c == 0 || !strings.ContainsRune(signs, c) {
		panic(formulaError("a " + signs + " is missing before \"" + string(r.rest) + "\""))
	}
	r.rest = r.rest[1:]
	return c
}

// row reads up to one of the signs in ends, and over it, which it returns.
func (r *formulaReader) row(ends string) (string, rune) {
	var b strings.Builder
	for {
		c := r.peek()
		if c == 0 && ends == "" {
			return b.String(), 0
		} else if c == 0 || strings.ContainsRune(ends, c) {
			return b.String(), r.expect(ends)
		}
		b.WriteString(r.item())
	}
}

// item reads one thing with what stands below and above it.
func (r *formulaReader) item() string {
	base, limits := r.base()
	names := []string{"msub", "msup", "msubsup"}
	if limits {
		names = []string{"munder", "mover", "munderover"}
	}
	var scripts [2]string
	which := 0
	for {
		switch c := r.peek(); c {
		case '\'':
			r.rest = r.rest[1:]
			base = element("mrow", base+`<mo lspace="0" rspace="0">′</mo>`) // small fonts lose it in an exponent
		case '_', '^':
			r.rest = r.rest[1:]
			k := strings.IndexRune("_^", c)
			scripts[k], _ = r.base()
			which |= k + 1
		default:
			if which == 0 {
				return base
			}
			return element(names[which-1], base+scripts[0]+scripts[1])
		}
	}
}

func element(name, content string) string { return "<" + name + ">" + content + "</" + name + ">" }

// base reads one thing and reports whether it has limits.
func (r *formulaReader) base() (text string, limits bool) {
	c := r.peek()
	switch {
	case c == 0:
		panic(formulaError("it ends too early"))
	case unicode.IsLetter(c) && c <= unicode.MaxASCII:
		return r.name()
	case unicode.IsDigit(c):
		return element("mn", r.take(func(c rune) bool { return unicode.IsDigit(c) || c == '.' })), false
	}
	r.rest = r.rest[1:]
	switch c {
	case '{':
		text, _ = r.row("}")
		return element("mrow", text), false
	case '(', '[', '⌊':
		text, end := r.row(map[rune]string{'(': ")", '[': ")]", '⌊': "⌋"}[c])
		return element("mrow", element("mo", string(c))+text+element("mo", string(end))), false
	case 'Σ':
		return "<mo>∑</mo>", true
	case '|':
		return `<mo stretchy="false" lspace="0" rspace="0">|</mo>`, false
	case '-':
		c = '−'
	case '*':
		c = '·'
	}
	if unicode.IsLetter(c) {
		return element("mi", string(c)), false
	}
	return element("mo", html.EscapeString(string(c))), false
}

// name reads a word, or a form with its arguments.
func (r *formulaReader) name() (text string, limits bool) {
	word := r.take(func(c rune) bool { return c <= unicode.MaxASCII && unicode.IsLetter(c) })
	switch word {
	case "frac":
		return element("mfrac", r.argument()+r.argument()), false
	case "sqrt":
		return element("msqrt", r.argument()), false
	case "tilde":
		return `<mover accent="true">` + r.argument() + "<mo>~</mo></mover>", false
	case "bar":
		return `<mover accent="true">` + r.argument() + "<mo>¯</mo></mover>", false
	case "text":
		r.expect("{")
		words := r.take(func(c rune) bool { return c != '}' })
		r.expect("}")
		return element("mtext", html.EscapeString(strings.ReplaceAll(words, " ", "\u00a0"))), false
	case "cases":
		return r.cases(), false
	case "min", "max", "log", "ln", "exp", "tanh":
		space, c := ".17em", r.peek()
		if c == '(' || c == '[' || c == '_' {
			space = "0"
		}
		return `<mo lspace="0" rspace="` + space + `" movablelimits="true">` + word + "</mo>", c == '_'
	}
	return element("mi", word), false
}

// argument reads a group in braces.
func (r *formulaReader) argument() string {
	r.expect("{")
	text, _ := r.row("}")
	return element("mrow", text)
}

// cases reads the rows of a case distinction.
func (r *formulaReader) cases() string {
	r.expect("{")
	var rows, cells string
	for {
		cell, end := r.row("&;}")
		cells += element("mtd", cell)
		if end != '&' {
			rows, cells = rows+element("mtr", cells), ""
		}
		if end == '}' {
			return element("mrow", `<mo stretchy="true">{</mo>`+element("mtable", rows))
		}
	}
}
