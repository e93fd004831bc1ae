package figure5

import (
	"math"

	"golang.org/x/exp/stats"

	"qta/cmd/qta/internal/rundir"
	"qta/cmd/qta/internal/statistics"
)

// Numbers returns what a run's record keeps of the figure, or nil with fewer than
// two snapshots or with numbers gone wrong.
func (f *Figure) Numbers() *rundir.Figure5 {
	if len(f.Snapshots) < 2 {
		return nil
	}
	optimal := widen(f.Optimal)
	distance := make([]float64, len(optimal))
	for i, v := range optimal {
		distance[i] = -v
	}
	first, last := &f.Snapshots[0], &f.Snapshots[len(f.Snapshots)-1]
	x := rundir.Figure5{
		ValueGrowth:     stats.Mean(widen(last.Value)) - stats.Mean(widen(first.Value)),
		ErrorFall:       stats.Mean(widen(first.Failure)) - stats.Mean(widen(last.Failure)),
		ErrorByDistance: statistics.Correlation(widen(last.Failure), distance),
	}
	n := float64(len(f.Snapshots))
	for _, s := range f.Snapshots {
		x.GoalByDeviation += statistics.Correlation(widen(s.Probability), widen(s.Deviation)) / n
		drawn, sum := 0.0, 0.0
		for i, times := range s.Samples {
			drawn += float64(times)
			sum += float64(times) * optimal[i]
		}
		if drawn > 0 {
			x.GoalDistance += (stats.Mean(optimal) - sum/drawn) / n
		}
	}
	for _, v := range []float64{x.ValueGrowth, x.ErrorFall, x.ErrorByDistance, x.GoalByDeviation, x.GoalDistance} {
		if math.IsNaN(v - v) {
			return nil
		}
	}
	return &x
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
