package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"qta"
	"qta/cmd/qta/internal/terminal"
	"qta/internal/words"
	"qta/lab"
)

type trainFlags struct {
	maze, params string
	set          []string
	seed         uint64
	steps, eval  int
	stop, out    string
	threads      int
	checkpoint   int // 0 where the flag is absent
}

// reset sets every flag to what it is where it is not given.
func (f *trainFlags) reset() {
	*f = trainFlags{maze: "4x5", params: "fast", seed: 1, steps: 150_000, eval: 1000, stop: lab.StopSolved,
		threads: min(runtime.GOMAXPROCS(0), 8)}
}

func (f *trainFlags) flagSet() *flag.FlagSet {
	f.reset()
	flags := newFlagSet("train")
	text(flags, &f.maze, "maze", "`NAME|FILE` the maze (4x5)")
	text(flags, &f.params, "params",
		"`NAME|FILE` default, fast, paper, authors, small, mega, vds, or a .json file of changes to default (fast)")
	flags.Func("set", "`NAME=VALUE` change one parameter after -params is applied; may be repeated",
		func(s string) error {
			f.set = append(f.set, s)
			return nil
		})
	f.shorthand(flags, "curriculum", "Curriculum",
		"`NAME` who chooses the goals: qta, mega, vds, her, random, visits or rnd")
	f.shorthand(flags, "uncertainty", "Uncertainty",
		"`NAME` what estimates a goal's uncertainty: pun, q, bootstrap or ensemble")
	f.shorthand(flags, "uncertainty-noise", "UncertaintyNoise",
		"`SIGMA` standard deviation of Gaussian noise added to every estimate")
	f.shorthand(flags, "replay", "Replay",
		"`NAME` how transitions are drawn: uniform, per (by uncertainty) or td (by TD error)")
	seedNumber(flags, &f.seed, "`N` seed of all random generators (1)")
	wholeNumber(flags, &f.steps, "steps", 1, lab.MaxSteps, "`N` budget, in environment steps in all (150000)")
	oneOf(flags, &f.stop, "stop",
		"`WHEN` solved: stop at the first perfect evaluation; never: use the budget up (solved)", lab.StopSolved, lab.StopNever)
	wholeNumber(flags, &f.eval, "eval", 1, lab.MaxSteps, "`N` environment steps between evaluations (1000)")
	text(flags, &f.out, "out", "`DIR` directory of the run (runs/MAZE-PARAMS-SEED, with every -set before SEED)")
	wholeNumber(flags, &f.threads, "threads", 1, 256,
		fmt.Sprintf("`N` threads; the results are the same for every number (one per CPU, at most 8: here %d)", f.threads))
	wholeNumber(flags, &f.checkpoint, "checkpoint", 1, lab.MaxSteps,
		"`N` environment steps between saves (as often as 1 % of the time allows)")
	return flags
}

// shorthand defines a flag that stands for -set field=value. A value that is
// not allowed is refused under the flag's own name.
func (f *trainFlags) shorthand(flags *flag.FlagSet, name, field, usage string) {
	value := strings.Split(usage, "`")[1]
	flags.Func(name, usage+"; short for -set "+field+"="+value, func(value string) error {
		p := qta.Default()
		if err := p.Set(field, value); err != nil {
			return errors.New(words.Bare(err))
		}
		f.set = append(f.set, field+"="+value)
		return nil
	})
}

func trainCommand(c call) error {
	var f trainFlags
	args, err := parseFlags(f.flagSet(), c.args)
	if err != nil {
		return err
	} else if err := noMore("train", args); err != nil {
		return err
	}
	maze, id, label, err := f.describe()
	if err != nil {
		return err
	}
	dir, err := f.directory(id.Environment, label)
	if err != nil {
		return err
	}
	view := &terminal.Run{Output: c.out, Steps: f.steps, Learning: id.Params().LearningStarts}
	if f.stop == lab.StopSolved {
		view.Usual = usually(id)
	}
	return lab.Train(c.ctx, lab.Maze(maze), lab.Maze(maze), lab.Options{
		Dir: dir, Name: id.Environment, Params: id.Params(), Preset: id.Preset, Seed: f.seed,
		Steps: f.steps, EvalEvery: f.eval, Continue: f.stop == lab.StopNever, Threads: f.threads, Checkpoint: f.checkpoint,
		Say:             func(line string) { c.out.Say("%s", line) },
		Warn:            func(line string) { warn(c.stderr, line) },
		AfterStep:       func(step int) { view.Stepped(step, time.Now()) },
		AfterEvaluation: view.Evaluated,
	})
}

// warn writes a warning.
func warn(stderr io.Writer, line string) {
	fmt.Fprintf(stderr, "qta: warning: %s\n", words.Plain(line))
}

// describe returns what the flags describe: a maze, a run and the name that
// directories bear for its parameters.
func (f *trainFlags) describe() (*qta.Maze, lab.Identity, string, error) {
	maze, mazeName, err := findMaze(f.maze)
	if err != nil {
		return nil, lab.Identity{}, "", err
	}
	p, label, err := findParams(f.params, f.set)
	if err != nil {
		return nil, lab.Identity{}, "", err
	}
	if err := p.Validate(); err != nil {
		return nil, lab.Identity{}, "", words.BadInput("%w", err)
	}
	return maze, lab.MazeIdentity(mazeName, maze, label, p, f.seed, f.eval), label, nil
}

// directory returns the run's directory.
func (f *trainFlags) directory(maze, label string) (string, error) {
	if f.out != "" {
		return filepath.Clean(f.out), nil
	}
	name := maze + "-" + label + "-" + strconv.FormatUint(f.seed, 10)
	if name[0] == '.' {
		return "", words.BadInput("the run's own name, %s, is hidden; name a directory with -out", name)
	}
	if len(name) > 200 {
		return "", words.BadInput("the run's own name is %d bytes long, allowed are 200; name a directory with -out", len(name))
	}
	return filepath.Join("runs", name), nil
}
