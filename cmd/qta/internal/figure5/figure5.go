// Package figure5 makes the paper's Figure 5 of a run: what an agent makes of
// every point of its maze, at several times of its training. figure5.csv is the
// figure's memory; what is drawn is drawn from the numbers as they stand in it,
// so that a run that was interrupted draws the same.
package figure5

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/exp/stats"

	"qta"
	"qta/cmd/qta/internal/files"
	"qta/cmd/qta/internal/rundir"
)

// A Figure is the figure of one run.
type Figure struct {
	Maze    *qta.Maze
	params  qta.Params
	every   int // environment steps between evaluations
	lattice *qta.Lattice
	index   []int       // of the reachable points in lattice
	points  [][]float64 // these points
	places  [][2]string // row and column of each, as in figure5.csv
	Optimal []float32

	Snapshots []Snapshot // by step
	unsaved   bool       // figure5.csv may lack some of them after a loss of power
}

// A Snapshot is a row of the figure. Its slices have an element per point.
type Snapshot struct {
	step                          int
	Value, Deviation, Probability []float32
	Failure                       []float32 // absolute error of the value
	Samples                       []int     // how often each point was drawn
	text                          []byte    // its lines of figure5.csv
}

const (
	sampledGoals = 200 // of each snapshot, as in the paper
	latticeSize  = 10  // points per cell and axis, as in the optimal values

	// mostPoints bounds the points, and with them the time of a snapshot:
	// mazes of more than a hundred cells have fewer points per cell.
	mostPoints = 10_000

	// MostSnapshots bounds the rows.
	MostSnapshots = 8
)

// New returns a figure without snapshots.
func New(m *qta.Maze, p qta.Params, every int) *Figure {
	free := strings.Count(m.String(), ".") + 2 // S and G
	perCell := latticeSize
	for perCell > 1 && free*perCell*perCell > mostPoints {
		perCell--
	}
	f := &Figure{Maze: m, params: p, every: every, lattice: m.Hops(perCell), unsaved: true}
	for k, hops := range f.lattice.Hops {
		if hops >= 0 {
			point := f.lattice.Point(k)
			f.index = append(f.index, k)
			f.points = append(f.points, point[:])
			f.places = append(f.places, [2]string{fmt.Sprintf("%.6g", point[0]), fmt.Sprintf("%.6g", point[1])})
			f.Optimal = append(f.Optimal, float32(qta.OptimalValue(p.Discount, hops)))
		}
	}
	return f
}

// Take adds a snapshot of an agent, and returns the mean uncertainty over the
// points.
func (f *Figure) Take(a *qta.Agent) (uncertainty float64) {
	f.ForgetAfter(a.Steps() - 1)
	start, goal := f.Maze.Start(), f.Maze.Goal()
	survey := a.Survey(start[:], goal[:], f.points, f.points, sampledGoals)
	s := f.blank()
	s.step = a.Steps()
	for i := range f.points { // to the digits that figure5.csv has
		s.Value[i], s.Deviation[i], s.Probability[i] = float32(survey.Value[i]), float32(survey.Deviation[i]), float32(survey.Probability[i])
	}
	for _, k := range survey.Samples {
		s.Samples[k]++
	}
	if s.problem() != "" {
		return math.NaN() // the agent's numbers have gone wrong, as training is about to say
	}
	f.complete(&s)
	f.Snapshots = append(f.Snapshots, s)
	f.thin()
	f.unsaved = true
	return stats.Mean(survey.Deviation)
}

func (f *Figure) blank() Snapshot {
	n := len(f.points)
	return Snapshot{Value: make([]float32, n), Deviation: make([]float32, n), Probability: make([]float32, n), Failure: make([]float32, n), Samples: make([]int, n)}
}

// problem says what no snapshot has, or returns "".
func (s *Snapshot) problem() string {
	sum, drawn := 0.0, 0
	for i, p := range s.Probability {
		for _, x := range []float32{s.Value[i], s.Deviation[i], p} {
			if x-x != 0 {
				return fmt.Sprintf("the number %v", x)
			}
		}
		sum += float64(p)
		drawn += s.Samples[i]
	}
	if drawn != sampledGoals || math.Abs(sum-1) > 1e-3 {
		return fmt.Sprintf("%d samples, want %d, and probabilities that add up to %.4f", drawn, sampledGoals, sum)
	}
	return ""
}

// complete sets what follows from the other numbers of s.
func (f *Figure) complete(s *Snapshot) {
	float := func(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }
	rows := make([][]string, len(f.points))
	for i, at := range f.places {
		s.Failure[i] = float32(math.Abs(float64(s.Value[i] - f.Optimal[i])))
		rows[i] = []string{strconv.Itoa(s.step), at[0], at[1], float(s.Value[i]), float(f.Optimal[i]), float(s.Failure[i]),
			float(s.Deviation[i]), float(s.Probability[i]), strconv.Itoa(s.Samples[i])}
	}
	s.text = files.CSV(rows)
}

// ForgetAfter drops the snapshots after a step.
func (f *Figure) ForgetAfter(step int) {
	for n := len(f.Snapshots); n > 0 && f.Snapshots[n-1].step > step; n-- {
		f.Snapshots = f.Snapshots[:n-1]
		f.unsaved = true
	}
}

// thin keeps the latest snapshot and before it those of evaluations 1, 2, 4, 8
// and so on, as learning is fast at first; of too many the first are dropped.
// Which are kept depends on the latest alone.
func (f *Figure) thin() {
	var kept []Snapshot
	for i, s := range f.Snapshots {
		n := s.step / f.every
		if i == len(f.Snapshots)-1 || s.step%f.every == 0 && n&(n-1) == 0 {
			kept = append(kept, s)
		}
	}
	f.Snapshots = kept[max(0, len(kept)-MostSnapshots):]
}

// Deviation returns the name of the uncertainty and its unit.
func (f *Figure) Deviation() (name, unit string) {
	switch p := f.params; {
	case p.Uncertainty == qta.UncertaintyPUN:
		return "head deviation", "cell"
	case p.Uncertainty == qta.UncertaintyQ:
		return "uncertainty", "reward"
	case p.Uncertainty == qta.UncertaintyEnsemble && p.AuthorsForm:
		return "uncertainty", "cell^2"
	}
	return "uncertainty", "cell"
}

// header returns the first line of figure5.csv.
func (f *Figure) header() string {
	_, unit := f.Deviation()
	return "step[environment steps],row[cell],col[cell],value[reward],optimal[reward],abs_error[reward]," +
		"deviation[" + unit + "],probability[fraction],samples[count]\n"
}

// Save writes figure5.csv, unless it is safe already.
func (f *Figure) Save(dir string) error {
	if !f.unsaved {
		return nil
	}
	f.unsaved = false
	return files.Write(filepath.Join(dir, rundir.Figure5Store), f.encode(), true)
}

func (f *Figure) encode() []byte {
	b := []byte(f.header())
	for _, s := range f.Snapshots {
		b = append(b, s.text...)
	}
	return b
}

// Open returns the figure of a run directory as figure5.csv has it, or
// without snapshots where there is none or, beside an error, one that cannot be
// used.
func Open(dir string, r *rundir.Record) (*Figure, error) {
	id := r.Run
	f := New(id.NewMaze(), id.Params(), id.EvalEvery)
	if err := r.ReadStore(dir, rundir.Figure5Store, rundir.MaxFigure5, f.decode); err != nil {
		f.Snapshots, f.unsaved = nil, true
		return f, err
	}
	return f, nil
}

// decode reads figure5.csv. On an error f has no snapshots.
func (f *Figure) decode(data []byte) error {
	f.Snapshots, f.unsaved = nil, true
	if !bytes.HasPrefix(data, []byte(f.header())) {
		return errors.New("line 1: want " + strings.TrimSuffix(f.header(), "\n"))
	}
	rows, err := files.Rows(data)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))[1:]
	n, last := len(f.points), 0
	if rows = rows[1:]; len(rows)%n != 0 {
		return fmt.Errorf("line %d: the last snapshot ends here, want %d points", len(rows)+1, n)
	}
	snapshots := make([]Snapshot, len(rows)/n)
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
		for i, own := range bytes.SplitAfter(s.text, []byte("\n"))[:n] {
			if !bytes.Equal(own, lines[k*n+i]) {
				return fmt.Errorf("line %d: its columns contradict each other", k*n+i+2)
			}
		}
		if problem := s.problem(); problem != "" {
			return fmt.Errorf("line %d: the snapshot that begins here has %s", k*n+2, problem)
		}
		snapshots[k], last = s, s.step
	}
	f.Snapshots, f.unsaved = snapshots, false
	return nil
}

// read reads the fields of point i.
func (f *Figure) read(s *Snapshot, i int, fields []string) bool {
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
	s.Value[i], s.Deviation[i], s.Probability[i], s.Samples[i] = float(3), float(6), float(7), whole(8)
	return ok
}
