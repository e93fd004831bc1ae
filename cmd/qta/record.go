package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"qta"
)

// A record is the content of run.json. It holds no value of a clock.
type record struct {
	Format  int      `json:"format"`
	State   string   `json:"state"`
	Run     identity `json:"run"`
	Limits  limits   `json:"limits"`
	Program program  `json:"program"`
	Machine machine  `json:"machine"`
	Outcome *outcome `json:"outcome,omitempty"`
}

const recordFormat = 1

// The states of a run. One that is called running while nobody holds the lock
// was killed.
const (
	stateRunning  = "running"
	stateStopped  = "stopped"  // by a signal
	stateSolved   = "solved"   // and ended for it
	stateFinished = "finished" // at its budget
	stateFailed   = "failed"
)

// An identity is all that decides what a run computes. It never changes.
type identity struct {
	Version    string     `json:"version"` // of the algorithm
	Maze       string     `json:"maze"`    // the name; Map is what counts
	Map        []string   `json:"map"`
	Preset     string     `json:"preset"` // the name; Parameters is what counts
	Parameters parameters `json:"parameters"`
	Seed       uint64     `json:"seed"`
	EvalEvery  int        `json:"eval_every"`
	Rollouts   int        `json:"eval_rollouts"`
}

// limits are what the last command asked for.
type limits struct {
	Steps int    `json:"steps"`
	Stop  string `json:"stop"` // "solved" or "never"
}

// program says what ran last.
type program struct {
	Revision string            `json:"revision"`
	Go       string            `json:"go"`
	Build    map[string]string `json:"build"`             // the settings that can change arithmetic
	Version  string            `json:"version,omitempty"` // of the algorithm, where an older program wrote it
}

// machine says where it ran last.
type machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"` // of the matrix product, named for the CPU features it needs
	Threads int    `json:"threads"`
}

// outcome says what a run has come to.
type outcome struct {
	Steps    int    `json:"steps"`
	HalfAt   int    `json:"half_at"`   // of the first evaluation at 0.5 or more, or 0
	SolvedAt int    `json:"solved_at"` // of the first perfect one, or 0
	Digest   string `json:"digest,omitempty"`
	Message  string `json:"message,omitempty"`

	// Of an ended run: what the agent it leaves reaches in rollouts that were
	// no part of it.
	HeldOut         *float64 `json:"held_out,omitempty"`
	HeldOutRollouts int      `json:"held_out_rollouts,omitempty"`
}

const (
	// rollouts is the number of rollouts of one evaluation, as in the authors'
	// code.
	rollouts = 20

	// half is the success that says that a maze has been found, if not learned.
	half = 0.5

	// maxSteps bounds a budget: the replay buffer holds every step of a run.
	maxSteps = 100_000_000
)

// parameters are read as strictly as a parameter file.
type parameters qta.Params

func (p *parameters) UnmarshalJSON(data []byte) error {
	q, err := qta.ReadParams(bytes.NewReader(data), qta.Default())
	*p = parameters(q)
	return err
}

// params returns what the run was trained with.
func (id identity) params() qta.Params { return qta.Params(id.Parameters) }

// mapText returns the map as a text.
func (id identity) mapText() string { return strings.Join(id.Map, "\n") + "\n" }

// maze returns the maze. The identity is one that was checked.
func (id identity) maze() *qta.Maze {
	m, err := qta.ParseMaze(id.mapText())
	if err != nil {
		panic(err)
	}
	return m
}

// named reports whether the map is that of the maze with this name.
func (id identity) named() bool {
	m, err := qta.NewMaze(id.Maze)
	return err == nil && slices.Equal(mapLines(m), id.Map)
}

// mapLines returns the lines of a maze's map.
func mapLines(m *qta.Maze) []string {
	return strings.Split(strings.TrimRight(m.String(), "\n"), "\n")
}

// differences lists where other departs from id, with both values.
func (id identity) differences(other identity) []string {
	var d []string
	if !slices.Equal(id.Map, other.Map) {
		if id.Maze != other.Maze {
			d = append(d, fmt.Sprintf("the maze is %s there, %s here", id.Maze, other.Maze))
		} else {
			d = append(d, fmt.Sprintf("the map of %s %s", id.Maze, mapDifference(id.Map, other.Map)))
		}
	}
	compare := func(name string, there, here any) {
		if there != here {
			d = append(d, fmt.Sprintf("%s is %v there, %v here", name, there, here))
		}
	}
	compare("-seed", id.Seed, other.Seed)
	compare("-eval", id.EvalEvery, other.EvalEvery)
	compare("the number of rollouts", id.Rollouts, other.Rollouts)
	compare("the version of qta", id.Version, other.Version)
	for _, f := range qta.Fields() {
		compare(f.Name, id.params().Value(f.Name), other.params().Value(f.Name))
	}
	return d
}

func mapDifference(there, here []string) string {
	for i := range min(len(there), len(here)) {
		if there[i] != here[i] {
			return fmt.Sprintf("has line %d %q there, %q here", i+1, there[i], here[i])
		}
	}
	return fmt.Sprintf("has %d lines there, %d here", len(there), len(here))
}

// command returns the words of a command line that makes the same run.
func (id identity) command(l limits) []string {
	maze := id.Maze
	if !id.named() {
		maze += ".txt"
	}
	preset, changes := "", []string(nil)
	for i, p := range qta.Presets() {
		c := changesFrom(p.Params, id.params())
		if i == 0 || len(c) < len(changes) || len(c) == len(changes) && strings.HasPrefix(id.Preset, p.Name) {
			preset, changes = p.Name, c
		}
	}
	words := []string{"qta", "-maze", shellWord(maze), "-params", preset}
	for _, c := range changes {
		words = append(words, "-set", shellWord(c))
	}
	return append(words, strings.Fields(fmt.Sprintf("-seed %d -eval %d -steps %d -stop %s", id.Seed, id.EvalEvery, l.Steps, l.Stop))...)
}

// changesFrom lists what makes q of p, as values for -set.
func changesFrom(p, q qta.Params) []string {
	var changes []string
	for _, field := range qta.Fields() {
		if v := q.Value(field.Name); v != p.Value(field.Name) {
			changes = append(changes, field.Name+"="+v)
		}
	}
	return changes
}

// encode returns the text of run.json.
func (r *record) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(r); err != nil {
		panic(err) // only for a NaN or Inf, which Params.Validate refuses
	}
	return b.Bytes()
}

// decodeRecord reads the text of run.json. That of another version may have
// more fields, which only strict refuses.
func decodeRecord(data []byte, strict bool) (*record, error) {
	var r record
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&r); err != nil {
		return nil, errors.New(bare(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	if r.Run.Version == "" {
		r.Run.Version = r.Program.Version
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// check refuses a record that no run has, and gives the map its usual form.
func (r *record) check() error {
	if r.Format != recordFormat {
		return fmt.Errorf("format is %d, this program reads %d", r.Format, recordFormat)
	}
	states := []string{stateRunning, stateStopped, stateSolved, stateFinished, stateFailed}
	if !slices.Contains(states, r.State) {
		return fmt.Errorf("state is %q, want one of %s", r.State, strings.Join(states, ", "))
	}
	if r.Run.EvalEvery < 1 || r.Run.Rollouts < 1 {
		return fmt.Errorf("eval_every is %d and eval_rollouts %d, want 1 or more", r.Run.EvalEvery, r.Run.Rollouts)
	}
	if r.Limits.Steps < 1 || r.Limits.Steps > maxSteps {
		return fmt.Errorf("limits.steps is %d, want 1 to %d", r.Limits.Steps, maxSteps)
	}
	if err := r.Run.params().Validate(); err != nil {
		return errors.New(bare(err))
	}
	m, err := qta.ParseMaze(r.Run.mapText())
	if err != nil {
		return errors.New(bare(err))
	}
	r.Run.Map = mapLines(m)
	return nil
}

// thisProgram describes the running program.
func thisProgram() program {
	p := program{Revision: "unknown", Go: runtime.Version(), Build: map[string]string{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = " with changes"
			}
		case "-tags", "GOAMD64", "GOARM64", "GO386", "GOWASM", "GOEXPERIMENT":
			p.Build[s.Key] = s.Value
		}
	}
	p.Revision += modified
	return p
}

// thisMachine describes the machine, of which a run uses so many threads.
func thisMachine(threads int) machine {
	return machine{runtime.GOOS, runtime.GOARCH, qta.KernelName(), threads}
}
