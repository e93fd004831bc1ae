// Command drone trains a drone with momentum to fly to goals in two dimensions. It shows
// the least that such an environment needs. The run, with a page, is in runs/drone.
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
	"strings"
	"syscall"

	"qta"
	"qta/lab"
)

// A drone sees where it is, from -1 to 1, and both speeds.
type drone struct {
	now      [4]float64 // x, y, and the speed along both
	achieved [2]float64 // x, y
	goal     [2]float64
}

func (d *drone) Sizes() qta.Sizes { return qta.Sizes{Observation: 4, Goal: 2, Action: 2} }

// Reset puts the drone in the middle and its goal anywhere but close to the walls.
func (d *drone) Reset(rng *rand.Rand) qta.State {
	d.now = [4]float64{}
	for i := range d.goal {
		d.goal[i] = float64(1.6*rng.Float64()) - 0.8
	}
	return d.state()
}

func (d *drone) state() qta.State {
	copy(d.achieved[:], d.now[:2])
	return qta.State{Observation: d.now[:], Achieved: d.achieved[:], Desired: d.goal[:]}
}

// Step accelerates the drone, which the air slows and a wall stops.
func (d *drone) Step(action []float64) (qta.State, float64) {
	at := d.now[:2]
	speed := d.now[2:]
	for i, a := range action {
		speed[i] = float64(0.95*speed[i]) + float64(0.05*a)
		at[i] += float64(0.1 * speed[i])
		if math.Abs(at[i]) > 1 {
			at[i] = math.Copysign(1, at[i])
			speed[i] = 0
		}
	}
	s := d.state()
	return s, d.Reward(s.Achieved, s.Desired)
}

// Reward is 0 near the goal, whatever the speed, and else -1.
func (d *drone) Reward(achieved, desired []float64) float64 {
	distance := math.Hypot(achieved[0]-desired[0], achieved[1]-desired[1])
	if distance < 0.1 {
		return 0
	}
	return -1
}

func main() {
	p := qta.Beyond()
	p.HiddenSize = 64
	p.Batch = 256
	p.Candidates = 500
	seed := flag.Uint64("seed", 1, "seed")
	steps := flag.Int("steps", 20_000, "budget in environment steps")
	dir := flag.String("out", "runs/drone", "directory of the run")
	flag.Func("set", "change a parameter, NAME=VALUE", func(s string) error {
		name, value, _ := strings.Cut(s, "=")
		return p.Set(name, value)
	})
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := lab.Train(ctx, new(drone), new(drone), lab.Options{
		Dir:    *dir,
		Name:   "a drone",
		Params: p,
		Seed:   *seed,
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
