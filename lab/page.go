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

// A view holds what the page and the pictures show of a run.
type view struct {
	Record *Record
	Story  string
	agent  *qta.Agent
	state  *state

	// For the template.
	Style      template.CSS
	Moving     *draw.Drawing // the animation; nil if the environment is no Sketcher
	Figure5    *draw.Drawing // nil if the environment is no Surveyor
	PathLength int           // of a maze, or 0
	GoalRadius float64
	Charts     []chart
	Fields     []reflect.StructField // of Params
	Paper      qta.Params
	Subject    string
}

// A chart is a drawing with its caption.
type chart struct {
	Drawing *draw.Drawing
	Caption string
}

// Changed reports whether the run differs from one with [qta.Paper] in this parameter.
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
	id := v.Record.Run
	s := v.state
	v.Record.Outcome.Figure5 = s.figure5Numbers()
	v.Style = template.CSS(draw.Style + "\n" + pageCSS)
	v.Subject = id.subject()
	v.Fields = parameterFields
	v.Paper = qta.Paper()
	v.Charts = v.charts()
	files[CurveFile] = v.Charts[0].Drawing.File()
	if s.sketcher != nil && len(s.Frames) > 0 {
		v.Moving, err = s.film(v.agent)
		if err != nil {
			return nil, err
		}
		files[FilmFile] = v.Moving.File()
	}
	if s.grid != nil && len(s.Snapshots) > 0 {
		v.Figure5 = s.figure5(v.Subject, v.agent.Params())
		files[Figure5File] = v.Figure5.File()
	}
	if len(id.Map) > 0 {
		v.PathLength = id.NewMaze().PathLength()
		v.GoalRadius = qta.GoalRadius
	}

	var page bytes.Buffer
	whole := template.Must(template.New("page").Parse(pageText))
	if err := whole.Execute(&page, v); err != nil {
		return nil, fmt.Errorf("%s: %w", PageFile, err)
	}
	files[PageFile] = page.Bytes()
	files[LogFile] = logTable(id, v.Record.Curve)
	for name, data := range files {
		files[name] = []byte(words.Text(string(data)))
	}
	return files, nil
}

// logTable returns log.csv: a row for each evaluation, with units in the header.
func logTable(id Identity, log []qta.Evaluation) []byte {
	const steps = "environment steps"
	units := [len(columns)]string{steps, "fraction", "reward^2", id.lossUnit(), "reward",
		"count", "count", "fraction", "reward", steps}
	var head []string
	for i, name := range columns {
		head = append(head, name+"["+units[i]+"]")
	}
	table := []byte(strings.Join(head, ",") + "\n")
	for _, e := range log {
		text, _ := json.Marshal(row(e)) // the numbers with commas, in brackets
		table = append(table, text[1:len(text)-1]...)
		table = append(table, '\n')
	}
	return table
}

// lossUnit returns the unit of the predictive loss, or "" if it has none or the unit of
// observations is not known.
func (id Identity) lossUnit() string {
	switch {
	case len(id.Map) == 0 || id.Params.Uncertainty == "ensemble":
		return "" // an ensemble's loss is a log-likelihood
	case id.Params.Learner == "authors":
		return "cell"
	}
	return "cell^2"
}

// series returns one number of each evaluation, as a named line for a chart.
func (v *view) series(name string, number func(qta.Evaluation) float64) draw.Series {
	s := draw.Series{Name: name}
	for _, e := range v.Record.Curve {
		s.Points = append(s.Points, draw.Point{X: float64(e.Step), Y: number(e)})
	}
	return s
}

// charts draws the numbers of all evaluations: first the learning curve, then the
// goals and the losses.
func (v *view) charts() []chart {
	id := v.Record.Run
	success := v.series("", func(e qta.Evaluation) float64 { return e.Success })
	set := v.series("set", func(e qta.Evaluation) float64 { return float64(e.GoalsSet) })
	reached := v.series("of these, reached",
		func(e qta.Evaluation) float64 { return float64(e.GoalsReached) })
	critics := v.series("", func(e qta.Evaluation) float64 { return e.CriticLoss })
	predictive := v.series("", func(e qta.Evaluation) float64 { return e.PredictiveLoss })

	successUnit := "fraction of " + words.Count(id.Rollouts, "rollout")
	lossUnit := strings.NewReplacer("cell", "cells", "^2", "²").Replace(id.lossUnit())
	return []chart{
		v.chart(fmt.Sprintf("Learning curve on %s: success of the evaluations", id.subject()),
			draw.Axis{Name: "success", Unit: successUnit, High: 1},
			"Success of each evaluation: the fraction of its rollouts that end at the goal.",
			success),
		v.chart("Goals", draw.Axis{Name: "goals", Unit: "count"},
			"Goals pursued in training before each evaluation, and how many of them were reached.",
			set, reached),
		v.chart("critics' loss", draw.Axis{Name: "critics' loss", Unit: "rewards²"},
			"Equation 2 on the latest minibatch: how far the critics are from their targets.",
			critics),
		v.chart("predictive loss", draw.Axis{Name: "predictive loss", Unit: lossUnit},
			id.predictiveEquation()+" on the latest minibatch: "+
				"how far the heads' predictions are from the next state.",
			predictive),
	}
}

// chart draws series over the environment steps.
func (v *view) chart(title string, y draw.Axis, caption string, series ...draw.Series) chart {
	p := draw.Plot{
		Title:  title,
		X:      draw.Axis{Name: "environment steps", High: float64(v.Record.Run.EvalEvery)},
		Y:      y,
		Series: series,
		Width:  260,
		Height: 150,
	}
	return chart{p.Draw(), caption}
}

// predictiveEquation names the loss that the predictive heads have.
func (id Identity) predictiveEquation() string {
	ofHeads := id.Params.Uncertainty == "bootstrap" || id.Params.Uncertainty == "ensemble"
	if ofHeads || id.Params.Learner == "authors" {
		return "The loss that replaces Equation 4"
	}
	return "Equation 4"
}

// The size of a sketch in the pictures of a run.
const mapWidth, mapHeight = 340, 300

// Times of the animation, in seconds.
const (
	frameTime = 1.2 // how long a frame is shown
	runTime   = 0.9 // the part of frameTime in which its rollouts move from start to end
	holdTime  = 3.0 // how much longer the last frame stays
)

// film draws the training as an animation: how goals spread, and how rollouts of the policy
// end. The animation is in CSS. For a reader who asks for less motion the browser leaves it
// out, and the drawing is the last frame with all goals.
func (s *state) film(a *qta.Agent) (*draw.Drawing, error) {
	const top = 20
	goals, err := s.goals(a)
	if err != nil {
		return nil, err
	}
	p := newPlan(&s.sketch, top, mapWidth, mapHeight)
	bar := top + p.height() + 8
	d := &draw.Drawing{Width: mapWidth, Height: bar + draw.BarAltitude + 2}
	d.Title = "A training in " + words.Count(len(s.Frames), "frame") +
		": the goals that the agent pursued, and rollouts of its policy"
	d.Style = filmStyle(len(s.Frames))
	p.draw(d, Wall, Floor, Start, Goal, Near)
	d.Add(`<g class="film">`)
	for i := range s.Frames {
		s.drawGoals(d, p, i, goals[i])
	}
	times := draw.Scale{High: float64(a.Steps())}
	d.Bar(times, draw.Plasma, "environment steps", barLeft, bar, barWidth)
	for i := range s.Frames {
		s.drawFrame(d, p, i, a, bar)
	}
	p.letters(d) // over the ends of the rollouts
	d.Add(`</g>`)
	return d, nil
}

// barLeft and barWidth place the bar that shows the time of a frame.
const barLeft, barWidth = 16, mapWidth - 32

// drawGoals draws the goals of a frame, in a color that stands for its time.
func (s *state) drawGoals(d *draw.Drawing, p plan, frame int, goals [][2]float64) {
	times := draw.Scale{High: float64(len(s.Frames))}
	color := draw.Plasma[times.Color(float64(frame)+0.5)]
	d.Add(`<g class="rim film-g%d" fill="%s">`, frame, color)
	for _, goal := range goals {
		x, y := p.at(goal)
		d.Add(`<circle cx="%v" cy="%v" r="2.2"/>`, x, y)
	}
	d.Add(`</g>`)
}

// drawFrame draws a frame's time, success and rollouts. Without CSS only the last frame is
// visible.
func (s *state) drawFrame(d *draw.Drawing, p plan, i int, a *qta.Agent, bar float64) {
	f := s.Frames[i]
	if i < len(s.Frames)-1 {
		d.Add(`<g class="film-f" opacity="0" style="--film:%d">`, i)
	} else {
		d.Add(`<g class="film-l" style="--film:%d">`, i)
	}
	d.Text(0, draw.TextSize, "start", "head", "after "+words.Count(f.Step, "step"))
	for _, e := range a.Evaluations() {
		if e.Step == f.Step {
			success := fmt.Sprintf("%.0f %% at the goal", 100*e.Success)
			d.Text(mapWidth, draw.TextSize, "end", "ink", success)
		}
	}
	time := float64(f.Step) / float64(a.Steps())
	d.Add(`<path class="ink" d="M%v %vl4-7h-8z"/>`, barLeft+float64(barWidth*time), bar)
	for _, r := range f.Rollouts {
		p.rollout(d, r)
	}
	d.Add(`</g>`)
}

// filmStyle returns the CSS that moves a film of n frames, for readers who have not
// asked for less motion.
func filmStyle(n int) string {
	whole := float64(float64(n)*frameTime) + holdTime
	// at returns a time as a part of the whole, rounded down so that no two frames overlap.
	at := func(seconds float64) string {
		return fmt.Sprintf("%.3f%%", math.Floor(1e5*seconds/whole)/1e3)
	}
	css := "@media(prefers-reduced-motion:no-preference){"
	rule := func(within, class, keyframes, timing string) {
		css += fmt.Sprintf("@keyframes %[2]s{%[3]s}%[1]s.%[2]s{animation:%[2]s %[4]s infinite}",
			within, class, keyframes, timing)
	}
	for i := range n { // goals stay from their frame on
		begin := float64(float64(i) * frameTime)
		appear := "0%," + at(begin) + "{opacity:0}" + at(begin+0.3) + ",100%{opacity:1}"
		rule("", fmt.Sprintf("film-g%d", i), appear, fmt.Sprintf("%.4gs linear", whole))
	}
	// All frames share these keyframes, and each frame begins them at its own time.
	timing := fmt.Sprintf("%.4[1]gs calc(var(--film)*%.4[2]gs - %.4[1]gs)", whole, frameTime)
	step := timing + " step-end"
	way := "0%{stroke-dashoffset:1}" + at(runTime) + ",100%{stroke-dashoffset:0}"
	rule(".film ", "film-f", "0%{opacity:1}"+at(frameTime)+"{opacity:0}", step)
	rule(".film ", "film-l", "0%{opacity:1}"+at(frameTime+holdTime)+"{opacity:0}", step)
	rule(".film ", "film-w", way, timing+" linear")
	rule(".film ", "film-e", "0%{opacity:0}"+at(runTime)+"{opacity:1}", step)
	return css + ".film .film-w{stroke-dasharray:1}" +
		".film:hover *,figure:focus .film *{animation-play-state:paused}}"
}
