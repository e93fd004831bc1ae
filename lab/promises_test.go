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

	"github.com/google/go-cmp/cmp/cmpopts"

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

// refused checks that Train refuses a directory in one line that names what is
// wanted, and leaves its files as they are.
func refused(t *testing.T, o Options, wants ...string) {
	t.Helper()
	before := contents(t, o.Dir)
	err := try(t, o)
	if !isInput(err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one of the input, in one line, with %q", err, wants)
	}
	says(t, err, wants...)
	equal(t, "refused with "+wants[0], before, contents(t, o.Dir))
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
	whole := ended(t)
	stopped := newDir(t)
	stopAt(t, tinyRun(stopped), 83)
	stopAt(t, tinyRun(stopped), 157)
	rng := rand.New(rand.NewPCG(1, 0))
	rounds := 6
	if testing.Short() {
		rounds = 1
	}
	ofWhole, _ := filepath.Glob(filepath.Join(whole, "*"))
	ofStopped, _ := filepath.Glob(filepath.Join(stopped, "*"))
	for _, path := range slices.Repeat(append(ofWhole, ofStopped...), rounds) {
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
	dir := ended(t)
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
	dir := ended(t)
	for _, name := range []string{AgentFile, PreviousFile} {
		roomtest.Write(t, filepath.Join(dir, name), "what is this?")
	}
	refused(t, tinyRun(dir), AgentFile+" is damaged", "begin it anew")
	for _, name := range []string{AgentFile, PreviousFile} {
		os.Remove(filepath.Join(dir, name))
	}
	refused(t, tinyRun(dir),
		"record of a run of 200 steps", AgentFile+" is gone", "remove all files of the run")
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
	roomtest.Write(t, filepath.Join(o.Dir, RecordFile), string(r.Encode()))
	must(t, os.Rename(filepath.Join(o.Dir, AgentFile), filepath.Join(o.Dir, PreviousFile)))
	train(t, o)
	equal(t, "after it was killed", want, contents(t, o.Dir))

	roomtest.Write(t, filepath.Join(o.Dir, AgentFile+temporary), "half")
	train(t, o)
	equal(t, "after the last save was killed", want, contents(t, o.Dir))
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

// TestReplaced moves the directory of a run that trains, puts another one in its place, and has
// the environment change the working directory. The run goes on in the moved directory, and writes
// nothing into the other two. The same command then keeps its record.
func TestReplaced(t *testing.T) {
	home := t.TempDir()
	elsewhere := t.TempDir()
	run := filepath.Join(home, "run")
	moved := filepath.Join(home, "moved")
	env := func() qta.Env { return &mover{roomtest.Maze(t, "1U5").Env(), elsewhere} }
	o := tinyRun("run")
	o.AfterStep = func(step int) {
		if step == 50 {
			must(t, os.Rename(run, moved))
			roomtest.Write(t, filepath.Join(run, LockFile), "")
		}
	}
	t.Chdir(home)
	trainIn(t, o, env)
	for dir, want := range map[string]int{run: 1, elsewhere: 0} {
		files, _ := os.ReadDir(dir)
		equal(t, "the number of files in "+dir, want, len(files))
	}
	r := record(t, moved)
	equal(t, "the state of the moved run", Finished, r.State)

	t.Chdir(home)
	trainIn(t, tinyRun("moved"), env)
	equal(t, "the record after the same command", r, record(t, moved))
}

// TestDiskFull fails to write agent.qta in the middle of a run: it ends with an
// error that names the file, and later goes on to the same bytes, pictures and all.
func TestDiskFull(t *testing.T) {
	dir := newDir(t)
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
	says(t, try(t, o), AgentFile+" cannot be written", "the save from step 70 is kept")
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
	sameRun(t, "after a full disk", dir, ended(t))
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
		written := exists(filepath.Join(d.path, test.name))
		if !errors.Is(err, test.want) || written != (test.want == nil) {
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
	whole := ended(t)
	run := newDir(t)
	warnings := blocked(t, run, 135, LogFile, PageFile, RecordFile)
	equal(t, "the number of warnings", 3, len(warnings))
	for _, name := range []string{LogFile, PageFile, RecordFile} {
		has(t, strings.Join(warnings, "\n"), name+" cannot be written: ")
	}
	sameRun(t, "files that could not be written for a while", run, whole)

	run = newDir(t)
	warnings = blocked(t, run, 1000, LogFile, FilmFile+temporary)
	const want = LogFile + " is older than " + AgentFile + ", " + FilmFile + " is missing; the same"
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
	says(t, s.train(t.Context(), maze(t)), LogFile+" cannot be written: no space left")
	equal(t, "the state in the record", Failed, record(t, o.Dir).State)
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

// TestRefusals lists what is refused at the start, before anything is written. The command's test of
// this name has what its flags can ask for, too.
func TestRefusals(t *testing.T) {
	used := newDir(t)
	stopAt(t, tinyRun(used), 30)
	for want, change := range map[string]func(*Options){
		"the budget is 0 steps":          func(o *Options) { o.Steps = 0 },
		"-5 rollouts":                    func(o *Options) { o.Rollouts = -5 },
		"-3 threads":                     func(o *Options) { o.Threads = -3 },
		"Batch":                          func(o *Options) { o.Params.Batch = 0 },
		"lies within the run in " + used: func(o *Options) { o.Dir = filepath.Join(used, "a") },
	} {
		o := newRun(t)
		change(&o)
		refused(t, o, want)
	}
}

// A directory that holds another run is refused, with what differs. A run may lie beside an agent
// that Agent.SaveFile wrote.
func TestAnotherRun(t *testing.T) {
	dir := newDir(t)
	roomtest.Write(t, filepath.Join(dir, "..", AgentFile), "of Agent.SaveFile")
	stopAt(t, tinyRun(dir), 30)
	o := tinyRun(dir)
	o.Name = "4x5"
	o.Seed = 4
	o.EvalEvery = 10
	o.Rollouts = 3
	o.Params.Batch = 17
	refused(t, o,
		"the environment is 1U5 there, 4x5 here",
		"-seed is 3 there, 4 here",
		"-eval is 20 there, 10 here",
		"the number of rollouts is 2 there, 3 here",
		"Batch is 16 there, 17 here")
	o = tinyRun(dir)
	o.Steps = 25
	refused(t, o, "is at step 30")
}

// A budget whose transitions no command could read again is refused.
func TestLargeReplay(t *testing.T) {
	o := tinyRun("new")
	large := resized{maze(t), qta.Sizes{Observation: 30, Goal: 2, Action: 2}}
	for steps, want := range map[int]string{
		1_000_000: "<nil>",
		MaxSteps:  "would take 51 GB, allowed are 12",
	} {
		o.Steps = steps
		o.EvalEvery = steps
		says(t, o.Check(large), want)
	}
}

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
	const noLocks = "warning: some/run: its file system or this operating system supports no locks"
	for _, test := range []struct {
		want    string
		answers []error
	}{
		{"locked", []error{syscall.EINTR, syscall.EAGAIN, nil}},
		{noLocks, []error{syscall.ENOSYS}},
		{noLocks, []error{syscall.EAGAIN, syscall.ENOLCK}},
		{"some/run cannot be locked: input/output error", []error{syscall.EIO}},
		{"another process is using some/run", slices.Repeat([]error{syscall.EAGAIN}, 21)},
	} {
		got := "locked"
		asked := 0
		ask := func() error {
			asked++
			return test.answers[asked-1]
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
	names := slices.Sorted(maps.Keys(contents(t, o.Dir)))
	equal(t, "its files", []string{AgentFile, CurveFile, LogFile, PageFile, RecordFile}, names)
	page := roomtest.Read(t, o.Dir, PageFile)
	has(t, page, "success (fraction of 2 rollouts)")
	if strings.Contains(page, "Figure 5") {
		t.Error("its page has a Figure 5")
	}
}

// A drawing that is wrong is refused or ends the run.
func TestWrongDrawing(t *testing.T) {
	nowhere := func() qta.Env { return displaced{maze(t).(Sketcher), math.NaN()} }
	says(t, Train(t.Context(), nowhere(), nowhere(), newRun(t)), "Place gives")
	noSize := Sketch{}
	noPoints := Sketch{Width: 1, Height: 1, Shapes: []Shape{{}}}
	if noSize.check() == nil || noPoints.check() == nil {
		t.Error("a sketch without a size, or one of a shape without points, can be drawn")
	}
}

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
	o := newRun(t)
	for range 2 {
		for _, e := range []qta.Env{bare{maze(t)}, drawn{maze(t).(Surveyor)}} {
			must(t, Train(t.Context(), maze(t), e, o))
			o.Steps += 20
		}
	}
	o = newRun(t)
	stopAt(t, o, 35)
	before := contents(t, o.Dir)
	one := maze(t)
	other := resized{maze(t), qta.Sizes{Observation: 2, Goal: 2, Action: 3}}
	for _, envs := range [][2]qta.Env{{other, one}, {one, other}, {one, one}} {
		err := Train(t.Context(), envs[0], envs[1], o)
		equal(t, fmt.Sprintf("%v is an error of the input", err), true, isInput(err))
		equal(t, "what is refused", before, contents(t, o.Dir))
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

// resized is a maze of other sizes.
type resized struct {
	qta.Env
	sizes qta.Sizes
}

func (e resized) Sizes() qta.Sizes                           { return e.sizes }
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
// Its last good save is kept.
func TestFailsAtSameStep(t *testing.T) {
	for _, checkpoint := range []int{1, 7, 1000} {
		o := newRun(t)
		// A critic's second moment overflows in step 7, but no loss does.
		o.Params = with(tiny(), "HiddenLayers=8 HiddenSize=64 CriticRate=1")
		o.Checkpoint = checkpoint
		err := try(t, o)
		numeric, ok := errors.AsType[*qta.NumericError](err)
		if !ok || numeric.Step != o.EvalEvery {
			t.Errorf("saved every %d steps, it fails with %v, want a NaN at step 20", checkpoint, err)
		}
		kept := 6 / checkpoint * checkpoint
		says(t, err, fmt.Sprintf("the save from step %d is kept", kept))
	}
}

// A solved run stays solved within its budget, whatever limits it gets. But a run with -stop
// never is finished, not solved, even if its first perfect evaluation is its last.
func TestSolvedAtBudget(t *testing.T) {
	o := newRun(t)
	o.Continue = false
	o.Rollouts = 1
	o.Unchecked = true                                      // CheckEnv refuses so large a radius
	env := func() qta.Env { return alter(t, 2.2, 1, 1, 0) } // the goal is reached from afar
	trainIn(t, o, env)
	want := record(t, o.Dir)
	at := want.Outcome.SolvedAt
	if at <= o.EvalEvery || at == o.Steps {
		t.Fatalf("the run is solved at step %d, its first or last evaluation", at)
	}

	o.Steps = at
	o.Continue = true
	trainIn(t, o, env)
	got := record(t, o.Dir)
	equal(t, "the state with no more steps", Solved, got.State)
	equal(t, "its limits", want.Limits, got.Limits)

	o.Dir = newDir(t)
	trainIn(t, o, env)
	got = record(t, o.Dir)
	equal(t, "the step of the first perfect evaluation", at, got.Outcome.SolvedAt)
	equal(t, "the state at the budget, with -stop never", Finished, got.State)
}

// The speed after an evaluation is that of the steps since the evaluation before.
func TestSpeed(t *testing.T) {
	got := 0.0
	heard := func(_ qta.Evaluation, speed float64) { got = math.Round(speed) }
	s := session{Options: &Options{AfterEvaluation: heard}, state: new(state), evaluated: 1000}
	s.evaluatedAt = time.Now().Add(-10 * time.Second)
	must(t, s.afterEvaluation(t.Context(), qta.Evaluation{Step: 3000}))
	equal(t, "steps per second, of 2000 steps in 10 s", 200.0, got)
	equal(t, "the step that the next speed begins at", 3000, s.evaluated)
}

// A run that was stopped, or failed after its last save, and is then given no more steps than
// this save has, ends with this budget. It keeps its program and machine.
func TestBudgetOfSave(t *testing.T) {
	for _, ends := range []string{
		`{"state": "stopped"}`,
		`{"state": "failed", "outcome": {"steps": 50}}`,
	} {
		o := newRun(t)
		stopAt(t, o, 40)
		want := edit(t, o.Dir, ends)
		o.Steps = 40
		train(t, o)
		want.State = Finished
		want.Limits.Steps = 40
		got := record(t, o.Dir)
		equal(t, "after "+ends, want, got, cmpopts.IgnoreFields(Record{}, "Outcome"))
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
	digest := record(t, o.Dir).Outcome.Digest
	for _, test := range []struct{ seed, digest, want string }{
		{"4", digest, "unknown 83"},
		{"3", "other", "unknown 83"},
		{"3", digest, "older 5000"},
	} {
		edit(t, o.Dir, `{"program": {"revision": "older"}, "limits": {"steps": 5000}}`)
		edit(t, o.Dir, `{"run": {"seed": `+test.seed+`}, "outcome": {"digest": "`+test.digest+`"}}`)
		train(t, o) // ends at once and makes the record again
		r := record(t, o.Dir)
		got := fmt.Sprint(r.Program.Revision, " ", r.Limits.Steps)
		equal(t, fmt.Sprintf("revision and limit of %+v", test), test.want, got)
	}
}

// A run that goes on with another kernel, which rounds differently, says so. TestTrain of the
// command hears nothing with the same one.
func TestOtherKernel(t *testing.T) {
	o := newRun(t)
	h := hear(&o)
	stopAt(t, o, 30)
	other := "generic"
	if qta.KernelName() == other {
		other = "avx2"
	}
	edit(t, o.Dir, `{"machine": {"kernel": "`+other+`"}}`)
	stopAt(t, o, 50)
	has(t, h.warned, "rounds differently")
}
