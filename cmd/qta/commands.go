package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/cmd/qta/internal/terminal"
	"qta/internal/files"
	"qta/internal/words"
	"qta/lab"
)

// This file has the table of commands, what the command says of itself, and what
// commands share: flags and the file that -o names.

// A command of qta.
type command struct {
	name    string
	about   string               // in a line
	usage   []string             // what may stand on the command line
	flags   func() *flag.FlagSet // or nil
	example string
	text    string
	run     func(call) error
}

// A call is a command line after the command's name, and where it writes.
type call struct {
	ctx    context.Context
	args   []string
	out    *terminal.Output
	stderr io.Writer
}

// commands lists the commands in the order of the help.
func commands() []command {
	return []command{
		{"train", "train an agent; what qta does where no command is named",
			[]string{"qta [flags]", "qta train [flags]"}, new(trainFlags).flagSet,
			"qta -maze 1U5 -params small -seed 3", trainText, trainCommand},
		{"params", "list the parameters, or tell everything about one",
			[]string{"qta params [-wide]", "qta params NAME"}, new(paramsFlags).flagSet,
			"qta params Batch", "", paramsCommand},
		{"maze", "show a maze, its size and its path length", []string{"qta maze NAME|FILE [-o FILE]"},
			new(mazeFlags).flagSet,
			"qta maze 12x5 -o 12x5.svg", mazeText, mazeCommand},
		{"eval", "evaluate the agent of a run", []string{"qta eval DIR [flags]"}, new(evalFlags).flagSet,
			"qta eval runs/4x5-fast-1 -rollouts 200", "", evalCommand},
		{"figure5", "make the paper's Figure 5, of a new run or of one that there is",
			[]string{"qta figure5 [flags of qta train]", "qta figure5 DIR [-o FILE]"}, figure5().flagSet,
			"qta figure5 runs/4x5-fast-1 -o figure5.svg", figure5Text, figure5Command},
		{"film", "draw the training of a run as an animation", []string{"qta film DIR [-o FILE]"},
			film().flagSet,
			"qta film runs/4x5-fast-1 -o training.svg", "", film().write},
		{"sweep", "train every run that a file lists",
			[]string{"qta sweep FILE [flags]", "qta sweep -figure N [flags]"}, new(sweepFlags).flagSet,
			"qta sweep -figure 2 -mazes 1U5 -params small > sweep.txt && qta sweep sweep.txt -jobs 2", sweepText, sweepCommand},
		{"status", "say how far every run within directories is", []string{"qta status DIR... [-sweep FILE]"},
			new(statusFlags).flagSet,
			"qta status runs -sweep sweep.txt", "", statusCommand},
		{"report", "compare all runs within directories with the paper, as a page",
			[]string{"qta report DIR... [flags]"}, new(reportFlags).flagSet,
			"qta report runs -o report.html", "", reportCommand},
		{"export", "write the networks of a run to a safetensors file", []string{"qta export DIR [-o FILE]"},
			export().flagSet,
			"qta export runs/4x5-fast-1 -o agent.safetensors", "", export().write},
		{"check", "hold the code to golden vectors of Equation N, or of all, in numbers",
			[]string{"qta check [N] [-vectors DIR]"}, new(checkFlags).flagSet,
			"qta check 5", "", func(c call) error { return checkCommand(c.args, c.out) }},
		{"version", "say which version of the algorithm this is, and its machine's kernel",
			[]string{"qta version"}, nil, "qta version", "", versionCommand},
		{"help", "say what the commands are, or what one takes", []string{"qta help [COMMAND]"}, nil,
			"qta help train", "", helpCommand},
	}
}

// commandNamed returns the command with a name.
func commandNamed(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return command{}, words.BadInput("unknown command %q%s; the commands are %s", name,
		words.Meant(name, names), strings.Join(names, ", "))
}

// spelled returns the name of the command that args spell, and what follows it.
func spelled(args []string) (name string, rest []string) {
	switch {
	case len(args) == 0:
		return "train", nil
	case slices.Contains([]string{"-h", "-help", "--help"}, args[0]):
		return "help", args[1:]
	case args[0] == "-version" || args[0] == "--version":
		return "version", args[1:]
	case strings.HasPrefix(args[0], "-"):
		return "train", args
	}
	return args[0], args[1:]
}

// helpWidth is that of the help's lines.
const helpWidth = 80

func helpCommand(c call) error {
	args, err := parseFlags(newFlagSet("help"), c.args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		fmt.Fprint(c.out, "qta trains an agent on a maze by Query The Agent. The commands:\n\n")
		for _, t := range commands() {
			fmt.Fprintf(c.out, "  %-8s %s\n", t.name, t.about)
		}
		_, err = fmt.Fprint(c.out, helpText)
		return err
	}
	if err := noMore("help", args[1:]); err != nil {
		return err
	}
	t, err := commandNamed(args[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "qta %s: %s\n\n", t.name, t.about)
	for _, usage := range t.usage {
		fmt.Fprintf(c.out, "  %s\n", usage)
	}
	fmt.Fprintf(c.out, "\nExample:\n\n  %s\n", t.example)
	if t.flags != nil {
		fmt.Fprint(c.out, "\nFlags, and what they are where they are not given:\n\n")
		t.flags().VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(c.out, "  -%s\n", strings.TrimSpace(f.Name+" "+value))
			for _, line := range words.Wrap(strings.TrimPrefix(usage, value+" "), helpWidth-8) {
				fmt.Fprintf(c.out, "        %s\n", line)
			}
		})
	}
	if t.text != "" {
		fmt.Fprint(c.out, "\n"+t.text)
	}
	return nil
}

func versionCommand(c call) error {
	if err := noMore("version", c.args); err != nil {
		return err
	}
	p := lab.ThisProgram()
	_, err := fmt.Fprintf(c.out, "qta %s, revision %s, %s, %s/%s, %s kernel\n", qta.Version, p.Revision, p.Go,
		runtime.GOOS, runtime.GOARCH, qta.KernelName())
	return err
}

func newFlagSet(name string) *flag.FlagSet {
	return flag.NewFlagSet(name, flag.ContinueOnError)
}

// parseFlags parses args, in which flags and other arguments may be mixed,
// and returns the others.
func parseFlags(flags *flag.FlagSet, args []string) ([]string, error) {
	flags.SetOutput(io.Discard)
	var others []string
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			meant := ""
			if _, name, ok := strings.Cut(err.Error(), "not defined: "); ok {
				var names []string
				flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
				meant = words.Meant(name, names)
			}
			return nil, words.BadInput("%v%s; \"qta help %s\" lists the flags", err, meant, flags.Name())
		}
		rest := flags.Args()
		if parsed := len(args) - len(rest); parsed > 0 && args[parsed-1] == "--" {
			return append(others, rest...), nil
		}
		if len(rest) == 0 {
			return others, nil
		}
		if rest[0] == "" {
			return nil, words.BadInput("an argument is empty; \"qta help %s\" shows what it takes", flags.Name())
		}
		others, args = append(others, rest[0]), rest[1:]
	}
}

// noMore refuses arguments that are left over.
func noMore(command string, args []string) error {
	if len(args) > 0 {
		name, _, _ := strings.Cut(command, " ")
		return words.BadInput("unexpected argument %q after qta %s; \"qta help %s\" shows what it takes",
			args[0], command, name)
	}
	return nil
}

// oneArgument returns the only argument of a command, which is described by
// what.
func oneArgument(command, what string, args []string) (string, error) {
	if len(args) == 0 {
		return "", words.BadInput("%s needs %s; \"qta help %s\" has an example", command, what, command)
	}
	return args[0], noMore(command+" "+args[0], args[1:])
}

// wholeNumber defines a flag whose value is an integer from low to high.
func wholeNumber(flags *flag.FlagSet, p *int, name string, low, high int, usage string) {
	flags.Func(name, usage, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		*p = n
		return nil
	})
}

// text defines a flag whose value is a text that is not empty, as that of a
// variable that was not set would be.
func text(flags *flag.FlagSet, p *string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		if text == "" {
			return errors.New("want a text that is not empty")
		}
		*p = text
		return nil
	})
}

// oneOf defines a flag whose value is one of some words.
func oneOf(flags *flag.FlagSet, p *string, name, usage string, words ...string) {
	flags.Func(name, usage, func(text string) error {
		if !slices.Contains(words, text) {
			return errors.New("want " + strings.Join(words, " or "))
		}
		*p = text
		return nil
	})
}

// seedNumber defines the flag -seed.
func seedNumber(flags *flag.FlagSet, p *uint64, usage string) {
	flags.Func("seed", usage, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.New("want a whole number from 0 to 18446744073709551615")
		}
		*p = n
		return nil
	})
}

// writable refuses a file for -o whose name says that it is of a kind that is not
// written, or that decides a run.
func writable(path string, kinds ...string) error {
	if kind := filepath.Ext(path); kind != "" && len(kinds) > 0 && !slices.Contains(kinds, kind) {
		return words.BadInput("-o %s: a %s file cannot be written, only %s", path, kind, strings.Join(kinds, " or "))
	}
	base := filepath.Base(path)
	if (strings.HasPrefix(base, lab.AgentFile) || base == lab.RecordFile) && files.Exists(filepath.Join(filepath.Dir(path), lab.AgentFile)) {
		return words.BadInput("-o %s is a file of a run; name another", path)
	}
	return nil
}

const helpText = `
Without a command and flags qta trains on the 4x5 maze until it is solved, with
the parameters fast.
"qta help COMMAND" has a command's flags and an example.

Exit codes:

  0   done, or the run was finished already
  1   any other failure: a file that cannot be written, a directory that
      another process is using, vectors that do not hold
  2   bad input: a flag, a parameter, a maze, a directory
  3   a number went wrong: a NaN or Inf, or an environment that breaks its
      contract; the last good checkpoint is kept
  75  stopped by SIGINT or SIGTERM and saved: run the command again to go on
      (a second signal ends the process at once, without saving)
`

const trainText = `-curriculum, -uncertainty, -uncertainty-noise and -replay train what the paper
compares QTA with, on the same networks; -params authors with one of them trains
the form that its authors' code has. -params mega and -params vds train these
two with the hyper-parameters that their own authors published.

A maze is a name (4x5, 12x5, 1U5, 2U5 and so on) or a text file; "qta help maze"
says how it is written.

The run is in its directory: open report.html there. agent.qta decides, and the
one before it is agent.qta.previous; the page, its pictures (training.svg,
curve.svg, figure5.svg), log.csv and run.json, which "qta report" reads, are
drawn from it at each save. timing.csv has the clock at each evaluation, and
lock is held while a process works on the run.

The same command on the directory of an unfinished run continues it, and ends
with the bytes of a run that was never interrupted. A finished run continues
when it is given more -steps, a solved one with -stop never. Maze, parameters,
seed and the steps between evaluations cannot change; budget, stop and threads
can.
`

const mazeText = `A maze is a name (4x5, 12x5, 1U5, 2U5 and so on) or a text file, whose name has
a path separator or ends in .txt or .map: '#' is wall, a space or '.' is free,
S is the start and G the goal.
`

const figure5Text = `Without a directory it trains, on the 12x5 maze unless -maze names another, with
the flags of "qta help train", and leaves the figure in the run directory. With
one it draws the figure of that run, which stays as it is, or writes its numbers
where -o ends in .csv.
`

const sweepText = `A sweep file has the flags of one run on each line; '#' begins a comment. Its
runs get directories within the -out of qta sweep, under their own names or
under that which -out on their line gives. The same command skips the finished
ones and continues the others. A cell that fails does not stop the rest.

-figure prints the sweep file of a figure of the paper.
`
