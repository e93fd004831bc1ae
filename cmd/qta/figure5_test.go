package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/figure5"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// TestFigureResume holds the files to look at of a run with interruptions
// against those of one without.
func TestFigureResume(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "100", "-out", "whole")...)
	rounds := 0
	for code := exitUnfinished; code == exitUnfinished && rounds < 100; rounds++ {
		code = interrupted(t, 4, tinyRun("-steps", "100", "-out", "parts", "-checkpoint", strconv.Itoa(20+rounds))...).code
	}
	if rounds < 5 {
		t.Errorf("%d rounds, want more interruptions", rounds)
	}
	for _, name := range []string{rundir.CurveFile, rundir.Figure5File, rundir.Figure5Store, rundir.PageFile} {
		if roomtest.Read(t, "whole", name) != roomtest.Read(t, "parts", name) {
			t.Errorf("%s differs", name)
		}
	}
	if got := strings.Count(roomtest.Read(t, "whole", rundir.PageFile), "<h3>"); got != 5 {
		t.Errorf("%d snapshots on the page, want those of evaluations 1, 2, 4, 8 and 14", got)
	}

	// Snapshots that cannot be read are begun anew, and training goes on.
	roomtest.Write(t, "parts/"+rundir.Figure5Store, "nonsense")
	got := command(t, tinyRun("-steps", "110", "-out", "parts")...)
	if got.code != exitDone || !strings.Contains(got.errors, "figure5.csv is damaged: line 1") {
		t.Errorf("exit code %d, stderr %q", got.code, got.errors)
	}
	mustRun(t, tinyRun("-steps", "110", "-out", "whole")...)
	wantLog, want := outcomeOf(t, "whole")
	gotLog, has := outcomeOf(t, "parts")
	for _, name := range []string{rundir.Figure5Store, rundir.Figure5File} {
		delete(want.Files, name) // snapshots of the past are not made again
		delete(has.Files, name)
	}
	want.Figure5, has.Figure5 = nil, nil // nor is what they say
	if diff := cmp.Diff(want, has); diff != "" || wantLog != gotLog {
		t.Errorf("outcome differs, or %s (-want +got):\n%s", rundir.LogFile, diff)
	}
}

func TestFigure5Command(t *testing.T) {
	t.Chdir(t.TempDir())
	out := mustRun(t, append([]string{"figure5"}, tinyRun("-maze", "4x5", "-steps", "20", "-out", "run")...)...)
	if !strings.Contains(out, "on maze 4x5") || roomtest.Read(t, "run", rundir.Figure5File) == "" {
		t.Errorf("output %q", out)
	}
	_, ended := outcomeOf(t, "run")
	if ended.Figure5 == nil {
		t.Errorf("%s has no numbers of Figure 5", rundir.RecordFile)
	}
	before := tree(t)
	if out := mustRun(t, "figure5", "run", "-o", "again.svg"); out != "Drew 2 snapshots of maze 4x5 to again.svg.\n" {
		t.Errorf("output %q", out)
	}
	if roomtest.Read(t, "run", rundir.Figure5File) != roomtest.Read(t, "again.svg") {
		t.Error("the figure drawn again differs")
	}
	// A run from before there were snapshots.
	if err := os.Remove(filepath.Join("run", rundir.Figure5Store)); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "figure5", "run"); out != "Drew 1 snapshot of maze 4x5 to figure5.svg.\n" {
		t.Errorf("output %q", out)
	}
	want := slices.DeleteFunc(append(before, "again.svg", "figure5.svg"), func(s string) bool { return s == filepath.Join("run", rundir.Figure5Store) })
	slices.Sort(want)
	got := tree(t)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// The record keeps what the snapshots said.
	mustRun(t, tinyRun("-maze", "4x5", "-steps", "20", "-out", "run")...)
	if _, again := outcomeOf(t, "run"); !cmp.Equal(ended.Figure5, again.Figure5) {
		t.Errorf("without snapshots the numbers are %v, before %v", again.Figure5, ended.Figure5)
	}
	roomtest.Write(t, "run/"+rundir.Figure5Store, "x")
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

func TestFilmCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "20", "-out", "run")...)
	before := tree(t)
	if out := mustRun(t, "film", "run", "-o", "again.svg"); out != "Drew 2 frames of maze 1U5 to again.svg.\n" {
		t.Errorf("output %q", out)
	}
	if roomtest.Read(t, "run", rundir.FilmFile) != roomtest.Read(t, "again.svg") {
		t.Error("the animation drawn again differs")
	}
	if got := command(t, "film", "run", "-o", "nowhere/a.svg"); got.code != exitFailure || got.errors != "qta: nowhere/a.svg cannot be written: no such file or directory\n" {
		t.Errorf("%+v", got)
	}
	want := append(before, "again.svg")
	slices.Sort(want)
	got := tree(t)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// From an interruption on, the animation goes on as it began.
	mustRun(t, tinyRun("-steps", "60", "-out", "run")...)
	mustRun(t, tinyRun("-steps", "60", "-out", "whole")...)
	for _, name := range []string{rundir.FilmStore, rundir.FilmFile} {
		if roomtest.Read(t, "run", name) != roomtest.Read(t, "whole", name) {
			t.Errorf("%s of a run that was continued differs", name)
		}
	}
	// One that cannot be used begins anew, with a warning.
	roomtest.Write(t, "run/"+rundir.FilmStore, "x")
	if got := command(t, "film", "run"); got.code != exitInput || !strings.Contains(got.errors, "training.csv is damaged: line 1: want step") {
		t.Errorf("%+v", got)
	}
	if got := command(t, tinyRun("-steps", "80", "-out", "run")...); got.code != exitDone || !strings.Contains(got.errors, "; it is now training.csv.damaged, and the animation begins anew\n") {
		t.Errorf("%+v", got)
	}
	os.Remove("run/" + rundir.FilmStore)
	if got := command(t, "film", "run"); got.code != exitInput || !strings.Contains(got.errors, "run holds no frame of an animation yet") {
		t.Errorf("%+v", got)
	}
}

// benchmarkRun returns the session of a run at full size on 12x5 with as many
// snapshots as there can be.
func benchmarkRun(b *testing.B) *session {
	m := roomtest.Maze(b, "12x5")
	a, err := qta.NewAgent(qta.Default(), m.Env().Sizes(), 1)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Close)
	p := a.Params()
	s := &session{dir: b.TempDir(), agent: a, record: rundir.NewRecord(rundir.NewIdentity("12x5", m, "default", p, 1, 1), rundir.Limits{}, 1)}
	s.openPictures(s.record, io.Discard)
	stop := func(e qta.Evaluation) error {
		if n := e.Step; n&(n-1) == 0 {
			s.film.Take(a, s.figure5.Take(a))
		}
		return nil
	}
	err = a.Train(context.Background(), m.Env(), m.Env(), qta.TrainOptions{Steps: 1 << (figure5.MostSnapshots - 1), EvalEvery: 1, Rollouts: 1, AfterEvaluation: stop})
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
			s.figure5.Take(s.agent)
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
