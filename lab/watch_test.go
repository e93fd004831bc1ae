package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"qta"
)

// A counted environment, drawn but without a map, counts the episodes that begin in it and
// in its twin. With one of them it ends a context.
type counted struct {
	Surveyor
	count *count
}

type count struct {
	episodes int
	film     int // the first episode after the latest evaluation
	last     int // before the context ends; 0 is never
	end      context.CancelFunc
}

func (e counted) Reset(rng *rand.Rand) qta.State {
	e.count.episodes++
	if e.count.episodes == e.count.last {
		e.count.end()
	}
	return e.Surveyor.Reset(rng)
}

// trainCounted trains a short run until its episode number last begins, or to its end if last is
// 0, and counts the episodes.
func trainCounted(t *testing.T, dir string, last int) (*count, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &count{last: last, end: cancel}
	o := tinyRun(dir)
	o.Steps = 40
	o.AfterEvaluation = func(qta.Evaluation, float64) { c.film = c.episodes + 1 }
	env := counted{maze(t).(Surveyor), c}
	twin := counted{maze(t).(Surveyor), c}
	err := Train(ctx, env, twin, o)
	return c, err
}

// After a signal at most one more episode begins, whatever plays the environment: an
// evaluation's second rollout, or an episode for its first state. The same command ends the
// run with the bytes of one that no signal stopped.
func TestStopsBetweenEpisodes(t *testing.T) {
	whole := newDir(t)
	all, err := trainCounted(t, whole, 0)
	must(t, err)
	stops := []int{
		3,                        // of CheckEnv
		all.film + 5,             // of the film of the end
		all.film + 5 + HeldOut/2, // of the held-out rollouts
		all.episodes - 9,         // of the desired goals
	}
	if !testing.Short() {
		for last := 1; last < all.episodes; last += 13 {
			stops = append(stops, last)
		}
	}
	for _, last := range stops {
		dir := newDir(t)
		what := fmt.Sprintf("stopped in episode %d of %d", last, all.episodes)
		c, err := trainCounted(t, dir, last)
		if !errors.Is(err, ErrStopped) || c.episodes > last+1 {
			t.Errorf("%s: %d have begun, error %v", what, c.episodes, err)
		}
		if _, err := trainCounted(t, dir, 0); err != nil {
			t.Errorf("%s, then continued: %v", what, err)
		}
		sameRun(t, what, dir, whole)
	}
}

// A command for a run that has ended plays no held-out rollouts again. Only the 200 desired
// goals that no record has are drawn once more. A signal meanwhile leaves all files.
func TestHeldOutOnce(t *testing.T) {
	dir := newDir(t)
	all, err := trainCounted(t, dir, 0)
	must(t, err)
	before := contents(t, dir)
	again, err := trainCounted(t, dir, 0)
	if err != nil || again.episodes > HeldOut+20 {
		t.Errorf("again it plays %d episodes of %d, error %v", again.episodes, all.episodes, err)
	}
	for _, last := range []int{3, again.episodes - 9} { // of those played again, of the goals
		c, err := trainCounted(t, dir, last)
		if !errors.Is(err, ErrStopped) || c.episodes > last {
			t.Errorf("a signal in episode %d: %d have begun, error %v", last, c.episodes, err)
		}
	}
	equal(t, "after a signal", before, contents(t, dir))
}

// Work that lasts says so once.
func TestPatience(t *testing.T) {
	var o Options
	h := hear(&o)
	w := o.watch(t.Context(), maze(t), "Playing")
	rng := rand.New(rand.NewPCG(1, 0))
	w.Reset(rng)
	equal(t, "what it says at once", "", h.said)
	w.begun = time.Now().Add(-5 * time.Second)
	w.Reset(rng)
	w.Reset(rng)
	equal(t, "what it says", "Playing: 1 episode in 5 s so far", h.said)
}

// A task that an untrained policy solves is called that at the start and at the end.
func TestUntrained(t *testing.T) {
	for radius, want := range map[float64]bool{0.35: false, 9: true} {
		o := newRun(t)
		o.Steps = 20
		o.Unchecked = true // CheckEnv refuses so large a radius
		h := hear(&o)
		trainIn(t, o, func() qta.Env { return alter(t, radius, 1, 1, 0) })
		what := fmt.Sprintf("with a radius of %v it ", radius)
		const warning = "the untrained policy solves 2 of 2 rollouts, so there is nothing to learn"
		const ending = "The untrained policy solved 2 of 2 rollouts: nothing was learned."
		equal(t, what+"warns", want, strings.Contains(h.warned, warning))
		equal(t, what+"says so", want, strings.Contains(h.said, ending))
	}
}

// A displaced maze is drawn beside its sketch.
type displaced struct {
	Sketcher
	by float64
}

func (e displaced) Place(goal []float64) (x, y float64) {
	x, y = e.Sketcher.Place(goal)
	return x, y + e.by
}

// A goal whose place no picture shows is named at the start.
func TestOutside(t *testing.T) {
	for by, want := range map[float64]bool{0: false, -3: true, 300: true} {
		o := newRun(t)
		o.Steps = 20
		h := hear(&o)
		trainIn(t, o, func() qta.Env { return displaced{maze(t).(Sketcher), by} })
		if strings.Contains(h.warned, "which is outside of the Sketch: that is from 0 to ") != want {
			t.Errorf("displaced by %v it warns %q", by, h.warned)
		}
	}
}
