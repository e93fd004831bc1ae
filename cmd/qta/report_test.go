package main

import (
	"path/filepath"
	"strings"
	"testing"

	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// TestReportCommand makes a report in each form of a directory that it may
// itself stand in.
func TestReportCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []string{"1", "2"} {
		mustRun(t, tinyRun("-steps", "20", "-seed", seed, "-out", "runs/"+seed)...)
	}
	for _, test := range []struct{ args, out, file, begins string }{
		{"-o page.html", "page.html", "page.html", "<!DOCTYPE html>"},
		{"-format csv -o numbers", "numbers", "numbers/runs.csv", "directory,setting,maze,"},
		{"-format svg -o pictures", "pictures", "pictures/", "<svg "},
		{"-o runs/page.html", "runs/page.html", "runs/page.html", "<!DOCTYPE html>"},
		{"-o runs/page.html", "runs/page.html", "runs/page.html", "<!DOCTYPE html>"},
	} {
		out := mustRun(t, append([]string{"report", "runs"}, strings.Fields(test.args)...)...)
		if want := "2 runs in runs; 0 files left out. The report is " + test.out + ".\n"; out != want {
			t.Errorf("%s: output %q, want %q", test.args, out, want)
		}
		var made string
		for _, name := range tree(t) {
			if strings.HasPrefix(name, test.file) {
				made = name
				break
			}
		}
		if made == "" || !strings.HasPrefix(roomtest.Read(t, made), test.begins) {
			t.Errorf("%s: the file %q does not begin with %q", test.args, made, test.begins)
		}
	}
	into := strings.Fields("report runs -format csv -o runs/numbers")
	if first, again := mustRun(t, into...), mustRun(t, into...); first != again {
		t.Errorf("a report into what it reports says %q, again %q", first, again)
	}
	if got := command(t, "report", "runs", "-o", "runs/1/page.html"); got.code != exitInput || !strings.Contains(got.errors, "runs/1 is a run directory") {
		t.Errorf("within a run: %+v", got)
	}
	if got := mustRun(t, "report", "runs/1", "runs/2", "runs", "-o", rundir.PageFile); !strings.HasPrefix(got, "2 runs in runs/1, runs/2, runs; ") {
		t.Errorf("directories named twice: %q", got)
	}
	if err := rundir.WriteCells("runs", "s", []rundir.Cell{{Name: "1"}, {Name: "2"}}); err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs("runs/1")
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, "status", "runs/1", "./runs/1", absolute); !strings.HasSuffix(got, "\n1 done\n") {
		t.Errorf("one directory named in three ways: %q", got)
	}
	if got := mustRun(t, "status", "runs/1", filepath.Dir(absolute)); strings.Contains(got, "missing") {
		t.Errorf("a run seen by another name is missing: %q", got)
	}
	roomtest.Write(t, "runs/numbers/mine.txt", "x")
	if got := mustRun(t, into...); !strings.Contains(got, "; 2 files left out.") { // page.html and this
		t.Errorf("a file that is none of the report's: %q", got)
	}
}
