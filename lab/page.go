package lab

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"qta"
	"qta/internal/draw"
	"qta/internal/files"
	"qta/internal/words"
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageCSS string

// Style returns the CSS of a page, with that of its drawings.
func Style() string { return draw.Style + "\n" + pageCSS }

// A view is what there is to see of a run.
type view struct {
	Record *Record
	Story  string
	agent  *qta.Agent
	state  *state

	// For the template.
	Style      template.CSS
	Moving     *draw.Drawing // nil of an environment that cannot draw itself
	Pictures   *pictures     // nil of one that is no Surveyor
	PathLength int           // of a maze, or 0
	GoalRadius float64
	Deviation  string
	Charts     []chart
	Command    []string // words
	Fields     []qta.Field
	Default    qta.Params
	Subject    string
	Optimal    bool // Figure 5 has optimal values
}

// A chart is a drawing with what it shows.
type chart struct {
	Drawing *draw.Drawing
	Caption string
}

// files returns the page and its pictures.
func (v *view) files() ([]files.File, error) {
	id, s := v.Record.Run, v.state
	curve := v.learningCurve()
	list := []files.File{{Name: CurveFile, Data: curve.File()}}
	v.Style, v.Subject = template.CSS(Style()), id.subject()
	v.Charts = append([]chart{{curve,
		"Success of each evaluation: the fraction of its rollouts at the goal after their last step."}}, v.charts()...)
	v.Command, v.Fields, v.Default = id.Command(v.Record.Limits), qta.Fields(), qta.Default()
	v.Deviation, _ = s.uncertaintyName(v.agent.Params())
	if s.Sketch != nil {
		v.Moving = s.film(v.agent)
		list = append(list, files.File{Name: FilmFile, Data: v.Moving.File()})
	}
	if s.Grid != nil {
		v.Pictures, v.Optimal = s.pictures(v.agent.Params()), s.Grid.Optimal != nil
		list = append(list, files.File{Name: Figure5File, Data: v.Pictures.whole(id.subject()).File()})
	}
	if len(id.Map) > 0 {
		v.PathLength, v.GoalRadius = id.NewMaze().PathLength(), qta.GoalRadius
	}
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageText)).Execute(&b, v); err != nil {
		return nil, fmt.Errorf("%s: %w", PageFile, err)
	}
	return append(list, files.File{Name: PageFile, Data: b.Bytes()}), nil
}

// logTable returns log.csv: a row for each evaluation, the unit of each column in
// the header.
func logTable(id Identity, log []qta.Evaluation) []byte {
	units := [...]string{"environment steps", "fraction", "reward^2", id.lossUnit(), "reward", "count", "count",
		"fraction", "reward", "environment steps"}
	rows := [][]string{nil}
	for i, name := range evaluationColumns {
		rows[0] = append(rows[0], name+"["+units[i]+"]")
	}
	for _, e := range log {
		var row []string
		for _, x := range evaluationNumbers(e) {
			row = append(row, strconv.FormatFloat(x, 'g', -1, 64))
		}
		row[0], row[5], row[6] = strconv.Itoa(e.Step), strconv.Itoa(e.GoalsSet), strconv.Itoa(e.GoalsReached)
		rows = append(rows, row)
	}
	return files.CSV(rows)
}

// lossUnit returns the unit of the predictive loss, where an observation's is
// known.
func (id Identity) lossUnit() string {
	switch {
	case len(id.Map) == 0:
		return ""
	case id.Params().HeadLoss == "norm":
		return "cell"
	}
	return "cell^2"
}

// The size of a chart, of the area within its axes.
const chartWidth, chartHeight = 260, 150

// plot begins a chart over the steps of a run.
func (v *view) plot(title string, y draw.Axis, s ...draw.Series) *draw.Plot {
	return &draw.Plot{Title: title, X: draw.Axis{Name: "environment steps",
		High: float64(v.Record.Run.EvalEvery)}, Y: y, Series: s, Width: chartWidth, Height: chartHeight}
}

// series returns a number of each evaluation.
func (v *view) series(name string, number func(qta.Evaluation) float64) draw.Series {
	s := draw.Series{Name: name, Line: true}
	for _, e := range v.Record.Curve {
		s.Points = append(s.Points, draw.Point{X: float64(e.Step), Y: number(e)})
	}
	return s
}

// learningCurve draws the success of a run's evaluations.
func (v *view) learningCurve() *draw.Drawing {
	id := v.Record.Run
	p := v.plot(fmt.Sprintf("Learning curve on %s: success of the evaluations", id.subject()),
		draw.Axis{Name: "success", Unit: "fraction of " + words.Count(id.Rollouts, "rollout"), High: 1},
		v.series("", func(e qta.Evaluation) float64 { return e.Success }))
	if at := v.agent.SolvedAt(); at > 0 {
		p.Marks = []draw.Mark{{At: float64(at), Name: fmt.Sprintf("first perfect one, at step %d", at)}}
	}
	return p.Draw()
}

// charts draws what else there is of each evaluation: the goals, the uncertainty
// and the losses.
func (v *view) charts() (charts []chart) {
	id := v.Record.Run
	add := func(title, caption string, y draw.Axis, s ...draw.Series) {
		charts = append(charts, chart{v.plot(title, y, s...).Draw(), caption})
	}
	var set, reached int // before
	add("Goals", "Goals of training since the evaluation before, and how many of them were reached.",
		draw.Axis{Name: "goals", Unit: "count"},
		v.series("set",
			func(e qta.Evaluation) float64 { n := e.GoalsSet - set; set = e.GoalsSet; return float64(n) }),
		v.series("of these, reached", func(e qta.Evaluation) float64 {
			n := e.GoalsReached - reached
			reached = e.GoalsReached
			return float64(n)
		}))
	if v.state.Grid != nil {
		uncertainty := draw.Series{Line: true}
		for _, f := range v.state.Frames {
			uncertainty.Points = append(uncertainty.Points, draw.Point{X: float64(f.Step), Y: f.Uncertainty})
		}
		name, unit := v.state.uncertaintyName(id.Params())
		add("Uncertainty", "Mean over all places of how uncertain the agent is there.", draw.Axis{Name: name,
			Unit: draw.Unit(unit)}, uncertainty)
	}
	add("critics' loss", "Equation 2, the latest minibatch's: how far the critics are from their targets.",
		draw.Axis{Name: "critics' loss", Unit: "rewards²"},
		v.series("", func(e qta.Evaluation) float64 { return e.CriticLoss }))
	add("predictive loss", "Equation 4, the latest minibatch's: how far the heads are from the next state.",
		draw.Axis{Name: "predictive loss", Unit: draw.Unit(id.lossUnit())},
		v.series("", func(e qta.Evaluation) float64 { return e.PredictiveLoss }))
	add("policy's loss", "The latest minibatch's: the lower, the more the critics expect of its actions.",
		draw.Axis{Name: "policy's loss", Unit: "rewards"},
		v.series("", func(e qta.Evaluation) float64 { return e.ActorLoss }))
	return charts
}

// Name returns the name of the environment with that of the parameters, as the
// title has it.
func (v *view) Name() string {
	r := v.Record.Run
	return strings.Join([]string{v.Subject, r.Preset, "seed " + strconv.FormatUint(r.Seed, 10)}, ", ")
}
