package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
		name, version := list.name, list.version
		cells, err := parseSweep(roomtest.Read(t, name+".txt"), filepath.Join("runs", name))
		for _, c := range cells {
			r, missing := lab.ReadRecord(c.out + ".json")
			if errors.Is(missing, fs.ErrNotExist) {
				continue // not yet run
			}
			limits := lab.Limits{Steps: *c.steps, Stop: c.stop}
			id := c.id
			id.Version = version
			if version != qta.Version && name != stageThree && id.Params.Candidates == qta.Paper().Candidates {
				id.Params.Candidates = 1000 // until 0.6.0
			}
			if missing != nil || r.Limits != limits || len(r.Run.Differences(id)) > 0 {
				t.Errorf("%s, line %d: %v, %+v", name, c.line, missing, r)
			}
		}
		if err != nil || len(cells) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNames has names of others' choice: those that decide a run are refused unless they
// are text, and what is printed and written of any is UTF-8 that only shows itself.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	var spread bytes.Buffer
	const odd = "caf\xe9\u202e\x1b[2J" // Latin-1, from right to left, and an empty screen
	roomtest.Write(t, odd+".txt", "SG\n")
	for _, args := range []string{"-maze " + odd + ".txt", "maze " + odd + ".txt", "-params " + odd + ".json"} {
		got := invoke(t, args)
		if has(t, got.errors, "rename it"); got.code != exitInput || words.Text(got.errors) != got.errors {
			t.Errorf("qta %s: %+v", args, got)
		}
	}
	roomtest.Write(t, "s.txt", tiny+" -steps 20 -out "+odd)
	texts := []string{mustRun(t, "sweep s.txt")}
	for _, name := range []string{"4x5\x1b[2J", "4x5\u202e", "4x5\n"} { // of a foreign run
		r := recordOf(t, filepath.Join("runs", odd))
		r.Run.Environment = name
		roomtest.Write(t, filepath.Join("foreign", fmt.Sprintf("%q.json", name)), string(r.Encode()))
	}
	for _, line := range []string{"status runs foreign", "eval runs/" + odd, "report runs foreign", "report runs -o report.csv"} {
		texts = append(texts, mustRun(t, line))
	}
	out := strings.Join(append(texts, roomtest.Read(t, "report.html"), roomtest.Read(t, "report.csv")), "")
	run(t.Context(), append(strings.Fields(tiny+" -steps 20 -out"), "two\nlines"), &spread, os.Stderr)
	run(t.Context(), []string{"eval", "two\nlines"}, &spread, os.Stderr)
	if strings.Count(spread.String(), "two lines") != 3 {
		t.Errorf("a directory's name is to be shown on one line: %s", &spread)
	}
	if words.Text(out) != out || strings.Count(out, "is not printable") != 7 {
		t.Errorf("printed or written: %.3000q", out)
	}
}
