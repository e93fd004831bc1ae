package qta

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// surveyPoints are some points of a maze.
func surveyPoints(m *Maze) [][]float64 {
	var points [][]float64
	lattice := m.Hops(3)
	for k, hops := range lattice.Hops {
		if p := lattice.Point(k); hops >= 0 {
			points = append(points, p[:])
		}
	}
	return points
}

// TestSurveyChangesNothing trains with a survey and questions after every step,
// and without.
func TestSurveyChangesNothing(t *testing.T) {
	t.Parallel()
	for i, variant := range tinyVariants() {
		t.Run(variant.Name, func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				t.Skip("with -short, every fourth variant; the full suite surveys all of them")
			}
			const steps = 35
			want := marshal(t, agentAfter(t, variant.Params, steps))
			a := newMazeAgent(t, variant.Params, 1)
			m := mustMaze(t, "1U5")
			start, goal := m.Start(), m.Goal()
			points, surveys := surveyPoints(m), 0
			trainTo(t, a, steps, func() error {
				first := a.Survey(start[:], goal[:], points, points, 5)
				if diff := cmp.Diff(first, a.Survey(start[:], goal[:], points, points, 5)); diff != "" {
					t.Errorf("step %d: a second survey differs (-first +second):\n%s", a.Steps(), diff)
				}
				a.Goals(0, a.Steps())
				a.Value(points, points)
				a.GoalProbabilities(points, points, uint64(a.Steps()))
				surveys++
				return nil
			})
			if surveys != steps || !bytes.Equal(want, marshal(t, a)) {
				t.Errorf("%d surveys changed training", surveys)
			}
		})
	}
}

// TestSurvey asks for each point by itself.
func TestSurvey(t *testing.T) {
	a := agentAfter(t, tinyPreset(Default()), 35)
	m := mustMaze(t, "1U5")
	start, goal := m.Start(), m.Goal()
	points := surveyPoints(m)
	const samples = 1000
	s := a.Survey(start[:], goal[:], points, points, samples)
	sum := 0.0
	for k, point := range points {
		x := newMatrix(1, 6)
		a.inputs(x.row(0), start[:], point)
		for i, v := range a.Act(start[:], point) {
			x.row(0)[4+i] = float32(v)
		}
		q := []float64{0}
		a.pun.meanValues(q, x)
		if s.Value[k] != q[0] {
			t.Errorf("value of point %v is %v, want %v", point, s.Value[k], q[0])
		}
		if !(s.Deviation[k] > 0) {
			t.Errorf("deviation at point %v is %v", point, s.Deviation[k])
		}
		sum += s.Probability[k]
	}
	if sum < 1-1e-9 || sum > 1+1e-9 {
		t.Errorf("the probabilities add up to %v", sum)
	}
	want := make([]float64, len(points))
	GoalProbabilities(want, s.Deviation, a.params.Slope, a.params.Intercept)
	if diff := cmp.Diff(want, s.Probability); diff != "" {
		t.Errorf("probabilities (-want +got):\n%s", diff)
	}
	for _, k := range s.Samples {
		if s.Probability[k] == 0 {
			t.Errorf("point %v was drawn, whose probability is 0", points[k])
		}
	}
	if len(s.Samples) != samples {
		t.Errorf("%d samples, want %d", len(s.Samples), samples)
	}
}

// TestGoals follows the goal pursued from step to step.
func TestGoals(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 2)
	pursued := [][]float64{} // at each step
	m := mustMaze(t, "1U5")
	for step := 1; step <= 60; step++ {
		if err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: step, EvalEvery: 1000, Rollouts: 1}); err != nil {
			t.Fatal(err)
		}
		pursued = append(pursued, slices.Clone(at(a.replay.goal, step-1, 2)))
	}
	for _, span := range [][2]int{{0, 60}, {0, 0}, {60, 60}, {7, 31}, {20, 21}, {19, 20}} {
		var want [][]float64
		for i := span[0]; i < span[1]; i++ {
			if i%10 == 0 || !slices.Equal(pursued[i], pursued[i-1]) {
				want = append(want, pursued[i])
			}
		}
		if diff := cmp.Diff(want, a.Goals(span[0], span[1])); diff != "" {
			t.Errorf("steps %v (-want +got):\n%s", span, diff)
		}
	}
	if n := len(a.Goals(0, 60)); n < 10 || n > a.goalsSet {
		t.Errorf("%d goals, %d were set", n, a.goalsSet)
	}
	for _, span := range [][2]int{{-1, 3}, {4, 3}, {0, 61}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Goals(%d, %d) does not panic", span[0], span[1])
				}
			}()
			a.Goals(span[0], span[1])
		}()
	}
}

// Of no points there is nothing to say, and none to draw.
func TestSurveyOfNothing(t *testing.T) {
	for _, variant := range tinyVariants() {
		a := agentAfter(t, variant.Params, 12)
		m := mustMaze(t, "1U5")
		start, goal := m.Start(), m.Goal()
		if diff := cmp.Diff(Survey{}, a.Survey(start[:], goal[:], nil, nil, 3)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", variant.Name, diff)
		}
	}
}

// TestSurveySamples draws so many goals that their shares are the probabilities,
// by chance that another step changes.
func TestSurveySamples(t *testing.T) {
	p := tinyPreset(Default())
	p.Slope, p.Intercept = 1, 0.1
	a := agentAfter(t, p, 35)
	points := surveyPoints(mustMaze(t, "1U5"))
	const n = 20000
	s := a.Survey(points[0], points[1], points, points, n)
	counts := make([]float64, len(points))
	for _, k := range s.Samples {
		counts[k]++
	}
	for k, got := range counts {
		q := s.Probability[k]
		if math.Abs(got-n*q) > 5*math.Sqrt(n*q*(1-q))+1 {
			t.Errorf("point %d of probability %v is drawn %v times of %d", k, q, got, n)
		}
	}
	a.step++
	if slices.Equal(a.Survey(points[0], points[1], points, points, 0).Deviation, s.Deviation) {
		t.Error("chance is the same a step later")
	}
}
