package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"qta/cmd/qta/internal/figure5"
	"qta/cmd/qta/internal/paper"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

// figure5Command makes the figure: of a new run, for which it takes the flags
// of training, or of a run directory.
func figure5Command(ctx context.Context, args []string, stdout *terminal.Output, stderr io.Writer) error {
	if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || isFlag(args[0], "o")) {
		return redrawFigure5(args, stdout, stderr)
	}
	return trainCommand(ctx, append([]string{"-maze", paper.Figure5Maze}, args...), stdout, stderr)
}

// isFlag reports whether an argument is the flag of this name.
func isFlag(arg, name string) bool {
	arg, _, _ = strings.Cut(arg, "=")
	return arg == "-"+name || arg == "--"+name
}

type figure5Flags struct{ file string }

func (f *figure5Flags) flagSet() *flag.FlagSet {
	*f = figure5Flags{file: rundir.Figure5File}
	flags := newFlagSet("figure5")
	text(flags, &f.file, "o", "`FILE` the picture (figure5.svg)")
	return flags
}

// redrawFigure5 draws the figure of a run directory, which it leaves as it is:
// its snapshots, or its agent if there are none.
func redrawFigure5(args []string, stdout, stderr io.Writer) error {
	var flags figure5Flags
	args, err := parseFlags(flags.flagSet(), args)
	if err != nil {
		return err
	}
	dir, err := oneArgument("figure5", "a run directory", args)
	if err != nil {
		return err
	}
	r, err := rundir.NeedRecord(dir)
	if err != nil {
		return err
	}
	f, err := figure5.Open(dir, r)
	if err != nil {
		return words.BadFile(err, "%w; the command of the run begins it anew", err)
	}
	if len(f.Snapshots) == 0 {
		a, warning, err := rundir.LoadAgent(dir, r)
		warn(stderr, warning)
		if err != nil {
			return err
		}
		if a == nil {
			return words.BadInput("%s holds neither snapshots nor an agent yet; continue the run to make them", dir)
		}
		defer a.Close()
		f.Take(a)
	}
	through, err := rundir.Output(flags.file, f.Pictures().Whole(r.Run.Maze).File())
	if err != nil {
		return err
	} else if through {
		return nil // what follows would stand behind the picture
	}
	fmt.Fprintf(stdout, "Drew %s of maze %s to %s.\n", words.Count(len(f.Snapshots), "snapshot"), r.Run.Maze, flags.file)
	return nil
}
