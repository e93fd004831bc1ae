package lab

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"qta"
	"qta/internal/words"
)

// A Record is the content of run.json, from which reports are made. It holds no times.
type Record struct {
	Format  int      `json:"format"`
	State   string   `json:"state"`
	Run     Identity `json:"run"`
	Limits  Limits   `json:"limits"`
	Program Program  `json:"program"`
	Machine Machine  `json:"machine"`
	Outcome Outcome  `json:"outcome"`
	Curve   Curve    `json:"curve"` // every evaluation of the run

	// Where Collect found the record: a run's directory, or a file outside of one.
	Path string `json:"-"`

	// At a run's end: in which components of a goal the agent never met the desired goals.
	Apart string `json:"-"`
}

// recordFormat is the version of run.json.
const recordFormat = 2

// The states of a run. A run was killed if its state is Running but no process holds its
// lock.
const (
	Running  = "running"
	Stopped  = "stopped"  // by a signal
	Solved   = "solved"   // and ended at its first perfect evaluation
	Finished = "finished" // at its budget
	Failed   = "failed"
)

// An Identity holds everything that decides what a run computes. It never changes.
type Identity struct {
	Version string `json:"version"` // of the algorithm

	// The name of the environment. Under another name it is another run, even with the same Map.
	Environment string   `json:"environment"`
	Map         []string `json:"map,omitempty"` // of a maze, line by line

	// The name of Params. Differences ignores the name and compares Params.
	Set    string     `json:"preset"`
	Params qta.Params `json:"parameters"`

	Seed      uint64 `json:"seed"`
	EvalEvery int    `json:"eval_every"`
	Rollouts  int    `json:"eval_rollouts"`

	// Whether goals come from Options.Curriculum, and not from the curriculum in Params.
	Own bool `json:"own_curriculum,omitempty"`

	// These two may be missing in older runs: what function Code returns, and the environment's
	// answers in an episode.
	Code        string      `json:"code,omitempty"`
	Fingerprint Fingerprint `json:"fingerprint,omitempty"`
}

// Limits say when the run ends, as asked for by the last command that trained it.
type Limits struct {
	Steps int    `json:"steps"`
	Stop  string `json:"stop"` // StopSolved or StopNever
}

// StopSolved ends a run at its first perfect evaluation. StopNever ends it only at its budget.
const StopSolved, StopNever = "solved", "never"

// Program describes the program that trained the run last.
type Program struct {
	Revision string            `json:"revision"`
	Go       string            `json:"go"`
	Build    map[string]string `json:"build"` // the settings that can change arithmetic
}

// Machine describes the machine on which the run was trained last.
type Machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernel  string `json:"kernel"` // of the matrix product, named for the CPU features it needs
	Threads int    `json:"threads"`
}

func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %s kernel, %s", m.OS, m.Arch, m.Kernel, words.Count(m.Threads, "thread"))
}

// An Outcome says how far a run has come.
type Outcome struct {
	Steps int `json:"steps"`

	// Steps, or 0: the first of training that ended at the environment's goal, that of the first
	// evaluation at 0.5 or more, and that of the first perfect evaluation.
	FoundAt  int `json:"found_at"`
	HalfAt   int `json:"half_at"`
	SolvedAt int `json:"solved_at"`

	Digest  string `json:"digest"`            // of the networks
	Message string `json:"message,omitempty"` // why the run has failed

	// Set at the run's end: the agent's success in rollouts that were no part of the run.
	HeldOut         *float64 `json:"held_out,omitempty"`
	HeldOutRollouts int      `json:"held_out_rollouts,omitempty"`

	// Set for a run on a maze that has two or more snapshots of Figure 5.
	Figure5 *Figure5 `json:"figure5,omitempty"`
}

// HeldOutPercent writes the held-out success in percent, such as "99.5 %" for 199 of 200
// rollouts. HeldOut must not be nil.
func (o Outcome) HeldOutPercent() string { return fmt.Sprintf("%.3g %%", 100**o.HeldOut) }

// Figure5 puts into numbers what section 4 of the paper says about Figure 5. Each number is
// positive if the run agrees. The paper's figure begins at step 5,000, so only
// snapshots from there on are used, or all if these are fewer than two.
type Figure5 struct {
	// From the first snapshot to the last: the growth of the mean value, and the fall of the
	// values' mean absolute error.
	ValueGrowth float64 `json:"value_growth"`
	ErrorFall   float64 `json:"error_fall"`

	// In the last snapshot: the correlation of a place's error with minus its optimal value,
	// which grows with the distance from the start.
	ErrorByDistance float64 `json:"error_by_distance"`

	// Means over the snapshots: the correlation of a goal's probability and deviation, and the
	// mean optimal value of all places minus that of the sampled goals.
	GoalByDeviation float64 `json:"goal_by_deviation"`
	GoalDistance    float64 `json:"goal_distance"`
}

// Defaults of all runs, and bounds.
const (
	Rollouts = 20  // of one evaluation, as in the authors' code
	HeldOut  = 200 // rollouts after a run's end, because a perfect evaluation of 20 is partly luck
	Half     = 0.5 // the success at which a run has found the goal, though not yet learned the way

	// MaxSteps bounds a budget: the replay buffer holds every step of a run.
	MaxSteps = 100_000_000
)

// A Curve is the log of a run. In run.json it has a row of numbers for each evaluation.
type Curve []qta.Evaluation

// columns name the numbers of a row, in run.json and log.csv.
var columns = [...]string{"step", "success", "critic_loss", "predictive_loss", "actor_loss",
	"goals_set", "goals_reached", "reached", "return", "steps_to_goal"}

// A row is an evaluation as a list of its fields, in the order of columns.
type row qta.Evaluation

func (r *row) fields() [len(columns)]any {
	return [...]any{&r.Step, &r.Success, &r.CriticLoss, &r.PredictiveLoss, &r.ActorLoss,
		&r.GoalsSet, &r.GoalsReached, &r.Reached, &r.Return, &r.StepsToGoal}
}

func (r row) MarshalJSON() ([]byte, error) { return json.Marshal(r.fields()) }

func (r *row) UnmarshalJSON(data []byte) error {
	fields := r.fields()
	return json.Unmarshal(data, &fields)
}

type curveText struct {
	Columns [len(columns)]string `json:"columns"`
	Rows    []row                `json:"rows"`
}

// MarshalJSON writes the columns and the rows.
func (c Curve) MarshalJSON() ([]byte, error) {
	text := curveText{Columns: columns, Rows: []row{}}
	for _, e := range c {
		text.Rows = append(text.Rows, row(e))
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses steps that do not ascend and a
// success that is no fraction.
func (c *Curve) UnmarshalJSON(data []byte) error {
	var text curveText
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if text.Columns != columns {
		return fmt.Errorf("curve: the columns are %v, want %v", text.Columns, columns)
	}
	*c = Curve{}
	last := 0
	for i, e := range text.Rows {
		fraction := e.Success >= 0 && e.Success <= 1
		if e.Step <= last || !fraction {
			return fmt.Errorf("curve: row %d has step %v with success %v", i+1, e.Step, e.Success)
		}
		last = e.Step
		*c = append(*c, qta.Evaluation(e))
	}
	return nil
}

// FirstAt returns the step of the first evaluation with this success or more, or 0.
func (c Curve) FirstAt(least float64) int {
	for _, e := range c {
		if e.Success >= least {
			return e.Step
		}
	}
	return 0
}

// Last returns the latest evaluation, or zeros if there is none.
func (r *Record) Last() qta.Evaluation {
	if len(r.Curve) == 0 {
		return qta.Evaluation{}
	}
	return r.Curve[len(r.Curve)-1]
}

// Ended reports whether a report can count the run: it was solved, or never will be. A run
// whose numbers went wrong counts, because it would fail again in the same way. A run that
// failed for another reason, such as a full disk, may still be solved and does not count.
func (r *Record) Ended() bool {
	switch r.State {
	case Solved, Finished:
		return true
	case Failed:
		numeric := strings.Contains(r.Outcome.Message, " is not finite") // a qta.NumericError
		return numeric || r.Outcome.SolvedAt > 0
	}
	return r.Outcome.SolvedAt > 0
}

// Steps returns the steps to the solution, or the budget.
func (r *Record) Steps() float64 {
	if r.Outcome.SolvedAt > 0 {
		return float64(r.Outcome.SolvedAt)
	}
	return float64(r.Limits.Steps)
}

func (id Identity) mapText() string { return strings.Join(id.Map, "\n") + "\n" }

// NewMaze returns the maze of a run in a maze. It panics if Map is not the map of a maze.
// A Map that comes from a record or an agent has been checked.
func (id Identity) NewMaze() *qta.Maze {
	m, err := qta.ParseMaze(id.mapText())
	if err != nil {
		panic(err)
	}
	return m
}

// Named reports whether Environment is a name that [qta.NewMaze] knows, and Map the map of
// that maze.
func (id Identity) Named() bool {
	m, err := qta.NewMaze(id.Environment)
	return err == nil && slices.Equal(mapLines(m), id.Map)
}

// mapLines returns the lines of a maze's map.
func mapLines(m *qta.Maze) []string {
	return strings.Split(strings.TrimRight(m.String(), "\n"), "\n")
}

// Identity returns the identity of a run with these options, without the code
// and the fingerprint, which take a while.
func (o Options) Identity(env qta.Env) Identity {
	o.complete()
	id := Identity{
		Version:     qta.Version,
		Environment: o.Name,
		Set:         SetName(o.Params),
		Params:      o.Params,
		Seed:        o.Seed,
		EvalEvery:   o.EvalEvery,
		Rollouts:    o.Rollouts,
		Own:         o.Curriculum != nil,
	}
	if m, ok := env.(*mazeEnv); ok {
		id.Map = mapLines(m.maze)
	}
	return id
}

// NewRecord returns the record of a run that this program works on.
func NewRecord(id Identity, l Limits, threads int) *Record {
	return &Record{
		Format:  recordFormat,
		State:   Running,
		Run:     id,
		Limits:  l,
		Program: ThisProgram(),
		Machine: Machine{
			OS:      runtime.GOOS,
			Arch:    runtime.GOARCH,
			Kernel:  qta.KernelName(),
			Threads: threads,
		},
	}
}

// Differences lists where other differs from id. It calls the values of id "there" and
// those of other "here".
func (id Identity) Differences(other Identity) (list []string) {
	compare := func(name string, there, here any) {
		if there != here {
			list = append(list, fmt.Sprintf("%s is %v there, %v here", name, there, here))
		}
	}
	compare("the version of qta", id.Version, other.Version)
	compare("the environment", id.Environment, other.Environment)
	if id.Environment == other.Environment && !slices.Equal(id.Map, other.Map) {
		list = append(list, fmt.Sprintf("the map of %s differs", id.Environment))
	}
	compare("-seed", id.Seed, other.Seed)
	compare("-eval", id.EvalEvery, other.EvalEvery)
	compare("a curriculum of the user's", id.Own, other.Own)
	compare("the number of rollouts", id.Rollouts, other.Rollouts)
	for _, name := range Differing(id.Params, other.Params) {
		compare(name, id.Params.Value(name), other.Params.Value(name))
	}
	if text := id.Fingerprint.Difference(other.Fingerprint); text != "" {
		list = append(list, "the environment has changed: "+text)
	}
	if len(list) == 0 && otherCode(id.Code, other.Code) {
		list = append(list, "the code has changed: it trains a small agent to other networks than before")
	}
	return list
}

// Same reports whether two records may be of the same run. Of their identities it compares
// only seed and fingerprint; the caller has to know that the rest agrees.
func (r *Record) Same(other *Record) bool {
	if r.Run.Seed != other.Run.Seed || r.Run.Fingerprint.Difference(other.Run.Fingerprint) != "" {
		return false
	}
	// Networks can be compared only at the same step.
	return r.Outcome.Steps != other.Outcome.Steps || r.Outcome.Digest == other.Outcome.Digest
}

// Command returns a command line that repeats the run. If [Identity.Named] is false, the
// command reads the map from a file whose name is Environment with .txt. Command returns ""
// if no command can repeat the run, because its environment is not a maze, because a user's
// own curriculum chose its goals, or because its number of rollouts is not [Rollouts].
func (r *Record) Command() string {
	id := r.Run
	if len(id.Map) == 0 || id.Own || id.Rollouts != Rollouts {
		return ""
	}
	maze := id.Environment
	if !id.Named() {
		maze += ".txt"
	}
	params := strings.ReplaceAll(SetName(id.Params), " ", " -set ") // such as "paper -set Batch=64"
	return fmt.Sprintf("qta -maze %s -params %s -seed %d -eval %d -steps %d -stop %s",
		words.Shell(maze), params, id.Seed, id.EvalEvery, r.Limits.Steps, r.Limits.Stop)
}

// Curriculum names what chooses the goals.
func (id Identity) Curriculum() string {
	if id.Own {
		return "of its user"
	}
	return id.Params.Curriculum
}

// SetName returns a name for the parameters p, such as "quick" or "paper Batch=64": the
// preset that is nearest to p, and the changes that lead from it to p.
func SetName(p qta.Params) string {
	base := slices.MinFunc(qta.Presets(), func(a, b qta.Preset) int {
		return len(Differing(a.Params, p)) - len(Differing(b.Params, p))
	})
	return strings.Join(append([]string{base.Name}, Changes(base.Params, p)...), " ")
}

// Changes lists the changes that turn p into q, each as a value for the flag -set. Like
// [Differing] it leaves out parameters without effect.
func Changes(p, q qta.Params) (list []string) {
	for _, name := range Differing(p, q) {
		list = append(list, name+"="+q.Value(name))
	}
	return list
}

// parameterFields are listed only once, because a report compares thousands of records.
var parameterFields = slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[qta.Params]()),
	func(f reflect.StructField) bool { return f.Anonymous })

// Differing returns the names of the parameters that differ, except for those that
// have no effect on what a run with q learns.
func Differing(p, q qta.Params) (names []string) {
	a := reflect.ValueOf(ignoreIdle(p, q))
	b := reflect.ValueOf(q)
	for _, f := range parameterFields {
		if !a.FieldByIndex(f.Index).Equal(b.FieldByIndex(f.Index)) {
			names = append(names, f.Name)
		}
	}
	return names
}

// ignoreIdle returns p, but takes from q the parameters that have no effect in a run with q.
func ignoreIdle(p, q qta.Params) qta.Params {
	if q.Curriculum != "qta" {
		p.Candidates = q.Candidates
		p.FirstGoalDesired = q.FirstGoalDesired
	}
	if q.Curriculum != "qta" || q.Uncertainty == "q" { // then no choice of goals uses Equation 5
		p.UncertaintyGoal = q.UncertaintyGoal
	}
	if q.Uncertainty != "bootstrap" && q.Uncertainty != "ensemble" {
		p.EnsembleActions = q.EnsembleActions
	}
	if q.Replay == "uniform" {
		p.PriorityAlpha = q.PriorityAlpha
		p.PriorityBeta = q.PriorityBeta
		p.PriorityBetaSteps = q.PriorityBetaSteps
	}
	if q.Learner == "authors" {
		p.PredictiveGradient = q.PredictiveGradient
	}
	if q.Learner == "vds" {
		p.UpdatesPerStep = q.UpdatesPerStep
	}
	return p
}

// ReadRecord reads a run.json, or a copy with another name. Its error wraps
// [fs.ErrNotExist] if there is no such file.
func ReadRecord(path string) (*Record, error) {
	data, err := words.ReadFile(path, words.MostText)
	if err != nil {
		return nil, words.Cause(err)
	}
	return decodeRecord(data)
}

// Encode returns the text of run.json, in which each evaluation of the curve has a line.
func (r *Record) Encode() []byte {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		panic(err) // a NaN or Inf, which training and Params.Validate refuse
	}
	text = bytes.ReplaceAll(text, []byte("\n\t\t\t\t"), nil)
	text = bytes.ReplaceAll(text, []byte("\n\t\t\t]"), []byte("]"))
	return sealed(bytes.TrimSuffix(text, []byte("\n}")))
}

// A run.json is sealed: its last field is the SHA-256 of the text without that field.
const (
	sealBefore = ",\n\t\"sha256\": \""
	recordEnd  = "\n}\n"
)

// sealed returns the text of a record. body is everything before the seal.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(unsealed(body))
	return fmt.Appendf(slices.Clip(body), "%s%x\"%s", sealBefore, sum, recordEnd)
}

// unsealed returns the text of a record without a seal.
func unsealed(body []byte) []byte { return append(slices.Clip(body), recordEnd...) }

// decodeRecord reads the text of a run.json.
func decodeRecord(data []byte) (*Record, error) {
	// Git for Windows may have changed line ends.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	body, _, found := bytes.Cut(data, []byte(sealBefore))
	if !found {
		return nil, errors.New("it is not the record of a run")
	} else if !bytes.Equal(sealed(body), data) {
		return nil, errors.New("damaged or edited: its checksum is wrong")
	}

	// If a record does not name a parameter, the parameter is newer than the record. Runs
	// without this parameter behaved as with its value in Paper.
	r := &Record{Run: Identity{Params: qta.Paper()}}
	d := json.NewDecoder(bytes.NewReader(unsealed(body)))
	d.DisallowUnknownFields()
	err := d.Decode(r)
	if err != nil && r.Run.Version != qta.Version {
		return nil, fmt.Errorf("only qta %s, which wrote it, can read it: %s",
			r.Run.Version, words.Bare(err))
	} else if err != nil {
		return nil, errors.New(words.Bare(err))
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// check refuses a record that no run writes.
func (r *Record) check() error {
	l := r.Limits
	known := slices.Contains([]string{Running, Stopped, Solved, Finished, Failed}, r.State)
	switch {
	case r.Format != recordFormat:
		return fmt.Errorf("its format is %d, this program reads %d", r.Format, recordFormat)
	case !known:
		return fmt.Errorf("its state is %q", r.State)
	case l.Stop != StopSolved && l.Stop != StopNever:
		return fmt.Errorf("it stops %q, want %q or %q", l.Stop, StopSolved, StopNever)
	case l.Steps < 1 || l.Steps > MaxSteps:
		return fmt.Errorf("its budget is %d, want 1 to %d steps", l.Steps, MaxSteps)
	}
	return r.Run.check()
}

// check refuses an identity that no run has.
func (id Identity) check() error {
	if id.EvalEvery < 1 || id.Rollouts < 1 {
		return fmt.Errorf("eval_every is %d and eval_rollouts %d; want 1 or more of both",
			id.EvalEvery, id.Rollouts)
	}
	if len(id.Map) > 0 {
		if _, err := qta.ParseMaze(id.mapText()); err != nil {
			return err
		}
	}
	return cmp.Or(words.CheckName(id.Environment), id.Params.Validate())
}

// ThisProgram describes the running program.
func ThisProgram() Program {
	p := Program{
		Revision: "unknown (go build stamps one in a repository, unless -buildvcs=false; go run stamps none)",
		Go:       runtime.Version(),
		Build:    map[string]string{},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	version := info.Main.Version
	if version != "" && version != "(devel)" { // go install has fetched this version
		p.Revision = version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.modified": // comes after vcs.revision
			if s.Value == "true" {
				p.Revision += " with changes"
			}
		case "-tags", "GOAMD64", "GOARM64", "GO386", "GOWASM", "GOEXPERIMENT":
			p.Build[s.Key] = s.Value
		}
	}
	return p
}

// A Skip names a file that was not used and says why.
type Skip struct{ Path, Why string }

// A Collection holds all runs found in several directories.
type Collection struct {
	Runs    []*Record
	Skipped []Skip
}

// Collect reads the records of all runs within directories. In a run's directory it reads
// run.json and looks no further; elsewhere it reads files NAME.json. It lists as skipped
// what it cannot use: damaged records, records of another version, and directories that
// cannot be read. It returns an error only if [os.Stat] fails for one of dirs.
func Collect(dirs []string) (*Collection, error) {
	c := &Collection{}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil { // also if dir is ""
			return nil, words.BadFile(err, "%s cannot be read: %w", cmp.Or(dir, `""`), words.Cause(err))
		}
		target, _ := filepath.EvalSymlinks(dir)
		filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				c.skip(path, words.Cause(err).Error())
				return nil
			case entry.IsDir():
				return c.visit(path, path == target)
			}
			c.take(path, entry, path == target)
			return nil
		})
	}
	return c, nil
}

// visit reads the run in a directory. If there is none, it returns nil, and Collect looks
// inside. If there is one, or if the directory's name begins with a dot, visit returns
// [filepath.SkipDir]. A dot does not matter if named says that Collect was given this
// directory.
func (c *Collection) visit(dir string, named bool) error {
	record := filepath.Join(dir, RecordFile)
	switch {
	case isFile(record):
		c.read(dir, record)
	case isRun(dir):
		c.skip(filepath.Join(dir, AgentFile), "it has no "+RecordFile+", which the run's command makes again")
	case named || !strings.HasPrefix(filepath.Base(dir), "."):
		return nil
	}
	return filepath.SkipDir
}

// take reads a file if it can be a record.
func (c *Collection) take(path string, entry fs.DirEntry, named bool) {
	if named && entry.Name() == RecordFile { // it stands for its run
		c.read(filepath.Dir(path), path)
		return
	}
	if named || filepath.Ext(path) == ".json" {
		c.read(path, path)
		return
	}
	if entry.Type() != fs.ModeSymlink {
		return
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		c.skip(path, "a link is not followed: name what it stands for")
	}
}

func (c *Collection) skip(path, why string) {
	c.Skipped = append(c.Skipped, Skip{path, why})
}

// read reads the record of a run.
func (c *Collection) read(path, file string) {
	r, err := ReadRecord(file)
	if err != nil {
		c.skip(file, words.Bare(err))
		return
	}
	r.Path = path
	c.Runs = append(c.Runs, r)
}
