// Command simulator trains in an environment that is another program, in any
// language. It starts the program and exchanges lines of JSON with it.
// docs/library.md describes these lines.
//
//	go run ./examples/simulator python3 examples/simulator/cart.py
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"qta"
	"qta/lab"
)

func main() {
	var changes []string
	flag.Func("set", "change a parameter, NAME=VALUE", func(s string) error {
		changes = append(changes, s)
		return nil
	})
	var o lab.Options
	flag.StringVar(&o.Dir, "out", "runs/simulator", "directory of the run")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed")
	flag.IntVar(&o.Steps, "steps", 20_000, "budget in environment steps")
	limit := flag.Duration("limit", 30*time.Second, "longest wait for an answer")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "name the command that is the environment, "+
			"such as python3 examples/simulator/cart.py")
		os.Exit(2)
	}
	if *limit <= 0 {
		fmt.Fprintf(os.Stderr, "-limit is %v, but an answer takes time: give it at least a second\n", *limit)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once, if it comes a second or more after the first.
	// This helps if the child hangs.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	err := train(ctx, flag.Args(), *limit, changes, o)
	if errors.Is(err, lab.ErrStopped) { // Train has already said so
		os.Exit(75)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// train trains in two instances of a command, one of them for evaluations.
func train(ctx context.Context, command []string, limit time.Duration, changes []string, o lab.Options) error {
	training, err := startSimulator(command, limit)
	if err != nil {
		return err
	}
	defer training.child.close()
	evaluation, err := startSimulator(command, limit)
	if err != nil {
		return err
	}
	defer evaluation.child.close()

	o.Name = training.Name
	o.Params, err = parameters(training.Horizon, changes)
	if err != nil {
		return err
	}
	err = lab.Train(ctx, training.env(), evaluation.env(), o)
	// After a failure the simulator returns an empty state. After a line too many it returns the
	// state of the question before. The library's error is about this state, and the cause says
	// more.
	cause := cmp.Or(training.err, evaluation.err)
	broken, ofState := errors.AsType[*qta.EnvError](err)
	if ofState && cause == nil {
		time.Sleep(100 * time.Millisecond) // until a line too many has arrived
		cause = cmp.Or(training.child.checkQuiet(), evaluation.child.checkQuiet())
	}
	switch {
	case err == nil || cause == nil:
		return err
	case ofState:
		return errors.New(strings.Replace(err.Error(), broken.Error(), cause.Error(), 1))
	}
	return cause
}

// parameters returns the set that docs/library.md recommends, with changes.
func parameters(horizon int, changes []string) (qta.Params, error) {
	p := qta.Beyond()
	p.HiddenSize = 64
	p.Batch = 256
	p.Candidates = 500
	p.Horizon = horizon
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			return p, err
		}
	}
	return p, nil
}
