package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"qta"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageCSS string

// pageStyle returns the CSS of a page, with that of its drawings.
func pageStyle() string { return figureStyle() + "\n" + pageCSS }

// A runPage is what there is to see of a run.
type runPage struct {
	Record  *record
	Story   string // what it has reached
	agent   *qta.Agent
	figure5 *figure5
}

// files returns the page and its pictures.
func (p runPage) files() ([]outFile, error) {
	v := p.view()
	var page bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageTemplate)).Execute(&page, v); err != nil {
		return nil, fmt.Errorf("%s: %w", pageFile, err)
	}
	return []outFile{
		{curveFile, v.Curve.file()},
		{figure5File, v.Figure.whole(p.Record.Run.Maze).file()},
		{pageFile, page.Bytes()},
	}, nil
}

// A view is what the page's template shows.
type view struct {
	runPage
	Style                  template.CSS
	Running                bool
	Failure                string
	Facts                  []fact
	Curriculum, Deviation  string
	Curve, Rollouts, Goals *drawing
	From, Steps            int // the goals are of
	ShownRollouts          int
	Figure                 *pictures
	Parameters             []parameterRow
	Command                []string // words
}

type fact struct{ Name, Value string }

type parameterRow struct {
	Name, Value, Default, Source string
	Changed                      bool
}

func (p runPage) view() *view {
	r, id, a, maze := p.Record, p.Record.Run, p.agent, p.figure5.maze
	steps := a.Steps()
	from := max(0, steps-id.EvalEvery)
	v := &view{
		runPage:    p,
		Style:      template.CSS(pageStyle()),
		Running:    r.State == stateRunning,
		Curriculum: id.Parameters.Curriculum,
		Curve:      learningCurve(id, a.Evaluations(), a.SolvedAt()),
		Rollouts:   rolloutPicture(maze, playRollouts(a, maze)),
		Goals:      goalPicture(maze, a.Goals(from, steps)),
		From:       from, Steps: steps,
		ShownRollouts: shownRollouts,
		Figure:        p.figure5.pictures(),
		Command:       id.command(r.Limits),
		Facts: []fact{
			{"path length of the maze", fmt.Sprint(maze.PathLength())},
			{"environment steps", fmt.Sprintf("%d of %d, stop: %s", steps, r.Limits.Steps, r.Limits.Stop)},
			{"version of the algorithm", id.Version},
			{"program", r.Program.Revision + ", " + r.Program.Go},
			{"machine", fmt.Sprintf("%s/%s, %s kernel, %s", r.Machine.OS, r.Machine.Arch, r.Machine.Kernel, count(r.Machine.Threads, "thread"))},
		},
	}
	v.Deviation, _ = p.figure5.deviation()
	if o := r.Outcome; o != nil {
		v.Failure = o.Message
		if o.Digest != "" {
			v.Facts = append(v.Facts, fact{"SHA-256 of the networks", o.Digest})
		}
	}
	standard := qta.Default()
	for _, f := range qta.Fields() {
		value, usual := id.params().Value(f.Name), standard.Value(f.Name)
		v.Parameters = append(v.Parameters, parameterRow{f.Name, value, usual, f.Source, value != usual})
	}
	return v
}

// learningCurve draws the success of a run's evaluations.
func learningCurve(id identity, evaluations []qta.Evaluation, solvedAt int) *drawing {
	curve := series{line: true}
	for _, e := range evaluations {
		curve.points = append(curve.points, point{x: float64(e.Step), y: e.Success})
	}
	p := plot{
		title:  fmt.Sprintf("Learning curve on maze %s: success of the evaluations", id.Maze),
		x:      axis{name: "environment steps", high: float64(id.EvalEvery)},
		y:      axis{name: fmt.Sprintf("success (fraction of %s)", count(id.Rollouts, "rollout")), high: 1},
		series: []series{curve},
		width:  300, height: 180,
	}
	if solvedAt > 0 {
		p.marks = []mark{{float64(solvedAt), fmt.Sprintf("first perfect evaluation, at step %d", solvedAt)}}
	}
	return p.draw()
}
