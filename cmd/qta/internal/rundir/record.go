package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/words"
)

// A Record is the content of run.json. It holds no value of a clock.
type Record struct {
	Format  int      `json:"format"`
	State   string   `json:"state"`
	Run     Identity `json:"run"`
	Limits  Limits   `json:"limits"`
	Program Program  `json:"program"`
	Machine Machine  `json:"machine"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

const format = 1

// NewRecord returns the record of a run that this program works on.
func NewRecord(id Identity, l Limits, threads int) *Record {
	machine := Machine{runtime.GOOS, runtime.GOARCH, qta.KernelName(), threads}
	return &Record{Format: format, State: Running, Run: id, Limits: l, Program: ThisProgram(), Machine: machine}
}

// The states of a run. One that is called running while nobody holds the lock
// was killed.
const (
	Running  = "running"
	Stopped  = "stopped"  // by a signal
	Solved   = "solved"   // and ended for it
	Finished = "finished" // at its budget
	Failed   = "failed"
)

// An Identity is all that decides what a run computes. It never changes.
type Identity struct {
	Version    string     `json:"version"` // of the algorithm
	Maze       string     `json:"maze"`    // the name; Map is what counts
	Map        []string   `json:"map"`
	Preset     string     `json:"preset"` // the name; Parameters is what counts
	Parameters Parameters `json:"parameters"`
	Seed       uint64     `json:"seed"`
	EvalEvery  int        `json:"eval_every"`
	Rollouts   int        `json:"eval_rollouts"`
}

// NewIdentity returns what decides a run with the usual evaluations.
func NewIdentity(maze string, m *qta.Maze, preset string, p qta.Params, seed uint64, every int) Identity {
	return Identity{qta.Version, maze, mapLines(m), preset, Parameters(p), seed, every, Rollouts}
}

// Limits are what the last command asked for.
type Limits struct {
	Steps int    `json:"steps"`
	Stop  string `json:"stop"` // "solved" or "never"
}

// Program says what ran last.
type Program struct {
	Revision string            `json:"revision"`
	Go       string            `json:"go"`
	Build    map[string]string `json:"build"`             // the settings that can change arithmetic
	Version  string            `json:"version,omitempty"` // of the algorithm, where an older program wrote it
}

// Machine says where it ran last.
type Machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"` // of the matrix product, named for the CPU features it needs
	Threads int    `json:"threads"`
}

func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %s kernel, %s", m.OS, m.Arch, m.Kernel, words.Count(m.Threads, "thread"))
}

// Outcome says what a run has come to.
type Outcome struct {
	Steps    int    `json:"steps"`
	FoundAt  int    `json:"found_at"`  // the first environment step of training that ended at the environment's goal, or 0
	HalfAt   int    `json:"half_at"`   // of the first evaluation at 0.5 or more, or 0
	SolvedAt int    `json:"solved_at"` // of the first perfect one, or 0
	Digest   string `json:"digest,omitempty"`
	Message  string `json:"message,omitempty"`

	// Of an ended run: what the agent it leaves reaches in rollouts that were
	// no part of it.
	HeldOut         *float64 `json:"held_out,omitempty"`
	HeldOutRollouts int      `json:"held_out_rollouts,omitempty"`

	// Of an ended run with two snapshots of Figure 5 or more.
	Figure5 *Figure5 `json:"figure5,omitempty"`

	// Digests of the files that the run came to this outcome with, by name.
	Files map[string]string `json:"files,omitempty"`
}

// Figure5 says in numbers what section 4 of the paper says of its Figure 5: each
// is positive where a run agrees.
type Figure5 struct {
	ValueGrowth     float64 `json:"value_growth"`      // of the mean value, from the first snapshot to the last
	ErrorFall       float64 `json:"error_fall"`        // of the values' mean absolute error, likewise
	ErrorByDistance float64 `json:"error_by_distance"` // correlation of that error with the distance from the start, in the last
	GoalByDeviation float64 `json:"goal_by_deviation"` // correlation of a goal's probability with the heads' deviation, mean of all
	GoalDistance    float64 `json:"goal_distance"`     // how much lower the optimal value is at goals drawn than at all points, mean of all
}

// HeldOutPercent returns their success in percent.
func (o *Outcome) HeldOutPercent() float64 { return 100 * *o.HeldOut }

const (
	// Rollouts is the number of rollouts of one evaluation, as in the authors'
	// code.
	Rollouts = 20

	// Half is the success that says that a maze has been found, if not learned.
	Half = 0.5

	// MaxSteps bounds a budget: the replay buffer holds every step of a run.
	MaxSteps = 100_000_000
)

// Parameters are read as strictly as a parameter file. One that a run does not
// name is of a later version, and what it is in Paper changed nothing until then.
type Parameters qta.Params

func (p *Parameters) UnmarshalJSON(data []byte) error {
	q, err := qta.ReadParams(bytes.NewReader(data), qta.Paper())
	*p = Parameters(q)
	if err != nil {
		return fmt.Errorf("parameters: %s", words.Bare(err))
	}
	return nil
}

// Params returns what the run was trained with.
func (id Identity) Params() qta.Params { return qta.Params(id.Parameters) }

// MapText returns the map as a text.
func (id Identity) MapText() string { return strings.Join(id.Map, "\n") + "\n" }

// NewMaze returns the maze. The identity is one that was checked.
func (id Identity) NewMaze() *qta.Maze {
	m, err := qta.ParseMaze(id.MapText())
	if err != nil {
		panic(err)
	}
	return m
}

// OwnMap ends the name of a maze whose map is not that of the maze so called.
const OwnMap = " (its own map)"

// Named reports whether the map is that of the maze with this name.
func (id Identity) Named() bool {
	m, err := qta.NewMaze(id.Maze)
	return err == nil && slices.Equal(mapLines(m), id.Map)
}

// mapLines returns the lines of a maze's map.
func mapLines(m *qta.Maze) []string {
	return strings.Split(strings.TrimRight(m.String(), "\n"), "\n")
}

// Differences lists where other departs from id, with both values.
func (id Identity) Differences(other Identity) []string {
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
		compare(f.Name, id.Params().Value(f.Name), other.Params().Value(f.Name))
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

// Command returns the words of a command line that makes the same run.
func (id Identity) Command(l Limits) []string {
	maze := strings.TrimSuffix(id.Maze, OwnMap)
	if !id.Named() {
		maze += ".txt"
	}
	var base qta.Preset
	least := math.MaxInt
	for _, p := range qta.Presets() {
		n := Differing(p.Params, id.Params())
		if n < least || n == least && strings.HasPrefix(id.Preset, p.Name) {
			base, least = p, n
		}
	}
	line := []string{"qta", "-maze", words.Shell(maze), "-params", base.Name}
	for _, c := range Changes(base.Params, id.Params()) {
		line = append(line, "-set", words.Shell(c))
	}
	return append(line, strings.Fields(fmt.Sprintf("-seed %d -eval %d -steps %d -stop %s", id.Seed, id.EvalEvery, l.Steps, l.Stop))...)
}

// Changes lists what makes q of p, as values for -set.
func Changes(p, q qta.Params) []string {
	var changes []string
	for _, field := range qta.Fields() {
		if v := q.Value(field.Name); v != p.Value(field.Name) {
			changes = append(changes, field.Name+"="+v)
		}
	}
	return changes
}

// Differing returns how many parameters differ, which is sooner known than which.
func Differing(p, q qta.Params) int { return differing(reflect.ValueOf(p), reflect.ValueOf(q)) }

func differing(p, q reflect.Value) (n int) {
	for i := range p.NumField() {
		switch a, b := p.Field(i), q.Field(i); {
		case a.Kind() == reflect.Struct:
			n += differing(a, b)
		case !a.Equal(b):
			n++
		}
	}
	return n
}

// Write writes run.json in a directory.
func (r *Record) Write(dir string, durable bool) error {
	return files.Write(filepath.Join(dir, RecordFile), r.encode(), durable)
}

func (r *Record) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(r); err != nil {
		panic(err) // only for a NaN or Inf, which Params.Validate refuses
	}
	return withChecksum(b.Bytes())
}

// decode reads the text of run.json. That of another version may have
// more fields, which only strict refuses.
func decode(data []byte, strict bool) (*Record, error) {
	var head struct{ Format int }
	if json.Unmarshal(data, &head) == nil && head.Format > format {
		return nil, newerError(fmt.Sprintf("format is %d, this program reads %d", head.Format, format))
	}
	var text struct {
		Record
		Checksum string `json:"sha256"` // of earlier programs none
	}
	r := &text.Record
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&text); err != nil && strings.Contains(err.Error(), "unknown field") && checkChecksum(data) == nil {
		return nil, newerError(words.Bare(err))
	} else if err != nil {
		return nil, errors.New(placeOf(data, err) + words.Bare(err))
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
	if signed := text.Checksum != "" || r.Outcome != nil && r.Outcome.Files != nil; signed {
		if err := checkChecksum(data); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// placeOf names the line in which decoding has failed, as far as the error tells.
func placeOf(data []byte, err error) string {
	var at int64
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typ):
		at = typ.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = int64(len(data))
	default:
		return ""
	}
	return fmt.Sprintf("line %d: ", 1+bytes.Count(data[:min(at, int64(len(data)))], []byte("\n")))
}

// A newerError says what is strange in a record that a newer program has written.
type newerError string

func (e newerError) Error() string { return string(e) + ": a newer qta has written it" }

// check refuses a record that no run has, and gives the map its usual form and
// the texts, which others may have written, that of plain ones.
func (r *Record) check() error {
	texts := []*string{&r.Run.Version, &r.Run.Maze, &r.Run.Preset, &r.Program.Revision, &r.Program.Go, &r.Machine.OS, &r.Machine.Arch, &r.Machine.Kernel}
	if r.Outcome != nil {
		texts = append(texts, &r.Outcome.Message)
	}
	for _, text := range texts {
		*text = words.Plain(*text)
	}
	if r.Format != format {
		return fmt.Errorf("format is %d, this program reads %d", r.Format, format)
	}
	states := []string{Running, Stopped, Solved, Finished, Failed}
	if !slices.Contains(states, r.State) {
		return fmt.Errorf("state is %q, want one of %s", r.State, strings.Join(states, ", "))
	}
	if r.Run.EvalEvery < 1 || r.Run.Rollouts < 1 {
		return fmt.Errorf("eval_every is %d and eval_rollouts %d, want 1 or more", r.Run.EvalEvery, r.Run.Rollouts)
	}
	if r.Limits.Steps < 1 || r.Limits.Steps > MaxSteps {
		return fmt.Errorf("limits.steps is %d, want 1 to %d", r.Limits.Steps, MaxSteps)
	}
	if err := r.Run.Params().Validate(); err != nil {
		return errors.New(words.Bare(err))
	}
	m, err := qta.ParseMaze(r.Run.MapText())
	if err != nil {
		return errors.New(words.Bare(err))
	}
	r.Run.Map = mapLines(m)
	if _, err := qta.NewMaze(r.Run.Maze); err == nil && !r.Run.Named() {
		r.Run.Maze += OwnMap
	}
	return nil
}

// ThisProgram describes the running program.
func ThisProgram() Program {
	p := Program{Revision: "unknown", Go: runtime.Version(), Build: map[string]string{}}
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
