package main

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

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

// A product is a file that a command makes of a run.
type product struct {
	command, file, about string   // the command, and of -o the usual name and the help
	kinds                []string // of files that -o may name, or none for any

	// of returns the file, and says what it is.
	of func(r *lab.Run, kind string) (data []byte, what string, err error)
}

func film() product {
	return product{"film", lab.FilmFile, "`FILE` the animation, an SVG file (training.svg)", []string{".svg"},
		func(r *lab.Run, _ string) ([]byte, string, error) {
			svg, n := r.Film()
			if n == 0 {
				return nil, "", words.BadInput("%s has no frame of an animation: the run takes one at each evaluation, "+
					"of an environment that can draw itself", r.Dir)
			}
			return svg, words.Count(n, "frame"), nil
		}}
}

func figure5() product {
	return product{"figure5", lab.Figure5File, "`FILE` the picture, or a .csv file for its numbers (figure5.svg)",
		[]string{".svg", ".csv"},
		func(r *lab.Run, kind string) ([]byte, string, error) {
			data, table, n := r.Figure5()
			if n == 0 {
				return nil, "", words.BadInput("%s has no snapshot of Figure 5: the run takes one at each evaluation, "+
					"of a maze or another environment that is a Surveyor", r.Dir)
			}
			if kind == ".csv" {
				data = table
			}
			return data, words.Count(n, "snapshot"), nil
		}}
}

func export() product {
	return product{"export", "agent.safetensors", "`FILE` the safetensors file (agent.safetensors), whose layout " +
		"\"go doc qta.Agent.WriteSafetensors\" has", nil,
		func(r *lab.Run, _ string) ([]byte, string, error) {
			var b bytes.Buffer
			err := r.Agent.WriteSafetensors(&b)
			return b.Bytes(), fmt.Sprintf("the networks, after %d environment steps,", r.Agent.Steps()), err
		}}
}

func (p product) flagSet() *flag.FlagSet { return p.flagsTo(new(string)) }

func (p product) flagsTo(file *string) *flag.FlagSet {
	*file = p.file
	flags := newFlagSet(p.command)
	text(flags, file, "o", p.about)
	return flags
}

// write makes the file, and then says so, unless that would stand behind the file
// on standard output.
func (p product) write(c call) error {
	var file string
	args, err := parseFlags(p.flagsTo(&file), c.args)
	if err == nil {
		err = writable(file, p.kinds...)
	}
	if err != nil {
		return err
	}
	r, err := openRun(c, p.command, args)
	if err != nil {
		return err
	}
	defer r.Agent.Close()
	data, what, err := p.of(r, filepath.Ext(file))
	if err != nil {
		return err
	}
	through, err := files.Output(file, data)
	if err == nil && !through {
		_, err = fmt.Fprintf(c.out, "Wrote %s of %s to %s.\n", what, r.Dir, file)
	}
	return err
}

// figure5Command makes the figure: of a new run, for which it takes the flags
// of training, or of a run directory.
func figure5Command(c call) error {
	ofRun := regexp.MustCompile("^([^-]|--?o(=|$))")
	if len(c.args) == 0 || !ofRun.MatchString(c.args[0]) {
		c.args = append([]string{"-maze", paper.Figure5Maze}, c.args...)
		return trainCommand(c)
	}
	return figure5().write(c)
}
