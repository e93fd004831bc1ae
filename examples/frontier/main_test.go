package main

import (
	"regexp"
	"strings"
	"testing"

	"qta"
)

func TestQuartiles(t *testing.T) {
	for want, hops := range map[string][]int{
		"no goals": nil, "   1 goals  7  7  7  7  7": {7}, "   5 goals  1  2  3  4  5": {5, 1, 4, 2, 3},
	} {
		if got := quartiles(hops); got != want {
			t.Errorf("%v: %q, want %q", hops, got, want)
		}
	}
}

// TestFrontier trains an agent for some episodes.
func TestFrontier(t *testing.T) {
	m, err := qta.NewMaze("4x5")
	if err != nil {
		t.Fatal(err)
	}
	p := qta.Small()
	p.HiddenSize, p.Batch, p.InitialSteps = 8, 16, 60
	agent, err := qta.NewAgent(p, m.Env().Sizes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	o := qta.TrainOptions{Steps: 120, EvalEvery: 120, Rollouts: 1}
	if err := agent.Train(t.Context(), m.Env(), m.Env(), o); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^The goal is 9 steps from the start\.
until step    120: +\d+ goals  \d .*, +\d to go
Half of the places are at most \S+ uncertain\.
$`)
	var got strings.Builder
	if frontier(&got, m, agent); !want.MatchString(got.String()) {
		t.Errorf("it says:\n%s", got.String())
	}
}
