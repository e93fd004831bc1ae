package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"qta/cmd/qta/internal/report"
	"qta/internal/files"
	"qta/internal/words"
	"qta/lab"
)

type reportFlags struct{ out, format string }

func (f *reportFlags) flagSet() *flag.FlagSet {
	*f = reportFlags{format: "html"}
	flags := newFlagSet("report")
	text(flags, &f.out, "o", "`PATH` the page (report.html); of csv and svg the directory to make (report)")
	oneOf(flags, &f.format, "format", "`KIND` html: a page; svg: its pictures; csv: its numbers (html)",
		"html", "svg", "csv")
	return flags
}

func reportCommand(in call) error {
	var f reportFlags
	dirs, err := parseFlags(f.flagSet(), in.args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return words.BadInput("qta report needs directories with runs")
	}
	dir := f.out // that it is written to
	if f.format == "html" {
		if f.out == "" {
			f.out = lab.PageFile
		}
		dir = filepath.Dir(f.out)
	} else if f.out == "" {
		f.out, dir = "report", "report"
	}
	if files.Exists(filepath.Join(dir, lab.RecordFile)) {
		return words.BadInput("-o %s: %s is a run directory, which has a page of its own; name another place", f.out, dir)
	}
	c, err := lab.Collect(dirs)
	if err != nil {
		return err
	}
	if len(c.Runs) == 0 {
		why := ""
		if len(c.Skipped) > 0 {
			why = fmt.Sprintf("; %s: %s", c.Skipped[0].Path, c.Skipped[0].Why)
		}
		return words.BadInput("there is no run in %s%s", strings.Join(dirs, ", "), why)
	}
	r := report.New(c)
	if through, err := f.write(r); err != nil || through {
		return err // what follows would stand behind the page
	}
	_, err = fmt.Fprintf(in.out, "%s in %s; %s left out. The report is %s.\n",
		words.Count(len(r.Runs), "run"), words.Plain(strings.Join(dirs, ", ")), words.Count(len(r.Skipped),
			"file"), f.out)
	return err
}

// write writes the report in the form that the flags ask for; through is that of
// [files.Output].
func (f *reportFlags) write(r *report.Report) (through bool, err error) {
	if f.format == "html" {
		page, err := r.HTML()
		if err != nil {
			return false, err
		}
		return files.Output(f.out, page)
	}
	list := r.CSV
	if f.format == "svg" {
		list = r.SVG
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("directory %s cannot be made: %w", f.out, words.Cause(err))
	}
	for _, file := range list() {
		if _, err := files.Output(filepath.Join(f.out, file.Name), file.Data); err != nil {
			return false, err
		}
	}
	return false, nil
}
