package figure5

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qta/cmd/qta/internal/rundir"
)

// TestNumbers has two snapshots of three points, and their numbers by hand.
func TestNumbers(t *testing.T) {
	f := &Figure{Optimal: []float32{-1, -2, -6}}
	if got := f.Numbers(); got != nil {
		t.Errorf("no snapshot has numbers: %v", got)
	}
	f.Snapshots = []Snapshot{{
		Value:       []float32{-5, -5, -5},
		Failure:     []float32{4, 3, 1},
		Deviation:   []float32{1, 2, 3},
		Probability: []float32{0.2, 0.3, 0.4}, // correlation with the deviation 1
		Samples:     []int{0, 0, 2},           // mean optimal value -6, of all points -3
	}}
	if got := f.Numbers(); got != nil {
		t.Errorf("one snapshot has numbers: %v", got)
	}
	f.Snapshots = append(f.Snapshots, Snapshot{
		Value:       []float32{-1, -2, -3},
		Failure:     []float32{0, 0, 3}, // with distances 1, 2, 6: 9 / sqrt(6 · 14)
		Deviation:   []float32{1, 2, 3},
		Probability: []float32{0.4, 0.2, 0.4}, // correlation 0
		Samples:     []int{1, 1, 0},           // mean -1.5
	})
	want := &rundir.Figure5{
		ValueGrowth:     3,
		ErrorFall:       8./3 - 1,
		ErrorByDistance: 9 / math.Sqrt(6*14),
		GoalByDeviation: 0.5,
		GoalDistance:    (3 - 1.5) / 2,
	}
	if diff := cmp.Diff(want, f.Numbers(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Snapshots[1].Value[0] = float32(math.Inf(1))
	if got := f.Numbers(); got != nil {
		t.Errorf("a value gone wrong has numbers: %v", got)
	}
}
