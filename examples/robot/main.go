// Command robot trains an environment of its own: a robot that has momentum, in a
// room with a round obstacle. Its run, with a page to look at, is in runs/robot; the
// same command continues it after an interruption.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"

	"qta"
	"qta/lab"
)

// A robot moves in a room of 10 by 10 meters. It sees where it is and how fast it
// moves, and is to get where its goal is.
type robot struct {
	now      [4]float64 // x, y, and the speed along both in meters per step
	achieved [2]float64 // x, y
	goal     [2]float64
}

const (
	room  = 10.0
	force = 0.15 // by which a step changes the speed at most
	brake = 0.8  // of the speed is left after a step
	near  = 0.75 // meters that count as being at the goal
)

// The obstacle is a disc between the start and the goals.
const obstacleX, obstacleY, obstacleRadius = 5.0, 5.0, 2.0

func free(x, y float64) bool {
	return x >= 0 && x <= room && y >= 0 && y <= room && distance(x, y, obstacleX, obstacleY) > obstacleRadius
}

func distance(x, y, u, v float64) float64 {
	return math.Sqrt(float64((x-u)*(x-u)) + float64((y-v)*(y-v)))
}

// Sizes: an observation is x, y and two speeds, a goal x and y, an action two
// forces.
func (r *robot) Sizes() qta.Sizes { return qta.Sizes{Observation: 4, Goal: 2, Action: 2} }

// Reset puts the robot to the left of the obstacle and its goal to the right.
func (r *robot) Reset(rng *rand.Rand) qta.State {
	r.now = [4]float64{0.5 + rng.Float64(), 4.5 + rng.Float64(), 0, 0}
	r.goal = [2]float64{8 + rng.Float64(), 4.5 + rng.Float64()}
	return r.state()
}

func (r *robot) state() qta.State {
	r.achieved = [2]float64(r.now[:2])
	return qta.State{Observation: r.now[:], Achieved: r.achieved[:], Desired: r.goal[:]}
}

// Step moves the robot, which stops where it would hit something.
func (r *robot) Step(action []float64) (qta.State, float64) {
	for i, a := range action {
		r.now[2+i] = float64(brake*r.now[2+i]) + float64(force*min(max(a, -1), 1))
	}
	x, y := r.now[0]+r.now[2], r.now[1]+r.now[3]
	if free(x, y) {
		r.now[0], r.now[1] = x, y
	} else {
		r.now[2], r.now[3] = 0, 0
	}
	s := r.state()
	return s, r.Reward(s.Achieved, s.Desired)
}

// Reward is 0 near the goal, whatever the speed, and else -1.
func (r *robot) Reward(achieved, desired []float64) float64 {
	if distance(achieved[0], achieved[1], desired[0], desired[1]) < near {
		return 0
	}
	return -1
}

// Sketch draws the room, for the pictures of the page.
func (r *robot) Sketch() lab.Sketch {
	return lab.Sketch{Width: room, Height: room, Shapes: []lab.Shape{
		lab.Disc(lab.Wall, obstacleX, obstacleY, obstacleRadius),
		lab.Box(lab.Start, 0.5, 4.5, 1, 1), lab.Box(lab.Goal, 8, 4.5, 1, 1),
	}}
}

// Place says where a goal lies in the sketch.
func (r *robot) Place(goal []float64) (x, y float64) { return goal[0], goal[1] }

// StateAt is a robot that stands at a place of the sketch, for Figure 5.
func (r *robot) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	return []float64{x, y, 0, 0}, []float64{x, y}, free(x, y)
}

func main() {
	steps := flag.Int("steps", 20_000, "budget in environment steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := qta.Beyond()
	p.HiddenSize, p.Batch, p.Candidates = 64, 256, 500
	err := lab.Train(ctx, new(robot), new(robot), lab.Options{
		Dir: "runs/robot", Name: "a robot with momentum", Params: p, Seed: 1, Steps: *steps,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
