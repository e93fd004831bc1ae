package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"qta"
)

func TestQuartiles(t *testing.T) {
	for _, test := range []struct {
		hops []int
		want string
	}{
		{nil, "none first"},
		{[]int{7}, "   1 first  7  7  7  7  7"},
		{[]int{5, 1, 4, 2, 3}, "   5 first  1  2  3  4  5"},
	} {
		if got := quartiles("first", test.hops); got != test.want {
			t.Errorf("%v: %q, want %q", test.hops, got, test.want)
		}
	}
}

// TestFrontier trains two agents for some episodes, in the two mazes 4x5 and
// 6x5, and one of another environment for none.
func TestFrontier(t *testing.T) {
	p := qta.Small()
	p.HiddenSize, p.Batch, p.InitialSteps = 8, 16, 60
	save := func(maze string, sizes qta.Sizes) string {
		agent, err := qta.NewAgent(p, sizes, 1)
		if err != nil {
			t.Fatal(err)
		}
		if maze != "" {
			m, err := qta.NewMaze(maze)
			if err != nil {
				t.Fatal(err)
			}
			if err := agent.Train(context.Background(), m.Env(), m.Env(), qta.TrainOptions{Steps: 120, EvalEvery: 120, Rollouts: 1}); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "agent")
		if err := agent.SaveFile(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	maze := qta.Sizes{Observation: 2, Goal: 2, Action: 2}
	for _, test := range []struct{ maze, file, want string }{
		{"4x5", save("4x5", maze), ""},
		{"4x5", save("6x5", maze), "which is not in maze 4x5"},
		{"4x5", save("", qta.Sizes{Observation: 1, Goal: 1, Action: 1}), "an agent of another environment"},
		{"4x", "agent", `maze "4x"`},
		{"4x5", "no such file", "no such file"},
	} {
		switch err := frontier(test.maze, test.file); {
		case test.want == "" && err != nil:
			t.Error(err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
