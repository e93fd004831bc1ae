package qta

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// exploredActions returns the actions of a long episode. Both components of the policy's action
// are tanh(c). A share of the actions is random.
func exploredActions(t *testing.T, c, share float64) (actions [][]float64) {
	t.Helper()
	p := with(Small(), "Horizon=100000 LearningStarts=100000 ActionNoise=0.2")
	p.RandomAction = share
	p.RandomActionLater = share
	a := newAgent(t, p, new(lineEnv).Sizes(), 1)
	last := a.policy.net.layers[len(a.policy.net.layers)-1]
	clear(last.w.data)
	copy(last.b, float32s([]float64{c, c}))
	a.SetCurriculum(curriculumFunc(ownHER)) // goals are the environment's
	env := &lineEnv{onStep: func(_ *lineEnv, action []float64) {
		actions = append(actions, slices.Clone(action))
	}}
	train(t, a, env, new(lineEnv), TrainOptions{Steps: 20_000, EvalEvery: 1e9, Rollouts: 1})
	return actions
}

// A belowCount says how often components of actions are at most a bound.
type belowCount struct {
	first, second int
	both          int // in the same step
	twice         int // the first component in this step and in the step before
}

func countBelow(actions [][]float64, bound float64) (n belowCount) {
	before := false
	for _, action := range actions {
		first := action[0] <= bound
		second := action[1] <= bound
		n.first += count(first)
		n.second += count(second)
		n.both += count(first && second)
		n.twice += count(first && before)
		before = first
	}
	return n
}

// An action is the policy's with Gaussian noise of deviation ε, 0.2, on each component,
// clipped at ±1. A share of actions is uniform over the action space instead, without noise.
// What is drawn for one component and one step says nothing of another.
func TestExploration(t *testing.T) {
	for _, test := range []struct{ c, share float64 }{{0, 0}, {0, 0.3}, {1, 0}, {-1, 0.3}} {
		actions := exploredActions(t, test.c, test.share)
		for _, bound := range []float64{-1.01, -1, -0.9, -0.5, -0.2, 0, 0.2, 0.5, 0.9, math.Nextafter(1, 0), 1} {
			noisy := 0.0   // the chance of a noisy component to be at most the bound
			uniform := 0.0 // the chance of a random one
			if bound >= -1 {
				noisy = math.Erfc(-(bound-math.Tanh(test.c))/0.2/math.Sqrt2) / 2
				uniform = (bound + 1) / 2
			}
			if bound == 1 {
				noisy = 1 // because larger actions are clipped
			}
			one := (1-test.share)*noisy + test.share*uniform
			two := (1-test.share)*noisy*noisy + test.share*uniform*uniform
			n := countBelow(actions, bound)
			what := fmt.Sprintf("actions tanh(%v) with Gaussian noise, clipped, a share of %v uniform without noise: at most %v",
				test.c, test.share, bound)
			checkFrequency(t, what+", first component", n.first, len(actions), one)
			checkFrequency(t, what+", second component", n.second, len(actions), one)
			checkFrequency(t, what+", both", n.both, len(actions), two)
			checkFrequency(t, what+", two steps in a row", n.twice, len(actions)-1, one*one)
		}
	}
}

// count returns 1 for true and 0 for false.
func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// A normalizer counts from 1, with a sum of 0. So the mean of 3 and 6 is 3 and the variance
// is 6. The floor limits the deviation.
func TestNormalizer(t *testing.T) {
	for floor, scale := range map[float64]float64{0.1: 1 / math.Sqrt(6), 4: 0.25} {
		p := Paper()
		p.NormalizerFloor = floor
		n := newNormalizer(1, &p)
		if n.update(); n.mean[0] != 0 || n.scale[0] != 1 {
			t.Errorf("a normalizer that was shown nothing has the mean %v and the scale %v", n.mean, n.scale)
		}
		n.add([]float64{3})
		n.add([]float64{6})
		n.update()
		if n.mean[0] != 3 || math.Abs(n.scale[0]-scale) > 1e-15 {
			t.Errorf("shown 3 and 6, with a floor of %v: mean %v and scale %v, want 3 and %v", floor, n.mean, n.scale, scale)
		}
		clip := float32(p.NormalizerClip)
		for x, want := range map[float64]float32{-97: -clip, 3: 0, 103: clip} {
			scaled := make([]float32, 1)
			n.normalize(scaled, []float64{x})
			checkEqual(t, want, scaled[0], "%v, beside a mean of 3", x)
		}
	}
}

// At an episode's end the normalizers are shown nine of its transitions, drawn with
// replacement. They see the state before the step, and the goal as in a minibatch: four of
// five are relabeled. Here the state before transition k is 10^k, so the sum of the states shown
// has a digit for each transition, which counts how often it was shown. A relabeled goal is 1,
// and a goal pursued is 0.
func TestNormalizersShown(t *testing.T) {
	const showings = 2000
	a := linearAgent(t, linearNetworks{}, 1, "NormalizerDraws=9 HindsightRatio=4")
	for i, s := range []float64{1e7, 1e7, 1e7, 1e7, 1e7, 1, 10, 100, 1000, 10_000} { // two episodes
		next := State{Observation: []float64{1e8}, Achieved: []float64{1}}
		a.replay.add([]float64{s}, []float64{1e8}, []float64{0}, []float64{0}, next)
		a.step = i + 1
	}
	var shown [5]int // how often each transition of the second episode is shown
	missed := 0      // showings without the first transition
	relabeled := 0
	for range showings {
		a.stateScale = newNormalizer(1, &a.params)
		a.goalScale = newNormalizer(1, &a.params)
		a.showNormalizers()
		digits := int(a.stateScale.sum[0])
		if digits > 99_999 {
			t.Fatalf("states that add up to %d are shown: one of another episode, or after a step", digits)
		}
		missed += count(digits%10 == 0)
		for k := range shown {
			shown[k] += digits % 10
			digits /= 10
		}
		relabeled += int(a.goalScale.sum[0])
	}
	for k, n := range shown {
		checkFrequency(t, fmt.Sprintf("transition %d is shown", k), n, 9*showings, 1./5)
	}
	checkFrequency(t, "a transition is not shown, as draws are with replacement", missed, showings, math.Pow(4./5, 9))
	checkFrequency(t, "a goal is shown relabeled", relabeled, 9*showings, 4./5)
}
