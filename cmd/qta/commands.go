package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

// This file has the table of commands, their help, and the parsing of flags.

// A command of qta.
type command struct {
	name    string
	about   string // one line
	usage   string // the form of the command line
	example string
	text    string // ends the command's help, if not ""

	least, most int // how many arguments there may be beside the flags

	// define adds the command's flags, and returns the function that runs the command.
	define func(*flag.FlagSet) func(call) error
}

// A call holds the arguments of a command line without the flags, and where the command
// writes.
type call struct {
	ctx    context.Context
	args   []string
	out    *output
	stderr io.Writer
}

// commands lists the commands in the order of the help.
func commands() []command {
	return []command{
		{
			name: "train", about: "train an agent; this is what qta does without a command",
			usage:   "qta [-maze NAME|FILE] [flags]",
			example: "qta -maze 1U5 -params small -seed 3",
			text:    trainText, define: trainCommand,
		},
		{
			name: "params", about: "list sets and parameters, describe one in full, or find a word",
			usage:   "qta params [NAME|WORD]",
			example: "qta params Batch",
			most:    1, define: paramsCommand,
		},
		{
			name: "maze", about: "show a maze, its size and its path length",
			usage:   "qta maze NAME|FILE [-o FILE]",
			example: "qta maze 12x5 -o 12x5.svg",
			text:    mazeText, least: 1, most: 1, define: mazeCommand,
		},
		{
			name: "eval", about: "evaluate the agent of a run",
			usage:   "qta eval DIR [flags]",
			example: "qta eval runs/4x5-quick-1 -rollouts 200",
			least:   1, most: 1, define: evalCommand,
		},
		{
			name: "sweep", about: "train every run that a file lists",
			usage:   "qta sweep FILE [flags], or qta sweep -figure N [flags]",
			example: "qta sweep -figure 2 -mazes 1U5 -params small > sweep.txt && qta sweep sweep.txt -jobs 2",
			text:    sweepText, most: 1, define: sweepCommand,
		},
		{
			name: "status", about: "say how far each run in directories has come",
			usage:   "qta status DIR...",
			example: "qta status runs",
			least:   1, most: math.MaxInt, define: statusCommand,
		},
		{
			name: "report", about: "compare all runs in directories with the paper, on a page",
			usage:   "qta report DIR... [flags]",
			example: "qta report runs -o report.html",
			least:   1, most: math.MaxInt, define: reportCommand,
		},
		{
			name: "export", about: "write the networks of a run to a safetensors file",
			usage:   "qta export DIR [-o FILE]",
			example: "qta export runs/4x5-quick-1 -o agent.safetensors",
			least:   1, most: 1, define: exportCommand,
		},
		{
			name: "check", about: "compare the code with the golden vectors of Equation N, or of all",
			usage:   "qta check [N] [-vectors DIR]",
			example: "qta check 5",
			most:    1, define: checkCommand,
		},
		{
			name: "version", about: "print the version of the algorithm and the kernel used here",
			usage:   "qta version",
			example: "qta version",
			define:  versionCommand,
		},
		{
			name: "help", about: "list the commands, or describe one",
			usage:   "qta help [COMMAND]",
			example: "qta help train",
			most:    1, define: helpCommand,
		},
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
	return command{}, words.BadInput("unknown command %q; the commands are %s",
		name, strings.Join(names, ", "))
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

func helpCommand(*flag.FlagSet) func(call) error {
	return func(c call) error {
		if len(c.args) > 0 {
			t, err := commandNamed(c.args[0])
			if err == nil {
				t.help(c.out)
			}
			return err
		}
		fmt.Fprint(c.out, "qta trains an agent on a maze by Query The Agent. The commands:\n\n")
		for _, t := range commands() {
			fmt.Fprintf(c.out, "  %-8s %s\n", t.name, t.about)
		}
		fmt.Fprint(c.out, helpText)
		return nil
	}
}

// help writes the help page of a command.
func (c command) help(w io.Writer) {
	fmt.Fprintf(w, "qta %s: %s\n\n  %s\n\nExample:\n\n  %s\n\n",
		c.name, c.about, c.usage, c.example)
	flags := newFlagSet(c.name)
	c.define(flags)
	flags.SetOutput(w)
	flags.PrintDefaults()
	if c.text != "" {
		fmt.Fprint(w, "\n"+c.text)
	}
}

func versionCommand(*flag.FlagSet) func(call) error {
	return func(c call) error {
		p := lab.ThisProgram()
		fmt.Fprintf(c.out, "qta %s, revision %s, %s, %s/%s, %s kernel\n",
			qta.Version, p.Revision, p.Go, runtime.GOOS, runtime.GOARCH, qta.KernelName())
		return nil
	}
}

func newFlagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags parses the flags in args, which may stand anywhere, and returns the other
// arguments. All arguments after -- are others.
func parseFlags(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, words.BadInput("%w; \"qta help %s\" lists the flags", err, flags.Name())
		}
		parsed := len(args) - flags.NArg()
		ended := parsed > 0 && args[parsed-1] == "--"
		if ended || flags.NArg() == 0 {
			return append(others, flags.Args()...), checkGiven(flags)
		}
		others = append(others, flags.Arg(0)) // a flag may follow it
		args = flags.Args()[1:]
	}
}

// checkGiven refuses a flag that was given an empty text, perhaps by a variable that is not
// set. The command would take it for a flag that was not given.
func checkGiven(flags *flag.FlagSet) (err error) {
	flags.Visit(func(f *flag.Flag) {
		if getter, ok := f.Value.(flag.Getter); ok && getter.Get() == "" {
			err = words.BadInput("-%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// wholeNumber defines a flag that takes a whole number from low to high. value is its
// default, which the help shows unless it is below low.
func wholeNumber[T int | uint64](flags *flag.FlagSet, name string, value, low, high T, usage string) *T {
	if value >= low {
		usage += fmt.Sprintf(" (default %d)", value)
	}
	flags.Func(name, usage, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n < uint64(low) || n > uint64(high) {
			return fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		value = T(n)
		return nil
	})
	return &value
}

const helpText = `
Without a command and flags qta trains on the 4x5 maze until it is solved, with
the parameters "quick". These are "paper" except for batches of 256 instead of
1024 and 1000 candidates of a goal instead of 4000.
"qta help COMMAND" lists a command's flags and shows an example.

Exit codes:

  0   done, or the run was finished before
  1   any other failure, such as a file that cannot be written or a failed check
  2   bad input: a flag, a parameter, a maze, a directory
  3   a number went wrong (a NaN or Inf), or an environment broke its contract; the
      last good save is kept
  75  stopped by SIGINT, SIGTERM or SIGHUP and saved, or another process works on the
      run: give the command again to continue

Another SIGINT or SIGTERM, one second later or more, ends qta at once, without saving.
`

const trainText = `Four parameters choose the methods that the paper compares QTA with: Curriculum,
Uncertainty, UncertaintyNoise and Replay. Change them by -set; "qta params Curriculum"
lists the values of Curriculum. -params mega and -params vds train MEGA and VDS
nearly as QTA's authors ran them.
"qta help maze" says how to write a maze. docs/running.md describes the files of
a run; open its report.html.

The same command continues an unfinished run. To continue a finished run, give it
more -steps; to continue a solved one, add -stop never.
`

const mazeText = `A maze is a name (4x5, 12x5, 1U5, 2U5 and so on) or a text file, whose name has a
path separator or ends in .txt or .map. In the file '#' is wall, a space or '.' is
free, S is the start and G the goal.
`

const sweepText = `Each line of a sweep file lists the flags of one run; '#' begins a comment.
-seed 0-11 on a line stands for twelve runs. "qta sweep -out DIR" makes the runs'
directories inside DIR. A run's directory has its usual name, unless its line gives
another one by -out.
The same command skips finished runs and continues the others.
`
