package main

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"qta/cmd/qta/internal/paper"
	"qta/internal/files"
	"qta/internal/words"
	"qta/lab"
)

// This file has the commands that look at a run and leave it as it is: eval, film,
// figure5 and export.

// openRun opens the only argument of a command.
func openRun(c call, command string, args []string) (*lab.Run, error) {
	dir, err := oneArgument(command, "the directory of a run", args)
	if err != nil {
		return nil, err
	}
	r, err := lab.Open(dir)
	if err == nil && r.Warning != nil {
		warn(c.stderr, r.Warning.Error())
	}
	return r, err
}

type evalFlags struct {
	rollouts int
	seed     uint64
	format   string
}

func (f *evalFlags) flagSet() *flag.FlagSet {
	*f = evalFlags{rollouts: 100, seed: 1, format: "text"}
	flags := newFlagSet("eval")
	wholeNumber(flags, &f.rollouts, "rollouts", 1, 1_000_000, "`N` rollouts to evaluate (100)")
	seedNumber(flags, &f.seed, "`N` seed of the starts and goals (1)")
	oneOf(flags, &f.format, "format", "`FORMAT` text, or csv for a table (text)", "text", "csv")
	return flags
}

func evalCommand(c call) error {
	var f evalFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err != nil {
		return err
	}
	r, err := openRun(c, "eval", args)
	if err != nil {
		return err
	}
	defer r.Agent.Close()
	if len(r.Run.Map) == 0 {
		return words.BadInput("the agent of %s acts in %s, which this program does not know; Agent.Evaluate evaluates it",
			r.Dir, r.Run.Environment)
	}
	e, err := r.Agent.Evaluate(r.Run.NewMaze().Env(), f.rollouts, f.seed)
	if err != nil {
		return err
	}
	if f.format == "csv" {
		number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		_, err := c.out.Write(files.CSV([][]string{
			{"step[environment steps]", "success[fraction]", "rollouts[count]", "seed", "reached[fraction]",
				"return[reward]", "steps_to_goal[environment steps]"},
			{strconv.Itoa(e.Step), number(e.Success), strconv.Itoa(f.rollouts), strconv.FormatUint(f.seed, 10),
				number(e.Reached), number(e.Return), number(e.StepsToGoal)},
		}))
		return err
	}
	fmt.Fprintf(c.out,
		"The agent of %s, after %d environment steps in maze %s, reached the goal in %.4g %% of %d rollouts (seed %d).\n",
		r.Dir, r.Agent.Steps(), r.Run.Environment, 100*e.Success, f.rollouts, f.seed)
	fmt.Fprintf(c.out, "That is at the last of %d steps; %.4g %% were there at any time",
		r.Agent.Params().Horizon, 100*e.Reached)
	if e.Reached > 0 {
		fmt.Fprintf(c.out, ", first after %.4g steps on average", e.StepsToGoal)
	}
	fmt.Fprintf(c.out, ". The mean return is %.4g.\n", e.Return)
	return nil
}

type filmFlags struct{ file string }

func (f *filmFlags) flagSet() *flag.FlagSet {
	*f = filmFlags{file: lab.FilmFile}
	flags := newFlagSet("film")
	text(flags, &f.file, "o", "`FILE` the animation, an SVG file (training.svg)")
	return flags
}

func filmCommand(c call) error {
	var f filmFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err == nil {
		err = writable(f.file, ".svg")
	}
	if err != nil {
		return err
	}
	r, err := openRun(c, "film", args)
	if err != nil {
		return err
	}
	defer r.Agent.Close()
	svg, frames := r.Film()
	if frames == 0 {
		return words.BadInput("%s has no frame of an animation: the run takes one at each evaluation, of an environment that can draw itself",
			r.Dir)
	}
	return writeFile(c, f.file, svg, "Drew %s of %s to %s.\n", words.Count(frames, "frame"), r.Run.Environment,
		f.file)
}

type figure5Flags struct{ file string }

func (f *figure5Flags) flagSet() *flag.FlagSet {
	*f = figure5Flags{file: lab.Figure5File}
	flags := newFlagSet("figure5")
	text(flags, &f.file, "o", "`FILE` the picture, or a .csv file for its numbers (figure5.svg)")
	return flags
}

// figure5Command makes the figure: of a new run, for which it takes the flags
// of training, or of a run directory.
func figure5Command(c call) error {
	isFlag := func(arg, name string) bool {
		arg, _, _ = strings.Cut(arg, "=")
		return arg == "-"+name || arg == "--"+name
	}
	if len(c.args) == 0 || strings.HasPrefix(c.args[0], "-") && !isFlag(c.args[0], "o") {
		c.args = append([]string{"-maze", paper.Figure5Maze}, c.args...)
		return trainCommand(c)
	}
	var f figure5Flags
	args, err := parseFlags(f.flagSet(), c.args)
	if err == nil {
		err = writable(f.file, ".svg", ".csv")
	}
	if err != nil {
		return err
	}
	r, err := openRun(c, "figure5", args)
	if err != nil {
		return err
	}
	defer r.Agent.Close()
	data, table, snapshots := r.Figure5()
	if snapshots == 0 {
		return words.BadInput("%s has no snapshot of Figure 5: the run takes one at each evaluation, of a maze or another environment that is a Surveyor",
			r.Dir)
	}
	if filepath.Ext(f.file) == ".csv" {
		data = table
	}
	return writeFile(c, f.file, data, "Wrote %s of %s to %s.\n", words.Count(snapshots, "snapshot"),
		r.Run.Environment, f.file)
}

// writeFile writes what -o names, and then says so, unless that would stand behind
// the file on standard output.
func writeFile(c call, path string, data []byte, format string, args ...any) error {
	through, err := files.Output(path, data)
	if err == nil && !through {
		_, err = fmt.Fprintf(c.out, format, args...)
	}
	return err
}

type exportFlags struct{ file string }

func (f *exportFlags) flagSet() *flag.FlagSet {
	*f = exportFlags{file: "agent.safetensors"}
	flags := newFlagSet("export")
	text(flags, &f.file, "o", "`FILE` the safetensors file (agent.safetensors)")
	return flags
}

func exportCommand(c call) error {
	var f exportFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err == nil {
		err = writable(f.file)
	}
	if err != nil {
		return err
	}
	r, err := openRun(c, "export", args)
	if err != nil {
		return err
	}
	defer r.Agent.Close()
	var b bytes.Buffer
	if err := r.Agent.WriteSafetensors(&b); err != nil {
		return err
	}
	return writeFile(c, f.file, b.Bytes(),
		"Wrote the networks of %s, after %d environment steps, to %s: %d bytes. \"go doc qta.Agent.WriteSafetensors\" has the layout.\n",
		r.Dir, r.Agent.Steps(), f.file, b.Len())
}
