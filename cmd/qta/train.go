package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

// trainFlags are what the flags of training say.
type trainFlags struct {
	maze, params        string
	set                 []string
	seed, steps, eval   *int
	stop, out           string
	threads, checkpoint *int // checkpoint is 0 where the flag is absent

	at *atomic.Int64 // the step of a run that trains
}

func newTrainFlags(flags *flag.FlagSet) *trainFlags {
	f := &trainFlags{at: new(atomic.Int64)}
	flags.StringVar(&f.maze, "maze", "4x5", "train on the maze `NAME|FILE`")
	flags.StringVar(&f.params, "params", "quick", "parameter set `NAME`: "+presetNames)
	flags.Func("set", "change one parameter, `NAME=VALUE`, after -params is applied; may be repeated",
		func(s string) error {
			f.set = append(f.set, s)
			return nil
		})
	f.seed = wholeNumber(flags, "seed", 1, 0, math.MaxInt, "seed `N` of all random generators")
	f.steps = wholeNumber(flags, "steps", 150_000, 1, lab.MaxSteps, "train for at most `N` environment steps in all")
	flags.StringVar(&f.stop, "stop", lab.StopSolved,
		"`WHEN` to stop: solved (at the first perfect evaluation) or never (only when the steps are used up)")
	f.eval = wholeNumber(flags, "eval", 1000, 1, lab.MaxSteps, "evaluate every `N` environment steps")
	flags.StringVar(&f.out, "out", "",
		"the run's directory `DIR` (default runs/MAZE-PARAMS-SEED, with every -set before SEED)")
	f.threads = wholeNumber(flags, "threads", min(runtime.GOMAXPROCS(0), 8), 1, 256,
		"train on `N` threads; any number gives the same results")
	f.checkpoint = wholeNumber(flags, "checkpoint", 0, 1, lab.MaxSteps,
		"save every `N` environment steps (default: as often as 1 % of the time allows)")
	return f
}

func trainCommand(flags *flag.FlagSet) func(call) error {
	return newTrainFlags(flags).train
}

// train trains the run that the flags describe.
func (f *trainFlags) train(c call) error {
	maze, o, err := f.describe()
	if err != nil {
		return err
	}
	view := &progress{output: c.out, steps: o.Steps}
	o.Say = func(line string) { c.out.say("%s", line) }
	o.Warn = func(line string) { warn(c.stderr, line) }
	o.AfterStep = func(step int) {
		f.at.Store(int64(step))
		view.stepped(step, time.Now())
	}
	o.AfterEvaluation = view.evaluated
	return lab.Train(c.ctx, lab.Maze(maze), lab.Maze(maze), o)
}

// warn writes a warning.
func warn(stderr io.Writer, line string) {
	fmt.Fprintf(stderr, "qta: warning: %s\n", words.Plain(line))
}

// describe returns the maze and the run of the flags.
func (f *trainFlags) describe() (maze *qta.Maze, o lab.Options, err error) {
	if f.stop != lab.StopSolved && f.stop != lab.StopNever {
		return nil, o, words.BadInput("-stop %q: want %s or %s", f.stop, lab.StopSolved, lab.StopNever)
	}
	maze, name, err := findMaze(f.maze)
	if err != nil {
		return nil, o, err
	}
	p, label, err := findParams(f.params, f.set)
	if err != nil {
		return nil, o, err
	}
	own := name + "-" + label + "-" + strconv.Itoa(*f.seed)
	return maze, lab.Options{
		Dir: cmp.Or(f.out, filepath.Join("runs", own)), Name: name, Params: p, Seed: uint64(*f.seed),
		Steps: *f.steps, EvalEvery: *f.eval, Continue: f.stop == lab.StopNever,
		Threads: *f.threads, Checkpoint: *f.checkpoint,
	}, nil
}

// findMaze returns the maze of a name or a file, and its name.
func findMaze(name string) (*qta.Maze, string, error) {
	isPath := strings.ContainsRune(name, '/') || strings.ContainsRune(name, os.PathSeparator) ||
		strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".map")
	if !isPath {
		m, err := qta.NewMaze(name)
		if err != nil {
			return nil, "", words.BadInput("%s; a map file's name has a path separator or ends in .txt or .map", words.Bare(err))
		}
		return m, name, nil
	}
	text, err := readText(name)
	if err != nil {
		return nil, "", words.BadFile(err, "map file %s: %w", name, err)
	}
	m, err := qta.ParseMaze(text)
	if err != nil {
		return nil, "", words.BadInput("map file %s: %s", name, words.Bare(err))
	}
	base := filepath.Base(name)
	return m, strings.TrimSuffix(base, filepath.Ext(base)), nil
}

// readText reads a text that a person has written. The mark with which some
// editors begin UTF-8 is left out.
func readText(path string) (string, error) {
	if err := words.CheckName(filepath.Base(path)); err != nil {
		return "", err
	}
	data, err := words.ReadFile(path, words.MostText)
	if text := string(data); strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return "", errors.New("it is UTF-16, as PowerShell's > writes: save it as UTF-8")
	}
	return strings.TrimPrefix(string(data), "\ufeff"), words.Cause(err)
}

// presetNames are what -params takes.
const presetNames = "paper, quick, small, literal, beyond, authors, mega, vds"

// findParams returns the parameters that the flags -params and -set describe,
// and the name that directories bear for them.
func findParams(name string, set []string) (p qta.Params, label string, err error) {
	presets := qta.Presets()
	i := slices.IndexFunc(presets, func(q qta.Preset) bool { return q.Name == name })
	if i < 0 {
		return p, "", words.BadInput("-params %q: want %s", name, presetNames)
	}
	p, label = presets[i].Params, name
	for _, s := range set {
		field, value, ok := strings.Cut(s, "=")
		if !ok {
			return p, "", words.BadInput("-set %q: want name=value, such as -set Batch=256", s)
		}
		if err := p.Set(field, value); err != nil {
			return p, "", words.BadInput("-set %s: %s", s, words.Bare(err))
		}
		label += "-" + field + "=" + strings.TrimSpace(value)
	}
	return p, label, nil
}
