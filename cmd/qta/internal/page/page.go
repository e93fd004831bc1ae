// Package page makes the page of a run, report.html, and the pictures beside it.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"qta"
	"qta/cmd/qta/internal/draw"
	"qta/cmd/qta/internal/figure5"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

//go:embed page.tmpl
var text string

//go:embed page.css
var css string

// Style returns the CSS of a page, with that of its drawings.
func Style() string { return draw.Style() + "\n" + css }

// A Run is what there is to see of a run.
type Run struct {
	Record  *rundir.Record
	Story   string // what it has reached
	Agent   *qta.Agent
	Figure5 *figure5.Figure
}

// A view is what the template shows.
type view struct {
	Run
	Style                  template.CSS
	From, Steps            int // the goals are of
	Curve, Rollouts, Goals *draw.Drawing
	ShownRollouts          int
	Pictures               *figure5.Pictures
	Deviation              string
	Command                []string // words
	Fields                 []qta.Field
	Default                qta.Params
}

// Files returns the page and its pictures.
func (r Run) Files() ([]files.File, error) {
	id, maze, steps := r.Record.Run, r.Figure5.Maze, r.Agent.Steps()
	from := max(0, steps-id.EvalEvery)
	v := &view{
		Run: r, Style: template.CSS(Style()),
		From: from, Steps: steps,
		Curve:         learningCurve(id, r.Agent.Evaluations(), r.Agent.SolvedAt()),
		Rollouts:      rolloutPicture(maze, playRollouts(r.Agent, maze)),
		Goals:         goalPicture(maze, r.Agent.Goals(from, steps)),
		ShownRollouts: shownRollouts,
		Pictures:      r.Figure5.Pictures(),
		Command:       id.Command(r.Record.Limits),
		Fields:        qta.Fields(), Default: qta.Default(),
	}
	v.Deviation, _ = r.Figure5.Deviation()
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(text)).Execute(&b, v); err != nil {
		return nil, fmt.Errorf("%s: %w", rundir.PageFile, err)
	}
	return []files.File{
		{Name: rundir.CurveFile, Data: v.Curve.File()},
		{Name: rundir.Figure5File, Data: v.Pictures.Whole(id.Maze).File()},
		{Name: rundir.PageFile, Data: b.Bytes()},
	}, nil
}

// learningCurve draws the success of a run's evaluations.
func learningCurve(id rundir.Identity, evaluations []qta.Evaluation, solvedAt int) *draw.Drawing {
	curve := draw.Series{Line: true}
	for _, e := range evaluations {
		curve.Points = append(curve.Points, draw.Point{X: float64(e.Step), Y: e.Success})
	}
	p := draw.Plot{
		Title:  fmt.Sprintf("Learning curve on maze %s: success of the evaluations", id.Maze),
		X:      draw.Axis{Name: "environment steps", High: float64(id.EvalEvery)},
		Y:      draw.Axis{Name: fmt.Sprintf("success (fraction of %s)", words.Count(id.Rollouts, "rollout")), High: 1},
		Series: []draw.Series{curve},
		Width:  300, Height: 180,
	}
	if solvedAt > 0 {
		p.Marks = []draw.Mark{{X: float64(solvedAt), Name: fmt.Sprintf("first perfect evaluation, at step %d", solvedAt)}}
	}
	return p.Draw()
}
