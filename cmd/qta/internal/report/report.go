package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/page"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
	"qta/cmd/qta/internal/words"
)

//go:embed report.tmpl
var reportTemplate string

//go:embed report.css
var reportCSS string

// HTML returns the report as a page.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := template.Must(template.New("report").Parse(reportTemplate)).Execute(&b, r)
	return b.Bytes(), err
}

// SVG returns the report's pictures as files.
func (r *Report) SVG() []files.File {
	var list []files.File
	for _, s := range r.Settings {
		for _, p := range slices.Concat(s.Figures(), s.Curves()) {
			list = append(list, files.File{Name: fileName(s.Name+"-"+p.name) + ".svg", Data: p.Drawing.File()})
		}
	}
	return list
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

func (r *Report) Style() template.CSS { return template.CSS(page.Style() + "\n" + reportCSS) }

func (r *Report) Resamples() int { return statistics.Resamples }

// mostSkipped bounds the files that the page lists as not used.
const mostSkipped = 200

func (r *Report) SkippedFirst() []rundir.Skip { return r.Skipped[:min(len(r.Skipped), mostSkipped)] }
func (r *Report) SkippedMore() int            { return max(0, len(r.Skipped)-mostSkipped) }

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
	return slices.ContainsFunc(s.groups, func(g *group) bool { return len(g.runs) < statistics.EnoughRuns })
}

// A counted is something that several runs share.
type counted struct {
	Text string
	Runs int
}

// count_ counts the runs that share a text, in its order.
func (r *Report) shared(text func(*rundir.Run) string) (list []counted) {
	n := map[string]int{}
	for _, run := range r.Runs {
		n[text(run)]++
	}
	for _, t := range slices.Sorted(maps.Keys(n)) {
		list = append(list, counted{t, n[t]})
	}
	return list
}

func (r *Report) Programs() []counted {
	return r.shared(func(run *rundir.Run) string {
		g, build := run.Record.Program, ""
		for _, k := range slices.Sorted(maps.Keys(g.Build)) {
			build += fmt.Sprintf(", %s=%s", k, g.Build[k])
		}
		return fmt.Sprintf("version %s, revision %s, %s%s", run.Record.Run.Version, g.Revision, g.Go, build)
	})
}

func (r *Report) Machines() []counted {
	return r.shared(func(run *rundir.Run) string {
		m := run.Record.Machine
		return fmt.Sprintf("%s/%s, %s kernel, %s", m.OS, m.Arch, m.Kernel, words.Count(m.Threads, "thread"))
	})
}

// A runLine is a run with the command that repeats it.
type runLine struct{ Dir, State, Command string }

func (r *Report) Lines() (lines []runLine) {
	for _, run := range r.Runs {
		lines = append(lines, runLine{run.Dir, run.Record.State, r.command(run)})
	}
	return lines
}

// command returns the command line that makes a run.
func (r *Report) command(run *rundir.Run) string {
	return strings.Join(run.Record.Run.Command(run.Record.Limits), " ")
}

// Warnings says what makes runs hard to compare.
func (r *Report) Warnings() (list []string) {
	number := func(is func(*rundir.Run) bool) int {
		return len(slices.DeleteFunc(slices.Clone(r.Runs), func(run *rundir.Run) bool { return !is(run) }))
	}
	if n := number(func(run *rundir.Run) bool { return !run.Ended() }); n > 0 {
		list = append(list, fmt.Sprintf("%s not ended and count in no statistic.", hasHave(n)))
	}
	if n := number(func(run *rundir.Run) bool { return run.Record.State == rundir.Failed }); n > 0 {
		list = append(list, fmt.Sprintf("%s failed. Where numbers went wrong the run counts as unsolved; other failures do not count.", hasHave(n)))
	}
	if len(r.shared(func(run *rundir.Run) string { return run.Record.Run.Version })) > 1 {
		list = append(list, "Runs of several versions of the algorithm are pooled.")
	}
	if n := number(func(run *rundir.Run) bool { return run.Record.Machine.Kernel == "generic" }); n > 0 && n < len(r.Runs) {
		list = append(list, "Runs of the generic kernel, which rounds differently, are pooled with others.")
	}
	budgets := map[string]int{}
	mixed := map[string]bool{}
	for _, s := range r.Settings {
		for _, g := range s.groups {
			for _, run := range g.all {
				k := s.Name + ", maze " + run.Record.Run.Maze
				steps := run.Record.Limits.Steps
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
