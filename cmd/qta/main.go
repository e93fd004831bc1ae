// Command qta trains an agent on a maze by Query The Agent and evaluates it.
//
// Without arguments it trains with the parameters fast on the 4x5 M-maze
// until an evaluation is perfect. "qta help" describes the other uses, the
// files of a run and the exit codes.
package main

// To the reviewer: main holds the process (signals, exit code), every command
// is a function of its arguments and its output, so that tests call run. All
// clocks are in this package and in terminal; what they show reaches the screen
// and timing.csv and nothing that a run computes. What the commands work on has
// rooms below internal, each of which uses those before it: words and files;
// terminal, what a person sees while something runs; rundir, a run's directory;
// draw and statistics, which know nothing of runs; paper, its figures as data;
// figure5, film and page, what there is to see of a run; report, of many.
// Beside the command stand glossary, which docs/annotate uses too, and results,
// what was measured before.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"qta"
	"qta/cmd/qta/internal/terminal"
	"qta/cmd/qta/internal/words"
)

// The exit codes, as qta help explains them.
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
	ctx := context.Background()
	if name, _ := spelled(os.Args[1:]); slices.Contains([]string{"train", "figure5", "sweep"}, name) { // which save what they have
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, stopSignals()...)
		context.AfterFunc(ctx, stop) // a second signal then has its usual effect and ends the process at once
	}
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
	out := terminal.New(stdout)
	out.Failed = func(err error) { stop(outputError(err)) }
	err := execute(ctx, args, out, stderr)
	broken := out.Err()
	switch {
	case errors.Is(err, errUnfinished):
		if broken != nil {
			fmt.Fprintf(stderr, "qta: %s; all that was running is saved, and the same command goes on\n", words.Bare(outputError(broken)))
		}
		return exitUnfinished
	case broken != nil && (err == nil || errors.Is(err, broken)):
		if errors.Is(broken, syscall.EPIPE) {
			return exitFailure // who reads no further knows it
		}
		err = outputError(broken)
	}
	if err != nil {
		fmt.Fprintf(stderr, "qta: %s\n", words.Bare(err))
	}
	return exitCode(err)
}

// outputError says that standard output could not be written.
func outputError(err error) error {
	return fmt.Errorf("standard output cannot be written: %w", words.Cause(err))
}

// execute executes the command that args spell.
func execute(ctx context.Context, args []string, out *terminal.Output, stderr io.Writer) error {
	name, args := spelled(args)
	err := dispatch(ctx, name, args, out, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return helpCommand([]string{name}, out)
	}
	return err
}

// spelled returns the name of the command that args spell, and what follows it.
func spelled(args []string) (name string, rest []string) {
	switch {
	case len(args) == 0:
		return "train", nil
	case args[0] == "-h" || args[0] == "-help" || args[0] == "--help":
		return "help", args[1:]
	case strings.HasPrefix(args[0], "-"):
		return "train", args
	}
	return args[0], args[1:]
}

func dispatch(ctx context.Context, name string, args []string, out *terminal.Output, stderr io.Writer) error {
	switch name {
	case "train":
		return trainCommand(ctx, args, out, stderr)
	case "params":
		return paramsCommand(args, out)
	case "maze":
		return mazeCommand(args, out)
	case "figure5":
		return figure5Command(ctx, args, out, stderr)
	case "film":
		return filmCommand(args, out, stderr)
	case "sweep":
		return sweepCommand(ctx, args, out, stderr)
	case "status":
		return statusCommand(args, out)
	case "report":
		return reportCommand(args, out)
	case "eval":
		return evalCommand(args, out, stderr)
	case "export":
		return exportCommand(args, out, stderr)
	case "check":
		return checkCommand(args, out)
	case "version":
		return versionCommand(args, out)
	case "help":
		return helpCommand(args, out)
	}
	return words.BadInput("unknown command %q; the commands are %s", name, strings.Join(commandNames(), ", "))
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
			return nil, words.BadInput("%v; \"qta help %s\" lists the flags", err, flags.Name())
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
		return words.BadInput("unexpected argument %q after qta %s; \"qta help %s\" shows what it takes", args[0], command, name)
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
