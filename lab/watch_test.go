package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
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

// trainCounted trains a short run until an episode, and returns how many have begun.
func trainCounted(t *testing.T, dir string, last int) (episodes int, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &count{last: last, end: cancel}
	o := tinyRun(dir)
	o.Steps = 40
	env := counted{maze(t).(Surveyor), c}
	twin := counted{maze(t).(Surveyor), c}
	err = Train(ctx, env, twin, o)
	return c.episodes, err
}

// Whatever plays an environment when a signal comes, no further episode begins but for an
// evaluation's second rollout and a first state. The same command ends the run with the
// bytes of one that no signal stopped.
func TestStopsBetweenEpisodes(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "run")
	all, err := trainCounted(t, whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	stride := 13
	if testing.Short() {
		stride = 61
	}
	for last := 1; last < all; last += stride {
		dir := filepath.Join(t.TempDir(), "run")
		episodes, err := trainCounted(t, dir, last)
		if !errors.Is(err, ErrStopped) || episodes > last+1 {
			t.Errorf("stopped in episode %d of %d: %d have begun, error %v", last, all, episodes, err)
		}
		if _, err := trainCounted(t, dir, 0); err != nil {
			t.Errorf("stopped in episode %d of %d, then continued: %v", last, all, err)
		}
		sameRun(t, fmt.Sprintf("stopped in episode %d of %d", last, all), dir, whole)
	}
}

// A command for a run that has ended plays no held-out rollouts again. Only the 200 desired
// goals that no record has are drawn once more.
func TestHeldOutOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	all, err := trainCounted(t, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	again, err := trainCounted(t, dir, 0)
	if err != nil || again > HeldOut+20 {
		t.Errorf("again it plays %d episodes of %d, error %v", again, all, err)
	}
	for name, text := range contents(t, dir) {
		if text != before[name] {
			t.Errorf("%s is another", name)
		}
	}
	if _, err := trainCounted(t, dir, 8); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped when it had ended: error %v", err)
	}
	r, err := ReadRecord(filepath.Join(dir, RecordFile))
	if err != nil || r.State != Finished {
		t.Errorf("then its record is %+v, error %v", r, err)
	}
}

// Work that lasts says so once.
func TestPatience(t *testing.T) {
	said := ""
	o := Options{Say: func(line string) { said += line }}
	w := o.watch(t.Context(), maze(t), "Playing")
	rng := rand.New(rand.NewPCG(1, 0))
	w.Reset(rng)
	if said != "" {
		t.Errorf("at once it says %q", said)
	}
	w.begun = time.Now().Add(-5 * time.Second)
	w.Reset(rng)
	w.Reset(rng)
	if said != "Playing: 1 episode in 5 s so far" {
		t.Errorf("it says %q", said)
	}
}

// A task that an untrained policy solves is called that at the start and at the end.
func TestUntrained(t *testing.T) {
	for radius, want := range map[float64]bool{0.35: false, 9: true} {
		o := tinyRun(filepath.Join(t.TempDir(), "run"))
		o.Steps = 20
		o.Unchecked = true // CheckEnv refuses so large a radius
		warned, said := "", ""
		o.Warn = func(line string) { warned += line }
		o.Say = func(line string) { said += line }
		env := func() *altered { return alter(t, radius, 1, 1, 0) }
		if err := Train(t.Context(), env(), env(), o); err != nil {
			t.Fatal(err)
		}
		warns := strings.Contains(warned, "the untrained policy solves 2 of 2 rollouts, so there is nothing to learn")
		says := strings.Contains(said, "Its untrained policy solved 2 of 2 rollouts: nothing was learned.")
		if warns != want || says != want {
			t.Errorf("with a radius of %v it warns %q and says %q", radius, warned, said)
		}
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
		o := tinyRun(filepath.Join(t.TempDir(), "run"))
		o.Steps = 20
		warned := ""
		o.Warn = func(line string) { warned += line }
		env := func() qta.Env { return displaced{maze(t).(Sketcher), by} }
		if err := Train(t.Context(), env(), env(), o); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(warned, "which is outside of the Sketch: that is from 0 to ") != want {
			t.Errorf("displaced by %v it warns %q", by, warned)
		}
	}
}
