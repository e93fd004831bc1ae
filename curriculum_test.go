package qta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A curriculumFunc is a curriculum without a state.
type curriculumFunc func(a *Agent, first bool, rng *rand.Rand) ([]float64, error)

func (f curriculumFunc) NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	return f(a, first, rng)
}

// ownHER and ownRandom are two of the package's curricula, written by a stranger.
func ownHER(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
	if first {
		return a.State().Desired, nil
	}
	return nil, nil
}

func ownRandom(a *Agent, _ bool, rng *rand.Rand) ([]float64, error) {
	if a.Steps() == 0 {
		return a.State().Achieved, nil
	}
	return a.Achieved(int(rng.Float64() * float64(a.Steps()))), nil
}

// curious asks all that there is to ask before each goal.
func curious(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	s := a.State()
	all := [][]float64{s.Observation}
	goals := [][]float64{s.Desired}
	for i := range a.Steps() {
		all, goals = append(all, s.Observation), append(goals, a.Achieved(i))
	}
	a.Value(all, goals)
	a.GoalProbabilities(all, goals, uint64(a.Steps()))
	a.Survey(s.Observation, s.Desired, all, goals, 3)
	a.Act(s.Observation, s.Desired)
	a.Goals(0, a.Steps())
	if _, err := a.MarshalBinary(); err != errHalfway {
		return nil, fmt.Errorf("a checkpoint within a step: %v", err)
	}
	s.Achieved[0], s.Observation[0] = -1, -1 // they are the caller's
	g, err := ownRandom(a, first, rng)
	if a.Steps() > 0 {
		a.Achieved(0)[0] = -1
	}
	return g, err
}

// agentWith returns an agent that has trained with a curriculum of its own.
func agentWith(t testing.TB, p Params, c Curriculum, steps int) *Agent {
	t.Helper()
	a := newMazeAgent(t, p, 1)
	if err := a.SetCurriculum(c); err != nil {
		t.Fatal(err)
	}
	trainTo(t, a, steps, nil)
	return a
}

// A stranger's HER and random goals train the agent that the package's do,
// whatever they ask on the way.
func TestOwnCurriculum(t *testing.T) {
	for _, test := range []struct {
		name string
		own  curriculumFunc
	}{{"her", ownHER}, {"random", ownRandom}, {"random", curious}} {
		p := tinyPreset(Default())
		p.Curriculum = test.name
		want := agentAfter(t, p, 60)
		p.Curriculum = "qta"
		got := agentWith(t, p, test.own, 60)
		if got.Digest() != want.Digest() {
			t.Errorf("%s: the networks differ", test.name)
		}
		if diff := cmp.Diff(want.Goals(0, 60), got.Goals(0, 60)); diff != "" {
			t.Errorf("%s: goals (-package's +stranger's):\n%s", test.name, diff)
		}
		if want.goalsSet < 6 {
			t.Errorf("%s: %d goals: this shows little", test.name, want.goalsSet)
		}
	}
}

// A counting curriculum has a state that decides its goals: how many it has set.
type counting struct {
	n      uint64
	broken error
}

func (c *counting) NextGoal(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	c.n++
	return []float64{1 + float64(c.n%5), 1 + 3*rng.Float64()}, nil
}

func (c *counting) MarshalBinary() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, c.n), c.broken
}

func (c *counting) UnmarshalBinary(data []byte) error {
	if len(data) != 8 || c.broken != nil {
		return fmt.Errorf("%d bytes: %w", len(data), c.broken)
	}
	c.n = binary.LittleEndian.Uint64(data)
	return nil
}

// Saved with its agent after any step, a curriculum goes on to the same bytes.
func TestOwnCurriculumContinues(t *testing.T) {
	p := tinyPreset(Default())
	const steps = 35
	for name, make := range map[string]func() Curriculum{
		"with a state":    func() Curriculum { return new(counting) },
		"without a state": func() Curriculum { return curriculumFunc(ownRandom) },
	} {
		want := marshal(t, agentWith(t, p, make(), steps))
		for n := range steps {
			data := marshal(t, agentWith(t, p, make(), n))
			b := new(Agent)
			if err := b.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, marshal(t, b)) {
				t.Fatalf("%s, step %d: saved again before its curriculum was set, the agent has other bytes", name, n)
			}
			m := mustMaze(t, "1U5")
			err := b.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2})
			if err == nil || !strings.Contains(err.Error(), "give it to SetCurriculum") || b.Steps() != n {
				t.Fatalf("%s, step %d: without its curriculum the agent trains, error %v", name, n, err)
			}
			if err := b.SetCurriculum(make()); err != nil {
				t.Fatal(err)
			}
			trainTo(t, b, steps, nil)
			sameState(t, fmt.Sprintf("%s, step %d", name, n), want, b)
		}
	}
}

// What is no goal ends training with an error that says so.
func TestOwnCurriculumRefusals(t *testing.T) {
	trouble := errors.New("trouble")
	m := mustMaze(t, "1U5")
	for _, test := range []struct {
		name string
		goal []float64
		err  error
		late bool // not the first
		want string
	}{
		{name: "none", want: "qta: step 0: the curriculum's goal [] has 0 numbers, want 2"},
		{name: "short", goal: []float64{1}, want: "qta: step 0: the curriculum's goal [1] has 1 numbers, want 2"},
		{name: "NaN", goal: []float64{1, math.NaN()}, want: "qta: step 0: the curriculum's goal [1 NaN] is not finite"},
		{name: "infinite", goal: []float64{1, math.Inf(1)}, want: "qta: step 0: the curriculum's goal [1 +Inf] is not finite"},
		{name: "error", goal: []float64{1, 1}, err: trouble, want: "trouble"},
		{name: "a later one", goal: []float64{1, 2, 3}, late: true, want: "the curriculum's goal [1 2 3] has 3 numbers, want 2"},
		{name: "a later error", goal: nil, err: trouble, late: true, want: "trouble"},
	} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		if err := a.SetCurriculum(curriculumFunc(func(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
			if test.late && first {
				return a.State().Achieved, nil // which the first step may well reach
			}
			return test.goal, test.err
		})); err != nil {
			t.Fatal(err)
		}
		err := a.Train(context.Background(), m.Env(), m.Env(), TrainOptions{Steps: 200, EvalEvery: 50, Rollouts: 1})
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, trouble) != (test.err != nil) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}

	data := marshal(t, agentWith(t, tinyPreset(Default()), &counting{}, 12))
	for _, test := range []struct {
		name string
		c    Curriculum
		want string
	}{
		{"nothing", nil, "qta: SetCurriculum without a curriculum"},
		{"takes no state", curriculumFunc(ownHER), "qta: the agent was saved with the state of its curriculum, which a qta.curriculumFunc does not take"},
		{"does not take this state", &counting{broken: trouble}, "qta: the state of the agent's curriculum: 8 bytes: trouble"},
	} {
		a := new(Agent)
		if err := a.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if err := a.SetCurriculum(test.c); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if err := a.SetCurriculum(&counting{}); err != nil {
			t.Errorf("%s, and then the right one: %v", test.name, err)
		}
	}

	a := agentWith(t, tinyPreset(Default()), &counting{broken: trouble}, 3)
	if _, err := a.MarshalBinary(); !errors.Is(err, trouble) {
		t.Errorf("a curriculum that cannot be saved: error %v", err)
	}
}

// State and Achieved tell what the environment showed.
func TestAchieved(t *testing.T) {
	a := newMazeAgent(t, tinyPreset(Default()), 1)
	if diff := cmp.Diff(State{[]float64{0, 0}, []float64{0, 0}, []float64{0, 0}}, a.State()); diff != "" {
		t.Errorf("before the first episode (-want +got):\n%s", diff)
	}
	for step := 1; step <= 35; step++ {
		trainTo(t, a, step, nil)
		if got, want := a.Achieved(step), a.State().Achieved; !slices.Equal(got, want) || !slices.Equal(got, at(a.replay.nextAchieved, step-1, 2)) {
			t.Errorf("step %d: achieved %v, the state says %v", step, got, want)
		}
		if got := a.Achieved(step - 1); !slices.Equal(got, at(a.replay.achieved, step-1, 2)) {
			t.Errorf("step %d: achieved before it %v", step, got)
		}
	}
	mustPanic(t, "Achieved(-1)", func() { a.Achieved(-1) })
	mustPanic(t, "Achieved of the future", func() { a.Achieved(36) })
}

// TestOwnCurriculumReplaced replaces one whose state is known by one without: the
// state goes with it.
func TestOwnCurriculumReplaced(t *testing.T) {
	a := agentWith(t, tinyPreset(Default()), &counting{}, 12)
	marshal(t, a)
	if err := a.SetCurriculum(curriculumFunc(ownHER)); err != nil {
		t.Error(err)
	}
}
