package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/report"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

type reportFlags struct{ out, format string }

func (f *reportFlags) flagSet() *flag.FlagSet {
	*f = reportFlags{format: "html"}
	flags := newFlagSet("report")
	text(flags, &f.out, "o", "`PATH` the page (report.html); of csv and svg the directory to make (report)")
	flags.Func("format", "`KIND` html: a page; svg: its pictures; csv: its numbers (html)", func(s string) error {
		if s != "html" && s != "svg" && s != "csv" {
			return errors.New("want html, svg or csv")
		}
		f.format = s
		return nil
	})
	return flags
}

func reportCommand(args []string, stdout io.Writer) error {
	var f reportFlags
	dirs, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return words.BadInput("qta report needs directories with runs")
	}
	if f.out == "" {
		f.out = "report"
		if f.format == "html" {
			f.out = rundir.PageFile
		}
	}
	dir := f.out // that it is written to
	if f.format == "html" {
		dir = filepath.Dir(f.out)
	}
	if files.Exists(filepath.Join(dir, rundir.RecordFile)) {
		return words.BadInput("-o %s: %s is a run directory, which has a page of its own; name another place", f.out, dir)
	}
	c, err := rundir.Collect(dirs)
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
	c.Skipped = slices.DeleteFunc(c.Skipped, func(s rundir.Skip) bool {
		own := slices.Contains([]string{".csv", ".svg"}, filepath.Ext(s.Path)) && files.Same(filepath.Dir(s.Path), f.out)
		return own || files.Same(s.Path, f.out) // of an earlier report
	})
	r := report.New(c)
	if through, err := f.write(r); err != nil {
		return err
	} else if through {
		return nil // what follows would stand behind the page
	}
	_, err = fmt.Fprintf(stdout, "%s in %s; %s left out. The report is %s.\n",
		words.Count(len(r.Runs), "run"), words.Plain(strings.Join(dirs, ", ")), words.Count(len(r.Skipped), "file"), f.out)
	return err
}

// write writes the report in the form that the flags ask for; through is that of
// [files.Output].
func (f *reportFlags) write(r *report.Report) (through bool, err error) {
	var list []files.File
	switch f.format {
	case "csv":
		list = r.CSV()
	case "svg":
		list = r.SVG()
	default:
		page, err := r.HTML()
		if err != nil {
			return false, err
		}
		return files.Output(f.out, page)
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("directory %s cannot be made: %w", f.out, words.Cause(err))
	}
	return false, files.WriteAll(f.out, list)
}
