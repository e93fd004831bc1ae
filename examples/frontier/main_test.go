package main

import "testing"

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

func TestRefusals(t *testing.T) {
	for _, test := range [][2]string{{"nomaze", "agent.qta"}, {"4x5", "no such file"}} {
		if frontier(test[0], test[1]) == nil {
			t.Errorf("%v: no error", test)
		}
	}
}
