package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
)

// tinyAgent returns an untrained agent of a tiny run.
func tinyAgent(t *testing.T, m *qta.Maze) *qta.Agent {
	t.Helper()
	p := qta.Small()
	p.HiddenSize, p.HiddenLayers, p.Batch, p.UncertaintyActions, p.Horizon = 8, 2, 16, 2, 10
	p.InitialSteps, p.LearningStarts = 20, 5
	a, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func trainTo(t *testing.T, a *qta.Agent, m *qta.Maze, steps int) {
	t.Helper()
	if err := a.Train(t.Context(), m.Env(), m.Env(), qta.TrainOptions{Steps: steps, EvalEvery: 1000, Rollouts: 1}); err != nil {
		t.Fatal(err)
	}
}

func mustMaze(t testing.TB, name string) *qta.Maze {
	t.Helper()
	m, err := qta.NewMaze(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestThin holds the rows kept against the rule, whatever was kept before.
func TestThin(t *testing.T) {
	f := &figure5{every: 5}
	for n := 1; n <= 1100; n++ {
		f.snapshots = append(f.snapshots, snapshot{step: 5 * n})
		f.thin()
		var want []int
		for power := 1; power <= n; power *= 2 {
			want = append(want, 5*power)
		}
		if want[len(want)-1] != 5*n {
			want = append(want, 5*n)
		}
		want = want[max(0, len(want)-mostSnapshots):]
		var got []int
		for _, s := range f.snapshots {
			got = append(got, s.step)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after evaluation %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestFigure5Store writes, reads and damages figure5.csv.
func TestFigure5Store(t *testing.T) {
	m := mustMaze(t, "1U5")
	a := tinyAgent(t, m)
	f := newFigure5(m, a.Params(), 15)
	for _, steps := range []int{15, 30, 45} {
		trainTo(t, a, m, steps)
		f.take(a)
	}
	file := func(f *figure5) string { return string(f.draw("1U5", f.frame(), f.pictures(f.frame())).file()) }
	g := newFigure5(m, a.Params(), 15)
	if err := g.decode(f.encode()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.snapshots, g.snapshots) {
		t.Error("snapshots differ after reading")
	}
	if file(f) != file(g) {
		t.Error("figures differ after reading")
	}

	lines := strings.SplitAfter(string(f.encode()), "\n")
	n := len(f.points)
	with := func(line int, text string) string {
		changed := slices.Clone(lines)
		changed[line-1] = text
		return strings.Join(changed, "")
	}
	row := func(line int) []string { return strings.Split(lines[line-1], ",") }
	swapped := row(7)
	swapped[1] = "99"
	negative := row(9)
	negative[8] = "-1\n"
	earlier := slices.Clone(lines)
	copy(earlier[1+n:], lines[1:1+n])
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "line 1: want step"},
		{"another header", with(1, "step\n"), "line 1: want step"},
		{"cut between lines", strings.Join(lines[:n], ""), "the last snapshot ends here"},
		{"cut in a line", strings.Join(lines[:n], "") + "15,1.", "line " + strconv.Itoa(n+1)},
		{"a word", with(3, "15,1.05,1.15,x,0,0,0,0,0\n"), "line 3: want point 1.05,1.15"},
		{"another place", with(7, strings.Join(swapped, ",")), "line 7"},
		{"a negative count", with(9, strings.Join(negative, ",")), "line 9"},
		{"a snapshot twice", strings.Join(earlier, ""), "want one after 15"},
	} {
		if err := g.decode([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if len(g.snapshots) > 0 {
			t.Errorf("%s: %d snapshots are left", test.name, len(g.snapshots))
		}
	}
}

// TestFigure5Numbers holds figure5.csv against the library, point by point.
func TestFigure5Numbers(t *testing.T) {
	m := mustMaze(t, "1U5")
	a := tinyAgent(t, m)
	trainTo(t, a, m, 40)
	f := newFigure5(m, a.Params(), 40)
	f.take(a)
	lattice := m.Hops(10)
	rows := strings.Split(strings.TrimSuffix(string(f.encode()), "\n"), "\n")[1:]
	if want := 11 * 100; len(rows) != want {
		t.Fatalf("%d points, want %d", len(rows), want)
	}
	drawn, sum := 0, 0.0
	for _, row := range rows {
		var x [9]float64
		for i, field := range strings.Split(row, ",") {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			x[i] = v
		}
		k := int(x[1]*10)*lattice.Cols + int(x[2]*10)
		want := qta.OptimalValue(a.Params().Discount, lattice.Hops[k])
		if d := x[4] - want; d > 1e-5 || d < -1e-5 {
			t.Fatalf("%s: optimal value %v, want %v", row, x[4], want)
		}
		if d := max(x[3]-x[4], x[4]-x[3]) - x[5]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("%s: the error is not that of value and optimal value", row)
		}
		drawn += int(x[8])
		sum += x[7]
	}
	if drawn != sampledGoals || sum < 0.9999 || sum > 1.0001 {
		t.Errorf("%d samples and probabilities that add up to %v, want %d and 1", drawn, sum, sampledGoals)
	}
}

// TestFigureResume holds the files to look at of a run with interruptions
// against those of one without.
func TestFigureResume(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: it draws more than a hundred figures, which takes seconds")
	}
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "100", "-out", "whole")...)
	rounds := 0
	for code := exitUnfinished; code == exitUnfinished && rounds < 100; rounds++ {
		code = interrupted(t, 4, tinyRun("-steps", "100", "-out", "parts", "-checkpoint", strconv.Itoa(20+rounds))...).code
	}
	if rounds < 5 {
		t.Errorf("%d rounds, want more interruptions", rounds)
	}
	for _, name := range []string{curveFile, figure5File, figure5Store, pageFile} {
		if readFile(t, "whole", name) != readFile(t, "parts", name) {
			t.Errorf("%s differs", name)
		}
	}
	if got := strings.Count(readFile(t, "whole", pageFile), "<h3>"); got != 5 {
		t.Errorf("%d snapshots on the page, want those of evaluations 1, 2, 4, 8 and 14", got)
	}

	// Snapshots that cannot be read are begun anew, and training goes on.
	writeFile(t, "parts/"+figure5Store, "nonsense")
	got := command(t, tinyRun("-steps", "110", "-out", "parts")...)
	if got.code != exitDone || !strings.Contains(got.errors, "figure5.csv is damaged: line 1") {
		t.Errorf("exit code %d, stderr %q", got.code, got.errors)
	}
	mustRun(t, tinyRun("-steps", "110", "-out", "whole")...)
	sameOutcome(t, "whole", "parts")
}

func TestFigure5Command(t *testing.T) {
	t.Chdir(t.TempDir())
	out := mustRun(t, append([]string{"figure5"}, tinyRun("-maze", "4x5", "-steps", "20", "-out", "run")...)...)
	if !strings.Contains(out, "on maze 4x5") || readFile(t, "run", figure5File) == "" {
		t.Errorf("output %q", out)
	}
	before := tree(t)
	if out := mustRun(t, "figure5", "run", "-o", "again.svg"); out != "Drew 2 snapshots of maze 4x5 to again.svg.\n" {
		t.Errorf("output %q", out)
	}
	if readFile(t, "run", figure5File) != readFile(t, "again.svg") {
		t.Error("the figure drawn again differs")
	}
	// A run from before there were snapshots.
	if err := os.Remove(filepath.Join("run", figure5Store)); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "figure5", "run"); out != "Drew 1 snapshot of maze 4x5 to figure5.svg.\n" {
		t.Errorf("output %q", out)
	}
	want := slices.DeleteFunc(append(before, "again.svg", "figure5.svg"), func(s string) bool { return s == filepath.Join("run", figure5Store) })
	slices.Sort(want)
	got := tree(t)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	writeFile(t, "run/"+figure5Store, "x")
	for _, test := range []struct{ args, want string }{
		{"figure5 nowhere", "nowhere is not a run directory"},
		{"figure5 run more", `unexpected argument "more"`},
		{"figure5 run", "figure5.csv is damaged: line 1: want step"},
	} {
		if got := command(t, strings.Fields(test.args)...); got.code != exitInput || !strings.Contains(got.errors, test.want) {
			t.Errorf("qta %s: exit code %d, stderr %q, want %q", test.args, got.code, got.errors, test.want)
		}
	}
}

// TestHeatMap reads a heat map's pixels back.
func TestHeatMap(t *testing.T) {
	m, err := qta.ParseMaze("S.\n#G\n")
	if err != nil {
		t.Fatal(err)
	}
	a := tinyAgent(t, m)
	f := newFigure5(m, a.Params(), 1)
	f.take(a)
	panels := f.panels()
	svg := f.picture(f.frame(), &panels[2], &f.snapshots[0]).inline()
	address := regexp.MustCompile(`base64,([^"]+)"`).FindStringSubmatch(svg)
	data, err := base64.StdEncoding.DecodeString(address[1])
	if err != nil {
		t.Fatal(err)
	}
	image, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if b := image.Bounds(); b.Dx() != 20 || b.Dy() != 20 {
		t.Fatalf("the image is %v, want 20 by 20 pixels", b)
	}
	if _, _, _, alpha := image.At(3, 15).RGBA(); alpha != 0 {
		t.Error("a wall is painted")
	}
	top, goal := image.At(5, 5), image.At(15, 15)
	if want := viridis()[panels[2].scale(&f.snapshots[0]).colour(0)]; color.NRGBAModel.Convert(top) != want {
		t.Errorf("the start, whose optimal value is 0, is %v, want %v", top, want)
	}
	if luminance(goal) >= luminance(top) {
		t.Errorf("the goal is %v, not darker than the start", goal)
	}
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)
}

func TestViridis(t *testing.T) {
	p := viridis()
	if len(p) != firstColour+colours || len(p) > 256 {
		t.Fatalf("%d colours", len(p))
	}
	for i := firstColour + 1; i < len(p); i++ {
		if luminance(p[i]) <= luminance(p[i-1]) {
			t.Errorf("colour %d is not lighter than the one before", i)
		}
	}
	// A few colours of Matplotlib's table of 256.
	for _, test := range []struct {
		x    float64
		want color.NRGBA
	}{{0, color.NRGBA{68, 1, 84, 255}}, {0.5, color.NRGBA{33, 145, 140, 255}}, {0.25, color.NRGBA{59, 82, 139, 255}}, {1, color.NRGBA{253, 231, 37, 255}}} {
		got := p[scale{0, 1}.colour(test.x)].(color.NRGBA)
		for _, d := range []int{int(got.R) - int(test.want.R), int(got.G) - int(test.want.G), int(got.B) - int(test.want.B)} {
			if d > 3 || d < -3 {
				t.Errorf("%v is %v, want about %v", test.x, got, test.want)
			}
		}
	}
}

func TestScale(t *testing.T) {
	nan := float32(0)
	nan /= nan
	s := nothing().over([]float32{3, nan, -1, 2})
	if diff := cmp.Diff(scale{-1, 3}, s, cmp.AllowUnexported(scale{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		s    scale
		x    float64
		want uint8
	}{
		{s, -1, firstColour}, {s, 3, firstColour + colours - 1}, {s, 99, firstColour + colours - 1}, {s, float64(nan), notANumber},
		{scale{2, 2}, 2, firstColour}, {nothing(), 2, firstColour},
	} {
		if got := test.s.colour(test.x); got != test.want {
			t.Errorf("%v in %v has colour %d, want %d", test.x, test.s, got, test.want)
		}
	}
}

// TestMostPoints bounds the time of a snapshot in a large maze.
func TestMostPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		height, width := 3+int(90*rng.Float64()), 5+2*int(40*rng.Float64())
		m, err := qta.NewMaze(strconv.Itoa(height) + "x" + strconv.Itoa(width))
		if err != nil {
			continue
		}
		if f := newFigure5(m, qta.Default(), 1); len(f.points) > mostPoints || len(f.points) == 0 {
			t.Errorf("%dx%d: %d points", height, width, len(f.points))
		}
	}
}

// benchmarkRun returns the session of a run at full size on 12x5 with as many
// snapshots as there can be.
func benchmarkRun(b *testing.B) *session {
	m := mustMaze(b, "12x5")
	a, err := qta.NewAgent(qta.Default(), m.Env().Sizes(), 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Close)
	p := a.Params()
	s := &session{dir: b.TempDir(), agent: a, record: &record{Run: identity{"", "12x5", mapLines(m), "default", parameters(p), 1, 1, rollouts}}}
	s.openFigure5(m, io.Discard)
	stop := func(e qta.Evaluation) error {
		if n := e.Step; n&(n-1) == 0 {
			s.figure5.take(a)
		}
		return nil
	}
	err = a.Train(context.Background(), m.Env(), m.Env(), qta.TrainOptions{Steps: 1 << (mostSnapshots - 1), EvalEvery: 1, Rollouts: 1, AfterEvaluation: stop})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkLooks is what looks cost at each evaluation of a run at full size.
func BenchmarkLooks(b *testing.B) {
	s := benchmarkRun(b)
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			s.figure5.take(s.agent)
		}
	})
	b.Run("pages", func(b *testing.B) {
		for b.Loop() {
			if err := s.writePages(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
