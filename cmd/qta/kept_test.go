package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// These tests hold the command to losing nothing.

// TestFailureSaves lets a file beside the agent fail: what was trained since the
// last checkpoint is saved.
func TestFailureSaves(t *testing.T) {
	for _, name := range []string{rundir.CurveFile, rundir.Figure5Store} {
		t.Chdir(t.TempDir())
		mustRun(t, tinyRun("-steps", "60", "-out", "whole")...)
		mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
		obstacle := filepath.Join("run", name+files.Temporary)
		if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o777); err != nil {
			t.Fatal(err)
		}
		got := command(t, tinyRun("-steps", "60", "-out", "run")...)
		a, err := loadedAgent("run")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		steps := a.Steps()
		a.Close()
		want := fmt.Sprintf("qta: %s cannot be written: file exists; the checkpoint of step %d is kept in run\n", filepath.Join("run", name), steps)
		if got.code != exitFailure || got.errors != want || steps <= 10 {
			t.Errorf("%s, %d steps: %+v, want %q", name, steps, got, want)
		}
		if err := os.RemoveAll(obstacle); err != nil {
			t.Fatal(err)
		}
		mustRun(t, tinyRun("-steps", "60", "-out", "run")...)
		if name != rundir.Figure5Store { // which has lost a snapshot
			sameOutcome(t, "whole", "run")
		}
	}
}

func loadedAgent(dir string) (*qta.Agent, error) {
	a, err := qta.LoadFile(filepath.Join(dir, rundir.AgentFile))
	return a, err
}

// TestOddAgentFile has no regular file where the agent belongs: what is said of
// it works.
func TestOddAgentFile(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "20", "-out", "run")
	mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
	mustRun(t, args...)
	path := filepath.Join("run", rundir.AgentFile)
	if err := errors.Join(os.Rename(path, "agent"), os.Mkdir(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	refuse(t, "eval run", "checkpoint: "+path+" is not a regular file; move it away, and the same command goes on from "+rundir.AgentFile+qta.Previous)
	refuse(t, strings.Join(args, " "), path+" could not be replaced: it is a directory, not a regular file; put a regular file there")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := command(t, "eval", "run"); got.code != exitDone {
		t.Errorf("%+v", got)
	}
	if err := os.Symlink(filepath.Join("..", "agent"), path); err != nil {
		t.Skip("this system has no links")
	}
	refuse(t, strings.Join(tinyRun("-steps", "30", "-out", "run"), " "), path+" could not be replaced: it is a link, not a regular file; put a regular file there")
}

// TestOutputBeside keeps what has the name of a file that is being written.
func TestOutputBeside(t *testing.T) {
	t.Chdir(t.TempDir())
	roomtest.Write(t, "maze.svg.tmp", "mine")
	mustRun(t, "maze", "4x5", "-o", "maze.svg")
	if got := roomtest.Read(t, "maze.svg.tmp"); got != "mine" {
		t.Errorf("%q", got)
	}
	if diff := cmp.Diff([]string{".", "maze.svg", "maze.svg.tmp"}, tree(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestHiddenRuns refuses directories in which no report would find the run.
func TestHiddenRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, tinyRun("-steps", "10", "-out", "run")...)
	absolute, err := filepath.Abs("run")
	if err != nil {
		t.Fatal(err)
	}
	refuse(t, strings.Join(tinyRun("-steps", "10", "-out", "run/a/b"), " "), "directory run/a/b is inside that of the run "+absolute+"; name another one with -out")
	if _, err := os.Stat("run/a"); err == nil {
		t.Error("it was made")
	}
	roomtest.Write(t, ".m.txt", "SG")
	refuse(t, "-maze .m.txt -steps 10", "the run's own name, .m-fast-1, is hidden; name a directory with -out")
}

// TestPast asks for less than a run that has not ended has trained.
func TestPast(t *testing.T) {
	t.Chdir(t.TempDir())
	interrupted(t, 5, tinyRun("-steps", "100", "-out", "run")...)
	before := roomtest.Read(t, "run", rundir.RecordFile)
	refuse(t, strings.Join(tinyRun("-steps", "10", "-out", "run"), " "), "the run in run has not ended and stands at step ")
	if after := roomtest.Read(t, "run", rundir.RecordFile); after != before {
		t.Errorf("%s has changed", rundir.RecordFile)
	}
}

// TestNumbersOfOldRun adds to a record what it did not keep once.
func TestNumbersOfOldRun(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "20", "-out", "run")
	mustRun(t, args...)
	whole := roomtest.Read(t, "run", rundir.RecordFile)
	r, err := rundir.ReadRecord("run")
	if err != nil {
		t.Fatal(err)
	}
	r.Outcome.Figure5 = nil
	if err := r.Write("run", false); err != nil {
		t.Fatal(err)
	}
	mustRun(t, args...)
	if diff := cmp.Diff(whole, roomtest.Read(t, "run", rundir.RecordFile)); diff != "" {
		t.Errorf("(-whole +again):\n%s", diff)
	}
	r.Outcome = nil // as no program leaves it
	if err := r.Write("run", false); err != nil {
		t.Fatal(err)
	}
	mustRun(t, args...)
}

// TestStoresWithAgent looks at a run at each line that it writes: what its
// pictures need is as old as its agent, which has not been saved yet. A run that
// is killed and then continued with a smaller budget lacks nothing.
func TestStoresWithAgent(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := 0
	look := writerFunc(func(p []byte) (int, error) {
		if files.Exists(filepath.Join("run", rundir.AgentFile)) {
			return len(p), nil // the run has ended
		}
		for _, name := range []string{rundir.Figure5Store, rundir.FilmStore} {
			if files.Exists(filepath.Join("run", name)) {
				t.Errorf("line %d: there is %s and no agent", lines, name)
			}
		}
		lines++
		return len(p), nil
	})
	run(t.Context(), tinyRun("-steps", "70", "-out", "run"), look, io.Discard)
	if lines < 8 {
		t.Errorf("%d lines before the agent was saved", lines)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
