package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"qta"
)

// A board has 20 by 20 squares of 0.3. Its goals have a radius of five squares, on whose
// edge lie twelve squares: whether these are reached a last digit decides, and another
// machine may fuse the product and the sum.
type board struct {
	radius       float64
	fused        bool
	column, row  int
	goal, placed [2]float64
}

func (b *board) Sizes() qta.Sizes { return qta.Sizes{Observation: 2, Goal: 2, Action: 2} }

func (b *board) Reset(rng *rand.Rand) qta.State {
	b.column = 10
	b.row = 10
	b.goal = square(6+rng.IntN(10), 6+rng.IntN(10))
	return b.state()
}

func (b *board) Step(action []float64) (qta.State, float64) {
	b.column = min(max(b.column+int(math.Round(2*action[0])), 0), 19)
	b.row = min(max(b.row+int(math.Round(2*action[1])), 0), 19)
	s := b.state()
	return s, b.Reward(s.Achieved, s.Desired)
}

func (b *board) state() qta.State {
	b.placed = square(b.column, b.row)
	return qta.State{Observation: b.placed[:], Achieved: b.placed[:], Desired: b.goal[:]}
}

func square(column, row int) [2]float64 {
	return [2]float64{0.3 * float64(column), 0.3 * float64(row)}
}

func (b *board) Reward(achieved, desired []float64) float64 {
	dx := achieved[0] - desired[0]
	dy := achieved[1] - desired[1]
	distance := float64(dx*dx) + float64(dy*dy)
	if b.fused {
		distance = math.FMA(dx, dx, float64(dy*dy))
	}
	if distance <= b.radius*b.radius {
		return 0
	}
	return -1
}

// A run goes on where a machine turns over rewards at their edge, but not where the edge
// has moved.
func TestRewardsAtEdges(t *testing.T) {
	o := newRun(t)
	run := func(radius float64, fused bool, steps int) error {
		o.Steps = steps
		env := func() *board { return &board{radius: radius, fused: fused} }
		return Train(t.Context(), env(), env(), o)
	}
	must(t, run(1.5, false, 100))
	r := open(t, o.Dir)
	if slices.Equal(r.state.Rewards, rewards(&board{radius: 1.5, fused: true}, r.Agent)) {
		t.Error("the fused sum turns over no reward of this run, which shows nothing")
	}
	for _, radius := range []float64{1.3, 1.7} {
		says(t, run(radius, false, 160), "the environment has changed")
	}
	must(t, run(1.5, true, 160))
}

// Two fingerprints of one environment differ in last digits, which may grow, and in
// rewards at an edge, which are -0.5. Nothing else of an environment that has changed passes.
func TestFingerprint(t *testing.T) {
	// The states of there are 1, 2 and 3, each with a desired goal of 5.
	const there = `[[1, 1, 5, -1], [2, 2, 5, -1], [3, 3, 5, -1]]`
	for _, test := range []struct{ here, want string }{
		{there, ""},
		{`[[1, 1, 5, -1], [2, 2, 5, -1], [3.000001, 3, 5, -1]]`, ""},
		{`[[1, 1, 5, -1], [2, 2, 5, -1], [3, 3.01, 5, -1]]`, "1 after step 2 is 3 there, 3.01 here"},
		{`[[1, 1, 5, -1], [2, 2, 5, 0], [3, 3, 5, -1]]`, "3 after step 1 is -1 there, 0 here"},
		{`[[1, 1, 5, -1], [2, 2, 5, -0.5], [3, 3, 5, -1]]`, ""},
		{`[[1, 1, 4, -1], [2, 2, 5, -1], [3, 3, 5, -1]]`, "2 after step 0 is 5 there, 4 here"},
		{`[[1, 1, 5, -1]]`, ""},
		{"null", ""},
		{`[[1, 1, 5, -1], [2, 2, 2, 5, -1]]`, "the answer to step 1 has 4 numbers there, 5 here"},
		{"[[]]", "the answer to step 0 has 4 numbers there, 0 here"},
	} {
		checkDifference(t, there, test.here, test.want)
	}
	// As of a damaged record.
	checkDifference(t, "[[]]", "[[]]", "the answer to step 0 has 0 numbers there, 0 here")
	for _, radius := range []float64{0.1, 3} {
		reached := fingerprint(&board{radius: radius}, 16)
		if reached.Difference(fingerprint(&board{radius: 1.6}, 16)) == "" {
			t.Errorf("goals of radius %v have the rewards of goals of radius 1.6", radius)
		}
	}
}

// checkDifference wants a difference between two fingerprints, or none if want is "". The text
// is compared without its first words and without the reason at its end. The other way round
// there must be a difference, too, or none.
func checkDifference(t *testing.T, there, here, want string) {
	t.Helper()
	var was, now Fingerprint
	fromJSON(t, there, &was)
	fromJSON(t, here, &now)
	got, _, _ := strings.Cut(was.Difference(now), ", a jump")
	got = strings.TrimPrefix(got, "in an episode with fixed actions number ")
	equal(t, "the difference of "+there+" and "+here, want, got)
	back := now.Difference(was)
	equal(t, here+" and "+there+" are alike", want == "", back == "")
}

// The goals of a fingerprint are all of its achieved and desired goals, or up to 64 of them.
func TestGoalsOfFingerprint(t *testing.T) {
	for rows := 1; rows <= 300; rows++ {
		f := slices.Repeat(Fingerprint{{0, 1, 2, -1}}, rows)
		n := len(f.goals(qta.Sizes{Observation: 1, Goal: 1}))
		if n == 0 || n > 64 || (rows < 32 && n != 2*rows) {
			t.Errorf("%d rows have %d goals", rows, n)
		}
	}
}

// A chaotic motion that has grown from a last digit compares no rewards any more.
func TestGrownFingerprint(t *testing.T) {
	var there, here Fingerprint
	for step := range 20 {
		grown := 1e-16 * math.Pow(10, float64(step))
		there = append(there, []float64{1, 5, -1})
		here = append(here, []float64{1 + grown, 5, -1})
	}
	here[19][2] = 0
	equal(t, "the difference in a reward after 1000 times as much", "", there.Difference(here))
	here[5][2] = 0
	// There the states differ by 1e-11.
	has(t, there.Difference(here), "in an episode with fixed actions number 2 after step 5 is -1")
}

// A reward at an edge is one that another machine's rounding may turn over.
func TestEdges(t *testing.T) {
	env := &board{radius: 1.5}
	desired := square(10, 10)
	for column := range 20 {
		for row := range 20 {
			achieved := square(column, row)
			want := math.Hypot(float64(column-10), float64(row-10)) == 5
			if got := atEdge(env, achieved[:], desired[:]); got != want {
				t.Errorf("%v is at the edge of %v: %t", achieved, desired, got)
			}
		}
	}
	exact := &board{} // whose goals have no width
	if goal := square(3, 4); atEdge(exact, goal[:], goal[:]) {
		t.Error("a goal is at its own edge")
	}
	undecided := 0
	for _, row := range fingerprint(env, 400) {
		achieved := row[2:4]
		onEdge := atEdge(env, achieved, row[4:6])
		if onEdge != (row[6] == edge) {
			t.Errorf("at %v the fingerprint has the reward %v", achieved, row[6])
		}
		if onEdge {
			undecided++
		}
	}
	if undecided == 0 {
		t.Error("the fingerprint has no reward at an edge")
	}
}

// Edges are found at corners, and where goals move along the edge.
func TestEdgesOfShapes(t *testing.T) {
	const beside = 1e-9
	origin := []float64{0, 0}
	square := shape{reached: func(achieved, desired []float64) bool {
		return max(math.Abs(achieved[0]-desired[0]), math.Abs(achieved[1]-desired[1])) <= 0.5
	}}
	if !atEdge(square, []float64{0.5 + beside, -0.5 - beside}, origin) {
		t.Error("a square's corner is not found from outside")
	}
	diagonal := shape{reached: func(achieved, desired []float64) bool {
		return achieved[0]-desired[0] <= achieved[1]-desired[1]
	}}
	if !atEdge(diagonal, []float64{-0.3, -0.3 - beside}, origin) {
		t.Error("a diagonal is not found")
	}
}

// A shape is an environment of which only the goals matter.
type shape struct {
	qta.Env
	reached func(achieved, desired []float64) bool
}

func (s shape) Reward(achieved, desired []float64) float64 {
	if s.reached(achieved, desired) {
		return 0
	}
	return -1
}

// The rewards of a run's goals are counted in both directions, from its first goals to
// its last.
func TestRewardCounts(t *testing.T) {
	o := newRun(t)
	o.Steps = 160
	env := func() qta.Env { return alter(t, 0.35, 1, 1, 0) }
	trainIn(t, o, env)
	r := open(t, o.Dir)
	was := rewards(env(), r.Agent)
	equal(t, "the same environment has changed", false, rewardsChanged(env(), r.Agent, was))
	for _, step := range []int{0, o.Steps} { // before all others, and after them
		for _, achieved := range []bool{false, true} {
			changed := exception{Env: env(), goal: r.Agent.Achieved(step), achieved: achieved}
			what := fmt.Sprintf("rewards of the goal after step %d, achieved: %v", step, achieved)
			equal(t, what+", have changed", true, rewardsChanged(changed, r.Agent, was))
		}
	}
}

// In an exception a goal, and what lies beside it, is never reached or reaches no other.
type exception struct {
	qta.Env
	goal     []float64
	achieved bool // as the achieved goal, or as the desired one
}

func (e exception) Reward(achieved, desired []float64) float64 {
	asked := desired
	if e.achieved {
		asked = achieved
	}
	beside := math.Hypot(asked[0]-e.goal[0], asked[1]-e.goal[1]) < 0.001
	if beside && !slices.Equal(achieved, desired) {
		return -1
	}
	return e.Env.Reward(achieved, desired)
}
