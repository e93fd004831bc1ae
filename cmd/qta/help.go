package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"qta"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

// This file is what the command says of itself.

// A topic is the help on one command.
type topic struct {
	name    string
	about   string               // in a line
	usage   []string             // what may stand on the command line
	flags   func() *flag.FlagSet // or nil
	example string
	text    string
}

// topics lists the commands in the order of the help.
func topics() []topic {
	return []topic{
		{"train", "train an agent; what qta does where no command is named", []string{"qta [flags]", "qta train [flags]"}, new(trainFlags).flagSet,
			"qta -maze 1U5 -params small -seed 3", trainText},
		{"params", "list the parameters, or tell everything about one", []string{"qta params [-wide]", "qta params NAME"}, new(paramsFlags).flagSet,
			"qta params Batch", ""},
		{"maze", "show a maze, its size and its path length", []string{"qta maze NAME|FILE [-o FILE]"}, new(mazeFlags).flagSet,
			"qta maze 12x5 -o 12x5.svg", mazeText},
		{"eval", "evaluate the agent of a run", []string{"qta eval DIR [flags]"}, new(evalFlags).flagSet,
			"qta eval runs/4x5-fast-1 -rollouts 200", ""},
		{"figure5", "make the paper's Figure 5, of a new run or of one that there is", []string{"qta figure5 [flags of qta train]", "qta figure5 DIR [-o FILE]"}, new(figure5Flags).flagSet,
			"qta figure5 runs/4x5-fast-1 -o figure5.svg", figure5Text},
		{"film", "draw the training of a run as an animation", []string{"qta film DIR [-o FILE]"}, new(filmFlags).flagSet,
			"qta film runs/4x5-fast-1 -o training.svg", ""},
		{"sweep", "train every run that a file lists", []string{"qta sweep FILE [flags]", "qta sweep -figure N [flags]"}, new(sweepFlags).flagSet,
			"qta sweep -figure 2 -mazes 1U5 -params small > sweep.txt && qta sweep sweep.txt -jobs 2", sweepText},
		{"status", "say how far every run within directories is", []string{"qta status DIR..."}, nil,
			"qta status runs", ""},
		{"report", "hold all runs within directories against the paper, as a page", []string{"qta report DIR... [flags]"}, new(reportFlags).flagSet,
			"qta report runs -o report.html", reportText},
		{"export", "write the networks of a run to a safetensors file", []string{"qta export DIR [-o FILE]"}, new(exportFlags).flagSet,
			"qta export runs/4x5-fast-1 -o agent.safetensors", ""},
		{"check", "hold the code to vectors of every equation, in numbers", []string{"qta check [N] [-vectors DIR]"}, new(checkFlags).flagSet,
			"qta check 5", checkText},
		{"version", "say which version of the algorithm this is, and its machine's kernel", []string{"qta version"}, nil, "qta version", ""},
		{"help", "say what the commands are, or what one takes", []string{"qta help [COMMAND]"}, nil, "qta help train", ""},
	}
}

func commandNames() (names []string) {
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

// helpWidth is that of the help's lines.
const helpWidth = 80

func helpCommand(args []string, w io.Writer) error {
	args, err := parseFlags(newFlagSet("help"), args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		fmt.Fprint(w, "qta trains an agent on a maze by Query The Agent. The commands:\n\n")
		for _, t := range topics() {
			fmt.Fprintf(w, "  %-8s %s\n", t.name, t.about)
		}
		_, err = fmt.Fprint(w, helpText)
		return err
	}
	if err := noMore("help", args[1:]); err != nil {
		return err
	}
	i := slices.IndexFunc(topics(), func(t topic) bool { return t.name == args[0] })
	if i < 0 {
		return words.BadInput("unknown command %q; the commands are %s", args[0], strings.Join(commandNames(), ", "))
	}
	t := topics()[i]
	fmt.Fprintf(w, "qta %s: %s\n\n", t.name, t.about)
	for _, usage := range t.usage {
		fmt.Fprintf(w, "  %s\n", usage)
	}
	fmt.Fprintf(w, "\nExample:\n\n  %s\n", t.example)
	if t.flags != nil {
		fmt.Fprint(w, "\nFlags, and what they are where they are not given:\n\n")
		t.flags().VisitAll(func(f *flag.Flag) { writeFlag(w, f) })
	}
	if t.text != "" {
		fmt.Fprint(w, "\n"+t.text)
	}
	return nil
}

// writeFlag writes a flag, and below it what it does.
func writeFlag(w io.Writer, f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	fmt.Fprintf(w, "  -%s\n", strings.TrimSpace(f.Name+" "+value))
	for _, line := range words.Wrap(strings.TrimPrefix(usage, value+" "), helpWidth-8) {
		fmt.Fprintf(w, "        %s\n", line)
	}
}

func versionCommand(args []string, w io.Writer) error {
	args, err := parseFlags(newFlagSet("version"), args)
	if err != nil {
		return err
	} else if err := noMore("version", args); err != nil {
		return err
	}
	p := rundir.ThisProgram()
	_, err = fmt.Fprintf(w, "qta %s, revision %s, %s, %s/%s, %s kernel\n", qta.Version, p.Revision, p.Go, runtime.GOOS, runtime.GOARCH, qta.KernelName())
	return err
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

A run directory holds
  run.json     what is needed to repeat the run, its state and its outcome
  log.csv      one row for each evaluation
  timing.csv   the clock at each evaluation; every process that works on the
               run adds its rows and counts from its own beginning
  agent.qta    the agent, its memory and its training state; the file before
               it is kept as agent.qta.previous
  report.html  the run as a page: the training as an animation, learning
               curves, rollouts, goals, Figure 5
  curve.svg    the learning curve
  figure5.svg  what the agent makes of every point of its maze, after
               evaluations 1, 2, 4, 8 and so on, and after the latest
  figure5.csv  the numbers of that figure
  training.svg the animation: goals, and rollouts of the policy
  training.csv its rollouts, and the mean uncertainty
  lock         held while a process works on the run (on Linux, macOS and the
               BSDs; elsewhere see to it yourself that only one does)

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
one it draws the figure of that run, which stays as it is.
`

const sweepText = `A sweep file has the flags of one run on each line; '#' begins a comment. Its
runs get directories within the -out of qta sweep, under their own names or
under that which -out on their line gives. The same command skips the finished
ones and continues the others. A cell that fails does not stop the rest.

-figure prints the sweep file of a figure of the paper.
`

const reportText = `The page has the paper's figures and claims, held against these runs.
`

const checkText = `It works Equation N, or all of them, through in numbers and holds the code to
its golden vectors, or all.
`
