// Command qta trains an agent on a maze by Query The Agent and evaluates it.
//
// Without arguments it trains with the parameters fast on the 4x5 M-maze
// until an evaluation is perfect. "qta help" describes the other uses, the
// files of a run and the exit codes.
package main

// To the reviewer: main holds the process (signals, exit code), every command
// is a function of its arguments and its output, so that tests call run. What a
// run is, on disk and to look at, is package lab; here are flags and words over it.
// Below internal: terminal, what a person sees while something runs; paper, its
// figures as data; statistics; and report, on many runs.

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
	"syscall"

	"qta"
	"qta/cmd/qta/internal/terminal"
	"qta/internal/words"
	"qta/lab"
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
			fmt.Fprintf(stderr, "qta: internal error: %s\n\n%s", words.Plain(fmt.Sprint(r)), debug.Stack())
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
	c, err := commandNamed(name)
	if err != nil {
		return err
	}
	if err = c.run(call{ctx, args, out, stderr}); errors.Is(err, flag.ErrHelp) {
		return helpCommand(call{ctx, []string{name}, out, stderr})
	}
	return err
}

// errUnfinished is returned for runs that were stopped and have been saved. Their
// story is already told on stdout.
var errUnfinished = lab.ErrStopped

// exitCode returns the exit code that an error stands for.
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
