// Command bitflip learns to set bits: the environment by which hindsight
// experience replay was introduced (HER, Andrychowicz et al., 2017, section 3.1).
// There are n bits, and n that they are to be; each step flips one. With n = 10 a
// random policy ends one episode of a thousand at its goal.
//
// Actions here are continuous, so an action has n+1 components, of which the
// largest decides: component i flips bit i, the last one none. Without that no-op
// a state that has reached its goal could not stay there, and success is read at
// the last of n steps. The size of an action then means nothing, and ActionL2,
// which keeps actions small, is 0.
//
// It trains QTA, HER without a curriculum, or with goals drawn at random from those
// achieved, on the same learner with the networks of [qta.Small], and prints the
// environment steps at the first evaluation in which all of 20 rollouts end at the
// goal, or 0 if there was none; evaluations come every 1000 steps. The library page of
// the documents has a table.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"

	"qta"
)

// bits implements [qta.Env].
type bits struct{ now, goal []float64 } // each 0 or 1

func newBits(n int) *bits { return &bits{make([]float64, n), make([]float64, n)} }

func (b *bits) Sizes() qta.Sizes {
	n := len(b.now)
	return qta.Sizes{Observation: n, Goal: n, Action: n + 1}
}

func (b *bits) Reset(rng *rand.Rand) qta.State {
	for i := range b.now {
		b.now[i], b.goal[i] = float64(rng.Uint64()%2), float64(rng.Uint64()%2)
	}
	return qta.State{Observation: b.now, Achieved: b.now, Desired: b.goal}
}

func (b *bits) Step(action []float64) (qta.State, float64) {
	if i := slices.Index(action, slices.Max(action)); i < len(b.now) {
		b.now[i] = 1 - b.now[i]
	}
	return qta.State{Observation: b.now, Achieved: b.now, Desired: b.goal}, b.Reward(b.now, b.goal)
}

func (b *bits) Reward(achieved, desired []float64) float64 {
	if slices.Equal(achieved, desired) {
		return 0
	}
	return -1
}

// solve trains an agent until it is solved, and returns the environment steps
// until then, or 0 if it took more than the budget.
func solve(p qta.Params, n int, seed uint64, budget int) (int, error) {
	p.Horizon, p.ActionL2 = n, 0
	agent, err := qta.NewAgent(p, newBits(n).Sizes(), seed)
	if err != nil {
		return 0, err
	}
	o := qta.TrainOptions{Steps: budget, EvalEvery: 1000, Rollouts: 20, StopWhenSolved: true}
	err = agent.Train(context.Background(), newBits(n), newBits(n), o)
	return agent.SolvedAt(), err
}

func main() {
	p := qta.Small()
	flag.StringVar(&p.Curriculum, "curriculum", p.Curriculum, "qta, her or random")
	seed := flag.Uint64("seed", 1, "seed of the run")
	flag.Parse()
	at, err := solve(p, 10, *seed, 60_000)
	fmt.Println("solved after", at, "steps, error", err)
}
