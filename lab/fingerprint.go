package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"qta"
)

// A Fingerprint holds what an environment answered in an episode with a fixed
// generator and fixed actions: each state's observation, achieved and desired goal,
// and the reward. A maze has none, because its map is compared.
type Fingerprint [][]float64

// fingerprint plays that episode for so many steps, or until a state breaks the
// contract.
func fingerprint(env qta.Env, steps int) (f Fingerprint) {
	rng, sizes := rand.New(rand.NewPCG(1, 1)), env.Sizes()
	s, action := env.Reset(rand.New(rand.NewPCG(1, 0))), make([]float64, sizes.Action)
	for range steps + 1 {
		if len(s.Observation) != sizes.Observation || len(s.Achieved) != sizes.Goal || len(s.Desired) != sizes.Goal {
			break
		}
		row := slices.Concat(s.Observation, s.Achieved, s.Desired, []float64{env.Reward(s.Achieved, s.Desired)})
		if slices.ContainsFunc(row, func(v float64) bool { return v-v != 0 }) {
			break
		}
		f = append(f, row)
		for i := range action {
			action[i] = float64(2*float64(rng.Float64())) - 1
		}
		s, _ = env.Step(action)
	}
	return f
}

// Difference says where here differs from f by more than rounding. It returns "" if it
// does not, or if one of the two is not known.
func (f Fingerprint) Difference(here Fingerprint) string {
	for t := range min(len(f), len(here)) {
		for i := range min(len(f[t]), len(here[t])) {
			if x, y := f[t][i], here[t][i]; !(math.Abs(x-y) <= 1e-9+float64(1e-6*math.Abs(x))) {
				return fmt.Sprintf("in an episode with fixed actions number %d after step %d is %v there, "+
					"%v here", i, t, x, y)
			}
		}
	}
	return ""
}

// disagreement says where two instances are not the same environment, or returns "": in
// Reward of the same goals and, if both begin alike, in what follows.
func disagreement(training, evaluation qta.Env, horizon int) string {
	there, here := fingerprint(training, horizon), fingerprint(evaluation, horizon)
	o, g := training.Sizes().Observation, training.Sizes().Goal
	var goals [][]float64
	for _, row := range slices.Concat(there, here) {
		goals = append(goals, row[o:o+g], row[o+g:o+2*g])
	}
	const most = 64
	for i := 0; i < len(goals); i += 1 + len(goals)/most {
		for k := 0; k < len(goals); k += 1 + len(goals)/most {
			if x, y := training.Reward(goals[i], goals[k]), evaluation.Reward(goals[i], goals[k]); x != y {
				return fmt.Sprintf("Reward of the same two goals is %v there, %v here", x, y)
			}
		}
	}
	if there[:min(1, len(there))].Difference(here) != "" {
		return "" // training may have other starts and goals
	}
	return there.Difference(here)
}

// rewards counts for 64 goals, achieved throughout a run, how many of those achieved
// in the 50 steps after them reach them or are reached from them.
func rewards(env qta.Env, a *qta.Agent) (counts []int) {
	const goals, after = 64, 50
	steps := a.Steps()
	for k := range goals {
		i := k * steps / goals
		x, n := a.Achieved(i), 0
		for j := i + 1; j <= min(i+after, steps); j++ {
			y := a.Achieved(j)
			n -= int(env.Reward(x, y) + env.Reward(y, x))
		}
		counts = append(counts, n)
	}
	return counts
}
