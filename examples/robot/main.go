// Command robot trains an agent in an environment of its own: a robot with momentum moves
// in a room with a round obstacle. The run, with a page to look at, is in runs/robot. The
// same command continues the run after an interruption.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"qta"
	"qta/lab"
)

// A robot moves in a room of 10 by 10 meters. It sees where it is and how fast it moves,
// and must get to its goal.
type robot struct {
	now      [4]float64 // x, y, and the speed along both in meters per step
	achieved [2]float64 // x, y
	goal     [2]float64
}

const (
	room  = 10.0
	force = 0.15 // the most that an action adds to the speed
	brake = 0.8  // the share of the speed that is left after a step
	near  = 0.75 // the distance to the goal, in meters, that counts as being there
)

// The obstacle is a disc between the start and the goals.
const obstacleX, obstacleY, obstacleRadius = 5.0, 5.0, 2.0

// free reports whether the robot can be at a place.
func free(x, y float64) bool {
	inRoom := min(x, y) >= 0 && max(x, y) <= room
	return inRoom && distance(x, y, obstacleX, obstacleY) > obstacleRadius
}

func distance(x, y, u, v float64) float64 {
	dx := x - u
	dy := y - v
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

// Sizes says that an observation is x, y and two speeds, a goal x and y, and an action
// two forces.
func (r *robot) Sizes() qta.Sizes { return qta.Sizes{Observation: 4, Goal: 2, Action: 2} }

// Reset puts the robot to the left of the obstacle and its goal to the right.
func (r *robot) Reset(rng *rand.Rand) qta.State {
	r.now = [4]float64{
		0: 0.5 + rng.Float64(),
		1: 4.5 + rng.Float64(),
	}
	r.goal = [2]float64{
		8 + rng.Float64(),
		4.5 + rng.Float64(),
	}
	return r.state()
}

func (r *robot) state() qta.State {
	copy(r.achieved[:], r.now[:2])
	return qta.State{Observation: r.now[:], Achieved: r.achieved[:], Desired: r.goal[:]}
}

// Step moves the robot, which stops where it would hit something.
func (r *robot) Step(action []float64) (qta.State, float64) {
	at := r.now[:2]
	speed := r.now[2:]
	for i, a := range action {
		speed[i] = float64(brake*speed[i]) + float64(force*min(max(a, -1), 1))
	}
	x := at[0] + speed[0]
	y := at[1] + speed[1]
	if free(x, y) {
		at[0] = x
		at[1] = y
	} else {
		clear(speed)
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
	shapes := []lab.Shape{
		lab.Disc(lab.Wall, obstacleX, obstacleY, obstacleRadius),
		lab.Box(lab.Start, 0.5, 4.5, 1, 1),
		lab.Box(lab.Goal, 8, 4.5, 1, 1),
	}
	return lab.Sketch{Width: room, Height: room, Shapes: shapes}
}

// Place says where a goal lies in the sketch.
func (r *robot) Place(goal []float64) (x, y float64) { return goal[0], goal[1] }

// StateAt returns the observation and the achieved goal of a robot that stands at a place
// of the sketch, for Figure 5.
func (r *robot) StateAt(x, y float64) (observation, goal []float64, ok bool) {
	observation = []float64{x, y, 0, 0}
	goal = []float64{x, y}
	return observation, goal, free(x, y)
}

func main() {
	steps := flag.Int("steps", 20_000, "budget in environment steps")
	flag.Parse()
	p := qta.Beyond()
	p.HiddenSize = 64
	p.Batch = 256
	p.Candidates = 500

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := lab.Train(ctx, new(robot), new(robot), lab.Options{
		Dir:    "runs/robot",
		Name:   "a robot with momentum",
		Params: p,
		Seed:   1,
		Steps:  *steps,
	})
	if errors.Is(err, lab.ErrStopped) { // Train has already said so
		os.Exit(75)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
