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

// A cart moves as the one of cart.py, toward other goals.
type cart struct{ place, speed, goal float64 }

func (c *cart) begin(seed uint32) {
	c.place = 0
	c.speed = 0
	c.goal = float64(1.8*rand.New(rand.NewPCG(uint64(seed), 0)).Float64()) - 0.9
}

func (c *cart) push(force float64) {
	c.speed = float64(0.9*c.speed) + float64(0.02*force)
	c.place += c.speed
	if math.Abs(c.place) > 1 {
		c.place = max(-1, min(c.place, 1))
		c.speed = 0
	}
}

// The variable childMode makes this binary a child. Its value says how the child fails, or that it
// does not. With programMode this binary is the command.
const (
	childMode   = "SIMULATOR_CHILD"
	programMode = "SIMULATOR_PROGRAM"
)

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

// cartLine is the first line of a child.
const cartLine = `{"name": "a cart", "observation": [[-1, 1], [-0.2, 0.2]], "goal": [[-1, 1]],` +
	` "action": 1, "tolerance": 0.05, "horizon": 10}`

// serve answers questions about a cart until its input ends. What the mode has after a colon is the
// line of a child that begins with another line, or gives a wrong answer.
func serve(mode string) {
	signal.Ignore(os.Interrupt)
	mode, line, _ := strings.Cut(mode, ": ")
	first := cartLine
	switch mode {
	case "begins":
		first = line
	case "fails at its start":
		os.Exit(3)
	case "is silent":
		time.Sleep(time.Hour)
	case "only listens":
		fmt.Fprintln(os.Stderr, mode)
		io.Copy(io.Discard, os.Stdin)
	case "writes a long line":
		first = strings.Repeat("x", 17<<20)
	}
	fmt.Println(first)

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
		if n == failing {
			fail(mode, line)
		}
		state, _ := json.Marshal(answer{
			Observation: []float64{shown.place, shown.speed},
			Achieved:    []float64{shown.place},
			Desired:     []float64{shown.goal},
		})
		fmt.Println(string(state))
		if n == failing && mode == "answers twice" {
			fmt.Println(string(state))
		}
	}
}

// fail fails as a mode says, at a question that a line answers wrongly.
func fail(mode, line string) {
	switch mode {
	case "dies":
		fmt.Fprintln(os.Stderr, "no license any more")
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Hour)
	case "answers":
		fmt.Println(line)
	}
}

// small are changes that make an agent of 200 steps take a moment.
var small = strings.Fields("HiddenSize=8 HiddenLayers=2 Batch=16 Candidates=10" +
	" InitialSteps=20 LearningStarts=5")

// options are those of a run with episodes of 10 steps. It is saved every 17 steps, so mostly
// in the middle of an episode.
func options(dir string) lab.Options {
	quiet := func(string) {}
	return lab.Options{
		Dir:        dir,
		Seed:       1,
		Steps:      200,
		EvalEvery:  20,
		Rollouts:   2,
		Checkpoint: 17,
		Continue:   true,
		Threads:    1,
		Say:        quiet,
		Warn:       quiet,
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

// checkLine wants a failure that one line describes.
func checkLine(t *testing.T, mode string, err error, want string) {
	t.Helper()
	text := fmt.Sprint(err)
	if !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("a child that %s: %q, want one line with %q", mode, text, want)
	}
}

// Whatever goes wrong in a child, one line says so. The same command then continues the run,
// and ends with the same agent as a run in which nothing goes wrong.
func TestFailures(t *testing.T) {
	o := options(t.TempDir())
	roomtest.Must(t, trainCart(t, "good", o))
	whole := agentIn(o.Dir)
	for _, c := range []struct{ mode, want string }{
		{"dies", "ended (exit status 3); what it wrote to standard error above may say why; the save from"},
		{"hangs", "has written no line within 3s"},
		{"answers twice", "has written a line that answers no question"},
		{"answers: step done", "by a line that is no state (step done); numbers must be finite, " +
			"nothing may be null, and all else belongs to standard error; the save from step"},
		{`answers: {"observation": [NaN, 0], "achieved": [0], "desired": [0]}`, "that is no state"},
		{`answers: {"observation": [null, 0], "achieved": [0], "desired": [0]}`, "that is no state"},
		// Without its speed the observation has 1 number instead of 2.
		{`answers: {"observation": [0], "achieved": [0], "desired": [0]}`,
			"an achieved and a desired goal of [1 1 1] numbers; its first line describes [2 1 1]"},
	} {
		o := options(t.TempDir())
		err := trainCart(t, c.mode, o)
		checkLine(t, c.mode, err, c.want)
		if agentIn(o.Dir) == "" {
			t.Errorf("a child that %s: nothing is saved", c.mode)
		}
		if err := trainCart(t, "good", o); err != nil || agentIn(o.Dir) != whole {
			t.Errorf("after a child that %s, %v, the run ends with another agent", c.mode, err)
		}
	}
}

// What is wrong from the start is said before anything is written.
func TestStart(t *testing.T) {
	const (
		described = `begins: {"observation": [[-1, 1]], "goal": `
		ranges    = "observation and goal are lists of ranges"
	)
	for _, c := range []struct{ mode, want string }{
		{"fails at its start", "ended (exit status 3)"},
		{"is silent", "has written no line within 3s"},
		{"writes a long line", "has written a line of more than 16 MB"},
		{"begins: Loading the model", "describes no environment: invalid character 'L'"},
		{described + "[5, 30]}", "goal has a number where something else belongs"},
		{described + "[[1, 1]]}", ranges},
		{described + "[[-1]]}", ranges},
		{described + "[[-1, 1]]}", "action and horizon are to be at least 1"},
		{described + `[[-1, 1]], "action": 1, "horizon": 10}`, "tolerance is to be above 0"},
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
	dir := filepath.Join(t.TempDir(), "run")
	command = exec.Command(os.Args[0], "-out", dir, "-limit", "1m", os.Args[0])
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
	roomtest.Equal(t, "the exit code", 75, command.ProcessState.ExitCode())
	roomtest.Has(t, last, "Stopped (")
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

// The program cart.py keeps the library's contract, also after Ctrl-C, and ends when its input ends.
func TestPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3, which runs cart.py")
	}
	s, err := startSimulator([]string{"python3", "cart.py"}, time.Minute)
	roomtest.Must(t, err)
	t.Cleanup(s.child.close)
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

// In the unit of the child are the tolerance, whatever the ranges of its goals are, and the picture's
// places.
func TestUnits(t *testing.T) {
	goals := ranges{{0, 12}, {-3, 9}}
	s := &simulator{description: description{Goal: goals, Tolerance: 0.5}}
	goal := goals.scaled([]float64{7, -2})
	for away, want := range map[float64]float64{0.4: 0, 0.6: -1} {
		got := s.Reward(goal, goals.scaled([]float64{7, away - 2}))
		roomtest.Equal(t, fmt.Sprintf("the reward at a distance of %v", away), want, got)
	}
	x, y := pictured{s}.Place(goal)
	if x != 7 || math.Abs(y - -2) > 1e-12 {
		t.Errorf("the goal 7, -2 has the place %v, %v", x, y)
	}
}

// The state at a place of the picture is scaled as all states are. The child answers {} where
// no state is.
func TestStateAt(t *testing.T) {
	wider := strings.Replace(cartLine, `"goal": [[-1, 1]]`, `"goal": [[0, 2]]`, 1)
	t.Setenv(childMode, "begins: "+wider)
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
