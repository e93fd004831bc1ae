package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"qta"
	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

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
	flags.Func("format", "`FORMAT` text, or csv for a table (text)", func(s string) error {
		if s != "text" && s != "csv" {
			return errors.New("want text or csv")
		}
		f.format = s
		return nil
	})
	return flags
}

func evalCommand(args []string, stdout, stderr io.Writer) error {
	var f evalFlags
	args, err := parseFlags(f.flagSet(), args)
	if err != nil {
		return err
	}
	dir, err := oneArgument("eval", "a run directory", args)
	if err != nil {
		return err
	}
	r, a, err := openRun(dir, stderr)
	if err != nil {
		return err
	}
	defer a.Close()
	e, err := a.Evaluate(r.Run.NewMaze().Env(), f.rollouts, f.seed)
	if err != nil {
		return err
	}
	if f.format == "csv" {
		_, err := stdout.Write(rundir.EvaluationText(e, f.rollouts, f.seed))
		return err
	}
	fmt.Fprintf(stdout, "The agent of %s, after %d environment steps in maze %s, reached the goal in %.4g %% of %d rollouts (seed %d).\n",
		dir, a.Steps(), r.Run.Maze, 100*e.Success, f.rollouts, f.seed)
	fmt.Fprintf(stdout, "That is at the last of %d steps; %.4g %% were there at any time", a.Params().Horizon, 100*e.Reached)
	if e.Reached > 0 {
		fmt.Fprintf(stdout, ", first after %.4g steps on average", e.StepsToGoal)
	}
	fmt.Fprintf(stdout, ". The mean return is %.4g.\n", e.Return)
	return nil
}

// openRun reads the record and the agent of a run directory, which has to have
// both.
func openRun(dir string, stderr io.Writer) (*rundir.Record, *qta.Agent, error) {
	r, err := rundir.NeedRecord(dir)
	if err != nil {
		return nil, nil, err
	}
	a, warning, err := rundir.LoadAgent(dir, r)
	warn(stderr, warning)
	if err == nil && a == nil {
		err = words.BadInput("%s holds no %s yet; continue the run to make one", dir, rundir.AgentFile)
	}
	return r, a, err
}
