package film

import (
	"fmt"
	"math"
	"strings"

	"qta"
	"qta/cmd/qta/internal/draw"
	"qta/cmd/qta/internal/words"
)

// The size of a maze in the pictures of a run.
const mapWidth, mapHeight = 340, 300

// Times of the animation, in seconds.
const (
	frameTime = 1.2 // of a frame
	runTime   = 0.9 // of that, until its rollouts have got where they end
	holdTime  = 3.0 // for which the last frame stays
)

// mostGoals is how many goals are drawn: of more every second, third and so on.
const mostGoals = 900

// Draw returns the film of an agent as an animation, which without motion is
// its last frame with all goals. The animation is of CSS, which leaves it out
// for readers who ask for less motion.
func (f *Film) Draw(a *qta.Agent) *draw.Drawing {
	const top = 20
	plan := draw.NewPlan(f.maze, top, mapWidth, mapHeight)
	_, h := plan.Size()
	bar := top + h + 12
	d := &draw.Drawing{Title: fmt.Sprintf("A training in %s: the goals that the agent set itself, and rollouts of its policy", words.Count(len(f.Frames), "frame")),
		Width: mapWidth, Height: bar + draw.BarAltitude + 2}
	plan.Floor(d)
	plan.Regions(d)
	if len(f.Frames) == 0 {
		d.Text(0, draw.TextSize, draw.Left, "soft", "No evaluation yet.")
		plan.Letters(d)
		return d
	}

	n, last := len(f.Frames), a.Steps()
	m := motion{whole: float64(n)*frameTime + holdTime}
	d.Add(`<g class="film">`)
	for i, goals := range f.goals(a) {
		class := fmt.Sprintf("film-g%d", i)
		m.from(class, float64(i)*frameTime)
		d.Add(`<g class="rim %s" fill="%s">`, class, draw.Time((float64(i)+0.5)/float64(n)))
		for _, g := range goals {
			x, y := plan.At(g[0], g[1])
			d.Add(`<circle cx="%v" cy="%v" r="2.2"/>`, x, y)
		}
		d.Add(`</g>`)
	}
	plan.Letters(d)
	const left, width = 16, mapWidth - 32
	d.TimeBar(float64(last), "environment steps", left, bar, width)
	success := map[int]float64{}
	for _, e := range a.Evaluations() {
		success[e.Step] = e.Success
	}
	for i, frame := range f.Frames {
		if i < n-1 {
			d.Add(`<g class="film-f" opacity="0" style="--film:%d">`, i)
		} else { // which is there without CSS, too
			d.Add(`<g class="film-l" style="--film:%d">`, i)
		}
		d.Text(0, draw.TextSize, draw.Left, "head", "after "+words.Count(frame.Step, "step"))
		d.Text(mapWidth, draw.TextSize, draw.Right, "ink", fmt.Sprintf("%.0f %% at the goal", 100*success[frame.Step]))
		d.Add(`<path class="ink" d="M%v %vl4-7h-8z"/>`, left+width*float64(frame.Step)/float64(last), bar)
		for _, r := range frame.Rollouts {
			Picture(d, plan, r)
		}
		d.Add(`</g>`)
	}
	d.Add(`</g>`)
	d.Style = m.css()
	return d
}

// goals returns the goals of the time before each frame, those after the last
// among its own.
func (f *Film) goals(a *qta.Agent) [][][]float64 {
	every := 1 + len(a.Goals(0, a.Steps()))/mostGoals
	all := make([][][]float64, len(f.Frames))
	from, count := 0, 0
	for i, frame := range f.Frames {
		to := frame.Step
		if i == len(f.Frames)-1 {
			to = a.Steps()
		}
		for _, g := range a.Goals(from, to) {
			if count%every == 0 {
				all[i] = append(all[i], g)
			}
			count++
		}
		from = to
	}
	return all
}

// Picture draws a rollout: blue to a disc where it ends at the goal, else red to
// a triangle.
func Picture(d *draw.Drawing, p draw.Plan, r Rollout) {
	i := 3
	if r.Reached {
		i = 0
	}
	p.Path(d, i, "film-w", r.Way)
	end := r.Way[len(r.Way)-1]
	x, y := p.At(end[0], end[1])
	d.Add(`<g class="film-e">`)
	d.Dot(i, x, y, false)
	d.Add(`</g>`)
}

// A motion is the animation of a film that takes as many seconds as whole.
type motion struct {
	whole float64
	rules strings.Builder
}

// at returns a time as a part of the whole, rounded down: a frame is gone when
// the next one comes.
func (m *motion) at(seconds float64) string {
	return fmt.Sprintf("%.3f%%", math.Floor(1e5*seconds/m.whole)/1e3)
}

// from lets the elements of a class appear at a time, to stay.
func (m *motion) from(class string, seconds float64) {
	fmt.Fprintf(&m.rules, "@keyframes %[1]s{0%%,%[2]s{opacity:0}%[3]s,100%%{opacity:1}}.%[1]s{animation:%[1]s %.4[4]gs linear infinite}",
		class, m.at(seconds), m.at(seconds+0.3), m.whole)
}

// css returns the rules for readers who have not asked for less motion. All
// frames have the same keyframes, which each begins at its own time.
func (m *motion) css() string {
	shown := func(class string, seconds float64) string {
		return fmt.Sprintf("@keyframes %[1]s{0%%{opacity:1}%[2]s{opacity:0}}.film .%[1]s{animation:%[1]s %[3]s step-end infinite}", class, m.at(seconds), m.timing())
	}
	rules := m.rules.String() + shown("film-f", frameTime) + shown("film-l", frameTime+holdTime) +
		fmt.Sprintf("@keyframes film-w{0%%{stroke-dashoffset:1}%s,100%%{stroke-dashoffset:0}}.film .film-w{stroke-dasharray:1;animation:film-w %s linear infinite}", m.at(runTime), m.timing()) +
		fmt.Sprintf("@keyframes film-e{0%%{opacity:0}%s{opacity:1}}.film .film-e{animation:film-e %s step-end infinite}", m.at(runTime), m.timing())
	return "@media(prefers-reduced-motion:no-preference){" + rules + ".film:hover *{animation-play-state:paused}}"
}

// timing returns how long an animation is, and where in it the one of a frame
// begins.
func (m *motion) timing() string {
	return fmt.Sprintf("%.4[1]gs calc(var(--film)*%.4[2]gs - %.4[1]gs)", m.whole, frameTime)
}
