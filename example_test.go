package qta_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing/fstest"

	"qta"
)

// A goal is chosen out of three candidates, by two random actions each.
func Example_goalSelection() {
	// The threshold: a first goal needs a mean value of at least c T, here
	// -1.5·10. The last of four candidates misses it.
	value := []float64{-2, -15, -7, -16}
	fmt.Println("achievable:", qta.Achievable([]int{0, 1, 2, 3}, value, -1.5, 10))

	// Equation 5. Three heads predict one number for each candidate and
	// action. The deviation of 1, 2 and 3 is 1.
	// In these lists a row is a head's, and a column a candidate's.
	first := [][]float32{{1, 0, 5}, {2, 3, 5}, {3, 6, 5}}   // predictions for the first action
	second := [][]float32{{0, -5, 1}, {1, 0, 1}, {2, 5, 1}} // and for the second
	d1 := make([]float64, 3)
	d2 := make([]float64, 3)
	const width = 1 // a head predicts one number
	qta.HeadDeviation(d1, first, width)
	qta.HeadDeviation(d2, second, width)
	ε := make([]float64, 3)
	for k := range ε {
		ε[k] = (d1[k] + d2[k]) / 2
	}
	fmt.Println("deviations:", d1, d2)
	fmt.Println("uncertainty:", ε)

	// Equation 6 with m = 4 and b = -0.75. The uncertainties are scaled to 0.25,
	// 1 and 0, so the candidates weigh 0.25, 3.25 and nothing.
	p := make([]float64, 3)
	qta.GoalProbabilities(p, ε, 4, -0.75)
	fmt.Printf("probabilities: %.3f\n", p)

	// Output:
	// achievable: [0 1 2]
	// deviations: [1 3 0] [1 5 0]
	// uncertainty: [1 4 0]
	// probabilities: [0.071 0.929 0.000]
}

// Check compares vectors of Equation 1 from another implementation. The second one was made
// with the maximum. For vectors in a folder, pass os.DirFS(folder). The package qta/testdata
// has the golden vectors.
func ExampleCheck() {
	vectors := fstest.MapFS{"targets.json": {Data: []byte(`{"equation": "td-target", "paper": "Equation 1", "cases": [
		{"name": "min", "in": {"r": [-1], "gamma": 0.5, "q_target": [[-2], [-8], [-4]], "M": [0, 2]}, "out": {"y": [-3]}, "tol": 1e-6},
		{"name": "max", "in": {"r": [-1], "gamma": 0.5, "q_target": [[-2], [-8], [-4]], "M": [0, 2]}, "out": {"y": [-2]}, "tol": 1e-6}]}`)}}
	results, err := qta.Check(vectors)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Printf("Equation %d, %s, %s: %v\n", r.Numbers[0], r.Function, r.Case, r.Err)
	}

	// Output:
	// Equation 1, TDTarget, min: <nil>
	// Equation 1, TDTarget, max: qta: vectors: targets.json: case "max": out.y[0]: the file has -2, package qta gives -3; |qta - file| / (1 + |file|) is 0.333, allowed are 1e-06
}

// An agent trains on a maze. Networks this small learn nothing in so few steps.
func ExampleAgent_Train() {
	maze, err := qta.NewMaze("4x5")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(maze)
	fmt.Println("path length", maze.PathLength())

	p := qta.Small()
	p.HiddenSize = 8
	p.Batch = 16
	agent, err := qta.NewAgent(p, maze.Env().Sizes(), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	err = agent.Train(context.Background(), maze.Env(), maze.Env(), qta.TrainOptions{
		Steps:     200,
		EvalEvery: 100,
		Rollouts:  2,
		AfterEvaluation: func(e qta.Evaluation) error {
			fmt.Println("evaluation after", e.Step, "steps")
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	// Output:
	// #######
	// #.....#
	// #.#.#.#
	// #.###.#
	// #.S#G.#
	// #######
	// path length 9
	// evaluation after 100 steps
	// evaluation after 200 steps
}

// An agent that is loaded from a file acts without learning. qta leaves such a file in each
// run directory, agent.qta.
func ExampleLoadFile() {
	directory, err := os.MkdirTemp("", "qta")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "agent.qta")
	if err := trainedCart().SaveFile(path); err != nil {
		log.Fatal(err)
	}
	agent, err := qta.LoadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	env := new(cart)
	s := env.Reset(rand.New(rand.NewPCG(1, 1)))
	for range agent.Params().Horizon {
		s, _ = env.Step(agent.Act(s.Observation, s.Desired))
	}
	fmt.Println("reached:", env.Reward(s.Achieved, s.Desired) == 0)

	// Output:
	// reached: true
}

// A learner without goals uses only the ensemble. It learns from a dot that jumps about in the
// left half of a square. It is more uncertain about the right half.
func ExamplePUN() {
	p := qta.Small()
	p.HiddenSize = 32
	u, err := qta.NewPUN(p, qta.Sizes{Observation: 2, Action: 2}, 1)
	if err != nil {
		log.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	symmetric := func() float64 { return 2*rng.Float64() - 1 } // from -1 to 1
	for range 400 {
		var s, a, next, nextActions [][]float64
		var r []float64
		for range 64 {
			at := []float64{rng.Float64() - 1, symmetric()} // in the left half of the square
			step := []float64{symmetric(), symmetric()}
			s = append(s, at)
			a = append(a, step)
			next = append(next, []float64{min(at[0]+0.1*step[0], 0), at[1] + 0.1*step[1]})
			r = append(r, -math.Abs(at[1]))
			nextActions = append(nextActions, []float64{0, 0})
		}
		y := u.Targets(r, next, nil, nextActions)
		if _, _, err = u.Learn(s, nil, a, next, y); err != nil {
			log.Fatal(err)
		}
	}

	// A map of the square: # where the next position is uncertain by more than
	// 0.027.
	for _, y := range []float64{0.6, 0, -0.6} {
		row := [][]float64{{-0.8, y}, {-0.5, y}, {-0.2, y}, {0.6, y}, {0.8, y}, {1, y}}
		for _, ε := range u.Uncertainty(row, nil, 1) {
			if ε > 0.027 {
				fmt.Print("#")
			} else {
				fmt.Print(".")
			}
		}
		fmt.Println()
	}

	// Output:
	// ...###
	// ...###
	// ...###
}

// The file's header names the networks' layers. Any language can read it.
func ExampleAgent_WriteSafetensors() {
	p := qta.Small()
	p.HiddenLayers = 1
	agent, err := qta.NewAgent(p, qta.Sizes{Observation: 2, Goal: 1, Action: 1}, 1)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := agent.WriteSafetensors(&file); err != nil {
		log.Fatal(err)
	}
	header := file.String()[strings.Index(file.String(), `"policy.0`):]
	for _, layer := range strings.SplitAfter(header, "},")[:4] {
		fmt.Println(layer)
	}

	// Output:
	// "policy.0.weight":{"dtype":"F32","shape":[64,3],"data_offsets":[0,768]},
	// "policy.0.bias":{"dtype":"F32","shape":[64],"data_offsets":[768,1024]},
	// "policy.1.weight":{"dtype":"F32","shape":[1,64],"data_offsets":[1024,1280]},
	// "policy.1.bias":{"dtype":"F32","shape":[1],"data_offsets":[1280,1284]},
}

// An approach is a curriculum that pursues part of the way to the desired goal, and more of the
// way with each goal that is reached. The number of goals reached decides the next goal, so the
// curriculum keeps this number in the agent, which saves it.
type approach struct{}

func (approach) NextGoal(a *qta.Agent, first bool, _ *rand.Rand) ([]float64, error) {
	reached := len(a.Attachment())
	if !first {
		reached = min(reached+1, 19)
		a.Attach(make([]byte, reached))
	}
	s := a.State()
	part := float64(reached+1) / 20
	return []float64{s.Achieved[0] + float64(part*(s.Desired[0]-s.Achieved[0]))}, nil
}

func ExampleCurriculum() {
	p := qta.Small()
	p.HiddenSize = 8
	p.Batch = 16
	p.Horizon = 20
	agent, err := qta.NewAgent(p, new(cart).Sizes(), 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.SetCurriculum(approach{}); err != nil {
		log.Fatal(err)
	}
	o := qta.TrainOptions{Steps: 200, EvalEvery: 200, Rollouts: 1}
	if err := agent.Train(context.Background(), new(cart), new(cart), o); err != nil {
		log.Fatal(err)
	}
	fmt.Println("goals were reached:", len(agent.Attachment()) > 0)

	// Output:
	// goals were reached: true
}

// trainedCart returns an agent that has learned to push a cart, and has
// been nowhere beyond the ends of its line, -1 and 1.
var trainedCart = sync.OnceValue(func() *qta.Agent {
	p := qta.Small()
	p.HiddenSize = 32
	p.Batch = 64
	p.Horizon = 20
	p.InitialSteps = 200
	agent, err := qta.NewAgent(p, new(cart).Sizes(), 2)
	if err != nil {
		log.Fatal(err)
	}
	o := qta.TrainOptions{Steps: 800, EvalEvery: 800, Rollouts: 1}
	if err := agent.Train(context.Background(), new(cart), new(cart), o); err != nil {
		log.Fatal(err)
	}
	return agent
})

// A goal where the cart stands is worth more than one that it has to go to. The agent
// is less certain of a place beyond the line's end, where it has never been.
func ExampleAgent_Uncertainty() {
	agent := trainedCart()
	rest := []float64{0, 0} // in the middle, at rest
	v := agent.Value([][]float64{rest, rest}, [][]float64{{0}, {0.8}})
	fmt.Println("worth more:", v[0] > v[1])
	ε := agent.Uncertainty([][]float64{{0.5, 0}, {3, 0}}, [][]float64{{0.5}, {0.5}}, 1)
	fmt.Println("less certain:", ε[1] > ε[0])

	// Output:
	// worth more: true
	// less certain: true
}

// A cart on a line shows how to write an environment. It has inertia, so its observation is a
// position and a velocity. Its goal is a position.
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
	v := float64(0.9*c.observation[1]) + float64(0.1*action[0])
	x := c.observation[0] + v
	if math.Abs(x) > 1 {
		x = math.Copysign(1, x)
		v = 0
	}
	c.observation = [2]float64{x, v}
	s := c.state()
	return s, c.Reward(s.Achieved, s.Desired)
}

// Reward looks only at its arguments, because hindsight asks it for goals that no episode had.
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
