package rundir

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qta/cmd/qta/internal/roomtest"
)

// FuzzCells reads arbitrary bytes as the cells of a sweep; those that are read
// can be written and read again.
func FuzzCells(f *testing.F) {
	f.Add("seed1\t-seed 1\nsub/seed2\t-seed 2 -out 'sub/seed2'\n")
	f.Add("../up\tx\n")
	f.Add("a\t\nb")
	f.Fuzz(func(t *testing.T, text string) {
		cells, err := parseCells(text)
		if (err == nil) != (len(cells) == strings.Count(text, "\n") && (text == "" || strings.HasSuffix(text, "\n"))) {
			t.Errorf("%d cells of %q, error %v", len(cells), text, err)
		}
		for _, c := range cells {
			if !filepath.IsLocal(c.Name) || strings.ContainsAny(c.Name, "\t\n") {
				t.Errorf("a cell in %q", c.Name)
			}
		}
		dir := t.TempDir()
		if err := WriteCells(dir, "x", cells); err != nil {
			t.Fatal(err)
		}
		again, err := parseCells(roomtest.Read(t, dir, "x"+cellsSuffix))
		if diff := cmp.Diff(cells, again); diff != "" || err != nil {
			t.Errorf("read again: error %v (-want +got):\n%s", err, diff)
		}
	})
}

// TestEnded counts a failed run as unsolved where its numbers went wrong, not
// where its directory begins like such a message.
func TestEnded(t *testing.T) {
	for message, want := range map[string]bool{
		"step 51: critics: NaN is not finite":                       true,
		"step 1/log.csv cannot be written: no space left on device": false,
	} {
		r := &Run{Record: &Record{State: Failed, Outcome: &Outcome{Message: message}}}
		if got := r.Ended(); got != want {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}
