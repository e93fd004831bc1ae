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
	"qta/cmd/qta/internal/film"
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
	Film    *film.Film
}

// A view is what the template shows.
type view struct {
	Run
	Style              template.CSS
	Steps              int
	GoalsSet, GoalsGot int
	GoalRadius         float64
	Moving             *draw.Drawing
	Charts             []picture
	Rollouts, Goals    *draw.Drawing
	ShownRollouts      int
	Pictures           *figure5.Pictures
	Deviation          string
	Command            []string // words
	Fields             []qta.Field
	Default            qta.Params
}

// A picture is a drawing with what it shows.
type picture struct {
	Drawing *draw.Drawing
	Caption string
}

// Files returns the page and its pictures.
func (r Run) Files() ([]files.File, error) {
	id, maze := r.Record.Run, r.Figure5.Maze
	curve := learningCurve(id, r.Agent.Evaluations(), r.Agent.SolvedAt())
	v := &view{
		Run: r, Style: template.CSS(Style()),
		Steps: r.Agent.Steps(), GoalRadius: qta.GoalRadius,
		Moving:        r.Film.Draw(r.Agent),
		Charts:        append([]picture{{curve, "Success of each evaluation: the fraction of its rollouts at the goal after their last step."}}, r.charts()...),
		Rollouts:      rolloutPicture(maze, film.Play(r.Agent, maze, shownRollouts)),
		Goals:         goalPicture(maze, r.Agent),
		ShownRollouts: shownRollouts,
		Pictures:      r.Figure5.Pictures(),
		Command:       id.Command(r.Record.Limits),
		Fields:        qta.Fields(), Default: qta.Default(),
	}
	if log := r.Agent.Evaluations(); len(log) > 0 {
		v.GoalsSet, v.GoalsGot = log[len(log)-1].GoalsSet, log[len(log)-1].GoalsReached
	}
	v.Deviation, _ = r.Figure5.Deviation()
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(text)).Execute(&b, v); err != nil {
		return nil, fmt.Errorf("%s: %w", rundir.PageFile, err)
	}
	return []files.File{
		{Name: rundir.CurveFile, Data: curve.File()},
		{Name: rundir.Figure5File, Data: v.Pictures.Whole(id.Maze).File()},
		{Name: rundir.FilmFile, Data: v.Moving.File()},
		{Name: rundir.PageFile, Data: b.Bytes()},
	}, nil
}

// The size of a chart, of the area within its axes.
const chartWidth, chartHeight = 260, 150

// learningCurve draws the success of a run's evaluations.
func learningCurve(id rundir.Identity, evaluations []qta.Evaluation, solvedAt int) *draw.Drawing {
	p := chart(id, fmt.Sprintf("Learning curve on maze %s: success of the evaluations", id.Maze),
		draw.Axis{Name: "success", Unit: "fraction of " + words.Count(id.Rollouts, "rollout"), High: 1})
	p.Series = []draw.Series{series("", evaluations, func(e qta.Evaluation) float64 { return e.Success })}
	if solvedAt > 0 {
		p.Marks = []draw.Mark{{At: float64(solvedAt), Name: fmt.Sprintf("first perfect one, at step %d", solvedAt)}}
	}
	return p.Draw()
}

// chart begins a chart over the steps of a run.
func chart(id rundir.Identity, title string, y draw.Axis) draw.Plot {
	return draw.Plot{Title: title, X: draw.Axis{Name: "environment steps", High: float64(id.EvalEvery)}, Y: y, Width: chartWidth, Height: chartHeight}
}

// series returns a number of each evaluation.
func series(name string, evaluations []qta.Evaluation, number func(qta.Evaluation) float64) draw.Series {
	s := draw.Series{Name: name, Line: true}
	for _, e := range evaluations {
		s.Points = append(s.Points, draw.Point{X: float64(e.Step), Y: number(e)})
	}
	return s
}

// charts draws what else there is of each evaluation: the losses, the goals and
// the uncertainty.
func (r Run) charts() (pictures []picture) {
	id, log := r.Record.Run, r.Agent.Evaluations()
	add := func(title, caption string, y draw.Axis, s ...draw.Series) {
		p := chart(id, title, y)
		p.Series = s
		pictures = append(pictures, picture{p.Draw(), caption})
	}

	set := draw.Series{Name: "set", Line: true}
	reached := draw.Series{Name: "of these, reached", Line: true}
	var before qta.Evaluation
	for _, e := range log {
		set.Points = append(set.Points, draw.Point{X: float64(e.Step), Y: float64(e.GoalsSet - before.GoalsSet)})
		reached.Points = append(reached.Points, draw.Point{X: float64(e.Step), Y: float64(e.GoalsReached - before.GoalsReached)})
		before = e
	}
	add("Goals", "Goals of training since the evaluation before, and how many of them were reached.", draw.Axis{Name: "goals", Unit: "count"}, set, reached)

	uncertainty := draw.Series{Line: true}
	for _, f := range r.Film.Frames {
		uncertainty.Points = append(uncertainty.Points, draw.Point{X: float64(f.Step), Y: f.Uncertainty})
	}
	name, unit := r.Figure5.Deviation()
	add("Uncertainty", "Mean over all points of the maze of how uncertain the agent is there.", draw.Axis{Name: name, Unit: draw.Unit(unit)}, uncertainty)

	for _, l := range []struct {
		title, unit, caption string
		number               func(qta.Evaluation) float64
	}{
		{"critics' loss", "reward^2", "Equation 2, the latest minibatch's: how far the critics are from their targets.", func(e qta.Evaluation) float64 { return e.CriticLoss }},
		{"predictive loss", rundir.LossUnit(id.Params()), "Equation 4, the latest minibatch's: how far the heads are from the next state.", func(e qta.Evaluation) float64 { return e.PredictiveLoss }},
		{"policy's loss", "reward", "The latest minibatch's: the lower, the more the critics expect of its actions.", func(e qta.Evaluation) float64 { return e.ActorLoss }},
	} {
		add(l.title, l.caption, draw.Axis{Name: l.title, Unit: draw.Unit(l.unit)}, series("", log, l.number))
	}
	return pictures
}
