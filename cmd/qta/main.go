// Command qta trains an agent on a maze by Query The Agent and evaluates it.
//
// Without arguments it trains on the M-maze 4x5, with the parameter set quick,
// until an evaluation is perfect. "qta help" describes the other uses
// and the exit codes.
package main

// Only function main deals with the process: its signals and its exit code. Every command
// is a function of its arguments and its output, so that tests can call run. Package lab
// defines what a run is, on disk and in pictures; this command adds flags and messages. In
// internal, package paper has the paper's figures as data, and package report compares
// many runs.

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"qta"
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
	// By default a panic or a lack of memory ends the process with code 2, as bad input does.
	// A cluster that runs a sweep may then give up the job. With "crash" the process ends by a
	// signal.
	debug.SetTraceback("crash")
	ctx := context.Background()
	name, _ := spelled(os.Args[1:])
	if name == "train" || name == "sweep" { // these two save what they have
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, stopSignals()...)
		// In the first second after a signal another one has no effect, because timeout(1)
		// signals a process twice: alone and in its group. After that, another SIGINT or
		// SIGTERM ends the process at once.
		context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command that args spell and returns the exit code. It writes what
// went wrong in one line on stderr. If stdout cannot be written, training stops and saves.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := newOutput(stdout)
	out.failed = stop
	err := execute(ctx, args, out, stderr)
	stopped := errors.Is(err, lab.ErrStopped) // which a line on stdout has reported
	switch {
	case out.err != nil && stopped:
		fmt.Fprintf(stderr, "qta: %s; all that was running is saved; the same command continues it\n",
			words.Bare(out.err))
		return exitFailure
	case errors.Is(out.err, syscall.EPIPE):
		return exitFailure // the reader of stdout has closed it, and needs no message
	}
	err = cmp.Or(err, out.err)
	if err != nil && !stopped {
		fmt.Fprintf(stderr, "qta: %s\n", words.Bare(err))
	}
	return exitCode(err)
}

// execute executes the command that args spell.
func execute(ctx context.Context, args []string, out *output, stderr io.Writer) error {
	name, args := spelled(args)
	c, err := commandNamed(name)
	if err != nil {
		return err
	}
	flags := newFlagSet(c.name)
	work := c.define(flags)
	args, err = parseFlags(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(out)
		return nil
	}
	if err != nil {
		return err
	}
	if len(args) < c.least {
		return words.BadInput("an argument is missing; want %s", c.usage)
	}
	if len(args) > c.most {
		return words.BadInput("unexpected argument %q; want %s", args[c.most], c.usage)
	}
	return work(call{ctx: ctx, args: args, out: out, stderr: stderr})
}

// exitCode returns the exit code that an error stands for.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, new(words.InputError)):
		return exitInput
	case errors.As(err, new(*qta.NumericError)), errors.As(err, new(*qta.EnvError)):
		return exitNumeric
	case errors.Is(err, lab.ErrStopped), errors.As(err, new(lab.UseError)):
		return exitUnfinished
	}
	return exitFailure
}
