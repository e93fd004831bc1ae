package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"qta"
)

// A Fingerprint is what an environment answered in an episode whose chance and
// actions are always the same: of each state the observation, the achieved and the
// desired goal, and the reward. A maze has none: its map is compared.
type Fingerprint [][]float64

// fingerprint plays that episode, and ends it before a state that breaks the contract.
func fingerprint(env qta.Env, horizon int) (f Fingerprint) {
	const steps = 16
	rng, sizes := rand.New(rand.NewPCG(1, 1)), env.Sizes()
	s, action := env.Reset(rand.New(rand.NewPCG(1, 0))), make([]float64, sizes.Action)
	for range min(steps, horizon) + 1 {
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

// difference says where an environment answers otherwise than the one of f, or
// returns "", also where one of them is not known.
func (f Fingerprint) difference(here Fingerprint) string {
	same := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9+float64(1e-6*math.Abs(x)) }
	for t := range min(len(f), len(here)) {
		if !slices.EqualFunc(f[t], here[t], same) {
			return fmt.Sprintf("the environment has changed: an episode that is always the same gave after step %d %.150s "+
				"there, %.150s here", t, fmt.Sprint(f[t]), fmt.Sprint(here[t]))
		}
	}
	return ""
}
