package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"qta"
)

// A figure5 is the figure of one run.
type figure5 struct {
	maze    *qta.Maze
	params  qta.Params
	every   int // environment steps between evaluations
	lattice *qta.Lattice
	index   []int       // of the reachable points in lattice
	points  [][]float64 // these points
	places  [][2]string // row and column of each, as in figure5.csv
	optimal []float32

	snapshots []snapshot // by step
	unsaved   bool       // figure5.csv may lack some of them after a loss of power
}

// A snapshot is a row of the figure. Its slices have an element per point.
type snapshot struct {
	step                          int
	value, deviation, probability []float32
	failure                       []float32 // absolute error of the value
	samples                       []int     // how often each point was drawn
	text                          []byte    // its lines of figure5.csv
}

const (
	sampledGoals = 200 // of each snapshot, as in the paper
	latticeSize  = 10  // points per cell and axis, as in the optimal values

	// mostPoints bounds the points, and with them the time of a snapshot:
	// mazes of more than a hundred cells have fewer points per cell.
	mostPoints = 10_000

	// mostSnapshots bounds the rows.
	mostSnapshots = 8
)

func newFigure5(m *qta.Maze, p qta.Params, every int) *figure5 {
	free := 0
	for i := range m.Rows() {
		for j := range m.Cols() {
			if m.Free(i, j) {
				free++
			}
		}
	}
	perCell := latticeSize
	for perCell > 1 && free*perCell*perCell > mostPoints {
		perCell--
	}
	f := &figure5{maze: m, params: p, every: every, lattice: m.Hops(perCell), unsaved: true}
	for k, hops := range f.lattice.Hops {
		if hops >= 0 {
			point := f.lattice.Point(k)
			f.index = append(f.index, k)
			f.points = append(f.points, point[:])
			f.places = append(f.places, [2]string{fmt.Sprintf("%.6g", point[0]), fmt.Sprintf("%.6g", point[1])})
			f.optimal = append(f.optimal, float32(qta.OptimalValue(p.Discount, hops)))
		}
	}
	return f
}

// take adds a snapshot of an agent.
func (f *figure5) take(a *qta.Agent) {
	f.forgetAfter(a.Steps() - 1)
	start, goal := f.maze.Start(), f.maze.Goal()
	survey := a.Survey(start[:], goal[:], f.points, sampledGoals)
	s := f.blank()
	s.step = a.Steps()
	for i := range f.points { // to the digits that figure5.csv has
		s.value[i], s.deviation[i], s.probability[i] = float32(survey.Value[i]), float32(survey.Deviation[i]), float32(survey.Probability[i])
	}
	for _, k := range survey.Samples {
		s.samples[k]++
	}
	f.complete(&s)
	f.snapshots = append(f.snapshots, s)
	f.thin()
	f.unsaved = true
}

func (f *figure5) blank() snapshot {
	n := len(f.points)
	return snapshot{value: make([]float32, n), deviation: make([]float32, n), probability: make([]float32, n), failure: make([]float32, n), samples: make([]int, n)}
}

// complete sets what follows from the other numbers of s.
func (f *figure5) complete(s *snapshot) {
	float := func(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }
	rows := make([][]string, len(f.points))
	for i, at := range f.places {
		s.failure[i] = float32(math.Abs(float64(s.value[i] - f.optimal[i])))
		rows[i] = []string{strconv.Itoa(s.step), at[0], at[1], float(s.value[i]), float(f.optimal[i]), float(s.failure[i]),
			float(s.deviation[i]), float(s.probability[i]), strconv.Itoa(s.samples[i])}
	}
	s.text = csvText(rows)
}

// forgetAfter drops the snapshots after a step.
func (f *figure5) forgetAfter(step int) {
	for n := len(f.snapshots); n > 0 && f.snapshots[n-1].step > step; n-- {
		f.snapshots = f.snapshots[:n-1]
		f.unsaved = true
	}
}

// thin keeps the latest snapshot and before it those of evaluations 1, 2, 4, 8
// and so on, as learning is fast at first; of too many the first are dropped.
// Which are kept depends on the latest alone.
func (f *figure5) thin() {
	var kept []snapshot
	for i, s := range f.snapshots {
		n := s.step / f.every
		if i == len(f.snapshots)-1 || s.step%f.every == 0 && n&(n-1) == 0 {
			kept = append(kept, s)
		}
	}
	f.snapshots = kept[max(0, len(kept)-mostSnapshots):]
}

// deviation returns the name of the uncertainty and its unit.
func (f *figure5) deviation() (name, unit string) {
	switch p := f.params; {
	case p.Uncertainty == "pun":
		return "head deviation", "cell"
	case p.Uncertainty == "q":
		return "uncertainty", "reward"
	case p.Uncertainty == "ensemble" && p.EnsembleScore == "variance":
		return "uncertainty", "cell^2"
	}
	return "uncertainty", "cell"
}

// header returns the first line of figure5.csv.
func (f *figure5) header() string {
	_, unit := f.deviation()
	return "step[environment steps],row[cell],col[cell],value[reward],optimal[reward],abs_error[reward]," +
		"deviation[" + unit + "],probability[fraction],samples[count]\n"
}

// encode returns figure5.csv.
func (f *figure5) encode() []byte {
	b := []byte(f.header())
	for _, s := range f.snapshots {
		b = append(b, s.text...)
	}
	return b
}

// maxStore bounds the figure5.csv that is read, in bytes: one with as many
// snapshots and points as there can be is smaller.
const maxStore = 32 << 20

// openFigure5 returns the figure of a run directory as figure5.csv has it, or
// without snapshots where there is none or, beside an error, one that cannot be
// used.
func openFigure5(dir string, id identity) (*figure5, error) {
	f := newFigure5(id.maze(), id.params(), id.EvalEvery)
	path := filepath.Join(dir, figure5Store)
	data, err := readInput(path, maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err != nil {
		return f, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if err := f.decode(data); err != nil {
		return f, badInput("%s is damaged: %w", path, err)
	}
	return f, nil
}

// decode reads figure5.csv. On an error f has no snapshots.
func (f *figure5) decode(data []byte) error {
	f.snapshots, f.unsaved = nil, true
	if !bytes.HasPrefix(data, []byte(f.header())) {
		return errors.New("line 1: want " + strings.TrimSuffix(f.header(), "\n"))
	}
	rows, err := readRows(data)
	if err != nil {
		return err
	}
	n, last := len(f.points), 0
	if rows = rows[1:]; len(rows)%n != 0 {
		return fmt.Errorf("line %d: the last snapshot ends here, want %d points", len(rows)+1, n)
	}
	snapshots := make([]snapshot, len(rows)/n)
	for k := range snapshots {
		s := f.blank()
		for i := range n {
			if line := k*n + i; !f.read(&s, i, rows[line]) {
				return fmt.Errorf("line %d: want point %s,%s of a snapshot, as nine numbers", line+2, f.places[i][0], f.places[i][1])
			}
		}
		if s.step <= last {
			return fmt.Errorf("line %d: step %d, want one after %d", k*n+2, s.step, last)
		}
		f.complete(&s)
		snapshots[k], last = s, s.step
	}
	f.snapshots, f.unsaved = snapshots, false
	return nil
}

// read reads the fields of point i.
func (f *figure5) read(s *snapshot, i int, fields []string) bool {
	ok := [2]string(fields[1:3]) == f.places[i]
	float := func(k int) float32 {
		x, err := strconv.ParseFloat(fields[k], 32)
		ok = ok && err == nil
		return float32(x)
	}
	whole := func(k int) int {
		n, err := strconv.Atoi(fields[k])
		ok = ok && err == nil && n >= 0
		return n
	}
	if i == 0 {
		s.step = whole(0)
	}
	ok = ok && whole(0) == s.step
	s.value[i], s.deviation[i], s.probability[i], s.samples[i] = float(3), float(6), float(7), whole(8)
	return ok
}
