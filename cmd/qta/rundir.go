package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"qta"
)

// The files of a run directory.
const (
	recordFile = "run.json"
	logFile    = "log.csv"
	timingFile = "timing.csv"
	agentFile  = "agent.qta"
	lockFile   = "lock"

	temporary = ".tmp" // ends the name of a file that is being written
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
	Stop  string `json:"stop"`
}

// program says what ran last.
type program struct {
	Revision string            `json:"revision"`
	Go       string            `json:"go"`
	Build    map[string]string `json:"build"` // the settings that can change arithmetic
}

// machine says where it ran last.
type machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"` // of the matrix product, named for the CPU features it needs
	Threads int    `json:"threads"`
}

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

// parameters are read as strictly as a parameter file.
type parameters qta.Params

func (p *parameters) UnmarshalJSON(data []byte) error {
	q, err := qta.ReadParams(bytes.NewReader(data), qta.Default())
	*p = parameters(q)
	return err
}

func (id identity) mapText() string { return strings.Join(id.Map, "\n") + "\n" }

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
		compare(f.Name, qta.Params(id.Parameters).Value(f.Name), qta.Params(other.Parameters).Value(f.Name))
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

// decodeRecord reads the text of run.json.
func decodeRecord(data []byte) (*record, error) {
	var r record
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, errors.New(bare(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
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
	if err := qta.Params(r.Run.Parameters).Validate(); err != nil {
		return errors.New(bare(err))
	}
	m, err := qta.ParseMaze(r.Run.mapText())
	if err != nil {
		return errors.New(bare(err))
	}
	r.Run.Map = mapLines(m)
	return nil
}

// mapLines returns the lines of a maze's map.
func mapLines(m *qta.Maze) []string {
	return strings.Split(strings.TrimRight(m.String(), "\n"), "\n")
}

// readRecord reads run.json of a directory. Both results are nil where there
// is none.
func readRecord(dir string) (*record, error) {
	path := filepath.Join(dir, recordFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, cause(err))
	}
	r, err := decodeRecord(data)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it, or name another directory", path, err)
	}
	return r, nil
}

// claim makes a run directory where there is none, locks it and reads its
// record, which is nil in a new one.
func claim(dir string) (unlock func(), r *record, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, nil, badInput("directory %s cannot be made: %v; name another one with -out", dir, err)
		}
	case err != nil:
		return nil, nil, badInput("%s is no directory to write in: %v; name another one with -out", dir, cause(err))
	default:
		if err := ours(dir, entries); err != nil {
			return nil, nil, err
		}
	}
	unlock, err = lockDir(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err = readRecord(dir)
	if err != nil {
		unlock()
		return nil, nil, inputError{err}
	}
	return unlock, r, nil
}

// ours refuses a directory that holds files and no run. A process that was
// killed at its start has left no more than the lock and a temporary file.
func ours(dir string, entries []os.DirEntry) error {
	stranger := ""
	for _, e := range entries {
		switch e.Name() {
		case recordFile:
			return nil
		case lockFile, recordFile + temporary:
		default:
			stranger = e.Name()
		}
	}
	if stranger != "" {
		return badInput("directory %s holds %s and no %s; name an empty or a new one with -out", dir, stranger, recordFile)
	}
	return nil
}

// loadAgent reads the newest whole agent of a directory, or returns nil where
// there is none, and warns of a damaged one. An agent of another run than r is
// an error. With mend the older agent takes the place of a damaged one, so
// that the next checkpoint does not make the damaged one the older.
func loadAgent(dir string, r *record, mend bool, stderr io.Writer) (*qta.Agent, error) {
	path := filepath.Join(dir, agentFile)
	if !exists(path) && !exists(path+qta.Previous) {
		return nil, nil
	}
	a, damage, err := qta.LoadFile(path)
	if err != nil {
		return nil, err
	}
	if damage != nil {
		fmt.Fprintf(stderr, "qta: warning: %s; the checkpoint before it, of step %d, is used\n", bare(damage), a.Steps())
	}
	if damage != nil && mend {
		if err := os.Rename(path+qta.Previous, path); err != nil {
			return nil, fmt.Errorf("%s cannot be replaced: %w", path, err)
		}
	}
	if a.Params() != qta.Params(r.Run.Parameters) || a.Seed() != r.Run.Seed {
		a.Close()
		return nil, fmt.Errorf("%s belongs to another run than %s beside it", path, recordFile)
	}
	return a, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// replaceFile writes a file beside its place and renames it, so that a reader
// sees the old or the new content whatever happens. A durable one is also
// safe from a loss of power.
func replaceFile(path string, data []byte, durable bool) error {
	fail := func(err error) error {
		os.Remove(path + temporary)
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	f, err := os.Create(path + temporary)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	_, err = f.Write(data)
	if durable && err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fail(err)
	}
	if err := os.Rename(path+temporary, path); err != nil {
		return fail(err)
	}
	if durable {
		// Some systems cannot sync a directory; the rename is then as durable
		// as they make it.
		if d, err := os.Open(filepath.Dir(path)); err == nil {
			d.Sync()
			d.Close()
		}
	}
	return nil
}

// logText returns log.csv: a row for each evaluation, the unit of each column
// in the header.
func logText(p qta.Params, evaluations []qta.Evaluation) []byte {
	distance := "cell^2"
	if p.HeadLoss == "norm" {
		distance = "cell"
	}
	b := []byte("step[environment steps],success[fraction],critic_loss[reward^2],predictive_loss[" + distance +
		"],actor_loss[reward],goals_set[count],goals_reached[count]\n")
	for _, e := range evaluations {
		b = strconv.AppendInt(b, int64(e.Step), 10)
		for _, x := range []float64{e.Success, e.CriticLoss, e.PredictiveLoss, e.ActorLoss} {
			b = strconv.AppendFloat(append(b, ','), x, 'g', -1, 64)
		}
		for _, n := range []int{e.GoalsSet, e.GoalsReached} {
			b = strconv.AppendInt(append(b, ','), int64(n), 10)
		}
		b = append(b, '\n')
	}
	return b
}

const timingHeader = "step[environment steps],seconds[s since this process began],rate[environment steps/s]\n"

// openTiming opens timing.csv to append rows. A row that a killed process left
// incomplete is cut off.
func openTiming(dir string) (*os.File, error) {
	path := filepath.Join(dir, timingFile)
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fail(err)
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		f.Close()
		return fail(err)
	}
	if len(text) == 0 {
		text = []byte(timingHeader)
		_, err = f.Write(text)
	} else {
		_, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		f.Close()
		return fail(err)
	}
	return f, nil
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
