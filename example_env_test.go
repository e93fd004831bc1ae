// An environment of one's own: a cart on a line that has inertia, so that its
// observation, position and velocity, is more than the goal, a position.

package qta_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"qta"
)

// A cart implements qta.Env.
type cart struct {
	observation [2]float64 // position and velocity
	desired     [1]float64
}

func (c *cart) Sizes() qta.Sizes { return qta.Sizes{Observation: 2, Goal: 1, Action: 1} }

// Reset puts the cart in the middle, at rest. All chance comes from rng.
func (c *cart) Reset(rng *rand.Rand) qta.State {
	c.observation = [2]float64{}
	c.desired[0] = float64(2*float64(rng.Float64())) - 1
	return c.state()
}

// Step pushes the cart, which stops at the ends of the line. The conversions
// keep the compiler from fusing products and sums, so that the cart moves alike
// on every machine.
func (c *cart) Step(action []float64) (qta.State, float64) {
	x, v := &c.observation[0], &c.observation[1]
	*v = float64(0.9**v) + float64(0.1*action[0])
	*x += *v
	if math.Abs(*x) > 1 {
		*x, *v = math.Copysign(1, *x), 0
	}
	s := c.state()
	return s, c.Reward(s.Achieved, s.Desired)
}

// Reward looks at its arguments alone: hindsight asks it for goals that no
// episode had.
func (c *cart) Reward(achieved, desired []float64) float64 {
	if math.Abs(achieved[0]-desired[0]) < 0.05 {
		return 0
	}
	return -1
}

func (c *cart) state() qta.State {
	return qta.State{Observation: c.observation[:], Achieved: c.observation[:1], Desired: c.desired[:]}
}

// A carelessCart forgets that its observation has two numbers.
type carelessCart struct{ cart }

func (c *carelessCart) Sizes() qta.Sizes { return qta.Sizes{Observation: 1, Goal: 1, Action: 1} }

func ExampleCheckEnv() {
	fmt.Println(qta.CheckEnv(new(carelessCart), 50, rand.New(rand.NewPCG(1, 1))))
	fmt.Println(qta.CheckEnv(new(cart), 50, rand.New(rand.NewPCG(1, 1))))

	// Output:
	// qta: step 0: environment: the observation has 2 numbers, Sizes says 1
	// <nil>
}
