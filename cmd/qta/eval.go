package main

import (
	"flag"
	"fmt"
	"io"

	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/words"
)

type evalFlags struct {
	rollouts int
	seed     uint64
}

func (f *evalFlags) flagSet() *flag.FlagSet {
	*f = evalFlags{rollouts: 100, seed: 1}
	flags := newFlagSet("qta eval")
	wholeNumber(flags, &f.rollouts, "rollouts", 1, 1_000_000, "`N` rollouts to evaluate (100)")
	seedNumber(flags, &f.seed, "`N` seed of the starts and goals (1)")
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
	r, err := rundir.NeedRecord(dir)
	if err != nil {
		return err
	}
	a, warning, err := rundir.LoadAgent(dir, r)
	warn(stderr, warning)
	if err != nil {
		return err
	}
	if a == nil {
		return words.BadInput("%s holds no %s yet; continue the run to make one", dir, rundir.AgentFile)
	}
	defer a.Close()
	success, err := a.Evaluate(r.Run.NewMaze().Env(), f.rollouts, f.seed)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "The agent of %s, after %d environment steps in maze %s, reached the goal in %.4g %% of %d rollouts (seed %d).\n",
		dir, a.Steps(), r.Run.Maze, 100*success, f.rollouts, f.seed)
	return nil
}
