package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"qta"
	"qta/internal/roomtest"
	"qta/internal/words"
	"qta/lab"
)

// The lists in results, whose sets were called otherwise when they ran, name the
// parameters, seeds and limits of the records that are there.
func TestLists(t *testing.T) {
	t.Chdir("../../results")
	const stageThree = "screen-0.6.0/stage-three" // its lines say the number of candidates
	for _, list := range []struct{ name, version string }{
		{"authors", "0.5.0"}, {"paper", "0.5.0"}, {"section4", "0.5.0"}, {"0.6.0", "0.6.0"}, {"0.7.0", "0.7.0"},
		{"0.7.0-decides", "0.7.0"}, {stageThree, "0.6.0"},
	} {
		cells, err := parseSweep(roomtest.Read(t, list.name+".txt"), filepath.Join("runs", list.name))
		for _, c := range cells {
			r, missing := lab.ReadRecord(c.out + ".json")
			if errors.Is(missing, fs.ErrNotExist) {
				continue // not yet run
			}
			limits := lab.Limits{Steps: *c.steps, Stop: c.stop}
			id := c.id
			id.Version = list.version
			if list.version != qta.Version && list.name != stageThree && id.Params.Candidates == qta.Paper().Candidates {
				id.Params.Candidates = 1000 // until 0.6.0
			}
			if missing != nil || r.Limits != limits || len(r.Run.Differences(id)) > 0 {
				t.Errorf("%s, line %d: %v, %+v", list.name, c.line, missing, r)
			}
		}
		if err != nil || len(cells) == 0 {
			t.Errorf("%s: %v", list.name, err)
		}
	}
}

// TestNames has a name in Latin-1 that turns the text around and clears the screen. It is
// refused where it decides a run. As a directory's it is printed as text that shows itself.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const odd = "caf\xe9\u202e\x1b[2J"
	roomtest.Write(t, odd+".txt", "SG\n")
	for _, args := range []string{"-maze " + odd + ".txt", "maze " + odd + ".txt", "-params " + odd + ".json"} {
		got := invoke(t, args)
		has(t, got.errors, "rename it")
		equal(t, "the exit code of qta "+words.Text(args), exitInput, got.code)
		equal(t, "the error", words.Text(got.errors), got.errors)
	}
	roomtest.Write(t, "s.txt", tiny+" -steps 20 -out "+odd)
	var texts []string
	for _, line := range []string{
		"sweep s.txt", "status runs", "eval runs/" + odd, "report runs", "report runs -o report.csv",
	} {
		texts = append(texts, mustRun(t, line))
	}
	out := strings.Join(append(texts, roomtest.Read(t, "report.html"), roomtest.Read(t, "report.csv")), "")
	equal(t, "printed or written", words.Text(out), out)
	r := recordOf(t, filepath.Join("runs", odd))
	r.Run.Environment = "4x5\n"
	roomtest.Write(t, "foreign.json", string(r.Encode()))
	has(t, mustRun(t, "status foreign.json"), "is not printable")
}
