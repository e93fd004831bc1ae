package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"qta"
	"qta/internal/roomtest"
)

// stopAt trains until a step and leaves the run stopped there.
func stopAt(t testing.TB, o Options, stop int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.AfterStep = func(step int) {
		if step == stop {
			cancel()
		}
	}
	if err := Train(ctx, maze(t), maze(t), o); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
}

// attach changes what is attached to the agent of a run.
func attach(t testing.TB, dir string, change func(*state)) {
	t.Helper()
	r := open(t, dir)
	change(r.state)
	r.state.attach(r.Agent)
	must(t, r.Agent.SaveFile(filepath.Join(dir, AgentFile)))
}

// copyRun copies a run's directory.
func copyRun(t testing.TB, from string) (to string) {
	t.Helper()
	to = newDir(t)
	must(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// sameRun reports how the files of a run differ from those of another one.
func sameRun(t testing.TB, what, dir, other string) {
	t.Helper()
	sameFiles(t, what, dir, contents(t, other))
}

// sameFiles reports how the files of a run differ from those that are wanted.
func sameFiles(t testing.TB, what, dir string, want map[string]string) {
	t.Helper()
	got := contents(t, dir)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs: %d bytes, want %d", what, name, len(got[name]), len(want[name]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", what, len(got), len(want))
	}
}

// refused checks that Train refuses a directory in one line that names what is
// wanted, and leaves its files as they are.
func refused(t *testing.T, o Options, wants ...string) {
	t.Helper()
	before := contents(t, o.Dir)
	err := try(t, o)
	if _, input := errors.AsType[InputError](err); !input || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one of the input, in one line, with %q", err, wants)
		return
	}
	has(t, err.Error(), wants...)
	sameFiles(t, "refused with "+wants[0], o.Dir, before)
}

// damage changes a file in one of four ways, by chance, and returns which and the bytes
// that it then has.
func damage(t *testing.T, rng *rand.Rand, path string) (what, text string) {
	t.Helper()
	data := []byte(roomtest.Read(t, path))
	n := len(data)
	what = []string{"cut off", "replaced", "changed", "removed"}[rng.IntN(4)]
	switch {
	case what == "removed":
		os.Remove(path)
		return what, ""
	case what == "replaced":
		data = []byte("what is this?")
	case what == "cut off" && n > 0:
		data = data[:rng.IntN(n)]
	case what == "changed" && n > 0:
		data[rng.IntN(n)] ^= byte(1 + rng.IntN(255))
	}
	roomtest.Write(t, path, string(data))
	return what, string(data)
}

// TestDamage cuts off and changes each file of a stopped run and of an ended one, many
// times: the run goes on to the bytes that it would have had. A damaged agent.qta is kept.
func TestDamage(t *testing.T) {
	whole := newDir(t)
	stopped := newDir(t)
	train(t, tinyRun(whole))
	stopAt(t, tinyRun(stopped), 83)
	stopAt(t, tinyRun(stopped), 157)
	rng := rand.New(rand.NewPCG(1, 0))
	rounds := 6
	if testing.Short() {
		rounds = 1
	}
	paths, _ := filepath.Glob(filepath.Join(filepath.Dir(whole), "../*/run/*")) // of both
	for _, path := range slices.Repeat(paths, rounds) {
		name := filepath.Base(path)
		if name == RecordFile && filepath.Dir(path) == whole {
			continue // as TestLostRecord
		}
		dir := copyRun(t, filepath.Dir(path))
		what, text := damage(t, rng, filepath.Join(dir, name))
		train(t, tinyRun(dir))
		sameRun(t, name+" "+what, dir, whole)
		if name == AgentFile && what != "removed" && roomtest.Read(t, dir, DamagedFile) != text {
			t.Errorf("%s %s: the damaged file is not kept", AgentFile, what)
		}
	}
}

// The record of an ended run is made again when its file is empty or garbled. It says
// "unknown" for what is lost.
func TestLostRecord(t *testing.T) {
	dir := newDir(t)
	train(t, tinyRun(dir))
	want := record(t, dir)
	want.Program = Program{Revision: "unknown", Go: "unknown"}
	want.Machine = Machine{OS: "unknown", Arch: "unknown", Kernel: "unknown"}
	for _, text := range []string{"", "what is this?"} {
		roomtest.Write(t, filepath.Join(dir, RecordFile), text)
		train(t, tinyRun(dir))
		equal(t, "the record", want, record(t, dir))
	}
}

// Without an agent there is no run, whatever else is left of it.
func TestLostAgents(t *testing.T) {
	dir := newDir(t)
	train(t, tinyRun(dir))
	for _, name := range []string{AgentFile, PreviousFile} {
		roomtest.Write(t, filepath.Join(dir, name), "what is this?")
	}
	refused(t, tinyRun(dir), AgentFile+" is damaged", "begin it anew")
	for _, name := range []string{AgentFile, PreviousFile} {
		os.Remove(filepath.Join(dir, name))
	}
	refused(t, tinyRun(dir), "record of a run of 200 steps", AgentFile+" is gone", "remove all files of the run")
	for name := range contents(t, dir) {
		os.Remove(filepath.Join(dir, name))
	}
	train(t, tinyRun(dir)) // anew
}

// TestKilledAtEnd leaves what a process does that is killed between its last agent.qta
// and its last run.json, between the two renames of the former, or before them: the same
// command ends the run with the same bytes.
func TestKilledAtEnd(t *testing.T) {
	o := newRun(t)
	train(t, o)
	want := contents(t, o.Dir)
	r := record(t, o.Dir)
	r.State = Running
	r.Outcome = Outcome{}
	r.Curve = nil
	rewrite(t, o.Dir, r)
	must(t, os.Rename(filepath.Join(o.Dir, AgentFile), filepath.Join(o.Dir, PreviousFile)))
	train(t, o)
	sameFiles(t, "after it was killed", o.Dir, want)

	roomtest.Write(t, filepath.Join(o.Dir, AgentFile+temporary), "half")
	train(t, o)
	sameFiles(t, "after the last save was killed", o.Dir, want)
}

// TestReplaced moves the directory of a run that trains, puts another one in its place, and
// changes the working directory. The run goes on in the moved directory, and writes nothing
// into the other two.
func TestReplaced(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(home)
	o := tinyRun("run")
	o.AfterStep = func(step int) {
		if step == 50 {
			must(t, os.Rename("run", "moved"))
			roomtest.Write(t, filepath.Join("run", LockFile), "")
			os.Chdir(elsewhere)
		}
	}
	train(t, o)
	os.Chdir(home)
	if entries, _ := os.ReadDir("run"); len(entries) != 1 {
		t.Errorf("the new directory holds %v", entries)
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
		t.Errorf("the working directory holds %v", entries)
	}
	equal(t, "the state of the moved run", Finished, record(t, "moved").State)
}

// TestDiskFull fails to write agent.qta in the middle of a run: it ends with an
// error that names the file, and later goes on to the same bytes, pictures and all.
func TestDiskFull(t *testing.T) {
	whole := newDir(t)
	dir := newDir(t)
	train(t, tinyRun(whole))
	full := filepath.Join(dir, AgentFile+temporary)
	page := filepath.Join(dir, PageFile+temporary)
	o := tinyRun(dir)
	o.Checkpoint = 10
	o.AfterStep = func(step int) {
		if step == 75 {
			roomtest.Write(t, filepath.Join(full, "x"), "")
			roomtest.Write(t, filepath.Join(page, "x"), "")
		}
	}
	err := try(t, o)
	has(t, fmt.Sprint(err), AgentFile+" cannot be written", "the save from step 70 is kept")
	if r := record(t, dir); r.State != Failed || r.Ended() {
		t.Errorf("the record is %+v", r)
	}
	o.AfterStep = func(int) { t.Error("it trains where it cannot save") }
	if err := try(t, o); err == nil {
		t.Error("nothing is said where it cannot save")
	}
	os.RemoveAll(full)
	os.RemoveAll(page)
	train(t, tinyRun(dir))
	sameRun(t, "after a full disk", dir, whole)
}

// A broken file fails where a test wants it to.
type broken struct {
	*os.File
	written, synced, closed error
}

func (f broken) Write(data []byte) (int, error) {
	n, err := f.File.Write(data)
	return n, errors.Join(err, f.written)
}

func (f broken) Sync() error  { return f.synced }
func (f broken) Close() error { return errors.Join(f.File.Close(), f.closed) }

// breaks makes d create b, in place of the temporary file of name.
func breaks(d *directory, name string, b broken) {
	create := d.create
	d.create = func(temporaryName string) (file, error) {
		f, err := create(temporaryName)
		if err == nil && temporaryName == name+temporary {
			b.File = f.(*os.File)
			f = b
		}
		return f, err
	}
}

// An agent.qta is written when it is on the disk. What a file system without fsync says to
// that is no error, and nothing waits for the other files.
func TestSync(t *testing.T) {
	for _, test := range []struct {
		name string
		file broken
		want error
	}{
		{AgentFile, broken{}, nil},
		{AgentFile, broken{written: syscall.EFBIG}, syscall.EFBIG},
		{AgentFile, broken{synced: syscall.EIO}, syscall.EIO},
		{AgentFile, broken{synced: syscall.EINVAL}, nil},
		{AgentFile, broken{closed: syscall.EDQUOT}, syscall.EDQUOT},
		{LogFile, broken{synced: syscall.EIO}, nil},
		{LogFile, broken{closed: syscall.EDQUOT}, syscall.EDQUOT},
	} {
		d, err := claim(newDir(t), nil)
		must(t, err)
		breaks(d, test.name, test.file)
		err = d.write(test.name, []byte("qta"))
		if !errors.Is(err, test.want) || exists(filepath.Join(d.path, test.name)) != (test.want == nil) {
			t.Errorf("%s, %+v: error %v, want %v", test.name, test.file, err, test.want)
		}
		d.close()
	}
}

// blocked trains a run in which directories take the places of files from step 10 until
// another, and returns its warnings. The first pictures would be made later.
func blocked(t *testing.T, dir string, until int, names ...string) (warnings []string) {
	o := tinyRun(dir)
	o.Checkpoint = 50
	o.Warn = func(line string) { warnings = append(warnings, line) }
	o.AfterStep = func(step int) {
		for _, name := range names {
			place := filepath.Join(dir, name)
			if step == 10 {
				os.Remove(place)
				roomtest.Write(t, filepath.Join(place, "x"), "")
			} else if step == until {
				os.RemoveAll(place)
			}
		}
	}
	train(t, o)
	return warnings
}

// A file other than agent.qta that cannot be written ends no run, because another program may
// hold it. The run warns once, and later saves try again. At the end it names the files that
// are still missing or old. The same command then writes them.
func TestUnwritable(t *testing.T) {
	whole := newDir(t)
	run := newDir(t)
	train(t, tinyRun(whole))
	warnings := blocked(t, run, 135, LogFile, PageFile, RecordFile)
	equal(t, "the number of warnings", 3, len(warnings))
	for _, name := range []string{LogFile, PageFile, RecordFile} {
		has(t, strings.Join(warnings, "\n"), name+" cannot be written: ")
	}
	sameRun(t, "files that could not be written for a while", run, whole)

	run = newDir(t)
	warnings = blocked(t, run, 1000, LogFile, FilmFile+temporary)
	const want = LogFile + " is older than " + AgentFile + ", " + FilmFile + " is missing; the same command"
	if len(warnings) != 3 || !strings.HasPrefix(warnings[2], want) {
		t.Errorf("the warnings are %q; want one of each file, and %q", warnings, want)
	}
	os.RemoveAll(filepath.Join(run, LogFile))
	os.RemoveAll(filepath.Join(run, FilmFile+temporary))
	train(t, tinyRun(run))
	sameRun(t, "files that the next command writes", run, whole)
}

// But where the disk is full the next agent.qta would not be saved either: the run stops. The
// record says so, even if the disk is too full for the files before it.
func TestFullForLog(t *testing.T) {
	o := newRun(t)
	d, err := claim(o.Dir, nil)
	must(t, err)
	defer d.close()
	o.Checkpoint = 50
	o.AfterStep = func(step int) {
		if step == 75 {
			breaks(d, LogFile, broken{written: syscall.ENOSPC})
		}
	}
	s, err := newSession(t.Context(), d, maze(t), maze(t), &o)
	must(t, err)
	err = s.train(t.Context(), maze(t))
	has(t, fmt.Sprint(err), LogFile+" cannot be written: no space left")
	equal(t, "the state in the record of a run whose disk is full", Failed, record(t, o.Dir).State)
}

// TestVersions calls a run of another version that, and not damaged.
func TestVersions(t *testing.T) {
	dir := newDir(t)
	stopAt(t, tinyRun(dir), 30)
	path := filepath.Join(dir, AgentFile)
	data := []byte(roomtest.Read(t, path))
	data[len("qta checkpoint\n\x00")]++ // the number of its format
	sum := sha256.Sum256(data[:len(data)-sha256.Size])
	roomtest.Write(t, path, string(append(data[:len(data)-sha256.Size], sum[:]...)))
	refused(t, tinyRun(dir), "another version of qta wrote", "format")

	dir = newDir(t)
	stopAt(t, tinyRun(dir), 30)
	attach(t, dir, func(s *state) { s.Version = "0.0.1" })
	refused(t, tinyRun(dir), "the version of qta is 0.0.1 there, "+qta.Version+" here")
}

// TestRefusals lists what is refused at the start, before anything is written.
func TestRefusals(t *testing.T) {
	used := newDir(t)
	stopAt(t, tinyRun(used), 30)
	foreign := newDir(t)
	roomtest.Write(t, filepath.Join(foreign, "photos", "cat.jpg"), "")
	for want, change := range map[string]func(*Options){
		"the run would have no evaluation": func(o *Options) { o.EvalEvery = 201 },
		"the budget is 0 steps":            func(o *Options) { o.Steps = 0 },
		"-5 rollouts":                      func(o *Options) { o.Rollouts = -5 },
		"-3 threads":                       func(o *Options) { o.Threads = -3 },
		"would take 305 GB":                func(o *Options) { o.Params = with(tiny(), "HiddenSize=4096 HiddenLayers=16 Critics=64") },
		"would take 5 GB":                  func(o *Options) { o.Params = with(qta.VDS(), "HiddenSize=4096 HiddenLayers=4") },
		"and a minibatch would take ":      func(o *Options) { o.Params = with(tiny(), "HiddenSize=4096 Batch=65536") },
		"Batch":                            func(o *Options) { o.Params.Batch = 0 },
		"holds photos but no " + AgentFile: func(o *Options) { o.Dir = foreign },
		"lies within the run in " + used:   func(o *Options) { o.Dir = filepath.Join(used, "a", "b") },
	} {
		o := newRun(t)
		change(&o)
		refused(t, o, want)
	}
}

// A directory with an agent that Agent.SaveFile wrote is not a run's, so runs may lie within it.
func TestAgentBeside(t *testing.T) {
	dir := newDir(t)
	roomtest.Write(t, filepath.Join(dir, AgentFile), "of Agent.SaveFile")
	stopAt(t, tinyRun(filepath.Join(dir, "run")), 30)
}

// A directory that holds another run is refused, with what differs.
func TestAnotherRun(t *testing.T) {
	dir := newDir(t)
	stopAt(t, tinyRun(dir), 30)
	for want, change := range map[string]func(*Options){
		"-seed is 3 there, 4 here":                  func(o *Options) { o.Seed = 4 },
		"-eval is 20 there, 10 here":                func(o *Options) { o.EvalEvery = 10 },
		"the number of rollouts is 2 there, 3 here": func(o *Options) { o.Rollouts = 3 },
		"Batch is 16 there, 17 here":                func(o *Options) { o.Params.Batch = 17 },
		"the environment is 1U5 there, 4x5 here":    func(o *Options) { o.Name = "4x5" },
		"is at step 30":                             func(o *Options) { o.Steps = 25 },
	} {
		o := tinyRun(dir)
		change(&o)
		refused(t, o, want)
	}
}

// with returns parameters with changes such as "Batch=64 HiddenSize=8".
func with(p qta.Params, changes string) qta.Params {
	for change := range strings.FieldsSeq(changes) {
		name, value, _ := strings.Cut(change, "=")
		if err := p.Set(name, value); err != nil {
			panic(err)
		}
	}
	return p
}

// A budget whose transitions no command could read again is refused.
func TestLargeReplay(t *testing.T) {
	o := tinyRun("new")
	for steps, want := range map[int]string{1_000_000: "<nil>", MaxSteps: "would take 51 GB, allowed are 12"} {
		o.Steps, o.EvalEvery = steps, steps
		has(t, fmt.Sprint(o.Check(large{maze(t)})), want)
	}
}

// large is a maze with an observation of 30 numbers.
type large struct{ qta.Env }

func (large) Sizes() qta.Sizes { return qta.Sizes{Observation: 30, Goal: 2, Action: 2} }

// TestLock lets one process work on a run.
func TestLock(t *testing.T) {
	dir := newDir(t)
	o := tinyRun(dir)
	o.AfterStep = func(step int) {
		if step != 30 {
			return
		}
		if !InUse(dir) {
			t.Error("nobody uses it")
		}
		if err := try(t, tinyRun(dir)); !errors.As(err, new(UseError)) {
			t.Errorf("a second one: error %v", err)
		}
	}
	train(t, o)
	f, err := os.Open(filepath.Join(dir, LockFile)) // as another who looks does
	must(t, err)
	defer f.Close()
	err = tryLock(f, false)
	if err != nil || InUse(dir) {
		t.Errorf("it is used after its end, or two cannot look: %v", err)
	}
}

// A signal may interrupt the request for a lock, which is then made again. Where there are no
// locks, a run goes on without one and says so.
func TestNoLocks(t *testing.T) {
	const busy, none = syscall.EAGAIN, syscall.Errno(0)
	for _, test := range []struct {
		want    string
		answers []syscall.Errno
	}{
		{"locked", []syscall.Errno{syscall.EINTR, busy, none}},
		{"warning: some/run: its file system or this operating system supports no locks", []syscall.Errno{syscall.ENOSYS}},
		{"warning: some/run: its file system or this operating system supports no locks", []syscall.Errno{busy, syscall.ENOLCK}},
		{"some/run cannot be locked: input/output error", []syscall.Errno{syscall.EIO}},
		{"another process is using some/run", slices.Repeat([]syscall.Errno{busy}, 21)},
	} {
		got := "locked"
		asked := 0
		ask := func() error {
			asked++
			if answer := test.answers[asked-1]; answer != none {
				return answer
			}
			return nil
		}
		warn := func(line string) { got = "warning: " + line }
		err := (&directory{path: "some/run"}).takeLock(ask, warn)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) || asked != len(test.answers) {
			t.Errorf("%v: %s, after %d requests, want %s", test.answers, got, asked, test.want)
		}
	}
}

// A run in an environment that cannot draw itself has no film and no Figure 5.
func TestWithoutDrawing(t *testing.T) {
	o := newRun(t)
	trainIn(t, o, func() qta.Env { return roomtest.Maze(t, "1U5").Env() })
	files := contents(t, o.Dir)
	names := slices.Sorted(maps.Keys(files))
	equal(t, "its files", []string{AgentFile, CurveFile, LogFile, PageFile, RecordFile}, names)
	page := files[PageFile]
	has(t, page, "success (fraction of 2 rollouts)")
	if strings.Contains(page, "Figure 5") {
		t.Error("its page has a Figure 5")
	}
}

// A drawing that is wrong is refused or ends the run.
func TestWrongDrawing(t *testing.T) {
	m := roomtest.Maze(t, "1U5")
	o := newRun(t)
	env, evaluation := nowhere{m.Env()}, nowhere{m.Env()} // Place gives NaN
	err := Train(t.Context(), env, evaluation, o)
	has(t, fmt.Sprint(err), "Place gives")
	noSize := Sketch{}
	noPoints := Sketch{Width: 1, Height: 1, Shapes: []Shape{{}}}
	if noSize.check() == nil || noPoints.check() == nil {
		t.Error("a sketch without a size, or one of a shape without points, can be drawn")
	}
}

// nowhere is an environment whose goals lie nowhere in its sketch.
type nowhere struct{ qta.Env }

func (nowhere) Sketch() Sketch                      { return Sketch{Width: 1, Height: 1} }
func (nowhere) Place(goal []float64) (x, y float64) { return 0 / (goal[0] - goal[0]), 0 }

// An ailing is a maze that from its second episode on returns a bad state, after the first
// step or, if atReset is true, at once.
type ailing struct {
	*mazeEnv
	episode int
	atReset bool
	bad     qta.State
}

func (e *ailing) Reset(rng *rand.Rand) qta.State {
	e.episode++
	s := e.mazeEnv.Reset(rng)
	if e.episode > 1 && e.atReset {
		return e.bad
	}
	return s
}

func (e *ailing) Step(action []float64) (qta.State, float64) {
	s, reward := e.mazeEnv.Step(action)
	if e.episode > 1 {
		return e.bad, -1
	}
	return s, reward
}

// newAiling returns an ailing maze whose bad state has no numbers.
func newAiling(t *testing.T) *ailing { return &ailing{mazeEnv: maze(t).(*mazeEnv), atReset: true} }

// isBroken fails unless an error is a [qta.EnvError].
func isBroken(t *testing.T, what string, err error) {
	t.Helper()
	if _, broken := errors.AsType[*qta.EnvError](err); !broken {
		t.Errorf("%s: error %v, want one of the environment", what, err)
	}
}

// An environment that breaks its contract while a picture is made, or after training, is an
// [qta.EnvError], too.
func TestAiling(t *testing.T) {
	p := tiny()
	p.Horizon = 2 * mostPlaces // a rollout for a picture leaves out places
	a := newAgent(t, p)
	_, err := play(t.Context(), a, newAiling(t), 3)
	isBroken(t, "at the start of a rollout", err)
	late := newAiling(t)
	late.atReset = false
	at := []float64{1, 1}
	late.bad = qta.State{Observation: []float64{math.NaN(), 1}, Achieved: at, Desired: at}
	_, err = play(t.Context(), a, late, 3)
	isBroken(t, "in a rollout", err)

	o := newRun(t)
	o.Unchecked = true
	// The second episode gives Figure 5 its start.
	err = Train(t.Context(), maze(t), newAiling(t), o)
	isBroken(t, "at the start of Figure 5", err)
	if exists(filepath.Join(o.Dir, AgentFile)) {
		t.Error("at the start of Figure 5: a run was begun")
	}
	_, err = unvisited(a, o.watch(t.Context(), newAiling(t), "Comparing"))
	isBroken(t, "among the desired goals", err)
}

// A place whose state breaks the contract is an [qta.EnvError], before anything is written.
func TestWrongPlace(t *testing.T) {
	for _, numbers := range [][]float64{{math.NaN(), 1}, {1}} {
		o := newRun(t)
		err := Train(t.Context(), maze(t), wrong{maze(t).(Surveyor), numbers}, o)
		isBroken(t, "a wrong place", err)
		if exists(filepath.Join(o.Dir, AgentFile)) {
			t.Errorf("%v: a run was begun", numbers)
		}
	}
}

// wrong is a maze in which every place has the same odd observation.
type wrong struct {
	Surveyor
	numbers []float64
}

func (e wrong) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	_, goal, ok = e.Surveyor.StateAt(x, y)
	return e.numbers, goal, ok
}

// TestOtherEnvironment goes on with a run that has pictures without them, and the
// other way round. One of other sizes, or what Train refuses, leaves it as it is.
func TestOtherEnvironment(t *testing.T) {
	type bare struct{ qta.Env }
	type drawn struct{ Surveyor }
	for _, first := range []qta.Env{bare{maze(t)}, drawn{maze(t).(Surveyor)}} {
		o := newRun(t)
		for _, e := range []qta.Env{first, bare{maze(t)}, drawn{maze(t).(Surveyor)}} {
			if err := Train(t.Context(), maze(t), e, o); err != nil {
				t.Errorf("%T, then %T: %v", first, e, err)
			}
			o.Steps += 20
		}
	}
	o := newRun(t)
	stopAt(t, o, 35)
	before := contents(t, o.Dir)
	one := maze(t)
	for _, envs := range [][2]qta.Env{{resized{maze(t)}, one}, {one, resized{maze(t)}}, {one, one}} {
		err := Train(t.Context(), envs[0], envs[1], o)
		if _, input := errors.AsType[InputError](err); !input {
			t.Errorf("error %v, want one of the input", err)
		}
		sameFiles(t, "refused", o.Dir, before)
	}
}

// A run goes on if StateAt has fewer places than before.
func TestFewerPlaces(t *testing.T) {
	o := newRun(t)
	for _, e := range []Surveyor{maze(t).(Surveyor), lowerHalf{maze(t).(Surveyor)}} {
		if err := Train(t.Context(), maze(t), surveyed{e}, o); err != nil {
			t.Errorf("%T: %v", e, err)
		}
		o.Steps += 20
	}
}

// surveyed is an environment of a user's own, which is no maze.
type surveyed struct{ Surveyor }

// lowerHalf is a maze that has states only in a part of its sketch.
type lowerHalf struct{ Surveyor }

func (e lowerHalf) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	observation, goal, ok = e.Surveyor.StateAt(x, y)
	return observation, goal, ok && y > 1
}

// resized is a maze with one action more.
type resized struct{ qta.Env }

func (resized) Sizes() qta.Sizes                             { return qta.Sizes{Observation: 2, Goal: 2, Action: 3} }
func (e resized) Step(action []float64) (qta.State, float64) { return e.Env.Step(action[:2]) }

// A run is saved once the last save is a hundred times its cost ago. After a slow save it is
// ten minutes, or ten times the cost.
func TestPace(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		cost, ago time.Duration
		want      bool
	}{
		{second, 90 * second, false},
		{second, 101 * second, true},
		{20 * second, 590 * second, false},
		{20 * second, 601 * second, true},
		{90 * second, 890 * second, false},
		{90 * second, 901 * second, true},
	} {
		s := session{Options: &Options{}, savedAt: time.Now().Add(-test.ago), cost: test.cost}
		what := fmt.Sprintf("due %v after a save that took %v", test.ago, test.cost)
		equal(t, what, test.want, s.due())
	}
}

// A brief is an environment that breaks off its episode number at, and no other.
type brief struct {
	qta.Env
	episode, at int
}

func (e *brief) Reset(rng *rand.Rand) qta.State {
	e.episode++
	if e.episode == e.at {
		return qta.State{}
	}
	return e.Env.Reset(rng)
}

// No run begins if the environment has passed its checks, but breaks off the episode of the
// fingerprint.
func TestFingerprintBreaksOff(t *testing.T) {
	o := newRun(t)
	env := func(at int) *brief { return &brief{Env: alter(t, 0.35, 1, 1, 0), at: at} }
	counting := env(0)
	must(t, o.checkEnv(t.Context(), counting))
	err := Train(t.Context(), env(0), env(counting.episode+1), o)
	isBroken(t, "in the episode of the fingerprint", err)
	equal(t, "whether a run is begun", false, exists(filepath.Join(o.Dir, AgentFile)))
}

// A run whose numbers go wrong fails at the same step, at an evaluation, however often it saves.
func TestFailsAtSameStep(t *testing.T) {
	for _, checkpoint := range []int{1, 7, 1000} {
		o := newRun(t)
		o.Params.HiddenLayers = 8
		o.Params.HiddenSize = 64
		o.Params.CriticRate = 1 // a critic's second moment overflows, but no loss does
		o.Checkpoint = checkpoint
		err := try(t, o)
		if numeric, ok := errors.AsType[*qta.NumericError](err); !ok || numeric.Step != o.EvalEvery {
			t.Errorf("saved after every %d steps, the run fails with %v, want a number that is not finite at step 20", checkpoint, err)
		}
	}
}

// A solved run stays solved within its budget, whatever limits it gets. But a run with -stop
// never is finished, not solved, even if its first perfect evaluation is its last.
func TestSolvedAtBudget(t *testing.T) {
	o := newRun(t)
	o.Continue = false
	o.Rollouts = 1
	o.Unchecked = true                                      // CheckEnv refuses so large a radius
	env := func() qta.Env { return alter(t, 2.2, 1, 1, 0) } // the goal is reached from far away
	trainIn(t, o, env)
	want := record(t, o.Dir)
	at := want.Outcome.SolvedAt
	if at <= o.EvalEvery || at == o.Steps {
		t.Fatalf("the run is solved at step %d, want a step between the first and the last evaluation", at)
	}

	o.Steps = at
	o.Continue = true
	trainIn(t, o, env)
	got := record(t, o.Dir)
	equal(t, "the state of a solved run that is given no more steps", Solved, got.State)
	equal(t, "its limits", want.Limits, got.Limits)

	o.Dir = newDir(t)
	trainIn(t, o, env)
	got = record(t, o.Dir)
	equal(t, "the step of the first perfect evaluation", at, got.Outcome.SolvedAt)
	equal(t, "the state at the budget, with -stop never", Finished, got.State)
}

// The speed after an evaluation is that of the steps since the evaluation before.
func TestSpeed(t *testing.T) {
	var speeds []float64
	heard := func(_ qta.Evaluation, speed float64) { speeds = append(speeds, math.Round(speed)) }
	s := session{Options: &Options{AfterEvaluation: heard}, state: new(state)}
	for _, step := range []int{1000, 2000} {
		s.evaluatedAt = time.Now().Add(-10 * time.Second)
		must(t, s.afterEvaluation(t.Context(), qta.Evaluation{Step: step}))
	}
	equal(t, "steps per second, of 1000 steps in 10 s each", []float64{100, 100}, speeds)
}

// A run that was stopped, or failed after its last save, and is then given no more steps than
// this save has, ends with this budget. It keeps its program and machine.
func TestBudgetOfSave(t *testing.T) {
	for _, state := range []string{Stopped, Failed} {
		o := newRun(t)
		stopAt(t, o, 40)
		want := record(t, o.Dir)
		want.State = state
		if state == Failed {
			want.Outcome.Steps = 50
		}
		rewrite(t, o.Dir, want)
		o.Steps = 40
		train(t, o)
		got := record(t, o.Dir)
		equal(t, "the state of a run that was "+state, Finished, got.State)
		equal(t, "the budget of a run that was "+state, 40, got.Limits.Steps)
		equal(t, "the program of a run that was "+state, want.Program, got.Program)
		equal(t, "the machine of a run that was "+state, want.Machine, got.Machine)
	}
}

// A mover is a maze that changes the working directory in each Reset.
type mover struct {
	qta.Env
	to string
}

func (m *mover) Reset(rng *rand.Rand) qta.State {
	os.Chdir(m.to)
	return m.Env.Reset(rng)
}

// An environment that changes the working directory loses no record of its run.
func TestMovingEnvironment(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	var first *Record
	for range 2 { // a run, and the same command after its end
		t.Chdir(home)
		trainIn(t, tinyRun("run"), func() qta.Env { return &mover{roomtest.Maze(t, "1U5").Env(), elsewhere} })
		t.Chdir(home)
		r := record(t, "run")
		if first == nil {
			first = r
		}
		roomtest.Equal(t, "the record after the same command", first, r)
	}
}

// A spoiled maze gives an infinite reward where the goal is not reached.
type spoiled struct{ qta.Env }

func (spoiled) Reward(_, _ []float64) float64 { return math.Inf(-1) }

// An infinite reward ends an unchecked run with a message.
func TestInfiniteReward(t *testing.T) {
	o := newRun(t)
	o.Unchecked = true
	isBroken(t, "an infinite reward", Train(t.Context(), &spoiled{maze(t)}, &spoiled{maze(t)}, o))
}

// A record of another run or of other networks does not say what has run this one.
func TestRecordOfAnother(t *testing.T) {
	o := newRun(t)
	o.Steps = 83
	train(t, o)
	r := record(t, o.Dir)
	r.Program.Revision = "older"
	r.Limits.Steps = 5000
	digest := r.Outcome.Digest
	for _, test := range []struct {
		seed         uint64
		digest, want string
	}{
		{4, digest, "unknown 83"},
		{3, "other", "unknown 83"},
		{3, digest, "older 5000"},
	} {
		r.Run.Seed = test.seed
		r.Outcome.Digest = test.digest
		rewrite(t, o.Dir, r)
		train(t, o) // ends at once and makes the record again
		again := record(t, o.Dir)
		got := fmt.Sprint(again.Program.Revision, " ", again.Limits.Steps)
		equal(t, fmt.Sprintf("revision and limit of %+v", test), test.want, got)
	}
}

// A run that goes on with another kernel, which rounds differently, says so. TestTrain of the
// command hears nothing with the same one.
func TestOtherKernel(t *testing.T) {
	o := newRun(t)
	h := hear(&o)
	stopAt(t, o, 30)
	r := record(t, o.Dir)
	r.Machine.Kernel = "generic"
	if qta.KernelName() == "generic" {
		r.Machine.Kernel = "avx2"
	}
	rewrite(t, o.Dir, r)
	stopAt(t, o, 50)
	has(t, h.warned, "rounds differently")
}
