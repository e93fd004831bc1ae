package main

import (
	"errors"
	"fmt"
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
	for _, list := range []struct {
		name, version string
		candidates    int // that a line has if it does not say how many
	}{
		{"authors", "0.5.0", 1000},
		{"paper", "0.5.0", 1000},
		{"section4", "0.5.0", 1000},
		{"0.6.0", "0.6.0", 1000},
		{"screen-0.6.0/stage-three", "0.6.0", 4000},
		{"0.7.0", "0.7.0", 4000},
		{"0.7.0-decides", "0.7.0", 4000},
	} {
		text := roomtest.Read(t, list.name+".txt")
		cells, err := parseSweep(text, filepath.Join("runs", list.name))
		must(t, err)
		for _, c := range cells {
			r, err := lab.ReadRecord(c.out + ".json")
			if errors.Is(err, fs.ErrNotExist) {
				continue // not yet run
			}
			must(t, err)
			id := c.id
			id.Version = list.version
			if id.Params.Candidates == qta.Paper().Candidates {
				id.Params.Candidates = list.candidates
			}
			where := fmt.Sprintf("%s, line %d: ", list.name, c.line)
			equal(t, where+"limits", lab.Limits{Steps: *c.steps, Stop: c.stop}, r.Limits)
			equal(t, where+"differences", 0, len(r.Run.Differences(id)))
		}
	}
}

// TestNames has a name in Latin-1 that turns the text around and clears the screen. It is
// refused where it decides a run. As a directory's it is printed as text that shows itself.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const odd = "caf\xe9\u202e\x1b[2J"
	roomtest.Write(t, odd+".txt", "SG\n")
	for _, command := range []string{"-maze ODD.txt", "maze ODD.txt", "-params ODD.json"} {
		args := strings.Replace(command, "ODD", odd, 1)
		got := invoke(t, args)
		has(t, got.errors, "rename it")
		equal(t, "the exit code of qta "+command, exitInput, got.code)
		equal(t, "the error", words.Text(got.errors), got.errors)
	}
	roomtest.Write(t, "s.txt", tiny+" -steps 20 -out "+odd)
	var out strings.Builder
	for _, line := range []string{
		"sweep s.txt", "status runs", "eval runs/" + odd, "report runs", "report runs -o t.csv",
	} {
		out.WriteString(mustRun(t, line))
	}
	out.WriteString(roomtest.Read(t, "report.html") + roomtest.Read(t, "t.csv"))
	equal(t, "printed or written", words.Text(out.String()), out.String())
	r := recordOf(t, filepath.Join("runs", odd))
	r.Run.Environment = "4x5\n"
	roomtest.Write(t, "foreign.json", string(r.Encode()))
	says(t, "status foreign.json", "is not printable")
}
