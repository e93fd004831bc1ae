package lab

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"reflect"
	"slices"
	"strings"

	"qta"
	"qta/internal/draw"
	"qta/internal/words"
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageCSS string

// A view is what there is to see of a run.
type view struct {
	Record *Record
	Story  string
	agent  *qta.Agent
	state  *state

	// For the template.
	Style      template.CSS
	Moving     *draw.Drawing // nil of an environment that cannot draw itself
	Figure5    *draw.Drawing // nil of one that is no Surveyor; of a maze with optimal values
	PathLength int           // of a maze, or 0
	GoalRadius float64
	Charts     []chart
	Fields     []reflect.StructField // of Params
	Paper      qta.Params
	Subject    string
}

// A chart is a drawing with what it shows.
type chart struct {
	Drawing *draw.Drawing
	Caption string
}

// Changed reports whether a parameter makes the run another than with Paper.
func (v *view) Changed(name string) bool {
	return slices.Contains(Differing(v.Paper, v.Record.Run.Params), name)
}

// files returns the page, its pictures and the log by their names.
func (v *view) files() (files map[string][]byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = words.BadInput("the data attached to the agent cannot be drawn: %v; "+
				"name another directory, or repair the environment's Place or StateAt", r)
		}
	}()
	files = map[string][]byte{}
	id, s := v.Record.Run, v.state
	v.Style, v.Subject, v.Charts = template.CSS(draw.Style+"\n"+pageCSS), id.subject(), v.charts()
	v.Record.Outcome.Figure5 = s.figure5Numbers()
	v.Fields, v.Paper = parameterFields, qta.Paper()
	files[CurveFile] = v.Charts[0].Drawing.File()
	if s.sketcher != nil && len(s.Frames) > 0 {
		if v.Moving, err = s.film(v.agent); err != nil {
			return nil, err
		}
		files[FilmFile] = v.Moving.File()
	}
	if s.grid != nil && len(s.Snapshots) > 0 {
		v.Figure5 = s.figure5(v.Subject, v.agent.Params())
		files[Figure5File] = v.Figure5.File()
	}
	if len(id.Map) > 0 {
		v.PathLength, v.GoalRadius = id.NewMaze().PathLength(), qta.GoalRadius
	}
	var page bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageText)).Execute(&page, v); err != nil {
		return nil, fmt.Errorf("%s: %w", PageFile, err)
	}
	files[PageFile], files[LogFile] = page.Bytes(), logTable(id, v.Record.Curve)
	for name, data := range files {
		files[name] = []byte(words.Text(string(data)))
	}
	return files, nil
}

// logTable returns log.csv: a row for each evaluation, with units in the header.
func logTable(id Identity, log []qta.Evaluation) []byte {
	units := [...]string{"environment steps", "fraction", "reward^2", id.lossUnit(), "reward", "count", "count",
		"fraction", "reward", "environment steps"}
	var head []string
	for i, name := range columns {
		head = append(head, name+"["+units[i]+"]")
	}
	table := []byte(strings.Join(head, ",") + "\n")
	for _, e := range log {
		text, _ := json.Marshal(row(e)) // in brackets
		table = append(append(table, text[1:len(text)-1]...), '\n')
	}
	return table
}

// lossUnit returns the predictive loss's unit, where an observation's is known.
func (id Identity) lossUnit() string {
	switch {
	case len(id.Map) == 0 || id.Params.Uncertainty == "ensemble": // which has a log-likelihood
		return ""
	case id.Params.Learner == "authors":
		return "cell"
	}
	return "cell^2"
}

// series returns a number of each evaluation.
func (v *view) series(name string, number func(qta.Evaluation) float64) draw.Series {
	s := draw.Series{Name: name}
	for _, e := range v.Record.Curve {
		s.Points = append(s.Points, draw.Point{X: float64(e.Step), Y: number(e)})
	}
	return s
}

// charts draws what there is of each evaluation: first the learning curve, then the
// goals and the losses.
func (v *view) charts() (charts []chart) {
	id := v.Record.Run
	steps := draw.Axis{Name: "environment steps", High: float64(id.EvalEvery)}
	add := func(title, caption string, y draw.Axis, s ...draw.Series) {
		p := draw.Plot{Title: title, X: steps, Y: y, Series: s, Width: 260, Height: 150}
		charts = append(charts, chart{p.Draw(), caption})
	}
	add(fmt.Sprintf("Learning curve on %s: success of the evaluations", id.subject()),
		"Success of each evaluation: the fraction of its rollouts that end at the goal.",
		draw.Axis{Name: "success", Unit: "fraction of " + words.Count(id.Rollouts, "rollout"), High: 1},
		v.series("", func(e qta.Evaluation) float64 { return e.Success }))
	add("Goals", "Goals pursued in training before each evaluation, and how many of them were reached.",
		draw.Axis{Name: "goals", Unit: "count"},
		v.series("set", func(e qta.Evaluation) float64 { return float64(e.GoalsSet) }),
		v.series("of these, reached", func(e qta.Evaluation) float64 { return float64(e.GoalsReached) }))
	add("critics' loss", "Equation 2 on the latest minibatch: how far the critics are from their targets.",
		draw.Axis{Name: "critics' loss", Unit: "rewards²"},
		v.series("", func(e qta.Evaluation) float64 { return e.CriticLoss }))
	equation := "Equation 4"
	if p := id.Params; p.Learner != "paper" || p.Uncertainty == "bootstrap" || p.Uncertainty == "ensemble" {
		equation = "The loss that replaces Equation 4"
	}
	add("predictive loss", equation+" on the latest minibatch: how far the heads' predictions are from the next state.",
		draw.Axis{Name: "predictive loss", Unit: strings.NewReplacer("cell", "cells", "^2", "²").Replace(id.lossUnit())},
		v.series("", func(e qta.Evaluation) float64 { return e.PredictiveLoss }))
	return charts
}

// The size of a sketch in the pictures of a run.
const mapWidth, mapHeight = 340, 300

// Times of the animation, in seconds.
const (
	frameTime = 1.2 // of a frame
	runTime   = 0.9 // of that, until its rollouts have got where they end
	holdTime  = 3.0 // for which the last frame stays
)

// film draws the training as an animation: how goals spread, and how rollouts of
// the policy end. Without motion it is its last frame with all goals. The animation
// is of CSS, which leaves it out for readers who ask for less motion.
func (s *state) film(a *qta.Agent) (*draw.Drawing, error) {
	const top = 20
	p := newPlan(&s.sketch, top, mapWidth, mapHeight)
	bar := top + p.height() + 8
	d := &draw.Drawing{Width: mapWidth, Height: bar + draw.BarAltitude + 2}
	d.Title = fmt.Sprintf("A training in %s: the goals that the agent set itself, and rollouts of its policy",
		words.Count(len(s.Frames), "frame"))
	p.draw(d, Wall, Floor, Start, Goal, Near)
	n, last := len(s.Frames), a.Steps()
	d.Style = filmStyle(n)
	d.Add(`<g class="film">`)
	times := draw.Plasma
	goals, err := s.goals(a)
	for i := range s.Frames {
		d.Add(`<g class="rim film-g%d" fill="%s">`, i, times[draw.Scale{High: float64(n)}.Color(float64(i)+0.5)])
		for _, goal := range goals[i] {
			x, y := p.at(goal)
			d.Add(`<circle cx="%v" cy="%v" r="2.2"/>`, x, y)
		}
		d.Add(`</g>`)
	}
	const left, width = 16, mapWidth - 32
	d.Bar(draw.Scale{High: float64(last)}, times, "environment steps", left, bar, width)
	log := a.Evaluations()
	for i, f := range s.Frames {
		if i < n-1 {
			d.Add(`<g class="film-f" opacity="0" style="--film:%d">`, i)
		} else { // which is there without CSS, too
			d.Add(`<g class="film-l" style="--film:%d">`, i)
		}
		d.Text(0, draw.TextSize, "start", "head", "after "+words.Count(f.Step, "step"))
		if k := slices.IndexFunc(log, func(e qta.Evaluation) bool { return e.Step == f.Step }); k >= 0 {
			d.Text(mapWidth, draw.TextSize, "end", "ink", fmt.Sprintf("%.0f %% at the goal", 100*log[k].Success))
		}
		d.Add(`<path class="ink" d="M%v %vl4-7h-8z"/>`, left+width*float64(f.Step)/float64(last), bar)
		for _, r := range f.Rollouts {
			p.rollout(d, r)
		}
		d.Add(`</g>`)
	}
	p.letters(d) // over the ends of the rollouts
	d.Add(`</g>`)
	return d, err
}

// filmStyle returns the CSS that moves a film of n frames, for readers who have not
// asked for less motion.
func filmStyle(n int) string {
	whole := float64(float64(n)*frameTime) + holdTime
	// A time as a part of the whole, rounded down so that no two frames overlap.
	at := func(seconds float64) string { return fmt.Sprintf("%.3f%%", math.Floor(1e5*seconds/whole)/1e3) }
	css := "@media(prefers-reduced-motion:no-preference){"
	rule := func(within, class, keyframes, timing string) {
		css += fmt.Sprintf("@keyframes %[2]s{%[3]s}%[1]s.%[2]s{animation:%[2]s %[4]s infinite}",
			within, class, keyframes, timing)
	}
	for i := range n { // goals are there from their frame on
		begin := float64(float64(i) * frameTime)
		rule("", fmt.Sprintf("film-g%d", i), "0%,"+at(begin)+"{opacity:0}"+at(begin+0.3)+",100%{opacity:1}",
			fmt.Sprintf("%.4gs linear", whole))
	}
	// All frames have the same keyframes, which each begins at its own time.
	timing := fmt.Sprintf("%.4[1]gs calc(var(--film)*%.4[2]gs - %.4[1]gs)", whole, frameTime)
	rule(".film ", "film-f", "0%{opacity:1}"+at(frameTime)+"{opacity:0}", timing+" step-end")
	rule(".film ", "film-l", "0%{opacity:1}"+at(frameTime+holdTime)+"{opacity:0}", timing+" step-end")
	rule(".film ", "film-w", "0%{stroke-dashoffset:1}"+at(runTime)+",100%{stroke-dashoffset:0}", timing+" linear")
	rule(".film ", "film-e", "0%{opacity:0}"+at(runTime)+"{opacity:1}", timing+" step-end")
	return css + ".film .film-w{stroke-dasharray:1}.film:hover *{animation-play-state:paused}}"
}
