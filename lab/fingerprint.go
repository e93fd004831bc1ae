package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"qta"
)

// A Fingerprint is what an environment answered in an episode whose chance and
// actions are always the same: of each state the observation, the achieved and the
// desired goal, and the reward. A maze has none: its map is compared.
type Fingerprint [][4][]float64

// fingerprint plays that episode, and ends it early at a number that is not finite, or one too many or too few.
func fingerprint(env qta.Env, horizon int) (f Fingerprint) {
	const steps = 16
	rng := rand.New(rand.NewPCG(1, 1))
	s, action := env.Reset(rand.New(rand.NewPCG(1, 0))), make([]float64, env.Sizes().Action)
	for t, sizes := 0, env.Sizes(); ; t++ {
		if len(s.Observation) != sizes.Observation || len(s.Achieved) != sizes.Goal || len(s.Desired) != sizes.Goal {
			return f
		}
		state := [4][]float64{s.Observation, s.Achieved, s.Desired, {env.Reward(s.Achieved, s.Desired)}}
		for part, x := range state {
			state[part] = make([]float64, len(x))
			for i, v := range x {
				if v-v != 0 {
					return f
				}
				state[part][i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
			}
		}
		if f = append(f, state); t == min(steps, horizon) {
			return f
		}
		for i := range action {
			action[i] = 2*rng.Float64() - 1
		}
		s, _ = env.Step(action)
	}
}

// difference says where an environment answers otherwise than the one of f, or
// returns "", also where one of them is not known.
func (f Fingerprint) difference(here Fingerprint) string {
	for t := range min(len(f), len(here)) {
		for part, name := range []string{"observation", "achieved goal", "desired goal", "reward"} {
			x, y := f[t][part], here[t][part]
			if len(x) != len(y) {
				return fmt.Sprintf("the %s of the environment has %d numbers there, %d here", name, len(x), len(y))
			}
			for i := range x {
				if math.Abs(x[i]-y[i]) > 1e-9+1e-6*math.Abs(x[i]) {
					return fmt.Sprintf("the environment has changed: at step %d of an episode that is always the same "+
						"number %d of its %s is %v there, %v here", t, i, name, x[i], y[i])
				}
			}
		}
	}
	return ""
}
