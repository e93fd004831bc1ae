package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"qta"
	"qta/internal/draw"
	"qta/internal/words"
)

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
func (s *state) film(a *qta.Agent) *draw.Drawing {
	const top = 20
	p := newPlan(s.Sketch, top, mapWidth, mapHeight)
	bar := top + p.height() + 8
	d := &draw.Drawing{Title: fmt.Sprintf("A training in %s: the goals that the agent set itself, and rollouts of its policy",
		words.Count(len(s.Frames), "frame")),
		Width: mapWidth, Height: bar + draw.BarAltitude + 2}
	p.draw(d, Wall, Floor, Start, Goal, Near)
	if len(s.Frames) == 0 {
		d.Text(0, draw.TextSize, draw.Left, "soft", "No evaluation yet.")
		p.letters(d)
		return d
	}
	n, last := len(s.Frames), a.Steps()
	m := motion{whole: float64(n)*frameTime + holdTime}
	d.Add(`<g class="film">`)
	from := 0
	for i, f := range s.Frames {
		class := fmt.Sprintf("film-g%d", i)
		m.from(class, float64(i)*frameTime)
		d.Add(`<g class="rim %s" fill="%s">`, class, draw.Time((float64(i)+0.5)/float64(n)))
		for ; from < len(s.Goals) && (s.Goals[from].Step <= f.Step || i == n-1); from++ {
			x, y := p.at([2]float64{s.Goals[from].X, s.Goals[from].Y})
			d.Add(`<circle cx="%v" cy="%v" r="2.2"/>`, x, y)
		}
		d.Add(`</g>`)
	}
	p.letters(d)
	const left, width = 16, mapWidth - 32
	d.TimeBar(float64(last), "environment steps", left, bar, width)
	log := a.Evaluations()
	for i, f := range s.Frames {
		if i < n-1 {
			d.Add(`<g class="film-f" opacity="0" style="--film:%d">`, i)
		} else { // which is there without CSS, too
			d.Add(`<g class="film-l" style="--film:%d">`, i)
		}
		d.Text(0, draw.TextSize, draw.Left, "head", "after "+words.Count(f.Step, "step"))
		if k := slices.IndexFunc(log, func(e qta.Evaluation) bool { return e.Step == f.Step }); k >= 0 {
			d.Text(mapWidth, draw.TextSize, draw.Right, "ink", fmt.Sprintf("%.0f %% at the goal", 100*log[k].Success))
		}
		d.Add(`<path class="ink" d="M%v %vl4-7h-8z"/>`, left+width*float64(f.Step)/float64(last), bar)
		for _, r := range f.Rollouts {
			p.rollout(d, r)
		}
		d.Add(`</g>`)
	}
	d.Add(`</g>`)
	d.Style = m.css()
	return d
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
	fmt.Fprintf(&m.rules,
		"@keyframes %[1]s{0%%,%[2]s{opacity:0}%[3]s,100%%{opacity:1}}.%[1]s{animation:%[1]s %.4[4]gs linear infinite}",
		class, m.at(seconds), m.at(seconds+0.3), m.whole)
}

// css returns the rules for readers who have not asked for less motion. All
// frames have the same keyframes, which each begins at its own time.
func (m *motion) css() string {
	timing := fmt.Sprintf("%.4[1]gs calc(var(--film)*%.4[2]gs - %.4[1]gs)", m.whole, frameTime)
	shown := func(class string, seconds float64) string {
		return fmt.Sprintf("@keyframes %[1]s{0%%{opacity:1}%[2]s{opacity:0}}.film .%[1]s{animation:%[1]s %[3]s step-end infinite}",
			class, m.at(seconds), timing)
	}
	rules := m.rules.String() + shown("film-f", frameTime) + shown("film-l", frameTime+holdTime) +
		fmt.Sprintf("@keyframes film-w{0%%{stroke-dashoffset:1}%s,100%%{stroke-dashoffset:0}}.film .film-w{stroke-dasharray:1;animation:film-w %s linear infinite}",
			m.at(runTime), timing) +
		fmt.Sprintf("@keyframes film-e{0%%{opacity:0}%s{opacity:1}}.film .film-e{animation:film-e %s step-end infinite}",
			m.at(runTime), timing)
	return "@media(prefers-reduced-motion:no-preference){" + rules + ".film:hover *{animation-play-state:paused}}"
}
