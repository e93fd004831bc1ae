package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"qta"
)

// The files to look at, in a run's directory.
const (
	pageFile     = "report.html"
	curveFile    = "curve.svg"
	figure5File  = "figure5.svg"
	figure5Store = "figure5.csv"
)

// openFigure5 reads the snapshots of the run up to where its agent is. A file
// that cannot be used is no reason not to train: it is begun anew.
func (s *session) openFigure5(m *qta.Maze, stderr io.Writer) {
	s.figure5 = newFigure5(m, s.agent.Params(), s.record.Run.EvalEvery)
	data, err := os.ReadFile(s.path(figure5Store))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.figure5.decode(data)
	}
	if err != nil {
		fmt.Fprintf(stderr, "qta: warning: %s is damaged: %s; Figure 5 begins anew\n", s.path(figure5Store), bare(cause(err)))
	}
	s.figure5.forgetAfter(s.agent.Steps())
}

// writeFigure5 writes the snapshots, unless they are safe already.
func (s *session) writeFigure5(durable bool) error {
	if !s.figure5.unsaved {
		return nil
	}
	s.figure5.unsaved = !durable
	return replaceFile(s.path(figure5Store), s.figure5.encode(), durable)
}

// writePages writes the files to look at.
func (s *session) writePages() error {
	if err := s.writeFigure5(false); err != nil {
		return err
	}
	g := s.figure5.frame()
	pictures := s.figure5.pictures(g)
	var page bytes.Buffer
	if err := pageTemplate().Execute(&page, s.page(g, pictures)); err != nil {
		return fmt.Errorf("%s: %w", s.path(pageFile), err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{curveFile, learningCurve(s.record.Run, s.agent.Evaluations(), s.agent.SolvedAt()).file()},
		{figure5File, s.figure5.draw(s.record.Run.Maze, g, pictures).file()},
		{pageFile, page.Bytes()},
	} {
		if err := replaceFile(s.path(f.name), f.data, false); err != nil {
			return err
		}
	}
	return nil
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

// A page is what report.html shows.
type page struct {
	Style                 template.CSS
	Running               bool
	Maze, Preset          string
	Seed                  uint64
	State, Story, Failure string
	Facts                 []fact
	Curriculum, Deviation string
	Curve, Rollouts       template.HTML
	Goals                 template.HTML
	Steps, From           int
	ShownRollouts         int
	PictureWidth          int
	PicturesPerLine       int
	Snapshots             []pageSnapshot
	Parameters            []pageParameter
	Command               []string // words
}

type fact struct{ Name, Value string }

type pageSnapshot struct {
	Caption  string
	Pictures []template.HTML
}

type pageParameter struct {
	Name, Value, Default, Source string
	Changed                      bool
}

func (s *session) page(g frame, pictures [][]*drawing) *page {
	r, id := s.record, s.record.Run
	steps := s.agent.Steps()
	from := max(0, steps-id.EvalEvery)
	p := &page{
		Style:         template.CSS(figureStyle() + pageStyle),
		Running:       r.State == stateRunning,
		Maze:          id.Maze,
		Preset:        id.Preset,
		Seed:          id.Seed,
		State:         r.State,
		Story:         s.story(),
		Steps:         steps,
		Curriculum:    id.Parameters.Curriculum,
		From:          from,
		ShownRollouts: shownRollouts,
		Command:       id.command(r.Limits),
		Curve:         template.HTML(learningCurve(id, s.agent.Evaluations(), s.agent.SolvedAt()).inline()),
		Rollouts:      template.HTML(rolloutPicture(s.figure5.maze, playRollouts(s.agent, s.figure5.maze)).inline()),
		Goals:         template.HTML(goalPicture(s.figure5.maze, s.agent.Goals(from, steps)).inline()),
	}
	p.Deviation, _ = s.figure5.deviation()
	if r.Outcome != nil {
		p.Failure = r.Outcome.Message
	}
	p.Facts = []fact{
		{"path length of the maze", fmt.Sprint(s.figure5.maze.PathLength())},
		{"environment steps", fmt.Sprintf("%d of %d, stop: %s", steps, r.Limits.Steps, r.Limits.Stop)},
		{"version of the algorithm", id.Version},
		{"program", r.Program.Revision + ", " + r.Program.Go},
		{"machine", fmt.Sprintf("%s/%s, %s kernel, %s", r.Machine.OS, r.Machine.Arch, r.Machine.Kernel, count(r.Machine.Threads, "thread"))},
	}
	if r.Outcome != nil && r.Outcome.Digest != "" {
		p.Facts = append(p.Facts, fact{"SHA-256 of the networks", r.Outcome.Digest})
	}
	p.PictureWidth, p.PicturesPerLine = int(g.width), g.perLine
	for i := range pictures {
		row := pageSnapshot{Caption: s.figure5.snapshots[i].caption()}
		for _, d := range pictures[i] {
			row.Pictures = append(row.Pictures, template.HTML(d.inline()))
		}
		p.Snapshots = append(p.Snapshots, row)
	}
	params, standard := qta.Params(id.Parameters), qta.Default()
	for _, field := range qta.Fields() {
		value, usual := params.Value(field.Name), standard.Value(field.Name)
		p.Parameters = append(p.Parameters, pageParameter{field.Name, value, usual, field.Source, value != usual})
	}
	return p
}

// command returns the words of a command line that makes the same run.
func (id identity) command(l limits) []string {
	maze := id.Maze
	if m, err := qta.NewMaze(maze); err != nil || !slices.Equal(mapLines(m), id.Map) {
		maze = id.Maze + ".txt"
	}
	preset, changes := "", []string(nil)
	for i, p := range qta.Presets() {
		c := changesFrom(p.Params, qta.Params(id.Parameters))
		if i == 0 || len(c) < len(changes) || len(c) == len(changes) && strings.HasPrefix(id.Preset, p.Name) {
			preset, changes = p.Name, c
		}
	}
	words := []string{"qta", "-maze", shellWord(maze), "-params", preset}
	for _, c := range changes {
		words = append(words, "-set", shellWord(c))
	}
	return append(words, strings.Fields(fmt.Sprintf("-seed %d -eval %d -steps %d -stop %s", id.Seed, id.EvalEvery, l.Steps, l.Stop))...)
}

// changesFrom lists what makes q of p, as values for -set.
func changesFrom(p, q qta.Params) []string {
	var changes []string
	for _, field := range qta.Fields() {
		if v := q.Value(field.Name); v != p.Value(field.Name) {
			changes = append(changes, field.Name+"="+v)
		}
	}
	return changes
}

// shellWord quotes a word of a command line where it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-+=./:,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

const pageStyle = `
html{background:var(--paper);color:var(--ink);color-scheme:light dark}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;max-width:1080px;margin:0 auto;padding:1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--grid)}
h3{font-size:.95rem;margin:1.25rem 0 .25rem}
p{margin:.5rem 0;max-width:46rem}
svg{display:block;max-width:100%;height:auto}
figure{margin:0}
figcaption,.note{font-size:.85rem;color:var(--soft)}
.side{display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}
.side svg{width:100%;max-width:440px}
.panels{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,calc(.94*var(--picture))),1fr));break-inside:avoid}
.panels svg{width:100%;max-width:calc(1.5*var(--picture))}
@media(min-width:900px){.panels{grid-template-columns:repeat(var(--line),1fr)}}
.snapshot{break-inside:avoid}
table{border-collapse:collapse;font-size:.85rem}
th,td{text-align:left;vertical-align:top;padding:.15rem .75rem .15rem 0;border-bottom:1px solid var(--grid)}
thead th{color:var(--soft);font-weight:500}
tbody th{font-weight:400}
.changed th,.changed td{font-weight:600}
.source{color:var(--soft);font-weight:400!important}
code span{display:inline-block;max-width:100%;white-space:pre-wrap}
code{font:.85rem ui-monospace,Menlo,Consolas,monospace}
.state{display:inline-block;border:1px solid var(--soft);border-radius:1rem;padding:0 .6rem;font-size:.85rem}
@media(max-width:600px){
 .parameters .source{display:block;border:0;padding-left:1rem}
 .parameters thead{display:none}
 .parameters tr{display:block;border-bottom:1px solid var(--grid)}
 .parameters th,.parameters td{display:inline-block;border:0}
 .parameters .usual::before{content:"default "}
}
@media print{body{max-width:none;padding:0}.refresh{display:none}}
`

func pageTemplate() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
{{- if .Running}}
<meta http-equiv="refresh" content="60">
{{- end}}
<title>QTA on maze {{.Maze}}, {{.Preset}}, seed {{.Seed}}</title>
<style>{{.Style}}</style>
</head>
<body>
<h1>Query The Agent on maze {{.Maze}}</h1>
<p><span class="state">{{.State}}</span> Parameters {{.Preset}}, seed {{.Seed}}: {{.Story}}.</p>
{{- with .Failure}}
<p><strong>The run has failed: {{.}}.</strong></p>
{{- end}}
{{- if .Running}}
<p class="note refresh">This page is written anew after evaluations, and loads itself every minute.</p>
{{- end}}

<h2>Learning</h2>
<div class="side">
<figure>{{.Curve}}<figcaption>Success of each evaluation: the fraction of its rollouts at the goal after their last step.</figcaption></figure>
<figure>{{.Rollouts}}<figcaption>{{.ShownRollouts}} rollouts of the policy after step {{.Steps}}, without exploration, from other starts than the evaluation's. The mark is where a rollout ends.</figcaption></figure>
<figure>{{.Goals}}<figcaption>Goals that the agent set itself from step {{.From}} to step {{.Steps}}.</figcaption></figure>
</div>

<h2>What the agent makes of the maze</h2>
<p class="note">The panel of the paper's Figure 5. Value and optimal value: of each point as a goal, seen from the start (disc). The colours of a column mean the same at all times, but for those of the {{.Deviation}}; value and optimal value have the same. The ring is the maze's goal. The numbers are in figure5.csv.
{{- if ne .Curriculum "qta"}} The goals of this run are chosen otherwise, by the curriculum {{.Curriculum}}: probability and samples are what QTA would choose.{{end}}</p>
{{- range .Snapshots}}
<div class="snapshot">
<h3>{{.Caption}}</h3>
<div class="panels" style="--picture:{{$.PictureWidth}}px;--line:{{$.PicturesPerLine}}">
{{- range .Pictures}}
{{.}}
{{- end}}
</div>
</div>
{{- else}}
<p>No evaluation yet.</p>
{{- end}}

<h2>The run</h2>
<table>
{{- range .Facts}}
<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>
{{- end}}
</table>
<p>The same run again: <code>{{range .Command}}<span>{{.}}</span> {{end}}</code></p>

<h2>Parameters</h2>
<p class="note">Values that differ from the default are bold. The source is that of the paper's value.</p>
<table class="parameters">
<thead><tr><th>parameter</th><th>value</th><th>default</th><th>source</th></tr></thead>
<tbody>
{{- range .Parameters}}
<tr{{if .Changed}} class="changed"{{end}}><th>{{.Name}}</th><td>{{.Value}}</td><td class="usual">{{.Default}}</td><td class="source">{{.Source}}</td></tr>
{{- end}}
</tbody>
</table>
</body>
</html>
`))
}
