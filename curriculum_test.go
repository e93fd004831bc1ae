package qta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

// curious asks what there is to ask before each goal.
func curious(a *Agent, first bool, rng *rand.Rand) ([]float64, error) {
	s := a.State()
	points := [][]float64{s.Observation, s.Desired}
	a.Value(points, points)
	a.GoalProbabilities(points, points, uint64(a.Steps()))
	a.Survey(s.Observation, s.Desired, points, points, 3)
	a.Act(s.Observation, s.Desired)
	if _, err := a.MarshalBinary(); err != errHalfway {
		return nil, fmt.Errorf("a checkpoint within a step: %v", err)
	}
	return ownRandom(a, first, rng)
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
		if diff := cmp.Diff(want.Goals(0, 60), got.Goals(0, 60)); diff != "" || want.goalsSet < 6 {
			t.Errorf("%s: %d goals (-package's +stranger's):\n%s", test.name, want.goalsSet, diff)
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

// Saved with its agent after any step, a curriculum with or without a state goes
// on to the same bytes.
func TestOwnCurriculumContinues(t *testing.T) {
	p := tinyPreset(Default())
	const steps = 35
	for _, make := range []func() Curriculum{
		func() Curriculum { return new(counting) },
		func() Curriculum { return curriculumFunc(ownRandom) },
	} {
		name := fmt.Sprintf("%T", make())
		want := marshal(t, agentWith(t, p, make(), steps))
		for n := 0; n < steps; n += 3 {
			data := marshal(t, agentWith(t, p, make(), n))
			b := new(Agent)
			if err := b.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			sameState(t, fmt.Sprintf("%s, step %d, saved again", name, n), data, b)
			m := mustMaze(t, "1U5")
			err := b.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: steps, EvalEvery: 7, Rollouts: 2})
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

// A bad goal ends training with an error that says what is wrong.
func TestOwnCurriculumGoals(t *testing.T) {
	trouble := errors.New("trouble")
	m := mustMaze(t, "1U5")
	for _, test := range []struct {
		goal []float64
		err  error
		late bool // not the first
		want string
	}{
		{want: "qta: step 0: the curriculum's goal has 0 numbers, Sizes says 2"},
		{goal: []float64{1, math.NaN()}, want: "qta: step 0: the curriculum's goal is [1 NaN]"},
		{goal: []float64{1, 2, 3}, late: true, want: "the curriculum's goal has 3 numbers, Sizes says 2"},
		{err: trouble, late: true, want: "trouble"},
	} {
		a := newMazeAgent(t, tinyPreset(Default()), 1)
		a.SetCurriculum(curriculumFunc(func(a *Agent, first bool, _ *rand.Rand) ([]float64, error) {
			if test.late && first {
				return a.State().Achieved, nil // which the first step may well reach
			}
			return test.goal, test.err
		}))
		err := a.Train(t.Context(), m.Env(), m.Env(), TrainOptions{Steps: 200, EvalEvery: 50, Rollouts: 1})
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, trouble) != (test.err != nil) {
			t.Errorf("goal %v: error %v, want %q", test.goal, err, test.want)
		}
	}
}

// A curriculum has to take the state that an agent was saved with; once one has,
// any other may follow.
func TestSetCurriculumRefusals(t *testing.T) {
	trouble := errors.New("trouble")
	data := marshal(t, agentWith(t, tinyPreset(Default()), &counting{}, 12))
	for _, test := range []struct {
		c    Curriculum
		want string
	}{
		{nil, "qta: SetCurriculum without a curriculum"},
		{curriculumFunc(ownHER), "qta: the agent was saved with the state of its curriculum, which a qta.curriculumFunc does not take"},
		{&counting{broken: trouble}, "qta: the state of the agent's curriculum: 8 bytes: trouble"},
	} {
		a := new(Agent)
		if err := a.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if err := a.SetCurriculum(test.c); err == nil || err.Error() != test.want {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if err := errors.Join(a.SetCurriculum(&counting{}), a.SetCurriculum(curriculumFunc(ownHER))); err != nil {
			t.Errorf("after %q: %v", test.want, err)
		}
		marshal(t, a)
	}
	a := agentWith(t, tinyPreset(Default()), &counting{broken: trouble}, 3)
	if _, err := a.MarshalBinary(); !errors.Is(err, trouble) {
		t.Errorf("a curriculum that cannot be saved: error %v", err)
	}
}
