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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

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
	flags.StringVar(&f.params, "params", "quick",
		"parameters `NAME|FILE`: "+presetNames+", or a .json file with changes to paper")
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
	view := &progress{output: c.out, steps: o.Steps, learning: o.Params.LearningStarts}
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
	return m, stem(name), nil
}

// readText reads a text that a person has written. The mark with which some
// editors begin UTF-8 is left out.
func readText(path string) (string, error) {
	if err := words.CheckName(filepath.Base(path)); err != nil {
		return "", err
	}
	data, err := words.ReadFile(path, words.MostText)
	return strings.TrimPrefix(string(data), "\ufeff"), words.Cause(err)
}

// presetNames are what -params takes beside a file.
const presetNames = "paper, quick, small, literal, beyond, authors, mega, vds"

// findParams returns the parameters that the flags -params and -set describe,
// and the name that directories bear for them.
func findParams(name string, set []string) (p qta.Params, label string, err error) {
	presets := qta.Presets()
	i := slices.IndexFunc(presets, func(q qta.Preset) bool { return q.Name == name })
	switch {
	case i >= 0:
		p, label = presets[i].Params, name
	case !strings.HasSuffix(name, ".json"):
		return p, "", words.BadInput("-params %q: want %s or a file that ends in .json", name, presetNames)
	default:
		data, err := readText(name)
		if err != nil {
			return p, "", words.BadFile(err, "-params %s: %w; want a JSON object such as {\"Batch\": 256}", name, err)
		}
		if p, err = readParams(data, qta.Paper()); err != nil {
			return p, "", words.BadInput("-params %s: %s", name, words.Bare(err))
		}
		label = stem(name)
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

// readParams reads a JSON object with some or all parameters and returns base with
// these changes. An error names the place of an unknown or repeated name, of a value
// that is not allowed, or of anything after the object.
func readParams(text string, base qta.Params) (qta.Params, error) {
	// refuse says that something is wrong, just before an offset.
	refuse := func(offset int64, err error) (qta.Params, error) {
		before := text[:offset]
		line := before[strings.LastIndexByte(before, '\n')+1:]
		return base, fmt.Errorf("%w (before line %d, column %d)", err,
			1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal([]byte(text), new(any)), &syntax) {
		if before := strings.TrimRight(text[:syntax.Offset], "} \t\r\n"); strings.HasSuffix(before, ",") {
			return refuse(int64(len(before)), errors.New("parameters: a comma with nothing after it; remove it"))
		}
		return refuse(syntax.Offset, fmt.Errorf("parameters: %w", syntax))
	}
	d := json.NewDecoder(strings.NewReader(text)) // which finds no more errors
	if t, _ := d.Token(); t != json.Delim('{') {
		return refuse(d.InputOffset(), errors.New("parameters: want a JSON object, such as {\"Batch\": 256}"))
	}
	p, seen := base, map[string]bool{}
	for d.More() {
		t, _ := d.Token()
		name := t.(string)
		if seen[name] {
			return refuse(d.InputOffset(), fmt.Errorf("parameter %s is given twice", name))
		}
		seen[name] = true
		var value json.RawMessage
		d.Decode(&value)
		if err := p.Set(name, string(value)); err != nil {
			return refuse(d.InputOffset(), err)
		}
	}
	return p, nil
}

// stem returns the last element of a path without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
