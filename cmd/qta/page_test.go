package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
	"qta/internal/browser"
)

// TestPages looks through the files of a tiny run, whose names are unfriendly.
func TestPages(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = `a<b>&"c"`
	roomtest.Write(t, name+".txt", "S.\n#G\n")
	mustRun(t, tinyRun("-maze", "./"+name+".txt", "-steps", "30", "-out", "run")...)
	for _, file := range []string{rundir.CurveFile, rundir.Figure5File, rundir.FilmFile} {
		roomtest.WellFormed(t, file, roomtest.Read(t, "run", file))
	}
	page := roomtest.Read(t, "run", rundir.PageFile)
	if strings.Contains(page, name) || strings.Contains(page, "<b>") || !strings.Contains(page, "a&lt;b&gt;&amp;") {
		t.Error("the name of the maze is not escaped")
	}
	for _, m := range regexp.MustCompile(`(?:href|src|url)\s*[=(]\s*"?([^">]{0,12})`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "data:image/p") {
			t.Errorf("the page refers to %q", m[1])
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "http-equiv=\"refresh\"") || strings.Contains(page, "loads itself") {
		t.Error("a finished run's page has a script or loads itself")
	}
	for _, want := range []string{"finished", "Goals that the agent pursued in training", "After 28 environment steps", "head deviation", "<th>UncertaintyActions</th><td>2</td>", `class="changed"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1) {
		roomtest.WellFormed(t, "a picture of the page", svg)
	}
	// The command on the page makes the same run.
	_, text, _ := strings.Cut(page, "The same run again: <code>")
	text, _, _ = strings.Cut(text, "</code>")
	var line []string
	for _, m := range regexp.MustCompile(`<span>(.*?)</span>`).FindAllStringSubmatch(text, -1) {
		line = append(line, strings.Trim(html.UnescapeString(m[1]), "'"))
	}
	line[2] = "./" + line[2]
	mustRun(t, append(line[1:], "-out", "again")...)
	sameOutcome(t, "run", "again")
}

// TestPageOfRunning reads the page while the run goes on.
func TestPageOfRunning(t *testing.T) {
	t.Chdir(t.TempDir())
	page := ""
	out := &gate{text: "    step  success", open: func() {
		if page == "" {
			page = roomtest.Read(t, "run", rundir.PageFile)
		}
	}}
	var stderr bytes.Buffer
	if code := run(t.Context(), tinyRun("-steps", "10", "-out", "run"), out, &stderr); code != exitDone {
		t.Fatalf("exit code %d, stderr %q", code, stderr.String())
	}
	for _, want := range []string{`<meta http-equiv="refresh" content="60">`, "The run is under way", `<span class="state">running</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a run that goes on lacks %q", want)
		}
	}
}

// TestPagesOfMethods draws runs of every way to choose goals and to estimate
// uncertainty, and of networks that have failed.
func TestPagesOfMethods(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, set := range []string{"Curriculum=mega", "Curriculum=vds", "Curriculum=her", "Curriculum=random", "Replay=per", "Uncertainty=q", "Uncertainty=bootstrap", "Uncertainty=ensemble"} {
		mustRun(t, tinyRun("-set", set, "-steps", "30", "-out", set)...)
		page := roomtest.Read(t, set, rundir.PageFile)
		if got := strings.Contains(page, "are what QTA would choose"); got != strings.HasPrefix(set, "Curriculum") {
			t.Errorf("%s: the page says that goals are chosen otherwise: %v", set, got)
		}
		if got := strings.Contains(page, "head deviation"); got == strings.HasPrefix(set, "Uncertainty") {
			t.Errorf("%s: the page speaks of head deviation: %v", set, got)
		}
	}
	if got := command(t, tinyRun("-set", "CriticRate=1", "-set", "ActorRate=1", "-set", "HiddenLayers=16", "-set", "HiddenSize=64", "-steps", "2000", "-out", "failed")...); got.code != exitNumeric {
		t.Fatalf("%+v, want a run that fails", got)
	}
	if page := roomtest.Read(t, "failed", rundir.PageFile); !strings.Contains(page, "The run has failed: step ") || strings.Contains(page, "NaN\"") {
		t.Error("the page of a failed run does not say so, or has a picture with NaN")
	}
}

func TestMazePicture(t *testing.T) {
	t.Chdir(t.TempDir())
	out := mustRun(t, "maze", "12x5", "-o", "maze.svg")
	if out != mustRun(t, "maze", "12x5") {
		t.Errorf("output %q", out)
	}
	picture := roomtest.Read(t, "maze.svg")
	roomtest.WellFormed(t, "maze.svg", picture)
	// Five columns in rows: one run of five cells, ten rows of two or three
	// runs of one, and a last one of two runs of two.
	path := regexp.MustCompile(`class="paper" d="([^"]*)"`).FindStringSubmatch(picture)
	if got := strings.Count(path[1], "z"); got != 1+9*3+1*2+2 {
		t.Errorf("%d runs of free cells, want 32", got)
	}
	if got := command(t, "maze", "4x5", "-o", "nowhere/maze.svg"); got.code != exitFailure || !strings.Contains(got.errors, "nowhere/maze.svg cannot be written") {
		t.Errorf("%+v", got)
	}
}

// TestLooks measures pages in a browser: at the widths of a telephone and of a
// screen nothing reaches out of the page, and no two texts of a picture
// overlap.
func TestLooks(t *testing.T) {
	browser.Need(t)
	t.Chdir(t.TempDir())
	runs := []struct {
		maze, steps string
		snapshots   int
	}{{"1U5", "7", 1}, {"4x5", "28", 3}, {"12x5", "917", 8}, {"10U5", "14", 2}}
	var pages []string
	for _, run := range runs {
		mustRun(t, tinyRun("-maze", run.maze, "-steps", run.steps, "-out", run.maze)...)
		pages = append(pages, roomtest.Read(t, run.maze, rundir.PageFile))
	}
	widths := []int{400, 1000, 1400}
	seen := browser.Measure(t, pages, widths, `
	const wide = page.documentElement.scrollWidth > frame.width ? ["scrolls"] : [];
	return [page.querySelectorAll("svg").length, page.querySelectorAll("h3").length, ...wide, ...overlaps(page), ...faint(page)].join(" | ");`)
	for i, got := range seen {
		run, width := runs[i/len(widths)], widths[i%len(widths)]
		if want := fmt.Sprintf("%d | %d", 9+6*run.snapshots, run.snapshots); got != want {
			t.Errorf("maze %s at %d pixels: pictures, snapshots and faults are %s, want %s", run.maze, width, got, want)
		}
	}
}
