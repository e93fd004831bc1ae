// Package film shows a run's training over time: how goals spread, how rollouts
// of the policy get to the maze's goal, and how uncertain the agent is.
// training.csv is its memory; what is drawn is drawn from the numbers as they
// stand in it, so that a run that was interrupted draws the same.
package film

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/rundir"
)

// A Rollout is the way of one episode.
type Rollout struct {
	Way     [][2]float64
	Reached bool // at its last step
}

// Play lets the policy of an agent play n episodes without exploration. Starts
// and goals are the same ones for every agent. An agent whose numbers have gone
// wrong does not act; its rollouts stay where they are.
func Play(a *qta.Agent, m *qta.Maze, n int) []Rollout {
	env := m.Env()
	rng := rand.New(rand.NewPCG(1, 0))
	rollouts := make([]Rollout, n)
	for i := range rollouts {
		r := &rollouts[i]
		s := env.Reset(rng)
		r.Way = append(r.Way, [2]float64(s.Achieved))
		for range a.Params().Horizon {
			if action := a.Act(s.Observation, s.Desired); !slices.ContainsFunc(action, math.IsNaN) {
				s, _ = env.Step(action)
			}
			r.Way = append(r.Way, [2]float64(s.Achieved))
		}
		r.Reached = env.Reward(s.Achieved, s.Desired) == 0
	}
	return rollouts
}

// A Film is what was kept of one run's evaluations.
type Film struct {
	maze    *qta.Maze
	every   int   // environment steps between evaluations
	times   []int // of a rollout, at which it is kept
	Frames  []Frame
	unsaved bool // training.csv may lack some of them after a loss of power
}

// A Frame is what was kept of one evaluation.
type Frame struct {
	Step        int
	Uncertainty float64 // mean over the points of the maze
	Rollouts    []Rollout
}

const (
	rolloutsKept = 4  // of each evaluation
	mostTimes    = 50 // pieces that a rollout is kept in

	// mostFrames bounds the frames: of more evaluations every second is kept,
	// or every fourth, and so on, and the latest.
	mostFrames = 24
)

// New returns a film without frames.
func New(m *qta.Maze, p qta.Params, every int) *Film {
	f := &Film{maze: m, every: every, unsaved: true}
	stride := (p.Horizon + mostTimes - 1) / mostTimes
	for t := 0; t < p.Horizon; t += stride {
		f.times = append(f.times, t)
	}
	f.times = append(f.times, p.Horizon)
	return f
}

// Take adds a frame of an agent, whose mean uncertainty the caller knows.
func (f *Film) Take(a *qta.Agent, uncertainty float64) {
	f.ForgetAfter(a.Steps() - 1)
	frame := Frame{Step: a.Steps(), Uncertainty: float64(float32(uncertainty))} // to the digits that training.csv has
	for _, r := range Play(a, f.maze, rolloutsKept) {
		kept := Rollout{Reached: r.Reached}
		for _, t := range f.times {
			kept.Way = append(kept.Way, [2]float64{short(r.Way[t][0]), short(r.Way[t][1])})
		}
		frame.Rollouts = append(frame.Rollouts, kept)
	}
	f.Frames = append(f.Frames, frame)
	f.thin()
	f.unsaved = true
}

// short returns x to the digits that training.csv has.
func short(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', 3, 64), 64)
	return x
}

// thin keeps every evaluation, or where these are too many every second, fourth
// and so on, and the latest. Which are kept depends on the latest alone.
func (f *Film) thin() {
	last := f.Frames[len(f.Frames)-1].Step
	stride := f.every
	for last/stride > mostFrames {
		stride *= 2
	}
	f.Frames = slices.DeleteFunc(f.Frames, func(frame Frame) bool { return frame.Step%stride != 0 && frame.Step != last })
}

// ForgetAfter drops the frames after a step.
func (f *Film) ForgetAfter(step int) {
	for n := len(f.Frames); n > 0 && f.Frames[n-1].Step > step; n-- {
		f.Frames = f.Frames[:n-1]
		f.unsaved = true
	}
}

const header = "step[environment steps],uncertainty[its unit],rollout,reached[0 or 1],t[environment steps],row[cell],col[cell]\n"

// Save writes training.csv, unless it is safe already.
func (f *Film) Save(dir string) error {
	if !f.unsaved {
		return nil
	}
	f.unsaved = false
	return files.Write(filepath.Join(dir, rundir.FilmStore), f.encode(), true)
}

func (f *Film) encode() []byte {
	rows := [][]string{strings.Split(strings.TrimSuffix(header, "\n"), ",")}
	for _, frame := range f.Frames {
		for i, r := range frame.Rollouts {
			for k, t := range f.times {
				rows = append(rows, f.row(&frame, i, r.Reached, t, r.Way[k]))
			}
		}
	}
	return files.CSV(rows)
}

func (f *Film) row(frame *Frame, rollout int, reached bool, t int, at [2]float64) []string {
	flag := "0"
	if reached {
		flag = "1"
	}
	float := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return []string{strconv.Itoa(frame.Step), strconv.FormatFloat(frame.Uncertainty, 'g', -1, 32), strconv.Itoa(rollout + 1), flag, strconv.Itoa(t), float(at[0]), float(at[1])}
}

// maxStore bounds the training.csv that is read, in bytes: one with as many
// frames as there can be is smaller.
const maxStore = 4 << 20

// Open returns the film of a run directory as training.csv has it, or without
// frames where there is none or, beside an error, one that cannot be used.
func Open(dir string, r *rundir.Record) (*Film, error) {
	id := r.Run
	f := New(id.NewMaze(), id.Params(), id.EvalEvery)
	if err := r.ReadStore(dir, rundir.FilmStore, maxStore, f.decode); err != nil {
		f.Frames, f.unsaved = nil, true
		return f, err
	}
	return f, nil
}

// decode reads training.csv. On an error f has no frames.
func (f *Film) decode(data []byte) error {
	f.Frames, f.unsaved = nil, true
	if !bytes.HasPrefix(data, []byte(header)) {
		return errors.New("line 1: want " + strings.TrimSuffix(header, "\n"))
	}
	rows, err := files.Rows(data)
	if err != nil {
		return err
	}
	rows = rows[1:]
	n, last := rolloutsKept*len(f.times), 0
	var frames []Frame
	for line := 0; line < len(rows); line += n {
		if line+n > len(rows) {
			return fmt.Errorf("line %d: the last frame ends here, want %d rows", len(rows)+1, n)
		}
		frame := Frame{Rollouts: make([]Rollout, rolloutsKept)}
		for k, row := range rows[line : line+n] {
			if !f.read(&frame, k, row) {
				return fmt.Errorf("line %d: want rollout %d of a frame at t = %d, as seven numbers", line+k+2, k/len(f.times)+1, f.times[k%len(f.times)])
			}
		}
		if frame.Step <= last {
			return fmt.Errorf("line %d: step %d, want one after %d", line+2, frame.Step, last)
		}
		frames, last = append(frames, frame), frame.Step
	}
	f.Frames, f.unsaved = frames, false
	return nil
}

// read reads row k of a frame, which has to be what [Film.row] writes of it.
func (f *Film) read(frame *Frame, k int, fields []string) bool {
	var x [7]float64
	for i := range x {
		if len(fields) != len(x) {
			return false
		}
		var err error
		if x[i], err = strconv.ParseFloat(fields[i], 64); err != nil || math.IsInf(x[i], 0) {
			return false
		}
	}
	if k == 0 {
		frame.Step, frame.Uncertainty = int(x[0]), float64(float32(x[1]))
	}
	rollout, t := k/len(f.times), f.times[k%len(f.times)]
	r := &frame.Rollouts[rollout]
	if t == 0 {
		r.Reached = x[3] == 1
	}
	r.Way = append(r.Way, [2]float64{x[5], x[6]})
	inside := x[5] >= 0 && x[5] <= float64(f.maze.Rows()) && x[6] >= 0 && x[6] <= float64(f.maze.Cols())
	return inside && slices.Equal(fields, f.row(frame, rollout, r.Reached, t, [2]float64{x[5], x[6]}))
}
