package main

import (
	"fmt"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// This file reads the passages, docs/annotated.txt, whose head says how they
// are written.

// A section is one of the paper's.
type section struct {
	Number, Title string
	Passages      []*passage
}

// A passage is what the page says of one passage of the paper, and what of the
// package belongs to it.
type passage struct {
	Title    string
	ID       string
	Section  *section
	Blocks   []block
	Symbols  []symbol
	Code     []*shown // the declarations that implement it
	Also     []*shown // and those that help, folded
	Params   []*parameter
	Formulas []template.HTML // in a line
	Equation int             // that it is about, or 0
	Home     *declaration    // of that equation
	Golden   []string        // the vectors of that equation
	Worked   string          // numbers of its vectors beside the code's

	line       int // in the file
	code, also []string
	params     []string
	rows       []string
	says       []saying
}

// A block is a paragraph or a displayed formula.
type block struct {
	Text    template.HTML
	Formula bool
}

// A symbol is one of a formula's, with its name in the code.
type symbol struct{ Symbol, Meaning, Code template.HTML }

// A saying is what the text says where the package had to choose.
type saying struct {
	at     int
	names  []string // declarations or parameters
	params []string // that decide it
	text   string
}

// fault returns what is wrong with a line of a file as an error.
func fault(file string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
}

var (
	field = regexp.MustCompile(`^(formula|symbol|code|also|params|rows|says [^:]*): +(.*)$`)
	says  = regexp.MustCompile(`^says ([\w., ]+?)(?: \(([\w, ]+)\))?$`)
)

// readText reads the passages of the repository in a directory, and the
// functions that the page opens with.
func readText(root string) (sections []*section, walks []*walk, err error) {
	text, err := os.ReadFile(filepath.Join(root, textFile))
	if err != nil {
		return nil, nil, err
	}
	var p *passage
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			p.Blocks = append(p.Blocks, block{Text: template.HTML(strings.Join(paragraph, " "))})
		}
		paragraph = nil
	}
	for i, l := range strings.Split(string(text), "\n") {
		at := i + 1
		title, isSection := strings.CutPrefix(l, "== ")
		name, isPassage := strings.CutPrefix(l, "-- ")
		m := field.FindStringSubmatch(l)
		switch {
		case strings.HasPrefix(l, "//"):
		case isSection:
			flush()
			number, title, _ := strings.Cut(title, " ")
			sections, p = append(sections, &section{Number: number, Title: title}), nil
		case isPassage:
			flush()
			if len(sections) == 0 {
				return nil, nil, fault(textFile, at, "a passage before the first section")
			}
			s := sections[len(sections)-1]
			p = &passage{Title: name, ID: "p-" + slug(name), Section: s, line: at}
			s.Passages = append(s.Passages, p)
		case l == "":
			flush()
		case len(sections) == 0:
			if walks, err = readWalk(walks, l, at); err != nil {
				return nil, nil, err
			}
		case p == nil:
			return nil, nil, fault(textFile, at, "%q is in no passage", l)
		case m != nil:
			flush()
			if err := p.set(m[1], m[2], at); err != nil {
				return nil, nil, fault(textFile, at, "%v", err)
			}
		default:
			paragraph = append(paragraph, l)
		}
	}
	flush()
	return sections, walks, nil
}

// set takes over one line with a keyword.
func (p *passage) set(key, value string, at int) error {
	switch key {
	case "formula":
		display, err := formula(value, true)
		if err != nil {
			return err
		}
		inline, _ := formula(value, false)
		p.Blocks = append(p.Blocks, block{template.HTML(display), true})
		p.Formulas = append(p.Formulas, template.HTML(inline))
	case "symbol":
		parts := strings.Split(value, " | ")
		if len(parts) != 3 {
			return fmt.Errorf("want symbol: SYMBOL | MEANING | CODE")
		}
		math, err := formula(parts[0], false)
		if err != nil {
			return err
		}
		p.Symbols = append(p.Symbols, symbol{template.HTML(math), template.HTML(parts[1]), template.HTML(parts[2])})
	case "code":
		p.code = append(p.code, strings.Split(value, ", ")...)
	case "also":
		p.also = append(p.also, strings.Split(value, ", ")...)
	case "params":
		p.params = append(p.params, strings.Split(value, ", ")...)
	case "rows":
		p.rows = append(p.rows, strings.Split(value, "; ")...)
	default:
		m := says.FindStringSubmatch(key)
		if m == nil {
			return fmt.Errorf("want says NAME: TEXT, or says NAME (PARAMETER): TEXT")
		}
		s := saying{at: at, names: strings.Split(m[1], ", "), text: value}
		if m[2] != "" {
			s.params = strings.Split(m[2], ", ")
		}
		p.says = append(p.says, s)
	}
	return nil
}

func slug(title string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(title), "-"), "-")
}

var inline = regexp.MustCompile("`[^`]+`|\\$[^$]+\\$")

// prose returns a text as HTML: `names` of code and $formulas$ are set, and
// names that the page has a place for lead there.
func prose(text string, place func(name string) string) (template.HTML, error) {
	var b strings.Builder
	done := 0
	for _, m := range inline.FindAllStringIndex(text, -1) {
		b.WriteString(html.EscapeString(text[done:m[0]]))
		done = m[1]
		inner := text[m[0]+1 : m[1]-1]
		if text[m[0]] == '$' {
			math, err := formula(inner, false)
			if err != nil {
				return "", err
			}
			b.WriteString(math)
			continue
		}
		code := "<code>" + html.EscapeString(inner) + "</code>"
		if to := place(inner); to != "" {
			code = `<a href="#` + html.EscapeString(to) + `">` + code + "</a>"
		}
		b.WriteString(code)
	}
	b.WriteString(html.EscapeString(text[done:]))
	return template.HTML(b.String()), nil
}
