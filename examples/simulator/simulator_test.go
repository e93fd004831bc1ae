package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"qta"
	"qta/internal/roomtest"
	"qta/lab"
)

// A cart is the environment of cart.py, with other goals.
type cart struct{ place, speed, goal float64 }

func (c *cart) Sizes() qta.Sizes { return qta.Sizes{Observation: 2, Goal: 1, Action: 1} }

func (c *cart) Reset(rng *rand.Rand) qta.State {
	c.begin(rng.Uint32())
	return c.state()
}

func (c *cart) begin(seed uint32) {
	c.place = 0
	c.speed = 0
	c.goal = float64(1.8*rand.New(rand.NewPCG(uint64(seed), 0)).Float64()) - 0.9
}

func (c *cart) Step(action []float64) (qta.State, float64) {
	c.push(action[0])
	s := c.state()
	return s, c.Reward(s.Achieved, s.Desired)
}

func (c *cart) push(force float64) {
	c.speed = float64(0.9*c.speed) + float64(0.02*force)
	c.place += c.speed
	if math.Abs(c.place) > 1 {
		c.place = max(-1, min(c.place, 1))
		c.speed = 0
	}
}

// state returns what a simulator makes of the answer that child writes.
func (c *cart) state() qta.State {
	at := []float64{c.place}
	return qta.State{Observation: []float64{c.place, c.speed / 0.2}, Achieved: at, Desired: []float64{c.goal}}
}

func (c *cart) Reward(achieved, desired []float64) float64 {
	if math.Abs(achieved[0]-desired[0]) < 0.05 {
		return 0
	}
	return -1
}

// childMode names the variable that makes this binary a child. Its value says how the
// child fails, or that it does not. With programMode this binary is the command.
const childMode, programMode = "SIMULATOR_CHILD", "SIMULATOR_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programMode) != "" {
		os.Unsetenv(programMode) // its children are none
		main()
		return
	}
	if mode := os.Getenv(childMode); mode != "" {
		serve(mode)
		return
	}
	os.Exit(m.Run())
}

// serve answers questions about a cart until its input ends.
func serve(mode string) {
	signal.Ignore(os.Interrupt)
	output := json.NewEncoder(os.Stdout)
	unit := ranges{{-1, 1}}
	first := description{Name: "a cart", Observation: ranges{{-1, 1}, {-0.2, 0.2}}, Goal: unit, Action: 1, Tolerance: 0.05, Horizon: 10}
	switch mode {
	case "fails at its start":
		os.Exit(3)
	case "prints at its start":
		fmt.Println("Loading the model")
	case "is silent":
		time.Sleep(time.Hour)
	case "only listens":
		fmt.Fprintln(os.Stderr, mode)
		io.Copy(io.Discard, os.Stdin)
	case "describes numbers":
		fmt.Println(`{"observation": [[-1, 1]], "goal": [5, 30]}`)
	case "has no tolerance":
		first.Tolerance = 0
	case "has no width":
		first.Goal = ranges{{1, 1}}
	case "has half a range":
		first.Goal = ranges{{-1}}
	case "names no action":
		first.Action = 0
	case "has a picture":
		first.Goal = ranges{{0, 2}}
	case "writes a long line":
		fmt.Println(strings.Repeat("x", 17<<20))
	}
	output.Encode(first)

	const failing = 300 // the question that meets a failure, within training
	c := new(cart)
	input := bufio.NewScanner(os.Stdin)
	for n := 1; input.Scan(); n++ {
		var question struct {
			Reset       *uint32
			Step, Place []float64
		}
		json.Unmarshal(input.Bytes(), &question)
		shown := c
		switch {
		case question.Reset != nil:
			c.begin(*question.Reset)
		case question.Step != nil:
			c.push(question.Step[0])
		case question.Place[0] > 1: // beyond the track
			fmt.Println("{}")
			continue
		default:
			shown = &cart{place: question.Place[0], speed: question.Place[1]}
		}
		state := answer{[]float64{shown.place, shown.speed}, []float64{shown.place}, []float64{shown.goal}}
		if n == failing {
			fail(mode)
		}
		if n == failing && mode == "answers twice" {
			output.Encode(state)
		}
		output.Encode(state)
	}
}

func fail(mode string) {
	switch mode {
	case "dies":
		fmt.Fprintln(os.Stderr, "no license any more")
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Hour)
	case "prints":
		fmt.Println("step done")
	case "says NaN":
		fmt.Println(`{"observation": [NaN, 0], "achieved": [0], "desired": [0]}`)
	case "says null":
		fmt.Println(`{"observation": [null, 0], "achieved": [0], "desired": [0]}`)
	case "forgets its speed":
		fmt.Println(`{"observation": [0], "achieved": [0], "desired": [0]}`)
	}
}

// small are changes that make an agent of 200 steps take a moment.
var small = []string{"HiddenSize=8", "HiddenLayers=2", "Batch=16", "Candidates=10", "InitialSteps=20", "LearningStarts=5"}

// options are those of a run with episodes of 10 steps. It is saved every 17 steps, so mostly
// in the middle of an episode.
func options(dir string) lab.Options {
	quiet := func(string) {}
	return lab.Options{
		Dir: dir, Seed: 1, Steps: 200, EvalEvery: 20, Rollouts: 2, Checkpoint: 17, Continue: true,
		Threads: 1, Say: quiet, Warn: quiet,
	}
}

// trainCart trains in a child that fails as mode says.
func trainCart(t *testing.T, mode string, o lab.Options) error {
	t.Setenv(childMode, mode)
	limit := time.Minute
	if mode == "hangs" || mode == "is silent" {
		limit = 3 * time.Second
	}
	return train(t.Context(), []string{os.Args[0]}, limit, small, o)
}

// agentIn returns the bytes of a run's agent, or "" before it has one.
func agentIn(dir string) string {
	data, _ := os.ReadFile(filepath.Join(dir, lab.AgentFile))
	return string(data)
}

// wholeRun returns the agent of a run without a child and without a failure.
func wholeRun(t *testing.T) string {
	o := options(t.TempDir())
	o.Name = "a cart"
	var err error
	o.Params, err = parameters(10, small)
	roomtest.Must(t, err)
	roomtest.Must(t, lab.Train(t.Context(), new(cart), new(cart), o))
	return agentIn(o.Dir)
}

// checkLine wants a failure that one line describes.
func checkLine(t *testing.T, mode string, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("a child that %s: no error", mode)
	} else if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("a child that %s: %q, want one line with %q", mode, text, want)
	}
}

// Whatever goes wrong in a child, one line says so. The same command then continues the run,
// and ends with the same agent as a run in the same environment without a child.
func TestFailures(t *testing.T) {
	whole := wholeRun(t)
	o := options(t.TempDir())
	if err := trainCart(t, "good", o); err != nil || agentIn(o.Dir) != whole {
		t.Errorf("a run with a child, %v, ends with another agent than without", err)
	}
	for _, c := range []struct{ mode, want string }{
		{"dies", "ended (exit status 3); what it wrote to standard error above may say why; the save from step"},
		{"hangs", "has written no line within 3s"},
		{"prints", "by a line that is no state (step done); numbers must be finite, nothing may be null, and all else belongs to standard error; the save from step"},
		{"answers twice", "has written a line that answers no question"},
		{"says NaN", `by a line that is no state ({"observation": [NaN, 0]`},
		{"says null", `by a line that is no state ({"observation": [null, 0]`},
		// Without its speed the observation has 1 number instead of 2.
		{"forgets its speed", "an achieved and a desired goal of [1 1 1] numbers; its first line describes [2 1 1]"},
	} {
		o := options(t.TempDir())
		err := trainCart(t, c.mode, o)
		checkLine(t, c.mode, err, c.want)
		if agentIn(o.Dir) == "" {
			t.Errorf("a child that %s: nothing is saved", c.mode)
		}
		if err := trainCart(t, "good", o); err != nil {
			t.Errorf("after a child that %s: %v", c.mode, err)
		}
		if agentIn(o.Dir) != whole {
			t.Errorf("after a child that %s the run ends with another agent than without a child", c.mode)
		}
	}
}

// What is wrong from the start is said before anything is written.
func TestStart(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{"fails at its start", "ended (exit status 3)"},
		{"prints at its start", "describes no environment: invalid character 'L'"},
		{"is silent", "has written no line within 3s"},
		{"has no tolerance", "tolerance is to be above 0"},
		{"describes numbers", "goal has a number where something else belongs"},
		{"has no width", "observation and goal are lists of ranges"},
		{"has half a range", "observation and goal are lists of ranges"},
		{"names no action", "action and horizon are to be at least 1"},
		{"writes a long line", "has written a line of more than 16 MB"},
	} {
		o := options(filepath.Join(t.TempDir(), "run"))
		err := trainCart(t, c.mode, o)
		checkLine(t, c.mode, err, c.want)
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("a child that %s: there is a directory", c.mode)
		}
	}
	_, err := startChild([]string{"no-such-program"}, time.Second)
	checkLine(t, "is not installed", err, "is it installed?")
}

// program starts this binary as the command, with a child that does as mode says. It
// returns both outputs of the command in one.
func program(t *testing.T, mode string) (command *exec.Cmd, output io.Reader) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("on Windows a process cannot send another one an interrupt")
	}
	t.Setenv(childMode, mode)
	t.Setenv(programMode, "yes")
	command = exec.Command(os.Args[0], "-out", filepath.Join(t.TempDir(), "run"), "-limit", "1m", os.Args[0])
	output, err := command.StdoutPipe()
	roomtest.Must(t, err)
	command.Stderr = command.Stdout
	roomtest.Must(t, command.Start())
	t.Cleanup(func() { command.Process.Kill() })
	return command, output
}

// An interrupt stops the run with one line, and with exit code 75.
func TestInterrupt(t *testing.T) {
	command, output := program(t, "good")
	said := bufio.NewScanner(output)
	said.Scan() // the run has begun
	command.Process.Signal(os.Interrupt)
	last := ""
	for said.Scan() {
		last = said.Text()
	}
	command.Wait()
	if code := command.ProcessState.ExitCode(); code != 75 || !strings.HasPrefix(last, "Stopped (") {
		t.Errorf("exit code %d, last line %q", code, last)
	}
}

// While a child hangs, a first interrupt waits for it, and a second one ends the command.
func TestSecondInterrupt(t *testing.T) {
	command, output := program(t, "only listens")
	output.Read(make([]byte, 1)) // returns when the child has begun
	ended := make(chan bool)
	go func() {
		command.Wait()
		close(ended)
	}()
	command.Process.Signal(os.Interrupt)
	select {
	case <-ended:
		t.Fatal("the first interrupt ended the command without a word")
	case <-time.After(1500 * time.Millisecond):
	}
	command.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the command waits for its child after two interrupts")
	}
}

// No child outlives its close, not even one that hangs.
func TestClose(t *testing.T) {
	t.Setenv(childMode, "is silent")
	c, err := startChild([]string{os.Args[0]}, time.Second)
	roomtest.Must(t, err)
	c.close()
	if state := c.process.ProcessState; state == nil || state.Success() {
		t.Errorf("a child that hangs was closed and is %v", state)
	}
}

// python starts cart.py, or skips the test.
func python(t testing.TB) *simulator {
	t.Helper()
	const name = "python3"
	if _, err := exec.LookPath(name); err != nil {
		t.Skip("there is no python3, which runs cart.py")
	}
	s, err := startSimulator([]string{name, "cart.py"}, time.Minute)
	roomtest.Must(t, err)
	t.Cleanup(s.child.close)
	return s
}

// The program cart.py keeps the library's contract, also after Ctrl-C, and ends when its input ends.
func TestPython(t *testing.T) {
	s := python(t)
	if runtime.GOOS != "windows" { // where no signal is sent
		s.child.process.Process.Signal(os.Interrupt)
	}
	if err := qta.CheckEnv(s, s.Horizon, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Error(err, s.err)
	}
	s.child.close()
	if state := s.child.process.ProcessState; !state.Success() {
		t.Errorf("at the end of its input the child ended with %v", state)
	}
}

// The picture's places are goals in the unit of the child.
func TestPicture(t *testing.T) {
	goals := ranges{{0, 12}, {-3, 9}}
	p := pictured{&simulator{description: description{Goal: goals}}}
	x, y := p.Place(goals.scaled([]float64{7, -2}))
	if x != 7 || math.Abs(y - -2) > 1e-12 {
		t.Errorf("the goal 7, -2 has the place %v, %v", x, y)
	}
}

// The state at a place of the picture is scaled as all states are. The child answers {} where
// no state is.
func TestStateAt(t *testing.T) {
	t.Setenv(childMode, "has a picture")
	s, err := startSimulator([]string{os.Args[0]}, time.Minute)
	roomtest.Must(t, err)
	t.Cleanup(s.child.close)
	p := pictured{s}
	observation, goal, there := p.StateAt(0.5, 0.1)
	roomtest.Equal(t, "a state is there", true, there)
	roomtest.Equal(t, "the observation 0.5, 0.1, scaled", []float64{0.5, 0.5}, observation)
	roomtest.Equal(t, "the goal 0.5 of 0 to 2, scaled", []float64{-0.5}, goal)
	_, _, there = p.StateAt(2, 0)
	roomtest.Equal(t, "a state is beyond the track", false, there)
	roomtest.Must(t, p.err)
}

// The tolerance is a distance in the unit of the child, whatever the ranges of its goals are.
func TestReward(t *testing.T) {
	goals := ranges{{0, 12}, {-3, 9}}
	s := &simulator{description: description{Goal: goals, Tolerance: 0.5}}
	for away, want := range map[float64]float64{0.4: 0, 0.6: -1} {
		got := s.Reward(goals.scaled([]float64{7, -2}), goals.scaled([]float64{7, away - 2}))
		roomtest.Equal(t, fmt.Sprintf("the reward at a distance of %v", away), want, got)
	}
}

// BenchmarkStep measures a step of cart.py.
func BenchmarkStep(b *testing.B) {
	env := python(b)
	env.Reset(rand.New(rand.NewPCG(1, 0)))
	for b.Loop() {
		env.Step([]float64{0.3})
	}
}
