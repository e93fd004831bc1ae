package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed report.tmpl
var reportTemplate string

//go:embed report.css
var reportCSS string

// page returns the report as a page.
func (r *report) page() ([]byte, error) {
	var b bytes.Buffer
	err := template.Must(template.New("report").Parse(reportTemplate)).Execute(&b, r)
	return b.Bytes(), err
}

// pictures returns the report's pictures as files.
func (r *report) pictures() []outFile {
	var files []outFile
	for _, s := range r.Settings {
		for _, p := range slices.Concat(s.Figures(), s.Curves()) {
			files = append(files, outFile{fileName(s.Name+"-"+p.name) + ".svg", p.Drawing.file()})
		}
	}
	return files
}

// fileName makes a text the name of a file.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '=':
			return r
		}
		return '_'
	}, text)
}

// What the page shows beside the settings.

func (r *report) Style() template.CSS { return template.CSS(pageStyle() + "\n" + reportCSS) }

func (r *report) Resamples() int { return resamples }

// mostSkipped bounds the files that the page lists as not used.
const mostSkipped = 200

func (r *report) SkippedFirst() []skip { return r.Skipped[:min(len(r.Skipped), mostSkipped)] }
func (r *report) SkippedMore() int     { return max(0, len(r.Skipped)-mostSkipped) }

// A claimList has the claims that runs speak of, and those of which they are
// silent.
type claimList struct{ Judged, Silent []claim }

func (s *setting) Claims() (list claimList) {
	for _, c := range s.claims() {
		if c.Test == noTest {
			list.Silent = append(list.Silent, c)
		} else {
			list.Judged = append(list.Judged, c)
		}
	}
	return list
}

// Runs returns how many there are.
func (s *setting) Runs() int {
	n := 0
	for _, g := range s.groups {
		n += len(g.all)
	}
	return n
}

// Few reports whether there are groups of too few runs for an interval.
func (s *setting) Few() bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return len(g.runs) < enoughRuns })
}

// A counted is something that several runs share.
type counted struct {
	Text string
	Runs int
}

// count_ counts the runs that share a text, in its order.
func (r *report) shared(text func(*finding) string) (list []counted) {
	n := map[string]int{}
	for _, run := range r.Runs {
		n[text(run)]++
	}
	for _, t := range slices.Sorted(maps.Keys(n)) {
		list = append(list, counted{t, n[t]})
	}
	return list
}

func (r *report) Programs() []counted {
	return r.shared(func(run *finding) string {
		g, build := run.record.Program, ""
		for _, k := range slices.Sorted(maps.Keys(g.Build)) {
			build += fmt.Sprintf(", %s=%s", k, g.Build[k])
		}
		return fmt.Sprintf("version %s, revision %s, %s%s", run.record.Run.Version, g.Revision, g.Go, build)
	})
}

func (r *report) Machines() []counted {
	return r.shared(func(run *finding) string {
		m := run.record.Machine
		return fmt.Sprintf("%s/%s, %s kernel, %s", m.OS, m.Arch, m.Kernel, count(m.Threads, "thread"))
	})
}

// A runLine is a run with the command that repeats it.
type runLine struct{ Dir, State, Command string }

func (r *report) Lines() (lines []runLine) {
	for _, run := range r.Runs {
		lines = append(lines, runLine{run.dir, run.record.State, r.command(run)})
	}
	return lines
}

// command returns the command line that makes a run.
func (r *report) command(run *finding) string {
	return strings.Join(run.record.Run.command(run.record.Limits), " ")
}

// Warnings says what makes runs hard to compare.
func (r *report) Warnings() (list []string) {
	number := func(is func(*finding) bool) int {
		return len(slices.DeleteFunc(slices.Clone(r.Runs), func(run *finding) bool { return !is(run) }))
	}
	if n := number(func(run *finding) bool { return !run.ended() }); n > 0 {
		list = append(list, fmt.Sprintf("%s not ended and count in no statistic.", hasHave(n)))
	}
	if n := number(func(run *finding) bool { return run.record.State == stateFailed }); n > 0 {
		list = append(list, fmt.Sprintf("%s failed. Where numbers went wrong the run counts as unsolved; other failures do not count.", hasHave(n)))
	}
	if len(r.shared(func(run *finding) string { return run.record.Run.Version })) > 1 {
		list = append(list, "Runs of several versions of the algorithm are pooled.")
	}
	if n := number(func(run *finding) bool { return run.record.Machine.Kernel == "generic" }); n > 0 && n < len(r.Runs) {
		list = append(list, "Runs of the generic kernel, which rounds differently, are pooled with others.")
	}
	budgets := map[string]int{}
	mixed := map[string]bool{}
	for _, s := range r.Settings {
		for _, g := range s.groups {
			for _, run := range g.all {
				k := s.Name + ", maze " + run.record.Run.Maze
				steps := run.record.Limits.Steps
				if budgets[k] == 0 {
					budgets[k] = steps
				}
				if budgets[k] != steps {
					mixed[k] = true
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(mixed))
	for _, k := range names[:min(len(names), 10)] {
		list = append(list, fmt.Sprintf("Budgets differ: %s. Unsolved runs stand at their own.", k))
	}
	return list
}

func hasHave(n int) string {
	if n == 1 {
		return "1 run has"
	}
	return fmt.Sprintf("%d runs have", n)
}
