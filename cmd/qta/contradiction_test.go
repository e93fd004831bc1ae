package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qta"
	"qta/cmd/qta/internal/roomtest"
	"qta/cmd/qta/internal/rundir"
)

// contents returns the files of a directory by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name()] = roomtest.Read(t, dir, e.Name())
	}
	return files
}

// restore makes a directory hold these files and no others.
func restore(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		roomtest.Write(t, filepath.Join(dir, name), text)
	}
}

// differing returns the names of the files that differ.
func differing(a, b map[string]string) (names []string) {
	for name := range maps.Keys(a) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// replaced returns a text in which the first match of a pattern is replaced.
func replaced(t *testing.T, text, pattern, by string) string {
	t.Helper()
	at := regexp.MustCompile(pattern).FindStringIndex(text)
	if at == nil {
		t.Fatalf("no %s in %.200q", pattern, text)
	}
	return text[:at[0]] + by + text[at[1]:]
}

// TestContradictions changes one file of a run that has ended. Status and report
// say so, and believe nothing of it; the run's command makes again what can be
// made of the agent.
func TestContradictions(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "42", "-out", "runs/run")
	mustRun(t, tinyRun("-steps", "21", "-out", "runs/run")...)
	early := roomtest.Read(t, "runs/run", rundir.AgentFile)
	mustRun(t, args...)
	if got := mustRun(t, "status", "runs"); strings.Contains(got, "skipped") {
		t.Fatalf("status of a good run:\n%s", got)
	}
	whole := contents(t, "runs/run")
	for _, test := range []struct {
		what, file string
		change     func(text string) string
		left       bool     // the run is left out
		lost       []string // what the command cannot make as it was; nil for nothing
	}{
		{"another success", rundir.LogFile, func(s string) string { return replaced(t, s, `\n14,[0-9.]+,`, "\n14,0.95,") }, true, nil},
		{"another loss", rundir.LogFile, func(s string) string { return replaced(t, s, `\n21,([^,]+),[^,]+`, "\n21,0,0.5") }, true, nil},
		{"a row less", rundir.LogFile, func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] }, true, nil},
		{"no row", rundir.LogFile, func(s string) string { return s[:strings.Index(s, "\n")+1] }, true, nil},
		{"another run's log", rundir.LogFile, func(s string) string { return strings.ReplaceAll(s, "\n7,", "\n6,") }, true, nil},
		{"another deviation", rundir.Figure5Store, func(s string) string { return replaced(t, s, `,0\.[0-9]+,([0-9.e-]+),(\d+)\n`, ",0.5,0.001,0\n") }, false,
			[]string{rundir.RecordFile, rundir.Figure5Store, rundir.Figure5Store + qta.Damaged, rundir.Figure5File, rundir.PageFile}},
		{"not a number", rundir.Figure5Store, func(s string) string { return replaced(t, s, `\n7,1.05,1.05,[^,]*,`, "\n7,1.05,1.05,NaN,") }, false,
			[]string{rundir.RecordFile, rundir.Figure5Store, rundir.Figure5Store + qta.Damaged, rundir.Figure5File, rundir.PageFile}},
		{"another uncertainty", rundir.FilmStore, func(s string) string { return regexp.MustCompile(`(?m)^7,[^,]+,`).ReplaceAllString(s, "7,0.5,") }, false,
			[]string{rundir.RecordFile, rundir.FilmStore, rundir.FilmStore + qta.Damaged, rundir.FilmFile, rundir.PageFile}},
		{"another picture", rundir.Figure5File, func(s string) string { return s + " " }, false, nil},
		{"another animation", rundir.FilmFile, func(string) string { return "" }, false, nil},
		{"another curve", rundir.CurveFile, func(s string) string { return s[:len(s)/2] }, false, nil},
		{"an earlier agent", rundir.AgentFile, func(string) string { return early }, false, []string{rundir.AgentFile + qta.Previous, rundir.TimingFile}},
	} {
		restore(t, "runs/run", whole)
		changed := test.change(whole[test.file])
		if changed == whole[test.file] {
			t.Fatalf("%s changes nothing", test.what)
		}
		roomtest.Write(t, filepath.Join("runs/run", test.file), changed)
		status := mustRun(t, "status", "runs")
		if !strings.Contains(status, test.file+"  skipped") || test.left == strings.Contains(status, "runs/run  ") {
			t.Errorf("%s: status\n%s", test.what, status)
		}
		os.Remove("report.html")
		got := command(t, "report", "runs", "-o", "report.html")
		page, _ := os.ReadFile("report.html") // there is none of no run
		if test.left != (got.code == exitInput) || !strings.Contains(got.errors+string(page), "runs/run/"+test.file) {
			t.Errorf("%s: report says %+v", test.what, got)
		}
		got = command(t, args...)
		if got.code != exitDone || !strings.HasPrefix(got.errors, "qta: warning: ") || !strings.Contains(got.errors, test.file) {
			t.Errorf("%s: %+v", test.what, got)
		}
		if kept := test.file + qta.Damaged; slices.Contains(test.lost, kept) && roomtest.Read(t, "runs/run", kept) != changed {
			t.Errorf("%s: %s is not what was there", test.what, kept)
		}
		other := slices.DeleteFunc(differing(whole, contents(t, "runs/run")), func(name string) bool { return slices.Contains(test.lost, name) })
		if len(other) > 0 {
			t.Errorf("%s: the command has not made %v as they were", test.what, other)
		}
		if again := mustRun(t, "status", "runs"); strings.Contains(again, "skipped") {
			t.Errorf("%s: status after the command\n%s", test.what, again)
		}
	}

	// What is missing is made again too.
	for _, name := range []string{rundir.LogFile, rundir.PageFile, rundir.CurveFile, rundir.Figure5File, rundir.FilmFile} {
		restore(t, "runs/run", whole)
		os.Remove(filepath.Join("runs/run", name))
		mustRun(t, args...)
		if names := differing(whole, contents(t, "runs/run")); len(names) > 0 {
			t.Errorf("without %s, the command leaves other %v", name, names)
		}
	}

	// run.json itself: its own checksum says so, and nothing is begun over it.
	for what, change := range map[string]func(string) string{
		"another outcome": func(s string) string {
			return replaced(t, s, `"steps": 42,\n\t\t"found`, "\"steps\": 43,\n\t\t\"found")
		},
		"another held-out": func(s string) string { return replaced(t, s, `"held_out": [0-9.]+`, `"held_out": 0.99`) },
		"another seed":     func(s string) string { return replaced(t, s, `"seed": 1`, `"seed": 2`) },
		"another map":      func(s string) string { return replaced(t, s, `#S#G#",\n\t\t\t"#.#.#`, "#S.G#\",\n\t\t\t\"#.#.#") },
		"another revision": func(s string) string { return replaced(t, s, `"revision": "`, `"revision": "x`) },
		"no checksum":      func(s string) string { return replaced(t, s, `,\n\t"sha256": "[0-9a-f]+"`, "") },
		"more in it":       func(s string) string { return replaced(t, s, `\n}\n`, ",\n\t\"x\": 1\n}\n") },
	} {
		restore(t, "runs/run", whole)
		text := change(whole[rundir.RecordFile])
		roomtest.Write(t, "runs/run/"+rundir.RecordFile, text)
		status := mustRun(t, "status", "runs")
		if !strings.Contains(status, rundir.RecordFile+"  skipped") || strings.Contains(status, "runs/run  ") {
			t.Errorf("%s: status\n%s", what, status)
		}
		got := command(t, args...)
		if got.code != exitInput || !strings.Contains(got.errors, "is damaged") || got.out != "" {
			t.Errorf("%s: %+v", what, got)
		}
		if names := differing(whole, contents(t, "runs/run")); !slices.Equal(names, []string{rundir.RecordFile}) {
			t.Errorf("%s: the command has changed %v", what, names)
		}
	}
}

// TestWithoutDigests has a run as programs without digests recorded it: it is
// read, and a log that is not its outcome's is still seen.
func TestWithoutDigests(t *testing.T) {
	t.Chdir(t.TempDir())
	args := tinyRun("-steps", "42", "-out", "runs/run")
	mustRun(t, args...)
	whole := contents(t, "runs/run")
	var record map[string]any
	if err := json.Unmarshal([]byte(whole[rundir.RecordFile]), &record); err != nil {
		t.Fatal(err)
	}
	delete(record, "sha256")
	delete(record["outcome"].(map[string]any), "files")
	delete(record["outcome"].(map[string]any), "half_at")
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	roomtest.Write(t, "runs/run/"+rundir.RecordFile, string(text))
	if out := mustRun(t, "status", "runs"); !strings.HasPrefix(out, "runs/run  done  not solved within 42 steps") || strings.Contains(out, "skipped") {
		t.Errorf("status\n%s", out)
	}
	if out := mustRun(t, args...); !strings.HasPrefix(out, "The run in runs/run is done: ") {
		t.Errorf("the command says %s", out)
	}
	log := whole[rundir.LogFile]
	for what, changed := range map[string]string{
		"a row less":        log[:strings.LastIndex(log[:len(log)-1], "\n")+1],
		"another row":       strings.Replace(log, "\n14,", "\n15,", 1),
		"a perfect success": replaced(t, log, `\n14,[0-9.]+,`, "\n14,1,"),
	} {
		roomtest.Write(t, "runs/run/"+rundir.LogFile, changed)
		if out := mustRun(t, "status", "runs"); !strings.Contains(out, "log.csv  skipped") || !strings.Contains(out, rundir.RecordFile) || strings.Contains(out, "done") {
			t.Errorf("%s: status\n%s", what, out)
		}
	}
}
