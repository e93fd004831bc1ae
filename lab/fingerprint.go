package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"qta"
)

// A Fingerprint holds what an environment answered in one episode. The generator and the
// actions of this episode are the same each time. A row has a state's observation, achieved
// goal and desired goal. The reward follows, or -0.5 where rounding could change the
// reward. A maze has no fingerprint, because its map is compared.
type Fingerprint [][]float64

// fingerprint plays the episode of a [Fingerprint] for so many steps, or until a state
// breaks the contract of [qta.Env].
func fingerprint(env qta.Env, steps int) (f Fingerprint) {
	rng := rand.New(rand.NewPCG(1, 1))
	sizes := env.Sizes()
	action := make([]float64, sizes.Action)
	s := env.Reset(rand.New(rand.NewPCG(1, 0)))
	for range steps + 1 {
		if !fits(s, sizes) {
			break
		}
		row := slices.Concat(s.Observation, s.Achieved, s.Desired)
		if slices.ContainsFunc(row, func(v float64) bool { return v-v != 0 }) {
			break
		}
		reward := env.Reward(s.Achieved, s.Desired)
		if atEdge(env, s.Achieved, s.Desired) {
			reward = edge
		}
		if reward-reward != 0 { // infinite or NaN
			break
		}
		f = append(f, append(row, reward))
		for i := range action {
			action[i] = float64(2*float64(rng.Float64())) - 1
		}
		s, _ = env.Step(action)
	}
	return f
}

// states returns the first n rows without their rewards.
func (f Fingerprint) states(n int) (states [][]float64) {
	for _, row := range f[:n] {
		states = append(states, row[:len(row)-1])
	}
	return states
}

// Difference says where the fingerprint here differs from f by more than another machine's
// rounding explains ([qta.FirstJump]). It returns "" if there is no such difference, or if
// one of the two is empty. It compares the rewards of all states that agree, but leaves out
// rewards that rounding could change.
func (f Fingerprint) Difference(here Fingerprint) string {
	n := min(len(f), len(here))
	for t := range n {
		size := len(f[0])
		if len(f[t]) != size || len(here[t]) != size || size == 0 {
			return fmt.Sprintf("the answer to step %d has %d numbers there, %d here",
				t, len(f[t]), len(here[t]))
		}
	}

	const text = "in an episode with fixed actions number %d after step %d is %v there, %v here"
	was := f.states(n)
	now := here.states(n)
	t, i := qta.FirstJump(was, now)
	if t >= 0 {
		const why = ", a jump that rounding causes only where a last digit decides what happens"
		return fmt.Sprintf(text+why, i, t, was[t][i], now[t][i])
	}
	for t := range n {
		parted, _ := qta.FirstJump(was[t:t+1], now[t:t+1])
		if parted >= 0 {
			continue // a difference in a last digit has grown, so the rewards may differ
		}
		last := len(was[t])
		x := f[t][last]
		y := here[t][last]
		if x != y && x != edge && y != edge {
			return fmt.Sprintf(text, last, t, x, y)
		}
	}
	return ""
}

// edge stands in a row for a reward that rounding could change from 0 to -1 or back.
const edge = -0.5

// atEdge reports whether the reward changes if the achieved goal moves by a millionth:
// toward the desired goal, away from it, or along one axis. A goal that is reached
// exactly is never at an edge.
func atEdge(env qta.Env, achieved, desired []float64) bool {
	if slices.Equal(achieved, desired) {
		return false
	}
	toward := make([]float64, len(achieved))
	directions := [][]float64{toward}
	for i, a := range achieved {
		step := 1e-9 + float64(1e-6*max(math.Abs(a), math.Abs(desired[i])))
		alone := make([]float64, len(achieved))
		alone[i] = step
		directions = append(directions, alone)
		switch {
		case a < desired[i]:
			toward[i] = step
		case a > desired[i]:
			toward[i] = -step
		}
	}
	reward := env.Reward(achieved, desired)
	for _, direction := range directions {
		for _, sign := range []float64{1, -1} {
			beside := slices.Clone(achieved)
			for i, step := range direction {
				beside[i] += float64(sign * step)
			}
			if env.Reward(beside, desired) != reward {
				return true
			}
		}
	}
	return false
}

// goals returns the achieved and desired goals of some rows, at most 64. For an episode of
// 16 steps it returns all.
func (f Fingerprint) goals(sizes qta.Sizes) (some [][]float64) {
	const mostRows = 32
	stride := 1 + len(f)/mostRows
	for i := 0; i < len(f); i += stride {
		if len(f[i]) < sizes.Observation+2*sizes.Goal {
			continue // another program has written it
		}
		goals := f[i][sizes.Observation:]
		some = append(some, goals[:sizes.Goal], goals[sizes.Goal:2*sizes.Goal])
	}
	return some
}

// disagreement says how the environments for training and for evaluation differ, or returns
// "". It compares what Reward returns for the same goals. If an episode begins alike in
// both, it also compares the steps that follow.
func disagreement(training, evaluation qta.Env, horizon int) string {
	there := fingerprint(training, horizon)
	here := fingerprint(evaluation, horizon)
	goals := slices.Concat(there, here).goals(training.Sizes())
	for _, achieved := range goals {
		for _, desired := range goals {
			x := training.Reward(achieved, desired)
			y := evaluation.Reward(achieved, desired)
			if x != y {
				return fmt.Sprintf("Reward of the same two goals is %v there, %v here", x, y)
			}
		}
	}
	if there[:min(1, len(there))].Difference(here) != "" {
		return "" // training may have other starts and goals
	}
	return there.Difference(here)
}

// askedGoals is the number of achieved goals for which function rewards counts rewards.
// Their steps are spread evenly over a run.
const askedGoals = 64

// goalsAfter returns goal k of the askedGoals, and the goals achieved in the 50 steps after
// it.
func goalsAfter(a *qta.Agent, k int) (goal []float64, after [][]float64) {
	const most = 50
	steps := a.Steps()
	i := k * steps / askedGoals
	for j := i + 1; j <= min(i+most, steps); j++ {
		after = append(after, a.Achieved(j))
	}
	return a.Achieved(i), after
}

// rewards returns a count for each of askedGoals goals. It pairs the goal with each goal that
// [goalsAfter] returns, takes one as achieved and the other as desired, and then the other
// way around. The count says how many of these rewards are -1.
func rewards(env qta.Env, a *qta.Agent) (counts []int) {
	for k := range askedGoals {
		x, after := goalsAfter(a, k)
		n := 0
		for _, y := range after {
			n -= int(env.Reward(x, y) + env.Reward(y, x))
		}
		counts = append(counts, n)
	}
	return counts
}

// rewardsChanged reports whether the reward of some goals has changed. was holds the
// earlier result of function rewards. A count may differ by as many rewards as rounding
// could change.
func rewardsChanged(env qta.Env, a *qta.Agent, was []int) bool {
	now := rewards(env, a)
	if len(was) != len(now) {
		return true
	}
	for k := range now {
		if was[k] == now[k] {
			continue
		}
		x, after := goalsAfter(a, k)
		edges := 0
		for _, y := range after {
			if atEdge(env, x, y) {
				edges++
			}
			if atEdge(env, y, x) {
				edges++
			}
		}
		if max(was[k]-now[k], now[k]-was[k]) > edges {
			return true
		}
	}
	return false
}
