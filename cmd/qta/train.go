package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"qta"
	"qta/internal/words"
	"qta/lab"
)

// trainFlags are the flags of a run.
type trainFlags struct {
	maze, params        string
	set                 []string
	seed                *uint64
	steps, eval         *int
	stop, out           string
	threads, checkpoint *int // checkpoint is 0 if the flag is absent

	at *atomic.Int64 // the latest step of a run that trains, or 0
}

func newTrainFlags(flags *flag.FlagSet) *trainFlags {
	f := &trainFlags{at: new(atomic.Int64)}
	flags.StringVar(&f.maze, "maze", "4x5", "train on the maze `NAME|FILE`")
	flags.StringVar(&f.params, "params", "quick",
		"parameters `NAME|FILE`: "+presetNames+", or a .json file with changes to paper")
	addSet := func(s string) error {
		f.set = append(f.set, s)
		return nil
	}
	flags.Func("set",
		"change one parameter, `NAME=VALUE`, after -params is applied; may be repeated", addSet)
	f.seed = wholeNumber[uint64](flags, "seed", 1, 0, math.MaxUint64,
		"seed `N` of all random generators")
	f.steps = wholeNumber(flags, "steps", 150_000, 1, lab.MaxSteps,
		"train for at most `N` environment steps in all")
	flags.StringVar(&f.stop, "stop", lab.StopSolved, "`WHEN` to stop: "+
		"solved (at the first perfect evaluation) or never (only when the steps are used up)")
	f.eval = wholeNumber(flags, "eval", 1000, 1, lab.MaxSteps,
		"evaluate every `N` environment steps")
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

// describe returns the maze and the run that the flags describe.
func (f *trainFlags) describe() (maze *qta.Maze, o lab.Options, err error) {
	if f.stop != lab.StopSolved && f.stop != lab.StopNever {
		return nil, o, words.BadInput("-stop %q: want %s or %s",
			f.stop, lab.StopSolved, lab.StopNever)
	}
	maze, name, err := findMaze(f.maze)
	if err != nil {
		return nil, o, err
	}
	p, label, err := findParams(f.params, f.set)
	if err != nil {
		return nil, o, err
	}
	usual := fmt.Sprintf("%s-%s-%d", name, label, *f.seed)
	o = lab.Options{
		Dir:        cmp.Or(f.out, filepath.Join("runs", usual)),
		Name:       name,
		Params:     p,
		Seed:       *f.seed,
		Steps:      *f.steps,
		EvalEvery:  *f.eval,
		Continue:   f.stop == lab.StopNever,
		Threads:    *f.threads,
		Checkpoint: *f.checkpoint,
	}
	return maze, o, nil
}

// findMaze returns the maze that qta knows by this name, or the maze of the map file with
// this name. It also returns the maze's name, which for a map file is the file's name
// without folder and extension.
func findMaze(name string) (*qta.Maze, string, error) {
	hasSeparator := strings.ContainsAny(name, "/"+string(os.PathSeparator))
	isMap := strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".map")
	if !hasSeparator && !isMap {
		m, err := qta.NewMaze(name)
		if err != nil {
			return nil, "", words.BadInput("%s; a map file's name has a path separator or ends in .txt or .map",
				words.Bare(err))
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
	return m, stem(name), nil
}

// readText reads a text file that a person has written. It leaves out the byte order mark
// with which some editors begin UTF-8.
func readText(path string) (string, error) {
	if err := words.CheckName(filepath.Base(path)); err != nil {
		return "", err
	}
	data, err := words.ReadFile(path, words.MostText)
	if err != nil {
		return "", words.Cause(err)
	}
	text := string(data)
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return "", errors.New("it is UTF-16, as PowerShell's > writes: save it as UTF-8")
	}
	return strings.TrimPrefix(text, "\ufeff"), nil
}

// presetNames are the names of sets that -params takes.
const presetNames = "paper, quick, small, literal, beyond, authors, mega, vds"

// findParams returns the parameters that the flags -params and -set describe, and their
// label in the name of a run's directory.
func findParams(name string, set []string) (p qta.Params, label string, err error) {
	p, label, err = findSet(name)
	if err != nil {
		return p, "", err
	}
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

// findSet returns the parameters of the set or file that name stands for, and its name
// without folder and extension.
func findSet(name string) (p qta.Params, label string, err error) {
	for _, preset := range qta.Presets() {
		if preset.Name == name {
			return preset.Params, name, nil
		}
	}
	if !strings.HasSuffix(name, ".json") {
		return p, "", words.BadInput("-params %q: want %s or a file that ends in .json",
			name, presetNames)
	}
	text, err := readText(name)
	if err != nil {
		return p, "", words.BadFile(err, "-params %s: %w", name, err)
	}
	p, err = readParams(text, qta.Paper())
	if err != nil {
		return p, "", words.BadInput("-params %s: %s", name, words.Bare(err))
	}
	return p, stem(name), nil
}

// readParams reads a JSON object with some or all parameters and returns base with
// these changes.
func readParams(text string, base qta.Params) (qta.Params, error) {
	var values map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &values)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + strings.Count(text[:syntax.Offset], "\n")
		return base, fmt.Errorf("line %d: %w", line, err)
	}
	if values == nil {
		return base, errors.New("want a JSON object, such as {\"Batch\": 256}")
	}
	// A map keeps only the last of two equal names, so the text is read a second time.
	p := base
	given := map[string]bool{}
	d := json.NewDecoder(strings.NewReader(text))
	d.Token() // the object's brace
	for d.More() {
		token, _ := d.Token()
		name := token.(string)
		if given[name] {
			return base, fmt.Errorf("parameter %s is given twice", name)
		}
		given[name] = true
		var value json.RawMessage
		d.Decode(&value) // cannot fail, because Unmarshal has read it
		if err := p.Set(name, string(value)); err != nil {
			return base, err
		}
	}
	return p, nil
}

// stem returns the last element of a path without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
