package main

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// This file makes what the page opens with: the picture of the loop, the
// training step line by line, and the pictures of a maze and of Figure 5.

//go:embed loop.svg
var loopPicture string

// A walk is a function with what its lines do, in order.
type walk struct {
	*declaration
	Title string
	Steps []*step

	function string
	at       int // in the file of passages
}

// A step is a line of a function.
type step struct {
	Text    template.HTML
	Code    string // a part of the line
	Passage *passage

	text, title string
	at          int
}

// Shown returns the code, with its parentheses closed.
func (s *step) Shown() string {
	if strings.HasSuffix(s.Code, "(") {
		return s.Code + "…)"
	}
	return s.Code
}

// readWalk takes over a line of the opening.
func readWalk(walks []*walk, l string, at int) ([]*walk, error) {
	key, value, _ := strings.Cut(l, ": ")
	if function, ok := strings.CutPrefix(key, "walk "); ok {
		return append(walks, &walk{Title: value, function: function, at: at}), nil
	}
	parts := strings.Split(value, " | ")
	if key != "step" || len(parts) != 3 || len(walks) == 0 {
		return nil, fault(textFile, at, "want walk FUNCTION: TEXT, and after it step: TEXT | CODE | PASSAGE")
	}
	w := walks[len(walks)-1]
	w.Steps = append(w.Steps, &step{text: parts[0], Code: parts[1], title: parts[2], at: at})
	return walks, nil
}

// walks holds the opening's steps to the functions that they are said to be
// lines of, and finds their passages.
func (a *assembler) walks() error {
	for _, w := range a.Walks {
		w.declaration = a.program.declarations[w.function]
		if w.declaration == nil || w.passage == nil {
			return fault(textFile, w.at, "no passage shows %s", w.function)
		}
		after := 0 // in the function, where the step before begins
		for _, s := range w.Steps {
			i := strings.Index(w.text[after:], s.Code)
			if i < 0 {
				return fault(textFile, s.at, "%s has no %s after the step before", w.function, s.Code)
			}
			after += i
			i = slices.IndexFunc(a.passages(), func(p *passage) bool { return p.Title == s.title })
			if i < 0 {
				return fault(textFile, s.at, "there is no passage %q", s.title)
			}
			s.Passage = a.passages()[i]
			var err error
			if s.Text, err = prose(s.text, func(string) string { return "" }); err != nil {
				return fault(textFile, s.at, "%v", err)
			}
		}
	}
	return nil
}

// Pictures that the command has drawn.
const (
	mazePicture    = "docs/4x5.svg"
	figure5Picture = "docs/figure5.svg"
)

// A snapshot is what an agent made of its maze at a time, a picture for each
// number.
type snapshot struct {
	Title  string
	Panels []template.HTML
}

var (
	svgStyle = regexp.MustCompile(`(?s)^<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)".*?<title>(.*?)</title>\s*<style>(.*?)</style>(.*)</svg>\s*$`)
	svgTitle = regexp.MustCompile(`<text class="head" [^>]*>([^<]*)</text>`)
	svgPanel = regexp.MustCompile(`<g transform="translate\(([\d.]+) ([\d.]+)\)"><text class="ink" [^>]*>([^<]*)</text>`)
)

// pictures takes over the pictures of a maze and of Figure 5, whose panels are
// set apart so that a narrow page can have them below each other.
func (p *page) pictures(root string) error {
	maze, err := readSVG(filepath.Join(root, mazePicture))
	if err != nil {
		return err
	}
	p.Maze = inSVG(maze.title, "0 0 "+maze.width+" "+maze.height, maze.body)
	figure, err := readSVG(filepath.Join(root, figure5Picture))
	if err != nil {
		return err
	}
	p.PictureStyle = template.CSS(figure.style)
	titles := svgTitle.FindAllStringSubmatchIndex(figure.body, -1)
	for i, m := range titles {
		end := len(figure.body)
		if i+1 < len(titles) {
			end = titles[i+1][0]
		}
		s := &snapshot{Title: html.UnescapeString(figure.body[m[2]:m[3]])}
		row := figure.body[m[1]:end]
		panels := svgPanel.FindAllStringSubmatchIndex(row, -1)
		for k, m := range panels {
			end := len(row)
			if k+1 < len(panels) {
				end = panels[k+1][0]
			}
			inner := strings.TrimSuffix(strings.TrimSpace(row[m[0]:end]), "</g>")
			_, inner, _ = strings.Cut(inner, ">")
			s.Panels = append(s.Panels, inSVG(row[m[6]:m[7]], panelBox, inner))
		}
		p.Figure5 = append(p.Figure5, s)
	}
	if len(p.Figure5) < 2 || len(p.Figure5[0].Panels) != 6 {
		return fmt.Errorf("%s: it has not the six panels of two snapshots", figure5Picture)
	}
	return nil
}

// panelBox is where a panel of Figure 5 is, with room for the numbers below the
// ends of its colour bar.
const panelBox = "-10 0 134 160"

// inSVG returns a picture for the page, which has the pictures' style.
func inSVG(title, box, body string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="%s" role="img" aria-label="%s">%s</svg>`, box, title, body))
}

// A drawing is a picture as a file has it.
type drawing struct{ title, width, height, style, body string }

func readSVG(name string) (*drawing, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	m := svgStyle.FindStringSubmatch(string(text))
	if m == nil {
		return nil, fmt.Errorf("%s is no picture of this command's", name)
	}
	return &drawing{m[3], m[1], m[2], m[4], m[5]}, nil
}
