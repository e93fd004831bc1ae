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
var pageTemplate string

//go:embed page.css
var pageCSS string

// Style returns the CSS of a page, with that of its drawings.
func Style() string { return draw.Style() + "\n" + pageCSS }

// A Run is what there is to see of a run.
type Run struct {
	Record  *rundir.Record
	Story   string // what it has reached
	Agent   *qta.Agent
	Figure5 *figure5.Figure
}

// Files returns the page and its pictures.
func (p Run) Files() ([]files.File, error) {
	v := p.view()
	var page bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageTemplate)).Execute(&page, v); err != nil {
		return nil, fmt.Errorf("%s: %w", rundir.PageFile, err)
	}
	return []files.File{
		{Name: rundir.CurveFile, Data: v.Curve.File()},
		{Name: rundir.Figure5File, Data: v.Figure.Whole(p.Record.Run.Maze).File()},
		{Name: rundir.PageFile, Data: page.Bytes()},
	}, nil
}

// A view is what the page's template shows.
type view struct {
	Run
	Style                  template.CSS
	Running                bool
	Failure                string
	Facts                  []fact
	Curriculum, Deviation  string
	Curve, Rollouts, Goals *draw.Picture
	From, Steps            int // the goals are of
	ShownRollouts          int
	Figure                 *figure5.Pictures
	Parameters             []parameterRow
	Command                []string // words
}

type fact struct{ Name, Value string }

type parameterRow struct {
	Name, Value, Default, Source string
	Changed                      bool
}

func (p Run) view() *view {
	r, id, a, maze := p.Record, p.Record.Run, p.Agent, p.Figure5.Maze
	steps := a.Steps()
	from := max(0, steps-id.EvalEvery)
	v := &view{
		Run:        p,
		Style:      template.CSS(Style()),
		Running:    r.State == rundir.Running,
		Curriculum: id.Parameters.Curriculum,
		Curve:      learningCurve(id, a.Evaluations(), a.SolvedAt()),
		Rollouts:   rolloutPicture(maze, playRollouts(a, maze)),
		Goals:      goalPicture(maze, a.Goals(from, steps)),
		From:       from, Steps: steps,
		ShownRollouts: shownRollouts,
		Figure:        p.Figure5.Pictures(),
		Command:       id.Command(r.Limits),
		Facts: []fact{
			{"path length of the maze", fmt.Sprint(maze.PathLength())},
			{"environment steps", fmt.Sprintf("%d of %d, stop: %s", steps, r.Limits.Steps, r.Limits.Stop)},
			{"version of the algorithm", id.Version},
			{"program", r.Program.Revision + ", " + r.Program.Go},
			{"machine", fmt.Sprintf("%s/%s, %s kernel, %s", r.Machine.OS, r.Machine.Arch, r.Machine.Kernel, words.Count(r.Machine.Threads, "thread"))},
		},
	}
	v.Deviation, _ = p.Figure5.Deviation()
	if o := r.Outcome; o != nil {
		v.Failure = o.Message
		if o.Digest != "" {
			v.Facts = append(v.Facts, fact{"SHA-256 of the networks", o.Digest})
		}
	}
	standard := qta.Default()
	for _, f := range qta.Fields() {
		value, usual := id.Params().Value(f.Name), standard.Value(f.Name)
		v.Parameters = append(v.Parameters, parameterRow{f.Name, value, usual, f.Source, value != usual})
	}
	return v
}

// learningCurve draws the success of a run's evaluations.
func learningCurve(id rundir.Identity, evaluations []qta.Evaluation, solvedAt int) *draw.Picture {
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
