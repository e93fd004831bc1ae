package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// figure5Command makes the figure: of a new run, for which it takes the flags
// of training, or of a run directory.
func figure5Command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return redrawFigure5(args[0], args[1:], stdout, stderr)
	}
	return trainCommand(ctx, append([]string{"-maze", figure5Maze}, args...), stdout, stderr)
}

type figure5Flags struct{ file string }

func (f *figure5Flags) flagSet() *flag.FlagSet {
	*f = figure5Flags{file: figure5File}
	flags := newFlagSet("qta figure5 DIR")
	flags.StringVar(&f.file, "o", f.file, "`FILE` the picture (figure5.svg)")
	return flags
}

// redrawFigure5 draws the figure of a run directory, which it leaves as it is:
// its snapshots, or its agent if there are none.
func redrawFigure5(dir string, args []string, stdout, stderr io.Writer) error {
	var flags figure5Flags
	args, err := parseFlags(flags.flagSet(), args)
	if err != nil {
		return err
	} else if err := noMore("figure5 "+dir, args); err != nil {
		return err
	}
	r, err := needRecord(dir)
	if err != nil {
		return err
	}
	f, err := openFigure5(dir, r.Run)
	if err != nil {
		return err
	}
	if len(f.snapshots) == 0 {
		a, warning, err := loadAgent(dir, r, false)
		warn(stderr, warning)
		if err != nil {
			return err
		}
		if a == nil {
			return badInput("%s holds neither snapshots nor an agent yet; continue the run to make them", dir)
		}
		defer a.Close()
		f.take(a)
	}
	if err := replaceFile(flags.file, f.pictures().whole(r.Run.Maze).file(), false); err != nil {
		return badInput("%w", err)
	}
	fmt.Fprintf(stdout, "Drew %s of maze %s to %s.\n", count(len(f.snapshots), "snapshot"), r.Run.Maze, flags.file)
	return nil
}
