package film

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/roomtest"
)

// filmed returns a film of a tiny run, and its agent.
func filmed(t testing.TB, maze string, evaluations int) (*Film, *qta.Agent) {
	t.Helper()
	m := roomtest.Maze(t, maze)
	p := qta.Small()
	p.HiddenSize, p.HiddenLayers, p.Batch, p.UncertaintyActions, p.Horizon = 8, 2, 16, 2, 10
	p.InitialSteps, p.LearningStarts = 20, 5
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	f := New(m, p, 7)
	o := qta.TrainOptions{Steps: 7*evaluations + 3, EvalEvery: 7, Rollouts: 1, AfterEvaluation: func(e qta.Evaluation) error {
		f.Take(a, 1/float64(e.Step))
		return nil
	}}
	if err := a.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
		t.Fatal(err)
	}
	return f, a
}

// TestPlay holds rollouts to the environment: they move as its agent does, end
// where they say, and are the same ones again.
func TestPlay(t *testing.T) {
	_, a := filmed(t, "1U5", 4)
	m := roomtest.Maze(t, "1U5")
	got := Play(a, m, 30)
	if diff := cmp.Diff(got, Play(a, m, 30)); diff != "" {
		t.Errorf("played twice (-first +second):\n%s", diff)
	}
	env, rng := m.Env(), rand.New(rand.NewPCG(1, 0))
	reached := 0
	for i, r := range got {
		s := env.Reset(rng)
		goal := slices.Clone(s.Desired)
		if len(r.Way) != 11 || !slices.Equal(r.Way[0][:], s.Achieved) {
			t.Fatalf("rollout %d begins at %v and has %d places, want %v and 11", i, r.Way[0], len(r.Way), s.Achieved)
		}
		if end := r.Way[10]; r.Reached != (env.Reward(end[:], goal) == 0) {
			t.Errorf("rollout %d ends at %v, its goal at %v: reached is %v", i, end, goal, r.Reached)
		}
		if r.Reached {
			reached++
		}
	}
	if reached == len(got) {
		t.Error("an untrained agent solves the maze")
	}
}

// TestThin holds the frames that are kept to the rule, whatever was kept before.
func TestThin(t *testing.T) {
	f := &Film{every: 5}
	for n := 1; n <= 500; n++ {
		f.Frames = append(f.Frames, Frame{Step: 5 * n})
		f.thin()
		stride := 1
		for n/stride > mostFrames {
			stride *= 2
		}
		var want, got []int
		for k := 1; k <= n; k++ {
			if k%stride == 0 || k == n {
				want = append(want, 5*k)
			}
		}
		for _, frame := range f.Frames {
			got = append(got, frame.Step)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) > mostFrames+1 {
			t.Fatalf("after evaluation %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestStore writes, reads and damages training.csv.
func TestStore(t *testing.T) {
	f, a := filmed(t, "1U5", 3)
	g := New(f.maze, a.Params(), 7)
	if err := g.decode(f.encode()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Frames, g.Frames) || string(f.Draw(a).File()) != string(g.Draw(a).File()) {
		t.Error("frames differ after reading")
	}
	lines := strings.SplitAfter(string(f.encode()), "\n")
	n := rolloutsKept * len(f.times)
	with := func(line, field int, text string) string {
		changed := slices.Clone(lines)
		fields := strings.Split(strings.TrimSuffix(changed[line-1], "\n"), ",")
		fields[field] = text
		changed[line-1] = strings.Join(fields, ",") + "\n"
		return strings.Join(changed, "")
	}
	twice := slices.Clone(lines)
	copy(twice[1+n:], lines[1:1+n])
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "line 1: want step"},
		{"another header", with(1, 0, "step"), "line 1: want step"},
		{"cut between lines", strings.Join(lines[:n], ""), "line " + strconv.Itoa(n) + ": the last frame ends here"},
		{"cut in a line", strings.Join(lines[:n], "") + "7,1.", "line " + strconv.Itoa(n+1)},
		{"another step within", with(5, 0, "8"), "line 5: want rollout 1"},
		{"another rollout", with(5, 2, "2"), "line 5: want rollout 1 of a frame at t = 3"},
		{"another time", with(5, 4, "4"), "line 5"},
		{"a word", with(5, 5, "x"), "line 5"},
		{"a place outside", with(5, 5, "99"), "line 5"},
		{"no number", with(5, 6, "NaN"), "line 5"},
		{"too many digits", with(5, 6, "1.50"), "line 5"},
		{"reached twice", with(5, 3, "2"), "line 5"},
		{"reached for once", with(2, 3, "1"), "line 3"},
		{"a frame twice", strings.Join(twice, ""), "want one after 7"},
	} {
		if err := g.decode([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if len(g.Frames) > 0 {
			t.Errorf("%s: %d frames are left", test.name, len(g.Frames))
		}
	}
}

// FuzzStore reads arbitrary bytes as training.csv: an error, or a film that is
// written as it was read and can be drawn.
func FuzzStore(f *testing.F) {
	whole, a := filmed(f, "1U5", 2)
	f.Add(whole.encode())
	f.Add([]byte(header))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := New(whole.maze, a.Params(), 7)
		if err := g.decode(data); err != nil {
			if len(g.Frames) > 0 {
				t.Errorf("%d frames beside the error %v", len(g.Frames), err)
			}
			return
		}
		if !bytes.Equal(g.encode(), data) {
			t.Errorf("%q is written as %q", data, g.encode())
		}
		if svg := g.Draw(a).File(); bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Error("a picture with what is no number")
		}
	})
}

// TestFile looks through the animation as a file: it needs nothing beside
// itself, moves without a script and only for those who have not asked for less
// motion, and without motion shows its last frame with all goals.
func TestFile(t *testing.T) {
	f, a := filmed(t, "4x5", 60)
	svg := string(f.Draw(a).File())
	elements := roomtest.WellFormed(t, "the animation", svg)
	if len(svg) >= 1<<20 || elements["script"]+elements["animate"]+elements["image"] > 1 {
		t.Errorf("%d bytes, elements %v", len(svg), elements)
	}
	for _, m := range regexp.MustCompile(`(?:href|src|url)\s*[=(]\s*"?([^">]{0,12})`).FindAllStringSubmatch(svg, -1) {
		if !strings.HasPrefix(m[1], "data:image/p") {
			t.Errorf("it refers to %q", m[1])
		}
	}
	style := svg[strings.Index(svg, "<style>"):strings.Index(svg, "</style>")]
	still, moving, found := strings.Cut(style, "@media(prefers-reduced-motion:no-preference){")
	if !found || strings.Contains(still, "animation") || strings.Count(moving, "{") != strings.Count(moving, "}")-1 {
		t.Error("something moves for those who have asked for less motion")
	}
	if n := len(f.Frames); n < 10 || strings.Count(svg, `opacity="0" style="--film:`) != n-1 || strings.Count(svg, `class="film-l" style="--film:`) != 1 {
		t.Errorf("of %d frames not all but the last are hidden without motion", n)
	}
	drawn := strings.Count(svg, ` r="2.2"/>`)
	if goals := len(a.Goals(0, a.Steps())); drawn != goals || goals < 50 {
		t.Errorf("%d goals are drawn of %d", drawn, goals)
	}
	empty := New(f.maze, a.Params(), 7)
	roomtest.WellFormed(t, "a film without frames", string(empty.Draw(a).File()))
}
