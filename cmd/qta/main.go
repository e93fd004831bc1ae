// Command qta trains an agent on a maze by Query The Agent and evaluates it.
//
// Without arguments it trains with the default parameters on the 4x5 M-maze
// until an evaluation is perfect. "qta help" describes the other uses, the
// files of a run and the exit codes.
package main

// To the reviewer: main holds the process (signals, exit code), every command
// is a function of its arguments and its output, so that tests call run. All
// clocks are in this package; what they show reaches the screen and timing.csv
// and nothing that a run computes. What the commands work on has rooms below
// internal, each of which uses those before it: words and files; rundir, a run's
// directory; draw and statistics, which know nothing of runs; paper, its figures
// as data; figure5 and page, what there is to see of a run; report, of many.
// worked stands by itself.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"qta"
	"qta/cmd/qta/internal/words"
)

// The exit codes, as helpText explains them.
const (
	exitDone       = 0
	exitFailure    = 1
	exitInput      = 2
	exitNumeric    = 3
	exitUnfinished = 75 // EX_TEMPFAIL of sysexits.h
)

func main() {
	// What guard cannot catch, a panic in another goroutine or a lack of memory,
	// would end with code 2, that of bad input; so it ends by a signal.
	debug.SetTraceback("crash")
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	context.AfterFunc(ctx, stop) // a second signal then has its usual effect and ends the process at once
	if os.Getenv(stopAtEOF) != "" {
		os.Unsetenv(stopAtEOF)
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		go func() {
			io.Copy(io.Discard, os.Stdin) // an error is an end, too
			end(errors.New("the sweep has ended"))
		}()
	}
	os.Exit(guard(os.Stderr, func() int { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) }))
}

// guard makes of a panic an exit code.
func guard(stderr io.Writer, f func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "qta: a mistake in this program: %s\n\n%s", words.Plain(fmt.Sprint(r)), debug.Stack())
			code = exitFailure
		}
	}()
	return f()
}

// run executes the command that args spell and returns the exit code. What
// went wrong is one line on stderr. A run that can no longer say what it does
// stops and saves itself.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &output{Writer: stdout, failed: stop}
	err := execute(ctx, args, out, stderr)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(out)
		err = nil
	}
	switch {
	case errors.Is(err, errUnfinished):
		if out.err != nil {
			fmt.Fprintf(stderr, "qta: %s; all that was running is saved, and the same command goes on\n", words.Bare(out.err))
		}
		return exitUnfinished
	case out.err != nil && (err == nil || errors.Is(err, errors.Unwrap(out.err))):
		err = out.err
		if errors.Is(err, syscall.EPIPE) {
			return exitFailure // who reads no further knows it
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "qta: %s\n", words.Bare(err))
	}
	return exitCode(err)
}

// An output is standard output, whose first failure is kept.
type output struct {
	io.Writer
	failed func(error)
	err    error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("standard output cannot be written: %w", words.Cause(err))
		o.failed(o.err)
	}
	return n, err
}

// execute executes the command that args spell.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := "train"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	switch name {
	case "train":
		return trainCommand(ctx, args, stdout, stderr)
	case "params":
		return paramsCommand(args, stdout)
	case "maze":
		return mazeCommand(args, stdout)
	case "figure5":
		return figure5Command(ctx, args, stdout, stderr)
	case "sweep":
		return sweepCommand(ctx, args, stdout, stderr)
	case "status":
		return statusCommand(args, stdout)
	case "report":
		return reportCommand(args, stdout)
	case "eval":
		return evalCommand(args, stdout, stderr)
	case "check":
		return checkCommand(args, stdout)
	case "help":
		if err := noMore("help", args); err != nil {
			return err
		}
		return flag.ErrHelp
	}
	return words.BadInput("unknown command %q; the commands are train, params, maze, eval, figure5, sweep, status, report, check and help", name)
}

// errUnfinished is returned for a run that was stopped and has been saved.
// Its story is already told on stdout.
var errUnfinished = errors.New("the run is unfinished")

// warn writes a warning, unless it is nil.
func warn(stderr io.Writer, warning error) {
	if warning != nil {
		fmt.Fprintf(stderr, "qta: warning: %s\n", words.Bare(warning))
	}
}

func exitCode(err error) int {
	var input words.InputError
	var numeric *qta.NumericError
	var env *qta.EnvError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &input):
		return exitInput
	case errors.As(err, &numeric), errors.As(err, &env):
		return exitNumeric
	case errors.Is(err, errUnfinished):
		return exitUnfinished
	}
	return exitFailure
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
			return nil, words.BadInput("%v; \"qta help\" lists the flags", err)
		}
		rest := flags.Args()
		if parsed := len(args) - len(rest); parsed > 0 && args[parsed-1] == "--" {
			return append(others, rest...), nil
		}
		if len(rest) == 0 {
			return others, nil
		}
		others, args = append(others, rest[0]), rest[1:]
	}
}

// noMore refuses arguments that are left over.
func noMore(command string, args []string) error {
	if len(args) > 0 {
		return words.BadInput("unexpected argument %q after qta %s; \"qta help\" shows what it takes", args[0], command)
	}
	return nil
}

// oneArgument returns the only argument of a command, which is described by
// what.
func oneArgument(command, what string, args []string) (string, error) {
	if len(args) == 0 {
		return "", words.BadInput("qta %s needs %s", command, what)
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

func printHelp(w io.Writer) {
	fmt.Fprint(w, helpText)
	for _, c := range []interface{ flagSet() *flag.FlagSet }{
		&trainFlags{}, &evalFlags{}, &mazeFlags{}, &figure5Flags{}, &sweepFlags{}, &reportFlags{}, &checkFlags{},
	} {
		f := c.flagSet()
		fmt.Fprintf(w, "\nFlags of %s:\n\n", f.Name())
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		f.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(t, "  -%s %s\t%s\n", f.Name, value, strings.TrimPrefix(usage, value+" "))
		})
		t.Flush()
	}
	fmt.Fprint(w, helpCodes)
}

const helpText = `qta trains an agent on a maze by Query The Agent.

  qta [flags]          train; without flags, on the 4x5 maze until it is solved
  qta params           list the parameters: every preset's value, and its source
  qta maze NAME|FILE   show a maze, its size and path length; -o draws it
  qta eval DIR         evaluate the agent of a run directory
  qta figure5 [flags]  train, on the 12x5 maze unless -maze names another, for
                       the paper's Figure 5 in the run directory
  qta figure5 DIR      draw the figure of a run directory to a file
  qta sweep FILE       train every run of a sweep file, -jobs N at a time
  qta sweep -figure N  print the sweep file of a figure of the paper
  qta status DIR...    say how far every run within directories is
  qta report DIR...    make a page of all runs within directories: the paper's
                       figures and claims, held against these runs
  qta check [N]        work the paper's equations, or Equation N, through in
                       numbers and hold the code to all golden vectors;
                       -vectors DIR holds it to those of a folder instead
  qta help             print this text

-curriculum, -uncertainty, -uncertainty-noise and -replay train what the paper
compares QTA with, on the same networks; -params authors with one of them trains
the form that its authors' code has. -params mega and -params vds train these
two with the hyper-parameters that their own authors published.

A maze is a name (4x5, 12x5, 1U5, 2U5 and so on) or a text file, whose name has
a path separator or ends in .txt or .map: '#' is wall, a space or '.' is free,
S is the start and G the goal.

A run directory holds
  run.json     what is needed to repeat the run, its state and its outcome
  log.csv      one row for each evaluation
  timing.csv   the clock at each evaluation; every process that works on the
               run adds its rows and counts from its own beginning
  agent.qta    the agent, its memory and its training state; the file before
               it is kept as agent.qta.previous
  report.html  the run as a page: learning curve, rollouts, goals, Figure 5
  curve.svg    the learning curve
  figure5.svg  what the agent makes of every point of its maze, after
               evaluations 1, 2, 4, 8 and so on, and after the latest
  figure5.csv  the numbers of that figure
  lock         held while a process works on the run (on Linux, macOS and the
               BSDs; elsewhere see to it yourself that only one does)

The same command on the directory of an unfinished run continues it, and ends
with the bytes of a run that was never interrupted. A finished run continues
when it is given more -steps, a solved one with -stop never. Maze, parameters,
seed and the steps between evaluations cannot change; budget, stop and threads
can.

A sweep file has the flags of one run on each line; '#' begins a comment. Its
runs get directories within the -out of qta sweep, under their own names or
under that which -out on their line gives. The same command skips the finished
ones and continues the others. A cell that fails does not stop the rest.
`

const helpCodes = `
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
