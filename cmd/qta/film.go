package main

import (
	"flag"
	"fmt"
	"io"

	"qta/cmd/qta/internal/film"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

type filmFlags struct{ file string }

func (f *filmFlags) flagSet() *flag.FlagSet {
	*f = filmFlags{file: rundir.FilmFile}
	flags := newFlagSet("film")
	text(flags, &f.file, "o", "`FILE` the animation (training.svg)")
	return flags
}

// filmCommand draws the training in a run directory, which it leaves as it is.
func filmCommand(args []string, stdout, stderr io.Writer) error {
	var flags filmFlags
	args, err := parseFlags(flags.flagSet(), args)
	if err != nil {
		return err
	}
	dir, err := oneArgument("film", "a run directory", args)
	if err != nil {
		return err
	}
	r, a, err := openRun(dir, stderr)
	if err != nil {
		return err
	}
	defer a.Close()
	f, err := film.Open(dir, r)
	if err != nil {
		return words.BadFile(err, "%w; the command of the run begins it anew", err)
	}
	f.ForgetAfter(a.Steps())
	if len(f.Frames) == 0 {
		return words.BadInput("%s holds no frame of an animation yet; the run takes one at each evaluation, and writes it with its next checkpoint", dir)
	}
	through, err := rundir.Output(flags.file, f.Draw(a).File())
	if err != nil {
		return err
	} else if through {
		return nil // what follows would stand behind the picture
	}
	fmt.Fprintf(stdout, "Drew %s of maze %s to %s.\n", words.Count(len(f.Frames), "frame"), r.Run.Maze, flags.file)
	return nil
}
