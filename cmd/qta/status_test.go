package main

import (
	"os"
	"strings"
	"testing"

	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// TestStatusIsPlain has names and files that others have written: none of them
// does anything to a terminal or a spreadsheet.
func TestStatusIsPlain(t *testing.T) {
	t.Chdir(t.TempDir())
	const escape = "\x1b[2J\u009b31m"
	mustRun(t, tinyRun("-steps", "10", "-out", "runs/good")...)
	for _, dir := range []string{"runs/=cmd" + escape, "runs/odd" + escape} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Skipf("this file system has no such names: %v", err)
		}
		roomtest.Write(t, dir+"/"+rundir.RecordFile, "{}")
	}
	roomtest.Write(t, "runs/x.cells", "a"+escape+"\t-maze"+escape+"\n")
	record := roomtest.Read(t, "runs/good", rundir.RecordFile)
	for _, change := range []struct{ old, new string }{
		{`"maze": "1U5"`, `"maze": "1U5\u001b[2J"`},
		{`"preset": "`, `"preset": "\u202e`},
		{`"revision": "`, `"revision": "\u009b`},
	} {
		if !strings.Contains(record, change.old) {
			t.Fatalf("no %s in\n%s", change.old, record)
		}
		roomtest.Write(t, "runs/good/"+rundir.RecordFile, strings.Replace(record, change.old, change.new, 1))
		for _, args := range []string{"status runs", "report runs", "report runs -format csv", "report runs/=cmd" + escape, "eval runs/good", "figure5 runs/good -o x.svg"} {
			r := command(t, strings.Split(args, " ")...)
			for _, file := range []string{"report/runs.csv", "report/skipped.csv"} {
				if text, err := os.ReadFile(file); err == nil {
					r.out += string(text)
				}
			}
			if text := r.out + r.errors; strings.ContainsAny(text, "\x1b\u009b\u202e") {
				t.Errorf("%s, qta %s: %.100q", change.new, args, text[strings.IndexAny(text, "\x1b\u009b\u202e"):])
			}
		}
	}
}
