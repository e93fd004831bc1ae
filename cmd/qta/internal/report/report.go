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
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
	"qta/cmd/qta/internal/words"
)

//go:embed report.tmpl
var text string

//go:embed report.css
var css string

// HTML returns the report as a page.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := template.Must(template.New("report").Parse(text)).Execute(&b, r)
	return b.Bytes(), err
}

// SVG returns the report's pictures as files.
func (r *Report) SVG() []files.File {
	var list []files.File
	used := map[string]bool{} // in small letters, as some systems take them for the same
	for _, s := range r.Settings {
		for _, p := range slices.Concat(s.Figures(), s.Curves()) {
			stem := fileName(s.Name) + "-" + fileName(p.name)
			name := stem
			for i := 2; used[strings.ToLower(name)]; i++ {
				name = fmt.Sprintf("%s-%d", stem, i)
			}
			used[strings.ToLower(name)] = true
			list = append(list, files.File{Name: name + ".svg", Data: p.Drawing.File()})
		}
	}
	return list
}

// fileName makes a text part of a file's name, for which 255 bytes are allowed
// on most systems.
func fileName(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '=':
			return r
		}
		return '_'
	}, text)
	return text[:min(len(text), 100)]
}

// Style returns the page's CSS.
func (r *Report) Style() template.CSS { return template.CSS(page.Style() + "\n" + css) }

// Resamples returns how many a bootstrap draws.
func (r *Report) Resamples() int { return statistics.Resamples }

const mostSkipped = 200

// SkippedFirst returns the files that the page lists as not used.
func (r *Report) SkippedFirst() []rundir.Skip { return r.Skipped[:min(len(r.Skipped), mostSkipped)] }

// SkippedMore returns how many files it does not list.
func (r *Report) SkippedMore() int { return len(r.Skipped) - len(r.SkippedFirst()) }

// A claimList has the claims that runs speak of, and those of which they are
// silent.
type claimList struct{ Judged, Silent []claim }

// Claims sorts the claims.
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
	return s.sum(func(g *group) int { return len(g.all) })
}

// Ended returns how many have ended.
func (s *setting) Ended() int { return s.sum((*group).N) }

// Solved returns how many are solved.
func (s *setting) Solved() int { return s.sum((*group).Solved) }

func (s *setting) sum(of func(*group) int) int {
	n := 0
	for _, g := range s.Groups {
		n += of(g)
	}
	return n
}

// Where names the mazes.
func (s *setting) Where() string { return where(s.mazes) }

// Methods names the methods.
func (s *setting) Methods() string {
	var names []string
	for _, m := range paper.Methods() {
		if slices.ContainsFunc(s.Groups, func(g *group) bool { return g.Method == m.Name }) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Count says how many runs there are.
func (r *Report) Count() string { return words.Count(len(r.Runs), "run") }

// Judging returns the settings of more than one run that speak of claims.
func (r *Report) Judging() []*setting {
	return slices.DeleteFunc(slices.Clone(r.Settings), func(s *setting) bool { return s.Runs() == 1 || len(s.Claims().Judged) == 0 })
}

// shared counts the runs that share a text.
func (r *Report) shared(text func(*rundir.Run) string) map[string]int {
	n := map[string]int{}
	for _, run := range r.Runs {
		n[text(run)]++
	}
	return n
}

// Programs counts the runs by the program that made them.
func (r *Report) Programs() map[string]int {
	return r.shared(func(run *rundir.Run) string {
		g, build := run.Record.Program, ""
		for _, k := range slices.Sorted(maps.Keys(g.Build)) {
			build += fmt.Sprintf(", %s=%s", k, g.Build[k])
		}
		return fmt.Sprintf("version %s, revision %s, %s%s", run.Record.Run.Version, g.Revision, g.Go, build)
	})
}

// Machines counts the runs by the machine that made them.
func (r *Report) Machines() map[string]int {
	return r.shared(func(run *rundir.Run) string { return run.Record.Machine.String() })
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
	if slices.ContainsFunc(r.Settings, func(s *setting) bool { return slices.ContainsFunc(s.Groups, (*group).Few) }) {
		list = append(list, fmt.Sprintf("Some methods have fewer than %d ended runs in a maze. Their bootstrap intervals are too narrow to be 95 %% intervals; they stand in grey.", statistics.EnoughRuns))
	}
	if n := len(r.Skipped); n > 0 {
		list = append(list, fmt.Sprintf("%s not used; they are listed at the end.", wasWere(n)))
	}
	if len(r.shared(func(run *rundir.Run) string { return run.Record.Run.Version })) > 1 {
		list = append(list, "Runs of several versions of the algorithm are pooled.")
	}
	if n := number(func(run *rundir.Run) bool { return run.Record.Machine.Kernel == "generic" }); n > 0 && n < len(r.Runs) {
		list = append(list, "Runs of the generic kernel, which rounds differently, are pooled with others.")
	}
	budgets := map[string][]int{}
	for _, s := range r.Settings {
		for _, g := range s.Groups {
			for _, run := range g.all {
				k := s.Name + ", maze " + run.Record.Run.Maze
				budgets[k] = append(budgets[k], run.Record.Limits.Steps)
			}
		}
	}
	mixed := slices.DeleteFunc(slices.Sorted(maps.Keys(budgets)), func(k string) bool { return slices.Min(budgets[k]) == slices.Max(budgets[k]) })
	for _, k := range mixed[:min(len(mixed), 10)] {
		list = append(list, fmt.Sprintf("Budgets differ: %s. Unsolved runs stand at their own.", k))
	}
	return list
}

func wasWere(n int) string {
	if n == 1 {
		return "1 file was"
	}
	return fmt.Sprintf("%d files were", n)
}

func hasHave(n int) string {
	if n == 1 {
		return "1 run has"
	}
	return fmt.Sprintf("%d runs have", n)
}
